"""Studies: the data of `tred`, its verdicts from invented figures, and that a verdict can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import outcome

from earlydrop import study as studies
from earlydrop.study import CONTRADICTED, SUPPORTED, UNDECIDED, folder, text
from earlydrop.study.model import Experiment
from earlydrop.study.verdicts import ClaimResult


@pytest.fixture(scope="module")
def tred() -> studies.Study:
    return studies.find("tred")


def verdicts(found: studies.Outcome) -> dict[str, str]:
    return {r.claim.id: r.verdict for r in studies.judge(found)}


def only(study: studies.Study, **kept: list[str]) -> studies.Study:
    """The study with some levels of its axes only."""

    def cut(e: Experiment) -> Experiment:
        axes = tuple(
            replace(a, levels=tuple(x for x in a.levels if x.id in kept[a.id])) if a.id in kept else a for a in e.axes
        )
        return replace(e, axes=axes)

    return study.with_experiments(tuple(cut(e) for e in study.experiments))


def test_tred_is_the_experiment_of_the_paper(tred: studies.Study) -> None:
    (e,) = tred.experiments
    assert e.axis("buffer").ids == tuple(str(b) for b in range(110, 201, 10))
    assert e.axis("load").ids == ("low", "moderate", "high")
    assert set(e.axis("aqm").ids) == {"red", "tred", "droptail", "gentle", "nlred"}
    assert e.axis("network").base == "T-fit"
    assert e.seeds == 10
    assert tred.runs == 3000
    assert [c.id for c in tred.claims] == [f"T-{k}" for k in range(1, 7)]
    shown = [t.id for t in tred.tables if t.printed]
    assert shown == [f"Table {k}" for k in range(1, 7)]
    assert [len(t.printed) for t in tred.tables if t.printed] == [20] * 6
    assert {f"Figure {k}" for k in range(4, 10)} <= {f.id for f in tred.figures}


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
    for (load, aqm), (throughput, delay) in expected.items():
        for measure, mean in (("throughput", throughput), ("delay", delay)):
            (table,) = [t for t in tred.tables if t.printed and t.at["load"] == (load,) and t.measures == (measure,)]
            column = [p.value for p in table.printed if p.at["aqm"] == aqm]
            assert len(column) == 10
            assert sum(column) / 10 == pytest.approx(mean, abs=0.006)


def test_every_cell_is_its_own_scenario(tred: studies.Study) -> None:
    (e,) = tred.experiments
    cell = e.document(("T-literal", "high", "gentle", "150"), "tred")
    assert cell["topology"]["bottleneck"] == {"rate": "5 Mbit/s", "delay": "10 ms"}
    assert cell["topology"]["access"]["rate"] == "5 Mbit/s"
    assert (cell["topology"]["pairs"], cell["traffic"][0]["count"]) == (80, 80)
    assert cell["queue"]["bottleneck"]["limit"] == "150 packets"
    assert cell["queue"]["bottleneck"]["gentle"] is True
    assert cell["duration"] == "200 s"
    other = e.document(("T-fit", "low", "red", "110"), "tred")
    assert other["topology"]["bottleneck"]["rate"] == "17.2 Mbit/s"
    assert other["queue"]["bottleneck"]["gentle"] is False


def test_quick_is_smaller_and_says_so(tred: studies.Study) -> None:
    quick = tred.as_quick()
    assert quick.runs < tred.runs / 5
    (e,) = quick.experiments
    assert e.document(e.cells[0], "tred")["duration"] == "60 s"
    assert "Quick run" in text.notes(quick)[0]
    assert text.notes(tred) == []


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
    values = same.values["T"]
    for cell in list(values):
        if cell[2] == "tred":
            values[cell] = values[(*cell[:2], "red", cell[3])]
    found = verdicts(same)
    assert {found[k] for k in ("T-1", "T-2", "T-4", "T-5")} == {UNDECIDED}
    # "At least as large" holds for equal values.
    assert found["T-3"] == SUPPORTED
    part = next(r for r in studies.judge(same) if r.claim.id == "T-1").base.parts[0]
    case = part.worst
    assert (case.effect, case.lower, case.upper) == (0.0, 0.0, 0.0)
    assert case.detectable is not None
    assert case.detectable > 0
    assert "could have shown" in text.doubt_text(tred, part.part, case)


def test_reversed_effects_are_contradicted(tred: studies.Study) -> None:
    assert verdicts(outcome(tred, effect=-1)) == {
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
    for cell, values in found.values["T"].items():
        if cell[1:3] == ("high", "red"):
            values["delay"] = [None if v is None else v * float(cell[3]) / 150 for v in values["delay"]]
    judged = {r.claim.id: r for r in studies.judge(found)}["T-6"]
    assert judged.verdict == CONTRADICTED
    throughput, delay = judged.base.parts
    assert throughput.verdict == SUPPORTED
    assert delay.worst.at == {"load": "high", "aqm": "red"}
    assert text.case_text(tred, delay.part, delay.worst) == "80 flows, RED"


def test_the_pairing_unit_is_the_seed(tred: studies.Study) -> None:
    assert {case.n for r in studies.judge(outcome(tred)) for p in r.base.parts for case in p.cases} == {10}


def test_the_other_reading_is_judged_too(tred: studies.Study) -> None:
    results = studies.judge(outcome(tred))
    assert [[dict(j.reading) for j in r.tried] for r in results] == [[{"network": "T-literal"}]] * 6
    # The paper's figures belong to the other reading.
    assert all(c.published is None for r in results for j in r.tried for p in j.parts for c in p.cases)


def test_what_the_papers_own_tables_say(tred: studies.Study) -> None:
    found: dict[str, ClaimResult] = {r.claim.id: r for r in studies.judge(outcome(tred))}
    part = found["T-2"].base.parts[0]
    second = part.worst.published
    assert second is not None
    assert (second.agreeing, second.rows, second.contradicts) == (0, 10, True)
    assert second.relative == pytest.approx(-0.0149, abs=1e-4)
    assert "contradict the claim" in text.published_text(tred, part.part, part.cases)
    for claim, number, relative in (
        ("T-1", 0, 0.0297),
        ("T-3", 0, 0.0040),
        ("T-4", 0, -0.0491),
        ("T-5", 0, 0.0066),
        ("T-5", 1, -0.0712),
    ):
        published = found[claim].base.parts[number].worst.published
        assert published is not None
        assert published.agreeing == 10
        assert published.relative == pytest.approx(relative, abs=1e-4)
    spread = found["T-6"].base.parts[1]
    assert "at worst 1.54 %, 6 of 6 rows agree" in text.published_text(tred, spread.part, spread.cases)


def test_a_level_can_be_replaced_in_secret(tred: studies.Study) -> None:
    (e,) = tred.experiments
    fake = tred.with_level("aqm", "tred", e.axis("aqm").level("red").set).experiments[0]
    cells = [fake.document(("T-fit", "low", aqm, "150"), "tred")["queue"] for aqm in ("red", "tred")]
    assert cells[0] == cells[1]
    assert e.axis("aqm").level("tred").set["queue.bottleneck"]["aqm"] == "tred"


def test_a_measure_that_a_discipline_lacks_is_left_out(tred: studies.Study) -> None:
    found = outcome(tred)
    (e,) = tred.experiments
    assert found.estimate(e, [("T-fit", "low", "droptail", "150")], "queue") is None
    assert found.estimate(e, [("T-fit", "low", "red", "150")], "queue") is not None
    cells = folder.document(found, studies.judge(found), "0")["experiments"][0]["cells"]
    assert {c["queue"] is None for c in cells if c["aqm"] == "droptail"} == {True}
    assert {c["queue"] is None for c in cells if c["aqm"] == "red"} == {False}


def test_the_text_of_a_study(tred: studies.Study, golden: Callable[[str, str], None]) -> None:
    found = outcome(only(tred.as_quick(), buffer=["110", "200"]))
    golden("study.txt", text.study_text(found, studies.judge(found)) + "\n")


def test_unknown_studies_are_answered_with_the_known() -> None:
    with pytest.raises(studies.StudyError, match=r'no study "nope".*tred'):
        studies.find("nope")
    with pytest.raises(studies.StudyError, match=r"no study\.toml"):
        studies.find("../nowhere/tred")


@pytest.mark.parametrize("name", studies.available())
def test_every_study_passes_the_checker(name: str) -> None:
    study = studies.find(name)
    assert study.name == name
    studies.plan(study)
    studies.plan(study.as_quick())


@pytest.mark.parametrize("name", studies.available())
def test_every_alternative_of_an_assumption_can_be_run(name: str) -> None:
    study = studies.find(name).as_quick()
    for assumption in study.assumptions:
        for alternative in assumption.alternatives:
            studies.plan(studies.assume(study, {assumption.id: alternative.value}))
