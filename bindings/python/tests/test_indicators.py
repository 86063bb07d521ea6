"""Inputs and outputs of indicators; test_indicator_values.py tests their values."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import fairfront
from fairfront import indicators

INF = np.inf


def test_purity_within_a_tolerance():
    front, other = [[0.0, 1.0], [0.5, 0.5005], [1.0, 0.0]], [[0.5, 0.5]]
    assert fairfront.purity(front, other) == 2 / 3
    assert fairfront.purity(front, other, tolerance=0.001) == 1.0
    assert fairfront.purity(front, other, tolerance=0.0001) == 2 / 3
    for wrong in (-0.1, np.nan, INF):
        with pytest.raises(ValueError, match="tolerance must be 0 or more and finite"):
            fairfront.purity(front, other, tolerance=wrong)


def test_knee_thin_and_select():
    t = np.linspace(0, 1, 101)
    front = np.c_[t, (1 - t) ** 2]
    # Farthest below the line from (0, 1) to (1, 0): t + (1 - t)² is least at 1/2.
    assert indicators.knee(front) == 50
    assert indicators.knee([[INF, 1.0]]) is None
    np.testing.assert_array_equal(indicators.thin(front, 0), np.arange(101))
    kept = indicators.thin(front, 0.05)
    assert {0, 100} <= set(kept) and len(kept) < 101
    for i in set(range(101)) - set(kept):
        assert (abs(front[kept] - front[i]) < 0.05).all(1).any()
    # The distance to both ends is equal at t = (1 - t)², which is t = 0.382.
    np.testing.assert_array_equal(indicators.select_spread(front, 3), [0, 38, 100])
    assert len(indicators.select_spread(front, 500)) == 101
    assert len(indicators.select_spread(front, 0)) == 0
    with pytest.raises(ValueError, match="n must be 0 or more, not -1"):
        indicators.select_spread(front, -1)
    with pytest.raises(ValueError, match="share must be 0 or more"):
        indicators.thin(front, -0.1)


@pytest.mark.parametrize("better", ["smaller", "larger"])
def test_performance_profile_by_definition(better):
    rng = np.random.default_rng(3)
    results = rng.gamma(1.0, size=(50, 3)) + 0.01
    results[rng.random((50, 3)) < 0.1] = INF if better == "smaller" else 0.0
    cost = results if better == "smaller" else 1 / np.maximum(results, 1e-300)
    ratios = np.where(cost < 1e299, cost / cost.min(1, keepdims=True), INF)
    profile = fairfront.performance_profile(results, better=better)
    np.testing.assert_allclose(profile.ratios, np.sort(ratios, axis=0).T, rtol=1e-14)
    taus = [1.0, 1.5, 2.0, 10.0, INF]
    expected = [[(r[np.isfinite(r)] <= tau).sum() / 50 for tau in taus] for r in profile.ratios]
    np.testing.assert_allclose(profile.share(taus), expected)
    np.testing.assert_allclose(profile.share(2.0), [row[2] for row in expected])
    for solver in range(3):
        at, shares = profile.steps(solver)
        np.testing.assert_allclose(profile.share(at)[solver], shares)
        assert (np.diff(at) > 0).all() and np.isfinite(at).all()


def test_wrong_performance_profiles():
    with pytest.raises(ValueError, match="result 1 of problem 0 is negative"):
        fairfront.performance_profile([[1, -2]])
    with pytest.raises(ValueError, match="better must be 'smaller' or 'larger', not 'more'"):
        fairfront.performance_profile([[1, 2]], better="more")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_min_norm_against_slsqp(m, seed):
    rng = np.random.default_rng([m, seed])
    gradients = rng.normal(size=(m, 4)) + 0.5
    metric = rng.random(4) + 0.5 if seed % 2 else None
    inverse = np.ones(4) if metric is None else 1 / metric
    direction, weights = fairfront.min_norm(gradients, metric=metric)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(direction, inverse * (weights @ gradients), atol=1e-12)

    def length(w):
        return (inverse * (w @ gradients) ** 2).sum()

    one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    found = minimize(
        length,
        np.full(m, 1 / m),
        bounds=[(0, 1)] * m,
        constraints=one,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    # SLSQP stops slightly above the minimum, never below it.
    assert length(weights) <= found.fun + 1e-12
    assert length(weights) == pytest.approx(found.fun, rel=1e-5, abs=1e-8)
    # The optimality condition: no gradient shortens the direction.
    assert (gradients @ direction >= length(weights) - 1e-10).all()


def test_min_norm_of_odd_gradients():
    direction, weights = fairfront.min_norm([[1.0, 2.0], [-1.0, -2.0]])
    np.testing.assert_allclose(direction, 0, atol=1e-15)
    np.testing.assert_allclose(weights, 0.5)
    direction, weights = fairfront.min_norm([[1.0, 2.0], [0.0, 0.0]])
    np.testing.assert_array_equal(weights, [0, 1])
    direction, weights = fairfront.min_norm([[1e300, 0.0], [0.0, 1e300]])
    np.testing.assert_allclose(direction, [5e299, 5e299])
    for wrong, message in [
        ([[1.0, np.nan]], "number 1 of gradient 0 is not finite"),
        ([[1.0, 2.0], [INF, 1.0]], "number 0 of gradient 1 is not finite"),
        (np.ones((21, 3)), "expected 1 to 20 gradients with at least one number, found 21"),
        (np.ones((0, 3)), "expected 1 to 20 gradients"),
        ([1.0, 2.0], r"found shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            fairfront.min_norm(wrong)
    for metric in ([1.0], [1.0, -1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="metric: "):
            fairfront.min_norm([[1.0, 2.0]], metric=metric)


def test_dtypes_and_layouts():
    points = np.array([[1, 3], [2, 2], [3, 1], [4, 4]])
    wide = np.zeros((8, 4))
    wide[::2, 1::2] = points
    frozen = points.astype(float)
    frozen.flags.writeable = False
    for given in (
        points.tolist(),
        tuple(map(tuple, points)),
        points,
        points.astype(np.float32),
        points.astype(np.float16),
        points.astype(np.uint8),
        points.astype(float),
        np.asfortranarray(points.astype(float)),
        wide[::2, 1::2],
        frozen,
        points.astype(">f8"),
        pd.DataFrame(points, columns=["a", "b"]),
        points.astype(object),
    ):
        assert fairfront.hypervolume(given, ref=[4, 4]) == 6.0
        assert fairfront.hypervolume(given, np.float32([4, 4])) == 6.0
        assert fairfront.is_nondominated(given).tolist() == [True, True, True, False]
        assert fairfront.purity(given) == 0.75


def test_arrays_are_not_copied():
    points = np.random.default_rng(0).random((1000, 3))
    assert indicators._points(points, "points") is points
    assert np.shares_memory(indicators._floats(points[10:20], "points"), points)


def test_fronts_without_points():
    empty, one = np.empty((0, 2)), [[1.0, 2.0]]
    for none in ([], empty):
        assert fairfront.hypervolume(none, ref=[1, 1]) == 0.0
        assert fairfront.is_nondominated(none).shape == (0,)
        assert indicators.contributions(none, [1, 1]).shape == (0,)
        assert indicators.nondominated(none).shape == (0,)
        assert fairfront.purity(none, one) == 0.0
        assert fairfront.purity(one, none) == 1.0
        assert fairfront.spread(none) == (0.0, 0.0)
        assert fairfront.spread(none, [[0, 1], [1, 0]]) == (1.0, 1.0)
        assert indicators.coverage(none, one) == indicators.coverage(one, none) == 0.0
        assert indicators.additive_epsilon(none, one) == INF
        assert indicators.additive_epsilon(one, none) == -INF
        assert indicators.igd_plus(none, one) == INF
        assert indicators.igd_plus(one, none) == 0.0
        assert indicators.knee(none) is None
        assert fairfront.performance_profile(none).share(2.0).tolist() in ([0.0], [0.0, 0.0])


def test_infinite_values():
    assert fairfront.hypervolume([[-INF, 0.0]], ref=[1, 1]) == INF
    assert fairfront.hypervolume([[INF, 0.0]], ref=[1, 1]) == 0.0
    assert fairfront.is_nondominated([[INF, 0.0], [INF, 1.0]]).tolist() == [True, False]
    assert fairfront.is_nondominated([[0.0, 1], [-0.0, 1]], keep_weakly=True).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fairfront.hypervolume([[1, np.nan]], [2, 2]),
            ValueError,
            "points: objective 1 of point 0 is not a number",
        ),
        (lambda: fairfront.hypervolume([[1, 1]], [2, np.nan]), ValueError, "ref: value 1 is not a number"),
        (
            lambda: fairfront.hypervolume([[1, 1]], [2, 2, 2]),
            ValueError,
            "ref has 3 values, but points have 2 objectives",
        ),
        (lambda: fairfront.hypervolume([[1, 1]], [[2, 2]]), ValueError, r"ref: .* found shape \(1, 2\)"),
        (lambda: fairfront.hypervolume([1, 1], [2, 2]), ValueError, r"points: .* found shape \(2,\)"),
        (lambda: fairfront.hypervolume(np.ones((2, 2, 2)), [2, 2]), ValueError, r"shape \(2, 2, 2\)"),
        (lambda: fairfront.hypervolume([[1, 2], [3]], [2, 2]), ValueError, "inhomogeneous"),
        (lambda: fairfront.hypervolume([["a", "b"]], [2, 2]), ValueError, "could not convert"),
        (lambda: fairfront.hypervolume(None, [2, 2]), ValueError, r"found shape \(\)"),
        (lambda: fairfront.hypervolume([[1 + 2j, 1]], [2, 2]), TypeError, "expected real numbers"),
        (lambda: fairfront.is_nondominated(np.ones((3, 0))), ValueError, "divided into points of 0 objectives"),
        (lambda: fairfront.is_nondominated([[{}]]), TypeError, "float"),
        (
            lambda: fairfront.purity([[1, 2]], [[1, 2, 3]]),
            ValueError,
            r"others\[0\]: expected points with 2 objectives, found 3",
        ),
        (
            lambda: indicators.igd_plus([[1, 2]], [[1]]),
            ValueError,
            "target: expected points with 2 objectives, found 1",
        ),
        (lambda: indicators.coverage([[1, 2]], [[1, np.nan]]), ValueError, "target: objective 1 of point 0"),
    ],
)
def test_wrong_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_threads_at_once():
    rng = np.random.default_rng(1)
    fronts = [rng.random((300, 3)) for _ in range(24)]
    expected = [fairfront.hypervolume(front, [1, 1, 1]) for front in fronts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            found = list(pool.map(lambda front: fairfront.hypervolume(front, [1, 1, 1]), fronts))
            assert found == expected
        shared = list(pool.map(lambda _: fairfront.hypervolume(fronts[0], [1, 1, 1]), range(24)))
    assert shared == [expected[0]] * 24
