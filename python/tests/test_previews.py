"""Quick runs: what they may say beside the full run that is stored, and that they are long enough to say it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, outcome, part_of

from earlydrop import study as studies
from earlydrop import terminal
from earlydrop.study import folder as folders
from earlydrop.study import previews, scorecard, text, verdicts
from earlydrop.study.claim_results import CONTRADICTED, DEPENDS, EQUIVALENT, SUPPORTED, UNDECIDED, ClaimResult, Judged
from earlydrop.study.model import Study

FOUND = (SUPPORTED, CONTRADICTED, EQUIVALENT, UNDECIDED, DEPENDS)


@pytest.fixture(scope="module")
def quick() -> Study:
    """A quick study whose claims get each of the verdicts."""
    return part_of(studies.find("tred"), "T").as_quick()


@pytest.fixture(scope="module")
def own(quick: Study) -> list[ClaimResult]:
    """What it finds by itself."""
    return verdicts.judge(outcome(quick))


def kept(results: Sequence[ClaimResult], say: Any = lambda verdict: verdict, **more: Any) -> list[dict[str, Any]]:
    """What a full run with these results stores, in which every verdict is changed by `say`."""

    def parts(judged: Judged) -> list[dict[str, Any]]:
        return [
            {
                "verdict": say(p["verdict"]),
                **({"cases": {k: say(v) for k, v in p["cases"].items()}} if "cases" in p else {}),
            }
            for p in previews.found_parts(judged)
        ]

    return [
        {
            "id": r.claim.id,
            "digest": previews.digest(r.claim),
            "verdict": say(r.verdict),
            "base": say(r.base.verdict),
            "parts": parts(r.base),
            "readings": [{"reading": dict(j.reading), "verdict": say(j.verdict)} for j in r.tried],
            **more,
        }
        for r in results
    ]


def previewed(quick: Study, place: Path, claims: Sequence[Mapping[str, Any]] | None) -> list[ClaimResult]:
    """The results of a quick study beside stored ones."""
    if claims is not None:
        (place / previews.STORED).write_text(json.dumps({"claims": claims}), encoding="utf-8")
    return studies.judge(outcome(replace(quick, folder=place)))


def said(judged: Judged) -> list[str]:
    """Every verdict in a reading."""
    return [judged.verdict, *(v for p in judged.parts for v in (p.verdict, *(c.verdict for c in p.cases)))]


@pytest.mark.parametrize("full", FOUND)
def test_a_preview_says_only_what_the_full_run_says(
    quick: Study, own: list[ClaimResult], full: str, tmp_path: Path
) -> None:
    results = previewed(quick, tmp_path, kept(own, lambda _: full))
    for result, before in zip(results, own, strict=True):
        # Of other readings the verdict alone is stored.
        for verdict in (result.verdict, *said(result.base), *(j.verdict for j in result.tried)):
            assert verdict in (UNDECIDED, full)
        assert result.preview is not None
        assert (result.preview.full, result.preview.withheld) == (full, result.verdict != before.verdict)
        # Its effects are shown.
        assert [c.effect for p in result.base.parts for c in p.cases] == [
            c.effect for p in before.base.parts for c in p.cases
        ]
    assert {r.verdict for r in own} >= {SUPPORTED, CONTRADICTED, EQUIVALENT}


def test_what_both_find_is_shown(quick: Study, own: list[ClaimResult], tmp_path: Path) -> None:
    results = previewed(quick, tmp_path, kept(own))
    assert [replace(r, preview=None) for r in results] == own
    assert all(r.preview is not None and not r.preview.withheld for r in results)
    # Verdicts of parts and cases need not be stored.
    for one in (claims := kept(own)):
        del one["parts"]
    assert previewed(quick, tmp_path, claims) == results


def test_what_follows_from_a_withheld_verdict_is_withheld(quick: Study, own: list[ClaimResult], tmp_path: Path) -> None:
    chosen = next(r for r in own if r.verdict == CONTRADICTED and len(r.base.parts[0].cases) > 1)
    claims = kept(own)
    mine = next(c for c in claims if c["id"] == chosen.claim.id)
    # The full run contradicts the claim, too, but in another case.
    worst = chosen.base.parts[0].worst
    (failing,) = [k for k in mine["parts"][0]["cases"] if k == ", ".join(f"{a} = {x}" for a, x in worst.at.items())]
    mine["parts"][0]["cases"][failing] = SUPPORTED
    result = next(r for r in previewed(quick, tmp_path, claims) if r.claim.id == chosen.claim.id)
    assert (chosen.base.verdict, result.base.verdict, result.verdict) == (CONTRADICTED, UNDECIDED, UNDECIDED)
    assert CONTRADICTED not in said(result.base)


def test_a_verdict_on_another_claim_holds_nothing_back(quick: Study, own: list[ClaimResult], tmp_path: Path) -> None:
    opposite = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED}
    for claims in (
        None,
        [],
        kept(own, lambda v: opposite.get(v, v), digest="of another claim"),
    ):
        results = previewed(quick, tmp_path, claims)
        assert [r.verdict for r in results] == [r.verdict for r in own]
        assert all(r.preview is not None and r.preview.full is None for r in results)
        assert "no full run is stored" in text.claim_text(quick, results[0])
    changed = replace(quick.claims[0], text="Something else.")
    assert previews.digest(changed) != previews.digest(quick.claims[0])
    part = replace(quick.claims[0].parts[0], times=0.5)
    assert previews.digest(replace(quick.claims[0], parts=(part,))) != previews.digest(quick.claims[0])


def test_other_assumptions_have_no_full_run(quick: Study, own: list[ClaimResult], tmp_path: Path) -> None:
    previewed(quick, tmp_path, kept(own))
    study = replace(quick, folder=tmp_path, assuming={"tcp": "newreno"})
    assert {r.preview.full for r in studies.judge(outcome(study)) if r.preview is not None} == {None}


def test_the_word_stands_in_every_form(tmp_path: Path) -> None:
    study = replace(studies.read(SMALL), figures=()).as_quick()
    found = studies.run(study)
    claims = kept(verdicts.judge(found), lambda v: {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED}.get(v, v))
    (tmp_path / previews.STORED).write_text(json.dumps({"claims": claims}), encoding="utf-8")
    full = {c["id"]: c["verdict"] for c in claims}
    found.study = replace(study, folder=tmp_path)
    results = studies.judge(found)
    folders.write(tmp_path, found, results, "0")
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert any(c["withheld"] for c in document["claims"])
    for claim in document["claims"]:
        assert claim["verdict"] in ("undecided", full[claim["id"]])
        assert (claim["preview"], claim["full_run"]) == (True, full[claim["id"]])
    assert document["verdicts"] == {c["id"]: c["verdict"] for c in document["claims"]}
    card = scorecard.Entry(found.study, tuple(results), 1)
    assert scorecard.scorecard_document([card], "0")["studies"][0]["claims"][0]["preview"] is True
    for printed in ((tmp_path / "verdicts.txt").read_text(encoding="utf-8"), scorecard.scorecard_text([card])):
        words = " ".join(printed.split())
        assert "In this preview" in words
        assert all(f"{c['id']} preview: {c['verdict']} {c['claim'][:20]}" in words for c in document["claims"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "too short to say; full run: contradicted" in words
    assert "too short to say; full run: contradicted" in page
    assert 'class="verdict undecided preview">preview: undecided</span>' in page
    assert 'class="verdict supported"' not in page
    # A full run is not called a preview.
    found.study = replace(study, quick=False)
    results = studies.judge(found)
    assert not any("preview" in c for c in folders.document(found, results, "0")["claims"])
    assert "preview" not in text.study_text(found, results)


def test_a_preview_has_a_colour_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert terminal.coloured("x", "supported") == "\x1b[32mx\x1b[0m"
    assert terminal.coloured("x", "preview: supported") == "\x1b[2;32mx\x1b[0m"


# ---- the studies of the package ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", studies.available())
def test_a_quick_run_keeps_the_warm_up(name: str) -> None:
    study = studies.find(name)
    full = {e.id: e for e in study.experiments}
    for e in study.choosing().as_quick().experiments:
        warmups = {cell: e.document(cell, name).get("warmup") for cell in e.cells}
        assert warmups == {cell: full[e.id].document(cell, name).get("warmup") for cell in e.cells}


def test_rems_queue_is_at_its_target_in_a_quick_run() -> None:
    # With a warm-up of 30 s, shorter than REM's transient, the claim was contradicted: 31.7 packets in place of 18.5.
    study = studies.find("nlred").as_quick()
    (claim,) = [c for c in study.claims if c.id == "N-5a"]
    wanted = {p.experiment for p in claim.parts}
    levels = set(itertools.chain.from_iterable(p.of.get("aqm", ()) for p in claim.parts))
    study = replace(
        study.with_experiments(tuple(e for e in study.experiments if e.id in wanted)).among("aqm", levels),
        claims=(claim,),
        figures=(),
        tables=(),
    )
    (result,) = verdicts.judge(studies.run(study))
    assert result.base.verdict != CONTRADICTED
