"""Kinds of measures: the values they can take, and how small a difference is no difference.

Every comparison and every claim on a measure uses the margin of its kind, so that nobody chooses one claim by claim.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from ..errors import EarlydropError


@dataclass(frozen=True)
class Margin:
    """How far apart two values may be and still count as equal."""

    size: float
    relative: bool
    """Whether `size` is a fraction of the value that is compared with."""
    reason: str

    def around(self, value: float) -> float:
        """The margin around a value, in its unit."""
        return self.size * abs(value) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:g} %" if self.relative else f"{self.size:g}"


@dataclass(frozen=True)
class Kind:
    """What measures of one kind have in common."""

    name: str
    title: str
    margin: Margin | None
    low: float = 0.0
    high: float = math.inf
    """The smallest and the largest value; of a share the fraction, also where a measure is given in per cent."""
    better: Literal["less", "more"] | None = None
    """The better direction, where the kind has one."""

    def bounds(self, unit: str) -> tuple[float, float]:
        """The smallest and the largest value in a unit."""
        scale = 100.0 if unit == "%" else 1.0
        return scale * self.low, scale * self.high

    def margin_in(self, unit: str) -> Margin | None:
        """The margin in a unit: that of a share is in points where the measure is given in per cent."""
        if self.margin is None or self.margin.relative or unit != "%":
            return self.margin
        return Margin(100 * self.margin.size, False, self.margin.reason)


_KINDS = (
    Kind(
        "throughput",
        "throughput, goodput, packets and bytes delivered",
        Margin(
            0.01,
            True,
            "counting headers or retransmissions, or not, moves a throughput by more than a hundredth",
        ),
        better="more",
    ),
    Kind(
        "utilisation",
        "utilisation of a link",
        Margin(0.01, True, "a throughput over a constant rate"),
        high=1.0,
        better="more",
    ),
    Kind(
        "delay",
        "delays, transfer and completion times",
        Margin(0.02, True, "the time of one packet more or less in a queue of fifty"),
        better="less",
    ),
    Kind(
        "queue",
        "lengths of queues and averages",
        Margin(0.02, True, "one packet in fifty; tools differ by one in what they call a full queue"),
        better="less",
    ),
    Kind(
        "loss",
        "numbers of packets dropped or marked, sums over them",
        Margin(0.05, True, "throughput goes with the inverse square root of loss: 5 % of loss are 2.5 % of throughput"),
        better="less",
    ),
    Kind(
        "loss rate",
        "drop and mark rates",
        Margin(0.05, True, "a number of drops over a number of packets"),
        high=1.0,
        better="less",
    ),
    Kind(
        "index",
        "Jain's index and other indices of fairness, shares of a whole",
        Margin(0.01, False, "a hundredth of the range of an index, a point of a share"),
        high=1.0,
        better="more",
    ),
    Kind(
        "spread",
        "standard deviations and other measures of how much something varies",
        Margin(0.05, True, "thirty runs know a standard deviation to 13 %; a twentieth is not worth a claim"),
        better="less",
    ),
    Kind("number", "what has no margin: slopes, logarithms, numbers of anything else", None, low=-math.inf),
)
KINDS = {kind.name: kind for kind in _KINDS}
"""Kinds of measures, by name."""
NUMBER = KINDS["number"]

SCATTER = KINDS["spread"].margin
"""How much the levels of an axis may differ and still count as equal, whatever the measure."""


class FieldError(EarlydropError):
    """No part of a result document has a field of this name."""


@cache
def _declared() -> dict[str, tuple[Kind, str]]:
    """The kind and the unit of each field of result documents by its name, as the engine declares it."""
    import earlydrop._core as _core

    return {one["name"]: (KINDS.get(one["kind"], NUMBER), one["unit"]) for one in json.loads(_core.result_fields())}


def declared(field: str) -> tuple[Kind, str]:
    """The kind and the unit of a field of a result: of the last step of its path that the engine declares."""
    known = _declared()
    return next((known[name] for name in reversed(field.split(".")) if name in known), (NUMBER, ""))


def kind_of(field: str) -> Kind:
    """The kind of a field of a result document.

    Raises:
        FieldError: the engine declares none of the steps.
    """
    if not _declared().keys() & set(field.split(".")):
        raise FieldError(f"{field}: no field of a result has this name")
    return declared(field)[0]


# ---- steps ---------------------------------------------------------------------------------------------------------

PACKET = ("departures", "departed_bytes", "utilisation", "throughput_mbps")
"""Fields of a queue's result from which the time to send one packet follows."""


def sending_ms(departures: Any, departed_bytes: Any, utilisation: Any, throughput_mbps: Any) -> Any:
    """How long a packet of the mean size that left a queue took to send."""
    return 8e-3 * departed_bytes / departures * utilisation / throughput_mbps


def is_percentile(field: str, queue: str) -> bool:
    """Whether a field of a result is a percentile of this queue's delay, of all its packets or of some."""
    return re.fullmatch(rf"queues\.{re.escape(queue)}\.(.+\.)?delay_p\d+_ms", field) is not None


def step(field: str, value: float, queue: Mapping[str, Any], window_s: float) -> float:
    """What one packet more or less at a queue changes in this value of a field; 0 where that is not known.

    A percentile of a delay moves by the time that a packet takes to send, as packets wait for whole packets, or by the
    width of a bin of the histogram if that is more. A mean over packets, a rate over the window and a mean over time
    move by one packet's part of them.
    """
    last = field.rpartition(".")[2]
    known = [queue.get(name) for name in PACKET]
    sending = sending_ms(*known) if all(known) else 0.0
    if re.fullmatch(r"delay_p\d+_ms", last):
        return max(sending, bin_ms(value))
    if not all(known) or not window_s:
        return 0.0
    packets, size = queue["departures"], queue["departed_bytes"] / queue["departures"]
    parts = {
        "utilisation": sending / 1e3 / window_s,
        "queue_mean_packets": sending / 1e3 / window_s,
        "delay_mean_ms": sending / packets,
        "drop_rate": 1 / (queue.get("arrivals") or packets),
        "jain": 2 / packets,
    }
    rates = re.fullmatch(r"(throughput|goodput)(_total)?_mbps", last)
    return float(8e-6 * size / window_s if rates else parts.get(last, 0.0))


def bin_ms(value_ms: float) -> float:
    """Width of the bin of a delay in a queue's histogram: 1 us up to 2 ms, then a thousandth of it or less."""
    microseconds = max(1.0, 1e3 * abs(value_ms))
    return float(max(1e-3, 1e-3 * 2 ** (math.floor(math.log2(microseconds)) - 10)))
