"""Audits of decisions by group, for any model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairfront import _fairfront
from fairfront._metric_frame import _is_missing, _listed, _pandas, named_features

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: The columns of ``Audit.by_group``: places in the values of a group, and intervals as two columns.
_COLUMNS = {
    "rows": ("rows",),
    "share": ("share",),
    "selected": ("selected",),
    "weight": ("weight",),
    "selection_rate": ("selection_rate",),
    "adverse_impact_ratio": ("compared", "adverse_impact_ratio"),
    "four_fifths": ("compared", "four_fifths"),
    "p_value": ("compared", "p_value"),
    "selection_rate_difference": ("compared", "selection_rate_difference"),
    "shortfall": ("compared", "shortfall"),
    "odds_ratio": ("compared", "odds_ratio"),
    "base_rate": ("errors", "base_rate"),
    "false_negative_rate": ("errors", "false_negative_rate"),
    "false_positive_rate": ("errors", "false_positive_rate"),
    "accuracy": ("errors", "accuracy"),
    "mean_score": ("scores", "mean"),
    "standardized_mean_difference": ("scores", "standardized_mean_difference"),
    "auc": ("scores", "auc"),
    "ks": ("scores", "ks"),
}


def audit(
    *,
    sensitive_features: Any,
    y_score: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    y_true: ArrayLike | None = None,
    threshold: float | None = None,
    pos_label: Any = None,
    reference: str | Mapping[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    min_share: float = 0.02,
) -> Audit:
    """Compare the decisions of any model by group: impact ratios, error rates and their intervals.

    Parameters
    ----------
    sensitive_features : array-like, Series, DataFrame or dict
        The group of each row; missing values are rows of unknown group. With several features, their intersections
        are compared as well.
    y_score : array-like of shape (n_rows,), default=None
        Scores or probabilities. They give decisions together with ``threshold``, unless ``y_pred`` is passed.
    y_pred : array-like of shape (n_rows,), default=None
        Decisions.
    y_true : array-like of shape (n_rows,), default=None
        Outcomes, for error rates; they may be missing.
    threshold : float, default=None
        Rows with at least this score are selected.
    pos_label : label, default=None
        The value of ``y_pred`` that means selected, and of ``y_true`` that means positive. By default, 1 or True.
    reference : str or dict of str to group, default=None
        The group that others are compared with, by feature, or for the only feature. By default, the group with the
        highest selection rate. An intersection has a name such as ``"sex:race"`` and groups such as ``"F:White"``.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    confidence : float, default=0.95
        The confidence of intervals and tests.
    min_share : float, default=0.02
        Groups with a smaller share of the rows are listed, but not compared.

    Returns
    -------
    Audit
        The tables, with methods that write them as a page.

    Examples
    --------
    >>> import fairfront
    >>> found = fairfront.audit(y_pred=[1, 0, 0, 1, 1, 1], sensitive_features=["a"] * 3 + ["b"] * 3)
    >>> round(found.to_dict()["attributes"][0]["groups"]["a"]["compared"]["adverse_impact_ratio"], 3)
    0.333
    """
    if y_score is None and y_pred is None:
        raise ValueError("audit needs decisions; pass y_pred, or y_score with threshold")
    if y_pred is None and threshold is None:
        raise ValueError("y_score: scores need a threshold to become decisions; pass threshold or y_pred")
    if y_pred is not None and threshold is not None:
        raise ValueError("threshold: y_pred has decisions already; remove one of them")
    scores = None if y_score is None else _numbers(y_score, "y_score")
    if y_pred is None:
        assert scores is not None and threshold is not None
        decisions, condition = scores >= threshold, f"y_score >= {threshold:g}"
    else:
        flags, label = _flags(y_pred, "y_pred", pos_label)
        if None in flags:
            raise ValueError(f"y_pred: the decision of row {flags.index(None)} is missing; add it, or remove the row")
        decisions, condition = np.array(flags, bool), f"y_pred = {label}"
    n_rows = len(decisions)
    labels, positive = (None, None) if y_true is None else _flags(y_true, "y_true", pos_label)
    weights = None if sample_weight is None else _numbers(sample_weight, "sample_weight")
    for name, values in (("y_score", scores), ("y_true", labels), ("sample_weight", weights)):
        if values is not None and len(values) != n_rows:
            raise ValueError(f"{name} must have one value per row, found {len(values)} for {n_rows} rows")
    attributes = [
        _attribute(name, values, n_rows)
        for name, values in named_features(sensitive_features, "sensitive_features", "sensitive_feature_")
    ]
    rows = {
        "decisions": decisions.tolist(),
        "scores": None if scores is None else scores.tolist(),
        "labels": labels,
        "weights": None if weights is None else weights.tolist(),
        "attributes": attributes,
        "column": "y_score" if y_pred is None else "y_pred",
        "condition": condition,
        "threshold": threshold,
        "positive": positive,
    }
    options = {
        "references": _references(reference, [name for name, _, _ in attributes]),
        "confidence": float(confidence),
        "min_share": float(min_share),
    }
    return Audit(_fairfront.audit(rows, options))


def _numbers(values: Any, argument: str) -> Any:
    try:
        numbers = np.asarray(_listed(values), dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} must be numbers; convert it, or remove rows without a number") from None
    if numbers.ndim != 1:
        raise ValueError(f"{argument} must have one dimension, not {numbers.ndim}")
    missing = np.flatnonzero(~np.isfinite(numbers))
    if len(missing):
        raise ValueError(f"{argument}: the value of row {missing[0]} is missing or infinite; remove the row")
    return numbers


def _flags(values: Any, argument: str, pos_label: Any) -> tuple[list[bool | None], str]:
    """Return whether each value is the positive one, and its name."""
    listed = [None if _is_missing(value) else value for value in _listed(values)]
    present = {value for value in listed if value is not None}
    if pos_label is None:
        if not present <= {0, 1}:
            found = ", ".join(sorted(map(repr, present))[:5])
            raise ValueError(f"{argument} has the values {found}; choose the positive one with pos_label")
        pos_label = 1
    elif pos_label not in present:
        found = ", ".join(sorted(map(repr, present))[:5])
        raise ValueError(f"pos_label: {argument} has no value {pos_label!r}; choose one of {found}")
    return [None if value is None else bool(value == pos_label) for value in listed], str(pos_label)


def _attribute(name: Any, values: list[Any], n_rows: int) -> tuple[str, list[str], list[int]]:
    if not isinstance(name, str):
        raise ValueError(f"sensitive_features: a name must be a string, found {name!r}; rename the feature")
    if len(values) != n_rows:
        raise ValueError(
            f"sensitive_features: '{name}' must have one value per row, found {len(values)} for {n_rows} rows"
        )
    groups = list(dict.fromkeys(value for value in values if not _is_missing(value)))
    try:
        groups = sorted(groups)
    except TypeError:
        pass  # Values of several types stay in the order of the rows.
    names = [str(group) for group in groups]
    if len(set(names)) < len(names):
        raise ValueError(f"sensitive_features: '{name}' has different groups with the same text; rename them")
    codes = {group: code for code, group in enumerate(groups)}
    return name, names, [-1 if _is_missing(value) else codes[value] for value in values]


def _references(reference: Any, names: list[str]) -> list[tuple[str, str]]:
    if reference is None:
        return []
    if isinstance(reference, Mapping):
        return [(str(name), str(group)) for name, group in reference.items()]
    if len(names) != 1:
        raise ValueError(f"reference: pass a dict with a group for each of {', '.join(names)}")
    return [(names[0], str(reference))]


class Audit:
    """The result of :func:`fairfront.audit`, which creates it.

    Parameters
    ----------
    audited : object
        The tables.

    Attributes
    ----------
    attributes : list of str
        The sensitive features, and their intersections.
    reference : dict of str to str or None
        The reference group of each of them; ``None`` if no group has enough rows.
    messages : list of str
        Warnings and notes.
    """

    def __init__(self, audited: _fairfront.Audited) -> None:
        self._audited = audited
        self._values: dict[str, Any] = json.loads(audited.json())
        self.attributes = [attribute["name"] for attribute in self._values["attributes"]]
        self.reference = {a["name"]: a["reference"] for a in self._values["attributes"]}
        self.messages = [str(message["message"]) for message in self._values["messages"]]

    @property
    def by_group(self) -> Any:
        """One row per feature and group: a DataFrame, or a dict of tuples to dicts without pandas."""
        rows = {
            (attribute["name"], group): _flat(values)
            for attribute in self._values["attributes"]
            for group, values in attribute["groups"].items()
        }
        pandas = _pandas()
        if pandas is None:
            return rows
        index = pandas.MultiIndex.from_tuples(rows, names=["feature", "group"])
        table = pandas.DataFrame(list(rows.values()), index=index)
        return table.dropna(axis="columns", how="all")

    def to_dict(self) -> dict[str, Any]:
        """Return all values.

        Returns
        -------
        dict
            The values, with the keys of the JSON output of ``fairfront audit``.
        """
        return json.loads(self._audited.json())  # type: ignore[no-any-return]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return all values as JSON.

        Parameters
        ----------
        path : path-like, default=None
            A file to write as well.

        Returns
        -------
        str
            The JSON text.
        """
        return _written(self._audited.json() + "\n", path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a printable page.

        Parameters
        ----------
        path : path-like, default=None
            A file to write as well.

        Returns
        -------
        str
            The page as HTML.
        """
        return _written(self._audited.html("to_json()"), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the page as Markdown.

        Parameters
        ----------
        path : path-like, default=None
            A file to write as well.

        Returns
        -------
        str
            The page as Markdown.
        """
        return _written(self._audited.markdown("to_json()"), path)

    def __repr__(self) -> str:
        overall = self._values["overall"]
        return f"Audit({overall['selected']} of {overall['rows']} rows selected; {', '.join(self.attributes)})"


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a group as columns; an interval becomes two."""
    row: dict[str, Any] = {}
    for name, steps in _COLUMNS.items():
        *parents, last = steps
        within = values
        for step in parents:
            within = within.get(step) or {}
        row[name] = within.get(last)
        interval = within.get(f"{last}_interval")
        if interval is not None:
            row[f"{name}_low"], row[f"{name}_high"] = interval
    return row
