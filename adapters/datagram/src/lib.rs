//! A protocol made up for this example: numbered datagrams, one acknowledgement for each, and a window that grows by one
//! in a round trip and halves at a loss or a CE mark (AIMD).
//!
//! Every datagram is worth as much as any other, as with a fountain code: for a lost one comes a new one.

use earlydrop_path::{Delivery, Drive, Ecn, Endpoint, Transmit};
use std::collections::VecDeque;

/// Payload of a datagram, B. It begins with the number.
pub const SIZE: usize = 1200;
/// A datagram is lost when one that was sent so much later has arrived.
const REORDERING: u64 = 3;
/// Without an acknowledgement for so many round trips, and this time, s, all that is under way is lost.
const PATIENCE: (f64, f64) = (3.0, 0.2);

/// Sends until so many datagrams are acknowledged.
#[derive(Default)]
pub struct Sender {
    goal: u64,
    /// Datagrams that have arrived.
    pub acknowledged: u64,
    /// Number of the next datagram.
    next: u64,
    /// Under way: number, and when it was sent, s.
    flight: VecDeque<(u64, f64)>,
    /// Datagrams that may be under way.
    window: f64,
    /// The window has halved for what was sent before this number. 0: it doubles in a round trip.
    halved: u64,
    /// Round-trip time, smoothed, s.
    round_trip: f64,
}

impl Sender {
    /// `goal` datagrams are to arrive.
    pub fn new(goal: u64) -> Sender {
        Sender { goal, window: 10.0, ..Sender::default() }
    }

    fn congestion(&mut self, number: u64) {
        if number >= self.halved {
            (self.window, self.halved) = ((self.window / 2.0).max(2.0), self.next);
        }
    }
}

impl Endpoint for Sender {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        // An acknowledgement: the number, and whether the datagram had a mark.
        let Some((&number, &[marked])) = datagram.payload.split_first_chunk() else { return };
        let number = u64::from_be_bytes(number);
        // One that was given up may still arrive.
        let Some(place) = self.flight.iter().position(|&(sent, _)| sent == number) else { return };
        let sample = now - self.flight.remove(place).map_or(now, |(_, time)| time);
        self.round_trip += (sample - self.round_trip) / if self.acknowledged == 0 { 1.0 } else { 8.0 };
        self.acknowledged += 1;
        self.window += if self.halved == 0 { 1.0 } else { 1.0 / self.window };
        if marked != 0 {
            self.congestion(number);
        }
        while let Some(&(lost, _)) = self.flight.front().filter(|&&(sent, _)| sent + REORDERING <= number) {
            self.flight.pop_front();
            self.congestion(lost);
        }
    }
    fn poll_transmit(&mut self, now: f64) -> Option<Transmit> {
        let flight = self.flight.len() as u64;
        if flight as f64 + 1.0 > self.window || self.acknowledged + flight >= self.goal {
            return None;
        }
        let mut payload = vec![0; SIZE];
        payload[..8].copy_from_slice(&self.next.to_be_bytes());
        self.flight.push_back((self.next, now));
        self.next += 1;
        Some(Transmit { payload, ecn: Ecn::Ect0 })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        Some(self.flight.front()?.1 + (PATIENCE.0 * self.round_trip).max(PATIENCE.1))
    }
    fn handle_timeout(&mut self, _now: f64) {
        self.flight.clear();
        self.congestion(self.next);
        self.window = 2.0;
    }
    fn drive(&mut self, _now: f64) -> Drive {
        if self.acknowledged >= self.goal {
            Drive::Done
        } else {
            Drive::Wait
        }
    }
}

/// Acknowledges each datagram at once.
#[derive(Default)]
pub struct Receiver {
    acknowledgements: VecDeque<Vec<u8>>,
}

impl Endpoint for Receiver {
    fn handle(&mut self, _now: f64, datagram: Delivery) {
        let Some(number) = datagram.payload.first_chunk::<8>() else { return };
        let marked = u8::from(datagram.ecn == Ecn::Ce);
        self.acknowledgements.push_back([number.as_slice(), &[marked]].concat());
    }
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        Some(Transmit { payload: self.acknowledgements.pop_front()?, ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        None
    }
    fn handle_timeout(&mut self, _now: f64) {}
    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Done
    }
}
