"""`earlydrop run`: a scenario, once."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .checks import check_out, check_seed, parse_settings
from .exits import DONE
from .options import Json, Out, ScenarioFile, Sets
from .printing import parse_json, version, warn


def run(
    scenario: ScenarioFile,
    /,
    *,
    seed: Annotated[int | None, Parameter(help="Seed of the run (default: the scenario's).")] = None,
    set_: Sets = [],  # noqa: B006
    out: Out = None,
    json: Json = False,
) -> int:
    """Run a scenario once."""
    from .. import _core, output, runner
    from ..analysis.overflows import never_acted
    from ..render import result_text

    checked = _core.Scenario.load(str(scenario), parse_settings(set_))
    check_seed(seed)
    check_out(out)
    warn(checked.warnings())
    text = runner.run_one(runner.Job(checked, seed))
    document, completed = parse_json(text), parse_json(checked.to_json())
    said = never_acted(document, completed)
    warn(said)
    if out is not None:
        with output.folder(out, {"kind": "run", "version": version()}) as folder:
            result_text.write_run(folder, document, completed)
    if json:
        warnings = [*checked.warnings(), *said]
        print(text if not warnings else output.to_json({**document, "warnings": warnings}))
        return DONE
    print(result_text.run_text(document))
    if out is not None:
        print(f"\nwritten to {out}")
    return DONE
