"""Output in a terminal: control characters, width and details."""

import json
import os
import pty
import struct
import subprocess
import termios
from fcntl import ioctl

import numpy as np
import pandas as pd

# Clears the screen, rings the bell, and reverses the text.
HOSTILE = "\x1b[2Jage\x07\u202e"


def hostile(path):
    rng = np.random.default_rng(0)
    group = rng.choice(["a\x1b[31m", "b\u2066"], 400)
    x = rng.normal(size=400) + (group == "b\u2066")
    y = np.where(x + rng.normal(size=400) > 0.5, "yes\x07", "no")
    pd.DataFrame({HOSTILE: x, "z": rng.normal(size=400), "group": group, "y": y}).to_csv(path, index=False)
    return path


def test_no_command_prints_control_characters(fairfront, tmp_path):
    table = hostile(tmp_path / "rows.csv")
    spec = [table, "--target", "y", "--positive", "yes\x07", "--sensitive", "group"]
    run, model = tmp_path / "run", tmp_path / "model.json"
    said = [fairfront.run("inspect", *spec), fairfront.run("fit", *spec, "--out", run)]
    said.append(fairfront.run("select", run, "--model-id", 1, "--model", model))
    said.append(fairfront.run("show", run))
    said.append(fairfront.run("verify", run, table))
    said.append(fairfront.run("predict", model, table, "--audit", "--output", tmp_path / "scores.csv"))
    said.append(fairfront.run("inspect", *spec[:-1], "\x1b[31mnot there"))
    for done in said[:-1]:
        assert done.returncode == 0, done.stderr
    for done in said:
        text = (done.stdout + done.stderr).decode()
        assert not set("\x1b\r\x07\u202e\u2066\x9b") & set(text), done.args


def test_json_has_unchanged_names(fairfront, tmp_path):
    found = json.loads(fairfront("inspect", hostile(tmp_path / "rows.csv"), "--json"))
    assert HOSTILE in [column["name"] for column in found["columns"]]


def on_a_terminal(fairfront, columns, *args):
    """Standard output of the command on a terminal of this width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [fairfront.binary, *map(str, args)]
    # LC_ALL: the plot uses Braille, in which every character is one column wide.
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, env=os.environ | {"LC_ALL": "C.UTF-8"}
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        output += read
    os.close(ours)
    assert process.wait(60) == 0
    return output.decode().replace("\r\n", "\n")


def test_no_line_is_wider_than_the_terminal(fairfront, tmp_path):
    for name, solver in [("weighted", "weighted"), ("pf-smg", "pf-smg")]:
        options = ["--models", "20"] if solver == "pf-smg" else []
        fairfront("fit", "demo(rows=900)", "--solver", solver, *options, "--out", tmp_path / name, "--quiet")
    run, other = tmp_path / "weighted", tmp_path / "pf-smg"
    commands = [
        ("show", run),
        ("select", run, "--knee"),
        ("compare", run, other, "--verbose"),
        ("compare", run, other, "--by", "measures"),
        ("verify", run, "--verbose"),
        ("inspect", "demo(rows=900)"),
    ]
    for columns in (60, 80, 120):
        for command in commands:
            lines = on_a_terminal(fairfront, columns, *command).splitlines()
            assert len(lines) > 5, command
            # A path is one word, which is not broken.
            wide = [line for line in lines if len(line) > columns and str(tmp_path) not in line]
            assert not wide, (columns, command, wide)


def test_details_are_printed_if_asked_for(fairfront, tmp_path):
    run = tmp_path / "run"
    arguments = ["fit", "demo(rows=900)", "--out", run, "--force"]
    assert "gradient evaluations" not in fairfront(*arguments).decode()
    assert "gradient evaluations" in fairfront(*arguments, "--verbose").decode()
    short, long = fairfront("verify", run).decode(), fairfront("verify", run, "-v").decode()
    assert len(short.splitlines()) == 2 and "measures, test rows" in long
    assert short.splitlines()[-1] == long.splitlines()[-1]
