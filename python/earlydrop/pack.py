"""A result in one file: its inputs, its tables, versions, and a SHA-256 of each file.

A pack is a ZIP file with the files of a result folder and `pack.json`, which lists them. Whoever made it may be a
stranger: it is read within ceilings, its names lead nowhere else, and its files are looked at only when all of them are
what `pack.json` says.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from . import disk, foreign, inputs, output
from .errors import EarlydropError
from .foreign import WHOLE, Shape

SUFFIX = ".zip"
ABOUT = "pack.json"
FORMAT = 1
KINDS = {"run": "result.txt", "comparison": "comparison.txt", "sweep": "sweep.txt", "study": "verdicts.txt"}
"""The kinds of results that are packed, and where each has its tables as text."""
SUFFIXES = (*inputs.SUFFIXES, ".parquet", ".tex", ".html", ".pdf", ".png", ".svg")
TABLES = (".json", ".csv", ".parquet", ".txt", ".tex", ".toml")
"""Suffixes of what is compared when a pack is run again: not the figures."""
MOST = 20_000
"""Files in a pack."""
LEVELS = 6
"""Folders within each other, with the file."""
PIECE = 1 << 20
UNLIKE = ("cost", "store")
"""Keys of results that differ between two runs of a command."""
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""
SHAPE: Shape = {
    "format": range(1, FORMAT + 1),
    "kind": str,
    "command": [str],
    "versions": {"*": str},
    "files": {"*": {"sha256": str, "bytes": WHOLE}},
}
MANIFEST: Shape = {"kind": str, "files": [str], "command": [str], "code": [str], "versions": {"*": str}}
_DATE = (1980, 1, 1, 0, 0, 0)
_WRONG = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, LookupError, ArithmeticError, EOFError),
    *(zlib.error, struct.error, OSError),
)
"""What `zipfile` raises of files that are none."""


class PackError(EarlydropError):
    """A pack cannot be written, or is not one. The message names the file."""


# ---- writing -------------------------------------------------------------------------------------------------------


def write(folder: Path, file: Path) -> dict[str, Any]:
    """Write a result folder into one file; returns its `pack.json`.

    Raises:
        PackError: the folder has no result that can be packed.
    """
    if file.suffix.lower() != SUFFIX:
        raise PackError(f"{file}: given {file.suffix or 'no suffix'}; allowed NAME{SUFFIX}")
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise PackError(f"{file}: is a folder, or in a folder that does not exist")
    manifest = _manifest(folder)
    if Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
        raise PackError(f"{file}: is inside {folder}, of which it is made; allowed a place beside it")
    names = sorted({*manifest["files"], output.MANIFEST})
    if len(names) > MOST:
        raise PackError(f"{folder}: has {len(names)} files; allowed {MOST} in a pack")
    files, made, total = {}, {}, 0
    for name in names:
        if said := _name_fault(name):
            raise PackError(f"{folder}: the file {foreign.shown(name)} {said}")
        try:
            content = foreign.content(folder / name, inside=folder)
        except OSError as error:
            raise PackError(f"{folder / name}: {error.strerror}") from None
        total += len(content)
        if total > _ceiling():
            raise PackError(f"{folder}: has more than {_ceiling() >> 20} MiB; {foreign.SWITCH} raises that")
        made[name] = content
        files[name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    kept = {key: manifest[key] for key in ("kind", "command", "code", "versions")}
    about = {"format": FORMAT, **kept, "files": files}
    with disk.staged(file) as place, disk.open_binary(place) as stream:
        _zipped(stream, {ABOUT: (output.to_json(about, indent=1) + "\n").encode(), **made})
    return about


def _zipped(stream: IO[bytes], files: Mapping[str, bytes]) -> None:
    """The same bytes whenever and wherever these files are packed."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)


def _manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise PackError(f"{folder}: {what}; allowed a result folder")
    kind = output.kind_of(folder)
    allowed = ", ".join(output.KINDS[one] for one in KINDS)
    if kind is None:
        raise PackError(f"{folder}: is no result folder; allowed the result of {allowed}")
    if kind not in KINDS:
        raise PackError(f"{folder}: holds the results of {output.KINDS.get(kind, kind)}; allowed those of {allowed}")
    found: dict[str, Any] = foreign.from_json(folder / output.MANIFEST, folder)
    if "command" not in found:
        raise PackError(f"{folder}: does not say how it was made, as it is of an earlier version; make it again")
    if said := foreign.complaint(found, MANIFEST):
        raise PackError(f"{folder / output.MANIFEST}: {said}")
    if "reason" in found:
        raise PackError(f"{folder}: cannot be packed: {foreign.shown(found['reason'])}")
    return found


# ---- reading -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pack:
    """A pack whose files are as its checksums say, unpacked."""

    file: Path
    about: dict[str, Any]
    folder: Path
    """Where its files are."""

    @property
    def command(self) -> list[str]:
        """The command that made it, without the program's name."""
        return list(self.about["command"])

    @property
    def code(self) -> list[str]:
        """Its files that are run, not read."""
        return [name for name in self.about["files"] if inputs.is_code(name)]


def _ceiling() -> int:
    """Most bytes of all files together."""
    return foreign.CELLS * foreign.ceiling()


def unpacked(file: Path, to: Path) -> Pack:
    """Unpack a pack into `to`, an empty folder of nobody else's, and check every file.

    Raises:
        PackError: the file is no pack, or is not as it was made.
        OSError: a file cannot be written.
    """
    with _reading(file):
        content = foreign.content(file)
        # Entries of the directory begin so; they are counted before each takes memory.
        if content.count(b"PK\x01\x02") > MOST + 1:
            raise ValueError(f"has more than {MOST} files")
        archive = zipfile.ZipFile(io.BytesIO(content))
        entries = _entries(archive)
        if ABOUT not in entries:
            raise ValueError(f"is no pack of earlydrop: there is no {ABOUT}")
        about = foreign.parsed(b"".join(_pieces(file, archive, entries[ABOUT], foreign.ceiling())))
        if said := foreign.complaint(about, SHAPE):
            raise ValueError(f"{ABOUT}: {said}")
        listed = set(about["files"])
        if odd := sorted(listed ^ (set(entries) - {ABOUT})):
            what = "lists no file" if odd[0] in entries else "lists a file that is not there,"
            raise ValueError(f"{ABOUT} {what} {foreign.shown(odd[0])}")
    used = 0
    for name in listed:
        path, hashed = to / name, sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with disk.open_binary(path) as stream:
            for piece in _pieces(file, archive, entries[name], _ceiling(), used):
                used += len(piece)
                hashed.update(piece)
                stream.write(piece)
        if hashed.hexdigest() != about["files"][name]["sha256"]:
            raise PackError(f"{file}: {name} is not what was packed: its checksum is another")
    return Pack(file, {**about, "command": _command(file, about, entries)}, to)


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except _WRONG as error:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise PackError(f"{file}: {_short(said)}") from error


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The entries by name: regular files whose names lead nowhere else, on any system.

    Raises:
        ValueError: an entry is none.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    taken: dict[str, str] = {}
    folders: set[str] = set()
    for entry in archive.infolist():
        name = entry.filename
        said = _name_fault(name) or _kind_fault(entry)
        folded = unicodedata.normalize("NFC", name).casefold()
        if not said and folded in taken:
            said = f"is there twice, also as {foreign.shown(taken[folded])}"
        if said:
            raise ValueError(f"the file {foreign.shown(entry.orig_filename)} {said}")
        found[name], taken[folded] = entry, name
        folders |= {folded[:k] for k, letter in enumerate(folded) if letter == "/"}
    if both := folders & set(taken):
        raise ValueError(f"{foreign.shown(min(both))} is a file and a folder")
    return found


def _name_fault(name: str) -> str:
    """What is wrong with the name of a file in a pack."""
    parts = name.split("/")
    if len(parts) > LEVELS or not all(re.fullmatch(output.NAME, p) and not RESERVED.fullmatch(p) for p in parts):
        return f"has a name that is not allowed: up to {LEVELS} parts of {output.NAME_ALLOWED}, with / between"
    if not name.endswith(SUFFIXES):
        return f"is of a kind that no result has; allowed {', '.join(SUFFIXES)}"
    return ""


def _kind_fault(entry: zipfile.ZipInfo) -> str:
    """What is wrong with an entry beside its name."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.orig_filename != entry.filename:
        return "has two names"
    if kind not in (0, stat.S_IFREG) or entry.is_dir():
        return "is no regular file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed in a way that is not allowed: allowed stored, deflated"
    return ""


def _pieces(file: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int, used: int = 0) -> Iterator[bytes]:
    """The content of an entry, piece by piece, whatever its header says of its size; `used` of `most` are gone.

    Raises:
        PackError: it is larger than `most`, or damaged.
    """
    size = used
    with _reading(file), archive.open(entry) as stream:
        while piece := stream.read(PIECE):
            size += len(piece)
            if size > most:
                raise ValueError(f"unpacks to more than {most >> 20} MiB; {foreign.SWITCH} raises that")
            yield piece


def _command(file: Path, about: Mapping[str, Any], names: Mapping[str, Any]) -> list[str]:
    """The pack's command line, if it is one that results of this kind follow from.

    Raises:
        PackError: it is another.
    """
    from . import study

    words = about["command"]
    made = {"run": "run", "comparison": "compare", "sweep": "sweep", "study": "reproduce"}.get(about["kind"])
    known = inputs.OPTIONS.get(words[0]) if words else None
    if known is None or words[0] != made or len(words) < 2:
        raise PackError(f"{file}: {ABOUT}: its command makes no result of the kind {foreign.shown(about['kind'])}")
    first = words[1].removeprefix("./")
    inside = [f"{inputs.FOLDER}/{first}", f"{inputs.FOLDER}/{first}/study.toml"]
    if not any(name in names for name in inside) and not (made == "reproduce" and first in study.available()):
        raise PackError(f"{file}: {ABOUT}: its command needs {foreign.shown(words[1])}, which is not there")
    for word in words[2:]:
        option = word.partition("=")[0]
        if option not in known:
            raise PackError(f"{file}: {ABOUT}: its command has {foreign.shown(word)}; allowed {', '.join(known)}")
    return list(words)


# ---- comparing -----------------------------------------------------------------------------------------------------


def compared(pack: Pack, again: Path) -> tuple[int, dict[str, str]]:
    """How many tables and results there are, and in what those of a folder differ from the pack's, by file."""
    old = {name for name in pack.about["files"] if _is_table(name)}
    new = {path.relative_to(again).as_posix() for path in again.rglob("*") if path.is_file()}
    new = {name for name in new if _is_table(name)}
    found: dict[str, str] = dict.fromkeys(old - new, "is not made again") | dict.fromkeys(new - old, "is not there")
    for name in old & new:
        if said := _difference(pack.folder / name, again / name):
            found[name] = said
    return len(old | new), dict(sorted(found.items()))


def _is_table(name: str) -> bool:
    # A sweep's result has its file once more.
    return name.endswith(TABLES) and name.partition("/")[0] not in (inputs.FOLDER, output.MANIFEST, "sweep.toml")


def _difference(old: Path, new: Path) -> str:
    try:
        if old.suffix == ".json":
            said = _apart(foreign.from_json(old), foreign.from_json(new))
            return f"{said} here" if said else ""
        if old.suffix == ".parquet":
            return _rows_apart(old, new)
        return _lines_apart(foreign.text(old), foreign.text(new))
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _apart(old: Any, new: Any, place: str = "") -> str:
    """The first value in which two documents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            if key in UNLIKE:
                continue
            at = f"{place}.{key}" if place else str(key)
            if key not in old or key not in new:
                return f"{_short(at)}: {'only' if key in new else 'not'}"
            if said := _apart(old[key], new[key], at):
                return said
        return ""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return next((said for k, (a, b) in pairs if (said := _apart(a, b, f"{place}.{k}"))), "")
    if type(old) is type(new) and old == new:
        return ""
    return f"{_short(place)}: {foreign.shown(old)} in the pack, {foreign.shown(new)}"


def _lines_apart(old: str, new: str) -> str:
    """The first line in which two texts differ; what a run cost is none."""
    lines = [[line for line in text.splitlines() if not line.startswith("cost ")] for text in (old, new)]
    if lines[0] == lines[1]:
        return ""
    number = next((k for k, (a, b) in enumerate(zip(*lines, strict=False)) if a != b), min(map(len, lines)))
    return f"from its line {number + 1} on"


def _rows_apart(old: Path, new: Path) -> str:
    with foreign.unfit():
        tables = [foreign.table(path) for path in (old, new)]
        schemas = [dict(one.collect_schema()) for one in tables]
        if schemas[0] != schemas[1]:
            return "has other columns"
        import polars

        counts = [one.select(polars.len()).collect().item() for one in tables]
        if counts[0] != counts[1]:
            return f"has {counts[0]} rows in the pack, {counts[1]} here"
        first, second = (one.collect() for one in tables)
        differing = [name for name in first.columns if not first[name].equals(second[name], null_equal=True)]
    return f"differs in the column {_short(differing[0])}" if differing else ""
