"""`earlydrop replay`: the arrivals of a recorded link at other queues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .exits import DONE
from .options import Json, Trust
from .printing import print_json, version


def replay(
    log: Annotated[Path, Parameter(name="LOG", help="Result folder of `link --log --out`, or its log.parquet.")],
    /,
    *,
    queue: Annotated[
        list[str],
        Parameter(
            negative="",
            consume_multiple=True,
            help='Queues to take the recorded one\'s place: pie "codel target=15ms".',
        ),
    ] = [],  # noqa: B006
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Pass the packets that arrived at a recorded link through other queues, in open loop.

    Senders do not react: packets arrive when they did behind the recorded queue.
    """
    from .. import links
    from ..links import open_loop

    links.require_linux()
    found = open_loop.replay(open_loop.read(log), queue)
    if json:
        print_json({**open_loop.document(found), "version": version()})
    else:
        print(open_loop.text(found))
    return DONE
