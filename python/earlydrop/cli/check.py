"""`earlydrop check`: what is wrong with a scenario, a sweep or a study, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import terminal
from .checks import parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, ScenarioFile, Sets, Trust
from .printing import parse_json, print_json, warn


def check(scenario: ScenarioFile, /, *, set_: Sets = [], trust: Trust = False, json: Json = False) -> int:  # noqa: B006
    """Check a scenario, a sweep, a study, or a discipline of one's own (mine.py, libmine.so), without running it.

    With --json a scenario is printed with every default.
    """
    import earlydrop._core as _core
    from ..own_aqms import registry

    if registry.is_source(str(scenario)):
        return _check_discipline(str(scenario), set_, json)
    if _is_sweep(scenario):
        return _check_sweep(scenario, set_, json)
    if not scenario.exists() and str(scenario) in _studies():
        return _check_study(scenario, set_, json)
    if scenario.name == "study.toml" or (scenario / "study.toml").is_file():
        return _check_study(scenario, set_, json)
    from .. import stacks

    checked = _core.Scenario.load(str(scenario), parse_settings(set_))
    if json:
        document = parse_json(checked.to_json())
        for entry in parse_json(checked.stacks()):
            document["traffic"][entry["traffic"]]["stack"] = entry["stack"]
        print_json(document)
    else:
        print(f"{scenario}: {checked.name} is a valid scenario")
        for line in stacks.written(checked.stacks()):
            print(terminal.paragraph(line, "  "))
    warn(checked.warnings())
    return DONE


def _check_discipline(source: str, sets: Sequence[str], as_json: bool) -> int:
    from ..own_aqms import registry

    if sets:
        raise InputError("--set: belongs to a scenario")
    native = registry.load(source).native
    complaint = native.complaint()
    if complaint is not None:
        raise InputError(f"{source}: {native.name}: {complaint}")
    entry = parse_json(native.entry())
    if as_json:
        print_json(entry)
        return DONE
    parameters = ", ".join(f"{p['name']} = {p['default']}" for p in entry["parameters"]) or "no parameters"
    print(terminal.paragraph(f"{source}: {entry['title']} is a valid discipline, {entry['name']}: {parameters}"))
    return DONE


def _studies() -> list[str]:
    from .. import study as studies

    return studies.available()


def _is_sweep(file: Path) -> bool:
    """Whether a file is a sweep's: it has factors."""
    from ..strict_toml import TomlError, load

    try:
        return file.is_file() and file.name != "study.toml" and "factor" in load(file)
    except TomlError:
        return False


def _check_sweep(file: Path, sets: Sequence[str], as_json: bool) -> int:
    from .. import sweeps
    from ..sweeps.text import plan_text

    if sets:
        raise InputError("--set: belongs to a scenario; a sweep has `set`")
    asked = sweeps.parse_file(file, None)
    with terminal.Progress() as progress:
        planned = sweeps.plan(asked, progress)
    if as_json:
        factors = [{"name": f.name, "levels": None if f.ranged else len(f.levels)} for f in asked.factors]
        print_json({"sweep": asked.name, "points": len(asked.points), "runs": planned.runs, "factors": factors})
    else:
        print(f"{file}: a valid sweep; {plan_text(planned)}")
    warn(planned.warnings)
    return DONE


def _check_study(place: Path, sets: Sequence[str], as_json: bool) -> int:
    from .. import study as studies

    if sets:
        raise InputError("--set: belongs to a scenario; a study has --assume, and `reproduce` takes it")
    study = studies.find(str(place.absolute()) if place.exists() else str(place))
    plan, quick = studies.plan(study), studies.plan(study.as_quick())
    if as_json:
        listed = [
            {"id": e.id, "cells": len(e.cells), "seeds": e.seeds, "measures": list(e.measures)}
            for e in study.experiments
        ]
        print_json({"study": study.name, "runs": plan.runs, "experiments": listed})
        return DONE
    cells = sum(len(e.cells) for e in study.experiments)
    counted = f"{len(study.experiments)} experiments, {cells} cells, {plan.runs:,} runs"
    print(f"{place}: {study.name} is a valid study: {counted}, {quick.runs:,} with --quick")
    return DONE
