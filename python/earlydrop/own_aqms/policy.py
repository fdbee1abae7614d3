"""`ed.policy`: a class is a queue discipline."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, overload

import earlydrop._core as _core
from .. import extras
from ..queue_settings import Queue, about, signature
from . import maths, plain, registry
from .declare import Definition, PolicyError, define
from .description import describe
from .identity import digest


class PolicyWarning(UserWarning):
    """A policy is valid, and does something that its author may not have meant."""


class Policy(Queue):
    """A queue with a discipline of one's own."""

    definition: Definition
    native: _core.Aqm
    jit: bool
    digest: str


@overload
def policy(cls: type) -> type[Policy]: ...
@overload
def policy(*, jit: bool = False, name: str | None = None) -> Callable[[type], type[Policy]]: ...
def policy(cls: type | None = None, *, jit: bool = False, name: str | None = None) -> Any:
    """Make a class a queue discipline.

        @ed.policy
        class HalfFull:
            share: float = ed.param(0.5, range=(0, 1), doc="Of the buffer, above which arrivals are dropped.")

            def on_enqueue(self, packet, queue, cx):
                return ed.Verdict.drop() if queue.packets > self.share * queue.limit else ed.Verdict.PASS

    `HalfFull(limit="100 packets", share=0.8)` then goes where `ed.aqm.Red(...)` goes. Fields with a type and a value
    (`avg: float = 0.0`) and `ed.array(n)` are the state of one queue. docs/tutorials/3-own-aqm.md lists methods and
    attributes.

    Args:
        jit: compile it with numba (the extra `jit`), for the speed of the engine's own disciplines. The
            decisions are the same.
        name: its name in scenarios and results; the class's in small letters if none is given.

    Raises:
        PolicyError: what is wrong with the class.
    """
    if cls is None:
        return lambda of: _make(of, jit, name)
    return _make(cls, jit, name)


def _make(cls: type, jit: bool, name: str | None) -> type[Policy]:
    definition = define(cls, name)
    inexact = list(maths.inexact(definition))
    if inexact and jit:
        raise PolicyError("; ".join(inexact))
    for said in inexact:
        warnings.warn(said, PolicyWarning, stacklevel=4)
    check = None if definition.check is None else _checker(definition)
    curve = None if definition.curve is None else _curve(definition)
    described = describe(definition, {"on_enqueue": 1, "read_gauges": 1})
    tried = _core.Aqm.at(described, check, plain.factory(definition), curve)
    if jit:
        try:
            # Once compiled, code says neither which line failed nor that a field got another type.
            tried.vectors()
        except RuntimeError as error:
            raise PolicyError(str(error)) from error
        try:
            from .compiled import compile_policy
        except ImportError as error:
            raise definition.fault(f"jit=True needs numba ({error}): {extras.command('jit')}") from error
        functions, size = compile_policy(definition)
        native = _core.Aqm.at(describe(definition, functions, size), check, None, curve)
    else:
        native = tried
    entry = json.loads(native.entry())
    lines = [definition.doc, "", *map(about, entry["parameters"])]
    made = type(
        cls.__name__,
        (Policy,),
        {
            "__doc__": "\n".join(lines),
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "name": definition.name,
            "parameters": tuple(entry["parameters"]),
            "__signature__": signature(entry["parameters"]),
            "definition": definition,
            "native": native,
            "jit": jit,
            "digest": digest(definition),
        },
    )
    registry.register(registry.known_of(made))
    return made


def _given(definition: Definition, values: list[float]) -> Any:
    """The object that `check` and `curve` are called on: parameters, from the numbers that the engine hands over."""
    given: Any = object.__new__(definition.cls)
    for parameter, value in zip(definition.parameters, values, strict=True):
        setattr(given, parameter.name, parameter.plain(value))
    return given


def _curve(definition: Definition) -> Callable[[list[float], float], float]:
    """The class's own drop curve: the probability at an averaged queue, packets."""

    def curve(values: list[float], average: float) -> float:
        assert definition.curve is not None
        try:
            return float(definition.curve(_given(definition, values), average))
        except Exception as error:
            raise definition.fault(f"{type(error).__name__}: {error}", "curve") from error

    return curve


def _checker(definition: Definition) -> Callable[[list[float]], tuple[str | None, str] | None]:
    """A function that runs the class's own check on the numbers that the engine hands over."""

    def check(values: list[float]) -> tuple[str | None, str] | None:
        assert definition.check is not None
        said = definition.check(_given(definition, values))
        if not said:
            return None
        named = [p.name for p in definition.parameters if p.name in str(said)]
        return (min(named, key=str(said).find) if named else None), str(said)

    return check
