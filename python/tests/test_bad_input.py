"""Wrong input through the command line: exit code 2, one clear message, nothing written.

The scenarios and their messages are those of the checker's own tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import SCENARIO
from hypothesis import given, settings
from hypothesis import strategies as st

from earlydrop import _core, cli
from earlydrop.document import overlay

BAD = Path(__file__).parents[2] / "crates" / "sim" / "tests" / "bad_scenarios"
NAMES = sorted(path.stem for path in BAD.glob("*.toml"))


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_there_are_many() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_scenario(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(BAD / f"{name}.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    every = ", ".join(f'"{one["name"]}"' for one in json.loads(_core.catalogue()))
    message = (BAD / f"{name}.expected").read_text(encoding="utf-8").strip().replace("(every discipline)", every)
    for command in (["check"], ["run", "--out", "out"], ["compare", "--aqm", "red", "droptail", "--out", "out"]):
        code = cli.main([command[0], f"{name}.toml", *command[1:]])
        printed = capsys.readouterr()
        assert code == 2
        assert printed.out == ""
        assert printed.err.strip() == f"error: {message}"
    assert names(tmp_path) == [f"{name}.toml"]


def no_file(path: Path) -> None:
    pass


def directory(path: Path) -> None:
    path.mkdir()


def binary(path: Path) -> None:
    path.write_bytes(bytes(range(255, -1, -1)) * 16)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        # Sparse: 200 MB that take no room on the disk.
        file.truncate(200_000_000)


def deep_lists(path: Path) -> None:
    path.write_text("name = " + "[" * 100_000, encoding="utf-8")


def deep_tables(path: Path) -> None:
    path.write_text("name = " + "{ a = " * 5_000 + "1" + " }" * 5_000, encoding="utf-8")


def deep_headings(path: Path) -> None:
    path.write_text("[" + ".".join("a" * 5_000) + "]\n", encoding="utf-8")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unreadable_link(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (no_file, "no such file"),
        (directory, "is a directory"),
        (binary, "not a text file"),
        (huge, "too large"),
        (deep_lists, "nest deeper"),
        (deep_tables, "nest deeper"),
        (deep_headings, "nest deeper"),
        (pipe, "not a regular file"),
        (unreadable_link, "odd.toml"),
    ],
)
def test_what_is_no_scenario_at_all(make: object, says: str, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path / "odd.toml")
    before = names(tmp_path)
    for command in (["check"], ["run", "--out", "out"], ["compare", "--aqm", "red", "--out", "out"]):
        done = subprocess.run(
            [sys.executable, "-m", "earlydrop", command[0], "odd.toml", *command[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert done.stderr.startswith("error: odd.toml: ")
        assert done.stderr.count("error:") == 1
        assert says in done.stderr
        assert len(done.stderr.splitlines()) <= 3
    assert names(tmp_path) == before


# ---- documents built in Python -------------------------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["1 s", "5 Mbit/s", "-1 ms", "30 packets", "auto", "red", "tred", "1e400 s", "0 B"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PATHS = [
    "name", "duration", "warmup", "seed", "topology", "topology.kind", "topology.pairs", "topology.access",
    "topology.bottleneck.rate", "queue", "queue.bottleneck", "queue.bottleneck.aqm", "queue.bottleneck.limit",
    "queue.bottleneck.min_th", "queue.bottleneck.max_p", "traffic", "traffic.0", "traffic.0.count",
    "traffic.0.start.uniform", "traffic.0.segment", "record", "unknown",
]  # fmt: skip


def answered(document: Any) -> None:
    """The checker takes a document or says what is wrong with it; nothing else may come out of it."""
    try:
        scenario = _core.Scenario.parse(document, [])
    except (_core.ScenarioError, TypeError):
        return
    assert json.loads(scenario.to_json())["name"] == document["name"]


@given(st.dictionaries(st.sampled_from([p for p in PATHS if "." not in p]) | st.text(max_size=8), VALUES, max_size=8))
def test_any_document_is_answered(document: dict[str, Any]) -> None:
    answered(document)


@settings(max_examples=400)
@given(st.dictionaries(st.sampled_from(PATHS), VALUES, min_size=1, max_size=3))
def test_any_change_to_a_valid_document_is_answered(changes: dict[str, Any]) -> None:
    document = tomllib.loads(SCENARIO)
    for path, value in changes.items():
        # Where an earlier change has left no place for this one, the earlier one is enough.
        with contextlib.suppress(KeyError, AttributeError, TypeError):
            document = overlay(document, {path: value})
    answered(document)


def test_a_document_that_holds_itself_is_refused() -> None:
    endless: dict[str, Any] = {"name": "x"}
    endless["topology"] = endless
    with pytest.raises(_core.ScenarioError, match="nest deeper"):
        _core.Scenario.parse(endless, [])
