"""Rows on worker processes: the same bytes as in memory, for any number of workers, also if workers are killed."""

import os
import random
import threading
import time

import numpy as np
import pytest
from cluster_rows import PARAMS, ROWS, frame, same

from fairfront import FairFrontClassifier, FairFrontRegressor, pack
from fairfront._cluster import ClusterEstimator
from fairfront._dataset import open_block_file
from fairfront._processes import ProcessCluster
from fairfront._workers import MOST_LOSSES, Lost, Workers, shares


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.ffb"
    pack(frame(), path, "paid", sensitive_features="sex", sample_weight="weight", **ROWS)
    return str(path)


@pytest.fixture(scope="module")
def expected(path):
    return FairFrontClassifier(**PARAMS).fit(path)


def fit(path, workers, **params):
    front = FairFrontClassifier(**{**PARAMS, **params})
    front._fit_dataset(open_block_file(path, workers))
    return front


def with_workers(path, n_workers, **params):
    workers = Workers(ProcessCluster(), path, n_workers)
    try:
        return fit(path, workers, **params)
    finally:
        workers.close()


@pytest.mark.parametrize("n_workers", [1, 2, 4, 7])
def test_any_number_of_workers_gives_the_same_bytes(path, expected, n_workers):
    same(expected, with_workers(path, n_workers))


def test_more_workers_than_super_blocks(path, expected):
    same(expected, with_workers(path, 11))


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "weighted", "n_models": 3},
        {"solver": "pf-smg", "n_models": 10, "settings": {"holes": 0, "explore_runs": 0}},
        {"family": "trees", "solver": "auto", "n_models": 5},
    ],
    ids=["weighted", "pf-smg", "trees"],
)
def test_other_solvers_and_families(tmp_path, params):
    path = str(tmp_path / "rows.ffb")
    # Two super-blocks of training rows: these fits take longer than those of the other tests.
    pack(frame(40_000), path, "paid", sensitive_features="sex", pos_label="yes")
    expected = FairFrontClassifier(**{**PARAMS, **params}).fit(path)
    same(expected, with_workers(path, 3, **params))


@pytest.mark.parametrize("seed", range(int(os.environ.get("FAIRFRONT_KILLS", 4))))
def test_workers_killed_at_random_moments(path, expected, seed):
    chance = random.Random(seed)
    n_workers = [3, 1, 7, 2, 4][seed % 5]
    workers = Workers(ProcessCluster(), path, n_workers)
    finished = threading.Event()

    def kill():
        # A fit takes less than a second, and so does a replacement. More losses of the same worker could end the fit.
        for _ in range(MOST_LOSSES - 2):
            if finished.wait(chance.uniform(0.05, 0.4)):
                return
            worker = chance.choice(workers._workers)
            if worker is not None:
                worker.kill()

    killer = threading.Thread(target=kill)
    # One worker is dead before the fit.
    workers._workers[seed % n_workers].kill()
    killer.start()
    try:
        same(expected, fit(path, workers))
    finally:
        finished.set()
        killer.join()
        workers.close()
    assert workers.losses > 0


class Dying(ProcessCluster):
    """A cluster whose workers end when they get a certain call."""

    def __init__(self, method):
        super().__init__()
        self.method = method
        self.started = 0

    def start(self, header):
        self.started += 1
        return super().start(header)

    def call(self, worker, method, *arguments):
        if method == self.method:
            worker.kill()
            worker.wait()
        return super().call(worker, method, *arguments)


def test_workers_that_always_die_while_they_load(path):
    cluster = Dying("load")
    with pytest.raises(RuntimeError, match="while it loaded its rows .*use more workers"):
        Workers(cluster, path, 1)
    assert cluster.started == MOST_LOSSES + 1


def test_workers_that_always_die_in_a_round(path):
    workers = Workers(Dying("answer"), path, 2)
    with pytest.raises(RuntimeError, match="in one round .*check the logs of the cluster"):
        fit(path, workers)
    workers.close()


def test_an_exception_reaches_the_caller_unchanged(path):
    class Own(Exception):
        pass

    class Failing:
        calls = 0

        def ask(self, part, request, block):
            self.calls += 1
            if self.calls == 5:
                raise Own("here")
            return workers.ask(part, request, block)

    workers = Workers(ProcessCluster(), path, 1)
    with pytest.raises(Own, match="^here$"):
        fit(path, Failing())
    workers.close()


@pytest.mark.parametrize("answer", [[b"nonsense"], [], ["text"], None])
def test_wrong_answers_are_errors(path, answer):
    class Wrong:
        def ask(self, part, request, block):
            return answer

    with pytest.raises((ValueError, TypeError)):
        fit(path, Wrong())


def test_errors_of_workers_reach_the_driver(path):
    workers = Workers(ProcessCluster(), path, 1)
    with pytest.raises(ValueError, match="split 9 does not exist"):
        workers._cluster.result(workers._cluster.call(workers._workers[0], "answer", 9, b""))
    # The worker still answers.
    with pytest.raises(ValueError, match="cannot be read"):
        workers._cluster.result(workers._cluster.call(workers._workers[0], "answer", 0, b""))
    workers.close()


def test_workers_end_with_close(path):
    workers = Workers(ProcessCluster(), path, 2)
    processes = list(workers._workers)
    workers.close()
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(Lost):
        workers._cluster.result(workers._cluster.call(processes[0], "answer", 0, b""))


def test_shares_cover_each_super_block_once():
    for n in range(12):
        for n_workers in range(1, 9):
            held = shares([n, 2], n_workers)
            assert [number for some in held for number in some[0]] == list(range(n))
            sizes = [len(some[0]) for some in held]
            assert max(sizes) - min(sizes) <= 1


def test_a_time_limit_stops_the_fit(path):
    workers = Workers(ProcessCluster(), path, 2)
    start = time.monotonic()
    try:
        front = fit(path, workers, n_models=100_000, max_seconds=0.5)
        assert front.stop_reason_ == "stopped"
    except TimeoutError:
        pass
    finally:
        workers.close()
    # A generous limit: the fit would take minutes otherwise.
    assert time.monotonic() - start < 60


class ProcessEstimator(ClusterEstimator):
    """The common part of the estimators on processes."""

    def __init__(self, objectives=None, *, num_workers=2, work_dir=None):
        super().__init__(objectives, **PARAMS, **self.rows)
        self.num_workers = num_workers
        self.work_dir = work_dir

    def _cluster(self):
        return ProcessCluster()

    def _batches(self, X):
        return None


class ProcessClassifier(ProcessEstimator, FairFrontClassifier):
    """The classifier on processes."""

    rows = ROWS


class ProcessRegressor(ProcessEstimator, FairFrontRegressor):
    """The regressor on processes."""

    rows = {name: value for name, value in ROWS.items() if name != "pos_label"}


def test_the_regressor_has_the_same_bytes(tmp_path):
    rows = frame(150_000)
    noise = np.random.default_rng(1).normal(size=len(rows))
    rows["salary"] = 30 + 5 * rows["income"].fillna(0) - rows["age"] / 10 + noise
    rows.to_parquet(path := tmp_path / "rows.parquet")
    expected = FairFrontRegressor(**PARAMS, **ProcessRegressor.rows).fit(path, "salary", sensitive_features="sex")
    front = ProcessRegressor(work_dir=str(tmp_path)).fit(path, "salary", sensitive_features="sex")
    assert front._run.parameters().tobytes() == expected._run.parameters().tobytes()
    assert front.front_.to_numpy().tobytes() == expected.front_.to_numpy().tobytes()
    assert front.rounds_ > 0


def test_the_classifier_packs_and_cleans_up(tmp_path, path, expected):
    rows = frame()
    front = ProcessClassifier(work_dir=str(tmp_path))
    front.fit(rows, "paid", sensitive_features="sex", sample_weight="weight")
    same(expected, front)
    assert front.rounds_ > 0 and front.losses_ == 0
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="partial_fit does not run on a cluster"):
        front.partial_fit(rows, "paid")
    with pytest.raises(ValueError, match="num_workers=0"):
        ProcessClassifier(num_workers=0).fit(path)
    with pytest.raises(ValueError, match="^y is set"):
        ProcessClassifier().fit(path, "paid")
