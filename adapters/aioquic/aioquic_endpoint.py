"""aioquic behind any queue of earlydrop: an endpoint for `ed.path`, with a transfer of bytes as its application.

aioquic takes the time as an argument and does no input or output of its own, so nothing here waits or sleeps. It sets
no ECN field. Certificates have Ed25519 keys: their signatures have one length, those of ECDSA vary by two bytes, and
with them the sizes of datagrams.
"""

from __future__ import annotations

import datetime
from collections import deque

from aioquic.buffer import Buffer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from aioquic.quic.packet import pull_quic_header
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ADDRESS = ("peer", 0)
"""There is one peer."""


def certificate() -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """A certificate for `server` that signs itself, and its key."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    start = datetime.datetime(2020, 1, 1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 2**120, start, start.replace(year=2120))
    return made.sign(key, None), key


def _configuration(is_client: bool, control: str) -> QuicConfiguration:
    configuration = QuicConfiguration(is_client=is_client, alpn_protocols=["earlydrop"])
    configuration.congestion_control_algorithm = control
    configuration.max_data = configuration.max_stream_data = 1 << 30
    return configuration


class _Endpoint:
    """What client and server have in common. `quic` is missing until the server has its first datagram."""

    quic: QuicConnection | None = None

    def __init__(self) -> None:
        self.ready: deque[bytes] = deque()
        self.received = 0
        self.complete = False

    def handle(self, now: float, datagram: tuple[float, float, int, int, bytes]) -> None:
        """A datagram arrives."""
        if self.quic is not None:
            self.quic.receive_datagram(datagram[-1], ADDRESS, now)

    def poll_transmit(self, now: float) -> tuple[bytes, int] | None:
        """The next datagram, not ECN-capable."""
        if not self.ready and self.quic is not None:
            self.ready.extend(data for data, _ in self.quic.datagrams_to_send(now))
        return (self.ready.popleft(), 0) if self.ready else None

    def poll_timeout(self) -> float | None:
        """aioquic's timer."""
        return None if self.quic is None else self.quic.get_timer()

    def handle_timeout(self, now: float) -> None:
        """The timer has expired."""
        if self.quic is not None:
            self.quic.handle_timer(now)

    def read(self) -> None:
        """Counts what has arrived in order."""
        while self.quic is not None and (event := self.quic.next_event()) is not None:
            if isinstance(event, StreamDataReceived):
                self.received += len(event.data)
                self.complete = self.complete or event.end_stream

    def counts(self) -> tuple[int, int, int]:
        """Bytes that the application has received; aioquic does not count what it sends again."""
        return self.received, 0, 0


class Client(_Endpoint):
    """Connects at the start, sends `size` bytes, and is done when the server has answered that it has them all."""

    def __init__(self, size: int, control: str = "cubic") -> None:
        super().__init__()
        self.size = size
        configuration = _configuration(True, control)
        configuration.server_name = "server"
        configuration.verify_mode = 0
        self.quic = QuicConnection(configuration=configuration)
        self.started = False

    def drive(self, now: float) -> bool:
        """Starts the connection with the data, which wait in aioquic until they may be sent."""
        assert self.quic is not None
        if not self.started:
            self.started = True
            self.quic.connect(ADDRESS, now)
            self.quic.send_stream_data(self.quic.get_next_available_stream_id(), bytes(self.size), end_stream=True)
        self.read()
        return self.complete


class Server(_Endpoint):
    """Accepts one connection, reads its stream to the end, and answers with one byte."""

    def __init__(self, control: str = "cubic") -> None:
        super().__init__()
        self.configuration = _configuration(False, control)
        self.configuration.certificate, self.configuration.private_key = certificate()
        self.answered = False

    def handle(self, now: float, datagram: tuple[float, float, int, int, bytes]) -> None:
        """The first datagram makes the connection."""
        if self.quic is None:
            header = pull_quic_header(Buffer(data=datagram[-1]), host_cid_length=8)
            self.quic = QuicConnection(
                configuration=self.configuration, original_destination_connection_id=header.destination_cid
            )
        super().handle(now, datagram)

    def drive(self, now: float) -> bool:
        """Answers once it has everything."""
        self.read()
        if self.complete and not self.answered and self.quic is not None:
            self.answered = True
            self.quic.send_stream_data(0, b"!", end_stream=True)
        return self.answered
