"""Name servers that a command behind a link with address translation can ask."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

RESOLV_CONF = Path("/etc/resolv.conf")

UPSTREAM = (
    # systemd-resolved, whose own server is 127.0.0.53.
    Path("/run/systemd/resolve/resolv.conf"),
    # NetworkManager, where it runs dnsmasq.
    Path("/run/NetworkManager/no-stub-resolv.conf"),
)
"""Files in which local name servers keep the servers that they ask themselves."""


@dataclass(frozen=True)
class Names:
    """How a command behind a link resolves names."""

    servers: tuple[str, ...]
    """Addresses of the name servers; empty if none can be reached."""
    resolv_conf: str | None = None
    """Text of its `/etc/resolv.conf`; None if that is the machine's own."""


def names(config: Path = RESOLV_CONF, upstream: tuple[Path, ...] = UPSTREAM) -> Names:
    """The name servers of this machine that are not on its own loopback addresses.

    A command behind a link has a loopback device of its own, so a server at 127.0.0.53 is not there. Then those that
    the local server asks take its place; the other lines of the file stay.
    """
    text = _read(config)
    own = _servers(text)
    reachable = tuple(server for server in own if not _is_local(server))
    if reachable:
        # The resolver would wait for the others first.
        return Names(reachable, None if reachable == own else _with_servers(text, reachable))
    for path in upstream:
        theirs = tuple(server for server in _servers(_read(path)) if not _is_local(server))
        if theirs:
            return Names(theirs, _with_servers(text, theirs))
    return Names(())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _servers(text: str) -> tuple[str, ...]:
    lines = (line.split() for line in text.splitlines())
    return tuple(words[1] for words in lines if len(words) > 1 and words[0] == "nameserver")


def _is_local(server: str) -> bool:
    try:
        address = ipaddress.ip_address(server.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _with_servers(text: str, servers: tuple[str, ...]) -> str:
    kept = [line for line in text.splitlines() if line.split()[:1] != ["nameserver"]]
    return "\n".join([*kept, *(f"nameserver {server}" for server in servers), ""])
