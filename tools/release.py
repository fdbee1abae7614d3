"""What must hold before a version is published. `make release` runs it over dist/; it says everything that does not.

Versions and changelog, licences of what the wheel is linked from, advisories about it (audit.py), the site, the crates
as packages, and each wheel for this machine in a fresh environment (check_wheel.py). It publishes nothing.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions(root: Path = ROOT) -> Iterator[str]:
    """Faults in what names the version: crates, citation, changelog, and what lies in dist/."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    version = cargo["package"]["version"]
    for name, dependency in cargo["dependencies"].items():
        if "path" in dependency and dependency.get("version") != version:
            yield f"Cargo.toml: workspace.dependencies.{name}: version {dependency.get('version')}, not {version}"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "version" not in project.get("dynamic", []):
        yield "pyproject.toml: project.version: must be dynamic, so that it is Cargo.toml's"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## \[?([^\]\s]+)\]?[^\n]*\n(.*?)(?=^## |\Z)", changes, re.MULTILINE | re.DOTALL))
    if not sections.get(version, "").strip():
        yield f"CHANGELOG.md: no section [{version}], or nothing in it"
    if sections.get("Unreleased", "").strip():
        yield f"CHANGELOG.md: [Unreleased] is not empty: move it to [{version}]"
    made = sorted((root / "dist").glob("earlydrop-*"))
    if not any(file.suffix == ".whl" for file in made) or not any(file.name.endswith(".tar.gz") for file in made):
        yield "dist: needs a wheel and an sdist: make wheels"
    for file in made:
        if file.name.removesuffix(".tar.gz").split("-")[1] != version:
            yield f"dist/{file.name}: not version {version}"


def fits(wheel: Path) -> bool:
    """Whether a wheel is for this machine."""
    tag = wheel.stem.split("-")[-1]
    system = {"Linux": "linux", "Darwin": "macosx", "Windows": "win"}.get(platform.system(), platform.system())
    machine = platform.machine().lower().replace("arm64", "aarch64").replace("amd64", "x86_64")
    return system in tag and machine in tag.replace("arm64", "aarch64").replace("amd64", "x86_64")


def ends(*command: str) -> Iterator[str]:
    """A fault if a command fails or is missing."""
    print("$", " ".join(command), flush=True)
    if shutil.which(command[0]) is None:
        yield f"{command[0]}: is not installed"
    elif subprocess.run(command, cwd=ROOT, check=False).returncode:
        yield f"failed: {' '.join(command)}"


def licences() -> Iterator[str]:
    """Faults in the licences of the crates."""
    yield from ends(sys.executable, "tools/notices.py", "--check")
    if shutil.which("cargo-deny") is None:
        yield "licences are not checked: cargo install --locked cargo-deny"
    else:
        yield from ends("cargo", "deny", "check", "bans", "licenses", "sources")


def main() -> int:
    faults = [*versions(), *licences(), *ends("make", "audit"), *ends("make", "docs")]
    faults += ends("cargo", "package", "--workspace", "--quiet")
    for wheel in sorted((ROOT / "dist").glob("*.whl")):
        if fits(wheel):
            faults += ends(sys.executable, "tools/check_wheel.py", str(wheel))
        else:
            print(f"{wheel.name}: for another machine; not tried")
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if not faults:
        print("all holds: ready to publish")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
