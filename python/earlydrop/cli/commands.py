"""The commands by name, and what reads their command lines."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any, get_args

from cyclopts import (
    App,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
    convert,
)

from ..controls import raw
from .exits import DONE
from .failures import InputError
from .helping import EXAMPLES, FIRST, examples, shown_default, unfolded
from .printing import version


def exactly(kind: Any, tokens: Sequence[Token]) -> Any:
    """The value of an argument. cyclopts rounds 1.5 where a whole number is wanted."""
    if kind is int or int in get_args(kind):
        for token in tokens:
            if not token.value.strip().removeprefix("-").isdecimal():
                raise ValueError(f"given {token.value!r}; allowed a whole number")
    return convert(kind, tokens)


app = App(
    name="earlydrop",
    help="A laboratory for active queue management: simulate, compare, reproduce papers.",
    version=version,
    help_format="plaintext",
    version_format="plaintext",
    help_epilogue=FIRST,
    default_parameter=Parameter(show_default=shown_default, converter=exactly),
)
# A command's name, and the function behind it where the function has another name.
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
    "break": "break_",
    "diff": "diff",
    "trace": "trace",
    "completion": "completion",
    "advise": "advise",
    "report": "report_",
    "pack": "pack",
    "store": "stores",
    "reproduce": "reproduce",
    "conform": "conform",
    "validate": "validate",
    "vectors": "vectors",
    "bench": "bench",
    "link": "link",
    "link-model": "link_models",
    "replay": "replay",
    "crosscheck": "crosscheck",
}
for _name, _function in COMMANDS.items():
    _module = f"{__package__}.{'break_' if _name == 'break' else _name.replace('-', '_')}"
    # These are applications with commands of their own.
    _below = {} if _name in ("store", "link-model") else {"help_epilogue": examples(_name)}
    app.command(f"{_module}:{_function}", name=_name, **_below)

LISTED = {"reproduce": "studies", "show": "aqms", "vectors": "aqms"}
"""Kinds of `earlydrop list` that name what a command's first word may be."""


def run(tokens: Sequence[str]) -> int:
    """Read a command line, run its command and return the exit code.

    Raises:
        InputError: the command line is wrong.
    """
    helps = bool({"--help", "-h"} & set(tokens))
    if not tokens or tokens[0] not in {*COMMANDS, "--version"}:
        # The help of each command is its own text.
        for name in COMMANDS:
            app[name]
        helps = True
    elif helps and (function := app[tokens[0]].default_command) is not None:
        function.__doc__ = unfolded(function.__doc__)
    try:
        command, bound, _ = app.parse_args(
            tokens, exit_on_error=False, print_error=False, console=_console() if helps else None
        )
    except CycloptsError as error:
        raise InputError(_said(error)) from error
    with contextlib.ExitStack() as stack:
        if bound.arguments.get("trust"):
            from ..own_aqms import registry

            stack.enter_context(registry.trusting())
        result = command(*bound.args, **bound.kwargs)
    return result if isinstance(result, int) else DONE


def _console() -> Any:
    """The console that help is printed to: it has colours of its own, and nothing from files."""
    from rich.console import Console

    return Console(file=raw(sys.stdout))


def _said(error: CycloptsError) -> str:
    """The answer to a wrong command line."""
    command = error.command_chain[0] if error.command_chain else ""
    argument = error.argument
    missing = isinstance(error, MissingArgumentError) and error.keyword is None
    if missing and command in EXAMPLES and argument is not None and not argument.tokens:
        names = f" (`earlydrop list {LISTED[command]}` names all)" if command in LISTED else ""
        return f"{argument.name}: is missing; as in: {EXAMPLES[command][0]}{names}"
    if isinstance(error, UnknownOptionError) and command:
        option = (error.token.keyword or error.token.value).partition("=")[0]
        having = _having(option)
        if having:
            why = "makes one run and " if (command, option) == ("run", "--seeds") else ""
            return f"{option}: {command} {why}has no such option; {', '.join(having)} {'have' if having[1:] else 'has'}"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        like = f", as in: {EXAMPLES[command][0]}" if command in EXAMPLES else ""
        return f"{error.unused_tokens[0]}: is one argument too many for {command}{like}"
    return str(error)


def _having(option: str) -> list[str]:
    """The commands that have this option."""
    found = []
    for name in COMMANDS:
        command = app[name]
        if command.default_command is not None:
            arguments = command.assemble_argument_collection()
            if any(option in argument.names for argument in arguments if argument.parse):
                found.append(name)
    return found
