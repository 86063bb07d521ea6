"""Rates of groups and the differences between them, with fairlearn's names and values; needs only numpy.

The module has rates (:func:`selection_rate`, :func:`true_positive_rate`, …), differences and ratios between groups
(:func:`demographic_parity_difference`, :func:`equalized_odds_ratio`, …), and :class:`MetricFrame`, which evaluates any
metric for each group, including those of scikit-learn, with intervals. For predicted numbers, it has scikit-learn's
errors (:func:`mean_absolute_error`, :func:`r2_score`, …) and the differences between groups in means
(:func:`mean_difference`) and in distributions (:func:`distribution_difference`). Groups are compared with a named
reference group by :func:`adverse_impact_ratio`, :func:`shortfall`, :func:`odds_ratio` and
:func:`standardized_mean_difference`.

Examples
--------
>>> from fairfront.metrics import demographic_parity_difference
>>> demographic_parity_difference([1, 1, 0, 0], [1, 1, 1, 0], sensitive_features=["a", "a", "b", "b"])
0.5
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairfront._metric_frame import Method, MetricFrame, rows_of_groups
from fairfront._numbers import (
    largest_distance,
    mean_absolute_error,
    mean_pinball_loss,
    mean_residual,
    mean_squared_error,
    r2_score,
    root_mean_squared_error,
)
from fairfront._rates import (
    count,
    false_negative_rate,
    false_positive_rate,
    mean_prediction,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from fairfront._reference import (
    adverse_impact_ratio,
    ks_statistic,
    odds_ratio,
    shortfall,
    standardized_mean_difference,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "MetricFrame",
    "adverse_impact_ratio",
    "count",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "distribution_difference",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "false_negative_rate",
    "false_positive_rate",
    "ks_statistic",
    "mean_absolute_error",
    "mean_difference",
    "mean_pinball_loss",
    "mean_prediction",
    "mean_residual",
    "mean_squared_error",
    "odds_ratio",
    "r2_score",
    "root_mean_squared_error",
    "selection_rate",
    "shortfall",
    "standardized_mean_difference",
    "true_negative_rate",
    "true_positive_rate",
]

Aggregate = Literal["worst_case", "mean"]


def _apart(
    metrics: dict[str, Callable[..., float]],
    transform: Literal["difference", "ratio"],
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sensitive_features: Any,
    method: Method,
    sample_weight: ArrayLike | None,
) -> list[float]:
    """Compute the difference or ratio between groups, for each metric."""
    frame = MetricFrame(
        metrics=metrics,
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sensitive_features,
        sample_params={name: {"sample_weight": sample_weight} for name in metrics},
    )
    find = frame._differences if transform == "difference" else frame._ratios
    return [float(values[()]) for values in find(method, "coerce").values()]


def demographic_parity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the largest difference between selection rates.

    It is ``max_g r_g - min_g r_g`` for the rates ``r_g`` of the groups. Compared with the rate ``r`` of all rows
    (``"to_overall"``), it is ``max_g |r_g - r|``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The difference; 0 if all groups have the same rate.

    Examples
    --------
    >>> from fairfront.metrics import demographic_parity_difference
    >>> demographic_parity_difference([0, 1, 1, 0], [1, 1, 1, 0], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    metrics: dict[str, Callable[..., float]] = {"rate": selection_rate}
    return _apart(metrics, "difference", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def demographic_parity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the smallest ratio of selection rates.

    It is ``min_g r_g / max_g r_g`` for the rates ``r_g`` of the groups. Compared with the rate ``r`` of all rows
    (``"to_overall"``), it is ``min_g min(r_g / r, r / r_g)``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The ratio; 1 if all groups have the same rate, NaN if all rates are 0.

    Examples
    --------
    >>> from fairfront.metrics import demographic_parity_ratio
    >>> demographic_parity_ratio([0, 1, 1, 0], [1, 1, 1, 0], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    metrics: dict[str, Callable[..., float]] = {"rate": selection_rate}
    return _apart(metrics, "ratio", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def equal_opportunity_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the largest difference between true positive rates.

    It is ``max_g t_g - min_g t_g`` for the rates ``t_g`` of the groups. Compared with the rate ``t`` of all rows
    (``"to_overall"``), it is ``max_g |t_g - t|``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, from {0, 1} or {-1, 1}.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The difference; 0 if all groups have the same rate. The rate of a group without positive rows is 0.

    Examples
    --------
    >>> from fairfront.metrics import equal_opportunity_difference
    >>> equal_opportunity_difference([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    metrics: dict[str, Callable[..., float]] = {"tpr": true_positive_rate}
    return _apart(metrics, "difference", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def equal_opportunity_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the smallest ratio of true positive rates.

    It is ``min_g t_g / max_g t_g`` for the rates ``t_g`` of the groups. Compared with the rate ``t`` of all rows
    (``"to_overall"``), it is ``min_g min(t_g / t, t / t_g)``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, from {0, 1} or {-1, 1}.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The ratio; 1 if all groups have the same rate, NaN if all rates are 0. The rate of a group without positive
        rows is 0.

    Examples
    --------
    >>> from fairfront.metrics import equal_opportunity_ratio
    >>> equal_opportunity_ratio([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    metrics: dict[str, Callable[..., float]] = {"tpr": true_positive_rate}
    return _apart(metrics, "ratio", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def mean_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the largest difference between the mean predictions of groups.

    It is ``max_g m_g - min_g m_g`` for the mean predictions ``m_g`` of the groups. Compared with the mean ``m`` of all
    rows (``"to_overall"``), it is ``max_g |m_g - m|``.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The difference, in the unit of the predictions; 0 if all groups have the same mean.

    Examples
    --------
    >>> from fairfront.metrics import mean_difference
    >>> mean_difference([0, 0, 0, 0], [10, 20, 30, 50], sensitive_features=["a", "a", "b", "b"])
    25.0
    """
    metrics: dict[str, Callable[..., float]] = {"mean": mean_prediction}
    return _apart(metrics, "difference", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def distribution_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the largest distance between the distributions of the predictions of two groups.

    It is the Kolmogorov-Smirnov statistic: the largest difference between the shares of two groups with a prediction of
    at most t, over all pairs of groups and all t. The columns ``distribution_difference`` of ``front_`` use 32
    quantiles of y in the training rows as t, so they are at most as large.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The true numbers, which are not used.
    y_pred : array-like of shape (n_rows,)
        The predicted numbers.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    thresholds : array-like, default=None
        The values of t. By default, all predictions.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.

    Returns
    -------
    float
        The distance, from 0 to 1; 0 if all groups have the same distribution.

    Examples
    --------
    >>> from fairfront.metrics import distribution_difference
    >>> distribution_difference([0, 0, 0, 0], [1, 2, 2, 3], sensitive_features=["a", "a", "b", "b"])
    0.5
    """
    rows = rows_of_groups(sensitive_features, len(np.asarray(y_pred)))
    return largest_distance(y_true, y_pred, sample_weight, rows, thresholds)


def _mean_of(both: list[float]) -> float:
    """The mean of the values that are not NaN."""
    there = [value for value in both if value == value]
    return sum(there) / len(there) if there else float("nan")


def _check_aggregate(agg: str) -> None:
    if agg not in ("worst_case", "mean"):
        raise ValueError(f"agg must be 'worst_case' or 'mean', not {agg!r}")


def equalized_odds_difference(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
    agg: Aggregate = "worst_case",
) -> float:
    """Compute the largest differences between true and between false positive rates, as one number.

    It is ``max(T, F)`` or ``(T + F) / 2``, where ``T`` is the :func:`equal_opportunity_difference` and ``F`` is the
    same for false positive rates.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, from {0, 1} or {-1, 1}.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    agg : {"worst_case", "mean"}, default="worst_case"
        Whether to return the worse of the two values or their mean.

    Returns
    -------
    float
        The difference; 0 if all groups have the same rates.

    Examples
    --------
    >>> from fairfront.metrics import equalized_odds_difference
    >>> equalized_odds_difference([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    _check_aggregate(agg)
    metrics = {"tpr": true_positive_rate, "fpr": false_positive_rate}
    both = _apart(metrics, "difference", y_true, y_pred, sensitive_features, method, sample_weight)
    return max(both) if agg == "worst_case" else _mean_of(both)


def equalized_odds_ratio(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sensitive_features: Any,
    method: Method = "between_groups",
    sample_weight: ArrayLike | None = None,
    agg: Aggregate = "worst_case",
) -> float:
    """Compute the smallest ratios of true and of false positive rates, as one number.

    It is ``min(T, F)`` or ``(T + F) / 2``, where ``T`` is the :func:`equal_opportunity_ratio` and ``F`` is the same
    for false positive rates.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The labels, from {0, 1} or {-1, 1}.
    y_pred : array-like of shape (n_rows,)
        The predictions, from the same values.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether to compare groups with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row. By default, all weights are 1.
    agg : {"worst_case", "mean"}, default="worst_case"
        Whether to return the worse of the two values or their mean.

    Returns
    -------
    float
        The ratio; 1 if all groups have the same rates. A ratio of rates that are all 0 is NaN, and the mean ignores it.

    Examples
    --------
    >>> from fairfront.metrics import equalized_odds_ratio
    >>> equalized_odds_ratio([1, 1, 0, 1, 0, 0], [1, 0, 1, 1, 1, 1], sensitive_features=[0, 0, 0, 1, 1, 1])
    0.5
    """
    _check_aggregate(agg)
    metrics = {"tpr": true_positive_rate, "fpr": false_positive_rate}
    both = _apart(metrics, "ratio", y_true, y_pred, sensitive_features, method, sample_weight)
    return min(both) if agg == "worst_case" else _mean_of(both)
