"""The interactive report in a notebook."""

from __future__ import annotations

import html


def inline(page: str, height: int = 760) -> str:
    """Wrap the report in an iframe, so that its styles and scripts do not affect the notebook."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" width="100%" height="{height}" '
        'sandbox="allow-scripts allow-downloads" style="border: 1px solid #8884; border-radius: 6px" '
        'title="fairfront report"></iframe>'
    )
