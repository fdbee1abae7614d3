"""The simulator's DualPI2 with DCTCP and classic flows against stored runs of the kernel's."""

from __future__ import annotations

from pathlib import Path

import kernel_dualpi2 as peer
import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "dualpi2.csv"


def test_the_simulator_agrees() -> None:
    kernel = peer.TABLE.means(peer.TABLE.stored(STORED))
    assert set(kernel) == set(peer.TABLE.cells)
    for cell, (ours, _) in peer.simulated(list(kernel), seeds=4).items():
        theirs = kernel[cell][0]
        alone = cell.flows == 0  # held to less than a packet
        for key in ("l4s_mbps", "classic_mbps"):
            assert ours[key] == pytest.approx(theirs[key], rel=0.03 if alone else 0.02), (cell, key)
        assert ours["l4s_marks"] == pytest.approx(theirs["l4s_marks"], rel=0.2 if alone else 0.05), cell
        # 55 marks in the cell with fewest.
        assert ours["classic_marks"] == pytest.approx(theirs["classic_marks"], rel=0.15), cell
        assert ours["queue_mean_packets"] == pytest.approx(theirs["queue_mean_packets"], rel=0.03, abs=0.15), cell


def test_the_bounds_notice_another_coupling() -> None:
    cell = peer.Mixture(4, "reno", 4, 20, 20)
    theirs = peer.TABLE.means(peer.TABLE.stored(STORED))[cell][0]
    ours = peer.simulated([cell], seeds=2, k=4)[cell][0]
    assert abs(ours["l4s_mbps"] / theirs["l4s_mbps"] - 1) > 0.1
