"""What is written in Rust."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

def run_command(arguments: Sequence[str]) -> int: ...

class Dataset:
    @staticmethod
    def known(name: str) -> Dataset: ...

class Rows:
    """Some rows, as a callable sees them."""

    @property
    def labels(self) -> npt.NDArray[np.float64]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    def groups(self, attribute: str) -> npt.NDArray[np.int64]: ...
    def group_names(self, attribute: str) -> list[str]: ...
    def __len__(self) -> int: ...

class Batch:
    """Which rows a stochastic gradient is made from."""

    @property
    def sizes(self) -> list[int]: ...
    @property
    def seed(self) -> int: ...
    @property
    def key(self) -> tuple[int, int]: ...
    @property
    def n_rows(self) -> int: ...
    def rows(self, objective: int = 0) -> npt.NDArray[np.int64]: ...

class Problem:
    @staticmethod
    def of_dataset(dataset: Dataset, objectives: Sequence[Any]) -> Problem: ...
    @staticmethod
    def of_functions(
        values: Callable[..., Any],
        gradients: Callable[..., Any],
        n_params: int,
        n_objectives: int,
        n_rows: int | None,
        start: Sequence[float] | None,
        minimiser: Sequence[float] | None,
        names: Sequence[str],
    ) -> Problem: ...
    @property
    def n_params(self) -> int: ...
    @property
    def n_objectives(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    def values(self, array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def gradients(self, array: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def evaluate(
        self, array: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...

def solve(
    solver: str,
    problem: Problem,
    n_points: int | None,
    seed: int,
    starts: npt.NDArray[np.float64] | None,
    settings: Sequence[tuple[str, str]],
    polished: bool,
    max_seconds: float | None,
    callback: Callable[[dict[str, Any]], Any] | None,
    n_jobs: int | None,
) -> tuple[dict[str, Any], BaseException | None]: ...
