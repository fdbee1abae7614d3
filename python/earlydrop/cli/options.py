"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document on stdout.")]
Sets = Annotated[
    list[str],
    Parameter(name="--set", negative="", help="Set a value of the scenario: PATH=VALUE. May be repeated."),
]
Out = Annotated[Path | None, Parameter(name="--out", help="Write results, tables and figures to this folder.")]
Store = Annotated[
    str | None,
    Parameter(name="--store", help="Folder or address where runs are stored (default: `store` beside the results)."),
]
Workers = Annotated[int | None, Parameter(name="--workers", help="Number of threads (default: one per core).")]
Cluster = Annotated[
    str | None,
    Parameter(
        name="--cluster",
        help="Workers: a Dask scheduler's address (tcp://host:8786), local, slurm, pbs or kubernetes "
        "(slurm:20 for 20 jobs), or a file with Dask's options (FILE.toml).",
    ),
]
Measures = Annotated[
    list[str],
    Parameter(
        name="--measure",
        negative="",
        help='A measure, as "Prague p99 = queues.bottleneck.traffic.prague.delay_p99_ms"; it comes first. '
        "May be repeated.",
    ),
]
Trust = Annotated[
    bool,
    Parameter(name="--trust", negative="", help="Run the code that files name as disciplines: it has your rights."),
]
ScenarioFile = Annotated[Path, Parameter(name="SCENARIO", help="A scenario file.")]
Plots = Annotated[
    list[str],
    Parameter(
        name="--plot",
        negative="",
        help='A figure: "queue_delay + goodput vs rtt by aqm", "box goodput by aqm", "cdf delay by aqm". '
        "May be repeated.",
    ),
]
Formats = Annotated[
    str | None,
    Parameter(name="--figures", help="Formats of the figures in DIR/figures: pdf, svg, png (default: pdf,png)."),
]
StyleName = Annotated[
    Literal["paper", "slides"],
    Parameter(name="--style", help="Sizes and fonts of the figures: journal columns, or slides."),
]
