"""Families of models for targets that are numbers: trees, a score column and networks."""

import json

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

TARGET = ["--target", "wage", "--sensitive", "sex"]
WAGES = [*TARGET, "--sensitive", "region", "--weight", "weight", "--models", "12", "--quiet"]
COLUMNS = ["years", "grade", "hours", "job"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Return a table of wages with missing values, weights and two attributes, and the name of its file."""
    rng = np.random.default_rng(26)
    n = 4000
    sex = rng.choice(["f", "m"], n)
    region = rng.choice(["east", "north", "south"], n, p=[0.2, 0.5, 0.3])
    years = rng.gamma(4.0, 3.0, n).round(1)
    grade = rng.integers(1, 6, n).astype(float)
    hours = (30 + 6 * (sex == "m") + 5 * rng.normal(size=n)).round()
    job = rng.choice(["clerk", "nurse", "driver", "welder"], n)
    mean = 20 + 8 * np.sqrt(years) * (grade > 2) + 4 * (job == "welder") * (hours > 33) + 2 * (region == "south")
    wage = (mean + 5 * rng.normal(size=n)).round(2)
    years[rng.random(n) < 0.05] = np.nan
    table = pd.DataFrame({"wage": wage, "sex": sex, "region": region, "years": years, "grade": grade, "hours": hours})
    table = table.assign(job=job, weight=rng.choice([0.5, 1.0, 2.0], n))
    path = tmp_path_factory.mktemp("rows") / "wages.csv"
    table.to_csv(path, index=False)
    return table, path


@pytest.fixture(scope="module")
def auto(fairfront, rows, tmp_path_factory):
    """Return the folder of a run with both families."""
    folder = tmp_path_factory.mktemp("auto") / "run"
    fairfront("fit", rows[1], *WAGES, "--family", "auto", "--out", folder)
    return folder


def info(folder):
    return json.loads((folder / "run.json").read_text())


def front(folder):
    return pq.read_table(folder / "front.parquet").to_pandas()


def value(names):
    """Return the name of the predicted number among the names of results."""
    return next(name for name in ("prediction", "score") if name in names)


def warnings(fairfront, *args):
    """Return the notes and warnings of a command as one line."""
    done = fairfront.run(*(arg for arg in args if arg != "--quiet"))
    assert done.returncode == 0
    return " ".join(done.stderr.decode().split())


def predicted(fairfront, model, path):
    """Return the predictions of a model for the rows of a file."""
    output = model.with_suffix(".csv")
    fairfront("predict", model, path, "-o", output, "--force")
    found = pd.read_csv(output)
    return found[value(found.columns)].to_numpy()


def test_trees_predict_effects_that_are_not_linear(auto):
    run, models = info(auto), front(auto)
    assert run["judged"]["front_in"] == "measures"
    assert set(models["family"]) <= {"linear", "trees"}
    assert "trees" in set(models["family"])
    assert run["family"]["features"][0] == "trees: prediction"
    outcome, *groups = run["learners"]
    assert outcome["predicts"] == "wage"
    assert "log_loss" not in outcome
    assert all("rmse" not in group for group in groups)
    assert 4.8 < outcome["rmse"] < 5.8
    assert outcome["r2"] > 0.5
    assert max(outcome["inputs"], key=lambda one: one["permutation"])["name"] in {"years", "grade"}


def test_a_run_is_verified_and_the_same_for_any_number_of_threads(fairfront, rows, auto, tmp_path):
    assert b"agree" in fairfront("verify", auto, rows[1])
    one = tmp_path / "one"
    fairfront("fit", rows[1], *WAGES, "--family", "auto", "--out", one, "--threads", "1")
    for name in ("front.parquet", "encoding.json"):
        assert (one / name).read_bytes() == (auto / name).read_bytes()


def test_exports_predict_the_same_numbers(fairfront, rows, auto, tmp_path):
    table, path = rows
    models = front(auto)
    trees = models.loc[models["family"] == "trees", "model_id"].tolist()
    model = tmp_path / "model.json"
    fairfront("select", auto, "--model-id", trees[len(trees) // 2], "--model", model)
    ours = predicted(fairfront, model, path)
    # Predictions are in the unit of the target or, without it, differ from that unit by a line.
    assert np.corrcoef(table["wage"], ours)[0, 1] > 0.7

    fairfront("export", model, "--format", "onnx", "-o", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [one.name for one in session.get_inputs()]
    feed = {name: table[[name]].to_numpy(object if name == "job" else float) for name in names}
    outputs = {one.name: found for one, found in zip(session.get_outputs(), session.run(None, feed), strict=True)}
    np.testing.assert_allclose(outputs[value(outputs)].ravel(), ours, rtol=1e-9, atol=1e-9)

    fairfront("export", model, "--format", "sql", "-o", tmp_path / "model.sql")
    connection = duckdb.connect()
    connection.register("input", table.assign(place=np.arange(len(table))))
    # Programs that run SQL may return rows in any order.
    theirs = connection.sql((tmp_path / "model.sql").read_text()).df().sort_values("place")
    np.testing.assert_allclose(theirs[value(theirs.columns)], ours, rtol=1e-9, atol=1e-9)


def test_requirements_are_certified_on_models_of_trees(fairfront, rows, tmp_path):
    folder = tmp_path / "run"
    flags = [*WAGES, "--family", "trees", "--objective", "squared_error", "--objective", "mean_difference(sex)"]
    fairfront("fit", rows[1], *flags, "--split", "40/10/20/30", "--out", folder)
    found = json.loads(fairfront("select", folder, "--require", "mean_difference(sex) <= 3", "--json"))
    assert found["model_id"] >= 1


def test_a_score_column_of_another_model(fairfront, rows, tmp_path):
    table, _ = rows
    columns = pd.get_dummies(table[COLUMNS]).fillna(0)
    model = DecisionTreeRegressor(min_samples_leaf=20, random_state=0)
    table = table.assign(theirs=cross_val_predict(model, columns, table["wage"], cv=5))
    path = tmp_path / "scored.csv"
    table.to_csv(path, index=False)
    folder = tmp_path / "run"
    fairfront("fit", path, *WAGES, "--score", "theirs", "--out-of-fold", "--out", folder)
    run = info(folder)
    assert set(front(folder)["family"]) == {"score"}
    marks = {mark["split"]: dict(zip(mark["measures"], mark["points"][0]["values"])) for mark in run["overlays"]}
    split = fairfront.encoded(path, *WAGES[:-3])["split"].to_numpy()
    test = table[split == "test"]
    expected = root_mean_squared_error(test["wage"], test["theirs"], sample_weight=test["weight"])
    assert marks["test"]["rmse"] == pytest.approx(expected, rel=1e-9)
    means = [np.average(g["theirs"], weights=g["weight"]) for _, g in test.groupby("sex")]
    assert marks["test"]["mean_difference(sex)"] == pytest.approx(abs(means[0] - means[1]), rel=1e-6)

    in_sample = model.fit(columns, table["wage"]).predict(columns)
    fitted = split == "train"
    table.assign(theirs=np.where(fitted, 0.7 * table["wage"] + 0.3 * in_sample, table["theirs"])).to_csv(path, index=False)
    score = ["--score", "theirs", "--out-of-fold"]
    found = warnings(fairfront, "fit", path, *WAGES, *score, "--out", tmp_path / "in-sample")
    assert "the squared error is" in found
    assert "do not look like out-of-fold values" in found


def test_losses_without_trees_are_errors_with_a_remedy(fairfront, rows, tmp_path):
    flags = [*WAGES, "--objective", "absolute_error", "--objective", "mean_difference(sex)"]
    error = fairfront.run("fit", rows[1], *flags, "--family", "trees", "--out", tmp_path / "x").stderr.decode()
    assert "need squared_error as their loss; choose --objective squared_error or --family linear" in error
    found = warnings(fairfront, "fit", rows[1], *flags, "--family", "auto", "--out", tmp_path / "auto")
    assert "only linear models are fitted" in found


def test_streams_fit_the_trees_again(fairfront, rows, tmp_path):
    objectives = ["--objective", "squared_error", "--objective", "mean_difference(sex)"]
    flags = [*TARGET, *objectives, "--family", "trees", "--models", "6", "--quiet"]
    fairfront("stream", tmp_path / "state", rows[1], *flags, "--batch", "2000")
    assert b"agree" in fairfront("verify", tmp_path / "state")
