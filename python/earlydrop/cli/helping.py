"""Help pages: examples, defaults, and paragraphs that the terminal folds."""

from __future__ import annotations

import inspect

FIRST = """Begin with:
  earlydrop init first
  earlydrop compare first.toml --aqm droptail fq_codel

`earlydrop COMMAND --help` has options and examples; the documentation's page "Command line" has more."""
"""The text below the list of commands."""

EXAMPLES = {
    "list": ("earlydrop list aqms", "earlydrop list studies"),
    "init": ("earlydrop init first", "earlydrop init mine --topology parking_lot", "earlydrop init mine --paper tred"),
    "check": ("earlydrop check first.toml", "earlydrop check first.toml --set queue.bottleneck.aqm=pie"),
    "show": ("earlydrop show codel", "earlydrop show linux-6.18 --against rfc", "earlydrop show first.toml"),
    "play": ("earlydrop play", "earlydrop play first.toml"),
    "new-aqm": ("earlydrop new-aqm my_red",),
    "test-aqm": ("earlydrop test-aqm mine.py",),
    "run": (
        "earlydrop run first.toml",
        "earlydrop run first.toml --set queue.bottleneck.aqm=pie --out out/first",
        "earlydrop run first.zip --trust",
    ),
    "compare": (
        "earlydrop compare first.toml --aqm droptail pie",
        'earlydrop compare first.toml --aqm codel "codel target=15ms" --seeds 20',
    ),
    "sweep": ("earlydrop sweep loads.toml", 'earlydrop sweep loads.toml --plot "queue_delay vs load by aqm"'),
    "tune": ("earlydrop tune first.toml --aqm red",),
    "break": (
        "earlydrop break mobile --aqm pie --against fq_codel --objective utilisation --runs 2000",
        "earlydrop break home --aqm codel --objective delay --out out/codel",
    ),
    "diff": ("earlydrop diff out/before out/after",),
    "trace": ("earlydrop trace first.toml first.tr", "earlydrop trace first.toml first.pcapng --queue bottleneck"),
    "completion": ("earlydrop completion fish > ~/.config/fish/completions/earlydrop.fish",),
    "advise": ("earlydrop advise --down 50mbit --up 10mbit", "earlydrop advise --down 16mbit --up 1mbit --link adsl"),
    "report": ("earlydrop report out/loads",),
    "pack": ("earlydrop pack out/loads loads.zip",),
    "store": ("earlydrop store ls out/store", "earlydrop store verify out/store"),
    "reproduce": ("earlydrop reproduce tred --quick", "earlydrop reproduce all"),
    "conform": ("earlydrop conform bbr3", "earlydrop conform --explain 103", "earlydrop conform mine.json"),
    "validate": ("earlydrop validate --case S1", "earlydrop validate --case S3 'S1-red-*'"),
    "vectors": ("earlydrop vectors red", "earlydrop vectors --out out/vectors"),
    "bench": ("earlydrop bench --case A",),
    "link": (
        "sudo earlydrop link --rate 50mbit --delay 10ms --queue codel --nat -- COMMAND",
        "sudo earlydrop link --rate 10mbit --reverse-rate 50mbit --queue pie -- COMMAND",
        "sudo earlydrop link --sim first.toml --at reverse --nat -- COMMAND",
    ),
    "link-model": ("earlydrop link-model fit drive.trace --out drive.toml",),
    "replay": ("earlydrop replay out/link --queue pie",),
    "crosscheck": ("sudo earlydrop crosscheck first.toml",),
}
"""Command lines of each command, the simplest first."""


def examples(command: str) -> str:
    """The examples below a command's options."""
    return "\n".join(["Examples:", *(f"  {line}" for line in EXAMPLES.get(command, ()))])


def shown_default(value: object) -> str | None:
    """How a default is shown: not at all where leaving the option out means that it has no value."""
    return None if value in (False, [], None) else str(value)


def unfolded(text: str | None) -> str | None:
    """A docstring whose paragraphs are one line each, so that they fold at the terminal's width."""
    if text is None:
        return None
    lines: list[str] = []
    joins = False
    for line in inspect.cleandoc(text).splitlines():
        # Lines of one paragraph have one indent; a line of --- belongs to the heading above it.
        rule = line.strip("- ") == ""
        if joins and not rule and _indent(line) == _indent(lines[-1]):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
        joins = not rule
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
