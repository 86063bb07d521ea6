"""fairlearn GridSearch: logistic regressions on reweighted rows, for 31 weights of the gap.

Limit and spacing of the grid are fairlearn's own, half of it on the side that widens the gap.
scikit-learn's Newton solver is faster here than its default one and closer to the least loss.
"""

import numpy as np
from fairlearn.reductions import DemographicParity, GridSearch
from sklearn.linear_model import LogisticRegression

TITLE = "fairlearn GridSearch"
MODELS = 31


def fit(problem):
    # The same penalty: scikit-learn minimises C times the sum of losses plus half the squares.
    logistic = LogisticRegression(
        C=1 / (problem.penalty[0] * len(problem.y)), solver="newton-cholesky", max_iter=1_000
    )
    search = GridSearch(logistic, DemographicParity(), grid_size=MODELS)
    search.fit(problem.z[:, :-1], (problem.y > 0).astype(int), sensitive_features=problem.group)
    return [np.r_[model.coef_[0], model.intercept_] for model in search.predictors_]
