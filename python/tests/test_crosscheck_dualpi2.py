"""The simulator's DualPI2 with DCTCP and classic flows against stored runs of the kernel's."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "dualpi2.csv"


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    """The program that has measured them."""
    folder = ROOT / "validation" / "peers" / "qemu"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("kernel_dualpi2", folder / "kernel_dualpi2.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernel_dualpi2"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))


def test_the_simulator_agrees(peer: ModuleType) -> None:
    kernel = peer.means(peer.stored(STORED))
    assert set(kernel) == set(peer.CELLS)
    for cell, (ours, _) in peer.simulate(list(kernel), seeds=4).items():
        theirs = kernel[cell][0]
        alone = cell.flows == 0  # held to less than a packet
        for key in ("l4s_mbps", "classic_mbps"):
            assert ours[key] == pytest.approx(theirs[key], rel=0.03 if alone else 0.02), (cell, key)
        assert ours["l4s_marks"] == pytest.approx(theirs["l4s_marks"], rel=0.2 if alone else 0.05), cell
        # 55 marks in the cell with fewest.
        assert ours["classic_marks"] == pytest.approx(theirs["classic_marks"], rel=0.15), cell
        assert ours["queue_mean_packets"] == pytest.approx(theirs["queue_mean_packets"], rel=0.03, abs=0.15), cell


def test_the_bounds_notice_another_coupling(peer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = peer.Cell(4, "reno", 4, 20, 20)
    theirs = peer.means(peer.stored(STORED))[cell][0]
    document = peer.document

    def stronger(cell: object) -> object:
        found = document(cell)
        found["queue"]["bottleneck"] |= {"k": 4}
        return found

    monkeypatch.setattr(peer, "document", stronger)
    ours = peer.simulate([cell], seeds=2)[cell][0]
    assert abs(ours["l4s_mbps"] / theirs["l4s_mbps"] - 1) > 0.1
