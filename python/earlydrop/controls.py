"""Control characters of texts, of which some come from files: a terminal shows them instead of obeying them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All control characters but tab and line feed, and what turns the direction of writing round."""
COLOURS = re.compile("(\x1b\\[(?:2;)?3[1-6]m|\x1b\\[0m)")
"""What `terminal.coloured` writes."""


def visible(text: str) -> str:
    """A text with its control characters as JSON has them: `\\u001b` for escape."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Visible:
    """A stream of text on which control characters are shown, except in the colours of verdicts."""

    def __init__(self, stream: IO[str]) -> None:
        self.raw = stream

    def write(self, text: str) -> int:
        """The text, and its length."""
        if CONTROLS.search(text):
            pieces = COLOURS.split(text)
            self.raw.write("".join(piece if k % 2 else visible(piece) for k, piece in enumerate(pieces)))
        else:
            self.raw.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw(stream: Any) -> Any:
    """The stream below, for what moves the cursor itself and shows texts through `visible`."""
    return stream.raw if isinstance(stream, Visible) else stream


@contextmanager
def shown() -> Iterator[None]:
    """Within the block all output, results and errors, goes through `visible`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Visible(raw(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
