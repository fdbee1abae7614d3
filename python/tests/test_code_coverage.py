"""tools/code_coverage.py: shares by part, and the files that are covered least."""

from __future__ import annotations

import json
from pathlib import Path

import code_coverage as tool


def test_shares_of_crates_and_of_the_package(tmp_path: Path) -> None:
    def rust(name: str, covered: int, count: int) -> object:
        return {"filename": str(tool.ROOT / name), "summary": {"lines": {"covered": covered, "count": count}}}

    files = [
        rust("crates/aqm/src/red.rs", 90, 100),
        rust("crates/aqm/src/pie.rs", 50, 100),
        rust("crates/aqm/src/lib.rs", 0, 3),
        rust("crates/aqm/src/cake/tests.rs", 10, 100),
        rust("crates/link/src/link.rs", 0, 100),
    ]
    (tmp_path / "rust.json").write_text(json.dumps({"data": [{"files": files}]}), encoding="utf-8")
    summary = {"covered_lines": 30, "num_statements": 40}
    python = {"files": {"python/earlydrop/sweep.py": {"summary": summary}}}
    (tmp_path / "python.json").write_text(json.dumps(python), encoding="utf-8")
    page = tool.tables(tool.of_rust(tmp_path / "rust.json") | tool.of_python(tmp_path / "python.json"))
    assert "| `crates/aqm` | 203 | 69.0% |\n| `python/earlydrop` | 40 | 75.0% |" in page
    least = page[page.index("covered least") :]
    assert least.index("`crates/aqm/src/pie.rs` | 100 | 50.0%") < least.index(
        "`python/earlydrop/sweep.py` | 40 | 75.0%"
    )
    assert "lib.rs" not in page
    assert "tests.rs" not in page
    assert "crates/link" not in page
