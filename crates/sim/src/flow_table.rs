//! The table of flows: its columns, declared once for result documents, packed columns and summaries.

use crate::engine::{FlowOutcome, MediaOutcome, Outcome};
use crate::fields::{field, Field, Kind, Kind::*};
use crate::scenario::{Scenario, Tcp, Traffic};
use serde_json::{Map, Value};
use std::io::Write;

/// A value of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// Flows of this kind have no such column.
    Absent,
    /// Nothing was measured.
    Null,
    /// A whole number.
    Whole(u64),
    /// A finite real number.
    Real(f64),
    /// A word.
    Text(&'static str),
}

impl Cell {
    fn real(x: f64) -> Self {
        if x.is_finite() {
            Cell::Real(x)
        } else {
            Cell::Null
        }
    }

    fn given(x: Option<f64>) -> Self {
        x.map_or(Cell::Null, Cell::real)
    }

    fn value(self) -> Value {
        match self {
            Cell::Absent | Cell::Null => Value::Null,
            Cell::Whole(n) => n.into(),
            Cell::Real(x) => x.into(),
            Cell::Text(word) => word.into(),
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Cell::Whole(n) => Some(n as f64),
            Cell::Real(x) => Some(x),
            Cell::Absent | Cell::Null | Cell::Text(_) => None,
        }
    }
}

/// One flow.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    id: u64,
    traffic: &'a Traffic,
    flow: &'a FlowOutcome,
    width: f64,
}

/// Reads the value of a flow.
type Reads = fn(&Row<'_>) -> Cell;

/// A column: its field, and whether its values are measures of the flow.
pub struct Column {
    /// The field of result documents.
    pub field: Field<Reads>,
    summarised: bool,
}

const fn fact(name: &'static str, unit: &'static str, kind: Kind, about: &'static str, of: Reads) -> Column {
    Column { field: field(name, unit, kind, about, of), summarised: false }
}

const fn measure(name: &'static str, unit: &'static str, kind: Kind, about: &'static str, of: Reads) -> Column {
    Column { field: field(name, unit, kind, about, of), summarised: true }
}

/// All columns, in the order of result documents.
pub const COLUMNS: [Column; 32] = [
    fact("id", "", Number, "1, 2, ... in the order of the scenario's `[[traffic]]` entries", |row| Cell::Whole(row.id)),
    fact("kind", "", Number, "kind of its traffic entry; of a real link the protocol", |row| Cell::Text(row.traffic.kind())),
    fact("tcp", "", Number, "congestion control; null over UDP", |row| row.traffic.tcp().map(Tcp::name).map_or(Cell::Null, Cell::Text)),
    fact("start_s", "s", Delay, "start of the flow, from the start of the run; null for a connection of a `web` entry", |row| Cell::real(row.flow.start)),
    measure("goodput_mbps", "Mbit/s", Throughput, "payload delivered in order at the receiver, each segment once. Out-of-order segments count when the gap closes", |row| Cell::real(goodput(row.flow, row.width))),
    measure("throughput_mbps", "Mbit/s", Throughput, "payload received, with duplicates and out-of-order segments; of a real link all bytes delivered", |row| Cell::real(throughput(row.flow, row.width))),
    measure("delivered_packets", "packets", Throughput, "segments delivered in order, without the SYN", |row| whole(row.flow.in_order)),
    measure("received_packets", "packets", Throughput, "segments received, with duplicates and out-of-order segments, without the SYN", |row| whole(row.flow.received)),
    measure("delay_mean_ms", "ms", Delay, "mean time from the transmission of a segment (of the copy received) to its reception", |row| {
        let FlowOutcome { received, delay_mean, .. } = *row.flow;
        Cell::given((received > 0).then_some(delay_mean * 1e3))
    }),
    measure("retransmits", "segments", Loss, "retransmitted segments", |row| whole(row.flow.retransmits)),
    measure("timeouts", "", Loss, "expiries of the retransmission timer", |row| whole(row.flow.timeouts)),
    measure("drops", "packets", Loss, "packets of this flow dropped in any queue, ACKs in a `reverse` queue included", |row| whole(row.flow.drops)),
    measure("marks", "packets", Loss, "packets of this flow marked at their arrival at a queue", |row| whole(row.flow.marks)),
    measure("lost", "packets", Loss, "packets and ACKs of this flow lost on links", |row| whole(row.flow.lost)),
    measure("expired", "packets", Loss, "packets and ACKs of this flow whose TTL expired", |row| whole(row.flow.expired)),
    measure("completion_s", "s", Delay, "completion time, if exactly one transfer was completed in the whole run; else null", |row| Cell::given(row.flow.transfers.and_then(|transfers| transfers.time))),
    fact("packets_sent", "packets", Number, "UDP only, `media` included: packets sent", |row| row.flow.datagrams.map_or(Cell::Absent, |(sent, _)| Cell::Whole(sent))),
    fact("packets_received", "packets", Number, "UDP only, `media` included: packets received", |row| row.flow.datagrams.map_or(Cell::Absent, |_| whole(row.flow.received))),
    measure("transfers_completed", "", Number, "finite transfers only: how many were completed within the window", |row| row.flow.transfers.map_or(Cell::Absent, |of| whole(of.completed))),
    measure("slowdown", "", Delay, "finite transfers only: `completion_s` over the ideal time, on the empty path; null where `completion_s` is", |row| row.flow.transfers.map_or(Cell::Absent, |of| Cell::given(of.slowdown))),
    measure("target_mbps", "Mbit/s", Throughput, "`media` only: mean target rate at the captures of frames, headers included", |row| media(row, |of| Cell::real(of.target / 1e6))),
    measure("encoded_mbps", "Mbit/s", Throughput, "`media` only: payload of the frames captured", |row| media(row, |of| Cell::real(of.encoded_bytes as f64 * 8.0 / row.width / 1e6))),
    measure("delay_p95_ms", "ms", Delay, "`media` only: 95 % quantile of the packets' one-way delay, to 0.1 % or 1 us, without the time in the sender's queue", |row| media(row, |of| of_packets(row, of.packet_delays.0))),
    measure("delay_p99_ms", "ms", Delay, "`media` only: the same, 99 %", |row| media(row, |of| of_packets(row, of.packet_delays.1))),
    measure("frames_sent", "frames", Throughput, "`media` only: frames captured", |row| media(row, |of| whole(of.frames_sent))),
    measure("frames_complete", "frames", Throughput, "`media` only: frames of which every packet was received", |row| media(row, |of| whole(of.frames_complete))),
    measure("frames_lost", "frames", Loss, "`media` only: frames of which a packet was lost. The others are under way at the end", |row| media(row, |of| whole(of.frames_lost))),
    measure("frame_delay_mean_ms", "ms", Delay, "`media` only: mean time from the capture of a complete frame to the arrival of its last packet", |row| media(row, |of| of_frames(of, of.frame_delays.0))),
    measure("frame_delay_p95_ms", "ms", Delay, "`media` only: 95 % quantile of these times", |row| media(row, |of| of_frames(of, of.frame_delays.1))),
    measure("frame_delay_p99_ms", "ms", Delay, "`media` only: 99 % quantile of these times", |row| media(row, |of| of_frames(of, of.frame_delays.2))),
    measure("freezes", "", Loss, "`media` only: freezes: intervals between shown frames of 3 times the mean, and of 150 ms more than it", |row| media(row, |of| whole(of.freezes))),
    measure("freeze_s", "s", Delay, "`media` only: total time of the freezes", |row| media(row, |of| Cell::real(of.frozen))),
];

/// A measure of real-time media.
fn media(row: &Row<'_>, of: impl Fn(&MediaOutcome) -> Cell) -> Cell {
    row.flow.media.as_deref().map_or(Cell::Absent, of)
}

/// A delay of packets, s, in ms.
fn of_packets(row: &Row<'_>, delay: f64) -> Cell {
    Cell::given((row.flow.received > 0).then_some(delay * 1e3))
}

/// A delay of complete frames, s, in ms.
fn of_frames(media: &MediaOutcome, delay: f64) -> Cell {
    Cell::given((media.frames_complete > 0).then_some(delay * 1e3))
}

fn whole(n: u32) -> Cell {
    Cell::Whole(n.into())
}

/// Payload delivered in order over the window of `width` s, Mbit/s.
pub fn goodput(flow: &FlowOutcome, width: f64) -> f64 {
    payload(flow, flow.in_order, |(in_order, _)| in_order) * 8.0 / width / 1e6
}

/// Payload received, duplicates included, Mbit/s.
pub fn throughput(flow: &FlowOutcome, width: f64) -> f64 {
    payload(flow, flow.received, |(_, all)| all) * 8.0 / width / 1e6
}

/// Bytes of `packets`; where packet sizes differ, the bytes summed.
fn payload(flow: &FlowOutcome, packets: u32, counted: fn((u64, u64)) -> u64) -> f64 {
    match (flow.payloads, flow.datagrams) {
        (Some(payloads), _) => counted(payloads) as f64,
        (None, Some((_, bytes))) => bytes as f64,
        (None, None) => f64::from(packets) * f64::from(flow.payload),
    }
}

/// The flows of a run.
#[derive(Clone, Copy)]
pub struct FlowTable<'a> {
    scenario: &'a Scenario,
    outcome: &'a Outcome,
}

impl<'a> FlowTable<'a> {
    /// The flows of a run of `scenario`.
    pub fn new(scenario: &'a Scenario, outcome: &'a Outcome) -> Self {
        FlowTable { scenario, outcome }
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.outcome.flows.len()
    }

    /// Whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.outcome.flows.is_empty()
    }

    /// All flows in order.
    pub fn rows(self) -> impl Iterator<Item = Row<'a>> {
        let width = self.scenario.duration - self.scenario.warmup;
        let kinds = self.scenario.traffic.iter().flat_map(|one| std::iter::repeat_n(one, one.flows() as usize));
        (1..).zip(kinds).zip(&self.outcome.flows).map(move |((id, traffic), flow)| Row { id, traffic, flow, width })
    }

    /// The columns that some flow has: first those that all flows have, then others in the order of their first flows.
    pub fn columns(self) -> Vec<&'static Column> {
        let first = |column: &&Column| self.rows().position(|row| (column.field.of)(&row) != Cell::Absent);
        let mut columns: Vec<_> = COLUMNS.iter().filter_map(|column| Some((first(&column)?, column))).collect();
        columns.sort_by_key(|&(first, _)| first);
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// One table for each flow.
    pub fn values(self) -> Vec<Value> {
        let table = |row: Row<'_>| {
            let cells = COLUMNS.iter().map(|column| (column.field.name, (column.field.of)(&row)));
            let given = cells.filter(|(_, cell)| *cell != Cell::Absent);
            given.map(|(name, cell)| (name.to_string(), cell.value())).collect::<Map<_, _>>().into()
        };
        self.rows().map(table).collect()
    }

    /// [`FlowTable::values`] as JSON text, without a tree of values.
    pub fn write(self, text: &mut Vec<u8>) {
        let mut mark = b'[';
        for row in self.rows() {
            text.push(mark);
            mark = b',';
            let mut before = b'{';
            for column in &COLUMNS {
                let cell = (column.field.of)(&row);
                if cell == Cell::Absent {
                    continue;
                }
                text.push(before);
                before = b',';
                text.push(b'"');
                text.extend(column.field.name.bytes());
                text.extend(b"\":");
                // Writing into memory cannot fail.
                let _ = match cell {
                    Cell::Absent | Cell::Null => text.write_all(b"null"),
                    Cell::Whole(n) => write!(text, "{n}"),
                    Cell::Real(x) => serde_json::to_writer(&mut *text, &x).map_err(Into::into),
                    Cell::Text(word) => write!(text, "\"{word}\""),
                };
            }
            text.push(b'}');
        }
        text.extend(if mark == b'[' { &b"[]"[..] } else { b"]" });
    }

    /// For each traffic entry and each measure, how the measure is distributed over the entry's flows.
    pub fn summaries(self) -> Vec<Value> {
        let mut rows = self.rows();
        let entry = |traffic: &Traffic| {
            let rows: Vec<Row<'_>> = rows.by_ref().take(traffic.flows() as usize).collect();
            let measures = COLUMNS.iter().filter(|column| column.summarised);
            let of = |column: &Column| {
                let cells = rows.iter().map(|row| (column.field.of)(row));
                let values: Vec<f64> = cells.filter_map(Cell::number).collect();
                let known = (column.field.of)(rows.first()?) != Cell::Absent;
                known.then(|| (column.field.name.to_string(), summary(values)))
            };
            measures.filter_map(of).collect::<Map<_, _>>().into()
        };
        self.scenario.traffic.iter().map(entry).collect()
    }
}

/// Number, mean and quantiles of some flows' values; a quantile is the smallest value that this fraction of them do not
/// exceed.
fn summary(mut values: Vec<f64>) -> Value {
    let n = values.len();
    let mean = (n > 0).then(|| values.iter().sum::<f64>() / n as f64);
    let mut from = 0;
    let quantiles = [("min", 0.0), ("p5", 0.05), ("p50", 0.5), ("p95", 0.95), ("max", 1.0)].map(|(name, q)| {
        let at = ((q * n as f64).ceil() as usize).max(1) - 1;
        let value = (n > 0).then(|| *values[from..].select_nth_unstable_by(at - from, f64::total_cmp).1);
        from = at;
        (name.to_string(), value.into())
    });
    let head = [("flows".to_string(), n.into()), ("mean".to_string(), mean.into())];
    head.into_iter().chain(quantiles).collect::<Map<_, Value>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_has_quantiles_that_are_values() {
        let found = summary((1..=20).rev().map(f64::from).collect());
        let expected =
            json!({ "flows": 20, "mean": 10.5, "min": 1.0, "p5": 1.0, "p50": 10.0, "p95": 19.0, "max": 20.0 });
        assert_eq!(found, expected);
        assert_eq!(summary(vec![7.0])["p95"], 7.0);
        let nothing = summary(Vec::new());
        assert_eq!((&nothing["flows"], &nothing["mean"], &nothing["max"]), (&json!(0), &Value::Null, &Value::Null));
    }
}
