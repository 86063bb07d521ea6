"""Runs a page of the documentation, and compares the output with the output that the page shows.

A page runs from top to bottom in its own folder, with `fairfront` and `python` first on the PATH.

- sh: runs in one `bash -e` per block and must succeed.
- text, json, csv, sql directly after an sh or python block (at most one line that ends in ":" may come between): the
  output of that block. Every line shown must be printed, in this order; … matches anything, and clock times match each
  other.
- text that begins with "$ ": commands with their output. A command whose output has "error: " must fail.
- python: the blocks of a page share one interpreter.
- rust: a doc test, so the facade crate must include the page.
- toml: must parse; is written to NAME.toml if the first line is "# NAME.toml".

Comments control the run. `<!-- setup`, shell lines, `-->` runs these lines at its place; `<!-- setup python` runs
Python lines in the interpreter of the page. Before a block, `<!-- not run: REASON -->` skips it, `<!-- exit N -->`
expects that exit code, `<!-- needs data -->` requires the published data sets, `<!-- killed when CONDITION -->` kills
the block when that command succeeds, and `<!-- form -->` marks a text that is not the output of a command.
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

# Reasons to skip a block.
REASONS = [
    "installs software",
    "needs a reader's own program",
    "needs the network",
    "takes long",
    "waits forever",
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
# A comment that begins like this names the program that writes the page.
GENERATED = "generated "
CLOCK = re.compile(r"\b\d+(\.\d+)? (s|ms|seconds)\b")

# Runs one block after another, and returns the output and the error of each as a line of JSON.
INTERPRETER = """
import contextlib, io, json, sys, traceback
out, names = sys.stdout, {"__name__": "__main__"}
for line in sys.stdin:
    page, first, text = json.loads(line)
    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile("\\n" * (first - 1) + text, page, "exec"), names)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), file=out, flush=True)
"""


class Wrong(Exception):
    """A problem with a block, and its line on the page."""

    def __init__(self, line, problem):
        super().__init__(problem)
        self.line = line


@dataclasses.dataclass
class Block:
    """A block of a page, or a setup."""

    kind: str
    line: int
    text: str = ""
    marks: dict = dataclasses.field(default_factory=dict)
    # Whether at most one line, which ends in ":", comes between this block and the one before.
    directly: bool = False


def parse(text):
    """Yield all blocks of a page in order; raise Wrong for a block or comment of an unknown kind."""
    lines = iter(enumerate(text.splitlines(), start=1))
    marks, between = {}, ["the top"]
    for number, line in lines:
        fence, comment = FENCE.match(line), COMMENT.fullmatch(line)
        if fence:
            indent, kind = fence.groups()
            if indent:
                raise Wrong(number, "the book cannot show a block inside a list; start it at the left margin")
            if kind not in KINDS:
                raise Wrong(number, f"unknown kind of block {kind!r}; choose one of {', '.join(KINDS)}")
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
            raise Wrong(number, f"unknown comment: {line.strip()}")
        elif line.strip():
            if marks:
                raise Wrong(number, f"{', '.join(marks)}: no block follows")
            between.append(line)
    if marks:
        raise Wrong(number, f"{', '.join(marks)}: no block follows")


def until(lines, first, end, kind):
    """Return the lines before the one that ends a block."""
    inside = []
    for _, line in lines:
        if line == end:
            return "".join(f"{line}\n" for line in inside)
        inside.append(line)
    raise Wrong(first, f"the {kind} has no end")


def mark(number, text):
    """Return the name and the value of a comment."""
    for name, pattern in MARKS:
        if found := pattern.fullmatch(text):
            if name == "not run" and found.group(1) not in REASONS:
                raise Wrong(number, f"not run: unknown reason {found.group(1)!r}; choose one of {', '.join(REASONS)}")
            return name, found.group(1)
    raise Wrong(number, f"unknown comment: {text}")


def plain(text):
    """Yield lines without clock times, in words or in a column of seconds, and without spaces at their ends."""
    column = None
    for line in text.splitlines():
        if header := re.search(r"\bseconds\b", line):
            column = header.end()
        elif not line.strip():
            column = None
        elif column:
            line = re.sub(r"[\d.]+$", "T", line[:column]) + line[column:]
        yield re.sub(r" {2,}T", "  T", CLOCK.sub("T", line.rstrip()))


def missing(shown, printed):
    """Return the first line shown that was not printed in order, with its position from 0; … matches anything."""
    lines, printed = shown.splitlines(), plain(printed)
    for place, line in enumerate(plain(shown)):
        pattern = ".*".join(map(re.escape, line.split("…")))
        if line.strip() not in ["", "…"] and not any(re.fullmatch(pattern, other) for other in printed):
            return place, lines[place]
    return None


def session(block):
    """Return the commands of a text with "$ ", each with its line number and the output shown."""
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
    """A page that runs from top to bottom."""

    def __init__(self, path, folder, binary, data=None, facade=""):
        self.path, self.data, self.facade = Path(path), data, facade
        self.name = str(self.path.relative_to(REPOSITORY)) if self.path.is_relative_to(REPOSITORY) else self.path.name
        self.folder, self.python = folder / "page", None
        # One line per skipped block.
        self.left_out = []
        # Output of the last block; None if it was skipped.
        self.printed = None
        self.environment = environment(folder, binary)
        self.folder.mkdir()

    def run(self):
        """Run all blocks and return the problems, each as a string that begins with file and line."""
        wrong = []
        try:
            for block in parse(self.path.read_text()):
                try:
                    self.block(block)
                except Wrong as error:
                    wrong.append(f"{self.name}:{error.line}: {error}")
                    # The output of a failed block is not compared.
                    self.printed = None
        except Wrong as error:
            wrong.append(f"{self.name}:{error.line}: {error}")
        finally:
            if self.python:
                self.python.stdin.close()
                self.python.wait(timeout=30)
        return wrong

    def block(self, block):
        reason = block.marks.get("not run")
        if "needs data" in block.marks and not self.data:
            reason = "needs data; set FAIRFRONT_DATA to the folder of the published files"
        if reason:
            self.left_out.append(f"{self.name}:{block.line}: not run: {reason}")
            self.printed = None
        elif block.kind in OUTPUTS:
            self.shown(block)
        elif block.kind in ["setup", "sh"]:
            printed = self.shell(block.line, block.text, block.marks, int(block.marks.get("exit", 0)))
            # The output of a setup does not count.
            self.printed = printed if block.kind == "sh" else self.printed
        elif block.kind in ["python", "setup python"]:
            printed = self.interpret(block)
            self.printed = printed if block.kind == "python" else self.printed
        elif block.kind == "toml":
            self.toml(block)
        elif f'{self.name}")]' not in self.facade:
            raise Wrong(block.line, "not a doc test: the facade crate does not include this page")

    def shown(self, block):
        """Check that the lines shown are printed, unless a comment marks them as a form."""
        if "form" in block.marks:
            return
        if block.text.startswith("$ "):
            *_, last = commands = session(block)
            for command in commands:
                number, line, shown = command
                fails = any(line.startswith("error: ") for line in shown.splitlines())
                code = block.marks.get("exit") if command is last else None
                printed = self.shell(number, line, block.marks, int(code) if code else None if fails else 0)
                self.compare(number + 1 + line.count("\n"), shown, printed)
        elif not block.directly:
            raise Wrong(block.line, f"no command prints this {block.kind}; mark it with <!-- form --> if none should")
        elif self.printed is not None:
            self.compare(block.line, block.text, self.printed)

    def compare(self, first, shown, printed):
        if lacking := missing(shown, printed):
            place, line = lacking
            raise Wrong(first + place, f"this line is not printed: {line}\nOutput:\n{printed}")

    def shell(self, number, text, marks, code):
        """Run commands and return their output; a code of None expects any code except 0."""
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
            printed, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Wrong(number, f"still running after {SECONDS} seconds: {text}") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != code and (code is not None or process.returncode == 0):
            wanted = "an error" if code is None else code
            raise Wrong(number, f"exit code {process.returncode} instead of {wanted}: {text}\nOutput:\n{printed}")
        # Bash does not fail if a command before a pipe is not found.
        if absent := re.search(r"^bash: .*: command not found$", printed, re.MULTILINE):
            raise Wrong(number, f"{absent.group()}: {text}")
        return printed

    def kill(self, number, process, condition):
        """Kill a command, and the commands that feed it, as soon as the condition holds."""
        end = time.monotonic() + SECONDS
        while subprocess.run(["bash", "-c", condition], cwd=self.folder, capture_output=True).returncode != 0:
            if time.monotonic() > end or process.poll() is not None:
                raise Wrong(number, f"the command was not killed, because this condition never held: {condition}")
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)

    def interpret(self, block):
        """Run Python code and return its output."""
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
        printed, error = json.loads(answer)
        if error:
            raise Wrong(block.line, f"{error}\nOutput:\n{printed}")
        return printed

    def toml(self, block):
        try:
            tomllib.loads(block.text)
        except tomllib.TOMLDecodeError as error:
            raise Wrong(block.line, str(error)) from None
        if name := re.match(r"# ([\w-]+\.toml)\b", block.text):
            (self.folder / name.group(1)).write_text(block.text)


def environment(folder, binary):
    """Return the environment of a reader with only the command, Python and an empty home folder."""
    programs, home = folder / "bin", folder / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "fairfront").symlink_to(binary)
    # Python would not find its packages through a link.
    (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (programs / "python").chmod(0o755)
    given = {name: value for name, value in os.environ.items() if not name.startswith(("FAIRFRONT_", "XDG_"))}
    return given | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "MPLBACKEND": "agg",
        # Setups read files of the project from here.
        "SOURCES": str(REPOSITORY),
    }
