"""Where a discipline of several queues has several traffic entries, no sentence is on a delay of all together."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import cli, discipline_names, sweeps
from earlydrop.analysis import shared, window, words
from earlydrop.sweeps import report as sweep_report
from earlydrop.sweeps import text as sweep_text
from earlydrop.sweeps import words as sweep_words

POOLED = re.compile(r"queueing delay(?! of (call|download))", re.IGNORECASE)
"""A queueing delay that is of no entry."""
CATALOGUE = discipline_names.catalogue()
ALL = frozenset(range(4))
SEVERAL = {name for name, one in CATALOGUE.items() if one["family"] == "several queues"}


@pytest.fixture(autouse=True)
def long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """These networks run for moments: of their windows nothing is asked."""
    monkeypatch.setattr(window, "judge", lambda *_: None)


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
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    aqms: list[str],
    control: str = "",
    more: str = "",
    entries: int = 0,
) -> list[str]:
    """The summary of a sweep over these disciplines."""
    from earlydrop.toml_writer import to_toml

    scenario = network()
    del scenario["name"]
    if entries:
        scenario["topology"]["pairs"] = entries
        scenario["traffic"] = [{**scenario["traffic"][0], "name": f"d{k}", "count": 1} for k in range(entries)]
    document = {
        **tomllib.loads(f'name = "shared"\nseeds = 3\n{control}\n{more}'),
        "factor": [{"name": "aqm", "path": "queue.bottleneck.aqm", "values": aqms}],
        "scenario": scenario,
    }
    file = tmp_path / "sweep.toml"
    file.write_text(to_toml(document))
    assert cli.main(["sweep", str(file), "--store", str(tmp_path / "store"), "--json"]) == 0
    return list(json.loads(capsys.readouterr().out)["summary"])


CONTROL = 'control = { aqm = "codel" }'


def asked(aqm: str, more: str = "", **changes: Any) -> sweeps.Sweep:
    """A sweep over CoDel and another discipline, before it runs."""
    scenario = {**network(), **changes}
    del scenario["name"]
    factor = {"name": "aqm", "path": "queue.bottleneck.aqm", "values": ["codel", aqm]}
    return sweeps.parse_document({**tomllib.loads(more), "factor": [factor], "scenario": scenario}, Path("x.toml"))


@pytest.mark.parametrize("aqm", [name for name in CATALOGUE if name != "codel"])
def test_measures_of_a_sweep_over_the_catalogue(aqm: str) -> None:
    sweep = asked(aqm)
    said = [m.id for m in sweep_words.spoken(sweep)]
    if aqm not in SEVERAL:
        assert (sweep.parts, said) == ((), ["queue_delay", "goodput"])
        assert "record" not in sweep.document
        return
    assert sweep.parts == (shared.Part("download", "bottleneck", 0, "1"), shared.Part("call", "bottleneck", 1, "2"))
    assert sweep.document["record"] == {"by_flow": True}
    assert said == ["queue_delay_1", "goodput_1", "queue_delay_2", "goodput_2"]
    assert len(sweep.measures) == len(asked("pie").measures) + 6


def test_sweeps_speak_of_each_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for aqms, text in ((["codel", *SEVERAL], CONTROL), (["fq_codel", "codel"], ""), (["dualpi2"], "")):
        said = swept(tmp_path, capsys, aqms, text)
        assert not any(POOLED.search(text) for text in said)
        for entry in ("download", "call"):
            assert any(text.startswith(f"Queueing delay of {entry} ") for text in said), (aqms, entry)
            assert any(text.startswith(f"Goodput of {entry} ") for text in said), (aqms, entry)
    said = swept(tmp_path, capsys, ["codel", "pie"], CONTROL)
    assert said[0].startswith("Queueing delay against codel: ")


def test_an_entry_has_one_delay_in_compare_and_sweep(tmp_path: Path) -> None:
    aqms = ["codel", "fq_codel"]
    compared = ed.compare(network(), aqms, seeds=2, progress=False).results[""]
    swept_ = ed.sweep(network(), {"aqm": aqms}, seeds=2, store=tmp_path / "store", progress=False)
    for name in (m.id for m in compared.measures if m.id[-2:] in ("_1", "_2")):
        assert [swept_.values[name][k] for k in range(2)] == [compared.values[(aqm, name)] for aqm in aqms]


def test_a_sweep_measures_of_entries_what_it_measures_of_all() -> None:
    assert [m.id for m in asked("fq_codel", 'measures = ["goodput"]').measures] == ["goodput"]
    two = asked("fq_codel", 'measures = ["queue_delay", "jain"]')
    assert [m.id for m in two.measures] == ["queue_delay", "jain", "queue_delay_1", "queue_delay_2"]
    assert [m.id for m in sweep_words.spoken(two)] == ["jain", "queue_delay_1", "queue_delay_2"]


def test_entries_of_a_sweep_by_level() -> None:
    """Entries that only some levels have, with other names there; too many are not told apart."""
    traffic = network()["traffic"]
    levels = [
        {"name": name, "set": {"queue.bottleneck.aqm": aqm, "traffic": [traffic[0], {**traffic[1], "name": other}]}}
        for name, aqm, other in (("a", "fq_codel", "call"), ("b", "pie", "talk"))
    ]
    base = {k: v for k, v in network().items() if k != "name"} | {"traffic": traffic[:1]}
    document = {"factor": [{"name": "what", "levels": levels}], "scenario": base}
    assert sweeps.parse_document(document, Path("x.toml")).parts == (
        shared.Part("download", "bottleneck", 0, "1"),
        shared.Part("entry 2", "bottleneck", 1, "2"),
    )
    many = [{**traffic[0], "name": f"d{k}", "count": 1} for k in range(shared.MOST + 1)]
    crowd = asked("fq_codel", traffic=many, topology={**network()["topology"], "pairs": len(many)})
    assert crowd.parts is None
    assert [m.id for m in sweep_words.spoken(crowd)] == ["goodput"]


def test_many_entries_of_a_sweep_are_said_to_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (said,) = [text for text in swept(tmp_path, capsys, ["fq_codel"], entries=shared.MOST + 1) if "entr" in text]
    assert "no delay of all together is compared" in said
    found = swept(tmp_path, capsys, ["fq_codel"], entries=words.LISTED + 2)
    assert "The table has 2 traffic entries more." in found
    assert sum("ueueing delay of" in text for text in found) == words.LISTED


def test_sweeps_speak_first_of_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = swept(tmp_path, capsys, ["codel", "fq_codel"], CONTROL, OWN)
    assert said[0].startswith("Queueing delay of call against codel: less with fq_codel by ")
    assert not any(POOLED.search(text) for text in said)
    assert not any("no delay of all together" in text for text in said)


def test_figures_have_the_delay_of_each_entry() -> None:
    found = ed.compare(network(), ["codel", "fq_codel"], seeds=2, progress=False)
    drawn = [ax.get_xlabel().replace("\n", " ") for ax in found.plot().axes if ax.get_visible()]
    assert not any(re.match(r"Queueing delay(?! of (download|call))", label) for label in drawn)
    for entry in ("download", "call"):
        assert f"Queueing delay of {entry} (ms)" in drawn
        assert f"Goodput of {entry} (Mbit/s)" in drawn
    plain = ed.compare(network(), ["codel", "pie"], seeds=2, progress=False)
    assert "Queueing delay (ms)" in [ax.get_xlabel() for ax in plain.plot().axes]
    named = ed.compare(network(), ["codel", "fq_codel"], seeds=2, measures=["queue_delay"], progress=False)
    assert "Queueing delay (ms)" in [ax.get_xlabel() for ax in named.plot().axes], "somebody asked for it"


def test_pictures_of_a_sweep_have_the_delay_of_each_entry(tmp_path: Path) -> None:
    limits = ["20 packets", "60 packets"]
    factors = {"aqm": ["codel", "fq_codel"], "queue.bottleneck.limit": limits}
    found = ed.sweep(network(), factors, seeds=2, store=tmp_path / "store", progress=False)
    (plane,) = found.plot("plane").axes
    assert (plane.get_xlabel(), plane.get_ylabel()) == (
        "Queueing delay of download (ms)",
        "Goodput of download (Mbit/s)",
    )
    labels = [ax.get_ylabel() for ax in found.plot("curves").axes]
    assert labels
    assert not any(re.match(r"(Queueing delay|Delay, end)(?! of (download|call))", label) for label in labels)
    sweep_text.write(tmp_path, found, "")
    page = sweep_report.write_report(tmp_path, found).read_text(encoding="utf-8")
    for entry in ("download", "call"):
        assert f"Delay and goodput of {entry}</h2>" in page
