"""Shared code of tests of runs: a run folder with the rows it was fitted on."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

EXACT = 1e-12
SPLITS = ["train", "validation", "test"]
# Flags that read the rows of the fixture `loans`.
LOANS = [
    *("--target", "approved", "--positive", "yes", "--sensitive", "sex", "--sensitive", "race"),
    *("--missing", "savings=mean", "--missing", "occupation=category", "--drop", "split"),
    *("--weight", "w"),
]


class Run:
    """A run folder with the rows it was fitted on."""

    def __init__(self, fairfront, folder, spec, objectives=(), settings=("--quiet",)):
        self.folder, self.objectives, self.spec = folder, objectives, spec
        self.fairfront, self.settings = fairfront, settings
        self.fit(folder)
        self.info = json.loads((folder / "run.json").read_text())
        self.table = pq.read_table(folder / "front.parquet").to_pandas()
        rows = fairfront.encoded(*spec)
        label = rows.columns.get_loc("label")
        self.attributes = [c for c in rows.columns[:label] if rows[c].dtype == object]
        self.features = [c for c in rows.columns[:label] if c not in self.attributes]
        self.rows = rows
        self.splits = {name: self.joined(name) for name in SPLITS}

    def joined(self, *names):
        """Return the rows of several splits together."""
        return Split(self, self.rows[self.rows["split"].isin(names)])

    def fit(self, folder, *more, **environment):
        objectives = [word for o in self.objectives for word in ("--objective", o)]
        # The definitions in the tests compare all groups; test_messy_rows.py tests the default.
        compared = [] if "--min-group" in self.settings else ["--min-group", 0]
        args = [*self.spec, *objectives, *self.settings, *compared, "--out", folder, *more]
        self.fairfront("fit", *args, **environment)

    def models(self, n=8):
        """Yield parameters and values of n models spread over the front, then of the unmitigated model."""
        picked = np.unique(np.linspace(0, len(self.table) - 1, n).astype(int))
        for _, row in self.table.iloc[picked].iterrows():
            yield np.array(row["params"]), row.drop("params").to_dict()
        unmitigated = self.info["unmitigated"]
        yield np.array(unmitigated["params"]), unmitigated["values"]


class Split:
    """The rows of one split as arrays."""

    def __init__(self, run, rows):
        self.z = np.column_stack([rows[run.features].to_numpy(float), np.ones(len(rows))])
        self.y = rows["label"].to_numpy()
        self.w = rows["weight"].to_numpy()
        # The penalty of the log loss; absent if the first objective sets its own.
        self.penalty = run.info.get("penalty", {}).get("chosen")
        self.groups = {a: rows[a].to_numpy(str) for a in run.attributes}

    def known(self, attribute):
        """Return which rows have a known group."""
        return self.groups[attribute] != ""


def near(seen, expected, name, absolute=0.0):
    assert seen == pytest.approx(expected, rel=EXACT, abs=absolute), name


def scores(split, params):
    """Return scores and decisions; no score may be so close to 0 that rounding decides."""
    phi = split.z @ params
    assert not ((0 < abs(phi)) & (abs(phi) < 1e-12)).any()
    return phi, phi >= 0


def dominated(values):
    """Return for each row whether another row is nowhere larger and somewhere smaller."""
    no_worse = (values[:, None] <= values[None]).all(2)
    better = (values[:, None] < values[None]).any(2)
    return (no_worse & better).any(0)
