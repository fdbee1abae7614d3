"""The result folder of a study, and its result document."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from .. import columns, disk, output
from ..document import Document
from ..toml_writer import to_toml
from . import report, runs, text, warmups
from .answers import answer
from .claim_results import ClaimResult, claim_document
from .experiment import Cell, Experiment, Measure
from .model import Study
from .published_values import fit
from .runs import Outcome


def document(outcome: Outcome, results: Sequence[ClaimResult], version: str) -> Document:
    """Everything that was found, as plain values. Without `cost` every repetition gives the same document."""
    study = outcome.study
    fits = [found for t in study.tables if (found := fit(outcome, t)) is not None]
    return {
        "study": study.name,
        "title": study.title,
        "version": version,
        "quick": study.quick,
        "assume": dict(study.assuming),
        **({"chosen": list(study.chosen)} if study.chosen else {}),
        "answer": " ".join(answer(study, results)),
        "runs": outcome.runs,
        "verdicts": {r.claim.id: r.verdict for r in results},
        "claims": [claim_document(r) for r in results],
        "measures": {
            m.id: {
                "title": m.title,
                "unit": m.unit,
                **({"field": m.extraction.field} if m.extraction else {"formula": m.formula.text if m.formula else ""}),
            }
            for m in study.measures
        },
        "experiments": [_experiment(outcome, e) for e in study.experiments],
        "fits": [
            {
                "table": f.table,
                "axis": f.axis,
                "best": f.best,
                "distances": {k: {"mean": d, "values": n} for k, (d, n) in f.distances.items()},
            }
            for f in fits
        ],
        "published": [
            {"in": shown.id, "experiment": shown.experiment, **p.at, "measure": p.measure, "value": p.value}
            for shown in study.shown
            for p in shown.printed
        ],
        "assumptions": [
            {"id": a.id, "title": a.title, "by": a.by, "value": study.assuming.get(a.id, a.value), "text": a.text}
            for a in study.assumptions
        ],
        "warmup": [{"where": where, **w.document()} for where, w in outcome.warmups.items()],
        "warnings": warmups.warnings(outcome.warmups),
        "cost": outcome.cost,
    }


def _experiment(outcome: Outcome, e: Experiment) -> Document:
    return {
        "id": e.id,
        "title": e.title,
        "seeds": list(runs.seeds_of(e)),
        "axes": {
            a.id: {"title": a.title, "unit": a.unit, "levels": list(a.ids), **({"base": a.base} if a.reading else {})}
            for a in e.axes
        },
        "cells": [
            {
                **dict(zip(e.names, cell, strict=True)),
                **{m.id: _estimated(outcome, e, cell, m.id) for m in outcome.study.measured(e)},
            }
            for cell in e.cells
        ],
        "scenario": e.scenario,
    }


def _estimated(outcome: Outcome, e: Experiment, cell: Cell, measure: str) -> Document | None:
    found = outcome.estimate(e, [cell], measure)
    return None if found is None else found.document()


def first_cell(study: Study, e: Experiment) -> Document:
    """The scenario of an experiment's cell at every base, as a file to run."""
    found = report.first_scenario(study, e)
    found["name"] = file_name(str(found["name"]))
    return found


def file_name(name: str) -> str:
    """A name for a file: letters, digits, dots and dashes."""
    kept = "".join(c if c.isalnum() or c in "._" else "-" for c in name)
    while "--" in kept:
        kept = kept.replace("--", "-")
    return kept.strip("-")


def write(
    folder: Path,
    outcome: Outcome,
    results: Sequence[ClaimResult],
    version: str,
    artists: Executor | None = None,
    stop: threading.Event | None = None,
) -> Path:
    """Fill a result folder: report, figures, tables, scenarios. Returns the report's path."""
    study = outcome.study
    scenarios = {e.id: first_cell(study, e) for e in study.experiments}
    pages = report.begin(folder, outcome, results, scenarios, version, artists, stop)
    output.write_json(folder / "result.json", document(outcome, results, version))
    disk.write(folder / "verdicts.txt", text.study_text(outcome, results) + "\n")
    disk.make_folder(folder / "runs")
    disk.make_folder(folder / "scenarios")
    described: dict[str, columns.Columns] = {}
    for e in study.experiments:
        name = file_name(e.id)
        described[f"runs/{name}.csv"] = _write_runs(
            folder / "runs" / name, e, [study.measure(m) for m in e.measures], runs.rows(outcome, e)
        )
        disk.write(folder / "scenarios" / f"{name}.toml", to_toml(scenarios[e.id]))
    columns.write(folder, described)
    return report.write(pages)


def _write_runs(
    base: Path, e: Experiment, measures: Sequence[Measure], rows: Sequence[Sequence[Any]]
) -> columns.Columns:
    import polars

    from ..render.result_text import write_csv

    write_csv(base.with_name(base.name + ".csv"), rows)
    head, body = rows[0], rows[1:]
    kinds = {name: polars.String() for name in e.names} | {"seed": polars.Int64()}
    values = {name: [row[k] for row in body] for k, name in enumerate(head)}
    schema = {name: kinds.get(name, polars.Float64()) for name in head}
    own = {axis.id: columns.Column(axis.unit, axis.title) for axis in e.axes}
    own |= columns.measured((m.id, m.title, m.unit) for m in measures)
    described = columns.of(head, "runs", own)
    frame = polars.DataFrame(values, schema=schema)
    with disk.open_binary(base.with_name(base.name + ".parquet")) as file:
        frame.write_parquet(file, metadata=columns.metadata(described))
    return described
