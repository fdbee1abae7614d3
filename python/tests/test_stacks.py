"""TCP stacks on the command line and in the documentation."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import earlydrop as ed
import stack_pages
from earlydrop import _core, cli, stacks

ROOT = Path(__file__).parents[2]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(list(arguments)) == 0
    return capsys.readouterr().out


def test_stacks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "list", "stacks", "--json"))
    assert [one["name"] for one in found] == ["ns2-2.35", "rfc", "linux-6.18", "quic"]


def test_a_stack_against_another_names_kernel_functions(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "show", "linux-6.18", "--against", "rfc")
    assert "min_rto_for" in text
    assert "tcp_rtt_estimator" in text
    assert "bictcp_update" in text
    found = {s.key: s for s in stacks.differences("linux-6.18", "rfc")}
    assert (found["min_rto"].value, found["min_rto"].other, found["min_rto"].tcps) == ("0.2 s", "1 s", ())
    assert found["bbr"].tcps == ("bbr",)
    assert all(s.source for s in found.values())
    assert "fin" not in found
    # Both ways the same options.
    assert found.keys() == {s.key for s in stacks.differences("rfc", "linux-6.18")}
    assert stacks.differences("rfc", "rfc") == []


def test_every_option_of_a_stack_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(said(capsys, "show", "linux-6.18", "--json"))
    keys = {one["option"] for one in document["options"]}
    every = {one["key"] for one in stacks.catalogue()["options"]}
    # No number says what the initial window is by default, and Linux has neither LEDBAT nor Prague here.
    others = {"ledbat_target", "ledbat_gain", "prague_fallback", "prague_rtt_target"}
    assert every - keys == {"initial_window"} | others
    assert "Loss detection" in said(capsys, "show", "linux-6.18")
    assert "its rules are in the code" in said(capsys, "show", "ns2-2.35")


def test_wrong_names_are_answered_with_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", "linux-6.18", "--against", "linux"]) == 2
    assert "linux-6.18" in capsys.readouterr().err
    assert cli.main(["show", "red", "--against", "rfc"]) == 2
    assert "belongs to a TCP stack" in capsys.readouterr().err


def test_check_says_which_stack_an_entry_has(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 'traffic[0]: tcp = "reno", stack = "ns2-2.35"' in said(capsys, "check", str(scenario))
    as_json = json.loads(said(capsys, "check", str(scenario), "--json"))
    assert as_json["traffic"][0]["stack"] == "ns2-2.35"
    own = ["--set", "traffic.0.stack=rfc", "--set", "traffic.0.rules.abc_limit=2"]
    assert 'stack = "rfc", rules = { abc_limit = 2 }' in said(capsys, "check", str(scenario), *own)
    new = ["--set", "traffic.0.stack=linux-6.18"]
    assert 'tcp = "reno", stack = "linux-6.18"' in said(capsys, "check", str(scenario), *new)


def test_what_check_writes_in_full_is_a_scenario(scenario: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = ["--set", "traffic.0.stack=linux-6.18", "--set", 'traffic.0.rules={ gro = "0.1 ms" }']
    whole = json.loads(said(capsys, "check", str(scenario), "--json", *sets))
    assert whole["traffic"][0]["stack"] == "linux-6.18"
    found = _core.Scenario.parse(whole, [])
    loaded = _core.Scenario.load(str(scenario), [tuple(words.split("=", 1)) for words in sets[1::2]])
    assert found.to_json() == loaded.to_json()


def test_what_check_says_is_the_same_scenario(scenario: Path) -> None:
    one = _core.Scenario.load(str(scenario), [("traffic.0.stack", "rfc"), ("traffic.0.rules", "{ rack = true }")])
    (entry,) = json.loads(one.stacks())
    assert (entry["stack"], entry["rules"]) == ("rfc", {"rack": True})
    (entry,) = json.loads(_core.Scenario.load(str(scenario), [("traffic.0.rules.min_rto", "1 s")]).stacks())
    assert (entry["stack"], entry["rules"]) == ("ns2-2.35", {"min_rto": "1000 ms"})


def test_options_beside_rules_are_refused_with_the_line_to_write(
    scenario: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", str(scenario), "--set", "traffic.0.rack=true", "--set", "traffic.0.min_rto=0.3 s"]) == 2
    line = 'stack = "rfc" and rules = { rack = true, min_rto = "0.3 s" }'
    assert f"{scenario}: traffic[0].rack: stands in rules; write {line}\n  given true" in capsys.readouterr().err
    net = ed.dumbbell(
        pairs=1, bottleneck=ed.link("10 Mbit/s", "10 ms"), access=ed.link("1 Gbit/s", "1 ms"), queue="pie"
    )
    net.ftp(1, tcp="reno", profile="rfc", delayed_ack=False)
    with pytest.raises(ed.ScenarioError) as refused:
        net.scenario(duration="5 s")
    wanted = 'traffic[0].profile: is said by stack; write stack = "rfc" and rules = { delayed_ack = false }'
    assert str(refused.value) == f'{wanted}\n  given "rfc"'
    net.traffic.clear()
    written = net.ftp(1, tcp="reno", stack="rfc", rules={"delayed_ack": False}).scenario(duration="5 s").document
    assert written["traffic"][0]["rules"]["delayed_ack"] is False


def test_the_page_and_its_data_are_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for file in (stack_pages.PAGE, "data/tcp-stacks.csv", "data/tcp-options.csv"):
        shutil.copy(ROOT / "docs" / file, tmp_path / file)
    assert not stack_pages.write(tmp_path), "stale: make pages"
    for file, word in (
        (stack_pages.PAGE, "`dctcp`"),
        ("data/tcp-stacks.csv", "tcp_rtt_estimator"),
        ("data/tcp-options.csv", "RFC 9002"),
    ):
        other = tmp_path / file
        other.write_text(other.read_text(encoding="utf-8").replace(word, "nothing", 1), encoding="utf-8")
        assert stack_pages.write(tmp_path), file
