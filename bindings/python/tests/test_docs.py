"""Docstrings are complete, their examples run, and all lists of names agree."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

import fairfront

MODULES = ["fairfront"] + sorted(
    f"fairfront.{module.name}"
    for module in pkgutil.iter_modules(fairfront.__path__)
    # The first is the command, and the second is not Python.
    if module.name not in ("__main__", "_fairfront")
)


# Codes of numpydoc for: no docstring; parameters that are missing, unknown, out of order or without a type; no summary,
# or a summary without a period or in the third person; results that are missing or not described.
CHECKS = {"GL08", "PR01", "PR02", "PR03", "PR04", "RT01", "RT03", "SS01", "SS03", "SS05"}


def _members(kind):
    """Public methods and properties of a class that the package defines, including inherited ones."""
    for name, member in inspect.getmembers_static(kind):
        # Members of Python and scikit-learn have their own documentation.
        inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
        home = getattr(inner, "__module__", None) or getattr(getattr(inner, "__objclass__", None), "__module__", "")
        if not name.startswith("_") and (home or "").startswith("fairfront"):
            yield name


def _public():
    """All public names, including methods and properties."""
    for name in ("fairfront", "fairfront.indicators", "fairfront.metrics"):
        module = importlib.import_module(name)
        for public in module.__all__:
            thing = getattr(module, public)
            if isinstance(thing, str) or inspect.ismodule(thing):
                continue
            yield f"{name}.{public}"
            if inspect.isclass(thing):
                yield from (f"{name}.{public}.{member}" for member in _members(thing))


PUBLIC = sorted(_public())


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_are_complete(name):
    errors = [f"{code}: {message}" for code, message in validate(name)["errors"] if code in CHECKS]
    thing = Validator._load_obj(name)
    # numpydoc checks the results of plain functions only.
    if callable(thing) and not inspect.isclass(thing) and not inspect.isfunction(thing):
        returns = Validator(get_doc_object(thing)).returns
        errors += [] if returns and all(desc for _, _, desc in returns) else ["RT01: No Returns section found"]
    assert not errors, f"{name}: {'; '.join(errors)}"


def test_docstrings_of_all_kinds_are_checked():
    some = {
        "fairfront.FairClassifier.predict",  # inherited
        "fairfront.FairFrontClassifier.load",  # of the class
        "fairfront.Problem.names",  # a property
        "fairfront.indicators.MinNorm",
    }
    assert some <= set(PUBLIC)
    assert "fairfront.FairClassifier.get_params" not in PUBLIC


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


def test_all_lists_of_public_names_agree():
    tree = ast.parse(Path(fairfront.__file__).read_text())
    checked = next(n for n in tree.body if isinstance(n, ast.If))
    typed = {a.name for n in checked.body for a in n.names}
    lazy = {*fairfront._MODULES, *fairfront._SUBMODULES}
    assert typed == lazy == {*fairfront.__all__} - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'fairfront' has no attribute 'purty'"):
        fairfront.purty  # noqa: B018


def test_import_loads_no_optional_library():
    code = (
        "import sys, fairfront, fairfront.metrics, fairfront.indicators\n"
        "fairfront.metrics.demographic_parity_difference([0, 1], [0, 1], sensitive_features=[0, 1])\n"
        "heavy = {'pandas', 'sklearn', 'scipy', 'matplotlib', 'polars', 'pyarrow', 'tqdm'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
