"""Links by name: their pages, their options, and the same link in Python, on the command line and in a scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import _core, links
from earlydrop.cli import main

MODELS = [one["name"] for one in json.loads(_core.link_models())]


def test_a_models_page_says_figures_sources_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in json.loads(_core.link_models()):
        assert main(["show", entry["name"]]) == 0
        page = " ".join(capsys.readouterr().out.split())
        for figure in entry["figures"]:
            assert figure["source"], figure
            # A table folds its cells.
            assert all(word in page for word in figure["value"].split()), figure
        assert " ".join(entry["missing"].split()) in page
        assert entry["queue"].split()[0] in page
        for parameter in entry["parameters"]:
            assert parameter["source"], parameter
            assert parameter["name"] in page


def test_each_model_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == MODELS


def test_show_draws_rate_and_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "starlink-drive direction=up", "--plot", str(tmp_path / "up.svg"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["series"]
    drawn = _core.model_series("starlink-drive direction=up", 1, 120.0)
    assert shown["rate"]["values"] == [rate * 1e-6 for rate in drawn["rate"]]
    assert len(shown["delay"]["values"]) == 6000
    assert "Delay added (ms)" in (tmp_path / "up.svg").read_text()
    assert main(["show", "geo", "--plot", str(tmp_path / "geo.svg")]) == 2
    assert "neither a rate of its own nor delays" in capsys.readouterr().err
    assert main(["show", "lte-drive direction=sideways"]) == 2
    assert 'allowed "down", "up"' in capsys.readouterr().err


def options(*rate: str, **given: Any) -> list[str]:
    return links.plan(*rate, **given).options()


def test_what_is_sent_goes_up_and_what_comes_goes_down() -> None:
    delay, queue = ["--delay", "0s"], ["--queue", "droptail"]
    up = ["--model", "lte-drive direction=up", "--reverse-model", "lte-drive"]
    assert options(model="lte-drive") == [*delay, *up, *queue]
    assert options(model="lte-drive operator=tmobile")[-3] == "lte-drive operator=tmobile"
    assert options(model="lte-drive direction=down")[3:6] == [
        "lte-drive",
        "--reverse-model",
        "lte-drive direction=up",
    ]
    cable = options("20mbit", model="docsis-up", reverse_rate="50mbit", queue="default")
    assert cable[:4] == ["--rate", "20Mbit/s", "--reverse-rate", "50Mbit/s"]
    assert cable[6:] == ["--model", "docsis-up", "--reverse-model", "docsis-down", "--queue", "default"]
    # A rate takes the place of the other direction's model.
    assert "--reverse-model none" in " ".join(options(model="starlink-drive", reverse_rate="5mbit"))


@pytest.mark.parametrize(
    "given",
    [
        {"model": "lte-drive", "queue": "default"},
        {"model": "starlink-drive change_loss=0.5"},
        {"rate": "5mbit", "reverse_model": "lte-drive"},
    ],
)
def test_the_printed_options_make_the_same_link(given: dict[str, str]) -> None:
    printed = options(**given)
    names = [option.removeprefix("--").replace("-", "_") for option in printed[::2]]
    assert options(**dict(zip(names, printed[1::2], strict=True))) == printed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": "lte-drvie"}, '--model: name: is unknown; did you mean "lte-drive"?'),
        ({"model": "docsis-up"}, "--rate: is missing"),
        ({"rate": "5mbit", "model": "lte-drive"}, "--rate: is given beside a model that has a rate"),
        ({"model": "lte-drive operator=tmobile direction=up"}, "--model: operator: does not fit"),
        ({"rate": "5mbit", "queue": "default"}, "--queue: aqm: is the queue of the device"),
        ({}, "--rate: is missing; allowed a rate such as 20Mbit/s, trace=FILE, or unlimited, or --model"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(links.OptionError) as error:
        links.plan(**given)
    assert str(error.value).startswith(said)


def test_a_link_of_a_network_may_have_a_model() -> None:
    net = ed.dumbbell(
        pairs=2, access=ed.link("1 Gbit/s", "10 ms"), bottleneck=ed.link(model="lte-drive"), queue="default"
    )
    net.ftp(tcp="cubic", stack="linux-6.18", start="1 s")
    scenario = net.scenario(duration="20 s")
    assert scenario.document["topology"]["reverse"]["model"]["direction"] == "up"
    result = scenario.run()
    mean = sum(_core.model_series("lte-drive", 1, 20.0)["rate"]) / 200 * 1e-6
    carried = result.document["queues"]["bottleneck"]["throughput_mbps"]
    # What the link could have sent in the run, but for the start.
    assert 0.7 * mean < carried <= mean
    assert result.document["queues"]["bottleneck"]["utilisation"] == pytest.approx(carried / mean, rel=1e-6)
    assert scenario.picture() is not None


def test_a_series_is_that_of_the_seed_and_the_link() -> None:
    one = _core.model_series("lte-drive", 1, 5.0)
    assert one == _core.model_series(json.dumps({"name": "lte-drive", "direction": "down"}), 1, 5.0)
    assert one != _core.model_series("lte-drive", 2, 5.0)
    assert one != _core.model_series("lte-drive", 1, 5.0, "reverse")
    with pytest.raises(ValueError, match=r"seconds: given 10+; allowed"):
        _core.model_series("lte-drive", 1, 1e12)
