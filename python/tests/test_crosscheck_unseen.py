"""The second grid of crosschecks: what it consists of, that its measurement goes on, and its agreement."""

from __future__ import annotations

import csv
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bulk
import campaign
import crosscheck_agreement
import crosscheck_grid
import crosscheck_unseen
import pytest
from crosscheck_agreement import Agreement
from crosscheck_grid import Measured, Simulated
from crosscheck_unseen import Cell


def test_every_level_occurs_as_often_with_every_control() -> None:
    every = crosscheck_unseen.cells()
    assert len(every) == len(set(every)) == 107
    alone = [cell for cell in every if "+" not in cell.control and not cell.path]
    assert len(alone) == 63
    for control in crosscheck_grid.CONTROLS:
        of = [cell for cell in alone if cell.control == control]
        assert set(Counter(cell.queue for cell in of).values()) == {3}
        assert Counter(cell.rtt for cell in of) == {5: 7, 40: 7, 200: 7}
        assert Counter(cell.flows for cell in of) == {1: 7, 8: 7, 64: 7}
        assert Counter(cell.rate >= 100 for cell in of) == {False: 14, True: 7}
    # Combinations of rate (the two highest count as one), round-trip time and flows.
    levels = Counter((min(cell.rate, 100), cell.rtt, cell.flows) for cell in alone)
    assert (len(levels), min(levels.values()), max(levels.values())) == (27, 2, 3)
    assert not {str(cell) for cell in every} & {str(cell) for cell in crosscheck_grid.cells()}
    assert len(crosscheck_unseen.cells("loss$|reordering$")) == 12
    assert len(crosscheck_unseen.cells(r"^cubic\+bbr")) == 4
    both = crosscheck_unseen.cells("both ways$")
    assert {(cell.control, cell.queue, cell.flows) for cell in both} == {
        (control, queue, flows)
        for control in crosscheck_grid.CONTROLS
        for queue in crosscheck_unseen.BOTH_QUEUES
        for flows in (1, 8)
    }
    assert set(Counter((cell.rate, cell.rtt) for cell in both).values()) == {6}


def test_a_cell_of_two_controls_has_both_with_half_of_the_flows() -> None:
    cell = Cell("reno+cubic", "pie", 50, 40, 8)
    document = json.loads(cell.scenario().to_json())
    assert [(one["tcp"], one["count"], one["window"]) for one in document["traffic"]] == [
        ("reno", 4, 20000),
        ("cubic", 4, 20000),
    ]
    (alone,) = crosscheck_grid.simulate([replace(cell, control="cubic")], seeds=1)
    (found,) = crosscheck_grid.simulate([cell], seeds=2)
    assert alone.share == 0
    assert 0.3 < found.share < 0.7
    assert found.share_sd > 0


def test_data_both_ways_have_a_queue_each_way_and_one_connection() -> None:
    (cell,) = crosscheck_unseen.cells("^cubic, pie, .*8 flows, both ways")
    document = json.loads(cell.scenario().to_json())
    assert document["queue"]["reverse"] == document["queue"]["bottleneck"]
    up, down = document["traffic"]
    assert (down["reverse_of"], down["count"]) == (up["name"], 8)
    for key in ("tcp", "window", "rules"):
        assert down[key] == up[key]


def test_impairments_and_ecn_are_of_the_cells_that_say_so() -> None:
    def document(cell: Cell) -> tuple[dict[str, object], dict[str, object], dict[str, object]]:
        found = json.loads(cell.scenario().to_json())
        return found["topology"]["bottleneck"], found["topology"]["reverse"], found["traffic"][0]

    there, back, traffic = document(Cell("bbr", "droptail", 20, 40, 8, "loss"))
    assert there["loss"] == {"probability": 0.01}
    assert "loss" not in back
    assert traffic["ecn"] is False
    there, _, _ = document(Cell("bbr", "droptail", 20, 40, 8, "reordering"))
    assert there["reorder"] == {"probability": 0.01, "delay": "0.005 s"}
    ecn = [document(Cell(control, "dualpi2", 50, 40, 8))[2]["ecn"] for control in crosscheck_grid.CONTROLS]
    assert ecn == [True, True, False]
    assert ("net.ipv4.tcp_ecn", "1") in Cell("reno", "dualpi2", 50, 40, 8).plan(1, False)[0].sysctls


def test_links_run_beside_each_other_as_far_as_they_carry_little_together() -> None:
    changed, at_once, seen = threading.Condition(), Counter[int](), list[Counter[int]]()

    def work(item: tuple[int, int], number: int, stop: Callable[[], bool]) -> int:
        rate = item[0]
        with changed:
            at_once[rate] += 1
            seen.append(+at_once)
            changed.notify_all()
            # Until as many have been there together as may be: three, or two that carry much.
            if rate < 200:
                changed.wait_for(lambda: any(one[100] == 2 if rate == 100 else one.total() == 3 for one in seen), 60)
            at_once[rate] -= 1
        return number

    wanted = [(rate, k) for rate in (1, 100, 200) for k in range(4)]
    came = list[tuple[int, int]]()
    found = campaign.run(wanted, work, lambda item: (item[0], 1.0), jobs=3, came=lambda item, one: came.append(item))
    assert found == {item: k for k, item in enumerate(wanted)}
    assert sorted(came) == wanted
    assert seen[0] == {200: 1}, "the most data first"
    loads = [sum(rate * count for rate, count in one.items()) for one in seen]
    assert max(loads) <= campaign.CARRIED
    assert max(sum(one.values()) for one in seen) == 3
    assert Counter({100: 2}) in [Counter({rate: n for rate, n in one.items() if rate > 1}) for one in seen]


def test_a_failure_ends_the_others() -> None:
    given_up = list[int]()
    begun = threading.Event()

    def work(item: int, number: int, stop: Callable[[], bool]) -> int:
        if item == 1:
            begun.wait(60)
            raise ValueError("no link")
        begun.set()
        while not stop():
            time.sleep(0.001)
        given_up.append(item)
        return item

    with pytest.raises(ValueError, match="no link"):
        campaign.run([0, 1, 2], work, lambda item: (1.0, 1.0), jobs=2)
    assert given_up == [0]


def test_a_late_run_is_repeated_and_the_most_punctual_one_counts() -> None:
    for times, wanted, runs in (([90.0], 90.0, 1), ([900.0, 200.0], 200.0, 2), ([900.0, 800.0, 850.0], 800.0, 3)):
        left = list(times)
        assert campaign.most_punctual(lambda left=left: left.pop(0), lambda one: one, True) == wanted
        assert len(times) - len(left) == runs
    assert campaign.most_punctual(lambda: 900.0, lambda one: one, False) == 900.0


def test_a_measurement_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, about = tmp_path / "cells.csv", {"kernel": "Linux 1.2.3"}
    cells = crosscheck_unseen.cells("^reno, pie")
    ran = list[str]()

    def measure(self: Cell, seed: int, *, port: int, real_time: bool, stop: Callable[[], bool]) -> Measured:
        ran.append(str(self))
        if len(ran) == 2:
            raise KeyboardInterrupt
        return Measured(self, 1.0, 2.0, 3.0, 4.0, 5.0, 0.25, 50.0, share=0.5)

    monkeypatch.setattr(Cell, "measure", measure)
    store = campaign.Store(table, about)
    with (
        pytest.raises(KeyboardInterrupt, match=r"1 results are in .*cells.csv.part; the same command"),
        store.going_on(),
    ):
        crosscheck_grid.measure(cells, jobs=1, real_time=False, store=store)
    part = tmp_path / "cells.csv.part"
    # A line that was being written.
    part.write_text(part.read_text(encoding="utf-8") + '["reno, d', encoding="utf-8")
    first = ran[0]
    ran[:] = ["", ""]
    store = campaign.Store(table, about)
    assert len(store) == 1
    found = crosscheck_grid.measure(cells, jobs=1, real_time=False, store=store)
    assert sorted([first, *ran[2:]]) == sorted(map(str, cells))
    assert [one.cell for one in found] == cells
    assert len(campaign.Store(table, {"kernel": "Linux 1.2.4"})) == 0, "another kernel begins anew"
    store.close()
    assert not part.exists()
    crosscheck_grid.write(table, found, about)
    assert crosscheck_grid.read(table, Cell) == (found, about)
    assert "mark_rate" not in table.read_text(encoding="utf-8"), "no link marks"


def test_groups_are_counted_apart_and_together() -> None:
    both = Cell("cubic+bbr", "red", 50, 5, 8)
    real = Measured(both, 50.0, 45.0, 10.0, 5.0, 9.0, 0.1, 40.0, share=0.2)
    ours = Simulated(50.0, 45.0, 10.0, 5.0, 9.0, 0.1, share=0.26)
    lossy = replace(real, cell=Cell("bbr", "droptail", 20, 40, 8, "loss"), throughput_mbps=60.0, share=0.0)
    found = [Agreement(real, ours), Agreement(lossy, replace(ours, share=0.0))]
    assert [one.share for one in found] == [False, True]
    assert crosscheck_agreement.summary(found) == [
        ["cubic+bbr", "1", "1", "1", "1", "0"],
        ["bbr, loss", "1", "0", "1", "0", "0"],
        ["all", "2", "1 (50 %)", "2 (100 %)", "1 (50 %)", "0"],
    ]
    head, (mixed, alone) = crosscheck_agreement.rows(found)
    assert head[-3:] == ["share of the first (%)", "simulator", "difference"]
    assert "mark rate (%)" not in head
    assert mixed[-3:] == ["20.0", "26.0", "+6.0 points *"]
    assert alone[-3:] == ["", "", ""]
    likely = Agreement(real, replace(ours, share_sd=0.04))
    assert crosscheck_agreement.rows([likely])[1][0][-1] == "+6.0 points~", "chance is that of the share"
    assert alone[8] == "-16.7 % *"


def test_the_flows_of_a_control_are_known_by_their_port() -> None:
    flows = [
        {"destination": {"address": "100.64.0.1", "port": port}, "throughput_mbps": rate}
        for port, rate in ((5301, 2.0), (5302, 3.0), (5301, 1.5))
    ]
    document = {"flows": [*flows, {"destination": None, "throughput_mbps": 9.0}]}
    assert [bulk.throughput(document, port) for port in (5301, 5302, 5303)] == [3.5, 3.0, 0.0]


ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "unseen.csv"
TOLD = r"^\| ([^|]+) \| (\d+) \| (\d+[^|]*) \| (\d+[^|]*) \| (\d+[^|]*) \| \d+ \|$"


def test_the_simulator_agrees_with_the_stored_links() -> None:
    stored = crosscheck_grid.means(crosscheck_grid.read(STORED, Cell)[0])
    assert [one[0].cell for one in stored] == crosscheck_unseen.cells()
    # The slow links and the impaired ones: seconds. `validation/renew.sh unseen` compares all.
    wanted = set(crosscheck_unseen.cells(r", 1 Mbit/s|loss$|reordering$"))
    real = [one for one in stored if one[0].cell in wanted]
    assert len(real) == 33
    found = crosscheck_agreement.compare(real, crosscheck_grid.simulate([mean.cell for mean, _ in real], seeds=1))
    outside = [str(one.real.cell) for one in found if not one.holds]
    assert len(outside) <= 5, outside
    # The check can fail.
    without = crosscheck_grid.simulate([real[0][0].cell], seeds=1, changes={"rules.initial_window": 1, "window": 8})
    assert not crosscheck_agreement.compare(real[:1], without)[0].holds


@pytest.mark.parametrize("name", ["crosscheck-cells", "crosscheck-unseen"])
def test_the_page_counts_what_its_data_say(name: str) -> None:
    page = (ROOT / "docs" / "lab-notes" / f"{name}.md").read_text(encoding="utf-8")
    with (ROOT / "docs" / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    told = {row[0]: [int(n.split()[0]) for n in row[1:]] for row in re.findall(TOLD, page, re.MULTILINE)}
    assert len(told) >= 4
    for group, counts in told.items():
        own = [cell for cell in cells if group in (cell["control"], "all")]
        agree = [
            [not re.search(r"[*~]$", cell[f"{measure}, difference"]) for cell in own]
            for measure in ("throughput (Mbit/s)", "mean queue (packets)")
        ]
        assert counts == [len(own), *map(sum, agree), sum(map(all, zip(*agree, strict=True)))], group


def test_the_pages_tell_the_same_agreement() -> None:
    cells = (ROOT / "docs" / "lab-notes" / "crosscheck-unseen.md").read_text(encoding="utf-8")
    (total,) = [line for line in cells.splitlines() if line.startswith("| all |")]
    number, throughput, queue = total.split(" | ")[1:4]
    text = (ROOT / "docs" / "crosscheck.md").read_text(encoding="utf-8")
    assert f"| together | {number} | {throughput} | {queue} | |" in text
