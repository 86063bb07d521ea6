"""Write an objective and a whole problem in Python, and solve them with the built-in solvers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fairfront import FairFrontClassifier, Objective, Problem, Rows, pf_smg

Floats = npt.NDArray[np.float64]


def squared_difference(attribute: str) -> Objective:
    """Build the squared difference between the mean scores of two groups."""

    def statistics(scores: Floats, rows: Rows) -> tuple[Floats, Floats]:
        group = rows.groups(attribute)[:, None]
        first, second = (group == 0).astype(float), (group == 1).astype(float)
        ones = np.ones_like(scores)
        # Scores and sizes of both groups; the sizes do not depend on the score.
        s = np.stack([first * scores, second * scores, first * ones, second * ones])
        ds = np.stack([first * ones, second * ones, 0 * ones, 0 * ones])
        return s, ds

    def outer(means: Floats) -> tuple[float, Floats]:
        a, b, n_a, n_b = means
        difference = a / n_a - b / n_b
        slope = 2 * difference * np.array([1 / n_a, -1 / n_b, -a / n_a**2, b / n_b**2])
        return float(difference**2), slope

    return Objective(f"squared_difference({attribute})", statistics, outer, n_means=4, attribute=attribute)


def main() -> None:
    """Solve a problem with the objective, and a problem of functions."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=800)
    X = rng.normal(size=(800, 2))
    X[:, 0] += group
    y = X[:, 0] + X[:, 1] + rng.normal(size=800) > 0.5
    front = FairFrontClassifier(["log_loss", squared_difference("group")], solver="pf-smg", n_models=40)
    front.fit(X, y, sensitive_features={"group": group})
    fairest = front.select(best="objective.squared_difference(group)")
    scores = fairest.decision_function(X)
    difference = scores[group == 0].mean() - scores[group == 1].mean()
    print(f"{len(front.front_)} models; the mean scores of the fairest differ by {abs(difference):.4f}")

    ends = np.array([[0.0, 0.0], [1.0, 0.0]])
    problem = Problem.from_functions(
        lambda x: ((x[:, None] - ends) ** 2).sum(axis=2),
        lambda x: 2 * (x[:, None] - ends),
        n_params=2,
        n_objectives=2,
    )
    between = pf_smg(problem, n_models=50)
    print(f"{len(between)} points between two ends, at most {np.abs(between.points[:, 1]).max():.4f} from the line")


if __name__ == "__main__":
    main()
