"""What a policy answers."""

from __future__ import annotations

PASS, SIGNAL, MARK, DROP, FORCED = 0, 1, 2, 3, 0x100


class VerdictClass(type):
    """The type of `Verdict`, by which compiled code knows the class."""

    PASS: Verdict

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"Verdict.{name} cannot be set")


class Verdict(metaclass=VerdictClass):
    """A policy's answer: `PASS`, `signal()`, `mark()` or `drop()`.

    `forced=True` counts a drop as forced: certain, not by chance.
    """

    __slots__ = ("code",)
    code: int

    def __init__(self, code: int) -> None:
        object.__setattr__(self, "code", code)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a verdict cannot be changed")

    @staticmethod
    def signal(forced: bool = False) -> Verdict:
        """Mark the packet if marking is on and it is ECN-capable, else drop it."""
        return _KNOWN[SIGNAL | (FORCED if forced else 0)]

    @staticmethod
    def mark() -> Verdict:
        """Mark the packet if marking is on and it is ECN-capable, else let it pass."""
        return _KNOWN[MARK]

    @staticmethod
    def drop(forced: bool = False) -> Verdict:
        """Drop the packet."""
        return _KNOWN[DROP | (FORCED if forced else 0)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and self.code == other.code

    def __hash__(self) -> int:
        return hash(self.code)

    def __repr__(self) -> str:
        name = ("PASS", "signal", "mark", "drop")[self.code & ~FORCED]
        if self.code == PASS:
            return "Verdict.PASS"
        return f"Verdict.{name}({'forced=True' if self.code & FORCED else ''})"


_KNOWN = {code: Verdict(code) for code in (PASS, SIGNAL, MARK, DROP, SIGNAL | FORCED, DROP | FORCED)}
type.__setattr__(Verdict, "PASS", _KNOWN[PASS])
