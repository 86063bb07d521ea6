"""The numbers of streams, compared with pandas, numpy, scipy and moocore."""

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
    """The state of a stream that read all rows from one file."""
    folder = tmp_path_factory.mktemp("whole")
    return all_at_once(fairfront, with_bad_rows(text_of(rows)), folder)


def decided(fairfront, state, rows, folder):
    """Yield every model of a front with its decisions on these rows, by numpy from the model file."""
    table = front(state)
    known = None
    for _, values in table.iterrows():
        model = fairfront.model(state, int(values["model_id"]), folder / "model.json")
        score = scores(model, rows)
        # All models of a front have the same encoding.
        known = known or model["encoding"]
        assert model["encoding"] == known
        yield values, score >= model["threshold"]


def in_use(rows):
    """Return the rows without missing values, in order."""
    return rows[~rows.isin(MISSING).any(axis=1)]


@pytest.mark.parametrize("keep", [["--window", "210"], ["--window", "97"], []])
def test_values_agree_with_the_kept_rows(fairfront, rows, tmp_path, keep):
    rng, shares = np.random.default_rng(1), [0.7, 0.1, 0.2]
    rows = rows.assign(part=rng.choice(["train", "validation", "test"], len(rows), p=shares))
    write(tmp_path / "rows.csv", text_of(rows))
    state = tmp_path / "state"
    fairfront("stream", state, tmp_path / "rows.csv", *SPEC, *keep, "--split", "column:part", QUIET)
    batches = info(state)["stream"]["batches"]
    used = in_use(rows.drop(columns="district")[: batches * BATCH])
    kept = used[-int(keep[1]) :] if keep else used
    assert info(state)["stream"]["kept"] == len(kept)
    assert info(state)["stream"]["used"] == len(used)
    n_models = 0
    for split in ["train", "validation", "test"]:
        of_split = kept[kept["part"] == split]
        label = of_split["approved"] == "yes"
        for values, decision in decided(fairfront, state, of_split, tmp_path):
            n_models += 1
            accuracy = np.mean(decision == label)
            assert values[f"{split}.accuracy"] == pytest.approx(accuracy, abs=1e-12)
            for group, at in of_split.groupby("sex").indices.items():
                column = f"{split}.selection_rate(sex={group})"
                assert values[column] == pytest.approx(decision[at].mean(), abs=1e-12)
                assert values[f"{split}.count(sex={group})"] == len(at)
    assert n_models >= 3 and ("Other" in set(kept["sex"]))


def reservoir_of(fairfront, folder, n_rows, size, seed, batch):
    """Return the numbers of the rows in a reservoir, from its only feature, which is not scaled."""
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
            # The size of batches does not matter.
            other = reservoir_of(fairfront, tmp_path, n, size, seed, 80)
            assert (found == other).all()
    # Each of twelve parts of the stream is expected to have 100 rows in the samples. Samples without repeats vary less
    # than independent draws, so that the test is conservative.
    assert chisquare(counts.reshape(12, -1).sum(1)).pvalue > 1e-4


# Encoding, drift and hypervolume.


def test_the_first_batch_fixes_the_encoding(fairfront, rows, tmp_path):
    lines = text_of(rows).splitlines(keepends=True)
    file, state = tmp_path / "rows.csv", tmp_path / "state"
    seen = []
    for batches in range(1, 6):
        write(file, "".join(lines[: 1 + batches * BATCH]))
        fairfront("stream", state, file, *SPEC, QUIET)
        encoding = json.loads((newest(state) / "encoding.json").read_text())
        model = tmp_path / f"{batches}.json"
        seen.append((encoding, fairfront.model(state, 1, model), front(state)))
    first, last = seen[0][0], seen[-1][0]
    assert first["numeric"] == last["numeric"] and first["target"] == last["target"]
    new = {"education": ["apprentice"]}
    for before, after in zip(first["categorical"], last["categorical"], strict=True):
        assert after["categories"] == before["categories"] + new.get(after["column"], [])
        assert {k: v for k, v in after.items() if k != "categories"} == {
            k: v for k, v in before.items() if k != "categories"
        }
    groups = [e["attributes"][0]["groups"] for e, _, _ in seen]
    assert groups[0] == ["Female", "Male"] and groups[-1] == ["Female", "Male", "Other"]
    assert "train.selection_rate(sex=Other)" in seen[-1][2].columns
    # The means of the encoding are those of the first batch's training rows.
    rows0 = in_use(rows.drop(columns="district")[:BATCH])
    age = next(r for r in first["numeric"] if r["column"] == "age")
    assert age["mean"] == pytest.approx(rows0["age"].astype(float).mean(), rel=0.2)
    # A model of the first batch still gives its rows the same scores.
    old = rows[:BATCH].drop(columns="district")
    write(tmp_path / "old.csv", text_of(old))
    out = fairfront("predict", tmp_path / "1.json", tmp_path / "old.csv", "--output", "-").decode()
    used = in_use(old)
    found = pd.read_csv(io.StringIO(out)).loc[used.index, "score"]
    np.testing.assert_allclose(found, scores(seen[0][1], used), rtol=1e-12, atol=1e-12)


def test_drift_agrees_with_pandas(fairfront, rows, tmp_path):
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
            categories = used.drop(columns=["sex", "approved", *numeric(first_batch(rows))])
            if known is None:
                known = {c: set(categories[c]) for c in categories}
            unseen = pd.concat([~categories[c].isin(known[c]) for c in categories], axis=1).any(axis=1)
            assert drift["unseen_share"] == pytest.approx(unseen.mean(), abs=1e-12)
            new = [f"{c}={v}" for c in categories for v in sorted(set(categories[c]) - known[c])]
            assert sorted(drift["new_categories"]) == sorted(new)
            for column in categories:
                known[column] |= set(categories[column])
            kept = pd.concat([kept, used])
            kept = kept[-200:] if keep else kept
            assert drift["kept"] == len(kept)
        assert [d["new_groups"] for d in found].count(["sex=Other"]) == 1


def first_batch(rows):
    return rows[:BATCH]


def numeric(rows):
    """Return the columns with numbers in more than 90% of the rows."""
    number = lambda c: pd.to_numeric(rows[c], errors="coerce").notna().mean()  # noqa: E731
    return [c for c in rows if number(c) > 0.9]


def check_shift(shift, before, batch):
    for seen, values in [(shift["before"], before), (shift["batch"], batch)]:
        if len(values) == 0:
            # The share before is 0 if there were rows of other groups, and null without any rows.
            assert seen is None or seen == 0
        else:
            assert seen == pytest.approx(values.mean(), abs=1e-12)


def test_hypervolumes_agree_with_moocore(whole):
    settled = json.loads((newest(whole) / "state.json").read_text())["settled"]
    reference = np.array(settled["reference"])
    assert settled["judged_by"] == ["1 - accuracy", "demographic_parity_difference(sex)"]
    table = front(whole)
    # A front is judged on training and validation rows together.
    splits = ["train", "validation"]
    groups = json.loads((newest(whole) / "encoding.json").read_text())["attributes"][0]["groups"]
    assert groups == ["Female", "Male", "Other"]

    def total(kind, group):
        return sum(table[f"{split}.{kind}(sex={group})"] for split in splits)

    kinds = ["true_positives", "false_positives", "true_negatives", "false_negatives"]
    counts = {(k, g): total(k, g) for k in kinds for g in groups}
    of_group = {g: total("count", g) for g in groups}
    right = sum(counts[k, g] for k in kinds[::2] for g in groups)
    selected = [(counts[kinds[0], g] + counts[kinds[1], g]) / of_group[g] for g in groups]
    difference = np.max(selected, axis=0) - np.min(selected, axis=0)
    values = np.column_stack([1 - right / sum(of_group.values()), difference])
    np.testing.assert_allclose(np.array(settled["values"]).reshape(-1, 2), values, atol=1e-12)
    expected = moocore.hypervolume(values, ref=reference) / reference.prod()
    last = drifts(whole)[-1]["front"]
    assert last["hypervolume"] == pytest.approx(expected, abs=1e-12)
    assert last["models"] == len(table)
    assert last["hypervolume_before"] <= last["hypervolume"] + 1e-12
