"""Measures rounds of requests on Ray, Dask and processes, and how a pass and a fit scale with the number of workers.

Run with `.venv/bin/python bench/workers.py`; writes bench/results/workers.json and workers.md.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
warnings.simplefilter("ignore")

RESULTS = Path(__file__).parent / "results"
#: Requests that are measured, after some that are not.
ROUNDS, FIRST = 200, 30
#: Two super-blocks, so that two workers hold one each.
SMALL, LARGE = 65_536, 1_000_000
#: Passes whose CPU time is measured.
PASSES = 60
FIT = {"solver": "trace", "n_models": 20}


def table(n: int, n_numbers: int = 8) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n)
    numbers = rng.normal(size=(n, n_numbers))
    numbers[:, 0] += sex == "m"
    paid = numbers @ np.linspace(1, 0.2, n_numbers) + rng.normal(size=n) > 0.5
    named = {f"x{j}": numbers[:, j] for j in range(n_numbers)}
    return pd.DataFrame({**named, "job": rng.choice(["a", "b", "c"], n), "sex": sex, "paid": np.where(paid, "yes", "no")})


#: The kinds of requests, by their first byte.
KINDS = ("sum", "nearest", "strata", "block")


class Recorder:
    """Passes requests on, keeps passes over the training rows, and counts requests and bytes of answers by kind."""

    def __init__(self, workers):
        self.workers = workers
        self.passes = []
        self.kinds = {kind: [0, 0] for kind in KINDS}

    def ask(self, part, request, block):
        kind = KINDS[request[0]]
        if part == 0 and kind == "sum":
            self.passes.append(request)
        answers = self.workers.ask(part, request, block)
        self.kinds[kind][0] += 1
        self.kinds[kind][1] += sum(map(len, answers))
        return answers


def clusters():
    from fairfront._processes import ProcessCluster
    from fairfront.dask import DaskCluster
    from fairfront.ray import RayCluster

    return {"processes": ProcessCluster, "ray": RayCluster, "dask": DaskCluster}


def recorded(path: str) -> bytes:
    """The pass with one point that a fit runs most often; rarer ones may take several times as long."""
    from fairfront import FairFrontClassifier
    from fairfront._dataset import open_block_file
    from fairfront._processes import ProcessCluster
    from fairfront._workers import Workers

    workers = Workers(ProcessCluster(), path, 1)
    recorder = Recorder(workers)
    front = FairFrontClassifier(**FIT)
    front._fit_dataset(open_block_file(path, recorder))
    workers.close()
    # Shorter requests have no point, and longer ones have several.
    point = 8 * front._run.parameters().shape[1]
    passes = [request for request in recorder.passes if point <= len(request) < 2 * point]
    (length, _), *_ = Counter(map(len, passes)).most_common()
    return next(request for request in passes if len(request) == length)


def in_process(path: str, request: bytes) -> dict:
    """The time of the computation alone: one thread of this process holds all rows."""
    from fairfront._fairfront import BlockFile, Shards

    file = BlockFile(path)
    shards = Shards(file.header, 1)
    for part, n in enumerate(file.super_blocks):
        for super_block in range(n):
            shards.load(part, super_block, file.read(part, super_block))
    return {"load_seconds": 0.0, **timed(lambda: shards.answer(0, request))}


def timed(ask) -> dict:
    seconds = []
    for _ in range(FIRST + ROUNDS):
        start = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[FIRST:])
    return {
        "median_ms": 1000 * statistics.median(seconds),
        "p95_ms": 1000 * seconds[int(0.95 * len(seconds))],
        "rounds_per_second": len(seconds) / sum(seconds),
    }


def rounds(make, path: str, request: bytes, n_workers: int) -> dict:
    from fairfront._workers import Workers

    start = time.perf_counter()
    workers = Workers(make(), path, n_workers)
    loading = time.perf_counter() - start
    found = timed(lambda: workers.ask(0, request, None))
    workers.close()
    return {"load_seconds": loading, **found}


def cpu_ms(pid: int) -> float:
    """The CPU time of a process of Linux, with all its threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def passes(path: str, request: bytes, n_workers: int) -> dict:
    """CPU time of each process in a pass, which other programs do not change much."""
    from fairfront._processes import ProcessCluster
    from fairfront._workers import Workers

    workers = Workers(ProcessCluster(), path, n_workers)
    for _ in range(FIRST):
        workers.ask(0, request, None)
    pids = [worker.pid for worker in workers._workers]
    before, driver = [cpu_ms(pid) for pid in pids], time.process_time()
    for _ in range(PASSES):
        workers.ask(0, request, None)
    driver = 1000 * (time.process_time() - driver) / PASSES
    each = [(cpu_ms(pid) - was) / PASSES for pid, was in zip(pids, before)]
    workers.close()
    return {"busiest_worker_ms": max(each), "all_workers_ms": sum(each), "driver_ms": driver}


def fit(make, path: str, n_workers: int) -> dict:
    from fairfront import FairFrontClassifier
    from fairfront._dataset import open_block_file
    from fairfront._workers import Workers

    start = time.perf_counter()
    workers = Workers(make(), path, n_workers)
    loading = time.perf_counter() - start
    start = time.perf_counter()
    front = FairFrontClassifier(**FIT, n_jobs=1)
    recorder = Recorder(workers)
    front._fit_dataset(open_block_file(path, recorder))
    seconds = time.perf_counter() - start
    workers.close()
    return {
        "load_seconds": loading,
        "fit_seconds": seconds,
        "solve_seconds": front.run_info_["seconds"]["solve"],
        "rounds": workers.rounds,
        "kinds": recorder.kinds,
        "bytes_sent": workers.bytes_sent,
        "bytes_received": workers.bytes_received,
        "front": hash(front._run.parameters().tobytes()),
    }


def main() -> None:
    import distributed
    import ray

    from fairfront import FairFrontClassifier, pack

    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=400_000_000, log_to_driver=False, logging_level="ERROR")
    client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    found = {
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "load_before": os.getloadavg()},
        "rounds": {},
        "passes": {},
        "fit": {},
    }
    with tempfile.TemporaryDirectory() as folder:
        small, large = os.path.join(folder, "small.ffb"), os.path.join(folder, "large.ffb")
        pack(table(SMALL), small, "paid", sensitive_features="sex", pos_label="yes")
        found["pack"] = pack(table(LARGE), large, "paid", sensitive_features="sex", pos_label="yes", holdout_fraction=0.1)
        request = recorded(small)
        found["request_bytes"] = len(request)
        found["rounds"]["this process, no cluster"] = in_process(small, request)
        for name, make in clusters().items():
            for n_workers in (1, 2):
                found["rounds"][f"{name} {n_workers}"] = rounds(make, small, request, n_workers)
                print(name, n_workers, found["rounds"][f"{name} {n_workers}"], flush=True)
        request = recorded(large)
        for n_workers in (1, 2, 4, 7):
            found["passes"][n_workers] = passes(large, request, n_workers)
            print(n_workers, found["passes"][n_workers], flush=True)
        start = time.perf_counter()
        front = FairFrontClassifier(**FIT, n_jobs=1).fit(large)
        found["fit"]["block file, 1 thread"] = {
            "fit_seconds": time.perf_counter() - start,
            "solve_seconds": front.run_info_["seconds"]["solve"],
            "front": hash(front._run.parameters().tobytes()),
        }
        for name, make in clusters().items():
            for n_workers in (1, 2):
                found["fit"][f"{name} {n_workers}"] = fit(make, large, n_workers)
                print(name, n_workers, found["fit"][f"{name} {n_workers}"], flush=True)
    assert len({run.pop("front") for run in found["fit"].values()}) == 1, "fronts differ"
    found["machine"]["load_after"] = os.getloadavg()
    client.close()
    ray.shutdown()
    write(found)


def write(found: dict) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "workers.json").write_text(json.dumps(found, indent=2) + "\n")
    machine = found["machine"]
    lines = [
        "# Workers of a cluster",
        "",
        f"`bench/workers.py` on one machine with {machine['cores']} cores; load average "
        f"{machine['load_before'][0]:.1f} before and {machine['load_after'][0]:.1f} after. The extension module has the",
        "development profile (`make package`). A load above 2 before the start means that other programs ran meanwhile; the",
        "effect of a second worker on times is then not reliable, but CPU times are. All fronts have the same bytes.",
        "",
        f"Rounds: one pass with one point over {SMALL:,} rows, a request of {found['request_bytes']} bytes.",
        "",
        "| cluster, workers | median ms | 95% ms | rounds per second |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, run in found["rounds"].items():
        lines.append(f"| {name} | {run['median_ms']:.2f} | {run['p95_ms']:.2f} | {run['rounds_per_second']:.0f} |")
    lines += [
        "",
        f"CPU milliseconds per pass with one point over {found['pack']['rows']['train']:,} rows, on processes. A pass",
        "waits for the busiest worker:",
        "",
        "| workers | busiest worker | all workers | driver |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for n_workers, run in found["passes"].items():
        some = [run["busiest_worker_ms"], run["all_workers_ms"], run["driver_ms"]]
        lines.append(f"| {n_workers} | {' | '.join(f'{ms:.2f}' for ms in some)} |")
    lines += [
        "",
        f"Fits of {FIT['n_models']} models with trace on {LARGE:,} rows, one thread per worker:",
        "",
        "| rows | fit s | of which solving s | loading s | passes | kB of their answers | blocks | MB of blocks |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, run in found["fit"].items():
        some = [f"{run['fit_seconds']:.2f}", f"{run['solve_seconds']:.2f}"]
        if "rounds" in run:
            blocks, others = run["kinds"]["block"], [run["kinds"][kind] for kind in KINDS[:3]]
            some += [f"{run['load_seconds']:.2f}", str(sum(n for n, _ in others))]
            some += [f"{sum(size for _, size in others) / 1e3:,.0f}", str(blocks[0]), f"{blocks[1] / 1e6:,.1f}"]
        else:
            some += ["", "", "", "", ""]
        lines.append(f"| {name} | {' | '.join(some)} |")
    lines += [
        "",
        "Blocks are rows that the driver asks the workers for. Usually, it reads them from its own block file.",
    ]
    (RESULTS / "workers.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
