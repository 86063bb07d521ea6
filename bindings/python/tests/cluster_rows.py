"""Rows of several super-blocks for tests of block files and workers, and comparisons of runs."""

import json

import numpy as np
import pandas as pd

#: More than seven super-blocks of training rows.
N_ROWS = 300_000

#: A short fit with many passes over all rows.
PARAMS = {"solver": "trace", "n_models": 12}
#: The parameters of the rows themselves.
ROWS = {"pos_label": "yes", "validation_fraction": 0.15, "holdout_fraction": 0.1}


def frame(n=N_ROWS, seed=5):
    """A table with numbers, categories, missing values, two attributes and weights."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    income = rng.normal(size=n) + 0.8 * (sex == "m")
    income[::1000] = np.nan
    paid = np.nan_to_num(income) + rng.normal(size=n) > 0.4
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 90, n),
            "job": rng.choice(["cook", "clerk", "guard"], n),
            "sex": sex,
            "region": rng.choice(["n", "s", "w"], n),
            "weight": rng.choice([0.5, 1.0, 2.0], n),
            "paid": np.where(paid, "yes", "no"),
        }
    )


def same(first, second):
    """Check that two estimators have the same front, to the last bit."""
    assert first._run.parameters().tobytes() == second._run.parameters().tobytes()
    assert list(first.front_) == list(second.front_)
    for name in first.front_:
        left, right = np.asarray(first.front_[name]), np.asarray(second.front_[name])
        assert left.dtype == right.dtype
        equal = list(left) == list(right) if left.dtype == object else left.tobytes() == right.tobytes()
        assert equal, name
    # As strings, because undefined values are NaN.
    assert repr(first.unmitigated_) == repr(second.unmitigated_)
    assert first.selected_ == second.selected_
    assert list(first.classes_) == list(second.classes_)


def run_files(estimator, folder):
    """The files of a saved run, without times, names of files and parameters of the estimator."""
    estimator.save(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for name in ("estimator.json", "report.html"):
        files.pop(name, None)
    info = json.loads(files.pop("run.json"))
    for name in ("seconds", "estimator_sha256", "checksum", "source", "read"):
        info.pop(name, None)
    return files, info
