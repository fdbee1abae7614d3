"""What the package is made from: the databases of advisories that are asked, workflows, builds that are compared."""

from __future__ import annotations

import json
import re
import stat
import zipfile
from pathlib import Path

import pytest

import audit
import same_wheels

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

SUMMARY = '{"type": "summary", "fields": {"advisories": {"errors": 0}}}'
ADVISORY = json.dumps(
    {
        "type": "diagnostic",
        "fields": {
            "severity": "error",
            "code": "vulnerability",
            "message": "Buffer overflow in SmallVec::insert_many",
            "advisory": {"id": "RUSTSEC-2021-0003"},
            "labels": [{"span": "smallvec 1.6.0 registry+https://github.com/rust-lang/crates.io-index"}],
        },
    }
)
FETCH = '{"type": "log", "fields": {"level": "ERROR", "message": "failed to fetch advisory database X\\nfatal: no"}}'
CLEAN = '{"dependencies": [{"name": "numpy", "version": "2.0", "vulns": []}, {"name": "earlydrop", "skip_reason": ""}]}'
FLAW = CLEAN.replace('"vulns": []', '"vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]')
SKIPPED = '{"dependencies": [{"name": "numpy", "skip_reason": "Dependency not found on PyPI"}]}'
NPM = '{"vulnerabilities": {}}'
VIA = '{"url": "https://ghsa", "range": "<2", "title": "Prototype pollution"}'
NPM_FLAW = f'{{"vulnerabilities": {{"vite": {{"via": [{VIA}, "esbuild"]}}}}}}'


@pytest.fixture
def databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs that answer instead of the databases."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(audit, "BESIDE", tmp_path)
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    (tmp_path / ".venv/lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "web").mkdir()
    return tmp_path


def answers(folder: Path, name: str, out: str = "", err: str = "", code: int = 0) -> None:
    """A program that prints this."""
    for stream, text in (("out", out), ("err", err)):
        (folder / f"{name}.{stream}").write_text(text, encoding="utf-8")
    file = folder / name
    here = f'"{folder}/{name}'
    # `cargo deny --version` says that it is there.
    file.write_text(
        f'#!/bin/sh\n[ "$2" = --version ] && exit 0\ncat {here}.out"\ncat {here}.err" >&2\nexit {code}\n',
        encoding="utf-8",
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_no_advisory(databases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers(databases, "cargo", err=SUMMARY)
    answers(databases, "pip-audit", CLEAN)
    answers(databases, "npm", NPM)
    assert audit.main([]) == 0
    assert capsys.readouterr().out.count("no advisory: ") == 3


@pytest.mark.parametrize("options", [[], ["--unreachable-ok"]])
def test_an_advisory_fails(databases: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    answers(databases, "cargo", err=f"{ADVISORY}\n{SUMMARY}", code=1)
    answers(databases, "pip-audit", FLAW, code=1)
    answers(databases, "npm", NPM_FLAW, code=1)
    assert audit.main(options) == 1
    assert capsys.readouterr().out.splitlines() == [
        "advisory: RUSTSEC-2021-0003: smallvec 1.6.0: Buffer overflow in SmallVec::insert_many",
        "advisory: PYSEC-1: numpy 2.0; fixed in: 2.1",
        "advisory: https://ghsa: vite <2: Prototype pollution",
    ]


def test_each_database_that_does_not_answer_is_named(databases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers(databases, "cargo", err=FETCH, code=1)
    # It ends well, and has asked about nothing.
    answers(databases, "pip-audit", SKIPPED)
    answers(databases, "npm", '{"message": "405 Method Not Allowed", "error": {}}', code=1)
    assert audit.main([]) == 2
    said = capsys.readouterr().out
    assert re.findall("NO ANSWER: (.*)", said) == [
        "RustSec (https://github.com/RustSec/advisory-db): failed to fetch advisory database X",
        "PyPI: no answer about 1 of 1 packages, such as numpy",
        "npm: 405 Method Not Allowed",
    ]
    assert "no advisory" not in said
    assert audit.main(["--unreachable-ok"]) == 0
    # What none of them says in its way is no answer either.
    for name in ("cargo", "pip-audit", "npm"):
        answers(databases, name, err="broken", code=2)
    assert audit.main([]) == 2
    assert capsys.readouterr().out.count(": broken\n") == 3


def test_one_advisory_counts_though_another_database_is_out_of_reach(databases: Path) -> None:
    answers(databases, "cargo", err=FETCH, code=1)
    answers(databases, "pip-audit", FLAW, code=1)
    answers(databases, "npm", NPM)
    assert audit.main(["--unreachable-ok"]) == 1


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_pinned_actions_with_few_rights(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    assert re.search(r"^permissions:\n  contents: read\n", text, re.MULTILINE), "at the top, for every job"
    assert not re.search(r"permissions: *write-all|contents: write|pull_request_target", text)
    used = re.findall(r"uses: (\S+?)@(\S+)(?: +# (.*))?", text)
    for action, at, comment in used:
        pinned = re.fullmatch("[0-9a-f]{40}", at) and re.fullmatch(r"v\d+\.\d+\.\d+", comment)
        assert pinned, f"{action}@{at}: a commit, and the version that it is"
    # Whatever a step runs later finds no token in the checkout.
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_what_differs_between_two_wheels_is_named(tmp_path: Path) -> None:
    def wheel(name: str, files: dict[str, bytes], year: int = 2026) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        with zipfile.ZipFile(folder / "x-1-py3-none-any.whl", "w") as archive:
            for file, content in files.items():
                archive.writestr(zipfile.ZipInfo(file, (year, 1, 1, 0, 0, 0)), content)
        return folder

    one = wheel("one", {"a.py": b"1", "b.py": b"2"})
    same = wheel("same", {"a.py": b"1", "b.py": b"2"})
    assert list(same_wheels.differences(one, same)) == []
    for name, files, year, places in [
        ("content", {"a.py": b"1", "b.py": b"3"}, 2026, ["1 b.py"]),
        ("order", {"b.py": b"2", "a.py": b"1"}, 2026, ["0 a.py", "1 b.py", "0 b.py", "1 a.py"]),
        ("time", {"a.py": b"1", "b.py": b"2"}, 2025, ["0 a.py", "1 b.py"]),
    ]:
        found = list(same_wheels.differences(one, wheel(name, files, year)))
        assert [line.split(": ")[1] for line in found] == places
    (one / "y.whl").write_bytes(b"")
    assert list(same_wheels.differences(one, same)) == ["y.whl: is in one folder only"]
