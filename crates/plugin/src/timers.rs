//! Timers of a policy: each later than the one before, and not so many that a run does nothing else.

/// Timers in a simulated second, at most.
pub const MOST: u32 = 100_000;

/// The timers of one policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timers {
    /// Start of the second that is counted, s.
    since: f64,
    count: u32,
}

impl Timers {
    /// Counts the timer of `now`, s.
    ///
    /// # Errors
    /// If there were more than [`MOST`] within a second.
    pub fn count(&mut self, now: f64) -> Result<(), String> {
        if now - self.since >= 1.0 {
            *self = Timers { since: now, count: 0 };
        }
        self.count += 1;
        if self.count > MOST {
            return Err(format!("next_timer asks for more than {MOST} timers in a second, at {now} s"));
        }
        Ok(())
    }

    /// What is wrong with a timer at `at` that is asked for at `now`, s.
    ///
    /// # Errors
    /// If `at` is not later than `now`.
    pub fn later(at: f64, now: f64) -> Result<(), String> {
        if at > now {
            Ok(())
        } else {
            Err(format!("next_timer asks for {at} s at {now} s; allowed are later times"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_in_a_second_are_refused_and_as_many_over_two_are_not() {
        let mut timers = Timers::default();
        assert!((0..MOST).all(|k| timers.count(f64::from(k) * 1e-6).is_ok()));
        assert!(timers.count(0.99).unwrap_err().starts_with("next_timer asks for more than 100000 timers in a second"));
        let mut slower = Timers::default();
        assert!((0..3 * MOST).all(|k| slower.count(f64::from(k) * 1.1e-5).is_ok()));
    }

    #[test]
    fn a_timer_is_later_than_now() {
        assert!(Timers::later(1.0 + 1e-9, 1.0).is_ok());
        assert!(Timers::later(1.0, 1.0).is_err());
    }
}
