"""The paper's experiments with small budgets; pandas and scipy recompute their numbers."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

EXPERIMENTS = [
    "tables",
    "adult-gender",
    "adult-race",
    "profiles",
    "compas-opportunity",
    "adult-two-attributes",
    "compas-two-measures",
    "streaming",
    "tuning",
    "figures",
]


def program(fairfront):
    """The program of the experiments, in the same folder as the command."""
    binary = fairfront.binary.with_name("fairfront-reproduce")
    if not binary.is_file():
        pytest.fail(f"{binary}: does not exist; run cargo build -p fairfront-reproduce")
    return binary


def reproduce(fairfront, *args, **environment):
    """The finished process. Even small budgets take longer than other commands."""
    command = [program(fairfront), *map(str, args)]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=1200, check=False)


def claims(found, experiment):
    """The claims of an experiment, by their text."""
    (finding,) = [f for f in found["findings"] if f["experiment"] == experiment]
    return {claim["paper"]: claim for claim in finding["claims"]}


@pytest.fixture(scope="module")
def synthetic(fairfront, tmp_path_factory):
    """The experiments that need no published data."""
    out = tmp_path_factory.mktemp("synthetic") / "out"
    nowhere = str(out.parent)
    done = reproduce(fairfront, "--quick", "--out", out, FAIRFRONT_DATA=nowhere)
    assert done.returncode == 0, done.stderr
    return out, done


@pytest.fixture(scope="module")
def all_of_it(fairfront, data, tmp_path_factory):
    """All experiments."""
    out = tmp_path_factory.mktemp("all") / "out"
    done = reproduce(fairfront, "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    return out, done


def columns(fairfront, run):
    """The front of a run."""
    front = pd.read_csv(pd.io.common.BytesIO(fairfront("show", run, "--csv")))
    return front[front["model_id"] != "unmitigated"]


def timeless(found):
    """The results without CPU times and the command."""
    found["command"] = None
    for finding in found["findings"]:
        for taken in finding["times"]:
            taken["cpu_seconds"] = None
        finding["claims"] = [c for c in finding["claims"] if "CPU" not in c["measured"]]
        for sheet in finding["sheets"]:
            rows = [dict(zip(sheet["header"], row, strict=True)) for row in sheet["rows"]]
            rows = [row for row in rows if row.get("indicator") != "CPU seconds per model"]
            sheet["rows"] = [{k: v for k, v in row.items() if k != "CPU s"} for row in rows]
    return found


def test_the_help_lists_all_experiments(fairfront):
    done = reproduce(fairfront, "--help")
    assert done.returncode == 0
    assert re.findall(r"^  ([a-z-]+)  +\w", done.stdout, re.MULTILINE) == EXPERIMENTS
    assert reproduce(fairfront, "--nonsense").returncode == 2


def test_experiments_without_data_are_skipped(synthetic):
    out, done = synthetic
    for experiment in EXPERIMENTS:
        skipped = f"skipped {experiment}, which needs" in done.stderr
        assert skipped == (experiment not in ("profiles", "figures"))
    found = json.loads((out / "reproduction.json").read_text())
    assert [finding["experiment"] for finding in found["findings"]] == ["profiles", "figures"]
    assert "2 synthetic data sets" in found["findings"][0]["setting"]


def test_finished_jobs_are_not_repeated(fairfront, synthetic):
    out, _ = synthetic

    def files():
        # The lock contains the process id.
        return {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != "lock"}

    before = files()
    nowhere = str(out.parent)
    again = reproduce(fairfront, "--quick", "--out", out, FAIRFRONT_DATA=nowhere)
    assert "0 jobs to run; 10 already finished" in again.stderr
    assert before == files()


def test_a_killed_process_can_be_resumed(fairfront, synthetic, tmp_path):
    whole, _ = synthetic
    out = tmp_path / "out"
    command = [program(fairfront), "--quick", "--threads", "1", "--out", str(out)]
    environment = os.environ | {"FAIRFRONT_DATA": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(list(out.glob("runs/synthetic/seed-*/*.json"))) < 3 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    # Corrupted results are repeated: a record, a run, and a run that does not match its record.
    first, second, third = sorted(out.glob("runs/synthetic/seed-*/*.json"))[:3]
    first.write_text(first.read_text()[:-20])
    (second.with_suffix("") / "run.json").write_text("{")
    shutil.rmtree(third.with_suffix(""))
    shutil.copytree(first.with_suffix(""), third.with_suffix(""))
    again = reproduce(fairfront, "--quick", "--out", out, FAIRFRONT_DATA=str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert int(re.search(r"(\d+) jobs to run", again.stderr).group(1)) >= 3
    assert not list(out.rglob("*-2"))
    found, expected = ((place / "reproduction.json").read_text() for place in (out, whole))
    assert timeless(json.loads(found)) == timeless(json.loads(expected))


def test_ctrl_c_keeps_finished_jobs(fairfront, tmp_path):
    out = tmp_path / "out"
    # Full budgets take long enough to be interrupted.
    command = [program(fairfront), "profiles", "--threads", "1", "--out", str(out)]
    environment = os.environ | {"FAIRFRONT_DATA": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        process.stderr.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command to resume" in printed
    assert not (out / "reproduction.md").exists()
    # Small budgets do not replace these results.
    quick = reproduce(fairfront, "profiles", "--quick", "--out", out, FAIRFRONT_DATA=str(tmp_path))
    assert quick.returncode == 2 and "contains experiments with full budgets" in quick.stderr


def test_a_folder_admits_one_process(fairfront, tmp_path):
    command = [program(fairfront), "profiles", "--threads", "1", "--out", str(tmp_path / "out")]
    environment = os.environ | {"FAIRFRONT_DATA": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        process.stderr.readline()
        second = reproduce(fairfront, "figures", "--out", tmp_path / "out", FAIRFRONT_DATA=str(tmp_path))
        process.kill()
    assert second.returncode == 1
    assert f"another process is using this folder (process {process.pid})" in second.stderr


def test_outdated_figures_are_removed(fairfront, tmp_path):
    out = tmp_path / "out"
    assert reproduce(fairfront, "figures", "--out", out).returncode == 0
    # A figure of an earlier version, and one from the user.
    found = json.loads((out / "reproduction.json").read_text())
    found["findings"][0]["figures"].append({"name": "old", "caption": ""})
    (out / "reproduction.json").write_text(json.dumps(found))
    for name in ("old.svg", "own.svg"):
        (out / "figures" / name).write_text("<svg/>")
    assert reproduce(fairfront, "figures", "--out", out).returncode == 0
    names = {path.name for path in (out / "figures").iterdir()}
    assert names == {"how-pf-smg-moves-a-front.svg", "what-hypervolume-measures.svg", "own.svg"}


@pytest.mark.parametrize("settings", [None, "{}"])
def test_folders_with_foreign_files_are_rejected(fairfront, tmp_path, settings):
    (tmp_path / "figures").mkdir()
    files = {"figures/mine.svg": "<svg/>", "reproduction.md": "mine", "notes.txt": ""}
    files |= {"settings.json": settings} if settings else {}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = reproduce(fairfront, "figures", "--out", tmp_path)
    assert done.returncode == 2 and "with --out" in done.stderr
    found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == files


def test_corrupted_data_are_an_error(fairfront, data, tmp_path):
    (tmp_path / "adult.data").write_bytes((data / "adult.data").read_bytes()[:100_000])
    shutil.copy(data / "adult.test", tmp_path)
    for args in (["tables"], []):
        done = reproduce(fairfront, *args, "--out", tmp_path / "out", FAIRFRONT_DATA=str(tmp_path))
        assert done.returncode == 1 and "100,000 bytes" in done.stderr, done.stderr


def test_families_of_problems_have_their_own_winners(all_of_it):
    """Shares of all problems are the weighted means of those of the three kinds."""
    out, _ = all_of_it
    sheet = pd.read_csv(out / "profiles/indicators.csv")
    kinds = sheet[["synthetic", "Adult, gender", "Adult, race"]].apply(lambda c: c.str.removesuffix("%").astype(float))
    best = sheet["best on"].str.removesuffix("%").astype(float)
    # There are two problems of each kind.
    assert np.allclose(kinds.mean(axis=1), best, atol=1)


def test_profiles_agree_with_their_runs(fairfront, synthetic):
    """Gradients per model and dominated models, recomputed from the runs and their fronts."""
    out, _ = synthetic
    sheet = pd.read_csv(out / "profiles/indicators.csv")
    for solver, name in [("pf-smg-paper", "PF-SMG, the paper's settings"), ("eps-fair", "EPS-fair: warm starts")]:
        runs = [json.loads((out / f"runs/synthetic/seed-{seed}/{solver}/run.json").read_text()) for seed in (0, 1)]
        by_point = [sum(run["counters"]["gradient_evaluations"]) / run["models"] for run in runs]
        row = sheet[sheet.solver.str.startswith(name) & (sheet.indicator == "gradients per model")].iloc[0]
        assert float(row["median"]) == pytest.approx(np.median(by_point), abs=6e-4)
    found = json.loads((out / "reproduction.json").read_text())
    claim = claims(found, "profiles")["70–80% of EPS-fair's models are dominated."]
    shares = []
    for seed in (0, 1):
        run = json.loads((out / f"runs/synthetic/seed-{seed}/eps-fair-paper/run.json").read_text())
        subproblems = run["counters"]["subproblems"]
        left_out = subproblems["dominated"] + subproblems["copies"]
        shares.append(100 * left_out / (left_out + run["models"]))
    assert claim["measured"].startswith(f"{np.mean(shares):.1f} ± {np.std(shares, ddof=1):.1f}%")


def test_tables_match_the_published_files(all_of_it, adult, compas):
    out, _ = all_of_it
    rows = adult.dropna()
    assert len(rows) == 45_222
    for name, column in [("adult-gender", "sex"), ("adult-race", "race")]:
        sheet = pd.read_csv(out / f"tables/{name}.csv", index_col="group")
        counts = pd.crosstab(rows[column], rows["income"])
        assert sheet["≤ 50K"].to_dict() == counts["<=50K"].to_dict()
        assert sheet["> 50K"].to_dict() == counts[">50K"].to_dict()
    kept = compas[
        compas.days_b_screening_arrest.between(-30, 30)
        & (compas.is_recid != -1)
        & (compas.c_charge_degree != "O")
        & compas.race.isin(["African-American", "Caucasian"])
    ]
    sheet = pd.read_csv(out / "tables/compas-race.csv", index_col="group")
    counts = pd.crosstab(kept.race, kept.two_year_recid)
    assert sheet["reoffend"].to_dict() == counts[1].to_dict()
    assert sheet["do not reoffend"].to_dict() == counts[0].to_dict()


def spread(numbers, decimals):
    """Mean and standard deviation in the format of the page."""
    text = f"{np.mean(numbers):.{decimals}f} ± {np.std(numbers, ddof=1):.{decimals}f}"
    return text.replace("-", "−")


def test_correlations_match_scipy(fairfront, all_of_it):
    out, _ = all_of_it
    found = json.loads((out / "reproduction.json").read_text())
    of = {name: [] for name in ("conflict", "paper", "gap", "female")}
    for seed in (0, 1):
        exact = columns(fairfront, out / f"runs/adult-gender/seed-{seed}/ours")
        paper = columns(fairfront, out / f"runs/adult-gender/seed-{seed}/pf-smg-paper")
        f1, f2 = "test.objective.log_loss", "test.objective.score_covariance(sex)"
        of["conflict"].append(spearmanr(exact[f1], exact[f2])[0])
        of["paper"].append(spearmanr(paper[f1], paper[f2])[0])
        of["gap"].append(spearmanr(exact[f2], exact["test.demographic_parity_difference(sex)"])[0])
        of["female"].append(spearmanr(paper[f2], paper["test.selection_rate(sex=Female)"])[0])
    measured = {paper: claim["measured"] for paper, claim in claims(found, "adult-gender").items()}
    conflict = measured["Accuracy and fairness conflict: as f1 falls, f2 rises."]
    assert f"{spread(of['paper'], 3)} with PF-SMG, {spread(of['conflict'], 3)} on the exact front" in conflict
    assert f"{spread(of['gap'], 3)} on the exact front" in measured["The demographic parity difference rises with f2."]
    (outcomes,) = [text for paper, text in measured.items() if paper.startswith("As f2 falls")]
    assert spread(of["female"], 3) in outcomes


def test_costs_match_the_fronts(fairfront, all_of_it):
    """The most accurate model of all and of the nearly fair ones, from the tables of the fronts."""
    out, _ = all_of_it
    sheet = pd.read_csv(out / "adult-gender/seeds.csv")
    for seed in (0, 1):
        run = out / f"runs/adult-gender/seed-{seed}/ours"
        front = columns(fairfront, run)
        unmitigated = json.loads((run / "run.json").read_text())["unmitigated"]["values"]
        f2, gap = "objective.score_covariance(sex)", "test.demographic_parity_difference(sex)"
        fair = front[front[f2] <= 0.01 * unmitigated[f2]]
        best, best_fair = front["test.accuracy"].max(), fair["test.accuracy"].max()
        row = sheet[(sheet.seed == seed) & (sheet.front == "ours")].iloc[0]
        assert float(row["accuracy"]) == pytest.approx(best, abs=6e-5)
        assert float(row["cost, percentage points"]) == pytest.approx(100 * (best - best_fair), abs=6e-3)
        gaps = fair.loc[fair["test.accuracy"] == best_fair, gap]
        assert any(float(row["difference, nearly fair"]) == pytest.approx(value, abs=6e-5) for value in gaps)


def test_compas_matches_the_papers_rates(all_of_it):
    """Small budgets are enough for the ends of our fronts, which have the paper's rates."""
    out, _ = all_of_it
    sheet = pd.read_csv(out / "compas-opportunity/ends.csv")
    ours = sheet[(sheet.front == "ours") & (sheet["race as a feature"] == "with")]
    rates = {row.center: [float(v) for v in row["zero covariance"].split(" / ")] for _, row in ours.iterrows()}
    assert rates["all rows"] == pytest.approx([0.285, 0.231], abs=0.003)
    assert rates["rows with Y = +1"] == pytest.approx([0.284, 0.283], abs=0.003)


def test_the_pages_show_all_results(all_of_it):
    out, done = all_of_it
    found = json.loads((out / "reproduction.json").read_text())
    assert [finding["experiment"] for finding in found["findings"]] == EXPERIMENTS
    page, appendix = ((out / name).read_text() for name in ("reproduction.md", "reproduction-tables.md"))
    assert all("Small budgets" in text for text in (page, appendix, done.stdout))
    drawn = set(re.findall(r"\]\(figures/([^)]*)\.svg\)", page + appendix))
    assert drawn == {path.stem for path in (out / "figures").glob("*.svg")}
    for path in (out / "figures").glob("*.svg"):
        picture = ElementTree.parse(path).getroot()
        assert float(picture.get("width")) <= 1100
        labels = [label for label in picture.itertext() if label.strip()]
        assert len(labels) > 10 and not any("nan" in label.lower() for label in labels)
    for finding in found["findings"]:
        for claim in finding["claims"]:
            assert page.count(claim["paper"].replace("|", "\\|")) == 2
            assert claim["paper"] in done.stdout
        for sheet in finding["sheets"]:
            table = pd.read_csv(out / finding["experiment"] / f"{sheet['name']}.csv", dtype=str, keep_default_na=False)
            assert table.to_numpy().tolist() == sheet["rows"]
            assert sheet["caption"] in appendix
            for row in sheet["rows"]:
                assert "| " + " | ".join(row).replace("*", "\\*") + " |" in appendix


def test_tables_have_every_batch_and_combination(all_of_it):
    out, _ = all_of_it
    volumes = pd.read_csv(out / "streaming/volumes.csv")
    exact = volumes[volumes.solver == "ours"]
    assert exact["rows"].tolist() == ["2000", "4000", "6000", "45222, from scratch"]
    shares = exact.hypervolume.str.removesuffix("%").astype(float)
    assert shares.is_monotonic_increasing and shares.iloc[-1] == 100.0
    grid = pd.read_csv(out / "tuning/grid.csv")
    assert len(grid) == 4 and (grid.iloc[:, -1].fillna("").str.contains("chosen")).sum() == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["adult-gendre"], 2, '"adult-gendre" is not an experiment'),
        (
            ["tables"],
            1,
            "tables needs adult:sex and compas:race; run `fairfront data get adult:sex`",
        ),
        (["--threads", "0"], 2, "choose at least 1"),
        (["--docs", "nowhere"], 2, "not a folder"),
        (["--docs", ".", "--quick"], 2, "remove --quick"),
        (["figures", "--docs", "."], 2, "needs all experiments"),
        (["figures", "--out", "file"], 1, "already exists and is not a folder"),
    ],
)
def test_errors_name_problem_and_remedy(fairfront, tmp_path, monkeypatch, args, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    out = [] if "--out" in args else ["--out", "out"]
    done = reproduce(fairfront, *args, *out, FAIRFRONT_DATA=str(tmp_path))
    assert done.returncode == code, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ") and message in last
