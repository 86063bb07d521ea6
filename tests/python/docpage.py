"""Runs a page of the documentation: its commands and code do what it says, and say what it shows.

A page is run from top to bottom in a folder of its own, with `fairfront` and `python` first on the PATH.

- sh: one `bash -e` a block, which has to succeed.
- text, json, csv, sql directly behind an sh or python block (at most one line that ends in ":" between): what that
  block says. Every line shown is said, in this order; … stands for anything, clock times for each other.
- text that begins with "$ ": commands, each with what it says. A command that says "error: " fails.
- python: the blocks of a page share one interpreter.
- rust: a doc test, so the page has to be one of the facade's.
- toml: parsed, and written to NAME.toml where the first line is "# NAME.toml".

Comments steer: `<!-- setup`, shell lines, `-->` is run where it stands, with `<!-- setup python` by the page's
interpreter. Before a block, `<!-- not run: REASON -->`
skips it, `<!-- exit N -->` asks for that exit code, `<!-- needs data -->` for the published data sets,
`<!-- killed when CONDITION -->` kills it once that command succeeds, and `<!-- form -->` says that the text shows a
shape, and not what a command says.
"""

import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from conftest import REPOSITORY

# Why a block may be left out.
REASONS = [
    "installs software",
    "needs a reader's own program",
    "needs the network",
    "takes long",
    "waits for ever",
]
OUTPUTS = ["text", "json", "csv", "sql"]
KINDS = ["sh", "python", "rust", "toml", *OUTPUTS]
SECONDS = 120

FENCE = re.compile(r"( *)```(.*)")
COMMENT = re.compile(r"<!-- (.*?) -->")
MARKS = [
    ("not run", re.compile(r"not run: (.+)")),
    ("exit", re.compile(r"exit (\d+)")),
    ("killed", re.compile(r"killed when (.+)")),
    ("needs data", re.compile(r"needs (data)")),
    ("form", re.compile(r"(form)")),
]
# Says where a page comes from, to those who would change it.
GENERATED = "generated "
CLOCK = re.compile(r"\b\d+(\.\d+)? (s|ms|seconds)\b")

# Runs one block after the other; what a block prints and how it failed goes back as a line of JSON.
INTERPRETER = """
import contextlib, io, json, sys, traceback
say, names = sys.stdout, {"__name__": "__main__"}
for line in sys.stdin:
    page, first, text = json.loads(line)
    said, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            exec(compile("\\n" * (first - 1) + text, page, "exec"), names)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([said.getvalue(), error]), file=say, flush=True)
"""


class Wrong(Exception):
    """What is wrong with a block, and at which line of its page."""

    def __init__(self, line, what):
        super().__init__(what)
        self.line = line


@dataclasses.dataclass
class Block:
    """A block of a page, or a setup."""

    kind: str
    line: int
    text: str = ""
    marks: dict = dataclasses.field(default_factory=dict)
    # Whether nothing but a line that leads over stands between this block and the one before.
    directly: bool = False


def parse(text):
    """All blocks of a page in order; what cannot be understood is said."""
    lines = iter(enumerate(text.splitlines(), start=1))
    marks, between = {}, ["the top"]
    for number, line in lines:
        fence, comment = FENCE.match(line), COMMENT.fullmatch(line)
        if fence:
            indent, kind = fence.groups()
            if indent:
                raise Wrong(number, "a block within a list is not shown as one in the book; begin it at the left")
            if kind not in KINDS:
                raise Wrong(number, f"a block of the kind {kind!r}; there are {', '.join(KINDS)}")
            inside = until(lines, number, "```", "block")
            directly = not between or (len(between) == 1 and between[0].endswith(":"))
            yield Block(kind, number + 1, inside, marks, directly)
            marks, between = {}, []
        elif line in ["<!-- setup", "<!-- setup python"]:
            yield Block(line.removeprefix("<!-- "), number + 1, until(lines, number, "-->", "setup"), marks)
            marks = {}
        elif comment:
            if not comment.group(1).startswith(GENERATED):
                name, value = mark(number, comment.group(1))
                marks[name] = value
        elif line.lstrip().startswith("<!--"):
            raise Wrong(number, f"a comment that steers nothing: {line.strip()}")
        elif line.strip():
            if marks:
                raise Wrong(number, f"{', '.join(marks)}: there is no block behind it")
            between.append(line)
    if marks:
        raise Wrong(number, f"{', '.join(marks)}: there is no block behind it")


def until(lines, first, end, what):
    """The lines up to the one that ends a block."""
    inside = []
    for _, line in lines:
        if line == end:
            return "".join(f"{line}\n" for line in inside)
        inside.append(line)
    raise Wrong(first, f"a {what} without an end")


def mark(number, text):
    """The name and value of a comment."""
    for name, pattern in MARKS:
        if found := pattern.fullmatch(text):
            if name == "not run" and found.group(1) not in REASONS:
                raise Wrong(number, f"not run: {found.group(1)!r} is no reason; there are {', '.join(REASONS)}")
            return name, found.group(1)
    raise Wrong(number, f"a comment that steers nothing: {text}")


def plain(text):
    """Lines less what a clock said, in words or in a column of seconds, and blanks at their ends."""
    column = None
    for line in text.splitlines():
        if header := re.search(r"\bseconds\b", line):
            column = header.end()
        elif not line.strip():
            column = None
        elif column:
            line = re.sub(r"[\d.]+$", "T", line[:column]) + line[column:]
        yield re.sub(r" {2,}T", "  T", CLOCK.sub("T", line.rstrip()))


def missing(shown, said):
    """The first line shown that was not said, in order, with its place from 0; … stands for anything."""
    lines, said = shown.splitlines(), plain(said)
    for place, line in enumerate(plain(shown)):
        pattern = ".*".join(map(re.escape, line.split("…")))
        if line.strip() not in ["", "…"] and not any(re.fullmatch(pattern, other) for other in said):
            return place, lines[place]
    return None


def session(block):
    """Commands of a text with "$ ", each with its line and the lines that it should say."""
    found = []
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith("$ "):
            found.append([number, line[2:], ""])
        elif found[-1][1].endswith("\\"):
            found[-1][1] += f"\n{line}"
        else:
            found[-1][2] += f"{line}\n"
    return found


class Page:
    """A page on its way from top to bottom."""

    def __init__(self, path, folder, binary, data=None, facade=""):
        self.path, self.data, self.facade = Path(path), data, facade
        self.name = str(self.path.relative_to(REPOSITORY)) if self.path.is_relative_to(REPOSITORY) else self.path.name
        self.folder, self.python = folder / "page", None
        # What was left out, as lines for people.
        self.left_out = []
        # What the last block said; None where it was left out.
        self.said = None
        self.environment = environment(folder, binary)
        self.folder.mkdir()

    def run(self):
        """Runs all of it; what is wrong comes back as lines that begin with file and line."""
        wrong = []
        try:
            for block in parse(self.path.read_text()):
                try:
                    self.block(block)
                except Wrong as error:
                    wrong.append(f"{self.name}:{error.line}: {error}")
                    # Nothing can be said of what this block should have said.
                    self.said = None
        except Wrong as error:
            wrong.append(f"{self.name}:{error.line}: {error}")
        finally:
            if self.python:
                self.python.stdin.close()
                self.python.wait(timeout=30)
        return wrong

    def block(self, block):
        why = block.marks.get("not run")
        if "needs data" in block.marks and not self.data:
            why = "needs data; set FAIRFRONT_DATA to the folder of the published files"
        if why:
            self.left_out.append(f"{self.name}:{block.line}: not run: {why}")
            self.said = None
        elif block.kind in OUTPUTS:
            self.shown(block)
        elif block.kind in ["setup", "sh"]:
            said = self.shell(block.line, block.text, block.marks, int(block.marks.get("exit", 0)))
            # A setup between a command and what it says is silent.
            self.said = said if block.kind == "sh" else self.said
        elif block.kind in ["python", "setup python"]:
            said = self.interpret(block)
            self.said = said if block.kind == "python" else self.said
        elif block.kind == "toml":
            self.toml(block)
        elif f'{self.name}")]' not in self.facade:
            raise Wrong(block.line, "no doc test: the facade has no module with the text of this page")

    def shown(self, block):
        """What is shown is said, where it is not a shape."""
        if "form" in block.marks:
            return
        if block.text.startswith("$ "):
            *_, last = commands = session(block)
            for command in commands:
                number, line, shown = command
                fails = any(line.startswith("error: ") for line in shown.splitlines())
                code = block.marks.get("exit") if command is last else None
                said = self.shell(number, line, block.marks, int(code) if code else None if fails else 0)
                self.compare(number + 1 + line.count("\n"), shown, said)
        elif not block.directly:
            raise Wrong(block.line, f"{block.kind} that no command says; mark what is a shape with <!-- form -->")
        elif self.said is not None:
            self.compare(block.line, block.text, self.said)

    def compare(self, first, shown, said):
        if lacking := missing(shown, said):
            place, line = lacking
            raise Wrong(first + place, f"this line is not said: {line}\nbut:\n{said}")

    def shell(self, number, text, marks, code):
        """What commands say; a code of None stands for any but 0."""
        environment = self.environment | ({"FAIRFRONT_DATA": str(self.data)} if "needs data" in marks else {})
        process = subprocess.Popen(
            ["bash", "-e", "-c", text],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            if "killed" in marks:
                self.kill(number, process, marks["killed"])
                code = -signal.SIGKILL
            said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Wrong(number, f"no end after {SECONDS} seconds: {text}") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != code and (code is not None or process.returncode == 0):
            wanted = "an error" if code is None else code
            raise Wrong(number, f"exit code {process.returncode} instead of {wanted}: {text}\nwhich says:\n{said}")
        # At the beginning of a pipe that is no failure.
        if absent := re.search(r"^bash: .*: command not found$", said, re.MULTILINE):
            raise Wrong(number, f"{absent.group()}: {text}")
        return said

    def kill(self, number, process, condition):
        """Kills a command and who feeds it, as soon as the condition holds."""
        end = time.monotonic() + SECONDS
        while subprocess.run(["bash", "-c", condition], cwd=self.folder, capture_output=True).returncode != 0:
            if time.monotonic() > end or process.poll() is not None:
                raise Wrong(number, f"the command was not killed: this never held: {condition}")
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)

    def interpret(self, block):
        """What Python prints."""
        if not self.python:
            self.python = subprocess.Popen(
                [sys.executable, "-c", INTERPRETER],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        print(json.dumps([self.name, block.line, block.text]), file=self.python.stdin, flush=True)
        answer = self.python.stdout.readline()
        if not answer:
            raise Wrong(block.line, "the interpreter ended")
        said, error = json.loads(answer)
        if error:
            raise Wrong(block.line, f"{error}\nwhich says:\n{said}")
        return said

    def toml(self, block):
        try:
            tomllib.loads(block.text)
        except tomllib.TOMLDecodeError as error:
            raise Wrong(block.line, str(error)) from None
        if name := re.match(r"# ([\w-]+\.toml)\b", block.text):
            (self.folder / name.group(1)).write_text(block.text)


def environment(folder, binary):
    """Variables of a reader who has nothing but the command, Python and an own home."""
    programs, home = folder / "bin", folder / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "fairfront").symlink_to(binary)
    # A link would not find the packages beside it.
    (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (programs / "python").chmod(0o755)
    given = {name: value for name, value in os.environ.items() if not name.startswith(("FAIRFRONT_", "XDG_"))}
    return given | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "MPLBACKEND": "agg",
        # Setups take files of the project from here.
        "SOURCES": str(REPOSITORY),
    }
