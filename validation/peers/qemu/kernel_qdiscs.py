"""The kernel's own queue disciplines under TCP, in a virtual machine, and the simulator on the same.

    python validation/peers/qemu/kernel_qdiscs.py [--only TEXT] [--again] [--write CSV] [--spread CSV] [--page PAGE]

With --write the figures are stored case by case; what the file has already is not run again (--again: it is). With
--spread the cases that are a matter of chance are run several times, to see by how much.

Needs what machine.py needs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import machine
from kernel_runs import (
    COLUMNS,
    SECONDS,
    Cell,
    Figures,
    Qdisc,
    Rows,
    Table,
    campaign,
    document,
    figures,
    flows,
    job_text,
    kernel_version,
    simulate,
)

from earlydrop.terminal import table as show

FAST_MBPS = 1000
"""Of the link behind a qdisc that shapes."""
SEEDS = 20

_WEIGHT = 1 / 128
"""What tc makes of `burst 55`."""
_RED = {"min_th": 15, "max_th": 45, "max_p": 0.1, "w_q": _WEIGHT, "dialect": "linux"}
_THOUSAND = {"limit": "1000 packets"}
_SFB = {"d1": 33 / 65535, "d2": 3 / 65535}
"""What tc sends where nothing is said; the kernel's own defaults, and ours, are 66 and 11."""

QDISCS = {
    one.name: one
    for one in (
        Qdisc("pfifo", "pfifo limit 100", {"aqm": "droptail", "limit": "100 packets"}),
        Qdisc(
            "red",
            "red limit 151400 min 22710 max 68130 avpkt 1514 burst 55 probability 0.1 bandwidth {rate}mbit",
            {"aqm": "red", "limit": "151400 B", "mean_packet": 1514, **_RED},
        ),
        Qdisc(
            "choke",
            "choke limit 100 min 15 max 45 burst 55 probability 0.1 bandwidth {rate}mbit",
            {"aqm": "choke", "limit": "100 packets", "mean_packet": 1000, **_RED},
        ),
        Qdisc("pie", "pie limit 1000", {"aqm": "pie", "dialect": "linux", **_THOUSAND}),
        Qdisc("codel", "codel limit 1000", {"aqm": "codel", "dialect": "linux", **_THOUSAND}),
        Qdisc(
            "codel, ECN", "codel limit 1000 ecn", {"aqm": "codel", "dialect": "linux", "ecn": True, **_THOUSAND}, True
        ),
        Qdisc("fq_codel", "fq_codel limit 1000 noecn", {"aqm": "fq_codel", "dialect": "linux", **_THOUSAND}),
        Qdisc("sfb", "sfb", {"aqm": "sfb", **_SFB, **_THOUSAND}),
        Qdisc(
            "cake besteffort flows",
            "cake unlimited besteffort flows",
            {"aqm": "cake", "diffserv": "besteffort", "flow_mode": "flows"},
        ),
        Qdisc("cake", "cake unlimited", {"aqm": "cake"}),
        Qdisc("cake bandwidth", "cake bandwidth {rate}mbit", {"aqm": "cake"}, shapes=True),
        Qdisc(
            "cake flowblind", "cake unlimited besteffort flowblind", {"aqm": "cobalt", "dialect": "linux", **_THOUSAND}
        ),
    )
}
"""What is compared."""

Case = tuple[str, int, int, int]
"""What runs over a qdisc: control and number of bulk flows, rate (Mbit/s) and round-trip time (ms)."""

CASES: tuple[Case, ...] = (("reno", 4, 10, 40), ("cubic", 8, 10, 40), ("bbr", 1, 10, 40), ("bbr", 8, 10, 40))
"""Over every qdisc."""
FURTHER: dict[str, tuple[Case, ...]] = {
    "pfifo": (("bbr", 1, 20, 80), ("bbr", 8, 20, 20)),
    "red": (("bbr", 8, 20, 20),),
    "pie": (("bbr", 8, 20, 20),),
    "codel": (
        ("bbr", 1, 20, 80),
        ("bbr", 8, 5, 20),
        ("bbr", 8, 20, 20),
        ("bbr", 8, 20, 80),
        ("cubic", 8, 20, 20),
        ("cubic", 1, 20, 80),
    ),
    "fq_codel": (("cubic", 8, 20, 80), ("cubic", 1, 20, 80), ("bbr", 8, 20, 20), ("bbr", 8, 20, 80)),
}
"""As on the real links whose figures differ most from the simulator's (docs/crosscheck.md)."""

SPREAD: dict[str, tuple[Case, ...]] = {
    "codel": (("cubic", 1, 20, 80), ("cubic", 1, 5, 20), ("bbr", 8, 5, 20), ("bbr", 8, 20, 80)),
    "red": (("cubic", 1, 5, 80), ("cubic", 1, 20, 80)),
    "pie": (("cubic", 1, 20, 80),),
    "cake bandwidth": (("reno", 4, 10, 40),),
}
"""With few losses a minute, or decided by one segment, or by when flows bring the queue down."""
RUNS = 5
"""Of each of these."""

FIGURES = Table(
    [Cell(name, *case) for name in QDISCS for case in (*CASES, *FURTHER.get(name, ()))],
    (*COLUMNS, *(f"simulator_{key}" for key in COLUMNS)),
)
"""The kernel's figures, and the simulator's."""
SPREADS = Table([Cell(name, *case) for name in QDISCS for case in SPREAD.get(name, ())], COLUMNS, RUNS)


def execute(kernel: Path, image: Path, cell: Cell, number: int = 0) -> Figures:
    """Runs a cell for the time that has this number, from 0."""
    qdisc = QDISCS[cell.qdisc]
    settings = {
        "qdisc": qdisc.tc.format(rate=cell.rate_mbps),
        "rate": f"{FAST_MBPS if qdisc.shapes else cell.rate_mbps}mbit",
        "rtt": f"{cell.rtt_ms}ms",
        "flows": cell.flows,
        "control": cell.control,
        "seconds": int(SECONDS),
        "ecn": int(qdisc.ecn),
    }
    files = {"init": machine.HERE / "qdisc_init", "job": job_text(settings, number)}
    return figures(machine.run_job(kernel, image, files))


def simulated(cell: Cell) -> tuple[Figures, Figures]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""
    qdisc = QDISCS[cell.qdisc]
    # The pace is that of single segments, none of which waits for another.
    traffic = flows(cell.control, cell.flows, qdisc.ecn, {"pacing_burst": 1, "push_ack": "waits"})
    queue = qdisc.queue | ({"bandwidth": f"{cell.rate_mbps} Mbit/s"} if qdisc.shapes else {})
    rate_mbps = FAST_MBPS if qdisc.shapes else cell.rate_mbps
    return simulate([document("kernel-qdisc", rate_mbps, cell.rtt_ms, queue, [traffic])], SEEDS)[0]


def table(rows: Rows[Cell]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: one run of the kernel, and the simulator's means."""
    head = ["qdisc", "flows", "Mbit/s", "ms", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "simulator", "difference", "drop rate (%)", "simulator"]
    head += ["mark rate (%)", "simulator"]
    body = []
    for cell, (row, _, _) in FIGURES.means(rows).items():
        ours = {key: row[f"simulator_{key}"] for key in COLUMNS}
        line = [*cell.words(), f"{row['throughput_mbps']:.2f}", f"{ours['throughput_mbps']:.2f}"]
        queue = row["queue_mean_packets"], ours["queue_mean_packets"]
        line += [f"{queue[0]:.1f}", f"{queue[1]:.1f}", f"{100 * (queue[1] / queue[0] - 1):+.1f} %"]
        for key in ("drop_rate", "mark_rate"):
            line += [f"{100 * row[key]:.2f}", f"{100 * ours[key]:.2f}"]
        body.append(line)
    return head, body


def spread_table(rows: Rows[Cell]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: means and standard deviations of single runs of both."""
    head = ["qdisc", "flows", "Mbit/s", "ms", "runs", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "each", "simulator"]
    body = []
    for cell in SPREADS.cells:
        runs = [rows[cell, number] for number in range(RUNS) if (cell, number) in rows]
        if not runs:
            continue
        means, deviations = simulated(cell)
        line = [*cell.words(), str(len(runs))]
        for key, digits in (("throughput_mbps", 2), ("queue_mean_packets", 1)):
            values = [run[key] for run in runs]
            each = f" ({statistics.stdev(values):.{digits}f})" if len(values) > 1 else ""
            line.append(f"{statistics.mean(values):.{digits}f}{each}")
            if key == "queue_mean_packets":
                line.append(", ".join(f"{value:.1f}" for value in sorted(values)))
            line.append(f"{means[key]:.{digits}f} ({deviations[key]:.{digits}f})")
        body.append(line)
    return head, body


def main() -> int:
    """Runs the cases and prints both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", default="", help='cases whose name ("codel, 8 cubic, 10 Mbit/s, 40 ms") has this text'
    )
    parser.add_argument("--again", action="store_true", help="those too of which there are figures in the file")
    parser.add_argument("--simulator", action="store_true", help="only the simulator again, of what is in the file")
    parser.add_argument("--write", type=Path, help="CSV for the figures")
    parser.add_argument("--spread", type=Path, help="CSV for the figures of the cases that are run several times")
    parser.add_argument("--page", type=Path, help="page whose tables are replaced")
    given = parser.parse_args()
    if lacking := machine.missing():
        print(machine.left_out(lacking))
        return 0
    kernel, image = machine.prepare()
    rows = FIGURES.stored(given.write)
    for cell in FIGURES.cells:
        known = rows.get((cell, 0))
        wanted = known is not None if given.simulator else known is None or given.again
        if given.only not in str(cell) or not wanted:
            continue
        print(f"{cell} ...", file=sys.stderr, flush=True)
        theirs = execute(kernel, image, cell) if known is None or given.again else known
        rows[cell, 0] = theirs | {f"simulator_{key}": value for key, value in simulated(cell)[0].items()}
        if given.write:
            FIGURES.store(given.write, rows, kernel_version(kernel))
    head, body = table(rows)
    print(show(head, body, left=2))
    if given.page:
        version = kernel.name.removeprefix("vmlinuz-")
        campaign.put(given.page, "kernel qdiscs", f"Linux {version}.\n\n" + campaign.data(given.page, head, body))
    if given.spread:
        spread = SPREADS.stored(given.spread)
        SPREADS.complete(
            given.spread,
            spread,
            given.only,
            kernel_version(kernel),
            lambda cell, number: execute(kernel, image, cell, number),
        )
        head, body = spread_table(spread)
        print(f"\n{show(head, body, left=2)}")
        if given.page:
            campaign.put(given.page, "kernel spread", campaign.markdown(head, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
