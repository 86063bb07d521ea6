"""Comparisons of groups with a named reference group; needs only numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fairfront._metric_frame import keyed_rows
from fairfront._rates import column, columns, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def _against(
    y_pred: ArrayLike,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None,
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int64], list[NDArray[np.int64]]]:
    """The predictions and weights, and the rows of the reference group and of each other group."""
    pred = column(y_pred, "y_pred")
    weight = weights(sample_weight, len(pred))
    groups = keyed_rows(sensitive_features, len(pred))
    wanted = tuple(reference) if isinstance(reference, (tuple, list)) else (reference,)
    if wanted not in groups:
        shown = [key[0] if len(key) == 1 else key for key in groups]
        raise ValueError(f"reference={reference!r}: sensitive_features has no such group; choose one of {shown}")
    others = [rows for key, rows in groups.items() if key != wanted]
    if not others:
        raise ValueError(f"sensitive_features has no group other than the reference {reference!r}; pass at least two")
    return pred, weight, groups[wanted], others


def _worst(
    size: Callable[[float, float, float], float],
    pick: Callable[[list[float]], float],
    y_pred: ArrayLike,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None,
) -> float:
    """Combine a function of the rates of a group and of the reference group, and of the weight of the group."""
    pred, weight, own, others = _against(y_pred, sensitive_features, reference, sample_weight)
    selected = np.asarray(pred == 1)

    def rate(rows: NDArray[np.int64]) -> float:
        total = weight[rows].sum()
        return float(weight[rows][selected[rows]].sum() / total) if total > 0 else float("nan")

    of_reference = rate(own)
    values = [size(rate(rows), of_reference, float(weight[rows].sum())) for rows in others]
    return float("nan") if any(np.isnan(values)) else float(pick(values))


def adverse_impact_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the smallest ratio of the selection rate of a group to that of the reference group.

    It is ``min_g r_g / r_ref`` over all groups other than the reference group. Unlike
    :func:`demographic_parity_ratio`, it may be above 1.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    reference : label or tuple of labels
        The reference group; for several features, one value of each.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The ratio; 1 if the group has the rate of the reference group, NaN if that rate is 0.

    Examples
    --------
    >>> from fairfront.metrics import adverse_impact_ratio
    >>> groups = ["a", "a", "b", "b", "b", "b"]
    >>> adverse_impact_ratio([0] * 6, [1, 1, 1, 1, 1, 0], sensitive_features=groups, reference="a")
    0.75
    """
    columns(y_true, y_pred)

    def ratio(rate: float, of_reference: float, _: float) -> float:
        return rate / of_reference if of_reference > 0 else float("nan")

    return _worst(ratio, min, y_pred, sensitive_features, reference, sample_weight)


def shortfall(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute how many more rows would have to be selected for all groups to have the rate of the reference group.

    It is ``sum_g max(0, n_g * (r_ref - r_g))`` over all groups other than the reference group.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    reference : label or tuple of labels
        The reference group; for several features, one value of each.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The number of rows, or their weight; 0 if no group has a lower rate than the reference group.

    Examples
    --------
    >>> from fairfront.metrics import shortfall
    >>> groups = ["a", "a", "b", "b", "b", "b"]
    >>> shortfall([0] * 6, [1, 1, 1, 1, 1, 0], sensitive_features=groups, reference="a")
    1.0
    """
    columns(y_true, y_pred)

    def lacking(rate: float, of_reference: float, weight: float) -> float:
        lacks = weight * (of_reference - rate)
        return lacks if np.isnan(lacks) else max(0.0, lacks)

    return _worst(lacking, sum, y_pred, sensitive_features, reference, sample_weight)


def odds_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the smallest ratio of the odds of selection of a group to those of the reference group.

    It is ``min_g o_g / o_ref`` with ``o_g = r_g / (1 - r_g)`` over all groups other than the reference group.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    reference : label or tuple of labels
        The reference group; for several features, one value of each.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The ratio; 1 if the group has the odds of the reference group. Groups of which all rows are selected are
        ignored. NaN if no row of the reference group is selected, or if no other group is left.

    Examples
    --------
    >>> from fairfront.metrics import odds_ratio
    >>> groups = ["a", "a", "b", "b", "b", "b"]
    >>> odds_ratio([0] * 6, [1, 0, 1, 0, 0, 0], sensitive_features=groups, reference="a")
    0.3333333333333333
    """
    columns(y_true, y_pred)

    def ratio(rate: float, of_reference: float, _: float) -> float:
        if of_reference <= 0 or np.isnan(rate) or np.isnan(of_reference):
            return float("nan")
        if rate >= 1:
            return float("inf")
        return rate * (1 - of_reference) / ((1 - rate) * of_reference)

    def smallest(values: list[float]) -> float:
        return min(values) if np.isfinite(min(values)) else float("nan")

    return _worst(ratio, smallest, y_pred, sensitive_features, reference, sample_weight)


def standardized_mean_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    reference: Any,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the standardized difference between the mean scores of a group and of the reference group.

    It is ``(m_g - m_ref) / s`` for the group with the largest absolute value, with the standard deviation ``s`` of the
    scores of all rows, as lenders use it. With probabilities as scores, these are the columns
    ``standardized_mean_difference`` of ``front_``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        Scores, probabilities or predicted numbers.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    reference : label or tuple of labels
        The reference group; for several features, one value of each.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The difference, below 0 if the group has lower scores; NaN if all scores are equal.

    Examples
    --------
    >>> from fairfront.metrics import standardized_mean_difference
    >>> groups = ["a", "a", "b", "b"]
    >>> standardized_mean_difference([0] * 4, [1.0, 3.0, 1.0, 1.0], sensitive_features=groups, reference="a")
    -1.1547005383792517
    """
    columns(y_true, y_pred)
    pred, weight, own, others = _against(y_pred, sensitive_features, reference, sample_weight)
    scores = pred.astype(np.float64)

    def mean(values: NDArray[np.float64], of: NDArray[np.float64]) -> float:
        return float((values * of).sum() / of.sum()) if of.sum() > 0 else float("nan")

    middle = mean(scores, weight)
    deviation = mean((scores - middle) ** 2, weight) ** 0.5
    if not deviation > 1e-12 * abs(middle):
        return float("nan")
    of_reference = mean(scores[own], weight[own])
    values = [(mean(scores[rows], weight[rows]) - of_reference) / deviation for rows in others]
    return float("nan") if any(np.isnan(values)) else max(values, key=abs)


def ks_statistic(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    pos_label: Any = 1,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the Kolmogorov-Smirnov statistic of scores.

    It is the largest difference between the share of negative rows and the share of positive rows with a score of at
    most t, over all t. Pass it to :class:`MetricFrame` for the values of groups.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels.
    y_pred : array-like of shape (n_rows,)
        Scores or probabilities.
    pos_label : scalar, default=1
        The positive label.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The statistic, from 0 to 1; NaN without rows of both labels.

    Examples
    --------
    >>> from fairfront.metrics import ks_statistic
    >>> ks_statistic([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.5
    """
    true, pred = columns(y_true, y_pred)
    weight = weights(sample_weight, len(pred))
    positive = np.asarray(true == pos_label)
    order = np.argsort(pred, kind="stable")
    # The end of each run of equal scores.
    ends = np.append(np.flatnonzero(np.diff(pred[order])), len(pred) - 1)
    shares = []
    for rows in (positive, ~positive):
        total = weight[rows].sum()
        if not total > 0:
            return float("nan")
        shares.append(np.cumsum(np.where(rows, weight, 0.0)[order])[ends] / total)
    return float(min(1.0, np.abs(shares[0] - shares[1]).max()))
