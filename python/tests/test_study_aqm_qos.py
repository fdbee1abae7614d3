"""The study aqm-qos: both modes of RED where they must agree, and what ns-2 gives for the same set-ups."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import study
from earlydrop.scenario import parse
from earlydrop.study.experiment import Experiment
from earlydrop.study.model import Study

PAPER = {"dialect": "paper", "wait": "auto", "max_packet": "500 B", "min_th": 5, "max_th": 15, "w_q": 0.002}


@pytest.fixture(scope="module")
def qos() -> Study:
    return study.find("aqm-qos")


def base(e: Experiment, **levels: str) -> dict[str, Any]:
    """The scenario of one cell, with all readings at their base."""
    cell = tuple({**e.base, **levels}[name] for name in e.names)
    return e.document(cell, "aqm-qos")


@pytest.mark.parametrize("dialect", ["ns2", "paper"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_packets_of_the_mean_size_both_modes_are_the_same_run(qos: Study, dialect: str, seed: int) -> None:
    """Table 3's row of 500 B: 528 and 528. Here to the last digit, but for the unit in which RED keeps its average."""
    results = []
    for levels in ({"mode": "packet"}, {"mode": "byte"}, {"mode": "byte", "switch": "both"}):
        document = base(qos.experiment("Q-3"), size="500", **levels)
        document["name"], document["duration"] = "same", "40 s"
        if dialect == "paper":
            document["queue"]["bottleneck"] |= PAPER
        result = parse(document).run(seed=seed).document
        del result["cost"]
        average = result["queues"]["bottleneck"].pop("average_mean_packets")
        results.append((result, average))
    (packet, average), *others = results
    drops = packet["queues"]["bottleneck"]["early_drops"]
    assert drops > 20
    for other, its_average in others:
        assert other == packet
        assert its_average == pytest.approx(average, rel=1e-9)


def ns2(study: Study) -> dict[str, list[dict[str, float]]]:
    """What ns-2 gave: case -> one row a seed."""
    found = defaultdict(list)
    with (study.folder / "ns2" / "seeds.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            found[row.pop("case")].append({key: float(value) for key, value in row.items() if value})
    return found


MODES = {"packet": {"mode": "packet"}, "byte": {"mode": "byte"}, "queue": {"mode": "byte", "switch": "queue"}}
"""ns-2's names for its switches."""

CASES = [
    *(
        (f"table3-{size}-{mode}", "Q-3", {"size": size, "start": "together", **levels})
        for size in ("500", "3000")
        for mode, levels in MODES.items()
    ),
    *((f"table4-{mode}", "Q-4", {"mode": mode}) for mode in ("packet", "byte")),
    *(
        (f"table5-{size}-{ecn}", "Q-5", {"size": size, "ecn": ecn})
        for size in ("296", "13000")
        for ecn in ("on", "off")
    ),
    *((f"table6-{ecn}", "Q-6", {"ecn": ecn}) for ecn in ("on", "off")),
]


@pytest.mark.parametrize(("case", "experiment", "levels"), CASES, ids=[case for case, _, _ in CASES])
def test_agrees_with_ns2(qos: Study, case: str, experiment: str, levels: dict[str, str]) -> None:
    """Means over ten seeds, with other random numbers: four standard errors, and 1 % for what has no scatter."""
    theirs = ns2(qos)[case]
    document = base(qos.experiment(experiment), **levels)
    ours = defaultdict(list)
    for seed in range(1, 11):
        queue = parse(document).run(seed=seed).document["queues"]["bottleneck"]
        ours["delivered"].append(queue["departures"])
        ours["dropped"].append(queue["early_drops"] + queue["forced_drops"] + queue["overflow_drops"])
        ours["delivered_bytes"].append(queue["departed_bytes"])
        ours["dropped_bytes"].append(queue["dropped_bytes"])
        ours["delay_ms"].append(queue["delay_mean_ms"])
    for key, values in ours.items():
        other = [row[key] for row in theirs]
        mean, its = statistics.fmean(values), statistics.fmean(other)
        error = (statistics.variance(values) / len(values) + statistics.variance(other) / len(other)) ** 0.5
        assert abs(mean - its) <= 4 * error + 0.01 * its, f"{key}: {mean} here, {its} in ns-2, standard error {error}"


# ---- what the paper says of networks and TCP, which no claim on DropTail and RED could deny --------------------------


def test_the_network_is_the_papers(qos: Study) -> None:
    """All links 10 Mbit/s and 1 ms, wherever the study says so; and nothing but the bottleneck's rate differs."""
    for name in ("Q-1", "Q-2b", "Q-3", "Q-4", "Q-5", "Q-6", "Q-7", "Q-8", "Q-9"):
        e = qos.experiment(name)
        for rate, built in (("10", "10 Mbit/s"), ("0.5", "0.5 Mbit/s")):
            network = base(e, **{a.id: a.ids[0] for a in e.axes if not a.reading}, rate=rate)["topology"]
            assert network["kind"] == "dumbbell"
            assert network["access"] == {"rate": "10 Mbit/s", "delay": "1 ms"}, name
            assert network["bottleneck"] == {"rate": built, "delay": "1 ms"}, name


def test_both_disciplines_meet_the_same_load(qos: Study) -> None:
    """With a seed the flows start at the same times under either, and what they are is the same but for the queue."""
    e = qos.experiment("Q-1")
    one, other = (base(e, aqm=aqm, flows="16") for aqm in ("droptail", "red"))
    assert one["traffic"] == other["traffic"]
    assert one["topology"] == other["topology"]
    for document in (one, other):
        document["duration"] = "1 s"
    starts = [[flow["start_s"] for flow in parse(d).run(seed=3).document["flows"]] for d in (one, other)]
    assert starts[0] == starts[1]
    assert len(set(starts[0])) == 16


def test_a_wait_is_the_bytes_ahead_over_the_rate(qos: Study) -> None:
    """Packets of four sizes: each waits for what is left of the packet under way and for the bytes in the queue."""
    document = base(qos.experiment("Q-4"), mode="packet")
    document |= {"duration": "40 s", "record": {"trace": 100_000}}
    rate, free, waited = 0.5e6, 0.0, 0
    queued: list[tuple[float, int]] = []
    for time, kind, _, _, size, _ in parse(document).run(seed=1).document["trace"]["events"]:
        if kind == "+":
            ahead = max(0.0, free - time) + sum(8 * bytes_ / rate for _, bytes_ in queued)
            queued.append((time + ahead, size))
            waited += ahead > 0
        elif kind == "d":
            queued.pop()
        else:
            due, of = queued.pop(0)
            assert (of, time) == (size, pytest.approx(due, abs=1e-6))
            free = time + 8 * size / rate
    assert waited > 400


def test_each_queue_has_a_management_of_its_own() -> None:
    """Two bottlenecks in a row: what one drops, and what it is, is nothing to the other."""
    document: dict[str, Any] = {
        "name": "two",
        "duration": "20 s",
        "topology": {
            "kind": "parking_lot",
            "bottlenecks": 2,
            "pairs": 0,
            "cross": 4,
            "access": {"rate": "10 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "1 Mbit/s", "delay": "1 ms"},
        },
        "queue": {name: {"aqm": "droptail", "limit": "10 packets"} for name in ("bottleneck1", "bottleneck2")},
        "traffic": [{"kind": "ftp", "count": 8, "tcp": "reno", "start": {"uniform": ["0 s", "1 s"]}}],
    }
    both = parse(document).run(seed=1).document["queues"]
    assert both["bottleneck1"]["overflow_drops"] > 10 < both["bottleneck2"]["overflow_drops"]
    document["queue"]["bottleneck2"] = {"aqm": "red", "limit": "40 packets", "min_th": 5, "max_th": 15}
    changed = parse(document).run(seed=1).document["queues"]
    assert changed["bottleneck1"] == both["bottleneck1"]
    assert changed["bottleneck2"] != both["bottleneck2"]


@ed.policy
class InARow:
    """Drops some packets that follow each other, once."""

    row: int = ed.param(1, range=(0, 8), doc="How many.")

    arrived: int = 0

    def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> ed.Verdict:
        self.arrived += 1
        return ed.Verdict.drop() if 0 <= self.arrived - 200 < self.row else ed.Verdict.PASS


@pytest.mark.parametrize("tcp", ["tahoe", "reno", "newreno", "vegas", "sack"])
def test_tcp_recovers_more_easily_from_one_drop_than_from_several_at_once(tcp: str) -> None:
    """A transfer of 1000 packets, of which none, one or four in a row are dropped: what the drops cost it."""
    took = {}
    for row in (0, 1, 4):
        document = {
            "name": "rows",
            "duration": "60 s",
            "topology": {
                "kind": "dumbbell",
                "pairs": 1,
                "access": {"rate": "10 Mbit/s", "delay": "1 ms"},
                "bottleneck": {"rate": "2 Mbit/s", "delay": "20 ms"},
            },
            "queue": {"bottleneck": {"aqm": "in_a_row", "limit": "100 packets", "row": row}},
            "traffic": [
                {
                    "kind": "transfers",
                    "size": "1000 packets",
                    "tcp": tcp,
                    "segment": "500 B",
                    "window": 20,
                    "start": {"uniform": ["0 s", "1 s"]},
                }
            ],
        }
        result = parse(document).run(seed=1).document
        assert result["queues"]["bottleneck"]["early_drops"] == row
        took[row] = result["flows"][0]["completion_s"]
    assert took[0] < took[1] < took[4], took
