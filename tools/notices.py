"""Licences of the crates that the wheel is linked from: THIRD-PARTY.md, which the wheel carries.

`python tools/notices.py` writes it from what Cargo.lock names, for all platforms; `--check` only says whether it is
what it would write.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "THIRD-PARTY.md"

APACHE = "Apache-2.0"
HEAD = """# Third-party software

earlydrop's compiled library contains the Rust standard library (MIT OR Apache-2.0) and the crates below, used under the
licence in the last column. The text of Apache-2.0 is in LICENSE-APACHE; the other texts follow the table.

| crate | version | licence |
|---|---|---|
"""


class NoticeError(Exception):
    """A crate has no licence that can be kept. The message names it."""


def packages(cargo: str = "cargo", *options: str) -> list[dict[str, Any]]:
    """The crates from elsewhere that the extension is linked from, on any platform, as `cargo metadata` has them.

    Raises:
        NoticeError: cargo fails.
    """
    command = [cargo, "metadata", "--format-version", "1", "--locked", *options]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NoticeError(ended.stderr.strip())
    found = json.loads(ended.stdout)
    by_id = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [p["id"] for p in by_id.values() if p["name"] == "earlydrop-python"]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        # A crate that only the compiler runs is not in the library.
        macro = any("proc-macro" in target["kind"] for target in by_id[one]["targets"])
        if one in seen or macro:
            continue
        seen.add(one)
        for dependency in nodes[one]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    linked = [by_id[one] for one in seen if by_id[one]["source"] is not None]
    return sorted(linked, key=lambda p: (p["name"], p["version"]))


def taken(package: dict[str, Any]) -> tuple[str, str | None]:
    """The licence a crate is used under, and its text where the crate has one of its own: Apache-2.0 if it may be.

    Raises:
        NoticeError: the licence asks for its text, and the crate has none.
    """
    offered = package["license"] or ""
    folder = Path(package["manifest_path"]).parent
    if APACHE in re.split(r" OR |/", offered):
        notice = folder / "NOTICE"
        return APACHE, notice.read_text(encoding="utf-8") if notice.is_file() else None
    name = "MIT" if "MIT" in re.split(r" OR |/", offered) else offered
    files = {file.name.upper(): file for file in folder.iterdir() if file.is_file()}
    for wanted in (f"LICENSE-{name.upper()}", "LICENSE", f"LICENSE-{name.upper()}.TXT", "LICENSE.TXT", "LICENSE.MD"):
        if wanted in files:
            return name, files[wanted].read_text(encoding="utf-8")
    raise NoticeError(f"{package['name']} {package['version']}: {offered or 'no licence'}, without a text of it")


def text(crates: list[dict[str, Any]]) -> str:
    """The page."""
    rows, texts = [], dict[str, list[str]]()
    for package in crates:
        name, content = taken(package)
        rows.append(f"| {package['name']} | {package['version']} | {name} |")
        if content is not None:
            lines = [line.rstrip() for line in content.strip().splitlines()]
            texts.setdefault("\n".join(lines), []).append(package["name"])
    parts = [HEAD + "\n".join(rows)]
    parts += [f"## {', '.join(crates)}\n\n```text\n{content}\n```" for content, crates in texts.items()]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    try:
        page = text(packages())
    except NoticeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != page:
            print("error: THIRD-PARTY.md is not what Cargo.lock says: tools/notices.py writes it anew", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(page, encoding="utf-8")
    print(f"wrote {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
