"""Writes docs/columns.md and its data, the dictionary of CSV and Parquet files; and data/results.csv, every field of a
result document. Its rows of what Python adds are kept.

python tools/column_pages.py
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import _core, columns  # noqa: E402

PAGE = "columns.md"
HEAD = """\
# Columns of tables

Unit and meaning of the columns in CSV and Parquet files. `make pages` makes this page and its data from the fields that
the engine declares and from `python/earlydrop/columns.py`. Where tools differ, [results](results.md) defines the fields
of the same names; the columns of a store are in [store](store.md#columns-of-a-part).

The files carry the dictionary themselves. A folder with CSV files has it as `columns.json`; a Parquet file has it as
JSON in its metadata, under `earlydrop.columns`:

```python
import json

import polars as pl

print(json.loads(pl.read_parquet_metadata("out/queues.parquet")["earlydrop.columns"])["delay_p99_ms"])
```

prints `{'unit': 'ms', 'meaning': '99 % quantile of the sojourn time'}`. A sweep's or a study's measures and factors are
columns under their own names, with the title and the unit that the file or the study gives them. A cell is empty (CSV)
or null (Parquet) where nothing was measured. `*` stands for any name.
"""


def text() -> str:
    """The text of the page."""
    files = [f"| `{name}` | {where} |\n" for name, (where, _) in columns.TABLES.items()]
    link = "\n[data/columns.csv](data/columns.csv)\n"
    return "".join([HEAD, "\n| table | where it is |\n|---|---|\n", *files, link])


def rows() -> list[list[str]]:
    """Every column of every table, the head first."""
    every = [(name, column, one) for name, (_, table) in columns.TABLES.items() for column, one in table.items()]
    return [
        ["table", "column", "unit", "meaning"],
        *([name, column, one.unit, one.meaning] for name, column, one in every),
    ]


def fields(stored: Path) -> list[list[str]]:
    """Every field of a result document, the head first: those of the engine, then those stored for Python's parts."""
    engine = json.loads(_core.result_fields())
    parts = list(dict.fromkeys(one["part"] for one in engine))
    engine.sort(key=lambda one: parts.index(one["part"]))
    with stored.open(encoding="utf-8", newline="") as file:
        head, *others = csv.reader(file)
    own = [[one["part"], one["name"], one["unit"], one["about"]] for one in engine]
    return [head, *own, *(row for row in others if row[0] not in parts)]


def write(folder: Path) -> bool:
    """Write the page and its data; whether any of them changed."""
    page, results = folder / PAGE, folder / "data" / "results.csv"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    page.write_text(text(), encoding="utf-8")
    changed = [blocks.put_csv(folder / "data" / "columns.csv", rows()), blocks.put_csv(results, fields(results))]
    return any(changed) or before != text()


if __name__ == "__main__":
    write(ROOT / "docs")
