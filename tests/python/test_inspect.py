"""`inspect --json` on the published data, compared with pandas, scipy and scikit-learn."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association
from sklearn.metrics import roc_auc_score

ADULT_FEATURES = (
    "age workclass education education-num marital-status occupation relationship "
    "capital-gain capital-loss hours-per-week native-country"
).split()
COMPAS_FEATURES = ["age_cat", "sex", "priors_count", "c_charge_degree"]

# Negatives and positives of each group, as in the paper.
PAPER = {
    "sex": {"Male": (20_988, 9_539), "Female": (13_026, 1_669)},
    "race": {
        "White": (28_696, 10_207),
        "Black": (3_694, 534),
        "Asian-Pac-Islander": (934, 369),
        "Amer-Indian-Eskimo": (382, 53),
        "Other": (308, 45),
    },
    "compas": {"Caucasian": (822, 1_281), "African-American": (1_661, 1_514)},
}


@dataclass
class Case:
    """A data set read by pandas, with the output of the command."""

    name: str
    raw: pd.DataFrame
    used: pd.DataFrame
    label: pd.Series
    sensitive: list
    features: list
    seen: dict

    def column(self, name):
        return next(c for c in self.seen["columns"] if c["name"] == name)


def adult_case(raw, sensitive):
    used = raw.dropna()
    return raw, used, used["income"] == ">50K", sensitive, ADULT_FEATURES


def compas_case(raw):
    used = raw[
        raw["days_b_screening_arrest"].abs().le(30)
        & raw["is_recid"].ne(-1)
        & raw["c_charge_degree"].ne("O")
        & raw["score_text"].notna()
        & raw["race"].isin(["African-American", "Caucasian"])
    ]
    return raw, used, used["two_year_recid"] == 0, ["race"], COMPAS_FEATURES


@pytest.fixture(
    scope="module", params=["adult:sex", "adult:race", "adult:sex+race", "compas:race"]
)
def case(request, fairfront):
    family, attributes = request.param.split(":")
    raw = request.getfixturevalue(family)
    if family == "compas":
        parts = compas_case(raw)
    else:
        parts = adult_case(raw, attributes.split("+"))
    return Case(request.param, *parts, fairfront.inspect(request.param))


def groups(label, *columns):
    """Return count and positives of each group."""
    table = label.groupby(list(columns)).agg(["size", "sum"])
    name = lambda key: ":".join(key) if isinstance(key, tuple) else key
    rows = table.to_numpy(int).tolist()
    return {name(key): tuple(row) for key, row in zip(table.index, rows, strict=True)}


def counts(summary):
    return {name: (group["count"], group["positives"]) for name, group in summary.items()}


def test_rows_and_target(case):
    seen = case.seen
    assert seen["read"] == len(case.raw)
    assert seen["rows"] == len(case.used)
    assert seen["dropped"] == len(case.raw) - len(case.used)
    assert seen["target"]["positives"] == case.label.sum()
    assert seen["target"]["negatives"] == (~case.label).sum()
    assert seen["target"]["base_rate"] == pytest.approx(case.label.mean(), abs=1e-12)


def test_groups(case):
    assert list(case.seen["sensitive"]) == case.sensitive
    for column, summary in case.seen["sensitive"].items():
        assert counts(summary) == groups(case.label, case.used[column])
        for group in summary.values():
            assert group["share"] == pytest.approx(group["count"] / len(case.used), abs=1e-12)
            assert group["base_rate"] == pytest.approx(group["positives"] / group["count"])


def test_intersections(case):
    if len(case.sensitive) == 1:
        assert case.seen["intersections"] == {}
    else:
        expected = groups(case.label, *(case.used[c] for c in case.sensitive))
        assert counts(case.seen["intersections"][":".join(case.sensitive)]) == expected


def test_groups_of_the_paper(case):
    for column, summary in case.seen["sensitive"].items():
        paper = PAPER["compas" if case.name.startswith("compas") else column]
        seen = counts(summary).items()
        assert {name: (n - positives, positives) for name, (n, positives) in seen} == paper


def test_columns(case):
    assert [c["name"] for c in case.seen["columns"]] == list(case.raw.columns)
    read = [c for c in case.seen["columns"] if c["missing"] is not None]
    roles = {c["name"]: c["role"] for c in read}
    assert [c for c in case.raw if roles.get(c) == "feature"] == [
        c for c in case.raw if c in case.features
    ]
    for column in read:
        values = case.raw[column["name"]]
        assert column["missing"] == values.isna().sum(), column["name"]
        assert column["missing_share"] == pytest.approx(values.isna().mean(), abs=1e-12)
        # The raw files of Adult spell each of the two labels in two ways.
        ways = 2 if column["name"] == "income" else 1
        assert column["distinct"] == ways * values.nunique(), column["name"]
        if column["type"] == "numeric":
            expected = {"min": values.min(), "mean": values.mean(), "max": values.max()}
            assert column["range"] == pytest.approx(expected, rel=1e-12)
        elif column["merged"] is None:
            often = values.dropna().astype(str).value_counts()
            assert [n for _, n in column["top"]] == often.head(5).tolist()
            assert all(often[category] == n for category, n in column["top"])
    fewer = {c["name"]: c["merged"] for c in read if c["merged"] is not None}
    adult = {"education": 10, "native-country": 2, "income": 2}
    assert fewer == ({} if case.name == "compas:race" else adult)


def test_proxy_strengths(case):
    for attribute in case.sensitive:
        seen = case.seen["proxies"][attribute]["features"]
        assert sorted(name for name, _ in seen) == sorted(case.features)
        assert [s for _, s in seen] == sorted((s for _, s in seen), reverse=True)
        for name, strength in seen:
            measure = correlation_ratio if case.column(name)["type"] == "numeric" else cramers_v
            expected = measure(merged(case.used[name]), case.used[attribute])
            assert strength == pytest.approx(expected, abs=1e-10), name


def merged(values):
    """Merge the categories of a column of Adult as the data set does."""
    if values.name == "native-country":
        return values.where(values == "United-States", "other")
    if values.name == "education":
        low = values.isin(["Preschool", "1st-4th", "5th-6th", "7th-8th"])
        middle = values.isin(["9th", "10th", "11th", "12th"])
        return values.mask(low, "low").mask(middle, "middle")
    return values


def cramers_v(categories, group):
    return association(pd.crosstab(categories, group), method="cramer", correction=False)


def correlation_ratio(values, group):
    """Return the root of the share of the variance that is between the groups."""
    means = values.groupby(group).transform("mean")
    return np.sqrt(means.var(ddof=0) / values.var(ddof=0))


def test_joint_auc(case, fairfront):
    """The AUC of ridge least squares, fitted on the even rows and measured on the odd ones."""
    # Without a split, the encoded rows are in the order of the table.
    seen = fairfront.inspect(case.name, "--split", "none")
    encoded = fairfront.encoded(case.name, "--split", "none")
    features = encoded.drop(columns=[*case.sensitive, "label", "weight", "split"])
    # The command alternates within blocks of 1,024 rows, which is the same as over all rows.
    x = np.column_stack([features.to_numpy(float), np.ones(len(features))])
    fit, rest = x[::2], x[1::2]
    gram = fit.T @ fit + 1e-6 * len(fit) * np.eye(x.shape[1])
    for attribute in case.sensitive:
        group = encoded[attribute]
        auc = {}
        for member in group.unique():
            is_member = (group == member).to_numpy()
            score = rest @ np.linalg.solve(gram, fit.T @ is_member[::2].astype(float))
            # Equal rows have equal scores, but a matrix product may round them differently.
            auc[member] = roc_auc_score(is_member[1::2], score.round(9))
        # Both solve a system with a condition number near 4e6, so scores agree to about 1e-9. That can swap pairs of
        # rows with nearly the same score; each swap changes the AUC by one pair.
        proxy = seen["proxies"][attribute]
        members = (group[1::2] == proxy["group"]).sum()
        few_pairs = 3 / (members * (len(rest) - members))
        assert proxy["auc"] == pytest.approx(max(auc.values()), abs=few_pairs)
        assert auc[proxy["group"]] == pytest.approx(max(auc.values()), abs=few_pairs)


def test_weights(fairfront, adult):
    """Shares, base rates and strengths count each row with its weight."""
    seen = fairfront.inspect("adult:sex", "--weight", "fnlwgt")
    used = adult.dropna()
    label = used["income"] == ">50K"
    mean = lambda values: np.average(values, weights=used["fnlwgt"].loc[values.index])
    close = lambda value: pytest.approx(value, rel=1e-9)
    assert seen["target"]["positives"] == label.sum()
    assert seen["target"]["base_rate"] == close(mean(label))
    for group, summary in seen["sensitive"]["sex"].items():
        member = used["sex"] == group
        assert summary["share"] == close(mean(member))
        assert summary["base_rate"] == close(mean(label[member]))

    strengths = dict(seen["proxies"]["sex"]["features"])
    table = pd.crosstab(used["relationship"], used["sex"], used["fnlwgt"], aggfunc="sum")
    expected = association(table.fillna(0).astype(int), method="cramer", correction=False)
    assert strengths["relationship"] == close(expected)
    hours = used["hours-per-week"]
    means = used["sex"].map({group: mean(part) for group, part in hours.groupby(used["sex"])})
    variance = lambda values: mean((values - mean(hours)) ** 2)
    assert strengths["hours-per-week"] == close(np.sqrt(variance(means) / variance(hours)))


@pytest.mark.parametrize("policy", ["drop", "group", "loss-only"])
def test_missing_sensitive_values(fairfront, policy):
    whole = fairfront.export("demo", "--missing-sensitive", "loss-only")
    missing = whole["race"] == ""
    assert missing.sum() > 50
    seen = fairfront.inspect("demo", "--missing-sensitive", policy)
    rows = whole[~missing] if policy == "drop" else whole
    expected = groups(rows["approved"] == "yes", rows["race"])
    if policy == "group":
        expected["(missing)"] = expected.pop("")
    elif policy == "loss-only":
        del expected[""]
    assert seen["rows"] == len(rows)
    assert counts(seen["sensitive"]["race"]) == expected
    assert seen["unknown"] == {"sex": 0, "race": missing.sum() if policy == "loss-only" else 0}
