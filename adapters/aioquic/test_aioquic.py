"""aioquic sends 2 MB through six queues: every transfer is complete, and every process has the same datagrams."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import earlydrop as ed

sys.path.insert(0, str(Path(__file__).parent))

QUEUES = ("droptail", "red", "codel", "pie", "fq_codel", "dualpi2")
SIZE = 2_000_000


def transfer(queue: str) -> tuple[int, float, dict[str, object]]:
    """The digest of a transfer, when it was complete, and its result."""
    from aioquic_endpoint import Client, Server

    net = ed.path("20 Mbit/s", "15 ms", queue=queue)
    client, server = Client(SIZE), Server()
    assert net.run([(net.client, client), (net.server, server)], until=60) == "done"
    assert server.received == SIZE
    digest, now = net.digest, net.now
    return digest, now, net.finish().document


@pytest.mark.parametrize("queue", QUEUES)
def test_a_transfer_is_complete_and_the_same_in_three_processes(queue: str) -> None:
    digest, now, document = transfer(queue)
    others = [
        subprocess.run([sys.executable, __file__, queue], capture_output=True, text=True, check=True) for _ in "ab"
    ]
    assert {int(other.stdout) for other in others} == {digest}
    assert now > 8 * SIZE / 20e6, "not faster than the link"
    assert document["queues"]["up"]["departures"] > SIZE / 1500
    assert document["flows"][0]["goodput_mbps"] * now == pytest.approx(8 * SIZE / 1e6, rel=1e-9)


if __name__ == "__main__":
    print(transfer(sys.argv[1])[0])
