"""Columns and targets of real tables: dates, decimal commas, identifiers, codes, bins, bounds."""

import csv
import datetime
import io
import json
import random

import numpy as np
import onnxruntime
import pandas as pd
import pytest

EPOCH = datetime.date(1970, 1, 1)
START = datetime.date(2020, 1, 1)
ROLES = ["--target", "y", "--positive", "1", "--sensitive", "sex"]


def people(n=300, seed=3):
    """Yield rows whose label depends on a date and an amount."""
    rng = random.Random(seed)
    for i in range(n):
        day = START + datetime.timedelta(days=rng.randrange(1500))
        amount = round(rng.uniform(1, 4000), 2)
        label = (day - START).days / 1500 + amount / 4000 + rng.random() > 1.5
        yield {
            "number": i,
            "joined": day,
            "sex": rng.choice("FM"),
            "age": rng.randrange(18, 80),
            "amount": amount,
            "y": int(label),
        }


def table(folder, name, columns, rows, separator=","):
    """Write a CSV file; columns map a name to a function of a row."""
    path = folder / name
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows([[value(row) for value in columns.values()] for row in rows])
    return path


def plain(*names):
    return {name: (lambda row, name=name: row[name]) for name in names}


def german(number):
    """Format 1234.5 as 1.234,50."""
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def inspect(fairfront, *args):
    return json.loads(fairfront("inspect", *args, "--json"))


def column(found, name):
    return next(c for c in found["columns"] if c["name"] == name)


def messages(found, severity):
    return [n["message"] for n in found["messages"] if n["severity"] == severity]


def fit(fairfront, folder, *args):
    """Return a run and one of its models."""
    run, model = folder / "run", folder / "model.json"
    fairfront("fit", *args, "--out", run, "--models", "5", "--quiet", "--force")
    fairfront("select", run, "--knee", "--model", model, "--force")
    return run, model


def scores(fairfront, model, file, *args):
    return pd.read_csv(io.BytesIO(fairfront("predict", model, file, "-o", "-", *args)))["score"].to_numpy()


FORMATS = {
    "iso": ("%Y-%m-%d", "date"),
    "dots": ("%d.%m.%Y", "date-dmy"),
    "slashes": ("%d/%m/%Y", "date-dmy"),
    "dashes": ("%d-%m-%Y", "date-dmy"),
    "american": ("%m/%d/%Y", "date-mdy"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_dates_become_days(fairfront, tmp_path, name):
    form, expected = FORMATS[name]
    rows = list(people())
    columns = {"joined": lambda row: row["joined"].strftime(form)} | plain("sex", "age", "amount", "y")
    file = table(tmp_path, f"{name}.csv", columns, rows)
    found = column(inspect(fairfront, file, *ROLES), "joined")
    days = [(row["joined"] - EPOCH).days for row in rows]
    assert (found["type"], found["role"]) == (expected, "feature")
    assert (found["range"]["min"], found["range"]["max"]) == (min(days), max(days))
    assert found["range"]["mean"] == pytest.approx(np.mean(days), rel=1e-15)
    # Exported rows have dates, and a model gives equal days the same score, whatever their format.
    written = fairfront.export(file, *ROLES)["joined"]
    assert list(written) == [row["joined"].isoformat() for row in rows]
    run, model = fit(fairfront, tmp_path, file, *ROLES)
    rule = next(r for r in json.loads((run / "encoding.json").read_text())["numeric"] if r["column"] == "joined")
    assert rule["date"] == {"date": "ymd", "date-dmy": "dmy", "date-mdy": "mdy"}[expected]
    fresh = table(tmp_path, "fresh.csv", columns, people(50, seed=8))
    same = scores(fairfront, model, fresh)
    iso = {"joined": lambda row: row["joined"].isoformat()} | plain("sex", "age", "amount", "y")
    fresh = table(tmp_path, "fresh-iso.csv", iso, people(50, seed=8))
    assert (scores(fairfront, model, fresh) == same).all()
    fairfront("verify", run)


def test_times_have_a_fraction(fairfront, tmp_path):
    rng = random.Random(5)
    start = datetime.datetime(1970, 1, 1)
    times = [start + datetime.timedelta(seconds=rng.randrange(1_800_000_000)) for _ in range(200)]
    expected = [(t - start).days + (t - start).seconds / 86400 for t in times]
    shift = datetime.timezone(datetime.timedelta(hours=2))
    forms = {
        "space": lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
        "zone": lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "offset": lambda t: t.replace(tzinfo=datetime.timezone.utc).astimezone(shift).isoformat(),
        "twelve": lambda t: t.strftime("%m/%d/%Y %I:%M:%S %p"),
    }
    for name, form in forms.items():
        rows = [{"t": form(t), "sex": "FM"[i % 2], "y": i % 3 == 0} for i, t in enumerate(times)]
        file = table(tmp_path, f"{name}.csv", plain("t", "sex", "y"), rows)
        found = column(inspect(fairfront, file, "--target", "y", "--sensitive", "sex"), "t")
        assert found["range"]["min"] == pytest.approx(min(expected), rel=1e-15), name
        assert found["range"]["max"] == pytest.approx(max(expected), rel=1e-15), name


def test_an_ambiguous_order_of_dates_is_a_warning(fairfront, tmp_path):
    rows = [{"d": f"{i % 12 + 1:02}S{i % 7 + 1:02}S2024", "sex": "FM"[i % 2], "y": i % 3 == 0} for i in range(60)]
    for separator, first, other in [("/", "date-mdy", "date-dmy"), (".", "date-dmy", "date-mdy")]:
        dates = {"d": lambda row: row["d"].replace("S", separator)} | plain("sex", "y")
        file = table(tmp_path, "open.csv", dates, rows)
        found = inspect(fairfront, file, "--target", "y", "--sensitive", "sex")
        assert column(found, "d")["type"] == first
        assert any(f"--type d={other}" in message for message in messages(found, "warning"))
        found = inspect(fairfront, file, "--target", "y", "--sensitive", "sex", "--type", f"d={other}")
        assert column(found, "d")["type"] == other
        assert not any('"d"' in message for message in messages(found, "warning"))
    # A value after the first 10,000 rows decides, too.
    rows = [{"d": "01/02/2024", "sex": "FM"[i % 2], "y": i % 3 == 0} for i in range(12_000)]
    rows[-1]["d"] = "13/02/2024"
    file = table(tmp_path, "late.csv", plain("d", "sex", "y"), rows)
    assert column(inspect(fairfront, file), "d")["type"] == "date-dmy"


def test_an_invalid_date_is_an_error_with_its_place(fairfront, tmp_path):
    rows = [{"d": f"2024-03-{i % 28 + 1:02}", "sex": "FM"[i % 2], "y": i % 3 == 0} for i in range(90)]
    rows[70]["d"] = "soon"
    file = table(tmp_path, "t.csv", plain("d", "sex", "y"), rows)
    done = fairfront.run("inspect", file, "--target", "y", "--sensitive", "sex")
    assert done.returncode == 1
    assert 'row 71, column "d": "soon" is not a date (year first)' in done.stderr.decode()
    assert column(inspect(fairfront, file, "--missing-value", "soon"), "d")["missing"] == 1


def test_weekday_and_month_on_request(fairfront, tmp_path):
    rows = list(people())
    columns = {"joined": lambda row: row["joined"].strftime("%d.%m.%Y")} | plain("sex", "amount", "y")
    file = table(tmp_path, "t.csv", columns, rows)
    spec = [file, *ROLES, "--date-parts", "joined"]
    encoded = fairfront.encoded(*spec)
    for name, of in [("weekday", "%A"), ("month", "%B")]:
        counts = pd.Series([row["joined"].strftime(of) for row in rows]).value_counts()
        for category, count in counts.items():
            assert encoded[f"joined ({name})={category}"].sum() == count
    run, model = fit(fairfront, tmp_path, *spec)
    fairfront("verify", run)
    fresh = table(tmp_path, "fresh.csv", columns, rows[:40])
    shuffled = table(tmp_path, "other.csv", columns, rows[:40][::-1])
    assert (scores(fairfront, model, fresh) == scores(fairfront, model, shuffled)[::-1]).all()
    done = fairfront.run("export", model, "--format", "sql", "-o", tmp_path / "model.sql")
    assert done.returncode == 1 and "contains dates" in done.stderr.decode()
    done = fairfront.run("inspect", file, *ROLES, "--date-parts", "amount")
    assert done.returncode != 0 and b"not a date" in done.stderr


def test_onnx_graphs_read_dates_as_days(fairfront, tmp_path):
    rows = list(people())
    columns = {"joined": lambda row: row["joined"].strftime("%m/%d/%Y")} | plain("sex", "amount", "y")
    file = table(tmp_path, "t.csv", columns, rows)
    _, model = fit(fairfront, tmp_path, file, *ROLES, "--date-parts", "joined")
    graph = tmp_path / "model.onnx"
    fairfront("export", model, "--format", "onnx", "-o", graph)
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    days = [row["joined"] for row in rows]
    feed = {
        "joined": np.array([[(day - EPOCH).days] for day in days], float),
        "amount": np.array([[row["amount"]] for row in rows], float),
        "joined (weekday)": np.array([[day.strftime("%A")] for day in days], object),
        "joined (month)": np.array([[day.strftime("%B")] for day in days], object),
    }
    (found,) = session.run(["score"], feed)
    np.testing.assert_array_equal(found, scores(fairfront, model, file))


def test_dates_in_parquet_and_csv_agree(fairfront, tmp_path):
    rows = list(people())
    names = ["joined", "sex", "amount", "y"]
    text = table(tmp_path, "t.csv", plain(*names), rows)
    frame = pd.DataFrame(rows)[names]
    frame.to_parquet(tmp_path / "days.parquet")
    times = frame.assign(joined=pd.to_datetime(frame["joined"]))
    times.to_parquet(tmp_path / "times.parquet")
    _, model = fit(fairfront, tmp_path, text, *ROLES)
    expected = scores(fairfront, model, text)
    for name in ["days", "times"]:
        found = column(inspect(fairfront, tmp_path / f"{name}.parquet", *ROLES), "joined")
        assert found == column(inspect(fairfront, text, *ROLES), "joined")
        assert (scores(fairfront, model, tmp_path / f"{name}.parquet") == expected).all()


def test_decimal_commas(fairfront, tmp_path):
    rows = list(people())
    names = plain("sex", "age", "y")
    comma = table(tmp_path, "comma.csv", {"amount": lambda row: german(row["amount"])} | names, rows, ";")
    point = table(tmp_path, "point.csv", plain("amount") | names, rows)
    found, expected = inspect(fairfront, comma, *ROLES), inspect(fairfront, point, *ROLES)
    assert column(found, "amount") == column(expected, "amount")
    assert any("decimal commas" in message for message in messages(found, "note"))
    run, model = fit(fairfront, tmp_path, comma, *ROLES)
    fairfront("verify", run)
    assert json.loads((run / "run.json").read_text())["read"]["options"]["decimal"] == ","
    assert (scores(fairfront, model, comma) == scores(fairfront, model, point)).all()
    # Whole numbers alone do not show the decimal sign, but a point in them still separates thousands.
    few = tmp_path / "few.csv"
    few.write_text("amount;sex;age;y\n1.234;F;30;1\n")
    one = tmp_path / "one.csv"
    one.write_text("amount,sex,age,y\n1234,F,30,1\n")
    assert (scores(fairfront, model, few) == scores(fairfront, model, one)).all()
    # The flag replaces the note; with a decimal point, the column is not numeric.
    found = inspect(fairfront, comma, *ROLES, "--decimal", ",")
    assert not any("decimal commas" in message for message in messages(found, "note"))
    assert column(inspect(fairfront, comma, *ROLES, "--decimal", "."), "amount")["type"] != "numeric"
    quoted = table(tmp_path, "quoted.csv", {"amount": lambda row: german(row["amount"])} | names, rows)
    found = inspect(fairfront, quoted, *ROLES, "--decimal", ",")
    assert column(found, "amount") == column(expected, "amount")


def test_decimal_commas_in_a_stream(fairfront, tmp_path):
    rows = list(people(400))
    names = plain("sex", "age", "y")
    columns = {"amount": lambda row: german(row["amount"]), "joined": lambda row: row["joined"].strftime("%d.%m.%Y")}
    comma = table(tmp_path, "comma.csv", columns | names, rows, ";")
    dates = {"amount": lambda row: row["amount"], "joined": lambda row: row["joined"].strftime("%d.%m.%Y")}
    point = table(tmp_path, "point.csv", dates | names, rows)
    fronts = []
    for name, file in [("a", comma), ("b", point)]:
        state = tmp_path / name
        fairfront("stream", state, file, *ROLES, "--batch", "200", "--models", "5", "--quiet")
        fronts.append(fairfront("show", state, "--csv"))
    assert fronts[0] == fronts[1]


def test_identifiers_are_left_out(fairfront, tmp_path):
    rng = random.Random(2)
    rows = list(people(200))
    numbers = rng.sample(range(10_000, 99_999), len(rows))
    for row, number in zip(rows, numbers):
        row["scattered"] = number
    columns = {
        "Unnamed: 0": lambda row: row["scattered"],
        "student_id": lambda row: row["scattered"],
        "sequence": lambda row: 500 + row["number"],
        "income": lambda row: row["scattered"],
    } | plain("sex", "age", "amount", "y")
    file = table(tmp_path, "t.csv", columns, rows)
    found = inspect(fairfront, file, *ROLES)
    kept = {c["name"] for c in found["columns"] if c["left_out"] is None and c["role"] == "feature"}
    assert kept == {"income", "age", "amount"}
    warnings = messages(found, "warning")
    for name in ["'Unnamed: 0", "student_id", "sequence"]:
        assert any("looks like an identifier" in w and name.strip("'") in w for w in warnings), name
    assert any('"income"' in note and "--drop income" in note for note in messages(found, "note"))
    found = inspect(fairfront, file, *ROLES, "--type", "student_id=numeric")
    assert column(found, "student_id")["type"] == "numeric"
    found = inspect(fairfront, file, *ROLES, "--feature", "student_id,age")
    assert column(found, "student_id")["type"] == "numeric"
    assert not any("student_id" in w for w in messages(found, "warning"))
    # A file to score may lack the identifier.
    _, model = fit(fairfront, tmp_path, file, *ROLES)
    fresh = table(tmp_path, "fresh.csv", {"income": columns["income"]} | plain("age", "amount"), rows)
    assert len(scores(fairfront, model, fresh)) == len(rows)


def test_a_note_names_columns_that_may_be_codes(fairfront, tmp_path):
    rng = random.Random(4)
    rows = list(people(200))
    for row in rows:
        row |= {"region": rng.choice([1, 2, 3, 7]), "n_children": rng.choice([0, 1, 2, 3]), "flag": rng.randrange(2)}
    file = table(tmp_path, "t.csv", plain("region", "n_children", "flag", "sex", "amount", "y"), rows)
    found = inspect(fairfront, file, *ROLES)
    (note,) = [n for n in messages(found, "note") if "--categorical" in n]
    assert '"region" (4 values)' in note and note.endswith("--categorical region")
    found = inspect(fairfront, file, *ROLES, "--categorical", "region,flag")
    assert [column(found, name)["type"] for name in ["region", "flag"]] == ["categorical"] * 2
    assert not any("--categorical" in n for n in messages(found, "note"))
    config = tmp_path / "t.toml"
    roles = 'target = "y"\npositive = 1\nsensitive = "sex"\ncategorical = ["region", "flag"]\n'
    config.write_text(f'files = "{file.name}"\n{roles}')
    assert inspect(fairfront, "--config", config)["columns"] == found["columns"]
    done = fairfront.run("inspect", file, *ROLES, "--categorical", "region", "--type", "region=numeric")
    assert done.returncode == 2
    assert "region" in done.stderr.decode() and "--type sets the column to numeric" in done.stderr.decode()


def test_groups_of_bins_can_be_typed(fairfront, tmp_path):
    file = table(tmp_path, "t.csv", plain("age", "sex", "amount", "y"), people(400))
    spec = [file, "--target", "y", "--positive", "1", "--sensitive", "age", "--bins", "age=30,60"]
    found = inspect(fairfront, *spec)
    assert list(found["sensitive"]["age"]) == ["age<30", "30<=age<60", "age>=60"]
    both = inspect(fairfront, *spec, "--sensitive", "age:sex")
    assert list(both["sensitive"]["age:sex"])[:2] == ["age<30:F", "age<30:M"]
    run, _ = fit(fairfront, tmp_path, *spec)
    shown = fairfront("show", run, "--csv").decode().splitlines()[0]
    assert "validation.selection_rate(age=age<30)" in shown
    spellings = ["age<30", "age=age<30", 'age="age<30"', "age < 30.0"]
    chosen = {fairfront("select", run, "--require", f"selection_rate({group}) >= 0") for group in spellings}
    assert len(chosen) == 1
    require = ["--require", "selection_rate(30<=age<60) >= 0", "--require", "selection_rate(age>=60) >= 0"]
    fairfront("select", run, *require)
    done = fairfront.run("select", run, "--require", "selection_rate(age<31) >= 0")
    assert done.returncode != 0 and b"age<30" in done.stderr


def test_names_with_special_characters_are_quoted(fairfront, tmp_path):
    columns = {"pay (k), gross": lambda row: "a=b" if row["sex"] == "F" else "c:(d)"} | plain("age", "amount", "y")
    file = table(tmp_path, "t.csv", columns, people())
    quoted = '"pay (k), gross"'
    spec = [file, "--target", "y", "--positive", "1", "--sensitive", quoted]
    spec += ["--objective", "error_rate", "--objective", f"demographic_parity({quoted})"]
    run, _ = fit(fairfront, tmp_path, *spec)
    fairfront("select", run, "--require", f'selection_rate({quoted}="a=b") >= 0')
    fairfront("select", run, "--require", f"demographic_parity_difference({quoted}) <= 1")
    for args in [
        ("select", run, "--require", "demographic_parity_difference(pay (k), gross) <= 1"),
        ("fit", *spec[:-1], "demographic_parity(pay (k), gross)", "--out", tmp_path / "other"),
        ("inspect", file, "--target", "y", "--sensitive", "pay (k), gross"),
    ]:
        done = fairfront.run(*args)
        assert done.returncode == 2, args
        assert "in double quotes" in done.stderr.decode()


def scored(folder, rows):
    for i, row in enumerate(rows):
        row["score"] = i * 37 % 98 / 10
    return table(folder, "t.csv", plain("score", "sex", "age", "amount"), rows)


def test_targets_are_compared(fairfront, tmp_path):
    rows = list(people())
    file = scored(tmp_path, rows)
    values = np.array([row["score"] for row in rows])
    base = [file, "--target", "score", "--sensitive", "sex"]
    median = float(np.median(values))
    for text, labels, rule in [
        (">= 5", values >= 5, {"sign": ">=", "bound": 5.0}),
        ("<0.5", values < 0.5, {"sign": "<", "bound": 0.5}),
        ("> median", values > median, {"sign": ">", "bound": median}),
    ]:
        found = inspect(fairfront, *base, "--positive", text)["target"]
        assert found["positives"] == labels.sum()
    run, model = fit(fairfront, tmp_path, *base, "--positive", "> median")
    fairfront("verify", run)
    assert json.loads((run / "encoding.json").read_text())["target"]["comparison"] == rule
    # Other rows are labeled by the same number, not by their own median.
    fresh = [row for row in rows if row["score"] > median][:60]
    fresh += [row for row in rows if row["score"] <= median][:20]
    fresh = table(tmp_path, "fresh.csv", plain("score", "sex", "age", "amount"), fresh)
    audit = json.loads(fairfront("predict", model, fresh, "--audit", "--json"))["audit"]
    assert audit["overall"]["positive_rate"] == 0.75
    assert audit["positive"] == f"> {median:g}"
    done = fairfront.run("inspect", *base, "--positive", ">= 50")
    assert done.returncode == 1 and b"all rows are negative" in done.stderr


def test_values_that_look_like_comparisons_are_values(fairfront, tmp_path):
    rows = [{"again": ["<30", ">30", "NO"][i % 3], "sex": "FM"[i % 2], "x": i % 11} for i in range(120)]
    file = table(tmp_path, "t.csv", plain("again", "sex", "x"), rows)
    base = [file, "--target", "again", "--sensitive", "sex"]
    assert inspect(fairfront, *base, "--positive", "<30")["target"]["positives"] == 40
    both = inspect(fairfront, *base, "--positive", "<30", "--positive", ">30")["target"]
    assert (both["positives"], both["positive"]) == (80, "<30 or >30")


def test_several_positives(fairfront, tmp_path):
    rows = list(people())
    for i, row in enumerate(rows):
        row["result"] = ["Pass", "Distinction", "Fail", "Withdrawn"][i * 7 % 4]
    file = table(tmp_path, "t.csv", plain("result", "sex", "age", "amount"), rows)
    base = [file, "--target", "result", "--sensitive", "sex"]
    run, model = fit(fairfront, tmp_path, *base, "--positive", "Pass", "--positive", "Distinction")
    fairfront("verify", run)
    audit = json.loads(fairfront("predict", model, file, "--audit", "--json"))["audit"]
    assert audit["overall"]["positive_rate"] == pytest.approx(0.5)
    config = tmp_path / "t.toml"
    config.write_text(
        'files = "t.csv"\ntarget = "result"\npositive = ["Pass", "Distinction"]\nsensitive = "sex"\n'
    )
    assert inspect(fairfront, "--config", config)["target"]["positives"] == 150
    found = inspect(fairfront, *base)
    assert len(found["target"]["classes"]) == 4
    assert any("repeat it for several" in note for note in messages(found, "note"))


def test_many_numbers_suggest_a_comparison(fairfront, tmp_path):
    file = scored(tmp_path, list(people()))
    base = [file, "--target", "score", "--sensitive", "sex"]
    found = inspect(fairfront, *base)
    assert (found["target"]["min"], found["target"]["max"]) == (0, 9.7)
    assert any("--positive '>= NUMBER'" in note for note in messages(found, "note"))
    found = inspect(fairfront, *base, "--positive", "0.2")
    assert any("--positive '>= 0.2'" in warning for warning in messages(found, "warning"))
