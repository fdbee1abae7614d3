"""Running a study: equal runs once, the same result whatever the workers, nothing again that the store has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest
from conftest import SMALL

from earlydrop import runner
from earlydrop import study as studies
from earlydrop.analysis import statistics
from earlydrop.analysis.window import Reason, Window
from earlydrop.output import to_json
from earlydrop.store import open_store
from earlydrop.study import folder as folders
from earlydrop.study import runs, warmups
from earlydrop.study import text as texts
from earlydrop.study.model import Study


@pytest.fixture(scope="module")
def small() -> Study:
    return studies.read(SMALL).as_quick()


@pytest.fixture(scope="module")
def ran(small: Study) -> tuple[studies.Outcome, list[studies.ClaimResult]]:
    return studies.reproduce(small)


def document(outcome: studies.Outcome, results: list[studies.ClaimResult]) -> str:
    found = folders.document(outcome, results, "0")
    found.pop("cost")
    return to_json(found)


def test_every_run_is_made_once(small: Study, ran: Any) -> None:
    outcome, _ = ran
    plan = studies.plan(small)
    # The figures of A-2 share the runs of their experiment, those with a `set` have their own.
    assert outcome.runs == plan.runs == outcome.cost["runs"]
    measured = small.runs
    # The transfers of three disciplines with two seeds. The series shows a load that the quick version leaves out.
    assert plan.runs == measured + 3 * 2
    assert studies.plan(studies.read(SMALL)).runs == studies.read(SMALL).runs + 3 * 3 + 2


def test_an_unknown_discipline_is_refused_even_where_no_cell_has_it(small: Study) -> None:
    a = small.experiment("A-1")
    queues = {
        name: {**queue, "aqm": "rde"} for name, queue in {"bottleneck": {}, **a.scenario.get("queue", {})}.items()
    }
    wrong = replace(a, scenario={**a.scenario, "queue": queues})
    with pytest.raises(
        studies.StudyError, match=r'experiment A-1: scenario: queue\.\w+\.aqm: is unknown; did you mean "red"'
    ):
        studies.plan(small.with_experiments((wrong,)))


def test_equal_scenarios_are_run_once(small: Study) -> None:
    a = small.experiment("A-1")
    twice = small.with_experiments((*small.experiments, replace(a, id="A-3", title="Again")))
    assert studies.plan(twice).runs == studies.plan(small).runs
    # Another way to write the same scenario is the same scenario.
    written = replace(a, id="A-3", shortened=(*a.shortened, {"traffic.0.window": 1000, "traffic.0.tcp": "reno"}))
    same = studies.plan(small.with_experiments((*small.experiments, written))).runs
    assert same < studies.plan(small).runs + len(a.cells) * a.seeds
    outcome = studies.run(small.with_experiments((small.experiments[0], replace(a, id="A-3"), small.experiments[1])))
    assert outcome.values["A-3"] == outcome.values["A-1"]


def test_the_result_does_not_depend_on_the_workers(small: Study, ran: Any) -> None:
    assert document(*studies.reproduce(small, workers=1)) == document(*ran)
    assert document(*studies.reproduce(small, workers=5)) == document(*ran)


def test_values_are_those_of_the_runs(small: Study, ran: Any) -> None:
    outcome, _ = ran
    e = small.experiment("A-1")
    cell = ("red", "8", "1000", "1000")
    from earlydrop import _core

    scenario = _core.Scenario.parse(e.document(cell, "small"), [])
    for k, seed in enumerate(runs.seeds_of(e)):
        result = json.loads(scenario.run(seed))
        values = {m: v[k] for m, v in outcome.values["A-1"][cell].items()}
        goodputs = [f["goodput_mbps"] for f in result["flows"]]
        assert values["delay"] == result["delay_mean_ms"]
        assert values["throughput"] == 1000 * result["throughput_total_mbps"]
        assert values["share"] == pytest.approx(goodputs[0] / sum(goodputs))
        assert values["fairness"] == pytest.approx(statistics.jain(goodputs))
        packets = [q for t, q in zip(result["series"]["time_s"], result["series"]["queues"]["bottleneck"]["packets"],
                                     strict=True) if t >= 1]  # fmt: skip
        assert values["deviation"] == pytest.approx(statistics.deviation(packets))


def test_a_run_is_compared_entry_by_entry_with_its_counterpart(small: Study, ran: Any) -> None:
    from earlydrop import _core

    outcome, _ = ran
    e = small.experiment("A-2")
    for k, seed in enumerate(runs.seeds_of(e)):
        times = []
        for aqm in ("sfred", "red"):
            result = json.loads(_core.Scenario.parse(e.document((aqm,), "small"), []).run(seed))
            times.append([f["completion_s"] for f in result["flows"]])
        known = [(a, b) for a, b in zip(*times, strict=True) if a is not None and b is not None]
        values = outcome.values["A-2"]
        assert values[("sfred",)]["winners"][k] == sum(a < b for a, b in known)
        assert values[("sfred",)]["won"][k] == pytest.approx(sum(b - a for a, b in known if a < b))
        assert values[("red",)]["winners"][k] == 0


def test_the_table_of_runs(small: Study, ran: Any, tmp_path: Path) -> None:
    outcome, results = ran
    folders.write(tmp_path, outcome, results, "0")
    table = polars.read_parquet(tmp_path / "runs" / "A-1.parquet")
    text = polars.read_csv(tmp_path / "runs" / "A-1.csv")
    e = small.experiment("A-1")
    assert table.columns == text.columns == [*e.names, "seed", *e.measures]
    assert table.height == text.height == len(e.cells) * e.seeds
    one = table.filter(aqm="droptail", flows="2", window="6", segment="1000", seed=2)
    assert one["delay"].to_list() == [outcome.values["A-1"][("droptail", "2", "6", "1000")]["delay"][1]]
    assert one["average"].to_list() == [None]


def test_the_number_of_seeds_is_fixed_beforehand() -> None:
    study = studies.read(SMALL)
    claims = tuple(c for c in study.claims if c.id in {"C-2", "C-6"})
    study = replace(study, claims=claims, figures=(), experiments=tuple(replace(e, seeds=2) for e in study.experiments))
    outcome, results = studies.reproduce(study)
    assert {r.claim.id: r.base.verdict for r in results}["C-6"] == studies.UNDECIDED
    assert {c.n for r in results for p in r.base.parts for c in p.cases} == {2}
    e = study.experiment("A-2")
    assert len(runs.rows(outcome, e)) == 1 + 2 * len(e.cells)


# ---- the store -----------------------------------------------------------------------------------------------------


def test_what_the_store_has_is_not_run_again(small: Study, ran: Any, tmp_path: Path) -> None:
    first, results = studies.reproduce(small, store=open_store(tmp_path / "store"))
    assert first.cost["made"] == first.runs
    assert document(first, results) == document(*ran), "a store changes nothing"
    # Another process, and one that measures something else.
    again, same = studies.reproduce(small, store=open_store(tmp_path / "store"))
    assert again.cost["made"] == 0
    assert document(again, same) == document(first, results)
    spread = replace(small.measure("first"), id="first")
    other = replace(small, measures=tuple(spread if m.id == "first" else m for m in small.measures))
    assert studies.run(other, store=open_store(tmp_path / "store")).cost["made"] == 0
    # More seeds are more runs, and only these are made.
    more = small.with_seeds(3)
    made = studies.run(more, store=open_store(tmp_path / "store")).cost["made"]
    assert made == studies.plan(more).runs - first.runs
    # A damaged result is another engine's, or none of these: nothing is taken for what it is not.
    assert open_store(tmp_path / "store").verify() == []


def test_runs_of_a_sweep_are_those_of_a_study(small: Study, tmp_path: Path) -> None:
    from earlydrop import sweeps

    e = small.experiment("A-1")
    base = {k: v for k, v in e.document(("red", "8", "1000", "1000"), "small").items() if k != "seed"}
    asked = {
        "scenario": base, "seeds": e.seeds, "measures": ["throughput"],
        "factor": [{"name": "aqm", "path": "queue.bottleneck.aqm", "values": ["red"]}],
    }  # fmt: skip
    sweeps.sweep(asked, store=str(tmp_path / "store"))
    outcome = studies.run(small, store=open_store(tmp_path / "store"))
    assert outcome.cost["made"] == outcome.runs - e.seeds


PROGRAM = """
import os, time
from earlydrop import cli
from earlydrop.render import plotting
from earlydrop.sweeps import execute
execute.FLUSH_S, execute.BATCH_S = 0.0, 0.1
real = plotting._bytes
plotting._bytes = lambda drawing, kind: real(drawing, kind) if kind == "svg" else b""
flush = execute.Runs._flush
def hold(self):
    flush(self)
    if self.tally.made:
        time.sleep(600)
if "HOLD" in os.environ:
    execute.Runs._flush = hold
cli.main()
"""
"""The command, but runs go into the store as they are made, and figures are drawn in one format. With HOLD it stops
after the first runs that it has put there, until it is killed."""
KILLED = [sys.executable, "-c", PROGRAM, "reproduce", str(SMALL), "--seeds=40", "--workers=2"]


def test_a_study_that_is_killed_three_times_gives_the_same_bytes(tmp_path: Path) -> None:
    kept = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    stored = 0
    for _ in range(3):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ | {"HOLD": "yes"}}
        deadline = time.monotonic() + 100
        with subprocess.Popen([*KILLED, *kept], **quiet) as process:
            # Until it has put more runs into the store than it found there.
            while (parts := len(list((tmp_path / "store" / "parts").glob("[!.]*")))) <= stored:
                if process.poll() is not None or time.monotonic() > deadline:
                    break
                time.sleep(0.01)
            there = process.poll() is None
            process.kill()
        assert there, "it ended before it was killed"
        assert parts > stored, "it made no runs"
        stored = parts
    assert not (tmp_path / "out").exists()
    subprocess.run([*KILLED, *kept], check=True, stdout=subprocess.DEVNULL)
    fresh = ["--store", str(tmp_path / "fresh"), "--out", str(tmp_path / "whole")]
    subprocess.run([*KILLED, *fresh], check=True, stdout=subprocess.DEVNULL)
    files = {p.relative_to(tmp_path / "out") for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert files == {p.relative_to(tmp_path / "whole") for p in (tmp_path / "whole").rglob("*") if p.is_file()}
    found, whole = (json.loads((tmp_path / d / "result.json").read_text(encoding="utf-8")) for d in ("out", "whole"))
    assert found.pop("cost")["made"] < whole.pop("cost")["made"]
    assert to_json(found) == to_json(whole)
    for file in files:
        if file.suffix in (".csv", ".txt", ".svg", ".toml", ".parquet"):
            assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file


def test_cells_that_give_the_same_run_for_every_seed_are_one_replication(tmp_path: Path) -> None:
    shutil.copytree(SMALL, tmp_path / "small")
    file = tmp_path / "small" / "study.toml"
    text = file.read_text(encoding="utf-8")
    # Nothing is random under DropTail if the flows start together, with today's TCP.
    fixed = text.replace('start = { uniform = ["0 s", "0.5 s"] }', 'stack = "rfc"', 1)
    assert fixed != text
    file.write_text(fixed, encoding="utf-8")
    study = studies.read(tmp_path / "small").as_quick()
    e = study.experiment("A-1")
    study = study.with_experiments((e,))
    study = replace(study, claims=(), tables=(), figures=(), assumptions=(), base_changes=())
    outcome = studies.run(study)
    same = {cell for cell in e.cells if outcome.same_run(e, [cell])}
    # RED draws too, but where two flows with small windows never fill the queue.
    assert same >= {cell for cell in e.cells if cell[0] == "droptail"}
    assert ("red", "8", "1000", "1000") not in same
    tables_ = folders.document(outcome, [], "0")["experiments"][0]["cells"]
    for cell, found in zip(e.cells, tables_, strict=True):
        assert found["delay"]["replicates"] == (1 if cell in same else e.seeds)
        assert (found["delay"]["half_width"] is None) == (cell in same)


def test_progress_counts_every_run(small: Study) -> None:
    seen: list[tuple[int, int]] = []
    studies.run(small, progress=lambda done, total, _: seen.append((done, total)))
    total = studies.plan(small).runs
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_run_that_fails_names_cell_and_seed(small: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from earlydrop.sweeps import executors, work

    real = work.make

    def fail(base: Any, tasks: Any) -> Any:
        done = real(base, tasks)
        seeds = [seed for _, some in tasks for seed in some]
        for at, seed in enumerate(seeds):
            if seed == 2:
                done.failed.add(at)
                done.failures.append((next(k for k, t in enumerate(tasks) if seed in t[1]), seed, "out of paper"))
        return done

    monkeypatch.setattr(executors.work, "make", fail)
    with pytest.raises(
        runner.RunError, match=r"study.toml: experiment A-\d, .*seed 2\): out of paper \(\d+ more failed\)"
    ):
        studies.run(small)


# ---- warm-up -------------------------------------------------------------------------------------------------------


def test_a_short_warm_up_is_named_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SMALL, tmp_path / "small")
    file = tmp_path / "small" / "study.toml"
    text = file.read_text(encoding="utf-8")
    # Flows begin one after the other for a third of the run, and statistics begin with it.
    late = text.replace('warmup = "1 s"', 'warmup = "0 s"').replace('"0.5 s"] }', '"1.5 s"] }')
    file.write_text(late, encoding="utf-8")
    monkeypatch.setattr(warmups, "SHARE", 10)
    plan = studies.plan(studies.read(tmp_path / "small"))
    found = warmups.judge(plan, workers=2)
    assert 1 < len(found) <= warmups.CELLS
    assert all(w.chosen_s == 0 for w in found.values())
    assert set(found) <= {f"{e.id}, {e.titled(cell)}" for e in plan.study.experiments for cell in e.cells}
    short = {where: w for where, w in found.items() if w.short}
    (sentence,) = warmups.warnings(found)
    assert sentence.startswith(max(short, key=lambda name: short[name].excess))
    assert f"({len(short)} of {len(found)} cells that were looked at are too short)" in sentence
    assert warmups.judge(plan, workers=1) == found
    # A quick run is looked at as a full one, with as many seeds.
    monkeypatch.undo()
    quick = warmups.judge(studies.plan(plan.study.as_quick()), workers=2)
    assert len(quick) == warmups.FEWEST
    assert any(w.short for w in quick.values())
    assert warmups.warnings({}) == []
    assert warmups.warnings({"a": Window(1.0, 3.0, 5)}) == []


def test_the_warning_stands_in_every_form(small: Study, ran: Any) -> None:
    outcome, results = ran
    judged = Window(1.0, 3.0, 5, (Reason("parts", "the queue", 0.25),), 2.5, 5.0)
    outcome = replace(outcome, warmups={"A-1, RED": judged})
    sentence = (
        "A-1, RED: the window from 1 s to 3 s is too short: the mean of the queue differs by 25 % between its parts; "
        'try warmup = "2.5 s" and duration = "5 s"'
    )
    assert folders.document(outcome, results, "0")["warnings"] == [sentence]
    assert folders.document(outcome, results, "0")["warmup"][0]["short"] is True
    printed = " ".join(texts.study_text(outcome, results).split())
    assert printed.endswith(f"warning: {sentence}")
    assert "warning:" not in texts.study_text(*ran)
