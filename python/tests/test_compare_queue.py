"""Comparisons at another queue than the bottleneck, and at all of them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import CompareError, _core, cli
from earlydrop.analysis import window

SHORT = {"duration": "4 s", "warmup": "1 s"}


@pytest.fixture(autouse=True)
def long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """These networks run for moments: of their windows nothing is asked."""
    monkeypatch.setattr(window, "judge", lambda *_: None)


def network(**queues: Any) -> dict[str, Any]:
    """Downloads and an upload on a line whose two directions differ."""
    queues = queues or {
        "bottleneck": {"aqm": "fq_codel", "limit": "100 packets", "target": "20 ms"},
        "reverse": {"aqm": "droptail", "limit": "40 packets"},
    }
    return {
        "name": "line",
        **SHORT,
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "access": {"rate": "100 Mbit/s", "delay": "2 ms"},
            "bottleneck": {"rate": "8 Mbit/s", "delay": "6 ms"},
            "reverse": {"rate": "2 Mbit/s", "delay": "6 ms"},
        },
        "queue": queues,
        "traffic": [
            {"kind": "ftp", "name": "download", "count": 2, "start": {"uniform": ["0 s", "0.4 s"]}},
            {"kind": "ftp", "name": "upload", "count": 1, "direction": "reverse", "start": {"uniform": ["0 s", "1 s"]}},
        ],
    }


def lot(**queues: Any) -> dict[str, Any]:
    """Three bottlenecks in a row."""
    return {
        "name": "lot",
        **SHORT,
        "topology": {
            "kind": "parking_lot",
            "bottlenecks": 3,
            "pairs": 2,
            "cross": 1,
            "access": {"rate": "100 Mbit/s", "delay": "2 ms"},
            "bottleneck": {"rate": "4 Mbit/s", "delay": "5 ms"},
        },
        "queue": queues,
        "traffic": [{"kind": "ftp", "start": {"uniform": ["0 s", "0.4 s"]}}],
    }


def run(document: dict[str, Any], seed: int, **aqms: dict[str, Any]) -> dict[str, Any]:
    """The result of a run with these tables of queues."""
    document = {**document, "queue": {**document["queue"], **aqms}}
    found: dict[str, Any] = json.loads(_core.Scenario.parse(document, []).run(seed))
    return found


def test_another_queue_has_the_disciplines_and_its_numbers() -> None:
    found = ed.compare(network(), ["pie", "codel"], queue="reverse", seeds=2, progress=False)
    one = found.results[""]
    assert (one.queue, one.others) == ("reverse", ())
    for aqm in ("pie", "codel"):
        for k, seed in enumerate(one.seeds):
            alone = run(network(), seed, reverse={"aqm": aqm, "limit": "40 packets"})
            assert one.values[aqm, "queue_delay"][k] == alone["queues"]["reverse"]["delay_mean_ms"]
            assert one.values[aqm, "goodput"][k] == alone["queues"]["reverse"]["passing"]["goodput_mbps"]
            assert alone["queues"]["bottleneck"]["aqm"] == "fq_codel"
    assert "line: PIE, CoDel at queue reverse" in repr(found)
    assert any("whose data pass the queue reverse" in note for note in one.notes)


def test_all_queues_have_the_disciplines_and_numbers_of_their_own() -> None:
    found = ed.compare(network(), ["droptail", "codel"], queue="all", seeds=3, progress=False)
    one = found.results[""]
    assert one.queues == ("bottleneck", "reverse")
    assert one.dropped == {"droptail": ["target"]}
    for k, seed in enumerate(one.seeds):
        alone = run(
            network(),
            seed,
            bottleneck={"aqm": "codel", "limit": "100 packets", "target": "20 ms"},
            reverse={"aqm": "codel", "limit": "40 packets"},
        )["queues"]
        for queue, end in (("bottleneck", ""), ("reverse", "_reverse")):
            for name, field in (("queue_delay", "delay_mean_ms"), ("queue_delay_p99", "delay_p99_ms")):
                assert one.values["codel", name + end][k] == alone[queue][field]
            assert one.values["codel", f"drop_rate{end}"][k] == 100 * alone[queue]["drop_rate"]
            assert one.values["codel", f"goodput{end}"][k] == alone[queue]["passing"]["goodput_mbps"]
    titles = [m.title for m in one.measures]
    assert "Queueing delay of bottleneck, 99 %" in titles
    assert "Queueing delay of reverse, 99 %" in titles
    assert "Queueing delay" not in titles
    # Every sentence on a delay names its queue.
    delays = [text for text in found.summary if "queueing delay" in text.lower()]
    assert [text.split(":")[0] for text in delays] == ["bottleneck", "reverse"]
    assert one.document("1")["queues"] == ["bottleneck", "reverse"]
    several = ed.compare(network(), ["droptail", "codel", "red"], queue="all", seeds=3, progress=False).summary
    assert sum("Queueing delay of bottleneck against" in text for text in several) == 1
    assert sum("Queueing delay of reverse against" in text for text in several) == 1


def test_entries_at_a_queue_keep_their_own_delays() -> None:
    net = network()
    net["traffic"].append({"kind": "cbr", "name": "call", "rate": "0.2 Mbit/s", "start": "0.1 s"})
    found = ed.compare(net, ["droptail", "fq_codel"], queue="all", seeds=3, progress=False)
    delays = [text.split(":")[0] for text in found.summary if "queueing delay" in text.lower()]
    assert delays == ["download at bottleneck", "call at bottleneck", "reverse"]


def test_a_table_of_several_links_is_measured_at_one_of_them() -> None:
    alone = {"bottleneck": {"aqm": "red", "limit": "30 packets"}, "bottleneck1": {"aqm": "droptail"}}
    one = ed.compare(lot(**alone), ["pie"], queue="bottleneck", seeds=1, progress=False).results[""]
    assert one.queue == "bottleneck2"
    (made,) = one.runs.values()
    assert [made["queues"][f"bottleneck{k}"]["aqm"] for k in (1, 2, 3)] == ["droptail", "pie", "pie"]


def test_a_link_leaves_the_table_that_it_shares(tmp_path: Path) -> None:
    shared = lot(bottleneck={"aqm": "red", "limit": "30 packets"})
    one = ed.compare(shared, ["pie"], queue="bottleneck2", seeds=1, progress=False).results[""]
    (made,) = one.runs.values()
    assert one.queue == "bottleneck2"
    assert [made["queues"][f"bottleneck{k}"]["aqm"] for k in (1, 2, 3)] == ["red", "pie", "red"]
    # What --set says of the common table holds for the link as well.
    file = tmp_path / "lot.toml"
    file.write_text(to_toml(shared), encoding="utf-8")
    words = ["--aqm", "pie", "--seeds", "1", "--set", "queue.bottleneck.limit=8 packets"]
    assert cli.main(["compare", str(file), *words, "--queue", "bottleneck2", "--out", str(tmp_path / "o")]) == 0
    (kept,) = (tmp_path / "o" / "runs").iterdir()
    made = json.loads(kept.read_text(encoding="utf-8"))
    assert [made["queues"][f"bottleneck{k}"]["queue_max_packets"] <= 8 for k in (1, 2, 3)] == [True, True, True]
    assert made["queues"]["bottleneck2"]["overflow_drops"] > 0


def to_toml(document: dict[str, Any]) -> str:
    from earlydrop.toml_writer import to_toml as write

    text = write(document)
    assert tomllib.loads(text)
    return text


@pytest.mark.parametrize("given", ["up", "", 3])
def test_a_queue_that_is_not_there_is_refused(given: Any) -> None:
    with pytest.raises(CompareError, match=r"queue: given .*; the scenario has no such queue; allowed bottleneck, re"):
        ed.compare(network(), ["pie"], queue=given, progress=False)


def test_several_queues_and_no_bottleneck_need_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queues = {"bottleneck1": {"aqm": "red"}, "bottleneck2": {"aqm": "red"}}
    with pytest.raises(CompareError, match="compare --queue names one"):
        ed.compare(lot(**queues), ["pie"], progress=False)
    assert ed.compare(lot(**queues), ["pie"], queue="bottleneck2", seeds=1, progress=False).results[""].queue
    file = tmp_path / "line.toml"
    file.write_text(to_toml(network()), encoding="utf-8")
    assert cli.main(["compare", str(file), "--aqm", "pie", "--queue", "up"]) == 2
    assert "line.toml: queue: given 'up'; the scenario has no such queue" in capsys.readouterr().err


def test_round_trip_times_are_those_of_the_compared_queue() -> None:
    found = ed.compare(network(), ["pie", "codel"], queue="reverse", rtt="50 ms", seeds=1, progress=False)
    assert found.results["50 ms"].queue == "reverse"


def test_the_page_of_all_queues_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "line.toml", tmp_path / "out"
    file.write_text(to_toml(network()), encoding="utf-8")
    line = ["compare", str(file), "--aqm", "droptail", "pie", "--queue", "all", "--seeds", "2", "--out", str(out)]
    assert cli.main(line) == 0
    page = out / "report.html"
    first = page.read_bytes()
    assert b"Queueing delay of reverse" in first
    assert b"queues bottleneck and reverse" in first
    page.unlink()
    assert cli.main(["report", str(out)]) == 0
    assert page.read_bytes() == first
