"""The study floadautored: the chapter's set-up, what its network is by definition, and where its load factor acts."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from earlydrop import study
from earlydrop.scenario import parse
from earlydrop.study.model import Study


@pytest.fixture(scope="module")
def chapter() -> Study:
    return study.find("floadautored")


def document(chapter: Study, experiment: str, **levels: str) -> dict[str, Any]:
    """The scenario of one cell, with all readings at their base."""
    e = chapter.experiment(experiment)
    return e.document(tuple({**e.base, **levels}[name] for name in e.names), "floadautored")


def test_the_set_up_is_table_6_2(chapter: Study) -> None:
    """32 FTP flows over TCP and a UDP flow of 2 Mbit/s between two routers, with the parameters of the table."""
    given = document(chapter, "F", aqm="floadautored")
    queue = parse(given).document["queue"]["bottleneck"]
    table = {"min_th": 100, "max_th": 200, "max_p": 0.02, "gamma": 0.2, "delta": 11.25, "stable_interval": 0.06}
    assert {name: queue[name] for name in table} == table
    assert queue["limit"] == "300 packets"
    assert given["topology"]["kind"] == "dumbbell"
    tcp, udp = given["traffic"]
    assert (tcp["kind"], tcp["count"], tcp["segment"]) == ("ftp", 32, "1000 B")
    assert (udp["kind"], udp["count"], udp["rate"], udp["segment"]) == ("cbr", 1, "2 Mbit/s", "1000 B")
    other = parse(document(chapter, "F", aqm="autoredwithred")).document["queue"]["bottleneck"]
    same = ("min_th", "max_th", "max_p", "limit")
    assert {name: other[name] for name in same} == {name: queue[name] for name in same}


def test_while_packets_wait_the_link_is_fully_used(chapter: Study) -> None:
    """Where a packet is left behind by a departure, the next one follows as soon as the link has sent the first."""
    given = document(chapter, "F", aqm="floadautored") | {"duration": "20 s", "warmup": "5 s"}
    given["record"] = {"trace": 100_000}
    trace = parse(given).run().document["trace"]
    at = {name: number for number, name in enumerate(trace["columns"])}
    sent = [row for row in trace["events"] if row[at["event"]] == "-"]
    gaps = [
        (after[at["time_s"]] - before[at["time_s"]], 8 * before[at["size"]] / 1e6)
        for before, after in itertools.pairwise(sent)
        if before[at["queue_packets"]] > 0
    ]
    assert len(gaps) > 1000
    assert max(abs(gap - transmission) for gap, transmission in gaps) < 1e-6


def test_a_larger_interval_holds_the_probability_where_the_load_is_near_the_capacity(chapter: Study) -> None:
    """The network of the claims on delta is one in which it acts; in the chapter's set-up it does nothing."""

    def run(load: str, interval: str) -> tuple[float, list[float]]:
        given = document(chapter, "F-interval", load=load, interval=interval) | {"duration": "100 s"}
        found = parse(given).run(seed=1).document
        series = found["series"]["queues"]["bottleneck"]
        inside = [1 <= z < 1.06 for z, a in zip(series["gauges"]["z"], series["average"], strict=True) if a >= 100]
        return sum(inside) / len(inside), series["average"]

    near, narrow = run("near", "0.06"), run("near", "0.015")
    assert near[0] > 0.3
    assert near[1] != narrow[1]
    chapters, same = run("chapter", "0.06"), run("chapter", "0.015")
    assert chapters[0] == 0
    assert chapters[1] == same[1]
