"""`earlydrop store`: inspect, verify and clean up a store of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from .exits import DONE, FAILED
from .helping import examples
from .options import Json
from .printing import print_json

stores = App(
    name="store",
    help="Inspect, verify and clean up a store of runs.",
    help_format="plaintext",
    help_epilogue=examples("store"),
)

StorePlace = Annotated[str, Parameter(name="STORE", help="A store's folder or address.")]


@stores.command(name="ls")
def store_ls(store: StorePlace, /, *, json: Json = False) -> int:
    """Show the parts of a store, and its runs by engine and discipline."""
    from .. import store as stored
    from ..store import listing

    found = listing.summary(stored.open_store(store, create=False))
    if json:
        print_json(found)
    else:
        print(listing.summary_text(found))
    return DONE


@stores.command(name="verify")
def store_verify(store: StorePlace, /, *, json: Json = False) -> int:
    """Verify every part of a store; exit code 1 if a run is lost, changed or duplicated."""
    from .. import store as stored

    problems = stored.open_store(store, create=False).verify()
    bad = [p for p in problems if not p.harmless]
    if json:
        print_json({"ok": not bad, "problems": [vars(p) for p in problems]})
        return FAILED if bad else DONE
    for p in problems:
        print(f"{'note' if p.harmless else 'wrong'}: {p.name} {p.what}")
    print("the store is whole" if not bad else f"{len(bad)} problems")
    return FAILED if bad else DONE


@stores.command(name="gc")
def store_gc(
    store: StorePlace,
    /,
    *,
    old: Annotated[
        bool, Parameter(name="--old", negative="", help="Also remove the runs of other versions of the engine.")
    ] = False,
    json: Json = False,
) -> int:
    """Clean up a store: remove partial files of interrupted writers, and merge small parts."""
    from .. import store as stored

    found = stored.open_store(store, create=False).gc([stored.engine()] if old else None)
    if json:
        print_json(found)
        return DONE
    removed = found["runs_before"] - found["runs"]
    print(
        f"{found['runs']:,} runs in {found['parts']:,} parts (before: {found['parts_before']:,}); removed "
        f"{removed:,} runs and {found['left_over']:,} files of stopped writers"
    )
    return DONE


@stores.command(name="export")
def store_export(
    store: StorePlace,
    file: Annotated[Path, Parameter(name="FILE", help="File to write: .parquet, or .csv (without lists).")],
    /,
    *,
    columns: Annotated[
        list[str],
        Parameter(name="--columns", negative="", consume_multiple=True, help="Only these columns (default: all)."),
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Write all runs as one table, sorted by scenario and seed; its bytes do not depend on the order of the runs."""
    from .. import store as stored
    from ..store import listing

    rows, width = listing.export(stored.open_store(store, create=False), file, columns or None)
    if json:
        print_json({"file": str(file), "runs": rows, "columns": width})
    else:
        print(f"wrote {file}: {rows:,} runs, {width} columns")
    return DONE
