"""What `advise` prints and writes: sentences, tables, documents, the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..analysis import statistics, words
from ..analysis.quantity import Quantity
from ..analysis.statistics import Estimate
from ..terminal import number, paragraph, table
from ..toml_writer import to_toml
from . import commands, model
from .line import SHAPED, Home
from .pictures import Call
from .ranking import LOSS, NOTICED_MS, Advice, Rank
from .rules import RULES, filled
from .units import networkd_files

HEAD = ("rank", "queue", "latency under load ms", "voice lost %", "page s", "download Mbit/s", "upload Mbit/s")


def line_text(home: Home) -> str:
    """The line in a sentence."""
    rtts = " and ".join(f"{x:g}" for x in home.rtts_ms)
    own = home.framing
    extra = {"atm": " in ATM cells", "ptm": " and PTM's encoding", "plain": ""}[own.encoding]
    framing = f"{own.overhead} B on each packet{extra}" if own.overhead else "no framing"
    return (
        f"{_mbps(home.down_bps)} Mbit/s down, {_mbps(home.up_bps)} Mbit/s up, {own.title}: {framing}; {rtts} ms to the "
        f"servers; a modem that holds {home.buffer}."
    )


def load_text(advice: Advice) -> str:
    """What traffic ran on the line, in a sentence."""
    _, measured = model.times(advice.home)
    return (
        f"Load: a download ({advice.home.downloads} CUBIC, 1 BBR), an upload (1 CUBIC, 1 BBR) with Linux's TCP, a call "
        f"of voice and video, web pages of 2 MB; {measured:g} s, {advice.seeds} "
        f"seed{'' if advice.seeds == 1 else 's'}, means with 95 % intervals."
    )


def rows(advice: Advice) -> list[list[str]]:
    """The table's rows: the disciplines, then today's line and the idle one."""
    _, measured = model.times(advice.home)
    return [_row(r, r.place, r.queue, measured) for r in advice.ranks] + [
        _row(advice.today, "", "today's FIFO", measured),
        _row(advice.idle, "", "no load", measured),
    ]


def _row(rank: Rank, place: str, name: str, measured_s: float) -> list[str]:
    def cell(found: Any, digits: int, scale: float = 1.0) -> str:
        half = "" if found.half_width is None else f" ± {number(scale * found.half_width, digits)}"
        return number(scale * found.mean, digits) + half

    bulk = ["-", "-"] if rank.queue == model.ALONE else [cell(rank.down_mbps, 1), cell(rank.up_mbps, 2)]
    page = cell(rank.page_s, 2) if rank.page_s.mean < measured_s else f"over {measured_s:g}"
    return [place, name, cell(rank.latency_ms, 1), cell(rank.loss, 1, 100), page, *bulk]


def verdict(advice: Advice) -> list[str]:
    """What was found, in sentences that say no more than their intervals hold."""
    use, today, best = advice.use, advice.today, advice.of(advice.use)
    found = [
        f"Under load today's FIFO adds {_around(today.latency_ms, 'ms')} to a call's round trip; with {use}, shaped to "
        f"{100 * SHAPED:g} % of the line's rate, it is {_around(best.latency_ms, 'ms')}."
    ]
    if advice.seeds == 1:
        found.append("One seed cannot tell queues apart: nothing else is claimed.")
        return found
    better, worse = _changes(advice)
    found += [f"What gets {name}: {'; '.join(all_)}." for name, all_ in (("worse", worse), ("better", better)) if all_]
    if not worse:
        found.append("Nothing that was measured gets worse.")
    shared = advice.shared
    if len(shared) > 1:
        why = f"the differences between them are below {NOTICED_MS:g} ms, or not significant"
        found.append(f"{words.listing(shared)} share the first rank: {why}.")
    lossy = [r.queue for r in advice.ranks if r.lossy]
    if lossy:
        found.append(
            f"Behind the others: {words.listing(lossy)}, with more than {100 * LOSS:g} % of the voice packets lost."
        )
    if use not in shared:
        found.append(f"{words.listing(shared)}: of less latency, but Linux cannot be configured so.")
    found.append(f"Brackets are 95 % intervals over {advice.seeds} seeds, those of changes seed by seed.")
    return found


CHANGES = (
    ("loss", "voice loss, from {before} to {after} %", "%", -1),
    ("page", "the time of a page, {size} {way}", "s", -1),
    ("bulk", "the bulk transfers, {size} {way}", "Mbit/s", 1),
)
"""What the headline speaks of beside latency: column, words, unit, and the sign of better."""


def _changes(advice: Advice) -> tuple[list[str], list[str]]:
    """What gets better, and what gets worse, than it is today: only differences whose interval does not hold zero."""
    better, worse = list[str](), list[str]()
    for name, text, unit, sign in CHANGES:
        change = advice.gained(name)
        if not change.clear:
            continue
        before, after = (number(statistics.mean(advice.columns[name][q]), 1) for q in (model.TODAY, advice.use))
        size = _around(change.estimate, unit, size=True)
        mean = change.estimate.mean
        said = filled(text, way="more" if mean > 0 else "less", before=before, after=after, size=size)
        (better if mean * sign > 0 else worse).append(said)
    return better, worse


def _around(found: Estimate, unit: str, size: bool = False) -> str:
    """A mean with its interval, `29 ms (25 to 34)`; with `size` without the sign."""
    mean = abs(found.mean) if size else found.mean
    return words.amount(mean, found.half_width, Quantity("", "", unit, "", 1), signed=True)


def notes(home: Home) -> list[str]:
    """What the kind of line and its rates ask for beside the queue."""
    found, own = [], RULES["notes"]
    if home.framing.moves:
        down, up = (commands.kbit(home.shaped_bps(way)) for way in (False, True))
        found.append(filled(own["moves"], down=down, up=up))
    if home.filters_acks:
        found.append(filled(own["ack_filter"], ratio=f"{home.down_bps / home.up_bps:.3g}"))
    if (most := max(home.down_bps, home.up_bps)) >= RULES["processor_from_bps"]:
        found.append(filled(own["processor"], rate=_mbps(most)))
    return found


def measure_text(advice: Advice) -> str:
    """How to see on the line itself whether the advice holds."""
    today, then = (number(one.latency_ms.mean, 0) for one in (advice.today, advice.of(advice.use)))
    return (
        f"Measure it now: `ping` while you download and upload; it rises by some {today} ms, with {advice.use} by "
        f"{then} ms."
    )


def configurations(advice: Advice) -> dict[str, str]:
    """All files of configuration, by path."""
    home, found = advice.home, dict[str, str]()
    for aqm in dict.fromkeys((advice.use, "cake", "fq_codel")):
        found[f"{aqm}/tc.sh"] = commands.tc_script(home, aqm)
        if aqm in commands.SQM:
            found[f"{aqm}/sqm"] = commands.sqm_config(home, aqm)
        for name, text in networkd_files(home, aqm).items():
            found[f"{aqm}/networkd/{name}"] = text
    return found


def line_toml(advice: Advice) -> str:
    """The line with the recommended queue as a scenario, at the largest round-trip time: `line.toml`."""
    scenario = model.scenario(advice.home, advice.use, max(advice.home.rtts_ms))
    return f"# This line with {advice.use}, as `earlydrop advise` runs it.\n\n{to_toml(scenario)}"


def printed(advice: Advice, out: Path) -> str:
    """Everything `advise` prints."""
    home, use = advice.home, advice.use
    lines = [
        paragraph(" ".join([f"Use {use}.", *verdict(advice)])),
        "",
        paragraph(line_text(home)),
        paragraph(load_text(advice)),
        "",
    ]
    lines += [table(HEAD, rows(advice), left=2), ""]
    if use in commands.SQM:
        lines += ["OpenWrt, package sqm-scripts, /etc/config/sqm (the interface is an example):", ""]
        lines += [f"    {line}" for line in commands.sqm_config(home, use).expandtabs(4).splitlines()]
        lines += ["", "Linux, as root:", ""]
    else:
        lines += ["Linux, as root:", ""]
    lines += [f"    {line}" for line in commands.tc_lines(home, use)]
    lines += ["", "Removed with:", "", *(f"    {line}" for line in commands.tc_undo()), ""]
    for note in notes(home):
        lines += [paragraph(note), ""]
    lines += ["Files:"]
    lines += [f"  {out / 'advice.html'}  what is printed here, with pictures"]
    lines += [f"  {out / 'before-after.png'}  a call before and after"]
    others = [name for name in ("cake", "fq_codel") if name != use]
    lines += [f"  {out / 'config'}  all of the configuration, for {words.listing([use, *others])}"]
    line = out / "line.toml"
    lines += [f"  {line}  the line as a scenario", "", f"See it: earlydrop play {shlex.quote(str(line))}"]
    lines += ["", measure_text(advice)]
    return "\n".join(lines)


def document(advice: Advice, version: str) -> dict[str, Any]:
    """Everything as plain values."""
    home = advice.home
    return {
        "version": version,
        "line": {**vars(home), "rtts_ms": list(home.rtts_ms), "shaped": SHAPED},
        "seeds": advice.seeds,
        "idle": advice.idle.document(),
        "today": advice.today.document(),
        "ranks": [r.document() for r in advice.ranks],
        "shared_first": advice.shared,
        "use": advice.use,
        "verdict": verdict(advice),
        "notes": notes(home),
        "measure": measure_text(advice),
        "config": configurations(advice),
    }


def page(advice: Advice, both: Sequence[Call]) -> str:
    """The page: what was found, pictures, the table, how to set it up."""
    from ..render import plotting
    from ..render.template import render
    from . import pictures

    blocks = [(name, text) for name, text in configurations(advice).items() if not name.endswith(("README", ".sh"))]
    home = advice.home
    undo = ["", "# Removed with:", *(f"# {line}" for line in commands.tc_undo())]
    tc = "\n".join([*commands.tc_lines(home, advice.use), *undo])
    return render(
        "advice.html.j2",
        {
            "use": advice.use,
            "line": _joined(line_text(home)),
            "load": _joined(load_text(advice)),
            "verdict": _joined(" ".join(verdict(advice))),
            "notes": notes(home),
            "measure": _joined(measure_text(advice)),
            "head": HEAD,
            "rows": rows(advice),
            "figures": [
                ("A call, before and after", plotting.inline(pictures.over_time(both)), OVER_TIME),
                ("Its distribution under load", plotting.inline(pictures.distribution(both)), DISTRIBUTION),
                ("All queues", plotting.inline(pictures.ranking(advice)), RANKING),
            ],
            "tc": tc,
            "configurations": blocks,
        },
    )


OVER_TIME = "How long the voice packets of one run waited in queues."
DISTRIBUTION = "The same packets after the load has begun: the share that waited no longer than this."
RANKING = (
    "What the load adds to a call's round trip (the 95th percentiles of both directions), mean over the seeds with its "
    "95 % interval; in parentheses the rank. Blue: first rank, alone or shared. Open: more than 5 % of voice lost."
)


def _joined(text: str) -> str:
    """The text with numbers joined to their units by spaces that do not break."""
    return re.sub(r"(?<=\d) (?=(?:ms|s|B|MB|Mbit/s|seeds?)\b|%)", "\u00a0", text)


def _mbps(bps: float) -> str:
    return f"{bps / 1e6:g}"
