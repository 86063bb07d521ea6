"""The report and the figures of models that predict a number, in a real browser and against front.parquet.

Screenshots go to the folder of FAIRFRONT_SCREENSHOTS, where it is set.
"""

import json
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
REGIONS = {"north": 3000, "south": -4000, "east": 0, "west": -9000}
# Words about decisions, which do not apply to predicted numbers.
DECISIONS = re.compile(
    r"false (positive|negative)|selection rate|labeled|refused|decision|decides|threshold|probabilit|"
    r"reliab|of 100 people|accuracy|percentage point|\bnull\b|NaN|undefined|Infinity",
    re.IGNORECASE,
)


def salaries(rows, seed=4):
    """Return salaries in euros that differ between four regions and between women and men."""
    rng = np.random.default_rng(seed)
    region = rng.choice(list(REGIONS), rows, p=[0.4, 0.3, 0.2, 0.1])
    man = rng.random(rows) < 0.5
    education = rng.integers(8, 20, rows) + man
    experience = rng.gamma(3, 4, rows).round(1)
    shift = np.array([REGIONS[name] for name in region])
    salary = 18_000 + 1_800 * education + 550 * experience + shift + 2_500 * man
    salary = salary + rng.normal(0, 7_000, rows)
    return pd.DataFrame(
        {
            "region": region,
            "sex": np.where(man, "M", "F"),
            "education": education,
            "experience": experience,
            "rent": (600 + 0.004 * salary + shift / 20 + rng.normal(0, 100, rows)).round(),
            "salary": salary.round(2),
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
def pay(fairfront, tmp_path_factory):
    """Two attributes, one of them with four groups."""
    folder = tmp_path_factory.mktemp("pay")
    salaries(4000).to_csv(folder / "salaries.csv", index=False)
    spec = ["--target", "salary", "--sensitive", "region", "--sensitive", "sex", "--models", 40]
    return Report(fairfront, folder / "run", folder / "salaries.csv", *spec)


def sentence(price):
    text = price["sentence"]
    return f"{text[0].upper()}{text[1:]}."


def texts(it):
    """Return the text of the page without names from the table, and all titles and labels."""
    script = (
        "() => [...document.querySelectorAll('[title], [aria-label]')]"
        ".map(e => `${e.title} ${e.getAttribute('aria-label') ?? ''}`).join('\\n')"
    )
    return it.page.inner_text("body") + it.page.evaluate(script)


def test_nothing_is_about_decisions(pay, browser):
    with Opened(browser, pay.path) as it:
        # The radio button that selects the model with the lowest error.
        text = texts(it).replace("the most accurate", "")
        found = [text[max(m.start() - 60, 0) : m.end() + 60] for m in DECISIONS.finditer(text)]
        assert found == []
        header = it.page.inner_text("header")
        assert "Each model predicts the number salary" in header
        assert "RMSE, in salary" in header and "Mean difference (region), in salary" in header


def test_it_opens_at_a_measurably_fairer_model(pay, browser):
    names = ["mean_difference(region)", "mean_difference(sex)"]
    high = pay.table[[f"validation.{name}.change_high" for name in names]]
    assert (high < 0).any(axis=1).any()
    with Opened(browser, pay.path) as it:
        assert it.chosen is not None and (high.loc[it.chosen] < 0).any()
        expected = pay.select("--model-id", it.chosen)["price"]
        assert it.price == sentence(expected)
        assert "RMSE from" in it.price or "change in the RMSE" in it.price
        assert re.search(r"from \d+,\d{3} to", it.price), it.price
        own = expected["performance"]
        assert own["low"] <= own["to"] - own["from"] <= own["high"]
        assert "with 95% intervals" in it.page.inner_text(".choice .price")
        # The axes are in the unit of the target.
        axes = [it.page.get_by_label(f"{name} axis", exact=True).input_value() for name in ("Vertical", "Horizontal")]
        assert axes == ["rmse", "mean_difference(region)"]


def number(text):
    return float(text.replace(",", "").removesuffix("%"))


def test_numbers_are_those_of_the_front(pay, browser):
    scale = pay.info["meaning"]["target"]["number"]["scale"]
    assert 1e4 < scale < 1e5
    with Opened(browser, pay.path) as it:
        found = it.page.eval_on_selector_all(
            ".choice [data-column], #detail [data-column]",
            "all => all.map(e => [e.dataset.column, e.textContent])",
        )
        assert {"test.rmse", "train.mae", "test.r2", "validation.mean_residual"} <= {c for c, _ in found}
        for column, text in found:
            in_unit = not column.split(".")[1].startswith(("r2", "distribution", "mean_distribution"))
            tolerance = 0.5 if in_unit else 5e-5
            value = pay.table[column][it.chosen]
            assert number(text) == pytest.approx(value, abs=tolerance * 1.001), column
        for attribute, groups in (("region", sorted(REGIONS)), ("sex", ["F", "M"])):
            block = it.page.locator(".attribute", has_text=f"By {attribute}, in salary")
            shown = block.first.inner_text()
            for group in groups:
                for kind in ("mean_prediction", "mean_target", "mean_residual", "rmse", "mae"):
                    value = pay.table[f"test.{kind}({attribute}={group})"][it.chosen]
                    assert f"{value:,.0f}".replace("-0", "0") in shown, (kind, group)
        # A mean prediction of a group, and its difference from the mean of the target.
        west = pay.table.loc[it.chosen, [f"test.mean_{k}(region=west)" for k in ("prediction", "target")]]
        off = f"{abs(west.iloc[0] - west.iloc[1]):,.0f}"
        side = "above" if west.iloc[0] > west.iloc[1] else "below"
        people = it.page.inner_text(".people")
        assert f"For region = west, the mean prediction is {west.iloc[0]:,.0f} (" in people
        assert f"{off} {side} the mean of salary, {west.iloc[1]:,.0f}" in people


def test_a_requirement_is_met_as_select_meets_it(pay, browser):
    with Opened(browser, pay.path) as it:
        for bound in ("5000", "1,000", "2"):
            field = it.page.get_by_label("Mean difference (region): at most, an exact number")
            field.fill(bound.replace(",", ""))
            field.press("Enter")
            require = f"mean_difference(region) <= {bound.replace(',', '')}"
            meets = pay.table["validation.mean_difference(region)"] <= number(bound)
            if not meets.any():
                assert "comes nearest" in it.page.inner_text(".problem[role=alert]")
                continue
            assert it.chosen == pay.table.loc[meets, "validation.rmse"].idxmin()
            expected = pay.chosen_on_validation(require)
            assert it.chosen == expected["model_id"] and it.price == sentence(expected["price"])


def test_downloads_match_files_of_the_command(pay, browser, tmp_path):
    with Opened(browser, pay.path) as it:
        for model_id in (1, pay.info["models"]):
            it.page.goto(pay.path.as_uri() + f"#model-id={model_id}")
            with it.page.expect_download() as got:
                it.page.click("#download-model")
            path, own = tmp_path / f"page-{model_id}.json", tmp_path / f"own-{model_id}.json"
            got.value.save_as(path)
            pay.fairfront("select", pay.folder, "--model-id", model_id, "--model", own)
            assert path.read_bytes() == own.read_bytes()
        with it.page.expect_download() as got:
            it.page.click("#download-front")
        got.value.save_as(tmp_path / "front.csv")
        assert (tmp_path / "front.csv").read_bytes() == pay.fairfront("show", pay.folder, "--csv")
        it.requests = it.requests[:1]


def test_coefficients_are_in_the_unit_of_the_target(pay, browser):
    with Opened(browser, pay.path) as it:
        unit = pay.info["meaning"]["target"]["number"]
        params = pay.table["params"][it.chosen]
        names = pay.info["features"]
        shown = it.page.inner_text(".weights table")
        # The last parameter is the intercept.
        assert f"{unit['center'] + unit['scale'] * params[-1]:,.1f}" in shown
        strongest = int(np.argmax(np.abs(params[:-1])))
        assert names[strongest] in shown and f"{unit['scale'] * params[strongest]:,.1f}" in shown
        assert "Coefficients are in salary" in it.page.inner_text(".weights")


def test_distributions_are_those_of_the_rows(fairfront, browser, tmp_path):
    """The stored shares of the target agree with pandas; those of predictions, with the measures."""
    table = salaries(1500, seed=5)
    table.to_csv(tmp_path / "salaries.csv", index=False)
    spec = ["--target", "salary", "--sensitive", "region", "--split", "100/0/0", "--models", 8]
    report = Report(fairfront, tmp_path / "run", tmp_path / "salaries.csv", *spec)
    unit = report.info["meaning"]["target"]["number"]
    thresholds = unit["center"] + unit["scale"] * np.array(unit["thresholds"])
    assert len(thresholds) == 32
    shares = report.info["target_shares"]
    assert list(shares) == ["all", *(f"region={name}" for name in sorted(REGIONS))]
    for name, own in shares.items():
        salary = table["salary"] if name == "all" else table.query("region == @name[7:]")["salary"]
        # Thresholds are quantiles, so that a value may equal one of them up to rounding.
        expected = [(salary <= t * (1 + 1e-12)).mean() for t in thresholds]
        assert own == pytest.approx(expected, abs=1e-12)
    columns = {
        name: report.table[[f"distribution.{i:02}(region={name})" for i in range(1, 33)]].to_numpy()
        for name in REGIONS
    }
    stacked = np.stack(list(columns.values()))
    largest = np.ptp(stacked, axis=0).max(axis=1)
    assert largest == pytest.approx(report.table["train.distribution_difference(region)"], abs=1e-9)
    with Opened(browser, report.path, "#model-id=1") as it:
        labels = it.page.eval_on_selector_all(
            ".distribution .surface", "all => all.map(e => e.getAttribute('aria-label'))"
        )
        assert len(labels) == 2
        for name in REGIONS:
            assert f"{name} {round(100 * columns[name][0][16])}%" in labels[0]
        intro = it.page.locator("#detail .intro", has_text="at one of 32 quantiles").inner_text()
        assert "on training rows" in intro and "Dashed lines show the target itself" in intro


def test_it_fits_a_phone_and_passes_axe(pay, browser):
    if not AXE.is_file():
        absent("axe-core is not installed; run npm ci in crates/fairfront-report/web")
    shots = os.environ.get("FAIRFRONT_SCREENSHOTS")
    for scheme, viewport in (("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE)):
        with Opened(browser, pay.path, viewport=viewport, color_scheme=scheme) as it:
            it.page.wait_for_timeout(200)
            if shots:
                Path(shots).mkdir(parents=True, exist_ok=True)
                path = Path(shots) / f"number-{scheme}-{viewport['width']}.png"
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


def rejected(fairfront, *args):
    """Return the error message of a command with wrong arguments."""
    done = fairfront.run(*args)
    assert done.returncode == 2
    return done.stderr.decode()


def test_figures_show_distributions_by_group(pay, fairfront, tmp_path):
    drawn = fairfront("report", pay.folder, "--figures", "--model-id", 7).decode().split()
    names = [Path(path).name for path in drawn]
    assert {"front.svg", "distribution-1-region.svg", "distribution-2-sex.svg"} <= set(names)
    svg = (pay.folder / "figures/distribution-1-region.svg").read_text()
    for part in ("(a) unmitigated model", "(b) model 7", "west", "salary", "dashed: the target itself"):
        assert part in svg
    # Each group has a line for predictions and one for the target, in both panels.
    assert svg.count("<path d=") > 16
    assert not DECISIONS.search(" ".join(re.findall(r">([^<]+)<", svg)))
    trade_off = next(path for path in drawn if "trade-off-1" in path)
    text = " ".join(re.findall(r">([^<]+)<", Path(trade_off).read_text()))
    assert "mean predictions by group" in text and not DECISIONS.search(text)
    unknown = rejected(fairfront, "report", pay.folder, "--figures", "--model-id", 999)
    assert "the front has no such model" in unknown


def test_binary_runs_have_no_distributions(fairfront, tmp_path):
    folder = tmp_path / "run"
    fairfront("fit", "demo(rows=500)", "--sensitive", "sex", "--out", folder, "--quiet")
    assert "target_shares" not in json.loads((folder / "run.json").read_text())
    problem = rejected(fairfront, "report", folder, "--figures", "--model-id", 1)
    assert "only figures of predicted numbers and classes show a single model" in problem
