"""Verdicts that can fail: the study run for real, then with TRED secretly replaced by RED."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import part_of

from earlydrop import study as studies
from earlydrop.study.claim_results import EQUIVALENT, SUPPORTED, UNDECIDED

Verdicts = dict[str, str]


@pytest.fixture(scope="module")
def short() -> studies.Study:
    """The study's own network, loads and seeds at one buffer, RED and TRED only."""
    whole = part_of(studies.find("tred"), "T")
    (e,) = whole.experiments
    kept = {**{a.id: [a.base] for a in e.readings}, "aqm": ["red", "tred"], "buffer": ["110"]}
    axes = tuple(
        replace(a, levels=tuple(x for x in a.levels if a.id not in kept or x.id in kept[a.id])) for a in e.axes
    )
    return replace(whole, experiments=(replace(e, axes=axes),))


def base(study: studies.Study) -> Verdicts:
    """The verdict on each claim."""
    return {r.claim.id: r.base.verdict for r in studies.judge(studies.run(study))}


def test_what_tred_is_found_to_do(short: studies.Study) -> None:
    claims = base(short)
    # Its delay is larger than RED's with 6 flows, and hardly smaller with 40 and 80.
    assert {k: claims[k] for k in ("T-1", "T-4", "T-5b")} == {"T-1": SUPPORTED, "T-4": EQUIVALENT, "T-5b": EQUIVALENT}
    # With 80 flows the link is never idle under either: there is no throughput left to gain.
    assert claims["T-5a"] == EQUIVALENT


@pytest.mark.parametrize(
    "w_q",
    [
        pytest.param(0.002, id="RED itself, whose differences are all zero"),
        pytest.param(0.0020001, id="RED with an average too little changed to matter, whose drops fall elsewhere"),
    ],
)
def test_with_red_in_its_place_nothing_is_found(short: studies.Study, w_q: float) -> None:
    red = short.experiments[0].axis("aqm").level("red").set
    fake = short.with_level("aqm", "tred", {**red, "queue.bottleneck.w_q": w_q})
    results = {r.claim.id: r for r in studies.judge(studies.run(fake))}
    delay = results["T-5b"].base.parts[0].worst
    assert (delay.wins + delay.losses == 0) == (w_q == 0.002)
    for claim in ("T-1", "T-4", "T-5a", "T-5b"):
        assert results[claim].base.verdict in ({EQUIVALENT} if w_q == 0.002 else {EQUIVALENT, UNDECIDED})
        for part in results[claim].base.parts:
            assert part.worst.detectable is not None
            assert part.worst.detectable > 0
