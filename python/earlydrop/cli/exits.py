"""Exit codes."""

from ..errors import FAILED, WRONG_INPUT

__all__ = ["DONE", "FAILED", "INTERNAL", "INTERRUPTED", "LINK_FAILED", "NOT_FOUND", "NOT_RUNNABLE", "WRONG_INPUT"]

DONE, INTERNAL, INTERRUPTED = 0, 3, 130
# Of `link`, as of `env`: itself failed, the command cannot be run, the command is not found.
LINK_FAILED, NOT_RUNNABLE, NOT_FOUND = 125, 126, 127
