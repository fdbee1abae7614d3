//! What an acknowledgement says, at the receiver that sends it and at the sender.

/// Segments from `start` up to, not including, `end`, as a SACK block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub start: i32,
    /// One behind the last.
    pub end: i32,
}

impl Block {
    /// How many segments it has.
    pub fn len(&self) -> i32 {
        self.end - self.start
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

/// An acknowledgement as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Highest segment received in order; -1 before the SYN.
    pub number: i32,
    /// Whether it echoes a mark (ECE).
    pub echo: bool,
    /// Its SACK blocks. A reference to them keeps the value in two registers.
    pub blocks: &'a Blocks,
}

impl Ack<'static> {
    /// A cumulative ACK without more.
    pub fn plain(number: i32) -> Self {
        Ack { number, echo: false, blocks: &Blocks::NONE }
    }
}

/// SACK blocks in an ACK, at most (`maxSackBlocks_`).
pub const MOST_BLOCKS: usize = 3;

/// The SACK blocks of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    pub(super) blocks: [Block; MOST_BLOCKS],
    pub(super) count: u8,
}

impl Blocks {
    /// None.
    pub const NONE: Blocks = Blocks { blocks: [Block { start: 0, end: 0 }; MOST_BLOCKS], count: 0 };

    /// One more.
    pub(super) fn push(&mut self, block: Block) {
        self.blocks[usize::from(self.count)] = block;
        self.count += 1;
    }

    /// As a slice.
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// An acknowledgement to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Highest segment received in order; -1 before the SYN.
    pub number: i32,
    /// Whether it echoes a mark.
    pub echo: bool,
    /// SACK blocks, the newest first.
    pub blocks: Blocks,
}

/// What a receiver does with a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply {
    /// Acknowledges it at once; a timer of its own is void.
    Now(Answer),
    /// Waits so many seconds for another one ([`Receiver::on_timer`]).
    Later(f64),
}
