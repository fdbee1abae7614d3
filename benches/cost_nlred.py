"""Counts what a packet costs RED and NLRED: `studies/nlred/cost.csv`.

    .venv/bin/python benches/cost_nlred.py

The program, the load and the counting are those of `benches/decisions.py`: an arrival and its departure while the load
swings between 0.9 and 1.3, so that the average crosses the whole drop curve.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COSTS = HERE.parent / "studies" / "nlred" / "cost.csv"
sys.path.insert(0, str(HERE))

from decisions import Row, count, program  # noqa: E402

SWING = 20_000
"""Packets of a pass, as `benches/decisions.rs` has it."""


def main() -> None:
    rows: list[Row] = [{"case": name, "packets": SWING} for name in ("red", "nlred")]
    how = count(program(), rows, print)
    with COSTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["aqm", "instructions", "counted_by"])
        for row in rows:
            table.writerow([row["case"], f"{row['instructions']:.1f}", how])


if __name__ == "__main__":
    main()
