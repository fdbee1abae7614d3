"""Terminal output: tables, verdicts, a small plot, progress on stderr."""

from __future__ import annotations

import math
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from . import notebook
from .analysis.statistics import ALL_RUNS
from .controls import raw, visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from .analysis.statistics import Estimate

COLOURS = {
    "supported": "32",
    "contradicted": "31",
    "equivalent": "36",
    "undecided": "33",
    "depends on the reading": "35",
    "ok": "32",
    "failed": "31",
}


PREVIEW = "preview: "
"""The word before the verdict of a quick run."""


PIPE = 100
"""Columns of texts that no terminal shows."""
_for_files: ContextVar[bool] = ContextVar("for_files", default=False)


@contextmanager
def for_files() -> Iterator[None]:
    """Texts made within the block go into files: they do not depend on the terminal."""
    token = _for_files.set(True)
    try:
        yield
    finally:
        _for_files.reset(token)


def width() -> int:
    """Columns to write in: the terminal's, 100 for a pipe, never more than 120."""
    if _for_files.get():
        return PIPE
    if os.environ.get("COLUMNS", "").isdigit():
        return max(40, int(os.environ["COLUMNS"]))
    try:
        return max(40, min(120, os.get_terminal_size(sys.stdout.fileno()).columns))
    except (OSError, ValueError, AttributeError):
        return PIPE


def coloured(text: str, kind: str) -> str:
    """`text` in the colour of a verdict, dimmed for a preview, when stdout is a terminal that shows colours."""
    code = COLOURS.get(kind.removeprefix(PREVIEW))
    if code is None or _for_files.get() or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{'2;' * kind.startswith(PREVIEW)}{code}m{text}\x1b[0m"


def rate_text(rate: object, digits: int = 3) -> str:
    """A rate of a normalised scenario in the unit that suits it: "10 Mbit/s" for "10000000 bit/s"."""
    if not isinstance(rate, str):
        return "varying rate"
    value = float(rate.split()[0])
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if value >= factor:
            return f"{value / factor:.{digits}g} {unit}"
    return f"{value:.{digits}g} bit/s"


def delay_text(delay: str, digits: int = 3) -> str:
    """A time of a normalised scenario in the unit that suits it: "5 ms" for "0.005 s"."""
    seconds = float(delay.split()[0])
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.{digits}g} {unit}"
    return "0 s" if seconds == 0 else f"{seconds:.2g} s"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, indent: str = "") -> str:
    """Columns lined up: the first `left` to the left, the others to the right. No line is wider than the terminal.

    What is too wide stands in blocks below each other, each with those of the first `left` columns that leave room for
    another; where even one leaves none, the cells of each row stand below each other.
    """
    head, rows = _one_line(head), [_one_line(row) for row in rows]
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    blocks = _blocks(widths, left, room() - len(indent))
    if not blocks:
        return _listed(head, rows, indent)
    return "\n\n".join(_block(head, rows, widths, columns, left, indent) for columns in blocks)


def _one_line(row: Sequence[str]) -> list[str]:
    """The cells of a row without line feeds and tabs, which would end or move them."""
    return [cell.replace("\n", "\\n").replace("\t", "\\t") for cell in row]


def room() -> int:
    """Columns that a table may take: the terminal's; any number for a pipe."""
    if _for_files.get() or not sys.stdout.isatty():
        return sys.maxsize
    import shutil

    return shutil.get_terminal_size().columns


def _blocks(widths: Sequence[int], left: int, room: int) -> list[list[int]]:
    """The columns of each block: as many as fit beside the first ones; none where not even one does."""
    if _wide(widths) <= room:
        return [list(range(len(widths)))]
    for keys in range(min(left, len(widths) - 1), 0, -1):
        first = list(range(keys))
        if _wide([*widths[:keys], max(widths[keys:])]) > room:
            continue
        blocks = [first]
        for k in range(keys, len(widths)):
            if len(blocks[-1]) > keys and _wide([widths[j] for j in [*blocks[-1], k]]) > room:
                blocks.append(first)
            blocks[-1] = [*blocks[-1], k]
        return blocks
    return []


def _wide(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _block(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    columns: Sequence[int],
    left: int,
    indent: str,
) -> str:
    lines = []
    for number, row in enumerate([head, *rows]):
        cells = [row[k].ljust(widths[k]) if k < left else row[k].rjust(widths[k]) for k in columns]
        lines.append(indent + "  ".join(cells).rstrip())
        if number == 0:
            lines.append(indent + "  ".join("-" * widths[k] for k in columns))
    return "\n".join(lines)


def _listed(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str) -> str:
    """The cells of each row below each other, folded."""
    lines = []
    for row in rows:
        for k, (name, cell) in enumerate(zip(head, row, strict=True)):
            if not cell and k:
                continue
            start = indent + "  " * (k > 0)
            said = f"{name}: {cell}" if name.strip() else cell
            folded = textwrap.wrap(said, max(8, min(room(), width()) - len(start) - 2)) or [""]
            lines += [start + folded[0], *(f"{start}  {rest}" for rest in folded[1:])]
    return "\n".join(lines)


def wrapped(head: Sequence[str], groups: Mapping[str, Sequence[Sequence[str]]], indent: str = "") -> str:
    """Groups of rows by title, folded to the width of the terminal: the last column, then the widest of the others."""
    every = [head, *(row for rows in groups.values() for row in rows)]
    widths = [max(len(row[k]) for row in every) for k in range(len(head))]
    over = _wide([*widths[:-1], min(widths[-1], FOLDED)]) - (width() - len(indent))
    if over > 0:
        widest = max(range(len(head) - 1), key=lambda k: widths[k])
        widths[widest] -= over
        if widths[widest] < min(FOLDED, widths[widest] + over):
            return "\n\n".join(
                "\n".join([*([title] if title else []), _listed(head, rows, indent)]) for title, rows in groups.items()
            )
    widths[-1] = min(widths[-1], width() - len(indent) - _wide([*widths[:-1], 0]))
    parts = []
    for number, (title, rows) in enumerate(groups.items()):
        above = ["-" * min(w, 40) if k == len(head) - 1 else "-" * w for k, w in enumerate(widths)]
        lines = [] if number else [*_folded(head, widths, indent), indent + "  ".join(above)]
        lines += [title] if title else []
        lines += [line for row in rows for line in _folded(row, widths, indent)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _folded(row: Sequence[str], widths: Sequence[int], indent: str) -> list[str]:
    cells = [textwrap.wrap(cell, w) or [""] for cell, w in zip(row, widths, strict=True)]
    lines = zip_longest(*cells, fillvalue="")
    return [(indent + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True))).rstrip() for line in lines]


FOLDED = 24
"""The least width of a folded column."""


def paragraph(text: str, indent: str = "") -> str:
    """Text folded to the width of the terminal."""
    return textwrap.fill(text, width(), initial_indent=indent, subsequent_indent=indent)


def parameters(declared: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines of a table of parameters: name, default, unit, range, and below each what it is and its source."""
    head = ["name", "default", "unit", "allowed"]
    rows = [[p["name"], p["default"], p["unit"] or "-", p["range"]] for p in declared]
    widths = [max(len(r[k]) for r in [head, *rows]) for k in range(3)]
    lines = []
    for row, parameter in zip([head, *rows], [None, *declared], strict=True):
        start = "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=False))
        lines.append(f"  {start}  {row[3]}")
        if parameter is None:
            lines.append("  " + "  ".join("-" * w for w in [*widths, 7]))
        else:
            text = parameter["doc"] + (f" Source: {parameter['source']}." if parameter["source"] else "")
            lines.append(paragraph(text, "      "))
    return lines


def number(value: float | None, digits: int, scale: float = 1) -> str:
    """A number times `scale` with a fixed count of digits, a dash for none."""
    return "-" if value is None or not math.isfinite(value) else f"{scale * value:.{digits}f}"


ANY = (-math.inf, math.inf)
"""The bounds of a measure that may have any value."""


def with_interval(found: Estimate | None, digits: int, bounds: tuple[float, float] = ANY) -> str:
    """A mean with its interval, as `interval_text` has it; a dash for nothing."""
    if found is None:
        return "-"
    return interval_text(found.mean, found.half_width, found.within(bounds), digits)


def interval_text(mean: float | None, half_width: float | None, ends: tuple[float, float] | None, digits: int) -> str:
    """`12.345 ± 0.012`; `0.998 [0.990, 1]` where the interval is cut at a bound of the measure.

    A single replication has no interval, nor have runs that are all equal: `100.00 in all runs`.
    """
    if mean is None or half_width is None or ends is None:
        return number(mean, digits)
    if half_width == 0:
        # Nothing, of counts above all, has no decimals.
        return f"{number(mean, digits) if mean else 0} {ALL_RUNS}"
    digits = enough(half_width, digits)
    if ends == (mean - half_width, mean + half_width):
        return f"{number(mean, digits)} ± {half_width:.{digits}f}"
    whole = (mean - half_width, mean + half_width)
    # Bounds are whole numbers.
    cut = [end != own and end == round(end) for end, own in zip(ends, whole, strict=True)]
    lower, upper = (f"{end:g}" if at else number(end, digits) for end, at in zip(ends, cut, strict=True))
    return f"{number(mean, digits)} [{lower}, {upper}]"


MOST_DIGITS = 12


def enough(half_width: float, digits: int) -> int:
    """Digits after the point that suffice to show that a half-width is not zero."""
    if half_width <= 0 or float(f"{half_width:.{digits}f}") > 0:
        return digits
    return min(MOST_DIGITS, max(digits, -math.floor(math.log10(half_width))))


CUT = "[a, b] is an interval that is cut at the smallest or largest value the measure can take"
"""The legend of an interval that is cut."""


def with_sign(found: Estimate, digits: int) -> str:
    """A difference with its interval: `+0.345 ± 0.012`; without one where it is the same in all runs."""
    return difference_text(found.mean, found.half_width, digits)


def difference_text(mean: float, half_width: float | None, digits: int) -> str:
    """A difference as text, from plain numbers."""
    if half_width is None:
        return signed(mean, digits)
    if half_width == 0:
        return f"{'equal' if mean == 0 else signed(mean, digits)} {ALL_RUNS}"
    digits = enough(half_width, digits)
    return f"{signed(mean, digits)} ± {half_width:.{digits}f}"


def signed(value: float | None, digits: int) -> str:
    """A number that shows its sign, unless it is zero as printed."""
    if value is None:
        return "-"
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


# ---- a plot of lines ----------------------------------------------------------------------------------------------

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def plot(
    curves: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    columns: int = 60,
    lines: int = 12,
    label: str = "",
    top: float | None = None,
    marks: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> str:
    """Curves in braille dots, two by four to a character. The second curve and later ones are dotted.

    The axes name their ends, and the `marks` on x and on y instead of the upper end of y.
    """
    low = min(min(xs) for _, xs, _ in curves)
    high = max(max(xs) for _, xs, _ in curves)
    top = top or max(max(ys) for _, _, ys in curves) or 1.0
    canvas = [[0] * columns for _ in range(lines)]
    for index, (_, xs, ys) in enumerate(curves):
        before = None
        for dot in range(columns * 2):
            x = low + (high - low) * dot / (columns * 2 - 1)
            level = round((1 - _interpolate(xs, ys, x) / top) * (lines * 4 - 1))
            # The first curve is joined up where it is steep; the others are dotted.
            start = level if before is None or index else before + (before < level) - (before > level)
            before = level
            if index and dot % 4 >= 2:
                continue
            for step in range(min(start, level), max(start, level) + 1):
                if 0 <= step < lines * 4:
                    canvas[step // 4][dot // 2] |= _BITS[step % 4][dot % 2]
    named = {round((1 - y / top) * (lines - 1)): f"{y:g}" for y in [0.0, *(marks[1] or [top])]}
    margin = max(map(len, named.values()))
    drawn = []
    for row, cells in enumerate(canvas):
        drawn.append(f"{named.get(row, ''):>{margin}} |" + "".join(chr(0x2800 + c) for c in cells).rstrip("\u2800"))
    below, rule = [" "] * columns, ["-"] * columns
    for x in [low, high, *marks[0]]:
        text = f"{x:g}"
        at = round((columns - 1) * (x - low) / (high - low))
        start = min(max(0, at - len(text) // 2), columns - len(text))
        if any(cell != " " for cell in below[max(0, start - 1) : start + len(text) + 1]):
            continue
        below[start : start + len(text)] = text
        rule[at] = "+" if x in marks[0] else rule[at]
    drawn.append(" " * margin + " +" + "".join(rule))
    place = (columns - len(label)) // 2
    if label and all(cell == " " for cell in below[place : place + len(label)]):
        below[place : place + len(label)] = label
    drawn.append(" " * (margin + 2) + "".join(below).rstrip())
    names = ["solid: " + curves[0][0], *("dotted: " + name for name, _, _ in curves[1:])]
    drawn.append(" " * (margin + 2) + "   ".join(names))
    return "\n".join(drawn)


def _interpolate(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    for k in range(1, len(xs)):
        if x <= xs[k]:
            span = xs[k] - xs[k - 1]
            share = (x - xs[k - 1]) / span if span else 0.0
            return ys[k - 1] + (ys[k] - ys[k - 1]) * share
    return ys[-1]


# ---- progress ------------------------------------------------------------------------------------------------------


class _Shown:
    """The common part of bars, on a terminal or in a notebook, and of lines."""

    def __init__(self, quiet: bool, bars: bool) -> None:
        self.quiet = quiet or (bars and not interactive())
        self._bar: Bar | None = None
        self._cell: notebook.Bar | None = notebook.Bar() if notebook.is_notebook() else None
        self._task: TaskID | None = None
        self._told = 0.0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self._cell is not None:
            self._cell.close()


class Progress(_Shown):
    """A progress bar on stderr when it is a terminal, or in a notebook; a line now and then elsewhere.

    With `quiet` nothing is shown; with `bars` only bars are.
    """

    def __init__(self, quiet: bool = False, *, bars: bool = False) -> None:
        super().__init__(quiet, bars)
        self._label = ""

    def __enter__(self) -> Progress:
        self._told = time.monotonic()
        return self

    def __call__(self, done: int, total: int, label: str = "") -> None:
        """Show that `done` of `total` is done."""
        if self.quiet or total < 2:
            return
        if self._cell is not None:
            self._cell.show(done, total, label)
        elif sys.stderr.isatty():
            self._show(done, total, label)
        else:
            self._tell(done, total, label)

    def _show(self, done: int, total: int, label: str) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as New

            columns: list[Any] = [
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            ]
            self._bar = New(*columns, console=Console(file=raw(sys.stderr)), transient=True)
            self._bar.start()
        if self._task is None or label != self._label:
            self._task = self._bar.add_task(visible(label), total=total)
            self._label = label
        self._bar.update(self._task, completed=done, total=total)

    def _tell(self, done: int, total: int, label: str) -> None:
        now = time.monotonic()
        # A last line is written only where there were others, so that they do not end before the work does.
        last = done == total and self._label == label
        if last or (now - self._told >= 10 and done < total):
            self._told, self._label = now, ("" if last else label)
            print(f"{label}: {done} of {total}", file=sys.stderr, flush=True)


def interactive() -> bool:
    """Whether somebody watches: a terminal or a notebook."""
    return notebook.is_notebook() or sys.stderr.isatty()


def say(text: str) -> None:
    """A line on stderr, for what is no result."""
    print(text, file=sys.stderr, flush=True)


class Tallied(Protocol):
    """The counts of running work that a meter shows."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def left_s(self) -> float | None: ...


class Meter(_Shown):
    """Runs done, rate, time to go and failures: a bar on a terminal or in a notebook, a line now and then elsewhere.

    With `quiet` nothing is shown; with `bars` only bars are.
    """

    def __init__(self, name: str, quiet: bool = False, *, bars: bool = False) -> None:
        super().__init__(quiet, bars)
        self.name = name

    def __enter__(self) -> Meter:
        self._told = time.monotonic()
        if not self.quiet and self._cell is None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as New

            columns: list[Any] = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()]
            self._bar = New(
                *columns,
                TextColumn("{task.fields[more]}", markup=False),
                console=Console(file=raw(sys.stderr)),
                transient=True,
            )
            self._bar.start()
        return self

    def __call__(self, tally: Tallied) -> None:
        """Show where the work stands."""
        if self.quiet:
            return
        if self._cell is not None:
            self._cell.show(tally.done, tally.total, self.name, self.more(tally))
            return
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task(visible(self.name), total=tally.total, more="")
            more = self.more(tally)
            self._bar.update(self._task, completed=tally.done, total=tally.total, more=more)
            return
        now = time.monotonic()
        if now - self._told >= 10 and tally.done < tally.total:
            self._told = now
            say(f"{self.name}: {tally.done:,} of {tally.total:,} runs, {self.more(tally)}")

    @staticmethod
    def more(tally: Tallied) -> str:
        """Rate, time to go and failures as text."""
        left = "" if tally.left_s is None else f", {_clock(tally.left_s)} left"
        failed = f", {tally.failed:,} failed" if tally.failed else ""
        return f"{tally.rate:.3g}/s{left}{failed}"


def _clock(seconds: float) -> str:
    """A time as text: `0:07`, `1:02:03`."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
