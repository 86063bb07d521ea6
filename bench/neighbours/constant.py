"""One score for all rows: the constant with the least loss."""

import numpy as np

TITLE = "constant predictor"


def fit(problem):
    model = np.zeros(problem.z.shape[1])
    share = (problem.y > 0).mean()
    model[-1] = np.log(share / (1 - share))
    return [model]
