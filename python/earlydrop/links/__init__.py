"""Real links: the queues of a scenario, or of options, between real network namespaces.

`Plan` says what to emulate, `Running` is a link at work, `Link` is what `earlydrop.link(...)` gives: a link as a
scenario has it, and a context manager that makes it real. Linux only; a link needs the capabilities CAP_NET_ADMIN and
CAP_SYS_ADMIN.
"""

from .control import Control
from .planning import (
    MTU,
    SERIES,
    UNLIMITED,
    LinkError,
    OptionError,
    Plan,
    Spec,
    Way,
    from_scenario,
    plan,
    queue_settings,
    seconds,
)
from .records import FATES, MOST_RECORDED, Replay, log, replay, write_capture, write_log
from .resolver import Names, names
from .running import DRAIN, RING, Command, Link, Running, User, require_linux, signals, supervise

__all__ = [
    "DRAIN",
    "FATES",
    "MOST_RECORDED",
    "MTU",
    "RING",
    "SERIES",
    "UNLIMITED",
    "Command",
    "Control",
    "Link",
    "LinkError",
    "Names",
    "OptionError",
    "Plan",
    "Replay",
    "Running",
    "Spec",
    "User",
    "Way",
    "from_scenario",
    "log",
    "names",
    "plan",
    "queue_settings",
    "replay",
    "require_linux",
    "seconds",
    "signals",
    "supervise",
    "write_capture",
    "write_log",
]
