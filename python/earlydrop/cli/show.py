"""`earlydrop show`: a discipline, a TCP stack, a model of links, or a scenario's network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .. import terminal
from ..document import effects
from .checks import check_figure, check_name, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, Sets, Trust
from .printing import print_json

LINK_RATE, LINK_DELAY = 10e6, 0.02
"""Rate and delay of the link for the drop curve of a discipline from outside, bit/s and s."""


def show(
    aqm: Annotated[str, Parameter(name="NAME")],
    /,
    *,
    plot: Annotated[
        Path | None,
        Parameter(
            name="--plot", help="Also plot the drop curve, or a model's rate, to this file (.png, .pdf or .svg)."
        ),
    ] = None,
    picture: Annotated[
        Path | None, Parameter(name="--picture", help="Draw a scenario's network to this file (.png, .pdf or .svg).")
    ] = None,
    against: Annotated[str | None, Parameter(help="Show how a TCP stack differs from this one.")] = None,
    set_: Sets = [],  # noqa: B006
    trust: Trust = False,
    json: Json = False,
) -> int:
    """A discipline: parameters, drop curve, documentation; a TCP stack; a model of links; or a scenario's network.

    Parameters
    ----------
    aqm
        Name of the discipline, stack or model, as `earlydrop list` prints it, a file with a discipline of your own
        (mine.py, mine.py:MyRed, libmine.so), or a scenario's file, SCENARIO.toml.
    """
    from .. import discipline_names, stacks
    from ..render import link_models

    if aqm in stacks.names():
        if against is not None:
            check_name("stack", against, stacks.names())
        if json:
            print_json(stacks.document(aqm, against))
        else:
            print(stacks.text(aqm, against))
        return DONE
    if against is not None:
        raise InputError(f"--against: belongs to a TCP stack ({', '.join(stacks.names())}); given {aqm}")
    if aqm.split(" ")[0] in link_models.names():
        return _show_model(aqm, plot, json)
    if aqm.endswith(".toml"):
        return _show_network(aqm, plot, picture, parse_settings(set_), json)
    if picture is not None or set_:
        given = "--set" if picture is None else f"--picture {picture}"
        raise InputError(f"{given}: belongs to a scenario, SCENARIO.toml; given the discipline {aqm}")
    entry = _discipline(aqm)
    curves = _curves(entry, discipline_names.catalogue())
    if plot is not None:
        _draw(plot, entry, curves)
    if json:
        print_json({**entry, "curves": [{"title": t, "average": xs, "p_b": ys} for t, xs, ys in curves]})
        return DONE
    print(_shown(entry, curves))
    return DONE


def _discipline(name: str) -> dict[str, Any]:
    """The discipline that `name` or a source names, or whose setting it names (`folded`).

    A name that is none may be meant for something else of `show`.
    """
    from .. import discipline_names, stacks
    from ..schema import choices
    from ..strict_toml import meant, nearest

    try:
        return discipline_names.find(name)
    except discipline_names.DisciplineError as error:
        folded = discipline_names.folded(name)
        if folded is not None:
            return discipline_names.find(folded["of"]) | {"folded": folded}
        known = stacks.catalogue()["stacks"]
        tcp = meant(name, [one["name"] for one in choices("tcps")])
        if tcp is not None:
            having = ", ".join(stack["name"] for stack in known if tcp in stack["tcps"])
            said = (
                f"{tcp} is a TCP, which `earlydrop list tcps` describes; allowed here is a stack that has it: {having}"
            )
            raise InputError(said, given=name, allowed=having) from error
        names = ", ".join(stacks.names())
        near = nearest(name.lower(), stacks.names())
        stack = f"a TCP stack ({f'{near} ' if near else ''}{names})"
        raise InputError(f"{error}; or {stack}; or a scenario's file, SCENARIO.toml", given=name) from error


def _curves(entry: dict[str, Any], entries: dict[str, Any]) -> list[tuple[str, list[float], list[float]]]:
    """The drop curves of a discipline and of RED with the same thresholds."""
    import earlydrop._core as _core

    shared = {"min_th", "max_th", "max_p"}
    given = _numbers(entry, shared)
    top = 1.2 * given.get("max_th", 100.0)
    averages = [top * k / 300 for k in range(301)]
    found = []
    own = _own_curve(entry["name"], averages)
    if own is None:
        return []
    found.append((entry["title"], averages, own))
    if entry["name"] != "red" and "red" in entries and given:
        red = _core.drop_curve("red", json.dumps(given), averages)
        if red is not None:
            found.append((f"{entries['red']['title']} with the same thresholds", averages, red))
    return found


def _own_curve(name: str, averages: list[float]) -> list[float] | None:
    """The drop curve of a discipline with its defaults."""
    import earlydrop._core as _core
    from ..own_aqms import registry

    known = registry.find(name)
    if known is None:
        return _core.drop_curve(name, "{}", averages)
    try:
        return known.native.curve(averages, LINK_RATE, LINK_DELAY)
    except RuntimeError as error:
        raise InputError(f"{name}: its drop curve: {error}") from error


def _numbers(entry: dict[str, Any], names: set[str]) -> dict[str, float]:
    """Defaults of these parameters, as far as they are numbers (not "auto")."""
    found = {p["name"]: str(p["default"]) for p in entry["parameters"] if p["name"] in names}
    return {name: float(text) for name, text in found.items() if text != "auto"}


def _show_network(
    file: str, plot_file: Path | None, picture_file: Path | None, sets: list[tuple[str, str]], as_json: bool
) -> int:
    import earlydrop._core as _core
    from ..render import plotting
    from ..scenario import Scenario

    if plot_file is not None:
        raise InputError(f"--plot {plot_file}: draws a discipline's drop curve; a network's picture is --picture")
    check_figure("--picture", picture_file)
    scenario = Scenario(_core.Scenario.load(file, sets))
    network = scenario.network()
    if picture_file is not None:
        try:
            plotting.write(scenario.picture(), picture_file)
        except OSError as error:
            raise InputError(f"--picture {picture_file}: {error.strerror}", file=str(picture_file)) from None
    if as_json:
        print_json(network)
        return DONE
    print(_network_text(scenario.name, network))
    return DONE


def _show_model(model: str, plot_file: Path | None, as_json: bool) -> int:
    from ..render import link_models, plotting

    check_figure("--plot", plot_file)
    entry, series = link_models.drawn(model)
    if plot_file is not None:
        if not series:
            raise InputError(
                f"--plot {plot_file}: {entry['title']} has neither a rate of its own nor delays that change"
            )
        try:
            plotting.write(link_models.figure(entry, series), plot_file)
        except OSError as error:
            raise InputError(f"--plot {plot_file}: {error.strerror}", file=str(plot_file)) from None
    if as_json:
        print_json({**entry, "series": {one.name: {"step": one.step, "values": one.values} for one in series}})
        return DONE
    print(link_models.text(entry, series))
    return DONE


def _network_text(name: str, network: dict[str, Any]) -> str:
    """Nodes, links and queues in a table. Links of alike hosts stand together."""
    routers = sum(node["router"] for node in network["node"])
    hosts = len(network["node"]) - routers
    count = sum(2 if link["reverse"] else 1 for link in network["link"])
    counts = [(hosts, "host"), (routers, "router"), (count, "link"), (len(network["queue"]), "queue")]
    said = [f"{number} {what}{'s' * (number != 1)}" for number, what in counts]
    head = f"{name}: {said[0]}, {said[1]}, {said[2]} in one direction, {said[3]}"
    router = {node["name"] for node in network["node"] if node["router"]}
    groups: dict[tuple[str, ...], list[tuple[str, str, float]]] = {}
    for link in network["link"]:
        back = link["reverse"]
        both = back and _properties(back, network) == _properties(link, network)
        ways = [(link, link["from"], link["to"])]
        ways += [(back, link["to"], link["from"])] if back and not both else []
        for way, begin, end in ways:
            properties = _properties(way, network)
            # Hosts such as s1 and s2 at one router are alike.
            alike = [name if name in router else re.sub(r"[0-9]+$", "", name) for name in (begin, end)]
            alike = alike if properties[2] == "-" and not {begin, end} <= router else [way["name"], ""]
            delay = float(str(way["delay"]).split()[0])
            key = (*alike, "<>" if both else ">", properties[0], *properties[2:])
            groups.setdefault(key, []).append((begin, end, delay))
    rows = []
    for (_, _, sign, rate, queue, more), members in groups.items():
        delays = [delay for *_, delay in members]
        low, high = (terminal.delay_text(f"{delay!r} s", 4) for delay in (min(delays), max(delays)))
        begin = _first_to_last([begin for begin, _, _ in members])
        end = _first_to_last([end for _, end, _ in members])
        rows.append([f"{begin} {sign} {end}", rate, low if low == high else f"{low} to {high}", queue, more])
    columns = ["link", "rate", "delay", "queue", "packets"]
    if all(row[-1] == "-" for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    shown = 40
    rest = f"\nand {len(rows) - shown} rows more (--json has all)" if len(rows) > shown else ""
    return f"{head}\n\n{terminal.table(columns, rows[:shown], left=len(columns))}{rest}"


def _first_to_last(names: list[str]) -> str:
    return names[0] if names[0] == names[-1] else f"{names[0]}..{names[-1]}"


def _properties(way: dict[str, Any], network: dict[str, Any]) -> tuple[str, str, str, str]:
    """Rate, delay, queue, and what happens to packets on the way."""
    given = effects(way)
    model = given.pop("model", None)
    more = ", ".join([*([model["name"]] if model else []), *given]) or "-"
    return terminal.rate_text(way.get("rate"), 6), str(way["delay"]), network["queue"].get(way["name"], "-"), more


def _draw(path: Path, entry: dict[str, Any], curves: list[tuple[str, list[float], list[float]]]) -> None:
    from ..render import plotting

    if path.suffix not in {".png", ".pdf", ".svg"}:
        raise InputError(f"--plot {path}: given {path.suffix or 'no suffix'}; allowed .png, .pdf, .svg")
    if not curves:
        raise InputError(f"--plot: {entry['title']} has no drop curve")
    marks = _numbers(entry, {"min_th", "max_th"})
    drawn = [plotting.DropCurve(title, averages, values) for title, averages, values in curves]
    # With p = 1 above max_th in view, the curve below it looks flat: a second panel shows that part.
    detail = (0.8 * marks["min_th"], 1.05 * marks["max_th"]) if len(marks) == 2 else None
    drawing = plotting.drop_curves(drawn, marks, detail)
    try:
        plotting.write(drawing, path)
    except OSError as error:
        raise InputError(f"--plot {path}: {error.strerror}", file=str(path)) from None


def _use(entry: dict[str, Any]) -> list[str]:
    """How a discipline of the catalogue is named in a scenario, on the command line and in Python."""
    from .. import aqm

    name = entry["name"]
    if name not in {own["name"] for own in aqm.entries()}:
        return []
    words = (
        f'`aqm = "{name}"` in a scenario, `--aqm {name}` in a command, `ed.aqm.{aqm.class_name(entry)}(...)` in Python'
    )
    return [terminal.paragraph(f"Use: {words}.")]


def _folded(one: dict[str, Any]) -> list[str]:
    """What a scheme is that is a setting of a discipline, above the page of this."""
    from .. import aqm

    head = f"{one['title']} ({one['name']}, {one['year']}): {one['summary']}. It is a setting of {one['of']}: "
    words = (
        f'`{one["setting"]}` in a scenario, `--aqm "{one["text"]}"` in a command, `ed.aqm.{aqm.call(one)}` in Python.'
    )
    return [terminal.paragraph(head + words), ""]


def _shown(entry: dict[str, Any], curves: list[tuple[str, list[float], list[float]]]) -> str:
    year = f", {entry['year']}" if entry["year"] else ""
    lines = _folded(entry["folded"]) if "folded" in entry else []
    lines += [f"{entry['title']} ({entry['name']}{year}): {entry['summary']}"]
    lines += [terminal.paragraph(f"Source: {entry['source']}")] if entry["source"] else []
    lines += _use(entry)
    lines += ["", "Parameters", ""]
    limit = {
        "name": "limit",
        "unit": "",
        "range": 'packets, bytes, or "2 bdp"',
        "doc": "The buffer.",
        **entry["limit"],
    }
    parameters = [limit, *entry["parameters"]]
    lines += terminal.parameters(parameters)
    if curves:
        lines += ["", "Drop probability p_b over the average queue (packets)", ""]
        inside = [y for _, _, ys in curves for y in ys if y < 1]
        top = max(inside, default=1)
        # A threshold is a tick, and so is the probability that the curve reaches.
        own = _numbers(entry, {"min_th", "max_th", "max_p"})
        reached = own.pop("max_p", top)
        marks = (list(own.values()), [reached if abs(reached / top - 1) < 0.02 else float(f"{top:.2g}")])
        lines.append(terminal.plot(curves, columns=min(72, terminal.width() - 8), top=1.25 * top, marks=marks))
        lines.append("  (probabilities above the frame are certain drops)")
    body = entry["doc"].strip()
    lines += ["", body]
    return "\n".join(lines)
