"""Many links one after the other and beside each other: what is measured is stored as it comes.

`run` starts as many links as the machine delivers on time; `Store` keeps their results, so that an interrupted
measurement goes on where it was; `write` and `read` are the tables that stay.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import platform
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeVar

from earlydrop import disk, foreign
from earlydrop.links import crosscheck
from earlydrop.runner import Progress, no_progress

CARRIED = 210.0
"""Mbit/s that links which run at the same time carry at most together. One may have more."""

LATE, TRIES = 300.0, 3
"""A run whose deliveries are later than this, us (99 %), is repeated, TRIES in all."""

Item = TypeVar("Item", bound=Hashable)
Found = TypeVar("Found")
Row = Mapping[str, Any]

Work = Callable[[Item, int, Callable[[], bool]], Found]
"""Measures an item; the number is the item's own, from 0 on, and the function says whether to give up."""


def run(
    wanted: Sequence[Item],
    work: Work[Item, Found],
    load: Callable[[Item], tuple[float, float]],
    *,
    jobs: int,
    progress: Progress = no_progress,
    came: Callable[[Item, Found], None] = lambda item, found: None,
) -> dict[Item, Found]:
    """Measures all items, at most `jobs` at a time. `load`: the rate of an item's link, Mbit/s, and its time, s.

    The longest transfers begin first; `came` is called with each result, from this thread.

    Raises:
        Whatever `work` raises first; the others are given up.
    """
    stopped = threading.Event()
    numbers = {item: k for k, item in enumerate(wanted)}
    waiting = sorted(wanted, key=lambda item: (-load(item)[0] * load(item)[1], -load(item)[1], numbers[item]))
    running: dict[Future[Found], Item] = {}
    found: dict[Item, Found] = {}
    progress(0, len(wanted), "real links")
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="link")
    try:
        while waiting or running:
            for item in list(waiting):
                carried = sum(load(other)[0] for other in running.values())
                if len(running) < jobs and (not running or carried + load(item)[0] <= CARRIED):
                    waiting.remove(item)
                    running[pool.submit(work, item, numbers[item], stopped.is_set)] = item
            for future in wait(running, timeout=0.5, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                found[item] = future.result()
                came(item, found[item])
                progress(len(found), len(wanted), "real links")
    finally:
        stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return found


def most_punctual(attempt: Callable[[], Found], lateness: Callable[[Found], float], again: bool) -> Found:
    """A run whose deliveries were on time, or of TRIES the most punctual one; without `again` the first."""
    found: list[Found] = []
    while not found or (again and len(found) < TRIES and min(map(lateness, found)) > LATE):
        found.append(attempt())
    return min(found, key=lateness)


class Store:
    """Results of a measurement that goes on, in a file beside the table that it will be: one JSON line for each.

    A measurement under other facts (kernel, machine, window) begins anew. Without a path nothing is kept.
    """

    def __init__(self, table: Path | None, about: Mapping[str, str]) -> None:
        self._path = None if table is None else table.with_name(table.name + ".part")
        self._rows: dict[str, Any] = {}
        if self._path is None:
            return
        facts = json.dumps({"about": about})
        lines = foreign.text(self._path).split("\n") if self._path.exists() else []
        if lines and lines[0] == facts:
            # A line that was being written when the measurement ended has no end.
            self._rows = dict(foreign.parsed(line) for line in lines[1:-1])
        disk.make_folders(self._path.parent)
        kept = [facts, *(json.dumps(row) for row in self._rows.items())]
        disk.replace(self._path, "\n".join(kept) + "\n")

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> Any:
        """What was stored under this key, or None."""
        return self._rows.get(key)

    def add(self, key: str, row: Any) -> None:
        """Store a result."""
        self._rows[key] = row
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, row]) + "\n")

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """An interruption within the block says where the results are."""
        try:
            yield
        except KeyboardInterrupt:
            if self._path is None:
                raise
            kept = f"{len(self)} results are in {self._path}"
            raise KeyboardInterrupt(f"interrupted: {kept}; the same command goes on from there") from None

    def close(self) -> None:
        """Remove the file: the table is written."""
        if self._path is not None:
            self._path.unlink()


def facts(jobs: int, real_time: bool) -> dict[str, str]:
    """What machine and kernel measured, without a date."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": f"{model}, {os.cpu_count()} cores",
        "links": f"{jobs} at a time, {'real-time' if real_time else 'normal'} priority",
    }


def write(path: Path, rows: Iterable[Row], about: Mapping[str, str]) -> None:
    """A CSV of rows with the same columns, with the facts as comments in front."""
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in about.items())
    body = list(rows)
    table = csv.DictWriter(text, list(body[0]) if body else [], lineterminator="\n")
    table.writeheader()
    table.writerows({key: f"{v:.6g}" if isinstance(v, float) else v for key, v in row.items()} for row in body)
    disk.make_folders(path.parent)
    disk.replace(path, text.getvalue())


def read(path: Path) -> tuple[list[dict[str, str]], dict[str, str]]:
    """The rows, as texts, and the facts that `write` has written.

    Raises:
        crosscheck.CrosscheckError: the file cannot be read.
    """
    try:
        lines = foreign.text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise crosscheck.CrosscheckError(f"{path}: cannot be read: {reason}") from None
    about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return list(csv.DictReader(line for line in lines if not line.startswith("#"))), about


BEGIN, END = "<!-- begin {} -->", "<!-- end {} -->"


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def data(page: Path, head: Sequence[str], body: Sequence[Sequence[str]], name: str | None = None) -> str:
    """Write a long table of a page as data, and return the link to it.

    Data of a page of lab notes have its name; another page, which is beside the folder of data, gives one. Where
    several columns have the same heading, each gets the name of its measure in front.
    """
    measure, names = "", []
    for column in head:
        shared = head.count(column) > 1
        measure = measure if shared else column
        names.append(f"{measure}, {column}" if shared else column)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *body])
    place = f"data/{name}.csv" if name else f"../data/{page.stem}.csv"
    disk.make_folders((page.parent / place).parent)
    disk.replace(page.parent / place, text.getvalue())
    return f"[{place.removeprefix('../')}]({place})"


def put(page: Path, name: str, text: str) -> None:
    """Replace the text between the two comments of that name in a page.

    Raises:
        crosscheck.CrosscheckError: the page has no such place.
    """
    old = page.read_text(encoding="utf-8")
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = old.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise crosscheck.CrosscheckError(f"{page}: has no place for {name}; wanted {begin} and {end}")
    disk.replace(page, f"{before}{begin}\n\n{text}\n\n{end}{after}")
