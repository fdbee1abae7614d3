"""The rules of advice: `rules.json`, one table that the command reads and other programs can read, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RULES: dict[str, Any] = json.loads((Path(__file__).parent / "rules.json").read_text(encoding="utf-8"))


def filled(text: str, **words: object) -> str:
    """A template of the table with its words in braces filled in."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", str(word))
    return text
