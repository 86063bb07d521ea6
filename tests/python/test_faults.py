"""Kills and errors at every file-system call of the commands that write.

A small library (faults/faults.c), loaded into the command, counts the calls below one folder. It makes one of them
fail, write less than requested, or kill the process. After each fault, the folder contains the old result or the new
one. The same command then succeeds, and leaves the same bytes as without the fault.

By default, each operation runs a seeded sample of cases. FAIRFRONT_FAULTS sets another number of cases, or `all` for
every call with every fault.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import streaming

SOURCE = Path(__file__).parent / "faults" / "faults.c"
KINDS = ["enospc", "eio", "eintr", "short", "kill-before", "kill-after"]
#: Calls that can be interrupted or write less than requested; other calls cannot have these faults.
INTERRUPTED = {"open", "write", "writev", "pwrite", "fsync", "fdatasync", "ftruncate"}
WRITES = {"write", "writev", "pwrite"}
#: Cases of each operation in a sample.
SAMPLE = 7

TABLE = ["loans.csv", "--target", "paid", "--positive", "yes", "--sensitive", "sex", "--threads", 1]
SOLVER = ["--solver", "weighted", "--set", "sums=2", "--set", "max-steps=1", "--quiet"]


@dataclass
class Operation:
    """A command that writes; `again` is the command to run after a fault, and `show` reads the result."""

    name: str
    command: list
    again: list
    results: list
    show: list | None = None


OPERATIONS = [
    Operation(
        "fit",
        ["fit", *TABLE, *SOLVER, "--out", "new"],
        ["fit", *TABLE, *SOLVER, "--out", "new", "--force"],
        ["new"],
        ["show", "new", "--csv"],
    ),
    Operation(
        "fit --force",
        ["fit", *TABLE, *SOLVER, "--seed", 1, "--out", "run", "--force"],
        ["fit", *TABLE, *SOLVER, "--seed", 1, "--out", "run", "--force"],
        ["run"],
        ["show", "run", "--csv"],
    ),
    Operation(
        "fit --checkpoint-every",
        ["fit", *TABLE, *SOLVER, "--out", "new", "--checkpoint-every", "1e-9"],
        ["fit", *TABLE, *SOLVER, "--out", "new", "--resume"],
        ["new"],
        ["show", "new", "--csv"],
    ),
    Operation(
        "pack",
        ["pack", *TABLE, "-o", "rows.ffb", "--quiet", "--force"],
        ["pack", *TABLE, "-o", "rows.ffb", "--quiet", "--force"],
        ["rows.ffb"],
    ),
    Operation(
        "stream",
        ["stream", "state", "more.csv", "--quiet"],
        ["stream", "state", "more.csv", "--quiet"],
        ["state"],
        ["show", "state", "--csv"],
    ),
    Operation(
        "select --model",
        ["select", "run", "--require", "accuracy >= 0.2", "--model", "model.json", "--force"],
        ["select", "run", "--require", "accuracy >= 0.2", "--model", "model.json", "--force"],
        ["model.json", "run"],
    ),
    Operation(
        "predict",
        ["predict", "model.json", "more.csv", "-o", "scores.csv", "--force"],
        ["predict", "model.json", "more.csv", "-o", "scores.csv", "--force"],
        ["scores.csv"],
    ),
    Operation(
        "report",
        ["report", "run", "--figures"],
        ["report", "run", "--figures"],
        ["run"],
        ["show", "run", "--csv"],
    ),
    Operation(
        "export",
        ["export", "model.json", "--format", "sql", "-o", "model.sql", "--force"],
        ["export", "model.json", "--format", "sql", "-o", "model.sql", "--force"],
        ["model.sql"],
    ),
    Operation(
        "data export",
        ["data", "export", *TABLE[:-2], "-o", "rows.csv", "--encoding", "rows.json", "--force"],
        ["data", "export", *TABLE[:-2], "-o", "rows.csv", "--encoding", "rows.json", "--force"],
        ["rows.csv", "rows.json"],
    ),
]


def write_table(path, rows, seed):
    """Write a tiny table."""
    draw = random.Random(seed)
    lines = ["age,income,sex,paid"]
    for _ in range(rows):
        sex, age = draw.choice(["F", "M"]), draw.randint(20, 60)
        income = round(draw.gauss(20 + 10 * (sex == "M") + age / 4, 6), 2)
        lines.append(f"{age},{income},{sex},{'yes' if income + draw.gauss(0, 6) > 35 else 'no'}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """The compiled library."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        reason = "injecting faults needs Linux and a C compiler (cc)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE], check=True)
    return library


@pytest.fixture(scope="module")
def start(fairfront, tmp_path_factory):
    """A folder with a table, a run, a model, and a stream after its first batch."""
    folder = tmp_path_factory.mktemp("start")
    write_table(folder / "loans.csv", 160, 1)
    write_table(folder / "first.csv", 120, 2)
    write_table(folder / "more.csv", 120, 3)
    fairfront("fit", *TABLE, *SOLVER, "--out", "run", cwd=folder)
    fairfront("select", "run", "--model-id", 1, "--model", "model.json", cwd=folder)
    columns = ["--target", "paid", "--positive", "yes", "--sensitive", "sex", "--batch", 120]
    fairfront("stream", "state", "first.csv", *columns, *SOLVER, "--threads", 1, cwd=folder)
    for name in ["scores.csv", "model.sql", "rows.csv", "rows.json"]:
        (folder / name).write_text("an earlier result\n")
    return folder


class Faults:
    """Runs an operation in a copy of the start folder, with or without a fault."""

    def __init__(self, fairfront, shim, start, folder, operation):
        self.fairfront, self.shim, self.start, self.operation = fairfront, shim, start, operation
        self.folder = folder
        whole = self.copy("whole")
        self.before = contents(whole, operation.results)
        self.shown_before = self.show(whole)
        log = folder / "calls"
        done = self.run(whole, log, 0, "none")
        self.said = done.stderr.decode()
        assert done.returncode == 0, self.said
        self.calls = [line.split(" ", 2) for line in log.read_text().splitlines()]
        self.after = contents(whole, operation.results)
        self.shown_after = self.show(whole)
        assert not left_over(whole)

    def copy(self, name):
        copy = self.folder / name
        shutil.copytree(self.start, copy, symlinks=True)
        return copy

    def show(self, folder):
        """Return the result as a command reads it, or "no run"."""
        if self.operation.show is None:
            return None
        done = self.fairfront.run(*self.operation.show, cwd=folder)
        return done.stdout if done.returncode == 0 else "no run"

    def run(self, folder, log, at, kind):
        return self.fairfront.run(
            *self.operation.command,
            cwd=folder,
            LD_PRELOAD=str(self.shim),
            FAULTS_ROOT=str(folder),
            FAULTS_LOG=str(log),
            FAULTS_AT=str(at),
            FAULTS_KIND=kind,
        )

    def cases(self):
        """Yield all calls with all faults that they can have."""
        for number, call, _ in self.calls:
            for kind in KINDS:
                known = {"eintr": call in INTERRUPTED, "short": call in WRITES}.get(kind, True)
                if known and (call != "close" or kind.startswith("kill")):
                    yield int(number), kind

    def check(self, case):
        """Return the problem after a fault, or None."""
        at, kind = case
        folder = self.copy(f"{at}-{kind}")
        log = self.folder / f"{at}-{kind}.calls"
        try:
            done = self.run(folder, log, at, kind)
            problem = self.problem(folder, log, at, kind, done)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return problem and f"{self.operation.name}, {kind} at call {at} ({' '.join(self.calls[at - 1][1:])}): {problem}"

    def problem(self, folder, log, at, kind, done):
        errors = done.stderr.decode()
        if len(log.read_text().splitlines()) < at:
            return "the call was not reached"
        if kind.startswith("kill"):
            if done.returncode != -9:
                return f"exit code {done.returncode} instead of a kill"
        elif done.returncode == 1 and kind in ("enospc", "eio"):
            lines = [line for line in errors.splitlines() if not line.startswith(("warning: ", "note: "))]
            if len(lines) != 1 or not lines[0].startswith("error: "):
                return f"the error is not one line: {errors}"
        elif done.returncode != 0:
            return f"exit code {done.returncode}: {errors}"
        elif contents(folder, self.operation.results) != self.after:
            return "the command succeeds with a different result"
        elif kind in ("eintr", "short") and errors != self.said:
            return f"a harmless fault changes the output: {errors}"
        if self.operation.show is None or self.operation.name == "report":
            # Each separate file is the old one or the new one.
            now = contents(folder, self.operation.results)
            for name in now:
                if now[name] and now[name] not in (self.before.get(name), self.after.get(name)):
                    return f"{name} is neither the old file nor the new one"
        elif self.show(folder) not in (self.shown_before, self.shown_after):
            return "the result is neither the old one nor the new one"
        again = self.fairfront.run(*self.operation.again, cwd=folder)
        if again.returncode != 0:
            return f"the same command fails afterwards: {again.stderr.decode()}"
        if contents(folder, self.operation.results) != self.after:
            return "the same command has a different result afterwards"
        if left := left_over(folder):
            return f"temporary files remain: {left}"
        return None


def contents(folder, results):
    """Return the files of results, without times."""
    found = {}
    for result in results:
        path = folder / result
        if result == "state":
            if (path / "current").exists():
                path = streaming.newest(path)
                found = {"drift": (folder / "state" / "drift.jsonl").read_bytes()}
            else:
                path = folder / "nothing"
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and not file.name.startswith(".fairfront-"):
                found[str(file.relative_to(folder))] = timeless(file)
    return found


def timeless(file):
    if file.name == "run.json":
        said = json.loads(file.read_text())
        return {name: value for name, value in said.items() if name not in ("seconds", "checksum")}
    if file.name in ("SHA256SUMS", "journal.json"):
        # The first contains the checksum of run.json, the second the full path of the input.
        return None
    if file.suffix == ".html":
        return re.sub(r'"seconds":\{[^}]*\}', "", file.read_text())
    if file.name == "certificates.jsonl":
        # Lines without an end do not count.
        return [line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return file.read_bytes()


def left_over(folder):
    """Return the temporary files."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".fairfront-*")]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_a_fault_at_any_call_does_no_harm(fairfront, shim, start, tmp_path, operation):
    faults = Faults(fairfront, shim, start, tmp_path, operation)
    assert faults.after != faults.before and len(faults.calls) > 3
    cases = list(faults.cases())
    number = len(cases)
    wanted = os.environ.get("FAIRFRONT_FAULTS", str(SAMPLE))
    if wanted != "all":
        cases = random.Random(operation.name).sample(cases, min(int(wanted), number))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(faults.check, cases) if problem]
    print(f"{operation.name}: {len(faults.calls)} calls, {len(cases)} of {number} cases, {len(problems)} failures")
    assert not problems, "\n".join(problems)


def test_a_full_disk_fails_before_the_work(fairfront, shim, tmp_path):
    """A fit tests its output folder before it reads the table, which does not exist here."""
    for out, exists in [("new", False), ("empty", True), ("deep/er", False)]:
        folder = tmp_path / out.replace("/", "-")
        folder.mkdir()
        if exists:
            (folder / out).mkdir()
        for at, kind in [(1, "eio"), (2, "enospc"), (3, "enospc")]:
            found = fairfront.run(
                "fit",
                *TABLE,
                "--out",
                out,
                cwd=folder,
                LD_PRELOAD=str(shim),
                FAULTS_ROOT=str(folder),
                FAULTS_AT=str(at),
                FAULTS_KIND=kind,
            )
            assert found.returncode == 1 and b"cannot be" in found.stderr and b"loans.csv" not in found.stderr
            assert not left_over(folder)
