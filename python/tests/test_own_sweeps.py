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
[aqms]
half_full = "half.py"
[scenario]
duration = "5 s"
traffic = [{{ kind = "ftp", start = {{ uniform = ["0 s", "0.5 s"] }} }}]
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


def said(folder: Path, text: str, capsys: pytest.CaptureFixture[str], **files: str) -> str:
    """What `check` answers for this sweep, beside these further files."""
    (folder / "own.toml").write_text(text, encoding="utf-8")
    for name, content in files.items():
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / f"{name}.toml").write_text(content, encoding="utf-8")
    assert cli.main(["check", str(folder / "own.toml"), "--trust"]) == cli.WRONG_INPUT
    return capsys.readouterr().err.replace(str(folder), "")


def test_disciplines_stand_at_the_top_of_a_sweep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = '[aqms]\nhalf_full = "half.py"\n'
    old = SWEEP.replace(table, "") + table.replace("aqms", "scenario.aqms")
    asked = "error: /own.toml: scenario.aqms: stands at the top of a sweep; write [aqms] in place of [scenario.aqms]\n"
    assert said(folder, old, capsys) == asked
    wrong = SWEEP.replace('half_full = "half.py"', "half_full = 3")
    asked = 'error: /own.toml: aqms: half_full: given 3; allowed a source such as "mine.py:MyRed" or "libmine.so"\n'
    assert said(folder, wrong, capsys) == asked
    wrong = SWEEP.replace('"half.py"', '"haf.py"')
    assert said(folder, wrong, capsys) == "error: /own.toml: aqms.half_full: haf.py: no such file\n"


def test_a_scenarios_file_may_name_others_than_its_sweep(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths start at the file that has them, and errors name it."""
    mine = "\n".join(line.replace("scenario.", "") for line in SWEEP[SWEEP.index("[scenario]") :].splitlines()[1:])
    mine = 'name = "mine"\n' + mine + '\n[aqms]\nother = "other.py"\n'
    sweep = 'scenario = "sub/first.toml"\n' + SWEEP[: SWEEP.index("[scenario]")].replace('"droptail"', '"other"')
    (folder / "sub").mkdir()
    (folder / "sub" / "other.py").write_text(HALF_FULL.replace("HalfFull", "Other"), encoding="utf-8")
    (folder / "sub" / "first.toml").write_text(mine, encoding="utf-8")
    (folder / "own.toml").write_text(sweep, encoding="utf-8")
    assert cli.main(["check", str(folder / "own.toml"), "--trust"]) == cli.DONE
    capsys.readouterr()
    for old, new, line in (
        ("other.py", "others.py", "aqms.other: others.py: no such file"),
        (
            '"half_full"',
            '"half_fll"',
            'scenario: /sub/first.toml: queue.bottleneck.aqm: is unknown; did you mean "half_full"?',
        ),
        ("duration", "duraton", 'scenario: /sub/first.toml: duraton: unknown key; did you mean "duration"?'),
    ):
        assert line in said(folder, sweep, capsys, first=mine.replace(old, new))


def test_a_level_that_cannot_be_loaded_is_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(folder, SWEEP.replace('"libc_red.so"', '"half.py:HalfFul"'), capsys)
    reason = '/half.py: there is no policy HalfFul; did you mean "HalfFull"?'
    assert text == f"error: /own.toml: factor: queue.bottleneck.aqm: {reason}\n"
