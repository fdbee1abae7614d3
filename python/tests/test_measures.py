"""Measures: one path or function is one number wherever it is asked for, and what was asked for comes first."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import earlydrop as ed
from earlydrop import cli, store, sweeps, tune
from earlydrop import study as studies
from earlydrop.analysis import quantity, window, words
from earlydrop.analysis.quantity import MeasureError, asked, parsed
from earlydrop.document import PathError, lookup, steps_of
from earlydrop.sweeps import figures, plots, report, text

SCENARIO = """\
name = "calls"
duration = "8 s"
warmup = "2 s"
[topology]
kind = "dumbbell"
pairs = 3
access = { rate = "100 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "8 Mbit/s", delay = "8 ms" }
[queue.bottleneck]
aqm = "codel"
limit = "200 packets"
ecn = true
[[traffic]]
kind = "ftp"
name = "prague"
stack = "rfc"
tcp = "prague"
count = 1
start = { uniform = ["0 s", "0.5 s"] }
[[traffic]]
kind = "ftp"
name = "cubic v1.5"
stack = "rfc"
tcp = "cubic"
count = 1
start = { uniform = ["0 s", "0.5 s"] }
[[traffic]]
kind = "media"
name = "call"
"""
MINE = """\
def frames(result):
    return result["traffic"][2]["frames_complete"]


def broken(result):
    return result["no such field"]
"""
QUEUE = "queues.bottleneck"
PATHS = {
    "named": f"{QUEUE}.traffic.prague.delay_p99_ms",
    "numbered": f"{QUEUE}.traffic.0.delay_p99_ms",
    "quoted": 'traffic."cubic v1.5".goodput_mbps',
    "flow": "flows.2.frame_delay_p99_ms",
    "band": f"{QUEUE}.classes.tcp.delay_p99_ms",
    "mean": f"{QUEUE}.traffic.prague.delay_mean_ms",
    "rate": f"{QUEUE}.traffic.prague.throughput_mbps",
    "call": "traffic.call.frame_delay_p99_ms",
}
UNTRUSTED = "names code, mine.py:frames, which would run with your rights"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "calls.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return path


def options() -> list[str]:
    texts = [f"{title} = {path}" for title, path in PATHS.items()] + ["frames = mine.py:frames better=more"]
    return [word for text in texts for word in ("--measure", text)]


def swept(file: Path, measures: list[str], more: str = "") -> dict[str, Any]:
    text = f"""name = "s"
scenario = "{file.name}"
seeds = 1
measures = {json.dumps(measures)}
control = {{ aqm = "codel" }}
{more}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["codel", "pie"]
"""
    (file.parent / "s.toml").write_text(text, encoding="utf-8")
    asked_for = sweeps.parse_file(file.parent / "s.toml")
    planned = sweeps.plan(asked_for)
    found = sweeps.run(planned, store.open_store(str(file.parent / "store")), sweeps.Threads(asked_for.document, 1))
    return {m.id: found.values[m.id][0] for m in asked_for.measures} | {"": found}


def of_packets(trace: dict[str, Any], flow: int, begin: float) -> tuple[list[float], int]:
    """The sojourn times, ms, and the bytes of a flow's packets that leave a queue from `begin` on, from its events."""
    waiting: dict[int, deque[float]] = defaultdict(deque)
    times, size = [], 0
    for row in trace["events"]:
        event = dict(zip(trace["columns"], row, strict=True))
        if event["flow"] != flow:
            continue
        if event["event"] == "+":
            waiting[event["seq"]].append(event["time_s"])
        elif event["event"] == "d":
            waiting[event["seq"]].popleft()
        else:
            came = waiting[event["seq"]].popleft()
            if event["time_s"] >= begin:
                times.append(1e3 * (event["time_s"] - came))
                size += event["size"]
    return times, size


def test_a_measure_is_one_number_everywhere(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    assert cli.main(["run", str(file), *options(), "--json"]) == cli.DONE
    ran = {name: one["value"] for name, one in json.loads(capsys.readouterr().out)["measures"].items()}
    assert list(ran) == [*PATHS, "frames"]
    assert all(isinstance(value, float) for value in ran.values())
    assert ran["named"] == ran["numbered"] != ran["band"]
    # Python, with the record key that the scenario lacks; the function is Python's own.
    own = {**PATHS, "frames": lambda result: result["traffic"][2]["frames_complete"]}
    compared = ed.compare(str(file), ["codel", "pie"], seeds=1, measures=own, progress=False).results[""]
    assert {name: compared.series("codel", name)[0] for name in ran} == ran
    recorded = quantity.with_records(ed.load(file).document, [PATHS["named"]])
    result = ed.parse(recorded).run(seed=1)
    assert {name: result.measure(path) for name, path in PATHS.items()} == {name: ran[name] for name in PATHS}
    # The command, a sweep's file, a search.
    assert cli.main(["compare", str(file), "--aqm", "codel", "--seeds", "1", *options(), "--json"]) == cli.DONE
    cells = json.loads(capsys.readouterr().out)["cells"]["codel"]
    assert {name: cells[name]["mean"] for name in ran} == ran
    texts = [f"{title} = {path}" for title, path in PATHS.items()]
    with ed_trust():
        found = swept(file, [*texts, "frames = mine.py:frames better=more"])
    assert {name: found[name][0] for name in ran} == ran
    measures = asked([*texts, "frames = mine.py:frames better=more"])
    problem = tune.problem(file, "codel", [], ["target=2ms..10ms"], measures=measures)
    runs = tune.Runs(problem, store.open_store(str(file.parent / "store")), lambda base: sweeps.Threads(base, 1))
    (base,) = runs([None], 1, 1)
    assert dict(zip(ran, (values[0] for values in base), strict=True)) == ran


def ed_trust() -> Any:
    from earlydrop.own_aqms.registry import trusting

    return trusting()


def test_a_band_of_a_queue_is_a_measure(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"{QUEUE}.bands.L.delay_p99_ms"
    alone = ed.load(file, {"queue.bottleneck.aqm": "dualpi2"}).run(seed=1).measure(path)
    said = ["--measure", f"L = {path}", "--aqm", "dualpi2", "--seeds", "1", "--json"]
    assert cli.main(["compare", str(file), *said]) == cli.DONE
    assert json.loads(capsys.readouterr().out)["cells"]["dualpi2"]["l"]["mean"] == alone > 0


def test_a_measure_is_what_packet_records_give(file: Path) -> None:
    document = quantity.with_records(ed.load(file).document, PATHS.values())
    plain = ed.load(file).run(seed=3)
    with pytest.raises(MeasureError, match=r"delay_p99_ms needs record\.by_flow = true in the scenario"):
        plain.measure(PATHS["named"])
    document["record"]["trace"] = 1_000_000
    result = ed.parse(document).run(seed=3)
    times, size = of_packets(result.document["trace"], 1, 2.0)
    assert len(times) > 500
    assert result.measure(PATHS["rate"]) == pytest.approx(8e-6 * size / 6, rel=1e-12)
    assert result.measure(PATHS["mean"]) == pytest.approx(sum(times) / len(times), rel=1e-6)
    p99 = sorted(times)[math.ceil(0.99 * len(times)) - 1]
    # The upper edge of a bin: 1 us wide up to 2 ms, then a thousandth.
    assert p99 - 1e-3 <= (result.measure(PATHS["named"]) or 0.0) <= max(p99 * 1.001, p99 + 2e-3)


# ---- paths ---------------------------------------------------------------------------------------------------------


def test_an_entry_is_its_number_or_its_name() -> None:
    entries = [{"name": "a", "x": 1}, {"name": "1", "x": 2}, {"name": "v1.5", "x": 3}, {"name": None, "x": 4}]
    document = {"traffic": entries}
    assert [lookup(document, f"traffic.{step}.x") for step in ("0", "a", "1", '"1"', '"v1.5"', "3")] == [
        1,
        1,
        2,
        2,
        3,
        4,
    ]
    assert lookup(document, "traffic.b.x") is lookup(document, "traffic.9.x") is lookup(document, "traffic.x") is None
    assert steps_of('a."b.c".0') == ("a", "b.c", "0")
    entries.append({"name": "a", "x": 5})
    with pytest.raises(PathError, match='entries 0, 4 are both called "a"; allowed their numbers, from 0'):
        lookup(document, "traffic.a.x")
    assert lookup(document, "traffic.4.x") == 5


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", 'a."b', '"a"b', "a.b."])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError, match="given"):
        steps_of(path)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (f"{QUEUE}.traffic.prague.delay_p99_ms", "by_flow"),
        (f"{QUEUE}.flows.3.departures", "by_flow"),
        (f"{QUEUE}.class_jain", "by_flow"),
        ("traffic.prague.rtt_p99_ms", "by_flow"),
        ("traffic.0.pdv_p99_ms", "jitter"),
        ("flows.0.loss_ratio", "losses"),
        (f"{QUEUE}.loss_synchronisation", "losses"),
        (f"{QUEUE}.delay_p99_ms", None),
        ("traffic.prague.goodput_mbps", None),
        ("jain", None),
    ],
)
def test_a_measure_turns_on_what_it_needs(path: str, key: str | None) -> None:
    assert quantity.record_of(path) == key
    made = quantity.with_records({"record": {"flows": True}}, [path])
    assert made == {"record": {"flows": True, **({} if key is None else {key: True})}}


# ---- declarations --------------------------------------------------------------------------------------------------


def test_what_a_path_has_of_itself() -> None:
    (one,) = asked({"Prague p99": PATHS["named"]})
    assert (one.id, one.label, one.better, str(one.margin)) == ("prague_p99", "Prague p99 (ms)", "less", "2 %")
    assert parsed("traffic.0.goodput_mbps").better == "more"
    bare = parsed("traffic.0.goodput_mbps unit=kbit/s scale=1000 digits=0 margin=5% better=less")
    assert (bare.id, bare.label) == ("traffic.0.goodput_mbps", "traffic.0.goodput_mbps (kbit/s)")
    assert (bare.better, str(bare.margin), bare.digits) == ("less", "5 %", 0)
    assert bare.value({"traffic": [{"goodput_mbps": 2.5}]}) == 2500
    known = parsed("Drops = drop_rate")
    assert (known.id, known.field, known.unit, known.scale) == ("drops", "queues.{queue}.drop_rate", "%", 100)
    (called,) = asked({"Fps": {"path": len, "better": "more", "margin": 0.5, "unit": "1/s"}})
    assert (called.better, str(called.margin), called.label, called.value({"a": 1})) == ("more", "0.5", "Fps (1/s)", 1)
    (unsaid,) = asked({"Fps": len})
    assert (unsaid.better, unsaid.margin) == (None, None)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a = ", "allowed .TITLE = PATH"),
        ("a = traffic..x", "given .traffic..x"),
        ("a = jain speed=3", "none of unit=, better="),
        ("a = jain unit=x unit=y", "each once"),
        ("a = jain better=lower", 'better: given .lower.; allowed "less", "more"'),
        ("a = jain margin=0", "margin: given"),
        ("a = jain margin=x%", "margin: given"),
        ("a = traffic.0.jain digits=99", "digits: given 99"),
        ("a = traffic.0.jain digits=x", "digits: given x; allowed a number"),
        ("a = nothere.py:f", "nothere.py: no such file"),
        ("a = mine.py:frame", 'there is no function frame; did you mean "frames"'),
    ],
)
def test_a_wrong_declaration_is_refused(file: Path, text: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MeasureError, match=what):
        asked(text)
    assert cli.main(["run", str(file), "--measure", text]) == cli.WRONG_INPUT
    assert capsys.readouterr().err.startswith("error: --measure: ")


def test_two_measures_of_one_name_are_refused() -> None:
    with pytest.raises(MeasureError, match='"A" and "a" are both called a'):
        asked({"A": "jain", "a": "cov"})


@pytest.mark.parametrize(
    "command", [["run"], ["compare", "--aqm", "codel", "--seeds", "1"], ["tune", "--aqm", "codel"]]
)
def test_a_measure_that_no_result_has_is_refused_before_the_runs(
    file: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    measure = ["--measure", "traffic.prage.goodput_mbps better=more"]
    assert cli.main([command[0], str(file), *command[1:], *measure]) == cli.WRONG_INPUT
    said = capsys.readouterr().err
    assert 'a result has no field "traffic.prage.goodput_mbps"; did you mean "traffic.prague.goodput_mbps"?' in said


def test_a_name_of_two_entries_and_a_text_are_refused(file: Path) -> None:
    twice = {"traffic": [{"name": "a", "jain": 1.0}, {"name": "a", "jain": 0.5}]}
    with pytest.raises(MeasureError, match=r'measure traffic.a.jain: traffic.a.jain: entries 0, 1 are both called "a"'):
        parsed("traffic.a.jain").value(twice)
    assert quantity.complaint(parsed("traffic.a.jain"), twice).startswith("the field traffic.a.jain: entries 0, 1")
    with pytest.raises(MeasureError, match=r"the field traffic.call.kind is not a number"):
        ed.compare(str(file), ["codel"], seeds=1, measures="traffic.call.kind", progress=False)


def test_a_function_that_fails_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(file), "--measure", "x = mine.py:broken"]) == cli.WRONG_INPUT
    assert "measure x: mine.py:broken: KeyError: 'no such field'" in capsys.readouterr().err


# ---- what is said of them ------------------------------------------------------------------------------------------


def test_what_was_asked_for_comes_first_and_only_a_direction_is_judged(file: Path) -> None:
    own = {
        "Prague p99": PATHS["named"],
        "Frames": lambda result: result["traffic"][2]["frames_complete"],
        "Close": {"path": "traffic.prague.goodput_mbps", "margin": "900 %"},
    }
    found = ed.compare(str(file), ["codel", "dualpi2"], seeds=4, measures=own, progress=False)
    first = found.results[""]
    assert found.measures[:4] == ["prague_p99", "frames", "close", "goodput"]
    judged, means, close, usual, *_ = found.summary
    assert "less Prague p99 than CoDel" in judged
    assert means.startswith("Frames is ")
    assert means.endswith("no `better` says which is to be preferred.")
    assert not any(word in means for word in ("less", "more", "equal", "difference"))
    assert close == "DualPI2 and CoDel have equal Close (within 900 %)."
    assert "queueing delay" in usual
    # Tables and figures.
    assert str(found).index("Prague p99 (ms)") < str(found).index("Goodput (Mbit/s)")
    titles = [ax.get_xlabel() or ax.get_ylabel() for ax in found.plot().axes]
    assert titles == ["Prague p99 (ms)", "Frames", "Close (Mbit/s)"], "and nothing else"
    assert "Prague p99" in found.to_latex()
    assert "Goodput" not in found.to_latex()
    # What no direction is known of takes no part in the correction of statements of equality.
    assert "frames" not in words.findings([("", first)])[1]


def test_a_sweep_says_all_that_was_asked_for(file: Path) -> None:
    names = ["queue", "jain", "goodput", "utilisation", "drop_rate"]
    own = '[[measure]]\nid = "n"\ntitle = "Flows"\nfield = "traffic.0.flows"\n'
    found = swept(file, [f"Prague p99 = {PATHS['named']}", *names], own)[""]
    assert [m.id for m in found.sweep.measures] == ["prague_p99", *names, "n"]
    assert all(m.asked for m in found.sweep.measures)
    assert found.sweep.document["record"]["by_flow"] is True
    assert "Flows" in str(found)
    assert "and the measures" not in str(found)
    # A sweep that names none has its own first, and says delay and goodput.
    text = (file.parent / "s.toml").read_text(encoding="utf-8")
    (file.parent / "t.toml").write_text(re.sub("(?m)^measures = .*$", "", text), encoding="utf-8")
    every = sweeps.parse_file(file.parent / "t.toml").measures
    assert [m.id for m in every] == ["n", *quantity.KNOWN]
    assert words.wanted(every) == [("n",), *words.SPOKEN]


def test_a_sweep_judges_what_has_a_direction(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each measure has a sentence, in the order of the file; without a direction it has the means alone."""
    # The runs are of moments: of their windows nothing is asked.
    monkeypatch.setattr(window, "judge", lambda *_: None)
    own = '[[measure]]\nid = "n"\ntitle = "Flows"\nfield = "traffic.0.flows"\n'
    names = ["Prague p99 = " + PATHS["named"], "Call = traffic.call.frame_delay_mean_ms better=less"]
    swept(file, names, own)
    text = (file.parent / "s.toml").read_text(encoding="utf-8").replace("seeds = 1", "seeds = 4")
    document = tomllib.loads(text.replace(f'"{file.name}"', f'"{file}"'))
    found = ed.sweep(document, store=str(file.parent / "store"), progress=False)
    p99, call, flows, *_ = found.summary
    assert p99.startswith("Prague p99 against codel: ")
    assert call.startswith("Call against codel: ")
    assert re.fullmatch(r"Flows is 1\.000 .* No `better` says which is to be preferred\.", flows)


def test_a_level_may_have_what_the_base_lacks(file: Path) -> None:
    def named(name: str) -> str:
        return f'{{ name = "{name}", set = {{ "traffic.2.name" = "{name}" }} }}'

    levels = f"[{named('call')}, {named('video')}]"
    level = f'[[factor]]\nname = "other"\nlevels = {levels}\n'
    found = swept(file, ["traffic.video.frames_sent"], level)[""]
    values = found.values["traffic.video.frames_sent"]
    there = {point.levels[0].name: values[k] != [None] for k, point in enumerate(found.sweep.points)}
    assert there == {"call": False, "video": True}
    with pytest.raises(sweeps.SweepError, match=r'a result has no field "traffic.vide.frames_sent"; did you mean'):
        swept(file, ["traffic.vide.frames_sent"], level)


def test_a_sweep_runs_a_function_by_trust(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "other.py").write_text(MINE, encoding="utf-8")
    table = '[[measure]]\nid = "f"\nfield = "other.py:frames"\n'
    with pytest.raises(sweeps.SweepError, match=r"measure 1: names code, other.py:frames, .*--trust"):
        swept(file, ["goodput"], table)
    with ed_trust():
        assert swept(file, ["goodput"], table)["f"][0] > 0


def test_figures_take_functions(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those whose file or name is that of a field: a function has no kind, and no bounds of one."""
    (file.parent / "jain.py").write_text(
        "def signed(result):\n    return result['traffic'][2]['frames_complete'] % 7 - 3.5\n", encoding="utf-8"
    )
    (file.parent / "s.toml").write_text(
        f"""name = "s"
scenario = "{file.name}"
seeds = 2
measures = ["Frames = mine.py:frames unit=frames", "Signed = jain.py:signed", "Freezes = traffic.call.freezes"]
control = {{ aqm = "codel" }}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["codel", "pie"]
[[factor]]
path = "rtt"
values = ["20 ms", "40 ms"]
""",
        encoding="utf-8",
    )
    plots = [
        word
        for plot in ("Frames by aqm", "box signed by aqm in rtt", "signed vs rtt by aqm", "frames vs signed")
        for word in ("--plot", plot)
    ]
    sweep = ["sweep", str(file.parent / "s.toml"), "--trust", "--out", "swept", "--figures", "png"]
    assert cli.main([*sweep, *plots]) == cli.DONE
    figures_ = file.parent / "swept/figures"
    assert len(list(figures_.iterdir())) == 4
    assert cli.main(["report", "swept", *plots[-4:], "--figures", "svg"]) == cli.DONE
    assert len(list(figures_.glob("*.svg"))) == 2
    with ed_trust():
        found = ed.sweep(file.parent / "s.toml", store=str(file.parent / "store"), progress=False)
    labels = {ax.get_ylabel() for ax in found.plot().axes}
    assert {"Frames (frames)", "Signed"} <= labels
    data = report.read_data(file.parent / "swept")
    assert data.bounds("signed") == (-math.inf, math.inf), "not those of Jain's index"


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.0, 3.0]])
def test_an_axis_of_zeros_begins_at_zero(file: Path, values: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a count is 0 in all runs, the axis has whole numbers from 0 up; a function may be less than 0."""
    rtt = '[[factor]]\npath = "rtt"\nvalues = ["20 ms", "40 ms"]\n'
    found = swept(file, ["Freezes = traffic.call.freezes"], rtt)[""]
    folder = file.parent / "zeros"
    folder.mkdir()
    text.write(folder, found, "")
    data = report.read_data(folder)
    runs = pl.DataFrame(
        {"point": range(4), "seed": [1] * 4, "freezes": values * 2}, schema_overrides={"point": pl.UInt32}
    )
    monkeypatch.setattr(data, "_runs", runs.lazy())
    plain = figures.draw(data, figures.parse("freezes vs rtt by aqm", data)).axes[0]
    rows = figures.draw(data, figures.parse("box freezes by aqm", data)).axes[0]
    curves = plots.curves(data)
    assert curves is not None
    for low, ticks in (
        (plain.get_ylim()[0], plain.get_yticks()),
        (curves.axes[0].get_ylim()[0], curves.axes[0].get_yticks()),
        (rows.get_xlim()[0], rows.get_xticks()),
    ):
        assert bool(list(ticks) == [0, 1] and low == -0.05) is (not any(values))


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ('field = "jain"\nbetter = "lower"', 'measure 1: better: given .lower.; allowed "less", "more"'),
        ('field = "jain"\nmargin = -1', "measure 1: margin: given -1"),
        ('field = "traffic..x"', "measure 1: given .traffic..x"),
    ],
)
def test_a_wrong_measure_of_a_sweep_is_refused(file: Path, table: str, what: str) -> None:
    with pytest.raises(sweeps.SweepError, match=what):
        swept(file, ["goodput"], f"[[measure]]\n{table}\n")


def test_a_page_is_written_again_with_its_measures(file: Path) -> None:
    arguments = ["compare", str(file), "--aqm", "codel", "pie", "--seeds", "2", "--out", "out", *options()]
    assert cli.main(arguments) == cli.DONE
    page = (file.parent / "out/report.html").read_text(encoding="utf-8")
    assert "named (ms)" in page
    (file.parent / "mine.py").unlink()
    assert cli.main(["report", "out"]) == cli.DONE
    assert (file.parent / "out/report.html").read_text(encoding="utf-8") == page


def test_a_run_shows_its_measures_first(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(file), "--out", "out", *options()]) == cli.DONE
    printed = capsys.readouterr().out
    assert printed.index("named (ms)") < printed.index("frames") < printed.index("departures")
    kept = json.loads((file.parent / "out/result.json").read_text(encoding="utf-8"))["measures"]
    assert kept["named"]["field"] == PATHS["named"]
    assert cli.main(["report", "out"]) == cli.DONE
    page = (file.parent / "out/report.html").read_text(encoding="utf-8")
    assert page.index("<td>named (ms)</td>") < page.index('id="figure"')
    flent = ["--format", "flent", "--out", "x.flent.gz", "--measure", "jain"]
    assert cli.main(["run", str(file), *flent]) == cli.WRONG_INPUT
    assert "--measure: belongs to --format folder" in capsys.readouterr().err


def test_tune_needs_a_direction(file: Path) -> None:
    measures = asked(["frames = mine.py:frames"])
    with pytest.raises(tune.TuneError, match="nothing says which way is better; allowed frames:min or frames:max"):
        tune.problem(file, "codel", [], measures=measures)
    (objective,) = tune.problem(file, "codel", ["frames:max"], measures=measures).objectives
    assert objective.larger


def test_a_study_takes_paths(tmp_path: Path) -> None:
    scenario = SCENARIO.partition("name")[2].partition("\n")[2].replace("[topology]", "[scenario.topology]")
    scenario = scenario.replace("[queue.", "[scenario.queue.").replace("[[traffic]]", "[[scenario.traffic]]")
    text = f"""name = "paths"
title = "Paths"
question = "Does a study take paths?"
seeds = 2
[source]
title = "none"
[scenario]
{scenario}
[[measure]]
id = "p99"
title = "Prague"
field = "{PATHS["named"]}"
[[experiment]]
id = "E-1"
title = "one"
measures = ["p99", "Call = {PATHS["call"]}"]
[[experiment.axis]]
id = "aqm"
title = "Discipline"
levels = [{{ id = "codel", set = {{ "queue.bottleneck.aqm" = "codel" }} }}]
"""
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study = studies.read(tmp_path)
    (experiment,) = study.experiments
    assert experiment.measures == ("p99", "call")
    assert experiment.scenario["record"] == {"by_flow": True}
    (values,) = studies.run(study, workers=1).values["E-1"].values()
    document = quantity.with_records(tomllib.loads(SCENARIO), PATHS.values())
    ran = [ed.parse(document).run(seed=seed) for seed in (1, 2)]
    assert values["p99"] == [one.measure(PATHS["named"]) for one in ran]
    assert values["call"] == [one.measure(PATHS["call"]) for one in ran]
    (tmp_path / "study.toml").write_text(text.replace("Call = traffic", "Call = mine.py:f "), encoding="utf-8")
    with pytest.raises(studies.StudyError, match="measures: "):
        studies.read(tmp_path)
