"""A fit that is killed at any moment and resumed ends with the same bytes as an uninterrupted fit.

FAIRFRONT_KILLS is the minimum number of kills (default: 8).
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
FIT = ["synthetic:3(rows=2000)", "--solver", "pf-smg", "--polish", "--models", "1000000"]
FIT += ["--set", "max-steps=240", "--set", "patience=0", "--seed", "3"]


def content(run):
    """Return the bytes of front and encoding, and the content of run.json without times."""
    assert sorted(p.name for p in run.iterdir()) == FILES
    said = json.loads((run / "run.json").read_text())
    assert said.pop("seconds") and said.pop("checksum")
    said["polish"].pop("seconds")
    return [(run / name).read_bytes() for name in FILES[:2]], said


# The same fit, which takes too long to finish before a test stops it.
ENDLESS = ["max-steps=1000000" if part == "max-steps=240" else part for part in FIT]


def start(fairfront, run, *more, fit=FIT):
    command = [fairfront.binary, "fit", *fit, "--out", run, "--quiet", *more]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], **quiet)


@pytest.fixture(scope="module")
def whole(fairfront, tmp_path_factory):
    """Content and duration of an uninterrupted run."""
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
    """Kill fits at random moments until there are enough kills and the last run is complete."""
    expected, seconds = whole
    rng = random.Random(KILLS)
    kills = finished = 0
    while kills < KILLS:
        run = tmp_path / f"run-{finished}"
        first = True
        while True:
            # Some kills come before the fit does anything, most of them halfway.
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
                # A committed run can be read.
                if "checkpoint" in names and ".fairfront-finished" not in names:
                    error = fairfront.error("show", run)
                    assert "not finished" in error and "--resume" in error
        assert content(run) == expected
        done = fairfront.run("fit", *FIT, "--out", run, "--resume")
        assert done.returncode == 0 and b"nothing to do" in done.stderr
        assert content(run) == expected
        finished += 1


def test_interrupt(fairfront, whole, tmp_path):
    """Ctrl-C keeps the current front, and a checkpoint from which the fit can resume."""
    expected, seconds = whole
    run = tmp_path / "run"
    process = start(fairfront, run, "--checkpoint-every", 0.05)
    deadline = time.monotonic() + 30
    # Wait until the solver has stored a state.
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

    # Settings that determine the result must be the same; the error names the one that differs.
    other = fairfront.run("fit", *FIT[:-1], 4, "--out", run, "--resume")
    assert other.returncode == 2
    said = "error: --seed was 3 when the checkpoint was written, now 4; "
    assert other.stderr.decode().startswith(said), other.stderr

    fairfront("fit", *FIT, "--out", run, "--resume", "--quiet")
    assert content(run) == expected


def test_time_limit(fairfront, whole, tmp_path):
    """The fit resumes after each time limit. The limits grow, so that a busy machine finishes too."""
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


def test_only_one_process_uses_a_run_folder(fairfront, tmp_path):
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


def test_resume_without_a_checkpoint(fairfront, whole, tmp_path):
    run = tmp_path / "run"
    done = fairfront.run("fit", *FIT, "--out", run, "--resume")
    assert done.returncode == 0
    assert b"from the beginning" in done.stderr
    assert content(run) == whole[0]
