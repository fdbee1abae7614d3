"""`earlydrop trace`: the events of a queue in ns-2's trace format or as pcap."""

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
    file: Annotated[Path, Parameter(name="FILE", help="File to write: .tr for ns-2's format, .pcap for pcap.")],
    /,
    *,
    queue: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="The queue (default: the first). For pcap may be repeated, e.g. for both directions."
        ),
    ] = None,
    events: Annotated[int, Parameter(help="Largest number of events, counted from the start of the run.")] = 1_000_000,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario and write the events of a queue in ns-2's trace format or as pcap."""
    import earlydrop._core as _core
    from .. import disk, foreign, traces
    from .. import pcap as pcaps
    from ..sweeps.base_scenario import overlay_toml, with_traces
    from ..tune.search_space import toml_settings

    if file.suffix not in (".tr", ".pcap"):
        given = file.suffix or "no suffix"
        raise InputError(f"{file}: given {given}; allowed .tr, .pcap", given=given, allowed=".tr, .pcap")
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
    in_ns2s = file.suffix == ".tr"
    document = overlay_toml(document, toml_settings(pairs))
    made = traces.record(document, queues, events, seed, headers=not in_ns2s)
    content = "".join(traces.ns2(made[0])).encode() if in_ns2s else b"".join(pcaps.pcap(made))
    disk.replace(file, content)
    kept, total = sum(len(one.events) for one in made), sum(one.total for one in made)
    if json:
        print_json({"file": str(file), "events": kept, "total": total})
        return DONE
    more = f" of {total:,}; --events takes more" if total > kept else ""
    print(f"wrote {file}: {kept:,} events{more}")
    return DONE
