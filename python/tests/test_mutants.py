"""tools/mutants.py: what it breaks, what its report says, and that the report has what is wanted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import mutants as tool

ROOT = Path(__file__).parents[2]
FILE = "crates/aqm/src/some.rs"


def test_comparisons_conditions_and_sums_are_broken_but_no_tests_and_constants() -> None:
    source = """
const N: u32 = 1 + 2;
fn full(a: f64, b: f64) -> bool { a < b && a - 1.0 != b }
fn check(a: f64) -> bool { a > 1.0 }
#[cfg(test)]
mod tests { fn it() { assert!(1 + 1 == 2); } }
"""
    mutator = tool.Mutator(5)
    written = mutator.file("some.rs", source)
    assert [(mutant.number, mutant.kind, mutant.text) for mutant in mutator.mutants] == [
        (5, "boundary", "a < b"),
        (6, "negated", "a < b"),
        (7, "altered", "a - 1.0"),
        (8, "negated", "a - 1.0 != b"),
        (9, "ignored", "a < b && a - 1.0 != b"),
    ]
    assert "const N: u32 = 1 + 2;" in written
    assert "mod tests { fn it() { assert!(1 + 1 == 2); } }" in written


def test_each_mutant_by_hand_has_its_place() -> None:
    for name, file, there, _ in tool.HAND:
        assert (ROOT / "crates/aqm/src" / file).read_text(encoding="utf-8").count(there) == 1, f"{name}: {there}"


def test_a_report_counts_boundaries_apart_and_wants_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "REASONS", [(r" known ", "it is so")])
    rows = [
        [FILE, f"{FILE} f boundary a < b", tool.APART],
        [FILE, f"{FILE} f negated a < b", "red default 3"],
        [FILE, f"{FILE} f altered a + b", "aqm: some::tests::sums"],
        [FILE, f"{FILE} known altered a + b", "?"],
        [FILE, f"{FILE} f ignored a && b", tool.UNREACHED],
        [FILE.replace("aqm/src", "net/src/tcp/rfc"), "x f negated a < b", "stacks.txt 3"],
    ]
    page, surviving, wrong = tool.report(rows)
    assert "| `crates/aqm/src` | 5 | 1 | 2 of 4, 50.0% | 1 | 1 | 0 |" in page
    assert "| `crates/net/src/tcp/rfc` | 1 | 0 | 1 of 1, 100.0% | 0 | 0 | 1 |" in page
    assert (FILE, "known", 1, "it is so") in surviving
    assert wrong[:2] == ["crates/aqm/src: 50.0% are noticed, not 95%", f"{FILE} f: 1 survive without a reason"]


def test_changed_files_may_have_no_more_survivors_than_the_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "mutants.csv"
    known.write_text(f"file,function,mutants,reason\n{FILE},f,1,it is so\n", encoding="utf-8")
    monkeypatch.setattr(tool, "SURVIVORS", known)
    survivor = [FILE, f"{FILE} f negated a < b", "?"]
    assert tool.compare([survivor, [FILE, f"{FILE} f negated a < b", "red default 3"]]) == 0
    assert tool.compare([survivor, survivor]) == 1
    assert f"{FILE} f: 2 survive, 1 are known" in capsys.readouterr().out


def test_the_report_has_what_is_wanted() -> None:
    page = tool.REPORT.read_text(encoding="utf-8")
    for folder, wanted in tool.PARTS.items():
        noticed, others = map(int, re.findall(rf"\| `{folder}` \| \d+ \| \d+ \| (\d+) of (\d+),", page)[0])
        assert others > 1500
        assert noticed / others >= wanted, folder
    assert tool.NO_REASON not in tool.SURVIVORS.read_text(encoding="utf-8")


def test_every_run_of_all_tests_has_fuzzing_and_mutants_of_changed_files() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert "make fuzz RANDOM=yes SECONDS=10" in steps
    assert "make mutants CHANGED=yes" in steps
    assert "--seconds 180" in (ROOT / "Makefile").read_text(encoding="utf-8")
