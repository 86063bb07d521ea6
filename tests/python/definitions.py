"""Smooth objectives computed from their definitions, in numpy."""

import re

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, rel_entr

# Rows whose group is unknown count only in the loss.
UNKNOWN = ["--missing-sensitive", "loss-only"]
# The differences between rates that every run has, with fairlearn's names.
DIFFERENCES = [
    "demographic_parity_difference",
    "equal_opportunity_difference",
    "false_positive_rate_difference",
    "equalized_odds_difference",
]


def smooth_max(v, beta):
    return logsumexp(beta * np.asarray(v), b=1 / len(v)) / beta


def smooth_range(v, beta):
    return smooth_max(v, beta) + smooth_max(-np.asarray(v), beta)


def by_group(split, attribute, output, label=None, shrink=0.0):
    """Return the mean output and the share of each group, and the overall mean."""
    known = split.known(attribute)
    rows = known & (split.w > 0) & ((split.y == label) | (label is None))
    of_group = [rows & (split.groups[attribute] == g) for g in set(split.groups[attribute][rows])]
    overall = np.average(output[rows], weights=split.w[rows])
    weight = np.array([split.w[rows].sum() for rows in of_group])
    means = np.array([np.average(output[rows], weights=split.w[rows]) for rows in of_group])
    share = weight / split.w[known].sum()
    return (share * means + shrink * overall) / (share + shrink), weight / weight.sum(), overall


def spread(means, shares, overall, how, beta):
    if how == "range":
        return smooth_range(means, beta)
    return shares @ (means - overall) ** 2


def cvar(losses, shares, alpha, mu):
    """Return the smoothed mean of the worst 1 - alpha, minus the overall mean."""

    def least(losses):
        sum_at = lambda rho: (
            rho + shares @ (mu * np.logaddexp(0, (losses - rho) / mu)) / (1 - alpha)
        )
        far = mu * abs(np.log(1 / alpha - 1)) + mu
        bounds = (losses.min() - far, losses.max() + far)
        options = {"xatol": 1e-14, "maxiter": 1_000}
        return minimize_scalar(sum_at, bounds=bounds, method="bounded", options=options).fun

    return least(losses) - least(0 * losses) - shares @ losses


RATES = {
    "demographic_parity": [None],
    "equal_opportunity": [1],
    "predictive_equality": [-1],
    "equalized_odds": [1, -1],
}


def parsed(text):
    """Return the name, attribute and settings of an objective, numbers as floats."""
    kind, attribute, inside = re.fullmatch(r"(\w+)(?:\(([\w:]+)?(?:, )?(.*)\))?", text).groups()
    inside = inside or ""
    if attribute and inside.startswith("="):
        attribute, inside = None, attribute + inside
    settings = dict(setting.split("=") for setting in inside.split(", ") if setting)
    for name, value in settings.items():
        settings[name] = value if value.isalpha() else float(value)
    return kind, attribute, settings


def column(text):
    kind, attribute, settings = parsed(text)
    costs = [settings.get("fp", 1.0), settings.get("fn", 1.0)]
    if kind == "error_rate" and costs != [1.0, 1.0]:
        return "objective.error_rate(fp={:g},fn={:g})".format(*costs)
    return f"objective.{kind}({attribute})" if attribute else f"objective.{kind}"


def objective(text, split, params):
    kind, attribute, given = parsed(text)
    of = lambda name, default: given.get(name, default)
    phi = split.z @ params
    decision = expit(phi / of("tau", 0.1))
    loss = np.logaddexp(0, -split.y * phi)
    shrink, beta = of("shrink", 0.0), of("beta", 50.0)
    if kind == "error_rate":
        wrong = expit(-split.y * phi / of("tau", 0.1))
        usual = split.penalty / (10 * of("tau", 0.1) ** 2)
        penalty = of("lambda", usual) / 2 * params[:-1] @ params[:-1]
        cost = np.where(split.y > 0, of("fn", 1.0), of("fp", 1.0))
        return np.average(cost * wrong, weights=split.w) + penalty
    if kind in RATES:
        how = of("spread", "range")
        values = []
        for label in RATES[kind]:
            groups = by_group(split, attribute, decision, label, shrink)
            values.append(spread(*groups, how, beta))
        return smooth_max(values, beta) if how == "range" else sum(values)
    if kind == "mutual_information":
        rates, shares, _ = by_group(split, attribute, decision, None, shrink)
        rates = np.clip(rates, of("clamp", 1e-6), 1 - of("clamp", 1e-6))
        overall = shares @ rates
        return shares @ (rel_entr(rates, overall) + rel_entr(1 - rates, 1 - overall))
    losses, shares, overall = by_group(split, attribute, loss, None, shrink)
    if kind == "worst_group_loss":
        return smooth_max(losses, beta)
    if of("risk", "variance") == "cvar":
        return cvar(losses, shares, of("alpha", 0.5), of("mu", 1e-3))
    return spread(losses, shares, overall, "variance", None)
