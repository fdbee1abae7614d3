"""Options that describe a link, made from the engine's declaration of its keys."""

from __future__ import annotations

from dataclasses import asdict, field, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

import earlydrop._core as _core


def options(name: str, *, reverse: bool, rate: bool, suffix: str = "") -> Any:
    """A class with an option for each key of links (`rate`: rate and delay too), and for `reverse` another for each in
    the other direction. `suffix` is added to what help says of each."""
    fields: list[Any] = []
    for prefix in ("", "reverse_") if reverse else ("",):
        for key, about in _core.link_options():
            if key in ("rate", "delay") and not rate:
                continue
            # Marks of the documentation's pages have no place on a terminal.
            none = "" if key in ("rate", "delay") else "; none: without"
            text = f"For what COMMAND receives (default: as --{key}{none})." if prefix else about.replace("`", "")
            kind = Annotated[str | None, Parameter(help=text + suffix)]
            fields.append((f"{prefix}{key}", kind, field(default=None)))
    made = make_dataclass(name, fields, frozen=True, kw_only=True)
    # Else it counts as one of the standard library's, into which no option is divided.
    made.__module__ = __name__
    return made


def given(parts: Any) -> dict[str, str]:
    """The options that were given, by the names of their fields."""
    return {name: value for name, value in asdict(parts).items() if value is not None}


if TYPE_CHECKING:
    Link: TypeAlias = Any
    Effects: TypeAlias = Any
else:
    Link = options("Link", reverse=True, rate=True)
    Effects = options("Effects", reverse=False, rate=False, suffix=" With --flent.")
"""What `link` takes, and `crosscheck` of a recorded run's link."""
