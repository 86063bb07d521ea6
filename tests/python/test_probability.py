"""Probabilities of runs: calibration and its measures, compared with scikit-learn, scipy and numpy."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    precision_score,
    roc_auc_score,
)

from definitions import UNKNOWN
from fitted import EXACT, LOANS, SPLITS, Run, near
from seals import sealed

DEMO = "demo(rows=3000)"
FEW = ["--solver", "weighted", "--set", "sums=16", "--set", "max-steps=4", "--quiet"]
RUNS = {
    "default": ([DEMO], [], FEW),
    "weights": (["loans", *LOANS, *UNKNOWN], [], FEW),
    "covariance": ([DEMO], ["log_loss", "score_covariance(sex)"], ["--models", 20, "--quiet"]),
    "no validation": ([DEMO, "--split", "70/0/30"], [], FEW),
    "no validation, covariance": (
        [DEMO, "--split", "70/0/30"],
        ["log_loss", "score_covariance(sex)"],
        ["--models", 20, "--quiet"],
    ),
    "no test": ([DEMO, "--split", "80/20/0"], [], FEW),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request, fairfront, tmp_path_factory):
    (source, *spec), objectives, settings = RUNS[request.param]
    source = request.getfixturevalue("loans") if source == "loans" else source
    folder = tmp_path_factory.mktemp("runs") / "run"
    run = Run(fairfront, folder, [source, *spec], objectives, settings)
    run.name = request.param
    return run


def odds(split, params, seen):
    return seen["calibration.slope"] * (split.z @ params) + seen["calibration.intercept"]


def platt(phi, split):
    """Return Platt's targets, and weights with a mean of 1 over the rows that count."""
    counted = split.w > 0
    w = split.w * counted.sum() / split.w.sum()
    n, p = (w[(split.y > 0) == label].sum() for label in (False, True))
    return np.where(split.y > 0, (p + 1) / (p + 2), 1 / (n + 2)), w


def test_slope_and_intercept_agree_with_logistic_regression(run):
    """The regression has each row twice, as positive and as negative, weighted by Platt's targets."""
    if run.name.startswith("no validation"):
        pytest.skip("no validation rows")
    split = run.splits["validation"]
    for params, seen in run.models(5):
        phi = split.z @ params
        target, w = platt(phi, split)
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1_000)
        twice = np.repeat([True, False], len(phi))
        model.fit(np.r_[phi, phi][:, None], twice, np.r_[target * w, (1 - target) * w])
        # Both stop at a gradient of about 1e-12; the parameters are a little less exact.
        assert seen["calibration.slope"] == pytest.approx(model.coef_[0, 0], rel=1e-7)
        assert seen["calibration.intercept"] == pytest.approx(model.intercept_[0], rel=1e-7, abs=1e-7)


def test_unweighted_rows_are_calibrated_as_in_scikit_learn(run):
    if run.name not in ("default", "covariance", "no test"):
        pytest.skip("weights, or no validation rows")
    split = run.splits["validation"]
    for params, seen in run.models(4):
        a, b = _sigmoid_calibration(split.z @ params, split.y > 0)
        # scikit-learn stops at a gradient of about 1e-6.
        assert seen["calibration.slope"] == pytest.approx(-a, rel=1e-3)
        assert seen["calibration.intercept"] == pytest.approx(-b, abs=1e-3)


def test_without_validation_rows_only_the_slope_is_fitted(run):
    if not run.name.startswith("no validation"):
        pytest.skip("validation rows")
    train = run.splits["train"]
    for params, seen in run.models(5):
        margin = train.y * (train.z @ params)
        assert seen["calibration.intercept"] == 0
        slope = seen["calibration.slope"]
        loss = lambda s: np.average(np.logaddexp(0, -s[0] * margin), weights=train.w)
        best = minimize(loss, [1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15})
        # The loss is flat to its last digit within 1e-7 of its minimum.
        assert slope == pytest.approx(best.x[0], rel=1e-5)
        # Decisions change at a probability of 0.5.
        probability = expit(odds(train, params, seen))
        assert ((probability >= 0.5) == (margin * train.y >= 0)).all()


def by_bin(probability, y, w):
    """Return rows, mean probability and share of positive rows of each of ten bins."""
    index = np.minimum((probability * 10).astype(int), 9)
    bins = []
    for i in range(10):
        own = index == i
        total = w[own].sum()
        means = [np.average(v[own], weights=w[own]) if total > 0 else None for v in (probability, y)]
        bins.append((total, *means))
    return bins


def calibration_error(y, probability, w):
    off = [n * abs(p - o) for n, p, o in by_bin(probability, y, w) if n > 0]
    return sum(off) / w.sum()


def expected(y, phi, probability, w):
    """Return scikit-learn's measures of some rows; None for undefined measures."""
    decision = phi >= 0
    counted = w > 0
    if not counted.any():
        return dict.fromkeys(["brier_score", "calibration_error", "auc", "precision"])
    both = len(set(y[counted])) == 2
    return {
        "brier_score": brier_score_loss(y, probability, sample_weight=w),
        "calibration_error": calibration_error(y, probability, w),
        "auc": roc_auc_score(y, phi, sample_weight=w) if both else None,
        "balanced_accuracy": balanced_accuracy_score(y, decision, sample_weight=w) if both else None,
        "precision": (
            precision_score(y, decision, sample_weight=w) if w[decision].sum() > 0 else None
        ),
    }


def same(seen, wanted, name):
    if wanted is None:
        assert seen is None or np.isnan(seen), name
    else:
        near(seen, wanted, name, EXACT)


@pytest.mark.parametrize("name", SPLITS)
def test_measures_agree_with_scikit_learn(run, name):
    split = run.splits[name]
    if len(split.y) == 0:
        pytest.skip(f"no {name} rows")
    y = split.y > 0
    for params, seen in run.models(4):
        phi = split.z @ params
        # The order of scores that differ only by rounding would be random.
        phi = np.where(abs(phi) < 1e-14, 0.0, phi)
        log_odds = odds(split, params, seen)
        probability = expit(log_odds)
        # No probability may be so close to the edge of a bin that rounding decides.
        assert abs(probability * 10 - np.round(probability * 10)).min() > 1e-13
        both = np.column_stack([expit(-log_odds), probability])
        near(seen[f"{name}.log_loss"], log_loss(y, both, sample_weight=split.w), "log_loss")
        for measure, value in expected(y, phi, probability, split.w).items():
            same(seen[f"{name}.{measure}"], value, measure)
        for attribute in run.attributes:
            for group in set(split.groups[attribute][split.known(attribute)]):
                own = split.groups[attribute] == group
                found = expected(y[own], phi[own], probability[own], split.w[own])
                for measure, value in found.items():
                    same(seen[f"{name}.{measure}({attribute}={group})"], value, (measure, group))


def test_reliability_is_measured_on_held_out_rows(run):
    name = "validation" if run.name == "no test" else "test"
    split = run.splits[name]
    for params, seen in run.models(4):
        probability = expit(odds(split, params, seen))
        for i, values in enumerate(by_bin(probability, split.y > 0, split.w), 1):
            for part, value in zip(["rows", "predicted", "observed"], values, strict=True):
                same(seen[f"reliability.{i:02}.{part}"], value, (i, part))


def test_probabilities_are_calibrated(fairfront, data, tmp_path):
    """On Adult's test rows, calibrated probabilities are closer to the labels than uncalibrated ones."""
    flags = [*FEW, "--out", tmp_path / "run"]
    fairfront("fit", "adult:sex", *flags)
    table = pd.read_parquet(tmp_path / "run" / "front.parquet")
    rows = fairfront.encoded("adult:sex")
    test = rows[rows["split"] == "test"]
    label = rows.columns.get_loc("label")
    features = [c for c in rows.columns[:label] if rows[c].dtype == float]
    z = np.column_stack([test[features].to_numpy(float), np.ones(len(test))])
    y, w = test["label"].to_numpy() > 0, np.ones(len(test))
    raw = [calibration_error(y, expit(z @ params), w) for params in table["params"]]
    assert table["test.calibration_error"].max() < 0.03
    assert table["test.calibration_error"].mean() < np.mean(raw)


def test_decisions_do_not_depend_on_the_calibration(fairfront, tmp_path):
    """Scores and decisions are the same for every slope and intercept in a model file."""
    fairfront("fit", DEMO, *FEW, "--out", tmp_path / "run")
    path = tmp_path / "model.json"
    rows = tmp_path / "rows.csv"
    fairfront("data", "export", DEMO, "--output", rows)
    json_audit = ["--audit", "--json", "--force"]
    found = []
    for slope, intercept in [(1.0, 0.0), (0.01, -3.0), (40.0, 2.0)]:
        calibration = {"slope": slope, "intercept": intercept}
        fairfront.model(tmp_path / "run", 1, path, calibration=calibration)
        said = json.loads(
            fairfront("predict", path, rows, "--output", tmp_path / "out.csv", *json_audit)
        )
        assert said["probability_threshold"] == pytest.approx(expit(intercept), rel=1e-15)
        table = pd.read_csv(tmp_path / "out.csv")
        order = np.argsort(table["score"].to_numpy(), kind="stable")
        assert (np.diff(table["probability"].to_numpy()[order]) >= 0).all()
        found.append(table)
    for other in found[1:]:
        pd.testing.assert_frame_equal(
            found[0][["score", "decision"]], other[["score", "decision"]], check_exact=True
        )


def test_a_model_file_without_calibration_is_a_logistic_model(fairfront, tmp_path):
    fairfront("fit", DEMO, *FEW, "--out", tmp_path / "run")
    path = tmp_path / "model.json"
    model = fairfront.model(tmp_path / "run", 1, path)
    del model["calibration"]
    path.write_text(sealed(model))
    rows = tmp_path / "rows.csv"
    fairfront("data", "export", DEMO, "--output", rows)
    table = pd.read_csv(io.BytesIO(fairfront("predict", path, rows, "--output", "-")))
    assert abs(table["probability"] - expit(table["score"])).max() < EXACT
    for slope in [0, -1, None]:
        path.write_text(sealed(model | {"calibration": {"slope": slope, "intercept": 0}}))
        error = fairfront.error("predict", path, rows, "--output", "-")
        assert "slope" in error or "corrupted" in error


def test_with_few_validation_rows_only_the_slope_is_fitted(fairfront, tmp_path):
    """Fewer than 10 rows of one label are too few for two parameters."""
    fairfront("fit", "demo(rows=300)", "--split", "78/2/20", *FEW, "--out", tmp_path / "run")
    table = pd.read_parquet(tmp_path / "run" / "front.parquet")
    assert (table["calibration.intercept"] == 0).all()
