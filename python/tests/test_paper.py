"""What a paper takes: LaTeX tables and appendices, figures with a panel for each of several measures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from axes import cut

import earlydrop as ed
from earlydrop import cli, sweeps
from earlydrop.analysis import paired
from earlydrop.render import appendix, latex, panels, result_text
from earlydrop.sweeps import figures, paper, report
from earlydrop.sweeps.plot_spec import parse_plot
from earlydrop.terminal import CUT

SWEEP = """
title = "Queues & loads"
scenario = "small.toml"
seeds = 3
measures = ["goodput", "queue_delay", "jain"]
control = { aqm = "red" }

[[factor]]
name = "aqm"
title = "Queue"
path = "queue.bottleneck.aqm"
values = ["red", "codel", "droptail"]
titles = ["RED, 93 %", "CoDel", "FIFO"]

[[factor]]
name = "load"
path = "traffic.0.count"
values = [2, 4]

[[factor]]
name = "rate"
path = "topology.bottleneck.rate"
values = ["2 Mbit/s", "3 Mbit/s"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from conftest import SCENARIO

    place = tmp_path_factory.mktemp("paper")
    (place / "small.toml").write_text(SCENARIO, encoding="utf-8")
    (place / "loads.toml").write_text(SWEEP, encoding="utf-8")
    assert cli.main(["sweep", str(place / "loads.toml"), "--out", str(place / "out")]) == 0
    command = ["compare", str(place / "small.toml"), "--aqm", "50 %, RED = red", "codel target=5ms", "--seeds", "3"]
    assert cli.main([*command, "--out", str(place / "compared")]) == 0
    return place


def swept(place: Path, text: str) -> ed.sweep.Swept:
    (place / "own.toml").write_text(text, encoding="utf-8")
    found: Any = ed.sweep(place / "own.toml", store=place / "store", progress=False)
    return found


def tables(text: str) -> dict[str, list[list[str]]]:
    """The cells of LaTeX tables by their labels."""
    found = {}
    for one in re.findall(r"\\begin\{table\}.*?\\end\{table\}", text, re.S):
        (name,) = re.findall(r"\\label\{(.*?)\}", one)
        body = one.partition(r"\toprule")[2].partition(r"\bottomrule")[0].replace(r"\midrule", "")
        rows = [re.split(r"(?<!\\)&", row) for row in body.strip().split("\\\\\n")]
        found[name] = [[cell.strip().removesuffix(r"\\").strip() for cell in row] for row in rows]
    return found


# ---- tables --------------------------------------------------------------------------------------------------------


def test_a_sweep_has_a_table_for_each_measure(folder: Path) -> None:
    text = (folder / "out" / "points.tex").read_text(encoding="utf-8")
    assert text.startswith("% Needs \\usepackage{booktabs, siunitx}.\n")
    found = tables(text)
    assert list(found) == ["tab:loads-goodput", "tab:loads-queue-delay", "tab:loads-jain"]
    document = json.loads((folder / "out" / "sweep.json").read_text(encoding="utf-8"))
    for name, cells in found.items():
        measure = name.removeprefix("tab:loads-").replace("-", "_")
        assert cells[0] == ["load", "Rate of the bottleneck", r"{RED, 93 \%}", "{CoDel}", "{FIFO}"]
        assert [row[:2] for row in cells[1:]] == [[n, r] for n in "24" for r in ("2 Mbit/s", "3 Mbit/s")]
        for row in cells[1:]:
            for aqm, cell in zip(("red", "codel", "droptail"), row[2:], strict=True):
                levels = {"aqm": aqm, "load": int(row[0]), "rate": float(row[1][0])}
                (point,) = [p for p in document["points"] if p["levels"] == levels]
                mean = point["cells"][measure]["mean"]
                assert float(re.findall(r"[\d.]+", cell)[0]) == pytest.approx(mean, rel=1e-3)
    assert r"\caption{Queueing delay (ms); Queues \& loads: mean over seeds $\pm$ 95 \% half-width, n = 3" in text


def test_without_a_factor_to_set_side_by_side_there_is_one_table(folder: Path) -> None:
    head, first, *others = SWEEP.split("[[factor]]")
    no_names = head.replace('control = { aqm = "red" }', "") + "".join(f"[[factor]]{one}" for one in others)
    found = tables(swept(folder, no_names).to_latex(["goodput", "jain"]))
    assert found["tab:own"][0] == ["load", "Rate of the bottleneck", "{Goodput (Mbit/s)}", "{Jain index}"]
    assert len(found["tab:own"]) == 1 + 4
    alone = tables(swept(folder, f"{head}[[factor]]{first}").to_latex(["goodput"]))
    assert [row[0] for row in alone["tab:own"]] == ["Queue", r"RED, 93 \%", "CoDel", "FIFO"]


def test_a_control_among_numbers_is_set_side_by_side(folder: Path) -> None:
    head, _, *others = SWEEP.split("[[factor]]")
    numbers = head.replace('aqm = "red"', 'load = "2"') + "".join(f"[[factor]]{one}" for one in others)
    found = tables(swept(folder, numbers).to_latex("goodput", caption="Of 5 %"))
    assert found["tab:own-goodput"][0] == ["Rate of the bottleneck", "{load = 2}", "{load = 4}"]
    assert r"\caption{Goodput (Mbit/s); Of 5 \%}" in swept(folder, numbers).to_latex("goodput", caption="Of 5 %")


def test_a_point_that_was_not_run_is_a_dash(folder: Path) -> None:
    some = swept(folder, SWEEP.replace("seeds = 3", "seeds = 3\nwhere = [\"aqm != 'codel' or load < 4\"]"))
    for row in tables(some.to_latex("goodput"))["tab:own-goodput"][1:]:
        assert (row[3] == "{--}") == (row[0] == "4")


def test_more_points_than_a_page_holds_have_no_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "MOST", 11)
    assert cli.main(["sweep", str(folder / "loads.toml"), "--out", str(folder / "large")]) == 0
    assert not (folder / "large" / "points.tex").exists()
    monkeypatch.setattr(paper, "MOST", 12)
    assert cli.main(["sweep", str(folder / "loads.toml"), "--out", str(folder / "fitting")]) == 0
    assert (folder / "fitting" / "points.tex").exists()


def test_numbers_are_aligned_and_texts_stand_in_braces() -> None:
    rows = [
        ["a", "4.797 ± 0.020", "+12.3 ± 10.4", "none"],
        ["b", "112.48 ± 1.15 (!)", "-0.3", "-"],
        ["c", "94.75 [80.92, 100]", "-", "5 < 6"],
    ]
    text = latex.table(["", "x", "y & z", "t"], rows, 1, "A_b", latex.label("My sweep", "Queue_delay"))
    assert r"{lS[table-format = 3.3(4), table-space-text-post = {\,(!)}]S[table-format = +2.1(3)]r}" in text
    assert r"a & 4.797 \pm 0.020 & +12.3 \pm 10.4 & {none} \\" in text
    assert r"b & 112.48 \pm 1.15 {\,(!)} & -0.3 & {--} \\" in text
    assert r"c & {94.75 [80.92, 100]} & {--} & {5 \textless{} 6} \\" in text
    assert r" & {x} & {y \& z} & {t} \\" in text
    assert r"\caption{A\_b}" in text
    assert r"\label{tab:my-sweep-queue-delay}" in text
    assert latex.label("!") == "tab:table"


def test_a_comparison_is_one_table_and_over_round_trips_one_for_each_measure(folder: Path) -> None:
    file = folder / "small.toml"
    alone = ed.compare(file, {"A": "red", "B & co.": "codel"}, seeds=3, duration="9 s", warmup="3 s")
    found = tables(alone.to_latex(["goodput", "drop_rate"]))["tab:small"]
    assert [row[0] for row in found] == ["", "Goodput (Mbit/s)", r"Drop rate (\%)"]
    assert [re.sub(r" \(!\)", "", one) for one in found[0][1:]] == ["{A}", r"{B \& co.}"]
    assert r"\caption{5 \% of A}" in alone.to_latex(["goodput"], caption="5 % of A")
    over = ed.compare(file, ["red", "codel"], rtt=["40 ms", "80 ms"], seeds=3, duration="9 s", warmup="3 s")
    both = over.to_latex(["goodput", "jain"])
    assert list(tables(both)) == ["tab:small-goodput", "tab:small-jain"]
    for cells in tables(both).values():
        assert cells[0] == ["RTT", "{RED}", "{CoDel}"]
        assert [row[0] for row in cells[1:]] == ["40 ms", "80 ms"]
    for one in both.split(r"\end{table}")[:2]:
        assert ("[a, b]" in one) == bool(re.search(r"\{[\d.]+ \[", one)), "the note stands where it is needed"
        assert (result_text.MARKED in one) == (r"\,(!)} " in one or "] (!)}" in one)
    written = (folder / "compared" / "comparison.tex").read_text(encoding="utf-8")
    assert list(tables(written)) == ["tab:small", "tab:small-differences"]
    assert CUT.startswith("[a, b]")


# ---- appendix ------------------------------------------------------------------------------------------------------


def test_the_appendix_of_a_comparison_has_versions_names_and_the_scenario(folder: Path) -> None:
    text = (folder / "compared" / "appendix.tex").read_text(encoding="utf-8")
    version = json.loads((folder / "compared" / "comparison.json").read_text(encoding="utf-8"))["version"]
    assert f"Simulated with earlydrop {version}. " in text
    assert "with the same 3 seeds, from 3; measured from 0 s to 5 s." in text
    assert r"50 \%, RED & \texttt{red} \\" in text
    assert r"CoDel target=5ms & \texttt{codel target=5ms} \\" in text
    printed = text.partition("\\begin{verbatim}\n")[2].partition("\\end{verbatim}")[0]
    scenario = json.loads((folder / "compared" / "scenario.json").read_text(encoding="utf-8"))
    assert tomllib.loads(printed) == scenario


def test_the_appendix_of_a_sweep_lists_what_is_varied(folder: Path) -> None:
    text = (folder / "out" / "appendix.tex").read_text(encoding="utf-8")
    assert r"\section{Simulations: Queues \& loads}" in text
    assert r"\label{app:queues-loads}" in text
    assert "12 points, each with 3 seeds from 1; measured at the queue bottleneck" in text
    quote = r"\textquotedbl{}"
    assert rf"Queue & RED, 93 \% & \texttt{{queue.bottleneck.aqm = {quote}red{quote}}} \\" in text
    assert r"load & 2 & \texttt{traffic.0.count = 2} \\" in text.replace("Flows", "load")
    printed = text.partition("\\begin{verbatim}\n")[2].partition("\\end{verbatim}")[0]
    assert tomllib.loads(printed)["traffic"][0]["tcp"] == "reno"


def test_no_text_of_a_scenario_ends_its_listing() -> None:
    scenario = {"name": "\\end{verbatim} µ 😀", "long": [0.5] * 1000}
    text = appendix.text("x", "1", [], (["a"], [["b"]]), scenario, "scenario.json")
    body, _, rest = text.partition("\\begin{verbatim}\n")[2].partition("\\end{verbatim}")
    assert rest == "\n"
    assert body.isascii()
    assert tomllib.loads(body) == {"name": scenario["name"]}
    assert "# long has 5,007 characters: see scenario.json" in body


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX")
def test_latex_sets_it_without_a_warning(folder: Path, tmp_path: Path) -> None:
    parts = [folder / "out" / "points.tex", folder / "compared" / "comparison.tex", folder / "out" / "appendix.tex"]
    parts.append(folder / "compared" / "appendix.tex")
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[margin=1cm]{geometry}"
        + "\\usepackage{booktabs, siunitx}\n\\begin{document}\n"
        + "\n".join(rf"\input{{{file}}}" for file in parts)
        + "\nTable~\\ref{tab:loads-goodput}, section~\\ref{app:small}.\n\\end{document}\n",
        encoding="utf-8",
    )
    for _ in range(2):
        ended = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        assert ended.returncode == 0, ended.stdout[-2000:]
    assert "Warning" not in ended.stdout
    assert "Overfull" not in ended.stdout


# ---- figures -------------------------------------------------------------------------------------------------------

FACTORS: dict[str, tuple[bool, list[Any]]] = {"aqm": (False, ["red", "codel"]), "load": (True, [2, 4])}


@pytest.mark.parametrize(
    ("text", "measures", "kind"),
    [
        ("queue_delay + goodput vs load by aqm", ("queue_delay", "goodput"), "lines"),
        ("queue_delay+goodput vs load by aqm", ("queue_delay", "goodput"), "lines"),
        ("box queue_delay + goodput + jain by aqm", ("queue_delay", "goodput", "jain"), "box"),
        ("goodput + jain by aqm", ("goodput", "jain"), "points"),
        ("goodput + jain vs queue_delay by aqm", ("goodput", "jain"), "ellipse"),
        ("a+b + jain by aqm", ("a+b", "jain"), "points"),
    ],
)
def test_a_plot_may_have_several_measures(text: str, measures: tuple[str, ...], kind: str) -> None:
    found = parse_plot(text, ["goodput", "queue_delay", "jain", "a+b"], FACTORS)
    assert (found.measures, found.kind) == (measures, kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput + vs load", "cannot be read; allowed"),
        ("+ goodput", "cannot be read; allowed"),
        ("goodput + + jain", "cannot be read; allowed"),
        ("goodput jain vs load", "cannot be read; allowed"),
        ("goodput + speed by aqm", "there is no measure speed"),
        ("goodput + goodput by aqm", "goodput is there twice"),
        ("goodput + jain vs jain", "jain is there twice"),
        ("cdf delay + goodput by aqm", 'allowed "cdf delay [by FACTOR] [in FACTOR]"'),
        ("goodput vs load by aqm in aqm", "aqm is there twice"),
    ],
)
def test_a_wrong_plot_of_several_measures_has_its_message(text: str, message: str) -> None:
    with pytest.raises(sweeps.SweepError) as error:
        parse_plot(text, ["goodput", "queue_delay", "jain"], FACTORS)
    assert message in str(error.value)


def drawn(folder: Path, text: str) -> Any:
    data = report.read_data(folder / "out")
    made = figures.draw(data, figures.parse(text, data))
    assert not cut(made)
    return made


def visible(made: Any) -> list[Any]:
    return [ax for ax in made.axes if ax.get_visible()]


def test_each_measure_has_a_panel_with_its_own_axis(folder: Path) -> None:
    made = drawn(folder, "queue_delay + goodput vs load by aqm")
    axes = visible(made)
    assert [ax.get_ylabel() for ax in axes] == ["Queueing delay (ms)", "Goodput (Mbit/s)"]
    alone = [drawn(folder, f"{m} vs load by aqm").axes[0] for m in ("queue_delay", "goodput")]
    for ax, other in zip(axes, alone, strict=True):
        assert [line.get_label() for line in ax.lines] == ["RED, 93 %", "CoDel", "FIFO"]
        for mine, theirs in zip(ax.lines, other.lines, strict=True):
            assert mine.get_ydata() == pytest.approx(theirs.get_ydata())
    assert len(made.legends) == 1, "one legend for all"
    assert made.get_figwidth() == panels.current().full


def test_with_a_factor_in_panels_each_measure_is_a_row(folder: Path) -> None:
    for text in ("queue_delay + goodput vs load by aqm in rate", "queue_delay + goodput by aqm in rate"):
        axes = visible(drawn(folder, text))
        places = [(ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start) for ax in axes]
        assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]
        titles = [ax.get_title(loc="left") for ax in axes]
        assert titles[:2] == titles[2:]
        assert titles[0] != titles[1]
    dots = visible(drawn(folder, "queue_delay + goodput by aqm in rate"))
    assert dots[0].get_xlim() == dots[1].get_xlim() != dots[2].get_xlim(), "what is compared has one scale"
    assert dots[2].get_xlim() == dots[3].get_xlim()


@pytest.mark.parametrize("kind", ["box queue_delay + jain by aqm", "queue_delay + jain vs goodput by aqm"])
def test_boxes_and_ellipses_have_several_measures_too(folder: Path, kind: str) -> None:
    axes = visible(drawn(folder, kind))
    found = {ax.get_xlabel() if kind.startswith("box") else ax.get_ylabel() for ax in axes}
    assert found == {"Queueing delay (ms)", "Jain index"}


def test_too_many_panels_or_lines_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "BESIDE", 1)
    with pytest.raises(sweeps.SweepError, match='2 panels side by side; allowed 1; choose some by "at"'):
        drawn(folder, "queue_delay + goodput by aqm in rate")
    monkeypatch.setattr(figures, "SHARED", 2)
    with pytest.raises(sweeps.SweepError, match="3 lines in each panel; allowed 2, or more of one measure"):
        drawn(folder, "queue_delay + goodput vs load by aqm")
    assert len(visible(drawn(folder, "queue_delay vs load by aqm"))) == 3


def test_the_axis_of_round_trip_times_is_true(scenario: Path) -> None:
    one = paired.compare(scenario, ["red", "droptail"], seeds=2)
    times = ["1 s", "20 ms", "100 ms"]
    ax = ed.Compared(dict.fromkeys(times, one)).plot(["goodput"]).axes[0]
    assert ax.get_xscale() == "log"
    for line in ax.lines:
        assert list(line.get_xdata()) == pytest.approx([20, 100, 1000])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["20", "100", "1000"]
    near = ed.Compared(dict.fromkeys(["20 ms", "30 ms", "90 ms"], one)).plot(["goodput"]).axes[0]
    assert near.get_xscale() == "linear"
