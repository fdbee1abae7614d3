"""Simulations in steps, from Python: the same result as a whole run, what is read, what is set, what is refused."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from test_docs import fences

import earlydrop as ed

ROOT = Path(__file__).resolve().parents[2]


def network(queue: Any = None) -> ed.Network:
    net = ed.dumbbell(
        pairs=10,
        access=ed.link("20 Mbit/s", "5 ms"),
        bottleneck=ed.link("4 Mbit/s", "10 ms"),
        queue=queue or ed.aqm.Red(limit="60 packets", min_th=5, max_th=30),
    )
    return net.ftp(10, start=ed.uniform("0 s", "1 s"))


def without_cost(result: ed.Result) -> dict[str, Any]:
    return {key: value for key, value in result.document.items() if key != "cost"}


def test_steps_give_the_result_of_a_whole_run(tmp_path: Path) -> None:
    net = network()
    whole = net.run(duration="20 s", warmup="5 s", seed=4)
    net.save(tmp_path / "net.toml", duration="20 s", warmup="5 s", seed=4)
    scenario = ed.load(tmp_path / "net.toml")
    for sim in (
        ed.Simulation(net, duration="20 s", warmup="5 s", seed=4),
        ed.Simulation(scenario),
        ed.Simulation(scenario.document),
        ed.Simulation(tmp_path / "net.toml", seed=4),
    ):
        assert (sim.seed, sim.duration, sim.now, sim.queues) == (4, 20.0, 0.0, ["bottleneck"])
        sim.run_until("3 s")
        for _ in range(100):
            sim.step(0.0437)
            state = sim.queue("bottleneck")
            assert state.delay_s == state.bytes * 8 / 4e6
        assert sim.now == pytest.approx(3 + 4.37)
        assert without_cost(sim.finish()) == without_cost(whole)


def test_what_is_read_fits_together() -> None:
    sim = ed.Simulation(network(), duration="20 s", seed=1)
    sim.step("10 s")
    state, counts = sim.queue("bottleneck"), sim.queue("bottleneck").counters
    assert counts["arrivals"] == counts["departures"] + state.drops + state.packets > 1000
    assert state.gauges["avg"] == state.average
    assert 0 < state.mean_packets < 60
    assert 0 < state.mean_delay_s < 1
    assert sim.flow(1).cwnd >= 1
    assert sim.flow(10).in_order <= sim.flow(10).received
    sim.step("1 h")
    assert sim.now == 20.0
    assert repr(sim) == "<Simulation dumbbell seed 1: 20 s of 20 s>"


def test_a_parameter_is_set_and_the_result_says_so() -> None:
    sim = ed.Simulation(network(ed.aqm.Pie(limit="60 packets")), duration="20 s", seed=1)
    sim.run_until(8)
    before = sim.queue("bottleneck")
    sim.set("bottleneck", "qdelay_ref", "60 ms")
    assert sim.queue("bottleneck") == before
    result = sim.finish()
    assert result.document["changes"] == [
        {"time_s": 8.0, "queue": "bottleneck", "parameter": "qdelay_ref", "value": 0.06}
    ]
    whole = network(ed.aqm.Pie(limit="60 packets")).run(duration="20 s", seed=1)
    longer = result.document["queues"]["bottleneck"]["delay_mean_ms"]
    assert longer > 1.3 * whole.document["queues"]["bottleneck"]["delay_mean_ms"]


def test_a_parameter_of_an_own_discipline_is_set_and_its_state_stays() -> None:
    @ed.policy
    class Above:
        most: int = ed.param(50, range=(0, None), doc="Longest queue.")
        seen: int = 0
        last: Any = ed.array(2)

        def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> Any:
            self.seen += 1
            self.last[self.seen % 2] = queue.packets
            return ed.Verdict.drop() if queue.packets > self.most else ed.Verdict.PASS

    sim = ed.Simulation(network(Above(limit="60 packets")), duration="20 s", seed=1)
    sim.run_until("10 s")
    before = sim.queue("bottleneck")
    sim.set("bottleneck", "most", 5)
    assert sim.queue("bottleneck").gauges == before.gauges
    sim.step("2 s")
    after = sim.queue("bottleneck")
    assert after.packets <= 6
    assert after.gauges["seen"] == after.counters["arrivals"]


def test_what_cannot_be_done_is_refused_in_words() -> None:
    sim = ed.Simulation(network(), duration="20 s")
    sim.run_until("5 s")
    for wrong, said in [
        (lambda: sim.run_until("4 s"), "time = 4 s: the simulation is at 5 s already"),
        (lambda: sim.run_until(float("nan")), "time = nan: a time is a number of seconds from 0"),
        (lambda: sim.step("3 packets"), "interval = 3 packets"),
        (lambda: sim.step(-1), "interval = -1: a time is a number of seconds from 0"),
        (lambda: sim.flow(0), "flow 0: the flows are 1 to 10"),
        (lambda: sim.flow(11), "flow 11: the flows are 1 to 10"),
    ]:
        with pytest.raises(ValueError, match=re.escape(said)):
            wrong()
    with pytest.raises(ed.ScenarioError, match='queue: there is no such queue\n  given "up"; allowed "bottleneck"'):
        sim.queue("up")
    with pytest.raises(ed.ScenarioError, match=r"queue\.bottleneck\.max_p: is out of range") as caught:
        sim.set("bottleneck", "max_p", 2)
    assert caught.value.path == "queue.bottleneck.max_p"
    with pytest.raises(ed.ScenarioError, match="red cannot change it while it runs"):
        sim.set("bottleneck", "dialect", "linux")
    with pytest.raises(TypeError, match="duration: for a network only"):
        ed.Simulation(network().scenario(duration="1 s"), duration="2 s")
    assert sim.now == 5
    sim.finish()
    with pytest.raises(RuntimeError, match="the simulation has finished"):
        sim.step(1)
    assert repr(sim).endswith("over>")


def test_a_discipline_that_breaks_ends_the_simulation() -> None:
    @ed.policy
    class Breaks:
        seen: int = 0

        def on_enqueue(self, packet: Any, queue: Any, cx: Any) -> Any:
            self.seen += 1
            if self.seen > 1000:
                raise ValueError("enough")
            return ed.Verdict.PASS

    sim = ed.Simulation(network(Breaks(limit="60 packets")), duration="20 s")
    with pytest.raises(RuntimeError, match=r"Breaks\.on_enqueue, line .*ValueError: enough"):
        sim.run_until("20 s")
    with pytest.raises(RuntimeError, match="has failed"):
        sim.queue("bottleneck")


def test_simulations_run_beside_each_other() -> None:
    found: dict[int, dict[str, Any]] = {}

    def run(seed: int) -> None:
        sim = ed.Simulation(network(), duration="10 s", seed=seed)
        for second in range(1, 10):
            sim.run_until(second)
        found[seed] = without_cost(sim.finish())

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(1, 5):
        assert found[seed] == without_cost(network().run(duration="10 s", seed=seed))


def test_the_section_of_the_page_runs() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    section = text.split("\n## In steps\n")[1].split("\n## ")[0]
    names: dict[str, Any] = {"ed": ed}
    for kind, block in fences(section):
        assert kind == "python"
        exec(block, names)
    assert names["result"].document["changes"][0]["parameter"] == "max_p"
