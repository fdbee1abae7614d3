"""No table of results is wider than its terminal."""

from __future__ import annotations

import io
import sys

import pytest
from conftest import outcome
from test_shared_queues import network

import earlydrop as ed
from earlydrop import study as studies
from earlydrop.cli import list as listing
from earlydrop.study import comparison_tables, text


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_table_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    net = network()
    found = ed.compare(net, ["codel", "fq_codel", "pie"], seeds=2, progress=False)
    study = outcome(studies.find("tred"))
    blocks = [comparison_tables.automatic(study, e, most=24) for e in study.study.experiments]
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    listing.list_("aqms")
    texts = {"compare": str(found), "list": screen.getvalue()}
    texts |= {f"study {k}": text._block_text(block) for k, block in enumerate(blocks)}
    assert len(texts) > 3
    wide = {name: [line for line in one.splitlines() if len(line) > columns] for name, one in texts.items()}
    assert not any(wide.values()), {name: lines[:5] for name, lines in wide.items()}
