"""Convert arrays, frames, sparse matrices and lists to columns.

Numbers are not copied if the memory layout allows it: a column is then a view of the array or frame. Strings and
categories become codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairfront._fairfront import Columns

Array: TypeAlias = npt.NDArray[Any]

#: A column in the form that the extension expects: (name, numbers), (name, days since 1970-01-01, True),
#: (name, codes, categories) or (name, values, rows, n_rows).
Given: TypeAlias = tuple[Any, ...]

#: A sensitive feature with more different numbers than this is rejected.
MOST_NUMBERS = 12


@dataclass
class Features:
    """The columns of X."""

    columns: Columns
    #: The names of a frame's columns; ``None`` for arrays and for frames whose names are not strings.
    names_in: Array | None
    n_rows: int
    n_features: int


def is_path(X: Any) -> bool:
    """Whether X is a path or a list of paths."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(x, (str, os.PathLike)) for x in X)


def paths(X: Any) -> list[str]:
    """The paths in X."""
    return [os.fspath(X)] if isinstance(X, (str, os.PathLike)) else [os.fspath(path) for path in X]


def features(X: Any, estimator: str) -> Features:
    """The columns of X.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or Arrow table
        The rows to learn from or to score.
    estimator : str
        The name of the caller, for messages.
    """
    if hasattr(X, "tocsc") and hasattr(X, "nnz"):
        return _of_sparse(X, estimator)
    if is_pandas_frame(X):
        return _of_pandas(X, estimator)
    if hasattr(X, "name") and hasattr(X, "__array__"):
        name = f'["{X.name}"]' if isinstance(X.name, str) else ""
        raise ValueError(
            f"Expected 2D array, got 1D array instead: X is a Series. Reshape your data: a frame with one column is "
            f"X.to_frame(){f', or df[{name}]' if name else ''}; for a single row use df.iloc[[0]]."
        )
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array_interface__"):
        return _of_arrow(X, estimator)
    return _of_array(X, estimator)


def is_pandas_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, or one with the same interface."""
    return hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")


def _check_shape(shape: tuple[int, ...], estimator: str) -> None:
    if shape[0] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required by {estimator}."
        )
    if shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def _of_array(X: Any, estimator: str) -> Features:
    if X is None:
        raise ValueError(f"Expected 2D array, got None; pass the rows to {estimator}.")
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise TypeError("X is a LazyFrame, which has no rows yet; call X.collect() first")
    array = np.asarray(X)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # In lists of rows that contain strings, numbers must stay numbers.
        array = np.asarray(X, dtype=object)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X contains complex numbers.")
    if array.ndim < 2:
        found = ("scalar", "1D")[array.ndim]
        raise ValueError(
            f"Expected 2D array, got {found} array instead:\narray={array}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
            "single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. {estimator} expected <= 2.")
    _check_shape(array.shape, estimator)
    given: list[Given]
    if array.dtype.kind in "OUSV":
        try:
            array = array.astype(np.float64)
        except ValueError:
            given = [_of_objects(f"x{j}", array[:, j]) for j in range(array.shape[1])]
            return Features(Columns(given), None, *array.shape)
    array = _usual(array, "X")
    if array.dtype.kind == "b":
        # As bytes, because memory of type bool may contain values other than 0 and 1.
        array = array.view(np.uint8)
        array = (array != 0).view(np.uint8) if (array > 1).any() else array
    given = [(f"x{j}", array[:, j]) for j in range(array.shape[1])]
    return Features(Columns(given), None, *array.shape)


def _usual(array: Array, name: str) -> Array:
    """The array itself, or a copy if its type or byte order is unusual."""
    kind = array.dtype.kind
    if kind not in "fiub":
        raise TypeError(f"{name} has the unsupported type {array.dtype}; convert it to numbers, or drop it")
    if kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _of_sparse(X: Any, estimator: str) -> Features:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X contains complex numbers.")
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got a sparse array with {len(X.shape)} dimension(s).")
    n_rows, n_features = (int(n) for n in X.shape)
    _check_shape((n_rows, n_features), estimator)
    if n_rows > np.iinfo(np.int32).max:
        raise ValueError(f"X is a sparse matrix with {n_rows} rows; pass at most {np.iinfo(np.int32).max} rows")
    by_column = X.tocsc()
    if not by_column.has_canonical_format:
        by_column = by_column.copy() if by_column is X else by_column
        by_column.sum_duplicates()
    values = np.asarray(by_column.data, dtype=np.float64)
    rows = np.asarray(by_column.indices, dtype=np.int32)
    ends = by_column.indptr
    given: list[Given] = [
        (f"x{j}", values[ends[j] : ends[j + 1]], rows[ends[j] : ends[j + 1]], n_rows) for j in range(n_features)
    ]
    return Features(Columns(given), None, n_rows, n_features)


def _names(names: Sequence[Any]) -> tuple[list[str], Array | None]:
    """Names as strings, and in the form of ``feature_names_in_``."""
    kinds = {isinstance(name, str) for name in names}
    if len(kinds) > 1:
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has string and "
            "other names; convert all of them to strings, for example with X.columns = X.columns.astype(str)."
        )
    strings = [str(name) for name in names]
    if len(set(strings)) < len(strings):
        twice = next(name for i, name in enumerate(strings) if name in strings[:i])
        raise ValueError(f"X has two columns called {twice!r}; rename one of them.")
    return strings, np.asarray(strings, dtype=object) if kinds == {True} else None


def _of_pandas(X: Any, estimator: str) -> Features:
    names, names_in = _names(list(X.columns))
    _check_shape(X.shape, estimator)
    given = [_of_series(name, X.iloc[:, j]) for j, name in enumerate(names)]
    if names_in is None:
        # Names that are not strings, such as those of a frame made from an array, are only positions.
        given = [(f"x{j}", *column[1:]) for j, column in enumerate(given)]
    return Features(Columns(given), names_in, len(X), len(names))


def _of_series(name: str, series: Any) -> Given:
    """A column of a pandas frame."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        categories = [text(category) for category in dtype.categories]
        return (name, *_merged(series.cat.codes.to_numpy().astype(np.int64), categories))
    if isinstance(dtype, np.dtype):
        if dtype.kind == "b":
            return _of_booleans(name, series.to_numpy().astype(np.int64))
        if dtype.kind in "fiu":
            return name, _usual(series.to_numpy(), name)
        if dtype.kind == "M":
            return name, _days(series.to_numpy()), True
        if dtype.kind == "O":
            return _of_objects(name, series)
        raise TypeError(f"column {name!r} has the unsupported type {dtype}; convert it to numbers, or drop it")
    kind = getattr(dtype, "kind", "O")
    if hasattr(dtype, "subtype") and hasattr(dtype, "fill_value"):
        return name, _usual(series.to_numpy(dtype=dtype.subtype), name)
    if kind == "b":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return _of_booleans(name, np.where(np.isnan(values), -1, values).astype(np.int64))
    if kind in "fiu":
        return name, series.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "M":
        # Times with a time zone, or of a type that is not numpy's.
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return name, _days(series.to_numpy(dtype="datetime64[ns]", na_value=np.datetime64("NaT"))), True
    if kind == "m":
        raise TypeError(f"column {name!r} has the unsupported type {dtype}; convert it to numbers, or drop it")
    return _of_objects(name, series)


def _days(times: Array) -> Array:
    """Days since 1970-01-01, with a fraction for the time of day; NaN if missing."""
    whole = times.astype("datetime64[D]")
    rest = (times - whole).astype("timedelta64[ns]").astype(np.int64)
    days = whole.astype(np.int64) + rest / 86_400_000_000_000
    return np.where(np.isnat(times), np.nan, days)


def _of_booleans(name: str, codes: Array) -> Given:
    return name, codes, ["false", "true"]


def _of_arrow(X: Any, estimator: str) -> Features:
    if type(X).__module__.startswith("polars"):
        # Columns that contain only nulls have their own type in Polars, which other libraries cannot read.
        import polars

        if polars.Null in X.dtypes:
            X = X.cast({polars.Null: polars.Float64})
    columns = Columns.of_arrow(X)
    names, names_in = _names(columns.names)
    _check_shape((columns.n_rows, len(names)), estimator)
    return Features(columns, names_in, columns.n_rows, len(names))


def is_missing(value: Any) -> bool:
    """Whether a value is missing: ``None``, NaN, ``pandas.NA`` or ``NaT``."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA has no truth value.
        return True


def text(value: Any) -> str:
    """A category as a string, without spaces around it, as in files."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value).strip()


def group(value: Any) -> str:
    """A group as a string; whole numbers have no decimal point."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return text(value)


def factorize(values: Any) -> tuple[Array, list[Any]]:
    """Codes of values in order of first appearance, −1 if missing, and the values."""
    pandas = sys.modules.get("pandas")
    try:
        if pandas is not None:
            codes, categories = pandas.factorize(values)
            return codes.astype(np.int64, copy=False), list(categories)
        return _factorize(np.asarray(values))
    except TypeError as error:
        unhashable = str(error).removeprefix("unhashable type: ")
        raise TypeError(f"argument must be a string or a number, not {unhashable}") from error


def _factorize(values: Array) -> tuple[Array, list[Any]]:
    found: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values.tolist()):
        codes[i] = -1 if is_missing(value) else found.setdefault(value, len(found))
    return codes, list(found)


def _of_objects(name: str, values: Any) -> Given:
    """A column of Python objects: numbers if all of them are numbers, categories otherwise."""
    codes, categories = factorize(values)
    truth = [isinstance(category, (bool, np.bool_)) for category in categories]
    if categories and not all(truth) and all(isinstance(category, (Number, np.bool_)) for category in categories):
        if any(isinstance(category, complex) for category in categories):
            raise ValueError(f"Complex data not supported: column {name!r} contains complex numbers.")
        lookup = np.asarray([*(float(category) for category in categories), np.nan], dtype=np.float64)
        return name, lookup[codes]
    if categories and all(isinstance(category, date) for category in categories):
        times = [np.datetime64(_in_utc(category).isoformat(), "us") for category in categories]
        lookup = np.asarray([*_days(np.asarray(times)), np.nan], dtype=np.float64)
        return name, lookup[codes], True
    for category in categories:
        if isinstance(category, (list, tuple, dict, set, frozenset, bytes)):
            found = type(category).__name__
            raise TypeError(f"argument must be a string or a number, not {found!r} (column {name!r})")
        if hasattr(category, "isoformat") or hasattr(category, "total_seconds") or type(category).__name__ == "Period":
            found = type(category).__name__
            raise TypeError(f"column {name!r} has the unsupported type {found}; convert it to numbers, or drop it")
    return (name, *_merged(codes, [text(category) for category in categories]))


def _in_utc(value: date) -> date:
    """A date, or a time in UTC without its time zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return value


def _merged(codes: Array, categories: list[str]) -> tuple[Array, list[str]]:
    """Merge categories that are the same string."""
    if len(set(categories)) == len(categories):
        return codes, categories
    unique = list(dict.fromkeys(categories))
    place = np.asarray([*(unique.index(category) for category in categories), -1], dtype=np.int64)
    return place[codes], unique


@dataclass
class Sensitive:
    """One sensitive feature."""

    name: str
    codes: Array
    groups: list[str]


def sensitive(given: Any, n_rows: int, missing: str) -> list[Sensitive]:
    """Sensitive features, each with its name.

    Parameters
    ----------
    given : list, array, Series, DataFrame or dict
        One or several features; a dict maps names to features.
    n_rows : int
        The number of rows that each feature must have.
    missing : {"error", "group", "loss-only", "drop"}
        ``"error"`` rejects missing values here.
    """
    features = [_sensitive_feature(name, values) for name, values in _by_name(given)]
    if not features:
        raise ValueError("sensitive_features has no columns; pass None, or at least one column")
    names = [feature.name for feature in features]
    if len(set(names)) < len(names):
        raise ValueError(f"sensitive_features has two features of the same name: {names}; rename one of them")
    for feature in features:
        if len(feature.codes) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, sensitive "
                f"feature {feature.name!r} has {len(feature.codes)}."
            )
        n_missing = int((feature.codes < 0).sum())
        if n_missing and missing == "error":
            raise ValueError(
                f"Sensitive feature {feature.name!r} has {n_missing} missing value(s); set "
                "missing_sensitive='group' (a group of their own), 'loss-only' (use these rows for the loss only) or "
                "'drop'."
            )
    return features


def _by_name(given: Any) -> list[tuple[str, Any]]:
    if isinstance(given, dict):
        return [(str(name), values) for name, values in given.items()]
    if is_pandas_frame(given):
        return [(str(name), given.iloc[:, j]) for j, name in enumerate(given.columns)]
    if hasattr(given, "column_names"):
        return [(str(name), given[name]) for name in given.column_names]
    if hasattr(given, "get_columns"):
        return [(str(series.name), series) for series in given.get_columns()]
    if hasattr(given, "name") and hasattr(given, "__array__"):
        return [(_usual_name(given.name), given)]
    # As objects, because numpy would convert a NaN in a list of strings to a string.
    array = np.asarray(given, dtype=object) if isinstance(given, (list, tuple)) else np.asarray(given)
    if array.ndim == 1:
        return [(_usual_name(None), array)]
    if array.ndim == 2:
        return [(f"sensitive_feature_{j}", array[:, j]) for j in range(array.shape[1])]
    raise ValueError(
        f"sensitive_features has {array.ndim} dimension(s); pass one value per row, or one column per feature"
    )


def _usual_name(name: Any) -> str:
    return "sensitive_feature_0" if name is None or name == "" else str(name)


def _sensitive_feature(name: str, values: Any) -> Sensitive:
    if hasattr(values, "cat") and hasattr(values.cat, "codes"):
        categories = [group(category) for category in values.cat.categories]
        codes = np.asarray(values.cat.codes).astype(np.int64)
        return Sensitive(name, *_merged(codes, categories))
    array = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"sensitive feature {name!r} has {array.ndim} dimensions; pass one value per row")
    codes, found = factorize(array)
    numbers = [value for value in found if isinstance(value, (int, float, np.number)) and not isinstance(value, bool)]
    if len(numbers) > MOST_NUMBERS:
        raise ValueError(
            f"Sensitive feature {name!r} has {len(numbers)} different numbers; group them into bins, for example "
            "with pandas.cut, or convert them to strings if they are codes."
        )
    return Sensitive(name, *_merged(codes, [group(category) for category in found]))


def probabilities(given: Any, n_rows: int | None) -> list[tuple[str, list[tuple[str, Any]]]]:
    """The groups of each attribute with their probabilities: columns of n_rows numbers, or names of columns."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise TypeError(
            "sensitive_probability: expected a dict from each attribute to the probabilities of its groups, got"
            f" {type(given).__name__}"
        )
    found = []
    for attribute, groups in given.items():
        setting = f"sensitive_probability[{attribute!r}]"
        if not isinstance(attribute, str):
            raise TypeError(f"sensitive_probability: the attribute {attribute!r} is not a string")
        if n_rows is None and isinstance(groups, (list, tuple)):
            groups = {name: name for name in groups}
        if not (isinstance(groups, Mapping) or (hasattr(groups, "columns") and hasattr(groups, "__getitem__"))):
            expected = "a dict from groups to columns, or a list of columns" if n_rows is None else (
                "a dict from groups to arrays, or a DataFrame with a column per group"
            )
            raise TypeError(f"{setting}: expected {expected}, got {type(groups).__name__}")
        names = list(groups) if isinstance(groups, Mapping) else list(groups.columns)
        of_groups: list[tuple[str, Any]] = []
        for name in names:
            values = groups[name]
            if n_rows is None:
                if not isinstance(values, str):
                    raise TypeError(f"{setting}: X is a path, but the column of group {name!r} is not a string")
                of_groups.append((group(name), values))
                continue
            try:
                numbers = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError):
                raise ValueError(f"{setting}: the probabilities of group {name!r} are not numbers") from None
            if numbers.shape != (n_rows,):
                raise ValueError(
                    f"{setting}: the probabilities of group {name!r} have the shape {numbers.shape}, expected"
                    f" ({n_rows},); pass one probability per row"
                )
            of_groups.append((group(name), numbers))
        found.append((attribute, of_groups))
    return found


def weights(given: Any, n_rows: int) -> Array | None:
    """Sample weights as numbers, one per row."""
    if given is None:
        return None
    array = np.asarray(given)
    if array.ndim == 0:
        return np.full(n_rows, float(array))
    if array.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {array.shape}.")
    if len(array) != n_rows:
        raise ValueError(f"sample_weight.shape == {array.shape}, expected ({n_rows},)!")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    if (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        raise ValueError(f"Negative values in sample_weight: row {row} has {numbers[row]}; pass weights of at least 0.")
    if not numbers.any():
        raise ValueError("Sample weights must contain at least one non-zero number; all are zero.")
    return numbers
