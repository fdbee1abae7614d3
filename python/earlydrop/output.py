"""Result folders that are written atomically."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import EarlydropError

MANIFEST = "manifest.json"


class OutputError(EarlydropError):
    """Results cannot be written to this place. The message says why."""


def check(out: Path) -> None:
    """Refuse, before any work, a folder with other contents than an earlier result of earlydrop."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise OutputError(f"--out {out}: exists and is not a folder; choose another name")
    if not out.exists():
        parent = _existing_parent(out)
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise OutputError(f"--out {out}: cannot create a folder in {parent}")
        return
    if not any(out.iterdir()):
        return
    strangers = _strangers(out)
    if strangers:
        raise OutputError(
            f"--out {out}: the folder holds {strangers[0]}, which earlydrop did not write; "
            "choose another name or an empty folder"
        )


def _existing_parent(path: Path) -> Path:
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _strangers(out: Path) -> list[str]:
    try:
        manifest = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        ours = {*manifest["files"], MANIFEST}
    except (OSError, ValueError, KeyError, TypeError):
        ours = set()
    present = (str(p.relative_to(out)) for p in sorted(out.rglob("*")) if not p.is_dir())
    return [name for name in present if name not in ours]


@contextmanager
def folder(out: Path, about: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary folder to fill. It replaces `out` when the block succeeds, and is removed otherwise.

    `about` goes into the manifest beside the list of files. An earlier result at `out` is replaced.
    """
    check(out)
    parent = out.absolute().parent
    made = [p for p in (parent, *parent.parents) if not p.exists()]
    parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.partial-", dir=parent))
    try:
        yield work
        files = sorted(p.relative_to(work).as_posix() for p in work.rglob("*") if p.is_file())
        write_json(work / MANIFEST, {**about, "files": files})
        work.chmod(0o755)
        _replace(work, out)
    except BaseException as error:
        where, number = out / _written_last(work), _disk_error(error, work)
        shutil.rmtree(work, ignore_errors=True)
        for empty in made:
            try:
                empty.rmdir()
            except OSError:
                break
        if number:
            # Writing to an open file fails without its name, or with that of the temporary one.
            raise OSError(number, os.strerror(number), str(where)) from error
        raise


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What the system says when a disk is full or fails."""


def _disk_error(error: BaseException, folder: Path) -> int:
    """The system's number of an error, if it says that the disk is full or fails; 0 otherwise."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in FULL else 0
    if isinstance(error, Exception):
        # Some libraries hide the number behind an error of their own: see whether anything can be written.
        try:
            (folder / ".probe").write_bytes(bytes(1 << 16))
        except OSError as found:
            return found.errno if found.errno in FULL else 0
    return 0


def _written_last(folder: Path) -> Path:
    """The file that was written last, within the folder; the folder itself if there is none."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return max(files, key=lambda path: path.stat().st_mtime_ns).relative_to(folder) if files else Path()


def _replace(work: Path, out: Path) -> None:
    if not out.exists():
        work.rename(out)
        return
    check(out)
    old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old-", dir=out.absolute().parent))
    try:
        out.rename(old / "result")
        try:
            work.rename(out)
        except BaseException:
            (old / "result").rename(out)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


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


def write_json(path: Path, document: Any) -> None:
    """Write a document as indented JSON."""
    path.write_text(to_json(document, indent=1) + "\n", encoding="utf-8")


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
