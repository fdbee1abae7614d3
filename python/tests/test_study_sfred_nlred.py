"""The studies of the SFRED and NLRED paper: complete, and able to fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import part_of

import earlydrop as ed
from earlydrop import _core, discipline_names
from earlydrop import study as studies
from earlydrop.scenario import parse
from earlydrop.study.model import Counted

SUPPORTED = studies.SUPPORTED


def test_every_claim_table_and_figure_of_the_paper_is_there() -> None:
    sfred, nlred = studies.find("sfred"), studies.find("nlred")
    assert {"S-1", "S-2", "S-3", "S-4"} <= {c.id[:3] for c in sfred.claims}
    assert {f"N-{k}" for k in range(7)} <= {c.id[:3] for c in nlred.claims}
    assert "Table 1" in [t.id for t in sfred.tables]
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


def document(experiment: str, **levels: str) -> dict[str, Any]:
    """The scenario of one cell of the study sfred, with all readings at their base."""
    e = studies.find("sfred").experiment(experiment)
    return e.document(tuple({**e.base, **levels}[name] for name in e.names), "sfred")


def queue(experiment: str, **levels: str) -> dict[str, Any]:
    """Its queue, with all parameters."""
    found: dict[str, Any] = parse(document(experiment, **levels)).document["queue"]["bottleneck"]
    return found


def ms(times: str | list[str]) -> list[float]:
    return [float(t.removesuffix(" ms")) for t in ([times] if isinstance(times, str) else times)]


def test_sfred_network_and_red_are_those_of_section_3() -> None:
    for experiment in ("S-1", "S-2", "S-4"):
        topology, red = document(experiment, aqm="red")["topology"], queue(experiment, aqm="red")
        assert topology["bottleneck"] == {"rate": "1.5 Mbit/s", "delay": "10 ms"}
        assert topology["senders"]["rate"] == topology["receiver"]["rate"] == "10 Mbit/s"
        paper = {"aqm": "red", "limit": "50 packets", "min_th": 5, "max_th": 15, "w_q": 0.002, "max_p": 0.1}
        assert {name: red[name] for name in paper} == paper


def test_sfred_counts_packets() -> None:
    """The paper's SFRED works in packets; bits are another level of S-bits and S-id alone."""
    for experiment in ("S-1", "S-2", "S-4"):
        assert queue(experiment, aqm="sfred")["counts"] == "packets"
    assert queue("S-bits", aqm="sfred", counts="bits")["counts"] == "bits"


def test_sfred_traffic_is_that_of_section_3() -> None:
    near, far, web = document("S-2", aqm="sfred")["traffic"]
    assert {t["segment"] for t in (near, far, web)} == {"1000 B"}
    # Ten packets each, over a new connection each time.
    assert (web["kind"], web["size"], web["number"]) == ("transfers", "10 packets", "endless")
    assert parse(document("S-2", aqm="sfred")).document["traffic"][2].get("connection", "new") == "new"
    given = document("S-4", aqm="sfred")
    delays = ms(given["topology"]["senders"]["delay"])
    near, far, large, small = given["traffic"]
    assert [t["kind"] for t in given["traffic"]] == ["ftp", "ftp", "cbr", "cbr"]
    assert [delays[t["pairs"][0] - 1] for t in (large, small, near, far)] == [10, 100, 10, 100]
    for flow, size, interval in ((large, 1000, 0.010), (small, 500, 0.005)):
        assert flow["segment"] == f"{size} B"
        assert flow["header"] == "0 B"
        assert float(flow["rate"].removesuffix(" kbit/s")) * 1000 == pytest.approx(8 * size / interval)


def test_sfred_experiments_are_those_of_the_figures() -> None:
    one, two = document("S-1", aqm="sfred"), document("S-2", aqm="sfred")
    assert ms(one["topology"]["senders"]["delay"]) == [10, 100]
    assert one["topology"]["receiver"]["delay"] == "5 ms"
    assert two["duration"] == "2000 s"
    assert two["topology"]["receiver"]["delay"] == "3 ms"
    assert ms(two["topology"]["senders"]["delay"]) == [10] * 31 + [100]
    assert [(t["kind"], t["count"]) for t in two["traffic"]] == [("ftp", 1), ("ftp", 1), ("transfers", 30)]
    figures = {f.id: f for f in studies.find("sfred").figures}
    for number, aqm in ((2, "red"), (3, "sfred"), (4, "red"), (5, "sfred")):
        figure = figures[f"Figure {number}"]
        assert figure.set["record.rates"] == "10 s"
        assert figure.at["aqm"] == (aqm,)
        # The fair rate, 1500 kbit/s over 32 flows.
        assert ("fair rate, C/32" in figure.options["marks"]) == (number > 3)
    assert figures["Figure 4"].options["marks"]["fair rate, C/32"] == 1500 / 32


def test_after_ten_packets_the_window_allows_three_duplicate_acks() -> None:
    """A lost packet is found by the ACKs of three that follow it before its own ACK would have come."""
    given = document("P-alone", flow="ftp") | {"duration": "5 s", "warmup": "0 s", "record": {"trace": 1000}}
    found = parse(given).run(seed=1).document
    trace = found["trace"]
    at = {name: number for number, name in enumerate(trace["columns"])}
    data = [row for row in trace["events"] if row[at["event"]] == "+" and row[at["seq"]] > 0]
    assert [row[at["seq"]] for row in data[:40]] == list(range(1, 41)), "nothing is lost"
    # 50 ms of propagation, and the transmission of the packet and of its ACK.
    times, round_trip = [row[at["time_s"]] for row in data], 0.05 + 1040 * 8 / 1.5e6
    followers = [sum(t < later < t + round_trip for later in times) for t in times[:40]]
    assert followers[0] < 3
    assert min(followers[10:]) >= 3


def test_hits_and_false_alarms_come_from_the_classes_of_single_flows() -> None:
    """With the classes of two flows exchanged, hits become false alarms."""
    study = studies.find("sfred")
    given = study.experiment("S-id").document(
        tuple({**study.experiment("S-id").base, "counts": "packets"}[n] for n in study.experiment("S-id").names),
        "sfred",
    )
    found = parse(given | {"duration": "60 s"}).run(seed=1).document
    gauges = found["series"]["queues"]["bottleneck"]["gauges"]
    shares = {}
    for flow in range(4):
        classes = [k for f, k in zip(gauges["flow"], gauges["class"], strict=True) if f == flow]
        shares[flow] = len(classes) / len(gauges["flow"])
    # Packets arrive from them at 200, 100 and fewer a second.
    assert shares[3] > 1.7 * shares[2] > 1.7 * shares[0] > 1.7 * shares[1]
    measures = {m.id: m.extraction for m in study.measures if m.extraction is not None}
    count = measures["cbr2_samples"](found)
    assert count == len(
        [f for f, t in zip(gauges["flow"], found["series"]["time_s"], strict=True) if f == 3 and t >= 20]
    )
    assert measures["cbr2_missed"](found) < 0.1 * count
    gauges["flow"] = [{3.0: 0.0, 0.0: 3.0}.get(f, f) for f in gauges["flow"]]
    assert measures["tcp_left"](found) < measures["tcp_samples"](found)


def test_a_count_is_held_to_grow_or_not_to() -> None:
    assert Counted("flows", (20.0, 2852.0), 1.1, at_least=True).holds
    assert not Counted("flows", (20.0, 21.0), 1.1, at_least=True).holds
    assert Counted("flows", (20.0, 21.0), 1.1).holds


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
        return {p["name"] for p in discipline_names.find(aqm)["parameters"]}

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
