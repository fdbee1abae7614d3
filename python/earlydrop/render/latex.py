"""Tables for papers: LaTeX with the packages booktabs and siunitx."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NEEDS = "% Needs \\usepackage{booktabs, siunitx}.\n"
MARK = "(!)"
"""The mark of numbers whose window is too short."""
_SPECIAL = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"}
)
_NUMBER = re.compile(r"([-+]?)(\d+)(?:\.(\d+))?(?: ± (\d+)(?:\.(\d+))?)?( " + re.escape(MARK) + ")?")


def escaped(text: str) -> str:
    """A text as LaTeX prints it. ± and the minus sign of a number are set as mathematics."""
    made = text.strip().translate(_SPECIAL)
    if made.startswith("-") and made[1:2].isdigit():
        made = "$-$" + made[1:]
    return made.replace("±", r"$\pm$")


def label(*parts: str) -> str:
    """The name by which a paper refers to a table: `tab:rtt-queue-delay`."""
    return "tab:" + (re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-") or "table")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int, caption: str, name: str) -> str:
    """A table of texts, `left` columns of names before those of numbers, which are aligned at their points.

    `name` is its \\label.
    """
    formats = "".join(_format(row[k] for row in rows) for k in range(left, len(head)))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{{name}}}",
        r"\sisetup{separate-uncertainty = true, retain-explicit-plus = true}",
        rf"\begin{{tabular}}{{{'l' * left}{formats}}}",
        r"\toprule",
        _row([*map(escaped, head[:left]), *(f"{{{escaped(one)}}}" for one in head[left:])]),
        r"\midrule",
        *(_row([*map(escaped, row[:left]), *map(_cell, row[left:])]) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(text: str) -> str:
    """A cell of a column of numbers; what is no number stands in braces."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return f"{{{'--' if text.strip() == '-' else escaped(text)}}}"
    number, *uncertainty = text.strip().removesuffix(MARK).strip().split(" ± ")
    mark = rf" {{\,{MARK}}}" if found[6] else ""
    return number + "".join(rf" \pm {one}" for one in uncertainty) + mark


def _format(cells: Iterable[str]) -> str:
    """The column of these cells: with the room that its longest numbers need."""
    found = [one for cell in cells if (one := _NUMBER.fullmatch(cell.strip())) is not None]
    if not found:
        return "r"
    sign = "+" if any(one[1] for one in found) else ""
    whole, decimals = max(len(one[2]) for one in found), max(len(one[3] or "") for one in found)
    # siunitx counts the digits of an uncertainty in units of the number's last.
    own = [len(one[4].lstrip("0")) for one in found if one[4]]
    uncertain = f"({max(1, max(own) + decimals)})" if own else ""
    mark = rf", table-space-text-post = {{\,{MARK}}}" if any(one[6] for one in found) else ""
    return f"S[table-format = {sign}{whole}{f'.{decimals}' if decimals else ''}{uncertain}{mark}]"
