//! State of sources without feedback.

use super::link::NONE;
use crate::engine::network::SourceSpec;
use earlydrop_aqm::random::Generator;
use earlydrop_net::source::Source;

/// An active source.
pub struct AtWork {
    pub source: Source,
    pub random: Generator,
    pub header: u32,
    pub stop: f64,
    /// Payload of the next packet, bytes; `None` before the first is drawn.
    pub next: u32,
    /// Packets sent, and payload received, bytes, within the window.
    pub sent: u64,
    pub received_bytes: u64,
}

/// All sources, and the source of each flow.
pub struct Sources {
    pub at_work: Vec<AtWork>,
    pub of_flow: Vec<u32>,
}

impl Sources {
    pub fn new(specs: Vec<(u32, SourceSpec)>, flows: usize) -> Self {
        let mut of_flow = if specs.is_empty() { Vec::new() } else { vec![NONE; flows] };
        let at_work = specs.into_iter().enumerate().map(|(index, (flow, spec))| {
            of_flow[flow as usize] = index as u32;
            let SourceSpec { source, header, stop, random, .. } = spec;
            AtWork { source, random, header, stop, next: 0, sent: 0, received_bytes: 0 }
        });
        Sources { at_work: at_work.collect(), of_flow }
    }

    /// Packets that a flow's source has sent, and payload received, bytes, within the window.
    pub fn counted(&self, flow: usize) -> Option<(u64, u64)> {
        let source = self.at_work.get(*self.of_flow.get(flow)? as usize)?;
        Some((source.sent, source.received_bytes))
    }
}
