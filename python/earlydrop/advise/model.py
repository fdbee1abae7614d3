"""The scenarios of `advise`: a home's line with a modem, a router, and what a family does with it.

    server -- delay -- isp == line == modem -- shaper -- router -- home

The line is the bottleneck, with a FIFO at each end: the modem's and the provider's. A shaper in the router, a little
slower than the line, moves the queue to where a discipline can manage it; the FIFOs of the line stay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from .. import discipline_names
from ..document import Document
from ..sweeps import Sweep, parse_document
from ..toml_writer import to_toml
from .line import AdviseError, Home
from .rules import RULES, filled

ALONE, TODAY = "idle", "today"
"""Levels beside the disciplines: the line without downloads and uploads, and with them but without a shaper."""

CANDIDATES: tuple[str, ...] = tuple(RULES["candidates"])
"""Disciplines that are compared by default: those that a Linux router can run."""
RUNNABLE: tuple[str, ...] = tuple(RULES["qdisc"])
"""Disciplines that can be recommended: `tc` sets them up with one line, CAKE with its shaper. DRR is not among them: it
needs a class for each flow."""
LINUX: tuple[str, ...] = tuple(RULES["linux"])
"""Disciplines that are run in their dialect `linux`; the others have one form only, or Linux's by default."""

MEASURED_S, LEAST_S = 30.0, 5.0
BITS = 6e9
"""A line is measured until it has carried this many bits both ways: at least 5 s, less than 30 s on a fast line."""
NEVER = "1000000 s"

Index = dict[str, int]
"""Place of each traffic entry in the scenario's list, by the entry's name."""


def times(home: Home) -> tuple[float, float]:
    """Warm-up and measured time, s."""
    measured = round(max(LEAST_S, min(MEASURED_S, BITS / (home.down_bps + home.up_bps))), 1)
    return measured / 3, measured


def scenario(home: Home, queue: str, rtt_ms: float) -> Document:
    """The home's line with a queue: a discipline behind a shaper, `TODAY`, or `ALONE`."""
    warmup, measured = times(home)
    return {
        "name": "home",
        "duration": f"{warmup + measured:g} s",
        "warmup": f"{warmup:g} s",
        "topology": {"kind": "graph"},
        "link": _links(home, queue, rtt_ms),
        "queue": _queues(home, queue),
        "traffic": _traffic(home, loaded=queue != ALONE),
        "record": {"jitter": True, "losses": True},
    }


def _links(home: Home, queue: str, rtt_ms: float) -> list[Document]:
    fast = f"{max(10e9, 10 * home.down_bps, 10 * home.up_bps):.0f} bit/s"
    own = home.framing
    framing = {"overhead": f"{own.overhead} B", "mpu": f"{own.mpu} B", "encoding": own.encoding}

    def way(rate_bps: float, name: str) -> Document:
        layer = "ip" if own.ppp else "ethernet"
        link = {"rate": f"{rate_bps:.0f} bit/s", "delay": "0 ms", "link_layer": layer}
        return {**link, "framing": framing, "queue": name}

    here: Document = {"rate": fast, "delay": "0 ms"}
    if queue not in (ALONE, TODAY):
        shaped = way(home.shaped_bps(up=False), "router_down"), way(home.shaped_bps(up=True), "router_up")
    else:
        shaped = here, here
    return [
        {"from": "server", "to": "isp", "rate": fast, "delay": f"{rtt_ms / 2:g} ms"},
        {"from": "isp", "to": "modem", **way(home.down_bps, "line_down"), "reverse": way(home.up_bps, "line_up")},
        {"from": "modem", "to": "router", **shaped[0], "reverse": shaped[1]},
        {"from": "router", "to": "home", **here},
    ]


def _queues(home: Home, queue: str) -> Document:
    found: Document = {
        "line_down": {"aqm": "droptail", "limit": home.limit(home.down_bps)},
        "line_up": {"aqm": "droptail", "limit": home.limit(home.up_bps)},
    }
    if queue not in (ALONE, TODAY):
        found["router_down"] = settings(home, queue, up=False)
        found["router_up"] = settings(home, queue, up=True)
    return found


def control_times(home: Home, up: bool) -> tuple[float, float]:
    """CoDel's target and interval, ms, by the rules of the table: the interval is the largest usual round trip."""
    rule, rtt = RULES["codel"], max(home.rtts_ms)
    packet = 8e3 * rule["packet_bytes"] / home.shaped_bps(up)
    target = round(max(rule["target_ms"], rule["least_share"] * rtt, packet), 1)
    return target, round(max(rule["interval_ms"], rtt, target / rule["most_share"]), 1)


def pie_target(home: Home, up: bool) -> float:
    """PIE's reference of the delay, ms."""
    return max(float(RULES["pie"]["target_ms"]), control_times(home, up)[0])


def cake_rtt(home: Home) -> tuple[str, float]:
    """CAKE's setting for the round trip, and the time that it stands for, ms."""
    rtt = max(home.rtts_ms)
    found = next((one for one in RULES["cake"]["rtt"] if one["ms"] >= rtt), None)
    return (found["keyword"], float(found["ms"])) if found else (f"rtt {rtt:g}ms", rtt)


def limit_packets(aqm: str) -> int:
    """The discipline's default limit in the catalogue; a device's, if that is no number of packets."""
    found = [re.match(r"(\d+) packets", discipline_names.find(name)["limit"]["default"]) for name in (aqm, "droptail")]
    return next(int(one[1]) for one in found if one)


def settings(home: Home, aqm: str, up: bool) -> Document:
    """Settings of a discipline behind the shaper of one direction: Linux's, if Linux has the discipline."""
    known = {p["name"]: p for p in discipline_names.find(aqm)["parameters"]}
    found: Document = {"aqm": aqm, "limit": f"{limit_packets(aqm)} packets"}
    if aqm in LINUX:
        found["dialect"] = "linux"
    if aqm == "cake":
        # CAKE shapes as in the printed line; the framing is the link's, which is as fast.
        found |= {"diffserv": "besteffort", "bandwidth": f"{home.shaped_bps(up):.0f} bit/s"}
        found |= {"rtt": f"{cake_rtt(home)[1]:g} ms", "ingress": not up}
        found |= {"ack_filter": "on"} if up and home.filters_acks else {}
    if {"target", "interval"} <= set(known):
        target, interval = control_times(home, up)
        found |= {"target": f"{target:g} ms", "interval": f"{interval:g} ms"}
    if aqm in ("pie", "fq_pie"):
        found["qdelay_ref"] = f"{pie_target(home, up):g} ms"
    for name in ("min_th", "max_th", "w_q"):
        if name in known and "auto" in known[name]["range"]:
            found[name] = "auto"
    if "mean_packet" in known and known["mean_packet"]["default"] != "auto":
        found["mean_packet"] = "1500 B"
    return found


def _traffic(home: Home, loaded: bool) -> list[Document]:
    """What runs: bulk transfers, a call of voice and video, pages of the web of 2 MB in 50 objects."""
    load = RULES["load"]
    video = load["video"]
    # Video takes at most a fifth of the line, a frame every 40 ms.
    bps = min(video["bps"], video["share"] * home.up_bps, video["share"] * home.down_bps)
    frame = max(video["least"], round(bps * video["frame_s"] / 8))
    words = {"segment": home.framing.mtu - load["header"], "header": load["header"], "frame": frame}
    found = []
    for entry in load["entries"]:
        name = entry["name"]
        ends = load["ways"]["up" if "up" in name.split("_") else "down"]
        # TCP's headers are IPv4's and its own with time stamps.
        made = {"count": 1, "start": load["start"], **ends, **(load["tcp"] if "tcp" in entry else {}), **entry}
        if name == "down_cubic":
            made["count"] = home.downloads
        if name in load["bulk"] and not loaded:
            made["start"] = NEVER
        found.append({key: filled(one, **words) if isinstance(one, str) else one for key, one in made.items()})
    return found


MEASURES = {
    "down_cubic": ("goodput_mbps",),
    "down_bbr": ("goodput_mbps",),
    "up_cubic": ("goodput_mbps",),
    "up_bbr": ("goodput_mbps",),
    "voice_down": ("delay_min_ms", "pdv_p95_ms", "loss_ratio"),
    "voice_up": ("delay_min_ms", "pdv_p95_ms", "loss_ratio"),
    "page": ("transfers.time_mean_s",),
}
"""Fields of the result that are kept, by the traffic entry's name."""


def measure_id(entry: str, field: str) -> str:
    """The name of a traffic entry's field as a measure of the sweep."""
    return f"{entry}_{field.replace('.', '_')}"


def question(home: Home, aqms: Sequence[str], seeds: int) -> Sweep:
    """The sweep: `ALONE`, `TODAY` and every discipline at every round-trip time, with the same seeds.

    Raises:
        AdviseError: none of the disciplines can be configured on Linux.
    """
    if not set(aqms) & set(RUNNABLE):
        raise AdviseError(f"--aqm: Linux has none of them; one at least must be of {', '.join(RUNNABLE)}")
    base = scenario(home, TODAY, home.rtts_ms[0])
    places = {entry["name"]: k for k, entry in enumerate(base["traffic"])}
    measures = [
        {"id": measure_id(entry, field), "field": f"traffic.{places[entry]}.{field}", "digits": 4}
        for entry, fields in MEASURES.items()
        for field in fields
    ]
    levels = []
    for queue in (ALONE, TODAY, *aqms):
        own = scenario(home, queue, home.rtts_ms[0])
        levels.append({"name": queue, "value": queue, "set": {key: own[key] for key in ("link", "queue", "traffic")}})
    document: Document = {
        "name": "advise",
        "title": "Which queue for this line",
        "seeds": seeds,
        "queue": "line_down",
        "measures": ["goodput"],
        "measure": measures,
        "scenario": base,
        "factor": [
            {"name": "queue", "levels": levels},
            {
                "name": "rtt",
                "unit": "ms",
                "levels": [
                    {"name": f"{x:g}", "value": x, "set": {"link.0.delay": f"{x / 2:g} ms"}} for x in home.rtts_ms
                ],
            },
        ],
    }
    return parse_document(document, Path("advise"), to_toml(document))
