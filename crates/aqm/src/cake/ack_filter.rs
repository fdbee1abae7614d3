//! The ACK filter: which queued ACK a new packet of the same flow makes redundant (cake_ack_filter).

use super::parameters::AckFilter;
use crate::header::TcpHeader;

/// Whether sequence number `a` comes after `b`.
fn after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

/// A queued packet, as the filter sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued<'a> {
    /// Its place among the queue's packets, the head first.
    pub place: usize,
    /// The flow of the packet, not only of the queue.
    pub flow: u64,
    pub tcp: Option<&'a TcpHeader>,
}

/// The place of the ACK to drop, if any, now that `new` of `flow` is at the tail; `queued` are the packets before it.
pub(super) fn redundant<'a>(
    filter: AckFilter,
    flow: u64,
    new: &TcpHeader,
    queued: impl Iterator<Item = Queued<'a>>,
) -> Option<usize> {
    if filter == AckFilter::Off || !new.acknowledges {
        return None;
    }
    // The eligible ACK nearest to the head, its flags, and how many eligible ones follow it.
    let (mut found, mut flags, mut count) = (None, 0, 0);
    let mut length = 0;
    for old in queued {
        length = old.place + 1;
        let Some(tcp) = old.tcp.filter(|_| old.flow == flow) else { continue };
        // ECE or CWR has changed: the ACK before the change must stay.
        if found.is_some() && tcp.ecn_flags != flags {
            found = None;
            count -= 1;
        }
        if !may_drop(tcp, new) || tcp.data || after(tcp.ack, new.ack) {
            continue;
        }
        match compare_sacks(tcp, new) {
            Sacks::Needed => continue,
            Sacks::Equal if tcp.ack == new.ack => continue,
            _ => {}
        }
        if found.is_none() {
            (found, flags) = (Some(old.place), tcp.ecn_flags);
        }
        count += 1;
        if count > 1 {
            return found;
        }
    }
    // In aggressive mode a single eligible ACK goes too, if it is next to the new one and no flag would be lost.
    found.filter(|&place| filter == AckFilter::Aggressive && place + 1 == length && flags == new.ecn_flags)
}

/// cake_tcph_may_drop: `old` is an ACK without anything that must not be lost.
fn may_drop(old: &TcpHeader, new: &TcpHeader) -> bool {
    let newer = |(value, echo): (u32, u32)| {
        let (last, last_echo) = new.stamps.unwrap_or((0, 0));
        after(value, last) || after(echo, last_echo)
    };
    old.plain_ack && !old.other_options && !old.stamps.is_some_and(newer)
}

/// What `cake_tcph_sack_compare` says.
#[derive(PartialEq, Eq)]
enum Sacks {
    /// The old ACK says something that the new one does not.
    Needed,
    /// Both SACK the same bytes.
    Equal,
    /// The new ACK SACKs more.
    Less,
}

fn compare_sacks(old: &TcpHeader, new: &TcpHeader) -> Sacks {
    let (old_blocks, new_blocks) = (old.sacked(), new.sacked());
    match (old_blocks.is_empty(), new_blocks.is_empty()) {
        (true, true) => return Sacks::Equal,
        (false, true) => return Sacks::Needed,
        (true, false) => return Sacks::Less,
        (false, false) => {}
    }
    for &(start, end) in old_blocks {
        // A DSACK; or a block that the new ACK does not cover.
        let covered = new_blocks.iter().any(|&(from, to)| !after(from, start) && !after(end, to));
        if after(old.ack, start) || !covered {
            return Sacks::Needed;
        }
    }
    let bytes =
        |blocks: &[(u32, u32)]| -> u64 { blocks.iter().map(|&(start, end)| u64::from(end.wrapping_sub(start))).sum() };
    if bytes(new_blocks) > bytes(old_blocks) {
        Sacks::Less
    } else {
        Sacks::Equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ack: u32, blocks: &[(u32, u32)]) -> TcpHeader {
        let mut header = TcpHeader { ack, block_count: blocks.len() as u8, ..TcpHeader::default() };
        header.blocks[..blocks.len()].copy_from_slice(blocks);
        header
    }

    #[test]
    fn an_ack_with_sacks_is_needed_unless_another_covers_them() {
        let old = header(100, &[(200, 300)]);
        let with = |blocks: &[(u32, u32)]| compare_sacks(&old, &header(100, blocks));
        assert!(matches!(with(&[(200, 300)]), Sacks::Equal));
        assert!(matches!(with(&[(200, 400)]), Sacks::Less));
        for blocks in [&[][..], &[(150, 250)], &[(250, 400)], &[(400, 500)], &[(150, 250), (250, 400)]] {
            assert!(matches!(with(blocks), Sacks::Needed), "{blocks:?}");
        }
        let duplicate = header(300, &[(200, 300)]);
        assert!(matches!(compare_sacks(&duplicate, &header(300, &[(200, 300)])), Sacks::Needed), "a DSACK");
    }
}
