"""scikit-learn's base classes where it is installed, and what is needed of them where it is not."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """An estimator is used before it is fitted."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Something was taken as something else."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters of an estimator by name."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Give the parameters by name.

            Parameters
            ----------
            deep : bool, default=True
                Whether those of estimators among them are given too, as ``a__b``.

            Returns
            -------
            dict
                Name to value.
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
            """Set parameters by name.

            Parameters
            ----------
            **params : object
                New values; ``a__b`` is ``b`` of the estimator ``a``.

            Returns
            -------
            BaseEstimator
                Itself.
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
        """What all classifiers can do."""

        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Find the share of rows decided rightly.

            Parameters
            ----------
            X : array, sparse matrix or frame of shape (n_samples, n_features)
                Rows to decide about.
            y : array-like of shape (n_samples,)
                Their classes.
            sample_weight : array-like of shape (n_samples,), optional
                Their weights.

            Returns
            -------
            float
                The accuracy.
            """
            right = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
            return float(np.average(right, weights=sample_weight))


__all__ = ["BaseEstimator", "ClassifierMixin", "DataConversionWarning", "NotFittedError"]
