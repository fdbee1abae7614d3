//! The flows' settings, kept once where many flows have the same: with 100,000 flows they would take 7 MB.

use crate::engine::network::FlowSpec;

/// The settings of all flows.
pub struct Specs {
    /// Without the start and the clock's phase, which are each flow's own.
    kinds: Vec<FlowSpec>,
    /// By flow: which of the kinds.
    kind_of: Vec<u32>,
    /// By flow: when it starts, s.
    starts: Vec<f64>,
}

impl Specs {
    /// Flows with the settings of the flow before share them.
    pub fn new(specs: &[FlowSpec]) -> Self {
        let mut kinds: Vec<FlowSpec> = Vec::new();
        let mut kind_of = Vec::with_capacity(specs.len());
        for spec in specs {
            let kind = FlowSpec { start: 0.0, clock_phase: 0.0, ..spec.clone() };
            if kinds.last() != Some(&kind) {
                kinds.push(kind);
            }
            kind_of.push(kinds.len() as u32 - 1);
        }
        Specs { kinds, kind_of, starts: specs.iter().map(|spec| spec.start).collect() }
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// A flow's settings but for its start and the phase of its clock.
    #[inline]
    pub fn kind(&self, flow: u32) -> &FlowSpec {
        &self.kinds[self.kind_of[flow as usize] as usize]
    }

    /// A flow's settings, its clock having this phase in seconds.
    pub fn whole(&self, flow: u32, clock_phase: f64) -> FlowSpec {
        FlowSpec { start: self.start(flow), clock_phase, ..self.kind(flow).clone() }
    }

    /// When a flow starts, s.
    pub fn start(&self, flow: u32) -> f64 {
        self.starts[flow as usize]
    }
}
