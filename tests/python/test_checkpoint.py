"""A fit that is killed at any moment and gone on with ends in the bytes of one that never was.

FAIRFRONT_KILLS says how many kills there are at least (8 unless told).
"""

import json
import os
import random
import signal
import subprocess
import time

import pytest

KILLS = int(os.environ.get("FAIRFRONT_KILLS", "8"))
FILES = ["encoding.json", "front.parquet", "report.html", "run.json", "tallies.json"]
# A front that takes a second or two.
FIT = ["synthetic:3(rows=2000)", "--solver", "pf-smg", "--polish", "--points", "1000000"]
FIT += ["--set", "max-steps=240", "--set", "patience=0", "--seed", "3"]


def content(run):
    """The bytes of front and encoding, and what run.json says but for seconds."""
    assert sorted(p.name for p in run.iterdir()) == FILES
    said = json.loads((run / "run.json").read_text())
    assert said.pop("seconds") and said.pop("checksum")
    said["polish"].pop("seconds")
    return [(run / name).read_bytes() for name in FILES[:2]], said


# The same fit, too long to finish before a test stops it.
ENDLESS = ["max-steps=1000000" if part == "max-steps=240" else part for part in FIT]


def start(fairfront, run, *more, fit=FIT):
    command = [fairfront.binary, "fit", *fit, "--out", run, "--quiet", *more]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], **quiet)


@pytest.fixture(scope="module")
def whole(fairfront, tmp_path_factory):
    """The run that was never killed, and how long it took."""
    run = tmp_path_factory.mktemp("whole") / "run"
    before = time.monotonic()
    fairfront("fit", *FIT, "--out", run, "--quiet", "--threads", 2)
    return content(run), time.monotonic() - before


def test_checkpoints_change_nothing(fairfront, whole, tmp_path):
    run = tmp_path / "run"
    done = start(fairfront, run, "--checkpoint-every", 0.05)
    assert done.wait(60) == 0, done.stderr.read()
    assert content(run) == whole[0]


def test_kills(fairfront, whole, tmp_path):
    """Killed at random moments, until there were enough of them and a run is done."""
    expected, seconds = whole
    rng = random.Random(KILLS)
    kills = finished = 0
    while kills < KILLS:
        run = tmp_path / f"run-{finished}"
        first = True
        while True:
            # Now and then it dies before it has done anything, and mostly half way.
            limit = rng.choice([0.05, 0.5 * seconds, seconds]) * rng.random()
            if kills >= KILLS:
                limit = 60
            threads = rng.choice([1, 2, 3])
            keep = ["--checkpoint-every", rng.choice([0.01, 0.1])]
            resume = [] if first else ["--resume"]
            process = start(fairfront, run, *keep, *resume, "--threads", threads)
            try:
                assert process.wait(limit) == 0, process.stderr.read()
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
            first = False
            if run.exists() and not (run / "run.json").exists():
                known = {"checkpoint", "encoding.json", "front.parquet", "tallies.json"}
                names = {p.name for p in run.iterdir()}
                assert {name for name in names if not name.startswith(".fairfront-")} <= known
                # A run that is committed can be read.
                if "checkpoint" in names and ".fairfront-finished" not in names:
                    error = fairfront.error("show", run)
                    assert "not finished" in error and "--resume" in error
        assert content(run) == expected
        done = fairfront.run("fit", *FIT, "--out", run, "--resume")
        assert done.returncode == 0 and b"nothing to do" in done.stderr
        assert content(run) == expected
        finished += 1


def test_interrupt(fairfront, whole, tmp_path):
    """Ctrl-C keeps the front so far, and what it takes to go on to the whole one."""
    expected, seconds = whole
    run = tmp_path / "run"
    process = start(fairfront, run, "--checkpoint-every", 0.05)
    deadline = time.monotonic() + 30
    # Once the solver has kept a state.
    while not list(run.glob("checkpoint/generation-*/solver.bin")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130, process.stderr.read()
    assert sorted(p.name for p in run.iterdir()) == ["checkpoint", *FILES]
    assert json.loads((run / "run.json").read_text())["stop"] == "stopped"
    shown = fairfront.run("show", run)
    assert shown.returncode == 0 and b"--resume" in shown.stderr
    fairfront("select", run, "--knee")
    refused = fairfront.error("fit", *FIT, "--out", run)
    assert "--resume" in refused and "--force" in refused

    # What determines the result must be the same; what differs is named.
    other = fairfront.run("fit", *FIT[:-1], 4, "--out", run, "--resume")
    assert other.returncode == 2
    said = "error: --seed was 3 when the checkpoint was written, now 4; "
    assert other.stderr.decode().startswith(said), other.stderr

    fairfront("fit", *FIT, "--out", run, "--resume", "--quiet")
    assert content(run) == expected


def test_time_limit(fairfront, whole, tmp_path):
    """Slices of time, one after the other; longer ones, so that a busy machine comes to an end too."""
    expected, seconds = whole
    run = tmp_path / "run"
    keep = ["--checkpoint-every", 0.02, "--quiet"]
    limit = 0.4 * seconds
    fairfront("fit", *FIT, "--out", run, *keep, "--max-seconds", limit)
    assert (run / "checkpoint").exists()
    while (run / "checkpoint").exists() and limit < 60:
        limit *= 1.5
        fairfront("fit", *FIT, "--out", run, *keep, "--max-seconds", limit, "--resume")
    assert content(run) == expected


def test_one_at_a_time(fairfront, tmp_path):
    run = tmp_path / "run"
    process = start(fairfront, run, "--checkpoint-every", 0.01, fit=ENDLESS)
    try:
        deadline = time.monotonic() + 30
        while not list(run.glob("checkpoint/generation-*")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        error = fairfront.error("fit", *ENDLESS, "--out", run, "--resume")
        assert f"process {process.pid}" in error
    finally:
        process.kill()
        process.wait()


def test_nothing_to_go_on_from(fairfront, whole, tmp_path):
    run = tmp_path / "run"
    done = fairfront.run("fit", *FIT, "--out", run, "--resume")
    assert done.returncode == 0
    assert b"from the beginning" in done.stderr
    assert content(run) == whole[0]
