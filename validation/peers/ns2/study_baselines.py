#!/usr/bin/env python3
"""Run in ns-2 what it has of the set-ups of the studies `sfred`, `nlred` and `tred`: DropTail, RED, Gentle RED, REM.

    python3 study_baselines.py [sfred|nlred|tred]... [--seeds 1-5] [--only PATTERN] [--out DIR]

Needs `ns` (ns-2 2.35) and `g++`. Writes the figures of every seed and their summaries, in the columns of
run_scenarios.py, to folders of these names in validation/reference. ns-2 has neither SFRED nor NLRED nor TRED.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from run_scenarios import RED, Case, main

SFRED = {
    "flows": 2,
    "wire_bytes": 1040,
    "window": 84,
    "rate": "1.5Mb",
    "delay": "10ms",
    "access_rate": "10Mb",
    "sender_delay": "10ms 100ms",
    "receiver_delay": "5ms",
    "limit": 50,
    "min_th": 5,
    "max_th": 15,
}
CBR = "{1000 0.01 10ms} {500 0.005 100ms}"

NLRED = {
    "rate": "10Mb",
    "delay": "20ms",
    "access_rate": "100Mb",
    "access_delay": "5ms",
    "wire_bytes": 1040,
    "limit": 120,
}
TRED = {
    "rate": "17.2Mb",
    "delay": "10ms",
    "access_rate": "100Mb",
    "access_delay": "20ms",
    "wire_bytes": 1040,
    "limit": 150,
    "min_th": 24,
    "max_th": 72,
}
THRESHOLDS = ((20, 60), (10, 30))
FLOWS = (1, 5, 20, 60, 120)
SIZES = (100, 250, 1000, 2500)


def sfred() -> Iterator[Case]:
    """Two Reno flows, near and far (S-1), and beside two constant rates (S-4)."""
    for name, options in RED.items():
        yield Case(f"S-1-{name}", 500, 50, {**SFRED, **options})
        yield Case(f"S-4-{name}", 200, 20, {**SFRED, **options, "cbr": CBR})


def nlred() -> Iterator[Case]:
    """N-0 and N-4 by the number of flows, N-6 by the size of packets."""
    for flows in (10, 100):
        yield Case(f"N-0-droptail-n{flows}", 200, 100, {**NLRED, "flows": flows, "queue": "DropTail"})
    for flows in FLOWS:
        base = {**NLRED, "flows": flows}
        for low, high in THRESHOLDS:
            red = {**RED["red-gentle"], "min_th": low, "max_th": high}
            yield Case(f"N-4-gred-{low}-{high}-n{flows}", 200, 100, {**base, **red})
        yield Case(f"N-4-rem-n{flows}", 200, 100, {**base, "queue": "REM"})
    for size, (name, options) in product(
        SIZES,
        (
            ("gred-20-60", {**RED["red-gentle"], "min_th": 20, "max_th": 60}),
            ("rem-byte", {"queue": "REM", "byte_mode": 1, "mean_packet": 1000}),
        ),
    ):
        changed: dict[str, Any] = {**options, "flows": 50, "wire_bytes": size + 40}
        yield Case(f"N-6-{name}-s{size}", 200, 100, {**NLRED, **changed})


def tred() -> Iterator[Case]:
    """T-fit with a buffer of 150 packets, at the three loads."""
    for flows, (name, options) in product((6, 40, 80), RED.items()):
        yield Case(f"T-{name}-n{flows}", 200, 0, {**TRED, **options, "flows": flows})


if __name__ == "__main__":
    main(__doc__.splitlines()[0], {"sfred": sfred, "nlred": nlred, "tred": tred}, seeds="1-5")
