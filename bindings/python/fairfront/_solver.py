"""Solvers: compute the front of a problem."""

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
    """A set of points that do not dominate each other, sorted by their first objective.

    A point is the parameter vector of one model. The solvers return a front.

    Parameters
    ----------
    points : ndarray of shape (n, n_params)
        The parameters of the points.
    values : ndarray of shape (n, n_objectives)
        The values of the objectives at the points.
    unmitigated : ndarray of shape (n_params,)
        The unmitigated model: the minimizer of the first objective alone.
    unmitigated_values : ndarray of shape (n_objectives,)
        The values of the objectives at the unmitigated model.
    names : list of str
        The names of the objectives.
    stop_reason : str
        Why the solver ended: ``"full"``, ``"steps"``, ``"converged"``, ``"complete"``, or ``"stopped"`` if the
        callback, a time limit or Ctrl-C ended it.
    counters : dict, default={}
        Counts of the work: evaluations, gradients of each objective, points after each round.
    multipliers : ndarray of shape (n, n_objectives), default=None
        For each point, the weights of the shortest convex combination of the objectives' gradients, if the solver
        computed them.
    residuals : ndarray of shape (n,), default=None
        The length of this combination: 0 at a stationary point.
    gaps : ndarray of shape (n,), default=None
        The optimality gaps, which are proven bounds: no point lowers the first objective by more without being worse
        in another objective. NaN without an optimality proof.
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
    """Write a setting as for the command."""
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
    n_models: int | None,
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
        raise TypeError(f"problem is {type(problem).__name__}; pass a fairfront.Problem")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}; pass a callable")
    if n_models is not None and n_models < 1:
        raise ValueError(f"n_models is {n_models}; it must be at least 1")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed}; it must be at least 0 and below 2**64")
    own: list[BaseException] = []

    def tell(progress: dict[str, Any]) -> Any:
        assert callback is not None
        try:
            return callback(progress)
        except BaseException as error:
            # A KeyboardInterrupt that the callback raises on purpose must not become Interrupted.
            own.append(error)
            raise

    found, raised = solve(
        solver,
        problem._inner,
        n_models,
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
        message = f"interrupted; the attribute front contains the {len(front)} points found so far"
        raise Interrupted(message, front) from raised
    if raised is not None:
        raise raised
    return front


def pf_smg(
    problem: Problem,
    *,
    n_models: int | None = None,
    seed: int = 0,
    starts: npt.ArrayLike | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Compute the front by stochastic multi-gradient steps, for any objectives.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    n_models : int, default=None
        The number of points at which the solver ends. By default, 1,500.
    seed : int, default=0
        The random seed. The same seed gives the same front for any ``n_jobs``.
    starts : array-like of shape (n, n_params), default=None
        Points to start from. By default, ``n_starts`` random points. With ``anchors``, the solver also starts from the
        minimizers of the objectives.
    max_seconds : float, default=None
        The time limit. When it passes, the front found so far is returned. On large tables it may pass before the
        first model is found, which raises ``TimeoutError``.
    callback : callable, default=None
        A function that is called at intervals with a dict: ``round``, ``share`` (of the budget), ``n_models``,
        ``hypervolume`` and ``seconds``. If it returns a true value, the solver returns the front found so far.
    n_jobs : int, default=None
        The number of threads, as for :class:`fairfront.Dataset`. It does not affect the result.
    polish : bool, default=False
        Whether to refine the front at the end with exact steps, until no point can improve in all objectives.
    **settings : bool, int, float, str or list of pairs
        Settings of the solver by name: ``runs``, ``steps``, ``step``, ``step_factor``, ``step_every``, ``batches``
        (such as ``[(80, 1.018)]``: rows, and growth per step), ``batch_share``, ``perturbations``, ``max_steps``,
        ``patience``, ``preconditioner`` and others.

    Returns
    -------
    Front
        The front.

    Raises
    ------
    Interrupted
        After Ctrl-C. The attribute ``front`` of the exception is the front found so far.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, pf_smg
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "score_covariance(sex)"])
    >>> front = pf_smg(problem, n_models=20, seed=1)
    >>> len(front) >= 20, front.stop_reason
    (True, 'full')
    """
    return _solve(
        "pf_smg",
        problem,
        n_models,
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
    n_models: int | None = None,
    starts: npt.ArrayLike | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Compute the front by weighted sums of the objectives, with falling temperatures of smooth rates.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    n_models : int, default=None
        The largest number of points of the front. By default, 200.
    starts : array-like of shape (n, n_params), default=None
        Points to start from. Each sum starts from the best of them.
    max_seconds : float, default=None
        The time limit. When it passes, the front found so far is returned. On large tables it may pass before the
        first model is found, which raises ``TimeoutError``.
    callback : callable, default=None
        A function that receives the progress and can end the solver, as for :func:`pf_smg`.
    n_jobs : int, default=None
        The number of threads, as for :class:`fairfront.Dataset`. It does not affect the result.
    polish : bool, default=False
        Whether to refine the front at the end with exact steps, until no point can improve in all objectives.
    **settings : bool, int, float or str
        Settings of the solver by name: ``sums``, ``stages``, ``softening``, ``max_steps`` and ``tolerance``.

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
        n_models,
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
    n_models: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Compute the exact front of a convex loss and covariances, with optimality proofs.

    Parameters
    ----------
    problem : Problem
        The problem to solve: ``"log_loss"`` first, then covariances such as ``"score_covariance(sex)"``.
    n_models : int, default=None
        The number of points of the front. By default, 1,000.
    max_seconds : float, default=None
        The time limit. When it passes, the front found so far is returned. On large tables it may pass before the
        first model is found, which raises ``TimeoutError``.
    callback : callable, default=None
        A function that receives the progress and can end the solver, as for :func:`pf_smg`.
    n_jobs : int, default=None
        The number of threads, as for :class:`fairfront.Dataset`. It does not affect the result.
    polish : bool, default=False
        Whether to refine the front at the end with exact steps, until no point can improve in all objectives.
    **settings : float
        Settings of the solver by name: ``tolerance`` and ``hole``.

    Returns
    -------
    Front
        The front, with its optimality gaps.

    Raises
    ------
    ValueError
        If the loss has no second derivatives, or if another objective does not consist of covariances.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, trace
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "score_covariance(sex)"])
    >>> front = trace(problem, n_models=30)
    >>> bool(front.gaps.max() < 1e-6)
    True
    """
    return _solve(
        "trace",
        problem,
        n_models,
        settings,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )


def eps_fair(
    problem: Problem,
    *,
    n_models: int | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
    polish: bool = False,
    **settings: Setting,
) -> Front:
    """Minimize the loss for each of many bounds on covariances: the paper's baseline.

    Parameters
    ----------
    problem : Problem
        The problem to solve: a loss first, then covariances such as ``"score_covariance(sex)"``.
    n_models : int, default=None
        The number of bounds, which are evenly spaced. By default, 100.
    seed : int, default=0
        The seed of random starts (``cold=True``).
    max_seconds : float, default=None
        The time limit. When it passes, the front found so far is returned. On large tables it may pass before the
        first model is found, which raises ``TimeoutError``.
    callback : callable, default=None
        A function that receives the progress and can end the solver, as for :func:`pf_smg`.
    n_jobs : int, default=None
        The number of threads, as for :class:`fairfront.Dataset`. It does not affect the result.
    polish : bool, default=False
        Whether to refine the front at the end with exact steps, until no point can improve in all objectives.
    **settings : bool, int, float or str
        Settings of the solver by name: ``tolerance``, ``feasibility``, ``max_evaluations``, ``cold``,
        ``start_radius``, ``finite_differences`` and ``preconditioner``.

    Returns
    -------
    Front
        The front.

    Examples
    --------
    >>> from fairfront import Dataset, Problem, eps_fair
    >>> problem = Problem(Dataset.known("demo"), ["log_loss", "score_covariance(sex)"])
    >>> eps_fair(problem, n_models=10).stop_reason
    'complete'
    """
    return _solve(
        "eps_fair",
        problem,
        n_models,
        settings,
        seed=seed,
        polish=polish,
        max_seconds=max_seconds,
        callback=callback,
        n_jobs=n_jobs,
    )
