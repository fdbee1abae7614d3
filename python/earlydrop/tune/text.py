"""What `tune` prints."""

from __future__ import annotations

from collections.abc import Sequence

from ..toml_writer import toml_value
from .parameter_effects import Effect, Method
from .search import Found
from .search_space import formed


def found_text(found: Found) -> str:
    """Everything `tune` prints."""
    from ..terminal import number, paragraph, table, with_sign

    head = ["", *(p.name for p in found.parameters), *(o.measure.label for o in found.objectives)]
    base = [str(found.baseline[p.name]) for p in found.parameters]
    rows = [
        [
            "scenario's own",
            *base,
            *(number(s, o.measure.digits) for o, s in zip(found.objectives, found.start, strict=True)),
        ]
    ]
    first = found.objectives[0]
    for t in sorted(found.front, key=lambda t: t.scores[0], reverse=first.larger)[:20]:
        scores = [number(s, o.measure.digits) for o, s in zip(found.objectives, t.scores, strict=True)]
        rows.append([f"trial {t.number}", *(f"{t.values[p.name]:.4g}" for p in found.parameters), *scores])
    called = found.label or found.aqm
    lines = [
        f"{found.scenario}: {called} at queue {found.queue}, {len(found.trials)} trials of {found.seeds} seeds each"
        + (f", {found.refused} refused" if found.refused else ""),
        "",
        *(f"  {p.shown()}" for p in found.parameters),
        "",
        f"The {len(found.front)} trials that no other beats in everything (mean over {found.seeds} seeds):",
        "",
        table(head, rows, left=1),
    ]
    if found.best is None:
        return "\n".join([*lines, "", "No trial could be run."])
    rows = []
    for o, d in zip(found.objectives, found.differences, strict=True):
        m = o.measure
        judged = "better" if o.better(d) else "worse" if d.clear else "no clear difference"
        shown = [m.label, number(d.control, m.digits), with_sign(d.estimate, m.digits)]
        rows.append([*shown, "" if found.same_run else judged])
    lines += [
        "",
        f"Trial {found.best.number} against the scenario's own parameters on {found.confirmed} fresh seeds:",
        "",
        table(["", "own", "difference", ""], rows, left=1),
        "",
    ]
    if found.note:
        lines += [paragraph(f"note: {found.note}"), ""]
    if found.success:
        values = "\n".join(
            f"    {p.name} = {toml_value(formed(p, found.best.values[p.name]))}" for p in found.parameters
        )
        return "\n".join(
            [*lines, "It is better in all of them. In the scenario:", "", f"    [queue.{found.queue}]", values]
        )
    last = "Nothing is confirmed." if found.same_run else "None was found that is better in all objectives."
    return "\n".join([*lines, last])


def effects_text(effects: Sequence[Effect], method: Method, count: int) -> str:
    """The table of a sensitivity analysis."""
    from ..terminal import table

    names = ("mu*", "mu", "sigma") if method == "morris" else ("total", "first order", "± of total")
    rows = [
        [e.objective, e.parameter, f"{e.total:.4g}", f"{e.alone:.4g}", f"{e.spread:.4g}"]
        for e in sorted(effects, key=lambda e: (e.objective, -e.total))
    ]
    title = "Morris' elementary effects" if method == "morris" else "Sobol's indices"
    return f"{title}, {count:,} choices\n\n" + table(["objective", "parameter", *names], rows, left=2)
