"""`earlydrop bench`: speed and memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .. import terminal
from .checks import check_count
from .exits import DONE
from .options import Json
from .printing import print_json

CASES = """Cases (default: home, access, l4s, call, quic, loss, N1000; beside ns2, htsim and bare A, B, C;
beside ns3 home, home-bbr, home-codel)."""


def bench(
    *,
    against: Annotated[
        list[Literal["ns2", "ns3", "htsim", "bare"]],
        Parameter(name="--against", negative="", consume_multiple=True, help="Run the same cases in these tools too."),
    ] = [],  # noqa: B006
    case: Annotated[list[str], Parameter(name="--case", negative="", consume_multiple=True, help=CASES)] = [],  # noqa: B006
    htsim: Annotated[
        Path | None, Parameter(name="--htsim", negative="", help="A checkout of csg-htsim, to build that tool from.")
    ] = None,
    runs: Annotated[int, Parameter(help="Runs of each case; the median counts.")] = 3,
    json: Json = False,
) -> int:
    """Measure speed and memory on the reference cases."""
    from .. import bench as benching

    check_count("--runs", runs)
    with terminal.Progress() as progress:
        found = benching.run([str(a) for a in against], case, runs, progress, htsim)
    if json:
        print_json(found)
    else:
        print(benching.render(found))
    return DONE
