"""Attributes of which only probabilities are known."""

import warnings

import numpy as np
import pandas as pd
import pytest
from fairfront import Dataset, FairClassifier, FairFrontClassifier, FairFrontRegressor, FairFrontWarning


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(3)
    n = 1500
    p = draw.beta(0.7, 0.7, n)
    x = draw.normal(size=(n, 2)) + p[:, None]
    y = (x.sum(axis=1) + draw.normal(size=n) > 1).astype(int)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "p_f": p, "p_m": 1 - p})


def fitted(X, y, **given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        front = FairFrontClassifier(n_models=8, holdout_fraction=0.3).fit(X, y, **given)
    return front, [str(w.message) for w in caught if issubclass(w.category, FairFrontWarning)]


def test_rates_are_weighted_by_probabilities(rows):
    X = rows[["a", "b"]]
    front, messages = fitted(X, rows["y"], sensitive_probability={"sex": {"f": rows["p_f"], "m": rows["p_m"]}})
    assert any('the groups of "sex" are estimated' in message for message in messages)
    frame = pd.DataFrame({"f": rows["p_f"], "m": rows["p_m"]})
    again, _ = fitted(X, rows["y"], sensitive_probability={"sex": frame})
    pd.testing.assert_frame_equal(front.front_, again.front_)


def test_certain_groups_equal_known_ones(rows):
    X, woman = rows[["a", "b"]], rows["p_f"] > 0.5
    one, _ = fitted(X, rows["y"], sensitive_features={"sex": np.where(woman, "f", "m")})
    other, _ = fitted(X, rows["y"], sensitive_probability={"sex": {"m": 1.0 - woman, "f": 1.0 * woman}})
    pd.testing.assert_frame_equal(one.front_, other.front_)


def test_files_name_columns(rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    one, _ = fitted(path, "y", sensitive_probability={"sex": ["p_f", "p_m"]})
    other, _ = fitted(path, "y", sensitive_probability={"sex": {"p_m": "p_m", "p_f": "p_f"}})
    pd.testing.assert_frame_equal(one.front_, other.front_)
    data = Dataset(path, "y", pos_label=1, sensitive_probability={"sex": {"f": "p_f", "m": "p_m"}})
    assert data.attributes == {"sex": ["f", "m"]}
    assert data.feature_names == ["a", "b"]


def test_a_single_model_is_chosen(rows):
    known = {"sensitive_probability": {"sex": {"f": rows["p_f"], "m": rows["p_m"]}}}
    rule = {"require": ["demographic_parity_difference(sex) <= 0.2"], "confidence": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FairClassifier(FairFrontClassifier(n_models=8), **rule).fit(rows[["a", "b"]], rows["y"], **known)
    assert model.predict(rows[["a", "b"]]).shape == (len(rows),)


def test_nothing_is_certified(rows):
    known = {"sensitive_probability": {"sex": {"f": rows["p_f"], "m": rows["p_m"]}}}
    front, _ = fitted(rows[["a", "b"]], rows["y"], **known)
    with pytest.raises(ValueError, match="only estimated"):
        front.select(require=["demographic_parity_difference(sex) <= 0.1"])


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (5, TypeError, "expected a dict"),
        ({"sex": 5}, TypeError, r"sensitive_probability\['sex'\]: expected a dict"),
        ({"sex": {"f": [0.5]}}, ValueError, r"shape \(1,\), expected \(1500,\)"),
        ({"sex": {"f": ["x"] * 1500}}, ValueError, "are not numbers"),
        ({"sex": {"f": [0.5] * 1500}}, ValueError, "expected from 2 to 20 groups"),
        ({"sex": {"f": [0.5] * 1500, "m": [1.5] * 1500}}, ValueError, 'the probability of the group "m" is 1.5'),
        ({1: {}}, TypeError, "is not a string"),
    ],
)
def test_wrong_probabilities_are_errors(rows, given, kind, message):
    with pytest.raises(kind, match=message):
        FairFrontClassifier().fit(rows[["a", "b"]], rows["y"], sensitive_probability=given)


def test_numbers_need_known_groups(rows):
    with pytest.raises(ValueError, match="work only with decisions"):
        FairFrontRegressor().fit(
            rows[["a"]], rows["b"], sensitive_probability={"sex": {"f": rows["p_f"], "m": rows["p_m"]}}
        )
