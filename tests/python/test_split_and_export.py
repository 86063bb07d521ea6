"""Splits, balancing, and exported files that give the same data set when read again."""

import pandas as pd
import pytest

# Flags that read an exported file as the data set it came from.
AGAIN = {
    "demo": [
        *("--target", "approved", "--positive", "yes", "--sensitive", "sex", "--sensitive", "race"),
        *("--missing", "savings=mean", "--missing", "occupation=category"),
    ],
    "synthetic:3": ["--target", "y", "--positive", "1", "--sensitive", "a", "--scale", "none"],
    "adult:sex+race": [
        *("--target", "income", "--positive", ">50K", "--sensitive", "sex", "--sensitive", "race"),
        *("--scale", "min-max"),
    ],
    "compas:race": ["--target", "two_year_recid", "--positive", "0", "--sensitive", "race"],
}


@pytest.mark.parametrize("n", [100, 999, 20_000])
@pytest.mark.parametrize(
    "split, shares",
    [
        (None, (60, 10, 30)),
        ("70/30", (70, 0, 30)),
        ("33.3/33.3/33.4", (33.3, 33.3, 33.4)),
    ],
)
def test_sizes(fairfront, n, split, shares):
    args = [f"demo(rows={n})", *(["--split", split] if split else [])]
    seen = fairfront.inspect(*args)
    sizes = fairfront.export(*args)["split"].value_counts()
    assert {name: n for name, n in seen["split"].items() if n} == sizes.to_dict()
    assert sum(seen["split"].values()) == seen["rows"]
    for size, share in zip(seen["split"].values(), shares, strict=True):
        assert abs(size - seen["rows"] * share / 100) <= 1


def test_every_row_is_in_one_split(fairfront):
    whole = fairfront.export("demo", "--split", "none")
    split = fairfront.export("demo")
    # Rows keep their order; the split only marks them.
    pd.testing.assert_frame_equal(whole.drop(columns="split"), split.drop(columns="split"))
    assert set(whole["split"]) == {"train"}
    assert set(split["split"]) == {"train", "validation", "test"}


def test_the_seed_determines_the_splits(fairfront):
    export = lambda *args: fairfront("data", "export", "demo", "-o", "-", *args)
    assert export() == export() == export("--seed", "0")
    splits = [fairfront.export("demo", "--seed", str(seed))["split"] for seed in range(3)]
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        # Two independent splits of 60/10/30 agree on 0.36 + 0.01 + 0.09 of the rows; 5 standard
        # deviations of the mean of 19,509 rows are 0.018.
        assert (splits[a] == splits[b]).mean() == pytest.approx(0.46, abs=0.018)


def test_splits_have_equal_base_rates(fairfront):
    """A random split does not change the base rates, except by chance."""
    rows = fairfront.export("demo")
    approved = rows["approved"] == "yes"
    for _, split in approved.groupby(rows["split"]):
        deviation = (approved.mean() * (1 - approved.mean()) / len(split)) ** 0.5
        assert abs(split.mean() - approved.mean()) < 4 * deviation


@pytest.mark.parametrize("name", AGAIN)
def test_an_exported_file_gives_the_same_data_set(request, fairfront, tmp_path, name):
    if name.startswith(("adult", "compas")):
        request.getfixturevalue("data")
    path = tmp_path / "rows.csv"
    fairfront("data", "export", name, "--output", path)
    again = [path, *AGAIN[name], "--split", "column:split"]
    encoded = lambda *args: fairfront("data", "export", *args, "--encoded", "-o", "-")
    assert encoded(*again) == encoded(name)
    assert fairfront("data", "export", *again, "-o", "-") == path.read_bytes()
    ours, theirs = fairfront.inspect(name), fairfront.inspect(*again)
    for key in ["rows", "target", "sensitive", "intersections", "split", "features"]:
        assert ours[key] == theirs[key]
    for attribute, proxy in ours["proxies"].items():
        assert theirs["proxies"][attribute]["auc"] == proxy["auc"]


@pytest.mark.parametrize("attribute", ["sex", "race", "sex:race"])
def test_balanced_groups_are_equal(fairfront, attribute):
    both = ["--sensitive", "sex", "--sensitive", "race", "--sensitive", "sex:race"]
    args = ["demo(rows=5000)", *both, "--balance", attribute]
    columns = attribute.split(":")
    before = fairfront.export("demo(rows=5000)", *both).groupby(columns).size()
    rows = fairfront.export(*args)
    after = rows.groupby(columns).size()
    assert set(after) == {before.min()} and list(after.index) == list(before.index)
    assert fairfront.inspect(*args)["rows"] == len(rows)
    other = fairfront.export(*args, "--seed", "1")
    assert not other.equals(rows)


def test_threads_change_nothing(fairfront, tmp_path):
    # Long enough for several chunks per thread, and for parallel encoding.
    table = tmp_path / "demo.csv"
    fairfront("data", "export", "demo(rows=60000)", "-o", table)
    args = [table, *AGAIN["demo"], "--drop", "split"]
    for command in [
        ("inspect", "--json", *args),
        ("data", "export", *args, "-o", "-"),
        ("data", "export", *args, "-o", "-", "--encoded"),
    ]:
        one, two = (fairfront(*command, RAYON_NUM_THREADS=n) for n in "12")
        assert one == two
