"""What all parts of the parser share: references between tables, selections of levels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ...document import overlay
from ...strict_toml import unknown
from ..experiment import Axis, Experiment, Measure, Selection, StudyError
from ..study_table import StudyTable

T = TypeVar("T")


@dataclass
class Context:
    """The parts of the study that are parsed already, and that other tables may name."""

    folder: Path
    measures: dict[str, Measure] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    """Those with a [[measure]] of their own; experiments may give others as paths."""
    experiments: dict[str, Experiment] = field(default_factory=dict)

    def paths(self, names: Iterable[str]) -> list[str]:
        """The paths that these measures are extracted from, also by way of formulas."""
        found, seen = [], set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name in seen or name not in self.measures:
                continue
            seen.add(name)
            measure = self.measures[name]
            found += [measure.extraction.field] if measure.extraction is not None else []
            todo += measure.formula.names if measure.formula is not None else ()
        return found

    def experiment(self, t: StudyTable, default: str = "") -> Experiment | None:
        """The experiment that a table names; None where it names none."""
        name = t.text("experiment", default)
        if not name:
            return None
        if name not in self.experiments:
            raise t.fault(f'experiment "{name}": {unknown(name, tuple(self.experiments))}')
        return self.experiments[name]

    def measure(self, t: StudyTable, e: Experiment | None, key: str) -> str:
        """The measure that a table names, which its experiment must have."""
        name = t.text(key)
        known = tuple(self.measures) if e is None else e.measures
        if name not in known:
            more = "" if e is None or name not in self.measures else f" in experiment {e.id}"
            raise t.fault(f'{key} "{name}"{more}: {unknown(name, known)}')
        return name


def keyed(top: StudyTable, key: str, make: Callable[[StudyTable], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for table in top.tables(key):
        one = make(table)
        name = one.id  # type: ignore[attr-defined]
        refuse_second(table, name, found)
        found[name] = one
    return found


def refuse_second(table: StudyTable, name: str, known: Iterable[str]) -> None:
    if name in known:
        raise table.fault(f'the id "{name}" is there twice')


def unique(t: StudyTable, kind: str, ids: Sequence[str]) -> None:
    for name in ids:
        if ids.count(name) > 1:
            raise t.fault(f'{kind} "{name}" is there twice')


def known_axis(t: StudyTable, e: Experiment | None, name: str) -> None:
    known = () if e is None else e.names
    if name not in known:
        raise t.fault(f'axis "{name}": {unknown(name, known)}')


def select(e: Experiment | None, given: Mapping[str, Any], fault: Callable[[str], StudyError]) -> Selection:
    """Axis -> levels. A level is named by its id, several by a list, a range of numbers as "60..120"."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in given.items():
        known = () if e is None else e.names
        if e is None or name not in known:
            raise fault(f'axis "{name}": {unknown(name, known)}')
        axis = e.axis(name)
        ids: list[str] = []
        for one in as_list(value):
            text = level_name(one)
            if text.startswith("not ") and text not in axis.ids:
                left_out = text.removeprefix("not ").strip()
                if left_out not in axis.ids:
                    raise fault(f'{name} = "{text}": {unknown(left_out, axis.ids)}')
                ids += [i for i in axis.ids if i != left_out]
                continue
            ids += [text] if text in axis.ids else _range(axis, text, fault)
        found[name] = tuple(i for i in axis.ids if i in ids)
    return found


def _range(axis: Axis, text: str, fault: Callable[[str], StudyError]) -> list[str]:
    match = re.fullmatch(r"\s*(-?[\d.eE+-]*?\d\.?)\s*\.\.\s*(-?[\d.eE+-]+)\s*", text)
    try:
        low, high = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    except ValueError:
        match = None
    if match is None or not axis.numeric:
        raise fault(f'{axis.id} = "{text}": {unknown(text, axis.ids)}')
    ids = [level.id for level in axis.levels if level.value is not None and low <= level.value <= high]
    if not ids:
        raise fault(f'{axis.id} = "{text}": no level lies in this range')
    return ids


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def level_name(value: Any) -> str:
    """A level's id from a text or a number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:g}" if number else str(value)


def plain_text(value: Any) -> str:
    """A value as `--assume` writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return level_name(value)


def laid_over(scenario: Mapping[str, Any], settings: Mapping[str, Any], fault: Callable[[str], StudyError]) -> Any:
    try:
        return overlay(scenario, settings)
    except (KeyError, TypeError, AttributeError) as error:
        raise fault(f"set: {message_of(error)}") from error


def message_of(error: BaseException) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
