"""Penalty: test accuracy of the unmitigated model compared with scikit-learn's logistic regressions.

Each table is fitted with the defaults of `fairfront fit`, which chooses the penalty by cross-validation. The
unmitigated model of that run, `LogisticRegression()` and `LogisticRegressionCV()` see the same encoded training rows
(`fairfront data export --encoded`) and are scored on the same test rows. Only `max_iter` differs from scikit-learn's
defaults, so that its solver converges.

Tables: samples of Adult, COMPAS, the demo and the synthetic data set; the whole Adult and COMPAS with their own
encoding; and generated tables: few and many columns, with much or little noise, strong and weak signals, categories, a
label that is not linear in the columns, and more columns than rows. The settings of the cross-validation were chosen on
generated tables with seeds 0 to 7 and 100 to 103, and on samples of known tables with seeds 0 to 4; the seeds here
start at 1,000.

Differences are fairfront's accuracy minus scikit-learn's, in percentage points: the mean over tables and its standard
error. Run by `make bench-penalty`.
"""

import argparse
import concurrent.futures
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from machine import where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
RESULTS = BENCH / "results"
FIRST_SEED = 1_000
# The largest number of test rows.
MOST_TEST = 10_000
# Training rows, and the number of tables of each kind.
SIZES = {300: 4, 1_000: 3, 3_000: 2, 10_000: 1, 50_000: 1}
# Numeric columns, the share of them that affects the label, categorical columns, strength of the signal.
KINDS = {
    "narrow": (6, 0.8, 0, 1.5),
    "noisy": (25, 0.3, 0, 0.8),
    "wide": (60, 0.3, 0, 2.0),
    "strong": (12, 0.8, 3, 5.0),
    "categories": (5, 0.8, 8, 1.5),
    "curved": (10, 0.8, 4, 1.0),
    "very wide": (400, 0.05, 0, 3.0),
}
# Known tables from which samples are drawn: their flags, and the largest sample of each.
KNOWN = {
    "adult:sex": (["--target", "income", "--positive", ">50K", "--sensitive", "sex"], 30_000),
    "compas:race": (["--target", "two_year_recid", "--positive", "0", "--sensitive", "race"], 3_000),
    "demo(rows=70000)": (["--target", "approved", "--positive", "yes", "--sensitive", "sex", "--drop", "race"], 50_000),
    "synthetic:3(rows=70000)": (["--target", "y", "--positive", "1", "--sensitive", "a"], 50_000),
}
WHOLE = ["adult:sex", "compas:race"]


def generated(kind, n, seed):
    """A generated table with n training rows; the other rows are test rows."""
    columns, share, n_categorical, strength = KINDS[kind]
    rng = np.random.default_rng([FIRST_SEED + seed, n, list(KINDS).index(kind)])
    total = n + MOST_TEST // 2
    group = rng.random(total) < 0.5
    x = rng.normal(size=(total, columns)) + 0.4 * np.outer(group, rng.random(columns) < 0.3)
    score = x @ (rng.normal(size=columns) * (rng.random(columns) < share))
    table = {f"x{j}": np.round(x[:, j], 4) for j in range(columns)}
    for k in range(n_categorical):
        n_categories = int(rng.integers(3, 9))
        codes = rng.integers(0, n_categories, total)
        score = score + 0.6 * rng.normal(size=n_categories)[codes]
        table[f"c{k}"] = [f"v{code}" for code in codes]
    score = strength * (score - np.median(score)) / score.std()
    if kind == "curved":
        score = score + 0.5 * strength * (x[:, 0] ** 2 - 1)
    label = rng.random(total) < 1 / (1 + np.exp(-score))
    table = pd.DataFrame(table)
    table["group"] = np.where(group, "a", "b")
    table["label"] = np.where(label, "yes", "no")
    table["part"] = ["train"] * n + ["test"] * (total - n)
    return table, ["--target", "label", "--positive", "yes", "--sensitive", "group"]


def sampled(rows, n, seed):
    """A sample of a known table with n training rows."""
    order = np.random.default_rng([FIRST_SEED + seed, n]).permutation(len(rows))
    table = rows.iloc[order[: n + min(MOST_TEST, len(rows) - n)]].copy()
    table["part"] = ["train"] * n + ["test"] * (len(table) - n)
    return table


def run(*command):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def known_rows(name):
    """The rows of a known table as strings."""
    rows = pd.read_csv(io.StringIO(run(FAIRFRONT, "data", "export", name, "-o", "-")), dtype=str)
    return rows.drop(columns=[c for c in ("split", "weight") if c in rows])


def compare(name, size, seed, source, flags):
    """Accuracies on the test rows of one table."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if isinstance(source, pd.DataFrame):
            path = folder / "rows.csv"
            source.to_csv(path, index=False)
            source, flags = path, [*flags, "--split", "column:part"]
        # The unmitigated model does not depend on the number of weighted sums.
        few = ["--set", "sums=2", "--threads", "1", "--quiet"]
        run(FAIRFRONT, "fit", source, *flags, *few, "--out", folder / "run")
        run(FAIRFRONT, "data", "export", source, *flags, "--encoded", "--force", "-o", folder / "encoded.csv")
        info = json.loads((folder / "run/run.json").read_text())
        rows = pd.read_csv(folder / "encoded.csv")
    z = rows[info["features"]].to_numpy(float)
    y = rows["label"].to_numpy() > 0
    train, test = (rows["split"] == "train").to_numpy(), (rows["split"] == "test").to_numpy()

    def accuracy(model):
        return float((model.fit(z[train], y[train]).predict(z[test]) == y[test]).mean())

    found = info["unmitigated"]["values"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = accuracy(LogisticRegression(max_iter=5_000))
        cv = LogisticRegressionCV(max_iter=1_000, l1_ratios=(0,), use_legacy_attributes=False)
        chosen = accuracy(cv)
    print(f"{name:24} {size:6} {seed} {found['test.accuracy']:.4f} {plain:.4f} {chosen:.4f}", file=sys.stderr)
    return {
        "table": name,
        "train_rows": int(train.sum()),
        "test_rows": int(test.sum()),
        "features": len(info["features"]),
        "size": size,
        "seed": seed,
        "penalty": info["penalty"]["chosen"],
        "sklearn_cv_penalty": float(1 / (np.ravel(cv.C_)[0] * train.sum())),
        "fairfront": found["test.accuracy"],
        "fairfront_train": found["train.accuracy"],
        "LogisticRegression": plain,
        "LogisticRegressionCV": chosen,
    }


def tables(sizes, most_tables):
    """All tables: name, size, seed, source and flags."""
    for size, n_tables in SIZES.items():
        if size not in sizes:
            continue
        n_tables = min(n_tables, most_tables)
        for kind in KINDS:
            if kind == "very wide" and size > 300:
                continue
            for seed in range(n_tables):
                yield (kind, size, seed, *generated(kind, size, seed))
        for name, (flags, largest) in KNOWN.items():
            if size <= largest:
                for seed in range(n_tables):
                    yield name, size, seed, sampled(ROWS[name], size, seed), flags
    for name in WHOLE:
        for seed in range(min(3, most_tables)):
            yield name, "whole", seed, name, ["--split", "60/10/30", "--seed", FIRST_SEED + seed]


def summary(found):
    """Mean differences in percentage points with their standard errors, by size and for all tables."""
    lines = ["| training rows | tables | minus `LogisticRegression()` | minus `LogisticRegressionCV()` |"]
    lines.append("| --- | ---: | ---: | ---: |")
    summaries = {}
    for size in [*dict.fromkeys(f["size"] for f in found), "all"]:
        of_size = [f for f in found if size in (f["size"], "all")]
        cells = []
        for other in ("LogisticRegression", "LogisticRegressionCV"):
            differences = [100 * (f["fairfront"] - f[other]) for f in of_size]
            mean = statistics.mean(differences)
            error = statistics.stdev(differences) / len(differences) ** 0.5 if len(differences) > 1 else 0.0
            summaries.setdefault(str(size), {"tables": len(of_size)})[other] = [mean, error]
            cells.append(f"{mean:+.2f} ± {error:.2f}")
        title = f"{size:,}" if isinstance(size, int) else size
        lines.append(f"| {title} | {len(of_size)} | {' | '.join(cells)} |")
    return summaries, "\n".join(lines) + "\n"


ROWS = {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--tables", type=int, default=max(SIZES.values()), help="most tables per kind and size")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    for name in KNOWN:
        ROWS[name] = known_rows(name)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(compare, *table) for table in tables(args.sizes, args.tables)]
        found = [job.result() for job in jobs]
    summaries, text = summary(found)
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "pandas": pd.__version__}
    result = {"machine": where(versions), "summary": summaries, "tables": found}
    (args.out / "penalty.json").write_text(json.dumps(result, indent=1) + "\n")
    (args.out / "penalty.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
