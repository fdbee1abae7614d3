"""docs/claims.md and the claims in the pages of studies: as stored, of today's claims, and of tests that exist."""

import pytest

import claims


def test_the_pages_are_made_of_the_stored_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["check"]) == 0, capsys.readouterr().err


def test_a_definition_names_a_test_that_there_is() -> None:
    file = "crates/aqm/src/choke.rs"
    assert not claims.lost_test(f"{file}::draws_above_min_th_and_forces_above_max_th")
    assert not claims.lost_test("python/tests/test_claims_page.py::test_a_definition_names_a_test_that_there_is")
    # A function that is no test, one that is not there, a file that is not there.
    for lost in (f"{file}::fresh", f"{file}::draws_above", "tools/claims.py::main", "crates/aqm/src/chok.rs::draws"):
        assert claims.lost_test(lost)
