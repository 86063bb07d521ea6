"""fairlearn GridSearch: logistic regressions on reweighted rows, by default for 31 weights.

Limit and spacing of the grid are fairlearn's defaults. With two groups and demographic parity, half of the grid is on
the side that increases the difference. scikit-learn's Newton solver is faster here than its default solver, and closer
to the least loss.
"""

import fairlearn.reductions
import numpy as np
from sklearn.linear_model import LogisticRegression

TITLE = "fairlearn GridSearch"
MODELS = 31


def fit(problem, models=MODELS):
    # The same penalty: scikit-learn minimizes C times the sum of losses plus half the squares.
    logistic = LogisticRegression(
        C=1 / (problem.penalty[0] * len(problem.y)), solver="newton-cholesky", max_iter=1_000
    )
    constraint = getattr(fairlearn.reductions, problem.constraint)()
    search = fairlearn.reductions.GridSearch(logistic, constraint, grid_size=models)
    search.fit(problem.z[:, :-1], (problem.y > 0).astype(int), sensitive_features=problem.group)
    return [linear(model, problem.z.shape[1]) for model in search.predictors_]


def linear(model, size):
    """Coefficients; if all rows have the same label, fairlearn's model is a constant."""
    if hasattr(model, "coef_"):
        return np.r_[model.coef_[0], model.intercept_]
    return np.r_[np.zeros(size - 1), 1.0 if model.predict(np.zeros((1, size - 1)))[0] else -1.0]
