"""Strict tables: what is reported, and that a parse goes on where errors are collected."""

from __future__ import annotations

from typing import Any

import pytest

import earlydrop as ed
from earlydrop import strict_toml
from earlydrop.study.study_table import StudyTable


class Collecting(strict_toml.Table):
    def __init__(self, data: Any, place: str = "") -> None:
        self.found: list[str] = []
        super().__init__(data, place)

    def report(self, key: str, message: str) -> None:
        self.found.append(f"{self.path(key)}: {message}")


@pytest.mark.parametrize(
    ("read", "value", "message", "instead"),
    [
        (lambda t: t.text("k"), 3, "part 1: k: given 3; allowed a text", ""),
        (lambda t: t.text("k"), None, 'part 1: "k" is missing', ""),
        (lambda t: t.number("k", 1.5), True, "part 1: k: given true; allowed a number", 1.5),
        (lambda t: t.whole("k", 0, 12), 13, "part 1: k: given 13; allowed whole numbers from 0 to 12", 0),
        (lambda t: t.flag("k"), "yes", "part 1: k: given 'yes'; allowed true or false", False),
        (lambda t: t.texts("k"), [1], "part 1: k: given [1]; allowed a list of texts", ()),
        (lambda t: t.pair("k"), [2, 1], "part 1: k: given [2, 1]; allowed two numbers, the smaller first", None),
        (lambda t: t.settings("k"), [], "part 1: k: given []; allowed a table", {}),
        (lambda t: t.tables("k"), {}, "part 1: k: given a table; allowed a list of tables", []),
        (
            lambda t: t.word("k", ("lines", "bars"), "bars"),
            "line",
            'part 1: k = "line": there is no such name; did you mean "lines"?',
            "bars",
        ),
    ],
)
def test_a_wrong_value_is_reported_once_and_replaced(read: Any, value: Any, message: str, instead: Any) -> None:
    table = Collecting({} if value is None else {"k": value}, "part 1")
    assert read(table) == instead
    assert table.found == [message]
    with pytest.raises(ed.study.StudyError) as caught:
        read(StudyTable({} if value is None else {"k": value}, "part 1"))
    assert str(caught.value) == message


def test_unknown_keys_are_refused_with_the_nearest_known_one() -> None:
    table = Collecting({"seeds": 1, "sedes": 2, "x": 3})
    assert table.whole("seeds", 1, 9) == 1
    table.end()
    assert table.found == [': unknown key "sedes"; did you mean "seeds"?', ': unknown key "x"; known: seeds']


def test_a_missing_key_that_is_misspelt_is_found() -> None:
    table = Collecting({"titel": "x", "id": "y"})
    assert table.text("title") == ""
    assert table.found == [': "title" is missing; there is "titel": did you mean "title"?']
    with pytest.raises(ed.study.StudyError, match='needs a field; there is "feild": did you mean "field"'):
        raise StudyTable({"feild": "jain"}).lacks("needs a field", "field", "formula")


def test_numbers_are_finite() -> None:
    table = Collecting({"k": float("nan")})
    assert table.number("k", 1.0) == 1.0
    assert table.found == ["k: given nan; allowed a finite number"]


def test_inner_tables_are_named_by_their_id() -> None:
    (named, second) = StudyTable({"claim": [{"id": "C-1"}, {}]}).tables("claim")
    assert (named.place, second.place) == ("claim C-1", "claim 2")


def test_the_public_names_of_sweeps_stay() -> None:
    import earlydrop.sweep

    assert ed.sweep is earlydrop.sweep
    assert all(hasattr(ed.sweep, name) for name in ed.sweep.__all__)
    assert ed.sweep.sweep.__module__ == "earlydrop.sweeps.running"
