"""Disciplines from outside on their way to another process: their code travels, and is known there by its digest."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import registry
from .declare import PolicyError


@dataclass(frozen=True)
class Parcel:
    """The code of one discipline."""

    name: str
    digest: str
    source: str
    content: bytes
    """The bytes of a library, or a class pickled with its code."""
    suffix: str
    """Suffix of a library's file; empty for a class."""
    jit: bool


def pack(documents: Iterable[Any]) -> list[Parcel]:
    """The disciplines from outside that these documents (or parts of them) name."""
    known = registry.known()
    if not known:
        return []
    text = json.dumps(list(documents), default=str)
    return [_packed(one) for one in known if f'"{one.native.name}"' in text or f'\\"{one.native.name}\\"' in text]


def _packed(known: registry.Known) -> Parcel:
    name, digest, source = known.native.name, known.digest, known.source
    if known.policy is None:
        path = Path(source)
        return Parcel(name, digest, source, path.read_bytes(), path.suffix, False)
    import cloudpickle

    cls = known.policy.definition.cls
    module = sys.modules.get(cls.__module__)
    # The other process has no such module, or another version of it.
    by_value = module is not None and module.__name__ != "__main__"
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        content: bytes = cloudpickle.dumps(cls)
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    return Parcel(name, digest, source, content, "", known.policy.jit)


def unpack(parcels: Sequence[Parcel]) -> None:
    """Make the disciplines known here.

    Raises:
        PolicyError: the code cannot be loaded.
    """
    for parcel in parcels:
        if registry.find(parcel.name, parcel.digest) is None:
            native, policy = _opened(parcel)
            registry.register(registry.Known(native, parcel.digest, parcel.source, policy))


def _opened(parcel: Parcel) -> tuple[Any, Any]:
    if not parcel.suffix:
        import cloudpickle

        from .policy import policy

        made = policy(jit=parcel.jit, name=parcel.name)(cloudpickle.loads(parcel.content))
        return made.native, made
    import earlydrop._core as _core

    handle, file = tempfile.mkstemp(parcel.suffix, f"earlydrop-{parcel.digest}-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(parcel.content)
        return _core.Aqm.load(file), None
    except ValueError as error:
        raise PolicyError(f"{parcel.source}: {error}") from error
    finally:
        # A loaded library stays without its file.
        Path(file).unlink()
