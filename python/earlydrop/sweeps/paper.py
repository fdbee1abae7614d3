"""What a sweep gives a paper: tables in LaTeX, and an appendix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..analysis.quantity import Quantity
from ..render import appendix, latex
from ..render.result_text import BY_SEED, MARKED
from ..terminal import CUT
from . import settings
from .model import Factor, Level

if TYPE_CHECKING:
    from .cells import Row
    from .outcome import Outcome

MOST = 2000
"""The most points of a result folder's tables: those of larger sweeps fit on no page."""
LISTED, LONGEST = 20, 80
"""The most levels of a factor that the appendix lists, and the longest settings that it shows."""
WIDEST = 8
"""The most levels that stand side by side."""


class Tables:
    """The points of a sweep as tables: one for each measure, with the levels of one factor side by side.

    That factor is the one with a control, or the first that is no number. Where there is none, or it is the only one,
    one table has a column for each measure.
    """

    def __init__(self, outcome: Outcome, measures: Sequence[Quantity]) -> None:
        self._outcome, self._measures = outcome, measures
        self._points: list[tuple[str, ...]] = []
        self._cells: list[list[str]] = []
        self._seeds: list[int] = []

    def add(self, row: Row, cells: Sequence[str]) -> None:
        """Add a point with its texts, in the order of the measures."""
        short = self._outcome.short(row.number)
        self._points.append(tuple(x.name for x in self._outcome.sweep.points[row.number].levels))
        self._cells.append([f"{cell} {latex.MARK}" if short else cell for cell in cells])
        self._seeds.append(len(row.seeds))

    def text(self, caption: str | None, about: str) -> str:
        """All tables. `caption` is in place of what is said of all: `about`, the number of seeds, notes."""
        sweep = self._outcome.sweep
        ends = sorted({min(self._seeds, default=0), max(self._seeds, default=0)})
        said = f"{sweep.title}: {about}, n = {' to '.join(map(str, ends))}"
        looked = len(self._outcome.warmups)
        unseen = [f"windows were examined at {looked:,} of {len(sweep.points):,} points"]
        unseen = unseen if 0 < looked < len(sweep.points) else []

        labels = settings.lines(sweep)

        def captioned(cells: Iterable[str], head: str = "") -> str:
            if caption is not None:
                return head + caption
            found = list(cells)
            cut = [CUT] if any("[" in cell for cell in found) else []
            marked = [MARKED] if any(latex.MARK in cell for cell in found) else []
            return head + "; ".join([said, *cut, *marked, *unseen, *labels, *self._outcome.notes])

        side = self._side()
        if side is None:
            head = [*(f.label for f in sweep.factors), *(m.label for m in self._measures)]
            rows = [[*self._called(point), *cells] for point, cells in zip(self._points, self._cells, strict=True)]
            every = captioned(cell for row in self._cells for cell in row)
            return latex.NEEDS + latex.table(head, rows, len(sweep.factors), every, latex.label(sweep.name))
        made = [
            self._pivoted(side, k, captioned((row[k] for row in self._cells), f"{m.label}; "))
            for k, m in enumerate(self._measures)
        ]
        return latex.NEEDS + "\n".join(made)

    def _called(self, point: Sequence[str], but: int = -1) -> list[str]:
        named = enumerate(zip(self._outcome.sweep.factors, point, strict=True))
        return [f.called(name) for k, (f, name) in named if k != but]

    def _side(self) -> int | None:
        """The factor whose levels stand side by side."""
        sweep, points = self._outcome.sweep, self._points
        if len(set(points)) < len(points):
            return None
        names = [f.name for f in sweep.factors]
        wanted = [names.index(name) for name in sweep.control]
        wanted += [k for k, numeric in enumerate(sweep.numeric) if not numeric and k not in wanted]
        for k in wanted:
            rows = {(*point[:k], *point[k + 1 :]) for point in points}
            if 2 <= len({point[k] for point in points}) <= WIDEST and 1 < len(rows) < len(points):
                return k
        return None

    def _pivoted(self, side: int, measure: int, caption: str) -> str:
        sweep = self._outcome.sweep
        factor: Factor = sweep.factors[side]
        columns = list(dict.fromkeys(point[side] for point in self._points))
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for point, cells in zip(self._points, self._cells, strict=True):
            key = tuple(self._called(point, side))
            rows.setdefault(key, {})[point[side]] = cells[measure]
        # Numbers do not say what they are of.
        bare = sweep.numeric[side]
        heads = [
            f"{factor.said} = {one}" if bare and one not in factor.titles else factor.called(one) for one in columns
        ]
        left = [f.label for k, f in enumerate(sweep.factors) if k != side]
        body = [[*key, *(row.get(one, "-") for one in columns)] for key, row in rows.items()]
        name = latex.label(sweep.name, self._measures[measure].id)
        return latex.table([*left, *heads], body, len(left), caption, name)


def _sets(level: Level) -> list[str]:
    """What a level sets in the scenario, a path and its value each; of long values only where they are."""
    if level.scaled:
        return [level.scaled]
    every = [(path, f"{path} = {value}") for path, value in settings.pairs(level)]
    return [whole if len(whole) <= LONGEST else f"{path}, see sweep.json" for path, whole in every]


def appendix_text(outcome: Outcome) -> str:
    """The appendix of a paper on a sweep."""
    sweep = outcome.sweep
    n = f"{sweep.stop.least} to {sweep.stop.most} seeds" if sweep.stop else f"{sweep.seeds} seeds"
    common = "" if sweep.common is None else "; points share them only across " + (", ".join(sweep.common) or "nothing")
    how = [
        f"{len(sweep.points):,} points, each with {n} from {sweep.first_seed}{common}; measured at the queue "
        f"{sweep.queue} from {sweep.warmup_s:g} s on.",
        *([BY_SEED] if sweep.most > 1 and sweep.interval == "t" else []),
    ]
    rows = []
    for f in sweep.factors:
        if f.ranged or len(f.levels) > LISTED:
            ends = (f.low, f.high) if f.ranged else (f.levels[0].name, f.levels[-1].name)
            rows.append([f.label, f"{ends[0]} to {ends[1]}", ", ".join(f.paths)])
        else:
            for level in f.levels:
                first, *more = _sets(level) or [""]
                rows += [[f.label, f.called(level.name), first], *(["", "", one] for one in more)]
    scenario = {k: v for k, v in sweep.document.items() if k not in ("name", "seed")}
    names = ["Factor", "Level", "In the scenario"], rows
    return appendix.text(sweep.title, outcome.version, how, names, scenario, "sweep.json")
