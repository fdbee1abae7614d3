"""`ed.sweep(...)`: a network at many points, as `earlydrop sweep` runs it, with factors given in Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import earlydrop._core as _core
from . import discipline_names, sweeps
from .analysis.entries import Items, entries, with_entry
from .analysis.paired import compared_queue, measured_queue
from .analysis.quantity import Asked, asked
from .api_compare import Source, document_of
from .document import Document
from .output import NAME
from .own_aqms.registry import trusting
from .queue_settings import Queue
from .scenario import Network
from .sweeps import SweepError
from .sweeps.base_scenario import of_sweep
from .sweeps.factors import titled
from .sweeps.shown import Swept
from .terminal import Meter
from .terminal import Progress as Shown

_QUANTITY = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?) ?([A-Za-z%/]+)")
SPECIAL = ("rtt", "aqm")
"""Factors that are no key of a scenario; they come first."""


def sweep(
    net: Source,
    factors: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    *,
    seeds: int = 10,
    measures: Asked | None = None,
    store: str | PathLike[str] = "out/store",
    cluster: str | None = None,
    workers: int | None = None,
    trust: bool = False,
    progress: bool = True,
    **top: Any,
) -> Swept:
    """Run a network at every combination of the factors' levels, each with the same seeds.

        found = ed.sweep(net, {"rtt": ["20 ms", "80 ms"], "aqm": [ed.aqm.Red(), ed.aqm.CoDel()]}, duration="60 s")
        found.plot()

    Args:
        net: a network, a scenario as a dict, or the file of one. Without `factors`: a sweep, as a dict or a file.
        factors: levels by factor. `"rtt"` and `"aqm"` take what `rtt` and `aqms` of `ed.compare` take, with labels too;
            the first discipline is the control. Another factor is a key of the scenario, as `"traffic.0.count"` or
            `"topology.bottleneck.rate"`, with its values; or a name with a table as in a sweep's file, such as
            `{"path": "traffic.0.count", "range": [1, 50], "steps": 5, "whole": True}`.
        seeds: runs of each point.
        measures: names of measures, or further ones as `ed.compare` takes them; all that `earlydrop compare` has if
            None.
        store: where runs are kept; those that it has are not made again.
        cluster: address of a Dask scheduler; threads of this process if None.
        workers: threads; all cores if None.
        trust: as for `ed.compare`.
        progress: False for no progress bar; there is none but in terminals and notebooks.
        top: keys of the scenario, such as `duration="60 s"`. A network needs `duration`.

    Raises:
        SweepError: the sweep is wrong; the message names every mistake.
        CompareError: a discipline or a round-trip time is wrong.
        ScenarioError: the scenario is wrong.
        StoreError: the store cannot be used.
    """
    with trusting(trust):
        if factors is None:
            sweep_ = _whole(net, top, str(store))
        else:
            document = document_from(net, factors, seeds=seeds, measures=measures, **top)
            own = asked(measures)
            sweep_ = sweeps.parse_document(document, Path("sweep"), store=str(store), measures=own)
        planned = sweeps.plan(sweep_)
        executor: sweeps.Executor = (
            sweeps.Cluster(sweep_.document, cluster) if cluster else sweeps.Threads(sweep_.document, workers)
        )
        try:
            with Meter(sweep_.name, bars=True, quiet=not progress) as meter:
                found = sweeps.run(planned, sweeps.open_store(sweep_.store), executor, tell=meter)
        finally:
            executor.close()
        with Shown(bars=True, quiet=not progress) as bar:
            found.warmups = sweeps.judge_warmups(planned, workers, bar)
    return found


def _whole(given: Source, top: Mapping[str, Any], store: str) -> sweeps.Sweep:
    """A sweep that is given as a whole."""
    if isinstance(given, Network):
        raise SweepError('factors: is missing; allowed levels by factor, such as {"rtt": ["20 ms", "80 ms"]}')
    if top:
        raise SweepError(f"{', '.join(top)}: given without factors; a sweep's file has them in its scenario")
    if isinstance(given, Mapping):
        return sweeps.parse_document(dict(given), Path("sweep"), store=store)
    return sweeps.parse_file(Path(given), store=store)


def document_from(
    net: Source,
    factors: Mapping[str, Sequence[Any] | Mapping[str, Any]],
    *,
    seeds: int = 10,
    measures: Asked | None = None,
    **top: Any,
) -> Document:
    """The sweep as a document, in the form of a sweep's file (docs/sweeps.md).

    Raises:
        CompareError, ScenarioError, SweepError: as for `sweep`.
    """
    if not factors:
        raise SweepError('factors: given none; allowed levels by factor, such as {"rtt": ["20 ms", "80 ms"]}')
    base = document_of(net, top)
    checked = _core.Scenario.parse(base, [])
    queue = compared_queue("net", base)
    port = measured_queue(checked, queue)
    made = []
    control: dict[str, str] = {}
    for name in sorted(factors, key=lambda name: SPECIAL.index(name) if name in SPECIAL else len(SPECIAL)):
        levels = factors[name]
        if name == "rtt":
            made.append({"name": "rtt", "path": "rtt", "values": _listed(name, levels)})
        elif name == "aqm":
            factor, control = _aqms(base, queue, levels if isinstance(levels, Mapping) else _listed(name, levels))
            made.append(factor)
        elif isinstance(levels, Mapping):
            made.append({"name": name, **levels})
        else:
            made.append(_key(name, _listed(name, levels), list(factors)))
    return {
        "name": checked.name if re.fullmatch(NAME, checked.name) else "sweep",
        "title": checked.name,
        **of_sweep({k: v for k, v in base.items() if k not in ("name", "seed")}),
        "seeds": seeds,
        "first_seed": json.loads(checked.to_json())["seed"],
        "queue": port,
        **({} if measures is None else {"measures": [one.id for one in asked(measures)]}),
        **({"control": control} if control else {}),
        "factor": made,
    }


def _listed(name: str, levels: Any) -> list[Any]:
    if isinstance(levels, str | Queue) or not isinstance(levels, Sequence) or not levels:
        raise SweepError(f"factor {name}: given {levels!r}; allowed a list of levels")
    return list(levels)


def _aqms(base: Document, queue: str, aqms: Items) -> tuple[Document, dict[str, str]]:
    """Levels for the disciplines: every level has the whole queue. `base` then lists code from outside."""
    chosen = entries(aqms, "factor aqm")
    known = discipline_names.catalogue()
    levels: list[Document] = []
    for entry in chosen:
        mine, sets, _ = with_entry(base, [], queue, entry, known)
        own = mine.get("aqms", {})
        # A scenario has one version of each discipline, and a sweep is one scenario.
        if entry.aqm in base.get("aqms", {}) and base["aqms"][entry.aqm] != own[entry.aqm]:
            raise SweepError(f"factor aqm: there are two versions of {entry.aqm}; give one of them another name")
        base |= {"aqms": own} if own else {}
        levels.append({"name": entry.title, "set": {f"queue.{queue}": mine["queue"][queue], **_values(sets)}})
    return {"name": "aqm", "title": "Discipline", "levels": levels}, {"aqm": levels[0]["name"]}


def _values(sets: Sequence[tuple[str, str]]) -> Document:
    """Settings as `--set` has them, as values."""
    from .strict_toml import parse_value

    return {path: parse_value(value) for path, value in sets}


def _key(path: str, values: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """A factor from a key of the scenario. Texts such as "4 ms" of one unit are numbers on an axis with that unit."""
    last = path.rpartition(".")[2]
    alone = [name.rpartition(".")[2] for name in names].count(last) == 1
    name = last if alone and last.isidentifier() and last not in SPECIAL else re.sub(r"\W", "_", path)
    parts = [_QUANTITY.fullmatch(value) if isinstance(value, str) else None for value in values]
    units = {part[2] if part else None for part in parts}
    if len(units) == 1 and None not in units:
        levels: list[dict[str, Any]] = [
            {"name": value, "value": float(part[1]), "set": {path: value}}
            for value, part in zip(values, parts, strict=True)
            if part
        ]
        return {"name": name, "title": titled(last, [path]), "unit": units.pop(), "levels": levels}
    return {"name": name, "title": titled(last, [path]), "path": path, "values": list(values)}
