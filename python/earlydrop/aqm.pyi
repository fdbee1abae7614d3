"""Queue disciplines as classes. Made from the catalogue by `python -m earlydrop.aqm`."""

from os import PathLike
from typing import Any, Literal

from .queue_settings import Queue as Queue

def class_name(entry: dict[str, Any]) -> str: ...
def entries() -> tuple[dict[str, Any], ...]: ...
def classes() -> dict[str, type[Queue]]: ...
def folded() -> tuple[dict[str, Any], ...]: ...
def call(one: dict[str, Any]) -> str: ...
def load(source: str | PathLike[str]) -> type[Queue]: ...
def stub() -> str: ...

class DropTail(Queue):
    """DropTail: Rejects arrivals when the queue is full, and only then."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        capacity_rule: Literal["n", "n_minus_1"] | None = None,
    ) -> None: ...

class DropFront(Queue):
    """Drop-front: When the queue is full, the packet at its head is dropped in favour of the arrival."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        capacity_rule: Literal["n", "n_minus_1"] | None = None,
    ) -> None: ...

class DropRandom(Queue):
    """Drop-random: When the queue is full, a packet of the queue drawn at random is dropped in favour of the arrival."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        capacity_rule: Literal["n", "n_minus_1"] | None = None,
        candidates: Literal["queue", "with_arrival"] | None = None,
    ) -> None: ...

class DdTailDrop(Queue):
    """DD tail drop: When the queue is full, the packet that has come the shortest way is dropped: the arrival, or one of the queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        scan: int | None = None,
        capacity_rule: Literal["n", "n_minus_1"] | None = None,
        method: int | None = None,
        tie: Literal["newest", "oldest"] | None = None,
        no_option: Literal["nearest", "farthest", "guess"] | None = None,
    ) -> None: ...

class Red(Queue):
    """RED: Random early detection: drop probability linear in the averaged queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        gentle: bool | None = None,
        tc: Literal["iproute2-6.15", "iproute2-6.14"] | None = None,
    ) -> None: ...

class GentleRed(Queue):
    """Gentle RED: RED whose drop probability rises to 1 at twice max_th instead of jumping at max_th."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
    ) -> None: ...

class Nlred(Queue):
    """NLRED: Nonlinear RED: drop probability quadratic in the averaged queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
    ) -> None: ...

class Tred(Queue):
    """TRED: Three-section RED: gentler than RED at light load, firmer at high load."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        reading: Literal["corrected", "printed"] | None = None,
    ) -> None: ...

class Dsred(Queue):
    """DSRED: Double-slope RED: two lines that meet half-way between the thresholds and end at 1."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        gamma: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        count_spacing: bool | None = None,
    ) -> None: ...

class Hred(Queue):
    """HRED: Hyperbola RED: drop probability flat below a reference queue and steep at it."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        epsilon: float | None = None,
    ) -> None: ...

class Mred(Queue):
    """MRED: Modified RED: no drop while the queue of the moment is short, more when it is long."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        upper: bool | None = None,
    ) -> None: ...

class SelfConfiguringRed(Queue):
    """Self-configuring RED: RED that divides or multiplies max_p when the average leaves the thresholds."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        bottom: float | None = None,
        top: float | None = None,
        gentle: bool | None = None,
        gentle_tracks_maxp: bool | Literal["auto"] | None = None,
    ) -> None: ...

class Ared(Queue):
    """ARED: Adaptive RED: max_p follows the average queue, thresholds and weight follow the link."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        interval: float | str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        top: float | None = None,
        bottom: float | Literal["auto"] | None = None,
        band_low: float | None = None,
        band_high: float | None = None,
        clamp: bool | None = None,
        target_delay: float | str | None = None,
        auto_w_q: Literal["one_second", "ten_rtts", "tenth_second"] | None = None,
        gentle: bool | None = None,
        gentle_tracks_maxp: bool | Literal["auto"] | None = None,
    ) -> None: ...

class LinuxAdaptiveRed(Queue):
    """Linux adaptive RED: RED as Linux has it, with max_p adapted every 0.5 s (tc's adaptive)."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        mean_packet: float | str | None = None,
        burst: float | Literal["auto"] | None = None,
        bandwidth: float | str | None = None,
        harddrop: bool | None = None,
        nodrop: bool | None = None,
        tc: Literal["iproute2-6.15", "iproute2-6.14"] | None = None,
    ) -> None: ...

class PdRed(Queue):
    """PD-RED: RED whose max_p a proportional-derivative controller moves to hold the average at a target."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        q_target: float | str | None = None,
        k_p: float | None = None,
        k_d: float | None = None,
        interval: float | str | None = None,
        bottom: float | None = None,
        top: float | None = None,
        gentle: bool | None = None,
        gentle_tracks_maxp: bool | Literal["auto"] | None = None,
    ) -> None: ...

class Fred(Queue):
    """FRED: Flow RED: drops by the number of packets that a flow has in the buffer."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | None = None,
        min_q: float | None = None,
        many_flows: bool | None = None,
        rtt: float | str | None = None,
        mean_packet: float | str | None = None,
        mark: bool | None = None,
    ) -> None: ...

class Sred(Queue):
    """SRED: Stabilized RED: drop probability from the buffer and an estimate of the number of flows."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        mode: Literal["full", "simple"] | None = None,
        zombies: int | None = None,
        overwrite: float | None = None,
        weight: float | Literal["auto"] | None = None,
        max_p: float | None = None,
        many_flows: float | None = None,
    ) -> None: ...

class CHOKe(Queue):
    """CHOKe: An arrival that meets its own flow in the queue is dropped together with the packet it met."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        mean_packet: float | str | None = None,
        dialect: Literal["paper", "linux"] | None = None,
        draws: int | None = None,
        regions: int | None = None,
        ecn_over_max: Literal["auto", "drop", "mark"] | None = None,
    ) -> None: ...

class LruRed(Queue):
    """LRU-RED: RED with a higher probability for flows that stay in a small cache of recent ones."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        gentle: bool | None = None,
        cache_size: int | None = None,
        insert_p: float | None = None,
        threshold: float | None = None,
        raising: Literal["factor", "count"] | None = None,
        factor: float | None = None,
        ageing: Literal["never", "halve"] | None = None,
        ageing_interval: float | str | None = None,
    ) -> None: ...

class RedPd(Queue):
    """RED-PD: RED with preferential dropping: flows that lose packets again and again are thinned out before RED."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        gentle: bool | None = None,
        target_rtt: float | str | None = None,
        regular: int | None = None,
        epochs: int | None = None,
        list_size: int | None = None,
        flows: int | None = None,
        drop_weight: float | None = None,
        min_drop_rate: float | None = None,
        most_at_first: float | None = None,
        release_at: float | None = None,
        most_decrease: float | None = None,
        change_interval: float | str | None = None,
        first_epoch: float | str | None = None,
        unresponsive_test: bool | None = None,
        noidle: bool | None = None,
        count_marks: bool | None = None,
    ) -> None: ...

class Sfb(Queue):
    """SFB: Stochastic Fair BLUE: a BLUE probability per bin of a Bloom filter finds unresponsive flows."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        levels: int | None = None,
        bins: int | None = None,
        bin_size: int | None = None,
        max: int | None = None,
        d1: float | None = None,
        d2: float | None = None,
        rehash: float | str | None = None,
        warmup: float | str | None = None,
        penalty_rate: float | None = None,
        penalty_burst: int | None = None,
        token_rule: Literal["linux", "exact"] | None = None,
        freeze: float | str | None = None,
    ) -> None: ...

class Aecn(Queue):
    """AECN: Adaptive ECN: flows grouped by round-trip time, a max_p for each group, marks at the front of the queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        rtt_low: float | str | None = None,
        rtt_high: float | str | None = None,
        interval: float | str | None = None,
        bottom: float | None = None,
        top: float | None = None,
        mark_from: Literal["front", "tail"] | None = None,
        no_hint: Literal["average", "robust", "fragile"] | None = None,
    ) -> None: ...

class Sfred(Queue):
    """SFRED: Scalable fair RED: a list of the most recently seen flows separates fast, unresponsive and slow ones."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        gentle: bool | None = None,
        list_size: int | None = None,
        fast_margin: float | None = None,
        loss_margin: float | None = None,
        slow_packets: float | None = None,
        slow_bonus: float | str | None = None,
        fair_rate: Literal["auto", "received", "accepted", "list"] | None = None,
        counts: Literal["packets", "bits"] | None = None,
        throughput: Literal["received", "accepted"] | None = None,
        active_flows: Literal["list", "hits"] | None = None,
        hit_weight: float | None = None,
        fast_test: Literal["relative", "share", "absolute"] | None = None,
        boost: Literal["linear", "squared", "one_plus"] | None = None,
        loss_test: Literal["relative", "absolute"] | None = None,
        average_loss: Literal["all", "list"] | None = None,
        slow_test: Literal["at_most", "below"] | None = None,
        slow_count: Literal["shared", "own"] | None = None,
        ageing: Literal["halve", "never"] | None = None,
        ageing_interval: float | str | None = None,
        release: Literal["each_arrival", "on_ageing", "on_eviction", "never"] | None = None,
        count_marks: bool | None = None,
    ) -> None: ...

class Ddred(Queue):
    """DDRED: Distance-dependent RED: the packet that has come the shortest way is dropped instead of the arrival."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        gentle: bool | None = None,
        forced_victim: Literal["nearest", "arrival"] | None = None,
        searched: Literal["with_arrival", "queue"] | None = None,
        method: int | None = None,
        tie: Literal["newest", "oldest"] | None = None,
        no_option: Literal["nearest", "farthest", "guess"] | None = None,
    ) -> None: ...

class FLoadAutoRED(Queue):
    """FLoadAutoRED: RED with a moving weight, a moving max_th, CHOKe's test, and a probability that the load of the link moves."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["paper", "ns2", "ns3"] | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        overflow_victim: Literal["tail", "front", "random"] | None = None,
        weight: Literal["traffic", "scaled", "plain", "constant"] | None = None,
        w_lo: float | None = None,
        w_hi: float | None = None,
        w_0: float | None = None,
        w_q: float | None = None,
        stage: Literal["load", "match", "two_levels", "auto"] | None = None,
        reading: Literal["intended", "literal"] | None = None,
        load: Literal["avq", "capacity", "yellow"] | None = None,
        accumulate: bool | None = None,
        gamma: float | None = None,
        rho: float | None = None,
        kappa: float | None = None,
        delta: float | None = None,
        delta_norm: bool | Literal["auto"] | None = None,
        stable_interval: float | None = None,
        estimator: Literal["slots", "exponential"] | None = None,
        slot: float | str | None = None,
        rate_weight: float | None = None,
        rate_window: float | str | None = None,
        measured: Literal["auto", "offered", "accepted"] | None = None,
        raising: Literal["one", "band"] | None = None,
    ) -> None: ...

class Blue(Queue):
    """BLUE: A drop probability that rises with overflows and falls when the link is idle."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        d1: float | None = None,
        d2: float | None = None,
        freeze: float | str | None = None,
        threshold: float | str | None = None,
        idle: Literal["per_freeze", "once"] | None = None,
    ) -> None: ...

class Rem(Queue):
    """REM: Random exponential marking: a price from load and queue, and a probability exponential in it."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        gamma: float | None = None,
        phi: float | None = None,
        alpha: float | None = None,
        q_ref: float | str | None = None,
        tupdate: float | str | None = None,
        w_in: float | None = None,
        mode: Literal["drop", "mark"] | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        unit: Literal["packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Pi(Queue):
    """PI: A proportional-integral controller, or PID with kd, holds the queue at a reference."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        a: float | None = None,
        b: float | None = None,
        kd: float | None = None,
        q_ref: float | str | None = None,
        tupdate: float | str | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        unit: Literal["packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Avq(Queue):
    """AVQ: Adaptive virtual queue: signals what overflows a queue served at an adaptive rate below the link's."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        gamma: float | None = None,
        alpha: float | None = None,
        c_init: float | None = None,
        vq_limit: float | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        mode: Literal["drop", "mark"] | None = None,
        victim: Literal["arrival", "front"] | None = None,
        unit: Literal["packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Gk(Queue):
    """GK: Virtual queue of Gibbens and Kelly: marks all that leaves from its overflow until it is empty."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        theta: float | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        victim: Literal["arrival", "front"] | None = None,
        unit: Literal["packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Yellow(Queue):
    """YELLOW: A probability from the load against a capacity that the queue makes smaller."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        q_ref: float | str | None = None,
        gamma: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        qdlf: float | None = None,
        delta: float | None = None,
        step: float | None = None,
        tupdate: float | str | None = None,
        load: Literal["accepted", "offered"] | None = None,
        unit: Literal["packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Aifo(Queue):
    """AIFO: One FIFO that admits an arrival if its rank is low enough among the last ones for the space that is left."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        rank: Literal["start_time", "class"] | None = None,
        k: float | None = None,
        window: int | None = None,
        sampling: int | None = None,
    ) -> None: ...

class CoDel(Queue):
    """CoDel: Drops at departure, ever closer together, while packets wait too long."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        target: float | str | None = None,
        interval: float | str | None = None,
        dialect: Literal["rfc", "linux", "ns3"] | None = None,
        max_packet: float | str | None = None,
        invsqrt: Literal["auto", "exact", "newton16"] | None = None,
        ce_threshold: float | str | None = None,
        l4s: bool | None = None,
    ) -> None: ...

class Pie(Queue):
    """PIE: Drops arrivals with a probability that holds the queueing delay at a reference."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["rfc", "linux", "ns3"] | None = None,
        qdelay_ref: float | str | None = None,
        tupdate: float | str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        max_burst: float | str | None = None,
        mean_packet: float | str | None = None,
        mark_ecnth: float | None = None,
        latency: Literal["timestamp", "rate"] | None = None,
        dq_threshold: float | str | None = None,
        zero_when_empty: bool | None = None,
        cap_adjustment: bool | Literal["auto"] | None = None,
        derandomise: bool | Literal["auto"] | None = None,
        fast_growth: bool | Literal["auto"] | None = None,
        decay_when: Literal["zero", "below_half"] | None = None,
        byte_scaling: bool | Literal["auto"] | None = None,
        activity: Literal["always", "backlog", "delay"] | None = None,
        active_threshold: float | str | None = None,
        first_update: float | str | None = None,
        burst_reset: float | str | None = None,
    ) -> None: ...

class Pi2(Queue):
    """PI2: PIE without its table of gains: squared probability for classic, linear for scalable senders."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        target: float | str | None = None,
        tupdate: float | str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        k: float | None = None,
        scalable: Literal["none", "ect1", "all"] | None = None,
        latency: Literal["rate", "timestamp"] | None = None,
        mtu: int | None = None,
        byte_scaling: bool | None = None,
    ) -> None: ...

class Cobalt(Queue):
    """COBALT: CoDel whose count decays automatically, with BLUE for unresponsive senders."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["linux", "ns3"] | None = None,
        target: float | str | None = None,
        interval: float | str | None = None,
        increment: float | None = None,
        decrement: float | None = None,
        max_packet: float | str | None = None,
        linux_r0: bool | None = None,
        overflow: Literal["auto", "head", "arrival"] | None = None,
        blue_threshold: float | str | None = None,
        ns3_clock: bool | None = None,
        ce_threshold: float | str | None = None,
        l4s: bool | None = None,
    ) -> None: ...

class StepMarking(Queue):
    """Step marking: Marks everything above one threshold (DCTCP, L4S)."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        k: float | str | None = None,
        threshold: float | str | None = None,
        measure: Literal["before", "after", "sojourn"] | None = None,
        rule: Literal["dctcp", "red"] | None = None,
        non_ect: Literal["overflow_only", "drop_at_k"] | None = None,
    ) -> None: ...

class EcnSharp(Queue):
    """ECN-Sharp: Marks above a sojourn time, and by CoDel's law while the queue does not drain."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        instant_threshold: float | str | None = None,
        persistent_target: float | str | None = None,
        persistent_interval: float | str | None = None,
    ) -> None: ...

class Fq(Queue):
    """FQ: Fair queueing by virtual finish times, drops from the longest."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        weight_0: int | None = None,
        weight_1: int | None = None,
        weight_2: int | None = None,
        weight_3: int | None = None,
        weight_4: int | None = None,
        weight_5: int | None = None,
        weight_6: int | None = None,
        weight_7: int | None = None,
        virtual_time: Literal["fluid", "self_clocked"] | None = None,
    ) -> None: ...

class FqWithPacing(Queue):
    """FQ with pacing: Linux's fq: a queue for each flow in three weighted bands, none faster than a rate."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        quantum: int | None = None,
        initial_quantum: int | None = None,
        flow_plimit: int | None = None,
        maxrate: float | str | None = None,
        low_rate_threshold: float | str | None = None,
        refill_delay: float | str | None = None,
        ce_threshold: float | str | None = None,
        orphan_mask: int | None = None,
        weight_0: int | None = None,
        weight_1: int | None = None,
        weight_2: int | None = None,
        band_0: int | None = None,
        band_1: int | None = None,
        band_2: int | None = None,
        band_3: int | None = None,
        band_4: int | None = None,
        band_5: int | None = None,
        band_6: int | None = None,
        band_7: int | None = None,
    ) -> None: ...

class Sfq(Queue):
    """SFQ: Stochastic fairness queueing: hashed flows in turn, drops from the longest."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["linux", "ns2"] | None = None,
        flows: int | None = None,
        divisor: int | None = None,
        depth: int | None = None,
        quantum: int | None = None,
        allot_unit: int | None = None,
        perturb: float | str | None = None,
        headdrop: bool | None = None,
        buckets: int | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Drr(Queue):
    """DRR: Deficit round robin over hashed flows, drops from the longest."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        buckets: int | None = None,
        quantum: int | None = None,
        classify: Literal["hash", "modulo"] | None = None,
        victim: Literal["longest_head", "longest_tail"] | None = None,
    ) -> None: ...

class Wrr(Queue):
    """WRR: Weighted round robin over the packets' classes."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        weight_0: int | None = None,
        weight_1: int | None = None,
        weight_2: int | None = None,
        weight_3: int | None = None,
        weight_4: int | None = None,
        weight_5: int | None = None,
        weight_6: int | None = None,
        weight_7: int | None = None,
        unit: Literal["packet", "byte"] | None = None,
        quantum: int | None = None,
        victim: Literal["longest_head", "longest_tail", "arrival"] | None = None,
    ) -> None: ...

class FqCoDel(Queue):
    """FQ-CoDel: A queue for each flow, new flows first, CoDel in every queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        target: float | str | None = None,
        interval: float | str | None = None,
        dialect: Literal["rfc", "linux", "ns3"] | None = None,
        max_packet: float | str | None = None,
        invsqrt: Literal["auto", "exact", "newton16"] | None = None,
        ce_threshold: float | str | None = None,
        l4s: bool | None = None,
        queues: int | None = None,
        classify: Literal["hash", "set_associative", "perfect"] | None = None,
        quantum: float | str | None = None,
        drop_batch: int | None = None,
        batch_rule: Literal["auto", "bytes", "packets"] | None = None,
        memory_limit: float | str | None = None,
        ce_threshold_selector: int | None = None,
        ce_threshold_mask: int | None = None,
    ) -> None: ...

class FqPie(Queue):
    """FQ-PIE: A queue for each flow, new flows first, PIE in every queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["linux", "ns3"] | None = None,
        qdelay_ref: float | str | None = None,
        tupdate: float | str | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        max_burst: float | str | None = None,
        mean_packet: float | str | None = None,
        mark_ecnth: float | None = None,
        latency: Literal["timestamp", "rate"] | None = None,
        dq_threshold: float | str | None = None,
        zero_when_empty: bool | None = None,
        cap_adjustment: bool | Literal["auto"] | None = None,
        derandomise: bool | Literal["auto"] | None = None,
        fast_growth: bool | Literal["auto"] | None = None,
        decay_when: Literal["zero", "below_half"] | None = None,
        byte_scaling: bool | Literal["auto"] | None = None,
        activity: Literal["always", "backlog", "delay"] | None = None,
        active_threshold: float | str | None = None,
        first_update: float | str | None = None,
        burst_reset: float | str | None = None,
        queues: int | None = None,
        classify: Literal["hash", "set_associative", "perfect"] | None = None,
        quantum: float | str | None = None,
        drop_batch: int | None = None,
        batch_rule: Literal["auto", "bytes", "packets"] | None = None,
    ) -> None: ...

class FqCobalt(Queue):
    """FQ-COBALT: A queue for each flow, new flows first, COBALT in every queue."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        target: float | str | None = None,
        interval: float | str | None = None,
        increment: float | None = None,
        decrement: float | None = None,
        blue_threshold: float | str | None = None,
        ns3_clock: bool | None = None,
        ce_threshold: float | str | None = None,
        l4s: bool | None = None,
        queues: int | None = None,
        classify: Literal["hash", "set_associative", "perfect"] | None = None,
        quantum: float | str | None = None,
        drop_batch: int | None = None,
        batch_rule: Literal["auto", "bytes", "packets"] | None = None,
    ) -> None: ...

class Cake(Queue):
    """CAKE: Shaper, tins by DSCP, fair queues of flows and hosts, COBALT and an ACK filter in one."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        bandwidth: float | str | None = None,
        autorate_ingress: bool | None = None,
        diffserv: Literal["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"] | None = None,
        flow_mode: Literal[
            "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"
        ]
        | None = None,
        rtt: float | str | None = None,
        target: float | str | None = None,
        overhead: float | str | None = None,
        mpu: float | str | None = None,
        framing: Literal["noatm", "atm", "ptm"] | None = None,
        network_offset: float | str | None = None,
        ingress: bool | None = None,
        ack_filter: Literal["off", "on", "aggressive"] | None = None,
        wash: bool | None = None,
        max_packet: float | str | None = None,
        memory: Literal["linux", "wire"] | None = None,
    ) -> None: ...

class DualPI2(Queue):
    """DualPI2: Coupled dual queue for L4S and classic traffic with a PI2 controller."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        dialect: Literal["linux", "rfc"] | None = None,
        target: float | str | None = None,
        tupdate: float | str | None = None,
        rtt_max: float | str | None = None,
        alpha: float | Literal["auto"] | None = None,
        beta: float | Literal["auto"] | None = None,
        k: float | None = None,
        l_aqm: Literal["auto", "step", "step_packets", "ramp", "none"] | None = None,
        l_combine: Literal["auto", "separate", "max"] | None = None,
        step_threshold: float | str | None = None,
        step_length: int | None = None,
        min_qlen_step: int | None = None,
        ramp_start: float | str | None = None,
        ramp_range: float | str | None = None,
        th_len: int | None = None,
        derandomise: bool | Literal["auto"] | None = None,
        scheduler: Literal["wrr", "tsfifo"] | None = None,
        classic_protection: float | Literal["auto"] | None = None,
        tshift: float | str | None = None,
        min_backlog: float | str | None = None,
        mtu: int | None = None,
        drop_early: bool | None = None,
        drop_overload: bool | None = None,
    ) -> None: ...

class Hhf(Queue):
    """HHF: Two FIFOs, one for the flows that a multi-stage filter finds to send most, which are also dropped first."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        quantum: int | None = None,
        non_hh_weight: int | None = None,
        admit_bytes: int | None = None,
        reset_timeout: float | str | None = None,
        evict_timeout: float | str | None = None,
        flows_limit: int | None = None,
    ) -> None: ...

class StrictPriority(Queue):
    """Strict priority: A FIFO for each class, the first that has packets is served."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        first: Literal["low", "high"] | None = None,
        buffer: Literal["each", "shared"] | None = None,
        victim: Literal["arrival", "last"] | None = None,
    ) -> None: ...

class Afq(Queue):
    """AFQ: Fair queueing approximated by a ring of FIFOs, each for a round in which a flow may send so many bytes."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        queues: int | None = None,
        bytes_per_round: int | None = None,
        bids: Literal["exact", "sketch"] | None = None,
        rows: int | None = None,
        columns: int | None = None,
    ) -> None: ...

class SpPifo(Queue):
    """SP-PIFO: A sorted queue approximated by FIFOs of strict priority whose bounds follow the ranks."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        rank: Literal["start_time", "class"] | None = None,
        queues: int | None = None,
        buffer: Literal["shared", "each"] | None = None,
    ) -> None: ...

class Wred(Queue):
    """WRED: Weighted RED: one average, and thresholds of its own for each precedence."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        w_q: float | None = None,
        spacing: Literal["independent", "uniform"] | None = None,
        mean_packet: float | str | None = None,
        min_th_0: float | str | None = None,
        max_th_0: float | str | None = None,
        max_p_0: float | None = None,
        min_th_1: float | str | None = None,
        max_th_1: float | str | None = None,
        max_p_1: float | None = None,
        min_th_2: float | str | None = None,
        max_th_2: float | str | None = None,
        max_p_2: float | None = None,
        min_th_3: float | str | None = None,
        max_th_3: float | str | None = None,
        max_p_3: float | None = None,
        min_th_4: float | str | None = None,
        max_th_4: float | str | None = None,
        max_p_4: float | None = None,
        min_th_5: float | str | None = None,
        max_th_5: float | str | None = None,
        max_p_5: float | None = None,
        min_th_6: float | str | None = None,
        max_th_6: float | str | None = None,
        max_p_6: float | None = None,
        min_th_7: float | str | None = None,
        max_th_7: float | str | None = None,
        max_p_7: float | None = None,
        w_q_0: float | Literal["auto"] | None = None,
        w_q_1: float | Literal["auto"] | None = None,
        w_q_2: float | Literal["auto"] | None = None,
        w_q_3: float | Literal["auto"] | None = None,
        w_q_4: float | Literal["auto"] | None = None,
        w_q_5: float | Literal["auto"] | None = None,
        w_q_6: float | Literal["auto"] | None = None,
        w_q_7: float | Literal["auto"] | None = None,
    ) -> None: ...

class Rio(Queue):
    """RIO: RED with In and Out: packets outside their contract are tested with the whole queue, and dropped first."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th_in: float | str | None = None,
        max_th_in: float | str | None = None,
        max_p_in: float | None = None,
        min_th_out: float | str | None = None,
        max_th_out: float | str | None = None,
        max_p_out: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2", "ns3", "linux"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        byte_scaling: bool | None = None,
        count_base: Literal["pseudocode", "analysis"] | None = None,
        ecn_over_max: Literal["auto", "drop", "mark", "mark_below_mark_p"] | None = None,
        mark_p: float | None = None,
        mean_packet: float | str | None = None,
        max_packet: float | str | None = None,
        gentle: bool | None = None,
        rio_ns2_bug: bool | None = None,
    ) -> None: ...
