"""What is generated for pages: the text between two comments that name its generator, and tables as data."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path


def put(page: Path, name: str, content: str) -> bool:
    """Put `content` between `<!-- NAME: made by ... -->` and `<!-- end -->`; return whether the page changed.

    Raises:
        ValueError: the page has no such comments.
    """
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"(<!-- {name}: made by [^>]*-->\n)(.*?)(<!-- end -->)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{page}: has no <!-- {name}: made by ... --> and <!-- end -->")
    new = f"{text[: found.end(1)]}\n{content.strip()}\n\n{text[found.start(3) :]}"
    if new == text:
        return False
    page.write_text(new, encoding="utf-8")
    return True


def put_csv(place: Path, rows: Iterable[Sequence[str]]) -> bool:
    """Write a table, its head first; return whether the file changed."""
    text = _csv(rows)
    if _text(place) == text:
        return False
    place.parent.mkdir(exist_ok=True)
    place.write_text(text, encoding="utf-8")
    return True


def is_stale(place: Path, rows: Iterable[Sequence[str]]) -> bool:
    """Whether `put_csv` would change the file."""
    return _text(place) != _csv(rows)


def _text(place: Path) -> str | None:
    return place.read_text(encoding="utf-8") if place.is_file() else None


def _csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
