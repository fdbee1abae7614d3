"""The surface of the project keeps to its budget."""

from __future__ import annotations

import pytest

import surface


@pytest.mark.parametrize("figure", surface.budgets())
def test_the_surface_keeps_to_its_budget(figure: str) -> None:
    assert surface.figures()[figure]() <= surface.budgets()[figure], "take something away (tools/surface.py)"


def test_every_figure_has_a_budget() -> None:
    assert list(surface.figures()) == list(surface.budgets())


def test_what_counts() -> None:
    assert surface.targets("a: b\n\tx\n.step:\nV := 1\nx/y: a\ntest-web: a\nV := 2\n") == 2
    assert surface.words(["LICENSE-MIT"]) > 100
    assert surface.words(["docs/data/README.md"], tables=False) < surface.words(["docs/data/README.md"])
    # `--json` of two commands are two.
    assert surface.flags() > 100
