"""Search for parameters: what is searched, what counts as better, that the luck of the search does not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell

from earlydrop import cli, store, sweeps, tune

pytest.importorskip("optuna")

SCENARIO = f"""\
name = "red"
duration = "8 s"
warmup = "2 s"
{dumbbell("red", 60, pairs=10)}
min_th = MIN
max_th = 45
[[traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "0.5 s"] }}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "red.toml"
    path.write_text(SCENARIO.replace("MIN", "30"), encoding="utf-8")
    return path


def runs(asked: tune.Problem, place: Path) -> tune.Runs:
    return tune.Runs(asked, store.open_store(place), lambda base: sweeps.Threads(base, 2))


def test_every_number_is_searched_about_what_it_is(file: Path) -> None:
    asked = tune.problem(file, "red", ["delay", "goodput"])
    found = {p.name: (p.low, p.high) for p in asked.parameters}
    assert found == {
        "min_th": (30 / 8, 240),
        "max_th": (1.2, 6.0),
        "max_p": pytest.approx((0.02 / 8, 0.16)),
        "w_q": pytest.approx((0.002 / 8, 0.016)),
    }
    assert asked.parameters[1].of == "min_th"
    assert [(o.measure.id, o.larger) for o in asked.objectives] == [("queue_delay", False), ("goodput", True)]
    other = tune.problem(file, "codel", ["fairness"], ["target=1ms..100ms"])
    assert other.base["queue"]["bottleneck"] == {"aqm": "codel", "limit": "60 packets"}
    assert other.parameters == (tune.Parameter("target", 0.001, 0.1, True, False, "{} s"),)
    assert other.sets({"target": 0.02}) == {"queue.bottleneck.target": "0.02 s"}
    assert other.refusal({"target": 0.02}) is None


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--aqm", "rde"], 'there is no "rde"'),
        (["--aqm", "red", "--objective", "speed"], "--objective speed: allowed are"),
        (["--aqm", "red", "--objective", "delay", "queue_delay"], "is there twice"),
        (["--aqm", "red", "--param", "max_q=1..2"], "red has no parameter max_q"),
        (["--aqm", "red", "--param", "max_p=0.5"], "allowed NAME=LOW..HIGH"),
        (["--aqm", "red", "--param", "max_p=0.1..7"], "is out of range; allowed (0, 1]"),
        (["--aqm", "codel", "--param", "target=5..50"], 'has no unit; did you mean "50 ms"?; allowed NAME=LOW..HIGH'),
        (["--aqm", "codel", "--param", "target=1Mbit/s..2Mbit/s"], "with a unit, LOW below HIGH, as target=1ms..100ms"),
        (["--aqm", "red", "--confirm", "1"], "--confirm: given 1"),
        (["--aqm", "droptail"], "has no parameter with a number"),
    ],
)
def test_wrong_questions_are_refused(
    file: Path, options: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["tune", str(file), *options]) == cli.WRONG_INPUT
    assert what in capsys.readouterr().err


def test_a_better_choice_is_found_and_confirmed(tmp_path: Path, file: Path) -> None:
    # Thresholds of 30 and 45 packets at 2 Mbit/s: half the delay costs nothing.
    asked = tune.problem(file, "red", ["delay"])
    made = runs(asked, tmp_path / "s")
    found = tune.tune(asked, made, trials=20, seeds=2, confirm=6)
    made.close()
    assert found.success
    assert found.best is not None
    (difference,) = found.differences
    assert difference.estimate.n == 6
    assert difference.estimate.upper is not None
    assert difference.estimate.upper < 0
    assert "It is better in all of them" in tune.found_text(found)
    # The fresh seeds are others than those of the search.
    seeds = set(store.open_store(tmp_path / "s").table()["seed"])
    assert {1, 2, tune.SECOND_SEEDS, tune.FRESH_SEEDS, tune.FRESH_SEEDS + 5} <= seeds


def test_the_same_search_gives_the_same_and_runs_nothing_again(tmp_path: Path, file: Path) -> None:
    asked = tune.problem(file, "red", ["delay", "goodput"], ["max_p=0.01..0.5"])
    first = runs(asked, tmp_path / "s")
    one = tune.tune(asked, first, trials=12, seeds=2, confirm=4)
    first.close()
    size = len(store.open_store(tmp_path / "s").table())
    again = runs(asked, tmp_path / "s")
    two = tune.tune(asked, again, trials=12, seeds=2, confirm=4)
    again.close()
    assert one.document("0") == two.document("0")
    assert len(store.open_store(tmp_path / "s").table()) == size
    assert all(0.01 <= t.values["max_p"] <= 0.5 for t in one.trials)


def test_what_cannot_be_better_is_not_called_so(tmp_path: Path, file: Path) -> None:
    # More goodput than the link carries with a saturated queue is not to be had by max_p: least delay and most delay.
    asked = tune.problem(file, "red", ["queue_delay", "queue:max"], ["max_p=0.005..0.9"])
    made = runs(asked, tmp_path / "s")
    found = tune.tune(asked, made, trials=8, seeds=2, confirm=4)
    made.close()
    assert not found.success
    assert "None was found that is better in all objectives" in tune.found_text(found)
    assert found.document("0")["better"] is False


@pytest.mark.parametrize(("method", "size"), [("morris", 4), ("sobol", 8)])
def test_what_matters_is_told_from_what_does_not(tmp_path: Path, file: Path, method: Any, size: int) -> None:
    pytest.importorskip("SALib")
    # `mark_p` does nothing without ECN.
    asked = tune.problem(file, "red", ["delay"], ["min_th=2..20", "mark_p=0.01..1"])
    made = runs(asked, tmp_path / "s")
    effects, count = tune.sensitivity(asked, made, method, size, seeds=1)
    made.close()
    assert count == size * (3 if method == "morris" else 4)
    by_name = {e.parameter: e for e in effects}
    assert by_name["mark_p"].total == pytest.approx(0, abs=1e-9)
    assert by_name["min_th"].total > (1.0 if method == "morris" else 0.5)
    assert "min_th" in tune.effects_text(effects, method, count).splitlines()[4]


def test_the_command(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--aqm", "red", "--trials", "4", "--seeds", "1", "--confirm", "3", "--store", str(tmp_path / "s")]
    assert cli.main(["tune", str(file), *options, "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert len(found["trials"]) + found["refused"] == 4
    assert found["fresh_seeds"] == 3
    assert set(found["differences"]) == {"queue_delay", "goodput"}
