"""`earlydrop test-aqm`: what every discipline must hold, tried on one of your own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from cyclopts import Parameter

from .. import terminal
from .exits import DONE, FAILED
from .failures import InputError
from .options import Json, Trust
from .printing import print_json, version

MOST = 1_000_000_000


def conformance(
    aqm: Annotated[str, Parameter(name="AQM", help="mine.py, mine.py:MyRed, libmine.so, or a name of earlydrop.toml.")],
    /,
    *,
    packets: Annotated[int, Parameter(help="Packets of the long run.")] = 1_000_000,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Try a discipline of your own on the properties that the catalogue's hold; exit code 1 if one fails."""
    from .. import discipline_names

    if not 1 <= packets <= MOST:
        raise InputError(f"--packets: given {packets}; allowed 1 to {MOST}", given=str(packets), allowed=f"1 to {MOST}")
    known = discipline_names.own(aqm)
    # The tests run in a thread, so that code that never returns can be interrupted.
    outcomes = ThreadPoolExecutor(1).submit(known.native.conformance, packets).result()
    failed = sum(failure is not None for _, _, failure, _ in outcomes)
    if json:
        found = [
            {"property": name, "about": about, "ok": failure is None, "failure": failure, "ns_per_packet": ns}
            for name, about, failure, ns in outcomes
        ]
        named = {"aqm": known.native.name, "source": known.source, "digest": known.digest}
        print_json({**named, "packets": packets, "properties": found, "ok": not failed, "version": version()})
        return FAILED if failed else DONE
    width = max(len(name) for name, _, _, _ in outcomes)
    print(f"{aqm}: {known.native.name}, {_kind(known)}\n")
    for name, about, failure, ns in outcomes:
        speed = "" if ns is None else f" ({packets:,} packets, {terminal.number(ns, 0)} ns each)"
        head = f"  {'pass' if failure is None else 'FAIL'}  {name.ljust(width)}  "
        indent = " " * len(head)
        print(head + terminal.paragraph(about + speed, indent).lstrip())
        if failure is not None:
            print(terminal.paragraph(f"failed: {failure}", indent))
    print(f"\n{failed} of {len(outcomes)} properties failed" if failed else f"\nall {len(outcomes)} properties hold")
    return FAILED if failed else DONE


def _kind(known: Any) -> str:
    """How its code is run."""
    if known.policy is None:
        return "a library"
    return "compiled Python" if known.policy.jit else "plain Python"
