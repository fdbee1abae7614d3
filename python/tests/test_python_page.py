"""The code of docs/python.md and of the notebooks runs as it stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from test_docs import fences

from earlydrop import _core

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
LOADS = """\
scenario = "first.toml"
seeds = 2
set = { duration = "10 s", warmup = "2 s" }
measures = ["goodput", "queue_delay"]

[[factor]]
path = "traffic.0.count"
values = [10, 40]
"""


def test_the_page_on_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(_core.template("first"), encoding="utf-8")
    Path("loads.toml").write_text(LOADS, encoding="utf-8")
    blocks = [
        block for kind, block in fences((ROOT / "docs/python.md").read_text(encoding="utf-8")) if kind == "python"
    ]
    assert len(blocks) >= 8
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert Path("queues.pdf").is_file()
    ed = names["ed"]
    assert len(ed.sweep("loads.toml", store="out/store").sweep.points) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_makes(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    # The kernel finds the package that is tested.
    folders = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folder for folder in folders if folder))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share/jupyter"))
    book = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "commit it without outputs"
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    data = [out.data for cell in book.cells for out in cell.get("outputs", []) if "data" in out]
    shown = [value for one in data for value in [one.get("text/html", "")] if value]
    assert sum("image/png" in one for one in data) == 3
    assert any("<img src=" in text for text in shown)
    assert any("Queueing delay against DropTail: " in text for text in shown)
    assert not any("<progress" in text for text in shown), "a bar stayed"
    printed = "".join(out.text for cell in book.cells for out in cell.get("outputs", []) if out.output_type == "stream")
    assert r"\toprule" in printed
    assert "Error" not in printed
    assert (tmp_path / "own-aqm.pdf").is_file()
