"""Configuration as commands and for OpenWrt: `tc` lines, and `/etc/config/sqm` for sqm-scripts."""

from __future__ import annotations

from .line import ETHERNET, SHAPED, Home
from .model import control_times, limit_packets

IFB = "ifb4wan"
"""The device through which arriving packets are led: Linux shapes only what leaves a device."""

_TC: dict[str, str] = {
    "droptail": "pfifo limit {limit}",
    "codel": "codel limit {limit} target {target} interval {interval}",
    "pie": "pie limit {limit} target 15ms tupdate 15ms",
    "fq_codel": "fq_codel limit {limit} target {target} interval {interval}",
    "fq_pie": "fq_pie limit {limit} target 15ms tupdate 15ms",
    "sfq": "sfq limit {limit}",
    "red": "red limit {bytes} avpkt 1500 bandwidth {rate}",
    "linux_ared": "red limit {bytes} avpkt 1500 bandwidth {rate} adaptive",
    "choke": "choke limit {limit} bandwidth {rate}",
    # Linux's own steps of SFB's probabilities; tc's defaults are half and a quarter of them.
    "sfb": "sfb limit {limit} increment 0.00101 decrement 0.00017",
    "dualpi2": "dualpi2 limit {limit}",
}
"""The discipline as `tc` takes it, one text for each of `model.CONFIGURABLE`."""


SQM = ("codel", "pie", "fq_codel", "fq_pie", "sfq", "cake")
"""Queues that sqm-scripts set up by the name of the qdisc alone."""


def shaped_bps(home: Home, up: bool) -> float:
    """The rate of the shaper in one direction, bit/s."""
    return SHAPED * (home.up_bps if up else home.down_bps)


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
    """The discipline as `tc` takes it, without a shaper."""
    rate = shaped_bps(home, up)
    target, interval = control_times(rate)
    limit = limit_packets(aqm)
    spec = {"limit": limit, "bytes": limit * 1500, "rate": f"{kbit(rate)}kbit"}
    return _TC[aqm].format(target=f"{target:g}ms", interval=f"{interval:g}ms", **spec)


def cake(home: Home, up: bool) -> str:
    """CAKE as `tc` takes it: a shaper of its own, and the line's framing by its keyword."""
    more = "nat" if up else "nat wash ingress"
    return f"cake bandwidth {kbit(shaped_bps(home, up))}kbit besteffort {home.framing.cake} {more}"


def tc_lines(home: Home, aqm: str) -> list[str]:
    """Commands that set up both directions; the device is in `$WAN`. `aqm` may be `cake`."""
    return [
        f"WAN={device(home)}    # the device towards the modem",
        "# What is sent.",
        *_root(home, aqm, "$WAN", up=True),
        "# What is received, led through a device of its own.",
        f"ip link add {IFB} type ifb",
        f"ip link set {IFB} up",
        *_root(home, aqm, IFB, up=False),
        "tc qdisc add dev $WAN handle ffff: ingress",
        f"tc filter add dev $WAN parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev {IFB}",
    ]


def _root(home: Home, aqm: str, name: str, up: bool) -> list[str]:
    if aqm == "cake":
        return [f"tc qdisc add dev {name} root {cake(home, up)}"]
    rate = kbit(shaped_bps(home, up) * home.framing.share)
    return [
        f"tc qdisc add dev {name} root handle 1: {_stab(home)}htb default 1",
        f"tc class add dev {name} parent 1: classid 1:1 htb rate {rate}kbit quantum 1514",
        f"tc qdisc add dev {name} parent 1:1 {qdisc(home, aqm, up)}",
    ]


def _stab(home: Home) -> str:
    own = home.framing
    if not own.overhead:
        return ""
    layer = "atm" if own.encoding == "atm" else "ethernet"
    return f"stab linklayer {layer} overhead {seen_overhead(home)} mpu {own.mpu} "


def tc_undo() -> list[str]:
    """Commands that remove what `tc_lines` sets up."""
    return ["tc qdisc del dev $WAN root", "tc qdisc del dev $WAN ingress", f"ip link del {IFB}"]


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
    """A section of OpenWrt's `/etc/config/sqm`, for the package sqm-scripts. `aqm` may be `cake`.

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
        "download": kbit(shaped_bps(home, up=False) * own.share),
        "upload": kbit(shaped_bps(home, up=True) * own.share),
        "qdisc": aqm,
        "script": "piece_of_cake.qos" if aqm == "cake" else "simplest.qos",
        "linklayer": layer,
    }
    if layer != "none":
        options |= {"overhead": overhead, "linklayer_advanced": 1, "tcMPU": own.mpu}
    # OpenWrt's web page shows the settings below only with these two.
    options |= {"qdisc_advanced": 1, "qdisc_really_really_advanced": 1}
    if aqm == "cake":
        options |= {"iqdisc_opts": "nat wash ingress", "eqdisc_opts": "nat"}
    else:
        # `auto` would give PIE CoDel's target.
        target = "auto" if aqm in ("codel", "fq_codel") else "default"
        limit = limit_packets(aqm)
        options |= {"ilimit": limit, "elimit": limit, "itarget": target, "etarget": target}
    lines = [f"config queue '{name}'", *(f"\toption {key} '{value}'" for key, value in options.items())]
    return "\n".join(lines) + "\n"
