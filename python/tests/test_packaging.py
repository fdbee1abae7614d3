"""What an installed package holds."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import SMALL

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).parent / "maturin"
    build = [str(maturin), "build", "--release", "--quiet", "--interpreter", sys.executable, "--out", str(folder)]
    built = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("earlydrop-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_it_holds_the_package_with_its_studies_and_nothing_else(installed: Path) -> None:
    tops = {p.name.partition("-")[0] for p in installed.iterdir()}
    assert tops == {"earlydrop"}
    studies = CHECKOUT / "studies"
    kept = {p.relative_to(studies) for p in studies.rglob("*") if p.is_file()}
    carried = installed / "earlydrop" / "studies"
    assert {p.relative_to(carried) for p in carried.rglob("*") if p.is_file()} == kept
    for name in (
        "py.typed",
        "include/earlydrop_aqm.h",
        "_core.pyi",
        "aqm.pyi",
        "templates/study.html.j2",
        "templates/scorecard.html.j2",
        "templates/sweep.html.j2",
        "templates/style.css",
        "templates/sort.js",
        "templates/new_aqm/rust/src/abi.rs",
        "include/earlydrop_aqm.h",
    ):
        assert (installed / "earlydrop" / name).is_file()
    # What only our own validation runs stays in the checkout.
    own = {path.stem for path in (CHECKOUT / "validation").rglob("*.py")}
    assert "crosscheck_grid" in own
    assert not own & {path.stem for path in (installed / "earlydrop").rglob("*.py")}
    (licences,) = installed.glob("earlydrop-*.dist-info/licenses")
    assert {p.name for p in licences.iterdir()} == {"LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md"}


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the sections of an ELF file")
def test_its_library_has_no_symbols_that_nobody_needs(installed: Path) -> None:
    (library,) = (installed / "earlydrop").glob("_core*.so")
    content = library.read_bytes()
    assert b".dynsym\0" in content
    assert b".symtab\0" not in content


def test_it_works_far_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "earlydrop", *arguments],
            env={**os.environ, "PYTHONPATH": str(installed)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    where = subprocess.run(
        [sys.executable, "-c", "import earlydrop; print(earlydrop.__file__)"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(installed)
    assert "tred" in run("list", "studies").stdout
    assert run("check", "tred").returncode == 0
    made = run("reproduce", str(SMALL), "--quick", "--out", "out")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "out" / "report.html").is_file()
    # ns-2's figures stay in the checkout.
    asked = run("validate")
    assert asked.returncode == 2
    assert "checkout of earlydrop" in asked.stderr
