"""Comparisons with a reference group, against fairlearn, pandas, scipy and scikit-learn."""

import warnings

import fairlearn.metrics as theirs
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone

from fairfront import Dataset, FairFrontClassifier, FairFrontRegressor, metrics

AGAINST = ["adverse_impact_ratio", "shortfall", "odds_ratio", "standardized_mean_difference"]


def rows(seed, n=400):
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b", "c"], n)
    other = random.choice([1, 2], n)
    x = random.normal(size=n)
    y = (x + 0.8 * (group == "a") + random.normal(size=n) > 0).astype(int)
    pred = (x + 0.5 * (group == "b") + 0.3 * random.normal(size=n) > 0.2).astype(int)
    return x, y, pred, group, other, random.uniform(0.5, 3, n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reference", ["a", "b", "c"])
def test_values_are_those_of_fairlearn_and_pandas(seed, weighted, reference):
    x, y, pred, group, _, weight = rows(seed)
    weight = weight if weighted else None
    frame = theirs.MetricFrame(
        metrics={"rate": theirs.selection_rate, "mean": theirs.mean_prediction},
        y_true=y,
        y_pred=pred,
        sensitive_features=group,
        sample_params={"rate": {"sample_weight": weight}, "mean": {"sample_weight": weight}},
    )
    rates = frame.by_group["rate"]
    counts = pd.Series(1.0 if weight is None else weight).groupby(group).sum() if weighted else pd.Series(group).value_counts()
    others = [g for g in "abc" if g != reference]
    odds = rates / (1 - rates)
    same = {"sensitive_features": group, "reference": reference, "sample_weight": weight}
    assert metrics.adverse_impact_ratio(y, pred, **same) == pytest.approx((rates[others] / rates[reference]).min())
    lacking = (counts * (rates[reference] - rates))[others].clip(lower=0).sum()
    assert metrics.shortfall(y, pred, **same) == pytest.approx(lacking, abs=1e-9)
    assert metrics.odds_ratio(y, pred, **same) == pytest.approx((odds[others] / odds[reference]).min())
    w = np.ones(len(x)) if weight is None else weight
    mean = {g: np.average(x[group == g], weights=w[group == g]) for g in "abc"}
    middle = np.average(x, weights=w)
    deviation = np.sqrt(np.average((x - middle) ** 2, weights=w))
    expected = max(((mean[g] - mean[reference]) / deviation for g in others), key=abs)
    assert metrics.standardized_mean_difference(y, x, **same) == pytest.approx(expected)


@pytest.mark.parametrize("digits", [1, 9])
def test_ks_is_that_of_scipy(digits):
    x, y, *_ = rows(9)
    scores = x.round(digits)
    expected = stats.ks_2samp(scores[y == 1], scores[y == 0]).statistic
    assert metrics.ks_statistic(y, scores) == pytest.approx(expected)
    # Whole weights are copies of rows.
    copies = np.random.default_rng(0).integers(1, 4, len(x))
    repeated = metrics.ks_statistic(np.repeat(y, copies), np.repeat(scores, copies))
    assert metrics.ks_statistic(y, scores, sample_weight=copies) == pytest.approx(repeated)
    assert np.isnan(metrics.ks_statistic(np.ones(5), np.arange(5)))


def test_several_features_have_a_tuple_as_reference():
    _, y, pred, group, other, _ = rows(3)
    joined = [f"{g}:{o}" for g, o in zip(group, other, strict=True)]
    for name in AGAINST:
        found = getattr(metrics, name)
        both = found(y, pred, sensitive_features={"g": group, "o": other}, reference=("a", 1))
        assert both == pytest.approx(found(y, pred, sensitive_features=joined, reference="a:1"))
        assert found(y, pred, sensitive_features=other, reference=2) is not None


def test_undefined_values_and_errors():
    groups, labels = ["a", "a", "b", "b"], [0, 1, 0, 1]
    given = {"sensitive_features": groups, "reference": "a"}
    assert np.isnan(metrics.adverse_impact_ratio(labels, [0, 0, 1, 0], **given))
    assert np.isnan(metrics.odds_ratio(labels, [0, 0, 1, 0], **given))
    assert np.isnan(metrics.odds_ratio(labels, [1, 0, 1, 1], **given))
    assert np.isnan(metrics.standardized_mean_difference(labels, [0.5] * 4, **given))
    assert metrics.shortfall(labels, [0, 0, 1, 0], **given) == 0
    for name in AGAINST:
        function = getattr(metrics, name)
        with pytest.raises(ValueError, match=r"reference='z': sensitive_features has no such group; choose one of"):
            function(labels, labels, sensitive_features=groups, reference="z")
        with pytest.raises(ValueError, match="no group other than the reference"):
            function(labels, labels, sensitive_features=["a"] * 4, reference="a")
        with pytest.raises(ValueError, match="same length"):
            function(labels, [1], sensitive_features=groups, reference="a")


def test_estimators_measure_against_the_reference_group():
    x, y, _, group, other, _ = rows(5, 3000)
    X = pd.DataFrame({"x": x, "z": np.cos(3 * x)})
    model = FairFrontClassifier(
        ["error_rate", "demographic_parity(g)"], reference={"g": "b", "o": 2}, holdout_fraction=0.3, n_models=5
    )
    assert clone(model).get_params()["reference"] == {"g": "b", "o": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sensitive_features=pd.DataFrame({"g": group, "o": other}))
    front = model.front_
    rates = {g: front[f"test.selection_rate(g={g})"] for g in "abc"}
    for g in "ac":
        assert np.allclose(front[f"test.adverse_impact_ratio(g={g})"], rates[g] / rates["b"])
    assert "test.shortfall(o=1)" in front and "test.shortfall(o=2)" not in front
    assert (front["train.ks"] > 0).all()


def test_numbers_have_standardized_differences():
    x, _, _, group, _, _ = rows(6, 2000)
    target = 10 * x + (group == "a")
    model = FairFrontRegressor(reference={"g": "c"}, n_models=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[:, None], target, sensitive_features={"g": group})
    predicted = model.predict(x[:, None])
    expected = metrics.standardized_mean_difference(
        target, predicted, sensitive_features=group, reference="c"
    )
    found = model.front_["train.standardized_mean_difference(g)"]
    assert np.isclose(found, expected, atol=1e-9).any()


def test_wrong_reference_groups_are_errors():
    x, y, _, group, _, _ = rows(7)

    def rejected(kind, match, reference):
        with pytest.raises(kind, match=match):
            FairFrontClassifier(reference=reference).fit(x[:, None], y, sensitive_features={"g": group})

    rejected(ValueError, r"reference=\{'g': 'z'\}: the attribute has no group \"z\"", {"g": "z"})
    rejected(ValueError, r"no sensitive attribute \"h\"", {"h": "a"})
    rejected(TypeError, "expected a dict from attributes to groups", "a")
    rejected(TypeError, "1 is not the name of a sensitive feature", {1: "a"})


def test_data_sets_and_intersections_have_references():
    x, y, _, group, other, _ = rows(8)
    features = {"g": group, "o": other}
    Dataset(x[:, None], y, sensitive_features=features, reference={"g:o": "a:1", "o": 1})
    with pytest.raises(ValueError, match="has no group"):
        Dataset(x[:, None], y, sensitive_features=features, reference={"g:o": "a:3"})
