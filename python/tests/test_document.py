"""Overlays and TOML."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earlydrop.document import lookup, overlay
from earlydrop.toml_writer import to_toml

BASE: dict[str, Any] = {"a": {"b": 1}, "list": [{"x": 1}, {"x": 2}]}


def test_an_overlay_leaves_the_original_alone() -> None:
    changed = overlay(BASE, {"a.b": 2, "list.1.x": 3, "new.table.y": True})
    assert changed == {"a": {"b": 2}, "list": [{"x": 1}, {"x": 3}], "new": {"table": {"y": True}}}
    assert BASE == {"a": {"b": 1}, "list": [{"x": 1}, {"x": 2}]}


@pytest.mark.parametrize("path", ["list.7.x", "list.x", "a.b.c"])
def test_an_overlay_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(KeyError, match=path.split(".", maxsplit=1)[0]):
        overlay(BASE, {path: 0})


def test_lookup_follows_tables_and_lists() -> None:
    assert lookup(BASE, "list.1.x") == 2
    assert lookup(BASE, "a.missing.c") is None
    assert lookup(BASE, "list.9.x") is None


keys = st.text("abcdefgh_ é.", min_size=1, max_size=5)
values = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False),
    st.text(max_size=10),
    st.lists(st.integers(0, 9), max_size=3),
)
documents = st.recursive(
    st.dictionaries(keys, values, max_size=4),
    lambda inner: st.dictionaries(keys, st.one_of(values, inner, st.lists(inner, min_size=1, max_size=2)), max_size=4),
    max_leaves=12,
)


@given(documents)
def test_toml_reads_back_as_written(document: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(document)) == document
