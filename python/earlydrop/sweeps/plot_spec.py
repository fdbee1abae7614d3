"""What to draw of a sweep, as one line: `queue_delay vs rtt by aqm`."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from .model import Sweep, SweepError

Kind = Literal["lines", "points", "box", "ellipse", "cdf", "ccdf", "time"]
NAMED_KINDS = ("box", "cdf", "ccdf", "time")
"""Kinds of figures that a text names; the others follow from the figure's axes."""
DELAY, QUEUE = "delay", "queue"
RESERVED = ("vs", "by", "in", "at", *NAMED_KINDS, DELAY, QUEUE)
"""Words that are no title in small letters."""
FORM = (
    '"[box] MEASURE [+ MEASURE] [vs FACTOR or MEASURE] [by FACTOR] [in FACTOR] [at FACTOR=LEVEL]", '
    '"cdf delay by FACTOR", "time p, queue by FACTOR"'
)


LONGEST_SLUG = 60
"""The most letters of a figure's text in its file name: a pack has names of at most 100."""


@dataclass(frozen=True)
class PlotSpec:
    """One figure of a sweep."""

    text: str
    kind: Kind
    measures: tuple[str, ...]
    """Measures, each in panels of its own; for `cdf` and `ccdf` the queueing delay, for `time` none."""
    x: str | None
    """A numeric factor for `lines`, any factor for `points` and `box`, a measure for `ellipse`."""
    by: str | None
    """The factor that gives the lines, dots or boxes."""
    panels: str | None
    """The factor that gives the panels."""
    at: Mapping[str, Any]
    """Levels that are kept, by factor; factors that nothing names are averaged over."""
    over_time: tuple[str, ...] = ()
    """For `time`: `queue`, inner values of disciplines, and what is sampled of senders."""

    @property
    def slug(self) -> str:
        """The figure's file name, without a suffix: the words of its text, and where these are cut a digest of all."""
        words = re.sub(r"[^a-z0-9]+", "-", self.text.lower()).strip("-") or "figure"
        if len(words) <= LONGEST_SLUG:
            return words
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return f"{words[:LONGEST_SLUG].rstrip('-')}-{digest[:8]}"


def parse_plot(
    text: str,
    measures: Mapping[str, str] | Collection[str],
    factors: Mapping[str, tuple[bool, list[Any]]],
    titles: Mapping[str, str] = MappingProxyType({}),
    labels: Mapping[str, Sequence[tuple[Any, str]]] = MappingProxyType({}),
) -> PlotSpec:
    """Read a plot's text; `factors` gives for each factor whether it is a number, and its levels.

    `measures` and `titles` are the titles of measures and factors by name: a title stands for its name, also in
    quotation marks and in capitals. `labels` gives for each factor further names of its levels.

    Raises:
        SweepError: what is wrong with it, and what is allowed.
    """
    measures = measures if isinstance(measures, Mapping) else {name: name for name in measures}
    words = _with_names(text, {title: name for name, title in [*titles.items(), *measures.items()]}).split()
    parts: dict[str, list[str]] = {"": []}
    key = ""
    for word in words:
        if word in ("vs", "by", "in", "at") and parts[""]:
            if word in parts and word != "at":
                raise SweepError(f'plot "{text}": {word} is there twice; allowed {FORM}')
            key = word
            parts.setdefault(word, [])
        else:
            parts[key].append(word)
    head = parts.pop("")
    over_time = tuple(" ".join(head[1:]).replace(",", " ").split()) if head[:1] == ["time"] else ()
    if over_time:
        head = ["time", over_time[0]]
    named = head.pop(0) if len(head) > 1 and head[0] in NAMED_KINDS and head[1] != "+" else None
    at = _levels(text, parts.pop("at", []), factors, titles, labels)
    chosen = _measures(head, measures)
    if not (chosen or over_time) or any(len(names) != 1 for names in parts.values()):
        raise SweepError(f'plot "{text}": cannot be read; allowed {FORM}; measures: {_listed(measures)}')
    x, by, panels = (_factor(parts.get(k, [""])[0], factors, titles) or None for k in ("vs", "by", "in"))
    if (axis := parts.get("vs", [""])[0]) in measures and axis not in factors:
        x = axis
    for name in (by, panels):
        if name is not None:
            _known(text, name, factors, "factor")
    if by is not None and by == panels:
        raise SweepError(f'plot "{text}": {by} is there twice')
    if named in ("cdf", "ccdf", "time"):
        wanted = "NAME, NAME" if named == "time" else DELAY
        if x is not None or (named != "time" and chosen != (DELAY,)):
            raise SweepError(f'plot "{text}": allowed "{named} {wanted} [by FACTOR] [in FACTOR]"')
        return PlotSpec(text, named, () if over_time else chosen, None, by, panels, at, over_time)  # type: ignore[arg-type]
    for measure in chosen:
        _known(text, measure, measures, "measure")
        if chosen.count(measure) > 1 or (measure == x and x not in factors):
            raise SweepError(f'plot "{text}": {measure} is there twice')
    kind: Kind = "points"
    if x is not None:
        # A factor and a measure may have the same name; the axis is then the factor.
        _known(text, x, [*factors, *measures], "factor or measure")
        kind = "ellipse" if x not in factors else "lines" if factors[x][0] else "points"
    if named == "box":
        if kind == "ellipse":
            raise SweepError(f'plot "{text}": the axis of boxes is a factor; allowed {", ".join(factors)}')
        kind = "box"
    if kind in ("points", "box") and by is None:
        # Dots and boxes need names: without lines these are the factor's levels.
        x, by = None, x if x is not None else next((n for n in factors if n != panels and n not in at), None)
    if x is not None and x in (by, panels):
        raise SweepError(f'plot "{text}": {x} is there twice')
    return PlotSpec(text, kind, chosen, x, by, panels, at)


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """The text with each title replaced by its name, the longest title first."""
    titles = [re.escape(title) for title in sorted(names, key=len, reverse=True) if title not in names.values()]
    if not titles:
        return text
    folded = {title.casefold(): name for title, name in names.items()}

    def name(found: re.Match[str]) -> str:
        text = found[2]
        return found[0] if text in names.values() or text in RESERVED else names.get(text, folded[text.casefold()])

    return re.sub(rf"""(?<!\S)(["']?)({"|".join(titles)})\1(?=[\s=]|$)""", name, text, flags=re.IGNORECASE)


def _factor(name: str, factors: Collection[str], titles: Mapping[str, str]) -> str:
    """The factor of this name or title, in capitals or not; else what was given."""
    wanted = name.casefold()
    found = [f for f in factors if wanted in (f.casefold(), titles.get(f, f).casefold())]
    return name if name in factors or len(found) != 1 else found[0]


def _measures(words: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The measures in `delay + goodput`; none if the words have another form."""
    parts = [part for word in words for part in ([word] if word in known else re.split(r"(\+)", word)) if part]
    named, between = parts[::2], parts[1::2]
    return tuple(named) if len(named) > len(between) and set(between) <= {"+"} and "+" not in named else ()


def _levels(
    text: str,
    pairs: list[str],
    factors: Mapping[str, tuple[bool, list[Any]]],
    titles: Mapping[str, str],
    labels: Mapping[str, Sequence[tuple[Any, str]]],
) -> dict[str, Any]:
    found = {}
    words = " ".join(pairs).replace(",", " ").split()
    while words:
        name, _, level = words[0].partition("=")
        name = _factor(name, factors, titles)
        _known(text, name, factors, "factor")
        here = [level.lstrip("\"'"), *words[1:]]
        every = [(v, said) for v in factors[name][1] for said in {str(v), f"{v:g}" if isinstance(v, float) else str(v)}]
        # A level of several words is named before one of which it begins.
        known = sorted(
            ((said.replace(",", " ").split(), v) for v, said in [*every, *labels.get(name, ())]), key=_length
        )
        size, chosen = next(((len(own), v) for own, v in known if own and own == _bare(here, len(own))), (0, None))
        if not size:
            there = [
                f"{v} ({own})" if (own := _label(v, labels.get(name, ()))) else str(v) for v in factors[name][1][:20]
            ]
            raise SweepError(f'plot "{text}": {name} has no level {level}; it has {", ".join(there)}')
        found[name] = chosen
        words = words[size:]
    return found


def _length(one: tuple[list[str], Any]) -> int:
    return -len(one[0])


def _bare(words: Sequence[str], count: int) -> list[str]:
    """The first words, without a quotation mark at their end."""
    return [*words[: count - 1], *(word.rstrip("\"'") for word in words[count - 1 : count])]


def _label(level: Any, labels: Sequence[tuple[Any, str]]) -> str:
    """What tables call a level, if that is something else."""
    return next((said for v, said in reversed(labels) if v == level and said != str(level)), "")


def _known(text: str, name: str, known: Collection[str], what: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {_listed(known)}"
        raise SweepError(f'plot "{text}": there is no {what} {name}{hint}')


def _listed(known: Collection[str]) -> str:
    """Names, and the titles of those that have others."""
    titles = known if isinstance(known, Mapping) else {}
    found = [(name, titles.get(name, name)) for name in known]
    return ", ".join(f"{name} ({title})" if isinstance(title, str) and title != name else name for name, title in found)


def check_plots(sweep: Sweep, texts: Sequence[str]) -> None:
    """Check the texts of plots before anything is run.

    Raises:
        SweepError: a text cannot be read, or names what the sweep does not have.
    """
    factors = {
        f.name: (numeric, [level.value if numeric else level.name for level in f.levels])
        for f, numeric in zip(sweep.factors, sweep.numeric, strict=True)
    }
    labels = {
        f.name: [(x.value if numeric else x.name, said) for x in f.levels for said in (x.name, f.called(x.name))]
        for f, numeric in zip(sweep.factors, sweep.numeric, strict=True)
    }
    measures, titles = {m.id: m.title for m in sweep.measures}, {f.name: f.title for f in sweep.factors}
    for text in texts:
        parse_plot(text, measures, factors, titles, labels)
