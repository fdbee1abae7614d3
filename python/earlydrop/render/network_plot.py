"""Diagrams of networks: squares are routers, discs are hosts, bars are the queues of links."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..document import effects
from ..terminal import delay_text, rate_text
from . import plotting

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Places = np.ndarray[Any, np.dtype[np.float64]]

ROUTER, HOST, QUEUE = "#0072B2", "#444444", "#D55E00"
LABELLED = 60
"""Most nodes with their names beside them; of more nodes the routers are named, if these are at most as many."""
CROWD = 300
"""With this many links, lines are thin and queues left out."""
SHOWN = 12
"""Most hosts of one router on one side that are all drawn."""


def draw(network: Mapping[str, Any], title: str = "") -> Figure:
    """Draw a network as `Scenario.network` gives it."""
    nodes, links, left_out = _thinned(network)
    places = _places(nodes, links)
    span = places.max(axis=0) - places.min(axis=0)
    with plotting.styled():
        drawing, axes = _canvas(places, span, title)
        at = {node["name"]: tuple(place) for node, place in zip(nodes, places, strict=True)}
        routers = {node["name"] for node in nodes if node["router"]}
        size = _size(len(nodes))
        crowd = len(links) > CROWD
        for link in links:
            _line(axes, link, at, crowd)
        queues = {} if crowd else network["queue"]
        _queues(axes, queues, links, at)
        _dots(axes, nodes, left_out)
        for kind, marker, colour in ((False, "o", HOST), (True, "s", ROUTER)):
            chosen = [at[n["name"]] for n in nodes if n["router"] == kind]
            if chosen:
                xs, ys = zip(*chosen, strict=True)
                scale = 1.5 if kind else 1.0
                axes.plot(xs, ys, marker, ms=size * scale, mfc=colour, mec="white", mew=0.5, zorder=3, ls="none")
        named = nodes if len(nodes) <= LABELLED else [node for node in nodes if node["router"]]
        if len(named) <= LABELLED:
            _names(axes, named, links, at, size)
        if len({_words(link) for link in links if _core(link, routers)}) <= SHOWN:
            _labels(axes, links, at, routers)
        _key(axes, links, routers, bool(queues), len(left_out))
    return drawing


def _canvas(places: Places, span: Any, title: str) -> tuple[Figure, Axes]:
    """An empty drawing in the shape of the network."""
    width = plotting.PAGE
    # Columns of hosts may be pressed together, but a circle stays round.
    columns = len({round(float(x), 6) for x, _ in places}) <= 4 or span[0] == 0
    shape = 0.45 if columns else min(max(span[1] / span[0], 0.33), 0.95)
    drawing = plotting.figure(width, width * shape + 0.6)
    axes = drawing.add_subplot()
    axes.set_axis_off()
    if not columns and shape > 0.33:
        axes.set_aspect("equal", adjustable="box")
    margin = [0.09 * max(span[0], 1e-3), 0.09 * max(span[1], 0.2 * span[0], 1e-3)]
    low, high = places.min(axis=0), places.max(axis=0)
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
    if title:
        axes.set_title(title)
    return drawing, axes


def _thinned(network: Mapping[str, Any]) -> tuple[list[Any], list[Any], set[str]]:
    """Nodes and links to draw, and the nodes left out: of many hosts in a column the first few and the last stay."""
    nodes, links = list(network["node"]), list(network["link"])
    neighbours: dict[str, list[str]] = {node["name"]: [] for node in nodes}
    for link in links:
        neighbours[link["from"]].append(link["to"])
        neighbours[link["to"]].append(link["from"])
    groups: dict[tuple[str, Any], list[str]] = {}
    for node in nodes:
        if not node["router"] and len(neighbours[node["name"]]) == 1 and node.get("place"):
            side = round(node["place"][0], 6)
            groups.setdefault((neighbours[node["name"]][0], side), []).append(node["name"])
    gone: set[str] = set()
    moved: dict[str, list[float]] = {}
    for (router, _), group in groups.items():
        if len(group) <= SHOWN:
            continue
        kept = [*group[: SHOWN - 2], group[-1]]
        gone |= set(group) - set(kept)
        place = {node["name"]: node["place"] for node in nodes}
        centre = place[router][1]
        for i, name in enumerate(kept):
            slot = i if i < len(kept) - 1 else SHOWN - 1
            moved[name] = [place[name][0], centre + (SHOWN - 1) / 2 - slot]
    nodes = [
        {**node, "place": moved.get(node["name"], node.get("place"))} for node in nodes if node["name"] not in gone
    ]
    links = [link for link in links if link["from"] not in gone and link["to"] not in gone]
    return nodes, links, gone


def _places(nodes: Sequence[Any], links: Sequence[Any]) -> Places:
    """Where nodes stand: as the network says, or so that distances in the picture are like those in links."""
    import numpy as np

    if all(node.get("place") for node in nodes):
        return np.array([node["place"] for node in nodes], dtype=np.float64)
    index = {node["name"]: i for i, node in enumerate(nodes)}
    near: list[list[int]] = [[] for _ in nodes]
    for link in links:
        a, b = index[link["from"]], index[link["to"]]
        near[a].append(b)
        near[b].append(a)
    count = len(nodes)
    angles = 2 * np.pi * np.arange(count) / count
    places = np.stack([np.cos(angles), np.sin(angles)], axis=1) * count / 6
    if count > 400:
        return places
    hops = np.array([_hops(near, i) for i in range(count)])
    hops[hops < 0] = hops.max() + 1
    return _stress(places, hops)


def _hops(near: Sequence[Sequence[int]], start: int) -> list[float]:
    hops = [-1.0] * len(near)
    hops[start] = 0.0
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for other in near[at]:
            if hops[other] < 0:
                hops[other] = hops[at] + 1
                waiting.append(other)
    return hops


def _stress(places: Places, hops: Any) -> Places:
    """Moves the nodes until distances in the picture are as near to distances in hops as they get (SMACOF)."""
    import numpy as np

    count = len(places)
    if count < 2:
        return places
    weights = np.where(hops > 0, 1.0 / np.maximum(hops, 1.0) ** 2, 0.0)
    system = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(system)
    for _ in range(200):
        gaps = places[:, None, :] - places[None, :, :]
        lengths = np.sqrt((gaps**2).sum(axis=2))
        ratio = np.divide(weights * hops, lengths, out=np.zeros_like(lengths), where=lengths > 1e-9)
        places = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ places)
    # The longer side lies along the page.
    _, axes = np.linalg.eigh(np.cov(places.T))
    turned: Places = places @ axes[:, ::-1]
    return turned


def _size(nodes: int) -> float:
    return max(2.0, min(8.0, 60.0 / math.sqrt(nodes + 1)))


def _core(link: Mapping[str, Any], routers: set[str]) -> bool:
    return link["from"] in routers and link["to"] in routers


def _odd(way: Any) -> bool:
    return isinstance(way, Mapping) and (isinstance(way.get("rate"), Mapping) or bool(effects(way)))


def _dots(axes: Axes, nodes: Sequence[Any], left_out: set[str]) -> None:
    """Dots in the place of hosts that are left out, above the last of their column."""
    if not left_out:
        return
    columns: dict[float, list[float]] = {}
    for node in nodes:
        if not node["router"]:
            columns.setdefault(node["place"][0], []).append(node["place"][1])
    for x, ys in columns.items():
        if len(ys) == SHOWN - 1:
            last, before = sorted(ys)[:2]
            axes.plot([x] * 3, [last + share * (before - last) for share in (0.4, 0.5, 0.6)], ".", ms=2.5, color=HOST)


def _line(axes: Axes, link: Mapping[str, Any], at: Mapping[str, Any], crowd: bool) -> None:
    (x0, y0), (x1, y1) = at[link["from"]], at[link["to"]]
    dashed = _odd(link) or _odd(link["reverse"])
    style: dict[str, Any] = {"color": "#8a8a8a", "lw": 0.9, "ls": (0, (4, 2)) if dashed else "-", "zorder": 1}
    if crowd:
        style |= {"lw": 0.2, "alpha": 0.4}
    if link["reverse"] is False:
        arrow = {"arrowstyle": "-|>", "shrinkA": 5, "shrinkB": 6, "mutation_scale": 8, **style}
        axes.annotate("", (x1, y1), (x0, y0), arrowprops=arrow)
    else:
        axes.plot([x0, x1], [y0, y1], **style)


def _queues(axes: Axes, queues: Mapping[str, str], links: Sequence[Any], at: Mapping[str, Any]) -> None:
    """A bar across the beginning of each link that has a queue."""
    starts = []
    for link in links:
        ways = [(link["name"], link["from"], link["to"])]
        if link["reverse"] is not False:
            ways.append((link["reverse"]["name"], link["to"], link["from"]))
        starts += [(at[a], at[b]) for name, a, b in ways if name in queues]
    if not starts:
        return
    to_points = axes.transData.transform
    for begin, end in starts:
        (px, py), (qx, qy) = to_points([begin, end])
        angle = math.degrees(math.atan2(qy - py, qx - px))
        length = math.hypot(qx - px, qy - py)
        share = min(0.3, 26.0 / max(length, 1e-9))
        x, y = begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1])
        bar = max(3.0, min(8.0, 0.25 * length * 72 / axes.figure.dpi))
        axes.plot([x], [y], marker=(2, 0, angle), ms=bar, mec=QUEUE, mew=1.8, zorder=2, ls="none")


def _names(axes: Axes, nodes: Sequence[Any], links: Sequence[Any], at: Mapping[str, Any], size: float) -> None:
    """The name of each node on the side where it has the fewest links."""
    directions: dict[str, list[float]] = {node["name"]: [] for node in nodes}
    for link in links:
        for a, b in ((link["from"], link["to"]), (link["to"], link["from"])):
            if a not in directions:
                continue
            (x0, y0), (x1, y1) = axes.transData.transform([at[a], at[b]])
            directions[a].append(math.atan2(y1 - y0, x1 - x0))
    for node in nodes:
        angle = _free_direction(directions[node["name"]])
        gap = size * (1.0 if node["router"] else 0.75) + 3
        offset = (gap * math.cos(angle), gap * math.sin(angle))
        # The name of a leaf goes on in the direction of its link, even if that is steep.
        steep = (0.35 if len(directions[node["name"]]) == 1 else 0.8) * gap
        ha = "left" if offset[0] > steep else "right" if offset[0] < -steep else "center"
        va = "center" if ha != "center" else "bottom" if offset[1] > 0 else "top"
        axes.annotate(
            node["name"],
            at[node["name"]],
            offset,
            textcoords="offset points",
            ha=ha,
            va=va,
            fontsize=6.5,
            color=ROUTER if node["router"] else HOST,
            zorder=4,
        )


def _free_direction(angles: Sequence[float]) -> float:
    """The middle of the widest gap between directions; straight up if there is none."""
    if not angles:
        return math.pi / 2
    ordered = sorted(angle % (2 * math.pi) for angle in angles)
    gaps = [(b - a, a) for a, b in zip(ordered, [*ordered[1:], ordered[0] + 2 * math.pi], strict=True)]
    width = max(gap for gap, _ in gaps)
    # Of equally wide gaps, take the one that looks most upwards.
    middles = [a + gap / 2 for gap, a in gaps if gap > width - 1e-6]
    return max(middles, key=math.sin)


def _rate(way: Mapping[str, Any]) -> str:
    """The rate, or the model that has it."""
    return rate_text(way["rate"]) if "rate" in way else str(way["model"]["name"])


def _words(link: Mapping[str, Any]) -> str:
    there = f"{_rate(link)}, {delay_text(link['delay'])}"
    if link["reverse"] is False:
        return there
    back = f"{_rate(link['reverse'])}, {delay_text(link['reverse']['delay'])}"
    return there if back == there else f"{there}\nback {back}"


def _labels(axes: Axes, links: Sequence[Any], at: Mapping[str, Any], routers: set[str]) -> None:
    """Rates and delays: at each link between routers, or once for all where they are alike."""
    core = [link for link in links if _core(link, routers)]
    words = {_words(link) for link in core}
    if len(words) == 1 and len(core) > 4:
        return
    for link in core:
        (x0, y0), (x1, y1) = at[link["from"]], at[link["to"]]
        axes.annotate(
            _words(link),
            ((x0 + x1) / 2, (y0 + y1) / 2),
            (0, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=6.5,
            color="#333333",
            zorder=5,
            bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
        )


def _alike(links: Sequence[Any]) -> str:
    """The property that links have in common: one rate with the range of their delays, or what most of them have."""
    if len(links) < 2:
        return ""
    words = [_words(link).replace("\n", ", ") for link in links]
    rates = {_rate(way) for link in links for way in (link, link["reverse"]) if way}
    if len(rates) == 1 and len(set(words)) > 1:
        delays = [float(str(way["delay"]).split()[0]) for link in links for way in (link, link["reverse"]) if way]
        low, high = (delay_text(f"{delay!r} s") for delay in (min(delays), max(delays)))
        return f"links of hosts: {rates.pop()}, {low} to {high}"
    most = max(set(words), key=words.count)
    return f"most links: {most}" if words.count(most) > 1 else ""


def _key(axes: Axes, links: Sequence[Any], routers: set[str], queues: bool, left_out: int) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], marker="o", ls="none", mfc=HOST, mec="white", ms=5, label="host"),
        Line2D([], [], marker="s", ls="none", mfc=ROUTER, mec="white", ms=6, label="router"),
    ]
    if queues:
        entries.append(Line2D([], [], marker="|", ls="none", mec=QUEUE, mew=1.8, ms=7, label="queue"))
    if any(_odd(link) or _odd(link["reverse"]) for link in links):
        dashes = (0, (4, 2))
        entries.append(Line2D([], [], color="#8a8a8a", lw=0.9, ls=dashes, label="loses, delays or changes its rate"))
    access = _alike([link for link in links if not _core(link, routers)]) or _alike(links)
    if access:
        entries.append(Line2D([], [], color="#8a8a8a", lw=0.9, label=access))
    if left_out:
        entries.append(Line2D([], [], ls="none", label=f"{left_out} hosts more"))
    axes.legend(
        handles=entries, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(entries), fontsize=7, handlelength=1.5
    )
