"""What fitted estimators share: the model in use, and how it decides."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairfront import _columns
from fairfront._base import NotFittedError
from fairfront._progress import threads

if TYPE_CHECKING:
    from fairfront._fairfront import Run


class Decides:
    """Decisions, scores and probabilities of one point of a front."""

    classes_: npt.NDArray[Any]
    n_features_in_: int
    #: The run whose point decides, and which one it is.
    _run: Run
    _point: int | None
    #: The class that is decided for.
    pos_label_: Any
    #: Whether columns are taken by name, and others may be there: those of files.
    _by_name: bool = False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_run")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def _jobs(self) -> int | None:
        """Threads to score with, as ``n_jobs`` says it."""
        raise NotImplementedError

    def _set_names(self, features: _columns.Features) -> None:
        """Remember what X looked like."""
        self._by_name = False
        self.n_features_in_ = features.n_features
        if features.names_in is not None:
            self.feature_names_in_ = features.names_in
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, features: _columns.Features) -> None:
        """Refuse an X that does not look like the one of the fit."""
        known = getattr(self, "feature_names_in_", None)
        if self._by_name and known is not None and features.names_in is not None:
            _compare(list(known), [name for name in known if name in set(features.names_in)])
            return
        if known is not None and features.names_in is not None:
            _compare(list(known), list(features.names_in))
        elif (known is None) != (features.names_in is None):
            said = (
                f"X has feature names, but {type(self).__name__} was fitted without feature names"
                if known is None
                else f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names"
            )
            warnings.warn(said, UserWarning, stacklevel=4)
        if features.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {features.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Scores of the positive class."""
        self._check_fitted()
        if self._point is None:
            raise ValueError(
                "no model is in use, because no point of the front meets what is required; choose another with select()"
            )
        if _columns.is_path(X):
            return self._run.scores_of_files(_columns.paths(X), self._point, threads(self._jobs()))
        features = _columns.features(X, type(self).__name__)
        self._check_names(features)
        columns = features.columns
        known = getattr(self, "feature_names_in_", None)
        if (known is None) != (features.names_in is None):
            columns.rename([f"x{j}" for j in range(features.n_features)] if known is None else [str(n) for n in known])
        return self._run.scores(columns, self._point, threads(self._jobs()))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Score rows; above 0 for ``classes_[1]``.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score for each row.
        """
        scores = self._scores(X)
        return scores if self.pos_label_ == self.classes_[1] else -scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Decide on the classes of rows.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Rows to decide about.

        Returns
        -------
        ndarray of shape (n_samples,)
            One of ``classes_`` for each row.
        """
        positive = self._scores(X) >= 0
        at = int(self.pos_label_ == self.classes_[1])
        return self.classes_[np.where(positive, at, 1 - at)]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Find the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        # Both without cancellation, however far out a score is.
        small = np.exp(-np.abs(scores))
        large, small = 1.0 / (1.0 + small), small / (1.0 + small)
        second = np.where(scores >= 0, large, small)
        return np.column_stack([np.where(scores >= 0, small, large), second])

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Find the logarithms of the probabilities.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])


def _compare(known: list[str], found: list[str]) -> None:
    """The words are scikit-learn's, so that people recognise them."""
    if known == found:
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(found) - set(known))
    absent = sorted(set(known) - set(found))
    for names, title in [(unseen, "Feature names unseen at fit time"), (absent, "Feature names seen at fit time, yet now missing")]:
        if names:
            message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:5])
            message += "- ...\n" if len(names) > 5 else ""
    if not unseen and not absent:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)
