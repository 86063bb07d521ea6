"""Families of models: boosted trees and scores of other models, on one front with linear models."""

import json
import shutil

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fairlearn.metrics import demographic_parity_difference
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

LOANS = ["--target", "approved", "--positive", "yes", "--sensitive", "sex", "--drop", "split", "--quiet"]
EXACT = 1e-12


@pytest.fixture(scope="module")
def rows(fairfront, tmp_path_factory):
    """Return a table of the simulated bank, and the name of its file."""
    path = tmp_path_factory.mktemp("rows") / "loans.csv"
    fairfront("data", "export", "demo(rows=3000)", "-o", path)
    table = pd.read_csv(path)
    return table, path


@pytest.fixture(scope="module")
def auto(fairfront, rows, tmp_path_factory):
    """Return the folder of a run with both families."""
    folder = tmp_path_factory.mktemp("auto") / "run"
    fairfront("fit", rows[1], *LOANS, "--family", "auto", "--out", folder)
    return folder


def info(folder):
    return json.loads((folder / "run.json").read_text())


def front(folder):
    return pq.read_table(folder / "front.parquet").to_pandas()


def of_family(folder, family):
    """Return the ids of models of a family."""
    table = front(folder)
    return table.loc[table["family"] == family, "model_id"].tolist()


def decisions(fairfront, model, path):
    """Return the decisions of a model on the rows of a file."""
    output = model.with_suffix(".csv")
    fairfront("predict", model, path, "-o", output, "--force")
    return pd.read_csv(output)["decision"] == 1


def splits(fairfront, path, *flags):
    """Return the split of every row of the table."""
    return fairfront.encoded(path, *[flag for flag in flags if flag != "--quiet"])["split"].to_numpy()


def test_both_families_are_on_the_front(auto):
    run = info(auto)
    assert run["family"]["family"] == "auto"
    families = set(front(auto)["family"])
    assert families <= {"linear", "trees"} and "trees" in families
    target, sex = run["learners"]
    assert target["kind"] == sex["kind"] == "boosted trees"
    assert sex["predicts"] == "sex" and sex["classes"] == ["Female", "Male"]
    for learner in (target, sex):
        assert 0.5 < learner["auc"] < 1
        assert sum(one["gain"] for one in learner["inputs"]) == pytest.approx(1)
        # A column that the trees use much matters on validation rows too.
        best = max(learner["inputs"], key=lambda one: one["gain"])
        assert best["permutation"] > 0
    # Both measures of linear models were corrected by a number that is not negative.
    assert len(run["judged"]["linear_optimism"]) == 2 and min(run["judged"]["linear_optimism"]) >= 0


def test_measures_are_those_of_the_decisions(fairfront, rows, auto, tmp_path):
    table, path = rows
    test = splits(fairfront, path, *LOANS) == "test"
    values = front(auto).set_index("model_id")
    for model in of_family(auto, "trees")[::7]:
        fairfront("select", auto, "--model-id", model, "--model", tmp_path / "m.json", "--force")
        decided = decisions(fairfront, tmp_path / "m.json", path).to_numpy()
        decided, own = decided[test], table[test]
        accuracy = np.mean(decided == (own["approved"] == "yes").to_numpy())
        assert values.loc[model, "test.accuracy"] == pytest.approx(accuracy, abs=EXACT)
        difference = demographic_parity_difference(own["approved"] == "yes", decided, sensitive_features=own["sex"])
        found = values.loc[model, "test.demographic_parity_difference(sex)"]
        assert found == pytest.approx(difference, abs=EXACT)


def test_training_rows_are_scored_out_of_fold(auto):
    """In-sample probabilities would make trees look much better on training rows."""
    values = front(auto).query("family == 'trees'")
    optimism = values["train.accuracy"] - values["test.accuracy"]
    assert optimism.mean() < 0.03


def test_the_same_bytes_for_any_number_of_threads(fairfront, rows, auto, tmp_path):
    for threads in (1, 3):
        again = tmp_path / str(threads)
        fairfront("fit", rows[1], *LOANS, "--family", "auto", "--out", again, "--threads", threads)
        for name in ("front.parquet", "encoding.json"):
            assert (again / name).read_bytes() == (auto / name).read_bytes()
        one, other = info(auto), info(again)
        for key in ("learners", "overlays", "judged", "family"):
            assert one[key] == other[key]


def test_verify_fits_the_learners_again(fairfront, rows, auto, tmp_path):
    assert b"agree" in fairfront("verify", auto, rows[1])
    changed = tmp_path / "changed.csv"
    table = rows[0].copy()
    table.loc[:200, "income"] = 1.0
    table.to_csv(changed, index=False)
    assert fairfront.run("verify", auto, changed).returncode == 1


def test_no_model_is_far_beyond_the_estimated_bound(auto):
    run = info(auto)
    (bound,) = [one for one in run["overlays"] if one["kind"] == "bound"]
    errors, differences = np.array([point["values"] for point in bound["points"]]).T
    assert (np.diff(errors) <= 0).all() and (np.diff(differences) > 0).all()
    assert differences[0] == 0
    values = front(auto)
    least = np.interp(values["test.demographic_parity_difference(sex)"], differences, errors)
    # The bound is estimated, and test rows are few: the excess stays within their noise.
    assert (1 - values["test.accuracy"] > least - 0.05).all()


def test_thresholds_by_group(fairfront, rows, tmp_path):
    run = tmp_path / "run"
    fairfront("fit", rows[1], *LOANS, "--family", "trees", "--use-sensitive", "--out", run)
    found = info(run)
    curves = {one["split"]: one for one in found["overlays"] if one["kind"] == "by-group"}
    assert set(curves) == {"train", "validation", "test"}
    errors, differences = np.array([point["values"] for point in curves["train"]["points"]]).T
    assert (np.diff(differences) >= -EXACT).all() and (np.diff(errors) <= EXACT).all()
    # Learners do not see the attribute, so that only the thresholds use it.
    for learner in found["learners"]:
        for column in learner["inputs"]:
            assert column["name"] != "sex" or column["gain"] == 0
    without = tmp_path / "without"
    fairfront("fit", rows[1], *LOANS, "--family", "trees", "--out", without)
    assert {one["kind"] for one in info(without)["overlays"]} == {"bound"}


def with_scores(rows, tmp_path, probabilities, name="scored.csv"):
    table = rows[0].assign(p=probabilities)
    table.to_csv(tmp_path / name, index=False)
    return tmp_path / name


@pytest.fixture(scope="module")
def other_model(rows):
    """Return out-of-fold and in-sample probabilities of a model of scikit-learn."""
    columns = rows[0].drop(columns=["approved", "sex"]).select_dtypes("number").fillna(0)
    y = (rows[0]["approved"] == "yes").to_numpy()
    model = HistGradientBoostingClassifier(max_iter=200, random_state=0)
    out_of_fold = cross_val_predict(model, columns, y, cv=5, method="predict_proba")[:, 1]
    return out_of_fold, model.fit(columns, y).predict_proba(columns)[:, 1]


def test_a_front_around_a_score(fairfront, rows, other_model, tmp_path):
    path, run = with_scores(rows, tmp_path, other_model[0]), tmp_path / "run"
    done = fairfront.run("fit", path, *LOANS, "--score", "p", "--out-of-fold", "--out", run)
    assert done.returncode == 0 and b"do not look like" not in done.stderr
    found = info(run)
    assert set(front(run)["family"]) == {"score"}
    assert [one["kind"] for one in found["learners"]] == ["score column", "boosted trees"]
    # The score is not a feature of the trees that predict the group.
    assert all(one["name"] != "p" or one["gain"] == 0 for one in found["learners"][1]["inputs"])
    # The mark is the score with a threshold of one half.
    test = splits(fairfront, path, *LOANS) == "test"
    (mark,) = [one for one in found["overlays"] if one["kind"] == "score" and one["split"] == "test"]
    selected = other_model[0][test] >= 0.5
    error = np.mean(selected != (rows[0][test]["approved"] == "yes").to_numpy())
    assert mark["points"][0]["values"][0] == pytest.approx(error, abs=EXACT)
    # Decisions need the column of scores, and nothing else of the other model.
    fairfront("select", run, "--model-id", 1, "--model", tmp_path / "m.json")
    decided = decisions(fairfront, tmp_path / "m.json", path)
    assert 0 < decided.mean() < 1


def test_in_sample_scores_are_noticed(fairfront, rows, other_model, tmp_path):
    out_of_fold, in_sample = other_model
    flags = [*LOANS, "--score", "p", "--out-of-fold"]
    split = splits(fairfront, with_scores(rows, tmp_path, out_of_fold), *LOANS)
    # In sample on training rows only, as if a model had been trained on them.
    path = with_scores(rows, tmp_path, np.where(split == "train", in_sample, out_of_fold))
    flags.remove("--quiet")
    done = fairfront.run("fit", path, *flags, "--out", tmp_path / "run")
    assert done.returncode == 0
    assert "do not look like out-of-fold values" in " ".join(done.stderr.decode().split())


def test_scores_are_marked_and_compared(fairfront, rows, other_model, tmp_path):
    path, run = with_scores(rows, tmp_path, other_model[0]), tmp_path / "run"
    fairfront("fit", path, *LOANS, "--mark", "p", "--out", run)
    found = info(run)
    # The column is shown, but it is not a feature.
    assert "p" not in found["features"]
    assert set(front(run)["family"]) == {"linear"}
    marks = {one["split"]: one for one in found["overlays"]}
    assert set(marks) == {"train", "validation", "test"}
    test = splits(fairfront, path, *LOANS, "--mark", "p") == "test"
    selected, own = other_model[0][test] >= 0.5, rows[0][test]
    y = (own["approved"] == "yes").to_numpy()
    values = dict(zip(marks["test"]["measures"], marks["test"]["points"][0]["values"], strict=True))
    assert values["1 - accuracy"] == pytest.approx(np.mean(selected != y), abs=EXACT)
    difference = demographic_parity_difference(y, selected, sensitive_features=own["sex"])
    assert values["demographic_parity_difference(sex)"] == pytest.approx(difference, abs=EXACT)
    compared = json.loads(fairfront("compare", run, "--by", "measures", "--json"))
    (measure,) = [one for one in compared["measures"] if one["measure"] == "demographic_parity_difference(sex)"]
    (score,) = measure["scores"]
    models = front(run)
    better = (1 - models["test.accuracy"] <= score["error_rate"]) & (
        models["test.demographic_parity_difference(sex)"] <= score["value"]
    )
    assert score["better_models"] == better.sum()
    assert b"error rate" in fairfront("compare", run, "--by", "measures")
    assert b"agree" in fairfront("verify", run, path)
    refused = fairfront.run("stream", tmp_path / "state", path, *LOANS, "--mark", "p")
    assert refused.returncode == 2 and b"--mark" in refused.stderr
    wrong = with_scores(rows, tmp_path, other_model[0] + 1)
    assert "not between 0 and 1" in fairfront.error("fit", wrong, *LOANS, "--mark", "p", "--out", tmp_path / "other")


def test_certified_trees(fairfront, rows, tmp_path):
    run = tmp_path / "run"
    limit = "demographic_parity_difference(sex) <= 0.3"
    fairfront("fit", rows[1], *LOANS, "--family", "auto", "--require", limit, "--out", run)
    chosen = fairfront("select", run, "--require", limit, "--model", tmp_path / "m.json").decode()
    assert "certified" in chosen
    assert b"agree" in fairfront("verify", run, rows[1])


def test_wrong_scores_are_errors(fairfront, rows, other_model, tmp_path):
    score = ["--score", "p", "--out-of-fold", "--out", tmp_path / "run"]
    p = other_model[0]
    too_large = with_scores(rows, tmp_path, 10 * p)
    assert "is not between 0 and 1" in fairfront.error("fit", too_large, *LOANS, *score)
    missing = with_scores(rows, tmp_path, np.where(p > 0.9, np.nan, p))
    assert "some rows have no value" in fairfront.error("fit", missing, *LOANS, "--missing", "p=mean", *score)
    words = with_scores(rows, tmp_path, np.where(p > 0.5, "high", "low"))
    assert "not a numeric feature" in fairfront.error("fit", words, *LOANS, *score)
    good = with_scores(rows, tmp_path, p)
    unconfirmed = fairfront.run("fit", good, *LOANS, "--score", "p", "--out", tmp_path / "run")
    assert unconfirmed.returncode == 2 and b"--out-of-fold" in unconfirmed.stderr
    both = fairfront.run("fit", good, *LOANS, *score, "--family", "linear")
    assert both.returncode == 2 and b"--family linear" in both.stderr
    unused = fairfront.run("fit", good, *LOANS, "--out-of-fold", "--out", tmp_path / "run")
    assert unused.returncode == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "flags",
    [
        ["--sensitive", "race"],
        ["--objective", "error_rate", "--objective", "equalized_odds(sex)"],
        ["--objective", "error_rate(fn=3)", "--objective", "predictive_equality(sex)"],
        ["--objective", "error_rate", "--objective", "equal_opportunity(race)", "--sensitive", "race"],
    ],
)
def test_other_groups_and_measures(fairfront, rows, tmp_path, flags):
    run = tmp_path / "run"
    fairfront("fit", rows[1], *LOANS, *flags, "--family", "trees", "--models", 24, "--out", run)
    found, models = info(run), front(run)
    assert set(models["family"]) == {"trees"} and len(models) > 1
    fair = [name for name in found["judged"]["measures"] if name.endswith(")") and "difference" in name]
    assert {one["measures"][1] for one in found["overlays"]} == set(fair)
    # The fairest model is fairer than the unmitigated one on training rows, where it was chosen.
    for measure in fair:
        name = f"train.{measure}"
        assert models[name].min() < found["unmitigated"]["values"][name]
    assert b"agree" in fairfront("verify", run, rows[1])


def test_objectives_that_do_not_suit(fairfront, rows, tmp_path):
    exact = ["--objective", "log_loss", "--objective", "score_covariance(sex)"]
    run = tmp_path / "run"
    error = fairfront.run("fit", rows[1], *LOANS, *exact, "--family", "trees", "--out", run)
    assert error.returncode == 2 and b"error_rate" in error.stderr
    error = fairfront.run("fit", rows[1], *LOANS, "--front-in", "objectives", "--family", "trees", "--out", run)
    assert error.returncode == 2 and b"--front-in objectives" in error.stderr and b"remove it" in error.stderr
    quiet = [flag for flag in LOANS if flag != "--quiet"]
    done = fairfront.run("fit", rows[1], *quiet, *exact, "--family", "auto", "--out", run)
    assert done.returncode == 0 and b"only linear models are fitted" in done.stderr
    assert set(front(run)["family"]) == {"linear"}
    assert info(run)["proof"]["largest_optimality_gap"] < 1e-6
    assert b"agree" in fairfront("verify", run, rows[1])


def test_a_killed_fit_resumes_with_the_same_bytes(fairfront, rows, auto, tmp_path):
    run = tmp_path / "run"
    flags = [*LOANS, "--family", "auto", "--out", run, "--checkpoint-every", "0.01"]
    # A busy machine may need more time until the first model.
    for seconds in [0.6, 1.2, 2.4, 4.8, 9.6]:
        done = fairfront.run("fit", rows[1], *flags, "--max-seconds", seconds)
        if done.returncode == 0:
            break
        assert b"the time limit passed before a model was found" in done.stderr
    fairfront("fit", rows[1], *flags, "--resume")
    assert (run / "front.parquet").read_bytes() == (auto / "front.parquet").read_bytes()


def test_exports_make_the_same_decisions(fairfront, rows, auto, tmp_path):
    path, model = rows[1], of_family(auto, "trees")[0]
    fairfront("select", auto, "--model-id", model, "--model", tmp_path / "m.json")
    own = decisions(fairfront, tmp_path / "m.json", path)
    fairfront("export", tmp_path / "m.json", "--format", "onnx", "-o", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    table = pd.read_csv(path, dtype={one.name: str for one in session.get_inputs() if "string" in one.type})
    feeds = {}
    for one in session.get_inputs():
        values = table[one.name].fillna("") if "string" in one.type else table[one.name].astype(np.float64)
        feeds[one.name] = values.to_numpy(object if "string" in one.type else np.float64).reshape(-1, 1)
    label, _, _ = session.run(None, feeds)
    assert (label.ravel() == own.to_numpy(int)).all()
    fairfront("export", tmp_path / "m.json", "--format", "sql", "-o", tmp_path / "m.sql")
    sql = (tmp_path / "m.sql").read_text()
    assert "CASE" in sql


def test_every_reader_of_a_run_knows_families(fairfront, auto, tmp_path):
    shown = fairfront("show", auto).decode()
    assert "family" in shown and "trees" in shown
    listed = json.loads(fairfront("show", auto, "--json"))
    assert {row["family"] for row in listed} == set(front(auto)["family"])
    chosen = fairfront("select", auto, "--require", "demographic_parity_difference(sex) <= 0.2", "--confidence", "none")
    assert b"model" in chosen
    copy = tmp_path / "copy"
    shutil.copytree(auto, copy)
    assert b"hypervolume" in fairfront("compare", auto, copy).lower()
    fairfront("report", auto, "-o", tmp_path / "report.html")
    assert "boosted trees" in (tmp_path / "report.html").read_text()


def test_a_stream_of_trees(fairfront, rows, tmp_path):
    state, first, second = tmp_path / "state", tmp_path / "1.csv", tmp_path / "2.csv"
    rows[0][:1800].to_csv(first, index=False)
    rows[0][1800:].to_csv(second, index=False)
    flags = [*LOANS, "--family", "trees", "--batch", 1500]
    fairfront("stream", state, first, *flags)
    fairfront("stream", state, second, *flags, "--flush")
    assert b"agree" in fairfront("verify", state)
    assert set(front(fairfront_run(state))["family"]) == {"trees"}


def fairfront_run(state):
    """Return the folder with the newest front of a stream."""
    return max((path.parent for path in state.rglob("front.parquet")), key=lambda path: path.name)
