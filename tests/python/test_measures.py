"""Smooth errors and rates, the measures they stand for, and fronts judged by these measures.

Everything is found again from exported rows and stored parameters.
"""

import re

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logsumexp, rel_entr
from sklearn.metrics import mutual_info_score

from fitted import EXACT, LOANS, SPLITS, Run, near, scores

DEMO = "demo(rows=3000)"
ALL = ["--sensitive", "sex", "--sensitive", "race", "--sensitive", "sex:race"]
# Enough for points that differ.
FEW = ["--method", "weighted", "--set", "sums=16", "--set", "max-steps=4", "--quiet"]

# Objectives by their definitions


def smooth_max(v, beta):
    return logsumexp(beta * np.asarray(v), b=1 / len(v)) / beta


def smooth_range(v, beta):
    return smooth_max(v, beta) + smooth_max(-np.asarray(v), beta)


def by_group(split, attribute, output, label=None, shrink=0.0):
    """Means of the output and shares of the groups, and the mean of all."""
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
    """The mean of the worst 1 - alpha, its corner smooth, less the mean of all."""

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
    "true_positive_rate_parity": [1],
    "false_positive_rate_parity": [-1],
    "equalized_odds": [1, -1],
}


def parsed(text):
    """Name and settings of an objective, numbers as such."""
    kind, attribute, inside = re.fullmatch(r"(\w+)(?:\(([\w:]+)?(?:, )?(.*)\))?", text).groups()
    inside = inside or ""
    if attribute and inside.startswith("="):
        attribute, inside = None, attribute + inside
    settings = dict(setting.split("=") for setting in inside.split(", ") if setting)
    for name, value in settings.items():
        settings[name] = value if value.isalpha() else float(value)
    return kind, attribute, settings


def column(text):
    kind, attribute, _ = parsed(text)
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
        penalty = of("lambda", 1e-5) / 2 * params[:-1] @ params[:-1]
        return np.average(wrong, weights=split.w) + penalty
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


OBJECTIVES = {
    "defaults": [
        *["error_rate", "demographic_parity(sex)", "true_positive_rate_parity(race)"],
        *["false_positive_rate_parity(race)", "equalized_odds(sex)", "mutual_information(race)"],
        *["group_risk(race)", "group_risk(sex:race, risk=cvar)", "worst_group_loss(sex:race)"],
    ],
    "ranges": [
        "error_rate(tau=0.4, lambda=0.003)",
        "demographic_parity(sex:race, tau=0.02, beta=20)",
        "true_positive_rate_parity(sex:race, tau=0.3, beta=400, shrink=0.01)",
        "false_positive_rate_parity(sex, tau=0.05, beta=0.5)",
        "equalized_odds(race, shrink=0.2, beta=7)",
        "mutual_information(sex:race, tau=0.5, clamp=0.001, shrink=0.05)",
        "group_risk(race, risk=cvar, alpha=0.8, mu=0.03)",
        "worst_group_loss(race, beta=3, shrink=0.3)",
    ],
    "variances": [
        "error_rate(lambda=0)",
        "demographic_parity(race, spread=variance, shrink=0.1)",
        "true_positive_rate_parity(race, spread=variance, tau=0.7)",
        "false_positive_rate_parity(sex:race, spread=variance, shrink=0.02)",
        "equalized_odds(sex, spread=variance, tau=0.2)",
        "equalized_odds(sex:race, spread=variance, shrink=0.03)",
        "mutual_information(sex, clamp=0.4)",
        "group_risk(sex:race, shrink=0.05)",
        "group_risk(sex, risk=cvar, alpha=0.1, mu=0.0001, shrink=0.4)",
    ],
}
UNKNOWN = ["--missing-sensitive", "loss-only"]
CASES = {
    # name: spec, objectives
    "defaults": ([DEMO, *ALL], "defaults"),
    "ranges": ([DEMO, *ALL, "--seed", "4"], "ranges"),
    "variances": ([DEMO, *ALL], "variances"),
    "weighted defaults": (["loans", *LOANS, *ALL[-2:]], "defaults"),
    "weighted ranges": (["loans", *LOANS, *ALL[-2:], *UNKNOWN], "ranges"),
    "weighted variances": (["loans", *LOANS, *ALL[-2:], *UNKNOWN], "variances"),
}


@pytest.fixture(scope="module", params=CASES)
def run(request, fairfront, tmp_path_factory):
    (source, *spec), objectives = CASES[request.param]
    source = request.getfixturevalue("loans") if source == "loans" else source
    folder = tmp_path_factory.mktemp("objectives") / "run"
    return Run(fairfront, folder, [source, *spec], OBJECTIVES[objectives], FEW)


@pytest.mark.parametrize("name", SPLITS)
def test_objectives_are_what_their_definitions_say(run, name):
    prefix = "" if name == "train" else f"{name}."
    split = run.splits[name]
    for params, seen in run.points():
        for text in run.objectives:
            value, expected = seen[prefix + column(text)], objective(text, split, params)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-13), text
            assert value >= 0


def test_points_differ(run):
    # Otherwise the test above says little; the settings, too, are those asked for.
    assert len(run.table) >= 12
    for text in run.objectives:
        values = run.table[column(text)]
        assert len(set(values)) > len(values) / 2, text
    for text, definition in zip(run.objectives, run.info["definitions"], strict=True):
        said = parsed(definition)
        assert said[:2] == parsed(text)[:2]
        assert parsed(text)[2].items() <= said[2].items()


# Measures


DIFFERENCES = {
    # name: fairlearn's, labels that every group must have rows of
    "demographic_parity_difference": (fl.demographic_parity_difference, []),
    "equal_opportunity_difference": (fl.equal_opportunity_difference, [1]),
    "false_positive_rate_difference": (fl.false_positive_rate_difference, [-1]),
    "equalized_odds_difference": (fl.equalized_odds_difference, [1, -1]),
}


@pytest.mark.parametrize("run", ["ranges", "weighted ranges"], indirect=True)
@pytest.mark.parametrize("name", SPLITS)
def test_differences_are_those_of_fairlearn(run, name):
    split, train = run.splits[name], run.splits["train"]
    for attribute in run.attributes:
        known = split.known(attribute)
        # To fairlearn an intersection is two columns.
        sensitive = pd.DataFrame({a: split.groups[a][known] for a in attribute.split(":")})
        y, w, groups = split.y[known], split.w[known], split.groups[attribute][known]
        weight = lambda g, label: w[(groups == g) & (y == label)].sum()
        all_groups = set(train.groups[attribute][train.known(attribute)])
        for params, seen in run.points(2):
            decision = scores(split, params)[1][known]
            for measure, (function, labels) in DIFFERENCES.items():
                value = seen[f"{name}.{measure}({attribute})"]
                if all(weight(g, label) > 0 for label in labels for g in all_groups):
                    arguments = {"sensitive_features": sensitive, "sample_weight": w}
                    near(value, function(y > 0, decision, **arguments), measure, EXACT)
                else:
                    assert value is None or np.isnan(value), measure
            if (w == 1).all():
                value = seen[f"{name}.mutual_information({attribute})"]
                near(value, mutual_info_score(groups, decision), "mutual information", EXACT)
