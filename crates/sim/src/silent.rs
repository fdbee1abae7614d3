//! Flows that cannot send in the measured window: fairness is judged without them.

use crate::engine::{FlowOutcome, Outcome};
use crate::scenario::{Ftp, Load, Requests, Scenario, Traffic, Transfers};
use serde_json::{json, Value};

/// Why a flow cannot send in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It starts when the window is over.
    Late,
    /// It was to stop before its start.
    Never,
    /// It stopped before the window.
    Stopped,
    /// All its transfers were complete before the window.
    Complete,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Why::Late => "starts after the window",
            Why::Never => "stops before it starts",
            Why::Stopped => "stopped before the window",
            Why::Complete => "was complete before the window",
        }
    }
}

/// For each flow of a run why it cannot send, if it cannot.
pub struct Silent(Vec<Option<Why>>);

impl Silent {
    /// The silent flows of this run.
    pub fn of(scenario: &Scenario, outcome: &Outcome) -> Self {
        let kinds = scenario.traffic.iter().flat_map(|one| std::iter::repeat_n(one, one.flows() as usize));
        Silent(kinds.zip(&outcome.flows).map(|(traffic, flow)| why(scenario, traffic, flow)).collect())
    }

    /// Those of some flows, numbered from `first`, that can send.
    pub fn without<'a>(
        &'a self,
        first: usize,
        flows: &'a [FlowOutcome],
    ) -> impl Iterator<Item = &'a FlowOutcome> + Clone {
        flows.iter().zip(&self.0[first..]).filter(|(_, why)| why.is_none()).map(|(flow, _)| flow)
    }

    /// The flows that cannot send, neighbours of one kind together: first and last number, from 1, and the reason.
    pub fn table(&self) -> Option<Value> {
        let same = self.0.chunk_by(|one, other| one == other);
        let mut from = 1;
        let mut found = Vec::new();
        for run in same {
            if let Some(why) = run[0] {
                found.push(json!({ "flows": [from, from + run.len() - 1], "why": why.text() }));
            }
            from += run.len();
        }
        (!found.is_empty()).then(|| found.into())
    }
}

fn why(scenario: &Scenario, traffic: &Traffic, flow: &FlowOutcome) -> Option<Why> {
    // Flows of a browser wait for objects, so they can send.
    if matches!(traffic.load, Load::Web(_) | Load::Pages(_)) {
        return None;
    }
    if flow.start >= scenario.duration {
        return Some(Why::Late);
    }
    match traffic.load {
        Load::Transfers(Transfers { number: Some(number), .. })
        | Load::Requests(Requests { number: Some(number), .. }) => {
            let transfers = flow.transfers?;
            let before = transfers.ever_completed - transfers.completed;
            return (u64::from(before) >= number).then_some(Why::Complete);
        }
        // Data on their way when the flow stops are still sent.
        Load::Ftp(Ftp { lifetime: Some(lifetime), .. }) => {
            return (flow.start + lifetime <= scenario.warmup && flow.received == 0).then_some(Why::Stopped)
        }
        _ => {}
    }
    let stop = traffic.stop()?;
    if stop <= flow.start {
        return Some(Why::Never);
    }
    (stop <= scenario.warmup).then_some(Why::Stopped)
}

#[cfg(test)]
mod tests {
    use crate::run::{run, Events, Links};
    use crate::scenario::{check, Doc};
    use serde_json::{json, Value};

    /// The result for these entries, with the window from 4 s to 10 s.
    fn result(traffic: &str) -> Value {
        let text = format!(
            "name = 'w'\nduration = '10 s'\nwarmup = '4 s'\n[topology]\nkind = 'dumbbell'\npairs = 8\n\
             access = {{ rate = '10 Mbit/s', delay = '1 ms' }}\nbottleneck = {{ rate = '2 Mbit/s', delay = '10 ms' }}\n\
             [queue.bottleneck]\naqm = 'droptail'\nlimit = '50 packets'\n{traffic}"
        );
        let scenario = check(&Doc::from_toml(&text, None).unwrap(), None).unwrap();
        let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).unwrap();
        crate::result::document(&scenario, 1, &outcome, 0.0)
    }

    const CBR: &str = "[[traffic]]\nkind = 'cbr'\nrate = '200 kbit/s'\n";

    #[test]
    fn fairness_is_that_of_the_flows_that_can_send() {
        let transfer = "[[traffic]]\nkind = 'transfers'\nsize = '10 kB'\nstack = 'rfc'\n";
        let found = result(&format!(
            "{CBR}count = 2\n{CBR}count = 2\nstart = '10 s'\n{CBR}stop = '4 s'\n{CBR}start = '5 s'\nstop = '5 s'\n\
             {transfer}number = 1\ncount = 1\n"
        ));
        let named = json!([
            { "flows": [3, 4], "why": "starts after the window" },
            { "flows": [5, 5], "why": "stopped before the window" },
            { "flows": [6, 6], "why": "stops before it starts" },
            { "flows": [7, 7], "why": "was complete before the window" },
        ]);
        assert_eq!(found["cannot_send"], named);
        assert_eq!((&found["jain"], &found["traffic"][0]["jain"]), (&json!(1.0), &json!(1.0)));
        assert_eq!(found["cov"], 0.0);
        assert_eq!(found["traffic"][1]["jain"], 0.0, "none of these can send");
        // If some flows cannot pass a queue, only those that can count.
        let apart = result(&format!("{CBR}count = 2\n{CBR}start = '10 s'\n{CBR}direction = 'reverse'\n"));
        assert_eq!(apart["queues"]["bottleneck"]["passing"]["jain"], 1.0);
        assert_eq!(apart["queues"]["bottleneck"]["passing"]["flows"], 3);
    }

    #[test]
    fn flows_that_can_send_count_even_if_they_do_not() {
        // The first flow fills the link; the others are able to send, or have sent in the window.
        let found = result(&format!(
            "[[traffic]]\nkind = 'cbr'\nrate = '9 Mbit/s'\n{CBR}start = '9.999 s'\n{CBR}stop = '4.001 s'\n\
             [[traffic]]\nkind = 'transfers'\nsize = '10 kB'\nnumber = 2\nthink = '4 s'\nstack = 'rfc'\n"
        ));
        assert!(found.get("cannot_send").is_none());
        assert!(found["jain"].as_f64().unwrap() < 0.5, "{}", found["jain"]);
    }
}
