"""Networks of our own, run in ns-2 and here side by side: means over seeds within the bounds of `earlydrop validate`.

The stored comparisons are of the papers' networks. These are others: unequal distances, packets of many sizes, load
that comes and goes, two bottlenecks. Each side draws its own random numbers.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import make_networks
import pytest
import run_scenarios
from conftest import peer

from earlydrop import _core, validate
from earlydrop.runner import Job, run_all
from earlydrop.validation_cases import Case

PEERS = Path(__file__).parents[2] / "validation" / "peers" / "ns2"
NS2_SEEDS = range(1, 6)
OUR_SEEDS = range(1, 11)
DURATION, WARMUP = 100, 20
USUAL = validate.QUANTITIES["S3"][:3]
RED = {"aqm": "red", "dialect": "ns2", "mean_packet": "1000 B", "w_q": 0.002, "max_p": 0.1}


@pytest.fixture(autouse=True)
def ns2() -> None:
    """What the scripts that drive ns-2 need."""
    peer("ns")
    peer("g++")


def agree(
    name: str, documents: list[dict[str, Any]], reference: dict[str, dict[str, list[float]]], apart: int = 0
) -> None:
    """Our figures over `documents` (one for each seed) against ns-2's, by queue."""
    jobs = [Job(_core.Scenario.parse(document, []), seed) for document, seed in zip(documents, OUR_SEEDS, strict=True)]
    results = [json.loads(text) for text in run_all(jobs, str)]
    quantities = [*USUAL, *(validate._goodput(flow) for flow in range(1, apart + 1))]
    checks = []
    for queue, figures in reference.items():
        ours = []
        for result in results:
            only = result | {"queues": {"bottleneck": result["queues"][queue]}}
            ours.append(validate._figures(json.dumps(only)))
        case = Case("S3", f"{name}-{queue}", "red", {}, apart)
        for quantity in quantities:
            values = [float(one[quantity.key] or 0) for one in ours]
            checks.append(validate.compare(case, quantity, values, figures[quantity.key]))
    assert checks
    assert [c for c in checks if not c["ok"]] == []


def dumbbell(tmp_path: Path, options: dict[str, Any], document: dict[str, Any], name: str, apart: int = 0) -> None:
    """A dumbbell, described for both."""
    reader = run_scenarios.build_reader(tmp_path)
    case = run_scenarios.Case(name, DURATION, WARMUP, options)
    rows = [run_scenarios.run_case(case, reader, tmp_path, seed) for seed in NS2_SEEDS]
    texts = [{key: str(value) for key, value in row.items()} for row in rows]
    keys = [q.key for q in USUAL] + [validate._goodput(flow).key for flow in range(1, apart + 1)]
    reference = {"bottleneck": {key: [validate._stored(row, key) for row in texts] for key in keys}}
    whole = {"name": name, "duration": f"{DURATION} s", "warmup": f"{WARMUP} s", "seed": 1} | document
    agree(name, [whole] * len(OUR_SEEDS), reference, apart)


START = {"uniform": ["0 s", "1 s"]}


def test_unequal_distances(tmp_path: Path) -> None:
    delays = ["1ms", "10ms", "30ms", "80ms"]
    options = {"flows": 4, "tcp": "Newreno", "queue": "RED", "min_th": 10, "max_th": 30, "limit": 60}
    options |= {"access_rate": "20Mb", "access_delay": "3ms", "rate": "4Mb", "delay": "7ms"}
    options["sender_delay"] = " ".join(delays)
    document = {
        "topology": {
            "kind": "dumbbell",
            "pairs": 4,
            "senders": {"rate": "20 Mbit/s", "delay": [delay.replace("ms", " ms") for delay in delays]},
            "receivers": {"rate": "20 Mbit/s", "delay": "3 ms"},
            "bottleneck": {"rate": "4 Mbit/s", "delay": "7 ms"},
        },
        "queue": {"bottleneck": RED | {"limit": "60 packets", "min_th": 10, "max_th": 30}},
        "traffic": [{"kind": "ftp", "count": 4, "tcp": "newreno", "segment": "960 B", "start": START}],
    }
    dumbbell(tmp_path, options, document, "unequal distances", apart=4)


def test_packets_of_many_sizes(tmp_path: Path) -> None:
    sizes = [1500, 600, 250]
    options = {"flows": 9, "tcp": "Sack1", "wire_bytes": " ".join(map(str, sizes))}
    options |= {"access_rate": "50Mb", "access_delay": "5ms", "rate": "6Mb", "delay": "12ms"}
    options |= {"queue": "RED", "gentle": "true", "min_th": 8, "max_th": 24, "limit": 80}
    access = {"rate": "50 Mbit/s", "delay": "5 ms"}
    ftp = {"kind": "ftp", "count": 3, "tcp": "sack", "start": START}
    document = {
        "topology": {
            "kind": "dumbbell",
            "pairs": 9,
            "access": access,
            "bottleneck": {"rate": "6 Mbit/s", "delay": "12 ms"},
        },
        "queue": {"bottleneck": RED | {"limit": "80 packets", "min_th": 8, "max_th": 24, "gentle": True}},
        "traffic": [ftp | {"segment": f"{size - 40} B"} for size in sizes],
    }
    dumbbell(tmp_path, options, document, "many sizes")


def figures_of(reader: Path, events: Path, limit: int) -> dict[str, float]:
    """What is compared, out of ns-2's trace of one queue."""
    with events.open() as trace:
        command = [str(reader), str(DURATION), str(limit), str(WARMUP)]
        found = json.loads(subprocess.run(command, stdin=trace, check=True, capture_output=True).stdout)
    return {q.key: validate._stored({k: str(v) for k, v in found.items()}, q.key) for q in USUAL}


def by_quantity(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    return {key: [row[key] for row in rows] for key in rows[0]}


def test_load_that_comes_and_goes(tmp_path: Path) -> None:
    reader = run_scenarios.build_reader(tmp_path)
    rows = []
    for seed in NS2_SEEDS:
        lines = ["bottleneck 5Mb 10ms DropTail 40"]
        lines += [f"ftp Reno {0.1 * flow!r}" for flow in range(3)]
        settings = "packetSize_ 500 burst_time_ 0.5 idle_time_ 0.7 rate_ 1Mb"
        lines += [f"udp Exponential {0.35 + 0.1 * i!r} {1000 * seed + 17 * i + 1} {{{settings}}}" for i in range(4)]
        lines.append(f"end {DURATION}")
        description, events = tmp_path / "description", tmp_path / "events"
        description.write_text("\n".join(lines) + "\n")
        subprocess.run(
            ["ns", str(PEERS / "traffic.tcl"), str(description), str(events), str(tmp_path / "summary")], check=True
        )
        rows.append(figures_of(reader, events, 0))
    source = {"kind": "onoff", "count": 1, "rate": "1 Mbit/s", "segment": "500 B", "on": "0.5 s", "off": "0.7 s"}
    document = {
        "name": "comes and goes",
        "duration": f"{DURATION} s",
        "warmup": f"{WARMUP} s",
        "seed": 1,
        "topology": {
            "kind": "dumbbell",
            "pairs": 7,
            "access": {"rate": "100 Mbit/s", "delay": "20 ms"},
            "bottleneck": {"rate": "5 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": "droptail", "capacity_rule": "n_minus_1", "limit": "40 packets"}},
        "traffic": [
            {"kind": "ftp", "count": 3, "tcp": "reno", "segment": "960 B", "start": ["0 s", "0.1 s", "0.2 s"]},
            *(source | {"start": f"{0.35 + 0.1 * i:g} s"} for i in range(4)),
        ],
    }
    agree("comes and goes", [document] * len(OUR_SEEDS), {"bottleneck": by_quantity(rows)})


def test_two_bottlenecks(tmp_path: Path) -> None:
    """Flows over both of two RED queues beside flows over one; start times are drawn anew for each seed."""
    reader = run_scenarios.build_reader(tmp_path)
    queues = [make_networks.Queue(30, make_networks.RED), make_networks.Queue(25, make_networks.RED)]
    plain = make_networks.parking_lot("two bottlenecks", queues, [5, 4], [10, 15], two_way=False)

    def started(seed: int) -> Any:
        draw = random.Random(seed)
        flows = [dataclasses.replace(flow, start_s=round(draw.random(), 6)) for flow in plain.flows]
        return dataclasses.replace(plain, duration_s=DURATION, flows=flows)

    watched = {wire.name: i for i, wire in enumerate(plain.wires) if wire.queue is not None}
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in watched}
    for seed in NS2_SEEDS:
        description = tmp_path / "description"
        description.write_text(make_networks.describe(started(seed), tmp_path))
        subprocess.run(["ns", str(PEERS / "networks.tcl"), str(description), str(tmp_path / "summary")], check=True)
        for name, i in watched.items():
            limit = plain.wires[i].queue.limit
            rows[name].append(figures_of(reader, tmp_path / str(i), limit))
    documents = []
    for seed in OUR_SEEDS:
        case = started(100 + seed)
        text = make_networks.scenario(case, [0.0] * len(case.flows), 1)
        document = tomllib.loads(text)
        del document["record"]
        document["warmup"] = f"{WARMUP} s"
        for queue in document["queue"].values():
            del queue["random"]
        for traffic in document["traffic"]:
            del traffic["rules"]["clock_phase"]
        documents.append(document)
    agree("two bottlenecks", documents, {name: by_quantity(found) for name, found in rows.items()})
