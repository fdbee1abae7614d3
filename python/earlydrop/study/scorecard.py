"""All studies in turn, and the scorecard over them: a page, a text, a document."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import disk, output
from ..document import Document
from ..render.template import render
from ..runner import Progress, no_progress
from ..terminal import paragraph, table
from . import folder as folders
from . import report, text, warmups
from .answers import answer, beside_text
from .claim_results import VERDICTS, ClaimResult, preview_document
from .model import Study
from .runs import Plan


@dataclass(frozen=True)
class Entry:
    """One study that has been run."""

    study: Study
    results: tuple[ClaimResult, ...]
    runs: int

    @property
    def counts(self) -> dict[str, int]:
        """How many claims got each verdict."""
        found = [r.verdict for r in self.results]
        return {v: found.count(v) for v in VERDICTS}


class _Together:
    """Progress over several studies: what is done in one is added to what was done before it."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.before, self.total, self.planned = progress, 0, total, 0

    def begin(self, planned: int) -> None:
        """The next study, with `planned` runs."""
        self.planned = planned

    def __call__(self, done: int, of: int, what: str) -> None:
        """Progress of the study that is running; it may need more runs than were planned."""
        self.progress(self.before + done, self.total + max(0, of - self.planned), "all studies")

    def end(self, runs: int) -> None:
        """The study is done."""
        self.before += runs
        self.total += runs - self.planned


def reproduce_all(
    plans: Sequence[Plan],
    folder: Path,
    reproduce: Callable[..., Any],
    version: str,
    *,
    artists: Executor | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> list[Entry]:
    """Run all studies; the report of each is made while the next one runs. Then the scorecard."""
    entries: list[Entry] = []
    together = _Together(progress, sum(plan.runs for plan in plans))
    stop = threading.Event()
    writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="write")
    written: list[Future[Path]] = []
    try:
        for plan in plans:
            together.begin(plan.runs)
            outcome, results = reproduce(plan, workers=workers, progress=together)
            outcome.warmups = warmups.judge(plan, workers)
            together.end(outcome.runs)
            entries.append(Entry(plan.study, tuple(results), outcome.runs))
            place = folder / plan.study.name
            disk.make_folder(place)
            written.append(writer.submit(folders.write, place, outcome, results, version, artists, stop))
            _raise_failed(one for one in written if one.done())
        _raise_failed(written)
    except BaseException:
        # What is being drawn is finished first, so that nothing is written into a folder that is being removed.
        stop.set()
        writer.shutdown(wait=True, cancel_futures=True)
        raise
    writer.shutdown()
    write(folder, entries, version)
    return entries


def _raise_failed(written: Iterable[Future[Path]]) -> None:
    for one in written:
        one.result()


# ---- text and document ---------------------------------------------------------------------------------------------


def scorecard_text(entries: Sequence[Entry], paint: Any = lambda words, kind: words) -> str:
    """The scorecard for a terminal."""
    lines = ["Scorecard", ""]
    head = ["study", *VERDICTS, "runs"]
    rows = [[e.study.name, *(str(e.counts[v]) for v in VERDICTS), f"{e.runs:,}"] for e in entries]
    rows.append(
        ["all", *(str(sum(e.counts[v] for e in entries)) for v in VERDICTS), f"{sum(e.runs for e in entries):,}"]
    )
    lines.append(table(head, rows, left=1))
    for entry in entries:
        lines += [
            "",
            f"{entry.study.title} ({entry.study.name})",
            paragraph(" ".join(answer(entry.study, entry.results))),
        ]
        for result in entry.results:
            verdict = paint(f"{result.word:<12}", result.word)
            beside = f" ({said})" if (said := beside_text(result)) else ""
            claim = paragraph(f"  {result.claim.id:<6}@{result.claim.text}{beside}", "")
            lines.append(claim.replace("@", f"{verdict}  ", 1))
    notes = _notes(entries)
    return "\n".join([*lines, *([""] if notes else []), *(paragraph(n) for n in notes)])


def _notes(entries: Sequence[Entry]) -> list[str]:
    return list(dict.fromkeys(note for e in entries for note in text.notes(e.study)))


def scorecard_document(entries: Sequence[Entry], version: str) -> Document:
    """The scorecard as plain values."""
    return {
        "version": version,
        "quick": any(e.study.quick for e in entries),
        "assume": {name: value for e in entries for name, value in e.study.assuming.items()},
        "verdicts": {v: sum(e.counts[v] for e in entries) for v in VERDICTS},
        "studies": [
            {
                "study": e.study.name,
                "title": e.study.title,
                "paper": e.study.source.get("paper"),
                "report": f"{e.study.name}/report.html",
                "answer": " ".join(answer(e.study, e.results)),
                "runs": e.runs,
                "verdicts": e.counts,
                "claims": [_claim(r) for r in e.results],
            }
            for e in entries
        ],
    }


def _claim(result: ClaimResult) -> Document:
    return {
        "id": result.claim.id,
        "claim": result.claim.text,
        "where": result.claim.where,
        "verdict": result.verdict,
        **preview_document(result),
        **({"reason": result.claim.untestable} if result.claim.untestable else {}),
        "parts": [
            {
                "measure": p.part.measure,
                "verdict": p.verdict,
                "effect": None if p.worst.reason else p.worst.effect,
                "lower": p.worst.lower,
                "upper": p.worst.upper,
                "relative": None if p.worst.reason else p.worst.relative,
                "n": p.worst.n,
                "detectable": p.worst.detectable,
            }
            for p in result.base.parts
        ],
    }


# ---- the folder ----------------------------------------------------------------------------------------------------


def write(folder: Path, entries: Sequence[Entry], version: str) -> Path:
    """Write the index page, the text and the document. Returns the page's path."""
    output.write_json(folder / "scorecard.json", scorecard_document(entries, version))
    disk.write(folder / "scorecard.txt", scorecard_text(entries) + "\n")
    path = folder / "index.html"
    context = {
        "version": version,
        "notes": _notes(entries),
        "runs": sum(e.runs for e in entries),
        "tally": report.tally([r for e in entries for r in e.results]),
        "verdicts": VERDICTS,
        "preview": any(e.study.quick for e in entries),
        "groups": _groups(entries),
    }
    disk.write(path, render("scorecard.html.j2", context))
    return path


def _groups(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Studies of papers, and studies of our own."""
    groups = (
        ("Papers", [e for e in entries if e.study.source.get("paper")]),
        ("Studies of our own", [e for e in entries if not e.study.source.get("paper")]),
    )
    return [{"title": title, "entries": [_entry(e) for e in members]} for title, members in groups if members]


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "study": entry.study,
        "counts": [(entry.counts[v], v, v.replace(" ", "-")) for v in VERDICTS],
        "runs": entry.runs,
        "answer": answer(entry.study, entry.results),
        "claims": [report.claim_row(entry.study, r) for r in entry.results],
    }


__all__ = ["Entry", "reproduce_all", "scorecard_document", "scorecard_text", "write"]
