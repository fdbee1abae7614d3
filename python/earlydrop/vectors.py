"""Decision vectors: recorded decisions of every discipline, parent and marker, for those who write them elsewhere.

The format is described in `vectors/README.md` of the project.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import earlydrop._core as _core
from . import disk, foreign
from .errors import EarlydropError
from .own_aqms import registry
from .terminal import Progress, table

SUFFIX = ".jsonl.gz"


class VectorError(EarlydropError):
    """A stored file cannot be read, a folder cannot be written, or a discipline went wrong."""


@dataclass(frozen=True)
class Recorded:
    """The vectors of one discipline, parent or marker."""

    aqm: str
    text: str

    @property
    def cases(self) -> int:
        """Number of settings that the file holds."""
        return sum(line.startswith('{"format"') for line in self.text.splitlines())

    @property
    def steps(self) -> int:
        """Number of lines that are steps, not heads."""
        return self.text.count("\n") - self.cases

    @property
    def sha256(self) -> str:
        """SHA-256 digest of the uncompressed text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def names() -> list[str]:
    """The names of all disciplines in the catalogue's order, then those of parents and markers."""
    return _core.vector_names()


def record(aqm: str) -> Recorded:
    """The vectors of one discipline; `aqm` is a name of the catalogue, or of a parent, a marker or a loaded discipline.

    Raises:
        VectorError: a discipline of one's own went wrong.
    """
    own = registry.find(aqm)
    if own is not None:
        try:
            return Recorded(aqm, own.native.vectors())
        except RuntimeError as error:
            raise VectorError(str(error)) from error
    text = _core.vectors(aqm)
    if text is None:
        raise KeyError(aqm)
    return Recorded(aqm, text)


def write(folder: Path, aqms: Sequence[str], progress: Progress) -> list[Recorded]:
    """Write `NAME.jsonl.gz` for each discipline, when all are recorded; the same bytes each time.

    A new folder appears with all of them.
    """
    done: dict[str, Recorded] = {}
    for number, aqm in enumerate(aqms):
        progress(number, len(aqms), "vectors")
        done[aqm + SUFFIX] = record(aqm)
    packed = {name: gzip.compress(one.text.encode(), compresslevel=9, mtime=0) for name, one in done.items()}
    try:
        if folder.exists():
            for name, content in packed.items():
                disk.replace(folder / name, content)
        else:
            disk.make_folders(folder.absolute().parent)
            with disk.staged(folder) as work:
                disk.make_folder(work)
                for name, content in packed.items():
                    disk.write(work / name, content)
    except OSError as error:
        raise VectorError(f"{error.filename or folder}: {error.strerror}") from None
    progress(len(aqms), len(aqms), "vectors")
    return list(done.values())


def read(path: Path) -> str:
    """The text of a stored file."""
    try:
        return foreign.unpacked(foreign.content(path)).decode()
    except FileNotFoundError:
        raise VectorError(f"{path}: is missing") from None
    except (OSError, ValueError) as error:
        raise VectorError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def check(folder: Path, aqms: Sequence[str], progress: Progress) -> list[dict[str, Any]]:
    """Compare the stored files with what the disciplines decide now: for each, whether they agree, and where not."""
    found: list[dict[str, Any]] = []
    for number, aqm in enumerate(aqms):
        progress(number, len(aqms), "vectors")
        recorded = record(aqm)
        entry: dict[str, Any] = {"aqm": aqm, "cases": recorded.cases, "steps": recorded.steps, "ok": True}
        try:
            entry.update(_difference(read(folder / (aqm + SUFFIX)), recorded.text))
        except VectorError as error:
            entry.update(ok=False, error=str(error))
        found.append(entry)
    known = {*names(), *aqms}
    strays = sorted(p.name for p in folder.glob(f"*{SUFFIX}") if p.name.removesuffix(SUFFIX) not in known)
    found += [{"aqm": stray.removesuffix(SUFFIX), "ok": False, "error": "no such discipline"} for stray in strays]
    progress(len(aqms), len(aqms), "vectors")
    return found


def _difference(stored: str, now: str) -> dict[str, Any]:
    if stored == now:
        return {}
    lines = [stored.splitlines(), now.splitlines()]
    at = next((k for k, (a, b) in enumerate(zip(*lines, strict=False)) if a != b), min(map(len, lines)))
    case = next((json.loads(line)["case"] for line in reversed(lines[1][: at + 1]) if line.startswith('{"format"')), "")
    shown = [text[at] if at < len(text) else "(end of the file)" for text in lines]
    return {"ok": False, "line": at + 1, "case": case, "stored": shown[0], "now": shown[1]}


def render(found: Sequence[dict[str, Any]], folder: Path | None) -> str:
    """What was written to or found in `folder`, as text."""
    rows = [[f["aqm"], str(f.get("cases", "-")), str(f.get("steps", "-")), _verdict(f)] for f in found]
    lines = [table(["discipline", "cases", "steps", ""], rows)]
    for f in found:
        if "line" in f:
            lines.append(f"\n{f['aqm']}, line {f['line']}, case {f['case']}")
            lines.append(f"  stored {f['stored']}\n  now    {f['now']}")
    wrong = sum(not f["ok"] for f in found)
    lines.append(f"\n{folder}: {wrong} of {len(found)} differ" if wrong else f"\n{folder}: {len(found)} files")
    return "\n".join(lines)


def _verdict(entry: dict[str, Any]) -> str:
    if entry["ok"]:
        return ""
    return str(entry.get("error", "differs"))
