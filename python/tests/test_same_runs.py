"""Seeds that change nothing are one replication: no interval, no star, and the reason once, in every form of output."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell
from matplotlib.container import ErrorbarContainer

import earlydrop as ed
from earlydrop import cli, document, terminal
from earlydrop.analysis import measures, paired, quantity, statistics
from earlydrop.output import to_json
from earlydrop.render import plotting, result_text

FIXED = f"""\
name = "fixed"
duration = "6 s"
warmup = "2 s"
{dumbbell("codel", 60, bottleneck=("5 Mbit/s", "10 ms"), access=("100 Mbit/s", "2 ms"))}
[[traffic]]
kind = "ftp"
count = 4
tcp = "cubic"
stack = "rfc"
"""
RANDOM = FIXED + 'start = { uniform = ["0 s", "1 s"] }\n'
WHY = "all 3 seeds give the same run: nothing in this scenario is random; add a random `start`"


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    path = tmp_path / "fixed.toml"
    path.write_text(FIXED, encoding="utf-8")
    return path


def plain(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split())


def test_compare_prints_one_run_as_one_run(fixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["compare", str(fixed), "--aqm", "codel", "droptail", "pie", "--seeds", "3", "--set"]
    # PIE draws; it is left out first.
    quiet = ["compare", str(fixed), "--aqm", "codel", "droptail", "--seeds", "3", "--out", str(out)]
    assert cli.main(quiet) == cli.DONE
    said = capsys.readouterr().out
    text = (out / "comparison.txt").read_text(encoding="utf-8")
    assert text.strip() in said
    tex, runs = ((out / f).read_text(encoding="utf-8") for f in ("comparison.tex", "runs.csv"))
    for one in (said, text):
        assert "±" not in one
        assert "*" not in one
        assert plain(one).count(WHY) == 1
    assert "\\pm" not in tex
    assert "*" not in tex
    assert "one run (all 3 seeds give it)" in tex
    assert len(runs.splitlines()) == 1 + 2 * 3
    found = json.loads((out / "comparison.json").read_text(encoding="utf-8"))
    assert found["same_run"] == ["codel", "droptail"]
    assert [WHY in note for note in found["notes"]] == [True]
    for cells in found["cells"].values():
        assert all(c["replicates"] == 1 and c["n"] == 3 and c["half_width"] is None for c in cells.values())
    for d in found["differences"]["droptail"].values():
        assert (d["replicates"], d["half_width"], d["lower"], d["detectable"]) == (1, None, None, None)
        assert all(d[p] is None for p in d if p.endswith("_p") or "_p_" in p)
    assert any("TCP flows start at exactly 0 s" in text for text in found["warnings"])
    assert (out / "comparison.png").stat().st_size > 0
    assert cli.main([*command, "warmup=2 s"]) == cli.DONE
    mixed = capsys.readouterr().out
    assert "CoDel, DropTail: all 3 seeds give the same run" in plain(mixed)
    # What is paired with the draws of PIE has an interval, what is not has none.
    for line in mixed.partition("minus CoDel")[2].splitlines():
        if "Queueing delay (ms)" in line:
            assert re.search(r"[+-][\d.]+ +[+-][\d.]+ ± ", line)


def test_the_figure_of_a_comparison_has_no_bars(fixed: Path) -> None:
    def bars(path: Path) -> list[bool]:
        result = paired.compare(path, ["codel", "droptail"], seeds=3)
        drawn = plotting.comparison(result).axes
        return [c.has_xerr for ax in drawn for c in ax.containers if isinstance(c, ErrorbarContainer)]

    assert set(bars(fixed)) == {False}
    fixed.write_text(RANDOM, encoding="utf-8")
    assert set(bars(fixed)) == {True}


SWEEP = f"""\
name = "s"
seeds = 3
measures = ["goodput", "queue_delay", "jain"]
control = {{ aqm = "droptail" }}
[scenario]
{FIXED.partition(chr(10))[2].replace("[topology]", "[scenario.topology]").replace("[queue.", "[scenario.queue.").replace("[[traffic]]", "[[scenario.traffic]]")}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["droptail", "codel"]
[[factor]]
name = "rtt"
path = "topology.bottleneck.delay"
values = [5, 20]
format = "{{}} ms"
"""  # noqa: E501


def test_sweep_prints_one_run_as_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(SWEEP, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(out)]) == cli.DONE
    said = capsys.readouterr().out
    page = re.sub(
        r"<style>.*?</style>|<script.*?</script>|data:image[^\"]*", "", (out / "report.html").read_text(), flags=re.S
    )
    for one in (said, (out / "sweep.txt").read_text(encoding="utf-8"), page):
        assert "±" not in one
        assert "*" not in one
        assert plain(one).count(WHY) == 1
    for name in ("points.tex", "points.csv", "differences.csv"):
        content = (out / name).read_text(encoding="utf-8")
        assert "pm$" not in content
        assert "*" not in content
    for row in csv.DictReader((out / "points.csv").read_text(encoding="utf-8").splitlines()):
        assert (row["replicates"], row["goodput_n"], row["goodput_lower"], row["goodput_upper"]) == ("1", "3", "", "")
    for row in csv.DictReader((out / "differences.csv").read_text(encoding="utf-8").splitlines()):
        assert (row["replicates"], row["lower"], row["t_test_p"], row["t_test_p_holm"]) == ("1", "", "", "")
        assert float(row["mean"]) != 0
    found = json.loads((out / "sweep.json").read_text(encoding="utf-8"))
    assert [WHY in note for note in found["notes"]] == [True]
    assert all(p["replicates"] == 1 and p["seeds"] == 3 for p in found["points"])
    assert all(c["replicates"] == 1 and c["half_width"] is None for p in found["points"] for c in p["cells"].values())
    assert any("TCP flows start at exactly 0 s" in text for text in found["warnings"])
    # The page can be made again from the folder.
    assert cli.main(["report", str(out)]) == cli.DONE
    # Two of them side by side: what changed has no interval either.
    other = tmp_path / "other"
    file.write_text(SWEEP.replace("60 packets", "50 packets"), encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(other)]) == cli.DONE
    capsys.readouterr()
    assert cli.main(["diff", str(out), str(other)]) == cli.DONE
    shown = capsys.readouterr().out
    assert "different" in shown
    assert "±" not in shown.partition("clearest first")[2]


def test_points_that_are_random_keep_their_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    mixed = SWEEP.replace('values = ["droptail", "codel"]', 'values = ["droptail", "pie"]')
    file.write_text(mixed, encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(tmp_path / "out")]) == cli.DONE
    said = plain(capsys.readouterr().out)
    assert "2 of 4 points: all 3 seeds give the same run" in said
    assert "±" in said
    found = json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))
    assert [p["replicates"] for p in found["points"]] == [1, 1, 3, 3]
    assert all(d["replicates"] == 3 and d["t_test_p"] is not None for d in found["differences"])


def test_tune_confirms_nothing_on_one_run(fixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    command = ["tune", str(fixed), "--aqm", "codel", "--trials", "4", "--seeds", "2", "--confirm", "3", "--objective"]
    assert cli.main([*command, "delay", "--store", str(tmp_path / "store")]) == cli.DONE
    said = plain(capsys.readouterr().out)
    assert WHY in said
    assert "Nothing is confirmed." in said
    assert "±" not in said


def test_a_natural_scenario_is_random(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for topology in ("dumbbell", "parking_lot", "star", "graph", "bus"):
        path = tmp_path / f"{topology}.toml"
        assert cli.main(["init", str(path), "--topology", topology]) == cli.DONE
        assert ed.load(path).warnings == []
    capsys.readouterr()


def test_flows_that_start_together_warn_on_every_way(fixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "4 TCP flows start at exactly 0 s"
    assert cli.main(["check", str(fixed)]) == cli.DONE
    assert words in capsys.readouterr().err
    assert cli.main(["run", str(fixed), "--json"]) == cli.DONE
    printed = capsys.readouterr()
    assert words in printed.err
    assert json.loads(printed.out)["scenario"] == "fixed"
    with pytest.warns(ed.ScenarioWarning, match=words):
        ed.load(fixed).run()
    fixed.write_text(RANDOM, encoding="utf-8")
    assert ed.load(fixed).warnings == []


def test_a_result_is_the_same_whatever_its_seed_and_cost() -> None:
    one = {"scenario": "a", "seed": 1, "version": "1", "cost": {"wall_s": 1.0}, "jain": 0.5}
    assert document.same_run([one, {**one, "seed": 2, "cost": {"wall_s": 2.0}}])
    assert not document.same_run([one, {**one, "seed": 2, "jain": 0.25}])
    assert not document.same_run([one]), "a single run is no repetition"


# ---- numbers at their bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "half", "bounds", "text"),
    [
        (0.95, 0.02, (0.0, 1.0), "0.950 ± 0.020"),
        (0.998, 0.008, (0.0, 1.0), "0.998 [0.990, 1]"),
        (0.01, 0.05, (0.0, 1.0), "0.010 [0, 0.060]"),
        (0.5, 0.8, (0.0, 1.0), "0.500 [0, 1]"),
        (99.0, 3.0, (0.0, 100.0), "99.000 [96.000, 100]"),
        # A packet counts when its transmission starts.
        (1.0001, 0.01, (0.0, 1.0), "1.000 [0.990, 1.000]"),
        (3.0, None, (0.0, 1.0), "3.000"),
    ],
)
def test_an_interval_ends_at_the_bounds_of_its_measure(
    mean: float, half: float | None, bounds: tuple[float, float], text: str
) -> None:
    assert terminal.with_interval(statistics.Estimate(mean, half, 5), 3, bounds) == text


def test_every_measure_of_a_comparison_knows_its_bounds() -> None:
    bounds = {q.id: q.bounds for q in quantity.QUANTITIES}
    assert bounds["jain"] == (0.0, 1.0)
    assert bounds["drop_rate"] == bounds["utilisation"] == (0.0, 100.0)
    assert all(low == 0 for low, _ in bounds.values())
    assert measures.kind_of("traffic.0.transfers.time_mean_s").name == "delay"
    assert measures.kind_of("queues.bottleneck.queue_std_packets").name == "spread"
    assert measures.kind_of("series.queues.bottleneck.gauges.p_b").margin is None
    with pytest.raises(measures.FieldError, match=r"what.ever: no field of a result has this name"):
        measures.kind_of("what.ever")


def toy(jain: list[float], aqms: tuple[str, ...] = ("red",)) -> paired.Comparison:
    queue = {"utilisation": 0.9, "delay_mean_ms": 1.0, "delay_p99_ms": 2.0, "queue_mean_packets": 1.0, "drop_rate": 0.0}
    runs: list[Any] = [
        {"throughput_total_mbps": 1.0, "goodput_total_mbps": 1.0, "delay_mean_ms": 3.0, "jain": x,
         "queues": {"bottleneck": queue}}
        for x in jain
    ]  # fmt: skip
    seeds = tuple(range(1, 1 + len(jain) // len(aqms)))
    return paired.tabulate("toy", "bottleneck", aqms, {"red": "RED"}, seeds, runs)


def test_a_cut_interval_is_said_to_be_cut() -> None:
    cut = toy([0.999, 0.99, 0.9])
    text = result_text.comparison_text(cut)
    assert re.search(r"Jain index +0\.9630 \[0\.8\d+, 1\]", text)
    assert plain(text).count(terminal.CUT) == 1
    whole = toy([0.5, 0.51, 0.49])
    assert "[" not in result_text.comparison_text(whole)
    (panel,) = [ax for ax in plotting.comparison(cut).axes if ax.get_xlabel() == "Jain index"]
    (bar,) = [c for c in panel.containers if isinstance(c, ErrorbarContainer)]
    (segments,) = (lines.get_segments() for lines in bar[2])
    assert max(x for segment in segments for x, _ in segment) == 1.0


# ---- what fails after the runs -------------------------------------------------------------------------------------


def test_a_comparison_that_cannot_be_printed_is_not_lost(
    fixed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(result: paired.Comparison) -> str:
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(result_text, "comparison_text", fail)
    # Where it failed goes to a file in the current folder.
    monkeypatch.chdir(fixed.parent)
    assert cli.main(["compare", str(fixed), "--aqm", "codel", "droptail", "--seeds", "2"]) == cli.INTERNAL
    found = re.search(r"the runs were made, and are kept in (\S+)", capsys.readouterr().err)
    assert found is not None
    kept = Path(found[1])
    assert len((kept / "runs.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 2
    assert len(list((kept / "runs").glob("*.json"))) == 4


def test_more_seeds_than_a_double_has_exponents() -> None:
    draw = random.Random(1)
    many = toy([draw.random() for _ in range(2 * 1100)], ("red", "pie"))
    assert "n = 1100" in plain(result_text.comparison_text(many))
    assert json.loads(to_json(many.document("0")))["seeds"] == list(range(1, 1101))
