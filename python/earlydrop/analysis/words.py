"""What a comparison found, in two or three sentences that say no more than its intervals hold.

A difference is claimed only where it remains after Holm's correction for all differences of the table; "may have" is
said of one whose own 95 % interval excludes zero and that does not remain, or that is the same in all runs and so has
no interval. Two disciplines are called equal only where
the interval lies within the margin of the measure, at a confidence widened for the number of such statements (the rule
of equivalence in docs/statistics.md). Of everything else it is said that no difference was found. Where a window is
too short for its means, nothing is judged: a longer one may give a difference another sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from . import statistics
from .overflows import no_queue
from .quantity import LISTED as LISTED
from .quantity import MEAN as MEAN
from .quantity import TAIL as TAIL
from .statistics import ALL_RUNS, ALPHA, Difference

if TYPE_CHECKING:
    from .paired import Comparison
    from .quantity import Quantity
    from .window import Window

Found = Literal["less", "more", "perhaps less", "perhaps more", "equal", "none", "not judged", "left out"]
"""What may be said of a difference; `left out`: nothing, because a window is too short."""
SHOWN_MEANS = 12
"""The most means in a sentence of a measure without a better direction."""
SPOKEN = (("queue_delay", "delay"), ("goodput", "throughput"))
"""The measures of the sentences, each with the one to take where it is missing."""
PRECISION = 6


@dataclass(frozen=True)
class Finding:
    """What is known of one measure of one discipline against the control."""

    found: Found
    quantity: Quantity
    difference: Difference

    @property
    def size(self) -> float:
        """How far apart the means are."""
        return abs(self.difference.estimate.mean)

    @property
    def amount(self) -> str:
        """`12.1 ms (9.0 to 15.2)`: the size of the difference with its 95 % interval."""
        e = self.difference.estimate
        return amount(abs(e.mean), e.half_width, self.quantity, signed=False)

    @property
    def span(self) -> str:
        """`-0.1 to 0.3 ms`: the 95 % interval of the difference."""
        e = self.difference.estimate
        half = e.half_width or 0.0
        digits = _digits(half, (e.mean - half, e.mean + half), self.quantity)
        return f"{_plain(e.mean - half, digits)} to {_plain(e.mean + half, digits)}{_unit(self.quantity)}"


def finding(difference: Difference, quantity: Quantity, p_holm: float | None, statements: int) -> Finding:
    """What may be said of this difference, as one of several statements; `p_holm` is its corrected p value."""
    return Finding(_found(difference, quantity, p_holm, statements), quantity, difference)


def _found(difference: Difference, quantity: Quantity, p_holm: float | None, statements: int) -> Found:
    e = difference.estimate
    if e.half_width is None:
        return "not judged"
    margin, wide = quantity.margin, difference.around(1 - ALPHA / max(1, statements))
    if margin is not None and wide is not None:
        around = margin.around(difference.control)
        if -around <= wide[0] and wide[1] <= around:
            return "equal"
    # Differences that are all equal have no p value.
    if p_holm is not None and not difference.clear:
        return "none"
    if p_holm is not None and p_holm < ALPHA:
        return "less" if e.mean < 0 else "more"
    return "perhaps less" if e.mean < 0 else "perhaps more"


# ---- sentences -----------------------------------------------------------------------------------------------------


def sentences(results: Sequence[tuple[str, Comparison]]) -> list[str]:
    """What comparisons of the same disciplines found; each with its round-trip time, as `20 ms`, or "" alone.

    The first discipline is the control.
    """
    first = results[0][1]
    if len(first.aqms) == 1:
        return [_alone(results)]
    if all(_delivers_nothing(result) for _, result in results):
        return ["No data arrived with any of the disciplines, so there is nothing to compare."]
    if len(first.seeds) == 1:
        return ["One seed cannot tell a difference from chance: nothing is claimed. Run more seeds."]
    idle, unused = _idle(results), [label for label, result in results if nothing_to_do(result)]
    if len(unused) == len(results):
        return [_unused(results, [])]
    if not any(result.replicated for _, result in results):
        return ["Every seed gives the same run, so the differences have no intervals and nothing is claimed."]
    tests, found = findings(results)
    asked = {m.id: m for m in first.measures if m.asked}
    said: list[str] = []
    for part, measures in spoken(first):
        here = [found[name] for name in measures if name in found]
        if here or not (said or asked):
            said += _sentences(results, here, part)
        said += [line for name in measures if name in asked and not here for line in _means(results, asked[name])]
    counts = sorted({len(result.seeds) for _, result in results})
    n = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    brackets = f"Brackets are 95 % intervals of the differences seed by seed, n = {n}"
    corrected = f"; what is claimed remains after Holm's correction for {tests} differences" if tests > 1 else ""
    nothing = [_unused(results, unused)] if unused else []
    judged = any(row for rows in found.values() for row in rows if any(one.found != "left out" for one in row))
    said += _apart(first)
    brackets_ = [f"{brackets}{corrected}."] if judged or not found else []
    return [*idle, *nothing, *said, *opposite(results), *brackets_, *_windows(results)]


def _sentences(
    results: Sequence[tuple[str, Comparison]], found: Sequence[Sequence[Sequence[Finding]]], part: str
) -> list[str]:
    """What was found of some measures: of two disciplines in one sentence, else in one for each measure."""
    first = results[0][1]
    if len(first.aqms) == 2 and len(results) == 1:
        ones = [rows[0][0] for rows in found]
        return [] if any(one.found == "left out" for one in ones) else [_pair(first, ones, part)]
    labels = [label for label, _ in results]
    return [_listed(first, labels, kept) for rows in found if any(kept := [_said(row) for row in rows])]


def _said(row: Sequence[Finding]) -> Sequence[Finding]:
    """The findings on a discipline; none where a window is too short in all of them."""
    return [] if all(one.found == "left out" for one in row) else row


def _means(results: Sequence[tuple[str, Comparison]], m: Quantity) -> list[str]:
    """The means of a measure of which nobody said which way is better: they are not judged."""
    if m.better is not None:
        return []
    first, said = results[0][1], []
    for aqm in first.aqms:
        for label, result in results:
            e = result.estimate(aqm, m.id)
            if e is not None:
                at = f" at {label}" if label else ""
                said.append(f"{amount(e.mean, e.half_width, m, signed=True)} with {first.titles[aqm]}{at}")
    if not said:
        return []
    rest = f"; {len(said) - SHOWN_MEANS} more in the table" if len(said) > SHOWN_MEANS else ""
    return [f"{m.title} is {listing(said[:SHOWN_MEANS])}{rest}; no `better` says which is to be preferred."]


def wanted(measures: Sequence[Quantity]) -> list[tuple[str, ...]]:
    """The measures of the sentences: those asked for, then delay and throughput; each with the one to take else."""
    asked = [m.id for m in measures if m.asked]
    return [*((name,) for name in asked), *(names for names in SPOKEN if not set(names) & set(asked))]


def spoken(result: Comparison) -> list[tuple[str, list[str]]]:
    """The measures of the sentences: each that was asked for, then those of all traffic, or by title of each entry with
    a delay of its own."""
    known = {m.id for m in result.measures if result.series(result.aqms[0], m.id)} - result.same.keys()
    asked = [m.id for m in result.measures if m.asked]
    said = [("", [name]) for name in asked]
    if result.parts:
        own = [(one.title, [one.id(MEAN), one.id(SPOKEN[1][0])]) for one in result.parts[:LISTED]]
        gone = {*asked, *result.same}
        return [*said, *((title, [name for name in names if name not in gone]) for title, names in own)]
    usual: list[str] = []
    for names in wanted(result.measures)[len(asked) :]:
        # Where entries have delays of their own, that of all together is nobody's.
        if (result.parts is not None or names != SPOKEN[0]) and names[0] not in result.same:
            usual += [name for name in names if name in known][:1]
    return [*said, ("", usual)]


def _apart(result: Comparison) -> list[str]:
    """Why sentences speak of no delay, or not of all that is compared."""
    if result.parts is None:
        return ["The traffic entries have delays of their own here, so no delay of all together is compared."]
    rest = len(result.parts) - LISTED
    what = "queues" if all(part.index is None for part in result.parts) else "traffic entries"
    return [f"The table has {rest} {what} more."] if rest > 0 else []


def _delivers_nothing(result: Comparison) -> bool:
    """Whether every run delivered nothing. Its delays are 0 by convention, and would be equal."""
    for name in SPOKEN[1]:
        if (result.aqms[0], name) in result.values:
            values = [v for aqm in result.aqms for v in result.series(aqm, name)]
            return bool(values) and not any(values)
    return False


def _idle(results: Sequence[tuple[str, Comparison]]) -> list[str]:
    """A sentence on each discipline that never acted: its figures are those of the full buffer."""
    first, found = results[0][1], []
    for aqm in first.aqms:
        places = [label for label, result in results if aqm in result.idle]
        if places:
            where = f" at {listing(places)}" if len(places) < len(results) else ""
            found.append(f"{first.titles[aqm]} never acted{where}: all its drops are overflows of the buffer.")
    return found


def nothing_to_do(result: Comparison) -> bool:
    """Whether no queue formed in any run."""
    queues = [run["queues"].get(name) for run in result.runs.values() for name in result.queues]
    return bool(queues) and all(queue is not None and no_queue(queue) for queue in queues)


def _unused(results: Sequence[tuple[str, Comparison]], labels: Sequence[str]) -> str:
    """What to say where no queue formed, at some or at all of the round-trip times."""
    here = [result for label, result in results if not labels or label in labels]
    runs = [(result, run) for result in here for run in result.runs.values()]
    used = [100 * run["queues"][name]["utilisation"] for result, run in runs for name in result.queues]
    low, high = f"{min(used):.2g}", f"{max(used):.2g}"
    share = f"{low} %" if low == high else f"{low} to {high} %"
    where = f" at {listing(labels)}" if labels else ""
    return (
        f"The link was used to {share}{where}: no queue formed and nothing was dropped or marked, so the disciplines "
        "had nothing to do and are not compared."
    )


def opposite(results: Sequence[tuple[str, Comparison]]) -> list[str]:
    """A sentence where mean and 99 % quantile of the queueing delay point opposite ways, both clearly."""
    first, found = results[0][1], []
    if first.parts:
        named = [(f" of {part.title}", part.id(MEAN), part.id(TAIL)) for part in first.parts[:LISTED]]
    else:
        named = [] if first.parts is None else [("", MEAN, TAIL)]
    for of, *names in named:
        said = []
        for aqm in first.aqms[1:]:
            for label, result in results:
                mean, tail = (result.differences[aqm].get(result.same.get(name, name)) for name in names)
                if left_out(result, aqm):
                    continue
                if mean is not None and tail is not None and points_opposite(mean, tail):
                    at = f" at {label}" if label else ""
                    said.append(f"with {first.titles[aqm]}{at} {_both(result, aqm, names, (mean, tail))}")
        if not said:
            continue
        rest = f"; so at {len(said) - LISTED} places more" if len(said) > LISTED else ""
        what = f"Mean and 99 % quantile of the queueing delay{of} point opposite ways against"
        found.append(f"{what} {first.titles[first.aqms[0]]}: {'; '.join(said[:LISTED])}{rest}.")
    return found


def _both(result: Comparison, aqm: str, names: Sequence[str], differences: Sequence[Difference]) -> str:
    said = []
    for what, name, difference in zip(("mean", "quantile"), names, differences, strict=True):
        id_ = result.same.get(name, name)
        quantity = next(m for m in result.measures if m.id == id_)
        e = difference.estimate
        size = amount(abs(e.mean), e.half_width, quantity, signed=False)
        perhaps = "" if result.stars(aqm, id_) == 2 else "perhaps "
        said.append(f"the {what} is {perhaps}{size} {way(e.mean)}")
    return " but ".join(said)


def points_opposite(mean: Difference, tail: Difference) -> bool:
    """Whether both intervals exclude zero, on different sides."""
    return mean.clear and tail.clear and mean.estimate.mean * tail.estimate.mean < 0


def way(difference: float) -> str:
    """The direction of a difference: `lower` or `higher`."""
    return "lower" if difference < 0 else "higher"


def left_out(result: Comparison, aqm: str) -> bool:
    """Whether no sentence judges this discipline's differences: its window, or the control's, is too short."""
    return result.short(aqm) or result.short(result.aqms[0])


def to_set(windows: Iterable[Window]) -> str:
    """What to set where these windows are too short: `warmup = "40 s" and duration = "640 s"`."""
    short = [one for one in windows if one.short]
    warmup, duration = (max(getattr(one, name) or 0.0 for one in short) for name in ("needed_s", "needed_duration_s"))
    return f'warmup = "{warmup:g} s" and duration = "{duration:g} s"'


def _windows(results: Sequence[tuple[str, Comparison]]) -> list[str]:
    """A sentence where the window is too short for what it averages: what is left out, and what to set."""
    first = results[0][1]
    short = [(aqm, label, w) for label, r in results for aqm, w in r.warmups.items() if w.short]
    if not short:
        return []
    named = [aqm for aqm in first.aqms if any(one == aqm for one, _, _ in short)]
    places = list(dict.fromkeys(label for _, label, _ in short))
    at = f" at {listing(places)}" if len(results) > 1 and len(places) < len(results) else ""
    whose = "" if len(named) == len(first.aqms) else f" with {listing(first.titles[aqm] for aqm in named)}"
    if all(left_out(result, aqm) for _, result in results for aqm in first.aqms[1:]):
        what = "so nothing is judged"
    elif len(results) > 1:
        what = "so nothing is judged there"
    else:
        what = f"which {'are' if len(named) > 1 else 'is'} not judged"
    return [f"The window is too short{whose}{at}, {what}. Try {to_set(w for *_, w in short)}."]


def findings(results: Sequence[tuple[str, Comparison]]) -> tuple[int, dict[str, list[list[Finding]]]]:
    """The number of differences in the tables; by measure, discipline and condition what was found."""
    first = results[0][1]
    every: dict[tuple[int, str, str], Difference] = {}
    for k, (_, result) in enumerate(results):
        for aqm, row in result.differences.items():
            every |= {(k, aqm, name): d for name, d in row.items() if d is not None}
    tests = {key: d.t_p for key, d in every.items() if d.estimate.replicates > 1}
    holm = dict(zip(tests, statistics.corrected(statistics.holm, list(tests.values())), strict=True))
    there = {name for _, _, name in every}
    chosen = {name for _, names in spoken(first) for name in names if name in there}
    judged = [m for m in first.measures if m.id in chosen and m.better]
    keys = [(k, aqm, m.id) for m in judged for aqm in first.aqms[1:] for k in range(len(results))]
    out = {(k, aqm) for k, (_, result) in enumerate(results) for aqm in first.aqms[1:] if left_out(result, aqm)}
    statements = sum(key in tests and key[:2] not in out for key in keys)
    found: dict[str, list[list[Finding]]] = {}
    for m in judged:
        rows = []
        for aqm in first.aqms[1:]:
            here = [(k, aqm, m.id) for k in range(len(results))]
            # Where a value is missing at one round-trip time, nothing is said of the discipline.
            whole = all(key in every for key in here)
            rows.append(
                [
                    Finding("left out", m, every[key])
                    if key[:2] in out
                    else finding(every[key], m, holm.get(key), statements)
                    for key in here
                ]
                if whole
                else []
            )
        if any(rows):
            found[m.id] = rows
    return len(tests), found


def _alone(results: Sequence[tuple[str, Comparison]]) -> str:
    first = results[0][1]
    title = first.titles[first.aqms[0]]
    if len(results) > 1:
        return f"Only {title} was run, so there is nothing to compare it with."
    values: dict[str, list[str]] = {}
    for part, names in spoken(first):
        for m in (m for name in names for m in first.measures if m.id == name):
            e = first.estimate(first.aqms[0], m.id)
            if e is not None:
                value = f"{amount(e.mean, e.half_width, m, signed=True)} of {_what(m, part)}"
                values.setdefault(part, []).append(value)
    what = "".join(f"{_head(part)}{title} has {listing(said)}. " for part, said in values.items())
    return f"{what}Only {title} was run, so there is nothing to compare it with."


def _head(part: str) -> str:
    """The beginning of a sentence on a part of the traffic."""
    return f"{part}: " if part else ""


def _what(quantity: Quantity, part: str) -> str:
    """A measure within a sentence that has begun with the part of the traffic it is of."""
    return quantity.title.removesuffix(f" of {part}").lower() if part else quantity.said


def _pair(result: Comparison, found: Sequence[Finding], part: str) -> str:
    """A sentence on one discipline against another."""
    mine, control = result.titles[result.aqms[1]], result.titles[result.aqms[0]]
    if not found:
        return f"{_head(part)}{mine} and {control} have no measure in common."
    main, *others = found
    what = _what(main.quantity, part)
    match main.found:
        case "less" | "more":
            said = f"{mine} has {main.amount} {main.found} {what} than {control}"
        case "perhaps less" | "perhaps more":
            said = f"{mine} may have {main.amount} {main.found.split()[1]} {what} than {control}"
        case "equal":
            said = f"{mine} and {control} have equal {what} ({within(main)})"
        case "none":
            said = f"No difference in {what} was found between {mine} and {control} ({main.span})"
        case _:
            what = main.quantity.title if not part else what.capitalize()
            said = f"{what} of {mine} and {control} is not judged: every seed gives the same run"
    return _head(part) + said + "".join(_also(main, other, mine, _what(other.quantity, part)) for other in others) + "."


def _also(main: Finding, other: Finding, mine: str, what: str) -> str:
    match other.found:
        case "less" | "more":
            link = " and" if main.found in ("less", "more") else f"; {mine} has"
            return f"{link} {other.amount} {other.found} {what}"
        case "perhaps less" | "perhaps more":
            return f"; {mine} may have {other.amount} {other.found.split()[1]} {what}"
        case "equal":
            if main.found == "equal":
                return f" and equal {what} ({within(other)})"
            return (
                f" at equal {what} ({within(other)})"
                if main.found != "none"
                else f"; {what} is equal ({within(other)})"
            )
        case "none":
            return f"; no difference in {what} was found ({other.span})"
        case _:
            return f"; {what} is not judged: every seed gives the same run"


ORDER: tuple[Found, ...] = ("less", "perhaps less", "more", "perhaps more", "equal", "none", "not judged")


def _listed(first: Comparison, labels: Sequence[str], rows: Sequence[Sequence[Finding]]) -> str:
    """One sentence on one measure of several disciplines, or under several conditions, against the control."""
    control = first.titles[first.aqms[0]]
    named = [(first.titles[aqm], row) for aqm, row in zip(first.aqms[1:], rows, strict=True) if row]
    named.sort(key=lambda one: -max(f.size for f in one[1] if f.found != "left out"))
    shown, rest = named[:LISTED], len(named) - LISTED
    quantity = next(row[0].quantity for _, row in named)
    parts = in_words([(title, row[0]) for title, row in shown]) if len(labels) == 1 else _over(shown, labels)
    more = f"; {rest} more in the table" if rest > 0 else ""
    return f"{quantity.title} against {control}: {'; '.join(parts)}{more}."


def in_words(shown: Sequence[tuple[str, Finding]]) -> list[str]:
    """`less with CoDel by 12 ms (9 to 15) and PIE by 8 ms (6 to 10)`, and so on."""
    parts = []
    for kind in ORDER:
        here = [(title, one) for title, one in shown if one.found == kind]
        if not here:
            continue
        if kind in ("equal", "none", "not judged"):
            head = {"equal": f"equal ({within(*(one for _, one in here))}) with", "none": "no difference found with"}
            parts.append(f"{head.get(kind, 'not judged with')} {listing(title for title, _ in here)}")
        else:
            parts.append(f"{kind} with {listing(f'{title} by {f.amount}' for title, f in here)}")
    return parts


def _over(shown: Sequence[tuple[str, Sequence[Finding]]], labels: Sequence[str]) -> list[str]:
    """`less at every RTT with CoDel and PIE, by 5 ms (4 to 6) with PIE at 20 ms to 40 ms (38 to 42) with CoDel at 1 s`.

    Disciplines of which the same is found at each round-trip time are named together.
    """
    groups: dict[tuple[Found, ...], list[tuple[str, Sequence[Finding]]]] = {}
    for title, row in shown:
        groups.setdefault(tuple(f.found for f in row), []).append((title, row))
    parts = []
    for pattern, members in groups.items():
        said = []
        for kind in ORDER:
            places = [k for k, found in enumerate(pattern) if found == kind]
            if not places:
                continue
            every = len(places) == len(labels)
            where = "at every RTT" if every else f"at {listing(labels[k] for k in places)}"
            named = f" with {listing(title for title, _ in members)}" if every else ""
            if kind in ("equal", "none", "not judged"):
                some = [row[k] for _, row in members for k in places]
                texts = {"equal": f"equal ({within(*some)})", "none": "no difference found"}
                said.append(f"{texts.get(kind, 'not judged')} {where}{named}")
                continue
            sized = sorted(
                ((row[k].size, title, k, row[k]) for title, row in members for k in places), key=lambda o: o[0]
            )
            ends = [sized[0], sized[-1]] if len(sized) > 1 else sized
            of = [
                f.amount
                + (f" with {title}" if len(members) > 1 else "")
                + (f" at {labels[k]}" if len(places) > 1 else "")
                for _, title, k, f in ends
            ]
            alike = len(ends) > 1 and ends[0][3].amount == ends[1][3].amount
            by = f"{ends[0][3].amount} each" if alike else ", up to ".join(of)
            said.append(f"{kind} {where}{named}, by {by}")
        head = "" if len(set(pattern)) == 1 else f"with {listing(title for title, _ in members)} "
        parts.append(head + ", ".join(said))
    return parts


def listing(items: Iterable[str]) -> str:
    """`a, b and c`."""
    *before, last = items
    return f"{', '.join(before)} and {last}" if before else last


def listing_points(points: Sequence[str]) -> str:
    """As `listing`, of points of several levels: `CoDel, 20 ms; PIE, 20 ms`."""
    return "; ".join(points) if any(", " in one for one in points) else listing(points)


def within(one: Finding, *more: Finding) -> str:
    """How equal findings of one measure are, in words: `within 2 %`, its margin, or the same in all runs."""
    estimates = [each.difference.estimate for each in (one, *more)]
    if not any(e.mean or e.half_width for e in estimates):
        return "the same in all runs"
    margin, unit = one.quantity.margin, one.quantity.unit
    own = one.quantity.own_margin
    return f"within {margin}" + (f" {unit}" if own is not None and not own.relative and unit else "")


# ---- numbers -------------------------------------------------------------------------------------------------------


def _unit(quantity: Quantity) -> str:
    if quantity.unit == "%":
        return " points"
    return f" {quantity.unit}" if quantity.unit else ""


def amount(
    mean: float,
    half_width: float | None,
    quantity: Quantity,
    *,
    signed: bool,
    ends: tuple[float, float] | None = None,
) -> str:
    """`12.1 ms (9.0 to 15.2)`; a `signed` value is one by itself, not a difference: its per cent are no points.

    `ends` are those of an interval that is cut where the measure can go no further.
    """
    unit = f" {quantity.unit}" if signed and quantity.unit == "%" else _unit(quantity)
    if not half_width:
        # A single replication, or runs that all have the same value.
        return f"{mean:.{quantity.digits}f}{unit}" + ("" if half_width is None else f" ({ALL_RUNS})")
    ends = ends or (mean - half_width, mean + half_width)
    digits = _digits(half_width, ends, quantity)
    return f"{_plain(mean, digits)}{unit} ({_plain(ends[0], digits)} to {_plain(ends[1], digits)})"


def _digits(half_width: float, ends: tuple[float, float], quantity: Quantity) -> int:
    """Digits for two figures of the half-width, or enough to show that an end is not zero."""
    if half_width <= 0:
        return quantity.digits
    digits = min(max(0, 1 - math.floor(math.log10(half_width))), PRECISION)
    while digits < PRECISION and any(end and float(f"{end:.{digits}f}") == 0 for end in ends):
        digits += 1
    return digits


def _plain(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and float(text) == 0 else text
