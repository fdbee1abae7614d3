"""Writes what the wheels in dist/ are made from, in CycloneDX, beside them. `make sbom` runs it.

The crates, by cargo-cyclonedx; the Python packages that an installed wheel brings, by cyclonedx-py; the packages that
the playground is built with, by `npm sbom`. Each of the three is a file `earlydrop-VERSION-PART.cdx.json`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from release import fits

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def _said(*command: str | Path, cwd: Path = ROOT) -> str:
    """The output of a command.

    Raises:
        CalledProcessError: the command fails.
    """
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


def crates() -> str:
    """The crates that the extension is linked from."""
    name = "earlydrop-sbom"
    describe = ["--format", "json", "--spec-version", "1.5", "--override-filename", name]
    try:
        _said("cargo", "cyclonedx", "--quiet", *describe, "--manifest-path", "crates/python/Cargo.toml")
        return (ROOT / "crates/python" / f"{name}.json").read_text(encoding="utf-8")
    finally:
        # cargo-cyclonedx writes a file for every crate of the workspace.
        for made in ROOT.glob(f"crates/*/{name}.json"):
            made.unlink()


def python() -> str:
    """The packages that pip installs with the wheel."""
    wheel = next((wheel for wheel in sorted(DIST.glob("*.whl")) if fits(wheel)), None)
    if wheel is None:
        raise SystemExit("dist: no wheel for this machine: make wheels")
    with tempfile.TemporaryDirectory() as folder:
        _said(sys.executable, "-m", "venv", "--without-pip", folder)
        inside = Path(folder) / "bin/python"
        _said(sys.executable, "-m", "pip", "--python", inside, "install", "--quiet", wheel)
        program = Path(sys.executable).with_name("cyclonedx-py")
        return _said(program, "environment", "--output-reproducible", "--output-format", "JSON", inside)


def page() -> str:
    """The packages that the playground is built with."""
    return _said("npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only", cwd=ROOT / "web")


PARTS: dict[str, Callable[[], str]] = {"crates": crates, "python": python, "page": page}


def main() -> None:
    """Write all three files."""
    if shutil.which("cargo-cyclonedx") is None:
        raise SystemExit("cargo-cyclonedx is not installed: cargo install --locked cargo-cyclonedx")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    for part, make in PARTS.items():
        # The folder of the build is nobody's business.
        bill = json.loads(make().replace(str(ROOT), "."))
        file = DIST / f"earlydrop-{version}-{part}.cdx.json"
        file.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: {len(bill['components'])} components")


if __name__ == "__main__":
    main()
