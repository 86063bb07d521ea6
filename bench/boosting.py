"""Boosted trees: fairfront compared with LightGBM.

Both fit 100 trees of 8 leaves with a learning rate of 0.1 on one thread. Tables: Adult (60% of the published rows for
training, 30% for testing), and three generated ones, of which one is like a bank's marketing campaign. CPU time is
that of the process, for bins and trees; rows are in memory before. A million rows of Adult's shape are scored on all
cores, wall time.

LightGBM's other settings are its defaults, with `force_row_wise`, which is its fastest mode here; columns with
categories are declared. Defaults of fairfront were chosen on seeds below 50, results are from seeds from 100 on.
On Adult, a seed only changes the split, so these seeds share rows.

Run `cargo build --release -p fairfront-learn --example boosting` first.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from machine import where

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work" / "boosting"
PROGRAM = BENCH.parent / "target/release/examples/boosting"
NUMERIC = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
CATEGORICAL = "workclass education marital-status occupation relationship native-country".split()
ADULT_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
).split()
ROUNDS = 100
SCORED = 1_000_000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get("FAIRFRONT_DATA", ".")
    parser.add_argument("--data", type=Path, default=Path(folder), help="folder with adult.data and adult.test")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--settings", default="{}", help="settings of fairfront, as JSON")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--no-predict", action="store_true")
    args = parser.parse_args()
    if not PROGRAM.is_file():
        sys.exit(f"{PROGRAM}: not found; run cargo build --release -p fairfront-learn --example boosting")
    runs = []
    for table in args.tables:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            numbers, codes, labels, n_train = TABLES[table](seed, args.data)
            folder = write(numbers, codes, labels, n_train)
            for name, result in [
                ("fairfront", with_fairfront(folder, args.settings)),
                ("LightGBM", with_lightgbm(numbers, codes, labels, n_train)),
            ]:
                runs.append({"table": table, "seed": seed, "learner": name, **result})
    rows = summarize(runs)
    prediction = None if args.no_predict else predict(args.data)
    print(text_of(rows, prediction))
    if not args.no_write:
        import lightgbm

        versions = {m.__name__: m.__version__ for m in (lightgbm, np)}
        results = {"machine": where(versions), "tables": rows, "prediction": prediction, "runs": runs}
        (BENCH / "results/boosting.json").write_text(json.dumps(results, indent=1) + "\n")
        path = BENCH / "results/boosting.md"
        marker = "\n## Why not an existing crate\n"
        reason = path.read_text().partition(marker)[2] if path.is_file() else ""
        path.write_text(text_of(rows, prediction) + (marker + reason if reason else ""))


def adult(seed, data):
    """Adult: 60% for training, the next 10% unused, 30% for testing."""
    read = {"names": ADULT_COLUMNS, "skipinitialspace": True, "header": None}
    tables = [pd.read_csv(data / "adult.data", **read), pd.read_csv(data / "adult.test", skiprows=1, **read)]
    table = pd.concat(tables, ignore_index=True).dropna(subset=["income"])
    order = np.random.default_rng(seed).permutation(len(table))
    n_train, n_unused = round(0.6 * len(table)), round(0.1 * len(table))
    order = np.concatenate([order[:n_train], order[n_train + n_unused :]])
    table = table.iloc[order].reset_index(drop=True)
    codes = [categories_of(table[c], n_train) for c in CATEGORICAL]
    labels = table["income"].str.startswith(">50K").to_numpy().astype(np.uint32)
    return table[NUMERIC].to_numpy(float), codes, labels, n_train


def categories_of(column, n_train):
    """Codes of the categories of the training rows; others are past the last."""
    names = sorted(column[:n_train].unique())
    codes = column.map({name: i for i, name in enumerate(names)}).fillna(len(names))
    return codes.to_numpy().astype(np.uint32), len(names)


def bank(seed, _):
    """30,000 rows, 7 numbers and 9 columns with categories, 12% positive: thresholds, products and rare categories."""
    rng = np.random.default_rng([seed, 1])
    n = 30_000
    age = np.clip(rng.normal(41, 11, n).round(), 18, 90)
    balance = np.round(np.exp(rng.normal(6.5, 1.6, n)) - 200)
    day = rng.integers(1, 32, n)
    duration = np.round(rng.gamma(1.2, 220, n))
    campaign = rng.geometric(0.4, n)
    since = np.where(rng.random(n) < 0.8, -1, rng.integers(1, 800, n))
    previous = np.where(since < 0, 0, rng.geometric(0.5, n))
    sizes = [12, 3, 4, 2, 2, 2, 3, 12, 40]
    codes, effects = [], []
    for size in sizes:
        shares = rng.dirichlet(np.full(size, 1.5))
        codes.append((rng.choice(size, n, p=shares).astype(np.uint32), size))
        effects.append(rng.normal(0, 0.5, size))
    score = 1.4 * np.log1p(duration / 100) - 0.15 * campaign + 0.9 * (since > 0) * (since < 200)
    score += 0.6 * (age > 60) - 0.4 * ((age > 30) & (age < 50)) + 0.15 * np.sqrt(np.maximum(balance, 0)) / 10
    score += sum(e[c] for (c, _), e in zip(codes, effects))
    score += 0.8 * (codes[3][0] == 1) * (duration > 300) + 0.5 * (day > 25) * (codes[7][0] < 4)
    labels = drawn(rng, score, 0.12)
    return np.column_stack([age, balance, day, duration, campaign, since, previous]), codes, labels, 20_000


def smooth(seed, _):
    """20,000 rows of 12 normal numbers, correlated: smooth effects, products and noise columns."""
    rng = np.random.default_rng([seed, 2])
    n = 20_000
    x = rng.normal(size=(n, 12)) @ (np.eye(12) + 0.3 * rng.normal(size=(12, 12)))
    score = np.sin(2 * x[:, 0]) + 0.7 * x[:, 1] * (x[:, 2] > 0) + 0.3 * x[:, 3] ** 2 - 0.5 * np.abs(x[:, 4]) + 0.4 * x[:, 5]
    return x, [], drawn(rng, score, 0.4), 14_000


def categories(seed, _):
    """12,000 rows, mostly categories: 5 columns of 3 to 120 categories and 3 numbers with few values."""
    rng = np.random.default_rng([seed, 3])
    n = 12_000
    numbers = np.column_stack([rng.integers(0, 5, n), rng.poisson(2, n), rng.normal(size=n).round(1)]).astype(float)
    codes, score = [], 0.3 * numbers[:, 0] - 0.2 * numbers[:, 1] + 0.5 * np.abs(numbers[:, 2])
    for size in (3, 8, 20, 50, 120):
        column = rng.choice(size, n, p=rng.dirichlet(np.full(size, 1.0))).astype(np.uint32)
        codes.append((column, size))
        score = score + rng.normal(0, 0.7, size)[column]
    score += 0.9 * (codes[1][0] % 2) * (codes[2][0] % 3 == 0)
    return numbers, codes, drawn(rng, score, 0.3), 8_000


def drawn(rng, score, share):
    """Labels with the log odds of a score, shifted to a share of positives."""
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean(1 / (1 + np.exp(-score - middle))) < share else (low, middle)
    return (rng.random(len(score)) < 1 / (1 + np.exp(-score - low))).astype(np.uint32)


TABLES = {"adult": adult, "bank": bank, "smooth": smooth, "categories": categories}


def write(numbers, codes, labels, n_train):
    WORK.mkdir(parents=True, exist_ok=True)
    is_number = labels.dtype.kind == "f"
    shape = {
        "rows": len(labels),
        "train": n_train,
        "classes": 0 if is_number else 2,
        "numeric": numbers.shape[1],
        "categories": [n for _, n in codes],
    }
    (WORK / "shape.json").write_text(json.dumps(shape))
    numbers.astype("<f8").tofile(WORK / "numbers")
    matrix = np.column_stack([c for c, _ in codes]) if codes else np.zeros((len(labels), 0))
    matrix.astype("<u4").tofile(WORK / "codes")
    labels.astype("<f8" if is_number else "<u4").tofile(WORK / "labels")
    return WORK


def run(task, folder, threads, settings, rounds=ROUNDS):
    command = [PROGRAM, task, folder, str(threads), str(rounds), settings]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def with_fairfront(folder, settings):
    result = run("fit", folder, 1, settings)
    return {"cpu_s": result["cpu_s"], "bytes": result["bytes"], **result["test"]}


def with_lightgbm(numbers, codes, labels, n_train):
    import lightgbm

    matrix, categorical = matrix_of(numbers, codes)
    train, test = matrix[:n_train], matrix[n_train:]
    start = time.process_time()
    model = fit_lightgbm(lightgbm, train, labels[:n_train], categorical)
    cpu_s = time.process_time() - start
    p = np.clip(model.predict(test, num_threads=1), 1e-15, 1 - 1e-15)
    y = labels[n_train:]
    ranks = pd.Series(p).rank().to_numpy()
    n_positive = y.sum()
    auc = (ranks[y == 1].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * (len(y) - n_positive))
    return {
        "cpu_s": cpu_s,
        "bytes": len(model.model_to_string()),
        "accuracy": float(np.mean((p > 0.5) == y)),
        "log_loss": float(-np.mean(np.where(y == 1, np.log(p), np.log(1 - p)))),
        "auc": float(auc),
    }


def matrix_of(numbers, codes):
    # A code past the last category is missing, which goes to the right like an unseen category.
    columns = [np.where(c < n, c, np.nan) for c, n in codes]
    matrix = np.column_stack([numbers, *columns]) if columns else numbers
    return np.ascontiguousarray(matrix), list(range(numbers.shape[1], matrix.shape[1]))


def fit_lightgbm(lightgbm, matrix, labels, categorical):
    parameters = {
        "objective": "binary",
        "num_leaves": 8,
        "learning_rate": 0.1,
        "num_threads": 1,
        "force_row_wise": True,
        "verbose": -1,
    }
    rows = lightgbm.Dataset(matrix, labels, categorical_feature=categorical, params=parameters)
    return lightgbm.train(parameters, rows, ROUNDS)


def predict(data):
    """Seconds to score a million rows with Adult's columns, on all cores."""
    import lightgbm

    numbers, codes, labels, n_train = adult(0, data)
    test = np.resize(np.arange(n_train, len(labels)), SCORED)
    rows = np.concatenate([np.arange(n_train), test])
    numbers, labels = numbers[rows], labels[rows]
    codes = [(c[rows], n) for c, n in codes]
    folder = write(numbers, codes, labels, n_train)
    matrix, categorical = matrix_of(numbers, codes)
    model = fit_lightgbm(lightgbm, matrix[:n_train], labels[:n_train], categorical)
    million = np.ascontiguousarray(matrix[n_train:])
    theirs = []
    ours = []
    for repetition in range(4):
        mine = run("predict", folder, os.cpu_count(), "{}")["seconds"]
        for _ in range(4):
            start = time.perf_counter()
            model.predict(million, raw_score=True, num_threads=os.cpu_count())
            if repetition > 0:
                theirs.append(time.perf_counter() - start)
        if repetition > 0:
            ours.extend(mine[1:])
    return {"rows": SCORED, "fairfront_s": statistics.median(ours), "lightgbm_s": statistics.median(theirs)}


def summarize(runs):
    """Means over the seeds of each table, and differences."""
    rows = []
    for table in dict.fromkeys(r["table"] for r in runs):
        row = {"table": table}
        of = {n: [r for r in runs if r["table"] == table and r["learner"] == n] for n in ("fairfront", "LightGBM")}
        for key in ("accuracy", "log_loss", "auc", "cpu_s", "bytes"):
            row[key] = {n: statistics.mean(r[key] for r in of[n]) for n in of}
        pairs = list(zip(of["fairfront"], of["LightGBM"]))
        row["accuracy_difference"] = [a["accuracy"] - b["accuracy"] for a, b in pairs]
        row["log_loss_difference"] = [a["log_loss"] - b["log_loss"] for a, b in pairs]
        row["cpu_ratio"] = statistics.median(a["cpu_s"] / b["cpu_s"] for a, b in pairs)
        row["seeds"] = len(pairs)
        rows.append(row)
    return rows


def text_of(rows, prediction):
    lines = [
        "# Boosted trees",
        "",
        "fairfront's booster compared with LightGBM: 100 trees of 8 leaves, learning rate 0.1, one thread, mean over",
        f"{rows[0]['seeds']} seeds. CPU seconds are for bins and trees. Differences are fairfront minus LightGBM, in",
        "percentage points; in parentheses the smallest and the largest seed. Made by `bench/boosting.py`.",
        "",
        "| table | accuracy | LightGBM | difference | log loss | LightGBM | CPU s | LightGBM | ratio |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        a, l, c = row["accuracy"], row["log_loss"], row["cpu_s"]
        d = [100 * x for x in row["accuracy_difference"]]
        lines.append(
            f"| {row['table']} | {a['fairfront']:.4f} | {a['LightGBM']:.4f} | "
            f"{statistics.mean(d):+.2f} ({min(d):+.2f} to {max(d):+.2f}) | "
            f"{l['fairfront']:.4f} | {l['LightGBM']:.4f} | {c['fairfront']:.3f} | {c['LightGBM']:.3f} | "
            f"{row['cpu_ratio']:.2f} |"
        )
    if prediction:
        lines += [
            "",
            f"Scoring {prediction['rows']:,} rows of Adult's shape in memory, all cores, median wall seconds: "
            f"fairfront {prediction['fairfront_s']:.3f}, LightGBM {prediction['lightgbm_s']:.3f}.",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
