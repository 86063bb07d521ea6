"""fairlearn ExponentiatedGradient: one mixture of logistic regressions for each of 16 bounds.

A bound is on how far a group's rate may be from the rate of all; on Adult the gap between the two
groups is about 1.5 times that, so the bounds go from next to none to the unmitigated gap. A mixture
draws one of its models for each decision. It is judged by its expected rates, exactly, which
favours it: what a single draw gives scatters around them.
"""

import warnings

import numpy as np
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

TITLE = "fairlearn ExponentiatedGradient"
BOUNDS = np.linspace(0.001, 0.12, 16)


def fit(problem):
    logistic = LogisticRegression(
        C=1 / (problem.penalty[0] * len(problem.y)), solver="newton-cholesky", max_iter=1_000
    )
    models = []
    for bound in BOUNDS:
        search = ExponentiatedGradient(logistic, DemographicParity(difference_bound=bound))
        search.fit(problem.z[:, :-1], (problem.y > 0).astype(int), sensitive_features=problem.group)
        if search.best_gap_ > search.nu:
            warnings.warn(f"bound {bound:.3f}: gap {search.best_gap_:.1e} above {search.nu:.1e}")
        models.append(expected(search))
    return models


def expected(search):
    """The probability of a positive decision; of the drawn models only."""
    drawn = [(weight, search.predictors_[i]) for i, weight in search.weights_.items() if weight]
    return lambda features: sum(weight * model.predict(features) for weight, model in drawn)
