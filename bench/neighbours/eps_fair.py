"""EPS-fair with scipy: the least loss with a covariance of at most eps, for 100 even steps of eps.

As in the paper, with two changes that save SLSQP time: exact gradients instead of finite differences, and each solve
starts from the previous solution instead of a random point. The tolerance is 1e-9, because SLSQP stops 2e-4 above the
least loss with its default of 1e-6.
"""

import warnings

import numpy as np
from scipy.optimize import minimize

TITLE = "EPS-fair, scipy SLSQP"
STEPS = 100


def fit(problem):
    u, penalty = problem.u, problem.penalty
    signed = problem.y[:, None] * problem.z

    def loss(x):
        margin = signed @ x
        e = np.exp(-np.abs(margin))
        value = (np.log1p(e) - np.minimum(margin, 0)).mean() + penalty @ x**2 / 2
        slope = np.where(margin > 0, e, 1) / (1 + e) / len(margin)
        return value, penalty * x - slope @ signed

    both = np.array([u, -u])

    def solve(x, eps):
        within = {"type": "ineq", "fun": lambda x: eps - both @ x, "jac": lambda x: -both}
        limits, options = [within] if eps < np.inf else [], {"ftol": 1e-9, "maxiter": 1_000}
        found = minimize(loss, x, jac=True, method="SLSQP", constraints=limits, options=options)
        if not found.success:
            warnings.warn(f"SLSQP: {found.message}")
        return found.x

    models = [solve(np.zeros(len(u)), np.inf)]
    for eps in np.linspace(abs(u @ models[0]), 0, STEPS)[1:]:
        models.append(solve(models[-1], eps))
    return models
