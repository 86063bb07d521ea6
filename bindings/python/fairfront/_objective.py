"""An objective of your own, among those that fairfront has."""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fairfront._fairfront import Rows

__all__ = ["Objective", "Rows"]

Floats: TypeAlias = npt.NDArray[np.float64]
Statistics: TypeAlias = Callable[[Floats, Rows], tuple[npt.ArrayLike, npt.ArrayLike]]
Outer: TypeAlias = Callable[[Floats], tuple[float, npt.ArrayLike]]


class Objective:
    """A smooth function of sample means, f = h(E[s(score, row)]), written in Python.

    It stands beside the objectives that fairfront has, in a :class:`fairfront.Problem` or in
    ``FairFrontClassifier(objectives=[...])``. E is the mean over rows, by their weights.

    Parameters
    ----------
    name : str
        What to call it.
    statistics : callable
        ``statistics(scores, rows)`` returns ``(s, ds)``: the statistics of each row and their
        derivatives by its score. ``scores`` has shape ``(n_rows, n_points)``, one column a model; ``s``
        and ``ds`` have shape ``(n_means, n_rows, n_points)``, or that of ``scores`` where there is one
        mean. ``rows.labels`` are -1 or +1, ``rows.weights`` their weights, ``rows.groups("sex")`` their
        groups (positions in ``rows.group_names("sex")``, -1 where unknown). Weights are applied for you.
    outer : callable, optional
        h: ``outer(means)`` returns its value and its derivative by the means, of shape ``(n_means,)``.
        Without it the objective is the mean itself: such an objective can be the loss, the first of a
        problem.
    n_means : int, default=1
        Length of s.
    attribute : str, optional
        The sensitive attribute whose groups it compares: rows without a known group take no part, and
        mini-batches have rows of all groups.
    label : {-1, 1}, optional
        With an attribute: only rows with this label take part.
    penalty : float, default=0.0
        λ of (λ/2)‖c‖², which is added; c are the coefficients without the intercept.

    Notes
    -----
    The callables see a tile of rows at a time (at most 64 rows, 32 models), from several threads. What
    they raise ends the work and comes back unchanged. Who has values and gradients of whole objectives,
    by automatic differentiation say, gives these to :meth:`fairfront.Problem.from_functions` instead.

    Examples
    --------
    The squared hinge loss:

    >>> import numpy as np
    >>> from fairfront import Objective
    >>> def squared_hinge(scores, rows):
    ...     y = rows.labels[:, None]
    ...     left = np.maximum(1 - y * scores, 0)
    ...     return left**2, -2 * y * left
    >>> Objective("squared_hinge", squared_hinge)
    Objective('squared_hinge')
    """

    def __init__(
        self,
        name: str,
        statistics: Statistics,
        outer: Outer | None = None,
        *,
        n_means: int = 1,
        attribute: str | None = None,
        label: float | None = None,
        penalty: float = 0.0,
    ) -> None:
        if not (isinstance(name, str) and name):
            raise ValueError(f"name is {name!r}; it must be a text")
        for what, function in (("statistics", statistics), ("outer", outer)):
            if not callable(function) and (function is not None or what == "statistics"):
                raise TypeError(f"{what} is {function!r}; it must be callable")
        if n_means < 1:
            raise ValueError(f"n_means is {n_means}; it must be at least 1")
        if outer is None and n_means != 1:
            raise ValueError(f"{n_means} means need an outer function that makes one number of them")
        if label not in (None, -1, 1):
            raise ValueError(f"label is {label!r}; it must be -1, 1 or None")
        if label is not None and attribute is None:
            raise ValueError("a label needs an attribute whose groups are compared")
        if not (math.isfinite(penalty) and penalty >= 0):
            raise ValueError(f"penalty is {penalty}; it must be a number that is not negative")
        self.name = name
        self.statistics = statistics
        self.outer = outer
        self.n_means = n_means
        self.attribute = attribute
        self.label = label
        self.penalty = float(penalty)

    def __repr__(self) -> str:
        return f"Objective({self.name!r})"
