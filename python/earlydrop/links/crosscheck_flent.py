"""Crosscheck of a recorded Flent run: the same streams and ping in the simulator, on the link that the user names."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import earlydrop._core as _core
from .. import flent
from ..analysis import statistics
from ..document import Document
from ..runner import Job, Progress, no_progress, run_all
from ..strict_toml import parse_value
from ..terminal import number, paragraph, signed, table
from .planning import OptionError, queue_settings

SEEDS = 10
"""Runs of the simulator."""
SPREAD_S = 0.1
"""Flent starts its streams together; the simulator draws their starts from this interval."""
CONTROLS = ("reno", "cubic", "bbr")
"""Congestion controls of the kernel that the stack `linux-6.18` has."""
COMPUTED = (" avg", " sum", " fairness")
FIGURES = {
    "download": ("TCP download sum", "Mbit/s", 2),
    "download_least": ("TCP download, slowest stream", "Mbit/s", 2),
    "download_most": ("TCP download, fastest stream", "Mbit/s", 2),
    "upload": ("TCP upload sum", "Mbit/s", 2),
    "upload_least": ("TCP upload, slowest stream", "Mbit/s", 2),
    "upload_most": ("TCP upload, fastest stream", "Mbit/s", 2),
    "ping_mean": ("Ping, mean", "ms", 1),
    "ping_p50": ("Ping, median", "ms", 1),
    "ping_p95": ("Ping, 95 %", "ms", 1),
}
"""Title, unit and digits of each figure that is compared."""


@dataclass(frozen=True)
class Link:
    """The link, which a Flent file does not describe: the user does."""

    rate: str
    """Rate of the download's direction."""
    queue: str
    up_rate: str | None = None
    up_queue: str | None = None
    rtt: str | None = None
    tcp: str | None = None
    effects: Mapping[str, str] = field(default_factory=dict)
    """What else happens to packets, in both directions, as the options of `earlydrop link` have it."""


@dataclass(frozen=True)
class Figure:
    """One measure of the recorded run and of the simulator's."""

    recorded: float
    simulated: float
    """Mean over the simulator's seeds."""
    low: float
    high: float
    """95 % prediction interval of a single simulated run."""

    @property
    def inside(self) -> bool:
        """Whether the recording could be one of the simulator's runs."""
        return self.low <= self.recorded <= self.high


@dataclass(frozen=True)
class FlentCrosscheck:
    """The comparison."""

    file: str
    test: str
    title: str
    streams: tuple[int, int]
    window: tuple[float, float]
    seeds: int
    figures: Mapping[str, Figure]
    assumed: Sequence[str]
    scenario: Document

    def document(self) -> Document:
        """Everything, for machines."""
        figures = {
            name: {
                "recorded": one.recorded,
                "simulated": one.simulated,
                "prediction_interval": [one.low, one.high],
                "difference": one.recorded - one.simulated,
                "inside": one.inside,
            }
            for name, one in self.figures.items()
        }
        return {
            "file": self.file,
            "test": self.test,
            "title": self.title,
            "downloads": self.streams[0],
            "uploads": self.streams[1],
            "window_s": list(self.window),
            "seeds": self.seeds,
            "measures": figures,
            "assumed": list(self.assumed),
            "scenario": self.scenario,
        }

    def text(self) -> str:
        """What `crosscheck --flent` prints."""
        head = ["", "recorded", f"simulator, n = {self.seeds}", "one run, 95 %", "difference", "%", "inside"]
        body = []
        for name, one in self.figures.items():
            title, unit, digits = FIGURES[name]
            difference = one.recorded - one.simulated
            relative = 100 * difference / one.simulated if one.simulated else None
            body.append(
                [
                    f"{title} ({unit})",
                    number(one.recorded, digits),
                    number(one.simulated, digits),
                    f"{number(one.low, digits)} to {number(one.high, digits)}",
                    signed(difference, digits),
                    signed(relative, 1),
                    "yes" if one.inside else "no",
                ]
            )
        begin, end = self.window
        lines = [
            f"{self.file}: Flent's {self.test}{f', {self.title}' if self.title else ''}, {self.streams[0]} downloads, "
            f"{self.streams[1]} uploads, from {begin:g} s to {end:g} s",
            "",
            table(head, body, left=1),
            "",
            paragraph(
                "The recording is one run: the interval is where one run of the simulator lies. Inside it, the two do "
                "not differ by more than chance; that does not show that the assumptions hold."
            ),
            "",
            "Assumed, as the file does not say it:",
        ]
        lines += [paragraph(f"- {text}", "  ").replace("  - ", "- ", 1) for text in self.assumed]
        return "\n".join(lines)


@dataclass(frozen=True)
class Recorded:
    """What a Flent file says of the run."""

    test: str
    title: str
    down: int
    up: int
    edge: float
    """Time before and after the streams, s."""
    total: float
    pings: Sequence[tuple[float, float]]

    @property
    def window(self) -> tuple[float, float]:
        """Begin and end of the time in which the streams run, s."""
        return self.edge, self.total - self.edge


def crosscheck(
    path: Path, link: Link, *, seeds: int = SEEDS, first_seed: int = 1, progress: Progress = no_progress
) -> FlentCrosscheck:
    """Compare a recorded run with the simulator.

    Raises:
        FlentError: the file is no Flent file, or its test has no streams or pings that are known here.
        OptionError: an option of the link is wrong.
    """
    content = flent.read(path)
    recorded = _recorded(content, path)
    document, assumed = _scenario(content, recorded, link)
    try:
        checked = json.loads(_core.Scenario.parse(document, []).to_json())
        instrumented, streams = flent.instrumented(checked)
        scenario = _core.Scenario.parse(instrumented, [])
    except _core.ScenarioError as error:
        raise OptionError(_as_option(error, path)) from error

    def reduced(text: str) -> dict[str, float]:
        made = flent.recording(json.loads(text), checked, streams, "", "")
        return _figures(made, _series(made["results"], flent.DOWN), _series(made["results"], flent.UP), recorded.window)

    jobs = [Job(scenario, first_seed + k) for k in range(seeds)]
    simulated = run_all(jobs, reduced, progress=progress, label="simulator")
    results = content["results"]
    ours = _figures(content, _series(results, flent.DOWN), _series(results, flent.UP), recorded.window)
    figures = {name: _figure(ours[name], [one[name] for one in simulated]) for name in FIGURES if name in ours}
    return FlentCrosscheck(
        str(path),
        recorded.test,
        recorded.title,
        (recorded.down, recorded.up),
        recorded.window,
        seeds,
        figures,
        assumed,
        checked,
    )


def _figure(recorded: float, values: Sequence[float]) -> Figure:
    low, high = statistics.prediction(values) or (-math.inf, math.inf)
    return Figure(recorded, statistics.mean(values), low, high)


# ---- the file --------------------------------------------------------------------------------------------------------


def _recorded(content: Document, path: Path) -> Recorded:
    about = content["metadata"]
    results = content["results"]
    try:
        total, length = float(about["TOTAL_LENGTH"]), float(about["LENGTH"])
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise flent.FlentError(f"{path}: metadata: lacks LENGTH or TOTAL_LENGTH, in s") from error
    if not (0 < length < math.inf and 0 < total < math.inf):
        given = f"given {length:g} and {total:g}"
        raise flent.FlentError(f"{path}: metadata: LENGTH, TOTAL_LENGTH: {given}; allowed finite numbers above 0, in s")
    down, up = len(_series(results, flent.DOWN)), len(_series(results, flent.UP))
    if not down and not up:
        given = str(about.get("NAME"))
        raise flent.FlentError(
            f"{path}: NAME: given {given}; allowed tests with TCP streams, such as rrul, tcp_ndown, tcp_bidirectional"
        )
    pings = _pings(content)
    if not pings:
        raise flent.FlentError(f"{path}: has no series of pings, as rrul, tcp_ndown and tcp_bidirectional have")
    edge = max((total - length) / 2, 0.0)
    return Recorded(str(about.get("NAME")), str(about.get("TITLE") or ""), down, up, edge, total, pings)


def _series(results: Mapping[str, Any], base: str) -> list[str]:
    """Names of the streams of a direction."""
    return sorted(name for name in results if name.startswith(base) and not name.endswith(COMPUTED))


def _pings(content: Document) -> list[tuple[float, float]]:
    """When a ping was sent, s from the start, and its round-trip time, ms: of ICMP if the file has them."""
    raw, results = content["raw_values"], content["results"]
    names = sorted(name for name in results if name.startswith(flent.PINGS) and not name.endswith(COMPUTED))
    names.sort(key=lambda name: "ICMP" not in name)
    for name in names:
        begin = _start(content["metadata"])
        single = [(one["t"] - begin, one["val"]) for one in raw.get(name, []) if "t" in one and one.get("val")]
        if begin and single:
            return single
        values = zip(content["x_values"], results[name], strict=False)
        if found := [(float(t), float(v)) for t, v in values if v is not None]:
            return found
    return []


def _start(about: Mapping[str, Any]) -> float:
    """T0 in seconds since 1970; 0 where there is none."""
    try:
        found = datetime.datetime.fromisoformat(str(about["T0"]))
        return found.replace(tzinfo=found.tzinfo or datetime.UTC).timestamp()
    except (KeyError, ValueError, OverflowError):
        return 0.0


def _figures(
    content: Document, down: Sequence[str], up: Sequence[str], window: tuple[float, float]
) -> dict[str, float]:
    begin, end = window
    found: dict[str, float] = {}
    for way, names in (("download", down), ("upload", up)):
        means = sorted(filter(math.isfinite, (_mean(_inside(content, name, begin, end)) for name in names)))
        if means:
            found |= {way: math.fsum(means)}
            if len(means) > 1:
                found |= {f"{way}_least": means[0], f"{way}_most": means[-1]}
    pings = sorted(v for t, v in _pings(content) if begin <= t < end)
    if pings:
        found |= {"ping_mean": _mean(pings), "ping_p50": _quantile(pings, 0.5), "ping_p95": _quantile(pings, 0.95)}
    return found


def _inside(content: Document, name: str, begin: float, end: float) -> Iterator[float]:
    for t, value in zip(content["x_values"], content["results"][name], strict=False):
        # A point's rate is that of the interval before it.
        if value is not None and begin < t <= end:
            yield float(value)


def _mean(values: Any) -> float:
    kept = list(values)
    return math.fsum(kept) / len(kept) if kept else math.nan


def _quantile(values: Sequence[float], q: float) -> float:
    return values[min(len(values) - 1, math.ceil(q * len(values)) - 1)]


# ---- the scenario ----------------------------------------------------------------------------------------------------


def _scenario(content: Document, recorded: Recorded, link: Link) -> tuple[Document, list[str]]:
    """The scenario of a recorded run, and what in it the file does not say."""
    up_rate, up_queue = link.up_rate or link.rate, link.up_queue or link.queue
    base, where = _base_rtt(recorded, link)
    segment = _segment(content["metadata"])
    assumed = [
        f"One bottleneck in each direction: {link.rate} down with {link.queue}, {up_rate} up with {up_queue}. "
        "Hosts, Wi-Fi, offloads and other traffic are not simulated.",
        f"A base round-trip time of {base * 1e3:.1f} ms: {where}.",
        f"Segments of {segment} B payload and 52 B of headers.",
        f"The stack {_stack()} at both ends, all streams with the same marking; they start within {SPREAD_S} s.",
    ]
    traffic = []
    for way, count in (("forward", recorded.down), ("reverse", recorded.up)):
        if not count:
            continue
        tcp, source = _control(content["metadata"], flent.DOWN if way == "forward" else flent.UP, link)
        assumed.append(f"{'Downloads' if way == 'forward' else 'Uploads'} by {tcp}: {source}.")
        entry: Document = {"kind": "ftp", "count": count, "tcp": tcp, "stack": _stack(), "segment": f"{segment} B"}
        entry |= {"start": {"uniform": [f"{recorded.edge} s", f"{recorded.edge + SPREAD_S} s"]}}
        entry |= {"lifetime": f"{recorded.total - 2 * recorded.edge} s"}
        traffic.append(entry | ({"direction": "reverse"} if way == "reverse" else {}))
    share = f"{base / 8} s"
    effects = {key: parse_value(text) for key, text in link.effects.items()}
    if effects:
        said = ", ".join(f"{key} {text}" for key, text in link.effects.items())
        assumed.append(f"On the bottleneck, in each direction: {said}.")
    document: Document = {
        "name": "flent",
        "duration": f"{recorded.total} s",
        "warmup": "0 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": max(recorded.down + recorded.up, 1),
            "access": {"rate": "100 Gbit/s", "delay": share},
            "bottleneck": {"rate": link.rate, "delay": f"{base / 4} s", **effects},
            "reverse": {"rate": up_rate, "delay": f"{base / 4} s", **effects},
        },
        "traffic": traffic,
    }
    settings = [*_queue("--queue", link.queue, "bottleneck"), *_queue("--up-queue", up_queue, "reverse")]
    document["queue"] = {
        name: {key: value for at, key, value in settings if at == name} for name in ("bottleneck", "reverse")
    }
    return document, assumed


def _stack() -> str:
    from .crosscheck import LINUX

    return LINUX


def _queue(option: str, spec: str, name: str) -> Iterator[tuple[str, str, Any]]:
    try:
        for path, text in queue_settings(spec, name):
            yield name, path.partition(".")[2], parse_value(text)
    except OptionError as error:
        raise OptionError(f"{option}: {error}") from None


def _base_rtt(recorded: Recorded, link: Link) -> tuple[float, str]:
    """The round-trip time of the empty path, s, and the source of this value."""
    if link.rtt is not None:
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|ms|us)", link.rtt)
        if found is None:
            raise OptionError(f"--rtt: given {link.rtt}; allowed a time, such as 20ms")
        return float(found[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[found[2]], "given"
    idle = [v for t, v in recorded.pings if t < recorded.edge - 0.5]
    if idle:
        return min(idle) / 1e3, f"the least of {len(idle)} pings before the streams"
    return min(v for _, v in recorded.pings) / 1e3, "the least of all pings, as none was sent before the streams; --rtt"


def _segment(about: Mapping[str, Any]) -> int:
    sizes = [one.get("TCP_MSS") for one in (about.get("SERIES_META") or {}).values() if isinstance(one, Mapping)]
    return next((int(size) for size in sizes if isinstance(size, (int, float)) and 500 <= size <= 9000), 1448)


def _control(about: Mapping[str, Any], base: str, link: Link) -> tuple[str, str]:
    """The congestion control of a direction, and the source of this value."""
    if link.tcp is not None:
        if link.tcp not in CONTROLS:
            raise OptionError(f"--tcp: given {link.tcp}; allowed {', '.join(CONTROLS)}")
        return link.tcp, "given"
    named = {
        one.get("CONG_CONTROL")
        for name, one in (about.get("SERIES_META") or {}).items()
        if name.startswith(base) and isinstance(one, Mapping) and one.get("CONG_CONTROL")
    }
    sender = about
    if base == flent.DOWN:
        sender = next(iter((about.get("REMOTE_METADATA") or {}).values()), {}) or {}
    sysctl = (sender.get("SYSCTLS") or {}).get("net.ipv4.tcp_congestion_control")
    for found, source in ((named.pop() if len(named) == 1 else None, "the series"), (sysctl, "the sender's sysctl")):
        if found in CONTROLS:
            return str(found), f"named by {source}"
        if found:
            return "cubic", f"the file names {found}, which the simulator's kernel does not have"
    return "cubic", "the file does not name it; Linux's default"


def _as_option(error: _core.ScenarioError, file: Path) -> str:
    """The checker's message, which names the option instead of the field; if no option stands for it, the file."""
    effects = {
        f"topology.{place}.{key}": f"--{key}" for key in _core.link_effects() for place in ("bottleneck", "reverse")
    }
    options = effects | {
        "queue.bottleneck": "--queue",
        "queue.reverse": "--up-queue",
        "topology.bottleneck.rate": "--rate",
        "topology.reverse.rate": "--up-rate",
        "topology": "--rtt",
    }
    path = error.path or ""
    for at, option in options.items():
        if path == at or path.startswith(f"{at}."):
            rest = path[len(at) + 1 :]
            found = f"{option}: {rest + ' ' if rest else ''}{error.message}"
            found += f"\n  given {error.given}" if error.given else ""
            return found + (f"; allowed {error.allowed}" if error.allowed else "")
    return f"{file}: its run cannot be simulated: {error}"
