"""Formulas over measures: arithmetic only, walked over Python's syntax tree. Nothing is executed as Python.

Allowed are numbers, names of measures and of axes (the number of the cell's level), `+ - * / **`, parentheses, and
`min`, `max`, `abs`, `log` (natural), `sum`, `mean`. All is reckoned in floats. What has no value (a missing operand, a
division by zero, an overflow, a root or a logarithm of a negative number) gives None.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LONGEST, DEEPEST = 400, 40

_OPERATORS: dict[type[ast.operator], Callable[[float, float], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
    "log": lambda values: math.log(values[0]),
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
}
FUNCTIONS = tuple(_FUNCTIONS)


class FormulaError(ValueError):
    """A formula cannot be read. The message says why."""


@dataclass(frozen=True)
class Formula:
    """A formula that has been checked."""

    text: str
    tree: ast.expr
    names: tuple[str, ...]
    """The measures and axes it needs, in the order in which they are met."""

    def value(self, values: Mapping[str, float | None]) -> float | None:
        """What the formula gives for these values; None where it has no value."""
        try:
            found = _value(self.tree, values)
        except (_NoValueError, ArithmeticError, ValueError):
            return None
        # A negative number to a broken power is a complex number in Python.
        return found if isinstance(found, float) and math.isfinite(found) else None


class _NoValueError(Exception):
    pass


def parse(text: str) -> Formula:
    """Read and check a formula."""
    if len(text) > LONGEST:
        raise FormulaError(f"is {len(text)} characters long; allowed are {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names = tuple(dict.fromkeys(_check(tree, 0)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(f"{text!r} is no formula") from None
    return Formula(text, tree, names)


def _check(node: ast.expr, depth: int) -> Iterator[str]:
    """The names in a formula; refuses whatever is not arithmetic."""
    if depth > DEEPEST:
        raise FormulaError(f"is nested more than {DEEPEST} deep")
    match node:
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
                raise FormulaError(f"{ast.unparse(node)[:40]} is no number that a formula can hold")
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            yield from _check(operand, depth + 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield from _check(left, depth + 1)
            yield from _check(right, depth + 1)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS and arguments:
            if name in {"abs", "log"} and len(arguments) != 1:
                raise FormulaError(f"{name} takes one value")
            for argument in arguments:
                yield from _check(argument, depth + 1)
        case _:
            allowed = f"numbers, measures, + - * / ** ( ) and {', '.join(_FUNCTIONS)}"
            raise FormulaError(f"{ast.unparse(node)[:40]!r} is not allowed; allowed are {allowed}")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _value(node: ast.expr, values: Mapping[str, float | None]) -> Any:
    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            found = values.get(name)
            if found is None:
                raise _NoValueError
            return float(found)
        case ast.UnaryOp(op=op, operand=operand):
            inner = _value(operand, values)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.BinOp(left=left, op=op, right=right):
            return _real(_OPERATORS[type(op)](_value(left, values), _value(right, values)))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name]([_value(a, values) for a in arguments])
    raise AssertionError(node)


def _real(value: Any) -> float:
    if not isinstance(value, float):
        raise _NoValueError
    return value
