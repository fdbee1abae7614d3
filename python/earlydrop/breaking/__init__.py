"""Searches scenarios in which a queue discipline fails, and makes them small (`earlydrop break`, `ed.break_`).

A space is a scenario whose values may be ranges; Optuna proposes points of it, a sweep's batches run them, and what
seems worst is confirmed on seeds that the search has not used.
"""

from .attacks import Found, attack, problem
from .objectives import KINDS, Objective, ObjectiveError, objective
from .search import BreakError, Candidate, Finding, Held, Problem, Runs, Side, Tried, shrunk
from .space import Space, SpaceError, read, space

__all__ = [
    "KINDS",
    "BreakError",
    "Candidate",
    "Finding",
    "Found",
    "Held",
    "Objective",
    "ObjectiveError",
    "Problem",
    "Runs",
    "Side",
    "Space",
    "SpaceError",
    "Tried",
    "attack",
    "objective",
    "problem",
    "read",
    "shrunk",
    "space",
]
