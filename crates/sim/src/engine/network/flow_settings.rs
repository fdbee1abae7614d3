//! The settings of all flows, shared between equal ones: with 100,000 flows copies would take 7 MB.

use super::FlowSpec;

/// The settings of all flows.
#[derive(Default)]
pub struct FlowSettings {
    /// Without start and clock phase, which differ between flows.
    kinds: Vec<FlowSpec>,
    /// Index into `kinds` by flow; empty while there is one kind.
    kind_of: Vec<u32>,
    /// By flow: when it starts, s.
    starts: Vec<f64>,
    /// By flow: phase of the sender's RTT clock, s; empty once the senders have theirs.
    clock_phases: Vec<f64>,
}

impl FlowSettings {
    /// Makes room for so many flows.
    pub(super) fn reserve(&mut self, flows: usize) {
        self.starts.reserve_exact(flows);
        self.clock_phases.reserve_exact(flows);
    }

    /// Adds a flow, which shares the settings of the previous flow if they are equal.
    pub(super) fn push(&mut self, spec: FlowSpec) {
        self.starts.push(spec.start);
        self.clock_phases.push(spec.clock_phase);
        let kind = FlowSpec { start: 0.0, clock_phase: 0.0, ..spec };
        if self.kinds.last() != Some(&kind) {
            self.kinds.push(kind);
        }
        if self.kinds.len() > 1 {
            self.kind_of.resize(self.starts.len() - 1, 0);
            self.kind_of.push(self.kinds.len() as u32 - 1);
        }
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The different settings, without start and clock phase.
    pub fn kinds(&self) -> &[FlowSpec] {
        &self.kinds
    }

    /// Number of a flow's settings among the different ones.
    pub(in crate::engine) fn kind_number(&self, flow: u32) -> u32 {
        self.kind_of.get(flow as usize).copied().unwrap_or(0)
    }

    /// A flow's settings without its start and clock phase.
    #[inline]
    pub fn kind(&self, flow: u32) -> &FlowSpec {
        &self.kinds[self.kind_number(flow) as usize]
    }

    /// The settings of all flows in order, without their starts, each with its clock phase, s.
    pub(in crate::engine) fn in_order(&self) -> impl Iterator<Item = (&FlowSpec, f64)> {
        (0..).zip(&self.clock_phases).map(|(flow, &phase)| (self.kind(flow), phase))
    }

    /// The senders have their clock phases.
    pub(in crate::engine) fn forget_clock_phases(&mut self) {
        self.clock_phases = Vec::new();
    }

    /// When a flow starts, s.
    pub fn start(&self, flow: u32) -> f64 {
        self.starts[flow as usize]
    }

    /// The same for all flows.
    pub(in crate::engine) fn starts(&self) -> &[f64] {
        &self.starts
    }
}
