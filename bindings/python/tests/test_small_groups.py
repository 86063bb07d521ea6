"""Groups below a minimum size are reported, but not compared; fairfront.metrics leaves no group out."""

import fairlearn.metrics
import numpy as np
import pytest

import fairfront
from fairfront import FairFrontClassifier, FairFrontWarning


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 2000, p=[0.6, 0.395, 0.005])
    X = rng.normal(size=(2000, 3))
    X[:, 0] += group == "b"
    y = X[:, 0] + rng.normal(size=2000) > 0.3
    return X, y, group


def fitted(people, **params):
    X, y, group = people
    with pytest.warns(FairFrontWarning):
        return FairFrontClassifier(**params).fit(X, y, sensitive_features={"group": group})


def test_small_groups_are_not_compared(people):
    clf = fitted(people)
    front = clf.front_
    rates = np.stack([front[f"train.selection_rate(group={g})"] for g in "ab"])
    difference = np.asarray(front["train.demographic_parity_difference(group)"])
    np.testing.assert_allclose(difference, rates.max(axis=0) - rates.min(axis=0), atol=1e-15)
    assert not clf.run_info_["groups"]["group"]["c"]["compared"]["all"]
    [warning] = [note for note in clf.messages_ if "fewer than 30 training rows" in note]
    assert '"c"' in warning and "pool_groups=30" in warning and "min_group" in warning and "--" not in warning


def test_metrics_leave_no_group_out(people):
    X, y, group = people
    clf = fitted(people)
    decided = clf.predict(X)
    given = {"y_true": y, "y_pred": decided, "sensitive_features": group}
    found = fairfront.metrics.demographic_parity_difference(**given)
    assert found == pytest.approx(fairlearn.metrics.demographic_parity_difference(**given), abs=1e-15)
    rates = [decided[group == g].mean() for g in "abc"]
    assert found == pytest.approx(max(rates) - min(rates), abs=1e-15)


def test_every_group_with_a_minimum_of_zero(people):
    clf = fitted(people, min_group=0)
    rates = np.stack([clf.front_[f"train.selection_rate(group={g})"] for g in "abc"])
    difference = np.asarray(clf.front_["train.demographic_parity_difference(group)"])
    np.testing.assert_allclose(difference, rates.max(axis=0) - rates.min(axis=0), atol=1e-15)


def test_pooled_groups(people):
    clf = fitted(people, pool_groups=900)
    assert list(clf.run_info_["groups"]["group"]) == ["a", "(other)"]


@pytest.mark.parametrize("name", ["min_group", "pool_groups"])
def test_wrong_sizes_are_rejected(people, name):
    X, y, group = people
    with pytest.raises(ValueError, match=f"{name}=-1"):
        FairFrontClassifier(**{name: -1}).fit(X, y, sensitive_features={"group": group})


def test_a_stream_compares_a_group_once_it_is_large_enough(people):
    X, y, group = people
    few = np.where(np.cumsum(group == "b") <= 10, group, np.where(group == "b", "a", group))
    clf = FairFrontClassifier()
    with pytest.warns(FairFrontWarning):
        clf.partial_fit(X, y, classes=[False, True], sensitive_features={"group": few})
    first = clf.run_info_["groups"]["group"]["c"]["compared"]["all"]
    more = np.full(200, "c")
    with pytest.warns(FairFrontWarning):
        clf.partial_fit(X[:200], y[:200], sensitive_features={"group": more})
    assert not first and clf.run_info_["groups"]["group"]["c"]["compared"]["all"]
