"""Certified choices compared with independent computations: counts by pandas, p-values by brute force and scipy.

Intervals are compared with a bootstrap in numpy; bench/choice.py measures their coverage.
"""

import itertools
import json

import numpy as np
import pytest
from fitted import Run
from scipy import optimize, stats

PARITY = "demographic_parity_difference(sex) <= 0.1"


@pytest.fixture(scope="module")
def hidden(fairfront, tmp_path_factory):
    """A run with certify rows."""
    folder = tmp_path_factory.mktemp("certify") / "run"
    spec = ["demo(rows=12000)", "--split", "40/10/30/20"]
    return Run(fairfront, folder, spec, ["error_rate", "demographic_parity(sex)"])


@pytest.fixture(scope="module")
def shown(fairfront, tmp_path_factory):
    """A run whose test rows certify."""
    folder = tmp_path_factory.mktemp("certify") / "shown"
    spec = ["demo(rows=12000)", "--split", "50/10/40"]
    return Run(fairfront, folder, spec, ["error_rate", "demographic_parity(sex)"])


def selected(fairfront, run, *args):
    return json.loads(fairfront("select", run.folder, *args, "--json"))


def decisions(run, split):
    """Return the rows of a split and the decisions of all models on them."""
    rows = run.rows[run.rows["split"] == split]
    params = np.array(run.table["params"].tolist())
    scores = rows[run.features].to_numpy(float) @ params[:, :-1].T + params[:, -1]
    return rows, scores >= 0


def score_test(x, n, limit):
    """Return Farrington and Manning's p-value of H: p_a - p_b >= limit; a search finds the restricted maximum."""
    rates = np.array(x) / np.array(n)

    def likelihood(p):
        return -(
            stats.binom.logpmf(x[0], n[0], np.clip(p, 0, 1))
            + stats.binom.logpmf(x[1], n[1], np.clip(p - limit, 0, 1))
        )

    found = optimize.minimize_scalar(
        likelihood, bounds=(max(limit, 0), min(1, 1 + limit)), method="bounded", options={"xatol": 1e-12}
    )
    p = np.array([found.x, found.x - limit])
    error = np.sqrt((p * (1 - p) / n).sum())
    return stats.norm.cdf((rates[0] - rates[1] - limit) / error)


def p_values(run, split, limit):
    """Return the p-value of each model, the largest over ordered pairs of groups."""
    rows, chosen = decisions(run, split)
    groups = [chosen[(rows["sex"] == group).to_numpy()] for group in sorted(rows["sex"].dropna().unique())]
    found = []
    for model in range(chosen.shape[1]):
        cells = [(group[:, model].sum(), len(group)) for group in groups]
        pairs = itertools.permutations(cells, 2)
        found.append(max(score_test((a[0], b[0]), (a[1], b[1]), limit) for a, b in pairs))
    return np.array(found)


def test_p_values_order_and_certified_models_are_recomputed(fairfront, hidden):
    said = selected(fairfront, hidden, "--require", PARITY)
    test = said["test"]
    assert (test["test"], test["stated"], test["use"], test["level"]) == ("score", "before", 1, 0.05)
    assert test["rows"]["split"] == "certify"
    on_order, on_certify = p_values(hidden, "validation", 0.1), p_values(hidden, "certify", 0.1)
    for tested in test["tested"]:
        # The likelihood is flat at its maximum, so the search finds it to half of the digits.
        assert tested["p_value"] == pytest.approx(on_certify[tested["model_id"] - 1], rel=1e-5, abs=1e-12)
        assert tested["order_p_value"] == pytest.approx(on_order[tested["model_id"] - 1], rel=1e-5, abs=1e-12)
    # Models that are nondominated in accuracy and p-value on validation rows, smallest p-value first.
    accuracy = hidden.table["validation.accuracy"].to_numpy()
    best = [
        m
        for m in range(len(accuracy))
        if not any(
            accuracy[o] >= accuracy[m]
            and on_order[o] <= on_order[m]
            and (accuracy[o], -on_order[o]) != (accuracy[m], -on_order[m])
            for o in range(len(accuracy))
        )
    ]
    order = sorted(best, key=lambda m: on_order[m])
    tested = [t["model_id"] - 1 for t in test["tested"]]
    # Only one of several models that are equal in both is tested.
    pairs = list(dict.fromkeys((on_order[m], accuracy[m]) for m in order))[: len(tested)]
    assert [(on_order[m], accuracy[m]) for m in tested] == pairs
    certified = list(itertools.takewhile(lambda m: on_certify[m] <= 0.05, tested))
    assert [m + 1 for m in sorted(certified)] == test["certified"] and certified
    assert said["model_id"] - 1 == max(certified, key=lambda m: accuracy[m])


def test_ratios_rates_and_accuracy(fairfront, hidden):
    rows, chosen = decisions(hidden, "certify")
    right = (chosen == (rows["label"].to_numpy()[:, None] > 0)).sum(axis=0)
    said = selected(fairfront, hidden, "--require", "accuracy >= 0.65")
    for tested in said["test"]["tested"]:
        expected = stats.binom.sf(right[tested["model_id"] - 1] - 1, len(rows), 0.65)
        assert tested["p_value"] == pytest.approx(expected, rel=1e-8, abs=1e-300)
    said = selected(fairfront, hidden, "--require", "selection_rate(sex=Female) >= 0.4")
    women = chosen[(rows["sex"] == "Female").to_numpy()]
    for tested in said["test"]["tested"]:
        expected = stats.binom.sf(women[:, tested["model_id"] - 1].sum() - 1, len(women), 0.4)
        assert tested["p_value"] == pytest.approx(expected, rel=1e-8, abs=1e-300)
    limit = 0.7
    said = selected(fairfront, hidden, "--require", f"demographic_parity_ratio(sex) >= {limit}")
    groups = [chosen[(rows["sex"] == group).to_numpy()] for group in ("Female", "Male")]
    for tested in said["test"]["tested"]:
        worst = 0
        for a, b in itertools.permutations(groups):
            x, n = [g[:, tested["model_id"] - 1].sum() for g in (a, b)], np.array([len(a), len(b)])

            def likelihood(p):
                return -stats.binom.logpmf(x[0], n[0], limit * p) - stats.binom.logpmf(x[1], n[1], p)

            p = optimize.minimize_scalar(likelihood, bounds=(1e-9, 1), method="bounded", options={"xatol": 1e-12}).x
            error = np.sqrt(limit * p * (1 - limit * p) / n[0] + limit**2 * p * (1 - p) / n[1])
            worst = max(worst, stats.norm.sf((x[0] / n[0] - limit * x[1] / n[1]) / error))
        assert tested["p_value"] == pytest.approx(worst, rel=1e-4, abs=1e-12)


def test_the_exact_test_agrees_with_clopper_and_pearson(fairfront, hidden):
    said = selected(fairfront, hidden, "--require", PARITY, "--exact")
    assert said["test"]["test"] == "exact"
    rows, chosen = decisions(hidden, "certify")
    groups = [chosen[(rows["sex"] == group).to_numpy()] for group in ("Female", "Male")]
    for tested in said["test"]["tested"]:
        worst = 0
        for a, b in itertools.permutations(groups):
            x, n = [g[:, tested["model_id"] - 1].sum() for g in (a, b)], [len(a), len(b)]

            def room(delta):
                upper = stats.beta.ppf(1 - delta / 2, x[0] + 1, n[0] - x[0])
                lower = stats.beta.ppf(delta / 2, x[1], n[1] - x[1] + 1)
                return upper - lower - 0.1

            found = 1.0 if room(1.0) > 0 else optimize.brentq(room, 1e-12, 1.0) if room(1e-12) > 0 else 0.0
            worst = max(worst, found)
        assert tested["p_value"] == pytest.approx(worst, abs=1e-8)


def test_uses_are_logged_and_spend_confidence(fairfront, shown):
    first = selected(fairfront, shown, "--require", PARITY)["test"]
    assert (first["test"], first["stated"], first["level"]) == ("band", "after-looking", 0.05)
    again = selected(fairfront, shown, "--require", PARITY)["test"]
    assert again == first
    other = selected(fairfront, shown, "--require", "accuracy >= 0.6")["test"]
    assert (other["use"], other["level"]) == (2, 0.025)
    assert fairfront.run("verify", shown.folder).returncode == 0
    certified = first["certified"]
    table = shown.table
    high = table["test.demographic_parity_difference(sex).band_high"]
    assert certified == [m + 1 for m in range(len(table)) if high[m] <= 0.1]


def test_a_requirement_before_the_fit_is_certified_and_stored_with_the_model(fairfront, tmp_path):
    run, model = tmp_path / "run", tmp_path / "model.json"
    table = "demo(rows=12000)"
    fairfront("fit", table, "--quiet", "--out", run, "--require", PARITY)
    info = json.loads((run / "run.json").read_text())
    assert info["certified"]["stated"] == "before" and info["certified"]["test"] == "score"
    said = json.loads(fairfront("select", run, "--require", PARITY, "--model", model, "--json"))
    assert said["test"] == info["certified"]
    stored = json.loads(model.read_text())["certificate"]
    assert stored == said["certificate"] and stored["verdict"] == "certified"
    fairfront("data", "export", "demo(rows=300, seed=9)", "-o", tmp_path / "new.csv")
    audit = fairfront("predict", model, tmp_path / "new.csv", "--audit").decode()
    assert "Requirements when this model was selected" in audit and "certified: " + PARITY in audit
    # Without a test, the verdict differs.
    fairfront("select", run, "--require", PARITY, "--confidence", "none", "--model", model, "--force")
    assert json.loads(model.read_text())["certificate"]["verdict"] == "not-certified"
    # The log stays if the run is replaced.
    fairfront("fit", table, "--quiet", "--out", run, "--force")
    lines = (run / "certificates.jsonl").read_text().splitlines()
    assert len(lines) == 1
    assert fairfront.run("verify", run).returncode == 0


def test_wrong_requests_are_rejected_and_change_nothing(fairfront, hidden, tmp_path):
    before = {path.name: path.read_bytes() for path in hidden.folder.iterdir()}
    wrong = [
        (2, "between 0 and 1", "--require", PARITY, "--confidence", "1"),
        (2, "between 0 and 1", "--require", PARITY, "--confidence", "-0.1"),
        (2, "between 0 and 1", "--require", PARITY, "--confidence", "high"),
        (2, "cannot be certified", "--require", "log_loss <= 0.6"),
        (2, "cannot be certified", "--require", "demographic_parity(sex) <= 0.6"),
        (2, "a requirement on test rows", "--require", "test.accuracy >= 0.6"),
        (2, "use <=", "--require", "demographic_parity_difference(sex) >= 0.6"),
        (2, "the run has no", "--require", "selection_rate(sex=Martian) >= 0.1"),
        (2, "--exact", "--require", PARITY, "--exact", "--confidence", "none"),
        (2, "--require", "--confidence", "0.9"),
        (4, "comes closest", "--require", "demographic_parity_difference(sex) <= 0.0001"),
        (3, "none of", "--require", "accuracy >= 0.999", "--confidence", "none"),
    ]
    for code, words, *args in wrong:
        done = fairfront.run("select", hidden.folder, *args)
        assert (done.returncode, words in done.stderr.decode()) == (code, True), done.stderr.decode()
    after = {path.name: path.read_bytes() for path in hidden.folder.iterdir()}
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed <= {"certificates.jsonl"}
    done = fairfront.run("fit", "demo(rows=40)", "--split", "97/1/1/1", "--out", tmp_path / "r", "--quiet")
    assert done.returncode != 0 and b"rows to certify on" in done.stderr
    done = fairfront.run("fit", "demo(rows=400)", "--split", "none", "--require", PARITY, "--out", tmp_path / "r")
    assert done.returncode == 2 and b"no rows to certify on" in done.stderr
    log = hidden.folder / "certificates.jsonl"
    text = log.read_text()
    log.write_text(text.replace('"use":1', '"use":7', 1))
    done = fairfront.run("select", hidden.folder, "--require", PARITY)
    assert done.returncode == 1 and b"was changed after it was written" in done.stderr
    assert fairfront.run("verify", hidden.folder).returncode == 1
    log.write_text(text)
    assert fairfront.run("verify", hidden.folder).returncode == 0


def test_a_group_without_certifying_rows_is_named(fairfront, tmp_path):
    rng = np.random.default_rng(3)
    lines = ["x,group,part,y"]
    for row in range(900):
        part = ("train", "train", "validation", "test")[row % 4]
        group = "abc"[row % 3] if part != "test" else "ab"[row // 4 % 2]
        x = rng.normal()
        lines.append(f"{x:.4f},{group},{part},{'yes' if x + rng.normal() > 0 else 'no'}")
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(lines) + "\n")
    spec = ["--target", "y", "--positive", "yes", "--sensitive", "group", "--split", "column:part"]
    args = ["fit", table, *spec, "--quiet", "--out", tmp_path / "r"]
    done = fairfront.run(*args, "--require", "demographic_parity_difference(group) <= 0.3")
    assert done.returncode == 4 and b"the test rows have no rows of group=c" in done.stderr
    # The run is written anyway.
    assert (tmp_path / "r" / "run.json").is_file()


def test_intervals_agree_with_a_bootstrap_in_numpy(shown):
    rows, chosen = decisions(shown, "test")
    rng = np.random.default_rng(0)
    sex = (rows["sex"] == "Female").to_numpy()
    label = rows["label"].to_numpy() > 0
    weights = rng.poisson(1, size=(1000, len(rows))).astype(float)
    of = lambda w, d: (w @ d) / w.sum(axis=1, keepdims=True)  # noqa: E731
    right = of(weights, (chosen == label[:, None]).astype(float))
    rate = chosen == label[:, None]
    error = rate.std(axis=0) / np.sqrt(len(rows))
    q = np.quantile(np.abs((right - rate.mean(axis=0)) / error).max(axis=1), 0.95)
    table = shown.table
    half = (table["test.accuracy.band_high"] - table["test.accuracy.band_low"]) / 2
    # The band is Wilson's interval with q instead of 1.96; with this many rows it is about ± q standard errors. Both
    # quantiles come from 1,000 replicates and have a standard error of about 3%.
    assert np.allclose(half, q * error, rtol=0.12)
    wilson = [stats.binomtest(int(k), len(rows)).proportion_ci(0.95, "wilson") for k in rate.sum(axis=0)]
    assert np.allclose(table[["test.accuracy.low", "test.accuracy.high"]], [(w.low, w.high) for w in wilson], rtol=1e-9)
    rates = [of(weights[:, s], chosen[s].astype(float)) for s in (sex, ~sex)]
    own = [chosen[s].mean(axis=0) for s in (sex, ~sex)]
    spread = np.sqrt(sum(r * (1 - r) / s.sum() for r, s in zip(own, (sex, ~sex))))
    signed = rates[0] - rates[1]
    q = np.quantile(np.abs((signed - (own[0] - own[1])) / spread).max(axis=1), 0.95)
    name = "test.demographic_parity_difference(sex)"
    assert np.allclose(table[f"{name}.band_high"] - table[name], q * spread, rtol=0.12)
    bias = np.abs(signed).mean(axis=0) - np.abs(own[0] - own[1])
    assert np.allclose(table[f"{name}.bias"], bias, atol=2e-3)
    change = np.abs(signed) - np.abs(signed[:, [int(table["objective.error_rate"].argmin())]])
    assert change.shape == signed.shape
    share = table["test.probability_nondominated"]
    better = [
        ((right >= right[:, [m]]) & (np.abs(signed) <= np.abs(signed[:, [m]]))
         & ((right > right[:, [m]]) | (np.abs(signed) < np.abs(signed[:, [m]])))).any(axis=1)
        for m in range(chosen.shape[1])
    ]
    expected = 1 - np.array(better).mean(axis=1)
    # Five standard errors of the difference between two shares of 1,000 replicates.
    assert np.allclose(share, expected, atol=0.12)


def test_a_stream_counts_uses_by_rows(fairfront, tmp_path):
    rows, state = tmp_path / "rows.csv", tmp_path / "state"
    fairfront("data", "export", "demo(rows=9000)", "-o", rows)
    spec = ["--target", "approved", "--positive", "yes", "--sensitive", "sex", "--drop", "split,race"]
    spec += ["--objective", "log_loss", "--objective", "score_covariance(sex)"]
    lines = rows.read_text().splitlines(keepends=True)
    parts = []
    for i, (start, end) in enumerate([(1, 5000), (5000, 9001)]):
        parts.append(tmp_path / f"part{i}.csv")
        parts[-1].write_text(lines[0] + "".join(lines[start:end]))
    fairfront("stream", state, parts[0], *spec, "--batch", "2000", "--models", "40", "--quiet", "--flush")
    first = json.loads(fairfront("select", state, "--require", "accuracy >= 0.5", "--json"))["test"]
    fairfront("stream", state, parts[1], "--quiet", "--flush")
    second = json.loads(fairfront("select", state, "--require", "accuracy >= 0.5", "--json"))["test"]
    # After more rows have arrived, the rows differ, and this is their first use.
    assert first["rows"]["fingerprint"] != second["rows"]["fingerprint"]
    assert first["use"] == second["use"] == 1
    assert len((state / "certificates.jsonl").read_text().splitlines()) == 2
    assert fairfront.run("verify", state).returncode == 0
