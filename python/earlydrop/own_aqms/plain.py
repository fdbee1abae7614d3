"""A policy as plain Python: its methods are called by the engine, one decision after the other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from .declare import Definition, Field

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class TypedArray:
    """Entries of one type; an index is from 0 to the length less 1."""

    def __init__(self, fault: Callable[[str], Exception], of: Field) -> None:
        self._fault, self._field = fault, of
        self._entries: list[Any] = [_typed(of, 0, fault)] * (of.length or 0)

    def _index(self, index: int) -> int:
        if not 0 <= index < len(self._entries):
            raise self._fault(f"{self._field.name}[{index}]: an index is from 0 to {len(self._entries) - 1}")
        return index

    def __getitem__(self, index: int) -> Any:
        return self._entries[self._index(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self._entries[self._index(index)] = _typed(self._field, value, self._fault)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)


def _typed(of: Field, value: Any, fault: Callable[[str], Exception]) -> Any:
    """`value` as the field holds it."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if of.scalar == "float" and number:
        return float(value)
    if of.scalar == "int" and number and isinstance(value, int):
        if _LEAST <= value <= _MOST:
            return value
        raise fault(f"{of.name} = {value}: beyond 64 bits")
    if of.scalar == "bool" and isinstance(value, bool):
        return value
    raise fault(f"{of.name} = {value!r}: the field is of type {of.scalar}")


def runtime(definition: Definition) -> type:
    """The class of which each queue has an instance: the user's, with state that keeps its types."""
    fields = {f.name: f for f in definition.fields}
    parameters = {p.name for p in definition.parameters}

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if name in fields and fields[name].length is None:
            object.__setattr__(self, name, _typed(fields[name], value, definition.fault))
            return
        if name in parameters:
            raise definition.fault(f"{name} is a parameter and cannot be changed; keep a field of the state instead")
        known = ", ".join([n for n, f in fields.items() if f.length is None]) or "none"
        raise definition.fault(
            f"self.{name} is no field of the state; declare it in the class: {name}: float = 0.0 ({known} are declared)"
        )

    return type(definition.cls.__name__, (definition.cls,), {"__setattr__": set_attribute, "__module__": __name__})


class Instance:
    """One queue's policy, with the methods that the engine calls; None where the class has none."""

    def __init__(self, definition: Definition, cls: type, values: list[float], queue: Any, cx: Any) -> None:
        self._definition = definition
        policy: Any = object.__new__(cls)
        for parameter, value in zip(definition.parameters, values, strict=True):
            object.__setattr__(policy, parameter.name, parameter.plain(value))
        for field in definition.fields:
            initial = field.initial if field.length is None else TypedArray(definition.fault, field)
            object.__setattr__(policy, field.name, initial)
        try:
            if "on_start" in definition.methods:
                policy.on_start(queue, cx)
        except Exception as error:
            raise definition.fault(self.explain(error, error.__traceback__)) from error
        for name in ("on_enqueue", "on_dequeue", "on_empty", "on_timer", "next_timer", "average"):
            setattr(self, name, getattr(policy, name) if name in definition.methods else None)
        self.gauges = list(definition.gauges)
        self._policy = policy

    def read_gauges(self) -> list[float]:
        """The gauges' values, in their order."""
        return [float(getattr(self._policy, name)) for name in self.gauges]

    def resume(self, before: Instance) -> None:
        """Take over the state of `before`, an instance with other parameters."""
        for field in self._definition.fields:
            value = getattr(before._policy, field.name)
            if isinstance(value, TypedArray):
                for index, entry in enumerate(value):
                    getattr(self._policy, field.name)[index] = entry
            else:
                setattr(self._policy, field.name, value)

    def explain(self, error: BaseException, place: TracebackType | None) -> str:
        """An error in a line: what went wrong, and where."""
        own = [
            frame
            for frame in traceback.extract_tb(place)
            if not frame.filename.replace("\\", "/").endswith("earlydrop/own_aqms/plain.py")
        ]
        said = str(error)
        title = self._definition.title
        if own:
            frame = own[-1]
            said = said.removeprefix(f"{title}: ")
            kind = "" if type(error).__name__ == "PolicyError" else f"{type(error).__name__}: "
            return f"{title}.{frame.name}, line {frame.lineno} of {frame.filename.rpartition('/')[2]}: {kind}{said}"
        return f"{title}: {type(error).__name__}: {said}"


def factory(definition: Definition) -> Callable[[list[float], Any, Any], Instance]:
    """A function that makes an instance for each queue."""
    cls = runtime(definition)
    return lambda values, queue, cx: Instance(definition, cls, values, queue, cx)
