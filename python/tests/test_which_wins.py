"""Which queue wins where: windows that are too short are left out, no measure is there twice, labels are spelt out."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import earlydrop as ed
from earlydrop import cli, sweeps
from earlydrop.analysis import paired, shared, statistics, words
from earlydrop.analysis.quantity import Quantity, declare
from earlydrop.analysis.window import Reason, Window
from earlydrop.document import overlay
from earlydrop.render import comparison_report, plotting, result_text
from earlydrop.sweeps import (
    best,
    figures,
    matrix,
    matrix_text,
    paper,
    plot_spec,
    plots,
    report,
    settings,
    text,
    windows,
)
from earlydrop.sweeps.parser import parse_document
from earlydrop.sweeps.plan import plan

SHORT = Window(2.0, 8.0, 3, (Reason("parts", "the goodput of flow 1", 0.35),), 12.0, 200.0)
LONG = Window(2.0, 8.0, 3)
SCENARIO: dict[str, Any] = {
    "name": "shared",
    "duration": "8 s",
    "warmup": "2 s",
    "topology": {
        "kind": "dumbbell",
        "pairs": 3,
        "access": {"rate": "1 Gbit/s", "delay": "4 ms"},
        "bottleneck": {"rate": "8 Mbit/s", "delay": "7 ms"},
    },
    "queue": {"bottleneck": {"aqm": "dualpi2", "ecn": True}},
    "traffic": [
        {"kind": "ftp", "name": "prague", "tcp": "prague", "ecn": True, "count": 1},
        {"kind": "ftp", "name": "cubic", "tcp": "cubic", "count": 1},
        {"kind": "media", "name": "call", "ecn": "l4s", "max_rate": "1 Mbit/s"},
    ],
}
AT = "queues.bottleneck.traffic"
QUEUES = {"FQ": "fq_codel", "FQ-L4S": "fq_codel ce_threshold=1ms l4s=true", "DualPI2": "dualpi2"}
MEASURES = {
    "Prague p99": f"{AT}.prague.delay_p99_ms",
    "CUBIC goodput": "traffic.cubic.goodput_mbps",
    "Call freezes": "traffic.call.freezes",
    "All of it": "queues.bottleneck.utilisation",
}
SWEEP: dict[str, Any] = {
    "name": "where",
    "seeds": 4,
    "control": {"aqm": "FQ"},
    "measures": [f"{title} = {path}" for title, path in list(MEASURES.items())[:2]],
    "scenario": {k: v for k, v in SCENARIO.items() if k != "name"},
    "factor": [
        {
            "name": "aqm",
            "title": "Queue",
            "levels": [
                {"name": "FQ", "set": {"queue.bottleneck.aqm": "fq_codel"}},
                {
                    "name": "FQ-L4S",
                    "set": {
                        "queue.bottleneck.aqm": "fq_codel",
                        "queue.bottleneck.ce_threshold": "1 ms",
                        "queue.bottleneck.l4s": True,
                    },
                },
                {"name": "DualPI2", "set": {"queue.bottleneck.aqm": "dualpi2"}},
            ],
        },
        {"name": "rtt", "title": "Round-trip time", "path": "rtt", "values": ["10 ms", "30 ms", "60 ms"]},
    ],
}
AT_10, AT_30, AT_60 = range(3)
FQ, FQ_L4S, DUALPI2 = (3 * k for k in range(3))
"""Number of a queue's first point."""


@pytest.fixture(scope="module")
def compared() -> paired.Comparison:
    return ed.compare(SCENARIO, QUEUES, measures=MEASURES, seeds=3, progress=False).results[""]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The sweep above, as it came out of the store."""
    return sweeps.sweep(SWEEP, store=str(tmp_path_factory.mktemp("where") / "store"), workers=2)


@pytest.fixture
def found(kept: Any) -> Any:
    """The sweep, of whose windows nothing is known, and of which nothing is said yet."""
    kept.warmups = {}
    for name in ("summary", "matrix", "best", "tests"):
        kept.__dict__.pop(name, None)
    return kept


# ---- windows that are too short ------------------------------------------------------------------------------------


def test_a_sweep_judges_no_difference_where_a_window_is_too_short(found: Any) -> None:
    every = range(len(found.sweep.points))
    found.warmups = dict.fromkeys(every, LONG)
    whole = found.summary
    assert "at all 3 points" in whole[0]
    del found.summary
    found.warmups = dict.fromkeys(every, LONG) | {FQ_L4S + AT_60: SHORT, DUALPI2 + AT_60: SHORT}
    *said, last = found.summary
    assert "less at 2 of 3 points (1 not judged) with DualPI2, by " in said[0]
    assert " and with FQ-L4S, by " in said[0], "a range for each"
    assert not any("60 ms" in one for one in said)
    assert last == (
        "The window is too short at 2 points, so no difference is judged there: FQ-L4S, 60 ms; DualPI2, 60 ms. "
        'Try warmup = "12 s" and duration = "200 s".'
    )
    del found.summary
    # Nothing can be compared with a control whose own window is too short.
    found.warmups = dict.fromkeys(every, LONG) | {FQ + k: SHORT for k in range(3)}
    assert [one for one in found.summary if "against FQ" in one or "Brackets" in one] == []


def test_the_matrix_leaves_such_points_open(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "MANY", 1)
    whole = matrix.matrix(found)
    found.warmups = {DUALPI2 + AT_10: SHORT}
    some = matrix.matrix(found)
    decided = [
        sum(one["win"] + one["loss"] + one["tie"] for one in m.cells if one["level"] == "DualPI2")
        for m in (whole, some)
    ]
    assert decided[1] < decided[0]
    assert all(
        "10 ms" not in one[end]["where"] for one in some.cells if one["level"] == "DualPI2" for end in ("least", "most")
    )
    assert some.statements == whole.statements * 5 // 6
    assert "a window that is too short" in matrix_text.legend("FQ")


def test_tables_and_figures_mark_such_points_and_those_that_were_not_examined(found: Any, tmp_path: Path) -> None:
    found.warmups = {DUALPI2 + AT_60: SHORT, FQ: LONG, FQ_L4S: None}
    said = text.outcome_text(found)
    assert re.search(r"^FQ +10 ms +4  ", said, re.M), "examined, and long enough"
    assert re.search(r"^FQ-L4S +10 ms +4  ", said, re.M), "examined, and no steady mean"
    assert re.search(r"^DualPI2 +60 ms +4 \(!\) ", said, re.M)
    assert re.search(r"^DualPI2 +30 ms +4 \(\?\) ", said, re.M)
    assert "(?): the window was not examined." in said
    assert "(examined: 3 of 9)" in found.summary[-1]
    folder = tmp_path / "where"
    folder.mkdir()
    text.write(folder, found, "")
    data = report.read_data(folder)
    assert data.short == {DUALPI2 + AT_60}
    page = report.write_report(folder, found).read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "<td>4 (!)</td>" in page
    assert "<td>4 (?)</td>" in page
    assert "(!)" in (folder / "points.tex").read_text(encoding="utf-8")
    assert "windows were examined at 3 of 9 points" in (folder / "points.tex").read_text(encoding="utf-8")
    for drawn in (
        plots.curves(data),
        figures.draw(data, figures.parse("prague_p99 vs rtt by aqm", data)),
        figures.draw(data, figures.parse("prague_p99 vs cubic_goodput by aqm in rtt", data)),
        figures.draw(data, figures.parse("prague_p99 by aqm in rtt", data)),
    ):
        assert drawn is not None
        assert drawn.get_supxlabel() == "hollow: the window is too short"
    drawn = figures.draw(data, figures.parse("prague_p99 vs rtt by aqm", data))
    (hollow,) = [
        c
        for c in drawn.axes[0].collections
        if hasattr(c, "get_offsets") and len(c.get_offsets()) and c.get_sizes().size
    ]
    assert hollow.get_offsets()[0][0] == 60
    found.warmups = dict.fromkeys(range(9), LONG)
    text.write(folder, found, "")
    clean = report.read_data(folder)
    assert figures.draw(clean, figures.parse("prague_p99 vs rtt by aqm", clean)).get_supxlabel() == ""


def test_a_point_that_is_not_judged_has_no_star_and_holms_number_is_one(
    found: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Differences that are equal in all runs have no p value, and count as tests all the same.
    real, equal = type(found)._compared, statistics.paired([1.0] * 4, [1.0] * 4)
    monkeypatch.setattr(type(found), "_compared", lambda self, number: [real(self, number)[0], equal])
    found.warmups = dict.fromkeys(range(len(found.sweep.points)), LONG) | {FQ_L4S + AT_30: SHORT}
    said = text.outcome_text(found)
    differences = said[said.index("Paired differences") :].splitlines()
    assert any("**" in line for line in differences[3:])
    assert not any("(!)" in line and "*" in line for line in differences[3:])
    assert "no star where a window is too short, (!)" in " ".join(differences)
    tests = found.tests
    assert (tests.tested, tests.count) == (6, 12)
    assert f"Holm's correction for {tests.count} differences" in " ".join(said.split())
    smallest = min(
        (d.t_p, after)
        for (_, _, d), (after, _) in zip(found.differences, found.corrected, strict=True)
        if d.t_p is not None and after is not None
    )
    assert smallest[1] == pytest.approx(tests.count * smallest[0])
    text.write(tmp_path, found, "")
    page = report.write_report(tmp_path, found).read_text(encoding="utf-8")
    assert f"correction for {tests.count} differences" in page.replace("\u00a0", " ")
    data = report.read_data(tmp_path)
    rows = report._differences(data)
    # A row is marked for its point, and for that of its control.
    assert {row["where"] for row in rows if "(!)" in row["where"]} == {"FQ-L4S, 30 ms (!)"}
    found.warmups = {FQ + AT_60: SHORT}
    text.write(tmp_path, found, "")
    of_control = report._differences(report.read_data(tmp_path))
    assert {row["where"] for row in of_control if "(!)" in row["where"]} == {"FQ-L4S, 60 ms (!)", "DualPI2, 60 ms (!)"}
    assert any(row["clear"] for row in rows)
    assert not any(row["clear"] for row in rows if "(!)" in row["where"])


def test_tables_of_points_and_differences_have_labels_and_say_which_windows_are_too_short(
    found: Any, tmp_path: Path
) -> None:
    found.warmups = {FQ + AT_10: LONG, DUALPI2 + AT_10: LONG, FQ_L4S + AT_10: None, FQ + AT_60: SHORT}
    text.write(tmp_path, found, "")

    def read(name: str) -> dict[str, str]:
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            return {row["label"]: row["window_short"] for row in csv.DictReader(file)}

    points, differences = read("points.csv"), read("differences.csv")
    assert len(points) == 9
    assert points["FQ, 60 ms"] == "true"
    assert points["DualPI2, 10 ms"] == points["FQ-L4S, 10 ms"] == "false"
    assert points["FQ, 30 ms"] == ""
    assert differences["DualPI2, 60 ms"] == "true", "that of the control"
    assert differences["DualPI2, 10 ms"] == "false"
    assert differences["DualPI2, 30 ms"] == ""
    described = json.loads((tmp_path / "columns.json").read_text(encoding="utf-8"))
    assert "control" in described["differences.csv"]["window_short"]["meaning"]


def test_a_comparison_leaves_such_disciplines_out(compared: paired.Comparison, tmp_path: Path) -> None:
    first, second, third = compared.aqms
    try:
        compared.warmups = {first: LONG, second: LONG, third: SHORT}
        *said, last = words.sentences([("", compared)])
        assert not any("DualPI2" in one for one in said)
        assert any("with FQ-L4S" in one for one in said)
        assert last == (
            'The window is too short with DualPI2, which is not judged. Try warmup = "12 s" and duration = "200 s".'
        )
        several = words.sentences([("10 ms", compared), ("40 ms", compared)])
        assert several[-1].startswith("The window is too short with DualPI2, so nothing is judged there.")
        assert plotting.comparison(compared).get_supxlabel().endswith("; hollow: the window is too short")
        assert not any(compared.stars(third, m.id) for m in compared.measures)
        assert any(compared.stars(second, m.id) for m in compared.measures)
        result_text.write_comparison(tmp_path, compared, "0")
        latex = (tmp_path / "comparison.tex").read_text(encoding="utf-8")
        assert latex.count("{DualPI2 (!)}") == 2, "means and differences"
        fresh = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert fresh.count("<th>DualPI2 (!)</th>") == 2
        assert comparison_report.renew(tmp_path).read_text(encoding="utf-8") == fresh
        compared.warmups = {first: SHORT}
        assert words.sentences([("", compared)])[-1].startswith(
            "The window is too short with FQ, so nothing is judged."
        )
        assert not any("against FQ" in one for one in words.sentences([("", compared)]))
    finally:
        compared.warmups = {}


# ---- which windows are examined ------------------------------------------------------------------------------------


def _planned(levels: tuple[int, ...], seeds: int) -> Any:
    factors = [
        {"name": f"f{k}", "path": path, "values": list(range(1, count + 1))}
        for k, (path, count) in enumerate(zip(("traffic.0.count", "traffic.1.count"), levels, strict=True))
    ]
    return plan(parse_document({**SWEEP, "control": {}, "seeds": seeds, "factor": factors}, Path("x")))


@pytest.mark.parametrize(
    ("levels", "seeds", "count", "each"),
    [((2, 4), 10, 8, 5), ((3, 3), 10, 9, 3), ((3, 4), 10, 12, 3), ((6, 6), 10, 13, 3), ((6, 6), 200, 24, 3)],
)
def test_all_windows_are_examined_where_that_is_cheap(
    levels: tuple[int, ...], seeds: int, count: int, each: int
) -> None:
    planned = _planned(levels, seeds)
    chosen, runs = windows.examined(planned)
    assert (len(chosen), runs) == (count, each)
    assert len(chosen) * runs <= max(windows.EXTRA, windows.SHARE * planned.runs)
    assert chosen == sorted(set(chosen))
    for k in range(len(levels)):
        there = [planned.sweep.points[at].levels[k].name for at in chosen]
        counts = [there.count(x.name) for x in planned.sweep.factors[k].levels]
        assert min(counts) > 0, "every level"
        assert max(counts) - min(counts) <= 2, "and about as often"


def test_the_runs_of_the_examination_are_the_reports(found: Any, tmp_path: Path) -> None:
    recorded: dict[int, str] = {}
    told: list[tuple[int, int, str]] = []
    found.warmups = sweeps.judge_warmups(found.plan, 2, lambda *now: told.append(now), recorded)
    assert sorted(recorded) == sorted(found.warmups) == list(range(9))
    assert told[-1] == (27, 27, "where: windows of 9 points")
    assert text.examined_text(found.plan) == (
        "examining windows at 9 of 9 points: 27 runs made again with queues recorded, which the store does not keep"
    )
    text.write(tmp_path, found, "")
    data = report.read_data(tmp_path)
    lines: list[tuple[int, int, str]] = []
    apart = report._single(data, {}, lambda *now: lines.append(now))
    shared_ = report._single(data, recorded, lambda *_: None)
    strip = lambda runs: [(about, {**run, "cost": None}) for about, run in runs]  # noqa: E731
    assert strip(apart) == strip(shared_), "the same runs, made once"
    assert lines[-1] == (6, 6, "where: single runs for the report")


# ---- which wins where ----------------------------------------------------------------------------------------------


class Known:
    """Three queues at two round-trip times, with differences that are known."""

    def __init__(self, sweep: Any, means: dict[int, float], short: frozenset[int] = frozenset()) -> None:
        self.sweep, self.means, self._short = sweep, means, short

    def short(self, point: int) -> bool:
        return point in self._short

    def row(self, point: int) -> Any:
        return point

    def cell(self, row: Any, _: str) -> Any:
        return type("Cell", (), {"mean": self.means[row]})

    def between(self, point: int, control: int) -> list[Any]:
        noise = np.linspace(-1, 1, 10)
        mine, other = self.means[point] + noise, self.means[control] + noise[::-1] / 3
        return [statistics.paired(mine.tolist(), other.tolist()) for _ in self.sweep.measures]


def test_the_best_level_is_named_at_each_point() -> None:
    sweep = parse_document(SWEEP, Path("x"))
    means = {0: 20.0, 3: 9.0, 6: 2.0, 1: 20.0, 4: 5.0, 7: 5.0, 2: 5.0, 5: 5.0, 8: 5.0}
    made = best.best(Known(sweep, means), list(sweep.measures))
    assert made is not None
    assert made["heads"] == ["Round-trip time"]
    assert made["tests"] == 3 * 3 * 2, "every two, at each point, of each measure"
    p99, goodput = ([best.cells(row)[k] for row in made["rows"]] for k in range(2))
    assert p99 == ["DualPI2", "FQ-L4S, DualPI2", "no difference"], "less is better"
    assert goodput == ["FQ", "FQ", "no difference"], "more is better"
    assert "after Holm's correction for 18 differences" in best.legend(made)
    short = best.best(Known(sweep, means, frozenset({6, 4, 7, 8})), list(sweep.measures))
    assert short is not None
    assert [best.cells(row)[0] for row in short["rows"]] == [
        "FQ-L4S (not judged: DualPI2)",
        "not judged",
        "no difference (not judged: DualPI2)",
    ]
    assert "Not judged: its window there is too short." in best.legend(short)
    assert "ot judged" not in best.legend(made)
    assert best.legend(made).endswith("Nothing was run between the levels of Round-trip time.")


def test_text_document_and_page_have_the_best_queues(found: Any, tmp_path: Path) -> None:
    said = text.outcome_text(found)
    assert "Which wins where, by Queue: named is what nothing else beats" in said
    assert re.search(r"^Round-trip time +Prague p99 +CUBIC goodput$", said, re.M)
    assert re.search(r"^10 ms +DualPI2 ", said, re.M)
    text.write(tmp_path, found, "")
    page = report.write_report(tmp_path, found).read_text(encoding="utf-8")
    assert '<h2 id="best">Which wins where</h2>' in page
    assert json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))["best"]["rows"][0]["levels"] == ["10 ms"]


def test_seeds_that_cannot_tell_name_no_best_level(tmp_path: Path) -> None:
    alone = sweeps.sweep({**SWEEP, "seeds": 1}, store=str(tmp_path / "store"), workers=2)
    assert alone.best is None


# ---- no measure twice ----------------------------------------------------------------------------------------------


def test_a_path_that_was_asked_for_is_not_there_twice(compared: paired.Comparison) -> None:
    ids = [m.id for m in compared.measures]
    assert ids[:4] == ["prague_p99", "cubic_goodput", "call_freezes", "all_of_it"]
    for gone, kept in (
        ("queue_delay_p99_1", "prague_p99"),
        ("goodput_2", "cubic_goodput"),
        ("utilisation", "all_of_it"),
    ):
        assert gone not in ids
        assert compared.same[gone] == kept
        assert compared.values[compared.aqms[0], gone], "what decides about seeds still knows it"
    assert {"queue_delay_1", "goodput_1", "queue_delay_p99_2", "goodput"} <= set(ids), "the rest stands behind"
    names = ["prague", "cubic", "call"]
    paths = [shared.path_of(m.field, names) for m in compared.measures if m.field]
    assert len(paths) == len(set(paths))
    said = words.sentences([("", compared)])
    assert not any(one.startswith("Goodput of cubic") for one in said)
    assert any(one.startswith("Goodput of prague") for one in said)


def test_paths_by_name_and_by_number_are_one() -> None:
    names = ["prague", "v1.5", "2", None]
    for field, same in (
        ("traffic.prague.goodput_mbps", "traffic.0.goodput_mbps"),
        (f'{AT}."v1.5".delay_p99_ms', f"{AT}.1.delay_p99_ms"),
        ('traffic."2".jain', "traffic.2.jain"),
    ):
        assert shared.path_of(field, names) == shared.path_of(same, names)
    assert shared.path_of("traffic.2.jain", ["2", "a", "b"]) == ("traffic", "2", "jain"), "a number stays one"
    asked = [declare("traffic.prague.goodput_mbps", title="P"), declare(lambda _: 1.0, title="F")]
    other = Quantity("x", "X", "", "traffic.1.goodput_mbps", 2)
    assert shared.asked_already(other, asked, names) is None
    # Goodput of the flows that pass a queue is another number than that of all.
    passing = Quantity("y", "Y", "", "traffic.0.goodput_mbps", 2, passing="queues.a.passing.goodput_mbps")
    assert shared.asked_already(passing, asked, names) is None
    assert shared.asked_already(passing, asked, names, ["traffic.0.goodput_mbps"]) is asked[0]


def test_figures_and_latex_show_what_was_asked_for(compared: paired.Comparison, tmp_path: Path) -> None:
    shown = ed.Compared({"": compared})
    for drawn in (plotting.comparison(compared), shown.plot()):
        assert [ax.get_xlabel() for ax in drawn.axes if ax.get_visible()] == [
            "Prague p99 (ms)",
            "CUBIC goodput (Mbit/s)",
            "Call freezes",
            "All of it (fraction)",
        ]
    assert shown.to_latex().count(r" \\") == 1 + 4
    assert "Queueing delay of prague" in shown.to_latex(["queue_delay_1"])
    assert "Queueing delay of prague" in result_text.comparison_text(compared), "tables have the rest"
    result_text.write_comparison(tmp_path, compared, "0")
    latex = (tmp_path / "comparison.tex").read_text(encoding="utf-8")
    assert latex.count(r" \\") == 2 * (1 + 4), "means and differences"
    assert "Queueing delay of prague" not in latex
    assert "by_flow = true" in (tmp_path / "appendix.tex").read_text(encoding="utf-8"), "which the measures need"
    zero = next(ax for ax in plotting.comparison(compared).axes if ax.get_xlabel() == "Call freezes")
    if all(v == 0 for aqm in compared.aqms for v in compared.series(aqm, "call_freezes")):
        assert zero.get_xlim() == (-0.05, 1.0)
        assert "0 in all runs" in result_text.comparison_text(compared)


def test_a_sweep_has_no_measure_twice() -> None:
    asked = {**SWEEP, "measures": ["queue_delay_p99", "goodput", *SWEEP["measures"]]}
    ids = [m.id for m in parse_document(asked, Path("x")).measures]
    assert "queue_delay_p99_1" not in ids, "is Prague p99"
    assert {"queue_delay_p99_2", "queue_delay_p99_3", "goodput_1"} <= set(ids)
    declared = {k: v for k, v in SWEEP.items() if k != "measures"}
    own = {"id": "used", "title": "Used", "field": "queues.bottleneck.utilisation"}
    ids = [m.id for m in parse_document({**declared, "measure": [own]}, Path("x")).measures]
    assert ids[0] == "used"
    assert "utilisation" not in ids


# ---- labels ----------------------------------------------------------------------------------------------------------


def test_each_label_is_spelt_out(compared: paired.Comparison, found: Any, tmp_path: Path) -> None:
    line = "FQ-L4S: fq_codel ce_threshold=1ms l4s=true"
    result_text.write_comparison(tmp_path, compared, "0")
    for name in ("comparison.txt", "report.html"):
        assert line in (tmp_path / name).read_text(encoding="utf-8"), name
    escaped = line.replace("_", r"\_")
    assert escaped in (tmp_path / "comparison.tex").read_text(encoding="utf-8")
    folder = tmp_path / "sweep"
    folder.mkdir()
    text.write(folder, found, "")
    report.write_report(folder, found)
    for name in ("sweep.txt", "report.html"):
        assert line in (folder / name).read_text(encoding="utf-8"), name
    assert escaped in (folder / "points.tex").read_text(encoding="utf-8")
    assert settings.lines(found.sweep) == ["FQ: fq_codel", line], "DualPI2 says it, and so does 10 ms"
    appendix = (folder / "appendix.tex").read_text(encoding="utf-8")
    assert r"& FQ-L4S & \texttt{queue.bottleneck.aqm = \textquotedbl{}fq\_codel\textquotedbl{}} \\" in appendix
    assert r" &  & \texttt{queue.bottleneck.ce\_threshold = \textquotedbl{}1 ms\textquotedbl{}} \\" in appendix
    assert r" &  & \texttt{queue.bottleneck.l4s = true} \\" in appendix
    assert r"10 ms & \texttt{all delays scaled to a round trip of 10 ms} \\" in appendix


def test_the_appendix_says_where_long_values_are() -> None:
    level = {
        "name": "other",
        "set": {"topology": {**SCENARIO["topology"], "access": {"rate": "1 Gbit/s", "delay": "9 ms"}}},
    }
    long = {"name": "many", "set": {"traffic.0.start": {"uniform": ["0 s", "1 s"]}, "traffic.0.name": "x" * 90}}
    factor = {"name": "net", "levels": [level, long]}
    (made,) = parse_document({**SWEEP, "control": {}, "factor": [factor]}, Path("x")).factors
    rows = [paper._sets(one) for one in made.levels]
    assert 'topology.access.delay = "9 ms"' in rows[0]
    assert rows[1][-1] == "traffic.0.name, see sweep.json"


# ---- texts of figures, and values that are disciplines ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text_", ["Prague p99 vs rtt by aqm", '"Prague p99" vs "Round-trip time" by Queue', "prague_p99 vs rtt by aqm"]
)
def test_a_figure_is_named_by_titles_too(found: Any, tmp_path: Path, text_: str) -> None:
    sweeps.check_plots(found.sweep, [text_])
    text.write(tmp_path, found, "")
    spec = figures.parse(text_, report.read_data(tmp_path))
    assert (spec.kind, spec.measures, spec.x, spec.by) == ("lines", ("prague_p99",), "rtt", "aqm")
    assert spec.text == text_


def test_a_wrong_measure_of_a_figure_is_answered_with_names_and_titles(found: Any) -> None:
    with pytest.raises(
        sweeps.SweepError, match=r"measures: prague_p99 \(Prague p99\), cubic_goodput \(CUBIC goodput\)$"
    ):
        sweeps.check_plots(found.sweep, ["Prague q99 vs rtt by aqm"])
    with pytest.raises(sweeps.SweepError, match=r"there is no measure jitter; there are prague_p99 \(Prague p99\)"):
        sweeps.check_plots(found.sweep, ["jitter vs rtt by aqm"])


def _factor(values: list[str], **more: Any) -> Any:
    factor = {"name": "aqm", "path": "queue.bottleneck.aqm", "values": values, **more}
    return parse_document({**SWEEP, "control": {"aqm": values[0]}, "factor": [factor]}, Path("x.toml")).factors[0]


def test_values_may_be_disciplines_with_settings() -> None:
    texts = list(QUEUES.values())
    by_title = _factor(texts, titles=list(QUEUES))
    by_label = _factor(["fq_codel", *(f"{label} = {text_}" for label, text_ in list(QUEUES.items())[1:])])
    assert [x.sets for x in by_title.levels] == [x.sets for x in by_label.levels]
    assert dict(by_title.levels[1].sets) == {
        "queue.bottleneck.aqm": '"fq_codel"',
        "queue.bottleneck.ce_threshold": '"1ms"',
        "queue.bottleneck.l4s": "true",
    }
    assert [by_label.called(x.name) for x in by_label.levels] == ["fq_codel", "FQ-L4S", "DualPI2"]
    # The same runs as with levels that set several things.
    first, *_ = SWEEP["factor"]
    levels = parse_document({**SWEEP, "factor": [first]}, Path("x"))
    values = parse_document(
        {**SWEEP, "control": {}, "factor": [{"path": first["levels"][0] and "queue.bottleneck.aqm", "values": texts}]},
        Path("x"),
    )
    assert list(plan(levels).keys) == list(plan(values).keys)


LABELLED: dict[str, Any] = {
    **SWEEP,
    "factor": [
        {
            "name": "aqm",
            "title": "Queue",
            "path": "queue.bottleneck.aqm",
            "values": [f"{label} = {aqm}" for label, aqm in QUEUES.items()],
        },
        {"path": "rtt", "title": "Round-trip time", "values": ["10 ms", "30 ms", "60 ms"]},
    ],
}


def test_labels_and_titles_name_levels_and_factors() -> None:
    sweep = parse_document(LABELLED, Path("x.toml"))
    assert sweep.control == {"aqm": "fq_codel"}
    with pytest.raises(sweeps.SweepError, match=r"aqm has no level 'RED'; levels are fq_codel \(FQ\), fq_codel ce_t.*"):
        parse_document({**LABELLED, "control": {"aqm": "RED"}}, Path("x.toml"))
    listed = {**LABELLED, "design": {"kind": "list"}, "point": [{"aqm": "DualPI2", "rtt": 30}]}
    assert parse_document(listed, Path("x.toml")).points[0].levels[0].name == "dualpi2"
    measures = {m.id: m.title for m in sweep.measures} | {"queue": "Mean queue"}
    names = [x.name for x in sweep.factors[0].levels]
    factors = {"aqm": (False, names), "rtt": (True, [10.0, 30.0, 60.0])}
    titles = {f.name: f.title for f in sweep.factors}
    labels = {
        "aqm": [(x.name, sweep.factors[0].called(x.name)) for x in sweep.factors[0].levels],
        "rtt": [(x.value, x.name) for x in sweep.factors[1].levels],
    }

    def read(text_: str) -> plot_spec.PlotSpec:
        sweeps.check_plots(sweep, [text_.replace("Mean queue", "Prague p99").replace("queue vs", "prague_p99 vs")])
        return plot_spec.parse_plot(text_, measures, factors, titles, labels)

    for given in ("FQ-L4S", '"FQ-L4S"', "fq_codel ce_threshold=1ms l4s=true"):
        assert read(f"Prague p99 vs RTT at Queue={given}, rtt=30 ms").at == {"aqm": names[1], "rtt": 30.0}
    assert read("prague p99 vs rtt at aqm=FQ").at == {"aqm": "fq_codel"}, "the whole label, not its beginning"
    spec = read("prague_p99 vs RTT by Queue")
    assert (spec.x, spec.by) == ("rtt", "aqm")
    spec = read("Prague p99 vs ROUND-TRIP TIME by queue")
    assert (spec.x, spec.by) == ("rtt", "aqm")
    assert read("queue vs rtt by queue").measures == ("queue",), "a name before a title in small letters"
    assert read("time p, queue by queue").over_time == ("p", "queue")
    with pytest.raises(sweeps.SweepError, match=r"has no level RED; it has fq_codel \(FQ\), "):
        read("Prague p99 by rtt at aqm=RED")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["red", "fq_codel ce_treshold=1ms"],
            "factor aqm: values: .*fq_codel has no parameter ce_treshold; did you mean",
        ),
        (["red", "nothing x=1"], 'there is no "nothing"'),
        (["red", "codel target=5ms", "codel target=5ms"], "has the level codel target=5ms twice"),
    ],
)
def test_wrong_disciplines_among_values_are_refused(values: list[str], message: str) -> None:
    with pytest.raises(sweeps.SweepError, match=message):
        _factor(values)


def test_an_entry_of_a_list_is_set_by_its_name() -> None:
    by_name, by_number = (overlay(SCENARIO, {f"traffic.{step}.ecn": "classic"}) for step in ("call", "2"))
    assert by_name == by_number
    assert by_name["traffic"][2]["ecn"] == "classic"
    with pytest.raises(KeyError, match=r"there is no item voice in a list of 3; allowed 0 \(prague\), 1 \(cubic\), 2 "):
        overlay(SCENARIO, {"traffic.voice.ecn": "classic"})
    twice = overlay(SCENARIO, {"traffic.0.name": "call"})
    with pytest.raises(KeyError, match="there is no item call"):
        overlay(twice, {"traffic.call.ecn": "classic"})


# ---- names of points -------------------------------------------------------------------------------------------------


def test_points_are_called_by_labels_alone_where_these_are_clear(found: Any) -> None:
    assert found.sweep.called(found.sweep.points[DUALPI2 + AT_60]) == "DualPI2, 60 ms"
    two = [*SWEEP["factor"], {"name": "stack", "path": "traffic.1.tcp", "values": ["cubic", "reno"]}]
    other = parse_document({**SWEEP, "factor": two}, Path("x"))
    assert other.called(other.points[0]) == "Queue = FQ, 10 ms, stack = cubic", "two factors with names"
    delays = [*SWEEP["factor"], {"name": "delay", "path": "traffic.1.start", "values": ["1 s", "2 s"]}]
    other = parse_document({**SWEEP, "factor": delays}, Path("x"))
    assert other.called(other.points[0]) == "FQ, Round-trip time = 10 ms, delay = 1 s", "two with units"
    numbers = [*SWEEP["factor"], {"name": "flows", "path": "traffic.1.count", "values": [1, 2]}]
    other = parse_document({**SWEEP, "factor": numbers}, Path("x"))
    assert other.called(other.points[0]) == "FQ, 10 ms, flows = 1", "a bare number"


def test_panels_by_a_factor_have_one_scale(found: Any, tmp_path: Path) -> None:
    text.write(tmp_path, found, "")
    data = report.read_data(tmp_path)

    def ends(which: str, of: str) -> Iterator[tuple[float, float]]:
        for ax in figures.draw(data, figures.parse(which, data)).axes:
            if ax.get_visible():
                yield getattr(ax, of)()

    assert len(set(ends("cubic_goodput vs prague_p99 by aqm in rtt", "get_xlim"))) == 1
    assert len(set(ends("cubic_goodput vs prague_p99 by aqm in rtt", "get_ylim"))) == 1
    assert len(set(ends("prague_p99 + cubic_goodput vs rtt by aqm", "get_ylim"))) == 2, "two measures"


def test_the_command_line_says_what_it_does_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    from earlydrop.toml_writer import to_toml

    Path("where.toml").write_text(to_toml({**SWEEP, "seeds": 2}), encoding="utf-8")
    assert cli.main(["sweep", "where.toml", "--plot", "Prague p99 vs rtt by aqm"]) == cli.DONE
    ended = capsys.readouterr()
    said = " ".join(ended.err.split())
    assert "examining windows at 9 of 9 points: 18 runs made again" in said
    assert "2 runs to make (16 are there) and 18 again to examine windows, " in said
    estimate = sweeps.Estimate(18, 18, 2.0, 4, 0.0)
    asked = plan(parse_document({**SWEEP, "seeds": 2}, Path("x")))
    assert text.estimate_text(estimate, asked).endswith("2 s each: about 18 s on 4 workers"), "of both"
    assert "figures/prague-p99-vs-rtt-by-aqm.png" in ended.out
