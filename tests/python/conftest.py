"""Fixtures for the command under test and the published data.

FAIRFRONT_BIN is the path of the command (by default the debug build), FAIRFRONT_DATA the folder of the published files.
"""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from seals import sealed

REPOSITORY = Path(__file__).resolve().parents[2]

# Strings that mark a missing value by default.
MISSING = ["", "?", "NA", "N/A", "NaN", "null"]

# Blocks of the documentation that were not run, with the reason.
LEFT_OUT = []


def pytest_terminal_summary(terminalreporter):
    """Print the blocks that were not run."""
    for line in LEFT_OUT:
        terminalreporter.write_line(line)


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


class Fairfront:
    """Runs the command; arguments may be paths."""

    def __init__(self, binary):
        self.binary = binary

    def run(self, *args, stdin=None, cwd=None, **environment):
        """Run the command and return the finished process, with any exit status."""
        return subprocess.run(
            [self.binary, *map(str, args)],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=cwd,
            env=os.environ | environment,
            timeout=60,
        )

    def __call__(self, *args, **options):
        """Run the command, which must succeed, and return its standard output as bytes."""
        done = self.run(*args, **options)
        assert done.returncode == 0, f"{args}: {done.stderr.decode()}"
        return done.stdout

    def error(self, *args, code=1, **options):
        """Run the command, which must fail with this exit code, and return its one line of error output."""
        done = self.run(*args, **options)
        stderr = done.stderr.decode()
        assert done.returncode == code, f"{args}: exit {done.returncode}: {stderr}"
        assert stderr.startswith("error: ") and stderr.count("\n") == 1, stderr
        return stderr

    def model(self, run, model_id, path, **changes):
        """Write a model of a run to a file, with changes if there are any, and return its content."""
        self("select", run, "--model-id", model_id, "--model", path, "--force")
        model = json.loads(Path(path).read_text()) | changes
        if changes:
            Path(path).write_text(sealed(model))
        return model

    def inspect(self, *args, **options):
        return json.loads(self("inspect", "--json", *args, **options))

    def export(self, *args, **options):
        """Return the prepared rows as strings, exactly as written."""
        written = self("data", "export", *args, "--output", "-", **options).decode()
        header, *rows = csv.reader(io.StringIO(written, newline=""))
        return pd.DataFrame(rows, columns=header, dtype=object)

    def rows(self, *args, **options):
        """Return all rows of a table, without the column `split`."""
        keep = ["--missing", "keep", "--split", "none"]
        return self.export(*args, *keep, **options).drop(columns="split")

    def encoded(self, *args, **options):
        """Return the encoded rows: features, label and weight as numbers, the rest as strings.

        Labels are -1 and 1, the numbers of a target that is a number, or the names of classes.
        """
        rows = self.export(*args, "--encoded", **options)
        label = rows.columns.get_loc("label")
        features = [c for c in rows.columns[:label] if is_number(rows[c].iloc[0])]
        # float() restores the written numbers exactly; the parsers of pandas may not.
        names = [] if rows["label"].map(is_number).all() else ["label"]
        rows = rows.astype({c: float for c in [*features, "label", "weight"] if c not in names})
        if names:
            return rows
        # The formulas of losses use labels -1 and 1; the file has 0 and 1.
        is_binary = rows["label"].isin([0, 1]).all()
        return rows.assign(label=2 * rows["label"] - 1) if is_binary else rows


@pytest.fixture(scope="session")
def fairfront():
    binary = Path(os.environ.get("FAIRFRONT_BIN", REPOSITORY / "target/debug/fairfront"))
    if not binary.is_file():
        pytest.fail(f"{binary} does not exist; build it with cargo build, or set FAIRFRONT_BIN")
    return Fairfront(binary.resolve())


@pytest.fixture(scope="session")
def data():
    """The folder of the published files."""
    folder = Path(os.environ.get("FAIRFRONT_DATA") or "absent")
    if not folder.is_dir():
        reason = "FAIRFRONT_DATA is not the folder of the published data files"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def adult(data):
    """Both published files of Adult, without the dots after the labels of the test file."""
    names = (
        "age workclass fnlwgt education education-num marital-status occupation relationship "
        "race sex capital-gain capital-loss hours-per-week native-country income"
    ).split()
    options = {"names": names, "skipinitialspace": True, "na_values": "?"}
    parts = [
        pd.read_csv(data / "adult.data", **options),
        pd.read_csv(data / "adult.test", skiprows=1, **options),
    ]
    whole = pd.concat(parts, ignore_index=True)
    whole["income"] = whole["income"].str.rstrip(".")
    return whole


@pytest.fixture(scope="session")
def compas(data):
    """COMPAS as published."""
    path = data / "compas-scores-two-years.csv"
    return pd.read_csv(path, keep_default_na=False, na_values=MISSING)


@pytest.fixture(scope="session")
def loans(fairfront, tmp_path_factory):
    """The demo's rows with weights, some of them 0; race is missing in about every tenth row."""
    rows = fairfront.export("demo(rows=3000)", "--missing-sensitive", "loss-only")
    rng = np.random.default_rng(5)
    weights = np.where(rng.random(len(rows)) < 0.02, 0.0, rng.gamma(2.0, 0.7, len(rows)))
    rows["w"] = weights.round(3)
    rows.loc[rng.random(len(rows)) < 0.1, "race"] = ""
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    rows.to_csv(path, index=False)
    return path
