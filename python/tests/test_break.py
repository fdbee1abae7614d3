"""`break`: spaces, regrets, and that only what holds on fresh seeds is a finding."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import blocks
import break_catalogue
import earlydrop as ed
import earlydrop._core as _core
from earlydrop import breaking, cli, known_failures, sweeps
from earlydrop.breaking import attacks, known, search, written
from earlydrop.breaking.objectives import ObjectiveError
from earlydrop.store import Store
from earlydrop.store.files import Memory

pytest.importorskip("optuna")

SPACE = """\
name = "small"
duration = "12 s"
warmup = "2 s"

[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "1 Gbit/s", delay = { log = ["1 ms", "10 ms"] } }
bottleneck = { rate = { log = ["4 Mbit/s", "9 Mbit/s"] }, delay = "1 ms" }

[queue.bottleneck]
aqm = "codel"

[[traffic]]
name = "downloads"
kind = "ftp"
count = { whole = [8, 16] }
start = { uniform = ["0 s", "1 s"] }

[[traffic]]
optional = true
name = "calls"
kind = "cbr"
rate = "64 kbit/s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SPACE, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_TRIES", 25)


def runs(problem: search.Problem, workers: int = 2) -> search.Runs:
    return search.Runs(problem, Store(Memory()), sweeps.Threads(None, workers))


def problem(file: Path, aqm: str, *against: str, by: str = "delay") -> search.Problem:
    return breaking.problem(file, aqm, against, breaking.objective([by]))


# ---- spaces --------------------------------------------------------------------------------------------------------


def test_a_point_of_a_space_is_a_scenario(file: Path) -> None:
    space = breaking.read(file)
    assert [one.path for one in space.draws] == [
        "topology.access.delay",
        "topology.bottleneck.rate",
        "traffic.0.count",
        "traffic.1",
    ]
    middle = space.document([0.5] * 4)
    assert middle["topology"]["access"]["delay"] == "3.16 ms"
    assert middle["topology"]["bottleneck"]["rate"] == "6 Mbit/s"
    assert middle["traffic"][0]["count"] == 12
    assert [one["name"] for one in middle["traffic"]] == ["downloads", "calls"]
    assert [one["name"] for one in space.document([0.5, 0.5, 0.5, 0.4])["traffic"]] == ["downloads"]
    # What is no range of ours stays: a distribution of the scenario.
    assert middle["traffic"][0]["start"] == {"uniform": ["0 s", "1 s"]}


@pytest.mark.parametrize("name", attacks.SHIPPED)
def test_every_point_of_a_shipped_space_can_be_run(name: str) -> None:
    space = breaking.read(attacks.shipped(Path(name)))
    draw = Random(7)
    corners = [[u] * len(space.draws) for u in (0.0, 1 - 2**-53)]
    for point in [*corners, *([draw.random() for _ in space.draws] for _ in range(200))]:
        _core.Scenario.parse({**space.document(point), "seed": 1}, [])


def test_the_shapes_of_a_rate() -> None:
    def rate(shape: str, **more: Any) -> Any:
        varied = {"shape": shape, "top": "10 Mbit/s", "low": 0.25, "period": "4 s", **more}
        space = breaking.space({"topology": {"bottleneck": {"rate": varied, "delay": {"log": ["1 ms", "2 ms"]}}}})
        return space.document([0.0] * len(space.draws))["topology"]["bottleneck"]["rate"]

    assert rate("steady") == "10 Mbit/s"
    assert rate("square") == {"schedule": [["0 s", "10 Mbit/s"], ["2 s", "2.5 Mbit/s"]], "repeat": "4 s"}
    assert rate("outage") == {"schedule": [["0 s", "10 Mbit/s"], ["3.2 s", "0 Mbit/s"]], "repeat": "4 s"}
    falling = [float(text.split(" ")[0]) for _, text in rate("saw")["schedule"]]
    assert falling[0] == 10
    assert falling[-1] == 2.5
    assert falling == sorted(falling, reverse=True)
    walks = [[float(text.split(" ")[0]) for _, text in rate("walk", seed=k)["schedule"]] for k in range(40)]
    assert all(2.5 <= one <= 10 for walk in walks for one in walk)
    assert len({tuple(walk) for walk in walks}) == 40
    assert min(map(min, walks)) < 3.5
    assert max(map(max, walks)) > 8


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{ log = ["0 ms", "10 ms"] }', "topology.access.delay.log: given"),
        ('{ log = ["20 ms", "10 ms"] }', "a lower end up to the higher one"),
        ('{ log = ["1 ms", "1 Mbit/s"] }', "two ends of one kind"),
        ('{ log = ["1 ms"] }', "a list of two ends"),
        ("{ whole = [1, 2.5] }", "two whole numbers"),
        ("{ choice = [] }", "a list of 1 to 100 values"),
        ("{ optional = true }", "given optional alone"),
        ('{ optional = false, log = ["1 ms", "2 ms"] }', "allowed true beside other keys"),
        ("{ log = [1, nan] }", "numbers, or texts with a unit"),
    ],
)
def test_a_wrong_range_is_refused_with_its_place(file: Path, line: str, said: str) -> None:
    file.write_text(SPACE.replace('{ log = ["1 ms", "10 ms"] }', line), encoding="utf-8")
    with pytest.raises(breaking.SpaceError, match=r"small\.toml: topology\.access\.delay") as raised:
        breaking.read(file)
    assert said in str(raised.value)


def test_the_rate_grammar_names_what_is_wrong() -> None:
    good = {"shape": ["walk"], "top": "10 Mbit/s", "low": 0.25, "period": "4 s"}
    for key, value, allowed in (
        ("shape", ["sine"], "steady, square, saw, outage, walk"),
        ("top", 5, "a rate such as"),
        ("low", 0, "above 0 and up to 1"),
        ("period", "4 Mbit/s", "a time such as"),
        ("seed", 0.5, "a whole number"),
        ("hight", 1, "unknown key"),
    ):
        with pytest.raises(breaking.SpaceError, match=rf"rate\.{key}") as raised:
            breaking.space({"topology": {"bottleneck": {"rate": {**good, key: value}}}})
        assert allowed in str(raised.value)


# ---- objectives ----------------------------------------------------------------------------------------------------

SCENARIO = {
    "topology": {"pairs": 2},
    "traffic": [{"kind": "ftp", "name": "a", "count": 3}, {"kind": "ftp", "name": "b", "pairs": [1]}],
}
RESULT = {
    "duration_s": 30.0,
    "warmup_s": 10.0,
    "queues": {"bottleneck": {"utilisation": 0.875, "delay_mean_ms": 20.0, "delay_p99_ms": 4.0}},
    "flows": [{"goodput_mbps": g} for g in (4.0, 2.0, 1.0, 1.0)],
    "traffic": [
        {"kind": "media", "name": "a", "flows": 2, "freeze_s": 1.0},
        {"kind": "requests", "name": "b", "transfers": {"slowdown_p95": 8.0}},
    ],
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("utilisation", 0.875),
        ("delay", -2.0),
        ("delay_p99", 0.0),
        ("fairness", 64 / (4 * 22)),
        ("fairness:a", 49 / (3 * 21)),
        # Hosts 1 and 2 have flows 1, 3 and 4 (entry b names its pair), and 2.
        ("fairness:hosts", 64 / (2 * (36 + 4))),
        ("starvation", 0.5),
        ("calls", -1.0 / 40),
        ("short", -3.0),
    ],
)
def test_an_objective_is_what_its_table_says(text: str, wanted: float) -> None:
    assert breaking.objective([text]).value(RESULT, SCENARIO, "bottleneck") == pytest.approx(wanted)


def test_weights_add_objectives_in_units_of_their_deltas() -> None:
    both = breaking.objective(["2*delay", "utilisation"])
    assert both.value(RESULT, SCENARIO, "bottleneck") == pytest.approx((2 * -2.0 / 0.5 + 0.875 / 0.1) / 3)
    assert both.delta == 1.0
    assert both.name == "2*delay utilisation"


@pytest.mark.parametrize("text", ["speed", "0*delay", "delay:downloads", "calls:hosts", ""])
def test_another_objective_is_refused(text: str) -> None:
    with pytest.raises(ObjectiveError, match="--objective"):
        breaking.objective([text])


def test_a_space_must_have_what_is_measured(file: Path) -> None:
    for text, said in (("calls", "no call"), ("fairness:calls", "downloads"), ("short", "no finite transfers")):
        with pytest.raises(ObjectiveError, match=said):
            problem(file, "codel", "pie", by=text)
    with pytest.raises(ObjectiveError, match="needs --against"):
        problem(file, "codel", by="fairness")


# ---- findings ------------------------------------------------------------------------------------------------------


def test_seventeen_of_twenty_seeds_are_a_finding_and_sixteen_none() -> None:
    def held(above: int) -> search.Held:
        return search.Held((0.0,) * 20, (0.6,) * above + (0.4,) * (20 - above), 0.5)

    assert held(17).holds
    assert not held(16).holds
    chance = sum(math.comb(20, k) for k in range(search.HOLDING, 21)) / 2**20
    assert chance == pytest.approx(0.0013, rel=0.01)
    assert search.BEST * chance < 0.007


def test_the_smaller_regret_of_the_two_seeds_counts_and_the_rival_is_the_better_in_the_mean() -> None:
    one = search.Tried(0, (), ((-3.0, -2.0), (-1.0, -1.0), (0.0, -3.0)))
    assert one.rival == 0
    assert one.regrets == (2.0, 1.0)
    assert one.score == 1.0
    assert replace(one, values=((-3.0, None), (-1.0, -1.0))).score is None


def test_a_deep_buffer_is_found_confirmed_and_made_small(file: Path) -> None:
    asked = problem(file, "droptail limit=60p", "codel")
    found = breaking.attack(asked, runs(asked), budget=80)
    assert len(found.ledger) == 20
    assert found.above == 20
    assert found.findings
    first = found.findings[0]
    assert first.held.holds
    assert first.longer.holds
    assert not first.held.short
    # The calls are not needed, nor is more than the smallest number of flows, or an odd number.
    small = found.scenario(first)
    assert [one["name"] for one in small["traffic"]] == ["downloads"]
    assert small["traffic"][0]["count"] == 8
    text = written.compact(small)
    assert len(text.splitlines()) <= 15
    assert "With DropTail" in found.sentence(first) or "With droptail" in found.sentence(first)
    # The scenario does in `compare` what the sentence says.
    other = ed.compare(small, ["droptail limit=60p", "codel"], seeds=20, seed=search.LAST_SEEDS, progress=False)
    deep, codel = (other.document["cells"][name]["queue_delay"]["mean"] for name in other.aqms)
    assert 2**0.5 * max(codel, 5) < deep
    # Of the same length it is what the search has measured.
    assert float(np.median(first.held.mine)) == pytest.approx(-math.log2(deep / 5), abs=0.1)


def test_the_same_seed_gives_the_same_findings_for_any_number_of_workers(file: Path) -> None:
    asked = problem(file, "codel interval=1s", "codel", by="delay_p99")
    first, second = (
        json.dumps(breaking.attack(asked, runs(asked, workers), budget=40).document("")) for workers in (1, 3)
    )
    assert first == second


def test_equal_queues_with_unlike_seeds_are_no_finding(file: Path) -> None:
    asked = problem(file, "codel", "pie")
    equal = replace(asked, rivals=(replace(asked.attacked, first_seed=1_000_000),))
    found = breaking.attack(equal, runs(equal), budget=80)
    assert not found.findings
    if found.bound is not None:
        assert f"Less than {100 * found.bound:.2g} %" in written.found_text(found)


def test_without_a_rival_there_are_bars(file: Path) -> None:
    asked = problem(file, "droptail limit=60p")
    tried = search.search(asked, runs(asked), 8)
    # Three times 5 ms, as DropTail declares no target.
    assert all(one.bars == (-math.log2(3),) * 2 for one in tried)
    assert all(one.score is not None and one.score > 0 for one in tried)
    target = problem(file, "codel target=20ms")
    assert search.search(target, runs(target), 2)[0].bars[0] == pytest.approx(-math.log2(12))


def test_a_congestion_control_is_attacked(file: Path) -> None:
    asked = breaking.problem(
        file, None, ["cubic stack=linux-6.18"], breaking.objective(["delay"]), tcp="bbr stack=linux-6.18"
    )
    laid = asked.attacked.laid({"traffic": [{"tcp": "reno"}, {"kind": "cbr"}]}, "bottleneck", {})
    assert laid["traffic"] == [{"tcp": "bbr", "stack": "linux-6.18"}, {"kind": "cbr"}]
    with pytest.raises(breaking.BreakError, match="window"):
        breaking.problem(file, None, [], breaking.objective(["delay"]), tcp="bbr window=7")


def test_a_scenario_whose_window_is_too_short_gets_the_one_that_is_needed(tmp_path: Path) -> None:
    # The queue of this slow CoDel swings for seconds, and its start-up outlasts two.
    file = tmp_path / "slow.toml"
    few = SPACE.replace("whole = [8, 16]", "whole = [2, 3]").replace('duration = "12 s"', 'duration = "8 s"')
    file.write_text(few, encoding="utf-8")
    asked = problem(file, "codel interval=1s", "codel")
    ledger = search.search(asked, runs(asked), 40)
    seen = [search.examined(asked, runs(asked), one) for one in search.ranked(ledger, asked.delta)[: search.BEST]]
    wider = [one for one in seen if one.window is not None]
    assert wider
    for one in wider:
        assert one.window is not None
        assert 2 <= one.window[0] < one.window[1]
        assert 8 < one.window[1] <= search.MOST_LONGER * 8
        scenario = one.scenario(asked.space)
        assert (scenario["warmup"], scenario["duration"]) == (f"{one.window[0]:g} s", f"{one.window[1]:g} s")
        assert search.longer(scenario)["duration"] == f"{3 * one.window[1]:g} s"
    # What is said of one that is no finding is said of the new window.
    assert all(one.reason.startswith(("over ", "at 3 times")) for one in wider if one.reason)


# ---- the catalogue -------------------------------------------------------------------------------------------------


def failure(aqm: str, against: str) -> known_failures.Cell:
    space = breaking.space(tomllib.loads(SPACE))
    text = written.compact({**space.document([0.5] * len(space.draws)), "queue": {"bottleneck": {"aqm": aqm}}})
    found = known_failures.Failure(against, 1.5, 20, 20, small=False, sentence="It fails.", scenario=text)
    return known_failures.Cell(aqm, "small", "delay", 80, 20, 0.5, 20, found)


def test_the_catalogue_is_read_as_it_is_written(tmp_path: Path) -> None:
    cells = (failure("droptail", "codel"), replace(failure("pie", "codel"), failure=None))
    known_failures.write(tmp_path / "known.json", cells)
    assert known_failures.read(tmp_path / "known.json") == cells
    assert [one.weight for one in cells] == [3.0, 0.0]


def test_a_known_failure_stands_on_new_seeds_or_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # CoDel keeps its queue shorter than DropTail, and not the other way round.
    cells = (failure("droptail", "codel"), failure("codel", "droptail"))
    monkeypatch.setattr(known_failures, "cells", lambda: cells)
    assert cli.main(["break", "--known", "--aqm", "DropTail"]) == 0
    assert "20 of 20, 20 at 3 times the length" in capsys.readouterr().out
    assert cli.main(["break", "--known", "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)["known"]
    assert (first["holds"], second["holds"]) == (True, False)
    assert first["median_regret"] > 0.5 > second["median_regret"]
    assert cli.main(["break", "--known", "--aqm", "pie"]) == 2
    assert "droptail, codel" in capsys.readouterr().err
    assert cli.main(["break", "home", "--known"]) == 2
    assert "--known: allowed beside it" in capsys.readouterr().err


def test_show_tells_the_worst_known_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slight = failure("codel", "pie")
    assert slight.failure is not None
    worse = replace(slight, failure=replace(slight.failure, regret=2.0, sentence="It fails worse."))
    monkeypatch.setattr(known_failures, "cells", lambda: (slight, worse, failure("pie", "codel")))
    assert cli.main(["show", "codel"]) == 0
    said = capsys.readouterr().out
    assert "It fails worse." in said
    assert 'aqm = "codel"' in said
    assert cli.main(["show", "rem"]) == 0
    assert "known failure" not in capsys.readouterr().out


def test_the_catalogue_holds_its_own_rules() -> None:
    for one in known_failures.cells():
        if one.failure is None:
            continue
        assert one.failure.above >= search.HOLDING
        assert one.failure.longer >= search.HOLDING
        assert one.failure.regret > one.delta == breaking.objective([one.objective]).delta
        assert not one.failure.small or len(one.failure.scenario.splitlines()) <= 15
        assert known.problem(one).attacked.title


def test_the_page_of_known_failures_follows_from_the_catalogue() -> None:
    cells = known_failures.cells()
    assert break_catalogue.matrix(cells) in break_catalogue.PAGE.read_text(encoding="utf-8")
    assert not blocks.is_stale(break_catalogue.ROOT / "docs/data/failures.csv", break_catalogue.told(cells))


# ---- the command ---------------------------------------------------------------------------------------------------


def test_the_command_writes_scenarios_figures_and_all_that_was_tried(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    line = ["break", str(file), "--aqm", "droptail limit=60p", "--against", "codel", "--objective", "delay"]
    assert cli.main([*line, "--runs", "40", "--out", str(out)]) == 0
    assert "fresh seeds" in capsys.readouterr().out
    document = json.loads((out / "break.json").read_text())
    assert document["findings"][0]["small"]["above"] >= 17
    assert (out / "finding-1.png").stat().st_size > 10_000
    _core.Scenario.load(str(out / "finding-1.toml"), [])
    with (out / "ledger.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 10
    assert set(rows[0]) >= {"number", "traffic.0.count"}
    assert float(rows[0]["J of droptail limit=60p, seed 1"]) < float(rows[0]["J of CoDel, seed 1"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--aqm", "codel", "--tcp", "bbr", "--objective", "delay"], "--aqm, --tcp"),
        (["--objective", "delay"], "--aqm, --tcp"),
        (["--aqm", "codel", "--against", "codel", "--objective", "delay"], "is what is attacked"),
        (["--aqm", "nothing", "--objective", "delay"], "nothing"),
        (["--aqm", "codel", "--objective", "delay", "--runs", "0"], "--runs"),
        (["--aqm", "codel limit=0", "--objective", "delay"], "limit"),
    ],
)
def test_wrong_options_are_refused(
    file: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["break", str(file), *options]) == 2
    assert said in capsys.readouterr().err
