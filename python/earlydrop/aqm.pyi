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
    """RED: Random early detection."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
        gentle: bool | None = None,
    ) -> None: ...

class Nlred(Queue):
    """NLRED: Quadratic."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
    ) -> None: ...

class Tred(Queue):
    """TRED: Three-section RED: gentler at light load, firmer at high load."""

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        ecn: bool | None = None,
        min_th: float | str | None = None,
        max_th: float | str | None = None,
        max_p: float | None = None,
        w_q: float | Literal["auto"] | None = None,
        dialect: Literal["paper", "ns2"] | None = None,
        wait: bool | Literal["auto"] | None = None,
        unit: Literal["auto", "packet", "byte"] | None = None,
        mean_packet: float | str | None = None,
        reading: Literal["corrected", "printed"] | None = None,
    ) -> None: ...
