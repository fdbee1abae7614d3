"""The figure of a finding: the queue over time with the attacked discipline and with its rival, and what leaves it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..document import Document
from ..render import plotting
from .attacks import Found
from .search import LAST_SEEDS, Finding, Side

SAMPLES, RATES = 1500, 150
"""Samples of the queue, and intervals over which its throughput is averaged."""
MOST_FLOWS = 1000


def write(found: Found, finding: Finding, base: Path) -> list[Path]:
    """Draw a finding into files beside each other."""
    return plotting.save(figure(found, finding), base, formats=("png", "svg"))


def figure(found: Found, finding: Finding) -> Any:
    """The run of the seed whose regret is nearest to the median, with both sides."""
    held, problem = finding.held, found.problem
    seed = LAST_SEEDS + int(np.argmin(np.abs(np.asarray(held.regrets) - held.median)))
    sides = [problem.attacked, *([] if finding.rival is None else [problem.rivals[finding.rival]])]
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 4.2)
        queue, rate = drawing.subplots(2, 1, sharex=True)
        for k, side in enumerate(sides):
            run, own = _run(found, finding, side, seed), plotting.look(k)
            series, label = run["series"], plotting.plain(side.title)
            queue.plot(
                series["time_s"], series["queues"][problem.port]["packets"], color=own.colour, lw=0.8, label=label
            )
            rates = run["rates"]
            total = np.sum([flow["throughput_mbps"] for flow in rates["queues"][problem.port]["flows"]], axis=0)
            rate.stairs(total, [*rates["time_s"], run["duration_s"]], baseline=None, color=own.colour, lw=1.0)
        queue.set_ylabel("Queue (packets)")
        rate.set_ylabel("Throughput (Mbit/s)")
        rate.set_xlabel("Time (s)")
        for ax in (queue, rate):
            ax.set_ylim(bottom=0)
            ax.margins(x=0)
            ax.axvline(run["warmup_s"], color="#888888", lw=0.8, ls=":")
        drawing.legend(*queue.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return drawing


def _run(found: Found, finding: Finding, side: Side, seed: int) -> Document:
    import earlydrop._core as _core

    laid = side.laid(finding.scenario, found.problem.queue, found.problem.known)
    length = float(json.loads(_core.Scenario.parse({**laid, "seed": 1}, []).to_json())["duration"].removesuffix(" s"))
    flows = sum(int(one.get("count", 1)) for one in laid["traffic"])
    record = {
        "series": f"{length / SAMPLES!r} s",
        "rates": f"{length / RATES!r} s",
        "rate_flows": list(range(1, min(flows, MOST_FLOWS) + 1)),
        "rate_queues": [found.problem.port],
    }
    document: Document = json.loads(_core.Scenario.parse({**laid, "record": record, "seed": seed}, []).run(seed))
    return document
