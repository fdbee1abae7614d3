#!/usr/bin/env python3
"""Run RED on the FLoadAutoRED chapter's set-up in ns-2 and write the figures of every seed.

    python3 run_floadautored.py [--seeds 1-5] [--out FILE]

Needs `ns` (ns-2 2.35) and `g++`. RED is what ns-2 has that comes nearest to AutoREDwithRED: thresholds 100 and 200,
max_p 0.02, w_q 0.002, 300 places, 32 flows of NewReno and a CBR flow of 2 Mbit/s; links of 1 and 10 Mbit/s.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from run_scenarios import Case, build_reader, run_case, write_csv

FOLDER = Path(__file__).resolve().parents[3] / "studies/floadautored/ns2"
SET_UP: dict[str, Any] = {
    "flows": 32,
    "tcp": "Newreno",
    "wire_bytes": 1040,
    "window": 300,
    "access_delay": "1ms",
    "delay": "1ms",
    "queue": "RED",
    "limit": 300,
    "min_th": 100,
    "max_th": 200,
    "max_p": 0.02,
    "w_q": 0.002,
    "mean_packet": 1000,
    "cbr": "{1000 0.004 1ms}",
}
DURATION, WARMUP = 200, 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="1-5", help="first and last seed (default %(default)s)")
    parser.add_argument("--out", type=Path, default=FOLDER / "red.csv")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        reader = build_reader(scratch)
        for rate, access in ((1, "10Mb"), (10, "100Mb")):
            case = Case(f"red-{rate}", DURATION, WARMUP, {**SET_UP, "rate": f"{rate}Mb", "access_rate": access})
            for seed in range(int(first), int(last or first) + 1):
                row = run_case(case, reader, scratch, seed)
                report = [line.split() for line in (scratch / "summary").read_text().splitlines()]
                windows = {words[1]: words[2:] for words in report if words[0] == "window"}
                # The last entry of a window is what the CBR flow's receiver has, in bytes.
                received = float(windows["end"][-1]) - float(windows[str(WARMUP)][-1])
                drops = row["early_drops"] + row["overflow_drops"]
                rows.append(
                    {
                        "rate_mbps": rate,
                        "seed": seed,
                        "average_packets": row["average_mean_packets"],
                        "queue_packets": row["queue_mean_packets"],
                        "drop_rate_percent": f"{100 * drops / row['arrivals']:.3f}",
                        "delay_ms": row["delay_mean_ms"],
                        "utilisation_percent": f"{100 * row['throughput_mbps'] / rate:.3f}",
                        "cbr_percent": f"{received * 8 / (DURATION - WARMUP) / 1e6 / rate * 100:.3f}",
                        "jain": row["jain"],
                    }
                )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_csv(options.out, rows)


if __name__ == "__main__":
    main()
