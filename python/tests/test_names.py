"""A name in a file chooses no path: sweeps, studies, and figures."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import SMALL

from earlydrop import cli
from earlydrop import study as studies
from earlydrop.sweeps import plot_spec
from small_sweep import FILE, scenario, sweep


@pytest.mark.parametrize(
    "name",
    ["../../evil", "/tmp/evil", "..", ".", "a/b", "a\\\\b", ".hidden", "-x", "", " ", "x.", "a\\nb", "a:b", "x" * 101],
)
def test_a_sweeps_name_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(scenario(), encoding="utf-8")
    (tmp_path / "s.toml").write_text(f'name = "{name}"\n{sweep()}', encoding="utf-8")
    assert cli.main(["sweep", "s.toml"]) == cli.WRONG_INPUT
    assert "s.toml: name: " in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.toml", FILE]


@pytest.mark.parametrize("name", ["a", "loads 2", "A.b-c_d", "naïve (1)", "x" * 100])
def test_other_names_are_allowed(tmp_path: Path, name: str) -> None:
    (tmp_path / FILE).write_text(scenario(), encoding="utf-8")
    (tmp_path / "s.toml").write_text(f'name = "{name}"\n{sweep()}', encoding="utf-8")
    assert cli.main(["check", str(tmp_path / "s.toml")]) == cli.DONE


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name = "small"', 'name = "../evil"', 'name = "../evil": allowed are'),
        ('id = "A-1"', 'id = ".."', 'experiment "..": allowed is an id with letters'),
        ('id = "A-1"', 'id = "a/2"', 'experiment "A-2" and "a/2" would be the same file'),
    ],
)
def test_a_studys_names_are_names(tmp_path: Path, old: str, new: str, why: str) -> None:
    text = (SMALL / "study.toml").read_text(encoding="utf-8")
    assert old in text
    folder = tmp_path / "study"
    shutil.copytree(SMALL, folder)
    # Everywhere else, too, where the id of an experiment is named.
    changed = text.replace(old, new, 1).replace('"A-1"', new.partition(" = ")[2] if old.startswith("id") else '"A-1"')
    (folder / "study.toml").write_text(changed, encoding="utf-8")
    with pytest.raises(studies.StudyError, match=re.escape(why)):
        studies.read(folder)


def test_a_figures_file_has_a_plain_name() -> None:
    measures, factors = ["goodput"], {"rate": (True, [1.0, 2.0])}
    assert plot_spec.parse_plot("goodput vs rate", measures, factors).slug == "goodput-vs-rate"
    odd = plot_spec.PlotSpec("../../é" + "x" * 300, "", (), None, None, None, {})  # type: ignore[arg-type]
    assert re.fullmatch("x{60}-[0-9a-f]{8}", odd.slug)
