"""The engine in WebAssembly gives the same bytes as the native one, and its exports do what docs/web.md says."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from wasm_engine import Engine, Refused

import earlydrop as ed
import wasm
from earlydrop import _core

ROOT = Path(__file__).resolve().parents[2]
DRAWN = ROOT / "crates/sim/tests/golden_run/drawn.txt"
PAGE = (ROOT / "docs/web.md").read_text(encoding="utf-8")
COLUMNS = (ROOT / "docs/data/web-columns.csv").read_text(encoding="utf-8")
"""The page's table."""
TOML = """\
name = "web"
duration = "20 s"
warmup = "2 s"
seed = 5

[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "4 Mbit/s", delay = "10 ms" }

[queue.bottleneck]
aqm = "red"
limit = 60
min_th = 5
max_th = 30

[[traffic]]
kind = "ftp"
count = 4
segment = 1000
start = { uniform = ["0 s", "1 s"] }
"""


@pytest.fixture(scope="module")
def module() -> Path:
    """The module, built for tests."""
    made = subprocess.run(
        [sys.executable, ROOT / "tools/wasm.py", "--quick"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode and "standard library for wasm cannot be had" in made.stderr:
        if os.environ.get("EARLYDROP_REQUIRE_PEERS") == "1":
            pytest.fail(made.stderr)
        pytest.skip(made.stderr)
    assert made.returncode == 0, made.stderr
    return ROOT / "target/earlydrop-quick.wasm"


@pytest.fixture(scope="module")
def engine(module: Path) -> Engine:
    return Engine(module)


def test_what_is_missing_is_said_way_by_way(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a standard library for wasm the script names each way to one, and why it leads nowhere."""

    def nowhere(why: str) -> Any:
        def way() -> list[str]:
            raise wasm.Missing(why)

        return way

    monkeypatch.setattr(wasm, "WAYS", {"installed": nowhere("none here"), "source": nowhere("rust-src is missing")})
    monkeypatch.setattr(sys, "argv", ["wasm.py", "--quick"])
    assert wasm.main() == 1
    said = capsys.readouterr().err
    assert "standard library for wasm cannot be had" in said
    assert "installed: none here" in said
    assert "source: rust-src is missing" in said
    with pytest.raises(wasm.Missing, match="no-such-program is not on the path"):
        wasm.output("no-such-program")


def without_cost(document: str) -> str:
    left, count = re.subn(r'"cost":\{[^}]*\},', "", document)
    assert count == 1
    return left


def chosen() -> list[dict[str, Any]]:
    """Ten of the drawn scenarios: each has the most disciplines, TCPs, kinds of traffic and networks that are new."""
    drawn = [json.loads(line.split("\t")[1]) for line in DRAWN.read_text(encoding="utf-8").splitlines()]

    def parts(scenario: dict[str, Any]) -> set[tuple[str, str]]:
        traffic = scenario["traffic"]
        return {
            ("network", scenario["topology"]["kind"]),
            *(("aqm", queue["aqm"]) for queue in scenario.get("queue", {}).values()),
            *(("kind", entry["kind"]) for entry in traffic),
            *(("tcp", f"{entry.get('stack')} {entry['tcp']}") for entry in traffic if "tcp" in entry),
        }

    found: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    for _ in range(10):
        best = max(drawn, key=lambda scenario: len(parts(scenario) - seen))
        found.append(best)
        seen |= parts(best)
    assert {name for part, name in seen if part == "kind"} == {
        name for s in drawn for part, name in parts(s) if part == "kind"
    }
    return found


@pytest.mark.parametrize("scenario", chosen(), ids=lambda scenario: str(scenario["name"]))
def test_results_are_the_same_bytes(engine: Engine, scenario: dict[str, Any]) -> None:
    native = _core.Scenario.parse(scenario).run()
    assert without_cost(engine.result(json=scenario)) == without_cost(native)


def test_steps_looks_and_samples_change_nothing(engine: Engine) -> None:
    run, about = engine.load(toml=TOML, packets=100, sample_s=0.05, cwnd_flows=[1, 4], links="stepped")
    assert about["toml"] == TOML
    now = 0.0
    while now < 20:
        engine.call("ed_step", run, 3, 20.0)
        engine.call("ed_run", run, now + 0.7, 500.0)
        now = engine.value("ed_now", run)
        for look in (
            ("ed_queue", run, 0),
            ("ed_waiting", run, 0),
            ("ed_flows", run),
            ("ed_packets", run),
            ("ed_sojourns", run, 0),
        ):
            engine.call(*look)
    engine.call("ed_finish", run, 0.0)
    native = _core.Scenario.parse(tomllib.loads(TOML)).run()
    assert without_cost(engine.text()) == without_cost(native)


def test_what_is_read_is_what_the_native_simulation_reads(engine: Engine) -> None:
    run, about = engine.load(toml=TOML, packets=1 << 16, sample_s=1.0, cwnd_flows=[2])
    native = ed.Simulation(tomllib.loads(TOML))
    for time in (1.0, 4.5, 9.0):
        assert engine.call("ed_run", run, time, 0.0) == 0
        native.run_until(time)
        queue = native.queue("bottleneck")
        engine.call("ed_queue", run, 0)
        names = [*about["queue_columns"], *(gauge["name"] for gauge in about["queues"][0]["gauges"])]
        row = dict(zip(names, engine.array(), strict=True))
        assert {name: row[name] for name in queue.gauges} == queue.gauges
        assert {name: row[name] for name in queue.counters} == queue.counters
        assert (row["packets"], row["bytes"], row["average"]) == (queue.packets, queue.bytes, queue.average)
        assert (row["mean_packets"], row["mean_sojourn_s"]) == (queue.mean_packets, queue.mean_delay_s)
    assert about["series"][:3] == ["time_s", "bottleneck.packets", "bottleneck.average"]
    engine.call("ed_series", run, 0)
    assert engine.array() == [float(second) for second in range(10)]
    engine.call("ed_series", run, 2)
    assert engine.array()[9] == native.queue("bottleneck").average
    with pytest.raises(Refused, match="columns, from 0"):
        engine.call("ed_series", run, len(about["series"]))


def test_every_packet_has_its_events(engine: Engine) -> None:
    """Their numbers are the queue's own counters, and their sojourn times its histogram."""
    run, about = engine.load(toml=TOML, sets=[["warmup", "0 s"]], packets=1 << 20, links="stepped")
    engine.call("ed_run", run, 15.0, 0.0)
    assert engine.call("ed_packets", run) == 0
    numbers = engine.array()
    width = len(about["packet_columns"])
    rows = [
        dict(zip(about["packet_columns"], numbers[at : at + width], strict=False))
        for at in range(0, len(numbers), width)
    ]
    kinds = about["packet_kinds"]
    counts = {kind: sum(kinds[int(row["kind"])] == kind for row in rows) for kind in kinds}
    engine.call("ed_queue", run, 0)
    queue = dict(zip(about["queue_columns"], engine.array(), strict=False))
    assert [row["time_s"] for row in rows] == sorted(row["time_s"] for row in rows)
    assert counts["passed"] + counts["early"] + counts["forced"] + counts["overflow"] == queue["arrivals"]
    assert counts["departed"] == queue["departures"]
    assert (counts["early"], counts["forced"]) == (queue["early_drops"], queue["forced_drops"])
    assert counts["early"] > 20
    assert counts["marked"] == counts["departed_marked"] == 0
    waited = [row["sojourn_s"] for row in rows if kinds[int(row["kind"])] == "departed"]
    assert all(math.isnan(row["sojourn_s"]) for row in rows if kinds[int(row["kind"])] != "departed")
    assert math.fsum(waited) / len(waited) == pytest.approx(queue["mean_sojourn_s"], rel=1e-12)
    engine.call("ed_sojourns", run, 0)
    times, packets = engine.array()[::2], engine.array()[1::2]
    assert sum(packets) == len(waited)
    assert max(times) == pytest.approx(max(waited), abs=1e-6, rel=1e-3)
    engine.call("ed_flows", run)
    flows = engine.array()
    column = about["flow_columns"].index("passed_bytes")
    passed = flows[column :: len(about["flow_columns"])]
    assert sum(passed) == queue["departed_bytes"]
    assert len(passed) == 4


def test_the_ring_keeps_the_latest_events(engine: Engine) -> None:
    run, about = engine.load(toml=TOML, packets=10)
    engine.call("ed_run", run, 15.0, 0.0)
    engine.call("ed_queue", run, 0)
    missed = engine.call("ed_packets", run)
    assert missed > 1000
    assert len(engine.array()) == 10 * len(about["packet_columns"])
    assert engine.call("ed_packets", run) == 0
    assert engine.array() == []


def test_steps_by_arrivals(engine: Engine) -> None:
    run, about = engine.load(toml=TOML, packets=100)
    for arrivals in (1, 1, 7):
        assert engine.call("ed_step", run, arrivals, math.inf) == 0
        engine.call("ed_packets", run)
        kinds = engine.array()[1 :: len(about["packet_columns"])]
        assert sum(kind <= 4 for kind in kinds) == arrivals
    assert engine.call("ed_step", run, 10**6, 12.0) == 1
    assert engine.value("ed_now", run) == 12.0
    assert engine.call("ed_run", run, 19.0, 50.0) == 1
    assert 12.0 < engine.value("ed_now", run) < 19.0


def test_marks_are_seen(engine: Engine) -> None:
    for aqm, marked in (("red", "marked"), ("codel", "departed_marked")):
        sets = [["queue.bottleneck.aqm", aqm], ["queue.bottleneck.ecn", "true"], ["traffic.0.ecn", "true"]]
        run, about = engine.load(toml=TOML, sets=sets, packets=1 << 20)
        engine.call("ed_run", run, 15.0, 0.0)
        engine.call("ed_packets", run)
        kinds = [about["packet_kinds"][int(kind)] for kind in engine.array()[1 :: len(about["packet_columns"])]]
        assert kinds.count(marked) > 10, aqm
        engine.call("ed_close", run)


def test_a_parameter_set_in_flight_changes_the_run_as_natively(engine: Engine) -> None:
    run, about = engine.load(toml=TOML)
    native = ed.Simulation(tomllib.loads(TOML))
    engine.call("ed_run", run, 6.0, 0.0)
    native.run_until(6.0)
    assert "max_p" in about["queues"][0]["live"]
    assert "dialect" not in about["queues"][0]["live"]
    engine.call("ed_curve", run, 0, 5.0, 30.0, 6)
    before = engine.array()
    engine.call("ed_set", run, given={"queue": "bottleneck", "parameter": "max_p", "value": 0.4})
    native.set("bottleneck", "max_p", 0.4)
    engine.call("ed_curve", run, 0, 5.0, 30.0, 6)
    assert engine.array()[1:-1] == pytest.approx([0.4 / 0.02 * p for p in before[1:-1]])
    engine.call("ed_finish", run, 0.0)
    document = json.loads(without_cost(engine.text()))
    assert document["changes"]
    assert document == {k: v for k, v in native.finish().document.items() if k != "cost"}


def test_numbers_are_in_the_unit_of_the_parameter(engine: Engine) -> None:
    run, _ = engine.load(toml=TOML, sets=[["queue.bottleneck.aqm", "codel"]])
    engine.call("ed_run", run, 3.0, 0.0)
    for value in (0.0075, 1e-7, "8 ms"):
        engine.call("ed_set", run, given={"queue": "bottleneck", "parameter": "target", "value": value})
    engine.call("ed_finish", run, 0.0)
    assert [change["value"] for change in json.loads(engine.text())["changes"]] == [0.0075, 1e-7, 0.008]


def test_the_exported_text_runs_to_the_same_bytes(engine: Engine, tmp_path: Path) -> None:
    sets = [["queue.bottleneck.aqm", "pie"], ["queue.bottleneck.qdelay_ref", "7 ms"], ["traffic.0.count", "3"]]
    run, about = engine.load(toml=TOML, sets=sets, seed="9007199254740993")
    engine.call("ed_finish", run, 0.0)
    (tmp_path / "exported.toml").write_text(about["toml"], encoding="utf-8")
    native = _core.Scenario.load(str(tmp_path / "exported.toml")).run()
    assert without_cost(engine.text()) == without_cost(native)
    assert json.loads(engine.text())["seed"] == 9007199254740993
    assert without_cost(engine.result(json=about["scenario"])) == without_cost(native)


@pytest.mark.parametrize(
    ("request_", "path", "said"),
    [
        ({}, "", "toml"),
        ({"toml": "a = ["}, "line 1, column 6", "not TOML"),
        ({"toml": TOML.replace("max_th = 30", "max_th = -3")}, "queue.bottleneck.max_th", "out of range"),
        ({"toml": TOML, "sets": [["traffic.0.count", "6000"]]}, "traffic", "too many flows for a page"),
        ({"toml": TOML, "sets": [["topology.pairs", "100000"]]}, "topology.pairs", "too many hosts for a page"),
        ({"toml": TOML, "sets": 3}, "", "pairs of texts"),
        ({"toml": TOML, "seed": -1}, "seed", "is not a seed"),
        ({"toml": TOML, "links": "fast"}, "links", "stepped"),
        ({"toml": TOML, "queue": "top"}, "queue", "no such queue"),
        ({"toml": TOML, "packets": 1e9}, "packets", "out of range"),
        ({"toml": TOML, "sample_s": 0}, "sample_s", "is no interval"),
        ({"toml": TOML, "sample_s": 1e-6}, "sample_s", "too many samples"),
        ({"toml": TOML, "sample_s": 1, "cwnd_flows": [9]}, "cwnd_flows", "no such flow"),
        ({"toml": TOML + '[record]\nseries = "10 us"\n'}, "record.series", "too much for a page"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_requests_are_answers(engine: Engine, request_: dict[str, object], path: str, said: str) -> None:
    with pytest.raises(Refused, match=re.escape(said)) as refused:
        engine.load(**request_)
    assert refused.value.answer["path"] == path
    # The instance still works.
    assert engine.call("ed_template", given={"name": "x"}) == 0
    assert 'name = "x"' in engine.text()


def test_calls_without_a_run_are_answers(engine: Engine) -> None:
    for name, *arguments in (
        ("ed_run", 1.0, 0.0), ("ed_step", 1, 1.0), ("ed_queue", 0), ("ed_waiting", 0), ("ed_flows",), ("ed_series", 0),
        ("ed_packets",), ("ed_sojourns", 0), ("ed_curve", 0, 0.0, 1.0, 2), ("ed_network", 0), ("ed_finish", 0.0),
        ("ed_close",),
    ):  # fmt: skip
        with pytest.raises(Refused, match="there is no run 9999"):
            engine.call(str(name), 9999, *arguments)
    assert math.isnan(engine.value("ed_now", 9999))
    assert math.isnan(engine.value("ed_jain", 9999))
    assert engine.value("ed_input", 9 << 20) == 0
    run, _ = engine.load(toml=TOML)
    for name, *arguments, said in (
        ("ed_packets", "no queue is watched"),
        ("ed_step", 1, 1.0, "no queue is watched"),
        ("ed_series", 0, "there is no series"),
        ("ed_queue", 7, "there are 1 queues"),
        ("ed_curve", 0, 0.0, math.nan, 5, "drop curve is read"),
        ("ed_run", math.nan, 0.0, "not a number"),
    ):
        with pytest.raises(Refused, match=str(said)):
            engine.call(str(name), run, *arguments)
    engine.call("ed_finish", run, 0.0)
    with pytest.raises(Refused, match="has finished"):
        engine.call("ed_queue", run, 0)


def test_handles_are_few(module: Path) -> None:
    engine = Engine(module)
    runs = [engine.load(toml=TOML)[0] for _ in range(64)]
    with pytest.raises(Refused, match="64 runs are open"):
        engine.load(toml=TOML)
    engine.call("ed_close", runs[3])
    assert engine.load(toml=TOML)[0] not in runs


def test_the_catalogue_is_the_native_one_with_more(engine: Engine) -> None:
    engine.call("ed_catalogue")
    web = json.loads(engine.text())["disciplines"]
    native = json.loads(_core.catalogue())
    assert [entry["name"] for entry in web] == [entry["name"] for entry in native]
    for mine, theirs in zip(web, native, strict=True):
        # A page does not show the example, so that its engine has none.
        theirs["doc"] = theirs["doc"].split("## Example")[0].rstrip("\n") + "\n"
        assert {key: mine[key] for key in theirs if key != "parameters"} == {
            key: value for key, value in theirs.items() if key != "parameters"
        }
        for row, same in zip(mine["parameters"], theirs["parameters"], strict=True):
            assert {key: row[key] for key in same} == same
            assert {"default_value", "live"} < set(row)
        assert all(gauge["about"].endswith(".") for gauge in mine["gauges"])
    engine.call("ed_reference")
    reference = json.loads(engine.text())
    assert reference["stacks"] == json.loads(_core.stacks())
    assert reference["version"] == _core.version()


def test_the_page_names_every_export_and_column(engine: Engine) -> None:
    exports = set(re.findall(r"fn (ed_\w+)", (ROOT / "crates/web/src/exports.rs").read_text(encoding="utf-8")))
    assert set(re.findall(r"`(ed_\w+)\(", PAGE)) == exports
    engine.call("ed_reference")
    limits = json.loads(engine.text())["limits"]
    numbers = {int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*\b", PAGE.split("## Limits")[1])}
    assert {limits[key] for key in ("flows", "links", "queues", "tables", "events", "runs")} <= numbers
    run, about = engine.load(toml=TOML, packets=5, sample_s=1.0)
    for key in ("queue_columns", "flow_columns", "packet_columns", "packet_kinds"):
        assert all(f"`{name}`" in PAGE + COLUMNS for name in about[key]), key
    engine.call("ed_close", run)
