"""The study of the DDRED paper: the set-up is the paper's, and the literal search is a reading."""

from __future__ import annotations

from typing import Any

import pytest

from earlydrop import study as studies

DDRED = studies.find("ddred")


def document(experiment: str, **levels: str) -> dict[str, Any]:
    """The scenario of a cell; readings that are not named are at their base, other axes at their first level."""
    e = DDRED.experiment(experiment)
    chosen = tuple(levels.get(axis.id, axis.base if axis.reading else axis.ids[0]) for axis in e.axes)
    assert chosen in e.cell_set, f"{chosen} is not run"
    return dict(e.document(chosen, "ddred", {}))


def test_the_set_up_is_the_papers() -> None:
    # Section V: the seeds 0 to 10, and under both disciplines the same transfers.
    for name, count in (("D-1", 100), ("D-2", 500)):
        e = DDRED.experiment(name)
        assert (e.first_seed, e.seeds) == (0, 11)
        red, ddred = (document(name, aqm=aqm) for aqm in ("red", "ddred"))
        assert {key for key in red if red[key] != ddred[key]} == {"name", "queue"}
        transfers = red["traffic"][0]
        assert (transfers["kind"], transfers["count"], transfers["tcp"]) == ("transfers", count, "newreno")
        assert transfers["size"] == {"uniform": ["100 kB", "6 MB"]}
        assert transfers["start"] == {"uniform": ["0 s", "60 s"]}
        assert transfers["completion"] == "received"
        assert red["topology"]["core"]["rate"] == red["topology"]["access"]["rate"] == "10 Mbit/s"
        # No source or destination is named: they are drawn.
        assert not {"from", "to"} & transfers.keys()
    flower = document("D-2")["topology"]
    assert (flower["kind"], flower["petals"], flower["petal"] + 1) == ("flower", 5, 8)
    # Section VI.A: links of 1 ms and 10 Mbit/s, two endless flows from 0 to 10 s; the first link is varied to 200 ms.
    one = document("D-3")
    assert (one["topology"]["kind"], one["duration"]) == ("two_flow", "10 s")
    assert one["topology"]["first"] == one["topology"]["link"] == {"rate": "10 Mbit/s", "delay": "1 ms"}
    assert (one["traffic"][0]["kind"], one["traffic"][0]["count"], one["traffic"][0]["start"]) == ("ftp", 2, "0 s")
    levels = DDRED.experiment("D-3").axis("latency").ids
    varied = [document("D-3", latency=level)["topology"]["first"]["delay"] for level in levels]
    assert (varied[0], varied[-1]) == ("1 ms", "200 ms")


def test_a_ratio_nearer_to_1_is_fairer() -> None:
    balance = DDRED.measure("balance").formula
    assert balance is not None
    of = [balance.value({"first": a, "second": b}) for a, b in ((1024, 198), (577, 625), (625, 577), (5, 5))]
    assert of == pytest.approx([198 / 1024, 577 / 625, 577 / 625, 1.0])


@pytest.mark.parametrize("experiment", ["D-1", "D-1-minute", "D-2", "D-2-minute", "D-3", "D-4", "D-6", "D-8"])
def test_the_literal_search_is_a_reading_of_ddred_alone(experiment: str) -> None:
    e = DDRED.experiment(experiment)
    axis = e.axis("searched")
    assert (axis.base, axis.literal) == ("with-arrival", "queue")
    place = "bottleneck" if "bottleneck" in document(experiment)["queue"] else "routers"
    base, literal = (document(experiment, searched=s, aqm="ddred")["queue"][place] for s in axis.ids)
    assert literal == {**base, "searched": "queue"}
    # RED's cells are the same scenario in both.
    red, other = (document(experiment, searched=s, aqm="red")["queue"] for s in axis.ids)
    assert red == other


def test_formulas_of_signs() -> None:
    """Of a run: 100 where the transfers take less time than under RED, else 0."""
    formula = DDRED.measure("generally").formula
    assert formula is not None
    assert [formula.value({"time_ratio": r}) for r in (0.9, 1.1)] == [100.0, 0.0]
    assert set(formula.names) == {"time_ratio"}
