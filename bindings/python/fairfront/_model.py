"""FairClassifier and FairRegressor: one model of a front, as an estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fairfront._base import BaseEstimator, ClassifierMixin, RegressorMixin
from fairfront._classifier import FairFrontClassifier
from fairfront._front_estimator import FrontEstimator
from fairfront._predict import Decides, PredictsNumbers, Scores
from fairfront._regressor import FairFrontRegressor


class FrontModel(Scores, BaseEstimator):  # type: ignore[misc]
    """One model of a front, and the rule that chose it; the common part of both kinds of models."""

    coefficients_: dict[str, Any]
    intercept_: Any

    def __init__(
        self,
        front: FrontEstimator[Any] | None = None,
        *,
        require: str | Sequence[str] | None = None,
        confidence: float | None = 0.95,
        exact: bool = False,
        best: str | None = None,
        knee: bool = False,
        regret: bool = False,
        weights: dict[str, float] | None = None,
        model_id: int | None = None,
    ) -> None:
        self.front = front
        self.require = require
        self.confidence = confidence
        self.exact = exact
        self.best = best
        self.knee = knee
        self.regret = regret
        self.weights = weights
        self.model_id = model_id

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        sensitive_probability: Any = None,
    ) -> Self:
        """Compute the front of the given rows, and choose a model from it.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The training rows, of shape (n_samples, n_features). If X is the path of a CSV or Parquet file, or a list of
            paths, ``y``, ``sensitive_features`` and ``sample_weight`` name columns of the file.
        y : array-like of shape (n_samples,), or str, default=None
            The target of the rows: classes for a classifier, and numbers for a regressor. ``None`` is an error.
        sensitive_features : list, array, Series, DataFrame or dict, default=None
            The groups of the rows, for one or several attributes, which keep their names.
        sample_weight : array-like of shape (n_samples,), or str, default=None
            The weights of the rows. By default, all rows have the same weight.
        sensitive_probability : dict, default=None
            Attributes of which only probabilities are known: for each, a dict from its groups to arrays of
            probabilities, or a DataFrame with a column per group. If X is a path, a dict from groups to columns, or a
            list of columns. Only classifiers accept it.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is invalid, if more than one rule is set, or if no model meets or can be certified for
            ``require``.
        TimeoutError
            If the time limit of ``front`` passes before the first model is found.
        Interrupted
            After Ctrl-C. The model is chosen from the front found so far.
        """
        self._check_rule()
        front = self._front()._unfitted()
        # This estimator's rule chooses the model, so the rule of the front must not fail.
        front.set_params(require=None, best=None)
        try:
            front.fit(
                X,
                y,
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                sensitive_probability=sensitive_probability,
            )
        except BaseException:
            # The front found before the interruption is usable.
            if front.__sklearn_is_fitted__():
                self._take(front, before=True)
            raise
        self._take(front, before=True)
        return self

    def _front(self) -> FrontEstimator[Any]:
        """The estimator that computes the front."""
        front = self._front_type()() if self.front is None else self.front
        if not isinstance(front, FrontEstimator) or front._PREDICTS_NUMBERS != self._PREDICTS_NUMBERS:
            wanted = self._front_type().__name__
            raise TypeError(f"front is {type(front).__name__}; pass a {wanted} to {type(self).__name__}")
        return front

    @classmethod
    def _front_type(cls) -> type[FrontEstimator[Any]]:
        """The usual estimator of the front."""
        raise NotImplementedError

    def _check_rule(self) -> None:
        given = [self.best is not None, self.knee, self.regret, self.weights is not None, self.model_id is not None]
        if sum(map(bool, given)) > 1:
            raise ValueError("more than one rule is set; set only one of best, knee, regret, weights and model_id")
        if self.weights is not None and not self.weights:
            raise ValueError("weights={}: expected at least one weight; pass a measure or objective with its weight")

    def _take(self, front: FrontEstimator[Any], *, before: bool) -> None:
        """Take over a model of a fitted front; ``before`` means that the requirement was stated before the fit."""
        self._check_rule()
        weights = self.weights and ",".join(f"{name}={float(weight)!r}" for name, weight in self.weights.items())
        selection = front._choose(
            self.require,
            self.best,
            confidence=self.confidence,
            exact=self.exact,
            before=before,
            knee=self.knee,
            regret=self.regret,
            weights=weights,
            model_id=self.model_id,
        )
        self._run = front._run
        self.model_id_ = self._model_id = int(selection["model_id"])
        self.selection_ = selection
        self.reason_ = str(selection["reason"])
        self.certificate_ = selection["certificate"]
        self.values_ = {name: float(values[self.model_id_ - 1]) for name, values in front._run.columns().items()}
        self._become(front._looks)
        self._take_parameters(front._run.parameters()[self.model_id_ - 1])

    def _take_parameters(self, parameters: npt.NDArray[np.float64]) -> None:
        """Store the coefficients and the intercept, or an array of them with one value per class."""
        features, at, classes = self._run.features, self._class_positions(), self._run.classes
        if at is not None and classes is not None:
            # Coefficients class by class, then intercepts. Names begin with the class, as in "high:age".
            n_classes = len(at)
            by_class = parameters[:-n_classes].reshape(n_classes, -1)[at]
            features = [name.removeprefix(f"{classes[0][0]}:") for name in features[: by_class.shape[1]]]
            self.coefficients_ = dict(zip(features, by_class.T.copy(), strict=True))
            self.intercept_ = parameters[-n_classes:][at]
            return
        *coefficients, intercept = parameters.tolist()
        # Models of numbers predict standard deviations from the mean.
        mean, deviation = self._run.unit or (0.0, 1.0)
        coefficients = [deviation * coefficient for coefficient in coefficients]
        self.coefficients_ = dict(zip(features, coefficients, strict=True))
        self.intercept_ = mean + deviation * float(intercept)

    def _jobs(self) -> int | None:
        return None if self.front is None else self.front.n_jobs

    def _check_exportable(self) -> None:
        self._check_fitted()
        if not self._looks.can_be_exported:
            raise ValueError(
                "the model needs the probabilities of your estimator, which no file of fairfront contains; pickle the"
                f" {type(self).__name__} instead"
            )

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Export the model as an ONNX graph, from raw columns to predictions.

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
        return self.export("onnx", path, force=force)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Export the model for programs that do not use fairfront.

        Parameters
        ----------
        format : {"onnx", "sql", "table"}
            The format: an ONNX graph, a SELECT statement, or the coefficients as CSV.
        path : str or path-like, default=None
            The path of a file to write the model to. By default, no file is written.
        force : bool, default=True
            Whether to overwrite an existing file.

        Returns
        -------
        bytes
            The content of a file in this format.
        """
        from fairfront._files import write_bytes

        self._check_exportable()
        exported = self._run.export(self.model_id_, type(self).__name__, format)
        if path is not None:
            write_bytes(path, exported, force=force)
        return exported

    def to_json(self) -> str:
        """Convert the model to the JSON of a model file, for ``fairfront predict MODEL FILE -o OUT``.

        Returns
        -------
        str
            The content of the model file.
        """
        self._check_exportable()
        certificate = self.certificate_ and json.dumps(self.certificate_)
        return self._run.model(self.model_id_, type(self).__name__, certificate)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a model file with the content of ``to_json``.

        Parameters
        ----------
        path : str or path-like
            The path of the file.
        force : bool, default=False
            Whether to overwrite an existing file.
        """
        from fairfront._files import write_text

        write_text(path, self.to_json(), force=force)

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        said = str(super().__repr__(*args, **kwargs))
        return f"{said}\n# model {self.model_id_}: {self.reason_}" if self.__sklearn_is_fitted__() else said

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._front().__sklearn_tags__().input_tags
        return tags


class FairClassifier(ClassifierMixin, Decides, FrontModel):  # type: ignore[misc]
    """One model of a front, as ``FairFrontClassifier.select`` returns it.

    It is also an estimator: ``fit`` computes the front of other rows and chooses a model by the same rule. A choice can
    therefore be fitted again, cross-validated and used in pipelines. Use at most one of ``best``, ``knee``, ``regret``,
    ``weights`` and ``model_id``.

    Parameters
    ----------
    front : FairFrontClassifier, default=None
        The estimator that computes the front. Its own ``require`` and ``best`` are ignored. By default,
        ``FairFrontClassifier()``.
    require : str or list of str, default=None
        Requirements that the model has to meet on new people, for example
        ``"demographic_parity_ratio(sex) >= 0.8"``. The limit may be a percentage, as in ``">= 80%"``.
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
        The id of the model in the front. Ids start at 1.

    Attributes
    ----------
    model_id_ : int
        The id of the model in the front.
    reason_ : str
        Why this model was chosen.
    selection_ : dict
        The rule and the reason of the choice, and the price of the model.
    certificate_ : dict or None
        The requirements on the model and whether they are certified; ``None`` if ``require`` is ``None``.
    values_ : dict
        The objectives and measures of the model, by the names of the columns of ``FairFrontClassifier.front_``.
    coefficients_ : dict
        The coefficient of each encoded feature. For more than two classes, an array in the order of ``classes_``.
    intercept_ : float or ndarray of shape (n_classes,)
        The intercept, which is added to every score; for more than two classes, one per class.
    calibration_ : dict
        The slope and the intercept that turn the score of the positive class into its log odds. For more than two
        classes, the slope multiplies all scores before the softmax.
    probability_threshold_ : float
        The probability of the positive class at which decisions change; 0.5 without validation rows. Defined only for
        two classes.
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
    >>> from fairfront import FairClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(1000, 2)), rng.integers(2, size=1000)
    >>> X[:, 0] += sex
    >>> y = X[:, 0] + rng.normal(size=1000) > 0.5
    >>> model = FairClassifier(knee=True).fit(X, y, sensitive_features=sex)
    >>> sorted(model.coefficients_)
    ['x0', 'x1']
    """

    @classmethod
    def _front_type(cls) -> type[FairFrontClassifier]:
        return FairFrontClassifier


class FairRegressor(RegressorMixin, PredictsNumbers, FrontModel):  # type: ignore[misc]
    """One model of a front of numbers, as ``FairFrontRegressor.select`` returns it.

    It is also an estimator: ``fit`` computes the front of other rows and chooses a model by the same rule. Use at most
    one of ``best``, ``knee``, ``regret``, ``weights`` and ``model_id``.

    Parameters
    ----------
    front : FairFrontRegressor, default=None
        The estimator that computes the front. Its own ``require`` and ``best`` are ignored. By default,
        ``FairFrontRegressor()``.
    require : str or list of str, default=None
        Requirements that the model has to meet on new people, for example ``"mean_difference(sex) <= 0.5"``, in the
        unit of y.
    confidence : float or None, default=0.95
        The confidence of the certificate. ``None`` checks ``require`` without a test.
    exact : bool, default=False
        Whether to certify with finite-sample tests, which need more rows.
    best : str, default=None
        The measure or objective by which the model is the best. By default, the error that the loss corresponds to,
        such as ``"rmse"``.
    knee : bool, default=False
        Whether to choose the knee: the model farthest below the straight line (for three or more objectives, the
        plane) through the ends of the front, with each value scaled to its range.
    regret : bool, default=False
        Whether to choose the model with the smallest worst-case regret: its largest scaled distance from the best
        value, over all values that the front compares, is smallest.
    weights : dict, default=None
        Weights of measures or objectives by name. The model with the smallest weighted sum is chosen.
    model_id : int, default=None
        The id of the model in the front. Ids start at 1.

    Attributes
    ----------
    model_id_ : int
        The id of the model in the front.
    reason_ : str
        Why this model was chosen.
    selection_ : dict
        The rule and the reason of the choice, and the price of the model.
    certificate_ : dict or None
        The requirements on the model and whether they are certified; ``None`` if ``require`` is ``None``.
    values_ : dict
        The objectives and measures of the model, by the names of the columns of ``FairFrontRegressor.front_``.
    coefficients_ : dict
        The coefficient of each encoded feature, in the unit of y.
    intercept_ : float
        The intercept, in the unit of y.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns of X. Defined only if X has names that are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from fairfront import FairRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(1000, 2)), rng.integers(2, size=1000)
    >>> X[:, 0] += sex
    >>> y = 10 * X[:, 0] + rng.normal(size=1000)
    >>> model = FairRegressor(knee=True).fit(X, y, sensitive_features=sex)
    >>> sorted(model.coefficients_)
    ['x0', 'x1']
    """

    @classmethod
    def _front_type(cls) -> type[FairFrontRegressor]:
        return FairFrontRegressor
