"""Sweeps: many points of one scenario, on all cores or a cluster, with a store that keeps every run.

`parse_file` reads a sweep's file, `plan` checks its points, `run` makes the runs that the store lacks.
"""

from ..store import open_store
from .execute import Estimate, Failure, Stop, Tally
from .executors import Cluster, Executor, Threads
from .model import Sweep, SweepError
from .outcome import Outcome
from .parser import parse_document, parse_file
from .plan import Plan, plan
from .plot_spec import check_plots
from .running import run, sweep
from .windows import judge_warmups, scenario

__all__ = [
    "Cluster",
    "Estimate",
    "Executor",
    "Failure",
    "Outcome",
    "Plan",
    "Stop",
    "Sweep",
    "SweepError",
    "Tally",
    "Threads",
    "check_plots",
    "judge_warmups",
    "open_store",
    "parse_document",
    "parse_file",
    "plan",
    "run",
    "scenario",
    "sweep",
]
