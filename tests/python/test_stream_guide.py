"""What docs/stream.md shows is what its commands say."""

import os
import re
import signal
import subprocess
import time

import pytest
from conftest import REPOSITORY

# From here on commands stand on files that were made before.
BEGIN = "The examples use made-up loans."
# These need files or programs of the reader's own.
OTHERS = ["producer", "--follow", "other-state"]
KILLED = "sleep 60"


def blocks():
    """All commands of the guide in order, each with the lines that it should say."""
    guide = (REPOSITORY / "docs/stream.md").read_text()
    guide = guide[guide.index(BEGIN) :]
    # Those within lists are indented.
    block = re.compile(r"^( *)```(sh|text)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
    for indent, kind, text in block.findall(guide):
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        if any(other in text for other in OTHERS):
            continue
        if kind == "sh":
            yield text, []
        elif text.startswith("$ "):
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, *shown = part.splitlines()
                yield command, shown


def plain(line):
    """A line less what a clock said."""
    return re.sub(r"; \d+\.\d s\b", "; T s", line)


def missing(shown, said):
    """The first line shown that was not said, in order; … stands for anything."""
    said = iter([plain(line) for line in said])
    for line in map(plain, shown):
        pattern = ".*".join(map(re.escape, line.split("…")))
        if line != "…" and not any(re.fullmatch(pattern, other) for other in said):
            return line
    return None


def start(command, folder, environment):
    return subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def kill_when_rows_wait(process, state):
    """Kills the stream when all 2,600 rows are safe, and then who feeds it."""
    waiting, end = state / "spool/000003.log", time.monotonic() + 60
    # The last line may be half written.
    whole = lambda: waiting.read_bytes().splitlines(keepends=True) if waiting.exists() else []
    while sum(b'{"row":' in line and line.endswith(b"\n") for line in whole()) < 600:
        assert time.monotonic() < end and process.poll() is None, "the stream did not come so far"
        time.sleep(0.05)
    os.kill(int((state / "lock").read_text().split()[0]), signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def environment(fairfront, tmp_path):
    """The command under the name that the guide has for it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/fairfront").symlink_to(fairfront.binary)
    return os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}


def test_the_commands_of_the_guide(environment, tmp_path):
    folder = tmp_path / "guide"
    folder.mkdir()
    commands = list(blocks())
    assert len(commands) > 15
    for command, shown in commands:
        process = start(command, folder, environment)
        if KILLED in command:
            kill_when_rows_wait(process, folder / "live")
        said, _ = process.communicate(timeout=60)
        line = missing(shown, said.splitlines())
        assert line is None, f"{command}\nshould say: {line}\nbut says:\n{said}"
        fails = any(line.startswith("error: ") for line in shown) or KILLED in command
        assert (process.returncode != 0) == fails, f"{command}: {process.returncode}\n{said}"
