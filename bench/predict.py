"""Scoring new rows: fairfront compared with a scikit-learn pipeline.

The rows are Adult, repeated to a million, in a CSV and in a Parquet file. Both tools are fitted on Adult: fairfront
computes a front, of which one model is used; scikit-learn fits a `ColumnTransformer`
(`OneHotEncoder(handle_unknown="ignore")`, `MinMaxScaler`) with a `LogisticRegression`. Three times are measured:

- file to file: from the file with the rows to a file with the scores. For fairfront this is the whole command; for
  scikit-learn it is reading by pandas, `predict_proba` and writing, without the start of Python and the imports;
- without writing: scikit-learn from the file to `predict_proba` in memory, compared with the same whole command;
- scikit-learn's `predict_proba` alone, on rows in memory. The command reads, scores and writes at the same time, so its
  scoring cannot be measured alone; the whole command is compared with this time too.

The tools run in turns, each run in a fresh process; the first round does not count.

Run by `make bench`.
"""

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from pathlib import Path

from machine import busy_s, where
from read_table import make_file

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work"
ROWS = 1_000_000
NUMERIC = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
CATEGORICAL = (
    "workclass education marital-status occupation relationship native-country".split()
)
TITLES = {
    "whole_way": "file to file",
    "without_their_writing": "scikit-learn without writing",
    "beside_predict_proba_alone": "scikit-learn's predict_proba alone",
    "cpu": "file to file, by CPU time",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--binary", type=Path, default=BENCH.parent / "target/release/fairfront")
    parser.add_argument("--child", nargs=2, metavar=("IN", "OUT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return with_sklearn(*args.child)
    if not args.binary.is_file():
        sys.exit(f"{args.binary}: not found; run cargo build --release -p fairfront-cli")
    prepare(args.binary)
    runs = []
    for repetition in range(args.repetitions + 1):
        for kind in ("csv", "parquet"):
            for contestant in ("fairfront", "scikit-learn"):
                run = measure(args.binary, contestant, kind)
                if repetition > 0:
                    runs.append({"contestant": contestant, "format": kind, **run})
                print(".", end="", flush=True, file=sys.stderr)
    print(file=sys.stderr)
    summary = report(runs)
    import sklearn
    import pandas
    import pyarrow

    versions = {m.__name__: m.__version__ for m in (sklearn, pandas, pyarrow)}
    results = {"where": where(versions), "rows": ROWS, "medians": summary, "runs": runs}
    (BENCH / "results/predict.json").write_text(json.dumps(results, indent=1) + "\n")


def prepare(binary):
    """Write the rows in both formats, a model of fairfront and a fitted pipeline."""
    # In a separate process, so that this one stays small.
    path = make_file(ROWS)
    code = f"import sys; sys.path.insert(0, {str(BENCH)!r}); import predict; predict.make_inputs({str(path)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    run = WORK / "predict-run"
    fit = ["fit", "adult:sex", "--solver", "trace", "--models", "5", "--quiet", "--force"]
    subprocess.run([binary, *fit, "--out", run], check=True)
    choose = ["select", run, "--model-id", "1", "--model", WORK / "model.json", "--force", "--json"]
    subprocess.run([binary, *choose], check=True, stdout=subprocess.DEVNULL)


def make_inputs(path):
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    rows = pd.read_csv(path, skipinitialspace=True)
    if not (WORK / "predict.parquet").is_file():
        rows.to_parquet(WORK / "predict.parquet", index=False)
    train = rows.head(48_842)
    encode = ColumnTransformer(
        [
            ("categories", OneHotEncoder(handle_unknown="ignore"), CATEGORICAL),
            ("numbers", MinMaxScaler(), NUMERIC),
        ]
    )
    pipeline = make_pipeline(encode, LogisticRegression(max_iter=1_000))
    pipeline.fit(train[CATEGORICAL + NUMERIC], train["income"] == ">50K")
    (WORK / "pipeline.pickle").write_bytes(pickle.dumps(pipeline))


def measure(binary, contestant, kind):
    """One run in its own process."""
    source = WORK / (f"adult-{ROWS}.csv" if kind == "csv" else "predict.parquet")
    out = WORK / f"scores.{kind}"
    out.unlink(missing_ok=True)
    if contestant == "fairfront":
        command = [binary, "predict", WORK / "model.json", source, "--force", "-o", out]
    else:
        command = [sys.executable, __file__, "--child", source, out]
    before, start = busy_s(), time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, contestant
    others = busy_s() - before - usage.ru_utime - usage.ru_stime
    run = {"others_s": round(max(others, 0.0), 2), "peak_mib": usage.ru_maxrss / 1024}
    if contestant == "fairfront":
        return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, **run}
    return {**json.loads(output), **run}


def with_sklearn(source, out):
    """Score with scikit-learn, in a child process."""
    import pandas as pd

    pipeline = pickle.loads((WORK / "pipeline.pickle").read_bytes())
    columns = CATEGORICAL + NUMERIC
    start, before = time.perf_counter(), os.times()
    if source.endswith(".csv"):
        rows = pd.read_csv(source, skipinitialspace=True, usecols=columns)
    else:
        rows = pd.read_parquet(source, columns=columns)
    read = time.perf_counter()
    probability = pipeline.predict_proba(rows)[:, 1]
    predicted = time.perf_counter()
    table = pd.DataFrame({"probability": probability, "decision": (probability >= 0.5).astype(int)})
    if out.endswith(".csv"):
        table.to_csv(out, index=False)
    else:
        table.to_parquet(out, index=False)
    written, after = time.perf_counter(), os.times()
    print(
        json.dumps(
            {
                "wall_s": written - start,
                "cpu_s": after.user + after.system - before.user - before.system,
                "read_s": read - start,
                "predict_s": predicted - read,
                "write_s": written - predicted,
            }
        )
    )


def report(runs):
    """Print and return medians, and how many times as fast fairfront is."""
    summary = {}
    print(f"Adult repeated to {ROWS:,} rows, median seconds")
    print(f"{'':9}{'':14}{'wall':>8}{'CPU':>8}{'rows/s':>12}{'peak MiB':>10}")
    for kind in ("csv", "parquet"):
        of = {}
        for contestant in ("fairfront", "scikit-learn"):
            own = [r for r in runs if (r["contestant"], r["format"]) == (contestant, kind)]
            keys = [k for k in own[0] if k not in ("contestant", "format")]
            of[contestant] = {k: statistics.median(r[k] for r in own) for k in keys}
            m = of[contestant]
            print(
                f"{kind:9}{contestant:14}{m['wall_s']:8.3f}{m['cpu_s']:8.3f}"
                f"{ROWS / m['wall_s']:12,.0f}{m['peak_mib']:10.0f}"
            )
        ours, theirs = of["fairfront"], of["scikit-learn"]
        in_memory = theirs["read_s"] + theirs["predict_s"]
        of["times_as_fast"] = {
            "whole_way": theirs["wall_s"] / ours["wall_s"],
            "without_their_writing": in_memory / ours["wall_s"],
            "beside_predict_proba_alone": theirs["predict_s"] / ours["wall_s"],
            "cpu": theirs["cpu_s"] / ours["cpu_s"],
        }
        for name, ratio in of["times_as_fast"].items():
            print(f"{'':9}{TITLES[name]}: {ratio:.1f} times as fast")
        summary[kind] = of
    return summary


if __name__ == "__main__":
    main()
