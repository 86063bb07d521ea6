"""The penalty: cross-validated losses compared with scikit-learn, the rule, and models with a fixed penalty."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import streaming
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

TABLE = "demo(rows=900)"
QUICK = ["--set", "sums=6", "--quiet"]


def fitted(fairfront, folder, *flags):
    fairfront("fit", TABLE, *flags, "--force", "--out", folder)
    return json.loads((folder / "run.json").read_text()), pq.read_table(folder / "front.parquet").to_pandas()


@pytest.fixture(scope="module")
def train(fairfront):
    rows = fairfront.encoded(TABLE)
    return rows[rows["split"] == "train"]


@pytest.fixture(scope="module")
def run(fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp("penalty") / "run"
    return folder, *fitted(fairfront, folder, *QUICK)


def logistic(rows, features, strength):
    model = LogisticRegression(C=1 / strength, solver="newton-cholesky", tol=1e-10, max_iter=500)
    return model.fit(rows[features].to_numpy(float), rows["label"])


def held_out(train, features, penalties, seed):
    """Return the mean losses of a cross-validation with scikit-learn's folds."""
    losses = np.zeros(len(penalties))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for kept, out in folds.split(train, train["label"]):
        kept, out = train.iloc[kept], train.iloc[out]
        for i, penalty in enumerate(penalties):
            # scikit-learn's strength is a prior, which does not change with the number of rows.
            model = logistic(kept, features, penalty * len(train))
            score = model.decision_function(out[features].to_numpy(float))
            losses[i] += np.logaddexp(0, -out["label"].to_numpy() * score).mean() / 5
    return losses


def test_losses_agree_with_scikit_learn(fairfront, train, tmp_path):
    # Folds differ, so that only means over several draws of folds can agree.
    n, every = 4, slice(0, 9, 2)
    infos = [fitted(fairfront, tmp_path / "run", *QUICK, "--split", "none", "--seed", seed)[0] for seed in range(n)]
    rows = fairfront.encoded(TABLE, "--split", "none")
    own = np.array([[t["loss"] for t in info["penalty"]["path"]] for info in infos])[:, every]
    penalties = [t["lambda"] for t in infos[0]["penalty"]["path"]][every]
    others = np.array([held_out(rows, infos[0]["features"], penalties, seed) for seed in range(n)])
    error = np.sqrt((own.var(0, ddof=1) + others.var(0, ddof=1)) / n)
    # Four standard errors of each difference; at the largest penalty all folds give nearly the same loss.
    assert (abs(own.mean(0) - others.mean(0)) < 4 * error + 1e-3).all()


def test_the_rule(run):
    penalty = run[1]["penalty"]
    assert penalty["rule"] == "one-standard-error" and penalty["folds"] == 5
    assert penalty["rows"] == run[1]["rows"]["train"]
    path = penalty["path"]
    assert [t["lambda"] for t in path] == sorted((t["lambda"] for t in path), reverse=True)
    least = min(path, key=lambda t: t["loss"])
    assert least["excess_standard_error"] == 0
    close = [t["lambda"] for t in path if t["loss"] - least["loss"] <= t["excess_standard_error"]]
    assert penalty["chosen"] == max(close)


def test_the_unmitigated_model_is_a_logistic_regression(run, train):
    info = run[1]
    model = logistic(train, info["features"], info["penalty"]["chosen"] * len(train))
    expected = np.append(model.coef_[0], model.intercept_[0])
    found = np.array(info["unmitigated"]["params"])
    # Decisions are equal: parameters are those of scikit-learn times a positive factor.
    factor = found @ expected / (expected @ expected)
    assert factor > 0
    assert abs(found - factor * expected).max() < 1e-5 * abs(found).max()
    assert info["definitions"][0] == f"error_rate(tau=0.1, lambda={10 * info['penalty']['chosen']:.12g})"


def test_a_number_is_the_lambda_of_the_log_loss(fairfront, tmp_path):
    covariances = ["--objective", "score_covariance(sex)", "--models", 20, "--quiet"]
    given, table = fitted(fairfront, tmp_path / "a", "--objective", "log_loss", "--penalty", 0.02, *covariances)
    own, same = fitted(fairfront, tmp_path / "b", "--objective", "log_loss(lambda=0.02)", *covariances)
    assert given["penalty"] == {"chosen": 0.02, "rule": "fixed"} and "penalty" not in own
    assert given["definitions"] == own["definitions"] and table.equals(same)
    paper, _ = fitted(fairfront, tmp_path / "c", "--preset", "paper", "--set", "max-steps=3", "--quiet")
    assert paper["definitions"][0] == "log_loss(lambda=0.0001)"


def test_a_configuration_file_sets_the_penalty(fairfront, tmp_path):
    (tmp_path / "fit.toml").write_text("[fit]\npenalty = 0.5\n")
    info, _ = fitted(fairfront, tmp_path / "run", "--config", tmp_path / "fit.toml", *QUICK)
    assert info["penalty"] == {"chosen": 0.5, "rule": "fixed"}
    info, _ = fitted(fairfront, tmp_path / "run", "--config", tmp_path / "fit.toml", "--penalty", "auto", *QUICK)
    assert info["penalty"]["rule"] == "one-standard-error"


@pytest.mark.parametrize("value", ["-1", "abc", "nan", "inf", ""])
def test_wrong_penalties(fairfront, tmp_path, value):
    done = fairfront.run("fit", TABLE, "--out", tmp_path / "run", "--penalty", value)
    message = "not a penalty; choose auto, or a number that is not negative"
    assert done.returncode == 2 and f"error: --penalty {value}: {message}" in done.stderr.decode()


def test_the_same_bytes_for_any_number_of_threads(fairfront, run, tmp_path):
    for threads in (1, 3):
        info, table = fitted(fairfront, tmp_path / "run", *QUICK, "--threads", threads)
        assert info["penalty"] == run[1]["penalty"] and table.equals(run[2])


def test_verify_recomputes_the_penalty(fairfront, run, tmp_path):
    folder = run[0]
    assert b"values agree: " in fairfront("verify", folder)
    text = (folder / "run.json").read_text()
    info = json.loads(text)
    info["penalty"]["path"][3]["loss"] *= 1.001
    (folder / "run.json").write_text(json.dumps(info))
    done = fairfront.run("verify", folder)
    (folder / "run.json").write_text(text)
    assert done.returncode == 1 and b"penalty.path" in done.stdout + done.stderr


def test_a_stream_keeps_the_penalty_of_its_first_front(fairfront, tmp_path):
    state = tmp_path / "state"
    few = ["--batch", 400, *QUICK]
    fairfront("stream", state, "demo(rows=800)", "--max-rejected", 0, *few)
    penalty = streaming.info(state)["penalty"]
    assert penalty["rule"] == "one-standard-error" and penalty["rows"] < 400
    assert b"values agree: " in fairfront("verify", state)
