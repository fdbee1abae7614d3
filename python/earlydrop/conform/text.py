"""What was found, as text and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..analysis import statistics
from ..document import Document
from ..terminal import paragraph, table
from .measured import Measured
from .model import Case, Expectation, case, cases
from .verdicts import BETTER, OPEN, WITHIN, WORSE, Judged

HOLDS, FAILS = "holds", "fails"


def document(subject: Measured, reference: Measured | None, judged: Sequence[Judged]) -> Document:
    """Measures and verdicts as plain values."""
    found = subject.document()
    found["beside"] = reference.name if reference else None
    for one in judged:
        found["cases"][str(one.case.number)].setdefault("verdicts", {})[one.measure.id] = one.document()
    return found


def summary(subject: Measured, reference: Measured | None, judged: Sequence[Judged]) -> list[str]:
    """What was found, in sentences."""
    said = []
    if reference is not None and judged:
        criteria = [one for one in judged if one.measure.criterion]
        said.append(
            f"{subject.name} beside {reference.name}: of {len(criteria)} measures that a criterion of RFC 9743 is "
            f"about, {_counted(criteria)}; of {len(judged) - len(criteria)} others, "
            f"{_counted([one for one in judged if not one.measure.criterion])}."
        )
        worse = [one for one in criteria if one.word == WORSE]
        if worse:
            numbers = dict.fromkeys(one.case.number for one in worse)
            said.append(f"Worse where RFC 9743 has a criterion: case {', '.join(map(str, numbers))}.")
        runs = max(len(one.subject) for one in judged)
        said.append(
            f"Better and worse: by more than the case's margin, and in a Mann-Whitney test of {runs} runs on each side "
            f"after Holm's correction for {len(judged)} measures."
        )
    if subject.expected:
        failing = [n for n, of in sorted(subject.expected.items()) if not all(all(holds) for _, holds in of)]
        held = len(subject.expected) - len(failing)
        what = f"; case {', '.join(map(str, failing))} not" if failing else ""
        said.append(f"Inside, {held} of {len(subject.expected)} cases of the BBR draft are as expected{what}.")
    if subject.why:
        said += [f"Left out: case {', '.join(map(str, ns))}: {why}." for why, ns in _grouped(subject.why).items()]
    return said


def _grouped(why: dict[int, str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, text in sorted(why.items()):
        found.setdefault(text, []).append(number)
    return found


def _counted(judged: Sequence[Judged]) -> str:
    counts = {word: sum(one.word == word for one in judged) for word in (WITHIN, BETTER, WORSE, OPEN)}
    return ", ".join(f"{count} {'is' if count == 1 else 'are'} {word}" for word, count in counts.items() if count) or (
        "there are none"
    )


def printed(subject: Measured, reference: Measured | None, judged: Sequence[Judged]) -> str:
    """What the command prints."""
    parts = [paragraph(text) for text in summary(subject, reference, judged)]
    rows = [row(one) for one in judged]
    if rows:
        parts.append(table(["case", "", "measure", "mean", "band of the reference", "verdict"], rows, left=3))
    inside = [
        [str(number), case_title(number), says, HOLDS if all(holds) else FAILS]
        for number, of in sorted(subject.expected.items())
        for says, holds in of
    ]
    if inside:
        parts.append(table(["case", "", "expected", ""], inside, left=4))
    return "\n\n".join(parts)


def case_title(number: int) -> str:
    """The title of a case; nothing of one that there is no more."""
    return next((one.title for one in cases() if one.number == number), "")


def row(one: Judged) -> list[str]:
    """A measure as a row: a star is for a criterion."""
    digits, unit = one.measure.digits, f" {one.measure.unit}" if one.measure.unit else ""
    low, high = one.band
    star = "*" if one.measure.criterion else ""
    return [
        str(one.case.number),
        one.case.title,
        f"{one.measure.title}{star}",
        f"{statistics.mean(one.subject):.{digits}f}{unit}",
        f"{low:.{digits}f} to {high:.{digits}f}{unit}",
        one.said,
    ]


def listed() -> str:
    """All cases."""
    rows = [[str(one.number), one.title, one.area, one.source] for one in cases()]
    return table(["case", "title", "area", "source"], rows, left=4)


def listed_document() -> list[dict[str, Any]]:
    """All cases as plain values."""
    return [
        {"case": one.number, "title": one.title, "area": one.area, "source": one.source, "says": one.says}
        for one in cases()
    ]


def explained(number: int) -> str:
    """What a case is, and what is measured or expected."""
    from ..toml_writer import to_toml

    one = case(number)
    parts = [f"Case {one.number}: {one.title} ({one.area}; {one.source})", paragraph(one.says)]
    parts += list(_asked(one))
    return "\n\n".join([*parts, to_toml(dict(one.scenario))])


def _asked(one: Case) -> Iterator[str]:
    for measure in one.measures:
        better = f"{measure.better} is better"
        over = f" / {measure.over}" if measure.over else ""
        yield paragraph(f"{measure.title}: {measure.path}{over}; {better}; margin {measure.margin}.")
        if measure.criterion:
            yield paragraph(f'Criterion: "{measure.criterion}"', indent="  ")
    for expected in one.expected:
        yield paragraph(f"Expected: {expected.says}") + "\n" + paragraph(condition(expected), indent="  ")


def condition(one: Expectation) -> str:
    """An expectation's condition in words."""
    which = {"every": "at every sample", "none": "at no sample", "some": "at some sample"}
    picked = which.get(one.pick, f"at the {one.pick} sample")
    after = f" from {one.after.text} on" if one.after else ""
    then = f": {one.then.text}" if one.then else ""
    return f"{picked}{after} with {one.when.text}{then}"
