"""Tables of text that other programs open: no cell becomes a formula."""

from __future__ import annotations

import csv
from pathlib import Path

import polars
import pytest

from earlydrop import output


@pytest.mark.parametrize("text", ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_formula_becomes_a_text(tmp_path: Path, text: str) -> None:
    made = "'" + text.replace("\r", " ")
    assert output.csv_cell(text) == made
    with output.csv_rows(tmp_path / "a.csv") as write:
        write(["aqm", "a=b"])
        write([text, -1.5])
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["aqm", "a=b"], [made, "-1.5"]]


@pytest.mark.parametrize("value", [-1.5, None, -3, True, "-1.5", "+2e3", "red w_q=0.002", "", "'x"])
def test_what_is_no_formula_stays(value: object) -> None:
    assert output.csv_cell(value) == value


def test_a_sweep_a_comparison_and_a_store_write_none(tmp_path: Path) -> None:
    from earlydrop import _core, cli

    scenario = _core.template("first").replace('duration = "60 s"', 'duration = "2 s"').replace('"20 s"', '"1 s"')
    (tmp_path / "first.toml").write_text(scenario, encoding="utf-8")
    sweep = (
        'name = "s"\nscenario = "first.toml"\nseeds = 2\nmeasures = ["goodput", "queue_delay"]\n'
        '[[factor]]\nname = "rate"\nlevels = [\n'
        '  { name = "=cmd()", set = { "topology.bottleneck.rate" = "10 Mbit/s" } },\n'
        '  { name = "-2", set = { "topology.bottleneck.rate" = "20 Mbit/s" } },\n]\n'
    )
    (tmp_path / "s.toml").write_text(sweep, encoding="utf-8")
    store, out = str(tmp_path / "store"), tmp_path / "out"
    assert cli.main(["sweep", str(tmp_path / "s.toml"), "--store", store, "--out", str(out), "--workers", "1"]) == 0
    texts = [row for name in ("points.csv", "differences.csv") if (out / name).exists() for row in cells(out / name)]
    assert "'=cmd()" in texts
    assert "-2" in texts
    assert not [text for text in texts if text.startswith("=")]
    table = tmp_path / "all.csv"
    assert cli.main(["store", "export", store, str(table)]) == 0
    assert not [text for text in cells(table) if text.startswith(("=", "@"))]
    assert polars.read_csv(table).height == 4


def cells(file: Path) -> list[str]:
    """Every cell of a table."""
    with file.open(newline="", encoding="utf-8") as opened:
        return [cell for row in csv.reader(opened) for cell in row]
