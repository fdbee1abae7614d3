"""Conditions on the factors of a sweep: comparisons and arithmetic, walked over Python's syntax tree."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST, DEEPEST = 400, 40

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
ALLOWED = "names of factors, numbers, texts, lists, + - * /, comparisons, in, and, or, not"


class ConditionError(ValueError):
    """A condition cannot be read, or cannot be decided for a point. The message says why."""


@dataclass(frozen=True)
class Condition:
    """A condition that has been checked."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it holds for these levels of the factors."""
        try:
            return bool(_value(self.tree, values))
        except (TypeError, ArithmeticError) as error:
            shown = ", ".join(f"{n} = {values[n]!r}" for n in self.names)
            raise ConditionError(f"{self.text!r} cannot be decided for {shown}: {error}") from error


def parse(text: str, factors: Mapping[str, Any] | set[str]) -> Condition:
    """Read and check a condition on these factors."""
    if len(text) > LONGEST:
        raise ConditionError(f"is {len(text)} characters long; allowed are {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names = dict.fromkeys(_check(tree, 0))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ConditionError):
            raise
        raise ConditionError(f"{text!r} is no condition; allowed are {ALLOWED}") from None
    for name in names:
        if name not in factors:
            raise ConditionError(f"{text!r}: there is no factor {name}; there are {', '.join(factors)}")
    return Condition(text, tree, tuple(names))


def _check(node: ast.AST, depth: int) -> list[str]:
    if depth > DEEPEST:
        raise ConditionError(f"is nested more than {DEEPEST} deep")
    match node:
        case ast.Constant(value=value) if isinstance(value, (bool, int, float, str)):
            return []
        case ast.Name(id=name):
            return [name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            inner: list[ast.expr] = parts
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            inner = [operand]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            inner = [left, right]
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(o) in _COMPARISONS for o in ops):
            inner = [left, *rest]
        case _:
            raise ConditionError(f"{ast.unparse(node)[:40]!r} is not allowed; allowed are {ALLOWED}")
    return [name for part in inner for name in _check(part, depth + 1)]


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, values) for part in parts]
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, values)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, values)
            return -inner if isinstance(op, ast.USub) else +inner
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, values), _value(right, values))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            here = _value(left, values)
            for comparison, other in zip(ops, rest, strict=True):
                there = _value(other, values)
                if not _COMPARISONS[type(comparison)](here, there):
                    return False
                here = there
            return True
    raise AssertionError(node)
