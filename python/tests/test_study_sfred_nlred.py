"""The studies of the SFRED and NLRED paper: complete, and able to fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import part_of

import earlydrop as ed
from earlydrop import _core, disciplines
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


def nlred(experiment: str, **levels: str) -> dict[str, Any]:
    """The scenario of a cell of NLRED's study; axes that are not named are at their base or first level."""
    e = studies.find("nlred").experiment(experiment)
    chosen = tuple(levels.get(axis.id, axis.base if axis.reading else axis.ids[0]) for axis in e.axes)
    assert chosen in e.cell_set, f"{chosen} is not run"
    return dict(e.document(chosen, "nlred", {}))


def test_the_set_up_of_nlred_is_the_papers() -> None:
    study = studies.find("nlred")
    one = nlred("N-1", aqm="nlred")
    # The link between the routers is the slowest.
    rates = {place: float(one["topology"][place]["rate"].split()[0]) for place in ("senders", "bottleneck", "receiver")}
    assert all(one["topology"][place]["rate"].endswith(" Mbit/s") for place in rates)
    assert min(rates, key=rates.__getitem__) == "bottleneck"
    # The number of senders makes the load: 5 to 120; a buffer of 120 packets; packets of 1000 B; Reno.
    flows = study.experiment("N-1").axis("flows").ids
    assert (flows[0], flows[-1]) == ("5", "120")
    for n in flows:
        loaded = nlred("N-1", flows=n)
        assert loaded["traffic"][0]["count"] == loaded["topology"]["pairs"] == int(n)
    assert one["queue"]["bottleneck"]["limit"] == "120 packets"
    assert (one["traffic"][0]["segment"], one["traffic"][0]["tcp"]) == ("1000 B", "reno")
    # 200 s, of which the second half counts; max_p from 0.02 to 0.5.
    assert (one["duration"], one["warmup"]) == ("200 s", "100 s")
    max_p = study.experiment("N-1").axis("max_p").ids
    assert (max_p[0], max_p[-1]) == ("0.02", "0.5")
    # Lines carry RED's max_p: the parameter is the same, and NLRED makes 1.5 times of it.
    assert nlred("N-1", aqm="nlred", max_p="0.1")["queue"]["bottleneck"]["max_p"] == 0.1
    assert curve(one["queue"]["bottleneck"] | {"max_p": 0.1}, [60 - 1e-9]) == pytest.approx([0.15])
    # Experiment 2: max_p 0.1 for all, REM as in ns-2, and Figure 20 has the three of it.
    assert nlred("N-4", aqm="gred")["queue"]["bottleneck"]["max_p"] == 0.1
    rem = nlred("N-4", aqm="rem")["queue"]["bottleneck"]
    assert (rem["gamma"], rem["phi"], rem["alpha"], rem["q_ref"], rem["dialect"]) == (0.001, 1.001, 0.1, 20, "ns2")
    assert {"gred", "rem", "nlred"} <= set(study.experiment("N-4").axis("aqm").ids)
    # 50 flows by the size of packets; what REM counts in bytes is measured in packets, as all others.
    sizes = study.experiment("N-6").axis("size").ids
    assert (sizes[0], sizes[-1]) == ("100", "2500")
    assert nlred("N-6")["traffic"][0]["count"] == 50
    assert nlred("N-6", aqm="rem-byte")["queue"]["bottleneck"]["unit"] == "byte"
    queue = study.measure("queue").extraction
    assert queue is not None
    assert queue.field == "queues.bottleneck.queue_mean_packets"
    # Tahoe, NewReno, another round-trip time and other thresholds are tried.
    assert {"tahoe", "newreno", "rtt-120"} <= set(study.experiment("N-4").axis("setup").ids)
    assert len(study.experiment("N-4").axis("thresholds").ids) > 1


def test_schemes_that_steer_to_a_length_have_parameters_that_red_lacks() -> None:
    def parameters(aqm: str) -> set[str]:
        return {p["name"] for p in disciplines.find(aqm)["parameters"]}

    for aqm, own in {"rem": {"gamma", "phi", "q_ref"}, "pi": {"q_ref"}, "ared": {"alpha", "beta"}}.items():
        assert own <= parameters(aqm) - parameters("red")


@pytest.mark.parametrize("weight", [-0.1, 0, 1.01])
def test_red_s_weight_is_above_0_and_at_most_1(weight: float) -> None:
    document = nlred("N-4", aqm="red")
    ed.parse(document)
    document["queue"]["bottleneck"]["w_q"] = weight
    with pytest.raises(ed.ScenarioError, match="w_q"):
        ed.parse(document)


def test_nlred_whose_curve_goes_on_has_the_same_curve_up_to_max_th() -> None:
    own, on = (
        curve(nlred("N-4", aqm=aqm, flows="40")["queue"]["bottleneck"], [20, 30, 45, 59.9, 60.1, 124])
        for aqm in ("nlred", "nlred-on")
    )
    assert on[:4] == pytest.approx(own[:4])
    assert own[4:] == [1.0, 1.0]
    assert on[4] < 0.16
    assert on[5] == 1.0


def curve(queue: dict[str, Any], averages: Sequence[float]) -> list[float]:
    """NLRED's drop probability at these averages."""
    shape = {key: queue[key] for key in ("min_th", "max_th", "max_p")}
    found = _core.drop_curve("nlred", json.dumps(shape), averages)
    assert found is not None
    return found
