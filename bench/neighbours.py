"""Neighbours: fairfront against other tools on the same rows of Adult.

The rows are those of `fairfront data export adult:gender --encoded`, once for each seed. `judge.py`
says what a neighbour is and judges what people read. No model sees the sensitive attribute when it
decides. Of fairfront there are its solvers for covariances, told to minimise those, and `fairfront
fit` without a flag, which minimises smooth versions of what people read.

Everybody is judged alike:
- In the objectives (linear models only, without fairfront's default, which has others): hypervolume
  of log loss with penalty and squared covariance on training rows, as a share of the exact front's
  (`fronts.py`, which also says what the loose and the tight reference are).
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

DATA_SET, ATTRIBUTE = "adult:gender", "sex"
COVARIANCES = ["--objective", "log_loss", "--objective", f"disparate_impact({ATTRIBUTE})"]
# `fairfront fit` without a flag; and the solver that it uses, which is not for covariances.
DEFAULT, NOT_FOR_COVARIANCES = "default", "weighted"
PACKAGES = ["fairlearn", "moocore", "numpy", "pymoo", "scikit-learn", "scipy"]


def main():
    names = sorted(path.stem for path in (BENCH / "neighbours").glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--neighbours", nargs="*", default=names, choices=names, metavar="NAME")
    parser.add_argument("--solvers", nargs="*", metavar="NAME", help="of fairfront [default: all]")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return run_neighbour(*args.child)
    if not FAIRFRONT.is_file():
        sys.exit("first: cargo build --release -p fairfront-cli (or set FAIRFRONT_BIN)")
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
    """What the child does."""
    front, rows, models = fit_neighbour(name, path, seed)
    front["points"] = points(models, rows, objectives(rows))
    Path(out).write_text(json.dumps(front))


def fairfront_solvers():
    """The solvers for covariances that this fairfront has, and its default."""
    text = subprocess.check_output([FAIRFRONT, "fit", "--help"], text=True)
    solvers = re.findall(r"Settings of (\S+) \(--set", text)
    return [DEFAULT, *(solver for solver in solvers if solver != NOT_FOR_COVARIANCES)]


def run_fairfront(solver, seed, rows, unmitigated, folder):
    runs, digests = {}, set()
    told = [] if solver == DEFAULT else ["--solver", solver, *COVARIANCES]
    for threads in (1, os.cpu_count()):
        out = folder / "run"
        # The penalty of the neighbours, so that all minimize the same objectives.
        flags = ["--seed", seed, "--threads", threads, "--penalty", "0.0001", *told]
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
    """What fairfront wrote is what the exported rows give."""
    for name, function in (("log_loss", both.f1), (f"disparate_impact({ATTRIBUTE})", both.f2)):
        found = np.array([function(x) for x in models])
        worst = abs(found - table[f"objective.{name}"]).max()
        assert worst < 1e-9, f"{name} differs from that of the exported rows by {worst}"


# Judging


def points(models, rows, both):
    """Of each model: objectives, where it is judged by them, then measures on training and validation
    rows and on test rows."""
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
    # Eight digits: more than the rows can tell apart.
    short = [[None if x is None else float(f"{x:.8g}") for x in line] for line in lines]
    return {"columns": columns, "models": short}


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
    front["kept"], _, volumes = judged(chosen, test, judge["references"])
    return found | volumes


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
    why_not = "others" if fronts[0]["name"] == f"fairfront {DEFAULT}" else "not linear"
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
    """On how many seeds each solver of fairfront has the larger hypervolume, and the other."""
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
