"""Objectives written in Python."""

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

    Use it together with built-in objectives, in a :class:`fairfront.Problem` or in
    ``objectives=[...]`` of an estimator. E is the weighted mean over rows.

    Parameters
    ----------
    name : str
        The name of the objective.
    statistics : callable
        ``statistics(scores, rows)`` returns ``(s, ds)``: the statistics of each row and their derivatives with
        respect to its score. ``scores`` has shape ``(n_rows, n_models)``, one column per model. ``s`` and ``ds`` have
        shape ``(n_means, n_rows, n_models)``, or the shape of ``scores`` if ``n_means`` is 1. ``rows`` is a
        :class:`fairfront.Rows`: ``rows.labels`` are -1 or 1, ``rows.weights`` are the weights, and
        ``rows.groups("sex")`` are the groups (positions in ``rows.group_names("sex")``, -1 if unknown). fairfront
        applies the weights. If the target is a number, labels and scores are in standard deviations from its mean.
    outer : callable, default=None
        The function h: ``outer(means)`` returns its value and its derivative with respect to the means, of shape
        ``(n_means,)``. By default, the objective is the mean itself; such an objective can be the loss, which is the
        first objective of a problem.
    n_means : int, default=1
        The length of s.
    attribute : str, default=None
        The sensitive attribute whose groups the objective compares. Rows without a known group are then ignored, and
        mini-batches contain rows of all groups.
    label : {-1, 1}, default=None
        The label of the rows to use; the others are ignored. Needs ``attribute``, and a target with two classes.
    penalty : float, default=0.0
        The factor λ of the penalty (λ/2)‖c‖², which is added. c are the coefficients without the intercept.

    Notes
    -----
    The callables are called with a tile of rows at a time (at most 64 rows and 32 models), from several threads. An
    exception in a callable ends the computation and reaches you unchanged. If you have values and gradients of whole
    objectives, for example by automatic differentiation, use :meth:`fairfront.Problem.from_functions` instead.

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
            raise ValueError(f"name is {name!r}; pass a string that is not empty")
        for parameter, function in (("statistics", statistics), ("outer", outer)):
            if not callable(function) and (function is not None or parameter == "statistics"):
                raise TypeError(f"{parameter} is {function!r}; pass a callable")
        if n_means < 1:
            raise ValueError(f"n_means is {n_means}; it must be at least 1")
        if outer is None and n_means != 1:
            raise ValueError(f"n_means is {n_means}, but outer is None; pass an outer function of the means")
        if label not in (None, -1, 1):
            raise ValueError(f"label is {label!r}; it must be -1, 1 or None")
        if label is not None and attribute is None:
            raise ValueError("label is set without an attribute; pass the attribute of the groups to compare")
        if not (math.isfinite(penalty) and penalty >= 0):
            raise ValueError(f"penalty is {penalty}; it must be finite and at least 0")
        self.name = name
        self.statistics = statistics
        self.outer = outer
        self.n_means = n_means
        self.attribute = attribute
        self.label = label
        self.penalty = float(penalty)

    def __repr__(self) -> str:
        return f"Objective({self.name!r})"
