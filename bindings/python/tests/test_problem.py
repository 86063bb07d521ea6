"""Problems and solvers: values compared with formulas, and fronts with each other."""

import doctest
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import fairfront
from fairfront import _interrupt, _objective, _problem, _solver
from fairfront import Dataset
from fairfront._objective import Objective
from fairfront._problem import Problem
from fairfront._solver import Front, eps_fair, pf_smg, trace, weighted


@pytest.fixture(scope="module")
def demo():
    return Dataset.known("demo(rows=2000)")


def rows_of(dataset, n_params):
    """Features, labels, weights and groups of all rows; the scores at unit vectors are the features."""
    columns = []
    for first in range(0, n_params, 32):
        seen = []

        def record(scores, rows, seen=seen):
            seen.append((scores, rows.labels, rows.weights, rows.groups("sex")))
            return np.zeros_like(scores), np.zeros_like(scores)

        problem = Problem(dataset, [Objective("record", record)])
        # So few rows form one task, whose tiles arrive in order.
        assert problem.n_rows <= 4096
        problem.values(np.eye(n_params)[first : first + 32])
        columns.append([np.concatenate(part) for part in zip(*seen, strict=True)])
    features = np.concatenate([column[0] for column in columns], axis=1)[:, :n_params]
    return [features, *columns[0][1:]]


@pytest.fixture(scope="module")
def fair(demo):
    return Problem(demo, ["log_loss", "score_covariance(sex)"])


def points_for(problem, n=5, seed=0):
    return np.random.default_rng(seed).normal(scale=0.3, size=(n, problem.n_params))


def test_values_and_gradients_are_the_formulas(demo, fair):
    z, y, w, group = rows_of(demo, fair.n_params)
    assert len(y) == fair.n_rows and set(np.unique(y)) == {-1, 1}
    x = points_for(fair)
    scores = z @ x.T
    w = w / w.sum()
    margins = y[:, None] * scores
    loss = w @ np.logaddexp(0, -margins) + 0.5e-4 * (x[:, :-1] ** 2).sum(axis=1)
    a = group - w @ group
    covariance = (w * a) @ scores
    expected = np.stack([loss, covariance**2], axis=1)
    # The sums over 2,000 rows have another order.
    np.testing.assert_allclose(fair.values(x), expected, rtol=1e-10, atol=1e-14)

    by_score = -y[:, None] / (1 + np.exp(margins))
    gradient = ((w[:, None] * by_score).T @ z) + 1e-4 * x * (np.arange(x.shape[1]) < x.shape[1] - 1)
    of_covariance = 2 * covariance[:, None] * ((w * a) @ z)
    expected = np.stack([gradient, of_covariance], axis=1)
    np.testing.assert_allclose(fair.gradients(x), expected, rtol=1e-9, atol=1e-13)
    values, gradients = fair.evaluate(x)
    np.testing.assert_allclose(values, fair.values(x), rtol=1e-12)
    np.testing.assert_allclose(gradients, fair.gradients(x), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("name", ["error_rate", "equalized_odds(sex)", "mutual_information(race)"])
def test_gradients_are_finite_differences(demo, name):
    problem = Problem(demo, [name])
    x = points_for(problem, n=1)[0]
    found = problem.gradients(x)[0]
    step = 1e-5
    around = x + step * np.concatenate([np.eye(len(x)), -np.eye(len(x))])
    values = problem.values(around)[:, 0]
    expected = (values[: len(x)] - values[len(x) :]) / (2 * step)
    # Central differences are off by step² times third derivatives (of decisions at temperature 0.1).
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_shapes_and_names(fair):
    assert (fair.n_objectives, fair.names) == (2, ["log_loss", "score_covariance(sex)"])
    assert fair.feature_names is not None and len(fair.feature_names) == fair.n_params - 1
    x = points_for(fair, n=40)
    assert fair.values(x).shape == (40, 2)
    assert fair.gradients(x).shape == (40, 2, fair.n_params)
    np.testing.assert_array_equal(fair.values(x[7]), fair.values(x)[7])
    np.testing.assert_array_equal(fair.gradients(x[7]), fair.gradients(x)[7])
    assert fair.values(np.empty((0, fair.n_params))).shape == (0, 2)
    np.testing.assert_array_equal(fair.values(np.asfortranarray(x)), fair.values(x))
    np.testing.assert_allclose(fair.values(x.astype(np.float32)), fair.values(x), rtol=1e-5, atol=1e-6)
    assert "score_covariance(sex)" in repr(fair)


def test_wrong_problems(demo, fair):
    with pytest.raises(ValueError, match="points have 3 parameters, but the problem has"):
        fair.values([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="shape"):
        fair.values(np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match='did you mean "log_loss"'):
        Problem(demo, ["log_los"])
    with pytest.raises(ValueError, match="sex"):
        Problem(demo, ["log_loss", "score_covariance(sx)"])
    with pytest.raises(ValueError, match="at least one objective"):
        Problem(demo, [])
    with pytest.raises(TypeError, match="is not an objective"):
        Problem(demo, ["log_loss", 3])
    with pytest.raises(TypeError, match="Dataset"):
        Problem("demo", ["log_loss"])
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(fair)


def test_trace_and_eps_fair_agree(fair):
    exact = trace(fair, n_models=200)
    bounded = eps_fair(fair, n_models=12)
    assert exact.gaps is not None and np.nanmax(exact.gaps) < 1e-7
    assert exact.residuals.shape == (len(exact),) and exact.multipliers.shape == exact.values.shape
    # At the same covariance, both have the same loss; the curve is convex in the root of the covariance.
    on_curve = np.interp(np.sqrt(bounded.values[:, 1]), np.sqrt(exact.values[::-1, 1]), exact.values[::-1, 0])
    np.testing.assert_allclose(bounded.values[:, 0], on_curve, atol=1e-5)
    np.testing.assert_array_equal(exact.values, fair.values(exact.points))
    assert bounded.counters["subproblems"]["failed"] == 0


def test_front(fair):
    front = pf_smg(fair, n_models=30, seed=3)
    assert isinstance(front, Front) and len(front) >= 30
    assert front.points.shape == (len(front), fair.n_params)
    assert (np.diff(front.values[:, 0]) >= 0).all()
    assert front.unmitigated.shape == (fair.n_params,)
    np.testing.assert_allclose(front.unmitigated_values, fair.values(front.unmitigated), rtol=1e-12)
    assert front.stop_reason == "full" and front.counters["evaluations"] > 0
    assert front.names == fair.names and "points" in repr(front)
    again = pickle.loads(pickle.dumps(front))
    np.testing.assert_array_equal(again.points, front.points)
    assert again.counters == front.counters


def test_seed_and_threads(fair):
    fronts = [pf_smg(fair, n_models=30, seed=5, n_jobs=jobs) for jobs in (1, 2, -1)]
    for other in fronts[1:]:
        assert other.points.tobytes() == fronts[0].points.tobytes()
        assert other.values.tobytes() == fronts[0].values.tobytes()
    other = pf_smg(fair, n_models=30, seed=6)
    assert other.points.tobytes() != fronts[0].points.tobytes()


def test_polish_improves(fair):
    rough = pf_smg(fair, n_models=20, seed=1, max_steps=8)
    fine = pf_smg(fair, n_models=20, seed=1, max_steps=8, polish=True)
    assert fine.counters["polished"]["points"] == len(rough)
    for value in rough.values:
        assert (fine.values <= value + 1e-12).all(axis=1).any()


def test_starts(fair):
    start = trace(fair, n_models=20).points
    front = pf_smg(fair, starts=start, n_models=10)
    assert len(front) >= 10
    assert weighted(fair, starts=start, sums=4, n_models=5).stop_reason == "complete"
    with pytest.raises(ValueError, match="parameters"):
        pf_smg(fair, starts=np.zeros((2, 3)))


def test_settings(fair):
    front = pf_smg(fair, n_models=10, steps=2, batches=[(80, 1.018), (50, 1.018)], preconditioner=False, n_starts=3)
    assert len(front) >= 10
    with pytest.raises(ValueError, match='pf_smg has no setting "stpes"; did you mean "steps"'):
        pf_smg(fair, stpes=3)
    with pytest.raises(ValueError, match="steps is .*whole number"):
        pf_smg(fair, steps="many")
    with pytest.raises(ValueError, match="start_radius is -1; it must be"):
        pf_smg(fair, start_radius=-1)
    with pytest.raises(ValueError, match="n_models is 0"):
        pf_smg(fair, n_models=0)
    with pytest.raises(ValueError, match="n_models is 1; it must be at least 2"):
        trace(fair, n_models=1)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        pf_smg(fair, n_jobs=0)
    with pytest.raises(ValueError, match="max_seconds"):
        pf_smg(fair, max_seconds=-1)
    with pytest.raises(ValueError, match="seed"):
        pf_smg(fair, seed=-1)
    with pytest.raises(TypeError, match="callback"):
        pf_smg(fair, callback=3)
    with pytest.raises(TypeError, match="Problem"):
        pf_smg("demo")


def test_trace_needs_covariances(demo):
    with pytest.raises(ValueError, match="trace cannot follow this front"):
        trace(Problem(demo, ["error_rate", "demographic_parity(sex)"]))
    with pytest.raises(ValueError, match="covariance"):
        eps_fair(Problem(demo, ["log_loss", "demographic_parity(sex)"]))


def test_callback(fair):
    told = []
    front = pf_smg(fair, n_models=40, callback=told.append)
    assert told and {"round", "share", "n_models", "hypervolume", "seconds"} == set(told[0])
    assert len(front) >= 40
    front = pf_smg(fair, callback=lambda progress: True)
    assert front.stop_reason == "stopped" and len(front) > 0


@pytest.mark.parametrize("own", [RuntimeError("mine"), KeyboardInterrupt("mine")])
def test_callback_that_raises(fair, own):
    def callback(progress):
        raise own

    with pytest.raises(type(own)) as caught:
        pf_smg(fair, callback=callback)
    assert caught.value is own


def test_time_limit(fair):
    start = time.monotonic()
    front = pf_smg(fair, n_models=10**7, max_steps=10**9, patience=0, max_seconds=0.5)
    assert front.stop_reason == "stopped" and time.monotonic() - start < 5


def test_two_threads_at_once(fair):
    expected = pf_smg(fair, n_models=25, seed=2)
    found = [None, None]

    def solve(i):
        found[i] = pf_smg(fair, n_models=25, seed=2)

    threads = [threading.Thread(target=solve, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for front in found:
        assert front.points.tobytes() == expected.points.tobytes()


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from fairfront import Dataset
from fairfront._interrupt import Interrupted
from fairfront._problem import Problem
from fairfront._solver import pf_smg

{problem}
began = threading.Event()
pressed = []

def press():
    began.wait()
    time.sleep(0.3)
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    pf_smg(problem, n_models=10**7, max_steps=10**9, patience=0, callback=lambda _: began.set())
except Interrupted as interrupt:
    front = interrupt.front
    print(len(front), front.stop_reason, time.monotonic() - pressed[0])
"""
BUILT_IN = 'problem = Problem(Dataset.known("demo"), ["error_rate", "demographic_parity(sex)"])'
CALLABLE = """
ends = np.eye(3)[:2]
problem = Problem.from_functions(
    lambda x: ((x[:, None] - ends) ** 2).sum(axis=2), lambda x: 2 * (x[:, None] - ends), 3, 2
)
"""


@pytest.mark.parametrize("problem", [BUILT_IN, CALLABLE], ids=["built-in", "callables"])
def test_ctrl_c(problem):
    code = textwrap.dedent(INTERRUPTED).format(problem=problem)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    points, reason, seconds = done.stdout.split()
    # The documented limit is one second; busy machines need longer.
    assert int(points) > 0 and reason == "stopped" and float(seconds) < 3


def test_interrupted_is_pickled():
    again = pickle.loads(pickle.dumps(_interrupt.Interrupted("stopped", front=[1])))
    assert isinstance(again, KeyboardInterrupt) and again.front == [1] and str(again) == "stopped"


@pytest.mark.parametrize("module", [_interrupt, _objective, _problem, _solver])
def test_examples_of_docstrings(module, monkeypatch):
    names = {"Dataset": Dataset}
    for other in (_interrupt, _objective, _problem, _solver):
        names |= {name: getattr(other, name) for name in other.__all__}
    for name, value in names.items():
        monkeypatch.setattr(fairfront, name, value, raising=False)
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_weighted_sums_thin_the_whole_front():
    ends = np.array([[0.0, 0.0], [1.0, 0.0]])
    problem = Problem.from_functions(
        lambda x: ((x[:, None] - ends) ** 2).sum(axis=2), lambda x: 2 * (x[:, None] - ends), n_params=2, n_objectives=2
    )
    few = weighted(problem, n_models=7)
    assert len(few) == 7
    assert few.points[:, 0].max() > 0.9, "both ends are kept"


def test_points_with_nan_are_rejected():
    problem = Problem(Dataset.known("demo(rows=500)"), ["log_loss", "score_covariance(sex)"])
    with pytest.raises(ValueError, match="NaN"):
        problem.values([np.nan] * problem.n_params)


def test_known_data_sets_are_found():
    import os

    if "FAIRFRONT_DATA" not in os.environ:
        pytest.skip("FAIRFRONT_DATA is not set; set it to the folder of the published files")
    assert Dataset.known("adult:sex").n_rows == 45_222
