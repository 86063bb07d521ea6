"""The references in the documentation match the help of the command and the docstrings of the Python package."""

import importlib.util
import os
import sys

import pytest
from conftest import REPOSITORY


def _script(name):
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference():
    """The script that writes the command-line reference."""
    return _script("command_reference")


@pytest.fixture(scope="module")
def python_reference():
    """The script that writes the Python reference."""
    return _script("python_reference")


def test_the_page_is_up_to_date(reference, fairfront):
    wanted = reference.page(fairfront.binary)
    if os.environ.get("FAIRFRONT_UPDATE"):
        reference.PAGE.write_text(wanted, encoding="utf-8")
    assert reference.PAGE.read_text(encoding="utf-8") == wanted, (
        "docs/reference/command-line.md is out of date; run make reference, or this test with FAIRFRONT_UPDATE=1"
    )


def test_every_command_has_a_section(reference, fairfront):
    headings = [line for line in reference.page(fairfront.binary).splitlines() if line.startswith("## ")]
    assert headings[0] == "## fairfront"
    assert {"## fairfront fit", "## fairfront select", "## fairfront data", "## fairfront data get"} <= set(headings)
    assert len(headings) == len(set(headings))


def test_subcommands_are_read_from_the_help(reference):
    commands = "  one    First\n  two-a  Second, with a line\n         that goes on\n  help   Print\n"
    assert reference.subcommands(f"Usage: x\n\nCommands:\n{commands}\nOptions:\n  -h\n") == ["one", "two-a"]
    assert reference.subcommands("Usage: x\n\nOptions:\n  -h\n") == []


def test_the_python_pages_are_up_to_date(python_reference):
    for path, wanted in python_reference.pages().items():
        if os.environ.get("FAIRFRONT_UPDATE"):
            path.write_text(wanted, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == wanted, f"{path.name} is out of date; run make reference"


def test_every_python_parameter_is_described(python_reference):
    items = [item for listed in python_reference.items().values() for item in listed]
    methods = [method for item in items for method in item.methods()]
    assert len(items) > 40 and len(methods) > 20
    wrong = [line for item in [*items, *methods] for line in python_reference.undescribed(item)]
    assert not wrong, "\n".join(wrong)


def test_docstrings_are_read_in_parts(python_reference):
    doc = python_reference.Docstring.parse(
        """Do it.

        More, with ``code``.

        Parameters
        ----------
        a, b : int, default=1
            Two numbers
            in two lines.
        **rest
            Others.

        Returns
        -------
        list of str
            The names.
        """
    )
    assert doc.prose == "Do it.\n\nMore, with ``code``."
    first, second = doc.entries("Parameters")
    assert (first.names, first.kind, first.text.split()) == (["a", "b"], "int, default=1", "Two numbers in two lines.".split())
    assert (second.names, second.kind, second.text.strip()) == (["**rest"], "", "Others.")
    (returned,) = doc.entries("Returns")
    assert (returned.names, returned.kind) == ([], "list of str")
