"""Fits on Ray have the same bytes as in memory, also if an actor dies."""

import os
import subprocess
import sys

import numpy as np
import pytest
from cluster_rows import PARAMS, ROWS, frame, run_files, same
from sklearn.base import clone

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")

from fairfront import FairFrontClassifier, FairFrontWarning, pack  # noqa: E402
from fairfront.ray import FairFrontClassifier as RayClassifier  # noqa: E402
from fairfront.ray import RayCluster  # noqa: E402

ROLES = {"sensitive_features": "sex", "sample_weight": "weight"}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    # More CPUs than the machine may have, so that all actors start.
    ray.init(
        num_cpus=4, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False, logging_level="ERROR"
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame(150_000).to_parquet(path)
    return str(path)


@pytest.fixture(scope="module")
def expected(table):
    return FairFrontClassifier(**PARAMS, **ROWS).fit(table, "paid", **ROLES)


def test_files_give_the_same_run(tmp_path, table, expected):
    front = RayClassifier(**PARAMS, **ROWS).fit(table, "paid", **ROLES)
    same(expected, front)
    assert front.losses_ == 0 and front.rounds_ > 10
    first, second = run_files(expected, tmp_path / "memory"), run_files(front, tmp_path / "ray")
    first[1].pop("read", None)
    assert first == second


def test_a_data_set_of_ray_gives_the_same_front(table, expected):
    rows = ray.data.from_pandas([part for _, part in frame(150_000).groupby(np.arange(150_000) // 40_000)])
    before = rows.context.execution_options.preserve_order
    same(expected, RayClassifier(**PARAMS, **ROWS).fit(rows, "paid", **ROLES))
    assert rows.context.execution_options.preserve_order == before


def test_a_lost_actor_is_replaced(tmp_path, table, expected, monkeypatch):
    path = tmp_path / "rows.ffb"
    pack(table, path, "paid", **ROLES, **ROWS)
    calls, call = [], RayCluster.call

    def deadly(self, worker, method, *arguments):
        calls.append(method)
        started = call(self, worker, method, *arguments)
        if len(calls) in (3, 40, 41):
            # While it loads, and during two rounds; the second time for both workers.
            ray.kill(worker)
        return started

    monkeypatch.setattr(RayCluster, "call", deadly)
    front = RayClassifier(num_workers=2, **PARAMS).fit(path)
    same(expected, front)
    assert front.losses_ >= 2


def test_stopping_a_dead_actor_is_not_an_error(tmp_path):
    path = tmp_path / "rows.ffb"
    pack(frame(1000), path, "paid", sensitive_features="sex")
    cluster = RayCluster()
    from fairfront._fairfront import BlockFile

    actor = cluster.start(BlockFile(str(path)).header)
    cluster.stop(actor)
    cluster.stop(actor)


def test_parameters():
    front = RayClassifier(["error_rate"], num_workers=3, n_models=7)
    assert "num_workers=3" in repr(front) and "n_models=7" in repr(front)
    again = clone(front).set_params(num_workers=1, solver="trace")
    assert again.get_params()["num_workers"] == 1
    assert again.get_params()["solver"] == "trace"
    assert set(again.get_params()) > set(FairFrontClassifier().get_params())
    with pytest.raises(TypeError, match="nonsense"):
        RayClassifier(nonsense=1)


@pytest.mark.filterwarnings("error::fairfront.FairFrontWarning")
def test_a_small_cluster_causes_a_warning():
    with pytest.raises(FairFrontWarning, match="num_workers=5: 5 CPU.s. are needed, but the Ray cluster has 4"):
        RayCluster(None, 1, 5)


def test_an_address_that_cannot_be_reached():
    code = "from fairfront.ray import RayCluster; RayCluster('127.0.0.1:1')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConnectionError: address='127.0.0.1:1': the Ray cluster cannot be reached" in done.stderr


def test_the_package_does_not_import_ray():
    code = "import sys, fairfront; fairfront.FairFrontClassifier, fairfront.pack; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    code = "import sys; sys.modules['ray'] = None; import fairfront.ray"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: fairfront.ray needs Ray, which is not installed; install fairfront[ray]" in done.stderr
