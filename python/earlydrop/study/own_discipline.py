"""Disciplines of one's own in a study of ours: a further level beside the catalogue's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..discipline_names import Asked, asked, labelled, twice, words
from ..own_aqms import registry
from ..strict_toml import parse_value
from .discipline_levels import catalogue
from .experiment import Axis, Level, StudyError
from .model import Study


def among(texts: Sequence[str]) -> tuple[list[Asked], list[str]]:
    """The disciplines of one's own among those asked for, loaded; and the rest, as they stand.

    Raises:
        DisciplineError: a discipline has no such parameter.
        PolicyError: the code is broken, or not trusted.
    """
    own: list[str] = []
    rest: list[str] = []
    for text in texts:
        name, _ = words(labelled(text)[1])
        known = registry.is_source(name) or (
            name not in catalogue() and (registry.find(name) is not None or registry.by_name(name) is not None)
        )
        (own if known else rest).append(text)
    return [asked(text) for text in own], rest


def with_own(study: Study, own: Sequence[Asked]) -> Study:
    """The study with a level for each of `own` on every axis of disciplines.

    A queue then has the limit of the others' queues, and of their parameters those that the discipline has too, with
    the value that most of them have; what is asked for of it stands above that.

    Raises:
        StudyError: the study is a paper's, has no such axis, or has the discipline twice.
    """
    if not own:
        return study
    if study.paper or not any(_queues(axis) for e in study.experiments for axis in e.axes):
        raise StudyError(
            f"--aqm {own[0].text}: study {study.name} compares what its paper does; a discipline of your own can join "
            "studies of ours: rfc7928, league"
        )
    names = [one.name for one in own]
    for name in names:
        if names.count(name) > 1:
            raise StudyError(f"--aqm: {name} is given twice")

    def joined(axis: Axis) -> Axis:
        queues = _queues(axis)
        more = tuple(_level(one, queues) for one in own) if queues else ()
        levels = (*axis.levels, *more)
        same = twice([level.title for level in levels]) if more else None
        if same and same[1] >= len(axis.levels):
            first, second = (levels[k] for k in same)
            raise StudyError(f'--aqm: "{second.title}" is the label of both "{first.id}" and "{second.id}"')
        return replace(axis, levels=levels)

    return study.with_experiments(tuple(replace(e, axes=tuple(joined(a) for a in e.axes)) for e in study.experiments))


def _queues(axis: Axis) -> dict[str, list[Mapping[str, Any]]]:
    """The queues that every level of an axis sets, by path, if they are all it sets: then it is one of disciplines."""
    first = axis.levels[0].set
    if not first or any(set(level.set) != set(first) for level in axis.levels):
        return {}
    found: dict[str, list[Mapping[str, Any]]] = {path: [level.set[path] for level in axis.levels] for path in first}
    return found if all(isinstance(q, Mapping) and "aqm" in q for qs in found.values() for q in qs) else {}


def _level(one: Asked, queues: Mapping[str, Sequence[Mapping[str, Any]]]) -> Level:
    known = registry.find(one.name)
    assert known is not None
    shared = {"limit", *(p["name"] for p in one.entry["parameters"])}
    given = {key: parse_value(value) for key, value in one.settings}
    settings: dict[str, Any] = {f"aqms.{one.name}": {"digest": known.digest}}
    for path, tables in queues.items():
        common = {key: _most([table[key] for table in tables if key in table]) for key in shared}
        settings[path] = {"aqm": one.name, **{k: v for k, v in sorted(common.items()) if v is not None}, **given}
    return Level(one.name, one.title, settings)


def _most(values: Sequence[Any]) -> Any:
    """The value that most queues have; None if there is none."""
    counted = Counter(json.dumps(value) for value in values)
    return json.loads(counted.most_common(1)[0][0]) if counted else None
