"""FairFrontClassifier: all worthwhile compromises between accuracy and fairness, and one of them in use."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt

from fairfront import _columns, _labels
from fairfront._base import BaseEstimator, ClassifierMixin
from fairfront._dataset import Given, Policy, assemble, read
from fairfront._fairfront import Dataset as _Dataset
from fairfront._fairfront import Live, check_choice
from fairfront._fairfront import fit as _fit
from fairfront._front import front_table
from fairfront._interrupt import Interrupted
from fairfront._predict import Decides, Looks
from fairfront._progress import Callback, Progress, seed, threads, whole
from fairfront._stream import Stream

if TYPE_CHECKING:
    from fairfront._fairfront import Run
    from fairfront._model import FairClassifier


#: What a fit without sensitive features says.
ALONE = (
    "no sensitive_features: there is nothing to be fair about, and the front is the one model that minimises the loss"
)


class FairFrontWarning(UserWarning):
    """Something that may make results wrong or hard to trust."""


class FairFrontClassifier(ClassifierMixin, Decides, BaseEstimator):  # type: ignore[misc]
    """All worthwhile compromises between accuracy and fairness of a linear classifier.

    ``fit`` finds the whole Pareto front between the loss and the fairness objectives, as ``front_``. One of its
    models, chosen by ``require`` and ``best``, is used by ``predict``; ``select`` hands out any of them as a
    classifier of its own. No model needs the sensitive features for its decisions.

    Parameters
    ----------
    objectives : list of str or Objective, optional
        What is minimised, the loss first: ``["error_rate", "equalized_odds(sex)"]``. By default the error rate
        and the demographic parity of each sensitive feature; with the solvers ``"trace"`` and ``"eps-fair"`` and the
        preset ``"paper"``, which need covariances, the log loss and the disparate impact. ``sex:race`` is the
        intersection of two features.
    solver : {"auto", "trace", "weighted", "pf-smg", "eps-fair"}, default="auto"
        The solver; ``"auto"`` takes the one that suits the objectives.
    n_points : int, optional
        Points of the front, at most; each solver has a default of its own.
    require : str or list of str, optional
        What the model in use has to keep on new people, for instance
        ``"demographic_parity_ratio(sex) >= 0.8"``; the limit may be a percentage, as in ``">= 80%"``. It is certified on
        the rows that ``holdout_fraction`` holds out; without such rows, it is checked on validation or training rows,
        and a warning says so.
    confidence : float or None, default=0.95
        Confidence of the certificate. None checks ``require`` without a test.
    exact : bool, default=False
        Whether finite-sample tests certify; they need more rows.
    holdout_fraction : float, default=0.0
        Share of the rows, drawn by ``random_state``, that influence no model and no choice: they certify ``require`` and
        give the ``test.`` columns of ``front_`` with their intervals.
    best : str, default="accuracy"
        The measure or objective in which the model in use is the best of those that meet ``require``.
    front_in : {"measures", "objectives"}, optional
        By what points are judged; by default by measures where the objectives are smooth versions of some.
    penalty : "auto" or float, default="auto"
        Penalty on the coefficients of the log loss. ``"auto"`` chooses it by cross-validation on the training rows
        with a one-standard-error rule; with the preset ``"paper"`` it is 0.0001. ``run_info_["penalty"]`` has the
        penalty and the losses it was chosen by.
    polish : bool, default=False
        Whether the front is refined by exact steps, whatever the solver.
    settings : dict, optional
        Settings of the solver by name, those of the command's ``--set``.
    preset : {"paper"}, optional
        The settings of the experiments of Liu and Vicente instead of ours.
    validation_fraction : float, default=0.0
        Share of the rows, drawn by ``random_state``, that do not train models but help to choose them. By
        default all rows train, and choices are made on them.
    missing : {"keep", "error", "drop"}, default="keep"
        What becomes of rows with missing values in X. ``"keep"``: the mean and a feature that says so, or a
        category of its own.
    missing_sensitive : {"error", "group", "loss-only", "drop"}, default="error"
        What becomes of rows with missing sensitive values. ``"group"``: they are a group of their own;
        ``"loss-only"``: they count for the loss alone.
    pool_rare : int, default=0
        Categories with fewer training rows than this become one.
    min_group : int, default=30
        Groups with fewer training rows than this are reported, but left out of differences and ratios; positives or
        negatives count if only they matter. ``fairfront.metrics`` leaves nothing out.
    pool_groups : int, default=0
        Groups with fewer training rows than this become one, ``(other)``.
    window, reservoir : int, optional
        Rows that ``partial_fit`` keeps: the latest ones, or a uniform sample of all; by default all of them.
    max_seconds : float, optional
        Ends the fit after this time with the front found so far. The time starts when the table is encoded, after
        ``fit`` has checked and converted its arguments. Finishing takes up to 2 seconds more, plus one pass over the
        rows. If no model is found in time, ``fit`` raises ``TimeoutError``.
    random_state : int, RandomState, Generator or None, default=0
        Seed of everything random. The same seed gives the same front for any ``n_jobs``.
    n_jobs : int, optional
        Threads; by default all that the process may use.
    progress : bool or callable, optional
        ``True`` draws a bar (with tqdm). A function is called with a dict (``round``, ``share``, ``n_points``,
        ``hypervolume``, ``seconds``) now and then, and ends the fit where it returns something true.
    pos_label : label, optional
        The class that is decided for, such as being hired; by default ``classes_[1]``. Fairness is about it.

    Attributes
    ----------
    front_ : pandas.DataFrame or dict of arrays
        The front, one row a point: objectives and measures on training (and validation) rows; a dict where pandas
        is not installed. ``front_.to_arrow()`` and ``front_.to_polars()`` give it as other tables.
    predictors_ : sequence of FairClassifier
        The models of the front, one a point.
    selected_ : int
        The point that ``predict`` uses.
    selection_ : dict
        How it was chosen, and what it costs.
    certificate_ : dict or None
        What was required of the model in use, and whether that is certified; None if nothing was required.
    unmitigated_ : dict
        The columns of ``front_`` for the model that minimises the loss alone.
    objectives_ : list of str
        Canonical names of the objectives.
    notices_ : list of str
        What was decided on the way.
    run_info_ : dict
        What ``run.json`` of the command says: solver and settings, what is proven, what was spent.
    stop_reason_ : str
        Why the solver ended; ``"stopped"`` means before its time.
    waiting_ : str or None
        After ``partial_fit``: why the last batch brought no front; None where it did.
    classes_ : ndarray of shape (2,)
        The classes.
    pos_label_ : label
        The class that is decided for.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, where X had some.

    Examples
    --------
    >>> import numpy as np
    >>> from fairfront import FairFrontClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], size=2000)
    >>> income = rng.normal(size=2000) + (sex == "m")
    >>> X = np.column_stack([income, rng.normal(size=2000)])
    >>> y = income + rng.normal(size=2000) > 0.5
    >>> clf = FairFrontClassifier(require="demographic_parity_ratio(sex) >= 0.8")
    >>> clf = clf.fit(X, y, sensitive_features={"sex": sex})
    >>> bool(clf.front_["train.demographic_parity_ratio(sex)"][clf.selected_] >= 0.8)
    True
    >>> fairest = clf.select(best="demographic_parity(sex)")
    >>> fairest.predict(X).dtype
    dtype('bool')
    """

    #: Rows and front of ``partial_fit``.
    _live: Stream | None = None

    def __init__(
        self,
        objectives: Sequence[Any] | None = None,
        *,
        solver: str = "auto",
        n_points: int | None = None,
        require: str | Sequence[str] | None = None,
        confidence: float | None = 0.95,
        exact: bool = False,
        holdout_fraction: float = 0.0,
        best: str = "accuracy",
        front_in: str | None = None,
        penalty: str | float = "auto",
        polish: bool = False,
        settings: dict[str, Any] | None = None,
        preset: str | None = None,
        validation_fraction: float = 0.0,
        missing: str = "keep",
        missing_sensitive: str = "error",
        pool_rare: int = 0,
        min_group: int = 30,
        pool_groups: int = 0,
        window: int | None = None,
        reservoir: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool | Callback | None = None,
        pos_label: Any = None,
    ) -> None:
        self.objectives = objectives
        self.solver = solver
        self.n_points = n_points
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
        self.validation_fraction = validation_fraction
        self.missing = missing
        self.missing_sensitive = missing_sensitive
        self.pool_rare = pool_rare
        self.min_group = min_group
        self.pool_groups = pool_groups
        self.window = window
        self.reservoir = reservoir
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.pos_label = pos_label

    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairFrontClassifier:
        """Find the front.

        Parameters
        ----------
        X : array, sparse matrix, frame, table with the Arrow interface, or path
            Rows to learn from. Texts and categories in frames are taken as they are. With the path of a file (CSV,
            Parquet), or a list of them, ``y``, ``sensitive_features`` and ``sample_weight`` name its columns.
        y : array-like of shape (n_samples,), or str
            The classes, two of them.
        sensitive_features : list, array, series, frame or dict, optional
            Groups of the rows, for one or several attributes; names are kept. Without them the front is the one
            model that minimises the loss, and a warning says so.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        FairFrontClassifier
            Itself.
        """
        n_threads, number = threads(self.n_jobs), seed(self.random_state)
        policy, asked = self._policy(number), self._asked(number)
        check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        looks: Looks | None = None
        if _columns.is_path(X):
            dataset = read(X, y, sensitive_features, sample_weight, self.pos_label, policy, n_threads)
        else:
            given = self._assemble(X, y, sensitive_features, sample_weight, policy)
            looks = given.looks()
            dataset = _Dataset.of(given.parts, policy.settings(), n_threads)
        if not dataset.attributes:
            warnings.warn(ALONE, FairFrontWarning, stacklevel=2)
        self._warn(dataset.notices)
        with Progress(self.progress, type(self).__name__) as progress:
            run, stopped = _fit(dataset, asked, n_threads, progress.callback, self.max_seconds)
            progress.stopped = run.stop == "stopped"
        self._live = None
        self._take(run, looks or Looks.of_files(dataset, run), stopped, dataset.notices)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairFrontClassifier:
        """Bring the front up to date with a batch of rows.

        The first batch settles columns and scales; categories and groups that are new later are learned. The
        estimator holds the rows that are kept (``window``, ``reservoir``), and so do its pickles.

        Parameters
        ----------
        X : array, sparse matrix, frame or table with the Arrow interface
            Rows of the batch.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like of shape (2,), optional
            All classes; needed by the first call where its rows have only one of them.
        sensitive_features : list, array, series, frame or dict, optional
            Their groups, the same attributes in every call.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights, in every call or in none.

        Returns
        -------
        FairFrontClassifier
            Itself. As long as the rows so far have one class or one group only there is no front; ``waiting_``
            says why. Where no point of the new front meets ``require``, a ``ValueError`` says so; the rows are taken
            all the same.
            A batch that the solver cannot fit raises a ``ValueError`` as well, and changes nothing.
        """
        n_threads, number = threads(self.n_jobs), seed(self.random_state)
        policy, asked = self._policy(number), self._asked(number)
        check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        stream = self._live
        if stream is None:
            if hasattr(self, "_run"):
                message = "partial_fit begins anew: fit and load keep no rows to go on from"
                warnings.warn(message, FairFrontWarning, stacklevel=2)
            known = self._known_classes(y if classes is None else classes)
            given = self._assemble(X, y, sensitive_features, sample_weight, policy, classes=known)
            if given.n_attributes == 0:
                warnings.warn(ALONE, FairFrontWarning, stacklevel=2)
            stream = Stream(Live(*self._kept()), given.looks(), self._settled())
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), stream.looks.classes):
            was = stream.looks.classes
            raise ValueError(f"classes={classes!r} is not the same as on last call to partial_fit, was: {was!r}")
        else:
            stream.check(self._settled())
            given = self._assemble(X, y, sensitive_features, sample_weight, policy, looks=stream.looks)
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
        return self

    def _known_classes(self, labels: Any) -> tuple[npt.NDArray[Any], Any]:
        """The classes of a stream, and the one that is decided for."""
        found = _labels.check_classes(np.unique(np.asarray(labels)))
        return found, _labels.positive(found, self.pos_label)

    def _kept(self) -> tuple[int | None, int | None]:
        """Rows that a stream keeps: the latest, or a sample of all."""
        if self.window is not None and self.reservoir is not None:
            raise ValueError("window and reservoir: keep the latest rows or a sample of all, not both")
        window = None if self.window is None else whole("window", self.window, 1)
        return window, None if self.reservoir is None else whole("reservoir", self.reservoir, 1)

    def _settled(self) -> dict[str, Any]:
        """Parameters that the first batch of a stream settles."""
        free = {"require", "confidence", "exact", "best", "max_seconds", "n_jobs", "progress", "random_state"}
        return {name: value for name, value in self.get_params(deep=False).items() if name not in free}

    def _raise(self, stopped: BaseException | None) -> None:
        """What ended a fit before its time; what was found is kept."""
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
            raise ValueError(f"max_seconds={limit!r}: give a number above 0, or None")
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise TypeError(f"progress={self.progress!r}: expected True, False or a function")
        if not isinstance(self.solver, str):
            raise TypeError(f"solver={self.solver!r}: expected the name of a solver, or 'auto'")
        shares = (self.validation_fraction, self.holdout_fraction)
        small = (self.pool_rare, self.min_group, self.pool_groups)
        return Policy(*shares, self.missing, self.missing_sensitive, *small, number)

    def _assemble(self, X: Any, y: Any, sensitive: Any, weight: Any, policy: Policy, **known: Any) -> Given:
        return assemble(
            X,
            y,
            sensitive,
            weight,
            who=type(self).__name__,
            policy=policy,
            objectives=[] if self.objectives is None else self.objectives,
            pos_label=self.pos_label,
            **known,
        )

    def _asked(self, number: int) -> dict[str, Any]:
        objectives = self.objectives
        if isinstance(objectives, str):
            raise TypeError(f"objectives={objectives!r}: give a list of them, the loss first")
        return {
            "objectives": [] if objectives is None else [_text(objective) for objective in objectives],
            "solver": self.solver,
            "n_points": None if self.n_points is None else whole("n_points", self.n_points, 1),
            "settings": self._solver_settings(),
            "polish": bool(self.polish),
            "front_in": self.front_in,
            "penalty": _penalty(self.penalty),
            "preset": self.preset,
            "seed": number,
        }

    def _solver_settings(self) -> list[tuple[str, str]]:
        """Settings of the solver as the command has them, with hyphens."""
        if self.settings is None:
            return []
        if not isinstance(self.settings, Mapping):
            raise TypeError(f"settings={self.settings!r}: expected a dict of names and values")
        return [(str(name).replace("_", "-"), _value(value)) for name, value in self.settings.items()]

    def _warn(self, notices: list[tuple[bool, str]]) -> None:
        for warns, message in notices:
            if warns:
                warnings.warn(message, FairFrontWarning, stacklevel=4)

    def _take(
        self,
        run: Run,
        looks: Looks,
        stopped: BaseException | None = None,
        said: Sequence[tuple[bool, str]] = (),
    ) -> None:
        """Become what a run says, and raise what ended it before its time."""
        self._warn([notice for notice in run.notices if notice not in said])
        self._become(looks)
        self._run = run
        self.objectives_ = run.objectives
        self.notices_ = [message for _, message in run.notices]
        self.stop_reason_ = run.stop
        self.front_ = front_table(run)
        self.unmitigated_ = run.unmitigated()
        # Where no point meets what is required, the front is there all the same.
        self._point = None
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
        self.selected_ = self._point = int(self.selection_["id"])
        self.certificate_ = self.selection_["certificate"]
        self._raise(stopped)

    def _choose(self, require: Any, best: str | None, **rule: Any) -> dict[str, Any]:
        """The point that a rule chooses, and why."""
        self._check_fitted()
        choice = self._choice(require, best, **rule)
        chosen: dict[str, Any] = json.loads(self._run.select(choice))
        certificate = chosen["certificate"]
        if certificate and choice["confidence"] is not None and chosen["test"] is None:
            rows = {"train": "training"}.get(certificate["split"], certificate["split"])
            message = (
                f"require: there are no rows to certify on, so the requirement was checked on {rows} rows, which also"
                " chose the model; new people may well break it. Hold rows out (holdout_fraction=0.3), or choose"
                " without a test (confidence=None)"
            )
            warnings.warn(message, FairFrontWarning, stacklevel=4)
        return chosen

    @staticmethod
    def _choice(require: Any, best: str | None, **rule: Any) -> dict[str, Any]:
        """How a point is chosen, as the extension takes it."""
        requirements = [require] if isinstance(require, str) else [] if require is None else require
        if not isinstance(requirements, Sequence) or not all(isinstance(text, str) for text in requirements):
            raise TypeError(f"require={require!r}: expected a text such as 'accuracy >= 0.8', or a list of them")
        if best is not None and not isinstance(best, str):
            raise TypeError(f"best={best!r}: expected the name of a measure or objective")
        choice = {
            "require": list(requirements),
            "best": best,
            "knee": False,
            "regret": False,
            "weights": None,
            "point": None,
            "confidence": 0.95,
            "exact": False,
            "before": False,
            **rule,
        }
        confidence = choice["confidence"]
        if confidence is not None and not (isinstance(confidence, Real) and 0 < float(confidence) < 1):
            raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1, or None")
        choice["exact"] = bool(choice["exact"])
        if choice["point"] is not None:
            choice["point"] = whole("point", choice["point"], 0)
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
        point: int | None = None,
    ) -> FairClassifier:
        """Hand out one model of the front.

        Parameters
        ----------
        require : str or list of str, optional
            What it has to keep on new people, for instance ``"demographic_parity_ratio(sex) >= 0.8"``. Stated after the
            ``test.`` columns were shown, it is certified if their simultaneous band keeps the limit.
        confidence : float or None, default=0.95
            Confidence of the certificate. None checks ``require`` without a test.
        exact : bool, default=False
            Whether finite-sample tests certify.
        best : str, optional
            The measure or objective in which it is the best; by default the accuracy.
        knee : bool, default=False
            Take the knee instead: the model farthest below the straight line (for three or more objectives the plane)
            through the ends of the front, each value scaled to its range.
        regret : bool, default=False
            Take the point whose largest loss, in what the front is judged by, is least.
        weights : dict, optional
            Take the least weighted sum of these measures or objectives.
        point : int, optional
            Take this row of ``front_``.

        Returns
        -------
        FairClassifier
            A fitted classifier.
        """
        from fairfront._model import FairClassifier

        self._check_fitted()
        model = FairClassifier(
            self._unfitted(),
            require=require,
            confidence=confidence,
            exact=exact,
            best=best,
            knee=knee,
            regret=regret,
            weights=weights,
            point=point,
        )
        model._take(self, before=False)
        return model

    def _unfitted(self) -> FairFrontClassifier:
        """Another estimator with the same parameters, without rows or front."""
        return type(self)(**self.get_params(deep=False))

    @property
    def run_info_(self) -> dict[str, Any]:
        """What ``run.json`` of the command says: solver and settings, what is proven, what was spent."""
        self._check_fitted()
        info: dict[str, Any] = json.loads(self._run.info)
        return info

    @property
    def predictors_(self) -> Predictors:
        """The models of the front, one a point."""
        self._check_fitted()
        return Predictors(self)

    def report(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the interactive page of the front: one file, for any browser.

        Parameters
        ----------
        path : str or path
            Where, such as ``"report.html"``.
        force : bool, default=True
            Whether a file that is there is replaced.
        """
        from fairfront._files import write_text

        write_text(path, self._page(), force=force)

    def _page(self) -> str:
        """The interactive page, opened at the model in use."""
        self._check_fitted()
        require = [self.require] if isinstance(self.require, str) else list(self.require or [])
        start = [("require", text) for text in require] + [("best", self.best)]
        # Called as the folder that the guide saves it to: the page says what the command would be.
        return self._run.page("run", urlencode(start))

    def plot(self, x: str | None = None, y: str | None = None, *, ax: Any = None) -> Any:
        """Draw the front with matplotlib.

        Parameters
        ----------
        x, y : str, optional
            Columns of ``front_``; by default what the front is judged by.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a figure of its own.

        Returns
        -------
        matplotlib.axes.Axes
            Where it was drawn.
        """
        from fairfront._plot import plot_front

        self._check_fitted()
        return plot_front(self, x, y, ax)

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Give the model in use as an ONNX graph, from raw columns to decisions.

        Parameters
        ----------
        path : str or path, optional
            Where to write it too.
        force : bool, default=True
            Whether a file that is there is replaced.

        Returns
        -------
        bytes
            The graph.
        """
        return self.select(point=self._in_use()).to_onnx(path, force=force)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a run folder that the command reads too: ``fairfront show FOLDER``.

        Parameters
        ----------
        folder : str or path
            Where.
        force : bool, default=False
            Whether a run that is there is replaced.
        """
        from fairfront._files import save

        self._check_fitted()
        save(self, folder, force=force)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> FairFrontClassifier:
        """Read what ``save`` wrote, or a run folder of the command.

        Parameters
        ----------
        folder : str or path
            Where. A run of the command has no classes of Python: ``True`` stands for its positive value.

        Returns
        -------
        FairFrontClassifier
            Fitted.
        """
        from fairfront._files import load

        return load(cls, folder)

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        said = str(super().__repr__(*args, **kwargs))
        if not self.__sklearn_is_fitted__() or self._point is None:
            return said
        return f"{said}\n# uses point {self.selected_} of {self._run.n_points}: {self.selection_['reason']}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """In notebooks: the interactive page."""
        if not self.__sklearn_is_fitted__():
            bundle = getattr(super(), "_repr_mimebundle_", None)
            return dict(bundle(**kwargs)) if bundle is not None else {"text/plain": repr(self)}
        from fairfront._display import inline

        return {"text/plain": repr(self), "text/html": inline(self._page())}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


class Predictors(Sequence["FairClassifier"]):
    """The models of a front, made when they are asked for."""

    def __init__(self, front: FairFrontClassifier) -> None:
        self._front = front

    def __len__(self) -> int:
        return self._front._run.n_points

    @overload
    def __getitem__(self, index: int) -> FairClassifier: ...
    @overload
    def __getitem__(self, index: slice) -> list[FairClassifier]: ...
    def __getitem__(self, index: int | slice) -> FairClassifier | list[FairClassifier]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self._front.select(point=range(len(self))[index])

    def __iter__(self) -> Iterator[FairClassifier]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} models of {type(self._front).__name__}>"


def _text(objective: Any) -> Any:
    """Texts of numpy are texts."""
    return str(objective) if isinstance(objective, str) else objective


def _value(value: Any) -> str:
    """A setting as the command would have it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _penalty(penalty: Any) -> float | None:
    """The penalty as a number; None is ``"auto"``."""
    if isinstance(penalty, str) and penalty == "auto":
        return None
    if isinstance(penalty, (bool, str)) or penalty is None:
        raise ValueError(f"penalty={penalty!r}: not a penalty; choose \"auto\", or a number that is not negative")
    return float(penalty)
