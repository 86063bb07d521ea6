"""Measures against a named reference group, compared with pandas, scipy, scikit-learn and fairlearn."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from fairlearn.metrics import MetricFrame, selection_rate
from fitted import Run
from scipy import optimize, stats
from sklearn.metrics import roc_auc_score

RACES = ["demo(rows=12000)", "--sensitive", "sex", "--sensitive", "race", "--split", "40/10/30/20"]
NAMED = ["--reference", "race=White", "--reference", "sex=Male"]
KINDS = ["adverse_impact_ratio", "shortfall", "odds_ratio", "standardized_mean_difference"]


@pytest.fixture(scope="module")
def demo(fairfront, tmp_path_factory):
    """A run with a reference group of two attributes."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    return Run(fairfront, folder, [*RACES, *NAMED], ["error_rate", "demographic_parity(race)"])


def on(run, split):
    """Yield position, rows, decisions and probabilities of a few models."""
    rows = run.rows[run.rows["split"] == split]
    for model in np.unique(np.linspace(0, len(run.table) - 1, 5).astype(int)):
        params = np.array(run.table["params"][model])
        scores = rows[run.features].to_numpy(float) @ params[:-1] + params[-1]
        slope, intercept = (run.table[name][model] for name in ("calibration.slope", "calibration.intercept"))
        yield model, rows, scores, 1 / (1 + np.exp(-(slope * scores + intercept)))


def value(run, split, model, name):
    found = run.table[f"{split}.{name}"][model]
    return None if pd.isna(found) else found


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_columns_are_those_of_pandas_and_fairlearn(demo, split):
    for model, rows, scores, probabilities in on(demo, split):
        for attribute, reference in [("race", "White"), ("sex", "Male")]:
            chosen = pd.Series(scores >= 0, index=rows.index).astype(float)
            rates = MetricFrame(
                metrics=selection_rate, y_true=rows["label"] > 0, y_pred=chosen, sensitive_features=rows[attribute]
            ).by_group
            others = [group for group in rates.index if group != reference]
            ratios = rates / rates[reference]
            counts = rows.groupby(attribute).size()
            odds = rates / (1 - rates)
            means = pd.Series(probabilities, index=rows.index).groupby(rows[attribute]).mean()
            expected = {
                "adverse_impact_ratio": ratios,
                "shortfall": counts * (rates[reference] - rates),
                "odds_ratio": odds / odds[reference],
                "standardized_mean_difference": (means - means[reference]) / probabilities.std(),
            }
            for kind, values in expected.items():
                for group in others:
                    found = value(demo, split, model, f"{kind}({attribute}={group})")
                    assert found == pytest.approx(values[group], rel=1e-9, abs=1e-9), (kind, group)
                assert f"{split}.{kind}({attribute}={reference})" not in demo.table
            own = {kind: values[others] for kind, values in expected.items()}
            worst = {
                "adverse_impact_ratio": own["adverse_impact_ratio"].min(),
                "shortfall": own["shortfall"].clip(lower=0).sum(),
                "odds_ratio": own["odds_ratio"].min(),
                "standardized_mean_difference": max(own["standardized_mean_difference"], key=abs),
            }
            for kind, expected_value in worst.items():
                found = value(demo, split, model, f"{kind}({attribute})")
                assert found == pytest.approx(expected_value, rel=1e-9, abs=1e-9), kind


def test_distances_of_scores_are_those_of_scipy(demo):
    for model, rows, scores, _ in on(demo, "test"):
        positive = (rows["label"] > 0).to_numpy()
        expected = stats.ks_2samp(scores[positive], scores[~positive]).statistic
        assert value(demo, "test", model, "ks") == pytest.approx(expected, abs=1e-12)
        assert value(demo, "test", model, "auc") == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)


def test_weights_count(fairfront, tmp_path):
    random = np.random.default_rng(1)
    group = random.choice(["a", "b", "c"], 3000)
    x = random.normal(size=3000)
    table = pd.DataFrame({
        "x": x, "g": group, "w": random.uniform(0.5, 2, 3000),
        "y": (x + (group == "a") * 0.7 + random.normal(size=3000) > 0.3).astype(int),
    })  # fmt: skip
    table.to_csv(tmp_path / "rows.csv", index=False)
    spec = [tmp_path / "rows.csv", "--target", "y", "--positive", "1", "--sensitive", "g", "--weight", "w"]
    run = Run(fairfront, tmp_path / "run", [*spec, "--reference", "g=a"])
    for model, rows, scores, probabilities in on(run, "test"):
        w, groups = rows["weight"].to_numpy(), rows["g"].to_numpy()
        rate = {g: np.float64(np.average(scores[groups == g] >= 0, weights=w[groups == g])) for g in "abc"}
        mean = {g: np.average(probabilities[groups == g], weights=w[groups == g]) for g in "abc"}
        middle = np.average(probabilities, weights=w)
        deviation = np.sqrt(np.average((probabilities - middle) ** 2, weights=w))
        for g in "bc":
            near = {
                "adverse_impact_ratio": rate[g] / rate["a"],
                "shortfall": w[groups == g].sum() * (rate["a"] - rate[g]),
                "standardized_mean_difference": (mean[g] - mean["a"]) / deviation,
            }
            for kind, expected in near.items():
                found = value(run, "test", model, f"{kind}(g={g})")
                # Models may select nobody in the reference group.
                assert found is None if not np.isfinite(expected) else found == pytest.approx(expected, rel=1e-9)
        positive = rows["label"].to_numpy() > 0
        order = np.argsort(scores)
        shares = [np.cumsum(np.where(own, w, 0)[order]) / w[own].sum() for own in (positive, ~positive)]
        assert value(run, "test", model, "ks") == pytest.approx(abs(shares[0] - shares[1]).max(), abs=1e-12)


def test_predicted_numbers_have_standardized_differences(fairfront, tmp_path):
    random = np.random.default_rng(2)
    group = random.choice(["a", "b", "c"], 3000)
    x = random.normal(size=3000)
    table = pd.DataFrame({"x": x, "g": group, "y": 40 * x + 5 * (group == "a") + random.normal(size=3000)})
    table.to_csv(tmp_path / "rows.csv", index=False)
    run, scored = tmp_path / "run", tmp_path / "scored.csv"
    spec = [tmp_path / "rows.csv", "--target", "y", "--numeric", "--sensitive", "g", "--reference", "g=b"]
    fairfront("fit", *spec, "--split", "none", "--quiet", "--out", run)
    fairfront.model(run, 1, tmp_path / "model.json")
    fairfront("predict", tmp_path / "model.json", tmp_path / "rows.csv", "--output", scored)
    predictions = pd.read_csv(scored)["prediction"]
    front = pq.read_table(run / "front.parquet").to_pandas()
    means = predictions.groupby(group).mean()
    for g in "ac":
        expected = (means[g] - means["b"]) / predictions.std(ddof=0)
        found = front[f"train.standardized_mean_difference(g={g})"][0]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert not any("adverse_impact_ratio" in name for name in front)


def score_test(x, n, limit, odds):
    """Return the p-value of H: the ratio of rates (or odds) of a to b is at most the limit, by searches."""

    def rates(q):
        other = limit * q / (1 + q * (limit - 1)) if odds else limit * q
        return np.array([other, q])

    def likelihood(q):
        return -sum(stats.binom.logpmf(x[i], n[i], rates(q)[i]) for i in range(2))

    most = 1 if odds else min(1, 1 / limit)
    q = optimize.minimize_scalar(likelihood, bounds=(1e-9, most - 1e-9), method="bounded", options={"xatol": 1e-12}).x
    p, n = rates(q), np.array(n)
    if odds:
        variance = 1 / (1 / (n * p * (1 - p))).sum()
        return stats.norm.sf((x[0] - n[0] * p[0]) / np.sqrt(variance))
    error = np.sqrt(p[0] * (1 - p[0]) / n[0] + limit**2 * p[1] * (1 - p[1]) / n[1])
    return stats.norm.sf((x[0] / n[0] - limit * x[1] / n[1]) / error)


@pytest.mark.parametrize("kind, limit", [("adverse_impact_ratio", 0.7), ("odds_ratio", 0.6)])
@pytest.mark.parametrize("group", [None, "Black"])
def test_p_values_of_requirements_are_recomputed(fairfront, demo, kind, limit, group):
    inside = "race" if group is None else f"race={group}"
    said = json.loads(fairfront("select", demo.folder, "--require", f"{kind}({inside}) >= {limit}", "--json"))
    rows = demo.rows[demo.rows["split"] == "certify"]
    groups = rows["race"].to_numpy()
    others = sorted(set(groups) - {"White"}) if group is None else [group]
    assert said["test"]["tested"]
    for tested in said["test"]["tested"]:
        params = np.array(demo.table["params"][tested["model_id"] - 1])
        chosen = rows[demo.features].to_numpy(float) @ params[:-1] + params[-1] >= 0
        cell = {g: (chosen[groups == g].sum(), (groups == g).sum()) for g in [*others, "White"]}
        pairs = [tuple(zip(cell[g], cell["White"], strict=True)) for g in others]
        worst = max(score_test(x, n, limit, kind == "odds_ratio") for x, n in pairs)
        assert tested["p_value"] == pytest.approx(worst, rel=1e-4, abs=1e-12)


def test_one_group_has_both_limits(fairfront, demo):
    for kind in ("adverse_impact_ratio", "odds_ratio"):
        said = json.loads(fairfront("select", demo.folder, "--require", f"{kind}(race=Black) <= 1.4", "--json"))
        [first, *_] = said["test"]["tested"]
        rows = demo.rows[demo.rows["split"] == "certify"]
        params = np.array(demo.table["params"][first["model_id"] - 1])
        chosen = rows[demo.features].to_numpy(float) @ params[:-1] + params[-1] >= 0
        cells = [(chosen[rows["race"] == g].sum(), (rows["race"] == g).sum()) for g in ("White", "Black")]
        x, n = zip(*cells, strict=True)
        expected = score_test(x, n, 1 / 1.4, kind == "odds_ratio")
        assert first["p_value"] == pytest.approx(expected, rel=1e-4, abs=1e-12)
        said = fairfront.error("select", demo.folder, "--require", f"{kind}(race) <= 1.2", code=2)
        assert f"an upper limit on {kind}(race) cannot be certified; use >=" in said


def test_a_requirement_before_the_fit_is_certified(fairfront, tmp_path):
    run, model = tmp_path / "run", tmp_path / "model.json"
    requirement = "adverse_impact_ratio(race) >= 0.6"
    objective = ["--objective", "error_rate", "--objective", "demographic_parity(race)"]
    fairfront("fit", *RACES, *NAMED, *objective, "--quiet", "--out", run, "--require", requirement)
    info = json.loads((run / "run.json").read_text())
    assert info["certified"]["stated"] == "before" and info["certified"]["certified"]
    fairfront("select", run, "--require", requirement, "--model", model)
    [checked] = json.loads(model.read_text())["certificate"]["requirements"]
    assert checked["verdict"] == "certified"
    assert b"error" not in fairfront("verify", run)


def test_measures_choose_models_without_a_test(fairfront, demo):
    choose = ["select", demo.folder, "--confidence", "none", "--json"]
    said = json.loads(fairfront(*choose, "--require", "shortfall(race) <= 40", "--best", "auc"))
    table = demo.table
    meets = table["validation.shortfall(race)"] <= 40
    assert said["model_id"] - 1 == table.loc[meets, "validation.auc"].idxmax()
    for measure, best in [("adverse_impact_ratio(race)", "idxmax"), ("shortfall(race)", "idxmin"), ("ks", "idxmax")]:
        said = json.loads(fairfront("select", demo.folder, "--best", measure, "--json"))
        assert said["model_id"] - 1 == getattr(table[f"validation.{measure}"], best)(), measure
    for name in ("shortfall(race) <= 40", "auc >= 0.7", "ks >= 0.2", "standardized_mean_difference(race=Black) >= -0.5"):
        said = fairfront.error("select", demo.folder, "--require", name, code=2)
        assert "cannot be certified" in said and "--confidence none" in said, said
    said = fairfront.error("select", demo.folder, "--require", "air(race) >= 0.8", code=2)
    assert "air(race) is not a measure; write adverse_impact_ratio(race)" in said


def test_intervals_and_bands_contain_the_estimates(demo):
    for kind in ("adverse_impact_ratio", "odds_ratio"):
        for inside in ("race", "race=Black", "sex=Female"):
            name = f"test.{kind}({inside})"
            table = demo.table
            assert (table[f"{name}.low"] <= table[name]).all() and (table[name] <= table[f"{name}.high"]).all()
            assert (table[f"{name}.band_low"] <= table[f"{name}.low"]).all()
            assert (table[f"{name}.high"] <= table[f"{name}.band_high"]).all()
        # Against the logarithm of a ratio with its textbook standard error.
        rows = demo.rows[demo.rows["split"] == "test"]
        for model, _, scores, _ in on(demo, "test"):
            x = [(scores[rows["sex"] == g] >= 0).sum() for g in ("Female", "Male")]
            n = [(rows["sex"] == g).sum() for g in ("Female", "Male")]
            own = [1 / x[i] - 1 / n[i] if kind != "odds_ratio" else 1 / x[i] + 1 / (n[i] - x[i]) for i in range(2)]
            width = 2 * 1.96 * np.sqrt(sum(own))
            name = f"test.{kind}(sex=Female)"
            found = np.log(demo.table[f"{name}.high"][model] / demo.table[f"{name}.low"][model])
            assert found == pytest.approx(width, rel=0.08)


def test_audits_compare_with_the_reference_group(fairfront, demo, tmp_path):
    rows = tmp_path / "rows.csv"
    fairfront("data", "export", "demo(rows=3000, seed=5)", "--output", rows)
    fairfront.model(demo.folder, 3, tmp_path / "model.json")
    scored = tmp_path / "scored.csv"
    audit = ["predict", tmp_path / "model.json", rows, "--audit"]
    said = json.loads(fairfront(*audit, "--output", scored, "--json"))
    table, decisions = pd.read_csv(rows), pd.read_csv(scored)["decision"]
    race = next(a for a in said["audit"]["attributes"] if a["name"] == "race")
    reference = race["reference"]
    assert reference["group"] == "White" and "White" not in reference["others"]
    rates = {g: values["selection_rate"] for g, values in race["groups"].items()}
    for group, values in reference["others"].items():
        assert values["adverse_impact_ratio"] == pytest.approx(rates[group] / rates["White"])
        short = race["groups"][group]["count"] * (rates["White"] - rates[group])
        assert values["shortfall"] == pytest.approx(short)
    assert reference["adverse_impact_ratio"] == min(v["adverse_impact_ratio"] for v in reference["others"].values())
    assert len(table) == len(decisions)
    shown = fairfront(*audit, "--output", scored, "--force").decode()
    assert "compared with White" in shown and "adverse impact ratio" in shown


def test_five_races_of_adult(fairfront, tmp_path):
    fairfront("fit", "adult:race", "--reference", "race=White", "--quiet", "--models", 5, "--out", tmp_path / "run")
    front = pq.read_table(tmp_path / "run" / "front.parquet").to_pandas()
    groups = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other"]
    for split in ("train", "test"):
        rates = front[[f"{split}.selection_rate(race={g})" for g in groups]].to_numpy()
        ratios = rates / front[f"{split}.selection_rate(race=White)"].to_numpy()[:, None]
        found = front[[f"{split}.adverse_impact_ratio(race={g})" for g in groups]].to_numpy()
        assert found == pytest.approx(ratios)
        assert front[f"{split}.adverse_impact_ratio(race)"].to_numpy() == pytest.approx(ratios.min(1))
    assert b"error" not in fairfront("verify", tmp_path / "run")


def test_settings_can_be_in_a_file(fairfront, tmp_path):
    config = tmp_path / "fit.toml"
    config.write_text('files = "demo(rows=3000)"\nsensitive = ["race", "sex"]\nreference = ["race=White"]\n')
    run = tmp_path / "run"
    fairfront("fit", "--config", config, "--quiet", "--models", 3, "--out", run)
    info = json.loads((run / "run.json").read_text())
    assert info["spec"]["references"] == {"race": "White"}
    names = pq.read_schema(run / "front.parquet").names
    assert "test.shortfall(race)" in names and "test.shortfall(sex)" not in names
    # A flag overrides the file.
    fairfront("fit", "--config", config, "--reference", "sex=Male", "--quiet", "--models", 3, "--out", tmp_path / "sex")
    names = pq.read_schema(tmp_path / "sex" / "front.parquet").names
    assert "test.shortfall(race)" not in names and "test.shortfall(sex)" in names


def test_wrong_reference_groups_are_errors(fairfront, tmp_path, demo):
    def rejected(*flags):
        return fairfront.error("fit", "demo(rows=500)", "--sensitive", "race", *flags, "--out", tmp_path / "r", code=2)

    said = rejected("--reference", "race=Whit")
    assert '--reference race=Whit: the attribute has no group "Whit"; did you mean "White"?' in said
    assert 'no sensitive attribute "rce"; did you mean "race"?' in rejected("--reference", "rce=White")
    assert "no sensitive attribute" in rejected("--reference", "sex=Male")
    assert "set twice for race" in rejected("--reference", "race=White", "--reference", "race=Black")
    assert "--reference" in rejected("--reference", "race")
    rows = tmp_path / "rows.csv"
    pd.DataFrame({"y": list("abc") * 200, "g": list("st") * 300, "x": range(600)}).to_csv(rows, index=False)
    classes = [rows, "--target", "y", "--sensitive", "g", "--reference", "g=s", "--out", tmp_path / "r"]
    said = fairfront.error("fit", *classes, code=2)
    assert "--reference g=s: measures against a reference group need a binary target or a number" in said
    run = tmp_path / "none"
    fairfront("fit", "demo(rows=3000)", "--quiet", "--models", 3, "--out", run)
    names = pq.read_schema(run / "front.parquet").names
    assert not any(kind in name for kind in KINDS for name in names)
    for extra in ([], ["--confidence", "none"]):
        said = fairfront.error("select", run, "--require", "adverse_impact_ratio(sex) >= 0.8", *extra, code=2)
        assert "adverse_impact_ratio(sex) needs a reference group" in said
