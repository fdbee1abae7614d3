"""tools/fuzz_files.py: some fixed inputs pass, and an exception that is not the package's own counts as a failure."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import fuzz_files as tool


@pytest.mark.parametrize(
    ("target", "runs"),
    [
        *(("sweeps", 150), ("studies", 4), ("stores", 12), ("results", 6)),
        *(("flents", 100), ("traces", 100), ("fits", 200), ("tables", 20), ("vectors", 20), ("packs", 20)),
    ],
)
def test_damaged_files_are_refused_or_read(
    target: str, runs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is measured where tests run side by side.
    monkeypatch.setattr(tool, "HANG_S", 60.0)
    arguments = ["fuzz_files.py", target, "--runs", str(runs), "--seed", "28", "--keep", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert tool.main() == 0
    assert list(tmp_path.iterdir()) == []


def test_another_exception_is_a_failure_and_its_input_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(folder: Path, draw: random.Random) -> None:
        (folder / "input").write_text(str(draw.random()), encoding="utf-8")
        raise KeyError("aqm")

    monkeypatch.setitem(tool.TARGETS, "sweeps", fails)
    monkeypatch.setattr(sys, "argv", ["fuzz_files.py", "sweeps", "--runs", "2", "--keep", str(tmp_path)])
    assert tool.main() == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweeps-1", "sweeps-2"]
    assert (tmp_path / "sweeps-1" / "input").is_file()
    assert "2 failed" in capsys.readouterr().out
