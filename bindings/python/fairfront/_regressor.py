"""FairFrontRegressor: a Pareto front of models that predict numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from fairfront._base import RegressorMixin
from fairfront._front_estimator import FrontEstimator
from fairfront._predict import PredictsNumbers

if TYPE_CHECKING:
    from fairfront._model import FairRegressor


class FairFrontRegressor(RegressorMixin, PredictsNumbers, FrontEstimator["FairRegressor"]):  # type: ignore[misc]
    """Linear regressor that trains a whole Pareto front between prediction error and fairness.

    ``fit`` computes the front and stores it in ``front_``. ``predict`` uses the model of the front that ``require``
    and ``best`` choose; ``select`` returns any model of the front as a regressor. No model needs the sensitive
    features to predict. Measures of errors and means are in the unit of y. Objectives, as in the ``objective.``
    columns of ``front_``, are in standard deviations of y, so they do not depend on its unit.

    Parameters
    ----------
    objectives : list of {str, Objective}, default=None
        The objectives to minimize, the loss first, for example ``["squared_error", "mean_difference(sex)"]``. The
        losses are ``squared_error``, ``absolute_error`` and ``quantile_loss(q=0.9)``. ``sex:race`` is the intersection
        of two features. By default, the squared error and the mean difference of each sensitive feature. The solvers
        ``"trace"`` and ``"eps-fair"`` and the preset ``"paper"`` need covariances, so their default is the squared
        error and the score covariance of each sensitive feature.
    estimator : None, default=None
        Must be ``None``: your own estimators can classify only. To use your own regressor, add its out-of-fold
        predictions to X as a column.
    solver : {"auto", "trace", "weighted", "pf-smg", "eps-fair"}, default="auto"
        The solver. ``"auto"`` chooses it by the objectives.
    n_models : int, default=None
        The number of models that the solver aims for. By default, 1,000 for ``"trace"``, 200 for ``"weighted"``, 1,500
        for ``"pf-smg"`` and 100 for ``"eps-fair"``.
    require : str or list of str, default=None
        Requirements that the model in use has to meet on new people, for example ``"mean_difference(sex) <= 0.5"``, in
        the unit of y. Requirements are certified on the rows that ``holdout_fraction`` holds out. Without such rows,
        they are checked on validation or training rows, and ``fit`` warns.
    confidence : float or None, default=0.95
        The confidence of the certificate. ``None`` checks ``require`` without a test.
    exact : bool, default=False
        Whether to certify with finite-sample tests, which need more rows.
    holdout_fraction : float, default=0.0
        The share of the rows, drawn with ``random_state``, that influence no model and no choice. These rows certify
        ``require`` and give the ``test.`` columns of ``front_`` with their intervals.
    best : str, default=None
        The measure or objective by which the model in use is the best of the models that meet ``require``. By default,
        the error that the loss corresponds to: ``"rmse"`` for the squared error, and ``"mae"`` for the other losses.
    front_in : {"measures", "objectives"}, default=None
        The values that the front compares. By default, measures if every objective is a smooth version of a measure,
        and objectives otherwise.
    penalty : "auto" or float, default="auto"
        The penalty on the coefficients in the loss. ``"auto"`` chooses it by cross-validation on the training rows
        with a one-standard-error rule; with the preset ``"paper"`` it is 0.0001. ``run_info_["penalty"]`` contains the
        penalty and the losses that it was chosen by.
    polish : bool, default=False
        Whether to refine the front with exact steps, for any solver.
    settings : dict, default=None
        Settings of the solver by name, the same as for ``--set`` of the command.
    preset : {"paper"}, default=None
        ``"paper"`` uses the settings of the experiments of Liu and Vicente instead of fairfront's defaults.
    family : {"linear", "trees", "auto", "network"}, default="linear"
        The family of models. ``"network"`` fits neural networks with one hidden layer.
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
        Groups with fewer training rows than this are reported, but left out of differences and ratios.
    pool_groups : int, default=0
        Groups with fewer training rows than this are pooled into one group, ``(other)``.
    reference : dict, default=None
        The reference group of sensitive features, such as ``{"race": "White"}``. ``front_`` then has the
        standardized mean difference of every other group against it.
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

    Attributes
    ----------
    front_ : pandas.DataFrame or dict of ndarray
        The front, one row per model, with objectives and measures on training rows, and on validation and test rows
        if there are any. With another ``family`` than ``"linear"``, the column ``family`` names the family of each
        model. The index is ``model_id``, which starts at 1. Without pandas, a dict of arrays in the order of the ids.
        ``front_.to_arrow()`` and ``front_.to_polars()`` convert it.
    predictors_ : sequence of FairRegressor
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
    stop_reason_ : str
        Why the solver ended; ``"stopped"`` means that a time limit, a callback or Ctrl-C ended it early.
    waiting_ : str or None
        After ``partial_fit``, why the last batch did not update the front; ``None`` if it did.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns of X. Defined only if X has names that are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from fairfront import FairFrontRegressor
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], size=2000)
    >>> X = rng.normal(size=(2000, 2))
    >>> X[:, 0] += sex == "m"
    >>> salary = 30 + 5 * X[:, 0] + rng.normal(size=2000)
    >>> reg = FairFrontRegressor(require="mean_difference(sex) <= 1", confidence=None)
    >>> reg = reg.fit(X, salary, sensitive_features={"sex": sex})
    >>> predicted = reg.predict(X)
    >>> bool(abs(predicted[sex == "m"].mean() - predicted[sex == "f"].mean()) <= 1)
    True
    >>> fairest = reg.select(best="mean_difference(sex)")
    >>> bool(fairest.score(X, salary) < reg.score(X, salary))
    True
    """

    @classmethod
    def _model_type(cls) -> type[FairRegressor]:
        from fairfront._model import FairRegressor

        return FairRegressor

    def _target(self) -> dict[str, Any]:
        return {"numeric": True}

    def _has_estimator(self) -> bool:
        if self.estimator is not None:
            raise ValueError(
                "estimator: only FairFrontClassifier can use your own estimators; remove estimator, and add the"
                " out-of-fold predictions of your regressor (cross_val_predict of scikit-learn) to X as a column"
            )
        return False

    def partial_fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Update the front with a batch of rows.

        The first batch fixes the columns, their scales and the unit of y. Later batches may add categories and groups.
        The estimator and its pickles contain the rows that are kept (``window``, ``reservoir``). While y is constant in
        the rows so far, or while they have only one group, the front cannot be computed, and ``waiting_`` gives the
        reason.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or Arrow table
            The rows of the batch, of shape (n_samples, n_features).
        y : array-like of shape (n_samples,)
            The numbers of the rows.
        sensitive_features : list, array, Series, DataFrame or dict, default=None
            The groups of the rows, with the same attributes in every call.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows, in every call or in no call.

        Returns
        -------
        self : FairFrontRegressor
            The updated estimator.

        Raises
        ------
        ValueError
            If no model of the new front meets ``require``; the rows are kept nevertheless. Also if the solver cannot
            fit the batch, which then changes nothing.
        """
        self._update(X, y, sensitive_features, sample_weight, {})
        return self
