"""What sweeps say in words: no more than their intervals hold; and where a discipline never acted."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from earlydrop import cli, sweeps
from earlydrop.analysis import statistics
from earlydrop.sweeps import parser, words
from earlydrop.sweeps.cells import Cell, Pair

SPREAD = (-1.5, -1.1, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.1, 1.5)
"""Ten values with mean 0."""
SWEEP = """\
name = "words"
seeds = {seeds}
measures = ["queue_delay", "goodput"]
{control}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["droptail", "pie", "codel"]
[[factor]]
name = "pairs"
path = "topology.pairs"
values = [2, 4]
[scenario]
duration = "4 s"
warmup = "1 s"
[scenario.topology]
kind = "dumbbell"
pairs = 4
access = {{ rate = "100 Mbit/s", delay = "5 ms" }}
bottleneck = {{ rate = "2 Mbit/s", delay = "10 ms" }}
[scenario.queue.bottleneck]
aqm = "droptail"
limit = "{limit}"
[[scenario.traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "0.5 s"] }}
"""
CONTROL = 'control = { aqm = "droptail" }'


def asked(seeds: int = 10, control: str = CONTROL, limit: str = "60 packets") -> sweeps.Sweep:
    text = SWEEP.format(seeds=seeds, control=control, limit=limit)
    return parser.parse_document(tomllib.loads(text), Path("x.toml"), text)


def said(delays: dict[tuple[str, str], tuple[float, float]], seeds: int = 10) -> list[str]:
    """What is said if the queueing delays have these differences from DropTail: mean and noise, by aqm and pairs."""
    sweep = asked(seeds)
    places = {tuple(level.name for level in p.levels): k for k, p in enumerate(sweep.points)}
    differences, pairs = [], []
    for (aqm, count), (mean, noise) in delays.items():
        pair = Pair("aqm", places[aqm, count], places["droptail", count])
        values = [mean + noise * x for x in SPREAD]
        pairs.append(pair)
        differences.append((pair, "queue_delay", statistics.paired([50 + v for v in values], [50.0] * 10)))
    ps = statistics.holm([d.t_p for _, _, d in differences if d.t_p is not None])
    made: Any = SimpleNamespace(
        sweep=sweep,
        pairs=pairs,
        differences=differences,
        corrected=[(p, p) for p in ps],
        tests=SimpleNamespace(tested=len(ps), count=len(ps)),
        tally=SimpleNamespace(failed=0),
        unused=None,
        warmups={},
        short_pairs=frozenset(),
    )
    return words.sentences(made)


def test_the_same_at_every_point_is_said_once() -> None:
    first, last = said(
        {("pie", "2"): (-8, 1), ("pie", "4"): (-10, 1), ("codel", "2"): (-20, 1), ("codel", "4"): (-12, 1)}
    )
    assert first == (
        "Queueing delay against droptail: less at all 2 points with codel, by 12.00 ms (11.32 to 12.68) at "
        "pairs = 4, up to 20.00 ms (19.32 to 20.68) at pairs = 2 and with pie, by 8.00 ms (7.32 to 8.68) at pairs = 2, "
        "up to 10.00 ms (9.32 to 10.68) at pairs = 4."
    )
    assert last == (
        "Brackets are 95 % intervals of the differences seed by seed, n = 10; what is claimed remains after Holm's "
        "correction for 4 differences."
    )


def test_what_differs_from_point_to_point_is_counted() -> None:
    first, _ = said(
        {("pie", "2"): (-8, 1), ("pie", "4"): (0.0, 4), ("codel", "2"): (0.1, 0.01), ("codel", "4"): (5, 1)}
    )
    assert first == (
        "Queueing delay against droptail: with pie less at 1 of 2 points, by 8.00 ms (7.32 to 8.68) at pairs = 2, "
        "no difference found at 1; with codel more at 1 of 2 points, by 5.00 ms (4.32 to 5.68) at pairs = 4, "
        "equal (within 2 %) at 1."
    )


def test_one_seed_claims_nothing() -> None:
    assert said({("pie", "2"): (-8, 1)}, seeds=1) == [
        "One seed cannot tell a difference from chance: nothing is claimed. Run more seeds."
    ]


def test_without_a_control_means_are_told_and_no_difference() -> None:
    # The lower interval is cut at zero, as the table of points cuts it.
    cells = {0: Cell(40.0, 39.0, 41.0, 1.0, 5, 5), 1: Cell(None), 2: Cell(9.0, 0.0, 19.0, 10.0, 5, 5)}
    made: Any = SimpleNamespace(
        sweep=asked(control=""),
        pairs=(),
        unused=None,
        warmups={},
        rows=lambda: [SimpleNamespace(number=k) for k in cells],
        cell=lambda row, measure: cells[row.number] if measure == "queue_delay" else Cell(None),
    )
    assert words.sentences(made) == [
        "Queueing delay has means from 9 ms (0 to 19) at pie, pairs = 2 to 40.0 ms (39.0 to 41.0) at droptail, "
        "pairs = 2.",
        "Brackets are 95 % intervals of the means; the sweep names no `control`, so no difference is claimed.",
    ]


def test_text_page_and_document_begin_with_it_and_name_a_discipline_that_never_acted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # In three packets PIE's queue never has the delay that it acts on; CoDel's does.
    text = SWEEP.format(seeds=3, control=CONTROL, limit="3 packets")
    text = text.replace('"4 s"', '"12 s"').replace('"1 s"', '"2 s"')
    Path("short.toml").write_text(text, encoding="utf-8")
    assert cli.main(["sweep", "short.toml", "--out", "out/short"]) == cli.DONE
    printed = capsys.readouterr().out
    assert printed.startswith("Queueing delay against droptail: ")
    warned = [line for line in re.sub(r"\n(?!\n)", " ", printed).split("warning: ") if "never acted" in line]
    assert len(warned) == 1
    document = json.loads(Path("out/short/sweep.json").read_text(encoding="utf-8"))
    assert document["summary"][0].startswith("Queueing delay against droptail: ")
    assert [w for w in document["warnings"] if "never acted" in w] == [
        "queue bottleneck: pie never acted at 2 of 6 points, the first pie, pairs = 2: all drops are overflows "
        'of its limit of 3 packets; leave limit out (then 1000 packets), or give one such as "1 bdp"'
    ]
    page = Path("out/short/report.html").read_text(encoding="utf-8")
    assert page.index("Queueing delay against droptail: ") < page.index("pie never acted") < page.index("<h2")
