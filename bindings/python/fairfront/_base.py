"""scikit-learn's base classes, or minimal replacements if scikit-learn is not installed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """Raised when an estimator is used before it has been fitted."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Warning that an input was converted to another type or shape."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Base class of estimators: access to parameters by name."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Get the parameters of this estimator.

            Parameters
            ----------
            deep : bool, default=True
                Whether to include the parameters of nested estimators, as ``a__b``.

            Returns
            -------
            dict
                Parameter names mapped to their values.
            """
            params: dict[str, Any] = {}
            for name in self._get_param_names():
                value = getattr(self, name)
                params[name] = value
                if deep and hasattr(value, "get_params"):
                    inner = value.get_params().items()
                    params.update({f"{name}__{key}": v for key, v in inner})
            return params

        def set_params(self, **params: Any) -> BaseEstimator:
            """Set the parameters of this estimator.

            Parameters
            ----------
            **params : object
                New values by name; ``a__b`` sets ``b`` of the nested estimator ``a``.

            Returns
            -------
            BaseEstimator
                The estimator itself.
            """
            known = self.get_params(deep=False)
            for name, value in params.items():
                outer, _, inner = name.partition("__")
                if outer not in known:
                    raise ValueError(
                        f"Invalid parameter {outer!r} for estimator {self!r}. Valid parameters are: {sorted(known)}."
                    )
                if inner:
                    getattr(self, outer).set_params(**{inner: value})
                else:
                    setattr(self, outer, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self).__init__).parameters
            changed = [
                f"{name}={value!r}"
                for name, value in self.get_params(deep=False).items()
                if repr(value) != repr(defaults[name].default)
            ]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """Mixin for classifiers: the accuracy as the score."""

        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Compute the accuracy on the given rows.

            Parameters
            ----------
            X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
                The rows to classify.
            y : array-like of shape (n_samples,)
                The true classes.
            sample_weight : array-like of shape (n_samples,), default=None
                The weights of the rows.

            Returns
            -------
            float
                The share of rows whose predicted class is the true class.
            """
            correct = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
            return float(np.average(correct, weights=sample_weight))

    class RegressorMixin:  # type: ignore[no-redef]
        """Mixin for regressors: the coefficient of determination as the score."""

        _estimator_type = "regressor"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Compute the coefficient of determination (R²) on the given rows.

            Parameters
            ----------
            X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
                The rows to predict.
            y : array-like of shape (n_samples,)
                The true numbers.
            sample_weight : array-like of shape (n_samples,), default=None
                The weights of the rows.

            Returns
            -------
            float
                1 minus the mean squared error divided by the variance of y.
            """
            from fairfront._numbers import r2_score

            return r2_score(y, self.predict(X), sample_weight)  # type: ignore[attr-defined]


class FairFrontWarning(UserWarning):
    """Warning about something that may make results wrong or unreliable."""


__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "DataConversionWarning",
    "FairFrontWarning",
    "NotFittedError",
    "RegressorMixin",
]
