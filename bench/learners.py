"""Learners: fronts of linear models, of boosted trees and of both, compared with fairlearn on LightGBM.

Every method sees the same rows: those of `fairfront data export`, with a 60/10/30 split per seed. The generated tables
are new for every seed. The measures are 1 - accuracy and the difference between groups. Training and validation rows
together decide which models of a method are kept, at most 31 of them: those that no other one dominates, each time the
one that adds the most hypervolume. Shares on test rows are those of a common box, which ends at the minority share of
the target and the difference of the unmitigated LightGBM.

Training rows are in sample for linear models and out of fold for trees, so this rule favors linear models on a front of
both. The share of a front as delivered is therefore reported too: 31 of fairfront's models, evenly spaced in the order
of the front, without another filter. For other methods, which deliver no front, the two shares are the same. Goals are
stated for the first rule, the verdict of the second follows.

fairlearn's methods get LightGBM with 100 trees of 8 leaves and native categories. GridSearch has fairlearn's own grid.
ExponentiatedGradient is evaluated by its expected rates; mixtures of its models for neighboring bounds, down to the
unmitigated model, are added, which need no further fit. Thresholds by group need the attribute to decide, so they
are not comparable; they show the gain of treating groups differently.

CPU time is that of the whole process with one thread for fairfront, from reading the table to writing the report. For
another method it is `fit` alone, without imports, reading and evaluation.

Results are stored in `work/learners/` under a digest of everything that determines them, and reused. With fewer cases,
seeds or methods than all, the report is written to `work/` too. With --scale, the cost of boosted trees is measured on
tables of Adult's shape instead, with up to a million rows, or up to ten million with --scale 1e7.

Run by `make bench-learners`.
"""

import argparse
import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import moocore
import numpy as np
import pandas as pd
import pyarrow.parquet

import learners_report
from judge import BENCH, CUT, FAIRFRONT, judged, measured, sha256, write_results
from machine import where

WORK = BENCH / "work/learners"
SPLIT = ["--split", "60/10/30"]
SPLITS = ["train", "validation", "test"]
FAMILIES = ["linear", "trees", "auto"]
FAIRLEARN = ["grid_search", "exponentiated_gradient"]
METHODS = [*FAMILIES, *FAIRLEARN, "thresholds"]
# Bounds on the distance of a group's rate from the overall rate; mixtures from one to the next.
BOUNDS = [0.01, 0.02, 0.05, 0.1]
MIXTURES = 7
ROUNDS = 50
# Differences at which accuracies are compared.
LIMITS = [0.05, 0.02]
PACKAGES = ["fairlearn", "lightgbm", "moocore", "numpy", "pandas", "scikit-learn"]


@dataclasses.dataclass
class Case:
    """A table, its columns (target, positive value, attribute), a difference, and the size of fairlearn's grid."""

    title: str
    source: str
    columns: tuple
    grid: int = CUT
    constraint: str = "DemographicParity"
    gap: str = "demographic_parity_difference"
    flags: tuple = ()
    objectives: tuple = ()


# GridSearch has one dimension per group beyond the first, so more groups need more models.
CASES = {
    "adult-sex": Case("Adult by sex", "adult:sex", ("income", ">50K", "sex")),
    "adult-race": Case("Adult by race, five groups", "adult:race", ("income", ">50K", "race"), grid=500),
    "compas-race": Case(
        "COMPAS by race, equal opportunity",
        "compas:race",
        ("two_year_recid", "0", "race"),
        constraint="TruePositiveRateParity",
        gap="equal_opportunity_difference",
        objectives=("--objective", "error_rate", "--objective", "equal_opportunity(race)"),
    ),
    "bank-sex": Case(
        "Simulated bank by sex",
        "demo(rows=20000, seed={seed})",
        ("approved", "yes", "sex"),
        flags=("--sensitive", "sex", "--drop", "race"),
    ),
    "curved": Case(
        "Generated table, three groups",
        "{work}/curved-{seed}.csv",
        ("label", "yes", "group"),
        grid=200,
        flags=("--target", "label", "--positive", "yes", "--sensitive", "group"),
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(1, 11)), metavar="SEED")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, metavar="NAME")
    parser.add_argument("--stored", action="store_true", help="only stored results; leave out missing ones")
    parser.add_argument("--scale", nargs="?", type=float, const=1e6, metavar="ROWS", help="most rows")
    args = parser.parse_args()
    if not FAIRFRONT.is_file():
        sys.exit(f"{FAIRFRONT}: not found; run cargo build --release -p fairfront-cli, or set FAIRFRONT_BIN")
    WORK.mkdir(parents=True, exist_ok=True)
    if args.scale:
        # A process of its own stays small, so that it does not add to the peak memory of the fits.
        return subprocess.run([sys.executable, BENCH / "learners_scale.py", str(int(args.scale))], check=True)
    cases = []
    for name in args.cases:
        seeds = []
        for seed in args.seeds:
            seeds.append(one_seed(name, seed, args.methods, args.stored))
            print(".", end="", flush=True, file=sys.stderr)
        cases.append({"name": name, **dataclasses.asdict(CASES[name]), "seeds": seeds})
    print(file=sys.stderr)
    whole = (list(CASES), METHODS, list(range(1, 11)))
    results = BENCH / "results" if (args.cases, args.methods, args.seeds) == whole else WORK
    settings = {"bounds": BOUNDS, "mixtures": MIXTURES, "rounds": ROUNDS}
    text = learners_report.report(cases, LIMITS, CUT)
    print(text)
    write_results("learners", text, {"settings": settings, "cases": cases}, PACKAGES, results)
    print(f"written to {results.relative_to(BENCH.parent)}/learners.*", file=sys.stderr)


# Runs


def one_seed(name, seed, methods, only_stored):
    """The numbers of all methods for one seed."""
    case = CASES[name]
    source = case.source.format(seed=seed, work=WORK)
    if name == "curved":
        curved(seed).to_csv(source, index=False)
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.csv"
        flags = [source, *case.flags, "--seed", seed, *SPLIT]
        run(FAIRFRONT, "data", "export", *flags, "--force", "-o", rows)
        result = lambda method: stored(name, seed, method, flags, rows, Path(folder), only_stored)
        found = {method: result(method) for method in ["unmitigated", *methods]}
    unmitigated = found.pop("unmitigated")
    totals = np.array(unmitigated["totals"])
    limits = {}
    for key, splits in (("chosen", [0, 1]), ("test", [2])):
        share = totals[splits, :, 1].sum() / totals[splits].sum()
        limits[key] = [min(share, 1 - share), measures(unmitigated, splits, case.gap)[0, 1]]
    methods = {method: numbers(method, front, case.gap, limits) for method, front in found.items() if front}
    alone = measures(unmitigated, [2], case.gap)[0].tolist()
    rows = dict(zip(SPLITS, totals.sum((1, 2)).astype(int).tolist(), strict=True))
    return {"seed": seed, "rows": rows, "references": limits, "unmitigated": alone, "methods": methods}


def stored(name, seed, method, flags, rows, folder, only_stored):
    """The cells of a method: stored ones, if everything that determines them is the same."""
    case = CASES[name]
    own = settings(case, method)
    program = FAIRFRONT if method in FAMILIES else BENCH / "boosted.py"
    versions = [importlib.metadata.version(package) for package in PACKAGES]
    parts = [method, own, sha256(program), sha256(rows), case.objectives, machine(), versions]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
    path = WORK / f"{name}-{seed}-{method}-{digest}.json"
    if not path.is_file():
        if only_stored:
            return None
        if method in FAMILIES:
            front = with_fairfront(case, method, [*flags, *case.objectives], rows, folder)
        else:
            out = folder / "cells.json"
            _, cost = measured([sys.executable, program, method, rows, out, json.dumps(own)])
            front = {**json.loads(out.read_text()), "process": cost}
        path.write_text(json.dumps(front))
    return json.loads(path.read_text())


def settings(case, method):
    own = {
        "grid_search": {"models": case.grid},
        "exponentiated_gradient": {"bounds": BOUNDS, "max_iter": ROUNDS},
        "thresholds": {"models": CUT},
    }
    return {"columns": case.columns, "constraint": case.constraint, **own.get(method, {})}


@functools.cache
def machine():
    found = where({})
    return found["cpu"], found["cores"], found["versions"]["python"]


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())


def with_fairfront(case, family, flags, rows, folder):
    """The cells of a front, checked against the decisions of one of its models."""
    out = folder / "run"
    command = [FAIRFRONT, "fit", *flags, "--threads", 1, "--family", family, "--out", out, "--force", "--quiet"]
    _, cost = measured(command)
    table = pyarrow.parquet.read_table(out / "front.parquet").to_pandas()
    info = json.loads((out / "run.json").read_text())
    attribute = case.columns[2]
    groups = sorted(info["groups"][attribute])

    def cells(*kinds):
        of = lambda split, group, kind: table[f"{split}.{kind}({attribute}={group})"].to_numpy(float)
        values = [[[of(s, g, kind) for kind in kinds] for g in groups] for s in SPLITS]
        return np.moveaxis(np.array(values), -1, 0)

    selected = cells("false_positives", "true_positives")
    check(case, out, selected, groups, rows, folder)
    return {
        "title": f"fairfront, {family}",
        "cpu_s": cost["cpu_s"],
        "process": cost,
        "groups": groups,
        "totals": (selected + cells("true_negatives", "false_negatives"))[0].tolist(),
        "selected": selected.tolist(),
        "families": table.get("family", pd.Series(["linear"] * len(table))).tolist(),
    }


def check(case, out, selected, groups, rows, folder):
    """Compare the cells of one model with its decisions on validation and test rows."""
    one, model, decided = len(selected) // 2, folder / "model.json", folder / "decided.csv"
    run(FAIRFRONT, "select", out, "--model-id", one + 1, "--confidence", "none", "--model", model, "--force")
    run(FAIRFRONT, "predict", model, rows, "--force", "-o", decided)
    target, positive, attribute = case.columns
    table = pd.read_csv(rows, dtype=str, keep_default_na=False)
    keys = [table["split"], table[attribute], table[target] == positive]
    sums = pd.read_csv(decided)["decision"].groupby(keys).sum()
    for s, split in enumerate(SPLITS[1:], 1):
        for g, group in enumerate(groups):
            for label in (0, 1):
                own, theirs = selected[one, s, g, label], sums.get((split, group, bool(label)), 0)
                assert own == theirs, (split, group, label, own, theirs)


def curved(seed, n=12_000):
    """A table in which label and group depend on products, waves and thresholds, with labels biased against a group."""
    rng = np.random.default_rng([seed, 24])
    x = rng.normal(size=(n, 6)) @ (np.eye(6) + 0.2 * rng.normal(size=(6, 6)))
    trade = rng.choice(["craft", "office", "retail", "transport"], n, p=[0.3, 0.3, 0.25, 0.15])
    region = rng.choice([f"r{k}" for k in range(1, 9)], n)
    remote = np.isin(region, ["r2", "r5", "r8"])
    pull = np.column_stack(
        [
            0.9 + 0.8 * np.sin(2 * x[:, 0]),
            1.1 * x[:, 0] * x[:, 1] + 0.8 * (trade == "craft"),
            1.2 - 0.9 * np.abs(x[:, 2]) + 1.1 * remote,
        ]
    )
    group = (pull + rng.gumbel(size=pull.shape)).argmax(1)
    score = 1.2 * np.sin(2 * x[:, 0]) + 0.9 * x[:, 3] * (x[:, 1] > 0) + 0.5 * x[:, 2] ** 2 - 0.6
    score += 0.7 * (trade == "office") - 0.5 * remote + np.array([0.5, 0.4, -0.8])[group]
    label = rng.random(n) < 1 / (1 + np.exp(-1.3 * score))
    table = pd.DataFrame({f"x{k}": x[:, k].round(4) for k in range(6)})
    table["trade"], table["region"] = trade, region
    table["group"] = np.array(["a", "b", "c"])[group]
    table["label"] = np.where(label, "yes", "no")
    return table


# Evaluation


def measures(front, splits, gap):
    """1 - accuracy and the difference between groups, for each model."""
    selected = np.array(front["selected"])[:, splits].sum(1)
    totals = np.array(front["totals"])[splits].sum(0)
    errors = selected[:, :, 0].sum(1) + (totals[:, 1] - selected[:, :, 1]).sum(1)
    if gap == "equal_opportunity_difference":
        rates = selected[:, :, 1] / totals[:, 1]
    else:
        rates = selected.sum(2) / totals.sum(1)
    return np.column_stack([errors / totals.sum(), np.ptp(rates, axis=1)])


def numbers(method, front, gap, limits):
    """The results of one method: hypervolume shares, and accuracies at small differences."""
    if method == "exponentiated_gradient":
        front["selected"] = mixed(np.array(front["selected"]))
    chosen, test = measures(front, [0, 1], gap), measures(front, [2], gap)
    kept, cut, volumes = judged(chosen, test, limits)
    kept, some = np.array(kept), np.array(kept)[cut]
    reference = limits["test"]
    share = lambda points: moocore.hypervolume(points, ref=reference) / np.prod(reference)
    whole = np.unique(np.linspace(0, len(test) - 1, CUT).round().astype(int))
    delivered = share(test[whole]) if method in FAMILIES else volumes["test_cut"]
    found = {
        "title": front["title"],
        "cpu_s": front["cpu_s"],
        "busy": front["process"]["cores_busy_with_others"],
        "models": len(test),
        "kept": len(kept),
        "share": volumes["test_cut"],
        "share_of_all_kept": volumes["test"],
        "share_of_all_models": share(test),
        "share_delivered": delivered,
        "accuracy_at": [accuracy(test[some], limit) for limit in LIMITS],
        "chosen_at": [chosen_model(chosen[some], test[some], limit) for limit in LIMITS],
    }
    if "families" in front:
        of = np.array(front["families"])[some]
        found["of_family"] = {name: int((of == name).sum()) for name in sorted(set(of))}
    return found


def mixed(selected):
    """Expected decisions of mixtures of neighboring models."""
    n = len(selected)
    at = np.linspace(0, n - 1, (n - 1) * MIXTURES + 1)
    low = np.minimum(at.astype(int), n - 2)
    weight = (at - low)[:, None, None, None]
    return (1 - weight) * selected[low] + weight * selected[low + 1]


def accuracy(points, limit):
    """The best accuracy of models with at most this difference, on the same rows; None without such a model."""
    inside = points[points[:, 1] <= limit]
    return float(1 - inside[:, 0].min()) if len(inside) else None


def chosen_model(chosen, test, limit):
    """Test accuracy and difference of the most accurate model within a limit on training and validation rows."""
    inside = np.flatnonzero(chosen[:, 1] <= limit)
    if not len(inside):
        return None
    best = inside[chosen[inside, 0].argmin()]
    return [float(1 - test[best, 0]), float(test[best, 1])]


if __name__ == "__main__":
    main()
