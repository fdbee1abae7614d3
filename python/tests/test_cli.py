"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest
from conftest import SMALL

from earlydrop import _core, aqm, cli, runner, schema, study
from earlydrop import study as studies
from earlydrop.render import plotting, run_report
from earlydrop.render.template import minus
from earlydrop.study.claim_results import VERDICTS


class Ended:
    """What one command printed and returned."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def earlydrop(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        code = cli.main([str(a) for a in arguments])
        return Ended(code, *capsys.readouterr())

    return call


def files(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# ---- list, show, init, check ---------------------------------------------------------------------------------------


def test_list(earlydrop: Any) -> None:
    every = earlydrop("list", "--json").json
    names = {"aqms": "tred", "tcps": "reno", "topologies": "dumbbell", "traffic": "ftp", "studies": "tred"}
    for kind, name in names.items():
        assert name in earlydrop("list", kind).out
        assert name in [entry["name"] for entry in earlydrop("list", kind, "--json").json]
        assert name in [entry["name"] for entry in every[kind]]


def test_show_names_unit_default_range_and_source(earlydrop: Any) -> None:
    text = earlydrop("show", "tred").out
    for word in ("min_th", "24", "packets", "max_p", "0.1", "Keerthi", "dotted: RED", "(0, 1]"):
        assert word in text
    document = earlydrop("show", "tred", "--json").json
    assert [c["title"] for c in document["curves"]] == ["TRED", "RED with the same thresholds"]
    names = [p["name"] for p in document["parameters"]]
    assert {"min_th", "max_th", "max_p", "w_q"} <= set(names)


def test_show_without_a_curve(earlydrop: Any) -> None:
    ended = earlydrop("show", "droptail")
    assert ended.code == 0
    assert "Drop probability" not in ended.out


@pytest.mark.parametrize(("suffix", "starts"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_show_draws_into_a_file(earlydrop: Any, tmp_path: Path, suffix: str, starts: bytes) -> None:
    path = tmp_path / f"curve.{suffix}"
    assert earlydrop("show", "tred", "--plot", path).code == 0
    assert path.read_bytes().startswith(starts)
    assert files(tmp_path) == [path.name]


@pytest.mark.parametrize(("aqm", "name"), [("tred", "curve.txt"), ("droptail", "curve.png"), ("tred", "no/curve.png")])
def test_show_that_cannot_draw_says_so(earlydrop: Any, tmp_path: Path, aqm: str, name: str) -> None:
    ended = earlydrop("show", aqm, "--plot", tmp_path / name)
    assert ended.code == 2
    assert "--plot" in ended.err
    assert files(tmp_path) == []


def test_show_suggests(earlydrop: Any) -> None:
    ended = earlydrop("show", "tedr")
    assert ended.code == 2
    assert 'there is no "tedr"; did you mean "tred"? Allowed: ' in ended.err
    assert 'did you mean "fq_codel"?' in earlydrop("show", "FQ_CoDell").err
    assert earlydrop("show", "FQ_CoDel").out == earlydrop("show", "fq_codel").out
    assert 'there is no "nothing"; allowed: droptail, ' in earlydrop("show", "nothing").err


def test_what_is_in_the_catalogue_is_listed_shown_in_the_schema_and_a_class(earlydrop: Any) -> None:
    """A discipline is declared once: whatever the catalogue has, people find everywhere."""
    entries = json.loads(_core.catalogue())
    names = [entry["name"] for entry in entries]
    folded = [one["name"] for one in json.loads(_core.folded())]
    assert [entry["name"] for entry in earlydrop("list", "aqms", "--json").json] == names + folded
    listed = earlydrop("list", "aqms").out
    schema = _core.schema()
    for entry in entries:
        name = entry["name"]
        assert f"\n  {name} " in listed, name
        shown = earlydrop("show", name).out
        missing = [p["name"] for p in entry["parameters"] if f"\n  {p['name']} " not in shown]
        assert missing == [], name
        for heading in ("What it does", "Source", "Differences", "Example"):
            assert f"\n## {heading}\n" in shown, name
        assert f'"const": "{name}"' in schema or f'"const":"{name}"' in schema, name
        assert getattr(aqm, aqm.class_name(entry))(limit=50).document()["aqm"] == name


def test_init_writes_a_scenario_that_is_valid_and_never_twice(
    earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert earlydrop("init", "first").code == 0
    assert earlydrop("check", "first.toml").code == 0
    again = earlydrop("init", "first")
    assert again.code == 2
    assert "first.toml" in again.err
    printed = earlydrop("init")
    assert printed.code == 0
    (tmp_path / "printed.toml").write_text(printed.out, encoding="utf-8")
    assert earlydrop("check", "printed.toml", "--set", "queue.bottleneck.aqm=red").code == 0


def test_init_prints_a_command_that_can_be_copied(
    earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert earlydrop("init", "a b").out == "wrote a b.toml; now: earlydrop run 'a b.toml'\n"
    assert files(tmp_path) == ["a b.toml"]


@pytest.mark.parametrize("kind", [one["name"] for one in schema.choices("topologies")])
def test_init_knows_every_topology(earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert earlydrop("init", "first", "--topology", kind).code == 0
    assert earlydrop("check", "first.toml", "--json").json["name"] == "first"
    short = ["--set", "duration=3 s", "--set", "warmup=1 s"]
    document = earlydrop("run", "first.toml", *short, "--json").json
    assert document["goodput_total_mbps"] > 0.5
    assert all(queue["aqm"] == "fq_codel" for queue in document["queues"].values())
    assert earlydrop("show", "first.toml").code == 0


@pytest.mark.parametrize("paper", study.available())
def test_init_writes_the_scenario_of_a_paper(
    earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paper: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert earlydrop("init", "old", "--paper", paper).code == 0
    document = earlydrop("check", "old.toml", "--json").json
    assert document["name"] == "old"
    assert all(queue["limit"].endswith(("packets", "B")) for queue in document["queue"].values())


def test_init_takes_a_paper_or_a_topology(earlydrop: Any) -> None:
    assert 'did you mean "tred"?' in earlydrop("init", "--paper", "tredd").err
    assert "exclude each other" in earlydrop("init", "--paper", "tred", "--topology", "star").err


def test_init_suggests_a_topology(earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = earlydrop("init", "first", "--topology", "flour")
    assert ended.code == 2
    assert 'no topology "flour"; did you mean "flower"?' in ended.err
    assert files(tmp_path) == []


def test_check_prints_the_completed_document(earlydrop: Any, scenario: Path) -> None:
    document = earlydrop("check", scenario, "--json", "--set", "seed=9").json
    assert document["seed"] == 9


# ---- run -----------------------------------------------------------------------------------------------------------


def test_run_is_repeatable(earlydrop: Any, scenario: Path) -> None:
    first, second = (earlydrop("run", scenario, "--seed", 7, "--json").json for _ in range(2))
    for one in (first, second):
        one.pop("cost")
    assert first == second
    assert first["seed"] == 7
    other = earlydrop("run", scenario, "--json").json
    assert other["seed"] == 3
    assert other["flows"] != first["flows"]


def test_run_conserves_packets(earlydrop: Any, scenario: Path) -> None:
    queue = earlydrop("run", scenario, "--json").json["queues"]["bottleneck"]
    drops = queue["early_drops"] + queue["forced_drops"] + queue["overflow_drops"]
    assert queue["arrivals"] > 0
    assert queue["queued_at_start"] + queue["arrivals"] == queue["departures"] + drops + queue["queued_at_end"]


def test_report_makes_a_page_of_a_run(earlydrop: Any, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert earlydrop("run", scenario, "--out", out, "--set", 'record.series="100 ms"').code == 0
    ended = earlydrop("report", out, "--json")
    assert ended.json == {"report": str(out / "report.html")}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)=["'](?!data:|#)[^"']*""", page) == []
    entry = json.loads((out / "result.json").read_text())["queues"]["bottleneck"]
    for cell in (f"{entry['queue_mean_packets']:.2f}", f"{entry['delay_p99_ms']:.3f}", str(entry["arrivals"])):
        assert f"<td>{cell}</td>" in page
    assert page.count("<td>ftp</td>") == 4
    assert "aqm = &#34;red&#34;" in page
    assert "report.html" in json.loads((out / "manifest.json").read_text())["files"], "the next run may replace it"
    first = page
    assert earlydrop("report", out).code == 0
    assert (out / "report.html").read_text(encoding="utf-8") == first


def test_a_runs_page_tells_traffic_entries_apart() -> None:
    flow = {"kind": "ftp", "tcp": "cubic", "throughput_mbps": 9.0, "delay_mean_ms": 1.0}
    document = {
        "scenario": "two ways",
        "seed": 1,
        "queues": {"bottleneck": {"aqm": "codel", "delay_mean_ms": 1.0}},
        "flows": [{**flow, "id": k, "goodput_mbps": goodput} for k, goodput in enumerate([4.0, 5.0, 8.0], 1)],
        "traffic": [
            {"entry": 1, "name": None, "kind": "ftp", "tcp": "cubic", "flows": 2},
            {"entry": 2, "name": "upload", "kind": "ftp", "flows": 1},
        ],
    }
    page = run_report.context(document, {})
    assert page["flow_head"] == ["Flow", "Entry", "Traffic", "TCP", "Goodput (Mbit/s)", "One-way delay (ms)"]
    assert [row[:2] for row in page["flows"]] == [["1", "1, ftp, cubic"], ["2", "1, ftp, cubic"], ["3", "upload"]]
    ax = plotting.run_figure(document).axes[-1]
    drawn = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}
    assert drawn == {"1, ftp, cubic": ([1, 2], [5.0, 4.0]), "upload": ([3], [8.0])}
    # One entry has its mean instead.
    alone = {**document, "traffic": [{"entry": 1, "name": None, "kind": "ftp", "flows": 3}]}
    assert [t.get_text() for t in plotting.run_figure(alone).axes[-1].texts] == ["mean"]


@pytest.mark.parametrize(
    ("result", "message"),
    [("", "cannot be read"), ('{"queues": {}}', 'there is no "scenario"'), ("[]", "given a list")],
)
def test_report_of_a_broken_run(earlydrop: Any, tmp_path: Path, result: str, message: str) -> None:
    (tmp_path / "scenario.json").write_text("{}")
    (tmp_path / "result.json").write_text(result)
    ended = earlydrop("report", tmp_path)
    assert ended.code == 2
    assert message in ended.err
    assert str(tmp_path / "result.json") in ended.err
    assert files(tmp_path) == ["result.json", "scenario.json"]


def test_run_writes_a_folder(earlydrop: Any, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = earlydrop("run", scenario, "--out", out, "--set", 'record.series="100 ms"')
    assert ended.code == 0
    assert "bottleneck" in ended.out
    assert files(out) == [
        "columns.json",
        "flows.csv",
        "flows.parquet",
        "inputs/small.toml",
        "manifest.json",
        "queues.csv",
        "queues.parquet",
        "result.json",
        "result.pdf",
        "result.png",
        "result.txt",
        "scenario.json",
        "series.parquet",
    ]
    queue = polars.read_parquet(out / "queues.parquet").row(0, named=True)
    entry = json.loads((out / "result.json").read_text())["queues"]["bottleneck"]
    assert queue == {"queue": "bottleneck", **entry}
    assert json.loads((out / "result.json").read_text())["series"]["time_s"]
    assert files(tmp_path) == sorted(["small.toml", *("out/" + f for f in files(out))])


# ---- compare -------------------------------------------------------------------------------------------------------


def test_compare_prints_mean_half_width_and_n(earlydrop: Any, scenario: Path, tmp_path: Path) -> None:
    ended = earlydrop("compare", scenario, "--aqm", "red", "tred", "--aqm", "droptail", "--seeds", 3)
    assert ended.code == 0
    assert "n = 3" in ended.out
    assert "±" in ended.out
    assert "DropTail does not know" in ended.out
    out = tmp_path / "out"
    document = earlydrop(
        "compare", scenario, "--aqm", "red", "--aqm", "droptail", "--seeds", 2, "--out", out, "--json"
    ).json
    assert document["seeds"] == [3, 4]
    assert document["cells"]["red"]["delay"]["n"] == 2
    assert {"comparison.json", "comparison.pdf", "comparison.png", "runs.csv", "runs/red-seed3.json"} <= set(files(out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "")
    for text in (*document["summary"], *document["notes"]):
        assert minus(text) in html.unescape(page)
    assert f"<td>{minus(result_cell(out))}</td>" in page
    (out / "report.html").unlink()
    assert earlydrop("report", out, "--json").json == {"report": str(out / "report.html")}
    assert (out / "report.html").read_text(encoding="utf-8") == page
    refused = earlydrop("report", out, "--plot", "cdf delay by aqm")
    assert refused.code == cli.WRONG_INPUT
    assert f"{out}: is a comparison; --plot and --figures draw sweeps" in refused.err


def result_cell(out: Path) -> str:
    """The first cell of numbers in a comparison's text."""
    line = next(li for li in (out / "comparison.txt").read_text(encoding="utf-8").splitlines() if "Goodput (" in li)
    return re.split(r"\s{2,}", line)[1]


# ---- reproduce -----------------------------------------------------------------------------------------------------


def test_reproduce_writes_a_report_that_needs_no_other_file(earlydrop: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = earlydrop("reproduce", SMALL, "--quick", "--out", out)
    assert ended.code == 0
    for claim in studies.read(SMALL).claims:
        assert claim.id in ended.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert page.count("data:image/svg+xml;base64,") == len(list((out / "figures").glob("*.svg")))
    assert 'src="figures' not in page
    assert {"result.json", "runs/A-1.csv", "runs/A-1.parquet", "verdicts.txt", "figures/figure-1.svg"} <= set(
        files(out)
    )
    for scenario in (out / "scenarios").glob("*.toml"):
        assert earlydrop("check", scenario).code == 0
    # Runs are kept beside the results.
    assert earlydrop("store", "verify", tmp_path / "store").code == 0


def test_reproduce_prints_one_document(earlydrop: Any, tmp_path: Path) -> None:
    command = ["reproduce", SMALL, "--quick", "--out", tmp_path / "out", "--store", tmp_path / "kept", "--json"]
    document = earlydrop(*command).json
    assert [c["id"] for c in document["claims"]] == [c.id for c in studies.read(SMALL).claims]
    assert {c["verdict"] for c in document["claims"]} <= set(VERDICTS)
    cell = document["experiments"][0]["cells"][0]
    assert set(cell["delay"]) == {"mean", "half_width", "n", "replicates"}
    assert document["cost"]["made"] == document["runs"]
    assert earlydrop(*command).json["cost"]["made"] == 0


def test_reproduce_takes_a_folder(earlydrop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    text = (SMALL / "study.toml").read_text(encoding="utf-8").replace('name = "small"', 'name = "mine"', 1)
    (tmp_path / "mine" / "study.toml").write_text(text, encoding="utf-8")
    for beside in ("published", "cost.csv", "statements.toml"):
        (tmp_path / "mine" / beside).symlink_to(SMALL / beside)
    ended = earlydrop("reproduce", "./mine", "--quick", "--assume", "tcp=newreno", "--assume", "buffer=large")
    assert ended.code == 0, ended.err
    assert "report: out/mine/report.html" in ended.out
    assert "tcp = newreno, buffer = large" in ended.out


def test_check_takes_a_study(earlydrop: Any) -> None:
    ended = earlydrop("check", SMALL)
    assert ended.code == 0
    assert "small is a valid study: 2 experiments, 23 cells, 100 runs" in ended.out
    assert earlydrop("check", SMALL / "study.toml", "--json").json["experiments"][1] == {
        "id": "A-2",
        "cells": 3,
        "seeds": 3,
        "measures": ["completed", "mean_time", "lost", "winners", "won"],
    }


# ---- how it ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["run", "--help"],
        ["--version"],
    ],
)
def test_help_is_no_error(earlydrop: Any, arguments: list[str]) -> None:
    ended = earlydrop(*arguments)
    assert ended.code == 0
    assert ended.out
    assert ended.err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rum", "x.toml"], "rum"),
        (["run"], "SCENARIO"),
        (["run", "missing.toml"], "missing.toml"),
        (["run", "SCENARIO", "--seed", "-1"], "--seed"),
        (["run", "SCENARIO", "--seed", "many"], "many"),
        (["run", "SCENARIO", "--seed", "1.5"], "1.5"),
        (["run", "SCENARIO", "--seed", "-0.4"], "a whole number"),
        (["compare", "SCENARIO", "--aqm", "red", "--seeds", "2.6"], "a whole number"),
        (["run", "SCENARIO", "--set", "nonsense"], "PATH=VALUE"),
        (["run", "SCENARIO", "--nonsense"], "nonsense"),
        (["run", "SCENARIO", "--out", "SCENARIO"], "not a folder"),
        (["run", "SCENARIO", "--set", "queue.bottleneck.min_th=99"], "min_th"),
        (["run", "SCENARIO", "--set", "duration=0 s"], "duration"),
        (["compare", "SCENARIO"], "--aqm"),
        (["compare", "SCENARIO", "--aqm", "redd"], 'there is no "redd"; did you mean "red"?'),
        (["compare", "SCENARIO", "--aqm", "FQ_CoDell"], 'did you mean "fq_codel"?'),
        (["compare", "SCENARIO", "--aqm", "red", "--aqm", "red"], "twice"),
        (["compare", "SCENARIO", "--aqm", "red", "--seeds", "0"], "--seeds"),
        (["compare", "SCENARIO", "--aqm", "", "pie"], '--aqm: given ""; allowed a discipline'),
        (["compare", "SCENARIO", "--aqm", "red", "--most", "20"], "--most: belongs to --until"),
        (
            ["compare", "SCENARIO", "--aqm", "red", "--until", "2%", "--most", "1"],
            "--most: given 1; allowed 10 to 100000 (--until runs at least 10 seeds)",
        ),
        (["init", ""], 'NAME: given ""; allowed the name of the scenario'),
        (["init", ".toml"], 'NAME: given ".toml"; allowed the name of the scenario'),
        (["init", "nodir/a"], "nodir/a.toml: there is no folder nodir"),
        (["trace", "SCENARIO", "nodir/x.tr"], "nodir/x.tr: there is no folder nodir"),
        (["show", "prague"], "prague is a TCP, which `earlydrop list tcps` describes; allowed here is a stack"),
        (["show", "linux-6.1"], 'or a TCP stack (did you mean "linux-6.18"?'),
        (["compare", "missing.toml", "--aqm", "red"], "missing.toml"),
        (["reproduce", "nope"], "nope"),
        (["reproduce", "./nope"], "study.toml"),
        (["reproduce", "tred", "--workers", "0"], "--workers"),
        (["reproduce", "tred", "--assume", "tcp"], "NAME=VALUE"),
        (["reproduce", "tred", "--assume", "tpc=reno"], 'did you mean "tcp"'),
        (["reproduce", "tred", "--assume", "tcp=fast"], "traffic[0].tcp"),
        (["reproduce", "all", "--assume", "tpc=reno"], 'did you mean "tcp"'),
        (["list", "birds"], "birds"),
        (["bench", "--against", "ns4"], "ns4"),
        (["bench", "--case", "Z"], "A, B, C"),
        (["validate", "--case", "S9"], "S1-droptail-n6-b120"),
        (["validate", "--seeds", "0"], "--seeds"),
    ],
)
def test_wrong_input_is_answered_with_2_one_message_and_no_file(
    earlydrop: Any,
    scenario: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = [str(scenario) if a == "SCENARIO" else a for a in arguments]
    ended = earlydrop(*given)
    assert ended.code == 2, ended.err
    assert says in ended.err
    assert ended.err.startswith("error: ")
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert files(tmp_path) == ["small.toml"]
    as_json = earlydrop(*given, "--json")
    assert as_json.code == 2
    assert as_json.json["exit"] == 2


def test_a_scenario_error_names_its_parts(earlydrop: Any, scenario: Path) -> None:
    error = earlydrop("run", scenario, "--set", "queue.bottleneck.max_p=1.5", "--json").json["error"]
    assert error["path"] == "queue.bottleneck.max_p"
    assert "1.5" in error["given"]


def test_a_failed_run_ends_with_1(earlydrop: Any, scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scenario: _core.Scenario, seed: int | None) -> _core.Outcome:
        raise runner.RunError("run failed (small): no luck")

    monkeypatch.setattr(runner, "outcome", fail)
    ended = earlydrop("run", scenario)
    assert ended.code == 1
    assert "no luck" in ended.err


def test_a_fault_of_ours_ends_with_3_and_a_file_that_says_where(
    earlydrop: Any, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(scenario: _core.Scenario, seed: int | None) -> _core.Outcome:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(runner, "outcome", fail)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    monkeypatch.chdir(here)
    for words, folder in ((["run", scenario], here), (["run", scenario, "--out", there / "out"], there)):
        ended = earlydrop(*words)
        assert ended.code == 3
        assert "internal error: oops" in ended.err
        assert "Traceback" not in ended.err
        (file,) = folder.iterdir()
        assert file.name in ended.err
        told = file.read_text(encoding="utf-8")
        assert "ZeroDivisionError: oops" in told
        assert f"earlydrop run {scenario}" in told
    if not Path("/proc").is_dir():
        return
    # Where nothing can be written.
    monkeypatch.chdir("/proc")
    ended = earlydrop("run", scenario, "--json")
    assert ended.code == 3
    assert "ZeroDivisionError: oops" in ended.err
    assert "the lines above" in json.loads(ended.out)["error"]["message"]


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = f"'{sys.executable}' -m earlydrop show tred | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "TRED" in done.stdout
    assert "Traceback" not in done.stderr


LOADED = """
import sys
before = set(sys.modules)
from earlydrop import cli
assert cli.main() == cli.DONE
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "packages"),
    [
        (["--version"], {"earlydrop"}),
        (["run", "small.toml"], {"earlydrop", "cyclopts", "attr", "attrs"}),
    ],
)
def test_commands_that_are_done_at_once_load_little(scenario: Path, words: list[str], packages: set[str]) -> None:
    """What takes 5 ms or more to load: libraries, and these modules of Python's own."""
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, cwd=scenario.parent, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == packages
    assert not loaded & {"asyncio", "concurrent.futures", "hashlib", "logging", "tempfile", "unittest"}


def test_a_parameter_that_is_set_beside_a_discipline_must_be_that_ones(earlydrop: Any, scenario: Path) -> None:
    sets = ["--set", "queue.bottleneck.aqm=pie", "--set", "queue.bottleneck.target=1ms"]
    for order in (sets, sets[2:] + sets[:2]):
        ended = earlydrop("check", scenario, *order)
        assert ended.code == 2
        assert "queue.bottleneck.target: pie has no such parameter; tc's target is qdelay_ref here" in ended.err
