"""Vectors against trust: files that name code, in every field and form, run none of it without `--trust`.

A vector is a field, a text in it, and a command. The suite takes 500 of them, drawn with a fixed seed so that each
field and each form is among them; EARLYDROP_TRUST_VECTORS=all takes every combination. What the texts name leaves a
mark when it runs.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earlydrop import cli, playground
from earlydrop.own_aqms import registry
from earlydrop.toml_writer import to_toml

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = 500
MARK = "PLANTED"
"""The environment variable that names the file of marks."""

PYTHON = f"""\
import os
with open(os.environ["{MARK}"], "a") as marks:
    marks.write(__file__ + "\\n")
import earlydrop as ed

@ed.policy
class Mine:
    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.PASS
"""
LIBRARY = f"""\
#include "earlydrop_aqm.h"
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void mark(void) {{
    FILE *marks = fopen(getenv("{MARK}"), "a");
    fputs("library\\n", marks);
    fclose(marks);
}}
static ed_verdict on(void *s, const ed_packet *p, const ed_queue *q, const ed_context *c) {{ return 0; }}
static const ed_aqm d = {{.abi = 1, .size = sizeof(ed_aqm), .name = "mine", .on_enqueue = on}};
const ed_aqm *earlydrop_aqm(void) {{ return &d; }}
"""

CODE = (
    *("mine.py", "mine.py:Mine", "./mine.py", "{here}/mine.py", "{here}/mine.py:Mine", "../elsewhere/mine.py"),
    *("{here}/../elsewhere/mine.py:Mine", "link.py", "link.py:Mine", "outside.py", "/proc/self/cwd/mine.py"),
    *("libmine.so", "./libmine.so", "{here}/libmine.so", "../elsewhere/libmine.so", "liblink.so", "outside.so"),
    *("libmine.dylib", "{here}/libmine.dylib", "libmine.dll"),
)
"""Texts that name code: relative, absolute, elsewhere, through links."""

NO_CODE = (
    *("mine", "mine:Mine", "packed", "packed:Packed", "packed.mine:Mine", "planted", "planted:Planted", "mine.pyc"),
    *("MINE.PY", "mine.pyw", "plain", "file://{here}/mine.py", "~/mine.py", "$HOME/mine.py", " mine.py", "mine.py "),
    *("libmine.so.1", "earlydrop_own_mine", "mine.py:", "mine.py:Mine:Mine", "red\nmine.py", "__import__('mine')"),
    *("{{ [].__class__ }}", "-c import mine", "module://mine", "red; import mine", "{here}", ".", "../elsewhere"),
)
"""Texts that name none, but would where somebody imports, expands or evaluates."""

Document = dict[str, Any]
Writes = Callable[[Path, str], list[list[str]]]


def scenario(**changes: Any) -> Document:
    """A scenario that runs in a moment."""
    return {
        "name": "small",
        "duration": "1 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 2,
            "access": {"rate": "100 Mbit/s", "delay": "5 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": "red", "limit": "30 packets"}},
        "traffic": [{"kind": "ftp", "count": 2}],
        **changes,
    }


def put(document: Document, path: str, value: Any) -> Document:
    """The document with a value at a path."""
    at: Any = document
    *before, last = path.split(".")
    for key in before:
        at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
    at[last] = value
    return document


ON_SCENARIOS = [
    ["check", "s.toml"],
    ["run", "s.toml"],
    ["show", "s.toml"],
    ["compare", "s.toml", "--aqm", "droptail", "red", "--seeds", "1"],
    ["trace", "s.toml", "out.tr", "--events", "10"],
    ["link", "--sim", "s.toml", "--", "true"],
    ["tune", "s.toml", "--aqm", "red", "--trials", "1", "--seeds", "1", "--confirm", "1"],
    ["crosscheck", "s.toml", "--seeds", "1"],
    ["play", "s.toml"],
    ["check", "around.toml"],
    ["sweep", "around.toml", "--plan"],
]


def in_scenario(path: str, **more: Any) -> Writes:
    """A field of a scenario; with a sweep around its file. `more`: what else stands there."""

    def write(folder: Path, text: str) -> list[list[str]]:
        document = scenario()
        for key, value in more.items():
            put(document, key.replace("__", "."), value)
        (folder / "s.toml").write_text(to_toml(put(document, path, text)), encoding="utf-8")
        (folder / "around.toml").write_text(to_toml(sweep(scenario="s.toml")), encoding="utf-8")
        return ON_SCENARIOS

    return write


def sweep(**changes: Any) -> Document:
    """A sweep of one point."""
    factor = {"name": "limit", "path": "queue.bottleneck.limit", "values": ["20 packets"]}
    return {"name": "s", "scenario": scenario(), "seeds": 1, "measures": ["goodput"], "factor": [factor], **changes}


ON_SWEEPS = [["check", "s.toml"], ["sweep", "s.toml", "--plan"], ["sweep", "s.toml", "--out", "out", "--workers", "1"]]


def in_sweep(path: str) -> Writes:
    """A field of a sweep."""

    def write(folder: Path, text: str) -> list[list[str]]:
        document = sweep(factor=[{"name": "aqm", "path": "queue.bottleneck.aqm", "values": ["droptail", "red"]}])
        value: Any = [text] if path in ("where", "factor.0.values", "measures") else text
        (folder / "s.toml").write_text(to_toml(put(document, path, value)), encoding="utf-8")
        return ON_SWEEPS

    return write


def in_study(old: str, new: str) -> Writes:
    """A place in the small study: `new`, with the text at TEXT, instead of `old`."""

    def write(folder: Path, text: str) -> list[list[str]]:
        small = ROOT / "python/tests/studies/small"
        study = (small / "study.toml").read_text(encoding="utf-8")
        assert old in study
        shutil.copytree(small, folder / "study")
        changed = study.replace(old, new.replace("TEXT", json.dumps(text)))
        (folder / "study/study.toml").write_text(changed, encoding="utf-8")
        return [["check", "study"], ["check", "study/study.toml"]]

    return write


NAMED = [
    *(["run", "s.toml"], ["check", "s.toml"], ["show", "mine"], ["vectors", "mine"], ["test-aqm", "mine"]),
    *(["list", "aqms"], ["compare", "s.toml", "--aqm", "droptail", "mine", "--seeds", "1"]),
    *(["reproduce", "rfc7928", "--aqm", "mine", "--quick"], ["link", "--queue", "mine", "--rate", "1mbit", "--", "id"]),
    *(["advise", "--down", "5mbit", "--up", "1mbit", "--aqm", "mine", "--seeds", "1"], ["check", "mine"]),
    *(["tune", "s.toml", "--aqm", "mine", "--trials", "1", "--seeds", "1", "--confirm", "1"], ["new-aqm", "mine"]),
]


def in_configuration(name: str, below: str = ".") -> Writes:
    """`earlydrop.toml`, beside the scenario or where the command runs."""

    def write(folder: Path, text: str) -> list[list[str]]:
        (folder / below).mkdir(exist_ok=True)
        document = scenario()
        document["queue"]["bottleneck"]["aqm"] = name
        (folder / below / "s.toml").write_text(to_toml(document), encoding="utf-8")
        (folder / "earlydrop.toml").write_text(to_toml({"aqms": {name: text}}), encoding="utf-8")
        shown = f"{below}/s.toml" if below != "." else "s.toml"
        return [[shown if word == "s.toml" else word for word in words] for words in NAMED]

    return write


def in_result(file: str, made: dict[str, Path]) -> Writes:
    """Every text `red` of a file in a folder that a command wrote."""
    kind, _, name = file.partition("/")

    def write(folder: Path, text: str) -> list[list[str]]:
        shutil.copytree(made[kind], folder / "made")
        place = folder / "made" / name
        before = place.read_text(encoding="utf-8")
        assert '"red"' in before
        place.write_text(before.replace('"red"', json.dumps(text)), encoding="utf-8")
        return [["report", "made"], ["diff", "made", "made"], ["run", f"made/{name}"], ["check", f"made/{name}"]]

    return write


def in_store(made: dict[str, Path]) -> Writes:
    """Each text file of a store."""

    def write(folder: Path, text: str) -> list[list[str]]:
        shutil.copytree(made["store"], folder / "store")
        for place in (folder / "store").rglob("*.json"):
            before = place.read_text(encoding="utf-8")
            place.write_text(re.sub(r'"(red|droptail)"', lambda _: json.dumps(text), before), encoding="utf-8")
        (folder / "s.toml").write_text(to_toml(sweep()), encoding="utf-8")
        return [
            *(["store", "ls", "store"], ["store", "verify", "store"], ["store", "export", "store", "out.csv"]),
            *(["store", "gc", "store"], ["sweep", "s.toml", "--store", "store", "--workers", "1"]),
        ]

    return write


def in_vectors(folder: Path, text: str) -> list[list[str]]:
    """A folder of decision vectors, and the names in it."""
    (folder / "vectors").mkdir()
    for name in ("red", text.rpartition("/")[2].strip() or "x"):
        shutil.copy(ROOT / "vectors/red.jsonl.gz", folder / "vectors" / f"{name}.jsonl.gz")
    return [["vectors", "red", "--check", "vectors"]]


def fields(made: dict[str, Path]) -> dict[str, Writes]:
    """What writes each field's files, by the field."""
    study = {
        "study: scenario": ('[scenario.queue.bottleneck]\naqm = "red"', "[scenario.queue.bottleneck]\naqm = TEXT"),
        "study: a level": ('set = { "queue.bottleneck" = { aqm = "red"', 'set = { "queue.bottleneck" = { aqm = TEXT'),
        "study: [aqms]": ("[scenario.topology]", "[scenario.aqms]\nmine = TEXT\n\n[scenario.topology]"),
        "study: an experiment": ('queue = { bottleneck = { aqm = "red"', "queue = { bottleneck = { aqm = TEXT"),
        "study: quick": ('set = { duration = "3 s" }', 'set = { duration = "3 s", "queue.bottleneck.aqm" = TEXT }'),
        "study: an alternative": ('"queue.bottleneck.limit" = "90 packets"', '"queue.bottleneck.aqm" = TEXT'),
        "study: a curve": ('{ title = "RED", aqm = "red"', '{ title = "RED", aqm = TEXT'),
        "study: a file": ('file = "cost.csv"', "file = TEXT"),
        "study: a table": ('published = "published/table1.csv"', "published = TEXT"),
        "study: a formula": ('formula = "first / others"', "formula = TEXT"),
        "study: a measure": ('field = "flows.0.goodput_mbps"', "field = TEXT"),
        "study: its name": ('name = "small"\ntitle', "name = TEXT\ntitle"),
    }
    tree = {"parent": "prio", "limit": "30 packets"}
    return {
        "queue": in_scenario("queue.bottleneck.aqm"),
        "queue of the way back": in_scenario("queue.reverse.aqm", queue__reverse={"limit": "9 packets"}),
        "a queue itself": in_scenario("queue.bottleneck"),
        "child of a parent": in_scenario("queue.bottleneck.child.aqm", queue={"bottleneck": {"parent": "prio"}}),
        "two queues": in_scenario("queue.bottleneck.child.aqm", queue={"bottleneck": tree, "reverse": {"aqm": "red"}}),
        "[aqms], named": in_scenario("aqms.mine", queue__bottleneck__aqm="mine"),
        "[aqms], not named": in_scenario("aqms.mine"),
        "[aqms], a name of the catalogue": in_scenario("aqms.red"),
        "[aqms], source": in_scenario("aqms.mine.source", queue__bottleneck__aqm="mine"),
        "[aqms], digest": in_scenario("aqms.mine.digest", queue__bottleneck__aqm="mine"),
        "[aqms], both": in_scenario(
            "aqms.mine.source", queue__bottleneck__aqm="mine", aqms={"mine": {"digest": "0123456789abcdef"}}
        ),
        "marker": in_scenario("queue.bottleneck.marker.kind"),
        "parent": in_scenario("queue.bottleneck.parent"),
        "a parameter": in_scenario("queue.bottleneck.max_p"),
        "tcp": in_scenario("traffic.0.tcp"),
        "stack": in_scenario("traffic.0.stack"),
        "kind of traffic": in_scenario("traffic.0.kind"),
        "sizes": in_scenario("traffic.0.size.cdf_file", traffic=[{"kind": "transfers", "count": 2}]),
        "trace of a link": in_scenario("topology.bottleneck.trace"),
        "kind of network": in_scenario("topology.kind"),
        "name": in_scenario("name"),
        "sweep: scenario": in_sweep("scenario"),
        "sweep: a queue": in_sweep("scenario.queue.bottleneck.aqm"),
        "sweep: [aqms]": in_sweep("aqms.mine"),
        "sweep: levels": in_sweep("factor.0.values"),
        "sweep: path": in_sweep("factor.0.path"),
        "sweep: set": in_sweep("set.queue.bottleneck.aqm"),
        "sweep: where": in_sweep("where"),
        "sweep: control": in_sweep("control.aqm"),
        "sweep: measures": in_sweep("measures"),
        "sweep: store": in_sweep("store"),
        **{field: in_study(*places) for field, places in study.items()},
        "earlydrop.toml": in_configuration("mine"),
        "earlydrop.toml, below": in_configuration("mine", "below"),
        "earlydrop.toml, a name of the catalogue": in_configuration("red"),
        "result of a run": in_result("run/result.json", made),
        "result of a comparison": in_result("compare/comparison.json", made),
        "a run of a comparison": in_result("compare/runs/red-seed1.json", made),
        "result of a sweep": in_result("sweep/sweep.json", made),
        "store": in_store(made),
        "vectors": in_vectors,
    }


@dataclass(frozen=True)
class Vector:
    """A text in a field, and which of the field's commands meets it."""

    field: str
    text: str
    command: int


def vectors(names: list[str]) -> list[Vector]:
    """Those to try: fields and texts take turns, so that none is left out."""
    if os.environ.get("EARLYDROP_TRUST_VECTORS") == "all":
        return [Vector(name, text, at) for at, text in enumerate(CODE + NO_CODE) for name in names]
    draw = random.Random(47)
    code, none = (itertools.cycle(draw.sample(texts, len(texts))) for texts in (CODE, NO_CODE))
    made = []
    for number in range(CHOSEN):
        # Three of four name code.
        text = next(none if number % 4 == 3 else code)
        made.append(Vector(names[number % len(names)], text, draw.randrange(1000)))
    return made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code as a library."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "mine.c").write_text(LIBRARY, encoding="utf-8")
    include = f"-I{ROOT / 'crates/aqm/include'}"
    subprocess.run(["cc", "-shared", "-fPIC", include, "-o", folder / "mine.so", folder / "mine.c"], check=True)
    return folder / "mine.so"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders that commands wrote."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "s.toml").write_text(to_toml(scenario()), encoding="utf-8")
    factor = {"name": "aqm", "path": "queue.bottleneck.aqm", "values": ["droptail", "red"]}
    (folder / "sweep.toml").write_text(to_toml(sweep(factor=[factor])), encoding="utf-8")
    scenarios = ["s.toml", "--out"]
    for words in (
        ["run", *scenarios, "run"],
        ["compare", *scenarios, "compare", "--aqm", "droptail", "red", "--seeds", "1"],
        ["sweep", "sweep.toml", "--out", "sweep", "--store", "store", "--workers", "1"],
    ):
        said = subprocess.run([sys.executable, "-m", "earlydrop", *words], cwd=folder, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
    return {name: folder / name for name in ("run", "compare", "sweep", "store")}


def planted(folder: Path, library: Path) -> None:
    """The code, under every name that a vector has for it."""
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    for place in (folder, elsewhere):
        (place / "mine.py").write_text(PYTHON, encoding="utf-8")
        shutil.copy(library, place / "libmine.so")
    for name in ("libmine.dylib", "libmine.dll", "libmine.so.1"):
        shutil.copy(library, folder / name)
    for name in ("planted.py", "MINE.PY", "mine.pyw", "mine.pyc", "usercustomize.py", "sitecustomize.py"):
        (folder / name).write_text(PYTHON, encoding="utf-8")
    (folder / "packed").mkdir()
    for name in ("__init__.py", "mine.py", "__main__.py"):
        (folder / "packed" / name).write_text(PYTHON, encoding="utf-8")
    for name, to in {
        "link.py": "mine.py",
        "plain": "mine.py",
        "liblink.so": "libmine.so",
        "outside.py": "../elsewhere/mine.py",
        "outside.so": "../elsewhere/libmine.so",
    }.items():
        (folder / name).symlink_to(to)
    # What an installed package would have beside it.
    (folder / "planted-1.0.dist-info").mkdir()
    (folder / "planted-1.0.dist-info/METADATA").write_text("Name: planted\nVersion: 1.0\n", encoding="utf-8")
    points = "[earlydrop.aqms]\nmine = planted:Mine\nplanted = planted:Mine\n"
    (folder / "planted-1.0.dist-info/entry_points.txt").write_text(points, encoding="utf-8")
    (folder / ".config/earlydrop").mkdir(parents=True)
    for place in (folder / ".config/earlydrop/earlydrop.toml", folder / ".earlydrop.toml"):
        place.write_text('[aqms]\nmine = "mine.py"\n', encoding="utf-8")


def hostile(folder: Path, marks: Path) -> dict[str, str]:
    """Variables of the environment that name the code; those of Python itself are the user's own."""
    said = dict.fromkeys(("EARLYDROP_AQM", "EARLYDROP_AQMS", "EARLYDROP_CONFIG", "EARLYDROP_PLUGINS"), "mine.py")
    return {
        **said,
        "EARLYDROP_TRUST": "1",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / ".config"),
        MARK: str(marks),
    }


@pytest.fixture
def call(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str, list[str]]]]:
    """Tries a text in a field: the exit code, what was said, and the marks. `more` words for the command."""
    count = 0

    def tried(write: Writes, text: str, command: int, *more: str) -> tuple[int, str, list[str]]:
        nonlocal count
        count += 1
        folder = tmp_path / str(count) / "folder"
        folder.mkdir(parents=True)
        planted(folder, library)
        marks = folder / "marks"
        for name, value in hostile(folder, marks).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        # What was loaded for another vector is not known here.
        for name in ("_by_digest", "_latest", "_trusted_files", "_modules", "_libraries"):
            monkeypatch.setattr(registry, name, type(getattr(registry, name))())
        commands = write(folder, text.replace("{here}", str(folder)))
        words = commands[command % len(commands)]
        capsys.readouterr()
        if words[0] == "play":
            # The server itself never ends.
            try:
                playground.scenario(Path(words[1]))
                code = cli.DONE
            except Exception as error:
                code = cli.WRONG_INPUT
                print(error)
        else:
            code = cli.main([*words, *more])
        out, err = capsys.readouterr()
        found = marks.read_text(encoding="utf-8").split() if marks.exists() else []
        shutil.rmtree(folder.parent)
        return code, f"{' '.join(words)}\n{out}\n{err}", found

    # The folder of the last vector is gone.
    yield tried
    os.chdir(tmp_path)


def test_no_vector_runs_code(
    call: Callable[..., tuple[int, str, list[str]]], made: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = fields(made)
    chosen = vectors(list(places))
    assert len(chosen) >= CHOSEN
    assert {vector.field for vector in chosen} == set(places)
    assert {vector.text for vector in chosen} == {*CODE, *NO_CODE}
    asked = set()
    for vector in chosen:
        code, said, marks = call(places[vector.field], vector.text, vector.command)
        assert marks == [], (vector, said)
        assert code in (cli.DONE, cli.FAILED, cli.WRONG_INPUT, cli.LINK_FAILED), (vector, said)
        assert "Traceback" not in said, (vector, said)
        asked |= {vector.field} if "which would run with your rights" in said else set()
    # Every field that code can be reached through says so, but one: `check` of a study whose axis
    # replaces the queue of its scenario in each level never looks at that queue.
    assert asked >= set(REACHED) - {"study: scenario"}


REACHED = {
    "queue": 1,
    "queue of the way back": 0,
    "[aqms], named": 1,
    "[aqms], source": 0,
    "sweep: a queue": 0,
    "sweep: levels": 1,
    "study: scenario": 0,
    "study: a level": 0,
    "earlydrop.toml": 0,
    "earlydrop.toml, below": 0,
}
"""Fields whose code runs once it is trusted, and the command that does."""


@pytest.mark.parametrize("field", REACHED)
def test_the_same_vectors_run_it_when_trusted(
    call: Callable[..., tuple[int, str, list[str]]], made: dict[str, Path], field: str
) -> None:
    for text in ("mine.py", "../elsewhere/mine.py:Mine", "link.py", "libmine.so", "{here}/libmine.dylib"):
        _, said, marks = call(fields(made)[field], text, REACHED[field], "--trust")
        assert len(set(marks)) == 1, (text, said)


INSTALLED = Path(sys.executable).with_name("earlydrop")


@pytest.mark.skipif(not INSTALLED.is_file(), reason="the command is not installed beside this Python")
@pytest.mark.parametrize(
    "words",
    [
        *(["list", "aqms"], ["compare", "s.toml", "--aqm", "planted", "--seeds", "1"], ["show", "planted"]),
        *(["vectors", "mine"], ["check", "planted"], ["run", "s.toml"], ["reproduce", "rfc7928", "--aqm", "planted"]),
    ],
    ids=" ".join,
)
def test_an_entry_point_in_the_current_folder_is_none(tmp_path: Path, library: Path, words: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    planted(folder, library)
    in_scenario("queue.bottleneck.aqm")(folder, "planted")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment = kept | hostile(folder, folder / "marks")
    ended = subprocess.run(
        [INSTALLED, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert not (folder / "marks").exists(), ended.stderr
    assert ended.returncode == (cli.DONE if words == ["list", "aqms"] else cli.WRONG_INPUT), ended.stderr
    assert "planted" not in ended.stdout
