"""Any measure may have no value: every printer, table and figure then says so, and goes on."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core, cli
from earlydrop.analysis import paired
from earlydrop.document import Document
from earlydrop.render import plotting, result_text, run_report
from earlydrop.render.run_text import run_text
from earlydrop.result import Result

Path_ = tuple[str | int, ...]
STRUCTURE = {
    "cannot_send",
    "id",
    "seed",
    "duration_s",
    "warmup_s",
    "entry",
    "flows",
    "interval_s",
    "segment",
    "seeds",
    "time_s",
    "distance",
}
"""What a result is laid out by, no measure of it."""


def scenario(record: Document) -> _core.Scenario:
    document = tomllib.loads(_core.template("none")) | {"duration": "2 s", "warmup": "1 s", "record": record}
    return _core.Scenario.parse(document, [])


def measures(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """The places of all measured numbers; of a list's entries the first stands for all."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from measures(inner, (*at, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value[:1]):
            yield from measures(inner, (*at, key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and not STRUCTURE & {*at[-1:], at[0]}:
        yield at


def with_value(document: Any, at: Path_, value: float | None) -> Any:
    """The document with another value at a place; what holds no part of the place is not copied."""
    found = copy.copy(document)
    found[at[0]] = with_value(document[at[0]], at[1:], value) if at[1:] else value
    return found


def number_at(document: Document, at: Path_) -> Any:
    inner: Any = document
    for key in at:
        inner = inner[key]
    return inner


def test_a_run_without_one_of_its_values_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"series": "100 ms", "cwnd_flows": [1], "by_flow": True, "rates": "500 ms", "jitter": True, "losses": True}
    made = scenario(more)
    document, normal = json.loads(made.run()), json.loads(made.to_json())
    places = list(measures(document))
    assert len(places) > 150
    # Figures and folders take longer: below, all values of a kind at once.
    monkeypatch.setattr(plotting, "inline", lambda figure: "")
    for at in places:
        values: list[float | None] = [None]
        if isinstance(number_at(document, at), float):
            values.append(math.nan)
        for value in values:
            lacking = with_value(document, at, value)
            shown = Result(lacking, normal)
            said = f"{run_text(lacking)}{shown!r}{shown._repr_html_()}"
            assert "None" not in said, at
            assert "nan" not in said, at
            assert shown.queues.height == len(document["queues"]), at
            assert shown.flows.height == len(document["flows"]), at
            run_report.context(lacking, normal)
    monkeypatch.undo()
    for value in (None, math.nan):
        lacking = document
        for at in places:
            if value is None or isinstance(number_at(document, at), float):
                lacking = with_value(lacking, at, value)
        plotting.run_figure(lacking)
        folder = tmp_path / str(value)
        folder.mkdir()
        result_text.write_run(folder, lacking, normal)
        run_report.write(folder, lacking, normal)


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_comparison_without_values_is_shown(tmp_path: Path, value: float | None) -> None:
    made = scenario({})
    plain = [json.loads(made.run(seed)) for seed in (1, 2, 3)]
    places = [
        ("queues", "bottleneck", name)
        for name in ("utilisation", "delay_mean_ms", "delay_p99_ms", "queue_mean_packets", "drop_rate")
    ]
    places += [(name,) for name in ("goodput_total_mbps", "delay_mean_ms", "jain")]
    for at in [*places, None]:
        lacking = plain
        for place in places if at is None else [at]:
            lacking = [with_value(one, place, value) for one in lacking]
        result = paired.tabulate(
            "none", "bottleneck", ("a", "b"), {"a": "A", "b": "B"}, (1, 2, 3), [*plain, *lacking], {}
        )
        said = result_text.comparison_text(result)
        assert "None" not in said, at
        assert "nan" not in said, at
        json.dumps(result.document("0"), allow_nan=False)
        if at is None:
            result = replace(result, base={"warmup": "1 s", "duration": "2 s"})
            result_text.write_comparison(tmp_path, result, "0")
            assert (tmp_path / "report.html").is_file()


def test_a_link_that_is_down_in_the_whole_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _core.template("down").replace('duration = "60 s"', 'duration = "4 s"').replace('"20 s"', '"2 s"')
    old = 'bottleneck = { rate = "50 Mbit/s"'
    assert old in text
    text = text.replace(old, 'bottleneck = { rate = { schedule = [["0 s", "50 Mbit/s"], ["1 s", "0 bit/s"]] }')
    file = tmp_path / "down.toml"
    file.write_text(text, encoding="utf-8")
    assert cli.main(["run", str(file), "--out", str(tmp_path / "out")]) == 0, capsys.readouterr().err
    compared = ["compare", str(file), "--aqm", "droptail", "pie", "--seeds", "3", "--out", str(tmp_path / "both")]
    assert cli.main(compared) == 0, capsys.readouterr().err
