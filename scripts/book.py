"""What the book shows differently: no steering comments, and paths where links lead to the sources.

A page that would fetch something from elsewhere is a warning, which ends the strict build."""

import logging
import re
from pathlib import Path

LOG = logging.getLogger("mkdocs.hooks.book")
ROOT = Path(__file__).resolve().parents[1]

COMMENT = re.compile(r"^<!--.*?-->\n?", re.DOTALL | re.MULTILINE)
# Rust of a page is a doc test, with lines that rustdoc hides.
RUST = re.compile(r"^```rust\n.*?^```$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^# .*\n", re.MULTILINE)
# A link that leaves docs/: the sources are not part of the book.
OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]*)(#[^)]*)?\)")
# What a browser fetches of its own accord.
FETCHED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"' >]*)")


def on_page_markdown(markdown, page, **_):
    """The text of a page as the book shows it."""

    def path(link):
        text, target = link.group(1), link.group(2)
        if not (ROOT / target).exists():
            LOG.warning("%s: there is no %s", page.file.src_path, target)
        return text if target in text else f"{text} (`{target}`)"

    markdown = RUST.sub(lambda block: HIDDEN.sub("", block.group()), COMMENT.sub("", markdown))
    return OUTSIDE.sub(path, markdown)


def on_page_content(html, **_):
    """A bar in code in a table needs a backslash elsewhere, which is shown here; short code stays on one line."""
    html = re.sub(r"^<td.*</td>$", lambda cell: cell.group().replace(r"\|", "|"), html, flags=re.MULTILINE)
    return re.sub(r"<code>(?=[^<\n]{1,28}</code>)", '<code class="short">', html)


def on_post_page(output, page, **_):
    """Nothing is changed here, only looked at."""
    for address in FETCHED.findall(output):
        LOG.warning("%s: would be fetched when the page is read: %s", page.file.src_path, address)
    return output
