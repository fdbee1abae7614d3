"""Is a window long enough for what it averages? Series whose answer is known, runs, and what is said of them."""

from __future__ import annotations

import functools
import json
import random
from typing import Any

import numpy as np
import pytest

import window_coverage as coverage
from earlydrop import _core, cli, sweeps
from earlydrop.analysis import overflows, paired, quantity, round_trips, silent, window, words
from earlydrop.analysis.window import Reason, Recording, Track, Window
from earlydrop.render import result_text
from earlydrop.render.run_text import run_text
from earlydrop.toml_writer import to_toml


@pytest.mark.parametrize("seeds", [5, 10])
@pytest.mark.parametrize("kind", coverage.MOVING)
def test_a_window_in_which_something_moves_is_warned_of(kind: str, seeds: int) -> None:
    assert coverage.warned(kind, seeds, 20) >= 0.9
    if kind.startswith("sine"):
        assert coverage.warned(kind, seeds, 20, in_step=True) >= 0.9


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("kind", coverage.STEADY)
def test_a_steady_window_is_not(kind: str, seeds: int) -> None:
    assert coverage.warned(kind, seeds, 40) <= 0.05


@pytest.mark.parametrize("seeds", [1, 2])
def test_one_run_or_two_show_what_is_plain(seeds: int) -> None:
    assert all(coverage.warned(kind, seeds, 20) >= 0.9 for kind in coverage.MOVING)
    assert all(coverage.warned(kind, seeds, 20) <= 0.15 for kind in coverage.STEADY)


def recorded(values: list[Any], warmup_s: float = 15.0, name: str = "the queue") -> list[Recording]:
    """Runs of 60 s with this quantity."""
    return [
        Recording(k, warmup_s, 60.0, 0.0, (Track(name, 60 / len(one), np.asarray(one, float), 1.0),))
        for k, one in enumerate(values)
    ]


def test_what_is_recommended_is_beyond_what_moves() -> None:
    draw = np.random.default_rng(1)
    # It is steady from 25 s.
    times = np.arange(2000) * 0.03
    late = [np.where(times < 25, 10, 50) + draw.standard_normal(2000) for _ in range(5)]
    found = window.judge(recorded(late))
    assert found is not None
    assert found.short
    assert found.needed_s == pytest.approx(25, abs=1)
    assert found.needed_duration_s is not None
    assert found.needed_duration_s - found.needed_s >= 45, "the window does not shrink"
    # The end of growth is not in sight.
    growth = window.judge(recorded([10 + times + draw.standard_normal(2000) for _ in range(5)]))
    assert growth is not None
    assert growth.needed_s == 60
    assert growth.needed_duration_s == pytest.approx(60 + window.LONGER * 45, rel=0.1)
    assert "try warmup = " in growth.sentence("RED")


def test_seeds_that_are_one_run_are_one() -> None:
    draw = np.random.default_rng(2)
    one = 50 + draw.standard_normal(2000)
    several = window.judge(recorded([one] * 5))
    assert several is not None
    assert not several.short, "five times the same deviation is no evidence"


def test_seeds_that_cycle_in_step_are_judged_by_the_cycle() -> None:
    draw = np.random.default_rng(3)
    part = np.arange(2000) / 2000
    cycles = lambda count: [50 + 20 * np.sin(2 * np.pi * count * part) + draw.standard_normal(2000) for _ in range(5)]  # noqa: E731
    few, many = (window.judge(recorded(cycles(count), warmup_s=0.0)) for count in (1.5, 12.4))
    assert few is not None
    assert few.short
    assert many is not None
    assert not many.short


def test_a_small_difference_is_none() -> None:
    half = np.arange(2000) >= 1250
    draw = np.random.default_rng(4)
    small, large = (
        window.judge(recorded([50 + more * half + 0.01 * draw.standard_normal(2000) for _ in range(5)]))
        for more in (0.8, 2.0)
    )
    assert small is not None
    assert large is not None
    assert (small.short, large.short) == (False, True)
    # Two per cent of almost no queue are nothing.
    tiny = window.judge(recorded([0.1 + 0.01 * half + 1e-4 * draw.standard_normal(2000) for _ in range(5)]))
    assert tiny is not None
    assert not tiny.short


def test_traffic_that_ends_has_totals_and_no_steady_mean() -> None:
    ended = [np.where(np.arange(400) < 200, 5.0, 0.0)] * 3
    assert window.judge(recorded(ended, name=window.GOODPUT)) is None
    assert window.judge([]) is None
    assert window.judge(recorded([np.ones(12)] * 3)) is None, "too few samples"


def test_a_window_of_few_round_trips_is_warned_of() -> None:
    steady = recorded([np.full(2000, 50.0) + k for k in range(3)])
    assert not getattr(window.judge(steady, 2.0), "short", None)
    found = window.judge(steady, 3.0)
    assert found is not None
    (reason,) = found.reasons
    assert (reason.kind, reason.size) == ("round trips", 15.0)
    assert found.needed_duration_s == 75
    assert "15 round-trip times (3 s), less than 20" in found.sentence("RED")


# ---- a start-up ----------------------------------------------------------------------------------------------------


def noisy(start_up: int, n: int = 2000) -> list[float]:
    draw = random.Random(start_up)
    return [draw.gauss(10, 1) - (8 * (1 - k / start_up) if k < start_up else 0) for k in range(n)]


def test_the_end_of_a_start_up_is_found() -> None:
    found = window.settled(noisy(300))
    assert found is not None
    assert 200 <= found <= 330
    assert found % 5 == 0
    assert window.settled([1.0] * 19) is None
    assert window.settled([float(k) for k in range(2000)]) is None, "a ramp never settles"


def test_it_is_the_definition_of_mser_5() -> None:
    samples = noisy(60, 400)
    batches = [sum(samples[k : k + 5]) / 5 for k in range(0, 400, 5)]

    def error(cut: int) -> float:
        rest = batches[cut:]
        centre = sum(rest) / len(rest)
        return sum((x - centre) ** 2 for x in rest) / len(rest) ** 2

    assert window.settled(samples) == 5 * min(range(41), key=error)


def test_a_start_up_in_the_window_is_told_from_one_before_it() -> None:
    runs = [noisy(300), noisy(290), noisy(310)]
    early, late = (window.judge(recorded(runs, warmup_s)) for warmup_s in (0.0, 12.0))
    assert early is not None
    assert late is not None
    assert any(reason.kind == "start" and reason.time_s == pytest.approx(9, abs=1.5) for reason in early.reasons)
    assert not late.short


# ---- runs ----------------------------------------------------------------------------------------------------------

LINK = {
    "name": "one flow",
    "topology": {
        "kind": "dumbbell",
        "pairs": 1,
        "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        "bottleneck": {"rate": "50 Mbit/s", "delay": "98 ms"},
    },
    "queue": {"bottleneck": {"aqm": "droptail"}},
    "traffic": [
        {
            "kind": "ftp",
            "count": 1,
            "tcp": "reno",
            "stack": "rfc",
            "segment": 1448,
            "window": 5000,
            "start": {"uniform": ["0 s", "1 s"]},
        }
    ],
}
BUFFERS = ["droptail limit=417", "droptail limit=833"]


@functools.cache
def over(begin: float, end: float) -> paired.Comparison:
    """Half a bandwidth-delay product against a whole one, from the one time to the other."""
    return paired.compare({**LINK, "warmup": f"{begin} s", "duration": f"{end} s"}, BUFFERS, seeds=5, workers=2)


def test_a_window_shorter_than_the_cycle_of_a_flow_is_warned_of_wherever_it_lies() -> None:
    effects = []
    for begin in (20.0, 100.0, 180.0):
        found = over(begin, begin + 40)
        (warning,) = found.warnings
        assert f"the window from {begin:g} s to {begin + 40:g} s is too short" in warning
        assert all(one.short for one in found.warmups.values())
        difference = found.differences["droptail limit=833"]["queue_delay"]
        assert difference is not None
        effects.append(difference.estimate.mean)
    assert min(effects) < -15, effects
    assert max(effects) > 60, "they contradict each other, each with a narrow interval"


def test_it_is_said_in_words_text_table_and_json_with_what_to_use() -> None:
    found = over(100.0, 140.0)
    assert words.sentences([("", found)]) == [
        'The window is too short, so nothing is judged. Try warmup = "140 s" and duration = "940 s".'
    ]
    text = " ".join(result_text.comparison_text(found).split())
    assert "warning: DropTail limit=417: the window from 100 s to 140 s is too short" in text
    assert f"DropTail limit=417 {result_text.MARK}" in text
    document = json.loads(json.dumps(found.document("0")))
    judged = document["warmup"]["droptail limit=417"]
    assert judged["short"] is True
    assert judged["reasons"][0]["of"] == "the queue"
    needed = max(one["needed_s"] for one in document["warmup"].values())
    duration = max(one["needed_duration_s"] for one in document["warmup"].values())
    # What is recommended is enough.
    longer = over(needed, duration)
    assert longer.warnings == []
    assert result_text.MARK not in result_text.comparison_text(longer)


def test_what_was_recorded_for_it_is_in_no_result() -> None:
    found = over(20.0, 60.0)
    alone = json.loads(_core.Scenario.parse({**LINK, "warmup": "20.0 s", "duration": "60.0 s"}, []).run(1))
    run = found.runs[("droptail limit=417", 1)]
    assert not {"series", "rates"} & run.keys()
    assert alone.keys() == run.keys()


def test_many_flows_are_recorded_by_entry() -> None:
    entry = {"kind": "cbr", "rate": "10 kbit/s", "start": {"uniform": ["0 s", "1 s"]}}
    document = {
        **LINK,
        "duration": "20 s",
        "warmup": "5 s",
        "topology": {**LINK["topology"], "pairs": 60},  # type: ignore[dict-item]
        "traffic": [{**entry, "count": 59}, {**entry, "start": {"uniform": ["12 s", "13 s"]}, "name": "late"}],
    }
    seen, added = window.watched(_core.Scenario.parse(document, []), document)
    assert added == ("series", "rates")
    runs = [window.recording(json.loads(seen.run(seed)), "bottleneck") for seed in (1, 2, 3)]
    names = [track.name for track in runs[0].tracks]
    assert names == ["the queue", "the goodput", "the goodput of traffic 1", "the goodput of traffic late"]
    found = window.judge(runs)
    assert found is not None
    assert "the goodput of traffic late" in [reason.of for reason in found.reasons]


def test_the_round_trip_of_a_scenario_without_tcp_is_not_known() -> None:
    document = {**LINK, "duration": "20 s"}
    assert round_trips.base(document, "bottleneck") == pytest.approx(0.2, abs=0.002)
    cbr = {**document, "traffic": [{"kind": "cbr", "rate": "1 Mbit/s"}]}
    assert round_trips.base(cbr, "bottleneck") is None


def test_one_warning_stands_for_all_disciplines_with_the_same_window() -> None:
    def short(size: float, needed: float) -> Window:
        return Window(10.0, 60.0, 5, (Reason("parts", "the queue", size),), needed, 100.0)

    found = window.sentences({"RED": short(0.1, 20.0), "PIE": short(0.3, 15.0), "FQ": Window(10.0, 60.0, 5)})
    assert found == [
        "PIE: the window from 10 s to 60 s is too short: the mean of the queue differs by 30 % between its parts; "
        'try warmup = "20 s" and duration = "100 s" (RED too)'
    ]


# ---- nothing to compare --------------------------------------------------------------------------------------------


def lightly(rate: str, **more: Any) -> paired.Comparison:
    traffic = [{"kind": "cbr", "count": 2, "rate": rate, "start": {"uniform": ["0 s", "1 s"]}}, *more.get("also", [])]
    document = {
        "name": "light",
        "duration": "20 s",
        "warmup": "5 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 4,
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "10 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": "droptail"}},
        "traffic": traffic,
    }
    return paired.compare(document, ["droptail", "codel"], seeds=3, workers=2)


def test_where_no_queue_formed_nothing_is_called_equal() -> None:
    assert words.sentences([("", lightly("1 Mbit/s"))]) == [
        "The link was used to 20 %: no queue formed and nothing was dropped or marked, so the disciplines had nothing "
        "to do and are not compared."
    ]
    full = words.sentences([("", lightly("6 Mbit/s"))])
    assert not any("nothing to do" in text for text in full)
    # At one round-trip time of two.
    (said, *_) = words.sentences([("20 ms", lightly("1 Mbit/s")), ("40 ms", lightly("6 Mbit/s"))])
    assert said.startswith("The link was used to 20 % at 20 ms: no queue formed")


def test_a_queue_is_one_that_delays_packets() -> None:
    run = next(iter(lightly("1 Mbit/s").runs.values()))["queues"]["bottleneck"]
    assert overflows.no_queue(run)
    for more in ({"marks": 1}, {"overflow_drops": 1}, {"delay_mean_ms": 5.0}, {"utilisation": 0.99}, {"departures": 0}):
        assert not overflows.no_queue({**run, **more}), more


def test_flows_that_cannot_send_are_named() -> None:
    found = lightly("1 Mbit/s", also=[{"kind": "cbr", "rate": "1 Mbit/s", "start": "30 s"}])
    assert found.notes[-1] == ("Jain's index leaves out who cannot send in the window: flow 3 starts after the window")
    assert found.series("droptail", "jain") == [1.0] * 3
    assert "note: Jain's index leaves out" in " ".join(run_text(found.runs[("droptail", 1)]).split())
    # Runs of which only some leave somebody out, and not the same: one of them is told, with its seed.
    runs: list[dict[str, Any]] = [
        {"seed": 1, "cannot_send": []},
        {"seed": 2, "cannot_send": [{"flows": [3, 3], "why": "starts after the window"}]},
        {"seed": 3, "cannot_send": [{"flows": [4, 5], "why": "starts after the window"}]},
    ]
    assert silent.note(runs) == (
        "Jain's index leaves out who cannot send in the window, in 2 of 3 runs, and in that with seed 2 these: flow 3 "
        "starts after the window"
    )


# ---- mean and quantile ---------------------------------------------------------------------------------------------


def test_mean_and_quantile_that_disagree_are_said_together() -> None:
    shared = [0.1 * k for k in range(10)]
    quantities = tuple(q.at("bottleneck") for q in quantity.COMPARED if q.id in (words.MEAN, words.TAIL))
    values: dict[tuple[str, str], list[float | None]] = {
        ("a", words.MEAN): [20 + x for x in shared],
        ("a", words.TAIL): [30 + x for x in shared],
        ("b", words.MEAN): [15 + 1.1 * x for x in shared],
        ("b", words.TAIL): [50 + 1.2 * x for x in shared],
    }
    titles = {"a": "A", "b": "B"}
    found = paired.Comparison("x", "bottleneck", ("a", "b"), titles, tuple(range(10)), quantities, values, {}, {})
    (said,) = words.opposite([("", found)])
    assert said == (
        "Mean and 99 % quantile of the queueing delay point opposite ways against A: with B the mean is "
        "4.955 ms (4.933 to 4.977) lower but the quantile is 20.090 ms (20.047 to 20.133) higher."
    )
    assert said in words.sentences([("", found)])
    values[("b", words.TAIL)] = [10 + 1.2 * x for x in shared]
    assert words.opposite([("", paired.Comparison(
        "x", "bottleneck", ("a", "b"), titles, tuple(range(10)), quantities, values, {}, {}))]) == []  # fmt: skip


def test_a_sweep_says_where_there_was_nothing_to_do_and_where_the_window_is_too_short(tmp_path: Any) -> None:
    base = lightly("1 Mbit/s").base
    document = {
        "name": "loads",
        "seeds": 3,
        "measures": ["queue_delay", "goodput"],
        "control": {"aqm": "droptail"},
        "factor": [
            {"name": "aqm", "path": "queue.bottleneck.aqm", "values": ["droptail", "codel"]},
            {"name": "rate", "path": "traffic.0.rate", "values": ["1 Mbit/s", "6 Mbit/s"]},
        ],
        "scenario": {key: base[key] for key in ("duration", "warmup", "topology", "queue", "traffic")},
    }
    found = sweeps.sweep(document, store=str(tmp_path / "store"), workers=2)
    assert found.unused is not None
    assert found.unused.tolist() == [True, False, True, False]
    assert found.summary[0].startswith("No queue formed at 2 of 4 points")
    found.warmups = {3: Window(5.0, 20.0, 3, (Reason("parts", "the queue", 0.25),), 20.0, 320.0)}
    del found.summary
    assert found.summary[-1] == (
        "The window is too short at 1 point (examined: 1 of 4), so no difference is judged there: codel, 6 Mbit/s. "
        'Try warmup = "20 s" and duration = "320 s".'
    )
    assert not any("6 Mbit/s" in text for text in found.summary[:-1]), "nothing is judged there"
    text = " ".join(repr(found).split())
    assert f"6 Mbit/s 3 {result_text.MARK}" in text
    assert "the window from 5 s to 20 s is too short" in text
    assert json.loads(json.dumps(found.document()))["warmup"][0]["reasons"][0]["kind"] == "parts"


def test_run_says_what_one_run_shows(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.toml"
    file.write_text(to_toml({**LINK, "warmup": "100 s", "duration": "140 s"}), encoding="utf-8")
    assert cli.main(["run", str(file), "--json"]) == 0
    ended = capsys.readouterr()
    said = json.loads(ended.out)
    (warning,) = [text for text in said.pop("warnings") if "window" in text]
    assert warning.startswith("the window from 100 s to 140 s is too short")
    assert warning in " ".join(ended.err.split())
    alone = json.loads(_core.Scenario.load(str(file), []).run())
    assert {**said, "cost": None} == {**alone, "cost": None}, "the recording leaves no trace"
    assert cli.main(["run", str(file), "--set", "duration=860 s", "--set", "warmup=60 s"]) == 0
    assert "window" not in capsys.readouterr().err
    assert cli.main(["run", str(file), "--set", "duration=103 s"]) == 0
    assert "round-trip times (" in (few := " ".join(capsys.readouterr().err.split())), few
    assert "less than 20; try warmup" in few


def test_goodputs_of_very_many_flows_are_not_recorded() -> None:
    document = {**LINK, "duration": "1 s", "traffic": [{"kind": "cbr", "rate": "1 kbit/s", "count": 10_001}]}
    _, added = window.watched(_core.Scenario.parse(document, []), document)
    assert added == ("series",)
