"""The line of a home: rates, framing, round-trip time, and what the modem holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ..errors import EarlydropError
from .rules import RULES

Encoding = Literal["plain", "atm", "ptm"]

SHAPED: float = RULES["shaped"]
"""The shaper's share of the line's rate: below 1, so that the queue builds up in the router."""
ETHERNET = 14
"""Bytes of an Ethernet header, which Linux counts into a packet's length at an Ethernet device."""
RTT_FLOOR_MS = 2.0


class AdviseError(EarlydropError):
    """The line or a discipline cannot be simulated. The message says why."""


@dataclass(frozen=True)
class Framing:
    """What a kind of line adds to a packet; the values are those of the keyword `cake` in tc-cake(8)."""

    title: str
    cake: str
    """CAKE's keyword."""
    overhead: int
    """Bytes added to an IP packet."""
    mpu: int = 0
    """Bytes of the smallest frame."""
    encoding: Encoding = "plain"
    mtu: int = 1500
    """Bytes of the largest IP packet."""
    rtt: str = RULES["rtt"]
    """The usual round-trip time."""
    moves: bool = False
    """Whether its rate changes all the time."""

    @property
    def ppp(self) -> bool:
        """Whether the router's device is a PPP one, which has no Ethernet header."""
        return self.mtu < 1500

    @property
    def share(self) -> float:
        """Share of the line's rate that is left after its encoding, where `tc` cannot calculate it."""
        return 64 / 65 if self.encoding == "ptm" else 1.0


LINKS = {name: Framing(**kind) for name, kind in RULES["links"].items()}
"""Kinds of lines, by name."""


@dataclass(frozen=True)
class Home:
    """A home's line."""

    down_bps: float
    up_bps: float
    """Rates of the line, its framing included."""
    rtts_ms: tuple[float, ...]
    """Round-trip times to the servers, without queueing."""
    link: str
    """A key of `LINKS`."""
    buffer: str
    """What the modem holds in each direction: a time at the line's rate, or packets, as text."""
    downloads: int = 4
    """CUBIC flows of the download."""

    @property
    def framing(self) -> Framing:
        """The framing of its kind of line."""
        return LINKS[self.link]

    @property
    def filters_acks(self) -> bool:
        """Whether it is so much slower upwards that CAKE filters ACKs there."""
        return bool(self.down_bps / self.up_bps >= RULES["ack_filter_from"])

    def shaped_bps(self, up: bool) -> float:
        """The rate of the shaper in one direction, bit/s."""
        return SHAPED * (self.up_bps if up else self.down_bps)

    def limit(self, rate_bps: float) -> str:
        """The modem's buffer in one direction, as a scenario has it."""
        number, unit = self.buffer.split()
        if unit == "packets":
            return self.buffer
        return f"{max(round(float(number) / 1e3 * rate_bps / 8), 15_140)} B"


_RATE = re.compile(r"^([0-9]+(?:\.[0-9]+)?) ?(?:([kmg]?)bit(?:/s)?|([kMG]?)bps)$", re.IGNORECASE)
_TIME = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(?:\.\.([0-9]+(?:\.[0-9]+)?))? ?(ms|s)$")
_BUFFER = re.compile(r"^([0-9]+(?:\.[0-9]+)?) ?(ms|s|packets|p|)$")


def home(
    down: str, up: str, rtt: str | None = None, link: str = "fiber", buffer: str = RULES["buffer"], downloads: int = 4
) -> Home:
    """The line from `50mbit`, `10mbit`, `20..80ms`, `docsis`, `250ms` or `100 packets`.

    A range of round-trip times stands for its two ends; without any the kind of line has one.

    Raises:
        AdviseError: one of the texts is not as it should be.
    """
    if link not in LINKS:
        raise AdviseError(f'--link: given "{link}"; allowed {", ".join(LINKS)}')
    rtt = LINKS[link].rtt if rtt is None else rtt
    time = _TIME.match(rtt.strip())
    unit = 1e3 if time and time[3] == "s" else 1.0
    low, high = (float(time[1]) * unit, float(time[2] or time[1]) * unit) if time else (0.0, 0.0)
    if not RTT_FLOOR_MS <= low <= high <= 1e4:
        raise AdviseError(f'--rtt: given "{rtt}"; allowed 2ms to 10s, or a range, as 20..80ms')
    if not 1 <= downloads <= 1000:
        raise AdviseError(f"--flows: given {downloads}; allowed 1 to 1000")
    rtts = tuple(dict.fromkeys((low, high)))
    return Home(_rate("--down", down), _rate("--up", up), rtts, link, _buffer(buffer), downloads)


def _rate(option: str, given: str) -> float:
    found = _RATE.match(given.strip())
    # In tc, `mbps` are megabytes a second.
    if found and (found[3] is None or found[3] in "kMG"):
        factor = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[(found[2] or found[3] or "").lower()]
        if 128e3 <= (rate := float(found[1]) * factor) <= 10e9:
            return rate
    raise AdviseError(f'{option}: given "{given}"; allowed 128kbit to 10gbit, as 50mbit or 50Mbit/s')


def _buffer(given: str) -> str:
    found = _BUFFER.match(given.strip())
    if found and found[2] in ("ms", "s"):
        ms = float(found[1]) * (1e3 if found[2] == "s" else 1.0)
        if 1 <= ms <= 10_000:
            return f"{ms:g} ms"
    elif found and found[1].isdigit() and 2 <= int(found[1]) <= 1_000_000:
        return f"{found[1]} packets"
    raise AdviseError(f'--buffer: given "{given}"; allowed 1ms to 10s, as 250ms, or 2 to 1000000 packets, as "100p"')
