"""The page in a real browser: against front.parquet, `select`, `show --csv` and `predict`.

Screenshots go to the folder of FAIRFRONT_SCREENSHOTS, where it is set.
"""

import csv
import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from paged import BROWSER, DESKTOP, PHONE, QUIET, Opened, Report, absent

REPOSITORY = Path(__file__).resolve().parents[2]
AXE = REPOSITORY / "crates/fairfront-report/web/node_modules/axe-core/axe.min.js"
SPLITS = ["train", "validation", "test"]


@pytest.fixture(scope="module")
def browser():
    if not Path(BROWSER).is_file():
        absent("chromium is not installed; install it, or set FAIRFRONT_CHROMIUM to a browser")
    with sync_playwright() as p:
        found = p.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield found
        found.close()


@pytest.fixture(scope="module")
def demo(fairfront, tmp_path_factory):
    return Report(fairfront, tmp_path_factory.mktemp("demo") / "run", "demo(rows=4000)")


@pytest.fixture(scope="module")
def adult(fairfront, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adult") / "run"
    return Report(fairfront, folder, "adult:sex", "--solver", "trace", "--models", 60)


@pytest.fixture(scope="module")
def families(fairfront, tmp_path_factory):
    """Linear models and models from boosted trees on one front."""
    folder = tmp_path_factory.mktemp("families") / "run"
    report = Report(fairfront, folder, "demo(rows=2000)", "--family", "auto")
    assert set(report.table["family"]) == {"linear", "trees"}
    return report


def sentence(price):
    """As the page writes it: a sentence of its own."""
    text = price["sentence"]
    return f"{text[0].upper()}{text[1:]}."


def knee(values):
    """The point farthest below the plane through the extremes, values scaled to [0, 1]."""
    values = np.asarray(values, dtype=float)
    better = (values[:, None, :] <= values[None]).all(-1) & (values[:, None, :] < values[None]).any(-1)
    front = np.flatnonzero(~better.any(axis=0))
    own = values[front]
    low, high = own.min(axis=0), own.max(axis=0)
    own = (own - low) / np.where(high > low, high - low, 1)
    extremes = own[own.argmin(axis=0)]
    plane = np.ones(own.shape[1])
    if len(own) > 2 and abs(np.linalg.det(extremes)) > 1e-9:
        found = np.linalg.solve(extremes, plane)
        plane = found if (found > 0).all() else plane
    return front[(own @ plane).argmin()]


def test_it_opens_at_the_knee_of_measurably_fairer_models(demo, browser):
    fairer = np.flatnonzero(demo.fairer())
    assert 0 < len(fairer) < len(demo.table)
    judged = demo.table[[f"validation.{m}" for m in demo.info["judged"]["measures"][1:]]]
    judged = np.column_stack([1 - demo.table["validation.accuracy"], judged])
    with Opened(browser, demo.path) as it:
        assert it.chosen == demo.table.index[fairer[knee(judged[fairer])]]
        assert it.price == sentence(demo.select("--model-id", it.chosen)["price"])
        text = it.page.inner_text("header")
        rows = sum(demo.info["rows"].values())
        read = demo.info["dropped"]["read"]
        assert f"{demo.info['models']} models" in text and f"{rows:,} of {read:,} rows" in text
        for shown in ("approved", "yes", "sex", "race"):
            assert shown in text
        accuracy = 100 * demo.table["test.accuracy"]
        assert f"{accuracy.min():.1f}% to {accuracy.max():.1f}%" in text
        assert it.page.locator("#opening").count() == 0


def test_without_a_measurable_difference_it_opens_at_the_unmitigated_model(
    fairfront, browser, tmp_path
):
    report = Report(fairfront, tmp_path / "run", "demo(rows=500)", "--sensitive", "sex", "--seed", "8")
    assert not report.fairer().any()
    with Opened(browser, report.path) as it:
        assert it.chosen is None
        shown = it.page.inner_text("#opening")
        assert "so this table cannot tell the models apart" in shown
        assert it.page.is_hidden("#download-model")
        # A model is not compared with itself.
        intro = it.page.inner_text("#detail-intro")
        assert "the unmitigated model" in intro and "orange" not in intro
        assert it.page.locator(".attribute .bars .tick:visible").count() == 0
        assert "(" not in it.page.locator(".attribute .plain tbody").first.inner_text()
        accuracy = report.info["unmitigated"]["values"]["test.accuracy"]
        assert f"{100 * accuracy:.1f}%" in it.page.inner_text(".choice .own >> nth=0")
        # No model differs measurably in accuracy on test rows, and the axis says so.
        ends = [report.table[f"test.accuracy.change_{end}"] for end in ("low", "high")]
        assert ((ends[0] <= 0) & (ends[1] >= 0)).all()
        assert "Accuracy: the whole range is within noise" in it.page.inner_text("figcaption")
        it.page.locator("#models tbody button").first.click()
        assert it.chosen is not None and it.page.is_visible("#download-model")
        assert "no measurable change in accuracy" in it.price.lower()
        address = it.address
    with Opened(browser, report.path, f"#{address}") as it:
        assert it.chosen is not None
    with Opened(browser, report.path, "#unmitigated=") as it:
        assert it.chosen is None


def test_without_validation_or_test_rows_nothing_is_claimed(fairfront, browser, tmp_path):
    spec = ["demo(rows=900)", "--sensitive", "sex", "--split", "100/0/0"]
    report = Report(fairfront, tmp_path / "run", *spec)
    with Opened(browser, report.path, "#model-id=1") as it:
        assert "this run has no validation rows" in it.page.inner_text("#opening")
        price = it.page.inner_text(".choice .price")
        assert "on training rows, without intervals" in price and "measurable" not in price
        assert it.page.locator(".interval").count() == 0


def test_two_models_side_by_side(demo, browser):
    with Opened(browser, demo.path, "#model-id=3") as it:
        it.page.get_by_label("Compare with").select_option("model 7")
        heads = it.page.locator(".choice thead th").all_inner_texts()
        assert heads == ["model 3", "model 7"]
        both = it.page.locator(".choice tbody tr").first.locator("td").all_inner_texts()
        for text, model in zip(both, (3, 7), strict=True):
            own = [100 * demo.table[f"test.accuracy{end}"][model] for end in ("", ".low", ".high")]
            assert text.split() == f"{own[0]:.1f}% {own[1]:.1f}% to {own[2]:.1f}%".split()
        rate = demo.table["test.selection_rate(sex=Female)"]
        ends = [demo.table[f"test.selection_rate(sex=Female).{end}"][3] for end in ("low", "high")]
        assert it.page.locator(".people li").first.inner_text() == (
            f"Of 100 people with sex = Female, {100 * rate[3]:.0f} are selected "
            f"({100 * ends[0]:.0f} to {100 * ends[1]:.0f}); model 7: {100 * rate[7]:.0f}."
        )
        assert "with=7" in it.address


def test_requirements_have_verdicts(fairfront, browser, tmp_path):
    require = "demographic_parity_difference(sex) <= 0.08"
    report = Report(fairfront, tmp_path / "run", "demo", "--sensitive", "sex", "--require", require)
    certified = report.info["certified"]["certified"]
    column = "test.demographic_parity_difference(sex)"
    low, high = (report.table[f"{column}.band_{end}"] for end in ("low", "high"))
    assert certified
    others = [i for i in report.table.index if i not in certified]
    violated = [i for i in others if low[i] > 0.08]
    open_ = [i for i in others if low[i] <= 0.08 < high[i]]
    assert violated and open_

    def verdict(it):
        return it.page.inner_text(".choice .verdicts li")

    with Opened(browser, report.path, f"#model-id={certified[0]}") as it:
        assert verdict(it).startswith(f"certified {require} by score tests on")
        assert "certified by score tests" in it.page.inner_text("#detail .card")
        assert f"{len(certified)} of {len(report.table)} models certified" in it.page.inner_text(
            "#provenance"
        )
    with Opened(browser, report.path, f"#model-id={violated[0]}") as it:
        assert verdict(it).startswith(f"violated {require} the whole simultaneous 95% band")
    with Opened(browser, report.path, f"#model-id={open_[0]}") as it:
        assert verdict(it).startswith(f"not certified {require}")
    # Another limit has no certificate; the band decides.
    bound = round(float(high.min()) + 0.01, 3)
    text = f"demographic_parity_difference(sex) <= {bound}"
    address = f"#model-id={high.idxmin()}&require=" + quote(text)
    with Opened(browser, report.path, address) as it:
        assert verdict(it).startswith(f"certified {text} the simultaneous 95% band of all models")


def test_intervals_are_neither_axes_nor_requirements(demo, browser):
    with Opened(browser, demo.path) as it:
        texts = it.page.locator("option").all_inner_texts()
        assert len(texts) > 50
        assert not [t for t in texts if re.search(r"\.|band|probability", t)]


def test_a_reliability_curve_is_drawn_if_there_is_one(demo, browser, tmp_path):
    with Opened(browser, demo.path) as it:
        drawn = any(c.startswith(("reliability.", "test.reliability.")) for c in demo.table)
        assert (it.page.locator(".reliability").count() == 1) == drawn
    # These columns come before those of the run itself.
    html = demo.path.read_text()
    prefix = "test.reliability" if drawn else "reliability"
    bins = [
        {"name": f"{prefix}.{i:02}.{end}", "values": v, "unmitigated": v}
        for i in range(1, 11)
        for end, v in (("rows", 10 * i), ("predicted", i / 10 - 0.05), ("observed", i / 12))
    ]
    more = html.replace('"columns":[', '"columns":[' + json.dumps(bins)[1:-1] + ",", 1)
    (tmp_path / "page.html").write_text(more)
    with Opened(browser, tmp_path / "page.html") as it:
        shown = it.page.locator(".reliability .surface").get_attribute("aria-label")
        assert "5% predicted, 8% observed" in shown and shown.count("observed") == 10


def test_adult_opens(adult, browser):
    with Opened(browser, adult.path) as it:
        assert it.chosen is not None and adult.fairer()[it.chosen]
        # The sentence and the table below it are about the same rows.
        change = adult.select("--model-id", it.chosen)["price"]["performance"]
        assert change["column"] == "test.accuracy"
        assert f"{100 * change['to']:.1f}%" in it.page.inner_text(".choice .own >> nth=0")
        assert "proven for every model" in it.page.inner_text("#provenance")
        # Two objectives: the front shows both.
        assert it.page.locator("#views").count() == 0


def digits(column):
    """Percentages have one digit after the point, other numbers four."""
    return 0.500001e-3 if column.endswith(".accuracy") else 0.500001e-4


def test_numbers_are_those_of_the_front(demo, browser):
    with Opened(browser, demo.path) as it:
        for split in SPLITS:
            it.page.get_by_label(split, exact=True).check()
            model_id = it.chosen
            short = it.cells(".choice")
            assert {c.split(".")[0] for c, _, _ in short} == {split}
            for column, value, _ in short + it.cells("#detail"):
                # Half of the last digit that is shown.
                assert value == pytest.approx(demo.table[column][model_id], abs=digits(column))
            for column, value, row in it.cells("#models"):
                assert value == pytest.approx(demo.table[column][int(row)], abs=digits(column))
        counts = it.page.locator("#detail .plain").first.inner_text()
        for group in ("Female", "Male"):
            right = demo.table[f"test.true_positives(sex={group})"][it.chosen]
            assert f"{right:,.0f} (" in counts


def place(report, x, y, box):
    """Where points are in the drawing: 58 pixels for numbers at the left, and so on."""
    unmitigated = report.info["unmitigated"]["values"]

    def share(column):
        values = report.table[column]
        low, high = (f([*values.dropna(), unmitigated[column]]) for f in (min, max))
        # Bands have their place, up to 0.6 of the range beyond it.
        room = 0.6 * (high - low)
        low = max(min(low, report.table[f"{column}.band_low"].min()), low - room)
        high = min(max(high, report.table[f"{column}.band_high"].max()), high + room)
        air = (high - low) * 0.05
        return (values - low + air) / (high - low + 2 * air)

    left = box["x"] + 58 + share(x) * (box["width"] - 58 - 18)
    return left, box["y"] + box["height"] - 54 - share(y) * (box["height"] - 40 - 54)


def test_clicking_a_model_selects_it_everywhere(demo, browser):
    with Opened(browser, demo.path) as it:
        plot = it.page.locator("#front-plot")
        plot.scroll_into_view_if_needed()
        xs, ys = place(
            demo,
            "test.demographic_parity_difference(sex)",
            "test.accuracy",
            plot.bounding_box(),
        )
        apart = {
            i: min((xs[i] - xs[j]) ** 2 + (ys[i] - ys[j]) ** 2 for j in xs.index if j != i)
            for i in xs.index
        }
        model_id = max(apart, key=lambda i: (i != it.chosen) * apart[i])
        it.page.mouse.move(xs[model_id], ys[model_id])
        it.page.mouse.click(xs[model_id], ys[model_id])
        assert it.chosen == model_id
        assert f"model-id={model_id}" in it.address
        assert it.price == sentence(demo.select("--model-id", model_id)["price"])
        assert it.page.inner_text("#detail h2") == f"Model {model_id} in detail"
        assert it.page.locator("#models [aria-current]").get_attribute("data-model-id") == str(model_id)
        assert plot.get_attribute("aria-valuetext").startswith(f"Model {model_id}:")


def test_pointing_at_a_model_marks_it_everywhere(demo, browser):
    # Tall enough for all of it, so that nothing scrolls away from below the pointer.
    with Opened(browser, demo.path, viewport={"width": 1280, "height": 9000}) as it:
        it.page.wait_for_timeout(200)
        names = [
            "#front-plot",
            ".parallel .surface",
            ".projection .surface >> nth=0",
        ]
        before = [it.page.locator(name).screenshot() for name in names]
        row = it.page.locator("#models tbody tr:not([aria-current])").first
        model_id = int(row.get_attribute("data-model-id"))
        row.hover()
        assert "hovered" in row.get_attribute("class")
        after = [it.page.locator(name).screenshot() for name in names]
        assert all(a != b for a, b in zip(after, before, strict=True))
        chosen = it.chosen
        row.click()
        assert it.chosen == model_id != chosen


def test_requirements_on_objectives_are_those_of_the_rows_that_decide(fairfront, browser, tmp_path):
    """Five objectives, of which one has no measure; more than three have no pairs."""
    losses = ["error_rate", "demographic_parity(sex)", "demographic_parity(race)"]
    losses += ["equalized_odds(sex)", "worst_group_loss(race)"]
    objectives = [word for o in losses for word in ("--objective", o)]
    report = Report(fairfront, tmp_path / "run", "demo(rows=1500)", *objectives)
    values = report.table["validation.objective.worst_group_loss(race)"]
    bound = round(values.quantile(0.3), 2)
    with Opened(browser, report.path) as it:
        assert it.page.locator(".projection").count() == 0
        assert it.page.locator(".parallel").count() == 1
        label = "Worst group loss objective (race): at most, an exact number"
        field = it.page.get_by_label(label)
        field.fill(str(bound))
        field.press("Enter")
        expected = report.chosen_on_validation(f"worst_group_loss(race) <= {bound}")
        assert it.chosen == expected["model_id"] and it.price == sentence(expected["price"])


@pytest.mark.parametrize("bound", [0.05, 0.02, 0.1])
def test_a_requirement_is_met_as_select_meets_it(demo, browser, bound):
    with Opened(browser, demo.path) as it:
        it.slider("Demographic parity difference (sex) at most").fill(str(bound))
        require = f"demographic_parity_difference(sex) <= {bound}"
        expected = demo.chosen_on_validation(require)
        assert it.chosen == expected["model_id"]
        assert it.price == sentence(expected["price"])
        meeting, models = expected["judged"]["meeting"], expected["judged"]["models"]
        assert f"{meeting} of {models} models" in it.page.inner_text(".remaining")
        it.page.get_by_label("the least regret").check()
        regret = demo.chosen_on_validation(require, rule=["--regret"])
        assert it.chosen == regret["model_id"]
        it.page.click("text=Command for the same selection")
        command = it.page.inner_text(".command")
        asked = f"--require '{require}' --confidence none --regret"
        # The page does not say where the folder is.
        assert command == f"fairfront select {demo.folder.name} {asked}"
        address = it.address
    # The address opens at the same choice.
    with Opened(browser, demo.path, f"#{address}") as it:
        assert it.chosen == regret["model_id"]
        field = it.page.get_by_label(
            "Demographic parity difference (sex): at most, an exact number"
        )
        assert float(field.input_value()) == bound


def test_an_exact_number_may_be_a_percentage(demo, browser):
    with Opened(browser, demo.path) as it:
        field = it.page.get_by_label("Demographic parity difference (sex): at most, an exact number")
        field.fill("5%")
        field.press("Enter")
        expected = demo.chosen_on_validation("demographic_parity_difference(sex) <= 5%")
        assert it.chosen == expected["model_id"] and float(field.input_value()) == 0.05
        # A text that is not a number changes nothing.
        field.fill("few")
        field.press("Enter")
        assert it.chosen == expected["model_id"] and float(field.input_value()) == 0.05


def test_unmet_requirements_name_the_nearest_model(demo, browser):
    with Opened(browser, demo.path, "#require=" + quote("accuracy >= 0.999")) as it:
        asked = ["--require", "accuracy >= 0.999", "--confidence", "none"]
        done = demo.fairfront.run("select", demo.folder, *asked)
        assert done.returncode == 3
        shown = done.stderr.decode().removeprefix("error: ").strip()
        assert it.page.inner_text(".choice .problem") == f"{shown[0].upper()}{shown[1:]}."
        assert it.chosen == int(re.search(r"model (\d+) comes", shown)[1])
        it.page.click("text=clear all")
        assert it.page.is_hidden(".choice .problem") and demo.fairer()[it.chosen]
    wrong = "#require=" + quote("acuracy >= 1") + "&model-id=9999"
    with Opened(browser, demo.path, wrong) as it:
        assert 'did you mean "accuracy"' in it.page.inner_text(".choice .problem")
        assert demo.fairer()[it.chosen]


def test_axes_and_rows_can_be_switched(demo, browser):
    with Opened(browser, demo.path) as it:
        plot = it.page.locator("#front-plot")
        before = plot.screenshot()
        it.page.get_by_label("Horizontal axis", exact=True).select_option(
            "equal_opportunity_difference(race)"
        )
        it.page.get_by_label("Vertical axis", exact=True).select_option("objective.error_rate")
        it.page.get_by_label("test", exact=True).check()
        label = plot.get_attribute("aria-label")
        assert (
            "test rows" in label and "equal opportunity difference (race), lower is better" in label
        )
        assert "error rate objective" in label
        assert plot.screenshot() != before
        value = demo.table["test.equal_opportunity_difference(race)"][it.chosen]
        digits = f"{value:.6f}"[:5]
        assert digits in plot.get_attribute("aria-valuetext")
        assert "rows=test" in it.address


def test_three_objectives_are_shown_in_pairs(demo, browser):
    """Each pair of objectives once, colored by the third; a click in one selects the model."""
    with Opened(browser, demo.path) as it:
        panels = it.page.locator("#views .projection")
        labels = panels.locator(".surface").evaluate_all(
            "all => all.map(e => e.getAttribute('aria-label'))"
        )
        keys = panels.locator(".colors strong").all_inner_texts()
        measures = ["accuracy", *(f"demographic parity difference ({a})" for a in ("sex", "race"))]
        assert len(labels) == len(keys) == 3
        for label, key in zip(labels, keys, strict=True):
            shown = [m for m in measures if f"{m}, " in label]
            assert len(shown) == 2 and key == f"Color: {(set(measures) - set(shown)).pop()}"
        surface = panels.locator(".surface").first
        surface.scroll_into_view_if_needed()
        box = surface.bounding_box()
        chosen = it.chosen
        surface.focus()
        it.page.keyboard.press("End")
        assert it.chosen != chosen
        # A label names the model below the pointer, in the panel that has the pointer only.
        labels = it.page.locator("#views .surface[data-label]")
        for step in range(40):
            it.page.mouse.move(box["x"] + 50 + 8 * step, box["y"] + box["height"] / 2)
            if labels.count() > 0:
                break
        assert labels.count() == 1


def test_downloads_match_files_of_the_command(demo, browser, tmp_path):
    with Opened(browser, demo.path) as it:
        for model_id in (it.chosen, 1, demo.info["models"]):
            it.page.goto(demo.path.as_uri() + f"#model-id={model_id}")
            with it.page.expect_download() as got:
                it.page.click("#download-model")
            assert got.value.suggested_filename == f"model-{model_id}.json"
            path = tmp_path / f"page-{model_id}.json"
            got.value.save_as(path)
            own = tmp_path / f"own-{model_id}.json"
            demo.fairfront("select", demo.folder, "--model-id", model_id, "--model", own)
            assert path.read_bytes() == own.read_bytes()
            demo.fairfront(
                "data", "export", "demo(rows=300, seed=9)", "-o", tmp_path / f"{model_id}.csv"
            )
            decided = [
                demo.fairfront("predict", model, tmp_path / f"{model_id}.csv", "-o", "-")
                for model in (path, own)
            ]
            assert decided[0] == decided[1] and decided[0].count(b"\n") > 100
        with it.page.expect_download() as got:
            it.page.click("#download-front")
        got.value.save_as(tmp_path / "front.csv")
        assert (tmp_path / "front.csv").read_bytes() == demo.fairfront("show", demo.folder, "--csv")
        it.requests = it.requests[:1]


def test_models_of_every_family_are_downloaded_exactly(families, browser, tmp_path):
    for family, models in families.table.groupby("family"):
        model_id = models.index[-1]
        with Opened(browser, families.path, f"#model-id={model_id}") as it:
            with it.page.expect_download() as got:
                it.page.click("#download-model")
            got.value.save_as(tmp_path / f"page-{family}.json")
        own = tmp_path / f"own-{family}.json"
        families.fairfront("select", families.folder, "--model-id", model_id, "--model", own)
        assert (tmp_path / f"page-{family}.json").read_bytes() == own.read_bytes()
        assert ("learned" in json.loads(own.read_text())["encoding"]) == (family == "trees")
    with Opened(browser, families.path) as it:
        with it.page.expect_download() as got:
            it.page.click("#download-front")
        got.value.save_as(tmp_path / "front.csv")
    text = (tmp_path / "front.csv").read_bytes()
    assert text == families.fairfront("show", families.folder, "--csv")
    rows = list(csv.DictReader(text.decode().splitlines()))
    assert [row["family"] for row in rows[:-1]] == list(families.table["family"])


def test_small_numbers_are_downloaded_exactly(adult, browser, tmp_path):
    """Certificates and covariances go down to 1e-12."""
    with Opened(browser, adult.path) as it:
        with it.page.expect_download() as got:
            it.page.click("#download-model")
        got.value.save_as(tmp_path / "page.json")
    model_id = json.loads((tmp_path / "page.json").read_text())["provenance"]["model_id"]
    adult.fairfront("select", adult.folder, "--model-id", model_id, "--model", tmp_path / "own.json")
    assert (tmp_path / "page.json").read_bytes() == (tmp_path / "own.json").read_bytes()


def test_a_keyboard_is_enough(demo, browser):
    with Opened(browser, demo.path) as it:

        def tab_to(condition):
            for _ in range(60):
                it.page.keyboard.press("Tab")
                if it.page.evaluate(f"(e => {condition})(document.activeElement)"):
                    return
            pytest.fail(f"no key leads to {condition}")

        tab_to("e.id === 'front-plot'")
        first = it.chosen
        it.page.keyboard.press("End")
        columns = demo.table["test.demographic_parity_difference(sex)"]
        assert columns[it.chosen] == columns.max() and it.chosen != first
        it.page.keyboard.press("ArrowLeft")
        assert columns[it.chosen] == columns.sort_values().iloc[-2]
        tab_to("e.id === 'download-model'")
        with it.page.expect_download():
            it.page.keyboard.press("Enter")
        tab_to("e.type === 'range'")
        it.page.keyboard.press("ArrowRight")
        assert "accuracy+%3E%3D" in it.address
        tab_to("e.textContent === 'Next'")
        page = it.page.inner_text("#models tbody")
        it.page.keyboard.press("Enter")
        assert it.page.inner_text("#models tbody") != page


def altered(report, path, change):
    """The page with other data, for runs that this version of the command does not make."""
    start, end = '<script type="application/json" id="data">', "</script>"
    before, _, rest = report.path.read_text().partition(start)
    text, _, after = rest.partition(end)
    data = json.loads(text)
    change(data)
    text = json.dumps(data).replace("<", "\\u003c")
    path.write_text(before + start + text + end + after)
    return path


PARITY = "demographic_parity_difference(sex)"


def with_overlays(report, path, error=0.05, half=0.01):
    """The report with a bound at this error rate for every difference, a line and a mark."""

    def line(error, band):
        ends = [(error, 0.0), (error, 0.5)]
        near = {"low": -half, "high": half} if band else {}
        return [
            {"values": [e, x]} | {name: [e + d, x + d] for name, d in near.items()} for e, x in ends
        ]

    def change(data):
        common = {"split": "test", "measures": ["error_rate", PARITY]}
        score = {"kind": "score", "label": "scores", "split": "test", "measures": ["accuracy", PARITY]}
        data["run"]["overlays"] = [
            common | {"kind": "bound", "label": "<b>bound</b>", "points": line(error, True)},
            common | {"kind": "by-group", "label": "by group", "points": line(0.2, False)},
            score | {"points": [{"values": [0.7, 0.25], "name": "<i>my</i> score"}]},
        ]

    return altered(report, path, change)


def test_families_have_their_own_markers(families, demo, browser):
    with Opened(browser, families.path) as it:
        names = it.page.locator("figcaption .family").all_inner_texts()
        assert names == ["linear models", "models from boosted trees"]
        shapes = it.page.locator("figcaption .family path").evaluate_all(
            "all => all.map(e => e.getAttribute('d'))"
        )
        assert len(set(shapes)) == 2
        assert it.page.locator("#views > .legend li").all_inner_texts() == names
        shown = {"linear": "linear", "trees": "boosted trees"}
        for row in it.page.locator("#models tbody tr").all():
            model_id = int(row.get_attribute("data-model-id"))
            assert row.locator(".family").inner_text() == shown[families.table["family"][model_id]]
        counts = families.table["family"].value_counts()
        stated = f"linear models: {counts['linear']}; models from boosted trees: {counts['trees']}"
        assert stated in it.page.inner_text("#provenance")
    # The report does not mention families if all models are linear.
    with Opened(browser, demo.path) as it:
        assert it.page.locator(".family:visible, #looks").count() == 0
        assert "A linear model (" in it.page.inner_text("#detail .card")


def test_the_card_lists_the_coefficients_of_its_kind(families, browser):
    learned = families.info["family"]["features"]
    by_family = families.table.groupby("family")
    with Opened(browser, families.path, f"#model-id={by_family.get_group('trees').index[0]}") as it:
        assert it.page.inner_text(".choice .family") == "A model from boosted trees."
        assert "A model from boosted trees (fairfront" in it.page.inner_text("#detail .card")
        names = it.page.locator(".weights th[scope=row]").all_inner_texts()
        assert len(names) == len(learned) + 1 and "probability of approved = yes" in names
        assert "the columns' information about sex=Female" in names
        # The unmitigated model is linear, so that no coefficient can be compared.
        assert families.info["unmitigated"].get("family") is None
        assert it.page.locator(".weights thead th").all_inner_texts() == ["quantity", "weight"]
    with Opened(browser, families.path, f"#model-id={by_family.get_group('linear').index[0]}") as it:
        it.page.click("#detail >> text=/show all/")
        names = it.page.locator(".weights th[scope=row]").all_inner_texts()
        assert len(names) == len(families.info["features"]) - len(learned) + 1
        assert not [name for name in names if "trees" in name or "probability" in name]
        assert "A linear model (" in it.page.inner_text("#detail .card")


def test_learners_are_described(families, browser, tmp_path):
    def change(data):
        for learner in data["run"]["learners"]:
            for column in learner["inputs"]:
                column["permutation"] = column["gain"] / 10

    with Opened(browser, altered(families, tmp_path / "page.html", change)) as it:
        cards = it.page.locator("#looks .learner")
        learners = families.info["learners"]
        assert cards.count() == len(learners) == 3
        for card, learner in zip(cards.all(), learners, strict=True):
            text = card.inner_text()
            assert f"Predicts {learner['predicts']}" in text
            assert f"boosted trees, {learner['trees']} trees" in text
            assert f"{learner['rows']:,}" in text and f"log loss {learner['log_loss']:.4f}" in text
            assert f"AUC {learner['auc']:.3f}" in text
            best = max(learner["inputs"], key=lambda column: column["gain"])
            cells = card.locator("tbody tr").first.locator("th, .number").all_inner_texts()
            assert cells[:2] == [best["name"], f"{100 * best['gain']:.1f}%"]
            assert float(cells[2]) == pytest.approx(best["gain"] / 10, rel=1e-3)
            card.locator("text=/show all/").click()
            assert card.locator("tbody tr").count() == len(learner["inputs"])
        assert "how much the columns say about the group" in it.page.inner_text("#uses-groups")

    def outcome_only(data):
        data["run"]["learners"] = data["run"]["learners"][:1]

    with Opened(browser, altered(families, tmp_path / "one.html", outcome_only)) as it:
        assert it.page.locator("#uses-groups").count() == 0
        assert it.page.locator("#looks .learner").count() == 1


def test_overlays_can_be_switched_off(families, browser, tmp_path):
    path = with_overlays(families, tmp_path / "page.html")
    with Opened(browser, path) as it:
        plot = it.page.locator("#front-plot")
        texts = it.page.locator(".overlays label").all_inner_texts()
        assert texts[0] == "estimate: <b>bound</b>"
        assert texts[1].startswith("thresholds by group: uses the sensitive attribute to decide")
        assert texts[2].startswith("<i>my</i> score: accuracy 70.0%, ")
        note = it.page.locator(".bound-note")
        meaning = "If the probabilities are right, no model on these columns does better"
        assert note.inner_text() == f"{meaning}; the band covers sampling only."
        boxes = it.page.get_by_role("checkbox")
        for at in range(3):
            before = plot.screenshot()
            boxes.nth(at).focus()
            it.page.keyboard.press("Space")
            assert not boxes.nth(at).is_checked()
            # The box keeps the focus.
            assert boxes.nth(at).evaluate("e => e === document.activeElement")
            assert plot.screenshot() != before
        assert note.is_hidden()
        boxes.nth(0).check()
        assert note.is_visible()
        # Other rows and other measures have no such values.
        it.page.get_by_label("validation", exact=True).check()
        assert it.page.locator(".overlays").is_hidden() and note.is_hidden()
        it.page.get_by_label("test", exact=True).check()
        assert it.page.locator(".overlays").is_visible()
        axis = it.page.get_by_label("Horizontal axis", exact=True)
        axis.select_option("demographic_parity_difference(race)")
        assert it.page.locator(".overlays").is_hidden()


def test_a_model_beyond_the_bound_is_named(families, browser, tmp_path):
    error = 1 - families.table["test.accuracy"].sort_values()
    best = error.index[-1]
    between = (error.iloc[-1] + error[error > error.iloc[-1]].iloc[-1]) / 2
    tied = error.index[error == error.iloc[-1]]
    lie = f"Model {best} lies" if len(tied) == 1 else r"(Models|\d+ models) .*lie"
    shows = r"\d+ models lie beyond the estimate on test rows, which shows that the estimated probabilities are not"
    within = "beyond the estimate on test rows, but within the bands, so sampling can explain this."
    for bound, half, expected in ((0.9, 1e-6, shows), (between, 1e-6, f"{lie} {within}"), (between, 0.2, f"{lie} {within}")):
        path = with_overlays(families, tmp_path / f"{bound}-{half}.html", error=bound, half=half)
        with Opened(browser, path) as it:
            assert re.search(expected, it.page.inner_text(".bound-note"))


def test_warnings_are_near_the_top(demo, browser, tmp_path):
    level = {"severity": "warning"}
    long = "a long warning with <b>tags</b> and --an-option; " + "more words " * 40

    def with_warnings(count):
        def change(data):
            data["run"]["messages"] = [{"severity": "note", "message": "only a note"}]
            data["run"]["messages"] += [level | {"message": f"problem {i}; {long}"} for i in range(count)]

        return change

    with Opened(browser, altered(demo, tmp_path / "0.html", with_warnings(0))) as it:
        assert it.page.locator(".warnings").count() == 0
        assert "only a note" not in it.page.inner_text("header")
        assert "Note: only a note." in it.page.inner_text("#provenance")
    for viewport in (DESKTOP, PHONE):
        path = altered(demo, tmp_path / "5.html", with_warnings(5))
        with Opened(browser, path, viewport=viewport) as it:
            assert it.page.inner_text(".warnings h2") == "5 warnings"
            shown = it.page.locator(".warnings li:visible")
            # The first three in full.
            texts = shown.all_inner_texts()
            assert texts == [f"problem {i}; {long}".strip() + "." for i in range(3)]
            assert "only a note" not in it.page.inner_text("header")
            above = it.page.locator(".warnings").bounding_box()["y"]
            assert above < it.page.locator("#front-plot").bounding_box()["y"]
            assert it.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            it.page.emulate_media(media="print")
            assert shown.count() == 5
            it.page.emulate_media(media="screen")
            assert shown.count() == 3
            it.page.click("text=show all 5 warnings")
            assert shown.count() == 5
            it.page.click("text=show the first 3 only")
            assert shown.count() == 3
            # All of them, with the notes, at the end.
            assert it.page.locator("#provenance .messages .warning").count() == 5
            assert "only a note" in it.page.inner_text("#provenance .messages")
    with Opened(browser, altered(demo, tmp_path / "1.html", with_warnings(1))) as it:
        assert it.page.inner_text(".warnings h2") == "1 warning"
        assert it.page.locator(".warnings button").count() == 0


def test_dropped_rows_have_reasons(demo, browser, tmp_path):
    used = sum(demo.info["rows"].values())
    reasons = [
        {"reason": "missing value", "rows": 58, "column": "<i>savings</i>"},
        {"reason": "empty target", "rows": 1242},
    ]

    def change(data):
        data["run"]["dropped"] = {"read": used + 1300, "used": used, "reasons": reasons}

    with Opened(browser, altered(demo, tmp_path / "page.html", change)) as it:
        assert f"({used:,} of {used + 1300:,} rows)" in it.page.inner_text(".lede")
        facts = it.page.inner_text("#provenance")
        assert f"{used + 1300:,} read, {used:,} used: " in facts
        rows = it.page.locator(".dropped tbody tr").all_inner_texts()
        assert [row.split("\t") for row in rows] == [
            ["missing value (<i>savings</i>)", "58"],
            ["empty target", "1,242"],
        ]
        assert f"1,300 of {used + 1300:,} rows read were dropped" in it.page.inner_text(".card")

    def none(data):
        data["run"]["dropped"] = {"read": used, "used": used, "reasons": []}

    with Opened(browser, altered(demo, tmp_path / "none.html", none)) as it:
        assert f"({used:,} rows)" in it.page.inner_text(".lede")
        assert it.page.locator(".dropped").count() == 0

    def absent_facts(data):
        data["run"].pop("dropped", None)

    with Opened(browser, altered(demo, tmp_path / "absent.html", absent_facts)) as it:
        assert f"({used:,} rows)" in it.page.inner_text(".lede")
        assert " read, " not in it.page.inner_text("#provenance")


def test_groups_that_are_not_compared_are_marked(demo, browser, tmp_path):
    enough = {"all": True, "positives": True, "negatives": True}
    few = dict.fromkeys(enough, False)

    def change(data):
        data["run"]["spec"]["min_group"] = 30
        groups = {
            attribute["name"]: {
                group: {"rows": 900, "positives": 400, "compared": enough}
                for group in attribute["groups"]
            }
            for attribute in data["attributes"]
        }
        groups["race"]["Other"] = {"rows": 12, "positives": 3, "compared": few}
        groups["race"]["Asian"] |= {"positives": 8, "compared": enough | {"positives": False}}
        data["run"]["groups"] = groups

    with Opened(browser, altered(demo, tmp_path / "page.html", change)) as it:
        race = it.page.locator(".attribute").nth(1)
        marked = {}
        for table in race.locator(".bars").all():
            heads = table.locator("th[scope=row]:has(.dagger) .name").all_inner_texts()
            marked[table.locator("caption").inner_text()] = heads
        few_positives = ["Asian", "Other"]
        assert marked == {
            "Selection rate": ["Other"],
            "False positive rate": ["Other"],
            "False negative rate": few_positives,
            "Accuracy": ["Other"],
            "Rows": ["Other"],
        }
        assert race.locator(".stacked th:has(.dagger) .name").all_inner_texts() == few_positives
        mark = race.locator(".bars").first.locator(".dagger")
        assert mark.get_attribute("title") == "Not compared: 12 training rows, fewer than 30"
        assert (
            "Groups with fewer than 30 training rows are shown, but left out of differences and ratios."
            in race.inner_text()
        )
        # Their rates are shown all the same.
        value = demo.table["test.selection_rate(race=Other)"][it.chosen]
        assert f"{100 * value:.1f}%" in race.locator(".bars").first.inner_text()
        assert "†" not in it.page.locator(".attribute").first.inner_text()
        people = it.page.locator(".people li:has(.dagger)").all_inner_texts()
        assert people and all("race = Other" in text for text in people)
        assert it.page.locator("#provenance .dagger").count() == 2
        options = it.page.get_by_label("Horizontal axis", exact=True).locator("option").all_inner_texts()
        assert "Selection rate (race=Other) (not compared)" in options
        assert "False negative rate (race=Asian) (not compared)" in options
        assert "Selection rate (race=Asian)" in options

    def absent_facts(data):
        data["run"].pop("groups", None)
        data["run"]["spec"].pop("min_group", None)

    with Opened(browser, altered(demo, tmp_path / "absent.html", absent_facts)) as it:
        assert it.page.locator(".dagger").count() == 0


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_labels_of_models_stay_inside_the_plot(demo, browser, tmp_path, viewport):
    """Models in all corners; no label covers an axis or the marker that it describes."""

    def change(data):
        for column in data["columns"]:
            corners = {
                "test.accuracy": [0.5, 0.5, 0.9, 0.9],
                "test.demographic_parity_difference(sex)": [0, 0.4, 0, 0.4],
            }.get(column["name"])
            if corners is not None:
                column["values"] = corners + column["values"][4:]
            # Without bands the corners of the values are the corners of the plot.
            if ".band_" in column["name"]:
                column["values"] = None

    corners = altered(demo, tmp_path / "page.html", change)
    with Opened(browser, corners, "#model-id=11", viewport=viewport) as it:
        it.page.wait_for_timeout(200)
        plot = it.page.locator("#front-plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        room = [58, 40, box["width"] - 18, box["height"] - 54]
        ends = [[room[i] + (room[i + 2] - room[i]) * share for share in (1 / 22, 21 / 22)] for i in (0, 1)]
        for x in ends[0]:
            for y in ends[1]:
                it.page.mouse.move(box["x"] + x, box["y"] + y)
                shown = [float(v) for v in plot.get_attribute("data-label").split()]
                left, top, right, bottom, px, py = shown
                assert (px, py) == pytest.approx((x, y), abs=0.6)
                assert left >= room[0] and top >= room[1], shown
                assert right <= room[2] and bottom <= room[3], shown
                assert not (left <= px <= right and top <= py <= bottom), shown
                side = f"{'left' if x == ends[0][0] else 'right'}-{'top' if y == ends[1][0] else 'bottom'}"
                shot(f"label-{viewport['width']}-{side}", it.page)
        it.page.mouse.move(0, 0)
        assert plot.get_attribute("data-label") is None


def test_an_empty_plot_says_why(demo, browser, tmp_path):
    def change(data):
        for column in data["columns"]:
            if column["name"] == "test.demographic_parity_difference(race)":
                column["values"], column["unmitigated"] = None, None
            if column["name"] == "test.demographic_parity_difference(sex)":
                column["values"] = [None, None, *column["values"][2:]]

    page = altered(demo, tmp_path / "page.html", change)
    with Opened(browser, page) as it:
        models = demo.info["models"]
        caption = it.page.locator(".front figcaption")
        shown = f"2 of {models} models are not shown: demographic parity difference (sex) is not defined."
        assert shown in caption.inner_text()
        it.page.get_by_label("Horizontal axis", exact=True).select_option(
            "demographic_parity_difference(race)"
        )
        assert (
            "Nothing to show: demographic parity difference (race) is not defined for any model on test "
            "rows. Choose another measure or other rows." in caption.inner_text()
        )
        it.page.get_by_label("validation", exact=True).check()
        assert "Nothing to show" not in caption.inner_text()


def test_all_columns_are_in_sight_on_a_phone(demo, adult, browser):
    """Tables have all columns within the screen; nothing has to be scrolled sideways."""
    for report in (demo, adult):
        with Opened(browser, report.path, viewport=PHONE) as it:
            it.page.wait_for_timeout(200)
            assert it.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            # The values on test rows are the last column.
            tests = it.page.locator("#detail [data-column^='test.']")
            assert tests.count() > 5
            for cell in tests.all():
                box = cell.bounding_box()
                assert 0 <= box["x"] and box["x"] + box["width"] <= PHONE["width"]
            outside = it.page.evaluate(
                "all => [...document.querySelectorAll('td, th')].filter(e => e.offsetParent && "
                f"e.getBoundingClientRect().right > {PHONE['width']}).map(e => e.textContent)"
            )
            assert outside == []
            assert it.page.locator(".hint:visible").count() == 0


def test_a_table_that_has_to_be_scrolled_says_so(demo, browser):
    """Four columns and one for requirements are too much for 320 pixels."""
    narrow = {"width": 320, "height": 700}
    address = "#require=" + quote("accuracy >= 0.6")
    with Opened(browser, demo.path, address, viewport=narrow) as it:
        it.page.wait_for_timeout(200)
        assert it.page.locator("#models .hint").is_visible()
        assert it.page.evaluate("document.documentElement.scrollWidth") <= narrow["width"]
        it.page.locator("#models .scroll").evaluate("e => { e.scrollLeft = e.scrollWidth; }")
        box = it.page.locator("#models thead .meets").bounding_box()
        assert box["x"] + box["width"] <= narrow["width"]
    with Opened(browser, demo.path, address) as it:
        assert it.page.locator("#models .hint").is_hidden()
        assert it.page.locator("#models thead .meets").is_visible()
        it.page.click("text=clear all")
        # Without a requirement there is nothing to meet.
        assert it.page.locator("#models .meets:visible").count() == 0


HOSTILE = [
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 2</script>",
    "<img src=x onerror='window.hit = 3'>",
    '" onmouseover="window.hit = 4',
    "'};window.hit=5;//",
    "<!--",
    "\u2028\u2029&lt;b&gt;",
]


@pytest.fixture(scope="module")
def hostile(fairfront, tmp_path_factory):
    """Names of columns, groups, levels and the target that would like to be more than names."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = fairfront.export("demo(rows=2500)").drop(columns="split")
    long = "x" * 10_000
    group = {"Female": HOSTILE[0], "Male": HOSTILE[1]}
    rows["sex"] = rows["sex"].map(group)
    rows["housing"] = rows["housing"].map(
        dict(zip(sorted(set(rows["housing"])), HOSTILE[2:], strict=False))
    )
    names = {"sex": HOSTILE[2], "age": long, "income": HOSTILE[3]}
    names |= {"housing": HOSTILE[4], "district": HOSTILE[5]}
    rows = rows.rename(columns=names)[[*names.values(), "education", "approved"]]
    path = folder / "rows.csv"
    rows.to_csv(path, index=False, quoting=csv.QUOTE_ALL)
    sensitive = f'"{HOSTILE[2]}"'
    spec = [path, "--target", "approved", "--positive", "yes", "--sensitive", sensitive]
    return Report(fairfront, folder / HOSTILE[6].replace("/", ""), *spec)


def test_names_are_never_executed(hostile, browser):
    html = hostile.path.read_text()
    assert html.count("<script") == 2 and html.count("</script") == 2 and "<img" not in html
    for viewport in (DESKTOP, PHONE):
        with Opened(browser, hostile.path, viewport=viewport) as it:
            for split in SPLITS:
                it.page.get_by_label(split, exact=True).check()
            it.page.get_by_label("Horizontal axis", exact=True).select_option(index=3)
            it.page.click("#detail >> text=/show all/")
            it.page.mouse.move(600, 400)
            text = it.page.inner_text("body")
            for name in HOSTILE[:2]:
                assert name[:20] in text
            assert it.page.evaluate("window.hit") is None
            assert it.page.locator("img").count() == 0 and it.page.locator("script").count() == 2
            wide = it.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= viewport["width"]
            it.page.locator("input[type=range]").nth(1).press("ArrowLeft")
            address = it.address
            chosen = it.chosen
        with Opened(browser, hostile.path, f"#{address}") as it:
            assert it.chosen == chosen


def test_hostile_models_are_downloaded_exactly(hostile, browser, tmp_path):
    with Opened(browser, hostile.path, "#model-id=1") as it:
        for button, name in (("#download-model", "model.json"), ("#download-front", "front.csv")):
            with it.page.expect_download() as got:
                it.page.click(button)
            got.value.save_as(tmp_path / name)
    hostile.fairfront("select", hostile.folder, "--model-id", 1, "--model", tmp_path / "own.json")
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "own.json").read_bytes()
    assert (tmp_path / "front.csv").read_bytes() == hostile.fairfront(
        "show", hostile.folder, "--csv"
    )


def test_a_policy_forbids_every_request(demo, browser):
    with Opened(browser, demo.path) as it:
        failed = it.page.evaluate(
            "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')"
        )
        image = it.page.evaluate(
            "new Promise(done => { const i = new Image(); i.onload = () => done('sent');"
            "i.onerror = () => done('refused'); i.src = 'http://127.0.0.1:9/x.png'; })"
        )
        inline = it.page.evaluate(
            "(() => { const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
            "document.body.append(s); return window.hit; })()"
        )
        assert (failed, image, inline) == ("refused", "refused", None)
        # The console reports the refusals, as it should.
        assert all("Content Security Policy" in p or "Failed to fetch" in p for p in it.problems)
        assert it.problems
        it.problems = []
        it.requests = it.requests[:1]


def shot(name, page, **options):
    folder = os.environ.get("FAIRFRONT_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        options["path"] = Path(folder) / f"{name}.png"
    return page.screenshot(**options)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_it_can_be_read_and_passes_axe(demo, adult, families, browser, tmp_path, scheme, size):
    if not AXE.is_file():
        absent("axe-core is not installed; run npm ci in crates/fairfront-report/web")
    viewport = DESKTOP if size == "desktop" else PHONE
    both = with_overlays(families, tmp_path / "page.html")
    for name, path in (("demo", demo.path), ("adult", adult.path), ("families", both)):
        with Opened(browser, path, viewport=viewport, color_scheme=scheme) as it:
            it.page.wait_for_timeout(200)
            shot(f"{name}-{scheme}-{size}", it.page)
            shot(f"{name}-{scheme}-{size}-whole", it.page, full_page=True)
            assert it.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            ground = it.page.evaluate("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 3 * 128
            assert light == (scheme == "light")
            # The front is in the first screen, except that warnings come before it.
            box = it.page.locator("#front-plot").bounding_box()
            warnings = it.page.locator(".warnings")
            room = warnings.bounding_box()["height"] + 20 if warnings.count() else 0
            assert box["y"] - room < viewport["height"] * (0.5 if size == "desktop" else 0.95)
            it.page.evaluate(AXE.read_text())
            found = it.page.evaluate("axe.run({ resultTypes: ['violations'] })")
            serious = [
                f"{v['id']}: {v['help']} ({v['nodes'][0]['html'][:120]})"
                for v in found["violations"]
                if v["impact"] in ("serious", "critical")
            ]
            assert serious == []


def test_it_prints(demo, browser):
    with Opened(browser, demo.path, color_scheme="dark") as it:
        it.page.emulate_media(media="print")
        ground = it.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert it.page.is_hidden(".toolbar") and it.page.is_visible("#provenance")
        pdf = it.page.pdf()
        assert pdf.startswith(b"%PDF") and len(pdf) > 50_000


def test_the_same_run_is_the_same_page(demo, fairfront, tmp_path):
    first = demo.path.read_bytes()
    fairfront("report", demo.folder, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == first
    assert fairfront("report", demo.folder, "-o", "-") == first
    again = fairfront.error("report", demo.folder, "-o", tmp_path / "page.html")
    assert "--force" in again
    assert "not a run folder" in fairfront.error("report", tmp_path)
    # A run with its page is still a run that can be replaced.
    fairfront("verify", demo.folder)


def test_the_state_of_a_stream_has_a_page(fairfront, browser, tmp_path):
    state, path = tmp_path / "state", tmp_path / "page.html"
    fairfront("stream", state, "demo(rows=1600)", "--batch", 800, "--flush")
    fairfront("report", state)
    inside = (state / "report.html").read_bytes()
    # The state goes on with it, and its run is the same.
    assert b"no new batch" in fairfront("stream", state, "demo(rows=1600)")
    assert inside == (state / "report.html").read_bytes()
    fairfront("report", state, "-o", path)
    assert path.read_bytes() == inside
    expected = json.loads(fairfront("select", state, "--knee", "--json"))
    with Opened(browser, path, "#knee=") as it:
        assert it.chosen == expected["model_id"] and it.price == sentence(expected["price"])
        assert "2 batches, 1,600 rows" in it.page.inner_text("#provenance")


def test_many_models_stay_fluid(fairfront, browser, tmp_path_factory, record_property):
    """1,500 models, three objectives, 46 features; times are reported, not judged."""
    folder = tmp_path_factory.mktemp("many") / "run"
    covariances = ["log_loss", "score_covariance(sex)", "score_covariance(race)"]
    objectives = [word for o in covariances for word in ("--objective", o)]
    spec = ["demo(rows=1500)", *objectives, "--solver", "pf-smg", "--models", 1500]
    report = Report(fairfront, folder, *spec)
    with Opened(browser, report.path) as it:
        loaded = float(it.page.evaluate("document.documentElement.dataset.ready"))
        last = "Number(document.documentElement.dataset.lastMs)"
        box = it.page.locator("#front-plot").bounding_box()
        hovers, choices = [], []
        for step in range(8):
            it.page.mouse.move(box["x"] + 60 + step * 60, box["y"] + 60 + step * 30)
            hovers.append(it.page.evaluate(last))
        for step in range(8):
            it.page.locator("input[type=range]").nth(1).fill(f"{0.2 - 0.02 * step:.3f}")
            choices.append(it.page.evaluate(last))
        size = report.path.stat().st_size
    shown = (
        f"{report.info['models']} models: ready after {loaded:.0f} ms; pointing takes "
        f"{np.nanmedian(hovers):.1f} ms (at most {np.nanmax(hovers):.1f}), a slider's step "
        f"{np.median(choices):.1f} ms (at most {max(choices):.1f}); {size:,} bytes"
    )
    record_property("timing", shown)
    print(shown)
    assert report.info["models"] > 300
