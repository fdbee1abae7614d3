//! Careful Resume (RFC 9959, once draft-ietf-tsvwg-careful-resume): a connection jumps to half of the window that an
//! earlier one between the same hosts used, once the initial window shows that the path is the same, and retreats if
//! that was too much. The steps are in `connection/resume.rs`.

use super::settings::Settings;

/// A round-trip time below the saved one by this factor, or above by the next, is another path ("Confirming the path").
const SHORTER: f64 = 2.0;
const LONGER: f64 = 10.0;
/// Number of initial windows from which on parameters are worth saving ("Observing Phase").
const WORTH: f64 = 4.0;
/// The jump goes to this part of the saved window, at most a half ("Setting the jump_cwnd"); a retreat to the second
/// part of what has been delivered ("Re-initializing CC").
const JUMP: f64 = 0.5;
const RETREAT: f64 = 0.5;

/// What is remembered of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saved {
    /// The least round-trip time, s.
    pub rtt: f64,
    /// The most segments delivered in a round trip.
    pub cwnd: f64,
}

/// The phases of Careful Resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The initial window looks at the path.
    Reconnaissance,
    /// cwnd has jumped; what is sent is paced over a round trip.
    Unvalidated,
    /// Data sent after the jump are being acknowledged.
    Validating,
    /// Congestion followed the jump.
    SafeRetreat,
    /// Careful Resume is over.
    Normal,
}

/// The state of Careful Resume.
#[derive(Clone, Debug)]
pub(super) struct Resume {
    pub stage: Stage,
    saved: Option<Saved>,
    /// Segments known to fit into the path (PipeSize).
    pub pipe_size: f64,
    /// The first number sent after the jump; below, the number after the last sent unvalidated.
    pub first: u64,
    pub last: u64,
    /// When the jump was, s, and its pacing rate, segments/s.
    pub since: f64,
    pub rate: f64,
    /// ssthresh is this part of PipeSize when a retreat ends.
    pub beta: f64,
    /// Observing: end of the round trip in progress, what it has delivered, and the most that any has, segments.
    round_end: u64,
    delivered: f64,
    most: f64,
    initial: f64,
}

impl Resume {
    /// The state; `None` if the option is off.
    pub fn new(settings: &Settings) -> Option<Box<Self>> {
        let given = settings.resume.saved_cwnd.filter(|_| settings.resume.saved_rtt > 0.0);
        settings.resume.on.then(|| {
            Box::new(Resume {
                stage: Stage::Reconnaissance,
                saved: given.map(|cwnd| Saved { rtt: settings.resume.saved_rtt, cwnd: f64::from(cwnd) }),
                pipe_size: 0.0,
                first: 0,
                last: 0,
                since: 0.0,
                rate: 0.0,
                beta: 0.0,
                round_end: 0,
                delivered: 0.0,
                most: 0.0,
                initial: settings.initial_window(),
            })
        })
    }

    /// Takes the parameters of an earlier connection.
    pub fn remember(&mut self, saved: Saved) {
        self.saved = Some(saved);
    }

    /// What the next connection may know: from this one if it has used enough, else what this one knew.
    pub fn saved(&self, rtt: f64) -> Option<Saved> {
        if self.most >= WORTH * self.initial && rtt.is_finite() {
            return Some(Saved { rtt, cwnd: self.most });
        }
        self.saved
    }

    /// An ACK delivers `segments`; everything below `una` is acknowledged, everything below `next` sent.
    pub fn observe(&mut self, una: u64, next: u64, segments: f64) {
        self.delivered += segments;
        if una >= self.round_end {
            self.most = if self.round_end > 0 { self.most.max(self.delivered) } else { self.most };
            (self.round_end, self.delivered) = (next, 0.0);
        }
    }

    /// The window to jump to, segments; `None` if there is none, or if this round-trip time shows another path.
    pub fn jump(&self, rtt: f64) -> Option<f64> {
        let saved = self.saved.filter(|saved| saved.cwnd >= WORTH * self.initial)?;
        let same = saved.rtt <= SHORTER * rtt && rtt <= LONGER * saved.rtt;
        same.then(|| (saved.cwnd * JUMP).floor())
    }

    /// Whether the window has not yet been shown to fit the path.
    pub fn is_at_risk(&self) -> bool {
        matches!(self.stage, Stage::Unvalidated | Stage::Validating)
    }

    /// The rate, segments/s, at which everything is paced while cwnd has jumped.
    pub fn pacing_rate(&self) -> Option<f64> {
        (self.stage == Stage::Unvalidated).then_some(self.rate)
    }

    /// The congestion control answers congestion with this ssthresh. Returns the window of a retreat, if that starts
    /// one ("Safe Retreat Phase": the parameters are removed).
    pub fn retreat(&mut self, ssthresh: f64, next: u64) -> Option<f64> {
        if self.stage == Stage::Reconnaissance {
            self.stage = Stage::Normal;
        }
        if !self.is_at_risk() {
            return None;
        }
        if self.stage == Stage::Unvalidated {
            self.last = next;
        }
        (self.stage, self.saved, self.most) = (Stage::SafeRetreat, None, 0.0);
        self.beta = (ssthresh / self.pipe_size).min(1.0);
        Some((self.pipe_size * RETREAT).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::{GrowthRules, ResumeRules};
    use super::*;

    #[test]
    fn a_jump_needs_a_path_like_the_saved_one_and_a_window_that_is_worth_it() {
        let jump = |rtt, cwnd: u32, now| {
            let settings = Settings {
                resume: ResumeRules { on: true, saved_rtt: rtt, saved_cwnd: Some(cwnd) },
                growth: GrowthRules { initial_window: Some(10), ..GrowthRules::default() },
                ..Settings::default()
            };
            Resume::new(&settings).and_then(|resume| resume.jump(now))
        };
        assert_eq!(jump(0.1, 201, 0.1), Some(100.0));
        assert_eq!([0.049, 0.05, 1.0, 1.01].map(|now| jump(0.1, 200, now).is_some()), [false, true, true, false]);
        assert_eq!([39, 40].map(|cwnd| jump(0.1, cwnd, 0.1)), [None, Some(20.0)]);
        assert_eq!(jump(0.0, 200, 0.1), None, "both are needed");
    }

    #[test]
    fn the_most_of_any_round_trip_is_saved() {
        let settings = Settings {
            resume: ResumeRules { on: true, ..ResumeRules::default() },
            growth: GrowthRules { initial_window: Some(10), ..GrowthRules::default() },
            ..Settings::default()
        };
        let mut resume = Resume::new(&settings).expect("on");
        for (una, next, segments) in [(11, 31, 10.0), (21, 51, 10.0), (31, 71, 10.0), (71, 151, 40.0), (151, 311, 80.0)]
        {
            resume.observe(una, next, segments);
        }
        assert_eq!(resume.saved(0.1), Some(Saved { rtt: 0.1, cwnd: 80.0 }));
        assert_eq!(resume.saved(f64::INFINITY), None);
        assert_eq!([39.0, 40.0].map(|most| Resume { most, ..*resume.clone() }.saved(0.1).is_some()), [false, true]);
    }
}
