"""`ed.compare`: disciplines on one network, with the same seeds, as tables, a figure and LaTeX.

The runs and the statistics are those of `earlydrop compare`: the same scenario gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import earlydrop._core as _core
from . import extras, notebook
from .analysis import round_trips, words
from .analysis.entries import Items
from .analysis.paired import (
    CompareError,
    Comparison,
    compared_queues,
    from_file,
    measured_queue,
    rows,
)
from .analysis.paired import (
    compare as compare_on,
)
from .analysis.quantity import Asked, asked
from .analysis.statistics import Stopping
from .document import Document, overlay
from .output import to_json
from .own_aqms.registry import trusting
from .runner import Progress
from .scenario import Network
from .terminal import Progress as Shown

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

Source = Network | Mapping[str, Any] | str | PathLike[str]
"""A network, a scenario as a dict, or a scenario's file."""


def compare(
    net: Source,
    aqms: Items,
    *,
    seeds: int = 10,
    rtt: Sequence[str] | str | None = None,
    until: float | None = None,
    most: int = 200,
    measures: Asked | None = None,
    queue: str | None = None,
    trust: bool = False,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    **top: Any,
) -> Compared:
    """Run a network with several disciplines at its queue, each with the same seeds, and compare them.

        aqms = [ed.aqm.Red(min_th=10), ed.aqm.CoDel(), "pie"]
        found = ed.compare(net, aqms, rtt=["20 ms", "100 ms"], duration="60 s")
        found.plot()

    Args:
        net: a network, a scenario as a dict, or the file of one.
        aqms: the disciplines; the first is the control. An object such as `ed.aqm.Red(min_th=10)` is the whole queue,
            with the `limit` and `ecn` of the network's own queue where it has none. A name such as `"red"` keeps what
            the scenario says of the queue, without what only other disciplines know, as `earlydrop compare` does.
            A dict has them by labels, which tables, figures and sentences then show:
            `{"FQ-L4S": "fq_codel ce_threshold=1ms", "PIE, 5 ms": ed.aqm.Pie(target="5 ms")}`.
        seeds: runs of each discipline, counted from the scenario's `seed`.
        rtt: round-trip propagation delays. All delays of the network are scaled by one factor, so that the mean over
            the TCP flows that pass the queue is this value. Each value gives a table.
        until: run seeds until the half-widths of goodput and queueing delay are below this share of their means; at
            most `most`. `seeds` is not looked at then.
        measures: further measures (docs/measures.md), which come first: by title a path of the result, as in
            `{"Prague p99": "queues.bottleneck.traffic.prague.delay_p99_ms"}`, a function of the result document, or a
            table with `path` and `unit`, `better`, `margin`; or a list of texts as `--measure` takes them.
        queue: where the disciplines are compared: a queue's name, such as `"reverse"`; or `"all"`, where each
            discipline is at every queue of the network. By default the one called `bottleneck`, or the only one.
        trust: let a file or dict load code that it names as a discipline. It has the rights of this program.
        workers: threads; all cores if None.
        progress: False for no progress bar; or a function of (done, total, label). By default there is a bar in
            terminals and notebooks.
        top: keys of the scenario, such as `duration="60 s"`, `warmup="10 s"`, `seed=7`. A network needs `duration`.

    Raises:
        CompareError: a discipline, the queue or a round-trip time is wrong.
        MeasureError: a measure is wrong.
        ScenarioError: the scenario is wrong.
    """
    for name, number in (("seeds", seeds), ("most", most)):
        if not isinstance(number, Integral) or number < 1:
            raise CompareError(f"{name}: given {number!r}; allowed a whole number from 1 on")
    if until is not None and not (isinstance(until, Real) and 0 < until < 1):
        raise CompareError(f"until: given {until!r}; allowed above 0 and below 1, such as 0.02 for 2 %")
    target = None if until is None else Stopping(until, least=min(10, most), most=most)
    chosen = asked(measures)
    with trusting(trust):
        document = document_of(net, top)
        conditions = _conditions(document, rtt, queue)
        found: dict[str, Comparison] = {}
        with Shown(bars=True, quiet=progress is False) as bar:
            show: Progress = progress if callable(progress) else bar
            for label, one in conditions.items():
                found[label] = compare_on(
                    one,
                    aqms,
                    seeds=seeds,
                    measures=chosen,
                    target=target,
                    workers=workers,
                    progress=_labelled(show, label),
                    where="aqms",
                    queue=queue,
                )
    return Compared(found)


def document_of(net: Source, top: Mapping[str, Any]) -> Document:
    """The scenario of a network, a dict or a file, with these top-level keys laid over it.

    Raises:
        ScenarioError: the scenario is wrong.
        CompareError: the source is none of the three.
    """
    if isinstance(net, Network):
        if "duration" not in top:
            raise CompareError('duration: is missing; a network has none of its own: give duration="60 s"')
        return net.document(**top)
    given = {k: v for k, v in top.items() if v is not None}
    if isinstance(net, Mapping):
        return overlay(net, given)
    if isinstance(net, str | PathLike):
        path = Path(fspath(net))
        # The checker's messages have the name of the file.
        _core.Scenario.load(str(path), [])
        return overlay(from_file(path), given)
    raise CompareError(f"net: given {net!r}; allowed a network, a scenario as a dict, or the name of its file")


def _conditions(document: Document, rtt: Sequence[str] | str | None, queue: str | None) -> dict[str, Document]:
    """The scenario at each round-trip time, by the time's name."""
    if rtt is None:
        return {"": document}
    times = [rtt] if isinstance(rtt, str) else list(rtt)
    if not times:
        raise CompareError('rtt: given none; allowed times such as ["20 ms", "100 ms"]')
    checked = _core.Scenario.parse(document, [])
    keys, *_ = compared_queues("net", checked, document, [], queue)
    port = measured_queue(checked, keys[0])
    now = None
    made: dict[str, Document] = {}
    for time in times:
        wanted = round_trips.seconds(time)
        if time in made:
            raise CompareError(f'rtt: "{time}" is given twice')
        now = round_trips.propagation(document, port) if now is None else now
        made[time] = round_trips.scaled(document, wanted / now)
    return made


def _labelled(progress: Progress, label: str) -> Progress:
    return (lambda done, total, what: progress(done, total, f"{what}, RTT {label}")) if label else progress


class Compared:
    """What `ed.compare` found. Printed, it is what `earlydrop compare` prints."""

    def __init__(self, results: Mapping[str, Comparison]) -> None:
        self.results = dict(results)
        """Comparisons by round-trip time, with all runs; the only key is "" where no round-trip time was given."""

    @property
    def _first(self) -> Comparison:
        return next(iter(self.results.values()))

    @property
    def rtts(self) -> list[str]:
        """The round-trip times that were asked for."""
        return [label for label in self.results if label]

    @property
    def aqms(self) -> list[str]:
        """The disciplines, as they are called in tables; the first is the control."""
        return list(self._first.aqms)

    @property
    def measures(self) -> list[str]:
        """Names of the measures, for `table` and `plot`."""
        return [m.id for m in self._first.measures]

    @property
    def summary(self) -> list[str]:
        """What was found, in two or three sentences."""
        return words.sentences(list(self.results.items()))

    # ---- tables --------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> dict[str, polars.DataFrame]:
        """By round-trip time: a row for each measure, a column for each discipline, mean ± half-width as text."""
        import polars

        made = {}
        for label in self.results:
            head, *body = self._texts(label)
            columns = dict(zip(["measure", *head[1:]], zip(*body, strict=True), strict=True))
            made[label] = polars.DataFrame({name: list(cells) for name, cells in columns.items()})
        return made

    def table(self, measure: str) -> polars.DataFrame:
        """The numbers of one measure: the rows of `to_frame()` that have it.

        Raises:
            CompareError: there is no such measure.
        """
        frame: polars.DataFrame = self.to_frame([measure])
        return frame.drop("measure")

    def to_frame(
        self, measures: str | Sequence[str] | None = None, kind: Literal["polars", "pandas"] = "polars"
    ) -> Any:
        """One row for each round-trip time, measure and discipline: mean, 95 % interval, difference from the control.

        Columns: `rtt` (where some were given), `measure`, `unit`, `aqm`, `mean`, `lower`, `upper`, `n`; and of the
        difference from the control, seed by seed, `difference`, `difference_lower`, `difference_upper`, and `p_holm`,
        the p value after Holm's correction for all differences of its table.

        Raises:
            CompareError: there is no such measure.
        """
        import polars

        found = [
            ({"rtt": label} if label else {}) | row for label, one in self.results.items() for row in _numbers(one)
        ]
        frame = polars.DataFrame(found, infer_schema_length=None)
        if measures is not None:
            frame = frame.filter(polars.col("measure").is_in(self._chosen(measures)))
        return extras.to_pandas(frame) if kind == "pandas" else frame

    @property
    def runs(self) -> polars.DataFrame:
        """One row for each run: `rtt` (where some were given), `aqm`, `seed` and the measures."""
        import polars

        made = []
        for label, one in self.results.items():
            head, *body = rows(one)
            made += [({"rtt": label} if label else {}) | dict(zip(head, row, strict=True)) for row in body]
        return polars.DataFrame(made, infer_schema_length=None)

    # ---- for papers ----------------------------------------------------------------------------------------------

    def plot(self, measures: str | Sequence[str] | None = None) -> Figure:
        """A matplotlib figure: means with 95 % intervals for each discipline, a panel for each measure.

        Without `measures` it has those that were asked for, if any were. With `rtt` it has lines over the round-trip
        time.

        Raises:
            CompareError: there is no such measure.
        """
        from .render import comparison_plot

        chosen = None if measures is None else self._chosen(measures)
        along = "Round-trip propagation delay (ms)"
        xs = [1e3 * round_trips.seconds(label) for label in self.rtts]
        return comparison_plot.comparison(list(self.results.items()), chosen, along, xs)

    def to_latex(self, measures: str | Sequence[str] | None = None, *, caption: str | None = None) -> str:
        """A table for a paper (package booktabs): mean ± half-width of the 95 % interval, with units.

        Without `measures` it has those that were asked for, if any were; else all.

        Raises:
            CompareError: there is no such measure.
        """
        from .render import result_text

        asked_ = [m.id for m in self._first.measures if m.asked]
        chosen = (asked_ or self.measures) if measures is None else self._chosen(measures)
        return result_text.latex_comparison(list(self.results.items()), chosen, caption)

    @property
    def document(self) -> Document:
        """Everything but the runs as plain values: what `earlydrop compare --json` prints.

        With round-trip times: `summary`, and under `rtts` such a document for each.
        """
        version = _core.version()
        if not self.rtts:
            return self._first.document(version)
        each = {label: one.document(version) for label, one in self.results.items()}
        return {"version": version, "summary": self.summary, "rtts": each}

    def to_json(self) -> str:
        """`document` as JSON."""
        return to_json(self.document, indent=1)

    def _chosen(self, measures: str | Sequence[str]) -> list[str]:
        chosen = [measures] if isinstance(measures, str) else list(measures)
        self._check(chosen)
        return chosen

    def _check(self, measures: Sequence[str]) -> None:
        for name in measures:
            if name not in self.measures:
                raise CompareError(f'there is no measure "{name}"; allowed: {", ".join(self.measures)}')

    # ---- for people ----------------------------------------------------------------------------------------------

    def _texts(self, label: str) -> list[list[str]]:
        from .render import result_text

        return result_text.comparison_tables(self.results[label])[0]

    def _heading(self) -> str:
        from .render import result_text

        one = self._first
        names = ", ".join(one.titles[aqm] for aqm in one.aqms)
        return f"{one.scenario}: {names} at {one.where}, {result_text.replication(one)}"

    def __str__(self) -> str:
        from .render import result_text
        from .terminal import paragraph

        if not self.rtts:
            return result_text.comparison_text(self._first)
        parts = ["\n".join(map(paragraph, self.summary))]
        for label, one in self.results.items():
            parts.append(f"RTT {label}\n\n{result_text.comparison_text(one, said=False)}")
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        from .terminal import paragraph, table

        parts = ["\n".join(map(paragraph, [*self.summary, self._heading()]))]
        for label in self.results:
            head, *body = self._texts(label)
            parts.append(table([f"RTT {label}" if label else "", *head[1:]], body))
        return "\n\n".join([*parts, *map(paragraph, self._notes())])

    def _repr_html_(self) -> str:
        parts = [notebook.paragraphs(self.summary)]
        for label in self.results:
            head, *body = self._texts(label)
            parts.append(notebook.table(head, body, caption=f"RTT {label}" if label else ""))
        return "".join([*parts, notebook.paragraphs([self._heading(), *self._notes()])])

    def _notes(self) -> list[str]:
        """What to know before believing the figures; each once."""
        found: dict[str, None] = {}
        for one in self.results.values():
            without = {one.titles[aqm]: ", ".join(names) for aqm, names in one.dropped.items()}
            found |= dict.fromkeys(one.notes)
            found |= dict.fromkeys(f"{title} does not know {names}: run without." for title, names in without.items())
            found |= dict.fromkeys(f"Warning: {text}" for text in one.warnings)
        return list(found)


def _numbers(result: Comparison) -> list[Document]:
    """The means and differences of a comparison, a row for each measure and discipline."""
    found = []
    for m in result.measures:
        for aqm in result.aqms:
            e = result.estimate(aqm, m.id)
            if e is None:
                continue
            ends = e.within(m.bounds) or (None, None)
            d = result.differences.get(aqm, {}).get(m.id)
            found.append(
                {
                    "measure": m.id,
                    "unit": m.unit,
                    "aqm": result.titles[aqm],
                    "mean": e.mean,
                    "lower": ends[0],
                    "upper": ends[1],
                    "n": e.n,
                    "difference": None if d is None else d.estimate.mean,
                    "difference_lower": None if d is None else d.estimate.lower,
                    "difference_upper": None if d is None else d.estimate.upper,
                    "p_holm": result.corrected.get((aqm, m.id), (None, None))[0],
                }
            )
    return found
