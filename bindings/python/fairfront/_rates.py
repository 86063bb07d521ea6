"""Rates of predictions against labels, with numpy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Make a one-dimensional array; dimensions of length 1 do not count."""
    array: NDArray[Any] = np.asarray(values)
    array = array.reshape(-1) if array.size <= 1 else np.squeeze(array)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, found shape {array.shape}")
    return array


def columns(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make labels and predictions that are as long as each other."""
    true, pred = column(y_true, "y_true"), column(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(f"y_true and y_pred must be of the same length, found {len(true)} and {len(pred)}")
    return true, pred


def labelled(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make labels and predicted labels, which have to be of one kind."""
    true, pred = columns(y_true, y_pred)
    texts = [array.dtype.kind in "US" for array in (true, pred)]
    numbers = [array.dtype.kind in "biuf" for array in (true, pred)]
    if any(texts) and any(numbers):
        raise ValueError("y_true and y_pred mix strings and numbers; use one type for both")
    return true, pred


def weights(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Make one weight a row, all 1 unless given."""
    if sample_weight is None:
        return np.ones(n)
    made = column(sample_weight, "sample_weight").astype(float)
    if len(made) != n:
        raise ValueError(f"sample_weight must hold one value a row, found {len(made)} for {n} rows")
    if not np.isfinite(made).all():
        raise ValueError("sample_weight must be finite, found NaN or infinity")
    return made


def _labels(*arrays: NDArray[Any]) -> set[Any]:
    """Find the values that occur."""
    found: set[Any] = set()
    for array in arrays:
        found.update(array.tolist() if array.dtype.kind == "O" else np.unique(array).tolist())
    if any(label is None or label != label for label in found):
        raise ValueError("labels must not be missing, found NaN or None")
    return found


def _some(n: int) -> None:
    if n == 0:
        raise ValueError("no rows: y_true and y_pred are empty")


def _binary(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Find which labels and which predictions are positive, and the weights."""
    true, pred = labelled(y_true, y_pred)
    _some(len(true))
    labels = _labels(true, pred)
    if pos_label is None:
        if not (labels <= {0, 1} or labels <= {-1, 1}):
            raise ValueError(
                "without pos_label, labels must be from {0, 1} or {-1, 1}, "
                f"found {_listed(labels)}; say which one is positive with pos_label"
            )
        pos_label = 1
    if len(labels) > 2:
        raise ValueError(f"labels must be binary, found {len(labels)} of them: {_listed(labels)}")
    if len(labels) == 2 and pos_label not in labels:
        raise ValueError(f"pos_label {pos_label!r} is none of the labels {_listed(labels)}")
    made = weights(sample_weight, len(true))
    if not made.any():
        raise ValueError("sample_weight is 0 in every row")
    return np.asarray(true == pos_label), np.asarray(pred == pos_label), made


def _listed(labels: set[Any]) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")


def _rate(part: NDArray[np.bool_], whole: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """Find a share of some rows; 0 where there are none."""
    total = weight[whole].sum()
    return float(weight[part & whole].sum() / total) if total != 0 else 0.0


def true_positive_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Find the share of the positive rows that are predicted positive.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    pos_label : scalar, optional
        The positive value; 1 unless given, where all values are from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 where no row is positive.

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
    """Find the share of the positive rows that are predicted negative.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    pos_label : scalar, optional
        The positive value; 1 unless given, where all values are from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 where no row is positive.

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
    """Find the share of the negative rows that are predicted positive.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    pos_label : scalar, optional
        The positive value; 1 unless given, where all values are from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 where no row is negative.

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
    """Find the share of the negative rows that are predicted negative.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    pos_label : scalar, optional
        The positive value; 1 unless given, where all values are from {0, 1} or {-1, 1}.

    Returns
    -------
    float
        The rate; 0 where no row is negative.

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
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions; their values do not matter.

    Returns
    -------
    int
        How many there are.

    Examples
    --------
    >>> from fairfront.metrics import count
    >>> count([1, 0, 1], [1, 1, 1])
    3
    """
    return len(columns(y_true, y_pred)[0])


def _mean(values: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """Find a weighted mean; NaN where the weights are 0 together."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.dot(values, weight) / weight.sum())


def mean_prediction(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Find the weighted mean of the predictions.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Takes no part; there so that all metrics are called alike.
    y_pred : array-like of shape (n_rows,)
        Predictions, as numbers.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean; NaN where the weights are 0 together.

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
    """Find the share of the rows that are predicted positive.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Takes no part; there so that all metrics are called alike.
    y_pred : array-like of shape (n_rows,)
        Predictions.
    pos_label : scalar, default=1
        The positive value.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The rate.

    Examples
    --------
    >>> from fairfront.metrics import selection_rate
    >>> selection_rate([1, 1, 0, 0], [1, 0, 0, 0])
    0.25
    """
    pred = column(y_pred, "y_pred")
    _some(len(pred))
    return _mean(np.asarray(pred == pos_label), weights(sample_weight, len(pred)))
