"""A learning environment: an AQM whose drop probability an agent sets.

`AqmEnv` is a Gymnasium environment, registered as `earlydrop/Aqm-v0` when this module is imported. It needs the extra
`gym`: `pip install 'earlydrop[gym]'`. docs/learning.md trains an agent in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import earlydrop._core as _core
from . import aqm
from .document import discipline
from .own_aqms import registry
from .result import Result
from .scenario import Scenario, dumbbell, link, parse
from .simulation import QueueState, Simulation, Source, scenario_of
from .traffic import uniform

try:
    import gymnasium
except ImportError as error:
    raise ImportError("earlydrop.gym needs Gymnasium: pip install 'earlydrop[gym]'") from error

AGENT = registry.register(registry.Known(_core.Aqm.agent(), "earlydrop.gym", "earlydrop.gym"))

OBSERVATIONS = ("queue", "delay", "delay_change", "arrivals", "departures", "signals", "probability")
"""Names of an observation's entries, see `AqmEnv`."""

MOST = 10.0
"""Largest absolute value in an observation."""

Observation = NDArray[np.float32]


@dataclass(frozen=True)
class Interval:
    """Measurements of an interval between two actions; also the `info` of a step, as a dict."""

    time_s: float
    """The interval's end, s."""

    probability: float
    """The drop probability in the interval."""

    packets: int
    """Packets waiting at the interval's end."""

    bytes: int
    """Bytes of the packets waiting."""

    delay_s: float
    """Time that the link needs for what waits at the interval's end, s."""

    arrivals: int
    """Packets that arrived, dropped ones included."""

    arrival_bps: float
    """Rate of the arrivals, bit/s."""

    departure_bps: float
    """Rate of departures, bit/s."""

    drops: int
    """Packets dropped, also because the buffer was full."""

    marks: int
    """Packets marked."""

    link_rate_bps: float
    """Rate of the link, bit/s; the nominal one where it varies."""

    utilisation: float
    """Departures over the link's rate. Slightly above 1 where a packet starts in one interval and ends in the
    next."""


def utilisation_and_delay(interval: Interval, target_s: float) -> float:
    """The default reward: the utilisation, less 0.1 for each target by which the delay exceeds the target."""
    return interval.utilisation - 0.1 * max(0.0, interval.delay_s / target_s - 1)


def default_scenario() -> Scenario:
    """20 TCP flows over 10 Mbit/s with 50 ms of propagation delay, for 20 s; they start within the first second."""
    net = dumbbell(
        pairs=20,
        access=link("50 Mbit/s", "10 ms"),
        bottleneck=link("10 Mbit/s", "5 ms"),
        queue=aqm.DropTail(limit="150 packets"),
        name="learning",
    )
    net.ftp(20, tcp="newreno", segment="1000 B", start=uniform("0 s", "1 s"))
    return net.scenario(duration="20 s")


class AqmEnv(gymnasium.Env[Observation, Observation]):
    """A queue whose drop probability an agent sets at fixed intervals.

    An episode is a run of the scenario from 0 s to its `duration`, at which it is truncated; it never terminates. The
    action is the probability with which each arrival is dropped, or marked where the queue has `ecn = true` and the
    packet is ECN-capable, until the next action: an array of one number in [0, 1].

    An observation has seven numbers:

    | number | is | range |
    |---|---|---|
    | `queue` | packets (of a limit in bytes: bytes) waiting, over the limit | 0 to 1 |
    | `delay` | time that the link needs for what waits, over `target` | 0 to 10 |
    | `delay_change` | what the last interval added to it | -10 to 10 |
    | `arrivals` | arrivals in the last interval, over the link's rate | 0 to 10 |
    | `departures` | departures, likewise: the utilisation | 0 to 10 |
    | `signals` | drops and marks over the packets that arrived; 0 if none did | 0 to 1 |
    | `probability` | the action | 0 to 1 |

    Larger values are cut. `info` has the same with units, see `Interval`. `reset(seed=)` draws the seed of the
    scenario; `reset(options={"scenario_seed": 7})` gives it, for other disciplines under the same random numbers.

    Args:
        scenario: a network (with `duration` and so on in `top`), scenario, dict or file; without one
            `default_scenario()`.
        queue: the queue that the agent rules; the first of the scenario if none is given. Its limit and ECN stay.
        interval: between two actions, s or a text.
        target: the delay in which observations and the default reward measure, s or a text.
        reward: what an interval is worth, instead of `utilisation_and_delay`.
        top: arguments of `Network.scenario`.

    Raises:
        ScenarioError: the scenario is wrong, or has no such queue.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        queue: str | None = None,
        interval: float | str = "15 ms",
        target: float | str = "15 ms",
        reward: Callable[[Interval], float] | None = None,
        **top: Any,
    ) -> None:
        given = default_scenario() if scenario is None else scenario_of(scenario, top)
        document = given.document
        queues = document["queue"]
        self.queue = queue or next(iter(queues))
        if self.queue in queues:
            given_queue = queues[self.queue]
            inside = discipline(given_queue)
            kept = {key: value for key, value in inside.items() if key in ("limit", "ecn", "random", "marker")}
            agent = {"aqm": AGENT.native.name, **kept}
            agent = agent if inside is given_queue else {**given_queue, "child": agent}
            document["queue"] = {**queues, self.queue: agent}
            document["aqms"] = {**document.get("aqms", {}), AGENT.native.name: {"digest": AGENT.digest}}
        self.scenario = parse(document)
        self.interval_s, self.target_s = _core.seconds(interval), _core.seconds(target)
        self.reward = reward or (lambda one: utilisation_and_delay(one, self.target_s))
        # Raises an error if there is no such queue.
        Simulation(self.scenario).queue(self.queue)
        limit, _, unit = str(discipline(document["queue"][self.queue])["limit"]).partition(" ")
        self._limit, self._limit_in_bytes = float(limit), unit == "B"
        low = np.zeros(len(OBSERVATIONS), np.float32)
        high = np.array([1, MOST, MOST, MOST, MOST, 1, 1], np.float32)
        low[OBSERVATIONS.index("delay_change")] = -MOST
        self.observation_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self._low, self._high = low, high
        self._meter: Meter | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: the first observation, and the scenario's seed in `info`."""
        super().reset(seed=seed)
        given = (options or {}).get("scenario_seed")
        drawn = int(self.np_random.integers(1 << 31)) if given is None else int(given)
        self._meter = Meter(self.scenario, self.queue, drawn)
        self._delay = 0.0
        return np.zeros(len(OBSERVATIONS), np.float32), {"scenario_seed": drawn}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Set the probability and run for an interval: observation, reward, terminated, truncated, info.

        Raises:
            RuntimeError: no episode was started, or it is over.
            ValueError: the action is no probability.
        """
        meter = self._meter
        if meter is None or meter.over:
            raise RuntimeError("call reset() before step()" if meter is None else "the episode is over: call reset()")
        probability = float(np.asarray(action).reshape(-1)[0])
        if not 0 <= probability <= 1:
            raise ValueError(f"action = {probability}: a probability is from 0 to 1")
        meter.sim.set(self.queue, "p", probability)
        one = meter.run(self.interval_s, probability)
        values = [
            (one.bytes if self._limit_in_bytes else one.packets) / self._limit,
            one.delay_s / self.target_s,
            (one.delay_s - self._delay) / self.target_s,
            one.arrival_bps / one.link_rate_bps,
            one.utilisation,
            (one.drops + one.marks) / max(one.arrivals, 1),
            probability,
        ]
        self._delay = one.delay_s
        observation = np.clip(np.array(values, np.float32), self._low, self._high)
        return observation, float(self.reward(one)), False, meter.over, asdict(one)

    def result(self) -> Result:
        """The result of the episode, which is run to its end with the last action; `reset` comes next.

        Raises:
            RuntimeError: no episode was started.
        """
        if self._meter is None:
            raise RuntimeError("call reset() before result()")
        sim, self._meter = self._meter.sim, None
        return sim.finish()


class Meter:
    """Measures a queue from interval to interval."""

    def __init__(self, scenario: Scenario, queue: str, seed: int | None) -> None:
        self.sim = Simulation(scenario, seed=seed)
        self._queue = queue
        self._warmup = _core.seconds(scenario.document["warmup"])
        self._state = self.sim.queue(queue)

    @property
    def over(self) -> bool:
        """Whether the scenario has run to its end."""
        return self.sim.now >= self.sim.duration

    def run(self, interval_s: float, probability: float = math.nan) -> Interval:
        """Run for an interval, at most to the end of the scenario."""
        begin, counts = self.sim.now, -_counts(self._state)
        end = begin + interval_s
        if end > self.sim.duration - 1e-9:
            # The sum of the intervals so far is rounded.
            end = self.sim.duration
        if begin <= self._warmup < end:
            # When the measured window begins the counts start again.
            self.sim.run_until(self._warmup)
            counts += _counts(self.sim.queue(self._queue))
        self.sim.run_until(end)
        self._state = state = self.sim.queue(self._queue)
        arrivals, arrived_bytes, departed_bytes, drops, marks = (counts + _counts(state)).tolist()
        departure_bps = 8 * departed_bytes / (end - begin)
        return Interval(
            time_s=end,
            probability=probability,
            packets=state.packets,
            bytes=state.bytes,
            delay_s=state.delay_s,
            arrivals=arrivals,
            arrival_bps=8 * arrived_bytes / (end - begin),
            departure_bps=departure_bps,
            drops=drops,
            marks=marks,
            link_rate_bps=state.link_rate_bps,
            utilisation=departure_bps / state.link_rate_bps,
        )


def _counts(state: QueueState) -> NDArray[np.int64]:
    """Arrivals, their bytes, departed bytes, drops and marks."""
    counted = state.counters
    of = [counted["arrivals"], counted["arrived_bytes"], counted["departed_bytes"], state.drops, counted["marks"]]
    return np.array(of, np.int64)


def intervals(
    scenario: Source,
    *,
    queue: str | None = None,
    interval: float | str = "15 ms",
    seed: int | None = None,
    **top: Any,
) -> Iterator[Interval]:
    """What the intervals of a run with the scenario's own discipline are like, for rewards of other AQMs.

    The arguments are those of `AqmEnv`. `probability` is NaN.
    """
    given = scenario_of(scenario, top)
    meter = Meter(given, queue or next(iter(given.document["queue"])), seed)
    while not meter.over:
        yield meter.run(_core.seconds(interval))


gymnasium.register(id="earlydrop/Aqm-v0", entry_point="earlydrop.gym:AqmEnv")
