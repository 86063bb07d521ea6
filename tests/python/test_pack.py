"""Block files: fits on them have the same bytes as fits on the table, and damage is found."""

import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

TABLE = ["--target", "approved", "--positive", "yes", "--sensitive", "sex", "--drop", "race,split"]
SAME = ["front.parquet", "encoding.json", "tallies.json"]
# run.json also contains times, and therefore another checksum.
TIMES = {"seconds", "checksum", "polish"}
COVARIANCES = ["--objective", "log_loss", "--objective", "score_covariance(sex)"]


@pytest.fixture(scope="module")
def loans(fairfront, tmp_path_factory):
    """A table of 6,000 rows, and its block file."""
    folder = tmp_path_factory.mktemp("loans")
    fairfront("data", "export", "demo(rows=6000)", "-o", folder / "loans.csv")
    fairfront("pack", folder / "loans.csv", *TABLE, "-o", folder / "loans.ffb")
    return folder


def assert_same_run(one, other):
    for name in SAME:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    first, second = (json.loads((run / "run.json").read_text()) for run in (one, other))
    assert first.keys() == second.keys()
    for key in first.keys() - TIMES:
        assert first[key] == second[key], key


@pytest.mark.parametrize(
    "fit",
    [
        [],
        ["--solver", "trace", *COVARIANCES],
        ["--solver", "pf-smg", "--set", "max-steps=60", *COVARIANCES],
        ["--solver", "eps-fair", "--models", "8", *COVARIANCES],
        ["--family", "trees"],
        ["--family", "auto", "--require", "accuracy >= 0.5"],
        ["--family", "network", "--hidden", "2", "--models", "6", "--set", "max-steps=20"],
    ],
    ids=lambda fit: " ".join(fit[:2]) or "default",
)
def test_a_block_file_gives_the_same_run(fairfront, loans, tmp_path, fit):
    fairfront("fit", loans / "loans.csv", *TABLE, *fit, "--out", tmp_path / "memory", "--quiet", "--threads", 2)
    fairfront("fit", loans / "loans.ffb", *fit, "--out", tmp_path / "disk", "--quiet", "--threads", 1)
    assert_same_run(tmp_path / "memory", tmp_path / "disk")


def test_adult_gives_the_same_run(fairfront, adult_csv, tmp_path):
    roles = ["--target", "income", "--positive", ">50K", "--sensitive", "sex", "--sensitive", "race"]
    roles += ["--weight", "hours-per-week", "--missing", "keep", "--split", "50/10/20/20", "--pool-rare", "50"]
    fairfront("pack", adult_csv, *roles, "-o", tmp_path / "adult.ffb")
    fit = ["--models", "20", "--quiet"]
    fairfront("fit", adult_csv, *roles, *fit, "--out", tmp_path / "memory")
    fairfront("fit", tmp_path / "adult.ffb", *fit, "--out", tmp_path / "disk")
    assert_same_run(tmp_path / "memory", tmp_path / "disk")


@pytest.fixture(scope="module")
def adult_csv(fairfront, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    fairfront("data", "export", "adult:sex+race", "-o", path, FAIRFRONT_DATA=str(data))
    # The split of the known data set is not a feature.
    lines = path.read_text().splitlines()
    place = lines[0].split(",").index("split")
    assert place == len(lines[0].split(",")) - 1
    path.write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
    return path


def test_a_table_beyond_the_memory_limit_is_packed(fairfront, tmp_path):
    fairfront("data", "export", "demo(rows=300000)", "-o", tmp_path / "big.csv")
    fit = [tmp_path / "big.csv", *TABLE, "--models", "4", "--set", "stages=1"]
    fairfront("fit", *fit, "--out", tmp_path / "memory", "--quiet")
    work = tmp_path / "work"
    work.mkdir()
    done = fairfront.run(
        "fit", *fit, "--out", tmp_path / "disk", "--memory", "150MB", "--work-dir", work, "--timings"
    )
    said = done.stderr.decode()
    assert done.returncode == 0, said
    assert "note: the rows were packed into a temporary block file" in said
    assert re.search(r"^  packing +[\d.]+", said, re.MULTILINE)
    assert re.search(r"^total [\d.]+ s, peak memory [\d.]+ MiB$", said, re.MULTILINE)
    assert list(work.iterdir()) == []
    assert_same_run(tmp_path / "memory", tmp_path / "disk")
    checked = fairfront("verify", tmp_path / "disk", tmp_path / "big.csv").decode()
    assert "values agree" in checked


def test_verify_and_tune_accept_block_files(fairfront, loans, tmp_path):
    fairfront("fit", loans / "loans.ffb", "--models", "6", "--out", tmp_path / "run", "--quiet")
    assert "values agree" in fairfront("verify", tmp_path / "run", loans / "loans.ffb").decode()
    assert "values agree" in fairfront("verify", tmp_path / "run", loans / "loans.csv").decode()
    tune = ["--try", "stages=1,2", "--models", "6", "--json"]
    of_table = json.loads(fairfront("tune", loans / "loans.csv", *TABLE, *tune))
    of_blocks = json.loads(fairfront("tune", loans / "loans.ffb", *tune))
    of = [[(t["settings"], t["performance"]) for t in found["trials"]] for found in (of_table, of_blocks)]
    assert of[0] == of[1]


def test_tune_packs_a_table_that_leaves_too_little_memory_for_fits(fairfront, tmp_path):
    fairfront("data", "export", "demo(rows=100000)", "-o", tmp_path / "big.csv")
    tune = ["tune", tmp_path / "big.csv", *TABLE, "--try", "stages=1,2", "--models", "4", "--json"]
    of = [json.loads(fairfront(*tune, *memory)) for memory in ([], ["--memory", "60MB"])]
    found = [[(t["settings"], t["performance"]) for t in each["trials"]] for each in of]
    assert found[0] == found[1]


def wait_for(folder, pattern, process):
    """Wait until a temporary file exists."""
    while process.poll() is None and not list(folder.rglob(pattern)):
        time.sleep(0.001)


def test_interrupted_packing_leaves_no_rows(fairfront, tmp_path):
    fairfront("data", "export", "demo(rows=300000)", "-o", tmp_path / "big.csv")
    pack = ["pack", tmp_path / "big.csv", *TABLE, "--quiet", "-o"]
    fit = ["fit", tmp_path / "big.csv", *TABLE, "--quiet", "--workers", "2", "--out", tmp_path / "run", "--work-dir"]
    for number, command in enumerate([[*pack, "out/rows.ffb"], [*fit, "work"]]):
        folder = tmp_path / ["out", "work"][number]
        folder.mkdir()
        process = subprocess.Popen(
            [fairfront.binary, *map(str, command)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        wait_for(folder, ".fairfront-pack-*", process)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        assert process.returncode == 130, said
        assert said.startswith("error: interrupted"), said
        assert list(folder.iterdir()) == []


def test_a_killed_fit_resumes_from_a_block_file(fairfront, loans, tmp_path):
    fit = ["fit", loans / "loans.ffb", "--quiet", "--out"]
    fairfront(*fit, tmp_path / "whole")
    process = subprocess.Popen([fairfront.binary, *map(str, fit), str(tmp_path / "killed"), "--checkpoint-every", "1e-9"])
    while process.poll() is None and not list(tmp_path.glob("killed/checkpoint/*")):
        pass
    process.kill()
    process.wait()
    fairfront(*fit, tmp_path / "killed", "--resume")
    assert (tmp_path / "whole/front.parquet").read_bytes() == (tmp_path / "killed/front.parquet").read_bytes()


def test_summary(fairfront, loans, tmp_path):
    found = json.loads(fairfront("pack", loans / "loans.csv", *TABLE, "-o", tmp_path / "a.ffb", "--json"))
    assert found["bytes"] == (tmp_path / "a.ffb").stat().st_size
    assert sum(found["rows"].values()) == found["rows_used"] <= found["rows_read"]
    assert (tmp_path / "a.ffb").read_bytes() == (loans / "loans.ffb").read_bytes()
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a.ffb").stat().st_mode & 0o777 == 0o666 & ~mask


def test_damage_is_found(fairfront, loans, tmp_path):
    content, draw = (loans / "loans.ffb").read_bytes(), random.Random(5)
    path = tmp_path / "bad.ffb"
    fit = ["fit", path, "--models", "3", "--out", tmp_path / "run", "--force", "--quiet"]
    for length in [0, 5, 100, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        said = fairfront.error(*fit)
        assert f"{path}: the file is truncated" in said or length < 8 and f"{path}: not a block file" in said, said
    for number in range(12):
        # The first bytes tell that it is a block file.
        place = draw.randrange(len(content) if number > 0 else 8)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :])
        done = fairfront.run(*fit)
        said = done.stderr.decode()
        assert done.returncode in (1, 2) and said.startswith(f"error: {path}: ") and said.count("\n") == 1, said
        assert "corrupted" in said, said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["fit", "loans.ffb", "--target", "approved", "--out", "r"], "remove --target"),
        (["inspect", "loans.ffb"], "a block file"),
        (["pack", "demo", "-o", "x.ffb"], "known data set"),
        (["pack", "loans.csv", *TABLE, "-o", "loans.ffb"], "already exists"),
        (["pack", "loans.csv", *TABLE, "-o", "loans.csv", "--force"], "is the input"),
        (["pack", "loans.csv", *TABLE, "-o", "-"], "choose a file"),
        (["pack", "loans.csv", *TABLE, "-o", "missing/x.ffb"], "missing"),
        (["pack", "loans.csv", *TABLE, "--balance", "sex", "-o", "x.ffb"], "balance"),
        (["pack", "loans.csv", "--target", "nothing", "-o", "x.ffb"], "nothing"),
        (["pack", "-o", "x.ffb"], "no input"),
    ],
    ids=lambda value: None if isinstance(value, list) else value.replace(" ", "-"),
)
def test_wrong_usage_is_one_line(fairfront, loans, arguments, problem):
    done = fairfront.run(*arguments, cwd=loans)
    said = done.stderr.decode()
    assert done.returncode in (1, 2) and problem in said, said
    assert said.startswith("error: ") and said.count("\n") == 1, said
    assert not (loans / "x.ffb").exists()
