"""Models that predict a number: predictions, audits and exports, compared with numpy, scikit-learn, ONNX and SQL."""

import csv
import io
import json
import sqlite3

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    root_mean_squared_error,
)

# Sums of a dozen terms, in the same order in a graph and in any order in a database.
EXACT, NEAR = 0.0, 1e-12
AGE, PAY, JOB = 'a"ge €', "Prediction", "job's title"
TARGET = ["--target", "pay", "--sensitive", "sex", "--numeric"]


def table(rng, n):
    """Return rows with missing numbers, rare and unseen categories, and a column with the name of a result."""
    rows = pd.DataFrame(
        {
            AGE: rng.normal(40, 12, n).round(1),
            PAY: rng.exponential(3.0, n),
            JOB: rng.choice(["cook", "o'neil", "Ünï", "clerk"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "sex": rng.choice(["F", "M"], n),
        }
    )
    bonus = 4_000 * (rows["sex"] == "M") + 3_000 * (rows[JOB] == "cook")
    rows["pay"] = 30_000 + 200 * rows[AGE] + 900 * rows[PAY] + bonus + rng.normal(0, 2_000, n)
    rows.loc[rng.random(n) < 0.1, AGE] = np.nan
    return rows


@pytest.fixture(scope="module")
def fitted(fairfront, tmp_path_factory):
    """Return a folder with a model file and the rows that it was fitted on."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = table(np.random.default_rng(3), 1_500)
    rows.to_csv(folder / "rows.csv", index=False)
    fit = ["fit", folder / "rows.csv", *TARGET, "--models", 6, "--pool-rare", 30, "--quiet"]
    fairfront(*fit, "--out", folder / "run")
    fairfront("select", folder / "run", "--model-id", 2, "--model", folder / "model.json")
    new = table(np.random.default_rng(4), 700)
    new.loc[::9, JOB] = "pilot"
    new.loc[0, AGE] = 4_000.0
    new.to_csv(folder / "new.csv", index=False)
    return folder, new


def predicted(fairfront, folder, *more):
    fairfront("predict", folder / "model.json", folder / "new.csv", "-o", folder / "p.csv", "--force", *more)
    return pd.read_csv(folder / "p.csv", keep_default_na=False)


def test_predictions_are_in_the_unit_of_the_target(fairfront, fitted):
    folder, new = fitted
    found = predicted(fairfront, folder)
    assert list(found.columns) == ["prediction", "note"]
    known = new[AGE].notna() & (new[JOB] != "pilot")
    assert (found["note"] == "").sum() == known.sum()
    assert r2_score(new["pay"][1:], found["prediction"][1:]) > 0.5
    model = json.loads((folder / "model.json").read_text())
    assert "threshold" not in model and "calibration" not in model
    rules = model["encoding"]
    features = [
        (new[rule["column"]].fillna(rule["mean"]) - rule["shift"]) / rule["factor"]
        for rule in rules["numeric"]
    ]
    assert [rule.get("indicator", False) for rule in rules["numeric"]] == [True, False]
    features.insert(1, new[AGE].isna())
    (rule,) = rules["categorical"]
    assert rule["pooled"] == ["clerk"]
    jobs = new[JOB].where(new[JOB].isin(rule["categories"]), "(other)")
    features += [jobs == category for category in rule["categories"]]
    coefficients = list(model["coefficients"].values())
    scores = np.column_stack(features).astype(float) @ coefficients + model["intercept"]
    unit = rules["target"]["unit"]
    expected = unit["center"] + unit["scale"] * scores
    np.testing.assert_allclose(found["prediction"], expected, rtol=NEAR)
    # An age of 4,000 is far beyond the training rows, and so is its prediction.
    assert abs(found["prediction"][0]) > unit["range"][1]


def test_audit_agrees_with_scikit_learn(fairfront, fitted):
    folder, new = fitted
    rows = new.assign(w=np.arange(len(new)) % 3 + 0.5)
    rows.loc[5, "pay"] = np.nan
    rows.loc[7, "sex"] = np.nan
    rows.to_csv(folder / "audited.csv", index=False)
    for weighted in [False, True]:
        args = ["--audit", "--json", *(["--weight", "w"] if weighted else [])]
        text = fairfront("predict", folder / "model.json", folder / "audited.csv", *args)
        found = json.loads(text)
        audit = found["audit"]
        prediction = predicted(fairfront, folder)["prediction"]
        used = rows["pay"].notna()
        weight = rows["w"] if weighted else pd.Series(1.0, rows.index)
        assert audit["unknown"] == {"label": 1, "group": {"sex": 1}}
        check = lambda of, keep: check_rows(of, rows["pay"][keep], prediction[keep], weight[keep])
        check(audit["overall"], used)
        assert audit["r2"] == pytest.approx(
            r2_score(rows["pay"][used], prediction[used], sample_weight=weight[used]), rel=1e-9
        )
        (sex,) = audit["attributes"]
        means, errors = [], []
        for group in ["F", "M"]:
            check(sex["groups"][group], used & (rows["sex"] == group))
            means.append(sex["groups"][group]["mean_prediction"])
            errors.append(sex["groups"][group]["rmse"])
        assert sex["mean_difference"] == pytest.approx(abs(means[0] - means[1]), rel=1e-9)
        assert sex["rmse_difference"] == pytest.approx(abs(errors[0] - errors[1]), rel=1e-9)
        assert sex["worst_group_rmse"] == max(errors)
        unit = json.loads((folder / "model.json").read_text())["encoding"]["target"]["unit"]
        gaps = []
        for threshold in unit["thresholds"]:
            below = prediction <= unit["center"] + unit["scale"] * threshold
            of = [used & (rows["sex"] == group) for group in ["F", "M"]]
            shares = [np.average(below[keep], weights=weight[keep]) for keep in of]
            gaps.append(abs(shares[0] - shares[1]))
        assert sex["distribution_difference"] == pytest.approx(max(gaps), rel=1e-9)
        assert sex["mean_distribution_difference"] == pytest.approx(np.mean(gaps), rel=1e-9)
        assert found["mean_prediction"] == pytest.approx(prediction.mean(), rel=1e-12)
        low, high = found["training_range"]
        assert found["outside_training_range"] == ((prediction < low) | (prediction > high)).sum()
        assert "selected" not in found


def check_rows(of, target, prediction, weight):
    assert of["count"] == pytest.approx(weight.sum())
    near = lambda value: pytest.approx(value, rel=1e-9)
    assert of["mean_prediction"] == near(np.average(prediction, weights=weight))
    assert of["mean_target"] == near(np.average(target, weights=weight))
    residual = np.average(target - prediction, weights=weight)
    assert of["mean_residual"] == pytest.approx(residual, abs=1e-7)
    assert of["rmse"] == near(root_mean_squared_error(target, prediction, sample_weight=weight))
    assert of["rmse"] ** 2 == near(mean_squared_error(target, prediction, sample_weight=weight))
    assert of["mae"] == near(mean_absolute_error(target, prediction, sample_weight=weight))


def test_onnx_predicts_the_same_numbers(fairfront, fitted):
    folder, new = fitted
    graph = folder / "model.onnx"
    fairfront("export", folder / "model.json", "--format", "onnx", "-o", graph, "--force")
    proto = onnx.load(graph)
    onnx.checker.check_model(proto, full_check=True)
    said = {entry.key: entry.value for entry in proto.metadata_props}
    unit = json.loads((folder / "model.json").read_text())["encoding"]["target"]["unit"]
    assert float(said["fairfront.target.scale"]) == unit["scale"]
    assert said["fairfront.target"] == "pay" and "fairfront.threshold" not in said
    assert "predicts pay" in proto.doc_string
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    # A feature already has the name of the result.
    (output,) = session.get_outputs()
    assert output.name == "model_prediction"
    feed = {}
    for column in session.get_inputs():
        values = new[[column.name]]
        is_text = column.type == "tensor(string)"
        feed[column.name] = values.to_numpy(object if is_text else float)
    (found,) = session.run(None, feed)
    expected = predicted(fairfront, folder)["prediction"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=EXACT)


@pytest.mark.parametrize("program", ["sqlite", "duckdb"])
def test_sql_predicts_the_same_numbers(fairfront, fitted, program):
    folder, new = fitted
    statement = fairfront("export", folder / "model.json", "--format", "sql", "-o", "-").decode()
    assert statement.startswith("-- model 2 of the ") and "predicts pay" in statement
    quote = lambda name: '"' + name.replace('"', '""') + '"'
    connection = sqlite3.connect(":memory:") if program == "sqlite" else duckdb.connect()
    types = {AGE: "DOUBLE PRECISION", PAY: "DOUBLE PRECISION", JOB: "VARCHAR", "sex": "VARCHAR"}
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
    connection.execute(f"CREATE TABLE input (place INTEGER, {columns})")
    rows = new[list(types)].astype(object).where(new[list(types)].notna(), None)
    values = [(place, *row) for place, row in enumerate(rows.itertuples(index=False))]
    connection.executemany("INSERT INTO input VALUES (?, ?, ?, ?, ?)", values)
    query = f"SELECT * FROM ({statement.rstrip().removesuffix(';')}\n) AS t ORDER BY place"
    found = [row[-1] for row in connection.execute(query).fetchall()]
    np.testing.assert_allclose(found, predicted(fairfront, folder)["prediction"], rtol=NEAR)


def test_coefficients_of_the_table_are_in_the_unit_of_the_target(fairfront, fitted):
    folder, new = fitted
    text = fairfront("export", folder / "model.json", "--format", "table", "-o", "-").decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    table = pd.DataFrame(rows, columns=header).set_index("feature")
    assert table.index[-1] == "(intercept)" and not table.index.str.contains("calibration").any()
    number = table[["coefficient", "shift", "factor", "mean"]].apply(pd.to_numeric)
    total = np.full(len(new), number["coefficient"]["(intercept)"])
    for feature, row in table[:-1].iterrows():
        coefficient, shift, factor, mean = number.loc[feature]
        column = new[row["column"]]
        if row["category"] == "(missing)":
            value = column.isna()
        elif row["category"] == "(other)":
            value = ~column.isin(table["category"])
        elif row["category"]:
            value = column == row["category"]
        else:
            value = (column.fillna(mean) - shift) / factor
        total = total + coefficient * value.to_numpy(float)
    np.testing.assert_allclose(total, predicted(fairfront, folder)["prediction"], rtol=NEAR)


def test_broken_rows_are_errors_with_their_place(fairfront, fitted):
    folder, new = fitted
    bad = folder / "bad.csv"
    for column, value, expected in [
        (AGE, "old", "is not a number, but the column is numeric in the model"),
        ("pay", "much", "is not a number, but the column is numeric in the model"),
        ("pay", "1e60", "too large for a target"),
    ]:
        rows = new.astype(object)
        rows.loc[2, column] = value
        rows.to_csv(bad, index=False)
        error = fairfront.error("predict", folder / "model.json", bad, "--audit")
        assert "row 3" in error and expected in error, error
    new.drop(columns="pay").to_csv(bad, index=False)
    error = fairfront.error("predict", folder / "model.json", bad, "--audit")
    assert '"pay" for --audit' in error
    # The target is needed only for an audit.
    fairfront("predict", folder / "model.json", bad, "-o", folder / "x.csv", "--force")
