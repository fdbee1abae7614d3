"""Parts of a store: Parquet files with the results of many runs, and what the manifest says of each."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .files import PARTIAL

if TYPE_CHECKING:
    import polars

LARGE, ROWS = 64 << 20, 50_000
"""A part need not be larger than so many bytes, or have more runs."""


@dataclass
class Problem:
    """A problem in a store, or a left-over file (`harmless`)."""

    name: str
    what: str
    harmless: bool = False


@dataclass
class Part:
    """A file of runs and what its manifest says."""

    name: str
    rows: int
    size: int
    engines: list[str]
    written: str

    def document(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "part": self.name,
            "rows": self.rows,
            "bytes": self.size,
            "engines": self.engines,
            "written": self.written,
        }


def is_part(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(PARTIAL)


def digest(content: bytes) -> str:
    """Name of a part."""
    return hashlib.sha256(content).hexdigest()[:32]


def packed(frame: polars.DataFrame) -> bytes:
    """A frame as a Parquet file: always the same bytes for the same frame."""
    out = io.BytesIO()
    frame.write_parquet(out, compression="zstd", compression_level=3, statistics=True, row_group_size=10_000)
    return out.getvalue()
