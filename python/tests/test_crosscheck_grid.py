"""The grid of cross-checks: its table, its comparison, and that the simulator still agrees with the stored figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import campaign
import compare_grid
import crosscheck_agreement
import crosscheck_grid
import pytest
from crosscheck_agreement import Agreement
from crosscheck_grid import Cell, Measured, Simulated

from earlydrop.cli import main
from earlydrop.links import crosscheck

STORED = Path(__file__).parents[2] / "validation" / "reference" / "crosscheck" / "links.csv"

REAL = Measured(Cell("reno", "red", 20, 20, 8), 19.5, 12.0, 6.0, 7.2, 20.0, 0.01, 55.0)
SAME = Simulated(19.5, 12.0, 6.0, 7.2, 20.0, 0.01)


def test_the_grid_is_every_combination() -> None:
    every = crosscheck_grid.cells()
    assert len(every) == len(set(every)) == 120
    assert str(every[0]) == "reno, droptail, 5 Mbit/s, 20 ms, 1 flow"
    assert len(crosscheck_grid.cells("^cubic, (red|pie), 20 Mbit/s, 20 ms, 8 flows")) == 2


@pytest.mark.parametrize("control", crosscheck_grid.CONTROLS)
def test_a_cell_is_a_scenario_of_linux_senders(control: str) -> None:
    cell = Cell(control, "fq_codel", 5, 80, 8)
    document = json.loads(cell.scenario().to_json())
    traffic = document["traffic"][0]
    assert (traffic["tcp"], traffic["count"], traffic["segment"]) == (control, 8, "1448 B")
    assert traffic["rules"]["ssthresh"] == "cwnd"
    assert document["queue"]["bottleneck"]["aqm"] == "fq_codel"
    changed = json.loads(cell.scenario({"rules.ssthresh": "flight"}).to_json())
    assert changed["traffic"][0]["rules"]["ssthresh"] == "flight"
    assert traffic["rules"]["late_sack"] == "compressed"
    assert json.loads(cell.scenario(seed=7).to_json())["seed"] == 7
    without = json.loads(cell.scenario({"rules.late_sack": "at_once"}).to_json())["traffic"][0]["rules"]
    assert without == traffic["rules"] | {"late_sack": "at_once"}, "one rule alone"


def test_bounds_are_those_of_the_page() -> None:
    def agreement(**other: float) -> Agreement:
        return Agreement(REAL, replace(SAME, **other))

    assert agreement().holds
    assert agreement(throughput_mbps=19.5 * 1.029).throughput
    assert not agreement(throughput_mbps=19.5 * 0.969).throughput
    assert agreement(queue_mean_packets=12 * 1.149).queue
    assert not agreement(queue_mean_packets=12 * 0.849).queue
    assert not agreement(queue_mean_packets=12 * 0.849).holds
    small = Agreement(replace(REAL, queue_mean_packets=1.0), replace(SAME, queue_mean_packets=1.49))
    assert small.queue, "half a packet is no difference"
    assert agreement(drop_rate=0.02).relative("drop_rate") == pytest.approx(1.0)
    assert Agreement(replace(REAL, drop_rate=0.0), SAME).relative("drop_rate") == float("inf")


def test_a_cell_of_several_links_counts_by_their_mean() -> None:
    other = replace(REAL, cell=replace(REAL.cell, queue="pie"))
    runs = [REAL, replace(REAL, throughput_mbps=19.0, queue_mean_packets=14.0), other]
    (mean, links), alone = crosscheck_grid.means(runs)
    assert (mean.throughput_mbps, mean.queue_mean_packets, mean.drop_rate, links) == (19.25, 13.0, 0.01, 2)
    assert alone == (other, 1)
    # Four links may be half as far from the simulator by chance as one.
    ours = replace(SAME, throughput_mbps=18.0, throughput_sd=1.0, queue_sd=1.0)
    assert Agreement(REAL, ours, 1).chance
    assert not Agreement(REAL, ours, 4).chance
    assert Agreement(REAL, replace(ours, throughput_mbps=18.6), 4).chance


def test_the_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "links.csv"
    crosscheck_grid.write(path, [REAL], {"kernel": "Linux 1.2.3: a", "window": "0 s"})
    runs, about = crosscheck_grid.read(path)
    assert runs == [REAL]
    assert about == {"kernel": "Linux 1.2.3: a", "window": "0 s"}
    path.write_text("control,queue\nreno,red\n", encoding="utf-8")
    with pytest.raises(crosscheck.CrosscheckError, match="is no table of a grid"):
        crosscheck_grid.read(path)


def test_a_page_gets_the_tables_where_it_wants_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", encoding="utf-8")
    campaign.put(page, "x", campaign.markdown(["h"], [["1"]]))
    assert page.read_text(encoding="utf-8") == "a\n<!-- begin x -->\n\n| h |\n| --- |\n| 1 |\n\n<!-- end x -->\nb\n"
    with pytest.raises(crosscheck.CrosscheckError, match="has no place for y"):
        campaign.put(page, "y", "")


def test_a_long_table_is_data_beside_the_page(tmp_path: Path) -> None:
    head = ["queue", "rate", "simulator", "delay", "simulator"]
    link = campaign.data(tmp_path / "lab-notes" / "cells.md", head, [["red", "1", "2", "3,5", "4"]])
    assert link == "[data/cells.csv](../data/cells.csv)"
    assert campaign.data(tmp_path / "page.md", ["a"], [["1"]], "more") == "[data/more.csv](data/more.csv)"
    assert (tmp_path / "data" / "more.csv").read_text(encoding="utf-8") == "a\n1\n"
    text = (tmp_path / "data" / "cells.csv").read_text(encoding="utf-8")
    assert text == 'queue,rate,"rate, simulator",delay,"delay, simulator"\nred,1,2,"3,5",4\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", "--cells", "all"], "--cells"),
        (["", "--jobs", "0"], "--jobs"),
        (["", "--runs", "0"], "--runs"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        compare_grid.main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pattern", "message"), [("loss", "no cell has 'loss'"), ("vegas", "no cell has 'vegas'"), ("(", "unterminated")]
)
def test_a_pattern_without_cells_is_refused(pattern: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_grid.main([pattern]) == 2
    assert message in capsys.readouterr().err


def test_the_command_compares_a_scenario_or_a_flent_run(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([], ["x.toml", "--flent", "y"]):
        assert main(["crosscheck", *given]) == 2
        said = "SCENARIO and --flent" if given else "none"
        assert f"SCENARIO or --flent: given {said}; allowed one of them" in capsys.readouterr().err


def test_a_stored_table_is_compared_without_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = "^reno, droptail, 5 Mbit/s, 20 ms, 1 flow"
    arguments = [cell, "--stored", str(STORED), "--seeds", "1"]
    assert compare_grid.main(arguments) == 0
    assert "reno     droptail" in capsys.readouterr().out
    assert (
        compare_grid.main([*arguments, "--json", "--set", "rules.initial_window=2", "--set", "rules.hystart=classic"])
        == 0
    )
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [one["link"]["queue"] for one in found["cells"]] == ["droptail"]
    assert found["about"]["kernel"].startswith("Linux ")
    assert compare_grid.main([*arguments, "--set", "rules.ssthresh=half"]) == 2
    assert "ssthresh" in capsys.readouterr().err


def test_the_simulator_agrees_with_the_stored_links() -> None:
    wanted = set(crosscheck_grid.cells("^(reno|cubic), .*, 5 Mbit/s"))
    real = [one for one in crosscheck_grid.means(crosscheck_grid.read(STORED)[0]) if one[0].cell in wanted]
    assert len(real) == 40
    found = crosscheck_agreement.compare(real, crosscheck_grid.simulate([mean.cell for mean, _ in real], seeds=1))
    outside = [str(one.real.cell) for one in found if not one.holds]
    assert len(outside) <= 4, outside
    # The check can fail.
    changes = {"rules.initial_window": 1, "window": 8}
    without = crosscheck_grid.simulate([real[0][0].cell], seeds=1, changes=changes)
    assert not crosscheck_agreement.compare(real[:1], without)[0].holds, "a window of 8 segments fills no queue"
