"""The command, the library and the package give the same bytes for the same data and seed."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from people import frame

from fairfront import FairFrontClassifier, FairFrontRegressor

BINARY = os.environ.get("FAIRFRONT_BIN")


def command(*arguments, program=None):
    """Run the command that the package installs."""
    program = program or [str(Path(sys.executable).parent / "fairfront")]
    return subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)


def binary(*arguments):
    """Run the binary that cargo builds."""
    if BINARY is None:
        pytest.skip("FAIRFRONT_BIN is not set; set it to the binary that cargo builds")
    return command(*arguments, program=[BINARY])


def front_of(folder):
    return hashlib.sha256((folder / "front.parquet").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    X, y, sex, _ = frame(900)
    X.loc[::9, "income"] = np.nan
    written = X.assign(owner=X["owner"].map({True: "true", False: "false"}), approved=y, sex=sex)
    written.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv", X, y, sex


FLAGS = ["--target", "approved", "--positive", "1", "--sensitive", "sex", "--missing", "keep", "--split", "none"]


@pytest.mark.parametrize(
    "flags,params",
    [
        ([], {}),
        (
            ["--solver", "pf-smg", "--models", "60", "--seed", "3"],
            {"solver": "pf-smg", "n_models": 60, "random_state": 3},
        ),
        (
            ["--objective", "log_loss", "--objective", "score_covariance(sex)"],
            {"objectives": ["log_loss", "score_covariance(sex)"]},
        ),
    ],
)
def test_front_encoding_and_models_are_the_same_bytes(tmp_path, table, flags, params):
    path, X, y, sex = table
    for run, name in [(command, "package"), (binary, "cargo")]:
        done = run("fit", path, *FLAGS, *flags, "--quiet", "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    FairFrontClassifier(**params).fit(X, y.astype(str), sensitive_features=sex).save(tmp_path / "memory")
    FairFrontClassifier(**params).fit(path, "approved", sensitive_features="sex").save(tmp_path / "file")
    names = ["package", "cargo", "memory", "file"]
    assert len({front_of(tmp_path / name) for name in names}) == 1
    assert len({(tmp_path / name / "encoding.json").read_bytes() for name in names}) == 1
    runs = [json.loads((tmp_path / name / "run.json").read_text()) for name in names]
    assert len({run["fingerprint"] for run in runs}) == 1


def test_numbers_give_the_same_bytes(tmp_path, table):
    path, X, _, sex = table
    salary = (10 * X["debt"] + X["children"].astype(float)).rename("salary")
    X.assign(salary=salary, owner=X["owner"].map({True: "true", False: "false"}), sex=sex).to_csv(
        tmp_path / "rows.csv", index=False
    )
    flags = ["--target", "salary", "--sensitive", "sex", "--missing", "keep", "--split", "none", "--models", 30]
    done = command("fit", tmp_path / "rows.csv", *flags, "--quiet", "--out", tmp_path / "command")
    assert done.returncode == 0, done.stderr
    reg = FairFrontRegressor(n_models=30)
    reg.fit(X, salary, sensitive_features=sex).save(tmp_path / "memory")
    reg.fit(tmp_path / "rows.csv", "salary", sensitive_features="sex").save(tmp_path / "file")
    names = ["command", "memory", "file"]
    assert len({front_of(tmp_path / name) for name in names}) == 1
    assert len({(tmp_path / name / "encoding.json").read_bytes() for name in names}) == 1
    assert len({json.loads((tmp_path / name / "run.json").read_text())["fingerprint"] for name in names}) == 1


def test_adult_gives_the_same_bytes(tmp_path):
    if "FAIRFRONT_DATA" not in os.environ:
        pytest.skip("FAIRFRONT_DATA is not set; set it to the folder of the published files")
    exported = binary("data", "export", "adult:sex", "-o", tmp_path / "adult.csv")
    assert exported.returncode == 0, exported.stderr
    import pandas as pd

    table = pd.read_csv(tmp_path / "adult.csv", keep_default_na=False).drop(columns=["split"])
    table.to_csv(tmp_path / "rows.csv", index=False)
    flags = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--split", "none", "--missing", "keep"]
    loss = ["log_loss", "score_covariance(sex)"]
    done = binary(
        "fit",
        tmp_path / "rows.csv",
        *flags,
        "--objective",
        loss[0],
        "--objective",
        loss[1],
        "--models",
        50,
        "--quiet",
        "--out",
        tmp_path / "cargo",
    )
    assert done.returncode == 0, done.stderr
    clf = FairFrontClassifier(loss, n_models=50, pos_label=">50K", n_jobs=1)
    X, y, sex = table.drop(columns=["income", "sex"]), table["income"], table["sex"]
    clf.fit(X, y, sensitive_features=sex).save(tmp_path / "memory")
    assert front_of(tmp_path / "memory") == front_of(tmp_path / "cargo")


def test_the_command_reads_runs_of_the_package(tmp_path, table):
    _, X, y, sex = table
    clf = FairFrontClassifier(n_models=20, require="demographic_parity_ratio(sex) >= 0.8")
    clf.fit(X, y, sensitive_features=sex).save(tmp_path / "run")
    shown = command("show", tmp_path / "run", "--json")
    assert shown.returncode == 0, shown.stderr
    require = ["--require", clf.require, "--confidence", "none"]
    chosen = command("select", tmp_path / "run", *require, "--model", tmp_path / "model.json", "--json")
    assert chosen.returncode == 0, chosen.stderr
    assert json.loads(chosen.stdout)["model_id"] == clf.selected_
    X.to_csv(tmp_path / "new.csv", index=False)
    done = command("predict", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "scores.csv")
    assert done.returncode == 0, done.stderr
    import pandas as pd

    scores = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_array_equal(scores["score"], clf.decision_function(X))


def test_the_package_reads_runs_of_the_command(tmp_path, table):
    path, X, y, _ = table
    command("fit", path, *FLAGS, "--quiet", "--out", tmp_path / "run")
    clf = FairFrontClassifier.load(tmp_path / "run")
    assert clf.predict(X).dtype == bool
    assert (clf.predict(X) == (y == 1)).mean() == pytest.approx(clf.front_["train.accuracy"][clf.selected_])


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit"], ["nonsense"], ["show", "nowhere"]])
def test_the_installed_command_and_the_binary_print_the_same(arguments):
    ours, theirs = command(*arguments), binary(*arguments)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_python_m_is_the_command():
    assert command("--version", program=[sys.executable, "-m", "fairfront"]).stdout == command("--version").stdout
