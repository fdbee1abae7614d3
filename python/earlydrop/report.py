"""Reports: one HTML file that needs no other, and figures a paper could use."""

from __future__ import annotations

import csv
import html
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import output
from . import study as studies
from .documents import to_toml
from .statistics import Estimate
from .study import ClaimResult, Level, Measure, Outcome, PartResult, Study
from .terminal import number, paragraph, signed, table, with_half_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .compare import Comparison

MINUS = "\u2212"


def percent(value: float | None, digits: int = 2) -> str:
    """`+1.23 %`."""
    return "-" if value is None else f"{signed(100 * value, digits)} %"


# ---- what a claim's result says, in words -------------------------------------------------------------------------


def effect_text(study: Study, part: PartResult) -> str:
    """The effect with its interval, as a short text."""
    measure = study.measure(part.part.measure)
    if part.part.expect == "spread":
        ends = "" if part.lower is None else f" [{_pc(part.lower)}, {_pc(part.upper)}]"
        return f"largest spread {_pc(part.effect)}{ends} % ({part.cell}); bound {100 * part.part.bound:g} %"
    digits = _digits(part, measure)
    ends = "" if part.lower is None else f" [{signed(part.lower, digits)}, {signed(part.upper, digits)}]"
    return f"{signed(part.effect, digits)}{ends} {measure.unit} ({percent(part.relative, _percent_digits(part))})"


def _digits(part: PartResult, measure: Measure) -> int:
    """Digits after the point: the measure's, and more where the interval or its ends would not be seen with them."""
    return max(measure.digits, _needed(part, 1.0))


def _percent_digits(part: PartResult) -> int:
    return max(2, _needed(part, 100 / abs(part.control))) if part.control else 2


def _needed(part: PartResult, scale: float) -> int:
    if part.lower is None or part.upper is None:
        return 0
    sizes = (part.upper - part.effect, part.lower, part.upper)
    return max(_shows(abs(scale * x)) for x in sizes)


def _shows(half: float) -> int:
    """Digits after the point that show the first figure of `half`, at most six."""
    return min(6, -math.floor(math.log10(half))) if half > 0 else 0


def _pc(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def published_text(part: PartResult) -> str:
    """What the paper's own table says about this part."""
    p = part.published
    if p is None:
        return ""
    if part.part.expect == "spread":
        return f"published: at most {_pc(p.relative)} %, {p.agreeing} of {p.rows} series within the bound"
    text = f"published: {percent(p.relative)}, {p.agreeing} of {p.rows} rows agree"
    if part.reproduces_size is not None:
        text += "; " + ("inside" if part.reproduces_size else "outside") + " our interval"
    return text + ("; the paper's own table contradicts the claim" if p.contradicts else "")


def doubt_text(study: Study, part: PartResult) -> str:
    """For an undecided part: the smallest effect these seeds could have shown."""
    if part.verdict != studies.UNDECIDED:
        return ""
    if part.part.expect == "spread" and len(study.sweep.values) < 2:
        return f"one value of the {study.sweep.name} has no spread"
    if part.detectable is None:
        return "one seed has no interval: at least two are needed"
    measure = study.measure(part.part.measure)
    if part.part.expect == "spread":
        return f"these seeds could have shown a distance of {_pc(part.detectable)} points from the bound"
    size = f"{part.detectable:.{max(measure.digits, _shows(part.detectable))}f} {measure.unit}"
    if part.control:
        share = 100 * part.detectable / abs(part.control)
        size += f" ({share:.{max(2, _shows(share))}f} %)"
    return f"smallest effect these seeds could have shown: {size}"


def tally(results: Sequence[ClaimResult], reading: str) -> str:
    """`4 supported, 1 contradicted, 1 undecided`."""
    verdicts = [r.verdict for r in results if r.reading == reading]
    counts = [(verdicts.count(v), v) for v in (studies.SUPPORTED, studies.CONTRADICTED, studies.UNDECIDED)]
    return ", ".join(f"{n} {v}" for n, v in counts if n)


def sizes(results: Sequence[ClaimResult], reading: str) -> str:
    """How many published effects have the size we find; empty where the reading has nothing published."""
    inside = [p.reproduces_size for r in results if r.reading == reading for p in r.parts]
    known = [x for x in inside if x is not None]
    return f"{sum(known)} of {len(known)} published effects lie inside our intervals" if known else ""


def quick_note(study: Study) -> str:
    """What a quick run has left out; empty for a full one."""
    if not study.quick:
        return ""
    points = f"{len(study.sweep.values)} of {study.all_points} values of the {study.sweep.name}"
    return f"Quick run: {study.seeds} seeds, {points}, {study.scenario['duration']} a run. A look, not a result."


# ---- text ----------------------------------------------------------------------------------------------------------


def study_text(outcome: Outcome, results: Sequence[ClaimResult], paint: Any = lambda text, kind: text) -> str:
    """Everything `reproduce` prints: the cells, the comparison with the paper, the verdicts."""
    study = outcome.study
    lines = [f"{study.title} ({study.name})", study.source.get("paper", "")]
    if study.quick:
        lines += ["", quick_note(study)]
    for reading in sorted(study.readings, key=lambda r: not r.primary):
        lines += ["", "", f"== {reading.title}", paragraph(reading.summary)]
        for measure in study.main_measures:
            for panel in study.panels:
                lines += ["", _cells_text(outcome, reading, panel, measure)]
    lines += ["", "", "== Claims", ""]
    for reading in sorted(study.readings, key=lambda r: not r.primary):
        counted = "; ".join(x for x in (tally(results, reading.id), sizes(results, reading.id)) if x)
        lines += [paragraph(f"{reading.id} ({reading.short}): {counted}"), ""]
        for result in results:
            if result.reading == reading.id:
                lines += [_claim_text(study, result, paint), ""]
    if study.quick:
        lines += [quick_note(study)]
    return "\n".join(lines).rstrip()


def _cells_text(outcome: Outcome, reading: Level, panel: Level, measure: Measure) -> str:
    study = outcome.study
    head = [study.sweep.title, *(d.title for d in study.disciplines)]
    body = []
    for value in study.sweep.values:
        cells = [outcome.estimate(reading.id, panel.id, value, d.id, measure.id) for d in study.disciplines]
        body.append([f"{value:g}", *(_mean_text(c, measure) for c in cells)])
    title = f"{measure.label}, {panel.title}: mean over seeds ± 95 % half-width, n = {len(outcome.seeds)}"
    return title + "\n" + table(head, body, left=1, indent="  ")


def _mean_text(estimate: Estimate | None, measure: Measure) -> str:
    return "-" if estimate is None else with_half_width(estimate.mean, estimate.half_width, measure.digits)


def _claim_text(study: Study, result: ClaimResult, paint: Any) -> str:
    verdict = paint(f"{result.verdict:<12}", result.verdict)
    lines = [f"{result.claim.id:<5}{verdict}  {result.claim.text}"]
    for part in result.parts:
        title = study.measure(part.part.measure).title.lower()
        own = f"{part.verdict}: " if len(result.parts) > 1 else ""
        lines.append(paragraph(f"{title}: {own}{effect_text(study, part)}, n = {part.n}", "     "))
        for more in (doubt_text(study, part), published_text(part)):
            if more:
                lines.append(paragraph(more, "       "))
    return "\n".join(lines)


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
                clear = (
                    d.estimate.lower is not None
                    and d.estimate.upper is not None
                    and (d.estimate.lower > 0 or d.estimate.upper < 0)
                )
                row.append(signed(d.estimate.mean, m.digits) + half + (" *" if clear else "  "))
            body.append(row)
        lines += ["", "Paired differences under common random numbers (* the interval excludes zero):", ""]
        lines += [table(head, body, left=1)]
    for aqm, names in result.dropped.items():
        lines += ["", paragraph(f"{result.titles[aqm]} does not know {', '.join(names)}: run without.")]
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


def write_study(folder: Path, outcome: Outcome, results: Sequence[ClaimResult], version: str) -> Path:
    """Fill a result folder: report, figures, tables, scenarios. Returns the report's path."""
    study = outcome.study
    document = studies.document(outcome, results, version)
    output.write_json(folder / "result.json", document)
    write_csv(folder / "runs.csv", studies.rows(outcome))
    (folder / "verdicts.txt").write_text(study_text(outcome, results) + "\n", encoding="utf-8")
    places = folder / "scenarios"
    places.mkdir()
    for reading in study.readings:
        middle = study.sweep.values[len(study.sweep.values) // 2]
        panel = study.panels[len(study.panels) // 2]
        cell = study.document(reading, panel, study.discipline(study.treatment), middle)
        cell["name"] = f"{study.name}-{reading.id}"
        (places / f"{reading.id}.toml").write_text(to_toml(cell), encoding="utf-8")
    figures = folder / "figures"
    figures.mkdir()
    shown = _study_figures(outcome, results, figures)
    page = _page(outcome, results, document, shown, version)
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def write_comparison(folder: Path, result: Comparison, version: str) -> None:
    """Fill a result folder: summary, runs, figure."""
    from . import compare, plot

    output.write_json(folder / "comparison.json", result.document(version))
    write_csv(folder / "runs.csv", compare.rows(result))
    (folder / "comparison.txt").write_text(comparison_text(result) + "\n", encoding="utf-8")
    runs = folder / "runs"
    runs.mkdir()
    for (aqm, seed), document in result.runs.items():
        output.write_json(runs / f"{aqm}-seed{seed}.json", document)
    plot.save(plot.comparison(result), folder / "comparison")


def write_run(folder: Path, document: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
    """Fill a result folder: the document, its scenario, tables, figure."""
    from . import plot

    output.write_json(folder / "result.json", document)
    output.write_json(folder / "scenario.json", scenario)
    queues = [{"queue": name, **values} for name, values in document["queues"].items()]
    for name, rows in (("queues", queues), ("flows", document["flows"])):
        if rows:
            head = list(rows[0])
            write_csv(folder / f"{name}.csv", [head, *([row.get(k) for k in head] for row in rows)])
    (folder / "result.txt").write_text(run_text(document) + "\n", encoding="utf-8")
    plot.save(plot.run_figure(document), folder / "result")


def write_csv(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write a table whose first row is its head."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def curves(study: Study) -> list[Any]:
    """The study's drop curves, evaluated."""
    import json

    from . import _core
    from .plot import DropCurve

    low, high = study.curve_options.get("range", [0, 100])
    steps = 1200
    averages = [low + (high - low) * k / steps for k in range(steps + 1)]
    drawn = []
    for curve in study.curves:
        values = _core.drop_curve(curve.aqm, json.dumps(dict(curve.parameters)), averages)
        if values is not None:
            drawn.append(DropCurve(curve.title, averages, values, curve.aside))
    return drawn


class _Shown:
    """Figures for the page: each saved beside it as PNG and PDF, and embedded."""

    def __init__(self, folder: Path, note: str) -> None:
        self.folder, self.note = folder, note

    def __call__(self, drawing: Figure, name: str, title: str, text: str = "", runs: bool = True) -> dict[str, str]:
        from . import plot

        # What does not come from runs is as good in a quick study as in a full one.
        note = self.note if runs else ""
        plot.save(drawing, self.folder / name, note)
        return {
            "name": name,
            "title": title,
            "text": text,
            "data": plot.embedded(drawing, note),
            "files": f"figures/{name}.png, figures/{name}.pdf",
        }


def _study_figures(outcome: Outcome, results: Sequence[ClaimResult], folder: Path) -> dict[str, Any]:
    from . import plot

    study = outcome.study
    show = _Shown(folder, quick_note(study))
    pair = [study.discipline(study.control), study.discipline(study.treatment)]
    found: dict[str, Any] = {
        "effects": show(
            plot.effects(outcome, results),
            "effects",
            "Effects behind the claims",
            "Each line is one part of a claim; the arrow at the right shows the claimed direction.",
        ),
        "paper": [
            show(
                plot.sweep_figure(outcome, study.primary, study.panel(f.panel), study.measure(f.measure), pair),
                f.id,
                f.title,
            )
            for f in study.figures
        ],
        "grids": [
            show(
                plot.sweep_grid(outcome, reading),
                f"all-{reading.id}",
                f"All disciplines, {reading.id}",
                "Lines: means over the seeds; bands: 95 % intervals.",
            )
            for reading in study.readings
        ],
    }
    if study.curves:
        options = study.curve_options
        detail = options.get("detail")
        drawing = plot.drop_curves(curves(study), options.get("marks", {}), tuple(detail) if detail else None)
        found["curves"] = show(drawing, "drop-curves", "Drop curves", options.get("caption", ""), runs=False)
    return found


# ---- the page ------------------------------------------------------------------------------------------------------


def _page(
    outcome: Outcome,
    results: Sequence[ClaimResult],
    document: Mapping[str, Any],
    figures: Mapping[str, Any],
    version: str,
) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    study = outcome.study
    environment = Environment(
        loader=PackageLoader("earlydrop", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    readings = sorted(study.readings, key=lambda r: not r.primary)
    return environment.get_template("study.html.j2").render(
        study=study,
        version=version,
        note=quick_note(study),
        readings=readings,
        claims=_claim_rows(study, results, [r.id for r in readings]),
        tallies={r.id: tally(results, r.id) for r in readings},
        sizes={r.id: sizes(results, r.id) for r in readings},
        figures=figures,
        published=[_published_table(outcome, panel) for panel in study.panels] if study.published else [],
        beside={r.id: _beside_tables(outcome, r) for r in readings},
        cells={r.id: _cell_tables(outcome, r) for r in readings},
        seeds=list(outcome.seeds),
        cost=outcome.cost,
        scenario=to_toml(study.scenario),
        overlays=_overlays(study),
        treatment=study.discipline(study.treatment).title,
        control=study.discipline(study.control).title,
    )


def prose(text: str) -> Any:
    """Text with `code` in backquotes, safe for a page."""
    from markupsafe import Markup

    escaped = html.escape(text, quote=False)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))


def _claim_rows(study: Study, results: Sequence[ClaimResult], readings: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for claim in study.claims:
        found = {r.reading: r for r in results if r.claim.id == claim.id}
        rows.append(
            {
                "claim": claim,
                "readings": [
                    {
                        "id": name,
                        "verdict": found[name].verdict,
                        "parts": [
                            {
                                "title": study.measure(p.part.measure).title,
                                "verdict": p.verdict,
                                "effect": effect_text(study, p).replace("-", MINUS),
                                "n": p.n,
                                "doubt": doubt_text(study, p),
                                "published": published_text(p).replace(" -", " " + MINUS),
                                "wins": p.wins,
                                "sign": None if p.sign_test_p is None else f"{p.sign_test_p:.3g}",
                            }
                            for p in found[name].parts
                        ],
                    }
                    for name in readings
                ],
            }
        )
    return rows


def _published_table(outcome: Outcome, panel: Level) -> dict[str, Any]:
    """The paper's rows beside ours in the primary reading."""
    study, reading = outcome.study, outcome.study.primary
    pair = [study.discipline(study.control), study.discipline(study.treatment)]
    tables = []
    for measure in study.main_measures:
        rows = []
        for value in sorted({v for p, v, _, _ in study.published if p == panel.id}):
            if value not in study.sweep.values:
                continue
            row = [f"{value:g}"]
            for discipline in pair:
                theirs = study.published.get((panel.id, value, discipline.id, measure.id))
                ours = outcome.estimate(reading.id, panel.id, value, discipline.id, measure.id)
                gap = None if theirs is None or ours is None else ours.mean - theirs
                row += [
                    number(theirs, measure.digits),
                    _mean_text(ours, measure),
                    signed(gap, measure.digits).replace("-", MINUS),
                ]
            a, b = ((panel.id, value, d.id, measure.id) for d in pair)
            theirs_gap = None
            if a in study.published and b in study.published:
                theirs_gap = study.published[b] - study.published[a]
            row.append(signed(theirs_gap, measure.digits).replace("-", MINUS))
            row.append(_paired_text(outcome, reading, panel, value, measure).replace("-", MINUS))
            rows.append(row)
        tables.append({"measure": measure, "rows": rows})
    return {"panel": panel, "tables": tables}


def _paired_text(outcome: Outcome, reading: Level, panel: Level, value: float, measure: Measure) -> str:
    from .statistics import paired

    study = outcome.study
    difference = paired(
        outcome.series(reading.id, panel.id, value, study.treatment, measure.id),
        outcome.series(reading.id, panel.id, value, study.control, measure.id),
    ).estimate
    half = "" if difference.half_width is None else f" ± {difference.half_width:.{measure.digits}f}"
    return signed(difference.mean, measure.digits) + half


def _beside_tables(outcome: Outcome, reading: Level) -> list[dict[str, Any]]:
    """All disciplines and measures in one reading, averaged over the sweep."""
    study = outcome.study
    return [
        {
            "panel": panel,
            "rows": [
                [
                    discipline.title,
                    *(
                        _mean_text(outcome.over_sweep(reading.id, panel.id, discipline.id, m.id), m)
                        for m in study.measures
                    ),
                ]
                for discipline in study.disciplines
            ],
        }
        for panel in study.panels
    ]


def _cell_tables(outcome: Outcome, reading: Level) -> list[dict[str, Any]]:
    """Every cell of one reading."""
    study = outcome.study
    return [
        {
            "panel": panel,
            "measure": measure,
            "rows": [
                [
                    f"{value:g}",
                    *(
                        _mean_text(outcome.estimate(reading.id, panel.id, value, d.id, measure.id), measure)
                        for d in study.disciplines
                    ),
                ]
                for value in study.sweep.values
            ],
        }
        for measure in study.main_measures
        for panel in study.panels
    ]


def _overlays(study: Study) -> list[tuple[str, str]]:
    found = []
    for kind, levels in (("reading", study.readings), ("load", study.panels), ("discipline", study.disciplines)):
        for level in levels:
            changes = "\n".join(f"{path} = {_plain(value)}" for path, value in level.set.items()) or "(no change)"
            found.append((f"{kind} {level.title}", changes))
    sweep = study.sweep
    found.append((f"sweep {sweep.name}", f"{sweep.path} = {', '.join(f'{v:g}' for v in sweep.values)} {sweep.unit}"))
    return found


def _plain(value: Any) -> str:
    return (
        to_toml({"x": value}).removeprefix("x = ").strip()
        if not isinstance(value, Mapping)
        else "\n  " + (to_toml(value).strip().replace("\n", "\n  "))
    )
