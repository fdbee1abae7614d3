"""A study's answer: three sentences that follow from its verdicts, at the beginning of everything that is written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SMALL, outcome, part_of

from earlydrop import study as studies
from earlydrop.study import folder as folders
from earlydrop.study import text
from earlydrop.study.answers import answer
from earlydrop.study.claim_results import DEPENDS, EQUIVALENT, SUPPORTED, UNDECIDED, ClaimResult
from earlydrop.study.model import Study


@pytest.fixture(scope="module")
def tred() -> Study:
    # With few levels, so that it is judged in a moment.
    return replace(part_of(studies.find("tred"), "T").as_quick(), quick=False)


def judged(study: Study, **given: float) -> list[str]:
    return answer(study, studies.judge(outcome(study, **given)))


def test_the_answer_follows_from_the_verdicts(tred: Study) -> None:
    study = replace(tred, headline=("T-7b", "T-2a"))
    first, second, third = judged(study)
    assert re.fullmatch(
        r"“TRED's delay is smaller than RED's” is supported \(-2\.31 \[-2\.\d+, -2\.\d+\] ms, -3\.34 %\); and “With 6 "
        r"flows TRED's throughput is larger than RED's” is contradicted \(-0\.213 \[\S+, \S+\] Mbit/s, -1\.55 %\)\.",
        first,
    )
    counts = {v: [r.verdict for r in studies.judge(outcome(study))].count(v) for v in (SUPPORTED, EQUIVALENT)}
    assert second.startswith(f"Of {len(study.claims)} claims, {counts[SUPPORTED]} are supported, ")
    assert f" {counts[EQUIVALENT]} equivalent" in second
    # The claims of the first sentence are not named again.
    assert third.startswith(
        "The runs contradict “TRED's throughput is better than RED's, at low, moderate and high load”"
    )
    assert ", and also T-7d, T-10b, T-11" in third
    # Other effects, another answer.
    assert "T-7b" not in "".join(judged(study, effect=-1.0)[:1])
    assert "is contradicted (+2.2" in judged(study, effect=-1.0)[0]


def test_without_headline_the_first_claims_answer(tred: Study) -> None:
    study = replace(tred, headline=())
    assert judged(study)[0].startswith("“With 6 flows TRED's delay is larger than RED's, throughout the buffers")


def test_what_is_denied(tred: Study) -> None:
    study = replace(tred, headline=("T-1",))
    results = studies.judge(outcome(study))

    def third(*verdicts: str) -> str:
        others = [replace(r, verdict=v) for r, v in zip(results[1:], verdicts, strict=False)]
        return answer(study, [results[0], *others])[2]

    assert third(SUPPORTED) == "No other claim is contradicted."
    assert third(SUPPORTED, DEPENDS, DEPENDS).startswith("No other claim is contradicted; the reading decides “")
    assert third(EQUIVALENT, UNDECIDED).startswith("No other claim is contradicted; too small to count is “")
    assert third(UNDECIDED).startswith("No other claim is contradicted; undecided is “")
    assert third(*[UNDECIDED] * 12).endswith(" and 6 more.")


def test_a_study_without_claims(tred: Study) -> None:
    assert answer(replace(tred, claims=(), headline=()), []) == [
        "The study judges no claim: its tables and figures are the answer."
    ]


@pytest.mark.parametrize("name", studies.available())
def test_every_study_names_the_claims_that_answer_its_question(name: str) -> None:
    study = studies.find(name)
    assert 2 <= len(study.headline) <= 3
    assert all(study.claim(one).parts for one in study.headline)


def test_a_headline_of_no_claim_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('headline = ["C-99"]\n' + (SMALL / "study.toml").read_text(encoding="utf-8"))
    for one in SMALL.iterdir():
        if one.name != "study.toml":
            (tmp_path / one.name).symlink_to(one)
    with pytest.raises(studies.StudyError, match=r'study.toml: headline: "C-99"'):
        studies.read(tmp_path)


def in_order(page: str, words: Sequence[str]) -> bool:
    places = [page.index(one) for one in words]
    return places == sorted(places)


def test_everything_begins_with_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran: tuple[studies.Outcome, list[ClaimResult]] = studies.reproduce(
        replace(studies.read(SMALL).with_seeds(3), figures=())
    )
    folders.write(tmp_path, *ran, "0")
    sentences = answer(ran[0].study, ran[1])
    assert len(sentences) == 3
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert in_order(page, ["<h1>", '<div class="answer">', '<table class="claims">', 'id="runs"', "<figure"])
    assert page.count('<div class="answer">') == 1
    said = " ".join(text.study_text(*ran).split())
    assert in_order(said, [ran[0].study.title, *sentences, "== Claims", f"== {ran[0].study.experiments[0].id}"])
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert document["answer"] == " ".join(sentences)
    assert ran[0]._repr_html_().index("claims, ") < ran[0]._repr_html_().index("<table")
