"""`earlydrop link`: a command behind a real link."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from . import of_links
from .checks import check_out, check_seed, parse_settings
from .exits import NOT_FOUND, NOT_RUNNABLE
from .failures import InputError
from .options import Json, Out, Sets, Trust
from .printing import print_json, version

NOTHING = of_links.Link()
"""No option that describes the link."""


def link(
    *command: Annotated[str, Parameter(help="What to run behind the link, after --.")],
    parts: Annotated[of_links.Link, Parameter(name="*")] = NOTHING,
    queue: Annotated[
        str | None,
        Parameter(
            help='Queue in each direction: "red limit=120p min_th=20 ..." (default: droptail), or '
            '"parent=tbf rate=10mbit child.aqm=codel".'
        ),
    ] = None,
    reverse_queue: Annotated[str | None, Parameter(help="Another queue for what COMMAND receives.")] = None,
    sim: Annotated[
        Path | None, Parameter(name="--sim", help="Take rate, delay and queues from this scenario instead.")
    ] = None,
    at: Annotated[
        str | None,
        Parameter(help="With --sim: what COMMAND sends passes this queue (default: bottleneck, at the senders)."),
    ] = None,
    set_: Sets = [],  # noqa: B006
    seed: Annotated[
        int | None, Parameter(help="Seed of the queues' random numbers (default: 1, or the scenario's).")
    ] = None,
    between: Annotated[
        list[str],
        Parameter(
            name="--between",
            negative="",
            consume_multiple=2,
            help="Without COMMAND: two named namespaces to join, or dev:NAME for TUN devices.",
        ),
    ] = [],  # noqa: B006
    mtu: Annotated[int, Parameter(help="Largest packet, bytes.")] = 1500,
    sysctl: Annotated[
        list[str],
        Parameter(name="--sysctl", negative="", help="Sysctl behind the link: net.ipv4.tcp_ecn=1. May be repeated."),
    ] = [],  # noqa: B006
    nat: Annotated[
        bool, Parameter(negative="", help="Let COMMAND reach what this machine reaches (address translation).")
    ] = False,
    user: Annotated[str | None, Parameter(help="Run COMMAND as this user (default: the caller).")] = None,
    realtime: Annotated[
        bool | None,
        Parameter(help="Real-time priority, so that departures are on time (default: where it is allowed)."),
    ] = None,
    control: Annotated[
        Path | None,
        Parameter(
            help="A socket, made here, through which rate, delay and parameters are changed while the link runs."
        ),
    ] = None,
    live: Annotated[bool, Parameter(negative="", help="Show queue, drops and flows while it runs.")] = False,
    log: Annotated[
        bool,
        Parameter(
            negative="",
            help="With --out: record every arrival and its outcome in log.parquet, its headers in packets.pcapng.",
        ),
    ] = False,
    verify: Annotated[
        bool, Parameter(negative="", help="Replay every arrival in the simulator and compare the decisions.")
    ] = False,
    quiet: Annotated[bool, Parameter(negative="", help="Print no summary, only the verdict of --verify.")] = False,
    out: Out = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a command behind an emulated link with any queue discipline, in each direction.

    Needs Linux, and the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN (sudo). The command reaches this namespace under
    $EARLYDROP_OUTER, and with --nat what this machine reaches. Its exit code is returned; 125 means that the link
    failed, 126 that the command cannot be run, 127 that there is none of that name.
    """
    from .. import links

    links.require_linux()
    if seed is not None:
        check_seed(seed)
    check_out(out, "link")
    if log and out is None:
        raise InputError("--log: needs --out DIR to write log.parquet to")
    if bool(command) == bool(between):
        raise InputError(
            "COMMAND or --between: given " + ("both" if command else "neither") + "; allowed one of the two"
        )
    if nat and between:
        raise InputError("--nat: belongs to a COMMAND behind the link; joined namespaces have routes of their own")
    if between and len(between) != 2:
        raise InputError(f"--between: given {len(between)}; allowed two namespaces or devices")
    settings: dict[str, Any] = {
        "mtu": mtu,
        "sysctls": tuple(parse_settings(sysctl, "--sysctl", "NAME=VALUE", "net.ipv4.tcp_ecn=1")),
        "nat": nat,
        "real_time": realtime,
        "record": links.MOST_RECORDED if log or verify else 0,
        "keep_headers": log,
    }
    own = {"queue": queue, "reverse_queue": reverse_queue}
    given = of_links.given(parts) | {name: value for name, value in own.items() if value is not None}
    plan = _link_plan(given, sim, at, set_, seed, settings)
    hint = "" if sim is None else f" (--at {plan.ways()[1].name} turns it round)"
    return _run_link(plan, list(command), between, hint, user, control, live, verify, log, quiet, out, json)


def _link_plan(
    given: dict[str, Any], sim: Path | None, at: str | None, sets: Sequence[str], seed: int | None, settings: Any
) -> Any:
    import earlydrop._core as _core
    from .. import links

    if sim is not None:
        if given:
            option = "--" + next(iter(given)).replace("_", "-")
            raise InputError(f"{option}: the scenario of --sim says it; change it there, or with --set")
        return links.from_scenario(_core.Scenario.load(str(sim), parse_settings(sets)), at, seed, **settings)
    for option, value in (("--at", at), ("--set", sets)):
        if value:
            raise InputError(f"{option}: belongs to --sim SCENARIO.toml")
    if seed is not None:
        settings["seed"] = seed
    return links.plan(**given, **settings)


def _run_link(
    plan: Any,
    command: list[str],
    between: list[str],
    hint: str,
    user: str | None,
    control: Path | None,
    live: bool,
    verify: bool,
    log: bool,
    quiet: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    import contextlib
    import errno

    from .. import links
    from ..render import link_status

    who = links.User.named(user) if user is not None else links.User.calling()
    with contextlib.ExitStack() as stack:
        caught = stack.enter_context(links.signals())
        running = stack.enter_context(links.Running(plan, (between[0], between[1]) if between else None))
        if control is not None:
            stack.enter_context(links.Control(running, control, who))
        shown = None
        if live and link_status.wanted():
            title = " ".join(command) or " and ".join(between)
            ways = (" > ".join(between), " > ".join(reversed(between))) if between else ("sent", "received")
            shown = stack.enter_context(link_status.Panel(running, title[:60], ways))
        started = None
        if command:
            if not quiet:
                print(f"{running.reach()}\n{running.shape()}{hint}", file=sys.stderr, flush=True)
                if plan.real_time is None and not running.real_time:
                    print("real-time priority is not allowed here: deliveries may be late", file=sys.stderr)
            output = shown.output if shown is not None else None
            # With --json stdout is the document's.
            stdout = output if output is not None else (sys.stderr.fileno() if as_json else None)
            try:
                started = running.start(command, stdout=stdout, stderr=output, user=who)
            except FileNotFoundError:
                print(f"error: {command[0]}: no such command", file=sys.stderr)
                return NOT_FOUND
            except OSError as error:
                # Executing a file is refused by EACCES.
                lacks = who is not None and error.errno == errno.EPERM
                why = "; to run it as another user needs CAP_SETUID and CAP_SETGID (--user root)" if lacks else ""
                print(f"error: {command[0]}: {error.strerror or error}{why}", file=sys.stderr)
                return NOT_RUNNABLE
        elif not quiet:
            print(f"joined {between[0]} and {between[1]}; Ctrl-C ends it\n{running.shape()}", file=sys.stderr)
        code = links.supervise(running, started, caught, shown)
    result = running.result
    assert result is not None
    _link_results(plan, running, result, verify, log, quiet, out, as_json)
    return code


def _link_results(
    plan: Any, running: Any, result: Any, verify: bool, log: bool, quiet: bool, out: Path | None, as_json: bool
) -> None:
    from .. import links, output
    from ..render import directions, link_status, result_text

    document = result.document
    lines = [] if quiet else [link_status.link_text(document)]
    if verify:
        replays = links.replay(plan, running.records, running.changes)
        document["replay"] = {
            name: {"arrivals": one.arrivals, "differing": one.differing} for name, one in replays.items()
        }
        for name, one in replays.items():
            verdict = "all as on the link" if not one.differing else f"{one.differing} otherwise; {one.first}"
            lines.append(
                f"{directions.carried(document, name)}: the simulator decided over {one.arrivals} arrivals, {verdict}"
            )

    def write(folder: Path) -> None:
        result_text.write_run(folder, document, result.scenario)
        if log:
            links.write_log(folder / "log.parquet", running.records)
            links.write_capture(folder / "packets.pcapng", running.records)

    if out is not None:
        with output.rescued(write), output.folder(out, {"kind": "link", "version": version()}) as folder:
            write(folder)
        lines += [] if quiet else [f"\nwritten to {out}"]
    if as_json:
        print_json(document)
    if lines:
        print("\n".join(lines), file=sys.stderr)
