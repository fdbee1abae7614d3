"""Asks the databases of advisories about everything that the package is made from. `make audit` runs it.

    python tools/audit.py [--unreachable-ok]

RustSec's, by `cargo deny`, about the crates in Cargo.lock; PyPI's, by `pip-audit`, about the Python packages in .venv;
npm's, by `npm audit`, about those in web/package-lock.json. It prints each advisory, and each database that did not
answer, or not for all. Exit code 1: there is an advisory; 2: there is none that it knows of, but a database did not
answer, unless --unreachable-ok.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDE = Path(sys.executable).parent
"""The folder of the programs that are installed with this Python."""


@dataclass
class Answer:
    """The advisories that a database gave."""

    advisories: list[str] = field(default_factory=list)
    unanswered: str | None = None
    """Why the database did not answer for all; None if it did."""


def _run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def _objects(lines: str) -> Iterator[dict[str, object]]:
    """The JSON objects among lines."""
    for line in lines.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def rustsec() -> Answer:
    """Advisories of RustSec about the crates."""
    if _run("cargo", "deny", "--version").returncode:
        return Answer(unanswered="cargo-deny is not installed: cargo install --locked cargo-deny")
    ran = _run("cargo", "deny", "--format", "json", "check", "advisories")
    answer = Answer()
    whole = False
    for said in _objects(ran.stderr):
        fields = said["fields"]
        assert isinstance(fields, dict)
        whole |= said["type"] == "summary"
        if said["type"] == "diagnostic" and fields["severity"] == "error":
            advisory = fields.get("advisory") or {}
            # A label reads "smallvec 1.6.0 registry+https://...".
            crates = {" ".join(label["span"].split()[:2]) for label in fields.get("labels", [])}
            name = advisory.get("id", fields.get("code"))
            answer.advisories.append(f"{name}: {', '.join(sorted(crates))}: {fields['message']}")
        elif said["type"] == "log" and fields["level"] == "ERROR":
            answer.unanswered = str(fields["message"]).partition("\n")[0]
    if not whole and answer.unanswered is None:
        answer.unanswered = _last(ran.stderr)
    return answer


def pypi() -> Answer:
    """Advisories of PyPI about the Python packages."""
    sites = sorted((ROOT / ".venv/lib").glob("python3*/site-packages"))
    if not sites:
        return Answer(unanswered=".venv is not there: make build")
    options = ["--format", "json", "--progress-spinner", "off", "--skip-editable"]
    ran = _run(str(BESIDE / "pip-audit"), *options, "--path", str(sites[0]))
    try:
        packages = json.loads(ran.stdout)["dependencies"]
    except (ValueError, KeyError):
        return Answer(unanswered=_last(ran.stderr))
    # Our own package is not on PyPI.
    packages = [package for package in packages if package["name"] != "earlydrop"]
    answer = Answer()
    for package in packages:
        for found in package.get("vulns", []):
            fixed = ", ".join(found.get("fix_versions", [])) or "none"
            answer.advisories.append(f"{found['id']}: {package['name']} {package['version']}; fixed in: {fixed}")
    # pip-audit says of a package for which PyPI gave no answer that it is not there, and ends without an error.
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped:
        answer.unanswered = f"no answer about {len(skipped)} of {len(packages)} packages, such as {skipped[0]}"
    return answer


def npm() -> Answer:
    """Advisories of npm about the packages that the playground is built with."""
    if shutil.which("npm") is None:
        return Answer(unanswered="npm is not installed")
    ran = _run("npm", "audit", "--json", "--package-lock-only", cwd=ROOT / "web")
    try:
        said = json.loads(ran.stdout)
    except ValueError:
        return Answer(unanswered=_last(ran.stderr))
    if "vulnerabilities" not in said:
        return Answer(unanswered=said.get("message") or _last(ran.stderr))
    answer = Answer()
    for name, found in said["vulnerabilities"].items():
        for via in found["via"]:
            # A text in the list is another package's name.
            if isinstance(via, dict):
                answer.advisories.append(f"{via['url']}: {name} {via['range']}: {via['title']}")
    return answer


def _last(text: str) -> str:
    """The last line that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")


DATABASES: dict[str, Callable[[], Answer]] = {
    "RustSec (https://github.com/RustSec/advisory-db)": rustsec,
    "PyPI": pypi,
    "npm": npm,
}


def main(words: Sequence[str] | None = None) -> int:
    """Ask every database."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unreachable-ok", action="store_true", help="a database that does not answer is no failure")
    asked = parser.parse_args(words)
    answers = {name: ask() for name, ask in DATABASES.items()}
    for name, answer in answers.items():
        for advisory in answer.advisories:
            print(f"advisory: {advisory}")
        if answer.unanswered is not None:
            print(f"NO ANSWER: {name}: {answer.unanswered}")
        elif not answer.advisories:
            print(f"no advisory: {name}")
    if any(answer.advisories for answer in answers.values()):
        return 1
    return 2 if not asked.unreachable_ok and any(answer.unanswered for answer in answers.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
