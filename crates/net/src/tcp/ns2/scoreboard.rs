//! The SACK scoreboard of a sender (ns-2.35 `scoreboard-rq.cc` on `rq.cc`).

use super::ack::Block;

/// SACKed segments above the ACK, as disjoint blocks in rising order.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    blocks: Vec<Block>,
    /// One above the highest ACK that the scoreboard has seen (`sack_min`).
    low: i32,
    /// Start of the search for the next hole (`h_seqno_`).
    hint: i32,
    /// Segments in the blocks.
    total: i32,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Scoreboard { blocks: Vec::new(), low: -1, hint: -1, total: 0 }
    }

    /// Removes the blocks; `low` stays.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.total = 0;
        self.hint = -1;
    }

    /// Processes an ACK; returns whether it was new.
    pub(super) fn update(&mut self, ack: i32, blocks: &[Block]) -> bool {
        let before = self.total;
        let mut changed = false;
        if self.low <= ack {
            self.low = ack + 1;
            if !self.blocks.is_empty() {
                self.trim_below_low();
                // An ACK changes the scoreboard even if nothing was removed, as in ns-2.
                changed = true;
            }
        }
        for &block in blocks {
            self.merge(block);
        }
        // The total is compared with that before the removal, as in ns-2.
        changed || before != self.total
    }

    fn trim_below_low(&mut self) {
        let low = self.low;
        let gone = self.blocks.iter().take_while(|block| block.end <= low).count();
        self.blocks.drain(..gone);
        if let Some(first) = self.blocks.first_mut() {
            first.start = first.start.max(low);
        }
        self.total = self.blocks.iter().map(Block::len).sum();
    }

    fn merge(&mut self, mut new: Block) {
        let first = self.blocks.partition_point(|block| block.end < new.start);
        let mut after = first;
        while let Some(block) = self.blocks.get(after).filter(|block| block.start <= new.end) {
            new = Block { start: new.start.min(block.start), end: new.end.max(block.end) };
            self.total -= block.len();
            after += 1;
        }
        self.total += new.len();
        self.blocks.splice(first..after, [new]);
        if self.low >= new.start {
            self.low = new.end;
        }
    }

    /// The next hole to retransmit: the hint, or the end of the block around it if another block lies above.
    pub(super) fn next_hole(&mut self) -> Option<i32> {
        self.hint = self.hint.max(self.low);
        let at = self.blocks.iter().position(|block| block.end >= self.hint)?;
        let block = self.blocks[at];
        let hole = if block.start > self.hint {
            self.hint
        } else if at + 1 < self.blocks.len() {
            block.end
        } else {
            return None;
        };
        if hole <= 0 {
            return None;
        }
        self.hint = self.hint.max(hole);
        Some(hole)
    }

    /// Notes that `seq` is retransmitted.
    pub(super) fn mark(&mut self, seq: i32) {
        self.hint = self.hint.max(seq + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: i32, end: i32) -> Block {
        Block { start, end }
    }

    #[test]
    fn holes_are_found_below_the_last_block_only() {
        let mut board = Scoreboard::new();
        assert!(!board.update(9, &[]), "nothing new");
        assert!(board.update(9, &[block(12, 15)]));
        assert!(!board.update(9, &[block(13, 15)]), "known already");
        assert!(board.update(9, &[block(20, 21), block(12, 15)]));
        let mut holes = vec![];
        while let Some(hole) = board.next_hole() {
            holes.push(hole);
            board.mark(hole);
        }
        assert_eq!(holes, [10, 11, 15, 16, 17, 18, 19]);
    }

    #[test]
    fn blocks_merge_where_they_touch() {
        let mut board = Scoreboard::new();
        board.update(0, &[block(5, 6)]);
        board.update(0, &[block(8, 9)]);
        board.update(0, &[block(6, 8)]);
        assert_eq!(board.blocks, [block(5, 9)]);
        assert_eq!(board.total, 4);
    }

    #[test]
    fn an_ack_trims_blocks_and_counts_as_new_if_there_are_some() {
        let mut board = Scoreboard::new();
        board.update(0, &[block(3, 5), block(8, 12)]);
        assert!(board.update(9, &[]));
        assert_eq!(board.blocks, [block(10, 12)]);
        assert!(!board.update(9, &[]));
        board.clear();
        assert!(!board.update(10, &[]), "no block is left");
        assert_eq!(board.low, 11);
    }
}
