"""`earlydrop run`: a scenario, once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from .checks import check_out, check_seed, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, Measures, Out, Sets, Trust
from .printing import parse_json, print_json, version, warn

if TYPE_CHECKING:
    import earlydrop._core as _core
    from ..document import Document

JUDGED = 300_000
"""With this many events all of the window is judged: loading the code for it takes as long as a smaller run. With fewer
events, only its number of round-trip times is."""


def run(
    scenario: Annotated[Path, Parameter(name="SCENARIO", help="A scenario file, or a pack (FILE.zip).")],
    /,
    *,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    measure: Measures = [],  # noqa: B006
    out: Out = None,
    format_: Annotated[
        Literal["folder", "flent"],
        Parameter(name="--format", help="What --out names: a folder, or a data file for Flent (NAME.flent.gz)."),
    ] = "folder",
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario once; or what made a pack, once more, and compare its tables and results with the pack's."""
    if scenario.suffix.lower() == ".zip":
        from .pack import again

        others = {"--seed": seed, "--set": set_, "--measure": measure, "--format": format_ == "flent"}
        if wrong := next((name for name, value in others.items() if value not in (None, [], False)), None):
            raise InputError(f"{wrong}: belongs to a scenario; {scenario} is a pack, which says how it was made")
        return again(scenario, out, trust, json)
    import earlydrop._core as _core
    from .. import runner
    from ..analysis import window
    from ..analysis.overflows import never_acted
    from ..analysis.quantity import asked, paths_of, record_sets, values
    from ..render.run_text import run_text

    checked = _core.Scenario.load(str(scenario), parse_settings(set_))
    check_seed(seed)
    measures = asked(measure, where="--measure")
    if measures and format_ == "flent":
        raise InputError("--measure: belongs to --format folder; Flent's files have no place for it", given=measure[0])
    if measures:
        checked = _core.Scenario.load(str(scenario), [*parse_settings(set_), *record_sets(paths_of(measures))])
    if format_ == "flent":
        return _flent(checked, seed, out, json)
    check_out(out, "run")
    kept = None
    if out is not None:
        from .. import inputs

        options = {"--seed": seed, "--set": set_, "--measure": measure}
        kept = inputs.of("run", scenario, options, parse_settings(set_))
    about = checked.warnings()
    warn(about)
    completed = parse_json(checked.to_json())
    few = sum(entry.get("count", 1) for entry in completed["traffic"]) <= window.MOST_FLOWS
    seen, added = window.watched(checked, completed) if few else (checked, ())
    made = runner.outcome(seen, seed)
    recorded = completed["record"].get("flows", True)
    # The list of all flows is written only where it is kept.
    document = parse_json(made.summary() if recorded is True and out is None and not measures else made.text())
    if measures:
        document["measures"] = values(measures, document, str(scenario))
    said = [*never_acted(document, completed), *_windows(document, completed)]
    for name in added:
        del document[name]
    warn(said)
    if out is not None and kept is not None:
        from .. import output, packed
        from ..render import result_text

        flows = (lambda: packed.table(made.flows())) if recorded == "summary" else None
        with output.folder(out, {"kind": "run", "version": version(), **kept.about()}) as folder:
            kept.write(folder)
            result_text.write_run(folder, document, completed, flows)
    if json:
        text = made.text(added)
        if measures:
            from ..output import to_json

            text = f'{text[:-1]},"measures":{to_json(document["measures"])}}}'
        if warnings := [*about, *said]:
            from ..output import to_json

            print(f'{text[:-1]},"warnings":{to_json(warnings)}}}')
        else:
            print(text)
        return DONE
    print(run_text(document))
    if out is not None:
        print(f"\nwritten to {out}")
    return DONE


def _windows(document: Document, completed: Document) -> list[str]:
    """What a single run says of its window, at its first queue or at the one called `bottleneck`."""
    queues = list(document["queues"])
    if not queues:
        return []
    from dataclasses import replace

    from ..analysis import round_trips, window

    queue = "bottleneck" if "bottleneck" in queues else queues[0]
    trip = round_trips.base(completed, queue)
    whole = document["cost"]["events"] >= JUDGED
    if not whole and not window.few_round_trips(document, queue, trip):
        return []
    seen = window.recording(document, queue)
    judged = window.judge([seen if whole else replace(seen, tracks=())], trip)
    return [] if judged is None else window.sentences({"": judged})


def _flent(checked: _core.Scenario, seed: int | None, out: Path | None, as_json: bool) -> int:
    from .. import flent
    from ..document import discipline
    from ..render.run_text import run_text

    if out is None or not out.name.endswith(flent.SUFFIX):
        given = str(out) if out is not None else "nothing"
        raise InputError(f"--out: given {given}; with --format flent allowed NAME{flent.SUFFIX}", given=given)
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: is a folder, or in a folder that does not exist", given=str(out))
    warn(checked.warnings())
    queues = parse_json(checked.to_json()).get("queue", {})
    aqms = {name: discipline(queue)["aqm"] for name, queue in queues.items()}
    aqm = aqms["bottleneck"] if "bottleneck" in aqms else ", ".join(aqms.values())
    document, streams = flent.run(checked, seed, f"{checked.name}, {aqm}" if aqm else checked.name, out)
    if as_json:
        print_json({"file": str(out), "test": streams.test, "flows_without_series": streams.others})
        return DONE
    print(run_text(document))
    print(f"\nwritten to {out}: Flent's test {streams.test}, {len(streams.down)} downloads, {len(streams.up)} uploads")
    if streams.others:
        print(f"{streams.others} other flows ran, too; Flent has no series for them")
    return DONE
