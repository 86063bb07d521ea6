"""Streams: a front that is updated batch by batch, compared with fits on the same rows.

adult: Adult in batches of 2,000 rows, in five random orders. The last front is compared with `fairfront fit` on all
rows: with the encoding of the stream (its encoded rows, read as numbers), and with its own encoding. The cost is the
CPU time of the whole stream, and of a fit on all rows so far after each batch.

change: demo(change=0.5), a population that changes halfway. After each batch, the front is evaluated on the last 10,000
rows and compared with a fit on these rows with the same encoding: with --window 10000, with all rows kept, and as it
was before the change.

million: 1,000,000 rows with --reservoir 20000; memory and CPU seconds after each batch.

Fronts are evaluated in the terms by which fairfront chooses them, recomputed from parameters and rows: 1 - accuracy and
the difference between groups on training and validation rows, up to the minority share of the target and the difference
of the fit's unmitigated model; or log loss and squared covariance on training rows, up to 1.1 times the range of the
exact front. All are evaluated on test rows too. moocore computes the hypervolumes. Every run has one thread and its own
process.

Tables and numbers are written to `results/`, figures to `docs/figures/`. With other options than usual, everything is
written to `work/`.

Run by `make bench-stream`.
"""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import moocore
import numpy as np
import pandas as pd
import pyarrow.parquet

from fronts import LAMBDA
from judge import (
    BENCH,
    FAIRFRONT,
    ONE_THREAD,
    Rows,
    measured,
    measures,
    references,
    write_results,
)

BATCH = 2_000
CURVE = FAIRFRONT.with_name("curve")
RESULTS = BENCH / "results"
FIGURES = BENCH.parent / "docs/figures"
PACKAGES = ["moocore", "numpy", "pandas", "pyarrow"]
GAP = "demographic_parity_difference"
GOAL = 0.99
# Flags that describe the columns of an exported data set.
ROLES = {
    "adult": ["--target", "income", "--positive", ">50K", "--scale", "min-max"],
    "demo": ["--target", "approved", "--positive", "yes", "--missing", "income=mean"]
    + ["--missing", "savings=mean", "--missing", "occupation=category"],
}
# One penalty for streams and fits, so that both minimize the same objectives.
SHARED = ["--sensitive", "sex", "--split", "column:split", "--penalty", "0.0001", "--threads", "1", "--quiet"]
COVARIANCES = ["--objective", "log_loss", "--objective", "score_covariance(sex)"]
CASES = {
    "default": [],
    "trace": COVARIANCES,
    "pf-smg": [*COVARIANCES, "--solver", "pf-smg"],
}
TITLES = {
    "default": "error_rate, demographic_parity(sex)",
    "trace": "log_loss, score_covariance(sex)",
    "pf-smg": "the same by pf-smg",
}
WINDOW, CHANGED = 5, 10
# The number of orders of the rows with a fit after every batch, and not only after the last one.
REFITS = {"default": 2, "trace": 2, "pf-smg": 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, metavar="PART")
    parser.add_argument("--seeds", type=int, help="number of seeds [default: 5 for adult, 3 for change]")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--batches", type=int, default=200, help="number of batches of the million rows")
    parser.add_argument("--jobs", type=int, default=1, help="seeds to run at the same time; may affect CPU times")
    args = parser.parse_args()
    if not (FAIRFRONT.is_file() and CURVE.is_file()):
        sys.exit(f"{FAIRFRONT}, {CURVE}: not found; run cargo build --release -p fairfront-cli -p fairfront-bench")
    usual = args == parser.parse_args(["--parts", *args.parts, "--jobs", str(args.jobs)])
    for part in args.parts:
        with tempfile.TemporaryDirectory() as folder:
            text, content, curves = PARTS[part](args, Path(folder))
        print(f"\n{text}")
        results, figures = (RESULTS, FIGURES) if usual else (BENCH / "work", BENCH / "work")
        write_results(f"stream-{part}", text, content, PACKAGES, results)
        for name, curve in curves.items():
            stem = f"stream-{part}{name}"
            draw(results / f"{stem}.csv", figures / f"{stem}.svg", *curve)
        print(f"written to {results.relative_to(BENCH.parent)}/stream-{part}*", file=sys.stderr)
        if curves:
            print(f"figures written to {figures.relative_to(BENCH.parent)}/stream-{part}*.svg", file=sys.stderr)


# Rows and fronts


def table(name, path, *flags):
    """The rows of a data set as strings, with a split; writes them to a file."""
    command = [
        FAIRFRONT,
        "data",
        "export",
        name,
        *map(str, flags),
        "--sensitive",
        "sex",
        "-o",
        path,
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def encoded(frame, encoding):
    """Rows encoded by an encoding.json."""
    columns = {}
    for numeric in encoding["numeric"]:
        name = numeric["column"]
        values = pd.to_numeric(frame[name]).to_numpy(float)
        missing = np.isnan(values)
        values = np.where(missing, numeric["mean"], values)
        columns[name] = (values - numeric["shift"]) / numeric["factor"]
        if numeric.get("indicator"):
            columns[f"{name} missing"] = missing.astype(float)
    for categorical in encoding["categorical"]:
        assert not categorical.get("pooled") and not categorical.get("merge")
        strings = frame[categorical["column"]].replace("", "(missing)")
        for category in categorical["categories"]:
            columns[f"{categorical['column']}={category}"] = (strings == category).to_numpy(float)
    target = encoding["target"]
    label = np.where(frame[target["column"]] == target["positive"], 1.0, -1.0)
    z = np.column_stack([*columns.values(), np.ones(len(frame))])
    group, split = frame["sex"].to_numpy(str), frame["split"].to_numpy(str)
    return Rows(list(columns), "sex", z, label, group, split)


class Front:
    """The models of a run folder, and rows in their encoding."""

    def __init__(self, folder, rows):
        self.info = json.loads((folder / "run.json").read_text())
        self.table = pyarrow.parquet.read_table(folder / "front.parquet").to_pydict()
        self.models = np.array(self.table["params"])
        self.unmitigated = np.array(self.info["unmitigated"]["params"])
        self.in_measures = self.info["judged"]["front_in"] == "measures"
        self.rows = rows

    @classmethod
    def read(cls, folder, frame):
        """Read a run folder, and encode rows by its own encoding."""
        encoding = json.loads((folder / "encoding.json").read_text())
        return cls(folder, encoded(frame, encoding))

    def judged_on(self):
        """The splits that decide, and the held-out one."""
        return (("train", "validation") if self.in_measures else ("train",)), ("test",)

    def values(self, splits, models=None):
        models, rows = self.models if models is None else models, self.rows.of(*splits)
        if self.in_measures:
            return np.array(measures(models, rows, GAP))
        return covariances(models, rows)

    def check(self):
        """Check the stored values against parameters and rows."""
        names = (f"accuracy {GAP}(sex)" if self.in_measures else "").split()
        names = names or [f"objective.{name}" for name in self.info["objectives"]]
        for split in ("train", "test"):
            head = "" if not self.in_measures and split == "train" else f"{split}."
            theirs = np.array([self.table[head + name] for name in names]).T
            if self.in_measures:
                theirs[:, 0] = 1 - theirs[:, 0]
            off = abs(self.values((split,)) - theirs).max()
            assert off < 1e-9, f"values on {split} rows differ by {off:.1e}"


def covariances(models, rows):
    """Log loss with its penalty, and the squared covariance of score and group."""
    group = rows.group == sorted(set(rows.group))[1]
    u = (group - group.mean()) @ rows.z / len(group)
    found = []
    for x in np.array_split(models, max(1, len(models) // 64)):
        margins = rows.y[:, None] * (rows.z @ x.T)
        loss = (np.maximum(-margins, 0) + np.log1p(np.exp(-abs(margins)))).mean(0)
        found.append(np.column_stack([loss + LAMBDA / 2 * (x[:, :-1] ** 2).sum(1), (x @ u) ** 2]))
    return np.concatenate(found)


def fit(source, out, flags):
    """Fit to a run folder, and return the cost."""
    return measured([FAIRFRONT, "fit", source, *SHARED, *flags, "--out", out, "--force"])[1]


def fit_as(front, folder, flags):
    """A fit on rows with the encoding of a stream."""
    rows = front.rows
    features = [f"f{i}" for i in range(len(rows.names))]
    # The rows are encoded already: features are numbers and stay unchanged.
    data = pd.DataFrame(rows.z[:, :-1], columns=features)
    data = data.assign(sex=rows.group, label=np.where(rows.y > 0, "yes", "no"), split=rows.split)
    path, out = folder / "encoded.parquet", folder / "encoded"
    data.to_parquet(path)
    roles = ["--target", "label", "--positive", "yes", "--scale", "none"]
    fit(path, out, [*roles, *flags])
    found = Front(out, rows)
    assert found.info["features"] == features
    found.check()
    return found


def volume(points, reference):
    return moocore.hypervolume(points, ref=reference)


def error(values):
    """Mean and its standard error, in percent."""
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{100 * statistics.mean(values):.2f} ± {100 * spread:.2f}"


def verdict(reached):
    return "reached" if reached else "**missed**"


def disturbed(costs):
    busy = max(cost["cores_busy_with_others"] for cost in costs)
    return ["", f"DISTURBED: other programs kept up to {busy} cores busy."] if busy >= 0.1 else []


def note(text="."):
    print(text, end="", flush=True, file=sys.stderr)


def in_turn(work, seeds, jobs):
    """Results of all seeds, computed with this number of jobs."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, range(1, seeds + 1)))


# Adult


def adult(args, folder):
    def of_seed(seed):
        return adult_seed(args.cases, seed, folder / str(seed))

    runs = in_turn(of_seed, args.seeds or 5, args.jobs)
    runs = {name: [of_cases[name] for of_cases in runs] for name in args.cases}
    cases = [{"name": name, "flags": CASES[name], "runs": runs[name]} for name in args.cases]
    note("\n")
    return adult_report(cases), {"batch": BATCH, "cases": cases}, {}


def adult_seed(cases, seed, folder):
    folder.mkdir()
    path = folder / "rows.csv"
    frame = table("adult:sex", path, "--seed", seed)
    order = np.random.default_rng(seed).permutation(len(frame))
    frame = frame.iloc[order].reset_index(drop=True)
    frame.to_csv(path, index=False)
    runs, exact = {}, None
    for name in cases:
        runs[name], exact = adult_case(name, seed, frame, path, exact, folder)
    return runs


def adult_case(name, seed, frame, path, exact, folder):
    flags = [*CASES[name], "--seed", str(seed)]
    settings, state = [*ROLES["adult"], *flags], folder / name
    stream = [FAIRFRONT, "stream", state, path, *SHARED, *settings, "--batch", BATCH, "--flush"]
    _, cost = measured(stream)
    streamed = Front.read(state / "current", frame)
    streamed.check()
    same = fit_as(streamed, folder, flags)
    refits, part = [], folder / "part.csv"
    ends = [*range(BATCH, len(frame), BATCH), len(frame)]
    for rows in ends if seed <= REFITS[name] else ends[-1:]:
        frame[:rows].to_csv(part, index=False)
        refits.append(fit(part, folder / "part", settings))
        note()
    own = Front.read(folder / "part", frame)
    own.check()
    if exact is None and not same.in_measures:
        exact = same if same.info["solver"] == "trace" else fit_as(streamed, folder, COVARIANCES)
    shares = {}
    chosen, test = same.judged_on()
    for where, splits in (("chosen", chosen), ("test", test)):
        if same.in_measures:
            reference = references(same.rows, same.unmitigated, GAP)[where]
        else:
            values = exact.values(splits)
            reference = values.min(0) + 1.1 * (values.max(0) - values.min(0))
        found = {
            kind: volume(front.values(splits), reference)
            for kind, front in (("stream", streamed), ("same", same), ("own", own))
        }
        shares[where] = {
            "reference": list(map(float, reference)),
            "hypervolume": found,
            "of_same_encoding": found["stream"] / found["same"],
            "of_own_encoding": found["stream"] / found["own"],
        }
    run = {
        "seed": seed,
        "rows": streamed.rows.counts(),
        "batches": streamed.info["stream"]["batches"],
        "points": {
            "stream": len(streamed.models),
            "same": len(same.models),
            "own": len(own.models),
        },
        **shares,
        "stream_cost": cost,
        "refits_cpu_s": [round(refit["cpu_s"], 3) for refit in refits],
        "cores_busy_with_others": max(c["cores_busy_with_others"] for c in (cost, *refits)),
    }
    return run, exact


def adult_report(cases):
    """A Markdown table."""
    first = cases[0]["runs"][0]
    of = lambda runs, splits, share: error([run[splits][share] for run in runs])
    lines = [
        f"Adult (sex) in {first['batches']} batches of {BATCH:,} rows, {len(cases[0]['runs'])} orders of the rows.",
        "Hypervolume of the last front in percent of that of a fit on all rows, mean ± standard error (smallest);",
        "CPU seconds of the whole stream, of fits on all rows so far after every batch (in some of the",
        "orders), and of the last of these fits.",
        "",
    ]
    heads = ["", "same encoding", "… on test rows", "own encoding", "… on test rows", "models"]
    heads += ["stream, CPU s", "refits, CPU s", "one fit", "refits cost"]
    lines += [f"| {' | '.join(heads)} |", "| --- " + "| ---: " * (len(heads) - 1) + "|"]
    goals = []
    for case in cases:
        runs = case["runs"]
        cpu = statistics.mean(run["stream_cost"]["cpu_s"] for run in runs)
        all_refits = [run for run in runs if len(run["refits_cpu_s"]) == run["batches"]]
        refits = statistics.mean(sum(run["refits_cpu_s"]) for run in all_refits)
        least = min(run["chosen"]["of_same_encoding"] for run in runs)
        mean = statistics.mean(run["chosen"]["of_same_encoding"] for run in runs)
        median = lambda kind: statistics.median(run["points"][kind] for run in runs)
        cells = [
            TITLES[case["name"]],
            f"{of(runs, 'chosen', 'of_same_encoding')} ({100 * least:.2f})",
            of(runs, "test", "of_same_encoding"),
            of(runs, "chosen", "of_own_encoding"),
            of(runs, "test", "of_own_encoding"),
            f"{median('stream'):.0f} of {median('same'):.0f}",
            f"{cpu:.2f}",
            f"{refits:.2f} ({len(all_refits)})",
            f"{statistics.mean(run['refits_cpu_s'][-1] for run in runs):.2f}",
            f"{refits / cpu:.1f} ×",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        goals.append(
            f"- {TITLES[case['name']]}: {100 * mean:.2f}%, goal 99%: {verdict(mean >= GOAL)}."
        )
    return "\n".join([*lines, "", *goals, *disturbed([r for c in cases for r in c["runs"]])]) + "\n"


# A population that changes


def change(args, folder):
    def of_seed(seed):
        return change_run(seed, folder / str(seed))

    runs = in_turn(of_seed, args.seeds or 3, args.jobs)
    note("\n")
    kinds = list(runs[0]["batches"][-1]["share"])
    lines = []
    for batches in zip(*(run["batches"] for run in runs), strict=True):
        of = {kind: [batch["share"][kind] for batch in batches] for kind in kinds}
        lines.append([None if None in v else 100 * statistics.mean(v) for v in of.values()])
    heads = [NAMES[kind] for kind in kinds]
    curve = ("A population that changes after batch 10", "batch", "hypervolume (% of a fit)", heads)
    curves = {"": (*curve, list(enumerate(lines, 1)))}
    return change_report(runs), {"batch": BATCH, "window": WINDOW * BATCH, "runs": runs}, curves


NAMES = {
    "window": "with a window of five batches",
    "before": "… before the update",
    "all": "all rows kept",
    "left": "left as it was after batch 10",
}


def change_run(seed, folder):
    folder.mkdir()
    name = f"demo(rows={2 * CHANGED * BATCH}, seed={seed}, change=0.5)"
    flags = ["--drop", "race", "--drop", "marital_status", "--drop", "disability"]
    kept = [*flags, "--missing", "income=mean", "--seed", seed]
    frame = table(name, folder / "rows.csv", *kept)
    assert len(frame) == 2 * CHANGED * BATCH
    states = {"window": ["--window", WINDOW * BATCH], "all": []}
    settings = [*SHARED, *ROLES["demo"], "--seed", str(seed)]
    found, earlier, costs = [], {}, []
    for batch in range(1, 2 * CHANGED + 1):
        path = folder / f"batch-{batch}.csv"
        frame[(batch - 1) * BATCH : batch * BATCH].to_csv(path, index=False)
        rows = frame[max(0, batch - WINDOW) * BATCH : batch * BATCH]
        fronts = {}
        for kind, keep in states.items():
            flags = [*settings, "--batch", BATCH, *keep] if batch == 1 else ["--quiet", "--threads", 1]
            costs.append(measured([FAIRFRONT, "stream", folder / kind, path, *flags])[1])
            fronts[kind] = Front.read(folder / kind / "current", rows)
        fronts["window"].check()
        same = fit_as(fronts["window"], folder, ["--seed", str(seed)])
        if earlier:
            fronts["before"] = earlier["window"]
        fronts["left"] = earlier.get("left") if batch > CHANGED else fronts["window"]
        chosen, test = same.judged_on()
        limits = references(same.rows, same.unmitigated, GAP)
        line = {"batch": batch}
        for key, where, splits in (("share", "chosen", chosen), ("test", "test", test)):
            whole = volume(same.values(splits), limits[where])
            line[key] = {"before": None}
            for kind, front in fronts.items():
                # The current rows, for fronts from any rows.
                models = grown(front, fronts["window"])
                values = fronts["window"].values(splits, models)
                line[key][kind] = volume(values, limits[where]) / whole
            line[key] = {kind: line[key][kind] for kind in NAMES}
        found.append(line)
        earlier = {"window": fronts["window"], "left": fronts["left"]}
        note()
    return {
        "seed": seed,
        "name": name,
        "batches": found,
        "cores_busy_with_others": max(cost["cores_busy_with_others"] for cost in costs),
    }


def grown(front, now):
    """Models of a front in the current encoding, which may have new features; these have no effect."""
    if front.rows.names == now.rows.names:
        return front.models
    models = np.zeros((len(front.models), len(now.rows.names) + 1))
    places = [now.rows.names.index(name) for name in front.rows.names]
    models[:, [*places, -1]] = front.models
    return models


def change_report(runs):
    kinds = list(NAMES)
    n = len(runs[0]["batches"])
    lines = [
        f"demo(rows={n * BATCH}, change=0.5): the population changes with batch {CHANGED + 1}. Hypervolume in percent",
        f"of that of a fit on the last {WINDOW * BATCH:,} rows, on these rows; {len(runs)} seeds, mean ± standard error.",
        "",
        "| batch | " + " | ".join(NAMES.values()) + " | window, on test rows |",
        "| ---: " * (len(kinds) + 2) + "|",
    ]
    for b in range(n):
        of = lambda key, kind: [run["batches"][b][key][kind] for run in runs]
        shown = lambda v: "" if None in v else error(v)
        cells = [*(shown(of("share", kind)) for kind in kinds), shown(of("test", "window"))]
        lines.append(f"| {b + 1} | {' | '.join(cells)} |")
    mean = lambda b: statistics.mean(run["batches"][b]["share"]["window"] for run in runs)
    back = next((b for b in range(CHANGED, n) if all(mean(i) >= GOAL for i in range(b, n))), None)
    after = f"from {back - CHANGED + 1} batches after the change on" if back else "not permanently"
    at_five = mean(CHANGED + WINDOW - 1)
    lines += [
        "",
        f"- Five batches after the change: {100 * at_five:.2f}%, goal 99%: {verdict(at_five >= GOAL)}.",
        f"- At least 99% with a window: {after}.",
    ]
    return "\n".join([*lines, *disturbed(runs)]) + "\n"


# A million rows


def million(args, folder):
    rows = 1_000_000
    batch = rows // args.batches
    path, state = folder / "rows.csv", folder / "state"
    table(f"demo(rows={rows})", path, "--drop", "race", "--missing", "income=mean")
    flags = [*SHARED, *ROLES["demo"], "--reservoir", "20000", "--batch", batch, "--json"]
    flags.remove("--quiet")
    start, cpu_before = time.perf_counter(), 0.0
    process = subprocess.Popen(
        list(map(str, [FAIRFRONT, "stream", state, path, *flags])),
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    found = []
    for line in process.stdout:
        report = json.loads(line)
        cpu, rss, peak = usage(process.pid)
        found.append(
            {
                "batch": report["batch"],
                "cpu_s": round(cpu - cpu_before, 3),
                "rss_mib": rss,
                "peak_mib": peak,
                "hypervolume": report["front"]["hypervolume"],
            }
        )
        cpu_before = cpu
    if process.wait():
        sys.exit("fairfront stream failed")
    wall = time.perf_counter() - start
    curves = {
        "-memory": (
            "A million rows, a reservoir of 20,000: memory", "batch", "MiB", ["resident", "largest so far"],
            [(b["batch"], [b["rss_mib"], b["peak_mib"]]) for b in found],
        ),
        "-cost": (
            "A million rows, a reservoir of 20,000: cost", "batch", "CPU seconds per batch", ["CPU seconds"],
            [(b["batch"], [b["cpu_s"]]) for b in found],
        ),
    }  # fmt: skip
    disk = sum(f.stat().st_size for f in state.rglob("*") if f.is_file()) / 2**20
    head = {"rows": rows, "batch": batch, "wall_s": wall, "state_mib": disk}
    return million_report(head, found), {**head, "batches": found}, curves


def usage(pid):
    """CPU seconds of a process, and its current and peak resident memory in MiB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    mib = lambda key: round(int(status[key].split()[0]) / 1024, 1)
    return cpu, mib("VmRSS"), mib("VmHWM")


def million_report(head, found):
    # The reservoir is full from here on.
    full = [b for b in found if b["batch"] * head["batch"] > 20_000]
    n = min(50, len(full) // 2)
    first, last = full[:n], full[-n:]
    mean = lambda part, key: statistics.mean(b[key] for b in part)
    lines = [
        f"{head['rows']:,} rows in {len(found)} batches of {head['batch']:,} with --reservoir 20000: the first {n}",
        f"batches with a full reservoir and the last {n}; in total {head['wall_s']:.0f} s and",
        f"{sum(b['cpu_s'] for b in found):.0f} CPU s.",
        "",
        "| | first | last | last / first |",
        "| --- | ---: | ---: | ---: |",
    ]
    for key, title in (("cpu_s", "CPU seconds per batch"), ("rss_mib", "resident memory, MiB")):
        before, after = mean(first, key), mean(last, key)
        lines.append(f"| {title} | {before:.3f} | {after:.3f} | {after / before:.3f} |")
    # Memory that allocators retain appears in the first batches; a leak would appear in both halves.
    half, end = found[len(found) // 2]["peak_mib"], found[-1]["peak_mib"]
    cost = mean(last, "cpu_s") / mean(first, "cpu_s")
    lines += [
        "",
        f"Peak memory is {half:.1f} MiB after half of the batches and {end:.1f} MiB after all; the state takes",
        f"{head['state_mib']:.1f} MiB on disk.",
        "",
        f"- Memory after all batches within 5% of that after half: {verdict(end <= 1.05 * half)}.",
        f"- Cost of the last batches within 5% of the first: {verdict(cost <= 1.05)}.",
    ]
    return "\n".join(lines) + "\n"


PARTS = {"adult": adult, "change": change, "million": million}


def draw(csv_path, svg_path, title, x, y, names, lines):
    """Write values by count as CSV, and a figure of them as SVG."""
    with open(csv_path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([x, *names])
        for at, values in lines:
            writer.writerow([at, *("" if v is None else f"{v:.6g}" for v in values)])
    with open(csv_path) as rows, open(svg_path, "w") as svg:
        subprocess.run([CURVE, title, y], stdin=rows, stdout=svg, check=True)


if __name__ == "__main__":
    main()
