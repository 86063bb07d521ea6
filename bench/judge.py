"""Code shared by the comparisons with other tools: rows, runs in separate processes, evaluation.

The rows are those of `fairfront data export --encoded`, with the features, split and encoding of `fairfront fit`.
Another tool is one file in `neighbours/` with a TITLE and `fit(problem)`. `fit` sees the training rows and returns
models: coefficients with the intercept last, or a function from features to the probability of a positive decision.

Training and validation rows together decide which models are kept, and which of them if their number is limited. The
result is their hypervolume share on test rows, in the box between (0, 0) and the reference point: the minority share of
the target and the difference of the unmitigated model.
"""

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import moocore
import numpy as np
import pandas as pd
import pyarrow.parquet

from fronts import Sum
from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
CUT = 31
SPLITS = ["train", "validation", "test"]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
# The number of models whose decisions are computed together.
BLOCK = 64


# Rows


@dataclasses.dataclass
class Rows:
    """All rows: features with a column of ones, labels -1 and 1, groups, splits."""

    names: list
    attribute: str
    z: np.ndarray
    y: np.ndarray
    group: np.ndarray
    split: np.ndarray

    @classmethod
    def read(cls, path):
        rows = pd.read_csv(path)
        # There is one attribute, in the column before the label.
        attribute = rows.columns.get_loc("label") - 1
        assert (rows["weight"] == 1).all()
        features = rows.iloc[:, :attribute]
        return cls(
            list(features.columns),
            rows.columns[attribute],
            np.column_stack([features.to_numpy(float), np.ones(len(rows))]),
            2 * rows["label"].to_numpy(float) - 1,
            rows.iloc[:, attribute].astype(str).to_numpy(),
            rows["split"].to_numpy(),
        )

    def of(self, *splits):
        kept = np.isin(self.split, splits)
        columns = (self.z[kept], self.y[kept], self.group[kept], self.split[kept])
        return Rows(self.names, self.attribute, *columns)

    def counts(self):
        return {split: int((self.split == split).sum()) for split in SPLITS}


@dataclasses.dataclass
class Problem:
    """The input of another tool: training rows and the terms of the objectives.

    f1 = mean of log(1 + exp(-y z.x)) + penalty.x²/2, f2 = (u.x)² with two groups; the last column of z is ones. The
    constraint is the name of one of fairlearn's constraints.
    """

    z: np.ndarray
    y: np.ndarray
    group: np.ndarray
    penalty: np.ndarray
    u: np.ndarray
    seed: int
    constraint: str = "DemographicParity"


def objectives(rows):
    train = rows.of("train")
    return Sum(train.z, train.y, train.group)


# Runs


def export(name, path, *flags):
    command = [FAIRFRONT, "data", "export", name, *map(str, flags), "--encoded", "--force", "-o", path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())


def measured(command):
    """Standard error of a command, its wall and CPU time, and how busy other programs were."""
    start, before = time.perf_counter(), busy_s()
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    if process.returncode:
        raise RuntimeError(messages.strip())
    if messages:
        print(f"\n{messages}", file=sys.stderr)
    others = max(busy_s() - before - cpu, 0.0)
    return messages, {"wall_s": wall, "cpu_s": cpu, "cores_busy_with_others": round(others / wall, 2)}


def fit_fairfront(name, flags, out):
    """The cost of `fairfront fit`; prints the error and returns None if it fails."""
    command = [FAIRFRONT, "fit", name, *flags, "--out", out, "--force", "--quiet"]
    try:
        return measured(command)[1]
    except RuntimeError as error:
        arguments = " ".join(map(str, [name, *flags]))
        print(f"\nSKIPPED: fairfront fit {arguments}: {error}", file=sys.stderr)
        return None


def read_front(out, rows):
    """The contents of a run folder: run.json, columns, models."""
    info = json.loads((out / "run.json").read_text())
    assert info["features"] == rows.names
    table = pyarrow.parquet.read_table(out / "front.parquet").to_pydict()
    return info, table, [np.array(params) for params in table["params"]]


def fit_neighbour(name, path, seed, constraint=Problem.constraint, **settings):
    """Title and CPU seconds of another tool, the rows, and its models."""
    start = time.process_time()
    # Tools may import each other.
    sys.path.append(str(BENCH / "neighbours"))
    spec = importlib.util.spec_from_file_location(name, BENCH / f"neighbours/{name}.py")
    neighbour = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(neighbour)
    rows = Rows.read(path)
    both, train = objectives(rows), rows.of("train")
    problem = Problem(train.z, train.y, train.group, both.penalty, both.u[0], int(seed), constraint)
    begin = time.process_time()
    models = neighbour.fit(problem, **settings)
    end = time.process_time()
    front = {
        "title": neighbour.TITLE,
        "cpu_s": end - begin,
        "imports_and_reading_s": begin - start,
    }
    return front, rows, models


# Evaluation


def measures(models, rows, gap="demographic_parity_difference"):
    """1 - accuracy and the difference between groups, for each model."""
    positive = rows.y > 0
    parts = {
        "demographic_parity_difference": [np.ones_like(positive)],
        "equal_opportunity_difference": [positive],
        "equalized_odds_difference": [positive, ~positive],
    }[gap]
    groups = np.array([rows.group == name for name in sorted(set(rows.group))])
    # Sums of 0 and 1 are exact in float64, so that equal rates stay equal.
    masks = [np.array([m for m in groups & part if m.any()], float) for part in parts]
    found = []
    for i in range(0, len(models), BLOCK):
        p = decisions(models[i : i + BLOCK], rows)
        errors = abs(p - positive[:, None]).mean(0)
        gaps = [np.ptp(mask @ p / mask.sum(1, keepdims=True), axis=0) for mask in masks]
        found += zip(errors, np.max(gaps, axis=0), strict=True)
    return found


def decisions(models, rows):
    """The probability of a positive decision, one column per model."""
    if any(map(callable, models)):
        return np.column_stack([model(rows.z[:, :-1]) for model in models])
    return (rows.z @ np.array(models).T >= 0).astype(float)


def check_measures(models, rows, table, gap="demographic_parity_difference"):
    """Check fairfront's measures against the exported rows, and those of one model against fairlearn."""
    import fairlearn.metrics

    one = len(models) // 2
    for split in SPLITS:
        part = rows.of(split)
        found = np.array(measures(models, part, gap))
        gaps = table[f"{split}.{gap}({rows.attribute})"]
        for values, theirs in (
            (1 - found[:, 0], table[f"{split}.accuracy"]),
            (found[:, 1], gaps),
        ):
            off = abs(values - theirs)
            worst = int(off.argmax())
            margin = abs(part.z @ models[worst]).min()
            assert off[worst] < 1e-9, (
                f"fairfront's measures of model {worst + 1} differ from those of the {split} rows by "
                f"{off[worst]:.1e}; its score closest to 0 is {margin:.1e}"
            )
        decided = part.z @ models[one] >= 0
        function = getattr(fairlearn.metrics, gap)
        theirs = function(part.y > 0, decided, sensitive_features=part.group)
        assert abs(theirs - found[one, 1]) < 1e-12, (theirs, found[one, 1])
        assert abs((decided != (part.y > 0)).mean() - found[one, 0]) < 1e-12


def references(rows, unmitigated, gap="demographic_parity_difference"):
    """The minority share of the target and the difference of the unmitigated model."""
    found = {}
    for name, splits in (("chosen", ("train", "validation")), ("test", ("test",))):
        part = rows.of(*splits)
        share = (part.y > 0).mean()
        found[name] = [min(share, 1 - share), measures([unmitigated], part, gap)[0][1]]
    return found


def judged(chosen, test, references):
    """The models that are kept, at most CUT of them, and their hypervolume shares on test rows."""
    kept = np.flatnonzero(moocore.is_nondominated(chosen))
    some = spread(chosen[kept], references["chosen"])
    reference = references["test"]
    share = lambda points: moocore.hypervolume(points, ref=reference) / np.prod(reference)
    volumes = {
        "test": share(test[kept]),
        "test_cut": share(test[kept[some]]) if some else 0.0,
        "smallest_gap": test[kept, 1].min(),
    }
    return kept.tolist(), some, volumes


def spread(points, reference):
    """Choose at most CUT points, each time the point that adds the most hypervolume.

    A point adds a rectangle. It ends at the nearest chosen points on both sides in the order of the first objective, or
    at the reference point.
    """
    x, y = np.asarray(points, float).T
    useful = moocore.is_nondominated(points) & (x < reference[0]) & (y < reference[1])
    useful = np.flatnonzero(useful)
    order = useful[np.argsort(x[useful])]
    x, y = x[order], y[order]
    right, above = np.full(len(order), reference[0]), np.full(len(order), reference[1])
    some = []
    while len(some) < min(CUT, len(order)):
        areas = (right - x) * (above - y)
        best = int(areas.argmax())
        if areas[best] <= 0:
            break
        some.append(int(order[best]))
        right[: best + 1] = np.minimum(right[: best + 1], x[best])
        above[best:] = np.minimum(above[best:], y[best])
    return some


# Results


def summary(front):
    """A front without its models, which can be computed again: sizes, costs and hypervolumes."""
    models = front["models"] if "models" in front else front["points"]["models"]
    counts = {"models": models if isinstance(models, int) else len(models)}
    if "kept" in front:
        counts["kept"] = len(front["kept"])
    left_out = ("models", "points", "kept", "cut")
    return {**{key: value for key, value in front.items() if key not in left_out}, **counts}


def without_models(seeds):
    """The results of all seeds, for the result file."""
    return [{**seed, "fronts": [summary(front) for front in seed["fronts"]]} for seed in seeds]


def write_results(name, text, content, packages, folder=BENCH / "results"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)
    versions = {name: importlib.metadata.version(name) for name in packages}
    # The version is that of the sources; the digest identifies the program.
    head = {"where": where(versions), "program_sha256": sha256(FAIRFRONT), "cut": CUT}
    raw = json.dumps(rounded({**head, **content}), indent=0)
    # Write lists and objects without others inside on one line.
    raw = re.sub(r"([\[{])\s+([^\]\[{}]*?)\s+([\]}])", lambda m: m[1] + " ".join(m[2].split()) + m[3], raw)
    (folder / f"{name}.json").write_text(raw + "\n")


def rounded(value):
    """The same JSON with seven significant digits."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
