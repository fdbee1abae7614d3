"""What the pages of the studies say of their verdicts."""

from __future__ import annotations

from typing import Any

import pytest

import claims
from earlydrop import study as studies

STUDY = studies.find("ddred")
TESTED = sum(bool(c.parts) for c in STUDY.claims)


def kept(**more: Any) -> dict[str, Any]:
    return {"base": "supported", "verdict": "supported", "p_holm": 0.01, **more}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (kept(), ""),
        (kept(p_holm=0.138), f"does not remain after Holm's correction over {TESTED} claims (p = 0.14)"),
        (
            kept(p_holm=0.05, verdict="depends on the reading"),
            f"supported at the base does not remain after Holm's correction over {TESTED} claims (p = 0.05)",
        ),
        (kept(p_holm=None), "by runs that are all equal, which have no p value"),
        (kept(base="undecided", verdict="undecided", p_holm=1.0), ""),
    ],
)
def test_a_verdict_that_the_correction_takes_away_is_named(one: dict[str, Any], said: str) -> None:
    claim = next(c for c in STUDY.claims if c.parts)
    assert claims.holm_text(STUDY, claim, one) == said


def test_the_data_name_it_beside_the_verdict_and_the_page_counts_it() -> None:
    stored = {"seeds": [20], "claims": []}
    first = next(c for c in STUDY.claims if c.parts)
    for claim in STUDY.claims:
        lost = claim.id == first.id
        more = {"id": claim.id, "literal": None, "found": ["x"], "published": [], "readings": []}
        stored["claims"].append(kept(p_holm=0.2 if lost else 0.001) | more)
    head, *rows = claims.verdict_rows(STUDY, stored)
    said = {row[0]: row[head.index("after correction")] for row in rows}
    assert [name for name, words in said.items() if words] == [first.id]
    assert said[first.id].startswith("does not remain after Holm's correction")
    assert "\nHolm's correction leaves all but 1 of the verdicts at the base. " in claims.claims_block(STUDY, stored)
