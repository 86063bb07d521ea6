"""Fronts of predicted classes compared with scikit-learn and with one-vs-rest wrappers around fairlearn's reductions.

fairlearn reduces binary targets only, so it has no direct counterpart to fairfront's models of classes. Each method here
delivers at most 31 models that no other model of the method dominates on training and validation rows together:

- fairfront: `fairfront fit` with default settings, `error_rate` and `demographic_parity(A)`.
- multinomial logistic regression: scikit-learn's, one model, without regard to fairness.
- one-vs-rest: for each class, fairlearn's `ExponentiatedGradient` with `DemographicParity` at one of several bounds, or a
  `GridSearch` from which one of several weights of the constraint selects; the decision is the class with the highest
  probability. If classes are ordered, the binary targets are "at least as high as this class" instead.
- offsets: the logistic regression plus one constant per class, the same for all groups, by random search.

A front is judged by its hypervolume share: the share of a box that its models dominate on test rows, in 1 - accuracy and
the largest demographic parity difference over classes. The box reaches from the smallest error of any method and a
difference of 0, to the error of the most frequent class and the difference of the logistic regression. All methods get
the same encoded features and the same training rows. Seed 100 (`--choose`) served for development, and seed 0 showed that
a split without validation rows suits no method; the reported seeds are others.

Run by `make bench-classes`.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

# Threads of linear algebra would wait for each other on a busy machine.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import fairlearn
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import sklearn
from fairlearn.reductions import DemographicParity, ExponentiatedGradient, GridSearch
from machine import busy_s, where
from predicted_numbers import cpu_s, share_of_box
from sklearn.linear_model import LogisticRegression

BENCH = Path(__file__).resolve().parent
WORK = BENCH / "work" / "classes"
RESULTS = BENCH / "results"
SEEDS = [1, 2, 3, 4, 5]
# For Adult, fewer seeds and a sample of its rows, so that the reductions end in minutes.
SEEDS_OF_MANY = [1, 2, 3]
ADULT_ROWS = 12_000
CHOSEN_ON = [100]
BOUNDS = [0.005, 0.02, 0.05, 0.1, 0.2]
# Multipliers of GridSearch with two groups, and with more.
GRID, GRID_OF_MANY = 15, 60
WEIGHTS = np.linspace(0, 1, 15)
OFFSETS = 3_000
MOST_MODELS = 31
LIMIT = 0.05

LEVELS = ["none", "school", "college", "bachelor", "advanced"]
ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship "
    "race sex capital-gain capital-loss hours-per-week native-country income"
).split()


def folder():
    return Path(os.environ["FAIRFRONT_DATA"])


def education(attribute, seed):
    """Adult with the level of education in five ordered classes as the target."""
    options = {"names": ADULT, "skipinitialspace": True}
    parts = [pd.read_csv(folder() / "adult.data", **options), pd.read_csv(folder() / "adult.test", skiprows=1, **options)]
    table = pd.concat(parts, ignore_index=True)
    table["income"] = table["income"].str.rstrip(".")
    level = {"HS-grad": "school", "Some-college": "college", "Assoc-acdm": "college", "Assoc-voc": "college"}
    level |= {"Bachelors": "bachelor", "Masters": "advanced", "Doctorate": "advanced", "Prof-school": "advanced"}
    target = table["education"].map(lambda name: level.get(name, "none"))
    other = "race" if attribute == "sex" else "sex"
    table = table.drop(columns=["education", "education-num", "fnlwgt", other])
    table = table.rename(columns={attribute: "group"}).assign(target=target)
    if attribute == "race":
        # The three smallest groups together have 5% of the rows.
        table["group"] = table["group"].where(table["group"].isin(["White", "Black"]), "other")
    return table.sample(ADULT_ROWS, random_state=seed)


def score_text(seed):
    """COMPAS as published, with the filter of its authors and two races."""
    table = pd.read_csv(folder() / "compas-scores-two-years.csv")
    kept = table[
        table["days_b_screening_arrest"].abs().le(30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & table["race"].isin(["African-American", "Caucasian"])
    ]
    names = ["age", "sex", "priors_count", "c_charge_degree", "juv_fel_count", "juv_misd_count"]
    table = kept[names].assign(group=kept["race"], target=kept["score_text"])
    return table.sample(frac=1, random_state=seed)


def generated(rows, groups, classes, ordered, seed):
    """Groups with different means and slopes; classes are ranges of a number, or the largest of several scores."""
    draw = np.random.default_rng([31, rows, groups, classes, ordered, seed])
    group = draw.choice(groups, rows, p=np.arange(groups, 0, -1) / np.arange(groups, 0, -1).sum())
    z = draw.normal(size=(rows, 6))
    # The group shifts some features, so that they are proxies.
    z[:, :2] += 0.6 * group[:, None]
    if ordered:
        number = z @ np.array([1.0, 0.5, -0.6, 0.4, 0.0, 0.2]) + 0.5 * group + draw.logistic(size=rows)
        target = np.searchsorted(np.quantile(number, np.arange(1, classes) / classes), number)
    else:
        # The slopes are the same for all seeds.
        slopes = np.random.default_rng(32).normal(size=(6, classes))
        scores = z @ slopes + 0.6 * np.outer(group, np.linspace(-1, 1, classes)) + draw.gumbel(size=(rows, classes))
        target = scores.argmax(axis=1)
    columns = {f"z{i}": z[:, i].round(5) for i in range(z.shape[1])}
    return pd.DataFrame({**columns, "group": [f"g{g}" for g in group], "target": [f"c{t}" for t in target]})


# Name: table of a seed, and the order of its classes
CASES = {
    "Adult, education by sex": (lambda seed: education("sex", seed), LEVELS),
    "Adult, education by race": (lambda seed: education("race", seed), LEVELS),
    "COMPAS, risk level by race": (score_text, ["Low", "Medium", "High"]),
    "generated, 3 classes, 2 groups": (lambda seed: generated(6_000, 2, 3, False, seed), None),
    "generated, 4 ordered classes, 3 groups": (
        lambda seed: generated(6_000, 3, 4, True, seed),
        ["c0", "c1", "c2", "c3"],
    ),
}


class Case:
    """Encoded rows: the features that fairfront derives, for all methods."""

    def __init__(self, binary, name, seed):
        WORK.mkdir(parents=True, exist_ok=True)
        self.binary, self.path = binary, WORK / "rows.csv"
        table, order = CASES[name]
        table(seed).to_csv(self.path, index=False)
        self.ordered = order is not None
        self.spec = [self.path, "--target", "target", "--sensitive", "group", "--seed", seed, "--split", "60/10/30"]
        self.spec += ["--order", ",".join(order)] if order else []
        written = self.run("data", "export", *self.spec, "--encoded", "-o", "-")
        header, *rows = csv.reader(written.splitlines())
        rows = pd.DataFrame(rows, columns=header)
        end = header.index("group")
        self.classes = order or sorted(rows["label"].unique())
        self.groups = sorted(rows["group"].unique())
        self.parts = {}
        # Methods train on the first part, filter their models on the second, and are compared on the third.
        for part, splits in {"train": ["train"], "filter": ["train", "validation"], "test": ["test"]}.items():
            own = rows[rows["split"].isin(splits)]
            place = own["label"].map(self.classes.index).to_numpy()
            self.parts[part] = own[header[:end]].to_numpy(float), place, own["group"].to_numpy()

    def run(self, *words):
        done = subprocess.run([str(word) for word in (self.binary, *words)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def values(self, decided, part):
        """Return 1 - accuracy and the largest demographic parity difference of decisions."""
        _, y, group = self.parts[part]
        k = len(self.classes)
        rates = []
        for g in self.groups:
            shares = np.bincount(decided[group == g], minlength=k) / (group == g).sum()
            # For ordered classes, the share decided at least as high.
            rates.append(shares[::-1].cumsum()[::-1] if self.ordered else shares)
        return [float(np.mean(decided != y)), float(np.ptp(rates, axis=0).max())]


# Methods: each returns the decisions of its models on a part of the rows.


def fairfront(case):
    run = WORK / "run"
    case.run("fit", *case.spec, "--out", run, "--force", "--quiet")
    params = np.array(pq.read_table(run / "front.parquet", columns=["params"])["params"].to_pylist())
    k = len(case.classes)
    coefficients = params[:, :-k].reshape(len(params), k, -1)

    def decide(part):
        z = case.parts[part][0]
        return [(z @ c.T + b).argmax(axis=1) for c, b in zip(coefficients, params[:, -k:], strict=True)]

    return decide


def logistic(case):
    z, y, _ = case.parts["train"]
    model = LogisticRegression(max_iter=2_000).fit(z, y)
    return lambda part: [model.predict(case.parts[part][0])]


def tasks(case):
    """Return the binary targets of one-vs-rest, and a function from their probabilities to decisions."""
    _, y, _ = case.parts["train"]
    k = len(case.classes)
    if not case.ordered:
        return [y == c for c in range(k)], lambda p: np.argmax(p, axis=0)

    def decide(above):
        # The probability of a class is the difference between two neighboring ones.
        ends = np.vstack([np.ones(above.shape[1]), above, np.zeros(above.shape[1])])
        return np.argmax(ends[:-1] - ends[1:], axis=0)

    return [y >= c for c in range(1, k)], decide


def binary():
    return LogisticRegression(solver="newton-cholesky", max_iter=200)


def exponentiated_gradient(case):
    z, _, group = case.parts["train"]
    targets, decide = tasks(case)
    found = []
    for bound in BOUNDS:
        fitted = []
        for target in targets:
            mitigator = ExponentiatedGradient(binary(), DemographicParity(difference_bound=bound), eps=bound)
            mitigator.fit(z, target.astype(int), sensitive_features=group)
            fitted.append((mitigator.predictors_, mitigator.weights_))
        found.append(fitted)

    def decisions(part):
        z = case.parts[part][0]
        # Of a mixture, the mean probability.
        mean = lambda ps, ws: sum(w * p.predict_proba(z)[:, -1] for p, w in zip(ps, ws, strict=True) if w > 0)
        return [decide(np.array([mean(*of) for of in fitted])) for fitted in found]

    return decisions


def grid_search(case):
    z, _, group = case.parts["train"]
    targets, decide = tasks(case)
    searches = []
    for target in targets:
        size = GRID if len(case.groups) == 2 else GRID_OF_MANY
        search = GridSearch(binary(), DemographicParity(), grid_size=size)
        searches.append(search.fit(z, target.astype(int), sensitive_features=group))
    best = []
    for weight in WEIGHTS:
        # The rule of GridSearch, for this weight of the constraint.
        losses = [
            (1 - weight) * np.array(s.objectives_) + weight * np.array([s.gammas_[i].max() for i in s.gammas_])
            for s in searches
        ]
        best.append([s.predictors_[loss.argmin()] for s, loss in zip(searches, losses, strict=True)])

    def decisions(part):
        z = case.parts[part][0]
        return [decide(np.array([p.predict_proba(z)[:, -1] for p in fitted])) for fitted in best]

    return decisions


def offsets(case):
    z, y, _ = case.parts["train"]
    model = LogisticRegression(max_iter=2_000).fit(z, y)
    draw = np.random.default_rng(33)
    # From small to large moves.
    size = draw.choice([0.1, 0.3, 1.0], OFFSETS)[:, None]
    moves = np.vstack([np.zeros(len(case.classes)), size * draw.normal(size=(OFFSETS, len(case.classes)))])
    scores = model.decision_function(z)
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    values = np.array([case.values((scores + move).argmax(axis=1), "train") for move in moves])
    # Few of the others can be on the front of all rows that filter.
    kept = moves[nondominated(values)]
    return lambda part: [(model.decision_function(case.parts[part][0]) + move).argmax(axis=1) for move in kept]


METHODS = {
    "fairfront": fairfront,
    "multinomial logistic regression": logistic,
    "one-vs-rest ExponentiatedGradient": exponentiated_gradient,
    "one-vs-rest GridSearch": grid_search,
    "offsets by random search": offsets,
}


def nondominated(values):
    """Return the positions of the models that no other one dominates, one of each with equal values."""
    kept, least = [], np.inf
    for i in np.lexsort([values[:, 1], values[:, 0]]):
        if values[i, 1] < least:
            kept.append(i)
            least = values[i, 1]
    return np.array(kept)


def delivered(values):
    """Return the positions of at most MOST_MODELS models of the front, evenly spaced along it."""
    front = nondominated(values)
    if len(front) <= MOST_MODELS:
        return front
    steps = np.abs(np.diff(values[front], axis=0)) / np.maximum(np.ptp(values[front], axis=0), 1e-12)
    along = np.concatenate([[0], np.hypot(*steps.T).cumsum()])
    places = [np.abs(along - at).argmin() for at in np.linspace(0, along[-1], MOST_MODELS)]
    return front[np.unique(places)]


def compared(case):
    """Return time, points and hypervolume shares of each method."""
    found = {}
    for name, fit in METHODS.items():
        before, cpu, busy = time.perf_counter(), cpu_s(), busy_s()
        decide = fit(case)
        seconds, cpu_seconds = time.perf_counter() - before, cpu_s() - cpu
        points = {part: np.array([case.values(d, part) for d in decide(part)]) for part in case.parts}
        kept = delivered(points["filter"])
        found[name] = {
            "candidates": len(points["train"]),
            "models": len(kept),
            "seconds": round(seconds, 3),
            # Of this program and those that it runs.
            "cpu_seconds": round(cpu_seconds, 3),
            # CPU seconds of all programs of the machine in this time, to see whether it was busy.
            "machine_cpu_seconds": round(busy_s() - busy, 2),
            "points": {part: of[kept].tolist() for part, of in points.items()},
        }
    frequent = np.bincount(case.parts["train"][1]).argmax()
    for part in case.parts:
        y = case.parts[part][1]
        unmitigated = found["multinomial logistic regression"]["points"][part][0]
        high = [float(np.mean(y != frequent)), unmitigated[1]]
        low = [min(p[0] for of in found.values() for p in of["points"][part]), 0.0]
        for of in found.values():
            points = of["points"][part]
            of.setdefault("shares", {})[part] = round(float(share_of_box(points, low, high)), 4)
            of.setdefault("box", {})[part] = [low, high]
    return found


def chosen(run):
    """Return 1 - accuracy and difference on test rows of the best model within the limit on the rows that filter."""
    known, test = (np.array(run["points"][part]) for part in ("filter", "test"))
    meeting = np.flatnonzero(known[:, 1] <= LIMIT)
    return test[meeting[known[meeting, 0].argmin()]].tolist() if len(meeting) else None


def spread(values):
    """Return the mean with its standard error."""
    mean = np.mean(values)
    return f"{mean:.2f}", f"{np.std(values, ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else "–"


def page(stored):
    """Return the results as Markdown."""
    lines = ["# Fronts of classes", ""]
    lines += [line for line in INTRODUCTION.splitlines()]
    for case in CASES:
        runs = [run for run in stored["runs"] if run["case"] == case]
        seeds = sorted({run["seed"] for run in runs})
        if not seeds:
            continue
        rows, k, groups = (runs[0][key] for key in ("rows", "classes", "groups"))
        lines += ["", f"## {case}", ""]
        lines += [f"{rows['train']:,} training, {rows['filter'] - rows['train']:,} validation and {rows['test']:,} test rows, {k} classes, {groups} groups; {len(seeds)} seeds.", ""]
        lines += ["| method | CPU s | models | share | fairfront won–lost | its lead | chosen within 0.05 |"]
        lines += ["| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
        own = {run["seed"]: run["shares"]["test"] for run in runs if run["method"] == "fairfront"}
        for method in METHODS:
            of = [run for run in runs if run["method"] == method]
            share = spread([100 * run["shares"]["test"] for run in of])
            lead = [100 * (own[run["seed"]] - run["shares"]["test"]) for run in of]
            won, lost = sum(x > 0 for x in lead), sum(x < 0 for x in lead)
            mean, error = spread(lead)
            against = ["", ""] if method == "fairfront" else [f"{won}–{lost}", f"{float(mean):+.2f} ± {error}"]
            picks = [pick for run in of if (pick := chosen(run))]
            accuracy = np.mean([1 - pick[0] for pick in picks]) if picks else None
            text = f"{accuracy:.4f} at {np.mean([pick[1] for pick in picks]):.3f}" if picks else "–"
            text += f" ({len(picks)} of {len(of)} seeds)" if 0 < len(picks) < len(of) else ""
            cpu = np.median([run["cpu_seconds"] for run in of])
            models = np.median([run["models"] for run in of])
            cells = [method, f"{cpu:.1f}", f"{models:.0f}", f"{share[0]}% ± {share[1]}", *against, text]
            lines.append(f"| {' | '.join(cells)} |")
        base = [run for run in runs if run["method"] == "multinomial logistic regression"]
        error, difference = np.mean([run["points"]["test"][0] for run in base], axis=0)
        lines += ["", f"Multinomial logistic regression: accuracy {1 - error:.4f}, difference {difference:.3f}."]
    machine = stored["machine"]
    lines += ["", f"Machine: {machine['cpu']}, {machine['cores']} cores, shared with other programs; {stored['program']} build."]
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
Share: hypervolume share on test rows of at most 31 models per method, in 1 - accuracy and the largest demographic parity
difference over classes; for ordered classes, of the shares decided at least as high. The box reaches from the smallest
error of any method and a difference of 0 to the error of the most frequent class and the difference of the multinomial
logistic regression, whose own share is therefore 0. Shares and leads, in percentage points, are means over seeds ± their
standard error. Models of each method are filtered on training and validation rows. Chosen: accuracy and difference
on test rows of the most accurate model whose difference on these rows is at most 0.05; mean over the seeds with such a model. CPU
seconds are medians. No setting was chosen on these seeds. Made by `bench/predicted_classes.py`."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=BENCH.parent / "target/release/fairfront")
    parser.add_argument("--choose", action="store_true", help="run the seed of development, and store nothing")
    parser.add_argument("--only", help="run cases whose name contains this; keep other results")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    args = parser.parse_args()
    path = RESULTS / "classes.json"
    stored = json.loads(path.read_text()) if path.is_file() else {"runs": []}
    if args.page:
        (RESULTS / "classes.md").write_text(page(stored))
        return
    if not args.binary.is_file():
        sys.exit(f"{args.binary}: not found; run cargo build --release -p fairfront-cli")
    warnings.filterwarnings("ignore")
    for name in CASES:
        if args.only and args.only not in name:
            continue
        seeds = SEEDS_OF_MANY if "Adult" in name else SEEDS
        for seed in args.seeds or (CHOSEN_ON if args.choose else seeds):
            case = Case(args.binary, name, seed)
            rows = {part: len(of[1]) for part, of in case.parts.items()}
            for method, values in compared(case).items():
                said = {"case": name, "seed": seed, "method": method, "rows": rows}
                said |= {"classes": len(case.classes), "groups": len(case.groups), **values}
                key = lambda run: [run[k] for k in ("case", "seed", "method")]  # noqa: E731
                stored["runs"] = [run for run in stored["runs"] if key(run) != key(said)] + [said]
                print(name, seed, method, *(said[k] for k in ("candidates", "models", "cpu_seconds", "shares")), sep=" | ", flush=True)
            if args.choose:
                continue
            versions = {"fairlearn": fairlearn.__version__, "scikit-learn": sklearn.__version__}
            stored |= {"machine": where(versions), "program": str(args.binary.parent.name)}
            path.write_text(json.dumps(stored) + "\n")
            (RESULTS / "classes.md").write_text(page(stored))


if __name__ == "__main__":
    main()
