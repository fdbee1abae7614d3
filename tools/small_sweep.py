"""A scenario and a sweep that run in a moment, for tools and tests that damage, fail and kill what they write."""

from __future__ import annotations

from collections.abc import Sequence

FILE = "small.toml"
"""The name under which `sweep` finds the scenario."""


def scenario(duration_s: int = 1, flows: int = 1, rate_mbps: int = 2) -> str:
    """A scenario in TOML: flows through RED at one bottleneck."""
    return f"""
name = "small"
duration = "{duration_s} s"
topology.kind = "dumbbell"
topology.pairs = {flows}
topology.access = {{ rate = "100 Mbit/s", delay = "5 ms" }}
topology.bottleneck = {{ rate = "{rate_mbps} Mbit/s", delay = "10 ms" }}
queue.bottleneck = {{ aqm = "red", limit = "30 packets" }}
traffic = [{{ kind = "ftp", start = {{ uniform = ["0 s", "0.5 s"] }} }}]
"""


def sweep(seeds: int = 2, max_p: Sequence[float] = (0.05, 0.1)) -> str:
    """A sweep in TOML over the scenario in `FILE`."""
    return f"""
seeds = {seeds}
measures = ["goodput", "queue_delay"]
scenario = "{FILE}"
[[factor]]
path = "queue.bottleneck.max_p"
values = {list(max_p)}
"""
