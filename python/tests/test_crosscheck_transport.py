"""The simulator's DCTCP against stored runs of the kernel's: agreement within the bounds of docs/crosscheck.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import campaign
import kernel_dualpi2
import kernel_qdiscs
import kernel_transport as peer
import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "transport.csv"


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (kernel_qdiscs.FIGURES, "kernel_qdiscs/figures.csv"),
        (kernel_qdiscs.SPREADS, "kernel_qdiscs/runs.csv"),
        (peer.TABLE, "crosscheck/transport.csv"),
        (kernel_dualpi2.TABLE, "crosscheck/dualpi2.csv"),
    ],
)
def test_what_is_stored_is_complete_and_is_written_as_it_is_there(table: Any, name: str, tmp_path: Path) -> None:
    file = ROOT / "validation" / "reference" / name
    rows = table.stored(file)
    assert len(rows) == len(table.cells) * table.runs
    system = campaign.read(file)[1]["kernel"].removeprefix("Linux ")
    table.store(tmp_path / "again.csv", rows, system)
    assert (tmp_path / "again.csv").read_bytes() == file.read_bytes()


def test_every_cell_has_three_steady_runs() -> None:
    rows = peer.TABLE.stored(STORED)
    assert {cell for cell, _ in rows} == set(peer.TABLE.cells)
    for cell, (mean, apart, runs) in peer.TABLE.means(rows).items():
        assert runs == peer.TABLE.runs
        assert apart["throughput_mbps"] < 0.005 * mean["throughput_mbps"], cell
        assert apart["queue_mean_packets"] < 0.03 * mean["queue_mean_packets"], cell
        if cell.qdisc != "pie":
            assert apart["mark_rate"] < 0.035 * mean["mark_rate"], cell
            assert mean["drop_rate"] < 1e-4, cell


def test_the_simulator_agrees() -> None:
    kernel = peer.TABLE.means(peer.TABLE.stored(STORED))
    for cell, (ours, _) in peer.simulated(list(kernel), seeds=4).items():
        theirs = kernel[cell][0]
        assert ours["throughput_mbps"] == pytest.approx(theirs["throughput_mbps"], rel=0.01), cell
        queue = theirs["queue_mean_packets"]
        assert ours["queue_mean_packets"] == pytest.approx(queue, abs=max(0.06 * queue, 0.25)), cell
        if cell.qdisc != "pie":
            assert ours["mark_rate"] == pytest.approx(theirs["mark_rate"], rel=0.05), cell
            assert ours["jain"] > 0.99, cell


def test_the_bounds_notice_exact_numbers() -> None:
    """DCTCP without the kernel's integers is far outside."""
    (cell,) = [one for one in peer.TABLE.cells if one.qdisc == "red" and one.flows == 4]
    theirs = peer.TABLE.means(peer.TABLE.stored(STORED))[cell][0]
    ours = peer.simulated([cell], seeds=2, rules={"dctcp_count": "exact"})[cell][0]
    assert ours["mark_rate"] < 0.6 * theirs["mark_rate"]
    assert ours["queue_mean_packets"] < 0.8 * theirs["queue_mean_packets"]
