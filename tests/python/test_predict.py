"""Predictions for new rows, compared with numpy, pandas and pyarrow on rows that the tests encode."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

# Sums of 13 terms below 30 in another order.
EXACT = 1e-12
COVARIANCES = ["--objective", "log_loss", "--objective"]


@pytest.fixture(scope="module")
def adult_model(fairfront, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adult")
    fit = ["fit", "adult:sex", *COVARIANCES, "score_covariance(sex)", "--models", 5, "--quiet"]
    fairfront(*fit, "--out", folder / "run")
    path = folder / "model.json"
    return path, fairfront.model(folder / "run", 3, path)


def merged(rule, values):
    """Merge raw categories by a rule of the encoding."""
    merge = rule.get("merge")
    if merge is None:
        return values
    rest = merge.get("rest")
    return values.map(lambda v: merge["categories"].get(v, v if rest is None else rest))


def notes(model, rows):
    """Return the note of each row: its missing and unseen values."""
    encoding = model["encoding"]
    found = [[] for _ in range(len(rows))]
    for rule in encoding["numeric"] + encoding["categorical"]:
        column = rule["column"]
        known = set(rule.get("categories", []))
        raw = rows[column]
        categories = merged(rule, raw)
        for parts, value, category in zip(found, raw, categories, strict=True):
            if pd.isna(value):
                parts.append(f"{column} missing")
            elif known and category not in known:
                parts.append(f"{column} unseen: {value}")
    return ["; ".join(parts) for parts in found]


def scores(model, rows):
    """Return the scores of complete rows, from a dense matrix."""
    encoding, columns = model["encoding"], []
    for rule in encoding["numeric"]:
        assert not rule.get("indicator")
        columns.append((rows[rule["column"]].to_numpy(float) - rule["shift"]) / rule["factor"])
    for rule in encoding["categorical"]:
        values = merged(rule, rows[rule["column"]])
        columns += [(values == category).to_numpy(float) for category in rule["categories"]]
    coefficients = np.array(list(model["coefficients"].values()))
    return np.column_stack(columns) @ coefficients + model["intercept"]


def test_published_rows_are_scored_without_preparation(fairfront, data, adult, adult_model, tmp_path):
    path, model = adult_model
    fairfront("predict", path, data / "adult.test", "--output", tmp_path / "scores.csv")
    found = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False)
    published = (data / "adult.test").read_text().splitlines()
    assert len(found) == sum(line[:1].isdigit() for line in published) == 16_281

    rows = adult.iloc[-len(found) :].reset_index(drop=True)
    needed = [r["column"] for r in model["encoding"]["numeric"] + model["encoding"]["categorical"]]
    complete = rows[needed].notna().all(axis=1)
    assert 0 < (~complete).sum() < 2_000
    expected = scores(model, rows[complete])
    assert np.abs(found["score"][complete] - expected).max() < EXACT
    calibration = model["calibration"]
    odds = calibration["slope"] * found["score"] + calibration["intercept"]
    assert np.abs(found["probability"] - 1 / (1 + np.exp(-odds))).max() < EXACT
    assert (found["decision"] == (found["score"] >= 0)).all()
    assert (found["note"] == notes(model, rows)).all()
    # In rows with "Never-worked", the occupation is missing, so that no training row has this category.
    unseen = found["note"].str.contains("workclass unseen: Never-worked")
    assert (unseen == (rows["workclass"] == "Never-worked")).all() and unseen.any()


def test_parquet_and_csv_agree(fairfront, adult, adult_model, tmp_path):
    path, _ = adult_model
    rows = adult.tail(5_000).assign(id=range(5_000))
    rows["workclass"] = rows["workclass"].astype("category")
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=777)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("rows.parquet", "rows.csv"):
        options = ["--keep", "id", "--output"]
        fairfront("predict", path, tmp_path / name, *options, tmp_path / f"{name}.out.parquet")
    tables = [pq.read_table(tmp_path / f"{n}.out.parquet") for n in ("rows.parquet", "rows.csv")]
    assert tables[0].equals(tables[1])
    assert tables[0].column_names == ["id", "score", "probability", "decision", "note"]
    assert tables[0]["id"].to_pylist() == [str(i) for i in range(5_000)]
    printed = fairfront("predict", path, tmp_path / "rows.csv", "--output", "-")
    printed = pd.read_csv(io.BytesIO(printed), keep_default_na=False)
    stored = tables[0].to_pandas().drop(columns="id").fillna({"note": ""})
    pd.testing.assert_frame_equal(printed, stored, check_dtype=False, check_exact=True)


def test_an_audit_agrees_with_pandas(fairfront, data, adult, adult_model, tmp_path):
    path, _ = adult_model
    args = ["predict", path, data / "adult.test", "--output", tmp_path / "scores.csv"]
    audit = json.loads(fairfront(*args, "--audit", "--json"))["audit"]
    found = pd.read_csv(tmp_path / "scores.csv")
    rows = adult.iloc[-len(found) :].reset_index(drop=True)
    label = rows["income"] == ">50K"
    chosen = found["decision"] == 1
    assert audit["overall"]["accuracy"] == pytest.approx((label == chosen).mean(), abs=1e-15)
    given = np.where(label, found["probability"], 1 - found["probability"])
    assert audit["log_loss"] == pytest.approx(-np.log(given).mean(), rel=1e-9)
    (sex,) = audit["attributes"]
    for group, rates in sex["groups"].items():
        own = rows["sex"] == group
        expected = {
            "count": own.sum(),
            "positive_rate": label[own].mean(),
            "selection_rate": chosen[own].mean(),
            "false_negative_rate": (~chosen)[own & label].mean(),
            "false_positive_rate": chosen[own & ~label].mean(),
            "accuracy": (label == chosen)[own].mean(),
        }
        assert rates == pytest.approx(expected, abs=1e-15)
    rates = [g["selection_rate"] for g in sex["groups"].values()]
    assert sex["demographic_parity_difference"] == max(rates) - min(rates)
    assert sex["demographic_parity_ratio"] == min(rates) / max(rates)
