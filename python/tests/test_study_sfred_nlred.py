"""The studies of the SFRED and NLRED paper: complete, and able to fail."""

from __future__ import annotations

import pytest
from conftest import part_of

from earlydrop import study as studies

SUPPORTED = studies.SUPPORTED


def test_every_claim_table_and_figure_of_the_paper_is_there() -> None:
    sfred, nlred = studies.find("sfred"), studies.find("nlred")
    assert {"S-1", "S-2", "S-3", "S-4"} <= {c.id[:3] for c in sfred.claims}
    assert {f"N-{k}" for k in range(7)} <= {c.id[:3] for c in nlred.claims}
    assert [t.id for t in sfred.tables] == ["Table 1"]
    assert [f.id for f in sfred.figures] == [f"Figure {k}" for k in range(1, 11)]
    assert [f.id for f in nlred.figures] == [f"Figure {k}" for k in range(9, 22)]


@pytest.mark.parametrize(
    ("name", "experiment", "level", "control", "claims"),
    [
        ("sfred", "S-1", "sfred", "red", {"S-1a", "S-1b"}),
        ("sfred", "S-4", "sfred", "red", {"S-4a"}),
        ("nlred", "N-3", "nlred", "gred", {"N-3a", "N-3b"}),
    ],
)
def test_what_is_supported_is_not_if_the_control_runs_under_the_name(
    name: str, experiment: str, level: str, control: str, claims: set[str]
) -> None:
    study = part_of(studies.find(name).as_quick(), experiment)
    other = next(a for a in study.experiments[0].axes if a.id == "aqm").level(control).set
    for tried, expected in ((study, claims), (study.with_level("aqm", level, other), set())):
        _, results = studies.reproduce(tried)
        found = {r.claim.id for r in results if r.base.verdict == SUPPORTED}
        # Others are about schemes that stay as they are.
        assert found & claims == expected, found


def test_a_reading_of_the_formulas_leaves_red_alone() -> None:
    """RED's cells are the same scenario in every reading of SFRED's formulas, and are run once."""
    planned = studies.plan(part_of(studies.find("sfred"), "S-1"))
    e = planned.study.experiments[0]
    red = {planned.cells[(e.id, c)].key for c in e.cells if c[1:] == ("red", "wait", "reno")}
    sfred = [planned.cells[(e.id, c)].key for c in e.cells if c[1:] == ("sfred", "wait", "reno")]
    assert len(red) == 1
    assert len(set(sfred)) == len(sfred)
