"""Metrics compared with fairlearn's, on many random cases."""

import functools
import itertools
import subprocess
import sys
import warnings

import fairlearn.metrics as theirs
import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as skm

from fairfront import metrics as ours

CLOSE = {"rtol": 1e-12, "atol": 1e-12}

FAIRNESS = [
    f"{name}_{transform}"
    for name in ("demographic_parity", "equal_opportunity", "equalized_odds")
    for transform in ("difference", "ratio")
]
RATES = [
    "true_positive_rate",
    "true_negative_rate",
    "false_positive_rate",
    "false_negative_rate",
    "selection_rate",
    "mean_prediction",
]


def outcome(call):
    """The value of a call, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (ValueError, TypeError, ZeroDivisionError) as error:
            return type(error)


def same(found, expected):
    if isinstance(expected, type):
        assert found is expected
    else:
        assert not isinstance(found, type), found
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), **CLOSE)


def same_table(found, expected):
    """Check that values, index and columns are equal."""
    if isinstance(expected, (pd.Series, pd.DataFrame)):
        assert type(found) is type(expected)
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected, check_exact=False, **CLOSE)
    elif isinstance(expected, pd.DataFrame):
        # Some of fairlearn's tables have sorted columns.
        assert set(found.columns) == set(expected.columns)
        found = found[list(expected.columns)]
        pd.testing.assert_frame_equal(found, expected, check_exact=False, check_names=False, **CLOSE)
        assert found.index.names == expected.index.names
    else:
        same(found, expected)


def rows(seed, n=None, *, rare=True):
    """Simulate labels, predictions, groups and weights; some groups are small or have no positive rows."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 60))
    share = rng.random(2)
    true = (rng.random(n) < share[0]).astype(int)
    pred = (rng.random(n) < share[1]).astype(int)
    if rare and seed % 3 == 0:
        pred[:] = seed % 2
    weight = rng.integers(0, 4, n) / 2 if seed % 5 == 0 else rng.gamma(2.0, size=n)
    groups = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05])
    return rng, true, pred, groups, weight


def test_names_are_fairlearns():
    # fairlearn takes errors of numbers from scikit-learn, and has no differences between predicted numbers.
    own = {"mean_difference", "distribution_difference", "mean_residual"}
    # It has no measures against a named reference group.
    own |= {"adverse_impact_ratio", "shortfall", "odds_ratio", "standardized_mean_difference", "ks_statistic"}
    errors = {name for name in ours.__all__ if hasattr(skm, name)}
    assert set(ours.__all__) - own - errors <= set(theirs.__all__)
    assert set(ours.__all__) >= {"MetricFrame", *RATES, *FAIRNESS}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", range(40))
def test_rates(name, seed):
    _, true, pred, _, weight = rows(seed)
    if seed % 4 == 1 and name != "mean_prediction":
        true, pred = 2 * true - 1, 2 * pred - 1
    for sample_weight in (None, weight, list(weight), pd.Series(weight)):
        found, expected = (
            outcome(lambda m=m: getattr(m, name)(true, pred, sample_weight=sample_weight)) for m in (ours, theirs)
        )
        same(found, expected)
    assert ours.count(true, pred) == theirs.count(true, pred) == len(true)


@pytest.mark.parametrize("name", RATES[:-1])
@pytest.mark.parametrize("seed", range(20))
def test_rates_of_other_labels(name, seed):
    _, true, pred, _, weight = rows(seed, n=30 + seed, rare=False)
    for labels in (["no", "yes"], [3, 7], [False, True], [0.0, 1.0]):
        values = np.array(labels)
        for pos_label in labels:
            found, expected = (
                outcome(
                    lambda m=m, p=pos_label: getattr(m, name)(
                        values[true], values[pred], sample_weight=weight, pos_label=p
                    )
                )
                for m in (ours, theirs)
            )
            same(found, expected)
        if name != "selection_rate":
            found, expected = (
                outcome(lambda m=m: getattr(m, name)(values[true], values[pred])) for m in (ours, theirs)
            )
            same(found, expected)


@pytest.mark.parametrize("name", FAIRNESS)
@pytest.mark.parametrize("seed", range(18))
def test_fairness(name, seed):
    # fairlearn rejects an array with one row.
    rng, true, pred, groups, weight = rows(seed, n=2 + 3 * seed)
    second = rng.integers(0, 3, len(true))
    given = [
        groups,
        list(groups),
        pd.Series(groups, name="g"),
        pd.Series(groups, dtype="category"),
        pd.DataFrame({"g": groups, "h": second}),
        {"g": groups, "h": second},
        np.c_[groups, second],
        second,
        second == 1,
    ]
    # Tests each kind of features with two of the seeds, because fairlearn is slow.
    features = given[seed % len(given)]
    for method, sample_weight in itertools.product(("between_groups", "to_overall"), (None, weight)):
        for agg in ("worst_case", "mean") if name.startswith("equalized") else (None,):
            call = {"sensitive_features": features, "method": method, "sample_weight": sample_weight}
            if agg:
                call["agg"] = agg
            found, expected = (outcome(lambda m=m: getattr(m, name)(true, pred, **call)) for m in (ours, theirs))
            same(found, expected)


def frames(metrics, true, pred, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = []
        for m in (ours, theirs):
            of = metrics(m)
            both.append(m.MetricFrame(metrics=of, y_true=true, y_pred=pred, **options))
        return both


SETS = {
    "one": lambda m: m.selection_rate,
    "counts": lambda m: m.count,
    "several": lambda m: {
        "tpr": m.true_positive_rate,
        "rate": m.selection_rate,
        "count": m.count,
        "accuracy": skm.accuracy_score,
    },
}


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("n_sensitive", [1, 2])
@pytest.mark.parametrize("n_control", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_frames(which, n_sensitive, n_control, seed):
    rng, true, pred, groups, weight = rows(seed, n=30 + 20 * seed)
    n = len(true)
    # A group without weight is an error, which the test of rates covers.
    weight = weight + 0.25
    sensitive = {"g": groups, "h": rng.integers(0, 3, n)}
    control = {"c": rng.choice(["x", "y"], n), "d": rng.choice([0.5, 1.5, 2.5], n)}
    options = {"sensitive_features": dict(list(sensitive.items())[:n_sensitive])}
    if n_control:
        options["control_features"] = pd.DataFrame(dict(list(control.items())[:n_control]))
    if which == "one":
        options["sample_params"] = {"sample_weight": weight}
    if which == "several":
        options["sample_params"] = {"tpr": {"sample_weight": weight}, "rate": {"sample_weight": None}}
    found, expected = frames(SETS[which], true, pred, **options)
    assert found.sensitive_levels == expected.sensitive_levels
    assert found.control_levels == expected.control_levels
    same_table(found.by_group, expected.by_group)
    same_table(found.overall, expected.overall)
    for method, call in [("group_min", {}), ("group_max", {})] + [
        (method, {"method": how, "errors": errors})
        for method in ("difference", "ratio")
        for how in ("between_groups", "to_overall")
        for errors in ("raise", "coerce")
    ]:
        a, b = getattr(found, method)(**call), getattr(expected, method)(**call)
        if isinstance(b, (pd.Series, pd.DataFrame)):
            a, b = a.astype(float), b.astype(float)
        same_table(a, b)


def test_names_of_features_are_fairlearns():
    _, true, pred, groups, _ = rows(4, n=40)
    for given in (
        groups,
        pd.Series(groups),
        pd.Series(groups, name="sex"),
        np.c_[groups, groups == "a"],
        pd.DataFrame({"sex": groups}),
    ):
        found, expected = frames(SETS["one"], true, pred, sensitive_features=given)
        assert found.sensitive_levels == expected.sensitive_levels
        same_table(found.by_group, expected.by_group)


def test_metrics_that_are_not_numbers():
    _, true, pred, groups, _ = rows(4, n=40)
    of = {"matrix": functools.partial(skm.confusion_matrix, labels=[0, 1]), "rate": ours.selection_rate}
    found, expected = frames(lambda m: of, true, pred, sensitive_features=groups)
    for group in expected.by_group.index:
        np.testing.assert_array_equal(found.by_group.loc[group, "matrix"], expected.by_group.loc[group, "matrix"])
    assert np.isnan(found.difference()["matrix"])
    assert found.difference()["rate"] == pytest.approx(expected.difference()["rate"], abs=1e-12)
    for call in (found.group_min, lambda: found.difference(errors="raise")):
        with pytest.raises(ValueError, match="not a number"):
            call()


def test_polars_and_nullable_columns():
    polars = pytest.importorskip("polars")
    _, true, pred, groups, _ = rows(4, n=40)
    expected = theirs.equalized_odds_difference(true, pred, sensitive_features=groups)
    for wrap in (polars.Series, lambda a: pd.Series(a).convert_dtypes()):
        found = ours.equalized_odds_difference(wrap(true), wrap(pred), sensitive_features=wrap(groups.tolist()))
        assert found == pytest.approx(expected, abs=1e-12)
    both = polars.DataFrame({"g": groups.tolist(), "h": true})
    frame = ours.MetricFrame(metrics=ours.count, y_true=true, y_pred=pred, sensitive_features=both)
    assert frame.sensitive_levels == ["g", "h"]
    assert frame.by_group.sum() == 40


def test_without_pandas():
    code = """
import sys
sys.modules["pandas"] = None
from fairfront.metrics import MetricFrame, count, selection_rate
data = {"y_true": [1, 1, 0, 0], "y_pred": [1, 1, 1, 0]}
one = MetricFrame(metrics=selection_rate, sensitive_features=["a", "a", "b", "b"], **data)
assert one.by_group == {"a": 1.0, "b": 0.5} and one.overall == 0.75 and one.ratio() == 0.5
two = MetricFrame(metrics={"rate": selection_rate, "n": count}, control_features=[0, 0, 0, 1],
                  sensitive_features=["a", "a", "b", "b"], **data)
assert two.by_group["n"].keys() == {(0, "a"), (0, "b"), (1, "a"), (1, "b")}
assert two.by_group["n"][1, "b"] == 1 and two.by_group["n"][1, "a"] != two.by_group["n"][1, "a"]
assert two.overall == {"rate": {0: 1.0, 1: 0.0}, "n": {0: 3, 1: 1}}
assert two.group_max()["n"] == {0: 2, 1: 1}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


GOOD = {"sensitive_features": [0, 0, 1]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.demographic_parity_difference([0, 1], [0, 1, 1], **GOOD), "found 2 and 3"),
        (
            lambda m: m.equalized_odds_ratio([0, 1, 1], [0, 1, 1], sensitive_features=[0, 1]),
            "sensitive_features: 'sensitive_feature_0' must have one value per row, found 2 for 3 rows",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features=None),
            "sensitive_features is None",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features=["a", None, "b"]),
            "'sensitive_feature_0' has missing values",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features=[0, np.nan, 1]),
            "has missing values",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features=[[0], [1], [1]]),
            "a list must have one value per row",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features=np.ones((3, 2, 2))),
            "must have one or two dimensions, not 3",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sensitive_features={1: [0, 0, 1]}),
            "a name must be a string, found 1",
        ),
        (
            lambda m: m.equalized_odds_difference([0, 1, 2], [0, 1, 1], sensitive_features=[0, 0, 0]),
            r"labels must be from \{0, 1\} or \{-1, 1\}, found 0, 1, 2",
        ),
        (
            lambda m: m.equalized_odds_difference(["a", "b", "b"], ["a", "a", "b"], **GOOD),
            "set pos_label to the positive one",
        ),
        (
            lambda m: m.true_positive_rate(["a", "b"], ["c", "a"], pos_label="a"),
            "labels must be binary, found 3 different labels: 'a', 'b', 'c'",
        ),
        (
            lambda m: m.true_positive_rate(["a", "b"], ["b", "a"], pos_label="c"),
            "pos_label 'c' is not one of the labels 'a', 'b'",
        ),
        (
            lambda m: m.true_positive_rate([0, 1], [0, 1], sample_weight=[1]),
            "sample_weight must have one value per row, found 1 for 2 rows",
        ),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], sample_weight=[1, 2], **GOOD),
            "'sample_weight' must have one value per row, found 2 for 3 rows",
        ),
        (lambda m: m.selection_rate([], []), "no rows"),
        (
            lambda m: m.demographic_parity_ratio([0, 1, 1], [0, 1, 1], method="both", **GOOD),
            "method must be 'between_groups' or 'to_overall', not 'both'",
        ),
        (
            lambda m: m.equalized_odds_ratio([0, 1, 1], [0, 1, 1], agg="max", **GOOD),
            "agg must be 'worst_case' or 'mean', not 'max'",
        ),
        (
            lambda m: m.MetricFrame(metrics="rate", y_true=[0], y_pred=[0], sensitive_features=[0]),
            "expected a callable, found 'rate'",
        ),
        (
            lambda m: m.MetricFrame(
                metrics={"n": m.count}, y_true=[0], y_pred=[0], sensitive_features=[0], sample_params={"m": {}}
            ),
            "'m' is not one of the metrics",
        ),
        (
            lambda m: m.MetricFrame(
                metrics=m.count, y_true=[0], y_pred=[0], sensitive_features={"g": [0]}, control_features={"g": [0]}
            ),
            "'g' is the name of more than one feature",
        ),
    ],
)
def test_wrong_input_is_an_error_as_in_fairlearn(call, message):
    with pytest.raises(ValueError, match=message):
        call(ours)
    # fairlearn rejects the same input with another message.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)):
            call(theirs)


def test_sensitive_features_must_be_given():
    with pytest.raises(TypeError, match="sensitive_features"):
        ours.demographic_parity_difference([0, 1], [0, 1])


def test_labels_that_mix_strings_and_numbers_are_rejected():
    with pytest.raises(ValueError, match="strings and numbers"):
        ours.true_positive_rate([0, 1], ["0", "1"], pos_label=1)
    with pytest.raises((TypeError, ValueError)):
        theirs.true_positive_rate([0, 1], ["0", "1"], pos_label=1)
