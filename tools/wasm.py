"""Builds the engine for the web: `target/web/earlydrop.wasm` (docs/web.md).

Rust's standard library for wasm comes from the first of these that works: the toolchain has it; rustup adds it; it is
built once from the distribution's source package of the same version, without rustup's server, and kept in `target`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET_FOLDER = ROOT / "target"
TARGET = "wasm32-unknown-unknown"
SUITES = ("backports", "updates", "security")
"""Parts of a Debian release in which newer compilers come."""
LATER = ("trixie-backports", "trixie", "forky", "sid")
"""Releases of Debian, newer than the system's, that are asked too."""
MOST = 1_000_000
"""Most bytes of the module as a server sends it, compressed by gzip."""
OPTIMIZER = ROOT / "web/node_modules/.bin/wasm-opt"
"""Binaryen's wasm-opt, which npm installs: the module gets 4 % smaller."""
SMALL = ("-C", "llvm-args=-inline-threshold=60")
"""The option that inlines less than LLVM's 225: the module gets 8 % smaller."""


class Missing(Exception):
    """One way to the standard library fails, for this reason."""


def output(*words: str, **options: object) -> str:
    """What a command prints; `Missing` if it fails or does not exist."""
    try:
        made = subprocess.run(words, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    except FileNotFoundError:
        raise Missing(f"{words[0]} is not on the path") from None
    if made.returncode:
        last = (made.stderr or made.stdout).strip().splitlines()[-1:]
        raise Missing(f"{' '.join(words[:3])}: {' '.join(last) or f'exit code {made.returncode}'}")
    return str(made.stdout)


def has_std(folder: Path) -> bool:
    """Whether a folder of libraries has the standard library."""
    return any(folder.glob("libstd-*.rlib"))


def installed() -> list[str]:
    """The standard library that the toolchain has."""
    folder = Path(output("rustc", "--print", "target-libdir", "--target", TARGET, cwd=ROOT).strip())
    if not has_std(folder):
        raise Missing(f"the toolchain has no {TARGET}")
    return []


def rustup() -> list[str]:
    """The standard library that rustup adds to the toolchain."""
    output("rustup", "target", "add", TARGET, cwd=ROOT)
    return installed()


def source() -> list[str]:
    """A standard library built from the distribution's source package, now or before."""
    version = output("rustc", "--version", cwd=ROOT).split()[1]
    sysroot = TARGET_FOLDER / f"wasm-std-{version}"
    libraries = sysroot / "lib" / "rustlib" / TARGET / "lib"
    if not has_std(libraries):
        with tempfile.TemporaryDirectory() as scratch:
            library = unpacked(version, Path(scratch))
            built(library, libraries, Path(scratch))
    return ["--sysroot", str(sysroot)]


def unpacked(version: str, scratch: Path) -> Path:
    """The folder `library` of the compiler's source, from the package rust-src of exactly this version."""
    tried = []
    for options in apt_options(scratch):
        try:
            if options:
                output("apt-get", *options, "update")
            listed = output("apt-cache", *options, "madison", "rust-src").splitlines()
            found = [line.split("|")[1].strip() for line in listed]
            same = [package for package in found if package.startswith(f"{version}+")]
            if not same:
                raise Missing(f"rust-src is {', '.join(found) or 'missing'}")
            output("apt-get", *options, "download", f"rust-src={same[0]}", cwd=scratch)
        except Missing as reason:
            tried.append(str(reason))
            continue
        output("dpkg", "-x", str(next(scratch.glob("rust-src*.deb"))), str(scratch / "src"))
        return next((scratch / "src" / "usr" / "src").glob("rustc-*/library"))
    raise Missing(f"no source of Rust {version}: {'; '.join(tried)}")


def apt_options(scratch: Path) -> list[list[str]]:
    """Options of apt: with the system's own sources, then with later releases from the same place."""
    form = "$(REPO_URI)"
    places = output("apt-get", "indextargets", "--format", form, "Created-By: Packages").split()
    main = [place for place in dict.fromkeys(places) if not any(suite in place for suite in SUITES)][:1]
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    if not main or not keys.is_file():
        return [[]]
    ways: list[list[str]] = [[]]
    for release in LATER:
        folder = scratch / release
        (folder / "lists" / "partial").mkdir(parents=True)
        (folder / "cache" / "archives" / "partial").mkdir(parents=True)
        listed = folder / "sources.list"
        listed.write_text(f"deb [signed-by={keys}] {main[0]} {release} main\n", encoding="utf-8")
        settings = {
            "Dir::Etc::sourcelist": listed,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "root",
        }
        ways.append([word for key, value in settings.items() for word in ("-o", f"{key}={value}")])
    return ways


def built(library: Path, libraries: Path, scratch: Path) -> None:
    """Builds the standard library into the folder `libraries`."""
    crate = scratch / "empty"
    (crate / "src").mkdir(parents=True)
    (crate / "src" / "lib.rs").write_text("", encoding="utf-8")
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n', encoding="utf-8"
    )
    environment = {
        **os.environ,
        "RUSTC_BOOTSTRAP": "1",
        "__CARGO_TESTS_ONLY_SRC_ROOT": str(library),
        "CARGO_TARGET_DIR": str(scratch / "target"),
    }
    words = ("build", "--release", "--target", TARGET, "-Zbuild-std=std,panic_abort")
    output("cargo", *words, cwd=crate, env=environment)
    libraries.mkdir(parents=True, exist_ok=True)
    for file in (scratch / "target" / TARGET / "release" / "deps").glob("*.rlib"):
        if not file.name.startswith("libempty-"):
            shutil.copy(file, libraries)


WAYS = {"installed": installed, "rustup": rustup, "source": source}


def flags(ways: list[str]) -> list[str]:
    """Flags of rustc for the first way that works."""
    reasons = []
    for way in ways:
        try:
            return WAYS[way]()
        except Missing as reason:
            reasons.append(f"  {way}: {reason}")
    raise Missing("Rust's standard library for wasm cannot be had:\n" + "\n".join(reasons))


def build(profile: str, ways: list[str]) -> Path:
    """Build the module with a profile of Cargo.toml; its path."""
    environment = dict(os.environ) | {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join([*flags(ways), *SMALL])}
    words = ("cargo", "build", "--quiet", "--profile", profile, "--target", TARGET, "-p", "earlydrop-web")
    subprocess.run(words, cwd=ROOT, env=environment, check=True)
    made = Path(environment.get("CARGO_TARGET_DIR", ROOT / "target"))
    return made / TARGET / profile / "earlydrop_web.wasm"


def main() -> int:
    """0; 1 if it cannot be built or is too large."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="for tests: target/earlydrop-quick.wasm, built in less time"
    )
    parser.add_argument("--way", choices=WAYS, action="append", help="only this way to the standard library")
    chosen = parser.parse_args()
    try:
        made = build("wasm-quick" if chosen.quick else "wasm", chosen.way or list(WAYS))
    except Missing as reason:
        print(f"wasm.py: {reason}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        return failed.returncode
    target = TARGET_FOLDER / ("earlydrop-quick.wasm" if chosen.quick else "web/earlydrop.wasm")
    target.parent.mkdir(parents=True, exist_ok=True)
    if chosen.quick:
        shutil.copyfile(made, target)
    else:
        # Instructions that rustc uses and that all browsers have (docs/web.md).
        uses = (
            "bulk-memory",
            "mutable-globals",
            "nontrapping-float-to-int",
            "sign-ext",
            "multivalue",
            "reference-types",
        )
        # Data without their zeros are thousands of segments, whose heads compress worse than the zeros: 8 kB.
        flat = "--skip-pass=memory-packing"
        words = (str(OPTIMIZER), "-O2", flat, *(f"--enable-{one}" for one in uses), str(made), "-o", str(target))
        subprocess.run(words, check=True)
    data = target.read_bytes()
    small = len(gzip.compress(data, mtime=0))
    print(f"{target.relative_to(ROOT)}: {len(data):,} bytes, {small:,} compressed by gzip")
    if not chosen.quick and small > MOST:
        print(f"wasm.py: more than {MOST:,} bytes compressed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
