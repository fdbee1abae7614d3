"""Tables, numbers and the plot of dots."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from earlydrop import terminal


def test_tables_line_up() -> None:
    text = terminal.table(["a", "value"], [["x", "1.0"], ["longer", "12.5"]])
    assert text.splitlines() == [
        "a       value",
        "------  -----",
        "x         1.0",
        "longer   12.5",
    ]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.1234, 2, "+0.12"), (-0.001, 2, "0.00"), (0.0, 1, "0.0"), (-3.0, 0, "-3"), (None, 2, "-")],
)
def test_signs_are_shown_but_not_of_zero(value: float | None, digits: int, text: str) -> None:
    assert terminal.signed(value, digits) == text


def test_numbers_that_are_none() -> None:
    assert terminal.number(None, 2) == "-"
    assert terminal.number(float("nan"), 2) == "-"
    assert terminal.with_half_width(1.0, None, 2) == "1.00"


def test_a_plot_of_two_curves(golden: Callable[[str, str], None]) -> None:
    xs = [float(x) for x in range(101)]
    text = terminal.plot([("linear", xs, [x / 100 for x in xs]), ("step", xs, [float(x > 50) for x in xs])], 40, 8)
    golden("plot.txt", text + "\n")


def test_progress_is_silent_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress() as progress:
        for k in range(11):
            progress(k, 10, "runs")
    assert capsys.readouterr() == ("", "")
