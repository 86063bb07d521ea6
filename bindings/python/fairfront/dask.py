"""Fit fronts on a Dask cluster: rows that do not fit on one machine, with the same bytes as in memory."""

from __future__ import annotations

import contextlib
import itertools
import os
from typing import Any

from fairfront._classifier import FairFrontClassifier as _Classifier
from fairfront._cluster import ClusterEstimator, with_parameters
from fairfront._regressor import FairFrontRegressor as _Regressor
from fairfront._workers import Cluster, Lost, Worker

try:
    import dask
    import distributed
    from distributed.comm import CommClosedError
except ImportError as error:
    raise ImportError("fairfront.dask needs Dask, which is not installed; install fairfront[dask]") from error

__all__ = ["DaskCluster", "FairFrontClassifier", "FairFrontRegressor"]

#: Seconds between two checks whether a worker still exists.
_LOOK = 0.5
#: Seconds to wait until a worker has dropped its rows.
_STOP = 10.0
_NUMBERS = itertools.count()


def _call(key: str, header: Any, threads: int, method: str, arguments: tuple[Any, ...]) -> Any:
    """Runs on a worker of Dask, which keeps the rows between calls; ``None`` if it has lost them."""
    state = distributed.get_worker().__dict__.setdefault("fairfront", {})
    if method == "start":
        state[key] = Worker(header, threads)
        return True
    if method == "stop":
        state.pop(key, None)
        return True
    if key not in state:
        return None
    done = getattr(state[key], method)(*arguments)
    return True if done is None else done


class DaskCluster(Cluster):
    """Workers that are workers of Dask.

    Parameters
    ----------
    address : str, default=None
        The address of the scheduler. By default, the client of this process, or a new cluster on this machine.
    threads_per_worker : int, default=1
        The number of threads of each worker.
    """

    def __init__(self, address: str | None = None, threads_per_worker: int = 1) -> None:
        self._owned = False
        if address and address != "local":
            self._client = distributed.Client(address)
            self._owned = True
        else:
            try:
                if address:
                    raise ValueError("a new cluster")
                self._client = distributed.get_client()
            except ValueError:
                self._client = distributed.Client(dashboard_address=None)
                self._owned = True
        self._threads = threads_per_worker
        # Keys are unique among all drivers of the cluster.
        self._id = f"fairfront-{os.urandom(8).hex()}"
        self._next = 0

    def _names(self) -> list[str]:
        return sorted(self._client.nthreads())

    def start(self, header: bytes) -> Any:
        self._client.wait_for_workers(1)
        names = self._names()
        if not names:
            raise Lost("all workers of Dask")
        name = names[self._next % len(names)]
        self._next += 1
        worker = (f"{self._id}-{next(_NUMBERS)}", name)
        self.result(self._submit(worker, "start", (), header))
        return worker

    def _submit(self, worker: Any, method: str, arguments: tuple[Any, ...], header: bytes | None = None) -> Any:
        key, name = worker
        # Rows are sent once, to one worker, so nothing is gained by sharing them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            future = self._client.submit(
                _call, key, header, self._threads, method, arguments, workers=[name], pure=False, retries=0
            )
        return worker, future

    def call(self, worker: Any, method: str, *arguments: Any) -> Any:
        return self._submit(worker, method, arguments)

    def result(self, call: Any) -> Any:
        (_, name), future = call
        while True:
            try:
                done = future.result(timeout=_LOOK)
            except (TimeoutError, distributed.TimeoutError):
                if name in self._names():
                    continue
                future.cancel()
                raise Lost(f"worker {name} of Dask ended") from None
            except (distributed.KilledWorker, distributed.CancelledError, CommClosedError) as error:
                raise Lost(f"worker {name} of Dask ended") from error
            if done is None:
                raise Lost(f"worker {name} of Dask restarted")
            return done

    def stop(self, worker: Any) -> None:
        with contextlib.suppress(distributed.KilledWorker, distributed.CancelledError, OSError):
            if worker[1] in self._names():
                _, future = self._submit(worker, "stop", ())
                try:
                    future.result(timeout=_STOP)
                except (TimeoutError, distributed.TimeoutError):
                    # The worker is lost or busy; without this, Dask would keep the call forever.
                    future.cancel()

    def close(self) -> None:
        if self._owned:
            self._client.close()


class _DaskEstimator(ClusterEstimator):
    """The common part of the estimators."""

    def __init__(
        self,
        objectives: Any = None,
        *,
        num_workers: int = 2,
        address: str | None = None,
        threads_per_worker: int = 1,
        work_dir: str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(objectives, **parameters)
        self.num_workers = num_workers
        self.address = address
        self.threads_per_worker = threads_per_worker
        self.work_dir = work_dir

    def _cluster(self) -> DaskCluster:
        return DaskCluster(self.address, self.threads_per_worker)

    def _batches(self, X: Any) -> Any:
        if hasattr(X, "partitions") and hasattr(X, "npartitions"):
            return (X.partitions[number].compute() for number in range(X.npartitions))
        return None


@with_parameters
class FairFrontClassifier(_DaskEstimator, _Classifier):
    """A front of fair classifiers, computed by the workers of a Dask cluster.

    It has the parameters, methods and attributes of :class:`fairfront.FairFrontClassifier`, and its results have the
    same bytes for any number of workers. Only ``fit`` differs: rows come from a ``dask.dataframe.DataFrame`` or from
    files, and ``y``, ``sensitive_features`` and ``sample_weight`` name columns.

    Parameters
    ----------
    num_workers : int, default=2
        The number of shares of the rows; a worker of Dask may hold several.
    address : str, default=None
        The address of the scheduler. By default, the client of this process, or a new cluster on this machine.
    threads_per_worker : int, default=1
        The number of threads of each worker.
    work_dir : str, default=None
        The folder for the block file of the driver, from which rows of lost workers are loaded again. By default, the
        folder for temporary files.
    **parameters : object
        The parameters of :class:`fairfront.FairFrontClassifier`.
    """


@with_parameters
class FairFrontRegressor(_DaskEstimator, _Regressor):
    """A front of models that predict numbers, computed by the workers of a Dask cluster.

    It has the parameters, methods and attributes of :class:`fairfront.FairFrontRegressor`, and its results have the
    same bytes for any number of workers. Only ``fit`` differs: rows come from a ``dask.dataframe.DataFrame`` or from
    files, and ``y``, ``sensitive_features`` and ``sample_weight`` name columns.

    Parameters
    ----------
    num_workers : int, default=2
        The number of shares of the rows; a worker of Dask may hold several.
    address : str, default=None
        The address of the scheduler. By default, the client of this process, or a new cluster on this machine.
    threads_per_worker : int, default=1
        The number of threads of each worker.
    work_dir : str, default=None
        The folder for the block file of the driver, from which rows of lost workers are loaded again. By default, the
        folder for temporary files.
    **parameters : object
        The parameters of :class:`fairfront.FairFrontRegressor`.
    """
