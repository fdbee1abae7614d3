"""`earlydrop trace`: the events of a queue in ns-2's trace format, or its packets as pcapng."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .checks import check_folder, check_seed, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, ScenarioFile, Sets, Trust
from .printing import print_json


def trace(
    scenario: ScenarioFile,
    file: Annotated[
        Path, Parameter(name="FILE", help="File to write: .tr for ns-2's format, .pcapng (or .pcap) for pcapng.")
    ],
    /,
    *,
    queue: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="The queue (default: the first). For pcapng may be repeated, e.g. for both directions."
        ),
    ] = None,
    events: Annotated[int, Parameter(help="Largest number of events, counted from the start of the run.")] = 1_000_000,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario and write the events of a queue in ns-2's trace format, or its packets as pcapng."""
    import earlydrop._core as _core
    from .. import disk, foreign, traces
    from ..sweeps.base_scenario import overlay_toml, with_traces
    from ..tune.search_space import toml_settings

    if file.suffix not in (".tr", ".pcapng", ".pcap"):
        given, allowed = file.suffix or "no suffix", ".tr, .pcapng, .pcap"
        raise InputError(f"{file}: given {given}; allowed {allowed}", given=given, allowed=allowed)
    check_folder(str(file), file)
    if not 1 <= events <= traces.MOST:
        raise InputError(f"--events: given {events}; allowed 1 to {traces.MOST}", given=str(events))
    queues = list(dict.fromkeys(queue or []))
    if file.suffix == ".tr" and len(queues) > 1:
        raise InputError(f"--queue: given {len(queues)} queues; allowed one, as ns-2's format is of one link")
    check_seed(seed)
    pairs = parse_settings(set_)
    _core.Scenario.load(str(scenario), pairs)
    document = with_traces(foreign.from_toml(scenario), scenario.parent)
    document = overlay_toml(document, toml_settings(pairs))
    with disk.staged(file) as place, disk.open_binary(place) as stream:
        if file.suffix == ".tr":
            made = traces.record(document, queues[0] if queues else None, events, seed)
            stream.writelines(line.encode() for line in traces.ns2(made))
            kept, total = len(made.events), made.total
        else:
            kept, total = traces.capture(document, queues, events, seed, stream)
    if json:
        print_json({"file": str(file), "events": kept, "total": total})
        return DONE
    more = f" of {total:,}; --events takes more" if total > kept else ""
    print(f"wrote {file}: {kept:,} events{more}")
    return DONE
