"""Accepted types of X, y and sensitive features: the same rows give the same front for every type."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from people import frame, people

from fairfront import FairFrontClassifier

N_MODELS = 12


def fitted(X, y, sensitive, **params):
    return FairFrontClassifier(n_models=N_MODELS, **params).fit(X, y, sensitive_features=sensitive)


def numbers(clf):
    return clf.front_.to_numpy()


@pytest.fixture(scope="module")
def rows():
    return people(700)


@pytest.fixture(scope="module")
def usual(rows):
    X, y, sex, _ = rows
    return fitted(X, y, sex)


LAYOUTS = {
    "fortran": np.asfortranarray,
    "backwards": lambda X: X[::-1].copy()[::-1],
    "every second of more": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "read only": lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "not aligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape),
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "frame without names": pd.DataFrame,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arrays(layout, rows, usual):
    X, y, sex, _ = rows
    given = LAYOUTS[layout](X)
    before = given.copy() if hasattr(given, "copy") else None
    clf = fitted(given, y, sex)
    np.testing.assert_array_equal(numbers(clf), numbers(usual))
    np.testing.assert_array_equal(clf.predict_proba(given), usual.predict_proba(X))
    if isinstance(before, np.ndarray):
        np.testing.assert_array_equal(before, given)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.longdouble, np.int64, np.int32, np.int16, np.int8, np.uint8]
)
def test_types_of_numbers(dtype, rows):
    X, y, sex, _ = rows
    X = np.round(X * 3).clip(0 if np.dtype(dtype).kind == "u" else -20, 20)
    expected = fitted(X, y, sex)
    np.testing.assert_array_equal(numbers(fitted(X.astype(dtype), y, sex)), numbers(expected))


def test_an_array_of_booleans(rows):
    X, y, sex, _ = rows
    np.testing.assert_array_equal(numbers(fitted(X > 0, y, sex)), numbers(fitted((X > 0).astype(float), y, sex)))


def test_all_kinds_of_frames_give_the_same_front():
    X, y, sex, _ = frame(700)
    expected = fitted(X, y, sex)
    polars = pl.from_pandas(X)
    arrow = pa.Table.from_pandas(X, preserve_index=False)
    assert "region=south" in expected.select(knee=True).coefficients_
    for table in [polars, arrow, polars.lazy().collect(), X.convert_dtypes(), X.astype({"job": "category"})]:
        clf = fitted(table, y, sex)
        np.testing.assert_array_equal(numbers(clf), numbers(expected))
        np.testing.assert_array_equal(clf.predict(table), expected.predict(X))
        assert list(clf.feature_names_in_) == list(X.columns)


def test_dates_are_days_since_1970(tmp_path):
    X, y, sex, _ = frame(700)
    rng = np.random.default_rng(3)
    times = pd.Series(pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 150_000_000, 700), unit="s"))
    start = pd.Timestamp("1970-01-01")
    since = times - start
    days = since.dt.days + since.dt.seconds / 86_400
    expected = fitted(X.assign(when=days), y, sex)
    frames = {
        "times": X.assign(when=times),
        "zoned": X.assign(when=times.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        "objects": X.assign(when=times.dt.to_pydatetime().astype(object)),
    }
    tables = frames | {
        "polars": pl.from_pandas(frames["times"]),
        "arrow": pa.Table.from_pandas(frames["times"], preserve_index=False),
    }
    for name, table in tables.items():
        clf = fitted(table, y, sex)
        np.testing.assert_array_equal(numbers(clf), numbers(expected), err_msg=name)
        np.testing.assert_array_equal(clf.predict(table), expected.predict(X.assign(when=days)), err_msg=name)
    # Missing dates are treated as in any column, and whole days as in the command.
    whole = X.assign(when=times.dt.normalize())
    whole.loc[3, "when"] = pd.NaT
    clf = fitted(whole, y, sex, missing="keep")
    assert "when (missing)" in clf.select(knee=True).coefficients_
    file = tmp_path / "t.csv"
    whole.assign(y=y, sex=sex, when=whole["when"].dt.date).to_csv(file, index=False)
    read = FairFrontClassifier(n_models=N_MODELS, missing="keep").fit(file, "y", sensitive_features="sex")
    np.testing.assert_array_equal(numbers(read), numbers(clf))


def test_identifiers_cause_a_warning():
    X, y, sex, _ = frame(700)
    with pytest.warns(UserWarning, match='column "case_id" looks like an identifier'):
        clf = fitted(X.assign(case_id=np.arange(700) * 3), y, sex)
    assert "case_id" in clf.select(knee=True).coefficients_


def test_an_arrow_stream_of_an_unknown_library():
    X, y, sex, _ = frame(700)
    table = pa.Table.from_pandas(X, preserve_index=False)

    class OnlyArrow:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    np.testing.assert_array_equal(numbers(fitted(OnlyArrow(), y, sex)), numbers(fitted(X, y, sex)))


def test_chunks_of_arrow_are_one_column():
    X, y, sex, _ = frame(700)
    table = pa.Table.from_pandas(X, preserve_index=False)
    pieces = pa.concat_tables([table.slice(0, 3), table.slice(3, 400), table.slice(403)])
    np.testing.assert_array_equal(numbers(fitted(pieces, y, sex)), numbers(fitted(X, y, sex)))


def test_missing_values_are_kept_in_every_kind_of_table():
    X, y, sex, _ = frame(700)
    X = X.astype({"job": object})
    X.loc[::7, "income"] = np.nan
    X.loc[::5, "job"] = None
    X.loc[::6, "children"] = pd.NA
    expected = fitted(X, y, sex)
    assert "income (missing)" in expected.select(knee=True).coefficients_
    for table in [pl.from_pandas(X), pa.Table.from_pandas(X, preserve_index=False)]:
        np.testing.assert_array_equal(numbers(fitted(table, y, sex)), numbers(expected))
    with pytest.raises(ValueError, match="Input X contains NaN: column 'income' has 100 missing"):
        fitted(X, y, sex, missing="error")
    dropped = fitted(X, y, sex, missing="drop")
    kept = X.notna().all(axis=1)
    np.testing.assert_array_equal(numbers(dropped), numbers(fitted(X[kept], y[kept], sex[kept])))


SENSITIVE = {
    "list": lambda sex: sex.tolist(),
    "array of objects": lambda sex: sex.astype(object),
    "column": lambda sex: sex[:, None],
    "series": lambda sex: pd.Series(sex, name="sex"),
    "categorical": lambda sex: pd.Series(sex, dtype="category", name="sex"),
    "frame": lambda sex: pd.DataFrame({"sex": sex}),
    "dict": lambda sex: {"sex": sex.tolist()},
    "polars series": lambda sex: pl.Series("sex", sex),
    "polars frame": lambda sex: pl.DataFrame({"sex": sex}),
    "arrow table": lambda sex: pa.table({"sex": sex}),
    "index does not matter": lambda sex: pd.Series(sex, name="sex", index=np.arange(len(sex))[::-1]),
}


@pytest.mark.parametrize("kind", SENSITIVE)
def test_kinds_of_sensitive_features(kind, rows, usual):
    X, y, sex, _ = rows
    clf = fitted(X, y, SENSITIVE[kind](sex))
    np.testing.assert_array_equal(numbers(clf), numbers(usual))
    name = "sensitive_feature_0" if kind in ["list", "array of objects", "column"] else "sex"
    assert clf.objectives_ == ["error_rate", f"demographic_parity({name})"]


def test_several_sensitive_features_and_their_intersection(rows):
    X, y, sex, race = rows
    clf = fitted(X, y, {"sex": sex, "race": race})
    assert clf.objectives_ == ["error_rate", "demographic_parity(sex)", "demographic_parity(race)"]
    objectives = ["error_rate", "demographic_parity(sex:race)"]
    both = fitted(X, y, {"sex": sex, "race": race}, objectives=objectives)
    assert both.objectives_ == objectives
    joined = np.char.add(np.char.add(sex, ":"), race)
    alone = fitted(X, y, {"joined": joined})
    np.testing.assert_array_equal(both.front_["objective.error_rate"], alone.front_["objective.error_rate"])


def test_numbers_as_groups_read_like_numbers(rows):
    X, y, sex, _ = rows
    codes = (sex == "m").astype(float)
    clf = fitted(X, y, {"sex": codes})
    assert any("(sex=1)" in name for name in clf.front_.columns)
    with pytest.raises(ValueError, match="has 700 different numbers; group them into bins"):
        fitted(X, y, {"income": X[:, 0]})


def test_a_sensitive_feature_may_be_a_feature_too():
    X, y, sex, _ = frame(700)
    X = X.assign(sex=sex)
    clf = fitted(X, y, X["sex"])
    assert clf.objectives_[1] == "demographic_parity(sex)"
    assert "sex=m" in clf.select(knee=True).coefficients_
    assert clf.predict(X).shape == (700,)


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [False, True], ["no", "yes"], [2.0, 3.0]])
def test_kinds_of_labels(labels, rows, usual):
    X, y, sex, _ = rows
    named = np.asarray(labels)[y]
    clf = fitted(X, named, sex)
    np.testing.assert_array_equal(clf.classes_, labels)
    np.testing.assert_array_equal(numbers(clf), numbers(usual))
    np.testing.assert_array_equal(clf.predict(X), np.asarray(labels)[usual.predict(X)])
    assert clf.predict(X).dtype == named.dtype


def test_the_other_class_can_be_the_favorable_one(rows, usual):
    X, y, sex, _ = rows
    clf = fitted(X, 1 - y, sex, pos_label=0)
    np.testing.assert_array_equal(numbers(clf), numbers(usual))
    np.testing.assert_array_equal(clf.predict(X), 1 - usual.predict(X))
    np.testing.assert_array_equal(clf.decision_function(X), -usual.decision_function(X))
    np.testing.assert_allclose(clf.predict_proba(X), usual.predict_proba(X)[:, ::-1], rtol=1e-15)


def test_weights_count_like_repeated_rows(rows):
    X, y, sex, _ = rows
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = FairFrontClassifier(["log_loss", "score_covariance(sex)"], n_models=N_MODELS).fit(
        X, y, sensitive_features={"sex": sex}, sample_weight=weight
    )
    again = np.repeat(np.arange(len(y)), weight)
    repeated = FairFrontClassifier(["log_loss", "score_covariance(sex)"], n_models=N_MODELS).fit(
        X[again], y[again], sensitive_features={"sex": sex[again]}
    )
    column = "objective.log_loss"
    # The sums have different rows in a different order, so rounding differs, and the solver amplifies it.
    np.testing.assert_allclose(weighted.front_[column], repeated.front_[column], rtol=1e-6)


def test_files_are_read_as_by_the_command(tmp_path):
    X, y, sex, _ = frame(700)
    table = X.assign(approved=y, sex=sex)
    table.to_csv(tmp_path / "people.csv", index=False)
    table.to_parquet(tmp_path / "people.parquet")
    expected = fitted(X, y.astype(str), sex)
    for name in ["people.csv", "people.parquet"]:
        clf = fitted(tmp_path / name, "approved", ["sex"])
        np.testing.assert_array_equal(numbers(clf), numbers(expected))
        np.testing.assert_array_equal(clf.predict(table), expected.predict(X))
        np.testing.assert_array_equal(clf.predict(tmp_path / name), expected.predict(X))


# Unusual inputs that are easily misread.


def test_booleans_with_other_bytes_than_0_and_1(rows):
    X, y, sex, _ = rows
    bytes_ = (X > 0).astype(np.uint8) * 2
    odd = fitted(bytes_.view(bool), y, sex)
    np.testing.assert_array_equal(numbers(odd), numbers(fitted(X > 0, y, sex)))


def test_lists_with_strings_keep_their_numbers(rows):
    X, y, sex, _ = rows
    listed = [[float(x), "u" if x > 0 else "v"] for x in X[:, 0]]
    clf = fitted(listed, y, sex)
    assert sorted(clf.select(knee=True).coefficients_) == ["x0", "x1=u", "x1=v"]


def test_a_nan_among_strings_is_missing(rows):
    X, y, sex, _ = rows
    with pytest.raises(ValueError, match="has 1 missing value"):
        fitted(X, y, [float("nan"), *sex[1:]])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fitted(X, [float("nan"), *np.where(y[1:], "a", "b")], sex)


def test_categories_of_polars_as_groups(rows, usual):
    X, y, sex, _ = rows
    for dtype in [pl.Categorical, pl.Enum(["f", "m"])]:
        np.testing.assert_array_equal(numbers(fitted(X, y, pl.Series("sex", sex, dtype=dtype))), numbers(usual))


def test_equal_strings_are_one_category():
    X, y, sex, _ = frame(700)
    expected = fitted(X.assign(job=X["job"]), y, sex)
    blanks = X["job"].where(np.arange(700) % 2 == 0, " " + X["job"] + "  ")
    np.testing.assert_array_equal(numbers(fitted(X.assign(job=blanks), y, sex)), numbers(expected))
    np.testing.assert_array_equal(numbers(fitted(pl.from_pandas(X.assign(job=blanks)), y, sex)), numbers(expected))
    twice = pd.Categorical(np.where(np.arange(700) % 3, 1, 2).astype(object))
    mixed = twice.rename_categories({1: "1"}).astype(object)
    fitted(X.assign(region=pd.Categorical(mixed)), y, sex)


def test_dictionaries_of_numbers():
    X, y, sex, _ = frame(700)
    codes = pa.array(np.arange(700) % 3, type=pa.int8())
    table = pa.table({"a": X["income"], "k": pa.DictionaryArray.from_arrays(codes, pa.array([10, 20, 30]))})
    assert "k=20" in fitted(table, y, sex).select(knee=True).coefficients_


EMPTY = {
    "pandas objects": lambda row: pd.DataFrame([row]),
    "polars": lambda row: pl.DataFrame([row]),
    "arrow": lambda row: pa.Table.from_pylist([row]),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_single_row_may_lack_any_value(kind):
    X, y, sex, _ = frame(700)
    X = X[["income", "region", "job"]]
    clf = fitted(X, y, sex)
    row = {"income": None, "region": "north", "job": None}
    whole = pd.concat([X, pd.DataFrame([{**row, "income": np.nan}])], ignore_index=True)
    expected = clf.decision_function(whole)[-1]
    assert clf.decision_function(EMPTY[kind](row))[0] == expected


def test_polars_categories_with_only_nulls():
    X, y, sex, _ = frame(700)
    table = pl.from_pandas(X[["income", "age"]]).with_columns(k=pl.Series([None] * 700, dtype=pl.Categorical))
    clf = fitted(table, y, sex)
    assert clf.predict(table.head(3)).shape == (3,)


def test_booleans_may_be_passed_as_numbers():
    X, y, sex, _ = frame(700)
    dummies = pd.get_dummies(X[["region", "job", "income"]])
    clf = fitted(dummies, y, sex)
    numbers_ = dummies.astype(float)
    np.testing.assert_array_equal(clf.predict_proba(numbers_), clf.predict_proba(dummies))
    with pytest.raises(ValueError, match="categorical in training"):
        clf.predict(numbers_ * 3)


def test_inputs_that_are_not_tables_are_rejected():
    X, y, sex, _ = frame(200)
    with pytest.raises(ValueError, match="X is a Series"):
        fitted(X["income"], y, sex)
    with pytest.raises(ValueError, match="X is a Series"):
        fitted(pl.Series("a", [1.0] * 200), y, sex)
    with pytest.raises(TypeError, match="collect"):
        fitted(pl.from_pandas(X).lazy(), y, sex)
    with pytest.raises(TypeError, match="unsupported type Timedelta"):
        fitted(X.assign(when=pd.Series([pd.Timedelta("1D")] * 200, dtype=object)), y, sex)


def test_names_of_sensitive_features_may_be_odd(rows, usual):
    X, y, sex, _ = rows
    for name in [" sex ", '"q"', "a:b", "a,b", "f(x)", "größe", "x=1"]:
        clf = fitted(X, y, {name: sex})
        np.testing.assert_array_equal(numbers(clf), numbers(usual))


def test_features_of_the_same_name_are_rejected(rows):
    X, y, sex, _ = rows
    table = pd.DataFrame({"c": np.where(X[:, 0] > 0, "a", "b"), "c=a": X[:, 1]})
    with pytest.raises(ValueError, match='"c=a".*rename'):
        fitted(table, y, sex)


def test_true_may_be_the_class_of_a_file(tmp_path):
    X, y, sex, _ = frame(400)
    table = X.assign(approved=y.astype(bool), sex=sex)
    table.to_csv(tmp_path / "people.csv", index=False)
    table.to_parquet(tmp_path / "people.parquet")
    for name in ["people.csv", "people.parquet"]:
        clf = fitted(tmp_path / name, "approved", "sex", pos_label=True)
        assert str(clf.pos_label_).lower() == "true"
    with pytest.raises(FileNotFoundError):
        fitted(tmp_path / "none.csv", "approved", "sex")
