"""How a store names a run: by its checked scenario, its seed and the engine that made it."""

from __future__ import annotations

import hashlib

KEYS = ("scenario_key", "seed", "engine")
"""The columns that name a run."""
COST = "cost.wall_s"
DIGEST = "digest"
"""The column with a hash of a run's result."""

Run = tuple[str, int]
"""A scenario's key and a seed."""


def engine() -> str:
    """Version and digest of the engine."""
    import earlydrop._core as _core

    return f"{_core.version()}+{_core.build()}"


def scenario_key(checked: str) -> str:
    """Key of a checked scenario, given as JSON, with a neutral name and seed."""
    return hashlib.sha256(checked.encode()).hexdigest()[:32]
