"""Propagation delays of a scenario, scaled so that its paths have a given round-trip time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..document import Document, effects, lookup
from ..errors import CompareError

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) ?(s|ms|us)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def seconds(given: object, where: str = "rtt") -> float:
    """A round-trip time such as `"20 ms"`, in seconds.

    Raises:
        CompareError: the text is no time, or not above 0.
    """
    found = _TIME.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None or float(found[1]) <= 0:
        raise CompareError(f'{where}: given {given!r}; allowed a time above 0 with its unit, such as "20 ms"')
    return float(found[1]) * _UNITS[found[2]]


def propagation(document: Mapping[str, Any], queue: str) -> float:
    """The round-trip propagation delay, s: the mean over the TCP flows that pass `queue` (its name in results).

    Raises:
        CompareError: no such flow has a propagation delay.
    """
    # The engine reports base RTTs with a packet's transmission times in them, which stay when delays double.
    once, twice = (_base_rtt(scaled(document, factor), queue) for factor in (1.0, 2.0))
    found = 0.0 if once is None or twice is None else round(twice - once, 12)
    if found <= 0:
        raise CompareError(
            f"rtt: no TCP flow passes the queue {queue} over links with a propagation delay, so there is none to set"
        )
    return found


def base(document: Mapping[str, Any], queue: str, sets: Sequence[tuple[str, str]] = ()) -> float | None:
    """The round-trip time without queues, s: the mean over the TCP flows that pass `queue`; None if it is not known."""
    import earlydrop._core as _core

    normal = json.loads(_core.Scenario.parse(document, list(sets)).to_json())
    if not any("tcp" in entry for entry in normal["traffic"]):
        return None
    try:
        return _base_rtt(normal, queue)
    except _core.ScenarioError:
        # With very many flows the engine does not measure it.
        return None


def _base_rtt(document: Mapping[str, Any], queue: str) -> float | None:
    import earlydrop._core as _core

    moment = {k: v for k, v in document.items() if k != "record"}
    scenario = _core.Scenario.parse({**moment, "duration": "1 ms", "warmup": "0 s", "record": {"losses": True}}, [])
    found = lookup(json.loads(scenario.run()), f"queues.{queue}.loss_rtt_ms")
    return None if found is None else float(found) / 1e3


def with_rtt(document: Mapping[str, Any], queue: str, rtt: str) -> Document:
    """The scenario with all propagation delays scaled by one factor, so that `propagation` is `rtt`.

    Raises:
        CompareError: `rtt` is no time, or the scenario has no propagation delay.
    """
    return scaled(document, seconds(rtt) / propagation(document, queue))


def scaled(document: Mapping[str, Any], factor: float) -> Document:
    """The scenario with every propagation delay times `factor`, also those that its topology has by default."""
    import earlydrop._core as _core

    normal = json.loads(_core.Scenario.parse(document, []).to_json())
    network = {key: normal[key] for key in ("topology", "node", "link") if key in normal}
    return {**document, **_scaled(network, factor)}


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_scaled(one, factor) for one in value]
    if not isinstance(value, dict):
        return value
    # A delay in a link's effects on single packets, such as an overtaken packet's, is no part of the path's.
    kept = effects(value)
    rest = {k: _delay(v, factor) if k == "delay" else _scaled(v, factor) for k, v in value.items() if k not in kept}
    return {k: kept.get(k, rest.get(k)) for k in value}


def _delay(value: Any, factor: float) -> Any:
    """A delay of a checked scenario: a time, a list of times, or an interval."""
    if isinstance(value, str):
        return f"{seconds_of(value) * factor:.12g} s"
    if isinstance(value, list):
        return [_delay(one, factor) for one in value]
    return {k: _delay(one, factor) for k, one in value.items()}


def seconds_of(text: str) -> float:
    """A time of a checked scenario, which is in seconds."""
    return float(text.removesuffix(" s"))
