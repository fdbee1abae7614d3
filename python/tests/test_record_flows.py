"""`record.flows`: results that list their flows, summarise them, or do neither, and what shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import earlydrop as ed
from earlydrop import _core, cli, packed, result, sweeps
from earlydrop.document import Document, flow_count
from earlydrop.render import plotting, run_report

SUMMARY, NOTHING = {"record.flows": "summary"}, {"record.flows": False}


def run(scenario: Path, **settings: Any) -> ed.Result:
    return ed.load(scenario, {k.replace("__", "."): v for k, v in settings.items()}).run()


def test_a_summary_has_the_table_when_it_is_asked_for(scenario: Path) -> None:
    listed, summary = run(scenario), run(scenario, record__flows="summary")
    assert "flows" not in summary.document
    assert_frame_equal(summary.flows, listed.flows, check_dtypes=False)
    goodput = summary.document["traffic"][0]["flow_summary"]["goodput_mbps"]
    assert goodput["flows"] == 4
    assert (goodput["min"], goodput["max"]) == (listed.flows["goodput_mbps"].min(), listed.flows["goodput_mbps"].max())
    assert goodput["mean"] == pytest.approx(listed.flows["goodput_mbps"].mean())
    assert repr(summary) == repr(listed)


def test_kinds_of_flows_keep_their_columns(tmp_path: Path, scenario: Path) -> None:
    mixed = tmp_path / "mixed.toml"
    more = '[[traffic]]\nkind = "cbr"\nrate = "50 kbit/s"\n[[traffic]]\nkind = "transfers"\nsize = "9 kB"\ncount = 2\n'
    mixed.write_text(scenario.read_text() + more)
    listed, summary = run(mixed), run(mixed, record__flows="summary")
    assert_frame_equal(summary.flows, listed.flows, check_dtypes=False)
    assert flow_count(summary.document) == flow_count(listed.document) == 7
    summaries = [entry["flow_summary"] for entry in summary.document["traffic"]]
    assert ["slowdown" in one for one in summaries] == [False, False, True]


def test_without_flows_what_shows_them_says_so(scenario: Path) -> None:
    found = run(scenario, record__flows=False, record__by_flow=True)
    assert "flows" not in found.document
    assert "flow_summary" not in found.document["traffic"][0]
    with pytest.raises(result.NoFlows, match=r"does not list this; record\.flows = true does"):
        _ = found.flows
    with pytest.raises(result.NoFlows):
        found.shares()
    shares = found.shares("traffic")
    assert shares is not None
    assert shares["arrivals"].sum() > 0
    texts = [text.get_text() for ax in found.plot().axes for text in ax.texts]
    assert plotting.NO_FLOWS in texts
    page = run_report.context(found.document, found.scenario)
    assert (page["listed"], page["counted"], page["flows"]) == (False, "4 flows", [])


@pytest.mark.parametrize(
    ("given", "tables"),
    [("true", {"flows.csv", "flows.parquet"}), ('"summary"', {"flows.parquet"}), ("false", set())],
)
def test_the_command(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, tables: set[str]
) -> None:
    sets = ["--set", f"record.flows={given}"]
    assert cli.main(["run", str(scenario), *sets, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "small, seed 3: 4 flows" in said
    assert ("per flow" in said) == (given != "false")
    assert said.startswith((tmp_path / "out" / "result.txt").read_text().split("cost")[0])
    assert {path.name for path in (tmp_path / "out").glob("flows.*")} == tables
    if tables:
        table = pl.read_parquet(tmp_path / "out" / "flows.parquet")
        assert (table.columns[0], table.height) == ("id", 4)
        described = pl.read_parquet_metadata(tmp_path / "out" / "flows.parquet")["earlydrop.columns"]
        assert json.loads(described)["goodput_mbps"]["unit"] == "Mbit/s"
    assert cli.main(["report", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("does not list its flows" in page) == (given != "true")
    capsys.readouterr()
    assert cli.main(["run", str(scenario), *sets, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {**printed, "cost": None} == {**kept, "cost": None}
    assert ("flows" in printed, "flow_summary" in printed["traffic"][0]) == (given == "true", given == '"summary"')


def test_the_printed_text_is_that_of_the_whole_document(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--out` and `--json` the list of flows is not made."""
    from earlydrop.render.run_text import run_text

    assert cli.main(["run", str(scenario)]) == 0
    whole = run_text(run(scenario).document).split("cost")[0]
    assert capsys.readouterr().out.startswith(whole)


def test_warnings_are_part_of_the_printed_document(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(scenario), "--set", "traffic.0.start=0 s", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["warnings"][0].startswith("4 TCP flows start at exactly 0 s")
    assert list(printed)[-1] == "warnings"


def test_flent_lists_the_flows_it_needs(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.flent.gz"
    sets = ["--set", "record.flows=false"]
    assert cli.main(["run", str(scenario), *sets, "--format", "flent", "--out", str(out)]) == 0
    assert out.stat().st_size > 0


def sweep(document: Document, field: str, store: Path) -> sweeps.Outcome:
    measure = {"id": "asked", "field": field, "title": "Asked", "unit": "Mbit/s"}
    factor = {"path": "queue.bottleneck.max_p", "values": [0.1, 0.2]}
    whole = {"name": "s", "seeds": 1, "scenario": document, "factor": [factor], "measure": [measure]}
    return ed.sweep(whole, store=store, progress=False)


def test_a_sweep_and_a_comparison_take_the_summary(scenario: Path, tmp_path: Path) -> None:
    found = sweep(ed.load(scenario, SUMMARY).document, "traffic.0.flow_summary.goodput_mbps.min", tmp_path / "store")
    runs = (ed.load(scenario, {**SUMMARY, "queue.bottleneck.max_p": p, "seed": 1}).run() for p in (0.1, 0.2))
    assert [one for (one,) in found.values["asked"]] == [run.flows["goodput_mbps"].min() for run in runs]
    for flows in (SUMMARY, NOTHING):
        compared = ed.compare(ed.load(scenario, flows).document, ["red", "gentle_red"], seeds=2, progress=False)
        assert compared.to_frame().height > 0


def test_a_measure_of_flows_that_are_not_listed_is_refused(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(sweeps.SweepError, match=r'a result has no field "flows\.0\.goodput_mbps"'):
        sweep(ed.load(scenario, NOTHING).document, "flows.0.goodput_mbps", tmp_path / "store")


def test_the_key_is_in_the_schema() -> None:
    flows = json.loads(_core.schema())["properties"]["record"]["properties"]["flows"]
    assert (flows["enum"], flows["default"]) == ([True, False, "summary"], True)


def test_packed_columns_are_a_table() -> None:
    whole = (1).to_bytes(8, "little", signed=True) + (-(2**63)).to_bytes(8, "little", signed=True)
    table = packed.table([("n", "whole", b"", b"", whole, None), ("tcp", "text", b"", b"", b"\0" * 16, ["reno"])])
    assert table.to_dict(as_series=False) == {"n": [1, None], "tcp": ["reno", "reno"]}
