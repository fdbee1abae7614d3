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
    assert terminal.with_interval(None, 2) == "-"
    assert terminal.interval_text(None, None, None, 2) == "-"


def test_a_plot_of_two_curves(golden: Callable[[str, str], None]) -> None:
    xs = [float(x) for x in range(101)]
    text = terminal.plot([("linear", xs, [x / 100 for x in xs]), ("step", xs, [float(x > 50) for x in xs])], 40, 8)
    golden("plot.txt", text + "\n")


def test_a_plot_names_what_it_is_told() -> None:
    xs = [0.0, 5.0, 15.0, 18.0]
    text = terminal.plot([("RED", xs, [0, 0, 0.02, 0.02])], 60, 10, top=0.025, marks=([5.0, 15.0], [0.02])).split("\n")
    assert [line.partition("|")[0].strip() for line in text[:10]] == ["", "", "0.02", *[""] * 6, "0"]
    rule, below = text[10], text[11]
    assert below.split() == ["0", "5", "15", "18"]
    assert [k for k, sign in enumerate(rule) if sign == "+"][1:] == [below.index("5"), below.index("15") + 1]
    # Names that would touch are left out: the ends come first.
    crowded = terminal.plot([("RED", xs, [0, 0, 1, 1])], 60, 10, marks=([17.9], [1.0])).split("\n")
    assert crowded[11].split() == ["0", "18"]


def test_progress_in_a_pipe_is_a_line_in_ten_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("earlydrop.terminal.time.monotonic", lambda: now)
    with terminal.Progress() as progress:
        for k in range(11):
            now += 3
            progress(k, 10, "runs")
    # After 12 s, after 24 s, and at the end: the last line does not look as if the work had stopped.
    assert capsys.readouterr() == ("", "runs: 3 of 10\nruns: 7 of 10\nruns: 10 of 10\n")
    with terminal.Progress() as progress:
        progress(10, 10, "quick")
    assert capsys.readouterr() == ("", "")


def test_a_table_wider_than_the_terminal_stands_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    head, rows = ["", "red", "codel", "pie"], [["delay", "20.0", "5.0", "15.0"], ["goodput", "9.5", "9.4", "9.3"]]
    monkeypatch.setattr(terminal, "room", lambda: 20)
    assert terminal.table(head, rows) == (
        "          red  codel\n-------  ----  -----\ndelay    20.0    5.0\ngoodput   9.5    9.4\n\n"
        "          pie\n-------  ----\ndelay    15.0\ngoodput   9.3"
    )
    monkeypatch.setattr(terminal, "room", lambda: 5)
    assert max(map(len, terminal.table(head, rows).splitlines())) <= 12
