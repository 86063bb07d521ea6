"""CPU time and memory of default fits, compared with another build of the command.

    python bench/default_fit.py OTHER [--repeats 5]

Both commands fit the same tables in turns; `results/default_fit.json` has every measurement. Ratios are those of medians.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent
TABLES = {
    "adult:gender": ["adult:gender"],
    "demo, 20,000 rows": ["demo"],
    "demo, 200,000 rows": ["demo(rows=200000)", "--sensitive", "sex"],
}


def measure(command, table):
    """User and system seconds and peak memory in MiB of one fit."""
    with tempfile.TemporaryDirectory() as folder:
        args = [command, "fit", *table, "--out", f"{folder}/run", "--quiet"]
        process = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, args
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", help="the other build of the command")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    commands = {"this": str(BENCH.parent / "target/release/fairfront"), "other": args.other}
    found = {}
    for name, table in TABLES.items():
        runs = {which: [] for which in commands}
        for _ in range(args.repeats):
            for which, command in commands.items():
                runs[which].append(measure(command, table))
        ratio = {
            unit: statistics.median(r[unit] for r in runs["this"]) / statistics.median(r[unit] for r in runs["other"])
            for unit in ("cpu_s", "peak_mib")
        }
        found[name] = {"ratio": ratio, "runs": runs}
        print(f"{name}: CPU time {ratio['cpu_s']:.2f}, memory {ratio['peak_mib']:.2f} of the other build's")
    (BENCH / "results").mkdir(exist_ok=True)
    (BENCH / "results/default_fit.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
