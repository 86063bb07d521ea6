"""Errors for wrong inputs name the place, the problem and the remedy."""

import numpy as np
import pandas as pd
import pytest
from people import people

from fairfront import FairFrontClassifier


@pytest.fixture(scope="module")
def rows():
    return people(200)


def fit(rows, **changed):
    X, y, sex, _ = rows
    given = {"X": X, "y": y, "sensitive_features": sex, "sample_weight": None, "params": {}}
    given.update(changed)
    clf = FairFrontClassifier(**{"n_models": 10, **given["params"]})
    return clf.fit(
        given["X"], given["y"], sensitive_features=given["sensitive_features"], sample_weight=given["sample_weight"]
    )


def with_value(X, value):
    X = X.copy()
    X[17, 2] = value
    return X


CASES = {
    "rows of y": (
        lambda X, y, sex: {"y": y[:-1]},
        ValueError,
        "inconsistent numbers of samples: X has 200 rows, y has 199",
    ),
    "rows of sensitive features": (
        lambda X, y, sex: {"sensitive_features": {"sex": sex[:50]}},
        ValueError,
        "X has 200 rows, sensitive feature 'sex' has 50",
    ),
    "rows of weights": (
        lambda X, y, sex: {"sample_weight": np.ones(3)},
        ValueError,
        r"sample_weight.shape == \(3,\), expected \(200,\)",
    ),
    "NaN in X, rejected": (
        lambda X, y, sex: {"X": with_value(X, np.nan), "params": {"missing": "error"}},
        ValueError,
        "Input X contains NaN: column 'x2' has 1 missing value",
    ),
    "infinity in X": (lambda X, y, sex: {"X": with_value(X, np.inf)}, ValueError, 'column "x2", row 18.*infinite'),
    "NaN in y": (lambda X, y, sex: {"y": np.where(np.arange(200) == 3, np.nan, y)}, ValueError, "Input y contains NaN"),
    "None in y": (lambda X, y, sex: {"y": [None, *map(str, y[1:])]}, ValueError, "Input y contains NaN"),
    "NaN in weights": (
        lambda X, y, sex: {"sample_weight": np.full(200, np.nan)},
        ValueError,
        "sample_weight contains NaN",
    ),
    "negative weights": (
        lambda X, y, sex: {"sample_weight": -np.ones(200)},
        ValueError,
        "Negative values in sample_weight: row 0",
    ),
    "missing group": (
        lambda X, y, sex: {"sensitive_features": pd.Series([None, *sex[1:]], name="sex")},
        ValueError,
        "Sensitive feature 'sex' has 1 missing value.*missing_sensitive='group'",
    ),
    "one class": (lambda X, y, sex: {"y": np.ones(200)}, ValueError, "contains only one class"),
    "too many classes": (lambda X, y, sex: {"y": np.arange(200)}, ValueError, "y has 200 classes, .* at most 100"),
    "continuous y": (lambda X, y, sex: {"y": y + 0.5 * np.arange(200)}, ValueError, "Unknown label type: continuous"),
    "one group": (
        lambda X, y, sex: {"sensitive_features": {"sex": ["f"] * 200}},
        ValueError,
        "'sex' has only one group",
    ),
    "no objective of that name": (
        lambda X, y, sex: {"params": {"objectives": ["error_rate", "demografic_parity(sensitive_feature_0)"]}},
        ValueError,
        "demographic_parity",
    ),
    "no attribute of that name": (
        lambda X, y, sex: {"params": {"objectives": ["error_rate", "demographic_parity(gender)"]}},
        ValueError,
        "gender.*sensitive_feature_0",
    ),
    "fairness first": (
        lambda X, y, sex: {"params": {"objectives": ["demographic_parity(sensitive_feature_0)", "error_rate"]}},
        ValueError,
        "the first objective must be a loss",
    ),
    "objectives as a string": (lambda X, y, sex: {"params": {"objectives": "error_rate"}}, TypeError, "pass a list"),
    "no such solver": (lambda X, y, sex: {"params": {"solver": "newton"}}, ValueError, 'solver="newton": expected'),
    "no such setting": (
        lambda X, y, sex: {"params": {"settings": {"stepz": 3}, "solver": "pf-smg"}},
        ValueError,
        "stepz",
    ),
    "no such policy": (
        lambda X, y, sex: {"params": {"missing": "ignore"}},
        ValueError,
        "missing='ignore': expected one of",
    ),
    "share of validation rows": (
        lambda X, y, sex: {"params": {"validation_fraction": 1.5}},
        ValueError,
        "validation_fraction=1.5",
    ),
    "no threads": (lambda X, y, sex: {"params": {"n_jobs": 0}}, ValueError, "n_jobs == 0"),
    "an invalid seed": (lambda X, y, sex: {"params": {"random_state": -1}}, ValueError, "cannot be used to seed"),
    "an invalid requirement": (
        lambda X, y, sex: {"params": {"require": "accuracy >> 2"}},
        ValueError,
        "accuracy >> 2",
    ),
    "a requirement that no model meets": (
        lambda X, y, sex: {"params": {"require": "accuracy >= 0.999"}},
        ValueError,
        "comes nearest",
    ),
    "durations": (
        lambda X, y, sex: {"X": pd.DataFrame({"when": pd.timedelta_range("1D", periods=200)})},
        TypeError,
        "column 'when' has the unsupported type timedelta64",
    ),
    "columns of the same name": (
        lambda X, y, sex: {"X": pd.DataFrame(X, columns=["a", "b", "a"])},
        ValueError,
        "two columns called 'a'",
    ),
    "names of two types": (lambda X, y, sex: {"X": pd.DataFrame(X, columns=["a", 1, 2])}, TypeError, "string names"),
    "a missing file": (
        lambda X, y, sex: {"X": "none.csv", "y": "y", "sensitive_features": "sex"},
        OSError,
        "none.csv",
    ),
    "a file without a target": (
        lambda X, y, sex: {"X": "none.csv", "sensitive_features": "sex"},
        TypeError,
        "name of its target column",
    ),
}


@pytest.mark.filterwarnings("ignore::fairfront.FairFrontWarning")
@pytest.mark.parametrize("case", CASES)
def test_wrong_inputs(case, rows):
    change, error, message = CASES[case]
    X, y, sex, _ = rows
    with pytest.raises(error, match=message) as raised:
        fit(rows, **change(X, y, sex))
    assert "--" not in str(raised.value), "messages in Python must not mention flags"


def test_a_front_that_meets_no_requirement_is_kept(rows):
    X, y, sex, _ = rows
    clf = FairFrontClassifier(n_models=10, require="accuracy >= 0.999")
    with pytest.raises(ValueError, match="comes nearest"):
        clf.fit(X, y, sensitive_features=sex)
    assert len(clf.front_) > 1
    assert clf.select(knee=True).predict(X).shape == (200,)
    with pytest.raises(ValueError, match="no model is in use"):
        clf.predict(X)


def test_predict_rejects_other_columns(rows):
    X, y, sex, _ = rows
    clf = fit(rows, X=pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(ValueError, match="X has 2 features, but FairFrontClassifier is expecting 3"):
        clf.predict(X[:, :2])
    with pytest.raises(ValueError, match="yet now missing:\n- c"):
        clf.predict(pd.DataFrame(X, columns=["a", "b", "d"]))
    with pytest.raises(ValueError, match='"c"'):
        clf.predict(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": ["text"] * 200}))


def test_select_rejects_invalid_rules(rows):
    clf = fit(rows)
    with pytest.raises(ValueError, match="one of best, knee"):
        clf.select(best="accuracy", knee=True)
    with pytest.raises((ValueError, IndexError), match="model_id=999: the front has no such model"):
        clf.select(model_id=999)
    with pytest.raises(ValueError, match="acuracy"):
        clf.select(best="acuracy")


def test_missing_groups_can_be_a_group(rows):
    X, y, sex, _ = rows
    some = pd.Series(sex, name="sex").where(np.arange(200) % 4 > 0)
    group = fit(rows, sensitive_features=some, params={"missing_sensitive": "group"})
    assert any("(missing)" in name for name in group.front_.columns)
    dropped = fit(rows, sensitive_features=some, params={"missing_sensitive": "drop"})
    kept = some.notna().to_numpy()
    direct = fit(rows, X=X[kept], y=y[kept], sensitive_features=some[kept])
    np.testing.assert_array_equal(dropped.front_.to_numpy(), direct.front_.to_numpy())
