"""A fit that is stopped, by a time limit or a signal, leaves a valid run."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

# A front that takes far longer than a test waits.
LONG = ["demo(rows=300000)", "--solver", "weighted", "--set", "sums=4000"]


def start(fairfront, run, fit, *more, **options):
    command = [fairfront.binary, "fit", *fit, "--out", run, *more]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(part) for part in command], **pipes, **options)


def limited(fairfront, run, fit):
    """Run a fit until its time limit stops it after it found a model, which may take longer on a busy machine."""
    for seconds in [5, 10, 20]:
        done = fairfront.run("fit", *fit, "--out", run, "--max-seconds", seconds)
        if done.returncode == 0:
            return done
        assert done.returncode == 1 and b"the time limit passed before a model was found" in done.stderr
        assert not run.exists()
    raise AssertionError("no model was found within 20 s")


def test_a_time_limit_bounds_the_work_after_it(fairfront, tmp_path):
    """The limits are generous: such a fit once continued for minutes."""
    run = tmp_path / "run"
    fit = ["demo(rows=300000)", "--solver", "trace", "--models", 1_000_000]
    fit += ["--objective", "log_loss", "--objective", "score_covariance(sex)"]
    done = limited(fairfront, run, fit)
    said = json.loads((run / "run.json").read_text())
    assert said["stop"] == "stopped"
    assert 0 < said["models"] <= 32
    assert said["judged"]["candidates"] <= 32
    assert {"calibration", "optimality-proofs", "redraws"} <= set(said["left_out"])
    assert said["intervals"]["replicates"] == 0
    assert b"the fit was stopped and left out: " in done.stderr
    assert b"the optimality proofs" in done.stderr
    # The run is valid, and its values agree with its rows.
    fairfront("verify", run)
    chosen = json.loads(fairfront("select", run, "--json"))
    assert chosen
    fairfront("show", run)
    fairfront("report", run)
    assert (run / "report.html").stat().st_size > 10_000


def test_a_time_limit_without_a_model_writes_no_run(fairfront, tmp_path):
    run = tmp_path / "run"
    done = fairfront.run("fit", "demo(rows=300000)", "--out", run, "--max-seconds", 0.001)
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()[-1]
    assert said == (
        "error: --max-seconds 0.001: the time limit passed before a model was found, and no run was written; "
        "allow more time"
    )
    assert list(tmp_path.iterdir()) == []
    # The fit of a small table finds a model even within this limit.
    fairfront("fit", "demo(rows=300)", "--out", run, "--max-seconds", 0.001, "--quiet")
    assert json.loads((run / "run.json").read_text())["stop"] == "stopped"


def begun(process):
    """Wait for the first line of progress: the solver is running, and there is a model."""
    lines = iter(process.stderr.readline, b"")
    assert any(line.startswith(b"round ") or b", round " in line for line in lines)


def ended(process, seconds=10):
    """Return the exit status of a stopped process; the timeout is generous, to catch only hangs."""
    try:
        process.communicate(timeout=seconds)
        return process.returncode
    finally:
        process.kill()


def heed_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ignore_hangup():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_a_fit_and_keep_the_front(fairfront, tmp_path, name):
    run = tmp_path / "run"
    # The tests themselves may run under nohup.
    process = start(fairfront, run, LONG, preexec_fn=heed_hangup)
    begun(process)
    process.send_signal(getattr(signal, name))
    assert ended(process, 60) == 130
    assert json.loads((run / "run.json").read_text())["stop"] == "stopped"


def test_nohup_keeps_hangups_ignored(fairfront, tmp_path):
    run = tmp_path / "run"
    fit = ["demo(rows=60000)", *LONG[1:]]
    process = start(fairfront, run, fit, "--quiet", "--max-seconds", 3, preexec_fn=ignore_hangup)
    try:
        for _ in range(10):
            time.sleep(0.1)
            process.send_signal(signal.SIGHUP)
        # The limit ended it; after a signal, the code would be 130.
        assert process.wait(60) == 0, process.stderr.read()
    finally:
        process.kill()
    assert (run / "run.json").exists()


def spawn(fairfront, *args, **options):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    # Programs in the background ignore SIGINT, and this one would inherit that.
    pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    command = [str(part) for part in [fairfront.binary, *args]]
    return subprocess.Popen(command, **(pipes | options))


@pytest.fixture
def endless(tmp_path):
    """A table whose last row never arrives, and a function that waits until the table is being read."""
    path = tmp_path / "endless.csv"
    os.mkfifo(path)
    writers = []

    def begin():
        # Returns when there is a reader.
        pipe = os.open(path, os.O_WRONLY)
        writers.append(pipe)
        os.write(pipe, b"age,sex,approved\n" + b"30,f,yes\n40,m,no\n" * 200)
        time.sleep(0.2)

    yield path, begin
    for pipe in writers:
        os.close(pipe)


COLUMNS = ["--target", "approved", "--positive", "yes", "--sensitive", "sex"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["fit", "tune"])
def test_a_signal_while_a_table_is_read_ends_the_command(fairfront, tmp_path, endless, command, name):
    path, begin = endless
    run = tmp_path / "run"
    out = ["--out", run] if command == "fit" else []
    process = spawn(fairfront, command, path, *COLUMNS, *out)
    begin()
    process.send_signal(getattr(signal, name))
    try:
        said = process.communicate(timeout=10)[1].decode()
    finally:
        process.kill()
    assert process.returncode == 130
    assert said == "error: interrupted before a model was found; no run was written\n"
    assert not run.exists()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", ["inspect", "predict", "data export"])
def test_a_signal_ends_commands_that_read(fairfront, tmp_path, endless, command, name):
    """These commands store nothing, so that a signal ends them like any program."""
    path, begin = endless
    args = [path, *COLUMNS]
    if command == "predict":
        known = tmp_path / "known.csv"
        rows = [f"{30 + i % 7},{'fm'[i % 2]},{['yes', 'no'][i % 3 % 2]}\n" for i in range(300)]
        known.write_text("age,sex,approved\n" + "".join(rows))
        fairfront("fit", known, *COLUMNS, "--models", 3, "--out", tmp_path / "run", "--quiet")
        fairfront("select", tmp_path / "run", "--model-id", 1, "--model", tmp_path / "model.json")
        args = [tmp_path / "model.json", path]
    if command != "inspect":
        args += ["--output", tmp_path / "out.csv"]
    process = spawn(fairfront, *command.split(), *args)
    begin()
    process.send_signal(getattr(signal, name))
    assert ended(process) == -getattr(signal, name)
    assert not (tmp_path / "out.csv").exists()


def test_a_signal_ends_a_stream_that_waits(fairfront, tmp_path):
    state = tmp_path / "state"
    process = spawn(fairfront, "stream", state, "-", *COLUMNS, stdin=subprocess.PIPE)
    process.stdin.write(b"age,sex,approved\n30,f,yes\n")
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    try:
        # The input is still open.
        assert process.wait(10) == 130
    finally:
        process.kill()


def test_a_signal_ends_a_batch_and_changes_nothing(fairfront, tmp_path):
    state = tmp_path / "state"
    small = ["--batch", 300_000, "--solver", "weighted", "--set", "sums=4000"]
    process = spawn(fairfront, "stream", state, "demo(rows=300000)", *small)
    begun(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process, 60) == 130
    assert not (state / "drift.jsonl").exists() or (state / "drift.jsonl").read_text() == ""


def test_a_signal_ends_tuning(fairfront, tmp_path):
    process = spawn(fairfront, "tune", *LONG, "--try", "penalty=0.1,0.01")
    begun(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process, 60) == 130


def test_a_signal_ends_a_verification(fairfront, tmp_path):
    run = tmp_path / "run"
    limited(fairfront, run, LONG)
    process = spawn(fairfront, "verify", run)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == -signal.SIGTERM


@pytest.mark.parametrize("args", [["compare", "RUN", "RUN"], ["report", "RUN"], ["show", "RUN"], ["select", "RUN"]])
def test_short_commands_do_not_catch_signals(fairfront, tmp_path, args):
    """These commands are too short to signal them halfway, so the test checks their signal handlers with strace."""
    if shutil.which("strace") is None:
        assert os.environ.get("CI") != "true", "strace is not installed"
        pytest.skip("strace is not installed")
    run = tmp_path / "run"
    fairfront("fit", "demo(rows=300)", "--models", 4, "--out", run, "--quiet")
    args = [str(run) if arg == "RUN" else arg for arg in args]
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=rt_sigaction", "-o", trace, fairfront.binary, *args]
    subprocess.run(list(map(str, command)), capture_output=True, timeout=60)
    text = trace.read_text()
    assert "rt_sigaction(SIGPIPE" in text
    assert not re.search(r"rt_sigaction\(SIG(INT|TERM|HUP), \{sa_handler=0x", text)
