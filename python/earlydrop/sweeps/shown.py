"""The results of a sweep for people: as text, as part of a notebook, as figures, as a table for a paper."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import extras, notebook
from . import paper, text
from .model import SweepError
from .outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .plots import Data

Kind = Literal["curves", "plane", "map", "factors"]


class Swept(Outcome):
    """What a sweep found. Printed, it is what `earlydrop sweep` prints."""

    def to_frame(
        self, measures: str | Sequence[str] | None = None, kind: Literal["polars", "pandas"] = "polars"
    ) -> Any:
        """One row for each point and measure: the factors, `measure`, `unit`, mean, 95 % interval and number of seeds.

        Raises:
            SweepError: there is no such measure.
        """
        import polars

        sweep, found = self.sweep, []
        chosen = self._chosen(measures)
        for row in self.rows():
            levels = {
                f.name: level.value for f, level in zip(sweep.factors, sweep.points[row.number].levels, strict=True)
            }
            for name in chosen:
                cell = self.cell(row, name)
                numbers = {"mean": cell.mean, "lower": cell.lower, "upper": cell.upper, "n": cell.n}
                found.append({**levels, "measure": name, "unit": sweep.measure(name).unit, **numbers})
        frame = polars.DataFrame(found, infer_schema_length=None)
        return extras.to_pandas(frame) if kind == "pandas" else frame

    def plot(self, kind: Kind | str | None = None, measure: str | None = None) -> Figure:
        """A matplotlib figure of the results.

        Args:
            kind: `"curves"`, measures over the numeric factor with most levels; `"plane"`, goodput over queueing delay;
                `"map"`, a heat map of `measure` over two factors; `"factors"`, points over each factor; or a text such
                as `"queue_delay vs rtt by aqm"` or `"cdf delay by aqm"`, as `--plot` takes it (docs/sweeps.md).
                Without one, the first of curves, factors and plane that this sweep has.
            measure: of a heat map; queueing delay if none is given.

        Raises:
            SweepError: this sweep has no such figure.
        """
        from . import figures, plots
        from .report import read_data

        if measure is not None:
            self._chosen([measure])
        ways: dict[str, Callable[[Data], Figure | None]] = {
            "curves": plots.curves,
            "factors": plots.scatters,
            "plane": plots.plane,
            "map": lambda data: plots.maps(data, measure or next(iter(plots.pairs(data)), self._measures)[0]),
        }
        chosen = kind is not None and " " in kind
        if kind is not None and kind not in ways and not chosen:
            raise SweepError(f'kind: given {kind!r}; allowed {", ".join(ways)}, or as "queue_delay vs rtt by aqm"')
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text.write(folder, self, "")
            data = read_data(folder)
            if kind is not None and chosen:
                return figures.draw(data, figures.parse(kind, data))
            for way in [kind] if kind else list(ways):
                drawn = ways[way](data)
                if drawn is not None:
                    return drawn
        others = ", ".join(way for way in ways if way != kind)
        raise SweepError(
            f"kind: {kind} cannot be drawn of {self.sweep.name}, which has other factors; allowed {others}"
        )

    def to_latex(self, measures: str | Sequence[str] | None = None, *, caption: str | None = None) -> str:
        """Tables of the points for a paper (packages booktabs and siunitx): mean ± half-width of the 95 % interval.

        Without `measures` it has those that were asked for, if any were. With a control, or a factor that is no number,
        a table for each measure has its levels side by side.

        Raises:
            SweepError: there is no such measure.
        """
        asked = [m.id for m in self.sweep.measures if m.asked or m.id in self.sweep.of_parts] if self._asked else None
        chosen = [self.sweep.measure(name) for name in self._chosen(asked if measures is None else measures)]
        made = paper.Tables(self, chosen)
        for row in self.rows():
            made.add(row, [text.cell_text(self.cell(row, m.id), m.digits, self.sweep.interval) for m in chosen])
        return made.text(caption, text.replication(self))

    @property
    def _asked(self) -> bool:
        return any(m.asked for m in self.sweep.measures)

    def _texts(self, measures: Sequence[str], most: int | None = None) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table of points, with units."""
        sweep = self.sweep
        chosen = [sweep.measure(name) for name in measures]
        rows = []
        for row, _ in zip(self.rows(), range(len(sweep.points) if most is None else most), strict=False):
            levels = [f.called(x.name) for f, x in zip(sweep.factors, sweep.points[row.number].levels, strict=True)]
            cells = [text.cell_text(self.cell(row, m.id), m.digits, sweep.interval) for m in chosen]
            rows.append([*levels, *cells])
        return [*(f.label for f in sweep.factors), *(m.label for m in chosen)], rows

    def _chosen(self, measures: str | Sequence[str] | None) -> list[str]:
        chosen = [measures] if isinstance(measures, str) else list(self._measures if measures is None else measures)
        for name in chosen:
            if name not in self._measures:
                raise SweepError(f'there is no measure "{name}"; allowed: {", ".join(self._measures)}')
        return chosen

    def __str__(self) -> str:
        return text.outcome_text(self)

    def __repr__(self) -> str:
        return text.outcome_text(self)

    def _repr_html_(self) -> str:
        asked = sum(m.asked for m in self.sweep.measures)
        names = self._measures[: max(text.SHOWN_MEASURES, asked)]
        head, rows = self._texts(names, text.SHOWN_POINTS)
        left = len(self.sweep.points) - len(rows)
        said = [f"and {left:,} points more"] if left else []
        said += [*self.notes, *(f"Warning: {one}" for one in self.warnings[: text.SHOWN_FAILURES])]
        if self.tally.failed:
            said.append(f"Failed: {text.counted(self.tally.failed, 'run')}")
        caption = f"{self.sweep.name}: queue {self.sweep.queue}, {text.replication(self)}"
        table = notebook.table(head, rows, len(self.sweep.factors), caption)
        return notebook.paragraphs(self.summary) + table + notebook.paragraphs(said)


def shown(outcome: Outcome) -> Swept:
    """The same results as an object that shows itself."""
    parts = (outcome.plan, outcome.table, outcome.tally, outcome.version, outcome.warmups)
    return Swept(*parts, passing=outcome.passing, idle=outcome.idle, unused=outcome.unused)
