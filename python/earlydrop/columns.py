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

METADATA = "earlydrop.columns"
"""Key of the dictionary in a Parquet file's metadata: JSON, {COLUMN: {"unit", "meaning"}}."""
FILE = "columns.json"
"""Name of the dictionary beside CSV files: JSON, {FILE: {COLUMN: {"unit", "meaning"}}}."""


@dataclass(frozen=True)
class Column:
    """What a column holds."""

    unit: str
    """Its unit; empty for texts, flags and numbers without one."""
    meaning: str


Columns = Mapping[str, Column]
"""By name. A name with `*` stands for any text there."""


def _table(**columns: tuple[str, str]) -> dict[str, Column]:
    return {name: Column(*one) for name, one in columns.items()}


def _quantiles(name: str, unit: str, what: str, ends: Iterable[str]) -> dict[str, Column]:
    words = {"mean": "mean", "p50": "median", "p95": "95 % quantile", "p99": "99 % quantile"}
    return {f"{name}_{end}_{unit}": Column(unit, f"{words[end]} of {what}") for end in ends}


QUEUES: Columns = {
    **_table(
        queue=("", "name of the queue"),
        aqm=("", "discipline"),
        throughput_mbps=("Mbit/s", "bits that left the queue, headers included, over the width of the window"),
        utilisation=("fraction", "throughput over the rate of the link"),
        queue_mean_packets=("packets", "time-weighted mean length"),
        queue_std_packets=("packets", "time-weighted standard deviation of the length"),
        queue_max_packets=("packets", "largest length"),
        average_mean_packets=("packets", "time-weighted mean of the policy's average, such as RED's avg"),
    ),
    **_quantiles("delay", "ms", "the sojourn time", ("mean", "p50", "p95", "p99")),
    **_table(
        arrivals=("packets", "packets that arrived, dropped ones included"),
        arrived_bytes=("B", "their bytes"),
        departures=("packets", "packets whose transmission started"),
        departed_bytes=("B", "their bytes"),
        early_drops=("packets", "dropped at random, with a probability below 1"),
        forced_drops=("packets", "dropped with certainty by the policy"),
        overflow_drops=("packets", "dropped because the buffer was full"),
        over_memory=("packets", "dropped before the queue of a real link because its memory was full"),
        marks=("packets", "marked CE by this queue"),
        drop_rate=("fraction", "all drops over arrivals"),
        mark_rate=("fraction", "marks over arrivals"),
        queued_at_start=("packets", "length at the start of the window"),
        queued_at_end=("packets", "length at its end"),
        class_jain=("0..1", "Jain's index of the utilisation of TCP and UDP"),
        class_variance=("", "population variance of the utilisation of TCP and UDP"),
        dropped_bytes=("B", "bytes of all packets dropped"),
        loss_events=("", "number of loss events"),
        loss_synchronisation=("fraction", "losing flows over active flows, mean over the loss events"),
        flows_losing_mean=("flows", "losing flows, mean over the loss events"),
        loss_rtt_ms=("ms", "length of a loss event"),
        carried=("", "of a real link: what the command `sent` or `received`"),
        propagation_ms=("ms", "propagation delay of the real link in this direction"),
        rate_mbps=("Mbit/s", "rate of the real link"),
        delivered=("packets", "packets that a real link delivered"),
        delivered_bytes=("B", "their bytes"),
        delivered_mbps=("Mbit/s", "delivered bits over the width of the window"),
        ce_set=("packets", "packets that a real link delivered with a CE mark of this queue"),
        read_in_bursts=("packets", "packets read from the device in bursts"),
        written_in_bursts=("packets", "packets written to the device in bursts"),
        lost=("packets", "packets lost by the real link's loss model"),
        in_flight_at_end=("packets", "packets on the real link when it stopped"),
        malformed=("packets", "packets without a valid IP header, which were dropped"),
        refused=("packets", "packets that the device refused"),
    ),
}

FLOWS: Columns = {
    **_table(
        id=("", "flow, from 1 in the order of the scenario's traffic"),
        kind=("", "kind of its traffic entry; of a real link the protocol"),
        role=("", "what a flow of a real link is for: data, acks, control, icmp, dns or others"),
        tcp=("", "congestion control; empty over UDP"),
        start_s=("s", "start of the flow, from the start of the run"),
        goodput_mbps=("Mbit/s", "payload delivered in order, each segment once"),
        throughput_mbps=("Mbit/s", "payload received, duplicates included; of a real link all bytes delivered"),
        delivered_packets=("packets", "segments delivered in order"),
        received_packets=("packets", "segments received, duplicates included"),
        delay_mean_ms=("ms", "mean one-way delay"),
        retransmits=("segments", "retransmitted segments"),
        timeouts=("", "expiries of the retransmission timer"),
        drops=("packets", "packets of this flow dropped in any queue"),
        marks=("packets", "packets of this flow marked at their arrival at a queue"),
        lost=("packets", "packets and ACKs of this flow lost on links"),
        expired=("packets", "packets and ACKs whose time to live expired"),
        completion_s=("s", "completion time, if exactly one transfer was completed in the whole run"),
        packets_sent=("packets", "sent over UDP"),
        packets_received=("packets", "received over UDP"),
        transfers_completed=("", "finite transfers completed within the window"),
        slowdown=("", "completion time over the time on the empty path"),
        target_mbps=("Mbit/s", "mean target rate of real-time media, headers included"),
        encoded_mbps=("Mbit/s", "payload of the frames captured"),
        delay_p95_ms=("ms", "95 % quantile of the one-way delay of packets, without the time in the sender's queue"),
        delay_p99_ms=("ms", "the same, 99 %"),
        frames_sent=("frames", "frames captured"),
        frames_complete=("frames", "frames of which every packet was received"),
        frames_lost=("frames", "frames of which a packet was lost"),
    ),
    **_quantiles("frame_delay", "ms", "the time from a frame's capture to its last packet", ("mean", "p95", "p99")),
    **_table(
        freezes=("", "freezes: intervals between shown frames of 3 times the mean, and of 150 ms more than it"),
        freeze_s=("s", "total time of the freezes"),
        delay_min_ms=("ms", "smallest one-way delay"),
        delay_std_ms=("ms", "population standard deviation of the one-way delay"),
    ),
    **_quantiles("pdv", "ms", "the packet delay variation (RFC 5481)", ("mean", "p50", "p95", "p99")),
    **_table(
        interarrival_jitter_mean_ms=("ms", "mean of the interarrival jitter (RFC 3550)"),
        interarrival_jitter_ms=("ms", "interarrival jitter after the last packet"),
        data_sent=("packets", "packets sent by the sender, retransmissions included"),
        data_lost=("packets", "those that a queue dropped or a link lost"),
        loss_ratio=("fraction", "data_lost over data_sent"),
    ),
    **_quantiles("loss_gap", "ms", "the time between two losses", ("mean", "p50", "p95", "p99")),
    **_table(
        queue=("", "queue of the real link that the flow passes"),
        name=("", "addresses, ports and protocol of a real flow"),
        arrivals=("packets", "packets of the real flow that arrived at the queue"),
        arrived_bytes=("B", "their bytes"),
        delivered=("packets", "packets of the real flow that were delivered"),
        delivered_bytes=("B", "their bytes"),
        first_s=("s", "arrival of the real flow's first packet"),
        last_s=("s", "arrival of its last packet"),
    ),
}

SERIES: Columns = {
    "time_s": Column("s", "time of the sample, from the start of the run"),
    "*.packets": Column("packets", "length of the queue"),
    "*.average": Column("packets", "the policy's average"),
    "*.dropped": Column("packets", "drops so far, from 0 at the start of the window"),
    "*.gauges.*": Column("", "inner value of the discipline (`gauges.rs` of the crate `aqm` has names and units)"),
    "flow *.cwnd": Column("segments", "congestion window of the flow"),
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
    point=("", "point of the sweep, from 0"),
    seed=("", "seed of the run"),
)

POINTS: Columns = {
    "replicates": Column("", "number of different runs of the point"),
    "*_mean": Column("as the measure", "mean of the measure over the seeds"),
    "*_lower": Column("as the measure", "lower end of its 95 % interval"),
    "*_upper": Column("as the measure", "upper end of its 95 % interval"),
    "*_n": Column("", "number of its values"),
}

DIFFERENCES: Columns = _table(
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
"""Where a dictionary holds, and the dictionary. Measures and factors are added under their own names."""


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
    """Columns as plain values."""
    return {name: {"unit": one.unit, "meaning": one.meaning} for name, one in columns.items()}


def metadata(columns: Columns) -> dict[str, str]:
    """Columns as the metadata of a Parquet file."""
    return {METADATA: json.dumps(document(columns), ensure_ascii=False)}


def write(folder: Path, files: Mapping[str, Columns]) -> None:
    """Write the dictionary of a folder's CSV files."""
    from . import output

    output.write_json(folder / FILE, {name: document(columns) for name, columns in files.items() if columns})
