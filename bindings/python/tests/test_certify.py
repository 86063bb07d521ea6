"""Certified choices of estimators, and intervals of metrics."""

import json
import pickle

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame as Theirs

from fairfront import FairClassifier, FairFrontClassifier, FairFrontWarning
from fairfront.metrics import MetricFrame, selection_rate

PARITY = "demographic_parity_difference(sex) <= 0.15"


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(4)
    n = 6000
    sex = draw.choice(["f", "m"], size=n)
    income = draw.normal(size=n) + 0.5 * (sex == "m")
    X = np.column_stack([income, draw.normal(size=n)])
    y = income + draw.normal(size=n) > 0.3
    return X, y, {"sex": sex}


@pytest.fixture(scope="module")
def fitted(people):
    X, y, sex = people
    clf = FairFrontClassifier(require=PARITY, holdout_fraction=0.4, validation_fraction=0.2)
    return clf.fit(X, y, sensitive_features=sex)


def test_a_requirement_of_the_constructor_is_certified_before_anything_is_shown(fitted):
    certificate = fitted.certificate_
    assert certificate["verdict"] == "certified" and certificate["stated"] == "before"
    assert certificate["split"] == "test" and certificate["confidence"] == 0.95
    assert fitted.run_info_["rows"] == {"train": 2400, "validation": 1200, "test": 2400}
    assert "test.accuracy.low" in fitted.front_ and "test.probability_nondominated" in fitted.front_
    # The same requirement again is the same use.
    again = fitted.select(require=PARITY)
    assert again.certificate_ == certificate and again.model_id_ == fitted.selected_
    assert json.loads(again.to_json())["certificate"] == certificate


def test_later_requirements_are_judged_by_the_band_and_spend_confidence(fitted):
    clf = pickle.loads(pickle.dumps(fitted))
    later = clf.select(require="accuracy >= 0.6")
    assert later.certificate_["stated"] == "after-looking" and later.certificate_["use"] == 2
    assert later.selection_["test"]["level"] == 0.025
    loose = clf.select(require="accuracy >= 0.6", confidence=None)
    assert loose.certificate_["verdict"] == "not-certified" and loose.selection_["test"] is None
    # Uses travel with pickles.
    assert pickle.loads(pickle.dumps(clf)).select(require="accuracy >= 0.61").certificate_["use"] == 2
    with pytest.raises(ValueError, match="comes closest"):
        clf.select(require="demographic_parity_difference(sex) <= 0.00001")
    with pytest.raises(ValueError, match=r"cannot be certified.*confidence=None"):
        clf.select(require="log_loss <= 0.6")


def test_without_held_out_rows_a_warning_says_so(people):
    X, y, sex = people
    with pytest.warns(FairFrontWarning, match="no rows to certify on.*training rows.*may not hold for new people"):
        clf = FairFrontClassifier(require=PARITY).fit(X, y, sensitive_features=sex)
    assert clf.certificate_["verdict"] == "not-certified"
    quiet = FairFrontClassifier(require=PARITY, confidence=None)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", FairFrontWarning)
        quiet.fit(X, y, sensitive_features=sex)
    assert quiet.certificate_["verdict"] == "not-certified"
    assert FairFrontClassifier().fit(X, y, sensitive_features=sex).certificate_ is None


def test_one_model_is_certified_as_well(people):
    X, y, sex = people
    front = FairFrontClassifier(holdout_fraction=0.4, validation_fraction=0.2)
    model = FairClassifier(front, require=PARITY).fit(X, y, sensitive_features=sex)
    assert model.certificate_["verdict"] == "certified" and model.certificate_["stated"] == "before"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"confidence": "high"}, "between 0 and 1"),
        ({"holdout_fraction": 1.0}, "from 0 to below 1"),
        ({"holdout_fraction": 0.5, "validation_fraction": 0.5}, "leave no rows for training"),
    ],
)
def test_broken_settings_are_refused(people, settings, words):
    X, y, sex = people
    with pytest.raises(ValueError, match=words):
        FairFrontClassifier(require=PARITY, **settings).fit(X, y, sensitive_features=sex)


def test_intervals_of_metrics_agree_with_fairlearn(people):
    _, y, sex = people
    pred = np.where(np.random.default_rng(0).random(len(y)) < 0.8, y, ~y).astype(int)
    given = {"metrics": selection_rate, "y_true": y.astype(int), "y_pred": pred, "sensitive_features": sex["sex"]}
    ours = MetricFrame(**given, n_boot=400, ci_quantiles=[0.025, 0.5, 0.975])
    theirs = Theirs(**given, n_boot=400, ci_quantiles=[0.025, 0.5, 0.975], random_state=1)
    assert ours.n_boot == 400 and ours.ci_quantiles == [0.025, 0.5, 0.975]
    # Quantiles of 400 redraws of 6,000 rows, twice.
    for a, b in zip(ours.by_group_ci, theirs.by_group_ci, strict=True):
        assert np.allclose(a, b, atol=6e-3)
    assert np.allclose(ours.overall_ci, theirs.overall_ci, atol=4e-3)
    low, high = ours.difference_interval()
    assert low <= ours.difference() <= high and high - low < 0.1
    low, high = ours.ratio_interval()
    assert 0 < low <= ours.ratio() <= high <= 1
    again = MetricFrame(**given, n_boot=400, ci_quantiles=[0.025, 0.5, 0.975])
    assert again.overall_ci == ours.overall_ci
    with pytest.raises(ValueError, match="n_boot"):
        MetricFrame(**given).difference_interval()
    for broken in ({"n_boot": 0}, {"n_boot": 2, "ci_quantiles": [2]}, {"ci_quantiles": [0.5]}):
        with pytest.raises(ValueError, match="n_boot|ci_quantiles"):
            MetricFrame(**given, **broken)


def test_the_interval_of_a_difference_covers_it():
    """With five groups of equal size, quantiles of the maximum are too high, but the joint interval holds."""
    draw = np.random.default_rng(2)
    rates = np.array([0.3, 0.3, 0.3, 0.3, 0.4])
    covered = naive = 0
    for seed in range(60):
        group = np.repeat(np.arange(5), 200)
        pred = (draw.random(1000) < rates[group]).astype(int)
        frame = MetricFrame(
            metrics=selection_rate, y_true=pred, y_pred=pred, sensitive_features=group, n_boot=100, random_state=seed
        )
        low, high = frame.difference_interval()
        covered += low <= 0.1 <= high
        ends = np.quantile([redrawn.difference() for redrawn in frame._redrawn], [0.025, 0.975])
        naive += ends[0] <= 0.1 <= ends[1]
    # 95% is the goal; three standard errors of 60 samples below it is 51.9.
    assert covered >= 52 and covered > naive
