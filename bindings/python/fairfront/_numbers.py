"""Errors and means of predicted numbers; needs only numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairfront._rates import columns, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    _Floats = NDArray[np.float64]


def _numbers(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[_Floats, _Floats, _Floats]:
    """True and predicted numbers, and the weights, of at least one row."""
    found: list[_Floats] = []
    for name, values in zip(("y_true", "y_pred"), columns(y_true, y_pred), strict=True):
        try:
            made = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must contain numbers: {error}") from error
        if not np.isfinite(made).all():
            raise ValueError(f"{name} must be finite, found NaN or infinity")
        found.append(made)
    true, pred = found
    if len(true) == 0:
        raise ValueError("no rows: y_true and y_pred are empty; pass at least one row")
    made = weights(sample_weight, len(true))
    if not made.any():
        raise ValueError("sample_weight is 0 in every row; pass at least one positive weight")
    return true, pred, made


def mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the mean of the squared errors.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The mean squared error, as scikit-learn defines it.

    Examples
    --------
    >>> from fairfront.metrics import mean_squared_error
    >>> mean_squared_error([1, 2, 3], [1, 2, 6])
    3.0
    """
    true, pred, weight = _numbers(y_true, y_pred, sample_weight)
    return float(np.average((pred - true) ** 2, weights=weight))


def root_mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the root of the mean squared error; the columns ``rmse`` of ``front_`` contain it.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The root mean squared error, in the unit of the numbers.

    Examples
    --------
    >>> from fairfront.metrics import root_mean_squared_error
    >>> root_mean_squared_error([1, 2, 3, 4], [1, 2, 3, 8])
    2.0
    """
    return float(np.sqrt(mean_squared_error(y_true, y_pred, sample_weight)))


def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the mean of the absolute errors; the columns ``mae`` of ``front_`` contain it.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The mean absolute error, in the unit of the numbers.

    Examples
    --------
    >>> from fairfront.metrics import mean_absolute_error
    >>> mean_absolute_error([1, 2, 3, 4], [1, 2, 3, 8])
    1.0
    """
    true, pred, weight = _numbers(y_true, y_pred, sample_weight)
    return float(np.average(np.abs(pred - true), weights=weight))


def mean_pinball_loss(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, alpha: float = 0.5
) -> float:
    """Compute the mean pinball loss, which the quantile ``alpha`` of y minimizes.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    alpha : float, default=0.5
        The quantile, from 0 to 1: errors count ``alpha`` times if y is larger than predicted, and ``1 - alpha`` times
        otherwise.

    Returns
    -------
    float
        The mean pinball loss, as scikit-learn defines it.

    Examples
    --------
    >>> from fairfront.metrics import mean_pinball_loss
    >>> mean_pinball_loss([1, 2], [0, 4], alpha=0.75)
    0.625
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha={alpha!r}: expected a number from 0 to 1")
    true, pred, weight = _numbers(y_true, y_pred, sample_weight)
    residual = true - pred
    return float(np.average(np.maximum(alpha * residual, (alpha - 1) * residual), weights=weight))


def r2_score(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the coefficient of determination; the columns ``r2`` of ``front_`` contain it.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        1 minus the mean squared error divided by the variance of ``y_true``. If ``y_true`` is constant, 1 for perfect
        predictions and 0 otherwise, as in scikit-learn.

    Examples
    --------
    >>> from fairfront.metrics import r2_score
    >>> r2_score([1, 2, 3, 4], [1, 2, 3, 3])
    0.8
    """
    true, pred, weight = _numbers(y_true, y_pred, sample_weight)
    error = np.average((pred - true) ** 2, weights=weight)
    variance = np.average((true - np.average(true, weights=weight)) ** 2, weights=weight)
    if variance == 0:
        return float(error == 0)
    return float(1 - error / variance)


def mean_residual(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Compute the mean of y minus its prediction; above 0 if predictions are too low on average.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The mean residual, in the unit of the numbers.

    Examples
    --------
    >>> from fairfront.metrics import mean_residual
    >>> mean_residual([1, 2, 3], [0, 2, 1])
    1.0
    """
    true, pred, weight = _numbers(y_true, y_pred, sample_weight)
    return float(np.average(true - pred, weights=weight))


def largest_distance(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: list[NDArray[np.int64]],
    thresholds: ArrayLike | None,
) -> float:
    """The largest difference between groups in the share of predictions of at most a threshold.

    Groups without weight do not count.
    """
    _, pred, weight = _numbers(y_true, y_pred, sample_weight)
    at = np.unique(pred) if thresholds is None else np.asarray(thresholds, dtype=np.float64).ravel()
    shares = []
    for rows in groups:
        rows = rows[np.argsort(pred[rows], kind="stable")]
        total = np.concatenate([[0.0], np.cumsum(weight[rows])])
        if total[-1] > 0:
            shares.append(total[np.searchsorted(pred[rows], at, side="right")] / total[-1])
    return float(np.ptp(shares, axis=0).max())
