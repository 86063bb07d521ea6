"""The report and the figures of models that decide between classes, in a real browser and against front.parquet.

Screenshots go to the folder of FAIRFRONT_SCREENSHOTS, if it is set.
"""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import sync_playwright

from paged import BROWSER, DESKTOP, PHONE, QUIET, Opened, Report, absent

REPOSITORY = Path(__file__).resolve().parents[2]
AXE = REPOSITORY / "crates/fairfront-report/web/node_modules/axe-core/axe.min.js"
GRADES = ["low", "mid", "high"]
TRACKS = [">50K (high)", "Assoc, voc", "a]b", "x.y"]
# Words about decisions between two labels, or about predicted numbers.
BINARY = re.compile(
    r"false (positive|negative)|selected,|refused|labeled (positive|negative)|threshold|reliab|"
    r"decides whether|is selected|predicts the number|\bnull\b|NaN|undefined|Infinity|\[object",
    re.IGNORECASE,
)


def pupils(rows, seed=3):
    """Return pupils with ordered grades and with tracks, which differ between women and men."""
    rng = np.random.default_rng(seed)
    woman = rng.random(rows) < 0.5
    region = rng.choice(["north", "south", "east"], rows, p=[0.5, 0.3, 0.2])
    skill, score = rng.normal(size=rows), rng.normal(size=rows) + 0.5 * woman
    sum_ = 1.2 * skill + 0.5 * score - 0.7 * woman - 0.3 * (region == "east") + rng.normal(size=rows)
    # A track that is rarely decided.
    scores = np.stack([skill, score + 0.8 * woman, 0.3 * skill - score, np.full(rows, -0.5)], axis=1)
    track = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return pd.DataFrame(
        {
            "sex": np.where(woman, "F", "M"),
            "region": region,
            "skill": skill.round(3),
            "score": score.round(3),
            "grade": np.select([sum_ < -0.8, sum_ < 0.7], GRADES[:2], GRADES[2]),
            "track": np.array(TRACKS)[track],
        }
    )


@pytest.fixture(scope="module")
def browser():
    if not Path(BROWSER).is_file():
        absent("chromium is not installed; install it, or set FAIRFRONT_CHROMIUM to a browser")
    with sync_playwright() as p:
        found = p.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield found
        found.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("pupils") / "pupils.csv"
    pupils(3000).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def grades(fairfront, table):
    """Three ordered classes and two attributes."""
    spec = ["--target", "grade", "--order", ",".join(GRADES), "--sensitive", "sex", "--sensitive", "region"]
    return Report(fairfront, table.parent / "grades", table, *spec, "--drop", "track", "--models", 20)


@pytest.fixture(scope="module")
def tracks(fairfront, table):
    """Four classes with special characters in their names."""
    spec = ["--target", "track", "--sensitive", "sex", "--drop", "grade", "--models", 12]
    return Report(fairfront, table.parent / "tracks", table, *spec)


def texts(it):
    """Return the text of the page, and all titles and labels."""
    script = (
        "() => [...document.querySelectorAll('[title], [aria-label]')]"
        ".map(e => `${e.title} ${e.getAttribute('aria-label') ?? ''}`).join('\\n')"
    )
    return it.page.inner_text("body") + it.page.evaluate(script)


def test_nothing_is_about_two_labels(grades, tracks, browser):
    for report, said in ((grades, "3 ordered classes of grade"), (tracks, "4 classes of track")):
        with Opened(browser, report.path) as it:
            text = texts(it)
            found = [text[max(m.start() - 60, 0) : m.end() + 60] for m in BINARY.finditer(text)]
            assert found == []
            assert f"Each model decides between {said}" in it.page.inner_text("header")


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_decisions_by_class_are_those_of_the_front(grades, tracks, browser, split):
    for report, classes, n_groups in ((grades, GRADES, 5), (tracks, TRACKS, 2)):
        with Opened(browser, report.path, f"#model-id=4&rows={split}") as it:
            found = it.page.eval_on_selector_all(
                ".confusion [data-decisions]", "all => all.map(e => [e.dataset.decisions, e.textContent])"
            )
            assert len(found) == n_groups * len(classes) ** 2
            for column, text in found:
                of = next(c for c in classes if column.startswith(f"{split}.decisions[{c}>"))
                group = column[column.rindex("](") + 1 :]
                rows = sum(report.table.loc[4, f"{split}.decisions[{of}>{c}]{group}"] for c in classes)
                expected = report.table.loc[4, column] / rows
                assert float(text.removesuffix("%")) / 100 == pytest.approx(expected, abs=0.00501)


def test_numbers_are_those_of_the_front(grades, browser):
    with Opened(browser, grades.path, "#model-id=2") as it:
        found = it.page.eval_on_selector_all(
            ".choice [data-column], #detail [data-column]", "all => all.map(e => [e.dataset.column, e.textContent])"
        )
        columns = {column for column, _ in found}
        assert {"test.accuracy", "train.macro_f1", "test.recall[high]", "test.selection_rate[mid]"} <= columns
        assert "validation.equalized_odds_difference(region)" in columns
        for column, text in found:
            value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
            assert value == pytest.approx(grades.table.loc[2, column], abs=0.000501), column


def test_groups_are_described_in_people(grades, browser):
    with Opened(browser, grades.path, "#model-id=3") as it:
        people = it.page.inner_text(".people")
        for column, said in (
            ("selection_rate[high](sex=F)", "Of 100 people with sex = F, {} are decided at least high ({} to {})"),
            ("recall[mid](sex=M)", "Of 100 people with sex = M labeled mid, {} are decided mid ({} to {})"),
        ):
            ends = [f"test.{column}{end}" for end in ("", ".low", ".high")]
            assert said.format(*(f"{100 * v:.0f}" for v in grades.table.loc[3, ends])) in people
        # Every decision is at least low.
        assert "at least low" not in people
        block = it.page.locator(".attribute", has_text="By sex").first.inner_text()
        for title in ("Share decided at least mid", "Recall of low", "Decisions by class"):
            assert title in block


def test_requirements_name_classes(tracks, browser):
    column = "recall[Assoc, voc](sex=F)"
    bound = float(tracks.table[f"validation.{column}"].quantile(0.7).round(4))
    with Opened(browser, tracks.path) as it:
        it.page.get_by_label("Add a requirement on another measure").select_option(column)
        field = it.page.get_by_label("Recall of Assoc, voc (sex=F): at least, an exact number")
        field.fill(str(bound))
        field.press("Enter")
        meets = tracks.table[f"validation.{column}"] >= bound
        assert it.chosen == tracks.table.loc[meets, "validation.accuracy"].idxmax()
        expected = tracks.chosen_on_validation(f'recall["Assoc, voc"](sex=F) >= {bound}')
        assert it.chosen == expected["model_id"]
        it.page.wait_for_timeout(400)
        address = it.page.evaluate("location.hash")
    # The address selects the same model again.
    with Opened(browser, tracks.path, address) as it:
        assert it.chosen == expected["model_id"]


def test_axes_show_measures_of_classes(tracks, browser):
    with Opened(browser, tracks.path) as it:
        axis = it.page.get_by_label("Horizontal axis", exact=True)
        for measure in ("recall[a]b]", "selection_rate[x.y](sex=M)", "demographic_parity_difference[>50K (high)](sex)"):
            axis.select_option(measure)
            label = it.page.locator("#front-plot").get_attribute("aria-label")
            words = it.page.evaluate("id => document.querySelector(id).textContent", f'option[value="{measure}"]')
            assert words.lower() in label.lower()


def test_downloads_match_files_of_the_command(grades, tracks, browser, tmp_path):
    for report in (grades, tracks):
        with Opened(browser, report.path) as it:
            for model_id in (1, report.info["models"]):
                it.page.goto(report.path.as_uri() + f"#model-id={model_id}")
                with it.page.expect_download() as got:
                    it.page.click("#download-model")
                path, own = tmp_path / "page.json", tmp_path / "own.json"
                got.value.save_as(path)
                report.fairfront("select", report.folder, "--model-id", model_id, "--model", own, "--force")
                assert path.read_bytes() == own.read_bytes()
            with it.page.expect_download() as got:
                it.page.click("#download-front")
            got.value.save_as(tmp_path / "front.csv")
            assert (tmp_path / "front.csv").read_bytes() == report.fairfront("show", report.folder, "--csv")
            it.requests = it.requests[:1]


def test_each_class_has_its_own_coefficients(grades, browser):
    names = [*grades.info["features"], "high:(intercept)"]
    with Opened(browser, grades.path, "#model-id=1") as it:
        params = dict(zip(names, grades.table.loc[1, "params"], strict=True))
        for grade in GRADES:
            it.page.get_by_label("Score of the class").select_option(label=grade)
            mean = np.mean([params[f"{other}:skill"] for other in GRADES])
            row = it.page.locator(".coefficients tr", has_text="skill").inner_text()
            own = float(row.split()[1])
            assert own == pytest.approx(params[f"{grade}:skill"] - mean, rel=1e-3)


def test_it_fits_a_phone_and_passes_axe(grades, tracks, browser):
    if not AXE.is_file():
        absent("axe-core is not installed; run npm ci in crates/fairfront-report/web")
    shots = os.environ.get("FAIRFRONT_SCREENSHOTS")
    for name, report in (("grades", grades), ("tracks", tracks)):
        for scheme, viewport in (("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE)):
            with Opened(browser, report.path, viewport=viewport, color_scheme=scheme) as it:
                it.page.wait_for_timeout(200)
                if shots:
                    Path(shots).mkdir(parents=True, exist_ok=True)
                    path = Path(shots) / f"{name}-{scheme}-{viewport['width']}.png"
                    it.page.screenshot(path=path, full_page=True)
                assert it.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
                it.page.evaluate(AXE.read_text())
                found = it.page.evaluate("axe.run({ resultTypes: ['violations'] })")
                serious = [
                    f"{v['id']}: {v['help']} ({v['nodes'][0]['html'][:120]})"
                    for v in found["violations"]
                    if v["impact"] in ("serious", "critical")
                ]
                assert serious == []


def test_figures_show_decisions_by_group(grades, tracks, fairfront):
    drawn = fairfront("report", grades.folder, "--figures", "--model-id", 7).decode().split()
    names = {Path(path).name for path in drawn}
    assert {"front.svg", "decisions-1-sex.svg", "decisions-2-region.svg"} <= names
    assert not any(name.startswith("distribution") for name in names)
    svg = (grades.folder / "figures/decisions-1-sex.svg").read_text()
    for part in ("(a) unmitigated model", "(b) model 7", "share decided at least as high"):
        assert part in svg
    for group in "FM":
        share = grades.table.loc[7, f"test.selection_rate[high](sex={group})"]
        assert f"high, {group} {100 * share:.1f}%" in svg
    # Every decision is at least low.
    assert "low" not in re.sub(r"\blower\b", "", " ".join(re.findall(r">([^<]+)<", svg)))
    trade_off = next(path for path in drawn if "trade-off-1" in path)
    text = " ".join(re.findall(r">([^<]+)<", Path(trade_off).read_text()))
    assert re.search(r"share decided at least (mid|high) by group", text)
    fairfront("report", tracks.folder, "--figures")
    svg = (tracks.folder / "figures/decisions-1-sex.svg").read_text()
    assert "share of decisions" in svg and "Assoc, voc" in svg
