"""What is taken from result documents."""

from __future__ import annotations

from typing import Any

import pytest

from earlydrop.study.take import MISSING, Take, TakeError

DOCUMENT: dict[str, Any] = {
    "jain": 0.5,
    "flows": [
        {"kind": "ftp", "goodput_mbps": 1.0, "completion_s": 2.0},
        {"kind": "ftp", "goodput_mbps": 3.0, "completion_s": None},
        {"kind": "cbr", "goodput_mbps": 5.0},
    ],
    "queues": {"a": {"drops": 1}, "b": {"drops": 4}},
    "losses": {"by_distance": [4, 2, 0]},
    "series": {"time_s": [0.0, 1.0, 2.0, 3.0], "queues": {"q": {"packets": [0, 2, 4, 6], "average": None}}},
    "rates": {"time_s": [1.0, 2.0], "flows": [{"mbps": [5.0, 7.0]}]},
    "empty": [],
    "name": "x",
}


@pytest.mark.parametrize(
    ("take", "value"),
    [
        (Take("jain"), 0.5),
        (Take("flows.1.goodput_mbps"), 3.0),
        (Take("flows.1.completion_s"), None),
        (Take("flows.*.goodput_mbps", "sum"), 9.0),
        (Take("flows.*.goodput_mbps", "sum", (("kind", "ftp"),)), 4.0),
        (Take("flows.*.goodput_mbps", "mean"), 3.0),
        (Take("flows.*.goodput_mbps", "min"), 1.0),
        (Take("flows.*.goodput_mbps", "max"), 5.0),
        (Take("flows.*.goodput_mbps", "deviation"), 2.0),
        (Take("flows.*.goodput_mbps", "jain"), 81 / 105),
        # 1, 3 and 5: mean 3, squared distances 4, 0 and 4.
        (Take("flows.*.goodput_mbps", "cov"), (8 / 3) ** 0.5 / 3),
        (Take("empty", "cov"), None),
        (Take("flows.*.goodput_mbps", "p50"), 3.0),
        (Take("flows.*.goodput_mbps", "p95"), 5.0),
        (Take("flows.*.goodput_mbps", "count"), 3.0),
        (Take("flows.*.completion_s", "count"), 1.0),
        (Take("flows.*.goodput_mbps", "count", at_most=3.0), 2.0),
        (Take("losses.by_distance", "sum", at_most=2.0), 2.0),
        (Take("losses.by_distance", "max", at_most=-1.0), None),
        (Take("flows.*.completion_s", "mean"), 2.0),
        (Take("flows.*.completion_s", "list"), [2.0, None, None]),
        (Take("flows.*.goodput_mbps", "count", (("kind", "video"),)), 0.0),
        (Take("queues.*.drops", "sum"), 5.0),
        (Take("losses.by_distance", "sum"), 6.0),
        (Take("losses.by_distance", "list"), [4, 2, 0]),
        (Take("empty", "max"), None),
        (Take("series.queues.q.packets", "mean"), 3.0),
        (Take("series.queues.q.packets", "mean", from_s=1.0, to_s=3.0), 3.0),
        (Take("series.queues.q.packets", "max", to_s=2.0), 2.0),
        (Take("series.queues.q.packets", "times", from_s=2.0), [[2.0, 3.0], [4, 6]]),
        (Take("series.queues.q.average", "times"), None),
        # The nearest times that fit are the series' own.
        (Take("rates.flows.0.mbps", "times", from_s=1.5), [[2.0], [7.0]]),
    ],
)
def test_values(take: Take, value: Any) -> None:
    assert take(DOCUMENT) == pytest.approx(value) if isinstance(value, float) else take(DOCUMENT) == value


@pytest.mark.parametrize(
    "take",
    [
        Take("jian"),
        Take("flows.7.goodput_mbps"),
        Take("flows.*.goodput", "sum"),
        Take("flow.*.goodput_mbps", "sum"),
        Take("flows.*.goodput_mbps", "mean", (("kind", "video"),)),
        Take("jain.x"),
    ],
)
def test_fields_that_are_not_there(take: Take) -> None:
    assert take(DOCUMENT) is MISSING


@pytest.mark.parametrize(
    ("take", "says"),
    [
        (Take("flows"), "is a list; say how"),
        (Take("queues"), "is a table"),
        (Take("name"), "is no number"),
        (Take("jain", "sum"), "is no list"),
        (Take("losses.by_distance", "sum", from_s=1.0), "is no time series"),
    ],
)
def test_fields_of_another_kind_are_refused(take: Take, says: str) -> None:
    with pytest.raises(TakeError, match=says):
        take(DOCUMENT)
