//! Web sessions: sessions arrive by a Poisson process, each with some pages, each page with some objects.
//!
//! The structure is that of ns-2's `PagePool/WebTraf` and of Feldmann et al., SIGCOMM 1999. Times run from start to
//! start, whether or not transfers have ended: the slower the network, the more sessions are active.

use super::distribution::Distribution;
use earlydrop_aqm::random::Generator;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An object that a session requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// Request time, in seconds since the first start.
    pub at: f64,
    /// Size, in bytes.
    pub bytes: u64,
}

/// The next object of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    /// Request time as the bits of a number that is not negative: they sort as the times do.
    at: u64,
    number: u64,
    objects: u64,
    pages: u64,
}

/// The distributions of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPattern {
    /// Time between the starts of sessions, in seconds.
    pub session_gap: Distribution,
    /// Pages of a session.
    pub pages: Distribution,
    /// Time between the starts of pages, in seconds.
    pub page_gap: Distribution,
    /// Objects of a page.
    pub objects: Distribution,
    /// Time between the starts of objects, in seconds.
    pub object_gap: Distribution,
    /// Size of an object, in bytes.
    pub size: Distribution,
}

/// All sessions, as one list of objects in the order of their times.
#[derive(Clone, Debug)]
pub struct Sessions {
    pattern: SessionPattern,
    next_session: f64,
    sessions: u64,
    open: BinaryHeap<Reverse<Visit>>,
}

impl Sessions {
    /// Starts without sessions; the first starts after one drawn gap.
    pub fn new(pattern: SessionPattern, random: &mut Generator) -> Self {
        let next_session = pattern.session_gap.draw(random);
        Sessions { pattern, next_session, sessions: 0, open: BinaryHeap::new() }
    }

    /// The next object.
    pub fn next(&mut self, random: &mut Generator) -> Object {
        let visit = loop {
            match self.open.peek() {
                Some(&Reverse(visit)) if f64::from_bits(visit.at) < self.next_session => break visit,
                _ => self.open_session(random),
            }
        };
        self.open.pop();
        let at = f64::from_bits(visit.at);
        let bytes = (self.pattern.size.draw(random) + 0.5) as u64;
        let next = |gap: f64, objects, pages| Reverse(Visit { at: (at + gap).to_bits(), objects, pages, ..visit });
        if visit.objects > 1 {
            let gap = self.pattern.object_gap.draw(random);
            self.open.push(next(gap, visit.objects - 1, visit.pages));
        } else if visit.pages > 1 {
            let objects = count(&self.pattern.objects, random);
            let gap = self.pattern.page_gap.draw(random);
            self.open.push(next(gap, objects, visit.pages - 1));
        }
        Object { at, bytes }
    }

    fn open_session(&mut self, random: &mut Generator) {
        let (pages, objects) = (count(&self.pattern.pages, random), count(&self.pattern.objects, random));
        self.sessions += 1;
        self.open.push(Reverse(Visit { at: self.next_session.to_bits(), number: self.sessions, objects, pages }));
        self.next_session += self.pattern.session_gap.draw(random);
    }
}

/// A drawn count, at least one.
fn count(of: &Distribution, random: &mut Generator) -> u64 {
    ((of.draw(random) + 0.5) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern() -> SessionPattern {
        SessionPattern {
            session_gap: Distribution::Exponential { mean: 0.5 },
            pages: Distribution::Geometric { mean: 5.0 },
            page_gap: Distribution::Exponential { mean: 1.0 },
            objects: Distribution::Geometric { mean: 4.0 },
            object_gap: Distribution::Exponential { mean: 0.05 },
            size: Distribution::Pareto { mean: 12_000.0, shape: 1.2, max: f64::INFINITY },
        }
    }

    #[test]
    fn objects_come_in_the_order_of_their_times_and_as_often_as_declared() {
        let mut random = Generator::stream(5, "test.sessions");
        let mut sessions = Sessions::new(pattern(), &mut random);
        let (mut last, mut objects) = (0.0, 0.0);
        while last < 20_000.0 {
            let object = sessions.next(&mut random);
            assert!(object.at >= last);
            last = object.at;
            objects += 1.0;
        }
        // 40,000 sessions of 20 objects on average (variance 600 by the law of total variance): the standard error of
        // the count is sqrt(40,000 (600 + 400)) = 6,325, or 0.8 %. 3.3 of these are allowed.
        assert!((objects / 800_000.0 - 1.0_f64).abs() < 0.026, "{objects}");
    }

    #[test]
    fn a_session_of_one_page_with_one_object() {
        let one = SessionPattern {
            session_gap: Distribution::Fixed(2.0),
            pages: Distribution::Fixed(1.0),
            objects: Distribution::Fixed(1.0),
            size: Distribution::Fixed(500.0),
            ..pattern()
        };
        let mut random = Generator::custom(|| panic!("drawn"));
        let mut sessions = Sessions::new(one, &mut random);
        let times: Vec<f64> = (0..3).map(|_| sessions.next(&mut random).at).collect();
        assert_eq!(times, [2.0, 4.0, 6.0]);
    }

    #[test]
    fn pages_and_objects_follow_in_turn() {
        let two = SessionPattern {
            session_gap: Distribution::Fixed(100.0),
            pages: Distribution::Fixed(2.0),
            page_gap: Distribution::Fixed(10.0),
            objects: Distribution::Fixed(2.0),
            object_gap: Distribution::Fixed(1.0),
            size: Distribution::Fixed(500.0),
        };
        let mut random = Generator::custom(|| panic!("drawn"));
        let mut sessions = Sessions::new(two, &mut random);
        let times: Vec<f64> = (0..5).map(|_| sessions.next(&mut random).at).collect();
        assert_eq!(times, [100.0, 101.0, 111.0, 112.0, 200.0]);
    }
}
