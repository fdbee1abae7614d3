"""The simulator's DCTCP against stored runs of the kernel's: agreement within the bounds of docs/crosscheck.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "transport.csv"


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    """The program that has measured them."""
    folder = ROOT / "validation" / "peers" / "qemu"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("kernel_transport", folder / "kernel_transport.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernel_transport"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))


def test_every_cell_has_three_steady_runs(peer: ModuleType) -> None:
    rows = peer.stored(STORED)
    assert {cell for cell, _ in rows} == set(peer.CELLS)
    for cell, (mean, apart, runs) in peer.means(rows).items():
        assert runs == peer.RUNS
        assert apart["throughput_mbps"] < 0.005 * mean["throughput_mbps"], cell
        assert apart["queue_mean_packets"] < 0.03 * mean["queue_mean_packets"], cell
        if cell.queue != "pie":
            assert apart["mark_rate"] < 0.035 * mean["mark_rate"], cell
            assert mean["drop_rate"] < 1e-4, cell


def test_the_simulator_agrees(peer: ModuleType) -> None:
    kernel = peer.means(peer.stored(STORED))
    for cell, (ours, _) in peer.simulate(list(kernel), seeds=4).items():
        theirs = kernel[cell][0]
        assert ours["throughput_mbps"] == pytest.approx(theirs["throughput_mbps"], rel=0.01), cell
        queue = theirs["queue_mean_packets"]
        assert ours["queue_mean_packets"] == pytest.approx(queue, abs=max(0.06 * queue, 0.25)), cell
        if cell.queue != "pie":
            assert ours["mark_rate"] == pytest.approx(theirs["mark_rate"], rel=0.05), cell
            assert ours["jain"] > 0.99, cell


def test_the_bounds_notice_exact_numbers(peer: ModuleType) -> None:
    """DCTCP without the kernel's integers is far outside."""
    (cell,) = [one for one in peer.CELLS if one.queue == "red" and one.flows == 4]
    theirs = peer.means(peer.stored(STORED))[cell][0]
    ours = peer.simulate([cell], seeds=2, rules={"dctcp_count": "exact"})[cell][0]
    assert ours["mark_rate"] < 0.6 * theirs["mark_rate"]
    assert ours["queue_mean_packets"] < 0.8 * theirs["queue_mean_packets"]
