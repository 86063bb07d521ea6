"""EPS-fair against scipy: at equal bounds the losses agree, and the solutions are optimal."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize, nnls
from scipy.special import expit

LAMBDA = 1e-4
# scipy ends when a step changes the loss by less than 1e-12; its steps shrink by less than a factor of a
# thousand each.
AGREE = 1e-6
# Our subproblems end when the loss could fall by 1e-10 of its value at 0, after one more step.
WORSE = 1e-10
CASES = {
    # name: source and flags, bounds
    "synthetic": (["synthetic:1"], 9),
    "compas": (["compas:race"], 7),
    "gender": (["adult:gender"], 5),
    "race": (["adult:race"], 4),
}


class Case:
    """A run beside the rows it was fitted on."""

    def __init__(self, fairfront, folder, source, points, *more):
        args = [*source, "--solver", "eps-fair", "--points", points, "--penalty", LAMBDA, *more]
        fairfront("fit", *args, "--quiet", "--out", folder)
        self.info = json.loads((folder / "run.json").read_text())
        self.table = pq.read_table(folder / "front.parquet").to_pandas()
        rows = fairfront.encoded(*source)
        rows = rows[rows["split"] == "train"]
        attribute = self.info["objectives"][1].split("(")[1].rstrip(")")
        features = rows[self.info["features"]].to_numpy(float)
        self.z = np.column_stack([features, np.ones(len(rows))])
        self.y = rows["label"].to_numpy()
        self.groups = rows[attribute].to_numpy(str)
        self.n = points
        # The covariances are u x, a row for each group; of two groups one says all.
        names = sorted(set(self.groups))
        indicators = [(self.groups == g).astype(float) for g in names[len(names) == 2 :]]
        self.u = np.array([(a - a.mean()) @ self.z / len(a) for a in indicators])

    def loss(self, x):
        margin = self.y * (self.z @ x)
        penalised = np.append(x[:-1], 0.0)
        value = np.logaddexp(0.0, -margin).mean() + LAMBDA / 2 * penalised @ penalised
        slope = -(self.y * expit(-margin)) @ self.z / len(self.y) + LAMBDA * penalised
        return value, slope

    def by_scipy(self, epsilon):
        """The least loss with all covariances within epsilon. Variables are changed so that the
        Hessian at 0 is the identity; without that scipy ends early in the valleys of Adult."""
        hessian = self.z.T @ self.z / (4 * len(self.y)) + LAMBDA * np.eye(self.z.shape[1])
        back = np.linalg.inv(np.linalg.cholesky(hessian)).T

        def loss(v):
            value, slope = self.loss(back @ v)
            return value, back.T @ slope

        # The covariances of all groups add up to 0: at 0 one of them is redundant.
        rows = self.u[: max(1, len(self.u) - 1)] if epsilon == 0 else np.vstack([-self.u, self.u])
        rows = rows @ back
        kind = "eq" if epsilon == 0 else "ineq"
        bounds = {"type": kind, "fun": lambda v: rows @ v + epsilon, "jac": lambda v: rows}
        found = minimize(
            loss,
            np.zeros(len(back)),
            jac=True,
            method="SLSQP",
            constraints=bounds,
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert (abs(self.u @ back @ found.x) <= epsilon + 1e-9).all()
        return found.fun


@pytest.fixture(scope="module", params=CASES)
def case(request, fairfront, tmp_path_factory):
    source, points = CASES[request.param]
    if not source[0].startswith("synthetic"):
        request.getfixturevalue("data")
    folder = tmp_path_factory.mktemp("eps-fair") / "run"
    return Case(fairfront, folder, source, points)


def solutions(case):
    """The solutions with their bounds, the unmitigated model first."""
    params = np.stack(case.table["params"])
    largest = abs(case.u @ np.array(case.info["unmitigated"]["params"])).max()
    assert len(params) == case.n, "on these data no solution dominates another"
    for i, x in enumerate(params):
        yield largest * (1 - i / (case.n - 1)), x, largest


def test_bounds_are_evenly_spaced_and_kept(case):
    for epsilon, x, largest in solutions(case):
        # The tolerance of a bound is 1e-8 of the unmitigated covariance. All bounds are active:
        # somewhere a covariance reaches its own.
        assert abs(case.u @ x).max() == pytest.approx(epsilon, abs=2e-8 * largest)


def test_losses_agree_with_scipy(case):
    losses = case.table["objective.log_loss"]
    for (epsilon, x, _), seen in zip(solutions(case), losses, strict=True):
        value = case.loss(x)[0]
        assert seen == pytest.approx(value, rel=1e-12)
        other = case.by_scipy(epsilon)
        assert value == pytest.approx(other, abs=AGREE)
        # scipy may exceed bounds by up to 1e-9, which is worth less than this in loss.
        assert value <= other + WORSE


def test_solutions_are_optimal(case):
    """Karush, Kuhn and Tucker: the gradient is a combination of those of the active bounds, with
    multipliers that are not negative. The loss is convex, so no other point is better."""
    for epsilon, x, largest in solutions(case):
        slope = case.loss(x)[1]
        c = case.u @ x
        reached = abs(c) > epsilon - 1e-6 * largest
        active = -np.sign(c[reached])[:, None] * case.u[reached]
        if epsilon == 0:
            # Bounds from both sides.
            active = np.vstack([case.u, -case.u])
        rest = nnls(active.T, slope)[1]
        # Newton's last step squares a gradient of 1e-5, the root of the tolerance.
        assert rest < 1e-7


def test_what_run_json_says(case):
    assert case.info["solver"] == "eps-fair" and case.info["stop"] == "complete"
    assert case.info["solver_settings"]["points"] == case.n
    counters = case.info["counters"]
    assert counters["subproblems"] == {
        "solved": case.n - 1,
        "failed": 0,
        "dominated": 0,
        "copies": 0,
    }
    loss, bounds = counters["gradient_evaluations"]
    assert bounds == loss * len(case.u) and counters["evaluations"] > loss > case.n


def test_the_paper_s_way_ends_near(fairfront, tmp_path):
    exact = Case(fairfront, tmp_path / "exact", ["synthetic:1"], 20)
    paper = Case(fairfront, tmp_path / "paper", ["synthetic:1"], 20, "--preset", "paper")
    assert paper.info["solver_settings"]["finite_differences"] and paper.info["solver_settings"]["cold"]
    columns = ["objective.log_loss", "objective.disparate_impact(a)"]
    exact, found = (run.table[columns].to_numpy() for run in (exact, paper))
    # The front is convex in the covariance, the root of the second column.
    covariance, losses = np.sqrt(exact[::-1, 1]), exact[::-1, 0]
    above = found[:, 0] - np.interp(np.sqrt(found[:, 1]), covariance, losses)
    # Chords lie above the front by up to 1e-3 here; a step of 1e-6 of the loss ends a subproblem.
    assert (abs(above) < 1.5e-3).all()


def test_bounds_on_errors_are_kept(fairfront, data, tmp_path):
    """Equal opportunity is not convex: solutions are local, their bounds hold all the same."""
    objectives = ["--objective", "log_loss", "--objective", "equal_opportunity(race)"]
    case = Case(fairfront, tmp_path / "run", ["compas:race"], 6, *objectives)
    assert any("not convex" in notice["message"] for notice in case.info["notices"])
    positive = case.y > 0
    a = (case.groups == sorted(set(case.groups))[1]).astype(float)
    bounds = []
    for x in [np.array(case.info["unmitigated"]["params"]), *case.table["params"]]:
        psi = np.where(positive, np.minimum(case.z @ x, 0.0), 0.0)
        bounds.append(abs(((a - a[positive].mean()) * psi).mean()))
    largest, *bounds = bounds
    # smooth-min differs from min by at most 2.5e-6, a quarter of its half width.
    for bound, i in zip(sorted(bounds, reverse=True), range(6), strict=False):
        assert bound <= largest * (1 - i / 5) + 3e-6
