"""Streams that are killed at any moment and resumed end with the same bytes as uninterrupted ones.

FAIRFRONT_KILLS is the total number of kills (default: 10).
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from streaming import NUMBER_SPEC, SPEC, changing, contents, start, text_of, with_bad_rows, with_incomes

KILLS = int(os.environ.get("FAIRFRONT_KILLS", "10"))
# Flags for the rows to keep, and whether rows come from files or from standard input.
CASES = {
    "all-files": ([], "files"),
    "all-stdin": ([], "stdin"),
    "window-files": (["--window", "310"], "files"),
    "window-stdin": (["--window", "100"], "stdin"),
    "reservoir-files": (["--reservoir", "120"], "files"),
    "reservoir-stdin": (["--reservoir", "120"], "stdin"),
    "number-files": (["--window", "310"], "files", NUMBER_SPEC),
    "number-stdin": ([], "stdin", NUMBER_SPEC),
}


@pytest.fixture(scope="module")
def inputs(fairfront, tmp_path_factory):
    """Two files, and one file with the rows of both."""
    folder = tmp_path_factory.mktemp("inputs")
    text = with_incomes(with_bad_rows(text_of(changing(fairfront))), {520: "much", 610: "1e60"})
    lines = text.splitlines(keepends=True)
    (folder / "first.csv").write_text("".join(lines[:391]))
    (folder / "second.csv").write_text("".join([lines[0], *lines[391:]]))
    (folder / "whole.csv").write_text(text)
    return folder


def is_done(process, seconds):
    try:
        process.wait(timeout=seconds)
        return True
    except subprocess.TimeoutExpired:
        return False


class Case:
    def __init__(self, fairfront, inputs, keep, source, spec=SPEC):
        self.fairfront, self.source, self.inputs = fairfront, source, inputs
        self.flags = [*spec, *keep, "--json", "--flush"]

    def start(self, state, skip):
        if self.source == "files":
            files = [self.inputs / "first.csv", self.inputs / "second.csv"]
            return start(self.fairfront, state, *files, *self.flags)
        with open(self.inputs / "whole.csv", "rb") as text:
            return start(self.fairfront, state, "-", *self.flags, *skip, stdin=text)

    def whole(self, state):
        begun = time.monotonic()
        process = self.start(state, [])
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err.decode()
        return contents(state), time.monotonic() - begun

    def killed(self, state, rng, seconds, kills):
        """Kill the stream until it ends by itself or there are enough kills, and return their number."""
        done, stored = 0, 0
        while True:
            # Half of the calls skip the rows that were reported as stored; the others send everything again.
            skip = ["--skip", str(stored if rng.random() < 0.5 else 0)]
            process = self.start(state, skip)
            patience = rng.random() * seconds * 0.7 if done < kills else 60
            ended = is_done(process, patience)
            if not ended:
                gently = rng.random() < 0.2
                process.send_signal(signal.SIGINT if gently else signal.SIGKILL)
            out, err = process.communicate(timeout=60)
            for line in out.decode().splitlines():
                if line.endswith("}"):
                    stored = max(stored, json.loads(line).get("stdin_rows", 0))
            if ended or process.returncode == 0:
                assert process.returncode == 0, err.decode()
                return done
            # Ctrl-C may come before its handler is set.
            ends = (-signal.SIGKILL, -signal.SIGINT, 130)
            assert process.returncode in ends, err.decode()
            done += 1


@pytest.mark.parametrize("name", CASES)
def test_killed_at_any_moment(fairfront, inputs, tmp_path, name):
    case = Case(fairfront, inputs, *CASES[name])
    expected, seconds = case.whole(tmp_path / "whole")
    assert "rejected.csv" in expected
    seed = random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    left = KILLS // len(CASES) + (list(CASES).index(name) < KILLS % len(CASES))
    while left > 0:
        state = tmp_path / "killed"
        left -= max(1, case.killed(state, rng, seconds, left))
        found = contents(state)
        other = [f for f in {*expected, *found} if expected.get(f) != found.get(f)]
        assert not other, f"seed {seed}, {left} kills left: {other} differ"
        shutil.rmtree(state)


def test_killed_while_a_file_grows(fairfront, inputs, tmp_path):
    text = (inputs / "whole.csv").read_bytes()
    fairfront("stream", tmp_path / "whole", inputs / "whole.csv", *SPEC, "--quiet")
    rng = random.Random(7)
    log, at = tmp_path / "log.csv", 0
    log.touch()
    for _ in range(4):
        process = start(fairfront, tmp_path / "state", log, *SPEC, "--follow", "--json")
        end = time.monotonic() + rng.random() * 0.5
        while time.monotonic() < end and process.poll() is None:
            piece = rng.randrange(1, 9000)
            with log.open("ab") as grown:
                grown.write(text[at : at + piece])
            at += piece
            time.sleep(0.01)
        assert process.poll() is None, process.stderr.read().decode()
        process.kill()
        process.communicate()
    with log.open("ab") as grown:
        grown.write(text[at:])
    fairfront("stream", tmp_path / "state", log, *SPEC, "--quiet")
    names = ["front.parquet", "encoding.json", "rows/000001.rows", "rows/000005.rows"]
    expected = contents(tmp_path / "whole", names)
    assert contents(tmp_path / "state", names) == expected and all(expected.values())


def test_a_killed_stream_can_be_read(fairfront, inputs, tmp_path):
    """After a kill at any moment, the state can be read, or the error is clear."""
    rng = random.Random(3)
    files = [inputs / "first.csv", inputs / "second.csv"]
    for _ in range(4):
        process = start(fairfront, tmp_path / "state", *files, *SPEC, "--quiet")
        is_done(process, 0.1 + rng.random() * 0.5)
        process.kill()
        process.communicate()
        done = fairfront.run("show", tmp_path / "state", "--json")
        if done.returncode == 0:
            assert len(json.loads(done.stdout)) > 1
        else:
            assert done.returncode == 1 and done.stderr.startswith(b"error: "), done.stderr
    fairfront("stream", tmp_path / "state", *files, *SPEC, "--quiet")
    fairfront("show", tmp_path / "state")
