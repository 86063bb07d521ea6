"""Fair classifiers on LightGBM, for `learners.py`: fairlearn's reductions, and thresholds by group.

Each function gets the training rows and returns the probability of a positive decision for all rows, one column per
model, and the CPU seconds of its fit. LightGBM has 100 trees of 8 leaves, native categories and one thread.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import fairlearn.reductions
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

TITLES = {
    "unmitigated": "LightGBM, unmitigated",
    "grid_search": "fairlearn GridSearch on LightGBM",
    "exponentiated_gradient": "fairlearn ExponentiatedGradient on LightGBM",
    "thresholds": "thresholds by group on LightGBM",
}
SPLITS = ["train", "validation", "test"]
# Steps of the rates that thresholds by group may have, and the folds of their probabilities.
RATES = 2_000
FOLDS = 5


class Boosted(ClassifierMixin, BaseEstimator):
    """LightGBM on a matrix whose last columns are codes of categories."""

    def __init__(self, n_codes=0):
        self.n_codes = n_codes

    def fit(self, X, y, sample_weight=None):
        codes = list(range(X.shape[1] - self.n_codes, X.shape[1]))
        self.model_ = LGBMClassifier(n_estimators=100, num_leaves=8, n_jobs=1, verbose=-1, force_row_wise=True)
        self.model_.fit(X, y, sample_weight=sample_weight, categorical_feature=codes)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


class Table:
    """The exported rows of a case: a matrix for LightGBM, labels, groups, splits."""

    def __init__(self, path, target, positive, attribute):
        rows = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype={target: str, attribute: str})
        self.split = rows.pop("split").to_numpy()
        self.y = (rows.pop(target) == positive).to_numpy().astype(int)
        self.names, self.group = np.unique(rows.pop(attribute).to_numpy().astype(str), return_inverse=True)
        is_number = [pd.api.types.is_numeric_dtype(rows[c]) for c in rows]
        numbers = [rows[c].to_numpy(float) for c, number in zip(rows, is_number) if number]
        codes = [self.codes(rows[c]) for c, number in zip(rows, is_number) if not number]
        self.x = np.column_stack([*numbers, *codes])
        self.n_codes = len(codes)
        self.train = self.split == "train"

    def codes(self, column):
        codes = pd.factorize(column, sort=True)[0].astype(float)
        return np.where(codes < 0, np.nan, codes)

    def learner(self):
        return Boosted(n_codes=self.n_codes)

    def cells(self, decided):
        """Sums of decisions by model, split, group and label; without decisions, numbers of rows."""
        place = np.array([SPLITS.index(s) for s in self.split])
        place = (place * len(self.names) + self.group) * 2 + self.y
        size = len(SPLITS) * len(self.names) * 2
        sums = [np.bincount(place, column, size) for column in np.atleast_2d(decided)]
        return np.reshape(sums, (-1, len(SPLITS), len(self.names), 2))


def unmitigated(table, constraint=None):
    start = time.process_time()
    model = table.learner().fit(table.x[table.train], table.y[table.train])
    cpu_s = time.process_time() - start
    return [model.predict(table.x)], cpu_s


def grid_search(table, constraint, models):
    search = fairlearn.reductions.GridSearch(
        table.learner(), getattr(fairlearn.reductions, constraint)(), grid_size=models
    )
    cpu_s = fitted(search, table)
    return [model.predict(table.x) for model in search.predictors_], cpu_s


def exponentiated_gradient(table, constraint, bounds, max_iter):
    """One mixture per bound, and the unmitigated model last."""
    decided, cpu_s = [], 0.0
    for bound in bounds:
        search = fairlearn.reductions.ExponentiatedGradient(
            table.learner(),
            getattr(fairlearn.reductions, constraint)(difference_bound=bound),
            max_iter=max_iter,
        )
        cpu_s += fitted(search, table)
        drawn = [(weight, search.predictors_[i]) for i, weight in search.weights_.items() if weight]
        decided.append(sum(weight * model.predict(table.x) for weight, model in drawn))
    alone, cpu_alone = unmitigated(table)
    return [*decided, *alone], cpu_s + cpu_alone


def fitted(search, table):
    x, y, group = table.x[table.train], table.y[table.train], table.names[table.group[table.train]]
    start = time.process_time()
    search.fit(x, y, sensitive_features=group)
    return time.process_time() - start


def thresholds(table, constraint, models):
    """For each bound on the difference, one threshold per group, chosen on out-of-fold training probabilities."""
    x, y, group = table.x[table.train], table.y[table.train], table.group[table.train]
    start = time.process_time()
    p = np.empty(len(y))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for rest, fold in folds.split(x, 2 * group + y):
        p[fold] = table.learner().fit(x[rest], y[rest]).predict_proba(x[fold])[:, 1]
    counted = y == 1 if constraint == "TruePositiveRateParity" else np.ones(len(y), bool)
    curves = [curve(p[group == g], y[group == g], counted[group == g]) for g in range(len(table.names))]
    errors = np.array([errors for errors, _ in curves])
    found = [narrow(errors, width) for width in np.linspace(0, widest(errors), models)]
    model = table.learner().fit(x, y)
    cpu_s = time.process_time() - start
    p = model.predict_proba(table.x)[:, 1]
    cuts = [np.array([curves[g][1][at] for g, at in enumerate(some)]) for some in found]
    return [(p >= cut[table.group]).astype(float) for cut in cuts], cpu_s


def curve(p, y, counted):
    """The least errors of a group by its rate, in steps of 1/RATES, and the threshold of each."""
    order = np.argsort(-p, kind="stable")
    p, y, counted = p[order], y[order], counted[order]
    ends = np.append(p[1:] < p[:-1], True)
    errors = np.r_[y.sum(), y.sum() + np.cumsum(1 - 2 * y)[ends]]
    rates = np.r_[0, np.cumsum(counted)[ends]] / counted.sum()
    middles = np.r_[(p[:-1] + p[1:])[ends[:-1]] / 2, -np.inf]
    cuts = np.r_[np.inf, middles]
    least, threshold = np.full(RATES + 1, np.inf), np.zeros(RATES + 1)
    for step, error, cut in zip(np.rint(rates * RATES).astype(int), errors, cuts):
        if error < least[step]:
            least[step], threshold[step] = error, cut
    return least, threshold


def widest(errors):
    """The difference at which each group has its own best threshold."""
    return np.ptp(errors.argmin(1)) / RATES


def narrow(errors, width):
    """The step of each group with the fewest errors if all rates are within a window of this width."""
    steps = int(round(width * RATES)) + 1
    # A group of few rows does not reach every rate.
    steps = max(steps, 1 + int(np.ceil(RATES / np.isfinite(errors).sum(1).min())))
    windows = np.lib.stride_tricks.sliding_window_view(errors, min(steps, errors.shape[1]), axis=1)
    best = windows.min(2).sum(0).argmin()
    return best + windows[:, best].argmin(1)


def main(method, path, out, settings):
    """Fit one method and write its cells."""
    settings = json.loads(settings)
    table = Table(path, *settings.pop("columns"))
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    decided, cpu_s = globals()[method](table, **settings)
    result = {
        "title": TITLES[method],
        "cpu_s": cpu_s,
        "groups": table.names.tolist(),
        "totals": table.cells(np.ones(len(table.y)))[0].tolist(),
        "selected": table.cells(np.array(decided, float)).tolist(),
    }
    Path(out).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
