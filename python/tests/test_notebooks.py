"""What notebooks and editors show: signatures, progress, tables and drawings."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from test_comparing import Halfway, network

import earlydrop as ed
from earlydrop import notebook, terminal


def test_signatures_show_parameters_with_types_and_defaults() -> None:
    assert str(inspect.signature(ed.aqm.CoDel)).startswith(
        "(*, limit: str | int | None = None, ecn: bool | None = None, target: float | str = '5 ms', "
        "interval: float | str = '100 ms', dialect: Literal['rfc', 'linux', 'ns3'] = 'rfc', "
    )
    assert str(inspect.signature(Halfway)) == (
        "(*, limit: str | int | None = None, ecn: bool | None = None, share: float = 0.5)"
    )
    assert "share: Of the buffer. Default 0.5; [0, 1]." in (Halfway.__doc__ or "")


@pytest.mark.parametrize("name", sorted(ed.aqm.classes()))
def test_defaults_of_a_signature_are_those_of_the_engine(name: str) -> None:
    made = getattr(ed.aqm, name)
    parameters = inspect.signature(made).parameters
    assert list(parameters) == ["limit", "ecn", *(p["name"] for p in made.parameters)]
    given = {key: p.default for key, p in parameters.items() if p.default is not None}
    documents = [network(made(limit=30, **more)).scenario(duration="1 s").document for more in ({}, given)]
    assert documents[0] == documents[1]


def test_an_editor_completes_parameters() -> None:
    completer = pytest.importorskip("IPython.core.completer")
    shell = completer.IPCompleter(namespace={"CoDel": ed.aqm.CoDel, "Halfway": Halfway}, use_jedi=False)
    with completer.provisionalcompleter():
        found = [{c.text for c in shell.completions(text, len(text))} for text in ("CoDel(", "Halfway(sh")]
    assert {"target=", "interval=", "limit="} <= found[0]
    assert "share=" in found[1]


class Handle:
    def __init__(self, shown: list[Any]) -> None:
        self.shown = shown

    def update(self, what: Any, raw: bool) -> None:
        self.shown.append(what)


def test_progress_in_a_notebook_is_a_bar_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    def display(what: Any, raw: bool, display_id: bool) -> Handle:
        shown.append(what)
        return Handle(shown)

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    assert notebook.is_notebook()
    with terminal.Progress(bars=True) as progress:
        progress(0, 2, "a < b")
        progress(2, 2, "a < b")
    assert shown[0]["text/plain"] == "a < b: 0 of 2"
    assert "a &lt; b: 2 of 2" in shown[1]["text/html"]
    assert shown[-1]["text/html"] == ""


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress(bars=True) as progress:
        progress._told = -1e9
        progress(1, 2, "runs")
    ed.compare(network(), ["red"], seeds=2, duration="1 s")
    assert capsys.readouterr() == ("", "")


def test_progress_may_be_heard() -> None:
    heard: list[tuple[int, int, str]] = []
    ed.compare(network(), ["red"], seeds=2, duration="1 s", rtt=["20 ms"], progress=lambda *what: heard.append(what))
    assert heard[-1] == (2, 2, "dumbbell, RTT 20 ms")


def test_networks_results_and_studies_are_shown() -> None:
    net = network()
    assert repr(net).startswith("<Network dumbbell; bottleneck: Tred(limit='30 packets', min_th=5,")
    assert repr(net).endswith("traffic: 4 reno ftp>")
    assert net._repr_html_().startswith('<img src="data:image/svg+xml;base64,')
    broken = ed.dumbbell(
        pairs=1, access=ed.link("9 Mbit/s", "5 ms"), bottleneck=ed.link("2 bananas", "1 ms"), queue=ed.aqm.Red()
    )
    assert "bananas" in broken._repr_html_()
    assert net.scenario(duration="1 s")._repr_html_().startswith("<img ")
    page = net.run(duration="2 s")._repr_html_()
    assert "dumbbell seed 1" in page
    assert "<td" in page
    study = ed.study.find("floadautored").as_quick()
    outcome, results = ed.study.reproduce(study.with_seeds(2))
    assert repr(outcome).startswith("<Study floadautored: ")
    assert repr(results[0]) == f"<Claim {results[0].claim.id}: preview: {results[0].verdict}>"
    assert results[0].claim.id in outcome._repr_html_()
    assert "<details>" in outcome._repr_html_()
