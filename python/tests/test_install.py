"""Installing: what docs/install.md says is so, extras name the command that installs them, links name their system."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import check_wheel
import notices
import release
from earlydrop import _core, cli, extras

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/install.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[c.strip() for c in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")][1:]


def test_the_first_steps_and_the_way_from_an_older_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = re.findall(r"^    earlydrop (.*)$", PAGE.split("\n## Extras")[0], re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["init", "compare"]
    for step in steps:
        assert cli.main(shlex.split(step)) == 0
    assert "CoDel" in capsys.readouterr().out
    assert cli.main(["run", "first.toml", "--out", "out/run"]) == 0
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/moving.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    repeated, first = names["result"], json.loads((tmp_path / "out/run/result.json").read_text(encoding="utf-8"))
    first.pop("cost")
    assert {k: v for k, v in repeated.document.items() if k != "cost"} == first  # type: ignore[attr-defined]


def test_every_extra_is_on_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = {row[0].strip("`"): row[2].lower().split(", ") for row in rows("Extras")}
    declared = {
        name: [re.split(r"[<>=\[]", requirement)[0].lower() for requirement in requirements]
        for name, requirements in project["optional-dependencies"].items()
    }
    assert told == declared


def test_the_command_for_an_extra_is_makes_in_a_checkout_and_pips_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert extras.command("tune") == "make build EXTRAS=tune"
    monkeypatch.chdir(tmp_path)
    assert extras.command("tune") == f"make -C {ROOT} build EXTRAS=tune"
    monkeypatch.setattr(extras, "_ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert extras.command("tune") == f'{sys.executable} -m pip install "earlydrop[tune]"'
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\n", encoding="utf-8")
    pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert extras.command("tune") == 'pip install "earlydrop[tune]"'


@pytest.mark.parametrize(
    ("module", "extra", "command"),
    [
        ("optuna", "tune", ["tune", "first.toml", "--aqm", "red", "--trials", "2"]),
        ("SALib.analyze", "tune", ["tune", "first.toml", "--aqm", "red", "--sensitivity", "morris"]),
        ("distributed", "cluster", ["tune", "first.toml", "--aqm", "red", "--cluster", "tcp://127.0.0.1:1"]),
        ("fsspec", "remote", ["store", "ls", "memory://nowhere"]),
    ],
)
def test_a_command_without_its_extra_says_what_installs_it(
    module: str,
    extra: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "first"]) == 0
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(command) != 0
    assert f"build EXTRAS={extra}\n" in capsys.readouterr().err


def test_other_systems_have_everything_but_real_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = {name for row in rows("What runs where") if "no" in row[2:] for name in re.findall(r"`(\w+)`", row[0])}
    assert lacking == {"bench", "link", "crosscheck"}
    # As the engine is built for them, and Python on Windows.
    for name in ("Link", "Child", "replay_link", "sweep_links", "has_tun"):
        monkeypatch.delattr(_core, name)
    for name in ("wait4", "geteuid", "getuid"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr("platform.system", lambda: "Windows")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["init", "first"]) == 0
    assert cli.main(["run", "first.toml", "--set", "duration=2 s", "--set", "warmup=1 s"]) == 0
    capsys.readouterr()
    for command, said in [
        (["link", "--rate", "1Mbit/s", "--", "true"], "error: real links need Linux"),
        (["crosscheck", "first.toml"], "error: real links need Linux"),
        (["bench", "--runs", "1"], "error: bench needs the processor time of a process, which Windows does not tell"),
    ]:
        assert cli.main(command) != 0
        shown = capsys.readouterr().err
        assert shown.startswith(said)
        assert shown.count("\n") == 1


def test_locks_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its branch over a stand-in for msvcrt that locks bytes of a file, once in the whole system."""
    held: dict[tuple[str, int], int] = {}

    class Msvcrt(ModuleType):
        LK_NBLCK, LK_UNLCK = 2, 0

        @staticmethod
        def locking(file: int, mode: int, count: int) -> None:
            place = (os.readlink(f"/proc/self/fd/{file}"), os.lseek(file, 0, os.SEEK_CUR))
            if mode == Msvcrt.LK_UNLCK:
                assert held.pop(place) == file
            elif held.setdefault(place, file) != file:
                raise PermissionError(13, "Permission denied")

    from earlydrop import locks

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the stand-in needs /proc")
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt("msvcrt"))
    monkeypatch.setattr(sys, "platform", "win32")
    try:
        windows = importlib.reload(locks)
        one, two = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
        assert not windows.held(two)
        windows.lock(one)
        assert windows.held(two)
        held.clear()
        windows.lock(two)
        assert windows.held(one)
        os.close(one)
        os.close(two)
    finally:
        monkeypatch.undo()
        importlib.reload(locks)


def made(tmp_path: Path) -> Path:
    """What a release looks at, with a changelog that has the version."""
    for name in ("Cargo.toml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    version = _core.version()
    (tmp_path / "CHANGELOG.md").write_text(
        f"# Changelog\n\n## [Unreleased]\n\n## [{version}]\n\nNew.\n", encoding="utf-8"
    )
    (tmp_path / "dist").mkdir()
    for name in (f"earlydrop-{version}-cp311-abi3-any.whl", f"earlydrop-{version}.tar.gz"):
        (tmp_path / "dist" / name).touch()
    return tmp_path


def test_a_release_has_one_version(tmp_path: Path) -> None:
    root, version = made(tmp_path), _core.version()
    assert list(release.versions(root)) == []

    def change(name: str, old: str, new: str) -> None:
        text = (ROOT / name).read_text(encoding="utf-8") if name != "CHANGELOG.md" else (root / name).read_text("utf-8")
        assert old in text
        (root / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    change("Cargo.toml", 'path = "crates/net", version = "', 'path = "crates/net", version = "9')
    change("pyproject.toml", 'dynamic = ["version"]', 'version = "1"')
    change("CHANGELOG.md", f"## [{version}]\n\nNew.", "New.")
    (root / "dist" / f"earlydrop-{version}.tar.gz").unlink()
    (root / "dist" / "earlydrop-9.9.9-cp311-abi3-any.whl").touch()
    assert list(release.versions(root)) == [
        f"Cargo.toml: workspace.dependencies.earlydrop-net: version 9{version}, not {version}",
        "pyproject.toml: project.version: must be dynamic, so that it is Cargo.toml's",
        f"CHANGELOG.md: no section [{version}], or nothing in it",
        f"CHANGELOG.md: [Unreleased] is not empty: move it to [{version}]",
        "dist: needs a wheel and an sdist: make wheels",
        f"dist/earlydrop-9.9.9-cp311-abi3-any.whl: not version {version}",
    ]


def test_the_licences_of_all_linked_crates_are_in_the_wheel() -> None:
    try:
        crates = notices.packages("cargo", "--offline")
    except (notices.NoticeError, OSError) as error:
        pytest.skip(f"cargo cannot name the crates without the network: {error}")
    assert {"pyo3", "toml", "hdrhistogram", "io-uring", "windows-link"} < {crate["name"] for crate in crates}
    assert notices.PAGE.read_text(encoding="utf-8") == notices.text(crates), "stale: python tools/notices.py"


def test_a_licence_without_its_text_is_refused(tmp_path: Path) -> None:
    crate = {"name": "odd", "version": "1.0.0", "license": "ISC", "manifest_path": str(tmp_path / "Cargo.toml")}
    with pytest.raises(notices.NoticeError, match=r"odd 1\.0\.0: ISC, without a text of it"):
        notices.taken(crate)
    (tmp_path / "LICENSE").write_text("Use it.", encoding="utf-8")
    assert notices.taken(crate) == ("ISC", "Use it.")
    assert notices.taken({**crate, "license": "MIT OR Apache-2.0"}) == ("Apache-2.0", None)


def test_checking_a_wheel_stops_at_what_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_wheel.main([str(tmp_path / "none.whl")]) == 2
    broken = tmp_path / "earlydrop-0.0.0-py3-none-any.whl"
    broken.write_bytes(b"no archive")
    assert check_wheel.main([str(broken)]) == 1
    assert "error: exit code 1, wanted exit code 0" in capsys.readouterr().err
