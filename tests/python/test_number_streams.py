"""Streams and interrupted fits of a target that is a number, compared with pandas and with themselves."""

import json
import signal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from conftest import MISSING
from streaming import (
    BATCH,
    NUMBER_SPEC,
    changing,
    drifts,
    front,
    info,
    newest,
    rejected,
    text_of,
    wait_until,
    with_bad_rows,
    with_incomes,
    write,
)
from test_checkpoint import content, start

QUIET = "--quiet"
SPLITS = ["train", "validation", "test"]


@pytest.fixture(scope="module")
def rows(fairfront):
    rows = changing(fairfront)
    # The target rises after the first batch, which fixes its unit.
    rising = np.arange(len(rows)) > 2 * BATCH
    income = pd.to_numeric(rows["income"], errors="coerce")
    rows["income"] = (income + 30_000 * rising).astype(object).where(income.notna(), "")
    return rows


def in_use(rows):
    """Return the rows without missing values, in order."""
    return rows[~rows.isin(MISSING).any(axis=1)]


@pytest.mark.parametrize("keep", [["--window", "210"], []])
def test_values_are_in_the_unit_of_the_target(fairfront, rows, tmp_path, keep):
    parts = np.random.default_rng(1).choice(SPLITS, len(rows), p=[0.7, 0.1, 0.2])
    rows = rows.assign(part=parts)
    write(tmp_path / "rows.csv", text_of(rows))
    state = tmp_path / "state"
    split = ["--split", "column:part", "--min-group", 0]
    fairfront("stream", state, tmp_path / "rows.csv", *NUMBER_SPEC, *keep, *split, QUIET)
    used = in_use(rows.drop(columns="district")[: info(state)["stream"]["batches"] * BATCH])
    kept = used[-int(keep[1]) :] if keep else used
    assert info(state)["stream"]["kept"] == len(kept)
    kept.to_csv(tmp_path / "kept.csv", index=False)
    for _, values in front(state).iterrows():
        model = ["--model-id", int(values["model_id"]), "--model", tmp_path / "model.json", "--force"]
        fairfront("select", state, *model)
        predict = ["predict", tmp_path / "model.json", tmp_path / "kept.csv"]
        fairfront(*predict, "-o", tmp_path / "p.csv", "--force")
        prediction = pd.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
        target, error = kept["income"].to_numpy(float), kept["income"].to_numpy(float) - prediction
        for split in SPLITS:
            of = (kept["part"] == split).to_numpy()
            near = lambda value: pytest.approx(value, rel=1e-9)
            assert values[f"{split}.rmse"] == near(np.sqrt(np.mean(error[of] ** 2)))
            assert values[f"{split}.mae"] == near(np.mean(np.abs(error[of])))
            assert values[f"{split}.mean_target"] == near(np.mean(target[of]))
            sexes = sorted(set(kept["sex"][(kept["part"] == "train").to_numpy()]))
            means = [np.mean(prediction[of & (kept["sex"] == sex).to_numpy()]) for sex in sexes]
            found = values[f"{split}.mean_difference(sex)"]
            # A difference of two means of tens of thousands.
            assert found == pytest.approx(max(means) - min(means), rel=1e-9, abs=1e-8)
    assert b"agree" in fairfront("verify", state)


def test_drift_compares_means(fairfront, rows, tmp_path):
    state = tmp_path / "state"
    write(tmp_path / "rows.csv", text_of(rows))
    fairfront("stream", state, tmp_path / "rows.csv", *NUMBER_SPEC, QUIET)
    for drift in drifts(state):
        number = drift["batch"]
        assert "base_rate" not in drift
        batch = in_use(rows.drop(columns="district")[(number - 1) * BATCH : number * BATCH])
        before = in_use(rows.drop(columns="district")[: (number - 1) * BATCH])
        income = lambda of: of["income"].to_numpy(float)
        groups = [(drift["mean_target"], before, batch)]
        for group in drift["groups"]:
            own = [of[of["sex"] == group["group"]] for of in (before, batch)]
            groups.append((group["mean_target"], *own))
        for shift, was, now in groups:
            for key, of in [("before", was), ("batch", now)]:
                expected = pytest.approx(income(of).mean(), rel=1e-9) if len(of) else None
                assert shift[key] == expected
            if len(was) > 1 and len(now) > 1:
                error = np.sqrt(sum(income(of).var(ddof=1) / len(of) for of in (was, now)))
                assert shift["standard_error"] == pytest.approx(error, rel=1e-9)
            else:
                assert shift["standard_error"] is None
    unit = json.loads((newest(state) / "encoding.json").read_text())["target"]["unit"]
    first = in_use(rows.drop(columns="district")[:BATCH])
    # Thresholds and scale come from the training rows of the first batch.
    low, high = first["income"].astype(float).min(), first["income"].astype(float).max()
    assert low <= unit["range"][0] < unit["center"] < unit["range"][1] <= high


def test_rows_with_a_wrong_target_are_rejected(fairfront, rows, tmp_path):
    wrong = {300: "inf", 301: "1e60", 302: "12.000.000", 520: "much"}
    write(tmp_path / "rows.csv", with_incomes(with_bad_rows(text_of(rows)), wrong))
    state = tmp_path / "state"
    fairfront("stream", state, tmp_path / "rows.csv", *NUMBER_SPEC, QUIET)
    reasons = list(rejected(state)["reason"])
    of_target = [reason for reason in reasons if 'column "income"' in reason]
    for part in ['"inf" is not', "1e60 is too large for a target", '"12.000.000" is not', '"much" is not']:
        assert sum(part in reason for reason in of_target) == 1, reasons
    assert len(of_target) == 4


def test_kind_of_the_target_is_fixed_by_the_first_batch(fairfront, rows, tmp_path):
    write(tmp_path / "rows.csv", text_of(rows[:300]))
    write(tmp_path / "more.csv", text_of(rows[300:]))
    found, said = tmp_path / "found", tmp_path / "said"
    done = fairfront.run("stream", found, tmp_path / "rows.csv", *NUMBER_SPEC)
    assert b"models predict a number" in done.stderr
    fairfront("stream", said, tmp_path / "rows.csv", *NUMBER_SPEC, "--numeric", QUIET)
    assert front(found).equals(front(said))
    objectives = json.loads((newest(found) / "state.json").read_text())["options"]["request"]["objectives"]
    assert objectives == ["squared_error", "mean_difference(sex)"]
    # Repeating a flag that the first batch implied changes nothing.
    fairfront("stream", found, tmp_path / "more.csv", "--numeric", QUIET)
    fairfront("stream", said, tmp_path / "more.csv", QUIET)
    assert front(found).equals(front(said))
    other = fairfront.run("stream", said, "--flush", "--positive", ">= 40000")
    assert other.returncode == 2 and b"started with numeric = true" in other.stderr


def test_killed_fit_resumes_with_the_same_bytes(fairfront, rows, tmp_path):
    write(tmp_path / "rows.csv", text_of(rows))
    fit = [tmp_path / "rows.csv", "--target", "income", "--sensitive", "sex", "--drop", "approved"]
    fit += ["--solver", "pf-smg", "--polish", "--models", "1000000"]
    fit += ["--set", "max-steps=160", "--set", "patience=0"]
    fairfront("fit", *fit, "--out", tmp_path / "whole", QUIET)
    run = tmp_path / "run"
    process = start(fairfront, run, "--checkpoint-every", 0.02, fit=fit)
    stored = lambda: process.poll() is not None or list(run.glob("checkpoint/*/solver.bin"))
    wait_until(stored, "a checkpoint")
    assert process.poll() is None, "the fit ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (run / "run.json").exists()
    fairfront("fit", *fit, "--out", run, "--resume", QUIET, "--threads", 1)
    assert content(run) == content(tmp_path / "whole")
    model = pq.read_table(run / "front.parquet").to_pandas()
    assert len(model) > 1
