"""Targets with more than two classes: measures, objectives and the unmitigated model compared with numpy and
scikit-learn, equal bytes, unusual tables and errors."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sklearn.metrics as sk
from definitions import UNKNOWN, smooth_max, smooth_range
from fitted import Run
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

ROWS = 1500
CLASSES = ["low", "mid", "high"]
ORDER = ["--order", ",".join(CLASSES)]
SEX, REGION = ["--sensitive", "sex"], ["--sensitive", "region"]
WEIGHTS = ["--weight", "w"]
FEW = ["--solver", "weighted", "--set", "sums=12", "--set", "max-steps=4", "--quiet"]
OBJECTIVES = [
    "error_rate",
    "demographic_parity(sex)",
    "demographic_parity(region, class=high)",
    "equal_opportunity(region)",
    "equal_opportunity(sex, given=mid, beta=20)",
    "equalized_odds(sex, tau=0.3, shrink=0.1)",
    "equalized_odds(region, given=high)",
]
LOSSES = [
    "log_loss",
    "loss_difference(sex)",
    "worst_group_loss(region, beta=5)",
    "group_risk(region)",
]
CASES = {
    "a set": ([], OBJECTIVES),
    "ordered": (ORDER, OBJECTIVES),
    "weighted": ([*ORDER, *WEIGHTS, *UNKNOWN], OBJECTIVES),
    "losses": ([*WEIGHTS, *UNKNOWN], LOSSES),
}


def grades(draw, n):
    """Grades that differ between two and four groups, weights, and missing values in features and in a region."""
    man = draw.random(n) < 0.55
    region = draw.choice(["east", "north", "south", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    score = draw.normal(50 + 4 * man, 10, n)
    hours = draw.gamma(3, 2, n)
    town = draw.choice(["large", "small", "none"], n)
    rank = 0.08 * score + 0.1 * hours + 0.4 * man + 0.5 * (region == "east") + draw.logistic(0, 0.6, n)
    return pd.DataFrame(
        {
            "grade": np.array(CLASSES)[np.digitize(rank, np.quantile(rank, [0.35, 0.75]))],
            "sex": np.where(man, "m", "f"),
            "region": np.where(draw.random(n) < 0.05, None, region),
            "score": np.where(draw.random(n) < 0.06, np.nan, score.round(1)),
            "hours": hours.round(1),
            "town": np.where(draw.random(n) < 0.04, None, town),
            "w": np.where(draw.random(n) < 0.02, 0, draw.gamma(2, 0.7, n)).round(3),
        }
    )


@pytest.fixture(scope="session")
def school(tmp_path_factory):
    path = tmp_path_factory.mktemp("school") / "school.csv"
    grades(np.random.default_rng(31), ROWS).to_csv(path, index=False)
    return path


class ClassRun(Run):
    """A run whose target has classes: labels are their positions."""

    def __init__(self, *args):
        super().__init__(*args)
        self.classes = self.info["meaning"]["target"]["classes"]["names"]
        self.ordered = self.info["meaning"]["target"]["classes"].get("ordered", False)
        for split in self.splits.values():
            split.y = np.array([self.classes.index(label) for label in split.y])

    def scores(self, split, params):
        """Return the score of each class; parameters are the coefficients of all classes, then the intercepts."""
        k = len(self.classes)
        coefficients = params[:-k].reshape(k, -1)
        return split.z[:, :-1] @ coefficients.T + params[-k:]


@pytest.fixture(scope="module", params=CASES)
def run(request, fairfront, school, tmp_path_factory):
    settings, objectives = CASES[request.param]
    drop = [] if "--weight" in settings else ["--drop", "w"]
    spec = [school, "--target", "grade", *SEX, *REGION, *settings, *drop]
    return ClassRun(fairfront, tmp_path_factory.mktemp("classes") / "run", spec, objectives, FEW)


# Objectives


def parsed(text):
    kind, _, inside = text.rstrip(")").partition("(")
    words = [word for word in inside.split(", ") if word]
    attribute = words.pop(0) if words else None
    return kind, attribute, dict(word.split("=") for word in words)


def column(text):
    kind, attribute, settings = parsed(text)
    named = [f"{name}={settings[name]}" for name in ("class", "given") if name in settings]
    inside = ",".join([*([attribute] if attribute else []), *named])
    return f"objective.{kind}({inside})" if inside else f"objective.{kind}"


def group_means(split, attribute, output, rows, shrink):
    """Return the mean of an output of each group, and the share of each group in these rows."""
    rows = rows & split.known(attribute) & (split.w > 0)
    overall = np.average(output[rows], weights=split.w[rows])
    groups = [rows & (split.groups[attribute] == g) for g in sorted(set(split.groups[attribute][rows]))]
    weight = np.array([split.w[group].sum() for group in groups])
    means = np.array([np.average(output[group], weights=split.w[group]) for group in groups])
    share = weight / split.w[split.known(attribute)].sum()
    return (share * means + shrink * overall) / (share + shrink), weight / weight.sum()


def objective(run, text, split, params):
    kind, attribute, settings = parsed(text)
    number = lambda name, default: float(settings.get(name, default))
    phi, k = run.scores(split, params), len(run.classes)
    coefficients = params[:-k]
    tau, beta, shrink = number("tau", 0.1), number("beta", 50), number("shrink", 0)
    loss = -log_softmax(phi, axis=1)[np.arange(len(phi)), split.y]
    if kind == "log_loss":
        return np.average(loss, weights=split.w) + split.penalty / 2 * coefficients @ coefficients
    p = softmax(phi / tau, axis=1)
    if kind == "error_rate":
        wrong = 1 - p[np.arange(len(p)), split.y]
        return np.average(wrong, weights=split.w) + split.penalty / (20 * tau**2) * coefficients @ coefficients
    everyone = np.ones(len(p), bool)
    if kind in ("loss_difference", "worst_group_loss", "group_risk"):
        losses, shares = group_means(split, attribute, loss, everyone, shrink)
        if kind == "group_risk":
            return shares @ (losses - shares @ losses) ** 2
        return (smooth_max if kind == "worst_group_loss" else smooth_range)(losses, beta)
    # Shares of decisions at least as high, without the lowest class, of which every share is 1.
    decided = p[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:] if run.ordered else p
    first = int(run.ordered)
    only = settings.get("class", settings.get("given"))
    only = None if only is None else run.classes.index(only)
    ranges = []
    range_of = lambda output, rows: smooth_range(group_means(split, attribute, output, rows, shrink)[0], beta)
    if kind == "demographic_parity":
        columns = range(decided.shape[1]) if only is None else [only - first]
        ranges = [range_of(decided[:, c], everyone) for c in columns]
    else:
        for y in range(k) if only is None else [only]:
            outputs = [p[:, y]] if kind == "equal_opportunity" else decided.T
            ranges += [range_of(output, split.y == y) for output in outputs]
    return smooth_max(ranges, beta)


@pytest.mark.parametrize("name", ["train", "validation", "test"])
def test_objectives_agree_with_their_definitions(run, name):
    prefix = "" if name == "train" else f"{name}."
    split = run.splits[name]
    for params, seen in run.models(5):
        for text in run.objectives:
            expected = objective(run, text, split, params)
            assert seen[prefix + column(text)] == pytest.approx(expected, rel=1e-9, abs=1e-12), text


# Measures


@pytest.mark.parametrize("run", ["a set", "weighted"], indirect=True)
@pytest.mark.parametrize("name", ["train", "test"])
def test_measures_agree_with_scikit_learn(run, name):
    split, k = run.splits[name], len(run.classes)
    labels = list(range(k))
    for params, seen in run.models(3):
        phi = run.scores(split, params)
        decided = phi.argmax(axis=1)
        near = lambda measure, expected: (  # noqa: B023
            pytest.approx(expected, rel=1e-9, abs=1e-9) == seen[f"{name}.{measure}"]  # noqa: B023
        )
        calibrated = softmax(seen["calibration.slope"] * phi, axis=1)
        assert near("log_loss", sk.log_loss(split.y, calibrated, sample_weight=split.w, labels=labels))
        parts = {"": np.ones(len(phi), bool)}
        for attribute, groups in split.groups.items():
            for group in sorted(set(groups) - {""}):
                parts[f"({attribute}={group})"] = groups == group
        rates = {}
        for part, rows in parts.items():
            y, d, w = split.y[rows], decided[rows], split.w[rows]
            kept = w > 0
            y, d, w = y[kept], d[kept], w[kept]
            assert near(f"accuracy{part}", sk.accuracy_score(y, d, sample_weight=w))
            assert near(f"balanced_accuracy{part}", sk.balanced_accuracy_score(y, d, sample_weight=w))
            assert near(f"macro_f1{part}", sk.f1_score(y, d, sample_weight=w, average="macro", labels=labels))
            pairs = sk.confusion_matrix(y, d, labels=labels, sample_weight=w)
            for i, own in enumerate(run.classes):
                for j, other in enumerate(run.classes):
                    assert near(f"decisions[{own}>{other}]{part}", pairs[i, j])
            recall = sk.recall_score(y, d, sample_weight=w, average=None, labels=labels)
            precision = sk.precision_score(y, d, sample_weight=w, average=None, labels=labels, zero_division=0)
            decided_for = {run.classes[c] for c in set(d)}
            shares = pairs.sum(axis=0) / pairs.sum()
            of_class = pairs / pairs.sum(axis=1, keepdims=True)
            if run.ordered:
                shares = shares[::-1].cumsum()[::-1]
                of_class = of_class[:, ::-1].cumsum(axis=1)[:, ::-1]
            for c, own in enumerate(run.classes):
                assert near(f"recall[{own}]{part}", recall[c])
                if own in decided_for:
                    assert near(f"precision[{own}]{part}", precision[c])
                else:
                    assert np.isnan(seen[f"{name}.precision[{own}]{part}"])
                assert near(f"selection_rate[{own}]{part}", shares[c])
            if part:
                attribute = part[1:].partition("=")[0]
                rates.setdefault(attribute, []).append((shares, recall, of_class))
        for attribute, of_groups in rates.items():
            shares, recall, of_class = (np.ptp(values, axis=0) for values in zip(*of_groups, strict=True))
            known = {
                "demographic_parity_difference": shares,
                "equal_opportunity_difference": recall,
                "equalized_odds_difference": of_class.max(axis=1),
            }
            for measure, values in known.items():
                assert near(f"{measure}({attribute})", values.max())
                for c, own in enumerate(run.classes):
                    assert near(f"{measure}[{own}]({attribute})", values[c])
            # A class that no group is decided for has no ratio.
            rows = np.array([shares for shares, _, _ in of_groups])
            least, most = rows.min(axis=0), np.where(rows.max(axis=0) > 0, rows.max(axis=0), np.nan)
            assert near(f"demographic_parity_ratio({attribute})", np.nanmin(least / most))


def test_predictions_agree_with_the_measures_of_the_run(fairfront, school, tmp_path):
    run = tmp_path / "run"
    spec = ["--target", "grade", *ORDER, *SEX, "--drop", "region,w", "--split", "none"]
    fairfront("fit", school, *spec, "--out", run, "--models", 6, "--quiet")
    model_id = pq.read_table(run / "front.parquet", columns=["model_id"]).num_rows
    fairfront("select", run, "--model-id", model_id, "--model", tmp_path / "m.json")
    fairfront("predict", tmp_path / "m.json", school, "-o", tmp_path / "p.csv")
    rows, predicted = pd.read_csv(school), pd.read_csv(tmp_path / "p.csv")
    scores = predicted[[f"score[{c}]" for c in CLASSES]].to_numpy()
    assert (predicted["decision"] == np.array(CLASSES)[scores.argmax(axis=1)]).all()
    probabilities = predicted[[f"probability[{c}]" for c in CLASSES]].to_numpy()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    seen = pq.read_table(run / "front.parquet").to_pandas().iloc[-1]
    decided = predicted["decision"]
    assert seen["train.accuracy"] == pytest.approx(sk.accuracy_score(rows["grade"], decided))
    assert seen["train.macro_f1"] == pytest.approx(sk.f1_score(rows["grade"], decided, average="macro"))
    pairs = pd.crosstab([rows["sex"], rows["grade"]], decided)
    for (sex, own), counts in pairs.iterrows():
        for other, count in counts.items():
            assert seen[f"train.decisions[{own}>{other}](sex={sex})"] == count
    high = decided.eq("high").groupby(rows["sex"]).mean()
    difference = seen["train.demographic_parity_difference[high](sex)"]
    assert difference == pytest.approx(high.max() - high.min())


# The unmitigated model


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("first", ["log_loss", "error_rate"])
def test_unmitigated_models_are_those_of_scikit_learn(fairfront, school, tmp_path, first, weighted):
    weights = WEIGHTS if weighted else ["--drop", "w"]
    spec = [school, "--target", "grade", *SEX, "--drop", "region", *weights]
    second = "worst_group_loss(sex)" if first == "log_loss" else "demographic_parity(sex)"
    run = ClassRun(fairfront, tmp_path / "run", spec, [first, second], ["--penalty", "0.01", *FEW])
    split = run.splits["train"]
    # scikit-learn minimizes C times the sum of losses plus half of the squared coefficients.
    model = LogisticRegression(C=1 / (0.01 * split.w.sum()), tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    model.fit(split.z[:, :-1], split.y, sample_weight=split.w)
    params = np.array(run.info["unmitigated"]["params"])
    probabilities = softmax(run.scores(split, params), axis=1)
    if first == "log_loss":
        np.testing.assert_allclose(params[:-3].reshape(3, -1), model.coef_, atol=1e-5)
        np.testing.assert_allclose(probabilities, model.predict_proba(split.z[:, :-1]), atol=1e-5)
    # The scale of scores does not influence decisions.
    decided = model.predict(split.z[:, :-1])
    assert (probabilities.argmax(axis=1) == decided).mean() > 0.999


# Equal bytes


def content(folder):
    """Return the bytes of a run, and the content of run.json without times and sources."""
    said = json.loads((folder / "run.json").read_text())
    for key in ("seconds", "checksum", "source", "read"):
        said.pop(key, None)
    names = ["encoding.json", "front.parquet", "tallies.json"]
    return [(folder / name).read_bytes() for name in names], said


SPEC = ["--target", "grade", *ORDER, *SEX, *REGION, *WEIGHTS, *UNKNOWN]


def test_threads_and_block_files_change_nothing(fairfront, school, tmp_path):
    fit = [*FEW, "--models", 20]
    for threads in (1, 2):
        fairfront("fit", school, *SPEC, *fit, "--threads", threads, "--out", tmp_path / str(threads))
    assert content(tmp_path / "1") == content(tmp_path / "2")
    assert b" values agree" in fairfront("verify", tmp_path / "1", school)
    fairfront("pack", school, *SPEC, "-o", tmp_path / "rows.ffb", "--quiet")
    fairfront("fit", tmp_path / "rows.ffb", *fit, "--out", tmp_path / "packed")
    assert content(tmp_path / "1")[0] == content(tmp_path / "packed")[0]


def test_whole_numbers_are_classes_on_request(fairfront, tmp_path):
    rows = grades(np.random.default_rng(5), 600)
    rows["grade"] = rows["grade"].map({"low": 9, "mid": 10, "high": 11})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    spec = [tmp_path / "rows.csv", "--target", "grade", *SEX, "--drop", "region,w", *FEW]
    fairfront("fit", *spec, "--classes", "--out", tmp_path / "run")
    target = json.loads((tmp_path / "run/run.json").read_text())["meaning"]["target"]
    # Sorted by value, not as strings.
    assert target["classes"]["names"] == ["9", "10", "11"]
    fairfront("fit", *spec, "--out", tmp_path / "numbers")
    assert "number" in json.loads((tmp_path / "numbers/run.json").read_text())["meaning"]["target"]


def test_many_classes_are_fitted_without_pairs(fairfront, tmp_path):
    draw = np.random.default_rng(6)
    n = 900
    kind = np.arange(n) % 30
    columns = {"kind": [f"k{k:02}" for k in kind], "x": (kind + draw.normal(0, 3, n)).round(2)}
    columns["sex"] = draw.choice(["f", "m"], n)
    pd.DataFrame(columns).to_csv(tmp_path / "rows.csv", index=False)
    fit = ["fit", tmp_path / "rows.csv", "--target", "kind", *SEX, "--penalty", "0.01", "--models", 4, *FEW]
    fairfront(*fit, "--min-group", 0, "--out", tmp_path / "run")
    names = pq.read_schema(tmp_path / "run/front.parquet").names
    assert "test.recall[k21]" in names and not any("decisions[" in name for name in names)


# Errors


def table(tmp_path, target, rows=300):
    """Write a table with the target of each row."""
    draw = np.random.default_rng(1)
    path = tmp_path / "table.csv"
    columns = {"y": [target(i) for i in range(rows)], "sex": [f"g{i % 2}" for i in range(rows)]}
    pd.DataFrame({**columns, "x": draw.normal(size=rows).round(3)}).to_csv(path, index=False)
    return path


def third(i):
    return "abc"[i % 3]


WRONG = {
    # target of a row, flags, exit code, parts of the error
    "rare class": (lambda i: "d" if i < 3 else third(i), [], 1, ['"d" (3)', "at least 10 training rows", "--merge"]),
    "constant": (lambda i: "a", [], 1, ["only one value", '"a"']),
    "101 classes": (lambda i: f"k{i % 101}", [], 1, ["101 values", "at most 100 classes", "--merge"]),
    "unknown class": (third, ["--order", "a,b,c,d"], 1, ['no row has the class "d"', "--order"]),
    "class left out": (lambda i: "abcd"[i % 4], ["--order", "a,b,c"], 1, ["--order", '"d"']),
    "two classes": (third, ["--order", "a,b"], 2, ["--order lists fewer than three classes", "--positive"]),
    "class twice": (third, ["--order", "a,b,c,a"], 2, ['--order lists the class "a" twice']),
    "order and positive": (third, ["--order", "a,b,c", "--positive", "a"], 2, ["--positive", "--order", "choose one"]),
    "order and numeric": (third, ["--order", "a,b,c", "--numeric"], 2, ["--numeric", "--order", "choose one"]),
    "trace": (third, ["--solver", "trace"], 2, ["score_covariance", "classes"]),
    "network": (third, ["--family", "network"], 2, ["--family network", "3 classes", "trees"]),
    "eps-fair": (third, ["--solver", "eps-fair"], 2, ["score_covariance", "classes"]),
}
WRONG_OBJECTIVES = {
    # flags, second objective, parts of the error
    "mutual_information(sex)": ([], ["mutual_information is an objective for binary targets", "demographic_parity"]),
    "predictive_equality(sex)": ([], ["predictive_equality is an objective for binary targets"]),
    "score_covariance(sex)": ([], ["score_covariance", "several classes"]),
    "mean_difference(sex)": ([], ["mean_difference is an objective for numbers"]),
    "demographic_parity(sex, class=z)": ([], ["class is z", "a", "b", "c"]),
    "equal_opportunity(sex, class=a)": ([], ['unknown setting "class"', '"given"']),
    "demographic_parity(sex, spread=variance)": ([], ['unknown setting "spread"']),
    "demographic_parity(sex, class=a)": (["--order", "a,b,c"], ["lowest class", "choose a higher class"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_targets_and_flags_are_clear_errors(fairfront, tmp_path, name):
    target, flags, code, parts = WRONG[name]
    path = table(tmp_path, target)
    error = fairfront.error("fit", path, "--target", "y", *SEX, *flags, "--out", tmp_path / "run", code=code)
    for part in parts:
        assert part in error, error


@pytest.mark.parametrize("objective", WRONG_OBJECTIVES)
def test_wrong_objectives_are_clear_errors(fairfront, tmp_path, objective):
    flags, parts = WRONG_OBJECTIVES[objective]
    objectives = ["--objective", "error_rate", "--objective", objective]
    spec = [table(tmp_path, third), "--target", "y", *SEX, *flags, *objectives]
    error = fairfront.error("fit", *spec, "--out", tmp_path / "run", code=2)
    for part in parts:
        assert part in error, error


def test_costs_of_two_classes_are_refused(fairfront, tmp_path):
    spec = [table(tmp_path, third), "--target", "y", *SEX, "--objective", "error_rate(fp=2)"]
    spec += ["--objective", "demographic_parity(sex)", "--out", tmp_path / "run"]
    assert "fp applies only to binary targets" in fairfront.error("fit", *spec, code=2)


REFUSED = {
    # requirement, parts of the error
    "balanced_accuracy >= 0.5": ["balanced_accuracy cannot be certified", "accuracy", "recall"],
    "precision[low] >= 0.3": ["precision[low] cannot be certified"],
    "recall[none] >= 0.3": ["no recall[none]", "recall[low]"],
    "recall >= 0.3": ["no recall", "recall[low]"],
    "recall_difference(sex) <= 0.1": ["write equal_opportunity_difference(sex)"],
    "confusion_matrix >= 1": ["not a measure"],
    "auc >= 0.5": ["auc"],
}


@pytest.fixture(scope="module")
def small(fairfront, school, tmp_path_factory):
    folder = tmp_path_factory.mktemp("small") / "run"
    fairfront("fit", school, *SPEC, *FEW, "--models", 8, "--out", folder)
    return folder


@pytest.mark.parametrize("requirement", REFUSED)
def test_requirements_that_cannot_be_certified_are_clear_errors(fairfront, small, requirement):
    error = fairfront.error("select", small, "--require", requirement, code=2)
    for part in REFUSED[requirement]:
        assert part in error, error


def test_requirements_without_a_test_choose_by_classes(fairfront, small):
    limit = "demographic_parity_difference[high](sex) <= 0.2"
    said = json.loads(fairfront("select", small, "--require", limit, "--confidence", "none", "--json"))
    assert said["values"]["validation.demographic_parity_difference[high](sex)"] <= 0.2
