"""docs/study-links.md: its sweep is valid, and a link of its table comes out as printed."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path

import numpy as np
from test_docs import ROOT

import earlydrop as ed
from earlydrop.sweeps import parser

PAGE = (ROOT / "docs/study-links.md").read_text(encoding="utf-8")


def test_the_table_has_every_point_and_what_a_run_gives(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml sweep\n(.*?)```", PAGE, re.DOTALL)
    document = tomllib.loads(text)
    assert len(parser.parse_document(document, tmp_path / "links.toml").points) == 48
    with (ROOT / "docs/data/study-links.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["link"], row["queue"]): row for row in csv.DictReader(file)}
    assert len(rows) == 48
    scenario = document["scenario"]
    level = next(one for one in document["factor"][0]["levels"] if one["name"] == "docsis-up")
    scenario["name"] = "links"
    scenario["topology"]["bottleneck"] = level["set"]["topology.bottleneck"]
    scenario["queue"]["bottleneck"] = {"aqm": "codel", "limit": level["set"]["queue.bottleneck.limit"]}
    parsed = ed.parse(scenario)
    runs = [parsed.run(seed=seed).document for seed in range(1, 11)]
    goodput = np.mean([run["goodput_total_mbps"] for run in runs])
    wait = np.mean([run["queues"]["bottleneck"]["delay_mean_ms"] for run in runs])
    row = rows["docsis-up", "CoDel"]
    assert row["goodput (Mbit/s)"].startswith(f"{goodput:.2f} ")
    assert row["mean wait (ms)"].startswith(f"{wait:.2f} ")
