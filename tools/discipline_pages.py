"""A page for each discipline of the catalogue, made from its declaration, with its drop curve and a step response.

python tools/discipline_pages.py docs/aqms            write them
python tools/discipline_pages.py docs/aqms --check    compare the texts with what they would be
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import blocks
import reading_sections
from earlydrop import _core
from earlydrop.terminal import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATA = "data/parameters.csv"
"""The data of all parameters, beside the folder of the pages."""
STEP_AT, END = 20, 40
"""When the load rises and when the run ends, s."""

INDEX = """# The disciplines

Every discipline of the catalogue, by family, as `earlydrop show NAME` prints it. What Linux, ns-2 and ns-3 call them,
and what is left out: [queues of other programs](../coming-from.md#queues-of-linux-ns-2-and-ns-3).

The pictures show the drop probability over the averaged queue, where a discipline has such a curve, and a step
response: 10 TCP Reno flows share a link of 10 Mbit/s (round trip 40 ms without queue, packets of 1000 B and 40 B of
headers, buffer 120 packets, defaults of the discipline), and after 20 s 40 more join at once.
"""


LEFT_OUT = """## Proposals that are here, and that are not

A scheme that others compare with is here if code of its authors, or of the simulator that it is compared in, says every
rule, and if it needs nothing more of senders. The rows are proposals since 2016, and schemes that the papers cite and
that no text at hand defines well enough:

[data/proposals.csv](../data/proposals.csv)

## Parameters

Every parameter of every discipline, parent and marker, and where its default is from:

[data/parameters.csv](../data/parameters.csv)

## Traffic conditioners

[`markers`](markers.md) give packets the class that RIO and WRED read: a token bucket, srTCM, trTCM, TSW2CM, TSW3CM.

## Parents

[`parents`](parents.md) are shapers that have any of the disciplines as their child: TBF, HTB, and Wi-Fi with airtime
fairness.
"""


def entries() -> list[dict[str, Any]]:
    """The entries of the catalogue."""
    found: list[dict[str, Any]] = json.loads(_core.catalogue())
    return found


def index(catalogue: Sequence[Mapping[str, Any]]) -> str:
    """The page with the list of disciplines."""
    lines = [INDEX]
    for family, members in groupby(catalogue, key=lambda e: str(e["family"])):
        lines += [f"## {family[0].upper()}{family[1:]}", "", "| name | | year | what it is |", "|---|---|---|---|"]
        lines += [f"| [`{e['name']}`]({e['name']}.md) | {e['title']} | {e['year']} | {e['summary']} |" for e in members]
        lines.append("")
    lines += ["## Settings of others", "", "| name | | year | what it is | written as |", "|---|---|---|---|---|"]
    lines += [
        f"| `{one['name']}` | {one['title']} | {one['year']} | {one['summary']} | `{one['setting']}` |"
        for one in json.loads(_core.folded())
    ]
    lines.append("")
    lines.append(LEFT_OUT)
    return "\n".join(lines)


MARKERS = """# Traffic conditioners

A marker in front of a queue gives each packet the class that RIO, WRED and the schedulers by class read. It stands
in the table of the queue, and the class holds in that queue only:

```toml
[queue.bottleneck]
aqm = "rio"
marker = { kind = "srtcm", cir = "1 Mbit/s", cbs = "15 kB", ebs = "15 kB" }
```

Each flow has a meter with the profile, or all packets together (`meter = "aggregate"`). Every packet is metered, also
one that the discipline then drops. The colours become classes: `green` 2, `yellow` 1, `red` 0. For RIO any class above
0 is In, so that with three colours `yellow = 0` puts yellow packets Out; for WRED they are precedences. With `police`
red packets are dropped instead, as forced drops: a policer, which has no buffer. A queue with a marker steps its link
by events.

"""


PARENTS = """# Parents

A parent is a shaper with a discipline inside, its child, as Linux's classful queues have them: `tbf` has one, `htb` one
for each class, `wifi` one for each station. The parent decides when a packet leaves and of which class; the child,
which packet, and what is marked or dropped. Any discipline can be the child; a parent cannot.

```toml
[queue.bottleneck]
parent = "tbf"
rate = "8 Mbit/s"
burst = "6 kB"

[queue.bottleneck.child]
aqm = "fq_codel"
limit = "1000 packets"
target = "10 ms"
```

Two classes over HTB: the second, which `class = 1` in a traffic entry gives, is sure of 2 Mbit/s, is served first of
what the other leaves, and never has more than 4 Mbit/s:

```toml
[queue.bottleneck]
parent = "htb"
rate = "8 Mbit/s"
classes = 2
rate_0 = "6 Mbit/s"
rate_1 = "2 Mbit/s"
ceil_1 = "4 Mbit/s"
prio_0 = 1

[queue.bottleneck.child]
aqm = "codel"
limit = "500 packets"
```

An access point with two fast stations and a slow one, FQ-CoDel for each. The bottleneck's `rate` is that of the wire
behind it, and `class = 2` in a traffic entry makes its packets those of the slow station:

```toml
[queue.bottleneck]
parent = "wifi"
stations = 3
rate_0 = "144.4 Mbit/s"
rate_1 = "144.4 Mbit/s"
rate_2 = "7.2 Mbit/s"

[queue.bottleneck.child]
aqm = "fq_codel"
limit = "1000 packets"
```

`limit`, `ecn`, `marker` and the discipline's parameters stand in the child's table. Paths of settings and of errors
name it: `queue.bottleneck.child.target`. The child takes the parent's rate for its link's: what it works out from the
link, and a `limit` in `bdp`, are those of that rate. In `earlydrop compare` the disciplines take the child's place.

A result counts the queue as a whole: what the parent drops, and what the child does. `queues.NAME.parent` has the rest
of what `tc -s qdisc` shows: `sent_packets` and `sent_bytes` of the parent, `too_large` (packets that it dropped),
`overlimits` (how often a packet could not leave; arrivals meanwhile count again, as in Linux), and of the child
`child_sent_packets`, `child_sent_bytes`, `child_drops` and `child_marks`. The child has sent a packet when the parent
takes it, before it leaves. Of HTB `classes` has a row each, as `tc -s class show`: packets and bytes sent, drops,
marks, and packets by its own rate (`lends`) and borrowed (`borrows`); of Wi-Fi a row for each station, with its
aggregates and its time on air (`airtime_ms`).

"""


def marker_page() -> str:
    """The page of the traffic conditioners."""
    found = json.loads(_core.markers())
    lines = [MARKERS + found["doc"].strip().replace("\n## ", "\n\n## "), "", "## Parameters", ""]
    of = dict[str, list[str]]()
    for entry in found["markers"]:
        lines.append(f"- `{entry['name']}` ({entry['title']}, {entry['year']}): {entry['summary']}.")
        for row in _parameter_rows(entry["parameters"]):
            of.setdefault(row, []).append(f"`{entry['name']}`")
    head, rule, *rows = of
    lines += ["", f"{head} of |", f"{rule}---|"]
    every = len(found["markers"])
    lines += [*(f"{row} {'all' if len(of[row]) == every else ', '.join(of[row])} |" for row in sorted(rows)), ""]
    lines += ["Code: `crates/aqm/src/markers`.", ""]
    return "\n".join(lines)


def parent_page() -> str:
    """The page of the parents."""
    found = json.loads(_core.parents())
    lines = [PARENTS + found["doc"].strip(), "", "### Parameters", ""]
    for entry in found["parents"]:
        lines += [f"`{entry['name']}`: {entry['title']}, {entry['year']}.", ""]
        lines += [*_parameter_rows(entry["parameters"]), ""]
    lines += ["Code: `crates/aqm/src/parents`.", ""]
    return "\n".join(lines)


def page(entry: Mapping[str, Any], catalogue: Sequence[Mapping[str, Any]]) -> str:
    """The page of one discipline."""
    name, title = entry["name"], entry["title"]
    what = "drop curve and step response" if _has_curve(name) else "step response"
    # The example in the crate's documentation is for users of the crate.
    body = re.sub(r"\n## Example\n.*?(?=\n## |\Z)", "", entry["doc"].strip(), flags=re.DOTALL).splitlines()
    if body and body[0].startswith("# "):
        body = body[1:]
    lines = [
        f"# {title}",
        "",
        f"`{name}`, {entry['family']}, {entry['year']}.",
        "",
        f"[![{title}: {what}](images/{name}.png)](README.md)",
        "",
        *body[_first_text(body) :],
        "",
        "## Parameters",
        "",
        *_parameters(entry, catalogue),
        "",
        *_readings(name),
    ]
    return "\n".join(lines)


def _readings(name: str) -> list[str]:
    if name not in {section.id for section in reading_sections.SECTIONS}:
        return []
    return [f"[What other readings do](../readings.md#{name}).", ""]


def _first_text(body: Sequence[str]) -> int:
    return next((k for k, line in enumerate(body) if line.strip()), len(body))


LIMITS = 'packets, bytes, or "2 bdp"'
SAME = ("name", "symbol", "unit", "range", "doc")
"""Fields in which a parameter must agree with another to be described by it."""
FEWEST = 3
"""Parameters that a discipline must share with an earlier one for its page to refer to the other's."""


def parameters() -> list[list[str]]:
    """Every parameter of every discipline, parent and marker, the head first: docs/data/parameters.csv."""
    rows = [["discipline", "name", "default", "unit", "allowed", "meaning", "default from"]]
    others = [*json.loads(_core.parents())["parents"], *json.loads(_core.markers())["markers"]]
    for entry in [*entries(), *others]:
        if "limit" in entry:
            limit = entry["limit"]
            rows.append([entry["name"], "limit", limit["default"], "", LIMITS, "Buffer.", limit["source"]])
        rows += [
            [entry["name"], p["name"], str(p["default"]), p["unit"], p["range"], p["doc"], p["source"]]
            for p in entry["parameters"]
        ]
    return rows


def _first(
    catalogue: Sequence[Mapping[str, Any]], entry: Mapping[str, Any]
) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Parameters that an earlier discipline describes: by name, that discipline, and the parameter there."""
    found = {}
    for p in entry["parameters"]:
        for other in takewhile(lambda e: e["name"] != entry["name"], catalogue):
            same = [q for q in other["parameters"] if all(p[key] == q[key] for key in SAME)]
            if same:
                found[p["name"]] = (other["name"], same[0])
                break
    counts = Counter(name for name, _ in found.values())
    return {name: first for name, first in found.items() if counts[first[0]] >= FEWEST}


def _parameters(entry: Mapping[str, Any], catalogue: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row for each parameter; only its name if an earlier discipline describes it with the same default."""
    titles = {other["name"]: other["title"] for other in catalogue}
    first, own, alike = _first(catalogue, entry), list[Mapping[str, Any]](), dict[str, list[str]]()
    for p in entry["parameters"]:
        name, theirs = first.get(p["name"], ("", None))
        if theirs is None:
            own.append(p)
        elif p["default"] == theirs["default"]:
            alike.setdefault(name, []).append(f"`{p['name']}`")
        else:
            doc = f"As in [{titles[name]}]({name}.md#parameters)."
            own.append({**p, "doc": doc})
    limit = f"| `limit` | {entry['limit']['default']} | [a length](../scenarios.md#queuename) | Buffer. |"
    rows = _parameter_rows(own)
    rows.insert(2, limit)
    for name, names in alike.items():
        rows += ["", f"As in [{titles[name]}]({name}.md#parameters), with its defaults: {', '.join(names)}."]
    return rows


GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "Delta": "Δ",
    "delta": "δ",
    "epsilon": "ε",
    "theta": "θ",
    "kappa": "κ",
    "rho": "ρ",
    "tau": "τ",
    "phi": "φ",
    "tilde C": "C̃",
}


def _symbol(tex: str) -> str:
    """A symbol as papers print it, `min_{th}`, with its index lowered."""
    for name, letter in GREEK.items():
        tex = tex.replace(f"\\{name}", letter)
    lowered = re.sub(r"_\{([^}]*)\}|_(\w+)", lambda index: f"<sub>{index[1] or index[2]}</sub>", tex)
    return re.sub(r"\^(.)", r"<sup>\1</sup>", lowered)


def _with_unit(default: str, unit: str) -> str:
    """A default as it is read: `0.02 s`, `auto (packets)`."""
    if not unit:
        return default
    return f"{default} {unit}" if re.fullmatch(r"[\d.e+, -]+", default) else f"{default} ({unit})"


def _parameter_rows(parameters: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table with a row for each parameter, and one for all that differ in a number only: `rate_0`, `rate_1`..."""
    kinds: dict[Any, list[Mapping[str, Any]]] = {}
    for p in parameters:
        numbered = re.fullmatch(r"(\w+)_\d+", p["name"])
        kinds.setdefault((numbered[1], p["unit"], p["range"]) if numbered else p["name"], []).append(p)
    rows = ["| name | [default](README.md#parameters) | allowed | meaning |", "|---|---|---|---|"]
    for alike in kinds.values():
        p = alike[0]
        symbol = f" {shown}" if (shown := _symbol(p["symbol"])) not in ("", _symbol(p["name"])) else ""
        doc = p["doc"]
        if len(alike) > 1:
            symbol = symbol.replace("<sub>0</sub>", "<sub>i</sub>")
            doc = re.sub(r"\b(\w+) 0\b", r"each \1", doc)
        defaults = [str(one["default"]) for one in alike]
        cells = [
            ", ".join(f"`{one['name']}`" for one in alike) + symbol,
            _with_unit(", ".join(defaults if len(set(defaults)) > 1 else defaults[:1]), p["unit"]),
            p["range"],
            doc,
        ]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return rows


# ---- pictures ------------------------------------------------------------------------------------------------------


def _has_curve(name: str) -> bool:
    return _core.drop_curve(name, "{}", [0.0]) is not None


def step_response(name: str) -> dict[str, Any]:
    """The time series of the run with a step in the load, for the plots."""
    link = {"rate": "100 Mbit/s", "delay": "5 ms"}
    document = {
        "name": f"step-{name}",
        "duration": f"{END} s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 50,
            "access": link,
            "bottleneck": {"rate": "10 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": name, "limit": "120 packets"}},
        "traffic": [
            {"kind": "ftp", "count": 10, "start": {"uniform": ["0 s", "1 s"]}},
            {"kind": "ftp", "count": 40, "start": {"uniform": [f"{STEP_AT} s", f"{STEP_AT}.1 s"]}},
        ],
        "record": {"series": "50 ms"},
    }
    result = json.loads(_core.Scenario.parse(document, []).run(1))
    series: dict[str, Any] = result["series"]
    return series


def picture(entry: Mapping[str, Any]) -> Figure:
    """Drop curve, where there is one, and step response."""
    from earlydrop.render import plotting

    series = step_response(entry["name"])
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 2.3)
        if _has_curve(entry["name"]):
            left, right = drawing.subplots(1, 2, width_ratios=[1, 1.7])
            _curve(left, entry)
            left.set_title("Drop curve")
        else:
            right = drawing.subplots()
        _response(right, series["time_s"], series["queues"]["bottleneck"])
        right.set_title("40 flows join 10")
    return drawing


def _curve(ax: Axes, entry: Mapping[str, Any]) -> None:
    from earlydrop.render import plotting

    defaults = {p["name"]: p["default"] for p in entry["parameters"]}
    marks = {}
    for name in ("min_th", "max_th"):
        try:
            marks[name] = float(defaults[name])
        except (KeyError, ValueError):
            continue
    top = 2.1 * marks["max_th"] if "max_th" in marks else 120.0
    averages = [top * k / 400 for k in range(401)]
    values = _core.drop_curve(entry["name"], "{}", averages)
    ax.plot(averages, values or [], color=plotting.look(0).colour)
    for value in marks.values():
        ax.axvline(value, color="#999999", linewidth=0.7, linestyle=(0, (2, 2)))
    ax.set_ylim(-0.02, 1.05)
    ax.margins(x=0.01)
    ax.set_xlabel("Average queue (packets)")
    ax.set_ylabel("Drop probability $p_b$")


def _response(ax: Axes, times: Sequence[float], queue: Mapping[str, Any]) -> None:
    from earlydrop.render import plotting

    ax.plot(times, queue["packets"], color=plotting.look(1).colour, linewidth=0.6, alpha=0.8, label="queue")
    if queue.get("average"):
        ax.plot(times, queue["average"], color="#000000", linewidth=1.2, label="average")
        ax.legend(loc="upper left", ncols=2)
    ax.axvline(STEP_AT, color="#999999", linewidth=0.7, linestyle=(0, (2, 2)))
    ax.set_ylim(0, 135)
    ax.margins(x=0)
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Packets waiting")


# ---- writing and checking ------------------------------------------------------------------------------------------


def texts() -> dict[str, str]:
    """File name and text of every page."""
    catalogue = entries()
    pages = {f"{e['name']}.md": page(e, catalogue) for e in catalogue}
    return {"README.md": index(catalogue), "markers.md": marker_page(), "parents.md": parent_page(), **pages}


def write(folder: Path, progress: Progress) -> None:
    """Write every page and plot; files without a discipline are removed."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    catalogue = entries()
    for number, entry in enumerate(catalogue):
        progress(number, len(catalogue), "pages")
        drawing = picture(entry)
        from earlydrop.render import plotting

        with plotting.styled():
            drawing.savefig(folder / "images" / f"{entry['name']}.png", dpi=130)
    for name, text in texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    blocks.put_csv(folder.parent / DATA, parameters())
    for stray in strays(folder):
        stray.unlink()
    progress(len(catalogue), len(catalogue), "pages")


def strays(folder: Path) -> list[Path]:
    """Files of pages without a discipline."""
    expected = {folder / name for name in texts()}
    expected |= {folder / "images" / f"{e['name']}.png" for e in entries()}
    return sorted(p for p in folder.rglob("*") if p.is_file() and p not in expected)


def stale(folder: Path) -> list[str]:
    """Files that are missing, outdated, or without a discipline."""
    found = [
        name
        for name, text in texts().items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text
    ]
    found += [DATA] * blocks.is_stale(folder.parent / DATA, parameters())
    found += [f"images/{e['name']}.png" for e in entries() if not (folder / "images" / f"{e['name']}.png").is_file()]
    return found + [str(p.relative_to(folder)) for p in strays(folder)]


def main(arguments: Sequence[str]) -> int:
    """Write or check the pages; 1 if a check finds any stale."""
    folder = Path(arguments[0]) if arguments else Path("docs/aqms")
    if "--check" in arguments:
        found = stale(folder)
        for name in found:
            print(f"{folder / name}: differs from the declarations; run make pages", file=sys.stderr)
        return 1 if found else 0
    with Progress() as progress:
        write(folder, progress)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
