"""Very large and very small numbers: each is handled, or is an error that names its place."""

import hashlib
import io
import json
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

from streaming import drifts, newest, rejected

ROLES = ["--target", "y", "--positive", "1", "--sensitive", "sex"]


def table(rows=200, seed=0):
    """Return rows with one feature that predicts the target, and two groups."""
    random = np.random.default_rng(seed)
    x = random.normal(0, 1, rows)
    sex = random.choice(["f", "m"], rows)
    y = (x + 0.5 * (sex == "m") + random.normal(0, 1, rows) > 0).astype(int)
    return pd.DataFrame({"x": x, "sex": sex, "y": y})


def write(rows, path):
    rows.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("solver", [["--solver", "trace"], ["--preset", "paper"], ["--solver", "eps-fair"]])
def test_huge_features_are_an_error_with_their_place(fairfront, tmp_path, solver):
    rows = table()
    rows["x"] *= 1e160
    rows["x"] = rows["x"].map("{:.3e}".format)
    file = write(rows, tmp_path / "loans.csv")
    found = fairfront.error("fit", file, *ROLES, *solver, "--scale", "none", "--models", 5, "--out", tmp_path / "run")
    assert 'loans.csv, row 1, column "x": ' in found
    assert "is too large for a feature, which must be within ±1e50; fix the value" in found


def test_large_features_within_the_bound_do_not_hang(fairfront, tmp_path):
    """Just below the bound, every solver ends with a front or an error."""
    rows = table()
    rows["x"] *= 1e49
    file = write(rows, tmp_path / "loans.csv")
    for solver in ["trace", "eps-fair", "weighted", "pf-smg"]:
        out = tmp_path / solver
        args = ["fit", file, *ROLES, "--solver", solver, "--scale", "none", "--models", 5, "--out", out, "--quiet"]
        done = fairfront.run(*args)
        assert done.returncode in (0, 1)
        assert b"panic" not in done.stderr


def test_small_features_keep_their_variance(fairfront, tmp_path):
    """A column of small numbers gives the same front as the column in another unit."""
    rows = table()
    found = []
    for name, unit in [("one", 1.0), ("small", 2.0**-660)]:
        file = write(rows.assign(x=rows["x"] * unit), tmp_path / f"{name}.csv")
        out = tmp_path / name
        fairfront("fit", file, *ROLES, "--solver", "trace", "--models", 5, "--out", out, "--quiet")
        found.append(pd.read_parquet(out / "front.parquet"))
    np.testing.assert_allclose(
        *(front.filter(regex="^test_log_loss|log_loss").to_numpy() for front in found), rtol=1e-9
    )


STREAM = [*ROLES, "--solver", "trace", "--models", 5, "--batch", 100]


def with_huge(rows, at):
    """Return the rows with one huge value."""
    rows = rows.copy()
    rows.loc[at, "x"] = 1e200
    return rows


def test_streams_reject_huge_rows_and_continue(fairfront, tmp_path):
    state = tmp_path / "state"
    # In the first batch, which fixes the scale, and in a later batch.
    for i, at in enumerate([7, 42]):
        file = write(with_huge(table(100, seed=i), at), tmp_path / f"{i}.csv")
        fairfront("stream", state, file, *(STREAM if i == 0 else []))
        found = rejected(state)
        assert len(found) == i + 1
        last = found.iloc[-1]
        assert (last["batch"], last["row"]) == (str(i + 1), str(at + 1))
        assert last["reason"].startswith('column "x": 1e200 is too large for a feature')
    file = write(table(100, seed=2), tmp_path / "2.csv")
    fairfront("stream", state, file)
    assert [drift["front"].get("kept_because") for drift in drifts(state)] == [None] * 3
    assert drifts(state)[-1]["kept"] == 298
    fairfront("verify", state)


def test_a_batch_can_be_skipped(fairfront, tmp_path):
    state = tmp_path / "state"
    files = [write(table(100, seed=i), tmp_path / f"{i}.csv") for i in range(3)]
    early = fairfront.run("stream", state, files[0], *STREAM, "--skip-batch")
    assert early.returncode == 2 and b"the stream has no front yet" in early.stderr
    fairfront("stream", state, files[0], *STREAM)
    before = (newest(state) / "front.parquet").read_bytes()
    said = fairfront("stream", state, files[1], "--skip-batch").decode()
    assert "batch 2: 0 rows (100 rejected), 100 kept; the front is not updated: the batch was skipped" in said
    assert (newest(state) / "front.parquet").read_bytes() == before
    assert set(rejected(state)["reason"]) == {"the batch was skipped with --skip-batch"}
    # Front and rows did not change, so that the front can be recomputed.
    fairfront("verify", state)
    fairfront("stream", state, files[2])
    assert drifts(state)[-1]["kept"] == 200
    fairfront("verify", state)


def test_a_batch_that_a_solver_cannot_fit_is_rejected(fairfront, tmp_path):
    """The solver `trace` cannot hold the covariance of errors at 0 with more than 1,000 parameters."""
    state = tmp_path / "state"
    objectives = ["--objective", "log_loss", "--objective", "score_covariance(sex, given=positive)"]
    flags = [*ROLES, *objectives, "--solver", "trace", "--models", 5, "--batch", 1200]

    def batch(number, cities):
        rows = table(1200, seed=number)
        return write(rows.assign(city=np.resize(cities, 1200)), tmp_path / f"{number}.csv")

    few, many = ["Oslo", "Lima"], [f"city {i}" for i in range(1100)]
    fairfront("stream", state, batch(0, few), *flags)
    before = (newest(state) / "front.parquet").read_bytes()
    file = batch(1, many)
    failed = fairfront.run("stream", state, file, "--max-rejected", 1199)
    assert failed.returncode == 1
    assert b"the batch cannot be fitted: objective 2 cannot be held at 0" in failed.stderr
    said = fairfront("stream", state, file).decode()
    assert "batch 2: 0 rows (1,200 rejected)" in said
    assert "the front is not updated: the batch cannot be fitted: objective 2 cannot be held at 0" in said
    assert (newest(state) / "front.parquet").read_bytes() == before
    assert len(rejected(state)) == 1200
    fairfront("verify", state)
    # The next batch updates the front, without any trace of the rejected batch.
    fairfront("stream", state, batch(2, few))
    assert "kept_because" not in drifts(state)[-1]["front"]
    assert drifts(state)[-1]["kept"] == 2400
    fairfront("verify", state)


def test_states_whose_encodings_differ_are_an_error(fairfront, tmp_path):
    rows = table(300).assign(job=np.resize(["a", "b", "c"], 300))
    state = tmp_path / "state"
    fairfront("stream", state, write(rows[:200], tmp_path / "0.csv"), *STREAM)
    # state.json has fewer categories than encoding.json, and the checksums match the changed file.
    folder = newest(state)
    path = folder / "state.json"
    before = path.read_bytes()
    content = json.loads(before)
    content["settled"]["encoding"]["categorical"][0]["categories"].pop()
    # SHA256SUMS contains the length of the file, too.
    path.write_bytes(json.dumps(content, ensure_ascii=False).encode().ljust(len(before)))
    for sums in folder.iterdir():
        text = sums.read_bytes()
        old = hashlib.sha256(before).hexdigest().encode()
        if old in text:
            sums.write_bytes(text.replace(old, hashlib.sha256(path.read_bytes()).hexdigest().encode()))
    found = fairfront.error("stream", state, write(rows[200:], tmp_path / "1.csv"))
    assert "state.json and encoding.json have different features; restore both files" in found


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        (lambda y: np.where(y == 1, "0", "1"), "positive training rows sum to 0e0"),
        (lambda y: np.where(y == 1, "5e-324", "1"), "positive training rows sum to"),
        (lambda y: np.where(y == 1, "1", "1e-20"), "negative training rows sum to"),
        (lambda y: np.full(len(y), "5e-324"), "multiply all of them by the same number"),
        (lambda y: np.full(len(y), "1e300"), "multiply all of them by the same number"),
    ],
)
def test_extreme_weights_are_an_error(fairfront, tmp_path, weight, problem):
    rows = table()
    file = write(rows.assign(w=weight(rows["y"])), tmp_path / "loans.csv")
    found = fairfront.error("fit", file, *ROLES, "--weight", "w", "--models", 5, "--out", tmp_path / "run")
    assert 'loans.csv, column "w": the weights' in found
    assert problem in found


def test_databases_keep_spaces_of_unicode(fairfront, tmp_path):
    """A no-break space before a category is part of it, in files and in databases."""
    rows = table(400)
    job = np.where(rows["x"] > 0, "\u00a0clerk", "clerk")
    rows = rows.assign(job=np.where(np.arange(400) % 5 == 0, "cook", job))[["job", "sex", "y"]]
    file = write(rows, tmp_path / "loans.csv")
    fairfront("fit", file, *ROLES, "--solver", "trace", "--models", 5, "--out", tmp_path / "run", "--quiet")
    model = tmp_path / "model.json"
    fairfront.model(tmp_path / "run", 1, model)
    scored = pd.read_csv(io.BytesIO(fairfront("predict", model, file, "--output", "-")))
    sql = fairfront("export", model, "--format", "sql", "--output", "-").decode().rstrip().removesuffix(";")
    for connection in [duckdb.connect(), sqlite3.connect(":memory:")]:
        connection.execute("CREATE TABLE input (n INTEGER, job VARCHAR)")
        connection.executemany("INSERT INTO input VALUES (?, ?)", list(enumerate(f" {job} " for job in rows["job"])))
        found = connection.execute(f"SELECT score FROM ({sql}) AS t ORDER BY n").fetchall()
        np.testing.assert_allclose([score for (score,) in found], scored["score"], rtol=1e-12)
