"""Scores of predictions against labels, with numpy alone."""

from __future__ import annotations

import warnings
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
        raise ValueError("y_true and y_pred hold texts and numbers: no label of one is a label of the other")
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


def accuracy_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the share of the rows that are predicted right.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of any values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The share, between 0 and 1.

    Examples
    --------
    >>> from fairfront.metrics import accuracy_score
    >>> accuracy_score([1, 1, 0, 0], [1, 1, 1, 0])
    0.75
    """
    true, pred = labelled(y_true, y_pred)
    _some(len(true))
    return float(np.average(true == pred, weights=weights(sample_weight, len(true))))


def zero_one_loss(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the share of the rows that are predicted wrong.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of any values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The share, between 0 and 1.

    Examples
    --------
    >>> from fairfront.metrics import zero_one_loss
    >>> zero_one_loss([1, 1, 0, 0], [1, 1, 1, 0])
    0.25
    """
    return 1.0 - accuracy_score(y_true, y_pred, sample_weight=sample_weight)


def balanced_accuracy_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the mean, over the labels that occur, of the share of their rows predicted right.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of any values.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean, between 0 and 1; labels without weight do not count.

    Examples
    --------
    >>> from fairfront.metrics import balanced_accuracy_score
    >>> balanced_accuracy_score([1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 0])
    0.75
    """
    true, pred = labelled(y_true, y_pred)
    _some(len(true))
    weight = weights(sample_weight, len(true))
    shares = []
    for label in _labels(true):
        total = weight[true == label].sum()
        if total != 0:
            shares.append(weight[(true == label) & (pred == label)].sum() / total)
    return float(np.mean(shares)) if shares else float("nan")


def _ill_defined(what: str, value: float) -> float:
    warnings.warn(f"{what}; {value} is given instead", UserWarning, stacklevel=3)
    return value


def precision_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Find the share of the rows predicted positive that are positive.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    pos_label : scalar, default=1
        The positive value.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The share; 0, with a warning, where no row is predicted positive.

    Examples
    --------
    >>> from fairfront.metrics import precision_score
    >>> precision_score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    if weight[pred].sum() == 0:
        return _ill_defined("no row is predicted positive, so precision is not defined", 0.0)
    return _rate(true, pred, weight)


def recall_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Find the share of the positive rows that are predicted positive.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    pos_label : scalar, default=1
        The positive value.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The share; 0, with a warning, where no row is positive.

    Examples
    --------
    >>> from fairfront.metrics import recall_score
    >>> recall_score([1, 1, 1, 1], [1, 0, 1, 1])
    0.75
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    if weight[true].sum() == 0:
        return _ill_defined("no row is positive, so recall is not defined", 0.0)
    return _rate(pred, true, weight)


def f1_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Find the harmonic mean of precision and recall.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, of two values.
    pos_label : scalar, default=1
        The positive value.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean; 0, with a warning, where no row is or is predicted positive.

    Examples
    --------
    >>> from fairfront.metrics import f1_score
    >>> f1_score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    true, pred, weight = _binary(y_true, y_pred, sample_weight, pos_label)
    total = weight[true].sum() + weight[pred].sum()
    if total == 0:
        return _ill_defined("no row is or is predicted positive, so F1 is not defined", 0.0)
    return float(2.0 * weight[true & pred].sum() / total)


def _upper_label(true: NDArray[Any]) -> tuple[list[Any], NDArray[np.bool_]]:
    """Find the labels, and which rows have the larger of two."""
    labels = sorted(_labels(true))
    if len(labels) > 2:
        raise ValueError(f"labels must be binary, found {len(labels)} of them")
    return labels, np.asarray(true == labels[-1])


def roc_auc_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the area under the ROC curve of scores.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, of two values; the larger is positive.
    y_pred : array-like of shape (n_rows,)
        Scores: the higher, the more likely positive.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The area, between 0 and 1; NaN, with a warning, where only one label occurs.

    Examples
    --------
    >>> from fairfront.metrics import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    0.75
    """
    true, score = columns(y_true, y_pred)
    _some(len(true))
    labels, positive = _upper_label(true)
    if len(labels) < 2:
        return _ill_defined("only one label occurs, so the ROC curve is not defined", float("nan"))
    weight = weights(sample_weight, len(true))
    order = np.argsort(-score.astype(float), kind="stable")
    score, positive, weight = score[order], positive[order], weight[order]
    last = np.append(np.flatnonzero(np.diff(score.astype(float))), len(score) - 1)
    hits = np.append(0.0, np.cumsum(weight * positive)[last])
    misses = np.append(0.0, np.cumsum(weight * ~positive)[last])
    area = np.sum(np.diff(misses) * (hits[1:] + hits[:-1]) / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(area / (hits[-1] * misses[-1]))


def log_loss(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the mean negative logarithm of the probabilities given to the labels.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, of two values, both of which have to occur.
    y_pred : array-like of shape (n_rows,)
        Probabilities of the larger label.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean, at least 0.

    Examples
    --------
    >>> from fairfront.metrics import log_loss
    >>> round(log_loss([0, 1], [0.5, 0.5]), 4)
    0.6931
    """
    true, probability = columns(y_true, y_pred)
    _some(len(true))
    labels, positive = _upper_label(true)
    if len(labels) < 2:
        raise ValueError(f"y_true holds one label only ({labels[0]!r}), so log loss is not defined")
    probability = probability.astype(np.result_type(probability.dtype, np.float32))
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("y_pred must be probabilities, found values outside [0, 1]")
    least = np.finfo(probability.dtype).eps
    given = np.clip(np.where(positive, probability, 1 - probability), least, 1 - least)
    return float(np.average(-np.log(given), weights=weights(sample_weight, len(true))))


def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the mean distance of predictions and numbers.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Numbers and their predictions.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean, at least 0.

    Examples
    --------
    >>> from fairfront.metrics import mean_absolute_error
    >>> mean_absolute_error([1, 2], [1, 5])
    1.5
    """
    true, pred = columns(y_true, y_pred)
    _some(len(true))
    off = np.abs(true.astype(float) - pred.astype(float))
    return float(np.average(off, weights=weights(sample_weight, len(true))))


def mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the mean squared distance of predictions and numbers.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Numbers and their predictions.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        The mean, at least 0.

    Examples
    --------
    >>> from fairfront.metrics import mean_squared_error
    >>> mean_squared_error([1, 2], [1, 5])
    4.5
    """
    true, pred = columns(y_true, y_pred)
    _some(len(true))
    off = (true.astype(float) - pred.astype(float)) ** 2
    return float(np.average(off, weights=weights(sample_weight, len(true))))


def r2_score(y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Find the share of the variance that predictions explain.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Numbers and their predictions.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        At most 1; NaN, with a warning, of one row. Of equal numbers 1 where all are predicted right, else 0.

    Examples
    --------
    >>> from fairfront.metrics import r2_score
    >>> r2_score([1, 2, 3], [1, 2, 2])
    0.5
    """
    true, pred = (a.astype(float) for a in columns(y_true, y_pred))
    _some(len(true))
    if len(true) < 2:
        return _ill_defined("one row has no variance, so R² is not defined", float("nan"))
    weight = weights(sample_weight, len(true))
    left = float(np.sum(weight * (true - pred) ** 2))
    total = float(np.sum(weight * (true - np.average(true, weights=weight)) ** 2))
    if total == 0:
        return 1.0 if left == 0 else 0.0
    return 1.0 - left / total
