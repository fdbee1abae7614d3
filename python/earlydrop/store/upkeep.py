"""Upkeep of a store: verifying it, and cleaning up under its lock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import foreign
from .files import PARTIAL, Folder
from .keys import KEYS
from .parts import LARGE, ROWS, Damaged, Problem, digest, packed

if TYPE_CHECKING:
    import polars

    from .run_store import Store

ASIDE = "damaged"
"""The folder of damaged parts, which nothing reads."""
MERGE = "merge.json"
"""The note that names the parts which gc is merging."""


def verify(store: Store) -> list[Problem]:
    """All problems of a store, and its left-over files."""
    import polars as pl

    problems: list[Problem] = []
    manifest, parts = store.manifest(), store.parts()
    keys = []
    for name in parts:
        file = f"parts/{name}.parquet"
        found = store.check(name)
        if found is None:
            continue
        if isinstance(found, Damaged):
            problems.append(Problem(file, f"{found.what}; the next command that reads it moves it to {ASIDE}/"))
            continue
        keys.append(found.with_columns(part=pl.lit(name)))
        entry = manifest.get(name)
        if entry is None or (entry.rows, entry.size) != (len(found), store.files.size(file)):
            with store.alone():
                store.note(name, found, store.files.size(file))
        if entry is None:
            problems.append(Problem(file, "was not in the manifest, is whole, and is entered now", harmless=True))
        elif entry.rows < 0:
            problems.append(Problem(f"manifest/{name}.json", "was damaged, and is written anew from its part"))
        elif (entry.rows, entry.size) != (len(found), store.files.size(file)):
            problems.append(Problem(f"manifest/{name}.json", "was not of this part, and is written anew"))
    for name in sorted(set(manifest) - set(parts)):
        problems.append(Problem(f"parts/{name}.parquet", "is lost: only the manifest has it"))
    merging = MERGE in store.files.names("")
    if merging:
        problems.append(Problem(MERGE, "was left by a gc that was stopped; the next writer finishes it", True))
    if keys:
        twice = pl.concat(keys).group_by(KEYS).len().filter(pl.col("len") > 1)
        if len(twice):
            # At an address without locks two processes may make the same run; readers use one of them.
            what = f"{len(twice)} runs are there more than once; gc removes the copies"
            problems.append(Problem("parts", what, harmless=merging or not isinstance(store.files, Folder)))
    aside = store.files.names(ASIDE)
    problems += [Problem(f"{ASIDE}/{n}", "is damaged and was set aside; gc removes it", True) for n in aside]
    problems += [Problem(name, "was left by a writer that was stopped; gc removes it", True) for name in left(store)]
    return problems


def left(store: Store) -> list[str]:
    """Files that writers did not finish."""
    folders = ("parts", "manifest", "")
    return [f"{d}/{n}".lstrip("/") for d in folders for n in store.files.names(d) if n.startswith(PARTIAL)]


def gc(store: Store, keep: Sequence[str] | None) -> dict[str, int]:
    """Clean up and merge parts, under the store's lock."""
    import polars as pl

    from .names import Index, of_runs

    finish_merge(store)
    store.look()
    seen = Index()
    parts = list(store.numbers)
    before, kept_parts, rows, size = 0, 0, 0, 0
    pile: list[tuple[str, polars.DataFrame]] = []

    def flush() -> None:
        # The merged part is written before the old ones are removed: an interruption leaves copies, no loss. A note
        # names the old ones, so that whoever writes next removes them.
        nonlocal pile, rows, size, kept_parts
        if pile:
            names = [name for name, _ in pile]
            frame = pl.concat([f for _, f in pile], how="diagonal_relaxed")
            content = packed(frame)
            made = digest(content)
            old = [name for name in names if name != made]
            store.files.write(MERGE, (json.dumps({"made": made, "instead_of": old}) + "\n").encode())
            if len(frame):
                store.put(frame, content)
                kept_parts += 1
            for name in old:
                store.drop(name)
            store.files.remove(MERGE)
        pile, rows, size = [], 0, 0

    for name in parts:
        keys = store.part(name, KEYS)
        before += len(keys)
        good = keys if keep is None else keys.filter(pl.col("engine").is_in(list(keep)))
        good = good.filter(pl.Series(seen.find(of_runs(good)) < 0)) if len(good) else good
        if len(good):
            seen.put(of_runs(good), 0)
        bytes_ = store.files.size(f"parts/{name}.parquet")
        if len(good) == len(keys) and (bytes_ >= LARGE // 2 or len(keys) >= ROWS // 2):
            kept_parts += 1
            continue
        pile.append((name, store.part(name).join(good, on=list(KEYS), how="semi")))
        rows, size = rows + len(good), size + bytes_
        if rows >= ROWS or size >= LARGE:
            flush()
    flush()
    over = [*left(store), *(f"{ASIDE}/{name}" for name in store.files.names(ASIDE))]
    for name in over:
        store.files.remove(name)
    for name in set(store.manifest()) - set(store.parts()):
        store.files.remove(f"manifest/{name}.json")
    return {
        "runs_before": before,
        "runs": len(seen),
        "parts_before": len(parts),
        "parts": kept_parts,
        "left_over": len(over),
    }


def finish_merge(store: Store) -> None:
    """Remove the parts that an interrupted gc had merged already."""
    try:
        note = foreign.parsed(store.files.read(MERGE))
        made, old = str(note["made"]), [str(name) for name in note["instead_of"]]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError):
        made, old = "", []
    if made in store.parts() and not isinstance(store.check(made), Damaged):
        for name in set(old) & set(store.parts()):
            store.drop(name)
    store.files.remove(MERGE)
