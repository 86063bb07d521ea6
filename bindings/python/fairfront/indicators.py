"""Indicators of fronts, which are points in objective space. All objectives are minimized.

Points are a two-dimensional array, or anything that numpy converts to one, with one row per point and one column per
objective. Arrays of float64 in C order are used without a copy; all others are converted. Values may be infinite, but
not NaN. An empty list is a front without points.
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
        Γ, the size of the largest hole along any objective.
    delta : float
        Δ, the unevenness of the holes: 0 if all of them are equal and the front reaches both extremes.
    """

    gamma: float
    delta: float


class MinNorm(NamedTuple):
    """The shortest convex combination of gradients.

    Parameters
    ----------
    direction : ndarray of shape (n_params,)
        The combination. A small step against it lowers every objective, unless it is 0.
    weights : ndarray of shape (n_gradients,)
        One weight per gradient. The weights are not negative and sum to 1.
    """

    direction: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Performance profiles of solvers, as :func:`performance_profile` returns them.

    Parameters
    ----------
    ratios : ndarray of shape (n_solvers, n_problems)
        For each solver, its ratios to the best solver in increasing order; ∞ for problems on which it failed.
    """

    ratios: NDArray[np.float64]

    def share(self, tau: ArrayLike) -> NDArray[np.float64]:
        """Compute the share of problems on which each solver is within a factor of the best.

        Parameters
        ----------
        tau : float or array-like of shape (n,)
            One or several factors.

        Returns
        -------
        ndarray of shape (n_solvers,) or (n_solvers, n)
            The shares; 0 without problems.
        """
        factors = np.asarray(tau, dtype=float)
        finite = [row[np.isfinite(row)] for row in self.ratios]
        within = [np.searchsorted(row, factors, side="right") for row in finite]
        shape = (len(self.ratios), *factors.shape)
        n_problems = max(self.ratios.shape[1], 1)
        shares: NDArray[np.float64] = np.asarray(within, dtype=float).reshape(shape) / n_problems
        return shares

    def steps(self, solver: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute the steps of a solver's profile.

        Parameters
        ----------
        solver : int
            The position of the solver, which is its column in the results.

        Returns
        -------
        taus : ndarray
            The factors at which the profile rises.
        shares : ndarray
            The share of problems that the profile reaches at each factor.
        """
        row = self.ratios[solver]
        taus = np.unique(row[np.isfinite(row)])
        return taus, np.searchsorted(row, taus, side="right") / max(len(row), 1)


def _floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert to an array of float64 in C order, without a copy if possible."""
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind in "cmM":
        raise TypeError(f"{name}: expected real numbers, found {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.float64)


def _points(points: ArrayLike, name: str, n_objectives: int | None = None) -> NDArray[np.float64]:
    """Convert to an array of points; an empty list has ``n_objectives`` objectives."""
    array: NDArray[Any] = np.asarray(points)
    if array.ndim == 1 and array.size == 0:
        return np.empty((0, n_objectives or 1))
    if array.ndim != 2:
        raise ValueError(
            f"{name}: expected a 2-D array with one row per point and one column per objective, found shape "
            f"{array.shape}"
        )
    if n_objectives is not None and array.shape[1] != n_objectives:
        raise ValueError(f"{name}: expected points with {n_objectives} objectives, found {array.shape[1]}")
    return _floats(array, name)


def _reference(ref: ArrayLike) -> NDArray[np.float64]:
    array = _floats(ref, "ref")
    # np.ascontiguousarray converts a scalar to an array of length 1.
    if array.ndim != 1:
        raise ValueError(f"ref: expected one value per objective, found shape {array.shape}")
    return array


def _width(front: ArrayLike) -> int | None:
    """The number of objectives of a front; ``None`` if it is unknown."""
    shape = np.shape(front)
    return shape[1] if len(shape) == 2 else None


def _pair(front: ArrayLike, target: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    made = _points(front, "front", None if _width(front) else _width(target))
    return made, _points(target, "target", made.shape[1])


def _union(front: ArrayLike, others: tuple[ArrayLike, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert the front, and the union of all fronts."""
    widths = [w for w in map(_width, (front, *others)) if w is not None]
    made = _points(front, "front", None if _width(front) or not widths else widths[0])
    rest = [_points(o, f"others[{i}]", made.shape[1]) for i, o in enumerate(others)]
    return made, np.concatenate([made, *rest]) if rest else made


def hypervolume(points: ArrayLike, ref: ArrayLike) -> float:
    """Compute the exact volume that points dominate, up to a reference point.

    Points that are not better than the reference point in every objective add nothing.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values, for any number of objectives.
    ref : array-like of shape (n_objectives,)
        The reference point.

    Returns
    -------
    float
        The volume; 0 without points, ∞ if a point that counts has a value of -∞.

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
    """Compute the contribution of each point to the hypervolume.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.
    ref : array-like of shape (n_objectives,)
        The reference point.

    Returns
    -------
    ndarray of shape (n_points,)
        The volume that is lost without the point; 0 for a point that another point dominates or equals.

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
    """Determine for each point whether no other point dominates it.

    A point dominates another if it is at least as good in every objective, and better in at least one.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.
    keep_weakly : bool, default=False
        Whether to keep all of several equal nondominated points, instead of only the first one.

    Returns
    -------
    ndarray of bool of shape (n_points,)
        True for the points of the front.

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
    """Find the positions of the nondominated points; of several equal points, only the first.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.

    Returns
    -------
    ndarray of int
        The positions in increasing order.

    Examples
    --------
    >>> from fairfront.indicators import nondominated
    >>> nondominated([[1, 3], [2, 2], [2, 4], [2, 2]])
    array([0, 1])
    """
    return _fairfront.nondominated(_points(points, "points"))


def purity(front: ArrayLike, *others: ArrayLike, tolerance: float = 0.0) -> float:
    """Compute the share of a front's points that are nondominated in the union of all fronts.

    Points that two fronts have in common count for both.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to evaluate.
    *others : array-like of shape (n, n_objectives)
        The fronts to compare it with.
    tolerance : float, default=0.0
        The share of an objective's range over all fronts by which a point must be worse to count as dominated. Use it
        if values have a limited precision.

    Returns
    -------
    float
        The share, between 0 and 1; 0 for a front without points.

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

    The front should reach two extremes: the ends of the nondominated points of all fronts together, along the
    objective with the largest range. For each objective, the front's values and the extremes are sorted, which gives
    holes δ₀ … δ_M for M points. Γ is the largest hole over all objectives. Δ is the largest value over the objectives
    of (δ₀ + δ_M + Σ|δⱼ - δ̄|) / (δ₀ + δ_M + (M - 1) δ̄), with the sum and the mean δ̄ over the inner holes.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to evaluate.
    *others : array-like of shape (n, n_objectives)
        The fronts to compare it with. Without them, the extremes are those of the front itself.
    scaled : bool, default=False
        Whether to return Γ as a share of the range of its objective over the nondominated points of all fronts.

    Returns
    -------
    Spread
        The pair of ``gamma`` and ``delta``. Points with infinite values are ignored. For a front without points,
        ``gamma`` is the whole range and ``delta`` is 1, or both are 0 without a range.

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
    """Compute the share of a target's points that a front dominates or equals.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to evaluate.
    target : array-like of shape (n, n_objectives)
        The points to cover.

    Returns
    -------
    float
        The share, between 0 and 1; 0 for a target without points.

    Examples
    --------
    >>> from fairfront.indicators import coverage
    >>> coverage([[1, 1]], [[2, 2], [0, 3]])
    0.5
    """
    return _fairfront.coverage(*_pair(front, target))


def additive_epsilon(front: ArrayLike, target: ArrayLike) -> float:
    """Compute by how much a front has to be lowered to dominate or equal every point of a target.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to evaluate.
    target : array-like of shape (n, n_objectives)
        The points to cover.

    Returns
    -------
    float
        The distance, which is negative if the front is better everywhere; ∞ for a front without points, -∞ for a
        target without points.

    Examples
    --------
    >>> from fairfront.indicators import additive_epsilon
    >>> additive_epsilon([[1, 1]], [[2, 2], [0, 3]])
    1.0
    """
    return _fairfront.additive_epsilon(*_pair(front, target))


def igd_plus(front: ArrayLike, target: ArrayLike) -> float:
    """Compute IGD⁺, the mean distance from a target's points to the region that a front dominates.

    Only objectives in which the front is worse count, so a dominated front never has the smaller IGD⁺.

    Parameters
    ----------
    front : array-like of shape (n_points, n_objectives)
        The front to evaluate.
    target : array-like of shape (n, n_objectives)
        The points to reach.

    Returns
    -------
    float
        The distance; 0 if the front covers all points or the target has no points, ∞ for a front without points.

    Examples
    --------
    >>> from fairfront.indicators import igd_plus
    >>> igd_plus([[1, 1]], [[2, 2], [0, 3]])
    0.5
    """
    return _fairfront.igd_plus(*_pair(front, target))


def knee(points: ArrayLike) -> int | None:
    """Find the position of the knee.

    The knee is the nondominated point farthest below the straight line (for three or more objectives, the plane)
    through the ends of the front, with each value scaled to its range. If the ends span no plane, it is the point with
    the smallest sum of scaled values.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.

    Returns
    -------
    int or None
        The position; ``None`` if no point is finite.

    Examples
    --------
    >>> from fairfront.indicators import knee
    >>> knee([[0, 10], [1, 1], [10, 0]])
    1
    """
    return _fairfront.knee(_points(points, "points"))


def thin(points: ArrayLike, share: float = 0.001) -> NDArray[np.int64]:
    """Thin dense regions, and find the positions of the remaining points.

    The extremes of every objective remain. A point is removed if a remaining point is closer than ``share`` of the
    range along every objective.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.
    share : float, default=0.001
        The distance, as a share of the range.

    Returns
    -------
    ndarray of int
        The positions in increasing order.

    Examples
    --------
    >>> from fairfront.indicators import thin
    >>> thin([[0, 10], [0.5, 9.8], [5, 5], [10, 0]], share=0.1)
    array([0, 2, 3])
    """
    return _fairfront.thin(_points(points, "points"), float(share))


def select_spread(points: ArrayLike, n: int) -> NDArray[np.int64]:
    """Choose well-spread points: first the extremes, then repeatedly the farthest point.

    Parameters
    ----------
    points : array-like of shape (n_points, n_objectives)
        The objective values.
    n : int
        The number of points to choose. If there are no more than ``n`` points, all are chosen.

    Returns
    -------
    ndarray of int
        The positions in increasing order.

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
    """Compute performance profiles, after Dolan and Moré, of solvers on a set of problems.

    Parameters
    ----------
    values : array-like of shape (n_problems, n_solvers)
        The result of each solver on each problem, which must not be negative. An infinitely bad result (∞ if smaller
        is better, 0 if larger is better) means that the solver failed.
    better : {"smaller", "larger"}, default="smaller"
        Which results are better. If larger results are better, the reciprocals are compared.

    Returns
    -------
    PerformanceProfile
        For each solver, the share of problems on which it is within a factor of the best.

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
    """Compute the shortest convex combination of gradients: the direction of a multi-gradient step.

    The result is accurate to working precision, also if gradients are parallel, opposed, zero, or differ by many
    orders of magnitude.

    Parameters
    ----------
    gradients : array-like of shape (n_gradients, n_params)
        The gradients, one per row; at most 20.
    metric : array-like of shape (n_params,), default=None
        The diagonal of a preconditioner M, whose entries must be positive. Lengths are then measured by M⁻¹, and the
        direction is M⁻¹ times the combination. By default, the identity.

    Returns
    -------
    MinNorm
        The pair of ``direction`` and ``weights``.

    Examples
    --------
    >>> import fairfront
    >>> direction, weights = fairfront.min_norm([[2, 0], [0, 1]])
    >>> print(direction.round(3), weights.round(3))
    [0.4 0.8] [0.2 0.8]
    """
    array = _floats(gradients, "gradients")
    if array.ndim != 2:
        raise ValueError(f"gradients: expected a 2-D array with one row per gradient, found shape {array.shape}")
    inverse = None
    if metric is not None:
        diagonal = _floats(metric, "metric")
        if diagonal.shape != array.shape[1:]:
            raise ValueError(
                f"metric: expected {array.shape[1]} values, one per parameter, found shape {diagonal.shape}"
            )
        if not np.all((diagonal > 0) & np.isfinite(diagonal)):
            raise ValueError("metric: every value must be positive and finite")
        inverse = 1.0 / diagonal
    return MinNorm(*_fairfront.min_norm(array, inverse))
