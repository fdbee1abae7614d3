//! A table of firewall rules for a link with address translation, through the kernel's netlink interface of nftables.
//!
//! The table belongs to its socket (NFT_TABLE_F_OWNER, Linux 5.12): no other program can change it, and the kernel
//! removes it when the socket is closed, also when the program is killed. Numbers are those of the kernel's
//! `linux/netfilter/nf_tables.h`; every value is in network byte order.

use std::io::{Error, ErrorKind, Result};
use std::net::IpAddr;

use netlink_sys::{protocols::NETLINK_NETFILTER, Socket, SocketAddr};

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const EXCLUSIVE: u16 = 0x200;
const APPEND: u16 = 0x800;
const ERROR: u16 = 2;
/// Address family of a table for IPv4 and IPv6.
const INET: u8 = 1;
const NESTED: u16 = 0x8000;
const OWNER: u32 = 2;
const HOOK_FORWARD: u32 = 2;
const HOOK_POSTROUTING: u32 = 4;
/// Priority at which source addresses are translated.
const SOURCE_NAT: u32 = 100;
/// The register that rules use; register 0 holds the verdict.
const REGISTER: u32 = 1;
const INPUT_NAME: u32 = 6;
const OUTPUT_NAME: u32 = 7;
const PROTOCOL: u32 = 15;
const STATE: u32 = 0;
/// Bits of a connection's state: established and related.
const REPLIES: u32 = 2 | 4;
/// Bytes of a device name in a register.
const NAME: usize = 16;

/// Rules that are in force as long as this exists.
pub struct Rules {
    _socket: Socket,
}

/// What a packet must be for a rule to apply.
#[derive(Clone, Copy, Debug)]
pub enum Match<'a> {
    /// It came from this device.
    From(&'a str),
    /// It leaves through this device.
    To(&'a str),
    /// It leaves through a device whose name does not begin with this.
    NotTo(&'a str),
    /// It belongs to an existing connection, or is about one.
    Reply,
    /// It neither belongs to an existing connection nor is about one.
    NoReply,
    /// Its source address is in this network.
    Source(IpAddr, u8),
}

/// What a rule does with a packet.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Replaces the packet's source address by one of the device through which it leaves.
    Masquerade,
    /// Lets the packet go on.
    Accept,
    /// Drops the packet.
    Drop,
}

impl Rules {
    /// Creates the table `name` with the rules for forwarded packets, and those for packets that leave.
    ///
    /// # Errors
    /// The kernel's error: without the permission, or without nftables.
    pub fn new(name: &str, forwarded: &[(Vec<Match>, Action)], leaving: &[(Vec<Match>, Action)]) -> Result<Rules> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut batch = Batch::default();
        batch.message(BATCH_BEGIN, REQUEST, 0, &[]);
        let table = text(1, name);
        batch.message(NEW_TABLE, REQUEST | ACK | CREATE | EXCLUSIVE, INET, &[table.clone(), number(2, OWNER)].concat());
        let chains = [
            ("forward", "filter", HOOK_FORWARD, 0, forwarded),
            ("postrouting", "nat", HOOK_POSTROUTING, SOURCE_NAT, leaving),
        ];
        for (chain, kind, hook, priority, rules) in chains {
            let place = nested(4, &[number(1, hook), number(2, priority)]);
            let body = [table.clone(), text(3, chain), place, text(7, kind)].concat();
            batch.message(NEW_CHAIN, REQUEST | ACK | CREATE, INET, &body);
            for (matches, action) in rules {
                let mut expressions: Vec<u8> = matches.iter().flat_map(Match::expressions).collect();
                expressions.extend(action.expression());
                let body = [table.clone(), text(2, chain), nested(4, &[expressions])].concat();
                batch.message(NEW_RULE, REQUEST | ACK | CREATE | APPEND, INET, &body);
            }
        }
        batch.message(BATCH_END, REQUEST, 0, &[]);
        socket.send(&batch.bytes, 0)?;
        let mut left = batch.asked;
        while left > 0 {
            let (answer, _) = socket.recv_from_full()?;
            let mut rest = &answer[..];
            while let Some((kind, body, after)) = message(rest) {
                if kind == ERROR {
                    let code = body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                    if code != 0 {
                        return Err(Error::from_raw_os_error(-code));
                    }
                    left = left.saturating_sub(1);
                }
                rest = after;
            }
            if answer.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Rules { _socket: socket })
    }
}

impl Match<'_> {
    fn expressions(&self) -> Vec<u8> {
        let device = |key: u32, name: &str| {
            let mut padded = [0; NAME];
            let length = name.len().min(NAME - 1);
            padded[..length].copy_from_slice(&name.as_bytes()[..length]);
            [load("meta", &[number(2, key), number(1, REGISTER)]), compare(0, &padded)].concat()
        };
        let state = |operator: u32| {
            // The kernel keeps this value in the machine's byte order.
            let replies = masked(&REPLIES.to_ne_bytes());
            [load("ct", &[number(2, STATE), number(1, REGISTER)]), replies, compare(operator, &[0; 4])].concat()
        };
        match *self {
            Match::From(name) => device(INPUT_NAME, name),
            Match::To(name) => device(OUTPUT_NAME, name),
            Match::NotTo(start) => {
                [load("meta", &[number(2, OUTPUT_NAME), number(1, REGISTER)]), compare(1, start.as_bytes())].concat()
            }
            Match::Reply => state(1),
            Match::NoReply => state(0),
            Match::Source(address, prefix) => {
                let (family, offset, bytes) = match address {
                    IpAddr::V4(address) => (libc::AF_INET, 12, address.octets().to_vec()),
                    IpAddr::V6(address) => (libc::AF_INET6, 8, address.octets().to_vec()),
                };
                let mask = mask(bytes.len(), prefix);
                let network: Vec<u8> = bytes.iter().zip(&mask).map(|(byte, mask)| byte & mask).collect();
                let length = number(4, bytes.len() as u32);
                [
                    load("meta", &[number(2, PROTOCOL), number(1, REGISTER)]),
                    compare(0, &[family as u8]),
                    load("payload", &[number(1, REGISTER), number(2, 1), number(3, offset), length]),
                    masked(&mask),
                    compare(0, &network),
                ]
                .concat()
            }
        }
    }
}

impl Action {
    fn expression(self) -> Vec<u8> {
        let verdict = |code: u32| {
            let data = nested(2, &[nested(2, &[number(1, code)])]);
            load("immediate", &[number(1, 0), data])
        };
        match self {
            Action::Masquerade => load("masq", &[]),
            Action::Drop => verdict(0),
            Action::Accept => verdict(1),
        }
    }
}

/// The first `prefix` bits of `length` bytes.
fn mask(length: usize, prefix: u8) -> Vec<u8> {
    let bits = |byte: usize| usize::from(prefix).saturating_sub(8 * byte).min(8);
    (0..length).map(|byte| !(0xff_u16 >> bits(byte)) as u8).collect()
}

/// An expression that loads something into the register, or decides.
fn load(name: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    nested(1, &[text(1, name), nested(2, attributes)])
}

/// An expression that is true if the register is equal to the value (operator 0), or not equal (1).
fn compare(operator: u32, value: &[u8]) -> Vec<u8> {
    load("cmp", &[number(1, REGISTER), number(2, operator), nested(3, &[attribute(1, value)])])
}

/// An expression that applies a mask to the register.
fn masked(mask: &[u8]) -> Vec<u8> {
    let (mask, zero) = (attribute(1, mask), attribute(1, &vec![0; mask.len()]));
    let length = number(3, mask.len() as u32 - 4);
    load("bitwise", &[number(1, REGISTER), number(2, REGISTER), length, nested(4, &[mask]), nested(5, &[zero])])
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, &value.to_be_bytes())
}

fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

fn nested(kind: u16, attributes: &[Vec<u8>]) -> Vec<u8> {
    attribute(kind | NESTED, &attributes.concat())
}

/// Messages that the kernel carries out either all or not at all.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    messages: u32,
    /// Number of messages that ask for an acknowledgement.
    asked: usize,
}

impl Batch {
    fn message(&mut self, kind: u16, flags: u16, family: u8, attributes: &[u8]) {
        self.messages += 1;
        self.asked += usize::from(flags & ACK != 0);
        self.bytes.extend((20 + attributes.len() as u32).to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(flags.to_ne_bytes());
        self.bytes.extend(self.messages.to_ne_bytes());
        self.bytes.extend([0; 4]);
        // The batch's own messages name the subsystem; others have 0 here.
        let resource = if kind <= BATCH_END { SUBSYSTEM } else { 0 };
        self.bytes.extend([family, 0]);
        self.bytes.extend(resource.to_be_bytes());
        self.bytes.extend(attributes);
    }
}

/// Type and body of the first message, and the bytes that follow it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes([*bytes.get(4)?, *bytes.get(5)?]);
    let body = bytes.get(16..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or(&[])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_their_length_is_not() {
        assert_eq!(number(2, 1), [8, 0, 2, 0, 0, 0, 0, 1]);
        assert_eq!(text(1, "ab"), [7, 0, 1, 0, b'a', b'b', 0, 0]);
        assert_eq!(nested(4, &[text(1, "ab")]), [12, 0, 4, 0x80, 7, 0, 1, 0, b'a', b'b', 0, 0]);
    }

    #[test]
    fn a_mask_has_the_first_bits() {
        assert_eq!(mask(4, 0), [0, 0, 0, 0]);
        assert_eq!(mask(4, 20), [0xff, 0xff, 0xf0, 0]);
        assert_eq!(mask(4, 32), [0xff; 4]);
        assert_eq!(mask(16, 116)[13..], [0xff, 0xf0, 0]);
    }

    #[test]
    fn answers_are_cut_into_messages() {
        let two = [&[20, 0, 0, 0, 2, 0][..], &[0; 14], &[18, 0, 0, 0, 3, 0], &[0; 10], &[7, 8]].concat();
        let (kind, body, rest) = message(&two).expect("a message");
        assert_eq!((kind, body.len()), (2, 4));
        let (kind, body, rest) = message(rest).expect("another");
        assert_eq!((kind, body, rest), (3, &[7, 8][..], &[][..]));
        assert!(message(rest).is_none() && message(&two[..19]).is_none());
    }
}
