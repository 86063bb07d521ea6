"""Cross-fitting of scikit-learn's estimators: fits without each fold, and a fit on all training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Floats: TypeAlias = npt.NDArray[np.float64]


def check_sklearn() -> None:
    """Reject estimators if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "estimator: scikit-learn is not installed; install scikit-learn, or remove estimator"
        ) from error


def rows_of(X: Any) -> int:
    """The number of rows of X."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 0:
        raise ValueError("Expected 2D array, got scalar array instead; pass the rows to fit or to score.")
    return int(shape[0]) if shape is not None else len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator is fitted; one without a method ``fit`` always is."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(estimator, "fit"):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


@dataclass(frozen=True)
class Scorer:
    """A fitted estimator, and how its probabilities become columns."""

    role: str
    estimator: Any
    #: For each class, the positions of the estimator's own classes that belong to it.
    positions: list[list[int]]

    @classmethod
    def of(cls, role: str, estimator: Any, classes: Sequence[Any]) -> Scorer:
        """The scorer of classes with the names that the estimator knows."""
        own = classes_of(role, estimator)
        return cls(role, estimator, [[i for i, known in enumerate(own) if known == wanted] for wanted in classes])

    @property
    def width(self) -> int:
        """The number of columns."""
        return 1 if len(self.positions) == 2 else len(self.positions)

    def columns(self, X: Any) -> _Floats:
        """The probabilities of rows: of the second of two classes, or of every class."""
        name = type(self.estimator).__name__
        found = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        shape = (rows_of(X), len(classes_of(self.role, self.estimator)))
        if found.shape != shape:
            raise ValueError(
                f"{self.role}: predict_proba of {name} returned an array of shape {found.shape} instead of {shape};"
                " choose an estimator that returns one column per class"
            )
        # Comparisons with NaN are false.
        wrong = np.any(~((found >= -1e-6) & (found <= 1 + 1e-6)), axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{self.role}: predict_proba of {name} returned {found[row].tolist()} for a row, which are not"
                f" probabilities ({int(wrong.sum())} of {len(wrong)} rows); choose an estimator that returns numbers"
                " from 0 to 1"
            )
        sums = np.column_stack([found[:, at].sum(axis=1) for at in self.positions])
        total = sums.sum(axis=1, keepdims=True)
        # Rows that certainly belong to classes that are not asked for belong to all classes equally.
        known: _Floats = np.divide(sums, total, out=np.full_like(sums, 1 / sums.shape[1]), where=total > 0)
        return known[:, -self.width :]


def classes_of(role: str, estimator: Any) -> list[Any]:
    """The classes of a fitted estimator, in the order of its probabilities."""
    own = getattr(estimator, "classes_", None)
    if own is None:
        raise TypeError(
            f"{role}: {type(estimator).__name__} has no attribute classes_, which names the columns of predict_proba;"
            " set it to the classes in the order of these columns"
        )
    return list(own)


@dataclass(frozen=True)
class Job:
    """An estimator to be fitted to classes of the training rows."""

    #: The parameter of the classifier that the estimator comes from.
    role: str
    estimator: Any
    #: The event or attribute that it predicts, for messages.
    about: str
    #: The class of each training row, and whether the row is fitted.
    labels: npt.NDArray[Any]
    fitted: npt.NDArray[np.bool_]
    classes: Sequence[Any]
    #: The positions of the training rows in X, and their folds and weights.
    rows: npt.NDArray[np.int64]
    folds: npt.NDArray[np.uint8]
    weights: _Floats
    #: The names of the classes, if they are numbers.
    known: Sequence[str] | None = None

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """The training rows that are fitted; weights of 0 do not count."""
        return self.fitted & (self.weights > 0)


class Constant:
    """A classifier of rows that all have the same class."""

    def __init__(self, label: Any) -> None:
        self.classes_ = np.asarray([label])

    def predict_proba(self, X: Any) -> _Floats:
        """Return the probability 1 for every row."""
        return np.ones((rows_of(X), 1))


def cross_fit(
    X: Any, jobs: Sequence[Job], seed: int, n_jobs: int | None
) -> tuple[list[tuple[Scorer, _Floats]], list[str]]:
    """Fit every estimator on all its rows, and without each fold.

    Returns
    -------
    list of tuple
        For each job, the scorer that was fitted on all its rows, and the out-of-fold probabilities of the training
        rows.
    list of str
        Warnings.
    """
    from sklearn.utils.parallel import Parallel, delayed

    copies = [_copy(job.role, job.estimator, seed) for job in jobs]
    weighted = [_weight_parameter(copy) for copy in copies]
    messages = [message for job in jobs for message in _missing_classes(job)]
    messages += dict.fromkeys(
        f"{job.role}: fit of {type(job.estimator).__name__} takes no sample_weight, so its probabilities ignore the"
        " weights; choose an estimator that takes weights"
        for job, parameter in zip(jobs, weighted, strict=True)
        if parameter is None and np.ptp(job.weights) > 0
    )
    tasks = [(at, fold) for at, job in enumerate(jobs) for fold in (None, *np.unique(job.folds))]
    results = Parallel(n_jobs=n_jobs)(
        delayed(_fitted)(copies[at], X, jobs[at], fold, weighted[at]) for at, fold in tasks
    )
    scorers: list[tuple[Scorer, _Floats]] = []
    for (at, fold), result in zip(tasks, results, strict=True):
        if fold is None:
            scorers.append((result, np.empty((len(jobs[at].rows), result.width))))
        else:
            scorers[at][1][jobs[at].folds == fold] = result
    return scorers, messages


def _fitted(estimator: Any, X: Any, job: Job, fold: int | None, weight_parameter: str | None) -> Any:
    """The scorer that was fitted on all rows; for a fold, the probabilities of its rows by one fitted without it."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    used = job.used if fold is None else job.used & (job.folds != fold)
    labels = job.labels[used]
    if len(labels) == 0 or (labels == labels[0]).all():
        copy = Constant(labels[0] if len(labels) else job.classes[0])
    else:
        params = {}
        if weight_parameter is not None and np.ptp(job.weights) > 0:
            params[weight_parameter] = job.weights[used]
        copy = clone(estimator).fit(_safe_indexing(X, job.rows[used]), labels, **params)
    scorer = Scorer.of(job.role, copy, job.classes)
    return scorer if fold is None else scorer.columns(_safe_indexing(X, job.rows[job.folds == fold]))


def _copy(role: str, estimator: Any, seed: int) -> Any:
    """A copy that is not fitted; random states that are not set become the seed."""
    from sklearn.base import clone

    name = type(estimator).__name__
    try:
        copy = clone(estimator)
    except TypeError as error:
        hint = "sensitive_estimator" if role == "estimator" else "an estimator of scikit-learn"
        raise TypeError(f"{role}: {name} cannot be cloned, so it cannot be fitted; pass {hint}") from error
    if is_fitted(copy):
        raise ValueError(
            f"{role}: {name} stays fitted when it is cloned, so its probabilities would not be out of fold; pass"
            " prefit=True with rows that it was not fitted on, or an estimator that can be fitted"
        )
    free = {
        key: seed % 2**31
        for key, value in copy.get_params().items()
        if value is None and key.rpartition("__")[2] == "random_state"
    }
    return copy.set_params(**free)


def _weight_parameter(estimator: Any) -> str | None:
    """The parameter by which ``fit`` takes weights; ``None`` if it takes none."""
    from sklearn import get_config
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import get_routing_for_object
    from sklearn.utils.validation import has_fit_parameter

    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if get_config()["enable_metadata_routing"]:
        requests = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
        return "sample_weight" if requests else None
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = None if last is None or isinstance(last, str) else _weight_parameter(last)
        return None if inner is None else f"{step}__{inner}"
    return None


def _missing_classes(job: Job) -> list[str]:
    """A warning if a class has no rows outside a fold."""
    known = job.classes if job.known is None else job.known
    messages = []
    for label, name in zip(job.classes, known, strict=True):
        folds = job.folds[job.used & (job.labels == label)]
        if len(np.unique(folds)) < 2:
            messages.append(
                f"{job.role}: class {name!r} of {job.about} has only {len(folds)} training rows, all in one fold, so"
                " its out-of-fold probability there is 0; pool small groups with pool_groups or raise min_group"
            )
    return messages
