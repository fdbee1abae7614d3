//! The cases for a stack from outside: what is measured of one whose behaviour is known.

use earlydrop_path::conform::{run, About, Flow, Pair};
use earlydrop_path::{Counts, Delivery, Drive, Ecn, Endpoint, Error, Transmit};
use serde_json::Value;

const PAYLOAD: u64 = 1222;

/// Has a fixed number of datagrams of 1,250 B on the wire under way: nothing is lost in the cases below.
struct Window {
    credit: u64,
    /// Answers that are answered by two datagrams: the window begins with 30.
    twice: u64,
}

#[derive(Default)]
struct Echo {
    answers: u64,
    received: u64,
}

impl Endpoint for Window {
    fn handle(&mut self, _now: f64, _datagram: Delivery) {
        self.credit += 1 + u64::from(self.twice > 0);
        self.twice = self.twice.saturating_sub(1);
    }
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        self.credit = self.credit.checked_sub(1)?;
        Some(Transmit { payload: vec![0; PAYLOAD as usize], ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        None
    }
    fn handle_timeout(&mut self, _now: f64) {}
    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Wait
    }
}

impl Endpoint for Echo {
    fn handle(&mut self, _now: f64, datagram: Delivery) {
        self.answers += 1;
        self.received += datagram.payload.len() as u64;
    }
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        self.answers = self.answers.checked_sub(1)?;
        Some(Transmit { payload: vec![0; 20], ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        None
    }
    fn handle_timeout(&mut self, _now: f64) {}
    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Wait
    }
    fn counts(&self) -> Option<Counts> {
        Some(Counts { delivered: Some(self.received), ..Counts::default() })
    }
}

/// What is measured with this window in each flow.
fn measured(window: u64, cases: &[u32]) -> Value {
    let pair = |_: &Flow| -> Result<Pair, Error> {
        Ok((Box::new(Window { credit: 30, twice: window - 30 }), Box::new(Echo::default())))
    };
    run(&About::new("fixed window").seeds(2).cases(cases), pair).expect("measures")
}

fn values(found: &Value, case: &str, measure: &str) -> Vec<f64> {
    let values = found["cases"][case]["measures"][measure].as_array().expect("values");
    values.iter().map(|value| value.as_f64().expect("a number")).collect()
}

#[test]
fn a_fixed_window_has_its_goodput_and_its_queue() {
    // 20 Mbit/s and 40 ms carry 80 datagrams; 40 more wait, for 20 ms.
    let found = measured(120, &[103]);
    assert_eq!((&found["format"], &found["stack"]), (&"earlydrop conform 1".into(), &"quic".into()));
    for goodput in values(&found, "103", "goodput") {
        assert!((goodput - 20.0 * PAYLOAD as f64 / 1250.0).abs() < 0.02, "{goodput}");
    }
    for delay in values(&found, "103", "delay") {
        assert!((delay - 20.0).abs() < 1.0, "{delay}");
    }
    assert_eq!(values(&found, "103", "drop_rate"), [0.0, 0.0]);
    // A half of the window has half of the rate, and no queue.
    let half = values(&measured(40, &[103]), "103", "goodput");
    assert!(half.iter().all(|goodput| (goodput - 10.0 * PAYLOAD as f64 / 1250.0).abs() < 0.2), "{half:?}");
}

#[test]
fn equal_flows_have_an_equal_share_and_a_late_one_its_part() {
    let found = measured(30, &[106, 108]);
    assert!(values(&found, "106", "jain").iter().all(|&jain| jain > 0.999));
    // Each has 30 of the 80 that the path holds, so that neither waits; the late one starts up to half a second late.
    for share in values(&found, "108", "share") {
        assert!((47.0..50.1).contains(&share), "{share}");
    }
}

#[test]
fn the_others_of_a_case_are_ours_and_the_same_call_gives_the_same() {
    let found = measured(40, &[121]);
    let rival = values(&found, "121", "rival");
    assert!(rival.iter().all(|&goodput| (5.0..15.0).contains(&goodput)), "{rival:?}");
    let delay = values(&found, "121", "delay");
    assert_ne!(delay[0], delay[1], "seeds differ: {found}");
    assert_eq!(found, measured(40, &[121]));
}

#[test]
fn cases_that_are_left_out_say_why_and_unknown_ones_are_refused() {
    let found = measured(40, &[1, 109]);
    assert_eq!(found["cases"]["109"]["why"], "its flows are finite");
    assert_eq!(found["cases"]["1"]["why"], "looks at the states of our bbr3");
    let pair = |_: &Flow| -> Result<Pair, Error> { Err(Error::Call("not called".into())) };
    let error = run(&About::new("none").cases(&[7777]), pair).expect_err("no such case");
    assert!(error.to_string().starts_with("case 7777; allowed 1, "), "{error}");
    let error = run(&About::new("none").cases(&[103]), pair).expect_err("the factory fails");
    assert_eq!(error.to_string(), "not called");
}
