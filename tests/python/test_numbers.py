"""Targets that are numbers: objectives, measures, fronts and certificates compared with numpy, scipy, scikit-learn and
fairlearn."""

import json
import random
import signal
import subprocess
import time

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sklearn.metrics as sk
from definitions import UNKNOWN, by_group, cvar, smooth_max, smooth_range, spread
from fitted import SPLITS, Run
from scipy import stats
from scipy.special import expit

ROWS = 2400
SEX, REGION = ["--sensitive", "sex"], ["--sensitive", "region"]
# Enough for models that differ.
FEW = ["--solver", "weighted", "--set", "sums=16", "--set", "max-steps=4", "--quiet"]
# name: spec, objectives, each with the arguments that its definition needs
DEFAULTS = [
    "squared_error",
    "mean_difference(sex)",
    "mean_difference(region)",
    "distribution_difference(region)",
    "distribution_difference(sex, kind=wasserstein)",
    "loss_difference(region)",
    "worst_group_loss(sex)",
    "group_risk(region)",
    "score_covariance(sex)",
    "score_covariance(region)",
]
SETTINGS = [
    "absolute_error(mu=0.2, lambda=0.003)",
    "mean_difference(region, beta=7, shrink=0.1)",
    "mean_difference(sex, spread=variance, shrink=0.05)",
    "distribution_difference(sex, tau=0.3, beta=20)",
    "distribution_difference(region, kind=wasserstein, tau=0.05, shrink=0.02)",
    "loss_difference(sex, loss=absolute, mu=0.1, beta=30)",
    "worst_group_loss(region, loss=absolute, beta=5)",
    "group_risk(region, risk=cvar, alpha=0.8, mu=0.03)",
    "score_covariance(region, beta=4, smooth_max=lse)",
]
QUANTILE = ["quantile_loss(q=0.8)", "mean_difference(sex)", "group_risk(sex, risk=cvar)"]
WEIGHTS = ["--weight", "w"]
CASES = {
    "defaults": ([], DEFAULTS),
    "settings": ([], SETTINGS),
    "quantile": (["--seed", "2"], QUANTILE),
    "weighted defaults": ([*WEIGHTS, *UNKNOWN], DEFAULTS),
    "weighted settings": ([*WEIGHTS, *UNKNOWN], SETTINGS),
}


@pytest.fixture(scope="session")
def pay(tmp_path_factory):
    """Skewed pay, two and four groups that differ, weights, and missing values in features and in a region."""
    draw = np.random.default_rng(26)
    man = draw.random(ROWS) < 0.55
    region = draw.choice(["east", "north", "south", "west"], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    years = draw.gamma(3, 4, ROWS) + 2 * man
    hours = draw.normal(38 + 2 * man, 4)
    city = draw.choice(["large", "small", "none"], ROWS)
    noise = draw.gamma(2, 4, ROWS)
    pay = 18 + 1.3 * years + 0.2 * hours + 4 * man + 3 * (region == "east") + noise
    weight = np.where(draw.random(ROWS) < 0.02, 0, draw.gamma(2, 0.7, ROWS)).round(3)
    table = pd.DataFrame(
        {
            "pay": pay.round(2),
            "sex": np.where(man, "m", "f"),
            "region": np.where(draw.random(ROWS) < 0.05, None, region),
            "years": np.where(draw.random(ROWS) < 0.06, np.nan, years.round(1)),
            "hours": hours.round(1),
            "city": np.where(draw.random(ROWS) < 0.04, None, city),
            "w": weight,
        }
    )
    path = tmp_path_factory.mktemp("pay") / "pay.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=CASES)
def run(request, fairfront, pay, tmp_path_factory):
    settings, objectives = CASES[request.param]
    drop = [] if "--weight" in settings else ["--drop", "w"]
    spec = [pay, "--target", "pay", *SEX, *REGION, *settings, *drop]
    folder = tmp_path_factory.mktemp("numbers") / "run"
    return NumberRun(fairfront, folder, spec, objectives, FEW)


class NumberRun(Run):
    """A run whose target is a number: labels in standard deviations of the training rows from their mean."""

    def __init__(self, *args):
        super().__init__(*args)
        train = self.rows[self.rows["split"] == "train"]
        weight = train["weight"].to_numpy()
        self.center = np.average(train["label"], weights=weight)
        self.scale = np.sqrt(np.average((train["label"] - self.center) ** 2, weights=weight))
        for name in SPLITS:
            split = self.splits[name]
            split.number = split.y
            split.y = (split.number - self.center) / self.scale
        used = np.sort(self.splits["train"].y[weight > 0])
        at = [(2 * i + 1) * len(used) // 64 for i in range(32)]
        self.thresholds = np.unique(used[at])


# Objectives


def parsed(text):
    """Return the name, attribute and settings of an objective."""
    kind, _, inside = text.rstrip(")").partition("(")
    words = [word for word in inside.split(", ") if word]
    attribute = words.pop(0) if words and "=" not in words[0] else None
    settings = dict(word.split("=") for word in words)
    return kind, attribute, settings


def column(text):
    kind, attribute, settings = parsed(text)
    named = [word for word in ("q", "kind") if word in settings]
    inside = ", ".join([*([attribute] if attribute else []), *(f"{name}={settings[name]}" for name in named)])
    return f"objective.{kind}({inside})" if inside else f"objective.{kind}"


def smooth_absolute(residual, mu):
    return np.sqrt(residual**2 + mu**2) - mu


def objective(text, split, params, thresholds):
    """Return an objective computed from its definition."""
    kind, attribute, settings = parsed(text)
    number = lambda name, default: float(settings.get(name, default))
    phi = split.z @ params
    residual = phi - split.y
    beta, shrink, mu = number("beta", 50), number("shrink", 0), number("mu", 0.05)
    if attribute is None:
        loss = {
            "squared_error": lambda: residual**2,
            "absolute_error": lambda: smooth_absolute(residual, mu),
            "quantile_loss": lambda: (
                smooth_absolute(residual, mu) / 2 - (number("q", 0.5) - 0.5) * residual
            ),
        }[kind]()
        penalty = number("lambda", split.penalty) / 2 * params[:-1] @ params[:-1]
        return np.average(loss, weights=split.w) + penalty
    if kind == "mean_difference":
        groups = by_group(split, attribute, phi, None, shrink)
        return spread(*groups, settings.get("spread", "range"), beta)
    if kind == "distribution_difference":
        shares = [expit((t - phi) / number("tau", 0.1)) for t in thresholds]
        ranges = [smooth_range(by_group(split, attribute, s, None, shrink)[0], beta) for s in shares]
        return np.mean(ranges) if settings.get("kind") == "wasserstein" else smooth_max(ranges, beta)
    if kind == "score_covariance":
        rows = split.known(attribute) & (split.w > 0)
        groups = sorted(set(split.groups[attribute][rows]))
        w = split.w[rows]
        squares = []
        for group in groups[len(groups) == 2 :]:
            a = split.groups[attribute][rows] == group
            squares.append(np.average((a - np.average(a, weights=w)) * phi[rows], weights=w) ** 2)
        squares, beta = np.array(squares), number("beta", 8)
        if len(squares) == 1:
            return squares[0]
        if settings.get("smooth_max") == "lse":
            return smooth_max(squares, beta)
        e = np.exp(beta * squares)
        return squares @ e / e.sum()
    absolute = settings.get("loss") == "absolute"
    loss = smooth_absolute(residual, 0.05 if kind == "group_risk" else mu) if absolute else residual**2
    losses, shares, overall = by_group(split, attribute, loss, None, shrink)
    if kind == "worst_group_loss":
        return smooth_max(losses, beta)
    if kind == "loss_difference":
        return smooth_range(losses, beta)
    if settings.get("risk") == "cvar":
        return cvar(losses, shares, number("alpha", 0.5), number("mu", 1e-3))
    return spread(losses, shares, overall, "variance", None)


@pytest.mark.parametrize("name", SPLITS)
def test_objectives_agree_with_their_definitions(run, name):
    prefix = "" if name == "train" else f"{name}."
    split = run.splits[name]
    for params, seen in run.models(6):
        for text in run.objectives:
            expected = objective(text, split, params, run.thresholds)
            assert seen[prefix + column(text)] == pytest.approx(expected, rel=1e-9, abs=1e-13), text


def test_models_differ(run):
    # Otherwise the test above means little.
    assert len(run.table) >= 12
    for text in run.objectives:
        values = run.table[column(text)]
        assert len(set(values)) > len(values) / 2, text


# Measures


@pytest.mark.parametrize("run", ["defaults", "weighted settings"], indirect=True)
@pytest.mark.parametrize("name", SPLITS)
def test_measures_agree_with_scikit_learn_and_fairlearn(run, name):
    split = run.splits[name]
    assert run.info["meaning"]["target"]["number"]["scale"] == pytest.approx(run.scale, rel=1e-12)
    thresholds = run.thresholds
    for params, seen in run.models(3):
        predicted = run.center + run.scale * (split.z @ params)
        near = lambda measure, expected: (  # noqa: B023
            pytest.approx(expected, rel=1e-9, abs=1e-9) == seen[f"{name}.{measure}"]  # noqa: B023
        )
        w = split.w
        assert near("rmse", sk.root_mean_squared_error(split.number, predicted, sample_weight=w))
        assert near("mae", sk.mean_absolute_error(split.number, predicted, sample_weight=w))
        assert near("r2", sk.r2_score(split.number, predicted, sample_weight=w))
        assert near("mean_prediction", np.average(predicted, weights=w))
        assert near("mean_target", np.average(split.number, weights=w))
        assert near("mean_residual", np.average(split.number - predicted, weights=w))
        for attribute in run.attributes:
            known = split.known(attribute)
            groups, weights = split.groups[attribute][known], w[known]
            frame = fl.MetricFrame(
                metrics={
                    "rmse": sk.root_mean_squared_error,
                    "mae": sk.mean_absolute_error,
                    "mean_prediction": fl.mean_prediction,
                },
                y_true=split.number[known],
                y_pred=predicted[known],
                sensitive_features=groups,
                sample_params=dict.fromkeys(["rmse", "mae", "mean_prediction"], {"sample_weight": weights}),
            )
            for group, values in frame.by_group.iterrows():
                for measure, value in values.items():
                    assert near(f"{measure}({attribute}={group})", value), measure
            difference = frame.difference(method="between_groups")
            assert near(f"mean_difference({attribute})", difference["mean_prediction"])
            assert near(f"rmse_difference({attribute})", difference["rmse"])
            assert near(f"mae_difference({attribute})", difference["mae"])
            assert near(f"worst_group_rmse({attribute})", frame.group_max()["rmse"])
            assert near(f"worst_group_mae({attribute})", frame.group_max()["mae"])
            phi = (split.z @ params)[known]
            shares = np.array(
                [
                    [np.average(phi[groups == g] <= t, weights=weights[groups == g]) for t in thresholds]
                    for g in frame.by_group.index
                ]
            )
            ranges = shares.max(0) - shares.min(0)
            assert near(f"distribution_difference({attribute})", ranges.max())
            assert near(f"mean_distribution_difference({attribute})", ranges.mean())
            if len(shares) == 2 and (w == 1).all():
                a, b = (phi[groups == g] for g in frame.by_group.index)
                whole = stats.ks_2samp(a, b).statistic
                # The statistic looks at every prediction, the measure only at 32 quantiles of the target.
                assert ranges.max() <= whole + 1e-12
                at = [stats.ecdf(part).cdf.evaluate(thresholds) for part in (a, b)]
                assert np.abs(at[0] - at[1]).max() == pytest.approx(ranges.max(), abs=1e-12)


# Fronts


@pytest.fixture(scope="module", params=[[], WEIGHTS])
def covariances(request, fairfront, pay, tmp_path_factory):
    drop = [] if request.param else ["--drop", "w"]
    spec = [pay, "--target", "pay", *SEX, "--drop", "region", *request.param, *drop]
    folder = tmp_path_factory.mktemp("covariances") / "run"
    return NumberRun(fairfront, folder, spec, ["squared_error", "score_covariance(sex)"])


def test_trace_follows_the_closed_form(covariances):
    """The least error at each covariance is the solution of a linear system."""
    info, split = covariances.info, covariances.splits["train"]
    assert (info["solver"], info["proof"]["proven"]) == ("trace", len(covariances.table))
    assert info["proof"]["largest_optimality_gap"] < 1e-12
    w = split.w / split.w.sum()
    penalty = split.penalty * np.diag([*[1.0] * (split.z.shape[1] - 1), 0.0])
    half = (split.z.T * w) @ split.z + penalty / 2
    towards = (split.z.T * w) @ split.y
    a = split.groups["sex"] == "m"
    u = (split.z.T * w) @ (a - w @ a)
    free = np.linalg.solve(half, towards)
    direction = np.linalg.solve(half, u)
    found = 0
    for params, seen in covariances.models(40):
        # The parameters are free + t * direction, with t such that the covariance is that of the model.
        t = (u @ params - u @ free) / (u @ direction)
        expected = free + t * direction
        np.testing.assert_allclose(params, expected, rtol=1e-7, atol=1e-9)
        error = w @ (split.z @ expected - split.y) ** 2 + expected @ penalty @ expected / 2
        assert seen["objective.squared_error"] == pytest.approx(error, rel=1e-11)
        assert seen["objective.score_covariance(sex)"] == pytest.approx((u @ params) ** 2, rel=1e-9, abs=1e-20)
        found += 1
    assert found > 20
    # The front begins at the unmitigated model and ends without covariance.
    values = covariances.table["objective.score_covariance(sex)"]
    assert values.max() == pytest.approx((u @ free) ** 2, rel=1e-9)
    assert values.min() < 1e-20


def test_unmitigated_models_are_those_of_scikit_learn(fairfront, pay, tmp_path):
    from sklearn.linear_model import QuantileRegressor, Ridge

    spec = [pay, "--target", "pay", *SEX, "--drop", "region,w"]
    of = NumberRun(fairfront, tmp_path / "squared", spec, ["squared_error(lambda=0.02)", "mean_difference(sex)"])
    split = of.splits["train"]
    n = len(split.y)
    # scikit-learn minimizes the sum of squares plus alpha times the squared coefficients.
    ridge = Ridge(alpha=0.01 * n, solver="cholesky").fit(split.z[:, :-1], split.y)
    params = np.array(of.info["unmitigated"]["params"])
    # The fit stops at a gradient of about 1e-8, and the smallest curvature is 0.02.
    np.testing.assert_allclose(params, [*ridge.coef_, ridge.intercept_], atol=1e-6)
    objectives = ["quantile_loss(q=0.8, mu=0.0001, lambda=0)", "mean_difference(sex)"]
    of = NumberRun(fairfront, tmp_path / "quantile", spec, objectives)
    linear = QuantileRegressor(quantile=0.8, alpha=0).fit(split.z[:, :-1], split.y)
    pinball = lambda phi: sk.mean_pinball_loss(split.y, phi, alpha=0.8)
    least = pinball(linear.predict(split.z[:, :-1]))
    found = pinball(split.z @ np.array(of.info["unmitigated"]["params"]))
    # The smooth corner is 1e-4 wide.
    assert least <= found + 1e-12 and found < least + 1e-4


# The same bytes


def content(folder):
    """Return the bytes of a run, and the content of run.json without times."""
    said = json.loads((folder / "run.json").read_text())
    said.pop("seconds"), said.pop("checksum")
    names = ["encoding.json", "front.parquet", "tallies.json"]
    return [(folder / name).read_bytes() for name in names], said


FAIR = {
    "weighted": ["squared_error", "mean_difference(sex)", "distribution_difference(region)"],
    "trace": ["squared_error", "score_covariance(sex)", "score_covariance(region, smooth_max=lse)"],
    "pf-smg": ["absolute_error", "score_covariance(sex)"],
}


def fit_words(solver, pay):
    words = [pay, "--target", "pay", *SEX, *REGION, "--weight", "w", "--solver", solver, "--quiet"]
    return [*words, *(word for o in FAIR[solver] for word in ("--objective", o)), "--models", 60]


@pytest.mark.parametrize("solver", FAIR)
def test_threads_change_nothing(fairfront, pay, tmp_path, solver):
    for threads in (1, 2):
        fairfront("fit", *fit_words(solver, pay), "--threads", threads, "--out", tmp_path / str(threads))
    assert content(tmp_path / "1") == content(tmp_path / "2")
    assert b" values agree" in fairfront("verify", tmp_path / "1", pay)


@pytest.mark.parametrize("solver", FAIR)
def test_killed_fits_resume_with_the_same_bytes(fairfront, pay, tmp_path, solver):
    words = [str(word) for word in fit_words(solver, pay)]
    before = time.monotonic()
    fairfront("fit", *words, "--out", tmp_path / "whole")
    seconds = time.monotonic() - before
    folder, draw, kills = tmp_path / "killed", random.Random(26), 0
    keep = ["--checkpoint-every", "0.01"]
    while True:
        resume = ["--resume"] if kills else []
        command = [fairfront.binary, "fit", *words, "--out", folder, *keep, *resume]
        process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE)
        try:
            limit = draw.uniform(0.1, 1) * seconds if kills < 3 else 60
            assert process.wait(limit) == 0, process.stderr.read()
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    assert content(folder) == content(tmp_path / "whole")


# Certificates


@pytest.fixture(scope="module")
def certified(fairfront, pay, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certified") / "run"
    spec = [pay, "--target", "pay", *SEX, *REGION, "--split", "40/10/30/20", "--drop", "w"]
    objectives = ["squared_error", "mean_difference(sex)", "mean_difference(region)"]
    return NumberRun(fairfront, folder, spec, objectives, ["--models", "40", "--quiet"])


def certify_rows(run):
    """Return the rows that certify: numbers, features and groups."""
    split = run.joined("certify")
    z = split.z
    return split.y, z, split.groups


def tested(fairfront, run, *requirements, more=()):
    args = [word for r in requirements for word in ("--require", r)]
    return json.loads(fairfront("select", run.folder, *args, *more, "--json"))["test"]


def test_differences_of_means_are_tested_by_welchs_test(fairfront, certified):
    number, z, groups = certify_rows(certified)
    said = tested(fairfront, certified, "mean_difference(sex) <= 4", "mean_difference(region) <= 6")
    assert said["test"] == "welch" and said["certified"]
    for of in said["tested"]:
        params = np.array(certified.table["params"][of["model_id"] - 1])
        predicted = certified.center + certified.scale * (z @ params)
        p_values = []
        for attribute, limit in (("sex", 4), ("region", 6)):
            parts = [predicted[groups[attribute] == g] for g in sorted(set(groups[attribute])) if g]
            for i, a in enumerate(parts):
                for b in parts[:i] + parts[i + 1 :]:
                    test = stats.ttest_ind(a - limit, b, equal_var=False, alternative="less")
                    p_values.append(test.pvalue)
        # A requirement holds if each of its parts does, so the largest p-value counts.
        assert of["p_value"] == pytest.approx(max(p_values), rel=1e-7, abs=1e-300)


def test_means_are_tested_by_students_test(fairfront, certified):
    number, z, groups = certify_rows(certified)
    limit = 12
    said = tested(fairfront, certified, f"worst_group_mae(sex) <= {limit}", f"mae <= {limit}")
    for of in said["tested"]:
        params = np.array(certified.table["params"][of["model_id"] - 1])
        error = np.abs(certified.center + certified.scale * (z @ params) - number)
        parts = [error, *(error[groups["sex"] == g] for g in "fm")]
        tests = [stats.ttest_1samp(part, limit, alternative="less").pvalue for part in parts]
        assert of["p_value"] == pytest.approx(max(tests), rel=1e-7, abs=1e-300)


def bernstein(values, width, delta):
    """Return how far the true mean may be from that of these values, by Maurer and Pontil's bound."""
    n, log = len(values), np.log(2 / delta)
    return np.sqrt(2 * values.var(ddof=1) * log / n) + 7 * width * log / (3 * (n - 1))


def test_finite_sample_tests_are_empirical_bernstein_bounds(fairfront, certified):
    number, z, groups = certify_rows(certified)
    limit = 30
    said = tested(fairfront, certified, f"mean_difference(sex) <= {limit}", more=["--exact"])
    assert said["test"] == "bernstein" and said["certified"]
    train = certified.splits["train"].number
    low, high = train.min(), train.max()
    for of in said["tested"]:
        params = np.array(certified.table["params"][of["model_id"] - 1])
        predicted = np.clip(certified.center + certified.scale * (z @ params), low, high)
        a, b = (predicted[groups["sex"] == g] for g in "mf")
        # At the p-value, the bounds of both means, each at half of it, just keep the limit.
        def highest(delta):
            ends = []
            for one, other in ((a, b), (b, a)):
                upper = min(one.mean() + bernstein(one, high - low, delta / 2), high)
                lower = max(other.mean() - bernstein(other, high - low, delta / 2), low)
                ends.append(upper - lower)
            return max(ends)

        if of["p_value"] > 1e-300:
            assert highest(of["p_value"] * 1.001) <= limit + 1e-9
            assert highest(of["p_value"] * 0.999) >= limit - 1e-9


def test_regions_of_root_means_are_shown_as_roots(fairfront, certified):
    number, z, groups = certify_rows(certified)
    args = ["--require", "worst_group_rmse(sex) <= 30", "--json"]
    said = json.loads(fairfront("select", certified.folder, *args))
    params = np.array(certified.table["params"][said["model_id"] - 1])
    predicted = certified.center + certified.scale * (z @ params)
    shown = {group["group"]: group["rate"] for group in said["certificate"]["requirements"][0]["groups"]}
    for sex in "fm":
        rows = groups["sex"] == sex
        expected = sk.root_mean_squared_error(number[rows], predicted[rows])
        assert shown[f"sex={sex}"] == pytest.approx(expected, rel=1e-9)


# Output and errors


def test_default_fronts_are_proven_to_their_fair_end(fairfront, pay, tmp_path):
    run = tmp_path / "run"
    for attributes in (SEX, REGION):
        fairfront("fit", pay, "--target", "pay", *attributes, "--drop", "w", "--out", run, "--force", "--quiet")
        info = json.loads((run / "run.json").read_text())
        assert info["objectives"][0] == "squared_error" and info["proof"]["proven"] == info["models"]
        # The last model has equal means, where the gradient of the smooth range is 0.
        front = pq.read_table(run / "front.parquet").to_pandas()
        last = front.iloc[front.filter(like="objective.mean_difference").iloc[:, 0].argmin()]
        assert last.filter(like="objective.mean_difference").iloc[0] < 1e-20
        assert last["optimality_gap"] < 1e-9, attributes


def table(tmp_path, target, rows=200, groups=2, feature=None):
    """Write a table with the target of each row."""
    draw = np.random.default_rng(1)
    x = draw.normal(size=rows).round(3) if feature is None else np.full(rows, feature)
    path = tmp_path / "table.csv"
    columns = {"y": [target(i, x[i]) for i in range(rows)], "sex": [f"g{i % groups}" for i in range(rows)], "x": x}
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


WRONG = {
    # target of a row, other arguments of the table, parts of the error
    "constant": (lambda i, x: 5, {}, ["the target", "5", "choose another target"]),
    "infinite": (lambda i, x: "inf" if i == 17 else x, {}, ["row 18", '"y"', "inf", "fix the value"]),
    "huge": (lambda i, x: "1e300" if i == 17 else x, {}, ["row 18", "1e300 is too large for a target", "within"]),
    "all huge": (lambda i, x: x * 1e300, {}, ["row 1", "too large for a target"]),
    "tiny": (lambda i, x: x * 1e-300, {}, ["too close together", "multiply the column"]),
    "string": (lambda i, x: "unknown" if i == 17 else x, {}, ["row 18", '"unknown" is not a number']),
    "strings": (lambda i, x: ["low", "high"][i % 2], {}, ["row 1", '"low" is not a number']),
    "missing": (lambda i, x: "NaN", {}, ['"y"', "missing"]),
    "one group": (lambda i, x: x, {"groups": 1}, ['"sex"', "only one group"]),
    "equal features": (lambda i, x: i % 7, {"feature": 1.0}, ["no column is left as a feature"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tables_are_clear_errors(fairfront, tmp_path, name):
    target, settings, parts = WRONG[name]
    path = table(tmp_path, target, **settings)
    error = fairfront.error("fit", path, "--target", "y", "--numeric", "--sensitive", "sex", "--out", tmp_path / "run")
    for part in parts:
        assert part in error, error


def test_unusual_tables_are_fitted(fairfront, tmp_path):
    fit = ["--target", "y", "--sensitive", "sex", "--out", tmp_path / "run", "--force"]
    # Two numbers are a binary target by default.
    path = table(tmp_path, lambda i, x: 10 * (i % 3 == 0))
    assert b"counts as positive" in fairfront.run("fit", path, *fit).stderr
    assert json.loads((tmp_path / "run/run.json").read_text())["objectives"][0] == "error_rate"
    fairfront("fit", path, *fit, "--numeric")
    assert json.loads((tmp_path / "run/run.json").read_text())["objectives"][0] == "squared_error"
    # Missing targets are dropped.
    path = table(tmp_path, lambda i, x: "NaN" if i in (17, 30) else x)
    assert b"2 of 200 rows (1.0%) are dropped" in fairfront.run("fit", path, *fit).stderr
    # Three rows, and a target with a very large unit.
    done = fairfront.run("fit", table(tmp_path, lambda i, x: i, rows=3), *fit)
    assert b"2 training rows are too few for cross-validation" in done.stdout + done.stderr
    done = fairfront.run("fit", table(tmp_path, lambda i, x: (x + i % 2) * 1e30), *fit)
    rows = done.stdout.decode().partition("unmitigated")[2].partition("±:")[0].splitlines()
    assert len(rows) > 5 and max(map(len, rows)) < 120
