"""A few lines of numpy: Newton's method on f1 + rho f2 for 100 weights rho.

The solver is that of the exact front. It needs convex objectives with second derivatives, such as those here.
"""

import numpy as np

from fronts import Sum

TITLE = "Newton sweep, numpy"
WEIGHTS = 100


def fit(problem):
    both = Sum(problem.z, problem.y, problem.group)
    x, _ = both.minimise(0.0, np.zeros(problem.z.shape[1]))
    slope = both.gradient2(x)
    # The weight at which both objectives pull equally.
    balance = 2 * both.f2(x) / (slope @ np.linalg.solve(both.curvature1(x), slope))
    models = [x]
    for rho in balance * np.logspace(-2, 3, WEIGHTS - 1):
        x, _ = both.minimise(rho, x)
        models.append(x)
    return models
