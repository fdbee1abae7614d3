"""Studies: the data of `tred`, the predicates, and that a verdict can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import outcome

from earlydrop import report
from earlydrop import study as studies
from earlydrop.statistics import Estimate
from earlydrop.study import CONTRADICTED, SUPPORTED, UNDECIDED


@pytest.fixture(scope="module")
def tred() -> studies.Study:
    return studies.find("tred")


def verdicts(found: studies.Outcome, reading: str = "T-fit") -> dict[str, str]:
    return {r.claim.id: r.verdict for r in studies.judge(found) if r.reading == reading}


def test_tred_is_the_experiment_of_the_paper(tred: studies.Study) -> None:
    assert tred.sweep.values == tuple(range(110, 201, 10))
    assert [p.id for p in tred.panels] == ["low", "moderate", "high"]
    assert {d.id for d in tred.disciplines} == {"red", "tred", "droptail", "gentle", "nlred"}
    assert tred.seeds == 10
    assert tred.runs == 3000
    assert [c.id for c in tred.claims] == [f"T-{k}" for k in range(1, 7)]
    assert len(tred.published) == 3 * 10 * 2 * 2


def test_tred_published_means(tred: studies.Study) -> None:
    # Means of the paper's columns, computed by hand from its tables.
    expected = {
        ("low", "red"): (13.818, 67.80),
        ("low", "tred"): (13.612, 69.82),
        ("moderate", "red"): (15.919, 73.85),
        ("moderate", "tred"): (15.983, 70.22),
        ("high", "red"): (16.357, 73.89),
        ("high", "tred"): (16.466, 68.63),
    }
    for (panel, discipline), (throughput, delay) in expected.items():
        for measure, mean in (("throughput", throughput), ("delay", delay)):
            column = [v for (p, _, d, m), v in tred.published.items() if (p, d, m) == (panel, discipline, measure)]
            assert len(column) == 10
            assert sum(column) / 10 == pytest.approx(mean, abs=0.006)


def test_every_cell_is_its_own_scenario(tred: studies.Study) -> None:
    fit, literal = tred.readings
    cell = tred.document(literal, tred.panel("high"), tred.discipline("gentle"), 150)
    assert cell["topology"]["bottleneck"] == {"rate": "5 Mbit/s", "delay": "10 ms"}
    assert cell["topology"]["access"]["rate"] == "5 Mbit/s"
    assert (cell["topology"]["pairs"], cell["traffic"][0]["count"]) == (80, 80)
    assert cell["queue"]["bottleneck"]["limit"] == "150 packets"
    assert cell["queue"]["bottleneck"]["gentle"] is True
    assert cell["duration"] == "200 s"
    other = tred.document(fit, tred.panel("low"), tred.discipline("red"), 110)
    assert other["topology"]["bottleneck"]["rate"] == "17.2 Mbit/s"
    assert other["queue"]["bottleneck"]["gentle"] is False


def test_quick_is_smaller_and_says_so(tred: studies.Study) -> None:
    quick = tred.as_quick()
    assert quick.runs < tred.runs / 5
    assert quick.scenario["duration"] == "60 s"
    assert "Quick run" in report.quick_note(quick)
    assert report.quick_note(tred) == ""


def test_the_papers_effects_give_the_papers_verdicts(tred: studies.Study) -> None:
    assert verdicts(outcome(tred)) == {
        "T-1": SUPPORTED,
        "T-2": CONTRADICTED,
        "T-3": SUPPORTED,
        "T-4": SUPPORTED,
        "T-5": SUPPORTED,
        "T-6": SUPPORTED,
    }


def test_without_an_effect_nothing_directional_is_supported(tred: studies.Study) -> None:
    found = verdicts(outcome(tred, effect=0))
    assert {found[k] for k in ("T-1", "T-2", "T-4", "T-5")} == {UNDECIDED}


def test_identical_disciplines_are_undecided(tred: studies.Study) -> None:
    same = outcome(tred, effect=0)
    for cell in list(same.values):
        if cell[3] == "tred":
            same.values[cell] = same.values[(*cell[:3], "red")]
    found = verdicts(same)
    assert {found[k] for k in ("T-1", "T-2", "T-4", "T-5")} == {UNDECIDED}
    # "At least as large" holds for equal values.
    assert found["T-3"] == SUPPORTED
    first = next(r for r in studies.judge(same) if r.claim.id == "T-1")
    assert (first.parts[0].effect, first.parts[0].lower, first.parts[0].upper) == (0.0, 0.0, 0.0)
    assert first.parts[0].detectable is not None
    assert first.parts[0].detectable > 0
    assert "could have shown" in report.doubt_text(tred, first.parts[0])


def test_reversed_effects_are_contradicted(tred: studies.Study) -> None:
    found = verdicts(outcome(tred, effect=-1))
    assert found == {
        "T-1": CONTRADICTED,
        "T-2": SUPPORTED,
        "T-3": CONTRADICTED,
        "T-4": CONTRADICTED,
        "T-5": CONTRADICTED,
        "T-6": SUPPORTED,
    }


def test_one_seed_decides_nothing(tred: studies.Study) -> None:
    assert set(verdicts(outcome(tred.with_seeds(1))).values()) == {UNDECIDED}


def test_a_strong_dependence_on_the_buffer_contradicts_t6(tred: studies.Study) -> None:
    found = outcome(tred)
    for cell, values in found.values.items():
        if cell[3] == "red" and cell[1] == "high":
            values["delay"] = [None if v is None else v * cell[2] / 150 for v in values["delay"]]
    judged = {r.claim.id: r for r in studies.judge(found) if r.reading == "T-fit"}
    assert judged["T-6"].verdict == CONTRADICTED
    assert judged["T-6"].parts[1].cell == "RED, 80 flows"
    assert judged["T-6"].parts[0].verdict == SUPPORTED


def test_the_pairing_unit_is_the_seed(tred: studies.Study) -> None:
    found = outcome(tred)
    assert found.difference("T-fit", "low", "delay", "tred", "red").estimate.n == tred.seeds


@pytest.mark.parametrize(
    ("expect", "lower", "upper", "verdict"),
    [
        ("greater", 0.1, 0.2, SUPPORTED),
        ("greater", 0.0, 0.2, UNDECIDED),
        ("greater", 0.0, 0.0, UNDECIDED),
        ("greater", -0.2, -0.1, CONTRADICTED),
        ("greater", -0.2, 0.0, UNDECIDED),
        ("less", -0.2, -0.1, SUPPORTED),
        ("less", -0.1, 0.1, UNDECIDED),
        ("less", 0.1, 0.2, CONTRADICTED),
        ("at_least", 0.0, 0.0, SUPPORTED),
        ("at_least", -0.1, 0.3, UNDECIDED),
        ("at_least", -0.3, -0.1, CONTRADICTED),
        ("at_most", -0.3, 0.0, SUPPORTED),
        ("at_most", 0.1, 0.3, CONTRADICTED),
        ("greater", None, None, UNDECIDED),
    ],
)
def test_predicates_at_their_edges(expect: str, lower: float | None, upper: float | None, verdict: str) -> None:
    assert studies.direction_verdict(expect, lower, upper) == verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([SUPPORTED, SUPPORTED], SUPPORTED),
        ([SUPPORTED, UNDECIDED], UNDECIDED),
        ([UNDECIDED, CONTRADICTED], CONTRADICTED),
        ([SUPPORTED, CONTRADICTED], CONTRADICTED),
    ],
)
def test_a_claim_of_parts_needs_them_all(parts: list[str], verdict: str) -> None:
    assert studies.conjunction(parts) == verdict


def test_what_the_papers_own_tables_say(tred: studies.Study) -> None:
    found = {r.claim.id: r.parts for r in studies.judge(outcome(tred)) if r.reading == "T-fit"}
    second = found["T-2"][0].published
    assert second is not None
    assert (second.agreeing, second.rows, second.contradicts) == (0, 10, True)
    assert second.relative == pytest.approx(-0.0149, abs=1e-4)
    assert "contradicts the claim" in report.published_text(found["T-2"][0])
    for claim, part, relative in (
        ("T-1", 0, 0.0297),
        ("T-3", 0, 0.0040),
        ("T-4", 0, -0.0491),
        ("T-5", 0, 0.0066),
        ("T-5", 1, -0.0712),
    ):
        published = found[claim][part].published
        assert published is not None
        assert published.agreeing == 10
        assert published.relative == pytest.approx(relative, abs=1e-4)


def test_a_discipline_can_be_replaced_in_secret(tred: studies.Study) -> None:
    fake = tred.with_discipline("tred", tred.discipline("red").set)
    cells = [fake.document(fake.primary, fake.panels[0], fake.discipline(d), 150)["queue"] for d in ("red", "tred")]
    assert cells[0] == cells[1]
    assert tred.discipline("tred").set["queue.bottleneck"]["aqm"] == "tred"


def test_a_measure_that_a_discipline_lacks_is_left_out(tred: studies.Study) -> None:
    found = outcome(tred)
    assert found.estimate("T-fit", "low", 150, "droptail", "queue") is None
    assert isinstance(found.estimate("T-fit", "low", 150, "red", "queue"), Estimate)
    assert studies.document(found, studies.judge(found), "0")["cells"][4]["queue"] is None


def test_the_text_of_a_study(tred: studies.Study, golden: Callable[[str, str], None]) -> None:
    small = replace(tred.as_quick(), readings=tred.readings[:1])
    found = outcome(small)
    golden("study.txt", report.study_text(found, studies.judge(found)) + "\n")


def test_a_study_that_is_wrong_names_its_file(tmp_path: Path, tred: studies.Study) -> None:
    text = (tred.folder / "study.toml").read_text(encoding="utf-8")
    (tmp_path / "published.csv").write_text((tred.folder / "published.csv").read_text(encoding="utf-8"))
    for old, new, message in (
        ('expect = "at_least"', 'expect = "nice"', "no predicate"),
        ('panel = "low"\nparts', 'panel = "lowest"\nparts', "unknown panel"),
        ('control = "red"', 'control = "blue"', "unknown discipline"),
        ('name = "tred"', "name = ", "study.toml"),
    ):
        (tmp_path / "study.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(studies.StudyError, match=message) as caught:
            studies.read(tmp_path)
        assert "study.toml" in str(caught.value)


def test_unknown_studies_are_answered_with_the_known() -> None:
    with pytest.raises(studies.StudyError, match=r'no study "nope".*tred'):
        studies.find("nope")
    with pytest.raises(studies.StudyError):
        studies.find("../studies/tred")
