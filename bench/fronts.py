"""Fronts: how fast models are evaluated, and how much of the exact front PF-SMG finds.

Speed: log loss and score covariance of 1,500 random models on the training rows of Adult, by fairfront with one and two
threads, and by numpy with two threads of OpenBLAS, in float64 on the one-hot matrix. The result compares fairfront with
the faster of two usual ways in numpy. Two other ways are shown: blocks of models that stay in the cache, and float32.

Quality: the share of the exact front's hypervolume. The exact front comes from Newton's method on f1 + rho f2 for many
weights rho. It finds the whole front, because the objectives are convex in the region of the front. The tangents at its
points bound the front from below, so that the hypervolume taken as exact is never too small. The chords bound it from
above; the distance between the two is reported. There are two reference points. Loose: f1 at x = 0 and 1.6 times the
largest f2 of the exact front. Tight: 1.1 times the exact front's range in both objectives.

Each run has its own process, so that CPU time and peak memory are those of the run. This process stays small and leaves
numpy to child processes: the system reports at least the peak memory of the parent for a process. A peak of about 18
MiB therefore means at most that.

Run by `make bench`.
"""

import argparse
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
RELEASE = BENCH.parent / "target/release"
POINTS = 1_500
PARAMETERS = 52
SYNTHETIC = [f"synthetic:{i}" for i in range(20)]
SETS = ["adult:sex", "adult:race", "compas:race", *SYNTHETIC]
PAPER = ["adult:sex", "compas:race"]
LAMBDA, BETA = 1e-4, 8.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=SETS, metavar="NAME")
    parser.add_argument("--skip-paper", action="store_true")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        task, *rest = args.child
        print(json.dumps({"numpy": with_numpy, "exact": exact_front}[task](*rest)))
        return
    for program in ("evaluate", "front", "fairfront"):
        if not (RELEASE / program).is_file():
            sys.exit(
                f"{RELEASE / program}: not found; run cargo build --release -p fairfront-bench -p fairfront-cli"
            )
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        results = {"speed": speed(folder, args.repetitions)}
        report_speed(results["speed"])
        results["fronts"] = [quality(name, args.seeds, folder) for name in args.sets]
        report_fronts("Default settings", results["fronts"])
        if not args.skip_paper:
            results["paper"] = [paper(name, folder) for name in PAPER]
            report_fronts("--preset paper, seed 1", results["paper"])
    path = BENCH / "results/fronts.json"
    path.parent.mkdir(exist_ok=True)
    versions = results["speed"].pop("versions")
    path.write_text(json.dumps({"where": where(versions), **results}, indent=1) + "\n")


def child(*args, **environment):
    """Run a task in a child process and return its result."""
    command = [sys.executable, __file__, "--child", *map(str, args)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


def measured(*command):
    """Standard output of a command, and its wall time, CPU time and peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return output, {
        "wall_s": time.perf_counter() - start,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / 1024,
    }


def export(name, folder, *flags):
    path = folder / "rows.csv"
    command = [RELEASE / "fairfront", "data", "export", name, *flags, "--encoded", "--force", "-o", path]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return path


# Speed


def speed(folder, repetitions):
    rows = export("adult:sex", folder)
    points = folder / "points.csv"
    choose = random.Random(1)
    lines = (",".join(repr(choose.gauss(0, 1)) for _ in range(PARAMETERS)) for _ in range(POINTS))
    points.write_text("\n".join(lines) + "\n")
    # Other programs may use the cores: of up to three attempts, the least disturbed one counts.
    attempts = []
    for _ in range(3):
        busy, own, start = busy_s(), sum(os.times()[:4]), time.perf_counter()
        # numpy's threads are those of OpenBLAS, which reads their number when it is loaded.
        theirs = child("numpy", rows, points, repetitions, OPENBLAS_NUM_THREADS="2")
        ours = {}
        for threads in (1, 2):
            output, _ = measured(RELEASE / "evaluate", points, threads, repetitions)
            ours[threads] = json.loads(output)
        others = busy_s() - busy - (sum(os.times()[:4]) - own)
        attempts.append((others / (time.perf_counter() - start), len(attempts), theirs, ours))
        if attempts[-1][0] < 0.1:
            break
    others, _, theirs, ours = min(attempts)
    assert ours[1]["values"] == ours[2]["values"]
    values = ours[1]["values"]
    losses, squares = (
        list(zip(values[i::2], their, strict=True)) for i, their in enumerate(theirs.pop("values"))
    )
    worst = max(abs(a - b) / b for a, b in losses)
    # Some covariances are almost 0, so their differences are relative to the median.
    middle = statistics.median(b**0.5 for _, b in squares)
    worst = max(worst, *(abs(a**0.5 - b**0.5) / middle for a, b in squares))
    assert worst < 1e-10, f"values differ by {worst}"
    return {
        "rows": ours[1]["rows"],
        "points": POINTS,
        "largest_relative_difference": worst,
        "cores_busy_with_others": round(max(others, 0.0), 2),
        "fairfront": {threads: run["seconds"] for threads, run in ours.items()},
        **theirs,
    }


def with_numpy(rows, points, repetitions):
    """Seconds of each way to evaluate all models, and the values: first f1, then f2."""
    import numpy as np
    from threadpoolctl import threadpool_info

    z, y, a = load(rows)
    x = np.loadtxt(points, delimiter=",")
    group = a == sorted(set(a))[1]
    u = (group - group.mean()) @ z / len(y)

    def rest(loss, x):
        return loss + LAMBDA / 2 * (x[:, :-1] ** 2).sum(1), (x @ u) ** 2

    def with_logaddexp(z, x):
        return rest(np.logaddexp(0, -y * (x @ z.T)).mean(1), x)

    def in_place(z, x):
        m = x @ z.T
        m *= -y
        loss = np.maximum(m, 0).mean(1)
        np.abs(m, out=m)
        np.negative(m, out=m)
        np.exp(m, out=m)
        np.log1p(m, out=m)
        return rest(loss + m.mean(1), x)

    def in_blocks(z, x):
        # 16 models by 27,000 rows in float64 take 3.5 MB.
        parts = [in_place(z, x[i : i + 16]) for i in range(0, len(x), 16)]
        return tuple(np.concatenate(values) for values in zip(*parts))

    y32, z32, x32 = y.astype(np.float32), z.astype(np.float32), x.astype(np.float32)

    def in_float32(z, x):
        nonlocal y
        y, kept = y32, y
        values = in_place(z32, x32)
        y = kept
        return values

    seconds, values = {}, None
    for way in (with_logaddexp, in_place, in_blocks, in_float32):
        way(z, x)
        seconds[way.__name__] = []
        for _ in range(int(repetitions)):
            start = time.perf_counter()
            seen = way(z, x)
            seconds[way.__name__].append(time.perf_counter() - start)
        if values is None:
            values = seen
        assert np.allclose(seen, values, rtol=1e-3 if way is in_float32 else 1e-11, atol=1e-6)
    blas = threadpool_info()[0]
    assert blas["internal_api"] == "openblas" and blas["num_threads"] == 2, blas
    versions = {"numpy": np.__version__, "openblas": blas["version"]}
    return {"numpy": seconds, "values": [v.tolist() for v in values], "versions": versions}


def report_speed(speed):
    median = statistics.median
    ours = {threads: median(s) for threads, s in speed["fairfront"].items()}
    theirs = {way: median(s) for way, s in speed["numpy"].items()}
    peer = min(theirs["with_logaddexp"], theirs["in_place"])
    print(f"\n{speed['points']} models on {speed['rows']} training rows of Adult (medians)")
    print(f"{'':24}{'seconds':>10}{'(smallest)':>12}{'fairfront, 2 threads, is':>28}")
    for way, seconds in theirs.items():
        label, least = f"numpy, {way.replace('_', ' ')}", f"({min(speed['numpy'][way]):.3f})"
        print(f"{label:24}{seconds:10.3f}{least:>12}{seconds / ours[2]:14.1f} times as fast")
    for threads, seconds in ours.items():
        label, least = f"fairfront, threads: {threads}", f"({min(speed['fairfront'][threads]):.4f})"
        print(f"{label:24}{seconds:10.4f}{least:>12}")
    goal(peer / ours[2], 8.0, "times as fast as the faster of numpy's two usual ways")
    goal(ours[1] / ours[2], 1.7, "times as fast with two threads as with one")
    if speed["cores_busy_with_others"] >= 0.1:
        print(f"DISTURBED: other programs kept {speed['cores_busy_with_others']} cores busy")
    print(f"values differ by at most {speed['largest_relative_difference']:.1e}")


def goal(value, least, meaning):
    print(f"{value:.2f} {meaning}; goal {least}: {'reached' if value >= least else 'MISSED'}")


# Quality


def load(path):
    """Features with a column of ones, labels and groups of the training rows."""
    import numpy as np
    import pandas as pd

    rows = pd.read_csv(path)
    rows = rows[rows["split"] == "train"]
    label = rows.columns.get_loc("label")
    features = rows.iloc[:, : label - 1].to_numpy(float)
    z = np.column_stack([features, np.ones(len(rows))])
    return z, 2 * rows["label"].to_numpy(float) - 1, rows.iloc[:, label - 1].astype(str).to_numpy()


class Sum:
    """f1 + rho f2 of a data set: log loss and score covariance."""

    def __init__(self, z, y, a):
        import numpy as np

        self.np, self.z, self.y = np, z, y
        self.penalty = np.r_[np.full(z.shape[1] - 1, LAMBDA), 0.0]
        groups = sorted(set(a))
        # With two groups, the covariance with one determines the other.
        groups = groups[1:] if len(groups) == 2 else groups
        indicators = np.array([a == g for g in groups], float)
        self.u = (indicators - indicators.mean(1, keepdims=True)) @ z / len(y)

    def f1(self, x):
        loss = self.np.logaddexp(0, -self.y * (self.z @ x)).mean()
        return loss + self.penalty @ x**2 / 2

    def smooth_max(self, x):
        """Covariances, S_beta of their squares, and its slopes in the squares."""
        np, covariances = self.np, self.u @ x
        v = covariances**2
        e = np.exp(BETA * (v - v.max()))
        e /= e.sum()
        value = v @ e
        return covariances, value, e * (1 + BETA * (v - value))

    def f2(self, x):
        return self.smooth_max(x)[1]

    def gradient2(self, x):
        covariances, _, slopes = self.smooth_max(x)
        return 2 * (slopes * covariances) @ self.u

    def curvature1(self, x):
        np = self.np
        q = 1 / (1 + np.exp(-np.clip(self.z @ x, -500, 500)))
        weights = q * (1 - q) / len(q)
        return (self.z * weights[:, None]).T @ self.z + np.diag(self.penalty)

    def minimise(self, rho, x):
        """The minimizer, with x as the start, and Newton's estimate of twice the remaining improvement.

        The Hessian of f2 is used without the part that may be indefinite.
        """
        np = self.np
        value = lambda x: self.f1(x) + rho * self.f2(x)
        for _ in range(200):
            m = self.y * (self.z @ x)
            slope = -self.y / (1 + np.exp(np.clip(m, -500, 500))) / len(m)
            gradient = slope @ self.z + self.penalty * x + rho * self.gradient2(x)
            slopes = np.maximum(self.smooth_max(x)[2], 0)
            hessian = self.curvature1(x) + 2 * rho * (self.u.T * slopes) @ self.u
            hessian += 1e-13 * np.eye(len(x))
            step = np.linalg.solve(hessian, gradient)
            gain = step @ gradient
            if gain < 1e-15:
                return x, gain
            length, before = 1.0, value(x)
            while value(x - length * step) > before - 1e-4 * length * gain:
                length /= 2
                if length < 1e-10:
                    return x, gain
            x = x - length * step
        return x, gain


def exact_front(path, n=160):
    """Reference points, hypervolumes and ends of the exact front."""
    import numpy as np

    problem = Sum(*load(path))
    x, _ = problem.minimise(0.0, np.zeros(problem.z.shape[1]))
    slope = problem.gradient2(x)
    # The weight at which both objectives pull equally.
    balance = slope @ np.linalg.solve(problem.curvature1(x), slope) / (2 * problem.f2(x))
    weights = np.r_[0.0, np.logspace(-4, 6, n) / balance]
    front, heights, left = [], [], 0.0
    for rho in weights:
        x, gain = problem.minimise(rho, x)
        front.append((problem.f1(x), problem.f2(x)))
        # No point has f1 + rho f2 below this height.
        heights.append(front[-1][0] + rho * front[-1][1] - max(gain, 0.0))
        left = max(left, gain)
    f1, f2 = np.array(front).T
    # The points at which neighboring tangents cross; the last one continues to f2 = 0.
    crossings = np.diff(heights) / np.diff(weights)
    below = [(heights[0], f2[0]), *zip(heights[:-1] - weights[:-1] * crossings, crossings)]
    below.append((heights[-1], 0.0))
    origin = problem.f1(np.zeros(len(x)))
    references = {
        "loose": (origin, 1.6 * f2.max()),
        "tight": (f1[0] + 1.1 * (f1[-1] - f1[0]), f2[-1] + 1.1 * (f2[0] - f2[-1])),
    }
    areas = {}
    for name, (r1, r2) in references.items():
        area = lambda curve: -np.trapezoid(r1 - curve[:, 0], curve[:, 1]) + (
            (r2 - curve[0, 1]) * (r1 - curve[0, 0])
        )
        outer, inner = area(np.array(below)), area(np.array(front))
        areas[name] = {"reference": (r1, r2), "hypervolume": outer, "gap": 1 - inner / outer}
    return {
        "rows": len(problem.y),
        "parameters": len(x),
        "ends": [front[0], front[-1]],
        "left_to_gain": left,
        **areas,
    }


def hypervolume(points, reference):
    total, best = 0.0, reference[1]
    for f1, f2 in sorted(points):
        if f1 < reference[0] and f2 < best:
            total += (reference[0] - f1) * (best - f2)
            best = f2
    return total


def shares(points, exact):
    """Shares of the exact hypervolume, by reference point."""
    return {
        name: hypervolume(points, exact[name]["reference"]) / exact[name]["hypervolume"]
        for name in ("loose", "tight")
    }


def quality(name, seeds, folder):
    exact = child("exact", export(name, folder))
    runs = []
    for seed in range(1, seeds + 1):
        output, cost = measured(RELEASE / "front", name, seed)
        result = json.loads(output)
        values = result["values"]
        found = shares(list(zip(values[0::2], values[1::2], strict=True)), exact)
        keep = {key: result[key] for key in ("points", "stop", "rounds", "gradients", "evaluations")}
        runs.append({"seed": seed, **found, **keep, "solve_s": result["seconds"], **cost})
        print(".", end="", flush=True, file=sys.stderr)
    return {"name": name, "exact": exact, "runs": runs}


def paper(name, folder):
    """One run with the paper's settings, compared with the exact front of the same rows and features."""
    out = folder / "run"
    flags = ["--preset", "paper", "--seed", "1", "--quiet", "--force"]
    _, cost = measured(RELEASE / "fairfront", "fit", name, *flags, "--out", out)
    info = json.loads((out / "run.json").read_text())
    use = ["--use-sensitive"] if info["spec"]["use_sensitive"] else []
    exact = child("exact", export(name, folder, "--seed", "1", *use))
    output, _ = measured(RELEASE / "fairfront", "show", out, "--csv")
    rows = [row for row in csv.DictReader(output.decode().splitlines()) if row["model_id"] != "unmitigated"]
    columns = [f"objective.{objective}" for objective in info["objectives"]]
    found = shares([tuple(float(row[c]) for c in columns) for row in rows], exact)
    counters = info["counters"]
    run = {
        "seed": 1,
        **found,
        "points": info["models"],
        "stop": info["stop"],
        "gradients": counters["gradient_evaluations"],
        "evaluations": counters["evaluations"],
        "solve_s": info["seconds"]["solve"],
        **cost,
    }
    return {"name": name, "use_sensitive": bool(use), "exact": exact, "runs": [run]}


def report_fronts(title, fronts):
    goals = lambda name: {"loose": 0.99 if name.startswith("synthetic") else 0.995, "tight": 0.98}
    print(f"\n{title}: share of the exact hypervolume in %, smallest (median) over the seeds;")
    print("medians of the rest; error: relative uncertainty of the exact hypervolume")
    heads = ["loose", "tight", "error", "CPU s", "wall s", "models", "gradients", "peak MiB"]
    widths = [19, 19, 9, 8, 8, 8, 11, 10]
    print(" " * 14 + "".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True)))
    missed = 0
    for front in fronts:
        runs, cells = front["runs"], []
        median = lambda of: statistics.median(of(run) for run in runs)
        low = False
        for reference, least in goals(front["name"]).items():
            values = [run[reference] for run in runs]
            cells.append(f"{100 * min(values):.3f} ({100 * statistics.median(values):.3f})")
            low |= min(values) < least
        cells.append(f"{max(front['exact'][r]['gap'] for r in ('loose', 'tight')):.0e}")
        cells += [f"{median(lambda run: run[key]):.2f}" for key in ("cpu_s", "wall_s")]
        cells.append(f"{median(lambda run: run['points']):.0f}")
        cells.append(f"{median(lambda run: sum(run['gradients'])):.0f}")
        cells.append(f"{max(run['peak_mib'] for run in runs):.0f}")
        line = "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
        print(f"{front['name']:14}{line}{'  MISSED' if low else ''}")
        missed += low
    print(f"goals (99.5 loose on Adult and COMPAS, 99 on synthetic; 98 tight): missed by {missed} data sets")


if __name__ == "__main__":
    main()
