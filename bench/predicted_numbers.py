"""Fronts of predicted numbers compared with fairlearn's reductions, on generated tables and on COMPAS decile scores.

fairlearn's `ExponentiatedGradient` and `GridSearch` bound the loss of every group (`BoundedGroupLoss`, with
`SquareLoss` or `AbsoluteLoss`) over scikit-learn's linear regression. fairfront fits `squared_error` (or
`absolute_error`) with `worst_group_loss(A)`. Both aims are the same: a small error overall, and a small error of the
worst group. All methods get the same encoded features.

A front is judged by its hypervolume share: the share of a box that its models dominate, in the error (root of the mean
squared error, or mean absolute error) and the worst group's error. The box reaches from the smallest values of any method
on these rows to those of a constant prediction, the mean (or median) of the training targets. Settings of fairlearn,
the bounds and the size of the grid, were chosen on seeds 100 and 101 (`--choose`); results are from other seeds.

Run by `make bench-numbers`.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import fairlearn
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import sklearn
from fairlearn.reductions import (
    AbsoluteLoss,
    BoundedGroupLoss,
    ExponentiatedGradient,
    GridSearch,
    SquareLoss,
)
from machine import busy_s, where
from sklearn.linear_model import LinearRegression, QuantileRegressor

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work" / "numbers"
RESULT = BENCH / "results" / "numbers.json"
SEEDS = [0, 1, 2]
CHOSEN_ON = [100, 101]
# Number of bounds of ExponentiatedGradient, and of multipliers of GridSearch.
BOUNDS, GRID = 8, 30


def generated(rows, groups, seed):
    """A table in which groups have different slopes, so that no linear model suits all of them."""
    draw = np.random.default_rng([26, rows, groups, seed])
    group = draw.choice(groups, rows, p=np.arange(groups, 0, -1) / np.arange(groups, 0, -1).sum())
    z = draw.normal(size=(rows, 6))
    z[:, 0] += 0.5 * group
    slope = np.array([1.0, 0.5, -0.5, 0.3, 0.0, 0.2])
    turn = np.array([-1.2, 0.8, 0.6, 0.0, 0.4, 0.0]) * (group / (groups - 1))[:, None]
    target = (z * (slope + turn)).sum(axis=1) + 0.7 * group + draw.gamma(2, 0.4 + 0.2 * group)
    columns = {f"z{i}": z[:, i] for i in range(z.shape[1])}
    return pd.DataFrame({**columns, "group": [f"g{g}" for g in group], "target": target}).round(5)


def decile_scores(seed):
    """COMPAS as published, with the filter of its authors and two races."""


    table = pd.read_csv(Path(os.environ["FAIRFRONT_DATA"]) / "compas-scores-two-years.csv")
    kept = table[
        table["days_b_screening_arrest"].abs().le(30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & table["race"].isin(["African-American", "Caucasian"])
    ]
    names = ["age", "sex", "priors_count", "c_charge_degree", "juv_fel_count", "juv_misd_count"]
    table = kept[names].assign(group=kept["race"], target=kept["decile_score"].astype(float))
    return table.sample(frac=1, random_state=seed)


CASES = {
    "2 groups, 4,000 rows": lambda seed: generated(4_000, 2, seed),
    "4 groups, 4,000 rows": lambda seed: generated(4_000, 4, seed),
    "2 groups, 40,000 rows": lambda seed: generated(40_000, 2, seed),
    "COMPAS decile scores by race": decile_scores,
}


class Case:
    """Encoded rows: the features that fairfront derives, for all methods."""

    def __init__(self, binary, name, seed):
        WORK.mkdir(parents=True, exist_ok=True)
        self.binary, self.path = binary, WORK / "rows.csv"
        CASES[name](seed).to_csv(self.path, index=False)
        self.spec = [self.path, "--target", "target", "--numeric", "--sensitive", "group", "--seed", seed]
        self.spec += ["--split", "60/0/40"]
        written = self.run("data", "export", *self.spec, "--encoded", "-o", "-")
        header, *rows = csv.reader(written.splitlines())
        rows = pd.DataFrame(rows, columns=header)
        end = header.index("group")
        self.parts = {}
        for part in ("train", "test"):
            own = rows[rows["split"] == part]
            z, y = own[header[:end]].to_numpy(float), own["label"].to_numpy(float)
            self.parts[part] = z, y, own["group"].to_numpy()

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.binary, *words)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def errors(self, predicted, part, absolute):
        """Return the error of predictions overall, and of the worst group."""
        _, y, group = self.parts[part]
        loss = np.abs(y - predicted) if absolute else (y - predicted) ** 2
        means = [loss.mean(), max(loss[group == g].mean() for g in np.unique(group))]
        return [float(mean if absolute else np.sqrt(mean)) for mean in means]


# Methods: each returns the predictions of its models on a part of the rows.


def fairfront(case, absolute):
    folder = WORK / "run"
    loss = ["absolute_error", "worst_group_loss(group, loss=absolute)"]
    loss = loss if absolute else ["squared_error", "worst_group_loss(group)"]
    objectives = [word for objective in loss for word in ("--objective", objective)]
    case.run("fit", *case.spec, *objectives, "--out", folder, "--force", "--quiet")
    unit = json.loads((folder / "encoding.json").read_text())["target"]["unit"]
    params = np.array(pq.read_table(folder / "front.parquet", columns=["params"])["params"].to_pylist())

    def predict(part):
        z = case.parts[part][0]
        return unit["center"] + unit["scale"] * (params[:, :-1] @ z.T + params[:, -1:])

    return predict


def losses(case, absolute):
    """Return fairlearn's loss with the range of the training targets, and the estimator."""
    y = case.parts["train"][1]
    kind = AbsoluteLoss if absolute else SquareLoss
    estimator = QuantileRegressor(quantile=0.5, alpha=0) if absolute else LinearRegression()
    return kind(y.min(), y.max()), estimator


def bounds_of(case, absolute, unconstrained):
    """Return bounds from just below the worst group's loss of the unconstrained model to 60% of it."""
    worst = case.errors(unconstrained.predict(case.parts["train"][0]), "train", absolute)[1]
    return (worst if absolute else worst**2) * np.linspace(0.6, 0.995, BOUNDS)


def exponentiated_gradient(case, absolute):
    z, y, group = case.parts["train"]
    loss, estimator = losses(case, absolute)
    unconstrained = estimator.fit(z, y)
    found = []
    for bound in bounds_of(case, absolute, unconstrained):
        _, fresh = losses(case, absolute)
        mitigator = ExponentiatedGradient(fresh, BoundedGroupLoss(loss, upper_bound=bound))
        mitigator.fit(z, y, sensitive_features=group)
        # Of a mixture, the mean prediction: its convex loss is at most that of the randomized model.
        found.append((mitigator.predictors_, mitigator.weights_))

    def predict(part):
        z = case.parts[part][0]
        mixed = [sum(w * p.predict(z) for p, w in zip(ps, ws, strict=True) if w > 0) for ps, ws in found]
        return np.array([unconstrained.predict(z), *mixed])

    return predict


def grid_search(case, absolute):
    z, y, group = case.parts["train"]
    loss, estimator = losses(case, absolute)
    search = GridSearch(estimator, BoundedGroupLoss(loss, upper_bound=0.0), grid_size=GRID)
    search.fit(z, y, sensitive_features=group)
    return lambda part: np.array([p.predict(case.parts[part][0]) for p in search.predictors_])


METHODS = {
    "fairfront": fairfront,
    "fairlearn ExponentiatedGradient": exponentiated_gradient,
    "fairlearn GridSearch": grid_search,
}


def share_of_box(points, low, high):
    """Return the share of the box from `low` to `high` that points dominate, in two dimensions."""
    points = np.array(sorted(p for p in map(tuple, points) if p[0] < high[0] and p[1] < high[1]))
    area, least = 0.0, high[1]
    for error, worst in points:
        if worst < least:
            area += (high[0] - max(error, low[0])) * (least - max(worst, low[1]))
            least = max(worst, low[1])
    return area / ((high[0] - low[0]) * (high[1] - low[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=BENCH.parent / "target/release/fairfront")
    parser.add_argument("--choose", action="store_true", help="run the seeds on which settings were chosen")
    parser.add_argument("--only", help="run cases whose name contains this; keep other results")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--losses", nargs="+", choices=["squared", "absolute"], default=["squared", "absolute"])
    parser.add_argument("--result", type=Path, default=RESULT)
    args = parser.parse_args()
    if not args.binary.is_file():
        sys.exit(f"{args.binary}: not found; run cargo build --release -p fairfront-cli")
    warnings.filterwarnings("ignore")
    seeds = args.seeds or (CHOSEN_ON if args.choose else SEEDS)
    stored = json.loads(args.result.read_text()) if args.result.is_file() else {"runs": []}
    for name in CASES:
        if args.only and args.only not in name:
            continue
        for seed in seeds:
            case = Case(args.binary, name, seed)
            for loss in args.losses:
                # Quantile regression by linear programs takes minutes per fit on many rows.
                methods = dict(METHODS)
                if loss == "absolute" and len(case.parts["train"][1]) > 5_000:
                    methods = {"fairfront": fairfront}
                found = compared(case, methods, loss == "absolute")
                for method, values in found.items():
                    said = {"case": name, "seed": seed, "loss": loss, "method": method, **values}
                    key = lambda run: [run[k] for k in ("case", "seed", "loss", "method")]  # noqa: E731
                    stored["runs"] = [run for run in stored["runs"] if key(run) != key(said)] + [said]
                    print(name, seed, loss, method, *(said[k] for k in ("models", "seconds", "cpu_seconds", "shares")), sep=" | ", flush=True)
                versions = {"fairlearn": fairlearn.__version__, "scikit-learn": sklearn.__version__}
                args.result.write_text(json.dumps({**stored, "machine": where(versions), "program": str(args.binary.parent.name)}) + "\n")


def cpu_s():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in used)


def compared(case, methods, absolute):
    """Return time, points and hypervolume shares of each method."""
    found = {}
    for name, fit in methods.items():
        before, cpu, busy = time.perf_counter(), cpu_s(), busy_s()
        predict = fit(case, absolute)
        seconds, cpu_seconds = time.perf_counter() - before, cpu_s() - cpu
        points = {part: [case.errors(p, part, absolute) for p in predict(part)] for part in case.parts}
        found[name] = {
            "models": len(points["train"]),
            "seconds": round(seconds, 3),
            # Of this program and those that it runs.
            "cpu_seconds": round(cpu_seconds, 3),
            # CPU seconds of all programs of the machine in this time, to see whether it was busy.
            "machine_cpu_seconds": round(busy_s() - busy, 2),
            "points": points,
        }
    y = case.parts["train"][1]
    constant = np.median(y) if absolute else y.mean()
    for part in case.parts:
        high = case.errors(np.full(len(case.parts[part][1]), constant), part, absolute)
        everything = [point for of in found.values() for point in of["points"][part]]
        low = np.min(everything, axis=0)
        for of in found.values():
            shares = of.setdefault("shares", {})
            shares[part] = round(float(share_of_box(of["points"][part], low, high)), 4)
    return found


if __name__ == "__main__":
    main()
