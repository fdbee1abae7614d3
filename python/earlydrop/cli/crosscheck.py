"""`earlydrop crosscheck`: the simulator against real links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import terminal
from . import of_links
from .checks import check_count, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, ScenarioFile, Sets, Trust
from .printing import print_json, version

NOTHING = of_links.Effects()
"""No option for what happens to packets."""


def crosscheck(
    scenario: ScenarioFile | None = None,
    /,
    *,
    set_: Sets = [],  # noqa: B006
    at: Annotated[str | None, Parameter(help="Queue of the emulated link (default: bottleneck).")] = None,
    seeds: Annotated[int | None, Parameter(help="Runs of the simulator (default: 5; of a Flent run 10).")] = None,
    realtime: Annotated[
        bool, Parameter(negative="", help="Fail where the link may not have real-time priority.")
    ] = False,
    flent: Annotated[
        Path | None,
        Parameter(help="Instead of a scenario: a recorded Flent run (NAME.flent.gz), with --rate and --queue."),
    ] = None,
    rate: Annotated[str | None, Parameter(help="With --flent: rate of the bottleneck, of downloads.")] = None,
    queue: Annotated[
        str | None, Parameter(help="With --flent: queue of downloads, such as 'fq_codel' or 'pie limit=1000p'.")
    ] = None,
    up_rate: Annotated[str | None, Parameter(help="With --flent: rate of uploads (default: --rate).")] = None,
    up_queue: Annotated[str | None, Parameter(help="With --flent: queue of uploads (default: --queue).")] = None,
    rtt: Annotated[
        str | None, Parameter(help="With --flent: round-trip time without load (default: the least idle ping).")
    ] = None,
    tcp: Annotated[
        str | None, Parameter(help="With --flent: reno, cubic or bbr (default: as the file says, else cubic).")
    ] = None,
    effects: Annotated[of_links.Effects, Parameter(name="*")] = NOTHING,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario in the simulator and on a real link under the kernel's TCP, and print what differs.

    Takes as long as the scenario. Needs iperf3, and what `link` needs.

    With --flent: a run that Flent recorded, against the simulator on the link that --rate and --queue name.
    """
    from .. import links
    from ..links import crosscheck as checking

    if flent is None:
        links.require_linux()
    check_count("--seeds", 1 if seeds is None else seeds)
    given = [name for name, one in (("SCENARIO", scenario), ("--flent", flent)) if one is not None]
    if len(given) != 1:
        raise InputError(f"SCENARIO or --flent: given {' and '.join(given) or 'none'}; allowed one of them")
    for option, word in (
        ("--rate", rate),
        ("--queue", queue),
        ("--up-rate", up_rate),
        ("--up-queue", up_queue),
        ("--rtt", rtt),
        ("--tcp", tcp),
    ):
        if word is not None and flent is None:
            raise InputError(f"{option}: belongs to --flent")
    happens = of_links.given(effects)
    if happens and flent is None:
        key = next(iter(happens))
        raise InputError(
            f"--{key}: belongs to --flent; a scenario has it: --set topology.bottleneck.{key}={happens[key]}"
        )
    if flent is not None:
        if rate is None or queue is None:
            missing = "--rate" if rate is None else "--queue"
            raise InputError(f"{missing}: missing; --flent needs it, as a Flent file does not say it")
        from ..links import crosscheck_flent

        link = crosscheck_flent.Link(rate, queue, up_rate, up_queue, rtt, tcp, happens)
        with terminal.Progress() as progress:
            recorded = crosscheck_flent.crosscheck(
                flent, link, seeds=seeds or crosscheck_flent.SEEDS, progress=progress
            )
        if json:
            print_json({**recorded.document(), "version": version()})
        else:
            print(recorded.text())
        return DONE
    assert scenario is not None
    with terminal.Progress() as progress:
        found = checking.crosscheck(
            scenario, parse_settings(set_), at=at, seeds=seeds or 5, real_time=realtime or None, progress=progress
        )
    if json:
        print_json({**found.document(), "version": version()})
    else:
        print(found.text())
    return DONE
