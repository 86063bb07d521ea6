"""Names from files cannot steer the terminal or reorder what a person reads."""

import json

import numpy as np
import pandas as pd

# Clears the screen, rings, and turns the text around.
HOSTILE = "\x1b[2Jage\x07\u202e"


def hostile(path):
    rng = np.random.default_rng(0)
    group = rng.choice(["a\x1b[31m", "b\u2066"], 400)
    x = rng.normal(size=400) + (group == "b\u2066")
    y = np.where(x + rng.normal(size=400) > 0.5, "yes\x07", "no")
    pd.DataFrame({HOSTILE: x, "z": rng.normal(size=400), "group": group, "y": y}).to_csv(path, index=False)
    return path


def test_no_command_passes_control_characters_on(fairfront, tmp_path):
    table = hostile(tmp_path / "rows.csv")
    spec = [table, "--target", "y", "--positive", "yes\x07", "--sensitive", "group"]
    run, model = tmp_path / "run", tmp_path / "model.json"
    said = [fairfront.run("inspect", *spec), fairfront.run("fit", *spec, "--out", run)]
    said.append(fairfront.run("select", run, "--id", 0, "--model", model))
    said.append(fairfront.run("show", run))
    said.append(fairfront.run("verify", run, table))
    said.append(fairfront.run("predict", model, table, "--audit", "--output", tmp_path / "scores.csv"))
    said.append(fairfront.run("inspect", *spec[:-1], "\x1b[31mnot there"))
    for done in said[:-1]:
        assert done.returncode == 0, done.stderr
    for done in said:
        text = (done.stdout + done.stderr).decode()
        assert not set("\x1b\r\x07\u202e\u2066\x9b") & set(text), done.args


def test_programs_get_names_as_they_are(fairfront, tmp_path):
    found = json.loads(fairfront("inspect", hostile(tmp_path / "rows.csv"), "--json"))
    assert HOSTILE in [column["name"] for column in found["columns"]]
