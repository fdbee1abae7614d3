"""The learning environment: Gymnasium's own check, determinism, ends of episodes, units; and the page about it."""

from __future__ import annotations

import builtins
import importlib
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from test_docs import fences

import earlydrop as ed
import earlydrop.gym

ROOT = Path(__file__).resolve().parents[2]


def network(queue: Any = None) -> ed.Network:
    net = ed.dumbbell(
        pairs=5,
        access=ed.link("20 Mbit/s", "5 ms"),
        bottleneck=ed.link("4 Mbit/s", "10 ms"),
        queue=queue or ed.aqm.DropTail(limit="60 packets"),
    )
    return net.ftp(5, tcp="newreno", start=ed.uniform("0 s", "0.5 s"))


def play(env: Any, actions: Any, **how: Any) -> list[tuple[Any, ...]]:
    """An episode; `actions` is one number or a function of the step."""
    rows: list[tuple[Any, ...]] = [env.reset(**how)]
    over = False
    while not over:
        action = actions(len(rows)) if callable(actions) else actions
        rows.append(env.step(np.array([action], np.float32)))
        over = rows[-1][3]
    return rows


def test_gymnasium_finds_nothing_to_complain_of() -> None:
    env = gymnasium.make("earlydrop/Aqm-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_an_episode_is_truncated_at_the_end_of_the_scenario() -> None:
    env = ed.gym.AqmEnv(network(), duration="3 s", interval="70 ms")
    rows = play(env, 0.01, seed=1)
    # 42 whole intervals and one of 60 ms.
    assert len(rows) == 1 + 43
    assert [row[2:4] for row in rows[1:]] == [(False, False)] * 42 + [(False, True)]
    assert rows[-1][4]["time_s"] == 3.0
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step([0.1])
    assert env.result().document["duration_s"] == 3.0
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.step([0.1])
    with pytest.raises(RuntimeError, match=r"call reset\(\)"):
        env.result()


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    env, other = (ed.gym.AqmEnv(network(), duration="3 s") for _ in range(2))
    one, two = (play(e, lambda step: 0.001 * (step % 50), seed=5) for e in (env, other))
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a[0], b[0])
        assert a[1:] == b[1:]
    assert env.result().document["changes"] == other.result().document["changes"]
    # Without a seed the generator goes on; with one it starts again.
    seeds = [env.reset(**how)[1]["scenario_seed"] for how in ({"seed": 5}, {}, {}, {"seed": 5})]
    assert len(set(seeds)) == 3
    assert seeds[0] == seeds[3] == one[0][1]["scenario_seed"]
    assert env.reset(options={"scenario_seed": 7})[1] == {"scenario_seed": 7}


def test_an_agent_that_never_drops_is_droptail() -> None:
    scenario = network().scenario(duration="5 s", warmup="2.005 s", seed=9)
    env = ed.gym.AqmEnv(scenario)
    rows = [row[4] for row in play(env, 0.0, options={"scenario_seed": 9})[1:]]
    others = [vars(one) for one in ed.gym.intervals(scenario, seed=9)]
    for row, other in zip(rows, others, strict=True):
        assert {k: v for k, v in row.items() if k != "probability"} == {
            k: v for k, v in other.items() if k != "probability"
        }
    # Counts go on where the measured window starts, within an interval.
    whole = ed.Simulation(network(), duration="5 s", seed=9)
    whole.run_until(5)
    counts = whole.queue("bottleneck").counters
    assert sum(row["arrivals"] for row in rows) == counts["arrivals"]
    assert sum(row["drops"] for row in rows) == counts["overflow_drops"] > 0
    departed = sum(row["departure_bps"] * 0.015 for row in rows[:-1]) / 8
    assert departed == pytest.approx(counts["departed_bytes"], rel=0.01)
    result, queue = env.result().document, scenario.run().document["queues"]["bottleneck"]
    assert {**result["queues"]["bottleneck"], "aqm": "droptail"} == queue


def test_observations_are_the_interval_in_parts() -> None:
    env = ed.gym.AqmEnv(network(ed.aqm.Red(limit="60 kB", min_th=5, max_th=20)), duration="4 s", target="5 ms")
    before = 0.0
    for observation, reward, _, _, info in play(env, 0.02, seed=3)[1:]:
        seen = dict(zip(ed.gym.OBSERVATIONS, observation.tolist(), strict=True))
        delay = info["bytes"] * 8 / 4e6
        assert info["delay_s"] == delay
        assert seen["queue"] == pytest.approx(info["bytes"] / 60_000)
        assert seen["delay"] == pytest.approx(min(delay / 0.005, 10))
        assert seen["delay_change"] == pytest.approx(max(min((delay - before) / 0.005, 10), -10), abs=1e-6)
        assert seen["arrivals"] == pytest.approx(info["arrival_bps"] / 4e6)
        assert seen["departures"] == pytest.approx(info["departure_bps"] / 4e6) == pytest.approx(info["utilisation"])
        assert seen["signals"] == pytest.approx(info["drops"] / max(info["arrivals"], 1))
        assert seen["probability"] == pytest.approx(0.02) == pytest.approx(info["probability"])
        assert reward == pytest.approx(info["utilisation"] - 0.1 * max(0, delay / 0.005 - 1))
        before = delay


def test_marks_and_another_reward() -> None:
    net = network(ed.aqm.DropTail(limit="60 packets", ecn=True))
    net.traffic[0]["ecn"] = True
    env = ed.gym.AqmEnv(net, duration="3 s", reward=lambda one: -one.packets)
    rows = play(env, 0.05, seed=1)[1:]
    assert sum(row[4]["marks"] for row in rows) > 5
    assert all(row[1] == -row[4]["packets"] for row in rows)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ed.ScenarioError, match='there is no such queue\n  given "up"; allowed "bottleneck"'):
        ed.gym.AqmEnv(network(), duration="3 s", queue="up")
    env = ed.gym.AqmEnv(network(), duration="3 s")
    env.reset(seed=1)
    for action in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="a probability is from 0 to 1"):
            env.step([action])


def test_without_gymnasium_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "gymnasium":
            raise ImportError("No module named 'gymnasium'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.delitem(sys.modules, "earlydrop.gym")
    with pytest.raises(ImportError, match=r"pip install 'earlydrop\[gym\]'"):
        importlib.import_module("earlydrop.gym")


def test_the_page_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one generation and two seeds instead of twelve and twenty."""
    import matplotlib

    matplotlib.use("agg")
    monkeypatch.setenv("GENERATIONS", "1")
    monkeypatch.setenv("SEEDS", "2")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for kind, block in fences((ROOT / "docs/learning.md").read_text(encoding="utf-8")):
        assert kind == "python"
        exec(block, names)
    assert (tmp_path / "learning.png").is_file()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 15
    assert lines[0].startswith("as in training  agent")
