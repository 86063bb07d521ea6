"""Certified choices on redraws of a population: how often a chosen model breaks its limit.

Each table is its own population. A front is fitted on a random part of it; then validation and certifying rows are
drawn from the whole table with replacement, 1,000 times over several fronts. On each draw, one model is chosen by
`select --require` on the certifying rows (95% confidence), and one by the naive rule: the most accurate model that
keeps the limit on the validation rows. Whether a model keeps the limit is known, because the whole table is known.

Settings were not tuned on these draws: limits are round numbers that were fixed beforehand, and the only setting of the
procedure is its confidence.

Run by `make bench-choice`.
"""

import argparse
import csv
import json
import math
import random
import subprocess
import sys
from pathlib import Path

from machine import where

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work"
RESULT = BENCH / "results" / "choice.json"

PARITY = "demographic_parity_difference({}) <= 0.05"
FIVE = {"target": "label", "positive": "yes", "sensitive": "group"}
# name, table, settings, requirement, validation rows, certifying rows
CHOICES = [
    ("adult by sex", "adult:sex", {}, PARITY.format("sex"), 4500, 4500),
    ("adult by sex", "adult:sex", {}, PARITY.format("sex"), 4500, 13500),
    ("adult by sex, four-fifths rule", "adult:sex", {}, "demographic_parity_ratio(sex) >= 0.8", 4500, 13500),
    ("compas by race", "compas:race", {}, PARITY.format("race"), 4500, 4500),
    ("compas by race", "compas:race", {}, PARITY.format("race"), 4500, 13500),
    ("simulated bank by sex", "demo(rows=40000, seed=5)", {}, PARITY.format("sex"), 4500, 4500),
    ("simulated bank by sex", "demo(rows=40000, seed=5)", {}, PARITY.format("sex"), 4500, 13500),
    ("five groups, generated", "five", FIVE, PARITY.format("group"), 4500, 13500),
    ("five groups, generated", "five", FIVE, "demographic_parity_difference(group) <= 0.1", 4500, 13500),
]
BANDS = [
    ("adult by sex", "adult:sex", {}, PARITY.format("sex"), 4500, 4500),
    ("five groups, generated", "five", FIVE, PARITY.format("group"), 4500, 4500),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=BENCH.parent / "target/release/choice")
    parser.add_argument("--fits", type=int, default=10)
    parser.add_argument("--redraws", type=int, default=100, help="redraws per front")
    parser.add_argument("--band-redraws", type=int, default=100, help="redraws for bands, for each of five fronts")
    parser.add_argument("--parts", nargs="+", choices=["choices", "bands"], default=["choices", "bands"])
    parser.add_argument("--only", help="run choices whose name or requirement contains this; keep other results")
    parser.add_argument("--result", type=Path, default=RESULT)
    args = parser.parse_args()
    if not args.binary.is_file():
        sys.exit(f"{args.binary}: not found; run cargo build --release -p fairfront-bench")
    WORK.mkdir(exist_ok=True)
    result = json.loads(args.result.read_text()) if args.result.is_file() else {"choices": [], "bands": []}
    for part, choices in (("choices", CHOICES), ("bands", BANDS)):
        if part not in args.parts:
            continue
        for choice in choices:
            if args.only and args.only not in " ".join((choice[0], choice[3])):
                continue
            found = named(choice)
            if part == "choices":
                found |= judged(run(args.binary, choice, args.fits, args.redraws))
            else:
                draws = run(args.binary, choice, 5, args.band_redraws, "bands")
                found |= {"draws": len(draws), "covered": covered(draws)}
            print(json.dumps(found), flush=True)
            others = [r for r in result[part] if any(r[key] != found[key] for key in named(choice))]
            result[part] = [*others, found]
            args.result.write_text(json.dumps({**result, "machine": where({})}, indent=1) + "\n")


def named(choice):
    name, table, _, requirement, validation, certify = choice
    return {
        "name": name,
        "table": table,
        "requirement": requirement,
        "validation_rows": validation,
        "certify_rows": certify,
    }


def run(binary, choice, fits, redraws, *more):
    """All draws of one choice."""
    _, table, settings, requirement, validation, certify = choice
    if table == "five":
        table = str(five_groups())
    command = [binary, table, json.dumps(settings), requirement, validation, certify, fits, redraws, 1]
    command = [*map(str, command), *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def judged(draws):
    """Shares of draws with their standard errors, and the loss in accuracy."""
    n = len(draws)

    def share(holds):
        p = sum(map(bool, map(holds, draws))) / n
        return {"share": p, "standard_error": math.sqrt(p * (1 - p) / n)}

    def lost(rule):
        both = [(d["best_allowed"], d[rule]["accuracy"]) for d in draws if d[rule] and d["best_allowed"]]
        return sum(best - own for best, own in both) / len(both) if both else None

    broken = share(lambda d: d["chosen"] and not d["chosen"]["keeps"])
    return {
        "draws": n,
        "issued_and_broken": broken,
        "any_certified_broken": share(lambda d: d["any_broken"]),
        "nothing_issued": share(lambda d: not d["chosen"]),
        "accuracy_lost": lost("chosen"),
        "naive_broken": share(lambda d: d["naive"] and not d["naive"]["keeps"]),
        "naive_nothing": share(lambda d: not d["naive"]),
        "naive_accuracy_lost": lost("naive"),
        "within_goal": broken["share"] <= 0.05 + 2 * broken["standard_error"],
    }


def covered(draws):
    """For each measure, the share of draws in which its band contains the true values of all models at once."""
    names = [name for name, _ in draws[0]["bands"]]
    return {
        name: sum(draw["bands"][i][1] for draw in draws) / len(draws) for i, name in enumerate(names)
    }


def five_groups():
    """A table with five groups of equal size and different selection rates."""
    path = WORK / "five.csv"
    if not path.is_file():
        draw = random.Random(11)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["group", "income", "debt", "years", "district", "label"])
            for row in range(40_000):
                group = row % 5
                income = draw.gauss(0.25 * group, 1)
                debt = draw.gauss(-0.1 * group, 1)
                years = draw.gauss(0, 1)
                district = draw.choices("NESW", weights=[4, 3 + group, 2, 1 + group])[0]
                score = 0.9 * income - 0.7 * debt + 0.5 * years + 0.2 * (district == "E") - 0.4
                label = draw.random() < 1 / (1 + math.exp(-score))
                values = [f"{value:.4f}" for value in (income, debt, years)]
                writer.writerow([f"group {group}", *values, district, "yes" if label else "no"])
    return path


if __name__ == "__main__":
    main()
