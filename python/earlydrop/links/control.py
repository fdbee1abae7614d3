"""The socket through which a running link is changed: lines of text, answered in order.

A line such as `rate=5Mbit/s queue.target=8ms` changes the link and is answered by `ok` and the time since the link
started; `show` is answered by the settings as JSON. All else is answered by `error:` and what is allowed. Nothing that
somebody writes, or does not read, holds up the link or takes more memory than `MOST` connections with a line each.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from ..controls import visible
from ..errors import EarlydropError
from .planning import OptionError
from .running import Running, User

LONGEST = 1000
"""Longest line, bytes."""
MOST = 4
"""Most connections at a time."""
LONGEST_PATH = 107
"""Longest name of a socket, bytes (`sun_path`, unix(7))."""


class Control:
    """A socket of `running` at `path`, which its owner alone can use, as long as the context lasts."""

    def __init__(self, running: Running, path: Path, owner: User | None) -> None:
        self._running, self._path, self._owner = running, path, owner
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def __enter__(self) -> Control:
        try:
            with _as(self._owner):
                before = os.umask(0o177)
                try:
                    self._listening.bind(os.fspath(self._path))
                finally:
                    os.umask(before)
            self._listening.listen(MOST)
        except OSError as error:
            self._close()
            raise OptionError(f"--control {self._path}: {_why(self._path, error)}") from None
        self._listening.setblocking(False)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wake.send(b".")
        self._thread.join()
        # What stands in its place now may be somebody else's.
        with contextlib.suppress(OSError), _as(self._owner):
            if stat.S_ISSOCK(self._path.lstat().st_mode):
                self._path.unlink()
        self._close()

    def _close(self) -> None:
        for one in (self._listening, self._wake, self._woken):
            one.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            selector.register(self._listening, selectors.EVENT_READ)
            lines: dict[socket.socket, bytearray] = {}
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._woken:
                        for one in lines:
                            one.close()
                        return
                    if key.fileobj is self._listening:
                        self._accept(selector, lines)
                        continue
                    assert isinstance(key.fileobj, socket.socket)
                    if not self._hear(key.fileobj, lines[key.fileobj]):
                        selector.unregister(key.fileobj)
                        del lines[key.fileobj]
                        key.fileobj.close()

    def _accept(self, selector: selectors.BaseSelector, lines: dict[socket.socket, bytearray]) -> None:
        try:
            new, _ = self._listening.accept()
        except OSError:
            return
        new.setblocking(False)
        if len(lines) >= MOST:
            _say(new, f"error: given connection {MOST + 1}; allowed {MOST} at a time")
            new.close()
            return
        lines[new] = bytearray()
        selector.register(new, selectors.EVENT_READ)

    def _hear(self, one: socket.socket, line: bytearray) -> bool:
        """Reads what there is, answers its lines, and returns whether the connection goes on."""
        try:
            read = one.recv(LONGEST)
        except BlockingIOError:
            return True
        except OSError:
            return False
        line += read
        while (end := line.find(b"\n")) >= 0:
            text = bytes(line[:end])
            del line[: end + 1]
            # Whoever does not read the answers is not heard any more.
            if len(text) > LONGEST or not _say(one, self._answer(text)):
                return False
        if len(line) > LONGEST:
            _say(one, f"error: the line is too long; allowed {LONGEST} bytes")
            return False
        return bool(read)

    def _answer(self, line: bytes) -> str:
        try:
            text = line.decode().strip()
        except UnicodeDecodeError:
            return "error: is no text in UTF-8"
        try:
            if text == "show":
                return json.dumps(self._running.settings())
            return f"ok {self._running.change(text):.9f}"
        except (EarlydropError, RuntimeError) as error:
            return f"error: {'; '.join(part.strip() for part in str(error).splitlines())}"


def _say(one: socket.socket, text: str) -> bool:
    try:
        data = f"{visible(text)}\n".encode()
        return one.send(data) == len(data)
    except OSError:
        return False


def _why(path: Path, error: OSError) -> str:
    if os.path.lexists(path):
        return "is there already; allowed a path at which nothing is"
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        return f"given {length} bytes; allowed {LONGEST_PATH}"
    return error.strerror or str(error)


@contextlib.contextmanager
def _as(user: User | None) -> Iterator[None]:
    """Files are made and removed with the rights of `user`, who owns them: where they cannot write, nor does root."""
    if user is None or os.geteuid() != 0:
        yield
        return
    group = os.getegid()
    os.setegid(user.gid)
    os.seteuid(user.uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
