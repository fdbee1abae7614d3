"""A store of runs: results are found by the scenario, seed and engine that produced them.

A run is named by its checked scenario (`scenario_key`), its seed and the engine that made it. Runs lie in Parquet files
of many rows, `parts/*.parquet`, which are written whole, never changed, and named by a digest of what they hold. Beside
each stands `manifest/*.json` with its size and its number of runs. docs/store.md describes every column.
"""

from .files import Folder, NotAStore, StoreError
from .keys import COST, DIGEST, KEYS, Run, engine, scenario_key
from .parts import Part, Problem, digest, packed
from .run_store import Store, open_store

__all__ = [
    "COST",
    "DIGEST",
    "KEYS",
    "Folder",
    "NotAStore",
    "Part",
    "Problem",
    "Run",
    "Store",
    "StoreError",
    "digest",
    "engine",
    "open_store",
    "packed",
    "scenario_key",
]
