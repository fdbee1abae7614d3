"""Exit codes."""

from ..errors import FAILED, WRONG_INPUT

__all__ = [
    "DONE",
    "FAILED",
    "INTERNAL",
    "INTERRUPTED",
    "LINK_FAILED",
    "NOT_FOUND",
    "NOT_RUNNABLE",
    "SIGNALLED",
    "WRONG_INPUT",
]

DONE, INTERNAL, INTERRUPTED = 0, 3, 130
SIGNALLED = 128
"""Plus the number of the signal that ended a command: 129 for HUP, 130 for INT, 131 for QUIT, 143 for TERM."""
# Of `link`, as of `env`: itself failed, the command cannot be run, the command is not found.
LINK_FAILED, NOT_RUNNABLE, NOT_FOUND = 125, 126, 127
