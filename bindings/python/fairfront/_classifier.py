"""FairFrontClassifier: a Pareto front of models, one of which makes the decisions."""

from __future__ import annotations

import inspect
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
from fairfront._dataset import Given, Policy, assemble, is_block_file, open_block_file, read
from fairfront._estimator import Own, bring, indexable_rows, placeholder
from fairfront._fairfront import Dataset as _Dataset
from fairfront._fairfront import Live, check_choice, plan_estimators
from fairfront._fairfront import fit as _fit
from fairfront._front import front_table
from fairfront._interrupt import Interrupted
from fairfront._predict import Decides, Looks
from fairfront._progress import Callback, Progress, seed, threads, whole
from fairfront._stream import Stream

if TYPE_CHECKING:
    from fairfront._fairfront import Run
    from fairfront._model import FairClassifier


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
    "pos_label",
)


class FairFrontWarning(UserWarning):
    """Warning about something that may make results wrong or unreliable."""


class FairFrontClassifier(ClassifierMixin, Decides, BaseEstimator):  # type: ignore[misc]
    """Linear classifier that trains a whole Pareto front between prediction loss and fairness.

    ``fit`` computes the front and stores it in ``front_``. ``predict`` uses the model of the front that ``require``
    and ``best`` choose; ``select`` returns any model of the front as a classifier. No model needs the sensitive
    features to decide.

    Parameters
    ----------
    objectives : list of {str, Objective}, default=None
        The objectives to minimize, the loss first, for example ``["error_rate", "equalized_odds(sex)"]``. ``sex:race``
        is the intersection of two features. By default, the error rate and the demographic parity of each sensitive
        feature. The solvers ``"trace"`` and ``"eps-fair"`` and the preset ``"paper"`` need covariances, so their
        default is the log loss and the score covariance of each sensitive feature.
    estimator : classifier, default=None
        Your own model: any classifier of scikit-learn's kind with ``predict_proba``, also a pipeline. ``fit`` clones it
        and fits the clones on five folds and on all training rows, to the classes and to the groups; the models of the
        front combine their out-of-fold probabilities. X is passed on unchanged. Random states that are not set become
        ``random_state``. By default, fairfront's own ``family`` of models is fitted.
    sensitive_estimator : classifier, default=None
        The classifier that estimates the probabilities of the groups. By default, a clone of ``estimator``.
    prefit : bool, default=False
        Whether ``estimator`` is already fitted, on other rows than those of ``fit``. It is then used as it is. A
        fitted ``sensitive_estimator`` is too, if the objectives compare the groups of one feature among all rows.
    solver : {"auto", "trace", "weighted", "pf-smg", "eps-fair"}, default="auto"
        The solver. ``"auto"`` chooses it by the objectives.
    n_models : int, default=None
        The number of models that the solver aims for. By default, 1,000 for ``"trace"``, 200 for ``"weighted"``, 1,500
        for ``"pf-smg"`` and 100 for ``"eps-fair"``.
    require : str or list of str, default=None
        Requirements that the model in use has to meet on new people, for example
        ``"demographic_parity_ratio(sex) >= 0.8"``. The limit may be a percentage, as in ``">= 80%"``. Requirements are
        certified on the rows that ``holdout_fraction`` holds out. Without such rows, they are checked on validation or
        training rows, and ``fit`` warns.
    confidence : float or None, default=0.95
        The confidence of the certificate. ``None`` checks ``require`` without a test.
    exact : bool, default=False
        Whether to certify with finite-sample tests, which need more rows.
    holdout_fraction : float, default=0.0
        The share of the rows, drawn with ``random_state``, that influence no model and no choice. These rows certify
        ``require`` and give the ``test.`` columns of ``front_`` with their intervals.
    best : str, default="accuracy"
        The measure or objective by which the model in use is the best of the models that meet ``require``.
    front_in : {"measures", "objectives"}, default=None
        The values that the front compares. By default, measures if every objective is a smooth version of a measure,
        and objectives otherwise.
    penalty : "auto" or float, default="auto"
        The penalty on the coefficients in the log loss. ``"auto"`` chooses it by cross-validation on the training rows
        with a one-standard-error rule; with the preset ``"paper"`` it is 0.0001. ``run_info_["penalty"]`` contains the
        penalty and the losses that it was chosen by.
    polish : bool, default=False
        Whether to refine the front with exact steps, for any solver.
    settings : dict, default=None
        Settings of the solver by name, the same as for ``--set`` of the command.
    preset : {"paper"}, default=None
        ``"paper"`` uses the settings of the experiments of Liu and Vicente instead of fairfront's defaults.
    family : {"linear", "trees", "auto", "network"}, default="linear"
        The family of models. ``"trees"`` combines probabilities that boosted trees estimate out of fold. ``"auto"``
        fits both families and keeps the models that no other model dominates. Validation rows correct the advantage
        of linear models on the rows they were fitted on, so set ``validation_fraction`` too. ``"network"`` fits
        neural networks with one hidden layer.
    hidden : int, default=None
        The number of hidden units of networks, from 1 to 1,024; by default 16. Only for ``family="network"``.
    validation_fraction : float, default=0.0
        The share of the rows, drawn with ``random_state``, that do not train models but help to choose them. By
        default, all rows train models, and models are chosen on the same rows.
    missing : {"keep", "error", "drop"}, default="keep"
        How to treat rows with missing values in X. ``"keep"`` replaces a missing number by the mean and adds an
        indicator feature, and makes missing categories a category of their own. ``"error"`` rejects such rows, and
        ``"drop"`` drops them.
    missing_sensitive : {"error", "group", "loss-only", "drop"}, default="error"
        How to treat rows with missing sensitive values. ``"error"`` rejects them, ``"group"`` makes them a group of
        their own, ``"loss-only"`` uses them for the loss only, and ``"drop"`` drops them.
    pool_rare : int, default=0
        Categories with fewer training rows than this are pooled into one.
    min_group : int, default=30
        Groups with fewer training rows than this are reported, but left out of differences and ratios. For measures
        of positive or negative rows only, these rows count. ``fairfront.metrics`` leaves no group out.
    pool_groups : int, default=0
        Groups with fewer training rows than this are pooled into one group, ``(other)``.
    window : int, default=None
        The number of latest rows that ``partial_fit`` keeps. By default, it keeps all rows.
    reservoir : int, default=None
        The size of the uniform sample of all rows that ``partial_fit`` keeps. Cannot be combined with ``window``.
    max_seconds : float, default=None
        The time limit of the fit, which then ends with the front found so far. The time starts when ``fit`` begins to
        encode the rows, after it has checked and converted its arguments and fitted ``estimator``. Finishing takes up
        to 2 seconds more, plus one pass over the rows. If no model is found in time, ``fit`` raises ``TimeoutError``.
    random_state : int, RandomState, Generator or None, default=0
        The random seed. The same seed gives the same front for any ``n_jobs``. ``None`` draws a seed at random.
    n_jobs : int, default=None
        The number of threads; -1 uses all cores that are available to the process. By default, all of them too, or
        ``OMP_NUM_THREADS`` if that is smaller. Also the number of processes that fit ``estimator``, by default one.
    progress : bool or callable, default=None
        ``True`` draws a progress bar (with tqdm). A function is called at intervals with a dict (``round``, ``share``,
        ``n_models``, ``hypervolume``, ``seconds``) and ends the fit by returning a true value.
    pos_label : label, default=None
        The favorable class, for example ``"hired"``. Fairness measures treat this class as positive. By default,
        ``classes_[1]``.

    Attributes
    ----------
    front_ : pandas.DataFrame or dict of ndarray
        The front, one row per model, with objectives and measures on training rows, and on validation and test rows if
        there are any. With ``estimator`` or another ``family`` than ``"linear"``, the column ``family`` names the
        family of each model. The index is ``model_id``, which starts at 1. Without pandas, a dict of arrays in the order of
        the ids. ``front_.to_arrow()`` and ``front_.to_polars()`` convert it.
    predictors_ : sequence of FairClassifier
        The models of the front: ``predictors_[0]`` is model 1.
    selected_ : int
        The id of the model that ``predict`` uses.
    selection_ : dict
        The rule and the reason of the choice, and the price of the model.
    certificate_ : dict or None
        The requirements on the model in use and whether they are certified; ``None`` if ``require`` is ``None``.
    unmitigated_ : dict
        The columns of ``front_`` for the unmitigated model, which minimizes the loss alone.
    objectives_ : list of str
        The canonical names of the objectives.
    messages_ : list of str
        The warnings and notes of the fit.
    run_info_ : dict
        The content of the command's ``run.json``: the solver and its settings, optimality proofs, counts and times.
    learners_ : list of dict
        The learners whose probabilities the models combine: ``predicts``, ``kind``, ``classes``, ``rows``, and the
        ``log_loss`` and ``auc`` of the out-of-fold probabilities. Empty for linear models.
    calibration_ : dict
        The slope and the intercept that turn the score of the positive class into its log odds.
    probability_threshold_ : float
        The probability of the positive class at which decisions change; 0.5 without validation rows.
    stop_reason_ : str
        Why the solver ended; ``"stopped"`` means that a time limit, a callback or Ctrl-C ended it early.
    waiting_ : str or None
        After ``partial_fit``, why the last batch did not update the front; ``None`` if it did.
    classes_ : ndarray of shape (2,)
        The classes in sorted order.
    pos_label_ : label
        The favorable class.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns of X. Defined only if X has names that are strings.

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

    #: The rows and the front of ``partial_fit``.
    _live: Stream | None = None

    def __init__(
        self,
        objectives: Sequence[Any] | None = None,
        *,
        estimator: Any = None,
        sensitive_estimator: Any = None,
        prefit: bool = False,
        solver: str = "auto",
        n_models: int | None = None,
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
        family: str = "linear",
        hidden: int | None = None,
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
        self.estimator = estimator
        self.sensitive_estimator = sensitive_estimator
        self.prefit = prefit
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
        """Compute the front, and choose the model to use.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The training rows, of shape (n_samples, n_features). Strings and categories in frames need no encoding. If X
            is the path of a CSV or Parquet file, or a list of paths, ``y``, ``sensitive_features`` and
            ``sample_weight`` name columns of the file. The path of a block file (:func:`fairfront.pack`), whose rows
            need not fit in memory, needs no other arguments.
        y : array-like of shape (n_samples,), or str, default=None
            The classes of the rows. There must be two classes. ``None`` is an error, except for a block file.
        sensitive_features : list, array, Series, DataFrame or dict, default=None
            The groups of the rows, for one or several attributes, which keep their names. Without sensitive features,
            the front is the one model that minimizes the loss, and ``fit`` warns.
        sample_weight : array-like of shape (n_samples,), or str, default=None
            The weights of the rows. By default, all rows have the same weight.

        Returns
        -------
        self : FairFrontClassifier
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
        n_threads, number = threads(self.n_jobs), seed(self.random_state)
        policy, asked = self._policy(number), self._asked(number)
        check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        looks: Looks | None = None
        said: list[tuple[bool, str]] = []
        if is_block_file(X):
            self._check_block_file(y, sensitive_features, sample_weight)
            dataset = open_block_file(X, n_jobs=self.n_jobs)
        elif self._has_estimator():
            dataset, looks, said = self._bring(X, y, sensitive_features, sample_weight, policy, asked, n_threads)
        elif _columns.is_path(X):
            dataset = read(X, y, sensitive_features, sample_weight, self.pos_label, policy, n_threads)
        else:
            given = self._assemble(X, y, sensitive_features, sample_weight, policy)
            looks = given.looks()
            dataset = _Dataset.of(given.parts, policy.settings(), n_threads)
        self._fit_dataset(dataset, asked, looks, said)
        return self

    def _fit_dataset(
        self,
        dataset: _Dataset,
        asked: dict[str, Any] | None = None,
        looks: Looks | None = None,
        said: Sequence[tuple[bool, str]] = (),
    ) -> None:
        """Compute the front of a data set; its classes are strings, unless ``looks`` has others."""
        if asked is None:
            asked = self._asked(seed(self.random_state))
            check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        messages = [*said, *dataset.messages]
        if not dataset.attributes:
            warnings.warn(ALONE, FairFrontWarning, stacklevel=3)
        self._warn(messages)
        with Progress(self.progress, type(self).__name__) as progress:
            run, stopped = _fit(dataset, asked, threads(self.n_jobs), progress.callback, self.max_seconds)
            progress.stopped = run.stop == "stopped"
        self._live = None
        self._take(run, looks or Looks.of_files(dataset, run), stopped, messages, stacklevel=5)

    def _check_block_file(self, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
        """Reject arguments and parameters about columns and rows, which a block file has already."""
        given = {"y": y, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
        found = [name for name, value in given.items() if value is not None]
        signature = inspect.signature(FairFrontClassifier.__init__).parameters
        for name in (*_ROWS, "estimator", "sensitive_estimator"):
            value = getattr(self, name)
            if value is not signature[name].default and value != signature[name].default:
                found.append(name)
        if found:
            raise ValueError(
                f"{found[0]} is set, but X is a block file, which already has its columns, rows and split; remove "
                f"{found[0]}, or pack the table again"
            )

    def _has_estimator(self) -> bool:
        """Whether the user's own estimator is used; rejects parameters that contradict it."""
        if self.estimator is None:
            # Estimators may have no truth value.
            is_set = {"sensitive_estimator": self.sensitive_estimator is not None, "prefit": self.prefit}
            for name in is_set:
                if is_set[name]:
                    raise ValueError(f"{name} is set, but estimator is not; set estimator, or remove {name}")
            return False
        for name, default in (("family", "linear"), ("missing", "keep"), ("pool_rare", 0)):
            if getattr(self, name) != default:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no effect on your own estimator; remove {name} or estimator"
                )
        return True

    def _bring(
        self, X: Any, y: Any, sensitive: Any, weight: Any, policy: Policy, asked: dict[str, Any], n_threads: int
    ) -> tuple[_Dataset, Looks, list[tuple[bool, str]]]:
        """Rows that consist of the probabilities of the user's own estimators; ``asked`` gets their roles."""
        own = Own(self.estimator, self.sensitive_estimator, bool(self.prefit))
        X = indexable_rows(X)
        given = self._assemble(placeholder(X), y, sensitive, weight, policy)
        rows = _Dataset.of(given.parts, policy.settings(), n_threads)
        plan = plan_estimators(rows, asked, n_threads)
        brought = bring(X, given, plan, own, policy.seed, self.n_jobs)
        asked.update(family="trees", brought=brought.roles)
        dataset = _Dataset.of({**given.parts, "features": brought.features.columns}, policy.settings(), n_threads)
        return dataset, brought.looks(given, X), [(True, message) for message in brought.messages]

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairFrontClassifier:
        """Update the front with a batch of rows.

        The first batch fixes the columns and their scales. Later batches may add categories and groups. The estimator
        and its pickles contain the rows that are kept (``window``, ``reservoir``). While the rows so far have only one
        class or one group, the front cannot be computed, and ``waiting_`` gives the reason.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Arrow table
            The rows of the batch, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,)
            The classes of the rows.
        classes : array-like of shape (2,), default=None
            Both classes. The first call needs them if its rows have only one class.
        sensitive_features : list, array, Series, DataFrame or dict, default=None
            The groups of the rows, with the same attributes in every call.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows, in every call or in no call.

        Returns
        -------
        self : FairFrontClassifier
            The updated estimator.

        Raises
        ------
        ValueError
            If no model of the new front meets ``require``; the rows are kept nevertheless. Also if the solver cannot
            fit the batch, which then changes nothing.
        """
        if self._has_estimator():
            raise ValueError("estimator: partial_fit cannot update your own estimator; use fit, or remove estimator")
        n_threads, number = threads(self.n_jobs), seed(self.random_state)
        policy, asked = self._policy(number), self._asked(number)
        check_choice(self._choice(self.require, self.best, confidence=self.confidence, exact=self.exact))
        stream = self._live
        if stream is None:
            if hasattr(self, "_run"):
                message = "partial_fit starts from scratch, because fit and load keep no rows to continue from"
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
        """The classes of a stream, and the favorable one."""
        found = _labels.check_classes(np.unique(np.asarray(labels)))
        return found, _labels.positive(found, self.pos_label)

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
                f"require: there are no rows to certify on, so the requirement was checked on {rows} rows, which also"
                " chose the model, so it may not hold for new people; hold rows out (holdout_fraction=0.3), or choose"
                " without a test (confidence=None)"
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
    ) -> FairClassifier:
        """Choose a model of the front.

        Use at most one of ``best``, ``knee``, ``regret``, ``weights`` and ``model_id``.

        Parameters
        ----------
        require : str or list of str, default=None
            Requirements that the model has to meet on new people, for example
            ``"demographic_parity_ratio(sex) >= 0.8"``. A requirement that was not stated before the fit counts as
            stated after looking at the ``test.`` columns; it is certified if their simultaneous band keeps the limit.
        confidence : float or None, default=0.95
            The confidence of the certificate. ``None`` checks ``require`` without a test.
        exact : bool, default=False
            Whether to certify with finite-sample tests, which need more rows.
        best : str, default=None
            The measure or objective by which the model is the best. By default, the accuracy.
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
        FairClassifier
            The chosen model, a fitted classifier.

        Raises
        ------
        ValueError
            If no model meets or can be certified for ``require``, or if more than one rule is set.
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
            model_id=model_id,
        )
        model._take(self, before=False)
        return model

    def _unfitted(self) -> FairFrontClassifier:
        """A new estimator with the same parameters, without rows or a front."""
        return type(self)(**self.get_params(deep=False))

    @property
    def run_info_(self) -> dict[str, Any]:
        """The content of the command's ``run.json``: solver and settings, optimality proofs, counts and times."""
        self._check_fitted()
        info: dict[str, Any] = json.loads(self._run.info)
        return info

    @property
    def predictors_(self) -> Predictors:
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
        start = [("require", requirement) for requirement in require] + [("best", self.best)]
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
        """Export the model in use as an ONNX graph, from raw columns to decisions.

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
    def load(cls, folder: str | os.PathLike[str]) -> FairFrontClassifier:
        """Load a run folder that ``save`` or the command wrote.

        Parameters
        ----------
        folder : str or path-like
            The path of the folder. A run of the command has no Python classes: ``True`` is its positive value.

        Returns
        -------
        FairFrontClassifier
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
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags


class Predictors(Sequence["FairClassifier"]):
    """The models of a front, created on access."""

    def __init__(self, front: FairFrontClassifier) -> None:
        self._front = front

    def __len__(self) -> int:
        return self._front._run.n_models

    @overload
    def __getitem__(self, index: int) -> FairClassifier: ...
    @overload
    def __getitem__(self, index: slice) -> list[FairClassifier]: ...
    def __getitem__(self, index: int | slice) -> FairClassifier | list[FairClassifier]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return self._front.select(model_id=range(1, len(self) + 1)[index])

    def __iter__(self) -> Iterator[FairClassifier]:
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
