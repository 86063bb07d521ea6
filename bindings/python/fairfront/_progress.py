"""Threads, seeds and progress, in the form that the extension expects."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

#: A function that receives a dict with ``round``, ``share`` of the budget spent, ``n_models``, ``hypervolume``
#: (``None`` for more than four objectives) and ``seconds``. If it returns a true value, the fit ends and keeps its
#: front.
Callback: TypeAlias = Callable[[dict[str, Any]], Any]


def threads(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``.

    ``None`` means all cores that are available to this process, or ``OMP_NUM_THREADS`` if that is smaller, as in
    joblib's workers. A negative number ``-k`` leaves ``k - 1`` cores free.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(available, int(limit)) if limit.isdigit() and int(limit) > 0 else available
    n_jobs = whole("n_jobs", n_jobs, -(2**31))
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; pass a number of threads, or -1 for all cores")
    # More threads than this would only wait for each other.
    return min(n_jobs, max(available, 64)) if n_jobs > 0 else max(1, available + 1 + n_jobs)


def whole(name: str, value: Any, least: int) -> int:
    """Check that a value is a whole number of at least ``least``."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name}={value!r}: expected a whole number of at least {least}")
    if not least <= number < 2**63:
        raise ValueError(f"{name}={value!r}: expected a whole number of at least {least}")
    return number


def seed(random_state: Any) -> int:
    """The seed for ``random_state``: a number, drawn from a generator, or random for ``None``."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if 0 <= random_state < 2**64:
            return int(random_state)
    raise ValueError(f"{random_state!r} cannot be used to seed; pass a whole number of at least 0, or None")


class Progress:
    """The callback for the extension: the user's, a progress bar, or ``None``."""

    def __init__(self, progress: bool | Callback | None, label: str) -> None:
        self._bar: Any = None
        self.callback: Callback | None = None
        #: Whether the work was stopped early.
        self.stopped = False
        if callable(progress):
            self.callback = progress
        elif progress:
            self._bar = _bar(label)
            self.callback = self._advance

    def _advance(self, told: dict[str, Any]) -> None:
        self._bar.n = round(1000 * told["share"]) / 10
        self._bar.set_postfix(models=told["n_models"], refresh=False)
        self._bar.refresh()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._bar is not None:
            if kind is None and not self.stopped:
                self._bar.n = self._bar.total
            self._bar.close()


def _bar(label: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm, which is not installed; install tqdm, or pass a function"
        ) from error
    return tqdm(total=100.0, desc=label, bar_format="{l_bar}{bar}| {elapsed}<{remaining}{postfix}")
