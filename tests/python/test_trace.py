"""The exact front, compared with weighted sums that scipy minimizes."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

LAMBDA, BETA = 1e-4, 8.0
GAP = "optimality_gap"


class Sum:
    """Log loss with its penalty, and the smooth maximum of squared covariances."""

    def __init__(self, rows):
        rows = rows[rows["split"] == "train"]
        label = rows.columns.get_loc("label")
        features = rows.iloc[:, : label - 1].to_numpy(float)
        self.z = np.column_stack([features, np.ones(len(rows))])
        self.y = rows["label"].to_numpy(float)
        groups = sorted(set(rows.iloc[:, label - 1]))
        groups = groups[1:] if len(groups) == 2 else groups
        a = np.array([rows.iloc[:, label - 1] == g for g in groups], float)
        self.u = (a - a.mean(1, keepdims=True)) @ self.z / len(rows)

    def values(self, x):
        loss = np.logaddexp(0, -self.y * (self.z @ x)).mean() + LAMBDA / 2 * x[:-1] @ x[:-1]
        v = (self.u @ x) ** 2
        e = np.exp(BETA * (v - v.max()))
        return loss, v @ e / e.sum()

    def gradients(self, x):
        slope = -self.y / (1 + np.exp(self.y * (self.z @ x))) / len(self.y)
        first = slope @ self.z + LAMBDA * np.r_[x[:-1], 0]
        c = self.u @ x
        v = c**2
        e = np.exp(BETA * (v - v.max()))
        e /= e.sum()
        return first, 2 * (e * (1 + BETA * (v - v @ e)) * c) @ self.u


@pytest.mark.parametrize("name", ["synthetic:1", "compas:race", "adult:race"])
def test_models_minimize_weighted_sums(fairfront, tmp_path, name, request):
    if not name.startswith("synthetic"):
        request.getfixturevalue("data")
    out = tmp_path / "run"
    fairfront("fit", name, "--solver", "trace", "--models", "41", "--penalty", LAMBDA, "--quiet", "--out", out)
    problem = Sum(fairfront.encoded(name))
    table = pq.read_table(out / "front.parquet").to_pandas()
    info = json.loads((out / "run.json").read_text())
    assert info["solver"] == "trace" and info["models"] == len(table) == 41
    assert info["proof"]["proven"] == 41
    assert info["proof"]["largest_optimality_gap"] == table[GAP].max() <= 1e-6
    objectives = [f"objective.{name}" for name in info["objectives"]]
    # scipy takes seconds to minimize a sum on the rows of Adult.
    for i in range(0, 41, 20 if name == "adult:race" else 8):
        x = np.array(table["params"][i])
        found = table[objectives].iloc[i]
        # Sums of up to 27,133 terms, in a different order.
        assert np.allclose(problem.values(x), found, rtol=1e-11, atol=1e-14)
        weights = table[[f"multiplier.{name}" for name in info["objectives"]]].iloc[i]
        rho = weights.iloc[1] / max(weights.iloc[0], 1e-12)
        if rho > 1e6:
            continue
        # Start elsewhere, so that scipy has to move.
        start = 0.9 * x + 0.01
        best = minimize(
            lambda x: np.dot(problem.values(x), [1, rho]),
            start,
            jac=lambda x: np.dot([1, rho], problem.gradients(x)),
            method="BFGS",
            options={"gtol": 1e-9, "maxiter": 5_000},
        )
        # The multipliers are rounded, and f1 + rho f2 is flat at its minimum, so the parameters need not agree. scipy
        # must find nothing lower, and end at the same value.
        value = found.iloc[0] + rho * found.iloc[1]
        assert best.fun >= value - 1e-9
        assert best.fun <= value + 1e-6


def test_the_solver_is_chosen_with_a_reason(fairfront, tmp_path):
    convex, other, default = (tmp_path / name for name in ("convex", "other", "default"))
    fit = ["fit", "demo(rows=800)", "--sensitive", "sex", "--quiet", "--out"]
    loss, few = ["--objective", "log_loss", "--objective"], ["--set", "max-steps=10"]
    fairfront(*fit, convex, *loss, "score_covariance(sex)")
    fairfront(*fit, other, *loss, "score_covariance(sex, given=positive)", *few)
    fairfront(*fit, default, *few)
    runs = (convex, other, default)
    said = [json.loads((run / "run.json").read_text()) for run in runs]
    assert [info["solver"] for info in said] == ["trace", "pf-smg", "weighted"]
    assert "convex" in said[0]["reason"] and "rates" in said[2]["reason"]
    assert said[1]["proof"]["largest_optimality_gap"] is None and "polish" in said[1]
    table = pq.read_table(other / "front.parquet").to_pandas()
    assert table[GAP].isna().all() and (table["gradient_residual"] >= 0).all()
