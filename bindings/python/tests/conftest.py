"""What the tests of the package share.

Where CI=true, everything that the tests need has to be there: a skip is a failure.
"""

import os

import pytest

# Before scipy is loaded: scikit-learn checks inputs of other array libraries only then.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_configure(config):
    # Small tables are quick, and warn of groups with few rows.
    config.addinivalue_line("filterwarnings", "ignore::fairfront.FairFrontWarning")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    # An expected failure is reported as skipped too.
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    report = (yield).get_result()
    if os.environ.get("CI") == "true" and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
