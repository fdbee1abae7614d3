"""Comparison of disciplines on one scenario, under common random numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .. import foreign, runner
from ..document import Document, flow_count, lookup, same_run, with_traces
from ..errors import CompareError as CompareError
from ..runner import Job, Progress, no_progress
from ..strict_toml import letters
from . import round_trips, shared, silent, statistics, window, words
from .entries import Items, entries, with_entry
from .overflows import everywhere
from .quantity import COMPARED, TARGETS, MeasureError, Quantity, complaint, moment, paths_of, with_records
from .statistics import Difference, Estimate, Stopping
from .window import WATCHED, Recording, Window

if TYPE_CHECKING:
    import earlydrop._core as _core


@dataclass
class Comparison:
    """What a comparison found: one value per seed for each discipline and quantity."""

    scenario: str
    queue: str
    aqms: tuple[str, ...]
    titles: dict[str, str]
    seeds: tuple[int, ...]
    measures: tuple[Quantity, ...]
    values: dict[tuple[str, str], list[float | None]]
    dropped: dict[str, list[str]]
    """Settings of the scenario that a discipline does not know and was therefore run without."""
    runs: dict[tuple[str, int], Document]
    """The result documents by discipline and seed."""
    warmups: dict[str, Window] = field(default_factory=dict)
    """What is known of the measured window, by discipline."""
    target: Stopping | None = None
    """How narrow the intervals were to be, if that decided the number of seeds."""
    fixed: tuple[str, ...] = ()
    """Disciplines with which every seed gave the same run."""
    about: tuple[str, ...] = ()
    """Parts of the scenario that its author may not have meant, in sentences."""
    idle: tuple[str, ...] = ()
    """Disciplines that never acted at the compared queue: their figures are those of a full buffer."""
    parts: tuple[shared.Part, ...] | None = ()
    """Traffic entries with delays of their own at the queue, of which sentences speak one by one; None if they have
    such delays and the runs do not tell them apart.
    """
    base: Document = field(default_factory=dict)
    """The scenario; its compared queue is each discipline's in turn."""
    others: tuple[str, ...] = ()
    """Further queues that have each discipline in turn."""
    same: dict[str, str] = field(default_factory=dict)
    """Measures of every comparison that are not there twice: by id that of the measure asked for with the same path."""
    labels: dict[str, str] = field(default_factory=dict)
    """The disciplines behind the labels that were given, by id: `fq_codel ce_threshold=1ms`."""

    @property
    def queues(self) -> tuple[str, ...]:
        """The compared queues."""
        return (self.queue, *self.others)

    @property
    def where(self) -> str:
        """The compared queues in words."""
        return f"queues {words.listing(self.queues)}" if self.others else f"queue {self.queue}"

    def short(self, aqm: str) -> bool:
        """Whether a discipline's window is too short for its means."""
        judged = self.warmups.get(aqm)
        return judged is not None and judged.short

    def series(self, aqm: str, measure: str) -> list[float]:
        """The values by seed; empty where the discipline has no such measure."""
        values = self.values[(aqm, measure)]
        return [v for v in values if v is not None] if None not in values else []

    def estimate(self, aqm: str, measure: str) -> Estimate | None:
        """Mean over seeds with its interval."""
        values = self.series(aqm, measure)
        return statistics.estimate(values, same_run=aqm in self.fixed) if values else None

    def difference(self, aqm: str, measure: str) -> Difference | None:
        """This discipline minus the first, paired by seed."""
        mine, first = self.series(aqm, measure), self.series(self.aqms[0], measure)
        fixed = {aqm, self.aqms[0]} <= set(self.fixed)
        if not mine or not first:
            return None
        return statistics.paired(mine, first, same_run=fixed, step=self._step((aqm, self.aqms[0]), measure))

    def _step(self, aqms: Iterable[str], measure: str) -> float:
        """What one packet changes in a measure, in the run where this is most."""
        (quantity,) = (m for m in self.measures if m.id == measure)
        steps = (quantity.step(d, self.queue) for (aqm, _), d in self.runs.items() if aqm in aqms)
        return max(steps, default=0.0)

    @cached_property
    def differences(self) -> dict[str, dict[str, Difference | None]]:
        """All differences against the first discipline, by discipline and measure."""
        return {a: {m.id: self.difference(a, m.id) for m in self.measures} for a in self.aqms[1:]}

    @cached_property
    def corrected(self) -> dict[tuple[str, str], tuple[float | None, float | None]]:
        """p values of the t tests, corrected for the number of differences: after Holm, after Benjamini-Hochberg."""
        every = {(a, m): d for a, row in self.differences.items() for m, d in row.items() if d is not None}
        tests = {key: d.t_p for key, d in every.items() if d.estimate.replicates > 1}
        after = (
            statistics.corrected(how, list(tests.values())) for how in (statistics.holm, statistics.benjamini_hochberg)
        )
        return dict(zip(tests, zip(*after, strict=True), strict=True))

    def stars(self, aqm: str, measure: str) -> int:
        """How sure a difference is: 1 if its interval excludes zero, 2 if it does so after Holm's correction.

        0 where a window is too short.
        """
        found = self.differences[aqm][measure]
        return (
            0
            if found is None or self.short(aqm) or self.short(self.aqms[0])
            else found.stars(self.corrected.get((aqm, measure), (None,))[0])
        )

    @property
    def said(self) -> list[str]:
        """What each label stands for, a line each: `FQ-L4S: fq_codel ce_threshold=1ms l4s=true`."""
        every = [(self.titles[aqm], text) for aqm, text in self.labels.items()]
        return [f"{title}: {text}" for title, text in every if letters(title) != letters(text)]

    @property
    def replicated(self) -> bool:
        """Whether there is more than one different run of any discipline."""
        return len(self.seeds) > 1 and set(self.fixed) != set(self.aqms)

    @property
    def note(self) -> str:
        """Why some disciplines have no intervals; empty where all have them."""
        return (
            statistics.same_run_note(
                len(self.seeds), [] if not self.replicated else [self.titles[a] for a in self.fixed]
            )
            if self.fixed
            else ""
        )

    @property
    def notes(self) -> list[str]:
        """What to know of the figures: why there are no intervals, and whose figures they are."""
        found = [self.note]
        for queue in self.queues:
            some = {
                (n, flow_count(d)) for d in self.runs.values() if (n := lookup(d, f'queues."{queue}".passing.flows'))
            }
            if some:
                passing, flows = min(some)
                whose = "the flows" if len(some) > 1 else f"the {passing} of {flows} flows"
                here = [m for m in self.measures if m.passing.startswith(f"queues.{queue}.")]
                found.append(passing_note(queue, here, whose))
        found.append(silent.note(self.runs.values()))
        return [note for note in found if note]

    @property
    def warnings(self) -> list[str]:
        """What the reader should know before believing the figures."""
        found = [*self.about, *window.sentences({self.titles[aqm]: w for aqm, w in self.warmups.items()})]
        if self.target is not None:
            for aqm in self.aqms:
                wide = [name for name in TARGETS if (aqm, name) in self.values and not self._narrow(aqm, name)]
                if wide:
                    found.append(
                        f"{self.titles[aqm]}: {', '.join(wide)} not narrow enough after {len(self.seeds)} seeds"
                    )
        return found

    def _narrow(self, aqm: str, measure: str) -> bool:
        assert self.target is not None
        values = self.series(aqm, measure)
        return not values or self.target.narrow(values)

    def _declaration(self, measure: Quantity) -> Document:
        """What a measure is; of a function also its values, which no result has."""
        own = {a: self.values[(a, measure.id)] for a in self.aqms} if measure.function is not None else None
        return measure.document() | ({} if own is None else {"values": own})

    def document(self, version: str) -> Document:
        """Everything as plain values."""
        cells = {}
        for aqm in self.aqms:
            cells[aqm] = {
                m.id: None if (e := self.estimate(aqm, m.id)) is None else e.document() for m in self.measures
            }
        differences: dict[str, dict[str, Document | None]] = {}
        for aqm, row in self.differences.items():
            differences[aqm] = {}
            for name, d in row.items():
                after = self.corrected.get((aqm, name), (None, None))
                more = {"t_test_p_holm": after[0], "t_test_p_bh": after[1]}
                differences[aqm][name] = None if d is None else {**d.document(), **more}
        return {
            "scenario": self.scenario,
            "version": version,
            "queue": self.queue,
            "queues": list(self.queues),
            "seeds": list(self.seeds),
            "summary": words.sentences([("", self)]),
            "control": self.aqms[0],
            "aqms": list(self.aqms),
            "titles": self.titles,
            "measures": {m.id: self._declaration(m) for m in self.measures},
            "cells": cells,
            "differences": differences,
            "labels": self.labels,
            "left_out": self.dropped,
            "warmup": {aqm: w.document() for aqm, w in self.warmups.items()},
            "same_run": list(self.fixed),
            "notes": self.notes,
            "warnings": self.warnings,
        }


def compare(
    source: Path | Mapping[str, Any],
    aqms: Items,
    *,
    seeds: int = 10,
    sets: Sequence[tuple[str, str]] = (),
    measures: Sequence[Quantity] = (),
    target: Stopping | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
    where: str = "--aqm",
    queue: str | None = None,
) -> Comparison:
    """Run the scenario in a file, or as a dict, with each discipline at its compared queue, each with the same seeds.

    The compared queue is `queue`, or the one called `bottleneck`, or the only one. With `all` each discipline is at
    every queue of the scenario.

    A discipline may have parameters of its own, as `codel target=5ms` (`earlydrop.discipline_names` has the form), and
    a label, in the text or as the key of a mapping.
    With `target`, `seeds` is not looked at: seeds are run until the intervals of `TARGETS` are narrow enough in every
    discipline. Settings of that queue that belong to the scenario's own discipline and are unknown to another are left
    out for the other, and reported. `where` is the place of the disciplines in messages. `measures` come before those
    that every comparison has.

    Raises:
        MeasureError: no discipline's result has a measure.
    """
    import earlydrop._core as _core
    from .. import discipline_names

    if isinstance(source, Path):
        # Code that the disciplines name is trusted; a scenario that names the same code then finds it.
        given = aqms.values() if isinstance(aqms, Mapping) else aqms
        discipline_names.load_sources([item for item in given if isinstance(item, str)])
        checked = _core.Scenario.load(str(source), list(sets))
        named = entries(aqms, where, str(source.parent))
        document = from_file(source)
    else:
        checked = _core.Scenario.parse(source, list(sets))
        named = entries(aqms, where)
        document = dict(source)
    known = discipline_names.catalogue()
    place = str(source) if isinstance(source, Path) else checked.name
    keys, document, sets = compared_queues(place, checked, document, sets, queue)
    port = measured_queue(checked, keys[0])
    every = queue == ALL
    ports = (port, *(name for name in queues_in_results(checked) if every and name != port))
    chosen = compared([one.at(port) for one in measures], port)
    document = with_records(document, paths_of(chosen))
    normal = json.loads(checked.to_json())
    first = int(normal.get("seed", 1))
    numbers = tuple(runner.seeds(first, seeds))
    left_out: dict[str, list[str]] = {}
    texts: dict[str, tuple[_core.Scenario, Document, list[tuple[str, str]]]] = {}
    for entry in named:
        mine, settings, gone = document, list(sets), list[str]()
        for key in keys:
            mine, settings, here = with_entry(mine, settings, key, entry, known)
            gone += [name for name in here if name not in gone]
        if gone:
            left_out[entry.id] = gone
        try:
            plain = _core.Scenario.parse(mine, settings)
        except _core.ScenarioError as error:
            raise CompareError(f"{place} with {entry.id} at queue.{', queue.'.join(keys)}: {error}") from error
        texts[entry.id] = plain, mine, settings
    data = {name: shared.with_data(checked, name) for name in ports}
    plains = [json.loads(plain.to_json()) for plain, *_ in texts.values()]
    if any(by_entry(plains, key, passing) for key in keys for passing in data.values()):
        for aqm, (_, mine, settings) in texts.items():
            settings = [*settings, ("record.by_flow", "true")]
            texts[aqm] = _core.Scenario.parse(mine, settings), mine, settings
    scenarios = {aqm: (one[0], *window.watched(*one)) for aqm, one in texts.items()}
    first_results = [partial(moment, mine, settings) for _, mine, settings in texts.values()]
    ids = tuple(entry.id for entry in named)
    titles = {entry.id: entry.title for entry in named}
    _check_measures([one for one in chosen if one.asked], place, first_results)
    recorded: dict[str, list[Recording]] = {aqm: [] for aqm in ids}
    documents: dict[str, list[Document]] = {aqm: [] for aqm in ids}
    count = seeds if target is None else target.least
    while True:
        done = len(documents[ids[0]])
        jobs: list[Job] = []
        for aqm in ids:
            plain, seen, added = scenarios[aqm]
            jobs += [
                Job(seen, first + at, partial(_watch, recorded[aqm], added, port))
                for at in range(done, min(WATCHED, count))
            ]
            jobs += [Job(plain, first + at) for at in range(max(done, WATCHED), count)]
        found: list[Document] = runner.run_all(jobs, workers=workers, progress=progress, label=checked.name)
        for k, aqm in enumerate(ids):
            documents[aqm] += found[k * (count - done) : (k + 1) * (count - done)]
        numbers = tuple(runner.seeds(first, count))
        flat = [one for aqm in ids for one in documents[aqm]]
        result = tabulate(checked.name, port, ids, titles, numbers, flat, left_out, chosen, data)
        more = count if target is None else _wanted(result, target)
        if more <= count:
            break
        count = more
    result.target = target
    # With the records that measures turned on.
    result.base = {**normal, **{k: v for k, v in json.loads(scenarios[ids[0]][0].to_json()).items() if k == "record"}}
    result.labels = {entry.id: entry.text for entry in named if entry.label}
    result.about = tuple(_about({titles[aqm]: (scenarios[aqm][0], documents[aqm]) for aqm in ids}))
    result.idle = tuple(
        aqm
        for aqm in ids
        if any(
            text.startswith(tuple(f"queue {name}:" for name in ports))
            for text in everywhere(documents[aqm], json.loads(scenarios[aqm][0].to_json()))
        )
    )
    round_trip = round_trips.base(normal, port)
    judged = {aqm: window.judge(recorded[aqm], round_trip) for aqm in ids}
    result.warmups = {aqm: one for aqm, one in judged.items() if one is not None}
    return result


def compared(asked: Sequence[Quantity], queue: str) -> tuple[Quantity, ...]:
    """The measures of a comparison: those asked for first, then those that every comparison has."""
    own = {one.id for one in asked}
    return (*asked, *(one.at(queue) for one in COMPARED if one.id not in own))


def _check_measures(
    measures: Sequence[Quantity], place: str, first_results: Sequence[Callable[[], Document | None]]
) -> None:
    """Refuse measures that no discipline's result has."""
    open_ = list(measures)
    said = ""
    for make in first_results:
        document = make() if open_ else None
        if document is None:
            return
        wrong = [(one, text) for one in open_ if (text := complaint(one, document))]
        open_, said = [one for one, _ in wrong], said or (wrong[0][1] if wrong else "")
    if open_:
        raise MeasureError(f"{place}: measure {open_[0].id}: {said}")


def _about(runs: Mapping[str, tuple[_core.Scenario, Sequence[Document]]]) -> list[str]:
    """What the checker says of all disciplines, then by title what it says of some, and which of them never acted."""
    said = {title: scenario.warnings() for title, (scenario, _) in runs.items()}
    all_say = [text for text in next(iter(said.values())) if all(text in other for other in said.values())]
    found = list(all_say)
    for title, (scenario, documents) in runs.items():
        found += [f"{title}: {text}" for text in said[title] if text not in all_say]
        found += everywhere(documents, json.loads(scenario.to_json()))
    return found


def from_file(path: Path) -> Document:
    """The scenario in a file, which then means the same in any folder: with its traces, and its code by digest."""
    from ..own_aqms import registry

    document = with_traces(foreign.from_toml(path), path.parent)
    return registry.pinned(document, str(path.parent), str(path))


def queues_in_results(checked: _core.Scenario) -> dict[str, str]:
    """The names of a scenario's queues in results, and the key of the table of each."""
    network = json.loads(checked.network())
    ways = [way for link in network["link"] for way in (link, link.get("reverse")) if isinstance(way, Mapping)]
    keys = {way["name"]: str(way["queue"]) for way in ways if "queue" in way}
    return {shown: keys.get(link, shown) for link, shown in network["queue"].items()}


def measured_queue(checked: _core.Scenario, queue: str) -> str:
    """The name in results of the queue at `queue`; where the scenario has it at several links, that of the first."""
    names = queues_in_results(checked)
    if queue in names or not names:
        return queue
    return next((name for name, key in names.items() if key == queue), next(iter(names)))


def _wanted(result: Comparison, target: Stopping) -> int:
    """How many seeds to run before checking the intervals again."""
    series = (result.series(aqm, m) for aqm in result.aqms for m in TARGETS)
    return max((target.wanted(values) for values in series if values), default=len(result.seeds))


def _watch(recorded: list[Recording], added: Sequence[str], queue: str, text: str) -> Document:
    """A result document; what was recorded is kept apart, and taken out of it where nobody else asked for it."""
    document: Document = json.loads(text)
    recorded.append(window.recording(document, queue))
    for name in added:
        del document[name]
    return document


def tabulate(
    name: str,
    queue: str,
    aqms: tuple[str, ...],
    titles: Mapping[str, str],
    seeds: tuple[int, ...],
    documents: Sequence[Document],
    left_out: dict[str, list[str]] | None = None,
    quantities: Sequence[Quantity] | None = None,
    data: Mapping[str, frozenset[int]] = MappingProxyType({}),
    kept: Mapping[tuple[str, str], list[float | None]] = MappingProxyType({}),
) -> Comparison:
    """Gather result documents, ordered by discipline and then by seed; `kept` are values that no result has.

    `data` has the compared queues, and for each the traffic entries whose data pass it.
    """
    parts = shared.parts_of(documents, data)
    wanted = compared((), queue) if quantities is None else tuple(quantities)
    if parts is None or any(part.index is not None for part in parts):
        # No figure has a delay that is nobody's, unless somebody asked for it.
        wanted = tuple(replace(m, drawn=m.asked) if m.id in (words.MEAN, words.TAIL) else m for m in wanted)
    of_parts = {q.id: q for q in shared.measures(parts or ())}
    # What was asked for keeps its title, and comes first.
    asked = {q.id: q for q in wanted if q.asked}
    every = tuple(({q.id: q for q in wanted} | of_parts | asked).values())
    names = [entry.get("name") for entry in documents[0].get("traffic", ())]
    same = {}
    for q in every if asked else ():
        if q.id not in asked and (other := shared.asked_already(q, asked.values(), names, q.found_in(documents))):
            same[q.id] = other.id
    quantities = tuple(q for q in every if q.id not in same)
    values: dict[tuple[str, str], list[float | None]] = {}
    runs: dict[tuple[str, int], Document] = {}
    fixed = []
    for k, aqm in enumerate(aqms):
        group = documents[k * len(seeds) : (k + 1) * len(seeds)]
        if same_run(group):
            fixed.append(aqm)
        for seed, document in zip(seeds, group, strict=True):
            runs[(aqm, seed)] = document
        for quantity in every:
            own = kept.get((aqm, quantity.id))
            values[(aqm, quantity.id)] = [quantity.value(d) for d in group] if own is None else own
    return Comparison(
        name,
        queue,
        aqms,
        {a: titles.get(a, a) for a in aqms},
        seeds,
        quantities,
        values,
        left_out or {},
        runs,
        fixed=tuple(fixed),
        parts=parts,
        others=tuple(name for name in data if name != queue),
        same=same,
    )


def by_entry(scenarios: Sequence[Document], queue: str, entries: frozenset[int]) -> bool:
    """Whether the results of these checked scenarios must tell traffic entries apart."""
    return len(scenarios[0]["traffic"]) <= shared.MOST and shared.is_pooled(scenarios, queue, entries)


def passing_note(queue: str, measures: Iterable[Quantity], whose: str = "the flows") -> str:
    """A note that names those of the measures which count only flows that pass a queue, if not all flows do."""
    names = [m.title if m.id == "jain" else m.title.lower().replace(",", "") for m in measures if m.passing]
    if not names:
        return ""
    named = f"{', '.join(names[:-1])} and {names[-1]}" if names[1:] else names[0]
    return f"{named} {'are' if names[1:] else 'is'} of {whose} whose data pass the queue {queue}."


ALL = "all"
"""In place of a queue's name: every queue of the scenario."""


def compared_queues(
    place: object,
    checked: _core.Scenario,
    document: Document,
    sets: Sequence[tuple[str, str]],
    queue: str | None,
) -> tuple[list[str], Document, list[tuple[str, str]]]:
    """The tables of queues that get the disciplines, that of the measured one first; the scenario and its settings.

    In the scenario a queue that shares its table with others gets one of its own.

    Raises:
        CompareError: the scenario has no such queue.
    """
    tables = document.get("queue")
    tables = dict(tables) if isinstance(tables, Mapping) else {}
    if queue is None or (queue == ALL and not tables):
        return [compared_queue(place, document)], document, list(sets)
    if queue == ALL:
        first = "bottleneck" if "bottleneck" in tables else next(iter(tables))
        return [first, *(key for key in tables if key != first)], document, list(sets)
    if isinstance(queue, str) and queue in tables:
        return [queue], document, list(sets)
    names = queues_in_results(checked)
    if not isinstance(queue, str) or queue not in names:
        known = ", ".join(dict.fromkeys([*tables, *names, ALL]))
        raise CompareError(f"{place}: queue: given {queue!r}; the scenario has no such queue; allowed {known}")
    key = names[queue]
    moved = [(f"queue.{queue}.{p.removeprefix(f'queue.{key}.')}", v) for p, v in sets if p.startswith(f"queue.{key}.")]
    return [queue], {**document, "queue": {**tables, queue: tables.get(key, {})}}, [*sets, *moved]


def compared_queue(place: object, document: Document) -> str:
    """The queue of a scenario that is compared; `place` is the scenario's in messages."""
    queues = document.get("queue")
    if not isinstance(queues, Mapping) or not queues or "bottleneck" in queues:
        return "bottleneck"
    if len(queues) == 1:
        return str(next(iter(queues)))
    names = ", ".join(queues)
    raise CompareError(
        f'{place}: queue: compare needs one queue, or one called "bottleneck"; given {names}; compare --queue names one'
    )


def rows(result: Comparison) -> list[list[Any]]:
    """One row for each run, with a head: for a table that other programs read."""
    table: list[list[Any]] = [["aqm", "label", "seed", *(m.id for m in result.measures)]]
    for aqm in result.aqms:
        for k, seed in enumerate(result.seeds):
            table.append([aqm, result.titles[aqm], seed, *(result.values[(aqm, m.id)][k] for m in result.measures)])
    return table
