"""The result of one run, as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .document import flow_count
from .errors import EarlydropError
from .terminal import number

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


class NoFlows(EarlydropError):
    """A result does not list its flows."""


class Result:
    """One run. `document` is the engine's result; the tables are made from it on demand."""

    def __init__(
        self,
        text: str | Mapping[str, Any],
        scenario: Mapping[str, Any],
        table: Callable[[], polars.DataFrame] | None = None,
    ) -> None:
        """`table` makes the table of the flows where the document has a summary of them."""
        self._table = table
        self.text = text if isinstance(text, str) else json.dumps(text)
        self.document: dict[str, Any] = json.loads(text) if isinstance(text, str) else dict(text)
        self.scenario = dict(scenario)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.document["seed"])

    @property
    def jain(self) -> float:
        """Jain's fairness index of the flows' goodput; NaN of a real link without data flows."""
        found = self.document["jain"]
        return float("nan") if found is None else float(found)

    def measure(self, path: str) -> float | None:
        """The number at a path, as `traffic.prague.goodput_mbps`; None where nothing was measured (docs/measures.md).

        Raises:
            MeasureError: the result has no such number.
        """
        from .analysis.quantity import MeasureError, asked, record_of, values

        (wanted,) = asked(path, where="path")
        key = record_of(wanted.field) if wanted.fields else None
        if key is not None and not self.scenario.get("record", {}).get(key):
            raise MeasureError(f"{self.document['scenario']}: {path} needs record.{key} = true in the scenario")
        (one,) = values([wanted], self.document, str(self.document["scenario"])).values()
        found: float | None = one["value"]
        return found

    @property
    def queues(self) -> polars.DataFrame:
        """One row for each queue."""
        import polars

        rows = [{"queue": name, **values} for name, values in self.document["queues"].items()]
        return polars.DataFrame(rows, infer_schema_length=None)

    @property
    def flows(self) -> polars.DataFrame:
        """One row for each flow.

        Raises:
            NoFlows: the scenario has `record.flows = false`, or it has `"summary"` and this is the document alone.
        """
        import polars

        if "flows" not in self.document:
            if self._table is None:
                raise self._no_flows()
            return self._table()
        return polars.DataFrame(self.document["flows"], infer_schema_length=None)

    @property
    def traffic(self) -> polars.DataFrame:
        """One row for each traffic entry: the totals of its flows."""
        import polars

        rows = [{k: v for k, v in entry.items() if k != "transfers"} for entry in self.document.get("traffic", [])]
        return polars.DataFrame(rows, infer_schema_length=None)

    @property
    def transfers(self) -> polars.DataFrame | None:
        """One row for each traffic entry with finite transfers: how many, and how long they took. None without any.

        `times_s`, the time of each from the shortest to the longest, is there if the scenario has `record.transfers`.
        """
        import polars

        names = ("entry", "name", "kind")
        entries = [entry for entry in self.document.get("traffic", []) if "transfers" in entry]
        rows = [{**{name: entry[name] for name in names}, **entry["transfers"]} for entry in entries]
        return polars.DataFrame(rows, infer_schema_length=None) if rows else None

    def shares(self, by: str = "flows") -> polars.DataFrame | None:
        """What each flow (`by="flows"`), traffic entry (`"traffic"`) or class (`"classes"`: TCP, UDP) had of a queue.

        One row for each queue and member. None unless the scenario has `record.by_flow`. `by="bands"`, which needs no
        record, is of the bands of disciplines that have some, such as DualPI2's L and C.

        Raises:
            ValueError: `by` is none of the four.
            NoFlows: the scenario has `record.flows = false` or `"summary"`, and `by` is `"flows"`.
        """
        import polars

        if by not in ("flows", "traffic", "classes", "bands"):
            raise ValueError(f'shares by {by!r}: use "flows", "traffic", "classes" or "bands"')
        rows = []
        for name, queue in self.document["queues"].items():
            if by not in queue:
                if by == "bands":
                    continue
                if by == "flows" and "traffic" in queue:
                    raise self._no_flows()
                return None
            members = queue[by]
            if isinstance(members, dict):
                label = "band" if by == "bands" else "class"
                members = [{label: member, **share} for member, share in members.items()]
            rows += [{"queue": name, **member} for member in members]
        return polars.DataFrame(rows, infer_schema_length=None) if rows or by != "bands" else None

    @property
    def series(self) -> polars.DataFrame | None:
        """The samples over time, one row for each; None unless the scenario records them.

        Columns: `time_s`, then `QUEUE.packets`, `QUEUE.average`, `QUEUE.dropped`, `QUEUE.gauges.NAME`,
        `flow ID.cwnd`, `flow ID.srtt_ms` and `flow ID.pacing_mbps`.
        """
        import polars

        series = self.document.get("series")
        if not series:
            return None
        columns: dict[str, Any] = {"time_s": series["time_s"]}
        for name, queue in series["queues"].items():
            queue = dict(queue)
            gauges = queue.pop("gauges", {})
            columns |= {f"{name}.{key}": values for key, values in queue.items() if values is not None}
            columns |= {f"{name}.gauges.{gauge}": values for gauge, values in gauges.items()}
        for flow in series.get("flows") or []:
            columns |= {f"flow {flow['id']}.{key}": v for key, v in flow.items() if isinstance(v, list)}
        return polars.DataFrame(columns)

    @property
    def rates(self) -> polars.DataFrame | None:
        """The flows' rates over time, one row for each interval; None unless the scenario records them.

        Columns, in Mbit/s: `time_s`, where the interval begins, then `flow ID.goodput` and `QUEUE.flow ID.throughput`.
        """
        import polars

        rates = self.document.get("rates")
        if not rates:
            return None
        columns: dict[str, Any] = {"time_s": rates["time_s"]}
        columns |= {f"flow {flow['id']}.goodput": flow["goodput_mbps"] for flow in rates["flows"]}
        for name, queue in rates["queues"].items():
            columns |= {f"{name}.flow {flow['id']}.throughput": flow["throughput_mbps"] for flow in queue["flows"]}
        return polars.DataFrame(columns)

    def plot(self) -> Figure:
        """A matplotlib figure: queueing delay, goodput of the flows, and over time what was recorded."""
        from .render import plotting

        return plotting.run_figure(self.document)

    def _no_flows(self) -> NoFlows:
        return NoFlows(f"the result of {self.document['scenario']} does not list this; record.flows = true does")

    def __repr__(self) -> str:
        d = self.document
        if d.get("kind") == "link":
            flows = len(d["flows"])
            carried = number(d["throughput_total_mbps"], 3)
            return f"<Result {d['scenario']}, a real link: {carried} Mbit/s, {flows} flows>"
        return (
            f"<Result {d['scenario']} seed {d['seed']}: {number(d['goodput_total_mbps'], 3)} Mbit/s, "
            f"{flow_count(d)} flows, Jain {number(d['jain'], 3)}>"
        )

    def _repr_html_(self) -> str:
        from . import notebook
        from .render.queue_table import queue_table

        d, said = self.document, repr(self)[1:-1].removeprefix("Result ")
        if d.get("kind") == "link":
            return notebook.paragraphs([said])
        delay = f"; {number(d['delay_mean_ms'], 2)} ms one way, end to end"
        return notebook.paragraphs([said + delay]) + notebook.table(*queue_table(d), left=2)
