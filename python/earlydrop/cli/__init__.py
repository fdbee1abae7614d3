"""The command line. Each command reads, runs and prints; the work is done in the modules beside this package.

A command has a file of its name, which is loaded when the command is given.

Exit codes: 0 done (a contradicted claim is a finding, not a failure), 1 a run or an agreement check failed, 2 the
input is wrong, 3 an internal error, 128 and the number of the signal that ended it (130: Ctrl-C). `link` returns its
command's code instead, and as `env` does 125 if it fails itself, 126 if the command cannot be run, 127 if it is not
found.
"""

import sys

from .exits import DONE, FAILED, INTERNAL, INTERRUPTED, LINK_FAILED, NOT_FOUND, NOT_RUNNABLE, WRONG_INPUT

try:
    from .entry import main
except KeyboardInterrupt:
    # Ctrl-C came while the modules load; `main` handles later ones.
    print("interrupted: nothing was written", file=sys.stderr)
    raise SystemExit(INTERRUPTED) from None

__all__ = [
    "DONE",
    "FAILED",
    "INTERNAL",
    "INTERRUPTED",
    "LINK_FAILED",
    "NOT_FOUND",
    "NOT_RUNNABLE",
    "WRONG_INPUT",
    "main",
]
