"""Networks: fronts of networks with one hidden layer, next to those of linear models and boosted trees.

Each front is the demographic parity difference by sex against 1 - accuracy on test rows, on Adult and on the simulated
bank, for three seeds of a 60/10/30 split. All models of a front count; training and validation rows chose them.
Hypervolume shares are those of the box that ends at the minority share of the target and the difference of the
unmitigated linear model, on test rows. The accuracies are those of the best model on test rows, so they are optimistic,
the more so the more models a front has. CPU time is that of the whole process with one thread, from reading the table
to writing the run. Networks have the default number of hidden units. PF-SMG takes at most 200 steps per trajectory:
with the default of 1,000, one front on Adult was not finished after 160 CPU seconds. No setting was chosen by these
results.

Run by `make bench-networks`.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import moocore
import numpy as np
import pyarrow.parquet

from judge import BENCH, FAIRFRONT, fit_fairfront, write_results

DATA = {"Adult": "adult:sex", "simulated bank": "demo(rows=20000)"}
METHODS = {
    "linear": [],
    "trees": ["--family", "trees"],
    "network, weighted": ["--family", "network", "--solver", "weighted"],
    "network, pf-smg": ["--family", "network", "--solver", "pf-smg", "--set", "max-steps=200"],
}
GAP = "demographic_parity_difference(sex)"
OBJECTIVES = ["--objective", "error_rate", "--objective", "demographic_parity(sex)"]
SETTINGS = [*OBJECTIVES, "--split", "60/10/30", "--threads", "1"]
# Accuracy is compared among models whose difference is at most this.
MOST_GAP = 0.05
SEEDS = 3
PACKAGES = ["moocore", "numpy", "pyarrow"]
COLUMNS = {
    "share": "share of the box",
    "accuracy": "best accuracy",
    "accuracy_at_gap": f"accuracy at ≤ {MOST_GAP}",
    "models": "models",
    "cpu_s": "CPU s",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA, metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS, metavar="NAME")
    args = parser.parse_args()
    if not FAIRFRONT.is_file():
        sys.exit(f"{FAIRFRONT}: not found; run cargo build --release -p fairfront-cli, or set FAIRFRONT_BIN")
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.data:
            for seed in range(1, SEEDS + 1):
                runs += one_seed(name, seed, args.methods, Path(folder))
    text = report(runs)
    print(text)
    everything = len(args.data) == len(DATA) and len(args.methods) == len(METHODS)
    results = BENCH / "results" if everything else BENCH / "work"
    write_results("networks", text, {"runs": runs}, PACKAGES, results)


def one_seed(name, seed, methods, folder):
    """The fronts of one table. The linear one always comes first, because it ends the box."""
    runs, box = [], None
    for method in dict.fromkeys(["linear", *methods]):
        cost = fit_fairfront(DATA[name], [*SETTINGS, "--seed", str(seed), *METHODS[method]], folder / "run")
        if cost is None:
            sys.exit(1)
        info = json.loads((folder / "run" / "run.json").read_text())
        box = box or box_of(info)
        front = pyarrow.parquet.read_table(folder / "run" / "front.parquet").to_pydict()
        errors, gaps = 1 - np.array(front["test.accuracy"]), np.array(front[f"test.{GAP}"])
        points = np.column_stack([errors, gaps])
        run = {
            "data": name,
            "seed": seed,
            "method": method,
            "solver": info["solver"],
            "hidden": (info.get("family") or {}).get("hidden"),
            "penalty": (info.get("penalty") or {}).get("chosen"),
            "box": box,
            "share": moocore.hypervolume(points, ref=box) / np.prod(box),
            "accuracy": 1 - errors.min(),
            "accuracy_at_gap": 1 - errors[gaps <= MOST_GAP].min(initial=1.0),
            "models": len(errors),
            **cost,
        }
        runs.append(run)
        print(json.dumps(run), file=sys.stderr, flush=True)
    return runs


def box_of(info):
    """The minority share of the target and the difference of the unmitigated model, on test rows."""
    values = info["unmitigated"]["values"]
    count = lambda name: sum(v for key, v in values.items() if key.startswith(f"test.{name}(sex="))
    positives = count("true_positives") + count("false_negatives")
    share = positives / count("count")
    return [min(share, 1 - share), values[f"test.{GAP}"]]


def report(runs):
    """A table of means over the seeds, with standard errors of the shares."""
    seeds = len({run["seed"] for run in runs})
    lines = [
        "# Networks",
        "",
        f"Means over {seeds} seeds, on test rows; ± is one standard error.",
        "",
        f"| table | models | {' | '.join(COLUMNS.values())} |",
        f"| --- | --- |{' ---: |' * len(COLUMNS)}",
    ]
    for data in dict.fromkeys(run["data"] for run in runs):
        for method in dict.fromkeys(run["method"] for run in runs):
            own = [run for run in runs if run["data"] == data and run["method"] == method]
            cells = [cell(column, [run[column] for run in own]) for column in COLUMNS]
            lines.append(f"| {data} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(column, values):
    mean = statistics.mean(values)
    match column:
        case "share":
            return f"{mean:.3f} ± {statistics.stdev(values) / len(values) ** 0.5:.3f}"
        case "models":
            return f"{mean:.0f}"
        case "cpu_s":
            return f"{mean:.1f}"
        case _:
            return f"{mean:.4f}"


if __name__ == "__main__":
    main()
