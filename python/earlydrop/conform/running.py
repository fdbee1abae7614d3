"""Runs of cases: those outside as sweeps of one point through the store, those inside recorded sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import earlydrop._core as _core
from .. import runner, sweeps
from ..runner import Job
from ..store import Store
from ..sweeps.base_scenario import of_sweep, one_line
from . import expectations
from .measured import Measured
from .model import Case, ConformError, Measure, Subject, cases

SEEDS = 20
INSIDE_SEEDS = 3
"""Runs of a case inside, in which what is expected must hold in each."""
REFERENCE_SEED = 1_000_001
"""First seed of the reference, so that its runs and the subject's are independent also where both are one control."""
Told = Callable[[int, int, str], None]


def applies(case: Case, subject: Subject) -> str:
    """Why the case is left out for this congestion control; empty if it is tried."""
    if case.only and subject.tcp not in case.only:
        return f"for {', '.join(case.only)} alone"
    if case.inside and subject.stack != "rfc":
        return "for the stack rfc alone"
    return ""


def reference(tcp: str, stack: str) -> Subject:
    """A congestion control of ours in this stack; in `rfc` where the stack lacks it."""
    try:
        _core.Scenario.parse(next(one for one in cases() if not one.inside).document(Subject(tcp, stack)), [])
    except _core.ScenarioError:
        return Subject(tcp)
    return Subject(tcp, stack)


def measure(
    chosen: Sequence[Case],
    subject: Subject,
    *,
    store: Store,
    first_seed: int = 1,
    seeds: int = SEEDS,
    workers: int | None = None,
    tell: Told = runner.no_progress,
) -> Measured:
    """Run the cases with a congestion control; what is stored is not run again.

    Raises:
        ConformError: there is no such congestion control, or a run failed.
        StoreError: the store cannot be read or written.
    """
    found = Measured(str(subject), _core.version(), tcp=subject.tcp, stack=subject.stack)
    tried = []
    for case in chosen:
        why = applies(case, subject)
        if why:
            found.why[case.number] = why
        else:
            tried.append(case)
    for case in tried:
        try:
            _core.Scenario.parse(case.document(subject), [])
        except _core.ScenarioError as error:
            raise ConformError(f"{subject}: case {case.number}: {one_line(error)}") from None
    for done, case in enumerate(tried):
        tell(done, len(tried), f"{subject}: case {case.number}")
        if case.inside:
            found.expected[case.number] = _inside(case, subject, first_seed, workers)
        else:
            found.measures[case.number] = _outside(case, subject, store, first_seed, seeds, workers)
    tell(len(tried), len(tried), str(subject))
    return found


def _outside(
    case: Case, subject: Subject, store: Store, first_seed: int, seeds: int, workers: int | None
) -> dict[str, list[float | None]]:
    paths = list(dict.fromkeys(path for one in case.measures for path in (one.path, one.over) if path))
    document = {
        "name": f"case-{case.number}",
        **of_sweep(case.document(subject)),
        "seeds": seeds,
        "first_seed": first_seed,
        "measures": [],
        "measure": [{"id": f"m{k}", "title": path, "field": path} for k, path in enumerate(paths)],
        "factor": [{"name": "subject", "path": "traffic.0.tcp", "values": [subject.tcp]}],
    }
    sweep = sweeps.parse_document(document, Path(f"case {case.number}"), apart=False)
    executor = sweeps.Threads(sweep.document, workers)
    try:
        outcome = sweeps.run(sweeps.plan(sweep), store, executor)
    finally:
        executor.close()
    if outcome.tally.failed:
        first = outcome.tally.failures[0]
        raise ConformError(f"{subject}: case {case.number}: seed {first.seed}: {first.reason}")
    columns = {path: outcome.values[f"m{k}"][0] for k, path in enumerate(paths)}
    return {one.id: _values(one, columns) for one in case.measures}


def _values(measure: Measure, columns: dict[str, list[float | None]]) -> list[float | None]:
    over = columns[measure.over] if measure.over else [1.0] * len(columns[measure.path])
    return [
        None if value is None or not base else measure.scale * value / base
        for value, base in zip(columns[measure.path], over, strict=True)
    ]


def _inside(case: Case, subject: Subject, first_seed: int, workers: int | None) -> list[tuple[str, list[bool]]]:
    scenario = _core.Scenario.parse(case.document(subject), [])
    jobs = [Job(scenario, seed) for seed in range(first_seed, first_seed + INSIDE_SEEDS)]
    runs = runner.run_all(jobs, partial(expectations.held, case), workers=workers)
    return [(one.says, [run[k] for run in runs]) for k, one in enumerate(case.expected)]
