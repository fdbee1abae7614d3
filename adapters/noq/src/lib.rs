//! noq-proto on earlydrop-path: a client that sends bytes on one stream, and a server that reads them.

use bytes::Bytes;
use earlydrop_path::{Clock, Counts, Delivery, Drive, Ecn, Endpoint, Transmit};
use noq_proto::{rustls::RootCertStore, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir};
use noq_proto::{ClientConfig, EcnCodepoint, EndpointConfig, Event, ServerConfig, StreamEvent, StreamId};
use noq_proto::{FourTuple, TransportConfig};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::{error::Error, sync::Arc};

/// noq wants an address of its peer. Here there is one peer, so any will do.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);
/// What the application writes at once.
static CHUNK: [u8; 1 << 16] = [0; 1 << 16];

/// One end of a connection, with its application.
pub struct Noq {
    /// Where simulated time is on noq's clock.
    clock: Clock,
    endpoint: noq_proto::Endpoint,
    /// The server has none until the client's first datagram.
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// Bytes to write still.
    left: u64,
    /// Bytes read from the stream.
    pub received: u64,
    /// The stream's end has arrived: at the server the data, at the client its acknowledgement.
    pub done: bool,
    /// Why the connection ended, if it did.
    pub lost: Option<ConnectionError>,
}

/// A client that sends `bytes` to a server, both with `transport`. What noq draws comes from `seed`.
/// It fails if there can be no certificate. noq's own flow control of 1.25 MB in a round trip also keeps it below 1024
/// gaps in a stream, at which it closes the connection: with 16 MB its slow start through PIE comes there.
pub fn pair(bytes: u64, seed: u64, transport: TransportConfig) -> Result<(Noq, Noq), Box<dyn Error>> {
    // An Ed25519 signature has 64 B. Those of ECDSA vary, and the sizes of datagrams with them; so do drawn numbers.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let mut certificate = rcgen::CertificateParams::new(["server".to_string()])?;
    certificate.serial_number = Some(1_u64.into());
    let certificate = certificate.self_signed(&key)?.der().clone();
    let (mut roots, transport) = (RootCertStore::empty(), Arc::new(transport));
    roots.add(certificate.clone())?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(transport.clone());
    let mut server = ServerConfig::with_single_cert(vec![certificate], key.serialize_der().try_into()?)?;
    server.transport_config(transport);
    let (mut sender, receiver) = (Noq::new(seed, 1, None), Noq::new(seed, 2, Some(Arc::new(server))));
    sender.connection = Some(sender.endpoint.connect(sender.clock.instant(0.0), client, PEER, "server")?);
    sender.left = bytes;
    Ok((sender, receiver))
}

impl Noq {
    fn new(seed: u64, end: u8, server: Option<Arc<ServerConfig>>) -> Noq {
        let (mut config, mut bytes) = (EndpointConfig::default(), [end; 32]);
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        config.rng_seed(Some(bytes));
        let endpoint = noq_proto::Endpoint::new(Arc::new(config), server, true);
        let (clock, connection, stream, lost) = (Clock::new(), None, None, None);
        Noq { clock, endpoint, connection, stream, left: 0, received: 0, done: false, lost }
    }
}

impl Endpoint for Noq {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        let now = self.clock.instant(now);
        let (ecn, payload) = (EcnCodepoint::from_bits(datagram.ecn as u8), Bytes::from(datagram.payload));
        let path = FourTuple::new(PEER, None);
        let mut answer = Vec::new();
        match (self.endpoint.handle(now, path, ecn, payload.into(), &mut answer), &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => connection.handle_event(event),
            (Some(DatagramEvent::NewConnection(incoming)), connection) => {
                match self.endpoint.accept(incoming, now, &mut answer, None) {
                    Ok(accepted) => *connection = Some(accepted),
                    Err(error) => self.lost = Some(error.cause),
                }
            }
            // The endpoint has answers to strangers, in `answer`. There are none here.
            _ => {}
        }
    }

    fn poll_transmit(&mut self, now: f64) -> Option<Transmit> {
        let (_, connection) = self.connection.as_mut()?;
        let mut payload = Vec::new();
        // One at a time: with more, noq puts several datagrams into one buffer, for a network card to cut.
        let transmit = connection.poll_transmit(self.clock.instant(now), NonZeroUsize::MIN, &mut payload)?;
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][transmit.ecn.map_or(0, |ecn| ecn as usize)];
        Some(Transmit { payload, ecn })
    }

    fn poll_timeout(&mut self) -> Option<f64> {
        self.connection.as_mut()?.1.poll_timeout().map(|timeout| self.clock.time(timeout))
    }

    fn handle_timeout(&mut self, now: f64) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(self.clock.instant(now));
        }
    }

    fn drive(&mut self, _now: f64) -> Drive {
        let Some((handle, connection)) = &mut self.connection else { return Drive::Wait };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                Event::Stream(StreamEvent::Finished { .. }) => self.done = true,
                _ => {}
            }
        }
        if self.done || self.lost.is_some() {
            return Drive::Done;
        }
        // The application. It tries at each turn: simpler than to wait for events, and it costs little.
        let (client, mut streams) = (connection.side().is_client(), connection.streams());
        self.stream = self.stream.or_else(|| if client { streams.open(Dir::Uni) } else { streams.accept(Dir::Uni) });
        let Some(stream) = self.stream else { return Drive::Wait };
        if client {
            let mut stream = connection.send_stream(stream);
            while let Ok(written @ 1..) = stream.write(&CHUNK[..CHUNK.len().min(self.left as usize)]) {
                self.left -= written as u64;
            }
            // The end comes once; a second call is an error that does no harm.
            let _ = (self.left == 0).then(|| stream.finish());
        } else if let Ok(mut chunks) = connection.recv_stream(stream).read(true) {
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                self.received += chunk.bytes.len() as u64;
            }
            self.done |= matches!(chunks.next(1), Ok(None));
            let _ = chunks.finalize();
        }
        if self.done {
            Drive::Done
        } else {
            Drive::Wait
        }
    }

    fn counts(&self) -> Option<Counts> {
        Some(Counts { delivered: self.received, ..Counts::default() })
    }
}
