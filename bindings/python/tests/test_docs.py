"""The examples in docstrings run, and names are the same wherever they are listed."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairfront

MODULES = ["fairfront"] + sorted(
    f"fairfront.{module.name}"
    for module in pkgutil.iter_modules(fairfront.__path__)
    # The one is the command, the other is not Python.
    if module.name not in ("__main__", "_fairfront")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    done = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert done.failed == 0


def test_there_are_examples():
    tested = [importlib.import_module(name) for name in ("fairfront.indicators", "fairfront.metrics")]
    assert all(doctest.testmod(module).attempted > 0 for module in tested)


@pytest.mark.parametrize("name", MODULES)
def test_all_names_exist(name):
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert getattr(module, public) is not None, public
        assert public in dir(module)


def test_names_of_the_package_are_listed_alike():
    tree = ast.parse(Path(fairfront.__file__).read_text())
    checked = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {a.name for n in checked.body for a in n.names}
    lazy = {*fairfront._MODULES, *fairfront._SUBMODULES}
    assert typed == lazy == {*fairfront.__all__} - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'fairfront' has no attribute 'purty'"):
        fairfront.purty  # noqa: B018


def test_import_brings_nothing_along():
    code = (
        "import sys, fairfront, fairfront.metrics, fairfront.indicators\n"
        "fairfront.metrics.demographic_parity_difference([0, 1], [0, 1], sensitive_features=[0, 1])\n"
        "heavy = {'pandas', 'sklearn', 'scipy', 'matplotlib', 'polars', 'pyarrow', 'tqdm'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
