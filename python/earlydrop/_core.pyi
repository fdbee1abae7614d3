"""The engine, compiled from crates/python. Documents pass as JSON text."""

from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Literal, final

def version() -> str:
    """Version of the engine."""

def build() -> str:
    """Digest of the engine's sources: sixteen hexadecimal digits, other ones for other code."""

def catalogue() -> str:
    """JSON list of the disciplines: name, title, family, year, summary, source, doc, parameters."""

def folded() -> str:
    """JSON list of the schemes that are a setting of a discipline: name, title, year, summary, of, values, setting."""

def markers() -> str:
    """JSON of the traffic conditioners: `markers` (name, title, year, summary, source, parameters) and `doc`."""

def parents() -> str:
    """JSON of the shapers that have a discipline as their child: `parents` and `doc`, as `markers`."""

def stacks() -> str:
    """JSON of the TCP stacks and their options: `stacks` (name, about, tcps, rows, values) and `options`."""

def template(name: str, topology: str = "dumbbell") -> str:
    """A commented scenario called `name`, with a topology of this kind, as TOML."""

def schema() -> str:
    """JSON schema of a scenario."""

def quantity(text: str) -> tuple[float, str, float, str] | None:
    """Number, unit, the unit's factor and the base unit of a text such as "4 ms"; None for another text."""

def queue_words(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The discipline of a text such as `red limit=120p`, and its settings as `--set` takes them.

    Raises:
        ScenarioError: the text has another form, or gives a setting twice.
    """

def result_fields() -> str:
    """JSON of every field of result documents: its part, name, unit, kind of measure and meaning (about)."""

def link_effects() -> list[str]:
    """Keys for what happens to packets on a link, besides rate and delay."""

def link_options() -> list[tuple[str, str]]:
    """What a command's options say of a link: key and meaning of each."""

def link_models() -> str:
    """The models of links, as JSON."""

def model_series(model: str, seed: int = 1, seconds: float = 60.0, link: str = "bottleneck") -> dict[str, Any]:
    """Rate and extra delay of a model, from its text or its table as JSON, in each of their steps: `rate_step`, `rate`
    (bit/s), `delay_step`, `delay` (s)."""

def model_ways(model: str) -> tuple[str, str]:
    """The models of both directions of a link, from a text or a table as JSON: what its user sends, and receives."""

def words(value_json: str) -> list[str]:
    """The words of a value of a document in one line: `5ms`, or the settings `KEY=VALUE` of a table."""

def reference() -> str:
    """JSON of the kinds of `topologies` and of `traffic` (name, title, about, keys), and the keys of other tables."""

def vectors(name: str) -> str | None:
    """Decision vectors of a discipline, parent or marker, as JSON lines; None if there is none of that name."""

def vector_names() -> list[str]:
    """What has decision vectors."""

def drop_curve(aqm: str, parameters_json: str, averages: Sequence[float]) -> list[float] | None:
    """p_b at each average queue in packets; None for a discipline that has no drop curve."""

def exp(x: float, /) -> float:
    """e to the power x: the same bits on every machine."""

def log(x: float, /) -> float:
    """Natural logarithm of x: the same bits on every machine."""

def log1p(x: float, /) -> float:
    """Natural logarithm of 1 + x: the same bits on every machine."""

def pow(x: float, y: float, /) -> float:
    """x to the power y: the same bits on every machine."""

def maths_at() -> dict[str, int]:
    """Addresses of the functions above, for compiled code."""

class ScenarioError(ValueError):
    """A scenario is wrong: which file, which field, what was given, what is allowed."""

    file: str | None
    path: str | None
    given: str | None
    allowed: str | None
    message: str | None

@final
class Aqm:
    """A discipline that the catalogue does not have."""

    @staticmethod
    def load(path: str) -> Aqm:
        """The discipline in a shared library."""

    @staticmethod
    def at(
        address: int,
        check: Callable[[list[float]], tuple[str | None, str] | None] | None = None,
        plain: Callable[[list[float], Any, Any], Any] | None = None,
        curve: Callable[[list[float], float], float] | None = None,
    ) -> Aqm:
        """The discipline that the `ed_aqm` at `address` describes; `plain` makes instances whose methods are called."""

    @staticmethod
    def agent() -> Aqm:
        """The discipline whose drop probability a simulation sets as it goes."""

    @property
    def name(self) -> str:
        """Its name."""

    def entry(self) -> str:
        """Its declaration, as an entry of the catalogue, as JSON."""

    def complaint(self) -> str | None:
        """What its own check says of the defaults on the link of `conformance`; None if they fit."""

    def conformance(self, packets: int) -> list[tuple[str, str, str | None, float | None]]:
        """Properties: name, meaning, what failed or None, ns a packet or None."""

    def curve(self, averages: Sequence[float], rate_bps: float, delay_s: float) -> list[float] | None:
        """p_b at each averaged queue, packets; None if it has no drop curve."""

    def vectors(self) -> str:
        """Its decision vectors, as JSON lines."""

_Columns = list[tuple[str, Literal["whole", "real", "text"], bytes, bytes | None, bytes, list[str] | None]]

@final
class Outcome:
    """What a run gave. Its documents are made when they are asked for; other threads may run meanwhile."""

    def text(self, without: Sequence[str] = ()) -> str:
        """The result document as JSON, without these fields."""

    def summary(self) -> str:
        """The same with a summary of the flows, whatever the scenario records of them."""

    def flows(self) -> _Columns:
        """The flows, packed into columns as those of `run_batch`, each the list of one run."""

    def capture(self, file: IO[bytes]) -> tuple[int, int]:
        """Write a packet capture of the queues traced with headers; events that were kept of them, and of all.

        Raises:
            ValueError: they cannot be in one capture. Nothing was written.
        """

@final
class Scenario:
    """A checked scenario."""

    @staticmethod
    def load(path: str, sets: Sequence[tuple[str, str]]) -> Scenario:
        """Read and check a file; `sets` are dotted paths and values laid over it."""

    @staticmethod
    def parse(document: Mapping[str, Any], sets: Sequence[tuple[str, str]], strict: bool = False) -> Scenario:
        """Check a document; `sets` are dotted paths and values laid over it.

        Parameters that a discipline that is set does not have are left out; if `strict`, refused where they are set.
        """

    @property
    def name(self) -> str:
        """The scenario's name."""

    @property
    def seed(self) -> int:
        """Its seed."""

    def to_json(self) -> str:
        """The checked and completed document."""

    def stacks(self) -> str:
        """JSON list: for each traffic entry with a TCP `traffic` (its number), `tcp`, `stack`, `rules` beside it."""

    def warnings(self) -> list[str]:
        """What it says and its author may not have meant, a sentence each."""

    def passing(
        self, queue: str, seed: int | None = None
    ) -> tuple[tuple[int, int], list[tuple[int, int, bool]]] | None:
        """What passes a queue: the nodes that its link goes from and to (by position), and for each flow its sender,
        its receiver, and whether it is the ACKs that pass. None if there is no such queue.
        """

    def over_ip(self) -> Scenario:
        """The same over links without a link layer, as those between TUN devices are."""

    def link_words(self, name: str) -> list[tuple[str, str]] | None:
        """What options would say of the direction of a link of this name: key and value of each; None without one."""

    def network(self) -> str:
        """The network in full as JSON: `node`, `link`, and under `queue` the names of queues by those of links."""

    def run(
        self,
        seed: int | None = None,
        links: Literal["auto", "stepped"] = "auto",
        events: Literal["lanes", "heap"] = "lanes",
    ) -> str:
        """Run and return the result document. Other threads may run meanwhile."""

    def outcome(self, seed: int | None = None) -> Outcome:
        """Run and return what it gave. Other threads may run meanwhile."""

@final
class Simulation:
    """A run in steps. Once it has finished, or its discipline broke, every call raises a RuntimeError."""

    def __init__(self, scenario: Scenario, seed: int | None = None) -> None: ...
    @property
    def now(self) -> float:
        """The time up to which it has run, s."""

    @property
    def duration(self) -> float:
        """When it ends, s."""

    def queues(self) -> list[str]:
        """Names of the queues."""

    def run_until(self, time: float | str) -> None:
        """Run every event before a time."""

    def step(self, interval: float | str) -> None:
        """Run for so long."""

    def queue(self, name: str) -> dict[str, Any]:
        """A queue now: the fields of `earlydrop.simulation.QueueState`."""

    def flow(self, number: int) -> dict[str, Any]:
        """A flow now, from 1: the fields of `earlydrop.simulation.FlowState`."""

    def set(self, queue: str, parameter: str, value: Any) -> None:
        """Set a parameter of a queue's discipline."""

    def finish(self) -> str:
        """Run to the end; the result document as JSON."""

@final
class PathNetwork:
    """A network in simulated time. Hosts are numbers; once it has finished, every call raises a ValueError."""

    @staticmethod
    def duplex(
        rate: str,
        delay: str,
        queue: str | None,
        queue_down: str | None,
        rate_down: str | None,
        ecn: bool,
        jitter: str | None,
        loss: float | None,
        duration: str | None,
        warmup: str | None,
        series: str | None,
        seed: int,
        overhead: int,
        capture: str | None,
    ) -> PathNetwork:
        """Two hosts with one link: 0, the client, and 1, the server."""

    @staticmethod
    def of(scenario: Scenario, seed: int | None, overhead: int, capture: str | None) -> PathNetwork:
        """The network of a scenario."""

    def attach(self, host: str, peer: str) -> tuple[int, int]:
        """Attach two hosts to each other; the numbers of both ends."""

    def send(self, host: int, payload: bytes, field: int) -> None:
        """A host sends a datagram."""

    def next_event(self) -> float | None:
        """The time of the next event, s."""

    @property
    def now(self) -> float:
        """The present time, s."""

    def advance_to(self, time: float) -> None:
        """Run up to and at a time, s."""

    def poll(self, host: int) -> tuple[float, float, int, int, bytes] | None:
        """The next datagram that has arrived: arrival, time sent, number, ECN field, payload."""

    def run(self, endpoints: Sequence[tuple[int, object]], until: float) -> Literal["done", "until", "idle"]:
        """Run endpoints at hosts."""

    def digest(self) -> int:
        """A digest of what became of each datagram."""

    def restart_digest(self) -> None:
        """The digest starts anew."""

    def finish(self) -> tuple[str, str]:
        """End the network: the result document and the scenario, as JSON."""

def seconds(time: float | str) -> float:
    """A length of time in s: a number, or a text such as "15 ms"."""

def run_batch(
    jobs: Sequence[tuple[Scenario, int]],
) -> tuple[
    _Columns,
    bytes,
    list[tuple[int, str]],
]:
    """Make many runs, one after the other, and pack their results into columns. Other threads may run meanwhile.

    Each column is the path of its field, its kind, the runs that have it (uint32 positions), for a list how many
    values each of them has (uint32), the values (int64 or float64; of texts the positions in the list that follows),
    the texts. The least int64 and NaN stand for no value. Then what each run took, in s (float64), and the runs that
    failed, by position, with the reason; a panic is one.
    """

def has_tun() -> bool:
    """Whether TUN devices can be opened. Linux only, as all that follows."""

def forwards_ipv6() -> bool:
    """Whether this machine forwards IPv6."""

def sweep_links() -> int:
    """Switches off the forwarding that killed links have left on; the number of devices."""

def replay_link(
    scenario: Scenario,
    queue: str,
    seed: int,
    reverse: bool,
    until: float,
    columns: dict[str, bytes],
    delay_s: float | None = None,
    changes: Sequence[tuple[float, str]] = (),
) -> dict[str, bytes]:
    """What becomes of recorded arrivals at the simulator's port; all columns are little-endian numbers."""

@final
class Child:
    """A command behind a link."""

    @property
    def pid(self) -> int:
        """Its process number."""

    def wait(self, timeout: float) -> int | None:
        """Its exit code or minus the signal that ended it; None if it goes on after `timeout` seconds."""

@final
class Link:
    """A real link at work."""

    @staticmethod
    def open(
        scenario: Scenario,
        queue: str,
        seed: int,
        delays: tuple[float, float],
        mtu: int,
        ring: int,
        sysctls: Sequence[tuple[str, str]],
        nat: bool,
        resolv_conf: str | None,
        real_time: bool | None,
        series: float | None,
        record: int,
        ends: tuple[str, str] | None = None,
    ) -> Link:
        """Sets it up and starts it."""

    def addresses(self) -> tuple[list[str], list[str]] | None:
        """Addresses in front of it and behind it, IPv4 and IPv6."""

    def namespace(self) -> int | None:
        """Number of the namespace behind it."""

    def device(self) -> str | None:
        """Name of the device in front of it."""

    def time(self) -> float:
        """Seconds since it began."""

    def real_time(self) -> bool:
        """Whether it has real-time priority."""

    def is_alive(self) -> bool:
        """Whether it carries packets."""

    def spawn(
        self,
        argv: Sequence[str],
        env: Sequence[tuple[str, str]] | None = None,
        cwd: str | None = None,
        files: tuple[int | None, int | None, int | None] = (None, None, None),
        user: tuple[int, int, Sequence[int]] | None = None,
    ) -> Child:
        """Starts a command behind it."""

    def change(self, line: str) -> float:
        """Changes rate, delay or parameters as a line says; returns when, s.

        Raises:
            ScenarioError: the line says what cannot be. Nothing has changed then.
        """

    def shown(self) -> str:
        """Rate, delay and the parameters that can change of both directions, as JSON."""

    def view(self) -> str | None:
        """How the queues look, as JSON."""

    def restart(self) -> None:
        """Begins to measure anew."""

    def stop(self, patience: float) -> tuple[str, dict[str, dict[str, bytes]]]:
        """Ends it: the result document, and the recorded arrivals by queue."""
