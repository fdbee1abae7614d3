"""Storage of a store: a local folder, or any address that fsspec supports.

Both write files atomically. Only a folder has locks, so only there do two processes share their work; elsewhere both
may make the same run, and readers use one of the two.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from .. import disk, extras, foreign, locks
from ..errors import FAILED, WRONG_INPUT, EarlydropError

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
PARTIAL = ".partial-"
"""Prefix of files that are not complete."""


class StoreError(EarlydropError):
    """A store cannot be used, or a file of it cannot be written. The message names it and says why."""

    exit_code = FAILED


class DamagedError(StoreError):
    """Parts of a store are not what was written. The message names them."""


class NotAStore(StoreError):
    """What was named is not a store, or is not in it."""

    exit_code = WRONG_INPUT


class Files(Protocol):
    """What a store needs of a place for files. Names are relative, with `/` between folders."""

    url: str

    def names(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty if there is no such folder."""

    def read(self, name: str) -> bytes:
        """A whole file. FileNotFoundError if there is none."""

    def open(self, name: str) -> BinaryIO:
        """A file to read parts of. FileNotFoundError if there is none."""

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        """A file, whole or not at all; `lasting` also through a power cut. StoreError if it cannot be written."""

    def remove(self, name: str) -> None:
        """Remove a file; one that is gone already is no error."""

    def move(self, name: str, to: str) -> None:
        """Give a file another name; one that is gone already is no error."""

    def size(self, name: str) -> int:
        """Bytes of a file."""


class Folder:
    """Files in a folder of this machine. Links in it are not followed: it may be somebody else's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = str(path)

    def _within(self, name: str) -> Path:
        """The full path of the store's file or folder."""
        path = self.path / name
        if path.parent != self.path and path.parent.is_symlink():
            raise OSError(errno.EPERM, f"{path.parent.name} is a link, which no store has")
        return path

    def names(self, folder: str) -> list[str]:
        try:
            within = self._within(f"{folder or '.'}/*").parent
            return sorted(entry.name for entry in os.scandir(within) if entry.is_file(follow_symlinks=False))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise refused(self.url, folder or "the folder", "read", error) from error

    def read(self, name: str) -> bytes:
        most = foreign.ceiling() * (foreign.CELLS if name.endswith(".parquet") else 1)
        return foreign.content(self._within(name), most, self.path)

    def open(self, name: str) -> BinaryIO:
        return foreign.opened(self._within(name), self.path)

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        try:
            path = self._within(name)
            disk.make_folders(path.parent)
            disk.put(path, content, path.with_name(f"{PARTIAL}{secrets.token_hex(8)}"), lasting=lasting)
        except OSError as error:
            raise refused(self.url, name, "write", error) from error

    def remove(self, name: str) -> None:
        try:
            with contextlib.suppress(FileNotFoundError):
                disk.system.remove(self._within(name))
        except OSError as error:
            raise refused(self.url, name, "remove", error) from error

    def move(self, name: str, to: str) -> None:
        try:
            there = self._within(to)
            disk.make_folders(there.parent)
            disk.system.rename(self._within(name), there)
        except FileNotFoundError:
            # Another process was faster.
            pass
        except OSError as error:
            raise refused(self.url, name, "move", error) from error

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep all other processes out for a moment."""
        try:
            disk.make_folders(self.path)
            file = disk.system.open(self.path / "lock", os.O_RDWR | os.O_CREAT | NO_LINK)
        except OSError as error:
            raise refused(self.url, "lock", "write", error) from error
        try:
            locks.lock(file)
            yield
        finally:
            os.close(file)


class Memory:
    """Files in memory: for runs that nobody asked to keep."""

    url = "memory"

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {}

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/"
        return sorted(name.removeprefix(start) for name in self._content if name.startswith(start))

    def read(self, name: str) -> bytes:
        if name not in self._content:
            raise FileNotFoundError(name)
        return self._content[name]

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self.read(name))

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        self._content[name] = content

    def remove(self, name: str) -> None:
        self._content.pop(name, None)

    def move(self, name: str, to: str) -> None:
        if name in self._content:
            self._content[to] = self._content.pop(name)

    def size(self, name: str) -> int:
        return len(self.read(name))


class Remote:
    """Files at an address that fsspec knows, such as `s3://bucket/results`."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise StoreError(f"{url}: a store at an address needs fsspec: {extras.command('remote')}") from error
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError, OSError) as error:
            raise StoreError(f"{url}: cannot be opened: {error}") from error
        self.url = url.rstrip("/")

    def _at(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}" if name else self._root

    def names(self, folder: str) -> list[str]:
        # What others wrote since must be seen.
        self._fs.invalidate_cache()
        try:
            found: list[dict[str, Any]] = self._fs.ls(self._at(folder), detail=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise refused(self.url, folder or "the folder", "read", error) from error
        return sorted(str(one["name"]).rsplit("/", 1)[-1] for one in found if one["type"] == "file")

    def read(self, name: str) -> bytes:
        content: bytes = self._fs.cat_file(self._at(name))
        return content

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self.read(name))

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        # Object stores show a file when it is whole. Elsewhere the file takes its name in one step at the end.
        folder, _, last = name.rpartition("/")
        part = self._at(f"{folder}/{PARTIAL}{secrets.token_hex(8)}-{last}")
        try:
            self._fs.makedirs(self._at(folder), exist_ok=True)
            self._fs.pipe_file(part, content)
            self._fs.mv(part, self._at(name))
        except Exception as error:
            with contextlib.suppress(Exception):
                self._fs.rm_file(part)
            raise refused(self.url, name, "write", error) from error

    def remove(self, name: str) -> None:
        try:
            self._fs.rm_file(self._at(name))
        except FileNotFoundError:
            pass
        except Exception as error:
            raise refused(self.url, name, "remove", error) from error

    def move(self, name: str, to: str) -> None:
        try:
            self._fs.makedirs(self._at(to.rpartition("/")[0]), exist_ok=True)
            self._fs.mv(self._at(name), self._at(to))
        except FileNotFoundError:
            pass
        except Exception as error:
            raise refused(self.url, name, "move", error) from error

    def size(self, name: str) -> int:
        return int(self._fs.size(self._at(name)))


def refused(url: str, name: str, what: str, error: Exception) -> StoreError:
    """The error for a file that cannot be read or written."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return StoreError(f"{url}: cannot {what} {name}: {reason}")


def at(place: str | os.PathLike[str]) -> Files:
    """The files at a folder or an address."""
    text = os.fspath(place)
    if "://" in text and not text.startswith("file://"):
        return Remote(text)
    return Folder(Path(text.removeprefix("file://")).absolute())
