"""What a link lacks where the system refuses it, and the way out."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""What a link needs, by the kernel's numbers (capabilities(7))."""

REAL_TIME = "asking for real-time priority"
"""What the engine says that it was doing when real-time priority was refused."""

CONTAINER = "in a container: --cap-add NET_ADMIN --cap-add SYS_ADMIN --device /dev/net/tun"


def lacking() -> list[str]:
    """The capabilities of `CAPABILITIES` that this process does not have."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    held = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:"))
    return [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]


def way_out(refused: str) -> str:
    """What to do where the engine was refused what it says, in a sentence."""
    if refused.startswith(REAL_TIME):
        return (
            "it needs CAP_SYS_NICE or a limit of 50 (ulimit -r; in a container: --cap-add SYS_NICE); without "
            "--realtime the link takes what is allowed"
        )
    names = lacking()
    if not names:
        return (
            "the capabilities are there, so a security profile forbids it; in a container: --security-opt "
            "seccomp=unconfined --security-opt apparmor=unconfined, or --privileged"
        )
    needs = f"a link needs {' and '.join(CAPABILITIES)}; lacking here: {', '.join(names)}"
    if os.geteuid() == 0:
        return f"{needs}; {CONTAINER}"
    return f"{needs}; run sudo {_command()}; {CONTAINER}"


def _command() -> str:
    """This program's command with the interpreter's whole path: under sudo there may be another one."""
    words = shlex.join([sys.executable, *sys.orig_argv[1:]])
    return words if sys.executable and len(words) < 300 else "with the same command"
