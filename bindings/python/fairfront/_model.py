"""FairClassifier: one model of a front, as an estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from fairfront._base import BaseEstimator, ClassifierMixin
from fairfront._classifier import FairFrontClassifier
from fairfront._predict import Decides


class FairClassifier(ClassifierMixin, Decides, BaseEstimator):  # type: ignore[misc]
    """One model of a front: what ``FairFrontClassifier.select`` hands out.

    It is an estimator of its own: ``fit`` finds the front of other rows and chooses from it by the same rule, so
    that a compromise once chosen can be fitted again, cross-validated and put into pipelines.

    Parameters
    ----------
    front : FairFrontClassifier, optional
        How the front is found; by default a ``FairFrontClassifier()``.
    require : str or list of str, optional
        What the model has to keep on new people, for instance ``"demographic_parity_ratio(sex) >= 0.8"``; the limit may
        be a percentage, as in ``">= 80%"``.
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
        Take this row of the front's table.

    Attributes
    ----------
    point_ : int
        Row of the front's table.
    reason_ : str
        Why it was chosen.
    selection_ : dict
        How it was chosen, and what it costs.
    certificate_ : dict or None
        What was required of the model, and whether that is certified; None if nothing was required.
    values_ : dict
        Its objectives and measures, by the names of the front's columns.
    coefficients_ : dict
        What each encoded feature adds to the score.
    intercept_ : float
        Added to every score.
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
    >>> from fairfront import FairClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, sex = rng.normal(size=(1000, 2)), rng.integers(2, size=1000)
    >>> X[:, 0] += sex
    >>> y = X[:, 0] + rng.normal(size=1000) > 0.5
    >>> model = FairClassifier(knee=True).fit(X, y, sensitive_features=sex)
    >>> sorted(model.coefficients_)
    ['x0', 'x1']
    """

    def __init__(
        self,
        front: FairFrontClassifier | None = None,
        *,
        require: str | Sequence[str] | None = None,
        confidence: float | None = 0.95,
        exact: bool = False,
        best: str | None = None,
        knee: bool = False,
        regret: bool = False,
        weights: dict[str, float] | None = None,
        point: int | None = None,
    ) -> None:
        self.front = front
        self.require = require
        self.confidence = confidence
        self.exact = exact
        self.best = best
        self.knee = knee
        self.regret = regret
        self.weights = weights
        self.point = point

    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> FairClassifier:
        """Find the front of these rows and choose a model of it.

        Parameters
        ----------
        X : array, sparse matrix, frame, table with the Arrow interface, or path
            Rows to learn from, or the path of a file whose columns the others name.
        y : array-like of shape (n_samples,), or str
            The classes, two of them.
        sensitive_features : list, array, series, frame or dict, optional
            Groups of the rows, for one or several attributes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        FairClassifier
            Itself.
        """
        self._check_rule()
        front = FairFrontClassifier() if self.front is None else self.front._unfitted()
        # The rule of this estimator chooses; the front's own must not fail on its behalf.
        front.set_params(require=None, best="accuracy")
        try:
            front.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        except BaseException:
            # What was found before it was interrupted is a front too.
            if front.__sklearn_is_fitted__():
                self._take(front, before=True)
            raise
        self._take(front, before=True)
        return self

    def _check_rule(self) -> None:
        given = [self.best is not None, self.knee, self.regret, self.weights is not None, self.point is not None]
        if sum(map(bool, given)) > 1:
            raise ValueError("choose by one of best, knee, regret, weights and point")
        if self.weights is not None and not self.weights:
            raise ValueError("weights={}: give at least one measure or objective with its weight")

    def _take(self, front: FairFrontClassifier, *, before: bool) -> None:
        """Become a model of a front that is fitted; ``before`` says that the requirement was stated before the fit."""
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
            point=self.point,
        )
        self._run = front._run
        self.point_ = self._point = point = int(selection["id"])
        self.selection_ = selection
        self.reason_ = str(selection["reason"])
        self.certificate_ = selection["certificate"]
        self.values_ = {name: float(values[point]) for name, values in front._run.columns().items()}
        *coefficients, intercept = front._run.parameters()[point].tolist()
        self.coefficients_ = dict(zip(front._run.features, coefficients, strict=True))
        self.intercept_ = float(intercept)
        self._become(front._looks)

    def _jobs(self) -> int | None:
        return None if self.front is None else self.front.n_jobs

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Give the model as an ONNX graph, from raw columns to decisions.

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
        return self.export("onnx", path, force=force)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, *, force: bool = True) -> bytes:
        """Give the model for other programs.

        Parameters
        ----------
        format : {"onnx", "sql", "table"}
            An ONNX graph, a SELECT statement, or the coefficients as CSV.
        path : str or path, optional
            Where to write it too.
        force : bool, default=True
            Whether a file that is there is replaced.

        Returns
        -------
        bytes
            What a file of this format holds.
        """
        from fairfront._files import write_bytes

        self._check_fitted()
        exported = self._run.export(self.point_, type(self).__name__, format)
        if path is not None:
            write_bytes(path, exported, force=force)
        return exported

    def to_json(self) -> str:
        """Give the model file that the command reads: ``fairfront predict MODEL FILE -o OUT``.

        Returns
        -------
        str
            The model as JSON.
        """
        self._check_fitted()
        certificate = self.certificate_ and json.dumps(self.certificate_)
        return self._run.model(self.point_, type(self).__name__, certificate)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model file of ``to_json``.

        Parameters
        ----------
        path : str or path
            Where.
        force : bool, default=False
            Whether a file that is there is replaced.
        """
        from fairfront._files import write_text

        write_text(path, self.to_json(), force=force)

    def __repr__(self, *args: Any, **kwargs: Any) -> str:
        said = str(super().__repr__(*args, **kwargs))
        return f"{said}\n# point {self.point_}: {self.reason_}" if self.__sklearn_is_fitted__() else said

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        front = FairFrontClassifier() if self.front is None else self.front
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = front.missing != "error"
        return tags
