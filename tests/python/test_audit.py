"""Audits of decisions, compared with pandas, scipy, scikit-learn and fairlearn, and their pages in a browser."""

import io
import json
import re
from datetime import UTC, datetime

import fairlearn.metrics as fm
import numpy as np
import pandas as pd
import pytest
from conftest import REPOSITORY
from paged import BROWSER, DESKTOP, PHONE, QUIET, absent
from scipy import optimize, stats
from sklearn.metrics import accuracy_score, roc_auc_score

AXE = REPOSITORY / "crates/fairfront-report/web/node_modules/axe-core/axe.min.js"
# Sums of a few thousand terms of size 1 in another order.
EXACT = 1e-10
Z = stats.norm.ppf(0.975)


@pytest.fixture(scope="module")
def applicants(tmp_path_factory):
    """Applicants with scores, decisions and outcomes; some groups are missing, and one is tiny."""
    rng = np.random.default_rng(11)
    n = 1600
    sex = rng.choice(["F", "M"], n, p=[0.45, 0.55]).astype(object)
    race = rng.choice(["Asian", "Black", "White", "Aleut"], n, p=[0.2, 0.29, 0.5, 0.01])
    score = np.clip(
        rng.normal(0.5, 0.2, n) + 0.07 * (sex == "M") + 0.1 * (race == "White"), 0, 1
    ).round(2)
    rows = pd.DataFrame(
        {
            "id": [f"a{k:05}" for k in rng.permutation(n)],
            "sex": sex,
            "race": race,
            "age": rng.integers(18, 70, n),
            "score": score,
            "hired": np.where(score + rng.normal(0, 0.1, n) > 0.6, "hired", "rejected"),
            "good": np.where(rng.random(n) < 0.2 + 0.6 * score, "yes", "no"),
            "w": rng.gamma(2, 1, n).round(3),
        }
    )
    rows.loc[rng.random(n) < 0.03, "sex"] = None
    rows.loc[rng.random(n) < 0.02, "good"] = None
    folder = tmp_path_factory.mktemp("applicants")
    rows.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", rows


BY_SEX = ["--sensitive", "sex"]
BY_BOTH = [*BY_SEX, "--sensitive", "race"]
GOOD = ["--target", "good", "--positive", "yes"]


def audit(fairfront, *args, **options):
    return json.loads(fairfront("audit", *args, "--json", **options))


def close(found, expected, tolerance=EXACT):
    assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def groups_of(found, name):
    (attribute,) = [a for a in found["attributes"] if a["name"] == name]
    return attribute


def wilson(x, n):
    middle = (x + Z**2 / 2) / (n + Z**2)
    half = Z / (n + Z**2) * np.sqrt(x * (n - x) / n + Z**2 / 4)
    return [middle - half, middle + half]


def restricted(x, n, y, m, rate_of):
    """Return the rates that are most likely if the first is a function of the second, by search."""

    def loss(q):
        p = np.clip(rate_of(q), 1e-12, 1 - 1e-12)
        return -(stats.binom.logpmf(x, n, p) + stats.binom.logpmf(y, m, q))

    grid = np.linspace(1e-6, 1 - 1e-6, 4001)
    grid = grid[(rate_of(grid) > 0) & (rate_of(grid) < 1)]
    best = grid[np.argmin(loss(grid))]
    step = grid[1] - grid[0]
    low, high = max(best - step, 1e-9), min(best + step, 1 - 1e-9)
    q = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    return rate_of(q), q


def ratio_z(x, n, y, m, ratio):
    p, q = restricted(x, n, y, m, lambda q: ratio * q)
    return (x / n - ratio * y / m) / np.sqrt(p * (1 - p) / n + ratio**2 * q * (1 - q) / m)


def difference_z(x, n, y, m, difference):
    p, q = restricted(x, n, y, m, lambda q: difference + q)
    return (x / n - y / m - difference) / np.sqrt(p * (1 - p) / n + q * (1 - q) / m)


@pytest.mark.parametrize("named", [True, False])
def test_tables_are_those_of_fairlearn_and_pandas(fairfront, applicants, named):
    path, rows = applicants
    reference = ["--reference", "race=Black"] if named else []
    found = audit(fairfront, ":score", path, "--threshold", 0.6, *BY_BOTH, *GOOD, *reference)
    selected = rows["score"] >= 0.6
    labeled = rows["good"].notna()
    assert found["table"]["without_target"] == (~labeled).sum() > 0
    assert found["overall"]["selected"] == selected.sum()
    close(found["overall"]["selection_rate"], selected.mean())
    sets = {"sex": rows["sex"], "race": rows["race"]}
    sets["sex:race"] = (rows["sex"] + ":" + rows["race"]).where(rows["sex"].notna())
    assert [a["name"] for a in found["attributes"]] == list(sets)
    for name, groups in sets.items():
        table = groups_of(found, name)
        known = groups.notna()
        assert table["unknown"] == {"rows": (~known).sum(), "selected": selected[~known].sum()}
        shares = groups[known].value_counts(normalize=True)
        assert sorted(table["groups"]) == sorted(shares.index)
        assert sorted(table["left_out"]) == sorted(shares.index[shares < 0.02])
        rates = selected[known].groupby(groups[known]).mean()
        large = rates[shares[rates.index] >= 0.02]
        expected = {"race": "Black"}.get(name, large.idxmax()) if named else large.idxmax()
        assert table["reference"] == expected
        assert table["reference_by"] == (
            "named" if named and name == "race" else "highest_selection_rate"
        )
        both = known & labeled
        truth, decided = (rows["good"] == "yes")[both], selected[both]
        frame = fm.MetricFrame(
            metrics={
                "false_negative_rate": fm.false_negative_rate,
                "false_positive_rate": fm.false_positive_rate,
                "accuracy": accuracy_score,
                "base_rate": lambda y_true, y_pred: np.mean(y_true),
            },
            y_true=truth,
            y_pred=decided,
            sensitive_features=groups[both],
        ).by_group
        for group, values in table["groups"].items():
            of = groups == group
            assert values["rows"] == of.sum() and values["selected"] == selected[of].sum()
            close(values["share"], shares[group])
            close(values["selection_rate"], rates[group])
            close(values["selection_rate_interval"], wilson(selected[of].sum(), of.sum()), 1e-7)
            for measure in frame:
                if group in frame.index and not np.isnan(frame.loc[group, measure]):
                    close(values["errors"][measure], frame.loc[group, measure])
            compared = values.get("compared")
            assert (compared is None) == (group == expected or group in table["left_out"])
            if compared is None:
                assert "minus_reference" not in values["errors"]
                continue
            x, n = selected[of].sum(), of.sum()
            y, m = selected[groups == expected].sum(), (groups == expected).sum()
            close(compared["adverse_impact_ratio"], (x / n) / (y / m))
            close(compared["selection_rate_difference"], x / n - y / m)
            close(compared["shortfall"], n * y / m - x)
            close(compared["odds_ratio"], (x / (n - x)) / (y / (m - y)))
            cells = [[x, n - x], [y, m - y]]
            # scipy drops tables whose probability differs by less than 1e-14; ours by 1e-7.
            close(compared["p_value"], stats.fisher_exact(cells).pvalue, 1e-8)
            assert compared["test"] == "fisher"
            assert compared["significant"] == (compared["p_value"] < 0.05)
            low, high = compared["adverse_impact_ratio_interval"]
            assert ratio_z(x, n, y, m, low) == pytest.approx(Z, abs=1e-4)
            assert ratio_z(x, n, y, m, high) == pytest.approx(-Z, abs=1e-4)
            low, high = compared["selection_rate_difference_interval"]
            assert difference_z(x, n, y, m, low) == pytest.approx(Z, abs=1e-4)
            assert difference_z(x, n, y, m, high) == pytest.approx(-Z, abs=1e-4)
            ratio, (low, high) = (
                compared["adverse_impact_ratio"],
                compared["adverse_impact_ratio_interval"],
            )
            assert compared["below_four_fifths"] == (ratio < 0.8)
            verdict = "below" if high < 0.8 else "at_or_above" if low >= 0.8 else "too_few_rows"
            assert compared["four_fifths"] == verdict
            other = frame.loc[expected]
            for measure in ("false_negative_rate", "false_positive_rate", "accuracy"):
                difference = frame.loc[group, measure] - other[measure]
                close(values["errors"]["minus_reference"][measure], difference)
                low, high = values["errors"]["minus_reference"][f"{measure}_interval"]
                assert low < difference < high


def delong(scores, truth):
    """Return the area under the curve and its standard error, from all pairs."""
    up, down = scores[truth], scores[~truth]
    wins = (up[:, None] > down) + 0.5 * (up[:, None] == down)
    variance = wins.mean(1).var(ddof=1) / len(up) + wins.mean(0).var(ddof=1) / len(down)
    return wins.mean(), np.sqrt(variance)


def test_scores_are_those_of_scikit_learn_and_scipy(fairfront, applicants):
    path, rows = applicants
    rows = rows.assign(truth=rows["good"] == "yes")
    command = [":score", path, "--threshold", 0.6, *BY_SEX, *GOOD, "--reference", "sex=M"]
    table = groups_of(audit(fairfront, *command), "sex")
    deviation = rows["score"].std(ddof=0)
    areas = {}
    for group in ("F", "M"):
        of = rows[rows["sex"] == group]
        known = of[of["good"].notna()]
        scores, truth = known["score"].to_numpy(), known["truth"].to_numpy()
        values = table["groups"][group]["scores"]
        close(values["mean"], of["score"].mean())
        close(values["auc"], roc_auc_score(truth, scores))
        close(values["ks"], stats.ks_2samp(scores[truth], scores[~truth]).statistic)
        areas[group] = area, error = delong(scores, truth)
        close(values["auc_interval"], [area - Z * error, area + Z * error])
    values = table["groups"]["F"]["scores"]
    means = rows.groupby("sex")["score"].mean()
    close(values["standardized_mean_difference"], (means["F"] - means["M"]) / deviation)
    difference = areas["F"][0] - areas["M"][0]
    margin = Z * np.hypot(areas["F"][1], areas["M"][1])
    close(values["auc_difference"], difference)
    close(values["auc_difference_interval"], [difference - margin, difference + margin])
    assert "standardized_mean_difference" not in table["groups"]["M"]["scores"]


@pytest.mark.parametrize("weighted", [False, True])
def test_selection_by_rank_is_the_mean_over_orders_of_ties(fairfront, applicants, weighted):
    path, rows = applicants
    weight = ["--weight", "w"] if weighted else []
    command = [":score", path, "--threshold", 0.6, *BY_BOTH, "--reference", "race=White", *weight]
    table = groups_of(audit(fairfront, *command), "race")
    w = rows["w"].to_numpy() if weighted else np.ones(len(rows))
    score, total = rows["score"].to_numpy(), w.sum()
    # The share of each row that is selected if rows above the cut are, and tied ones fill the rest.
    def taken(share):
        above = np.zeros(len(rows))
        left = share * total
        for value in np.unique(score)[::-1]:
            here = score == value
            fits = min(left, w[here].sum())
            above[here] = fits / w[here].sum()
            left -= fits
        return above * w

    earlier = np.zeros(len(rows))
    for at in range(1, 11):
        now = taken(at / 10)
        decile = table["deciles"][at - 1]
        assert decile["decile"] == at
        inside = now - earlier
        for group, share in decile["shares"].items():
            close(share, inside[rows["race"] == group].sum() / inside.sum(), 1e-8)
        touched = score[inside > 1e-9]
        assert decile["scores"] == [touched.min(), touched.max()]
        earlier = now
        if at == 10:
            break
        top = table["at_selection_rates"][at - 1]
        close(top["selected_share"], at / 10)
        rate = {g: now[rows["race"] == g].sum() / w[rows["race"] == g].sum() for g in top["groups"]}
        assert "Aleut" not in rate
        for group, values in top["groups"].items():
            close(values["selection_rate"], rate[group], 1e-8)
            close(values["adverse_impact_ratio"], rate[group] / rate["White"], 1e-8)


def test_weighted_rows(fairfront, applicants, tmp_path):
    path, rows = applicants
    command = [":score", path, "--threshold", 0.6, *BY_SEX, *GOOD, "--reference", "sex=M"]
    table = groups_of(audit(fairfront, *command, "--weight", "w"), "sex")
    selected = rows["score"] >= 0.6
    rates = {}
    for group in ("F", "M"):
        of, values = rows["sex"] == group, table["groups"][group]
        assert values["rows"] == of.sum() and values["selected"] == (of & selected).sum()
        close(values["weight"], rows["w"][of].sum())
        rates[group] = np.average(selected[of], weights=rows["w"][of])
        close(values["selection_rate"], rates[group])
        known = of & rows["good"].notna()
        truth = rows["good"][known] == "yes"
        close(
            values["errors"]["accuracy"],
            np.average(truth == selected[known], weights=rows["w"][known]),
        )
        close(
            values["scores"]["auc"],
            roc_auc_score(truth, rows["score"][known], sample_weight=rows["w"][known]),
        )
    compared = table["groups"]["F"]["compared"]
    close(compared["adverse_impact_ratio"], rates["F"] / rates["M"])
    assert compared["test"] == "score"
    low, high = compared["adverse_impact_ratio_interval"]
    assert low < rates["F"] / rates["M"] < high
    # The interval is wider than without weights, whose effective number of rows is larger.
    plain = groups_of(audit(fairfront, *command), "sex")["groups"]["F"]["compared"]
    assert np.diff([low, high]) > np.diff(plain["adverse_impact_ratio_interval"])
    # Weights of 1 change nothing but the names of tests.
    rows.assign(w=1).to_csv(tmp_path / "rows.csv", index=False)
    command[1] = tmp_path / "rows.csv"
    ones = groups_of(audit(fairfront, *command, "--weight", "w"), "sex")["groups"]["F"]
    assert ones["compared"] == plain


def test_decisions_are_those_of_a_model(fairfront, tmp_path):
    fairfront("data", "export", "demo(rows=4000)", "-o", tmp_path / "rows.csv")
    fairfront("fit", "demo(rows=4000)", "--out", tmp_path / "run", "--quiet", "--models", 10)
    model = tmp_path / "model.json"
    fairfront.model(tmp_path / "run", 5, model)
    fairfront("predict", model, tmp_path / "rows.csv", "-o", tmp_path / "scores.csv")
    predicted = pd.read_csv(tmp_path / "scores.csv")
    rows = pd.read_csv(tmp_path / "rows.csv")
    found = audit(fairfront, model, tmp_path / "rows.csv")
    assert found["decisions"]["kind"] == "model" and found["target"] == "approved"
    names = [a["name"] for a in found["attributes"]]
    assert names == ["sex", "race", "sex:race"]
    rates = predicted["decision"].groupby(rows["race"]).mean()
    for group, values in groups_of(found, "race")["groups"].items():
        close(values["selection_rate"], rates[group])
        close(values["scores"]["mean"], predicted["probability"][rows["race"] == group].mean(), 1e-9)
    truth = rows["approved"] == "yes"
    close(found["overall"]["scores"]["auc"], roc_auc_score(truth, predicted["probability"]))
    # The same from the file of predictions, of scores or of decisions.
    sensitive = [*BY_BOTH, "--target", "approved", "--positive", "yes"]
    scores = [f"{tmp_path / 'scores.csv'}:probability", tmp_path / "rows.csv", *sensitive]
    threshold = found["decisions"]["threshold"]
    same = audit(fairfront, *scores, "--threshold", threshold)
    by_decision = audit(fairfront, str(scores[0]).replace("probability", "decision"), *scores[1:])
    for other in (same, by_decision):
        for a, b in zip(found["attributes"], other["attributes"], strict=True):
            for group, values in a["groups"].items():
                assert b["groups"][group].get("compared") == values.get("compared")
    assert same["attributes"] == found["attributes"]
    assert "scores" not in by_decision["overall"]
    # Another threshold, and other sensitive columns.
    found = audit(fairfront, model, tmp_path / "rows.csv", "--threshold", 0.7, "--sensitive", "housing")
    assert [a["name"] for a in found["attributes"]] == ["housing"]
    assert found["overall"]["selected"] == (predicted["probability"] >= 0.7).sum()
    # Rows without the target have no error rates.
    rows.drop(columns="approved").to_csv(tmp_path / "new.csv", index=False)
    found = audit(fairfront, model, tmp_path / "new.csv")
    assert found["target"] is None and "errors" not in found["overall"]
    assert any("no error rates" in d["message"] for d in found["messages"])


def test_groups_can_be_binned_merged_and_missing(fairfront, applicants):
    path, rows = applicants
    command = [":hired", path, "--selected", "hired"]
    found = audit(fairfront, *command, "--sensitive", "age", "--bins", "age=25,45")
    counts = pd.cut(rows["age"], [0, 25, 45, 99], right=False).value_counts(sort=False)
    assert [g["rows"] for g in found["attributes"][0]["groups"].values()] == counts.to_list()
    found = audit(fairfront, *command, "--sensitive", "race", "--merge", "race=other:Aleut,Asian")
    groups = found["attributes"][0]["groups"]
    assert set(groups) == {"other", "Black", "White"}
    assert groups["other"]["rows"] == rows["race"].isin(["Aleut", "Asian"]).sum()
    found = audit(fairfront, *command, *BY_SEX, "--missing-sensitive", "group")
    groups = found["attributes"][0]["groups"]
    assert groups["(missing)"]["rows"] == rows["sex"].isna().sum()
    assert found["attributes"][0]["unknown"]["rows"] == 0
    # Without a limit, the smallest group is compared as well.
    found = audit(fairfront, *command, "--sensitive", "race", "--min-share", "0%")
    assert found["attributes"][0]["left_out"] == []
    assert "compared" in found["attributes"][0]["groups"]["Aleut"]


def test_intersections(fairfront, applicants):
    path, rows = applicants
    command = [":hired", path, "--selected", "hired", *BY_BOTH, "--sensitive", "age", "--bins", "age=40"]
    found = audit(fairfront, *command, "--reference", "sex=M", "--reference", "race=White")
    names = [a["name"] for a in found["attributes"]]
    assert names == ["sex", "race", "age", "sex:race", "sex:age", "race:age", "sex:race:age"]
    both = groups_of(found, "sex:race")
    assert (both["reference"], both["reference_by"]) == ("M:White", "named_parts")
    assert both["intersection_of"] == ["sex", "race"]
    # Age has no named reference group, so neither have its intersections.
    assert groups_of(found, "sex:age")["reference_by"] == "highest_selection_rate"
    hired = rows["hired"] == "hired"
    every = groups_of(found, "sex:race:age")["groups"]
    for group, values in every.items():
        sex, race, age = group.split(":")
        of = (rows["sex"] == sex) & (rows["race"] == race) & ((rows["age"] < 40) == (age == "age<40"))
        assert (values["rows"], values["selected"]) == (of.sum(), (of & hired).sum())
    found = audit(fairfront, *command, "--reference", "sex:race=F:White")
    assert groups_of(found, "sex:race")["reference_by"] == "named"


def test_rows_are_matched(fairfront, applicants, tmp_path):
    path, rows = applicants
    expected = audit(fairfront, ":score", path, "--threshold", 0.6, *BY_SEX)
    rest = ["--threshold", 0.6, *BY_SEX]
    rows[["score"]].to_csv(tmp_path / "alone.csv", index=False)
    rows[["id", "age", "score"]].to_csv(tmp_path / "same.csv", index=False)
    shuffled = rows[["id", "score"]].sample(frac=1, random_state=3)
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    more = pd.concat([shuffled, pd.DataFrame({"id": ["new"], "score": [0.5]})])
    more.to_parquet(tmp_path / "more.parquet")
    bare = rows.drop(columns="score")
    bare.to_csv(tmp_path / "bare.csv", index=False)
    to = tmp_path / "bare.csv"

    found = audit(fairfront, f"{tmp_path / 'alone.csv'}:score", to, *rest)
    assert found["attributes"] == expected["attributes"]
    assert found["table"]["matched_by"] == "position" and found["table"]["agreeing_columns"] == []
    assert "could not be checked" in found["messages"][0]["message"]
    found = audit(fairfront, f"{tmp_path / 'same.csv'}:score", to, *rest)
    assert found["table"]["agreeing_columns"] == ["id", "age"]
    for name in ("shuffled.csv", "more.parquet"):
        found = audit(fairfront, f"{tmp_path / name}:score", to, *rest, "--key", "id")
        assert found["attributes"] == expected["attributes"]
        assert found["table"]["matched_by"] == "key" and found["table"]["key"] == "id"
    assert "1 score without a row" in found["messages"][0]["message"]
    # A file can contain both, and rows can come from standard input.
    found = audit(fairfront, f"{path}:score", path, *rest)
    assert found["table"]["matched_by"] == "same_row" and found["attributes"] == expected["attributes"]
    found = audit(fairfront, ":score", "-", *rest, stdin=path.read_bytes())
    assert found["attributes"] == expected["attributes"]

    def error(name, *more):
        return fairfront.error("audit", f"{tmp_path / name}:score", to, *rest, *more)

    wrong = error("shuffled.csv")
    assert "row 1" in wrong and "the rows do not match" in wrong and "--key" in wrong
    rows[["score"]][:-1].to_csv(tmp_path / "short.csv", index=False)
    assert "short.csv has 1,599 rows, but bare.csv has 1,600" in error("short.csv")
    assert "does not occur in short2.csv" in (shuffled[:-1].to_csv(tmp_path / "short2.csv", index=False), error("short2.csv", "--key", "id"))[1]
    twice = pd.concat([shuffled, shuffled[:1]])
    twice.to_csv(tmp_path / "twice.csv", index=False)
    assert "occurs twice" in error("twice.csv", "--key", "id")
    assert '"code"' in error("same.csv", "--key", "code")
    # A difference that rounding explains is none.
    bare.assign(age=bare["age"] + 1e-9)[["age"]].assign(score=rows["score"]).to_csv(tmp_path / "rounded.csv", index=False)
    found = audit(fairfront, f"{tmp_path / 'rounded.csv'}:score", to, *rest)
    assert found["table"]["agreeing_columns"] == ["age"]


def hand_made(folder):
    """A table small enough to be counted by hand: 200 applicants, 3 of them of a rare category."""
    counts = {
        # (sex, race): (applicants, selected)
        ("Female", "White"): (50, 20),
        ("Male", "White"): (60, 30),
        ("Female", "Black"): (40, 10),
        ("Male", "Black"): (37, 18),
        ("Female", "Two or more"): (1, 1),
        ("Male", "Two or more"): (2, 0),
        (None, "White"): (6, 3),
        ("Female", None): (4, 2),
    }
    records, score = [], 0
    for (sex, race), (applicants, selected) in counts.items():
        for k in range(applicants):
            score += 1
            # Distinct scores; the selected ones are above all others.
            value = 1000 + score if k < selected else score
            records.append((sex, race, "yes" if k < selected else "no", value))
    rows = pd.DataFrame(records, columns=["sex", "race", "invited", "points"])
    rows.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv", rows


LAW = ["--format", "nyc-ll144", "--sex", "sex", "--race", "race", "--date", "2026-03-31"]
STATED = ["--source", "Applications of 2025", "--distribution-date", "2026-04-15"]


def test_tables_of_local_law_144_by_hand(fairfront, tmp_path):
    path, _ = hand_made(tmp_path)
    found = audit(fairfront, ":invited", path, *LAW, *STATED)
    law = found["local_law_144"]
    assert law["date"] == "2026-03-31" and law["source"] == "Applications of 2025"
    assert law["distribution_date"] == "2026-04-15" and law["rate"] == "selection_rate"
    assert law["individuals"] == 200 and law["unknown"] == 10 and "median" not in law
    assert [table["unknown"] for table in law["tables"]] == [6, 4, 10]
    assert [table["title"] for table in law["tables"]] == [
        "Sex categories",
        "Race/ethnicity categories",
        "Intersectional categories",
    ]

    def shown(table):
        return {
            name: (c["applicants"], c["selected"], c["rate"], c["impact_ratio"], c["left_out"])
            for name, c in table["categories"].items()
        }

    sex, race, both = map(shown, law["tables"])
    # 20 + 10 + 1 + 2 of 95 women, and 30 + 18 of 99 men, are selected.
    assert sex["Male"] == (99, 48, 48 / 99, 1.0, False)
    assert sex["Female"][:3] == (95, 33, 33 / 95)
    close(sex["Female"][3], (33 / 95) / (48 / 99))
    # 3 of 196 applicants of known race are less than 2%.
    assert race["Two or more"] == (3, 1, 1 / 3, None, True)
    assert race["White"] == (116, 53, 53 / 116, 1.0, False)
    close(race["Black"][3], (28 / 77) / (53 / 116))
    assert both["White:Male"][3] == 1.0 and both["Two or more:Female"][3:] == (None, True)
    close(both["Black:Female"][3], (10 / 40) / (30 / 60))
    assert law["tables"][2]["highest"] == "White:Male"
    assert "5-301(d)" in law["justification"]
    own = audit(fairfront, ":invited", path, *LAW, *STATED, "--justification", "Too few.")
    assert own["local_law_144"]["justification"] == "Too few."
    assert found["messages"] == []


def test_scoring_rates_of_local_law_144(fairfront, tmp_path):
    path, rows = hand_made(tmp_path)
    law = audit(fairfront, ":points", path, *LAW, *STATED, "--scoring")["local_law_144"]
    median = rows["points"].median()
    assert law["rate"] == "scoring_rate" and law["median"] == median
    above = rows["points"] > median
    rates = above.groupby(rows["sex"]).mean()
    categories = law["tables"][0]["categories"]
    for group in ("Female", "Male"):
        close(categories[group]["rate"], rates[group])
        close(categories[group]["impact_ratio"], rates[group] / rates.max())
    # Applicants of unknown category count for the median.
    assert above.sum() == 100


def test_errors_and_warnings_of_local_law_144(fairfront, tmp_path):
    path, _ = hand_made(tmp_path)
    error = fairfront.error
    plain = ["audit", ":invited", path]
    assert "not a date" in error(*plain, *LAW[:-1], "2026-02-29", code=2)
    assert "not a date" in error(*plain, *LAW, "--distribution-date", "March 2026", code=2)
    no_race = ["--format", "nyc-ll144", "--sensitive", "sex"]
    assert "--race" in error(*plain, *no_race, code=2)
    assert "must be different" in error(*plain, *no_race, "--race", "sex", code=2)
    assert "weights" in error(*plain, *LAW, "--weight", "points", code=2)
    assert "--scoring" in fairfront.run(*plain, *BY_SEX, "--scoring").stderr.decode()
    done = fairfront.run(*plain, *LAW[:-2], "--json")
    assert "--date" in done.stderr.decode() and "distribution date" in done.stderr.decode()
    today = json.loads(done.stdout)["local_law_144"]["date"]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(f"{today}T00:00Z")).days) <= 1
    # Columns with the usual names are found.
    found = audit(fairfront, ":invited", path, *BY_BOTH, "--format", "nyc-ll144", "--date", "2026-03-31")
    assert [t["attributes"] for t in found["local_law_144"]["tables"]] == [["sex"], ["race"], ["race", "sex"]]


BROKEN = {
    "no column": ([":points", "ROWS", "--threshold", "1"], 'no column "points"'),
    "text scores": ([":hired", "ROWS", "--threshold", "1"], "not a number"),
    "no threshold": ([":score", "ROWS"], "--threshold T"),
    "no such decision": ([":hired", "ROWS", "--selected", "yes"], '"hired", "rejected"'),
    "no decision named": ([":hired", "ROWS"], "--selected VALUE"),
    "no such group": ([":score", "ROWS", "--threshold", ".5", "--reference", "sex=Male"], 'has no group "Male"'),
}
WRONG = {
    "no such attribute": (["--reference", "race=White"], 'no sensitive attribute "race"'),
    "no group": (["--reference", "sex"], "such as race=White"),
    "two references": (["--reference", "sex=F", "--reference", "sex=M"], "set twice"),
    "confidence": (["--confidence", "95"], "between 0 and 1"),
    "share": (["--min-share", "some"], "such as 2%"),
    "too large a share": (["--min-share", "60%"], "less than 50%"),
    "both": (["--selected", "1"], "cannot be combined"),
    "output": (["-o", "audit.pdf"], ".html, .md or .json"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_inputs(fairfront, applicants, name):
    args, message = BROKEN[name]
    args = [applicants[0] if arg == "ROWS" else arg for arg in args]
    assert message in fairfront.error("audit", *args, *BY_SEX)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage(fairfront, applicants, name):
    args, message = WRONG[name]
    command = ["audit", ":score", applicants[0], "--threshold", 0.5, *BY_SEX, *args]
    assert message in fairfront.error(*command, code=2)


def test_broken_files(fairfront, applicants, tmp_path):
    path, rows = applicants
    error = fairfront.error

    def written(name, frame):
        frame.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    rest = ["--threshold", 0.5, *BY_SEX]
    missing = rows.copy()
    missing.loc[6, "score"] = np.nan
    found = error("audit", ":score", written("missing.csv", missing), *rest)
    assert "missing.csv, row 7" in found and "the score is missing" in found
    missing.loc[6, "hired"] = None
    written("missing.csv", missing)
    found = error("audit", ":hired", tmp_path / "missing.csv", "--selected", "hired", *BY_SEX)
    assert "row 7" in found and "the decision is missing" in found
    missing.loc[8, "w"] = -1
    written("missing.csv", missing.assign(score=0.5))
    found = error("audit", ":score", tmp_path / "missing.csv", *rest, "--weight", "w")
    assert "row 9" in found and "weight" in found
    assert "no rows" in error("audit", ":score", written("empty.csv", rows[:0]), *rest)
    (tmp_path / "nothing.csv").write_text("")
    assert "nothing.csv" in error("audit", ":score", tmp_path / "nothing.csv", *rest)
    assert "one group" in error("audit", ":score", written("one.csv", rows[rows["sex"] == "F"]), *rest)
    assert "no such file" in error("audit", f"{tmp_path / 'none.csv'}:score", path, *rest)
    assert "no such file" in error("audit", tmp_path / "model.json", path, *rest)
    assert "add the column" in error("audit", path, path, *rest, code=2)
    assert "sensitive" in error("audit", ":score", path, "--threshold", 0.5, code=2)
    assert "is an input" in error("audit", f"{tmp_path / 'x.json'}:score", path, *rest, "-o", (tmp_path / "x.json").write_text("{}") and tmp_path / "x.json", "--force", code=2)
    (tmp_path / "page.html").write_text("mine")
    assert "already exists" in error("audit", ":score", path, *rest, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    # Numbers other than 0 and 1 can be codes of decisions.
    coded = rows.assign(code=np.where(rows["hired"] == "hired", 2, 1))
    found = audit(fairfront, ":code", written("coded.csv", coded), "--selected", "2", *BY_SEX)
    assert found["overall"]["selected"] == (rows["hired"] == "hired").sum()
    # A model that predicts a number decides nothing.
    fairfront("fit", "demo(rows=2000)", "--target", "income", "--numeric", "--out", tmp_path / "run", "--quiet", "--models", 5)
    fairfront.model(tmp_path / "run", 1, tmp_path / "number.json")
    assert "does not decide" in error("audit", tmp_path / "number.json", path, code=2)


def test_extreme_rates(fairfront, tmp_path):
    rows = pd.DataFrame({"g": ["a"] * 40 + ["b"] * 60 + ["c"] * 50, "d": [0] * 40 + [1] * 60 + [0] * 25 + [1] * 25})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    command = [":d", tmp_path / "rows.csv", "--sensitive", "g"]
    groups = groups_of(audit(fairfront, *command), "g")["groups"]
    none = groups["a"]["compared"]
    assert none["adverse_impact_ratio"] == 0 and none["four_fifths"] == "below"
    assert none["odds_ratio"] is None or none["odds_ratio"] == 0
    # The reference group has a rate of 0, so the ratio is undefined; difference and test are not.
    groups = groups_of(audit(fairfront, *command, "--reference", "g=a"), "g")["groups"]
    undefined = groups["b"]["compared"]
    assert undefined["adverse_impact_ratio"] is None and undefined["four_fifths"] is None
    assert undefined["selection_rate_difference"] == 1 and undefined["p_value"] < 1e-20
    text = fairfront("audit", *command, "--reference", "g=a").decode()
    assert "undefined" in text


def paths(source):
    """The steps of a path such as attributes[0].groups["F"].rows."""
    for word, index, key in re.findall(r'([a-z_0-9]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]', source):
        yield word or (int(index) if index else json.loads(key))


def test_every_number_of_the_page_has_a_source(fairfront, applicants, tmp_path):
    path, _ = applicants
    command = ["audit", ":score", path, "--threshold", 0.6, *BY_BOTH, *GOOD]
    law = ["--format", "nyc-ll144", "--date", "2026-01-31"]
    fairfront(*command, *law, "-o", tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["audit.html", "audit.json", "audit.md"]
    found = json.loads((tmp_path / "audit.json").read_text())
    assert found == audit(fairfront, *command[1:], *law)
    text = (tmp_path / "audit.md").read_text()
    sources = dict(re.findall(r"^\[\^(\d+)\]: `(.*)`$", text, re.MULTILINE))
    values = {}
    for number, source in sources.items():
        file, _, entry = source.partition(": ")
        assert file == "audit.json"
        value = found
        for step in paths(entry):
            value = value[step]
        values[number] = value
    rows = re.findall(r"^\| (F|M) \| ([\d,]+)\[\^(\d+)\] \| ([\d.]+)% \| ([\d,]+) \| ([\d.]+)% \|", text, re.MULTILINE)
    assert len(rows) == 2
    for group, n, source, share, selected, rate in rows:
        value = values[source]
        assert value == groups_of(found, "sex")["groups"][group]
        assert int(n.replace(",", "")) == value["rows"]
        assert int(selected.replace(",", "")) == value["selected"]
        assert float(share) == pytest.approx(100 * value["share"], abs=0.051)
        assert float(rate) == pytest.approx(100 * value["selection_rate"], abs=0.051)
    page = (tmp_path / "audit.html").read_text()
    shown = re.findall(r'<sup><a href="#source-(\d+)"', page)
    assert set(shown) == set(sources)
    # The same command gives the same bytes.
    again = tmp_path / "again"
    again.mkdir()
    fairfront(*command, *law, "-o", again)
    for file in ("audit.html", "audit.md", "audit.json"):
        assert (again / file).read_bytes() == (tmp_path / file).read_bytes()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        try:
            browser = p.chromium.launch(executable_path=BROWSER, args=QUIET)
        except playwright.Error:
            absent("chromium cannot be started")
        yield browser
        browser.close()


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("kind", ["scores", "law"])
def test_the_page_in_a_browser(fairfront, applicants, browser, tmp_path, kind, size):
    path, _ = applicants
    command = ["audit", ":score", path, "--threshold", 0.6, *BY_BOTH, *GOOD]
    law = ["--format", "nyc-ll144", "--date", "2026-01-31", "--source", "<b>2025</b>"]
    fairfront(*command, *(law if kind == "law" else []), "-o", tmp_path / "audit.html")
    viewport = DESKTOP if size == "desktop" else PHONE
    context = browser.new_context(viewport=viewport)
    page = context.new_page()
    problems, requests = [], []
    page.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("request", lambda r: requests.append(r.url))
    page.goto((tmp_path / "audit.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.locator("figure svg").count() == 3
    assert page.locator("b").count() == 0
    tables = page.locator("caption").all_inner_texts()
    assert ("Intersectional categories" in tables) == (kind == "law")
    assert "Selection rates by race" in tables and len(requests) == 1
    page.locator("sup a").first.click()
    assert page.url.endswith("#source-1")
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    assert problems == []
    if not AXE.is_file():
        absent("axe-core is not installed; run npm ci in crates/fairfront-report/web")
    # The policy of the page forbids scripts of its own, which evaluation does not need.
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")
    assert [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found["violations"]] == []
    context.close()


def test_tables_fit_narrow_terminals(fairfront, applicants):
    path, _ = applicants
    text = fairfront("audit", ":score", path, "--threshold", 0.6, *BY_BOTH, *GOOD).decode()
    assert "Sensitive attribute: sex" in text and "Intersection: sex:race" in text
    assert "unknown group" in text and "left out of ratios" in text
    lines = io.StringIO(text).read().splitlines()
    assert any(line.strip().startswith("M") and "reference" in line for line in lines)
    assert "screening figures" in lines[-1]
