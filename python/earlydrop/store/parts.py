"""Parts of a store: Parquet files with the results of many runs, and what the manifest says of each."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import foreign
from .files import PARTIAL
from .keys import COST, DIGEST

if TYPE_CHECKING:
    import polars

LARGE, ROWS = 64 << 20, 50_000
"""Size in bytes and number of runs beyond which a part need not grow."""


@dataclass
class Problem:
    """A problem in a store, or a left-over file (`harmless`)."""

    name: str
    what: str
    harmless: bool = False


@dataclass(frozen=True)
class Damaged:
    """A part that differs from what was written."""

    name: str
    what: str


@dataclass
class Part:
    """A file of runs and what its manifest says."""

    name: str
    rows: int
    size: int
    engines: list[str]
    written: str

    def packed(self) -> bytes:
        """The content of the manifest's file, with a digest of itself."""
        values = (self.name, self.rows, self.size, self.engines, self.written)
        document = dict(zip(_FIELDS, values, strict=True))
        return _line({**document, _CHECK: digest(_line(document))})

    @staticmethod
    def read(content: bytes) -> Part:
        """What a manifest's file says.

        Raises:
            ValueError: the file is not what was written.
        """
        d = foreign.parsed(content)
        if not isinstance(d, dict):
            raise ValueError("it is no object")
        # Earlier versions wrote no digest.
        sealed = d.pop(_CHECK, None) is not None
        checks = {_CHECK: digest(_line(d))} if sealed else {}
        if content != _line({**d, **checks}) or tuple(d) != _FIELDS:
            raise ValueError("it is not what was written")
        return Part(*d.values())


_FIELDS, _CHECK = ("part", "rows", "bytes", "engines", "written"), "check"


def _line(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document) + "\n").encode()


def complaint(schema: Mapping[str, Any]) -> str:
    """The fault in a part's columns, in words; empty if they may be a part's."""
    import polars as pl

    wanted = {
        "scenario_key": pl.String,
        "seed": pl.Int64,
        "engine": pl.String,
        "scenario": pl.String,
        COST: pl.Float64,
        DIGEST: pl.Int64,
    }
    allowed = (pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Null)
    for name, kind in wanted.items():
        if name not in schema:
            return f"has no column {name}"
        if schema[name] != kind:
            return f"has a column {name} of {schema[name]}; allowed {kind}"
    for name, kind in schema.items():
        inner = kind
        while isinstance(inner, pl.List):
            inner = inner.inner
        if inner not in allowed:
            return f"has a column {name} of {kind}; allowed numbers of 64 bits, texts, and lists of them"
    return ""


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
