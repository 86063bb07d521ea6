"""Indicators: the speed of hypervolume and of the filter of nondominated points, compared with moocore.

Both work on the same points in the same run with one thread, in rounds: in each round fairfront repeats its work for a
while, then moocore. The time of a program is its smallest over all rounds; the median is that of the round that other
programs disturbed least. moocore is called through Python, and the overhead of a call (the time for one point) is
subtracted; fairfront's time includes its check of the values. Results must agree: volumes to 1e-10, counts exactly.

The goal is to take at most 1.2 times as long as moocore at the sizes marked with a star. The other sizes show that
these are not special, and further shapes search for the worst cases of fairfront.

Needs `cargo build --release -p fairfront-bench`, numpy and moocore. Run by `make bench`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import moocore
import numpy as np
from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
PROGRAM = BENCH.parent / "target/release/indicators"
GOAL = 1.2
AGREE = 1e-10
HYPERVOLUME, FILTER = "hypervolume", "nondominated"
# Numbers of objectives and points: those of the goal, and others.
GOALS = {
    HYPERVOLUME: [(2, 3_000), (3, 3_000), (4, 1_000), (4, 3_000), (5, 1_000), (6, 300)],
    FILTER: [(2, 200_000), (3, 40_000), (4, 10_000)],
}
OTHERS = {
    HYPERVOLUME: [
        *((2, 100), (2, 100_000), (3, 100), (3, 30_000), (4, 100), (4, 10_000)),
        *((5, 100), (5, 300), (5, 3_000), (6, 100), (6, 1_000), (7, 100)),
    ],
    FILTER: [
        *((2, 1_000), (3, 1_000), (3, 200_000), (4, 1_000), (4, 100_000)),
        *((5, 1_000), (5, 20_000), (6, 1_000), (6, 20_000)),
    ],
}


def sphere(rng, n, m):
    points = abs(rng.normal(size=(n, m)))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def simplex(rng, n, m):
    points = rng.exponential(size=(n, m))
    return points / points.sum(1, keepdims=True)


SHAPES = {
    "concave": sphere,
    "convex": lambda rng, n, m: 1 - sphere(rng, n, m),
    "linear": simplex,
    "cube": lambda rng, n, m: rng.random((n, m)),
}


def first_constant(rng, n, m):
    return np.c_[np.full(n, 0.5), sphere(rng, n, m - 1)]


def last_constant(rng, n, m):
    return np.c_[sphere(rng, n, m - 1), np.full(n, 0.5)]


def few_levels(rng, n, m):
    """A front whose last objective has ten values."""
    points = sphere(rng, n, m)
    points[:, -1] = np.ceil(10 * points[:, -1]) / 10.5
    return points


def ties(rng, n, m):
    return rng.integers(0, 20, (n, m)) / 20


def conflict(rng, n, m):
    """Two objectives in conflict, the others arbitrary."""
    t = rng.random(n)
    return np.c_[t, 1 - t, rng.random((n, m - 2))]


def pairs(rng, n, m):
    """Pairs of objectives in conflict."""
    t = rng.random((n, m // 2))
    rest = rng.random((n, m % 2))
    return np.hstack([t, 1 - t, rest])


def agreeing(rng, n, m):
    """All objectives except the last agree."""
    t = rng.random((n, 1))
    return np.hstack([*(t ** (j + 1) for j in range(m - 1)), 1 - t])


def opposed(rng, n, m):
    """All objectives except the first agree."""
    return agreeing(rng, n, m)[:, ::-1].copy()


def camps(rng, n, m):
    """Two camps: the objectives of each half agree, and the halves are in conflict."""
    t = rng.random((n, 1))
    half = m // 2
    first = [t ** (1 + j / 4) for j in range(half)]
    return np.hstack([*first, *(1 - t ** (1 + j / 4) for j in range(m - half))])


def alternating_camps(rng, n, m):
    order = np.argsort(np.arange(m) % 2, kind="stable").argsort(kind="stable")
    return np.ascontiguousarray(camps(rng, n, m)[:, order])


def flat_pair(rng, n, m):
    """The first and the last objective are in conflict; the third is constant."""
    points = rng.random((n, m))
    points[:, 2] = 0.5
    points[:, -1] = 1 - points[:, 0]
    return points


def diagonal(rng, n, m):
    """All points are on a line, and one dominates all others."""
    return np.repeat(rng.random((n, 1)), m, axis=1)


def sorted_front(rng, n, m):
    points = sphere(rng, n, m)
    return points[points[:, 0].argsort()]


def shells(rng, n, m):
    """Layers of fronts: points are dominated, but by few others."""
    return sphere(rng, n, m) * rng.uniform(0.9, 1, (n, 1))


def edges(rng, n, m):
    """Near the extremes: each point is good in only one objective."""
    points = rng.uniform(0.9, 1, (n, m))
    points[np.arange(n), rng.integers(0, m, n)] *= rng.random(n)
    return points


def equal(rng, n, m):
    return np.full((n, m), 0.5)


PLANE = [ties, diagonal, sorted_front, shells, equal]
SPACE = [*PLANE, first_constant, last_constant, few_levels, conflict, agreeing, opposed, edges]
MANY = [*SPACE, pairs, camps, alternating_camps, flat_pair]
FURTHER = {
    HYPERVOLUME: [
        *((2, 3_000, shape) for shape in PLANE),
        *((3, 3_000, shape) for shape in SPACE),
        *((m, n, shape) for m, n in ((4, 3_000), (5, 1_000), (6, 300)) for shape in MANY),
        *((m, n, camps) for m, n in ((4, 300), (4, 1_000), (5, 300), (6, 100))),
    ],
    FILTER: [
        *((2, 200_000, shape) for shape in PLANE),
        *((3, 40_000, shape) for shape in SPACE),
        *((m, 10_000, shape) for m in (4, 6) for shape in MANY),
    ],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn", type=float, default=0.03, help="approximate seconds of a turn")
    parser.add_argument("--goals-only", action="store_true")
    args = parser.parse_args()
    if not PROGRAM.is_file():
        sys.exit(f"{PROGRAM}: not found; run cargo build --release -p fairfront-bench")
    cases = cases_of(GOALS, is_goal=True)
    if not args.goals_only:
        cases += cases_of(OTHERS, is_goal=False)
        cases += [(task, *case, False) for task, of_kind in FURTHER.items() for case in of_kind]
    print("smallest ms (median); ratio: moocore / fairfront, above 1 if fairfront is faster")
    print(f"{'':51}{'fairfront':>20}{'moocore':>20}{'ratio':>9}")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for task, m, n, shape, is_goal in cases:
            found = side_by_side(task, m, n, shape, args, Path(folder) / "points.csv")
            results.append({**found, "is_goal": is_goal})
            report(results[-1])
    summary(results)
    path = BENCH / "results/indicators.json"
    path.parent.mkdir(exist_ok=True)
    versions = {"numpy": np.__version__, "moocore": moocore.__version__}
    lines = ",\n  ".join(json.dumps(result) for result in results)
    path.write_text(f'{{"where": {json.dumps(where(versions))},\n "results": [\n  {lines}\n ]}}\n')


def cases_of(sizes, is_goal):
    return [
        (task, m, n, shape, is_goal)
        for task, of_kind in sizes.items()
        for m, n in of_kind
        for shape in SHAPES.values()
    ]


def name_of(shape):
    names = [name for name, of_name in SHAPES.items() if of_name is shape]
    return names[0] if names else shape.__name__.replace("_", " ")


def side_by_side(task, m, n, shape, args, path):
    points = np.ascontiguousarray(shape(np.random.default_rng([n, m]), n, m))
    lines = (",".join(map(repr, point)) for point in points.tolist())
    path.write_text("\n".join(lines) + "\n")
    python = min(moocore_s(task, points[:1], 200)[0])
    warm_up = [fairfront_s(task, path, m, 1), moocore_s(task, points, 1)]
    repetitions = [max(3, round(args.turn / max(s))) for s, _ in warm_up]
    # Repetitions do not help if a single one takes seconds.
    if max(max(s) for s, _ in warm_up) > 1:
        repetitions = [1, 1]
    rounds = []
    for _ in range(args.rounds):
        busy, own, start = busy_s(), own_s(), time.perf_counter()
        ours, our_result = fairfront_s(task, path, m, repetitions[0])
        theirs, their_result = moocore_s(task, points, repetitions[1])
        others = busy_s() - busy - (own_s() - own)
        difference = abs(our_result - their_result) / max(abs(their_result), 1e-300)
        assert difference <= (AGREE if task == HYPERVOLUME else 0), (task, m, n, shape)
        rounds.append(
            {
                "cores_busy_with_others": round(max(others, 0) / (time.perf_counter() - start), 2),
                "difference": difference,
                "fairfront": in_ms(ours),
                "moocore": in_ms(s - python for s in theirs),
            }
        )
    calmest = min(rounds, key=lambda r: r["cores_busy_with_others"])
    times = {
        program: {
            "least_ms": min(r[program]["least_ms"] for r in rounds),
            "median_ms": calmest[program]["median_ms"],
        }
        for program in ("fairfront", "moocore")
    }
    ratio = times["moocore"]["least_ms"] / times["fairfront"]["least_ms"]
    return {
        "what": task,
        "objectives": m,
        "points": n,
        "shape": name_of(shape),
        **times,
        "ratio": short(ratio),
        "python_ms": short(1e3 * python),
        "kept": their_result if task == FILTER else None,
        **spread(rounds),
    }


def spread(rounds):
    """The variation between rounds, for the result file."""
    return {
        "rounds": len(rounds),
        "most_cores_busy_with_others": max(r["cores_busy_with_others"] for r in rounds),
        "largest_difference": max(r["difference"] for r in rounds),
        **{
            f"{program}_most_ms": max(r[program]["most_ms"] for r in rounds)
            for program in ("fairfront", "moocore")
        },
    }


def short(value):
    """Round to four digits."""
    return float(f"{value:.4g}")


def in_ms(seconds):
    ms = sorted(1e3 * max(s, 1e-9) for s in seconds)
    least, median, most = (short(v) for v in (ms[0], statistics.median(ms), ms[-1]))
    return {"repetitions": len(ms), "least_ms": least, "median_ms": median, "most_ms": most}


def own_s():
    """CPU time of this process and its children."""
    return sum(os.times()[:4])


def fairfront_s(task, path, m, repetitions):
    command = [PROGRAM, task, path, str(m), str(repetitions)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(output)
    return found["seconds"], found["result"]


def moocore_s(task, points, repetitions):
    reference = np.ones(points.shape[1])
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        if task == HYPERVOLUME:
            result = moocore.hypervolume(points, ref=reference)
        else:
            result = moocore.is_nondominated(points)
        seconds.append(time.perf_counter() - start)
    return seconds, float(np.sum(result))


def report(found):
    cells = []
    for program in ("fairfront", "moocore"):
        times = found[program]
        cells.append(f"{times['least_ms']:.4g} ({times['median_ms']:.4g})")
    star = "*" if found["is_goal"] else " "
    slow = found["ratio"] * GOAL < 1
    verdict = "" if not slow else "  MISSED" if found["is_goal"] else "  slower"
    size = f"{star}{found['what']:13}{found['objectives']}-D {found['points']:>8,}"
    line = f"{size}  {found['shape']:22}{cells[0]:>20}{cells[1]:>20}{found['ratio']:9.3g}{verdict}"
    print(line, flush=True)


def summary(results):
    for is_goal, title in ((True, "sizes of the goal"), (False, "other sizes and shapes")):
        of_kind = [r["ratio"] for r in results if r["is_goal"] == is_goal]
        if of_kind:
            slow = sum(ratio * GOAL < 1 for ratio in of_kind)
            middle = statistics.geometric_mean(of_kind)
            print(
                f"{title}: {slow} of {len(of_kind)} take more than {GOAL} times as long as moocore; "
                f"smallest ratio {min(of_kind):.3g}, geometric mean {middle:.2f}"
            )


if __name__ == "__main__":
    main()
