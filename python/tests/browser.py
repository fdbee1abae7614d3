"""A headless Chromium, driven through its DevTools pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

Message = dict[str, Any]

# The browser reads from descriptor 3 and writes to 4.
AT_3_AND_4 = """
import fcntl, os, sys
inner, outer = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(inner, 3)
os.dup2(outer, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page: opens an address, evaluates JavaScript, and remembers what the page asked for and complained of."""

    def __init__(self, program: str) -> None:
        self._stack = ExitStack()
        try:
            self._start(program)
        except BaseException:
            self._stack.close()
            raise

    def _start(self, program: str) -> None:
        profile = self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        options += ["--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", AT_3_AND_4, str(their_in), str(their_out), program, *options],
            pass_fds=(their_in, their_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(self._end)
        os.close(their_in)
        os.close(their_out)
        self._to = self._stack.enter_context(os.fdopen(our_out, "wb", buffering=0))
        self._from = self._stack.enter_context(os.fdopen(our_in, "rb"))
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._loaded = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def call(self, method: str, **parameters: Any) -> Message:
        """One DevTools call and its result."""
        self._number += 1
        message: Message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: Message = answer["result"]
                return result

    def _read(self) -> Message:
        text = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has gone")
            text += byte
        message: Message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, parameters: Message) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning", "assert"}:
            self.complaints.append(json.dumps(parameters["args"]))
        elif event == "Log.entryAdded" and parameters["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(parameters["entry"]["text"])
        elif event == "Page.lifecycleEvent" and parameters["name"] == "load":
            self._loaded = parameters["loaderId"]

    def open(self, path: Path) -> None:
        """Load a file and wait until everything on it is there."""
        self.requests.clear()
        self.complaints.clear()
        # An empty page may still be loading: the event must be that of this one.
        wanted = self.call("Page.navigate", url=path.as_uri())["loaderId"]
        while self._loaded != wanted:
            self._read()

    def width(self, pixels: int) -> None:
        """Lay the page out at a width."""
        self.call("Emulation.setDeviceMetricsOverride", width=pixels, height=900, deviceScaleFactor=1, mobile=False)

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")
