"""What undoes the forwarding of a killed link with `--nat`: a process of its own, which outlives the link.

It waits until the link's process has ended, in whatever way, and then switches off what no living link needs
(crates/link/src/nat.rs). It runs no code but the engine's. If it is killed, too, the next link does the same.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import earlydrop._core as _core

_CODE = """\
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("earlydrop._core", sys.argv[1])
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
sys.stdin.buffer.read()
for _ in range(600):
    # Files of a process close a little before it counts as ended.
    try:
        with open(f"/proc/{sys.argv[2]}/stat", "rb") as stat:
            ended = stat.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        ended = True
    core.sweep_links()
    if ended:
        break
    time.sleep(0.1)
"""


class Keeper:
    """The process, as long as the link runs."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if not sys.executable:
            # Python is embedded in another program: the next link undoes what this one leaves.
            return
        words = [sys.executable, "-I", "-S", "-c", _CODE, str(_core.__file__), str(os.getpid())]
        null = subprocess.DEVNULL
        # Its session is its own: Ctrl-C at the terminal is for the link.
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True
        )

    def close(self) -> None:
        """End it: the link has undone everything itself."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        with contextlib.suppress(OSError):
            process.communicate()
