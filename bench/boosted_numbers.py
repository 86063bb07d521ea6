"""Boosted trees for targets that are numbers: fairfront compared with scikit-learn and LightGBM.

All fit 100 trees of 8 leaves with a learning rate of 0.1 on one thread, by squared error. Tables: the decile scores
of COMPAS, the working hours of Adult, and two generated ones; 70% of the rows train. CPU time is that of the process,
for bins and trees; rows are in memory before. Other settings are the libraries' defaults; columns with categories are
declared. LightGBM is left out if it is not installed.

`cross-fit` is the error of fairfront's final forest if cross-fitting chooses the number of rounds, as a fit of
`--family trees` does. Defaults of fairfront are those of classes, which were chosen on other tables and seeds.

Run `cargo build --release -p fairfront-learn --example boosting` first.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import boosting
from machine import where

TRAIN = 0.7
RESULTS = boosting.BENCH / "results"


def compas(seed, data):
    """Decile scores of 7,214 people, from 1 to 10."""
    table = pd.read_csv(data / "compas-scores-two-years.csv").sample(frac=1, random_state=seed)
    numbers = ["age", "priors_count", "juv_fel_count", "juv_misd_count", "juv_other_count"]
    return of_table(table, numbers, ["sex", "c_charge_degree", "race"], "decile_score")


def hours(seed, data):
    """Working hours per week of Adult."""
    read = {"names": boosting.ADULT_COLUMNS, "skipinitialspace": True, "header": None}
    table = pd.read_csv(data / "adult.data", **read).sample(frac=1, random_state=seed)
    numbers = ["age", "education-num", "capital-gain", "capital-loss"]
    return of_table(table, numbers, [*boosting.CATEGORICAL, "sex"], "hours-per-week")


def of_table(table, numbers, categorical, target):
    n_train = round(TRAIN * len(table))
    codes = [boosting.categories_of(table[c].astype(str).reset_index(drop=True), n_train) for c in categorical]
    return table[numbers].to_numpy(float), codes, table[target].to_numpy(float), n_train


def smooth(seed, _):
    """20,000 rows of 12 correlated normal numbers: smooth effects, products, and columns of noise."""
    rng = np.random.default_rng([seed, 4])
    n = 20_000
    x = rng.normal(size=(n, 12)) @ (np.eye(12) + 0.3 * rng.normal(size=(12, 12)))
    mean = np.sin(2 * x[:, 0]) + 0.7 * x[:, 1] * (x[:, 2] > 0) + 0.3 * x[:, 3] ** 2 - 0.5 * np.abs(x[:, 4])
    return x, [], mean + rng.normal(size=n), round(TRAIN * n)


def categories(seed, _):
    """12,000 rows, mostly categories, with an error that grows with the mean."""
    rng = np.random.default_rng([seed, 5])
    n = 12_000
    numbers = np.column_stack([rng.integers(0, 5, n), rng.poisson(2, n), rng.normal(size=n).round(1)]).astype(float)
    codes, mean = [], 0.3 * numbers[:, 0] - 0.2 * numbers[:, 1] + 0.5 * np.abs(numbers[:, 2])
    for size in (3, 8, 20, 50, 120):
        column = rng.choice(size, n, p=rng.dirichlet(np.full(size, 1.0))).astype(np.uint32)
        codes.append((column, size))
        mean = mean + rng.normal(0, 0.7, size)[column]
    labels = 1000 + 100 * (mean + rng.normal(size=n) * np.exp(0.2 * mean))
    return numbers, codes, labels, round(TRAIN * n)


TABLES = {"compas": compas, "hours": hours, "smooth": smooth, "categories": categories}


def with_fairfront(folder, settings):
    alone = boosting.run("fit", folder, 1, settings)
    chosen = boosting.run("cross-fit", folder, 1, settings, 300)
    return {"cpu_s": alone["cpu_s"], **alone["test"], "chosen": chosen["test"]["rmse"], "rounds": chosen["rounds"]}


def with_sklearn(numbers, codes, labels, n_train):
    from sklearn.ensemble import HistGradientBoostingRegressor

    matrix, categorical = boosting.matrix_of(numbers, codes)
    model = HistGradientBoostingRegressor(
        max_iter=boosting.ROUNDS, max_leaf_nodes=8, early_stopping=False, categorical_features=categorical or None
    )
    start = time.process_time()
    model.fit(matrix[:n_train], labels[:n_train])
    return measured(time.process_time() - start, model.predict(matrix[n_train:]), labels[n_train:])


def with_lightgbm(numbers, codes, labels, n_train):
    import lightgbm

    matrix, categorical = boosting.matrix_of(numbers, codes)
    parameters = {"objective": "regression", "num_leaves": 8, "num_threads": 1, "force_row_wise": True, "verbose": -1}
    start = time.process_time()
    rows = lightgbm.Dataset(matrix[:n_train], labels[:n_train], categorical_feature=categorical, params=parameters)
    model = lightgbm.train(parameters, rows, boosting.ROUNDS)
    cpu_s = time.process_time() - start
    return measured(cpu_s, model.predict(matrix[n_train:], num_threads=1), labels[n_train:])


def measured(cpu_s, predictions, labels):
    squares = np.mean((predictions - labels) ** 2)
    return {"cpu_s": cpu_s, "rmse": float(np.sqrt(squares)), "r2": float(1 - squares / np.var(labels))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = os.environ.get("FAIRFRONT_DATA", ".")
    parser.add_argument("--data", type=Path, default=Path(folder), help="folder with the published files")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--settings", default="{}", help="settings of fairfront, as JSON")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    if not boosting.PROGRAM.is_file():
        sys.exit(f"{boosting.PROGRAM}: not found; run cargo build --release -p fairfront-learn --example boosting")
    learners = {"scikit-learn": with_sklearn}
    if importlib.util.find_spec("lightgbm"):
        learners["LightGBM"] = with_lightgbm
    runs = []
    for table in args.tables:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            rows = TABLES[table](seed, args.data)
            folder = boosting.write(*rows)
            found = {"fairfront": with_fairfront(folder, args.settings)}
            found |= {name: fit(*rows) for name, fit in learners.items()}
            runs += [{"table": table, "seed": seed, "learner": name, **result} for name, result in found.items()]
    text = text_of(runs, list(learners))
    print(text)
    if not args.no_write:
        import sklearn

        results = {"machine": where({"scikit-learn": sklearn.__version__, "numpy": np.__version__}), "runs": runs}
        (RESULTS / "boosted_numbers.json").write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "boosted_numbers.md").write_text(text)


def text_of(runs, others):
    seeds = len({r["seed"] for r in runs})
    lines = [
        "# Boosted trees for numbers",
        "",
        f"RMSE on test rows of 100 trees of 8 leaves, learning rate 0.1, one thread, mean over {seeds} seeds. In",
        "parentheses: the difference of fairfront's from this RMSE in percent, for the smallest and the largest seed.",
        "`cross-fit` is fairfront with the number of rounds that cross-fitting chose. Made by",
        "`bench/boosted_numbers.py`.",
        "",
        f"| table | fairfront | {' | '.join(others)} | cross-fit | rounds | CPU s | {' | '.join(others)} |",
        "| --- |" + " ---: |" * (2 * len(others) + 4),
    ]
    for table in dict.fromkeys(r["table"] for r in runs):
        of = lambda name: [r for r in runs if r["table"] == table and r["learner"] == name]  # noqa: E731
        mean = lambda name, key: statistics.mean(r[key] for r in of(name))  # noqa: E731
        cells = [table, f"{mean('fairfront', 'rmse'):.4g}"]
        for name in others:
            pairs = zip(of("fairfront"), of(name))
            percent = [100 * (a["rmse"] / b["rmse"] - 1) for a, b in pairs]
            cells.append(f"{mean(name, 'rmse'):.4g} ({min(percent):+.2f} to {max(percent):+.2f})")
        cells += [f"{mean('fairfront', 'chosen'):.4g}", f"{mean('fairfront', 'rounds'):.0f}"]
        cells += [f"{mean(name, 'cpu_s'):.3f}" for name in ["fairfront", *others]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
