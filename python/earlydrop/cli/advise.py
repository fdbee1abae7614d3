"""`earlydrop advise`: which queue for a home's line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import disk, terminal
from ..runner import RunError
from .checks import check_count, check_out, check_workers
from .exits import DONE
from .failures import InputError, Interrupted
from .options import Json, Store, Trust, Workers
from .printing import print_json, version


def advise(
    *,
    down: Annotated[str | None, Parameter(help="Rate of the line towards you, as 50mbit; required.")] = None,
    up: Annotated[str | None, Parameter(help="Rate of the line from you, as 10mbit; required.")] = None,
    rtt: Annotated[
        str | None,
        Parameter(
            help="Round-trip time without queueing, or its range, as 20..80ms (default: 30ms; satellite: 600ms)."
        ),
    ] = None,
    link: Annotated[str, Parameter(help="Kind of line: docsis, adsl, vdsl, fiber, lte, satellite.")] = "fiber",
    buffer: Annotated[str, Parameter(help="What the modem holds, as 250ms or 100 packets.")] = "250ms",
    aqm: Annotated[
        list[str],
        Parameter(name="--aqm", negative="", consume_multiple=True, help="Disciplines to choose from."),
    ] = [],  # noqa: B006
    seeds: Annotated[int, Parameter(help="Runs of each queue.")] = 10,
    rate: Annotated[str | None, Parameter(show=False)] = None,
    flows: Annotated[str | None, Parameter(show=False)] = None,
    out: Annotated[Path, Parameter(name="--out", help="Folder for page, pictures and configuration.")] = Path(
        "out/advise"
    ),
    store: Store = None,
    workers: Workers = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Recommend a queue for a home's line: a ranking by latency under load, pictures, configuration."""
    from .. import discipline_names, output, sweeps
    from ..advise import CANDIDATES, home, question
    from ..advise import advise as judge
    from ..advise.pictures import before_and_after, calls
    from ..advise.text import configurations, document, line_toml, page, printed
    from ..render import plotting
    from ..sweeps import text

    down, up, downloads = _older(down, up, rate, flows)
    line = home(down, up, rtt, link, buffer, downloads)
    aqm = [discipline_names.find(name)["name"] for name in aqm]
    check_count("--seeds", seeds)
    check_workers(workers)
    check_out(out, "advice")
    sweep = question(line, list(dict.fromkeys(aqm)) or CANDIDATES, seeds)
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
    if outcome.tally.failed:
        first = outcome.tally.failures[0]
        raise RunError(f"{outcome.tally.failed} of the runs failed, the first with seed {first.seed}: {first.reason}")
    advice = judge(line, outcome)
    both = calls(advice)
    found = document(advice, version())
    said = printed(advice, out)
    with output.folder(out, {"kind": "advice", "version": version()}) as folder:
        text.write(folder, outcome, opened.url)
        output.write_json(folder / "advice.json", found)
        disk.write(folder / "advice.txt", said + "\n")
        disk.write(folder / "advice.html", page(advice, both))
        disk.write(folder / "line.toml", line_toml(advice))
        plotting.save(before_and_after(both), folder / "before-after", formats=("png", "svg"))
        for name, content in configurations(advice).items():
            file = folder / "config" / name
            disk.make_folders(file.parent)
            disk.write(file, content)
    if json:
        print_json(found)
    else:
        print(said)
    return DONE


def _older(down: str | None, up: str | None, rate: str | None, flows: str | None) -> tuple[str, str, int]:
    """Rates and downloads, where the options of before may stand for them."""
    if rate is not None:
        if down is not None or up is not None:
            raise InputError("--rate: given beside --down or --up; allowed one of the two forms")
        print(f"--rate {rate} is read as --down {rate} --up {rate}", file=sys.stderr)
        down = up = rate
    downloads = 4
    if flows is not None:
        most = flows.strip().rpartition("..")[2]
        if not most.isdigit():
            raise InputError(f'--flows: given "{flows}"; allowed a whole number', given=flows, allowed="a whole number")
        downloads = int(most)
        print(f"--flows {flows} is read as a download of {downloads} CUBIC flows", file=sys.stderr)
    if down is None or up is None:
        name = "--down" if down is None else "--up"
        raise InputError(f"{name}: is missing; allowed a rate, as 50mbit", allowed="a rate, as 50mbit")
    return down, up, downloads
