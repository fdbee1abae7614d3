"""`appendix.tex`: what a paper says of its simulations: versions, what was varied, and the whole scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..toml_writer import to_toml
from .latex import escaped, label

LONGEST = 1000
"""The longest line of a scenario that is printed; lists of samples are longer."""


def text(
    title: str,
    version: str,
    how: Sequence[str],
    names: tuple[Sequence[str], Sequence[Sequence[str]]],
    scenario: Mapping[str, Any],
    file: str,
) -> str:
    """The appendix: `how` are sentences on seeds and statistics, `names` head and rows of what tables call things.

    `file` is where the scenario is whole. The same results have the same appendix on every machine.
    """
    head, rows = names
    lines = [
        "% Needs \\usepackage{booktabs}.",
        rf"\section{{Simulations: {escaped(title)}}}",
        rf"\label{{{label(title).replace('tab:', 'app:', 1)}}}",
        rf"Simulated with earlydrop {escaped(version)}. {escaped(' '.join(how))}",
        "",
        r"\begin{center}",
        rf"\begin{{tabular}}{{{'l' * len(head)}}}",
        r"\toprule",
        " & ".join(map(escaped, head)) + r" \\",
        r"\midrule",
        *(" & ".join([*map(escaped, row[:-1]), rf"\texttt{{{escaped(row[-1])}}}"]) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{center}",
        "",
        "The scenario, as TOML:",
        r"\begin{verbatim}",
        *(_printable(line, file) for line in to_toml(scenario).rstrip("\n").split("\n")),
        r"\end{verbatim}",
    ]
    return "\n".join(lines) + "\n"


def _printable(line: str, file: str) -> str:
    """A line of TOML with letters that every LaTeX prints; still the same TOML."""
    if len(line) > LONGEST:
        return f"# {line.partition('=')[0].strip()} has {len(line):,} characters: see {file}"
    # Other letters, and what would end the environment, stand only in texts.
    plain = "".join(c if c.isascii() else f"\\u{ord(c):04X}" if ord(c) < 0x10000 else f"\\U{ord(c):08X}" for c in line)
    return plain.replace(r"\\end", r"\u005Cend")
