"""Ranks disciplines by latency under load, and says which differences are real.

The latency of a discipline is what the load adds to a call's round trip: in each direction the delay that 95 of 100
voice packets do not exceed, less the smallest on the idle line; the sum of both directions. One discipline is better
than another if the difference over the same seeds is significant after Holm's correction for all pairs, and large
enough to be noticed. One that clearly loses too many voice packets is worse than all that do not: a packet that is
dropped early has no latency. A discipline's rank is therefore a range: from one more than the number of those that are
better to the number of those that are not worse.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..analysis import statistics
from ..analysis.statistics import Difference, Estimate
from ..sweeps import Outcome
from .line import AdviseError, Home
from .model import ALONE, MEASURES, RUNNABLE, TODAY, measure_id, times
from .rules import RULES

NOTICED_MS = 1.0
"""A smaller difference in latency counts as none: a packet of 1500 B takes longer at 10 Mbit/s."""
LOSS = 0.05
"""Fraction of voice packets that a call may lose. By ITU-T G.107, G.711 with concealment has R = 77 there; with twice
this loss R is below 70, where many users are dissatisfied."""
PREFERRED: tuple[str, ...] = tuple(RULES["preferred"])
"""Disciplines by preference: of several equal ones the first is configured. CAKE knows the line's framing and the hosts
behind it, and filters ACKs; the others are the more widely installed first."""

Column = list[float]
"""Values of a measure, one per seed."""


@dataclass(frozen=True)
class Rank:
    """What was measured with a queue: means over the seeds with 95 % intervals."""

    queue: str
    latency_ms: Estimate
    """What the load adds to a call's round trip."""
    loss: Estimate
    """Fraction of the call's voice packets that are lost, mean of both directions."""
    page_s: Estimate
    """Mean time until a page is loaded."""
    down_mbps: Estimate
    up_mbps: Estimate
    """Goodput of the bulk transfers."""
    first: int = 0
    last: int = 0
    """The best and the worst rank that the differences leave open; 0 for a line without a discipline."""

    @property
    def lossy(self) -> bool:
        """Whether it clearly loses more voice packets than `LOSS`: the interval lies above."""
        return self.loss.lower is not None and self.loss.lower > LOSS

    @property
    def place(self) -> str:
        """The range of ranks as text: `1`, or `1-3`."""
        if not self.first:
            return ""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    def document(self) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {"queue": self.queue}
        for name in ("latency_ms", "loss", "page_s", "down_mbps", "up_mbps"):
            found[name] = getattr(self, name).document()
        return found | ({"first": self.first, "last": self.last} if self.first else {})


@dataclass(frozen=True)
class Advice:
    """The result: what the line is like idle and today, the disciplines by rising latency, and which to configure."""

    home: Home
    seeds: int
    idle: Rank
    today: Rank
    ranks: list[Rank]
    columns: dict[str, dict[str, Column]]
    """`latency` (ms), `loss` (%), `page` (s) and `bulk` (goodput of both directions, Mbit/s): by queue, one value per
    seed."""
    use: str
    """The discipline that is configured."""

    @property
    def shared(self) -> list[str]:
        """The disciplines of the best rank: no other is better."""
        return [r.queue for r in self.ranks if r.first == 1]

    def of(self, queue: str) -> Rank:
        """A discipline's rank."""
        return next(r for r in self.ranks if r.queue == queue)

    def gained(self, name: str) -> Difference:
        """A measure with the configured discipline minus that with today's line, seed by seed."""
        return statistics.paired(self.columns[name][self.use], self.columns[name][TODAY])


def advise(home: Home, outcome: Outcome) -> Advice:
    """The advice that follows from the runs.

    Raises:
        AdviseError: a run failed.
    """
    found = {level.name: _columns(home, outcome, level.name) for level in outcome.sweep.factor("queue").levels}
    base = found[ALONE]
    idle = [min(least) for least in base["least"]]
    latencies = {
        queue: _mean([[value - at for value in column] for column, at in zip(own["delay"], idle, strict=True)])
        for queue, own in found.items()
    }

    def measured(queue: str) -> Rank:
        own = found[queue]
        loss, page, down, up = (statistics.estimate(_mean(own[name])) for name in ("loss", "page", "down", "up"))
        return Rank(queue, statistics.estimate(latencies[queue]), loss, page, down, up)

    ranks = [measured(queue) for queue in found if queue not in (ALONE, TODAY)]
    ranks.sort(key=lambda r: (r.lossy, r.latency_ms.mean))
    ranges = placed([r.queue for r in ranks], latencies, {r.queue for r in ranks if r.lossy})
    ranks = [replace(r, first=ranges[r.queue][0], last=ranges[r.queue][1]) for r in ranks]
    columns = {
        "latency": latencies,
        "loss": {queue: [100 * value for value in _mean(own["loss"])] for queue, own in found.items()},
        "page": {queue: _mean(own["page"]) for queue, own in found.items()},
        "bulk": {
            queue: [down + up for down, up in zip(_mean(own["down"]), _mean(own["up"]), strict=True)]
            for queue, own in found.items()
        },
    }
    return Advice(home, outcome.sweep.seeds, measured(ALONE), measured(TODAY), ranks, columns, _use(ranks))


def _columns(home: Home, outcome: Outcome, queue: str) -> dict[str, list[Column]]:
    """For each measure, one column for each round-trip time."""
    _, measured = times(home)
    found: dict[str, list[Column]] = {name: [] for name in ("delay", "least", "loss", "page", "down", "up")}
    for k, point in enumerate(outcome.sweep.points):
        if point.levels[0].name != queue:
            continue
        got = {
            (entry, field): outcome.values[measure_id(entry, field)][k]
            for entry, fields in MEASURES.items()
            for field in fields
        }
        if any(len(column) != outcome.sweep.seeds for column in got.values()):
            raise AdviseError(f"{queue}: a run failed; the same command tries it again")

        def both(field: str, got: dict[tuple[str, str], list[float | None]] = got) -> Column:
            pairs = zip(got["voice_down", field], got["voice_up", field], strict=True)
            return [(a or 0.0) + (b or 0.0) for a, b in pairs]

        def bulk(way: str, got: dict[tuple[str, str], list[float | None]] = got) -> Column:
            pairs = zip(got[f"{way}_cubic", "goodput_mbps"], got[f"{way}_bbr", "goodput_mbps"], strict=True)
            return [(a or 0.0) + (b or 0.0) for a, b in pairs]

        least = both("delay_min_ms")
        found["least"].append(least)
        found["delay"].append([a + b for a, b in zip(least, both("pdv_p95_ms"), strict=True)])
        found["loss"].append([value / 2 for value in both("loss_ratio")])
        # If no page was loaded within the measured time, a page took longer than that.
        pages = got["page", "transfers.time_mean_s"]
        found["page"].append([measured if value is None else value for value in pages])
        found["down"].append(bulk("down"))
        found["up"].append(bulk("up"))
    return found


def _mean(columns: Sequence[Column]) -> Column:
    """The mean of several columns, seed by seed."""
    return [statistics.mean(row) for row in zip(*columns, strict=True)]


def placed(
    aqms: Sequence[str], latencies: dict[str, Column], lossy: Collection[str] = ()
) -> dict[str, tuple[int, int]]:
    """The range of ranks of each discipline; those that are `lossy` come after all others."""
    pairs = list(itertools.combinations(aqms, 2))
    differences = [statistics.paired(latencies[a], latencies[b]) for a, b in pairs]
    p_values = statistics.holm([d.t_p if d.t_p is not None else 1.0 for d in differences]) if pairs else []
    better = dict.fromkeys(aqms, 0)
    worse = dict.fromkeys(aqms, 0)
    for (a, b), difference, p in zip(pairs, differences, p_values, strict=True):
        by = difference.estimate.mean
        if (a in lossy) != (b in lossy):
            winner, loser = (b, a) if a in lossy else (a, b)
        elif p < statistics.ALPHA and abs(by) >= NOTICED_MS:
            winner, loser = (a, b) if by < 0 else (b, a)
        else:
            continue
        better[loser] += 1
        worse[winner] += 1
    return {a: (1 + better[a], len(aqms) - worse[a]) for a in aqms}


def _use(ranks: Sequence[Rank]) -> str:
    """The discipline to configure: of those with the best rank the preferred one, else the first that Linux has."""
    there = [r for r in ranks if r.queue in RUNNABLE]
    best = min(r.first for r in there)
    equal = [r.queue for r in there if r.first == best]
    return next((name for name in PREFERRED if name in equal), equal[0])
