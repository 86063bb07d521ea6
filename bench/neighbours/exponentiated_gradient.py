"""fairlearn ExponentiatedGradient: one mixture of logistic regressions for each bound.

A bound is on how far a group's rate may be from the rate of all. By default 16 bounds on
demographic parity: on Adult the gap between men and women is about 1.5 times the bound, so they go
from next to none to the unmitigated gap. A mixture draws one of its models for each decision. It is
judged by its expected rates, exactly, which favours it: what a single draw gives scatters around
them. At most 50 rounds a bound, which is fairlearn's own limit.
"""

import warnings

import fairlearn.reductions
import numpy as np
from sklearn.linear_model import LogisticRegression

TITLE = "fairlearn ExponentiatedGradient"
BOUNDS = np.linspace(0.001, 0.12, 16)


def fit(problem, bounds=BOUNDS, max_iter=50):
    logistic = LogisticRegression(
        C=1 / (problem.penalty[0] * len(problem.y)), solver="newton-cholesky", max_iter=1_000
    )
    constraint = getattr(fairlearn.reductions, problem.constraint)
    models = []
    for bound in bounds:
        search = fairlearn.reductions.ExponentiatedGradient(
            logistic, constraint(difference_bound=bound), max_iter=max_iter
        )
        search.fit(problem.z[:, :-1], (problem.y > 0).astype(int), sensitive_features=problem.group)
        if search.best_gap_ > search.nu:
            warnings.warn(f"bound {bound:.3f}: gap {search.best_gap_:.1e} above {search.nu:.1e}")
        models.append(expected(search))
    return models


def expected(search):
    """The probability of a positive decision; of the drawn models only."""
    drawn = [(weight, search.predictors_[i]) for i, weight in search.weights_.items() if weight]
    return lambda features: sum(weight * model.predict(features) for weight, model in drawn)
