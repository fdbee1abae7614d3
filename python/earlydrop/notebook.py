"""What a notebook shows: progress, and tables and pictures of results."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Sequence
from typing import Any

EVERY_S = 0.2
"""How often a bar moves."""
WHOLE = "; white-space: nowrap"
"""Style of cells with numbers, which stay on one line; names and sentences need not."""


def is_notebook() -> bool:
    """Whether this program is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class Bar:
    """A progress bar below the cell that runs. It goes when the work is done."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._moved = 0.0

    def show(self, done: int, total: int, label: str, more: str = "") -> None:
        """Show that `done` of `total` is done."""
        now = time.monotonic()
        if self._handle is not None and now - self._moved < EVERY_S and done < total:
            return
        self._moved = now
        display: Any = importlib.import_module("IPython.display").display
        text = f"{label}: {done:,} of {total:,}{f', {more}' if more else ''}"
        shown = {
            "text/plain": text,
            "text/html": f'<progress value="{done}" max="{total}" style="vertical-align: middle; width: 16em; '
            f'max-width: 50%"></progress> {html.escape(text)}',
        }
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)
            self._handle = None


def paragraphs(texts: Sequence[str]) -> str:
    """Texts as paragraphs of a page."""
    return "".join(f'<p style="max-width: 48em">{html.escape(text)}</p>' for text in texts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, caption: str = "") -> str:
    """A table of a page, which scrolls sideways where the page is narrow; the first `left` columns to the left."""

    def row(cells: Sequence[str], tag: str) -> str:
        sides = ["left" if k < left else "right" for k in range(len(cells))]
        inner = "".join(
            f'<{tag} style="text-align: {side}; padding: 0.15em 0.7em{WHOLE if side == "right" else ""}">'
            f"{html.escape(cell.strip())}</{tag}>"
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{inner}</tr>"

    title = paragraphs([caption]) if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return (
        f'{title}<div style="overflow-x: auto"><table style="margin-left: 0"><thead>{row(head, "th")}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def text(said: str) -> str:
    """Text as it is printed, as part of a page."""
    return f'<pre style="overflow-x: auto">{html.escape(said)}</pre>'


def folded(title: str, inner: str) -> str:
    """A part of a page that opens when its title is clicked."""
    return f"<details><summary>{html.escape(title)}</summary>{inner}</details>"
