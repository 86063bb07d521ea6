"""The interactive page inside a notebook."""

from __future__ import annotations

import html


def inline(page: str, height: int = 760) -> str:
    """The page in a frame of its own: its style and script do not touch the notebook."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="{height}" '
        'sandbox="allow-scripts allow-downloads" style="border: 1px solid #8884; border-radius: 6px" '
        'title="Front of accuracy and fairness"></iframe>'
    )
