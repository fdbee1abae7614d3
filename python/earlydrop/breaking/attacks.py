"""A whole attack: search, confirmation, shrinking, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import discipline_names
from ..analysis.entries import entries
from ..analysis.paired import compared_queues, measured_queue
from ..document import Document
from ..runner import Progress, no_progress
from .objectives import Objective
from .search import (
    BEST,
    FRESH,
    BreakError,
    Candidate,
    Finding,
    Held,
    How,
    Problem,
    Runs,
    Side,
    Tried,
    bound,
    confirmed,
    search,
    shrunk,
)
from .space import Space, SpaceError, read

SHIPPED = ("home", "mobile")
"""Spaces that come with earlydrop, by name."""


@dataclass
class Found:
    """What an attack found."""

    problem: Problem
    ledger: list[Tried]
    budget: int
    seed: int
    how: How
    runs: int = 0
    """Runs that were asked for, of search, confirmation and shrinking."""
    candidates: list[Candidate] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def above(self) -> int:
        """Scenarios of the search with a regret above delta."""
        delta = self.problem.delta
        return sum(one.score is not None and one.score > delta for one in self.ledger)

    @property
    def refused(self) -> int:
        """Scenarios of the search that could not be run, or had no value."""
        return sum(one.score is None for one in self.ledger)

    @property
    def bound(self) -> float | None:
        """The largest share of the space that may do what none of its random scenarios did (95 %)."""
        tried = len(self.ledger) - self.refused
        return bound(tried) if self.how == "random" and not self.above and tried else None

    def scenario(self, finding: Finding) -> Document:
        """A finding's scenario, with the attacked discipline."""
        laid = self.problem.attacked.laid(finding.scenario, self.problem.queue, self.problem.known)
        return {**laid, "name": f"{self.problem.space.name}, {1 + self.findings.index(finding)}"}

    def rival(self, finding: Finding) -> str:
        """What a finding's rival is called."""
        return "" if finding.rival is None else self.problem.rivals[finding.rival].title

    def sentence(self, finding: Finding) -> str:
        """What a finding says."""
        from .written import sentence

        return sentence(self, finding)

    def document(self, version: str) -> Document:
        """Everything as plain values."""
        problem = self.problem
        return {
            "space": problem.space.name,
            "version": version,
            "attacked": problem.attacked.title,
            "against": [one.title for one in problem.rivals],
            "objective": problem.objective.name,
            "delta": problem.delta,
            "search": self.how,
            "seed": self.seed,
            "runs": self.runs,
            "scenarios": len(self.ledger),
            "refused": self.refused,
            "above": self.above,
            "bound": self.bound,
            "candidates": [
                {"number": one.tried.number, "score": one.tried.score, "reason": one.reason, **_held(one.held)}
                for one in self.candidates
            ],
            "findings": [
                {
                    "number": one.tried.number,
                    "against": self.rival(one),
                    "scenario": self.scenario(one),
                    "found": _held(one.found),
                    "small": _held(one.held),
                    "longer": _held(one.longer),
                }
                for one in self.findings
            ],
        }


def _held(held: Held) -> Document:
    return {"median_regret": held.median, "above": held.above, "seeds": FRESH}


def problem(
    source: Path,
    aqm: str | None,
    against: Sequence[str],
    objective: Objective,
    *,
    tcp: str | None = None,
) -> Problem:
    """What is to be attacked: a discipline, or with `tcp` a congestion control as `bbr stack=linux-6.18`.

    Raises:
        BreakError: neither or both are given, or a congestion control has another form.
        SpaceError: the space is wrong.
        ObjectiveError: the space has not what the objective needs.
        CompareError: there is no such discipline.
    """
    return posed(read(shipped(source)), source, aqm, against, objective, tcp=tcp)


def posed(
    found: Space,
    source: Path,
    aqm: str | None,
    against: Sequence[str],
    objective: Objective,
    *,
    tcp: str | None = None,
) -> Problem:
    """The same of a space that is read; messages and files of disciplines are those of `source`."""
    import earlydrop._core as _core

    if (aqm is None) == (tcp is None):
        raise BreakError("--aqm, --tcp: given both or none; allowed one of them, which says what is attacked")
    if aqm is not None:
        discipline_names.load_sources([aqm, *against])
        attacked, *rivals = _disciplines(aqm, against, str(source.parent))
    else:
        assert tcp is not None
        attacked, *rivals = (_control(text) for text in (tcp, *against))
    if any(one == attacked for one in rivals):
        raise BreakError(f"--against {attacked.title}: is what is attacked; allowed another one")
    objective.needs(found.always)
    known = discipline_names.catalogue()
    try:
        middle = {**found.document([0.5] * len(found.draws)), "seed": 1}
        checked = _core.Scenario.parse(middle, [])
    except _core.ScenarioError as error:
        raise SpaceError(f"{source}: in the middle of its ranges: {error}") from error
    keys, _, _ = compared_queues(str(source), checked, middle, [], None)
    port = measured_queue(checked, keys[0])
    made = Problem(found, attacked, tuple(rivals), objective, keys[0], port, known)
    for side in made.sides:
        try:
            laid = _core.Scenario.parse(side.laid(middle, keys[0], known), [])
        except _core.ScenarioError as error:
            raise BreakError(f"{source} with {side.title}: {error}") from error
        if not rivals:
            objective.bar(json.loads(laid.to_json()), keys[0])
    return made


def shipped(source: Path) -> Path:
    """The file of a space: of that name, or one that comes with earlydrop."""
    own = Path(__file__).parent / "spaces" / f"{source}.toml"
    return own if str(source) in SHIPPED and not source.exists() else source


def _disciplines(aqm: str, against: Sequence[str], folder: str) -> list[Side]:
    attacked = entries([aqm], "--aqm", folder)
    if len(attacked) != 1:
        raise BreakError(f"--aqm {aqm}: given {len(attacked)} disciplines; allowed one")
    rivals = entries(list(against), "--against", folder) if against else ()
    return [Side(one.title if one.label or not one.given else one.text, entry=one) for one in (*attacked, *rivals)]


TCP_KEYS = ("stack", "ecn")


def _control(text: str) -> Side:
    name, *settings = text.split()
    keys: dict[str, Any] = {"tcp": name}
    for one in settings:
        key, equals, value = one.partition("=")
        if key not in TCP_KEYS or not equals:
            raise BreakError(f'--tcp, --against: given "{text}"; allowed NAME, as bbr, with {", ".join(TCP_KEYS)}=')
        keys[key] = value == "true" if key == "ecn" else value
    return Side(text, tcp=keys)


def attack(
    asked: Problem,
    runs: Runs,
    *,
    budget: int = 20_000,
    seed: int = 1,
    how: How = "random",
    most: int = BEST,
    progress: Progress = no_progress,
) -> Found:
    """Search with `budget` runs, then confirm the best and make them small, until there are `most` findings.

    The same seed gives the same findings for any number of workers.

    Raises:
        BreakError: Optuna is not installed, or no scenario of the space can be run.
    """
    found = Found(asked, search(asked, runs, budget, seed, how, progress), budget, seed, how)
    found.candidates = confirmed(asked, runs, found.ledger, progress)
    seen: dict[tuple[Any, ...], Finding] = {}
    for one in found.candidates:
        if one.reason or len(seen) >= most:
            continue
        small = shrunk(asked, runs, one, progress)
        if small is None:
            continue
        alike = small.alike(asked.space)
        if alike not in seen or seen[alike].held.median < small.held.median:
            seen[alike] = small
    found.findings = sorted(seen.values(), key=lambda one: -one.held.median)
    found.runs = runs.made
    return found
