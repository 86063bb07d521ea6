"""Exported models of boosted trees and of probability columns give the same decisions in other programs."""

import csv
import io
import json

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from conftest import REPOSITORY
from seals import sealed
from test_export import sqlite

CASE = REPOSITORY / "crates/fairfront-model/cases/model-trees.json"
NUMERIC, CATEGORICAL = ["age", "pay"], ["job", 'home "town"']
JOBS = ["clerk", "nurse", "registered nurse", "driver", "(other)", "pilot", "", "NA"]
TOWNS = ["O'Fallon", "Rome", "Oslo", "(missing)", "", "?"]
INPUTS = ["age", "age (missing)", "pay", *CATEGORICAL]


def random_rows(rng, n):
    """Return rows with missing and unseen values, and numbers at the thresholds of the trees."""
    pick = lambda values: rng.choice(np.array(values, dtype=object), n)
    rows = pd.DataFrame(
        {
            "age": rng.normal(38, 14, n).round(1),
            "pay": rng.gamma(3, 9000, n).round(0),
            "job": pick(JOBS),
            'home "town"': pick(TOWNS),
            "p": rng.random(n).round(3),
            "b": rng.random(n).round(3),
            "w": rng.random(n).round(3),
        }
    )
    # (41.75 - 38.5) / 13 is 0.25, and (11124 + 1) / 1000 is 12.125: both go left.
    rows.loc[rng.random(n) < 0.1, "age"] = 41.75
    rows.loc[rng.random(n) < 0.1, "pay"] = 11124
    rows.loc[rng.random(n) < 0.1, "age"] = np.nan
    rows.loc[rng.random(n) < 0.1, "pay"] = -999
    rows.loc[rng.random(n) < 0.05, "p"] = np.nan
    rows.loc[rng.random(n) < 0.05, "p"] = 0.0
    rows.loc[rng.random(n) < 0.05, "b"] = 1.0
    return rows


def encoded(encoding, rows):
    """Return scaled numbers, and positions of categories, by input; -1 if a row has none."""
    columns = {}
    for rule in encoding["numeric"]:
        values = rows[rule["column"]].replace(-999, np.nan)
        filled = values.fillna(rule["mean"])
        columns[rule["column"]] = ((filled - rule["shift"]) / rule["factor"]).to_numpy()
        columns[f"{rule['column']} (missing)"] = values.isna().to_numpy(float)
    job = {"clerk": 0, "nurse": 1, "registered nurse": 1}
    columns["job"] = np.array([job.get(text, 2) for text in rows["job"]])
    town = {"O'Fallon": 0, "Rome": 1, "": 2, "?": 2, "NA": 2, "(missing)": 2}
    columns['home "town"'] = np.array([town.get(t, -1) for t in rows['home "town"']])
    return columns


def leaf(tree, columns, row):
    node = 0 if tree["input"] else -1
    while node >= 0:
        name = INPUTS[tree["input"][node]]
        value = columns[name][row]
        if name in CATEGORICAL:
            left = value in tree["categories"][node]
        else:
            left = value <= tree["threshold"][node]
        node = tree["left" if left else "right"][node]
    return tree["leaves"][-1 - node]


def probabilities(learner, columns, n):
    """Return the probabilities of a learner, rows x classes, by a plain reading of the file format."""
    ((kind, source),) = learner["source"].items()
    if kind == "trees":
        raw = np.tile(source["base"], (n, 1))
        for t, tree in enumerate(source["trees"]):
            raw[:, t % raw.shape[1]] += [leaf(tree, columns, row) for row in range(n)]
    else:
        values = [c["shift"] + c["factor"] * columns[c["column"]] for c in source]
        p = np.clip(np.array(values).T, 1e-9, 1 - 1e-9)
        raw = np.log(p / (1 - p)) if len(source) == 1 else np.log(p)
    scores = learner["calibration"]["slope"] * raw + learner["calibration"]["intercepts"]
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros((n, 1)), scores])
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def expected_scores(model, rows):
    encoding, n = model["encoding"], len(rows)
    columns = encoded(encoding, rows)
    learned = encoding["learned"]
    eta = probabilities(learned["outcome"], columns, n)[:, 1]
    groups = [probabilities(g["learner"], columns, n) for g in learned["groups"]]
    total = np.full(n, model["intercept"])
    for feature in learned["features"]:
        value = eta
        if feature["kind"] != "outcome":
            at = feature["kind"]["group"]
            group, gamma = learned["groups"][at["learner"]], groups[at["learner"]]
            ratio = lambda k: gamma[:, k] / group["shares"][k]
            value = ratio(at["class"]) - ratio(group["reference"])
            value = value * {"all": 1.0, "positive": eta, "negative": 1 - eta}[group["given"]]
        value = (value - feature["shift"]) / feature["factor"]
        total = total + value * model["coefficients"][feature["name"]]
    coefficients = model["coefficients"]
    total = total + columns["age"] * coefficients.get("age", 0.0)
    for at, town in enumerate(["O'Fallon", "Rome", "(missing)"]):
        total = total + (columns['home "town"'] == at) * coefficients.get(f'home "town"={town}', 0.0)
    return total


def trees():
    return json.loads(CASE.read_text())


def two_groups():
    """Trees for two groups among negatives, and terms of encoded columns."""
    model = trees()
    learned = model["encoding"]["learned"]
    group = learned["groups"][0]
    forest = group["learner"]["source"]["trees"]
    forest["base"], forest["trees"] = forest["base"][:1], forest["trees"][:4]
    group["learner"]["calibration"]["intercepts"] = [0.02]
    group |= {"given": "negative", "classes": ["Black", "White"], "shares": [0.15, 0.3]}
    del learned["features"][2], model["coefficients"]["trees: race=(other)"]
    model["coefficients"] |= {"age": 0.125, "home \"town\"=Rome": -0.5}
    return model


def unmitigated():
    """Only the probability of the outcome is used, so the trees of the groups are not exported."""
    model = trees()
    model["coefficients"] |= {"trees: race=Black": 0.0, "trees: race=(other)": 0.0}
    return model


def constant():
    """Learners without any test."""
    model = trees()
    model["coefficients"]["age"] = 0.5
    learned = model["encoding"]["learned"]
    for learner in [learned["outcome"], learned["groups"][0]["learner"]]:
        learner["source"]["trees"]["trees"] = []
    return model


def columns():
    """Probabilities from columns of the file."""
    model = trees()
    encoding = model["encoding"]
    encoding["numeric"] += [
        {"column": name, "shift": 0.4, "factor": 0.3, "mean": 0.45} for name in "pbw"
    ]
    column = lambda name: {"column": name, "position": 3 + "pbw".index(name), "shift": 0.4, "factor": 0.3}
    learned = encoding["learned"]
    learned["outcome"]["source"] = {"columns": [column("p")]}
    group = learned["groups"][0]["learner"]
    group["source"] = {"columns": [column("b"), column("w"), column("p")]}
    coefficients = list(model["coefficients"].items())
    added = [(name, 0.0) for name in "pbw"]
    model["coefficients"] = dict(coefficients[:3] + added + coefficients[3:])
    return model


MODELS = [trees, two_groups, unmitigated, constant, columns]
READ = {
    "two_groups": [*NUMERIC, *CATEGORICAL],
    "trees": [*NUMERIC, *CATEGORICAL],
    "unmitigated": [*NUMERIC, *CATEGORICAL],
    "constant": ["age"],
    "columns": ["p", "b", "w"],
}


class Case:
    """A model in a file, rows, and their scores from the command and from numpy."""

    def __init__(self, fairfront, folder, name, content):
        self.fairfront, self.folder = fairfront, folder
        self.columns = READ[name]
        self.model = content
        (folder / "model.json").write_text(sealed(content))
        self.rows = random_rows(np.random.default_rng(11), 3000)
        self.rows.to_csv(folder / "rows.csv", index=False)
        out = fairfront("predict", folder / "model.json", folder / "rows.csv", "-o", "-")
        predicted = pd.read_csv(io.BytesIO(out))
        self.scores = predicted["score"].to_numpy()
        self.decisions = predicted["decision"].to_numpy()
        self.probabilities = predicted["probability"].to_numpy()

    def check(self, score, probability, decision):
        np.testing.assert_allclose(score, self.scores, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(probability, self.probabilities, rtol=1e-12)
        np.testing.assert_array_equal(decision, self.decisions)

    def export(self, form):
        path = self.folder / f"model.{form}"
        self.fairfront("export", self.folder / "model.json", "--format", form, "-o", path, "--force")
        return path

    def sql(self, run):
        rows = self.rows[self.columns].astype(object)
        quoted = ['"' + name.replace('"', '""') + '"' for name in self.columns]
        types = ["VARCHAR(99)" if c in CATEGORICAL else "DOUBLE PRECISION" for c in self.columns]
        declared = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, types))
        run(f'CREATE TABLE input ("row number" INTEGER, {declared})')
        rows = rows.where(rows.notna(), None)
        marks = "(" + ", ".join("?" * (len(quoted) + 1)) + ")"
        for start in range(0, len(rows), 500):
            part = rows.iloc[start : start + 500]
            values = [v for i, row in enumerate(part.to_numpy(), start) for v in (i, *row)]
            run(f"INSERT INTO input VALUES {', '.join([marks] * len(part))}", values)
        statement = self.export("sql").read_text().rstrip().removesuffix(";")
        done = run(f'SELECT * FROM ({statement}\n) AS t ORDER BY "row number"')
        found = done.fetchall()
        assert len(found[0]) == 1 + len(self.columns) + 3
        return np.array([row[-3:] for row in found], dtype=float).T


@pytest.fixture(params=MODELS, ids=lambda make: make.__name__, scope="module")
def case(request, fairfront, tmp_path_factory):
    name = request.param.__name__
    return Case(fairfront, tmp_path_factory.mktemp(name), name, request.param())


def test_predict_agrees_with_numpy(case):
    expected = expected_scores(case.model, case.rows)
    np.testing.assert_allclose(case.scores, expected, rtol=1e-12, atol=1e-13)
    assert 0.05 < case.decisions.mean() < 0.95 or case.columns == ["age"]


def test_only_used_columns_are_read(case, tmp_path):
    case.rows[case.columns].to_csv(tmp_path / "rows.csv", index=False, na_rep="NA")
    out = case.fairfront("predict", case.folder / "model.json", tmp_path / "rows.csv", "-o", "-")
    scores = pd.read_csv(io.BytesIO(out))["score"]
    np.testing.assert_array_equal(scores, case.scores)


def test_onnx(case):
    path = case.export("onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == case.columns
    rows = case.rows
    for sample in [slice(None), slice(1)]:
        feed = {c: rows[[c]].iloc[sample] for c in case.columns}
        feed = {c: v.to_numpy(object if c in CATEGORICAL else float) for c, v in feed.items()}
        label, probabilities, score = session.run(None, feed)
        if len(score) == len(rows):
            case.check(score, probabilities[:, 1], label)
        else:
            np.testing.assert_allclose(score, case.scores[:1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("connect", [sqlite, duckdb.connect], ids=["sqlite", "duckdb"])
def test_sql(case, connect):
    case.check(*case.sql(connect().execute))


def test_table(case):
    header, *rows = csv.reader(io.StringIO(case.export("table").read_text(), newline=""))
    seen = {row[0]: float(row[3]) for row in rows}
    coefficients = case.model["coefficients"]
    assert list(seen.items())[: len(coefficients)] == list(coefficients.items())
    by_name = {row[0]: row for row in rows}
    for feature in case.model["encoding"]["learned"]["features"]:
        row = by_name[feature["name"]]
        assert row[1:3] == ["", ""]
        assert list(map(float, row[4:6])) == [feature["shift"], feature["factor"]]
