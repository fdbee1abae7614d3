"""The measures of all runs of a sweep, in an unnamed temporary file: rows are written in any order."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any, TypeAlias

import numpy as np

from ..store import StoreError

Array: TypeAlias = "np.ndarray[Any, Any]"


class Table:
    """Rows of numbers that may be missing. Holds no row in memory; the file ends with the process, however that ends.

    Raises:
        StoreError: the folder for temporary files cannot be written.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._rows = rows
        # A number before the others says whether the row is there: 0 where nothing was written.
        self._width = columns + 1
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
        left, at = memoryview(content.tobytes()), row * self._width * 8
        while left:
            written = os.pwrite(self._file.fileno(), left, at)
            left, at = left[written:], at + written

    def get(self, start: int, end: int) -> tuple[Array, Array]:
        """Which of the rows are there, and the values of all, NaN where one is missing."""
        count = max(0, min(end, self._rows) - start)
        content = bytearray()
        while len(content) < count * self._width * 8:
            more = os.pread(
                self._file.fileno(),
                count * self._width * 8 - len(content),
                start * self._width * 8 + len(content),
            )
            if not more:
                raise StoreError("the file with the measures of this sweep was cut short")
            content += more
        found = np.frombuffer(content).reshape(count, self._width)
        return found[:, 0] == 1, found[:, 1:]


def _refused(error: OSError) -> StoreError:
    return StoreError(f"{tempfile.gettempdir()}: cannot write the measures of this sweep: {error.strerror or error}")
