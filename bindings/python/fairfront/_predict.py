"""The base of fitted estimators: predictions of the model in use."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from fairfront import _columns
from fairfront._base import NotFittedError
from fairfront._progress import threads

if TYPE_CHECKING:
    from fairfront._fairfront import Dataset, Run


@dataclass(frozen=True)
class Looks:
    """The classes and columns of the training rows, which rows to be scored must match."""

    #: The array of the classes, and the favorable one of two; ``None`` if the target is a number.
    classes: Any
    positive: Any
    n_features: int
    #: The names of the columns, if X has names.
    names: npt.NDArray[Any] | None
    #: Whether columns are found by name among others, as for files.
    by_name: bool = False
    #: More than two classes as strings.
    class_names: tuple[str, ...] | None = None
    #: Whether rows of files can be scored, and whether models work without this package.
    reads_files: ClassVar[bool] = True
    can_be_exported: ClassVar[bool] = True

    @classmethod
    def of_run(cls, run: Run, classes: Any, positive: Any) -> Looks:
        """The columns that the models of a run use, found by name; more than two classes are strings."""
        columns = [name for name, _ in run.inputs]
        names = None
        if run.classes is not None:
            classes, positive = np.sort(np.asarray(run.classes[0])), None
            names = tuple(classes.tolist())
        return cls(
            classes, positive, len(columns), np.asarray(columns, dtype=object), by_name=True, class_names=names
        )

    @classmethod
    def of_files(cls, dataset: Dataset, run: Run) -> Looks:
        """The same, with the classes of the files, which are strings."""
        positive = dataset.positive
        if positive is None:
            return cls.of_run(run, None, None)
        others = [value for value in dataset.target_values if value != positive]
        negative = others[0] if len(others) == 1 else f"not {positive}"
        return cls.of_run(run, np.sort(np.asarray([negative, positive])), positive)

    def features(self, X: Any, estimator: str) -> _columns.Features:
        """The columns of X that models read."""
        return _columns.features(X, estimator)

    def align(self, features: _columns.Features, estimator: str) -> None:
        """Reject other columns than these, and rename columns if only one side has names."""
        names, found = self.names, features.names_in
        if self.by_name and names is not None and found is not None:
            there = set(found)
            _compare(list(names), [name for name in names if name in there])
            return
        if names is not None and found is not None:
            _compare(list(names), list(found))
        elif (names is None) != (found is None):
            said = (
                f"X has feature names, but {estimator} was fitted without feature names"
                if names is None
                else f"X does not have valid feature names, but {estimator} was fitted with feature names"
            )
            warnings.warn(said, UserWarning, stacklevel=5)
        if features.n_features != self.n_features:
            raise ValueError(
                f"X has {features.n_features} features, but {estimator} is expecting {self.n_features} features as "
                "input."
            )
        if (names is None) != (found is None):
            features.columns.rename(
                [f"x{j}" for j in range(self.n_features)] if names is None else [str(name) for name in names]
            )


class Scores:
    """Scores of one model of a front."""

    #: Whether predictions are numbers, and the estimator for other targets.
    _PREDICTS_NUMBERS: ClassVar[bool]
    _OTHER: ClassVar[str]
    n_features_in_: int
    #: The run, the id of the model in use, and the classes and columns of the training rows.
    _run: Run
    _model_id: int | None
    _looks: Looks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_run")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def _in_use(self) -> int:
        """The id of the model in use."""
        self._check_fitted()
        if self._model_id is None:
            raise ValueError(
                "no model is in use, because no model of the front meets the requirements; choose a model with select()"
            )
        return self._model_id

    def _become(self, looks: Looks) -> None:
        """Store the columns of the training rows."""
        self._looks = looks
        self.n_features_in_ = looks.n_features
        if looks.names is not None:
            self.feature_names_in_ = looks.names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _jobs(self) -> int | None:
        """The parameter ``n_jobs``, for scoring."""
        raise NotImplementedError

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        """The scores of the positive class, predicted numbers, or a row of scores of more than two classes."""
        model_id = self._in_use()
        if self._looks.reads_files and _columns.is_path(X):
            return self._by_class(self._run.scores_of_files(_columns.paths(X), model_id, threads(self._jobs())))
        features = self._looks.features(X, type(self).__name__)
        self._looks.align(features, type(self).__name__)
        return self._by_class(self._run.scores(features.columns, model_id, threads(self._jobs())))

    def _by_class(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Scores of more than two classes as a matrix, in the order of ``classes_``; other scores are unchanged."""
        at = self._class_positions()
        return scores if at is None else scores.reshape(-1, len(at))[:, at]

    def _class_positions(self) -> list[int] | None:
        """The position of each of ``classes_`` in the run, if there are more than two."""
        names, classes = self._looks.class_names, self._run.classes
        return None if names is None or classes is None else [classes[0].index(name) for name in names]


class PredictsNumbers(Scores):
    """Predicted numbers of one model of a front."""

    _PREDICTS_NUMBERS = True
    _OTHER = "FairFrontClassifier"

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the numbers of rows, in the unit of y.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The rows to predict, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        return self._scores(X)


class Decides(Scores):
    """Decisions, scores and probabilities of one model of a front."""

    _PREDICTS_NUMBERS = False
    _OTHER = "FairFrontRegressor"
    classes_: npt.NDArray[Any]
    #: The favorable class; ``None`` for more than two classes.
    pos_label_: Any

    def _become(self, looks: Looks) -> None:
        """Store the classes and columns of the training rows."""
        super()._become(looks)
        self.classes_, self.pos_label_ = looks.classes, looks.positive

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the scores of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The rows to score, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score per row. Scores above 0 mean ``classes_[1]``. For more than two classes, one score per class, in
            the order of ``classes_``; the highest score decides.
        """
        scores = self._scores(X)
        if scores.ndim == 2:
            return scores
        return scores if self.pos_label_ == self.classes_[1] else -scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the classes of rows.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The rows to classify, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples,)
            One of ``classes_`` per row.
        """
        scores = self._scores(X)
        if scores.ndim == 2:
            return self.classes_[self._decided(scores)]
        positive = scores >= 0
        at = int(self.pos_label_ == self.classes_[1])
        return self.classes_[np.where(positive, at, 1 - at)]

    def _decided(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """The position of the class with the highest score; the first class of the run wins ties."""
        at = np.argsort(self._class_positions() or [])
        decided: npt.NDArray[np.int64] = at[np.argmax(scores[:, at], axis=1)]
        return decided

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the calibrated probabilities of the classes.

        With validation rows (``validation_fraction``), calibration fits a slope and an intercept on these rows. The
        probability at which the model selects a row is then ``probability_threshold_`` instead of 0.5, so ``predict``
        may differ from the class with the larger probability. Without validation rows, the default, the two agree.

        For more than two classes, calibration multiplies all scores by a factor, and the probabilities are their
        softmax. ``predict`` then always chooses the class with the largest probability.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The rows to score, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of ``classes_``.
        """
        odds = self._log_odds(X)
        if odds.ndim == 2:
            shares = np.exp(odds - odds.max(axis=1, keepdims=True))
            probabilities: npt.NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
            return probabilities
        # Computes both probabilities without cancellation, also for scores far from 0.
        small = np.exp(-np.abs(odds))
        large, small = 1.0 / (1.0 + small), small / (1.0 + small)
        second = np.where(odds >= 0, large, small)
        return np.column_stack([np.where(odds >= 0, small, large), second])

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the logarithms of the calibrated probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, Arrow table, or path
            The rows to score, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithms, in the order of ``classes_``.
        """
        odds = self._log_odds(X)
        if odds.ndim == 2:
            odds = odds - odds.max(axis=1, keepdims=True)
            logarithms: npt.NDArray[np.float64] = odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))
            return logarithms
        return np.column_stack([-np.logaddexp(0.0, odds), -np.logaddexp(0.0, -odds)])

    def _log_odds(self, X: Any) -> npt.NDArray[np.float64]:
        """The calibrated log odds of ``classes_[1]``, or the calibrated scores of more than two classes."""
        model_id = self._in_use()
        slope, intercept = self._run.calibration(model_id)
        odds = slope * self._scores(X) + intercept
        if odds.ndim == 2:
            return odds
        return odds if self.pos_label_ == self.classes_[1] else -odds

    @property
    def calibration_(self) -> dict[str, float]:
        """The slope and the intercept that turn the score of the positive class into its log odds.

        For more than two classes, the slope multiplies all scores before the softmax, and the intercept is 0.
        """
        model_id = self._in_use()
        slope, intercept = self._run.calibration(model_id)
        return {"slope": slope, "intercept": intercept}

    @property
    def probability_threshold_(self) -> float:
        """The probability of the positive class at which decisions change; 0.5 without validation rows.

        Defined only for two classes.
        """
        if self.__sklearn_is_fitted__() and self._looks.class_names is not None:
            raise AttributeError("probability_threshold_ is only defined for two classes; the highest score decides")
        return float(1.0 / (1.0 + np.exp(-self.calibration_["intercept"])))


def _compare(known: list[str], found: list[str]) -> None:
    """Compare column names; the messages are scikit-learn's."""
    if known == found:
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(found) - set(known))
    absent = sorted(set(known) - set(found))
    for names, title in [
        (unseen, "Feature names unseen at fit time"),
        (absent, "Feature names seen at fit time, yet now missing"),
    ]:
        if names:
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:5])
            message += "- ...\n" if len(names) > 5 else ""
    if not unseen and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
