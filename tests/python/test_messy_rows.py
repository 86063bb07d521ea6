"""Small tables with missing cells, rare classes and tiny groups: each fit reports how it treats these rows."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fairlearn.metrics import demographic_parity_difference, equalized_odds_difference

ROLES = ["--target", "approved", "--positive", "yes", "--sensitive", "group"]


def table(n=1000, groups=None, shift=0.0, seed=0):
    """Return rows with eight features, one of them a color; the first two determine the target."""
    rng = np.random.default_rng(seed)
    names, shares = zip(*(groups or {"f": 1, "m": 1}).items())
    group = rng.choice(names, n, p=np.array(shares) / sum(shares))
    rows = pd.DataFrame(rng.normal(size=(n, 7)).round(3), columns=[f"x{j}" for j in range(7)])
    rows["color"] = rng.choice(["red", "green", "blue"], n)
    rows["x0"] += 0.6 * (group == names[-1])
    score = rows["x0"] + 0.5 * rows["x1"] + rng.normal(size=n) - shift
    rows["group"], rows["approved"] = group, np.where(score > 0, "yes", "no")
    return rows


def blanked(rows, share, seed=1):
    rng = np.random.default_rng(seed)
    features = rows.columns[:-2]
    blank = rng.random((len(rows), len(features))) < share
    rows = rows.astype({name: object for name in features})
    rows[features] = rows[features].mask(blank, "")
    return rows


class Fit:
    """A fit of a table: the output and the files of the run."""

    def __init__(self, fairfront, folder, rows, *args, code=0):
        self.rows, self.folder = rows, folder / "run"
        path = folder / "table.csv"
        rows.to_csv(path, index=False)
        done = fairfront.run("fit", path, *ROLES, "--out", self.folder, *args)
        self.stderr = " ".join(done.stderr.decode().split())
        assert done.returncode == code, self.stderr
        if (self.folder / "run.json").exists():
            self.info = json.loads((self.folder / "run.json").read_text())
            self.front = pq.read_table(self.folder / "front.parquet").to_pandas()
        self.inspected = fairfront.inspect(path, *ROLES, *[a for a in args if a in ("--missing", "drop")])

    def warnings(self):
        return [n["message"] for n in self.info["messages"] if n["severity"] == "warning"]


def test_missing_features_are_kept(fairfront, tmp_path):
    rows = blanked(table(), 0.15)
    fit = Fit(fairfront, tmp_path, rows)
    assert sum(fit.info["rows"].values()) == 1000
    assert fit.info["dropped"] == {"read": 1000, "used": 1000, "reasons": []}
    blanks = (rows.iloc[:, :-2] == "").sum().sort_values(ascending=False, kind="stable")
    assert f'rows with missing features are kept: "{blanks.index[0]}" ({blanks.iloc[0]} rows)' in fit.stderr
    assert "pass --missing drop to drop these rows" in fit.stderr
    # An indicator for numbers, a category for colors.
    assert {"x3 (missing)", "color=(missing)"} <= set(fit.info["features"])


def test_dropped_rows_are_reported(fairfront, tmp_path):
    rows = blanked(table(), 0.15)
    fit = Fit(fairfront, tmp_path, rows, "--missing", "drop")
    blank = rows.iloc[:, :-2] == ""
    used = int((~blank.any(axis=1)).sum())
    assert fit.info["dropped"]["used"] == used == sum(fit.info["rows"].values())
    reasons = {r["column"]: r["rows"] for r in fit.info["dropped"]["reasons"]}
    assert reasons == blank.sum().to_dict()
    worst = max(reasons, key=reasons.get)
    [warning] = [w for w in fit.warnings() if "are dropped" in w]
    share = 100 * (1000 - used) / 1000
    assert warning.startswith(f'{1000 - used} of 1,000 rows ({share:.1f}%) are dropped: "')
    assert f'"{worst}" is missing ({reasons[worst]} rows)' in warning
    assert f"warning: {warning}" in fit.stderr
    assert warning in [n["message"] for n in fit.inspected["messages"]]
    assert warning.replace('"', '\\"') in (fit.folder / "report.html").read_text()


def test_few_dropped_rows_are_a_note(fairfront, tmp_path):
    rows = table()
    rows.loc[:19, "approved"] = ""
    fit = Fit(fairfront, tmp_path, rows)
    assert not any("dropped" in w for w in fit.warnings())
    assert 'note: 20 of 1,000 rows (2.0%) are dropped: "approved" is missing (20 rows)' in fit.stderr


def test_missing_labels_are_a_warning(fairfront, tmp_path):
    rows = table()
    rows.loc[:199, "approved"] = ""
    fit = Fit(fairfront, tmp_path, rows)
    assert 'warning: 200 of 1,000 rows (20.0%) are dropped: "approved" is missing (200 rows)' in fit.stderr
    # Keeping features cannot keep rows without a label.
    assert "--missing keep" not in fit.stderr


def test_warnings_are_the_same_everywhere(fairfront, tmp_path):
    """The warnings of `inspect` are in the output of `fit`, in run.json and in the report."""
    rows = table(groups={"f": 500, "m": 490, "x": 10})
    # A proxy of the group.
    rows["height"] = np.where(rows["group"] == "m", 180, 165) + np.random.default_rng(3).normal(size=1000) * 5
    rows = rows[["height", *rows.columns[:-1]]]
    fit = Fit(fairfront, tmp_path, rows)
    inspected = [n["message"] for n in fit.inspected["messages"] if n["severity"] == "warning"]
    assert any("act as a proxy" in w and "height" in w for w in inspected)
    assert any('fewer than 30 training rows: "x"' in w for w in inspected)
    assert set(inspected) <= set(fit.warnings())
    page = (fit.folder / "report.html").read_text()
    for warning in inspected:
        assert warning in fit.stderr
        assert json.dumps(warning)[1:-1] in page


def test_rare_classes_are_a_warning(fairfront, tmp_path):
    fit = Fit(fairfront, tmp_path, table(956, shift=3.3))
    assert any(w.startswith("only ") and "training rows" in w and "are positive" in w for w in fit.warnings())


@pytest.fixture(scope="module")
def tiny(fairfront, tmp_path_factory):
    """A group of about ten rows and two large groups."""
    rows = table(4000, {"a": 2000, "b": 1990, "c": 10}, seed=5)
    return Fit(fairfront, tmp_path_factory.mktemp("tiny"), rows)


def test_small_groups_are_left_out_of_differences(fairfront, tiny):
    groups = tiny.info["groups"]["group"]
    assert groups["c"]["rows"] < 30 and not groups["c"]["compared"]["all"]
    assert groups["a"]["compared"] == {"all": True, "positives": True, "negatives": True}
    [warning] = [w for w in tiny.warnings() if "fewer than 30 training rows" in w]
    assert f'"c" ({groups["c"]["rows"]})' in warning and "--merge or --pool-groups 30" in warning
    exported = fairfront.export(tiny.folder.parent / "table.csv", *ROLES)
    assert (exported["group"] == "c").sum() == (tiny.rows["group"] == "c").sum()
    for split in ["train", "validation", "test"]:
        front = tiny.front
        rates = front[[f"{split}.selection_rate(group={g})" for g in "ab"]]
        expected = rates.max(axis=1) - rates.min(axis=1)
        found = front[f"{split}.demographic_parity_difference(group)"]
        np.testing.assert_allclose(found, expected, atol=1e-15)
        # The values of the small group are stored, too.
        assert f"{split}.selection_rate(group=c)" in front.columns


def test_an_audit_leaves_out_the_same_groups(fairfront, tiny, tmp_path):
    """An audit compares the groups that the run compares; fairlearn on these rows gives the same differences."""
    model = tmp_path / "model.json"
    fairfront("select", tiny.folder, "--model-id", 1, "--model", model)
    path = tiny.folder.parent / "table.csv"
    done = fairfront.run("predict", model, path, "--audit", "--output", tmp_path / "scores.csv")
    assert done.returncode == 0, done.stderr
    assert b"left out of differences because of too few training rows: c" in done.stdout + done.stderr
    scores = pd.read_csv(tmp_path / "scores.csv")
    large = (tiny.rows["group"] != "c").to_numpy()
    decided, labels = scores["decision"][large], (tiny.rows["approved"] == "yes")[large]
    args = {"y_true": labels, "y_pred": decided, "sensitive_features": tiny.rows["group"][large]}
    shown = (done.stdout + done.stderr).decode()
    assert f"{demographic_parity_difference(**args):.4f}" in shown
    assert equalized_odds_difference(**args) > 0


def test_pooled_groups(fairfront, tmp_path):
    rows = table(4000, {"a": 2000, "b": 1900, "c": 60, "d": 40}, seed=6)
    fit = Fit(fairfront, tmp_path, rows, "--pool-groups", 50)
    groups = fit.info["groups"]["group"]
    assert list(groups) == ["a", "b", "(other)"]
    # Groups that first appear in later rows are pooled too.
    model = tmp_path / "model.json"
    fairfront("select", fit.folder, "--model-id", 1, "--model", model)
    later = rows.head(50).assign(group="e")
    later.to_csv(tmp_path / "later.csv", index=False)
    done = fairfront.run("predict", model, tmp_path / "later.csv", "--audit", "--json", "--output", tmp_path / "s.csv")
    assert b'"(other)"' in done.stdout, done.stderr
    command = ["fit", tmp_path / "table.csv", *ROLES, "--out", tmp_path / "r"]
    failed = fairfront.run(*command, "--pool-groups", 9999)
    assert failed.returncode == 1 and b"choose a smaller number" in failed.stderr
    failed = fairfront.run(*command, "--pool-groups", 9, "--balance", "group")
    assert failed.returncode == 2 and b"cannot be combined" in failed.stderr


def by_part(groups, seed, without=None):
    """Return a table with a split column, without test rows of one group."""
    rows = table(4000, groups, seed=seed)
    part = np.random.default_rng(100 + seed).choice(["train", "validation", "test"], 4000, p=[0.6, 0.1, 0.3])
    part[(rows["group"] == without) & (part == "test")] = "train"
    rows.insert(0, "part", part)
    return rows


REQUIRE = ["--split", "column:part", "--require", "demographic_parity_difference(group) <= 0.4"]


def test_a_certificate_names_the_groups_it_does_not_cover(fairfront, tmp_path):
    fit = Fit(fairfront, tmp_path, by_part({"a": 2000, "b": 1990, "c": 10}, 7), *REQUIRE)
    model = tmp_path / "model.json"
    said = fairfront("select", fit.folder, *REQUIRE[2:], "--model", model).decode()
    assert "Not covered, because the groups have too few training rows: group=c." in said
    [checked] = json.loads(model.read_text())["certificate"]["requirements"]
    assert checked["verdict"] == "certified" and checked["not_covered"] == ["group=c"]
    assert fit.info["certified"]["not_covered"] == ["group=c"]


@pytest.mark.parametrize("min_group", [30, 0])
def test_a_compared_group_too_small_to_certify_prevents_a_certificate(fairfront, tmp_path, min_group):
    """A group with about forty training rows and only two certifying rows gives exit code 4: a certificate never leaves
    out a compared group."""
    rows = by_part({"a": 2000, "b": 1900, "c": 60}, 8)
    test = rows.index[(rows["group"] == "c") & (rows["part"] == "test")]
    rows.loc[test[2:], "part"] = "train"
    fit = Fit(fairfront, tmp_path, rows, *REQUIRE, "--min-group", min_group, code=4)
    assert "no model is certified" in fit.stderr


def test_a_compared_group_without_certifying_rows_prevents_a_certificate(fairfront, tmp_path):
    fit = Fit(fairfront, tmp_path, by_part({"a": 2000, "b": 1900, "c": 60}, 9, without="c"), *REQUIRE, code=4)
    assert "the test rows have no rows of group=c" in fit.stderr


def test_two_groups_are_compared_however_small(fairfront, tmp_path):
    fit = Fit(fairfront, tmp_path, table(40))
    assert any("its largest groups are compared although they are small" in w for w in fit.warnings())
    assert fit.front["train.demographic_parity_difference(group)"].notna().all()


def test_verify_recomputes_small_groups(fairfront, tiny):
    assert b"error" not in fairfront("verify", tiny.folder)
