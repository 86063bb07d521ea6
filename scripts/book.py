"""Hooks of mkdocs: remove control comments from pages, and replace links to source files by paths.

A page that fetches anything from another site gives a warning, which fails the strict build."""

import logging
import re
from pathlib import Path

LOG = logging.getLogger("mkdocs.hooks.book")
ROOT = Path(__file__).resolve().parents[1]

COMMENT = re.compile(r"^<!--.*?-->\n?", re.DOTALL | re.MULTILINE)
# Rust code of a page is a doc test; rustdoc hides some of its lines.
RUST = re.compile(r"^```rust\n.*?^```$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^# .*\n", re.MULTILINE)
# A link to another folder. If it leaves docs/, it points to a source file, which is not part of the book.
LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#]*)(#[^)]*)?\)")
# Addresses that a browser fetches when it opens a page.
FETCHED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"' >]*)")


def on_page_markdown(markdown, page, **_):
    """Return the Markdown of a page without control comments and links to source files."""

    def path(link):
        text, full = link.group(1), (ROOT / "docs" / page.file.src_path).parent.joinpath(link.group(2)).resolve()
        if full.is_relative_to(ROOT / "docs"):
            return link.group()
        target = str(full.relative_to(ROOT))
        if not full.exists():
            LOG.warning("%s: links to %s, which does not exist", page.file.src_path, target)
        return text if target in text else f"{text} (`{target}`)"

    markdown = RUST.sub(lambda block: HIDDEN.sub("", block.group()), COMMENT.sub("", markdown))
    return LINK.sub(path, markdown)


def on_page_content(html, **_):
    """Remove the backslash before | in code in tables, and keep short code on one line."""
    html = re.sub(r"^<td.*</td>$", lambda cell: cell.group().replace(r"\|", "|"), html, flags=re.MULTILINE)
    return re.sub(r"<code>(?=[^<\n]{1,28}</code>)", '<code class="short">', html)


def on_post_page(output, page, **_):
    """Warn about addresses that the page would fetch; the page does not change."""
    for address in FETCHED.findall(output):
        LOG.warning("%s: the page would fetch %s", page.file.src_path, address)
    return output
