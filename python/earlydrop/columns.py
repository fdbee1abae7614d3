"""The data dictionary: unit and meaning of every column that CSV and Parquet files have.

docs/columns.md is made from it (`tools/column_pages.py`). Parquet files carry it in their metadata, and a folder with
CSV files has it as `columns.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import earlydrop._core as _core

METADATA = "earlydrop.columns"
"""Key of the dictionary in a Parquet file's metadata: JSON, {COLUMN: {"unit", "meaning"}}."""
FILE = "columns.json"
"""Name of the dictionary beside CSV files: JSON, {FILE: {COLUMN: {"unit", "meaning"}}}."""


@dataclass(frozen=True)
class Column:
    """Unit and meaning of one column."""

    unit: str
    """The column's unit; empty for texts, flags and numbers without one."""
    meaning: str


Columns = Mapping[str, Column]
"""Columns by name. A `*` in a name stands for any text."""


def _table(**columns: tuple[str, str]) -> dict[str, Column]:
    return {name: Column(*one) for name, one in columns.items()}


def _declared(*parts: str) -> dict[str, Column]:
    """Columns for the values that the engine declares in these parts of a result; the first of a name counts."""
    found: dict[str, Column] = {}
    for one in json.loads(_core.result_fields()):
        if one["part"] in parts and one["kind"] != "table":
            found.setdefault(one["name"], Column(one["unit"], one["about"]))
    return found


_OF_FLOWS = "flows[i], traffic[i] with `record."
QUEUES: Columns = _table(queue=("", "name of the queue")) | _declared(
    "queues.NAME",
    "queues.NAME with `record.by_flow`",
    "queues.NAME with `record.losses`",
    "queues.NAME of a real link",
)
FLOWS: Columns = _declared(
    "flows[i]",
    f"{_OF_FLOWS}jitter`",
    "flows[i] with `record.jitter`",
    f"{_OF_FLOWS}losses`",
    "flows[i] of a real link",
)

SERIES: Columns = {
    "time_s": Column("s", "time of the sample, from the start of the run"),
    "*.packets": Column("packets", "length of the queue"),
    "*.average": Column("packets", "the policy's average"),
    "*.dropped": Column("packets", "drops so far, from 0 at the start of the window"),
    "*.gauges.*": Column("", "inner value of the discipline (`gauges.rs` of the crate `aqm` has names and units)"),
    "flow *.cwnd": Column("segments", "congestion window of the flow"),
    "flow *.srtt_ms": Column("ms", "smoothed round-trip time of the flow"),
    "flow *.pacing_mbps": Column("Mbit/s", "rate at which the flow's sender paces its segments, payload only"),
}

LOG: Columns = _table(
    queue=("", "queue at which the packet arrived"),
    time_s=("s", "arrival, from the start of the link"),
    flow=("", "hash of addresses, protocol and ports"),
    size=("B", "size of the IP packet"),
    ecn=("", "ECN field at arrival: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE"),
    ttl=("", "time to live"),
    initial_ttl=("", "time to live that the sender set, as it is guessed"),
    fate=("", "0 queued, 1 departed, 2 early drop, 3 forced drop, 4 overflow drop"),
    settled_s=("s", "departure or drop; NaN while queued"),
    ecn_out=("", "ECN field at departure"),
    arrived_s=("s", "arrival at the other end of the link by its model; NaN if the packet was dropped or lost there"),
    dscp=("", "DSCP, 0 to 63; this and what follows only of queues that read headers"),
    source=("", "hash of the source address"),
    destination=("", "hash of the destination address"),
    tcp=(
        "",
        "0 without a TCP header, else the sum of 1, 2 (ACK without other flags), 4 (ACK without SYN), 8 (data), 16 "
        "(options but SACK and time stamps), 32 (time stamps), 64 (ECE), 128 (CWR)",
    ),
    ack=("B", "acknowledgement number"),
    tsval=("", "time stamp value"),
    tsecr=("", "time stamp echo reply"),
    sack_blocks=("", "number of SACK blocks"),
    sack=("B", "start and end of four SACK blocks, 0 where there is none"),
) | {"class": Column("", "traffic class, 0 to 7")}

RUN: Columns = _table(
    aqm=("", "discipline"),
    label=("", "discipline as tables and figures call it: its label or title"),
    point=("", "point of the sweep, from 0"),
    seed=("", "seed of the run"),
)

_SHORT = "true if the {} is too short for its means, false if not; empty where it was not examined"
POINTS: Columns = {
    "label": Column("", "point as tables and sentences call it"),
    "window_short": Column("", _SHORT.format("window")),
    "replicates": Column("", "number of different runs of the point"),
    "*_mean": Column("as the measure", "mean of the measure over the seeds"),
    "*_lower": Column("as the measure", "lower end of its 95 % interval"),
    "*_upper": Column("as the measure", "upper end of its 95 % interval"),
    "*_n": Column("", "number of its values"),
}

DIFFERENCES: Columns = _table(
    label=("", "point as tables and sentences call it"),
    window_short=("", _SHORT.format("window of the point, or of its control,")),
    compared_in=("", "factor whose levels are compared"),
    measure=("", "measure that is compared, in its unit"),
    mean=("as the measure", "mean difference from the control, seed by seed"),
    lower=("as the measure", "lower end of its 95 % interval"),
    upper=("as the measure", "upper end of its 95 % interval"),
    n=("", "number of pairs"),
    replicates=("", "number of different pairs"),
    relative=("fraction", "mean difference over the control's mean"),
    control=("as the measure", "mean of the control"),
    wins=("", "pairs in which the level has more than the control"),
    losses=("", "pairs in which it has less"),
    t_test_p=("", "p value of the paired t test"),
    sign_test_p=("", "p value of the sign test"),
    wilcoxon_p=("", "p value of Wilcoxon's signed-rank test"),
    detectable=("as the measure", "smallest difference that would be found in four of five sweeps"),
    t_test_p_holm=("", "t_test_p after Holm's correction over all differences"),
    t_test_p_bh=("", "t_test_p after Benjamini and Hochberg's correction"),
)

TABLES: Mapping[str, tuple[str, Columns]] = {
    "queues": ("`queues.csv`, `queues.parquet` of `run` and `link`", QUEUES),
    "flows": ("`flows.csv`, `flows.parquet` of `run` and `link`", FLOWS),
    "series": ("`series.parquet` of `run` and `link`", SERIES),
    "log": ("`log.parquet` of `link`", LOG),
    "runs": ("`runs.csv` of `compare`, `runs.parquet` of `sweep`, `runs/*` of `reproduce`", RUN),
    "points": ("`points.csv` of `sweep`", POINTS),
    "differences": ("`differences.csv` of `sweep`", DIFFERENCES),
}
"""For each table where its dictionary holds, and the dictionary. Measures and factors are added by their names."""


def of(names: Iterable[str], table: str, more: Columns | None = None) -> dict[str, Column]:
    """The columns of these names in a table; `more` are those that a sweep or a study declares itself."""
    found = {}
    for name in names:
        one = _find(name, more or {}) or _find(name, TABLES[table][1])
        if one is not None:
            found[name] = one
    return found


def measured(measures: Iterable[tuple[str, str, str]], prefix: str = "") -> dict[str, Column]:
    """Columns of measures: name, title, unit."""
    return {f"{prefix}{name}": Column(unit, title) for name, title, unit in measures}


def over_seeds(measures: Iterable[tuple[str, str, str]]) -> dict[str, Column]:
    """The columns of `points.csv` that measures have: name, title, unit."""
    found = {}
    for name, title, unit in measures:
        for pattern, one in POINTS.items():
            if "*" in pattern:
                own = unit if one.unit else ""
                found[pattern.replace("*", name)] = Column(own, f"{title}: {one.meaning}")
    return found


def _find(name: str, columns: Columns) -> Column | None:
    if name in columns:
        return columns[name]
    for pattern, one in columns.items():
        if "*" in pattern and re.fullmatch(re.escape(pattern).replace(r"\*", ".+"), name):
            return one
    return None


def document(columns: Columns) -> dict[str, dict[str, str]]:
    """Columns as plain values for JSON."""
    return {name: {"unit": one.unit, "meaning": one.meaning} for name, one in columns.items()}


def metadata(columns: Columns) -> dict[str, str]:
    """Columns as the metadata of a Parquet file."""
    return {METADATA: json.dumps(document(columns), ensure_ascii=False)}


def write(folder: Path, files: Mapping[str, Columns]) -> None:
    """Write the dictionary of a folder's CSV files."""
    from . import output

    output.write_json(folder / FILE, {name: document(columns) for name, columns in files.items() if columns})
