"""Fitted fronts: every number of a run, compared with numpy, scikit-learn and fairlearn."""

import csv
import io
import json
import re

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from fitted import EXACT, LOANS, SPLITS, Run, dominated, near, scores

LAMBDA, BETA, MU = 1e-4, 8.0, 1e-5
# Few models and steps, but enough for several rounds of the solver.
BUDGET = ["--models", "150", "--set", "max-steps=12", "--penalty", str(LAMBDA), "--quiet"]
OBJECTIVES = {
    "impact": ["log_loss", "score_covariance(sex)", "score_covariance(race)"],
    "errors": ["log_loss", "score_covariance(race, given=positive)", "score_covariance(sex, given=negative)"],
}
CASES = {
    # name: spec, objectives
    "weighted": ([*LOANS, "--seed", "3"], OBJECTIVES["impact"]),
    "unknown": ([*LOANS, "--missing-sensitive", "loss-only"], OBJECTIVES["errors"]),
    "adult:sex": ([], ["log_loss", "score_covariance(sex)"]),
}


@pytest.fixture(scope="module", params=CASES)
def run(request, fairfront, tmp_path_factory):
    spec, objectives = CASES[request.param]
    if request.param.startswith("adult"):
        request.getfixturevalue("data")
        source = request.param
    else:
        source = request.getfixturevalue("loans")
    folder = tmp_path_factory.mktemp("runs") / "run"
    return Run(fairfront, folder, [source, *spec], objectives, BUDGET)


def has_value(run, seen, defined, name):
    """Return whether a measure has a value; it must have one if and only if the measure is defined."""
    missing = seen is None or np.isnan(seen)
    assert missing != bool(defined), name
    return not missing


def test_the_solver_did_some_work(run):
    # Otherwise the other tests mean little.
    assert len(run.table) >= 20
    assert len(run.info["counters"]["points_by_round"]) >= 1


def test_the_table(run):
    names = list(run.table)
    assert names[:2] == ["model_id", "family"] and names[-1] == "params" and len(set(names)) == len(names)
    assert set(run.table["family"]) == {"linear"}
    assert list(run.table["model_id"]) == list(range(1, len(run.table) + 1))
    assert run.info["models"] == len(run.table)
    assert run.info["objectives"] == run.objectives
    assert run.info["features"] == run.features
    assert run.info["rows"] == {name: len(split.y) for name, split in run.splits.items()}
    assert {len(p) for p in run.table["params"]} == {len(run.features) + 1}
    proof = ["optimality_gap", "gradient_residual"]
    proof += [f"multiplier.{name}" for name in run.objectives]
    assert names[-len(proof) - 1 : -1] == proof
    names = [name for name in names if name not in proof]
    assert list(run.info["unmitigated"]["values"]) == names[2:-1]
    assert np.isfinite(np.stack(run.table["params"])).all()
    wanted = [o if s == "train" else f"{s}.{o}" for s in SPLITS for o in objective_columns(run)]
    wanted += [f"{name}.{measure}" for name in SPLITS for measure in measure_names(run)]
    wanted += ["calibration.slope", "calibration.intercept"]
    parts = ["rows", "predicted", "observed"]
    wanted += [f"reliability.{i:02}.{part}" for i in range(1, 11) for part in parts]
    wanted += interval_columns(run)
    assert names[2:-1] == wanted


def interval_columns(run):
    """Return the columns of intervals on test rows, then those on validation rows."""
    kinds = ["demographic_parity", "equal_opportunity", "false_positive_rate", "equalized_odds"]
    by_group = ["selection_rate", "false_negative_rate", "false_positive_rate", "accuracy"]
    found = {"test": [], "validation": []}

    def add(name, overall, biased):
        found["test"] += [f"test.{name}.{end}" for end in ("low", "high", "band_low", "band_high")]
        if overall:
            for split, names in found.items():
                names += [f"{split}.{name}.change_{end}" for end in ("low", "high")]
        if biased:
            found["test"].append(f"test.{name}.bias")

    add("accuracy", True, False)
    for attribute in run.attributes:
        compared = [f"{kind}_difference({attribute})" for kind in kinds]
        for name in [*compared, f"demographic_parity_ratio({attribute})"]:
            add(name, True, True)
        for group in groups(run, attribute):
            for rate in by_group:
                add(f"{rate}({attribute}={group})", False, False)
    nondominated = "test.probability_nondominated"
    if nondominated in run.table:
        found["test"].append(nondominated)
    return found["test"] + found["validation"]


def objective_columns(run):
    return [f"objective.{name}" for name in run.objectives]


def measure_names(run):
    """Return the measures of a split, in order."""
    # Compared with scipy in test_reference_groups.py.
    names = ["accuracy", "log_loss", *MORE, "ks"]
    for attribute in run.attributes:
        names += [f"{difference}({attribute})" for difference in (*DIFFERENCES, INFORMATION)]
        for group in groups(run, attribute):
            names += [f"{m}({attribute}={group})" for m in ("count", *RATES, *COUNTS, *MORE)]
    return names


def groups(run, attribute):
    train = run.splits["train"]
    return sorted(set(train.groups[attribute][train.known(attribute)]))


def accuracy_of(y_true, y_pred, sample_weight):
    return accuracy_score(y_true, y_pred, sample_weight=sample_weight)


RATES = {
    "selection_rate": fl.selection_rate,
    "false_negative_rate": fl.false_negative_rate,
    "false_positive_rate": fl.false_positive_rate,
    "accuracy": accuracy_of,
}
DIFFERENCES = {
    "demographic_parity_difference": fl.demographic_parity_difference,
    "demographic_parity_ratio": fl.demographic_parity_ratio,
    "equal_opportunity_difference": fl.equal_opportunity_difference,
    "false_positive_rate_difference": fl.false_positive_rate_difference,
    "equalized_odds_difference": fl.equalized_odds_difference,
}
INFORMATION = "mutual_information"
# Compared with scikit-learn in test_probability.py.
MORE = ["balanced_accuracy", "precision", "brier_score", "auc", "calibration_error"]
COUNTS = ["true_positives", "false_positives", "true_negatives", "false_negatives"]


@pytest.mark.parametrize("name", SPLITS)
def test_accuracy_and_log_loss(run, name):
    split = run.splits[name]
    for params, seen in run.models():
        phi, decision = scores(split, params)
        expected = accuracy_score(split.y > 0, decision, sample_weight=split.w)
        near(seen[f"{name}.accuracy"], expected, "accuracy")
        # Compute both columns, because 1 - p would lose digits.
        odds = seen["calibration.slope"] * phi + seen["calibration.intercept"]
        both = np.column_stack([expit(-odds), expit(odds)])
        expected = log_loss(split.y > 0, both, sample_weight=split.w)
        near(seen[f"{name}.log_loss"], expected, "log_loss")


@pytest.mark.parametrize("name", SPLITS)
def test_measures_of_groups(run, name):
    split = run.splits[name]
    for attribute in run.attributes:
        known = split.known(attribute)
        y, w, group = split.y[known] > 0, split.w[known], split.groups[attribute][known]
        total = {
            (g, label): w[(group == g) & (y == label)].sum() for g in groups(run, attribute) for label in (True, False)
        }
        # fairlearn takes a second per model.
        for params, seen in run.models(4):
            decision = scores(split, params)[1][known]
            frame = fl.MetricFrame(
                metrics=RATES,
                y_true=y,
                y_pred=decision,
                sensitive_features=group,
                sample_params={rate: {"sample_weight": w} for rate in RATES},
            )
            for g in groups(run, attribute):
                value = lambda measure: seen[f"{name}.{measure}({attribute}={g})"]
                of_group = group == g
                positives, negatives = total[g, True], total[g, False]
                near(value("count"), positives + negatives, g)
                tn, fp, fn, tp = confusion_matrix(
                    y[of_group], decision[of_group], sample_weight=w[of_group], labels=[False, True]
                ).ravel()
                # fairfront computes the negatives of a group as the total minus the positives. With fractional weights,
                # they have the rounding error of the total.
                rounding = EXACT * (positives + negatives)
                for measure, expected in zip(COUNTS, (tp, fp, tn, fn), strict=True):
                    near(value(measure), expected, (g, measure), rounding)
                divisors = {"false_negative_rate": positives, "false_positive_rate": negatives}
                for rate in RATES:
                    if has_value(run, value(rate), divisors.get(rate, 1.0) > 0, (g, rate)):
                        # As above, a rate has the rounding error of its divisor.
                        near(value(rate), frame.by_group.loc[g, rate], (g, rate), EXACT)
            positives, negatives = (
                all(n > 0 for (_, of), n in total.items() if of is label) for label in (True, False)
            )
            defined = {
                "demographic_parity_ratio": decision.any(),
                "equal_opportunity_difference": positives,
                "false_positive_rate_difference": negatives,
                "equalized_odds_difference": positives and negatives,
            }
            for measure, function in DIFFERENCES.items():
                value = seen[f"{name}.{measure}({attribute})"]
                if has_value(run, value, defined.get(measure, True), measure):
                    arguments = {"sensitive_features": group, "sample_weight": w}
                    # A difference has the rounding error of its two rates, however small it is.
                    near(value, function(y, decision, **arguments), measure, EXACT)
            # scikit-learn's function accepts only whole counts.
            table = [[w[(group == g) & (decision == d)].sum() for g in set(group)] for d in (0, 1)]
            table = np.array(table)
            expected = entropy(table.sum(0)) + entropy(table.sum(1)) - entropy(table.ravel())
            near(seen[f"{name}.{INFORMATION}({attribute})"], expected, INFORMATION, EXACT)


def smooth_min(s):
    corner = -((s - MU) ** 2) / (4 * MU)
    return np.where(s < -MU, s, np.where(s > MU, 0.0, corner))


def objective(name, split, params):
    """Return an objective by its definition, and the mean size of its terms."""
    phi = split.z @ params
    if name == "log_loss":
        mean = np.average(np.logaddexp(0.0, -split.y * phi), weights=split.w)
        return mean + LAMBDA / 2 * (params[:-1] ** 2).sum(), 1.0
    attribute, _, given = name.removeprefix("score_covariance(").rstrip(")").partition(", given=")
    known = split.known(attribute)
    y, w, group, phi = (v[known] for v in (split.y, split.w, split.groups[attribute], phi))
    if not given:
        psi, counts = phi, np.ones(len(phi), bool)
    else:
        side = 1.0 if given == "positive" else -1.0
        counts = y == side
        psi = np.where(counts, smooth_min(side * phi), 0.0)
    squares = []
    for g in sorted(set(group)):
        a = (group == g).astype(float)
        center = np.average(a[counts], weights=w[counts])
        squares.append(np.average((a - center) * psi, weights=w) ** 2)
    squares = np.array(squares)
    if len(squares) == 2:
        near(squares[0], squares[1], "two groups", 1e-20)
        return squares[0], np.average(abs(psi), weights=w)
    share = np.exp(BETA * (squares - squares.max()))
    return squares @ share / share.sum(), np.average(abs(psi), weights=w)


@pytest.mark.parametrize("name", SPLITS)
def test_objectives(run, name):
    prefix = "" if name == "train" else f"{name}."
    for params, seen in run.models():
        for o in run.objectives:
            value = seen[f"{prefix}objective.{o}"]
            expected, size = objective(o, run.splits[name], params)
            if o == "log_loss":
                near(value, expected, o)
            else:
                # The value is the square of a difference of means. Its rounding error is relative to the means, and
                # fair models have a difference of almost 0.
                assert value >= 0
                near(value**0.5, expected**0.5, o, 1e-13 * max(size, 1.0))


def test_the_front_is_nondominated(run):
    values = run.table[objective_columns(run)].to_numpy(copy=True)
    assert np.isfinite(values).all()
    assert not dominated(values).any()
    # This also holds if covariances near 0 count as 0, and no two models are equal then.
    unmitigated = run.info["unmitigated"]["values"]
    for column, name in enumerate(objective_columns(run)):
        if name != "objective.log_loss":
            values[values[:, column] < 1e-8 * unmitigated[name], column] = 0.0
    assert not dominated(values).any()
    assert len(np.unique(values, axis=0)) == len(values)


def test_the_unmitigated_model(run):
    train = run.splits["train"]
    model = LogisticRegression(C=1 / (train.w.sum() * LAMBDA), solver="newton-cholesky", tol=1e-12, max_iter=200)
    model.fit(train.z[:, :-1], train.y, sample_weight=train.w)
    params = np.append(model.coef_[0], model.intercept_[0])
    expected, _ = objective("log_loss", train, params)
    seen = run.info["unmitigated"]["values"]["objective.log_loss"]
    # The two solvers have different stopping rules.
    assert seen == pytest.approx(expected, rel=1e-9)
    assert run.table["objective.log_loss"].min() >= seen * (1 - 1e-12)


def test_show_prints_the_same(run):
    text = run.fairfront("show", run.folder, "--csv").decode()
    header, *rows, unmitigated = csv.reader(io.StringIO(text, newline=""))
    params = [f"params.{feature}" for feature in [*run.features, "(intercept)"]]
    assert header == [*run.table.columns[:-1], *params]
    number = lambda cell: float(cell) if cell else np.nan
    assert {row[1] for row in [*rows, unmitigated]} == {"linear"}
    shown = np.array([[number(cell) for cell in [row[0], *row[2:]]] for row in rows])
    stored = run.table.drop(columns=["family", "params"]).to_numpy(float)
    np.testing.assert_array_equal(shown, np.hstack([stored, np.stack(run.table["params"])]))
    # The last row is the unmitigated model.
    expected = run.info["unmitigated"]
    values = [expected["values"].get(name) for name in run.table.columns[2:-1]]
    values = [np.nan if v is None else v for v in [*values, *expected["params"]]]
    assert unmitigated[0] == "unmitigated"
    np.testing.assert_array_equal([number(cell) for cell in unmitigated[2:]], values)


def test_threads_change_nothing(run, tmp_path):
    files = ["front.parquet", "encoding.json"]
    expected = [(run.folder / f).read_bytes() for f in files]
    for threads in ("1", "2", "8"):
        folder = tmp_path / threads
        run.fit(folder, "--threads", threads)
        assert [(folder / f).read_bytes() for f in files] == expected, threads


def test_another_seed_differs(run, tmp_path):
    spec, run_spec = run.spec, list(run.spec)
    if "--seed" in run_spec:
        at = run_spec.index("--seed")
        del run_spec[at : at + 2]
    try:
        run.spec = [*run_spec, "--seed", "17"]
        run.fit(tmp_path / "other")
    finally:
        run.spec = spec
    other = pq.read_table(tmp_path / "other/front.parquet").to_pandas()
    ours = set(run.table["objective.log_loss"])
    assert len(ours & set(other["objective.log_loss"])) <= 1


def test_rows_of_unknown_group_count_only_in_the_loss(run):
    """The other tests compare the numbers; this one checks that there are such rows."""
    unknown = "loss-only" in run.spec
    for name, split in run.splits.items():
        for attribute in run.attributes:
            known = split.known(attribute)
            assert known.all() != (unknown and attribute == "race")
            seen = run.info["unmitigated"]["values"]
            counts = [seen[f"{name}.count({attribute}={g})"] for g in groups(run, attribute)]
            near(sum(counts), split.w[known].sum(), (name, attribute))


def test_a_run_contains_no_rows(fairfront, tmp_path):
    """No number of a column with distinct values is in the run, its report, or a model of it."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({name: rng.normal(50, 20, 1_500) for name in ("income", "savings", "debt")})
    rows["sex"] = rng.choice(["f", "m"], len(rows))
    score = rows.income - rows.debt + 10 * (rows.sex == "m") + rng.normal(0, 10, len(rows))
    rows["paid"] = np.where(score > 5, "yes", "no")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    run, model = tmp_path / "run", tmp_path / "model.json"
    fairfront("fit", tmp_path / "rows.csv", "--target", "paid", "--positive", "yes", "--sensitive", "sex", "--out", run)
    fairfront("select", run, "--knee", "--model", model)
    files = [path.read_text() for path in (run / "run.json", run / "encoding.json", run / "report.html", model)]
    number = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
    stored = {float(found) for file in files for found in number.findall(file)}
    front = pd.read_parquet(run / "front.parquet")
    stored |= set(front.drop(columns="params").to_numpy().ravel()) | set(np.concatenate(front.params.tolist()))
    assert len(stored) > 200
    # Neither raw nor scaled values are stored.
    for column in ("income", "savings", "debt"):
        values = rows[column].to_numpy()
        (rule,) = [r for r in json.loads(files[1])["numeric"] if r["column"] == column]
        scaled = (values - rule["shift"]) / rule["factor"]
        assert not stored & set(values) and not stored & set(scaled)
