"""Neighbours: fairfront against other tools on the same rows of Adult.

The rows are those of `fairfront data export adult:gender --encoded`, once for each seed: features,
split and encoding are what `fairfront fit` uses. A neighbour is one file in `neighbours/` with a
TITLE and `fit(problem)`, which sees the training rows and returns models: coefficients with the
intercept last, or a function from features to the probability of a positive decision. No model sees
the sensitive attribute when it decides.

Everybody is judged alike:
- In the objectives (linear models only): hypervolume of log loss with penalty and squared
  covariance on training rows, as a share of the exact front's (`fronts.py`, which also says what the
  loose and the tight reference are).
- In what people read: 1 - accuracy and demographic_parity_difference. Training and validation rows
  together decide which models are kept (those that no other model of the same front dominates);
  their hypervolume is taken on test rows, with the minority share of the target and the gap of the
  unmitigated model as reference, as a share of the box between (0, 0) and the reference.
- As a long list has it easier, both again with every front cut to 31 models: each time the one that
  adds most hypervolume, in the objectives on training rows, in what people read on training and
  validation rows.

CPU time: of fairfront the whole process with one thread, from reading the published files to
writing measures of all rows; of a neighbour, one BLAS thread, only `fit`, without imports and
reading. Every run has a process of its own.

Run by `make bench-neighbours`.
"""

import argparse
import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import moocore
import numpy as np
import pandas as pd
import pyarrow.parquet

from fronts import Sum, exact_front
from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
DATA_SET, ATTRIBUTE = "adult:gender", "sex"
CUT = 31
SPLITS = ["train", "validation", "test"]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
PACKAGES = ["fairlearn", "moocore", "numpy", "pymoo", "scikit-learn", "scipy"]


def main():
    names = sorted(path.stem for path in (BENCH / "neighbours").glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--neighbours", nargs="*", default=names, choices=names, metavar="NAME")
    parser.add_argument("--methods", nargs="*", metavar="NAME", help="of fairfront [default: all]")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return run_neighbour(*args.child)
    if not FAIRFRONT.is_file():
        sys.exit("first: cargo build --release -p fairfront-cli (or set FAIRFRONT_BIN)")
    methods = fairfront_methods() if args.methods is None else args.methods
    with tempfile.TemporaryDirectory() as folder:
        seeds = [
            one_seed(seed, methods, args.neighbours, Path(folder))
            for seed in range(1, args.seeds + 1)
        ]
    print(file=sys.stderr)
    text = report(seeds)
    print(text)
    write(seeds, text)


def write(seeds, text):
    results = BENCH / "results"
    results.mkdir(exist_ok=True)
    (results / "neighbours.md").write_text(text)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    # The version is that of the sources; what ran is known by its digest.
    program = hashlib.sha256(FAIRFRONT.read_bytes()).hexdigest()
    head = {"where": where(versions), "program_sha256": program, "cut": CUT}
    raw = json.dumps({**head, "seeds": seeds}, indent=1)
    # One point a line.
    raw = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", raw)
    (results / "neighbours.json").write_text(raw + "\n")


def one_seed(seed, methods, neighbours, folder):
    path = folder / "rows.csv"
    export(seed, path)
    rows = Rows.read(path)
    exact = exact_front(path)
    both = objectives(rows)
    unmitigated, _ = both.minimise(0.0, np.zeros(rows.z.shape[1]))
    judge = {"exact": exact, "references": references(rows, unmitigated)}
    fronts = []
    for method in methods:
        fronts.append(run_fairfront(method, seed, rows, unmitigated, folder))
        print(".", end="", flush=True, file=sys.stderr)
    for name in neighbours:
        out = folder / "models.json"
        _, cost = measured([sys.executable, __file__, "--child", name, path, str(seed), out])
        fronts.append({"name": name, **json.loads(out.read_text()), "process": cost})
        print(".", end="", flush=True, file=sys.stderr)
    fronts = [front for front in fronts if front is not None]
    for front in fronts:
        front["hypervolume"] = hypervolumes(front, judge)
    counts = {split: int((rows.split == split).sum()) for split in SPLITS}
    return {"seed": seed, "rows": counts, **judge, "fronts": fronts}


def export(seed, path):
    flags = ["--seed", str(seed), "--encoded", "-o", path]
    command = [FAIRFRONT, "data", "export", DATA_SET, *flags]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())


def measured(command):
    """What a command says, with the time that it took and what others took meanwhile."""
    start, before = time.perf_counter(), busy_s()
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise RuntimeError(said.strip())
    if said:
        print(f"\n{said}", file=sys.stderr)
    others = max(busy_s() - before - cpu, 0.0)
    return said, {"wall_s": wall, "cpu_s": cpu, "cores_busy_with_others": round(others / wall, 2)}


# Rows


@dataclasses.dataclass
class Rows:
    """All rows: features with a column of ones, labels -1 and 1, groups, splits."""

    names: list
    z: np.ndarray
    y: np.ndarray
    group: np.ndarray
    split: np.ndarray

    @classmethod
    def read(cls, path):
        rows = pd.read_csv(path)
        label = rows.columns.get_loc("label")
        # One attribute, which stands between the features and the label.
        assert rows.columns[label - 1] == ATTRIBUTE and (rows["weight"] == 1).all()
        features = rows.iloc[:, : label - 1]
        return cls(
            list(features.columns),
            np.column_stack([features.to_numpy(float), np.ones(len(rows))]),
            rows["label"].to_numpy(float),
            rows[ATTRIBUTE].astype(str).to_numpy(),
            rows["split"].to_numpy(),
        )

    def of(self, *splits):
        kept = np.isin(self.split, splits)
        return Rows(self.names, self.z[kept], self.y[kept], self.group[kept], self.split[kept])


@dataclasses.dataclass
class Problem:
    """What a neighbour is given: training rows, and what the objectives are made of.

    f1 = mean of log(1 + exp(-y z.x)) + penalty.x²/2, f2 = (u.x)²; the last column of z is ones.
    """

    z: np.ndarray
    y: np.ndarray
    group: np.ndarray
    penalty: np.ndarray
    u: np.ndarray
    seed: int


def objectives(rows):
    train = rows.of("train")
    return Sum(train.z, train.y, train.group)


# Runs


def run_neighbour(name, path, seed, out):
    """What the child does."""
    start = time.process_time()
    spec = importlib.util.spec_from_file_location(name, BENCH / f"neighbours/{name}.py")
    neighbour = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(neighbour)
    rows = Rows.read(path)
    both, train = objectives(rows), rows.of("train")
    problem = Problem(train.z, train.y, train.group, both.penalty, both.u[0], int(seed))
    begin = time.process_time()
    models = neighbour.fit(problem)
    end = time.process_time()
    front = {
        "title": neighbour.TITLE,
        "cpu_s": end - begin,
        "imports_and_reading_s": begin - start,
        "points": points(models, rows, both),
    }
    Path(out).write_text(json.dumps(front))


def fairfront_methods():
    """The methods that this fairfront has."""
    text = subprocess.check_output([FAIRFRONT, "fit", "--help"], text=True)
    return re.findall(r"Settings of (\S+) \(--set", text)


def run_fairfront(method, seed, rows, unmitigated, folder):
    runs, digests = {}, set()
    for threads in (1, os.cpu_count()):
        out = folder / "run"
        flags = ["--seed", seed, "--method", method, "--threads", threads, "--out", out]
        try:
            _, runs[threads] = measured([FAIRFRONT, "fit", DATA_SET, *flags, "--force", "--quiet"])
        except RuntimeError as error:
            print(f"\nSKIPPED: fairfront {method}: {error}", file=sys.stderr)
            return None
        digests.add(hashlib.sha256((out / "front.parquet").read_bytes()).hexdigest())
    assert len(digests) == 1, "the front depends on the number of threads"
    info = json.loads((out / "run.json").read_text())
    assert info["features"] == rows.names
    assert np.allclose(info["unmitigated"]["params"], unmitigated, rtol=0, atol=1e-4)
    table = pyarrow.parquet.read_table(out / "front.parquet").to_pydict()
    models = [np.array(params) for params in table["params"]]
    check(models, rows, table)
    return {
        "name": f"fairfront {method}",
        "title": f"fairfront, {method}",
        "cpu_s": runs[1]["cpu_s"],
        "process": runs[1],
        "all_threads": {"threads": os.cpu_count(), **runs[os.cpu_count()]},
        "points": points(models, rows, objectives(rows)),
    }


def check(models, rows, table):
    """What fairfront wrote is what the exported rows give, and fairlearn agrees on the gap."""
    from fairlearn.metrics import demographic_parity_difference

    both = objectives(rows)
    worst = 0.0
    for name, function in (("log_loss", both.f1), (f"disparate_impact({ATTRIBUTE})", both.f2)):
        found = np.array([function(x) for x in models])
        worst = max(worst, abs(found - table[f"objective.{name}"]).max())
    for split in SPLITS:
        part = rows.of(split)
        found = np.array(measures(models, part))
        gaps = table[f"{split}.demographic_parity_difference({ATTRIBUTE})"]
        worst = max(worst, abs(found[:, 0] - 1 + table[f"{split}.accuracy"]).max())
        worst = max(worst, abs(found[:, 1] - gaps).max())
        decisions = part.z @ models[-1] >= 0
        gap = demographic_parity_difference(part.y > 0, decisions, sensitive_features=part.group)
        assert abs(gap - found[-1, 1]) < 1e-12, (gap, found[-1, 1])
    assert worst < 1e-9, f"fairfront's measures differ from those of the exported rows by {worst}"


# Judging


def points(models, rows, both):
    """Of each model: objectives, then measures on training and validation rows and on test rows."""
    chosen, test = (
        measures(models, rows.of("train", "validation")),
        measures(models, rows.of("test")),
    )
    values = [
        (None, None) if callable(model) else (both.f1(model), both.f2(model)) for model in models
    ]
    columns = ["f1", "f2", "error", "gap", "test.error", "test.gap"]
    lines = [[*v, *c, *t] for v, c, t in zip(values, chosen, test, strict=True)]
    # Eight digits: more than the rows can tell apart.
    short = [[None if x is None else float(f"{x:.8g}") for x in line] for line in lines]
    return {"columns": columns, "models": short}


def measures(models, rows):
    """1 - accuracy and demographic_parity_difference of each model."""
    found, positive = [], rows.y > 0
    groups = [rows.group == name for name in sorted(set(rows.group))]
    for model in models:
        p = model(rows.z[:, :-1]) if callable(model) else (rows.z @ model >= 0).astype(float)
        rates = [p[group].mean() for group in groups]
        found.append((abs(p - positive).mean(), max(rates) - min(rates)))
    return found


def references(rows, unmitigated):
    """The minority share of the target and the gap of the unmitigated model."""
    found = {}
    for name, splits in (("chosen", ("train", "validation")), ("test", ("test",))):
        part = rows.of(*splits)
        share = (part.y > 0).mean()
        found[name] = [min(share, 1 - share), measures([unmitigated], part)[0][1]]
    return found


def hypervolumes(front, judge):
    """Shares of the exact front's hypervolume, and of the box on test rows."""
    values = np.array(front["points"]["models"], float)
    objective, chosen, test = values[:, :2], values[:, 2:4], values[:, 4:]
    found = dict.fromkeys(["loose", "tight", "tight_cut", "nondominated"])
    if not np.isnan(objective).any():
        for name in ("loose", "tight"):
            exact = judge["exact"][name]
            area = moocore.hypervolume(objective, ref=exact["reference"])
            found[name] = area / exact["hypervolume"]
        exact = judge["exact"]["tight"]
        some = spread(objective, exact["reference"])
        area = moocore.hypervolume(objective[some], ref=exact["reference"]) if some else 0.0
        found["tight_cut"] = area / exact["hypervolume"]
        found["nondominated"] = int(moocore.is_nondominated(objective).sum())
    kept = np.flatnonzero(moocore.is_nondominated(chosen))
    some = spread(chosen[kept], judge["references"]["chosen"])
    reference = judge["references"]["test"]
    share = lambda points: moocore.hypervolume(points, ref=reference) / np.prod(reference)
    front["kept"] = kept.tolist()
    return found | {
        "test": share(test[kept]),
        "test_cut": share(test[kept[some]]) if some else 0.0,
        "smallest_gap": test[kept, 1].min(),
    }


def spread(points, reference):
    """At most CUT points, each the one that adds most hypervolume to those before it."""
    some, area = [], 0.0
    for _ in range(CUT):
        rest = [i for i in range(len(points)) if i not in some]
        areas = [moocore.hypervolume(points[[*some, i]], ref=reference) for i in rest]
        if not areas or max(areas) <= area:
            break
        area = max(areas)
        some.append(rest[int(np.argmax(areas))])
    return some


# Report


def report(seeds):
    """Two tables in Markdown: medians over the seeds, and who wins how often."""
    of = {}
    for front in (front for seed in seeds for front in seed["fronts"]):
        of.setdefault(front["name"], []).append(front)
    # A method that gives up on a seed cannot be compared.
    of = {name: fronts for name, fronts in of.items() if len(fronts) == len(seeds)}
    rows = seeds[0]["rows"]
    titles = ["", "CPU s", "points", "ms a point", "objectives, tight (loose)", f"cut to {CUT}"]
    titles += ["kept", "test rows", f"cut to {CUT}", "smallest gap"]
    lines = [
        f"Adult by gender, {rows['train']:,} training, {rows['validation']:,} validation rows,",
        f"{rows['test']:,} test rows; medians of {len(seeds)} seeds.",
        "",
        f"| {' | '.join(titles)} |",
        "| --- " + "| ---: " * (len(titles) - 1) + "|",
    ]
    test = lambda name: statistics.median(front["hypervolume"]["test"] for front in of[name])
    for name in sorted(of, key=test, reverse=True):
        lines.append(f"| {' | '.join(cells(of[name]))} |")
    for fronts in of.values():
        if "all_threads" in fronts[0]:
            cpu, wall = (
                statistics.median(front["all_threads"][key] for front in fronts)
                for key in ("cpu_s", "wall_s")
            )
            threads = fronts[0]["all_threads"]["threads"]
            title = fronts[0]["title"]
            lines += ["", f"{title}, {threads} threads: {cpu:.2f} CPU s, {wall:.2f} s."]
    lines += wins(of)
    busy = max(
        run["cores_busy_with_others"]
        for fronts in of.values()
        for front in fronts
        for run in (front["process"], front.get("all_threads", front["process"]))
    )
    if busy >= 0.1:
        lines += ["", f"DISTURBED: other programs kept up to {busy} cores busy."]
    return "\n".join(lines) + "\n"


def cells(fronts):
    median = lambda value: statistics.median(map(value, fronts))
    volume = lambda key: median(lambda front: front["hypervolume"][key])
    percent = lambda key: f"{100 * volume(key):.2f} %"
    size = lambda front: len(front["points"]["models"])
    linear = fronts[0]["hypervolume"]["tight"] is not None
    return [
        fronts[0]["title"],
        f"{median(lambda front: front['cpu_s']):.2f}",
        f"{median(size):.0f}",
        f"{1000 * median(lambda front: front['cpu_s'] / size(front)):.1f}",
        f"{percent('tight')} ({percent('loose')})" if linear else "not linear",
        percent("tight_cut") if linear else "",
        f"{median(lambda front: len(front['kept'])):.0f}",
        percent("test"),
        percent("test_cut"),
        f"{volume('smallest_gap'):.3f}",
    ]


def wins(of):
    """On how many seeds each method of fairfront has the larger hypervolume, and the other."""
    ours = [name for name in of if name.startswith("fairfront")]
    spaces = {
        "tight": "objectives, tight",
        "tight_cut": f"cut to {CUT}",
        "test": "test rows",
        "test_cut": f"cut to {CUT}",
    }
    for name in ours:
        yield ""
        yield f"Seeds on which {of[name][0]['title']} has the larger hypervolume : the smaller."
        yield ""
        yield f"| against | {' | '.join(spaces.values())} |"
        yield "| --- " + "| ---: " * len(spaces) + "|"
        for other in of:
            if other != name:
                scores = [score(of[name], of[other], space) for space in spaces]
                yield f"| {of[other][0]['title']} | {' | '.join(scores)} |"


def score(ours, theirs, space):
    pairs = [
        (a["hypervolume"][space], b["hypervolume"][space])
        for a, b in zip(ours, theirs, strict=True)
    ]
    if any(None in pair for pair in pairs):
        return ""
    return f"{sum(a > b for a, b in pairs)} : {sum(a < b for a, b in pairs)}"


if __name__ == "__main__":
    main()
