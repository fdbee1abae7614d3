"""What a quick run may say: a preview, held to the verdicts of the full run that are stored beside the study.

A quick run has fewer seeds and levels and shorter runs, so that it can find a verdict which the full run denies. It may
only say what the full run says. Where its own verdict is another one, it is undecided; where no full run is stored, its
verdicts stand, and are called previews.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from .. import foreign
from . import verdicts
from .claim_results import UNDECIDED, Case, ClaimResult, Judged, PartResult, Preview
from .model import Claim
from .runs import Outcome
from .verdicts import conjunction, headline

STORED = "verdicts.json"
"""The verdicts of a full run, in the folder of the study. `tools/claims.py run` writes them."""

Kept = Mapping[str, Any]
_VERDICTS = {"verdict": str, "cases?": {"*": str}}
KEPT = {
    "claims?": [
        {
            "id": str,
            "digest?": str,
            "verdict": str,
            "base": str,
            "readings": [{"reading": {"*": str}, "verdict": str}],
            "parts?": [_VERDICTS],
        }
    ]
}
"""The shape of what is read of the stored verdicts."""


def judge(outcome: Outcome) -> list[ClaimResult]:
    """A verdict on every claim; of a quick run, a preview."""
    results = verdicts.judge(outcome)
    study = outcome.study
    if not study.quick:
        return results
    # A full run is made with the study's own assumptions and levels.
    kept = {} if study.assuming or study.chosen else {c["id"]: c for c in stored(study.folder).get("claims", ())}
    return [_preview(r, kept.get(r.claim.id)) for r in results]


def stored(folder: Path) -> dict[str, Any]:
    """The stored verdicts of the full run of the study in a folder; empty without any."""
    path = folder / STORED
    found: dict[str, Any] = foreign.checked(path, KEPT) if path.exists() else {}
    return found


# ---- what is stored ------------------------------------------------------------------------------------------------


def digest(claim: Claim) -> str:
    """A digest of what a claim says and how it is tested: another one when either has changed."""
    parts = [
        {f.name: value for f in fields(p) if (value := getattr(p, f.name)) and f.name not in {"published", "title"}}
        for p in claim.parts
    ]
    text = json.dumps([claim.text, parts, claim.untestable], sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def found_parts(judged: Judged) -> list[dict[str, Any]]:
    """The verdicts of the parts of a claim and of their cases, to be stored."""
    return [
        {"verdict": p.verdict, **({"cases": {_name(c): c.verdict for c in p.cases}} if len(p.cases) > 1 else {})}
        for p in judged.parts
    ]


def _name(case: Case) -> str:
    return ", ".join(f"{axis} = {level}" for axis, level in case.at.items())


# ---- what a preview says -------------------------------------------------------------------------------------------


def _preview(result: ClaimResult, kept: Kept | None) -> ClaimResult:
    """The same result, without verdicts that the full run does not have."""
    if kept is None or kept.get("digest", digest(result.claim)) != digest(result.claim):
        return replace(result, preview=Preview(None))
    readings = {_reading(r["reading"]): r["verdict"] for r in kept["readings"]}
    base = _judged(result.base, kept["base"], kept.get("parts", ()))
    tried = tuple(_judged(j, readings.get(_reading(j.reading)), ()) for j in result.tried)
    held = replace(result, base=base, tried=tried)
    first, *others = (j.verdict for j in held.voices)
    # A verdict that follows from verdicts held back is held back, too.
    follows = headline(first, others) == result.verdict
    verdict = _held(result.verdict, kept["verdict"]) if follows else UNDECIDED
    return replace(
        held,
        verdict=verdict,
        corrected=result.corrected if base.verdict == result.base.verdict else 1.0,
        preview=Preview(kept["verdict"], withheld=verdict != result.verdict),
    )


def _reading(reading: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(reading.items())


def _held(verdict: str, full: str | None) -> str:
    """A verdict, if the full run has it too or has none; else undecided."""
    return verdict if full in (None, verdict) else UNDECIDED


# Where a verdict is held back, so are the verdicts that it follows from.


def _judged(judged: Judged, full: str | None, kept: Sequence[Kept]) -> Judged:
    """A claim in one reading, held to the full run's; its parts too, where those are stored."""
    known = kept if len(kept) == len(judged.parts) else [{}] * len(judged.parts)
    parts = tuple(_part(p, one) for p, one in zip(judged.parts, known, strict=True))
    found = conjunction([p.verdict for p in parts]) if parts else judged.verdict
    verdict = _held(found, full)
    return replace(judged, verdict=verdict, parts=parts if verdict == found else tuple(_silent(p) for p in parts))


def _part(part: PartResult, kept: Kept) -> PartResult:
    known = kept.get("cases", {})
    cases = tuple(replace(c, verdict=_held(c.verdict, known.get(_name(c)))) for c in part.cases)
    found = conjunction([c.verdict for c in cases])
    verdict = _held(found, kept.get("verdict"))
    made = replace(part, verdict=verdict, cases=cases)
    return made if verdict == found else _silent(made)


def _silent(part: PartResult) -> PartResult:
    return replace(part, verdict=UNDECIDED, cases=tuple(replace(c, verdict=UNDECIDED) for c in part.cases))
