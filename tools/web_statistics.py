"""What the playground's statistics must give: the numbers and sentences of `earlydrop compare`, for web/tests.

python tools/web_statistics.py            write web/tests/statistics.json
python tools/web_statistics.py --check    compare it with what it would be
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from earlydrop import terminal
from earlydrop.analysis import paired, statistics

FILE = Path(__file__).resolve().parents[1] / "web" / "tests" / "statistics.json"
FIELDS = {"goodput_total_mbps": 9.0, "delay_mean_ms": 40.0, "jain": 0.97}
QUEUE = {
    "utilisation": 0.97,
    "delay_mean_ms": 20.0,
    "delay_p99_ms": 31.0,
    "queue_mean_packets": 17.0,
    "drop_rate": 0.02,
}
COUNTED = {"departures": 10_000, "departed_bytes": 10_400_000, "arrivals": 10_200, "throughput_mbps": 4.85}
PASSING = {"goodput_mbps": 8.0, "delay_mean_ms": 42.0, "jain": 0.93}


def _document(
    draw: random.Random, seed: int, shift: float, spread: float, passing: bool, step: float
) -> dict[str, Any]:
    """A result document as far as comparisons read it; with `step` the delay's 99 % quantile comes in such steps."""

    def values(sizes: dict[str, float]) -> dict[str, Any]:
        return {name: size * (1 + shift + spread * draw.gauss(0, 1)) for name, size in sizes.items()}

    drops = {"overflow_drops": 90, "early_drops": 0, "forced_drops": 0 if shift == 0 else 7, "marks": 0}
    queue = {**values(QUEUE), "aqm": "red", **drops, **COUNTED}
    if step:
        queue["delay_p99_ms"] = step * round(queue["delay_p99_ms"] / step)
        queue["utilisation"] = 1.0
    if passing:
        queue["passing"] = {**values(PASSING), "flows": 3}
    window = {"duration_s": 20.0, "warmup_s": 5.0}
    return {**values(FIELDS), **window, "queues": {"bottleneck": queue}, "flows": [{}] * 5, "seed": seed}


def _comparison(
    draw: random.Random, shifts: list[float], spread: float, seeds: int, passing: bool = False, step: float = 0.0
) -> dict[str, Any]:
    aqms = tuple(f"aqm{k}" for k in range(len(shifts)))
    titles = {aqm: f"AQM {k}" for k, aqm in enumerate(aqms)}
    numbers = range(1, seeds + 1)
    groups = [[_document(draw, seed, shift, spread, passing, step) for seed in numbers] for shift in shifts]
    flat = [one for group in groups for one in group]
    made = paired.tabulate("made", "bottleneck", aqms, titles, tuple(range(1, seeds + 1)), flat)
    made.idle = tuple(aqm for aqm, shift in zip(aqms, shifts, strict=True) if shift == 0)
    document = made.document("0")
    holm = [
        {name: one["t_test_p_holm"] for name, one in document["differences"][aqm].items() if one["t_test_p_holm"]}
        for aqm in aqms[1:]
    ]
    cells = [
        {m.id: terminal.with_interval(made.estimate(aqm, m.id), m.digits, m.bounds) for m in made.measures}
        for aqm in aqms
    ]
    return {
        "titles": list(titles.values()),
        "documents": groups,
        "summary": document["summary"],
        "holm": holm,
        "cells": cells,
        "differences": [
            {
                m.id: f"{terminal.with_sign(d.estimate, m.digits)} {'*' * made.stars(aqm, m.id)}".rstrip()
                for m in made.measures
                if (d := made.differences[aqm][m.id]) is not None
            }
            for aqm in aqms[1:]
        ],
    }


def made() -> str:
    """The content of the file."""
    draw = random.Random(7)
    series = []
    for n in (2, 3, 5, 10, 30):
        treatment = [draw.gauss(10, 1) for _ in range(n)]
        control = [draw.gauss(9.5, 1) for _ in range(n)]
        one = statistics.paired(treatment, control)
        values = {"mean": one.estimate.mean, "half_width": one.estimate.half_width, "p": one.t_p, "wins": one.wins}
        series.append({"treatment": treatment, "control": control, **values})
    ps = [draw.random() ** 3 for _ in range(9)]
    shares = [draw.random() for _ in range(7)]
    # Comparisons with clear, small, absent and mixed differences; one seed; one discipline; every seed the same run.
    comparisons = [
        _comparison(draw, [0, -0.4], 0.02, 10),
        _comparison(draw, [0, 0.012], 0.004, 10),
        _comparison(draw, [0, 0.0], 0.001, 20),
        _comparison(draw, [0, 0.0], 0.3, 5),
        _comparison(draw, [0, 0.05], 0.03, 6),
        _comparison(draw, [0, 0.3], 0.03, 6, passing=True),
        _comparison(draw, [0, -0.4, 0.3, 0.0], 0.03, 8),
        _comparison(draw, [0, -0.4, 0.3, 0.0, 0.1, -0.02], 0.03, 8),
        _comparison(draw, [0, 0.1], 0.1, 1),
        _comparison(draw, [0], 0.1, 5),
        _comparison(draw, [0, 0.2], 0.0, 4),
        # Differences in steps of a packet, and equal in all runs; two seeds, which get no star.
        _comparison(draw, [0, 0.0, 0.3], 0.03, 3, step=1.7),
        _comparison(draw, [0, 0.0, 0.05], 0.002, 5, step=1.7),
        _comparison(draw, [0, 0.5], 0.001, 2, step=1.7),
    ]
    found = {
        "quantiles": [
            [p, n, statistics.t_quantile(p, n)] for n in (1, 2, 4, 9, 29, 49) for p in (0.9, 0.975, 0.9875, 0.9995)
        ],
        "distribution": [[-t, n, _below(-t, n)] for n in (1, 4, 9, 49) for t in (0.1, 1.0, 2.3, 8.0, 40.0)],
        "series": series,
        "holm": {"p": ps, "corrected": statistics.holm(ps)},
        "jain": {"values": shares, "index": statistics.jain(shares)},
        "comparisons": comparisons,
    }
    return json.dumps(found) + "\n"


def _below(t: float, freedom: int) -> float:
    from scipy.special import stdtr

    return float(stdtr(freedom, t))


def main() -> int:
    """Write or check."""
    text = made()
    if "--check" in sys.argv[1:]:
        if not FILE.is_file() or FILE.read_text(encoding="utf-8") != text:
            print(f"{FILE.name} is out of date: python tools/web_statistics.py")
            return 1
        return 0
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
