"""Trace: the cost of the exact front compared with one fit by scikit-learn, and how exact it is.

Cost: CPU time of the solver for 1,000 models on one thread, divided by that of one LogisticRegression (lbfgs, default
tolerance, one BLAS thread) with the same penalty on the same rows; other solvers and tolerances are shown too. The time
of the solver is that of a process that reads the rows and solves, minus that of a process that only reads them. The
whole command is measured too. All run in turns. Ratios are those of the smallest times; ratios of medians are shown
next to them.

Exactness: for a sample of the front, the least f1 at the same f2 is computed again in independent ways. With two
groups, by Newton's method with one parameter eliminated so that the covariance is fixed. With more, by Newton's method
on f1 + rho f2 with the rho that gives the same f2; the remaining difference in f2, times rho, is added, which leaves an
error of second order. `left_to_gain` bounds the error of the f1 found.

Hypervolume: that of the front as a share of the whole curve's, which is known in two ways. Bounds from tangents and
chords (`fronts.py`, which also defines the reference points); the one from tangents is never too small. And a cubic in
the root of f2 through the sample with its slopes. Any 1,000 models leave steps below the curve, so the share of the
best placed ones is reported too.

Rows: `synthetic:1` with growing numbers of rows.

Run by `make bench`. FAIRFRONT_BIN may name a built fairfront that has `trace` next to it.
"""

import os

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
# Must be set before numpy is loaded.
os.environ.update(ONE_THREAD)

import argparse
import hashlib
import importlib.metadata
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator
from sklearn.linear_model import LogisticRegression

from fronts import LAMBDA, Sum, exact_front, hypervolume
from machine import busy_s, where

BENCH = Path(__file__).resolve().parent
FAIRFRONT = Path(os.environ.get("FAIRFRONT_BIN") or BENCH.parent / "target/release/fairfront")
TRACE = FAIRFRONT.with_name("trace")
POINTS = 1_000
# The largest cost of the solver, in fits.
SETS = {"adult:sex": 3.0, "adult:race": 3.0, "adult:sex+race": 60.0}
COMMAND = 8.0
DISTURBED = 0.1
SIZES = [10**4, 10**5, 10**6, 4 * 10**6, 10**7]
PACKAGES = ["numpy", "scikit-learn", "scipy"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--sample", type=int, default=60, help="models to compute again")
    parser.add_argument("--tangents", type=int, default=480, help="number of tangents that bound the hypervolume")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS), metavar="NAME")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, metavar="ROWS")
    parser.add_argument("--most-s", type=float, default=60, help="longest run with more rows, in seconds")
    parser.add_argument("--most-gib", type=float, default=8, help="largest run with more rows, in GiB")
    args = parser.parse_args()
    for program in (FAIRFRONT, TRACE):
        if not program.is_file():
            sys.exit(f"{program}: not found; run cargo build --release -p fairfront-bench -p fairfront-cli")
    has_solver = "trace" in solvers()
    if not has_solver:
        print("SKIPPED: the whole command; fairfront fit has no solver trace")
    # First, while this process is small: the system reports at least its peak memory for its children.
    results = {"rows": growth(args), "sets": [], "goals": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.sets:
            found = one_set(name, args, has_solver, Path(folder))
            results["sets"].append(found)
            results["goals"] += report_set(found)
    results["goals"] += report_rows(results["rows"])
    report_goals(results["goals"])
    write(results)


def write(results):
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    # The version is that of the sources; the digests identify the programs.
    programs = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (FAIRFRONT, TRACE)}
    raw = json.dumps({"where": where(versions), "programs_sha256": programs, **results}, indent=1)
    # Write each list of numbers on one line.
    raw = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", raw)
    path = BENCH / "results/trace.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(raw + "\n")


def solvers():
    """The solvers of fairfront."""
    text = subprocess.check_output([FAIRFRONT, "fit", "--help"], text=True)
    return re.findall(r"Settings of (\S+) \(--set", text)


class TooLong(Exception):
    pass


def measured(*command, ends=0, limit_s=600):
    """Standard output of a command, its CPU time and peak memory, and how busy other programs were."""
    start, before = time.perf_counter(), busy_s()
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A backtrace would add CPU time to an expected error.
        env=os.environ | {"RUST_BACKTRACE": "0"},
    )
    stop = threading.Timer(limit_s, process.kill)
    stop.start()
    with process.stdout as pipe:
        output = pipe.read()
    _, status, usage = os.wait4(process.pid, 0)
    stop.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == -9 and time.perf_counter() - start >= limit_s:
        raise TooLong
    if process.returncode != ends:
        sys.exit(f"{' '.join(map(str, command))}: failed with exit code {process.returncode}")
    wall, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    others = max(busy_s() - before - cpu, 0.0) / wall
    return output, {"cpu_s": cpu, "peak_mib_at_most": usage.ru_maxrss / 1024, "others": others}


def solver(name, repetitions, limit_s=600):
    """The front, and the CPU time of computing it once."""
    # With 0 repetitions the program reads the rows and exits with an error.
    _, reading = measured(TRACE, name, POINTS, 1, 0, ends=1, limit_s=limit_s)
    output, both = measured(TRACE, name, POINTS, 1, repetitions, limit_s=limit_s)
    seconds = (both["cpu_s"] - reading["cpu_s"]) / repetitions
    return json.loads(output), {
        "cpu_s": seconds,
        "reading_cpu_s": reading["cpu_s"],
        "peak_mib_at_most": both["peak_mib_at_most"],
        "others": max(reading["others"], both["others"]),
    }


# Cost


def one_set(name, args, has_solver, folder):
    path = folder / "rows.csv"
    command = [FAIRFRONT, "data", "export", name, "--encoded", "--force", "-o", path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    z, y, groups = read(path, 1 + name.count("+"))
    front, cost = costs(name, z, y, args.turns, has_solver, folder)
    assert front["rows"] == len(y)
    found = {"name": name, "rows": len(y), "parameters": z.shape[1], **cost}
    values = np.array(front.pop("values")).reshape(-1, 1 + len(groups))
    gaps = front.pop("gaps")
    found |= {
        "points": len(values),
        "nodes": front["nodes"],
        "evaluations": front["evaluations"],
        "gradients": front["gradients"],
        "hole": front["hole"],
        "gaps": {
            "number": len(gaps),
            "largest": max(gaps, default=None),
            "median": statistics.median(gaps) if gaps else None,
        },
    }
    if len(groups) == 1:
        found |= exactness(values, np.array(gaps), z, y, groups[0], path, args)
    return found


def read(path, n_attributes):
    """Features with a column of ones, labels and groups of the training rows."""
    rows = pd.read_csv(path)
    rows = rows[rows["split"] == "train"]
    assert (rows["weight"] == 1).all()
    label = rows.columns.get_loc("label")
    first = label - n_attributes
    z = np.column_stack([rows.iloc[:, :first].to_numpy(float), np.ones(len(rows))])
    groups = [rows.iloc[:, i].astype(str).to_numpy() for i in range(first, label)]
    return z, 2 * rows["label"].to_numpy(float) - 1, groups


def fits(z, y):
    """Ways to fit the loss alone: rows and an unfitted model each."""
    features = np.ascontiguousarray(z[:, :-1])
    sparse = scipy.sparse.csr_matrix(features)
    model = lambda **flags: LogisticRegression(C=1 / (LAMBDA * len(y)), max_iter=10_000, **flags)
    return {
        "lbfgs": (features, model()),
        "lbfgs, sparse rows": (sparse, model()),
        "lbfgs, tol 1e-8": (features, model(tol=1e-8)),
        "newton-cholesky": (features, model(solver="newton-cholesky")),
        "newton-cholesky, tol 1e-8": (features, model(solver="newton-cholesky", tol=1e-8)),
    }


def costs(name, z, y, turns, has_solver, folder):
    ways, runs, peers = fits(z, y), [], {}
    single = "+" not in name
    loss = Sum(z, y, y)
    least = loss.f1(loss.minimise(0.0, np.zeros(z.shape[1]))[0])
    for features, model in ways.values():
        model.fit(features[:1_000], y[:1_000])
    for turn in range(turns):
        # Two attributes take long, so they have only three turns.
        if single or turn < 3:
            front, run = solver(name, 3 if single else 1)
            runs.append(run)
        if has_solver and single:
            out = ["--out", folder / "run", "--force", "--quiet"]
            command = [FAIRFRONT, "fit", name, "--solver", "trace", "--penalty", LAMBDA, "--threads", 1, *out]
            _, whole = measured(*command)
            run["command_cpu_s"] = whole["cpu_s"]
            run["others"] = max(run["others"], whole["others"])
        for way, (features, model) in ways.items():
            start, before = time.perf_counter(), busy_s()
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                model.fit(features, y)
            cpu = time.process_time() - begin
            others = max(busy_s() - before - cpu, 0.0) / (time.perf_counter() - start)
            x = np.r_[model.coef_[0], model.intercept_]
            peer = peers.setdefault(way, {"cpu_s": [], "others": []})
            peer["cpu_s"].append(cpu)
            peer["others"].append(others)
            peer["iterations"] = int(model.n_iter_[0])
            peer["above_least"] = loss.f1(x) - least
        print(".", end="", flush=True, file=sys.stderr)
    keys = [key for key in runs[0] if key != "peak_mib_at_most"]
    solving = {key: [run[key] for run in runs] for key in keys}
    return front, {"solver": solving, "fits": peers}


# Exactness


class Held:
    """Least f1 for given values of the covariances, which eliminates parameters."""

    def __init__(self, z, y, penalty, u):
        _, sizes, directions = np.linalg.svd(u)
        rank = int((sizes > 1e-10 * sizes[0]).sum())
        # x = there c + free w.
        self.there, self.free = np.linalg.pinv(u, rcond=1e-10), directions[rank:].T
        self.z, self.y, self.penalty = z, y, penalty
        self.z_free = z @ self.free
        self.ridge = (self.free.T * penalty) @ self.free
        self.w = np.zeros(self.free.shape[1])

    def f1(self, x, scores):
        return np.logaddexp(0, -self.y * scores).mean() + self.penalty @ x**2 / 2

    def minimise(self, covariances):
        """f1, its gradient by the covariances, and Newton's estimate of twice the remaining improvement."""
        base = self.there @ covariances
        base_scores, n = self.z @ base, len(self.y)
        place = lambda w: (base + self.free @ w, base_scores + self.z_free @ w)
        x, scores = place(self.w)
        left = np.inf
        for _ in range(100):
            value = self.f1(x, scores)
            q = 1 / (1 + np.exp(-scores))
            slope = (q - (self.y > 0)) / n
            gradient = slope @ self.z_free + self.free.T @ (self.penalty * x)
            weights = q * (1 - q) / n
            hessian = (self.z_free * weights[:, None]).T @ self.z_free + self.ridge
            step = np.linalg.solve(hessian, gradient)
            before, left = left, step @ gradient
            if left < 1e-18 or (left < 1e-13 and left >= before):
                break
            length = 1.0
            while True:
                x, scores = place(self.w - length * step)
                # Smaller differences are rounding errors.
                if self.f1(x, scores) <= value + 1e-15 or length < 1e-10:
                    break
                length /= 2
            self.w = self.w - length * step
        pull = slope @ self.z + self.penalty * x
        return value, pull @ self.there, left


def exactness(values, gaps, z, y, group, path, args):
    """Compare a sample with an independent solution, and compute hypervolumes."""
    problem = Sum(z, y, group)
    order = np.argsort(-values[:, 1])
    values = values[order]
    # Half of the sample is even along the front; the other half becomes denser towards f2 = 0.
    half, roots = args.sample // 2, np.sqrt(values[:, 1])
    evenly = np.linspace(0, len(values) - 1, half).round().astype(int)
    closer = roots[0] * np.linspace(1, 0, half) ** 2
    nearest = [np.argmin(np.abs(roots - r)) for r in closer]
    chosen = np.union1d(evenly, nearest)
    again = by_elimination if len(problem.u) == 1 else by_weights
    f1, slopes, left = again(problem, values[chosen, 1])
    above = values[chosen, 0] - f1
    if len(gaps) == len(values):
        # Both sums of the rows are rounded.
        broken = int((above > gaps[order][chosen] + 1e-12).sum())
    else:
        broken = None
    curve = CubicHermiteSpline(roots[chosen][::-1], f1[::-1], slopes[::-1])
    between = values[:, 0] - curve(roots)
    exact = exact_front(path, args.tangents)
    share = {}
    for name in ("loose", "tight"):
        bound, points = exact[name], [tuple(v) for v in values]
        whole, steps = under(curve, bound["reference"])
        area = hypervolume(points, bound["reference"])
        share[name] = {
            "of_tangents": area / bound["hypervolume"],
            "of_chords": area / bound["hypervolume"] / (1 - bound["gap"]),
            "of_cubic": area / whole,
            "best_placed": 1 - steps / len(values) / whole,
        }
    return {
        "sample": {
            "number": len(chosen),
            "largest_above": above.max(),
            "largest_below": max(-above.min(), 0.0),
            "above_their_proofs": broken,
            "f1_above": above.tolist(),
            "f2": values[chosen, 1].tolist(),
            "left_to_gain": left,
        },
        "largest_off_the_cubic": np.abs(between).max(),
        "share": share,
        "tangents": {"left_to_gain": exact["left_to_gain"], "ends": exact["ends"]},
    }


def by_elimination(problem, levels):
    held = Held(problem.z, problem.y, problem.penalty, problem.u)
    x, _ = problem.minimise(0.0, np.zeros(problem.z.shape[1]))
    sign = np.sign(problem.u[0] @ x)
    found = [held.minimise(sign * np.sqrt([level])) for level in levels]
    f1, pulls, left = zip(*found, strict=True)
    return np.array(f1), sign * np.array(pulls)[:, 0], max(left)


def by_weights(problem, levels):
    """The same with several covariances; slopes are derivatives by the root of f2."""
    x, _ = problem.minimise(0.0, np.zeros(problem.z.shape[1]))
    start, most = x, problem.f2(x)
    pull = problem.gradient2(x)
    balance = pull @ np.linalg.solve(problem.curvature1(x), pull) / (2 * most)
    sweep = []
    for rho in np.logspace(-3, 5, 33) / balance:
        x, _ = problem.minimise(rho, x)
        sweep.append((np.log(problem.f2(x)), np.log(rho), x))
    sweep.reverse()
    logs = [s[0] for s in sweep]
    guess = PchipInterpolator(logs, [s[1] for s in sweep])
    f1, slopes, left = [], [], 0.0
    for level in levels:
        if level <= 1e-9 * most:
            held = Held(problem.z, problem.y, problem.penalty, problem.u)
            value, _, decrement = held.minimise(np.zeros(len(problem.u)))
            # The slope of a parabola through the last two, with the slope of the last one.
            width = np.sqrt(level) - np.sqrt(levels[len(f1) - 1])
            slope = 2 * (value - f1[-1]) / width - slopes[-1]
        elif level >= (1 - 1e-9) * most:
            value, decrement, slope = problem.f1(start), 0.0, 0.0
        else:
            x = sweep[int(np.argmin(np.abs(np.array(logs) - np.log(level))))][2]
            value, slope, decrement = at_level(problem, level, float(guess(np.log(level))), x)
        f1.append(value)
        slopes.append(slope)
        left = max(left, decrement)
    return np.array(f1), np.array(slopes), left


def at_level(problem, level, weight, x):
    """Least f1 for a given f2, its slope, and a bound on its error."""
    tried = []
    for _ in range(12):
        x, gain = problem.minimise(np.exp(weight), x)
        tried.append((weight, np.log(problem.f2(x) / level), x, max(gain, 0.0)))
        # The error of f2 is of the order of the root of that of a minimum.
        if abs(tried[-1][1]) < 1e-6:
            break
        slope = -1.0
        if len(tried) > 1:
            (w0, off0, *_), (w1, off1, *_) = tried[-2:]
            slope = min((off1 - off0) / (w1 - w0), -1e-3)
        weight -= np.clip(tried[-1][1] / slope, -1.0, 1.0)
    weight, off, x, gain = min(tried, key=lambda t: abs(t[1]))
    rho, more = np.exp(weight), problem.f2(x) - level
    return problem.f1(x) + rho * more, -2 * rho * np.sqrt(level), gain + abs(rho * more * off)


def under(curve, reference):
    """The hypervolume of a curve in the root of f2, and N times the smallest loss of N points."""
    r = np.linspace(curve.x[0], curve.x[-1], 200_001)
    f1, fall = curve(r), np.maximum(-curve(r, 1), 0.0)
    assert f1.max() <= reference[0] and r[-1] ** 2 <= reference[1]
    area = np.trapezoid((reference[0] - f1) * 2 * r, r)
    area += (reference[1] - r[-1] ** 2) * (reference[0] - f1[-1])
    # Each step between two points loses half of df1 df2; the best points share the loss evenly.
    return area, np.trapezoid(np.sqrt(fall * 2 * r), r) ** 2 / 2


# Rows


def growth(args):
    runs, past = [], None

    def skip(rows, reason):
        print(f"SKIPPED: {reason}", file=sys.stderr)
        runs.append({"rows": rows, "skipped": reason})

    for rows in args.sizes:
        if past:
            times = rows / past["rows"]
            seconds = times * (past["cpu_s"] + past["reading_cpu_s"])
            gib = times * past["peak_mib_at_most"] / 1024
            if seconds > args.most_s or gib > args.most_gib:
                skip(rows, f"{rows:,} rows would take about {seconds:.0f} s and {gib:.1f} GiB")
                continue
        name, best = f"synthetic:1(rows={rows})", None
        try:
            for _ in range(3 if rows <= 10**6 else 1):
                front, run = solver(name, 10 if rows <= 10**4 else 1, 1.5 * args.most_s)
                if best is None or run["cpu_s"] < best["cpu_s"]:
                    best = run
        except TooLong:
            skip(rows, f"{rows:,} rows took more than {1.5 * args.most_s:.0f} s; given up")
            continue
        past = {"rows": front["rows"], "points": front["points"], "nodes": front["nodes"], **best}
        past["evaluations"] = front["evaluations"]
        past["largest_optimality_gap"] = max(front["gaps"], default=None)
        past["n_gaps"] = len(front["gaps"])
        runs.append(past)
        print(".", end="", flush=True, file=sys.stderr)
    return runs


# Reports


def goal(subject, value, bound, ok, note=""):
    """A line of the last table; `ok` is None if it was not tried."""
    ok = None if ok is None else bool(ok)
    return {"what": subject, "value": value, "goal": bound, "reached": ok, "note": note}


def report_set(found):
    name, solving, peers = found["name"], found["solver"], found["fits"]
    print(f"\n{name}: {found['points']} models, {found['rows']} rows, one thread; CPU seconds")
    print(f"{'':44}{'least':>9}{'median':>9}{'solver is':>12}{'medians':>10}{'f1 above least':>16}")
    median = statistics.median
    ours, goals = solving["cpu_s"], []
    for way, peer in peers.items():
        theirs = peer["cpu_s"]
        ratio, middle = min(ours) / min(theirs), median(ours) / median(theirs)
        label = f"{way} ({peer['iterations']} iterations)"
        cells = f"{min(theirs):9.3f}{median(theirs):9.3f}{ratio:10.2f} x{middle:8.2f} x"
        print(f"{label:44}{cells}{peer['above_least']:16.1e}")
        if way == "lbfgs":
            subject = f"{name}: solver, in fits by lbfgs"
            note = f"medians {middle:.2f}; {found['points']} models"
            if "+" in name:
                note += f", largest hole {found['hole']:.3f}"
            goals.append(
                goal(subject, f"{ratio:.2f}", f"<= {SETS[name]:g}", ratio <= SETS[name], note)
            )
    print(f"{'the solver':44}{min(ours):9.3f}{median(ours):9.3f}")
    print(f"{'reading, not counted':44}{min(solving['reading_cpu_s']):9.3f}")
    if name == "adult:sex":
        subject = f"{name}: whole command, in fits by lbfgs"
        if "command_cpu_s" in solving:
            whole, theirs = solving["command_cpu_s"], peers["lbfgs"]["cpu_s"]
            ratio, note = (
                min(whole) / min(theirs),
                f"medians {median(whole) / median(theirs):.2f}",
            )
            print(f"{'the whole command':44}{min(whole):9.3f}{median(whole):9.3f}")
            goals.append(goal(subject, f"{ratio:.2f}", f"<= {COMMAND:g}", ratio <= COMMAND, note))
        else:
            goals.append(goal(subject, "-", f"<= {COMMAND:g}", None, "fairfront has no solver trace"))
    others = [*solving["others"], *(o for peer in peers.values() for o in peer["others"])]
    disturbed = sum(o >= DISTURBED for o in others)
    if disturbed:
        share = f"{disturbed} of {len(others)} runs"
        print(f"DISTURBED: {share}; other programs kept {median(others):.1f} cores busy (median)")
    gaps = found["gaps"]
    ok = gaps["number"] == found["points"] and gaps["largest"] <= 1e-6
    without = found["points"] - gaps["number"]
    note = f"median {gaps['median']:.1e}" + (f"; {without} models without a proof" if without else "")
    goals.append(
        goal(f"{name}: largest optimality gap", f"{gaps['largest']:.1e}", "<= 1e-6", ok, note)
    )
    if "sample" in found:
        sample = found["sample"]
        off = max(sample["largest_above"], sample["largest_below"])
        note = (
            f"{sample['number']} models; all models from the cubic: {found['largest_off_the_cubic']:.0e}"
        )
        goals.append(
            goal(f"{name}: difference in f1 at equal f2", f"{off:.1e}", "<= 1e-8", off <= 1e-8, note)
        )
        broken = sample["above_their_proofs"]
        subject = f"{name}: models above their optimality gap"
        goals.append(goal(subject, str(broken), "0", broken == 0))
        for reference, share in found["share"].items():
            percent = {key: f"{100 * value:.4f}" for key, value in share.items()}
            note = f"of cubic {percent['of_cubic']}, best placed {percent['best_placed']}"
            subject = f"{name}: hypervolume in percent, {reference}"
            ok = share["of_tangents"] >= 0.9999
            goals.append(goal(subject, percent["of_tangents"], ">= 99.99", ok, note))
    return goals


def report_rows(runs):
    print("\nsynthetic:1, CPU time of the solver by rows")
    print(f"{'rows':>12}{'seconds':>10}{'us per row':>11}{'nodes':>7}{'MiB, <=':>10}{'opt. gap':>9}")
    done = [run for run in runs if "cpu_s" in run]
    for run in done:
        each = 1e6 * run["cpu_s"] / run["rows"]
        cells = f"{run['rows']:12,}{run['cpu_s']:10.3f}{each:11.3f}{run['nodes']:7}"
        print(f"{cells}{run['peak_mib_at_most']:10.0f}{run['largest_optimality_gap']:9.0e}")
    for run in runs:
        if "skipped" in run:
            print(f"skipped: {run['skipped']}")
    if len(done) < 2:
        return []
    each = [run["cpu_s"] / run["rows"] for run in done]
    ratio = each[-1] / min(each)
    subject = f"cost per row at {done[-1]['rows']:,} rows / smallest"
    complete = done[-1]["rows"] >= SIZES[-1]
    given_up = any("given up" in run.get("skipped", "") for run in runs)
    note = "" if complete else f"{'given up' if given_up else 'not tried'} with {SIZES[-1]:,}"
    ok = ratio <= 1.25 if complete else (False if given_up else None)
    return [goal(subject, f"{ratio:.2f}", "<= 1.25", ok, note)]


def report_goals(goals):
    print(f"\n{'':52}{'result':>10}{'goal':>10}")
    for line in goals:
        verdict = {True: "reached", False: "MISSED", None: "SKIPPED"}[line["reached"]]
        cells = f"{line['what']:52}{line['value']:>10}{line['goal']:>10}  {verdict:8}"
        print(f"{cells} {line['note']}".rstrip())


if __name__ == "__main__":
    main()
