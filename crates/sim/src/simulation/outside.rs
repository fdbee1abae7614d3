//! Hosts outside of the simulation: what they send, what reaches them, and their timers.

use super::Simulation;
use crate::engine::{Happening, Told};
use crate::scenario::ScenarioError;
use earlydrop_aqm::{Ecn, Packet};

impl Simulation {
    /// Runs the events before `time`, s, or before the end of the run, until a host outside is concerned: the flow that it
    /// concerns is one of a traffic entry of kind `outside`. `None` if nothing does before.
    pub fn run_to_happening(&mut self, time: f64) -> Option<Happening> {
        let time = time.min(self.scenario.duration);
        let happening = self.engine.run_to_happening(time);
        match &happening {
            Some(Happening::Delivered(delivery)) => self.now = delivery.at,
            Some(Happening::Timer(_, at)) => self.now = *at,
            None => self.now = self.now.max(time),
        }
        happening
    }

    /// The sender of `flow` (from 0), outside, sends a datagram at `now`, s. If the last happening was at `now` and the run
    /// has not gone on, the datagram sets out in the same event, else after all events at `now`.
    pub fn send_from_outside(&mut self, flow: u32, payload: Vec<u8>, ecn: Ecn, now: f64) {
        self.engine.send_from_outside(flow, payload, ecn, now);
    }

    /// The sender of `flow`, outside, is told at `time`, s; infinity cancels it. There is one time for each flow.
    pub fn wake_outside(&mut self, flow: u32, time: f64, now: f64) {
        self.engine.wake_outside(flow, time, now);
    }

    /// What the stacks at both ends say of `flow` at `now`, s, beyond what they have said before. A flow of which they say
    /// something has the delivered bytes as its goodput, others the payload of their datagrams.
    pub fn tell_outside(&mut self, flow: u32, more: Told, now: f64) {
        self.engine.tell_outside(flow, more, now);
    }

    /// Headers of the datagrams of `flow`, bytes; `None` if they do not come from outside.
    pub fn outside_header(&self, flow: u32) -> Option<u32> {
        self.engine.outside_header(flow)
    }

    /// The number and payload of the datagram that a packet of the log of a queue carries; `None` if it is not from outside.
    pub fn payload_outside(&self, packet: &Packet) -> Option<(u32, &[u8])> {
        self.engine.payload_outside(packet)
    }

    /// From now on payloads stay until [`settle_outside`](Self::settle_outside), also of datagrams that are gone.
    pub fn keep_outside(&mut self) {
        self.engine.keep_outside();
    }

    /// Nobody looks at the payloads of datagrams that are gone any more.
    pub fn settle_outside(&mut self) {
        self.engine.settle_outside();
    }

    /// A digest of what became of each datagram from outside, in the order of the ends: flow, number, time sent, time of
    /// the end, size on the wire, ECN field at both ends, fate.
    pub fn outside_digest(&self) -> u64 {
        self.engine.outside_digest()
    }

    /// The digest starts anew.
    pub fn restart_outside_digest(&mut self) {
        self.engine.restart_outside_digest();
    }

    /// The run ends at `time`, s, the present time: that is its duration.
    ///
    /// # Errors
    /// If the measured window has not started.
    pub fn end_at(&mut self, time: f64) -> Result<(), ScenarioError> {
        if time <= self.scenario.warmup {
            return Err(ScenarioError::new("warmup", "is not over at the end of the run")
                .given(format!("{} s, and an end at {} s", self.scenario.warmup, time))
                .allowed("a warmup that is shorter than the run"));
        }
        self.scenario.duration = time.min(self.scenario.duration);
        self.engine.end_at(time);
        Ok(())
    }
}
