"""Configuration of systemd-networkd: units by their file names (systemd.network(5), systemd.netdev(5)).

systemd-networkd has queues and shapers, but no filter that leads arriving packets to another device: a service runs the
two `tc` commands for that.
"""

from __future__ import annotations

from .commands import IFB, kbit, seen_overhead
from .line import Home
from .model import cake_rtt, control_times, limit_packets
from .rules import RULES

_SECTIONS = {
    "droptail": "PFIFO",
    "codel": "ControlledDelay",
    "pie": "PIE",
    "fq_codel": "FairQueueingControlledDelay",
    "fq_pie": "FlowQueuePIE",
    "sfb": "StochasticFairBlue",
    "sfq": "StochasticFairnessQueueing",
}
"""Name of the unit's section for a discipline."""
DEVICE = "eth0"


def networkd_files(home: Home, aqm: str) -> dict[str, str]:
    """File names and texts; none where networkd lacks the discipline, or for PPP, whose device others set up."""
    if home.framing.ppp or aqm not in (*_SECTIONS, "cake"):
        return {}
    return {
        "README": _README,
        f"10-{DEVICE}.network.d/advise.conf": _shaper(home, aqm, up=True),
        f"20-{IFB}.netdev": f"[NetDev]\nName={IFB}\nKind=ifb\n",
        f"20-{IFB}.network": (
            f"[Match]\nName={IFB}\n\n[Link]\nRequiredForOnline=no\n\n"
            f"[Network]\nLinkLocalAddressing=no\n\n{_shaper(home, aqm, up=False)}"
        ),
        f"{IFB}.service": _SERVICE,
    }


def _shaper(home: Home, aqm: str, up: bool) -> str:
    own = home.framing
    rate = f"{kbit(home.shaped_bps(up))}K"
    if aqm == "cake":
        keys = [f"Bandwidth={rate}", f"OverheadBytes={own.overhead}", f"MPUBytes={own.mpu}"]
        keys += ["PriorityQueueingPreset=besteffort", "NAT=yes", *([] if up else ["Wash=yes"])]
        # systemd 253 or later; the first is CAKE's default, and need not be said.
        rtt = cake_rtt(home)[1]
        keys += [f"RTTSec={rtt:g}ms"] if rtt != RULES["cake"]["rtt"][0]["ms"] else []
        keys += ["AckFilter=yes"] if up and home.filters_acks else []
        return "\n".join(["[CAKE]", "Parent=root", *keys, ""])
    lines = ["[HierarchyTokenBucket]", "Parent=root", "Handle=0001", "DefaultClass=0001", ""]
    lines += ["[HierarchyTokenBucketClass]", "Parent=root", "ClassId=1:1", f"Rate={rate}", "QuantumBytes=1514"]
    if own.overhead:
        lines.append(f"OverheadBytes={seen_overhead(home)}")
    lines += ["", f"[{_SECTIONS[aqm]}]", "Parent=1:1"]
    if aqm == "sfq":
        # networkd has no key for SFQ's limit: Linux's default of 127 packets applies.
        lines.append("PerturbPeriodSec=0")
    else:
        lines.append(f"PacketLimit={limit_packets(aqm)}")
    if aqm in ("codel", "fq_codel"):
        target, interval = control_times(home, up)
        lines += [f"TargetSec={target:g}ms", f"IntervalSec={interval:g}ms"]
    return "\n".join([*lines, ""])


_SERVICE = f"""[Unit]
Description=Lead packets from the modem through {IFB}
BindsTo=sys-subsystem-net-devices-{DEVICE}.device sys-subsystem-net-devices-{IFB}.device
After=sys-subsystem-net-devices-{DEVICE}.device sys-subsystem-net-devices-{IFB}.device

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/tc qdisc replace dev {DEVICE} handle ffff: ingress
ExecStart=/sbin/tc filter replace dev {DEVICE} parent ffff: handle 800::800 prio 1 protocol all u32 match u32 0 0 \\
    action mirred egress redirect dev {IFB}
ExecStop=/sbin/tc qdisc del dev {DEVICE} ingress

[Install]
WantedBy=multi-user.target
"""

_README = f"""Units of systemd-networkd, by `earlydrop advise`. {DEVICE} stands for the device towards the modem.

1. Copy 20-{IFB}.netdev and 20-{IFB}.network to /etc/systemd/network/.
2. Copy advise.conf to /etc/systemd/network/FILE.d/, where FILE is the name of the .network file that your device has
   now (networkctl status {DEVICE} shows it).
3. Copy {IFB}.service to /etc/systemd/system/.
4. systemctl restart systemd-networkd; systemctl enable --now {IFB}.service

RTTSec and AckFilter of [CAKE] need systemd 253 or later.
"""
