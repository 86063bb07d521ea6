"""Shared code of tests of the report: a run with its report, and the report open in a browser.

The browser is Debian's chromium, or the one at FAIRFRONT_CHROMIUM.
"""

import json
import os
import shutil

import pyarrow.parquet as pq
import pytest

BROWSER = os.environ.get("FAIRFRONT_CHROMIUM") or shutil.which("chromium") or "absent"
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


def absent(reason):
    pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


class Report:
    """A run with its report."""

    def __init__(self, fairfront, folder, *spec):
        self.fairfront, self.folder = fairfront, folder
        # A fit writes the report, too.
        fairfront("fit", *spec, "--out", folder, "--quiet")
        self.path = folder / "report.html"
        self.info = json.loads((folder / "run.json").read_text())
        self.table = pq.read_table(folder / "front.parquet").to_pandas().set_index("model_id")

    def select(self, *args):
        return json.loads(self.fairfront("select", self.folder, "--json", *args))

    def chosen_on_validation(self, *require, rule=()):
        """Select as the report does, without a test."""
        words = [word for requirement in require for word in ("--require", requirement)]
        return self.select(*words, "--confidence", "none", *rule)

    def fairer(self):
        """Return which models have a difference between groups significantly below the unmitigated model's."""
        measures = [m for m in self.info["judged"]["measures"] if m != "1 - accuracy"]
        # Covariances, which judge a front in objectives, stand in for selection rates.
        measures = measures or ["demographic_parity_difference(sex)"]
        highs = [f"validation.{m}.change_high" for m in measures]
        return (self.table[highs] < 0).any(axis=1)


class Opened:
    """An open report, with its problems and its requests."""

    def __init__(self, browser, path, address="", **options):
        options = {"viewport": DESKTOP, "accept_downloads": True} | options
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.problems, self.requests = [], []
        self.page.on(
            "console", lambda m: m.type in ("error", "warning") and self.problems.append(m.text)
        )
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("dialog", lambda d: (self.problems.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri() + address)
        self.page.wait_for_selector("html[data-ready]")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert self.problems == []
            outside = [r for r in self.requests if not r.startswith(("data:", "blob:"))]
            # Only the report itself is requested.
            assert len(outside) == 1 and outside[0].startswith("file:"), outside

    @property
    def chosen(self):
        """The id of the chosen model; None for the unmitigated model."""
        title = self.page.inner_text("#choice-title")
        return None if title == "Unmitigated model" else int(title.removeprefix("Model "))

    @property
    def price(self):
        return self.page.inner_text(".choice .price span >> nth=0")

    @property
    def address(self):
        """The fragment of the address, which is updated 150 ms after the last change."""
        self.page.wait_for_timeout(300)
        return self.page.url.partition("#")[2]

    def cells(self, within):
        """Return the numbers that have a column, with this column and the model; percentages as shares."""
        script = (
            "all => all.map(e => [e.dataset.column, e.textContent, e.closest('tr').dataset.modelId])"
        )
        found = self.page.eval_on_selector_all(f"{within} [data-column]", script)
        assert found

        def number(text):
            return float(text[:-1]) / 100 if text.endswith("%") else float(text)

        return [(c, number(text), model_id) for c, text, model_id in found if text != "–"]

    def slider(self, label):
        return self.page.get_by_label(label, exact=True)
