"""Parquet files that pandas and pyarrow write, and corrupted ones."""

import datetime
import decimal
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


def table(n=1_000):
    """Return numbers, strings, flags and categories, some of them missing."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-(10**12), 10**12, n),
            "real": rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n),
            "word": rng.choice(["ash", "beech", "cedar, red", 'a "quoted" oak', "Öl", "木"], n),
            "code": pd.Categorical(rng.choice(["x", "y", "z"], n)),
            "flag": rng.choice([True, False], n),
        }
    ).astype({"whole": "Int64", "word": "str", "flag": "boolean"})
    for column in frame:
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame


def strings(values):
    """Format values as `data export` does: missing values are empty, booleans lowercase."""
    text = lambda v: str(v).lower() if isinstance(v, (bool, np.bool_)) else v
    return ["" if pd.isna(v) else text(v) for v in values]


def same(seen, expected):
    """Compare exported strings with the values of a frame, numbers as numbers."""
    assert list(seen) == list(expected)
    for column in expected:
        wanted = strings(expected[column])
        if any(isinstance(v, (int, float, np.number)) for v in wanted):
            number = lambda v: None if isinstance(v, str) and v == "" else float(v)
            assert [number(v) for v in seen[column]] == [number(v) for v in wanted], column
        else:
            assert list(seen[column]) == wanted, column


@pytest.mark.parametrize("codec", CODECS)
def test_codecs(fairfront, tmp_path, codec):
    path = tmp_path / "t.parquet"
    table().to_parquet(path, compression=None if codec == "none" else codec)
    same(fairfront.rows(path), table())


@pytest.mark.parametrize(
    "options",
    [
        {"row_group_size": 7},
        {"data_page_size": 64, "write_batch_size": 16},
        {"use_dictionary": False},
        {"data_page_version": "2.0", "compression": "zstd"},
        {"version": "1.0"},
        {
            "use_dictionary": False,
            "column_encoding": {
                "whole": "DELTA_BINARY_PACKED",
                "real": "BYTE_STREAM_SPLIT",
                "word": "DELTA_BYTE_ARRAY",
                "code": "DELTA_LENGTH_BYTE_ARRAY",
                "flag": "RLE",
            },
        },
        {"write_page_index": True, "write_page_checksum": True},
    ],
    ids=["row-groups", "pages", "plain", "pages-v2", "format-1", "encodings", "page-index"],
)
def test_layouts(fairfront, tmp_path, options):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(table()), path, **options)
    same(fairfront.rows(path), table())


NUMBERS = {
    "float16": [0.5, -65504, 2.0**-24, 0.333251953125],
    "float32": [0.1, -3.4e38, 1e-45, 2**24 + 1],
    "float64": [0.1, -1.7e308, 5e-324, 2**53 + 1],
}
for bits in (8, 16, 32, 64):
    NUMBERS[f"int{bits}"] = [0, -1, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
    NUMBERS[f"uint{bits}"] = [0, 1, 2 ** (bits - 1), 2**bits - 1]


@pytest.mark.parametrize("optional", [True, False])
def test_number_types(fairfront, tmp_path, optional):
    path = tmp_path / "t.parquet"
    arrays = {name: pa.array(np.array(values, name)) for name, values in NUMBERS.items()}
    if optional:
        arrays = {name: pa.concat_arrays([a, pa.nulls(1, a.type)]) for name, a in arrays.items()}
    fields = [pa.field(name, a.type, nullable=optional) for name, a in arrays.items()]
    written = pa.table(arrays, schema=pa.schema(fields))
    pq.write_table(written, path)
    seen = fairfront.rows(path)
    for name, column in zip(written.column_names, written.columns, strict=True):
        wanted = ["" if v is None else float(v) for v in column.to_pylist()]
        assert [v and float(v) for v in seen[name]] == wanted, name


@pytest.mark.parametrize(
    "precision, scale, as_integer",
    [(p, s, True) for p, s in [(1, 0), (4, 2), (9, 4), (10, 0), (12, 12), (18, 5)]]
    + [(p, s, False) for p, s in [(1, 0), (9, 4), (18, 5), (28, 9), (38, 38), (50, 10), (76, 30)]],
)
def test_decimals(fairfront, tmp_path, precision, scale, as_integer):
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    choose = random.Random(precision * 100 + scale)
    unscaled = [choose.choice([-1, 1]) * choose.randrange(10**precision) for _ in range(50)]
    values = [decimal.Context(prec=100).scaleb(decimal.Decimal(n), -scale) for n in unscaled]
    values[3] = None
    path = tmp_path / "t.parquet"
    columns = pa.table({"d": pa.array(values, kind)})
    pq.write_table(columns, path, store_decimal_as_integer=as_integer)
    seen = fairfront.rows(path)["d"]
    for text, value in zip(seen, values, strict=True):
        if value is None:
            assert text == ""
        else:
            # With more than 38 digits, a value may be one rounding step from the nearest float.
            tolerance = 0 if precision <= 38 else 4e-16
            assert float(text) == pytest.approx(float(value), rel=tolerance, abs=0)


def test_string_types(fairfront, tmp_path):
    words = ["red", None, "blue", "red", ""]
    columns = {
        "string": pa.array(words, pa.string()),
        "large": pa.array(words, pa.large_string()),
        "dictionary": pa.array(words).dictionary_encode(),
        "binary": pa.array([w and w.encode() for w in words], pa.binary()),
        "view": pa.array(words, pa.string_view()),
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    seen = fairfront.rows(path)
    for name in columns:
        assert list(seen[name]) == ["red", "", "blue", "red", ""], name
    assert [c["missing"] for c in fairfront.inspect(path)["columns"]] == [2] * 5


def test_strings_that_mark_missing_values(fairfront, tmp_path):
    words = ["a", "?", "NA", "n/a", "nan", "NULL", "b", " ? "]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"word": words, "n": range(8)}), path)
    assert list(fairfront.rows(path)["word"]) == ["a", "", "", "", "", "", "b", ""]
    own = ["--no-default-missing", "--missing-value", "b", "--missing-value", "3.0"]
    kept = fairfront.rows(path, *own)
    assert list(kept["word"])[:7] == [*words[:6], ""]
    assert list(kept["n"]) == ["0", "1", "2", "", "4", "5", "6", "7"]


def test_nan_and_null_are_missing(fairfront, tmp_path):
    path = tmp_path / "t.parquet"
    halves = np.array([1, np.nan, 3], np.float16)
    columns = {
        "f64": pa.array([1.5, float("nan"), None]),
        "f32": pa.array([1.5, float("nan"), None], pa.float32()),
        "f16": pa.array(halves),
        "whole": pa.array([1, 2, None]),
    }
    pq.write_table(pa.table(columns), path)
    seen = {c["name"]: c["missing"] for c in fairfront.inspect(path)["columns"]}
    assert seen == {"f64": 2, "f32": 2, "f16": 1, "whole": 1}
    assert list(fairfront.rows(path)["f64"]) == ["1.5", "", ""]


def test_infinity_is_an_error(fairfront, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, float("inf"), 2.0]}), path)
    message = fairfront.error("inspect", path)
    assert "row 2" in message and '"x"' in message


NOON = datetime.datetime(2024, 2, 29, 12, 30)
DATES = {
    "date32": pa.array([NOON.date()] * 3),
    "date64": pa.array([NOON.date()] * 3, pa.date64()),
    "seconds": pa.array([NOON] * 3, pa.timestamp("s")),
    "milli": pa.array([NOON] * 3, pa.timestamp("ms")),
    "micro": pa.array([NOON] * 3, pa.timestamp("us")),
    "nano": pa.array([NOON] * 3, pa.timestamp("ns")),
    "zoned": pa.array([NOON] * 3, pa.timestamp("us", "UTC")),
}
LEFT_OUT = {
    "time32": (pa.array([NOON.time()] * 3, pa.time32("ms")), "times without a date"),
    "time64": (pa.array([NOON.time()] * 3, pa.time64("us")), "times without a date"),
    "list": (pa.array([[1, 2], [], None]), "nested values"),
    "struct": (pa.array([{"a": 1}, {"a": 2}, None]), "nested values"),
    "map": (pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())), "nested values"),
    "bytes": (pa.array([b"\xff\xfe", b"\x80", b"ok"]), "bytes that are not text"),
    "fixed": (pa.array([b"abcd"] * 3, pa.binary(4)), "bytes that are not text"),
}


@pytest.mark.parametrize("int96", [False, True])
def test_dates_are_days_since_1970(fairfront, tmp_path, int96):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(DATES), path, use_deprecated_int96_timestamps=int96)
    seen = {c["name"]: c for c in fairfront.inspect(path)["columns"]}
    day = (NOON.date() - datetime.date(1970, 1, 1)).days
    for name in DATES:
        time = 0 if name.startswith("date") else 12.5 / 24
        assert (seen[name]["type"], seen[name]["range"]["max"]) == ("date", day + time), name


@pytest.mark.parametrize("int96", [False, True])
def test_unsupported_columns_are_left_out_with_a_message(fairfront, tmp_path, int96):
    path = tmp_path / "t.parquet"
    columns = {name: values for name, (values, _) in LEFT_OUT.items()}
    written = pa.table({"x": [1.0, 2.0, 3.0], **columns})
    pq.write_table(written, path, use_deprecated_int96_timestamps=int96)
    seen = fairfront.inspect(path)
    assert list(fairfront.rows(path)) == ["x"]
    messages = [n["message"] for n in seen["messages"]]
    for name, (_, reason) in LEFT_OUT.items():
        # A nested column becomes several columns, with names such as list.list.element.
        columns = [c for c in seen["columns"] if c["name"].split(".")[0] == name]
        assert columns, name
        for column in columns:
            assert (column["type"], column["left_out"]) == (None, reason), column
            assert any(f'"{column["name"]}" is left out' in n for n in messages), column


@pytest.mark.parametrize(
    "index",
    [
        None,
        pd.Index([5, 3, 9, 1]),
        pd.Index([5, 3, 9, 1], name="id"),
        pd.Index(list("abcd"), name="key"),
    ],
    ids=["range", "unnamed", "named", "text"],
)
def test_a_pandas_index_is_not_a_feature(fairfront, tmp_path, index):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "w": list("pqpq")}, index=index)
    frame.to_parquet(path)
    assert list(fairfront.rows(path)) == ["x", "w"]
    if index is not None and index.name:
        # A type for the index makes it a column.
        typed = fairfront.rows(path, "--type", f"{index.name}=categorical")
        assert list(typed) == ["x", "w", index.name]


def test_csv_and_parquet_give_the_same_inspection(fairfront, tmp_path):
    frame = table(5_000)
    frame["group"] = np.random.default_rng(1).choice(["a", "b"], len(frame))
    frame.to_parquet(tmp_path / "t.parquet")
    # Whole numbers without .0 and lowercase flags, as strings of Parquet's types.
    frame.apply(lambda c: pd.Series(strings(c))).to_csv(tmp_path / "t.csv", index=False)
    roles = ["--target", "flag", "--sensitive", "group", "--sensitive", "word"]
    seen = [fairfront.inspect(tmp_path / name, *roles) for name in ("t.csv", "t.parquet")]
    for one in seen:
        one.pop("source")
    assert seen[0] == seen[1]


def test_spaces_around_strings_are_removed_in_both_formats(fairfront, tmp_path):
    frame = pd.DataFrame({"word": ["a", " a", "a ", "b"], "x": [1, 2, 3, 4]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    assert fairfront.rows(tmp_path / "t.parquet").equals(fairfront.rows(tmp_path / "t.csv"))


def test_several_files_and_standard_input(fairfront, tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    table().to_parquet(first)
    table(50)[["flag", "word", "real", "code", "whole"]].to_parquet(second)
    same(fairfront.rows(first, second), pd.concat([table(), table(50)], ignore_index=True))
    same(fairfront.rows("-", stdin=first.read_bytes()), table())


def test_an_empty_table_is_an_error(fairfront, tmp_path):
    path = tmp_path / "t.parquet"
    table(0).to_parquet(path)
    assert "no rows" in fairfront.error("inspect", path)


def check_corrupted(fairfront, path, damage):
    """A corrupted file is an error in one line, or its readable part is read."""
    done = fairfront.run("inspect", path, "--json")
    stderr = done.stderr.decode()
    assert "panicked" not in stderr, f"{damage}: {stderr}"
    if done.returncode == 0:
        assert stderr == "", damage
    else:
        assert done.returncode == 1, f"{damage}: exit {done.returncode}: {stderr}"
        assert stderr.startswith("error: ") and stderr.count("\n") == 1, f"{damage}: {stderr}"


def written(path, kind):
    """Write a small file, with small pages so that damage hits every kind of structure."""
    if kind == "dates":
        # No column is read, so that only the metadata has the number of rows.
        frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
        frame.to_parquet(path)
    elif kind == "decimal":
        values = [decimal.Decimal(i) / 100 for i in range(60)]
        pq.write_table(pa.table({"d": pa.array(values, pa.decimal128(20, 2))}), path)
    else:
        options = {"compression": kind, "data_page_size": 128, "row_group_size": 40}
        pq.write_table(pa.Table.from_pandas(table(60)), path, **options)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["none", "snappy", "dates"])
def test_a_truncated_file(fairfront, tmp_path, kind):
    path = tmp_path / "t.parquet"
    whole = written(path, kind)
    for length in [*range(12), *np.linspace(12, len(whole) - 1, 40, dtype=int)]:
        path.write_bytes(whole[:length])
        assert fairfront.error("inspect", path), length


@pytest.mark.parametrize("kind", [*CODECS, "decimal", "dates"])
def test_flipped_bytes(fairfront, tmp_path, kind):
    path = tmp_path / "t.parquet"
    whole = written(path, kind)
    choose = random.Random(kind)
    for _ in range(60):
        corrupted = bytearray(whole)
        # Half of the damage is in the metadata at the end, where it has the largest effect.
        start = choose.choice([0, max(0, len(whole) - 2_000)])
        places = [choose.randrange(start, len(whole)) for _ in range(choose.choice([1, 1, 3]))]
        for place in places:
            corrupted[place] ^= choose.randrange(1, 256)
        path.write_bytes(corrupted)
        check_corrupted(fairfront, path, f"bytes {places} of {kind}")


def test_an_impossible_row_count(fairfront, tmp_path):
    path = tmp_path / "t.parquet"
    whole = written(path, "dates")
    length = int.from_bytes(whole[-8:-4], "little")
    pages, metadata = whole[: -8 - length], whole[-8 - length : -8]
    sixty, huge = zigzag(60), zigzag(10**12)
    places = [i for i in range(length) if metadata[i : i + 1] == sixty]
    assert places
    for place in places:
        changed = metadata[:place] + huge + metadata[place + 1 :]
        path.write_bytes(pages + changed + len(changed).to_bytes(4, "little") + b"PAR1")
        check_corrupted(fairfront, path, f"byte {place} of the metadata")


def zigzag(number):
    """Encode a whole number as in the metadata: seven bits per byte, with the sign in the lowest bit."""
    number *= 2
    out = bytearray()
    while number >= 128:
        out.append(number % 128 + 128)
        number //= 128
    return bytes([*out, number])
