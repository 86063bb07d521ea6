"""Shared configuration of the package's tests.

With CI=true, all dependencies of the tests must be installed: a skipped test counts as failed.
"""

import os

import pytest

# Set before scipy is loaded, because scikit-learn checks inputs of other array libraries only then.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


def pytest_configure(config):
    # Tests use small tables, whose small groups cause warnings.
    config.addinivalue_line("filterwarnings", "ignore::fairfront.FairFrontWarning")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    # An expected failure is reported as skipped too.
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but CI=true allows no skips: {report.longrepr}"


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    report = (yield).get_result()
    if os.environ.get("CI") == "true" and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, but CI=true allows no skips: {report.longrepr}"
