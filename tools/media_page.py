"""Puts what comes out of real-time media into docs/media.md.

python tools/media_page.py
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
import earlydrop as ed  # noqa: E402

PAGE = "media.md"
SEEDS = range(1, 6)
# One-way delay of a full packet on the empty path, ms.
EMPTY = 22.4
STEADY = ed.link("4 Mbit/s", "18 ms")
FALL = ed.link(ed.schedule(("0 s", "5 Mbit/s"), ("40 s", "1 Mbit/s")), "18 ms")
FIFO = ("FIFO", "droptail limit=200p")
FAIR = ("FQ-CoDel", "fq_codel")
DUAL = ("DualPI2", "dualpi2 ecn=true")
SCREAM, GCC = {"control": "scream"}, {"control": "gcc", "start_rate": "3 Mbit/s"}
CUBIC = {"tcp": "cubic", "stack": "rfc"}
PRAGUE = {"tcp": "prague", "stack": "rfc", "ecn": True}
ROWS: list[tuple[tuple[str, str], str, dict[str, Any], dict[str, Any] | None]] = [
    (FIFO, "alone", SCREAM, None),
    (FIFO, "alone", GCC, None),
    (FAIR, "alone", SCREAM, None),
    (FAIR, "alone", GCC, None),
    (DUAL, "alone", {**SCREAM, "ecn": "l4s"}, None),
    (DUAL, "alone", {**SCREAM, "ecn": "classic"}, None),
    (FIFO, "5 to 1 Mbit/s", SCREAM, None),
    (FIFO, "5 to 1 Mbit/s", GCC, None),
    (FAIR, "beside CUBIC", SCREAM, CUBIC),
    (FAIR, "beside CUBIC", GCC, CUBIC),
    (FIFO, "beside CUBIC", SCREAM, CUBIC),
    (FIFO, "beside CUBIC", GCC, CUBIC),
    (DUAL, "beside Prague", {**SCREAM, "ecn": "l4s"}, PRAGUE),
]
HEAD = (
    "| queue | case | control | received, Mbit/s | queueing delay, mean; 99 %, ms | frames, mean; 99 %, ms "
    "| frames lost | freezes, s | marks |",
    "|---|---|---|---|---|---|---|---|---|",
)


def mean(rows: list[dict[str, Any]], column: str) -> float:
    """The mean of a column of results."""
    return float(sum(row[column] for row in rows)) / len(rows)


def lines() -> Iterator[str]:
    """The lines of the table."""
    yield from HEAD
    for (queue, spec), case, keys, other in ROWS:
        net = ed.dumbbell(
            pairs=2,
            access=ed.link("1 Gbit/s", "1 ms"),
            bottleneck=FALL if "to" in case else STEADY,
            queue=spec,
        )
        net.media(1, max_rate="10 Mbit/s", start=ed.uniform("0 s", "1 s"), **keys)
        if other is not None:
            net.ftp(1, start=ed.uniform("0 s", "1 s"), **other)
        with warnings.catch_warnings():
            # DualPI2's step is shorter than a packet; the page says so.
            warnings.simplefilter("ignore")
            runs = [net.run(duration="60 s", warmup="20 s", seed=seed) for seed in SEEDS]
        found = [run.document["flows"][0] for run in runs]
        name = {"scream": "SCReAM", "gcc": "GCC"}[keys["control"]]
        name += {None: "", "l4s": ", L4S", "classic": ", classic ECN"}[keys.get("ecn")]
        delays = (mean(found, "delay_mean_ms") - EMPTY, mean(found, "delay_p99_ms") - EMPTY)
        frames = (mean(found, "frame_delay_mean_ms"), mean(found, "frame_delay_p99_ms"))
        cells = (
            queue,
            case,
            name,
            f"{mean(found, 'throughput_mbps'):.2f}",
            f"{max(delays[0], 0):.1f}; {max(delays[1], 0):.1f}",
            f"{frames[0]:.0f}; {frames[1]:.0f}",
            f"{mean(found, 'frames_lost'):.1f}",
            f"{mean(found, 'freeze_s'):.2f}",
            f"{mean(found, 'marks'):.0f}",
        )
        yield "| " + " | ".join(cells) + " |"


def write(folder: Path) -> bool:
    """Write the table into the page of `folder`; whether it changed."""
    return blocks.put(folder / PAGE, "media", "\n".join(lines()))


if __name__ == "__main__":
    write(ROOT / "docs")
