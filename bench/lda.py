"""Searches for less discriminatory alternatives to LightGBM on Adult: cost, and whether the results hold on other rows.

For each seed, the rows are split at random into training (40%), validation (10%), certify (25%) and test (25%) rows. The
baseline is LightGBM with 100 trees of 8 leaves, trained on the training rows without the sensitive attribute; its usual
threshold of 0.5 decides. fairfront fits linear models and boosted trees on the same rows (`fit --family auto`), searches
the front on the certify rows (`lda`, tolerance 0.5 percentage points of accuracy), writes a model card, and audits the
baseline. The test rows are used by nothing before; on them, this program checks how accuracy and difference of the
alternative that performs best change. Default settings throughout; nothing was chosen on these results.

Run by `make bench-lda`.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import lightgbm
import numpy as np
import pandas as pd
from machine import busy_s, where
from predicted_classes import ADULT, folder

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work" / "lda"
RESULTS = BENCH / "results"
SEEDS = [1, 2, 3, 4, 5]
TOLERANCE = 0.005


def adult():
    options = {"names": ADULT, "skipinitialspace": True, "na_values": "?"}
    parts = [pd.read_csv(folder() / "adult.data", **options), pd.read_csv(folder() / "adult.test", skiprows=1, **options)]
    table = pd.concat(parts, ignore_index=True).drop(columns="fnlwgt").dropna(ignore_index=True)
    table["income"] = table["income"].str.rstrip(".")
    return table


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Timed:
    """Runs the command, and adds up CPU seconds by step."""

    def __init__(self, binary, cwd):
        self.binary, self.cwd, self.cpu = binary, cwd, {}

    def __call__(self, step, *args):
        before = children_s()
        done = subprocess.run([self.binary, *map(str, args)], cwd=self.cwd, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self.cpu[step] = self.cpu.get(step, 0.0) + children_s() - before
        return done.stdout


def gap(table, decisions, attribute):
    rates = pd.Series(decisions).groupby(table[attribute].to_numpy()).mean()
    return float(rates.max() - rates.min())


def measured(binary, table, attribute, seed):
    work = WORK / f"{attribute}-{seed}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    table = table.assign(part=rng.choice(["train", "validation", "certify", "test"], len(table), p=[0.4, 0.1, 0.25, 0.25]))
    columns = table.drop(columns=["income", "part", attribute])
    for name in columns.select_dtypes(exclude="number"):
        columns[name] = columns[name].astype("category")
    train, label = table["part"] == "train", table["income"] == ">50K"
    model = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=8, n_jobs=1, verbose=-1)
    model.fit(columns[train], label[train])
    score = model.predict_proba(columns)[:, 1]
    table.to_csv(work / "adult.csv", index=False)
    table[["age", "education"]].assign(score=score).to_csv(work / "scores.csv", index=False)

    run = Timed(binary, work)
    spec = ["--target", "income", "--sensitive", attribute, "--split", "column:part", "--family", "auto", "--quiet"]
    run("fit", "fit", "adult.csv", *spec, "--out", "run")
    baseline = ["--baseline", "scores.csv:score", "--baseline-threshold", "0.5", "--baseline-unseen"]
    found = json.loads(
        run("lda", "lda", "run", *baseline, "--tolerance", f"accuracy={TOLERANCE}", "-o", "search", "--json")
    )
    shown = [c for c in found["candidates"] if c["finding"] == "less_discriminatory"]
    best = max(shown, key=lambda c: c["performance"]["candidate"], default=None)
    chosen = (best or found["candidates"][0])["model_id"]
    run("card", "report", "run", "--card", "--model-id", chosen, "-o", "card.html")
    flags = ["--threshold", "0.5", "--target", "income", "--sensitive", attribute, "--json"]
    run("audit", "audit", "scores.csv:score", "adult.csv", *flags)
    result = {
        "attribute": attribute,
        "seed": seed,
        "alternatives": len(shown),
        "cpu_s": run.cpu,
        "total_cpu_s": sum(run.cpu.values()),
    }
    if best is None:
        return result
    test = (table["part"] == "test").to_numpy()
    old, truth = (score >= 0.5)[test], label.to_numpy()[test]
    # Groups below 30 training rows are not compared.
    large = table.loc[train, attribute].value_counts()
    kept = table[attribute].isin(large[large >= 30].index).to_numpy()[test]
    rows = table[test][kept]
    result["baseline_difference"] = gap(rows, old[kept], attribute)
    fairest = min(shown, key=lambda c: c["measures"][0]["candidate"])
    for name, candidate in (("best", best), ("fairest", fairest)):
        new = decisions(binary, work, candidate["model_id"])[test]
        result[name] = {
            "certify": {"accuracy": candidate["performance"]["change"], "difference": candidate["measures"][0]["change"]},
            "test": {
                "accuracy": float((new == truth).mean() - (old == truth).mean()),
                "difference": gap(rows, new[kept], attribute) - gap(rows, old[kept], attribute),
            },
        }
    return result


def decisions(binary, work, model_id):
    """Return the decisions of a model on all rows."""
    options = {"cwd": work, "check": True, "capture_output": True}
    subprocess.run([binary, "select", "run", "--model-id", str(model_id), "--model", "model.json", "--force"], **options)
    subprocess.run([binary, "predict", "model.json", "adult.csv", "-o", "new.csv", "--force"], **options)
    return (pd.read_csv(work / "new.csv")["decision"] == 1).to_numpy()


def report(results, machine):
    lines = [
        "# Less discriminatory alternatives to LightGBM on Adult",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['date']}; {machine['program']}. CPU seconds are user and system time",
        "of all threads. Changes are in percentage points, alternative minus baseline: of accuracy, and of the demographic parity",
        "difference. \"Best\" is the alternative that performs best, \"fairest\" the one with the smallest difference, both on",
        "certify rows (the search). The test rows were used by nothing before. The tolerance is 0.5 percentage points of accuracy.",
        "",
        "| attribute | seed | alternatives | baseline's difference (test) | best: certify | best: test | fairest: certify | fairest: test | fit | lda | CPU s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in results:
        cells = [one["attribute"], one["seed"], one["alternatives"]]
        if "best" in one:
            cells.append(f"{100 * one['baseline_difference']:.2f}")
            for name in ("best", "fairest"):
                for part in ("certify", "test"):
                    change = one[name][part]
                    cells.append(f"{100 * change['accuracy']:+.2f}, {100 * change['difference']:+.2f}")
        else:
            cells += ["-"] * 5
        cells += [f"{one['cpu_s'][step]:.1f}" for step in ("fit", "lda")]
        cells.append(f"{one['total_cpu_s']:.1f}")
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(BENCH.parent / "target/release/fairfront"))
    parser.add_argument("--program", default="release build", help="the build, for the report")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    args = parser.parse_args()
    binary = str(Path(args.binary).resolve())
    table, busy = adult(), busy_s()
    results = []
    for attribute in ("sex", "race"):
        for seed in args.seeds:
            results.append(measured(binary, table, attribute, seed))
            print(json.dumps(results[-1]), flush=True)
    machine = where({"lightgbm": lightgbm.__version__}) | {"program": args.program, "busy_s": busy_s() - busy}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lda.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    (RESULTS / "lda.md").write_text(report(results, machine))


if __name__ == "__main__":
    main()
