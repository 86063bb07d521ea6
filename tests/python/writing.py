"""Finds phrases that the project's style rules out, in every text that people read.

The texts of a file are its comments, its strings and the names of its tests; of Markdown, everything except code.
Code itself is not searched. `count` gives the number of matches per phrase and file.
"""

import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

UNITS = "row|point|model|core|thread|batch|category|level|column|number|value|line|second|group|round|step|byte|file"
STEMS = (
    "(?:un)?(?:minim|maxim|normal|optim|penal|standard|summar|recogn|equal|initial|regular|organ|general|character"
    "|discret|special|serial|final|util|real|emphas|critic|favor|priorit|categor|synchron|visual)is(?:e|es|ed|er|ers|ing|ation|ations)"
)
# Each phrase has a reason: the rule it breaks, or the word that the project uses instead.
PHRASES = {
    "what": r"\bwhat\b(?![^.;:]*\?)",  # name the thing; questions are fine
    "who": r"\b(?:who|whom|whoever|nobody|somebody)\b(?![^.;:]*\?)",  # address the reader as you
    "where": r"(?<!, )(?<!from )\bwhere\b(?! next)(?![^.;:]*\?)",  # if for conditions; ", where x is" explains a formula
    "is no": r"\b(?:is|are|was|were) no\b(?! longer| more than| less than| fewer than)",  # is not a
    "is said": r"\b(?:is|are|was|were|be) said\b",  # programs print, warn, report
    "beside": r"\bbeside\b",  # next to, compared with
    "behind": r"\bbehind\b",  # after
    "anew": r"\b(?:anew|alike|of now|but for|otherwise than|as far as \w+ goes?)\b",
    "mend": r"\bmend(?:s|ed|ing)?\b",  # fix
    "texts": r"\btexts\b",  # strings
    "a for per": rf"\b(?:one|two|three|four|\d[\d,.]*|{UNITS.replace('|', 's?|')}s?) an? (?:{UNITS})\b",  # per
    "percent": r"\d %",  # 70%
    "notice": r"\bnotices?\b",  # warning or note
    "judgment": r"\b(?:honest|honestly|deserve[sd]?|deserving)\b",
    "British": rf"\b(?:{STEMS}|(?:col|neighb|fav|behavi|hon)our\w*|(?:un)?labell\w+|modell\w+|centres?|licences?)\b",
    "old names": r"disparate_impact|(?:true|false)_positive_rate_parity|--method\b|\bparity gap\b|\bwidest gap\b|\bproven gap\b",
}
SEARCHED = {".md", ".rs", ".py", ".pyi", ".ts", ".html", ".toml", ".yml", ".sh"}
# Results and generated pages; the programs that write them are searched.
LEFT_OUT = (
    "bench/results/",
    "docs/evidence/reproduction",
    "docs/reference/command-line.md",
    "docs/reference/python-",
    "crates/fairfront-report/src/page/",
    "tests/python/writing.py",
    "tests/python/test_writing.py",
)

_RUST = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<raw>r(?P<hash>\#*)".*?"(?P=hash))"""
    r"""|(?P<string>b?"(?:\\.|[^"\\])*")|(?P<char>'(?:\\.|[^\\'\n])')""",
    re.DOTALL,
)
_SCRIPT = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)""",
    re.DOTALL,
)
_TEST_NAME = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)|\bdef (test_\w+)")


def _of_code(source: str, grammar: re.Pattern[str]) -> Iterator[str]:
    """Comments and strings; comments on consecutive lines are one text."""
    lines: list[str] = []
    end = 0
    for found in grammar.finditer(source):
        if comment := found["comment"]:
            if source[end : found.start()].strip() and lines:
                yield " ".join(lines)
                lines = []
            lines.append(comment.lstrip("/!").strip())
        else:
            if lines:
                yield " ".join(lines)
                lines = []
            yield re.sub(r"\\\n\s*", "", found[0])
        end = found.end()
    if lines:
        yield " ".join(lines)


def _of_python(source: str) -> Iterator[str]:
    lines: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines.append(token.string.lstrip("#").strip())
        elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            if lines:
                yield " ".join(lines)
                lines = []
            if token.type == tokenize.STRING:
                yield token.string
    if lines:
        yield " ".join(lines)


def _of_markdown(source: str) -> Iterator[str]:
    source = re.sub(r"^```.*?^```", "", source, flags=re.DOTALL | re.MULTILINE)
    yield re.sub(r"`[^`\n]*`", "`code`", source)


def texts(name: str, source: str) -> Iterator[str]:
    """The texts of a file that people read, each on one line."""
    kind = Path(name).suffix
    if kind == ".rs":
        found = _of_code(source, _RUST)
    elif kind == ".ts":
        found = _of_code(source, _SCRIPT)
    elif kind in (".py", ".pyi"):
        found = _of_python(source)
    elif kind == ".md":
        found = _of_markdown(source)
    else:
        found = iter([source])
    for text in found:
        yield re.sub(r"\s+", " ", text)
    if kind in (".rs", ".py"):
        for test in _TEST_NAME.finditer(source):
            yield (test[1] or test[2]).replace("_", " ")


def searched(repository: Path) -> list[str]:
    """The names of the files to search: tracked ones, and new ones that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    names = sorted(set(listed.stdout.splitlines()))
    return [
        name
        for name in names
        if (Path(name).suffix in SEARCHED or Path(name).name == "Makefile")
        and not name.startswith(LEFT_OUT)
        and (repository / name).is_file()
    ]


def matches(name: str, source: str) -> Iterator[tuple[str, str]]:
    """Each forbidden phrase in the texts of a file, with the words around it."""
    compiled = {phrase: re.compile(pattern, re.IGNORECASE) for phrase, pattern in PHRASES.items()}
    for text in texts(name, source):
        for phrase, pattern in compiled.items():
            for found in pattern.finditer(text):
                yield phrase, text[max(0, found.start() - 40) : found.end() + 40]


def count(repository: Path) -> dict[str, dict[str, int]]:
    """The number of matches by phrase and file."""
    counts: dict[str, Counter[str]] = {phrase: Counter() for phrase in PHRASES}
    for name in searched(repository):
        source = (repository / name).read_text(encoding="utf-8")
        for phrase, _ in matches(name, source):
            counts[phrase][name] += 1
    return {phrase: dict(sorted(found.items())) for phrase, found in counts.items() if found}
