"""The kernel's own queue disciplines under TCP, in a virtual machine, and the simulator on the same.

A Debian kernel runs under QEMU without hardware virtualisation, with a clock that counts instructions
(`-icount`): the machine's speed and its other work do not show in the figures. Three network namespaces in a row;
between the second and the third an htb class with the qdisc under test. `tc -s` is sampled 20 times a second.

    python validation/peers/qemu/kernel_qdiscs.py [--only TEXT] [--again] [--write CSV] [--spread CSV] [--page PAGE]

With --write the figures are stored case by case; what the file has already is not run again (--again: it is). With
--spread the cases that are a matter of chance are run several times, to see by how much.

Needs qemu-system-x86_64 (validation/peers/install.sh qemu), iperf3, tc, ip, dash, cpio; fetch.sh fetches the kernel.
"""

from __future__ import annotations

import argparse
import base64
import csv
import gzip
import io
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CACHE = ROOT / "target" / "qemu"
NEEDED = ("qemu-system-x86_64", "iperf3", "tc", "ip", "dash", "cpio", "ldd", "dpkg-deb", "apt-get")
MODULES = (
    "net/sched",
    "drivers/net/veth.ko",
    "drivers/net/ifb.ko",
    "net/ipv4/tcp_bbr.ko",
    "net/ipv4/tcp_dctcp.ko",
    "lib/crc32c-intel.ko",
    "lib/libcrc32c.ko",
    "crypto/crc32c_generic.ko",
)

FAST_MBPS = 1000
"""Of the link behind a qdisc that shapes."""
WARMUP, SECONDS = 10.0, 60.0
FRAME = 14
"""Ethernet's header, which the kernel's rates and queues count, B."""
SEGMENT, HEADER = 1448, 52 + FRAME
"""Of a packet, B."""
SEEDS = 20


@dataclass(frozen=True)
class Job:
    """A qdisc, and the discipline that is meant to be it."""

    name: str
    tc: str
    queue: dict[str, Any]
    ecn: bool = False
    shapes: bool = False
    """The qdisc has the rate, and what is around it is fast."""


_WEIGHT = 1 / 128
"""What tc makes of `burst 55`."""
_RED = {"min_th": 15, "max_th": 45, "max_p": 0.1, "w_q": _WEIGHT, "dialect": "linux"}
_THOUSAND = {"limit": "1000 packets"}
_SFB = {"d1": 33 / 65535, "d2": 3 / 65535}
"""What tc sends where nothing is said; the kernel's own defaults, and ours, are 66 and 11."""

JOBS = (
    Job("pfifo", "pfifo limit 100", {"aqm": "droptail", "limit": "100 packets"}),
    Job(
        "red",
        "red limit 151400 min 22710 max 68130 avpkt 1514 burst 55 probability 0.1 bandwidth {rate}mbit",
        {"aqm": "red", "limit": "151400 B", "mean_packet": 1514, **_RED},
    ),
    Job(
        "choke",
        "choke limit 100 min 15 max 45 burst 55 probability 0.1 bandwidth {rate}mbit",
        {"aqm": "choke", "limit": "100 packets", "mean_packet": 1000, **_RED},
    ),
    Job("pie", "pie limit 1000", {"aqm": "pie", "dialect": "linux", **_THOUSAND}),
    Job("codel", "codel limit 1000", {"aqm": "codel", "dialect": "linux", **_THOUSAND}),
    Job("codel, ECN", "codel limit 1000 ecn", {"aqm": "codel", "dialect": "linux", "ecn": True, **_THOUSAND}, True),
    Job("fq_codel", "fq_codel limit 1000 noecn", {"aqm": "fq_codel", "dialect": "linux", **_THOUSAND}),
    Job("sfb", "sfb", {"aqm": "sfb", **_SFB, **_THOUSAND}),
    Job(
        "cake besteffort flows",
        "cake unlimited besteffort flows",
        {"aqm": "cake", "diffserv": "besteffort", "flow_mode": "flows"},
    ),
    Job("cake", "cake unlimited", {"aqm": "cake"}),
    Job("cake bandwidth", "cake bandwidth {rate}mbit", {"aqm": "cake"}, shapes=True),
    Job("cake flowblind", "cake unlimited besteffort flowblind", {"aqm": "cobalt", "dialect": "linux", **_THOUSAND}),
)
"""What is compared."""


@dataclass(frozen=True)
class Case:
    """What runs over a qdisc: bulk flows of one control, over a link of a rate, with a round-trip time."""

    control: str
    flows: int
    rate_mbps: int = 10
    rtt_ms: int = 40

    def __str__(self) -> str:
        return f"{self.flows} {self.control}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms"


CASES = (Case("reno", 4), Case("cubic", 8), Case("bbr", 1), Case("bbr", 8))
"""Over every qdisc."""
FURTHER = {
    "pfifo": (Case("bbr", 1, 20, 80), Case("bbr", 8, 20, 20)),
    "red": (Case("bbr", 8, 20, 20),),
    "pie": (Case("bbr", 8, 20, 20),),
    "codel": (
        Case("bbr", 1, 20, 80),
        Case("bbr", 8, 5, 20),
        Case("bbr", 8, 20, 20),
        Case("bbr", 8, 20, 80),
        Case("cubic", 8, 20, 20),
        Case("cubic", 1, 20, 80),
    ),
    "fq_codel": (Case("cubic", 8, 20, 80), Case("cubic", 1, 20, 80), Case("bbr", 8, 20, 20), Case("bbr", 8, 20, 80)),
}
"""As on the real links whose figures differ most from the simulator's (docs/crosscheck.md)."""

SPREAD = {
    "codel": (Case("cubic", 1, 20, 80), Case("cubic", 1, 5, 20), Case("bbr", 8, 5, 20), Case("bbr", 8, 20, 80)),
    "red": (Case("cubic", 1, 5, 80), Case("cubic", 1, 20, 80)),
    "pie": (Case("cubic", 1, 20, 80),),
    "cake bandwidth": (Case("reno", 4),),
}
"""With few losses a minute, or decided by one segment, or by when flows bring the queue down."""
RUNS = 5
"""Of each of these."""
LATER_US = 1300
"""A run begins by so much later than the one before, on the machine's clock: its ticks meet other packets."""

COLUMNS = ("throughput_mbps", "queue_mean_packets", "drop_rate", "mark_rate")


def missing() -> list[str]:
    """Programs that are not here."""
    return [name for name in NEEDED if shutil.which(name) is None]


# ---- the virtual machine -------------------------------------------------------------------------------------------


def run(*words: str | Path, **more: Any) -> str:
    """A program's output; a message and the end where it fails."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if ended.returncode:
        sys.exit(f"kernel_qdiscs: {' '.join(map(str, words))}: {ended.stderr.strip() or ended.stdout.strip()}")
    return ended.stdout


def _copy(source: Path, root: Path) -> None:
    """A program with its libraries, where the loader looks for them."""
    target = root / source.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    ended = subprocess.run(["ldd", str(source)], capture_output=True, text=True, check=False)
    for line in ended.stdout.splitlines():
        words = [word for word in line.split() if word.startswith("/")]
        if words:
            library = root / words[0].lstrip("/")
            library.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(words[0], library)


def _archive(folder: Path, file: Path) -> None:
    names = "\0".join(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")))
    packed = subprocess.run(
        ["cpio", "--null", "--create", "--format=newc", "--quiet", "--owner=0:0"],
        cwd=folder,
        input=names.encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    file.write_bytes(gzip.compress(packed, 1, mtime=0))


def prepare() -> tuple[Path, Path]:
    """The kernel and the file system that it begins with, without a job."""
    image = CACHE / "base.cpio.gz"
    kernels = sorted((CACHE / "root" / "boot").glob("vmlinuz-*")) if (CACHE / "root").exists() else []
    if not kernels:
        run("sh", HERE / "fetch.sh", CACHE)
        kernels = sorted((CACHE / "root" / "boot").glob("vmlinuz-*"))
    kernel = kernels[-1]
    version = kernel.name.removeprefix("vmlinuz-")
    fetched = CACHE / "root"
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        shutil.copy(HERE / "init", root / "init")
        (root / "init").chmod(0o755)
        # Debian's dash and not busybox's shell, which knows programs of its own by the names of ip and tc.
        _copy(Path(shutil.which("dash") or "/bin/dash"), root)
        for name in ("iperf3", "tc", "ip"):
            _copy(Path(shutil.which(name) or name), root)
        (root / "bin").mkdir(exist_ok=True)
        shutil.copy(fetched / "bin" / "busybox", root / "bin" / "busybox")
        (root / "bin" / "sh").symlink_to(shutil.which("dash") or "/bin/dash")
        modules = Path("lib/modules") / version
        for name in MODULES:
            for source in [fetched / modules / "kernel" / name]:
                target = root / modules / "kernel" / name
                if source.is_dir():
                    shutil.copytree(source, target)
                elif source.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(source, target)
        for name in ("modules.builtin", "modules.order"):
            shutil.copy(fetched / modules / name, root / modules / name)
        depmod = shutil.which("depmod") or fetched / "bin" / "kmod"
        link = root.parent / f"{root.name}-depmod" / "depmod"
        link.parent.mkdir()
        link.symlink_to(depmod)
        run(link, "-b", root, version)
        shutil.rmtree(link.parent)
        for name in ("dev", "proc", "sys", "run", "tmp", "etc"):
            (root / name).mkdir(exist_ok=True)
        _archive(root, image)
    return kernel, image


def boot(kernel: Path, initrd: Path, scratch: Path, timeout: float) -> str:
    """What the machine wrote on its second line, packed and in letters."""
    answer, console = scratch / "answer", scratch / "console"
    command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1", "-no-reboot"]
    command += ["-display", "none", "-monitor", "none", "-nic", "none", "-rtc", "clock=vm"]
    # Time is what the machine's instructions take, 2 ns each; it passes at once while there is nothing to do.
    command += ["-icount", "shift=1,sleep=off,align=off"]
    command += ["-serial", f"file:{console}", "-serial", f"file:{answer}"]
    command += ["-kernel", str(kernel), "-initrd", str(initrd)]
    command += ["-append", "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable"]
    try:
        subprocess.run(command, check=True, timeout=timeout, capture_output=True, text=True)
        return gzip.decompress(base64.b64decode(answer.read_text(encoding="ascii"))).decode()
    except (subprocess.SubprocessError, ValueError, OSError, EOFError) as error:
        said = console.read_text(encoding="utf-8", errors="replace")[-2000:] if console.exists() else ""
        sys.exit(f"kernel_qdiscs: the virtual machine gave no answer ({error})\n{said}")


def execute(kernel: Path, image: Path, job: Job, case: Case, number: int = 0) -> dict[str, str]:
    """Runs a job for the time that has this number, from 0; the parts of what the machine said."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "job"
        folder.mkdir()
        settings = {
            "qdisc": job.tc.format(rate=case.rate_mbps),
            "rate": f"{FAST_MBPS if job.shapes else case.rate_mbps}mbit",
            "rtt": f"{case.rtt_ms}ms",
            "flows": case.flows,
            "control": case.control,
            "seconds": int(SECONDS),
            "ecn": int(job.ecn),
        }
        text = "".join(f'{key}="{value}"\n' for key, value in settings.items())
        if number:
            text = f"busybox usleep {number * LATER_US}\n" + text
        (folder / "job").write_text(text, encoding="ascii")
        _archive(folder, Path(scratch) / "job.cpio.gz")
        initrd = Path(scratch) / "initrd"
        initrd.write_bytes(image.read_bytes() + (Path(scratch) / "job.cpio.gz").read_bytes())
        text = boot(kernel, initrd, Path(scratch), timeout=1200)
    parts: dict[str, str] = {}
    name = "head"
    for line in text.splitlines(keepends=True):
        if line.startswith("== "):
            name = line[3:].strip()
        else:
            parts[name] = parts.get(name, "") + line
    return parts


def figures(parts: dict[str, str]) -> dict[str, float]:
    """The measures of a job, from WARMUP on."""
    times = [float(line) for line in parts["times"].split()]
    samples = [json.loads(line) for line in parts["samples"].splitlines() if line.startswith("[")]
    rows = []
    for when, sample in zip(times, samples, strict=False):
        rows += [(when - times[0], one) for one in sample if one.get("handle") == "10:"]
    rows = [row for row in rows if WARMUP <= row[0] <= SECONDS]
    if len(rows) < 100:
        sys.exit(f"kernel_qdiscs: {len(rows)} samples only; the machine said\n{parts.get('head', '')}")
    (begin, first), (end, last) = rows[0], rows[-1]
    packets, drops = last["packets"] - first["packets"], last["drops"] - first["drops"]
    marks = sum(last.get(key, 0) - first.get(key, 0) for key in ("ecn_mark", "marked", "ce_mark"))
    # What CoDel and its kin drop has arrived in the queue; what RED and its kin drop has not. Both have arrived here.
    arrivals = packets + drops
    return {
        "throughput_mbps": 8e-6 * (last["bytes"] - first["bytes"]) / (end - begin),
        "queue_mean_packets": math.fsum(row["qlen"] for _, row in rows) / len(rows),
        "drop_rate": drops / arrivals,
        "mark_rate": marks / arrivals,
    }


# ---- the simulator -------------------------------------------------------------------------------------------------


def simulate(job: Job, case: Case) -> tuple[dict[str, float], dict[str, float]]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""
    from earlydrop import _core
    from earlydrop.links import crosscheck
    from earlydrop.runner import Job as Run
    from earlydrop.runner import run_all

    half = f"{case.rtt_ms / 2:g} ms"
    # htb lets a packet go when its transmission would begin, and it is at the other end at once.
    link_mbps = FAST_MBPS if job.shapes else case.rate_mbps
    transmission_ms = 8e-3 * (SEGMENT + HEADER) / link_mbps
    shaper = {"bandwidth": f"{case.rate_mbps} Mbit/s"} if job.shapes else {}
    way = {"rate": f"{link_mbps} Mbit/s", "delay": f"{case.rtt_ms / 2 - transmission_ms:g} ms"}
    # iperf3 connects all flows before the first sends: no SYN meets data.
    traffic = {"kind": "ftp", "count": case.flows, "start": {"uniform": ["0 s", "0.02 s"]}}
    traffic |= {"tcp": case.control, "stack": crosscheck.LINUX}
    traffic |= {"segment": f"{SEGMENT} B", "header": f"{HEADER} B", "ecn": job.ecn}
    # The machine's devices take one segment at a time (gso_max_segs): the pace is that of single segments, none waits for another,
    # and none leaves together with another.
    traffic["rules"] = {"pacing_burst": 1, "send_pairs": False, "push_ack": "waits", "burst_size": "fixed"}
    # ACKs at the start and after pauses decide nothing in flows of a minute; the tables were made without these rules.
    traffic["rules"] |= {"first_ack": "waits", "ack_wait": "fixed"}
    document = {
        "name": "kernel-qdisc",
        "duration": f"{SECONDS:g} s",
        "warmup": f"{WARMUP:g} s",
        "topology": {
            "kind": "dumbbell",
            # One host sends to one: CAKE shares a queue's turn by the flows of its hosts.
            "pairs": 1,
            "access": {"rate": "10 Gbit/s", "delay": "0 s"},
            "bottleneck": way,
            "reverse": {"rate": "10 Gbit/s", "delay": half},
        },
        "queue": {"bottleneck": job.queue | shaper},
        "traffic": [traffic],
    }
    scenario = _core.Scenario.parse(document, [])

    def reduce(text: str) -> list[float]:
        queue = json.loads(text)["queues"]["bottleneck"]
        return [queue[key] or 0.0 for key in COLUMNS]

    rows = run_all([Run(scenario, 1 + k) for k in range(SEEDS)], reduce)
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    means = {key: math.fsum(column) / SEEDS for key, column in columns.items()}
    return means, {key: statistics.stdev(column) for key, column in columns.items()}


# ---- the table -----------------------------------------------------------------------------------------------------

Figures = dict[str, float]
Row = tuple[Figures, Figures]
"""What the kernel had, and the simulator."""
Rows = dict[tuple[str, Case], Row]
NAMES = ("qdisc", "control", "flows", "rate_mbps", "rtt_ms")


def all_cases() -> list[tuple[Job, Case]]:
    """Everything that is run, in order."""
    return [(job, case) for job in JOBS for case in (*CASES, *FURTHER.get(job.name, ()))]


def stored(file: Path | None) -> Rows:
    """The rows of a file that this program has written; none without one."""
    if file is None or not file.exists():
        return {}
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {
        (row["qdisc"], Case(row["control"], int(row["flows"]), int(row["rate_mbps"]), int(row["rtt_ms"]))): (
            {key: float(row[key]) for key in COLUMNS},
            {key: float(row[f"simulator_{key}"]) for key in COLUMNS},
        )
        for row in csv.DictReader(lines)
    }


def store(file: Path, rows: Rows, version: str) -> None:
    """Writes them in the order in which they are run."""
    text = io.StringIO()
    text.write(f"# kernel: Linux {version} of Debian, under QEMU\n# window: {WARMUP:g} s to {SECONDS:g} s\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*NAMES, *COLUMNS, *(f"simulator_{key}" for key in COLUMNS)])
    for job, case in all_cases():
        if both := rows.get((job.name, case)):
            figures = [f"{one[key]:.6g}" for one in both for key in COLUMNS]
            lines.writerow([job.name, case.control, case.flows, case.rate_mbps, case.rtt_ms, *figures])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.getvalue(), encoding="utf-8")


Key = tuple[str, ...]
"""A case and the number of a run, as in the file."""


def stored_runs(file: Path) -> dict[Key, Figures]:
    """The runs of a file that `store_runs` has written; none without one."""
    if not file.exists():
        return {}
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {
        tuple(row[name] for name in (*NAMES, "run")): {key: float(row[key]) for key in COLUMNS}
        for row in csv.DictReader(lines)
    }


def store_runs(file: Path, known: dict[Key, Figures], version: str) -> None:
    """Writes them, by case and number."""
    text = io.StringIO()
    text.write(f"# kernel: Linux {version} of Debian, under QEMU\n# window: {WARMUP:g} s to {SECONDS:g} s\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*NAMES, "run", *COLUMNS])
    lines.writerows([*one, *(f"{known[one][key]:.6g}" for key in COLUMNS)] for one in sorted(known))
    file.write_text(text.getvalue(), encoding="utf-8")


def spread(kernel: Path, image: Path, file: Path, only: str) -> list[tuple[Job, Case, list[Figures]]]:
    """The figures of several runs of the cases of SPREAD: those of the file, and what it lacks, which it gets."""
    known = stored_runs(file)
    found = []
    for job, case in [(one, case) for one in JOBS for case in SPREAD.get(one.name, ())]:
        runs = []
        for number in range(RUNS):
            key = (job.name, case.control, str(case.flows), str(case.rate_mbps), str(case.rtt_ms), str(number))
            if key not in known and only in f"{job.name}, {case}":
                print(f"{job.name}, {case}, run {number} ...", file=sys.stderr, flush=True)
                known[key] = figures(execute(kernel, image, job, case, number))
                store_runs(file, known, kernel.name.removeprefix("vmlinuz-"))
            if key in known:
                runs.append(known[key])
        if runs:
            found.append((job, case, runs))
    return found


def spread_table(found: list[tuple[Job, Case, list[Figures]]]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: means and standard deviations of single runs of both."""
    head = ["qdisc", "flows", "Mbit/s", "ms", "runs", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "each", "simulator"]
    body = []
    for job, case, runs in found:
        means, deviations = simulate(job, case)
        cells = [job.name, f"{case.flows} {case.control}", str(case.rate_mbps), str(case.rtt_ms), str(len(runs))]
        for key, digits in (("throughput_mbps", 2), ("queue_mean_packets", 1)):
            values = [run[key] for run in runs]
            each = f" ({statistics.stdev(values):.{digits}f})" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.{digits}f}{each}")
            if key == "queue_mean_packets":
                cells.append(", ".join(f"{value:.1f}" for value in sorted(values)))
            cells.append(f"{means[key]:.{digits}f} ({deviations[key]:.{digits}f})")
        body.append(cells)
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
    if lacking := missing():
        print(f"kernel_qdiscs: left out, not here: {', '.join(lacking)} (validation/peers/install.sh qemu iperf3)")
        return 0
    kernel, image = prepare()
    version = kernel.name.removeprefix("vmlinuz-")
    rows = stored(given.write)
    for job, case in all_cases():
        known = rows.get((job.name, case))
        wanted = known is not None if given.simulator else known is None or given.again
        if given.only not in f"{job.name}, {case}" or not wanted:
            continue
        print(f"{job.name}, {case} ...", file=sys.stderr, flush=True)
        theirs = figures(execute(kernel, image, job, case)) if known is None or given.again else known[0]
        rows[job.name, case] = theirs, simulate(job, case)[0]
        if given.write:
            store(given.write, rows, version)
    head = ["qdisc", "flows", "Mbit/s", "ms", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "simulator", "difference", "drop rate (%)", "simulator"]
    head += ["mark rate (%)", "simulator"]
    body = []
    for job, case in all_cases():
        if (job.name, case) not in rows:
            continue
        theirs, ours = rows[job.name, case]
        queue = ours["queue_mean_packets"] / theirs["queue_mean_packets"] - 1
        body.append([job.name, f"{case.flows} {case.control}", str(case.rate_mbps), str(case.rtt_ms)])
        body[-1] += [f"{theirs['throughput_mbps']:.2f}", f"{ours['throughput_mbps']:.2f}"]
        body[-1] += [
            f"{theirs['queue_mean_packets']:.1f}",
            f"{ours['queue_mean_packets']:.1f}",
            f"{100 * queue:+.1f} %",
        ]
        for key in ("drop_rate", "mark_rate"):
            body[-1] += [f"{100 * theirs[key]:.2f}", f"{100 * ours[key]:.2f}"]
    from earlydrop.links import campaign
    from earlydrop.terminal import table as show

    print(show(head, body, left=2))
    if given.page:
        campaign.put(given.page, "kernel qdiscs", f"Linux {version}.\n\n" + campaign.markdown(head, body))
    if given.spread:
        head, body = spread_table(spread(kernel, image, given.spread, given.only))
        print(f"\n{show(head, body, left=2)}")
        if given.page:
            campaign.put(given.page, "kernel spread", campaign.markdown(head, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
