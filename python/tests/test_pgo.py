"""Builds with a profile: what they are trained with is complete and is no benchmark; what is missing is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pgo
import pgo_training
from earlydrop import _core, bench_cases, stacks


def test_training_has_every_discipline_and_tcp_and_no_case_of_the_benchmarks() -> None:
    disciplines, tcps, shapes = set(), set(), set()
    for document, _ in pgo_training.cases():
        complete = json.loads(_core.Scenario.parse(document, []).to_json())
        disciplines |= {queue["aqm"] for queue in complete["queue"].values()}
        tcps |= {(entry.get("stack"), entry.get("tcp")) for entry in document["traffic"]}
        bottleneck = document["topology"].get("bottleneck", {}).get("rate")
        shapes.add((document["traffic"][0]["count"], bottleneck))
    assert disciplines == {discipline["name"] for discipline in json.loads(_core.catalogue())}
    assert tcps >= {(stack, tcp) for stack in stacks.names() for tcp in stacks.named(stack)["tcps"]}
    assert not shapes & {(case.flows, f"{case.rate_mbps} Mbit/s") for case in bench_cases.BASES}


def test_without_llvm_tools_the_command_that_adds_them_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pgo, "rustc", lambda *_: str(tmp_path / "lib"))
    assert pgo.main() == 1
    expected = f"pgo.py: {tmp_path / 'bin' / 'llvm-profdata'} is missing: rustup component add llvm-tools\n"
    assert capsys.readouterr().err == expected
