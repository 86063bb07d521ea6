"""Models of more than two classes: predictions, audits and exports, compared with numpy, scikit-learn, ONNX and SQL."""

import csv
import io
import json

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from conftest import REPOSITORY, is_number
from scipy.special import log_softmax, softmax
from seals import sealed
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
)
from test_export import sqlite

# Graphs add the terms of scores in the order of our kernels, databases in any order.
EXACT, NEAR = 0.0, 1e-12
CASE = REPOSITORY / "crates/fairfront-model/cases/model-classes.json"
CLASSES = ["low", "mid", "high"]


def table(rng, n):
    """Return rows with missing numbers, rare categories, odd names and a column with the name of a result."""
    rows = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n).round(1),
            "Score[mid]": rng.exponential(3.0, n).round(3),
            'jo"b': rng.choice(["cook", "o'neil", "Ünï", "clerk"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "sex": rng.choice(["F", "M"], n),
        }
    )
    level = 0.04 * (rows["age"] - 40) + 0.2 * rows["Score[mid]"] + 0.5 * (rows["sex"] == "M")
    level += 0.6 * (rows['jo"b'] == "cook") + rng.logistic(0, 0.7, n)
    rows["grade"] = np.select([level < 0.6, level < 1.6], ["low", "mid"], "high")
    rows.loc[rng.random(n) < 0.1, "age"] = np.nan
    return rows


def rows_of_case(rng, n):
    """Return rows for the committed model file."""
    rows = pd.DataFrame(
        {
            "age": rng.normal(38, 13, n).round(1),
            "pay": rng.normal(31_000, 10_000, n).round(-2),
            "job": rng.choice(["clerk", "nurse", "registered nurse", "driver", "pilot", ""], n),
            'home "town"': rng.choice(["O'Fallon", "Rome", "Oslo", "", "(missing)", "?"], n),
            "sex": rng.choice(["F", "M"], n),
            "grade": rng.choice(CLASSES, n),
        }
    )
    rows.loc[rng.random(n) < 0.1, "age"] = np.nan
    rows.loc[rng.random(n) < 0.1, "pay"] = -999
    return rows


class Model:
    """A model file, rows in a file, and their scores."""

    def __init__(self, folder, rows):
        self.folder, self.rows = folder, rows
        self.file = folder / "model.json"
        self.content = json.loads(self.file.read_text())
        rows.to_csv(folder / "new.csv", index=False)
        rules = self.content["encoding"]
        self.types = {rule["column"]: "DOUBLE PRECISION" for rule in rules["numeric"]}
        self.types |= {rule["column"]: "VARCHAR" for rule in rules["categorical"]}
        coefficients = self.content["coefficients"]
        assert list(coefficients) == list(self.content["intercept"]) == CLASSES
        features = encoded(self.content, rows)
        self.scores = np.empty((len(rows), len(CLASSES)))
        for column, (name, own) in enumerate(coefficients.items()):
            # In the order of our kernels, so that sums have the same bits.
            total = np.full(len(rows), self.content["intercept"][name])
            assert len(own) == len(features)
            for feature, coefficient in zip(features, own.values()):
                total = total + feature * coefficient
            self.scores[:, column] = total
        # No decision may be so close that rounding decides.
        two = np.sort(self.scores, axis=1)[:, -2:]
        assert (two[:, 1] - two[:, 0] > 1e-9).all()

    @property
    def probabilities(self):
        return softmax(self.content["calibration"]["slope"] * self.scores, axis=1)

    @property
    def decisions(self):
        return np.array(CLASSES)[self.scores.argmax(axis=1)]

    def changed(self, folder, factor):
        """Return the model with all coefficients multiplied by a factor."""
        multiplied = lambda values: {name: factor * value for name, value in values.items()}
        content = self.content | {
            "intercept": multiplied(self.content["intercept"]),
            "coefficients": {c: multiplied(own) for c, own in self.content["coefficients"].items()},
        }
        (folder / "model.json").write_text(sealed(content))
        return Model(folder, self.rows)


def encoded(model, rows):
    """Return the features of rows, computed from the rules of the encoding."""
    rules, features = model["encoding"], []
    missing = {"", *model["reading"]["missing_values"]}
    numbers = [float(text) for text in missing if is_number(text)]
    for rule in rules["numeric"]:
        values = rows[rule["column"]]
        values = values.mask(values.isin(numbers))
        features.append((values.fillna(rule["mean"]) - rule["shift"]) / rule["factor"])
        if rule.get("indicator", False):
            features.append(values.isna())
    for rule in rules["categorical"]:
        merged = rule.get("merge", {"categories": {}})["categories"]
        values = rows[rule["column"]].fillna("").map(lambda value: merged.get(value, value))
        own = rule["categories"]
        fallback = "(other)" if "(other)" in own else None
        no_value = "(missing)" if "(missing)" in own else fallback
        values = values.map(lambda v: no_value if v in missing else v if v in own else fallback)
        features += [values == category for category in own]
    return [feature.to_numpy(float) for feature in features]


@pytest.fixture(scope="module", params=["constructed", "fitted"])
def model(request, fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "constructed":
        (folder / "model.json").write_bytes(CASE.read_bytes())
        return Model(folder, rows_of_case(np.random.default_rng(5), 700))
    table(np.random.default_rng(3), 1_500).to_csv(folder / "rows.csv", index=False)
    fit = ["fit", folder / "rows.csv", "--target", "grade", "--sensitive", "sex"]
    fit += ["--order", ",".join(CLASSES), "--models", 6, "--pool-rare", 30, "--quiet"]
    fairfront(*fit, "--out", folder / "run")
    fairfront("select", folder / "run", "--model-id", 2, "--model", folder / "model.json")
    new = table(np.random.default_rng(4), 700)
    new.loc[::9, 'jo"b'] = "pilot"
    return Model(folder, new)


def predicted(fairfront, model, *more):
    out = model.folder / "p.csv"
    fairfront("predict", model.file, model.folder / "new.csv", "-o", out, "--force", *more)
    return pd.read_csv(out, keep_default_na=False, float_precision="round_trip")


def columns_of(result):
    return [f"{result}[{name}]" for name in CLASSES]


def test_model_files_have_parameters_by_class(model):
    content = model.content
    assert "threshold" not in content
    assert content["encoding"]["target"]["names"] == CLASSES
    assert content["encoding"]["target"]["ordered"] is True
    assert content["calibration"]["intercept"] == 0 and content["calibration"]["slope"] > 0


def test_predictions_follow_from_the_model_file(fairfront, model):
    found = predicted(fairfront, model)
    results = [*columns_of("score"), *columns_of("probability"), "decision"]
    assert list(found.columns) == [*results, "note"]
    np.testing.assert_allclose(found[columns_of("score")], model.scores, rtol=EXACT)
    probabilities = found[columns_of("probability")]
    np.testing.assert_allclose(probabilities, model.probabilities, rtol=NEAR)
    np.testing.assert_array_equal(found["decision"], model.decisions)
    text = fairfront("predict", model.file, model.folder / "new.csv", "--audit", "--json")
    said = json.loads(text)
    counts = pd.Series(model.decisions).value_counts()
    assert said["decisions"] == {name: counts.get(name, 0) for name in CLASSES}
    assert "selected" not in said and "probability_threshold" not in said


def test_parquet_has_the_same_predictions(fairfront, model):
    out = model.folder / "p.parquet"
    fairfront("predict", model.file, model.folder / "new.csv", "-o", out, "--force", "--keep", "sex")
    found, expected = pd.read_parquet(out), predicted(fairfront, model, "--keep", "sex")
    assert list(found.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(found.fillna("").astype(object), expected.astype(object), check_dtype=False)


def test_audit_agrees_with_scikit_learn(fairfront, model):
    rows = model.rows.assign(w=np.arange(len(model.rows)) % 3 + 0.5).astype(object)
    rows.loc[5, "grade"] = None
    rows.loc[7, "sex"] = None
    audited = model.folder / "audited.csv"
    rows.to_csv(audited, index=False)
    for weighted in [False, True]:
        args = ["--audit", "--json", *(["--weight", "w"] if weighted else [])]
        audit = json.loads(fairfront("predict", model.file, audited, *args))["audit"]
        assert audit["ordered"] is True and audit["unknown"] == {"label": 1, "group": {"sex": 1}}
        weight = (rows["w"] if weighted else pd.Series(1.0, rows.index)).to_numpy(float)
        used = rows["grade"].notna().to_numpy()
        every = (rows["grade"].to_numpy(), model.decisions, weight)
        check_rows(audit["overall"], *(values[used] for values in every))
        loss = log_softmax(model.content["calibration"]["slope"] * model.scores, axis=1)[used]
        place = [CLASSES.index(name) for name in rows["grade"][used]]
        own = -loss[np.arange(len(place)), place]
        assert audit["log_loss"] == pytest.approx(np.average(own, weights=weight[used]), rel=1e-9)
        (sex,) = audit["attributes"]
        of_groups = []
        for group in ["F", "M"]:
            keep = used & (rows["sex"] == group).to_numpy()
            check_rows(sex["groups"][group], *(values[keep] for values in every))
            of_groups.append(tuple(values[keep] for values in every))
        check_differences(sex, of_groups)


def check_rows(of, target, decision, weight):
    target, near = target.astype(str), lambda value: pytest.approx(value, rel=1e-9)
    options = {"sample_weight": weight}
    assert of["count"] == near(weight.sum())
    assert of["accuracy"] == near(accuracy_score(target, decision, **options))
    assert of["balanced_accuracy"] == near(balanced_accuracy_score(target, decision, **options))
    options |= {"labels": CLASSES, "average": None, "zero_division": np.nan}
    f1 = f1_score(target, decision, **options)
    assert of["macro_f1"] == near(np.nanmean(f1))
    recall = recall_score(target, decision, **options)
    precision = precision_score(target, decision, **options)
    for place, name in enumerate(CLASSES):
        own = of["classes"][name]
        assert own["count"] == near(weight[target == name].sum())
        at_least = np.isin(decision, CLASSES[place:])
        assert own["selection_rate"] == near(np.average(at_least, weights=weight))
        for value, expected in [("recall", recall), ("precision", precision), ("f1", f1)]:
            is_undefined = np.isnan(expected[place])
            assert own[value] == (None if is_undefined else near(expected[place]))


def check_differences(found, of_groups):
    """Compare differences between groups with their definitions; the classes are ordered."""

    def share(place, label=None):
        shares = []
        for target, decision, weight in of_groups:
            keep = np.full(len(target), True) if label is None else target == label
            at_least = np.isin(decision[keep], CLASSES[place:])
            shares.append(np.average(at_least, weights=weight[keep]))
        return shares

    near = lambda value: pytest.approx(value, rel=1e-9, abs=1e-12)
    largest = {"demographic_parity": [], "equal_opportunity": [], "equalized_odds": []}
    ratios = []
    for place, name in enumerate(CLASSES):
        shares = share(place)
        recalls = [
            np.average((decision == name)[target == name], weights=weight[target == name])
            for target, decision, weight in of_groups
        ]
        expected = {
            "demographic_parity": np.ptp(shares),
            "equal_opportunity": np.ptp(recalls),
            "equalized_odds": max(np.ptp(share(other, name)) for other in range(len(CLASSES))),
        }
        for measure, value in expected.items():
            assert found["classes"][name][f"{measure}_difference"] == near(value)
            largest[measure].append(value)
        ratios.append(min(shares) / max(shares))
    for measure, values in largest.items():
        assert found[f"{measure}_difference"] == near(max(values))
    assert found["demographic_parity_ratio"] == near(min(ratios))


def test_audit_prints_every_class(fairfront, model):
    text = fairfront("predict", model.file, model.folder / "new.csv", "--audit").decode()
    assert "Decisions compared with grade" in text
    for part in ["balanced accuracy", "macro F1", "recall", "precision", *CLASSES]:
        assert part in text, text


def test_onnx_gives_the_same_decisions(fairfront, model):
    graph = model.folder / "model.onnx"
    fairfront("export", model.file, "--format", "onnx", "-o", graph, "--force")
    proto = onnx.load(graph)
    onnx.checker.check_model(proto, full_check=True)
    said = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(said["fairfront.classes"]) == CLASSES
    assert said["fairfront.ordered"] == "true" and "fairfront.threshold" not in said
    assert "predicts grade" in proto.doc_string
    label, probabilities, score = run(graph, model)
    assert (probabilities.dtype, score.dtype) == (np.float64, np.float64)
    assert list(label) == list(model.decisions)
    np.testing.assert_allclose(score, model.scores, rtol=EXACT)
    np.testing.assert_allclose(probabilities, model.probabilities, rtol=NEAR)


def run(graph, model):
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["label", "probabilities", "score"]
    feed = {}
    for column in session.get_inputs():
        values = model.rows[[column.name]]
        is_text = column.type == "tensor(string)"
        feed[column.name] = values.fillna("").to_numpy(object) if is_text else values.to_numpy(float)
    return session.run(None, feed)


def query(fairfront, model, connection):
    """Return scores, probabilities and decisions of all rows, from a database."""
    statement = fairfront("export", model.file, "--format", "sql", "-o", "-").decode()
    assert "predicts grade" in statement.splitlines()[0]
    quote = lambda name: '"' + name.replace('"', '""') + '"'
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in model.types.items())
    connection.execute(f"CREATE TABLE input (place INTEGER, {columns})")
    rows = model.rows[list(model.types)].astype(object)
    rows = rows.where(rows.notna() & (rows != ""), None)
    values = [(place, *row) for place, row in enumerate(rows.itertuples(index=False))]
    marks = ", ".join("?" * (len(model.types) + 1))
    connection.executemany(f"INSERT INTO input VALUES ({marks})", values)
    text = f"SELECT * FROM ({statement.rstrip().removesuffix(';')}\n) AS t ORDER BY place"
    found = connection.execute(text)
    names = [column[0] for column in found.description]
    prefix = "model_" if "Score[mid]" in names else ""
    results = [*columns_of("score"), *columns_of("probability"), "decision"]
    results[1] = f"{prefix}score[mid]"
    assert names[-7:] == results
    rows = found.fetchall()
    numbers = np.array([row[-7:-1] for row in rows], dtype=float)
    return numbers[:, :3], numbers[:, 3:], [row[-1] for row in rows]


@pytest.mark.parametrize("program", ["sqlite", "duckdb"])
def test_sql_gives_the_same_decisions(fairfront, model, program):
    connection = sqlite() if program == "sqlite" else duckdb.connect()
    score, probabilities, decision = query(fairfront, model, connection)
    np.testing.assert_allclose(score, model.scores, rtol=NEAR, atol=NEAR)
    np.testing.assert_allclose(probabilities, model.probabilities, rtol=1e-11)
    assert decision == list(model.decisions)


def test_huge_scores_do_not_overflow(fairfront, model, tmp_path):
    huge = model.changed(tmp_path, 1e4)
    assert np.ptp(huge.scores, axis=1).max() > 1_000
    found = predicted(fairfront, huge)
    np.testing.assert_allclose(found[columns_of("probability")], huge.probabilities, rtol=1e-9, atol=1e-300)
    graph = tmp_path / "model.onnx"
    fairfront("export", huge.file, "--format", "onnx", "-o", graph)
    label, probabilities, score = run(graph, huge)
    assert list(label) == list(huge.decisions)
    np.testing.assert_allclose(probabilities, huge.probabilities, rtol=1e-9, atol=1e-300)
    for connection in [sqlite(), duckdb.connect()]:
        _, probabilities, decision = query(fairfront, huge, connection)
        np.testing.assert_allclose(probabilities, huge.probabilities, rtol=1e-8, atol=1e-290)
        assert decision == list(huge.decisions)


def test_the_table_has_coefficients_by_class(fairfront, model):
    text = fairfront("export", model.file, "--format", "table", "-o", "-").decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    coefficients = columns_of("coefficient")
    assert header == ["feature", "column", "category", *coefficients, "shift", "factor", "mean"]
    table = pd.DataFrame(rows, columns=header).set_index("feature")
    assert list(table.index[-2:]) == ["(intercept)", "(calibration slope)"]
    for name, column in zip(CLASSES, coefficients):
        own = table[column].astype(float)
        expected = model.content["coefficients"][name]
        assert list(own[:-2].items()) == list(expected.items())
        assert own["(intercept)"] == model.content["intercept"][name]
        assert own["(calibration slope)"] == model.content["calibration"]["slope"]


def test_unknown_classes_are_errors_with_their_place(fairfront, model):
    rows = model.rows.astype(object)
    rows.loc[2, "grade"] = "top"
    bad = model.folder / "bad.csv"
    rows.to_csv(bad, index=False)
    error = fairfront.error("predict", model.file, bad, "--audit")
    assert "row 3" in error and "not a class of the model" in error, error
    # The target is needed only for an audit.
    fairfront("predict", model.file, bad, "-o", model.folder / "x.csv", "--force")


def test_corrupted_models_are_rejected(fairfront, model, tmp_path):
    file = tmp_path / "model.json"
    content = model.content
    without = lambda values: dict(list(values.items())[1:])
    swapped = lambda values: dict(reversed(values.items()))
    for changes, expected in [
        ({"intercept": without(content["intercept"])}, "its scores do not match its target"),
        ({"intercept": swapped(content["intercept"])}, "its scores do not match its target"),
        ({"coefficients": swapped(content["coefficients"])}, "its scores do not match its target"),
        ({"intercept": 0.5}, "its scores do not match its target"),
        ({"threshold": 0.0}, "so it has no threshold"),
        ({"calibration": {"slope": 1.0, "intercept": 0.5}}, "the intercept of its calibration"),
        ({"intercept": {**content["intercept"], "mid": None}}, "a parameter is not a number"),
    ]:
        file.write_text(sealed(content | changes))
        error = fairfront.error("export", file, "--format", "table", "-o", "-")
        assert expected in error, error
