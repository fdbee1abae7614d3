//! The settings of all flows, shared between equal ones: with 100,000 flows copies would take 7 MB.

use crate::engine::network::FlowSpec;

/// The settings of all flows.
pub struct Specs {
    /// Without start and clock phase, which differ between flows.
    kinds: Vec<FlowSpec>,
    /// Index into `kinds` by flow.
    kind_of: Vec<u32>,
    /// By flow: when it starts, s.
    starts: Vec<f64>,
}

impl Specs {
    /// A flow shares the settings of the previous flow if they are equal.
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

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// A flow's settings without its start and clock phase.
    #[inline]
    pub fn kind(&self, flow: u32) -> &FlowSpec {
        &self.kinds[self.kind_of[flow as usize] as usize]
    }

    /// A flow's settings with its start and this clock phase, s.
    pub fn whole(&self, flow: u32, clock_phase: f64) -> FlowSpec {
        FlowSpec { start: self.start(flow), clock_phase, ..self.kind(flow).clone() }
    }

    /// When a flow starts, s.
    pub fn start(&self, flow: u32) -> f64 {
        self.starts[flow as usize]
    }
}
