"""The numbers of streams: against pandas, numpy, scipy and moocore."""

import io
import json

import moocore
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from conftest import MISSING
from streaming import (
    BATCH,
    QUICK,
    SPEC,
    all_at_once,
    changing,
    drifts,
    front,
    info,
    newest,
    text_of,
    with_bad_rows,
    write,
)
from test_predict import scores

QUIET = "--quiet"


@pytest.fixture(scope="module")
def rows(fairfront):
    return changing(fairfront)


@pytest.fixture(scope="module")
def whole(fairfront, rows, tmp_path_factory):
    """All rows at once, from one file."""
    folder = tmp_path_factory.mktemp("whole")
    return all_at_once(fairfront, with_bad_rows(text_of(rows)), folder)


def decided(fairfront, state, rows, folder):
    """Decisions of every point of a front on these rows, by numpy from their models."""
    table = front(state)
    known = None
    for i, point in table.iterrows():
        model = fairfront.model(state, int(point["id"]), folder / "model.json")
        score = scores(model, rows)
        # Models of one front differ in their coefficients alone.
        known = known or model["encoding"]
        assert model["encoding"] == known
        yield point, score >= model["threshold"]


def in_use(rows):
    """Rows without missing values, in order."""
    return rows[~rows.isin(MISSING).any(axis=1)]


@pytest.mark.parametrize("keep", [["--window", "210"], ["--window", "97"], []])
def test_values_are_those_of_the_rows_that_are_kept(fairfront, rows, tmp_path, keep):
    rng, shares = np.random.default_rng(1), [0.7, 0.1, 0.2]
    parts = rng.choice(["train", "validation", "test"], len(rows), p=shares)
    rows = rows.assign(part=parts)
    write(tmp_path / "rows.csv", text_of(rows))
    state = tmp_path / "state"
    fairfront("stream", state, tmp_path / "rows.csv", *SPEC, *keep, "--split", "column:part", QUIET)
    batches = info(state)["stream"]["batches"]
    used = in_use(rows.drop(columns="district")[: batches * BATCH])
    kept = used[-int(keep[1]) :] if keep else used
    assert info(state)["stream"]["kept"] == len(kept)
    assert info(state)["stream"]["used"] == len(used)
    n_points = 0
    for split in ["train", "validation", "test"]:
        of_split = kept[kept["part"] == split]
        label = of_split["approved"] == "yes"
        for point, decision in decided(fairfront, state, of_split, tmp_path):
            n_points += 1
            accuracy = np.mean(decision == label)
            assert point[f"{split}.accuracy"] == pytest.approx(accuracy, abs=1e-12)
            for group, at in of_split.groupby("sex").indices.items():
                column = f"{split}.selection_rate(sex={group})"
                assert point[column] == pytest.approx(decision[at].mean(), abs=1e-12)
                assert point[f"{split}.count(sex={group})"] == len(at)
    assert n_points > 3 and ("Other" in set(kept["sex"]))


def reservoir_of(fairfront, folder, n_rows, size, seed, batch):
    """Which rows a reservoir holds, from the only numeric feature, unscaled, and the split."""
    path = folder / f"{n_rows}.csv"
    if not path.exists():
        number = np.arange(n_rows)
        table = {"number": number, "sex": np.where(number % 2, "F", "M")}
        table["y"] = np.where(number // 2 % 3 == 0, "yes", "no")
        pd.DataFrame(table).to_csv(path, index=False)
    state = folder / f"state-{size}-{seed}-{batch}"
    flags = ["--target", "y", "--sensitive", "sex", "--reservoir", size, "--seed", seed, *QUICK]
    more = ["--type", "number=numeric", "--scale", "none", "--split", "none", "--batch", batch, QUIET]
    fairfront("stream", state, path, *flags, *more)
    stored = (newest(state) / "kept.rows").read_bytes()
    found = np.frombuffer(stored[32 : 32 + 8 * size], "<f8")
    return found.astype(int)


def test_a_reservoir_is_a_uniform_sample(fairfront, tmp_path):
    n, size = 240, 60
    counts = np.zeros(n)
    for seed in range(20):
        found = reservoir_of(fairfront, tmp_path, n, size, seed, 60)
        assert len(set(found)) == size and found.min() >= 0 and found.max() < n
        counts[found] += 1
        if seed < 2:
            # Whatever the batches.
            other = reservoir_of(fairfront, tmp_path, n, size, seed, 80)
            assert (found == other).all()
    # Twelve stretches of the stream, 100 of whose rows are expected in the samples; one without
    # repeats varies less than independent draws, so that this is on the safe side.
    assert chisquare(counts.reshape(12, -1).sum(1)).pvalue > 1e-4


# What is settled, what grows, and what changed.


def test_the_encoding_is_settled_by_the_first_batch(fairfront, rows, tmp_path):
    lines = text_of(rows).splitlines(keepends=True)
    file, state = tmp_path / "rows.csv", tmp_path / "state"
    seen = []
    for batches in range(1, 6):
        write(file, "".join(lines[: 1 + batches * BATCH]))
        fairfront("stream", state, file, *SPEC, QUIET)
        encoding = json.loads((newest(state) / "encoding.json").read_text())
        model = tmp_path / f"{batches}.json"
        seen.append((encoding, fairfront.model(state, 0, model), front(state)))
    first, last = seen[0][0], seen[-1][0]
    assert first["numeric"] == last["numeric"] and first["target"] == last["target"]
    new = {"education": ["apprentice"]}
    for before, after in zip(first["categorical"], last["categorical"], strict=True):
        assert after["levels"] == before["levels"] + new.get(after["column"], [])
        assert {k: v for k, v in after.items() if k != "levels"} == {
            k: v for k, v in before.items() if k != "levels"
        }
    groups = [e["attributes"][0]["groups"] for e, _, _ in seen]
    assert groups[0] == ["Female", "Male"] and groups[-1] == ["Female", "Male", "Other"]
    assert "train.selection_rate(sex=Other)" in seen[-1][2].columns
    # The first front's means are those of its training rows, before anything else arrived.
    rows0 = in_use(rows.drop(columns="district")[:BATCH])
    age = next(r for r in first["numeric"] if r["column"] == "age")
    assert age["mean"] == pytest.approx(rows0["age"].astype(float).mean(), rel=0.2)
    # A model of the first batch scores its rows as it did, and new categories as any unseen one.
    old = rows[:BATCH].drop(columns="district")
    write(tmp_path / "old.csv", text_of(old))
    out = fairfront("predict", tmp_path / "1.json", tmp_path / "old.csv", "--output", "-").decode()
    used = in_use(old)
    found = pd.read_csv(io.StringIO(out)).loc[used.index, "score"]
    np.testing.assert_allclose(found, scores(seen[0][1], used), rtol=1e-12, atol=1e-12)


def test_drift_is_what_pandas_finds(fairfront, rows, tmp_path):
    write(tmp_path / "rows.csv", text_of(rows))
    for name, keep in [("all", []), ("window", ["--window", "200"])]:
        state = tmp_path / name
        fairfront("stream", state, tmp_path / "rows.csv", *SPEC, *keep, "--split", "none", QUIET)
        known = None
        kept = rows[:0].drop(columns="district")
        found = drifts(state)
        assert [d["batch"] for d in found] == [1, 2, 3, 4, 5]
        for number, drift in enumerate(found):
            arrived = rows[number * BATCH : (number + 1) * BATCH].drop(columns="district")
            used = in_use(arrived)
            assert drift["rows"] == (number + 1) * BATCH
            assert (drift["used"], drift["dropped"]) == (len(used), BATCH - len(used))
            check_shift(drift["base_rate"], kept["approved"] == "yes", used["approved"] == "yes")
            for group in drift["groups"]:
                members = [part["sex"] == group["group"] for part in (kept, used)]
                assert group["rows"] == members[1].sum()
                check_shift(group["share"], *members)
                pairs = zip((kept, used), members, strict=True)
                labels = [(part["approved"] == "yes")[m] for part, m in pairs]
                check_shift(group["base_rate"], *labels)
            levels = used.drop(columns=["sex", "approved", *numeric(first_batch(rows))])
            if known is None:
                known = {c: set(levels[c]) for c in levels}
            unseen = pd.concat([~levels[c].isin(known[c]) for c in levels], axis=1).any(axis=1)
            assert drift["unseen_share"] == pytest.approx(unseen.mean(), abs=1e-12)
            new = [f"{c}={v}" for c in levels for v in sorted(set(levels[c]) - known[c])]
            assert sorted(drift["new_levels"]) == sorted(new)
            for column in levels:
                known[column] |= set(levels[column])
            kept = pd.concat([kept, used])
            kept = kept[-200:] if keep else kept
            assert drift["kept"] == len(kept)
        assert [d["new_groups"] for d in found].count(["sex=Other"]) == 1


def first_batch(rows):
    return rows[:BATCH]


def numeric(rows):
    """Columns that are numbers in all rows."""
    number = lambda c: pd.to_numeric(rows[c], errors="coerce").notna().mean()  # noqa: E731
    return [c for c in rows if number(c) > 0.9]


def check_shift(shift, before, batch):
    for seen, values in [(shift["before"], before), (shift["batch"], batch)]:
        if len(values) == 0:
            # A group without rows before had a share of 0 of them, if there were any at all.
            assert seen is None or seen == 0
        else:
            assert seen == pytest.approx(values.mean(), abs=1e-12)


def test_hypervolumes_are_those_of_moocore(whole):
    settled = json.loads((newest(whole) / "state.json").read_text())["settled"]
    reference = np.array(settled["reference"])
    assert settled["judged_by"] == ["1 - accuracy", "demographic_parity_difference(sex)"]
    table = front(whole)
    # Training and validation rows together judge a front.
    parts = ["train", "validation"]
    groups = json.loads((newest(whole) / "encoding.json").read_text())["attributes"][0]["groups"]
    assert groups == ["Female", "Male", "Other"]

    def total(kind, group):
        return sum(table[f"{part}.{kind}(sex={group})"] for part in parts)

    kinds = ["true_positives", "false_positives", "true_negatives", "false_negatives"]
    counts = {(k, g): total(k, g) for k in kinds for g in groups}
    of_group = {g: total("count", g) for g in groups}
    right = sum(counts[k, g] for k in kinds[::2] for g in groups)
    selected = [(counts[kinds[0], g] + counts[kinds[1], g]) / of_group[g] for g in groups]
    gap = np.max(selected, axis=0) - np.min(selected, axis=0)
    values = np.column_stack([1 - right / sum(of_group.values()), gap])
    np.testing.assert_allclose(np.array(settled["values"]).reshape(-1, 2), values, atol=1e-12)
    expected = moocore.hypervolume(values, ref=reference) / reference.prod()
    last = drifts(whole)[-1]["front"]
    assert last["hypervolume"] == pytest.approx(expected, abs=1e-12)
    assert last["points"] == len(table)
    assert last["hypervolume_before"] <= last["hypervolume"] + 1e-12


# Rows that cannot be used.
