"""Easy mistakes, each on a small table: fairfront reports or prevents all of them."""

import io
import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

ROLES = ["--target", "approved", "--positive", "yes", "--sensitive", "sex"]


def loans(rows=600, seed=0):
    """Return a table of loans in which women are approved less often."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], rows)
    income = random.normal(50, 12, rows) + 6 * (sex == "M")
    debt = random.normal(20, 6, rows)
    approved = income - debt + random.normal(0, 8, rows) > 33
    return pd.DataFrame(
        {"income": income.round(1), "debt": debt.round(1), "sex": sex, "approved": np.where(approved, "yes", "no")}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("traps")
    loans().to_csv(place / "loans.csv", index=False)
    return place


@pytest.fixture(scope="module")
def run(fairfront, folder):
    """A run of rates, fitted by absolute paths."""
    fit(fairfront, folder, "rates", "error_rate", "demographic_parity(sex)")
    return folder / "rates"


def fit(fairfront, folder, name, *objectives):
    flags = [word for objective in objectives for word in ("--objective", objective)]
    fairfront("fit", folder / "loans.csv", *ROLES, *flags, "--models", 20, "--out", folder / name, "--quiet")


def usage(fairfront, *args, **options):
    """Run the command, whose usage must be wrong, and return its error output."""
    done = fairfront.run(*args, **options)
    assert done.returncode == 2, done.stderr.decode()
    return done.stderr.decode()


# Exports


def test_export_replaces_a_file_only_if_forced(fairfront, folder, tmp_path):
    out = tmp_path / "rows.csv"
    out.write_text("precious\n")
    export = ["data", "export", folder / "loans.csv", *ROLES, "-o", out]
    assert "--force" in fairfront.error(*export)
    assert out.read_text() == "precious\n"
    fairfront(*export, "--force")
    written = out.read_text()
    encoding = tmp_path / "encoding.json"
    encoding.write_text("precious\n")
    error = fairfront.error(*export[:-1], tmp_path / "new.csv", "--encoding", encoding)
    assert "encoding.json" in error and not (tmp_path / "new.csv").exists()
    assert written.startswith("income,debt,sex,approved,split\n")


def test_both_exports_keep_the_order_of_rows(fairfront, folder):
    args = [folder / "loans.csv", *ROLES, "--scale", "none"]
    plain = fairfront.export(*args)
    encoded = fairfront.export(*args, "--encoded")
    table = pd.read_csv(folder / "loans.csv")
    for rows in (plain, encoded):
        np.testing.assert_array_equal(rows["income"].astype(float), table["income"])
    assert list(plain["split"]) == list(encoded["split"])
    assert list(encoded["label"]) == ["1" if approved == "yes" else "0" for approved in table["approved"]]


# The unmitigated model


def test_csv_ends_with_the_unmitigated_model(fairfront, run):
    info = json.loads((run / "run.json").read_text())
    shown = pd.read_csv(io.BytesIO(fairfront("show", run, "--csv")))
    assert list(shown["model_id"]) == [*map(str, range(1, info["models"] + 1)), "unmitigated"]
    last = shown.iloc[-1]
    for name, value in info["unmitigated"]["values"].items():
        assert (np.isnan(last[name]) and value is None) or last[name] == value, name
    params = last[[f"params.{f}" for f in [*info["features"], "(intercept)"]]]
    assert list(params) == info["unmitigated"]["params"]


def test_compare_leaves_out_the_unmitigated_model(fairfront, run, tmp_path):
    (tmp_path / "front.csv").write_bytes(fairfront("show", run, "--csv"))
    found = json.loads(fairfront("compare", run, tmp_path / "front.csv", "--json"))
    ours, file = found["fronts"]
    for key in ("models", "purity", "hypervolume"):
        assert ours[key] == file[key]


# Runs of different objectives


def test_runs_of_different_objectives_are_compared_in_measures(fairfront, folder, run):
    fit(fairfront, folder, "odds", "error_rate", "equalized_odds(sex)")
    odds = folder / "odds"
    error = fairfront.error("compare", run, odds)
    assert "--by measures" in error
    found = json.loads(fairfront("compare", run, odds, "--by", "measures", "--json"))
    assert found["split"] == "test" and found["same_rows"] and found["replicates"] == 1000
    names = {compared["measure"] for compared in found["measures"]}
    assert {"demographic_parity_difference(sex)", "equalized_odds_difference(sex)"} <= names
    for compared in found["measures"]:
        for front, place in zip(compared["fronts"], (run, odds), strict=True):
            table = pq.read_table(place / "front.parquet").to_pandas()
            values = np.column_stack([1 - table["test.accuracy"], table[f"test.{compared['measure']}"]])
            expected = area(values, compared["reference"]) / np.prod(compared["reference"])
            assert front["hypervolume_share"] == pytest.approx(expected, rel=1e-9)
        difference, (low, high) = compared["fronts"][1]["difference"], compared["fronts"][1]["interval"]
        assert low < difference < high
    # The redraws do not depend on the number of threads.
    again = [fairfront("compare", run, odds, "--by", "measures", RAYON_NUM_THREADS=n) for n in "12"]
    assert again[0] == again[1] and b"95% interval" in again[0]
    assert "--svg" in usage(fairfront, "compare", run, odds, "--by", "measures", "--svg", "x.svg")


def area(values, reference):
    """Return the area that a front dominates up to the reference, by a sweep."""
    total, lowest = 0.0, reference[1]
    for x, y in sorted(map(tuple, values)):
        if x < reference[0] and y < lowest:
            total += (reference[0] - x) * (lowest - y)
            lowest = y
    return total


def test_a_comparison_without_the_rows_has_no_intervals(fairfront, folder, run, tmp_path):
    moved = [tmp_path / "a", tmp_path / "b"]
    for place in moved:
        place.mkdir()
        for file in run.iterdir():
            if file.is_file():
                (place / file.name).write_bytes(file.read_bytes())
    done = fairfront.run("compare", *moved, "--by", "measures", cwd=tmp_path)
    assert done.returncode == 0
    said = " ".join(done.stderr.decode().split())
    assert "no intervals" in said and "loans.csv" in said
    assert "redraws" not in done.stdout.decode()
    # fairfront finds the file next to the run folders, unless it has different rows.
    (tmp_path / "loans.csv").write_bytes((folder / "loans.csv").read_bytes())
    done = fairfront.run("compare", *moved, "--by", "measures", cwd=tmp_path)
    assert done.stderr == b"" and b"redraws" in done.stdout
    loans(601).to_csv(tmp_path / "loans.csv", index=False)
    done = fairfront.run("compare", *moved, "--by", "measures", cwd=tmp_path)
    assert b"no longer the rows" in b" ".join(done.stderr.split())


# Tuning


def test_tune_uses_the_solver_of_a_default_fit(fairfront, folder, tmp_path):
    rows = [folder / "loans.csv", *ROLES, "--models", 12]
    found = json.loads(fairfront("tune", *rows, "--most", 4, "--json"))
    fairfront("fit", *rows, "--out", tmp_path / "default", "--quiet")
    default = json.loads((tmp_path / "default/run.json").read_text())
    assert found["solver"] == default["solver"] == "weighted"
    assert [axis["name"] for axis in found["tried"]] == ["stages", "softening", "penalty"]
    # The command that `tune` prints gives the front of the chosen trial.
    command = found["command"][1:]
    command[command.index("tuned")] = str(tmp_path / "tuned")
    fairfront(*command, "--quiet")
    tuned = json.loads((tmp_path / "tuned/run.json").read_text())
    chosen = found["trials"][found["chosen"]]
    assert tuned["models"] == chosen["models"] and tuned["solver"] == "weighted"
    if chosen["settings"]["penalty"] != "auto":
        assert tuned["penalty"]["chosen"] == float(chosen["settings"]["penalty"])
    front = pq.read_table(tmp_path / "tuned/front.parquet").to_pandas()
    assert front["validation.accuracy"].max() == chosen["performance"]


def test_tune_uses_the_solver_of_the_flag(fairfront, folder):
    rows = [folder / "loans.csv", *ROLES, "--models", 12, "--set", "max-steps=6", "--set", "holes=4"]
    named = json.loads(fairfront("tune", *rows, "--solver", "pf-smg", "--try", "runs=1,2", "--json"))
    assert named["solver"] == "pf-smg"
    assert "fixes it" in usage(fairfront, "tune", *rows, "--penalty", "1", "--try", "penalty=1,2")


# Limits


def test_a_limit_may_be_a_percentage(fairfront, run):
    choose = lambda limit: fairfront(
        "select", run, "--confidence", "none", "--require", f"demographic_parity_difference(sex) <= {limit}", "--json"
    )
    assert choose("12.5%") == choose("0.125")
    assert "is not a number" in usage(fairfront, "select", run, "--require", "accuracy >= high%")


def test_a_fit_accepts_percentages(fairfront, folder, tmp_path):
    fairfront(
        *("fit", folder / "loans.csv", *ROLES, "--models", 10, "--out", tmp_path / "r", "--quiet"),
        *("--require", "accuracy >= 60%"),
    )
    log = "".join(f.read_text(errors="replace") for f in (tmp_path / "r").iterdir() if f.suffix in (".json", ".jsonl"))
    assert "accuracy >= 0.6" in log


@pytest.mark.parametrize(
    "written, measure",
    [
        ("disparate_impact(sex) >= 0.8", "demographic_parity_ratio(sex)"),
        ("equal_opportunity(sex) <= 0.05", "equal_opportunity_difference(sex)"),
        ("predictive_equality(sex) <= 0.05", "false_positive_rate_difference(sex)"),
        ("statistical_parity_difference(sex) <= 0.05", "demographic_parity_difference(sex)"),
    ],
)
def test_errors_for_requirements_on_objectives_name_the_measure(fairfront, run, written, measure):
    for more in ([], ["--confidence", "none"]):
        error = usage(fairfront, "select", run, "--require", written, *more)
        assert f"is not a measure; write {measure}" in error


def test_disparate_impact_is_the_ratio_in_runs_of_covariances_too(fairfront, folder):
    """The covariance once had this name."""
    fit(fairfront, folder, "covariance", "log_loss", "score_covariance(sex)")
    for more in ([], ["--confidence", "none"]):
        error = usage(fairfront, "select", folder / "covariance", "--require", "disparate_impact(sex) >= 80%", *more)
        assert "is not a measure; write demographic_parity_ratio(sex)" in error


@pytest.mark.parametrize(
    "measure, objective",
    [
        ("equal_opportunity_difference(sex)", "equal_opportunity(sex)"),
        ("demographic_parity_difference(sex)", "demographic_parity(sex)"),
        ("demographic_parity_ratio(sex)", "demographic_parity(sex)"),
        ("equalized_odds_difference(sex)", "equalized_odds(sex)"),
        ("false_positive_rate_difference(sex)", "predictive_equality(sex)"),
        ("selection_rate(sex)", "demographic_parity(sex)"),
        ("accuracy", "error_rate"),
    ],
)
def test_errors_for_measures_as_objectives_name_the_objective(fairfront, folder, tmp_path, measure, objective):
    rows = [folder / "loans.csv", *ROLES, "--objective", "log_loss", "--out", tmp_path / "r"]
    error = usage(fairfront, "fit", *rows, "--objective", measure)
    assert f'is a measure, not an objective; choose "{objective}"' in error
    assert not (tmp_path / "r").exists()


# Paths on the user's machine


def bytes_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_output_file_contains_a_path(fairfront, tmp_path):
    """Runs, models, exports, cards and reports contain no path, even if a warning names the input file."""
    table = loans()
    # The message about a repeated column name contains the name of the file.
    table.insert(2, "extra", 1.5)
    text = table.to_csv(index=False).replace("income,debt,extra", "income,debt,debt", 1)
    (tmp_path / "loans.csv").write_text(text)
    table = ["fit", tmp_path / "loans.csv", *ROLES, "--models", 10, "--quiet"]
    fairfront(*table, "--out", tmp_path / "r", "--checkpoint-every", "0.001")
    fairfront("select", tmp_path / "r", "--knee", "--model", tmp_path / "model.json")
    fairfront("report", tmp_path / "r", "-o", tmp_path / "report.html")
    fairfront("report", tmp_path / "r", "--figures")
    for form in ("sql", "table", "onnx"):
        fairfront("export", tmp_path / "model.json", "--format", form, "-o", tmp_path / f"model.{form}")
    written = bytes_of(tmp_path)
    assert {"report.html", "model.json", "model.sql"} <= {str(path) for path in written}
    assert len([path for path in written if path.parts[0] == "r"]) >= 5
    place = str(tmp_path).encode()
    for path, content in written.items():
        assert place not in content, path
    parquet = pq.ParquetFile(tmp_path / "r/front.parquet")
    assert place not in repr(parquet.metadata.metadata).encode()
    info = json.loads((tmp_path / "r/run.json").read_text())
    assert info["source"] == "loans.csv" and info["read"]["files"] == ["loans.csv"]
    assert any("loans.csv" in note["message"] for note in info["messages"])


def test_the_run_of_a_stream_has_file_names_without_paths(fairfront, folder, tmp_path):
    fairfront("stream", tmp_path / "state", folder / "loans.csv", *ROLES, "--batch", 300, "--models", 10)
    info = json.loads((tmp_path / "state/current/run.json").read_text())
    assert info["source"] == "loans.csv" and info["read"]["files"] == ["loans.csv"]
    fairfront("select", tmp_path / "state", "--knee", "--model", tmp_path / "model.json")
    for path in [tmp_path / "model.json", tmp_path / "state/current/run.json"]:
        assert str(folder) not in path.read_text() and str(tmp_path) not in path.read_text()


def test_verify_finds_files_by_name(fairfront, folder, run, tmp_path):
    # In the current folder, next to the run folder, or at the path that is passed.
    fairfront("verify", "rates", cwd=folder)
    fairfront("verify", run, cwd=tmp_path)
    fairfront("verify", run, folder / "loans.csv", cwd=tmp_path)
    away = tmp_path / "deep" / "rates"
    away.mkdir(parents=True)
    for file in run.iterdir():
        if file.is_file():
            (away / file.name).write_bytes(file.read_bytes())
    error = fairfront.error("verify", away, cwd=tmp_path)
    assert re.search(r"loans\.csv: no such file in .*; pass the path: fairfront verify .* FILE", error)
    fairfront("verify", away, folder / "loans.csv", cwd=tmp_path)


def test_a_fit_resumes_after_its_file_moved(fairfront, folder, tmp_path):
    """A file with the same rows in another folder gives the same fit."""
    one, two = tmp_path / "one", tmp_path / "two"
    for place in (one, two):
        place.mkdir()
        (place / "loans.csv").write_bytes((folder / "loans.csv").read_bytes())
    args = [*ROLES, "--models", 10, "--quiet", "--resume", "--out", tmp_path / "r"]
    fairfront("fit", one / "loans.csv", *args)
    before = bytes_of(tmp_path / "r")
    fairfront("fit", two / "loans.csv", *args)
    assert bytes_of(tmp_path / "r") == before


# Streams


def test_lines_of_a_stream_name_their_numbers(fairfront, folder, tmp_path):
    said = fairfront("stream", tmp_path / "s", folder / "loans.csv", *ROLES, "--batch", 300, "--models", 10).decode()
    second = next(line for line in said.splitlines() if line.startswith("drift 2"))
    number = r"\d[\d.e-]*"
    assert re.search(rf"base rate from {number}% in the rows kept before to {number}% in this batch", second)
    third = next(line for line in said.splitlines() if line.startswith("front 2"))
    measures = rf"{number} in 1 - accuracy, {number} in demographic_parity_difference\(sex\)"
    assert re.search(rf"on the current rows, the previous models change by a mean of {measures}", third)
    assert re.search(rf"the update moves the front by a mean of {measures}", third)
    assert re.search(rf"hypervolume share {number} before the update, {number} after", said)
    lines = (tmp_path / "s/drift.jsonl").read_text().splitlines()
    assert len(lines) == 2
    for line in lines[1:]:
        front = json.loads(line)["front"]
        assert len(front["shifted_by"]) == len(front["moved_by"]) == len(front["judged_by"])


# Help


def test_help_refers_only_to_existing_parts(fairfront):
    helps = {name: fairfront(name, "--help").decode() for name in ("fit", "tune", "stream", "select")}
    for name in ("tune", "stream"):
        assert "listed below" not in helps[name] and "grid above" not in helps[name]
        assert "`fairfront fit --help`" in " ".join(helps[name].split())
    assert "Settings of weighted" in helps["fit"]
    assert "--balance" not in helps["stream"] and "--balance" in helps["fit"]
    assert "straight line" in " ".join(helps["select"].split())


def test_a_stream_explains_why_it_rejects_balance(fairfront, folder, tmp_path):
    done = fairfront.run("stream", tmp_path / "s", folder / "loans.csv", *ROLES, "--balance", "sex")
    assert done.returncode in (1, 2) and b"balance" in done.stderr


@pytest.mark.parametrize(
    "objectives, judged",
    [
        (["error_rate", "demographic_parity(sex)"], "measures"),
        (["error_rate", "score_covariance(sex)"], "measures"),
        (["log_loss", "demographic_parity(sex)"], "measures"),
        (["log_loss", "score_covariance(sex)"], "objectives"),
        (["error_rate", "worst_group_loss(sex)"], "objectives"),
    ],
)
def test_fronts_are_judged_as_documented_in_the_help(fairfront, folder, tmp_path, objectives, judged):
    """Measures judge if the loss is error_rate or an objective compares rates, and every objective has a measure."""
    flags = [word for objective in objectives for word in ("--objective", objective)]
    fairfront("fit", folder / "loans.csv", *ROLES, *flags, "--models", 10, "--quiet", "--out", tmp_path / "r")
    assert json.loads((tmp_path / "r/run.json").read_text())["judged"]["front_in"] == judged
