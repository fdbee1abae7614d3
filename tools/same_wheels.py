"""Builds the wheels of a commit in two folders, and compares them byte for byte.

    python tools/same_wheels.py [COMMIT] [VARIABLE=VALUE ...]

The variables are make's: PGO=no by default; PROFILE=/path/to/earlydrop.profdata for one stored profile. Exit code 1:
something differs; it is named, file by file of each wheel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parts(file: Path) -> dict[str, str]:
    """What a wheel or an sdist holds: digest, time and rights of each file, in their order."""
    found = {}
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            for at, entry in enumerate(wheel.infolist()):
                digest = sha256(wheel.read(entry)).hexdigest()
                found[f"{at} {entry.filename}"] = f"{digest} {entry.date_time} {entry.external_attr:#x}"
    else:
        with tarfile.open(file) as sdist:
            for at, member in enumerate(sdist.getmembers()):
                content = sdist.extractfile(member)
                digest = sha256(content.read() if content else b"").hexdigest()
                found[f"{at} {member.name}"] = f"{digest} {member.mtime} {member.mode:#o} {member.uid}"
    return found


def differences(one: Path, other: Path) -> Iterator[str]:
    """What differs between the wheels and sdists of two folders."""
    names = [{file.name for file in folder.iterdir() if file.is_file()} for folder in (one, other)]
    yield from (f"{name}: is in one folder only" for name in sorted(names[0] ^ names[1]))
    for name in sorted(names[0] & names[1]):
        if (one / name).read_bytes() == (other / name).read_bytes():
            continue
        first, second = parts(one / name), parts(other / name)
        found = [key for key in {**first, **second} if first.get(key) != second.get(key)]
        for key in found:
            yield f"{name}: {key}: {first.get(key)} and {second.get(key)}"
        if not found:
            yield f"{name}: what it holds is the same, not how it is packed"


def main(words: Sequence[str]) -> int:
    """Build twice and compare."""
    variables = [word for word in words if "=" in word] or ["PGO=no"]
    commit = next((word for word in words if "=" not in word), "HEAD")
    with tempfile.TemporaryDirectory() as base:
        folders = [Path(base, "one"), Path(base, "another", "folder")]
        for folder in folders:
            subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
            revision = subprocess.run(
                ["git", "rev-parse", commit], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
            ).stdout.strip()
            subprocess.run(["git", "checkout", "--quiet", revision], cwd=folder, check=True)
            subprocess.run(["make", "wheels", *variables], cwd=folder, check=True, env=_environment())
        found = list(differences(*(folder / "dist" for folder in folders)))
        for line in found:
            print(line)
        for file in sorted((folders[0] / "dist").iterdir()):
            print(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}")
    print(f"{len(found)} differences" if found else "the same")
    return 1 if found else 0


def _environment() -> dict[str, str]:
    """The environment without what this make tells the makes below it."""
    return {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
