"""Networks beyond the dumbbell: builders, pictures, what a run of them tells."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import _core, cli, links
from earlydrop.analysis import round_trips
from earlydrop.document import effects
from earlydrop.render import network_plot

RED = ed.aqm.Red(limit="40 packets", min_th=5, max_th=15)
FAST, SLOW = ed.link("100 Mbit/s", "2 ms"), ed.link("4 Mbit/s", "5 ms")

NETWORKS = {
    "dumbbell": ed.dumbbell(pairs=30, access=FAST, bottleneck=SLOW, queue=RED, reverse_queue=RED),
    "parking_lot": ed.parking_lot(bottlenecks=2, access=FAST, bottleneck=SLOW, queue=RED),
    "star": ed.star(hosts=5, access=SLOW, queue=RED),
    "sfred": ed.sfred(pairs=4, queue=RED),
    "nlred": ed.nlred(pairs=4, queue=RED),
    "bus": ed.bus(routers=4, queue=RED),
    "flower": ed.flower(queue=RED),
    "two_flow": ed.two_flow(queue=RED, first=ed.link("10 Mbit/s", "20 ms")),
    "random": ed.random_network(routers=120, queue=RED, graph_seed=3),
    "graph": ed.graph(
        [
            ed.join("a", "r1", FAST),
            ed.join("r1", "r2", ed.link(ed.schedule(("0 s", "4 Mbit/s"), ("1 s", "1 Mbit/s")), "1 ms"), queue="core"),
            ed.join("r2", "r3", ed.link(ed.trace([1, 2, 2, 5]), "1 ms", loss=0.02), reverse=False),
            ed.join("r3", "b", ed.link("5 Mbit/s", "1 ms", jitter="1 ms"), reverse_queue="core"),
            ed.join("b", "r1", FAST),
        ],
        queues={"core": RED},
        pairs=[("a", "r3")],
    ),
}


def test_a_key_of_links_is_declared_by_the_engine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that only the engine knows reaches the checker from everywhere, and its delay is none of the path's."""
    declared = [row["key"] for row in json.loads(_core.reference())["links"]]
    assert _core.link_effects() == [key for key in declared if key not in ("rate", "delay", "link_layer")]
    detour = {"delay": "5 ms"}
    with monkeypatch.context() as patch:
        patch.setattr(_core, "link_effects", lambda: ["detour"])
        link = ed.link("1 Mbit/s", "1 ms", detour=detour)
        assert link["detour"] == effects(link)["detour"] == detour
        scaled = round_trips._scaled({"bottleneck": {"rate": "1 bit/s", "delay": "1 s", "detour": detour}}, 2.0)
        assert scaled["bottleneck"] == {"rate": "1 bit/s", "delay": "2 s", "detour": detour}
        with pytest.raises(links.OptionError, match="--detour: unknown key"):
            links.plan("1 Mbit/s", "1 ms", detour=detour)
    for key in _core.link_effects():
        assert key in ed.link("1 Mbit/s", "1 ms", **{key: 0.5})


def scenario(name: str) -> ed.Scenario:
    network = NETWORKS[name]
    network.traffic.clear()
    network.ftp(3, start=ed.uniform("0 s", "0.5 s"))
    return network.scenario(duration="3 s")


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_runs_and_says_how_it_is_built(name: str) -> None:
    built = scenario(name)
    network = built.network()
    assert len(network["node"]) > 3
    result = built.run().document
    assert set(result["queues"]) == set(network["queue"].values())
    assert sum(flow["goodput_mbps"] for flow in result["flows"]) > 0
    # The completed document is the same scenario.
    assert ed.parse(built.document).run().document["flows"] == result["flows"]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_has_a_picture(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.png"
    scenario(name).picture().savefig(path)
    assert path.stat().st_size > 5_000


def test_names_in_a_picture_are_those_of_the_network() -> None:
    drawing = scenario("two_flow").picture()
    words = {text.get_text() for text in drawing.axes[0].texts}
    assert {"s1", "s2", "r1", "r2", "d"} <= words
    assert "10 Mbit/s, 1 ms" in words


def test_many_hosts_are_thinned_out_in_a_picture() -> None:
    network = scenario("dumbbell").network()
    nodes, links, left_out = network_plot._thinned(network)
    assert len(left_out) == 2 * (30 - network_plot.SHOWN + 1)
    assert len(nodes) == len(network["node"]) - len(left_out)
    assert len(links) == len(network["link"]) - len(left_out)


def test_queues_of_one_network_may_differ() -> None:
    tail = ed.aqm.DropTail(limit="20 packets")
    net = ed.parking_lot(access=FAST, bottleneck=SLOW, queue={"bottleneck1": RED, "bottleneck2": tail})
    net.ftp(2).ftp(1, from_="d*", to="s*")
    result = net.run(duration="2 s").document
    assert {name: queue["aqm"] for name, queue in result["queues"].items()} == {
        "bottleneck1": "red",
        "bottleneck2": "droptail",
    }


def test_losses_are_counted_by_distance() -> None:
    net = ed.bus(routers=5, queue=ed.aqm.DropTail(limit="4 packets"))
    net.ftp(20, start=ed.uniform("0 s", "0.5 s"))
    result = net.run(duration="5 s").document
    losses = result["losses"]
    drops = sum(queue["overflow_drops"] for queue in result["queues"].values())
    assert sum(losses["by_distance"]) == drops > 0
    assert losses["by_distance"][0] == 0, "a host's own link has no queue"
    assert losses["weighted"] == sum(d * n for d, n in enumerate(losses["by_distance"]))


def test_a_short_time_to_live_stops_what_goes_far() -> None:
    net = ed.bus(routers=5, queue=RED)
    net.ftp(1, from_="h1", to="h2", ttl=4).ftp(1, from_="h1", to="h5", ttl=4)
    near, far = net.run(duration="5 s").document["flows"]
    assert (near["expired"], near["goodput_mbps"] > 1) == (0, True)
    assert far["expired"] > 0
    assert far["goodput_mbps"] == 0


def test_the_command_line_draws_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bus.toml"
    net = ed.bus(routers=3, queue=RED)
    net.ftp(1)
    net.save(file, duration="1 s")
    assert cli.main(["show", str(file), "--picture", str(tmp_path / "bus.svg")]) == 0
    assert (tmp_path / "bus.svg").read_text(encoding="utf-8").startswith("<?xml")
    text = capsys.readouterr().out
    assert "3 hosts, 3 routers" in text
    assert "10 Mbit/s  5 ms   r1>r2" in text
    assert cli.main(["show", str(file), "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert shown["queue"]["r1>r2"] == "r1>r2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "red", "--picture", "x.png"], "belongs to a scenario"),
        (["show", "x.toml", "--picture", "x.gif"], "allowed .png, .pdf, .svg"),
        (["show", "x.toml", "--plot", "x.png"], "a network's picture is --picture"),
        (["show", "x.toml"], "no such file"),
    ],
)
def test_wrong_uses_are_explained(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_thousand_routers_carry_ten_thousand_flows() -> None:
    network = {"kind": "random", "routers": 1000, "core": {"rate": "10 Mbit/s", "delay": "5 ms"}}
    network |= {"access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    queue = {"aqm": "red", "dialect": "ns2", "limit": "60 packets", "min_th": 10, "max_th": 30, "max_p": 0.1}
    traffic = {"kind": "ftp", "count": 10_000, "tcp": "reno", "start": {"uniform": ["0 s", "0.2 s"]}}
    document = {"name": "many", "duration": "0.5 s", "topology": network, "queue": {"routers": queue}}
    found = json.loads(_core.Scenario.parse(document | {"traffic": [traffic]}, []).run(seed=1))
    queues = list(found["queues"].values())
    assert len(found["flows"]) == 10_000
    assert len(queues) > 4000
    assert sum(q["early_drops"] for q in queues) > 0
    for q in queues:
        gone = q["departures"] + q["early_drops"] + q["forced_drops"] + q["overflow_drops"]
        assert q["queued_at_start"] + q["arrivals"] == gone + q["queued_at_end"]
    # Nearly every flow has got something over its six links or so, and none more than its own link carries.
    assert sum(f["goodput_mbps"] > 0 for f in found["flows"]) > 9_000
    assert max(f["goodput_mbps"] for f in found["flows"]) < 10


def test_a_network_as_text_has_alike_hosts_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "first.toml"
    file.write_text(_core.template("first"), encoding="utf-8")
    assert cli.main(["show", str(file)]) == cli.DONE
    head, *table = capsys.readouterr().out.splitlines()
    assert head == "first: 20 hosts, 2 routers, 42 links in one direction, 2 queues"
    rows = [line.split("  ") for line in table[3:]]
    assert [row[0] for row in rows] == ["r1 > r2", "r2 > r1", "s1..s10 <> r1", "r2 <> d1..d10"]
    assert "bottleneck" in table[3]
    assert "10.73 ms to 43.22 ms" in table[5]
    assert " 1 ms" in table[6]


def test_other_threads_continue_while_a_large_network_is_written() -> None:
    network = ed.dumbbell(pairs=20_000, access=FAST, bottleneck=SLOW, queue=RED)
    network.ftp(1)
    checked = network.scenario(duration="1 s")._core
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    # By itself Python gives no other thread a turn now: one that runs during the call has been let in by it.
    sys.setswitchinterval(1000)
    thread.start()
    try:
        # A busy machine may leave the other thread no time during one call.
        for _ in range(50):
            begin = time.monotonic()
            text = checked.network()
            end = time.monotonic()
            if any(begin < moment < end for moment in ticks):
                break
        else:
            pytest.fail("no other thread has run meanwhile")
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
    found = json.loads(text)
    assert list(found) == ["node", "link", "queue"]
    assert (len(found["node"]), len(found["link"])) == (40_002, 40_001)
