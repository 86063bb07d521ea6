"""Two builds of the command on fits that spend their time in kernels: CPU seconds per model, and the fronts.

    python bench/kernels.py OLD NEW [--seeds 3] [--only default]

OLD and NEW are commands. They run in turns, one thread each, once per seed. The table has medians of the user CPU
seconds of the whole command, the same per model of the front, the ratio OLD/NEW of both, and the mean hypervolume share
of each front. Its box goes from the smallest values of both fronts to a tenth of the range beyond the largest of the
old front. Fronts of default fits are compared by errors and demographic parity differences on test rows, or without
these on validation or training rows; those of PF-SMG by their objectives on training rows. `results/kernels.json` has
every measurement.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import moocore
import numpy as np
import pandas as pd
from machine import where

BENCH = Path(__file__).resolve().parent
COVARIANCES = ["--objective", "log_loss", "--objective", "score_covariance(sex)"]
ADULT = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "split", "--split", "none"]
# Goal and arguments; ROWS stands for 5,000 rows of Adult.
FITS = {
    "paper's settings, 5,000 rows of Adult": ("paper", ["ROWS", *ADULT, "--preset", "paper", "--solver", "pf-smg"]),
    "paper's settings, synthetic:3": ("paper", ["synthetic:3", "--preset", "paper", "--solver", "pf-smg"]),
    "PF-SMG, covariances, 5,000 rows of Adult": ("pf-smg", ["ROWS", *ADULT, "--solver", "pf-smg", *COVARIANCES]),
    "PF-SMG, rates, 5,000 rows of Adult": ("pf-smg", ["ROWS", *ADULT, "--solver", "pf-smg"]),
    "default, adult:sex": ("default", ["adult:sex"]),
    "default, demo, 100,000 rows": ("default", ["demo(rows=100000)"]),
    "default, adult:race": ("default", ["adult:race"]),
    "default, compas:race": ("default", ["compas:race"]),
    "default, synthetic:5, 100,000 rows": ("default", ["synthetic:5(rows=100000)"]),
    "default, demo, other rows": ("default", ["demo(rows=100000, seed=9, bias=0.5)"]),
}


def rows_of_adult(command, folder):
    """5,000 rows of Adult as a CSV file."""
    path = Path(folder, "adult.csv")
    subprocess.run([command, "data", "export", "adult:sex", "--output", path], check=True, capture_output=True)
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *rows[8::9][:5_000]]) + "\n")
    return str(path)


def fit(command, args, folder):
    """User CPU seconds of a fit, and its front."""
    help_text = subprocess.run([command, "fit", "--help"], capture_output=True, text=True, check=True).stdout
    if "--solver" not in help_text:  # Older builds have another name for the flag.
        args = ["--method" if arg == "--solver" else arg for arg in args]
    args = [command, "fit", *args, "--threads", "1", "--quiet", "--force", "--out", folder]
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (args, error)
    return usage.ru_utime, pd.read_parquet(Path(folder, "front.parquet"))


def values(front, goal):
    """The values by which models are compared."""
    if goal != "default":
        return front[[c for c in front.columns if c.startswith("objective.")]].to_numpy()
    for split in ("test", "validation", "train"):
        # Names of interval ends do not end with the parenthesis.
        start = f"{split}.demographic_parity_difference("
        differences = [c for c in front.columns if c.startswith(start) and c.endswith(")")]
        if differences:
            return np.column_stack([1 - front[f"{split}.accuracy"], front[differences]])
    raise ValueError("the front has no demographic parity difference")


def shares(fronts, goal):
    """The hypervolume share of each front."""
    old, new = (values(front, goal) for front in fronts)
    low = np.minimum(old.min(axis=0), new.min(axis=0))
    high = old.max(axis=0) + 0.1 * (old.max(axis=0) - low)
    return [float(moocore.hypervolume((points - low) / (high - low), ref=np.ones(len(low)))) for points in (old, new)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="run only these fits: paper, pf-smg or default")
    args = parser.parse_args()
    found = []
    print("| fit | CPU s | CPU ms per model | models | hypervolume share |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        rows = rows_of_adult(args.old, folder)
        for name, (goal, arguments) in FITS.items():
            if args.only not in (None, goal):
                continue
            arguments = [rows if a == "ROWS" else a for a in arguments]
            line = {"fit": name, "goal": goal}
            line |= {which: {"cpu_s": [], "models": [], "share": []} for which in ("old", "new")}
            for seed in range(args.seeds):
                fronts = []
                for which, command in (("old", args.old), ("new", args.new)):
                    seconds, front = fit(command, [*arguments, "--seed", str(seed)], str(Path(folder, which)))
                    line[which]["cpu_s"].append(round(seconds, 2))
                    line[which]["models"].append(len(front))
                    fronts.append(front)
                for which, share in zip(("old", "new"), shares(fronts, goal)):
                    line[which]["share"].append(round(share, 5))
            both = (line["old"], line["new"])
            seconds = [statistics.median(own["cpu_s"]) for own in both]
            each = [1e3 * statistics.median(s / n for s, n in zip(own["cpu_s"], own["models"])) for own in both]
            models = [statistics.median(own["models"]) for own in both]
            share = [statistics.mean(own["share"]) for own in both]
            line |= {"ratio": round(seconds[0] / seconds[1], 2), "ratio_per_model": round(each[0] / each[1], 2)}
            found.append(line)
            print(
                f"| {name} | {seconds[0]:.2f} → {seconds[1]:.2f} ({line['ratio']:.1f} times) "
                f"| {each[0]:.1f} → {each[1]:.1f} ({line['ratio_per_model']:.1f} times) "
                f"| {models[0]:.0f} → {models[1]:.0f} | {share[0]:.4f} → {share[1]:.4f} |",
                flush=True,
            )
            # Write after each fit, so that an interrupted run keeps its measurements.
            result = {"machine": where({"moocore": moocore.__version__}), "fits": found}
            (BENCH / "results" / "kernels.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
