"""Fits on Dask have the same bytes as in memory, also if a worker dies."""

import os
import signal
import subprocess
import sys

import pytest
from cluster_rows import PARAMS, ROWS, frame, same
from sklearn.base import clone

distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")

from fairfront import FairFrontClassifier  # noqa: E402
from fairfront.dask import DaskCluster  # noqa: E402
from fairfront.dask import FairFrontClassifier as DaskClassifier  # noqa: E402

ROLES = {"sensitive_features": "sex", "sample_weight": "weight"}


@pytest.fixture(scope="module")
def client():
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame(120_000).to_parquet(path)
    return str(path)


@pytest.fixture(scope="module")
def expected(table):
    return FairFrontClassifier(**PARAMS, **ROWS).fit(table, "paid", **ROLES)


def test_files_give_the_same_front(client, table, expected):
    front = DaskClassifier(num_workers=3, **PARAMS, **ROWS).fit(table, "paid", **ROLES)
    same(expected, front)
    assert front.losses_ == 0
    # The workers of Dask hold no rows afterwards.
    kept = client.run(lambda dask_worker: len(dask_worker.__dict__.get("fairfront", {})))
    assert set(kept.values()) == {0}


def test_a_frame_of_dask_gives_the_same_front(client, table, expected):
    rows = dataframe.from_pandas(frame(120_000), npartitions=4)
    same(expected, DaskClassifier(**PARAMS, **ROWS).fit(rows, "paid", **ROLES))


def test_a_lost_worker_is_replaced(client, table, expected, monkeypatch):
    calls, call = [], DaskCluster.call

    def deadly(self, worker, method, *arguments):
        calls.append(method)
        if len(calls) in (4, 60):
            # Once while it loads, once during a round. Dask starts another process with another address.
            pids = client.run(os.getpid)
            if worker[1] in pids:
                os.kill(pids[worker[1]], signal.SIGKILL)
        return call(self, worker, method, *arguments)

    monkeypatch.setattr(DaskCluster, "call", deadly)
    front = DaskClassifier(num_workers=2, **PARAMS, **ROWS).fit(table, "paid", **ROLES)
    same(expected, front)
    assert front.losses_ >= 2


def test_parameters():
    front = DaskClassifier(num_workers=3, n_models=7)
    assert "num_workers=3" in repr(front) and "n_models=7" in repr(front)
    assert clone(front).set_params(threads_per_worker=2).get_params()["threads_per_worker"] == 2
    assert set(front.get_params()) > set(FairFrontClassifier().get_params())


def test_the_package_does_not_import_dask():
    code = "import sys, fairfront; fairfront.FairFrontClassifier, fairfront.pack; sys.exit('distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    code = "import sys; sys.modules['distributed'] = None; import fairfront.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: fairfront.dask needs Dask, which is not installed; install fairfront[dask]" in done.stderr
