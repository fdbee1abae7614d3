"""Comparisons: what is carried from one discipline to another, and the tables."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core
from earlydrop.analysis import entries, measures, paired, quantity, statistics
from earlydrop.analysis.entries import Entry
from earlydrop.render import result_text

CATALOGUE = {e["name"]: e for e in json.loads(_core.catalogue())}


def document(aqm: str, seed: int) -> dict[str, Any]:
    draw = random.Random(f"{seed}")
    own = random.Random(f"{aqm}{seed}")
    level = {"red": 20.0, "tred": 18.0, "droptail": 55.0}[aqm] + draw.gauss(0, 0.5) + own.gauss(0, 0.1)
    queue = {
        "utilisation": 0.95 + own.gauss(0, 0.001),
        "delay_mean_ms": level,
        "delay_p99_ms": 2 * level,
        "queue_mean_packets": level * 0.6,
        "drop_rate": 0.02,
    }
    return {
        "throughput_total_mbps": 4.6 + own.gauss(0, 0.01),
        "goodput_total_mbps": 4.5,
        "delay_mean_ms": 50 + level,
        "queues": {"bottleneck": queue},
        "jain": 0.97,
    }


def tabulated(seeds: int = 10) -> paired.Comparison:
    aqms, numbers = ("red", "tred", "droptail"), tuple(range(1, seeds + 1))
    documents = [document(a, s) for a in aqms for s in numbers]
    titles = {"red": "RED", "tred": "TRED", "droptail": "DropTail"}
    return paired.tabulate("toy", "bottleneck", aqms, titles, numbers, documents, {"droptail": ["max_th", "min_th"]})


def test_the_text_of_a_comparison(golden: Callable[[str, str], None]) -> None:
    golden("comparison.txt", result_text.comparison_text(tabulated()) + "\n")


def test_differences_are_paired_by_seed() -> None:
    found = tabulated()
    paired = found.difference("tred", "queue_delay")
    alone = found.estimate("tred", "queue_delay")
    assert paired is not None
    assert alone is not None
    assert paired.estimate.mean == pytest.approx(-2.0, abs=0.2)
    assert paired.estimate.half_width is not None
    assert alone.half_width is not None
    assert paired.estimate.half_width < alone.half_width / 2


def test_the_document_holds_every_cell() -> None:
    found = tabulated(3).document("0")
    assert found["control"] == "red"
    assert set(found["cells"]) == {"red", "tred", "droptail"}
    assert set(found["differences"]) == {"tred", "droptail"}
    assert found["cells"]["red"]["jain"] == {"mean": 0.97, "half_width": 0.0, "n": 3, "replicates": 3}


def test_one_seed_has_no_intervals_but_runs() -> None:
    assert "±" not in result_text.comparison_text(tabulated(1)).split("\n", 2)[2]


def base() -> dict[str, Any]:
    queue = {"aqm": "red", "limit": "30 packets", "min_th": 5, "max_th": 15, "gentle": True}
    return {"name": "x", "queue": {"bottleneck": queue}}


def test_settings_a_discipline_does_not_know_are_left_out() -> None:
    sets = [("queue.bottleneck.max_p", "0.1"), ("duration", "5 s")]
    mine, sets, gone = entries.with_entry(base(), sets, "bottleneck", Entry("droptail"), CATALOGUE)
    assert mine["queue"]["bottleneck"] == {"aqm": "droptail", "limit": "30 packets"}
    assert sets == [("duration", "5 s")]
    assert sorted(gone) == ["gentle", "max_p", "max_th", "min_th"]


def test_settings_it_knows_are_kept() -> None:
    given = [("queue.bottleneck.max_p", "0.1")]
    mine, sets, gone = entries.with_entry(base(), given, "bottleneck", Entry("tred"), CATALOGUE)
    assert mine["queue"]["bottleneck"] == {"aqm": "tred", "limit": "30 packets", "min_th": 5, "max_th": 15}
    assert sets == [("queue.bottleneck.max_p", "0.1")]
    assert gone == ["gentle"]


def test_a_misspelt_setting_is_left_for_the_checker() -> None:
    wrong = base()
    wrong["queue"]["bottleneck"]["mni_th"] = 5
    mine, _, _ = entries.with_entry(wrong, [], "bottleneck", Entry("droptail"), CATALOGUE)
    assert mine["queue"]["bottleneck"]["mni_th"] == 5


def test_runs_of_a_comparison_are_those_of_run(scenario: Path) -> None:
    found = paired.compare(scenario, ["droptail", "red"], seeds=2, workers=2)
    assert found.seeds == (3, 4)
    alone = json.loads(_core.Scenario.load(str(scenario), []).run(4))
    together = dict(found.runs[("red", 4)])
    for one in (alone, together):
        one.pop("cost", None)
    assert alone == together


def test_stars_follow_the_corrected_p_values() -> None:
    found = tabulated()
    text = result_text.comparison_text(found)
    assert "after Holm's correction for 16 differences" in " ".join(text.split())
    ps = [d.t_p for row in found.differences.values() for d in row.values() if d is not None]
    assert None in ps, "measures that are equal in all runs"
    holm = statistics.holm([1.0 if p is None else p for p in ps])
    for (after, _), p, expected in zip(found.corrected.values(), ps, holm, strict=True):
        assert after == (None if p is None else pytest.approx(expected))
    entry = found.document("0")["differences"]["tred"]["queue_delay"]
    assert entry["t_test_p"] <= entry["t_test_p_bh"] <= entry["t_test_p_holm"] < 0.05
    assert entry["wilcoxon_p"] == pytest.approx(2 / 2**10)


def test_a_short_warmup_is_warned_of(scenario: Path) -> None:
    sets = [("duration", "40 s")]
    early = paired.compare(scenario, ["red"], seeds=3, sets=sets, workers=2)
    late = paired.compare(scenario, ["red"], seeds=3, sets=[*sets, ("warmup", "20 s")], workers=2)
    assert early.warmups["red"].chosen_s == 0
    assert late.warmups["red"].chosen_s == 20
    assert not late.warnings
    assert early.warnings == [early.warmups["red"].sentence("RED")]
    assert "too short" in early.warnings[0]
    assert "series" not in early.runs[("red", 3)], "recorded for the window only"


def test_seeds_are_run_until_intervals_are_narrow(scenario: Path) -> None:
    sets = [("duration", "10 s"), ("warmup", "2 s")]
    rule = statistics.Stopping(0.05, least=3, most=24)
    found = paired.compare(scenario, ["red", "droptail"], sets=sets, target=rule, workers=2)
    assert 3 <= len(found.seeds) <= 24
    fixed = paired.compare(scenario, ["red", "droptail"], seeds=len(found.seeds), sets=sets, workers=2)
    assert found.values == fixed.values
    for aqm in found.aqms:
        for measure in quantity.TARGETS:
            assert len(found.seeds) == 24 or rule.narrow(found.series(aqm, measure))
    impossible = statistics.Stopping(0.0001, least=2, most=4)
    short = paired.compare(scenario, ["red"], sets=sets, target=impossible, workers=2)
    assert len(short.seeds) == 4
    assert any("not narrow enough after 4 seeds" in w for w in short.warnings)


def stepped(seed: int, aqm: str, jump: float) -> dict[str, Any]:
    """A run of a full link at 5 Mbit/s, whose 99 % of the delay comes in steps of 1.664 ms."""
    made = document("red", seed)
    made["duration_s"], made["warmup_s"] = 20.0, 5.0
    made["queues"]["bottleneck"] |= {
        "delay_p99_ms": 1.664 * (20 + seed % 2 + jump),
        "utilisation": 0.999996 + 1e-6 * (seed % 3) * (aqm == "red"),
        "throughput_mbps": 4.99998,
        "departures": 9000,
        "departed_bytes": 9000 * 1040,
        "arrivals": 9200,
    }
    return made


def stepped_comparison(seeds: int, jump: float) -> paired.Comparison:
    numbers = tuple(range(1, seeds + 1))
    runs = [stepped(s, aqm, jump * (aqm == "tred")) for aqm in ("red", "tred") for s in numbers]
    return paired.tabulate("toy", "bottleneck", ("red", "tred"), {"red": "RED", "tred": "TRED"}, numbers, runs)


def test_equal_steps_of_few_seeds_are_no_stars() -> None:
    for seeds in (2, 3):
        found = stepped_comparison(seeds, 1)
        d = found.differences["tred"]["queue_delay_p99"]
        assert d is not None
        # The time that 1,040 B take at 5 Mbit/s.
        assert d.step == pytest.approx(1.664, rel=1e-4)
        assert d.estimate.deviation == pytest.approx(d.step / 6**0.5)
        assert found.stars("tred", "queue_delay_p99") == 0
        assert "*" not in result_text.comparison_text(found).split("differences):")[-1]
    # Thirty steps in each of ten seeds are a difference.
    assert stepped_comparison(10, 30).stars("tred", "queue_delay_p99") == 2


def test_no_table_shows_an_interval_without_a_width() -> None:
    for found in (stepped_comparison(10, 0), stepped_comparison(3, 1), tabulated()):
        means, differences = result_text.comparison_tables(found)
        for row in means[1:] + differences[1:]:
            for cell in row[1:]:
                for half in re.findall(r"± ([\d.]+)", cell):
                    assert float(half) > 0, row
                for low, high in re.findall(r"\[([\d.]+), ([\d.]+)\]", cell):
                    assert float(low) < float(high), row
    assert ["Goodput (Mbit/s)", "equal in all runs", "equal in all runs"] in differences


@pytest.mark.parametrize(
    ("value", "width"), [(0.5, 0.001), (2.047, 0.001), (2.048, 0.002), (35.0, 0.032), (45.0, 0.032), (70.0, 0.064)]
)
def test_bins_of_delays_are_those_of_the_engine(value: float, width: float) -> None:
    assert measures.bin_ms(value) == pytest.approx(width)


def test_what_a_packet_changes() -> None:
    queue = {
        "departures": 1000,
        "departed_bytes": 1_000_000,
        "utilisation": 0.5,
        "throughput_mbps": 5.0,
        "arrivals": 1250,
    }
    # 1,000 B take 0.8 ms at 10 Mbit/s.
    steps = {
        "queues.q.delay_p99_ms": 0.8,
        "queues.q.delay_mean_ms": 0.0008,
        "queues.q.utilisation": 0.0008 / 4,
        "queues.q.queue_mean_packets": 0.0008 / 4,
        "goodput_total_mbps": 0.008 / 4,
        "queues.q.passing.goodput_mbps": 0.008 / 4,
        "queues.q.drop_rate": 1 / 1250,
        "jain": 2 / 1000,
        "queues.q.marks": 0.0,
    }
    assert {name: measures.step(name, 1.0, queue, 4.0) for name in steps} == pytest.approx(steps)
    # A bin is wider than a packet's time on a fast link.
    assert measures.step("queues.q.delay_p99_ms", 1500.0, queue, 4.0) == pytest.approx(1.024)
    assert measures.step("queues.q.delay_mean_ms", 1.0, {}, 4.0) == 0.0
