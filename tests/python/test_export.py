"""Exported models give the same decisions in other programs as encoded rows and coefficients do in numpy."""

import csv
import io
import json
import math
import sqlite3

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from scipy.special import expit

SPLITS = ["train", "validation", "test"]
# The same operations in the same order give the same bits. Databases guarantee neither the rounding of literals nor the
# order of sums.
EXACT, NEAR = 0.0, 1e-12
QUICK = ["--solver", "trace", "--models", "12", "--quiet"]


def add_up(model, features):
    """Return scores of encoded rows, added up in the order of the features, the intercept first."""
    total = np.full(len(features), model["intercept"])
    for name, coefficient in model["coefficients"].items():
        total = total + features[name].to_numpy(float) * coefficient
    return total


def calibrated(model, scores):
    """Return the probabilities of scores."""
    calibration = model["calibration"]
    return expit(calibration["slope"] * scores + calibration["intercept"])


class Exported:
    """A model, raw rows, their correct scores, and the results of other programs."""

    def __init__(self, fairfront, folder, model, rows, scores):
        self.fairfront, self.folder, self.model = fairfront, folder, model
        self.rows, self.scores = rows, scores
        rules = model["encoding"]
        self.numeric = [rule["column"] for rule in rules["numeric"]]
        self.categorical = [rule["column"] for rule in rules["categorical"]]
        # No score may be so close to the threshold that rounding decides.
        assert not (abs(scores - model["threshold"]) < 1e-9).any()

    def text(self, form):
        return self.fairfront("export", self.folder / "model.json", "--format", form, "-o", "-")

    def graph(self):
        path = self.folder / "model.onnx"
        file = [self.folder / "model.json", "--format", "onnx", "-o", path, "--force"]
        assert self.fairfront("export", *file) == b""
        return path

    def onnx(self):
        session = onnxruntime.InferenceSession(self.graph(), providers=["CPUExecutionProvider"])
        feed = {c: self.rows[[c]].to_numpy(float) for c in self.numeric}
        feed |= {c: self.rows[[c]].fillna("").to_numpy(object) for c in self.categorical}
        assert [i.name for i in session.get_inputs()] == [*self.numeric, *self.categorical]
        return [o.name for o in session.get_outputs()], session.run(None, feed)

    def sql(self, run):
        """Return score, probability and decision of every row, from a program that runs SQL."""
        quote = lambda name: '"' + name.replace('"', '""') + '"'
        types = dict.fromkeys(self.numeric, "DOUBLE PRECISION")
        types |= dict.fromkeys(self.categorical, "VARCHAR(99)")
        columns = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
        run(f'CREATE TABLE input ("row number" INTEGER, {columns})')
        table = self.rows[list(types)].astype(object)
        table = table.where(table.notna(), None)
        # Some programs are slow to insert single rows.
        for start in range(0, len(table), 500):
            part = table.iloc[start : start + 500]
            values = [v for i, row in enumerate(part.to_numpy(), start) for v in (i, *row)]
            marks = "(" + ", ".join("?" * (len(types) + 1)) + ")"
            run(f"INSERT INTO input VALUES {', '.join([marks] * len(part))}", values)
        statement = self.text("sql").decode().rstrip().removesuffix(";")
        rows = run(f'SELECT * FROM ({statement}\n) AS t ORDER BY "row number"').fetchall()
        return np.array([row[-3:] for row in rows], dtype=float).T

    def check(self, score, probability, decision, tolerance):
        np.testing.assert_allclose(score, self.scores, rtol=tolerance, atol=tolerance)
        expected = calibrated(self.model, self.scores)
        np.testing.assert_allclose(probability, expected, rtol=1e-12, atol=1e-300)
        np.testing.assert_array_equal(decision, self.scores >= self.model["threshold"])


@pytest.fixture(scope="module")
def adult_model(fairfront, adult, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adult")
    split = ["adult:sex", "--split", "none"]
    fairfront("fit", *split, *QUICK, "--out", folder / "run")
    model = fairfront.model(folder / "run", 6, folder / "model.json")
    rows = adult.dropna().reset_index(drop=True)
    encoded = fairfront.encoded(*split)
    assert len(rows) == len(encoded) == 45_222
    return Exported(fairfront, folder, model, rows, add_up(model, encoded))


NUMBER, CODE, JOB, TOWN, PET = 'in"come €', "score", 'job\'s "title"', "select *; --", "#1"
SHIFT = "two\nlines 'n' 名"
JOBS = ["cook", "chef", "o'neil", 'a "b"', "line\nbreak", "back\\slash", "Ünï", "(other)", "smith"]


def nasty_table(rng, n):
    """Return rows with odd names and categories, many marks of missing values, and unseen categories in test rows."""
    pick = lambda values, p=None: rng.choice(np.array(values, dtype=object), n, p=p)
    table = pd.DataFrame(
        {
            NUMBER: pick([None, *range(8)]),
            CODE: rng.normal(1e6, 3.7e-3, n),
            JOB: pick([*JOBS, ""]),
            SHIFT: pick(JOBS),
            TOWN: pick(["Rome", "Oslo", "Lima", "Bern", "Thun"], [0.5, 0.4, 0.08, 0.01, 0.01]),
            PET: pick(["cat", "dog", "UNKNOWN", "unknown", "?", "ä.", "Ä.", ""]),
            "Decision": pick(["0", "1"]),
            "sex": pick(["F", "M"]),
            "part": pick(SPLITS, [0.6, 0.1, 0.3]),
        }
    )
    table[NUMBER] = [f"{v + rng.random():.3f}" if v is not None else "" for v in table[NUMBER]]
    table.loc[rng.random(n) < 0.1, NUMBER] = "-999"
    table.loc[rng.random(n) < 0.1, NUMBER] = "Unknown"
    chance = (table[JOB].isin(JOBS[:4])) * 0.3 + (table["sex"] == "F") * 0.2
    table["y"] = np.where(rng.random(n) < 0.25 + chance, "yes, it's", "no")
    test = table["part"] == "test"
    for column, unseen in [(JOB, "pilot"), (TOWN, "Paris"), (PET, "Cat"), (PET, "(missing)")]:
        table.loc[test & (rng.random(n) < 0.1), column] = unseen
    return table


@pytest.fixture(scope="module")
def nasty(fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    table = nasty_table(np.random.default_rng(8), 3000)
    table.to_csv(folder / "t.csv", index=False)
    job = json.dumps(JOB)
    args = [folder / "t.csv", "--target", "y", "--positive", "yes, it's", "--sensitive", "sex"]
    args += ["--split", "column:part", "--missing", "keep", "--pool-rare", "60"]
    args += ["--merge", f"{job}=kitchen:cook,chef", "--merge", f'{job}="rest of":*']
    for mark in ["?", "-999", "unknown", "Ä."]:
        args.append(f"--missing-value={mark}")
    fairfront("fit", *args, *QUICK, "--out", folder / "run")
    model = fairfront.model(folder / "run", 4, folder / "model.json")
    rows = table.copy()
    rows[NUMBER] = pd.to_numeric(rows[NUMBER], errors="coerce")
    encoded = fairfront.encoded(*args)
    assert len(rows) == len(encoded)
    return Exported(fairfront, folder, model, rows, add_up(model, encoded))


@pytest.fixture(params=["adult", "nasty"])
def exported(request):
    return request.getfixturevalue("adult_model" if request.param == "adult" else "nasty")


def test_the_nasty_table_has_every_kind_of_rule(nasty):
    rules = nasty.model["encoding"]
    categorical = {rule["column"]: rule for rule in rules["categorical"]}
    assert [rule["column"] for rule in rules["numeric"] if rule.get("indicator")] == [NUMBER]
    assert categorical[JOB]["categories"] == ["kitchen", "rest of", "(missing)"]
    assert categorical[TOWN]["pooled"] == ["Bern", "Thun"]
    assert categorical[PET]["categories"][-1] == "(missing)"
    assert "ä." in categorical[PET]["categories"]
    assert categorical[SHIFT]["categories"] == sorted(JOBS)
    assert nasty.model["reading"]["missing_values"][-3:] == ["-999", "unknown", "Ä."]
    assert (nasty.rows[NUMBER] == -999).any()


def test_onnx(exported):
    names, (label, probabilities, score) = exported.onnx()
    prefix = "model_" if CODE in exported.numeric else ""
    assert names == ["label", "probabilities", f"{prefix}score"]
    assert (label.dtype, probabilities.dtype, score.dtype) == (np.int64, np.float64, np.float64)
    assert probabilities.shape == (len(score), 2) and label.shape == score.shape
    calibration = exported.model["calibration"]
    odds = calibration["slope"] * score + calibration["intercept"]
    np.testing.assert_allclose(probabilities[:, 0], expit(-odds), rtol=1e-12)
    exported.check(score, probabilities[:, 1], label, EXACT)


def test_the_graph_is_valid_and_has_its_origin(exported):
    graph = onnx.load(exported.graph())
    onnx.checker.check_model(graph, full_check=True)
    said = {entry.key: entry.value for entry in graph.metadata_props}
    target = exported.model["encoding"]["target"]
    assert said["fairfront.positive"] == target["positive"]
    assert said["fairfront.front_sha256"] == exported.model["provenance"]["front_sha256"]
    assert f"1 is {target['column']} = {target['positive']}" in graph.doc_string
    assert (graph.ir_version, graph.producer_name) == (7, "fairfront")


def sqlite():
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("SELECT EXP(1)")
    except sqlite3.OperationalError:
        # Some builds of SQLite have no mathematical functions.
        connection.create_function("exp", 1, math.exp, deterministic=True)
        connection.create_function("ln", 1, math.log, deterministic=True)
    return connection


def test_sqlite(exported):
    exported.check(*exported.sql(sqlite().execute), NEAR)


def test_duckdb(exported):
    exported.check(*exported.sql(duckdb.connect().execute), NEAR)


def test_table(exported):
    header, *rows = csv.reader(io.StringIO(exported.text("table").decode(), newline=""))
    assert header == ["feature", "column", "category", "coefficient", "shift", "factor", "mean"]
    seen = {row[0]: float(row[3]) for row in rows}
    model = exported.model
    ends = {"(intercept)": model["intercept"], "(threshold)": model["threshold"]}
    ends |= {f"(calibration {name})": value for name, value in model["calibration"].items()}
    assert list(seen.items()) == list((model["coefficients"] | ends).items())
    by_name = {row[0]: row for row in rows}
    for rule in model["encoding"]["numeric"]:
        row = by_name[rule["column"]]
        assert row[1:3] == [rule["column"], ""]
        assert list(map(float, row[4:])) == [rule["shift"], rule["factor"], rule["mean"]]
    for rule in model["encoding"]["categorical"]:
        for category in rule["categories"]:
            assert by_name[f"{rule['column']}={category}"][1:3] == [rule["column"], category]


def test_adult_with_missing_and_unseen_values(adult_model, adult):
    """In rows left out of training, a missing number becomes the mean, and a missing or new category adds nothing."""
    rules = adult_model.model["encoding"]
    rows = adult[adult.isna().any(axis=1)].reset_index(drop=True)
    rows.loc[::3, "age"] = np.nan
    rows.loc[::5, "relationship"] = "Cousin"
    features = {}
    for rule in rules["numeric"]:
        filled = rows[rule["column"]].fillna(rule["mean"])
        features[rule["column"]] = (filled - rule["shift"]) / rule["factor"]
    for rule in rules["categorical"]:
        merge = rule.get("merge", {"categories": {}})
        become = {
            v: merge["categories"].get(v, merge.get("rest", v)) for v in set(rows[rule["column"]])
        }
        merged = rows[rule["column"]].map(become, na_action="ignore")
        for category in rule["categories"]:
            features[f"{rule['column']}={category}"] = merged == category
    scores = add_up(adult_model.model, pd.DataFrame(features))
    other = Exported(adult_model.fairfront, adult_model.folder, adult_model.model, rows, scores)
    _, (label, probabilities, score) = other.onnx()
    other.check(score, probabilities[:, 1], label, EXACT)
    other.check(*other.sql(duckdb.connect().execute), NEAR)


def test_huge_scores_and_moved_thresholds(fairfront, nasty, tmp_path):
    """No program fails because exp overflows, and decisions follow the threshold."""
    coefficients = {name: 1e4 * c for name, c in nasty.model["coefficients"].items()}
    changes = {"coefficients": coefficients, "threshold": -321.5}
    model = fairfront.model(nasty.folder / "run", 4, tmp_path / "model.json", **changes)
    rows = nasty.rows
    scores = 1e4 * (nasty.scores - model["intercept"]) + model["intercept"]
    huge = Exported(fairfront, tmp_path, model, rows, scores)
    _, (label, probabilities, score) = huge.onnx()
    assert score.min() < -750 and score.max() > 750
    np.testing.assert_allclose(score, scores, rtol=1e-10, atol=1e-8)
    np.testing.assert_array_equal(label, scores >= -321.5)
    expected = calibrated(model, score)
    np.testing.assert_allclose(probabilities[:, 1], expected, rtol=1e-12, atol=1e-300)
    for connection in [sqlite(), duckdb.connect()]:
        seen, probability, decision = huge.sql(connection.execute)
        np.testing.assert_allclose(seen, score, rtol=1e-12, atol=1e-8)
        np.testing.assert_allclose(probability, expected, rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(decision, label)


def test_nan_in_a_database_is_missing(nasty):
    connection = duckdb.connect()
    score = nasty.sql(connection.execute)[0]
    connection.execute("ALTER TABLE input RENAME TO given")
    name = '"' + NUMBER.replace('"', '""') + '"'
    view = f"CREATE VIEW input AS SELECT * REPLACE (COALESCE({name}, 'NaN') AS {name}) FROM given"
    connection.execute(view)
    statement = nasty.text("sql").decode().rstrip().removesuffix(";")
    query = f'SELECT * FROM ({statement}\n) AS t ORDER BY "row number"'
    assert [row[-3] for row in connection.execute(query).fetchall()] == list(score)
