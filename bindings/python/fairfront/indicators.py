"""What can be said about fronts: points in objective space, every objective to be minimised.

Points are anything numpy makes a two-dimensional array of floats of, one row a point, one column an
objective. Arrays of float64 in C order are read where they lie, all others are converted. Infinite
values are fine, NaN is refused. An empty list is a front without points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fairfront import _fairfront

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MinNorm",
    "PerformanceProfile",
    "Spread",
    "additive_epsilon",
    "contributions",
    "coverage",
    "hypervolume",
    "igd_plus",
    "is_nondominated",
    "knee",
    "min_norm",
    "nondominated",
    "performance_profile",
    "purity",
    "select_spread",
    "spread",
    "thin",
]


class Spread(NamedTuple):
    """How evenly a front covers its range.

    Parameters
    ----------
    gamma : float
        Γ, the widest gap along any objective.
    delta : float
        Δ, how uneven the gaps are: 0 where all are alike and the extremes are reached.
    """

    gamma: float
    delta: float


class MinNorm(NamedTuple):
    """The shortest convex combination of gradients.

    Parameters
    ----------
    direction : ndarray of shape (n_params,)
        The combination itself; a small step against it lowers every objective, unless it is 0.
    weights : ndarray of shape (n_gradients,)
        One weight a gradient, none negative, 1 together.
    """

    direction: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Performance profiles of solvers, as :func:`performance_profile` makes them.

    Parameters
    ----------
    ratios : ndarray of shape (n_solvers, n_problems)
        For each solver its ratios to the best solver, increasing; ∞ where it failed.
    """

    ratios: NDArray[np.float64]

    def share(self, tau: ArrayLike) -> NDArray[np.float64]:
        """Find the share of problems on which each solver is within a factor of the best.

        Parameters
        ----------
        tau : float or array-like of shape (n,)
            The factor, or several.

        Returns
        -------
        ndarray of shape (n_solvers,) or (n_solvers, n)
            The shares; 0 where there are no problems.
        """
        factors = np.asarray(tau, dtype=float)
        finite = [row[np.isfinite(row)] for row in self.ratios]
        within = [np.searchsorted(row, factors, side="right") for row in finite]
        shape = (len(self.ratios), *factors.shape)
        n_problems = max(self.ratios.shape[1], 1)
        shares: NDArray[np.float64] = np.asarray(within, dtype=float).reshape(shape) / n_problems
        return shares

    def steps(self, solver: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Find where the profile of a solver rises, and to which share.

        Parameters
        ----------
        solver : int
            Which one, by its column in the results.

        Returns
        -------
        taus, shares : ndarray
            From each of these factors on, the solver has this share.
        """
        row = self.ratios[solver]
        taus = np.unique(row[np.isfinite(row)])
        return taus, np.searchsorted(row, taus, side="right") / max(len(row), 1)


def _floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Make an array of float64 in C order, without a copy where it is one."""
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind in "cmM":
        raise TypeError(f"{name}: expected real numbers, found {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _points(points: ArrayLike, name: str, n_objectives: int | None = None) -> NDArray[np.float64]:
    """Make an array of points; a list without points takes its number of objectives from others."""
    array: NDArray[Any] = np.asarray(points)
    if array.ndim == 1 and array.size == 0:
        return np.empty((0, n_objectives or 1))
    if array.ndim != 2:
        raise ValueError(
            f"{name}: expected a 2-D array, one row a point and one column an objective, found shape {array.shape}"
        )
    if n_objectives is not None and array.shape[1] != n_objectives:
        raise ValueError(f"{name}: expected points of {n_objectives} objectives, found {array.shape[1]}")
    return _floats(array, name)


def _reference(ref: ArrayLike) -> NDArray[np.float64]:
    array = _floats(ref, "ref")
    # np.ascontiguousarray makes one value an array of one.
    if array.ndim != 1:
        raise ValueError(f"ref: expected one value an objective, found shape {array.shape}")
    return array


def _width(front: ArrayLike) -> int | None:
    """Find how many objectives a front has; None where it does not say."""
    shape = np.shape(front)
    return shape[1] if len(shape) == 2 else None


def _pair(front: ArrayLike, target: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    made = _points(front, "front", None if _width(front) else _width(target))
    return made, _points(target, "target", made.shape[1])


def _union(front: ArrayLike, others: tuple[ArrayLike, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make the front, and all fronts together."""
    widths = [w for w in map(_width, (front, *others)) if w is not None]
    made = _points(front, "front", None if _width(front) or not widths else widths[0])
    rest = [_points(o, f"others[{i}]", made.shape[1]) for i, o in enumerate(others)]
    return made, np.concatenate([made, *rest]) if rest else made


def hypervolume(points: ArrayLike, ref: ArrayLike) -> float:
    """Find the volume that points dominate inside a reference point, exactly.

    Points that are not better than the reference point in every objective add nothing.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values, to be minimised. Any number of objectives.
    ref : array-like of shape (n_objectives,)
        The reference point.

    Returns
    -------
    float
        The volume; 0 without points, ∞ where a point that counts has a value of -∞.

    Examples
    --------
    >>> import fairfront
    >>> fairfront.hypervolume([[1, 3], [2, 2], [3, 1]], ref=[4, 4])
    6.0
    """
    reference = _reference(ref)
    width = None if _width(points) is not None else len(reference)
    return _fairfront.hypervolume(_points(points, "points", width), reference)


def contributions(points: ArrayLike, ref: ArrayLike) -> NDArray[np.float64]:
    """Find what each point adds to the hypervolume of all.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values, to be minimised.
    ref : array-like of shape (n_objectives,)
        The reference point.

    Returns
    -------
    ndarray of shape (n_points,)
        The volume that is lost if the point goes; 0 for one that another dominates or equals.

    Examples
    --------
    >>> from fairfront.indicators import contributions
    >>> contributions([[1, 3], [2, 2], [3, 1]], ref=[4, 5])
    array([2., 1., 1.])
    """
    reference = _reference(ref)
    width = None if _width(points) is not None else len(reference)
    return _fairfront.contributions(_points(points, "points", width), reference)


def is_nondominated(points: ArrayLike, *, keep_weakly: bool = False) -> NDArray[np.bool_]:
    """Say of each point whether no other dominates it.

    A point dominates another when it is nowhere worse and somewhere better.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values, to be minimised.
    keep_weakly : bool, default=False
        Of equal points that nothing dominates, keep all instead of the first alone.

    Returns
    -------
    ndarray of bool of shape (n_points,)
        True for the points that make the front.

    Examples
    --------
    >>> import fairfront
    >>> points = [[1, 3], [2, 2], [2, 4], [2, 2]]
    >>> fairfront.is_nondominated(points)
    array([ True,  True, False, False])
    >>> fairfront.is_nondominated(points, keep_weakly=True)
    array([ True,  True, False,  True])
    """
    return _fairfront.is_nondominated(_points(points, "points"), bool(keep_weakly))


def nondominated(points: ArrayLike) -> NDArray[np.int64]:
    """Find the positions of the points that no other point dominates; of equal points the first.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values, to be minimised.

    Returns
    -------
    ndarray of int
        The positions, increasing.

    Examples
    --------
    >>> from fairfront.indicators import nondominated
    >>> nondominated([[1, 3], [2, 2], [2, 4], [2, 2]])
    array([0, 1])
    """
    return _fairfront.nondominated(_points(points, "points"))


def purity(front: ArrayLike, *others: ArrayLike, tolerance: float = 0.0) -> float:
    """Find the share of a front's points that no point of all fronts together dominates.

    Points that two fronts have in common count for both.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to judge.
    *others : array-like of shape (n, n_objectives)
        The fronts it is compared with.
    tolerance : float, default=0.0
        Only points that are worse by more than this share of an objective's range over all fronts
        count as dominated: for values that are known so far and no further.

    Returns
    -------
    float
        Between 0 and 1; 0 for a front without points.

    Examples
    --------
    >>> import fairfront
    >>> fairfront.purity([[1, 3], [3, 1]], [[2, 0]])
    0.5
    """
    made, union = _union(front, others)
    return _fairfront.purity(made, union, float(tolerance))


def spread(front: ArrayLike, *others: ArrayLike, scaled: bool = False) -> Spread:
    """Measure how evenly a front covers its range: Γ and Δ.

    The front ought to reach two extremes: the ends, along the objective of widest range, of the
    nondominated points of all fronts together. For each objective the front's values and the extremes
    are sorted; with M points there are gaps δ₀ … δ_M. Γ is the widest gap over all objectives, Δ the
    largest, over the objectives, of (δ₀ + δ_M + Σ|δⱼ - δ̄|) / (δ₀ + δ_M + (M - 1) δ̄), sum and mean δ̄
    over the inner gaps.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to judge.
    *others : array-like of shape (n, n_objectives)
        The fronts it is compared with; without any, the extremes are its own.
    scaled : bool, default=False
        Give Γ as a share of the range of its objective over the nondominated points of all fronts.

    Returns
    -------
    Spread
        A pair of `gamma` and `delta`. Points with infinite values take no part; a front without
        points has the whole range as its gap and a `delta` of 1, or zeros where there is no range.

    Examples
    --------
    >>> import fairfront
    >>> fairfront.spread([[0, 4], [1, 2], [2, 0]])
    Spread(gamma=2.0, delta=0.0)
    >>> fairfront.spread([[0, 4], [1, 2], [2, 0]], [[6, -1]])
    Spread(gamma=4.0, delta=0.6666666666666666)
    """
    made, union = _union(front, others)
    gamma, scaled_gamma, delta = _fairfront.spread(made, union)
    return Spread(scaled_gamma if scaled else gamma, delta)


def coverage(front: ArrayLike, target: ArrayLike) -> float:
    """Find the share of a target's points that a front dominates or equals.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to judge.
    target : array-like of shape (n, n_objectives)
        The points to be covered.

    Returns
    -------
    float
        Between 0 and 1; 0 without a target.

    Examples
    --------
    >>> from fairfront.indicators import coverage
    >>> coverage([[1, 1]], [[2, 2], [0, 3]])
    0.5
    """
    return _fairfront.coverage(*_pair(front, target))


def additive_epsilon(front: ArrayLike, target: ArrayLike) -> float:
    """Find by how much a front has to be lowered to dominate or equal every point of a target.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to judge.
    target : array-like of shape (n, n_objectives)
        The points to be covered.

    Returns
    -------
    float
        Negative where the front is better everywhere; ∞ for a front without points, -∞ without a
        target.

    Examples
    --------
    >>> from fairfront.indicators import additive_epsilon
    >>> additive_epsilon([[1, 1]], [[2, 2], [0, 3]])
    1.0
    """
    return _fairfront.additive_epsilon(*_pair(front, target))


def igd_plus(front: ArrayLike, target: ArrayLike) -> float:
    """Find IGD⁺, the mean distance of a target's points to what a front dominates.

    Only objectives in which the front is worse count, so that a dominated front is never preferred.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to judge.
    target : array-like of shape (n, n_objectives)
        The points to be reached.

    Returns
    -------
    float
        0 where all are covered or there is no target; ∞ for a front without points.

    Examples
    --------
    >>> from fairfront.indicators import igd_plus
    >>> igd_plus([[1, 1]], [[2, 2], [0, 3]])
    0.5
    """
    return _fairfront.igd_plus(*_pair(front, target))


def knee(points: ArrayLike) -> int | None:
    """Find the position of the knee.

    It is the nondominated point farthest below the straight line (for three or more objectives the
    plane) through the ends of the front, each value scaled to its range. If the ends span no plane, it
    is the point with the smallest sum of scaled values.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values, to be minimised.

    Returns
    -------
    int or None
        The position; None where no point is finite.

    Examples
    --------
    >>> from fairfront.indicators import knee
    >>> knee([[0, 10], [1, 1], [10, 0]])
    1
    """
    return _fairfront.knee(_points(points, "points"))


def thin(points: ArrayLike, share: float = 0.001) -> NDArray[np.int64]:
    """Find the positions of the points that stay where dense regions are thinned.

    The extremes of every objective stay; a point goes when one that stays is nearer than `share` of
    the range along every objective.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values.
    share : float, default=0.001
        The distance, as a share of the range.

    Returns
    -------
    ndarray of int
        The positions, increasing.

    Examples
    --------
    >>> from fairfront.indicators import thin
    >>> thin([[0, 10], [0.5, 9.8], [5, 5], [10, 0]], share=0.1)
    array([0, 2, 3])
    """
    return _fairfront.thin(_points(points, "points"), float(share))


def select_spread(points: ArrayLike, n: int) -> NDArray[np.int64]:
    """Find so many well-spread points: the extremes, then always the farthest one.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        Objective values.
    n : int
        How many to choose; all where there are no more.

    Returns
    -------
    ndarray of int
        The positions, increasing.

    Examples
    --------
    >>> from fairfront.indicators import select_spread
    >>> select_spread([[0, 10], [1, 9], [5, 5], [10, 0]], 3)
    array([0, 2, 3])
    """
    if n < 0:
        raise ValueError(f"n must be 0 or more, not {n}")
    return _fairfront.select_spread(_points(points, "points"), n)


def performance_profile(values: ArrayLike, *, better: Literal["smaller", "larger"] = "smaller") -> PerformanceProfile:
    """Make performance profiles after Dolan and Moré, of solvers on a set of problems.

    Parameters
    ----------
    values : array-like of shape (n_problems, n_solvers)
        What each solver achieved on each problem; none negative. A result that is infinitely bad (∞
        where smaller is better, 0 where larger is) says that the solver failed.
    better : {"smaller", "larger"}, default="smaller"
        Which results are the good ones. Where larger is better, the reciprocals are compared.

    Returns
    -------
    PerformanceProfile
        For each solver the share of problems on which it is within a factor of the best.

    Examples
    --------
    >>> import fairfront
    >>> seconds = [[1, 2], [4, 1], [3, 3]]
    >>> fairfront.performance_profile(seconds).share([1, 2, 4])
    array([[0.66666667, 0.66666667, 1.        ],
           [0.66666667, 1.        , 1.        ]])
    """
    if better not in ("smaller", "larger"):
        raise ValueError(f"better must be 'smaller' or 'larger', not {better!r}")
    return PerformanceProfile(_fairfront.profile_ratios(_points(values, "values"), better == "larger"))


def min_norm(gradients: ArrayLike, *, metric: ArrayLike | None = None) -> MinNorm:
    """Find the shortest convex combination of gradients: the direction of a multi-gradient step.

    It is right to working precision also where gradients are parallel, opposed, zero, or differ by
    many orders of magnitude.

    Parameters
    ----------
    gradients : array-like of shape (n_gradients, n_params)
        One gradient a row, 20 at most.
    metric : array-like of shape (n_params,), optional
        Diagonal of a metric M, all positive: lengths are then those of M⁻¹, and the direction is M⁻¹
        times the combination. The identity unless given.

    Returns
    -------
    MinNorm
        A pair of `direction` and `weights`.

    Examples
    --------
    >>> import fairfront
    >>> direction, weights = fairfront.min_norm([[2, 0], [0, 1]])
    >>> print(direction.round(3), weights.round(3))
    [0.4 0.8] [0.2 0.8]
    """
    array = _floats(gradients, "gradients")
    if array.ndim != 2:
        raise ValueError(f"gradients: expected a 2-D array, one row a gradient, found shape {array.shape}")
    inverse = None
    if metric is not None:
        diagonal = _floats(metric, "metric")
        if diagonal.shape != array.shape[1:]:
            raise ValueError(f"metric: expected {array.shape[1]} values, one a parameter, found shape {diagonal.shape}")
        if not np.all((diagonal > 0) & np.isfinite(diagonal)):
            raise ValueError("metric: every value must be positive and finite")
        inverse = 1.0 / diagonal
    return MinNorm(*_fairfront.min_norm(array, inverse))
