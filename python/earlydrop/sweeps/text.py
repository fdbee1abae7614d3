"""Text and tables that a sweep prints and writes."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import columns, disk, output, streamed
from ..render.latex import MARK
from ..terminal import CUT, interval_text, paragraph, table, with_sign
from . import best, matrix_text, paper, settings
from .cells import Cell, Row
from .execute import Estimate
from .outcome import Outcome, difference_document, failure_document
from .plan import Plan, label, point_values
from .windows import examined, runs_again

UNSEEN = "(?)"
"""The mark of points whose windows were not examined."""
MARKS = {MARK: "the window is too short for its means", UNSEEN: "the window was not examined"}
SHOWN_POINTS, SHOWN_DIFFERENCES, SHOWN_FAILURES = 40, 30, 5
SHOWN_MEASURES = 5
GROUP = 20_000
"""Runs in each row group of `runs.parquet`."""


def plan_text(plan: Plan) -> str:
    """A description of the runs before they are made."""
    sweep = plan.sweep
    seeds = f"{sweep.stop.least} to {sweep.stop.most} seeds" if sweep.stop else counted(sweep.seeds, "seed")
    factors = ", ".join(f"{f.said} ({'range' if f.ranged else len(f.levels)})" for f in sweep.factors)
    return (
        f"{sweep.name}: {counted(len(sweep.points), 'point')} ({sweep.design} of {factors}), {seeds} each: "
        f"{counted(plan.runs, 'run')}"
    )


def counted(count: int, what: str) -> str:
    """A count with its noun: `1 run`, `2,000 runs`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def estimate_text(estimate: Estimate, plan: Plan) -> str:
    """The estimated cost of the runs, and of those that are made again to examine windows, as text."""
    if not estimate.missing:
        return "all runs are in the store"
    there = estimate.runs - estimate.missing
    size = f", about {_size(estimate.size)} in the store" if estimate.size else ""
    again = runs_again(plan)
    wall_s = estimate.wall_s + again * estimate.run_s / estimate.workers
    return (
        f"{counted(estimate.missing, 'run')} to make ({there:,} are there) and {again:,} again to examine windows, "
        f"{_time(estimate.run_s)} each: about {_time(wall_s)} on {counted(estimate.workers, 'worker')}{size}"
    )


def examined_text(plan: Plan) -> str:
    """Which windows are examined, and at what cost."""
    points, _ = examined(plan)
    return (
        f"examining windows at {len(points):,} of {counted(len(plan.sweep.points), 'point')}: "
        f"{counted(runs_again(plan), 'run')} made again with queues recorded, which the store does not keep"
    )


def _time(seconds: float) -> str:
    for limit, unit, name in ((0.995, 1e-3, "ms"), (90.0, 1.0, "s"), (5400.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds / 86400)} days"


def _size(size: float) -> str:
    for limit, unit, name in ((995.0, 1.0, "B"), (995e3, 1e3, "kB"), (995e6, 1e6, "MB")):
        if size < limit:
            return f"{_short(size / unit)} {name}"
    return f"{_short(size / 1e9)} GB"


def _short(x: float) -> str:
    """An estimate with two digits, never with an exponent: 1.2, 35, 120."""
    return f"{float(f'{x:.2g}'):,.10g}"


def outcome_text(outcome: Outcome) -> str:
    """Everything `sweep` prints: the first points, the clearest differences, failures, warnings."""
    sweep = outcome.sweep
    # What was asked for is shown, all of it.
    measures = sweep.measures[: max(SHOWN_MEASURES, sum(m.asked for m in sweep.measures))]
    head, rows = point_table(outcome, SHOWN_POINTS, len(measures))
    lines = [
        *map(paragraph, outcome.summary),
        *matrix_text.lines(outcome.matrix, sweep),
        *_best(outcome),
        *([""] if outcome.summary else []),
        paragraph(f"{sweep.name}: queue {sweep.queue}, {replication(outcome)}"),
        *(paragraph(line, "  ") for line in settings.lines(sweep)),
        "",
        table(head, rows, left=len(sweep.factors)),
    ]
    if any("[" in cell for row in rows for cell in row[len(sweep.factors) :]):
        lines.append(paragraph(f"{CUT}."))
    lines += [paragraph(f"{mark}: {said}.") for mark, said in MARKS.items() if any(_has(row, mark) for row in rows)]
    if len(sweep.points) > len(rows):
        lines.append(f"and {len(sweep.points) - len(rows):,} points more")
    if len(sweep.measures) > len(measures):
        lines.append(paragraph(f"and the measures {', '.join(m.id for m in sweep.measures[len(measures) :])}"))
    lines += _differences(outcome)
    for text in outcome.notes:
        lines += ["", paragraph(f"note: {text}")]
    lines += _failures(outcome)
    if outcome.warnings:
        lines.append("")
    lines += [paragraph(f"warning: {text}") for text in outcome.warnings[:SHOWN_FAILURES]]
    if len(outcome.warnings) > SHOWN_FAILURES:
        lines.append(f"and {len(outcome.warnings) - SHOWN_FAILURES} warnings more")
    return "\n".join(lines)


def _best(outcome: Outcome) -> list[str]:
    """Which level of a factor is best at each point of the others."""
    found = outcome.best
    if found is None or len(found["rows"]) > SHOWN_POINTS:
        return []
    head = [*found["heads"], *(outcome.sweep.measure(m).title for m in found["measures"])]
    rows = [[*row["levels"], *best.cells(row)] for row in found["rows"]]
    return ["", paragraph(best.legend(found)), "", table(head, rows, left=len(head))]


def replication(outcome: Outcome) -> str:
    """The replications behind the numbers of a table."""
    if len(outcome.fixed) == len(outcome.sweep.points):
        return "one run of each point (all its seeds give the same)"
    return f"mean over seeds ± {'bootstrap' if outcome.sweep.interval == 'bootstrap' else '95 %'} half-width"


def point_table(
    outcome: Outcome, points: int | None = None, measures: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of points: levels, n, and each measure as mean ± half-width."""
    sweep = outcome.sweep
    chosen = sweep.measures[:measures]
    rows = []
    for row in itertools.islice(outcome.rows(), points):
        rows.append(_point_line(outcome, row, {m.id: outcome.cell(row, m.id) for m in chosen}))
    return [*(f.head for f in sweep.factors), "n", *(m.label for m in chosen)], rows


def _point_line(outcome: Outcome, row: Row, cells: Mapping[str, Cell]) -> list[str]:
    sweep = outcome.sweep
    mark = window_mark(row.number, outcome.warmups, outcome.short(row.number))
    levels = zip(sweep.factors, sweep.points[row.number].levels, strict=True)
    return [*(f.called(x.name) for f, x in levels), f"{len(row.seeds)}{mark}", *_texts(outcome, cells)]


def window_mark(point: int, examined: Container[int], short: bool) -> str:
    """What stands beside the number of seeds of a point: nothing where its window is long enough."""
    if short:
        return f" {MARK}"
    return f" {UNSEEN}" if point not in examined and examined else ""


def _has(row: Sequence[str], mark: str) -> bool:
    return any(cell.endswith(mark) for cell in row)


def _texts(outcome: Outcome, cells: Mapping[str, Cell]) -> list[str]:
    """The cells of a point, by measure in the sweep's order, as tables have them."""
    sweep = outcome.sweep
    return [cell_text(c, m.digits, sweep.interval) for m, c in zip(sweep.measures, cells.values(), strict=False)]


def cell_text(cell: Cell, digits: int, interval: str = "t") -> str:
    """A cell of the table of points."""
    # A bootstrap interval is not symmetric about the mean, and is never cut.
    ends = cell.ends if interval == "t" or cell.mean is None or cell.half_width is None else _even(cell)
    return interval_text(cell.mean, cell.half_width, ends, digits)


def _even(cell: Cell) -> tuple[float, float]:
    assert cell.mean is not None
    assert cell.half_width is not None
    return cell.mean - cell.half_width, cell.mean + cell.half_width


def _differences(outcome: Outcome) -> list[str]:
    """The differences with a star, the clearest first; all differences where nothing could be tested."""
    sweep, tests = outcome.sweep, outcome.tests
    if not outcome.differences:
        return []
    count, tested = len(outcome.differences), tests.count if tests.tested else 0
    left_out, measures = outcome.short_pairs, len(sweep.measures)
    judged = [(p.factor, p.point) not in left_out for p in (outcome.pairs[k // measures] for k in tests.places)]
    starred = tests.clear & ~np.isnan(tests.holm) & np.asarray(judged, bool)
    chosen = np.argsort(tests.holm, kind="stable")
    chosen = chosen[starred[chosen]] if tested else chosen
    short = {k for k in outcome.warmups if outcome.short(k)}
    rows = []
    for k in chosen[:SHOWN_DIFFERENCES].tolist():
        pair, name, d = outcome.differences[k]
        m = sweep.measure(name)
        stars = d.stars(outcome.corrected[k][0]) if judged[k] else 0
        mark = f" {MARK}" if {pair.point, pair.control} & short else ""
        rows.append(
            [
                f"{label(sweep, sweep.points[pair.point])}{mark}",
                m.label,
                with_sign(d.estimate, m.digits) + f" {'*' * stars:2}",
            ]
        )
    names = [f.name for f in sweep.factors]
    against = ", ".join(sweep.level_called(names.index(name), level) for name, level in sweep.control.items())
    text = f"Differences from {against}:"
    if tested:
        none = f"; no star where a window is too short, {MARK}" if left_out else ""
        text = (
            f"Paired differences from {against} under common random numbers (* the interval excludes zero; ** still so "
            f"after Holm's correction for {counted(tested, 'difference')}: {int((tests.holding & starred).sum()):,} "
            f"are{none})"
        )
        text += ", the clearest first:" if rows else ". None has a star."
    lines = ["", paragraph(text)]
    if rows:
        lines += ["", table(["point", "measure", "difference"], rows, left=2)]
    if count > len(rows):
        lines.append(f"and {count - len(rows):,} more in differences.csv")
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
    """Fill a result folder: tables of runs, points and differences, the document, the sweep's file.

    All are written in one go through the points, because their statistics are dear.
    """
    sweep = outcome.sweep
    with disk.open_text(folder / "sweep.json") as file:
        document = streamed.Writer(file, indent=1)
        for key, value in outcome.head().items():
            document.put(key, value)
        _write_points(folder, outcome, document)
        _write_differences(folder, outcome, document)
        for key, value in {**outcome.tail(), "store": url}.items():
            document.put(key, value)
        document.close()
        file.write("\n")
    _write_runs(folder / "runs.parquet", outcome)
    columns.write(folder, {name: _described(folder / name, outcome) for name in ("points.csv", "differences.csv")})
    disk.write(folder / "sweep.txt", outcome_text(outcome) + "\n")
    disk.write(folder / "appendix.tex", paper.appendix_text(outcome))
    if text := matrix_text.markdown(outcome.matrix, sweep, outcome.summary):
        disk.write(folder / "matrix.md", text)
    if sweep.text:
        disk.write(folder / "sweep.toml", sweep.text)
    if outcome.tally.failures:
        failures = [failure_document(sweep, f) for f in outcome.tally.failures]
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in failures)
        disk.write(folder / "failures.jsonl", text)


def print_json(folder: Path, more: Mapping[str, Any], to: TextIO) -> None:
    """Print the document of a folder that was written, and more, on one line."""
    printed, lists = streamed.Writer(to), ("points", "differences")
    for key, value in streamed.read(folder / "sweep.json", lists):
        (printed.items if key in lists else printed.put)(key, value)
    for key, value in more.items():
        printed.put(key, value)
    printed.close()
    to.write("\n")


def _write_points(folder: Path, outcome: Outcome, document: streamed.Writer) -> None:
    sweep = outcome.sweep
    factors = [f.name for f in sweep.factors]
    parts = ("mean", "lower", "upper", "n")
    document.begin("points")
    tables = paper.Tables(outcome, sweep.measures) if len(sweep.points) <= paper.MOST else None
    with output.csv_rows(folder / "points.csv") as write:
        write(
            [*factors, "label", "window_short", "replicates", *(f"{m.id}_{p}" for m in sweep.measures for p in parts)]
        )
        for row in outcome.rows():
            cells = outcome.row_cells(row)
            document.item(outcome.point_document(row, cells))
            levels = [level.value for level in sweep.points[row.number].levels]
            replicates = 1 if row.same_run else len(row.seeds)
            about = label(sweep, sweep.points[row.number]), _flag(outcome, row.number)
            write([*levels, *about, replicates, *(getattr(c, p) for c in cells.values() for p in parts)])
            if tables is not None:
                tables.add(row, _texts(outcome, cells))
    if tables is not None:
        disk.write(folder / "points.tex", tables.text(None, replication(outcome)))
    document.end()


DIFFERENCE = (
    "mean",
    "lower",
    "upper",
    "n",
    "replicates",
    "relative",
    "control",
    "wins",
    "losses",
    "t_test_p",
    "sign_test_p",
    "wilcoxon_p",
    "detectable",
)


def _write_differences(folder: Path, outcome: Outcome, document: streamed.Writer) -> None:
    document.begin("differences")
    if outcome.differences:
        sweep = outcome.sweep
        with output.csv_rows(folder / "differences.csv") as write:
            factors = [f.name for f in sweep.factors]
            write(
                [
                    *factors,
                    "label",
                    "window_short",
                    "compared_in",
                    "measure",
                    *DIFFERENCE,
                    "t_test_p_holm",
                    "t_test_p_bh",
                ]
            )
            for (pair, m, difference), after in zip(outcome.differences, outcome.corrected, strict=True):
                one = difference_document(pair, m, difference, after)
                document.item(one)
                levels = [x.value for x in sweep.points[pair.point].levels]
                about = label(sweep, sweep.points[pair.point]), _flag(outcome, pair.point, pair.control)
                write([*levels, *about, pair.factor, m, *(one[k] for k in DIFFERENCE), *after])
    document.end()


def _flag(outcome: Outcome, *points: int) -> str:
    """Whether the window of one of these points is too short; empty where that is not known of all."""
    if any(map(outcome.short, points)):
        return "true"
    return "false" if all(k in outcome.warmups for k in points) else ""


def _described(path: Path, outcome: Outcome) -> columns.Columns:
    """The dictionary of a table that was written; empty if it was not."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        head = next(csv.reader(file))
    own = _factors(outcome) | columns.over_seeds((m.id, m.title, m.unit) for m in outcome.sweep.measures)
    return columns.of(head, path.stem, own)


def _write_runs(path: Path, outcome: Outcome) -> None:
    """One row per run: factors, seed, measures; in the order of the points and seeds."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema: dict[str, Any] = {"point": pl.UInt32}
    for factor, numeric in zip(outcome.sweep.factors, outcome.sweep.numeric, strict=True):
        schema[factor.name] = pl.Float64 if numeric else pl.String
    schema["seed"] = pl.Int64
    names = {m.id: f"measure.{m.id}" if m.id in schema else m.id for m in outcome.sweep.measures}
    schema |= dict.fromkeys(names.values(), pl.Float64)

    def pieces(*_: Any) -> Iterator[pl.DataFrame]:
        for frame in outcome.frames():
            numbers, places = np.unique(frame["point"].to_numpy(), return_inverse=True)
            factors = pl.DataFrame(point_values(outcome.sweep, numbers.tolist()))[places]
            whole = frame.rename(names).with_columns(factors.get_columns())
            yield whole.select(pl.col(name).cast(kind) for name, kind in schema.items())

    source = register_io_source(pieces, schema=schema, is_pure=True)
    described = columns.of(schema, "runs", _factors(outcome) | _measures(outcome) | _measures(outcome, "measure."))
    metadata = columns.metadata(described)
    with disk.open_binary(path) as file:
        source.sink_parquet(file, compression="zstd", row_group_size=GROUP, metadata=metadata)


def _factors(outcome: Outcome) -> dict[str, columns.Column]:
    return {f.name: columns.Column(f.unit, f.title) for f in outcome.sweep.factors}


def _measures(outcome: Outcome, prefix: str = "") -> dict[str, columns.Column]:
    return columns.measured(((m.id, m.title, m.unit) for m in outcome.sweep.measures), prefix)
