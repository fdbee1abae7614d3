"""What is taken from result documents."""

from __future__ import annotations

from typing import Any

import pytest

from earlydrop.study.extraction import MISSING, Extraction, ExtractionError

DOCUMENT: dict[str, Any] = {
    "jain": 0.5,
    "flows": [
        {"kind": "ftp", "goodput_mbps": 1.0, "completion_s": 2.0},
        {"kind": "ftp", "goodput_mbps": 3.0, "completion_s": None},
        {"kind": "cbr", "goodput_mbps": 5.0},
    ],
    "queues": {"a": {"drops": 1}, "b": {"drops": 4}},
    "losses": {"by_distance": [4, 2, 0]},
    "series": {
        "time_s": [0.0, 1.0, 2.0, 3.0],
        "queues": {"q": {"packets": [0, 2, 4, 6], "average": None, "flow": [None, 1, 0, 1]}},
    },
    "rates": {"time_s": [1.0, 2.0], "flows": [{"mbps": [5.0, 7.0]}]},
    "windows": {
        "time_s": [0.0, 1.0, 2.0, 3.0],
        # Two that rise and fall as one; two that do the contrary, the second by half as much; two that do not know of
        # each other; two that stand still.
        "as_one": [{"cwnd": [1.0, 3.0, 1.0, 3.0]}, {"cwnd": [2.0, 4.0, 2.0, 4.0]}],
        "against": [{"cwnd": [1.0, 3.0, 1.0, 3.0]}, {"cwnd": [2.0, 1.0, 2.0, 1.0]}],
        "apart": [{"cwnd": [1.0, 1.0, 3.0, 3.0]}, {"cwnd": [1.0, 3.0, 1.0, 3.0]}],
        "still": [{"cwnd": [2.0, 2.0, 2.0, 2.0]}, {"cwnd": [5.0, 5.0, 5.0, 5.0]}],
    },
    "loads": {"time_s": [0.0, 1.0, 2.0], "flows": [{"mbps": [1.0, 2.0, 3.0]}, {"mbps": [4.0, 0.0, 2.5]}]},
    "empty": [],
    "name": "x",
}


@pytest.mark.parametrize(
    ("extraction", "value"),
    [
        (Extraction("jain"), 0.5),
        (Extraction("flows.1.goodput_mbps"), 3.0),
        (Extraction("flows.1.completion_s"), None),
        (Extraction("flows.*.goodput_mbps", "sum"), 9.0),
        (Extraction("flows.*.goodput_mbps", "sum", (("kind", "ftp"),)), 4.0),
        (Extraction("flows.*.goodput_mbps", "mean"), 3.0),
        (Extraction("flows.*.goodput_mbps", "min"), 1.0),
        (Extraction("flows.*.goodput_mbps", "max"), 5.0),
        (Extraction("flows.*.goodput_mbps", "deviation"), 2.0),
        (Extraction("flows.*.goodput_mbps", "jain"), 81 / 105),
        # 1, 3 and 5: mean 3, squared distances 4, 0 and 4.
        (Extraction("flows.*.goodput_mbps", "cov"), (8 / 3) ** 0.5 / 3),
        (Extraction("empty", "cov"), None),
        (Extraction("flows.*.goodput_mbps", "p50"), 3.0),
        (Extraction("flows.*.goodput_mbps", "p95"), 5.0),
        (Extraction("flows.*.goodput_mbps", "count"), 3.0),
        (Extraction("flows.*.completion_s", "count"), 1.0),
        (Extraction("flows.*.goodput_mbps", "count", at_most=3.0), 2.0),
        (Extraction("losses.by_distance", "sum", at_most=2.0), 2.0),
        (Extraction("losses.by_distance", "max", at_most=-1.0), None),
        (Extraction("flows.*.completion_s", "mean"), 2.0),
        (Extraction("flows.*.completion_s", "list"), [2.0, None, None]),
        (Extraction("flows.*.goodput_mbps", "count", (("kind", "video"),)), 0.0),
        (Extraction("queues.*.drops", "sum"), 5.0),
        (Extraction("losses.by_distance", "sum"), 6.0),
        (Extraction("losses.by_distance", "list"), [4, 2, 0]),
        (Extraction("empty", "max"), None),
        (Extraction("windows.as_one.*.cwnd", "mean"), 2.5),
        (Extraction("windows.as_one.*.cwnd", "mean", added=True), 5.0),
        (Extraction("windows.as_one.*.cwnd", "max", added=True), 7.0),
        # 3, 4, 3, 4: mean 3.5, each half from it.
        (Extraction("windows.against.*.cwnd", "cov", added=True), 0.5 / 3.5),
        (Extraction("windows.against.*.cwnd", "max", added=True, to_s=1.0), 3.0),
        (Extraction("windows.as_one.*.cwnd", "together"), 1.0),
        (Extraction("windows.against.*.cwnd", "together"), -1.0),
        (Extraction("windows.apart.*.cwnd", "together"), 0.0),
        (Extraction("windows.apart.*.cwnd", "together", from_s=1.0, to_s=3.0), -1.0),
        (Extraction("windows.still.*.cwnd", "together"), 0.0),
        (Extraction("series.queues.q.packets", "mean"), 3.0),
        (Extraction("series.queues.q.packets", "mean", from_s=1.0, to_s=3.0), 3.0),
        (Extraction("series.queues.q.packets", "max", to_s=2.0), 2.0),
        (Extraction("series.queues.q.packets", "times", from_s=2.0), [[2.0, 3.0], [4, 6]]),
        (Extraction("series.queues.q.average", "times"), None),
        (Extraction("series.queues.q.packets", "sum", when=(("series.queues.q.flow", (1.0,)),)), 8.0),
        (Extraction("series.queues.q.packets", "sum", from_s=1.0, when=(("series.queues.q.flow", (0.0, 1.0)),)), 12.0),
        (Extraction("series.queues.q.packets", "count", at_most=3.0, when=(("series.queues.q.flow", (1.0,)),)), 1.0),
        # The nearest times that fit are the series' own.
        (Extraction("rates.flows.0.mbps", "times", from_s=1.5), [[2.0], [7.0]]),
        # Entry by entry 5, 2 and 5.5; without `added` the six numbers are pooled.
        (Extraction("loads.flows.*.mbps", "min", added=True), 2.0),
        (Extraction("loads.flows.*.mbps", "max", added=True), 5.5),
        (Extraction("loads.flows.*.mbps", "mean", from_s=1.0, added=True), 3.75),
        (Extraction("loads.flows.*.mbps", "max"), 4.0),
    ],
)
def test_values(extraction: Extraction, value: Any) -> None:
    assert extraction(DOCUMENT) == pytest.approx(value) if isinstance(value, float) else extraction(DOCUMENT) == value


@pytest.mark.parametrize(
    "extraction",
    [
        Extraction("jian"),
        Extraction("flows.7.goodput_mbps"),
        Extraction("flows.*.goodput", "sum"),
        Extraction("flow.*.goodput_mbps", "sum"),
        Extraction("flows.*.goodput_mbps", "mean", (("kind", "video"),)),
        Extraction("jain.x"),
    ],
)
def test_fields_that_are_not_there(extraction: Extraction) -> None:
    assert extraction(DOCUMENT) is MISSING


@pytest.mark.parametrize(
    ("extraction", "says"),
    [
        (Extraction("flows"), "is a list; say how"),
        (Extraction("queues"), "is a table"),
        (Extraction("name"), "is no number"),
        (Extraction("jain", "sum"), "is no list"),
        (Extraction("flows.*.goodput_mbps", "together"), "gives no series"),
        (Extraction("losses.by_distance", "sum", from_s=1.0), "is no time series"),
        (Extraction("losses.by_distance", "sum", when=(("series.queues.q.flow", (1.0,)),)), "is no list as long as"),
        (Extraction("queues.*.drops", "sum", added=True), "is no set of series"),
    ],
)
def test_fields_of_another_kind_are_refused(extraction: Extraction, says: str) -> None:
    with pytest.raises(ExtractionError, match=says):
        extraction(DOCUMENT)


def test_the_columns_of_a_store_include_those_that_choose() -> None:
    assert ["recorded"] in Extraction("losses.by_distance", "sum", when=(("series.queues.q.flow", (1.0,)),)).columns


def records(*rows: tuple[float, str, int, int], total: int | None = None) -> dict[str, Any]:
    """A document with these packet records: time in ms, event, flow, segment."""
    events = [[ms / 1e3, event, flow, seq, 1000, 0] for ms, event, flow, seq in rows]
    columns = ["time_s", "event", "flow", "seq", "size", "queue_packets"]
    return {"trace": {"columns": columns, "events": events, "total": len(rows) if total is None else total}}


def of_trace(document: dict[str, Any], reduce: str, flow: int | None = None, at_most: float | None = None) -> Any:
    where = () if flow is None else (("flow", flow),)
    return Extraction("trace", reduce, where, at_most=at_most)(document)


def test_time_until_a_dropped_segment_comes_again() -> None:
    document = records(
        (0, "+", 1, 7),
        (0, "d", 1, 7),
        (1, "+", 2, 7),
        (1, "d", 2, 7),
        (5, "+", 1, 8),
        (10, "+", 1, 7),
        # Lost once more, and never seen again.
        (10, "d", 1, 7),
        (31, "+", 2, 7),
    )
    assert of_trace(document, "repair", 1) == pytest.approx(10.0)
    assert of_trace(document, "repair", 2) == pytest.approx(30.0)
    assert of_trace(document, "repair") == pytest.approx(20.0)
    assert of_trace(records((0, "+", 1, 1)), "repair", 1) is None


def test_drops_that_follow_each_other() -> None:
    document = records((0, "d", 1, 1), (2, "d", 2, 1), (3, "d", 1, 2), (50, "d", 1, 3))
    assert of_trace(document, "followed", at_most=10) == 0.5
    assert of_trace(document, "followed", at_most=1.5) == 0.25
    assert of_trace(document, "followed", 1, 10) == pytest.approx(1 / 3)
    assert of_trace(records((0, "+", 1, 1)), "followed", at_most=10) is None


def test_whom_drops_hit_while_a_flow_has_a_packet_waiting() -> None:
    document = records(
        (0, "+", 1, 1),
        # Flow 2 has nothing waiting, and its arrival is not there yet: no drop that counts.
        (1, "+", 2, 1),
        (1, "d", 1, 1),
        # Its first packet waits: of these two drops one hits it, the second the arrival of flow 1.
        (2, "+", 2, 2),
        (2, "d", 2, 1),
        (3, "+", 1, 2),
        (3, "d", 1, 2),
        # The one that waits leaves; then only flow 1 is there.
        (4, "-", 2, 2),
        (5, "+", 1, 3),
        (6, "+", 1, 4),
        (6, "d", 1, 4),
    )
    assert of_trace(document, "hit", 2) == 0.5
    assert of_trace(records((0, "+", 1, 1), (0, "d", 1, 1)), "hit", 2) is None


def test_packet_records_that_are_not_all_there_are_refused() -> None:
    with pytest.raises(ExtractionError, match=r"has 1 of 5 records: record.trace is too small"):
        of_trace(records((0, "+", 1, 1), total=5), "repair")
    with pytest.raises(ExtractionError, match="has no packet records"):
        Extraction("name", "repair")(DOCUMENT)
    assert of_trace(DOCUMENT, "repair") is MISSING
