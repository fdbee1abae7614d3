"""Studies: the data of `tred`, its verdicts from invented figures, and that a verdict can fail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from string import ascii_lowercase

import pytest
from conftest import outcome, part_of

from earlydrop import study as studies
from earlydrop.study import case_text, folder, text
from earlydrop.study.claim_results import CONTRADICTED, DEPENDS, EQUIVALENT, SUPPORTED, UNDECIDED, ClaimResult
from earlydrop.study.experiment import Experiment


@pytest.fixture(scope="module")
def tred() -> studies.Study:
    return studies.find("tred")


@pytest.fixture(scope="module")
def simulations() -> studies.Study:
    """The paper's three simulations alone."""
    return part_of(studies.find("tred"), "T")


def levels(e: Experiment, cell: tuple[str, ...]) -> dict[str, str]:
    return dict(zip(e.names, cell, strict=True))


def at(e: Experiment, **given: str) -> tuple[str, ...]:
    """A cell, at the base of what is not named."""
    return tuple(given.get(name, e.base.get(name, "")) for name in e.names)


def only(study: studies.Study, **kept: list[str]) -> studies.Study:
    """The study with some levels of its axes only."""

    def cut(e: Experiment) -> Experiment:
        axes = tuple(
            replace(a, levels=tuple(x for x in a.levels if x.id in kept[a.id])) if a.id in kept else a for a in e.axes
        )
        return replace(e, axes=axes)

    return study.with_experiments(tuple(cut(e) for e in study.experiments))


Judged = Callable[[float], list[ClaimResult]]
Whole = tuple[studies.Outcome, list[ClaimResult]]


@pytest.fixture(scope="module")
def judged(simulations: studies.Study) -> Judged:
    """The verdicts on the three simulations under so many times the paper's effects; each is judged once."""
    return functools.cache(lambda effect: studies.judge(outcome(simulations, effect=effect)))


@pytest.fixture(scope="module")
def whole(tred: studies.Study) -> Whole:
    """The whole study under the paper's effects, judged."""
    found = outcome(tred)
    return found, studies.judge(found)


DIRECTIONS = ("T-1", "T-2a", "T-2b", "T-4", "T-5a", "T-5b")
"""Claims of the three simulations that one discipline has more than the other."""


def verdicts(results: list[ClaimResult]) -> dict[str, str]:
    return {r.claim.id: r.verdict for r in results}


def directions(results: list[ClaimResult]) -> dict[str, str]:
    return {k: v for k, v in verdicts(results).items() if k in DIRECTIONS}


def test_tred_is_the_experiment_of_the_paper(tred: studies.Study) -> None:
    e = tred.experiment("T")
    assert e.axis("buffer").ids == tuple(str(b) for b in range(110, 201, 10))
    assert e.axis("load").ids == ("low", "moderate", "high")
    assert set(e.axis("aqm").ids) == {"red", "tred", "droptail", "gentle", "nlred"}
    assert (e.axis("network").base, e.axis("network").literal) == ("T-fit", "T-literal")
    assert {one.seeds for one in tred.experiments} == {20}
    # Both networks at ten buffers and three loads with RED and TRED.
    paper = {
        (a["network"], a["load"], a["aqm"], a["buffer"])
        for a in (levels(e, c) for c in e.cells)
        if a["aqm"] in ("red", "tred")
    }
    assert len([x for x in paper if x[0].startswith("T-")]) == 2 * 3 * 2 * 10
    assert {c.id.rstrip(ascii_lowercase) for c in tred.claims} == {f"T-{k}" for k in range(1, 18)}
    shown = [t.id for t in tred.tables if t.printed]
    assert shown == [f"Table {k}" for k in range(1, 7)]
    assert [len(t.printed) for t in tred.tables if t.printed] == [20] * 6
    assert {f"Figure {k}" for k in range(3, 10)} <= {f.id for f in tred.figures}


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
    e = tred.experiment("T")
    cell = e.document(at(e, network="T-literal", load="high", aqm="gentle", buffer="150"), "tred")
    assert cell["topology"]["bottleneck"] == {"rate": "5 Mbit/s", "delay": "10 ms"}
    assert cell["topology"]["access"]["rate"] == "5 Mbit/s"
    assert (cell["topology"]["pairs"], cell["traffic"][0]["count"]) == (80, 80)
    assert cell["queue"]["bottleneck"]["limit"] == "150 packets"
    assert cell["queue"]["bottleneck"]["gentle"] is True
    assert cell["duration"] == "200 s"
    other = e.document(at(e, load="low", aqm="red", buffer="110"), "tred")
    assert other["topology"]["bottleneck"]["rate"] == "17.2 Mbit/s"
    assert "gentle" not in other["queue"]["bottleneck"]


def test_a_reading_of_red_leaves_tred_alone(tred: studies.Study) -> None:
    e = tred.experiment("T")
    red, base, other = (
        e.document(at(e, load="low", buffer="110", **given), "tred")["queue"]["bottleneck"]
        for given in ({"aqm": "red", "red": "gentle"}, {"aqm": "tred"}, {"aqm": "tred", "red": "gentle"})
    )
    assert red["gentle"] is True
    assert other == base


def test_quick_is_smaller_and_says_so(tred: studies.Study) -> None:
    quick = tred.as_quick()
    assert quick.runs < tred.runs / 5
    e = quick.experiments[0]
    assert e.document(e.cells[0], "tred")["duration"] == "30 s"
    assert "Quick run" in text.notes(quick)[0]
    assert text.notes(tred) == []


def test_the_papers_effects_give_the_papers_verdicts(judged: Judged) -> None:
    assert directions(judged(1)) == {
        "T-1": SUPPORTED,
        # Its tables say the opposite of its closing words.
        "T-2a": CONTRADICTED,
        "T-2b": SUPPORTED,
        "T-4": SUPPORTED,
        # 0.6 % of throughput is within the margin.
        "T-5a": EQUIVALENT,
        "T-5b": SUPPORTED,
    }


def test_without_an_effect_nothing_directional_is_supported(simulations: studies.Study, judged: Judged) -> None:
    assert set(directions(judged(0)).values()) == {EQUIVALENT}
    # Under noise so large that the interval leaves the margin, nothing can be said.
    assert set(directions(studies.judge(outcome(simulations, effect=0, noise=300))).values()) <= {UNDECIDED, DEPENDS}


def test_identical_disciplines_are_equivalent(simulations: studies.Study) -> None:
    same = outcome(simulations, effect=0)
    values, (e,) = same.values["T"], simulations.experiments
    for cell in list(values):
        if levels(e, cell)["aqm"] == "tred":
            values[cell] = values[at(e, **{**levels(e, cell), "aqm": "red"})]
    results = studies.judge(same)
    found = verdicts(results)
    assert {found[k] for k in DIRECTIONS} == {EQUIVALENT}
    # "At least as large" holds for equal values.
    assert found["T-3b"] == SUPPORTED
    part = next(r for r in results if r.claim.id == "T-1").base.parts[0]
    case = part.worst
    assert (case.effect, case.equal_runs, case.lower, case.p) == (0.0, True, None, None)


def test_reversed_effects_are_contradicted(judged: Judged) -> None:
    assert directions(judged(-1)) == {
        "T-1": CONTRADICTED,
        "T-2a": SUPPORTED,
        "T-2b": CONTRADICTED,
        "T-4": CONTRADICTED,
        "T-5a": EQUIVALENT,
        "T-5b": CONTRADICTED,
    }


def test_better_at_most_buffers_is_counted(judged: Judged) -> None:
    """By 0.4 %, which is within the margin of a mean; without an effect it is chance at how many of them."""
    paper, none, reversed_ = (verdicts(judged(effect))["T-3a"] for effect in (1, 0, -1))
    assert (paper, reversed_) == (SUPPORTED, CONTRADICTED)
    assert none in {UNDECIDED, DEPENDS}


def test_one_seed_decides_nothing(tred: studies.Study) -> None:
    assert set(verdicts(studies.judge(outcome(tred.with_seeds(1)))).values()) == {UNDECIDED}


def test_a_strong_dependence_on_the_buffer_contradicts_t6(simulations: studies.Study) -> None:
    found = outcome(simulations)
    (e,) = simulations.experiments
    for cell, values in found.values["T"].items():
        where = levels(e, cell)
        if (where["load"], where["aqm"]) == ("high", "red"):
            values["delay"] = [None if v is None else v * float(where["buffer"]) / 150 for v in values["delay"]]
    judged = {r.claim.id: r for r in studies.judge(found)}
    assert (judged["T-6a"].verdict, judged["T-6b"].verdict) == (SUPPORTED, CONTRADICTED)
    (delay,) = judged["T-6b"].base.parts
    assert delay.worst.at == {"load": "high", "aqm": "red"}
    assert case_text.case_text(simulations, delay.part, delay.worst) == "80 flows, RED"


def test_the_pairing_unit_is_the_seed(whole: Whole) -> None:
    assert {case.n for r in whole[1] for p in r.base.parts for case in p.cases} == {20}


def test_the_other_readings_are_judged_too(judged: Judged) -> None:
    # Gentle RED is run in two of them.
    results = [r for r in judged(1) if r.claim.id != "T-14o"]
    tried = [
        {"network": "T-literal"}, {"network": "15"}, {"network": "20"}, {"red": "gentle"},
        *({"rules": r} for r in ("no-wait", "paper", "ns3", "linux")), {"unit": "byte"},
        *({"tcp": t} for t in ("tahoe", "newreno", "sack", "cubic")), {"start": "together"}, {"window": "50"},
    ]  # fmt: skip
    assert [[dict(j.reading) for j in r.tried] for r in results] == [tried] * len(results)
    assert {tuple((r.literal or {}).items()) for r in results} == {(("network", "T-literal"),)}
    # The paper's figures belong to the base.
    others = [j for r in results for j in r.tried if "network" in j.reading]
    assert all(c.published is None for j in others for p in j.parts for c in p.cases)


def test_what_the_papers_own_tables_say(tred: studies.Study, whole: Whole) -> None:
    found = {r.claim.id: r for r in whole[1]}
    for claim, relative in (("T-1", 0.0297), ("T-4", -0.0491), ("T-5b", -0.0712)):
        published = found[claim].base.parts[0].worst.published
        assert published is not None
        assert published.agreeing == published.rows
        # One row of ten where each buffer is judged by itself, the mean of ten else.
        assert published.relative == pytest.approx(relative, abs=0.01 if claim == "T-1" else 1e-4)
    # The published throughput chose the rate of the base.
    throughput = found["T-3a"].base.parts[0]
    assert (throughput.worst.fitted, throughput.worst.published) == (True, None)
    assert "was used to choose" in case_text.published_text(tred, throughput.part, throughput.cases)
    spread = found["T-6b"].base.parts[0]
    assert "at worst 1.54 %, 6 of 6 rows agree" in case_text.published_text(tred, spread.part, spread.cases)


def test_a_level_can_be_replaced_in_secret(tred: studies.Study) -> None:
    e = tred.experiment("T")
    fake = tred.with_level("aqm", "tred", e.axis("aqm").level("red").set).experiment("T")
    cells = [fake.document(at(e, load="low", aqm=aqm, buffer="150"), "tred")["queue"] for aqm in ("red", "tred")]
    assert cells[0] == cells[1]
    assert e.axis("aqm").level("tred").set["queue.bottleneck"]["aqm"] == "tred"


def test_a_measure_that_a_discipline_lacks_is_left_out(tred: studies.Study, whole: Whole) -> None:
    found, results = whole
    e = tred.experiment("T")
    assert found.estimate(e, [at(e, load="low", aqm="droptail", buffer="150")], "average") is None
    assert found.estimate(e, [at(e, load="low", aqm="red", buffer="150")], "average") is not None
    cells = folder.document(found, results, "0")["experiments"][0]["cells"]
    assert {c["average"] is None for c in cells if c["aqm"] == "droptail"} == {True}
    assert {c["average"] is None for c in cells if c["aqm"] == "red"} == {False}


def test_the_text_of_a_study(tred: studies.Study, golden: Callable[[str, str], None]) -> None:
    found = outcome(only(replace(tred.as_quick(), quick=False), buffer=["110", "200"]))
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
