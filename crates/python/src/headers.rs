//! Headers of packets, for pcap files.

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

const NO_OPERATION: u8 = 1;
const WINDOW: u16 = u16::MAX;

/// The IPv4 header of a packet of `size` bytes, and its TCP header with `options` bytes of no-operations, or, if
/// `flags` is 0, its UDP header. TCP's and UDP's checksums are 0, as the payload is not known.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn packet_headers<'py>(
    py: Python<'py>,
    source: ([u8; 4], u16),
    target: ([u8; 4], u16),
    size: u32,
    identification: u16,
    traffic_class: u8,
    flags: u16,
    seq: u32,
    ack: u32,
    options: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let wrong = |what: &str| PyValueError::new_err(what.to_string());
    let behind = u16::try_from(size).ok().and_then(|size| size.checked_sub(Ipv4Header::MIN_LEN as u16));
    let behind = behind.ok_or_else(|| wrong("size: 20 to 65535 B"))?;
    let protocol = if flags == 0 { IpNumber::UDP } else { IpNumber::TCP };
    let mut ip = Ipv4Header::new(behind, 64, protocol, source.0, target.0).map_err(|_| wrong("size"))?;
    ip.identification = identification;
    ip.dscp = IpDscp::try_new(traffic_class >> 2).map_err(|_| wrong("traffic_class: 0 to 255"))?;
    ip.ecn = IpEcn::try_new(traffic_class & 3).map_err(|_| wrong("traffic_class: 0 to 255"))?;
    ip.header_checksum = ip.calc_header_checksum();
    let mut bytes = ip.to_bytes().to_vec();
    if flags == 0 {
        let header = UdpHeader { source_port: source.1, destination_port: target.1, length: behind, checksum: 0 };
        bytes.extend_from_slice(&header.to_bytes());
        return Ok(PyBytes::new(py, &bytes));
    }
    let has = |flag: u16| flags & flag != 0;
    let mut tcp = TcpHeader::new(source.1, target.1, seq, WINDOW);
    (tcp.acknowledgment_number, tcp.fin, tcp.syn, tcp.psh) = (ack, has(0x01), has(0x02), has(0x08));
    (tcp.ack, tcp.ece, tcp.cwr, tcp.ns) = (has(0x10), has(0x40), has(0x80), has(0x100));
    tcp.set_options_raw(&vec![NO_OPERATION; options]).map_err(|_| wrong("options: 0 to 40 B"))?;
    bytes.extend_from_slice(&tcp.to_bytes());
    Ok(PyBytes::new(py, &bytes))
}
