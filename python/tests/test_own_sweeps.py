"""Sweeps with disciplines written by users: on a cluster as here, and never answered from the store for other code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import HALF_FULL, dumbbell
from test_sweep_processes import cluster

from earlydrop import cli, store

ROOT = Path(__file__).resolve().parents[2]

SWEEP = f"""\
name = "own"
seeds = 2
measures = ["goodput", "queue_delay"]
[[factor]]
path = "queue.bottleneck.aqm"
values = ["half_full", "libc_red.so", "droptail"]
[scenario]
duration = "5 s"
traffic = [{{ kind = "ftp", start = {{ uniform = ["0 s", "0.5 s"] }} }}]
[scenario.aqms]
half_full = "half.py"
{dumbbell("half_full", 30, pairs=5, bottleneck=("4 Mbit/s", "10 ms"), of="scenario.")}
"""


COMMAND = """
import sys
from earlydrop import cli
from earlydrop.own_aqms import registry
from earlydrop.sweeps import report
report.write_report = lambda *_: None
registry.trust_all()
sys.exit(cli.main(sys.argv[1:]))
"""


def swept(folder: Path, out: str, *more: str) -> bytes:
    """The runs of a sweep."""
    command = [sys.executable, "-c", COMMAND, "sweep", "own.toml", "--out", out, *more]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return (folder / out / "runs.parquet").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(SWEEP, encoding="utf-8")
    (tmp_path / "half.py").write_text(HALF_FULL, encoding="utf-8")
    library, source = tmp_path / "libc_red.so", ROOT / "crates/plugin/tests/red.c"
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'crates/aqm/include'}", "-o", library, source]
    subprocess.run(command, check=True)
    return tmp_path


def test_a_cluster_gives_the_same_bytes(folder: Path) -> None:
    pytest.importorskip("distributed")
    here = swept(folder, "here", "--store", "here-store")
    with cluster(folder) as (address, _):
        assert swept(folder, "there", "--store", "there-store", "--cluster", address) == here


def test_other_code_is_never_answered_from_the_store(folder: Path) -> None:
    def rows() -> int:
        return len(store.open_store(folder / "store").table())

    first = swept(folder, "out", "--store", "store")
    assert rows() == 6
    assert swept(folder, "again", "--store", "store") == first
    assert rows() == 6
    (folder / "half.py").write_text(HALF_FULL.replace("SHARE = 0.5", "SHARE = 0.4"), encoding="utf-8")
    assert swept(folder, "other", "--store", "store") != first
    assert rows() == 8
    (folder / "half.py").write_text(HALF_FULL.replace("Drops above", "It drops above"), encoding="utf-8")
    assert swept(folder, "third", "--store", "store") == first
    assert rows() == 8


def test_a_sweep_that_names_code_asks_for_trust(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep", str(folder / "own.toml"), "--out", str(folder / "out")]) == cli.WRONG_INPUT
    assert "names code, half.py, which would run with your rights; --trust" in capsys.readouterr().err
