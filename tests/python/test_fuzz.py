"""The command ends by itself on mutated inputs, with an exit code and one line of error.

`make fuzz` (`crates/fairfront-fuzz`) fuzzes the library in process. Here the same mutations go through the command, to
test aborts, signals, exit codes and messages, too. FAIRFRONT_FUZZ is the path of the fuzzer (by default the debug
build).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import REPOSITORY

# Success, error, wrong usage, unmet requirements, nothing certified.
CODES = {0, 1, 2, 3, 4}
COUNTS = {
    "csv": 40,
    "gzip": 20,
    "parquet": 40,
    "predict": 20,
    "front-csv": 20,
    "model": 30,
    "toml": 20,
    "require": 20,
    "objective": 15,
    "run": 30,
    "state": 30,
}
COLUMNS = ["--target", "approved", "--positive", "yes", "--sensitive", "sex"]
SOLVER = ["--solver", "trace", "--models", "5", "--penalty", "0.01", "--quiet"]


@pytest.fixture(scope="module")
def fuzz():
    """Function that runs the fuzzer."""
    binary = Path(os.environ.get("FAIRFRONT_FUZZ", REPOSITORY / "target/debug/fairfront-fuzz"))
    if not binary.exists():
        reason = f"{binary} does not exist; build it with cargo build -p fairfront-fuzz"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)

    def run(*args):
        done = subprocess.run([binary, *map(str, args)], capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()

    return run


def rows(n):
    """Return a table like those that the fuzzer mutates."""
    lines = ['age,job,joined,"hours, weekly",sex,race,approved']
    for row in range(n):
        noise = row * 7919 % 101
        yes = noise + 25 * (row % 2) > 60
        job = ["nurse", "clerk", '"cook, chef"', ""][noise % 4]
        lines.append(
            f"{18 + noise // 2},{job},2021-{1 + row % 12:02}-{1 + row % 28:02},{20.5 + noise % 40},"
            f"{'fm'[row % 2]},{'abc'[row % 3]},{'yes' if yes else 'no'}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def sound(fairfront, tmp_path_factory):
    """An intact table, run, model and stream."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "loans.csv").write_text(rows(240))
    fairfront("fit", "loans.csv", *COLUMNS, *SOLVER, "--out", "run", cwd=folder)
    fairfront("select", "run", "--model-id", "1", "--model", "model.json", cwd=folder)
    fairfront("stream", "state", "loans.csv", *COLUMNS, *SOLVER, "--batch", "100", cwd=folder)
    (folder / "more.csv").write_text(rows(70).replace("clerk", "farmer"))
    return folder


def corrupted(sound, place, name, part, path):
    """Return a copy of a folder in which another file replaces the newest file of this name."""
    copy = place / name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(sound / name, copy, symlinks=True)
    found = sorted(file for file in copy.rglob(f"*{part}") if file.is_file() and not file.parent.is_symlink())
    if found:
        shutil.copyfile(path, found[-1])
    return copy


def commands(target, path, part, sound, place):
    """Yield the commands that read an input."""
    text = path.read_bytes().decode(errors="replace").replace("\0", "")
    match target:
        case "csv" | "gzip" | "parquet":
            yield ["inspect", path, *COLUMNS]
        case "predict":
            yield ["predict", sound / "model.json", path, "-o", "-"]
        case "front-csv":
            yield ["compare", path]
        case "model":
            yield ["export", path, "--format", "sql", "-o", "-"]
            yield ["predict", path, sound / "loans.csv", "-o", "-"]
        case "toml":
            yield ["inspect", "--config", path]
        case "require":
            yield ["select", sound / "run", f"--require={text}", "--confidence", "none"]
        case "objective":
            out = place / "fitted"
            yield ["fit", sound / "loans.csv", *COLUMNS, "--objective", "log_loss", f"--objective={text}",
                   "--models", "4", "--max-seconds", "5", "--quiet", "--out", out, "--force"]
        case "run":
            run = corrupted(sound, place, "run", part, path)
            yield ["show", run]
            yield ["report", run, "-o", "-"]
            yield ["verify", run, sound / "loans.csv"]
        case "state":
            state = corrupted(sound, place, "state", part, path)
            yield ["show", state]
            yield ["stream", state, sound / "more.csv", "--flush", "--quiet"]


@pytest.mark.parametrize("target", COUNTS)
def test_the_command_survives_mutated_inputs(fairfront, fuzz, sound, target, tmp_path):
    inputs = tmp_path / "inputs"
    fuzz("--write", inputs, "--target", target, "--seed", 21, "--cases", COUNTS[target])
    files = sorted(inputs.iterdir())
    assert len(files) == COUNTS[target]
    codes = set()
    for path in files:
        part = path.name.removeprefix(f"{target}-").split("-", 1)[1]
        for command in commands(target, path, part, sound, tmp_path):
            # `run` raises after a minute, much longer than any command needs.
            done = fairfront.run(*command, cwd=tmp_path)
            said = done.stderr.decode(errors="replace")
            context = f"{command}: {done.returncode}: {said}"
            assert done.returncode in CODES, context
            assert "panicked" not in said, context
            codes.add(done.returncode)
            if done.returncode != 0 and command[0] != "verify":
                errors = [line for line in said.splitlines() if line.startswith("error: ")]
                assert len(errors) == 1, context
                # Only warnings and notes come before the error; the usage may follow if the usage is wrong.
                assert done.returncode == 2 or said.endswith(errors[0] + "\n"), context
    # Mutations are neither all harmless nor all fatal.
    assert codes != {0}, "every input was accepted"
