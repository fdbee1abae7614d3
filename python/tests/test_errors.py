"""The package's own exceptions: one base, and the exit code of each."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import earlydrop as ed

FAIL = {"DamagedError", "LinkError", "RunError", "StoreError"}
"""Of these a command ends with 1, of all others with 2: the input is wrong."""
NEVER_SEEN = {"TomlError", "_NoUnit", "ExpressionError", "ExtractionError", "Stop", "Stopped", "ScenarioError"}
"""Turned into others inside the package; but ScenarioError, which is the engine's and a ValueError."""


def test_every_exception_has_the_base_and_its_exit_code() -> None:
    found = {}
    for module in pkgutil.walk_packages(ed.__path__, "earlydrop."):
        if "__main__" in module.name or ".studies" in module.name:
            continue
        for name, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(one, Exception) and not issubclass(one, Warning) and one.__module__.startswith("earlydrop"):
                found[name] = one
    assert {"InputError", "OptionError", "NotAStore", "StudyError", "SweepError"} <= set(found)
    for name, one in found.items():
        if name not in NEVER_SEEN:
            assert issubclass(one, ed.EarlydropError), name
            assert one.exit_code == (1 if name in FAIL else 2), name


def test_the_base_is_public() -> None:
    error = ed.EarlydropError("what", file="x")
    assert (str(error), error.fields, error.exit_code) == ("what", {"file": "x"}, 2)
