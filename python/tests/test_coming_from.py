"""Examples of ns-2 and ns-3 run whole, as docs/examples has them, beside what ns-2 and ns-3 made of the originals."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from test_docs import ROOT

import earlydrop as ed

pytestmark = pytest.mark.filterwarnings("ignore::earlydrop.ScenarioWarning")

NEWRENO = {"tcp": "reno", "rules": {"timestamps": True, "avoidance": "per_ack"}}
# Runs of validation/reference/examples: example, its queue, seeds, and keys of its traffic that differ.
RUNS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "simple.tcl": ("simple.tcl", "bottleneck", 1, {}),
    "simple.tcl, back": ("simple.tcl", "back", 1, {}),
    "example2.tcl": ("example2.tcl", "bottleneck", 1, {}),
    "fifth.cc": ("fifth.cc", "device", 20, {}),
    "traffic-control.cc": ("traffic-control.cc", "root", 20, {}),
    "traffic-control.cc, NewReno": ("traffic-control.cc", "root", 20, NEWRENO),
    "red-tests.cc 1": ("red-tests.cc 1", "red", 20, {}),
    "red-tests.cc 1, device of 1 packet": ("red-tests.cc 1", "red", 20, {}),
    "red-tests.cc 1, device of 1 packet, Nagle": ("red-tests.cc 1", "red", 20, {}),
}
# Those in which nothing of the other program is missing here: ns-2's to the packet, ns-3's within this share.
EXACT = ("simple.tcl", "example2.tcl")
CLOSE = {
    "fifth.cc": {"bytes": 0.005, "drops": 0.1},
    "traffic-control.cc, NewReno": {"bytes": 0.005, "wait": 0.03, "drops": 0.1},
    "red-tests.cc 1, device of 1 packet, Nagle": {"bytes": 0.02, "wait": 0.12, "drops": 0.2},
}


@cache
def examples() -> dict[str, dict[str, Any]]:
    files = (ROOT / "docs/examples").glob("*.toml")
    read = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return {one["name"]: one for one in read}


@cache
def there() -> dict[str, dict[str, float]]:
    """What ns-2 and ns-3 did: means over the seeds."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for file in ("ns2", "ns3"):
        for row in rows(ROOT / f"validation/reference/examples/{file}.csv"):
            run = found[row["example"]]
            run["packets"].append(float(row["packets"]))
            run["wait"].append(float(row["delay_mean_ms"]))
            reasons = ("drops",) if file == "ns2" else ("red_drops", "overflow_drops", "lost")
            run["drops"].append(sum(float(row[reason]) for reason in reasons))
            if file == "ns3":
                run["bytes"].append(float(row["bytes"]))
    return {name: {key: fmean(values) for key, values in run.items()} for name, run in found.items()}


@cache
def here(name: str) -> dict[str, float]:
    """What the same run does here."""
    example, queue_name, seeds, changed = RUNS[name]
    scenario = {**examples()[example]}
    scenario["traffic"] = [{**entry, **changed} for entry in scenario["traffic"]]
    parsed = ed.parse(scenario)
    window = seconds(scenario["duration"]) - seconds(scenario.get("warmup", "0 s"))
    found = defaultdict(list)
    for seed in range(1, seeds + 1):
        document = parsed.run(seed=seed).document
        queue = document["queues"][queue_name]
        found["packets"].append(queue["departures"])
        found["wait"].append(queue["delay_mean_ms"])
        found["bytes"].append(queue["throughput_mbps"] * 1e6 / 8 * window)
        lost = sum(flow["lost"] for flow in document["flows"])
        found["drops"].append(sum(queue[f"{why}_drops"] for why in ("early", "forced", "overflow")) + lost)
    return {key: fmean(values) for key, values in found.items()}


def seconds(text: str) -> float:
    return float(text.removesuffix(" s"))


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_run_of_the_originals_is_compared() -> None:
    assert set(RUNS) == set(there())
    assert {example for example, *_ in RUNS.values()} == set(examples())


@pytest.mark.parametrize("name", EXACT)
def test_ns_2_is_met_to_the_packet(name: str) -> None:
    for key, value in there()[name].items():
        # A trace for people has six digits of time.
        assert here(name)[key] == pytest.approx(value, abs=1e-4), key


@pytest.mark.parametrize("name", CLOSE)
def test_ns_3_is_met_where_nothing_is_missing(name: str) -> None:
    for key, share in CLOSE[name].items():
        assert here(name)[key] == pytest.approx(there()[name][key], rel=share), key


def test_the_page_has_what_the_runs_gave() -> None:
    table = rows(ROOT / "docs/data/coming-from-runs.csv")
    assert len(table) == len(RUNS)
    for row, name in zip(table, RUNS, strict=True):
        assert re.findall(r"[\w-]+\.\w+", row["run"])[0] == name.replace(",", " ").split()[0]
        for column, key, digits in (("packets", "packets", 0), ("mean wait (ms)", "wait", 2), ("drops", "drops", 1)):
            shown = digits if key != "drops" or RUNS[name][2] > 1 else 0
            expected = f"{there()[name][key]:.{shown}f}; {here(name)[key]:.{shown}f}"
            assert row[column] == expected, (name, column)


def test_the_page_has_what_lines_of_tc_did() -> None:
    runs = {row["case"]: row for row in rows(ROOT / "validation/reference/netem_lines/runs.csv")}
    said = [row["Linux 6.1"] for row in rows(ROOT / "docs/data/netem-lines.csv")]
    waits = {name: [f"{float(run[f'ping_{key}_ms']):.0f} ms" for key in ("mean", "max")] for name, run in runs.items()}
    udp = {name: {key: int(run[key]) for key in ("sent", "lost", "out_of_order")} for name, run in runs.items()}
    parts = {
        0: [f"{100 * udp['jitter']['out_of_order'] / udp['jitter']['sent']:.0f} % of datagrams"],
        1: [f"{100 * udp['limit 1000']['lost'] / udp['limit 1000']['sent']:.0f} % of 50 Mbit/s"],
        2: waits["rate"],
        3: [*waits["TSO"], *waits["TSO, single segments"]],
        4: waits["two queues"],
    }
    assert len(said) == len(parts)
    for number, expected in parts.items():
        assert all(part in said[number] for part in expected), (said[number], expected)
    assert runs["rate"]["drops"].endswith("fq_codel 0")
