"""Files that others made or changed: read with a bound, refused by name and field, and nothing else is touched."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from earlydrop import cli, controls, flent, foreign, store, streamed
from earlydrop.terminal import table

DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = "a\x1b]0;title\x07\x9b31m\u202eb\r"
SHOWN = "a\\u001b]0;title\\u0007\\u009b31m\\u202eb\\u000d"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store and the results of a sweep, a run and a comparison."""
    place = tmp_path_factory.mktemp("made")
    import fuzz_files as tool

    (place / "sweep.toml").write_text(tool.SMALL, encoding="utf-8")
    one = str(place / "one.toml")
    Path(one).write_text(tool.SCENARIO, encoding="utf-8")
    for words in (
        ["sweep", str(place / "sweep.toml"), "--store", str(place / "store"), "--out", str(place / "sweep")],
        ["run", one, "--out", str(place / "run")],
        ["compare", one, "--aqm", "red", "pie", "--seeds", "2", "--out", str(place / "comparison")],
    ):
        assert cli.main(words) == cli.DONE
    return place


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        return Path(shutil.copytree(made / name, tmp_path / name))

    return copied


def said(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = cli.WRONG_INPUT) -> str:
    capsys.readouterr()
    assert cli.main([str(word) for word in words]) == code
    return " ".join(capsys.readouterr().err.split())


# ---- ceilings ------------------------------------------------------------------------------------------------------


def packed(mib: int) -> bytes:
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
        for _ in range(mib):
            file.write(bytes(1 << 20))
    return out.getvalue()


def test_unpacking_ends_at_the_ceiling() -> None:
    content = packed(256)
    assert len(content) < 2 << 20
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="is larger than 64 MiB; EARLYDROP_FILE_MIB in the environment, now 64"):
            foreign.unpacked(content)
        assert tracemalloc.get_traced_memory()[1] < 160 << 20
    finally:
        tracemalloc.stop()


def test_the_environment_sets_another_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.flent.gz"
    path.write_bytes(packed(3))
    monkeypatch.setenv(foreign.SWITCH, "2")
    with pytest.raises(flent.FlentError, match="is larger than 2 MiB"):
        flent.read(path)
    monkeypatch.setenv(foreign.SWITCH, "4")
    with pytest.raises(flent.FlentError, match="is no Flent file"):
        flent.read(path)
    monkeypatch.setenv(foreign.SWITCH, "much")
    with pytest.raises(foreign.ForeignError, match="EARLYDROP_FILE_MIB: given 'much'; allowed a whole number of MiB"):
        flent.read(path)


def test_what_follows_packed_content_is_refused() -> None:
    one = gzip.compress(b"1")
    assert foreign.unpacked(one + bytes(512)) == b"1"
    with pytest.raises(ValueError, match="goes on behind its end"):
        foreign.unpacked(one * 2)
    with pytest.raises(ValueError, match="ends too early"):
        foreign.unpacked(one[:-1])


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="is larger than 64 MiB"):
            foreign.content(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_value_of_a_streamed_file_has_the_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"points": ["x" * 400_000] * 8, "rest": 1}), encoding="utf-8")
    monkeypatch.setenv(foreign.SWITCH, "1")
    assert [k for k, _ in streamed.read(path, ["points"])] == ["points", "rest"]
    with pytest.raises(ValueError, match="a value is larger than 1 MiB"):
        list(streamed.read(path))


def test_a_table_has_a_ceiling_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.parquet"
    pl.DataFrame({"point": pl.repeat(1, 9 << 20, eager=True, dtype=pl.UInt8)}).write_parquet(path)
    assert path.stat().st_size < 1 << 20
    assert foreign.table(path).collect().height == 9 << 20
    monkeypatch.setenv(foreign.SWITCH, "1")
    with pytest.raises(OSError, match="is larger than 8 MiB"):
        foreign.table(path)


@pytest.mark.parametrize("depth", [foreign.DEPTH, foreign.DEPTH + 1, 3_000, 100_000])
def test_depth(depth: int) -> None:
    text = "[" * depth + "]" * depth
    for read in (foreign.parsed, lambda text: foreign.parsed_toml(f"v = {text[1:-1]}")):
        if depth > foreign.DEPTH:
            with pytest.raises(ValueError, match="its values nest deeper than 64"):
                read(text)
        else:
            read(text)


# ---- what is no regular file ---------------------------------------------------------------------------------------


def fifo(path: Path) -> None:
    os.mkfifo(path)


INSTEAD: list[tuple[Callable[[Path], None], str]] = [
    (fifo, "is no regular file"),
    (lambda path: path.symlink_to("/dev/zero"), "is no regular file|leads out of its folder"),
    (lambda path: path.mkdir(), "[Ii]s a directory"),
    (lambda path: path.symlink_to(path.name), "Too many levels"),
]


@pytest.mark.parametrize(("put", "what"), INSTEAD, ids=["pipe", "device", "folder", "loop"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, put: Callable[[Path], None], what: str) -> None:
    path = tmp_path / "file"
    put(path)
    readers = (foreign.content, foreign.text, foreign.from_json, foreign.from_toml, foreign.table, flent.read)
    for read in readers:
        with pytest.raises((OSError, flent.FlentError), match=what):
            read(path)


@pytest.mark.parametrize(
    ("result", "file"),
    [("run", "result.json"), ("run", "scenario.json"), ("comparison", "comparison.json"), ("sweep", "sweep.json")],
)
def test_commands_do_not_wait_for_a_pipe(
    copy: Callable[[str], Path], result: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy(result)
    (folder / file).unlink()
    os.mkfifo(folder / file)
    assert f"{file}: cannot be read: is no regular file" in " ".join(said(capsys, "report", folder).split())


@pytest.mark.parametrize("name", ["store.json", "merge.json", "lock"])
def test_a_store_does_not_wait_for_a_pipe(
    copy: Callable[[str], Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy("store")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    capsys.readouterr()
    assert cli.main(["store", "gc", str(folder)]) in (cli.DONE, cli.FAILED, cli.WRONG_INPUT)


# ---- what is in it -------------------------------------------------------------------------------------------------


def test_complaints_name_the_place() -> None:
    shape = {"name": str, "points": [{"n": range(3), "mean?": foreign.NUMBER, "on?": bool}], "*": {"*": float}}
    right = {"name": "x", "points": [{"n": 2, "mean": None, "on": True}], "more": {"a": 1}}
    assert foreign.complaint(right, shape) == ""
    wrong = [
        ({}, 'there is no "name"'),
        ([], "given a list; allowed an object"),
        ({"name": 1}, "name: given 1; allowed a text"),
        ({"points": [{"n": 0}, {"n": 3}]}, "points, item 2: n: given 3; allowed 0 to 2"),
        ({"points": [{"n": True}]}, "points, item 1: n: given True; allowed 0 to 2"),
        ({"points": [{"n": 1, "on": 1}]}, "points, item 1: on: given 1; allowed true or false"),
        ({"points": [{"n": 1, "mean": "x" * 90}]}, f"mean: given '{'x' * 39}...; allowed a finite number, null"),
        ({"more": {"a": float("nan")}}, "more: a: given nan; allowed a finite number"),
        ({"more": {"a": 10**400}}, "more: a: given 1000"),
        ({"more": {"a": None}}, "more: a: given None; allowed a finite number"),
    ]
    for change, what in wrong:
        assert what in foreign.complaint(change if change in ({}, []) else right | change, shape), change  # type: ignore[operator]


@pytest.mark.parametrize(
    ("result", "file", "change", "what"),
    [
        ("run", "result.json", lambda d: d["queues"]["bottleneck"].update(marks="x"), "queues: bottleneck: marks: "),
        ("run", "result.json", lambda d: d["flows"][0].update(goodput_mbps=[]), "flows, item 1: goodput_mbps: given"),
        ("run", "result.json", lambda d: d.update(duration_s=float("nan")), "duration_s: given nan"),
        ("run", "result.json", lambda d: d.update(queues=None), "queues: given None; allowed an object"),
        ("comparison", "comparison.json", lambda d: d.update(seeds=["1"]), "seeds, item 1: given '1'; allowed 0 to"),
        ("comparison", "comparison.json", lambda d: d.update(titles=[]), "titles: given a list; allowed an object"),
        ("comparison", "comparison.json", lambda d: d.update(aqms=[]), "what its files say does not fit together"),
        ("sweep", "sweep.json", lambda d: d["measures"]["jain"].update(digits=10**9), "digits: given 1000000000"),
        ("sweep", "sweep.json", lambda d: d["points"][1]["cells"]["jain"].update(mean="x"), "cells: jain: mean: given"),
        ("sweep", "sweep.json", lambda d: d["factors"][0].update(name=["aqm"]), "factors, item 1: name: given a list"),
        ("sweep", "sweep.json", lambda d: d["differences"][0].update(point=-1), "differences, item 1: point: given -1"),
    ],
)  # fmt: skip
def test_a_changed_result_is_refused_by_its_field(
    copy: Callable[[str], Path],
    result: str,
    file: str,
    change: Callable[[Any], None],
    what: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = copy(result)
    document = json.loads((folder / file).read_text())
    change(document)
    (folder / file).write_text(json.dumps(document))
    before = sorted(folder.iterdir())
    capsys.readouterr()
    code = cli.main(["report", str(folder)])
    err = " ".join(capsys.readouterr().err.split())
    assert code == cli.WRONG_INPUT
    assert what in err
    assert str(folder) in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("result", "file"), [("run", "result.json"), ("comparison", "comparison.json"), ("sweep", "sweep.json")]
)
def test_a_deep_result_is_refused(
    copy: Callable[[str], Path], result: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy(result)
    (folder / file).write_text(f'{{"name": {DEEP}}}')
    assert "its values nest deeper than 64" in said(capsys, "report", folder)
    if result == "sweep":
        assert "its values nest deeper than 64" in said(capsys, "diff", folder, folder)


@pytest.mark.parametrize("name", ["store.json", "manifest"])
def test_a_deep_file_of_a_store_is_refused(
    copy: Callable[[str], Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy("store")
    path = folder / name if name == "store.json" else next((folder / name).iterdir())
    path.write_text(DEEP)
    if name == "store.json":
        assert "is not a store: store.json: its values nest deeper" in said(capsys, "store", "ls", folder)
    else:
        assert cli.main(["store", "verify", str(folder)]) == cli.FAILED
        assert "was damaged, and is written anew" in capsys.readouterr().out


AT = [k / 5 for k in range(60)]
FLENT: dict[str, Any] = {
    "version": 4,
    "metadata": {"NAME": "tcp_download", "LENGTH": 6, "TOTAL_LENGTH": 12, "T0": "2026-03-01T10:00:00Z"},
    "x_values": AT,
    "results": {"TCP download": AT, "Ping (ms) ICMP": AT, "of a qdisc": ["text"]},
    "raw_values": {"Ping (ms) ICMP": [{"t": 1_772_359_200 + t, "val": 20.0} for t in AT], "of a qdisc": [{"t": "x"}]},
}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"x_values": ["0.2", *AT[1:]]}, "x_values, item 1: given '0.2'; allowed a finite number"),
        ({"x_values": [float("nan")]}, "x_values, item 1: given nan"),
        ({"raw_values": None}, "raw_values: given None; allowed an object"),
        ({"raw_values": {"Ping (ms) ICMP": None}}, "raw_values: Ping (ms) ICMP: given None; allowed a list"),
        ({"raw_values": {"Ping (ms) ICMP": [{"t": "x", "val": 1}]}}, "ICMP, item 1: t: given 'x'"),
        ({"results": {"TCP download": [[]], "Ping (ms) ICMP": AT}}, "results: TCP download, item 1: given a list"),
        ({"metadata": []}, "metadata: given a list; allowed an object"),
        ({"metadata": FLENT["metadata"] | {"SERIES_META": 3}}, "SERIES_META: given 3; allowed null, an object"),
        ({"metadata": FLENT["metadata"] | {"LENGTH": float("inf")}}, "LENGTH, TOTAL_LENGTH: given inf and 12"),
        ({"metadata": FLENT["metadata"] | {"LENGTH": 10**400}}, "metadata: lacks LENGTH or TOTAL_LENGTH, in s"),
        ({"version": [4]}, "version: given a list; allowed 0 to"),
        ({"version": "deep"}, "is no Flent file (its values nest deeper than 64)"),
    ],
)  # fmt: skip
def test_a_changed_file_of_flents_is_refused_by_its_field(
    tmp_path: Path, change: dict[str, Any], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.flent.gz"
    path.write_bytes(gzip.compress(json.dumps(FLENT | change).replace('"deep"', DEEP).encode()))
    err = said(capsys, "crosscheck", "--flent", path, "--rate", "20 Mbit/s", "--queue", "pie")
    assert what in err
    assert str(path) in err


def test_other_series_of_flents_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "x.flent"
    path.write_text(json.dumps(FLENT))
    assert flent.read(path) == FLENT


# ---- nothing else is touched ---------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    return folder


def test_a_store_follows_no_link(
    copy: Callable[[str], Path], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("damaged", "claims", "parts", "manifest"):
        folder = copy("store")
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).symlink_to(outside)
        assert "is a link, which no store has" in said(capsys, "store", "gc", folder, code=cli.FAILED)
        assert [path.read_text() for path in outside.iterdir()] == ["mine"]
        shutil.rmtree(folder)


def test_a_lock_of_a_store_makes_no_file_elsewhere(copy: Callable[[str], Path], outside: Path) -> None:
    folder = copy("store")
    (folder / "lock").unlink(missing_ok=True)
    (folder / "lock").symlink_to(outside / "new")
    with pytest.raises(store.StoreError):
        store.open_store(folder).gc()
    assert [path.name for path in outside.iterdir()] == ["mine"]


def test_a_report_writes_through_no_link(
    copy: Callable[[str], Path], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy("sweep")
    (folder / "figures").symlink_to(outside)
    assert "figures: is a link" in said(capsys, "report", folder, "--plot", "goodput vs flows by aqm")
    manifest = folder / "manifest.json"
    (outside / "mine").write_bytes(manifest.read_bytes())
    manifest.unlink()
    manifest.symlink_to(outside / "mine")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(outside / "mine")
    before = (outside / "mine").read_bytes()
    assert cli.main(["report", str(folder)]) == cli.DONE
    assert [path.read_bytes() for path in outside.iterdir()] == [before]


def test_a_result_is_read_through_no_link(
    copy: Callable[[str], Path], outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for result, file in (("run", "result.json"), ("sweep", "sweep.json"), ("sweep", "runs.parquet")):
        folder = copy(result)
        shutil.move(folder / file, outside / file)
        (folder / file).symlink_to(outside / file)
        assert "is a link that leads out of its folder" in said(capsys, "report", folder)
        shutil.rmtree(folder)


# ---- what is printed -----------------------------------------------------------------------------------------------


def test_control_characters_are_shown(
    copy: Callable[[str], Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert controls.visible(HOSTILE + "\n\t") == SHOWN + "\n\t"
    folder = copy("sweep")
    document = json.loads((folder / "sweep.json").read_text())
    document["name"] = HOSTILE
    (folder / "sweep.json").write_text(json.dumps(document))
    capsys.readouterr()
    assert cli.main(["diff", str(folder), str(folder)]) == cli.DONE
    assert SHOWN in capsys.readouterr().out
    # Of JSON the text is the same, shown or not.
    assert cli.main(["diff", str(folder), str(folder), "--json"]) == cli.DONE
    printed = capsys.readouterr().out
    assert json.loads(printed)["first"]["name"] == HOSTILE
    assert not controls.CONTROLS.search(printed)
    # And in errors.
    assert SHOWN.replace("\\u000d", "") in said(capsys, "run", tmp_path / HOSTILE.strip())


def test_a_terminal_gets_our_colours_and_no_others() -> None:
    code = (
        "import sys, io; from earlydrop import controls\n"
        "with controls.shown(): print('\\x1b[2;32mok\\x1b[0m \\x1b[8mhidden \\x1b[2J')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "\x1b[2;32mok\x1b[0m \\u001b[8mhidden \\u001b[2J\n"


def test_a_cell_of_a_table_is_one_line() -> None:
    assert table(["a"], [["x\ny\tz"]]).splitlines() == ["a", "-------", "x\\ny\\tz"]
