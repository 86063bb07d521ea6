"""The Python package compared with the command and fairlearn's GridSearch, on the same rows of Adult.

The rows are the training rows of `adult:sex`, raw columns with strings, in a CSV file. CPU seconds on one thread; every
run has its own process, in turns. For the command: the whole process, including its report. For the package: `fit`
alone, without imports, on the path of the file and on a frame that pandas has read; the time to read the frame is
stored separately. The bytes of the front must be the same in all three. For GridSearch, which runs once: 31 logistic
regressions on the same rows, one-hot encoded and scaled; `fit` alone, without encoding.

The time of `import fairfront` after numpy is measured too.

Run by `make bench-python`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from judge import FAIRFRONT, ONE_THREAD
from machine import where

RESULTS = Path(__file__).resolve().parent / "results"
ONE = {**os.environ, **ONE_THREAD, "RAYON_NUM_THREADS": "1"}
FLAGS = ["--target", "income", "--sensitive", "sex", "--split", "none", "--missing", "keep"]

PACKAGE = """
import hashlib, json, sys, time, warnings
import pandas as pd
import fairfront, fairfront._classifier
warnings.simplefilter("ignore")
path, given = sys.argv[1:]
start = time.process_time()
table = pd.read_csv(path, keep_default_na=False, na_values=[""]) if given == "frame" else None
read = time.process_time() - start
clf = fairfront.FairFrontClassifier(n_jobs=1)
start = time.process_time()
if given == "frame":
    X, y, sex = table.drop(columns=["income", "sex"]), table["income"], table["sex"]
    clf.fit(X, y, sensitive_features=sex)
else:
    clf.fit(path, "income", sensitive_features="sex")
spent = time.process_time() - start
files = dict(clf._run.files())
print(json.dumps({"cpu_s": spent, "read_s": read, "points": len(clf.front_),
                  "front": hashlib.sha256(files["front.parquet"]).hexdigest()}))
"""

NEIGHBOUR = """
import json, sys, time, warnings
import pandas as pd
from fairlearn.reductions import DemographicParity, GridSearch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
warnings.simplefilter("ignore")
table = pd.read_csv(sys.argv[1], keep_default_na=False, na_values=[""])
X = StandardScaler().fit_transform(pd.get_dummies(table.drop(columns=["income", "sex"])).to_numpy(float))
y = (table["income"] == sorted(table["income"].unique())[1]).astype(int)
search = GridSearch(LogisticRegression(solver="newton-cholesky", max_iter=1000), DemographicParity(), grid_size=31)
start = time.process_time()
search.fit(X, y, sensitive_features=table["sex"])
print(json.dumps({"cpu_s": time.process_time() - start, "points": len(search.predictors_)}))
"""

IMPORT = """
import time
import numpy
start = time.perf_counter()
import fairfront
print(1000 * (time.perf_counter() - start))
"""


def command(path, folder):
    """CPU seconds of the whole process, and the digest of its front."""
    before = os.times()
    done = subprocess.run(
        [FAIRFRONT, "fit", path, *FLAGS, "--threads", "1", "--quiet", "--force", "--out", folder],
        env=ONE,
        capture_output=True,
    )
    after = os.times()
    if done.returncode:
        sys.exit(done.stderr.decode())
    info = json.loads((Path(folder) / "run.json").read_text())
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return {"cpu_s": spent, "points": info["models"], "front": info["front_sha256"]}


def python(script, *arguments):
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], env=ONE, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    runs = {name: [] for name in ["command", "package, path", "package, frame", "GridSearch"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        exported = Path(folder) / "all.csv"
        export = [FAIRFRONT, "data", "export", "adult:sex", "--force", "-o", exported]
        subprocess.run(export, check=True, capture_output=True)
        import pandas as pd

        rows = pd.read_csv(exported, keep_default_na=False, na_values=[""])
        rows[rows["split"] == "train"].drop(columns=["split"]).to_csv(path, index=False)
        for _ in range(repeats):
            runs["command"].append(command(path, Path(folder) / "run"))
            runs["package, path"].append(python(PACKAGE, path, "path"))
            runs["package, frame"].append(python(PACKAGE, path, "frame"))
        runs["GridSearch"].append(python(NEIGHBOUR, path))
        imports = sorted(python(IMPORT) for _ in range(11))
    fronts = {run["front"] for name, of_name in runs.items() if name != "GridSearch" for run in of_name}
    assert len(fronts) == 1, "fronts of the same rows and seed differ"
    medians = {name: statistics.median(run["cpu_s"] for run in of_name) for name, of_name in runs.items()}
    results = {
        "where": where({name: version(name) for name in ["fairlearn", "numpy", "pandas", "scikit-learn"]}),
        "runs": runs,
        "median_cpu_s": medians,
        "of_the_command": {name: medians[name] / medians["command"] for name in medians},
        "import_ms": {"median": imports[5], "all": imports},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "python.json").write_text(json.dumps(results, indent=2) + "\n")
    print(f"{'':16} {'CPU s':>8} {'vs. command':>15} {'models':>7}")
    for name, median in medians.items():
        print(f"{name:16} {median:8.3f} {median / medians['command']:14.1%} {runs[name][0]['points']:7}")
    print(f"import fairfront after numpy: {imports[5]:.1f} ms (median of {len(imports)})")


if __name__ == "__main__":
    main()
