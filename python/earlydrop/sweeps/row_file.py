"""The measures of all runs of a sweep, in an unnamed temporary file: rows are written in any order."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import weakref
from typing import Any, TypeAlias

import numpy as np

from ..store import StoreError

Array: TypeAlias = "np.ndarray[Any, Any]"

PIECE = 1 << 13


class Table:
    """Rows of numbers that may be missing. Holds no row in memory; the file ends with the process, however that ends.

    Raises:
        StoreError: the folder for temporary files cannot be written.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        # A number before the row's values says whether the row is there: 0 where nothing was written.
        self._width = columns + 1
        # Windows reads and writes only at the file's position.
        self._moving = threading.Lock()
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as the table
            weakref.finalize(self, self._file.close)
            self._file.truncate(rows * self._width * 8)
        except OSError as error:
            raise _refused(error) from error

    def put(self, rows: Array, values: Array) -> None:
        """Put in rows (of different numbers) with their values, NaN where one is missing."""
        order = np.argsort(rows)
        rows, content = rows[order], np.ones((len(rows), self._width))
        content[:, 1:] = values[order]
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        try:
            for start, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(rows)], strict=True):
                self._write(int(rows[start]), content[start:end])
        except OSError as error:
            raise _refused(error) from error

    def _write(self, row: int, content: Array) -> None:
        left = memoryview(content.tobytes())
        with self._moving:
            self._file.seek(row * self._width * 8)
            while left:
                left = left[self._file.write(left) :]

    def get(self, start: int, end: int) -> tuple[Array, Array]:
        """For each of these rows whether it is there, and its values, NaN where one is missing."""
        count = max(0, min(end, self._rows) - start)
        content = bytearray()
        with self._moving:
            self._file.seek(start * self._width * 8)
            while len(content) < count * self._width * 8:
                more = self._file.read(count * self._width * 8 - len(content))
                if not more:
                    raise StoreError("the file with the measures of this sweep was cut short")
                content += more
        found = np.frombuffer(content).reshape(count, self._width)
        return found[:, 0] == 1, found[:, 1:]

    def digest(self) -> bytes:
        """A digest of the whole table."""
        found = hashlib.sha256()
        for start in range(0, self._rows, PIECE):
            for part in self.get(start, start + PIECE):
                found.update(part.tobytes())
        return found.digest()


def _refused(error: OSError) -> StoreError:
    return StoreError(f"{tempfile.gettempdir()}: cannot write the measures of this sweep: {error.strerror or error}")
