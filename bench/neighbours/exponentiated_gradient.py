"""fairlearn ExponentiatedGradient: one mixture of logistic regressions per bound.

A bound limits the distance of a group's rate from the overall rate. By default there are 16 bounds on demographic
parity. On Adult the difference between men and women is about 1.5 times the bound, so the bounds cover differences from
almost 0 to that of the unmitigated model. A mixture draws one of its models for each decision. It is evaluated by its
exact expected rates, which favors it: the rates of a single draw scatter around them. There are at most 50 rounds per
bound, fairlearn's default limit.
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
            warnings.warn(f"bound {bound:.3f}: duality gap {search.best_gap_:.1e} exceeds {search.nu:.1e}")
        models.append(expected(search))
    return models


def expected(search):
    """A function that returns the probability of a positive decision; models of weight 0 are skipped."""
    drawn = [(weight, search.predictors_[i]) for i, weight in search.weights_.items() if weight]
    return lambda features: sum(weight * model.predict(features) for weight, model in drawn)
