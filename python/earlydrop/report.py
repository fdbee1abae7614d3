"""What `run` and `compare` print and write. Studies have a package of their own."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import output
from .terminal import number, paragraph, signed, table, with_half_width

if TYPE_CHECKING:
    from .compare import Comparison


# ---- text ----------------------------------------------------------------------------------------------------------


def comparison_text(result: Comparison) -> str:
    """Everything `compare` prints."""
    n = len(result.seeds)
    head = ["", *(result.titles[a] for a in result.aqms)]
    body = []
    for m in result.measures:
        estimates = [result.estimate(a, m.id) for a in result.aqms]
        body.append(
            [m.label, *("-" if e is None else with_half_width(e.mean, e.half_width, m.digits) for e in estimates)]
        )
    lines = [
        f"{result.scenario}: queue {result.queue}, mean over seeds ± 95 % half-width, n = {n}",
        "",
        table(head, body, left=1),
    ]
    first = result.titles[result.aqms[0]]
    if len(result.aqms) > 1:
        head = [f"minus {first}", *(result.titles[a] for a in result.aqms[1:])]
        body = []
        for m in result.measures:
            row = [m.label]
            for aqm in result.aqms[1:]:
                d = result.difference(aqm, m.id)
                if d is None:
                    row.append("-")
                    continue
                half = "" if d.estimate.half_width is None else f" ± {d.estimate.half_width:.{m.digits}f}"
                stars = 0 if not d.clear else 1 + (result.corrected[(aqm, m.id)][0] < 0.05)
                row.append(signed(d.estimate.mean, m.digits) + half + f" {'*' * stars:2}")
            body.append(row)
        tests = len(result.corrected)
        also = f"; ** still so after Holm's correction for {tests} differences" if tests > 1 else ""
        lines += [
            "",
            paragraph(f"Paired differences under common random numbers (* the interval excludes zero{also}):"),
            "",
        ]
        lines += [table(head, body, left=1)]
    for aqm, names in result.dropped.items():
        lines += ["", paragraph(f"{result.titles[aqm]} does not know {', '.join(names)}: run without.")]
    if result.warnings:
        lines.append("")
    lines += [paragraph(f"warning: {text}") for text in result.warnings]
    return "\n".join(lines)


def run_text(document: Mapping[str, Any]) -> str:
    """Everything `run` prints."""
    d = document
    lines = [
        f"{d['scenario']}, seed {d['seed']}: {len(d['flows'])} flows, "
        f"{d['duration_s']:g} s (measured from {d['warmup_s']:g} s)",
        "",
    ]
    head = ["queue", "aqm", "Mbit/s", "util %", "queue", "max", "avg", "delay ms", "p99 ms", "drop %", "marks"]
    body = []
    for name, q in d["queues"].items():
        body.append(
            [
                name,
                q["aqm"],
                number(q["throughput_mbps"], 3),
                number(100 * q["utilisation"], 2),
                number(q["queue_mean_packets"], 2),
                number(q["queue_max_packets"], 0),
                number(q["average_mean_packets"], 2),
                number(q["delay_mean_ms"], 2),
                number(q["delay_p99_ms"], 2),
                number(100 * q["drop_rate"], 3),
                str(q["marks"]),
            ]
        )
    lines += [table(head, body, left=2), ""]
    head = ["queue", "at start", "arrivals", "departures", "early", "forced", "overflow", "at end"]
    body = [
        [
            name,
            *(
                str(q[k])
                for k in (
                    "queued_at_start",
                    "arrivals",
                    "departures",
                    "early_drops",
                    "forced_drops",
                    "overflow_drops",
                    "queued_at_end",
                )
            ),
        ]
        for name, q in d["queues"].items()
    ]
    lines += [table(head, body, left=1), ""]
    goodputs = sorted(f["goodput_mbps"] for f in d["flows"])
    share = ""
    if goodputs:
        share = f" (per flow {goodputs[0]:.4f} to {goodputs[-1]:.4f})"
    lines += [
        f"goodput     {d['goodput_total_mbps']:.3f} Mbit/s{share}",
        f"throughput  {d['throughput_total_mbps']:.3f} Mbit/s",
        f"delay       {number(d['delay_mean_ms'], 3)} ms one way, end to end",
        f"jain        {number(d['jain'], 4)}",
    ]
    cost = d.get("cost") or {}
    if cost.get("wall_s"):
        lines += [f"cost        {cost['wall_s']:.3f} s, {cost.get('events', 0):,} events"]
    return "\n".join(lines)


# ---- folders -------------------------------------------------------------------------------------------------------


def write_comparison(folder: Path, result: Comparison, version: str) -> None:
    """Fill a result folder: summary, runs, figure."""
    from . import compare, plot

    output.write_json(folder / "comparison.json", result.document(version))
    write_csv(folder / "runs.csv", compare.rows(result))
    (folder / "comparison.txt").write_text(comparison_text(result) + "\n", encoding="utf-8")
    n = f"n = {len(result.seeds)}"
    means, differences = comparison_tables(result)
    tables = [latex_table(means[0], means[1:], 1, f"{result.scenario}: mean over seeds, 95 % half-width, {n}")]
    if len(result.aqms) > 1:
        caption = f"Differences from {result.titles[result.aqms[0]]}, seed by seed, {n}"
        tables.append(latex_table(differences[0], differences[1:], 1, caption))
    (folder / "comparison.tex").write_text("\n".join(tables), encoding="utf-8")
    runs = folder / "runs"
    runs.mkdir()
    for (aqm, seed), document in result.runs.items():
        output.write_json(runs / f"{aqm}-seed{seed}.json", document)
    plot.save(plot.comparison(result), folder / "comparison")


def write_run(folder: Path, document: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
    """Fill a result folder, of a simulated run or a real link: the document, its scenario, tables, figure."""
    from . import panel, plot
    from .result import Result

    output.write_json(folder / "result.json", document)
    output.write_json(folder / "scenario.json", scenario)
    queues = [{"queue": name, **values} for name, values in document["queues"].items()]
    for name, rows in (("queues", queues), ("flows", document["flows"])):
        if rows:
            head = list(rows[0])
            write_csv(folder / f"{name}.csv", [head, *([row.get(k) for k in head] for row in rows)])
            write_parquet(folder / f"{name}.parquet", rows)
    series = Result(document, scenario).series
    if series is not None:
        series.write_parquet(folder / "series.parquet")
    text = panel.link_text(document) if document.get("kind") == "link" else run_text(document)
    (folder / "result.txt").write_text(text + "\n", encoding="utf-8")
    plot.save(plot.run_figure(document), folder / "result")


def write_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet: what is one value each, and not a table of its own."""
    import polars

    plain = [{k: v for k, v in row.items() if not isinstance(v, (Mapping, list))} for row in rows]
    # A column of tables is one in every row that has any.
    nested = {k for row in rows for k, v in row.items() if isinstance(v, (Mapping, list))}
    table_ = [{k: v for k, v in row.items() if k not in nested} for row in plain]
    polars.DataFrame(table_, infer_schema_length=None).write_parquet(path)


def write_csv(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write a table whose first row is its head."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


# ---- LaTeX ---------------------------------------------------------------------------------------------------------

_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int, caption: str) -> str:
    """A table for a paper, with the rules of the package booktabs. ± and minus signs are set as mathematics."""
    return latex_head(head, left, caption) + "".join(map(latex_row, rows)) + LATEX_END


def latex_head(head: Sequence[str], left: int, caption: str) -> str:
    """What stands before the rows of such a table."""
    lines = [
        "% Needs \\usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(caption)}}}",
        rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(head) - left)}}}",
        r"\toprule",
        " & ".join(_latex(cell) for cell in head) + r" \\",
        r"\midrule",
    ]
    return "\n".join(lines) + "\n"


def latex_row(row: Sequence[str]) -> str:
    """A row of such a table."""
    return " & ".join(_latex(cell) for cell in row) + " \\\\\n"


LATEX_END = "\\bottomrule\n\\end{tabular}\n\\end{table}\n"


def _latex(cell: str) -> str:
    text = cell.strip().translate(_SPECIAL)
    if text.startswith("-") and text[1:2].isdigit():
        text = "$-$" + text[1:]
    return text.replace("±", r"$\pm$")


def comparison_tables(result: Comparison) -> tuple[list[list[str]], list[list[str]]]:
    """Means and differences of a comparison as tables of text, each with a head."""
    means = [["", *(result.titles[a] for a in result.aqms)]]
    differences = [["", *(result.titles[a] for a in result.aqms[1:])]]
    for m in result.measures:
        estimates = [result.estimate(a, m.id) for a in result.aqms]
        cells = ["-" if e is None else with_half_width(e.mean, e.half_width, m.digits) for e in estimates]
        means.append([m.label, *cells])
        cells = []
        for aqm in result.aqms[1:]:
            d = result.differences[aqm][m.id]
            cells.append("-" if d is None else with_half_width(d.estimate.mean, d.estimate.half_width, m.digits))
        differences.append([m.label, *cells])
    return means, differences
