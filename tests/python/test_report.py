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
        absent("there is no chromium; install it, or name it with FAIRFRONT_CHROMIUM")
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
    return Report(fairfront, folder, "adult:gender", "--method", "trace", "--points", 60)


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
        assert it.chosen == fairer[knee(judged[fairer])]
        assert it.price == sentence(demo.select("--id", it.chosen)["price"])
        text = it.page.inner_text("header")
        rows = sum(demo.info["rows"].values())
        assert f"{demo.info['points']} models" in text and f"{rows:,} rows" in text
        for said in ("approved", "yes", "sex", "race"):
            assert said in text
        accuracy = 100 * demo.table["test.accuracy"]
        assert f"{accuracy.min():.1f}% to {accuracy.max():.1f}%" in text
        assert it.page.locator("#opening").count() == 0


def test_without_a_measurable_difference_it_opens_at_the_unmitigated_model(
    fairfront, browser, tmp_path
):
    report = Report(fairfront, tmp_path / "run", "demo(rows=500)", "--sensitive", "sex")
    assert not report.fairer().any()
    with Opened(browser, report.path) as it:
        assert it.chosen is None
        said = it.page.inner_text("#opening")
        assert "so this table cannot tell the models apart" in said
        assert it.page.is_hidden("#download-model")
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
    with Opened(browser, report.path, "#id=0") as it:
        assert "this run has no validation rows" in it.page.inner_text("#opening")
        price = it.page.inner_text(".choice .price")
        assert "on training rows, without intervals" in price and "measurable" not in price
        assert it.page.locator(".interval").count() == 0


def test_two_models_side_by_side(demo, browser):
    with Opened(browser, demo.path, "#id=3") as it:
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

    with Opened(browser, report.path, f"#id={certified[0]}") as it:
        assert verdict(it).startswith(f"certified {require} by score tests on")
        assert "certified by score tests" in it.page.inner_text("#detail .card")
        assert f"{len(certified)} of {len(report.table)} models certified" in it.page.inner_text(
            "#provenance"
        )
    with Opened(browser, report.path, f"#id={violated[0]}") as it:
        assert verdict(it).startswith(f"violated {require} the whole simultaneous 95% band")
    with Opened(browser, report.path, f"#id={open_[0]}") as it:
        assert verdict(it).startswith(f"not certified {require}")
    # Another limit has no certificate; the band decides.
    bound = round(float(high.min()) + 0.01, 3)
    text = f"demographic_parity_difference(sex) <= {bound}"
    address = f"#id={high.idxmin()}&require=" + quote(text)
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
    html = demo.path.read_text()
    bins = [
        {"name": f"reliability.{i:02}.{end}", "values": v, "unmitigated": v}
        for i in range(1, 11)
        for end, v in (("rows", 10 * i), ("predicted", i / 10 - 0.05), ("observed", i / 12))
    ]
    more = html.replace('"columns":[', '"columns":[' + json.dumps(bins)[1:-1] + ",", 1)
    (tmp_path / "page.html").write_text(more)
    with Opened(browser, tmp_path / "page.html") as it:
        said = it.page.locator(".reliability .surface").get_attribute("aria-label")
        assert "5% predicted, 8% observed" in said and said.count("observed") == 10


def test_adult_opens(adult, browser):
    with Opened(browser, adult.path) as it:
        assert it.chosen is not None and adult.fairer()[it.chosen]
        # The sentence and the table below it are about the same rows.
        change = adult.select("--id", it.chosen)["price"]["accuracy"]
        assert change["column"] == "test.accuracy"
        assert f"{100 * change['to']:.1f}%" in it.page.inner_text(".choice .own >> nth=0")
        assert "proven for every model" in it.page.inner_text("#provenance")
        # Two objectives: no view that turns.
        assert it.page.locator("#views").count() == 0


def digits(column):
    """Percentages have one digit after the point, other numbers four."""
    return 0.500001e-3 if column.endswith(".accuracy") else 0.500001e-4


def test_numbers_are_those_of_the_front(demo, browser):
    with Opened(browser, demo.path) as it:
        for split in SPLITS:
            it.page.get_by_label(split, exact=True).check()
            point = it.chosen
            short = it.cells(".choice")
            assert {c.split(".")[0] for c, _, _ in short} == {split}
            for column, value, _ in short + it.cells("#detail"):
                # Half of the last digit that is shown.
                assert value == pytest.approx(demo.table[column][point], abs=digits(column))
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

    left = box["x"] + 58 + share(x) * (box["width"] - 58 - 16)
    return left, box["y"] + box["height"] - 54 - share(y) * (box["height"] - 40 - 54)


def test_clicking_a_point_chooses_it_everywhere(demo, browser):
    with Opened(browser, demo.path) as it:
        plot = it.page.locator("#front-plot")
        plot.scroll_into_view_if_needed()
        xs, ys = place(
            demo,
            "test.demographic_parity_difference(sex)",
            "test.accuracy",
            plot.bounding_box(),
        )
        apart = [
            min((x - xs[j]) ** 2 + (y - ys[j]) ** 2 for j in range(len(xs)) if j != i)
            for i, (x, y) in enumerate(zip(xs, ys, strict=True))
        ]
        point = max(range(len(xs)), key=lambda i: (i != it.chosen) * apart[i])
        it.page.mouse.move(xs[point], ys[point])
        it.page.mouse.click(xs[point], ys[point])
        assert it.chosen == point
        assert f"id={point}" in it.address
        assert it.price == sentence(demo.select("--id", point)["price"])
        assert it.page.inner_text("#detail h2") == f"Model {point} in detail"
        assert it.page.locator("#models [aria-current]").get_attribute("data-point") == str(point)
        assert plot.get_attribute("aria-valuetext").startswith(f"Model {point}:")


def test_pointing_at_a_model_marks_it_everywhere(demo, browser):
    # Tall enough for all of it, so that nothing scrolls away from below the pointer.
    with Opened(browser, demo.path, viewport={"width": 1280, "height": 9000}) as it:
        it.page.wait_for_timeout(200)
        names = [
            "#front-plot",
            "#space-plot",
            ".parallel .surface",
            ".projection .surface >> nth=0",
        ]
        before = [it.page.locator(name).screenshot() for name in names]
        row = it.page.locator("#models tbody tr:not([aria-current])").first
        point = int(row.get_attribute("data-point"))
        row.hover()
        assert "hovered" in row.get_attribute("class")
        after = [it.page.locator(name).screenshot() for name in names]
        assert all(a != b for a, b in zip(after, before, strict=True))
        chosen = it.chosen
        row.click()
        assert it.chosen == point != chosen


def test_requirements_on_objectives_are_those_of_the_rows_that_decide(fairfront, browser, tmp_path):
    """Five objectives, of which one has no measure; more than three have no view that turns."""
    losses = ["error_rate", "demographic_parity(sex)", "demographic_parity(race)"]
    losses += ["equalized_odds(sex)", "worst_group_loss(race)"]
    objectives = [word for o in losses for word in ("--objective", o)]
    report = Report(fairfront, tmp_path / "run", "demo(rows=1500)", *objectives)
    values = report.table["validation.objective.worst_group_loss(race)"]
    bound = round(values.quantile(0.3), 2)
    with Opened(browser, report.path) as it:
        assert it.page.locator("#space-plot").count() == 0
        assert it.page.locator(".parallel").count() == 1
        label = "Worst group loss objective (race): at most, an exact number"
        field = it.page.get_by_label(label)
        field.fill(str(bound))
        field.press("Enter")
        expected = report.chosen_on_validation(f"worst_group_loss(race) <= {bound}")
        assert it.chosen == expected["id"] and it.price == sentence(expected["price"])


@pytest.mark.parametrize("bound", [0.05, 0.02, 0.1])
def test_a_requirement_is_met_as_select_meets_it(demo, browser, bound):
    with Opened(browser, demo.path) as it:
        it.slider("Demographic parity difference (sex) at most").fill(str(bound))
        require = f"demographic_parity_difference(sex) <= {bound}"
        expected = demo.chosen_on_validation(require)
        assert it.chosen == expected["id"]
        assert it.price == sentence(expected["price"])
        meeting, points = expected["judged"]["meeting"], expected["judged"]["points"]
        assert f"{meeting} of {points} models" in it.page.inner_text(".remaining")
        it.page.get_by_label("the least regret").check()
        regret = demo.chosen_on_validation(require, rule=["--regret"])
        assert it.chosen == regret["id"]
        it.page.click("text=The same on the command line")
        command = it.page.inner_text(".command")
        asked = f"--require '{require}' --confidence none --regret"
        # The page does not say where the folder is.
        assert command == f"fairfront select {demo.folder.name} {asked}"
        address = it.address
    # The address opens at the same choice.
    with Opened(browser, demo.path, f"#{address}") as it:
        assert it.chosen == regret["id"]
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
        assert it.chosen == expected["id"] and float(field.input_value()) == 0.05
        # A text that is not a number changes nothing.
        field.fill("few")
        field.press("Enter")
        assert it.chosen == expected["id"] and float(field.input_value()) == 0.05


def test_what_cannot_be_met_is_said(demo, browser):
    with Opened(browser, demo.path, "#require=" + quote("accuracy >= 0.999")) as it:
        asked = ["--require", "accuracy >= 0.999", "--confidence", "none"]
        done = demo.fairfront.run("select", demo.folder, *asked)
        assert done.returncode == 3
        said = done.stderr.decode().removeprefix("error: ").strip()
        assert it.page.inner_text(".choice .problem") == f"{said[0].upper()}{said[1:]}."
        assert it.chosen == int(re.search(r"point (\d+) comes", said)[1])
        it.page.click("text=clear all")
        assert it.page.is_hidden(".choice .problem") and demo.fairer()[it.chosen]
    wrong = "#require=" + quote("acuracy >= 1") + "&id=9999"
    with Opened(browser, demo.path, wrong) as it:
        assert 'did you mean "accuracy"' in it.page.inner_text(".choice .problem")
        assert demo.fairer()[it.chosen]


def test_axes_and_rows_can_be_switched(demo, browser):
    with Opened(browser, demo.path) as it:
        plot = it.page.locator("#front-plot")
        before = plot.screenshot()
        it.page.get_by_label("Across", exact=True).select_option(
            "equal_opportunity_difference(race)"
        )
        it.page.get_by_label("Upwards", exact=True).select_option("objective.error_rate")
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


def test_the_view_of_three_objectives_turns(demo, browser):
    with Opened(browser, demo.path) as it:
        space = it.page.locator("#space-plot")
        space.scroll_into_view_if_needed()
        before = space.screenshot()
        box = space.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        it.page.mouse.move(*middle)
        it.page.mouse.down()
        it.page.mouse.move(middle[0] + 120, middle[1] + 30, steps=4)
        it.page.mouse.up()
        turned = space.screenshot()
        assert turned != before
        chosen = it.chosen
        space.focus()
        it.page.keyboard.press("ArrowRight")
        assert space.screenshot() != turned
        it.page.keyboard.press("Home")
        it.page.mouse.move(0, 0)
        it.page.evaluate("document.activeElement.blur()")
        assert space.screenshot() == before
        # Turning chooses nothing.
        assert it.chosen == chosen


def test_downloads_are_what_the_command_writes(demo, browser, tmp_path):
    with Opened(browser, demo.path) as it:
        for point in (it.chosen, 0, demo.info["points"] - 1):
            it.page.goto(demo.path.as_uri() + f"#id={point}")
            with it.page.expect_download() as got:
                it.page.click("#download-model")
            assert got.value.suggested_filename == f"model-{point}.json"
            path = tmp_path / f"page-{point}.json"
            got.value.save_as(path)
            own = tmp_path / f"own-{point}.json"
            demo.fairfront("select", demo.folder, "--id", point, "--model", own)
            assert path.read_bytes() == own.read_bytes()
            demo.fairfront(
                "data", "export", "demo(rows=300, seed=9)", "-o", tmp_path / f"{point}.csv"
            )
            decided = [
                demo.fairfront("predict", model, tmp_path / f"{point}.csv", "-o", "-")
                for model in (path, own)
            ]
            assert decided[0] == decided[1] and decided[0].count(b"\n") > 100
        with it.page.expect_download() as got:
            it.page.click("#download-front")
        got.value.save_as(tmp_path / "front.csv")
        assert (tmp_path / "front.csv").read_bytes() == demo.fairfront("show", demo.folder, "--csv")
        it.requests = it.requests[:1]


def test_small_numbers_are_downloaded_exactly(adult, browser, tmp_path):
    """Certificates and covariances go down to 1e-12."""
    with Opened(browser, adult.path) as it:
        with it.page.expect_download() as got:
            it.page.click("#download-model")
        got.value.save_as(tmp_path / "page.json")
    point = json.loads((tmp_path / "page.json").read_text())["provenance"]["point"]
    adult.fairfront("select", adult.folder, "--id", point, "--model", tmp_path / "own.json")
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
            it.page.get_by_label("Across", exact=True).select_option(index=3)
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
    with Opened(browser, hostile.path, "#id=0") as it:
        for button, name in (("#download-model", "model.json"), ("#download-front", "front.csv")):
            with it.page.expect_download() as got:
                it.page.click(button)
            got.value.save_as(tmp_path / name)
    hostile.fairfront("select", hostile.folder, "--id", 0, "--model", tmp_path / "own.json")
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
        # The refusals are said in the console, as they should be.
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
def test_it_can_be_read_and_passes_axe(demo, adult, browser, scheme, size):
    if not AXE.is_file():
        absent("axe-core is not installed; run npm ci in crates/fairfront-report/web")
    viewport = DESKTOP if size == "desktop" else PHONE
    for name, report in (("demo", demo), ("adult", adult)):
        with Opened(browser, report.path, viewport=viewport, color_scheme=scheme) as it:
            it.page.wait_for_timeout(200)
            shot(f"{name}-{scheme}-{size}", it.page)
            shot(f"{name}-{scheme}-{size}-whole", it.page, full_page=True)
            assert it.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
            ground = it.page.evaluate("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", ground)[:3])) > 3 * 128
            assert light == (scheme == "light")
            # The front is in the first screen, and something is drawn in it.
            box = it.page.locator("#front-plot").bounding_box()
            assert box["y"] < viewport["height"] * (0.5 if size == "desktop" else 0.95)
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
    assert "no run folder" in fairfront.error("report", tmp_path)
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
        assert it.chosen == expected["id"] and it.price == sentence(expected["price"])
        assert "2 batches, 1,600 rows" in it.page.inner_text("#provenance")


def test_many_models_stay_fluid(fairfront, browser, tmp_path_factory, record_property):
    """1,500 models, three objectives, 46 features; times are reported, not judged."""
    folder = tmp_path_factory.mktemp("many") / "run"
    covariances = ["log_loss", "disparate_impact(sex)", "disparate_impact(race)"]
    objectives = [word for o in covariances for word in ("--objective", o)]
    spec = ["demo(rows=1500)", *objectives, "--method", "pf-smg", "--points", 1500]
    report = Report(fairfront, folder, *spec)
    with Opened(browser, report.path) as it:
        loaded = float(it.page.evaluate("document.documentElement.dataset.ready"))
        last = "Number(document.documentElement.dataset.lastMs)"
        box = it.page.locator("#front-plot").bounding_box()
        hovers, choices = [], []
        for step in range(20):
            it.page.mouse.move(box["x"] + 60 + step * 25, box["y"] + 60 + step * 12)
            hovers.append(it.page.evaluate(last))
        for step in range(20):
            it.page.locator("input[type=range]").nth(1).fill(f"{0.2 - 0.008 * step:.3f}")
            choices.append(it.page.evaluate(last))
        size = report.path.stat().st_size
    said = (
        f"{report.info['points']} models: ready after {loaded:.0f} ms; pointing takes "
        f"{np.nanmedian(hovers):.1f} ms (at most {np.nanmax(hovers):.1f}), a slider's step "
        f"{np.median(choices):.1f} ms (at most {max(choices):.1f}); {size:,} bytes"
    )
    record_property("timing", said)
    print(said)
    assert report.info["points"] > 300
