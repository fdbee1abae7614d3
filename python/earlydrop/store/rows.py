"""Result documents from the rows of a store, with the fields whose columns were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import foreign
from ..document import is_position, steps_of
from .keys import COST, DIGEST, KEYS

if TYPE_CHECKING:
    import polars

    from ..document import Document

RECORDED = ("series", "rates", "trace", "traces", "variables", "delays")
"""Fields that were recorded over time: one text in the column `recorded`."""
FLOWS = "flows"
"""A list of tables whose fields are a list each."""
MOST = 100_000
"""Most positions in a list of a result."""
_NO_FIELDS = (*KEYS, "scenario", COST, DIGEST)


def columns_of(field: str) -> list[str]:
    """The column of a field of a result document, as steps; `*` for any.

    Columns that stand beside it are told apart by their last step only, so `column[:-1]` are those of the same table.
    """
    steps = steps_of(field)
    if steps[0] in RECORDED:
        return ["recorded"]
    # The position of a flow, or * for all of them, is no part of the column's name.
    return [step for k, step in enumerate(steps) if k == 0 or steps[k - 1] != FLOWS]


def names_of(field: str) -> list[list[str]]:
    """The columns with the names of entries, where a step of the field may be one."""
    own = columns_of(field)
    return [[*own[:k], "name"] for k in range(2, len(own)) if not is_position(own[k - 1]) and own[k - 1] != "*"]


def matches(column: str, wanted: Sequence[str]) -> bool:
    """Whether a column may be the one that `columns_of` gave: an entry that has a name there has a number here."""
    steps = column.split(".")
    return len(steps) == len(wanted) and all(
        w in ("*", s) or (s.isdigit() and not is_position(w)) for s, w in zip(steps, wanted, strict=True)
    )


def documents(frame: polars.DataFrame) -> Iterator[Document]:
    """The result document of each row. A field that the row lacks is null, or is not there."""
    names = [name for name in frame.columns if name not in _NO_FIELDS]
    split = [name.split(".") for name in names]
    for row in frame.select(names).iter_rows():
        document: Document = {}
        for name, steps, value in zip(names, split, row, strict=True):
            if name == "recorded":
                document |= foreign.parsed(value) if value is not None else {}
            else:
                _put(document, steps, value)
        yield _listed(document)


def _put(document: Document, steps: Sequence[str], value: Any) -> None:
    here = document
    for k, step in enumerate(steps[:-1]):
        if step == FLOWS and k == len(steps) - 2:
            if value is not None:
                flows = here.setdefault(FLOWS, [{} for _ in value])
                for flow, item in zip(flows, value, strict=True):
                    flow[steps[-1]] = item
            return
        here = here.setdefault(step, {})
    here[steps[-1]] = value


def _listed(table: Mapping[str, Any]) -> Any:
    """Tables whose keys are positions as the lists that they are; empty tables where a position was not read."""
    found = {key: _listed(value) if isinstance(value, dict) else value for key, value in table.items()}
    if found and all(key.isdigit() and int(key) < MOST for key in found):
        return [found.get(str(k), {}) for k in range(1 + max(map(int, found)))]
    return found
