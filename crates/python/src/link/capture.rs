//! A recorded link as a packet capture.

use super::record::{given, wanted};
use crate::outcome::Stream;
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::Ecn;
use earlydrop_link::header::set_ce;
use earlydrop_sim::capture::Capture;
use earlydrop_sim::engine::trace::Signal;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::{BufWriter, Write};

/// Bytes behind the IP header that are kept of a dropped packet, as in an ICMP error (RFC 792): tools leave a packet that
/// ends there out of their analysis of connections.
const OF_DROPPED: usize = 8;

/// The recorded packets of one direction, with what was kept of each.
struct Direction {
    name: String,
    kept: Vec<u8>,
    /// Where the bytes of each packet begin, and where those of the last end.
    starts: Vec<usize>,
    size: Vec<u32>,
    ecn: Vec<u8>,
    ecn_out: Vec<u8>,
    fate: Vec<u8>,
    settled: Vec<f64>,
    arrived: Vec<f64>,
}

impl Direction {
    fn new(name: String, columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settled = given(columns, "settled_s", f64::from_le_bytes)?.unwrap_or_default();
        let count = settled.len();
        let byte = |name| wanted(columns, name, count, |[value]: [u8; 1]| value);
        let kept = given(columns, "kept", |[value]: [u8; 1]| value)?.unwrap_or_default();
        let mut starts = vec![0];
        starts.extend(byte("kept_bytes")?.into_iter().scan(0, |end, length| {
            *end += usize::from(length);
            Some(*end)
        }));
        if starts[count] != kept.len() {
            return Err(PyValueError::new_err(format!("kept: has {} bytes; needed {}", kept.len(), starts[count])));
        }
        Ok(Direction {
            name,
            kept,
            starts,
            size: wanted(columns, "size", count, u32::from_le_bytes)?,
            ecn: byte("ecn")?,
            ecn_out: byte("ecn_out")?,
            fate: byte("fate")?,
            settled,
            arrived: wanted(columns, "arrived_s", count, f64::from_le_bytes)?,
        })
    }

    /// The bytes of a packet as it left or was dropped, and what happened to it.
    fn packet(&self, number: usize) -> (Vec<u8>, Option<&'static str>) {
        let mut bytes = self.kept[self.starts[number]..self.starts[number + 1]].to_vec();
        let dropped = |reason| Some(Signal::Dropped(reason).text());
        let comment = match self.fate[number] {
            2 => dropped(Reason::Early),
            3 => dropped(Reason::Forced),
            4 => dropped(Reason::Overflow),
            _ if self.arrived[number].is_nan() => Some("lost on the link"),
            _ if self.ecn_out[number] == Ecn::Ce as u8 && self.ecn[number] != Ecn::Ce as u8 => {
                set_ce(&mut bytes);
                Some("marked by the queue")
            }
            _ => None,
        };
        if self.fate[number] >= 2 {
            let header = match bytes.first() {
                Some(first) if first >> 4 == 4 => usize::from(first & 0xf) * 4,
                _ => 40,
            };
            bytes.truncate(header + OF_DROPPED);
        }
        (bytes, comment)
    }
}

/// Writes what left the queues of a recorded link, at the start of its transmission, and what they dropped, into `file`, a
/// binary stream; each queue is an interface. `records`: the columns of each queue, with `kept` and `kept_bytes`. Returns
/// the number of packets.
#[pyfunction]
pub fn capture_link(records: Vec<(String, Bound<'_, PyDict>)>, file: Bound<'_, PyAny>) -> PyResult<usize> {
    let both = records.iter().map(|(name, columns)| Direction::new(name.clone(), columns));
    let both = both.collect::<PyResult<Vec<_>>>()?;
    let of_one = |(at, one): (usize, &Direction)| -> Vec<(f64, usize, usize)> {
        let gone = one.settled.iter().enumerate().filter(|(_, time)| time.is_finite());
        gone.map(|(number, &time)| (time, at, number)).collect()
    };
    let mut gone: Vec<_> = both.iter().enumerate().flat_map(of_one).collect();
    gone.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let names: Vec<&str> = both.iter().map(|one| one.name.as_str()).collect();
    let out = BufWriter::with_capacity(1 << 20, Stream(file));
    // libpcap reads several interfaces of IPv4, but not of any IP.
    let first = |&(_, at, number): &(f64, usize, usize)| both[at].kept.get(both[at].starts[number]).copied();
    let only_ipv4 = gone.iter().filter_map(first).all(|first| first >> 4 == 4);
    let mut capture = if only_ipv4 { Capture::ipv4(out, &names)? } else { Capture::new(out, &names)? };
    for &(time, at, number) in &gone {
        let (bytes, comment) = both[at].packet(number);
        capture.packet(at as u32, time, &bytes, both[at].size[number], comment)?;
    }
    capture.finish()?.flush()?;
    Ok(gone.len())
}
