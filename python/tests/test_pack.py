"""Packs: a result in one file, made again elsewhere; what hostile ones may not do is in test_hostile_packs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from earlydrop import cli, inputs, pack
from earlydrop.cli import commands

SCENARIO = """name = "packed"
duration = "4 s"
warmup = "1 s"
[topology]
kind = "dumbbell"
pairs = 2
access = {{ rate = "100 Mbit/s", delay = "5 ms" }}
bottleneck = {{ rate = {rate}, delay = "10 ms" }}
[queue.bottleneck]
aqm = "{aqm}"
limit = "60 packets"
[[traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "0.5 s"] }}
[[traffic]]
kind = "web"
session_gap = "1 s"
size = {{ cdf_file = "sizes" }}
"""
OWN = '''"""A discipline, and a measure."""

from pathlib import Path

import earlydrop as ed

Path(r"{seen}").touch()


@ed.policy
class Mine:
    """Drops every tenth packet."""

    every: int = ed.param(10, range="[2, 100]", doc="Packets between two drops.")
    seen: int = 0

    def on_enqueue(self, packet, queue, cx):
        self.seen += 1
        return ed.Verdict.drop() if self.seen % self.every == 0 else ed.Verdict.PASS


def drops(result):
    return result["queues"]["bottleneck"]["early_drops"]
'''
SWEEP = """name = "loads"
scenario = "deep/scenario.toml"
seeds = 2
store = "elsewhere"
[[factor]]
path = "queue.bottleneck.aqm"
values = ["red", "code/mine.py"]
[[measure]]
id = "drops"
field = "code/mine.py:drops"
"""
STUDY = Path(__file__).with_name("studies") / "small"


class Work:
    """A folder with a scenario that names other files, and code that leaves a trace where it runs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.seen = folder, folder / "code-ran"
        (folder / "deep").mkdir()
        (folder / "code").mkdir()
        (folder / "deep/scenario.toml").write_text(
            SCENARIO.format(aqm="red", rate='{ trace = "../down.trace" }'), encoding="utf-8"
        )
        (folder / "down.trace").write_text("".join(f"{3 * k}\n" for k in range(1, 40)), encoding="utf-8")
        (folder / "deep/sizes").write_text("1000 0.5\n30000 1\n", encoding="utf-8")
        (folder / "code/mine.py").write_text(OWN.format(seen=self.seen), encoding="utf-8")
        (folder / "loads.toml").write_text(SWEEP, encoding="utf-8")
        monkeypatch.chdir(folder)

    def __call__(self, *words: str) -> None:
        assert cli.main(list(words)) == 0, words


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    (tmp_path / "work").mkdir()
    return Work(tmp_path / "work", monkeypatch)


AQM = ["--aqm", "code/mine.py every=20", "pie"]
COMMANDS: dict[str, list[str]] = {
    "run": ["run", "deep/scenario.toml", "--set", "queue.bottleneck.aqm=code/mine.py", "--seed", "7"],
    "comparison": ["compare", "deep/scenario.toml", *AQM, "--seeds", "2", "--measure", "D = code/mine.py:drops"],
    "sweep": ["sweep", "loads.toml", "--trust", "--store", "kept", "--workers", "1"],
}


def zipped(file: Path) -> dict[str, bytes]:
    """The files of a pack."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """The pack with other files, and checksums that are right."""
    files = zipped(file)
    change(files)
    about = json.loads(files.pop(pack.ABOUT))
    about["files"] = {n: {"sha256": sha256(c).hexdigest(), "bytes": len(c)} for n, c in files.items()}
    with file.open("wb") as stream:
        pack._zipped(stream, {pack.ABOUT: json.dumps(about).encode(), **files})


def elsewhere(file: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`earlydrop run` with the pack alone, in another process and an empty folder."""
    folder.mkdir()
    shutil.copy(file, folder / "it.zip")
    around = {**os.environ, "COLUMNS": "50"}
    line = [sys.executable, "-P", "-m", "earlydrop", "run", "it.zip", *words]
    return subprocess.run(line, cwd=folder, env=around, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_pack_gives_its_results_again_and_runs_no_code_untrusted(kind: str, work: Work, tmp_path: Path) -> None:
    work(*COMMANDS[kind], "--out", "out")
    work("pack", "out", "it.zip")
    files = zipped(Path("it.zip"))
    assert {"inputs/code/mine.py", "inputs/down.trace.txt", "inputs/sizes.txt", "inputs/scenario.toml"} <= set(files)
    assert json.loads(files[pack.ABOUT])["code"] == ["code/mine.py"]
    # Nothing of where it was made is needed, and without trust nothing of the code runs.
    shutil.move(work.folder, tmp_path / "away")
    seen = work.seen
    work.folder.mkdir()
    refused = elsewhere(tmp_path / "away/it.zip", tmp_path / "first")
    assert refused.returncode == 2
    assert "has code, mine.py, which would run with your rights; --trust lets it" in refused.stderr
    assert not seen.exists()
    made = elsewhere(tmp_path / "away/it.zip", tmp_path / "second", "--trust", "--out", "new")
    assert made.returncode == 0, made.stderr
    assert "tables and results as in it.zip, but for cost" in made.stdout
    assert seen.exists()
    # What it says is so: the tables are the same bytes, the documents the same but for cost.
    for name in (n for n in files if pack._is_table(n) and n != pack.ABOUT and not n.endswith(".parquet")):
        old, new = files[name], (tmp_path / "second/new" / name).read_bytes()
        if name.endswith(".json"):
            assert without_cost(json.loads(old)) == without_cost(json.loads(new)), name
        elif name != "result.txt":
            assert old == new, name
    assert sorted(path.name for path in (tmp_path / "second").iterdir()) == ["it.zip", "new"]


def without_cost(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_cost(inner) for key, inner in value.items() if key not in ("cost", "store")}
    return [without_cost(inner) for inner in value] if isinstance(value, list) else value


def test_a_study_and_a_scenario_without_code_run_as_they_are(work: Work, tmp_path: Path) -> None:
    shutil.copytree(STUDY, "mine")
    for words in (["reproduce", "./mine", "--seeds", "2"], ["reproduce", "./mine", "--seeds", "3", "--quick"]):
        work(*words, "--store", "kept", "--out", "out")
        work("pack", "out", "it.zip")
        assert "inputs/mine/study.toml" in zipped(Path("it.zip"))
        work("run", "it.zip")
    work("run", "deep/scenario.toml", "--out", "plain")
    work("pack", "plain", "plain.zip")
    assert elsewhere(Path("plain.zip"), tmp_path / "there").returncode == 0
    assert not work.seen.exists()


def test_two_hundred_runs(work: Work, tmp_path: Path) -> None:
    """The size that is promised, in short runs."""
    short = ["--set", "duration=1 s", "--set", "warmup=0.2 s"]
    work("compare", "deep/scenario.toml", *AQM, "--seeds", "100", *short, "--out", "out")
    work("pack", "out", "it.zip")
    assert sum(name.startswith("runs/") for name in zipped(Path("it.zip"))) == 200
    made = elsewhere(Path("it.zip"), tmp_path / "there", "--trust", "--json")
    found = json.loads(made.stdout)
    assert found["same"] is True
    assert found["compared"] >= 204
    assert found["code"] == ["inputs/code/mine.py"]


def test_the_command_in_the_manifest_runs_in_the_folder_of_inputs(work: Work) -> None:
    work(*COMMANDS["comparison"], "--queue", "bottleneck", "--out", "out")
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    line = manifest["command"]
    assert line[:2] == ["compare", "scenario.toml"]
    assert {"--aqm=code/mine.py every=20", "--queue=bottleneck", "--measure=D = code/mine.py:drops"} <= set(line)
    os.chdir("out/inputs")
    assert commands.run([*line, "--out", "../../again"]) == 0
    os.chdir("../..")
    assert Path("out/comparison.txt").read_bytes() == Path("again/comparison.txt").read_bytes()


def test_disciplines_of_a_configuration_travel_with_it(work: Work, tmp_path: Path) -> None:
    Path("earlydrop.toml").write_text('[aqms]\nmine = "code/mine.py"\nother = "none.py"\n', encoding="utf-8")
    work("compare", "deep/scenario.toml", "--aqm", "mine", "pie", "--trust", "--seeds", "2", "--out", "out")
    work("pack", "out", "it.zip")
    assert zipped(Path("it.zip"))["inputs/earlydrop.toml"] == b'[aqms]\nmine = "code/mine.py"\n'
    assert elsewhere(Path("it.zip"), tmp_path / "there", "--trust").returncode == 0


def test_files_of_one_name_stay_apart(work: Work) -> None:
    shutil.copytree("code", "more")
    Path("more/mine.py").write_text(OWN.format(seen=work.seen).replace("Mine", "Other"), encoding="utf-8")
    work(
        "compare", "deep/scenario.toml", "--aqm", "code/mine.py", "../work/more/mine.py", "--seeds", "2", "--out", "out"
    )
    assert len(list(Path("out/inputs").rglob("mine*.py"))) == 2
    work("pack", "out", "it.zip")
    work("run", "it.zip", "--trust")


def test_a_result_that_was_changed_is_not_the_same(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    work(*COMMANDS["comparison"], "--out", "out")
    work("pack", "out", "it.zip")

    def change(files: dict[str, bytes]) -> None:
        document = json.loads(files["runs/pie-seed1.json"])
        document["queues"]["bottleneck"]["drop_rate"] += 0.001
        files["runs/pie-seed1.json"] = json.dumps(document).encode()
        files["runs.csv"] = files["runs.csv"].replace(b"pie,PIE,2", b"pie,PIE,3")
        del files["comparison.tex"]

    repacked(Path("it.zip"), change)
    capsys.readouterr()
    assert cli.main(["run", "it.zip", "--trust"]) == 1
    said = capsys.readouterr().out
    assert "3 of 11 tables and results differ from those in it.zip" in said
    assert "runs/pie-seed1.json queues.bottleneck.drop_rate: 0.0" in said
    assert "runs.csv from its line 5 on" in said
    assert "comparison.tex is not there" in said
    assert cli.main(["run", "it.zip", "--trust", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same"] is False


def test_runs_of_a_sweep_are_compared_value_by_value(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    import polars

    work(*COMMANDS["sweep"], "--out", "out")
    file = Path("out/runs.parquet")
    frame = polars.read_parquet(file)
    # Another compression is another file with the same rows.
    frame.write_parquet(file, compression="uncompressed")
    work("pack", "out", "it.zip")
    work("run", "it.zip", "--trust")
    frame.with_columns(goodput=polars.col("goodput") + 1e-9).write_parquet(file)
    work("pack", "out", "it.zip")
    capsys.readouterr()
    assert cli.main(["run", "it.zip", "--trust"]) == 1
    assert "runs.parquet differs in the column goodput" in capsys.readouterr().out
    frame.head(3).write_parquet(file)
    work("pack", "out", "it.zip")
    assert cli.main(["run", "it.zip", "--trust"]) == 1
    assert "runs.parquet has 3 rows in the pack, 4 here" in capsys.readouterr().out


def test_other_versions_are_named(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    work("run", "deep/scenario.toml", "--out", "out")
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"] == inputs.versions()
    manifest["versions"]["polars"] = "0.0.1"
    Path("out/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    work("pack", "out", "it.zip")
    capsys.readouterr()
    work("run", "it.zip")
    assert "warning: it.zip was made with polars 0.0.1 (here " in capsys.readouterr().err


def test_a_pack_has_the_same_bytes_each_time(work: Work) -> None:
    work("run", "deep/scenario.toml", "--out", "out")
    work("pack", "out", "one.zip")
    work("pack", "out", "two.ZIP")
    assert Path("one.zip").read_bytes() == Path("two.ZIP").read_bytes()


def test_texts_in_result_folders_do_not_depend_on_the_terminal(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("45", "110"):
        monkeypatch.setenv("COLUMNS", columns)
        work("compare", "deep/scenario.toml", "--aqm", "red", "pie", "--seeds", "2", "--out", columns)
    assert Path("45/comparison.txt").read_bytes() == Path("110/comparison.txt").read_bytes()


def test_what_cannot_be_packed(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    work("run", "deep/scenario.toml", "--out", "out")
    manifest = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))

    def refused(*words: str) -> str:
        assert cli.main(["pack", *words]) == 2
        assert not list(Path().glob("*.zip"))
        return capsys.readouterr().err

    assert "no such folder; allowed a result folder" in refused("none", "it.zip")
    assert "is no result folder; allowed the result of a run, a comparison, a sweep, a study" in refused(".", "it.zip")
    assert "it.tar: given .tar; allowed NAME.zip" in refused("out", "it.tar")
    assert "in a folder that does not exist" in refused("out", "none/it.zip")
    assert "out/it.zip: is inside out" in refused("out", "out/it.zip")
    for change, said in (
        ({"kind": "link"}, "holds the results of a real link; allowed those of a run"),
        ({"command": None}, "does not say how it was made"),
        ({"command": [7]}, "manifest.json: command, item 1: given 7; allowed a text"),
        ({"reason": "because"}, "cannot be packed: 'because'"),
        ({"files": ["../secret.json"]}, "has a name that is not allowed"),
        ({"files": ["none.json"]}, "none.json: No such file"),
        ({"files": ["result.exe"]}, "is of a kind that no result has"),
    ):
        new = {key: value for key, value in {**manifest, **change}.items() if value is not None}
        Path("out/manifest.json").write_text(json.dumps(new), encoding="utf-8")
        assert said in refused("out", "it.zip")
    Path("out/manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    Path("out/result.txt").unlink()
    Path("out/result.txt").symlink_to(work.folder / "down.trace")
    assert "is a link that leads out of its folder" in refused("out", "it.zip")


def test_other_options_belong_to_a_scenario(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--seed", "1"], ["--set", "seed=1"], ["--measure", "jain"], ["--format", "flent"]):
        assert cli.main(["run", "it.zip", *words]) == 2
        assert f"{words[0]}: belongs to a scenario; it.zip is a pack" in capsys.readouterr().err


def test_a_discipline_of_a_package_is_named(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from earlydrop.own_aqms import registry

    registry.load("code/mine.py")
    monkeypatch.setattr(registry, "points", lambda: [EntryPoint("mine", "pkg.mod:Mine", registry.GROUP)])
    kept = inputs.of("compare", Path("deep/scenario.toml"), {"--aqm": ["mine", "pie"]})
    assert kept.about()["reason"] == "the discipline mine is of an installed package, pkg.mod:Mine"
    plain = inputs.of("compare", Path("deep/scenario.toml"), {"--aqm": ["red", "pie"]})
    assert "reason" not in plain.about()


def test_every_option_that_changes_results_is_kept() -> None:
    """An option of these commands is one that is kept, or is about where and how things are made."""
    about = {"--out", "--store", "--workers", "--cluster", "--plan", "--plot", "--figures", "--style", "--trust"}
    about |= {"--json", "--format"}
    for name, kept in inputs.OPTIONS.items():
        arguments = commands.app[name].assemble_argument_collection()
        options = {n for a in arguments if a.parse for n in a.names if n.startswith("--") and not n.startswith("--no-")}
        assert options - about == set(kept), name


def test_the_words_of_a_command_are_shown_as_one_types_them(work: Work, capsys: pytest.CaptureFixture[str]) -> None:
    work("run", "deep/scenario.toml", "--set", "name=a b", "--out", "out")
    work("pack", "out", "it.zip")
    capsys.readouterr()
    work("run", "it.zip")
    said = capsys.readouterr().out
    (line,) = [line for line in said.splitlines() if line.startswith("  earlydrop run")]
    assert shlex.split(line)[1:] == ["run", "scenario.toml", "--set=name=a b"]
