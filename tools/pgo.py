"""Makes the profile of a profile-guided build: `target/pgo/earlydrop.profdata`.

The extension is built with counters, runs `tools/pgo_training.py`, and what they counted becomes the profile.
`make build PGO=yes` and `make wheels` call this and then build with `-Cprofile-use`. Results do not depend on it: a
profile moves code, and the order of additions is the language's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "target" / "pgo"
PROFILE = FOLDER / "earlydrop.profdata"


class Missing(Exception):
    """A program or file that the profile needs is missing."""


def rustc(*words: str) -> str:
    """The output of the compiler for these arguments."""
    return subprocess.run(("rustc", *words), cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def merger() -> Path:
    """llvm-profdata of the compiler in use: profiles of another LLVM cannot be read."""
    found = Path(rustc("--print", "target-libdir")).parent / "bin" / "llvm-profdata"
    for name in (found, found.with_suffix(".exe")):
        if name.is_file():
            return name
    raise Missing(f"{found} is missing: rustup component add llvm-tools")


def built() -> Path:
    """The extension with counters, built as maturin builds it, for a named target: build scripts are not counted."""
    host = next(line.split(": ")[1] for line in rustc("-vV").splitlines() if line.startswith("host"))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(FOLDER), "RUSTFLAGS": "-Cprofile-generate"}
    words = ("cargo", "build", "--release", "--quiet", "--target", host, "--manifest-path", "crates/python/Cargo.toml")
    subprocess.run((*words, "--lib"), cwd=ROOT, env=environment, check=True)
    release = FOLDER / host / "release"
    return next(path for path in release.iterdir() if path.suffix in (".so", ".dylib", ".dll"))


def train(extension: Path, raw: Path) -> None:
    """Runs the training with `extension`, which writes what it counted into `raw`."""
    package = FOLDER / "package" / "earlydrop"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for path in (ROOT / "python" / "earlydrop").iterdir():
        if not path.name.startswith("_core.") or path.suffix == ".pyi":
            (package / path.name).symlink_to(path)
    suffix = ".pyd" if extension.suffix == ".dll" else ".abi3.so"
    shutil.copyfile(extension, package / f"_core{suffix}")
    shutil.rmtree(raw, ignore_errors=True)
    names = {"PYTHONPATH": str(package.parent), "LLVM_PROFILE_FILE": str(raw / "%m-%p.profraw")}
    subprocess.run(
        (sys.executable, ROOT / "tools" / "pgo_training.py"), env={**os.environ, **names}, cwd=FOLDER, check=True
    )


def main() -> int:
    """0; 1 if something is missing or fails."""
    raw = FOLDER / "raw"
    try:
        merge = merger()
        print("pgo.py: building with counters, for some minutes; then training, for seconds", flush=True)
        train(built(), raw)
        subprocess.run((merge, "merge", "-o", PROFILE, *sorted(raw.glob("*.profraw"))), check=True)
    except (Missing, FileNotFoundError) as reason:
        print(f"pgo.py: {reason}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        print(f"pgo.py: {failed.cmd[0]} failed", file=sys.stderr)
        return 1
    print(f"{PROFILE.relative_to(ROOT)}: {PROFILE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
