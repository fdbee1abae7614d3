"""Result folders that are written atomically."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import disk, foreign
from .errors import EarlydropError

MANIFEST = "manifest.json"
ABOUT = {"kind?": str, "of?": str, "files?": [str], "digests?": {"*": str}}
"""The shape of what is read of a manifest."""

NAME = r"[^\W_][\w .,+=()-]{0,98}[\w+=()-]|[^\W_]"
"""A pattern of names for folders and files: such a name leads nowhere else, on any system."""
NAME_ALLOWED = "letters, digits, spaces and . _ , + - = ( ), at most 100, a letter or digit first, no dot or comma last"


class OutputError(EarlydropError):
    """Results cannot be written to this place. The message says why."""


KINDS = {
    "run": "a run",
    "comparison": "a comparison",
    "sweep": "a sweep",
    "study": "a study",
    "studies": "all studies",
    "advice": "`advise`",
    "conform": "`conform`",
    "link": "a real link",
}
"""What results of each `kind` of a manifest are called in messages."""


def check(out: Path, kind: str | None = None) -> None:
    """Refuse, before any work, a folder with other contents than an earlier result of this kind."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise OutputError(f"--out {out}: exists and is not a folder; choose another name")
    if not out.exists():
        parent = _existing_parent(out)
        try:
            # Permissions do not tell everything: nothing can be made in /proc, even by root.
            Path(tempfile.mkdtemp(dir=parent, prefix=f".{out.name}.")).rmdir()
        except OSError as error:
            raise OutputError(f"--out {out}: cannot create a folder in {parent}: {error.strerror}") from None
        return
    if not any(out.iterdir()):
        return
    strangers = _strangers(out)
    if strangers:
        raise OutputError(
            f"--out {out}: the folder holds {strangers[0]}, which earlydrop did not write; "
            "choose another name or an empty folder"
        )
    there = kind_of(out)
    if kind is not None and there not in (kind, None):
        old, new = (KINDS.get(str(one), one) for one in (there, kind))
        raise OutputError(
            f"--out {out}: holds the results of {old}, which those of {new} would replace; choose another name, or "
            "remove the folder"
        )


def kind_of(folder: Path) -> str | None:
    """The kind of a result folder, as its manifest says; None without one."""
    return _manifest(folder).get("kind")


def add(folder: Path, *files: Path) -> None:
    """List files that a later command wrote into a result folder among the result's own."""
    manifest = _manifest(folder)
    if "files" in manifest:
        names = {file.relative_to(folder).as_posix() for file in files}
        manifest["files"] = sorted({*manifest["files"], *names})
        disk.replace(folder / MANIFEST, to_json(manifest, indent=1) + "\n")


def identity(*parts: str | bytes) -> str:
    """A digest of what a result follows from, and of this package's code."""
    import hashlib

    found = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.suffix in {".py", ".j2", ".so", ".pyd"}:
            about = file.stat()
            found.update(f"{file} {about.st_size} {about.st_mtime_ns}\n".encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(f"{len(data)}\n".encode() + data)
    return found.hexdigest()


def holds(out: Path, of: str) -> bool:
    """Whether `out` is the result that `folder` wrote with this `of`, every file as it was then."""
    manifest = _manifest(out)
    digests = manifest.get("digests")
    if manifest.get("of") != of or not isinstance(digests, dict) or _strangers(out):
        return False
    try:
        return all(_digest(out / name, out) == digest for name, digest in digests.items())
    except OSError:
        return False


def _digest(file: Path, inside: Path) -> str:
    import hashlib

    with foreign.opened(file, inside) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = foreign.from_json(folder / MANIFEST, folder)
    except (OSError, ValueError):
        return {}
    return {} if foreign.complaint(found, ABOUT) else found


def _existing_parent(path: Path) -> Path:
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _strangers(out: Path) -> list[str]:
    try:
        ours = {*_manifest(out)["files"], MANIFEST}
    except (KeyError, TypeError):
        ours = set()
    present = (str(p.relative_to(out)) for p in sorted(out.rglob("*")) if not p.is_dir())
    return [name for name in present if name not in ours and not disk.is_left(name)]


@contextmanager
def folder(out: Path, about: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary folder to fill. It replaces `out` when the block succeeds, and is removed otherwise.

    `about` goes into the manifest beside the list of files. An earlier result at `out` is replaced. With an entry `of`
    (`identity`) the manifest has a digest of each file, too, for `holds`.
    """
    from . import terminal

    # What a killed run had moved away counts as an earlier result.
    disk.remove_left(out.absolute())
    check(out, about.get("kind"))
    made = disk.make_folders(out.absolute().parent)
    try:
        with disk.staged(out) as work:
            disk.make_folder(work)
            with terminal.for_files():
                yield work
            files = sorted(p.relative_to(work).as_posix() for p in work.rglob("*") if p.is_file())
            digests = {"digests": {name: _digest(work / name, work) for name in files}} if "of" in about else {}
            write_json(work / MANIFEST, {**about, "files": files, **digests})
            check(out, about.get("kind"))
    except BaseException:
        for empty in made:
            try:
                empty.rmdir()
            except OSError:
                break
        raise


@contextmanager
def rescued(write: Callable[[Path], None]) -> Iterator[None]:
    """If the block fails, write the computed results to a new folder and name it in the error.

    An interruption, and a reader that has seen enough, are no failures.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except Exception as error:
        folder = Path(tempfile.mkdtemp(prefix="earlydrop-"))
        try:
            write(folder)
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            error.add_note(f"the runs were made, and are kept in {folder}")
        raise


FORMULA = r"^[=+\-@\t\r]"
"""A pattern of texts that a spreadsheet takes for formulas."""


def csv_cell(value: Any) -> Any:
    """A value for a table that spreadsheets open: an apostrophe comes before what they would take for a formula."""
    if not isinstance(value, str) or not re.match(FORMULA, value):
        return value
    try:
        float(value)
    except ValueError:
        # A carriage return alone would end the row.
        return "'" + value.replace("\r", " ")
    return value


@contextmanager
def csv_rows(path: Path) -> Iterator[Callable[[Iterable[Any]], None]]:
    """A CSV file; what is given writes a row."""
    with disk.open_text(path, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        yield lambda row: writer.writerow(map(csv_cell, row))


def write_json(path: Path, document: Any) -> None:
    """Write a document as indented JSON."""
    disk.write(path, to_json(document, indent=1) + "\n")


def to_json(document: Any, indent: int | None = None) -> str:
    """Strict JSON: NaN and infinity become null."""
    return json.dumps(_finite(document), indent=indent, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value
