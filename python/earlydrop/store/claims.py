"""Claims of processes on runs, so that processes with a common store share the work and make no run twice.

Each process that is making runs has a file in `claims/` that names them, and keeps it locked. A lock ends with its
process, however that ends, and then the claim counts no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Collection

from .. import disk, foreign
from ..locks import held, lock
from .files import NO_LINK, Folder, refused
from .keys import Run


class Claims:
    """The claims of this process and, to be read under the store's lock, those of others."""

    def __init__(self, files: Folder) -> None:
        self._files = files
        self._folder = files.path / "claims"
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}.json"
        self._file: int | None = None

    def others(self) -> set[Run]:
        """What other processes are making. Claims of processes that ended are removed."""
        found: set[Run] = set()
        for name in self._files.names("claims"):
            if name == self._name:
                continue
            path = self._folder / name
            try:
                file = os.open(path, os.O_RDWR | NO_LINK)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise refused(self._files.url, f"claims/{name}", "read", error) from error
            try:
                alive = held(file)
                if alive:
                    for line in self._files.read(f"claims/{name}").splitlines():
                        # Of a damaged claim nothing is known; at worst a run is made twice and stored once.
                        with contextlib.suppress(ValueError, TypeError):
                            found |= {(key, seed) for key, seed in foreign.parsed(line)}
            finally:
                os.close(file)
            if not alive:
                # The process of this claim is gone. Windows removes no open file.
                path.unlink(missing_ok=True)
        return found

    def has_others(self) -> bool:
        """Whether there are claims of other processes, which may have ended."""
        return any(name != self._name for name in self._files.names("claims"))

    def add(self, runs: Collection[Run]) -> None:
        """Claim these runs too. Call it under the store's lock."""
        self._write(runs, anew=False)

    def set(self, runs: Collection[Run]) -> None:
        """Claim these runs and no others. Call it under the store's lock."""
        self._write(runs, anew=True)

    def _write(self, runs: Collection[Run], *, anew: bool) -> None:
        try:
            if self._file is None:
                disk.make_folders(self._folder)
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK
                self._file = disk.system.open(self._folder / self._name, flags)
                lock(self._file)
            if anew:
                # The file is rewritten in place, as the lock would not hold for another file.
                disk.system.truncate(self._file)
            left = memoryview((json.dumps([list(run) for run in runs]) + "\n").encode())
            while left:
                left = left[disk.system.write(self._file, left) :]
        except OSError as error:
            raise refused(self._files.url, f"claims/{self._name}", "write", error) from error

    def close(self) -> None:
        """Claim nothing any more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            with contextlib.suppress(OSError):
                (self._folder / self._name).unlink(missing_ok=True)
