"""From a CSV file to a usable data set: fairfront compared with pandas.

The file is Adult, repeated to a million rows, and to 250,000 and 4,000,000 to check that the cost is linear in the
rows. The tools run in turns, each run in a fresh process. The first round does not count: it brings the file into
memory, and on a virtual machine, memory that was never used before costs several times more than memory that was. The
script measures the wall time from the name of the file to the data set (without imports), the CPU time of the same
work, and the peak memory of the process. It repeats a run during which other programs were busy.

The results are:
- fairfront: rows with missing values dropped, categories merged, numbers scaled, rows split into training, validation
  and test, with label, group and weight;
- pandas: rows with missing values dropped, one dense float64 matrix of unscaled numbers and indicators of unmerged
  categories, and the labels. pandas does less, and its matrix is wider.

Run by `make bench`.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from machine import busy_s, where

# This process imports no pandas and reads no large files: the system reports at least the peak memory of the parent for
# a process.

BENCH = Path(__file__).resolve().parent
LOAD = BENCH.parent / "target/release/load"
ROWS = {250_000: "250k", 1_000_000: "1M", 4_000_000: "4M"}
CONTESTANTS = ["fairfront", "pandas", "pandas-pyarrow"]
HEADER = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--child", nargs=2, metavar=("CONTESTANT", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return with_pandas(*args.child)
    if not LOAD.is_file():
        sys.exit(f"{LOAD}: not found; run cargo build --release -p fairfront-bench")
    runs = []
    for rows in ROWS:
        path = make_file(rows)
        for contestant in CONTESTANTS:
            measure(contestant, path)
        for _, contestant in itertools.product(range(args.repetitions), CONTESTANTS):
            runs.append({"contestant": contestant, "rows": rows, **measure(contestant, path)})
            print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    report(runs)
    results = BENCH / "results/read_table.json"
    results.parent.mkdir(exist_ok=True)
    versions = next(run["versions"] for run in runs if "versions" in run)
    for run in runs:
        run.pop("versions", None)
    results.write_text(json.dumps({"where": where(versions), "runs": runs}, indent=1) + "\n")


def make_file(rows):
    """Write Adult with a header and one spelling of its labels, repeated to this number of rows."""
    path = BENCH / f"work/adult-{rows}.csv"
    if not path.is_file():
        data = Path(os.environ["FAIRFRONT_DATA"])
        published = (data / "adult.data").read_text() + (data / "adult.test").read_text()
        # Data lines start with an age; there are also a comment and blank lines.
        lines = [line.rstrip(".") for line in published.splitlines() if line[:1].isdigit()]
        path.parent.mkdir(exist_ok=True)
        with open(path, "w") as file:
            print(",".join(HEADER), file=file)
            file.writelines(f"{line}\n" for line in itertools.islice(itertools.cycle(lines), rows))
    return path


def measure(contestant, path):
    """The first undisturbed run, or the last of twenty disturbed ones."""
    for _ in range(20):
        run = measure_once(contestant, path)
        if not is_disturbed(run):
            break
        time.sleep(2)
    return run


def is_disturbed(run):
    # The system counts hundredths of a second on each core.
    return run["others_s"] > max(0.1 * run["wall_s"], 0.04)


def measure_once(contestant, path):
    """One run in its own process."""
    if contestant == "fairfront":
        command = [LOAD, path]
    else:
        command = [sys.executable, __file__, "--child", contestant, path]
    before = busy_s()
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    result = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    others = busy_s() - before - usage.ru_utime - usage.ru_stime
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, contestant
    return {
        "rows_kept": result["rows"],
        "features": result["features"],
        "wall_s": result["total_s"],
        # fairfront has no imports, so the CPU time of the whole process counts.
        "user_s": result.get("user_s", usage.ru_utime),
        "system_s": result.get("system_s", usage.ru_stime),
        "others_s": round(max(others, 0.0), 2),
        "peak_mib": usage.ru_maxrss / 1024,
        **{key: result[key] for key in ("imports_mib", "versions") if key in result},
    }


def with_pandas(contestant, path):
    """Read the file with pandas, in a child process."""
    import numpy as np
    import pandas as pd
    import pyarrow

    imports_mib = resident_mib()
    start, before = time.perf_counter(), os.times()
    if contestant == "pandas":
        positive = ">50K"
        table = pd.read_csv(path, skipinitialspace=True, na_values="?")
    else:
        # This engine cannot skip the spaces after the separators, so they stay in the strings.
        positive = " >50K"
        table = pd.read_csv(path, engine="pyarrow", na_values=" ?")
    table = table.dropna()
    y = np.where(table["income"] == positive, 1.0, -1.0)
    unused = ["fnlwgt", "race", "sex", "income"]
    x = pd.get_dummies(table.drop(columns=unused)).to_numpy(np.float64)
    total, after = time.perf_counter() - start, os.times()
    assert len(x) == len(y) and 0.2 < (y > 0).mean() < 0.3
    print(
        json.dumps(
            {
                "rows": x.shape[0],
                "features": x.shape[1],
                "total_s": total,
                "user_s": after.user - before.user,
                "system_s": after.system - before.system,
                "imports_mib": imports_mib,
                "versions": {m.__name__: m.__version__ for m in (np, pd, pyarrow)},
            }
        )
    )


def resident_mib():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


def report(runs):
    """Print medians, with the smallest values in parentheses."""

    def of(contestant, rows, measure):
        found = [r for r in runs if (r["contestant"], r["rows"]) == (contestant, rows)]
        return [measure(r) for r in found]

    measures = {
        "features": lambda run: run["features"],
        "wall s": lambda run: run["wall_s"],
        "CPU s": lambda run: run["user_s"] + run["system_s"],
        "peak MiB": lambda run: run["peak_mib"],
    }
    for rows, name in ROWS.items():
        print(f"\nAdult repeated to {name} rows")
        heads = [*measures, "time", "memory"]
        print(" " * 15 + "".join(f"{head:>18}" for head in heads))
        ours = None
        for contestant in CONTESTANTS:
            values = {name: of(contestant, rows, measure) for name, measure in measures.items()}
            median = {name: statistics.median(v) for name, v in values.items()}
            ours = ours or median
            cells = [f"{median[name]:.4g} ({min(values[name]):.4g})" for name in measures]
            cells[0] = f"{median['features']:.0f}"
            cells += [f"{median[name] / ours[name]:.2f}x" for name in ("wall s", "peak MiB")]
            print(f"{contestant:15}" + "".join(f"{cell:>18}" for cell in cells))
    imports = [r["imports_mib"] for r in runs if "imports_mib" in r]
    disturbed = sum(map(is_disturbed, runs))
    if disturbed:
        print(f"\nOther programs were busy during {disturbed} of {len(runs)} runs.")
    print(f"\nOf pandas' memory, {statistics.median(imports):.1f} MiB are in use after the imports.")

    print("\nPer row of the file (medians): wall time in ns, peak memory in bytes")
    print(" " * 15 + "".join(f"{name:>18}" for name in ROWS.values()))
    for contestant in CONTESTANTS:
        cells = []
        for rows in ROWS:
            wall, peak = (
                statistics.median(of(contestant, rows, measures[name])) / rows
                for name in ("wall s", "peak MiB")
            )
            cells.append(f"{wall * 1e9:.0f} ns {peak * 2**20:.0f} B")
        print(f"{contestant:15}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
