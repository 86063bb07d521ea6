"""Estimators on a cluster: they pack rows, distribute them, and fit the front on the driver."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeVar

from fairfront._dataset import is_block_file, open_block_file
from fairfront._front_estimator import FrontEstimator
from fairfront._pack import pack
from fairfront._progress import whole
from fairfront._workers import Cluster, Workers


class ClusterEstimator(FrontEstimator[Any]):
    """The common part of the estimators of ``fairfront.ray`` and ``fairfront.dask``."""

    num_workers: int
    work_dir: str | None

    @abstractmethod
    def _cluster(self) -> Cluster:
        """The program that runs the workers."""

    @abstractmethod
    def _batches(self, X: Any) -> Any:
        """An iterator of tables, if X is a distributed table; ``None`` otherwise."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        sensitive_probability: Any = None,
    ) -> Self:
        """Compute the front on the cluster, and choose the model to use.

        Parameters
        ----------
        X : distributed table, path, or list of paths
            The rows, with their target and their groups. The driver reads CSV and Parquet files. The path of a block
            file (:func:`fairfront.pack`) needs no other arguments.
        y : str, default=None
            The name of the target column.
        sensitive_features : str or list of str, default=None
            The names of the sensitive columns.
        sample_weight : str, default=None
            The name of the column of weights.
        sensitive_probability : None, default=None
            Not available on a cluster, which needs known groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if self.estimator is not None:
            raise ValueError("estimator: your own estimator cannot run on a cluster; remove estimator")
        if sensitive_probability is not None:
            raise ValueError(
                "sensitive_probability: a cluster needs known groups; pass sensitive_features, or fit without a cluster"
            )
        n_workers = whole("num_workers", self.num_workers, 1)
        if is_block_file(X):
            self._check_block_file(y, sensitive_features, sample_weight)
            return self._fit_file(os.fspath(X), n_workers)
        batches = self._batches(X)
        with tempfile.TemporaryDirectory(prefix="fairfront-", dir=self.work_dir) as folder:
            path = os.path.join(folder, "rows.ffb")
            pack(
                X if batches is None else batches,
                path,
                y,
                sensitive_features=sensitive_features,
                sample_weight=sample_weight,
                **self._target(),
                validation_fraction=self.validation_fraction,
                holdout_fraction=self.holdout_fraction,
                missing=self.missing,
                missing_sensitive=self.missing_sensitive,
                pool_rare=self.pool_rare,
                min_group=self.min_group,
                pool_groups=self.pool_groups,
                reference=self.reference,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                work_dir=folder,
            )
            return self._fit_file(path, n_workers)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **given: Any) -> Self:
        """Raise an error, because a cluster cannot update a front.

        Parameters
        ----------
        X, y, classes : object
            Ignored.
        **given : object
            Ignored.

        Returns
        -------
        self : object
            Never.
        """
        raise ValueError(f"partial_fit does not run on a cluster; use fit, or fairfront.{type(self).__name__}")

    def _fit_file(self, path: str, n_workers: int) -> Self:
        workers = Workers(self._cluster(), path, n_workers)
        try:
            self._fit_dataset(open_block_file(path, workers, self.n_jobs))
        finally:
            self.losses_ = workers.losses
            self.rounds_ = workers.rounds
            workers.close()
        return self


Kind = TypeVar("Kind", bound="type[Any]")


def with_parameters(cls: Kind) -> Kind:
    """Give an estimator a constructor with the parameters of the cluster, then those of its second base class."""
    make: Callable[..., None] = cls.__init__
    own = inspect.signature(make).parameters
    base = inspect.signature(cls.__bases__[1]).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    mine = [p for p in own.values() if p.kind is keyword]
    rest = [p for name, p in base.items() if p.kind is keyword and name not in own]

    @functools.wraps(make)
    def init(self: Any, *given: Any, **parameters: Any) -> None:
        make(self, *given, **parameters)

    init.__signature__ = inspect.Signature([own["self"], own["objectives"], *mine, *rest])  # type: ignore[attr-defined]
    setattr(cls, "__init__", init)
    return cls
