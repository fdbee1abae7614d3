"""Configuration as commands and for OpenWrt: `tc` lines, and `/etc/config/sqm` for sqm-scripts."""

from __future__ import annotations

from .line import ETHERNET, Home
from .model import cake_rtt, control_times, limit_packets, pie_target
from .rules import RULES, filled

IFB: str = RULES["ifb"]
"""The device through which arriving packets are led: Linux shapes only what leaves a device."""

SQM: tuple[str, ...] = tuple(RULES["sqm"])
"""Queues that sqm-scripts set up by the name of the qdisc alone."""


def kbit(bps: float) -> int:
    """A rate in whole kbit/s, rounded down."""
    return int(bps / 1e3 + 1e-6)


def device(home: Home) -> str:
    """An example of a name for the router's device towards the modem."""
    return "ppp0" if home.framing.ppp else "eth0"


def seen_overhead(home: Home) -> int:
    """Overhead in bytes beside what Linux counts at the device: it counts an Ethernet header as part of the packet."""
    own = home.framing
    if not own.overhead:
        return 0
    return own.overhead if own.ppp else own.overhead - ETHERNET


def qdisc(home: Home, aqm: str, up: bool) -> str:
    """The discipline as `tc` takes it: CAKE with its shaper and the line's framing, the others without."""
    target, interval = control_times(home, up)
    limit = limit_packets(aqm)
    return filled(
        RULES["qdisc"][aqm],
        limit=limit,
        bytes=limit * 1500,
        rate=kbit(home.shaped_bps(up)),
        target=f"{pie_target(home, up) if aqm.endswith('pie') else target:g}",
        interval=f"{interval:g}",
        framing=home.framing.cake,
        rtt=cake_rtt(home)[0],
        options=cake_options(home, up),
    )


def cake_options(home: Home, up: bool) -> str:
    """What CAKE's line says of NAT, of a download's direction, and of ACKs."""
    own = RULES["cake"]
    return own["down"] if not up else f"{own['up']} {own['ack_filter']}" if home.filters_acks else str(own["up"])


def tc_lines(home: Home, aqm: str) -> list[str]:
    """Commands that set up both directions; the device is in `$WAN`."""
    return [
        f"WAN={device(home)}    # the device towards the modem",
        "# What is sent.",
        *_root(home, aqm, "$WAN", up=True),
        "# What is received, led through a device of its own.",
        f"ip link add {IFB} type ifb",
        f"ip link set {IFB} up",
        *_root(home, aqm, IFB, up=False),
        *(filled(line, ifb=IFB) for line in RULES["ingress"]),
    ]


def _root(home: Home, aqm: str, name: str, up: bool) -> list[str]:
    rate = kbit(home.shaped_bps(up) * home.framing.share)
    words = {"device": name, "rate": rate, "stab": _stab(home), "qdisc": qdisc(home, aqm, up)}
    return [filled(line, **words) for line in RULES["root"]["cake" if aqm == "cake" else "others"]]


def _stab(home: Home) -> str:
    own = home.framing
    if not own.overhead:
        return ""
    layer = "atm" if own.encoding == "atm" else "ethernet"
    return f"stab linklayer {layer} overhead {seen_overhead(home)} mpu {own.mpu} "


def tc_undo() -> list[str]:
    """Commands that remove what `tc_lines` sets up."""
    return [filled(line, ifb=IFB) for line in RULES["undo"]]


def tc_script(home: Home, aqm: str) -> str:
    """A script of the commands: `sh FILE start eth0`, `sh FILE stop eth0`."""
    lines = tc_lines(home, aqm)[1:]
    undo = [f"    {line} 2>/dev/null" for line in tc_undo()]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {aqm} on both directions of a line, by `earlydrop advise`. Needs root.",
            f"# Usage: sh FILE start|stop [DEVICE]. DEVICE is towards the modem, by default {device(home)}.",
            f"WAN=${{2:-{device(home)}}}",
            "stop() {",
            *undo,
            "    return 0",
            "}",
            "start() {",
            *(f"    {line}{'' if line.startswith('#') else ' || return 1'}" for line in lines),
            "}",
            'case "$1" in',
            'start) stop; start || { echo "it failed, and is undone" >&2; stop; exit 1; } ;;',
            "stop) stop ;;",
            '*) echo "usage: $0 start|stop [DEVICE]" >&2; exit 2 ;;',
            "esac",
            "",
        ]
    )


def sqm_config(home: Home, aqm: str) -> str:
    """A section of OpenWrt's `/etc/config/sqm`, for the package sqm-scripts.

    Keys and their meaning: sqm-scripts, run-openwrt.sh and functions.sh. With CAKE the overhead is that of an IP
    packet; other disciplines get it by `tc stab`, which starts from what Linux counts at the device.
    """
    own = home.framing
    name = "pppoe-wan" if own.ppp else "wan"
    layer = "none" if not own.overhead else "atm" if own.encoding == "atm" else "ethernet"
    overhead = own.overhead if aqm == "cake" else seen_overhead(home)
    options = {
        "enabled": 1,
        "interface": name,
        "download": kbit(home.shaped_bps(up=False) * own.share),
        "upload": kbit(home.shaped_bps(up=True) * own.share),
        "qdisc": aqm,
        "script": "piece_of_cake.qos" if aqm == "cake" else "simplest.qos",
        "linklayer": layer,
    }
    if layer != "none":
        options |= {"overhead": overhead, "linklayer_advanced": 1, "tcMPU": own.mpu}
    # OpenWrt's web page shows the settings below only with these two.
    options |= {"qdisc_advanced": 1, "qdisc_really_really_advanced": 1}
    if aqm == "cake":
        rtt = cake_rtt(home)[0]
        options |= {f"{way}qdisc_opts": f"{rtt} {cake_options(home, up)}" for way, up in (("i", False), ("e", True))}
    else:
        limit = limit_packets(aqm)
        options |= {"ilimit": limit, "elimit": limit}
        for way, up in (("i", False), ("e", True)):
            # Whole numbers only; `auto` would have another interval.
            target, interval = (round(1e3 * ms) for ms in control_times(home, up))
            if aqm.endswith("codel"):
                options |= {f"{way}target": f"{target}us", f"{way}qdisc_opts": f"interval {interval}us"}
            elif aqm.endswith("pie"):
                options[f"{way}target"] = f"{round(1e3 * pie_target(home, up))}us"
    lines = [f"config queue '{name}'", *(f"\toption {key} '{value}'" for key, value in options.items())]
    return "\n".join(lines) + "\n"
