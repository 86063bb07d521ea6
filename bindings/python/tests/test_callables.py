"""Python callables as whole problems and as objectives."""

import threading

import numpy as np
import pytest

from fairfront import Dataset
from fairfront._objective import Objective
from fairfront._problem import Problem
from fairfront._solver import pf_smg, weighted

ENDS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def distances(x):
    return ((x[:, None] - ENDS) ** 2).sum(axis=2)


def slopes(x):
    return 2 * (x[:, None] - ENDS)


def quadratic(values=distances, gradients=slopes, **more):
    return Problem.from_functions(values, gradients, 3, 2, **more)


@pytest.fixture(scope="module")
def demo():
    return Dataset.known("demo(rows=2000)")


def volume(front, reference):
    """The hypervolume for two objectives, by a sweep."""
    area, below = 0.0, reference[1]
    for first, second in front[np.argsort(front[:, 0])]:
        if first < reference[0] and second < below:
            area += (reference[0] - first) * (below - second)
            below = second
    return area


def log_loss(scores, rows):
    y = rows.labels[:, None]
    margins = y * scores
    return np.logaddexp(0, -margins), -y / (1 + np.exp(margins))


def moments(scores, rows):
    """Means of aφ, φ and a."""
    a = np.broadcast_to(rows.groups("sex")[:, None].astype(float), scores.shape)
    zeros = np.zeros_like(scores)
    return np.stack([a * scores, scores, a]), np.stack([a, zeros + 1, zeros])


def squared_covariance(means):
    c = means[0] - means[1] * means[2]
    return c**2, 2 * c * np.array([1.0, -means[2], -means[1]])


def covariance(**more):
    return Objective("mine", moments, squared_covariance, n_means=3, attribute="sex", **more)


def test_front_of_distances():
    front = pf_smg(quadratic(), n_models=100)
    # The front is √f1 + √f2 = 1; random starts are near it after a few steps.
    roots = np.sqrt(front.values)
    assert np.abs(roots.sum(axis=1) - 1).max() < 1e-2
    assert front.values[:, 0].min() < 1e-3 and front.values[:, 1].min() < 1e-3
    np.testing.assert_allclose(front.unmitigated, ENDS[0], atol=1e-6)
    np.testing.assert_array_equal(front.values, distances(front.points))
    assert front.names == ["f1", "f2"]


def test_polished_front_is_exact():
    front = pf_smg(quadratic(), n_models=40, polish=True)
    assert np.abs(np.sqrt(front.values).sum(axis=1) - 1).max() < 1e-4


def test_weighted_sums():
    front = weighted(quadratic(), sums=20)
    # A sum λ, 1 − λ has its minimum at the point 1 − λ of the line.
    assert np.abs(front.points[:, 1:]).max() < 1e-4 and len(front) > 10


def test_start_and_minimizer():
    known = quadratic(minimizer=ENDS[0], start=[3, 3, 3], names=["near", "far"])
    front = pf_smg(known, n_models=10)
    np.testing.assert_array_equal(front.unmitigated, ENDS[0])
    assert front.names == known.names == ["near", "far"]
    with pytest.raises(ValueError, match="start must have 3"):
        quadratic(start=[1.0])
    with pytest.raises(ValueError, match="1 names for 2"):
        quadratic(names=["one"])
    with pytest.raises(TypeError, match="callable"):
        quadratic(values=3)
    with pytest.raises(ValueError, match="n_rows is 0"):
        quadratic(n_rows=0)


def test_threads_give_the_same_bytes():
    fronts = [pf_smg(quadratic(), n_models=60, seed=4, n_jobs=jobs) for jobs in (1, 2)]
    assert fronts[0].points.tobytes() == fronts[1].points.tobytes()


def test_callables_equal_the_built_in(demo):
    """Without special treatment of covariances and temperatures, and with all rows in every batch: the same bytes."""
    own = Problem(demo, ["log_loss", "group_risk(sex)"])
    copy = Problem.from_functions(
        own.values,
        lambda x, batch: own.gradients(x),
        own.n_params,
        2,
        n_rows=own.n_rows,
        minimizer=pf_smg(own, n_models=1).unmitigated,
    )
    x = np.random.default_rng(0).normal(size=(40, own.n_params))
    np.testing.assert_array_equal(copy.values(x), own.values(x))
    np.testing.assert_array_equal(copy.gradients(x), own.gradients(x))
    all_rows = {"batches": [(1e9, 1.0)], "batch_share": 1.0}
    settings = {"n_models": 40, "seed": 7, "preconditioner": False, "anchors": False, "starts": x / 10}
    fronts = [pf_smg(problem, **settings, **all_rows) for problem in (own, copy)]
    assert len(fronts[0]) >= 40
    assert fronts[0].points.tobytes() == fronts[1].points.tobytes()
    assert fronts[0].values.tobytes() == fronts[1].values.tobytes()


def test_batches():
    """Fit least squares to two targets with mini-batches; each batch draws its own rows."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=(1000, 3))
    targets = np.stack([a @ [1.0, 0, 0], a @ [0, 1.0, 0]]) + rng.normal(scale=0.1, size=(2, 1000))
    batches = []

    def values(x):
        return ((x @ a.T)[:, None] - targets).__pow__(2).mean(axis=2)

    def gradients(x, batch):
        batches.append(batch)
        out = np.empty((len(x), 2, 3))
        for i in range(2):
            rows = slice(None) if batch is None else batch.rows(i)
            left = x @ a[rows].T - targets[i, rows]
            out[:, i] = 2 * left @ a[rows] / left.shape[1]
        return out

    def problem():
        return Problem.from_functions(values, gradients, 3, 2, n_rows=1000)

    front = pf_smg(problem(), n_models=60, batches=[(50, 1.05), (20, 1.05)], n_jobs=1)
    drawn = [batch for batch in batches if batch is not None]
    assert drawn and len(front) >= 60
    first = drawn[0]
    assert first.sizes == [50, 20] and first.n_rows == 1000 and "sizes=[50, 20]" in repr(first)
    rows = first.rows(0)
    assert len(rows) == 50 == len(set(rows)) and rows.min() >= 0 and rows.max() < 1000
    np.testing.assert_array_equal(rows, first.rows(0))
    assert set(first.rows(1)) != set(rows)
    assert len({(b.seed, b.key) for b in drawn}) > 1
    with pytest.raises(ValueError, match="no objective 2"):
        first.rows(2)
    # The front is close to the line between the two least-squares fits.
    best = [np.linalg.lstsq(a, t, rcond=None)[0] for t in targets]
    line = np.linspace(0, 1, 200)[:, None]
    exact = values(line * best[0] + (1 - line) * best[1])
    reference = exact.max(axis=0) * 1.1
    assert volume(front.values, reference) > 0.97 * volume(exact, reference)
    again = pf_smg(problem(), n_models=60, batches=[(50, 1.05), (20, 1.05)], n_jobs=2)
    assert again.points.tobytes() == front.points.tobytes()


def raiser(error, after=0, result=None):
    """Create a function that raises after some calls."""
    calls = []

    def function(*arguments):
        calls.append(None)
        if len(calls) > after:
            raise error
        return result(*arguments)

    return function


@pytest.mark.parametrize("after", [0, 5])
@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), KeyboardInterrupt("mine"), ValueError("mine")])
@pytest.mark.parametrize("which", ["values", "gradients"])
def test_exceptions_of_a_problem(which, error, after):
    functions = {"values": distances, "gradients": slopes}
    functions[which] = raiser(error, after, functions[which])
    with pytest.raises(type(error)) as caught:
        pf_smg(quadratic(**functions))
    assert caught.value is error
    with pytest.raises(type(error)) as caught:
        getattr(quadratic(**functions), which)(np.zeros((2, 3)))
    assert caught.value is error


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda x: np.zeros((len(x), 3)), r"values returned an array of shape \(1, 3\); it must be \(1, 2\)"),
        (lambda x: np.full((len(x), 2), np.nan), "values of objective 1 are NaN at the point"),
        (lambda x: "many", "values returned .*; return an array of numbers"),
        (lambda x: None, "values returned"),
        (lambda x: [["a", "b"]] * len(x), "values returned .*; return an array of numbers"),
    ],
)
def test_wrong_values(broken, message):
    with pytest.raises(ValueError, match=message):
        quadratic(values=broken).values([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="values"):
        pf_smg(quadratic(values=broken))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda x: slopes(x).transpose(1, 0, 2), r"\(2, 1, 3\); it must be \(1, 2, 3\)"),
        (lambda x: slopes(x) * [[1.0], [np.nan]], "gradients of objective 2 are NaN"),
    ],
)
def test_wrong_gradients(broken, message):
    with pytest.raises(ValueError, match=message):
        quadratic(gradients=broken).gradients([[0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="gradients"):
        pf_smg(quadratic(gradients=broken))


def test_other_kinds_of_numbers():
    as_lists = quadratic(lambda x: distances(x).tolist(), lambda x: slopes(x).astype(np.float32))
    x = np.eye(3)
    np.testing.assert_array_equal(as_lists.values(x), distances(x))
    np.testing.assert_array_equal(as_lists.gradients(x), slopes(x))


def test_outside_of_the_domain():
    """−log of the slack is infinite outside a boundary; points there are left out."""

    def values(x):
        slack = 0.8 - x[:, :1]
        with np.errstate(all="ignore"):
            wall = np.where(slack > 0, -1e-3 * np.log(np.abs(slack)), np.inf)
        return distances(x) + wall

    def gradients(x):
        out = slopes(x)
        slack = 0.8 - x[:, :1]
        out[:, :, 0] += np.where(slack > 0, 1e-3 / np.abs(slack), np.inf)
        return out

    front = pf_smg(quadratic(values, gradients), n_models=30)
    assert np.isfinite(front.values).all() and front.points[:, 0].max() < 0.8


def test_the_lock_is_free_while_solving():
    done = threading.Event()
    ticks = []

    def tick():
        while not done.wait(0.01):
            ticks.append(None)

    thread = threading.Thread(target=tick)
    thread.start()
    pf_smg(quadratic(), n_models=10**6, max_steps=10**9, patience=0, max_seconds=0.5)
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_objectives_that_copy_built_in_ones(demo):
    own = Problem(demo, ["log_loss", "score_covariance(sex)"])
    copy = Problem(demo, [Objective("loss", log_loss, penalty=1e-4), covariance()])
    assert copy.names == ["loss", "mine"]
    x = np.random.default_rng(2).normal(scale=0.5, size=(40, own.n_params))
    for problem in (copy, Problem(demo, ["log_loss", covariance()])):
        np.testing.assert_allclose(problem.values(x), own.values(x), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(problem.gradients(x), own.gradients(x), rtol=1e-10, atol=1e-13)
        values, gradients = problem.evaluate(x)
        np.testing.assert_allclose(values, own.values(x), rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(gradients, own.gradients(x), rtol=1e-10, atol=1e-13)
    reference = np.array([own.values(np.zeros(own.n_params))[0], 0.02])
    fronts = [pf_smg(p, n_models=100, seed=1) for p in (own, Problem(demo, ["log_loss", covariance()]))]
    volumes = [volume(f.values, reference) for f in fronts]
    assert volumes[0] > 0 and volumes[1] == pytest.approx(volumes[0], rel=0.02)
    np.testing.assert_allclose(fronts[0].unmitigated, fronts[1].unmitigated, atol=1e-8)


def test_rows_that_take_part(demo):
    """Means by group over the rows with one label."""

    def shares(scores, rows):
        assert len(rows) == len(scores) and rows.group_names("sex") == sorted(rows.group_names("sex"))
        ones = np.ones_like(scores)
        is_positive = np.broadcast_to((rows.labels > 0)[:, None] * 1.0, scores.shape)
        return np.stack([ones, is_positive]), np.zeros((2, *scores.shape))

    def both(means):
        return means[0] + 10 * means[1], [1.0, 10.0]

    for label, expected in ((1, 11.0), (-1, 1.0)):
        mine = Objective("mine", shares, both, n_means=2, attribute="sex", label=label)
        problem = Problem(demo, ["log_loss", mine])
        assert problem.values(np.zeros(problem.n_params))[1] == pytest.approx(expected, abs=1e-12)


def test_objective_as_loss_alone(demo):
    def squared_hinge(scores, rows):
        y = rows.labels[:, None]
        left = np.maximum(1 - y * scores, 0)
        return left**2, -2 * y * left

    problem = Problem(demo, [Objective("hinge", squared_hinge, penalty=1e-3), "demographic_parity(sex)"])
    front = pf_smg(problem, n_models=20, n_jobs=2)
    gradient = problem.gradients(front.unmitigated)[0]
    assert np.abs(gradient).max() < 1e-4
    again = pf_smg(problem, n_models=20, n_jobs=1)
    assert again.points.tobytes() == front.points.tobytes()


@pytest.mark.parametrize("after", [0, 40])
@pytest.mark.parametrize("which", ["statistics", "outer"])
@pytest.mark.parametrize("solver", [pf_smg, weighted])
def test_exceptions_of_an_objective(demo, solver, which, after):
    error = KeyError("mine")
    functions = {"statistics": moments, "outer": squared_covariance}
    functions[which] = raiser(error, after, functions[which])
    mine = Objective("mine", **functions, n_means=3)
    problem = Problem(demo, ["log_loss", mine])
    with pytest.raises(KeyError) as caught:
        solver(problem)
    assert caught.value is error
    for method in (problem.values, problem.gradients, problem.evaluate):
        with pytest.raises(KeyError) as caught:
            method(np.zeros(problem.n_params))
        assert caught.value is error


def test_a_problem_can_be_used_after_an_exception(demo):
    fail = [True]

    def statistics(scores, rows):
        if fail[0]:
            raise OSError("once")
        return log_loss(scores, rows)

    problem = Problem(demo, ["error_rate", Objective("mine", statistics)])
    with pytest.raises(OSError, match="once"):
        problem.values(np.zeros(problem.n_params))
    fail[0] = False
    assert problem.values(np.zeros(problem.n_params))[1] == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    ("statistics", "message"),
    [
        (lambda s, rows: s, "must return two arrays"),
        (lambda s, rows: (s[:, :3], s), r"\(s\) returned an array of shape .*means × rows × points"),
        (lambda s, rows: (s, s * np.nan), r"statistics of the objective \"mine\" \(ds\) is NaN"),
        (lambda s, rows: (s, rows.groups("sx")), "is not a sensitive attribute"),
    ],
)
def test_wrong_statistics(demo, statistics, message):
    problem = Problem(demo, ["log_loss", Objective("mine", statistics)])
    with pytest.raises(ValueError, match=message):
        problem.evaluate(np.ones(problem.n_params))


@pytest.mark.parametrize(
    ("outer", "message"),
    [
        (lambda means: 3.0, "must return a number and its derivative"),
        (lambda means: (3.0, [1.0, 2.0]), r"shape \(2,\); it must be \(1,\)"),
        (lambda means: (np.nan, [1.0]), "is NaN"),
    ],
)
def test_wrong_outer(demo, outer, message):
    problem = Problem(demo, ["log_loss", Objective("mine", log_loss, outer)])
    with pytest.raises(ValueError, match=message):
        problem.values(np.ones(problem.n_params))


def test_wrong_objectives(demo):
    for arguments, error, message in [
        (("", log_loss), ValueError, "name"),
        (("mine", 3), TypeError, "statistics"),
        (("mine", log_loss, 3), TypeError, "outer"),
    ]:
        with pytest.raises(error, match=message):
            Objective(*arguments)
    for settings, message in [
        ({"n_means": 2}, "outer"),
        ({"n_means": 0}, "n_means"),
        ({"label": 1}, "attribute"),
        ({"attribute": "sex", "label": 2}, "label"),
        ({"penalty": -1.0}, "penalty"),
    ]:
        with pytest.raises(ValueError, match=message):
            Objective("mine", log_loss, **settings)
    with pytest.raises(ValueError, match='did you mean "sex"'):
        Problem(demo, ["log_loss", Objective("mine", log_loss, attribute="sx")])


def test_a_custom_objective_in_the_classifier():
    import pickle

    from people import people

    from fairfront import FairFrontClassifier

    X, y, sex, _ = people(500)

    def statistics(scores, rows):
        y = rows.labels[:, None]
        return np.log1p(np.exp(-y * scores)), -y / (1 + np.exp(y * scores))

    own = Objective("my_loss", statistics)
    params = {"solver": "pf-smg", "n_models": 20}
    clf = FairFrontClassifier([own, "score_covariance(sex)"], **params).fit(X, y, sensitive_features={"sex": sex})
    assert clf.objectives_ == ["my_loss", "score_covariance(sex)"]
    scores = clf.predictors_[3].decision_function(X)
    loss = np.log1p(np.exp(-(2 * y - 1) * scores)).mean()
    assert clf.front_["objective.my_loss"].iloc[3] == pytest.approx(loss, rel=1e-12)

    class Mine(Exception):
        pass

    raised = Mine("no")

    def fails(scores, rows):
        raise raised

    with pytest.raises(Mine) as caught:
        FairFrontClassifier([Objective("fails", fails), "score_covariance(sex)"], **params).fit(
            X, y, sensitive_features={"sex": sex}
        )
    assert caught.value is raised
    with pytest.raises(TypeError, match="partial_fit takes objectives by name"):
        FairFrontClassifier([own, "score_covariance(sex)"], **params).partial_fit(X, y, sensitive_features={"sex": sex})
    with pytest.raises(TypeError, match="cannot be saved as JSON"):
        clf.save("nowhere")
    assert pickle.loads(pickle.dumps(clf.select(model_id=1)._run)).n_models == len(clf.front_)
