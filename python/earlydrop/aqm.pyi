"""Queue disciplines as classes. Made from the catalogue by `python -m earlydrop.aqm`."""

from typing import Any, Literal

class Queue:
    name: str
    parameters: tuple[dict[str, Any], ...]
    def __init__(self, *, limit: str | int | None = None, ecn: bool | None = None, **given: Any) -> None: ...
    def document(self) -> dict[str, Any]: ...

def class_name(entry: dict[str, Any]) -> str: ...
def entries() -> tuple[dict[str, Any], ...]: ...
def classes() -> dict[str, type[Queue]]: ...
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
