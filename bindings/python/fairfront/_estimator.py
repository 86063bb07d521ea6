"""The user's own estimators: out-of-fold probabilities of the rows of a fit, and probabilities of new rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from fairfront import _columns
from fairfront._crossfit import Job, Scorer, check_sklearn, classes_of, cross_fit, is_fitted, rows_of
from fairfront._dataset import Given, free_name
from fairfront._fairfront import Columns
from fairfront._predict import Looks

_Floats: TypeAlias = npt.NDArray[np.float64]

#: The name of the class of all groups that are not compared.
OTHERS = "(others)"


@dataclass(frozen=True)
class EstimatorLooks(Looks):
    """The looks of rows that estimators turn into probabilities."""

    #: The scorers, and the names of all their columns; without scorers after a run folder was loaded.
    scorers: tuple[Scorer, ...] = ()
    columns: tuple[str, ...] = ()
    reads_files: ClassVar[bool] = False
    can_be_exported: ClassVar[bool] = False

    def features(self, X: Any, estimator: str) -> _columns.Features:
        """The probabilities of rows, as the columns that the models of the front read."""
        if not self.scorers:
            raise ValueError(
                f"{estimator}: the run folder does not contain your estimator, so rows cannot be scored; pickle the"
                " fitted FairFrontClassifier instead"
            )
        _check_rows(X)
        return _features(self.columns, np.column_stack([scorer.columns(X) for scorer in self.scorers]))

    def align(self, features: _columns.Features, estimator: str) -> None:
        """Accept the columns; estimators check X themselves."""


def _features(names: Sequence[str], values: _Floats) -> _columns.Features:
    given = [(name, np.ascontiguousarray(values[:, j])) for j, name in enumerate(names)]
    return _columns.Features(Columns(given), None, *values.shape)


def indexable_rows(X: Any) -> Any:
    """X in a form that rows can be selected from."""
    from sklearn.utils import indexable

    _check_rows(X)
    rows = indexable(X)[0]
    if getattr(getattr(rows, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: X contains complex numbers.")
    return rows


def _check_rows(X: Any) -> None:
    """Reject paths."""
    if _columns.is_path(X):
        raise TypeError(
            "X is a path or a list of strings, but an estimator needs rows; read the file into a frame, or pass strings"
            " as an array"
        )


def placeholder(X: Any) -> _columns.Features:
    """Features that stand for X while its labels and groups are checked."""
    # Estimators accept more kinds of rows than fairfront does, such as strings to be tokenized.
    return _columns.Features(Columns([("(row)", np.arange(rows_of(X)) + 0.5)]), None, rows_of(X), 1)


@dataclass
class Own:
    """The estimators of the user, as the parameters of the classifier give them."""

    estimator: Any
    sensitive_estimator: Any
    prefit: bool

    def __post_init__(self) -> None:
        check_sklearn()
        for role in ("estimator", "sensitive_estimator"):
            own = getattr(self, role)
            if own is not None and (isinstance(own, type) or not hasattr(own, "predict_proba")):
                hint = "an instance, not a class" if isinstance(own, type) else "a classifier with probabilities"
                found = own.__name__ if isinstance(own, type) else type(own).__name__
                raise TypeError(f"{role}: {found} has no predict_proba; pass {hint}")
        if self.prefit and not is_fitted(self.estimator):
            raise ValueError(
                f"estimator: prefit=True, but this {type(self.estimator).__name__} is not fitted; fit it on other rows"
                " first, or remove prefit"
            )


@dataclass
class Brought:
    """Probabilities of all rows, and the scorers for new rows."""

    features: _columns.Features
    names: list[str]
    scorers: list[Scorer]
    #: The roles of the columns, in the form that the extension expects.
    roles: str
    messages: list[str] = field(default_factory=list)

    def looks(self, given: Given, X: Any) -> EstimatorLooks:
        """The classes of the rows, and the columns of X as the estimator knows them."""
        estimator = self.scorers[0].estimator
        shape = getattr(X, "shape", (0, 1))
        n_features = getattr(estimator, "n_features_in_", shape[1] if len(shape) > 1 else 1)
        names = getattr(estimator, "feature_names_in_", None)
        looks = given.classes, given.positive, int(n_features), names
        known = given.looks().class_names
        scorers, columns = tuple(self.scorers), tuple(self.names)
        return EstimatorLooks(*looks, class_names=known, scorers=scorers, columns=columns)


class Names:
    """Names of columns with probabilities that no other column of the table has."""

    def __init__(self, parts: dict[str, Any], values: Sequence[str]) -> None:
        self.target = parts["target"][0]
        self.values = values
        columns = [parts["target"], *(column for column, _ in parts["sensitive"]), parts["weight"]]
        self._taken = {column[0] for column in columns if column is not None}

    def label(self, at: int) -> str:
        """A label as in ``y=1``."""
        return f"{self.target}={self.values[at]}"

    def of(self, event: str, at: int | None) -> str:
        """The name of the column with the probability of an event, among the rows with a label."""
        given = "" if at is None else f" | {self.label(at)}"
        return free_name(f"P({event}{given})", "estimator", self._taken)


def bring(X: Any, given: Given, plan: dict[str, Any], own: Own, seed: int, n_jobs: int | None) -> Brought:
    """Fit the estimators, and compute the probabilities of all rows.

    Training rows get probabilities from estimators that were fitted without them, and all other rows from estimators
    that were fitted on all training rows.

    Parameters
    ----------
    X : array-like
        The rows, as the estimators take them.
    given : Given
        The checked target, groups and weights.
    plan : dict
        The training rows, with their folds and labels, and the names of more than two classes.
    own : Own
        The estimators.
    seed : int
        The random state of estimators that have none.
    n_jobs : int or None
        The number of processes.
    """
    names_of_classes = plan["names"]
    if names_of_classes is None:
        names = Names(given.parts, given.parts["target"][2])
        at = int(given.positive == given.classes[1])
        classes = given.classes[[1 - at, at]]
    else:
        names = Names(given.parts, names_of_classes)
        classes = given.classes[[given.parts["target"][2].index(name) for name in names_of_classes]]
    labels = classes[np.asarray(plan["labels"], dtype=np.int64)]
    classes = list(classes)
    weight = given.parts["weight"]
    weights = np.ones(rows_of(X)) if weight is None else weight[1]
    common = {"rows": plan["rows"], "folds": plan["folds"], "weights": weights[plan["rows"]]}
    events = [1] if names_of_classes is None else range(len(classes))
    about_labels = names.label(1) if names_of_classes is None else names.target
    jobs: list[Job | Scorer] = [
        _prefit_outcome(own.estimator, classes)
        if own.prefit
        else Job("estimator", own.estimator, about_labels, labels, np.full(len(labels), True), classes, **common)
    ]
    columns, groups = [names.of(names.label(at), None) for at in events], []
    outcome = columns[0] if names_of_classes is None else ", ".join(map(_quoted, columns))
    for group in plan["groups"]:
        attribute, positive, of_class = group["attribute"], group["positive"], group["class"]
        among = of_class if positive is None else int(positive)
        known = [OTHERS if name is None else name for name in group["classes"]]
        about = attribute if among is None else f"{attribute} given {names.label(among)}"
        sensitive = own.sensitive_estimator
        if own.prefit and sensitive is not None and is_fitted(sensitive):
            _check_single(plan["groups"], sensitive)
            jobs.append(_prefit_groups(sensitive, known, attribute))
        else:
            role = "estimator" if sensitive is None else "sensitive_estimator"
            inner = own.estimator if sensitive is None else sensitive
            codes = group["labels"]
            jobs.append(Job(role, inner, about, codes, codes >= 0, range(len(known)), known=known, **common))
        shown = known[1:] if len(known) == 2 else known
        columns += (of_group := [names.of(f"{attribute}={name}", among) for name in shown])
        groups.append({"attribute": attribute, "positive": positive, "class": of_class, "columns": of_group})
    fitted, messages = cross_fit(X, [job for job in jobs if isinstance(job, Job)], seed, n_jobs)
    values, scorers = _columns_of(X, jobs, fitted, plan["rows"])
    _check_constant(columns, scorers, values[plan["rows"]])
    roles = json.dumps({"outcome": outcome, "groups": groups, "estimator": True})
    return Brought(_features(columns, values), columns, scorers, roles, messages)


def _quoted(name: str) -> str:
    """A name as in lists of the command."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _columns_of(
    X: Any, jobs: list[Job | Scorer], fitted: list[tuple[Scorer, _Floats]], rows: npt.NDArray[np.int64]
) -> tuple[_Floats, list[Scorer]]:
    """The probabilities of all rows, and the scorer of each job."""
    from sklearn.utils import _safe_indexing

    others = np.setdiff1d(np.arange(rows_of(X)), rows)
    rest = _safe_indexing(X, others) if len(others) else None
    scorers, blocks, results = [], [], iter(fitted)
    for job in jobs:
        if isinstance(job, Scorer):
            scorers.append(job)
            blocks.append(job.columns(X))
            continue
        scorer, out_of_fold = next(results)
        block = np.empty((rows_of(X), scorer.width))
        block[rows] = out_of_fold
        if rest is not None:
            block[others] = scorer.columns(rest)
        scorers.append(scorer)
        blocks.append(block)
    return np.column_stack(blocks), scorers


def _prefit_outcome(estimator: Any, classes: list[Any]) -> Scorer:
    scorer = Scorer.of("estimator", estimator, classes)
    if [] in scorer.positions:
        own = classes_of("estimator", estimator)
        raise ValueError(
            f"estimator: {type(estimator).__name__} was fitted on the classes {own}, but y has the classes {classes};"
            " pass the same classes"
        )
    return scorer


def _prefit_groups(estimator: Any, known: list[str], attribute: str) -> Scorer:
    """The scorer of an estimator whose classes are groups; groups that are not compared form one class."""
    role, name = "sensitive_estimator", type(estimator).__name__
    own = [_columns.group(value) for value in classes_of(role, estimator)]
    unknown = [group for group in known if group != OTHERS and group not in own]
    if unknown:
        raise ValueError(
            f"{role}: {name} was fitted on the groups {own}, but {attribute} has the groups {unknown} too; fit it on"
            " rows of all groups"
        )
    rest = [i for i, group in enumerate(own) if group not in known]
    return Scorer(role, estimator, [rest if group == OTHERS else [own.index(group)] for group in known])


def _check_single(groups: list[dict[str, Any]], estimator: Any) -> None:
    """Reject a fitted estimator of groups if several, or groups among rows of one label, have to be predicted."""
    if len(groups) == 1 and groups[0]["positive"] is None and groups[0]["class"] is None:
        return
    raise ValueError(
        f"sensitive_estimator: this {type(estimator).__name__} is fitted, but the objectives need the groups of several"
        " attributes, or the groups among rows of one class, which are different probabilities; pass an estimator that"
        " is not fitted"
    )


def _check_constant(columns: list[str], scorers: list[Scorer], values: _Floats) -> None:
    roles = [f"{scorer.role}: {type(scorer.estimator).__name__}" for scorer in scorers for _ in range(scorer.width)]
    for j, (column, role) in enumerate(zip(columns, roles, strict=True)):
        if np.ptp(values[:, j]) == 0:
            raise ValueError(
                f"{role} gives all training rows the same probability {column}; choose an estimator that learns from X"
            )
