"""Measures: fronts in accuracy and differences between groups, fairfront compared with fairlearn on the same rows.

Each case is a data set and a difference between groups; a front is that difference against 1 - accuracy on test rows,
for ten seeds of a 60/10/30 split. `judge.py` reads rows and evaluates models. A front keeps the models that no other
model of the same front dominates on training and validation rows together. Long lists have an advantage, so every front
is also evaluated with at most 31 models, each time the one that adds the most hypervolume on those rows. Hypervolume
shares are those of the box that ends at the minority share of the target and the difference of the unmitigated logistic
model, on test rows.

fairfront minimizes the error rate, and fairlearn wraps a logistic regression, so part of a lead is plain accuracy. Two
further rows show how much: fairfront with `log_loss` instead of `error_rate`, and GridSearch around the most accurate of
several linear estimators.

All models are linear, with the same encoding. The other tools use a penalty of 0.0001; fairfront chooses its own. CPU
time is that of the whole process with one thread for fairfront, from reading the published files to writing the
measures of all rows. For another tool it is `fit` alone, with one BLAS thread, without imports and reading. Every run
has its own process. ExponentiatedGradient draws its decisions at random and is evaluated by its expected rates.

The results of other tools are stored in `work/measures/` under a digest of everything that determines them: source,
settings, rows, seed, versions, processor. With --reuse they are read from there, including CPU times; fairfront always
runs again. With fewer cases or tools than all, results are written to `work/` too.

Run by `make bench-measures`.
"""

import argparse
import dataclasses
import datetime
import functools
import hashlib
import importlib.metadata
import inspect
import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from judge import (
    BENCH,
    CUT,
    FAIRFRONT,
    Rows,
    check_measures,
    decisions,
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
    without_models,
    write_results,
)
from machine import where

SPLIT = ["--split", "60/10/30"]
METHODS = [
    "fairfront",
    "fairfront_log_loss",
    "grid_search",
    "grid_search_accurate",
    "exponentiated_gradient",
    "constant",
]
PACKAGES = ["fairlearn", "moocore", "numpy", "pandas", "scikit-learn", "scipy"]
WORK = BENCH / "work"
SPACES = {"test": "all kept", "test_cut": f"at most {CUT}"}


@dataclasses.dataclass
class Case:
    """A data set, a difference, settings of each tool, and the seeds of ten to win against each tool."""

    data: str
    gap: str
    constraint: str
    settings: dict
    goals: dict
    flags: list = dataclasses.field(default_factory=list)
    fewer_cpu_s_than: str = None
    cpu_s: float = None


def settings(models, largest, bounds=16):
    """The number of models of GridSearch, and the bounds of ExponentiatedGradient, from almost 0 to the largest."""
    bounds = [float(f"{bound:.4g}") for bound in np.linspace(0.001, largest, bounds)]
    return {
        "grid_search": {"models": models},
        "grid_search_accurate": {"models": models},
        # fairlearn's default limit.
        "exponentiated_gradient": {"bounds": bounds, "max_iter": 50},
    }


# The largest bound is about the largest distance of a group's rate from the overall rate, for the unmitigated model.
ALL = dict.fromkeys(["grid_search", "exponentiated_gradient", "constant"], 8)
CASES = {
    "adult-gender": Case(
        "adult:sex",
        "demographic_parity_difference",
        "DemographicParity",
        settings(31, 0.12),
        {"grid_search": 9},
        fewer_cpu_s_than="grid_search",
        cpu_s=2.0,
    ),
    "adult-race": Case(
        "adult:race",
        "demographic_parity_difference",
        "DemographicParity",
        settings(500, 0.135, 8),
        ALL,
    ),
    "compas-opportunity": Case(
        "compas:race",
        "equal_opportunity_difference",
        "TruePositiveRateParity",
        settings(31, 0.09),
        ALL,
        ["--objective", "error_rate", "--objective", "equal_opportunity(race)"],
    ),
    "compas-odds": Case(
        "compas:race",
        "equalized_odds_difference",
        "EqualizedOdds",
        settings(500, 0.165),
        ALL,
        ["--objective", "error_rate", "--objective", "equalized_odds(race)"],
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, metavar="NAME")
    parser.add_argument("--reuse", action="store_true", help="reuse stored results of other tools")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return run_neighbour(*args.child)
    if not FAIRFRONT.is_file():
        sys.exit(f"{FAIRFRONT}: not found; run cargo build --release -p fairfront-cli, or set FAIRFRONT_BIN")
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.cases:
            seeds = [
                one_seed(name, seed, args.methods, args.reuse, Path(folder))
                for seed in range(1, args.seeds + 1)
            ]
            cases.append({"name": name, **dataclasses.asdict(CASES[name]), "seeds": seeds})
    print(file=sys.stderr)
    text = report(cases)
    print(text)
    everything = set(args.cases) == set(CASES) and all(
        len(seed["fronts"]) == len(METHODS) for case in cases for seed in case["seeds"]
    )
    results = BENCH / "results" if everything else WORK
    content = {"cases": [{**case, "seeds": without_models(case["seeds"])} for case in cases]}
    write_results("measures", text, content, PACKAGES, results)
    print(f"written to {results.relative_to(BENCH.parent)}/measures.*", file=sys.stderr)


# Runs


def one_seed(name, seed, methods, reuse, folder):
    case, path = CASES[name], folder / "rows.csv"
    export(case.data, path, "--seed", seed, *SPLIT)
    rows = Rows.read(path)
    unmitigated, _ = objectives(rows).minimise(0.0, np.zeros(rows.z.shape[1]))
    limits = references(rows, unmitigated, case.gap)
    fronts = []
    for method in methods:
        if method.startswith("fairfront"):
            front = run_fairfront(case, seed, rows, folder, method)
        else:
            front = known_or_run(name, method, seed, path, reuse, folder)
        if front is not None:
            fronts.append({"name": method, **front})
        print(".", end="", flush=True, file=sys.stderr)
    for front in fronts:
        values = np.array(front["models"], float)
        front["kept"], front["cut"], front["hypervolume"] = judged(
            values[:, :2], values[:, 2:], limits
        )
    head = {"seed": seed, "rows": rows.counts(), "rows_sha256": sha256(path)}
    return {**head, "references": limits, "fronts": fronts}


def run_fairfront(case, seed, rows, folder, method):
    out = folder / "run"
    title, own = "fairfront", case.flags
    if method == "fairfront_log_loss":
        attribute = case.data.split(":")[1]
        given = case.flags[-1] if case.flags else f"demographic_parity({attribute})"
        title, own = "fairfront with log_loss", ["--objective", "log_loss", "--objective", given]
    flags = ["--seed", seed, *SPLIT, "--threads", 1, *own]
    cost = fit_fairfront(case.data, flags, out)
    if cost is None:
        return None
    _, table, models = read_front(out, rows)
    check_measures(models, rows, table, case.gap)
    return {
        "title": title,
        "cpu_s": cost["cpu_s"],
        "process": cost,
        "models": points(models, rows, case.gap),
    }


def points(models, rows, gap):
    """For each model, its measures on training and validation rows, and on test rows."""
    chosen = measures(models, rows.of("train", "validation"), gap)
    test = measures(models, rows.of("test"), gap)
    return [[*map(float, (*c, *t))] for c, t in zip(chosen, test, strict=True)]


def known_or_run(name, method, seed, path, reuse, folder):
    """The models of another tool, or its stored ones for the same rows."""
    known = WORK / f"measures/{name}-{method}-{seed}-{digest(name, method, seed, path)[:16]}.json"
    if reuse and known.is_file():
        front = json.loads(known.read_text())
        return {**front, "reused_from": front["date"]}
    out = folder / "models.json"
    _, cost = measured([sys.executable, __file__, "--child", name, method, path, seed, out])
    date = datetime.date.today().isoformat()
    front = {**json.loads(out.read_text()), "process": cost, "date": date}
    known.parent.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(front))
    return front


def digest(name, method, seed, path):
    """A digest of everything that determines the models and the speed of another tool."""
    case, (processor, cores, python) = CASES[name], machine()
    sources = [BENCH / f"neighbours/{method}.py", BENCH / "fronts.py"]
    parts = [
        *(case.data, case.gap, case.constraint, case.settings.get(method), seed),
        *(processor, cores, python, *map(inspect.getsource, (measures, decisions))),
        *(importlib.metadata.version(package) for package in PACKAGES),
        *map(sha256, [path, *sources]),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@functools.cache
def machine():
    found = where({})
    return found["cpu"], found["cores"], found["versions"]["python"]


def run_neighbour(name, method, path, seed, out):
    """Run another tool, in a child process."""
    case = CASES[name]
    own_settings = case.settings.get(method, {})
    front, rows, models = fit_neighbour(method, path, seed, case.constraint, **own_settings)
    front["models"] = points(models, rows, case.gap)
    Path(out).write_text(json.dumps(front))


# Report


def report(cases):
    """One Markdown table per case."""
    lines = [
        "CPU seconds and smallest differences are medians over the seeds; hypervolume shares on test rows are means.",
        "A lead has the seeds that fairfront won–lost, and the mean lead in percentage points ± its standard error.",
    ]
    for case in cases:
        lines += ["", *table(case)]
    fronts = [front for case in cases for seed in case["seeds"] for front in seed["fronts"]]
    dates = sorted({front["reused_from"] for front in fronts if "reused_from" in front})
    if dates:
        lines += [
            "",
            "REUSED: models and CPU times of other tools with the same rows, settings and versions are those of",
            f"an earlier run on the same machine ({', '.join(dates)}).",
        ]
    busy = max((front["process"]["cores_busy_with_others"] for front in fronts), default=0.0)
    if busy >= 0.1:
        lines += ["", f"DISTURBED: other programs kept up to {busy} cores busy."]
    return "\n".join(lines) + "\n"


def table(case):
    of = {}
    for front in (front for seed in case["seeds"] for front in seed["fronts"]):
        of.setdefault(front["name"], []).append(front)
    # A tool that fails on a seed cannot be compared.
    of = {name: fronts for name, fronts in of.items() if len(fronts) == len(case["seeds"])}
    rows = case["seeds"][0]["rows"]
    yield f"## {case['data']}: 1 - accuracy and {case['gap']}"
    yield ""
    yield f"{rows['train']:,} training, {rows['validation']:,} validation, {rows['test']:,} test rows;"
    yield f"{len(case['seeds'])} seeds."
    yield ""
    titles = ["", "CPU s", "models", "kept", *(f"hypervolume share, {s}" for s in SPACES.values())]
    titles += ["smallest difference", *(f"fairfront's lead, {s}" for s in SPACES.values())]
    yield f"| {' | '.join(titles)} |"
    yield "| --- " + "| ---: " * (len(titles) - 1) + "|"
    ours = of.get("fairfront")
    for name, fronts in of.items():
        leads = [lead(ours, fronts, s) if ours and name != "fairfront" else "" for s in SPACES]
        yield f"| {' | '.join([*cells(fronts), *leads])} |"
    if "exponentiated_gradient" in of:
        own_settings = case["settings"]["exponentiated_gradient"]
        limits = f"{own_settings['bounds'][0]} to {own_settings['bounds'][-1]}"
        yield ""
        yield f"ExponentiatedGradient: bounds {limits}, at most {own_settings['max_iter']} rounds each."
    if ours:
        yield from goals(case, of)


def cells(fronts):
    median = lambda value: statistics.median(map(value, fronts))
    volume = lambda key: statistics.mean(front["hypervolume"][key] for front in fronts)
    return [
        fronts[0]["title"],
        f"{median(lambda front: front['cpu_s']):.2f}",
        f"{median(lambda front: len(front['models'])):.0f}",
        f"{median(lambda front: len(front['kept'])):.0f}",
        *(f"{100 * volume(space):.2f}%" for space in SPACES),
        f"{median(lambda front: front['hypervolume']['smallest_gap']):.4f}",
    ]


def pairs(ours, theirs, space):
    both = zip(ours, theirs, strict=True)
    return [(a["hypervolume"][space], b["hypervolume"][space]) for a, b in both]


def lead(ours, theirs, space):
    found = pairs(ours, theirs, space)
    differences = [100 * (a - b) for a, b in found]
    score = f"{sum(a > b for a, b in found)}–{sum(a < b for a, b in found)}"
    error = ""
    if len(found) > 1:
        error = f" ± {statistics.stdev(differences) / math.sqrt(len(found)):.2f}"
    return f"{score}, {statistics.mean(differences):+.2f}{error}"


def goals(case, of):
    """Whether fairfront wins often enough and is fast enough."""
    ours, seeds = of["fairfront"], len(case["seeds"])
    median = lambda fronts: statistics.median(front["cpu_s"] for front in fronts)
    verdict = lambda reached: "reached" if reached else "**missed**"
    yield ""
    for name, of_ten in case["goals"].items():
        if name in of:
            least = math.ceil(of_ten * seeds / 10)
            above = {space: sum(a > b for a, b in pairs(ours, of[name], space)) for space in SPACES}
            yield (
                f"- Larger share than {of[name][0]['title']} on at least {least} of {seeds} seeds: "
                + "; ".join(
                    f"{SPACES[space]}: {count}, {verdict(count >= least)}"
                    for space, count in above.items()
                )
                + "."
            )
    other = case["fewer_cpu_s_than"]
    if other in of:
        fewer = median(ours) < median(of[other])
        yield f"- Fewer CPU seconds than {of[other][0]['title']}: {verdict(fewer)}."
    if case["cpu_s"]:
        yield f"- Less than {case['cpu_s']:g} CPU s for the whole fit: {verdict(median(ours) < case['cpu_s'])}."


if __name__ == "__main__":
    main()
