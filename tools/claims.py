"""Every sentence of the papers that asserts an effect, with the claims that test it and their verdicts.

    python tools/claims.py run [STUDY...]    runs the papers' studies in full, stores their verdicts beside them and
                                             renews the figures that docs/ shows of them
    python tools/claims.py write             writes docs/claims.md, the blocks of docs/study-*.md and their data in
                                             docs/data from what is stored
    python tools/claims.py check             fails if these are not what is stored, or the verdicts are not of these
                                             claims

Runs are kept in out/store, so that a second `run` only judges.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import study as studies  # noqa: E402
from earlydrop.analysis import measures  # noqa: E402
from earlydrop.analysis.statistics import ALPHA  # noqa: E402
from earlydrop.output import to_json  # noqa: E402
from earlydrop.store import open_store  # noqa: E402
from earlydrop.study import case_text, previews, text  # noqa: E402
from earlydrop.study import folder as folders  # noqa: E402
from earlydrop.study.answers import answer  # noqa: E402
from earlydrop.study.claim_results import (  # noqa: E402
    CONTRADICTED,
    EQUIVALENT,
    SUPPORTED,
    VERDICTS,
    ClaimResult,
    Judged,
    PartResult,
)
from earlydrop.study.model import Claim, Study  # noqa: E402
from earlydrop.study.parser.claims import STATEMENTS  # noqa: E402
from earlydrop.study.runs import Outcome  # noqa: E402
from earlydrop.terminal import Progress  # noqa: E402

PAPERS = ("tred", "aqm-qos", "floadautored", "sfred", "nlred", "ddred")
MARKS = {"supported": "+", "contradicted": "−", "equivalent": "=", "undecided": "?"}
SHOWN = 5
"""Most readings that a study's page names: those that change most verdicts."""
DECIDED = (SUPPORTED, CONTRADICTED, EQUIVALENT)
LEGEND = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())


# ---- running -------------------------------------------------------------------------------------------------------


def run(names: Sequence[str]) -> None:
    """Run studies in full and store the results of their claims."""
    store = open_store(str(ROOT / "out" / "store"))
    for name in names:
        study = studies.find(name)
        begin = time.monotonic()
        with Progress() as progress:
            outcome, results = studies.reproduce(study, store=store, progress=progress, label=name)
        found = {
            "study": name,
            "version": _version(),
            "seeds": sorted({e.seeds for e in study.experiments}),
            "runs": outcome.runs,
            "answer": " ".join(answer(study, results)),
            "claims": [_claim(study, r) for r in results],
        }
        (study.folder / previews.STORED).write_text(to_json(found, indent=1) + "\n", encoding="utf-8")
        _copy_figures(name, outcome, results)
        made = int(outcome.cost["made"])
        print(f"{name}: {outcome.runs:,} runs, {made:,} of them made in {time.monotonic() - begin:.0f} s")


def _copy_figures(name: str, outcome: Outcome, results: Sequence[ClaimResult]) -> None:
    """Renew the figures of a report that the pages show: docs/images/STUDY-FIGURE.png."""
    shown = list((ROOT / "docs" / "images").glob(f"{name}-*.png"))
    with tempfile.TemporaryDirectory() as place:
        folders.write(Path(place), outcome, results, _version())
        for image in shown:
            shutil.copyfile(Path(place) / "figures" / image.name.removeprefix(f"{name}-"), image)


def _version() -> str:
    from earlydrop import _core

    return _core.version()


def _claim(study: Study, result: ClaimResult) -> dict[str, Any]:
    claim = result.claim
    literal = next((j for j in result.tried if j.reading == result.literal), None)
    return {
        "id": claim.id,
        "digest": previews.digest(claim),
        "verdict": result.verdict,
        "base": result.base.verdict,
        "parts": previews.found_parts(result.base),
        "literal": None if literal is None else {"reading": dict(literal.reading), "found": _found(study, literal)},
        "p": result.base.p,
        "p_holm": result.corrected,
        "found": _found(study, result.base) + [text.counted_text(one) for one in claim.counted],
        "published": [_printed(study, p) for p in result.base.parts],
        "readings": [
            {
                "reading": dict(j.reading),
                "title": text.reading_text(study, claim, j),
                "verdict": j.verdict,
                **({} if j in result.voices else {"changes": "nothing"}),
            }
            for j in result.tried
        ],
    }


def _found(study: Study, judged: Judged) -> list[str]:
    """The result of each part of a claim in a reading, as text."""
    several = len(judged.parts) > 1
    return [f"{f'{p.verdict}: ' if several else ''}{_effect(study, p)}" for p in judged.parts]


def _effect(study: Study, part: PartResult) -> str:
    where = case_text.case_text(study, part.part, part.worst) if len(part.cases) > 1 else ""
    effect = case_text.effect_text(study, part.part, part.worst).replace("within the margin of ", "within ")
    return effect + (f" ({where}, of {len(part.cases)} cases)" if where else "")


def _printed(study: Study, part: PartResult) -> str:
    """The paper's own values, without the distance of ours, which is in the report."""
    said = case_text.published_text(study, part.part, part.cases).removeprefix("published: ")
    if any(c.fitted for c in part.cases):
        return "was used to choose the base"
    against = "; contradicts the claim" if said.endswith("contradict the claim") else ""
    return said.partition("; ours lies")[0] + against


# ---- writing -------------------------------------------------------------------------------------------------------


def cell(words: str) -> str:
    """Text for a cell of a table."""
    return words.replace("|", "\\|").replace("\n", " ")


def verdict_rows(study: Study, kept: dict[str, Any]) -> list[list[str]]:
    """The claims of a study with their verdicts, the head first: docs/data/STUDY-verdicts.csv.

    The last columns hold the verdict in each reading as a mark; an empty one was not run.
    """
    by_id = {c["id"]: c for c in kept["claims"]}
    titles = _readings_of(kept)
    head = ["claim", "the paper says", "where", "verdict", "readings", "after correction", "at the base", "we find"]
    rows = [[*head, "taken literally", "the paper finds", *titles.values()]]
    for claim in study.claims:
        c = by_id[claim.id]
        found = {tuple(r["reading"].items()): r["verdict"] for r in c["readings"]}
        rows.append(
            [
                claim.id,
                claim.text,
                "our question" if claim.ours else claim.where,
                c["verdict"],
                _readings(c),
                holm_text(study, claim, c),
                MARKS.get(c["base"], ""),
                "; ".join(c["found"]) or claim.untestable,
                "; ".join(c["literal"]["found"]) if c["literal"] else "",
                "; ".join(dict.fromkeys(x for x in c["published"] if x)),
                *(MARKS.get(found.get(key, ""), "") for key in titles),
            ]
        )
    return rows


def _readings_of(kept: dict[str, Any]) -> dict[tuple[tuple[str, str], ...], str]:
    """The titles of the readings that some claim was judged in."""
    titles: dict[tuple[tuple[str, str], ...], str] = {}
    literal = {tuple(c["literal"]["reading"].items()) for c in kept["claims"] if c["literal"]}
    for claim in kept["claims"]:
        for r in claim["readings"]:
            key = tuple(r["reading"].items())
            titles.setdefault(key, f"{r['title']}{' (literal)' * (key in literal)}")
    return titles


def claims_block(study: Study, kept: dict[str, Any]) -> str:
    """What a study's page shows of its verdicts: the readings by what they change, and the data."""
    by_id = {c["id"]: c for c in kept["claims"]}
    lines, counted = [], []
    for key, title in _readings_of(kept).items():
        pairs = [
            (c["base"], r["verdict"])
            for c in kept["claims"]
            for r in c["readings"]
            if tuple(r["reading"].items()) == key
        ]
        counted.append((sum(base != found for base, found in pairs), len(pairs), title))
    if counted:
        lines += ["| reading | claims judged | judged otherwise than at the base |", "|---|---|---|"]
    counted.sort(key=lambda one: -one[0])
    lines += [f"| {cell(title)} | {judged} | {changed} |" for changed, judged, title in counted[:SHOWN]]
    if len(counted) > SHOWN:
        lines.append(f"| {len(counted) - SHOWN} others | | at most {counted[SHOWN][0]} each |")
    *most, last = [str(n) for n in kept["seeds"]]
    seeds = f"{', '.join(most)} or {last}" if most else last
    about = f"Effects over {seeds} seeds, and verdicts in each reading ([signs](claims.md)):"
    if lost := sum(bool(holm_text(study, c, by_id[c.id])) for c in study.claims):
        about = f"Holm's correction leaves all but {lost} of the verdicts at the base. {about}"
    place = f"data/{study.folder.name}-verdicts.csv"
    return "\n".join([*lines, "", about, "", f"[{place}]({place})"])


def holm_text(study: Study, claim: Claim, kept: dict[str, Any]) -> str:
    """What the correction for all claims of the study leaves of the verdict at the base; empty where it remains."""
    if not claim.parts or kept["base"] not in DECIDED:
        return ""
    p, at = kept["p_holm"], "" if kept["verdict"] == kept["base"] else f"{kept['base']} at the base "
    if p is None:
        return f"{at}by runs that are all equal, which have no p value"
    tested = sum(bool(one.parts) for one in study.claims)
    return "" if p < ALPHA else f"{at}does not remain after Holm's correction over {tested} claims (p = {p:.2f})"


def _readings(claim: dict[str, Any]) -> str:
    """The number of readings with each verdict."""
    every = [claim["base"], *(r["verdict"] for r in claim["readings"] if "changes" not in r)]
    if len(every) == 1:
        return ""
    if len(set(every)) == 1:
        return f"all {len(every)}"
    return ", ".join(f"{every.count(v)} {mark}" for v, mark in MARKS.items() if v in every)


def sentence_rows() -> list[list[str]]:
    """Every sentence of the papers that asserts something, the head first: docs/data/claims.csv."""
    rows = [["study", "where", "the paper says", "tested by", "claims", "verdict", "we find", "tests"]]
    for name in PAPERS:
        study = studies.find(name)
        by_id = {c["id"]: c for c in previews.stored(study.folder)["claims"]}
        claim_of = {c.id: c for c in study.claims}
        for one in study.statements:
            kind = "claims" if one.claims else "tests of the code" if one.tests else "nothing"
            verdicts, found = [], [] if one.claims or one.tests else [_untested(one.untestable)]
            for c in one.claims:
                after = holm_text(study, claim_of[c], by_id[c])
                verdicts.append(f"{c} {by_id[c]['verdict']}{f', {after}' if after else ''}")
                found.append(f"{c}: " + ("; ".join(by_id[c]["found"]) or claim_of[c].untestable))
            said = "; ".join(verdicts) if one.claims else "a definition" if one.tests else "not judged"
            claims, tests = ", ".join(one.claims), "; ".join(one.tests)
            rows.append([name, one.where, one.text, kind, claims, said, " / ".join(found), tests])
    return rows


PAGE = """# What the papers claim

Five papers are put to the test, sentence by sentence (one has two schemes, and so two studies). Each sentence that
asserts something is a row of the data below, in the papers' order. It is tested by claims, which runs support or
contradict; or it is a definition, and the tests that it names fail if our code does something else; or the row says
why nothing tests it. `make claims` makes this page and the data from `studies/*/statements.toml` and from the verdicts
of full runs.

| study | sentences | tested by claims | held by tests | claims | {verdicts} |
|---|---|---|---|---|{rule}
{counts}

[Verdicts](statistics.md#verdicts) says when a claim is judged so. Each study's page has its findings and its readings,
and `data/STUDY-verdicts.csv` its claims with all effects and with the verdict in every reading
({legend}; empty: not run).

## What the runs contradict

[data/contradicted.csv](data/contradicted.csv)

## Every sentence

| column | what it holds |
|---|---|
| study, where, the paper says | the study, the place in the paper, and the sentence in our words |
| tested by | `claims`, `tests of the code` (a definition), or `nothing` |
| claims, verdict | the claims that test the sentence, and the verdict on each |
| we find | the effect behind each verdict, at the base; or why nothing tests the sentence |
| tests | file and name of each test that holds the code to a definition |

[data/claims.csv](data/claims.csv)
"""


def page() -> str:
    """The text of docs/claims.md."""
    counted = []
    for name in PAPERS:
        study = studies.find(name)
        verdicts = {c["id"]: c["verdict"] for c in previews.stored(study.folder)["claims"]}
        counts = [str(list(verdicts.values()).count(v)) for v in VERDICTS]
        tested, held = (sum(map(bool, of)) for of in zip(*((s.claims, s.tests) for s in study.statements), strict=True))
        row = [f"[{name}](study-{name}.md)", *map(str, (len(study.statements), tested, held, len(verdicts))), *counts]
        counted.append("| " + " | ".join(row) + " |")
    return PAGE.format(
        legend=LEGEND,
        verdicts=" | ".join(VERDICTS),
        rule="---|" * len(VERDICTS),
        counts="\n".join(counted),
    )


def _untested(reason: str) -> str:
    """Why no claim tests a sentence. The reason may say whether none can or none does."""
    return reason[0].lower() + reason[1:] if reason.startswith("Not test") else f"not tested: {reason}"


def lost_test(test: str) -> bool:
    """Whether there is no such test: a function of that name in that file, marked as a test where it is in Rust."""
    file, _, name = test.partition("::")
    path, name = ROOT / file, name.split("::")[-1]
    if not path.is_file():
        return True
    text = path.read_text(encoding="utf-8")
    mark = r"#\[test\]\s*(#\[[^\n]*\]\s*)*fn " if path.suffix == ".rs" else r"^def (?=test_)"
    return not re.search(rf"{mark}{re.escape(name)}\(", text, re.M)


def margins() -> str:
    """The kinds of measures: bounds and margins."""
    lines = ["| kind | of | smallest, largest | margin | because |", "|---|---|---|---|---|"]
    for kind in measures.KINDS.values():
        low, high = (f"{x:g}" for x in kind.bounds(""))
        bounds = f"{low.replace('-inf', '-')}, {high.replace('inf', '-')}"
        margin, reason = (str(kind.margin), kind.margin.reason) if kind.margin else ("none", "")
        lines.append(f"| `{kind.name}` | {kind.title} | {bounds} | {margin} | {reason} |")
    return "\n".join(lines)


def contradicted_rows() -> list[list[str]]:
    """The claims that the runs contradict, the head first: docs/data/contradicted.csv."""
    rows = [["study", "claim", "the paper says"]]
    for name in PAPERS:
        study = studies.find(name)
        verdicts = {c["id"]: c["verdict"] for c in previews.stored(study.folder)["claims"]}
        rows += [[name, c.id, c.text] for c in study.claims if verdicts[c.id] == CONTRADICTED]
    return rows


def write(docs: Path) -> list[Path]:
    """Write the pages and their data, and return those that changed."""
    changed = []
    claims = docs / "claims.md"
    made = page()
    if not claims.is_file() or claims.read_text(encoding="utf-8") != made:
        claims.write_text(made, encoding="utf-8")
        changed.append(claims)
    data = docs / "data"
    for file, rows in (("claims.csv", sentence_rows()), ("contradicted.csv", contradicted_rows())):
        if blocks.put_csv(data / file, rows):
            changed.append(data / file)
    if blocks.put(docs / "statistics.md", "margins", margins()):
        changed.append(docs / "statistics.md")
    for name in PAPERS:
        study, place = studies.find(name), docs / f"study-{name}.md"
        kept = previews.stored(study.folder)
        made_of = {
            "answer": kept.get("answer", ""),
            "claims": claims_block(study, kept),
        }
        if blocks.put_csv(verdicts := data / f"{name}-verdicts.csv", verdict_rows(study, kept)):
            changed.append(verdicts)
        for block, content in made_of.items():
            if blocks.put(place, block, content):
                changed.append(place)
    return changed


def faults() -> list[str]:
    """Differences between the stored verdicts and the claims of the studies."""
    found = []
    for name in PAPERS:
        study = studies.find(name)
        claims = previews.stored(study.folder)["claims"]
        ids, kept = [c.id for c in study.claims], [c["id"] for c in claims]
        other = sorted(set(ids) ^ set(kept)) or ["their order"] * (ids != kept)
        if not other:
            digests = zip(study.claims, claims, strict=True)
            other = [c.id for c, k in digests if k.get("digest", previews.digest(c)) != previews.digest(c)]
        if other:
            found.append(f"{study.folder / previews.STORED}: not of these claims ({', '.join(other)}); make studies")
        if not study.statements:
            found.append(f"{study.folder}: has no statements.toml")
        lost = [test for s in study.statements for test in s.tests if lost_test(test)]
        if lost:
            found.append(f"{study.folder / STATEMENTS}: there are no such tests: {', '.join(lost)}")
        tested = {c for s in study.statements for c in s.claims}
        loose = [c.id for c in study.claims if not c.ours and c.id not in tested]
        if loose:
            found.append(f"{study.folder}: claims that no sentence of the paper stands behind: {', '.join(loose)}")
    return found


def main(arguments: Sequence[str]) -> int:
    """Run, write or check, as the command line asks."""
    what, names = (arguments[0] if arguments else ""), arguments[1:]
    if what == "run":
        run(names or PAPERS)
        return 0
    wrong = faults()
    if what == "write" and not wrong:
        for place in write(ROOT / "docs"):
            print(f"wrote {place.relative_to(ROOT)}")
        return 0
    if what == "check" and not wrong:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(ROOT / "docs", Path(folder) / "docs"))
            wrong = [f"docs/{p.relative_to(copy)}: is stale; make claims" for p in write(copy)]
    if what not in ("write", "check"):
        print(__doc__, file=sys.stderr)
        return 2
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
