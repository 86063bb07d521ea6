"""Groups of which only probabilities are known: measures, objectives and intervals compared with numpy, equal bytes for
certain groups, broken inputs."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from definitions import smooth_range

ROWS = 3000
# Sums of up to 6,000 terms in another order.
EXACT = 1e-10
RACE = ["--sensitive-probability", "race=White:p_white,Black:p_black,Asian:p_asian"]
RACES = {"Asian": "p_asian", "Black": "p_black", "White": "p_white"}
TARGET = ["--target", "approved", "--positive", "yes", "--min-group", 0]
COLUMN = ["--split", "column:part", "--weight", "w", *TARGET]
FEW = ["--solver", "weighted", "--set", "sums=8", "--set", "max-steps=4", "--quiet"]


def people(draw, n):
    """Applicants with known groups, probabilities of them, weights and splits."""
    race = draw.choice(3, n, p=[0.2, 0.3, 0.5])
    woman = draw.random(n) < 0.5
    p = draw.dirichlet([0.6, 0.6, 0.6], n) + 1.5 * np.eye(3)[race]
    p = (p / p.sum(axis=1, keepdims=True)).round(9)
    p[:, 2] = (1 - p[:, 0] - p[:, 1]).round(9)
    q = np.where(woman, draw.beta(6, 2, n), draw.beta(2, 6, n)).round(6)
    income = draw.normal(50 + 5 * (race == 2), 10, n)
    debt = draw.gamma(2, 5, n)
    yes = 0.08 * (income - 50) - 0.05 * (debt - 10) + 0.3 * (race == 2) + draw.logistic(0, 0.8, n) > 0
    parts = np.array(["train", "validation", "test"])[draw.choice(3, n, p=[0.5, 0.2, 0.3])]
    return pd.DataFrame(
        {
            "income": income.round(3),
            "debt": debt.round(3),
            "approved": np.where(yes, "yes", "no"),
            "race": np.array(["Asian", "Black", "White"])[race],
            "sex": np.where(woman, "f", "m"),
            "p_asian": p[:, 0],
            "p_black": p[:, 1],
            "p_white": p[:, 2],
            "q_f": q,
            "q_m": (1 - q).round(6),
            "w": draw.integers(1, 4, n),
            "part": parts,
        }
    )


@pytest.fixture(scope="module")
def rows():
    return people(np.random.default_rng(5), ROWS)


@pytest.fixture(scope="module")
def run(fairfront, rows, tmp_path_factory):
    """A run with estimated races, some of which are missing or incomplete, and known sexes."""
    folder = tmp_path_factory.mktemp("estimated")
    changed = rows.drop(columns=["race", "q_f", "q_m"])
    changed.loc[::17, "p_black"] = np.nan
    changed.loc[5::19, ["p_asian", "p_black", "p_white"]] *= 0.5
    changed.to_csv(folder / "rows.csv", index=False)
    objectives = ["error_rate", "demographic_parity(race)", "equal_opportunity(sex)"]
    objectives = [word for o in objectives for word in ("--objective", o)]
    args = [folder / "rows.csv", *COLUMN, *RACE, "--sensitive", "sex", *objectives, *FEW]
    fairfront("fit", *args, "--out", folder / "run")
    return folder / "run", changed


def scores(folder, table, params):
    """Return the scores of rows, from their raw columns."""
    rules = json.loads((folder / "encoding.json").read_text())["numeric"]
    assert [rule["column"] for rule in rules] == ["income", "debt"], "probabilities are not features"
    z = [(table[r["column"]].to_numpy() - r["shift"]) / r["factor"] for r in rules]
    return np.column_stack([*z, np.ones(len(table))]) @ params


def shares(table):
    """Return the probabilities of the races, 0 if one is missing."""
    p = table[list(RACES.values())].to_numpy().copy()
    p[np.isnan(p).any(axis=1)] = 0
    return p


def rates(selected, positive, weights):
    """Return the rates of one group whose rows have these weights."""

    def mean(of, among):
        return (weights * of * among).sum() / (weights * among).sum()

    return {
        "selection_rate": mean(selected, np.ones(len(selected))),
        "false_negative_rate": mean(~selected, positive),
        "false_positive_rate": mean(selected, ~positive),
        "accuracy": mean(selected == positive, np.ones(len(selected))),
    }


def test_measures_are_weighted_by_probabilities(run):
    folder, table = run
    front = pq.read_table(folder / "front.parquet").to_pandas()
    rows = {part: table[table["part"] == part] for part in ["train", "validation", "test"]}
    for _, model in front.iloc[:: max(1, len(front) // 5)].iterrows():
        for part, own in rows.items():
            selected = scores(folder, own, np.array(model["params"])) >= 0
            positive, w = (own["approved"] == "yes").to_numpy(), own["w"].to_numpy()
            assert model[f"{part}.accuracy"] == pytest.approx(np.average(selected == positive, weights=w), rel=EXACT)
            weights = {g: w * shares(own)[:, i] for i, g in enumerate(RACES)}
            found = {g: rates(selected, positive, of) for g, of in weights.items()}
            for group, expected in found.items():
                assert model[f"{part}.count(race={group})"] == pytest.approx(weights[group].sum(), rel=EXACT)
                for name, value in expected.items():
                    assert model[f"{part}.{name}(race={group})"] == pytest.approx(value, rel=EXACT), name
            chosen = [of["selection_rate"] for of in found.values()]
            difference = model[f"{part}.demographic_parity_difference(race)"]
            assert difference == pytest.approx(max(chosen) - min(chosen), rel=1e-8)
            of_sex = [np.average(selected[own["sex"] == s], weights=w[own["sex"] == s]) for s in "fm"]
            difference = model[f"{part}.demographic_parity_difference(sex)"]
            assert difference == pytest.approx(abs(of_sex[0] - of_sex[1]), rel=1e-8)


def test_objectives_are_weighted_by_probabilities(run):
    folder, table = run
    front = pq.read_table(folder / "front.parquet").to_pandas()
    info = json.loads((folder / "run.json").read_text())
    definition = next(d for d in info["definitions"] if d.startswith("demographic_parity"))
    settings = dict(s.strip().split("=") for s in definition[definition.index("(") + 1 : -1].split(",") if "=" in s)
    own = table[table["part"] == "train"]
    weights = own["w"].to_numpy()[:, None] * shares(own)
    params = np.array(front.iloc[len(front) // 2]["params"])
    phi = scores(folder, own, params)
    soft = 1 / (1 + np.exp(-phi / float(settings["tau"])))
    means = (weights * soft[:, None]).sum(axis=0) / weights.sum(axis=0)
    sizes = weights.sum(axis=0)
    expected = smooth_range(means, float(settings["beta"])) if "beta" in settings else np.ptp(means)
    found = front.iloc[len(front) // 2]["objective.demographic_parity(race)"]
    assert sizes.min() > 0
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_run_says_that_groups_are_estimated(fairfront, run):
    folder, table = run
    info = json.loads((folder / "run.json").read_text())
    [warning] = [d["message"] for d in info["messages"] if "are estimated" in d["message"]]
    n_missing = table["p_black"].isna().sum()
    n_below = (table[list(RACES.values())].sum(axis=1, skipna=False) < 0.9).sum()
    assert f"because a probability is missing: {n_missing};" in warning
    assert f"counts as an unknown group: {n_below}" in warning
    counts = table["part"].value_counts()
    # Rows are people, not the copies that the weights need.
    assert info["rows"] | {"certify": 0} == {**{k: int(counts[k]) for k in counts.index}, "certify": 0}
    train = table[table["part"] == "train"]
    for i, group in enumerate(RACES):
        assert info["groups"]["race"][group]["rows"] == round(shares(train)[:, i].sum())
    assert "groups of race are estimated" in fairfront("show", folder).decode()
    assert "groups of sex" not in fairfront("show", folder).decode()
    fairfront("verify", folder)


@pytest.mark.parametrize("family", ["linear", "trees"])
def test_certain_groups_give_the_same_bytes_as_known_ones(fairfront, rows, tmp_path, family):
    certain = rows.copy()
    for race, column in RACES.items():
        certain[column] = (rows["race"] == race).astype(float)
    certain.drop(columns=["race", "sex", "q_f", "q_m"]).to_csv(tmp_path / "certain.csv", index=False)
    rows[["income", "debt", "approved", "race", "w", "part"]].to_csv(tmp_path / "known.csv", index=False)
    more = [*COLUMN, *FEW, "--family", family, "--out"] if family == "linear" else [*COLUMN, "--quiet", "--family", family, "--out"]
    fairfront("fit", tmp_path / "certain.csv", *RACE, *more, tmp_path / "a")
    fairfront("fit", tmp_path / "known.csv", "--sensitive", "race", *more, tmp_path / "b")
    for name in ["front.parquet", "tallies.json"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_results_do_not_depend_on_threads(fairfront, rows, tmp_path):
    rows.drop(columns=["race", "sex"]).to_csv(tmp_path / "rows.csv", index=False)
    sex = ["--sensitive-probability", "sex=f:q_f,m:q_m"]
    for threads in "12":
        args = [tmp_path / "rows.csv", *COLUMN, *RACE, *sex, *FEW, "--out", tmp_path / threads]
        fairfront("fit", *args, RAYON_NUM_THREADS=threads)
    for name in ["front.parquet", "tallies.json"]:
        one, two = ((tmp_path / threads / name).read_bytes() for threads in "12")
        assert one == two, name


def test_probabilities_of_several_attributes_multiply(fairfront, rows, tmp_path):
    """Marginal sums by group do not depend on the other attribute."""
    rows.drop(columns=["race", "sex"]).to_csv(tmp_path / "rows.csv", index=False)
    sex = ["--sensitive-probability", "sex=f:q_f,m:q_m"]
    fairfront("fit", tmp_path / "rows.csv", *COLUMN, *RACE, *sex, *FEW, "--out", tmp_path / "run")
    front = pq.read_table(tmp_path / "run" / "front.parquet").to_pandas()
    own = rows[rows["part"] == "test"]
    model = front.iloc[-1]
    selected = scores(tmp_path / "run", own, np.array(model["params"])) >= 0
    for column, name in [("q_f", "sex=f"), ("q_m", "sex=m"), ("p_black", "race=Black")]:
        expected = np.average(selected, weights=own["w"] * own[column])
        assert model[f"test.selection_rate({name})"] == pytest.approx(expected, rel=1e-6)


def test_intervals_redraw_people(fairfront, rows, tmp_path):
    """Half-widths equal those of a bootstrap of people, which would be far too narrow for independent copies."""
    table = rows.drop(columns=["race", "sex", "p_asian", "p_black", "p_white"])
    table.to_csv(tmp_path / "rows.csv", index=False)
    sex = ["--sensitive-probability", "sex=f:q_f,m:q_m"]
    fairfront("fit", tmp_path / "rows.csv", *COLUMN, *sex, *FEW, "--out", tmp_path / "run")
    folder = tmp_path / "run"
    front = pq.read_table(folder / "front.parquet").to_pandas()
    info = json.loads((folder / "run.json").read_text())
    own = rows[rows["part"] == "test"]
    q, w = own[["q_f", "q_m"]].to_numpy(), own["w"].to_numpy()
    model = front.iloc[len(front) // 2]
    base = scores(folder, own, np.array(info["unmitigated"]["params"])) >= 0
    selected = scores(folder, own, np.array(model["params"])) >= 0
    draw = np.random.default_rng(1)
    counts = draw.poisson(1.0, (4000, len(own)))

    def differences(d):
        means = [(counts @ (w * q[:, k] * d)) / (counts @ (w * q[:, k])) for k in range(2)]
        return means[0] - means[1]

    def reach(name):
        ends = [model[f"test.{name}.{end}"] for end in ("low", "high")]
        return ends, (ends[1] - ends[0]) / 2

    # The formula of the row-wise influence.
    weights = w[:, None] * q
    means = (weights * selected[:, None]).sum(axis=0) / weights.sum(axis=0)
    influence = weights * (selected[:, None] - means) / weights.sum(axis=0)
    error = np.sqrt(((influence[:, 0] - influence[:, 1]) ** 2).sum())
    redrawn = differences(selected)
    # 4,000 redraws give the standard error to within 1.1%.
    assert redrawn.std() == pytest.approx(error, rel=0.04)
    estimate = means[0] - means[1]
    ends, half = reach("demographic_parity_difference(sex)")
    assert ends[1] == pytest.approx(abs(estimate) + 1.96 * error, rel=0.06)
    # Copies are correlated: as independent rows, they would have a much larger error here.
    independent = np.sqrt((influence**2).sum())
    assert abs(independent / error - 1) > 0.15
    for k, group in enumerate("fm"):
        own_error = np.sqrt((influence[:, k] ** 2).sum())
        _, half = reach(f"selection_rate(sex={group})")
        assert half == pytest.approx(1.96 * own_error, rel=0.06)
    # A rate of all people has the error of people, not of copies.
    correct = selected == (own["approved"] == "yes").to_numpy()
    accuracy = np.average(correct, weights=w)
    _, half = reach("accuracy")
    assert half == pytest.approx(1.96 * np.sqrt((w**2 * (correct - accuracy) ** 2).sum()) / w.sum(), rel=0.06)
    # The change relative to the unmitigated model is paired.
    change = np.abs(redrawn) - np.abs(differences(base))
    ends = [model[f"test.demographic_parity_difference(sex).change_{end}"] for end in ("low", "high")]
    assert (ends[1] - ends[0]) / 2 == pytest.approx(1.96 * change.std(), rel=0.1)


def test_nothing_is_certified_for_true_groups(fairfront, run, tmp_path):
    folder, _ = run
    requirement = ["--require", "demographic_parity_difference(race) <= 0.2"]
    message = fairfront.error("select", folder, *requirement, code=2)
    assert 'groups of "race" are only estimated' in message and "--confidence none" in message
    message = fairfront.error("select", folder, "--require", "selection_rate(race=Black) >= 0.1", code=2)
    assert "only estimated" in message
    args = [folder.parent / "rows.csv", *COLUMN, *RACE, "--sensitive", "sex", *FEW, *requirement]
    assert "only estimated" in fairfront.error("fit", *args, "--out", tmp_path / "run", code=2)
    shown = fairfront("select", folder, *requirement, "--confidence", "none").decode()
    assert "not certified: demographic_parity_difference(race)" in shown
    assert "groups of race are estimated" in shown


def test_audits_are_weighted_by_probabilities(fairfront, run, tmp_path):
    folder, table = run
    fairfront.model(folder, 2, tmp_path / "model.json")
    table.to_csv(tmp_path / "new.csv", index=False)
    args = [tmp_path / "model.json", tmp_path / "new.csv", "--audit", "--weight", "w"]
    audit = json.loads(fairfront("predict", *args, "--json", "--output", tmp_path / "out.csv"))["audit"]
    found = pd.read_csv(tmp_path / "out.csv")
    [race] = [a for a in audit["attributes"] if a["name"] == "race"]
    assert race["estimated"] is True
    assert audit["unknown"]["group"]["race"] == table["p_black"].isna().sum()
    selected, positive = found["decision"].astype(bool).to_numpy(), (table["approved"] == "yes").to_numpy()
    for i, group in enumerate(RACES):
        expected = rates(selected, positive, table["w"].to_numpy() * shares(table)[:, i])
        for name, value in expected.items():
            assert race["groups"][group][name] == pytest.approx(value, rel=EXACT), name
    table.assign(p_black=2.0).to_csv(tmp_path / "new.csv", index=False)
    message = fairfront.error("predict", *args, "--force", "--output", tmp_path / "out.csv")
    assert "row 1" in message and '"p_black"' in message and "is 2" in message


def test_a_toml_file_and_an_inspection(fairfront, rows, tmp_path):
    rows.drop(columns=["race"]).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "own.toml").write_text(
        'files = "rows.csv"\ntarget = "approved"\npositive = "yes"\n'
        'sensitive-probability = ["race=p_white,p_black,p_asian"]\n'
    )
    found = fairfront.inspect("--config", tmp_path / "own.toml")
    groups = found["sensitive"]["race"]
    assert set(groups) == {"p_white", "p_black", "p_asian"}
    positive = rows["approved"] == "yes"
    for column, group in groups.items():
        p = rows[column]
        assert group["count"] == round(p.sum()) and group["positives"] == round(p[positive].sum())
        assert group["share"] == pytest.approx(p.mean(), rel=1e-8)
        assert group["base_rate"] == pytest.approx(np.average(positive, weights=p), rel=1e-8)
    roles = {c["name"]: c["role"] for c in found["columns"]}
    assert roles["p_white"] == roles["p_asian"] == "sensitive"


def test_classes_count_in_several_groups(fairfront, rows, tmp_path):
    table = rows.drop(columns=["race", "sex", "q_f", "q_m"])
    table["approved"] = np.where(table["income"] + table["debt"] > 68, "high", table["approved"])
    table.to_csv(tmp_path / "rows.csv", index=False)
    args = ["--target", "approved", "--split", "column:part", "--weight", "w", "--min-group", 0]
    fairfront("fit", tmp_path / "rows.csv", *args, *RACE, *FEW, "--out", tmp_path / "run")
    front = pq.read_table(tmp_path / "run" / "front.parquet").to_pandas()
    own = table[table["part"] == "test"]
    fairfront.model(tmp_path / "run", 1, tmp_path / "model.json")
    own.to_csv(tmp_path / "test.csv", index=False)
    fairfront("predict", tmp_path / "model.json", tmp_path / "test.csv", "--output", tmp_path / "out.csv")
    decided = pd.read_csv(tmp_path / "out.csv")["decision"].to_numpy()
    for group, column in RACES.items():
        expected = np.average(decided == "high", weights=own["w"] * own[column])
        found = front.iloc[0][f"test.selection_rate[high](race={group})"]
        assert found == pytest.approx(expected, rel=1e-6)
    fairfront("verify", tmp_path / "run")


BROKEN = {
    "one column": (["--sensitive-probability", "race=p_white"], 2, "expected from 2 to 20 groups"),
    "absent": (["--sensitive-probability", "race=p_white,p_green"], 1, "p_green"),
    "column twice": (["--sensitive-probability", "race=A:p_white,B:p_white"], 2, "listed twice"),
    "group twice": (["--sensitive-probability", "race=A:p_white,A:p_black"], 2, 'group "A" is listed twice'),
    "set twice": ([*RACE, *RACE], 2, "set twice"),
    "known too": ([*RACE, "--sensitive", "race"], 2, "listed twice"),
    "no equals": (["--sensitive-probability", "race"], 2, "expected '='"),
    "name of a column": (["--sensitive-probability", "sex=p_white,p_black"], 2, "has a column with this name"),
    "intersection": ([*RACE, "--sensitive", "race:sex"], 2, "already the name of a sensitive column"),
    "pooled": ([*RACE, "--pool-groups", 50], 2, "add up the columns"),
    "balanced": ([*RACE, "--balance", "race"], 2, "cannot be balanced"),
    "bins": ([*RACE, "--bins", "p_white=0.5"], 2, "bins apply only to sensitive columns"),
    "feature": ([*RACE, "--feature", "income,p_white"], 2, "--use-sensitive"),
    "dropped": ([*RACE, "--drop", "p_white"], 2, "cannot be both"),
    "a type": ([*RACE, "--type", "p_white=categorical"], 2, "so it must be numeric"),
    "a number": ([*RACE, "--numeric", "--target", "income"], 2, "work only with decisions"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_settings_are_errors(fairfront, rows, tmp_path, case):
    flags, code, expected = BROKEN[case]
    rows.drop(columns=["race"]).to_csv(tmp_path / "rows.csv", index=False)
    target = [] if "--target" in flags else TARGET
    message = fairfront.error("fit", tmp_path / "rows.csv", *target, *flags, "--out", tmp_path / "run", code=code)
    assert expected in message, message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"p_white": -0.1}, 'the probability of the group "White" is -0.1; use a number from 0 to 1'),
        ({"p_black": 1.5}, 'the probability of the group "Black" is 1.5'),
        ({"p_black": 0.9, "p_white": 0.9, "p_asian": 0.0}, "sum to 1.8 in this row"),
        ({"p_asian": "inf"}, '"inf" is not a number'),
    ],
)
def test_wrong_probabilities_are_errors(fairfront, rows, tmp_path, values, expected):
    table = rows.drop(columns=["race"]).astype(object)
    for column, value in values.items():
        table.loc[6, column] = value
    table.to_csv(tmp_path / "rows.csv", index=False)
    message = fairfront.error("fit", tmp_path / "rows.csv", *TARGET, *RACE, "--out", tmp_path / "run")
    assert "rows.csv" in message and "row 7" in message and expected in message, message


def test_other_wrong_columns_are_errors(fairfront, rows, tmp_path):
    table = rows.drop(columns=["race"])
    path, out = tmp_path / "rows.csv", tmp_path / "run"
    fit = ["fit", path, *TARGET, *RACE, "--out", out]
    table.assign(p_white="often").to_csv(path, index=False)
    assert '"p_white"' in fairfront.error(*fit)
    table.assign(p_white="").to_csv(path, index=False)
    assert '"p_white": all values of this column are missing' in fairfront.error(*fit)
    alternating = table.copy()
    alternating.loc[::2, "p_white"] = np.nan
    alternating.loc[1::2, "p_black"] = np.nan
    alternating.to_csv(path, index=False)
    assert "every row lacks a probability" in fairfront.error(*fit)


def test_work_that_needs_known_groups_is_refused(fairfront, rows, tmp_path):
    rows.drop(columns=["race"]).to_csv(tmp_path / "rows.csv", index=False)
    rest = [tmp_path / "rows.csv", *TARGET, *RACE]
    message = fairfront.error("pack", *rest, "--out", tmp_path / "rows.ffb", code=2)
    assert "a block file needs known groups" in message
    message = fairfront.error("stream", tmp_path / "state", *rest, code=2)
    assert "a stream needs known groups" in message
    fairfront("fit", *rest, *FEW, "--out", tmp_path / "run")
    fairfront.model(tmp_path / "run", 1, tmp_path / "model.json")
    scores = ["--baseline", f"{tmp_path / 'rows.csv'}:q_f", "--output", tmp_path / "lda"]
    message = fairfront.error("lda", tmp_path / "run", *scores, code=2)
    assert "needs known groups" in message
    message = fairfront.error("audit", tmp_path / "model.json", tmp_path / "rows.csv", code=2)
    assert "an audit needs known groups" in message
    message = fairfront.error("data", "export", *rest, "--encoded", "--output", tmp_path / "out.csv", code=2)
    assert "needs known groups" in message
