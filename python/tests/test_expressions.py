"""Formulas: arithmetic, and nothing else. Conditions are tested with sweeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earlydrop.expressions import ExpressionError, parse_condition
from earlydrop.expressions import parse_formula as parse

VALUES = {"near": 3.0, "far": 1.0, "zero": 0.0, "none": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(near - far) / (near + far)", 0.5),
        ("near ** 2 - -far", 10.0),
        ("+near", 3.0),
        ("2 * near + 0.5", 6.5),
        ("min(near, far, 2)", 1.0),
        ("max(near, far)", 3.0),
        ("abs(far - near)", 2.0),
        ("sum(near, far, 1)", 5.0),
        ("mean(near, far)", 2.0),
        ("1_000 / 1e3", 1.0),
        (" near ", 3.0),
        ("7 / 2", 3.5),
    ],
)
def test_arithmetic(text: str, value: float) -> None:
    assert parse(text).value(VALUES) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    ["near / zero", "none + 1", "(-near) ** 0.5", "9.0 ** 9 ** 9 ** 9", "10 ** 400", "1e300 * 1e300", "zero ** -1"],
)
def test_what_has_no_value_gives_none(text: str) -> None:
    assert parse(text).value(VALUES) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "near +",
        "near far",
        "__import__('os').system('true')",
        "near.__class__",
        "near[0]",
        "(lambda: 1)()",
        "[x for x in near]",
        "near if far else zero",
        "near and far",
        "near < far",
        "near // far",
        "near % far",
        "near @ far",
        "near | far",
        "not near",
        "~near",
        "'near'",
        "True",
        "None",
        "1j",
        "1e999",
        "9" * 350,
        "f'{near}'",
        "open(near)",
        "eval('1')",
        "min()",
        "abs(near, far)",
        "min(*near)",
        "max(near, default=1)",
        "(near := 1)",
        "near; far",
        "near\nfar",
        "near = 1",
        "await near",
        "print(near)",
        "mean",
        "(" * 100 + "near" + ")" * 100 + "+",
        "near" + "+1" * 300,
        "-" * 200 + "1",
        "\0",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    if text == "mean":  # a name like any other: it is the study that knows no such measure
        assert parse(text).names == ("mean",)
        return
    with pytest.raises(ExpressionError):
        parse(text)


def test_deep_nesting_is_refused_and_not_run_into() -> None:
    with pytest.raises(ExpressionError, match="deep"):
        parse("-(" * 60 + "1" + ")" * 60)


def test_an_odd_literal_is_read_without_a_warning() -> None:
    assert parse_condition("1or aqm", ["aqm"]).names == ("aqm",)


def test_the_names_are_those_it_needs_once_each() -> None:
    assert parse("a + b * a - min(c, 1)").names == ("a", "b", "c")


@given(st.text(max_size=60))
def test_no_text_does_anything_else(text: str) -> None:
    try:
        formula = parse(text)
    except ExpressionError:
        return
    value = formula.value(dict.fromkeys(formula.names, 1.0))
    assert value is None or isinstance(value, float)
