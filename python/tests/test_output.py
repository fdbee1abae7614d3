"""Result folders: whole or not at all, and never over somebody's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from earlydrop import output


def fill(out: Path, text: str) -> None:
    with output.folder(out, {"kind": "test"}) as folder:
        (folder / "a.txt").write_text(text)
        (folder / "inner").mkdir()
        (folder / "inner" / "b.txt").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_a_folder_appears_whole_with_its_manifest(tmp_path: Path) -> None:
    fill(tmp_path / "deep" / "out", "1")
    assert names(tmp_path) == [
        "deep",
        "deep/out",
        "deep/out/a.txt",
        "deep/out/inner",
        "deep/out/inner/b.txt",
        "deep/out/manifest.json",
    ]
    manifest = json.loads((tmp_path / "deep/out/manifest.json").read_text())
    assert manifest == {"kind": "test", "files": ["a.txt", "inner/b.txt"]}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_of_what_failed(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with output.folder(tmp_path / "deep" / "out", {}) as folder:
            (folder / "a.txt").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == []


def test_an_earlier_result_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path / "out", "1")
    fill(tmp_path / "out", "2")
    assert (tmp_path / "out" / "a.txt").read_text() == "2"
    assert names(tmp_path)[0] == "out"
    assert all(n.startswith("out") for n in names(tmp_path))


def test_a_failed_run_keeps_the_earlier_result(tmp_path: Path) -> None:
    fill(tmp_path / "out", "1")
    with pytest.raises(RuntimeError), output.folder(tmp_path / "out", {}):
        raise RuntimeError
    assert (tmp_path / "out" / "a.txt").read_text() == "1"


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "out", "1")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(output.OutputError, match=r"notes\.txt"):
        fill(tmp_path / "out", "2")
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(output.OutputError, match="not a folder"):
        output.check(tmp_path / "out")


def test_json_is_strict() -> None:
    text = output.to_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": (1, 2)})
    assert text == '{"a": null, "b": [null, 1.5], "c": [1, 2]}'
