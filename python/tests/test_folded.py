"""Schemes that are a setting of a discipline: each is found by its own name, and refused with what to write."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

import earlydrop as ed
from earlydrop import _core, aqm, discipline_names, strict_toml
from earlydrop.cli.list import list_
from earlydrop.cli.show import show

FOLDED = discipline_names.all_folded()


def scenario(queue: dict[str, Any]) -> dict[str, Any]:
    link = {"rate": "5 Mbit/s", "delay": "10 ms"}
    return {
        "name": "one",
        "seed": 1,
        "duration": "5 s",
        "topology": {"kind": "dumbbell", "pairs": 2, "access": link, "bottleneck": link},
        "queue": {"bottleneck": queue},
        "traffic": [{"kind": "ftp"}],
    }


@pytest.mark.parametrize("one", FOLDED, ids=lambda one: str(one["name"]))
def test_each_says_what_to_write_and_that_is_taken(one: dict[str, Any]) -> None:
    for name in (one["name"], one["title"]):
        with pytest.raises(_core.ScenarioError) as error:
            _core.Scenario.parse(scenario({"aqm": name}), [])
        assert f"write {one['setting']}\n" in str(error.value)
        with pytest.raises(discipline_names.DisciplineError) as told:
            discipline_names.parse(name)
        assert str(told.value).endswith(f'write "{one["text"]}"')
    with pytest.raises(AttributeError) as python:
        getattr(ed.aqm, aqm.class_name(one))
    _, wrote, call = str(python.value).partition("; write earlydrop.aqm.")
    assert wrote
    assert aqm.class_name(one) not in aqm.classes()

    written = tomllib.loads(one["setting"].replace(", ", "\n"))
    assert written == {"aqm": one["of"], **one["values"]}
    assert eval(call, dict(aqm.classes())).document() == written
    asked = discipline_names.parse(one["text"])
    assert {"aqm": asked.name, **{k: strict_toml.parse_value(v) for k, v in asked.settings}} == written
    whole = json.loads(_core.Scenario.parse(scenario(written), []).to_json())["queue"]["bottleneck"]
    assert written.items() <= whole.items()


@pytest.mark.parametrize("one", FOLDED, ids=lambda one: str(one["name"]))
def test_list_and_show_find_each_by_its_name(one: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert list_("aqms", json=True) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert listed[one["name"]]["title"] == one["title"]
    assert listed[one["name"]]["summary"] == f"{one['text']}: {one['summary']}"

    assert show(one["title"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    head = f"{one['title']} ({one['name']}, {one['year']}): {one['summary']}. It is a setting of {one['of']}: "
    assert said.startswith(f"{head}`{one['setting']}` in a scenario")
    assert f'`--aqm "{one["text"]}"` in a command' in said
    assert show(one["name"], json=True) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["name"] == one["of"]
    assert shown["folded"] == one
