"""The cost of boosted trees by the number of rows, for `learners.py --scale`.

Tables of Adult's shape: rows of Adult drawn with replacement, with a little noise in the numbers so that values are not
repeated more often than in a table of that size. CPU seconds and peak memory are those of `fairfront fit --family trees`
with one thread, from reading a Parquet file to writing the report.

This process imports no numpy: the system reports at least the peak memory of the parent for a process.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
WORK = BENCH / "work/learners"
SIZES = [10**4, 10**5, 10**6, 10**7]
# Results are kept from this size on.
KEPT_FROM = 10**6
# The share of available memory that a run may be expected to use.
ROOM = 0.7
# Noise, as a share of a number's standard deviation.
NOISE = 0.02
FLAGS = ["--target", "income", "--positive", ">50K", "--sensitive", "sex"]
FLAGS += ["--split", "60/10/30", "--seed", "1", "--threads", "1", "--family", "trees", "--force", "--quiet"]


def scale(most):
    """Measure each size up to `most` rows, and write the results."""
    runs = []
    for rows in (n for n in SIZES if n <= most):
        if runs and (why := too_large(runs[-1], rows)):
            print(f"{rows:,} rows: SKIPPED, {why}", file=sys.stderr)
            break
        table = WORK / f"scale-{rows}.parquet"
        subprocess.run([sys.executable, __file__, "table", str(rows), table], check=True)
        try:
            runs.append({"rows": rows, **fit(table)})
        finally:
            table.unlink()
        print(json.dumps(runs[-1]), file=sys.stderr)
    text = report(runs)
    print(text)
    results = BENCH / "results" if most >= KEPT_FROM else WORK
    (results / "learners-scale.md").write_text(text)
    content = {"machine": where({}), "flags": FLAGS, "runs": runs}
    (results / "learners-scale.json").write_text(json.dumps(content, indent=1) + "\n")


def too_large(last, rows):
    """Why a table is too large for the memory of this machine, if it is."""
    needed = last["peak_mib"] * rows / last["rows"]
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 1024
    if needed <= ROOM * available:
        return None
    return f"about {needed:,.0f} MiB needed, {available:,.0f} MiB available"


def fit(table):
    start, before = time.perf_counter(), busy_s()
    command = [FAIRFRONT, "fit", table, *FLAGS, "--out", WORK / "scale-run"]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"fairfront fit {table.name}: failed")
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    learners = json.loads((WORK / "scale-run/run.json").read_text())["learners"]
    return {
        "wall_s": wall,
        "cpu_s": cpu,
        "peak_mib": usage.ru_maxrss / 1024,
        "trees": [learner["trees"] for learner in learners],
        "cores_busy_with_others": round(max(busy_s() - before - cpu, 0.0) / wall, 2),
    }


def report(runs):
    lines = [
        "# Cost by the number of rows",
        "",
        "`fairfront fit --family trees` on tables of Adult's shape, one thread, one run per size. Trees are those for",
        "the target and for the attribute; cross-fitting chooses their number, at most 300. Drawn rows repeat, so large",
        "tables reach this limit, which makes them costlier than other tables of their size. Made by",
        "`bench/learners.py --scale`.",
        "",
        "| rows | CPU s | CPU µs per row | peak MiB | peak bytes per row | trees |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for run in runs:
        trees = " and ".join(map(str, run["trees"]))
        lines.append(
            f"| {run['rows']:,} | {run['cpu_s']:.1f} | {1e6 * run['cpu_s'] / run['rows']:.1f} | {run['peak_mib']:,.0f} | "
            f"{2**20 * run['peak_mib'] / run['rows']:,.0f} | {trees} |"
        )
    if len(runs) > 1:
        exponents = [
            f"{math.log(b['cpu_s'] / a['cpu_s'], b['rows'] / a['rows']):.2f}" for a, b in itertools.pairwise(runs)
        ]
        lines += ["", f"CPU seconds grow with this power of the rows from one size to the next: {', '.join(exponents)}."]
    if runs and runs[-1]["rows"] < SIZES[-1]:
        lines += ["", f"Sizes above {runs[-1]['rows']:,} rows were not run."]
    return "\n".join(lines) + "\n"


def write_table(rows, out):
    """Draw rows of Adult with replacement and add noise to the numbers, in a process of its own."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = WORK / "adult.csv"
    command = [FAIRFRONT, "data", "export", "adult:sex", "--force", "-o", source]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    adult = pd.read_csv(source).drop(columns="split")
    adult = adult.astype({c: "category" for c in adult if not pd.api.types.is_numeric_dtype(adult[c])})
    rng = np.random.default_rng([rows, 24])
    writer = None
    for first in range(0, rows, 1_000_000):
        drawn = adult.iloc[rng.integers(0, len(adult), min(1_000_000, rows - first))].reset_index(drop=True)
        for name in drawn.select_dtypes("number"):
            values = drawn[name].to_numpy(float)
            # Most capital gains and losses are 0 and stay so.
            noise = rng.normal(0, NOISE * values.std(), len(values))
            drawn[name] = np.where(values == 0, 0, values + noise).round(3)
        part = pa.Table.from_pandas(drawn, preserve_index=False)
        writer = writer or pq.ParquetWriter(out, part.schema)
        writer.write_table(part)
    writer.close()


if __name__ == "__main__":
    if sys.argv[1] == "table":
        write_table(int(sys.argv[2]), sys.argv[3])
    else:
        scale(int(sys.argv[1]))
