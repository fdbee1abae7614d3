"""Simulations in steps: run to a time, look at queues and flows, set a parameter, run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import earlydrop._core as _core
from .result import Result
from .scenario import Network, Scenario, load, parse


@dataclass(frozen=True)
class QueueState:
    """A queue at a moment."""

    packets: int
    """Packets that wait; the one in transmission does not."""

    bytes: int
    """Bytes of the packets that wait."""

    average: float | None
    """The averaged queue, packets; None where the discipline keeps none."""

    gauges: dict[str, float]
    """The discipline's inner values, such as RED's `avg`, `p_b` and `count`."""

    counters: dict[str, int]
    """Packets since the start of the run, or of the measured window once that has started: `arrivals`, `departures`,
    `early_drops`, `forced_drops`, `overflow_drops`, `marks`; and `arrived_bytes`, `departed_bytes`."""

    mean_packets: float
    """Mean number of packets that waited, over the same time."""

    mean_delay_s: float
    """Mean time that the departed packets waited, s, over the same time; 0 if none departed."""

    link_rate_bps: float
    """Rate of the link, bit/s; the nominal one where it varies."""

    @property
    def drops(self) -> int:
        """The sum of all drops in `counters`."""
        return self.counters["early_drops"] + self.counters["forced_drops"] + self.counters["overflow_drops"]

    @property
    def delay_s(self) -> float:
        """How long the link needs for what waits, s."""
        return 8 * self.bytes / self.link_rate_bps


@dataclass(frozen=True)
class FlowState:
    """A flow at a moment."""

    cwnd: float
    """Congestion window, segments; 0 without TCP."""

    received: int
    """Data segments received within the measured window, duplicates included."""

    in_order: int
    """Segments received in order."""

    retransmits: int
    """Retransmitted segments of the connection."""

    timeouts: int
    """Retransmission timeouts of the connection."""

    drops: int
    """Drops at queues since the start of the run, or of the measured window once that has started."""

    marks: int
    """Marks at queues, over the same time."""


Source = Network | Scenario | Mapping[str, Any] | str | PathLike[str]
"""What can be simulated: a network, a checked scenario, a dict, or the path of a scenario file."""


def scenario_of(source: Source, top: Mapping[str, Any]) -> Scenario:
    """A checked scenario, whatever it is given as; `top` are a network's arguments."""
    if isinstance(source, Network):
        return source.scenario(**top)
    if top:
        raise TypeError(f"{', '.join(top)}: for a network only; a scenario, dict or file says it itself")
    if isinstance(source, Scenario):
        return source
    return parse(source) if isinstance(source, Mapping) else load(source)


class Simulation:
    """A run in steps.

        sim = ed.Simulation(net, duration="60 s", seed=1)
        sim.run_until("10 s")
        sim.queue("bottleneck").packets
        sim.set("bottleneck", "max_p", 0.2)
        result = sim.finish()

    The steps change nothing: `finish()` gives the same result as `run`, unless a parameter was set. A step runs the
    events before its end, not those at it. Every link is stepped, so that all that is read is exact.

    Args:
        source: a network, a scenario, a dict, or the path of a scenario file.
        seed: instead of the scenario's own.
        top: for a network, `duration`, `warmup` and what else `Network.run` takes.

    Raises:
        ScenarioError: the scenario is wrong.
    """

    def __init__(self, source: Source, *, seed: int | None = None, **top: Any) -> None:
        self.scenario = scenario_of(source, top)
        document = self.scenario.document
        self._core = _core.Simulation(self.scenario._core, seed)
        self.seed: int = int(document["seed"]) if seed is None else seed
        self.duration = self._core.duration
        """End of the run, s."""

    @property
    def now(self) -> float:
        """The time up to which it has run, s."""
        return self._core.now

    @property
    def queues(self) -> list[str]:
        """The names of the queues."""
        return self._core.queues()

    def run_until(self, time: float | str) -> None:
        """Run every event before `time`: seconds, or a text such as `"10 s"`. The end of the run is the latest.

        Raises:
            ValueError: the time is past, or no time.
        """
        self._core.run_until(time)

    def step(self, interval: float | str) -> None:
        """Run for this long: seconds, or a text such as `"15 ms"`; at most to the end of the run.

        Raises:
            ValueError: the argument is no length of time.
        """
        self._core.step(interval)

    def queue(self, name: str) -> QueueState:
        """A queue now.

        Raises:
            ScenarioError: there is no such queue.
        """
        return QueueState(**self._core.queue(name))

    def flow(self, number: int) -> FlowState:
        """A flow now; the first is 1.

        Raises:
            ValueError: there is no such flow.
        """
        return FlowState(**self._core.flow(number))

    def set(self, queue: str, parameter: str, value: Any) -> None:
        """Set a parameter of a queue's discipline, which goes on from where it is.

        Raises:
            ScenarioError: there is no such queue or parameter, the value is out of range or does not fit the others, or
                the discipline cannot change it while it runs. Nothing has changed then.
        """
        self._core.set(queue, parameter, value)

    def finish(self) -> Result:
        """Run to the end; the result. Where parameters were set, its document has `changes`. The simulation is over."""
        return Result(self._core.finish(), self.scenario.document)

    def __repr__(self) -> str:
        try:
            return f"<Simulation {self.scenario.name} seed {self.seed}: {self.now:g} s of {self.duration:g} s>"
        except RuntimeError:
            return f"<Simulation {self.scenario.name} seed {self.seed}: over>"
