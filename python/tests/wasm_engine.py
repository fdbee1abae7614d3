"""The WebAssembly engine under wasmtime, by the calls of docs/web.md."""

from __future__ import annotations

import ctypes
import functools
import json
from pathlib import Path
from typing import Any

import wasmtime

ENGINE = wasmtime.Engine()


@functools.cache
def compiled(path: Path) -> wasmtime.Module:
    """The module at `path`, ready to be instantiated."""
    module = wasmtime.Module(ENGINE, path.read_bytes())
    assert not module.imports, "the module needs nothing from its host"
    return module


class Refused(Exception):
    """A call that returned -1; `answer` is the error as the engine says it."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer["error"])
        self.answer = answer


class Engine:
    """An instance of the module. `call` checks the status; `text` and `array` are what the latest call left."""

    def __init__(self, path: Path) -> None:
        module = compiled(path)
        self._store = wasmtime.Store(ENGINE)
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._memory: Any = self._exports["memory"]

    def value(self, name: str, *arguments: float) -> float:
        """What an export returns."""
        function: Any = self._exports[name]
        return function(self._store, *arguments)

    def call(self, name: str, *arguments: float, given: object = None) -> int:
        """The status of a call, with an input if one is given."""
        if given is not None:
            data = json.dumps(given).encode()
            self._memory.write(self._store, data, self.value("ed_input", len(data)))
        status = int(self.value(name, *arguments))
        if status < 0:
            raise Refused(json.loads(self.text()))
        return status

    def text(self) -> str:
        start = int(self.value("ed_text"))
        return self._memory.read(self._store, start, start + int(self.value("ed_text_length"))).decode()

    def array(self) -> list[float]:
        start, length = int(self.value("ed_array")), int(self.value("ed_array_length"))
        data = self._memory.read(self._store, start, start + 8 * length)
        return list((ctypes.c_double * length).from_buffer_copy(data))

    def load(self, **request: object) -> tuple[int, Any]:
        """A run's handle, and what the engine says of it."""
        run = self.call("ed_load", given=request)
        return run, json.loads(self.text())

    def result(self, **request: object) -> str:
        """The result document of a request, as the engine's own text."""
        run, _ = self.load(**request)
        self.call("ed_finish", run, 0.0)
        document = self.text()
        self.call("ed_close", run)
        return document
