"""The target: classes, one of which is favorable if there are two, or a number."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairfront._base import DataConversionWarning, FairFrontWarning
from fairfront._columns import group, is_missing, text

#: The largest number of classes.
MOST_CLASSES = 100
#: Classes with fewer rows cause a warning; the command rejects them.
FEW_ROWS = 10


def values(y: Any, n_rows: int, estimator: str) -> npt.NDArray[Any]:
    """The target as an array with one value per row, none of which is missing.

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
    elif array.dtype.kind == "O":
        if any(is_missing(value) for value in array):
            raise ValueError("Input y contains NaN.")
        if isinstance(y, (list, tuple)):
            array = np.asarray(y)
    return array


def labels(y: Any, n_rows: int, estimator: str) -> npt.NDArray[Any]:
    """The checked classes of the rows; the parameters are those of ``values``."""
    array = values(y, n_rows, estimator)
    if array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise ValueError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects discrete "
            f"classes on a regression target with continuous values; {_numbers_advice(estimator)}."
        )
    if array.dtype.kind not in "fOiubUS":
        raise ValueError(f"Unknown label type: {array.dtype}; pass the classes of the rows as y.")
    return array


def numbers(
    y: Any, weights: npt.NDArray[np.float64] | None, estimator: str, n_rows: int, is_batch: bool
) -> npt.NDArray[np.float64]:
    """The checked numbers of the rows; in a batch of a stream, all may be equal."""
    array = values(y, n_rows, estimator)
    if array.dtype.kind in "Mm":
        raise ValueError(f"y has dates or times ({array.dtype}); convert them to numbers, such as days")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: y contains complex numbers.")
    if array.dtype.kind in "USbO":
        wrong = next((value for value in array.tolist() if isinstance(value, (str, bytes, bool))), None)
        if wrong is not None:
            advice = "convert y to numbers" if _is_number(wrong) else _classes_advice(estimator)
            raise ValueError(f"y contains {wrong!r}, which is not a number; {advice}")
    try:
        converted: npt.NDArray[np.float64] = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y cannot be converted to numbers: {error}; {_classes_advice(estimator)}") from error
    if not np.isfinite(converted).all():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    if not is_batch:
        _check_variation(converted if weights is None else converted[weights > 0], estimator)
    return converted


def _check_variation(y: npt.NDArray[np.float64], estimator: str) -> None:
    """Reject constant numbers, and warn about two different ones, which may be classes."""
    if len(y) == 1:
        raise ValueError("y has 1 sample, but models need at least two different numbers; pass more rows")
    low, high = y.min(), y.max()
    if low == high:
        raise ValueError(
            f"y is constant: it is {low:g} in all {len(y)} rows, so models cannot learn anything; pass a y that varies"
        )
    if ((y == low) | (y == high)).all():
        warnings.warn(
            f"y has only two different numbers, {low:g} and {high:g}, and is predicted as a number; if they are"
            f" classes, {_classes_advice(estimator)}",
            FairFrontWarning,
            stacklevel=6,
        )


def _is_number(value: str | bytes | bool) -> bool:
    """Whether a string is written like a number."""
    try:
        float(value)
    except ValueError:
        return False
    return not isinstance(value, bool)


def _numbers_advice(estimator: str) -> str:
    """How to predict numbers instead of classes."""
    other = estimator.replace("Classifier", "Regressor")
    return f"use {other}" if other != estimator else "to predict numbers, pass numeric=True"


def _classes_advice(estimator: str) -> str:
    """How to predict classes instead of numbers."""
    other = estimator.replace("Regressor", "Classifier")
    return f"use {other}" if other != estimator else "to predict classes, remove numeric"


@dataclass(frozen=True)
class Coded:
    """The classes of the rows, in the form that the extension expects."""

    #: The classes in sorted order, and the favorable one; ``None`` for more than two classes.
    classes: npt.NDArray[Any]
    positive: Any
    #: The position in ``names`` of the class of each row.
    codes: npt.NDArray[np.int64]
    #: The classes as strings, all different. The favorable one is the last.
    names: list[str]
    #: For more than two classes, the strings from the lowest to the highest class, if they are ordered.
    order: list[str]


def coded(
    y: Any,
    weights: npt.NDArray[np.float64] | None,
    estimator: str,
    n_rows: int,
    pos_label: Any,
    order: Any,
    known: tuple[npt.NDArray[Any], Any] | None,
) -> Coded:
    """The classes of the rows; ``known`` are those of a stream, with the favorable one."""
    target = labels(y, n_rows, estimator)
    if known is None:
        found = classes(target if weights is None else target[weights > 0], estimator)
        favorable = positive(found, pos_label)
    else:
        found, favorable = known
    ordered = ranks(found, order)
    if weights is not None and known is None:
        # Rows of weight 0 may have other labels.
        target = np.where(weights > 0, target, found[0])
    if len(found) > 2:
        names = distinct(found)
        return Coded(found, None, codes(target, list(found)), names, [names[i] for i in ordered])
    negative = found[0] if favorable == found[1] else found[1]
    return Coded(found, favorable, codes(target, [negative, favorable]), list(texts(negative, favorable)), [])


def classes(y: npt.NDArray[Any], estimator: str) -> npt.NDArray[Any]:
    """The classes in sorted order."""
    try:
        found = np.unique(y)
    except TypeError as error:
        raise TypeError("y mixes values of different types; convert all of them to strings or numbers") from error
    return check_classes(found, estimator)


def check_classes(found: npt.NDArray[Any], estimator: str) -> npt.NDArray[Any]:
    """Reject fewer than two classes, and too many."""
    if len(found) > MOST_CLASSES:
        advice = f" If y is a number, {_numbers_advice(estimator)}." if found.dtype.kind in "iuf" else ""
        raise ValueError(
            f"y has {len(found)} classes, but models can predict at most {MOST_CLASSES}; merge classes.{advice}"
        )
    if len(found) < 2:
        raise ValueError(
            f"This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{found.tolist()[0]!r}"
            if len(found)
            else "y has no classes"
        )
    return found


def positive(found: npt.NDArray[Any], pos_label: Any) -> Any:
    """The favorable class: ``pos_label``, or the last class in sorted order; ``None`` for more than two classes."""
    if len(found) > 2:
        if pos_label is not None:
            raise ValueError(
                f"pos_label={pos_label!r}: y has {len(found)} classes, but only one of two classes can be favorable;"
                " remove pos_label, or pass y with two classes"
            )
        return None
    if pos_label is None:
        return found[1]
    for label in found:
        if label == pos_label:
            return label
    raise ValueError(f"pos_label={pos_label!r} is not a valid label: y has {list(found)}; choose one of these")


def ranks(found: npt.NDArray[Any], order: Any) -> list[int]:
    """The positions of ordered classes from the lowest to the highest; empty without an order."""
    if order is None:
        return []
    wanted = labels_of_order(order)
    known = found.tolist()
    for i, label in enumerate(wanted):
        if label not in known:
            raise ValueError(f"order: no row has the class {label!r}; choose from the classes of y, {known}")
        if label in wanted[:i]:
            raise ValueError(f"order lists the class {label!r} twice; remove one of them")
    missing = [label for label in known if label not in wanted]
    if missing:
        raise ValueError(f"order does not list these classes of y: {missing}; add them in their place")
    if len(known) < 3:
        raise ValueError("order is set, but y has only two classes; remove order, or choose one class with pos_label")
    return [known.index(label) for label in wanted]


def labels_of_order(order: Any) -> list[Any]:
    """The parameter ``order`` as a list of labels."""
    if isinstance(order, (str, bytes)) or not np.iterable(order):
        raise TypeError(f"order={order!r}: expected a list of classes from the lowest to the highest")
    return [label.item() if isinstance(label, np.generic) else label for label in order]


def codes(y: npt.NDArray[Any], known: list[Any]) -> npt.NDArray[np.int64]:
    """The position of each label among the classes."""
    found = np.full(len(y), -1, dtype=np.int64)
    for position, label in enumerate(known):
        found[np.asarray(y == label)] = position
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise ValueError(f"y has the label {y[row]!r} in row {row}, which is not one of the classes {known}")
    return found


def texts(negative: Any, positive: Any) -> tuple[str, str]:
    """The classes as two different strings, also for 1 and "1"."""
    pair = text(negative), text(positive)
    return pair if pair[0] != pair[1] else (repr(negative), repr(positive))


def distinct(found: npt.NDArray[Any]) -> list[str]:
    """More than two classes as different strings, also for the strings "1" and "1.0", which are the same number."""
    names = [group(label) for label in found]
    values = {float(name) if _is_number(name) else name for name in names}
    return names if len(values) == len(names) else [repr(label) for label in found.tolist()]


def warn_about_few(
    target: Coded, weights: npt.NDArray[np.float64] | None, estimator: str, stacklevel: int
) -> None:
    """Warn about classes with few rows, if there are more than two classes."""
    if len(target.classes) == 2:
        return
    counts = np.bincount(target.codes if weights is None else target.codes[weights > 0], minlength=len(target.names))
    few = [f"{target.names[i]!r} ({counts[i]})" for i in np.flatnonzero(counts < FEW_ROWS)]
    if few:
        shown = ", ".join(few[:6]) + (", …" if len(few) > 6 else "")
        advice = f"; if y is a number, {_numbers_advice(estimator)}" if target.classes.dtype.kind in "iuf" else ""
        warnings.warn(
            f"some classes of y have fewer than {FEW_ROWS} rows: {shown}; models learn little about them, so merge them"
            f" with other classes, or remove their rows{advice}",
            FairFrontWarning,
            stacklevel=stacklevel,
        )
