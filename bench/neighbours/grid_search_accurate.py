"""fairlearn GridSearch around the most accurate of several linear estimators.

fairlearn wraps any estimator. A logistic regression minimizes the log loss, so part of the lead of a front that minimizes
the error rate is plain accuracy. Here, 5-fold cross-validation on the training rows chooses the most accurate of logistic
regressions and linear support vector machines with several penalties. The CPU time includes this choice.
"""

import fairlearn.reductions
from grid_search import MODELS, linear
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.svm import LinearSVC

TITLE = "fairlearn GridSearch, most accurate estimator"
PENALTIES = [0.1, 1.0, 10.0]


def fit(problem, models=MODELS):
    x, y = problem.z[:, :-1], (problem.y > 0).astype(int)
    own = 1 / (problem.penalty[0] * len(y))
    candidates = [
        LogisticRegression(C=c, solver="newton-cholesky", max_iter=1_000) for c in [own, *PENALTIES]
    ] + [LinearSVC(C=c, dual=False, random_state=problem.seed) for c in PENALTIES]
    accuracy = [cross_val_score(candidate, x, y, cv=5).mean() for candidate in candidates]
    best = candidates[max(range(len(candidates)), key=accuracy.__getitem__)]
    constraint = getattr(fairlearn.reductions, problem.constraint)()
    search = fairlearn.reductions.GridSearch(best, constraint, grid_size=models)
    search.fit(x, y, sensitive_features=problem.group)
    return [linear(model, problem.z.shape[1]) for model in search.predictors_]
