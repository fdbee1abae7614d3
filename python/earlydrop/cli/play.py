"""`earlydrop play`: the playground in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .checks import parse_settings
from .entry import heard
from .exits import DONE
from .options import Sets


def play(
    scenario: Annotated[Path | None, Parameter(name="SCENARIO", help="A scenario file to open.")] = None,
    /,
    *,
    port: Annotated[int, Parameter(help="Port on this machine (default: any free one).")] = 0,
    browser: Annotated[
        bool, Parameter(name="--browser", negative="--no-browser", help="Open a browser, or only print the address.")
    ] = True,
    set_: Sets = [],  # noqa: B006
) -> int:
    """Open the playground, where the simulator runs in a browser. Ctrl-C ends it."""
    from .. import playground
    from .failures import InputError

    pairs = parse_settings(set_)
    if pairs and scenario is None:
        raise InputError("--set: belongs to a scenario; given none")
    opened = None if scenario is None else playground.scenario(scenario, pairs)
    folder = playground.page()
    made, address = playground.server(folder, port, opened)
    with made:
        print(f"playground: {address}", flush=True)
        print("Ctrl-C ends it.", flush=True)
        if browser:
            webbrowser.open(address)
        try:
            made.serve_forever()
        except KeyboardInterrupt:
            heard()
            print()
    return DONE
