"""FairFrontClassifier: a Pareto front of models, one of which makes the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from fairfront import _labels
from fairfront._base import ClassifierMixin
from fairfront._dataset import Policy
from fairfront._estimator import Own, bring, indexable_rows, placeholder
from fairfront._fairfront import Dataset as _Dataset
from fairfront._fairfront import plan_estimators
from fairfront._front_estimator import FrontEstimator
from fairfront._predict import Decides, Looks
from fairfront._progress import Callback

if TYPE_CHECKING:
    from fairfront._model import FairClassifier


class FairFrontClassifier(ClassifierMixin, Decides, FrontEstimator["FairClassifier"]):  # type: ignore[misc]
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
    reference : dict, default=None
        The reference group of sensitive features, such as ``{"race": "White"}``. ``front_`` then has the adverse impact
        ratio, shortfall, odds ratio and standardized mean difference of every other group against it.
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
        ``classes_[1]``. Only for two classes.
    order : list of labels, default=None
        More than two classes from the lowest to the highest, if their order has a meaning, such as
        ``["low", "mid", "high"]``. Fairness measures then compare the shares of rows that are decided for a class or a
        higher one.

    Attributes
    ----------
    front_ : pandas.DataFrame or dict of ndarray
        The front, one row per model, with objectives and measures on training rows, and on validation and test rows
        if there are any. With ``estimator`` or another ``family`` than ``"linear"``, the column ``family`` names the
        family of each model. The index is ``model_id``, which starts at 1. Without pandas, a dict of arrays in the
        order of the ids. ``front_.to_arrow()`` and ``front_.to_polars()`` convert it.
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
        The slope and the intercept that turn the score of the positive class into its log odds. For more than two
        classes, the slope multiplies all scores before the softmax.
    probability_threshold_ : float
        The probability of the positive class at which decisions change; 0.5 without validation rows. Defined only for
        two classes.
    stop_reason_ : str
        Why the solver ended; ``"stopped"`` means that a time limit, a callback or Ctrl-C ended it early.
    waiting_ : str or None
        After ``partial_fit``, why the last batch did not update the front; ``None`` if it did.
    classes_ : ndarray of shape (n_classes,)
        The classes in sorted order.
    pos_label_ : label or None
        The favorable class; ``None`` for more than two classes.
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
        reference: dict[str, Any] | None = None,
        window: int | None = None,
        reservoir: int | None = None,
        max_seconds: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: bool | Callback | None = None,
        pos_label: Any = None,
        order: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            objectives,
            estimator=estimator,
            solver=solver,
            n_models=n_models,
            require=require,
            confidence=confidence,
            exact=exact,
            holdout_fraction=holdout_fraction,
            best=best,
            front_in=front_in,
            penalty=penalty,
            polish=polish,
            settings=settings,
            preset=preset,
            family=family,
            hidden=hidden,
            validation_fraction=validation_fraction,
            missing=missing,
            missing_sensitive=missing_sensitive,
            pool_rare=pool_rare,
            min_group=min_group,
            pool_groups=pool_groups,
            reference=reference,
            window=window,
            reservoir=reservoir,
            max_seconds=max_seconds,
            random_state=random_state,
            n_jobs=n_jobs,
            progress=progress,
        )
        self.sensitive_estimator = sensitive_estimator
        self.prefit = prefit
        self.pos_label = pos_label
        self.order = order

    @classmethod
    def _model_type(cls) -> type[FairClassifier]:
        from fairfront._model import FairClassifier

        return FairClassifier

    def _target(self) -> dict[str, Any]:
        return {"pos_label": self.pos_label, "order": self.order}

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
    ) -> Self:
        """Update the front with a batch of rows.

        The first batch fixes the columns and their scales. Later batches may add categories and groups. The estimator
        and its pickles contain the rows that are kept (``window``, ``reservoir``). While the rows so far lack a class
        or have only one group, the front cannot be computed, and ``waiting_`` gives the reason.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Arrow table
            The rows of the batch, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,)
            The classes of the rows.
        classes : array-like of shape (n_classes,), default=None
            All classes. The first call needs them if its rows do not have all of them, unless ``order`` is set.
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
        known = {}
        if self._live is None:
            # An order lists all classes.
            all_classes = y if self.order is None else _labels.labels_of_order(self.order)
            known = {"classes": self._known_classes(all_classes if classes is None else classes)}
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self._live.looks.classes):
            was = self._live.looks.classes
            raise ValueError(f"classes={classes!r} is not the same as on last call to partial_fit, was: {was!r}")
        self._update(X, y, sensitive_features, sample_weight, known)
        return self

    def _known_classes(self, labels: Any) -> tuple[npt.NDArray[Any], Any]:
        """The classes of a stream, and the favorable one."""
        found = _labels.check_classes(np.unique(np.asarray(labels)), type(self).__name__)
        return found, _labels.positive(found, self.pos_label)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags
