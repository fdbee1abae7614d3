"""What `compare` prints, and what `run` and `compare` write. Studies have a package of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import columns, disk, output
from ..analysis import words
from ..terminal import CUT, paragraph, table, with_interval, with_sign
from . import appendix, latex
from .latex import MARK
from .run_text import run_text

if TYPE_CHECKING:
    import polars

    from ..analysis.paired import Comparison


# ---- text ----------------------------------------------------------------------------------------------------------


def comparison_text(result: Comparison, *, said: bool = True) -> str:
    """Everything `compare` prints; `said` has it begin with what was found in words."""
    means, differences = comparison_tables(result)
    means = marked(result, means)
    lines = [*map(paragraph, words.sentences([("", result)])), ""] if said else []
    lines += [
        paragraph(f"{result.scenario}: {result.where}, {replication(result)}"),
        *(paragraph(line, "  ") for line in result.said),
        "",
        table(means[0], means[1:], left=1),
    ]
    if cut := cut_note(means):
        lines += ["", paragraph(f"{cut}.")]
    if mark := mark_note(means):
        lines += ["", paragraph(f"{mark}.")]
    if len(result.aqms) > 1:
        head, *body = marked(result, differences)
        for row, m in zip(body, result.measures, strict=True):
            row[1:] = [
                f"{cell} {'*' * result.stars(aqm, m.id):2}" for cell, aqm in zip(row[1:], result.aqms[1:], strict=True)
            ]
        tests = len(result.corrected)
        also = f"; ** still so after Holm's correction for {tests} differences" if tests > 1 else ""
        legend = f" (* the interval excludes zero{also})" if tests else ""
        what = "Paired differences under common random numbers" if result.replicated else "Differences"
        lines += ["", paragraph(f"{what}{legend}:"), "", table(head, body, left=1)]
    for note in result.notes:
        lines += ["", paragraph(f"note: {note}")]
    for aqm, names in result.dropped.items():
        lines += ["", paragraph(f"{result.titles[aqm]} does not know {', '.join(names)}: run without.")]
    if result.warnings:
        lines.append("")
    lines += [paragraph(f"warning: {text}") for text in result.warnings]
    return "\n".join(lines)


def replication(result: Comparison) -> str:
    """The replications behind the numbers of a table."""
    n = len(result.seeds)
    if n == 1:
        return "one seed"
    return f"mean over seeds ± 95 % half-width, n = {n}" if result.replicated else f"one run (all {n} seeds give it)"


MARKED = f"{MARK}: the window is too short for its means"
BY_SEED = (
    "Means over seeds have 95 % intervals of Student's t; differences are paired by seed, and their p values corrected "
    "after Holm."
)


def marked(result: Comparison, means: Sequence[list[str]]) -> list[list[str]]:
    """A table of means or differences, with (!) in its head behind disciplines whose windows are too short."""
    short = {result.titles[aqm] for aqm, judged in result.warmups.items() if judged.short}
    short |= {f"minus {title}" for title in short}
    return [[f"{title} {MARK}" if title in short else title for title in means[0]], *means[1:]]


def mark_note(rows: Sequence[Sequence[str]]) -> str:
    """A table's note on its (!); empty where it has none."""
    return MARKED if any(MARK in cell for cell in rows[0]) else ""


def cut_note(rows: Sequence[Sequence[str]]) -> str:
    """A table's note on intervals that are cut at a bound; empty where it has none."""
    return CUT if any("[" in cell for row in rows[1:] for cell in row[1:]) else ""


# ---- folders -------------------------------------------------------------------------------------------------------


def write_comparison(folder: Path, result: Comparison, version: str) -> None:
    """Fill a result folder: summary, scenario, runs, figure, page."""
    from . import comparison_report, plotting

    write_runs(folder, result)
    output.write_json(folder / "comparison.json", result.document(version))
    output.write_json(folder / "scenario.json", result.base)
    disk.write(folder / "comparison.txt", comparison_text(result) + "\n")
    # Of measures that were asked for these alone, as `to_latex` has it; comparison.txt has the rest.
    asked = [k for k, m in enumerate(result.measures, 1) if m.asked] or range(1, len(result.measures) + 1)
    means, differences = (marked(result, [one[k] for k in (0, *asked)]) for one in comparison_tables(result))
    label = latex.label(result.scenario)
    tables = [latex.table(means[0], means[1:], 1, _caption(result, means), label)]
    if len(result.aqms) > 1:
        by_seed = f", seed by seed, n = {len(result.seeds)}" if result.replicated else ""
        caption = f"Differences from {result.titles[result.aqms[0]]}{by_seed}"
        tables.append(latex.table(differences[0], differences[1:], 1, caption, f"{label}-differences"))
    disk.write(folder / "comparison.tex", latex.NEEDS + "\n".join(tables))
    disk.write(folder / "appendix.tex", comparison_appendix(result, version))
    plotting.save(plotting.comparison(result), folder / "comparison")
    comparison_report.write(folder, result, version)


def write_runs(folder: Path, result: Comparison) -> None:
    """The runs of a comparison: a table of the measures, and each result document."""
    from ..analysis import paired

    rows = paired.rows(result)
    write_csv(folder / "runs.csv", rows)
    measures = columns.measured((m.id, m.title, m.unit) for m in result.measures)
    columns.write(folder, {"runs.csv": columns.of(rows[0], "runs", measures)})
    runs = folder / "runs"
    disk.make_folder(runs)
    for (aqm, seed), document in result.runs.items():
        output.write_json(runs / run_file(aqm, seed), document)


def run_file(aqm: str, seed: int) -> str:
    """The name of a run's result document."""
    return f"{re.sub('[^A-Za-z0-9_.=-]+', '_', aqm)}-seed{seed}.json"


def _caption(result: Comparison, means: Sequence[Sequence[str]]) -> str:
    found = f"{result.scenario}: {replication(result)}"
    found = "; ".join(text for text in (found, *result.said, cut_note(means), mark_note(means)) if text)
    return "; ".join([found, *(note for note in result.notes if result.replicated or note != result.note)])


def write_run(
    folder: Path,
    document: Mapping[str, Any],
    scenario: Mapping[str, Any],
    flows: Callable[[], polars.DataFrame] | None = None,
) -> None:
    """Fill a result folder, of a simulated run or a real link: the document, its scenario, tables, figure.

    `flows` makes the table of the flows where the document has a summary of them.
    """
    from ..result import Result
    from . import link_status, plotting

    output.write_json(folder / "result.json", document)
    output.write_json(folder / "scenario.json", scenario)
    queues = [{"queue": name, **values} for name, values in document["queues"].items()]
    described = {}
    for name, rows in (("queues", queues), ("flows", document.get("flows"))):
        if rows:
            table_ = _plain(rows)
            # Flows of different kinds have different fields.
            head = list(dict.fromkeys(key for row in table_ for key in row))
            described[f"{name}.csv"] = columns.of(head, name)
            write_csv(folder / f"{name}.csv", [head, *([row.get(k) for k in head] for row in table_)])
            write_parquet(folder / f"{name}.parquet", table_, described[f"{name}.csv"])
    if flows is not None:
        found = flows()
        with disk.open_binary(folder / "flows.parquet") as file:
            found.write_parquet(file, metadata=columns.metadata(columns.of(found.columns, "flows")))
    columns.write(folder, described)
    series = Result(document, scenario).series
    if series is not None:
        metadata = columns.metadata(columns.of(series.columns, "series"))
        with disk.open_binary(folder / "series.parquet") as file:
            series.write_parquet(file, metadata=metadata)
    text = link_status.link_text(document) if document.get("kind") == "link" else run_text(document)
    disk.write(folder / "result.txt", text + "\n")
    plotting.save(plotting.run_figure(document), folder / "result")


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]], described: columns.Columns) -> None:
    """Write rows of one value each as Parquet, with its columns' descriptions in the metadata."""
    import polars

    frame = polars.DataFrame(rows, infer_schema_length=None)
    with disk.open_binary(path) as file:
        frame.write_parquet(file, metadata=columns.metadata(described))


def _plain(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The columns with one value in each row and no table of their own."""
    nested = {k for row in rows for k, v in row.items() if isinstance(v, (Mapping, list))}
    return [{k: v for k, v in row.items() if k not in nested} for row in rows]


def write_csv(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write a table whose first row is its head."""
    with output.csv_rows(path) as write:
        for row in rows:
            write(row)


# ---- LaTeX ---------------------------------------------------------------------------------------------------------


def latex_comparison(results: Sequence[tuple[str, Comparison]], measures: Sequence[str], caption: str | None) -> str:
    """Means and intervals of comparisons of the same disciplines.

    Each pair has the round-trip time, or "" where there is one comparison: that is one table, several are a table for
    each measure.
    """
    first = results[0][1]
    places = [[m.id for m in first.measures].index(name) + 1 for name in measures]
    tables = [marked(result, comparison_tables(result)[0]) for _, result in results]
    if len(results) == 1:
        ((head, *body),) = tables
        chosen = [head, *(body[k - 1] for k in places)]
        said = _caption(first, chosen) if caption is None else caption
        return latex.NEEDS + latex.table(chosen[0], chosen[1:], 1, said, latex.label(first.scenario))
    made = []
    for k in places:
        m = first.measures[k - 1]
        head = ["RTT", *(first.titles[aqm] for aqm in first.aqms)]
        # The head of all rows has no mark: it stands at the numbers.
        rows = [
            [
                rtt,
                *(
                    f"{cell} {MARK}" if MARK in title else cell
                    for cell, title in zip(one[k][1:], one[0][1:], strict=True)
                ),
            ]
            for (rtt, _), one in zip(results, tables, strict=True)
        ]
        notes = [cut_note([head, *rows]), MARKED if any(MARK in cell for row in rows for cell in row) else ""]
        default = "; ".join(
            [f"{first.scenario}: {replication(first)}", *first.said, *filter(None, notes), *first.notes]
        )
        said = f"{m.label}; {default if caption is None else caption}"
        made.append(latex.table(head, rows, 1, said, latex.label(first.scenario, m.id)))
    return latex.NEEDS + "\n".join(made)


def comparison_appendix(result: Comparison, version: str) -> str:
    """The appendix of a paper on a comparison."""
    n, first = len(result.seeds), result.seeds[0]
    each = "one seed" if n == 1 else f"the same {n} seeds, from {first}"
    how = [
        f"Each discipline at the {result.where} with {each}; measured from {result.base['warmup']} to "
        f"{result.base['duration']}.",
        *([BY_SEED] if result.replicated else []),
    ]
    names = ["Name", "Discipline"], [[result.titles[aqm], aqm] for aqm in result.aqms]
    return appendix.text(result.scenario, version, how, names, result.base, "scenario.json")


def comparison_tables(result: Comparison) -> tuple[list[list[str]], list[list[str]]]:
    """Means and differences of a comparison as tables of text, each with a head."""
    means = [["", *(result.titles[a] for a in result.aqms)]]
    differences = [[f"minus {result.titles[result.aqms[0]]}", *(result.titles[a] for a in result.aqms[1:])]]
    for m in result.measures:
        means.append([m.label, *(with_interval(result.estimate(a, m.id), m.digits, m.bounds) for a in result.aqms)])
        found = [result.differences[a][m.id] for a in result.aqms[1:]]
        differences.append([m.label, *("-" if d is None else with_sign(d.estimate, m.digits) for d in found)])
    return means, differences
