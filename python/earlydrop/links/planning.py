"""The plan of an emulated link: from options, or from a scenario."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from ..document import discipline
from ..errors import FAILED, WRONG_INPUT, EarlydropError
from ..own_aqms.declare import PolicyError

if TYPE_CHECKING:
    from ..aqm import Queue

UNLIMITED = "1 Tbit/s"
"""What "unlimited" stands for: a packet of 1500 B takes 12 ns."""

SERIES = 0.1
"""Interval at which queues are sampled, s."""

MTU = (576, 65_535)
"""Smallest and largest MTU, B."""

MTU_IPV6 = 1280
"""Smallest MTU with which a link has IPv6 addresses, B (RFC 8200, section 5)."""

NO_QUEUE = "unlimited buffer"
"""The name of the discipline of a direction without a queue."""

ROOM = 1_000_000
"""Limit of the queue that stands for an unlimited buffer, packets."""

SEGMENT = 65_000
"""Largest segment of a scenario, B."""

DEVICE = "default"
"""What stands for the discipline that the device of a link's model has."""

Spec = "str | Mapping[str, Any] | Queue"


class LinkError(EarlydropError):
    """A link cannot be set up or has failed. The message says why."""

    exit_code = FAILED


class OptionError(LinkError):
    """An option is wrong: which, what was given, what is allowed."""

    exit_code = WRONG_INPUT


@dataclass(frozen=True)
class Way:
    """One direction of a link."""

    name: str
    """Name of the direction's queue in results."""
    aqm: str
    words: Mapping[str, str]
    """What the options say of it, by their names: rate, delay, queue and what else happens to packets."""
    ecn: bool = False


@dataclass(frozen=True)
class Plan:
    """A link to emulate: a checked scenario, and the queue whose link it is."""

    scenario: _core.Scenario
    queue: str
    """Queue, or name of the direction, that what the command sends passes."""
    delays: tuple[float, float]
    """Propagation delay, forward and reverse, s."""
    seed: int
    mtu: int = 1500
    sysctls: tuple[tuple[str, str], ...] = ()
    """Sysctls of the namespace behind the link, such as `("net.ipv4.tcp_ecn", "1")`."""
    nat: bool = False
    """Let commands behind the link reach what this machine reaches."""
    real_time: bool | None = None
    """Give the loop real-time priority (SCHED_FIFO); None: where it is allowed."""
    series: float | None = SERIES
    record: int = 0
    """Arrivals of each direction to record with their outcomes."""

    def __post_init__(self) -> None:
        if not MTU[0] <= self.mtu <= MTU[1]:
            raise OptionError(f"--mtu: given {self.mtu}; allowed {MTU[0]} to {MTU[1]} B")

    texts: tuple[str | None, str | None] = (None, None)
    """The queues as the user has written them."""

    def ways(self) -> tuple[Way, Way]:
        """What the command sends takes the first direction, what it receives the second."""
        network = json.loads(self.scenario.network())
        queues = json.loads(self.scenario.to_json()).get("queue", {})
        directions = [(one, one["reverse"]) for one in network["link"] if one["reverse"]]
        directions += [(back, one) for one, back in directions]
        at, place = network["queue"], self.queue
        if place not in at and place in at.values():
            place = next(link for link, queue in at.items() if queue == place)
        both = next(pair for pair in directions if pair[0]["name"] == place)
        found = []
        for direction, delay, text in zip(both, self.delays, self.texts, strict=True):
            queue = at.get(direction["name"])
            alone = queue is not None and list(at.values()).count(queue) == 1
            name = queue if queue is not None and alone else direction["name"]
            asked = discipline(queues[queue]) if queue is not None else {"aqm": NO_QUEUE}
            words = dict(self.scenario.link_words(direction["name"]) or [])
            # Of a path through several links.
            words["delay"] = " ".join(_core.words(json.dumps(f"{delay:.12g} s")))
            if queue is None:
                words["queue"] = f"droptail limit={ROOM}p"
            else:
                words["queue"] = text or queue_text(queues[queue], direction)
            found.append(Way(name, asked["aqm"], words, bool(asked.get("ecn"))))
        return found[0], found[1]

    def options(self) -> list[str]:
        """The options of `earlydrop link` that make this link, of both directions."""
        there, back = (way.words for way in self.ways())
        found = []
        for key in (*option_keys(), "queue"):
            # Without an option of its own, the other direction is alike.
            for prefix, words, otherwise in (("--", there, "none"), ("--reverse-", back, there.get(key, "none"))):
                value = words.get(key, "none")
                found += [f"{prefix}{key}", value] if value != otherwise else []
        if self.seed != 1:
            found += ["--seed", str(self.seed)]
        return found

    def remarks(self) -> list[str]:
        """What the user may not expect of the queues."""
        ways = [way for way in self.ways() if way.aqm == "dualpi2" and not way.ecn]
        return ["dualpi2 without ecn=true drops L4S packets instead of marking them"] if ways else []


def option_keys() -> list[str]:
    """The options that say something of a link but its queue, without their dashes."""
    return ["rate", "delay", *_core.link_effects()]


def queue_text(table: Mapping[str, Any], link: Mapping[str, Any]) -> str:
    """The text that stands for a queue of a completed scenario in front of `link`, without what is so by default."""
    if "parent" in table:
        settings = {key: value for key, value in table.items() if key != "parent"}
        return shlex.join([f"parent={table['parent']}", *_core.words(json.dumps(settings))])
    way = {key: link[key] for key in ("rate", "delay", "model") if link.get(key) is not None}
    document = {
        "name": "queue",
        "duration": "1 s",
        "topology": {"kind": "dumbbell", "pairs": 1, "access": way, "bottleneck": way},
        "queue": {"bottleneck": {"aqm": table["aqm"]}},
        "traffic": [{"kind": "ftp", "segment": 1}],
    }
    try:
        default = json.loads(_core.Scenario.parse(document, []).to_json())["queue"]["bottleneck"]
    except _core.ScenarioError:
        # It needs a parameter.
        default = {}
    own = {key: value for key, value in table.items() if key != "aqm" and default.get(key) != value}
    return shlex.join([table["aqm"], *_core.words(json.dumps(own))])


def queue_settings(spec: str | Mapping[str, Any] | Queue, prefix: str) -> list[tuple[str, str]]:
    """A queue's text such as `red limit=120p min_th=20`, its table or its class, as settings below `prefix`.

    Code that a text names is loaded.

    Raises:
        OptionError: the text names no discipline, or has another form.
    """
    from ..aqm import Queue

    if isinstance(spec, Queue):
        spec = spec.document()
    if isinstance(spec, Mapping):
        return [(f"{prefix}.{key}", v if isinstance(v, str) else json.dumps(v)) for key, v in spec.items()]
    from ..discipline_names import DisciplineError, find, parse, words

    try:
        name, settings = words(spec)
        if name == DEVICE:
            return [(f"{prefix}.aqm", name), *((f"{prefix}.{key}", value) for key, value in settings)]
        if name in {one["name"] for one in json.loads(_core.parents())["parents"]}:
            # The code of a child is loaded, and its name is as the catalogue has it.
            settings = [(key, find(value)["name"] if key == "child.aqm" else value) for key, value in settings]
            return [(f"{prefix}.parent", name), *((f"{prefix}.{key}", value) for key, value in settings)]
        asked = parse(spec)
    except (DisciplineError, PolicyError) as error:
        raise OptionError(str(error)) from error
    return [(f"{prefix}.aqm", asked.name), *((f"{prefix}.{key}", value) for key, value in asked.settings)]


def _as_option(error: _core.ScenarioError, given: Mapping[str, Any]) -> OptionError:
    """The checker's message with the option in place of the field: that of both directions, where the other has none of
    its own."""
    path = error.path or ""
    places = [("seed", "--seed")]
    for place, name, prefix in (("bottleneck", "bottleneck", ""), ("reverse", "reverse", "reverse_")):
        for key in (*option_keys(), "queue"):
            option = f"{prefix}{key}" if f"{prefix}{key}" in given else key
            at = f"queue.{name}" if key == "queue" else f"topology.{place}.{key}"
            places.append((at, f"--{option.replace('_', '-')}"))
    for field_path, option in places:
        if path == field_path or path.startswith(field_path + "."):
            rest = path[len(field_path) + 1 :]
            where = f"{option}: {rest}" if rest else option
            break
    else:
        return OptionError(str(error))
    hint = f"\n  given {error.given}" if error.given else ""
    if error.allowed:
        hint += f"{';' if hint else chr(10) + ' '} allowed {error.allowed}"
    return OptionError(f"{where}: {error.message}{hint}")


def _own_rate(model: Any) -> bool:
    """Whether a model, as an option or a table has it, has a rate of its own."""
    if not isinstance(model, str):
        model = model.get("name", "file=") if isinstance(model, Mapping) else ""
    name = model.split(" ")[0].partition("=")[0]
    with_rate = [one["name"] for one in json.loads(_core.link_models()) if one["rate"]]
    return name in (*with_rate, "process", "file")


def _complete_models(given: dict[str, Any]) -> None:
    """Gives each direction its model: what is sent goes up, what comes goes down, unless the options say otherwise."""
    model = given.get("model", "none")
    if model != "none":
        try:
            there, back = _core.model_ways(model if isinstance(model, str) else json.dumps(model))
        except _core.ScenarioError:
            # The scenario's checker names the option.
            return
        given["model"] = there
        # A rate given for the other direction takes the place of a model's.
        taken = "reverse_rate" in given and _own_rate(back)
        given.setdefault("reverse_model", "none" if taken else back)
    if given.get("reverse_rate", "none") == "none" and _own_rate(given.get("reverse_model", "none")):
        given["reverse_rate"] = None


def plan(
    rate: str | Mapping[str, Any] | None = None,
    delay: str = "0 ms",
    *,
    queue: str | Mapping[str, Any] | Queue = "droptail",
    reverse_queue: str | Mapping[str, Any] | Queue | None = None,
    seed: int = 1,
    **settings: Any,
) -> Plan:
    """A link from its parts, through the checker of scenarios.

    What is given holds in both directions, each with a queue of its own; with `reverse_` in front of its name it is of
    the direction that the command receives. `settings` are what happens to packets on the link, by its keys in a
    scenario (`loss`, `jitter` and others), these and `rate` and `delay` with `reverse_`, and other fields of `Plan`.
    A text is read as the command's options are. A `model` without a direction is the upstream of what is sent.

    Raises:
        OptionError: which option is wrong, what was given, what is allowed.
    """
    # Within what a scenario may have; a wrong MTU is refused below.
    segment = min(max(settings.get("mtu", 1500) - 40, 1), SEGMENT)
    given: dict[str, Any] = {"delay": delay} if rate is None else {"rate": rate, "delay": delay}
    for key in option_keys():
        for name in (key, f"reverse_{key}"):
            value = settings.pop(name, None)
            if value is not None:
                given[name] = value
    if rate is None and given.get("model", "none") == "none":
        raise OptionError("--rate: is missing; allowed a rate such as 20Mbit/s, trace=FILE, or unlimited, or --model")
    _complete_models(given)
    host = {"rate": UNLIMITED, "delay": "0 s"}
    sets: list[tuple[str, str]] = []
    ways: dict[str, dict[str, Any]] = {"bottleneck": {}, "reverse": {}}
    for key in option_keys():
        for place, value in (("bottleneck", given.get(key)), ("reverse", given.get(f"reverse_{key}", given.get(key)))):
            if isinstance(value, str):
                sets.append((f"topology.{place}.{key}", UNLIMITED if (key, value) == ("rate", "unlimited") else value))
            elif value is not None:
                ways[place][key] = value
    document = {
        "name": "link",
        "duration": "1 s",
        "topology": {"kind": "dumbbell", "pairs": 1, "access": host, **ways},
        # The scenario checker requires traffic, and queues that can hold its largest packet.
        "traffic": [{"kind": "ftp", "segment": segment}],
    }
    queues: dict[str, Any] = {}
    if reverse_queue is not None:
        given["reverse_queue"] = reverse_queue
    specs = (queue, queue if reverse_queue is None else reverse_queue)
    for spec, name, option in zip(specs, ("bottleneck", "reverse"), ("--queue", "--reverse-queue"), strict=True):
        try:
            (kind, aqm), *settings_of_queue = queue_settings(spec, f"queue.{name}")
        except OptionError as error:
            raise OptionError(f"{option}: {error}") from None
        # The name is not in `sets`: of a discipline there the checker drops unknown parameters; here it refuses them.
        queues[name] = {kind.rpartition(".")[2]: aqm}
        sets += settings_of_queue
    try:
        checked = _core.Scenario.parse({**document, "queue": queues, "seed": seed}, sets)
    except _core.ScenarioError as error:
        raise _as_option(error, given) from None
    _compiled(checked, "--queue")
    delays = _delays(json.loads(checked.network()), "bottleneck")
    texts = tuple(spec if isinstance(spec, str) else None for spec in specs)
    return Plan(checked.over_ip(), "bottleneck", delays, seed, texts=(texts[0], texts[1]), **settings)


def from_scenario(scenario: _core.Scenario, at: str | None = None, seed: int | None = None, **settings: Any) -> Plan:
    """The link of a scenario that has the queue `at` (default: `bottleneck`, or the only queue).

    What the command sends passes that queue: by default the command is where the scenario's senders are. With the name
    of the other direction, in a dumbbell `reverse`, it is where the receivers are.

    Delays are those of a whole path through that link, where all paths are alike: of a dumbbell, the bottleneck's and
    the mean of the access links'. For other networks it is the link's own delay.

    Raises:
        OptionError: there is no such queue.
    """
    _compiled(scenario, "--sim")
    network = json.loads(scenario.network())
    names = list(dict.fromkeys(network["queue"].values()))
    places = list(network["queue"])
    # A queue at a single link is named by itself, others by their links.
    known = [name if names.count(name) == 1 else place for place, name in network["queue"].items()]
    # Add the other directions of the links, where there is room for everything.
    pairs = [(one["name"], one["reverse"]["name"]) for one in network["link"] if one["reverse"]]
    others = [b if a in places else a for a, b in pairs if (a in places) != (b in places)]
    if at is None:
        at = "bottleneck" if "bottleneck" in known else known[0] if len(known) == 1 else None
    if at is None or at not in [*known, *others]:
        raise OptionError(f"--at: given {at or 'nothing'}; allowed {', '.join([*known, *others])}")
    link = places[known.index(at)] if at in known else at
    # Packets pass TUN devices, which have no link layer.
    return Plan(scenario.over_ip(), at, _delays(network, link), scenario.seed if seed is None else seed, **settings)


def _compiled(scenario: _core.Scenario, option: str) -> None:
    """Refuse disciplines in plain Python: the interpreter would be late for packets."""
    aqms = json.loads(scenario.to_json()).get("aqms", {})
    if not aqms:
        return
    from ..own_aqms import registry

    for name, entry in aqms.items():
        known = registry.find(name, entry["digest"])
        if known is not None and known.policy is not None and not known.policy.jit:
            raise OptionError(
                f"{option}: given {name}, a policy in plain Python; allowed compiled ones: jit=True, or C"
            )


def seconds(delay: Any) -> float:
    """A time of a completed scenario, s; the mean of a random one."""
    if isinstance(delay, str):
        number, _, unit = delay.partition(" ")
        return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    if isinstance(delay, Mapping):
        return statistics.fmean(seconds(end) for end in delay["uniform"])
    if isinstance(delay, list):
        return statistics.fmean(seconds(one) for one in delay)
    return float(delay)


def _delays(network: Mapping[str, Any], link: str) -> tuple[float, float]:
    """Delay, forward and reverse, over the link of that name, including the access links of a dumbbell."""
    for one in network["link"]:
        there, back = one, one["reverse"] or one
        turned = bool(one["reverse"]) and one["reverse"]["name"] == link
        if one["name"] != link and not turned:
            continue
        delays = [seconds(there["delay"]), seconds(back["delay"])]
        ends = (one["from"], one["to"])
        others = [other for other in network["link"] if other is not one]
        # Two routers with hosts on both sides, and nothing else.
        if all((other["from"] in ends) != (other["to"] in ends) for other in others):
            for end in ends:
                mine = [other for other in others if end in (other["from"], other["to"])]
                if mine:
                    ways = [(o, o["reverse"] or o) for o in mine]
                    delays[0] += statistics.fmean(seconds(w[0]["delay"]) for w in ways)
                    delays[1] += statistics.fmean(seconds(w[1]["delay"]) for w in ways)
        return (delays[1], delays[0]) if turned else (delays[0], delays[1])
    raise OptionError(f"--at: the network has no link {link}")
