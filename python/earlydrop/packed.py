"""Columns that the engine packed into bytes, as polars series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

Packed = tuple[str, str, bytes, bytes | None, bytes, list[str] | None]
"""A column as `_core.run_batch` packs it: path, kind, runs, lengths, values, texts."""


def numbers(content: bytes, kind: Any) -> Any:
    """An array over bytes of the engine's."""
    import numpy as np

    return np.frombuffer(content, dtype=kind)


def series(columns: Sequence[Packed], rows: Any = None, count: int = 0) -> polars.Series:
    """The values of one column in several pieces, one after the other; or in these of `count` rows, the rest null."""
    import numpy as np
    import polars as pl

    kinds = {kind for _, kind, *_ in columns}
    least = np.iinfo(np.int64).min

    def spread(pieces: list[Any], absent: float) -> Any:
        values = np.concatenate(pieces)
        if rows is None:
            return values
        # numpy spaces the values: polars takes ten times as long for a column of some hundred runs.
        spaced = np.full(count, absent, values.dtype)
        spaced[rows] = values
        return spaced

    if "real" in kinds:
        # A column in which the field was whole, or never there.
        arrays = [
            numbers(c[4], np.float64)
            if c[1] == "real"
            else np.where((whole := numbers(c[4], np.int64)) == least, np.nan, whole.astype(float))
            for c in columns
        ]
        return pl.Series(spread(arrays, np.nan), nan_to_null=True)
    words: dict[str, int] = {}
    codes = []
    for _, _, _, _, values, texts in columns:
        whole = numbers(values, np.int64)
        if texts:
            # Each piece has its own list of texts.
            places = np.array([words.setdefault(word, len(words)) for word in texts], np.int64)
            whole = np.where(whole == least, least, places[np.maximum(whole, 0)])
        codes.append(whole)
    all_ = spread(codes, least)
    series = pl.Series(all_)
    missing = all_ == least
    if missing.any():
        series = series.set(pl.Series(missing), None)
    return series if kinds == {"whole"} else pl.Series(list(words), dtype=pl.String).gather(series)


def table(columns: Iterable[Packed]) -> polars.DataFrame:
    """Columns of one run, a list each, as a table with one row for each item."""
    import polars as pl

    return pl.DataFrame({column[0]: series([column]) for column in columns})
