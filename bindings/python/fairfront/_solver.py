"""Solvers: from a problem to its front."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fairfront._fairfront import solve
from fairfront._interrupt import Interrupted
from fairfront._problem import Problem, _points
from fairfront._progress import Callback, threads

__all__ = ["Front", "eps_fair", "pf_smg", "trace", "weighted"]

Floats: TypeAlias = npt.NDArray[np.float64]
Setting: TypeAlias = bool | int | float | str | Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False, repr=False)
class Front:
    """Points none of which dominates another, ordered by their first objective.

    Parameters
    ----------
    points : array of shape (n, n_params)
        Their parameters.
    values : array of shape (n, n_objectives)
        Their values.
    unmitigated : array of shape (n_params,)
        The minimiser of the first objective alone.
    unmitigated_values : array of shape (n_objectives,)
        Its values.
    names : list of str
        Names of the objectives.
    stop_reason : str
        ``"points"``, ``"steps"``, ``"converged"``, ``"complete"``, or ``"stopped"`` where the callback,
        a time limit or Ctrl-C ended it.
    counters : dict, optional
        What was spent: evaluations, gradients of each objective, points after each round.
    multipliers : array of shape (n, n_objectives), optional
        Weights of the objectives with the shortest sum of gradients, where the solver found them.
    residuals : array of shape (n,), optional
        The length of that sum: 0 at a stationary point.
    gaps : array of shape (n,), optional
        Proven bounds: no point has a first objective lower by more without being worse in another;
        NaN where nothing is proven.
    """

    points: Floats
    values: Floats
    unmitigated: Floats
    unmitigated_values: Floats
    names: list[str]
    stop_reason: str
    counters: dict[str, Any] = field(default_factory=dict)
    multipliers: Floats | None = None
    residuals: Floats | None = None
    gaps: Floats | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"<Front: {len(self)} points; {', '.join(self.names)}; {self.stop_reason}>"


def _text(value: Setting) -> str:
    """Write a setting as the command would."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ",".join("*".join(map(_text, pair)) for pair in value)
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _solve(
    solver: str,
    problem: Problem,
    n_points: int | None,
    settings: Mapping[str, Setting],
    *,
    seed: int = 0,
    starts: npt.ArrayLike | None = None,
    polish: bool,
    max_seconds: float | None,
    callback: Callback | None,
    n_jobs: int | None,
) -> Front:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}; it must be a fairfront.Problem")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}; it must be callable")
    if n_points is not None and n_points < 1:
        raise ValueError(f"n_points is {n_points}; it must be at least 1")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be at least 0 and below 2**64")
    own: list[BaseException] = []

    def tell(progress: dict[str, Any]) -> Any:
        assert callback is not None
        try:
            return callback(progress)
        except BaseException as error:
            # Who raises KeyboardInterrupt on purpose gets that one back, not what Ctrl-C raises.
            own.append(error)
            raise

    found, raised = solve(
        solver,
        problem._inner,
        n_points,
        seed,
        None if starts is None else _points(starts)[0],
        [(name, _text(value)) for name, value in settings.items()],
        polish,
        max_seconds,
        None if callback is None else tell,
        threads(n_jobs),
    )
    found["counters"] = json.loads(found["counters"])
    front = Front(names=problem.names, **found)
    if isinstance(raised, KeyboardInterrupt) and raised not in own:
        text = f"interrupted; the {len(front)} points found are in the attribute front"
        raise Interrupted(text, front) from raised
    if raised is not None:
        raise raised
    return front


def pf_smg(
    problem: Problem,
    *,
    n_points: int | None = None,
    seed: int = 0,
    starts: npt.ArrayLike | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Find the front by stochastic multi-gradients, for any objectives.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    n_points : int, optional
        The run ends when the front holds this many points; 1,500 without it.
    seed : int, default=0
        Seed of everything random: the same seed gives the same front, whatever `n_jobs` is.
    starts : array of shape (n, n_params), optional
        Points to start from.
    max_seconds : float, optional
        Time limit; the front found until then is returned. On large tables a limit that passes before there is
        a model raises ``TimeoutError``.
    callback : callable, optional
        Gets a dict with ``round``, ``share`` (of the budget), ``n_points``, ``hypervolume`` and
        ``seconds`` now and then; where it returns something true, the front found is returned.
    n_jobs : int, optional
        Threads; all cores without it.
    polish : bool, default=False
        Whether points take exact steps at the end until none of them can get better in all objectives.
    **settings : bool, int, float, str or list of pairs
        Settings of the solver by name: ``runs``, ``steps``, ``step``, ``step_factor``, ``step_every``,
        ``batches`` (as ``[(80, 1.018)]``: rows, growth a step), ``batch_share``, ``perturbations``,
        ``max_steps``, ``patience``, ``preconditioner``, …

    Returns
    -------
    Front
        The front.

    Raises
    ------
    Interrupted
        By Ctrl-C; its attribute ``front`` is what was found.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, pf_smg
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "disparate_impact(sex)"])
    >>> front = pf_smg(problem, n_points=20, seed=1)
    >>> len(front) >= 20, front.stop_reason
    (True, 'points')
    """
    return _solve(
        "pf_smg",
        problem,
        n_points,
        settings,
        seed=seed,
        starts=starts,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )


def weighted(
    problem: Problem,
    *,
    n_points: int | None = None,
    starts: npt.ArrayLike | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Find the front by weighted sums of the objectives, while temperatures of smooth ones fall.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    n_points : int, optional
        Points of the front at most; 200 without it.
    starts : array of shape (n, n_params), optional
        Points to start from; each sum takes the best for it.
    max_seconds : float, optional
        Time limit; the front found until then is returned. On large tables a limit that passes before there is
        a model raises ``TimeoutError``.
    callback : callable, optional
        Told of progress now and then, and asked whether to stop, as by :func:`pf_smg`.
    n_jobs : int, optional
        Threads; all cores without it.
    polish : bool, default=False
        Whether points take exact steps at the end until none of them can get better in all objectives.
    **settings : bool, int, float or str
        ``sums``, ``stages``, ``softening``, ``max_steps``, ``tolerance``.

    Returns
    -------
    Front
        The front.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, weighted
    >>> problem = Problem(Dataset.known("demo"), ["error_rate", "demographic_parity(sex)"])
    >>> front = weighted(problem, sums=8)
    >>> bool((front.values[0, 0] <= front.values[:, 0]).all())
    True
    """
    return _solve(
        "weighted",
        problem,
        n_points,
        settings,
        starts=starts,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )


def trace(
    problem: Problem,
    *,
    n_points: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Find the exact front of a convex loss and covariances, with proven gaps.

    Parameters
    ----------
    problem : Problem
        What to minimise: ``"log_loss"`` first, then covariances such as ``"disparate_impact(sex)"``.
    n_points : int, optional
        Points of the front; 1,000 without it.
    max_seconds : float, optional
        Time limit; the front found until then is returned. On large tables a limit that passes before there is
        a model raises ``TimeoutError``.
    callback : callable, optional
        Told of progress now and then, and asked whether to stop, as by :func:`pf_smg`.
    n_jobs : int, optional
        Threads; all cores without it.
    polish : bool, default=False
        Whether points take exact steps at the end until none of them can get better in all objectives.
    **settings : float
        ``tolerance``, ``hole``.

    Returns
    -------
    Front
        The front, with its certificates.

    Raises
    ------
    ValueError
        Where the loss has no second derivatives, or another objective is made of no covariances.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, trace
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "disparate_impact(sex)"])
    >>> front = trace(problem, n_points=30)
    >>> bool(front.gaps.max() < 1e-6)
    True
    """
    return _solve(
        "trace",
        problem,
        n_points,
        settings,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )


def eps_fair(
    problem: Problem,
    *,
    n_points: int | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Minimise the loss under a bound on covariances, once for each of many bounds: the baseline.

    Parameters
    ----------
    problem : Problem
        What to minimise: a loss first, then covariances such as ``"disparate_impact(sex)"``.
    n_points : int, optional
        Bounds, evenly spaced; 100 without it.
    seed : int, default=0
        Seed of random starts (``cold=True``).
    max_seconds : float, optional
        Time limit; the front found until then is returned. On large tables a limit that passes before there is
        a model raises ``TimeoutError``.
    callback : callable, optional
        Told of progress now and then, and asked whether to stop, as by :func:`pf_smg`.
    n_jobs : int, optional
        Threads; all cores without it.
    polish : bool, default=False
        Whether points take exact steps at the end until none of them can get better in all objectives.
    **settings : bool, int, float or str
        ``tolerance``, ``feasibility``, ``max_evaluations``, ``cold``, ``start_radius``,
        ``finite_differences``, ``preconditioner``.

    Returns
    -------
    Front
        The front.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, eps_fair
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "disparate_impact(sex)"])
    >>> eps_fair(problem, n_points=10).stop_reason
    'complete'
    """
    return _solve(
        "eps_fair",
        problem,
        n_points,
        settings,
        seed=seed,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )
