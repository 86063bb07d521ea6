"""Shared code of tests of streams: rows that change over time, and the contents of a state."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

BATCH = 150
# A front of a few models is quick to compute; no test depends on its quality.
QUICK = ["--models", "8", "--set", "sums=4", "--set", "stages=1"]
SPEC = [
    *("--target", "approved", "--positive", "yes", "--sensitive", "sex"),
    *("--drop", "district", "--missing", "drop", "--batch", str(BATCH), *QUICK),
]
# The same rows with a number as the target; its type is found in the first batch.
NUMBER_SPEC = [
    *("--target", "income", "--sensitive", "sex", "--drop", "approved"),
    *("--drop", "district", "--missing", "drop", "--batch", str(BATCH), *QUICK),
]


def text_of(rows):
    """Return rows as CSV text."""
    return rows.to_csv(index=False, lineterminator="\n")


def changing(fairfront, n=800):
    """Return rows in which a new category and a new group appear later on."""
    rows = fairfront.rows(f"demo(rows={n})")
    at = np.arange(len(rows))
    rows.loc[(at > 1.5 * BATCH) & (at % 7 == 0), "education"] = "apprentice"
    rows.loc[(at > 2.4 * BATCH) & (at % 5 == 0), "sex"] = "Other"
    return rows


def with_bad_rows(text):
    """Insert unusable rows, in the first batch and in later ones."""
    lines = text.splitlines(keepends=True)
    lines.insert(70, "1,2,3\n")
    lines.insert(200, '33,"Female"x,White\n')
    lines.insert(333, "old" + lines[333])
    lines.insert(480, lines[480].rsplit(",", 1)[0] + ",perhaps\n")
    return "".join(lines)


def with_incomes(text, incomes):
    """Replace the incomes in these lines."""
    lines = text.splitlines(keepends=True)
    income = lines[0].split(",").index("income")
    for at, value in incomes.items():
        fields = lines[at].split(",")
        lines[at] = ",".join([*fields[:income], value, *fields[income + 1 :]])
    return "".join(lines)


def generations(state):
    """Return the folders of all generations that count, oldest first."""
    found = [p for p in Path(state).iterdir() if re.fullmatch(r"generation-\d+", p.name)]
    return sorted(found)


def newest(state):
    return generations(state)[-1]


def info(state):
    return json.loads((newest(state) / "run.json").read_text())


def front(state):
    return pq.read_table(newest(state) / "front.parquet").to_pandas()


def drifts(state):
    return [json.loads(line) for line in (Path(state) / "drift.jsonl").read_text().splitlines()]


def rejected(state):
    path = Path(state) / "rejected.csv"
    if not path.exists():
        return pd.DataFrame(columns=["batch", "input", "row", "reason", "record"])
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def without_seconds(value):
    """Return JSON without times and checksums."""
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k not in ("seconds", "checksum")}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


def contents(state, names=None):
    """Return checksums of the results of a stream, by file."""
    state, found = Path(state), {}
    for path in sorted(newest(state).iterdir()):
        if path.name == "run.json":
            text = json.dumps(without_seconds(json.loads(path.read_text())))
            found[path.name] = hashlib.sha256(text.encode()).hexdigest()
        elif path.name != "SHA256SUMS":
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in [state / "rejected.csv", state / "drift.jsonl", *sorted(state.glob("rows/*"))]:
        if path.exists():
            found[str(path.relative_to(state))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found if names is None else {name: found.get(name) for name in names}


def tree(folder):
    """Return the bytes of all files below a folder, except the lock."""
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(Path(folder).rglob("*"))
        if p.is_file() and not p.is_symlink() and p.name != "lock"
    }


def start(fairfront, *args, stdin=subprocess.DEVNULL, **options):
    command = [fairfront.binary, "stream", *map(str, args)]
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def wait_until(condition, event, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{event}: not within {seconds} s"
        time.sleep(0.02)


def interrupt(process):
    """Send Ctrl-C and return the output."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err.decode()
    return out.decode()


def is_root():
    return os.geteuid() == 0


def all_at_once(fairfront, text, folder):
    """Return the state of a stream of one file, read by one thread."""
    (folder / "rows.csv").write_text(text)
    state = folder / "state"
    fairfront("stream", state, folder / "rows.csv", *SPEC, "--quiet", "--threads", 1)
    return state


def write(path, text):
    path.write_text(text, newline="")
    return path
