"""The target: two classes, one of which is favorable."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from fairfront._base import DataConversionWarning
from fairfront._columns import is_missing, text


def labels(y: Any, n_rows: int, estimator: str) -> npt.NDArray[Any]:
    """The checked target as an array with one value per row.

    Parameters
    ----------
    y : array-like
        The target.
    n_rows : int
        The number of rows of X.
    estimator : str
        The name of the caller, for messages.
    """
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    array = np.asarray(y)
    if array.dtype.kind in "US" and isinstance(y, (list, tuple)):
        # numpy would convert a NaN among strings to a string.
        array = np.asarray(y, dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(array)}."
        )
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            raise ValueError("Input y contains NaN.")
        if not np.isfinite(array).all():
            raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
        if (array != np.floor(array)).any():
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
                "classes on a regression target with continuous values."
            )
    elif array.dtype.kind == "O":
        if any(is_missing(value) for value in array):
            raise ValueError("Input y contains NaN.")
        if isinstance(y, (list, tuple)):
            array = np.asarray(y)
    elif array.dtype.kind not in "iubUS":
        raise ValueError(f"Unknown label type: {array.dtype}; pass the classes of the rows as y.")
    return array


def classes(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The two classes in sorted order."""
    try:
        found = np.unique(y)
    except TypeError as error:
        raise TypeError("y mixes values of different types; convert all of them to strings or numbers") from error
    return check_classes(found)


def check_classes(found: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Reject any other number of classes than two."""
    if len(found) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: y has "
            f"{len(found)} classes."
        )
    if len(found) < 2:
        raise ValueError(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{found[0]!r}"
            if len(found)
            else "y has no classes"
        )
    return found


def positive(found: npt.NDArray[Any], pos_label: Any) -> Any:
    """The favorable class: ``pos_label``, or the last class in sorted order."""
    if pos_label is None:
        return found[1]
    for label in found:
        if label == pos_label:
            return label
    raise ValueError(f"pos_label={pos_label!r} is not a valid label: y has {list(found)}; choose one of these")


def codes(y: npt.NDArray[Any], negative: Any, positive: Any) -> npt.NDArray[np.int64]:
    """0 for the negative class and 1 for the positive one."""
    is_positive: npt.NDArray[np.bool_] = np.asarray(y == positive)
    other = ~(is_positive | (y == negative))
    if other.any():
        row = int(np.argmax(other))
        raise ValueError(
            f"y has the label {y[row]!r} in row {row}, which is not one of the classes {[negative, positive]}"
        )
    return is_positive.astype(np.int64)


def texts(negative: Any, positive: Any) -> tuple[str, str]:
    """The classes as two different strings, also for 1 and "1"."""
    pair = text(negative), text(positive)
    return pair if pair[0] != pair[1] else (repr(negative), repr(positive))
