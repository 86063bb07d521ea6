"""Fit fronts on a Ray cluster: rows that do not fit on one machine, with the same bytes as in memory."""

from __future__ import annotations

import contextlib
import os
import socket
import warnings
from collections.abc import Iterator
from typing import Any

from fairfront._base import FairFrontWarning
from fairfront._classifier import FairFrontClassifier as _Classifier
from fairfront._cluster import ClusterEstimator, with_parameters
from fairfront._regressor import FairFrontRegressor as _Regressor
from fairfront._workers import Cluster, Lost, Worker

try:
    import ray as _ray
    from ray.exceptions import ObjectLostError, RayActorError, WorkerCrashedError
except ImportError as error:
    raise ImportError("fairfront.ray needs Ray, which is not installed; install fairfront[ray]") from error

__all__ = ["FairFrontClassifier", "FairFrontRegressor", "RayCluster"]

#: Larger requests are stored once per machine instead of being sent to each actor.
_SHARED_BYTES = 100_000
#: Seconds to wait for a connection to a cluster.
_REACH = 10.0


def _check_address(address: str | None) -> None:
    """Reject an address that cannot be reached, for which Ray would wait many minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH).close()
    except OSError as error:
        raise ConnectionError(
            f"address={address!r}: the Ray cluster cannot be reached ({error}); check the address, or start the cluster"
        ) from error


class RayCluster(Cluster):
    """Workers that are Ray actors.

    Parameters
    ----------
    address : str, default=None
        The address of the cluster, as in ``ray.init``. By default, the cluster that the process is connected to, or a
        new one on this machine.
    cpus_per_worker : int, default=1
        The number of CPUs, and threads, of each actor.
    n_workers : int, default=None
        The number of actors that will be started, to warn if the cluster is too small.
    """

    def __init__(self, address: str | None = None, cpus_per_worker: int = 1, n_workers: int | None = None) -> None:
        if not _ray.is_initialized():
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
            if address in (None, "local") and "RAY_ADDRESS" not in os.environ:
                settings["include_dashboard"] = False
            _check_address(address)
            _ray.init(address=address, **settings)
        cpus = _ray.cluster_resources().get("CPU", 0)
        if n_workers is not None and n_workers * cpus_per_worker > cpus:
            message = (
                f"num_workers={n_workers}: {n_workers * cpus_per_worker} CPU(s) are needed, but the Ray cluster has "
                f"{cpus:g}, so the fit waits until more are available; set fewer workers, or add machines"
            )
            warnings.warn(message, FairFrontWarning, stacklevel=4)
        self._threads = cpus_per_worker
        # Ray would restart an actor without its rows; Workers replaces it instead.
        self._actor = _ray.remote(num_cpus=cpus_per_worker, max_restarts=0, max_task_retries=0)(Worker)

    def start(self, header: bytes) -> Any:
        return self._actor.remote(header, self._threads)

    def share(self, data: bytes) -> Any:
        return _ray.put(data) if len(data) > _SHARED_BYTES else data

    def call(self, worker: Any, method: str, *arguments: Any) -> Any:
        return getattr(worker, method).remote(*arguments)

    def result(self, call: Any) -> Any:
        try:
            return _ray.get(call)
        except (RayActorError, WorkerCrashedError, ObjectLostError) as error:
            raise Lost(str(error).strip().splitlines()[0]) from error

    def stop(self, worker: Any) -> None:
        # Killing an actor that is already dead has no effect, except if the cluster no longer knows it.
        with contextlib.suppress(ValueError, RayActorError):
            _ray.kill(worker)


class _RayEstimator(ClusterEstimator):
    """The common part of the estimators."""

    def __init__(
        self,
        objectives: Any = None,
        *,
        num_workers: int = 2,
        address: str | None = None,
        cpus_per_worker: int = 1,
        work_dir: str | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(objectives, **parameters)
        self.num_workers = num_workers
        self.address = address
        self.cpus_per_worker = cpus_per_worker
        self.work_dir = work_dir

    def _cluster(self) -> RayCluster:
        return RayCluster(self.address, self.cpus_per_worker, self.num_workers)

    def _batches(self, X: Any) -> Any:
        return _batches(X) if hasattr(X, "iter_batches") else None


def _batches(X: Any) -> Iterator[Any]:
    """The rows of a data set of Ray, always in the same order, because the split depends on it."""
    options = X.context.execution_options
    was = options.preserve_order
    options.preserve_order = True
    try:
        # Arrow batches, never pandas, which multiplies the memory of strings.
        yield from X.iter_batches(batch_format="pyarrow", batch_size=1 << 16)
    finally:
        options.preserve_order = was


@with_parameters
class FairFrontClassifier(_RayEstimator, _Classifier):
    """A front of fair classifiers, computed by the workers of a Ray cluster.

    It has the parameters, methods and attributes of :class:`fairfront.FairFrontClassifier`, and its results have the
    same bytes for any number of workers. Only ``fit`` differs: rows come from a ``ray.data.Dataset`` or from files, and
    ``y``, ``sensitive_features`` and ``sample_weight`` name columns.

    Parameters
    ----------
    num_workers : int, default=2
        The number of actors that hold the rows.
    address : str, default=None
        The address of the cluster, as in ``ray.init``. By default, the cluster that the process is connected to, or a
        new one on this machine.
    cpus_per_worker : int, default=1
        The number of CPUs, and threads, of each actor.
    work_dir : str, default=None
        The folder for the block file of the driver, from which rows of lost workers are loaded again. By default, the
        folder for temporary files.
    **parameters : object
        The parameters of :class:`fairfront.FairFrontClassifier`.
    """


@with_parameters
class FairFrontRegressor(_RayEstimator, _Regressor):
    """A front of models that predict numbers, computed by the workers of a Ray cluster.

    It has the parameters, methods and attributes of :class:`fairfront.FairFrontRegressor`, and its results have the
    same bytes for any number of workers. Only ``fit`` differs: rows come from a ``ray.data.Dataset`` or from files, and
    ``y``, ``sensitive_features`` and ``sample_weight`` name columns.

    Parameters
    ----------
    num_workers : int, default=2
        The number of actors that hold the rows.
    address : str, default=None
        The address of the cluster, as in ``ray.init``. By default, the cluster that the process is connected to, or a
        new one on this machine.
    cpus_per_worker : int, default=1
        The number of CPUs, and threads, of each actor.
    work_dir : str, default=None
        The folder for the block file of the driver, from which rows of lost workers are loaded again. By default, the
        folder for temporary files.
    **parameters : object
        The parameters of :class:`fairfront.FairFrontRegressor`.
    """
