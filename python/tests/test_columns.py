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
from earlydrop import cli, columns
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
    tables = sorted(folder.rglob("*.csv"))
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


def test_the_columns_of_a_real_link_are_described() -> None:
    source = Path(__file__).parents[2] / "crates/python/src/link/document.rs"
    text = source.read_text(encoding="utf-8")
    plain = {"malformed_by_kind", "lateness", "backlogged", "source", "destination"}
    for table, begin in (("queues", "let more = json!({"), ("flows", '"id": 0,')):
        part = text[text.index(begin) :]
        names = [line.split('"')[1] for line in part[: part.index("})")].splitlines() if line.strip()[:1] == '"']
        assert len(names) > 8
        assert not [name for name in names if name not in columns.TABLES[table][1] and name not in plain], table


def test_a_name_without_a_description_is_left_out() -> None:
    assert list(columns.of(["time_s", "a b.packets", "unheard_of"], "series")) == ["time_s", "a b.packets"]


def test_the_page_is_made_from_the_declaration(tmp_path: Path) -> None:
    for file in (column_pages.PAGE, "data/columns.csv"):
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
