//! The addresses of a link: a tree of blocks, so that nested links choose theirs without coordination.
//!
//! Links outside of any link's namespace have blocks of 4096 addresses in 100.64.0.0/10, the shared address space (RFC
//! 6598), which is not routed on the Internet. The first address is the outer end's, the second the inner end's. A link
//! started behind another takes the upper half of the other's block, the next link there the upper half of the rest,
//! and so on. The IPv6 addresses are the IPv4 ones in fd65:6172:6c79::/96.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address space (RFC 6598), and the prefix length of the blocks in it.
const SPACE: (u32, u8) = (0x6440_0000, 10);
const PREFIX: u8 = 20;
/// Number of blocks.
pub const BLOCKS: u32 = 1 << (PREFIX - SPACE.1);
/// Prefix length of the smallest block: two addresses between the network's and the broadcast address.
const SMALLEST: u8 = 30;
const IPV6: u128 = 0xfd65_6172_6c79_0000_0000_0000_0000_0000;

/// The addresses of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    base: u32,
    prefix: u8,
}

impl Block {
    /// The block number `index`, below [`BLOCKS`].
    pub fn number(index: u32) -> Block {
        Block { base: SPACE.0 | index << (32 - PREFIX), prefix: PREFIX }
    }

    /// The block of which this address and prefix length are the inner end's; `None` if there is no such block.
    pub fn of_inner_end(address: Ipv4Addr, prefix: u8) -> Option<Block> {
        let base = address.to_bits().wrapping_sub(2);
        let inside = base >> (32 - SPACE.1) == SPACE.0 >> (32 - SPACE.1);
        let aligned = (PREFIX..=SMALLEST).contains(&prefix) && base.trailing_zeros() >= u32::from(32 - prefix);
        (inside && aligned).then_some(Block { base, prefix })
    }

    /// The `index`-th block inside this one, from 1; `None` if it would be too small.
    pub fn inside(self, index: u8) -> Option<Block> {
        let prefix = self.prefix.checked_add(index).filter(|&prefix| index > 0 && prefix <= SMALLEST)?;
        Some(Block { base: self.base | 1 << (32 - prefix), prefix })
    }

    /// Number of blocks inside this one.
    pub fn children(self) -> u8 {
        SMALLEST - self.prefix
    }

    /// Length of the IPv4 prefix.
    pub fn prefix(self) -> u8 {
        self.prefix
    }

    /// The default route for addresses of this family.
    pub fn everywhere(like: IpAddr) -> (IpAddr, u8) {
        match like {
            IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), 0),
            IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), 0),
        }
    }

    /// The IPv6 addresses of all links.
    pub fn all_ipv6() -> (IpAddr, u8) {
        (Ipv6Addr::from_bits(IPV6).into(), 96)
    }

    /// Addresses of the outer end, each with the length of its prefix.
    pub fn outer(self) -> [(IpAddr, u8); 2] {
        self.end(1)
    }

    /// Addresses of the inner end.
    pub fn inner(self) -> [(IpAddr, u8); 2] {
        self.end(2)
    }

    fn end(self, number: u32) -> [(IpAddr, u8); 2] {
        let four = self.base + number;
        let six = Ipv6Addr::from_bits(IPV6 | u128::from(four));
        [(Ipv4Addr::from_bits(four).into(), self.prefix), (six.into(), 96 + self.prefix)]
    }

    /// Whether the block shares addresses with a network. Default routes do not count.
    pub fn overlaps(self, network: Ipv4Addr, prefix: u8) -> bool {
        if prefix == 0 {
            return false;
        }
        let shorter = 32 - u32::from(prefix.min(self.prefix));
        network.to_bits() >> shorter == self.base >> shorter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(ends: [(IpAddr, u8); 2]) -> String {
        ends.map(|(address, prefix)| format!("{address}/{prefix}")).join(" ")
    }

    #[test]
    fn blocks_do_not_overlap_and_have_their_ends() {
        assert_eq!(text(Block::number(0).outer()), "100.64.0.1/20 fd65:6172:6c79::6440:1/116");
        assert_eq!(text(Block::number(0).inner()), "100.64.0.2/20 fd65:6172:6c79::6440:2/116");
        assert_eq!(text(Block::number(BLOCKS - 1).outer()), "100.127.240.1/20 fd65:6172:6c79::647f:f001/116");
        for index in 0..BLOCKS {
            let block = Block::number(index);
            let [(IpAddr::V4(inner), prefix), _] = block.inner() else { panic!("IPv4 first") };
            assert_eq!(Block::of_inner_end(inner, prefix), Some(block));
            assert!(index == 0 || !block.overlaps(Block::number(index - 1).base.into(), PREFIX));
        }
    }

    #[test]
    fn a_nested_link_takes_half_of_the_rest() {
        let outer = Block::number(3);
        let blocks: Vec<Block> = (1..=outer.children()).map(|i| outer.inside(i).expect("a block")).collect();
        assert_eq!(blocks.len(), 10);
        assert_eq!((outer.inside(0), outer.inside(11)), (None, None));
        for (i, block) in blocks.iter().enumerate() {
            assert!(outer.overlaps(block.base.into(), block.prefix), "inside");
            assert!(!block.overlaps((outer.base + 1).into(), 32) && !block.overlaps((outer.base + 2).into(), 32));
            assert!(blocks[..i].iter().all(|other| !other.overlaps(block.base.into(), block.prefix)));
        }
        // Ten links in a row.
        let mut deep = outer;
        for _ in 0..10 {
            deep = deep.inside(1).expect("a block");
        }
        assert_eq!((deep.prefix, deep.children()), (30, 0));
    }

    #[test]
    fn other_addresses_are_no_blocks() {
        for (address, prefix) in
            [("10.0.0.2", 24), ("100.64.0.3", 20), ("100.64.0.2", 19), ("100.64.0.6", 20), ("0.0.0.1", 20)]
        {
            assert_eq!(Block::of_inner_end(address.parse().expect("an address"), prefix), None, "{address}");
        }
        assert!(!Block::number(0).overlaps(Ipv4Addr::UNSPECIFIED, 0), "a default route is no conflict");
        assert!(Block::number(0).overlaps("100.64.0.0".parse().expect("an address"), 10));
    }
}
