"""HTML pages from the templates of the package."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment, Template

MINUS = "\u2212"


@cache
def load(template: str) -> Template:
    """A template of the package. It is compiled when it is first asked for."""
    return _environment().get_template(template)


def render(template: str, context: Mapping[str, Any]) -> str:
    """A page: a template of the package, filled."""
    return load(template).render(**context)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("earlydrop", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    environment.filters["minus"] = minus
    environment.filters["thousands"] = lambda n: f"{int(n):,}"
    environment.globals.update(_sorting())
    return environment


def _sorting() -> dict[str, Any]:
    """The script that sorts tables, and the policy of a page whose only script it is."""
    from markupsafe import Markup

    script = resources.files("earlydrop").joinpath("templates", "sort.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return {"sorting": Markup(script), "policy": f"{policy}; base-uri 'none'; form-action 'none'"}


def prose(given: str) -> Any:
    """Text with `code` in backquotes, safe for a page."""
    from markupsafe import Markup

    escaped = html.escape(given, quote=False)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


def minus(given: str) -> str:
    """Numbers with a minus sign instead of a hyphen, and with spaces that keep them beside their units."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", MINUS, given).replace(" %", "\u00a0%").replace("n = ", "n\u00a0=\u00a0")
