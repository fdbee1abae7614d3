"""Summary and export of a store, for `earlydrop store`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from .. import disk
from ..document import Document
from ..output import csv_cell
from ..terminal import table
from .files import NotAStore, refused
from .keys import COST
from .parts import packed
from .run_store import Store


def summary(store: Store) -> Document:
    """Parts, runs by engine and disciplines, what they cost."""
    import polars as pl

    frames, size = [], 0
    for name in store.look():
        size += store.files.size(f"parts/{name}.parquet")
        aqms = [c for c in store.columns(name) if c.startswith("queues.") and c.endswith(".aqm")]
        # Of several queues the bottleneck, or the first.
        aqms.sort(key=lambda c: (c != "queues.bottleneck.aqm", c))
        part = store.part(name, ["engine", "scenario_key", COST, *aqms])
        first = pl.coalesce(aqms) if aqms else pl.lit(None, pl.String)
        frames.append(part.select("engine", "scenario_key", COST, aqm=first))
    if not frames:
        return {"store": store.url, "parts": 0, "bytes": 0, "runs": 0, "engines": []}
    runs = pl.concat(frames, how="diagonal_relaxed")
    engines = []
    for (name,), group in sorted(runs.group_by("engine"), key=lambda one: str(one[0])):
        counts = group.group_by("aqm").len().sort("aqm", nulls_last=True)
        engines.append(
            {
                "engine": name,
                "runs": len(group),
                "scenarios": group["scenario_key"].n_unique(),
                "engine_s": float(group[COST].sum()),
                "disciplines": {row["aqm"] or "none": row["len"] for row in counts.iter_rows(named=True)},
            }
        )
    return {"store": store.url, "parts": len(frames), "bytes": size, "runs": len(runs), "engines": engines}


def summary_text(found: Document) -> str:
    """A summary for people."""
    lines = [f"{found['store']}: {found['runs']:,} runs in {found['parts']:,} parts, {found['bytes'] / 1e6:.1f} MB"]
    for one in found["engines"]:
        head = f"{one['runs']:,} runs of {one['scenarios']:,} scenarios, {one['engine_s']:,.1f} s of engine time"
        rows = [[name, f"{count:,}"] for name, count in one["disciplines"].items()]
        lines += ["", f"engine {one['engine']}: {head}", "", table(["discipline", "runs"], rows, left=1, indent="  ")]
    return "\n".join(lines)


def export(store: Store, file: Path, columns: Sequence[str] | None) -> tuple[int, int]:
    """Write all runs as one table; the numbers of rows and columns.

    Raises:
        NotAStore: the suffix is another, or a column is not there.
        StoreError: the file cannot be written.
    """
    import polars as pl

    if file.suffix not in (".parquet", ".csv"):
        raise NotAStore(f"{file}: given {file.suffix or 'no suffix'}; allowed .parquet, .csv")
    frame = store.table(columns)
    for name in columns or ():
        if name not in frame.columns:
            raise NotAStore(f"{store.url}: no run has the column {name}")
    if file.suffix == ".csv":
        frame = frame.select(c for c, kind in frame.schema.items() if not isinstance(kind, pl.List))
        texts = [c for c, kind in frame.schema.items() if kind == pl.String]
        frame = frame.with_columns(pl.col(c).map_elements(csv_cell, pl.String) for c in texts)
        out = io.BytesIO()
        frame.write_csv(out)
        content = out.getvalue()
    else:
        content = packed(frame)
    try:
        disk.replace(file, content)
    except OSError as error:
        raise refused(str(file.parent), file.name, "write", error) from error
    return len(frame), frame.width
