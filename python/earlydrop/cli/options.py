"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print one JSON document on stdout.")]
Sets = Annotated[
    list[str],
    Parameter(name="--set", negative="", help="Lay a value over the scenario: PATH=VALUE. May be repeated."),
]
Out = Annotated[Path | None, Parameter(name="--out", help="Write results, tables and figures to this folder.")]
Store = Annotated[
    str | None,
    Parameter(name="--store", help="Folder or address that keeps every run (default: `store` beside the results)."),
]
Workers = Annotated[int | None, Parameter(name="--workers", help="Threads to run on (default: one a core).")]
Cluster = Annotated[
    str | None, Parameter(name="--cluster", help="Address of a Dask scheduler to run on, as tcp://host:8786.")
]
ScenarioFile = Annotated[Path, Parameter(name="SCENARIO", help="A scenario file.")]
