"""Certified choices for predicted numbers on redraws of populations: how often a certified model breaks its limit.

Each population is a generated table of 100,000 rows. Each draw takes rows from it with replacement, fits a front on
40% of them and certifies its models on 50%, at 95% confidence. Whether a model keeps the limit is known,
because the whole population is known. All certified models count, since any of them may be chosen: a draw is broken if
one of its certified models breaks the limit.

Settings were not tuned on these draws: limits are values that about half of the models of a front keep, and the only
setting of the procedure is its confidence.

The part `levels` measures Student's test alone, without fairfront: the share of samples in which a mean is found to be
below a limit that it is equal to, at level 5%, and the same after Hall's correction for skewness (1992).

Run by `make bench-number-choice`.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from machine import where
from scipy import stats

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work" / "number_choice"
RESULT = BENCH / "results" / "number_choice.json"
POPULATION = 100_000
# name: shares of the groups, noise, features
CASES = {
    "normal noise, two groups": ([0.6, 0.4], "normal", "normal"),
    "gamma noise, three groups": ([0.6, 0.3, 0.1], "gamma", "normal"),
    "Student noise with 3 degrees of freedom, skewed feature, small group": (
        [0.9, 0.1],
        "student",
        "lognormal",
    ),
    "gamma noise, five groups": ([0.2] * 5, "gamma", "normal"),
}
# Certifying rows: half of the drawn rows.
SIZES = [400, 2_000]
MEASURES = ["mean_difference(group)", "worst_group_mae(group)", "worst_group_rmse(group)"]


class Population:
    """All rows: target, features and groups."""

    def __init__(self, shares, noise, features):
        draw = np.random.default_rng(26)
        self.group = draw.choice(len(shares), POPULATION, p=shares)
        step = self.group / (len(shares) - 1)
        if features == "normal":
            skill = draw.normal(0.8 * step, 1)
        else:
            skill = np.exp(draw.normal(0.6 * step, 1))
        years = draw.gamma(3, 1, POPULATION)
        error = {
            "normal": lambda: draw.normal(0, 1, POPULATION),
            "gamma": lambda: draw.gamma(1, 1.5, POPULATION) - 1.5,
            "student": lambda: draw.standard_t(3, POPULATION),
        }[noise]()
        self.features = np.column_stack([skill, years]).round(4)
        self.target = (20 + 2 * skill + years + step + error).round(4)

    def write(self, path):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["target", "group", "skill", "years"])
            for target, group, features in zip(self.target, self.group, self.features, strict=True):
                writer.writerow([target, f"g{group}", *features])

    def values(self, run):
        """Return each measure of each model of a run on all rows, as it is and with capped values."""
        encoding, params = run["encoding"], np.array(run["params"])
        names = ["skill", "years"]
        columns = []
        for numeric in encoding["numeric"]:
            column = self.features[:, names.index(numeric["column"])]
            columns.append((column - numeric["shift"]) / numeric["factor"])
        unit = encoding["target"]["unit"]
        z = np.column_stack([*columns, np.ones(POPULATION)])
        predicted = unit["center"] + unit["scale"] * (z @ params.T)
        plain = self.measures(self.target[:, None], predicted)
        low, high = unit["range"]
        capped = self.measures(self.target.clip(low, high)[:, None], predicted.clip(low, high))
        return plain, capped

    def measures(self, target, predicted):
        residual = target - predicted
        by_group = lambda values: np.array(  # noqa: E731
            [values[self.group == g].mean(axis=0) for g in range(self.group.max() + 1)]
        )
        means = by_group(predicted)
        return {
            "mean_difference(group)": means.max(0) - means.min(0),
            "worst_group_mae(group)": by_group(np.abs(residual)).max(0),
            "worst_group_rmse(group)": np.sqrt(by_group(residual**2).max(0)),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=BENCH.parent / "target/release/number_choice")
    parser.add_argument("--draws", type=int, default=400, help="draws per population and number of rows")
    parser.add_argument("--parts", nargs="+", choices=["choices", "levels"], default=["levels", "choices"])
    parser.add_argument("--only", help="run populations whose name contains this; keep other results")
    parser.add_argument("--result", type=Path, default=RESULT)
    args = parser.parse_args()
    if "choices" in args.parts and not args.binary.is_file():
        sys.exit(f"{args.binary}: not found; run cargo build --release -p fairfront-bench")
    before = json.loads(args.result.read_text()) if args.result.is_file() else {"choices": []}
    if "levels" in args.parts:
        before["levels"] = levels()
        args.result.write_text(json.dumps({**before, "machine": where({})}) + "\n")
    for name, case in CASES.items():
        if "choices" not in args.parts or args.only and args.only not in name:
            continue
        for rows in SIZES:
            found = certified(args.binary, name, Population(*case), rows, args.draws)
            others = [r for r in before["choices"] if (r["population"], r["certify_rows"]) != (name, rows)]
            before["choices"] = [*others, *found]
            args.result.write_text(json.dumps({**before, "machine": where({})}) + "\n")


def levels():
    """Return the level of Student's test by distribution and number of rows."""
    draw = np.random.default_rng(26)
    values = {
        "normal": (lambda shape: draw.normal(size=shape), 0.0),
        "absolute normal": (lambda shape: np.abs(draw.normal(size=shape)), math.sqrt(2 / math.pi)),
        "squared normal": (lambda shape: draw.normal(size=shape) ** 2, 1.0),
        "squared exponential": (lambda shape: draw.exponential(size=shape) ** 2, 2.0),
        "absolute Student with 3 degrees of freedom": (
            lambda shape: np.abs(draw.standard_t(3, size=shape)),
            2 * math.sqrt(3) / math.pi,
        ),
        "squared Student with 3 degrees of freedom": (lambda shape: draw.standard_t(3, size=shape) ** 2, 3.0),
    }
    found = []
    for name, (sample, mean) in values.items():
        for rows in (30, 100, 400, 2_000):
            samples, below, corrected = 10_000, 0, 0
            critical = stats.t.ppf(0.05, rows - 1)
            for _ in range(10):
                v = sample((samples // 10, rows))
                t = (v.mean(axis=1) - mean) / (v.std(axis=1, ddof=1) / math.sqrt(rows))
                k = stats.skew(v, axis=1) / math.sqrt(rows)
                below += int((t < critical).sum())
                corrected += int((t + k * (t**2 / 3 + 1 / 6) + k**2 * t**3 / 27 < critical).sum())
            said = {"values": name, "rows": rows, "samples": samples, "below": below, "corrected": corrected}
            print(said, flush=True)
            found.append(said)
    return found


def draws_of(binary, table, rows, draws, requirements, seed):
    """Yield the runs of all draws."""
    command = [binary, table, int(2 * rows), draws, seed, *requirements]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout)
    if process.returncode:
        sys.exit(f"{binary}: exit code {process.returncode}")


def certified(binary, name, population, rows, draws):
    """Return the results for each measure and test on one population."""
    WORK.mkdir(parents=True, exist_ok=True)
    table = WORK / f"{list(CASES).index(name)}.csv"
    population.write(table)
    # Limits that half of the models of a first front keep on the population.
    [first] = draws_of(binary, table, rows, 1, [], 0)
    values, _ = population.values(first)
    limits = {measure: float(f"{np.median(values[measure]):.3g}") for measure in MEASURES}
    requirements = [f"{measure} <= {limit}" for measure, limit in limits.items()]
    raw = defaultdict(list)
    for run in draws_of(binary, table, rows, draws, requirements, 1):
        plain, capped = population.values(run)
        tests = [(measure, test) for measure in MEASURES for test in ("welch", "bernstein")]
        for (measure, test), ids in zip(tests, run["certified"], strict=True):
            models = [int(number) - 1 for number in ids]
            largest = [float(of[measure][models].max()) if models else None for of in (plain, capped)]
            raw[measure, test].append([len(models), *largest])
    return [result(name, rows, measure, limits[measure], test, of) for (measure, test), of in raw.items()]


def result(name, rows, measure, limit, test, raw):
    """Return the shares of draws with their standard errors."""

    def share(holds):
        p = sum(map(holds, raw)) / len(raw)
        return {"share": p, "standard_error": math.sqrt(p * (1 - p) / len(raw))}

    found = {
        "population": name,
        "certify_rows": rows,
        "requirement": f"{measure} <= {limit}",
        "test": test,
        "draws": len(raw),
        "broken": share(lambda d: d[0] > 0 and d[1] > limit),
        # The finite-sample test is about capped values.
        "broken_capped": share(lambda d: d[0] > 0 and d[2] > limit),
        "nothing_certified": share(lambda d: d[0] == 0),
        "columns": ["certified models", "largest value of a certified model", "the same of capped values"],
        "raw": raw,
    }
    shares = [found[key]["share"] for key in ("broken", "broken_capped", "nothing_certified")]
    print(name, rows, found["requirement"], test, *shares, sep=" | ", flush=True)
    return found


if __name__ == "__main__":
    main()
