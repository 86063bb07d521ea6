"""Streams: batches, inputs, flags, rejected rows and readers."""

import gzip
import json
import random
import subprocess
import threading
import time

import pandas as pd
import pytest

from streaming import (
    BATCH,
    QUICK,
    SPEC,
    all_at_once,
    changing,
    contents,
    drifts,
    info,
    interrupt,
    newest,
    rejected,
    start,
    text_of,
    tree,
    wait_until,
    with_bad_rows,
    write,
)

# Files that do not contain names of inputs.
FRONT = ["front.parquet", "encoding.json", "drift.jsonl"]
UNNAMED = [*FRONT, *(f"rows/{i:06}.rows" for i in range(1, 6))]
QUIET = "--quiet"


@pytest.fixture(scope="module")
def rows(fairfront):
    return changing(fairfront)


@pytest.fixture(scope="module")
def text(rows):
    return with_bad_rows(text_of(rows))


@pytest.fixture(scope="module")
def whole(fairfront, text, tmp_path_factory):
    """The state of a stream that read all rows from one file."""
    return all_at_once(fairfront, text, tmp_path_factory.mktemp("whole"))


def same(state, expected, names=UNNAMED):
    assert contents(state, names) == contents(expected, names)
    columns = ["batch", "reason", "record"]
    pd.testing.assert_frame_equal(rejected(state)[columns], rejected(expected)[columns])


def n_waiting(state):
    """Return the number of rows in the log of the next batch."""
    batches = json.loads((newest(state) / "state.json").read_text())["batches"]
    log = state / f"spool/{batches + 1:06}.log"
    if not log.exists():
        return 0
    lines = [json.loads(line[17:]) for line in log.read_text().splitlines()]
    return sum("row" in line or "bad" in line for line in lines)


# Batches.


def test_batches_depend_only_on_the_number_of_rows(fairfront, text, whole, tmp_path):
    lines = text.splitlines(keepends=True)
    header, body = lines[0], lines[1:]
    assert info(whole)["stream"]["batches"] == 5
    for seed in range(3):
        rng = random.Random(seed)
        cuts = [0, *sorted(rng.sample(range(len(body)), 4)), len(body)]
        state = tmp_path / f"state{seed}"
        files = []
        for i, (a, b) in enumerate(zip(cuts, cuts[1:], strict=False)):
            files.append(write(tmp_path / f"{seed}-{i}.csv", header + "".join(body[a:b])))
        if seed == 0:
            fairfront("stream", state, *files, *SPEC, QUIET)
        else:
            for file in files:
                fairfront("stream", state, file, *SPEC, QUIET)
        same(state, whole)
        assert info(state)["stream"] == info(whole)["stream"]
        assert n_waiting(state) == n_waiting(whole) == len(body) - 5 * BATCH


def test_column_orders_and_formats_do_not_matter(fairfront, rows, tmp_path):
    write(tmp_path / "all.csv", text_of(rows))
    fairfront("stream", tmp_path / "all", tmp_path / "all.csv", *SPEC, QUIET)
    first = rows[:80]
    second = rows.loc[80:299, rows.columns[::-1]]
    third = rows[300:501]
    numbers = {c: pd.to_numeric(rows[c][501:]) for c in ["age", "income", "debt_ratio", "savings"]}
    fourth = rows[501:].assign(**numbers)
    write(tmp_path / "1.csv", text_of(first).replace("\n", "\r\n"))
    write(tmp_path / "2.csv", "\ufeff" + second.to_csv(index=False, sep=";"))
    with gzip.open(tmp_path / "3.csv.gz", "wt") as packed:
        packed.write(text_of(third))
    fourth.to_parquet(tmp_path / "4.parquet")
    files = [tmp_path / name for name in ["1.csv", "2.csv", "3.csv.gz", "4.parquet"]]
    fairfront("stream", tmp_path / "several", *files, *SPEC, QUIET)
    same(tmp_path / "several", tmp_path / "all")
    # The same files again add nothing.
    before = contents(tmp_path / "several")
    out = fairfront("stream", tmp_path / "several", *files).decode()
    assert "no new batch, 5 in total" in out and "rows wait" in out
    assert contents(tmp_path / "several") == before


def test_a_parquet_file_declares_types_in_any_call(fairfront, rows, tmp_path):
    zipped = rows.assign(zip=[str(i % 4) for i in range(len(rows))])[:200]
    zipped[:50].to_csv(tmp_path / "1.csv", index=False)
    zipped[50:100].to_parquet(tmp_path / "2.parquet")
    zipped[100:].to_csv(tmp_path / "3.csv", index=False)
    files = [tmp_path / "1.csv", tmp_path / "2.parquet", tmp_path / "3.csv"]
    fairfront("stream", tmp_path / "once", *files, *SPEC, QUIET)
    for file in files:
        fairfront("stream", tmp_path / "often", file, *SPEC, QUIET)
    assert "zip=3" in info(tmp_path / "once")["features"]
    same(tmp_path / "often", tmp_path / "once", ["front.parquet", "encoding.json"])


def test_standard_input_in_small_pieces(fairfront, text, whole, tmp_path):
    rng = random.Random(11)
    process = start(fairfront, tmp_path / "state", "-", *SPEC, "--json", stdin=subprocess.PIPE)
    data, at = text.encode(), 0
    while at < len(data):
        size = rng.choice([1, 7, 100, 3000, 30_000])
        process.stdin.write(data[at : at + size])
        process.stdin.flush()
        at += size
        if rng.random() < 0.2:
            time.sleep(0.12)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err.decode()
    same(tmp_path / "state", whole)
    printed = [json.loads(line) for line in out.decode().splitlines()]
    assert [p["stdin_rows"] for p in printed] == [BATCH * i for i in range(1, 6)]
    assert [p["batch"] for p in printed] == [1, 2, 3, 4, 5]


def test_stored_rows_of_standard_input_are_skipped(fairfront, text, whole, tmp_path):
    lines = text.splitlines(keepends=True)
    state = tmp_path / "state"
    part = "".join(lines[:301]).encode()
    out = fairfront("stream", state, "-", *SPEC, stdin=part).decode()
    assert "300 rows from standard input are stored" in out
    error = fairfront.run("stream", state, "-", "--skip", 301, stdin=text.encode())
    assert error.returncode == 2 and b"--skip 300" in error.stderr
    other = text.replace("yes", "no", 1).encode()
    assert "differ from those" in fairfront.error("stream", state, "-", "--skip", 300, stdin=other)
    short = "".join(lines[:100]).encode()
    error = fairfront.error("stream", state, "-", "--skip", 300, stdin=short)
    assert "ended after 99 rows" in error
    # First only the rest, then everything.
    rest = "".join([lines[0], *lines[301:411]]).encode()
    fairfront("stream", state, "-", QUIET, stdin=rest)
    said = fairfront.run("stream", state, "-", "--skip", 300, stdin=text.encode())
    assert said.returncode == 0 and b"rows 301 to 410" in said.stderr, said.stderr
    same(state, whole)


def test_a_growing_file_is_followed(fairfront, text, whole, tmp_path):
    rng = random.Random(5)
    log, state = tmp_path / "log.csv", tmp_path / "state"
    log.write_bytes(b"")
    process = start(fairfront, state, log, *SPEC, "--follow", "--json")
    data, at = text.encode(), 0
    while at < len(data):
        size = rng.choice([1, 50, 4000, 20_000])
        with log.open("ab") as grown:
            grown.write(data[at : at + size])
        at += size
        time.sleep(rng.random() * 0.05)
    is_there = lambda: (state / "drift.jsonl").exists() and len(drifts(state)) == 5  # noqa: E731
    wait_until(is_there, "five batches")
    time.sleep(0.3)
    interrupt(process)
    same(state, whole)
    assert n_waiting(state) == n_waiting(whole)
    # A last line without a line end waits.
    with log.open("a") as grown:
        grown.write("48,Female,Wh")
    process = start(fairfront, state, log, "--follow")
    time.sleep(0.5)
    interrupt(process)
    assert n_waiting(state) == n_waiting(whole)
    # A different file, shorter or longer, is an error, and no row of it is used.
    for other in [data[:2000], data[:500] + data]:
        log.write_bytes(data)
        process = start(fairfront, state, log, "--follow")
        time.sleep(0.5)
        log.write_bytes(other)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 1 and b"no longer contains the" in err, err
        same(state, whole)


def test_inputs_are_remembered(fairfront, text, whole, tmp_path):
    lines = text.splitlines(keepends=True)
    file, state = write(tmp_path / "rows.csv", "".join(lines[:250])), tmp_path / "state"
    fairfront("stream", state, file, *SPEC, QUIET)
    before = tree(state)
    fairfront("stream", state, file, *SPEC, QUIET)
    fairfront("stream", state, tmp_path / "." / "rows.csv", QUIET)
    (tmp_path / "link.csv").symlink_to(file)
    fairfront("stream", state, tmp_path / "link.csv", file, file, QUIET)
    assert tree(state) == before
    # Grown.
    write(file, "".join(lines[:500]))
    fairfront("stream", state, file, QUIET)
    assert info(state)["stream"]["batches"] == 3
    # Changed in the part that was read, or shorter.
    before = tree(state)
    write(file, text.replace("Female", "Femala", 1))
    assert "differ from those read before" in fairfront.error("stream", state, file)
    write(file, "".join(lines[:100]))
    assert "were read before" in fairfront.error("stream", state, file)
    assert tree(state) == before
    write(file, text)
    fairfront("stream", state, file, QUIET)
    same(state, whole)


def test_an_incomplete_last_line_of_standard_input_is_ignored(fairfront, text, whole, tmp_path):
    state = tmp_path / "state"
    cut = text[: text.index("\n", len(text) // 2) + 9].encode()
    done = fairfront.run("stream", state, "-", *SPEC, stdin=cut)
    assert done.returncode == 0 and b"has no line end and was ignored" in done.stderr
    stored = len(cut.splitlines()) - 2
    assert f"{stored} rows from standard input are stored".encode() in done.stdout
    fairfront("stream", state, "-", "--skip", stored, stdin=text.encode())
    same(state, whole)
    piped = fairfront.run("stream", state, "/dev/stdin", stdin=b"")
    assert piped.returncode == 2 and b"to read from a pipe, pass -" in piped.stderr


def test_a_file_that_begins_with_another_continues_after_it(fairfront, text, whole, tmp_path):
    """Files that contain all rows so far may be passed repeatedly."""
    lines = text.splitlines(keepends=True)
    first = write(tmp_path / "first.csv", "".join(lines[:320]))
    longer = write(tmp_path / "longer.csv", "".join(lines[:500]))
    all_rows = write(tmp_path / "all.csv", text)
    state = tmp_path / "state"
    fairfront("stream", state, first, longer, *SPEC)
    for _ in range(2):
        fairfront("stream", state, first, longer, all_rows)
    same(state, whole)
    assert b"no new batch" in fairfront("stream", state, longer, first)


def test_a_last_line_that_continues_later_is_an_error(fairfront, text, tmp_path):
    lines = text.splitlines(keepends=True)
    state = tmp_path / "state"
    file = write(tmp_path / "rows.csv", "".join(lines[:200]) + "48,Female")
    fairfront("stream", state, file, *SPEC, QUIET)
    write(file, "".join(lines[:200]) + "48,Female,White,Millbrook\n")
    assert "its line now continues" in fairfront.error("stream", state, file)


def test_a_partial_batch_waits_or_is_flushed(fairfront, text, tmp_path):
    lines = text.splitlines(keepends=True)
    files = [
        write(tmp_path / f"{i}.csv", "".join([lines[0], *lines[1 + 60 * i : 61 + 60 * i]]))
        for i in range(6)
    ]
    state = tmp_path / "state"
    out = fairfront("stream", state, files[0], *SPEC).decode()
    assert "60 rows wait for a batch of 150" in out
    assert "no new batch, 0 in total" in fairfront("stream", state, files[0]).decode()
    error = fairfront.error("show", state)
    assert "state" in error
    fairfront("stream", state, files[1], QUIET)
    fairfront("stream", state, files[2], QUIET)
    assert [d["rows"] for d in drifts(state)] == [150]
    fairfront("stream", state, files[3], "--flush", QUIET)
    assert [d["rows"] for d in drifts(state)] == [150, 240]
    fairfront("stream", state, files[3], "--flush", QUIET)
    assert [d["rows"] for d in drifts(state)] == [150, 240]
    fairfront("stream", state, files[4], files[5], QUIET)
    assert [d["rows"] for d in drifts(state)] == [150, 240] and n_waiting(state) == 120


def test_threads_do_not_matter(fairfront, whole, text, tmp_path):
    file = write(tmp_path / "rows.csv", text)
    fairfront("stream", tmp_path / "state", file, *SPEC, QUIET, "--threads", 2)
    same(tmp_path / "state", whole)


def test_ctrl_c_during_a_batch_leaves_it_out(fairfront, text, tmp_path):
    """The next call computes the batch, from its rows only."""
    file = write(tmp_path / "rows.csv", text)
    slow = ["--set", "sums=64", "--set", "stages=4", "--models", "200"]
    spec = [*SPEC[: SPEC.index("--batch")], *slow, "--batch", 300]
    fairfront("stream", tmp_path / "expected", file, *spec, QUIET)
    for source in ["file", "stdin"]:
        state = tmp_path / source
        skip = []
        for wait in [0.25, 0.4]:
            stdin = open(file) if source == "stdin" else subprocess.DEVNULL
            name = "-" if source == "stdin" else file
            process = start(fairfront, state, name, *spec, *skip, "--json", stdin=stdin)
            time.sleep(wait)
            if process.poll() is None:
                process.send_signal(2)
            _, err = process.communicate(timeout=60)
            assert process.returncode in (0, 130), err.decode()
            skip = ["--skip", "0"] if source == "stdin" else []
        stdin = text.encode() if source == "stdin" else None
        fairfront("stream", state, name, *spec, *skip, QUIET, stdin=stdin)
        same(state, tmp_path / "expected", FRONT)


# Flags.


def test_later_calls_need_no_flags_and_must_not_contradict_the_first(fairfront, text, tmp_path):
    file, state = write(tmp_path / "rows.csv", text), tmp_path / "state"
    more = [*("--window", "400", "--seed", "3", "--scale", "min-max", "--type", "race=categorical")]
    fairfront("stream", state, file, *SPEC, *more, QUIET)
    before = tree(state)
    fairfront("stream", state, file, QUIET)
    fairfront("stream", state, file, *SPEC, *more, QUIET)
    fairfront("stream", state, file, "--seed", "3", QUIET)
    contradictions = {
        "target": ["--target", "housing"],
        "positive": ["--positive", "no"],
        "sensitive": ["--sensitive", "race"],
        "drop": ["--drop", "age"],
        "features": ["--feature", "age"],
        "weight": ["--weight", "age"],
        "use-sensitive": ["--use-sensitive"],
        "type of race": ["--type", "race=numeric"],
        "merge of housing": ["--merge", "housing=any:own,rent"],
        "bins of age": ["--bins", "age=30"],
        "scale": ["--scale", "none"],
        "pool-rare": ["--pool-rare", "5"],
        "missing": ["--missing", "mean"],
        "missing-sensitive": ["--missing-sensitive", "group"],
        "missing-values": ["--missing-value", "unknown"],
        "split": ["--split", "none"],
        "seed": ["--seed", "4"],
        "batch": ["--batch", "151"],
        "window": ["--window", "401"],
        "objective": ["--objective", "error_rate", "--objective", "equalized_odds(sex)"],
        "models": ["--models", "9"],
        "sums": ["--set", "sums=5"],
        "separator": ["--separator", ";"],
        "header": ["--no-header"],
        "front-in": ["--front-in", "objectives"],
    }
    for name, flags in contradictions.items():
        done = fairfront.run("stream", state, file, *flags)
        said = done.stderr.decode()
        assert done.returncode == 2 and "this stream started with" in said, (name, said)
        assert said.count("\n") == 1 and f"started with {name}" in said, (name, said)
    for flags in [["--reservoir", "400"], ["--solver", "pf-smg"], ["--preset", "paper"]]:
        done = fairfront.run("stream", state, file, *flags)
        said = done.stderr.decode()
        assert done.returncode == 2, (flags, said)
        # A solver has many settings, so the error names all of them.
        assert "this stream started with" in said, (flags, said)
    assert tree(state) == before


def test_wrong_usage_writes_nothing(fairfront, text, tmp_path):
    file, state = write(tmp_path / "rows.csv", text), tmp_path / "state"
    for flags in [
        [file, "--batch", "0"],
        [file, "--window", "0"],
        [file, "--reservoir", "0"],
        [file, "--reservoir", "5", "--window", "5"],
        [file, "--skip", "5"],
        [file, "--balance", "sex"],
        ["-", "--follow"],
        ["-", "-"],
        [],
    ]:
        done = fairfront.run("stream", state, *flags, *SPEC[:6])
        assert done.returncode == 2, (flags, done.stderr)
    done = fairfront.run("stream", state, file)
    assert done.returncode == 2 and b"--target" in done.stderr
    for inputs in [[tmp_path / "absent.csv"], [tmp_path]]:
        fairfront.error("stream", state, *inputs, *SPEC)
    done = fairfront.run("stream", state, file, "--target", "aproved", "--sensitive", "sex")
    assert done.returncode == 2 and b"approved" in done.stderr
    assert not state.exists()
    # A run of `fit` and a file are not states.
    fairfront("fit", "demo(rows=300)", "--out", tmp_path / "run", QUIET, *QUICK)
    before = tree(tmp_path / "run")
    assert "not the state of a stream" in fairfront.error("stream", tmp_path / "run", file, *SPEC)
    assert tree(tmp_path / "run") == before
    fairfront.error("stream", file, file, *SPEC)


def test_rejected_rows_have_a_reason(fairfront, text, whole):
    found = rejected(whole)
    assert len(found) == info(whole)["stream"]["rejected"] == 4
    lines = text.splitlines()
    assert found["batch"].astype(int).tolist() == [1, 2, 3, 4]
    reasons = ["expected 16 fields, found 3", "expected 16 fields", "age", "perhaps"]
    for (_, row), reason in zip(found.iterrows(), reasons, strict=True):
        assert reason in row["reason"]
        assert lines[int(row["row"])] == row["record"], row["reason"]
        assert row["input"].endswith("rows.csv")
    assert [d["rejected"] for d in drifts(whole)] == [1, 1, 1, 1, 0]


def test_too_many_rejected_rows_end_a_stream(fairfront, text, whole, tmp_path):
    for source in ["file", "stdin"]:
        state, file = tmp_path / source, write(tmp_path / "rows.csv", text)
        name, stdin = (file, None) if source == "file" else ("-", text.encode())
        flags = [*SPEC, QUIET, "--max-rejected", 2]
        error = fairfront.error("stream", state, name, *flags, stdin=stdin)
        assert "3 rows rejected up to batch 3" in error and "--max-rejected 2" in error
        assert len(rejected(state)) == 2 and info(state)["stream"]["batches"] == 2
        skip = [] if source == "file" else ["--skip", "0"]
        fairfront("stream", state, name, *skip, "--max-rejected", 4, QUIET, stdin=stdin)
        same(state, whole)


def test_any_bytes_may_arrive(fairfront, rows, tmp_path):
    lines = [line.encode() + b"\n" for line in text_of(rows).splitlines()]
    bad = {
        170: b",".join([*lines[170].split(b",")[:2], b"Wh\xefte", *lines[170].split(b",")[3:]]),
        200: b"48," + b"x" * 2_000_000 + b"\n",
        215: b"\n",
        220: b",,,,,,,,,,,,,,,\n",
        230: "48,Фемале,日本\n".encode(),
    }
    body = b"".join(bad.get(i, line) for i, line in enumerate(lines[:340]))
    # An unclosed quote corrupts only its own line.
    body += b'48,"Female,White\n' + b"".join(lines[340:460])
    (tmp_path / "rows.csv").write_bytes(body)
    state = tmp_path / "state"
    fairfront("stream", state, tmp_path / "rows.csv", *SPEC, QUIET, "--flush")
    found = rejected(state)
    reasons = " | ".join(found["reason"])
    for part in ["UTF-8", "longer than 1,048,576 bytes", "expected 16 fields, found 3", "quote"]:
        assert part in reasons, (part, reasons)
    stream = info(state)["stream"]
    # One line is blank, and one has an unclosed quote.
    n_rows = 339 - 1 + 1 + 120
    assert stream["rows"] == n_rows
    assert stream["rejected"] == len(found)
    dropped = sum(d["dropped"] for d in drifts(state))
    assert stream["rows"] == stream["used"] + stream["rejected"] + dropped
    # A binary file is rejected as a whole, and none of its rows is used.
    before = tree(state)
    (tmp_path / "binary.csv").write_bytes(lines[0] + lines[1].replace(b",", b"\0,"))
    assert "not a text file" in fairfront.error("stream", state, tmp_path / "binary.csv")
    assert tree(state) == before
    # The same bytes arrive in pieces on standard input.
    flags = ["-", *SPEC, QUIET, "--flush"]
    process = start(fairfront, tmp_path / "piped", *flags, stdin=subprocess.PIPE)
    for at in range(0, len(body), 50_001):
        process.stdin.write(body[at : at + 50_001])
        process.stdin.flush()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err.decode()
    same(tmp_path / "piped", state, FRONT)


def test_inputs_without_rows(fairfront, text, tmp_path):
    lines = text.splitlines(keepends=True)
    state = tmp_path / "state"
    header = write(tmp_path / "header.csv", lines[0])
    empty = write(tmp_path / "empty.csv", "")
    good = write(tmp_path / "good.csv", "".join(lines[:200]))
    out = fairfront("stream", state, header, empty, *SPEC).decode()
    assert "no new batch, 0 in total" in out and not state.exists()
    fairfront("stream", state, header, empty, good, *SPEC, QUIET)
    assert info(state)["stream"]["batches"] == 1
    before = tree(state)
    fairfront("stream", state, header, empty, good, QUIET)
    assert tree(state) == before
    assert fairfront("stream", state, "-", stdin=b"").startswith(str(state).encode())
    # A file with different columns is an error.
    other = write(tmp_path / "other.csv", "a,b\n1,2\n")
    assert "other.csv" in fairfront.error("stream", state, other)
    bare = write(tmp_path / "bare.csv", "".join(lines[200:300]))
    assert "bare.csv" in fairfront.error("stream", state, bare)


def test_a_file_without_a_header(fairfront, text, whole, tmp_path):
    header, body = text.split("\n", 1)
    file = write(tmp_path / "bare.csv", body)
    fairfront("stream", tmp_path / "state", file, *SPEC, "--no-header", "--columns", header, QUIET)
    same(tmp_path / "state", whole)
    # Later calls do not need these flags.
    with file.open("a") as grown:
        grown.write(body)
    fairfront("stream", tmp_path / "state", file, QUIET)
    assert info(tmp_path / "state")["stream"]["batches"] == 10


def test_a_first_batch_without_a_front(fairfront, rows, tmp_path):
    """Flags may be corrected until the first front."""
    one_class = rows[rows["approved"] == "no"][:160]
    write(tmp_path / "rows.csv", text_of(pd.concat([one_class, rows[:300]])))
    state = tmp_path / "state"
    text = (tmp_path / "rows.csv").read_bytes()
    for source, stdin in [(tmp_path / "rows.csv", None), ("-", text)]:
        error = fairfront.error("stream", state / str(source)[-1], source, *SPEC, stdin=stdin)
        assert "cannot compute a front from the first 150 rows" in error and "--batch" in error
        skip = ["--skip", "0"] if stdin else []
        one = state / str(source)[-1]
        fairfront("stream", one, source, *skip, "--batch", 200, QUIET, stdin=stdin)
        assert info(one)["stream"]["rows"] == 400 and n_waiting(one) == 60
    same(state / "-", state / "v", FRONT)


def test_a_batch_may_have_fewer_rows_than_are_waiting(fairfront, rows, tmp_path):
    file = write(tmp_path / "rows.csv", text_of(rows[:500]))
    spec = [*SPEC]
    spec[spec.index("--batch") + 1] = "600"
    small = [*SPEC]
    fairfront("stream", tmp_path / "state", file, *spec, QUIET)
    fairfront("stream", tmp_path / "state", file, "--batch", BATCH, QUIET)
    fairfront("stream", tmp_path / "expected", file, *small, QUIET)
    assert info(tmp_path / "state")["stream"]["batches"] == 3
    assert n_waiting(tmp_path / "state") == 50
    same(tmp_path / "state", tmp_path / "expected", FRONT)
    # The waiting rows are still there for a later call.
    fairfront("stream", tmp_path / "state", file, "--flush", QUIET)
    assert info(tmp_path / "state")["stream"]["rows"] == 500


def test_batches_without_rows_in_use(fairfront, rows, tmp_path):
    """If the window has rows of one class only, the front stays the same, and the counts continue."""
    negative = rows[rows["approved"] == "no"]
    table = pd.concat([rows[:150], negative[:150], rows[:150].assign(age="old"), rows[150:300]])
    write(tmp_path / "rows.csv", text_of(table))
    for keep in [["--window", "60"], ["--reservoir", "60"], []]:
        state = tmp_path / "".join(keep or ["all"])
        fairfront("stream", state, tmp_path / "rows.csv", *SPEC, *keep, QUIET)
        stream, found = info(state)["stream"], drifts(state)
        assert stream["batches"] == 4 and stream["rows"] == 600
        assert found[2]["rejected"] == 150 and found[2]["used"] == 0
        assert len(rejected(state)) == stream["rejected"] == 150
        fairfront("show", state)
    state = tmp_path / "--window60"
    assert drifts(state)[1]["front"]["kept_because"]
    # The same holds if the stream ends with such a batch.
    write(tmp_path / "start.csv", text_of(table[:300]))
    fairfront("stream", tmp_path / "ends", tmp_path / "start.csv", *SPEC, "--window", 60, QUIET)
    assert info(tmp_path / "ends")["stream"]["batches"] == 2
    assert info(tmp_path / "ends")["stream"]["rows"] == 300


# Readers and known data sets.


def test_readers_see_a_complete_run_while_a_writer_continues(fairfront, rows, tmp_path):
    file = write(tmp_path / "rows.csv", text_of(rows))
    state = tmp_path / "state"
    first = write(tmp_path / "first.csv", text_of(rows[:BATCH]))
    fairfront("stream", state, first, *SPEC, "--window", 200, QUIET)
    model = tmp_path / "model.json"
    over, failed = threading.Event(), []

    def read(commands):
        while not over.is_set():
            for command in commands:
                done = fairfront.run(*command)
                if done.returncode != 0 or b"warning: generation" in done.stderr:
                    failed.append((command, done.stderr.decode()))

    readers = [
        [["show", state, "--csv"], ["show", state, "--json"]],
        [
            ["select", state, "--model-id", 1, "--model", model, "--force"],
            ["export", model, "--format", "sql", "--output", tmp_path / "m.sql", "--force"],
            ["predict", model, first, "--output", tmp_path / "p.csv", "--force"],
            ["compare", state],
        ],
    ]
    threads = [threading.Thread(target=read, args=[commands]) for commands in readers]
    [t.start() for t in threads]
    try:
        with open(file, "rb") as text:
            lines = text.readlines()
        process = start(fairfront, state, "-", QUIET, stdin=subprocess.PIPE)
        for at in range(1, len(lines), 50):
            part = lines[at : at + 50]
            process.stdin.write(b"".join([lines[0], *part] if at == 1 else part))
            process.stdin.flush()
            time.sleep(0.05)
        _, err = process.communicate(timeout=60)
    finally:
        over.set()
        [t.join() for t in threads]
    assert process.returncode == 0, err.decode()
    assert not failed, failed[:2]
    assert info(state)["stream"]["batches"] == 6


def test_a_known_data_set_streams_with_its_published_split(fairfront, data, tmp_path):
    state = tmp_path / "state"
    flags = ["--batch", "12000", "--reservoir", "1500", *QUICK, QUIET]
    fairfront("stream", state, "adult:sex", *flags)
    stream, whole = info(state)["stream"], fairfront.inspect("adult:sex")
    assert (stream["rows"], stream["kept"]) == (whole["read"] // 12_000 * 12_000, 1500)
    fairfront("stream", state, "adult:sex", "--flush", QUIET)
    stream = info(state)["stream"]
    assert (stream["rows"], stream["used"]) == (whole["read"], whole["rows"])
    assert info(state)["spec"]["split"] == info_of_fit(fairfront, tmp_path)["spec"]["split"]


def info_of_fit(fairfront, folder):
    fairfront("fit", "adult:sex", "--out", folder / "fit", *QUICK, QUIET)
    return json.loads((folder / "fit" / "run.json").read_text())
