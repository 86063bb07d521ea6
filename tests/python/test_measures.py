"""Fronts judged by measures: models kept, moved thresholds, quality, groups.

The tests recompute everything from exported rows and stored parameters.
"""

import json
import re

import fairlearn.metrics as fl
import fairlearn.reductions
import moocore
import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.special import rel_entr
from sklearn.linear_model import LogisticRegression

from definitions import DIFFERENCES, UNKNOWN, column, objective, smooth_range
from fitted import EXACT, LOANS, SPLITS, Run, dominated, near, scores

DEMO = "demo(rows=3000)"
ALL = ["--sensitive", "sex", "--sensitive", "race", "--sensitive", "sex:race"]
# Enough for models that differ.
FEW = ["--solver", "weighted", "--set", "sums=16", "--set", "max-steps=4", "--quiet"]

# Measures


def measured(measure, split, phi):
    """Return a measure of models from their scores, one row per model.

    Without weights, it is exact to the last bit: counts are exact, and other operations have the order of fairfront's.
    """
    chosen = (phi >= 0).astype(float)
    positive = split.y > 0
    if measure == "log_loss":
        return np.logaddexp(0, -split.y * phi) @ split.w / split.w.sum()
    if costs := re.fullmatch(r"error_rate\(fp=(.+),fn=(.+)\)", measure):
        fp, fn = map(float, costs.groups())
        wrong, missed = chosen @ (split.w * ~positive), (1 - chosen) @ (split.w * positive)
        return (fp * wrong + fn * missed) / split.w.sum()
    if measure == "1 - accuracy":
        right = chosen @ (split.w * positive) + (1 - chosen) @ (split.w * ~positive)
        return 1 - right / split.w.sum()
    kind, attribute = measure.rstrip(")").split("(")
    groups = split.groups[attribute]
    of_group = np.array([groups == g for g in sorted(set(groups[split.known(attribute)]))])
    true = [of_group * (split.w * positive), of_group * (split.w * ~positive)]
    positives, negatives = (weights.sum(1) for weights in true)
    missed, wrong = (1 - chosen) @ true[0].T, chosen @ true[1].T
    selected = (positives - missed + wrong) / (positives + negatives)
    if kind == "mutual_information":
        shares = (positives + negatives) / (positives + negatives).sum()
        overall = (selected @ shares)[:, None]
        return (rel_entr(selected, overall) + rel_entr(1 - selected, 1 - overall)) @ shares
    rates = {
        "demographic_parity_difference": [selected],
        "equal_opportunity_difference": [missed / positives],
        "false_positive_rate_difference": [wrong / negatives],
        "equalized_odds_difference": [missed / positives, wrong / negatives],
    }
    return np.max([np.ptp(r, axis=1) for r in rates[kind]], axis=0)


def in_measures(measures, split, phi):
    return np.column_stack([measured(m, split, phi) for m in measures])


def table_of_measures(run, split):
    phi = np.stack(run.table["params"]) @ split.z.T
    return in_measures(run.info["judged"]["measures"], split, phi)


def is_unweighted(run):
    return (run.splits["train"].w == 1).all()


# Fronts


MATCHING = {
    "error_rate": "1 - accuracy",
    "log_loss": "log_loss",
    "demographic_parity": "demographic_parity_difference",
    "equal_opportunity": "equal_opportunity_difference",
    "predictive_equality": "false_positive_rate_difference",
    "equalized_odds": "equalized_odds_difference",
    "mutual_information": "mutual_information",
    "score_covariance": "demographic_parity_difference",
}
IN_MEASURES = ["--front-in", "measures"]
FRONTS = {
    # name: spec, objectives, flags
    "default": ([DEMO], [], []),
    "weights": (["loans", *LOANS], [], []),
    "unknown groups": (["loans", *LOANS, *UNKNOWN], [], []),
    "intersection": ([DEMO, "--sensitive", "sex:race"], [], []),
    "costs": ([DEMO], ["error_rate(fp=1, fn=5)", "demographic_parity(sex)"], []),
    "weighted costs": (
        ["loans", *LOANS],
        ["error_rate(fp=2.5, fn=0.5)", "equalized_odds(sex)"],
        [],
    ),
    "odds": ([DEMO], ["error_rate", "equalized_odds(race)"], []),
    "positives": ([DEMO], ["error_rate", "equal_opportunity(sex)"], []),
    "negatives": ([DEMO], ["error_rate", "predictive_equality(race, spread=variance)"], []),
    "information": ([DEMO, "--seed", "3"], ["error_rate", "mutual_information(race)"], []),
    "four": (
        [DEMO, *ALL],
        [
            "error_rate",
            "demographic_parity(race)",
            "equalized_odds(sex)",
            "mutual_information(sex)",
        ],
        [],
    ),
    "loss and rates": ([DEMO], ["log_loss", "demographic_parity(sex)"], []),
    "both kinds": ([DEMO], ["error_rate", "score_covariance(sex)"], []),
    "covariance": ([DEMO], ["log_loss", "score_covariance(sex)"], IN_MEASURES),
    "covariances": (
        [DEMO],
        ["log_loss", "score_covariance(race)", "score_covariance(sex)"],
        [*IN_MEASURES, "--models", "300"],
    ),
    "no validation": ([DEMO, "--split", "70/0/30"], [], []),
    "no test": ([DEMO, "--split", "80/20/0"], [], []),
}


class Front(Run):
    def __init__(self, fairfront, folder, spec, objectives, flags):
        super().__init__(fairfront, folder, spec, objectives, ["--quiet", *flags])
        self.chosen_by = self.joined("train", "validation")


@pytest.fixture(scope="module")
def fitted(request, fairfront, tmp_path_factory):
    """Function that fits fronts, each only once."""
    done = {}

    def fit(name, *more):
        if (name, more) not in done:
            (source, *spec), objectives, flags = FRONTS[name]
            source = request.getfixturevalue("loans") if source == "loans" else source
            folder = tmp_path_factory.mktemp("fronts") / "run"
            flags = [*flags, *more]
            done[name, more] = Front(fairfront, folder, [source, *spec], objectives, flags)
        return done[name, more]

    return fit


def rounded(run, values):
    """Return values without the rounding of sums of weights."""
    return values if is_unweighted(run) else values.round(12)


@pytest.mark.parametrize("name", FRONTS)
def test_no_model_dominates_another_in_measures(fitted, name):
    run = fitted(name)
    judged = run.info["judged"]
    assert judged["front_in"] == "measures"
    kinds = [re.fullmatch(r"(\w+)(\(.*\))?", name).groups("") for name in run.info["objectives"]]
    # An error rate with costs is its own measure.
    kept = lambda kind, inside: kind + inside if inside.startswith("(fp=") else MATCHING[kind] + inside
    assert judged["measures"] == [kept(*kind) for kind in kinds]
    values = rounded(run, table_of_measures(run, run.chosen_by))
    assert len(values) == run.info["models"] > 3
    assert not dominated(values).any()
    assert len(np.unique(values, axis=0)) == len(values)
    assert judged["in_measures"] >= len(values) and judged["candidates"] >= judged["in_measures"]
    most = run.info["solver_settings"]["models"]
    assert len(values) == min(judged["in_measures"], most)


@pytest.mark.parametrize("name", FRONTS)
def test_the_number_of_nondominated_models_on_test_rows(fitted, name):
    run = fitted(name)
    if name == "no test":
        assert "on_test" not in run.info["judged"]
        return
    values = rounded(run, table_of_measures(run, run.splits["test"]))
    # Models with equal values do not dominate each other.
    expected = moocore.is_nondominated(values, keep_weakly=True).sum()
    assert run.info["judged"]["on_test"] == expected == (~dominated(values)).sum()


@pytest.mark.parametrize("name", ["default", "weights", "odds", "information"])
def test_fronts_in_objectives(fitted, name):
    run, in_measures = fitted(name, "--front-in", "objectives"), fitted(name)
    judged, other = run.info["judged"], in_measures.info["judged"]
    assert judged["front_in"] == "objectives"
    # The candidates are the same, but judged differently.
    for key in ("measures", "candidates", "moved", "in_objectives", "in_measures"):
        assert judged[key] == other[key], key
    assert len(run.table) == min(judged["in_objectives"], run.info["solver_settings"]["models"])
    columns = [f"objective.{name}" for name in run.info["objectives"]]
    values = run.table[columns].to_numpy(copy=True)
    assert not dominated(values).any()
    # This also holds if a difference of 0.0001 between rates counts as 0.
    if name != "information":
        fair = values[:, 1:]
        fair[fair <= smooth_range([0, 1e-4], 50.0)] = 0.0
        assert not dominated(values).any()
    test = run.table[[f"test.{name}" for name in columns]].to_numpy()
    assert judged["on_test"] == moocore.is_nondominated(test, keep_weakly=False).sum()
    # A model that is better in measures is not always better in objectives.
    assert dominated(table_of_measures(run, run.chosen_by)).any()


@pytest.mark.parametrize("name", ["costs", "weighted costs"])
def test_costs_are_a_column_of_every_split(fitted, fairfront, name):
    run = fitted(name)
    measure, fair = run.info["judged"]["measures"]
    for split in SPLITS:
        rows = run.splits[split]
        phi = np.stack(run.table["params"]) @ rows.z.T
        expected = measured(measure, rows, phi)
        np.testing.assert_allclose(run.table[f"{split}.{measure}"], expected, rtol=EXACT)
    # The model makes more errors of the cheaper kind.
    best = run.table["params"].iloc[run.table[f"train.{measure}"].argmin()]
    rows = run.splits["train"]
    chosen = rows.z @ best >= 0
    false = lambda of: rows.w[of].sum()
    wrong, missed = false(chosen & (rows.y < 0)), false(~chosen & (rows.y > 0))
    assert wrong > missed if name == "costs" else missed > wrong
    # With the name of the column, and with a space in it.
    bound = float(run.table[f"validation.{fair}"].median())
    meets = run.table[run.table[f"validation.{fair}"] <= bound]
    best = meets[f"validation.{measure}"].min()
    for written in (measure, measure.replace(",", ", ")):
        flags = ["--require", f"{fair} <= {bound!r}", "--confidence", "none", "--best", written, "--json"]
        found = json.loads(fairfront("select", run.folder, *flags))
        assert run.table[f"validation.{measure}"].iloc[found["model_id"] - 1] == best


def test_fronts_of_covariances_are_judged_by_covariances_by_default(fitted, fairfront, tmp_path):
    spec, objectives, _ = FRONTS["covariance"]
    run = Front(fairfront, tmp_path / "run", spec, objectives, ["--models", "200"])
    assert run.info["judged"]["front_in"] == "objectives" and len(run.table) == 200
    assert run.info["judged"]["measures"] == [] and "in_measures" not in run.info["judged"]
    # The models kept are among these, because thresholds do not move if the loss depends on them.
    asked = Front(
        fairfront, tmp_path / "asked", spec, objectives, [*IN_MEASURES, "--models", "200"]
    )
    assert asked.info["judged"]["candidates"] == 200 and asked.info["judged"]["moved"] == 0
    assert {tuple(p) for p in asked.table["params"]} < {tuple(p) for p in run.table["params"]}


@pytest.mark.parametrize("objective", ["group_risk(sex)", "worst_group_loss(race)"])
def test_objectives_without_a_measure_are_rejected(fairfront, tmp_path, objective):
    flags = ["--objective", "error_rate", "--objective", objective, "--out", tmp_path / "run"]
    done = fairfront.run("fit", DEMO, *flags, *IN_MEASURES)
    message = done.stderr.decode()
    assert done.returncode == 2 and objective in message and "no measure" in message
    assert not (tmp_path / "run").exists()
    # By default, the objectives judge the front.
    fairfront("fit", DEMO, *flags, *FEW)
    judged = json.loads((tmp_path / "run/run.json").read_text())["judged"]
    assert judged["front_in"] == "objectives" and "in_measures" not in judged


# Thresholds


class Thresholds:
    """All thresholds of a model that select some but not all rows, with their measures."""

    def __init__(self, measures, split, params):
        phi = split.z @ params
        some = np.unique(phi)
        # Closer values may be the same score up to rounding.
        apart = np.diff(some) > 1e-12
        self.values = ((some[:-1] + some[1:]) / 2)[apart]
        self.table = in_measures(measures, split, phi - self.values[:, None])
        own = in_measures(measures, split, phi[None])
        self.better = (self.table <= own).all(1) & (self.table < own).any(1)

    def best(self):
        """Yield for each measure the thresholds that are best for it; the other measures break ties."""
        table, better = self.table[self.better], self.values[self.better]
        for i in range(table.shape[1]):
            keys = np.column_stack([table[:, i], table])
            yield better[(keys == min(map(tuple, keys))).all(1)]


SMALL = "demo(rows=900)"
SMALL_FRONTS = {
    # With these seeds, training rows alone could improve some models if there are validation rows.
    "sex": (["--sensitive", "sex", "--seed", "2"], []),
    "race": (["--sensitive", "race", "--seed", "3"], []),
    "odds": (["--sensitive", "sex"], ["error_rate", "equalized_odds(sex)"]),
}


@pytest.mark.parametrize("name", SMALL_FRONTS)
def test_no_threshold_improves_a_model(fairfront, tmp_path, name):
    """Without validation rows, models are judged on the rows on which their thresholds are moved."""
    sensitive, objectives = SMALL_FRONTS[name]
    spec = [SMALL, "--split", "70/0/30", *sensitive]
    run = Front(fairfront, tmp_path / "run", spec, objectives, [])
    judged = run.info["judged"]
    assert judged["front_in"] == "measures" and judged["moved"] > 0
    for params in run.table["params"]:
        assert not Thresholds(judged["measures"], run.splits["train"], params).better.any()


@pytest.mark.parametrize("name", SMALL_FRONTS)
def test_better_thresholds_are_judged_too(fairfront, tmp_path, name):
    """If a kept model could be improved on training rows, no threshold that is best there dominates it on training and
    validation rows together."""
    sensitive, objectives = SMALL_FRONTS[name]
    run = Front(fairfront, tmp_path / "run", [SMALL, *sensitive], objectives, [])
    measures = run.info["judged"]["measures"]
    for params in run.table["params"]:
        thresholds = Thresholds(measures, run.splits["train"], params)
        if not thresholds.better.any():
            continue
        phi = run.chosen_by.z @ params
        own = in_measures(measures, run.chosen_by, phi[None])
        for best in thresholds.best():
            moved = in_measures(measures, run.chosen_by, phi - best[:, None])
            # Only one of several thresholds that are equal on training rows is tried.
            assert not ((moved <= own).all(1) & (moved < own).any(1)).all()


def test_thresholds_of_other_models_can_be_improved(fairfront, tmp_path):
    """The tests above would therefore fail if thresholds were not moved."""
    objectives = ["log_loss", "score_covariance(sex)"]
    run = Front(fairfront, tmp_path / "run", [SMALL], objectives, ["--models", "20"])
    measures = ["1 - accuracy", "demographic_parity_difference(sex)"]
    better = [Thresholds(measures, run.splits["train"], p).better for p in run.table["params"]]
    assert sum(b.any() for b in better) > 5


# Threads


RATES_BY = {
    "default": [],
    "pf-smg": ["--solver", "pf-smg", "--set", "max-steps=8", "--models", "60"],
    "polish": ["--solver", "weighted", "--polish"],
}


@pytest.mark.parametrize("name", RATES_BY)
def test_threads_change_nothing(fairfront, tmp_path, name):
    found = []
    for threads in (1, 2):
        out = tmp_path / str(threads)
        flags = [*RATES_BY[name], "--seed", "5", "--threads", threads, "--quiet"]
        fairfront("fit", DEMO, "--sensitive", "race", *flags, "--out", out)
        found.append((out / "front.parquet").read_bytes())
    assert found[0] == found[1]
    assert len(pq.read_table(out / "front.parquet")) >= 3
    info = json.loads((out / "run.json").read_text())
    assert ("polish" in info) == (name == "polish")


# Quality


@pytest.fixture(scope="module")
def gender(data, fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gender") / "run"
    return Front(fairfront, folder, ["adult:sex"], [], [])


def test_better_than_a_grid_of_reweighted_models(gender):
    train = gender.splits["train"]
    logistic = LogisticRegression(
        C=1 / (1e-4 * len(train.y)), solver="newton-cholesky", max_iter=1_000
    )
    constraint = fairlearn.reductions.DemographicParity()
    search = fairlearn.reductions.GridSearch(logistic, constraint, grid_size=7)
    labels = (train.y > 0).astype(int)
    search.fit(train.z[:, :-1], labels, sensitive_features=train.groups["sex"])
    test, measures = gender.splits["test"], gender.info["judged"]["measures"]
    chosen = [2.0 * model.predict(test.z[:, :-1]) - 1 for model in search.predictors_]
    assert_better(gender, in_measures(measures, test, np.array(chosen)))


def test_better_than_the_front_of_covariances(gender, fairfront, tmp_path):
    objectives = ["log_loss", "score_covariance(sex)"]
    other = Front(fairfront, tmp_path / "run", ["adult:sex"], objectives, ["--models", "200"])
    phi = np.stack(other.table["params"]) @ other.splits["test"].z.T
    measures = gender.info["judged"]["measures"]
    assert_better(gender, in_measures(measures, other.splits["test"], phi))


def assert_better(run, others):
    """The front has a larger hypervolume on test rows than the nondominated ones of the other models."""
    test = run.splits["test"]
    ours = table_of_measures(run, test)
    front = np.vstack([ours, others])
    front = front[~dominated(front)]
    low, high = front.min(0), front.max(0)
    share = (test.y > 0).mean()
    unmitigated = run.info["unmitigated"]["values"]["test.demographic_parity_difference(sex)"]
    references = {
        "tight": low + 1.1 * (high - low),
        "loose": [min(share, 1 - share), unmitigated],
    }
    for name, reference in references.items():
        volume = lambda values: moocore.hypervolume(values, ref=reference)
        assert volume(ours) > volume(others) > 0, name


def test_the_unmitigated_model_has_the_stored_values(gender):
    params, seen = list(gender.models(2))[-1]
    for name, split in gender.splits.items():
        prefix = "" if name == "train" else f"{name}."
        for text in ("error_rate", "demographic_parity(sex)"):
            expected = objective(text, split, params)
            assert seen[prefix + column(text)] == pytest.approx(expected, rel=1e-9), text
        phi, decision = scores(split, params)
        difference = fl.demographic_parity_difference(
            split.y > 0, decision, sensitive_features=split.groups["sex"]
        )
        near(seen[f"{name}.demographic_parity_difference(sex)"], difference, "difference")
        near(seen[f"{name}.accuracy"], (decision == (split.y > 0)).mean(), "accuracy")


# Groups


@pytest.fixture(scope="module")
def table(fairfront):
    """Rows that tests may change; the split stays the same."""
    return fairfront.export(DEMO)


READ = [
    *("--target", "approved", "--positive", "yes", "--split", "column:split"),
    *("--missing", "savings=mean", "--missing", "occupation=category"),
]


def written(rows, path):
    rows.to_csv(path, index=False)
    return path


def test_names_of_groups_do_not_matter(fairfront, tmp_path, table):
    names = {
        "sex": {"Female": "z", "Male": "a"},
        "race": {"Asian": "u", "Black": "s", "Hispanic": "t", "Other": "q", "White": "r"},
    }
    runs = []
    for i, rows in enumerate([table, table.replace(names)]):
        source = written(rows, tmp_path / f"{i}.csv")
        objectives = [
            *["error_rate", "demographic_parity(race)", "equalized_odds(sex)"],
            *["mutual_information(race)", "group_risk(race, risk=cvar)", "worst_group_loss(sex)"],
        ]
        sensitive = ["--sensitive", "sex", "--sensitive", "race"]
        runs.append(Run(fairfront, tmp_path / str(i), [source, *READ, *sensitive], objectives, FEW))
    new_name = lambda word: next((n[word] for n in names.values() if word in n), word)
    for run, other in (runs, runs[::-1]):
        back = {new: old for n in names.values() for old, new in n.items()}
        called = new_name if run is runs[0] else lambda word: back.get(word, word)
        # Both runs have the same rows in the same order, with different names.
        for name in SPLITS:
            np.testing.assert_array_equal(run.splits[name].z, other.splits[name].z)
            for a in run.attributes:
                assert [called(g) for g in run.splits[name].groups[a]] == list(
                    other.splits[name].groups[a]
                )
        # The values that one run stores for its models are those on the rows of the other run.
        for params, seen in run.models():
            for name in SPLITS:
                prefix = "" if name == "train" else f"{name}."
                for text in run.objectives:
                    expected = objective(text, other.splits[name], params)
                    value = seen[prefix + column(text)]
                    assert value == pytest.approx(expected, rel=1e-9, abs=1e-13), text
                phi = (other.splits[name].z @ params)[None]
                for attribute in run.attributes:
                    for measure in DIFFERENCES:
                        measure = f"{measure}({attribute})"
                        expected = measured(measure, other.splits[name], phi)[0]
                        near(seen[f"{name}.{measure}"], expected, measure, EXACT)
        # The columns of groups have the names of that run.
        renamed = lambda c: re.sub(r"=(.*?)\)(\.|$)", lambda m: f"={called(m[1])}){m[2]}", c)
        assert {renamed(c) for c in run.table} == set(other.table)


def warnings(info):
    return [n["message"] for n in info["messages"] if n["severity"] == "warning"]


def test_a_warning_names_small_groups(fairfront, tmp_path, table):
    rows = table.copy()
    rows["race"] = np.where(rows["race"] == "White", "White", "all others")
    train = np.flatnonzero(rows["split"] == "train")
    rows.iloc[train[:40], rows.columns.get_loc("race")] = "Martian"
    source = written(rows, tmp_path / "rows.csv")
    spec = [source, *READ, "--sensitive", "race"]
    said = warnings(Front(fairfront, tmp_path / "run", spec, [], []).info)
    (few,) = [message for message in said if "few training rows" in message]
    assert "demographic_parity(race)" in few and "Martian 40" in few
    assert "White" not in few and "all others" not in few
    # 1.96 standard deviations of a rate of 1/2.
    assert f"±{1.96 * 0.5 / 40**0.5:.2f}" in few
    rows["race"] = rows["race"].replace("Martian", "White")
    spec[0] = written(rows, tmp_path / "large.csv")
    said = warnings(Front(fairfront, tmp_path / "large", spec, [], []).info)
    assert not any("few training rows" in message for message in said)


def test_a_group_without_positives(fairfront, tmp_path, table):
    rows = table.copy()
    others = (rows["race"] == "Other") & (rows["approved"] == "yes")
    assert others.sum() > 20
    rows.loc[others, "approved"] = "no"
    spec = [written(rows, tmp_path / "rows.csv"), *READ, "--sensitive", "race"]
    objectives = ["error_rate", "equal_opportunity(race)"]
    run = Front(fairfront, tmp_path / "run", spec, objectives, [])
    judged = run.info["judged"]
    assert judged["front_in"] == "objectives" and "in_measures" not in judged
    (message,) = [m for m in warnings(run.info) if "is undefined on these rows" in m]
    assert "equal_opportunity_difference(race)" in message and "objectives instead" in message
    assert run.table["train.equal_opportunity_difference(race)"].isna().all()
    values = run.table[[column(text) for text in objectives]].to_numpy()
    assert len(values) > 3 and not dominated(values).any()
    # The other groups are compared.
    for params, seen in run.models():
        for text in objectives:
            expected = objective(text, run.splits["train"], params)
            assert seen[column(text)] == pytest.approx(expected, rel=1e-9, abs=1e-13)
    # Other measures do not need positives.
    run = Front(fairfront, tmp_path / "other", spec, [], [])
    assert run.info["judged"]["front_in"] == "measures"


def test_rows_of_unknown_group_count_only_in_the_error_rate(fitted):
    """The tests above compare the numbers; this one checks that such rows make a difference."""
    run = fitted("unknown groups")
    train = run.splits["train"]
    known = train.known("race")
    assert 0.05 < (~known).mean() < 0.15
    seen = run.info["unmitigated"]["values"]
    params = np.array(run.info["unmitigated"]["params"])
    for kept, equal in ((slice(None), (True, True)), (known, (False, True))):
        some = type(train).__new__(type(train))
        some.z, some.y, some.w = train.z[kept], train.y[kept], train.w[kept]
        some.groups = {a: g[kept] for a, g in train.groups.items()}
        some.penalty = train.penalty
        for text, same in zip(("error_rate", "demographic_parity(race)"), equal, strict=True):
            expected = objective(text, some, params)
            assert (abs(seen[column(text)] - expected) < 1e-12) == same, text
