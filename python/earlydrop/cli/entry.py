"""The commands by name, and what runs one of them."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import App, Parameter

from .exits import DONE, INTERRUPTED, LINK_FAILED
from .failures import failed
from .helping import FIRST, examples, shown_default, unfolded
from .printing import version

app = App(
    name="earlydrop",
    help="A laboratory for active queue management: simulate, compare, reproduce papers.",
    version=version,
    help_format="plaintext",
    version_format="plaintext",
    help_epilogue=FIRST,
    default_parameter=Parameter(show_default=shown_default),
)
# A command's name, and the function behind it where that has another one.
COMMANDS = {
    "list": "list_",
    "init": "init",
    "check": "check",
    "new-aqm": "new_aqm",
    "test-aqm": "conformance",
    "show": "show",
    "play": "play",
    "run": "run",
    "compare": "compare",
    "sweep": "sweep",
    "tune": "tune",
    "diff": "diff",
    "trace": "trace",
    "completion": "completion",
    "advise": "advise",
    "report": "report_",
    "store": "stores",
    "reproduce": "reproduce",
    "validate": "validate",
    "vectors": "vectors",
    "bench": "bench",
    "link": "link",
    "crosscheck": "crosscheck",
}
for _name, _function in COMMANDS.items():
    _module = f"{__package__}.{_name.replace('-', '_')}"
    # `store` is an application with commands of its own.
    _below = {} if _name == "store" else {"help_epilogue": examples(_name)}
    app.command(f"{_module}:{_function}", name=_name, **_below)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if argv is None:
        signal.signal(signal.SIGTERM, _terminated)
        _quiet_again(tokens[:1] == ["link"])
    code = _guarded(tokens)
    if argv is None and code == INTERRUPTED:
        # Threads may still be inside a run that cannot be stopped; do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _quiet_again(waits: bool) -> None:
    """Ctrl-C interrupts once. Another one is not heard while the command ends; after a second it ends it at once.

    `waits`: a real link is taken down whatever comes.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # Whoever started it may have made it deaf.
        return
    first: list[float] = []

    def interrupted(number: int, frame: object) -> None:
        if not first:
            first.append(time.monotonic())
            raise KeyboardInterrupt
        if time.monotonic() - first[0] > 1 and not waits:
            os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, interrupted)


def _terminated(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _guarded(tokens: list[str]) -> int:
    # What follows -- are the words of another command.
    own = tokens[: tokens.index("--")] if "--" in tokens else tokens
    wants_json = "--json" in own
    try:
        code = _dispatch(tokens)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        print(str(stop) or "interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # the one place where everything ends
        return failed(error, wants_json, LINK_FAILED if tokens[:1] == ["link"] else None)


def _dispatch(tokens: list[str]) -> int:
    if not tokens or tokens[0] not in {*COMMANDS, "--version"}:
        # Help has what each command says of itself.
        for name in COMMANDS:
            app[name]
    elif {"--help", "-h"} & set(tokens) and (function := app[tokens[0]].default_command) is not None:
        function.__doc__ = unfolded(function.__doc__)
    command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    with contextlib.ExitStack() as stack:
        if bound.arguments.get("trust"):
            from ..policies import registry

            stack.enter_context(registry.trusting())
        result = command(*bound.args, **bound.kwargs)
    return result if isinstance(result, int) else DONE
