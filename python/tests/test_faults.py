"""Calls of the operating system fail, one after the other: nothing that was written is lost. All: `tools/faults.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import faults
from earlydrop import disk, output


@pytest.mark.parametrize(("case", "every", "least"), [("store", 9, 20), ("log", 2, 12), ("run", 17, 5)])
def test_a_failed_call_loses_nothing(case: str, every: int, least: int) -> None:
    found = faults.check(case, every)
    assert found.wrong == []
    assert found.faults >= least


def test_an_error_names_the_file_where_it_would_be(tmp_path: Path) -> None:
    def write() -> None:
        with output.folder(tmp_path / "out", {}) as folder:
            disk.make_folder(folder / "inner")
            disk.write(folder / "inner" / "x", b"12")

    with faults.failing(6, "half"), pytest.raises(OSError, match="No space left on device") as error:
        write()
    assert str(error.value) == f"[Errno 28] No space left on device: '{tmp_path}/out/inner/x'"
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from earlydrop import disk, output
place = Path(sys.argv[1])
if sys.argv[2] == "between":
    rename = disk.System.rename
    def once(self, old, new):
        rename(self, old, new)
        os.kill(os.getpid(), signal.SIGKILL)
    disk.System.rename = once
with output.folder(place, {}) as folder:
    (folder / "a").write_text("new")
    if sys.argv[2] == "within":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", ["within", "between"])
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path, moment: str) -> None:
    out = tmp_path / "out"
    with output.folder(out, {}) as folder:
        (folder / "a").write_text("old")
    killed = subprocess.run([sys.executable, "-c", KILLED, out, moment], check=False)
    assert killed.returncode == -9
    (left,) = (path for path in tmp_path.iterdir() if path != out)
    assert left.name.startswith(".out.partial-")
    # Between the two renamings the earlier result is there, and returns.
    assert out.exists() == (moment == "within")
    disk.remove_left(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "a").read_text() == "old"


def test_what_was_left_within_a_result_is_no_file_of_somebody_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("1", "2"):
        with output.folder(out, {}) as folder:
            (folder / "a").write_text(text)
        subprocess.run([sys.executable, "-c", KILLED, out / "report.html", "within"], check=False)
        assert any(disk.is_left(path.name) for path in out.iterdir())
    assert (out / "a").read_text() == "2"


def test_what_a_living_writer_has_is_not_touched(tmp_path: Path) -> None:
    with disk.staged(tmp_path / "x") as place:
        place.write_text("1")
        with disk.staged(tmp_path / "x") as other:
            other.write_text("2")
        assert place.exists()
    assert (tmp_path / "x").read_text() == "1"
    assert os.listdir(tmp_path) == ["x"]
