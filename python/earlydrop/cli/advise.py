"""`earlydrop advise`: which queue for a link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import terminal
from .checks import check_aqm, check_count, check_out, check_workers
from .exits import DONE, FAILED
from .failures import Interrupted
from .options import Json, Store, Workers
from .printing import parse_json, print_json, version


def advise(
    *,
    rate: Annotated[str, Parameter(help="Rate of the link, as 50Mbit/s.")],
    rtt: Annotated[str, Parameter(help="Round-trip times without queueing, as 20..80ms.")],
    flows: Annotated[str, Parameter(help="Concurrent TCP flows, as 1..50.")],
    aqm: Annotated[
        list[str],
        Parameter(name="--aqm", negative="", consume_multiple=True, help="Disciplines to choose from."),
    ] = [],  # noqa: B006
    buffer: Annotated[int | None, Parameter(help="Packets (default: the largest bandwidth-delay product).")] = None,
    seeds: Annotated[int, Parameter(help="Runs of each discipline at each condition.")] = 5,
    out: Annotated[Path, Parameter(name="--out", help="Folder for tables and report.")] = Path("out/advise"),
    store: Store = None,
    workers: Workers = None,
    json: Json = False,
) -> int:
    """Recommend a queue discipline and its parameters for a link: a ranked table, a plot, the configuration to use."""
    from .. import _core, output, sweeps
    from .. import advise as advising
    from ..sweeps import text
    from ..sweeps.report import write_report

    asked = advising.link(rate, rtt, flows, buffer)
    known = [e["name"] for e in parse_json(_core.catalogue())]
    aqm = [check_aqm(name, known) for name in aqm]
    check_count("--seeds", seeds)
    check_workers(workers)
    check_out(out)
    sweep = advising.question(asked, list(dict.fromkeys(aqm)) or list(advising.CANDIDATES), seeds)
    opened = sweeps.open_store(store or out.absolute().parent / "store")
    executor = sweeps.Threads(sweep.document, workers)
    try:
        with terminal.Meter("advise") as meter:
            outcome = sweeps.run(sweeps.plan(sweep), opened, executor, tell=meter)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: what was run is in {opened.url}; the same command goes on from there"
        ) from None
    finally:
        executor.close()
    ranks = advising.rank(outcome)
    found = advising.document(asked, ranks, version())
    with output.folder(out, {"kind": "advice", "version": version()}) as folder:
        text.write(folder, outcome, opened.url)
        output.write_json(folder / "advice.json", found)
        (folder / "advice.txt").write_text(advising.text(asked, ranks, seeds) + "\n", encoding="utf-8")
        write_report(folder, outcome)
    if json:
        print_json(found)
    else:
        print(advising.text(asked, ranks, seeds))
        print(f"\nreport: {out / 'report.html'}")
    return FAILED if outcome.tally.failed else DONE
