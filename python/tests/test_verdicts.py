"""Verdicts that can fail: the study run for real, then with TRED secretly replaced by RED."""

from __future__ import annotations

from dataclasses import replace

import pytest

from earlydrop import study as studies
from earlydrop.study import SUPPORTED, UNDECIDED

Verdicts = dict[str, str]

LARGER_OR_SMALLER = {"T-1 delay": SUPPORTED, "T-4 delay": SUPPORTED, "T-5 delay": SUPPORTED}
"""What TRED's delay does against RED's: larger with 6 flows, smaller with 40 and 80."""


@pytest.fixture(scope="module")
def short() -> studies.Study:
    """The study's own network, loads and seeds at one buffer, RED and TRED only."""
    whole = studies.find("tred")
    (e,) = whole.experiments
    kept = {"network": ["T-fit"], "aqm": ["red", "tred"], "buffer": ["150"]}
    axes = tuple(
        replace(a, levels=tuple(x for x in a.levels if a.id not in kept or x.id in kept[a.id])) for a in e.axes
    )
    return replace(whole, experiments=(replace(e, axes=axes),), tables=(), figures=())


def verdicts(study: studies.Study) -> tuple[Verdicts, Verdicts]:
    """The verdict on each claim, and on each of its parts as `T-5 delay`."""
    results = studies.judge(studies.run(study))
    claims = {r.claim.id: r.verdict for r in results}
    parts = {f"{r.claim.id} {p.part.measure}": p.verdict for r in results for p in r.base.parts}
    return claims, parts


def test_what_tred_is_found_to_do(short: studies.Study) -> None:
    claims, parts = verdicts(short)
    assert {k: parts[k] for k in LARGER_OR_SMALLER} == LARGER_OR_SMALLER
    assert {claims["T-1"], claims["T-4"]} == {SUPPORTED}
    # With 80 flows the link is never idle under either: there is no throughput left to gain.
    assert parts["T-5 throughput"] == UNDECIDED


@pytest.mark.parametrize(
    "w_q",
    [
        pytest.param(0.002, id="RED itself, whose differences are all zero"),
        pytest.param(0.0020001, id="RED with an average too little changed to matter, whose drops fall elsewhere"),
    ],
)
def test_with_red_in_its_place_nothing_is_found(short: studies.Study, w_q: float) -> None:
    red = dict(short.experiments[0].axis("aqm").level("red").set)
    red["queue.bottleneck"] = {**red["queue.bottleneck"], "w_q": w_q}
    fake = short.with_level("aqm", "tred", red)
    results = {r.claim.id: r for r in studies.judge(studies.run(fake))}
    (delay,) = [p.worst for p in results["T-5"].base.parts if p.part.measure == "delay"]
    assert (delay.wins + delay.losses == 0) == (w_q == 0.002)
    for claim in ("T-1", "T-4", "T-5"):
        assert results[claim].verdict == UNDECIDED
        for part in results[claim].base.parts:
            assert part.verdict == UNDECIDED
            assert part.worst.detectable is not None
            assert part.worst.detectable > 0
