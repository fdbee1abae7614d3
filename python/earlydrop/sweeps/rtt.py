"""The factor `path = "rtt"`: round-trip propagation delays. Every level has the whole network, with scaled delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import earlydrop._core as _core
from ..analysis import round_trips
from ..analysis.paired import measured_queue
from ..document import Document
from ..errors import CompareError
from ..toml_writer import toml_value
from .model import Factor, Level, SweepError

PATH = "rtt"
NETWORK = ("topology", "node", "link")


def with_round_trips(factors: Sequence[Factor], base: Document, queue: str) -> list[Factor]:
    """The factors; the levels of one whose path is `rtt` set the delays of the scenario `base`.

    Its values are the mean round-trip propagation delay of the TCP flows that pass `queue`.

    Raises:
        SweepError: a value is no time, there is no delay to scale, or an earlier factor changes the network too.
        ScenarioError: the scenario is wrong.
    """
    made = []
    for number, factor in enumerate(factors):
        if PATH not in factor.paths:
            made.append(factor)
            continue
        place = f"factor {factor.name}"
        if factor.paths != (PATH,) or factor.ranged or factor.form != "{}":
            raise SweepError(
                f'{place}: given with a range or further paths; allowed path = "rtt" and values with a unit'
            )
        earlier = [path for one in factors[:number] for path in _paths(one) if path.split(".")[0] in NETWORK]
        if earlier:
            raise SweepError(f"{place}: stands behind {earlier[0]}, whose values it would replace; put it first")
        made.append(_with_levels(factor, base, queue, place))
    return made


def _with_levels(factor: Factor, base: Document, queue: str, place: str) -> Factor:
    try:
        wanted = [round_trips.seconds(level.name, place) for level in factor.levels]
        now = round_trips.propagation(base, measured_queue(_core.Scenario.parse(base, []), queue))
    except CompareError as error:
        raise SweepError(str(error)) from None
    levels = []
    for level, seconds in zip(factor.levels, wanted, strict=True):
        network = round_trips.scaled(base, seconds / now)
        sets = tuple((key, toml_value(network[key])) for key in NETWORK if key in network)
        levels.append(Level(level.name, level.value, sets, scaled=f"all delays scaled to a round trip of {level.name}"))
    title = "Round-trip propagation delay" if factor.title == factor.name else factor.title
    return replace(factor, title=title, levels=tuple(levels), paths=())


def _paths(factor: Factor) -> list[str]:
    return [*factor.paths, *(path for level in factor.levels for path, _ in level.sets)]
