"""Commands import nothing from the folder that they run in, and figures take no style from it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from earlydrop import _core, safe_path

NAMES = (
    *(
        "multiprocessing",
        "concurrent",
        "json",
        "numpy",
        "pyarrow",
        "polars",
        "scipy",
        "matplotlib",
        "signal",
        "threading",
    ),
    *("logging", "random", "typing", "encodings", "site", "sitecustomize", "usercustomize", "ctypes", "importlib"),
    "earlydrop",
)
PLANTED = (
    "import os\nopen(os.environ['PLANTED'], 'a').write(__file__ + ' in ' + repr(__import__('sys').argv) + '\\n')\n"
)
SWEEP = """
name = "s"
scenario = "first.toml"
seeds = 2
measures = ["goodput", "queue_delay"]

[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["droptail", "red"]
"""
COMMANDS = {
    "run": ["run", "first.toml", "--out", "run"],
    "compare": ["compare", "first.toml", "--aqm", "droptail", "red", "--seeds", "2", "--out", "compare"],
    "sweep": ["sweep", "sweep.toml", "--workers", "2", "--out", "sweep"],
    "sweep on a cluster": ["sweep", "sweep.toml", "--cluster", "local:2", "--out", "cluster", "--store", "other"],
    "tune": ["tune", "first.toml", "--aqm", "red", "--trials", "2", "--seeds", "2", "--confirm", "2"],
    "reproduce": ["reproduce", "./small", "--quick", "--workers", "2", "--out", "reproduce"],
    "report": ["report", "run"],
    "link": ["link", "--rate", "10Mbit/s", "--", "true"],
    "play": ["play", "first.toml", "--no-browser"],
    "advise": shlex.split("advise --down 5mbit --up 1mbit --seeds 2 --aqm droptail pie --out advise"),
}
INSTALLED = Path(sys.executable).with_name("earlydrop")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario, a sweep and a study, and beside them a module of each name, as a file and as a folder."""
    place = tmp_path_factory.mktemp("hostile")
    scenario = _core.template("first").replace('duration = "60 s"', 'duration = "3 s"').replace('"20 s"', '"1 s"')
    (place / "first.toml").write_text(scenario, encoding="utf-8")
    (place / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    shutil.copytree(Path(__file__).with_name("studies") / "small", place / "small")
    # A package comes before a module of its name: half of the names are packages, half files, and both are tried.
    for k, name in enumerate(NAMES):
        package = place / name / "__init__.py"
        if k % 2:
            package.parent.mkdir()
            package.write_text(PLANTED, encoding="utf-8")
        else:
            (place / f"{name}.py").write_text(PLANTED, encoding="utf-8")
    return place


def swapped(place: Path) -> None:
    """Make packages of files and files of packages."""
    for name in NAMES:
        package, file = place / name, place / f"{name}.py"
        if package.is_dir():
            shutil.rmtree(package)
            file.write_text(PLANTED, encoding="utf-8")
        else:
            file.unlink()
            package.mkdir()
            (package / "__init__.py").write_text(PLANTED, encoding="utf-8")


@pytest.mark.skipif(not INSTALLED.is_file(), reason="the command is not installed beside this Python")
def test_no_command_imports_what_lies_in_the_current_folder(folder: Path) -> None:
    planted = folder / "planted.txt"
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", safe_path.SWITCH)}
    environment["PLANTED"] = str(planted)
    # It does run where Python looks into the folder.
    subprocess.run([sys.executable, "-c", "import random"], cwd=folder, env=environment, check=False, timeout=60)
    assert planted.read_text(encoding="utf-8").count("\n") >= 1
    planted.unlink()
    # Those that start processes meet each name as a file and as a package.
    for every in (COMMANDS, ("sweep", "reproduce")):
        for name in every:
            command = [INSTALLED, *COMMANDS[name]]
            wait = 5 if name == "play" else 120
            try:
                ended = subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=wait
                )
            except subprocess.TimeoutExpired:
                assert name == "play", name
                continue
            assert not planted.exists(), f"{name}: {planted.read_text(encoding='utf-8')}"
            # Extras and rights may be missing here; each other command did its work.
            if name not in ("tune", "link", "play", "sweep on a cluster"):
                assert ended.returncode == 0, f"{name}: {ended.stderr}"
        swapped(folder)


@pytest.mark.skipif(not INSTALLED.is_file(), reason="the command is not installed beside this Python")
def test_figures_take_no_style_from_the_current_folder(tmp_path: Path) -> None:
    scenario = _core.template("first").replace('duration = "60 s"', 'duration = "3 s"').replace('"20 s"', '"1 s"')
    (tmp_path / "first.toml").write_text(scenario, encoding="utf-8")
    drawn = []
    for k, rc in enumerate(("", "text.usetex: True\nlines.linewidth: 9\naxes.facecolor: red\n")):
        if rc:
            (tmp_path / "matplotlibrc").write_text(rc, encoding="utf-8")
        command = [INSTALLED, "run", "first.toml", "--out", f"out{k}"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)
        drawn.append((tmp_path / f"out{k}" / "result.png").read_bytes())
    assert drawn[0] == drawn[1]
    # One that never ends is not read.
    (tmp_path / "matplotlibrc").unlink()
    os.mkfifo(tmp_path / "matplotlibrc")
    subprocess.run([INSTALLED, "run", "first.toml", "--out", "out2"], cwd=tmp_path, check=True, timeout=120)


def test_the_switch_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(safe_path.SWITCH, raising=False)
    with safe_path.children():
        with safe_path.children():
            assert os.environ[safe_path.SWITCH] == "1"
        assert os.environ[safe_path.SWITCH] == "1"
    assert safe_path.SWITCH not in os.environ
    monkeypatch.setenv(safe_path.SWITCH, "yes")
    with safe_path.children():
        assert os.environ[safe_path.SWITCH] == "yes"
    assert os.environ[safe_path.SWITCH] == "yes"
