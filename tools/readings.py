"""The effect of each reading of a discipline on the result: the data and the figure of docs/readings.md.

python tools/readings.py docs                     run everything, renew docs/data/readings*.csv and the figure
python tools/readings.py docs --check             run a little, compare with the data

Every row is run on the same loads with the same seeds as the first of its section, and compared with it seed by seed.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import blocks
from earlydrop import _core, runner
from earlydrop.analysis import statistics
from earlydrop.analysis.statistics import Difference
from earlydrop.document import Document
from earlydrop.runner import Job, Progress, no_progress
from earlydrop.terminal import Progress as Bar
from reading_sections import LOADS, SECTIONS, Load, Section, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SEEDS = range(1, 11)

# ---- running -------------------------------------------------------------------------------------------------------


def scenario(section: Section, row: Settings, load: Load) -> Document:
    """The scenario of one row under one load."""
    queue = _known({**section.common, **row})
    parts = _bus(load, queue) if load.network == "bus" else _dumbbell(load, queue)
    return {"name": f"{section.id}-{load.id}", **parts}


def _bus(load: Load, queue: Settings) -> Document:
    """The DDRED paper's bus: ten routers with a workstation each, 10 Mbit/s, the policy at every output of a router."""
    ends = {"from": [f"h{i}" for i in range(1, 10)], "to": "h10"} if load.to_one_end else {}
    traffic = {"kind": "ftp", "count": load.flows, "tcp": "newreno", "start": {"uniform": ["0 s", "1 s"]}, **ends}
    return {
        "duration": "80 s",
        "warmup": "20 s",
        "topology": {"kind": "bus"},
        "queue": {"routers": {"limit": "50 packets", **queue}},
        "traffic": [{**traffic, "segment": "960 B", "header": "40 B"}],
    }


def _dumbbell(load: Load, queue: Settings) -> Document:
    """The TRED paper's dumbbell, as in scenario S1."""
    link = {"rate": "5 Mbit/s", "delay": "20 ms"}
    packet = {"segment": "960 B", "header": "40 B"}
    traffic: list[Document] = [{"kind": "ftp", "count": load.flows, "start": {"uniform": ["0 s", "1 s"]}, **packet}]
    if load.cbr:
        traffic.append({"kind": "cbr", "rate": load.cbr, "start": {"uniform": ["0 s", "1 s"]}, **packet})
    return {
        "duration": "200 s",
        "warmup": "50 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": load.flows + (1 if load.cbr else 0),
            "access": link,
            "bottleneck": {"rate": "5 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"limit": "120 packets", **queue}},
        "traffic": traffic,
    }


def _known(settings: Settings) -> Settings:
    """The settings that the discipline has: a row may name another discipline."""
    names = _words(str(settings["aqm"]))
    return {key: value for key, value in settings.items() if key == "aqm" or key in names}


def _words(aqm: str) -> dict[str, list[str]]:
    """The parameters of a discipline, and the words that each may take."""
    entry = next(e for e in json.loads(_core.catalogue()) if e["name"] == aqm)
    return {p["name"]: re.findall(r'"(\w+)"', p["range"]) for p in entry["parameters"]}


def uncovered(section: Section) -> list[str]:
    """Declared words of the section's parameters that have no row; the default has the first row."""
    declared = _words(str(section.common["aqm"]))
    entry = next(e for e in json.loads(_core.catalogue()) if e["name"] == section.common["aqm"])
    defaults = {p["name"]: p["default"] for p in entry["parameters"]}
    missing = []
    for name in section.covers:
        shown = {str(row[name]) for row in section.rows if name in row} | {str(defaults[name])}
        missing += [f"{section.id}: {name} = {word}" for word in declared[name] if word not in {*shown, "auto"}]
    return missing


Values = dict[tuple[int, str], list[list[float]]]
"""The values of each seed in the order of the measures, by row and load."""


def run(section: Section, rows: Iterable[int], loads: Iterable[Load], progress: Progress = no_progress) -> Values:
    """Run these rows on these loads with every seed."""
    rows = list(rows)
    n = len(SEEDS)
    values: Values = {}
    for load in loads:
        jobs = []
        for number in rows:
            parsed = _core.Scenario.parse(scenario(section, section.rows[number], load), [])
            jobs += [Job(parsed, seed) for seed in SEEDS]
        label = f"{section.title}, {load.title}"
        found = runner.run_all(jobs, partial(_measured, load), progress=progress, label=label)
        values |= {(number, load.id): found[k * n : (k + 1) * n] for k, number in enumerate(rows)}
    return values


def _measured(load: Load, text: str) -> list[float]:
    document = json.loads(text)
    return [measure.of(document) for measure in load.measures]


def difference(values: Values, row: int, load: Load, column: int) -> Difference:
    """A reading minus the first of its section."""
    return statistics.paired([v[column] for v in values[row, load.id]], [v[column] for v in values[0, load.id]])


# ---- the data ------------------------------------------------------------------------------------------------------

FILES = {
    "readings": [section for section in SECTIONS if section.loads == LOADS],
    "readings-bus": [section for section in SECTIONS if section.loads != LOADS],
}
"""The sections in each file: those of the dumbbell have other measures than that of the bus."""


def label(row: Settings) -> str:
    """The settings as in a scenario."""
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in row.items()) or "the defaults"


def measures(sections: Sequence[Section]) -> list[str]:
    """The titles of all measures of these sections, which are the columns of their file."""
    return list(dict.fromkeys(m.title for section in sections for load in section.loads for m in load.measures))


def line(section: Section, values: Values, number: int, load: Load) -> list[str]:
    """One row: means of the first reading, differences of the others; empty where the load has no such measure."""
    cells = {}
    for column, measure in enumerate(load.measures):
        if number == 0:
            mean = statistics.mean([v[column] for v in values[0, load.id]])
            cells[measure.title] = f"{mean:.{measure.digits}f}"
            continue
        cells[measure.title] = _difference_text(difference(values, number, load, column), measure.digits)
    (sections,) = (of for of in FILES.values() if section.loads == of[0].loads)
    return [section.title, load.title, label(section.rows[number]), *(cells.get(m, "") for m in measures(sections))]


def _difference_text(found: Difference, digits: int) -> str:
    """A difference with its half-width, a star where it is clear; of runs that all differ by as much, no interval; `0`
    if both round to nothing.
    """

    def shown(value: float) -> str:
        text = f"{value:+.{digits}f}"
        return text if any(digit in text for digit in "123456789") else text[1:]

    if len(set(found.values)) == 1:
        return f"{shown(found.values[0])} in all runs" if found.values[0] else "="
    mean = shown(found.estimate.mean)
    least = 10.0**-digits
    half = found.estimate.half_width or 0.0
    width = f"{half:.{digits}f}" if half >= least / 2 else f"< {least:.{digits}f}"
    if half < least / 2 and abs(found.estimate.mean) < least / 2:
        return "0"
    return f"{mean} ± {width}{' *' * found.clear}"


def stale(data: Path, progress: Progress = no_progress) -> list[str]:
    """What in the data is not what the declarations and a small part of the runs say: a row is missing, has another
    name, or the last row of a section has other values at six flows.
    """
    found = [what for section in SECTIONS for what in uncovered(section)]
    for name, sections in FILES.items():
        with (data / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            _, *stored = csv.reader(file)
        for section in (one for one in sections if one in SECTIONS):
            rows = [row for row in stored if row[0] == section.title]
            wanted = [[load.title, label(row)] for load in section.loads for row in section.rows]
            if [row[1:3] for row in rows] != wanted:
                found.append(f"{section.id}: other rows")
                continue
            last = len(section.rows) - 1
            first = section.loads[0]
            values = run(section, (0, last), (first,), progress)
            for number in (0, last):
                if line(section, values, number, first) not in rows:
                    found.append(f"{section.id}: other values, {label(section.rows[number])}")
    return found


# ---- the figure ----------------------------------------------------------------------------------------------------


def picture(results: Mapping[str, Values]) -> Figure:
    """Every reading on the dumbbell: how it moves queue and delay, and what it leaves to the flow that does not slow
    down.
    """
    from earlydrop.render import plotting

    sections = FILES["readings"]
    with plotting.styled():
        count = sum(len(section.rows) for section in sections) + 1.3 * len(sections)
        drawing = plotting.figure(plotting.PAGE, 0.6 + 0.135 * count)
        axes = drawing.subplots(1, 3, sharey=True)
        place, ticks, names = 0.0, list[float](), list[str]()
        for section in sections:
            values = results[section.id]
            axes[0].annotate(
                section.title,
                (0, place),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                fontsize=7.5,
                fontweight="bold",
            )
            place += 1
            for number, row in enumerate(section.rows):
                ticks.append(place)
                names.append(_short(row))
                _draw(axes, place, section, values, number)
                place += 1
            place += 0.3
        axes[0].set_yticks(ticks, names, fontsize=6.5)
        axes[0].set_ylim(place - 0.3, -0.7)
        titles = ("Mean queue, packets", "99 % delay, ms", "CBR flow's share, %")
        for k, (ax, title) in enumerate(zip(axes, titles, strict=True)):
            ax.set_title(title)
            ax.tick_params(axis="y", length=0)
            ax.grid(axis="y", visible=False)
            if k < 2:
                ax.axvline(0, color="#555555", linewidth=0.7, zorder=1)
                ax.set_xlabel("minus the first of its group")
            else:
                ax.axvline(100 / 11, color="#555555", linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
                ax.set_xlabel("dashed: a fair share")
                ax.set_xlim(left=-2)
        handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        drawing.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=len(LOADS))
    return drawing


def _short(row: Settings) -> str:
    if "mean_packet" in row:
        return "ns-2's own defaults"
    if "aqm" in row:
        return "gentle RED"
    words = [f"{k} {str(v).lower() if isinstance(v, bool) else v}" for k, v in row.items()]
    return ", ".join(words) or "the defaults"


def _draw(axes: Sequence[Axes], place: float, section: Section, values: Values, number: int) -> None:
    from earlydrop.render import plotting

    for k, load in enumerate(LOADS):
        own = plotting.look(k)
        style: dict[str, Any] = {"color": own.colour, "marker": own.marker, "markersize": 3}
        style["linestyle"] = "none"
        style["elinewidth"] = 1
        shift = place + 0.22 * (k - 1)
        # The first reading is what the others are compared with.
        for ax, column in zip(axes[:2] if number else (), (1, 2) if number else (), strict=True):
            found = difference(values, number, load, column).estimate
            ax.errorbar(found.mean, shift, xerr=found.half_width, label=load.title, **style)
        if load.cbr:
            share = statistics.estimate([v[5] for v in values[number, load.id]])
            axes[2].errorbar(share.mean, place, xerr=share.half_width, **style)


# ---- command -------------------------------------------------------------------------------------------------------


def write(docs: Path, progress: Progress) -> None:
    """Run everything and renew data and figure."""
    from earlydrop.render import plotting

    results = {s.id: run(s, range(len(s.rows)), s.loads, progress) for s in SECTIONS}
    for name, sections in FILES.items():
        body = [
            line(section, results[section.id], number, load)
            for section in sections
            for load in section.loads
            for number in range(len(section.rows))
        ]
        head = ["discipline", "load", "reading", *measures(sections)]
        blocks.put_csv(docs / "data" / f"{name}.csv", [head, *body])
    with plotting.styled():
        picture(results).savefig(docs / "images" / "readings.png", dpi=150)


def main(arguments: Sequence[str]) -> int:
    """Write or check the data; 1 if a check finds anything stale."""
    docs = Path(arguments[0]) if arguments else Path("docs")
    if "--check" in arguments:
        found = stale(docs / "data")
        for what in found:
            print(f"{docs / 'data'}: {what}; tools/readings.py docs", file=sys.stderr)
        return 1 if found else 0
    with Bar() as progress:
        write(docs, progress)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
