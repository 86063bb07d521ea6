"""The cost of fits by the number of rows, in memory and from a block file.

Tables of Adult's shape: rows of Adult drawn with replacement. For each size, `fairfront pack` writes a block file, and
`fairfront fit` fits the same front on the table in memory and on the block file within a memory limit, by default and
with exact covariances (`--solver trace --models 50`). Both runs must have the same bytes. Wall-clock and CPU seconds include reading;
peak memory is that of the process.

    python bench/scale.py                        # 10⁶ and 10⁷ rows
    python bench/scale.py --rows 100000000       # another size; in memory only if there is room
    python bench/scale.py --rows 100000000 --fits trace --disk-only

This process imports no numpy: the system reports at least the peak memory of the parent for a process.
"""

import argparse
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
WORK = BENCH / "work/scale"
RESULTS = BENCH / "results"
LIMIT = "2GiB"
TABLE = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--drop", "race"]
TABLE += ["--split", "60/10/30", "--scale", "min-max", "--seed", "1"]
FITS = {
    "default": [],
    "trace": ["--solver", "trace", "--models", "50", "--objective", "log_loss", "--objective", "score_covariance(sex)"],
}
# Files of a run that contain no times.
SAME = ["front.parquet", "encoding.json", "tallies.json"]
# Bytes per row of a table in memory, with its encoded rows and room to work.
IN_MEMORY = 320


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--fits", nargs="+", choices=FITS, default=list(FITS))
    parser.add_argument("--disk-only", action="store_true")
    asked = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / "scale.json"
    runs = json.loads(kept.read_text())["runs"] if kept.exists() else []
    for rows in asked.rows:
        for run in measure(rows, asked.fits, asked.disk_only):
            runs = [old for old in runs if key(old) != key(run)] + [run]
            runs.sort(key=lambda run: (run["rows"], run["work"], run["place"]))
            content = {"machine": where({}), "flags": TABLE, "fits": FITS, "limit": LIMIT, "runs": runs}
            kept.write_text(json.dumps(content, indent=1) + "\n")
            (RESULTS / "scale.md").write_text(report(runs))
            print(json.dumps(run), file=sys.stderr)
    print(report(runs))


def key(run):
    return run["rows"], run["work"], run["place"]


def measure(rows, fits, disk_only):
    """Pack a table and fit it; yield one result per command."""
    table, blocks = WORK / f"adult-{rows}.parquet", WORK / f"adult-{rows}.ffb"
    subprocess.run([sys.executable, __file__, "table", str(rows), table], check=True)
    try:
        packed = command(["pack", table, *TABLE, "-o", blocks, "--force", "--quiet", "--memory", LIMIT])
        yield {"rows": rows, "work": "pack", "place": "disk", "file_bytes": blocks.stat().st_size, **packed}
        available = memory_available()
        for name in fits:
            out = {place: WORK / f"run-{place}" for place in ("memory", "disk")}
            in_memory = not disk_only and rows * IN_MEMORY < 0.8 * available
            if in_memory:
                memory = ["--memory", f"{available}B"]
                found = fit([table, *TABLE, *FITS[name], *memory, "--out", out["memory"]])
                yield {"rows": rows, "work": name, "place": "memory", **found}
            found = fit([blocks, *FITS[name], "--memory", LIMIT, "--out", out["disk"]])
            same = in_memory and all(filecmp.cmp(out["memory"] / f, out["disk"] / f, shallow=False) for f in SAME)
            if in_memory and not same:
                sys.exit(f"{rows} rows, {name}: the runs in memory and on disk differ")
            yield {"rows": rows, "work": name, "place": "disk", "same_bytes": same or None, **found}
    finally:
        table.unlink(missing_ok=True)
        blocks.unlink(missing_ok=True)


def fit(arguments):
    found = command(["fit", *arguments, "--force", "--quiet", "--timings"])
    out = Path(arguments[-1])
    found["models"] = json.loads((out / "run.json").read_text())["models"]
    return found


def command(arguments):
    """Run a command; return its times, its peak memory and its table of timings."""
    start, before = time.perf_counter(), busy_s()
    process = subprocess.Popen(
        [str(FAIRFRONT), *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"fairfront {' '.join(map(str, arguments))}: {said}")
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return {
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        # CPU seconds of other programs meanwhile.
        "others_s": round(max(0.0, busy_s() - before - cpu), 1),
        "peak_mib": round(usage.ru_maxrss / 1024, 1),
        "phases": {m[1]: float(m[2]) for m in re.finditer(r"^  ([a-z]+) +([\d.]+) +[\d.]+%", said, re.MULTILINE)},
    }


def memory_available():
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) * 1024


def report(runs):
    lines = [
        "| rows | work | rows are | wall s | CPU s | CPU µs per row | peak MiB | same bytes |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for run in runs:
        place = {"memory": "in memory", "disk": "on disk"}[run["place"]]
        per_row = 1e6 * run["cpu_s"] / run["rows"]
        same = "yes" if run.get("same_bytes") else ""
        lines.append(
            f"| {run['rows']:,} | {run['work']} | {place} | {run['wall_s']:,.1f} | {run['cpu_s']:,.1f} | {per_row:.1f} | "
            f"{run['peak_mib']:,.0f} | {same} |"
        )
    return "\n".join(lines) + "\n"


def write_table(rows, path):
    """Write rows of Adult, drawn with replacement, as Parquet, a million at a time."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    adult = WORK / "adult.csv"
    if not adult.exists():
        subprocess.run([str(FAIRFRONT), "data", "export", "adult:sex+race", "-o", adult], check=True)
    source = pyarrow.csv.read_csv(adult).drop_columns(["split"])
    columns = [c.combine_chunks() for c in source.columns]
    columns = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in columns]
    source = pa.table(columns, names=source.column_names)
    random = np.random.default_rng(1)
    with pq.ParquetWriter(path, source.schema) as writer:
        for first in range(0, rows, 10**6):
            writer.write_table(source.take(random.integers(0, source.num_rows, min(10**6, rows - first))))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "table":
        write_table(int(sys.argv[2]), sys.argv[3])
    else:
        main()
        shutil.rmtree(WORK / "run-memory", ignore_errors=True)
        shutil.rmtree(WORK / "run-disk", ignore_errors=True)
