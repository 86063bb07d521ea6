"""Outputs of a front: tables, exported models, reports and plots."""

import json
import re

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from people import frame

import fairfront
from fairfront import FairFrontClassifier


@pytest.fixture(scope="module")
def rows():
    return frame(800)


@pytest.fixture(scope="module")
def clf(rows):
    X, y, sex, race = rows
    return FairFrontClassifier(n_models=25).fit(X, y, sensitive_features={"sex": sex, "race": race})


def test_the_front_is_a_frame_with_objectives_and_measures(clf):
    front = clf.front_
    assert isinstance(front, pd.DataFrame)
    assert front.index.name == "model_id" and front.index[0] == 1
    assert front["train.accuracy"].between(0, 1).all()
    objectives = front[[f"objective.{name}" for name in clf.objectives_]]
    assert fairfront.is_nondominated(
        front[["train.accuracy"]]
        .mul(-1)
        .join(front[["train.demographic_parity_difference(sex)", "train.demographic_parity_difference(race)"]])
        .to_numpy()
    ).all()
    assert objectives.notna().all().all()
    assert isinstance(front[front["train.accuracy"] > 0.5], type(front))


def test_the_front_as_other_tables(clf):
    polars, arrow = clf.front_.to_polars(), clf.front_.to_arrow()
    assert polars.columns == list(clf.front_.columns) == arrow.column_names
    np.testing.assert_array_equal(polars["train.accuracy"].to_numpy(), clf.front_["train.accuracy"])
    np.testing.assert_array_equal(arrow["train.accuracy"].to_numpy(), clf.front_["train.accuracy"])


def test_measures_of_the_front_are_those_of_its_models(rows, clf):
    X, y, sex, _ = rows
    for i in range(0, len(clf.front_), 5):
        decided = clf.predictors_[i].predict(X)
        row = clf.front_.iloc[i]
        assert row["train.accuracy"] == pytest.approx((decided == y).mean(), abs=1e-12)
        difference = fairfront.metrics.demographic_parity_difference(y, decided, sensitive_features=sex)
        assert row["train.demographic_parity_difference(sex)"] == pytest.approx(difference, abs=1e-12)


def test_predictors_are_a_sequence(clf):
    assert len(clf.predictors_) == len(clf.front_)
    assert clf.predictors_[-1].model_id_ == len(clf.front_)
    assert [model.model_id_ for model in clf.predictors_[1:4]] == [2, 3, 4]
    with pytest.raises(IndexError):
        clf.predictors_[len(clf.front_)]


def test_selection_rules(clf):
    accuracy = clf.front_["train.accuracy"]
    assert accuracy[clf.select().model_id_] == accuracy.max()
    difference = clf.front_["train.demographic_parity_difference(sex)"]
    assert difference[clf.select(best="demographic_parity_difference(sex)").model_id_] == difference.min()
    bound = float(np.median(difference))
    chosen = clf.select(require=f"demographic_parity_difference(sex) <= {bound!r}")
    assert accuracy[chosen.model_id_] == accuracy[difference <= bound].max()
    assert "demographic_parity_difference(sex)" in chosen.reason_
    for rule in [
        {"knee": True},
        {"regret": True},
        {"weights": {"accuracy": 1.0, "demographic_parity_difference(sex)": 2.0}},
    ]:
        assert 1 <= clf.select(**rule).model_id_ <= len(clf.front_)


def test_values_and_coefficients_of_a_model(clf, rows):
    X, _, _, _ = rows
    model = clf.select(knee=True)
    assert model.values_["train.accuracy"] == clf.front_["train.accuracy"][model.model_id_]
    described = json.loads(model.to_json())
    assert described["coefficients"] == model.coefficients_
    assert described["intercept"] == model.intercept_


def test_onnx_decides_the_same(tmp_path, clf, rows):
    X, _, _, _ = rows
    model = clf.select(knee=True)
    graph = model.to_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == graph
    session = onnxruntime.InferenceSession(graph)
    feed = {}
    for wanted in session.get_inputs():
        column = X[wanted.name]
        if wanted.type == "tensor(string)":
            strings = column.map({True: "true", False: "false"}) if column.dtype == bool else column.astype(str)
            feed[wanted.name] = strings.to_numpy(dtype=object).reshape(-1, 1)
        else:
            kind = np.float32 if wanted.type == "tensor(float)" else np.float64
            feed[wanted.name] = column.to_numpy(dtype=kind).reshape(-1, 1)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed), strict=True))
    score = next(value for name, value in outputs.items() if "score" in name)
    np.testing.assert_allclose(score.ravel(), model.decision_function(X), rtol=1e-5, atol=1e-5)


def test_sql_and_table(clf):
    model = clf.select(knee=True)
    assert b"SELECT" in model.export("sql")
    assert model.export("table").splitlines()[0]
    with pytest.raises(ValueError, match="expected"):
        model.export("pmml")


def test_sql_decides_the_same_in_sqlite(clf, rows):
    """SQLite has no booleans and stores them as digits."""
    import sqlite3

    X, _, _, _ = rows
    model = clf.select(knee=True)
    connection = sqlite3.connect(":memory:")
    connection.create_function("EXP", 1, np.exp)
    X.to_sql("input", connection, index=False)
    found = pd.read_sql_query(model.export("sql").decode(), connection)
    np.testing.assert_allclose(found["score"], model.decision_function(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found["decision"], model.predict(X))


def test_the_report_is_the_report_of_the_command(tmp_path, clf):
    clf.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert not re.search(r"(src|href)=\"https?:", page)
    with pytest.raises(OSError):
        clf.report(tmp_path / "no" / "such" / "folder" / "report.html")
    with pytest.raises(OSError, match="already exists"):
        clf.report(tmp_path / "report.html", force=False)


def test_notebooks_show_the_report(clf):
    bundle = clf._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe srcdoc=")
    assert "uses model" in bundle["text/plain"]
    assert "iframe" not in FairFrontClassifier()._repr_mimebundle_().get("text/html", "")


def test_plot(clf):
    import matplotlib

    matplotlib.use("agg")
    ax = clf.plot()
    assert ax.get_ylabel() == "train.accuracy"
    assert clf.plot(x="train.demographic_parity_difference(race)", ax=ax) is ax
    with pytest.raises(ValueError, match="front_ has no column"):
        clf.plot(x="nothing")


def test_validation_rows_choose(rows):
    X, y, sex, _ = rows
    clf = FairFrontClassifier(n_models=15, validation_fraction=0.25).fit(X, y, sensitive_features=sex)
    front = clf.front_
    assert front["validation.accuracy"][clf.selected_] == front["validation.accuracy"].max()


def test_run_info(clf):
    info = clf.run_info_
    assert info["solver"] == "weighted" and info["models"] == len(clf.front_)
    assert info["judged"]["front_in"] == "measures" and info["counters"]["evaluations"] > 0
