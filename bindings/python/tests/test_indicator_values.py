"""Values of indicators against moocore, and against their definitions in plain numpy.

pymoo 0.6.2 is not an independent check, because it calls moocore for all of these.
"""

import itertools

import moocore
import numpy as np
import pytest

import fairfront
from fairfront import indicators

INF = np.inf
# Both sides add the same few thousand volumes in different orders, each rounded to 1e-16 of the whole.
SUMS = 1e-12
# A contribution is a difference of volumes inside the point's own box: rounding is a share of that.
OF_BOX = 1e-13
# moocore treats contributions below this as 0.
MOOCORE_ZERO = np.finfo(float).eps ** 0.5
SIZES = {2: 300, 3: 200, 4: 120, 5: 60, 6: 40}
# The test visits all n^m cells of the grid through n points.
SMALL_SIZES = {1: 30, 2: 30, 3: 30, 4: 24, 5: 12, 6: 8, 7: 6, 8: 5}


def values(front, other=None, reference=None):
    """All indicators of a front, compared with another front."""
    front = np.asarray(front, float)
    other = front if other is None else other
    reference = np.ones(front.shape[1]) if reference is None else reference
    spread = fairfront.spread(front, other)
    return {
        "nondominated": indicators.nondominated(front).tolist(),
        "hypervolume": fairfront.hypervolume(front, reference),
        "contributions": indicators.contributions(front, reference).tolist(),
        "purity": fairfront.purity(front, other),
        "coverage": indicators.coverage(front, other),
        "epsilon": indicators.additive_epsilon(front, other),
        "igd_plus": indicators.igd_plus(front, other),
        "knee": indicators.knee(front),
        "gamma": spread.gamma,
        "scaled_gamma": fairfront.spread(front, other, scaled=True).gamma,
        "delta": spread.delta,
    }


# Points


def sphere(rng, n, m):
    points = abs(rng.normal(size=(n, m)))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def simplex(rng, n, m):
    points = rng.exponential(size=(n, m))
    return points / points.sum(1, keepdims=True)


def sharing(rng, n, m):
    """Half of the points share one coordinate, in turn."""
    points = rng.random((n, m))
    for i in range(0, n, 2):
        points[i, (i // 2) % m] = 0.4
    return points


def curve(rng, n, m):
    """All objectives except the first fall along one curve."""
    t = rng.random((n, 1))
    return np.hstack([t, *((1 - t) ** (j + 1) for j in range(m - 1))])


SHAPES = {
    "concave": sphere,
    "convex": lambda rng, n, m: 1 - sphere(rng, n, m),
    "linear": simplex,
    "cube": lambda rng, n, m: rng.random((n, m)),
    "whole numbers": lambda rng, n, m: rng.integers(0, 5, (n, m)) / 4,
    "copies": lambda rng, n, m: np.repeat(simplex(rng, -(-n // 3), m), 3, axis=0)[:n],
    "beyond the reference": lambda rng, n, m: 2.5 * simplex(rng, n, m),
    "negative": lambda rng, n, m: 1.5 * simplex(rng, n, m) - 1,
    "scales": lambda rng, n, m: simplex(rng, n, m) * scales(m),
    "cluster": lambda rng, n, m: 0.5 + 1e-7 * sphere(rng, n, m),
    "equal": lambda rng, n, m: np.full((n, m), 0.3),
    "first constant": lambda rng, n, m: np.c_[np.full(n, 0.5), sphere(rng, n, m)[:, 1:]],
    "last constant": lambda rng, n, m: np.c_[sphere(rng, n, m)[:, :-1], np.full(n, 0.5)],
    "shared": sharing,
    "curve": curve,
}
# In these shapes, at most one point is best in each objective.
WITHOUT_TIES = ["concave", "convex", "linear", "cube", "negative", "scales", "cluster"]


def scales(m):
    """Factors that differ by up to 1e6 and whose product is 1."""
    return 10 ** np.linspace(-3, 3, m) if m > 1 else np.ones(1)


def points_of(shape, n, m):
    """Two fronts and the reference point."""
    rng = np.random.default_rng([n, m, list(SHAPES).index(shape)])
    front, other = (SHAPES[shape](rng, size, m) for size in (n, 2 * n // 3))
    return front, other * 0.98, scales(m) if shape == "scales" else np.ones(m)


# Definitions


def below(a, b):
    """Whether each point of a is at least as good as each point of b."""
    return (a[:, None] <= b[None]).all(2)


def dominating(a, b):
    return below(a, b) & (a[:, None] < b[None]).any(2)


def front_of(points):
    """Positions of the nondominated points; of equal points, only the first."""
    equal_before = np.triu((points[:, None] == points[None]).all(2), 1)
    return np.flatnonzero(~(dominating(points, points) | equal_before).any(0))


def cells(points, reference):
    """The volume of all boxes, and for each point the volume that is in no other box.

    Counts every cell of the grid through all coordinates, so that only positive numbers are added.
    """
    counting = np.flatnonzero((points < reference).all(1))
    alone = np.zeros(len(points))
    if not len(counting):
        return 0.0, alone
    axes = [np.unique(np.r_[points[counting, j], r]) for j, r in enumerate(reference)]
    times = np.zeros([len(axis) - 1 for axis in axes], int)
    owner = np.zeros_like(times)
    for i in counting:
        box = tuple(slice(np.searchsorted(a, v), None) for a, v in zip(axes, points[i]))
        times[box] += 1
        owner[box] += i
    sizes = np.ones(1)
    for axis in axes:
        sizes = np.multiply.outer(sizes, np.diff(axis))
    sizes = sizes.reshape(times.shape)
    once = times == 1
    alone += np.bincount(owner[once], sizes[once], len(points))
    return sizes[times > 0].sum(), alone


def spreads(front, union):
    """Every Γ, Γ over the range, and Δ that the definition allows; tied ends are ambiguous."""
    best = union[front_of(union)]
    ranges = np.ptp(best, axis=0)
    for widest in np.flatnonzero(ranges == ranges.max()):
        values = best[:, widest]
        lowest, highest = (best[values == end] for end in (values.min(), values.max()))
        for low, high in itertools.product(lowest, highest):
            gaps = np.diff(np.sort(np.vstack([front, low, high]), axis=0), axis=0)
            outer, inner = gaps[0] + gaps[-1], gaps[1:-1]
            uneven = outer + abs(inner - inner.mean(0)).sum(0)
            with np.errstate(divide="ignore", invalid="ignore"):
                scaled = np.nan_to_num(gaps.max(0) / ranges, nan=0.0, posinf=INF)
                delta = np.nan_to_num(uneven / (outer + len(inner) * inner.mean(0)), nan=0.0)
            yield gaps.max(), scaled.max(), delta.max()


def heights(front):
    """How far each point lies above the line or plane through the extremes, in scaled values."""
    low = front.min(0)
    scaled = (front - low) / np.where(np.ptp(front, axis=0) > 0, np.ptp(front, axis=0), 1)
    if len(front) > 2:
        extremes = scaled[scaled.argmin(0)]
        if np.linalg.cond(extremes) < 1e9:
            normal = np.linalg.solve(extremes, np.ones(len(extremes)))
            if (normal > 0).all():
                return (scaled @ normal - 1) / np.linalg.norm(normal)
    return scaled.sum(1)


# Tests


class Case:
    def __init__(self, shape, m):
        self.shape, self.m = shape, m
        self.front, self.other, self.reference = points_of(shape, SIZES[m], m)
        self.union = np.vstack([self.front, self.other])
        self.seen = values(self.front, self.union, self.reference)
        self.compared = values(self.front, self.other, self.reference)


@pytest.fixture(
    scope="module",
    params=itertools.product(SHAPES, SIZES),
    ids=lambda p: f"{p[0]}, {p[1]} objectives",
)
def case(request):
    return Case(*request.param)


def near(seen, expected, relative=SUMS, absolute=0.0):
    assert seen == pytest.approx(expected, rel=relative, abs=absolute)


def test_hypervolume(case):
    expected = moocore.hypervolume(case.front, ref=case.reference)
    near(case.seen["hypervolume"], expected)


def test_contributions(case):
    expected = moocore.hv_contributions(case.front, ref=case.reference, ignore_dominated=False)
    seen = np.array(case.seen["contributions"])
    # moocore subtracts whole volumes.
    volume = case.seen["hypervolume"]
    error = np.where(expected == 0, np.maximum(abs(seen) - MOOCORE_ZERO, 0), abs(seen - expected))
    assert (error <= SUMS * volume).all()


def test_nondominated(case):
    seen = case.seen["nondominated"]
    assert seen == front_of(case.front).tolist()
    assert seen == np.flatnonzero(moocore.is_nondominated(case.front)).tolist()
    # With keep_weakly, moocore keeps exactly the copies of the kept points.
    weakly = moocore.is_nondominated(case.front, keep_weakly=True)
    copies = (case.front[:, None] == case.front[seen][None]).all(2).any(1)
    assert (weakly == copies).all()
    for keep_weakly, expected in ((False, np.isin(np.arange(len(case.front)), seen)), (True, weakly)):
        found = fairfront.is_nondominated(case.front, keep_weakly=keep_weakly)
        assert found.dtype == bool and (found == expected).all()


def test_purity(case):
    pure = ~dominating(case.union, case.front).any(0)
    assert case.seen["purity"] == pure.mean()
    assert fairfront.purity(case.front, case.other[:3], case.other[3:]) == pure.mean()
    assert fairfront.purity(case.front) == (~dominating(case.front, case.front).any(0)).mean()


def test_coverage(case):
    assert case.compared["coverage"] == below(case.front, case.other).any(0).mean()


def test_epsilon(case):
    excess = (case.front[:, None] - case.other[None]).max(2)
    assert case.compared["epsilon"] == excess.min(0).max()
    assert case.compared["epsilon"] == moocore.epsilon_additive(case.front, ref=case.other)


def test_igd_plus(case):
    worse = np.maximum(case.front[:, None] - case.other[None], 0)
    near(case.compared["igd_plus"], np.linalg.norm(worse, axis=2).min(0).mean())
    near(case.compared["igd_plus"], moocore.igd_plus(case.front, ref=case.other))


def test_spread(case):
    seen = [case.seen[name] for name in ("gamma", "scaled_gamma", "delta")]
    own = fairfront.spread(case.front)
    alone = [own.gamma, fairfront.spread(case.front, scaled=True).gamma, own.delta]
    for found, union in ((seen, case.union), (alone, case.front)):
        # Γ is one difference, Δ a quotient of sums of up to 300 differences.
        allowed = spreads(case.front, union)
        assert any(found == pytest.approx(expected, rel=SUMS, abs=0) for expected in allowed)


def test_knee(case):
    kept = front_of(case.front)
    knee = kept.tolist().index(case.seen["knee"])
    if case.m > 2 and case.shape not in WITHOUT_TIES:
        # The definition does not choose among tied extremes.
        return
    above = heights(case.front[kept])
    # Equally far points may differ in the last digit.
    assert above[knee] <= above.min() + 1e-12


@pytest.mark.parametrize("m", SMALL_SIZES)
@pytest.mark.parametrize("shape", SHAPES)
def test_volumes_of_few_points(shape, m):
    for n in {1, 2, 3, SMALL_SIZES[m]}:
        front, _, reference = points_of(shape, n, m)
        seen = values(front, reference=reference)
        volume, alone = cells(front, reference)
        near(seen["hypervolume"], volume)
        boxes = np.maximum(reference - front, 0).prod(1)
        error = abs(np.array(seen["contributions"]) - alone)
        assert (error <= OF_BOX * boxes).all()
        assert seen["nondominated"] == front_of(front).tolist()


@pytest.mark.parametrize(("m", "n"), [(2, 5_000), (3, 2_500), (4, 600), (5, 250), (6, 90), (7, 45)])
@pytest.mark.parametrize("shape", ["concave", "convex", "cube", "whole numbers", "shared"])
def test_volumes_of_many_points(shape, m, n):
    front, _, reference = points_of(shape, n, m)
    seen = values(front, front[:1], reference)
    near(seen["hypervolume"], moocore.hypervolume(front, ref=reference))
    assert seen["nondominated"] == np.flatnonzero(moocore.is_nondominated(front)).tolist()


@pytest.mark.parametrize("m", range(2, 8))
def test_powers_of_two_and_the_order_of_points_and_objectives(m):
    front, other, reference = points_of("convex", 40, m)
    before = values(front, other, reference)
    # Multiplied by powers of two, every number keeps its digits.
    factors = 2.0 ** np.random.default_rng(m).integers(-60, 60, m)
    after = values(front * factors, other * factors, reference * factors)
    assert after["hypervolume"] == before["hypervolume"] * factors.prod()
    scaled = [c * factors.prod() for c in before["contributions"]]
    assert after["contributions"] == scaled
    for name in ("nondominated", "purity", "coverage", "knee", "scaled_gamma"):
        # Another objective may have the largest range, with other ends.
        if name != "scaled_gamma" or m == 2:
            assert after[name] == before[name], name
    turn = np.roll(np.arange(m), 1)
    order = np.random.default_rng(m).permutation(len(front))
    turned = values(front[order][:, turn], other[:, turn], reference[turn])
    near(turned["hypervolume"], before["hypervolume"])
    boxes = np.maximum(reference - front, 0).prod(1)[order]
    error = abs(np.array(turned["contributions"]) - np.array(before["contributions"])[order])
    assert (error <= OF_BOX * boxes).all()
    assert sorted(order[turned["nondominated"]]) == before["nondominated"]
    assert order[turned["knee"]] == before["knee"]
    assert turned["epsilon"] == before["epsilon"]


EDGES = {
    # name: front, other, reference, expected values
    "none": ([], [], [1, 1], {"nondominated": [], "hypervolume": 0, "knee": None}),
    "none compared with one": (
        *([], [[0, 1]], [2, 2]),
        {"purity": 0, "coverage": 0, "epsilon": INF, "igd_plus": INF, "gamma": 0, "delta": 0},
    ),
    "one compared with none": (
        *([[0, 1]], [], [2, 2]),
        {"purity": 1, "coverage": 0, "epsilon": -INF, "igd_plus": 0, "hypervolume": 2, "knee": 0},
    ),
    "one objective": (
        *([[3], [1], [1], [2]], [[1], [0]], [4]),
        {"nondominated": [1], "hypervolume": 3, "contributions": [0, 0, 0, 0], "purity": 0}
        | {"coverage": 0.5, "epsilon": 1, "igd_plus": 0.5, "knee": 1},
    ),
    "two": (
        *([[0, 4], [4, 0]], [[0, 4], [4, 0]], [5, 5]),
        {"hypervolume": 9, "contributions": [4, 4], "gamma": 4, "delta": 0, "knee": 0},
    ),
    "on the reference": (
        *([[1, 0], [0, 1], [1, 1]], [[0, 0]], [1, 1]),
        {"nondominated": [0, 1], "hypervolume": 0, "contributions": [0, 0, 0]},
    ),
    "-0 is 0": (
        *([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]], [[-0.0, 1.0]], [2, 3]),
        {"nondominated": [0], "contributions": [0, 0, 0], "purity": 2 / 3, "hypervolume": 4},
    ),
    "a loss hidden by a dominated point": (
        *([[1, 1], [2, 2]], [[1, 1]], [4, 4]),
        {"contributions": [5, 0], "hypervolume": 9},
    ),
    "infinitely good": (
        *([[-INF, 0], [0, -5], [1, 1]], [[-INF, 0]], [2, 2]),
        {"nondominated": [0, 1], "hypervolume": INF}
        | {"contributions": [INF, 10, 0], "epsilon": 0, "igd_plus": 0, "purity": 1 / 3 + 1 / 3},
    ),
    "infinitely bad": (
        *([[INF, 0], [0, 1], [INF, INF]], [[INF, INF], [0, 1]], [2, 2]),
        {"nondominated": [0, 1], "hypervolume": 2, "contributions": [0, 2, 0], "knee": 1}
        | {"gamma": 0, "delta": 0, "coverage": 1},
    ),
    "no reference": ([[0, 0]], [[0, 0]], [INF, 1], {"hypervolume": INF, "contributions": [INF]}),
    "nothing counts": ([[0, 0]], [[0, 0]], [-INF, 1], {"hypervolume": 0, "contributions": [0]}),
    "tiny": (
        *([[0, 2e-160], [2e-160, 0]], [[0, 0]], [4e-160, 4e-160]),
        {"hypervolume": pytest.approx(1.2e-319, rel=1e-3, abs=0), "epsilon": 2e-160},
    ),
    "a knee on a line is its first point": (
        *([[4, 0], [2, 2], [0, 4]], [[0, 0]], [5, 5]),
        {"knee": 0},
    ),
    "a knee above the line is an extreme": (
        *([[3, 3], [4, 0], [0, 4]], [[0, 0]], [5, 5]),
        {"knee": 1},
    ),
    "a knee of two": ([[9, 9], [3, 8], [1, 9]], [[0, 0]], [9, 9], {"knee": 1}),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    front, other, reference, expected = EDGES[name]
    shaped = [np.array(points, float).reshape(-1, len(reference)) for points in (front, other)]
    seen = values(*shaped, reference)
    assert {key: seen[key] for key in expected} == expected


@pytest.mark.parametrize("m", range(2, 7))
def test_infinities_among_many(m):
    rng = np.random.default_rng(m)
    front, other = (rng.choice([-INF, -1, 0, 1, INF], (n, m)) for n in (300, 40))
    seen = values(front, other, np.full(m, 2.0))
    assert seen["nondominated"] == front_of(front).tolist()
    assert seen["purity"] == (~dominating(np.vstack([front, other]), front).any(0)).mean()
    assert seen["coverage"] == below(front, other).any(0).mean()
    counting = (front < 2).all(1)
    finite = np.isfinite(front).all(1)
    assert (seen["hypervolume"] == INF) == (counting & ~finite).any()
    assert not any(np.isnan(v) for v in seen["contributions"])


# Numbers near the ends of their range.


@pytest.mark.parametrize("m", range(2, 7))
def test_a_volume_that_overflows_is_infinite(m):
    front = np.zeros((2, m))
    front[0, 0] = front[1, 1] = 1e200
    assert values(front, reference=np.full(m, 1e201))["hypervolume"] == INF


def test_a_knee_of_a_wide_front():
    front = [[-1e308, 1], [0, 0], [1e308, -1]]
    assert values(front, reference=[INF, INF])["knee"] == 0


def test_contributions_are_not_negative():
    for seed in range(10):
        front = 0.5 + 1e-9 * sphere(np.random.default_rng(seed), 30, 5)
        assert min(values(front)["contributions"]) >= 0


@pytest.mark.parametrize("distance", [3e200, 3e-200])
def test_igd_plus_of_any_scale(distance):
    assert values([[distance, 0]], [[0, 0]])["igd_plus"] == pytest.approx(distance, abs=0)


def test_no_target_is_at_distance_plus_0():
    assert not np.signbit(values([[0, 0]], np.zeros((0, 2)))["igd_plus"])
