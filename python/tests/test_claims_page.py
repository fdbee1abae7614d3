"""docs/claims.md, its data and those of the studies: as stored, of today's claims, and of tests that exist."""

import csv
from pathlib import Path

import pytest

import claims
from earlydrop import study as studies

DOCS = Path(__file__).resolve().parents[2] / "docs"


def rows(name: str) -> list[dict[str, str]]:
    with (DOCS / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_pages_are_made_of_the_stored_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["check"]) == 0, capsys.readouterr().err


def test_a_definition_names_a_test_that_there_is() -> None:
    file = "crates/aqm/src/choke.rs"
    assert not claims.lost_test(f"{file}::draws_above_min_th_and_forces_above_max_th")
    assert not claims.lost_test("python/tests/test_claims_page.py::test_a_definition_names_a_test_that_there_is")
    # A function that is no test, one that is not there, a file that is not there.
    for lost in (f"{file}::fresh", f"{file}::draws_above", "tools/claims.py::main", "crates/aqm/src/chok.rs::draws"):
        assert claims.lost_test(lost)


def test_every_sentence_and_every_claim_has_a_row_and_the_page_is_short() -> None:
    sentences = rows("claims")
    verdicts = {}
    for name in claims.PAPERS:
        study = studies.find(name)
        own = [row for row in sentences if row["study"] == name]
        assert [row["the paper says"] for row in own] == [one.text for one in study.statements]
        assert [row["tests"] for row in own] == ["; ".join(one.tests) for one in study.statements]
        assert all(row["we find"] for row in own if row["tested by"] != "tests of the code")
        table = rows(f"{name}-verdicts")
        assert [row["claim"] for row in table] == [claim.id for claim in study.claims]
        verdicts |= {(name, row["claim"]): row["verdict"] for row in table}
    for row in sentences:
        for claim in filter(None, row["claims"].split(", ")):
            assert f"{claim} {verdicts[row['study'], claim]}" in row["verdict"]
    page = (DOCS / "claims.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 100
    denied = {place for place, verdict in verdicts.items() if verdict == "contradicted"}
    assert denied
    assert {(row["study"], row["claim"]) for row in rows("contradicted")} == denied
