"""`earlydrop new-aqm`: the projects it writes are built, tested and compared, and all languages decide the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_own_policies import cases

from earlydrop import _core, aqm, cli, new_aqm
from earlydrop.own_aqms import registry

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *command: str) -> str:
    """What a command in the project's folder prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CARGO_NET_OFFLINE": "true"}
    made = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"{command}\n{made.stdout}{made.stderr}"
    return made.stdout


def built(folder: Path, language: new_aqm.Language) -> Path:
    """A project, built: its source or library."""
    project = new_aqm.write("linear", language, folder / language)
    if project.build:
        if shutil.which(project.build.split()[0]) is None:
            pytest.skip(f"{project.build.split()[0]} is not installed")
        run(project.folder, *project.build.split())
    return project.folder / project.source


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project in Python."""
    return built(tmp_path_factory.mktemp("projects"), "python")


@pytest.mark.parametrize("language", ["python", "c", "rust"])
def test_a_project_works_and_decides_as_that_in_python(
    tmp_path: Path, python: Path, language: new_aqm.Language
) -> None:
    source = built(tmp_path, language)
    folder = tmp_path / language
    earlydrop = (sys.executable, "-m", "earlydrop")
    name = source.relative_to(folder).as_posix()
    tried = json.loads(run(folder, *earlydrop, "test-aqm", name, "--packets", "20000", "--json"))
    assert tried["ok"]
    assert len(tried["properties"]) == 10
    run(folder, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    compared = run(folder, *earlydrop, "compare", "scenario.toml", "--aqm", "droptail", name, "--seeds", "2", "--json")
    differences = json.loads(compared)["differences"]["linear"]
    assert differences["queue_delay"]["mean"] < -10
    listed = json.loads(run(folder, *earlydrop, "list", "aqms", "--trust", "--json"))
    assert [one["title"] for one in listed if one["name"] == "linear"] == ["Linear"]
    assert registry.load(source).native.vectors() == registry.load(python).native.vectors()


def test_red_in_rust_decides_as_the_catalogues(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    project = new_aqm.write("rust_red", "rust", tmp_path / "red")
    shutil.copy(Path(__file__).parent / "policies/rust_red.rs", project.folder / "src/lib.rs")
    run(project.folder, *project.build.split())
    ours = cases(registry.load(project.folder / project.source).native.vectors())
    expected = cases(_core.vectors("red") or "")
    assert set(ours) == {"default", "without ecn", "limit in bytes", "hostile"}
    assert ours == {case: expected[case] for case in ours}


def test_a_panic_in_rust_is_one_error(tmp_path: Path) -> None:
    project = new_aqm.write("panics", "rust", tmp_path / "panics")
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    code = project.folder / "src/lib.rs"
    text = code.read_text(encoding="utf-8")
    start = "        self.last = cx.now;\n"
    assert start in text
    code.write_text(text.replace(start, start + '        assert!(cx.now < 1.0, "too late");\n'), encoding="utf-8")
    run(project.folder, *project.build.split())
    command = [sys.executable, "-m", "earlydrop", "run", "scenario.toml", "--set"]
    command.append(f"queue.bottleneck.aqm={project.source}")
    ended = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
    assert ended.returncode == cli.FAILED
    assert "panics: panicked: too late" in ended.stderr
    assert ended.stdout == ""


def test_plain_and_compiled_python_decide_the_same(python: Path) -> None:
    pytest.importorskip("numba")
    fast = python.with_name("fast.py")
    fast.write_text(
        python.read_text(encoding="utf-8").replace("@ed.policy ", "@ed.policy(jit=True) "), encoding="utf-8"
    )
    assert registry.load(fast).policy.jit
    assert registry.load(fast).native.vectors() == registry.load(python).native.vectors()
    assert aqm.load(fast)(limit=50).document()["aqm"] == "linear"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("MyRed", 'given "MyRed"; allowed a-z, 0-9 and _, a letter first; "my_red" would do'),
        ("9", 'given "9"; allowed a-z, 0-9 and _, a letter first'),
        ("red", '"red" is a discipline already; allowed a name of its own, such as my_red'),
        ("queue", '"queue" is a module of Python; allowed a name of its own, such as queue_aqm'),
    ],
)
def test_names_that_cannot_be_a_disciplines(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(new_aqm.NewAqmError) as error:
        new_aqm.write(name, folder=tmp_path / "new")
    assert said in str(error.value)
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-aqm", "mine"]) == cli.DONE
    assert "earlydrop test-aqm mine.py" in capsys.readouterr().out
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "mine").iterdir()}
    assert cli.main(["new-aqm", "mine"]) == cli.WRONG_INPUT
    assert "mine: has something in it; allowed a new or empty folder, with --folder" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "mine").iterdir()} == files
    assert cli.main(["new-aqm", "mine", "--folder", "other", "--json"]) == cli.DONE
    assert json.loads(capsys.readouterr().out)["source"] == "mine.py"
    assert cli.main(["new-aqm", "mine", "--language", "go"]) == cli.WRONG_INPUT


def test_the_package_has_the_header_of_the_crate() -> None:
    assert (ROOT / "crates/aqm/include/earlydrop_aqm.h").samefile(new_aqm.HEADER)
