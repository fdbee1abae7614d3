"""Searches a space for scenarios in which a discipline does much worse than another, and confirms them on new seeds.

Two seeds search, and the best of thousands of scenarios is partly luck: so the five best are run on twenty seeds that
the search has not used. With equal disciplines a regret above zero in 17 of 20 has a probability of 0.0013, for five
scenarios together below 0.7 % (the sign test).
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np

from .. import extras
from ..analysis import paired, statistics
from ..analysis.entries import Entry, with_entry
from ..analysis.window import Window
from ..document import Document, overlay
from ..errors import EarlydropError
from ..runner import Progress, no_progress
from ..store import Store, scenario_key
from ..store.keys import KEYS
from ..store.names import words
from ..store.rows import documents
from ..strict_toml import parse_value
from ..sweeps import execute
from ..sweeps.base_scenario import NEUTRAL
from ..sweeps.executors import Executor
from ..sweeps.plan import Scenarios
from .objectives import Objective
from .space import Point, Space

SEEDS = (1, 2)
"""Seeds of the search."""
FRESH, FRESH_SEEDS = 20, 2_000_001
"""Number of seeds of a confirmation, and the first of them."""
SHRINK_SEEDS, LAST_SEEDS = 3_000_001, 4_000_001
"""First seeds of the shrinking, and of what is said in the end."""
HOLDING = 17
"""Of `FRESH` seeds, how many must have a regret above delta."""
BEST, LOOKED = 5, 10
"""Scenarios that are confirmed; and of those with the largest regrets, and of the rest, how many are looked at."""
LONGER = 3
"""A finding must hold at this many times the length, too."""
MOST_LONGER, WIDENED = 4.0, 2
"""How many times its length a scenario may get where its window is too short, and how often it is asked."""
ROUND = {"random": 50, "tpe": 20, "cmaes": 20}
"""Scenarios proposed together, whatever the number of workers: so the same search gives the same scenarios."""
AT_RANDOM = 5
"""Scenarios for each value that is drawn, of which the others begin."""
CONFIDENCE = 0.95

How = Literal["random", "tpe", "cmaes"]


class BreakError(EarlydropError):
    """A search cannot be made. The message says why."""


@dataclass(frozen=True)
class Side:
    """What is laid into a scenario of the space: a discipline at the queue, or a congestion control."""

    title: str
    entry: Entry | None = None
    tcp: Mapping[str, Any] | None = None
    """Keys of every traffic entry over TCP."""
    first_seed: int = 0
    """Added to every seed. Only tests of the search itself set it."""

    def laid(self, document: Document, queue: str, known: Mapping[str, Any]) -> Document:
        """The scenario with it."""
        if self.entry is not None:
            laid, settings, _ = with_entry(document, [], queue, self.entry, known)
            return overlay(laid, {path: parse_value(text) for path, text in settings})
        assert self.tcp is not None
        traffic = [{**one, **self.tcp} if "tcp" in one else one for one in document["traffic"]]
        return {**document, "traffic": traffic}


@dataclass(frozen=True)
class Problem:
    """A space, what is attacked, and by what it is measured."""

    space: Space
    attacked: Side
    rivals: tuple[Side, ...]
    """None: then the regret is against the bars of the objective."""
    objective: Objective
    queue: str
    port: str
    """The queue's name in results."""
    known: Mapping[str, Any]
    """The catalogue of disciplines."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """All that is run."""
        return (self.attacked, *self.rivals)

    @property
    def delta(self) -> float:
        """The smallest regret that counts; bars have it in them."""
        return self.objective.delta if self.rivals else 0.0


@dataclass(frozen=True)
class Tried:
    """A scenario of the search."""

    number: int
    point: Point
    values: tuple[tuple[float | None, ...], ...]
    """J by side and seed; None where a run failed or has no value."""
    bars: tuple[float, ...] = ()
    """J that the attacked should have, by seed, where it has no rival."""

    @cached_property
    def rival(self) -> int | None:
        """The number of the best rival on the seeds of the search; None without one."""
        means = [(statistics.mean(v), k) for k, row in enumerate(self.values[1:]) if (v := _whole(row))]
        return max(means, key=lambda one: (one[0], -one[1]))[1] if means else None

    @cached_property
    def regrets(self) -> tuple[float, ...]:
        """The regret by seed; none where a run failed."""
        mine = _whole(self.values[0])
        if self.bars:
            return tuple(bar - one for bar, one in zip(self.bars, mine, strict=True)) if mine else ()
        if not mine or self.rival is None:
            return ()
        return tuple(b - a for a, b in zip(mine, _whole(self.values[1 + self.rival]), strict=True))

    @property
    def score(self) -> float | None:
        """The smaller of the regrets: the larger one is the luckier."""
        return min(self.regrets, default=None)


def _whole(values: Sequence[float | None]) -> list[float]:
    found = [v for v in values if v is not None]
    return found if len(found) == len(values) else []


@dataclass(frozen=True)
class Held:
    """A scenario on twenty seeds."""

    mine: tuple[float, ...]
    """J of the attacked, by seed."""
    other: tuple[float, ...]
    """J of its rival, or the bar."""
    delta: float
    windows: tuple[Window, ...] = ()

    @property
    def regrets(self) -> list[float]:
        """The regret by seed."""
        return [b - a for a, b in zip(self.mine, self.other, strict=True)]

    @property
    def above(self) -> int:
        """Seeds with a regret above delta."""
        return sum(regret > self.delta for regret in self.regrets)

    @property
    def holds(self) -> bool:
        """Whether enough seeds are."""
        return len(self.mine) == FRESH and self.above >= HOLDING

    @property
    def median(self) -> float:
        """The median regret."""
        return float(np.median(self.regrets)) if self.regrets else 0.0

    @property
    def short(self) -> bool:
        """Whether a window is too short for what is averaged over it."""
        return any(one.short for one in self.windows)


@dataclass(frozen=True)
class Candidate:
    """One of the best scenarios, and what became of it."""

    tried: Tried
    held: Held
    longer: Held | None = None
    reason: str = ""
    """Why it is no finding; empty if it is one."""
    window: tuple[float, float] | None = None
    """Warm-up and duration, s, where the space's window is too short for it."""

    def scenario(self, space: Space) -> Document:
        """The scenario of its space, with its window."""
        return fitted(space.document(self.tried.point), self.window)


# ---- running -------------------------------------------------------------------------------------------------------


class Runs:
    """J of scenarios on seeds, through the store, on any executor."""

    def __init__(self, problem: Problem, store: Store, executor: Executor) -> None:
        self.problem, self.store, self._executor = problem, store, executor
        self.made = 0
        """Runs that the search has asked for."""

    def __call__(
        self, scenarios: Sequence[Document], seeds: Sequence[int], sides: Sequence[Side] | None = None
    ) -> list[tuple[tuple[float | None, ...], ...]]:
        """J by scenario, side and seed; None where the scenario is refused or the run fails."""
        chosen = self.problem.sides if sides is None else sides
        texts: dict[str, str] = {}
        keys = [[self._checked(document, side, texts) for side in chosen] for document in scenarios]
        wanted = {
            (key, seed + side.first_seed)
            for row in keys
            for key, side in zip(row, chosen, strict=True)
            if key is not None
            for seed in seeds
        }
        self.made += len(wanted)
        found = self._made(texts, wanted)
        return [
            tuple(
                tuple(None if key is None else found.get((key, seed + side.first_seed)) for seed in seeds)
                for key, side in zip(row, chosen, strict=True)
            )
            for row in keys
        ]

    def _checked(self, document: Document, side: Side, texts: dict[str, str]) -> str | None:
        import earlydrop._core as _core

        laid = side.laid(document, self.problem.queue, self.problem.known)
        try:
            text = _core.Scenario.parse({**laid, "name": NEUTRAL, "seed": 1}, []).to_json()
        except _core.ScenarioError:
            return None
        key = scenario_key(text)
        texts[key] = text
        return key

    def _made(self, texts: Mapping[str, str], wanted: set[tuple[str, int]]) -> dict[tuple[str, int], float | None]:
        """J of these runs, which are made where the store lacks them."""
        runs = sorted(wanted)
        if not runs:
            return {}
        todo = Scenarios(
            [texts[key] for key, _ in runs],
            np.array([seed for _, seed in runs], np.int64),
            np.ones(len(runs), np.int64),
        )
        execute.Runs(todo, self.store, self._executor, lambda _: None).make()
        scenarios = {key: json.loads(text) for key, text in texts.items()}
        found: dict[tuple[str, int], float | None] = {}

        def read(frame: Any) -> None:
            # A part may have other runs too.
            here = [run in wanted and run not in found for run in frame.select(*KEYS[:2]).iter_rows()]
            kept = frame.filter(here)
            for run, result in zip(kept.select(*KEYS[:2]).iter_rows(), documents(kept), strict=True):
                found[run] = self.problem.objective.value(result, scenarios[run[0]], self.problem.port)

        names = words([key for key, _ in runs]), np.array([seed for _, seed in runs], np.int64)
        self.store.gather(lambda: [names], _needed, read)
        return found


def _needed(column: str) -> bool:
    return column.split(".")[0] in ("queues", "flows", "traffic", "duration_s", "warmup_s")


# ---- the search ----------------------------------------------------------------------------------------------------


def proposals(
    space: Space, how: How, seed: int
) -> Iterator[tuple[list[Point], Callable[[Sequence[float | None]], None]]]:
    """Rounds of points, each with what takes their scores in.

    Raises:
        BreakError: Optuna, or the package of the sampler, is not installed.
    """
    try:
        import optuna
    except ImportError as error:
        raise BreakError(f"break needs Optuna: {extras.command('tune')}") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    names = [f"{k} {one.path}" for k, one in enumerate(space.draws)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samplers = optuna.samplers
        sampler: Any
        if how == "random":
            sampler = samplers.RandomSampler(seed=seed)
        elif how == "tpe":
            sampler = samplers.TPESampler(seed=seed, constant_liar=True, n_startup_trials=AT_RANDOM * len(names))
        else:
            sampler = samplers.CmaEsSampler(seed=seed, n_startup_trials=AT_RANDOM * len(names), popsize=ROUND[how])
        study = optuna.create_study(direction="maximize", sampler=sampler)
        while True:
            asked = [study.ask() for _ in range(ROUND[how])]
            # Below 1, as a range's coordinates are.
            points = [tuple(min(one.suggest_float(n, 0.0, 1.0), 1 - 2**-53) for n in names) for one in asked]

            def take(scores: Sequence[float | None], asked: Sequence[Any] = asked) -> None:
                for one, score in zip(asked, scores, strict=False):
                    if score is None:
                        study.tell(one, state=optuna.trial.TrialState.FAIL)
                    else:
                        study.tell(one, score)

            yield points, take


def search(
    problem: Problem, runs: Runs, budget: int, seed: int = 1, how: How = "random", progress: Progress = no_progress
) -> list[Tried]:
    """Scenarios of the space and their regrets, until `budget` runs are used up.

    Raises:
        BreakError: no scenario of the first rounds can be run.
    """
    each = len(SEEDS) * len(problem.sides)
    wanted = max(1, budget // each)
    ledger: list[Tried] = []
    for points, take in proposals(problem.space, how, seed):
        some = points[: wanted - len(ledger)]
        scenarios = [problem.space.document(point) for point in some]
        values = runs(scenarios, SEEDS)
        fresh = [
            Tried(len(ledger) + k, point, row, bars_of(problem, scenario, len(SEEDS)))
            for k, (point, row, scenario) in enumerate(zip(some, values, scenarios, strict=True))
        ]
        ledger += fresh
        take([one.score for one in fresh])
        progress(len(ledger) * each, wanted * each, f"attacking {problem.attacked.title}")
        if len(ledger) >= wanted:
            break
        if len(ledger) >= 4 * ROUND["random"] and all(one.score is None for one in ledger):
            raise BreakError(f"none of {len(ledger)} scenarios of the space can be run; `earlydrop check` one of them")
    return ledger


def bars_of(problem: Problem, scenario: Document, seeds: int) -> tuple[float, ...]:
    """What the attacked should reach, where it has no rival."""
    if problem.rivals:
        return ()
    import earlydrop._core as _core

    laid = problem.attacked.laid(scenario, problem.queue, problem.known)
    try:
        checked = json.loads(_core.Scenario.parse({**laid, "name": NEUTRAL, "seed": 1}, []).to_json())
    except _core.ScenarioError:
        return ()
    return (problem.objective.bar(checked, problem.queue),) * seeds


def bound(tried: int) -> float:
    """The share of a space that may still hold scenarios of a kind of which `tried` random ones have none (95 %)."""
    # The exact bound is 1 - 0.05^(1/n), which the rule of three bounds from above.
    return min(1.0, 3 / tried)


# ---- confirming ----------------------------------------------------------------------------------------------------


def ranked(ledger: Sequence[Tried], delta: float) -> list[Tried]:
    """The scenarios with regrets above delta, the largest first."""
    good = [one for one in ledger if one.score is not None and one.score > delta]
    return sorted(good, key=lambda one: (-(one.score or 0.0), one.number))


def best(problem: Problem, ledger: Sequence[Tried]) -> Iterator[Tried]:
    """The scenarios to confirm: the best of which the window is long enough, then the best of the others."""
    kept = []
    for one in measurable(problem, ledger):
        kept.append(one)
        yield one
    yield from (one for one in ranked(ledger, problem.delta) if one not in kept)


def measurable(problem: Problem, ledger: Sequence[Tried]) -> Iterator[Tried]:
    """The best scenarios of which the window is long enough.

    Looked at are the first of all above delta, and some of the rest at even distances: what a queue does at the start
    may be worse than all that it does later.
    """
    found = ranked(ledger, problem.delta)
    rest = found[LOOKED:]
    for one in [*found[:LOOKED], *rest[:: max(1, -(-len(rest) // LOOKED))]]:
        rival = () if one.rival is None else (problem.rivals[one.rival],)
        scenario = problem.space.document(one.point)
        if not any(w.short for w in windows(problem, scenario, (problem.attacked, *rival), SEEDS[0])):
            yield one


def hold(
    problem: Problem, runs: Runs, scenario: Document, rival: int | None, first: int, *, watched: bool = False
) -> Held:
    """A scenario on twenty seeds; with `watched`, also whether the window is long enough."""
    sides = problem.sides if rival is None else (problem.attacked, problem.rivals[rival])
    seeds = range(first, first + FRESH)
    (values,) = runs([scenario], seeds, sides)
    mine = _whole(values[0])
    other = _whole(values[1]) if rival is not None else list(bars_of(problem, scenario, FRESH))
    if not mine or not other:
        return Held((), (), problem.delta)
    found = Held(tuple(mine), tuple(other), problem.delta)
    return replace(found, windows=windows(problem, scenario, sides, first)) if watched and found.holds else found


def windows(problem: Problem, scenario: Document, sides: Sequence[Side], first: int) -> tuple[Window, ...]:
    """What is known of the measured window with each side."""
    found: list[Window] = []
    for side in sides:
        laid = side.laid(scenario, problem.queue, problem.known)
        entry = side.entry or Entry(str(laid["queue"][problem.queue]["aqm"]))
        seen = paired.compare({**laid, "seed": first}, [entry], seeds=5, workers=1)
        found += seen.warmups.values()
    return tuple(found)


def longer(scenario: Document) -> Document:
    """A scenario of `LONGER` times the length, with the same warm-up."""
    return {**scenario, "duration": f"{LONGER * _seconds(scenario['duration']):g} s"}


def fitted(scenario: Document, window: tuple[float, float] | None) -> Document:
    """A scenario with this warm-up and duration."""
    if window is None:
        return scenario
    warmup, duration = window
    return {**scenario, "warmup": f"{warmup:g} s", "duration": f"{duration:g} s"}


def _seconds(duration: Any) -> float:
    import earlydrop._core as _core

    found = _core.quantity(str(duration))
    assert found is not None
    return float(found[0]) * float(found[2])


def confirmed(
    problem: Problem, runs: Runs, ledger: Sequence[Tried], progress: Progress = no_progress
) -> list[Candidate]:
    """The best scenarios on fresh seeds, with a look at the window, and again at three times the length."""
    chosen = list(islice(best(problem, ledger), BEST))
    found = []
    for k, one in enumerate(chosen):
        progress(k, len(chosen), "confirming")
        found.append(examined(problem, runs, one))
    if chosen:
        progress(len(chosen), len(chosen), "confirming")
    return found


def examined(problem: Problem, runs: Runs, one: Tried, widened: int = WIDENED) -> Candidate:
    """A scenario on fresh seeds; where its window is too short, with the one that the check asks for."""
    now = _confirmed(problem, runs, one, None)
    most = MOST_LONGER * _seconds(problem.space.document(one.point)["duration"])
    for _ in range(widened):
        short = [w for w in now.held.windows if w.short]
        if not short:
            break
        warmup = max(w.chosen_s if w.needed_s is None else w.needed_s for w in short)
        duration = max(w.duration_s if w.needed_duration_s is None else w.needed_duration_s for w in short)
        if duration > most or now.window == (warmup, duration):
            break
        now = _confirmed(problem, runs, one, (warmup, duration))
    return now


def _confirmed(problem: Problem, runs: Runs, one: Tried, window: tuple[float, float] | None) -> Candidate:
    """A scenario with its window or another one, and again at three times its length."""
    scenario = fitted(problem.space.document(one.point), window)
    held = hold(problem, runs, scenario, one.rival, FRESH_SEEDS, watched=True)
    at = "" if window is None else f"over {window[0]:g} to {window[1]:g} s "
    if not held.holds:
        return Candidate(one, held, None, f"{at}above delta on {held.above} of {FRESH} fresh seeds", window)
    if held.short:
        why = next(w.reasons[0] for w in held.windows if w.short)
        return Candidate(one, held, None, f"{at}the measured window is too short: {why}", window)
    again = hold(problem, runs, longer(scenario), one.rival, FRESH_SEEDS)
    gone = f"at {LONGER} times the length above delta on {again.above} of {FRESH} seeds"
    return Candidate(one, held, again, "" if again.holds else gone, window)


# ---- shrinking -----------------------------------------------------------------------------------------------------

MOST_TRIES = 150
"""Simpler scenarios that a shrinking tries at most."""
LOOK = 6
"""Seeds that a try is given first: with more than `FRESH - HOLDING` of them below delta it cannot hold."""
SHORTER = (0.25, 0.5)


@dataclass(frozen=True)
class Finding:
    """A confirmed scenario, made small."""

    tried: Tried
    point: Point
    scenario: Document
    """Of the space, with none of the two sides laid in."""
    rival: int | None
    found: Held
    """What was found, before it was made small, on fresh seeds."""
    held: Held
    """What is left of it, on seeds that nothing was chosen by."""
    longer: Held

    def alike(self, space: Space) -> tuple[Any, ...]:
        """What findings that are one have in common: the rival, and all that is chosen or there."""
        from .space import Choice

        return (
            self.rival,
            *(one.draw.at(u) for one, u in zip(space.draws, self.point, strict=True) if isinstance(one.draw, Choice)),
        )


def shrunk(problem: Problem, runs: Runs, candidate: Candidate, progress: Progress = no_progress) -> Finding | None:
    """A finding with everything taken away that it does not need; None if it does not hold on the last seeds."""
    rival, space, tries = candidate.tried.rival, problem.space, 0

    def document(point: Point) -> Document:
        return fitted(space.document(point), candidate.window)

    point, whole = candidate.tried.point, document(candidate.tried.point)
    failed: set[str] = set()

    def holds(scenario: Document) -> bool:
        nonlocal tries
        name = json.dumps(scenario)
        if name in failed or tries >= MOST_TRIES:
            return False
        tries += 1
        progress(min(tries, MOST_TRIES - 1), MOST_TRIES, "making it small")
        if _holds(problem, runs, scenario, rival):
            return True
        failed.add(name)
        return False

    again = True
    while again:
        again = False
        for number in space.order:
            for simpler in space.simpler(point, number):
                if holds(document(simpler)):
                    point, again = simpler, True
                    break
    scenario = document(point)
    for k in reversed(range(len(scenario["traffic"]))):
        rest = [*scenario["traffic"][:k], *scenario["traffic"][k + 1 :]]
        fewer = {**scenario, "traffic": rest}
        if rest and problem.objective.measured(rest) and holds(fewer):
            scenario = fewer
    for times in SHORTER:
        short = _cut(scenario, times)
        if _holds(problem, runs, short, rival) and lasts(problem, runs, short, rival, SHRINK_SEEDS) is not None:
            scenario = short
            break
    progress(MOST_TRIES, MOST_TRIES, "making it small")
    for one, at in ((scenario, point), (document(point), point), (whole, candidate.tried.point)):
        last = lasts(problem, runs, one, rival, LAST_SEEDS)
        if last is not None:
            return Finding(candidate.tried, at, one, rival, candidate.held, *last)
    return None


def _cut(scenario: Document, times: float) -> Document:
    """A scenario with this share of its measured window, in whole seconds."""
    begin, end = _seconds(scenario.get("warmup", "0 s")), _seconds(scenario["duration"])
    return {**scenario, "duration": f"{begin + math.ceil(times * (end - begin)):g} s"}


def _holds(problem: Problem, runs: Runs, scenario: Document, rival: int | None) -> bool:
    """Whether the regret holds on the seeds of the shrinking; most that do not are told by the first of them."""
    sides = problem.sides if rival is None else (problem.attacked, problem.rivals[rival])
    (values,) = runs([scenario], range(SHRINK_SEEDS, SHRINK_SEEDS + LOOK), sides)
    mine = _whole(values[0])
    other = _whole(values[1]) if rival is not None else list(bars_of(problem, scenario, LOOK))
    if not mine or not other or sum(b - a <= problem.delta for a, b in zip(mine, other, strict=True)) > FRESH - HOLDING:
        return False
    return hold(problem, runs, scenario, rival, SHRINK_SEEDS).holds


def lasts(problem: Problem, runs: Runs, scenario: Document, rival: int | None, first: int) -> tuple[Held, Held] | None:
    """A scenario on these seeds, and at three times the length; None if it does not hold in both, or is too short."""
    held = hold(problem, runs, scenario, rival, first, watched=True)
    if not held.holds or held.short:
        return None
    again = hold(problem, runs, longer(scenario), rival, first)
    return (held, again) if again.holds else None
