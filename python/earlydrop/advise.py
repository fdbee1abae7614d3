"""Ranks disciplines for a link, by a sweep over disciplines, round-trip times and loads."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import disciplines
from .analysis import statistics
from .analysis.statistics import Difference
from .document import Document
from .errors import EarlydropError
from .sweeps import Outcome, Sweep, parse_document
from .terminal import number, paragraph, table
from .toml_writer import to_toml

PACKET = 1040
"""Bytes of a packet on the wire: segments of 1000 B with headers of 40 B."""
CANDIDATES = ("droptail", "ared", "pi", "codel", "pie", "cobalt", "fq_codel", "fq_pie")
"""Disciplines that are compared by default: those of today's routers, and DropTail as the control."""
CONTROL = "droptail"
MIN_BUFFER, MAX_BUFFER = 20, 20_000
RTT_FLOOR_MS = 2.0
"""Shortest round-trip time that is allowed, ms."""
DURATION_S, WARMUP_S = 40.0, 10.0


class AdviseError(EarlydropError):
    """The link or a discipline cannot be simulated. The message says why."""


@dataclass(frozen=True)
class Link:
    """The link for which a discipline is recommended."""

    rate_bps: float
    rtts_ms: tuple[float, ...]
    flows: tuple[int, ...]
    buffer: int
    """Packets."""


_RATE = re.compile(r"^([0-9]+(?:\.[0-9]+)?) ?([kMG]?)(?:bit/s|bps)$")
_TIME = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(?:\.\.([0-9]+(?:\.[0-9]+)?))? ?(ms|s)$")
_COUNT = re.compile(r"^([0-9]+)(?:\.\.([0-9]+))?$")


def link(rate: str, rtt: str, flows: str, buffer: int | None = None) -> Link:
    """The link from `50Mbit/s`, `20..80ms`, `1..50`. A range becomes its ends and their geometric mean.

    Without a buffer it is what the link sends in the longest round trip, between 20 and 20,000 packets.

    Raises:
        AdviseError: one of them is not as it should be.
    """
    found = _RATE.match(rate.strip())
    rate_bps = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] if found else 0.0
    if not 1e4 <= rate_bps <= 1e11:
        raise AdviseError(f"--rate: given {rate}; allowed 10kbit/s to 100Gbit/s, as 50Mbit/s")
    time = _TIME.match(rtt.strip())
    unit = 1e3 if time and time[3] == "s" else 1.0
    low, high = (float(time[1]) * unit, float(time[2] or time[1]) * unit) if time else (0.0, 0.0)
    if not RTT_FLOOR_MS <= low <= high <= 1e4:
        raise AdviseError(f"--rtt: given {rtt}; allowed 2ms to 10s, or a range, as 20..80ms")
    count = _COUNT.match(flows.strip())
    least, most = (int(count[1]), int(count[2] or count[1])) if count else (0, 0)
    if not 1 <= least <= most <= 100_000:
        raise AdviseError(f"--flows: given {flows}; allowed 1 to 100000, or a range, as 1..50")
    rtts = tuple(float(f"{x:.3g}") for x in _spread(low, high))
    counts = tuple(dict.fromkeys(round(x) for x in _spread(float(least), float(most))))
    if buffer is None:
        fits = math.ceil(rate_bps * high / 1e3 / 8 / PACKET)
        buffer = max(MIN_BUFFER, min(MAX_BUFFER, fits))
    elif not 2 <= buffer <= 1_000_000:
        raise AdviseError(f"--buffer: given {buffer}; allowed 2 to 1000000 packets")
    return Link(rate_bps, rtts, counts, buffer)


def _spread(low: float, high: float) -> list[float]:
    """The ends of a range and their geometric mean; one value for no range; two where no third lies between."""
    return list(dict.fromkeys([low, math.sqrt(low * high) if high / low > 1.5 else low, high]))


def question(asked: Link, aqms: Sequence[str], seeds: int) -> Sweep:
    """The sweep: every discipline at every round-trip time and load, with the same seeds."""
    rate = f"{asked.rate_bps:.0f} bit/s"
    document: Document = {
        "name": "advise",
        "title": "Which queue for this link",
        "seeds": seeds,
        "measures": ["goodput", "utilisation", "queue_delay", "queue_delay_p99", "drop_rate", "jain"],
        "scenario": {
            "duration": f"{DURATION_S:g} s",
            "warmup": f"{WARMUP_S:g} s",
            "topology": {
                "kind": "dumbbell",
                "pairs": asked.flows[0],
                "access": {"rate": f"{10 * asked.rate_bps:.0f} bit/s", "delay": "0 ms"},
                "bottleneck": {"rate": rate, "delay": f"{asked.rtts_ms[0] / 2:g} ms"},
            },
            "queue": {"bottleneck": settings(aqms[0], asked)},
            "traffic": [{"kind": "ftp", "tcp": "sack", "segment": "1000 B", "start": {"uniform": ["0 s", "2 s"]}}],
        },
        "factor": [
            {
                "name": "aqm",
                "levels": [{"name": a, "value": a, "set": {"queue.bottleneck": settings(a, asked)}} for a in aqms],
            },
            {
                "name": "rtt",
                "unit": "ms",
                "levels": [
                    {"name": f"{x:g}", "value": x, "set": {"topology.bottleneck.delay": f"{x / 2:g} ms"}}
                    for x in asked.rtts_ms
                ],
            },
            {"name": "flows", "path": "topology.pairs", "values": list(asked.flows)},
        ],
        "control": {"aqm": CONTROL} if CONTROL in aqms and len(aqms) > 1 else {},
    }
    return parse_document(document, Path("advise"), to_toml(document))


def settings(aqm: str, asked: Link) -> Document:
    """Settings of a discipline: its defaults, the link's buffer, thresholds and packet sizes from the link."""
    known = {p["name"]: p for p in disciplines.find(aqm)["parameters"]}
    found: Document = {"aqm": aqm, "limit": f"{asked.buffer} packets"}
    for name in ("min_th", "max_th", "w_q"):
        # ns-2's rules for automatic thresholds.
        if name in known and "auto" in known[name]["range"]:
            found[name] = "auto"
    if "mean_packet" in known and known[name := "mean_packet"]["default"] != "auto":
        found[name] = f"{PACKET} B"
    return found


@dataclass(frozen=True)
class Rank:
    """The rank of a discipline."""

    aqm: str
    score: float
    """Geometric mean over the conditions of goodput over round-trip time with queueing, relative to the best."""
    utilisation: float
    delay_ms: float
    worst_p99_ms: float
    jain: float
    against: Difference | None
    """Logarithm of the score minus that of the best, for each seed."""


def rank(outcome: Outcome) -> list[Rank]:
    """The disciplines, best first. Power (goodput over delay) decides: Kleinrock's compromise of the two."""
    sweep = outcome.sweep
    aqms = [level.name for level in sweep.factor("aqm").levels]
    rtts = {k: float(p.levels[1].value) for k, p in enumerate(sweep.points)}
    points = {a: [k for k, p in enumerate(sweep.points) if p.levels[0].name == a] for a in aqms}
    scores: dict[str, list[float]] = {}
    for aqm in aqms:
        columns = []
        for k in points[aqm]:
            goodput, delay = outcome.series("goodput", k), outcome.series("queue_delay", k)
            columns.append([math.log(max(g, 1e-9) / (rtts[k] + d)) for g, d in zip(goodput, delay, strict=True)])
        if columns and all(len(c) == sweep.seeds for c in columns):
            scores[aqm] = [statistics.mean(row) for row in zip(*columns, strict=True)]
    fixed = {a for a in aqms if set(points[a]) <= set(outcome.fixed)}
    order = sorted(scores, key=lambda a: statistics.mean(scores[a]), reverse=True)
    if not order:
        raise AdviseError("no discipline could be run at every condition")
    best = order[0]

    def mean(measure: str, aqm: str) -> float:
        return statistics.mean([statistics.mean(outcome.series(measure, k)) for k in points[aqm]])

    return [
        Rank(
            aqm,
            math.exp(statistics.mean(scores[aqm]) - statistics.mean(scores[best])),
            mean("utilisation", aqm),
            mean("queue_delay", aqm),
            max(statistics.mean(outcome.series("queue_delay_p99", k)) for k in points[aqm]),
            mean("jain", aqm),
            None if aqm == best else statistics.paired(scores[aqm], scores[best], same_run={aqm, best} <= fixed),
        )
        for aqm in order
    ]


def tied(ranks: Sequence[Rank]) -> list[str]:
    """The best discipline, and those whose difference from it is not significant (its interval contains zero)."""
    return [r.aqm for r in ranks if r.against is None or not r.against.clear]


TC = {
    "droptail": "pfifo limit {limit}",
    "red": "red limit {bytes} avpkt {packet} bandwidth {kbit}kbit adaptive",
    "ared": "red limit {bytes} avpkt {packet} bandwidth {kbit}kbit adaptive",
    "linux_ared": "red limit {bytes} avpkt {packet} bandwidth {kbit}kbit adaptive",
    "choke": "choke limit {limit} bandwidth {kbit}kbit",
    # The kernel's steps; tc's defaults are half and a quarter of them.
    "sfb": "sfb limit {limit} increment 0.00101 decrement 0.00017",
    "codel": "codel limit {limit} target 5ms interval 100ms",
    "pie": "pie limit {limit} target 15ms tupdate 15ms",
    "fq_codel": "fq_codel limit {limit} target 5ms interval 100ms",
    "fq_pie": "fq_pie limit {limit} target 15ms tupdate 15ms",
    "fq": "fq limit {limit}",
    "sfq": "sfq limit {limit}",
    "drr": "drr",
    "dualpi2": "dualpi2 limit {limit}",
}
"""Disciplines in Linux, by their names in `tc`. Its `red adaptive` chooses thresholds and max_p itself."""


def tc_line(aqm: str, asked: Link) -> str | None:
    """The line for Linux, with the link's rate set by htb where the interface is faster; None if Linux lacks it."""
    form = TC.get(aqm)
    if form is None:
        return None
    kbit = round(asked.rate_bps / 1e3)
    spec = form.format(limit=asked.buffer, bytes=asked.buffer * PACKET, packet=PACKET, kbit=kbit)
    return (
        "tc qdisc add dev DEV root handle 1: htb default 1\n"
        f"tc class add dev DEV parent 1: classid 1:1 htb rate {kbit}kbit\n"
        f"tc qdisc add dev DEV parent 1:1 {spec}"
    )


def text(asked: Link, ranks: Sequence[Rank], seeds: int) -> str:
    """Everything `advise` prints."""
    rows = [
        [
            r.aqm,
            number(100 * r.score, 1),
            _against(r),
            number(r.utilisation, 1),
            number(r.delay_ms, 1),
            number(r.worst_p99_ms, 1),
            number(r.jain, 3),
        ]
        for r in ranks
    ]
    head = ["discipline", "power %", "interval", "utilisation %", "delay ms", "worst p99 ms", "Jain"]
    conditions = (
        f"{asked.rate_bps / 1e6:g} Mbit/s, round trips of {_list(asked.rtts_ms)} ms, {_list(asked.flows)} TCP flows, a "
        f"buffer of {asked.buffer} packets; {seeds} seeds. Power is goodput over round-trip time with queueing, the "
        "geometric mean over all conditions, relative to the best; its 95 % interval is over the seeds."
    )
    equal = tied(ranks)
    lines = [paragraph(conditions), "", table(head, rows, left=1), ""]
    best = ranks[0].aqm
    if len(equal) > 1:
        lines += [paragraph(f"{', '.join(equal[1:])} cannot be told from {best} on these seeds."), ""]
    lines += [f"Use {best}:", "", *(f"    {line}" for line in config(best, asked).splitlines())]
    linux = tc_line(best, asked)
    if linux is not None:
        lines += ["", "On Linux (DEV is the interface):", "", *(f"    {line}" for line in linux.splitlines())]
    else:
        other = next((r.aqm for r in ranks if r.aqm in TC), None)
        if other is not None:
            lines += ["", f"Linux has no queue of that name; of what Linux has, {other} comes first:", ""]
            lines += [f"    {line}" for line in (tc_line(other, asked) or "").splitlines()]
    return "\n".join(lines)


def config(aqm: str, asked: Link) -> str:
    """The queue's table in a scenario."""
    return to_toml({"queue": {"bottleneck": settings(aqm, asked)}}).strip()


def _against(r: Rank) -> str:
    if r.against is None:
        return "best"
    low, high = r.against.estimate.lower, r.against.estimate.upper
    return "-" if low is None or high is None else f"{100 * math.exp(low):.1f} to {100 * math.exp(high):.1f}"


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{v:g}" for v in values)


def document(asked: Link, ranks: Sequence[Rank], version: str) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "version": version,
        "link": vars(asked),
        "ranks": [
            {**{k: v for k, v in vars(r).items() if k != "against"}, "against_best": r.against and r.against.document()}
            for r in ranks
        ],
        "tied_with_best": tied(ranks),
        "use": {"aqm": ranks[0].aqm, "scenario": config(ranks[0].aqm, asked), "tc": tc_line(ranks[0].aqm, asked)},
    }
