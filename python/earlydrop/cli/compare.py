"""`earlydrop compare`: a scenario with several disciplines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .. import terminal
from .checks import check_count, check_figure, check_out, check_workers, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, Measures, Out, ScenarioFile, Sets, Trust, Workers
from .printing import print_json, version

LEAST = 10
"""Seeds that --until runs before it looks at their intervals (docs/statistics.md)."""


def compare(
    scenario: ScenarioFile,
    /,
    *,
    aqm: Annotated[
        list[str],
        Parameter(
            name="--aqm",
            negative="",
            consume_multiple=True,
            help='Disciplines, as red "codel target=5ms" mine.py:MyRed, perhaps with labels, as '
            '"FQ-L4S = fq_codel ce_threshold=1ms l4s=true"; the first is the control.',
        ),
    ],
    seeds: Annotated[int | None, Parameter(help="Runs of each discipline (default: 10).")] = None,
    until: Annotated[
        str | None,
        Parameter(help="Run seeds until the half-widths of goodput and queueing delay are under this, as in 2%."),
    ] = None,
    most: Annotated[
        int | None, Parameter(help="With --until: largest number of seeds.", show_default=lambda _: "200")
    ] = None,
    queue: Annotated[
        str | None,
        Parameter(help="Queue that is compared, such as reverse; all: the disciplines are at every queue."),
    ] = None,
    set_: Sets = [],  # noqa: B006
    measure: Measures = [],  # noqa: B006
    plot: Annotated[
        Path | None, Parameter(name="--plot", help="Draw means and intervals to this file (.png, .pdf or .svg).")
    ] = None,
    out: Out = None,
    workers: Workers = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario with several disciplines and the same seeds, and compare them."""
    from .. import inputs, output
    from ..analysis import paired
    from ..analysis.quantity import asked
    from ..render import result_text

    check_count("--seeds", 10 if seeds is None else seeds)
    if most is not None and until is None:
        raise InputError("--most: belongs to --until, which is not given; --seeds says how many runs", given=str(most))
    target = None if until is None else _stopping(until, 200 if most is None else most, seeds)
    check_workers(workers)
    pairs = parse_settings(set_)
    measures = asked(measure, where="--measure")
    check_out(out, "comparison")
    check_figure("--plot", plot)
    kept = None
    if out is not None:
        options = {
            "--aqm": aqm,
            "--seeds": seeds,
            "--until": until,
            "--most": most,
            "--set": set_,
            "--measure": measure,
        }
        kept = inputs.of("compare", scenario, {**options, "--queue": queue}, pairs)
    with terminal.Progress() as progress:
        result = paired.compare(
            scenario,
            aqm,
            seeds=seeds or 10,
            sets=pairs,
            measures=measures,
            target=target,
            workers=workers,
            progress=progress,
            queue=queue,
        )
    with output.rescued(lambda folder: result_text.write_runs(folder, result)):
        if plot is not None:
            _draw(result, plot)
        if out is not None and kept is not None:
            with output.folder(out, {"kind": "comparison", "version": version(), **kept.about()}) as folder:
                kept.write(folder)
                result_text.write_comparison(folder, result, version())
        if json:
            print_json(result.document(version()))
            return DONE
        print(result_text.comparison_text(result))
        if out is not None:
            print(f"\nwritten to {out}")
        if plot is not None:
            print(f"{'' if out is not None else chr(10)}drawn to {plot}")
    return DONE


def _draw(result: Any, file: Path) -> None:
    from ..render import plotting

    try:
        plotting.write(plotting.comparison(result), file)
    except OSError as error:
        raise InputError(f"--plot {file}: {error.strerror}", file=str(file)) from None


def _stopping(until: str, most: int, seeds: int | None) -> Any:
    """The rule behind `--until 2%`."""
    from ..analysis.statistics import Stopping

    if seeds is not None:
        raise InputError(
            "--seeds and --until exclude each other; the most seeds with --until are --most", allowed="one"
        )
    if not LEAST <= most <= 100_000:
        allowed = f"{LEAST} to 100000"
        more = f" (--until runs at least {LEAST} seeds)" if most < LEAST else ""
        raise InputError(f"--most: given {most}; allowed {allowed}{more}", given=str(most), allowed=allowed)
    number, percent, rest = until.partition("%")
    try:
        relative = float(number) / (100 if percent else 1)
    except ValueError:
        relative = 0.0
    if rest.strip() or not 0 < relative < 1:
        raise InputError(f"--until: given {until}; allowed above 0% and below 100%", given=until, allowed="0%..100%")
    return Stopping(relative, least=LEAST, most=most)
