"""What a search looks for: J of a run, and how much worse one discipline is than another.

A larger J is better, and the regret of a discipline is J of its rival less its own, at the same scenario and seed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..document import Document, discipline
from ..errors import EarlydropError

TIMES = 3.0
"""A mean queueing delay of more than this many times the target is a failure, whatever others reach."""
GOAL_MS = 5.0
"""Delays up to this one are all alike: CoDel's and PIE's targets in Linux are 5 and 15 ms."""


class ObjectiveError(EarlydropError):
    """An objective is unknown, or the space has not what it needs."""


@dataclass(frozen=True)
class Setting:
    """What an objective knows of a run beside its result."""

    queue: str
    """The queue's name in results."""
    entries: tuple[str, ...]
    """Traffic entries that are looked at; all if empty."""
    hosts: bool
    """Whether flows are summed by host first."""


Value = Callable[[Document, Document, Setting], float | None]
"""J of a result and its scenario; None where the run has none."""


@dataclass(frozen=True)
class Kind:
    """An objective of the table."""

    name: str
    says: str
    """What a sentence calls it."""
    delta: float
    """The smallest regret that counts."""
    value: Value
    shown: Callable[[float], str]
    """J in the unit of what is measured."""
    bar: float | None = None
    """J that a discipline should reach where it has no rival; None where only a rival says what could be reached."""


@dataclass(frozen=True)
class Objective:
    """One or several kinds with weights."""

    parts: tuple[tuple[float, Kind, tuple[str, ...], bool], ...]

    @property
    def name(self) -> str:
        """As the command line has it."""
        return " ".join(_text(*part) for part in self.parts)

    @property
    def single(self) -> Kind | None:
        """The kind, if there is one alone."""
        return self.parts[0][1] if len(self.parts) == 1 else None

    @property
    def delta(self) -> float:
        """The smallest regret that counts: that of the kind, or 1 where several kinds are summed in units of theirs."""
        return self.parts[0][1].delta if len(self.parts) == 1 else 1.0

    def value(self, result: Document, scenario: Document, queue: str) -> float | None:
        """J of a run."""
        total = 0.0
        weights = sum(weight for weight, *_ in self.parts)
        for weight, kind, entries, hosts in self.parts:
            found = kind.value(result, scenario, Setting(queue, entries, hosts))
            if found is None or not math.isfinite(found):
                return None
            total += found if len(self.parts) == 1 else weight * found / kind.delta / weights
        return total

    def bar(self, scenario: Document, queue: str) -> float:
        """J that a discipline should reach in a checked scenario, where it has no rival.

        Raises:
            ObjectiveError: only a rival could say that.
        """
        kind = self.single
        if kind is None or (kind.bar is None and kind.name != "delay"):
            names = ", ".join(k.name for k in KINDS.values() if k.bar is not None or k.name == "delay")
            raise ObjectiveError(f"--objective {self.name}: needs --against; allowed without it: {names}")
        if kind.bar is not None:
            return kind.bar
        target = discipline(scenario["queue"][queue]).get("target")
        goal = GOAL_MS if not isinstance(target, int | float) else 1e3 * target
        return -math.log2(max(TIMES * goal / GOAL_MS, 1.0))

    def needs(self, always: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a space whose scenarios may lack what is measured.

        Raises:
            ObjectiveError: they may.
        """
        names = _names(always)
        for _, kind, entries, _ in self.parts:
            wanted = NEEDED.get(kind.name)
            if wanted is not None and not any(one.get("kind") in wanted[0] for one in always):
                raise ObjectiveError(f"--objective {kind.name}: the space has no {wanted[1]} that is always there")
            for entry in entries:
                if entry not in names:
                    listed = ", ".join(sorted(names)) or "none"
                    raise ObjectiveError(
                        f"--objective {kind.name}:{entry}: given {entry}; allowed hosts, or traffic entries that are "
                        f"always there, by name: {listed}"
                    )

    def measured(self, traffic: Sequence[Mapping[str, Any]]) -> bool:
        """Whether these traffic entries have all that is measured."""
        kinds = {one.get("kind") for one in traffic}
        wanted = [NEEDED[kind.name][0] for _, kind, _, _ in self.parts if kind.name in NEEDED]
        named = {entry for _, _, entries, _ in self.parts for entry in entries}
        return all(kinds & set(some) for some in wanted) and named <= _names(traffic)


def _names(traffic: Sequence[Mapping[str, Any]]) -> set[str]:
    return {str(one["name"]) for one in traffic if isinstance(one.get("name"), str)}


NEEDED = {
    "utilisation": (("ftp",), "endless flow (kind ftp)"),
    "calls": (("media",), "call (kind media)"),
    "short": (("transfers", "requests", "web", "pages"), "finite transfers"),
}
"""Kinds of traffic that an objective measures, and what they are called."""


def _queue(result: Document, setting: Setting) -> Mapping[str, Any]:
    found: Mapping[str, Any] = result["queues"][setting.queue]
    return found


def _delay(field: str) -> Value:
    def value(result: Document, _: Document, setting: Setting) -> float | None:
        delay = _queue(result, setting)[field]
        return None if delay is None else -math.log2(max(float(delay) / GOAL_MS, 1.0))

    return value


def _utilisation(result: Document, _: Document, setting: Setting) -> float | None:
    return float(_queue(result, setting)["utilisation"])


def _goodputs(result: Document, scenario: Document, setting: Setting) -> list[float]:
    """The goodput of each flow that is looked at, or of each host."""
    found: dict[Any, float] = {}
    number = dealt = 0
    pairs = int(scenario["topology"].get("pairs", 1)) if setting.hosts else 1
    for entry in scenario["traffic"]:
        own, count = entry.get("pairs"), int(entry.get("count", 1))
        for k in range(count):
            flow = result["flows"][number]
            number += 1
            if setting.entries and entry.get("name") not in setting.entries:
                continue
            # Entries take the pairs in order, one after the other, but for those that name theirs.
            host = number if not setting.hosts else own[k % len(own)] if own else (dealt + k) % pairs + 1
            found[host] = found.get(host, 0.0) + float(flow["goodput_mbps"] or 0.0)
        dealt += 0 if own else count
    return list(found.values())


def _fairness(result: Document, scenario: Document, setting: Setting) -> float | None:
    rates = _goodputs(result, scenario, setting)
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares > 0 else None


def _starvation(result: Document, scenario: Document, setting: Setting) -> float | None:
    rates = _goodputs(result, scenario, setting)
    total = sum(rates)
    return min(rates) * len(rates) / total if total > 0 else None


def _calls(result: Document, _: Document, setting: Setting) -> float | None:
    calls = [one for one in _entries(result, setting) if one["kind"] == "media"]
    length = float(result["duration_s"]) - float(result["warmup_s"])
    flows = sum(int(one["flows"]) for one in calls)
    return -sum(float(one["freeze_s"]) for one in calls) / (length * flows) if flows else None


def _short(result: Document, _: Document, setting: Setting) -> float | None:
    worst = [
        float(one["transfers"]["slowdown_p95"])
        for one in _entries(result, setting)
        if (one.get("transfers") or {}).get("slowdown_p95") is not None
    ]
    return -math.log2(max(worst)) if worst else None


def _entries(result: Document, setting: Setting) -> list[Mapping[str, Any]]:
    return [one for one in result["traffic"] if not setting.entries or one["name"] in setting.entries]


def _milliseconds(j: float) -> str:
    return f"{GOAL_MS * 2**-j:.3g} ms" if j < 0 else f"{GOAL_MS:g} ms or less"


def _percent(j: float) -> str:
    return f"{100 * j:.3g} %"


def _plain(j: float) -> str:
    return f"{j:.3f}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind("utilisation", "share of the link that is used", 0.1, _utilisation, _percent, bar=0.7),
        Kind("delay", "mean queueing delay", 0.5, _delay("delay_mean_ms"), _milliseconds),
        Kind("delay_p99", "99 % quantile of the queueing delay", 1.0, _delay("delay_p99_ms"), _milliseconds),
        Kind("fairness", "Jain index of the goodputs", 0.2, _fairness, _plain),
        Kind("starvation", "least goodput over the equal share", 0.3, _starvation, _percent, bar=0.01),
        Kind("calls", "share of the time for which calls are frozen", 0.02, _calls, lambda j: _percent(-j)),
        Kind("short", "95 % quantile of the slowdown of finite transfers", 0.5, _short, lambda j: f"{2**-j:.3g}"),
    )
}
"""The deltas are our choice: what a user of the link notices, well above the noise of twenty seeds."""

_FORM = re.compile(r"(?:(\d+(?:\.\d+)?)\s*\*\s*)?(\w+)(?::(\S+))?")
FLOWS = ("fairness", "starvation")
"""Objectives over flows, which may be those of a host together."""


def objective(texts: Sequence[str]) -> Objective:
    """The objective that the command line asks for: `delay_p99`, `fairness:hosts`, `2*delay utilisation`.

    Raises:
        ObjectiveError: it has another form.
    """
    parts = []
    for text in texts:
        found = _FORM.fullmatch(text.strip())
        if found is None or found[2] not in KINDS or (found[1] is not None and float(found[1]) == 0):
            raise ObjectiveError(
                f"--objective {text}: allowed {', '.join(KINDS)}; perhaps with a weight in front, as 2*delay, and "
                "with traffic entries behind, as fairness:uploads,downloads or fairness:hosts"
            )
        kind = KINDS[found[2]]
        names = tuple(found[3].split(",")) if found[3] else ()
        hosts = names == ("hosts",)
        if names and kind.name not in (*FLOWS, "calls", "short"):
            raise ObjectiveError(f"--objective {text}: {kind.name} is one of the queue; allowed no traffic entries")
        if hosts and kind.name not in FLOWS:
            raise ObjectiveError(f"--objective {text}: allowed hosts with {' and '.join(FLOWS)} only")
        parts.append((float(found[1] or 1), kind, () if hosts else names, hosts))
    if not parts:
        raise ObjectiveError(f"--objective: is missing; allowed {', '.join(KINDS)}")
    return Objective(tuple(parts))


def _text(weight: float, kind: Kind, entries: Sequence[str], hosts: bool) -> str:
    behind = "hosts" if hosts else ",".join(entries)
    return f"{'' if weight == 1 else f'{weight:g}*'}{kind.name}{f':{behind}' if behind else ''}"
