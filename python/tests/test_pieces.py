"""What a sweep of any size stands on: documents in pieces, names in little memory, tables in files, lazy sequences."""

from __future__ import annotations

import hashlib
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from earlydrop import output, store, streamed
from earlydrop.store import names
from earlydrop.sweeps import lazy, plots
from earlydrop.sweeps.row_file import Table

# ---- documents -----------------------------------------------------------------------------------------------------

PLAIN = some.one_of(some.none(), some.booleans(), some.integers(), some.floats(), some.text(max_size=8))
VALUES = some.recursive(
    PLAIN, lambda inner: some.one_of(some.lists(inner, max_size=4), some.dictionaries(some.text(), inner, max_size=4))
)
DOCUMENTS = some.dictionaries(some.text(), some.one_of(VALUES, some.lists(VALUES, max_size=4)), max_size=5)


@given(DOCUMENTS, some.sampled_from([None, 1, 2]))
def test_a_document_written_in_pieces_is_the_same_text(document: dict[str, Any], indent: int | None) -> None:
    file = io.StringIO()
    writer = streamed.Writer(file, indent)
    for key, value in document.items():
        if isinstance(value, list):
            writer.items(key, iter(value))
        else:
            writer.put(key, value)
    writer.close()
    assert file.getvalue() == output.to_json(document, indent=indent)


@given(DOCUMENTS, some.sampled_from([None, 1]), some.integers(1, 40))
def test_a_document_read_in_pieces_is_the_same(document: dict[str, Any], indent: int | None, piece: int) -> None:
    text = output.to_json(document, indent=indent)
    document = json.loads(text)
    lists = [key for key, value in document.items() if isinstance(value, list)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamed, "PIECE", piece)
        file = Path(folder) / "d.json"
        file.write_text(text, encoding="utf-8")
        found = {key: list(v) if key in lists else v for key, v in streamed.read(file, lists)}
        keys = [key for key, _ in streamed.read(file, lists)]
    assert found == document
    assert keys == list(document), "lists that nobody looks at are passed over"


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"a": 1', '{"a" 1}', '{"a": [1, }', '{"a": [1 2]}', "{1: 2}", '{"a": 5}', '{"a": 1 "b": 2}']
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"JSON|[Ee]xpecting|text"):
        for _ in streamed.read(tmp_path / "d.json", ["a"]):
            pass


# ---- names ---------------------------------------------------------------------------------------------------------


def digests(*texts: str) -> names.Words:
    return names.words([hashlib.sha256(t.encode()).hexdigest()[:32] for t in texts])


def test_an_index_finds_what_was_put_in_and_nothing_else() -> None:
    index = names.Index()
    assert index.find(digests("a")).tolist() == [-1]
    for part in range(40):
        index.put(digests(*(f"{part} {k}" for k in range(1 + part % 7))), part)
    for part in range(40):
        mine = digests(*(f"{part} {k}" for k in range(1 + part % 7)))
        assert index.find(mine).tolist() == [part] * len(mine)
    assert index.find(digests("0 1", "1 1")).tolist() == [-1, 1]
    assert len(index) == sum(1 + part % 7 for part in range(40))
    index.drop([3, 4])
    assert index.find(digests("2 0", "3 0", "4 2", "5 0")).tolist() == [2, -1, -1, 5]


def test_digests_with_the_same_first_half_are_told_apart() -> None:
    words = np.array([[7, 1], [7, 2], [7, 3], [8, 1]], np.uint64)
    index = names.Index()
    index.put(words[[0, 3]], np.array([10, 13]))
    index.put(words[[2]], 12)
    assert index.find(words).tolist() == [10, -1, 12, 13]
    assert names.firsts(words[[1, 0, 1, 3, 0]]).tolist() == [0, 1, 0, 3, 1]


def test_a_run_is_named_by_key_seed_and_engine() -> None:
    keys = digests(*"ab")
    both = np.concatenate([names.mixed(keys, np.array([s, s]), e) for s in (-1, 0, 1, 2**62) for e in ("x", "y")])
    assert len({tuple(row) for row in both.tolist()}) == len(both)
    frame = pl.DataFrame({"scenario_key": [k.tobytes().hex() for k in keys], "seed": [1, 1], "engine": ["x", "y"]})
    expected = [names.mixed(keys[[k]], np.array([1]), e)[0].tolist() for k, e in ((0, "x"), (1, "y"))]
    assert names.of_runs(frame).tolist() == expected
    for wrong in ("ab", "zz" * 16, "a" * 31):
        with pytest.raises(ValueError, match=r"hexadecimal|digits"):
            names.words([wrong])


# ---- tables and sequences ------------------------------------------------------------------------------------------


def test_a_table_gives_back_its_rows_in_order() -> None:
    table = Table(100, 2)
    rows = np.array([40, 3, 41, 99, 42, 0])
    table.put(rows, np.stack([rows * 1.5, np.where(rows == 3, math.nan, rows)], axis=1))
    table.put(np.array([3, 7]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    there, values = table.get(0, 200)
    assert np.flatnonzero(there).tolist() == [0, 3, 7, 40, 41, 42, 99]
    assert values[there].tolist() == [[0, 0], [1, 2], [3, 4], [60, 40], [61.5, 41], [63, 42], [148.5, 99]]
    assert table.get(40, 42)[1].tolist() == [[60, 40], [61.5, 41]]
    assert [part.tolist() for part in table.get(90, 92)] == [[False, False], [[0, 0], [0, 0]]]


def test_a_table_that_cannot_be_written_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with pytest.raises(store.StoreError, match="/nonexistent: cannot write the measures"):
        Table(1, 1)


def test_a_lazy_sequence_is_a_sequence() -> None:
    asked: list[int] = []

    def square(k: int) -> int:
        asked.append(k)
        return k * k

    squares = lazy.Lazy(10, square, kept=2)
    assert (len(squares), squares[3], squares[-1], list(squares[2:8:3])) == (10, 9, 81, [4, 25])
    assert (squares[5], squares[5]) == (25, 25)
    assert asked.count(5) == 1, "it is kept"
    assert squares == [k * k for k in range(10)]
    assert squares != [0]
    assert 49 in squares
    with pytest.raises(IndexError):
        squares[10]


def test_few_of_many_are_drawn() -> None:
    assert list(plots.spread(range(5), 9)) == [0, 1, 2, 3, 4]
    assert list(plots.spread(range(101), 5)) == [0, 25, 50, 75, 100]
