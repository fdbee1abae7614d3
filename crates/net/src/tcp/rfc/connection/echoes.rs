//! The time stamps that segments echo (RFC 7323, 4.3), from which a receiver measures the round-trip time.
//!
//! Segments do not carry them: what a segment echoes is the newest time stamp that had come when it was sent. So a list
//! of when ACKs came says it for every segment in flight.

use crate::tcp::rfc::wire::ROUNDED;
use std::collections::VecDeque;

/// When ACKs came, and their time stamps, s.
#[derive(Clone, Debug, Default)]
pub(super) struct Echoes(VecDeque<(f64, f64)>);

impl Echoes {
    /// An ACK that left at `sent` comes. What was sent before `oldest` has arrived.
    pub fn came(&mut self, now: f64, sent: f64, oldest: f64) {
        while self.0.get(1).is_some_and(|&(came, _)| came < oldest - ROUNDED) {
            self.0.pop_front();
        }
        if self.0.back().is_none_or(|&(_, last)| last < sent) {
            self.0.push_back((now, sent));
        }
    }

    /// What a segment echoes that was sent at this time.
    pub fn at(&self, time: f64) -> Option<f64> {
        let after = self.0.partition_point(|&(came, _)| came <= time + ROUNDED);
        after.checked_sub(1).map(|last| self.0[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_echoes_what_had_come_when_it_left() {
        let mut echoes = Echoes::default();
        assert_eq!(echoes.at(0.0), None);
        for (now, sent) in [(0.1, 0.05), (0.2, 0.15), (0.21, 0.14), (0.3, 0.25)] {
            echoes.came(now, sent, 0.1);
        }
        assert_eq!([0.05, 0.1, 0.25, 0.3].map(|time| echoes.at(time)), [None, Some(0.05), Some(0.15), Some(0.25)]);
        echoes.came(0.4, 0.35, 0.3);
        assert_eq!([0.15, 0.25, 0.35, 0.4].map(|time| echoes.at(time)), [None, Some(0.15), Some(0.25), Some(0.35)]);
    }
}
