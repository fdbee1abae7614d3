"""The gallery's programs run as they stand, and every figure is there."""

from __future__ import annotations

import re

import pytest

import gallery

TEXT = gallery.PAGE.read_text(encoding="utf-8")
ENTRIES = list(gallery.entries(TEXT))


def test_there_are_thirty_figures_and_no_other_image() -> None:
    names = [name for name, _ in ENTRIES]
    assert len(names) >= 30
    assert names == re.findall(r"\(images/([\w-]+)\.png\)", TEXT)
    assert sorted(names) == sorted(path.stem for path in (gallery.PAGE.parent / "images").glob("*.png"))


@pytest.mark.parametrize(("name", "program"), ENTRIES, ids=[name for name, _ in ENTRIES])
def test_a_figure_is_drawn(name: str, program: str) -> None:
    figure = gallery.drawn(name, program)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert shown
    assert any(ax.lines or ax.collections or ax.patches or ax.images for ax in shown)
