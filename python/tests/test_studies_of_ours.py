"""What the studies `floadautored`, `league`, `dialects`, `misprints` and `sweeps` rest on, and the sums of the page on
misprints."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core
from earlydrop import study as studies
from earlydrop.discipline_names import all_folded

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "studies"
PAGE = (ROOT / "docs/misprints.md").read_text(encoding="utf-8")


def study(name: str) -> studies.Study:
    return studies.read(STUDIES / name)


def catalogue() -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in json.loads(_core.catalogue())}


def published(name: str) -> dict[str, dict[str, float]]:
    with (STUDIES / "floadautored/published" / name).open(newline="", encoding="utf-8") as file:
        return {row.pop("aqm"): {k: float(v) for k, v in row.items()} for row in csv.DictReader(file)}


# ---- floadautored --------------------------------------------------------------------------------------------------


def test_the_load_stage_concerns_floadautored_alone() -> None:
    one = study("floadautored")
    e = one.experiment("F")
    plan = studies.plan(one)

    def key(stage: str, aqm: str) -> str:
        at = {**e.base, "stage": stage, "aqm": aqm}
        return plan.cells[("F", tuple(at[name] for name in e.names))].key

    run = {(at["stage"], at["aqm"]) for at in (dict(zip(e.names, cell, strict=True)) for cell in e.cells)}
    assert {stage for stage, aqm in run if aqm == "floadautored"} == set(e.axis("stage").ids)
    for stage in e.axis("stage").ids:
        for aqm in e.axis("aqm").ids:
            if (stage, aqm) not in run:
                continue
            same = key(stage, aqm) == key("intended", aqm)
            assert same == (aqm != "floadautored" or stage == "intended"), (stage, aqm)


def test_the_set_up_is_table_6_2() -> None:
    one = study("floadautored")
    e = one.experiment("F")
    for aqm in ("autoredwithred", "floadautored", "red", "choke"):
        at = {**e.base, "aqm": aqm}
        document = e.document(tuple(at[name] for name in e.names), one.name)
        queue = json.loads(_core.Scenario.parse(document, []).to_json())["queue"]["bottleneck"]
        assert (queue["min_th"], queue["max_th"], queue["max_p"]) == (100, 200, 0.02)
        assert queue["limit"] == "300 packets"
    tcp, cbr = document["traffic"]
    assert (tcp["count"], cbr["count"], cbr["rate"]) == (32, 1, "2 Mbit/s")
    defaults = {p["name"]: p["default"] for p in catalogue()["floadautored"]["parameters"]}
    assert (defaults["gamma"], defaults["delta"], defaults["stable_interval"]) == ("0.2", "11.25", "0.06")


def test_no_link_allows_both_rows_of_table_6_6() -> None:
    shares, drops = published("table6.6.csv"), published("table6.4.csv")
    least = {}
    for aqm, row in shares.items():
        d = drops[aqm]["drop_rate"] / 100
        # The CBR flow of 2 Mbit/s alone loses 2 - s C of at least 2 + t C that arrive.
        least[aqm] = (2 - 2 * d) / ((row["cbr"] + d * row["tcp"]) / 100)
    most = 2 / (shares["autoredwithred"]["cbr"] / 100)
    assert (round(least["autoredwithred"], 2), round(most, 2)) == (1.85, 2.06)
    assert round(least["floadautored"], 2) == 8.36 > most
    assert "1.85 at least, and 2.06 at most" in PAGE
    assert "8.36 at least" in PAGE


def test_the_delays_of_table_6_5_are_seconds() -> None:
    queues, delays = published("table6.3.csv"), published("table6.5.csv")
    rates = {aqm: row["average"] * 8000 / delays[aqm]["delay"] / 1e6 for aqm, row in queues.items()}
    assert (round(rates["autoredwithred"], 1), round(rates["floadautored"], 1)) == (8.5, 9.7)


def test_fairness_and_variation_of_the_printed_utilisations() -> None:
    found = {}
    for aqm, row in published("table6.6.csv").items():
        x, y = row["cbr"] / 100, row["tcp"] / 100
        found[aqm] = (round((x + y) ** 2 / (2 * (x * x + y * y)), 3), round(((x - y) / 2) ** 2, 3))
    assert found == {"autoredwithred": (0.517, 0.228), "floadautored": (0.713, 0.1)}
    for fairness, variation in found.values():
        assert f"| {variation:.3f} |" in PAGE
        assert f"| {fairness:.3f} |" in PAGE


# ---- the other papers' sums on the page ----------------------------------------------------------------------------


def test_the_third_section_of_tred_meets_the_second() -> None:
    averages = [56.0, 71.999999]
    right = _core.drop_curve("tred", '{"min_th": 24, "max_th": 72, "max_p": 0.1}', averages)
    wrong = _core.drop_curve("tred", '{"min_th": 24, "max_th": 72, "max_p": 0.1, "reading": "printed"}', averages)
    assert right is not None
    assert wrong is not None
    assert right == pytest.approx([0.2 / 3, 0.1], abs=1e-6)
    assert wrong == pytest.approx([1.1 / 3, 1.0], abs=1e-6)


def test_the_bottleneck_of_the_aqm_qos_tables() -> None:
    """Packets delivered, their sizes, headers: what went over the link in 100 s."""
    sizes = (296, 500, 3000, 13000)
    table3, table5 = (21121, 12519, 2092, 483), (18473, 11518, 2047, 485)

    def row(packets: tuple[int, ...], header: int, digits: int) -> str:
        rates = (n * (size + header) * 8 / 100 / 1e6 for n, size in zip(packets, sizes, strict=True))
        return " | ".join(f"{rate:.{digits}f}" for rate in rates)

    assert row(table3, 0, 4) in PAGE
    assert row(table5, 40, 4) in PAGE
    assert row(table5, 0, 3) in PAGE
    assert round(6257960 * 8 / 100 / 1e6, 4) == 0.5006
    assert round((6257960 - 6058032) / 6257960, 3) == 0.032


def test_the_sums_of_the_ddred_table() -> None:
    rows = re.findall(r"^\| (?:RED|DDRED), KB/s \|(.+)\|$", PAGE, re.MULTILINE)
    assert len(rows) == 2
    totals = []
    for line in rows:
        cells = [re.fullmatch(r" (\d+) \+ (\d+) = (\d+) ", cell) for cell in line.split("|")]
        numbers = [[int(x) for x in cell.groups()] for cell in cells if cell]
        assert len(numbers) == 4
        assert all(a + b == c for a, b, c in numbers)
        totals.append([c for _, _, c in numbers])
    assert sum(ours < red for red, ours in zip(*totals, strict=True)) == 3


# ---- league --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["L-tfit", "L-fload", "L-twoflow", "L-congestion"])
def test_the_league_has_every_discipline(name: str) -> None:
    axis = study("league").experiment(name).axis("aqm")
    entries = catalogue() | {one["name"]: one for one in all_folded()}
    assert set(axis.ids) == set(entries)
    for level in axis.levels:
        entry = entries[level.id]
        queue = {"aqm": entry.get("of", level.id), **entry.get("values", {})}
        assert level.title == entry["title"]
        assert level.set["queue.bottleneck"].items() >= queue.items(), level.id


def test_the_league_has_a_row_for_every_discipline_and_the_page_some_of_them() -> None:
    with (ROOT / "docs/data/league.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    assert {row[0] for row in rows} == {entry["title"] for entry in [*catalogue().values(), *all_folded()]}
    assert all(all(row) for row in rows)
    page = (ROOT / "docs/study-league.md").read_text(encoding="utf-8").partition("## Dialects")[0]
    papers, congestion = page.split("R-8.2, with 2, 5 and 7 flows:")
    for table, first, last in ((papers, 1, 12), (congestion, 12, 23)):
        shown = [row for row in rows if f"\n| {row[0]} | {' | '.join(row[first:last])} |\n" in table]
        assert len(shown) >= 6
        assert len(shown) == len(re.findall(r"^\| [^|]+ \|(?: [\d.]+ \|){11}$", table, re.MULTILINE))
