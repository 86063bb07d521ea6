"""fairfront compared with other tools on the same rows of Adult.

The rows are those of `fairfront data export adult:sex --encoded`, once per seed. `judge.py` describes the interface of
another tool and evaluates the measures. No model sees the sensitive attribute when it decides. fairfront is run with
each of its solvers for covariances, to minimize those, and as `fairfront fit` without flags, which minimizes smooth
versions of the measures.

All fronts are evaluated in the same way:
- In the objectives (only linear models, and not fairfront's default, which has other objectives): hypervolume of log
  loss with penalty and squared covariance on training rows, as a share of the exact front's. `fronts.py` computes the
  exact front and defines the loose and the tight reference point.
- In the measures: 1 - accuracy and demographic_parity_difference. Training and validation rows together decide which
  models are kept: those that no other model of the same front dominates. The result is their hypervolume share on test
  rows, in the box between (0, 0) and the reference point: the minority share of the target and the difference of the
  unmitigated model.
- Long lists have an advantage, so both are repeated with every front cut to 31 models: each time the one that adds the
  most hypervolume, in the objectives on training rows, in the measures on training and validation rows.

CPU time is that of the whole process with one thread for fairfront, from reading the published files to writing the
measures of all rows. For another tool it is `fit` alone, with one BLAS thread, without imports and reading. Every run
has its own process.

Run by `make bench-neighbours`.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import moocore
import numpy as np

from fronts import exact_front
from judge import (
    BENCH,
    CUT,
    FAIRFRONT,
    Rows,
    check_measures,
    export,
    fit_fairfront,
    fit_neighbour,
    judged,
    measured,
    measures,
    objectives,
    read_front,
    references,
    sha256,
    spread,
    without_models,
    write_results,
)

DATA_SET, ATTRIBUTE = "adult:sex", "sex"
COVARIANCES = ["--objective", "log_loss", "--objective", f"score_covariance({ATTRIBUTE})"]
# `fairfront fit` without flags, and the solver that it uses, which does not minimize covariances.
DEFAULT, NOT_FOR_COVARIANCES = "default", "weighted"
PACKAGES = ["fairlearn", "moocore", "numpy", "pymoo", "scikit-learn", "scipy"]


def main():
    names = sorted(path.stem for path in (BENCH / "neighbours").glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--neighbours", nargs="*", default=names, choices=names, metavar="NAME")
    parser.add_argument("--solvers", nargs="*", metavar="NAME", help="solvers of fairfront [default: all]")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return run_neighbour(*args.child)
    if not FAIRFRONT.is_file():
        sys.exit(f"{FAIRFRONT}: not found; run cargo build --release -p fairfront-cli, or set FAIRFRONT_BIN")
    solvers = fairfront_solvers() if args.solvers is None else args.solvers
    with tempfile.TemporaryDirectory() as folder:
        seeds = [
            one_seed(seed, solvers, args.neighbours, Path(folder))
            for seed in range(1, args.seeds + 1)
        ]
    print(file=sys.stderr)
    text = report(seeds)
    print(text)
    write_results("neighbours", text, {"seeds": without_models(seeds)}, PACKAGES)


def one_seed(seed, solvers, neighbours, folder):
    path = folder / "rows.csv"
    export(DATA_SET, path, "--seed", seed)
    rows = Rows.read(path)
    assert rows.attribute == ATTRIBUTE
    exact = exact_front(path)
    both = objectives(rows)
    unmitigated, _ = both.minimise(0.0, np.zeros(rows.z.shape[1]))
    judge = {"exact": exact, "references": references(rows, unmitigated)}
    fronts = []
    for solver in solvers:
        fronts.append(run_fairfront(solver, seed, rows, unmitigated, folder))
        print(".", end="", flush=True, file=sys.stderr)
    for name in neighbours:
        out = folder / "models.json"
        _, cost = measured([sys.executable, __file__, "--child", name, path, str(seed), out])
        fronts.append({"name": name, **json.loads(out.read_text()), "process": cost})
        print(".", end="", flush=True, file=sys.stderr)
    fronts = [front for front in fronts if front is not None]
    for front in fronts:
        front["hypervolume"] = hypervolumes(front, judge)
    return {"seed": seed, "rows": rows.counts(), **judge, "fronts": fronts}


# Runs


def run_neighbour(name, path, seed, out):
    """Run another tool, in a child process."""
    front, rows, models = fit_neighbour(name, path, seed)
    front["points"] = points(models, rows, objectives(rows))
    Path(out).write_text(json.dumps(front))


def fairfront_solvers():
    """fairfront's default, and its solvers for covariances."""
    text = subprocess.check_output([FAIRFRONT, "fit", "--help"], text=True)
    solvers = re.findall(r"Settings of (\S+) \(--set", text)
    return [DEFAULT, *(solver for solver in solvers if solver != NOT_FOR_COVARIANCES)]


def run_fairfront(solver, seed, rows, unmitigated, folder):
    runs, digests = {}, set()
    solver_flags = [] if solver == DEFAULT else ["--solver", solver, *COVARIANCES]
    for threads in (1, os.cpu_count()):
        out = folder / "run"
        # The same penalty as the other tools, so that all minimize the same objectives.
        flags = ["--seed", seed, "--threads", threads, "--penalty", "0.0001", *solver_flags]
        runs[threads] = fit_fairfront(DATA_SET, flags, out)
        if runs[threads] is None:
            return None
        digests.add(sha256(out / "front.parquet"))
    assert len(digests) == 1, "the front depends on the number of threads"
    info, table, models = read_front(out, rows)
    check_measures(models, rows, table)
    both = None
    if solver != DEFAULT:
        both = objectives(rows)
        assert np.allclose(info["unmitigated"]["params"], unmitigated, rtol=0, atol=1e-4)
        check_objectives(models, both, table)
    return {
        "name": f"fairfront {solver}",
        "title": f"fairfront, {solver}",
        "cpu_s": runs[1]["cpu_s"],
        "process": runs[1],
        "all_threads": {"threads": os.cpu_count(), **runs[os.cpu_count()]},
        "points": points(models, rows, both),
    }


def check_objectives(models, both, table):
    """Check fairfront's objectives against the exported rows."""
    for name, function in (("log_loss", both.f1), (f"score_covariance({ATTRIBUTE})", both.f2)):
        found = np.array([function(x) for x in models])
        worst = abs(found - table[f"objective.{name}"]).max()
        assert worst < 1e-9, f"{name} differs from that of the exported rows by {worst}"


# Evaluation


def points(models, rows, both):
    """For each model, its objectives (None if they do not apply), and its measures on training and validation rows and
    on test rows."""
    chosen, test = (
        measures(models, rows.of("train", "validation")),
        measures(models, rows.of("test")),
    )
    values = [
        (None, None) if both is None or callable(model) else (both.f1(model), both.f2(model))
        for model in models
    ]
    columns = ["f1", "f2", "error", "gap", "test.error", "test.gap"]
    lines = [[*v, *c, *t] for v, c, t in zip(values, chosen, test, strict=True)]
    # The rows determine fewer than eight digits.
    short = [[None if x is None else float(f"{x:.8g}") for x in line] for line in lines]
    return {"columns": columns, "models": short}


def hypervolumes(front, judge):
    """Shares of the exact front's hypervolume, and the hypervolume share on test rows."""
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
    front["kept"], _, volumes = judged(chosen, test, judge["references"])
    return found | volumes


# Report


def report(seeds):
    """Markdown tables: medians over the seeds, and seeds won and lost."""
    of = {}
    for front in (front for seed in seeds for front in seed["fronts"]):
        of.setdefault(front["name"], []).append(front)
    # A tool that fails on a seed cannot be compared.
    of = {name: fronts for name, fronts in of.items() if len(fronts) == len(seeds)}
    rows = seeds[0]["rows"]
    titles = ["", "CPU s", "models", "ms per model", "objectives, tight (loose)", f"cut to {CUT}"]
    titles += ["kept", "measures, test rows", f"cut to {CUT}", "smallest difference"]
    lines = [
        f"Adult by sex, {rows['train']:,} training, {rows['validation']:,} validation rows,",
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
    percent = lambda key: f"{100 * volume(key):.2f}%"
    size = lambda front: len(front["points"]["models"])
    linear = fronts[0]["hypervolume"]["tight"] is not None
    why_not = "other objectives" if fronts[0]["name"] == f"fairfront {DEFAULT}" else "not linear"
    return [
        fronts[0]["title"],
        f"{median(lambda front: front['cpu_s']):.2f}",
        f"{median(size):.0f}",
        f"{1000 * median(lambda front: front['cpu_s'] / size(front)):.1f}",
        f"{percent('tight')} ({percent('loose')})" if linear else why_not,
        percent("tight_cut") if linear else "",
        f"{median(lambda front: len(front['kept'])):.0f}",
        percent("test"),
        percent("test_cut"),
        f"{volume('smallest_gap'):.3f}",
    ]


def wins(of):
    """For each solver of fairfront, the seeds on which it has the larger and the smaller hypervolume."""
    ours = [name for name in of if name.startswith("fairfront")]
    spaces = {
        "tight": "objectives, tight",
        "tight_cut": f"cut to {CUT}",
        "test": "measures, test rows",
        "test_cut": f"cut to {CUT}",
    }
    for name in ours:
        yield ""
        yield f"Seeds that {of[name][0]['title']} wins–loses by hypervolume."
        yield ""
        yield f"| compared with | {' | '.join(spaces.values())} |"
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
    return f"{sum(a > b for a, b in pairs)}–{sum(a < b for a, b in pairs)}"


if __name__ == "__main__":
    main()
