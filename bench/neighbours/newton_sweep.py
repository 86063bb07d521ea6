"""What numpy does in a few lines: Newton's method on f1 + rho f2 for 100 weights rho.

The solver is the one that gives the exact front; it needs second derivatives and convexity, which
the objectives here have.
"""

import numpy as np

from fronts import Sum

TITLE = "Newton sweep, numpy"
WEIGHTS = 100


def fit(problem):
    both = Sum(problem.z, problem.y, problem.group)
    x, _ = both.minimise(0.0, np.zeros(problem.z.shape[1]))
    slope = both.gradient2(x)
    # The weight at which both objectives pull alike.
    alike = 2 * both.f2(x) / (slope @ np.linalg.solve(both.curvature1(x), slope))
    models = [x]
    for rho in alike * np.logspace(-2, 3, WEIGHTS - 1):
        x, _ = both.minimise(rho, x)
        models.append(x)
    return models
