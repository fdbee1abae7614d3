"""Exit codes."""

DONE, FAILED, WRONG_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130
# Of `link`, as of `env`: itself failed, the command cannot be run, the command is not found.
LINK_FAILED, NOT_RUNNABLE, NOT_FOUND = 125, 126, 127
