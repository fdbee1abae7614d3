"""Flent files: the real flent reads them, and a recorded one is compared with the simulator."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import peer

from earlydrop import _core, cli, flent
from earlydrop.links import crosscheck_flent

HOME = """\
name = "home"
duration = "20 s"
seed = 2

[topology]
kind = "dumbbell"
pairs = 5
access = { rate = "1 Gbit/s", delay = "2 ms" }
bottleneck = { rate = "20 Mbit/s", delay = "6 ms" }
reverse = { rate = "5 Mbit/s", delay = "6 ms" }

[queue.bottleneck]
aqm = "pie"
limit = "500 packets"

[queue.reverse]
aqm = "droptail"
limit = "50 packets"
"""
STREAMS = """
[[traffic]]
kind = "ftp"
count = {count}
tcp = "cubic"
stack = "linux-6.18"
segment = "1448 B"
direction = "{direction}"
start = {{ uniform = ["5 s", "5.1 s"] }}
lifetime = "10 s"
"""
CALL = '[[traffic]]\nkind = "voip"\noff = "0 s"\n'


def scenario(folder: Path, down: int = 2, up: int = 0, more: str = "") -> Path:
    """A home link with these streams."""
    ways = [(count, way) for count, way in ((down, "forward"), (up, "reverse")) if count]
    text = HOME + "".join(STREAMS.format(count=count, direction=way) for count, way in ways) + more
    path = folder / "home.toml"
    path.write_text(text, encoding="utf-8")
    return path


def written(folder: Path, *, down: int = 2, up: int = 0, more: str = "", seed: int = 2) -> Path:
    path = folder / f"run{seed}.flent.gz"
    command = ["run", str(scenario(folder, down, up, more)), "--format", "flent", "--out", str(path)]
    assert cli.main([*command, "--seed", str(seed)]) == cli.DONE
    return path


@pytest.mark.parametrize(
    ("down", "up", "test", "plots"),
    [
        (1, 0, "tcp_ndown", ["totals", "ping_cdf", "box_totals"]),
        (0, 2, "tcp_nup", ["totals", "upload_with_ping", "ping_cdf"]),
        (2, 1, "rrul_be_nflows", ["all_scaled", "totals", "ping_cdf", "box_combine"]),
        (0, 0, "ping", ["ping", "ping_cdf"]),
    ],
)
def test_flent_summarises_and_plots_the_file(
    tmp_path: Path, down: int, up: int, test: str, plots: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    program = peer("flent")
    path = written(tmp_path, down=down, up=up, more=CALL if not down + up else "")
    assert f"Flent's test {test}" in capsys.readouterr().out
    made = subprocess.run([program, "-f", "summary", str(path)], capture_output=True, text=True, check=True)
    content = flent.read(path)
    rows = {}
    for line in made.stdout.splitlines():
        name, colon, values = line.rpartition(" : ")
        if colon:
            rows[name.strip()] = values.split()
    assert set(rows) == set(content["results"])
    for name, (mean, _, _, *_) in rows.items():
        values = [one["val"] for one in content["raw_values"].get(name, [])]
        values = values or [v for v in content["results"][name] if v is not None]
        assert float(mean) == pytest.approx(math.fsum(values) / len(values), abs=0.006), name
    for plot in plots:
        picture = tmp_path / f"{plot}.png"
        drawn = subprocess.run([program, "-p", plot, "-o", str(picture), str(path)], capture_output=True, text=True)
        assert drawn.returncode == 0, drawn.stderr
        assert "ERROR" not in drawn.stderr
        assert "Missing data" not in drawn.stderr
        assert picture.read_bytes()[:4] == b"\x89PNG"


def test_the_series_are_what_the_engine_measured(tmp_path: Path) -> None:
    path = written(tmp_path, down=2, up=1)
    content = flent.read(path)
    document, streams = flent.instrumented(json.loads(_core.Scenario.load(str(tmp_path / "home.toml"), []).to_json()))
    result = json.loads(_core.Scenario.parse(document, []).run(2))
    assert (list(streams.down), list(streams.up), streams.ping) == ([1, 2], [3], (4, 5))
    assert content["x_values"] == pytest.approx([k / 5 for k in range(101)])
    names = {1: "TCP download BE::1", 2: "TCP download BE::2", 3: "TCP upload BE::1"}
    for flow, name in names.items():
        values = content["results"][name]
        assert values[:25] == [None] * 25, "the flow starts after 5 s"
        total = math.fsum(v or 0.0 for v in values) * 0.2
        assert total == pytest.approx(result["flows"][flow - 1]["goodput_mbps"] * 20, rel=1e-9)
    sums = zip(content["results"]["TCP download sum"], *(content["results"][names[k]] for k in (1, 2)), strict=True)
    assert all(s is None or s == pytest.approx((a or 0) + (b or 0)) for s, a, b in sums)
    # The path without load: 2 x (2 + 6 + 2) ms and the transmission of 84 B on five of six links.
    pings = [(one["t"] - flent.START, one["val"]) for one in content["raw_values"][flent.RTT]]
    empty = 20 + 84 * 8 * (1 / 20e3 + 1 / 5e3 + 4 / 1e6)
    assert [v for t, v in pings if t < 4.9] == pytest.approx([empty] * 25, abs=1e-3)
    loaded = [v for t, v in pings if 7 < t < 15]
    assert min(loaded) > empty + 1
    about = content["metadata"]
    assert (about["LENGTH"], about["TOTAL_LENGTH"], about["STEP_SIZE"]) == (10, 20, 0.2)
    assert about["INGRESS_INFO"]["qdiscs"][0]["name"] == "pie"
    assert about["TEST_PARAMETERS"] == {"download_streams": "2", "upload_streams": "1"}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first = written(tmp_path).read_bytes()
    assert written(tmp_path).read_bytes() == first
    assert written(tmp_path, seed=3).read_bytes() != first


def test_lost_pings_have_no_value() -> None:
    out: dict[str, Any] = {"sent_s": [0.0, 0.4, 0.6], "delay_ms": [10.0, 10.0, 10.0]}
    back: dict[str, Any] = {"sent_s": [0.0, 0.2, 0.4], "delay_ms": [5.0, 6.0, 7.0]}
    # The second ping was lost on its way out, the answer to the last on its way back.
    pings = list(flent._round_trips(out, back))
    assert pings == [(0.0, 15.0), (0.4, 17.0)]
    assert flent._on_grid(pings, [0.0, 0.2, 0.4, 0.6, 0.8]) == [15.0, None, 17.0, None, None]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--format", "flent"], "--out: given nothing; with --format flent allowed NAME.flent.gz"),
        (["--format", "flent", "--out", "x.json"], "--out: given x.json"),
        (["--format", "flent", "--out", "nowhere/x.flent.gz"], "does not exist"),
    ],
)
def test_wrong_names_are_refused(
    tmp_path: Path, arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", str(scenario(tmp_path)), *arguments]) == cli.WRONG_INPUT
    assert what in " ".join(capsys.readouterr().err.split())


LINK = crosscheck_flent.Link("20 Mbit/s", "pie limit=500p", "5 Mbit/s", "droptail limit=50p")


def test_a_recording_of_the_simulator_is_one_of_its_runs(tmp_path: Path) -> None:
    path = written(tmp_path, down=2, up=1, seed=50)
    found = crosscheck_flent.crosscheck(path, LINK, seeds=8)
    assert set(found.figures) == set(crosscheck_flent.FIGURES) - {"upload_least", "upload_most"}
    # Each lies outside of its interval by chance in one of twenty runs.
    assert sum(not one.inside for one in found.figures.values()) <= 1
    assert found.window == (5, 15)
    text = found.text()
    assert "the least of 23 pings before the streams" in text
    assert "Downloads by cubic: named by the series" in text


def test_another_queue_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path, down=2, seed=50)
    other = crosscheck_flent.Link("20 Mbit/s", "droptail limit=500p", "5 Mbit/s")
    found = crosscheck_flent.crosscheck(path, other, seeds=5)
    ping = found.figures["ping_mean"]
    assert not ping.inside
    assert ping.simulated > 2 * ping.recorded


def test_the_command_prints_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    capsys.readouterr()
    command = ["crosscheck", "--flent", str(path), "--rate", "20 Mbit/s", "--queue", "pie limit=500p", "--seeds", "3"]
    assert cli.main([*command, "--rtt", "20ms", "--tcp", "reno", "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["test"], found["downloads"], found["uploads"], found["seeds"]) == ("tcp_ndown", 2, 0, 3)
    low, high = found["measures"]["download"]["prediction_interval"]
    assert low < found["measures"]["download"]["simulated"] < high
    assert found["scenario"]["traffic"][0]["tcp"] == "reno"


def recorded(**changes: Any) -> dict[str, Any]:
    """A file as Flent writes it: 60 s of one download, rrul's kinds of pings."""
    at = [k / 5 for k in range(351)]
    rates = [10.0 if 5 < x <= 65 else None for x in at]
    about = {"NAME": "tcp_download", "TITLE": "", "LENGTH": 60, "TOTAL_LENGTH": 70, "STEP_SIZE": 0.2, "SERIES_META": {}}
    pings = [30.0 if x < 5 else 40.0 for x in at]
    content = {
        "version": 4,
        "metadata": about | {"T0": "2026-03-01T10:00:00.500000Z"},
        "x_values": at,
        "results": {"TCP download": rates, "Ping (ms) ICMP": pings, "Ping (ms) UDP": [p + 1 for p in pings]},
        "raw_values": {},
    }
    return content | changes


def save(path: Path, content: Any) -> Path:
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return path


def test_a_file_without_raw_values_is_read(tmp_path: Path) -> None:
    found = crosscheck_flent._recorded(recorded(), tmp_path)
    assert (found.down, found.up, found.window) == (1, 0, (5, 65))
    figures = crosscheck_flent._figures(recorded(), ["TCP download"], [], found.window)
    assert figures == {"download": 10.0, "ping_mean": 40.0, "ping_p50": 40.0, "ping_p95": 40.0}


def test_pings_are_read_at_the_times_they_were_sent(tmp_path: Path) -> None:
    # T0 is half a second after 10:00 UTC.
    begin = 1_772_359_200.5
    raw = {"Ping (ms) ICMP": [{"t": begin + 4.0, "val": 29.5, "seq": 1}, {"t": begin + 6.0, "val": 50.0, "seq": 2}]}
    found = crosscheck_flent._recorded(recorded(raw_values=raw), tmp_path)
    assert found.pings == [(4.0, 29.5), (6.0, 50.0)]
    assert crosscheck_flent._base_rtt(found, LINK)[0] == 0.0295


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([], "is no Flent file"),
        (recorded(version=1), "version: given 1; allowed 3 and 4"),
        (recorded(results={"Ping (ms) ICMP": []}), "NAME: given tcp_download; allowed tests with TCP streams"),
        (recorded(results={"TCP download": []}), "has no series of pings"),
        (recorded(metadata={"NAME": "x"}), "lacks LENGTH or TOTAL_LENGTH"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, content: Any, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "x.flent.gz", content)
    command = ["crosscheck", "--flent", str(path), "--rate", "20 Mbit/s", "--queue", "pie"]
    assert cli.main(command) == cli.WRONG_INPUT
    assert what in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--queue", "pie"], "--rate: missing"),
        (["--rate", "20 Mbit/s"], "--queue: missing"),
        (["--rate", "20 parsecs", "--queue", "pie"], "--rate: has the wrong unit"),
        (["--rate", "20 Mbit/s", "--queue", "pi e"], "--queue: given"),
        (["--rate", "20 Mbit/s", "--queue", "pie targe=3ms"], "--queue:"),
        (["--rate", "20 Mbit/s", "--queue", "pie", "--rtt", "soon"], "--rtt: given soon"),
        (["--rate", "20 Mbit/s", "--queue", "pie", "--tcp", "vegas"], "--tcp: given vegas; allowed reno, cubic, bbr"),
    ],
)
def test_wrong_options_are_refused(
    tmp_path: Path, options: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "x.flent.gz", recorded())
    assert cli.main(["crosscheck", "--flent", str(path), *options]) == cli.WRONG_INPUT
    assert what in " ".join(capsys.readouterr().err.split())
