"""No text that people read gains a phrase that the project's style rules out.

`writing_allowed.json` has the number of matches that each file may have. The numbers may only fall: FAIRFRONT_UPDATE=1
writes smaller ones, never larger ones.
"""

import json
import os
from pathlib import Path

import pytest
import writing
from conftest import REPOSITORY

ALLOWED = Path(__file__).with_name("writing_allowed.json")


def test_no_new_phrases():
    found = writing.count(REPOSITORY)
    allowed = json.loads(ALLOWED.read_text(encoding="utf-8"))
    pairs = {(phrase, name) for counts in (found, allowed) for phrase, names in counts.items() for name in names}
    more, fewer = [], {}
    for phrase, name in sorted(pairs):
        now, limit = found.get(phrase, {}).get(name, 0), allowed.get(phrase, {}).get(name, 0)
        if now > limit:
            source = (REPOSITORY / name).read_text(encoding="utf-8")
            places = [around for match, around in writing.matches(name, source) if match == phrase]
            more.append(f"{name}: {phrase!r} {now} times, allowed {limit}: {' | '.join(places)}")
        elif now < limit:
            fewer[phrase, name] = now
    if fewer and os.environ.get("FAIRFRONT_UPDATE"):
        for (phrase, name), now in fewer.items():
            allowed[phrase][name] = now
        kept = {phrase: {name: n for name, n in names.items() if n} for phrase, names in allowed.items()}
        kept = {phrase: names for phrase, names in kept.items() if names}
        ALLOWED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        fewer = {}
    assert not more, "reword these texts:\n" + "\n".join(more)
    assert not fewer, f"run this test with FAIRFRONT_UPDATE=1 to lower the limits of {sorted(fewer)}"


@pytest.mark.parametrize(
    ("name", "source", "phrases"),
    [
        ("a.rs", "/// What is there stays.\nfn what() {}", ["what"]),
        ("a.rs", "// What is this?\nlet what = 1;", []),
        ("a.rs", '/// One row\n/// a point.\nlet a = "it is no file";', ["a for per", "is no"]),
        ("a.rs", "let c = '\"'; // beside\nlet s = r#\"the \"texts\" here\"#;", ["beside", "texts"]),
        ("a.rs", "#[test]\nfn rows_behind_a_gap() {}", ["behind"]),
        ("a.rs", 'let s = "that is \\\n    said";', ["is said"]),
        ("a.py", '"""Mends it."""\nwhere = 3  # the same where it fails\n', ["mend", "where"]),
        ("a.py", "def test_texts_are_read(): ...\n", ["texts"]),
        ("a.ts", "const a = `70 %`; // f(x), where x is a number", ["percent"]),
        ("a.md", "Minimised, `minimised`:\n\n```text\nminimised\n```\n", ["British"]),
        ("a.md", "Nobody deserves a notice.", ["who", "judgment", "notice"]),
        ("a.toml", "# disparate_impact is gone", ["old names"]),
        ("a.md", "The row is no longer there; there are no more than two.", []),
        ("a.md", "One row per point, an array of a row.", []),
    ],
)
def test_the_search_itself(name, source, phrases):
    assert sorted(phrase for phrase, _ in writing.matches(name, source)) == sorted(phrases)


def test_every_kind_of_text_is_searched():
    names = writing.searched(REPOSITORY)
    for expected in ("README.md", "crates/fairfront-cli/src/args.rs", "crates/fairfront-report/web/src/plot.ts", "Makefile"):
        assert expected in names
