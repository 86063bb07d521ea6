"""Encoded rows and the encoding itself, compared with scikit-learn, pandas and numpy."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

SCALERS = {
    "standard": StandardScaler,
    "min-max": MinMaxScaler,
    "none": FunctionTransformer,
}
SPLITS = ["train", "validation", "test"]

# The name of a data set, its numeric features and its categorical features. In the demo, missing savings become their
# mean with an indicator, and a missing occupation becomes a category.
DEMO = (
    "demo",
    "age hours_per_week years_employed income savings debt_ratio late_payments loan_amount".split(),
    "district education occupation housing loan_purpose".split(),
)
ADULT = (
    "adult:sex",
    "age education-num capital-gain capital-loss hours-per-week".split(),
    "workclass education marital-status occupation relationship native-country".split(),
)


def encode(rows, numeric, categorical, scaler):
    """Return the features of `rows` by scikit-learn and pandas, fitted on the training rows."""
    rows = rows.replace("", np.nan).reset_index(drop=True)
    train = rows["split"] == "train"
    numbers = rows[numeric].astype(float)
    scaled = scaler.fit(numbers[train]).transform(numbers)
    # The mean stays the mean under scaling, so missing values can be filled in afterwards.
    imputer = SimpleImputer(strategy="mean", add_indicator=True).fit(scaled[train])
    indicators = [f"{c} (missing)" for c in numbers.columns[numbers[train].isna().any()]]
    filled = pd.DataFrame(imputer.transform(scaled), columns=numeric + indicators)
    # An indicator follows its column.
    names = [n for c in numeric for n in (c, f"{c} (missing)") if n in filled]
    categories = rows[categorical].fillna("(missing)")
    dummies = pd.get_dummies(categories, prefix_sep="=", dtype=float)
    seen = pd.get_dummies(categories[train], prefix_sep="=").columns
    # pandas sorts the parenthesis before letters; in fairfront, "(missing)" comes last.
    key = lambda name: (categorical.index(name.split("=")[0]), name.endswith("(missing)"), name)
    return pd.concat([filled[names], dummies[sorted(seen, key=key)]], axis=1)


def features(encoded, attributes):
    return encoded.drop(columns=[*attributes, "label", "weight", "split"])


@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("name, numeric, categorical", [DEMO, ADULT], ids=["demo", "adult"])
def test_features(request, fairfront, name, numeric, categorical, scale):
    attributes = ["sex", "race"] if name == "demo" else ["sex"]
    if name != "demo":
        request.getfixturevalue("data")
    rows = fairfront.export(name)
    seen = features(fairfront.encoded(name, "--scale", scale), attributes)
    expected = encode(rows, numeric, categorical, SCALERS[scale]())
    assert list(seen) == list(expected)
    # The absolute tolerance is for values of order 1. Unscaled values are copied exactly, except for the mean that
    # replaces missing savings (1e4).
    np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-12)


def test_labels_groups_and_weights(fairfront):
    rows = fairfront.export("demo")
    encoded = fairfront.encoded("demo")
    for column in ["sex", "race", "split"]:
        assert list(encoded[column]) == list(rows[column])
    assert list(encoded["label"]) == list(np.where(rows["approved"] == "yes", 1.0, -1.0))
    assert (encoded["weight"] == 1).all()


def test_adult_has_51_features_of_merged_categories(fairfront, adult):
    encoded = features(fairfront.encoded("adult:sex"), ["sex"])
    assert encoded.shape == (45_222, 51)
    assert fairfront.inspect("adult:sex")["features"] == 51

    used = adult.dropna()
    low = used["education"].isin(["Preschool", "1st-4th", "5th-6th", "7th-8th"])
    middle = used["education"].isin(["9th", "10th", "11th", "12th"])
    count = lambda column: int(encoded[column].sum())
    assert count("education=up-to-8th") == low.sum()
    assert count("education=9th-to-12th") == middle.sum()
    assert count("native-country=other") == (used["native-country"] != "United-States").sum()


def test_the_encoding_file_is_enough_to_encode(fairfront, adult, tmp_path):
    """Published rows that this test encodes by the file are those of the command, to the last bit."""
    path = tmp_path / "encoding.json"
    encoded = fairfront.encoded("adult:sex", "--split", "none", "--encoding", path)
    rules = json.loads(path.read_text())
    used = adult.dropna()
    for rule in rules["numeric"]:
        by_hand = (used[rule["column"]].to_numpy(float) - rule["shift"]) / rule["factor"]
        assert (encoded[rule["column"]] == by_hand).all()
        assert rule["mean"] == pytest.approx(used[rule["column"]].mean(), rel=1e-12)
    for rule in rules["categorical"]:
        merge = rule.get("merge", {"categories": {}})
        merged = [merge["categories"].get(v, merge.get("rest", v)) for v in used[rule["column"]]]
        for category in rule["categories"]:
            by_hand = np.array(merged) == category
            assert (encoded[f"{rule['column']}={category}"] == by_hand).all()
    assert [c for r in rules["categorical"] for c in r["categories"]] == [
        name.split("=", 1)[1] for name in encoded if "=" in name
    ]
    target = rules["target"]
    assert (target["column"], target["positive"]) == ("income", ">50K")
    assert rules["attributes"][0]["groups"] == ["Female", "Male"]


@pytest.fixture
def small(tmp_path):
    """A table of 400 rows with weights, a sixth of them 0, and a given split."""
    random = np.random.default_rng(5)
    n = 400
    table = pd.DataFrame(
        {
            "x": random.lognormal(3, 2, n),
            "count": random.poisson(4, n),
            "job": random.choice(["clerk", "cook", "nurse", "pilot"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "age": random.integers(18, 80, n),
            "w": random.choice([0, 0.5, 1, 2, 3.25, 10], n),
            "y": random.choice(["good", "bad"], n),
            "part": random.choice(SPLITS, n, p=[0.7, 0.1, 0.2]),
        }
    )
    # The largest number has weight 0.
    table.loc[table["x"].idxmax(), ["w", "part"]] = [0, "train"]
    path = tmp_path / "small.csv"
    table.to_csv(path, index=False)
    roles = ["--target", "y", "--positive", "good", "--split", "column:part"]
    return table, [path, *roles]


def test_weighted_scaling(fairfront, small):
    table, args = small
    args += ["--weight", "w"]
    train = table[table["part"] == "train"]
    rows = table

    encoded = fairfront.encoded(*args)
    assert list(encoded["weight"]) == list(rows["w"])
    for column in ["x", "count", "age"]:
        mean = np.average(train[column], weights=train["w"])
        deviation = np.sqrt(np.average((train[column] - mean) ** 2, weights=train["w"]))
        expected = (rows[column] - mean) / deviation
        np.testing.assert_allclose(encoded[column], expected, rtol=1e-12, atol=1e-12)

    scaled = fairfront.encoded(*args, "--scale", "min-max")
    counted = train[train["w"] > 0]["x"]
    expected = (rows["x"] - counted.min()) / (counted.max() - counted.min())
    np.testing.assert_allclose(scaled["x"], expected, rtol=1e-12)
    assert scaled["x"].max() > 1


def test_merged_and_pooled_categories(fairfront, small):
    table, args = small
    rows = table
    hands = rows["job"].isin(["cook", "nurse"]).to_numpy()

    merged = fairfront.encoded(*args, "--merge", "job=hands:cook,nurse", "--merge", "job=rest:*")
    assert [c for c in merged if c.startswith("job=")] == ["job=hands", "job=rest"]
    assert (merged["job=hands"] == hands).all()
    assert (merged["job=rest"] == ~hands).all()

    pooled = fairfront.encoded(*args, "--pool-rare", "20")
    rare = (rows["job"] == "pilot").to_numpy()
    jobs = ["job=clerk", "job=cook", "job=nurse", "job=(other)"]
    assert [c for c in pooled if c.startswith("job=")] == jobs
    assert (pooled["job=(other)"] == rare).all()


def test_a_category_unseen_in_training_is_not_a_feature(fairfront, small):
    table, args = small
    table.loc[table["part"] == "test", "job"] = "judge"
    table.to_csv(args[0], index=False)
    encoded = fairfront.encoded(*args)
    jobs = encoded[[c for c in encoded if c.startswith("job=")]]
    assert "job=judge" not in jobs
    assert list(jobs.sum(axis=1)) == list((encoded["split"] != "test").astype(float))
    messages = [n["message"] for n in fairfront.inspect(*args)["messages"]]
    assert any("judge" in n and "unseen" in n for n in messages)


def test_bins(fairfront, small):
    table, args = small
    rows = table
    encoded = fairfront.encoded(*args, "--sensitive", "age", "--bins", "age=25,45.5")
    names = ["age<25", "25<=age<45.5", "age>=45.5"]
    expected = pd.cut(rows["age"], [-np.inf, 25, 45.5, np.inf], right=False, labels=names)
    assert list(encoded["age"]) == list(expected)


def test_no_two_encoded_columns_have_the_same_name(fairfront, tmp_path):
    """A feature with the name of the attribute, the label, the weight or the split is an error that names it."""
    path = tmp_path / "t.csv"
    rows = [(i % 7 + 0.5, i * 7 % 50, i % 2) for i in range(60)]
    roles = ["--target", "y", "--sensitive", "age", "--bins", "age=20", "--encoded", "-o", "-"]
    for name, *more in [("age", "--use-sensitive"), ("label",), ("weight",), ("split",)]:
        feature = "x" if name == "age" else name
        pd.DataFrame(rows, columns=[feature, "age", "y"]).to_csv(path, index=False)
        assert f'"{name}"' in fairfront.error("data", "export", path, *roles, *more)
