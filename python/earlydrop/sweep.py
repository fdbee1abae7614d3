"""`earlydrop.sweep`: the public names of sweeps. The code is in `earlydrop.sweeps`."""

from .sweeps import (
    Cluster,
    Estimate,
    Executor,
    Failure,
    Outcome,
    Plan,
    Stop,
    Sweep,
    SweepError,
    Tally,
    Threads,
    open_store,
    plan,
    run,
    sweep,
)
from .sweeps import parse_document as from_document
from .sweeps import parse_file as read

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
    "from_document",
    "open_store",
    "plan",
    "read",
    "run",
    "sweep",
]
