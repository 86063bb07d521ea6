"""The command fits on workers of a cluster through the package, with the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster_rows import frame

from fairfront import pack

FLAGS = ["--target", "paid", "--positive", "yes", "--sensitive", "sex", "--solver", "trace", "--models", "6", "--quiet"]


def command(*arguments, **environment):
    program = Path(sys.executable).parent / "fairfront"
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", **environment}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=300)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    frame(80_000).to_parquet(folder / "rows.parquet")
    done = command("fit", folder / "rows.parquet", *FLAGS, "--out", folder / "run")
    assert done.returncode == 0, done.stderr
    return folder / "rows.parquet", (folder / "run" / "front.parquet").read_bytes()


@pytest.mark.parametrize("flags", [["--workers", "1"], ["--workers", "3"], ["--ray", "local"], ["--dask", "local"]])
def test_the_front_has_the_same_bytes(tmp_path, table, flags):
    if flags[0] != "--workers":
        pytest.importorskip({"--ray": "ray", "--dask": "distributed"}[flags[0]])
    work = tmp_path / "work"
    work.mkdir()
    done = command("fit", table[0], *FLAGS, *flags, "--work-dir", work, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "front.parquet").read_bytes() == table[1]
    assert list(work.iterdir()) == []


def test_a_block_file(tmp_path, table):
    done = command("pack", table[0], *FLAGS[:6], "-o", tmp_path / "rows.ffb")
    assert done.returncode == 0, done.stderr
    done = command("fit", tmp_path / "rows.ffb", *FLAGS[6:], "--workers", "2", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "front.parquet").read_bytes() == table[1]


@pytest.mark.parametrize(
    "flags,environment,message",
    [
        (["--workers", "0"], {}, "--workers 0: a fit needs workers; choose at least 1"),
        (["--workers", "2"], {"FAIRFRONT_PYTHON": "/no/python"}, "/no/python: cannot be started; install Python"),
        (["--workers", "2"], {"FAIRFRONT_PYTHON": "false"}, "false: the bridge to the cluster ended (without a message)"),
        (["--ray", "127.0.0.1:1"], {}, "the Ray cluster cannot be reached"),
    ],
)
def test_errors(tmp_path, table, flags, environment, message):
    done = command("fit", table[0], *FLAGS, *flags, "--out", tmp_path / "run", **environment)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_interpreter_without_the_package(tmp_path, table):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    python.chmod(0o755)
    done = command("fit", table[0], *FLAGS, "--workers", "2", "--out", tmp_path / "run", FAIRFRONT_PYTHON=str(python))
    assert done.returncode == 1
    assert "the package fairfront is not installed there" in done.stderr


def test_a_known_data_set_is_rejected(tmp_path):
    done = command("fit", "demo", "--workers", "2", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "cannot be fitted on a cluster" in done.stderr


def test_a_bridge_that_dies(tmp_path):
    """The bridge ends after some answers, as if it were killed."""
    pack(frame(40_000), tmp_path / "rows.ffb", "paid", sensitive_features="sex", pos_label="yes")
    (tmp_path / "dying.py").write_text(
        "import os, sys\n"
        "import fairfront._bridge as bridge\n"
        "from fairfront._workers import Workers\n"
        "ask, calls = Workers.ask, []\n"
        "def dying(self, *arguments):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 5:\n"
        "        print('out of memory', file=sys.stderr, flush=True)\n"
        "        os._exit(9)\n"
        "    return ask(self, *arguments)\n"
        "Workers.ask = dying\n"
        "sys.argv[1:3] = []\n"
        "sys.exit(bridge.main())\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/dying.py" "$@"\n')
    python.chmod(0o755)
    environment = {"FAIRFRONT_PYTHON": str(python)}
    arguments = ["fit", tmp_path / "rows.ffb", *FLAGS[6:], "--workers", "2", "--out", tmp_path / "run"]
    done = command(*arguments, **environment)
    assert done.returncode == 1
    assert "the bridge to the cluster ended (out of memory)" in done.stderr


def test_warnings_of_the_cluster_are_shown(tmp_path, table):
    (tmp_path / "warning.py").write_text(
        "import sys, warnings\n"
        "import fairfront._bridge as bridge\n"
        "from fairfront import FairFrontWarning\n"
        "make = bridge._cluster\n"
        "def warning(*arguments):\n"
        "    warnings.warn('the cluster is small', FairFrontWarning)\n"
        "    warnings.warn('of another package')\n"
        "    return make(*arguments)\n"
        "bridge._cluster = warning\n"
        "sys.argv[1:3] = []\n"
        "sys.exit(bridge.main())\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/warning.py" "$@"\n')
    python.chmod(0o755)
    arguments = ["fit", table[0], *FLAGS, "--workers", "2", "--out", tmp_path / "run"]
    done = command(*arguments, FAIRFRONT_PYTHON=str(python))
    assert done.returncode == 0, done.stderr
    assert "warning: the cluster is small\n" in done.stderr
    assert "another package" not in done.stderr
    assert (tmp_path / "run" / "front.parquet").read_bytes() == table[1]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_bridge_that_waits_for_the_cluster_ends_with_the_command(tmp_path, table, number):
    """For example, because the cluster has too few CPUs."""
    (tmp_path / "waiting.py").write_text(
        "import os, sys, time\n"
        "import fairfront._bridge as bridge\n"
        "def waiting(*arguments):\n"
        f"    open({str(tmp_path / 'new')!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'pid')!r})\n"
        "    time.sleep(600)\n"
        "bridge._cluster = waiting\n"
        "sys.argv[1:3] = []\n"
        "sys.exit(bridge.main())\n"
    )
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/waiting.py" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "work").mkdir()
    program = Path(sys.executable).parent / "fairfront"
    arguments = ["fit", table[0], *FLAGS, "--workers", "2", "--work-dir", tmp_path / "work", "--out", tmp_path / "run"]
    environment = {**os.environ, "FAIRFRONT_PYTHON": str(python)}
    process = subprocess.Popen([program, *map(str, arguments)], env=environment, stderr=subprocess.PIPE, text=True)
    wait_until((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert not (tmp_path / "run").exists()
    if number == signal.SIGINT:
        assert process.returncode == 130 and "interrupted" in said
        assert list((tmp_path / "work").iterdir()) == []
    wait_until(lambda: not is_alive(pid))
