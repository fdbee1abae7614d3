"""Build backend: maturin, with the studies copied into the package while a wheel is made.

In a checkout the studies are read from their own folder; an installed package carries a copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def _studies() -> Iterator[None]:
    copy = ROOT / "python" / "earlydrop" / "studies"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT / "studies", copy)
    try:
        yield
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def build_wheel(*arguments: Any, **named: Any) -> str:
    """Build a wheel that carries the studies."""
    with _studies():
        return str(maturin.build_wheel(*arguments, **named))
