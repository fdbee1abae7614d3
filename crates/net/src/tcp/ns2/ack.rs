//! The contents of an ACK, as the receiver sends it and as the sender sees it.

/// A SACK block: the segments from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub start: i32,
    /// The segment after the block's last.
    pub end: i32,
}

impl Block {
    /// Number of segments.
    pub fn len(&self) -> i32 {
        self.end - self.start
    }

    /// Whether the block is empty.
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

/// An ACK as the sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Highest segment received in order; -1 before the SYN.
    pub number: i32,
    /// Whether the ACK echoes a mark (ECE).
    pub echo: bool,
    /// The ACK's SACK blocks. A reference keeps the value in two registers.
    pub blocks: &'a Blocks,
}

impl Ack<'static> {
    /// A cumulative ACK without ECE and SACK.
    pub fn plain(number: i32) -> Self {
        Ack { number, echo: false, blocks: &Blocks::NONE }
    }
}

/// Largest number of SACK blocks in an ACK (`maxSackBlocks_`).
pub const MOST_BLOCKS: usize = 3;

/// The SACK blocks of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    pub(super) blocks: [Block; MOST_BLOCKS],
    pub(super) count: u8,
}

impl Blocks {
    /// No blocks.
    pub const NONE: Blocks = Blocks { blocks: [Block { start: 0, end: 0 }; MOST_BLOCKS], count: 0 };

    /// Adds a block.
    pub(super) fn push(&mut self, block: Block) {
        self.blocks[usize::from(self.count)] = block;
        self.count += 1;
    }

    /// The blocks as a slice.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// An ACK to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Highest segment received in order; -1 before the SYN.
    pub number: i32,
    /// Whether the ACK echoes a mark (ECE).
    pub echo: bool,
    /// SACK blocks, the newest first.
    pub blocks: Blocks,
}

/// A receiver's reaction to a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// An immediate ACK; a running delayed-ACK timer is void.
    Now(Answer),
    /// A delayed ACK: wait this long, s, for another segment (`Receiver::on_timer`).
    Later(f64),
}
