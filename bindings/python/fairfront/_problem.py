"""Problems: values and gradients of several objectives at many points at once."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairfront._dataset import Dataset
from fairfront._fairfront import Batch
from fairfront._fairfront import Problem as _Inner
from fairfront._objective import Objective

__all__ = ["Batch", "Problem"]

Floats: TypeAlias = npt.NDArray[np.float64]


def _points(points: npt.ArrayLike) -> tuple[Floats, bool]:
    """Points as a matrix, and whether the argument is a single point."""
    array = np.ascontiguousarray(points, dtype=np.float64)
    if np.isnan(array).any():
        raise ValueError("points contain NaN; pass points without NaN")
    if np.ndim(points) == 1:
        return array.reshape(1, -1), True
    if array.ndim != 2:
        raise ValueError(f"points have shape {np.shape(points)}; pass an array of shape (n, n_params) or (n_params,)")
    return array, False


def _vector(name: str, vector: npt.ArrayLike | None, n: int) -> list[float] | None:
    if vector is None:
        return None
    array = np.asarray(vector, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"{name} must have {n} finite parameters, found an array of shape {array.shape}")
    numbers: list[float] = array.tolist()
    return numbers


class Problem:
    """Objectives of linear models on the training rows of a data set.

    A point is the parameter vector of a model: its coefficients in the order of ``feature_names``, then its
    intercept. :meth:`from_functions` creates problems without data, or for other kinds of models.

    Parameters
    ----------
    dataset : Dataset
        The data set.
    objectives : sequence of {str, Objective}
        The objectives to minimize, the loss first: names such as ``"log_loss"`` and ``"score_covariance(sex)"``, or
        your own :class:`fairfront.Objective`.

    Examples
    --------
    >>> from fairfront import Dataset, Problem
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "score_covariance(sex)"])
    >>> problem.values([0.0] * problem.n_params).round(4).tolist()
    [0.6931, 0.0]
    >>> problem.gradients([[0.0] * problem.n_params]).shape == (1, 2, problem.n_params)
    True
    """

    _inner: _Inner

    def __init__(self, dataset: Dataset, objectives: Sequence[str | Objective]) -> None:
        if isinstance(objectives, (str, Objective)):
            objectives = [objectives]
        if not isinstance(dataset, Dataset):
            raise TypeError(f"dataset is {type(dataset).__name__}; pass a fairfront.Dataset")
        self._inner = _Inner.of_dataset(dataset._inner, list(objectives))

    @classmethod
    def from_functions(
        cls,
        values: Callable[[Floats], npt.ArrayLike],
        gradients: Callable[..., npt.ArrayLike],
        n_params: int,
        n_objectives: int,
        *,
        n_rows: int | None = None,
        start: npt.ArrayLike | None = None,
        minimizer: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> "Problem":
        """Create a problem from functions, with numpy or any automatic differentiation.

        Parameters
        ----------
        values : callable
            ``values(points)`` takes points of shape ``(n, n_params)`` and returns an array of shape
            ``(n, n_objectives)``. Values must not be NaN; return infinity for points outside the domain.
        gradients : callable
            ``gradients(points)`` returns an array of shape ``(n, n_objectives, n_params)``. With ``n_rows``, it is
            called as ``gradients(points, batch)``. ``batch`` is ``None`` for all rows, or a :class:`fairfront.Batch`
            that defines the rows to use: ``batch.rows(objective)`` draws row numbers for an objective, and
            ``batch.sizes`` has their counts. ``batch.seed`` and ``batch.key`` identify this draw, for
            ``numpy.random.default_rng([batch.seed, *batch.key])``. All points of one call share the batch.
        n_params : int
            The number of parameters of a point.
        n_objectives : int
            The number of objectives. The first one is the loss, and its minimizer is the unmitigated model.
        n_rows : int, default=None
            The number of rows of the objectives, if gradients can be computed from a sample of them.
        start : array-like of shape (n_params,), default=None
            The point at which the search for the minimizer of the first objective starts. By default, zeros.
        minimizer : array-like of shape (n_params,), default=None
            The minimizer of the first objective, if it is known.
        names : sequence of str, default=None
            The names of the objectives. By default, ``f1``, ``f2``, ….

        Returns
        -------
        Problem
            The problem.

        Notes
        -----
        The functions are called from several threads, one at a time unless they release the interpreter's lock. An
        exception in a function ends the computation and reaches you unchanged.

        Examples
        --------
        Squared distances from two points; the front lies between them.

        >>> import numpy as np
        >>> from fairfront import Problem, pf_smg
        >>> ends = np.array([[0.0, 0.0], [1.0, 0.0]])
        >>> problem = Problem.from_functions(
        ...     lambda x: ((x[:, None] - ends) ** 2).sum(axis=2),
        ...     lambda x: 2 * (x[:, None] - ends),
        ...     n_params=2,
        ...     n_objectives=2,
        ... )
        >>> front = pf_smg(problem, n_models=50)
        >>> bool(np.abs(front.points[:, 1]).max() < 0.05)
        True
        """
        for name, function in (("values", values), ("gradients", gradients)):
            if not callable(function):
                raise TypeError(f"{name} is {function!r}; pass a callable")
        counts = (("n_params", n_params), ("n_objectives", n_objectives), ("n_rows", n_rows))
        for name, count in counts:
            if count is not None and count < 1:
                raise ValueError(f"{name} is {count}; it must be at least 1")
        if names is None:
            names = [f"f{i + 1}" for i in range(n_objectives)]
        if len(names) != n_objectives:
            raise ValueError(f"there are {len(names)} names for {n_objectives} objectives; pass one name per objective")
        problem = cls.__new__(cls)
        problem._inner = _Inner.of_functions(
            values,
            gradients,
            n_params,
            n_objectives,
            n_rows,
            _vector("start", start, n_params),
            _vector("minimizer", minimizer, n_params),
            list(names),
        )
        return problem

    @property
    def n_params(self) -> int:
        """The number of parameters of a point."""
        return self._inner.n_params

    @property
    def n_objectives(self) -> int:
        """The number of objectives."""
        return self._inner.n_objectives

    @property
    def n_rows(self) -> int:
        """The number of rows of the objectives; 1 for functions without rows."""
        return self._inner.n_rows

    @property
    def names(self) -> list[str]:
        """The names of the objectives."""
        return self._inner.names

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, in the order of the coefficients; ``None`` for functions."""
        return self._inner.feature_names

    def values(self, points: npt.ArrayLike) -> Floats:
        """Compute the values of all objectives on all rows.

        Parameters
        ----------
        points : array-like of shape (n, n_params) or (n_params,)
            The points, or a single point.

        Returns
        -------
        ndarray of shape (n, n_objectives) or (n_objectives,)
            The values.
        """
        array, alone = _points(points)
        values = self._inner.values(array)
        return values[0] if alone else values

    def gradients(self, points: npt.ArrayLike) -> Floats:
        """Compute the gradients of all objectives on all rows.

        Parameters
        ----------
        points : array-like of shape (n, n_params) or (n_params,)
            The points, or a single point.

        Returns
        -------
        ndarray of shape (n, n_objectives, n_params) or (n_objectives, n_params)
            The gradients.
        """
        array, alone = _points(points)
        gradients = self._inner.gradients(array)
        return gradients[0] if alone else gradients

    def evaluate(self, points: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Compute values and gradients together, which may take less time.

        Parameters
        ----------
        points : array-like of shape (n, n_params) or (n_params,)
            The points, or a single point.

        Returns
        -------
        tuple of ndarray
            The results of ``values`` and ``gradients``.
        """
        array, alone = _points(points)
        values, gradients = self._inner.evaluate(array)
        return (values[0], gradients[0]) if alone else (values, gradients)

    def __repr__(self) -> str:
        return f"<Problem: {', '.join(self.names)}; {self.n_params} parameters>"

    def __reduce__(self) -> Any:
        raise TypeError("a Problem cannot be pickled; create it again from its data set or functions")
