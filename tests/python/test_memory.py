"""Inputs that do not fit in memory are an error with a remedy, never an abort.

Estimates are compared with the peak that the system measures. The system limits the address space (RLIMIT_AS), so that
real allocation failures are tested, too.
"""

import gzip
import json
import os
import resource
import subprocess
import sys
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MIB = 1 << 20
ROLES = ["--target", "y", "--positive", "yes", "--sensitive", "sex"]


def capped(fairfront, mib, *args, stdin=None):
    """Run a command with a limited address space, and return its one line of error."""
    limit = mib * MIB
    done = subprocess.run(
        [fairfront.binary, *map(str, args)],
        stdin=stdin or subprocess.DEVNULL,
        capture_output=True,
        # One thread takes the same address space on every machine.
        env=os.environ | {"RAYON_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        timeout=120,
    )
    stderr = done.stderr.decode()
    assert done.returncode == 1, (done.returncode, stderr)
    assert stderr.startswith("error: ") and stderr.count("\n") == 1, stderr
    return stderr


def long_line(path, mib):
    """Write a small gzip file with a header and one row of this many MiB."""
    pack = zlib.compressobj(1, zlib.DEFLATED, 31)
    text = b"x" * MIB
    with open(path, "wb") as file:
        file.write(pack.compress(b"n,word\n1,"))
        for _ in range(mib):
            file.write(pack.compress(text))
        file.write(pack.flush())


def many_rows(path, rows):
    """Write a Parquet file with very many rows in few bytes."""
    part = rows // 10
    values = pa.array(np.zeros(part))
    column = pa.DictionaryArray.from_arrays(np.zeros(part, dtype=np.int32), ["a"]).cast("string")
    table = pa.table({"x": values, "y": column, "sex": column})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(10):
            writer.write_table(table, row_group_size=part)


def wide_rows(path, rows):
    """Write a CSV file of numbers, with a group and a target."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(rows, 12)).round(3), columns=[f"x{i}" for i in range(12)])
    table["sex"] = np.where(rng.random(rows) < 0.5, "f", "m")
    table["y"] = np.where(table["x0"] + rng.normal(size=rows) > 0, "yes", "no")
    table.to_csv(path, index=False)


def test_a_compressed_row_is_rejected_before_it_fills_the_memory(fairfront, tmp_path):
    path = tmp_path / "bomb.csv.gz"
    long_line(path, 512)
    assert path.stat().st_size < 4 * MIB
    # A row has at most 16 MiB, so that 300 MiB are enough to detect the problem.
    for command in [["inspect", path], ["inspect", "-"]]:
        with open(path, "rb") as stdin:
            said = capped(fairfront, 300, *command, stdin=stdin)
        assert "row 1, line 2: the row is longer than 16 MiB; shorten it" in said
    wide_rows(tmp_path / "t.csv", 400)
    fairfront("fit", tmp_path / "t.csv", *ROLES, "--out", tmp_path / "run", "--quiet")
    fairfront.model(tmp_path / "run", 1, tmp_path / "model.json")
    header = ",".join([f"x{i}" for i in range(12)])
    with gzip.open(tmp_path / "new.csv.gz", "wb") as file:
        file.write(f"{header}\n".encode())
        for _ in range(64):
            file.write(b"1" * MIB)
    said = fairfront.error("predict", tmp_path / "model.json", tmp_path / "new.csv.gz", "-o", tmp_path / "out.csv")
    assert "line 2: the row is longer than 16 MiB" in said


def test_an_unclosed_quote_is_an_error_with_its_line(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('n,word\n1,a\n2,"b\n' + "3,c\n" * (5 * MIB))
    said = fairfront.error("inspect", path)
    assert "row 2, line 3: the row is longer than 16 MiB; close the quote that opens a field on line 3" in said


def test_parquet_is_rejected_by_its_row_count(fairfront, tmp_path):
    path = tmp_path / "t.parquet"
    many_rows(path, 100_000_000)
    assert path.stat().st_size < 6 * MIB
    said = capped(fairfront, 800, "inspect", path)
    assert "t.parquet: 100,000,000 rows of 3 columns take about 1." in said
    assert "available; use fewer columns with --feature and --drop, use fewer rows" in said
    said = fairfront.error("inspect", path, "--memory", "500MiB")
    assert "more than the 500.0 MiB set by --memory" in said and said.endswith("or raise --memory\n")
    # Fewer columns fit.
    many_rows(path, 1_000_000)
    assert "1,000,000 rows of 3 columns" in fairfront.error("inspect", path, "--memory", "10MiB")
    fairfront("inspect", path, "--memory", "10MiB", "--type", "x=numeric", "--drop", "x,sex")


@pytest.mark.parametrize("name", ["demo(rows=1000000000)", "synthetic:1(rows=1000000000)"])
def test_generated_rows_are_rejected_by_their_number(fairfront, name):
    for command in [["inspect", name], ["data", "export", name, "-o", "-"]]:
        said = capped(fairfront, 2000, *command)
        assert "1,000,000,000 rows take about" in said and "set fewer rows" in said


def test_a_large_csv_file_is_rejected(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    wide_rows(path, 400_000)
    said = fairfront.error("inspect", path, "--memory", "30MB")
    assert "rows of 14 columns take about" in said and "set by --memory" in said
    said = capped(fairfront, 80, "inspect", path)
    assert "rows of 14 columns take about" in said and "available; use fewer columns with --feature" in said
    # With a limit above the system's, the allocation fails in the end.
    said = capped(fairfront, 80, "inspect", path, "--memory", "100GiB")
    assert said.startswith("error: memory: the system refused ") and "fewer rows" in said
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    assert "rows of 14 columns" in fairfront.error("inspect", packed, "--memory", "30MB")
    assert "rows of 14 columns" in fairfront.error("inspect", "-", "--memory", "30MB", stdin=path.read_bytes())


def test_a_fit_is_rejected_before_it_starts(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    wide_rows(path, 100_000)
    # A file would be packed, but standard input cannot be read again.
    piped, text = ["fit", "-", *ROLES, "--out", tmp_path / "run", "--quiet"], path.read_bytes()
    read = fairfront.error(*piped, "--memory", "8MiB", stdin=text)
    assert "rows of 14 columns" in read
    encoded = fairfront.error(*piped, "--memory", "24MiB", stdin=text)
    assert "100,000 encoded rows of 12 features take about" in encoded
    solving = fairfront.error(*piped, "--memory", "40MiB", stdin=text)
    fit = ["fit", path, *piped[2:]]
    assert "fit: 100,000 rows, their scores and" in solving and "stream --window" in solving
    for solver, models in [("weighted", 1_000_000), ("trace", 10_000_000), ("pf-smg", 100_000_000)]:
        many = fairfront.error(*fit, "--solver", solver, "--models", models, "--memory", "1GiB")
        assert "candidate models" in many and "lower --models" in many
    assert not (tmp_path / "run").exists()
    # The same from a TOML file.
    (tmp_path / "t.toml").write_text('memory = "24MiB"\n')
    assert "encoded rows" in fairfront.error(*piped, "--config", tmp_path / "t.toml", stdin=text)


@pytest.mark.parametrize("size", ["2 apples", "-1GiB", "0", ""])
def test_invalid_sizes_are_wrong_usage(fairfront, size):
    done = fairfront.run("inspect", "demo", f"--memory={size}")
    assert done.returncode == 2
    assert b"--memory" in done.stderr and b"2GiB" in done.stderr


def peak_of(*command):
    """Run a command and return its peak of resident bytes."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    out = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, timeout=300)
    status, peak = out.stdout.split()
    assert status == b"0", out
    return int(peak) * 1024


def estimate(fairfront, kind, *command, stdin=None):
    """Return the estimate of a rejected command, in bytes."""
    low = 16 * MIB
    for _ in range(40):
        said = fairfront.run(*command, "--memory", f"{low}B", stdin=stdin).stderr.decode()
        assert "take about" in said, said
        number, unit = said.split("take about ")[1].split()[:2]
        found = float(number) * {"MiB": MIB, "GiB": 1 << 30}[unit]
        if kind in said:
            return found
        low = int(1.1 * max(found, low))
    raise AssertionError(said)


def test_estimates_are_near_the_measured_peak(fairfront, tmp_path):
    """Without the memory of the program itself, estimates are within a factor of 1.5, as documented."""
    base = peak_of(fairfront.binary, "inspect", "demo(rows=100)")
    path = tmp_path / "t.csv"
    wide_rows(path, 250_000)
    whole = peak_of(fairfront.binary, "inspect", path, "--json") - base
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table({f"x{i}": np.arange(2_000_000.0) for i in range(6)}), parquet)
    for kind, command in [("2,000,000 rows", ["inspect", parquet])]:
        peak = peak_of(fairfront.binary, *command) - base
        found = estimate(fairfront, kind, *command)
        assert found / 1.5 < peak < 1.5 * found, (command, found, peak)
    fit = ["fit", path, *ROLES, "--out", tmp_path / "run", "--quiet", "--models", "20", "--max-seconds", "20"]
    peak = peak_of(fairfront.binary, *fit) - base
    # A file would be packed, but standard input cannot be read again.
    found = estimate(fairfront, "fit: ", "fit", "-", *fit[2:], "--force", stdin=path.read_bytes())
    assert found / 1.5 < peak < 1.5 * found, (found, peak)
    assert whole < peak


def test_nul_bytes_are_an_error_everywhere(fairfront, tmp_path):
    rows = 400
    lines = ["n,word,sex,y"]
    for i in range(rows):
        lines.append(f"{i % 17},w{i % 3},{'fm'[i % 2]},{('no', 'yes')[i * 7 % 5 > 2]}")
    good = "\n".join(lines) + "\n"
    bad = good.replace("\n6,w2", "\n6,w\x002", 1)
    row = next(i for i, line in enumerate(bad.split("\n")) if "\0" in line)
    place = f"row {row} (line {row + 1}), column \"word\": the value contains a NUL byte; remove it"
    path = tmp_path / "t.csv"
    path.write_text(bad)
    assert place in fairfront.error("inspect", path)
    assert place in fairfront.error("inspect", "-", stdin=bad.encode())
    # In an unused column, too.
    assert place in fairfront.error("inspect", path, "--drop", "word")
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(bad.encode()))
    assert place in fairfront.error("inspect", packed)
    (tmp_path / "header.csv").write_text(good.replace("word", "wo\0rd", 1))
    assert "the name of column 2 contains a NUL byte" in fairfront.error("inspect", tmp_path / "header.csv")
    # Binary files are not text.
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 4)
    assert "not a text file" in fairfront.error("inspect", tmp_path / "binary.csv")
    frame = pd.DataFrame({"n": range(rows), "word": ["w"] * 7 + ["w\0x"] + ["w"] * (rows - 8)})
    frame.to_parquet(tmp_path / "t.parquet")
    said = fairfront.error("inspect", tmp_path / "t.parquet")
    assert "t.parquet, row 8, column \"word\": the value contains a NUL byte" in said
    pq.write_table(pa.table({"n": [1, 2], "a\0b": [1, 2]}), tmp_path / "name.parquet")
    assert "name of column 2 contains a NUL byte" in fairfront.error("inspect", tmp_path / "name.parquet")
    # New rows of a model.
    (tmp_path / "good.csv").write_text(good)
    run, model = tmp_path / "run", tmp_path / "model.json"
    fairfront("fit", tmp_path / "good.csv", *ROLES, "--out", run, "--quiet", "--models", "5")
    fairfront.model(run, 1, model)
    said = fairfront.error("predict", model, path, "-o", tmp_path / "out.csv")
    assert place in said
    # Streams reject such rows, as they do with rows that are not UTF-8.
    state = tmp_path / "state"
    fairfront("stream", state, path, *ROLES, "--quiet", "--flush")
    with open(state / "rejected.csv", newline="", encoding="utf-8") as file:
        rejected = file.read()
    assert "the value contains a NUL byte" in rejected and "\0" not in rejected
    # Settings.
    (tmp_path / "t.toml").write_text('target = "y\\u0000"\n')
    done = fairfront.run("inspect", tmp_path / "good.csv", "--config", tmp_path / "t.toml")
    assert done.returncode == 2
    assert b"t.toml: target: the string contains a NUL character; remove it" in done.stderr


def test_the_limit_does_not_change_the_result(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    wide_rows(path, 500)
    fit = ["fit", path, *ROLES, "--quiet", "--models", "5", "--out"]
    fairfront(*fit, tmp_path / "a")
    fairfront(*fit, tmp_path / "b", "--memory", "1GiB")
    for name in ["front.parquet", "encoding.json"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    a, b = (json.loads((tmp_path / name / "run.json").read_text()) for name in "ab")
    assert a["spec"] == b["spec"] and a["read"] == b["read"]
