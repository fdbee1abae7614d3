"""What links do to packets, in the simulator: laws, spellings, and what is refused. `test_link.py` has real links."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import impairments
import numpy as np
import pytest

from earlydrop import _core, links
from earlydrop.cli import main

SEED = 7


def sent(options: dict[str, Any]) -> dict[str, Any]:
    """What the simulator does with 10,000 packets that come faster than the link sends them."""
    plan = links.plan("40 Mbit/s", "5 ms", queue="droptail limit=20000p", seed=SEED, **options)
    count = impairments.PACKETS
    columns = {
        "time_s": 0.1 + np.arange(count) * 1.6e-4,
        "flow": np.ones(count),
        "size": np.full(count, 1000),
        **{name: np.zeros(count) for name in ("ecn", "class")},
        **{name: np.full(count, 64) for name in ("ttl", "initial_ttl")},
    }
    kinds = links.records.COLUMNS
    given = {name: values.astype(kinds[name]) for name, values in columns.items()}
    made = _core.replay_link(
        plan.scenario, plan.queue, plan.seed, False, 100.0, {name: one.tobytes() for name, one in given.items()}
    )
    found = {name: np.frombuffer(made[name], dtype=kinds[name]) for name in links.records.SETTLED}
    assert (found["fate"] == 1).all()
    return given | found


@pytest.mark.parametrize("name", impairments.LAWS)
def test_what_a_link_does_follows_its_law(name: str) -> None:
    options, law = impairments.LAWS[name]
    law(sent(options))


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("loss", "loss", "1.5%"),
        ("bursts", "loss", "probability=5% burst=3"),
        ("elliott", "loss", "probability=15% burst=20 bad=50% good=2%"),
        ("every", "loss", "every=101"),
        ("jitter", "jitter", "0.19ms"),
        ("overtaking", "jitter", "4ms"),
        ("ordered", "jitter", "3.8ms"),
        ("reorder", "reorder", "probability=3% delay=3ms"),
        ("framing", "framing", "overhead=40B"),
        ("aggregation", "aggregation", "access=1ms packets=9"),
    ],
)
def test_a_law_refuses_what_other_parameters_give(name: str, key: str, value: str) -> None:
    with pytest.raises(AssertionError):
        impairments.LAWS[name][1](sent({key: value}))


def scenario() -> dict[str, Any]:
    return {
        "name": "x",
        "duration": "10 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 2,
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": "red", "limit": "100 packets"}},
        "traffic": [{"kind": "ftp"}],
    }


FULL = {
    "rate": "10Mbit/s",
    "delay": "12.5ms",
    "framing": "overhead=40B mpu=64B encoding=atm",
    "aggregation": "access=1ms packets=8 time=4ms",
    "loss": "probability=0.01 burst=4 bad=0.5 good=0.001",
    "jitter": 'uniform=["1ms", "5ms"] keep_order=false',
    "reorder": "probability=0.02 delay=5ms",
}


def test_the_printed_line_makes_the_link_again() -> None:
    given = {**FULL, "reverse_loss": "1%", "reverse_jitter": "none", "reverse_rate": "2Mbit/s"}
    plan = links.plan(**given, queue="codel target=8ms", reverse_queue="pie limit=50p", seed=3)
    words = plan.options()
    options = {words[k].removeprefix("--").replace("-", "_"): words[k + 1] for k in range(0, len(words), 2)}
    assert options == {
        **FULL,
        "reverse_rate": "2Mbit/s",
        "reverse_loss": "0.01",
        "reverse_jitter": "none",
        "queue": "codel target=8ms",
        "reverse_queue": "pie limit=50p",
        "seed": "3",
    }
    again = links.plan(**{**options, "seed": int(options["seed"])})
    assert again.scenario.to_json() == plan.scenario.to_json()


def test_one_spelling_holds_in_options_tables_and_scenarios() -> None:
    tables = {
        "framing": {"overhead": "40 B", "mpu": "64 B", "encoding": "atm"},
        "aggregation": {"access": "1 ms", "packets": 8, "time": "4 ms"},
        "loss": {"probability": "1%", "burst": 4, "bad": 0.5, "good": "0.1 %"},
        "jitter": {"uniform": ["1 ms", "5 ms"], "keep_order": False},
        "reorder": {"probability": 0.02, "delay": "5 ms"},
    }
    by_option = links.plan(**FULL).scenario.to_json()
    assert links.plan(rate="10Mbit/s", delay="12.5ms", **tables).scenario.to_json() == by_option
    document = scenario()
    written = {key: value for key, value in FULL.items() if key not in ("rate", "delay")}
    for one in (written, tables):
        document["topology"]["bottleneck"] |= one
        made = json.loads(_core.Scenario.parse(document, []).to_json())["topology"]["bottleneck"]
        assert {key: made[key] for key in tables} == {
            key: json.loads(by_option)["topology"]["bottleneck"][key] for key in tables
        }


def test_the_line_of_a_scenario_makes_its_link(tmp_path: Any) -> None:
    document = scenario()
    document["topology"]["bottleneck"] |= {"loss": {"probability": 0.01, "burst": 3}, "jitter": "2 ms"}
    document["queue"]["bottleneck"] |= {"min_th": 11, "max_p": 0.05}
    plan = links.from_scenario(_core.Scenario.parse(document, []))
    words = plan.options()
    made = links.plan(**{words[k][2:].replace("-", "_"): words[k + 1] for k in range(0, len(words), 2)})
    assert made.options() == words
    there, again = (json.loads(one.scenario.to_json()) for one in (plan, made))
    assert there["queue"]["bottleneck"] == again["queue"]["bottleneck"]
    for key in ("rate", "loss", "jitter"):
        assert there["topology"]["bottleneck"][key] == again["topology"]["bottleneck"][key]
    assert "--reverse-queue" in words
    assert words[words.index("--reverse-queue") + 1] == "droptail limit=1000000p"


@pytest.mark.parametrize(
    "text",
    [
        "parent=tbf rate=8mbit burst=15kB child.aqm=codel child.target=8ms",
        'tbf rate=8mbit burst=15kB \'child={ aqm = "codel", target = "8ms" }\'',
    ],
)
def test_a_queue_may_have_a_parent(text: str) -> None:
    plan = links.plan("20mbit", queue=text)
    queue = json.loads(plan.scenario.to_json())["queue"]["bottleneck"]
    assert (queue["parent"], queue["child"]["aqm"], queue["child"]["target"]) == ("tbf", "codel", 0.008)
    assert plan.ways()[0].aqm == "codel"
    made = links.planning.queue_text(queue, {})
    assert shlex.split(made)[0] == "parent=tbf"
    assert json.loads(links.plan("20mbit", queue=made).scenario.to_json())["queue"]["bottleneck"] == queue


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "much"}, '--loss: does not start with a number\n  given "much"; allowed a number from 0 to 1, or a'),
        ({"loss": "101%"}, "--loss: is out of range"),
        ({"loss": "probability=50% burst=0.5"}, "--loss: burst: is out of range"),
        ({"loss": "probability=60% burst=1"}, "--loss: burst: does not fit\n  given 1; allowed at least 1.5"),
        ({"loss": "probability=60% burst=2 bad=0.5"}, "--loss: probability: does not fit"),
        ({"loss": "probability=1% burst=2 good=2%"}, "--loss: good: does not fit"),
        ({"loss": "probability=1% bad=0.5"}, "--loss: bad: belongs to losses in bursts\n  allowed beside burst"),
        ({"loss": "every=10 burst=4"}, "--loss: burst: is of no use where"),
        ({"loss": "burst=4"}, "--loss: probability: is missing"),
        ({"loss": "probability=1% brst=4"}, '--loss: brst: unknown key; did you mean "burst"?'),
        ({"reverse_loss": "2"}, "--reverse-loss: is out of range"),
        ({"jitter": "5"}, "--jitter: has no unit"),
        ({"jitter": "5ms keep_order=false"}, '--jitter: has a word that is no setting\n  given "5ms" in'),
        (
            {"reorder": "1%"},
            '--reorder: has no setting\n  given "1%"; allowed KEY=VALUE, with the keys probability, delay',
        ),
        ({"aggregation": "access=1ms"}, "--aggregation: has no limit"),
        ({"framing": "overhead=40B overhead=2B"}, '--framing: "overhead" is given twice'),
        ({"rate": "trace=no/such.trace"}, "--rate: trace: no such file"),
        ({"rate": "trace=x schedule=[]"}, "--rate: trace: is given beside a schedule"),
        ({"queue": "parent=codel child.aqm=red"}, '--queue: given "parent=codel"; allowed "tbf"'),
        ({"queue": "parent=tbf rate=1mbit"}, "--queue: child: is missing"),
        ({"queue": "parent=tbf rate=1mbit child.aqm=codel child.target=0s"}, "--queue: child.target: is out of range"),
    ],
)
def test_wrong_options_say_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(links.OptionError) as caught:
        links.plan(**{"rate": "10 Mbit/s", **options})
    assert str(caught.value).startswith(message)


def recorded(folder: Path, queue: str = "droptail limit=20p") -> Path:
    """A log of a simulated link in place of a real one, with the files beside it."""
    plan = links.plan("8 Mbit/s", "5 ms", queue=queue, seed=3)
    count = 2000
    columns = {
        "time_s": 0.1 + np.arange(count) * 9e-4,
        "flow": np.arange(count) % 2,
        "size": np.full(count, 1000),
        **{name: np.zeros(count) for name in ("ecn", "class")},
        **{name: np.full(count, 64) for name in ("ttl", "initial_ttl")},
    }
    kinds = links.records.COLUMNS
    given = {name: values.astype(kinds[name]) for name, values in columns.items()}
    packed = {name: one.tobytes() for name, one in given.items()}
    made = _core.replay_link(plan.scenario, "bottleneck", 3, False, 60.0, packed)
    found = {name: np.frombuffer(made[name], dtype=kinds[name]) for name in links.records.SETTLED}
    none = {name: np.array([], dtype=kind) for name, kind in kinds.items()}
    links.write_log(folder / "log.parquet", {"bottleneck": given | found, "reverse": none})
    ways = zip(("bottleneck", "reverse"), ("sent", "received"), strict=True)
    queues = {name: {"propagation_ms": 5.0, "carried": carried} for name, carried in ways}
    result = {"kind": "link", "seed": 3, "queues": queues, "changes": []}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    (folder / "scenario.json").write_text(plan.scenario.to_json(), encoding="utf-8")
    return folder


def test_a_log_is_replayed_at_other_queues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(tmp_path)
    assert main(["replay", str(folder), "--queue", "droptail limit=20p", "droptail limit=10p", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["open_loop"] is True
    first, same, short = told["queues"]
    assert (first["queue"], same["queue"]) == ("droptail (recorded)", "droptail limit=20p")
    assert {**same, "queue": ""} == {**first, "queue": ""}, "what is recorded is repeated"
    # 10 packets in 9 ms of which 9 leave: a tenth is dropped, and packets wait for some 20 others.
    assert first["drop_rate"] == pytest.approx(0.09, abs=0.01)
    assert first["delay_mean_ms"] == pytest.approx(19, abs=2)
    assert short["delay_mean_ms"] == pytest.approx(9.5, abs=1)
    assert short["arrivals"] == 2000
    assert main(["replay", str(folder / "log.parquet")]) == 0
    assert "Open loop: packets arrive as they did" in capsys.readouterr().out
    (folder / "result.json").write_text(json.dumps({"kind": "link", "seed": 3, "queues": {}, "changes": 7}))
    for place, queue, message in (
        (tmp_path / "none", "pie", "No such file or directory"),
        (recorded(tmp_path), "redd", '--queue: there is no "redd"'),
        (recorded(tmp_path), "red max_p=2", "--queue: max_p: is out of range"),
    ):
        assert main(["replay", str(place), "--queue", queue]) == 2
        assert message in capsys.readouterr().err
    for damage in ({"kind": "run"}, {"kind": "link", "queues": {"bottleneck": 1}}, {"kind": "link"}):
        (folder / "result.json").write_text(json.dumps(damage), encoding="utf-8")
        assert main(["replay", str(folder)]) == 2
        assert str(folder) in capsys.readouterr().err
    recorded(tmp_path)
    (folder / "log.parquet").write_bytes(b"PAR1 no table")
    assert main(["replay", str(folder)]) == 2
    assert "log.parquet" in capsys.readouterr().err


def test_run_takes_the_json_that_results_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(_core.Scenario.parse(scenario(), []).to_json(), encoding="utf-8")
    assert main(["run", str(file), "--json", "--out", str(tmp_path / "out")]) == 0
    again = json.loads(capsys.readouterr().out)
    direct = json.loads(_core.Scenario.parse(scenario(), []).run())
    assert again["queues"] == direct["queues"]
    assert again["flows"] == direct["flows"]
    assert (tmp_path / "out/inputs/scenario.json").is_file()
    for text, message in (("{", "line 1 column 1: is no JSON"), ("[1]", "is no table"), ('{"name": 1}', "name: ")):
        file.write_text(text, encoding="utf-8")
        assert main(["run", str(file)]) == 2
        assert message in capsys.readouterr().err


def test_the_command_has_an_option_for_each_key() -> None:
    from earlydrop.cli.commands import app

    names = {name for one in app["link"].assemble_argument_collection() for name in one.names}
    for key in ("rate", "delay", *_core.link_effects(), "queue"):
        assert {f"--{key}", f"--reverse-{key}"} <= names
    names = {name for one in app["crosscheck"].assemble_argument_collection() for name in one.names}
    assert {f"--{key}" for key in _core.link_effects()} <= names
