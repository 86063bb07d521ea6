"""Every command and every piece of code in the documentation runs, and prints the output that the page shows."""

import os
from pathlib import Path

import pytest
from conftest import LEFT_OUT, REPOSITORY
from docpage import REASONS, Page

PAGES = ["README.md", *sorted(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*.md"))]
FACADE = (REPOSITORY / "crates/fairfront/src/lib.rs").read_text()


@pytest.fixture
def published():
    """The folder of the published files, or None."""
    folder = Path(os.environ.get("FAIRFRONT_DATA") or "absent").absolute()
    return folder if folder.is_dir() else None


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs_and_prints_its_output(name, fairfront, published, tmp_path):
    page = Page(REPOSITORY / name, tmp_path, fairfront.binary, published, FACADE)
    wrong = page.run()
    LEFT_OUT.extend(page.left_out)
    if os.environ.get("CI") == "true":
        wrong += [line for line in page.left_out if "needs data" in line]
    assert not wrong, "\n\n".join(["commands or output of the page are wrong", *wrong])


def test_blocks_are_skipped_for_few_reasons():
    reasons = "installs software, needs a reader's own program, needs the network, takes long, waits forever"
    assert ", ".join(REASONS) == reasons


class Runner:
    """Runs pages that a test writes."""

    def __init__(self, folder, binary):
        self.folder, self.binary, self.page = folder, binary, None

    def __call__(self, text, **options):
        path = self.folder / "page.md"
        # Pages in this file use ~~~ as the fence.
        path.write_text(text.replace("~~~", "```"))
        self.page = Page(path, self.folder, self.binary, **options)
        return self.page.run()


@pytest.fixture
def run(fairfront, tmp_path):
    return Runner(tmp_path, fairfront.binary)


RIGHT = """# Right

~~~toml
# settings.toml; a file
seed = 3
~~~

<!-- setup
printf 'a\\nb\\nc\\n' > letters
-->

~~~sh
cat letters settings.toml
~~~

~~~text
a
…
# settings.toml; …
~~~

~~~sh
echo 'took 0.3 s' >&2
echo "$HOME"
~~~

It prints:

~~~text
took 12.5 s
…/home
~~~

~~~sh
printf 'run  seconds  models\\n  1     12.5      7\\n\\n12.5\\n'
~~~

~~~text
run  seconds  models
  1      0.1      7

12.5
~~~

<!-- exit 3 -->
~~~sh
exit 3
~~~

<!-- setup python
known = 1
print("not compared")
-->

~~~python
print("one")
~~~

~~~csv
one
~~~

~~~python
open("made", "w").write(str(known + 1))
~~~

~~~text
$ cat made && \\
  echo three
2three
$ fairfront show nothing
error: …
$ fairfront --version
fairfront …
~~~

<!-- form -->
~~~text
NAME VALUE
~~~

<!-- killed when test -e begun -->
~~~text
$ echo first; touch begun; sleep 60
first
~~~

<!-- not run: waits forever -->
~~~sh
sleep 1000000
~~~

~~~text
not compared either
~~~

<!-- needs data -->
~~~sh
false
~~~

~~~rust
assert!(true);
~~~
"""


def test_a_correct_page(run):
    assert run(RIGHT, facade='#[doc = include_str!("../../../page.md")]') == []
    assert [line.split(": ", maxsplit=2)[2] for line in run.page.left_out] == [
        "waits forever",
        "needs data; set FAIRFRONT_DATA to the folder of the published files",
    ]


WRONG = {
    "a command that fails": ("\n~~~sh\nfalse\ntrue\n~~~\n", 3, "exit code 1 instead of 0"),
    "an unknown command": ("~~~sh\nfairfrnt fit\n~~~\n", 2, "exit code 127 instead of 0"),
    "an unknown command in a pipe": ("~~~sh\nproducer | cat\n~~~\n", 2, "producer: command not found"),
    "an unknown flag": ("~~~sh\nfairfront fit demo --outt r\n~~~\n", 2, "unexpected argument '--outt'"),
    "a command that does not fail": ("<!-- exit 3 -->\n~~~sh\ntrue\n~~~\n", 3, "exit code 0 instead of 3"),
    "another exit code": ("<!-- exit 3 -->\n~~~sh\nexit 4\n~~~\n", 3, "exit code 4 instead of 3"),
    "a line that is not printed": ("~~~sh\necho a\n~~~\n\n~~~text\na\nb\n~~~\n", 7, "this line is not printed: b"),
    "lines in another order": ("~~~sh\necho a; echo b\n~~~\n~~~text\nb\na\n~~~\n", 6, "this line is not printed: a"),
    "another number": ("~~~sh\necho 12 rows\n~~~\n~~~text\n13 rows\n~~~\n", 5, "this line is not printed: 13 rows"),
    "another number next to seconds": (
        "~~~sh\nprintf 'seconds  models\\n    1.5       7\\n'\n~~~\n~~~text\nseconds  models\n    1.5       8\n~~~\n",
        6,
        "this line is not printed:     1.5       8",
    ),
    "another number below seconds": (
        "~~~sh\nprintf 'seconds\\n1.5\\n\\n12.5\\n'\n~~~\n~~~text\nseconds\n\n12.6\n~~~\n",
        7,
        "this line is not printed: 12.6",
    ),
    "half a line": ("~~~sh\necho 12 rows\n~~~\n~~~text\n12\n~~~\n", 5, "this line is not printed: 12"),
    "a session with different output": ("~~~text\n$ echo a\nb\n~~~\n", 3, "this line is not printed: b"),
    "a session that fails": ("~~~text\n$ true\n$ false\n~~~\n", 3, "exit code 1 instead of 0"),
    "an error with exit code 0": ("~~~text\n$ echo error: a\nerror: a\n~~~\n", 2, "exit code 0 instead of an error"),
    "a session with another exit code": ("<!-- exit 3 -->\n~~~text\n$ exit 1\n~~~\n", 3, "exit code 1 instead of 3"),
    "text after a sentence": ("~~~sh\ntrue\n~~~\nOne line.\n~~~text\na\n~~~\n", 6, "no command prints this text"),
    "text after two lines": ("~~~sh\ntrue\n~~~\nA:\nB:\n~~~text\na\n~~~\n", 7, "no command prints this text"),
    "text at the top": ("~~~text\na\n~~~\n", 2, "no command prints this text"),
    "an unknown kind": ("~~~yaml\na: 1\n~~~\n", 1, "unknown kind of block 'yaml'"),
    "a block without a kind": ("~~~\na\n~~~\n", 1, "unknown kind of block ''"),
    "a block without an end": ("~~~sh\ntrue\n", 1, "the block has no end"),
    "a setup without an end": ("<!-- setup\ntrue\n", 1, "the setup has no end"),
    "a setup that fails": ("<!-- setup\nfalse\n-->\n", 2, "exit code 1 instead of 0"),
    "a setup that raises": ("<!-- setup python\n1 / 0\n-->\n", 2, "ZeroDivisionError"),
    "a block inside a list": ("- a\n\n  ~~~sh\n  true\n  ~~~\n", 3, "a block inside a list"),
    "another reason": ("<!-- not run: no time -->\n~~~sh\ntrue\n~~~\n", 1, "unknown reason 'no time'"),
    "an unknown comment": ("<!-- nor run: takes long -->\n", 1, "unknown comment: nor run: takes long"),
    "a mark without a block": ("<!-- form -->\n\nText.\n", 3, "form: no block follows"),
    "a mark at the end": ("Text.\n\n<!-- form -->\n", 3, "form: no block follows"),
    "invalid toml": ("~~~toml\na = \n~~~\n", 2, "Invalid value"),
    "python that raises": ("~~~python\na = 1\n1 / 0\n~~~\n", 2, 'File "page.md", line 3, in <module>'),
    "python with different output": ("~~~python\nprint(1)\n~~~\n~~~text\n2\n~~~\n", 5, "this line is not printed: 2"),
    "python that ends": ("~~~python\nimport os; os._exit(1)\n~~~\n", 2, "the interpreter ended"),
    "rust that is not a doc test": ("~~~rust\nlet a = 1;\n~~~\n", 2, "not a doc test"),
    "a command that ends before the kill": (
        "<!-- killed when test -e never -->\n~~~text\n$ true\n~~~\n",
        3,
        "the command was not killed",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_page(name, run):
    text, line, problem = WRONG[name]
    wrong = run(text)
    assert len(wrong) == 1 and wrong[0].startswith(f"page.md:{line}: ") and problem in wrong[0], wrong


def test_only_blocks_that_need_data_see_it(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRFRONT_DATA", str(tmp_path))
    text = '~~~sh\ntest -z "$FAIRFRONT_DATA"\n~~~\n\n<!-- needs data -->\n~~~sh\ntest "$FAIRFRONT_DATA" = given\n~~~\n'
    assert run(text, data="given") == []


def test_one_mistake_does_not_hide_the_next(run):
    wrong = run("~~~sh\nfalse\n~~~\n\n~~~text\na\n~~~\n\n~~~sh\nfalse\n~~~\n")
    assert [line.split(":")[1] for line in wrong] == ["2", "10"]
