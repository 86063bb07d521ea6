"""Rates of predictions and labels; needs only numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Convert to a one-dimensional array; dimensions of length 1 are ignored."""
    array: NDArray[Any] = np.asarray(values)
    array = array.reshape(-1) if array.size <= 1 else np.squeeze(array)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, found shape {array.shape}")
    return array


def columns(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Convert labels and predictions, which must have the same length."""
    true, pred = column(y_true, "y_true"), column(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(f"y_true and y_pred must be of the same length, found {len(true)} and {len(pred)}")
    return true, pred


def labelled(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Convert labels and predicted labels, which must have the same kind of values."""
    true, pred = columns(y_true, y_pred)
    strings = [array.dtype.kind in "US" for array in (true, pred)]
    numbers = [array.dtype.kind in "biuf" for array in (true, pred)]
    if any(strings) and any(numbers):
        raise ValueError("y_true and y_pred mix strings and numbers; use one type for both")
    return true, pred


def weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Convert weights, one per row; by default, all are 1."""
    if sample_weight is None:
        return np.ones(n)
    made = column(sample_weight, "sample_weight").astype(float)
    if len(made) != n:
        raise ValueError(f"sample_weight must have one value per row, found {len(made)} for {n} rows")
    if not np.isfinite(made).all():
        raise ValueError("sample_weight must be finite, found NaN or infinity")
    return made


def _labels(*arrays: NDArray[Any]) -> set[Any]:
    """The distinct labels."""
    found: set[Any] = set()
    for array in arrays:
        found.update(array.tolist() if array.dtype.kind == "O" else np.unique(array).tolist())
    if any(label is None or label != label for label in found):
        raise ValueError("labels must not be missing, found NaN or None")
    return found


def _some(n: int) -> None:
    if n == 0:
        raise ValueError("no rows: y_true and y_pred are empty; pass at least one row")


def _binary(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Masks of positive labels and positive predictions, and the weights."""
    true, pred = labelled(y_true, y_pred)
    _some(len(true))
    labels = _labels(true, pred)
    if pos_label is None:
        if not (labels <= {0, 1} or labels <= {-1, 1}):
            raise ValueError(
                "without pos_label, labels must be from {0, 1} or {-1, 1}, "
                f"found {_listed(labels)}; set pos_label to the positive one"
            )
        pos_label = 1
    if len(labels) > 2:
        raise ValueError(f"labels must be binary, found {len(labels)} different labels: {_listed(labels)}")
    if len(labels) == 2 and pos_label not in labels:
        raise ValueError(f"pos_label {pos_label!r} is not one of the labels {_listed(labels)}; choose one of these")
    made = weights(sample_weight, len(true))
    if not made.any():
        raise ValueError("sample_weight is 0 in every row; pass at least one positive weight")
    return np.asarray(true == pos_label), np.asarray(pred == pos_label), made


def _listed(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")


def _rate(part: NDArray[np.bool_], whole: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """The weighted share of ``whole`` that is also in ``part``; 0 if ``whole`` is empty."""
    total = weight[whole].sum()
    return float(weight[part & whole].sum() / total) if total != 0 else 0.0


def true_positive_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Compute the share of positive rows that are predicted positive.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, with at most two values.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    pos_label : scalar, default=None
        The positive value. By default, 1; all values must then be from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 if no row is positive.

    Examples
    --------
    >>> from fairfront.metrics import true_positive_rate
    >>> true_positive_rate([1, 1, 0, 0], [1, 0, 0, 1])
    0.5
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    return _rate(pred, true, weight)


def false_negative_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Compute the share of positive rows that are predicted negative.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, with at most two values.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    pos_label : scalar, default=None
        The positive value. By default, 1; all values must then be from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 if no row is positive.

    Examples
    --------
    >>> from fairfront.metrics import false_negative_rate
    >>> false_negative_rate([1, 1, 1, 1, 0], [1, 0, 1, 1, 0])
    0.25
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    return _rate(~pred, true, weight)


def false_positive_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Compute the share of negative rows that are predicted positive.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, with at most two values.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    pos_label : scalar, default=None
        The positive value. By default, 1; all values must then be from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 if no row is negative.

    Examples
    --------
    >>> from fairfront.metrics import false_positive_rate
    >>> false_positive_rate([0, 0, 0, 0, 1], [1, 0, 0, 0, 1])
    0.25
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    return _rate(pred, ~true, weight)


def true_negative_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Compute the share of negative rows that are predicted negative.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, with at most two values.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    pos_label : scalar, default=None
        The positive value. By default, 1; all values must then be from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 if no row is negative.

    Examples
    --------
    >>> from fairfront.metrics import true_negative_rate
    >>> true_negative_rate([0, 0, 0, 0, 1], [1, 0, 0, 0, 1])
    0.75
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    return _rate(~pred, ~true, weight)


def count(y_true: ArrayLike, y_pred: ArrayLike) -> int:
    """Count the rows.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, whose values are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions, whose values are not used.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> from fairfront.metrics import count
    >>> count([1, 0, 1], [1, 1, 1])
    3
    """
    return len(columns(y_true, y_pred)[0])


def _mean(values: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """The weighted mean; NaN if the weights sum to 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.dot(values, weight) / weight.sum())


def mean_prediction(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the weighted mean of the predictions.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used; all metrics have this parameter.
    y_pred : array-like of shape (n_rows,)
        The predictions, as numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The mean; NaN if the weights sum to 0.

    Examples
    --------
    >>> from fairfront.metrics import mean_prediction
    >>> mean_prediction([0, 0], [0.25, 0.75], [1, 3])
    0.625
    """
    pred = column(y_pred, "y_pred")
    return _mean(pred, weights(sample_weight, len(pred)))


def selection_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the share of rows that are predicted positive.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used; all metrics have this parameter.
    y_pred : array-like of shape (n_rows,)
        The predictions.
    pos_label : scalar, default=1
        The positive value.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The rate; NaN if the weights sum to 0.

    Examples
    --------
    >>> from fairfront.metrics import selection_rate
    >>> selection_rate([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    """
    pred = column(y_pred, "y_pred")
    _some(len(pred))
    return _mean(np.asarray(pred == pos_label), weights(sample_weight, len(pred)))
