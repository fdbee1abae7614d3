"""What a sweep found, in a few sentences: its differences from the control, by the rules of analysis/words.py.

Without a control nothing is tested: the sentences then name the points with the smallest and the largest mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..analysis.words import (
    LISTED,
    MEAN,
    ORDER,
    SPOKEN,
    TAIL,
    Finding,
    Found,
    amount,
    finding,
    in_words,
    listing,
    listing_points,
    points_opposite,
    to_set,
    wanted,
    way,
    within,
)
from . import matrix_text
from .parts import is_pooled

if TYPE_CHECKING:
    from ..analysis.quantity import Quantity
    from ..analysis.shared import Part
    from ..analysis.statistics import Difference
    from .model import Sweep
    from .outcome import Outcome

FACTORS = 2
"""The most factors with a control that sentences speak of."""


OF_SOME = re.compile(r"(queues\.[^.]+\.(traffic|bands|classes)|traffic)\.[^.]+\..*(delay|rtt)_\w+_ms")
"""Fields with a delay of some of the traffic."""
APART = (
    "Where a discipline has several queues, traffic entries have delays of their own, so no delay of all together is "
    "compared; queues.{}.traffic.0.delay_mean_ms, with record.by_flow, is that of the first entry."
)


@dataclass
class Group:
    """The findings on one measure of one level against the control, at all points."""

    counts: Counter[Found] = field(default_factory=Counter)
    ends: dict[Found, tuple[tuple[Finding, str], tuple[Finding, str]]] = field(default_factory=dict)
    """For each kind of finding the smallest and the largest difference, and where these are."""
    left_out: int = 0
    """Number of points that are not judged."""

    def add(self, one: Finding, where: str) -> None:
        """Add the finding at a point."""
        self.counts[one.found] += 1
        low, high = self.ends.get(one.found, ((one, where), (one, where)))
        if one.size < low[0].size:
            low = one, where
        if one.size > high[0].size:
            high = one, where
        self.ends[one.found] = low, high

    @property
    def points(self) -> int:
        """The number of points, also of those that are not judged."""
        return self.counts.total() + self.left_out

    @property
    def size(self) -> float:
        """The largest difference."""
        return max(high.size for _, (high, _) in self.ends.values())

    @property
    def some(self) -> Finding:
        """Any of the findings."""
        return next(iter(self.ends.values()))[0][0]

    def both(self, kind: Found) -> list[Finding]:
        """The smallest and the largest difference of which this was found."""
        return [one for one, _ in self.ends.get(kind, ())]


NOTHING = "No queue formed {}, and nothing was dropped or marked: the disciplines had nothing to do {}."


def summary(outcome: Outcome) -> list[str]:
    """What a sweep found, where a queue formed at all, and whether its windows are long enough."""
    count, unused = len(outcome.sweep.points), 0 if outcome.unused is None else int(outcome.unused.sum())
    if unused == count:
        return [NOTHING.format("in any run", "and are not compared")]
    nothing = [NOTHING.format(f"at {unused:,} of {count:,} points", "there")] if unused else []
    return [*nothing, *sentences(outcome), *_apart(outcome.sweep), *_windows(outcome)]


def _windows(outcome: Outcome) -> list[str]:
    """Sentences on points whose windows are too short for what they average, and on those that were not examined."""
    sweep, every = outcome.sweep, len(outcome.sweep.points)
    if not outcome.warmups:
        return ["No window was examined, because runs failed."] if outcome.tally.failed else []
    some = len(outcome.warmups) < every
    examined = f"{len(outcome.warmups):,} of {every:,} points were examined for windows that are too short"
    short = {k: one for k, one in outcome.warmups.items() if one is not None and one.short}
    if not short:
        return [f"{examined}: none is."] if some else []
    worst = sorted(short, key=lambda k: -short[k].excess)
    named = [sweep.called(sweep.points[k]) for k in worst[:LISTED]]
    where = listing_points([*named, f"{len(worst) - LISTED:,} more"] if len(worst) > LISTED else named)
    of = f" (examined: {len(outcome.warmups):,} of {every:,})" if some else ""
    what = ", so no difference is judged there" if len(outcome.pairs) else ""
    points = f"{len(short):,} point{'s' if len(short) > 1 else ''}{of}"
    return [f"The window is too short at {points}{what}: {where}. Try {to_set(short.values())}."]


def _opposite(outcome: Outcome) -> list[str]:
    """Sentences where mean and 99 % quantile of a queueing delay point opposite ways, both clearly."""
    sweep = outcome.sweep
    known = {m.id for m in sweep.measures}
    if sweep.parts == ():
        of = {TAIL: ("", MEAN)}
    else:
        of = {part.id(TAIL): (f" of {part.title}", part.id(MEAN)) for part in (sweep.parts or ())[:LISTED]}
    left_out = outcome.short_pairs
    of = {tail: one for tail, one in of.items() if {tail, one[1]} <= known}
    begun = {mean for _, mean in of.values()}
    means: dict[tuple[str, int, str], Difference] = {}
    said: dict[str, list[str]] = {tail: [] for tail in of}
    every = Counter[str]()
    for pair, name, difference in outcome.differences if of else ():
        if name in begun:
            means[(pair.factor, pair.point, name)] = difference
        if (
            name not in of
            or (pair.factor, pair.point) in left_out
            or (mean := means.pop((pair.factor, pair.point, of[name][1]), None)) is None
        ):
            continue
        every[name] += 1
        if points_opposite(mean, difference):
            sizes = [
                amount(abs(one.estimate.mean), one.estimate.half_width, sweep.measure(m), signed=False)
                for m, one in ((of[name][1], mean), (name, difference))
            ]
            levels = sweep.called(sweep.points[pair.point])
            ways = [way(one.estimate.mean) for one in (mean, difference)]
            said[name].append(f"the mean is {sizes[0]} {ways[0]} but the quantile {sizes[1]} {ways[1]} at {levels}")
    return [
        f"Mean and 99 % quantile of the queueing delay{of[tail][0]} point opposite ways at {len(here):,} of "
        f"{every[tail]:,} points against the control: {here[0]}."
        for tail, here in said.items()
        if here
    ]


def sentences(outcome: Outcome) -> list[str]:
    """What was found of the differences, or of the means."""
    sweep = outcome.sweep
    if not len(outcome.pairs):
        return _range(outcome)
    if sweep.most == 1:
        return ["One seed cannot tell a difference from chance: nothing is claimed. Run more seeds."]
    tested = outcome.tests.count
    if not outcome.tests.tested:
        return ["No difference from the control has an interval, so nothing is claimed."]
    if len(outcome.pairs) > matrix_text.MANY:
        judged = [m for m in spoken(sweep) if m.better is not None]
        many = matrix_text.sentences(outcome.matrix, sweep, judged, tested)
        return [*many, *_unjudged(outcome), *_opposite(outcome)]
    said = [
        f"{quantity.title} against {_level(outcome, factor, control)}: {_listed(outcome, factor, groups)}."
        for factor, control in list(sweep.control.items())[:FACTORS]
        for quantity, groups in _groups(outcome, factor)
        if groups
    ]
    if not said:
        return [*_unjudged(outcome), *_opposite(outcome)]
    n = f"at most {sweep.most}" if sweep.stop or outcome.tally.failed else str(sweep.seeds)
    corrected = f"; what is claimed remains after Holm's correction for {tested:,} differences" if tested > 1 else ""
    brackets = f"Brackets are 95 % intervals of the differences seed by seed, n = {n}{corrected}."
    return [*said, *_unjudged(outcome), *_opposite(outcome), brackets]


def _unjudged(outcome: Outcome) -> list[str]:
    """Sentences on the means of what nobody said which way is better."""
    others = [m for m in spoken(outcome.sweep) if m.better is None]
    said = _means(outcome, others)[0] if others else []
    return [f"{one} No `better` says which is to be preferred." for one in said]


def spoken(sweep: Sweep) -> list[Quantity]:
    """The measures that were asked for; delay and throughput, unless the sweep names its measures; of entries that have
    delays of their own those of each. No delay that is nobody's.
    """
    known = {m.id: m for m in sweep.measures}
    found = [next((known[name] for name in names if name in known), None) for names in wanted(sweep.measures)]
    said = [m for m in found if m is not None and not is_pooled(sweep, m)]
    own = [known[name] for part in (sweep.parts or ())[:LISTED] for name in _of_part(part) if name in known]
    return [*(m for m in said if m.asked or not own), *own]


def _of_part(part: Part) -> list[str]:
    return [part.id(name) for name in (MEAN, SPOKEN[1][0])]


def _apart(sweep: Sweep) -> list[str]:
    """What to say where the measured delays are nobody's, and where sentences leave entries out."""
    pooled = any(is_pooled(sweep, m) for m in sweep.measures)
    told = any(OF_SOME.fullmatch(m.field) for m in sweep.measures)
    if pooled and len(sweep.parts or ()) > LISTED:
        return [f"The table has {len(sweep.parts or ()) - LISTED} traffic entries more."]
    return [APART.format(sweep.queue)] if pooled and not told else []


# ---- against a control ---------------------------------------------------------------------------------------------


def _groups(outcome: Outcome, factor: str) -> Iterator[tuple[Quantity, dict[str, Group]]]:
    """The findings by measure and level, against the control of a factor."""
    sweep, judged = outcome.sweep, [m for m in spoken(outcome.sweep) if m.better is not None]
    names = [f.name for f in sweep.factors]
    at = names.index(factor)
    left_out = outcome.short_pairs
    statements = (len(outcome.pairs) - len(left_out)) * len(judged)
    found: dict[str, dict[str, Group]] = {m.id: {} for m in judged}
    unjudged: Counter[tuple[str, str]] = Counter()
    for (pair, name, difference), (holm, _) in zip(outcome.differences, outcome.corrected, strict=True):
        if pair.factor != factor or name not in found:
            continue
        levels = sweep.points[pair.point].levels
        if (pair.factor, pair.point) in left_out:
            unjudged[name, _level(outcome, factor, levels[at].name)] += 1
            continue
        where = sweep.called(sweep.points[pair.point], but=at)
        one = finding(difference, sweep.measure(name), holm, statements)
        found[name].setdefault(_level(outcome, factor, levels[at].name), Group()).add(one, where)
    for (name, level), count in unjudged.items():
        if level in found[name]:
            found[name][level].left_out = count
    yield from ((m, found[m.id]) for m in judged)


def _level(outcome: Outcome, factor: str, name: str) -> str:
    return outcome.sweep.level_called([f.name for f in outcome.sweep.factors].index(factor), name)


def _listed(outcome: Outcome, factor: str, groups: dict[str, Group]) -> str:
    ordered = sorted(groups.items(), key=lambda one: -one[1].size)
    shown, rest = ordered[:LISTED], len(ordered) - LISTED
    if all(group.counts.total() == 1 for group in groups.values()) and len(outcome.sweep.factors) == 1:
        parts = in_words([(name, group.some) for name, group in shown])
    else:
        parts = _alike(shown) + [f"with {name} {_mixed(group)}" for name, group in shown if len(group.counts) > 1]
    return "; ".join(parts) + (f"; {rest} more in the table" if rest > 0 else "")


def _alike(shown: list[tuple[str, Group]]) -> list[str]:
    """Levels of which the same was found at every point, in groups."""
    parts = []
    for kind in ORDER:
        same = [(name, group) for name, group in shown if list(group.counts) == [kind]]
        for count, left_out in sorted({(group.counts[kind], group.left_out) for _, group in same}):
            here = [one for one in same if (one[1].counts[kind], one[1].left_out) == (count, left_out)]
            where = f"at all {count:,} points" if count > 1 else "at one point"
            if left_out:
                where = f"at {count:,} of {count + left_out:,} points ({left_out:,} not judged)"
            named = listing(name for name, _ in here)
            if kind in ("equal", "none", "not judged"):
                some = [one for _, group in here for one in group.both(kind)]
                parts.append(f"{_plain(kind, some)} {where} with {named}")
                continue
            ranges = [f"with {name}, by {_range_of(group, kind)}" for name, group in here]
            parts.append(f"{kind} {where} {listing(ranges) if len(ranges) < 3 else '; '.join(ranges)}")
    return parts


def _mixed(group: Group) -> str:
    """`less at 10 of 12 points, by ... to ..., perhaps less at 1, no difference found at 1`."""
    parts: list[str] = []
    for kind in (kind for kind in ORDER if kind in group.counts):
        count = group.counts[kind]
        where = f"at {count:,}" + ("" if parts else f" of {group.points:,} points")
        if kind in ("less", "more"):
            parts.append(f"{kind} {where}, by {_range_of(group, kind)}")
        else:
            parts.append(f"{_plain(kind, group.both(kind))} {where}")
    if group.left_out:
        parts.append(f"not judged at {group.left_out:,}")
    return ", ".join(parts)


def _range_of(group: Group, kind: Found) -> str:
    """`8.0 ms (7.3 to 8.7) at 10 ms, up to 10 ms (9.3 to 10.7) at 30 ms`: the smallest and the largest difference."""
    ends = dict.fromkeys(group.ends[kind])
    if len(ends) > 1 and len({one.amount for one, _ in ends}) == 1:
        return f"{group.ends[kind][0][0].amount} each"
    return ", up to ".join(one.amount + (f" at {where}" if where else "") for one, where in ends)


def _plain(kind: Found, some: Sequence[Finding]) -> str:
    return {"equal": f"equal ({within(*some)})", "none": "no difference found"}.get(kind, kind)


# ---- without a control ---------------------------------------------------------------------------------------------


def _range(outcome: Outcome) -> list[str]:
    """Between which means the points lie."""
    said, intervals = _means(outcome, spoken(outcome.sweep))
    if not said:
        return []
    brackets = "Brackets are 95 % intervals of the means; the" if intervals else "The"
    why = "has no point to compare with another" if outcome.sweep.control else "names no `control`"
    return [*said, f"{brackets} sweep {why}, so no difference is claimed."]


def _means(outcome: Outcome, spoken: Sequence[Quantity]) -> tuple[list[str], bool]:
    """A sentence on each of some measures: its smallest and its largest mean. Whether these have intervals."""
    low: dict[str, tuple[float, str, str]] = {}
    high: dict[str, tuple[float, str, str]] = {}
    intervals = False
    for row in outcome.rows():
        where = outcome.sweep.called(outcome.sweep.points[row.number])
        for m in spoken:
            cell = outcome.cell(row, m.id)
            if cell.mean is None:
                continue
            text = partial(amount, cell.mean, cell.half_width, m, signed=True, ends=cell.ends)
            if m.id not in low or cell.mean < low[m.id][0]:
                low[m.id] = cell.mean, text(), where
            if m.id not in high or cell.mean > high[m.id][0]:
                high[m.id] = cell.mean, text(), where
            intervals |= cell.half_width is not None
    said = []
    for m in spoken:
        if m.id not in low:
            continue
        (_, small, here), (_, large, there) = low[m.id], high[m.id]
        at = f" at {here}" if here else ""
        said.append(
            f"{m.title} is {small}{at}."
            if low[m.id] == high[m.id]
            else f"{m.title} is {small} at all points."
            if small == large
            else f"{m.title} has means from {small}{at} to {large} at {there}."
        )
    return said, intervals
