"""A policy compiled by numba: the same class, at the speed of native code, behind the C ABI.

`self`, `packet`, `queue` and `cx` are pointers to the structs of `earlydrop_aqm.h` and to the policy's block of state;
their attributes are loads and stores. Methods are compiled by numba as they stand.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import errors, typing
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import (
    intrinsic,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    overload,
    overload_attribute,
    overload_method,
    register_model,
    typeof_impl,
)

import earlydrop._core as _core
from . import verdict
from .declare import Definition, PolicyError

_DOUBLE, _INT = types.float64, types.int64
_FAULT = "raised an error in compiled code; without jit it says which"


class Pointer(types.Type):  # type: ignore[misc]
    """A pointer to a struct: its attributes are (offset, type in memory, type in Python)."""

    def __init__(self, name: str, layout: dict[str, tuple[int, str, Any]], constant: frozenset[str]) -> None:
        super().__init__(name=name)
        self.layout, self.constant = layout, constant


class PacketPointer(Pointer):
    """`ed_packet`."""


class QueuePointer(Pointer):
    """`ed_queue`."""


class ContextPointer(Pointer):
    """`ed_context`."""


class StatePointer(Pointer):
    """The block of state; each policy has a class of its own below this."""


class VerdictClassType(types.Type):  # type: ignore[misc]
    """`ed.Verdict` itself."""


class AnswerType(types.Type):  # type: ignore[misc]
    """The type of a verdict in compiled code."""


@register_model(AnswerType)
class AnswerModel(models.PrimitiveModel):  # type: ignore[misc]
    """The representation of a verdict: its code, in 64 bits."""

    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, ir.IntType(64))


PACKET = PacketPointer(
    "Packet",
    {
        "flow": (0, "i64", _INT),
        "enqueued": (8, "f64", _DOUBLE),
        "size": (16, "u32", _INT),
        "rtt_hint_ms": (20, "u16", _INT),
        "ecn": (22, "u8", _INT),
        "priority": (23, "u8", _INT),
        "ttl": (24, "u8", _INT),
        "initial_ttl": (25, "u8", _INT),
        "final_ttl": (26, "u8", _INT),
    },
    frozenset(),
)
QUEUE = QueuePointer(
    "Queue",
    {
        "packets": (0, "i64", _INT),
        "bytes": (8, "i64", _INT),
        "limit": (16, "i64", _INT),
        "idle_since": (24, "f64", _DOUBLE),
        "limit_in_bytes": (32, "u32", types.boolean),
    },
    frozenset(),
)
CONTEXT = ContextPointer(
    "Context",
    {
        "now": (0, "f64", _DOUBLE),
        "link_rate": (8, "f64", _DOUBLE),
        "link_delay": (16, "f64", _DOUBLE),
        "can_mark": (24, "u32", types.boolean),
        "has_room": (28, "u32", types.boolean),
    },
    frozenset(),
)
_HOST, _RANDOM, _VICTIM_END = 32, 40, 96
VERDICT, ANSWER = VerdictClassType("Verdict"), AnswerType("a verdict")

for _pointer in (Pointer, PacketPointer, QueuePointer, ContextPointer, StatePointer, VerdictClassType):
    register_model(_pointer)(models.OpaqueModel)


@typeof_impl.register(verdict.VerdictClass)
def _typeof_verdict(value: Any, context: Any) -> Any:
    return VERDICT


@lower_constant(VerdictClassType)
def _verdict_constant(context: Any, builder: Any, of: Any, value: Any) -> Any:
    return context.get_dummy_value()


# Attributes ---------------------------------------------------------------------------------------------------------


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = Pointer

    def generic_resolve(self, pointer: Pointer, name: str) -> Any:
        place = pointer.layout.get(name)
        return None if place is None else place[2]


_MEMORY = {
    "f64": ir.DoubleType(),
    "i64": ir.IntType(64),
    "u32": ir.IntType(32),
    "u16": ir.IntType(16),
    "u8": ir.IntType(8),
}


def _address(builder: Any, base: Any, offset: int, kind: str) -> Any:
    byte = builder.gep(builder.bitcast(base, ir.IntType(8).as_pointer()), [ir.Constant(ir.IntType(64), offset)])
    return builder.bitcast(byte, _MEMORY[kind].as_pointer())


@lower_getattr_generic(Pointer)
def _load(context: Any, builder: Any, pointer: Pointer, base: Any, name: str) -> Any:
    offset, kind, of = pointer.layout[name]
    if isinstance(of, types.Array):
        raise errors.LoweringError(f"{name} is an array")
    value = builder.load(_address(builder, base, offset, kind))
    if of == types.boolean:
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    return value if kind in ("f64", "i64") else builder.zext(value, ir.IntType(64))


_HOLDS: dict[Any, Any] = {
    _DOUBLE: (types.Float, types.Integer),
    _INT: (types.Integer,),
    types.boolean: (types.Boolean,),
}


@lower_setattr_generic(Pointer)
def _store(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    pointer, given = signature.args
    base, value = arguments
    offset, kind, of = pointer.layout[name]
    if name in pointer.constant:
        raise errors.TypingError(f"self.{name} = ...: a parameter cannot be changed; keep a field of the state instead")
    if not isinstance(given, _HOLDS[of]) or (of != types.boolean and isinstance(given, types.Boolean)):
        raise errors.TypingError(f"self.{name} = {given}: the field is of type {of}")
    value = context.cast(builder, value, given, of)
    if of == types.boolean:
        value = builder.zext(value, ir.IntType(64))
    builder.store(value, _address(builder, base, offset, kind))


# Functions ----------------------------------------------------------------------------------------------------------


@intrinsic
def _random(typing_context: Any, cx: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (base,) = arguments
        pointer = ir.IntType(8).as_pointer()
        of = ir.FunctionType(ir.DoubleType(), [pointer])
        slot = builder.bitcast(builder.gep(base, [ir.Constant(ir.IntType(64), _RANDOM)]), of.as_pointer().as_pointer())
        place = builder.gep(base, [ir.Constant(ir.IntType(64), _HOST)])
        return builder.call(builder.load(slot), [builder.load(builder.bitcast(place, pointer.as_pointer()))])

    return typing.signature(_DOUBLE, cx), generate


@overload_method(ContextPointer, "random", strict=False)
def _cx_random(cx: Any) -> Any:
    return lambda cx: _random(cx)


def _engines_own(name: str, arity: int) -> None:
    """Lets compiled code call `ed.NAME` and `cx.NAME`: the function of the engine itself."""
    native = ctypes.CFUNCTYPE(*[ctypes.c_double] * (arity + 1))(_core.maths_at()[name])
    if arity == 1:
        overload(getattr(_core, name), strict=False)(lambda x: lambda x: native(float(x)))
        overload_method(ContextPointer, name, strict=False)(lambda cx, x: lambda cx, x: native(float(x)))
    else:
        overload(getattr(_core, name), strict=False)(lambda x, y: lambda x, y: native(float(x), float(y)))
        overload_method(ContextPointer, name, strict=False)(
            lambda cx, x, y: lambda cx, x, y: native(float(x), float(y))
        )


for _name, _arity in (("exp", 1), ("log", 1), ("log1p", 1), ("pow", 2)):
    _engines_own(_name, _arity)


# Verdicts are their codes, of a type of their own ---------------------------------------------------------------------


@intrinsic
def _verdict(typing_context: Any, code: Any) -> Any:
    return typing.signature(ANSWER, _INT), lambda context, builder, signature, arguments: arguments[0]


@intrinsic
def _code(typing_context: Any, answer: Any) -> Any:
    if answer != ANSWER:
        raise errors.TypingError(f"returns {answer}, not ed.Verdict.PASS, signal(), mark() or drop() everywhere")
    return typing.signature(_INT, ANSWER), lambda context, builder, signature, arguments: arguments[0]


@overload_attribute(VerdictClassType, "PASS", strict=False)
def _pass(cls: Any) -> Any:
    return lambda cls: _verdict(verdict.PASS)


@overload_method(VerdictClassType, "signal", strict=False)
def _signal(cls: Any, forced: Any = False) -> Any:
    return lambda cls, forced=False: _verdict(verdict.SIGNAL | verdict.FORCED if forced else verdict.SIGNAL)


@overload_method(VerdictClassType, "mark", strict=False)
def _mark(cls: Any) -> Any:
    return lambda cls: _verdict(verdict.MARK)


@overload_method(VerdictClassType, "drop", strict=False)
def _drop(cls: Any, forced: Any = False) -> Any:
    return lambda cls, forced=False: _verdict(verdict.DROP | verdict.FORCED if forced else verdict.DROP)


# A class ------------------------------------------------------------------------------------------------------------


def _cast_to(target: Any) -> Any:
    """An intrinsic that takes a void pointer for one of type `target`."""

    @intrinsic
    def cast(typing_context: Any, address: Any) -> Any:
        return typing.signature(target, address), lambda context, builder, signature, arguments: arguments[0]

    return cast


_as_packet, _as_queue, _as_context = _cast_to(PACKET), _cast_to(QUEUE), _cast_to(CONTEXT)


def _array_of(offset: int, length: int, scalar: Any) -> Any:
    """An intrinsic: the address of an array of the state."""

    @intrinsic
    def place(typing_context: Any, state: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _address(builder, arguments[0], offset, "f64" if scalar == _DOUBLE else "i64")

        return typing.signature(types.CPointer(scalar), state), generate

    return place


@intrinsic
def _say_fault(typing_context: Any, cx: Any, message: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base, text = arguments
        pointer = ir.IntType(8).as_pointer()
        of = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        slot = builder.bitcast(
            builder.gep(base, [ir.Constant(ir.IntType(64), _VICTIM_END)]), of.as_pointer().as_pointer()
        )
        place = builder.gep(base, [ir.Constant(ir.IntType(64), _HOST)])
        host = builder.load(builder.bitcast(place, pointer.as_pointer()))
        builder.call(builder.load(slot), [host, builder.inttoptr(text, pointer)])
        return context.get_dummy_value()

    return typing.signature(types.none, cx, types.int64), generate


_SCALARS = {"float": (_DOUBLE, "f64"), "int": (_INT, "i64"), "bool": (types.boolean, "i64")}
_PARAMETERS = {"real": _SCALARS["float"], "whole": _SCALARS["int"], "flag": _SCALARS["bool"]}
_kept: list[object] = []
"""Compiled functions are kept, as they are called as long as the process lives."""


def compile_policy(definition: Definition) -> tuple[dict[str, int], int]:
    """The functions of `ed_aqm`, by name, and the size of the state.

    Raises:
        PolicyError: something in the class cannot be compiled.
    """
    state_type, size, arrays = _state(definition)
    names: dict[str, Any] = {
        "_self": _cast_to(state_type),
        "_packet": _as_packet,
        "_queue": _as_queue,
        "_cx": _as_context,
        "_say": _say_fault,
        "_carray": numba.carray,
        "_nan": float("nan"),
        "_message": _message(definition),
        "_code": _code,
    }
    for name in definition.methods:
        _overload(definition, state_type, name)
    void = types.voidptr
    made: dict[str, int] = {}
    # Setting up is the only place that writes parameters.
    names["_new"] = _cast_to(_writable(state_type))

    def add(function: str, signature: Any, body: str, method: str) -> None:
        source = f"def {function}({', '.join('abcd'[: len(signature.args)])}):\n{body}"
        space = dict(names)
        exec(compile(source, f"<{definition.title}.{function}>", "exec"), space)
        made[function] = _native(definition, signature, space[function], method)

    add("init", types.void(void, void, void, void), _init_body(definition, arrays), "on_start")
    for function in ("on_enqueue", "on_dequeue"):
        call = f"        return _code(_self(a).{function}(_packet(b), _queue(c), _cx(d)))\n"
        empty = ""
        if function == "on_dequeue":
            if not {"on_dequeue", "on_empty"} & set(definition.methods):
                continue
            names["_is_null"] = _is_null
            does = "_self(a).on_empty(_queue(c), _cx(d))" if "on_empty" in definition.methods else "pass"
            empty = f"        if _is_null(b):\n            {does}\n            return 0\n"
            if "on_dequeue" not in definition.methods:
                call = "        return 0\n"
        body = f"    try:\n{empty}{call}    except Exception:\n        _say(_cx(d), _message)\n        return 0\n"
        add(function, types.uint32(void, void, void, void), body, function)
    if "on_timer" in definition.methods:
        body = "    try:\n        _self(a).on_timer(_queue(b), _cx(c))\n"
        body += "    except Exception:\n        _say(_cx(c), _message)\n"
        add("on_timer", types.void(void, void, void), body, "on_timer")
    for function in ("next_timer", "average"):
        if function in definition.methods:
            body = (
                f"    try:\n        return float(_self(a).{function}())\n    except Exception:\n        return _nan\n"
            )
            add(function, _DOUBLE(void), body, function)
    if definition.gauges:
        flags = {field.name for field in definition.fields if field.scalar == "bool"}
        shown = [f"1.0 if self.{name} else 0.0" if name in flags else f"self.{name}" for name in definition.gauges]
        lines = "".join(f"    out[{i}] = {value}\n" for i, value in enumerate(shown))
        body = f"    self = _self(a)\n    out = _carray(b, ({len(definition.gauges)},))\n{lines}"
        add("read_gauges", types.void(void, types.CPointer(_DOUBLE)), body, "gauges")
    return made, size


def _state(definition: Definition) -> tuple[StatePointer, int, dict[str, tuple[int, int]]]:
    """The type of `self`, how many bytes it has, and where arrays lie: offset and length."""
    cls = type(f"State_{definition.name}", (StatePointer,), {})
    register_model(cls)(models.OpaqueModel)
    layout: dict[str, tuple[int, str, Any]] = {}
    arrays: dict[str, tuple[int, int]] = {}
    offset = 0
    for parameter in definition.parameters:
        if parameter.kind == "choice":
            raise definition.fault(
                f"parameter {parameter.name}: words are not for compiled code; use a flag, or leave out jit=True"
            )
        of, kind = _PARAMETERS[parameter.kind]
        layout[parameter.name] = (offset, kind, of)
        offset += 8
    for field in definition.fields:
        of, kind = _SCALARS[field.scalar]
        if field.length is None:
            layout[field.name] = (offset, kind, of)
            offset += 8
            continue
        arrays[field.name] = (offset, field.length)
        scalar = _DOUBLE if field.scalar == "float" else _INT
        _array_attribute(cls, field.name, offset, field.length, scalar)
        offset += 8 * field.length
    # Two classes of one name have different types: each compilation numbers its own.
    made = cls(f"{definition.title}#{len(_kept)}", layout, frozenset(p.name for p in definition.parameters))
    _kept.append(made)
    return made, offset, arrays


def _writable(state: StatePointer) -> Pointer:
    return Pointer(f"{state.name} at the start", state.layout, frozenset())


def _array_attribute(cls: type, name: str, offset: int, length: int, scalar: Any) -> None:
    place = _array_of(offset, length, scalar)

    @overload_attribute(cls, name, strict=False)
    def entries(state: Any) -> Any:
        return lambda state: numba.carray(place(state), (length,))


@intrinsic
def _is_null(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.ptrtoint(arguments[0], ir.IntType(64))
        return builder.icmp_unsigned("==", value, ir.Constant(ir.IntType(64), 0))

    return typing.signature(types.boolean, address), generate


def _message(definition: Definition) -> int:
    text = ctypes.create_string_buffer(_FAULT.encode())
    _kept.append(text)
    return ctypes.addressof(text)


def _init_body(definition: Definition, arrays: dict[str, tuple[int, int]]) -> str:
    lines = ["    try:", "        self, new = _self(a), _new(a)"]
    if definition.parameters:
        lines.append(f"        given = _carray(_doubles(b), ({len(definition.parameters)},))")
    for i, parameter in enumerate(definition.parameters):
        convert = {"real": "{}", "whole": "int({})", "flag": "{} != 0.0"}[parameter.kind]
        lines.append(f"        new.{parameter.name} = {convert.format(f'given[{i}]')}")
    for field in definition.fields:
        # An array needs no start value: the state is zero.
        if field.length is None:
            lines.append(f"        self.{field.name} = {_literal(field.initial)}")
    if "on_start" in definition.methods:
        lines.append("        self.on_start(_queue(c), _cx(d))")
    lines += ["    except Exception:", "        _say(_cx(d), _message)"]
    return "\n".join(lines) + "\n"


def _literal(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"float('{value}')"


@intrinsic
def _doubles(typing_context: Any, address: Any) -> Any:
    return typing.signature(
        types.CPointer(_DOUBLE), address
    ), lambda context, builder, signature, arguments: builder.bitcast(arguments[0], ir.DoubleType().as_pointer())


def _overload(definition: Definition, state: StatePointer, name: str) -> None:
    """Lets compiled code call the method `name` of `self`."""
    method = definition.methods[name]
    arguments = list(inspect.signature(method).parameters.values())
    text = ", ".join(a.name if a.default is a.empty else f"{a.name}={a.default!r}" for a in arguments)
    space: dict[str, Any] = {"method": method}
    exec(f"def overloaded({text}):\n    return method", space)
    overload_method(type(state), name, strict=False, jit_options={"boundscheck": True})(space["overloaded"])


def _native(definition: Definition, signature: Any, function: Callable[..., Any], method: str) -> int:
    function.__globals__["_doubles"] = _doubles
    try:
        compiled = numba.cfunc(signature, nopython=True)(function)
    except errors.NumbaError as error:
        raise _explained(definition, method, error) from error
    _kept.append(compiled)
    return int(compiled.address)


_SAYS = re.compile(
    r"self\.\w+ = .*|returns .*, not ed\.Verdict.*|Unknown attribute .*|Untyped global name .*|Use of unsupported .*"
    r"|Cannot unify .*|No conversion .*|Cannot .*|too many positional arguments|missing a required argument.*"
)


def _explained(definition: Definition, method: str, error: Exception) -> PolicyError:
    """What numba says, in a line: the innermost complaint, and the innermost line of the class's own file."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    found = [match.group(0).strip() for line in text.splitlines() if (match := _SAYS.search(line))]
    said = found[0] if found else next((line for line in text.splitlines() if line.strip()), "no reason")
    file = inspect.getfile(definition.methods["on_enqueue"])
    name = re.escape(file.rpartition("/")[2])
    lines = re.findall(rf'(?:{name}", line |{name} \()(\d+)', text)
    at = f", line {lines[0]}" if lines else ""
    message = f"numba cannot compile it{at}: {said}; without jit=True it runs as plain Python"
    return definition.fault(message, method)
