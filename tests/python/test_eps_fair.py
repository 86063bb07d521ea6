"""EPS-fair compared with scipy: at equal bounds the losses agree, and the models are optimal."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize, nnls
from scipy.special import expit

LAMBDA = 1e-4
# scipy stops when a step changes the loss by less than 1e-12; each step shrinks by less than a factor of 1,000.
AGREE = 1e-6
# Our subproblems stop one step after the loss can fall by at most 1e-10 of its value at 0.
WORSE = 1e-10
CASES = {
    # name: source and flags, bounds
    "synthetic": (["synthetic:1"], 9),
    "compas": (["compas:race"], 7),
    "gender": (["adult:sex"], 5),
    "race": (["adult:race"], 4),
}


class Case:
    """A run with the rows it was fitted on."""

    def __init__(self, fairfront, folder, source, n, *more):
        args = [*source, "--solver", "eps-fair", "--models", n, "--penalty", LAMBDA, *more]
        fairfront("fit", *args, "--quiet", "--out", folder)
        self.info = json.loads((folder / "run.json").read_text())
        self.table = pq.read_table(folder / "front.parquet").to_pandas()
        rows = fairfront.encoded(*source)
        rows = rows[rows["split"] == "train"]
        attribute = self.info["objectives"][1].split("(")[1].rstrip(")").split(",")[0]
        features = rows[self.info["features"]].to_numpy(float)
        self.z = np.column_stack([features, np.ones(len(rows))])
        self.y = rows["label"].to_numpy()
        self.groups = rows[attribute].to_numpy(str)
        self.n = n
        # The covariances are u x, one row per group; with two groups, one row is enough.
        names = sorted(set(self.groups))
        indicators = [(self.groups == g).astype(float) for g in names[len(names) == 2 :]]
        self.u = np.array([(a - a.mean()) @ self.z / len(a) for a in indicators])

    def loss(self, x):
        margin = self.y * (self.z @ x)
        penalized = np.append(x[:-1], 0.0)
        value = np.logaddexp(0.0, -margin).mean() + LAMBDA / 2 * penalized @ penalized
        slope = -(self.y * expit(-margin)) @ self.z / len(self.y) + LAMBDA * penalized
        return value, slope

    def by_scipy(self, epsilon):
        """Return the least loss with all covariances within epsilon.

        A change of variables makes the Hessian at 0 the identity; without it, scipy stops too early on Adult.
        """
        hessian = self.z.T @ self.z / (4 * len(self.y)) + LAMBDA * np.eye(self.z.shape[1])
        back = np.linalg.inv(np.linalg.cholesky(hessian)).T

        def loss(v):
            value, slope = self.loss(back @ v)
            return value, back.T @ slope

        # The covariances of all groups add up to 0, so that one of the bounds at 0 is redundant.
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
    source, n = CASES[request.param]
    if not source[0].startswith("synthetic"):
        request.getfixturevalue("data")
    folder = tmp_path_factory.mktemp("eps-fair") / "run"
    return Case(fairfront, folder, source, n)


def solutions(case):
    """Yield the models with their bounds, the unmitigated model first."""
    params = np.stack(case.table["params"])
    largest = abs(case.u @ np.array(case.info["unmitigated"]["params"])).max()
    assert len(params) == case.n, "a model dominates another, which does not happen on these data"
    for i, x in enumerate(params):
        yield largest * (1 - i / (case.n - 1)), x, largest


def test_bounds_are_evenly_spaced_and_kept(case):
    for epsilon, x, largest in solutions(case):
        # The tolerance of a bound is 1e-8 of the unmitigated covariance. All bounds are active: the largest covariance
        # equals its bound.
        assert abs(case.u @ x).max() == pytest.approx(epsilon, abs=2e-8 * largest)


def test_losses_agree_with_scipy(case):
    losses = case.table["objective.log_loss"]
    for (epsilon, x, _), seen in zip(solutions(case), losses, strict=True):
        value = case.loss(x)[0]
        assert seen == pytest.approx(value, rel=1e-12)
        other = case.by_scipy(epsilon)
        assert value == pytest.approx(other, abs=AGREE)
        # scipy may exceed bounds by up to 1e-9, which changes the loss by less than this.
        assert value <= other + WORSE


def test_solutions_are_optimal(case):
    """By the Karush–Kuhn–Tucker conditions, the gradient is a combination of the gradients of the active bounds with
    nonnegative multipliers. The loss is convex, so no other model within the bounds is better."""
    for epsilon, x, largest in solutions(case):
        slope = case.loss(x)[1]
        c = case.u @ x
        reached = abs(c) > epsilon - 1e-6 * largest
        active = -np.sign(c[reached])[:, None] * case.u[reached]
        if epsilon == 0:
            # Bounds on both sides.
            active = np.vstack([case.u, -case.u])
        rest = nnls(active.T, slope)[1]
        # Newton's last step squares a gradient of 1e-5, the root of the tolerance.
        assert rest < 1e-7


def test_run_json_has_settings_and_counters(case):
    assert case.info["solver"] == "eps-fair" and case.info["stop"] == "complete"
    assert case.info["solver_settings"]["models"] == case.n
    counters = case.info["counters"]
    assert counters["subproblems"] == {
        "solved": case.n - 1,
        "failed": 0,
        "dominated": 0,
        "copies": 0,
    }
    loss, bounds = counters["gradient_evaluations"]
    assert bounds == loss * len(case.u) and counters["evaluations"] > loss > case.n


def test_the_settings_of_the_paper_give_nearly_the_same_front(fairfront, tmp_path):
    exact = Case(fairfront, tmp_path / "exact", ["synthetic:1"], 20)
    paper = Case(fairfront, tmp_path / "paper", ["synthetic:1"], 20, "--preset", "paper")
    assert paper.info["solver_settings"]["finite_differences"] and paper.info["solver_settings"]["cold"]
    columns = ["objective.log_loss", "objective.score_covariance(a)"]
    exact, found = (run.table[columns].to_numpy() for run in (exact, paper))
    # The front is convex in the covariance, which is the root of the second column.
    covariance, losses = np.sqrt(exact[::-1, 1]), exact[::-1, 0]
    above = found[:, 0] - np.interp(np.sqrt(found[:, 1]), covariance, losses)
    # Here chords are above the front by up to 1e-3, and a subproblem stops at a step of 1e-6 of the loss.
    assert (abs(above) < 1.5e-3).all()


def test_bounds_on_errors_are_kept(fairfront, data, tmp_path):
    """The covariance given positive labels is not convex: models are local optima, but their bounds hold."""
    objectives = ["--objective", "log_loss", "--objective", "score_covariance(race, given=positive)"]
    case = Case(fairfront, tmp_path / "run", ["compas:race"], 6, *objectives)
    assert any("not convex" in note["message"] for note in case.info["messages"])
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
