"""A fit in words, as TOML and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..terminal import table
from . import Fit, Held, Measure


def toml(fit: Fit, name: str) -> str:
    """The model as a file that a link's key `model` reads."""
    trace = fit.trace
    lines = [f"# Fitted by `earlydrop link-model fit` to {name} ({about(fit)}).", 'name = "process"']
    memory = ", ".join(f'["{time:.4g} s", {weight:.4f}]' for time, weight in fit.memory)
    if trace.kind == "rate":
        points = ", ".join(f'[{share:g}, "{value / 1e6:.6g} Mbit/s"]' for share, value in fit.quantiles)
        lines += [f'step = "{trace.step_s:g} s"', f"rate = [{points}]", f"memory = [{memory}]"]
    else:
        points = ", ".join(f'[{share:g}, "{1e3 * value:.6g} ms"]' for share, value in fit.quantiles)
        lines += [
            f"# On top of the smallest round-trip time, {1e3 * fit.base_s:.6g} ms, which the links' own delays have.",
            f'delay_step = "{trace.step_s:g} s"',
            f"delay = [{points}]",
            f"delay_memory = [{memory}]",
        ]
    return "\n".join([*lines, ""])


def about(fit: Fit) -> str:
    """What the trace has."""
    trace = fit.trace
    of = "rates" if trace.kind == "rate" else "round-trip times"
    lost = f", {100 * trace.lost:.2g} % of the probes lost" if trace.lost else ""
    return f"{trace.program}: {len(trace.values):,} {of}, one each {trace.step_s:g} s{lost}"


def text(fit: Fit, name: str) -> str:
    """Both tables, or why nothing fits."""
    if fit.why_not:
        return f"{name} ({about(fit)}): no model of this kind fits: {fit.why_not}"
    scale, unit = (1e-6, "Mbit/s") if fit.trace.kind == "rate" else (1e3, "ms")
    above = "" if fit.trace.kind == "rate" else f"; delays are those above the smallest, {1e3 * fit.base_s:.6g} ms"
    lines = [f"{name}, {about(fit)}{above}", ""]
    lines.append(table([unit, "trace", "95 % interval"], [_measure(one, scale) for one in fit.measures], left=1))
    lines += ["", "The model of the first two thirds, and the last third, which it has not seen:", ""]
    head = [unit, "model", "last third", "95 % range of such a third"]
    lines.append(table(head, [_held(one, scale) for one in fit.held_out], left=1))
    kept = sum(one.inside for one in fit.held_out)
    lines += ["", f"{kept} of {len(fit.held_out)} figures are in their ranges."]
    if fit.trace.program == "iperf3":
        lines.append("iperf3's rate is what its flows reached: the link's own rate only where they kept it busy.")
    if fit.trace.lost:
        lines.append("Losses are not in the model: give the link a `loss`.")
    return "\n".join(lines)


def _measure(one: Measure, scale: float) -> list[str]:
    shown = _shown(one.unit, scale)
    if one.low is one.high is None:
        return [f"{one.name} ({one.unit})", shown(one.value), ""]
    ends = ("?" if end is None else shown(end) for end in (one.low, one.high))
    return [one.name + (f" ({one.unit})" if one.unit == "s" else ""), shown(one.value), " to ".join(ends)]


def _held(one: Held, scale: float) -> list[str]:
    shown = _shown("correlation" if one.name.startswith("auto") else "", scale)
    ends = " to ".join(shown(end) if np.isfinite(end) else "?" for end in (one.low, one.high))
    return [one.name, shown(one.model), shown(one.value), ends + ("" if one.inside else "  outside")]


def _shown(unit: str, scale: float) -> Any:
    if unit == "correlation":
        return "{:.2f}".format
    if unit == "share":
        return "{:.3f}".format
    if unit == "s":
        return "{:.2f}".format
    return lambda value: f"{value * scale:.2f}"


def document(fit: Fit, name: str) -> dict[str, Any]:
    """The fit as JSON; rates in bit/s, times in s, null where the trace fixes no end."""
    trace = fit.trace

    def end(value: float) -> float | None:
        return value if np.isfinite(value) else None

    return {
        "trace": name,
        "program": trace.program,
        "kind": trace.kind,
        "step_s": trace.step_s,
        "values": len(trace.values),
        "lost": trace.lost,
        "base_s": fit.base_s,
        "fits": not fit.why_not,
        "why_not": fit.why_not or None,
        "measures": [vars(one) for one in fit.measures],
        "held_out": [
            vars(one) | {"low": end(one.low), "high": end(one.high), "inside": one.inside} for one in fit.held_out
        ],
        "quantiles": fit.quantiles,
        "memory": fit.memory,
    }


def suffix_error(path: Path) -> str:
    """What is wrong with a name for a model; empty if nothing is."""
    return "" if path.suffix == ".toml" else f"--out: given {str(path)!r}; allowed a name that ends with .toml"
