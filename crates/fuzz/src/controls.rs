//! Lines that change a link while it runs, of any bytes: refused, or within bounds and the same again.

use crate::Input;
use earlydrop_aqm::Link;
use earlydrop_sim::scenario::control::{changes, Controlled, KEYS};
use earlydrop_sim::scenario::queue;

const QUEUES: &[&str] = &["codel", "red", "pie", "droptail", "fq_codel", "parent=tbf rate=1mbit child.aqm=codel"];
const VALUES: &[&str] =
    &["5mbit", "0bit/s", "20 ms", "8ms", "1e9", "-1", "nan", "[[", "{a=1}", "\"x", "1e300s", "'5 ms'"];
const NAMES: &[&str] = &["target", "max_p", "min_th", "limit", "ecn", "interval", "x.y", ".", ""];

/// A line: text as it is, or settings of which parts are right.
fn line(input: &mut Input<'_>) -> String {
    if input.one_in(3) {
        return String::from_utf8_lossy(input.bytes(1200)).into_owned();
    }
    let words = (0..1 + input.below(5)).map(|_| {
        let key = input.of(KEYS);
        let name = if key.ends_with("queue") { format!(".{}", input.of(NAMES)) } else { String::new() };
        format!("{key}{name}={}", input.of(VALUES))
    });
    words.collect::<Vec<_>>().join(" ")
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let link = Link { rate_bps: 10e6, delay_s: 0.01 };
    let spec = queue(input.of(QUEUES), &link).expect("a queue").spec;
    let one = Controlled { rate_bps: Some(10e6), delay_s: 0.01, queue: Some(spec), link };
    let mut ways = [one.clone(), Controlled { rate_bps: None, ..one }];
    while !input.is_empty() {
        let line = line(&mut input);
        let again = changes(&line, &ways).map(|(_, next)| next.map(|way| way.shown()));
        match changes(&line, &ways) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                assert_eq!(again.err().as_ref(), Some(&error));
            }
            Ok((made, next)) => {
                assert!(next[1].rate_bps.is_none(), "a rate that changes by itself");
                for change in &made {
                    assert!(change.rate_bps.is_none_or(|rate| rate > 0.0 && rate <= 1e15), "{line}");
                    assert!(change.delay_s.is_none_or(|delay| (0.0..=1e4).contains(&delay)), "{line}");
                }
                assert_eq!(again.ok(), Some(next.each_ref().map(Controlled::shown)), "{line}");
                ways = next;
            }
        }
    }
}
