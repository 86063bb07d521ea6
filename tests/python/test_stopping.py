"""A fit that is told to stop leaves a valid run, whatever told it."""

import json
import signal
import subprocess
import time

import pytest

# A front that takes far longer than a test waits for.
LONG = ["demo(rows=300000)", "--method", "weighted", "--set", "sums=4000"]


def start(fairfront, run, fit, *more, **options):
    command = [fairfront.binary, "fit", *fit, "--out", run, *more]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], **pipes, **options)


def test_a_time_limit_bounds_the_work_after_it(fairfront, tmp_path):
    """Generous: before, such a fit went on for minutes."""
    run = tmp_path / "run"
    fit = ["demo(rows=300000)", "--method", "trace", "--points", 1_000_000]
    fit += ["--objective", "log_loss", "--objective", "disparate_impact(sex)"]
    done = fairfront.run("fit", *fit, "--out", run, "--max-seconds", 5)
    assert done.returncode == 0, done.stderr
    said = json.loads((run / "run.json").read_text())
    assert said["stop"] == "stopped"
    assert 0 < said["points"] <= 32
    assert said["judged"]["candidates"] <= 32
    assert {"calibration", "optimality-proofs", "redraws"} <= set(said["left_out"])
    assert said["intervals"]["replicates"] == 0
    assert b"the fit was stopped and left out: " in done.stderr
    assert b"the optimality proofs" in done.stderr
    # The run is valid, and says nothing that its rows do not.
    fairfront("verify", run)
    chosen = json.loads(fairfront("select", run, "--json"))
    assert chosen
    fairfront("show", run)
    fairfront("report", run)
    assert (run / "report.html").stat().st_size > 10_000


def heed_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ignore_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_a_fit_and_keep_the_front(fairfront, tmp_path, name):
    run = tmp_path / "run"
    # The tests themselves may run under nohup.
    process = start(fairfront, run, LONG, "--quiet", preexec_fn=heed_hangup)
    try:
        time.sleep(1.5)
        process.send_signal(getattr(signal, name))
        assert process.wait(60) == 130, process.stderr.read()
    finally:
        process.kill()
    assert json.loads((run / "run.json").read_text())["stop"] == "stopped"


def test_nohup_keeps_hangups_ignored(fairfront, tmp_path):
    run = tmp_path / "run"
    process = start(fairfront, run, LONG, "--quiet", "--max-seconds", 3, preexec_fn=ignore_hangup)
    try:
        for _ in range(10):
            time.sleep(0.1)
            process.send_signal(signal.SIGHUP)
        # Ended by its limit: after a signal it would be 130.
        assert process.wait(60) == 0, process.stderr.read()
    finally:
        process.kill()
    assert (run / "run.json").exists()
