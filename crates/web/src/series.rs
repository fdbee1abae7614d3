//! Samples of queues and flows over time, in columns that a host reads where they are.

use crate::answer::Wrong;
use crate::limits;
use earlydrop_sim::scenario::ScenarioError;
use earlydrop_sim::simulation::Simulation;

/// Shortest interval, s.
const SHORTEST: f64 = 1e-6;

/// A queue as a host sees it.
pub struct Queue {
    /// Name in results.
    pub name: String,
    /// Its gauges, in the order of its discipline.
    pub gauges: Vec<&'static str>,
}

/// A queue that is sampled.
struct Sampled {
    name: String,
    gauges: Vec<&'static str>,
}

/// The columns so far.
pub struct Series {
    interval: f64,
    queues: Vec<Sampled>,
    flows: Vec<usize>,
    taken: u64,
    columns: Vec<Vec<f64>>,
    names: Vec<String>,
}

impl Series {
    /// Samples `queues` and the windows of `flows` (from 1) every `interval` s of a run of `duration` s.
    pub fn new(interval: f64, duration: f64, queues: &[&Queue], flows: Vec<usize>) -> Result<Self, Wrong> {
        if !(interval >= SHORTEST && interval.is_finite()) {
            let wrong = ScenarioError::new("sample_s", "is no interval").given(interval.to_string());
            return Err(wrong.allowed(format!("seconds from {SHORTEST}")).into());
        }
        let mut names = vec!["time_s".to_string()];
        for queue in queues {
            let own = ["packets", "average", "drops", "marks"].into_iter();
            names.extend(own.chain(queue.gauges.iter().copied()).map(|column| format!("{}.{column}", queue.name)));
        }
        names.extend(flows.iter().map(|flow| format!("flow.{flow}.cwnd")));
        let numbers = (duration / interval + 1.0) * names.len() as f64;
        if numbers > limits::RECORDED {
            let wrong = ScenarioError::new("sample_s", "makes too many samples").given(format!("{numbers:.0} numbers"));
            return Err(wrong.allowed(format!("at most {}", limits::RECORDED)).into());
        }
        let sampled = |queue: &&Queue| Sampled { name: queue.name.clone(), gauges: queue.gauges.clone() };
        let queues = queues.iter().map(sampled).collect();
        Ok(Series { interval, queues, flows, taken: 0, columns: vec![Vec::new(); names.len()], names })
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A column so far.
    pub fn column(&self, number: usize) -> Option<&[f64]> {
        self.columns.get(number).map(Vec::as_slice)
    }

    /// When the next sample is due, s.
    pub fn due(&self) -> f64 {
        self.taken as f64 * self.interval
    }

    /// Takes the sample that is due now.
    pub fn sample(&mut self, simulation: &mut Simulation) {
        let mut row = vec![self.due()];
        for queue in &self.queues {
            let Some(state) = simulation.queue(&queue.name) else { continue };
            row.extend([
                state.packets as f64,
                state.average.unwrap_or(f64::NAN),
                state.counters.drops() as f64,
                state.counters.marks as f64,
            ]);
            row.extend(gauges(&queue.gauges, &state.gauges));
        }
        let cwnd = |&flow: &usize| simulation.flow(flow).map_or(f64::NAN, |state| state.cwnd);
        row.extend(self.flows.iter().map(cwnd));
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        self.taken += 1;
    }
}

/// The values of these gauges; NaN for one that is not reported now.
pub fn gauges<'a>(names: &'a [&'static str], found: &'a [(&'static str, f64)]) -> impl Iterator<Item = f64> + 'a {
    names.iter().map(|name| found.iter().find(|(other, _)| other == name).map_or(f64::NAN, |&(_, value)| value))
}
