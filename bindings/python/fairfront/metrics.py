"""Metrics of groups with fairlearn's names and values, with numpy alone.

There are rates (:func:`selection_rate`, :func:`true_positive_rate`, …), what sets groups apart
(:func:`demographic_parity_difference`, :func:`equalized_odds_ratio`, …), the same for any metric
(:func:`make_derived_metric`, and what is made with it: ``accuracy_score_difference``, …), and
:class:`MetricFrame` for several metrics, features and control features at once. The scores that
fairlearn takes from scikit-learn (:func:`accuracy_score`, …) are here too, for two labels.

Not there: confidence intervals by bootstrap (``n_boot``, ``ci_quantiles`` and the ``…_ci`` results of a
``MetricFrame``) and plots (``plot_model_comparison``, ``plot_roc_curve_by_group``).

Examples
--------
>>> from fairfront.metrics import demographic_parity_difference
>>> demographic_parity_difference([1, 1, 0, 0], [1, 1, 1, 0], sensitive_features=["a", "a", "b", "b"])
0.5
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fairfront._metric_frame import Method, MetricFrame
from fairfront._scores import (
    accuracy_score,
    balanced_accuracy_score,
    count,
    f1_score,
    false_negative_rate,
    false_positive_rate,
    log_loss,
    mean_absolute_error,
    mean_prediction,
    mean_squared_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
    zero_one_loss,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "MetricFrame",
    "accuracy_score",
    "accuracy_score_difference",
    "accuracy_score_group_min",
    "accuracy_score_ratio",
    "balanced_accuracy_score",
    "balanced_accuracy_score_group_min",
    "count",
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "f1_score",
    "f1_score_group_min",
    "false_negative_rate",
    "false_negative_rate_difference",
    "false_negative_rate_ratio",
    "false_positive_rate",
    "false_positive_rate_difference",
    "false_positive_rate_ratio",
    "log_loss",
    "log_loss_group_max",
    "make_derived_metric",
    "mean_absolute_error",
    "mean_absolute_error_group_max",
    "mean_prediction",
    "mean_squared_error",
    "mean_squared_error_group_max",
    "precision_score",
    "precision_score_group_min",
    "r2_score",
    "r2_score_group_min",
    "recall_score",
    "recall_score_group_min",
    "roc_auc_score",
    "roc_auc_score_group_min",
    "selection_rate",
    "selection_rate_difference",
    "selection_rate_ratio",
    "true_negative_rate",
    "true_negative_rate_difference",
    "true_negative_rate_ratio",
    "true_positive_rate",
    "true_positive_rate_difference",
    "true_positive_rate_ratio",
    "zero_one_loss",
    "zero_one_loss_difference",
    "zero_one_loss_group_max",
    "zero_one_loss_ratio",
]

Transform = Literal["difference", "ratio", "group_min", "group_max"]
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
    """Find what sets groups apart, in each metric."""
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
    """Find the largest difference of selection rates.

    It is ``max_g r_g - min_g r_g`` for the rates ``r_g`` of the groups; to the rate ``r`` of all rows,
    ``max_g |r_g - r|``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels, which take no part, and predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        0 where all groups have the same rate.

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
    """Find the smallest ratio of selection rates.

    It is ``min_g r_g / max_g r_g`` for the rates ``r_g`` of the groups; to the rate ``r`` of all rows,
    ``min_g min(r_g / r, r / r_g)``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels, which take no part, and predictions; 1 is positive.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        1 where all groups have the same rate, NaN where all rates are 0.

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
    """Find the largest difference of true positive rates.

    It is ``max_g t_g - min_g t_g`` for the rates ``t_g`` of the groups; to the rate ``t`` of all rows,
    ``max_g |t_g - t|``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, from {0, 1} or {-1, 1}.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        0 where all groups have the same rate; a group without positive rows has the rate 0.

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
    """Find the smallest ratio of true positive rates.

    It is ``min_g t_g / max_g t_g`` for the rates ``t_g`` of the groups; to the rate ``t`` of all rows,
    ``min_g min(t_g / t, t / t_g)``.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, from {0, 1} or {-1, 1}.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.

    Returns
    -------
    float
        1 where all groups have the same rate, NaN where all rates are 0; a group without positive rows has the
        rate 0.

    Examples
    --------
    >>> from fairfront.metrics import equal_opportunity_ratio
    >>> equal_opportunity_ratio([1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=[0, 0, 1, 1])
    0.5
    """
    metrics: dict[str, Callable[..., float]] = {"tpr": true_positive_rate}
    return _apart(metrics, "ratio", y_true, y_pred, sensitive_features, method, sample_weight)[0]


def _mean_of(both: list[float]) -> float:
    """Find the mean of those that are numbers."""
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
    """Find the largest differences of true and of false positive rates, as one number.

    It is ``max(T, F)`` or ``(T + F) / 2``: `T` is the :func:`equal_opportunity_difference`, `F` the same for
    false positive rates.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, from {0, 1} or {-1, 1}.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    agg : {"worst_case", "mean"}, default="worst_case"
        Whether the worse of the two or their mean is returned.

    Returns
    -------
    float
        0 where all groups have the same rates.

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
    """Find the smallest ratios of true and of false positive rates, as one number.

    It is ``min(T, F)`` or ``(T + F) / 2``: `T` is the :func:`equal_opportunity_ratio`, `F` the same for
    false positive rates.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_rows,)
        Labels and predictions, from {0, 1} or {-1, 1}.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row.
    method : {"between_groups", "to_overall"}, default="between_groups"
        Whether groups are compared with each other or with all rows.
    sample_weight : array-like of shape (n_rows,), optional
        A weight for each row.
    agg : {"worst_case", "mean"}, default="worst_case"
        Whether the worse of the two or their mean is returned.

    Returns
    -------
    float
        1 where all groups have the same rates. A ratio of rates that are all 0 is NaN, and no part of the mean.

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


# What a derived metric gives, in words and as a formula of the values m_g of the groups.
_GIVES = {
    "difference": ("the largest difference of `{}` between groups", "max_g m_g - min_g m_g"),
    "ratio": ("the smallest ratio of `{}` between groups", "min_g m_g / max_g m_g"),
    "group_min": ("the smallest `{}` of any group", "min_g m_g"),
    "group_max": ("the largest `{}` of any group", "max_g m_g"),
}


def _derived_doc(metric: Callable[..., Any], transform: Transform, sample_param_names: Sequence[str]) -> str:
    """Write the docstring of a derived metric."""
    name = getattr(metric, "__name__", "metric")
    what, formula = _GIVES[transform]
    try:
        taken = list(inspect.signature(metric).parameters.values())[2:]
    except (TypeError, ValueError):
        taken = []
    own = [param.name for param in taken if param.kind not in (param.VAR_POSITIONAL, param.VAR_KEYWORD)]
    further = [f"`{param}`, one value a row" if param in sample_param_names else f"`{param}`" for param in own]
    compared = transform in ("difference", "ratio")
    lines = [f"Arguments of `{name}`{': ' if further else ''}{'; '.join(further)}."]
    if compared:
        lines.append('And `method`, {"between_groups", "to_overall"}, by default "between_groups": whether groups are')
        lines.append("compared with each other or with all rows.")
    said = "\n    ".join(lines)
    return f"""Find {what.format(name)}.

It is ``{formula}`` for the values ``m_g`` of the groups{", compared with each other" if compared else ""}.

Parameters
----------
y_true, y_pred : array-like of shape (n_rows,)
    Labels and predictions, as `{name}` takes them.
sensitive_features : array-like, Series, DataFrame or dict
    The group of each row.
**params : object
    {said}

Returns
-------
float
    The number; NaN does not count, and is given where there is nothing else.
"""


class _Derived:
    """A metric of groups as one number."""

    def __init__(
        self,
        metric: Callable[..., Any],
        transform: Transform,
        sample_param_names: Sequence[str] = ("sample_weight",),
    ) -> None:
        self.metric, self.transform = metric, transform
        self.sample_param_names = tuple(sample_param_names)
        self.__name__ = f"{getattr(metric, '__name__', 'metric')}_{transform}"
        self.__doc__ = _derived_doc(metric, transform, self.sample_param_names)

    def __repr__(self) -> str:
        return f"<metric {self.__name__}>"

    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike, *, sensitive_features: Any, **params: Any) -> Any:
        method = {"method": params.pop("method")} if "method" in params else {}
        samples = {name: params.pop(name) for name in self.sample_param_names if name in params}
        frame = MetricFrame(
            metrics=functools.partial(self.metric, **params),
            y_true=y_true,
            y_pred=y_pred,
            sensitive_features=sensitive_features,
            sample_params=samples,
        )
        if self.transform in ("difference", "ratio"):
            return getattr(frame, self.transform)(**method)
        return getattr(frame, self.transform)()


def make_derived_metric(
    *,
    metric: Callable[..., Any],
    transform: Transform,
    sample_param_names: Sequence[str] | None = ("sample_weight",),
) -> Callable[..., Any]:
    """Make a function that gives one number for a metric of groups.

    Parameters
    ----------
    metric : callable
        A function of labels, predictions and further arguments.
    transform : {"difference", "ratio", "group_min", "group_max"}
        Which number, by the method of :class:`MetricFrame`.
    sample_param_names : sequence of str, default=("sample_weight",)
        Arguments of the metric with one value a row.

    Returns
    -------
    callable
        It takes the metric's arguments and `sensitive_features`, and `method` for differences and
        ratios.

    Examples
    --------
    >>> from fairfront.metrics import accuracy_score, make_derived_metric
    >>> worst = make_derived_metric(metric=accuracy_score, transform="group_min")
    >>> float(worst([1, 1, 0, 0], [1, 1, 1, 0], sensitive_features=["a", "a", "b", "b"]))
    0.5
    """
    if not callable(metric):
        raise ValueError(f"metric must be callable, found {metric!r}")
    if transform not in ("difference", "ratio", "group_min", "group_max"):
        raise ValueError(f"transform must be 'difference', 'ratio', 'group_min' or 'group_max', not {transform!r}")
    if "method" in inspect.signature(metric).parameters:
        raise ValueError("metric has an argument 'method' of its own; fix it by functools.partial")
    names = ("sample_weight",) if sample_param_names is None else sample_param_names
    return _Derived(metric, transform, names)


true_positive_rate_difference = _Derived(true_positive_rate, "difference")
true_positive_rate_ratio = _Derived(true_positive_rate, "ratio")
true_negative_rate_difference = _Derived(true_negative_rate, "difference")
true_negative_rate_ratio = _Derived(true_negative_rate, "ratio")
false_positive_rate_difference = _Derived(false_positive_rate, "difference")
false_positive_rate_ratio = _Derived(false_positive_rate, "ratio")
false_negative_rate_difference = _Derived(false_negative_rate, "difference")
false_negative_rate_ratio = _Derived(false_negative_rate, "ratio")
selection_rate_difference = _Derived(selection_rate, "difference")
selection_rate_ratio = _Derived(selection_rate, "ratio")
accuracy_score_difference = _Derived(accuracy_score, "difference")
accuracy_score_ratio = _Derived(accuracy_score, "ratio")
accuracy_score_group_min = _Derived(accuracy_score, "group_min")
zero_one_loss_difference = _Derived(zero_one_loss, "difference")
zero_one_loss_ratio = _Derived(zero_one_loss, "ratio")
zero_one_loss_group_max = _Derived(zero_one_loss, "group_max")
balanced_accuracy_score_group_min = _Derived(balanced_accuracy_score, "group_min")
precision_score_group_min = _Derived(precision_score, "group_min")
recall_score_group_min = _Derived(recall_score, "group_min")
roc_auc_score_group_min = _Derived(roc_auc_score, "group_min")
mean_absolute_error_group_max = _Derived(mean_absolute_error, "group_max")
mean_squared_error_group_max = _Derived(mean_squared_error, "group_max")
r2_score_group_min = _Derived(r2_score, "group_min")
f1_score_group_min = _Derived(f1_score, "group_min")
log_loss_group_max = _Derived(log_loss, "group_max")
