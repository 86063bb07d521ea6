"""Metrics by group, and the differences and ratios between groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from fairfront._rates import column

if TYPE_CHECKING:
    from numpy.typing import NDArray

Method: TypeAlias = Literal["between_groups", "to_overall"]
Errors: TypeAlias = Literal["raise", "coerce"]
Key: TypeAlias = tuple[Any, ...]

_NAN = float("nan")


def _pandas() -> Any:
    """Import pandas; ``None`` if it is not installed."""
    try:
        import pandas
    except ImportError:
        return None
    return pandas


class _Feature:
    """The group of each row."""

    def __init__(self, name: Any, values: Iterable[Any], argument: str, n_rows: int) -> None:
        if not isinstance(name, str):
            raise ValueError(f"{argument}: a name must be a string, found {name!r}; rename the feature")
        rows = list(values)
        if len(rows) != n_rows:
            raise ValueError(f"{argument}: '{name}' must have one value per row, found {len(rows)} for {n_rows} rows")
        if any(_is_missing(value) for value in rows):
            raise ValueError(f"{argument}: '{name}' has missing values; remove or replace them")
        self.name = name
        groups = dict.fromkeys(rows)
        try:
            self.groups = sorted(groups)
        except TypeError:
            # Values of several types cannot be sorted; they stay in the order of the rows.
            self.groups = list(groups)
        codes = {group: code for code, group in enumerate(self.groups)}
        self.codes: NDArray[np.int64] = np.fromiter((codes[v] for v in rows), np.int64, n_rows)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _listed(values: Any) -> list[Any]:
    """Convert a column to a list with Python's numbers."""
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            made = getattr(values, method)()
            return made if isinstance(made, list) else [made]
    return list(values)


def _features(given: Any, argument: str, prefix: str, n_rows: int) -> list[_Feature]:
    """Read features of any accepted type."""
    return [_Feature(name, values, argument, n_rows) for name, values in named_features(given, argument, prefix)]


def named_features(given: Any, argument: str, prefix: str) -> list[tuple[Any, list[Any]]]:
    """Read the names and the values of features of any accepted type."""
    if given is None:
        raise ValueError(f"{argument} is None; pass a list, array, Series, DataFrame or dict")
    named: list[tuple[Any, Any]]
    if isinstance(given, Mapping):
        named = list(given.items())
    elif hasattr(given, "columns") and hasattr(given, "shape"):
        taken = given.iloc if hasattr(given, "iloc") else None
        named = [(name, given[name] if taken is None else taken[:, i]) for i, name in enumerate(given.columns)]
    elif hasattr(given, "name") and hasattr(given, "to_numpy"):
        named = [(f"{prefix}0" if given.name is None else given.name, given)]
    else:
        if isinstance(given, (list, tuple)) and any(
            isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) > 0 for value in given
        ):
            raise ValueError(
                f"{argument}: a list must have one value per row; "
                "pass several features as an array, a DataFrame or a dict"
            )
        array = np.asarray(given, dtype=object)
        array = array.reshape(-1) if array.size <= 1 else np.squeeze(array)
        if array.ndim > 2:
            raise ValueError(f"{argument} must have one or two dimensions, not {array.ndim}")
        parts = [array] if array.ndim == 1 else list(array.T)
        named = [(f"{prefix}{i}", part) for i, part in enumerate(parts)]
    return [(name, _listed(values)) for name, values in named]


def _rows_by_key(features: list[_Feature], drawn: NDArray[np.int64] | None = None) -> dict[Key, NDArray[np.int64]]:
    """The rows of each combination of groups, among all rows or the drawn ones."""
    shape = [len(feature.groups) for feature in features]
    codes = np.ravel_multi_index([feature.codes for feature in features], shape)
    if drawn is not None:
        codes = codes[drawn]
    order = np.argsort(codes, kind="stable")
    cuts = np.cumsum(np.bincount(codes, minlength=int(np.prod(shape))))[:-1]
    keys = product(*(feature.groups for feature in features))
    rows = order if drawn is None else drawn[order]
    return dict(zip(keys, np.split(rows, cuts), strict=True))


def keyed_rows(sensitive_features: Any, n_rows: int) -> dict[Key, NDArray[np.int64]]:
    """The rows of each combination of groups that has rows, by the values of the features."""
    features = _features(sensitive_features, "sensitive_features", "sensitive_feature_", n_rows)
    return {key: rows for key, rows in _rows_by_key(features).items() if len(rows)}


def rows_of_groups(sensitive_features: Any, n_rows: int) -> list[NDArray[np.int64]]:
    """The rows of each combination of groups that has rows."""
    return list(keyed_rows(sensitive_features, n_rows).values())


class _Metric:
    """A function of labels, predictions and parameters that have one value per row."""

    def __init__(self, function: Any, name: str | None, params: Mapping[str, Any], n_rows: int) -> None:
        if not callable(function):
            raise ValueError(f"metrics: expected a callable, found {function!r}")
        self.function = function
        self.name = name if name is not None else str(getattr(function, "__name__", "metric"))
        self.params: dict[str, NDArray[Any]] = {}
        for param, values in params.items():
            if values is None:
                continue
            self.params[param] = np.asarray(values)
            if len(self.params[param]) != n_rows:
                raise ValueError(
                    f"sample_params: '{param}' must have one value per row, "
                    f"found {len(self.params[param])} for {n_rows} rows"
                )

    def __call__(self, true: NDArray[Any], pred: NDArray[Any], rows: NDArray[np.int64]) -> Any:
        params = {name: values[rows] for name, values in self.params.items()}
        return self.function(true[rows], pred[rows], **params)


def _numbers(values: Iterable[Any], errors: Errors) -> list[Any]:
    """The values that are numbers and not NaN."""
    kept = []
    for value in values:
        if value is not None and not np.isscalar(value):
            if errors == "raise":
                raise ValueError(
                    "a metric returned a value that is not a number, so groups cannot be compared; "
                    "remove the metric, or set errors='coerce'"
                )
            continue
        if value is not None and value == value:
            kept.append(value)
    return kept


def _divided(a: Any, b: Any) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(a) / np.float64(b))


class MetricFrame:
    """Metrics by group, with differences, ratios and intervals.

    Parameters
    ----------
    metrics : callable or dict of str to callable
        The metrics: functions of labels, predictions and the arguments in ``sample_params``.
    y_true : array-like of shape (n_rows,)
        The labels.
    y_pred : array-like of shape (n_rows,)
        The predictions.
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row. Several features make one group per combination of their values.
    control_features : array-like, Series, DataFrame or dict, default=None
        Features that split the rows; groups are compared within each value of these features.
    sample_params : dict, default=None
        Additional arguments of the metrics with one value per row, such as weights: a dict of name to values. If
        ``metrics`` is a dict, a dict of metric name to such a dict.
    n_boot : int, default=None
        The number of redraws of the rows, for intervals. By default, no intervals are computed.
    ci_quantiles : list of float, default=None
        The quantiles over the redraws for the ``_ci`` properties. By default, 0.025 and 0.975.
    random_state : int, Generator or None, default=0
        The seed of the redraws.

    Notes
    -----
    Results are pandas objects if pandas is installed. Without pandas, a Series is a dict of group to value, and a
    DataFrame is a dict of metric to such a dict; groups of several features are tuples. Combinations of values that no
    row has are included as NaN.

    Examples
    --------
    >>> from fairfront.metrics import MetricFrame, selection_rate
    >>> frame = MetricFrame(metrics=selection_rate, y_true=[1, 1, 0, 0], y_pred=[1, 1, 1, 0],
    ...                     sensitive_features=["a", "a", "b", "b"])
    >>> {group: float(rate) for group, rate in frame.by_group.items()}
    {'a': 1.0, 'b': 0.5}
    >>> float(frame.difference())
    0.5
    """

    def __init__(
        self,
        *,
        metrics: Callable[..., Any] | Mapping[str, Callable[..., Any]],
        y_true: Any,
        y_pred: Any,
        sensitive_features: Any,
        control_features: Any = None,
        sample_params: Mapping[str, Any] | None = None,
        n_boot: int | None = None,
        ci_quantiles: Iterable[float] | None = None,
        random_state: Any = 0,
    ) -> None:
        self._n_boot, self._ci_quantiles = _redraws(n_boot, ci_quantiles)
        true, pred = column(y_true, "y_true"), column(y_pred, "y_pred")
        if len(true) != len(pred):
            raise ValueError(f"y_true and y_pred must be of the same length, found {len(true)} and {len(pred)}")
        if len(true) == 0:
            raise ValueError("no rows: y_true and y_pred are empty; pass at least one row")
        self._alone = not isinstance(metrics, Mapping)
        made = _metrics(metrics, sample_params, len(true))
        sensitive = _features(sensitive_features, "sensitive_features", "sensitive_feature_", len(true))
        control = []
        if control_features is not None:
            control = _features(control_features, "control_features", "control_feature_", len(true))
        names = [feature.name for feature in (*control, *sensitive)]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"'{name}' is the name of more than one feature; rename one of them")
        self._names, self._n_control = names, len(control)
        self._metrics = [metric.name for metric in made]
        whole: dict[Key, NDArray[np.int64]] = {(): np.arange(len(true))}

        def apply(groups: dict[Key, NDArray[np.int64]]) -> dict[str, dict[Key, Any]]:
            return {
                metric.name: {key: metric(true, pred, rows) if len(rows) else _NAN for key, rows in groups.items()}
                for metric in made
            }

        self._overall = apply(_rows_by_key(control) if control else whole)
        self._by_group = apply(_rows_by_key([*control, *sensitive]))
        self._redrawn: list[MetricFrame] = []
        draw = np.random.default_rng(random_state)
        for _ in range(self._n_boot or 0):
            rows = draw.integers(len(true), size=len(true))
            frame = object.__new__(MetricFrame)
            frame._alone, frame._metrics = self._alone, self._metrics
            frame._names, frame._n_control = self._names, self._n_control
            frame._overall = apply(_rows_by_key(control, rows) if control else {(): rows})
            frame._by_group = apply(_rows_by_key([*control, *sensitive], rows))
            self._redrawn.append(frame)

    @property
    def sensitive_levels(self) -> list[str]:
        """The names of the sensitive features."""
        return self._names[self._n_control :]

    @property
    def control_levels(self) -> list[str] | None:
        """The names of the control features; ``None`` if there are none."""
        return self._names[: self._n_control] or None

    @property
    def by_group(self) -> Any:
        """Each metric by group: a Series for one metric, a DataFrame for several."""
        return self._table(self._by_group, self._names)

    @property
    def overall(self) -> Any:
        """Each metric on all rows, or on the rows of each control value."""
        return self._shown(self._overall)

    @property
    def n_boot(self) -> int | None:
        """The number of redraws of the rows; ``None`` without intervals."""
        return self._n_boot

    @property
    def ci_quantiles(self) -> list[float] | None:
        """The quantiles of the ``_ci`` properties; ``None`` without intervals."""
        return self._ci_quantiles if self._n_boot else None

    @property
    def by_group_ci(self) -> list[Any]:
        """Quantiles of :attr:`by_group` over the redraws, one table per quantile."""
        found = self._quantiles(lambda frame: frame._by_group)
        return [self._table(quantile, self._names) for quantile in found]

    @property
    def overall_ci(self) -> list[Any]:
        """Quantiles of :attr:`overall` over the redraws, one per quantile."""
        return [self._shown(quantile) for quantile in self._quantiles(lambda frame: frame._overall)]

    def difference_interval(self, confidence: float = 0.95) -> Any:
        """Compute an interval for the largest difference between groups.

        A difference is a maximum, which is higher in redraws than in the population, so its quantiles are too high.
        The interval comes jointly from the signed differences of all pairs of groups. It needs ``n_boot``.

        Parameters
        ----------
        confidence : float, default=0.95
            The confidence of the interval: the share of samples in which it contains the difference.

        Returns
        -------
        list
            The lower and the upper end, each in the form of :attr:`overall`.
        """
        return self._interval(confidence, lambda a, b: a - b, lambda v: v)

    def ratio_interval(self, confidence: float = 0.95) -> Any:
        """Compute an interval for the smallest ratio of two groups.

        The method is the same as for :meth:`difference_interval`, on the log scale. It needs ``n_boot``.

        Parameters
        ----------
        confidence : float, default=0.95
            The confidence of the interval: the share of samples in which it contains the ratio.

        Returns
        -------
        list
            The lower and the upper end, each in the form of :attr:`overall`.
        """

        def logs(a: Any, b: Any) -> Any:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.log(a) - np.log(b)

        low, high = self._interval(confidence, logs, lambda v: np.exp(-v))
        return [high, low]

    def _quantiles(self, of: Callable[[MetricFrame], dict[str, dict[Key, Any]]]) -> list[dict[str, dict[Key, Any]]]:
        """Quantiles over the redraws, for each number."""
        if not self._redrawn:
            raise ValueError("n_boot is None, but intervals need redraws; pass a number of redraws to MetricFrame")
        quantiles = self._ci_quantiles
        found: list[dict[str, dict[Key, Any]]] = [{metric: {} for metric in self._metrics} for _ in quantiles]
        for metric in self._metrics:
            for key in of(self)[metric]:
                numbers = _numbers((of(frame)[metric][key] for frame in self._redrawn), "coerce")
                values = np.quantile(numbers, quantiles) if numbers else [_NAN] * len(quantiles)
                for table, value in zip(found, values, strict=True):
                    table[metric][key] = float(value)
        return found

    def _interval(self, confidence: float, apart: Callable[[Any, Any], Any], back: Callable[[Any], Any]) -> list[Any]:
        """The ends of the interval for the largest absolute contrast of two groups."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1")
        if not self._redrawn:
            raise ValueError("n_boot is None, but intervals need redraws; pass a number of redraws to MetricFrame")
        ends: list[dict[str, dict[Key, Any]]] = [{}, {}]
        redrawn = [list(frame._cells()) for frame in self._redrawn]
        for at, (metric, control, values) in enumerate(self._cells()):
            own = np.array([v if np.isscalar(v) and v is not None else _NAN for v in values], float)
            drawn = np.array([cells[at][2] for cells in redrawn], float)
            pairs = [(a, b) for a in range(len(own)) for b in range(a)]
            low, high = 0.0, 0.0
            if pairs:
                first, second = (np.array(side) for side in zip(*pairs, strict=True))
                contrast = apart(own[first], own[second])
                off = apart(drawn[:, first], drawn[:, second]) - contrast
                off = off[np.isfinite(off).all(axis=1)]
                error = off.std(axis=0) if len(off) else np.full(len(pairs), _NAN)
                with np.errstate(divide="ignore", invalid="ignore"):
                    largest = np.nanmax(np.abs(off) / error, axis=1, initial=0.0)
                reach = np.quantile(largest, confidence) * error if len(off) else error
                low = max(0.0, float(np.max(np.abs(contrast) - reach)))
                high = float(np.max(np.abs(contrast) + reach))
            for end, value in zip(ends, (low, high), strict=True):
                end.setdefault(metric, {})[control] = float(back(value))
        return [self._shown(end) for end in ends]

    def group_min(self, errors: Errors = "raise") -> Any:
        """Compute the smallest value over the groups, ignoring NaN.

        Parameters
        ----------
        errors : {"raise", "coerce"}, default="raise"
            Whether metrics that are not numbers raise an error or count as NaN.

        Returns
        -------
        scalar, Series or DataFrame
            The value of each metric, in the form of :attr:`overall`.
        """
        return self._shown(self._extreme(min, errors))

    def group_max(self, errors: Errors = "raise") -> Any:
        """Compute the largest value over the groups, ignoring NaN.

        Parameters
        ----------
        errors : {"raise", "coerce"}, default="raise"
            Whether metrics that are not numbers raise an error or count as NaN.

        Returns
        -------
        scalar, Series or DataFrame
            The value of each metric, in the form of :attr:`overall`.
        """
        return self._shown(self._extreme(max, errors))

    def difference(self, method: Method = "between_groups", errors: Errors = "coerce") -> Any:
        """Compute the largest difference between two groups, or between a group and all rows.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}, default="between_groups"
            Whether to compare groups with each other or with all rows.
        errors : {"raise", "coerce"}, default="coerce"
            Whether metrics that are not numbers raise an error or count as NaN.

        Returns
        -------
        scalar, Series or DataFrame
            The value of each metric, in the form of :attr:`overall`.
        """
        return self._shown(self._differences(method, errors))

    def ratio(self, method: Method = "between_groups", errors: Errors = "coerce") -> Any:
        """Compute the smallest ratio, at most 1, of two groups, or of a group and all rows.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}, default="between_groups"
            Whether to compare groups with each other or with all rows.
        errors : {"raise", "coerce"}, default="coerce"
            Whether metrics that are not numbers raise an error or count as NaN.

        Returns
        -------
        scalar, Series or DataFrame
            The value of each metric, in the form of :attr:`overall`.
        """
        return self._shown(self._ratios(method, errors))

    # Results as plain numbers: metric to control value to number

    def _cells(self) -> Iterable[tuple[str, Key, list[Any]]]:
        """The values of all groups, by metric and control value."""
        for metric, by_group in self._by_group.items():
            for control in self._overall[metric]:
                n = self._n_control
                yield metric, control, [v for key, v in by_group.items() if key[:n] == control]

    def _extreme(self, pick: Callable[[list[Any]], Any], errors: Errors) -> dict[str, dict[Key, Any]]:
        _check(errors=errors)
        found: dict[str, dict[Key, Any]] = {}
        for metric, control, values in self._cells():
            numbers = _numbers(values, errors)
            found.setdefault(metric, {})[control] = pick(numbers) if numbers else _NAN
        return found

    def _base(self, metric: str, control: Key, numbers: list[Any], method: Method) -> Any:
        if method == "between_groups":
            return min(numbers, default=_NAN)
        overall = self._overall[metric][control]
        return overall if np.isscalar(overall) else _NAN

    def _differences(self, method: Method, errors: Errors) -> dict[str, dict[Key, Any]]:
        _check(errors, method)
        found: dict[str, dict[Key, Any]] = {}
        for metric, control, values in self._cells():
            numbers = _numbers(values, errors)
            base = self._base(metric, control, numbers, method)
            apart = _numbers((abs(v - base) for v in numbers), errors)
            found.setdefault(metric, {})[control] = max(apart, default=_NAN)
        return found

    def _ratios(self, method: Method, errors: Errors) -> dict[str, dict[Key, Any]]:
        _check(errors, method)
        found: dict[str, dict[Key, Any]] = {}
        for metric, control, values in self._cells():
            numbers = _numbers(values, errors)
            if method == "between_groups":
                lowest, highest = min(numbers, default=_NAN), max(numbers, default=_NAN)
                ratio = _divided(lowest, highest)
            else:
                base = self._base(metric, control, numbers, method)
                each = _numbers((_divided(v, base) for v in numbers), errors)
                ratio = min((1 / r if r > 1 else r for r in each), default=_NAN)
            found.setdefault(metric, {})[control] = ratio
        return found

    # Results as pandas objects

    def _shown(self, found: dict[str, dict[Key, Any]]) -> Any:
        """Results by control value, or plain results without control features."""
        if self._n_control:
            return self._table(found, self._names[: self._n_control])
        plain = {metric: values[()] for metric, values in found.items()}
        if self._alone:
            return plain[self._metrics[0]]
        pandas = _pandas()
        return plain if pandas is None else pandas.Series(plain)

    def _table(self, found: dict[str, dict[Key, Any]], names: list[str]) -> Any:
        pandas = _pandas()
        keys = list(next(iter(found.values()), {}))
        if pandas is None:
            plain = {
                metric: {key[0] if len(names) == 1 else key: v for key, v in values.items()}
                for metric, values in found.items()
            }
            return plain[self._metrics[0]] if self._alone else plain
        if len(names) == 1:
            index = pandas.Index([key[0] for key in keys], name=names[0])
        else:
            index = pandas.MultiIndex.from_tuples(keys, names=names)
        data = {metric: list(values.values()) for metric, values in found.items()}
        frame = pandas.DataFrame(data, index=index, columns=self._metrics)
        kinds = {dtype.kind for dtype in frame.dtypes}
        if kinds == {"i", "f"}:
            # A table with counts and rates has one type of number.
            frame = frame.astype(float)
        return frame[self._metrics[0]] if self._alone else frame


def _metrics(
    metrics: Callable[..., Any] | Mapping[str, Callable[..., Any]],
    sample_params: Mapping[str, Any] | None,
    n_rows: int,
) -> list[_Metric]:
    params = {} if sample_params is None else sample_params
    if not isinstance(params, Mapping):
        raise ValueError(f"sample_params must be a dict, found {type(params).__name__}")
    if not isinstance(metrics, Mapping):
        return [_Metric(metrics, None, params, n_rows)]
    unknown = [name for name in params if name not in metrics]
    if unknown:
        raise ValueError(
            f"sample_params: {unknown[0]!r} is not one of the metrics; choose from {', '.join(map(repr, metrics))}"
        )
    if not metrics:
        raise ValueError("metrics must not be empty; pass at least one metric")
    made = []
    for name, function in metrics.items():
        own = params.get(name, {})
        if not isinstance(own, Mapping):
            raise ValueError(f"sample_params: {name!r} must be a dict with one entry per parameter")
        made.append(_Metric(function, name, own, n_rows))
    return made


def _redraws(n_boot: int | None, quantiles: Iterable[float] | None) -> tuple[int | None, list[float]]:
    """Check the parameters of intervals."""
    if n_boot is None:
        if quantiles is not None:
            raise ValueError("ci_quantiles is set without n_boot; pass n_boot, the number of redraws")
        return None, []
    if isinstance(n_boot, bool) or not isinstance(n_boot, (int, np.integer)) or n_boot < 1:
        raise ValueError(f"n_boot={n_boot!r}: expected a whole number of at least 1")
    chosen = [0.025, 0.975] if quantiles is None else [float(quantile) for quantile in quantiles]
    if not chosen or not all(0 < quantile < 1 for quantile in chosen):
        raise ValueError(f"ci_quantiles={chosen!r}: expected numbers between 0 and 1")
    return int(n_boot), chosen


def _check(errors: str, method: str = "between_groups") -> None:
    if errors not in ("raise", "coerce"):
        raise ValueError(f"errors must be 'raise' or 'coerce', not {errors!r}")
    if method not in ("between_groups", "to_overall"):
        raise ValueError(f"method must be 'between_groups' or 'to_overall', not {method!r}")
