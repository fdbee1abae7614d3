"""Packs made to do harm are refused: nothing of them is written outside, and none of their code runs."""

from __future__ import annotations

import io
import json
import stat
import struct
import tempfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from earlydrop import cli, foreign, pack
from earlydrop.pack import PackError

SCENARIO = b"""name = "one"
duration = "1 s"
warmup = "0.2 s"
[topology]
kind = "dumbbell"
pairs = 1
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "4 Mbit/s", delay = "10 ms" }
[queue.bottleneck]
aqm = "red"
[[traffic]]
kind = "ftp"
"""


def about(files: dict[str, bytes], /, **other: Any) -> bytes:
    """A `pack.json` whose checksums are right."""
    listed = {n: {"sha256": sha256(c).hexdigest(), "bytes": len(c)} for n, c in files.items()}
    made = {
        "format": 1,
        "kind": "run",
        "command": ["run", "scenario.toml"],
        "code": [],
        "versions": {},
        "files": listed,
    }
    return json.dumps({**made, **other}).encode()


def entry(name: str, **changes: Any) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.compress_type = zipfile.ZIP_DEFLATED
    for key, value in changes.items():
        setattr(made, key, value)
    return made


def packed(*more: tuple[zipfile.ZipInfo | str, bytes], **other: Any) -> bytes:
    """A pack with these files beside a scenario."""
    files = {"inputs/scenario.toml": SCENARIO}
    listed = files | {n if isinstance(n, str) else n.filename: c for n, c in more}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(pack.ABOUT, about(listed, **other))
        for name, content in [*files.items(), *more]:
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Why a file is refused, by the function and by the command, after which nothing is left of it."""
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def try_it(content: bytes, *words: str) -> str:
        Path("it.zip").write_bytes(content)
        (tmp_path / "to").mkdir(exist_ok=True)
        with pytest.raises(PackError) as caught:
            pack.unpacked(Path("it.zip"), tmp_path / "to")
        assert cli.main(["run", "it.zip", "--out", "new", *words]) == cli.WRONG_INPUT
        assert [path.name for path in home.iterdir()] == ["it.zip"]
        assert list(temporary.iterdir()) == []
        assert {path.name for path in tmp_path.iterdir()} == {"home", "temporary", "to"}
        return str(caught.value)

    return try_it


LINK = (stat.S_IFLNK | 0o777) << 16
NAMES = {
    "../evil.txt": "has a name that is not allowed",
    "inputs/../../evil.txt": "has a name that is not allowed",
    "/tmp/evil.txt": "has a name that is not allowed",
    "inputs//evil.txt": "has a name that is not allowed",
    "C:evil.txt": "has a name that is not allowed",
    "a\\..\\evil.txt": "has a name that is not allowed",
    ".hidden.txt": "has a name that is not allowed",
    "inputs/nul.txt": "has a name that is not allowed",
    "a/b/c/d/e/f/g.txt": "has a name that is not allowed",
    "new\nline.txt": "has a name that is not allowed",
    "x" * 101 + ".txt": "has a name that is not allowed",
    "inputs/matplotlibrc": "is of a kind that no result has",
    "inputs/evil.pth": "is of a kind that no result has",
    "inputs/": "has a name that is not allowed",
    "INPUTS/Scenario.toml": "is there twice, also as 'inputs/scenario.toml'",
    "inputs/scenario.toml/x.txt": "is a file and a folder",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_lead_nowhere_else(name: str, refused: Callable[..., str]) -> None:
    assert NAMES[name] in refused(packed((name, b"evil")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_are_regular_files(refused: Callable[..., str]) -> None:
    assert "is no regular file" in refused(packed((entry("inputs/x.txt", external_attr=LINK), b"/etc/passwd")))
    for way in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "compressed in a way that is not" in refused(packed((entry("inputs/x.txt", compress_type=way), b"x")))
    assert "is there twice" in refused(packed(("inputs/scenario.toml", b"evil")))
    # Encrypted, as the directory says.
    content = bytearray(packed(("inputs/x.txt", b"x")))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    assert "is encrypted" in refused(bytes(content))
    # One name for those who read to the first zero, another for others.
    content = packed(("inputs/xxy.txt", b"x")).replace(b"inputs/xxy.txt", b"x.txt\0/xxy.txt")
    assert "has two names" in refused(content)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """A ceiling of 1 MiB for a file, and of 8 for all."""
    monkeypatch.setenv(foreign.SWITCH, "1")
    return foreign.CELLS << 20


def test_sizes_are_bounded_while_inflating(small: int, refused: Callable[..., str]) -> None:
    bomb = packed(("inputs/x.txt", bytes(small + 1)))
    assert len(bomb) < 20_000
    assert "unpacks to more than 8 MiB; EARLYDROP_FILE_MIB raises that" in refused(bomb)
    # Several files that are below the ceiling each.
    halves = [(f"inputs/{k}.txt", bytes(small // 2)) for k in range(3)]
    assert "unpacks to more than" in refused(packed(*halves))
    # The list itself.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(pack.ABOUT, b" " * (2 << 20))
    assert "unpacks to more than 1 MiB" in refused(stream.getvalue())
    assert "is larger than 1 MiB" in refused(bytes(2 << 20))


def test_the_sizes_in_headers_are_not_believed(small: int, refused: Callable[..., str]) -> None:
    for said in (10, (1 << 32) - 2):
        content = bytearray(packed(("inputs/x.txt", bytes(small + 1))))
        for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
            struct.pack_into("<I", content, content.rindex(mark) + at, said)
        why = refused(bytes(content))
        assert "Bad CRC-32" in why or "unpacks to more than 8 MiB" in why


def test_the_number_of_files_is_bounded_before_they_take_memory(
    refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the directory was read")

    crowd = packed(*((f"inputs/{k}.txt", b"") for k in range(pack.MOST + 1)))
    monkeypatch.setattr(zipfile, "ZipFile", never)
    assert f"has more than {pack.MOST} files" in refused(crowd)


def test_what_is_no_pack(refused: Callable[..., str]) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x.txt", b"x")
    assert "is no pack of earlydrop: there is no pack.json" in refused(stream.getvalue())
    for content in (b"", b"PK", b"\x1f\x8b" + bytes(100), packed()[:-30], packed()[30:], SCENARIO):
        assert refused(content)
    assert cli.main(["run", "none.zip"]) == cli.WRONG_INPUT


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"format": 2}, "pack.json: format: given 2; allowed 1 to 1"),
        ({"files": {}}, "pack.json lists no file 'inputs/scenario.toml'"),
        ({"kind": "link"}, "its command makes no result of the kind 'link'"),
        ({"command": []}, "its command makes no result of the kind 'run'"),
        ({"command": ["link", "scenario.toml"]}, "its command makes no result of the kind 'run'"),
        ({"command": ["run", "/etc/passwd"]}, "its command needs '/etc/passwd', which is not there"),
        ({"command": ["run", "../inputs/scenario.toml"]}, "which is not there"),
        ({"command": ["run", "scenario.toml", "--out=/tmp/evil"]}, "its command has '--out=/tmp/evil'; allowed --seed"),
        ({"command": ["run", "scenario.toml", "--trust"]}, "its command has '--trust'; allowed --seed"),
        ({"command": ["run", "scenario.toml", "-h"]}, "its command has '-h'"),
        ({"command": ["run", "scenario.toml", "other.toml"]}, "its command has 'other.toml'"),
        ({"command": 7}, "pack.json: command: given 7; allowed a list"),
        ({"versions": {"python": 3}}, "versions: python: given 3; allowed a text"),
    ],
)
def test_lists_that_say_something_else(other: dict[str, Any], said: str, refused: Callable[..., str]) -> None:
    assert said in refused(packed(**other))


def test_checksums(refused: Callable[..., str]) -> None:
    wrong = {"inputs/scenario.toml": {"sha256": "0" * 64, "bytes": len(SCENARIO)}}
    assert "inputs/scenario.toml is not what was packed: its checksum is another" in refused(packed(files=wrong))
    more = json.loads(about({"inputs/scenario.toml": SCENARIO, "inputs/gone.txt": b""}))["files"]
    assert "lists a file that is not there, 'inputs/gone.txt'" in refused(packed(files=more))
    deep = b'{"files": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(pack.ABOUT, deep)
    assert "nest deeper than" in refused(stream.getvalue())


@pytest.mark.parametrize("where", ["aqm", "set", "measure", "scenario", "study"])
def test_code_that_a_pack_does_not_hold_is_not_run_untrusted(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the command line names is trusted elsewhere, as its user wrote it; this one a stranger wrote."""
    monkeypatch.chdir(tmp_path)
    evil, ran = tmp_path / "evil.py", tmp_path / "ran"
    evil.write_text(f"open({str(ran)!r}, 'w')\n", encoding="utf-8")
    command, kind, files = ["run", "scenario.toml"], "run", {"inputs/scenario.toml": SCENARIO}
    if where == "aqm":
        command, kind = ["compare", "scenario.toml", f"--aqm={evil}"], "comparison"
    elif where == "set":
        command += [f"--set=queue.bottleneck.aqm={evil}"]
    elif where == "measure":
        command += [f"--measure=x = {evil}:f"]
    elif where == "scenario":
        files = {"inputs/scenario.toml": SCENARIO.replace(b'"red"', json.dumps(str(evil)).encode())}
    else:
        command, kind = ["reproduce", "league", f"--aqm={evil}", "--quick", "--seeds=1"], "study"
    with Path("it.zip").open("wb") as stream:
        pack._zipped(stream, {pack.ABOUT: about(files, command=command, kind=kind), **files})
    assert cli.main(["run", "it.zip", "--out", "new"]) == cli.WRONG_INPUT
    assert "would run with your rights" in capsys.readouterr().err
    assert not ran.exists()
    assert not Path("new").exists()


def test_the_whole_pack_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the others change is right as it is: without results in it, those that are made are said to be new."""
    monkeypatch.chdir(tmp_path)
    Path("it.zip").write_bytes(packed())
    assert cli.main(["run", "it.zip", "--json"]) == cli.FAILED
    found = json.loads(capsys.readouterr().out)
    assert found["different"]["result.json"] == "is not there"
