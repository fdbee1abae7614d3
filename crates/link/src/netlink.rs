//! Requests to the kernel's network configuration (rtnetlink), in the namespace of the calling thread. They configure
//! the link's own devices and change nothing else.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{protocols::NETLINK_ROUTE, Socket, SocketAddr};

/// Prefix of the names of devices in front of links; a number follows.
pub const OUTER: &str = "edl";

/// A socket to the kernel, in the namespace of the thread that opened it.
pub struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens the socket.
    ///
    /// # Errors
    /// The kernel's error; so for all methods here.
    pub fn new() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket })
    }

    /// Sends a request and passes every answer to `each`, until the kernel reports the end.
    fn ask(&self, message: RouteNetlinkMessage, flags: u16, mut each: impl FnMut(RouteNetlinkMessage)) -> Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut rest = &answer[..];
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))?;
                let length = (message.header.length as usize).next_multiple_of(4);
                match message.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::InnerMessage(inner) => {
                        each(inner);
                        // A request for one object has one answer and, unless asked for, no acknowledgement.
                        if flags & (NLM_F_ACK | NLM_F_DUMP) == 0 {
                            return Ok(());
                        }
                    }
                    _ => {}
                }
                rest = rest.get(length..).unwrap_or(&[]);
            }
        }
    }

    fn device(&self, name: &str) -> Result<LinkMessage> {
        let mut question = LinkMessage::default();
        question.attributes.push(LinkAttribute::IfName(name.to_string()));
        let mut found = None;
        self.ask(RouteNetlinkMessage::GetLink(question), 0, |answer| {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                found = Some(link);
            }
        })?;
        found.ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    /// Index of the device called `name`.
    pub fn index(&self, name: &str) -> Result<u32> {
        Ok(self.device(name)?.header.index)
    }

    /// Packets that the kernel has dropped in front of a link, because the ring of its device was full.
    pub fn overruns(&self, name: &str) -> Result<u64> {
        let link = self.device(name)?;
        let found = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::Stats64(stats) => Some(stats.tx_dropped),
            _ => None,
        });
        Ok(found.unwrap_or_default())
    }

    fn set(&self, name: &str, up: bool, attributes: Vec<LinkAttribute>) -> Result<()> {
        let mut change = LinkMessage::default();
        change.header.index = self.index(name)?;
        change.attributes = attributes;
        if up {
            change.header.flags = LinkFlags::Up;
            change.header.change_mask = LinkFlags::Up;
        }
        self.ask(RouteNetlinkMessage::SetLink(change), NLM_F_ACK, |_| {})
    }

    /// Sets the MTU (bytes) and the length of the ring (packets) of a device.
    pub fn size(&self, name: &str, mtu: u32, ring: u32) -> Result<()> {
        self.set(name, false, vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(ring)])
    }

    /// Sets a device up.
    pub fn up(&self, name: &str) -> Result<()> {
        self.set(name, true, Vec::new())
    }

    /// Gives a device an address; the network of this prefix length is then reached through the device.
    pub fn add_address(&self, name: &str, address: IpAddr, prefix: u8) -> Result<()> {
        let mut message = AddressMessage::default();
        message.header.index = self.index(name)?;
        message.header.prefix_len = prefix;
        message.header.family = family(address);
        // No other host is on the device: duplicate address detection is not needed.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.ask(RouteNetlinkMessage::NewAddress(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, |_| {})
    }

    /// Adds a route to a network through a device; a prefix of length 0 is the default route.
    pub fn add_route(&self, name: &str, (to, prefix): (IpAddr, u8)) -> Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(to),
            destination_prefix_length: prefix,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![RouteAttribute::Oif(self.index(name)?)];
        if prefix > 0 {
            message.attributes.push(RouteAttribute::Destination(match to {
                IpAddr::V4(to) => RouteAddress::Inet(to),
                IpAddr::V6(to) => RouteAddress::Inet6(to),
            }));
        }
        self.ask(RouteNetlinkMessage::NewRoute(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, |_| {})
    }

    /// IPv4 addresses of the device called `name`, with their prefix lengths.
    pub fn ipv4_addresses(&self, name: &str) -> Result<Vec<(Ipv4Addr, u8)>> {
        let index = self.index(name)?;
        let mut question = AddressMessage::default();
        question.header.family = AddressFamily::Inet;
        let mut found = Vec::new();
        self.ask(RouteNetlinkMessage::GetAddress(question), NLM_F_DUMP, |answer| {
            let RouteNetlinkMessage::NewAddress(address) = answer else { return };
            if address.header.index != index {
                return;
            }
            found.extend(address.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::Local(IpAddr::V4(local)) => Some((*local, address.header.prefix_len)),
                _ => None,
            }));
        })?;
        Ok(found)
    }

    /// All IPv4 routes, of all tables.
    pub fn ipv4_routes(&self) -> Result<Vec<(Ipv4Addr, u8)>> {
        let mut question = RouteMessage::default();
        question.header.address_family = AddressFamily::Inet;
        let mut found = Vec::new();
        self.ask(RouteNetlinkMessage::GetRoute(question), NLM_F_DUMP, |answer| {
            let RouteNetlinkMessage::NewRoute(route) = answer else { return };
            let destination = route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(*address),
                _ => None,
            });
            found.push((destination.unwrap_or(Ipv4Addr::UNSPECIFIED), route.header.destination_prefix_length));
        })?;
        Ok(found)
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}
