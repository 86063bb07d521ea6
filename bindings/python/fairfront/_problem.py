"""Problems: values and gradients of several objectives, for many points at once."""

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
    """Points as a matrix, and whether there was but one of them."""
    array = np.ascontiguousarray(points, dtype=np.float64)
    if np.isnan(array).any():
        raise ValueError("points hold NaN; there are no values at such a point")
    if np.ndim(points) == 1:
        return array.reshape(1, -1), True
    if array.ndim != 2:
        raise ValueError(f"points have shape {np.shape(points)}; it must be (n, n_params) or (n_params,)")
    return array, False


def _vector(what: str, vector: npt.ArrayLike | None, n: int) -> list[float] | None:
    if vector is None:
        return None
    array = np.asarray(vector, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"{what} must have {n} finite parameters; its shape is {array.shape}")
    numbers: list[float] = array.tolist()
    return numbers


class Problem:
    """Objectives of linear models on the training rows of a data set.

    A point is a model: its coefficients in the order of ``feature_names``, then its intercept. Problems
    that are not about data at all, or about other models, are made by :meth:`from_functions`.

    Parameters
    ----------
    dataset : Dataset
        The rows.
    objectives : sequence of str or Objective
        What is minimised, the loss first: ``"log_loss"``, ``"disparate_impact(sex)"``, or an
        :class:`fairfront.Objective` of your own.

    Examples
    --------
    >>> from fairfront import Dataset, Problem
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "disparate_impact(sex)"])
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
            raise TypeError(f"dataset is {type(dataset).__name__}; it must be a fairfront.Dataset")
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
        minimiser: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> "Problem":
        """Make a problem of functions, with numpy or any automatic differentiation.

        Parameters
        ----------
        values : callable
            ``values(points)`` for points of shape ``(n, n_params)`` returns an array of shape
            ``(n, n_objectives)``. Infinite where a point is outside of the domain; never NaN.
        gradients : callable
            ``gradients(points)`` returns an array of shape ``(n, n_objectives, n_params)``. With
            `n_rows` it is called ``gradients(points, batch)``: `batch` is ``None`` for all rows, or
            says which rows to use: ``batch.rows(objective)`` are row numbers drawn for an objective,
            ``batch.sizes`` their numbers; ``batch.seed`` and ``batch.key`` tell this draw from all
            others, for ``numpy.random.default_rng([batch.seed, *batch.key])``. The points of one call
            share their batch.
        n_params : int
            Parameters of a point.
        n_objectives : int
            Objectives; the first is the loss, whose minimiser is the unmitigated model.
        n_rows : int, optional
            Rows behind the objectives, where gradients can be made from some of them.
        start : array of shape (n_params,), optional
            Where to start looking for the minimiser of the first objective; zeros without it.
        minimiser : array of shape (n_params,), optional
            That minimiser, where it is known.
        names : sequence of str, optional
            Names of the objectives; ``f1``, ``f2``, … without them.

        Returns
        -------
        Problem
            The problem.

        Notes
        -----
        The functions are called from several threads, one at a time unless they let go of the
        interpreter's lock. What they raise ends the work and comes back unchanged.

        Examples
        --------
        Squared distances from two points; the best compromises lie between them.

        >>> import numpy as np
        >>> from fairfront import Problem, pf_smg
        >>> ends = np.array([[0.0, 0.0], [1.0, 0.0]])
        >>> problem = Problem.from_functions(
        ...     lambda x: ((x[:, None] - ends) ** 2).sum(axis=2),
        ...     lambda x: 2 * (x[:, None] - ends),
        ...     n_params=2,
        ...     n_objectives=2,
        ... )
        >>> front = pf_smg(problem, n_points=50)
        >>> bool(np.abs(front.points[:, 1]).max() < 0.05)
        True
        """
        for what, function in (("values", values), ("gradients", gradients)):
            if not callable(function):
                raise TypeError(f"{what} is {function!r}; it must be callable")
        counts = (("n_params", n_params), ("n_objectives", n_objectives), ("n_rows", n_rows))
        for what, count in counts:
            if count is not None and count < 1:
                raise ValueError(f"{what} is {count}; it must be at least 1")
        if names is None:
            names = [f"f{i + 1}" for i in range(n_objectives)]
        if len(names) != n_objectives:
            raise ValueError(f"there are {len(names)} names for {n_objectives} objectives")
        problem = cls.__new__(cls)
        problem._inner = _Inner.of_functions(
            values,
            gradients,
            n_params,
            n_objectives,
            n_rows,
            _vector("start", start, n_params),
            _vector("minimiser", minimiser, n_params),
            list(names),
        )
        return problem

    @property
    def n_params(self) -> int:
        """Parameters of a point."""
        return self._inner.n_params

    @property
    def n_objectives(self) -> int:
        """Number of objectives."""
        return self._inner.n_objectives

    @property
    def n_rows(self) -> int:
        """Rows behind the objectives; 1 where there are none."""
        return self._inner.n_rows

    @property
    def names(self) -> list[str]:
        """Names of the objectives."""
        return self._inner.names

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, in the order of the coefficients; None for functions."""
        return self._inner.feature_names

    def values(self, points: npt.ArrayLike) -> Floats:
        """Find the values of all objectives, on all rows.

        Parameters
        ----------
        points : array of shape (n, n_params) or (n_params,)
            The points.

        Returns
        -------
        array of shape (n, n_objectives) or (n_objectives,)
            The values.
        """
        array, alone = _points(points)
        values = self._inner.values(array)
        return values[0] if alone else values

    def gradients(self, points: npt.ArrayLike) -> Floats:
        """Find the gradients of all objectives, on all rows.

        Parameters
        ----------
        points : array of shape (n, n_params) or (n_params,)
            The points.

        Returns
        -------
        array of shape (n, n_objectives, n_params) or (n_objectives, n_params)
            The gradients.
        """
        array, alone = _points(points)
        gradients = self._inner.gradients(array)
        return gradients[0] if alone else gradients

    def evaluate(self, points: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Find values and gradients at once, which may take less time.

        Parameters
        ----------
        points : array of shape (n, n_params) or (n_params,)
            The points.

        Returns
        -------
        tuple of arrays
            What `values` and `gradients` return.
        """
        array, alone = _points(points)
        values, gradients = self._inner.evaluate(array)
        return (values[0], gradients[0]) if alone else (values, gradients)

    def __repr__(self) -> str:
        return f"<Problem: {', '.join(self.names)}; {self.n_params} parameters>"

    def __reduce__(self) -> Any:
        raise TypeError("a Problem cannot be pickled; make it anew from its data set or functions")
