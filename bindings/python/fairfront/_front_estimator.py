"""FrontEstimator: the common part of the estimators that compute a Pareto front."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload
from urllib.parse import urlencode

import numpy as np

from fairfront import _columns
from fairfront._base import BaseEstimator, FairFrontWarning
from fairfront._dataset import Given, Policy, assemble, is_block_file, open_block_file, read
from fairfront._fairfront import Dataset as _Dataset
from fairfront._fairfront import Live, check_choice
from fairfront._fairfront import fit as _fit
from fairfront._front import front_table
from fairfront._interrupt import Interrupted
from fairfront._predict import Looks, Scores
from fairfront._progress import Callback, Progress, seed, threads, whole
from fairfront._stream import Stream

if TYPE_CHECKING:
    from fairfront._fairfront import Run
    from fairfront._model import FrontModel

#: The estimator of one model of the front.
Model = TypeVar("Model", bound="FrontModel")

#: The warning of a fit without sensitive features.
ALONE = (
    "no sensitive_features: without groups to compare, the front is the one model that minimizes the loss; pass"
    " sensitive_features to compare groups"
)

#: The parameters that a block file has fixed.
_ROWS = (
    "holdout_fraction",
    "validation_fraction",
    "missing",
    "missing_sensitive",
    "pool_rare",
    "min_group",
    "pool_groups",
    "reference",
    "pos_label",
    "order",
    "estimator",
    "sensitive_estimator",
)


class FrontEstimator(Scores, BaseEstimator, Generic[Model]):  # type: ignore[misc]
    """Estimator that computes a Pareto front, one model of which is in use.

    ``FairFrontClassifier`` and ``FairFrontRegressor`` add the target and the predictions.
    """

    #: The rows and the front of ``partial_fit``.
    _live: Stream | None = None

    def __init__(
        self,
        objectives: Sequence[Any] | None = None,
        *,
        estimator: Any = None,
        solver: str = "auto",
        n_models: int | None = None,
        require: str | Sequence[str] | None = None,
        confidence: float | None = 0.95,
        exact: bool = False,
        holdout_fraction: float = 0.0,
        best: str | None = None,
        front_in: str | None = None,
        penalty: str | float = "auto",
        polish: bool = False,
        settings: dict[str, Any] | None = None,
        preset: str | None = None,
        family: str = "linear",
        hidden: int | None = None,
        validation_fraction: float = 0.0,
        missing: str = "keep",
        missing_sensitive: str = "error",
        pool_rare: int = 0,
        min_group: int = 30,
        pool_groups: int = 0,
        reference: dict[str, Any] | None = None,
        window: int | None = None,
        reservoir: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool | Callback | None = None,
    ) -> None:
        self.objectives = objectives
        self.estimator = estimator
        self.solver = solver
        self.n_models = n_models
        self.require = require
        self.confidence = confidence
        self.exact = exact
        self.holdout_fraction = holdout_fraction
        self.best = best
        self.front_in = front_in
        self.penalty = penalty
        self.polish = polish
        self.settings = settings
        self.preset = preset
        self.family = family
        self.hidden = hidden
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.missing_sensitive = missing_sensitive
        self.pool_rare = pool_rare
        self.min_group = min_group
        self.pool_groups = pool_groups
        self.reference = reference
        self.window = window
        self.reservoir = reservoir
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        sensitive_probability: Any = None,
    ) -> Self:
        """Compute the front, and choose the model to use.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The training rows, of shape (n_samples, n_features). Strings and categories in frames need no encoding. If X
            is the path of a CSV or Parquet file, or a list of paths, ``y``, ``sensitive_features`` and
            ``sample_weight`` name columns of the file. The path of a block file (:func:`fairfront.pack`), whose rows
            need not fit in memory, needs no other arguments.
        y : array-like of shape (n_samples,), or str, default=None
            The target of the rows: classes for a classifier, and numbers for a regressor. ``None`` is an error,
            except for a block file.
        sensitive_features : list, array, Series, DataFrame or dict, default=None
            The groups of the rows, for one or several attributes, which keep their names. Without sensitive features,
            the front is the one model that minimizes the loss, and ``fit`` warns.
        sample_weight : array-like of shape (n_samples,), or str, default=None
            The weights of the rows. By default, all rows have the same weight.
        sensitive_probability : dict, default=None
            Attributes of which only probabilities are known: for each, a dict from its groups to arrays of
            probabilities, or a DataFrame with a column per group. If X is a path, a dict from groups to columns, or a
            list of columns. Every row counts in each group with its probability, and nothing about these groups can be
            certified. Only classifiers accept it.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is invalid, or if no model meets ``require``. In the second case, the estimator keeps the
            front, and ``select`` can choose a model from it.
        TimeoutError
            If ``max_seconds`` pass before the first model is found.
        Interrupted
            After Ctrl-C. The estimator is fitted with the front found so far.
        """
        policy, asked, n_threads = self._checked()
        looks: Looks | None = None
        said: list[tuple[bool, str]] = []
        if is_block_file(X):
            self._check_block_file(y, sensitive_features, sample_weight, sensitive_probability)
            dataset = open_block_file(X, n_jobs=self.n_jobs)
        elif self._has_estimator():
            if sensitive_probability is not None:
                raise ValueError(
                    "sensitive_probability: your own estimator needs known groups; pass sensitive_features, or remove"
                    " estimator"
                )
            dataset, looks, said = self._bring(X, y, sensitive_features, sample_weight, policy, asked, n_threads)
        elif _columns.is_path(X):
            known = {**self._target(), "sensitive_probability": sensitive_probability}
            dataset = read(X, y, sensitive_features, sample_weight, policy, n_threads, **known)
        else:
            known = {"sensitive_probability": sensitive_probability}
            given = self._assemble(X, y, sensitive_features, sample_weight, policy, **known)
            looks = given.looks()
            dataset = _Dataset.of(given.parts, policy.settings(), n_threads)
        self._fit_dataset(dataset, asked, looks, said)
        return self

    def _target(self) -> dict[str, Any]:
        """The kind of the target, for functions that read rows."""
        raise NotImplementedError

    def _has_estimator(self) -> bool:
        """Whether the user's own estimator is used; rejects parameters that contradict it."""
        raise NotImplementedError

    def _bring(
        self, X: Any, y: Any, sensitive: Any, weight: Any, policy: Policy, asked: dict[str, Any], n_threads: int
    ) -> tuple[_Dataset, Looks, list[tuple[bool, str]]]:
        """Rows that consist of the predictions of the user's own estimator."""
        raise NotImplementedError

    def _checked(self) -> tuple[Policy, dict[str, Any], int]:
        """The parameters of a fit in the form that the extension expects, and the number of threads."""
        n_threads, number = threads(self.n_jobs), seed(self.random_state)
        policy, asked = self._policy(number), self._asked(number)
        check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        return policy, asked, n_threads

    def _fit_dataset(
        self,
        dataset: _Dataset,
        asked: dict[str, Any] | None = None,
        looks: Looks | None = None,
        said: Sequence[tuple[bool, str]] = (),
    ) -> None:
        """Compute the front of a data set; its classes are strings, unless ``looks`` has others."""
        if asked is None:
            asked = self._checked()[1]
        self._check_target(dataset)
        messages = [*said, *dataset.messages]
        if not dataset.attributes:
            warnings.warn(ALONE, FairFrontWarning, stacklevel=3)
        self._warn(messages)
        with Progress(self.progress, type(self).__name__) as progress:
            run, stopped = _fit(dataset, asked, threads(self.n_jobs), progress.callback, self.max_seconds)
            progress.stopped = run.stop == "stopped"
        self._live = None
        self._take(run, looks or Looks.of_files(dataset, run), stopped, messages, stacklevel=5)

    def _check_target(self, source: _Dataset | Run) -> None:
        """Reject a target of the other kind, which block files, files and run folders may have."""
        is_number = source.is_number
        if is_number != self._PREDICTS_NUMBERS:
            found, predicted = ("is a number", "classes") if is_number else ("has classes", "numbers")
            raise ValueError(
                f"the target {source.target_name!r} {found}, but {type(self).__name__} predicts {predicted}; use"
                f" {self._OTHER}"
            )

    def _check_block_file(
        self, y: Any, sensitive_features: Any, sample_weight: Any, sensitive_probability: Any = None
    ) -> None:
        """Reject arguments and parameters about columns and rows, which a block file has already."""
        given = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
        given["sensitive_probability"] = sensitive_probability
        found = [name for name, value in given.items() if value is not None]
        # Classes for clusters pass most parameters on to this class.
        own = [inspect.signature(vars(kind)["__init__"]) for kind in type(self).__mro__ if "__init__" in vars(kind)]
        defaults = {name: known.default for init in reversed(own) for name, known in init.parameters.items()}
        for name in _ROWS:
            if name in defaults and getattr(self, name) is not defaults[name] and getattr(self, name) != defaults[name]:
                found.append(name)
        if found:
            raise ValueError(
                f"{found[0]} is set, but X is a block file, which already has its columns, rows and split; remove "
                f"{found[0]}, or pack the table again"
            )

    def _update(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, target: dict[str, Any]
    ) -> None:
        """Update the front with a batch; ``target`` describes the target to the first batch."""
        if self._has_estimator():
            raise ValueError("estimator: partial_fit cannot update your own estimator; use fit, or remove estimator")
        policy, asked, n_threads = self._checked()
        stream = self._live
        if stream is None:
            if hasattr(self, "_run"):
                message = "partial_fit starts from scratch, because fit and load keep no rows to continue from"
                warnings.warn(message, FairFrontWarning, stacklevel=3)
            given = self._assemble(X, y, sensitive_features, sample_weight, policy, is_batch=True, **target)
            if given.n_attributes == 0:
                warnings.warn(ALONE, FairFrontWarning, stacklevel=3)
            stream = Stream(Live(*self._kept()), given.looks(), self._settled())
        else:
            stream.check(self._settled())
            given = self._assemble(
                X, y, sensitive_features, sample_weight, policy, is_batch=True, looks=stream.looks
            )
        with Progress(self.progress, type(self).__name__) as progress:
            run, stopped = stream.live.update(
                given.parts, policy.settings(), asked, n_threads, progress.callback, self.max_seconds
            )
            progress.stopped = run is not None and run.stop == "stopped"
        self._live = stream
        self.waiting_ = stream.live.waiting
        if run is not None:
            self._take(run, stream.looks, stopped)
        else:
            self._raise(stopped)

    def _kept(self) -> tuple[int | None, int | None]:
        """The numbers of rows that a stream keeps: the latest rows, or a sample of all rows."""
        if self.window is not None and self.reservoir is not None:
            raise ValueError("window and reservoir: both are set; set only one of them")
        window = None if self.window is None else whole("window", self.window, 1)
        return window, None if self.reservoir is None else whole("reservoir", self.reservoir, 1)

    def _settled(self) -> dict[str, Any]:
        """The parameters that the first batch of a stream fixes."""
        free = {"require", "confidence", "exact", "best", "max_seconds", "n_jobs", "progress", "random_state"}
        return {name: value for name, value in self.get_params(deep=False).items() if name not in free}

    def _raise(self, stopped: BaseException | None) -> None:
        """Raise the exception that stopped a fit, if there is one; the front found so far is kept."""
        if isinstance(stopped, KeyboardInterrupt):
            front = getattr(self, "front_", None)
            raise Interrupted("the fit was interrupted; the front found so far is kept", front) from stopped
        if stopped is not None:
            raise stopped

    def _jobs(self) -> int | None:
        return self.n_jobs

    def _policy(self, number: int) -> Policy:
        limit = self.max_seconds
        if limit is not None and not (isinstance(limit, Real) and limit > 0):
            raise ValueError(f"max_seconds={limit!r}: expected a number above 0, or None")
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise TypeError(f"progress={self.progress!r}: expected True, False or a function")
        if not isinstance(self.solver, str):
            raise TypeError(f"solver={self.solver!r}: expected the name of a solver, or 'auto'")
        shares = (self.validation_fraction, self.holdout_fraction)
        small = (self.pool_rare, self.min_group, self.pool_groups)
        return Policy(*shares, self.missing, self.missing_sensitive, *small, number, self.reference)

    def _assemble(self, X: Any, y: Any, sensitive: Any, weight: Any, policy: Policy, **known: Any) -> Given:
        return assemble(
            X,
            y,
            sensitive,
            weight,
            who=type(self).__name__,
            policy=policy,
            objectives=[] if self.objectives is None else self.objectives,
            **self._target(),
            **known,
        )

    def _asked(self, number: int) -> dict[str, Any]:
        objectives = self.objectives
        if isinstance(objectives, str):
            raise TypeError(f"objectives={objectives!r}: expected a list of objectives; pass a list, the loss first")
        return {
            "objectives": [] if objectives is None else [_text(objective) for objective in objectives],
            "solver": self.solver,
            "n_models": None if self.n_models is None else whole("n_models", self.n_models, 1),
            "settings": self._solver_settings(),
            "polish": bool(self.polish),
            "front_in": self.front_in,
            "penalty": _penalty(self.penalty),
            "preset": self.preset,
            "family": self.family,
            "hidden": None if self.hidden is None else whole("hidden", self.hidden, 1),
            "brought": None,
            "seed": number,
        }

    def _solver_settings(self) -> list[tuple[str, str]]:
        """Settings of the solver with hyphens, as in the command."""
        if self.settings is None:
            return []
        if not isinstance(self.settings, Mapping):
            raise TypeError(f"settings={self.settings!r}: expected a dict of names and values")
        return [(str(name).replace("_", "-"), _value(value)) for name, value in self.settings.items()]

    def _warn(self, messages: Sequence[tuple[bool, str]], stacklevel: int = 4) -> None:
        for warns, message in messages:
            if warns:
                warnings.warn(message, FairFrontWarning, stacklevel=stacklevel)

    def _take(
        self,
        run: Run,
        looks: Looks,
        stopped: BaseException | None = None,
        said: Sequence[tuple[bool, str]] = (),
        stacklevel: int = 4,
    ) -> None:
        """Take over the front of a run, and raise the exception that stopped its fit, if there is one."""
        self._warn([note for note in run.messages if note not in said], stacklevel)
        self._become(looks)
        self._run = run
        self.objectives_ = run.objectives
        # Those that the run does not contain are about the user's own estimator.
        own = [note for note in said if note not in run.messages]
        self.messages_ = [message for _, message in [*own, *run.messages]]
        self.stop_reason_ = run.stop
        self.front_ = front_table(run)
        self.unmitigated_ = run.unmitigated()
        # If no model meets the requirements, the front is kept nevertheless.
        self._model_id = None
        for name in ("selection_", "selected_", "certificate_"):
            if hasattr(self, name):
                delattr(self, name)
        try:
            self.selection_ = self._choose(
                self.require, self.best, confidence=self.confidence, exact=self.exact, before=True
            )
        except ValueError:
            self._raise(stopped)
            raise
        self.selected_ = self._model_id = int(self.selection_["model_id"])
        self.certificate_ = self.selection_["certificate"]
        self._raise(stopped)

    def _choose(self, require: Any, best: str | None, **rule: Any) -> dict[str, Any]:
        """The model that a rule chooses, and the reason."""
        self._check_fitted()
        choice = self._choice(require, best, **rule)
        chosen: dict[str, Any] = json.loads(self._run.select(choice))
        certificate = chosen["certificate"]
        if certificate and choice["confidence"] is not None and chosen["test"] is None:
            rows = {"train": "training"}.get(certificate["split"], certificate["split"])
            message = (
                f"require: the fit has no rows to certify on, so the requirement was checked on {rows} rows, which"
                " also chose the model, so it may not hold for new people; hold rows out (holdout_fraction=0.3), or"
                " choose without a test (confidence=None)"
            )
            warnings.warn(message, FairFrontWarning, stacklevel=4)
        return chosen

    @staticmethod
    def _choice(require: Any, best: str | None, **rule: Any) -> dict[str, Any]:
        """The rule for choosing a model, in the form that the extension expects."""
        requirements = [require] if isinstance(require, str) else [] if require is None else require
        if not isinstance(requirements, Sequence) or not all(isinstance(item, str) for item in requirements):
            raise TypeError(f"require={require!r}: expected a string such as 'accuracy >= 0.8', or a list of strings")
        if best is not None and not isinstance(best, str):
            raise TypeError(f"best={best!r}: expected the name of a measure or objective")
        choice = {
            "require": list(requirements),
            "best": best,
            "knee": False,
            "regret": False,
            "weights": None,
            "model_id": None,
            "confidence": 0.95,
            "exact": False,
            "before": False,
            **rule,
        }
        confidence = choice["confidence"]
        if confidence is not None and not (isinstance(confidence, Real) and 0 < float(confidence) < 1):
            raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1, or None")
        choice["exact"] = bool(choice["exact"])
        if choice["model_id"] is not None:
            choice["model_id"] = whole("model_id", choice["model_id"], 1)
        return choice

    def select(
        self,
        *,
        require: str | Sequence[str] | None = None,
        confidence: float | None = 0.95,
        exact: bool = False,
        best: str | None = None,
        knee: bool = False,
        regret: bool = False,
        weights: dict[str, float] | None = None,
        model_id: int | None = None,
    ) -> Model:
        """Choose a model of the front.

        Use at most one of ``best``, ``knee``, ``regret``, ``weights`` and ``model_id``.

        Parameters
        ----------
        require : str or list of str, default=None
            Requirements that the model has to meet on new people, for example
            ``"demographic_parity_ratio(sex) >= 0.8"``, or ``"mean_difference(sex) <= 0.5"`` for numbers. A requirement
            that was not stated before the fit counts as stated after looking at the ``test.`` columns; it is certified
            if their simultaneous band keeps the limit.
        confidence : float or None, default=0.95
            The confidence of the certificate. ``None`` checks ``require`` without a test.
        exact : bool, default=False
            Whether to certify with finite-sample tests, which need more rows.
        best : str, default=None
            The measure or objective by which the model is the best. By default, the accuracy,
            or the error of a regressor.
        knee : bool, default=False
            Whether to choose the knee: the model farthest below the straight line (for three or more objectives, the
            plane) through the ends of the front, with each value scaled to its range.
        regret : bool, default=False
            Whether to choose the model with the smallest worst-case regret: its largest scaled distance from the best
            value, over all values that the front compares, is smallest.
        weights : dict, default=None
            Weights of measures or objectives by name. The model with the smallest weighted sum is chosen.
        model_id : int, default=None
            The id of the model, which is its index in ``front_``. Ids start at 1.

        Returns
        -------
        FairClassifier or FairRegressor
            The chosen model, a fitted estimator.

        Raises
        ------
        ValueError
            If no model meets or can be certified for ``require``, or if more than one rule is set.
        """
        self._check_fitted()
        model = self._model_type()(
            self._unfitted(),
            require=require,
            confidence=confidence,
            exact=exact,
            best=best,
            knee=knee,
            regret=regret,
            weights=weights,
            model_id=model_id,
        )
        model._take(self, before=False)
        return model

    @classmethod
    def _model_type(cls) -> type[Model]:
        """The estimator of one model of the front."""
        raise NotImplementedError

    def _unfitted(self) -> Self:
        """A new estimator with the same parameters, without rows or a front."""
        return type(self)(**self.get_params(deep=False))

    @property
    def run_info_(self) -> dict[str, Any]:
        """The content of the command's ``run.json``: solver and settings, optimality proofs, counts and times."""
        self._check_fitted()
        info: dict[str, Any] = json.loads(self._run.info)
        return info

    @property
    def predictors_(self) -> Predictors[Model]:
        """The models of the front: ``predictors_[0]`` is model 1."""
        self._check_fitted()
        return Predictors(self)

    @property
    def learners_(self) -> list[dict[str, Any]]:
        """The learners whose probabilities the models combine, with their log loss and AUC out of fold."""
        return list(self.run_info_.get("learners", []))

    def report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the interactive report of the front: one HTML file for any browser.

        Parameters
        ----------
        path : str or path-like
            The path of the file, such as ``"report.html"``.
        force : bool, default=True
            Whether to overwrite an existing file.
        """
        from fairfront._files import write_text

        write_text(path, self._page(), force=force)

    def _page(self) -> str:
        """The interactive report, opened at the model in use."""
        self._check_fitted()
        require = [self.require] if isinstance(self.require, str) else list(self.require or [])
        start = [("require", requirement) for requirement in require]
        start += [] if self.best is None else [("best", self.best)]
        # The report shows commands; "run" is the folder name that the documentation uses.
        return self._run.page("run", urlencode(start))

    def plot(self, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Any:
        """Draw the front with matplotlib.

        Parameters
        ----------
        x : str, default=None
            The column of ``front_`` on the horizontal axis. By default, the second value that the front compares.
        y : str, default=None
            The column of ``front_`` on the vertical axis. By default, the first value that the front compares.
        ax : matplotlib.axes.Axes, default=None
            The axes to draw on. By default, the axes of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the front.
        """
        from fairfront._plot import plot_front

        self._check_fitted()
        return plot_front(self, x, y, ax)

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Export the model in use as an ONNX graph, from raw columns to predictions.

        Parameters
        ----------
        path : str or path-like, default=None
            The path of a file to write the graph to. By default, no file is written.
        force : bool, default=True
            Whether to overwrite an existing file.

        Returns
        -------
        bytes
            The serialized graph.
        """
        return self.select(model_id=self._in_use()).to_onnx(path, force=force)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a run folder, which the command can read too: ``fairfront show FOLDER``.

        Parameters
        ----------
        folder : str or path-like
            The path of the folder.
        force : bool, default=False
            Whether to replace an existing run.
        """
        from fairfront._files import save

        self._check_fitted()
        save(self, folder, force=force)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Load a run folder that ``save`` or the command wrote.

        Parameters
        ----------
        folder : str or path-like
            The path of the folder. A run of the command has no Python classes: ``True`` is its positive value,
            and more than two classes are strings.

        Returns
        -------
        object
            The fitted estimator.
        """
        from fairfront._files import load

        return load(cls, folder)

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        said = str(super().__repr__(*args, **kwargs))
        if not self.__sklearn_is_fitted__() or self._model_id is None:
            return said
        return f"{said}\n# uses model {self.selected_} of {self._run.n_models}: {self.selection_['reason']}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the interactive report in notebooks."""
        if not self.__sklearn_is_fitted__():
            bundle = getattr(super(), "_repr_mimebundle_", None)
            return dict(bundle(**kwargs)) if bundle is not None else {"text/plain": repr(self)}
        from fairfront._display import inline

        return {"text/plain": repr(self), "text/html": inline(self._page())}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


class Predictors(Sequence[Model]):
    """The models of a front, created on access."""

    def __init__(self, front: FrontEstimator[Model]) -> None:
        self._front = front

    def __len__(self) -> int:
        return self._front._run.n_models

    @overload
    def __getitem__(self, index: int) -> Model: ...
    @overload
    def __getitem__(self, index: slice) -> list[Model]: ...
    def __getitem__(self, index: int | slice) -> Model | list[Model]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self._front.select(model_id=range(1, len(self) + 1)[index])

    def __iter__(self) -> Iterator[Model]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} models of {type(self._front).__name__}>"


def _text(objective: Any) -> Any:
    """Convert strings of numpy to strings of Python."""
    return str(objective) if isinstance(objective, str) else objective


def _value(value: Any) -> str:
    """Write a setting as for the command."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _penalty(penalty: Any) -> float | None:
    """The penalty as a number; ``None`` for ``"auto"``."""
    if isinstance(penalty, str) and penalty == "auto":
        return None
    if isinstance(penalty, (bool, str)) or penalty is None:
        raise ValueError(f"penalty={penalty!r}: not a penalty; choose \"auto\", or a number that is not negative")
    return float(penalty)
