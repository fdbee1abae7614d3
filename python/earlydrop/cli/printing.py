"""What the commands print: documents, warnings, the version."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def version() -> str:
    """The version, which is the engine's."""
    import earlydrop._core as _core

    return _core.version()


def parse_json(text: str) -> Any:
    """Parse a JSON text; in a command `json` is the option."""
    return json.loads(text)


def print_json(document: Any) -> None:
    """One JSON document on stdout."""
    from ..output import to_json

    print(to_json(document))


def warn(texts: Sequence[str]) -> None:
    """Warnings, each on a line of stderr."""
    from .. import terminal

    for text in texts:
        terminal.say(f"warning: {text}")
