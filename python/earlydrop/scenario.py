"""Scenarios: loaded from a file or built in Python, and always checked before they run."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from . import disk, packed
from .document import effects
from .links import Link
from .links.planning import queue_settings
from .own_aqms.registry import trusting
from .queue_settings import Queue, QueueLike
from .result import Result
from .runner import outcome
from .strict_toml import parse_value
from .toml_writer import to_toml
from .traffic import Document as Document
from .traffic import Sending

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ScenarioWarning(UserWarning):
    """A scenario is valid but probably not what its author intended."""


class Scenario:
    """A checked scenario, ready to run."""

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def document(self) -> Document:
        """The checked and completed document."""
        document: Document = json.loads(self._core.to_json())
        return document

    @property
    def warnings(self) -> list[str]:
        """Warnings about probable mistakes: flows that start together, ECN on one side, thresholds of another link."""
        return self._core.warnings()

    def network(self) -> Document:
        """The complete network: `node`, `link`, and under `queue` the names of the queues by link."""
        network: Document = json.loads(self._core.network())
        return network

    def picture(self) -> Figure:
        """A diagram of the network: hosts, routers, links and queues."""
        from .render import network_plot

        return network_plot.draw(self.network(), self.name)

    def run(self, seed: int | None = None) -> Result:
        """Run once; without a seed, with the scenario's own. Issues `warnings`, and says which queues never acted."""
        from .analysis.overflows import never_acted

        made = outcome(self._core, seed)
        scenario = self.document
        summary = scenario["record"].get("flows") == "summary"
        result = Result(made.text(), scenario, (lambda: packed.table(made.flows())) if summary else None)
        for text in (*self.warnings, *never_acted(result.document, result.scenario)):
            warnings.warn(text, ScenarioWarning, stacklevel=2)
        return result

    def __repr__(self) -> str:
        return f"<Scenario {self.name}>"

    def _repr_html_(self) -> str:
        from . import notebook
        from .render import plotting

        return plotting.picture(self.picture(), f"network of {self.name}") + notebook.paragraphs([repr(self)[1:-1]])


def _pairs(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(path, value if isinstance(value, str) else json.dumps(value)) for path, value in settings.items()]


def load(path: str | PathLike[str], settings: Mapping[str, Any] | None = None, *, trust: bool = False) -> Scenario:
    """Read and check a scenario file. `settings` are laid over it: `{"queue.bottleneck.aqm": "red"}`.

    `trust` lets the scenario load code that it names as a discipline. Such code has the rights of this program.
    """
    with trusting(trust):
        return Scenario(_core.Scenario.load(fspath(path), _pairs(settings or {})))


def parse(document: Mapping[str, Any], settings: Mapping[str, Any] | None = None, *, trust: bool = False) -> Scenario:
    """Check a scenario given as a dict; `trust` as in `load`."""
    with trusting(trust):
        return Scenario(_core.Scenario.parse(dict(document), _pairs(settings or {}), strict=True))


def link(
    rate: str | Mapping[str, Any] | None = None,
    delay: str | list[str] | Mapping[str, Any] | None = None,
    *,
    link_layer: str | None = None,
    **more: Any,
) -> Link:
    """A link: `link("5 Mbit/s", "20 ms")`, or `link(model="lte-drive")`, whose model has the rate.

    `rate` may also be a `schedule` or a `trace`. With `link_layer="ip"` queues that follow Linux count no Ethernet
    header. What else happens to packets on the link is given by the keys that it has in a scenario: `model`, `framing`,
    `aggregation`, `loss`, `jitter`, `reorder`, such as `loss=0.01` or `jitter="5 ms"`.

    As a context manager it is a real link between this program's network namespace and a new one, see
    `earlydrop.links`: `with link("20 Mbit/s", "20 ms", queue="red limit=120p") as l: l.run([...])`. All other
    keywords are those of `earlydrop.links.plan` for that: `queue`, `reverse_queue`, `seed` and others. A real link has
    no link layer.
    """
    given = effects(more)
    layer = {} if link_layer is None else {"link_layer": link_layer}
    real = {key: value for key, value in more.items() if key not in _core.link_effects()}
    own = {key: value for key, value in (("rate", rate), ("delay", delay)) if value is not None}
    return Link({**own, **layer, **given}, real)


class _Written(Queue):
    """A queue that a text describes; the scenario's checker knows the parameters."""

    def __init__(self, text: str) -> None:
        settings = queue_settings(text, "queue")
        self._document = {path.partition(".")[2]: parse_value(value) for path, value in settings}
        self.name = self._document["aqm"]

    def __repr__(self) -> str:
        return f"Queue({self._document})"


def _queue(given: QueueLike) -> Queue:
    return _Written(given) if isinstance(given, str) else given


class Network(Sending):
    """A network under construction: topology and queues, then traffic, then `run`."""

    def __init__(
        self,
        topology: Document,
        queues: Mapping[str, QueueLike],
        name: str,
        nodes: Sequence[Document] = (),
        links: Sequence[Document] = (),
    ) -> None:
        self.name = name
        self.topology = topology
        self.nodes = list(nodes)
        self.links = list(links)
        self.queues = {key: _queue(given) for key, given in queues.items()}
        self.traffic: list[Document] = []

    def document(self, **top: Any) -> Document:
        """The scenario as a dict; `top` holds its own fields, such as `duration="200 s"`."""
        return {
            "name": self.name,
            **{k: v for k, v in top.items() if v is not None},
            "topology": self.topology,
            **({"node": self.nodes} if self.nodes else {}),
            **({"link": self.links} if self.links else {}),
            **({"aqms": own} if (own := self._own()) else {}),
            "queue": {name: queue.document() for name, queue in self.queues.items()},
            # `from` is a keyword of Python; callers write `from_`.
            "traffic": [{"from" if k == "from_" else k: v for k, v in one.items()} for one in self.traffic],
        }

    def _own(self) -> Document:
        """The disciplines that the catalogue does not have, by name, each with the digest of its code."""
        digests = {queue.name: getattr(queue, "digest", None) for queue in self.queues.values()}
        return {name: {"digest": digest} for name, digest in digests.items() if digest is not None}

    def scenario(self, *, duration: str, warmup: str | None = None, **top: Any) -> Scenario:
        """The checked scenario."""
        return parse(self.document(duration=duration, warmup=warmup, **top))

    def run(self, *, duration: str, warmup: str | None = None, seed: int = 1, **top: Any) -> Result:
        """Check and run once."""
        return self.scenario(duration=duration, warmup=warmup, seed=seed, **top).run()

    def play(self, *, duration: str = "60 s", warmup: str | None = None, **top: Any) -> Any:
        """The playground with this network, as a widget of a notebook (extra `notebook`).

        Raises:
            ScenarioError: the scenario is wrong.
            EarlydropError: a discipline is not in the catalogue, the page was never built, or the extra is missing.
        """
        from . import playground, widget

        playground.check(self.scenario(duration=duration, warmup=warmup, **top)._core, self.name)
        return widget.widget(to_toml(self.document(duration=duration, warmup=warmup, **top)))

    def __repr__(self) -> str:
        queues = ", ".join(f"{name}: {queue!r}" for name, queue in self.queues.items())
        traffic = ", ".join(
            f"{one.get('count', 1)} {one.get('tcp', '')} {one['kind']}".replace("  ", " ") for one in self.traffic
        )
        return f"<Network {self.name}; {queues or 'no queue'}; traffic: {traffic or 'none yet'}>"

    def _repr_html_(self) -> str:
        from . import notebook
        from .render import plotting

        try:
            drawn = plotting.picture(self.scenario(duration="1 s").picture(), f"network {self.name}")
        except _core.ScenarioError as error:
            # A network is built step by step; before it is whole, the text says what it has.
            drawn = notebook.text(str(error))
        return drawn + notebook.paragraphs([repr(self)[1:-1]])

    def save(self, path: str | PathLike[str], *, duration: str, warmup: str | None = None, **top: Any) -> None:
        """Write the scenario as TOML, after checking it."""
        self.scenario(duration=duration, warmup=warmup, **top)
        disk.replace(Path(path), to_toml(self.document(duration=duration, warmup=warmup, **top)))


def dumbbell(
    *,
    pairs: int,
    bottleneck: Mapping[str, Any],
    queue: QueueLike,
    access: Mapping[str, Any] | None = None,
    senders: Mapping[str, Any] | None = None,
    receivers: Mapping[str, Any] | None = None,
    reverse: Mapping[str, Any] | None = None,
    reverse_queue: QueueLike | None = None,
    name: str = "dumbbell",
) -> Network:
    """`pairs` senders and receivers on either side of one bottleneck, with `queue` in front of it.

    A queue is one of `earlydrop.aqm`, or a text: `"pie"`, `"red limit=120p min_th=20"`. `access` is the link of every
    host; `senders` and `receivers` give the two sides apart. `reverse` is the bottleneck's other direction, where it
    differs, and `reverse_queue` its queue; without one there is room for everything. Other networks:
    `earlydrop.networks`.
    """
    sides = {"access": access, "senders": senders, "receivers": receivers, "reverse": reverse}
    topology = {
        "kind": "dumbbell",
        "pairs": pairs,
        **{k: dict(v) for k, v in sides.items() if v is not None},
        "bottleneck": dict(bottleneck),
    }
    queues = {"bottleneck": queue} | ({} if reverse_queue is None else {"reverse": reverse_queue})
    return Network(topology, queues, name)
