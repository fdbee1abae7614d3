"""Traces of links that other programs recorded: Mahimahi's, irtt's, iperf3's, ping's.

Each is read as values at even times: rates in bins, or round-trip times at the interval of the probes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import foreign
from ..errors import EarlydropError

Array = NDArray[np.float64]
PACKET_BITS = 12_000.0
"""Of an opportunity of Mahimahi: 1500 bytes."""
BIN_MS = 100
"""Bins of a Mahimahi trace: shorter than the memory of links whose rate is worth a model."""
MOST_VALUES = 100_000
"""Most values that are fitted; a longer trace has longer bins."""
TEXT_BYTES = 16 << 20
"""Most bytes of a text: Mahimahi's traces have the same ceiling in scenarios."""
LINES = 3_000_000
LATEST_MS = 10**9
ALLOWED = "a trace of Mahimahi (a whole number of ms on each line), JSON of irtt or iperf3, or the output of ping"


class LinkModelError(EarlydropError):
    """A trace cannot be read, or no model fits it. The message says where and why."""


@dataclass(frozen=True)
class Trace:
    """What a trace has, at even times."""

    program: str
    """Who wrote it."""
    kind: Literal["rate", "delay"]
    step_s: float
    values: Array
    """Rates in bit/s, or round-trip times in s."""
    grain: float
    """How finely the program writes a value: a rate or a time within it may be any."""
    lost: float = 0.0
    """Share of the probes that were lost; the value before stands for each."""

    @property
    def seconds(self) -> float:
        """The time that the trace covers."""
        return self.step_s * len(self.values)


def read(path: Path) -> Trace:
    """Read a trace; its content says which program wrote it.

    Raises:
        LinkModelError: the file cannot be read, or is none of these; the message names file, line or field.
    """
    try:
        content = foreign.content(path)
        if content[:2] == b"\x1f\x8b":
            content = foreign.unpacked(content)
        if content.lstrip()[:1] == b"{":
            return _json(path, foreign.parsed(content))
        if len(content) > TEXT_BYTES:
            raise LinkModelError(f"{path}: given {len(content):,} bytes of text; allowed {TEXT_BYTES:,}")
        lines = content.decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise LinkModelError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(lines) > LINES:
        raise LinkModelError(f"{path}: given {len(lines):,} lines; allowed {LINES:,}")
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.isascii() and first.isdigit():
        return _mahimahi(path, lines)
    if any("time=" in line or line.startswith("PING ") for line in lines[:1000]):
        return _ping(path, lines)
    raise LinkModelError(f"{path}: line 1: given {_quoted(first)}; allowed {ALLOWED}")


def _quoted(word: str) -> str:
    """A wrong line in a message: numbers as they are. Other words may be of a file that nobody meant to show."""
    return foreign.shown(word) if re.fullmatch(r"[-+.,eE0-9]*", word) else f"a text of {len(word)} characters"


def _mahimahi(path: Path, lines: Sequence[str]) -> Trace:
    times: list[int] = []
    last = 0
    for number, line in enumerate(lines, 1):
        if not (word := line.strip()):
            continue
        if not (len(word) <= 10 and word.isascii() and word.isdigit() and last <= int(word) <= LATEST_MS):
            raise LinkModelError(
                f"{path}: line {number}: given {_quoted(word)}; "
                f"allowed a whole number of ms from {last:,}, the line before, to {LATEST_MS:,}"
            )
        last = int(word)
        times.append(last)
    width = BIN_MS
    while last // width > MOST_VALUES:
        width *= 2
    bins = last // width
    # An opportunity at t ms ends the t-th ms.
    index = (np.array(times) - 1).clip(0) // width
    counted = np.bincount(index[index < bins], minlength=bins)
    quantum = PACKET_BITS / (width / 1000)
    return Trace("Mahimahi", "rate", width / 1000, np.asarray(counted * quantum, float), quantum)


# ---- JSON ------------------------------------------------------------------------------------------------------------

_TIMES: foreign.Shape = {"wall?": (float, None), "monotonic?": (float, None)}
IRTT: foreign.Shape = {
    "config?": {"interval?": float},
    "round_trips": [
        {
            "lost": (bool, str),
            "delay": {"rtt?": float},
            "timestamps?": {"client?": {"send?": _TIMES}},
        }
    ],
}
_SUM: foreign.Shape = {"start": float, "seconds": float, "bytes": float, "omitted?": bool, "sender?": bool}
IPERF: foreign.Shape = {
    "start": {"test_start": {"protocol": str, "reverse?": float}},
    "intervals": [{"sum": _SUM}],
    "server_output_json?": (None, {"intervals?": [{"sum": _SUM}]}),
}
"""The shapes of what is read of these files."""


def _json(path: Path, found: Any) -> Trace:
    for key, shape, reader in (("round_trips", IRTT, _irtt), ("intervals", IPERF, _iperf)):
        if key in found:
            if said := foreign.complaint(found, shape):
                raise LinkModelError(f"{path}: {said}")
            return reader(path, found)
    raise LinkModelError(f'{path}: given an object without "round_trips" or "intervals"; allowed {ALLOWED}')


def _irtt(path: Path, found: Mapping[str, Any]) -> Trace:
    trips = found["round_trips"]
    interval_ns = float(found.get("config", {}).get("interval", 0))
    if interval_ns <= 0:
        sends = [trip.get("timestamps", {}).get("client", {}).get("send", {}).get("monotonic") for trip in trips]
        known = [float(send) for send in sends if send is not None]
        interval_ns = float(np.median(np.diff(known))) if len(known) > 1 else 0.0
    if not 1e6 <= interval_ns <= 1e12:
        raise LinkModelError(f"{path}: config.interval: given {interval_ns:g} ns; allowed 1e6 to 1e12")
    rtts: list[float | None] = []
    for number, trip in enumerate(trips, 1):
        value = trip["delay"].get("rtt") if trip["lost"] in (False, "false") else None
        if value is not None and not 0 <= value <= 1e12:
            raise LinkModelError(
                f"{path}: round_trips, item {number}: delay.rtt: given {value:g} ns; allowed 0 to 1e12"
            )
        rtts.append(None if value is None else value / 1e9)
    # irtt's clock has no grain that shows.
    return _delays(path, "irtt", rtts, interval_ns / 1e9, 1e-6)


def _iperf(path: Path, found: Mapping[str, Any]) -> Trace:
    intervals = found["intervals"]
    reverse = bool(found["start"]["test_start"].get("reverse"))
    if found["start"]["test_start"]["protocol"] == "UDP" and not reverse:
        intervals = (found.get("server_output_json") or {}).get("intervals")
        if not intervals:
            raise LinkModelError(
                f"{path}: intervals: given what a UDP client sent; allowed what arrived "
                "(iperf3 --reverse, or --get-server-output)"
            )
    sums = [one["sum"] for one in intervals if not one["sum"].get("omitted")]
    steps = [float(one["seconds"]) for one in sums]
    for number, (one, step) in enumerate(zip(sums, steps, strict=True), 1):
        if not (1e-3 <= step <= 1e3 and 0 <= one["bytes"] <= 1e15):
            raise LinkModelError(
                f"{path}: intervals, item {number}: sum: given {one['bytes']:g} bytes in {step:g} s; "
                "allowed 0 to 1e15 in 0.001 to 1,000 s"
            )
    step_s = round(float(np.median(steps)), 3) if steps else 1.0
    # iperf3 ends with a part of an interval.
    whole = [8 * one["bytes"] / step for one, step in zip(sums, steps, strict=True) if 0.5 < step / step_s < 1.5]
    return Trace("iperf3", "rate", step_s, np.array(whole[:MOST_VALUES]), PACKET_BITS / step_s)


# ---- ping ------------------------------------------------------------------------------------------------------------

_REPLY = re.compile(r"\b(?:icmp_)?seq=(\d{1,9})\b.*?\btime[=<](\d{1,9}(?:\.\d{1,9})?) ?ms", re.ASCII)
_STAMP = re.compile(r"^\[(\d{1,12}\.\d{1,9})\]", re.ASCII)
_TOTAL = re.compile(r"^(\d{1,9}) packets transmitted,.*\btime (\d{1,12})ms", re.ASCII)


def _ping(path: Path, lines: Sequence[str]) -> Trace:
    by_seq: dict[int, float] = {}
    stamps: dict[int, float] = {}
    interval, sent = 0.0, 0
    digits = 9
    for line in lines:
        if "DUP!" in line[-100:]:
            continue
        if reply := _REPLY.search(line[:400]):
            seq = int(reply[1])
            by_seq.setdefault(seq, float(reply[2]) / 1e3)
            digits = min(digits, len(reply[2].partition(".")[2]))
            if stamp := _STAMP.match(line):
                stamps.setdefault(seq, float(stamp[1]))
        elif (total := _TOTAL.match(line[:400])) and int(total[1]) > 1:
            sent, interval = int(total[1]), int(total[2]) / 1e3 / (int(total[1]) - 1)
    if not by_seq:
        raise LinkModelError(f"{path}: given no reply; allowed lines of ping with icmp_seq= and time=")
    first, last = min(by_seq), max(by_seq)
    if last - first + 1 > 2 * MOST_VALUES:
        raise LinkModelError(f"{path}: icmp_seq: given {first} to {last}; allowed {2 * MOST_VALUES:,} probes")
    if len(stamps) > 1:
        ends = min(stamps), max(stamps)
        interval = (stamps[ends[1]] - stamps[ends[0]]) / (ends[1] - ends[0])
    if not interval:
        # What ping does unless told otherwise.
        interval = 1.0
    if not 1e-3 <= interval <= 1e3:
        raise LinkModelError(f"{path}: given an interval of {interval:g} s; allowed 0.001 to 1,000")
    rtts = [by_seq.get(seq) for seq in range(first, max(last, first + sent - 1 if sent <= 2 * MOST_VALUES else 0) + 1)]
    return _delays(path, "ping", rtts, round(interval, 4), 10.0**-digits / 1e3)


def _delays(path: Path, program: str, rtts: Sequence[float | None], step_s: float, grain: float) -> Trace:
    known = [value for value in rtts if value is not None]
    if not known:
        raise LinkModelError(f"{path}: given {len(rtts)} probes without a reply; allowed replies")
    values = np.empty(len(rtts))
    before = known[0]
    for number, value in enumerate(rtts):
        before = values[number] = before if value is None else value
    values = values[:MOST_VALUES]
    return Trace(program, "delay", step_s, values, grain, 1 - len(known) / len(rtts))
