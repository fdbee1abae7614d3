"""Differences between two results of a sweep: of two versions of the engine, or of two sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis import statistics
from ..analysis.statistics import Difference
from ..errors import EarlydropError
from ..terminal import number, paragraph, table, with_sign
from . import result_file

if TYPE_CHECKING:
    import polars

SHOWN = 30


class DiffError(EarlydropError):
    """Two results cannot be compared. The message says why."""


@dataclass(frozen=True)
class Change:
    """A measure of a point that is in both, second minus first, over the seeds of both."""

    levels: dict[str, Any]
    measure: str
    difference: Difference
    equal: bool
    """Whether every run gave the same number in both results."""


@dataclass
class Comparison:
    """The comparison of two results, side by side."""

    first: dict[str, Any]
    second: dict[str, Any]
    changes: list[Change]
    only_first: list[dict[str, Any]]
    only_second: list[dict[str, Any]]

    @property
    def corrected(self) -> list[float | None]:
        """p values of the changes that are not equal in every run, after Holm; 1 for the others.

        None where every seed gave the same run, or the same difference: there is nothing to test.
        """
        found: list[float | None] = [1.0 if c.equal else None for c in self.changes]
        tested = [k for k, c in enumerate(self.changes) if not c.equal and c.difference.estimate.replicates > 1]
        ps = [self.changes[k].difference.t_p for k in tested]
        for k, p in zip(tested, statistics.corrected(statistics.holm, ps), strict=True):
            found[k] = p
        return found

    def document(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "first": {k: self.first[k] for k in ("name", "version")},
            "second": {k: self.second[k] for k in ("name", "version")},
            "equal": sum(c.equal for c in self.changes),
            "different": sum(not c.equal for c in self.changes),
            "only_first": self.only_first,
            "only_second": self.only_second,
            "changes": [
                {"levels": c.levels, "measure": c.measure, **c.difference.document(), "t_test_p_holm": p}
                for c, p in zip(self.changes, self.corrected, strict=True)
                if not c.equal
            ],
        }


def diff(first: Path, second: Path) -> Comparison:
    """Compare two folders that `sweep` wrote, point by point and measure by measure.

    Points are matched by the levels of the factors that both have, and runs by seed: where the scenarios are the same,
    so are their random numbers, and the differences are paired.

    Raises:
        SweepError: a folder is no result of a sweep.
        DiffError: the two have no factor, point or measure in common.
    """
    a, b = (result_file.whole(folder) for folder in (first, second))
    runs_a, runs_b = (result_file.runs(folder).collect() for folder in (first, second))
    factors = [f["name"] for f in a["factors"] if f["name"] in {g["name"] for g in b["factors"]}]
    measures = [m for m in a["measures"] if m in b["measures"] and m in runs_a.columns and m in runs_b.columns]
    if not factors or not measures:
        what = "factor" if not factors else "measure"
        raise DiffError(f"{first} and {second} have no {what} in common")
    places_a, places_b = _places(a, factors, first), _places(b, factors, second)
    both = [key for key in places_a if key in places_b]
    if not both:
        raise DiffError(f"{first} and {second} have no point in common")
    series_a, series_b = _series(runs_a, measures), _series(runs_b, measures)
    changes = []
    for key in both:
        mine, theirs = series_a.get(places_a[key], {}), series_b.get(places_b[key], {})
        seeds = [s for s in mine if s in theirs]
        for k, m in enumerate(measures):
            pairs = [(theirs[s][k], mine[s][k]) for s in seeds]
            if not pairs or any(x is None or y is None for x, y in pairs):
                continue
            new, old = [x for x, _ in pairs], [y for _, y in pairs]
            same = all(d["points"][places[key]].get("replicates") == 1 for d, places in ((a, places_a), (b, places_b)))
            found = statistics.paired(new, old, same_run=same)
            changes.append(Change(dict(zip(factors, key, strict=True)), m, found, new == old))
    alone = [
        [dict(zip(factors, key, strict=True)) for key in mine if key not in theirs]
        for mine, theirs in ((places_a, places_b), (places_b, places_a))
    ]
    return Comparison(a, b, changes, *alone)


def _places(document: dict[str, Any], factors: list[str], folder: Path) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for k, point in enumerate(document["points"]):
        key = tuple(point["levels"][f] for f in factors)
        if key in found:
            raise DiffError(
                f"{folder}: several points have {', '.join(f'{f} = {v}' for f, v in zip(factors, key, strict=True))}"
            )
        found[key] = k
    return found


def _series(runs: polars.DataFrame, measures: list[str]) -> dict[int, dict[int, tuple[Any, ...]]]:
    found: dict[int, dict[int, tuple[Any, ...]]] = {}
    for point, seed, *values in runs.select("point", "seed", *measures).iter_rows():
        found.setdefault(point, {})[seed] = tuple(values)
    return found


def text(found: Comparison) -> str:
    """Everything `diff` prints."""
    same = sum(c.equal for c in found.changes)
    lines = [
        f"{found.first['name']} ({found.first['version']}) -> {found.second['name']} ({found.second['version']})",
        "",
        f"{len(found.changes):,} measures of points are in both: {same:,} equal in every run, "
        f"{len(found.changes) - same:,} different",
    ]
    for which, points in (("first", found.only_first), ("second", found.only_second)):
        if points:
            lines.append(f"{len(points):,} points are in the {which} only")
    rows = []
    ordered = sorted(
        zip(found.changes, found.corrected, strict=True), key=lambda one: 1.0 if one[1] is None else one[1]
    )
    different = [(c, p) for c, p in ordered if not c.equal]
    for c, p in different[:SHOWN]:
        m = found.first["measures"][c.measure]
        d = c.difference
        rows.append(
            [
                result_file.named(found.first["factors"], c.levels),
                m["title"],
                number(d.control, m["digits"]),
                with_sign(d.estimate, m["digits"]) + f" {'*' * d.stars(p):2}",
            ]
        )
    if rows:
        about = (
            "Second minus first, seed by seed (* the interval excludes zero; ** still so after Holm's correction for "
            f"{len(different):,}), the clearest first:"
        )
        lines += ["", paragraph(about), "", table(["point", "measure", "first", "difference"], rows, left=2)]
        if len(different) > SHOWN:
            lines.append(f"and {len(different) - SHOWN:,} more")
    return "\n".join(lines)
