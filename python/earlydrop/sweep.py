"""`earlydrop.sweep`: the public names of sweeps, and a function: `ed.sweep(net, factors)` runs one.

The code is in `earlydrop.sweeps` and `earlydrop.api_sweep`.
"""

import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import api_sweep
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
from .sweeps.shown import Swept

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
    "Swept",
    "Tally",
    "Threads",
    "from_document",
    "open_store",
    "plan",
    "read",
    "run",
    "sweep",
]


class SweepModule(ModuleType):
    """This module, which can be called."""

    __call__ = staticmethod(api_sweep.sweep)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


sys.modules[__name__].__class__ = SweepModule
# Otherwise the first argument would be taken for `self`.
__signature__ = inspect.signature(api_sweep.sweep)
