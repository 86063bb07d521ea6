"""Block files: a fit on packed rows has the same bytes as a fit in memory."""

import os

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from cluster_rows import PARAMS, ROWS, frame, run_files, same

from fairfront import FairFrontClassifier, pack

ROLES = {"sensitive_features": ["sex", "region"], "sample_weight": "weight"}
OBJECTIVES = ["log_loss", "score_covariance(sex)"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    rows = frame(50_000)
    rows.to_parquet(path)
    return path, rows


@pytest.fixture(scope="module")
def expected(table):
    return FairFrontClassifier(OBJECTIVES, **PARAMS, **ROWS).fit(table[0], "paid", **ROLES)


def in_parts(rows, n=7):
    ends = np.linspace(0, len(rows), n + 1).astype(int)
    return [rows.iloc[start:end] for start, end in zip(ends[:-1], ends[1:])]


def test_a_packed_file_gives_the_same_run(tmp_path, table, expected):
    summary = pack(table[0], tmp_path / "rows.ffb", "paid", **ROLES, **ROWS)
    assert summary["rows_read"] == 50_000
    assert summary["rows_used"] == sum(summary["rows"].values())
    assert summary["bytes"] == os.path.getsize(tmp_path / "rows.ffb")
    packed = FairFrontClassifier(OBJECTIVES, **PARAMS).fit(tmp_path / "rows.ffb")
    same(expected, packed)
    files, info = run_files(expected, tmp_path / "memory")
    assert (files, info) == run_files(packed, tmp_path / "packed")
    assert files
    X = table[1].head(100)
    np.testing.assert_array_equal(packed.predict(X), expected.predict(X))


@pytest.mark.parametrize(
    "batches",
    [
        lambda parts: iter(parts),
        lambda parts: (pa.Table.from_pandas(part, preserve_index=False) for part in parts),
        lambda parts: (pl.from_pandas(part) for part in parts),
        lambda parts: (
            batch
            for part in parts
            for batch in pa.Table.from_pandas(part, preserve_index=False).to_batches(max_chunksize=3000)
        ),
        lambda parts: [parts[0].head(0), *parts],
    ],
    ids=["pandas", "pyarrow", "polars", "record batches", "an empty table"],
)
def test_batches_give_the_same_front(tmp_path, table, expected, batches):
    pack(batches(in_parts(table[1])), tmp_path / "rows.ffb", "paid", **ROLES, **ROWS)
    same(expected, FairFrontClassifier(OBJECTIVES, **PARAMS).fit(tmp_path / "rows.ffb"))


def test_one_table_is_packed(tmp_path, table, expected):
    pack(pa.Table.from_pandas(table[1]), tmp_path / "rows.ffb", "paid", **ROLES, **ROWS)
    same(expected, FairFrontClassifier(OBJECTIVES, **PARAMS).fit(tmp_path / "rows.ffb"))


def test_batches_without_values_keep_the_type_of_the_column(tmp_path):
    rows = frame(3000)
    parts = [pa.Table.from_pandas(part, preserve_index=False) for part in in_parts(rows, 3)]
    place = parts[1].column_names.index("job")
    parts[1] = parts[1].set_column(place, "job", pa.nulls(parts[1].num_rows))
    rows.loc[1000:1999, "job"] = None
    rows.to_parquet(tmp_path / "rows.parquet")
    pack(parts, tmp_path / "rows.ffb", "paid", sensitive_features="sex")
    expected = FairFrontClassifier(**PARAMS).fit(tmp_path / "rows.parquet", "paid", sensitive_features="sex")
    same(expected, FairFrontClassifier(**PARAMS).fit(tmp_path / "rows.ffb"))


def test_groups_and_classes_that_are_numbers(tmp_path):
    rows = frame(3000).assign(sex=lambda r: (r["sex"] == "m").astype(int), paid=lambda r: (r["paid"] == "yes") * 1.0)
    rows.to_parquet(tmp_path / "rows.parquet")
    pack(in_parts(rows, 2), tmp_path / "rows.ffb", "paid", sensitive_features="sex", pos_label=1)
    packed = FairFrontClassifier(**PARAMS).fit(tmp_path / "rows.ffb")
    expected = FairFrontClassifier(**PARAMS, pos_label=1).fit(
        tmp_path / "rows.parquet", "paid", sensitive_features="sex"
    )
    same(expected, packed)
    assert list(packed.classes_) == ["0", "1"]


@pytest.mark.parametrize("of_files", [True, False])
@pytest.mark.parametrize(
    "column,settings,message",
    [
        ("income", {"missing": "error"}, r"column \"income\" has .* missing value.*missing='keep'"),
        ("sex", {}, r"column \"sex\" has .* missing value.*missing_sensitive='group'"),
    ],
)
def test_missing_values_that_are_rejected_leave_no_file(tmp_path, of_files, column, settings, message):
    rows = frame(2000).drop(columns="income").assign(income=1.0 * np.arange(2000))
    rows.loc[1500:1510, column] = None
    if of_files:
        rows.to_csv(tmp_path / "rows.csv", index=False)
    given = tmp_path / "rows.csv" if of_files else in_parts(rows, 4)
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(ValueError, match=message):
        pack(given, work / "rows.ffb", "paid", sensitive_features="sex", **settings)
    assert list(work.iterdir()) == []


def test_an_existing_file_survives_a_failure(tmp_path):
    rows = frame(2000)
    pack([rows], tmp_path / "rows.ffb", "paid", sensitive_features="sex")
    before = (tmp_path / "rows.ffb").read_bytes()
    with pytest.raises(ValueError):
        pack([rows], tmp_path / "rows.ffb", "paid", sensitive_features="sex", missing="error")
    with pytest.raises(ZeroDivisionError):
        pack((rows.assign(age=1 // 0) for _ in "ab"), tmp_path / "rows.ffb", "paid", sensitive_features="sex")
    assert (tmp_path / "rows.ffb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows.ffb"]


def test_wrong_arguments(tmp_path):
    rows, out = frame(500), tmp_path / "rows.ffb"
    with pytest.raises(TypeError, match="y is Series; pass the name"):
        pack(rows, out, rows["paid"])
    with pytest.raises(TypeError, match="X contains int"):
        pack([1], out, "paid")
    with pytest.raises(TypeError, match="X is int"):
        pack(1, out, "paid")
    with pytest.raises(ValueError, match="no rows were passed"):
        pack([], out, "paid")
    with pytest.raises(ValueError, match="the place of|it has"):
        pack([rows, rows.drop(columns="age")], out, "paid")
    with pytest.raises(ValueError, match="paied"):
        pack(rows, out, "paied")
    assert not out.exists()


def test_a_block_file_has_its_columns_and_rows(tmp_path):
    out = tmp_path / "rows.ffb"
    pack(frame(1000), out, "paid", sensitive_features="sex")
    with pytest.raises(ValueError, match="^y is set, but X is a block file"):
        FairFrontClassifier().fit(out, "paid")
    with pytest.raises(ValueError, match="^validation_fraction is set, but X is a block file"):
        FairFrontClassifier(validation_fraction=0.2).fit(out)
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ValueError, match="^estimator is set, but X is a block file"):
        FairFrontClassifier(estimator=LogisticRegression()).fit(out)


def test_a_corrupted_file_is_rejected(tmp_path):
    out = tmp_path / "rows.ffb"
    pack(frame(1000), out, "paid", sensitive_features="sex")
    data = bytearray(out.read_bytes())
    data[len(data) // 3] ^= 1
    out.write_bytes(data)
    with pytest.raises((ValueError, OSError), match="rows.ffb"):
        FairFrontClassifier().fit(out)
