"""Help pages have examples that work; wrong command lines and files are answered with what was likely meant."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from earlydrop import cli, output
from earlydrop.aqm import entries
from earlydrop.cli import completion, helping
from earlydrop.cli.commands import COMMANDS, app

SWEEP = (
    'name = "s"\nscenario = "small.toml"\n[[factor]]\nname = "aqm"\npath = "queue.bottleneck.aqm"\nvalues = ["red"]\n'
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_page_has_examples_and_no_empty_defaults(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    # A command's console keeps the width of its first page: the 100 columns of all tests.
    assert cli.main([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert "Examples:" in page
    assert not [word for word in ("[default: False]", "[default: []]", "[default: None]", "docs/") if word in page]
    assert not [line for line in page.splitlines() if len(line) > 100]
    for line in helping.EXAMPLES[command]:
        assert f"  {line}\n" in page, "it stands on one line"


@pytest.mark.parametrize("line", [line for lines in helping.EXAMPLES.values() for line in lines])
def test_the_examples_are_command_lines(line: str) -> None:
    words = shlex.split(line.removeprefix("sudo ").partition(" > ")[0])
    assert words[0] == "earlydrop"
    app.parse_args(words[1:], exit_on_error=False, print_error=False)


def test_every_command_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(helping.EXAMPLES) == set(COMMANDS)
    assert cli.main(["--help"]) == 0
    assert "earlydrop init first" in capsys.readouterr().out


def test_paragraphs_are_unfolded() -> None:
    text = (
        "Head\n    goes on.\n\n    Parameters\n    ----------\n    a\n        One\n        two.\n    b\n        Three."
    )
    assert helping.unfolded(text) == "Head goes on.\n\nParameters\n----------\na\n    One two.\nb\n    Three."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("run", "SCENARIO: is missing; as in: earlydrop run first.toml"),
        ("compare small.toml", "--aqm: is missing; as in: earlydrop compare first.toml --aqm droptail pie"),
        ("compare small.toml --aqm", "--aqm: given none; allowed one discipline or more"),
        ("reproduce", "as in: earlydrop reproduce tred --quick (`earlydrop list studies` names all)"),
        ("reproduce tredd", 'there is no study "tredd"; did you mean "tred"? studies: '),
        ("run small", 'small: no such file\n  did you mean "small.toml"?'),
        ("run smal.toml", 'did you mean "small.toml"?'),
        ("run loads.toml", "loads.toml is a sweep: `earlydrop sweep loads.toml` runs it"),
        ("sweep small.toml", "small.toml: is a scenario: `earlydrop run` and `compare` take it"),
        ("sweep load.toml", 'load.toml: no such file; did you mean "loads.toml"?'),
        ("run small.toml --seeds 3", "--seeds: run makes one run and has no such option; compare, "),
        ("run small.toml --seedd 3", "Unknown option: --seedd. Did you mean --seed?"),
        ("run small.toml --out /proc/x", "--out /proc/x: cannot create a folder in /proc: "),
    ],
)
def test_what_was_likely_meant_is_said(
    arguments: str, says: str, scenario: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(scenario.parent)
    Path("loads.toml").write_text(SWEEP, encoding="utf-8")
    assert cli.main(arguments.split()) == cli.WRONG_INPUT
    assert says in capsys.readouterr().err


def test_a_result_of_another_kind_is_not_replaced(
    scenario: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with output.folder(out, {"kind": "comparison"}) as folder:
        (folder / "comparison.txt").write_text("text\n", encoding="utf-8")
    assert cli.main(["run", str(scenario), "--out", str(out)]) == cli.WRONG_INPUT
    said = f"--out {out}: holds the results of a comparison, which those of a run would replace"
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["comparison.txt", "manifest.json"]
    output.check(out, "comparison")
    assert cli.main(["report", str(out)]) == cli.WRONG_INPUT
    assert f"{out / 'comparison.json'}: cannot be read: No such file" in capsys.readouterr().err


def test_a_result_that_has_a_page_may_be_replaced(tmp_path: Path) -> None:
    with output.folder(tmp_path / "out", {"kind": "run"}) as folder:
        (folder / "result.json").write_text("{}", encoding="utf-8")
    page = tmp_path / "out" / "report.html"
    page.write_text("page", encoding="utf-8")
    with pytest.raises(output.OutputError, match=r"the folder holds report\.html, which earlydrop did not write"):
        output.check(tmp_path / "out", "run")
    output.add(tmp_path / "out", page)
    output.check(tmp_path / "out", "run")


def test_bash_completes_folders_and_settings(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = tmp_path / "script"
    script.write_text(completion.script("bash"), encoding="utf-8")
    cases = (
        ("earlydrop report ", {"out"}, {"small.toml"}),
        ("earlydrop run small.toml --set queue.bottleneck.t", {"queue.bottleneck.target="}, {"duration="}),
        ("earlydrop run small.toml --set d", {"duration="}, {"warmup="}),
        ("earlydrop compare small.toml --aqm fq_", {"fq_codel", "fq_pie"}, {"red"}),
    )
    asked = ["compopt() { :; }", f"source {script}"]
    for line, _, _ in cases:
        words = [word or '""' for word in line.split(" ")]
        asked += [f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()"]
        asked += ["_earlydrop_values; echo ${COMPREPLY[@]}"]
    ended = subprocess.run(["bash", "-c", "\n".join(asked)], cwd=tmp_path, capture_output=True, text=True)
    assert not ended.stderr
    for (line, offered, others), found in zip(cases, ended.stdout.splitlines(), strict=True):
        assert offered <= set(found.split()), line
        assert not others & set(found.split()), line


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_todays_commands_and_names(shell: completion.Shell) -> None:
    script = completion.script(shell)
    assert all(name in script for name in COMMANDS)
    assert all(entry["name"] in script for entry in entries())
    if shell == "bash":
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
