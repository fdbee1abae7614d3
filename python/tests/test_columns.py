"""The data dictionary: every column that is written is in it, and the files carry it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import SMALL

import column_pages
from earlydrop import _core, cli, columns
from earlydrop.analysis import measures
from earlydrop.links import records

RECORDS = (
    'series = "100 ms"\ngauges = true\ncwnd_flows = [1]\n'
    "by_flow = true\njitter = true\nlosses = true\ntransfers = true\n"
)
MORE = (
    '\n[[traffic]]\nkind = "voip"\ncount = 1\n\n[[traffic]]\nkind = "media"\n'
    '\n[[traffic]]\nkind = "transfers"\nsize = "20 kB"\ncount = 1\n'
)
SWEEP = """\
name = "small"
seeds = 2
scenario = "small.toml"
control = { aqm = "red" }
measures = ["goodput", "queue_delay"]

[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "droptail"]

[[factor]]
name = "buffer"
path = "queue.bottleneck.limit"
format = "{} packets"
values = [20, 30]
title = "Buffer"
unit = "packets"
"""


def check(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """Every column of the folder's tables is described; the dictionary of its CSV files."""
    described: dict[str, dict[str, dict[str, str]]] = json.loads((folder / columns.FILE).read_text(encoding="utf-8"))
    tables = sorted(path for path in folder.rglob("*.csv") if path.relative_to(folder).parts[0] != "inputs")
    assert {path.relative_to(folder).as_posix() for path in tables} == set(described)
    for path in tables:
        with path.open(newline="", encoding="utf-8") as file:
            assert next(csv.reader(file)) == list(described[path.relative_to(folder).as_posix()]), path
    for path in folder.rglob("*.parquet"):
        check_parquet(path)
    return described


def check_parquet(path: Path) -> dict[str, dict[str, str]]:
    described: dict[str, dict[str, str]] = json.loads(pl.read_parquet_metadata(path)[columns.METADATA])
    assert list(described) == pl.read_parquet_schema(path).names()
    assert all(one["meaning"] for one in described.values())
    return described


def test_run(tmp_path: Path, scenario: Path) -> None:
    scenario.write_text(scenario.read_text(encoding="utf-8") + MORE + "\n[record]\n" + RECORDS, encoding="utf-8")
    assert cli.main(["run", str(scenario), "--out", str(tmp_path / "out")]) == cli.DONE
    described = check(tmp_path / "out")
    assert described["queues.csv"]["delay_p99_ms"] == {"unit": "ms", "meaning": "99 % quantile of the sojourn time"}
    assert check_parquet(tmp_path / "out" / "series.parquet")["bottleneck.packets"]["unit"] == "packets"


def test_compare(tmp_path: Path, scenario: Path) -> None:
    command = ["compare", str(scenario), "--aqm", "red", "droptail", "--seeds", "2", "--out", str(tmp_path / "out")]
    assert cli.main(command) == cli.DONE
    assert check(tmp_path / "out")["runs.csv"]["goodput"] == {"unit": "Mbit/s", "meaning": "Goodput"}


def test_sweep(tmp_path: Path, scenario: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    assert cli.main(["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]) == cli.DONE
    described = check(tmp_path / "out")
    assert described["points.csv"]["buffer"] == {"unit": "packets", "meaning": "Buffer"}
    assert described["points.csv"]["goodput_lower"] == {
        "unit": "Mbit/s",
        "meaning": "Goodput: lower end of its 95 % interval",
    }
    assert described["points.csv"]["goodput_n"]["unit"] == ""
    assert "t_test_p_holm" in described["differences.csv"]


def test_study(tmp_path: Path) -> None:
    command = ["reproduce", str(SMALL), "--quick", "--out", str(tmp_path / "out"), "--store", str(tmp_path / "store")]
    assert cli.main(command) == cli.DONE
    assert any(name.startswith("runs/") for name in check(tmp_path / "out"))


def test_log_of_a_link(tmp_path: Path) -> None:
    empty = {name: np.zeros(1, kind) for name, kind in records.COLUMNS.items()}
    records.write_log(tmp_path / "log.parquet", {"bottleneck": empty})
    assert set(check_parquet(tmp_path / "log.parquet")) == {"queue", *records.COLUMNS}
    # Only one of the two queues reads headers.
    more = {name: np.zeros(2, kind) for name, kind in (records.COLUMNS | records.HEADERS).items()}
    records.write_log(tmp_path / "log.parquet", {"bottleneck": empty, "reverse": more})
    assert set(check_parquet(tmp_path / "log.parquet")) == {"queue", *records.COLUMNS, *records.HEADERS}


GOLDEN = Path(__file__).parents[2] / "crates/sim/tests/golden_run/columns.txt"


def test_every_field_of_stored_runs_is_declared_with_its_kind() -> None:
    """So none has no margin only because nobody thought of it."""
    fields = [line.split("\t")[1] for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    declared = {one["name"]: one["kind"] for one in json.loads(_core.result_fields())}
    tables = {name for name, kind in declared.items() if kind == "table"}
    unknown = [
        one
        for one in fields
        if not {one.rpartition(".")[2], *(tables & {"gauges"} & set(one.split(".")))} & set(declared)
    ]
    assert len(fields) > 200
    assert not unknown
    assert {measures.kind_of(one).name for one in fields} == set(measures.KINDS)


def test_a_field_is_one_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Table, page, kind of measure and margin follow from what the engine declares of it."""
    row = {"part": "queues.NAME", "name": "planted", "unit": "ms", "kind": "delay", "about": "a planted field"}
    more = json.dumps([*json.loads(_core.result_fields()), row])
    monkeypatch.setattr(_core, "result_fields", lambda: more)
    measures._declared.cache_clear()
    try:
        assert columns._declared("queues.NAME")["planted"] == columns.Column("ms", "a planted field")
        (tmp_path / "data").mkdir()
        shutil.copy(Path(__file__).parents[2] / "docs/data/results.csv", tmp_path / "data")
        column_pages.write(tmp_path)
        assert "queues.NAME,planted,ms,a planted field\n" in (tmp_path / "data/results.csv").read_text(encoding="utf-8")
        margin = measures.kind_of("queues.bottleneck.planted").margin
        assert margin == measures.KINDS["delay"].margin is not None
    finally:
        measures._declared.cache_clear()


def test_a_name_without_a_description_is_left_out() -> None:
    assert list(columns.of(["time_s", "a b.packets", "unheard_of"], "series")) == ["time_s", "a b.packets"]


def test_the_page_is_made_from_the_declaration(tmp_path: Path) -> None:
    for file in (column_pages.PAGE, "data/columns.csv", "data/results.csv"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(Path(__file__).parents[2] / "docs" / file, tmp_path / file)
    assert not column_pages.write(tmp_path), "stale: make pages"
    (tmp_path / "data" / "columns.csv").write_text("", encoding="utf-8")
    assert column_pages.write(tmp_path)
    assert not column_pages.write(tmp_path)


@pytest.mark.parametrize("table", columns.TABLES)
def test_units_are_known(table: str) -> None:
    units = {
        "",
        "s",
        "ms",
        "B",
        "packets",
        "segments",
        "frames",
        "flows",
        "Mbit/s",
        "fraction",
        "0..1",
        "as the measure",
    }
    assert {one.unit for one in columns.TABLES[table][1].values()} <= units
