"""The report in a notebook: in its own iframe, in a real browser."""

import os
import shutil

import pytest
from people import people

from fairfront import FairFrontClassifier

BROWSER = os.environ.get("FAIRFRONT_CHROMIUM") or shutil.which("chromium")


@pytest.mark.filterwarnings("ignore::fairfront.FairFrontWarning")
def test_the_report_works_in_a_notebook(tmp_path):
    if BROWSER is None:
        pytest.skip("chromium is not installed; set FAIRFRONT_CHROMIUM to a browser")
    from playwright.sync_api import sync_playwright

    X, y, sex, _ = people(500)
    clf = FairFrontClassifier(n_models=12, require="demographic_parity_ratio(sex) >= 0.8")
    clf.fit(X, y, sensitive_features={"sex": sex})
    shown = clf._repr_mimebundle_()["text/html"]
    (tmp_path / "notebook.html").write_text(f"<meta charset=utf-8><body>{shown}</body>")
    wrong = []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=BROWSER, args=flags)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto((tmp_path / "notebook.html").as_uri())
        frame = page.frame_locator("iframe")
        # The report opens at the model in use, and downloads that model.
        frame.get_by_text(f"Model {clf.selected_}", exact=True).first.wait_for(timeout=30_000)
        with page.expect_download(timeout=30_000) as download:
            frame.get_by_text("Download this model").first.click()
        model = download.value.path().read_text()
        browser.close()
    assert wrong == []
    coefficients = clf.select(model_id=clf.selected_).coefficients_
    assert all(repr(value) in model for value in coefficients.values())
