"""Search for parameters of a discipline, and which of them matter.

Optuna proposes parameters, a sweep runs them over some seeds, and the best is compared with the scenario's own
parameters on seeds that the search has not used. SALib calculates the sensitivity over the same ranges.
"""

from .parameter_effects import Effect, Method, sensitivity
from .search import FRESH_SEEDS, SECOND_SEEDS, Found, Runs, Trial, tune
from .search_space import Objective, Parameter, Problem, TuneError, problem
from .text import effects_text, found_text

__all__ = [
    "FRESH_SEEDS",
    "SECOND_SEEDS",
    "Effect",
    "Found",
    "Method",
    "Objective",
    "Parameter",
    "Problem",
    "Runs",
    "Trial",
    "TuneError",
    "effects_text",
    "found_text",
    "problem",
    "sensitivity",
    "tune",
]
