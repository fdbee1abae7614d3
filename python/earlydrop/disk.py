"""Files that earlydrop keeps: every one is written here, whole or not at all, and an error names it.

What is being written lies beside its place in a folder `.NAME.partial-...`, together with a file that its writer keeps
locked. A lock ends with its process, so the next writer of the same name removes what a killed one left.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from . import locks

LOCK, OLD = "lock", "old"
"""Two files in a partial folder: the one that its writer keeps locked, and what stood at the place before."""
_BINARY = getattr(os, "O_BINARY", 0)


class System:
    """The calls of the operating system that change files. Tests put others in their place, which fail."""

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | _BINARY, 0o666)

    def write(self, file: int, content: Any) -> int:
        return os.write(file, content)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def truncate(self, file: int) -> None:
        os.ftruncate(file, 0)

    def make_folder(self, path: Path) -> None:
        os.mkdir(path)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        os.unlink(path)


system = System()


class File(io.RawIOBase):
    """An open file to write, whose errors name it."""

    def __init__(self, path: Path, flags: int = os.O_WRONLY | os.O_CREAT | os.O_TRUNC) -> None:
        super().__init__()
        self._path = path
        self.failed: OSError | None = None
        """The first error, for libraries that hide it behind one of their own."""
        self._file: int | None = system.open(path, flags)

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        assert self._file is not None
        with self._naming():
            return system.write(self._file, content)

    def sync(self) -> None:
        """Wait until what was written survives a power cut."""
        assert self._file is not None
        with self._naming():
            system.sync(self._file)

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with self._naming():
                os.close(file)
        super().close()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Calls on open files fail without a name."""
        try:
            yield
        except OSError as error:
            error.filename = str(self._path)
            self.failed = self.failed or error
            raise


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, as a stream, in a place that nobody else sees yet."""
    file = File(path)
    try:
        with io.BufferedWriter(file) as stream:
            yield stream
    except Exception as error:
        if file.failed is not None and file.failed is not error:
            raise file.failed from error
        raise


@contextmanager
def open_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """A text file to write, in UTF-8, in a place that nobody else sees yet."""
    with open_binary(path) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline=newline) as text:
        yield text


def write(path: Path, content: bytes | str, *, exclusive: bool = False, lasting: bool = False) -> None:
    """Write a file that nobody else sees yet; `exclusive`, only if it is not there; `lasting`, through a power cut."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else os.O_TRUNC)
    left = memoryview(content.encode() if isinstance(content, str) else content)
    file = File(path, flags)
    try:
        with file:
            while left:
                left = left[file.write(left) :]
            if lasting:
                file.sync()
    except BaseException:
        with contextlib.suppress(OSError):
            system.remove(path)
        raise


def replace(path: Path, content: bytes | str) -> None:
    """Write a file in one step: until then, and if it fails, what is there stays."""
    with staged(path) as place:
        write(place, content)


def put(path: Path, content: bytes, partial: Path, *, lasting: bool) -> None:
    """Write a file in one step by way of `partial`, a name in the same folder; `lasting`, through a power cut."""
    write(partial, content, exclusive=True, lasting=lasting)
    try:
        system.rename(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            system.remove(partial)
        raise
    if lasting and os.name != "nt":
        # The renaming must last, too.
        folder = system.open(path.parent, os.O_RDONLY)
        try:
            system.sync(folder)
        except OSError as error:
            # Some file systems cannot sync folders.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(folder)


def make_folder(path: Path) -> None:
    """Make a folder that must not exist yet."""
    system.make_folder(path)


def make_folders(path: Path) -> list[Path]:
    """Make a folder and those around it; those that were missing, the innermost first."""
    missing = [p for p in (path, *path.parents) if not p.exists()]
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            system.make_folder(one)
    return missing


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """A place for a file or a folder that becomes `path` when the block ends. It is removed if the block fails.

    Raises:
        OSError: a file cannot be written; it is named as it would be at `path`.
    """
    given, path = path, path.absolute()
    remove_left(path)
    partial, lock = _begin(path, given)
    place = partial / path.name
    try:
        yield place
        _settle(place, path)
    except BaseException as error:
        old = _remove(path, partial, lock)
        if old is not None:
            error.add_note(f"what was at {given} before is in {old}")
        if not isinstance(error, OSError):
            raise
        final = _final_name(error.filename, place, given)
        if final is None:
            raise
        named = OSError(error.errno, error.strerror, final)
        for note in getattr(error, "__notes__", ()):
            named.add_note(note)
        raise named from error
    _remove(path, partial, lock)


def is_left(name: str) -> bool:
    """Whether a relative path leads into a partial folder, one in use or left by a killed writer."""
    return any(re.fullmatch(r"\..*\.partial-[0-9a-f]{8}", part) for part in Path(name).parts)


def _settle(place: Path, path: Path) -> None:
    if place.is_dir() and path.exists():
        # A folder replaces no folder: _remove moves the old one back if renaming the new one fails.
        system.rename(path, place.with_name(OLD))
    system.rename(place, path)


def _begin(path: Path, given: Path) -> tuple[Path, int]:
    while True:
        partial = path.with_name(f".{path.name}.partial-{secrets.token_hex(4)}")
        try:
            system.make_folder(partial)
        except OSError as error:
            error.filename = str(given)
            raise
        try:
            lock = system.open(partial / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except FileNotFoundError:
            # Another process took the folder for left over.
            continue
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.rmdir()
            error.filename = str(given)
            raise
        try:
            if locks.acquired(lock) and (partial / LOCK).exists():
                return partial, lock
        except OSError:
            # A file system without locks, where nothing counts as left over.
            return partial, lock
        os.close(lock)


def _remove(path: Path, partial: Path, lock: int) -> Path | None:
    """Remove what was not finished, the lock last: an interruption leaves what is found again.

    What stood at `path` before returns if it was moved away; if that fails, where it is.
    """
    if (partial / OLD).exists() and not path.exists():
        try:
            system.rename(partial / OLD, path)
        except OSError:
            os.close(lock)
            return partial / OLD
    with contextlib.suppress(OSError):
        for entry in list(partial.iterdir()):
            if entry.name == LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    if os.name == "nt":
        # Windows removes no open file.
        os.close(lock)
    with contextlib.suppress(OSError):
        (partial / LOCK).unlink(missing_ok=True)
        partial.rmdir()
    if os.name != "nt":
        os.close(lock)
    return None


def remove_left(path: Path) -> None:
    """Remove what killed writers of `path` left beside it; a result that one of them had moved away returns."""
    prefix = f".{path.name}.partial-"
    try:
        names = [entry.name for entry in os.scandir(path.parent) if entry.name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        partial = path.with_name(name)
        try:
            lock = os.open(partial / LOCK, os.O_RDWR)
        except FileNotFoundError:
            # The writer was killed before it could make the lock, or is about to make it: then it starts again.
            with contextlib.suppress(OSError):
                partial.rmdir()
            continue
        except OSError:
            continue
        try:
            mine = locks.acquired(lock)
        except OSError:
            mine = False
        if not mine:
            os.close(lock)
            continue
        _remove(path, partial, lock)


def _final_name(name: object, place: Path, path: Path) -> str | None:
    """The final name of a file in the partial folder of `place`; None for other names."""
    if not isinstance(name, (str, os.PathLike)) or not Path(name).is_relative_to(place.parent):
        return None
    return str(path / Path(name).relative_to(place)) if Path(name).is_relative_to(place) else str(path)
