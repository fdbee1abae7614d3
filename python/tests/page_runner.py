"""Runs a page of the documentation line by line: its programs, files and commands, in their order.

`python page_runner.py` prints how much of the documentation runs. `python page_runner.py PAGE...` runs pages and writes
what their commands print today where other numbers stand.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("earlydrop", "sudo earlydrop", "cd", "make", "cargo")


def steps(text: str) -> Iterator[tuple[str, str]]:
    """A page's programs ("python"), files ("file"), commands ("command") and what these print ("output"), in order."""
    # A line that ends with a backslash goes on in the next.
    lines = iter(re.sub(r"(?m)^( {4}.*) \\\n +", r"\1 ", text).splitlines())
    printed = False
    for line in lines:
        fence = re.match(r"```(\w+)", line)
        if fence:
            block = "\n".join(iter(lambda: next(lines), "```")) + "\n"
            if fence[1] == "python":
                yield "python", block
            elif re.match(r"# [\w.-]+\n", block):
                yield "file", block
        elif line.startswith("    $ "):
            printed = True
            yield "command", line[6:]
            continue
        elif re.match(rf"    ({'|'.join(PROGRAMS)}) ?", line):
            # Several spaces set a remark apart.
            yield "command", re.split(r"\s{3,}", line.strip())[0]
        elif printed and line.startswith("    "):
            yield "output", line[4:]
            continue
        elif printed and not line.strip():
            continue
        printed = False


def environment(folder: Path) -> dict[str, str]:
    """An environment in which `earlydrop` is this one, and `sudo` is nothing."""
    folder.mkdir()
    for name, runs in (("earlydrop", f"{shlex.quote(sys.executable)} -m earlydrop"), ("sudo", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {runs} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "python"), "CARGO_NET_OFFLINE": "true"}


LOADED = """
import json, os, sys
import earlydrop.cli.commands as cli, earlydrop.cli.entry as entry
import earlydrop.study.report, earlydrop.sweeps.report, polars, scipy.special
[cli.app[name] for name in cli.COMMANDS]
for line in sys.stdin:
    words, folder, around, printed = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(around)
        for number, file in enumerate((os.devnull, *printed)):
            os.dup2(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT), number)
        sys.argv = words
        code = entry.main()
        sys.stdout.flush()
        os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""A process that has loaded what the commands load, and forks for each: most of them take less than loading does."""


@cache
def loaded() -> subprocess.Popen[str]:
    """The one process of `LOADED`; it ends with this one, which closes its input."""
    return subprocess.Popen(
        [sys.executable, "-c", LOADED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )


def called(words: Sequence[str], folder: Path, around: dict[str, str]) -> tuple[int, str]:
    """The exit code of a command, and what it prints on both streams."""
    if words[0] != "earlydrop" or not hasattr(os, "fork"):
        made = subprocess.run(words, cwd=folder, env=around, capture_output=True, text=True, check=False)
        return made.returncode, made.stdout + made.stderr
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as out, tempfile.NamedTemporaryFile("r") as err:
        asked, answers = loaded().stdin, loaded().stdout
        assert asked is not None
        assert answers is not None
        print(json.dumps([words, str(folder), around, [out.name, err.name]]), file=asked, flush=True)
        return int(answers.readline()), out.read() + err.read()


@dataclass
class Ran:
    """What was run, and which of it was said to fail."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@dataclass
class Renewed:
    """Lines of a page that are printed otherwise today."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def add(self, line: str, printed: list[str]) -> None:
        """Take in a line with what was printed in its place: the next one like it, of the same first word if there is
        one."""
        first = [other for other in printed if other.split()[:1] == line.split()[:1]]
        near = [other for other in first or printed if difflib.SequenceMatcher(None, line, other).ratio() >= 0.5]
        if near:
            del printed[: printed.index(near[0]) + 1]
        self.lines.append((line, near[0] if near else line))


def take(line: str, printed: list[str]) -> bool:
    """Whether the line, or one with it as a part, is among those printed, which are left from behind it on."""
    same = [k for k, other in enumerate(printed) if other.strip() == line.strip()]
    parts = [k for k, other in enumerate(printed) if line.strip() in other]
    for k in [*same, *parts][:1]:
        del printed[: k + 1]
    return bool(same or parts)


def run(
    page: Path,
    folder: Path,
    fails: Sequence[str] = (),
    changes: Sequence[tuple[str, str]] = (),
    codes: Sequence[int] = (2,),
    skips: Sequence[str] = (),
    renewed: Renewed | None = None,
) -> Ran:
    """Run a page in a folder.

    `fails`: ends of commands that exit with one of `codes`; `changes`: what to replace in programs, files and
    commands; `skips`: parts of commands that are left out. With `renewed` other output than the page's is no fault.
    """
    here, ran = folder, Ran()
    whole, printed = "", list[str]()
    around = environment(folder / ".bin")
    for kind, text in steps(page.read_text(encoding="utf-8")):
        if kind == "output":
            if not take(text, printed):
                assert renewed is not None, (
                    f"{page.name}: {ran.done[-1]}\nprints\n{whole}\nand not, or not in this order\n{text}"
                )
                renewed.add(text, printed)
            continue
        for old, new in changes:
            text = text.replace(old, new)
        if kind == "file":
            (here / text[2:].split("\n", 1)[0]).write_text(text, encoding="utf-8")
            continue
        if text.startswith("cd "):
            here = (here / text[3:]).resolve()
            assert here.is_relative_to(folder)
            continue
        if any(part in text for part in skips):
            whole, printed = "", []
            continue
        if kind == "python":
            named = re.match(r"# (\w+\.py)\n", text)
            file = here / (named[1] if named else "program.py")
            file.write_text(text, encoding="utf-8")
            command = [sys.executable, str(file)]
        else:
            command = shlex.split(text)
        code, whole = called(command, here, around)
        printed = whole.splitlines()
        expected = codes if fails and text.endswith(tuple(fails)) else (0,)
        assert code in expected, f"{page.name}: {text}\n{whole}"
        ran.done.append(text)
        if code:
            ran.failed.append(text)
    return ran


def main() -> None:
    """Print how much of the documentation runs."""
    pages = [ROOT / "README.md", ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    kinds = [kind for text in texts for kind, _ in steps(text)]
    scenarios = sum(len(re.findall(r"^```toml (?:scenario|sweep|study)$", text, re.MULTILINE)) for text in texts)
    print(
        f"documentation, {len(pages)} pages: {kinds.count('python')} programs, {kinds.count('command')} commands and "
        f"{scenarios + kinds.count('file')} scenarios and other files run"
    )


def renew(page: Path) -> int:
    """Write what a page's commands print today; how many lines are new."""
    text = page.read_text(encoding="utf-8")
    whole = page.name != "README.md" or page.parent != ROOT
    part = text if whole else text[text.index("## A first comparison") : text.index("## What it can do")]
    new, renewed = part, Renewed()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, page.name)
        copy.write_text(part, encoding="utf-8")
        run(copy, Path(folder), renewed=renewed)
    for old, line in renewed.lines:
        new = new.replace(f"\n    {old}\n", f"\n    {line}\n", 1)
    page.write_text(text.replace(part, new), encoding="utf-8")
    return len(renewed.lines)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    for name in sys.argv[1:]:
        print(f"{name}: {renew(Path(name).resolve())} lines are printed otherwise today")
    if not sys.argv[1:]:
        main()
