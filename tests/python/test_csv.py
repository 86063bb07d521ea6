"""CSV files in many dialects, read by the command and by pandas."""

import csv
import gzip
import io
import itertools
import random

import numpy as np
import pandas as pd
import pytest
from conftest import MISSING

WORDS = ["plain", "two words", "a, b", 'a "quote"', "semi;colon", "bar|bar", "é木🙂", "", "x"]


def quoted(name):
    """Quote a name for the command line."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check(fairfront, path, *args, stdin=None, **options):
    """Every field, read as a string, must be the one that pandas reads, except for white space at its ends."""
    expected = pd.read_csv(path, dtype=str, na_filter=False, **options)
    missing = [mark.lower() for mark in MISSING]
    expected = expected.map(lambda field: field.strip(" \t\r\n\f"))
    expected = expected.map(lambda field: "" if field.lower() in missing else field)
    types = [part for name in expected for part in ("--type", f"{quoted(name)}=categorical")]
    source = path if stdin is None else "-"
    seen = fairfront.rows(source, *types, *args, stdin=stdin)
    assert list(seen) == list(expected)
    assert seen.to_numpy().tolist() == expected.to_numpy().tolist()


def write(path, rows, **options):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, **options).writerows(rows)


def small_table():
    return [["id", "word", "n"]] + [[str(i), word, str(i * i)] for i, word in enumerate(WORDS)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("separator", ",;\t|:^~ ")
def test_separators_quoting_and_line_ends(fairfront, tmp_path, separator, line_end):
    path = tmp_path / "t.csv"
    found = separator in ",;\t|"
    given = [] if found else ["--separator", separator]
    for quoting in [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]:
        write(path, small_table(), delimiter=separator, quoting=quoting, lineterminator=line_end)
        check(fairfront, path, *given, sep=separator)


@pytest.mark.parametrize("separator", ",;\t|")
def test_quotes_inside_unquoted_fields(fairfront, tmp_path, separator):
    path = tmp_path / "t.csv"
    lines = [["id", "size"], ["1", 'a 5" pipe'], ["2", 'say "hi"'], ["3", "it's"]]
    path.write_text("".join(separator.join(line) + "\n" for line in lines))
    check(fairfront, path, sep=separator)


PIECES = [*"abcxyz012éß木🙂\u00a0", *",;|\t:'\"#?\\=() \n", "\r\n", '""', "NA"]


def random_text(choose, longest):
    return "".join(choose.choice(PIECES) for _ in range(choose.randrange(longest)))


@pytest.mark.parametrize("seed", range(60))
def test_random_tables(fairfront, tmp_path, seed):
    """Strings with separators, quotes, line ends and characters of many scripts."""
    choose = random.Random(seed)
    n_columns, n_rows = choose.randrange(2, 7), choose.randrange(1, 40)
    names = []
    while len(names) < n_columns:
        name = random_text(choose, 12).strip()
        if name and name not in names:
            names.append(name)
    rows = [[random_text(choose, 10) for _ in names] for _ in range(n_rows)]
    separator = choose.choice(",;\t|")
    write(
        tmp_path / "t.csv",
        [names, *rows],
        delimiter=separator,
        quoting=choose.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        # Both characters, so that the writer quotes fields that contain either of them.
        lineterminator="\r\n",
    )
    given = "tab" if separator == "\t" else separator
    check(fairfront, tmp_path / "t.csv", "--separator", given, sep=separator)


def test_a_long_file(fairfront, tmp_path):
    """Many chunks, with line ends and quotes inside fields near the ends of chunks."""
    choose = random.Random(1)
    words = [random_text(choose, 30) for _ in range(900)]
    rows = [[str(i), choose.choice(words), f"{choose.random():.6f}"] for i in range(40_000)]
    path = tmp_path / "t.csv"
    write(path, [["id", "text", "x"], *rows])
    assert path.stat().st_size > 4 * 2**18
    check(fairfront, path)


def test_random_files_of_pandas(fairfront, tmp_path):
    """Types are detected, and numbers are restored exactly."""
    rng = np.random.default_rng(3)
    n = 12_000
    frame = pd.DataFrame(
        {
            "whole": rng.integers(-(2**62), 2**62, n),
            "small": rng.integers(0, 5, n),
            "real": rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n),
            "word": rng.choice(["a", "b,c", 'd"e'], n),
        }
    )
    frame["gaps"] = frame["real"].where(rng.random(n) < 0.8)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    seen = fairfront.rows(path)
    for column in ["whole", "small", "real", "gaps"]:
        # Numbers are read as the nearest f64, as in Python.
        expected = [v if pd.isna(v) else float(v) for v in frame[column].tolist()]
        np.testing.assert_array_equal(seen[column].replace("", "nan").astype(float), expected)
    assert list(seen["word"]) == list(frame["word"])


def test_spellings_of_numbers(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    numbers = "1 -1 +2 1.5 .5 5. -.25 1e3 1E-3 -0 0.1 1e-320".split() + [" 7 "]
    path.write_text("x,y\n" + "".join(f"{n},a\n" for n in numbers))
    seen = fairfront.rows(path)["x"].astype(float)
    assert list(seen) == [float(n) for n in numbers]
    assert list(seen) == list(pd.read_csv(path)["x"])


@pytest.mark.parametrize("field", ["00501", "1_000", "0x10", "1,5", "inf", "1e999", "½", "1 2"])
def test_strings_that_are_not_numbers(fairfront, tmp_path, field):
    path = tmp_path / "t.csv"
    path.write_text(f'x,y\n"{field}",1\n7,2\n"{field}",3\n')
    assert list(fairfront.rows(path)["x"]) == [field, "7", field]


def test_missing_values_agree_with_pandas(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,w\n1,a\n?,?\nNA,N/A\nNaN,null\n,\n2,b\n")
    expected = pd.read_csv(path, keep_default_na=False, na_values=MISSING).isna().sum()
    seen = {c["name"]: c["missing"] for c in fairfront.inspect(path)["columns"]}
    assert seen == expected.to_dict() == {"x": 4, "w": 4}

    path.write_text("x,w\n1,a\n-9,None\n-9.0,?\n3,b\n")
    own = ["--missing-value", "-9", "--missing-value", "none"]
    for given, default in [([], MISSING), (["--no-default-missing"], [])]:
        marks = [*default, "-9", "None"]
        expected = pd.read_csv(path, keep_default_na=False, na_values=marks).isna().sum()
        seen = fairfront.inspect(path, *own, *given)["columns"]
        assert {c["name"]: c["missing"] for c in seen} == expected.to_dict()


def test_byte_order_mark(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    for first in ["id", '"id"']:
        path.write_text(f"{first},w\n1,é\n", encoding="utf-8-sig")
        check(fairfront, path)


def test_spaces_after_separators(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        'id, word, "the name"\n1, "a, b",  "c ""d"" e"\n2,  plain, "two\nlines"\n3, "", x y\n'
    )
    check(fairfront, path, skipinitialspace=True)


def test_blank_lines_and_a_missing_last_line_end(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\n\nid,w\n\n1,a\n\n\n2,"b"\n3,c')
    check(fairfront, path)


def test_comment_lines(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# made by hand\n# twice\nid,w\n1,#a\n#2,b\n")
    check(fairfront, path, skiprows=2)
    # A header is not a comment, whatever its first name is.
    for header in ["#id,w,n", '#id,"the\nword",n', '|id,"the\nword",n']:
        path.write_text(f"{header}\n1,a,2\n3,b,4\n")
        check(fairfront, path)


def test_gzip(fairfront, tmp_path):
    path = tmp_path / "t.csv.gz"
    text = io.StringIO(newline="")
    csv.writer(text).writerows(small_table())
    whole = text.getvalue().encode()
    path.write_bytes(gzip.compress(whole))
    check(fairfront, path)
    # Several gzip members form one file, and the file name does not matter.
    path.write_bytes(gzip.compress(whole[:40]) + gzip.compress(whole[40:]))
    check(fairfront, path)
    check(fairfront, path.rename(tmp_path / "t.txt"), compression="gzip")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_standard_input(fairfront, tmp_path, pack):
    path = tmp_path / "t.csv"
    write(path, small_table())
    check(fairfront, path, stdin=pack(path.read_bytes()))


def test_no_header(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    write(path, small_table()[1:])
    names = ["column_1", "column_2", "column_3"]
    check(fairfront, path, "--no-header", header=None, names=names)
    names = ["id", "the, word", 'n "2"']
    given = ["--columns", ",".join(map(quoted, names))]
    check(fairfront, path, *given, header=None, names=names)
    check(fairfront, path, "--no-header", *given, header=None, names=names)


@pytest.mark.parametrize(
    "names",
    "x,x x,y,x,x x,x,x.1 x.1,x,x x,x.1,x,x,x.2 a,b,a,b,a.1,b.1 x,x.1.1,x.1,x,x.1".split(),
)
def test_repeated_names_are_numbered_as_in_pandas(fairfront, tmp_path, names):
    path = tmp_path / "t.csv"
    n = names.count(",") + 1
    path.write_text(f"{names}\n{','.join(map(str, range(n)))}\n{','.join('a' * n)}\n")
    check(fairfront, path)


def test_an_unnamed_first_column_that_counts_is_an_index(fairfront, tmp_path):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"x": [3, 1, 2], "w": list("aba")})
    frame.to_csv(path)
    assert list(fairfront.rows(path)) == ["x", "w"]
    frame.set_axis([4, 2, 9]).to_csv(path)
    assert list(fairfront.rows(path)) == ["column_1", "x", "w"]


def test_several_files(fairfront, tmp_path):
    """The files have the same columns, in any order and in any dialect."""
    rows = small_table()
    write(tmp_path / "1.csv", rows)
    write(tmp_path / "2.csv", [row[::-1] for row in rows], delimiter=";", lineterminator="\n")
    (tmp_path / "3.gz").write_bytes(gzip.compress((tmp_path / "1.csv").read_bytes()))
    pd.read_csv(tmp_path / "1.csv", dtype=str, na_filter=False).to_parquet(tmp_path / "4.parquet")
    files = [tmp_path / name for name in ("1.csv", "2.csv", "3.gz", "4.parquet")]
    types = ["--type", "id=categorical", "--type", "n=categorical", "--type", "word=categorical"]
    seen = fairfront.rows(*files, *types)
    assert seen.to_numpy().tolist() == rows[1:] * 4
    for file, other in itertools.permutations(files, 2):
        assert len(fairfront.rows(file, other, *types)) == 2 * len(rows) - 2

    write(tmp_path / "5.csv", [row[:2] for row in rows])
    assert "it does not have" in fairfront.error("inspect", files[0], tmp_path / "5.csv")


@pytest.mark.parametrize(
    "content, problem",
    [
        (b"", "empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2\n3\n", "row 2 (line 3)"),
        (b"a,b\n1,2,3\n", "expected 2 fields, found 3"),
        (b'a,b\n1,"2\n3,4\n', "quote"),
        ("a,b\n1,é\n".encode("latin-1"), "UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"a,b\n1,\x00\n", "not a text"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:-9], "truncated"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 99)[:20] + b"\xff" * 20, "error"),
    ],
    ids="empty header short long unclosed latin-1 utf-16 nul gzip-truncated gzip-corrupted".split(),
)
def test_a_broken_table_is_rejected_in_one_line(fairfront, tmp_path, content, problem):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert problem in fairfront.error("inspect", path)
