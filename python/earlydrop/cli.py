"""The command line. Each command reads, runs and prints; the work is done in the modules beside this one.

Exit codes: 0 done (a contradicted claim is a finding, not a failure), 1 a run or an agreement check failed, 2 the
input is wrong, 3 an internal error, 130 interrupted. `link` returns its command's code instead, and as `env` does 125
if it fails itself, 126 if the command cannot be run, 127 if it is not found.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from . import terminal

DONE, FAILED, WRONG_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
LINK_FAILED, NOT_RUNNABLE, NOT_FOUND = 125, 126, 127

Kind = Literal["aqms", "tcps", "stacks", "topologies", "traffic", "studies"]


class Interrupted(KeyboardInterrupt):
    """An interruption, with what to say about it."""


class InputError(Exception):
    """The user's input is wrong. `fields` go into the JSON form of the message."""

    def __init__(self, message: str, **fields: str | None) -> None:
        super().__init__(message)
        self.fields = fields


def _version() -> str:
    from . import _core

    return _core.version()


app = App(
    name="earlydrop",
    help="A laboratory for active queue management: simulate, compare, reproduce papers.",
    version=_version,
    help_format="plaintext",
    version_format="plaintext",
)

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document on stdout.")]
Sets = Annotated[
    list[str],
    Parameter(name="--set", negative="", help="Lay a value over the scenario: PATH=VALUE. May be repeated."),
]
Out = Annotated[Path | None, Parameter(name="--out", help="Write results, tables and figures to this folder.")]
Workers = Annotated[int | None, Parameter(name="--workers", help="Threads to run on (default: one a core).")]
ScenarioFile = Annotated[Path, Parameter(name="SCENARIO", help="A scenario file.")]


# ---- commands ------------------------------------------------------------------------------------------------------


@app.command(name="list")
def list_(kind: Kind | None = None, /, *, json: Json = False) -> int:
    """What there is: disciplines, TCPs, stacks, topologies, traffic, studies.

    Parameters
    ----------
    kind
        aqms, tcps, stacks, topologies, traffic or studies; everything when left out.
    """
    kinds: list[Kind] = [kind] if kind else ["aqms", "tcps", "stacks", "topologies", "traffic", "studies"]
    found = {k: _listed(k) for k in kinds}
    if json:
        _print_json(found[kind] if kind else found)
        return DONE
    parts = []
    for name, entries in found.items():
        text = _families(entries) if name == "aqms" else _table_of(entries)
        parts.append(text if kind else f"{name}\n{text}")
    print("\n\n".join(parts))
    return DONE


def _table_of(entries: Sequence[dict[str, Any]]) -> str:
    rows = [[e["name"], e.get("title", ""), e.get("summary", "")] for e in entries]
    return terminal.wrapped(["name", "title", "what it is"], rows) if rows else "none"


def _families(entries: Sequence[dict[str, Any]]) -> str:
    """The disciplines under the names of their families, in columns of one width."""
    from itertools import groupby

    names, titles = (max(len(e[key]) for e in entries) for key in ("name", "title"))
    head = ["name", "title", "year", "what it is"]
    parts: list[str] = []
    for family, members in groupby(entries, key=lambda e: e["family"]):
        rows = [[e["name"].ljust(names), e["title"].ljust(titles), str(e["year"]), e["summary"]] for e in members]
        lines = terminal.wrapped(head, rows, indent="  ").splitlines()
        parts.append("\n".join([*(lines[:2] if not parts else []), family, *lines[2:]]))
    return "\n\n".join(parts)


def _listed(kind: Kind) -> list[dict[str, Any]]:
    from . import _core

    if kind == "aqms":
        keys = ("name", "title", "family", "year", "summary", "source")
        return [{k: entry[k] for k in keys} for entry in json.loads(_core.catalogue())]
    if kind == "stacks":
        from . import stacks

        return [
            {"name": s["name"], "title": ", ".join(s["tcps"]), "summary": s["about"]}
            for s in stacks.catalogue()["stacks"]
        ]
    if kind == "studies":
        from . import study

        return [
            {"name": s.name, "title": s.title, "summary": s.question}
            for s in (study.find(name) for name in study.available())
        ]
    from .schema import choices

    return choices(kind)


@app.command
def init(name: str | None = None, /, *, topology: str = "dumbbell") -> int:
    """A commented scenario to start from: written to NAME.toml, or printed when no name is given.

    Parameters
    ----------
    name
        Name of the scenario and of its file.
    topology
        Kind of its network; `earlydrop list topologies` names them all.
    """
    from . import _core
    from .schema import choices

    _check_name("topology", topology, [one["name"] for one in choices("topologies")])
    if name is None:
        print(_core.template("example", topology), end="")
        return DONE
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = _core.template(path.stem, topology)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path}: exists already; choose another name", file=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", file=str(path)) from None
    print(f"wrote {path}; now: earlydrop run {path}")
    return DONE


@app.command
def check(scenario: ScenarioFile, /, *, set_: Sets = [], json: Json = False) -> int:  # noqa: B006
    """Check a scenario, or a study's folder, without running it; with --json print it with every default."""
    from . import _core

    if scenario.name == "study.toml" or (scenario / "study.toml").is_file():
        return _check_study(scenario, set_, json)
    from . import stacks

    checked = _core.Scenario.load(str(scenario), _pairs(set_))
    if json:
        document = _loads(checked.to_json())
        for entry in _loads(checked.stacks()):
            document["traffic"][entry["traffic"]]["stack"] = entry["stack"]
        _print_json(document)
    else:
        print(f"{scenario}: {checked.name} is a valid scenario")
        for line in stacks.written(checked.stacks()):
            print(terminal.paragraph(line, "  "))
    _warn(checked.warnings())
    return DONE


def _check_study(place: Path, sets: Sequence[str], as_json: bool) -> int:
    from . import study as studies

    if sets:
        raise InputError("--set: belongs to a scenario; a study has --assume, and `reproduce` takes it")
    study = studies.find(str(place.absolute()))
    plan, quick = studies.plan(study), studies.plan(study.as_quick())
    if as_json:
        listed = [
            {"id": e.id, "cells": len(e.cells), "seeds": e.seeds, "measures": list(e.measures)}
            for e in study.experiments
        ]
        _print_json({"study": study.name, "runs": plan.runs, "experiments": listed})
        return DONE
    cells = sum(len(e.cells) for e in study.experiments)
    counted = f"{len(study.experiments)} experiments, {cells} cells, {plan.runs:,} runs"
    print(f"{place}: {study.name} is a valid study: {counted}, {quick.runs:,} with --quick")
    return DONE


@app.command
def show(
    aqm: str,
    /,
    *,
    plot: Annotated[
        Path | None, Parameter(name="--plot", help="Draw the drop curve into this file too (.png, .pdf or .svg).")
    ] = None,
    picture: Annotated[
        Path | None, Parameter(name="--picture", help="Draw a scenario's network into this file (.png, .pdf or .svg).")
    ] = None,
    against: Annotated[str | None, Parameter(help="Say how a TCP stack differs from this one.")] = None,
    set_: Sets = [],  # noqa: B006
    json: Json = False,
) -> int:
    """A discipline: parameters, drop curve, documentation; a TCP stack; or a scenario's network.

    Parameters
    ----------
    aqm
        Name of the discipline or stack, as `earlydrop list` prints it, or a scenario's file, SCENARIO.toml.
    """
    from . import _core, stacks

    if aqm in stacks.names():
        if against is not None:
            _check_name("stack", against, stacks.names())
        if json:
            _print_json(stacks.document(aqm, against))
        else:
            print(stacks.text(aqm, against))
        return DONE
    if against is not None:
        raise InputError(f"--against: belongs to a TCP stack ({', '.join(stacks.names())}); given {aqm}")
    if aqm.endswith(".toml"):
        return _show_network(aqm, plot, picture, _pairs(set_), json)
    if picture is not None or set_:
        given = "--set" if picture is None else f"--picture {picture}"
        raise InputError(f"{given}: belongs to a scenario, SCENARIO.toml; given the discipline {aqm}")
    entries = {e["name"]: e for e in _loads(_core.catalogue())}
    _check_aqm(aqm, list(entries))
    entry = entries[aqm]
    curves = _curves(entry, entries)
    if plot is not None:
        _draw(plot, entry, curves)
    if json:
        _print_json({**entry, "curves": [{"title": t, "average": xs, "p_b": ys} for t, xs, ys in curves]})
        return DONE
    print(_shown(entry, curves))
    return DONE


@app.command
def run(
    scenario: ScenarioFile,
    /,
    *,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    out: Out = None,
    json: Json = False,
) -> int:
    """Run a scenario once."""
    from . import _core, output, report, runner

    checked = _core.Scenario.load(str(scenario), _pairs(set_))
    _check_seed(seed)
    _check_out(out)
    _warn(checked.warnings())
    text = runner.run_one(runner.Job(checked, seed))
    document = _loads(text)
    if out is not None:
        with output.folder(out, {"kind": "run", "version": _version()}) as folder:
            report.write_run(folder, document, _loads(checked.to_json()))
    if json:
        print(text)
        return DONE
    print(report.run_text(document))
    if out is not None:
        print(f"\nwritten to {out}")
    return DONE


@app.command
def compare(
    scenario: ScenarioFile,
    /,
    *,
    aqm: Annotated[
        list[str],
        Parameter(name="--aqm", negative="", consume_multiple=True, help="Disciplines; the first is the control."),
    ],
    seeds: Annotated[int | None, Parameter(help="Runs of each discipline (default: 10).")] = None,
    until: Annotated[
        str | None,
        Parameter(help="Run seeds until the half-widths of goodput and queueing delay are under this, as in 2%."),
    ] = None,
    most: Annotated[int, Parameter(help="With --until: no more seeds than these.")] = 200,
    set_: Sets = [],  # noqa: B006
    out: Out = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Run a scenario with several disciplines and the same seeds, and compare them."""
    from . import compare as comparing
    from . import output, report

    _check_count("--seeds", 10 if seeds is None else seeds)
    target = None if until is None else _stopping(until, most, seeds)
    _check_workers(workers)
    pairs = _pairs(set_)
    _check_out(out)
    with terminal.Progress() as progress:
        result = comparing.compare(
            scenario, aqm, seeds=seeds or 10, sets=pairs, target=target, workers=workers, progress=progress
        )
    with output.rescued(lambda folder: report.write_runs(folder, result)):
        if out is not None:
            with output.folder(out, {"kind": "comparison", "version": _version()}) as folder:
                report.write_comparison(folder, result, _version())
        if json:
            _print_json(result.document(_version()))
            return DONE
        print(report.comparison_text(result))
        if out is not None:
            print(f"\nwritten to {out}")
    return DONE


@app.command
def sweep(
    file: Annotated[Path, Parameter(name="SWEEP", help="A sweep's file.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name="--out", help="Folder for tables and report (default: out/NAME).")
    ] = None,
    store: Annotated[
        str | None,
        Parameter(name="--store", help="Folder or address that keeps every run (default: `store` beside the results)."),
    ] = None,
    workers: Workers = None,
    cluster: Annotated[
        str | None, Parameter(name="--cluster", help="Address of a Dask scheduler to run on, as tcp://host:8786.")
    ] = None,
    plan: Annotated[
        bool, Parameter(name="--plan", negative="", help="Check, make the first few runs, say what it costs, stop.")
    ] = False,
    json: Json = False,
) -> int:
    """Run a scenario at many points, on all cores or a cluster; what was run before is not run again."""
    from . import output
    from . import sweep as sweeping
    from .sweep import text
    from .sweep.report import write_report

    _check_workers(workers)
    if workers is not None and cluster is not None:
        raise InputError("--workers and --cluster exclude each other", allowed="one of them")
    asked = sweeping.read(file, store)
    place = out if out is not None else Path("out") / asked.name
    _check_out(place)
    with terminal.Progress() as progress:
        planned = sweeping.plan(asked, progress)
    opened = sweeping.open_store(asked.store or place.absolute().parent / "store")
    said = terminal.say
    said(text.plan_text(planned))
    executor: sweeping.Executor = (
        sweeping.Cluster(asked.document, cluster) if cluster else sweeping.Threads(asked.document, workers)
    )
    try:
        with terminal.Meter(asked.name) as meter:

            def told(estimate: sweeping.Estimate) -> None:
                said(text.estimate_text(estimate))
                if plan:
                    raise sweeping.Stop

            outcome = sweeping.run(planned, opened, executor, tell=meter, told=told)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: what was run is in {opened.url}; the same command goes on from there"
        ) from None
    finally:
        executor.close()
    if plan:
        return DONE if not outcome.tally.failed else FAILED
    outcome.warmups = sweeping.judge_warmups(planned, workers)
    about = {"kind": "sweep", "name": asked.name, "version": _version()}
    with output.folder(place, about) as folder:
        text.write(folder, outcome, opened.url)
        write_report(folder, outcome)
    if json:
        text.print_json(place, {"out": str(place)}, sys.stdout)
    else:
        print(text.outcome_text(outcome))
        print(f"\nreport: {place / 'report.html'}; every run is in {opened.url}")
    return FAILED if outcome.tally.failed else DONE


@app.command
def tune(
    scenario: ScenarioFile,
    /,
    *,
    aqm: Annotated[str, Parameter(name="--aqm", help="The discipline whose parameters are searched.")],
    objective: Annotated[
        list[str],
        Parameter(name="--objective", negative="", consume_multiple=True, help="What is to be better."),
    ] = ["delay", "goodput"],  # noqa: B006
    trials: Annotated[int, Parameter(help="Choices of parameters to try.")] = 100,
    param: Annotated[
        list[str],
        Parameter(name="--param", negative="", help="A parameter and its range: NAME=LOW..HIGH. May be repeated."),
    ] = [],  # noqa: B006
    seeds: Annotated[int, Parameter(help="Runs of each choice.")] = 5,
    confirm: Annotated[int, Parameter(help="Fresh seeds on which the best has to prove itself.")] = 20,
    sensitivity: Annotated[
        Literal["morris", "sobol"] | None,
        Parameter(help="Say which parameters matter instead of searching; --trials is the size of the sample."),
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of the search.")] = 1,
    store: Annotated[str, Parameter(name="--store", help="Folder or address that keeps every run.")] = "out/store",
    set_: Sets = [],  # noqa: B006
    workers: Workers = None,
    cluster: Annotated[
        str | None, Parameter(name="--cluster", help="Address of a Dask scheduler to run on, as tcp://host:8786.")
    ] = None,
    json: Json = False,
) -> int:
    """Search parameters of a discipline that are better than a scenario's own, and confirm them on fresh seeds."""
    from . import sweep as sweeping
    from . import tune as tuning

    _check_workers(workers)
    _check_count("--trials", trials)
    _check_count("--seeds", seeds)
    if confirm < 2:
        raise InputError(f"--confirm: given {confirm}; allowed 2 or more", given=str(confirm), allowed="2 or more")
    asked = tuning.problem(scenario, aqm, objective, param, _pairs(set_))
    opened = sweeping.open_store(store)
    runs = tuning.Runs(
        asked, opened, lambda base: sweeping.Cluster(base, cluster) if cluster else sweeping.Threads(base, workers)
    )
    try:
        if sensitivity is not None:
            effects, count = tuning.sensitivity(asked, runs, sensitivity, trials, seeds)
            if json:
                _print_json({"method": sensitivity, "choices": count, "effects": [vars(e) for e in effects]})
            else:
                print(tuning.effects_text(effects, sensitivity, count))
            return DONE
        with terminal.Progress() as progress:
            found = tuning.tune(asked, runs, trials=trials, seeds=seeds, confirm=confirm, seed=seed, told=progress)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: what was run is in {opened.url}; the same command goes on from there"
        ) from None
    finally:
        runs.close()
    if json:
        _print_json(found.document(_version()))
    else:
        print(tuning.found_text(found))
    return DONE


@app.command
def diff(
    first: Annotated[Path, Parameter(name="FIRST", help="A folder that `sweep` wrote.")],
    second: Annotated[Path, Parameter(name="SECOND", help="Another one.")],
    /,
    *,
    json: Json = False,
) -> int:
    """What changed between two results of a sweep: of two versions, or of two sweeps. A change is no failure."""
    from . import differ

    found = differ.diff(first, second)
    if json:
        _print_json(found.document())
    else:
        print(differ.text(found))
    return DONE


@app.command
def trace(
    scenario: ScenarioFile,
    file: Annotated[Path, Parameter(name="FILE", help="Where to: .tr for ns-2's format, .pcap for pcap.")],
    /,
    *,
    queue: Annotated[str | None, Parameter(help="The queue (default: the first).")] = None,
    events: Annotated[int, Parameter(help="At most so many events, from the start of the run.")] = 1_000_000,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Run a scenario and write the events of a queue in ns-2's trace format or as pcap."""
    import tomllib

    from . import _core, traces
    from .sweep.reading import inlined, laid_over
    from .tune import _toml

    if file.suffix not in (".tr", ".pcap"):
        given = file.suffix or "no suffix"
        raise InputError(f"{file}: given {given}; allowed .tr, .pcap", given=given, allowed=".tr, .pcap")
    if not 1 <= events <= traces.MOST:
        raise InputError(f"--events: given {events}; allowed 1 to {traces.MOST}", given=str(events))
    _check_seed(seed)
    pairs = _pairs(set_)
    _core.Scenario.load(str(scenario), pairs)
    document = inlined(tomllib.loads(scenario.read_text(encoding="utf-8")), scenario.parent)
    made = traces.record(laid_over(document, _toml(pairs)), queue, events, seed)
    in_ns2s = file.suffix == ".tr"
    content = "".join(traces.ns2(made)).encode() if in_ns2s else b"".join(traces.pcap(made))
    part = file.with_name(f".{file.name}.partial")
    try:
        part.write_bytes(content)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    if json:
        _print_json({"file": str(file), "events": len(made.events), "total": made.total})
        return DONE
    more = f" of {made.total:,}; --events takes more" if made.total > len(made.events) else ""
    print(f"wrote {file}: {len(made.events):,} events{more}")
    return DONE


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """The script that completes earlydrop's commands and options in a shell.

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    print(app.generate_completion(shell=shell))
    return DONE


@app.command
def advise(
    *,
    rate: Annotated[str, Parameter(help="Rate of the link, as 50Mbit/s.")],
    rtt: Annotated[str, Parameter(help="Round-trip times without queueing, as 20..80ms.")],
    flows: Annotated[str, Parameter(help="TCP flows at a time, as 1..50.")],
    aqm: Annotated[
        list[str],
        Parameter(name="--aqm", negative="", consume_multiple=True, help="Disciplines to choose from."),
    ] = [],  # noqa: B006
    buffer: Annotated[int | None, Parameter(help="Packets (default: what is sent in the longest round trip).")] = None,
    seeds: Annotated[int, Parameter(help="Runs of each discipline at each condition.")] = 5,
    out: Annotated[Path, Parameter(name="--out", help="Folder for tables and report.")] = Path("out/advise"),
    store: Annotated[
        str | None,
        Parameter(name="--store", help="Folder or address that keeps every run (default: `store` beside the results)."),
    ] = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Which queue, with which parameters, for a link: a ranked table, a picture, the configuration to use."""
    from . import _core, output
    from . import advise as advising
    from . import sweep as sweeping
    from .sweep import text
    from .sweep.report import write_report

    asked = advising.link(rate, rtt, flows, buffer)
    known = [e["name"] for e in _loads(_core.catalogue())]
    for name in aqm:
        _check_aqm(name, known)
    _check_count("--seeds", seeds)
    _check_workers(workers)
    _check_out(out)
    sweep = advising.question(asked, list(dict.fromkeys(aqm)) or list(advising.CANDIDATES), seeds)
    opened = sweeping.open_store(store or out.absolute().parent / "store")
    executor = sweeping.Threads(sweep.document, workers)
    try:
        with terminal.Meter("advise") as meter:
            outcome = sweeping.run(sweeping.plan(sweep), opened, executor, tell=meter)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: what was run is in {opened.url}; the same command goes on from there"
        ) from None
    finally:
        executor.close()
    ranks = advising.rank(outcome)
    found = advising.document(asked, ranks, _version())
    with output.folder(out, {"kind": "advice", "version": _version()}) as folder:
        text.write(folder, outcome, opened.url)
        output.write_json(folder / "advice.json", found)
        (folder / "advice.txt").write_text(advising.text(asked, ranks, seeds) + "\n", encoding="utf-8")
        write_report(folder, outcome)
    if json:
        _print_json(found)
    else:
        print(advising.text(asked, ranks, seeds))
        print(f"\nreport: {out / 'report.html'}")
    return FAILED if outcome.tally.failed else DONE


@app.command(name="report")
def report_(
    folder: Annotated[
        Path, Parameter(name="DIR", help="A folder that `sweep`, `advise`, `run --out` or `link --out` wrote.")
    ],
    /,
    *,
    json: Json = False,
) -> int:
    """Write the report of a result folder, or write it once more: one HTML file that opens offline."""
    from . import run_page
    from .sweep import report

    path = run_page.renew(folder) if run_page.is_run(folder) else report.renew(folder)
    if json:
        _print_json({"report": str(path)})
    else:
        print(f"report: {path}")
    return DONE


stores = App(name="store", help="Look after a store of runs.", help_format="plaintext")
app.command(stores)

StorePlace = Annotated[str, Parameter(name="STORE", help="A store's folder or address.")]


@stores.command(name="ls")
def store_ls(store: StorePlace, /, *, json: Json = False) -> int:
    """What a store holds: its parts, and its runs by engine and discipline."""
    from . import store as stored
    from .store import looking

    found = looking.summary(stored.open_store(store, create=False))
    if json:
        _print_json(found)
    else:
        print(looking.summary_text(found))
    return DONE


@stores.command(name="verify")
def store_verify(store: StorePlace, /, *, json: Json = False) -> int:
    """Read every part of a store; exit code 1 if a run is lost, changed or there twice."""
    from . import store as stored

    problems = stored.open_store(store, create=False).verify()
    bad = [p for p in problems if not p.harmless]
    if json:
        _print_json({"ok": not bad, "problems": [vars(p) for p in problems]})
        return FAILED if bad else DONE
    for p in problems:
        print(f"{'note' if p.harmless else 'wrong'}: {p.name} {p.what}")
    print("the store is whole" if not bad else f"{len(bad)} problems")
    return FAILED if bad else DONE


@stores.command(name="gc")
def store_gc(
    store: StorePlace,
    /,
    *,
    old: Annotated[
        bool, Parameter(name="--old", negative="", help="Remove the runs of other engines than this one too.")
    ] = False,
    json: Json = False,
) -> int:
    """Clean a store up: remove what stopped writers left, and make few parts of many."""
    from . import store as stored

    found = stored.open_store(store, create=False).gc([stored.engine()] if old else None)
    if json:
        _print_json(found)
        return DONE
    removed = found["runs_before"] - found["runs"]
    print(
        f"{found['runs']:,} runs in {found['parts']:,} parts (before: {found['parts_before']:,}); removed "
        f"{removed:,} runs and {found['left_over']:,} files of stopped writers"
    )
    return DONE


@stores.command(name="export")
def store_export(
    store: StorePlace,
    file: Annotated[Path, Parameter(name="FILE", help="Where to: .parquet, or .csv (without lists).")],
    /,
    *,
    columns: Annotated[
        list[str], Parameter(name="--columns", negative="", consume_multiple=True, help="Only these (default: all).")
    ] = [],  # noqa: B006
    json: Json = False,
) -> int:
    """All runs as one table, sorted by scenario and seed: the same bytes whoever made the runs."""
    from . import store as stored
    from .store import looking

    rows, width = looking.export(stored.open_store(store, create=False), file, columns or None)
    if json:
        _print_json({"file": str(file), "runs": rows, "columns": width})
    else:
        print(f"wrote {file}: {rows:,} runs, {width} columns")
    return DONE


@app.command
def reproduce(
    study: str,
    /,
    *,
    seeds: Annotated[int | None, Parameter(help="Seeds for each cell (default: the study's).")] = None,
    quick: Annotated[
        bool, Parameter(negative="", help="Fewer levels and seeds, shorter runs: a look, not a result.")
    ] = False,
    assume: Annotated[
        list[str],
        Parameter(name="--assume", negative="", help="Another value for an assumption: NAME=VALUE. May be repeated."),
    ] = [],  # noqa: B006
    aqm: Annotated[
        list[str],
        Parameter(
            name="--aqm",
            negative="",
            consume_multiple=True,
            help="Disciplines, of a study that lets them be chosen; or all.",
        ),
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None, Parameter(name="--out", help="Folder for report and figures (default: out/STUDY).")
    ] = None,
    store: Annotated[
        str | None,
        Parameter(name="--store", help="Folder or address that keeps every run (default: `store` beside the results)."),
    ] = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Run a paper's experiments, judge its claims, write the report. What was run before is not run again.

    Parameters
    ----------
    study
        Name of a study, as `earlydrop list studies` prints it, a study's folder, or `all`.
    """
    from . import study as studies

    if seeds is not None:
        _check_count("--seeds", seeds)
    _check_workers(workers)
    assumed = dict(_pairs(assume, "--assume", "NAME=VALUE", "tcp=newreno"))
    chosen = [studies.find(name) for name in (studies.available() if study == "all" else [study])]
    chosen = studies.choose(chosen, aqm)
    chosen = [s.as_quick() if quick else s for s in chosen]
    chosen = [s.with_seeds(seeds) if seeds is not None else s for s in chosen]
    place = out if out is not None else Path("out") / ("all" if study == "all" else chosen[0].name)
    _check_out(place)
    kept = store or str(place.absolute().parent / "store")
    try:
        if study == "all":
            return _reproduce_all(studies.assume_where_known(chosen, assumed), place, kept, workers, json)
        return _reproduce(studies.assume(chosen[0], assumed), place, kept, workers, json)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: what was run is in {kept}; the same command goes on from there") from None


def _reproduce(study: Any, place: Path, store: str, workers: int | None, as_json: bool) -> int:
    from . import output
    from . import study as studies
    from .store import open_store
    from .study import folder as folders
    from .study import text, warmups

    plan = studies.plan(study)
    with terminal.Progress() as progress:
        outcome, results = studies.reproduce(plan, store=open_store(store), workers=workers, progress=progress)
        outcome.warmups = warmups.judge(plan, workers)
    about = {"kind": "study", "study": study.name, "quick": study.quick, "version": _version()}
    with output.folder(place, about) as folder:
        path = folders.write(folder, outcome, results, _version())
    if as_json:
        _print_json({**folders.document(outcome, results, _version()), "report": str(place / path.name)})
        return DONE
    print(text.study_text(outcome, results, terminal.coloured))
    print(f"\nreport: {place / path.name}")
    return DONE


def _reproduce_all(chosen: Sequence[Any], place: Path, store: str, workers: int | None, as_json: bool) -> int:
    from . import output
    from . import study as studies
    from .store import open_store
    from .study import scorecard

    # Every scenario of every study is checked before the first run.
    plans = [studies.plan(s) for s in chosen]
    about = {"kind": "studies", "studies": [s.name for s in chosen], "version": _version()}
    with output.folder(place, about) as folder, terminal.Progress() as progress:
        entries = scorecard.reproduce_all(
            plans,
            folder,
            partial(studies.reproduce, store=open_store(store)),
            _version(),
            workers=workers,
            progress=progress,
        )
    if as_json:
        _print_json({**scorecard.scorecard_document(entries, _version()), "index": str(place / "index.html")})
        return DONE
    print(scorecard.scorecard_text(entries, terminal.coloured))
    print(f"\nreports: {place / 'index.html'}")
    return DONE


@app.command
def validate(
    *,
    case: Annotated[
        list[str], Parameter(name="--case", negative="", consume_multiple=True, help="Only these cases.")
    ] = [],  # noqa: B006
    seeds: Annotated[int | None, Parameter(help="Seeds for each case. [default: as many as ns-2's, 10 to 40]")] = None,
    json: Json = False,
) -> int:
    """Check agreement with ns-2, case by case."""
    from . import validate as validating

    if seeds is not None:
        _check_count("--seeds", seeds)
    with terminal.Progress() as progress:
        found = validating.run(case or None, seeds, progress)
    if json:
        _print_json(found)
    else:
        print(validating.render(found))
    return DONE if found["ok"] else FAILED


@app.command
def vectors(
    aqm: Annotated[list[str], Parameter(negative="", help="Disciplines (default: all).")] = [],  # noqa: B006
    /,
    *,
    out: Annotated[Path | None, Parameter(name="--out", help="Write NAME.jsonl.gz for each into this folder.")] = None,
    check: Annotated[
        Path | None, Parameter(name="--check", help="Compare the files in this folder with what is decided now.")
    ] = None,
    json: Json = False,
) -> int:
    """Decision vectors: recorded decisions, to test other implementations against. Printed, written or checked."""
    from . import vectors as recorded

    known = recorded.names()
    for name in aqm:
        _check_aqm(name, known)
    if out is not None and check is not None:
        raise InputError("--out and --check exclude each other", allowed="one of them")
    if check is not None and not check.is_dir():
        raise InputError(f"--check {check}: is not a folder", given=str(check), allowed="a folder of vectors")
    if out is None and check is None:
        if len(aqm) != 1:
            raise InputError(
                "vectors are printed for one discipline at a time; name one, or give --out DIR or --check DIR",
                allowed=", ".join(known),
            )
        if json:
            raise InputError("--json: the vectors are JSON lines already; leave it out, or give --out or --check")
        print(recorded.record(aqm[0]).text, end="")
        return DONE
    with terminal.Progress() as progress:
        if check is not None:
            found = recorded.check(check, aqm or known, progress)
        else:
            assert out is not None
            found = [
                {"aqm": r.aqm, "cases": r.cases, "steps": r.steps, "sha256": r.sha256, "ok": True}
                for r in recorded.write(out, aqm or known, progress)
            ]
    if json:
        _print_json({"vectors": found, "ok": all(f["ok"] for f in found)})
    else:
        print(recorded.render(found, check or out))
    return DONE if all(f["ok"] for f in found) else FAILED


@app.command
def bench(
    *,
    against: Annotated[
        list[Literal["ns2", "ns3"]],
        Parameter(name="--against", negative="", consume_multiple=True, help="Run the same cases in these tools too."),
    ] = [],  # noqa: B006
    case: Annotated[
        list[str], Parameter(name="--case", negative="", consume_multiple=True, help="Cases (default: A, B, C).")
    ] = [],  # noqa: B006
    runs: Annotated[int, Parameter(help="Runs of each case; the median counts.")] = 3,
    json: Json = False,
) -> int:
    """Measure speed and memory on the reference cases."""
    from . import bench as benching

    _check_count("--runs", runs)
    with terminal.Progress() as progress:
        found = benching.run([str(a) for a in against], case or ["A", "B", "C"], runs, progress)
    if json:
        _print_json(found)
    else:
        print(benching.render(found))
    return DONE


@app.command
def link(
    *command: Annotated[str, Parameter(help="What to run behind the link, after --.")],
    rate: Annotated[str | None, Parameter(help="Rate, such as 20Mbit/s, or unlimited.")] = None,
    delay: Annotated[str | None, Parameter(help="Propagation delay in each direction (default: 0 ms).")] = None,
    queue: Annotated[
        str | None,
        Parameter(help='Queue for what COMMAND sends: "red limit=120p min_th=20 ..." (default: droptail).'),
    ] = None,
    reverse_queue: Annotated[
        str | None, Parameter(help="Queue for what COMMAND receives (default: room for everything).")
    ] = None,
    loss: Annotated[
        str | None, Parameter(help="Probability that a packet is lost on the way, in each direction.")
    ] = None,
    trace: Annotated[Path | None, Parameter(help="Rate over time: a trace in Mahimahi's format.")] = None,
    reverse_rate: Annotated[str | None, Parameter(help="Rate of the way back (default: as there).")] = None,
    reverse_delay: Annotated[str | None, Parameter(help="Delay of the way back (default: as there).")] = None,
    reverse_trace: Annotated[Path | None, Parameter(help="Trace of the way back (default: as there).")] = None,
    sim: Annotated[
        Path | None, Parameter(name="--sim", help="Take rate, delay and queues from this scenario instead.")
    ] = None,
    at: Annotated[str | None, Parameter(help="With --sim: the queue whose link it is (default: bottleneck).")] = None,
    set_: Sets = [],  # noqa: B006
    seed: Annotated[
        int | None, Parameter(help="Seed of the queues' random numbers (default: 1, or the scenario's).")
    ] = None,
    between: Annotated[
        list[str],
        Parameter(
            name="--between",
            negative="",
            consume_multiple=2,
            help="Without COMMAND: two named namespaces to join, or dev:NAME for TUN devices.",
        ),
    ] = [],  # noqa: B006
    mtu: Annotated[int, Parameter(help="Largest packet, bytes.")] = 1500,
    sysctl: Annotated[
        list[str],
        Parameter(name="--sysctl", negative="", help="Sysctl behind the link: net.ipv4.tcp_ecn=1. May be repeated."),
    ] = [],  # noqa: B006
    user: Annotated[str | None, Parameter(help="Run COMMAND as this user (default: who called).")] = None,
    realtime: Annotated[
        bool, Parameter(negative="", help="Real-time priority for the link: departures on time under load.")
    ] = False,
    live: Annotated[bool, Parameter(negative="", help="Show queue, drops and flows while it runs.")] = False,
    log: Annotated[
        bool, Parameter(negative="", help="With --out: keep every arrival and its fate in log.parquet.")
    ] = False,
    verify: Annotated[
        bool, Parameter(negative="", help="Run every arrival through the simulator too, and compare the decisions.")
    ] = False,
    quiet: Annotated[bool, Parameter(negative="", help="Print no summary.")] = False,
    out: Out = None,
    json: Json = False,
) -> int:
    """Run a command behind a real link, with any queue discipline in front of it.

    Needs Linux, and the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN (sudo). The command reaches this namespace under
    $EARLYDROP_OUTER. Its exit code is returned; 125 means that the link failed, 126 that the command cannot be run, 127
    that there is none of that name.
    """
    from . import links

    if seed is not None:
        _check_seed(seed)
    _check_out(out)
    if log and out is None:
        raise InputError("--log: needs --out DIR to write log.parquet to")
    if bool(command) == bool(between):
        raise InputError(
            "COMMAND or --between: given " + ("both" if command else "neither") + "; allowed one of the two"
        )
    if between and len(between) != 2:
        raise InputError(f"--between: given {len(between)}; allowed two namespaces or devices")
    settings: dict[str, Any] = {
        "mtu": mtu,
        "sysctls": tuple(_pairs(sysctl, "--sysctl", "NAME=VALUE", "net.ipv4.tcp_ecn=1")),
        "real_time": realtime,
        "record": links.MOST_RECORDED if log or verify else 0,
    }
    parts = {
        "rate": rate,
        "delay": delay,
        "queue": queue,
        "reverse_queue": reverse_queue,
        "loss": loss,
        "trace": trace,
        "reverse_rate": reverse_rate,
        "reverse_delay": reverse_delay,
        "reverse_trace": reverse_trace,
    }
    given = {name: value for name, value in parts.items() if value is not None}
    plan = _link_plan(given, sim, at, set_, seed, settings)
    return _run_link(plan, list(command), between, user, live, verify, log, quiet, out, json)


def _link_plan(
    given: dict[str, Any], sim: Path | None, at: str | None, sets: Sequence[str], seed: int | None, settings: Any
) -> Any:
    from . import _core, links

    if sim is not None:
        if given:
            option = "--" + next(iter(given)).replace("_", "-")
            raise InputError(f"{option}: the scenario of --sim says it; change it there, or with --set")
        return links.from_scenario(_core.Scenario.load(str(sim), _pairs(sets)), at, seed, **settings)
    for option, value in (("--at", at), ("--set", sets)):
        if value:
            raise InputError(f"{option}: belongs to --sim SCENARIO.toml")
    if "loss" in given:
        try:
            given["loss"] = float(given["loss"])
        except ValueError:
            raise InputError(f"--loss: given {given['loss']}; allowed a probability, 0 to 1") from None
    if seed is not None:
        settings["seed"] = seed
    return links.plan(**given, **settings)


def _run_link(
    plan: Any,
    command: list[str],
    between: list[str],
    user: str | None,
    live: bool,
    verify: bool,
    log: bool,
    quiet: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    import contextlib

    from . import links, panel

    who = links.User.named(user) if user is not None else links.User.calling()
    with contextlib.ExitStack() as stack:
        caught = stack.enter_context(links.signals())
        running = stack.enter_context(links.Running(plan, (between[0], between[1]) if between else None))
        shown = None
        if live and panel.wanted():
            title = " ".join(command) or " and ".join(between)
            shown = stack.enter_context(panel.Panel(running, title[:60]))
        started = None
        if command:
            output = shown.output if shown is not None else None
            # With --json stdout is the document's.
            stdout = output if output is not None else (sys.stderr.fileno() if as_json else None)
            try:
                started = running.start(command, stdout=stdout, stderr=output, user=who)
            except FileNotFoundError:
                print(f"error: {command[0]}: no such command", file=sys.stderr)
                return NOT_FOUND
            except OSError as error:
                print(f"error: {command[0]}: {error.strerror}", file=sys.stderr)
                return NOT_RUNNABLE
        elif not quiet:
            print(f"joined {between[0]} and {between[1]}; Ctrl-C ends it", file=sys.stderr)
        code = links.supervise(running, started, caught, shown)
    result = running.result
    assert result is not None
    _link_results(plan, running, result, verify, log, quiet, out, as_json)
    return code


def _link_results(
    plan: Any, running: Any, result: Any, verify: bool, log: bool, quiet: bool, out: Path | None, as_json: bool
) -> None:
    from . import links, output, panel, report

    document = result.document
    lines = [panel.link_text(document)]
    if verify:
        replays = links.replay(plan, running.records)
        document["replay"] = {
            name: {"arrivals": one.arrivals, "differing": one.differing} for name, one in replays.items()
        }
        for name, one in replays.items():
            verdict = "all as on the link" if not one.differing else f"{one.differing} otherwise; {one.first}"
            lines.append(f"{name}: the simulator decided over {one.arrivals} arrivals, {verdict}")
    if out is not None:
        with output.folder(out, {"kind": "link", "version": _version()}) as folder:
            report.write_run(folder, document, result.scenario)
            if log:
                links.write_log(folder / "log.parquet", running.records)
        lines.append(f"\nwritten to {out}")
    if as_json:
        _print_json(document)
    if not quiet:
        print("\n".join(lines), file=sys.stderr)


@app.command
def crosscheck(
    scenario: ScenarioFile | None = None,
    /,
    *,
    set_: Sets = [],  # noqa: B006
    at: Annotated[str | None, Parameter(help="The queue whose link it is (default: bottleneck).")] = None,
    seeds: Annotated[int | None, Parameter(help="Runs of the simulator (default: 5, of a cell 10).")] = None,
    realtime: Annotated[bool, Parameter(negative="", help="Real-time priority for the link.")] = False,
    grid: Annotated[
        str | None, Parameter(help="Instead of a scenario: cells of the grid whose text has this regular expression.")
    ] = None,
    jobs: Annotated[int, Parameter(help="With --grid: links at a time.")] = 8,
    runs: Annotated[int, Parameter(help="With --grid: links for each cell, with the seeds from 1 on.")] = 1,
    stored: Annotated[
        Path | None, Parameter(help="With --grid: take the links' figures from this CSV instead of running links.")
    ] = None,
    write: Annotated[Path | None, Parameter(help="With --grid: write the links' figures to this CSV.")] = None,
    page: Annotated[Path | None, Parameter(help="With --grid: put the tables into this page.")] = None,
    jitter: Annotated[
        str | None, Parameter(help="With --grid: longest extra delay on the simulator's link, such as '0.1 ms'.")
    ] = None,
    json: Json = False,
) -> int:
    """Run a scenario in the simulator and on a real link under the kernel's TCP, and print what differs.

    Takes as long as the scenario. Needs iperf3, and what `link` needs. With --grid: congestion controls, queues, rates,
    round-trip times and numbers of flows, see docs/crosscheck.md; --set then changes the traffic's keys, such as tcp's.
    """
    from . import crosscheck as checking

    _check_count("--seeds", 1 if seeds is None else seeds)
    if (scenario is None) == (grid is None):
        raise InputError("SCENARIO or --grid: " + ("given neither" if grid is None else "given both"))
    if grid is not None:
        return _crossgrid(grid, set_, seeds, realtime, jobs, runs, stored, write, page, jitter, json)
    for option, value in (("--stored", stored), ("--write", write), ("--page", page), ("--jitter", jitter)):
        if value is not None:
            raise InputError(f"{option}: belongs to --grid")
    assert scenario is not None
    with terminal.Progress() as progress:
        found = checking.crosscheck(
            scenario, _pairs(set_), at=at, seeds=seeds or 5, real_time=realtime, progress=progress
        )
    if json:
        _print_json({**found.document(), "version": _version()})
    else:
        print(found.text())
    return DONE


def _crossgrid(
    pattern: str,
    sets: Sequence[str],
    seeds: int | None,
    real_time: bool,
    jobs: int,
    links: int,
    stored: Path | None,
    write: Path | None,
    page: Path | None,
    jitter: str | None,
    as_json: bool,
) -> int:
    import re
    from dataclasses import asdict

    from . import crossgrid

    _check_count("--jobs", jobs)
    _check_count("--runs", links)
    try:
        wanted = crossgrid.cells(pattern)
    except re.error as error:
        raise InputError(f"--grid: {pattern}: {error}") from None
    if not wanted:
        raise InputError(f"--grid: no cell has {pattern!r}; cells are such as {crossgrid.cells()[0]}")
    changes = {key: _value(text) for key, text in _pairs(sets, example="hystart=false")}
    with terminal.Progress() as progress:
        if stored is None:
            runs = crossgrid.measure(wanted, jobs=jobs, real_time=real_time, runs=links, progress=progress)
            about = crossgrid.facts(jobs, real_time)
            if write is not None:
                crossgrid.write(write, runs, about)
        else:
            of = set(wanted)
            known, about = crossgrid.read(stored)
            runs = [run for run in known if run.cell in of]
        real = crossgrid.means(runs)
        simulated = crossgrid.simulate(
            [mean.cell for mean, _ in real],
            seeds=seeds or crossgrid.SEEDS,
            changes=changes,
            jitter=jitter,
            progress=progress,
        )
    found = crossgrid.compare(real, simulated)
    head, body = crossgrid.rows(found)
    counts = crossgrid.summary(found)
    if page is not None:
        facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
        crossgrid.put(page, "agreement", crossgrid.markdown(crossgrid.HEAD, counts))
        crossgrid.put(page, "cells", facts + "\n\n" + crossgrid.markdown(head, body))
    if as_json:
        cells = [
            {"link": asdict(o.real), "links": o.links, "simulator": asdict(o.simulated), "agrees": o.holds}
            for o in found
        ]
        _print_json({"about": about, "cells": cells, "version": _version()})
    else:
        print(terminal.table(head, body, left=2))
        print()
        print(terminal.table(crossgrid.HEAD, counts))
    return DONE


def _value(text: str) -> Any:
    """A setting's value as TOML has it, or the text itself."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


# ---- input ---------------------------------------------------------------------------------------------------------


def _loads(text: str) -> Any:
    return json.loads(text)


def _print_json(document: Any) -> None:
    from .output import to_json

    print(to_json(document))


def _warn(texts: Sequence[str]) -> None:
    for text in texts:
        terminal.say(f"warning: {text}")


def _pairs(
    sets: Sequence[str], option: str = "--set", form: str = "PATH=VALUE", example: str = "queue.bottleneck.aqm=red"
) -> list[tuple[str, str]]:
    pairs = []
    for text in sets:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise InputError(
                f'{option} {text}: given "{text}"; allowed {form}, such as {example}',
                given=text,
                allowed=form,
            )
        pairs.append((path.strip(), value.strip()))
    return pairs


def _check_aqm(name: str, known: Sequence[str]) -> None:
    _check_name("discipline", name, known)


def _check_name(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name.lower(), known, 1)
        hint = f'; did you mean "{near[0]}"?' if near else "."
        raise InputError(
            f'there is no {what} "{name}"{hint} Known: {", ".join(known)}', given=name, allowed=", ".join(known)
        )


def _check_seed(seed: int | None) -> None:
    # What a scenario can hold too, so that every run can be written down as one.
    top = 2**63 - 1
    if seed is not None and not 0 <= seed <= top:
        raise InputError(f"--seed: given {seed}; allowed 0 to {top}", given=str(seed), allowed=f"0 to {top}")


def _check_count(name: str, count: int) -> None:
    if not 1 <= count <= 100_000:
        raise InputError(f"{name}: given {count}; allowed 1 to 100000", given=str(count), allowed="1 to 100000")


def _stopping(until: str, most: int, seeds: int | None) -> Any:
    """The rule behind `--until 2%`."""
    from .statistics import Stopping

    if seeds is not None:
        raise InputError(
            "--seeds and --until exclude each other; the most seeds with --until are --most", allowed="one"
        )
    _check_count("--most", most)
    number, percent, rest = until.partition("%")
    try:
        relative = float(number) / (100 if percent else 1)
    except ValueError:
        relative = 0.0
    if rest.strip() or not 0 < relative < 1:
        raise InputError(f"--until: given {until}; allowed above 0% and below 100%", given=until, allowed="0%..100%")
    return Stopping(relative, least=min(10, most), most=most)


def _check_workers(workers: int | None) -> None:
    if workers is not None and not 1 <= workers <= 1024:
        raise InputError(f"--workers: given {workers}; allowed 1 to 1024", given=str(workers), allowed="1 to 1024")


def _check_out(out: Path | None) -> None:
    if out is not None:
        from .output import check as check_out

        check_out(out)


# ---- showing a discipline ------------------------------------------------------------------------------------------


def _curves(entry: dict[str, Any], entries: dict[str, Any]) -> list[tuple[str, list[float], list[float]]]:
    """The drop curve of a discipline, and RED's with the same thresholds beside it."""
    from . import _core

    shared = {"min_th", "max_th", "max_p"}
    given = _numbers(entry, shared)
    top = 1.2 * given.get("max_th", 100.0)
    averages = [top * k / 300 for k in range(301)]
    found = []
    own = _core.drop_curve(entry["name"], "{}", averages)
    if own is None:
        return []
    found.append((entry["title"], averages, own))
    if entry["name"] != "red" and "red" in entries and given:
        red = _core.drop_curve("red", json.dumps(given), averages)
        if red is not None:
            found.append((f"{entries['red']['title']} with the same thresholds", averages, red))
    return found


def _numbers(entry: dict[str, Any], names: set[str]) -> dict[str, float]:
    """Defaults of these parameters, as far as they are numbers (not "auto")."""
    found = {p["name"]: str(p["default"]) for p in entry["parameters"] if p["name"] in names}
    return {name: float(text) for name, text in found.items() if text != "auto"}


def _show_network(
    file: str, plot_file: Path | None, picture_file: Path | None, sets: list[tuple[str, str]], as_json: bool
) -> int:
    from . import _core, plot
    from .scenario import Scenario

    if plot_file is not None:
        raise InputError(f"--plot {plot_file}: draws a discipline's drop curve; a network's picture is --picture")
    if picture_file is not None and picture_file.suffix not in {".png", ".pdf", ".svg"}:
        given = picture_file.suffix or "no suffix"
        raise InputError(f"--picture {picture_file}: given {given}; allowed .png, .pdf, .svg")
    scenario = Scenario(_core.Scenario.load(file, sets))
    network = scenario.network()
    if picture_file is not None:
        try:
            plot.write(scenario.picture(), picture_file)
        except OSError as error:
            raise InputError(f"--picture {picture_file}: {error.strerror}", file=str(picture_file)) from None
    if as_json:
        _print_json(network)
        return DONE
    print(_network_text(scenario.name, network))
    return DONE


def _network_text(name: str, network: dict[str, Any]) -> str:
    """Nodes, links and queues in a table; of many links the first."""
    shown = 40
    routers = sum(node["router"] for node in network["node"])
    rows = []
    for link in network["link"]:
        ways = [(link, link["from"], link["to"])]
        if link["reverse"]:
            ways.append((link["reverse"], link["to"], link["from"]))
        for way, begin, end in ways:
            rate, delay = terminal.rate_text(way["rate"], 6), terminal.delay_text(way["delay"], 6)
            more = ", ".join(key for key in ("loss", "jitter", "reorder") if key in way)
            rows.append([way["name"], begin, end, rate, delay, network["queue"].get(way["name"], "-"), more or "-"])
    hosts = len(network["node"]) - routers
    head = (
        f"{name}: {hosts} hosts, {routers} routers, {len(rows)} links in one direction, {len(network['queue'])} queues"
    )
    table = terminal.wrapped(["link", "from", "to", "rate", "delay", "queue", "packets"], rows[:shown])
    more = f"\nand {len(rows) - shown} links more (--json has all)" if len(rows) > shown else ""
    return f"{head}\n\n{table}{more}"


def _draw(path: Path, entry: dict[str, Any], curves: list[tuple[str, list[float], list[float]]]) -> None:
    from . import plot

    if path.suffix not in {".png", ".pdf", ".svg"}:
        raise InputError(f"--plot {path}: given {path.suffix or 'no suffix'}; allowed .png, .pdf, .svg")
    if not curves:
        raise InputError(f"--plot: {entry['title']} has no drop curve")
    marks = _numbers(entry, {"min_th", "max_th"})
    drawn = [plot.DropCurve(title, averages, values) for title, averages, values in curves]
    # The certain drops past max_th would press the curve itself flat: a close view stands beside the whole.
    detail = (0.8 * marks["min_th"], 1.05 * marks["max_th"]) if len(marks) == 2 else None
    drawing = plot.drop_curves(drawn, marks, detail)
    try:
        plot.write(drawing, path)
    except OSError as error:
        raise InputError(f"--plot {path}: {error.strerror}", file=str(path)) from None


def _shown(entry: dict[str, Any], curves: list[tuple[str, list[float], list[float]]]) -> str:
    lines = [f"{entry['title']} ({entry['name']}, {entry['year']}): {entry['summary']}"]
    lines += [terminal.paragraph(f"Source: {entry['source']}"), "", "Parameters", ""]
    if entry["parameters"]:
        head = ["name", "default", "unit", "allowed"]
        rows = [[p["name"], p["default"], p["unit"] or "-", p["range"]] for p in entry["parameters"]]
        widths = [max(len(r[k]) for r in [head, *rows]) for k in range(3)]
        for row, parameter in zip([head, *rows], [None, *entry["parameters"]], strict=True):
            start = "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=False))
            lines.append(f"  {start}  {row[3]}")
            if parameter is None:
                lines.append("  " + "  ".join("-" * w for w in [*widths, 7]))
            else:
                text = f"{parameter['doc']} Source: {parameter['source']}."
                lines.append(terminal.paragraph(text, "      "))
    else:
        lines.append("  none")
    if curves:
        lines += ["", "Drop probability p_b over the average queue (packets)", ""]
        inside = [y for _, _, ys in curves for y in ys if y < 1]
        lines.append(terminal.plot(curves, columns=min(72, terminal.width() - 8), top=1.25 * max(inside, default=1)))
        lines.append("  (probabilities above the frame are certain drops)")
    body = entry["doc"].strip()
    lines += ["", body]
    return "\n".join(lines)


# ---- entry ---------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if argv is None:
        signal.signal(signal.SIGTERM, _terminated)
    code = _guarded(tokens)
    if argv is None and code == INTERRUPTED:
        # Threads may still be inside a run that cannot be stopped; do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _terminated(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _guarded(tokens: list[str]) -> int:
    # What follows -- are the words of another command.
    own = tokens[: tokens.index("--")] if "--" in tokens else tokens
    wants_json = "--json" in own
    try:
        code = _dispatch(tokens)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        print(str(stop) or "interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # the one place where everything ends
        return _failed(error, wants_json, LINK_FAILED if tokens[:1] == ["link"] else None)


def _dispatch(tokens: list[str]) -> int:
    command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    result = command(*bound.args, **bound.kwargs)
    return result if isinstance(result, int) else DONE


def _failed(error: Exception, wants_json: bool, always: int | None = None) -> int:
    code, fields = _classified(error)
    message = str(error) or type(error).__name__
    if code == INTERNAL:
        import traceback

        traceback.print_exception(error)
        message = f"internal error: {message}"
    notes = getattr(error, "__notes__", [])
    message = "; ".join([message, *notes]) if code != INTERNAL else message
    print(f"error: {message}", file=sys.stderr)
    for note in notes if code == INTERNAL else []:
        print(note, file=sys.stderr)
    code = code if always is None else always
    if wants_json:
        _print_json({"error": {"message": message, **fields}, "exit": code})
    return code


def _classified(error: Exception) -> tuple[int, dict[str, str | None]]:
    """Exit code of an error, and what else is known about it."""
    from . import _core, bench, compare, crosscheck, links, output, runner, store, study, validate, vectors
    from .advise import AdviseError
    from .differ import DiffError
    from .run_page import RunPageError
    from .sweep.model import SweepError
    from .traces import TraceError
    from .tune import TuneError

    if isinstance(error, _core.ScenarioError):
        return WRONG_INPUT, {k: getattr(error, k, None) for k in ("file", "path", "given", "allowed")}
    if isinstance(error, InputError):
        return WRONG_INPUT, error.fields
    wrong: tuple[type[Exception], ...] = (
        CycloptsError,
        output.OutputError,
        compare.CompareError,
        study.StudyError,
        validate.ValidationError,
        bench.BenchError,
        vectors.VectorError,
        links.OptionError,
        crosscheck.CrosscheckError,
        SweepError,
        RunPageError,
        TuneError,
        AdviseError,
        DiffError,
        TraceError,
    )
    if isinstance(error, store.NotAStore):
        return WRONG_INPUT, {}
    if isinstance(error, wrong):
        return WRONG_INPUT, {}
    if isinstance(error, (runner.RunError, bench.BenchFailure, links.LinkError, store.StoreError, OSError)):
        return FAILED, {}
    return INTERNAL, {}


Command = Callable[..., int]

if __name__ == "__main__":
    sys.exit(main())
