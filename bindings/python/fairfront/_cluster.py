"""The classifier on a cluster: packs rows, distributes them, and fits the front on the driver."""

from __future__ import annotations

import inspect
import os
import tempfile
from abc import abstractmethod
from typing import Any

from fairfront._classifier import FairFrontClassifier
from fairfront._dataset import is_block_file, open_block_file
from fairfront._pack import pack
from fairfront._progress import whole
from fairfront._workers import Cluster, Workers


class ClusterClassifier(FairFrontClassifier):
    """The common part of the classifiers of ``fairfront.ray`` and ``fairfront.dask``."""

    num_workers: int
    work_dir: str | None

    @abstractmethod
    def _cluster(self) -> Cluster:
        """The program that runs the workers."""

    @abstractmethod
    def _batches(self, X: Any) -> Any:
        """An iterator of tables, if X is a distributed table; ``None`` otherwise."""

    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> ClusterClassifier:
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

        Returns
        -------
        self : FairFrontClassifier
            The fitted estimator.
        """
        if self.estimator is not None:
            raise ValueError("estimator: your own estimator cannot run on a cluster; remove estimator")
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
                pos_label=self.pos_label,
                validation_fraction=self.validation_fraction,
                holdout_fraction=self.holdout_fraction,
                missing=self.missing,
                missing_sensitive=self.missing_sensitive,
                pool_rare=self.pool_rare,
                min_group=self.min_group,
                pool_groups=self.pool_groups,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                work_dir=folder,
            )
            return self._fit_file(path, n_workers)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **given: Any) -> ClusterClassifier:
        """Raise an error, because a cluster cannot update a front.

        Parameters
        ----------
        X, y, classes : object
            Ignored.
        **given : object
            Ignored.

        Returns
        -------
        self : FairFrontClassifier
            Never.
        """
        raise ValueError("partial_fit does not run on a cluster; use fit, or fairfront.FairFrontClassifier")

    def _fit_file(self, path: str, n_workers: int) -> ClusterClassifier:
        workers = Workers(self._cluster(), path, n_workers)
        try:
            self._fit_dataset(open_block_file(path, workers, self.n_jobs))
        finally:
            self.losses_ = workers.losses
            self.rounds_ = workers.rounds
            workers.close()
        return self


def signature_of(cls: type) -> inspect.Signature:
    """The signature of a cluster classifier: its own parameters, then those of the classifier."""
    own = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    base = inspect.signature(FairFrontClassifier.__init__).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    mine = [p for p in own.values() if p.kind is keyword]
    rest = [p for name, p in base.items() if p.kind is keyword and name not in own]
    return inspect.Signature([own["self"], own["objectives"], *mine, *rest])
