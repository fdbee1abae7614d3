"""Search for parameters of a discipline, and which of them matter.

Optuna proposes parameters, a sweep runs them over some seeds, and the best of what is found has to prove itself against
the scenario's own parameters on seeds that the search has not seen. Sensitivity is by SALib: Morris' elementary effects
or Sobol's indices over the same ranges.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .analysis import statistics
from .analysis.compare import QUANTITIES, CompareError, Quantity
from .analysis.statistics import Difference
from .document import Document
from .errors import EarlydropError
from .store import Store
from .sweeps import Executor, Outcome, Tally, parse_document, run
from .sweeps import plan as planned
from .sweeps.base_scenario import NEUTRAL, checker_error, one_line, overlay_toml, with_traces
from .toml_writer import toml_value

Told = Callable[[int, int, str], None]
Method = Literal["morris", "sobol"]

ALIASES = {"fairness": "jain", "delay": "queue_delay"}
LARGER = frozenset({"goodput", "throughput", "utilisation", "jain"})
"""Measures of which more is better; of the others less."""
ROUND = 10
"""Trials proposed together, whatever the number of workers: so the same search gives the same trials."""
SPAN = 8.0
"""A parameter is searched from what it is over this to what it is times this."""
FINALISTS = 5
SECOND_SEEDS, FRESH_SEEDS = 1_000_001, 2_000_001
"""First seeds of the second round and of the confirmation; the search begins at 1."""
UNSEARCHED = frozenset({"mean_packet", "max_packet", "mark_p", "mark_ecnth", "quantum", "memory_limit"})
"""Numbers that describe the packets, or matter only to marks; `--param` searches them too."""
RATIO = (1.2, 6.0)
"""`max_th` is searched as so many times `min_th`: then it is always above."""


class TuneError(EarlydropError):
    """What was asked for cannot be searched. The message says why."""


@dataclass(frozen=True)
class Parameter:
    """What is searched: a parameter and its range."""

    name: str
    low: float
    high: float
    log: bool
    whole: bool
    form: str = "{}"
    of: str | None = None
    """The parameter that this one is a multiple of, for the search."""

    def shown(self) -> str:
        """The range for people."""
        times = f" times {self.of}" if self.of else ""
        return f"{self.name}: {self.low:.4g} to {self.high:.4g}{times}{', in ratios' if self.log else ''}"


@dataclass(frozen=True)
class Objective:
    """A measure and which way is better."""

    measure: Quantity
    larger: bool

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """What Optuna calls it."""
        return "maximize" if self.larger else "minimize"

    def better(self, difference: Difference) -> bool:
        """Whether a difference is an improvement whose 95 % interval excludes zero."""
        return difference.clear and (difference.estimate.mean > 0) == self.larger


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and what they gave on average."""

    number: int
    values: dict[str, float]
    scores: tuple[float, ...]

    def document(self) -> dict[str, Any]:
        """Plain values."""
        return {"number": self.number, "parameters": self.values, "scores": list(self.scores)}


@dataclass
class Found:
    """What a search found."""

    scenario: str
    aqm: str
    queue: str
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    baseline: dict[str, Any]
    start: tuple[float, ...]
    """Scores of the baseline on the seeds of the search."""
    trials: list[Trial]
    refused: int
    seeds: int
    confirmed: int
    best: Trial | None = None
    same_run: bool = False
    """All fresh seeds gave the same run, so nothing is confirmed."""
    differences: list[Difference] = field(default_factory=list)
    """The best minus the baseline on fresh seeds, by objective."""

    @property
    def success(self) -> bool:
        """Whether the best is better in every objective, each with an interval that excludes zero."""
        return bool(self.differences) and all(
            o.better(d) for o, d in zip(self.objectives, self.differences, strict=True)
        )

    @property
    def note(self) -> str:
        """Why the differences have no intervals; empty where they have."""
        return statistics.same_run_note(self.confirmed) if self.same_run else ""

    @property
    def front(self) -> list[Trial]:
        """Trials that no other is better than in one objective without being worse in another."""
        return [t for t in self.trials if not any(_dominates(self.objectives, u.scores, t.scores) for u in self.trials)]

    def document(self, version: str) -> Document:
        """Everything as plain values."""
        return {
            "scenario": self.scenario,
            "version": version,
            "aqm": self.aqm,
            "queue": self.queue,
            "parameters": [vars(p) for p in self.parameters],
            "objectives": [{"measure": o.measure.id, "direction": o.direction} for o in self.objectives],
            "baseline": {"parameters": self.baseline, "scores": list(self.start)},
            "seeds": self.seeds,
            "fresh_seeds": self.confirmed,
            "trials": [t.document() for t in self.trials],
            "refused": self.refused,
            "front": [t.number for t in self.front],
            "best": None if self.best is None else self.best.document(),
            "differences": {
                o.measure.id: d.document() for o, d in zip(self.objectives, self.differences, strict=bool(self.best))
            },
            "better": self.success,
            "notes": [self.note] if self.note else [],
        }


# ---- what is searched ----------------------------------------------------------------------------------------------


@dataclass
class Problem:
    """A scenario with a discipline, and the parameters to search."""

    base: Document
    name: str
    aqm: str
    queue: str
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    baseline: dict[str, Any]

    def sets(self, values: Mapping[str, float]) -> dict[str, Any]:
        """Paths and values for a choice of parameters."""
        return {f"queue.{self.queue}.{p.name}": _formed(p, values[p.name]) for p in self.parameters}

    def fault(self, values: Mapping[str, float]) -> str | None:
        """Why the checker refuses a choice, if it does."""
        found = checker_error(self.base, [(path, toml_value(v)) for path, v in self.sets(values).items()])
        return None if found is None else one_line(found)


def _formed(parameter: Parameter, value: float) -> float | int | str:
    number: float | int = round(value) if parameter.whole else float(f"{value:.6g}")
    return number if parameter.form == "{}" else parameter.form.format(number)


def problem(
    path: Path,
    aqm: str,
    objectives: Sequence[str],
    parameters: Sequence[str] = (),
    sets: Sequence[tuple[str, str]] = (),
) -> Problem:
    """Read and check what is to be searched. `parameters` are `NAME=LOW..HIGH`; none means all that have a number.

    Raises:
        TuneError: an objective or a parameter is unknown, or a range is wrong.
        ScenarioError: the scenario is wrong.
    """
    import tomllib

    from . import _core
    from .analysis.compare import _queue

    name = _core.Scenario.load(str(path), list(sets)).name
    catalogue = {e["name"]: e for e in json.loads(_core.catalogue())}
    if aqm not in catalogue:
        raise TuneError(f'--aqm: there is no "{aqm}"; allowed: {", ".join(catalogue)}')
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        queue = _queue(path, document)
    except CompareError as error:
        raise TuneError(str(error)) from error
    base = overlay_toml(with_traces({**document, "name": NEUTRAL, "seed": 1}, path.parent), _toml(sets))
    own = (base.get("queue") or {}).get(queue, {})
    if own.get("aqm") != aqm:
        known = {p["name"] for p in catalogue[aqm]["parameters"]} | {"limit", "ecn", "random"}
        base.setdefault("queue", {})[queue] = {**{k: v for k, v in own.items() if k in known}, "aqm": aqm}
    checked = json.loads(_core.Scenario.parse(base, []).to_json())["queue"][queue]
    declared = {p["name"]: p for p in catalogue[aqm]["parameters"]}
    chosen = [_asked(text, declared, aqm) for text in parameters] or _default(declared, checked)
    if not chosen:
        raise TuneError(f"{aqm} has no parameter with a number to search")
    if not parameters:
        chosen = _linked(chosen)
    baseline = {p.name: checked.get(p.name) for p in chosen}
    return Problem(base, name, aqm, queue, tuple(chosen), tuple(_objectives(objectives, queue)), baseline)


def _toml(sets: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Settings of the command line, of which a bare word is a text."""
    import tomllib

    found = []
    for path, text in sets:
        try:
            tomllib.loads(f"v = {text}")
        except tomllib.TOMLDecodeError:
            text = toml_value(text)
        found.append((path, text))
    return found


def _objectives(asked: Sequence[str], queue: str) -> list[Objective]:
    known = {q.id: replace(q, field=q.field.replace("{queue}", queue)) for q in QUANTITIES}
    found: list[Objective] = []
    for text in asked:
        name, _, way = text.partition(":")
        name = ALIASES.get(name, name)
        if name not in known or way not in ("", "min", "max"):
            words = ", ".join([*known, "fairness"])
            raise TuneError(f"--objective {text}: allowed are {words}, with :min or :max behind to turn one round")
        if any(o.measure.id == name for o in found):
            raise TuneError(f"--objective {text}: is there twice")
        found.append(Objective(known[name], name in LARGER if not way else way == "max"))
    return found


_BOUNDS = re.compile(r"[\[(]([0-9.e+-]+), (inf|[0-9.e+-]+)[\])]|whole number ([0-9]+)\.\.([0-9]+)")


def _bounds(declared: Document) -> tuple[float, float]:
    found = _BOUNDS.search(str(declared["range"]))
    if not found:
        return -math.inf, math.inf
    low, high = (found[1], found[2]) if found[1] else (found[3], found[4])
    return float(low), float(high)


def _default(declared: Mapping[str, Document], checked: Document) -> list[Parameter]:
    """Every parameter that is a number above zero, from an eighth of what it is to eight times it."""
    found: list[Parameter] = []
    for name, p in declared.items():
        value = checked.get(name)
        number = _number(value)
        if p["kind"] not in ("real", "whole") or name in UNSEARCHED or p["unit"] == "B" or not number:
            continue
        low, high = _bounds(p)
        low, high = max(number / SPAN, low), min(number * SPAN, high)
        if p["kind"] == "whole":
            low, high = max(1.0, round(low)), round(high)
        if low < high:
            found.append(Parameter(name, low, high, True, p["kind"] == "whole", _form(p)))
    return found


def _number(value: Any) -> float | None:
    """The number of a value of a checked scenario, without its unit."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value) if isinstance(value, (int, float)) else float(str(value).split(" ")[0])
    except ValueError:
        return None


def _form(declared: Document) -> str:
    return "{} s" if declared["unit"] == "s" else "{}"


def _asked(text: str, declared: Mapping[str, Document], aqm: str) -> Parameter:
    name, _, span = text.partition("=")
    if name not in declared:
        raise TuneError(f"--param {text}: {aqm} has no parameter {name}; it has {', '.join(declared)}")
    p = declared[name]
    low_text, dots, high_text = span.partition("..")
    try:
        low, high = float(low_text), float(high_text)
    except ValueError:
        low, high = 1.0, 0.0
    if p["kind"] not in ("real", "whole") or not dots or not low < high:
        raise TuneError(f"--param {text}: allowed NAME=LOW..HIGH with numbers, LOW below HIGH, as max_p=0.01..0.5")
    bottom, top = _bounds(p)
    if low < bottom or high > top:
        raise TuneError(f"--param {text}: is out of range; allowed {p['range']}")
    return Parameter(name, low, high, low > 0 and high / low >= 10, p["kind"] == "whole", _form(p))


def _linked(parameters: list[Parameter]) -> list[Parameter]:
    """`max_th` as a multiple of `min_th`, where both are searched."""
    if not {"min_th", "max_th"} <= {p.name for p in parameters}:
        return parameters
    return [
        replace(p, low=RATIO[0], high=RATIO[1], log=False, of="min_th") if p.name == "max_th" else p for p in parameters
    ]


def _resolved(parameters: Sequence[Parameter], values: Mapping[str, float]) -> dict[str, float]:
    """The values themselves: multiples multiplied out, whole numbers whole."""
    found = dict(values)
    for p in parameters:
        if p.of is not None:
            found[p.name] = values[p.name] * values[p.of]
    return {p.name: float(round(found[p.name]) if p.whole else f"{found[p.name]:.6g}") for p in parameters}


# ---- running -------------------------------------------------------------------------------------------------------


class Runs:
    """Runs choices of parameters over seeds, through the store."""

    def __init__(self, problem: Problem, store: Store, executor: Callable[[Document], Executor]) -> None:
        self.problem, self.store = problem, store
        self._make = executor
        self._executor: Executor | None = None
        self.failed = 0
        self.same_run = False
        """Of the last choices, every one gave the same run with all seeds."""

    def close(self) -> None:
        """Stop the executor."""
        if self._executor is not None:
            self._executor.close()

    def __call__(
        self, choices: Sequence[Mapping[str, float] | None], seeds: int, first: int
    ) -> list[list[list[float]]]:
        """By choice (None is the baseline) and objective: one value a seed; no values where a run failed."""
        levels = [
            {"name": f"c{k}", "set": {} if choice is None else self.problem.sets(choice)}
            for k, choice in enumerate(choices)
        ]
        measures = [o.measure.id for o in self.problem.objectives]
        document = {
            "scenario": self.problem.base,
            "seeds": seeds,
            "first_seed": first,
            "queue": self.problem.queue,
            "measures": measures,
            "factor": [{"name": "choice", "levels": levels}],
        }
        sweep = parse_document(document, Path("tune"))
        if self._executor is None:
            self._executor = self._make(sweep.document)
        outcome: Outcome = run(planned(sweep), self.store, self._executor, tell=self._tell)
        self.failed += outcome.tally.failed
        self.same_run = len(outcome.fixed) == len(choices)
        return [[s if len(s := outcome.series(m, k)) == seeds else [] for m in measures] for k in range(len(choices))]

    def _tell(self, tally: Tally) -> None:
        """Progress is told by trial."""


def tune(
    asked: Problem,
    runs: Runs,
    *,
    trials: int = 100,
    seeds: int = 5,
    confirm: int = 20,
    seed: int = 1,
    told: Told = lambda done, total, what: None,
) -> Found:
    """Search, then confirm the best on `confirm` fresh seeds.

    Raises:
        TuneError: Optuna is not installed, or the baseline's runs fail.
    """
    try:
        import optuna
    except ImportError as error:
        raise TuneError("tune needs Optuna: pip install 'earlydrop[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=20)
        search = optuna.create_study(directions=[o.direction for o in asked.objectives], sampler=sampler)
        (base,) = runs([None], seeds, 1)
        if not all(base):
            raise TuneError(f"the runs of {asked.aqm} with the scenario's own parameters fail")
        start = tuple(statistics.mean(values) for values in base)
        found = Found(
            asked.name,
            asked.aqm,
            asked.queue,
            asked.parameters,
            asked.objectives,
            asked.baseline,
            start,
            [],
            0,
            seeds,
            confirm,
        )
        while len(found.trials) + found.refused < trials:
            count = min(ROUND, trials - len(found.trials) - found.refused)
            proposed = [search.ask() for _ in range(count)]
            choices = [_resolved(asked.parameters, _proposal(trial, asked.parameters)) for trial in proposed]
            good = [k for k, choice in enumerate(choices) if asked.fault(choice) is None]
            values = runs([choices[k] for k in good], seeds, 1) if good else []
            by_trial = dict(zip(good, values, strict=True))
            for k, trial in enumerate(proposed):
                series = by_trial.get(k)
                if series is None or not all(series):
                    search.tell(trial, state=optuna.trial.TrialState.FAIL)
                    found.refused += 1
                    continue
                scores = tuple(statistics.mean(v) for v in series)
                search.tell(trial, list(scores))
                found.trials.append(Trial(len(found.trials), choices[k], scores))
            told(len(found.trials) + found.refused, trials, f"tuning {asked.aqm}")
    _confirm(asked, runs, found, seeds, confirm)
    return found


def _proposal(trial: Any, parameters: Sequence[Parameter]) -> dict[str, float]:
    return {
        p.name: float(
            trial.suggest_int(p.name, int(p.low), int(p.high), log=p.log)
            if p.whole and p.of is None
            else trial.suggest_float(p.name, p.low, p.high, log=p.log)
        )
        for p in parameters
    }


def _confirm(asked: Problem, runs: Runs, found: Found, seeds: int, confirm: int) -> None:
    """Run the most promising trials on new seeds, and the best of them on fresh ones: what was only lucky is out.

    The fresh seeds are looked at once, for one choice, so that their intervals are what they say.
    """
    promising = sorted(found.trials, key=lambda t: _gain(asked, t.scores, found.start), reverse=True)[:FINALISTS]
    if not promising:
        return
    base, *others = runs([None, *(t.values for t in promising)], 2 * seeds, SECOND_SEEDS)
    start = tuple(statistics.mean(v) for v in base)
    scores = [tuple(statistics.mean(v) for v in series) if all(series) else start for series in others]
    gains = [_gain(asked, s, start) for s in scores]
    best = promising[gains.index(max(gains))]
    control, treatment = runs([None, best.values], confirm, FRESH_SEEDS)
    found.best, found.same_run = best, runs.same_run
    found.differences = [
        statistics.paired(a, b, same_run=runs.same_run) for a, b in zip(treatment, control, strict=True)
    ]


def _gain(asked: Problem, scores: Sequence[float], start: Sequence[float]) -> float:
    """The least relative improvement over the objectives: positive if all improve."""
    return min(
        (s - b if o.larger else b - s) / (abs(b) or 1.0)
        for o, s, b in zip(asked.objectives, scores, start, strict=True)
    )


def _dominates(objectives: Sequence[Objective], a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether a is nowhere worse than b, and somewhere better."""
    gains = [(x - y) if o.larger else (y - x) for o, x, y in zip(objectives, a, b, strict=True)]
    return all(g >= 0 for g in gains) and any(g > 0 for g in gains)


# ---- sensitivity ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """How much a parameter matters to an objective.

    Morris: `total` is mu*, the mean absolute elementary effect over the range, in the measure's unit; `alone` is mu,
    the mean with its sign; `spread` is sigma, which tells of curves and interactions. Sobol: `total` and `alone` are
    the total and first-order index, shares of the variance; `spread` is the half-width of the total's 95 % interval.
    """

    parameter: str
    objective: str
    total: float
    alone: float
    spread: float


def sensitivity(asked: Problem, runs: Runs, method: Method, size: int, seeds: int = 3) -> tuple[list[Effect], int]:
    """Effects of every parameter on every objective, and the number of choices that were run.

    `size` is the number of trajectories (Morris) or the base sample, best a power of two (Sobol). Logarithmic ranges
    are varied in ratios.

    Raises:
        TuneError: SALib is not installed, or the checker refuses part of the ranges.
    """
    try:
        from SALib.analyze import morris as analyse_morris
        from SALib.analyze import sobol as analyse_sobol
        from SALib.sample import morris as sample_morris
        from SALib.sample import sobol as sample_sobol
    except ImportError as error:
        raise TuneError("--sensitivity needs SALib: pip install 'earlydrop[tune]'") from error
    import numpy as np

    ps = asked.parameters
    ends = [(math.log(p.low), math.log(p.high)) if p.log else (p.low, p.high) for p in ps]
    space = {"num_vars": len(ps), "names": [p.name for p in ps], "bounds": [list(e) for e in ends]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "morris":
            sample = sample_morris.sample(space, size, num_levels=4, seed=1)
        else:
            sample = sample_sobol.sample(space, size, calc_second_order=False, seed=1)
    choices = []
    for row in sample.tolist():
        values = {p.name: math.exp(x) if p.log else x for p, x in zip(ps, row, strict=True)}
        choice = _resolved(ps, values)
        why = asked.fault(choice)
        if why is not None:
            raise TuneError(f"the ranges hold what the checker refuses ({why}); give narrower ones with --param")
        choices.append(choice)
    gave = runs(choices, seeds, 1)
    found = []
    for k, objective in enumerate(asked.objectives):
        if not all(series[k] for series in gave):
            raise TuneError("some runs failed; sensitivity needs all of them")
        y = np.array([statistics.mean(series[k]) for series in gave])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == "morris":
                got = analyse_morris.analyze(space, sample, y, num_levels=4, seed=1)
                columns = (got["mu_star"], got["mu"], got["sigma"])
            else:
                got = analyse_sobol.analyze(space, y, calc_second_order=False, seed=1)
                columns = (got["ST"], got["S1"], got["ST_conf"])
        found += [
            Effect(p.name, objective.measure.id, float(a), float(b), float(c))
            for p, a, b, c in zip(ps, *columns, strict=True)
        ]
    return found, len(choices)


# ---- text ----------------------------------------------------------------------------------------------------------


def found_text(found: Found) -> str:
    """Everything `tune` prints."""
    from .terminal import number, paragraph, table, with_sign

    head = ["", *(p.name for p in found.parameters), *(o.measure.label for o in found.objectives)]
    base = [str(found.baseline[p.name]) for p in found.parameters]
    rows = [
        [
            "scenario's own",
            *base,
            *(number(s, o.measure.digits) for o, s in zip(found.objectives, found.start, strict=True)),
        ]
    ]
    first = found.objectives[0]
    for t in sorted(found.front, key=lambda t: t.scores[0], reverse=first.larger)[:20]:
        scores = [number(s, o.measure.digits) for o, s in zip(found.objectives, t.scores, strict=True)]
        rows.append([f"trial {t.number}", *(f"{t.values[p.name]:.4g}" for p in found.parameters), *scores])
    lines = [
        f"{found.scenario}: {found.aqm} at queue {found.queue}, {len(found.trials)} trials of {found.seeds} seeds each"
        + (f", {found.refused} refused" if found.refused else ""),
        "",
        *(f"  {p.shown()}" for p in found.parameters),
        "",
        f"The {len(found.front)} trials that no other beats in everything (mean over {found.seeds} seeds):",
        "",
        table(head, rows, left=1),
    ]
    if found.best is None:
        return "\n".join([*lines, "", "No trial could be run."])
    rows = []
    for o, d in zip(found.objectives, found.differences, strict=True):
        m = o.measure
        judged = "better" if o.better(d) else "worse" if d.clear else "no clear difference"
        shown = [m.label, number(d.control, m.digits), with_sign(d.estimate, m.digits)]
        rows.append([*shown, "" if found.same_run else judged])
    lines += [
        "",
        f"Trial {found.best.number} against the scenario's own parameters on {found.confirmed} fresh seeds:",
        "",
        table(["", "own", "difference", ""], rows, left=1),
        "",
    ]
    if found.note:
        lines += [paragraph(f"note: {found.note}"), ""]
    if found.success:
        values = "\n".join(
            f"    {p.name} = {toml_value(_formed(p, found.best.values[p.name]))}" for p in found.parameters
        )
        return "\n".join(
            [*lines, "It is better in all of them. In the scenario:", "", f"    [queue.{found.queue}]", values]
        )
    last = "Nothing is confirmed." if found.same_run else "None was found that is better in all objectives."
    return "\n".join([*lines, last])


def effects_text(effects: Sequence[Effect], method: Method, count: int) -> str:
    """The table of a sensitivity analysis."""
    from .terminal import table

    names = ("mu*", "mu", "sigma") if method == "morris" else ("total", "first order", "± of total")
    rows = [
        [e.objective, e.parameter, f"{e.total:.4g}", f"{e.alone:.4g}", f"{e.spread:.4g}"]
        for e in sorted(effects, key=lambda e: (e.objective, -e.total))
    ]
    title = "Morris' elementary effects" if method == "morris" else "Sobol's indices"
    return f"{title}, {count:,} choices\n\n" + table(["objective", "parameter", *names], rows, left=2)
