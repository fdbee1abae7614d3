"""Figures, tables and folders of a study: every kind is drawn, and says what it should."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axes import cut
from conftest import SMALL

from earlydrop import cli, terminal
from earlydrop import study as studies
from earlydrop.study import comparison_tables, figures, plots, scorecard, text
from earlydrop.study import folder as folders
from earlydrop.study.model import Figure, Study
from earlydrop.study.published_values import fit

Ran = tuple[studies.Outcome, list[studies.ClaimResult]]


@pytest.fixture(scope="module")
def ran() -> Ran:
    return studies.reproduce(studies.read(SMALL).with_seeds(3))


@pytest.fixture(scope="module")
def written(ran: Ran, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small")
    folders.write(place, *ran, "0.0.0")
    return place


def figure(study: Study, number: int) -> Figure:
    return next(f for f in study.figures if f.id == f"Figure {number}")


def data(ran: Ran, number: int) -> figures.Data:
    return figures.data(ran[0], figure(ran[0].study, number))


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12])
def test_every_kind_is_written_in_three_formats(written: Path, number: int) -> None:
    for suffix, starts in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        assert (written / "figures" / f"figure-{number}.{suffix}").read_bytes().startswith(starts)


def test_nothing_is_drawn_of_what_cannot_be_made(written: Path) -> None:
    assert not (written / "figures" / "figure-11.png").exists()
    page = (written / "report.html").read_text(encoding="utf-8")
    assert "It shows a photograph." in page
    assert "The table is missing in the copy." in page


def test_lines_have_means_intervals_and_published_points(ran: Ran) -> None:
    found = data(ran, 1)
    (panel,) = found.panels
    red, droptail = panel.curves
    e = ran[0].study.experiment("A-1")
    estimate = ran[0].estimate(e, [("red", "4", "1000", "1000")], "delay")
    assert estimate is not None
    assert red.xs == [2.0, 4.0, 8.0]
    assert (red.lows[1], red.ys[1], red.highs[1]) == (estimate.lower, estimate.mean, estimate.upper)
    assert red.printed == [(1.0, 45.0), (2.0, 61.0), (4.0, 70.0), (16.0, 90.0)]
    # What is skipped is left out.
    assert droptail.xs == [2.0, 4.0]
    assert (found.x_label, panel.y_label) == ("Flows", "Delay (ms)")


def test_measures_are_rows_and_panels_columns(ran: Ran) -> None:
    found = data(ran, 2)
    assert [(p.title, p.y_label) for p in found.panels] == [
        ("RED", "Throughput (kbit/s)"),
        ("DropTail", "Throughput (kbit/s)"),
        ("RED", "Delay (ms)"),
        ("DropTail", "Delay (ms)"),
    ]
    assert found.columns == 2
    assert [c.title for c in found.panels[0].curves] == ["flows 2", "flows 4", "flows 8"]
    assert found.panels[0].curves[0].xs == [1.0, 2.0, 3.0]


def test_a_series_is_one_run_between_two_times(ran: Ran) -> None:
    found = data(ran, 4)
    red, droptail = found.panels
    assert [c.title for c in red.curves] == ["queue", "average"]
    # DropTail has no average.
    assert [c.title for c in droptail.curves] == ["queue"]
    assert (min(red.curves[0].xs), max(red.curves[0].xs)) == (1.0, pytest.approx(2.98))
    assert found.text == "Seed 2."


def test_level_lines_have_their_names(ran: Ran) -> None:
    series = figure(ran[0].study, 4)
    marked = replace(series, options={**series.options, "marks": {"half of the buffer": 30}})
    drawn, _ = plots.draw(ran[0], marked)
    assert [t.get_text() for t in drawn.legends[0].get_texts()] == ["queue", "average", "half of the buffer"]
    assert all(30 in line.get_ydata() for ax in drawn.axes for line in ax.lines[-1:])


def test_a_distribution_pools_the_seeds(ran: Ran) -> None:
    found = data(ran, 5)
    outcome = ran[0]
    e = outcome.study.experiment("A-2")
    for curve, aqm in zip(found.panels[0].curves, e.axis("aqm").ids, strict=True):
        completed = outcome.series(e, (aqm,), "completed")
        assert len(curve.xs) == sum(v or 0 for v in completed)
        assert list(curve.xs) == sorted(curve.xs)
        assert curve.ys[-1] == 1.0


def test_a_histogram_is_the_mean_over_seeds(ran: Ran) -> None:
    curve = data(ran, 6).panels[0].curves[0]
    outcome = ran[0]
    lost = outcome.estimate(outcome.study.experiment("A-2"), [("red",)], "lost")
    assert lost is not None
    assert sum(curve.ys) == pytest.approx(lost.mean)


def test_differences_are_sorted_and_counted(ran: Ran) -> None:
    found = data(ran, 7)
    (curve,) = found.panels[0].curves
    assert list(curve.ys) == sorted(curve.ys)
    assert "SFRED smaller than RED in" in found.text
    assert figures.difference_words([-2.0, -1.0, 0.0, 4.0], 3, ["A", "B"]) == (
        "A smaller than B in 2 (surface 3), larger in 1 (surface 4), equal in 1, 3 without a value."
    )


def test_a_scatter_has_a_point_for_each_run(ran: Ran) -> None:
    found = data(ran, 8)
    assert [len(c.xs) for c in found.panels[0].curves] == [6, 6, 3]


def test_readings_can_be_the_axis(ran: Ran) -> None:
    found = data(ran, 12)
    assert [c.xs for c in found.panels[0].curves] == [[500.0, 1000.0, 1400.0]] * 2
    assert "Averaged over flows." in found.text


def test_many_levels_lie_on_their_side_or_have_their_names_beside_them(ran: Ran) -> None:
    levels = tuple((float(k), f"a discipline {k}") for k in range(20))
    xs = [float(k) for k in range(20)]
    curve = figures.Curve("", 0, 1, xs, xs, xs, xs)
    bars = figures.Data(figure(ran[0].study, 3), (figures.Panel("", "y", (curve,)),), "x", levels, bars=True)
    assert plots._lying(bars)
    made = plots._lying_bars(bars)
    assert len(made.axes[0].get_yticklabels()) == 20
    points = tuple(figures.Curve(f"level {k}", k, 20, [float(k % 5)], [float(k)]) for k in range(20))
    cloud = figures.Data(figure(ran[0].study, 8), (figures.Panel("", "y", points),), "x")
    names = plots._panels(cloud).axes[0].texts
    assert len(names) == 20


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_no_words_of_a_figure_overlap(ran: Ran, number: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from earlydrop.render import plotting

    made, _ = plots.draw(ran[0], figure(ran[0].study, number))
    renderer = FigureCanvasAgg(made).get_renderer()
    with plotting.styled():
        made.draw(renderer)
    texts: list[Any] = [t for legend in made.legends for t in legend.get_texts()]
    for ax in made.axes:
        texts += [ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title, *ax.texts]  # type: ignore[attr-defined]
        texts += [tick.label1 for axis in (ax.xaxis, ax.yaxis) for tick in axis._update_ticks()]
    seen = [t for t in texts if t.get_text() and t.get_visible()]
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in seen]
    assert [(a, b) for k, (a, x) in enumerate(boxes) for b, y in boxes[k + 1 :] if _cross(x, y)] == []
    frame = made.bbox
    assert [a for a, x in boxes if x.x0 < -1 or x.y0 < -1 or x.x1 > frame.x1 + 1 or x.y1 > frame.y1 + 1] == []


def _cross(a: Any, b: Any) -> bool:
    return bool(a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 1 and b.y0 < a.y1 - 1)


# ---- tables --------------------------------------------------------------------------------------------------------


def test_a_table_stands_beside_the_papers(ran: Ran) -> None:
    outcome, _ = ran
    table = outcome.study.tables[0]
    throughput, delay = comparison_tables.shown(outcome, table)
    assert [g.title for g in delay.groups] == ["RED", "DropTail", "RED minus DropTail"]
    assert delay.groups[0].columns == ("published", "ours", "difference")
    label, cells = delay.rows[0]
    e = outcome.study.experiment("A-1")
    ours = outcome.estimate(e, [("red", "2", "1000", "1000")], "delay")
    assert ours is not None
    assert label == "2"
    assert cells[0] == "61.0"
    assert cells[1] == terminal.with_interval(ours, 1)
    assert cells[2] == f"{100 * (ours.mean / 61 - 1):+.1f} %"
    assert cells[6] == "-49.0"
    # An empty cell of the paper's table has no difference.
    assert (throughput.rows[1][1][3], throughput.rows[1][1][5], throughput.rows[1][1][6]) == ("-", "-", "-")


def test_a_table_without_rows_has_its_measures_there(ran: Ran) -> None:
    outcome, _ = ran
    (block,) = comparison_tables.shown(outcome, outcome.study.tables[1])
    assert [label for label, _ in block.rows] == ["Completed", "Mean time (s)"]
    assert [(g.title, len(g.columns)) for g in block.groups] == [("RED", 3), ("DropTail", 1), ("SFRED", 3)]


def test_the_reading_that_fits_is_named(ran: Ran) -> None:
    outcome, _ = ran
    table = outcome.study.tables[0]
    found = fit(outcome, table)
    assert found is not None
    e = outcome.study.experiment("A-1")
    distances = {}
    for segment in ("500", "1000", "1400"):
        away = []
        for p in table.printed:
            ours = outcome.estimate(e, [(p.at["aqm"], p.at["flows"], "1000", segment)], p.measure)
            assert ours is not None
            away.append(abs(ours.mean / p.value - 1))
        distances[segment] = sum(away) / len(away)
    assert {k: d for k, (d, _) in found.distances.items()} == pytest.approx(distances)
    assert found.best == min(distances, key=lambda k: distances[k])
    assert found.distances["500"][1] == 7


# ---- pages and folders ---------------------------------------------------------------------------------------------


def test_every_table_and_figure_of_the_study_is_on_the_page(ran: Ran, written: Path) -> None:
    page = (written / "report.html").read_text(encoding="utf-8")
    for shown in ran[0].study.shown:
        assert f">{shown.id}</a>" in page
        assert f'id="{shown.id.lower().replace(" ", "-").join(["at-", ""])}"' in page


def test_the_folder_has_what_the_page_names(written: Path) -> None:
    names = {p.relative_to(written).as_posix() for p in written.rglob("*") if p.is_file()}
    assert {
        "report.html",
        "result.json",
        "verdicts.txt",
        "runs/A-1.csv",
        "runs/A-1.parquet",
        "runs/A-2.csv",
        "runs/A-2.parquet",
        "scenarios/A-1.toml",
        "scenarios/A-2.toml",
        "figures/effects.png",
    } <= names


def test_the_scenario_of_a_cell_runs_as_the_study_ran_it(ran: Ran, written: Path) -> None:
    from earlydrop import _core

    outcome, _ = ran
    result = json.loads(_core.Scenario.load(str(written / "scenarios" / "A-1.toml"), []).run(2))
    assert result["delay_mean_ms"] == outcome.values["A-1"][("red", "2", "1000", "1000")]["delay"][1]


def test_the_document_holds_verdicts_cells_fits_and_published_values(ran: Ran, written: Path) -> None:
    document = json.loads((written / "result.json").read_text(encoding="utf-8"))
    assert document["verdicts"].keys() == {f"C-{k}" for k in range(1, 8)}
    assert [e["id"] for e in document["experiments"]] == ["A-1", "A-2"]
    assert len(document["experiments"][0]["cells"]) == 20
    assert document["fits"][0]["axis"] == "segment"
    assert len(document["published"]) == 7 + 4 + 5
    claim = document["claims"][0]
    assert claim["peers"][0]["agrees"] == "ours"
    assert {tuple(t["reading"].items()) for t in claim["also_tried"]} == {
        (("window", "6"),),
        (("segment", "500"),),
        (("segment", "1400"),),
    }


def test_the_text_says_everything(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    said = text.study_text(*ran)
    for words in (
        "Table 1: Throughput and delay",
        "Best fit:",
        "Table 3: The table is missing in the copy.",
        "tcp: TCP flavour: reno [ours]",
        "rate: Link rate: 2 Mbit/s [the paper's]",
        "also tried, window: six segments:",
        "ns-2.35 agrees with us: 61 ms",
        "depends on the reading  RED has less",
        "Instructions of a decision: 100 to 104 instructions, ratio 1.040; bound 1.05 (counted, not",
        "our question, not the paper's",
        "not testable  Nobody waits.",
        "published: about one half",
    ):
        assert words in said


def test_a_quick_study_under_other_assumptions_says_so_everywhere(tmp_path: Path) -> None:
    study = studies.assume(studies.read(SMALL).as_quick(), {"tcp": "newreno"})
    outcome, results = studies.reproduce(study)
    folders.write(tmp_path, outcome, results, "0")
    for words in ("Quick run", "tcp = newreno"):
        assert words in (tmp_path / "verdicts.txt").read_text(encoding="utf-8")
        assert (tmp_path / "report.html").read_text(encoding="utf-8").count(words) >= 3
    document = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert (document["quick"], document["assume"]) == (True, {"tcp": "newreno"})
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "earlydrop reproduce small --quick --assume tcp=newreno" in page


# ---- all studies ---------------------------------------------------------------------------------------------------


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two studies to choose from, the small one twice."""
    from dataclasses import replace

    def find(name: str) -> Study:
        study = studies.read(SMALL)
        figures = tuple(f for f in study.figures if f.id == "Figure 1")
        source = {} if name == "other" else study.source
        return replace(study, name=name, figures=figures, source=source)

    monkeypatch.setattr(studies, "available", lambda: ["other", "small"])
    monkeypatch.setattr(studies, "find", find)
    return ["other", "small"]


def test_all_studies_end_with_a_scorecard(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert cli.main(["reproduce", "all", "--quick", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Scorecard" in printed
    names = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert {"index.html", "scorecard.json", "scorecard.txt", "manifest.json"} <= names
    assert {f"{name}/report.html" for name in two} <= names
    card = json.loads((out / "scorecard.json").read_text(encoding="utf-8"))
    assert [s["study"] for s in card["studies"]] == two
    assert sum(card["verdicts"].values()) == 14
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.index("Papers") < page.index("Studies of our own")
    assert "Quick run" in page
    for name in two:
        assert f'href="{name}/report.html"' in page
    assert cli.main(["reproduce", "all", "--quick", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["studies"] == card["studies"]


def test_a_report_that_fails_ends_all(two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(scorecard.folders, "write", fail)
    assert cli.main(["reproduce", "all", "--quick", "--out", str(tmp_path / "out")]) == 3
    # What was run is kept.
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith("earlydrop-error-")] == ["store"]


def test_an_axis_of_the_paper_is_longer_where_our_values_lie_outside(ran: Ran) -> None:
    of = ran[0].study
    for number in (1, 2, 3, 5, 7):
        one = figure(of, number)
        whole, _ = plots.draw(ran[0], replace(one, limits={}, log=""))
        for axis in "xy":
            low, high = getattr(whole.axes[0].dataLim, f"interval{axis}")
            middle = (low + high) / 2
            small, _ = plots.draw(ran[0], replace(one, log="", limits={axis: (middle, middle + 0.1 * (high - low))}))
            assert not cut(small), one.id
            wide = (low - 1.0, high + 1.0)
            larger, _ = plots.draw(ran[0], replace(one, log="", limits={axis: wide}))
            dots = one.kind == "bars" and axis == "x"
            assert dots or wide in [(*ax.get_xlim(),) for ax in larger.axes] + [(*ax.get_ylim(),) for ax in larger.axes]


def test_what_the_axes_cut_is_found(ran: Ran) -> None:
    """Lines, marks, areas and bars, on either axis; the test above and every test that writes a figure rest on it."""
    for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):
        drawing, _ = plots.draw(ran[0], figure(ran[0].study, number))
        assert not cut(drawing), number
        if figure(ran[0].study, number).kind in ("picture", "curves"):
            continue
        for ax in drawing.axes:
            for get, put in ((ax.get_xlim, ax.set_xlim), (ax.get_ylim, ax.set_ylim)):
                low, high = get()
                put(low + 0.4 * (high - low), high - 0.4 * (high - low))
                assert cut(drawing), (number, ax.get_title("left"))
                put(low, high)
