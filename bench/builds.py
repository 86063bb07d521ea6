"""Two builds of the command on the same fits: bytes of the results, CPU time and memory.

    python bench/builds.py OTHER [--repeats 3] [--only trace]

Both commands run the same fits in turns, on all threads. For each fit the script reports whether encoding and front are
the same bytes. If the fronts differ, it reports their numbers of models and, for fronts of the same size, the largest
difference between two numbers, relative to the largest number of their column. `results/builds.json` has every
measurement. Ratios are those of medians.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

BENCH = Path(__file__).resolve().parent
TABLES = {
    "adult:sex": ["adult:sex"],
    "compas:race": ["compas:race"],
    "demo, 20,000 rows": ["demo"],
    "synthetic:3": ["synthetic:3"],
}
SOLVERS = {
    "default": [],
    "trace": ["--solver", "trace"],
    "weighted": ["--solver", "weighted"],
    "pf-smg": ["--solver", "pf-smg"],
    "eps-fair": ["--solver", "eps-fair", "--models", "30"],
}


def fit(command, table, solver, folder):
    """CPU seconds and peak memory in MiB of one fit, and its files; None if the solver does not support the table."""
    args = [command, "fit", *TABLES[table], *SOLVERS[solver], "--out", folder, "--quiet"]
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == 2:
        return None
    assert process.returncode == 0, (args, error)
    files = {name: Path(folder, name).read_bytes() for name in ("encoding.json", "front.parquet")}
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}, files


def difference(one, other):
    """The largest difference between two fronts, relative to the largest number of its column."""
    if len(one) != len(other):
        return None
    most = 0.0
    for name in one.columns:
        # The column of parameters has one list per model.
        numbers = np.array([one[name].tolist(), other[name].tolist()], dtype=float)
        size = np.nanmax(np.abs(numbers), initial=0)
        if size > 0:
            most = max(most, np.nanmax(np.abs(numbers[0] - numbers[1])) / size)
    return float(most)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the other build of the command")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="run only this solver")
    args = parser.parse_args()
    commands = {"this": str(BENCH.parent / "target/release/fairfront"), "other": args.other}
    found = {}
    for solver in SOLVERS:
        for table in TABLES:
            if args.only not in (None, solver):
                continue
            runs = {which: [] for which in commands}
            files = {}
            for repeat in range(args.repeats):
                for which, command in commands.items():
                    with tempfile.TemporaryDirectory() as folder:
                        done = fit(command, table, solver, f"{folder}/run")
                    if done:
                        runs[which].append(done[0])
                        files[which] = done[1]
            if len(files) < 2:
                continue
            fronts = {which: pd.read_parquet(io.BytesIO(own["front.parquet"])) for which, own in files.items()}
            models = {which: len(front) for which, front in fronts.items()}
            result = {
                "same_encoding": files["this"]["encoding.json"] == files["other"]["encoding.json"],
                "same_front": files["this"]["front.parquet"] == files["other"]["front.parquet"],
                "models": models,
                "difference": difference(fronts["this"], fronts["other"]),
                "ratio": {
                    unit: statistics.median(r[unit] for r in runs["this"])
                    / statistics.median(r[unit] for r in runs["other"])
                    for unit in ("cpu_s", "peak_mib")
                },
                "runs": runs,
            }
            found[f"{solver}, {table}"] = result
            front = "the same" if result["same_front"] else f"{models['this']} and {models['other']} models"
            if not result["same_front"] and result["difference"] is not None:
                front += f", at most {result['difference']:.1e} apart"
            print(
                f"{solver}, {table}: encoding {'the same' if result['same_encoding'] else 'differs'}, front {front}; "
                f"CPU time {result['ratio']['cpu_s']:.2f} and memory {result['ratio']['peak_mib']:.2f} "
                "of the other build's",
                flush=True,
            )
    (BENCH / "results/builds.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
