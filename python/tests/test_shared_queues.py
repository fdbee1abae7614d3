"""Where a discipline of several queues has several traffic entries, no sentence is on a delay of all together."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import cli, discipline_names
from earlydrop.analysis import shared, words

POOLED = re.compile(r"queueing delay(?! of (call|download))", re.IGNORECASE)
"""A queueing delay that is of no entry."""
CATALOGUE = discipline_names.catalogue()
ALL = frozenset(range(4))
SEVERAL = {name for name, one in CATALOGUE.items() if one["family"] == "several queues"}


def network(**queue: Any) -> dict[str, Any]:
    """A download and a call of another class through one queue."""
    return {
        "name": "shared",
        "duration": "4 s",
        "warmup": "1 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "access": {"rate": "100 Mbit/s", "delay": "2 ms"},
            "bottleneck": {"rate": "4 Mbit/s", "delay": "8 ms"},
        },
        "queue": {"bottleneck": {"aqm": "droptail", "limit": "60 packets", "ecn": True, **queue}},
        "traffic": [
            {"kind": "ftp", "name": "download", "count": 2, "start": {"uniform": ["0 s", "0.4 s"]}},
            {"kind": "cbr", "name": "call", "rate": "0.5 Mbit/s", "class": 6, "start": {"uniform": ["0 s", "0.4 s"]}},
        ],
    }


def on_queueing(said: list[str]) -> list[str]:
    """The sentences that speak of a queueing delay."""
    return [text for text in said if "queueing delay" in text.lower()]


def of_entry(text: str) -> bool:
    """Whether a sentence is on one entry."""
    return text.startswith(("download: ", "call: ")) or POOLED.search(text) is None


@pytest.mark.parametrize("aqm", [name for name in CATALOGUE if name != "droptail"])
def test_sentences_over_the_catalogue(aqm: str) -> None:
    said = ed.compare(network(), ["droptail", aqm], seeds=3, progress=False).summary
    found = on_queueing(said)
    if aqm in SEVERAL:
        assert {text.split(":")[0] for text in found if text.startswith(("download: ", "call: "))} == {
            "download",
            "call",
        }
        assert all(map(of_entry, found))
    else:
        assert found
        assert not any(map(of_entry, found))


def test_several_rivals_and_round_trip_times() -> None:
    for rtt in (None, ["20 ms", "60 ms"]):
        said = ed.compare(network(), ["codel", "fq_codel", "prio"], seeds=3, rtt=rtt, progress=False).summary
        assert len(on_queueing(said)) >= 2
        assert all(map(of_entry, on_queueing(said)))
        assert any(text.startswith("Goodput of call against CoDel: ") for text in said)
    alone = ed.compare(network(), ["fq_codel"], seeds=3, progress=False).summary
    assert alone[0].startswith("download: FQ-CoDel has ")
    assert " call: FQ-CoDel has " in alone[0]


def test_the_measures_are_those_of_the_entries() -> None:
    found = ed.compare(network(), ["codel", "fq_codel"], seeds=3, progress=False)
    (one,) = found.results.values()
    for (aqm, seed), run in one.runs.items():
        for k, entry in enumerate(run["queues"]["bottleneck"]["traffic"]):
            place = seed - one.seeds[0]
            assert one.values[(aqm, f"queue_delay_{k + 1}")][place] == entry["delay_mean_ms"]
            assert one.values[(aqm, f"queue_delay_p99_{k + 1}")][place] == entry["delay_p99_ms"]
            assert one.values[(aqm, f"goodput_{k + 1}")][place] == run["traffic"][k]["goodput_mbps"]
    assert [m.title for m in one.measures[-3:]] == [
        "Queueing delay of call",
        "Queueing delay of call, 99 %",
        "Goodput of call",
    ]


def test_everything_else_is_as_without_entries() -> None:
    """The runs are the same, and a queue without classes of its own gets no measures more."""
    by_entry = ed.compare(network(), ["codel", "fq_codel"], seeds=2, progress=False).results[""]
    plain = ed.compare(network(), ["codel", "pie"], seeds=2, progress=False).results[""]
    assert [m.id for m in plain.measures] == [m.id for m in by_entry.measures[: len(plain.measures)]]
    for m in plain.measures:
        assert plain.values[("codel", m.id)] == by_entry.values[("codel", m.id)]
    assert "traffic" not in next(iter(plain.runs.values()))["queues"]["bottleneck"]


def test_a_parent_with_classes_has_several_queues() -> None:
    net = network()
    net["queue"]["bottleneck"] = {
        "parent": "htb",
        "rate": "4 Mbit/s",
        "classes": 2,
        "rate_0": "3 Mbit/s",
        "rate_1": "1 Mbit/s",
        "child": {"aqm": "codel", "limit": "60 packets"},
    }
    said = ed.compare(net, ["codel", "pie"], seeds=3, progress=False).summary
    assert len(on_queueing(said)) >= 2
    assert all(map(of_entry, on_queueing(said)))


def test_very_many_entries_have_no_sentence_on_delay() -> None:
    net = network()
    net["topology"]["pairs"] = shared.MOST + 1
    net["traffic"] = [{**net["traffic"][0], "name": f"d{k}", "count": 1} for k in range(shared.MOST + 1)]
    said = ed.compare(net, ["codel", "fq_codel"], seeds=2, progress=False).summary
    assert on_queueing(said) == []
    assert any("no delay of all together is compared" in text for text in said)
    net["traffic"] = net["traffic"][: words.LISTED + 2]
    said = ed.compare(net, ["codel", "fq_codel"], seeds=2, progress=False).summary
    assert len(on_queueing(said)) >= words.LISTED
    assert "The table has 2 traffic entries more." in said


def result(departures: list[int], names: list[str | None], aqm: str = "fq_codel") -> dict[str, Any]:
    """A result whose traffic entries have these names and departures at the queue."""
    at = [{"name": name, "kind": "ftp", "departures": count} for name, count in zip(names, departures, strict=True)]
    return {"queues": {"bottleneck": {"aqm": aqm, "traffic": at}}, "traffic": at}


def test_entries_that_pass_and_their_titles() -> None:
    names = ["a", "a", None, "b"]
    assert shared.parts([result([5, 5, 5, 0], names)], "bottleneck", ALL) == (
        shared.Part("a (entry 1)", "bottleneck", 0, "1"),
        shared.Part("a (entry 2)", "bottleneck", 1, "2"),
        shared.Part("ftp (entry 3)", "bottleneck", 2, "3"),
    )
    assert shared.parts([result([5, 0, 0, 0], names)], "bottleneck", ALL) == ()
    assert shared.parts([result([5, 5, 0, 0], names, "codel")], "bottleneck", ALL) == ()
    old = result([5, 5, 0, 0], names)
    del old["queues"]["bottleneck"]["traffic"]
    assert shared.parts([old], "bottleneck", ALL) is None


OWN = """
[[measure]]
id = "call"
title = "Queueing delay of call"
unit = "ms"
field = "queues.bottleneck.traffic.1.delay_p99_ms"
"""


def swept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], aqms: list[str], control: str = "", more: str = ""
) -> list[str]:
    """The summary of a sweep over these disciplines."""
    from earlydrop.toml_writer import to_toml

    scenario = network()
    del scenario["name"]
    if more:
        scenario["record"] = {"by_flow": True}
    document = {
        **tomllib.loads(f'name = "shared"\nseeds = 3\n{control}\n{more}'),
        "factor": [{"name": "aqm", "path": "queue.bottleneck.aqm", "values": aqms}],
        "scenario": scenario,
    }
    file = tmp_path / "sweep.toml"
    file.write_text(to_toml(document))
    assert cli.main(["sweep", str(file), "--store", str(tmp_path / "store"), "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["summary"])


def test_sweeps_speak_of_no_pooled_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    control = 'control = { aqm = "codel" }'
    for aqms, text in ((["codel", "fq_codel"], control), (["fq_codel", "codel"], ""), (["dualpi2"], "")):
        said = swept(tmp_path, capsys, aqms, text)
        assert not any(text.startswith(("Queueing delay", "Mean and 99")) for text in said)
        assert any("no delay of all together is compared" in text for text in said)
        assert any(text.startswith("Goodput") for text in said)
    said = swept(tmp_path, capsys, ["codel", "pie"], control)
    assert said[0].startswith("Queueing delay against codel: ")


def test_sweeps_speak_of_the_entries_they_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = swept(tmp_path, capsys, ["codel", "fq_codel"], 'control = { aqm = "codel" }', OWN)
    assert said[0].startswith("Queueing delay of call against codel: less with fq_codel by ")
    assert not any(POOLED.search(text) for text in said)
    assert not any("no delay of all together" in text for text in said)
