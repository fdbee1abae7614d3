"""What a sweep prints and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import output
from ..report import latex_table, write_csv
from ..terminal import number, paragraph, signed, table
from .execute import Estimate
from .model import Sweep
from .outcome import Outcome, clear, failure_document
from .plan import Plan, label

SHOWN_POINTS, SHOWN_DIFFERENCES, SHOWN_FAILURES = 40, 30, 5
SHOWN_MEASURES = 5


def plan_text(plan: Plan) -> str:
    """What is going to be run."""
    sweep = plan.sweep
    seeds = f"{sweep.stop.least} to {sweep.stop.most} seeds" if sweep.stop else counted(sweep.seeds, "seed")
    factors = ", ".join(f"{f.name} ({'range' if f.ranged else len(f.levels)})" for f in sweep.factors)
    return (
        f"{sweep.name}: {counted(len(sweep.points), 'point')} ({sweep.design} of {factors}), {seeds} each: "
        f"{counted(plan.runs, 'run')}"
    )


def counted(count: int, what: str) -> str:
    """`1 run`, `2,000 runs`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def estimate_text(estimate: Estimate) -> str:
    """What it will cost."""
    if not estimate.missing:
        return "all runs are in the store"
    there = estimate.runs - estimate.missing
    size = f", about {_size(estimate.size)} in the store" if estimate.size else ""
    return (
        f"{counted(estimate.missing, 'run')} to make ({there:,} are there), {_time(estimate.run_s)} each: about "
        f"{_time(estimate.wall_s)} on {counted(estimate.workers, 'worker')}{size}"
    )


def _time(seconds: float) -> str:
    for limit, unit, name in ((1.0, 1e-3, "ms"), (90.0, 1.0, "s"), (5400.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 86400:.3g} days"


def _size(size: float) -> str:
    for limit, unit, name in ((1e6, 1e3, "kB"), (1e9, 1e6, "MB")):
        if size < limit:
            return f"{size / unit:.2g} {name}"
    return f"{size / 1e9:.2g} GB"


def outcome_text(outcome: Outcome) -> str:
    """Everything `sweep` prints: the first points, the clearest differences, failures, warnings."""
    sweep = outcome.sweep
    measures = sweep.measures[:SHOWN_MEASURES]
    head, rows = point_table(outcome, SHOWN_POINTS, SHOWN_MEASURES)
    kind = "bootstrap" if sweep.interval == "bootstrap" else "95 %"
    lines = [
        f"{sweep.name}: queue {sweep.queue}, mean over seeds ± {kind} half-width",
        "",
        table(head, rows, left=len(sweep.factors)),
    ]
    if len(sweep.points) > len(rows):
        lines.append(f"and {len(sweep.points) - len(rows):,} points more")
    if len(sweep.measures) > len(measures):
        lines.append(f"and the measures {', '.join(m.id for m in sweep.measures[len(measures) :])}")
    lines += _differences(outcome)
    lines += _failures(outcome)
    if outcome.warnings:
        lines.append("")
    lines += [paragraph(f"warning: {text}") for text in outcome.warnings[:SHOWN_FAILURES]]
    if len(outcome.warnings) > SHOWN_FAILURES:
        lines.append(f"and {len(outcome.warnings) - SHOWN_FAILURES} warnings more")
    return "\n".join(lines)


def point_table(
    outcome: Outcome, points: int | None = None, measures: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of points: levels, n, and each measure as mean ± half-width."""
    sweep = outcome.sweep
    chosen = sweep.measures[:measures]
    rows = []
    for k, point in enumerate(sweep.points[:points]):
        row = [*(level.name for level in point.levels), str(len(outcome.seeds[k]))]
        for m in chosen:
            c = outcome.cells[m.id][k]
            half = "" if c.lower is None or c.upper is None else f" ± {(c.upper - c.lower) / 2:.{m.digits}f}"
            row.append(number(c.mean, m.digits) + half)
        rows.append(row)
    return [*(f.name for f in sweep.factors), "n", *(m.label for m in chosen)], rows


def _differences(outcome: Outcome) -> list[str]:
    sweep = outcome.sweep
    if not outcome.differences:
        return []
    order = sorted(range(len(outcome.differences)), key=lambda k: outcome.corrected[k][0])
    rows = []
    for k in order[:SHOWN_DIFFERENCES]:
        pair, name, d = outcome.differences[k]
        m = sweep.measure(name)
        half = "" if d.estimate.half_width is None else f" ± {d.estimate.half_width:.{m.digits}f}"
        stars = clear(d, outcome.corrected[k])
        rows.append(
            [
                label(sweep, sweep.points[pair.point]),
                m.label,
                signed(d.estimate.mean, m.digits) + half + f" {'*' * stars:2}",
            ]
        )
    against = ", ".join(f"{f} = {level}" for f, level in sweep.control.items())
    clear_count = sum(clear(d, c) == 2 for (_, _, d), c in zip(outcome.differences, outcome.corrected, strict=True))
    text = (
        f"Paired differences from {against} under common random numbers (* the interval excludes zero; ** still so "
        f"after Holm's correction for {counted(len(outcome.differences), 'difference')}: {clear_count:,} are), the "
        "clearest first:"
    )
    lines = ["", paragraph(text), "", table(["point", "measure", "difference"], rows, left=2)]
    if len(order) > SHOWN_DIFFERENCES:
        lines.append(f"and {len(order) - SHOWN_DIFFERENCES:,} more")
    return lines


def _failures(outcome: Outcome) -> list[str]:
    tally = outcome.tally
    if not tally.failed:
        return []
    lines = ["", f"{counted(tally.failed, 'run')} failed:"]
    for failure in tally.failures[:SHOWN_FAILURES]:
        where = label(outcome.sweep, outcome.sweep.points[failure.point])
        lines.append(paragraph(f"{where}, seed {failure.seed}: {failure.reason}", "  "))
    if tally.failed > SHOWN_FAILURES:
        lines.append(f"  and {tally.failed - SHOWN_FAILURES:,} more; sweep.json has them with their scenarios")
    return lines


# ---- folder --------------------------------------------------------------------------------------------------------


def write(folder: Path, outcome: Outcome, url: str) -> None:
    """Fill a result folder: tables of runs, points and differences, the document, the sweep's file."""
    sweep = outcome.sweep
    output.write_json(folder / "sweep.json", {**outcome.document(), "store": url})
    write_csv(folder / "points.csv", point_rows(outcome))
    if outcome.differences:
        write_csv(folder / "differences.csv", difference_rows(outcome))
    runs_table(outcome).write_parquet(folder / "runs.parquet", compression="zstd", row_group_size=100_000)
    (folder / "sweep.txt").write_text(outcome_text(outcome) + "\n", encoding="utf-8")
    head, rows = point_table(outcome)
    caption = f"{sweep.title}: mean over seeds, 95 % half-width"
    (folder / "points.tex").write_text(latex_table(head, rows, len(sweep.factors), caption), encoding="utf-8")
    if sweep.text:
        (folder / "sweep.toml").write_text(sweep.text, encoding="utf-8")
    if outcome.tally.failures:
        failures = [failure_document(sweep, f) for f in outcome.tally.failures]
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in failures)
        (folder / "failures.jsonl").write_text(text, encoding="utf-8")


def point_rows(outcome: Outcome) -> list[list[Any]]:
    """One row a point, with a head."""
    sweep = outcome.sweep
    parts = ("mean", "lower", "upper", "n")
    rows: list[list[Any]] = [
        [*(f.name for f in sweep.factors), *(f"{m.id}_{p}" for m in sweep.measures for p in parts)]
    ]
    for k, point in enumerate(sweep.points):
        cells = [outcome.cells[m.id][k] for m in sweep.measures]
        rows.append([*(x.value for x in point.levels), *(getattr(c, p) for c in cells for p in parts)])
    return rows


def difference_rows(outcome: Outcome) -> list[list[Any]]:
    """One row a paired difference, with a head."""
    sweep = outcome.sweep
    keys: Sequence[str] = (
        "mean",
        "lower",
        "upper",
        "n",
        "relative",
        "control",
        "wins",
        "losses",
        "t_test_p",
        "sign_test_p",
        "wilcoxon_p",
        "detectable",
    )
    rows: list[list[Any]] = [
        [*(f.name for f in sweep.factors), "compared_in", "measure", *keys, "t_test_p_holm", "t_test_p_bh"]
    ]
    for (pair, m, d), after in zip(outcome.differences, outcome.corrected, strict=True):
        document = d.document()
        levels = [x.value for x in sweep.points[pair.point].levels]
        rows.append([*levels, pair.factor, m, *(document[k] for k in keys), *after])
    return rows


def runs_table(outcome: Outcome) -> Any:
    """One row a run: factors, seed, measures; in the order of the points and seeds."""
    import polars as pl

    from .plan import point_values

    sweep: Sweep = outcome.sweep
    factors = pl.DataFrame({"point": pl.Series(range(len(sweep.points)), dtype=pl.UInt32), **point_values(sweep)})
    taken = [m.id for m in sweep.measures if m.id in factors.columns]
    frame = outcome.frame.rename({name: f"measure.{name}" for name in taken})
    return frame.join(factors, on="point", how="left", maintain_order="left").select(
        "point", *(f.name for f in sweep.factors), "seed", *(c for c in frame.columns if c not in ("point", "seed"))
    )
