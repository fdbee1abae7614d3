"""The matrix of a sweep with many comparisons (matrix.py) in sentences, as a table of the terminal, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from ..document import Document
from ..terminal import paragraph, signed, table

if TYPE_CHECKING:
    from ..analysis.quantity import Quantity
    from .model import Sweep

MANY = 24
"""More comparisons with a control than these are shown as a matrix."""
Score = Literal["win", "tie", "loss", "open"]
SCORES: tuple[Score, ...] = get_args(Score)
SIGNS = dict(zip(SCORES, "+=-?", strict=True))
CHANGES, BETWEEN = 8, 4
"""The most changes of the order that are printed, and of each the most places."""


@dataclass(frozen=True)
class Matrix:
    """What was found, as plain values."""

    cells: list[Document]
    """For each rival and measure the number of wins, ties, losses and open comparisons of the control, and the smallest
    and the largest difference of the rival's mean from the control's, with intervals for all statements together.
    """
    changes: list[Document]
    """Where the order changes along a factor with numbers: the most frequent first."""
    statements: int = 0


NONE = Matrix([], [])


@dataclass(frozen=True)
class Grid:
    """The matrix against one control: the longer side, rivals or measures, is down."""

    factor: str
    control: str
    head: list[str]
    rows: list[tuple[str, list[Document | None]]]


def grids(cells: Sequence[Document], labels: Mapping[str, str]) -> list[Grid]:
    """The cells as tables, one for each control; `labels` are those of measures by id."""
    found = []
    for factor in dict.fromkeys(str(one["factor"]) for one in cells):
        mine = {(one["level"], one["measure"]): one for one in cells if one["factor"] == factor}
        rivals, measures = (list(dict.fromkeys(key[side] for key in mine)) for side in range(2))
        control = str(next(iter(mine.values()))["control"])
        if len(rivals) >= len(measures):
            head = [f"{control} against", *(labels[m] for m in measures)]
            rows = [(r, [mine.get((r, m)) for m in measures]) for r in rivals]
        else:
            head = [f"{control} against", *rivals]
            rows = [(labels[m], [mine.get((r, m)) for r in rivals]) for m in measures]
        found.append(Grid(factor, control, head, rows))
    return found


def counts(cell: Document | None) -> str:
    """`+10 =1 -580 ?9`: what there is of wins, ties, losses and open comparisons."""
    return "" if cell is None else " ".join(f"{sign}{cell[name]:,}" for name, sign in SIGNS.items() if cell[name])


def legend(control: str) -> str:
    """What the signs of the matrix mean."""
    return (
        f"Numbers of points: + {control} wins, = ties (equal within the measure's margin), - {control} loses, ? open "
        "(no difference found, one that does not remain after the correction, or a window that is too short)."
    )


def places(one: Document) -> str:
    """`10 and 20 (12), 20 and 40 (3)`: between which levels the order changes, and at how many lines of points."""
    shown = one["between"][:BETWEEN]
    rest = len(one["between"]) - len(shown)
    said = ", ".join(f"{place['from']} and {place['to']} ({place['count']:,})" for place in shown)
    return f"{said}, {rest:,} more" if rest else said


def change(one: Document, title: str) -> str:
    """`Goodput along flows: droptail is better below, pie above; between 10 and 20 (7), of 40 lines of points`."""
    lines = f"{one['lines']:,} {'lines' if one['lines'] != 1 else 'line'} of points"
    return (
        f"{title} along {one['along']}: {one['below']} is better below, {one['above']} above; between {places(one)}, "
        f"of {lines}"
    )


CHANGE = ("Measure", "along", "better below", "between", "better above", "times", "lines")


def change_row(one: Document, label: str) -> list[str]:
    """A change of the order as a row of a table with the head `CHANGE`."""
    counted = (f"{one['count']:,}", f"{one['lines']:,}")
    return [label, one["along"], one["below"], places(one), one["above"], *counted]


ENDS = ("Measure", "against", "smallest difference", "at", "largest difference", "at")
ENDS_TEXT = (
    "Mean against the control's; in brackets the interval that holds for all of the matrix together (95 %, corrected "
    "after Bonferroni)."
)


def end_row(one: Document, label: str, digits: int) -> list[str]:
    """The smallest and the largest difference of a cell as a row of a table with the head `ENDS`."""
    row = [label, one["level"]]
    for end in (one["least"], one["most"]):
        around = [signed(end[side], digits) for side in ("lower", "upper")]
        row += [f"{signed(end['mean'], digits)} ({around[0]} to {around[1]})", end["where"]]
    return row


def sentences(found: Matrix, sweep: Sweep, spoken: Sequence[Quantity], tested: int) -> list[str]:
    """Each measure against all rivals together, and the most frequent change of the order; of so many tests."""
    said = []
    for factor in sweep.control:
        for m in spoken:
            cells = [one for one in found.cells if (one["factor"], one["measure"]) == (factor, m.id)]
            if not cells:
                continue
            win, tie, loss, open_ = (sum(int(one[name]) for one in cells) for name in SCORES)
            control = cells[0]["control"]
            rivals = str(cells[0]["level"]) if len(cells) == 1 else f"{len(cells):,} others"
            said.append(
                f"{m.title}: {control} wins {win:,}, ties {tie:,}, loses {loss:,} and leaves {open_:,} open of "
                f"{win + tie + loss + open_:,} comparisons with {rivals}."
            )
    titles = {m.id: m.title for m in spoken}
    turns = [one for one in found.changes if one["measure"] in titles]
    said += [f"The order changes. {change(one, titles[one['measure']])}." for one in turns[:1]]
    return [
        *said,
        f"Wins and losses remain after Holm's correction for {tested:,} differences; ties lie within the "
        f"measure's margin at a confidence widened for {found.statements:,} statements; all else is open.",
    ]


def lines(found: Matrix, sweep: Sweep) -> Iterator[str]:
    """The matrix and the changes of the order, for a terminal."""
    labels = {m.id: m.label for m in sweep.measures}
    for grid in grids(found.cells, labels):
        yield from ("", table(grid.head, [[name, *map(counts, cells)] for name, cells in grid.rows]), "")
        yield paragraph(legend(grid.control))
    if not found.changes:
        return
    yield from ("", "Where the order changes:")
    for one in found.changes[:CHANGES]:
        yield paragraph(f"{change(one, sweep.measure(one['measure']).title)}.", "  ")
    if len(found.changes) > CHANGES:
        yield f"  and {len(found.changes) - CHANGES:,} more in matrix.md"


def markdown(found: Matrix, sweep: Sweep, summary: Sequence[str]) -> str:
    """The matrix, the changes of the order and the largest differences in Markdown; empty without a matrix."""
    if not found.cells:
        return ""
    labels = {m.id: m.label for m in sweep.measures}
    parts = [f"# {_cell(sweep.title)}", *map(_cell, summary)]
    for grid in grids(found.cells, labels):
        rows = [[name, *map(counts, cells)] for name, cells in grid.rows]
        parts += [_table(grid.head, rows), _cell(legend(grid.control))]
    if found.changes:
        parts += [
            "## Where the order changes",
            _table(CHANGE, [change_row(one, labels[one["measure"]]) for one in found.changes]),
        ]
    rows = [end_row(one, labels[one["measure"]], sweep.measure(one["measure"]).digits) for one in found.cells]
    return "\n\n".join([*parts, "## Smallest and largest differences", ENDS_TEXT, _table(ENDS, rows)]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    every = [[_cell(cell) for cell in row] for row in (head, *rows)]
    every.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(row)} |" for row in every)


def _cell(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_\[\]<>|&~#])", r"\\\1", " ".join(text.split()))
