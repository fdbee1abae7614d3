//! smoltcp, a TCP/IP stack for small machines, at a host of [earlydrop_path]: one connection over which the client sends.
//! smoltcp makes whole IP packets, so a network for it has `overhead(0)`. They are not ECN-capable.

use earlydrop_path::{Clock, Delivery, Drive, Ecn, Endpoint, Transmit};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr, Ipv4Address};
use std::collections::VecDeque;

const CLIENT: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);
const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 0, 2);
const PORT: u16 = 80;
/// A socket's buffer in each direction, B: the most that is under way.
const BUFFER: usize = 1 << 19;
const TICKS: f64 = 1e6;
const DATA: [u8; 4096] = [7; 4096];

/// The stack at one host, with its one connection.
pub struct Tcp {
    interface: Interface,
    device: Queues,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    /// Bytes that are still to be written.
    unsent: usize,
    /// Bytes that the application has read.
    pub received: usize,
    client: bool,
    now: Instant,
}

impl Tcp {
    /// Connects, sends `bytes`, and closes.
    pub fn client(bytes: usize, congestion: CongestionControl, seed: u64) -> Tcp {
        let mut tcp = Tcp::new(CLIENT, congestion, seed, bytes);
        let socket = tcp.sockets.get_mut::<Socket>(tcp.socket);
        socket.connect(tcp.interface.context(), (SERVER, PORT), 50_000).expect("a new socket connects");
        tcp
    }

    /// Receives until the client closes, and closes then.
    pub fn server(congestion: CongestionControl, seed: u64) -> Tcp {
        let mut tcp = Tcp::new(SERVER, congestion, seed, 0);
        tcp.sockets.get_mut::<Socket>(tcp.socket).listen(PORT).expect("a new socket listens");
        tcp
    }

    /// smoltcp draws sequence numbers from a seed. Its features decide the default of congestion control, so one is set.
    fn new(address: Ipv4Address, congestion: CongestionControl, seed: u64, unsent: usize) -> Tcp {
        let mut device = Queues::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut device, Instant::ZERO);
        // A network that has both, so that no route is needed.
        interface.update_ip_addrs(|list| list.push(IpCidr::new(address.into(), 24)).expect("room for one address"));
        let mut socket = Socket::new(SocketBuffer::new(vec![0; BUFFER]), SocketBuffer::new(vec![0; BUFFER]));
        socket.set_congestion_control(congestion);
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Tcp { interface, device, sockets, socket, unsent, received: 0, client: address == CLIENT, now: Instant::ZERO }
    }

    /// smoltcp takes what has arrived, and makes the packets that are due. Times are rounded up to its microseconds.
    fn poll(&mut self, now: f64) {
        self.now = Instant::from_micros(Clock::ticks(now, TICKS) as i64);
        self.interface.poll(self.now, &mut self.device, &mut self.sockets);
    }
}

impl Endpoint for Tcp {
    fn handle(&mut self, _now: f64, datagram: Delivery) {
        self.device.arrived.push_back(datagram.payload);
    }
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        Some(Transmit { payload: self.device.departing.pop_front()?, ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        Some(self.interface.poll_at(self.now, &self.sockets)?.total_micros() as f64 / TICKS)
    }
    // Nothing here and in `handle`, for `drive` follows.
    fn handle_timeout(&mut self, _now: f64) {}

    fn drive(&mut self, now: f64) -> Drive {
        self.poll(now);
        let socket = self.sockets.get_mut::<Socket>(self.socket);
        while socket.can_recv() {
            self.received += socket.recv(|data| (data.len(), data.len())).unwrap_or(0);
        }
        while self.unsent > 0 && socket.can_send() {
            self.unsent -= socket.send_slice(&DATA[..self.unsent.min(DATA.len())]).unwrap_or(0);
        }
        // The client closes its direction when all is written, the server when the client has closed.
        let over = self.unsent == 0 && (self.client || self.received > 0 && !socket.may_recv());
        if over && socket.may_send() {
            socket.close();
        }
        let done = over && socket.send_queue() == 0;
        self.poll(now);
        if done {
            Drive::Done
        } else {
            Drive::Wait
        }
    }
}

/// A network card that is two queues of IP packets.
#[derive(Default)]
struct Queues {
    arrived: VecDeque<Vec<u8>>,
    departing: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);
struct Departing<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for Queues {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Departing<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Departing<'_>)> {
        Some((Arrived(self.arrived.pop_front()?), Departing(&mut self.departing)))
    }
    fn transmit(&mut self, _now: Instant) -> Option<Departing<'_>> {
        Some(Departing(&mut self.departing))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(&self.0)
    }
}

impl TxToken for Departing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, fill: F) -> R {
        let mut packet = vec![0; size];
        let result = fill(&mut packet);
        self.0.push_back(packet);
        result
    }
}
