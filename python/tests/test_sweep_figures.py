"""Figures of sweeps that a reader chooses, and levels with units as numbers on an axis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell

from earlydrop import cli, sweeps
from earlydrop.render import panels
from earlydrop.sweeps import figures, report
from earlydrop.sweeps.plot_spec import parse_plot
from earlydrop.sweeps.quantities import quantities

SWEEP = f"""
name = "small"
seeds = 3
measures = ["goodput", "queue_delay", "delay"]
where = ["delay < '9 ms' or aqm != 'codel'"]

[scenario]
duration = "3 s"
warmup = "1 s"

{dumbbell("red", 50, pairs=3, bottleneck=("5 Mbit/s", "10 ms"), of="scenario.")}
[[scenario.traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "1 s"] }}

[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "codel"]

[[factor]]
name = "delay"
path = "topology.bottleneck.delay"
values = ["500 us", "4 ms", "9 ms"]
"""

MEASURES = ["goodput", "queue_delay", "delay"]
FACTORS: dict[str, tuple[bool, list[Any]]] = {
    "aqm": (False, ["red", "codel"]),
    "delay": (True, [0.5, 4.0, 9.0]),
    "flows": (True, [10, 20]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    (place / "small.toml").write_text(SWEEP, encoding="utf-8")
    assert cli.main(["sweep", str(place / "small.toml"), "--out", str(place / "out")]) == 0
    return place / "out"


def test_texts_with_units_are_numbers(folder: Path) -> None:
    document = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    delay = document["factors"][1]
    assert delay["unit"] == "ms"
    assert delay["levels"] == [
        {"name": "500 us", "title": "500 us", "value": 0.5},
        {"name": "4 ms", "title": "4 ms", "value": 4.0},
        {"name": "9 ms", "title": "9 ms", "value": 9.0},
    ]
    # The condition compares with "9 ms" as a number; CoDel has two of three delays.
    assert len(document["points"]) == 5


def test_a_unit_is_that_of_the_largest_or_the_one_asked_for() -> None:
    assert quantities(["500 kbit/s", "10 Mbit/s"]) == ("Mbit/s", [0.5, 10.0])
    assert quantities(["4 ms", "1 s"], "ms") == ("ms", [4.0, 1000.0])
    assert quantities(["10 packets", "20 packets"]) == ("packets", [10.0, 20.0])
    assert quantities(["4 ms", "10 packets"]) is None
    assert quantities(["4 ms", "red"]) is None
    assert quantities(["4 ms", "1 s"], "Mbit/s") is None


def test_a_factor_may_have_the_name_of_a_measure(folder: Path) -> None:
    data = report.read_data(folder)
    runs = data.runs(data.points_at(aqm="red", delay=4.0), ["delay"])
    # The factor is 4 ms; the delay from end to end is more than the path's 14 ms.
    assert runs["delay"].min() > 14  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "kind", "x", "by", "in_"),
    [
        ("queue_delay vs delay by aqm", "lines", "delay", "aqm", None),
        ("goodput by aqm", "points", None, "aqm", None),
        ("goodput vs aqm", "points", None, "aqm", None),
        ("goodput", "points", None, "aqm", None),
        ("box goodput by aqm in flows", "box", None, "aqm", "flows"),
        ("goodput vs queue_delay by aqm in delay", "ellipse", "queue_delay", "aqm", "delay"),
        ("cdf delay by aqm", "cdf", None, "aqm", None),
        ("ccdf delay by aqm in delay", "ccdf", None, "aqm", "delay"),
        ("time queue by aqm", "time", None, "aqm", None),
        ("time p, queue by aqm in delay", "time", None, "aqm", "delay"),
    ],
)
def test_a_plot_is_one_line(text: str, kind: str, x: str | None, by: str | None, in_: str | None) -> None:
    found = parse_plot(text, MEASURES, FACTORS)
    assert (found.kind, found.x, found.by, found.panels) == (kind, x, by, in_)


def test_figures_of_long_texts_have_short_names_of_their_own() -> None:
    measures = [f"{what}_of_the_first_of_all_entries" for what in ("delay", "goodput")]
    specs = [parse_plot(f"{' + '.join(measures)} vs flows by {by}", measures, FACTORS) for by in ("aqm", "delay")]
    assert len({spec.slug for spec in specs}) == 2
    assert all(len(spec.slug) <= 70 for spec in specs)
    assert parse_plot("goodput vs flows by aqm", MEASURES, FACTORS).slug == "goodput-vs-flows-by-aqm"


def test_levels_of_a_plot_are_chosen() -> None:
    found = parse_plot("goodput vs delay by aqm at flows=20", MEASURES, FACTORS)
    assert found.at == {"flows": 20}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("queue_dela vs delay", "there is no measure queue_dela; did you mean queue_delay?"),
        ("goodput vs rtt", "there is no factor or measure rtt"),
        ("goodput by colour", "there is no factor colour; there are aqm, delay, flows"),
        ("goodput by aqm by aqm", "by is there twice"),
        ("goodput by aqm at flows=30", "flows has no level 30; it has 10, 20"),
        ("cdf goodput by aqm", 'allowed "cdf delay [by FACTOR] [in FACTOR]"'),
        ("time by aqm", "there is no measure time"),
        ("time p vs delay", 'allowed "time NAME, NAME [by FACTOR] [in FACTOR]"'),
        ("pie chart of goodput", "cannot be read; allowed"),
        ("", "cannot be read"),
        ("goodput vs delay by delay", "delay is there twice"),
    ],
)
def test_a_wrong_plot_has_its_message(text: str, message: str) -> None:
    with pytest.raises(sweeps.SweepError) as error:
        parse_plot(text, MEASURES, FACTORS)
    assert message in str(error.value)


PLOTS = [
    "queue_delay vs delay by aqm",
    "goodput by aqm in delay",
    "box goodput by aqm",
    "goodput vs queue_delay by aqm",
    "cdf delay by aqm at delay=4",
    "ccdf delay by aqm at delay=4",
    "time queue by aqm at delay=4",
    "time p_b, avg, queue by aqm at delay=4",
]


def test_figures_are_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [arg for text in PLOTS for arg in ("--plot", text)]
    assert cli.main(["report", str(folder), *asked, "--figures", "svg,pdf"]) == 0
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("figure: ")]
    assert len(printed) == 2 * len(PLOTS)
    for line in printed:
        assert Path(line.removeprefix("figure: ")).stat().st_size > 1000
    pdf = (folder / "figures" / "queue-delay-vs-delay-by-aqm.pdf").read_bytes()
    # Fonts are embedded as outlines that a publisher accepts, not as type 3.
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_a_line_shows_means_and_intervals(folder: Path) -> None:
    data = report.read_data(folder)
    drawing = figures.draw(data, figures.parse("queue_delay vs delay by aqm", data))
    (ax,) = drawing.axes
    red = next(line for line in ax.lines if line.get_label() == "red")
    assert list(red.get_xdata()) == [0.5, 4.0, 9.0]
    expected = [
        point["cells"]["queue_delay"]["mean"] for point in data.document["points"] if point["levels"]["aqm"] == "red"
    ]
    assert list(red.get_ydata()) == pytest.approx(expected)
    assert ax.get_xlabel() == "Delay of the bottleneck (ms)"


def test_a_distribution_is_that_of_the_packets(folder: Path) -> None:
    data = report.read_data(folder)
    drawing = figures.draw(data, figures.parse("cdf delay by aqm at delay=4 aqm=red", data))
    (ax,) = drawing.axes
    (line,) = ax.lines
    ys = list(line.get_ydata())
    assert ys == sorted(ys)
    assert ys[-1] == pytest.approx(1)


def test_more_than_six_lines_get_a_panel_each(tmp_path: Path) -> None:
    text = SWEEP.replace('["red", "codel"]', '["red", "codel", "pie", "blue", "droptail", "tred", "choke"]')
    (tmp_path / "many.toml").write_text(text.replace("seeds = 3", "seeds = 2"), encoding="utf-8")
    out = tmp_path / "out"
    assert cli.main(["sweep", str(tmp_path / "many.toml"), "--out", str(out)]) == 0
    data = report.read_data(out)
    drawing = figures.draw(data, figures.parse("queue_delay vs delay by aqm", data))
    shown = [ax for ax in drawing.axes if ax.get_visible()]
    assert len(shown) == 7
    heights = [max(ax.lines, key=lambda line: line.get_zorder()).get_ydata().mean() for ax in shown]  # type: ignore[union-attr]
    assert heights == sorted(heights)


def test_slides_are_larger_than_columns(folder: Path) -> None:
    data = report.read_data(folder)
    spec = figures.parse("queue_delay vs delay by aqm", data)
    column = figures.draw(data, spec).get_figwidth()
    with panels.using("slides"):
        slide = figures.draw(data, spec).get_figwidth()
    assert column == 3.5
    assert slide == 10.0


def test_a_wrong_plot_stops_the_sweep_before_it_runs(folder: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "small.toml").write_text(SWEEP, encoding="utf-8")
    assert cli.main(["sweep", str(tmp_path / "small.toml"), "--out", str(tmp_path / "out"), "--plot", "speed"]) == 2
    assert "there is no measure speed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_format_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(folder), "--figures", "gif"]) == 2
    assert "allowed pdf, svg, png" in capsys.readouterr().err


def test_inner_values_over_time_are_those_of_the_run(folder: Path) -> None:
    data = report.read_data(folder)
    drawing = figures.draw(data, figures.parse("time p_b, queue by aqm at delay=4", data))
    red, queue, codel, other = drawing.axes
    assert [ax.get_title(loc="left") for ax in drawing.axes] == ["red", "red", "codel", "codel"]
    assert [ax.get_ylabel() for ax in drawing.axes] == ["p_b", "Packets", "p_b", "Packets"]
    (line,) = red.lines
    assert 0 < max(line.get_ydata()) <= 1
    assert [line.get_label() for line in queue.lines] == ["queue", "average"]
    assert not codel.lines
    assert [text.get_text() for text in codel.texts] == ["has no p_b"]
    assert (codel.get_ylim(), other.get_ylim()) == (red.get_ylim(), queue.get_ylim())
    # The queue is that of the figure without inner values.
    plain = figures.draw(data, figures.parse("time queue by aqm at delay=4", data)).axes[0].lines[0]
    assert list(plain.get_ydata()) == list(queue.lines[0].get_ydata())


@pytest.mark.parametrize(
    ("name", "message"),
    [("p_x", "no run has p_x; allowed queue, avg, p_b"), ("cwnd", "cwnd needs record.cwnd_flows in the scenario")],
)
def test_an_inner_value_that_no_discipline_has(folder: Path, name: str, message: str) -> None:
    data = report.read_data(folder)
    with pytest.raises(sweeps.SweepError, match=message):
        figures.draw(data, figures.parse(f"time queue, {name} by aqm", data))
