//! Captures read back block by block, as the format's draft has them.

use earlydrop_sim::capture::traced::TracedQueues;
use earlydrop_sim::capture::{address, Capture, Ip, Tcp};
use earlydrop_sim::{run, scenario};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddrV4;

/// Type and contents of each block; its length is at both ends of it.
fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert!(length.is_multiple_of(4) && length >= 12);
        assert_eq!(word(file, length - 4) as usize, length);
        found.push((word(file, 0), &file[8..length - 4]));
        file = &file[length..];
    }
    found
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (code, length) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
        assert_eq!(code == 0, bytes.len() == 4, "the end of options ends the block");
        found.push((code, &bytes[4..4 + length]));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
    found
}

#[test]
fn a_capture_has_interfaces_times_lengths_and_comments() {
    let mut capture = Capture::new(Vec::new(), &["up", "down link"]).unwrap();
    capture.packet(0, 0.0, &[1, 2, 3, 4], 4, None).unwrap();
    capture.packet(1, 1.25, &[5, 6, 7, 8, 9], 1500, Some("dropped: früh")).unwrap();
    // Ties of times, and more than 32 bits of nanoseconds.
    capture.packet(1, 1.250_000_000_4, &[], 0, None).unwrap();
    capture.packet(0, 86_400.000_000_001, &[1], 2, Some("")).unwrap();
    let file = capture.finish().unwrap();
    let found = blocks(&file);
    assert_eq!(found.iter().map(|block| block.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 1, 6, 6, 6, 6]);
    assert_eq!(found[0].1, [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    for ((_, block), name) in found[1..3].iter().zip(["up", "down link"]) {
        assert_eq!(block[..8], [101, 0, 0, 0, 0, 0, 0, 0], "raw IP, no limit of length");
        assert_eq!(options(&block[8..]), [(2, name.as_bytes()), (9, &[9][..]), (0, &[][..])]);
    }
    let ipv4 = Capture::ipv4(Vec::new(), &["up"]).unwrap().finish().unwrap();
    assert_eq!(blocks(&ipv4)[1].1[..8], [228, 0, 0, 0, 0, 0, 0, 0]);
    let packet = |block: &[u8]| {
        let kept = word(block, 12) as usize;
        let (bytes, rest) = block[20..].split_at(kept.next_multiple_of(4));
        let time = u64::from(word(block, 4)) << 32 | u64::from(word(block, 8));
        let said = options(rest).first().map(|&(code, text)| (code, String::from_utf8(text.to_vec()).unwrap()));
        (word(block, 0), time, bytes[..kept].to_vec(), word(block, 16), said)
    };
    let packets: Vec<_> = found[3..].iter().map(|(_, block)| packet(block)).collect();
    assert_eq!(packets[0], (0, 0, vec![1, 2, 3, 4], 4, None));
    assert_eq!(packets[1], (1, 1_250_000_000, vec![5, 6, 7, 8, 9], 1500, Some((1, "dropped: früh".to_string()))));
    assert_eq!(packets[2], (1, 1_250_000_000, vec![], 0, None));
    assert_eq!(packets[3], (0, 86_400_000_000_001, vec![1], 2, Some((1, String::new()))));
}

#[test]
fn what_is_wrong_is_refused_and_leaves_the_capture_whole() {
    let long = "x".repeat(65_536);
    let refused = |done: io::Result<()>, what: &str| {
        let error = done.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(what), "{error}");
    };
    refused(Capture::new(Vec::new(), &[&long]).map(drop), "a text of 65536 B");
    let mut capture = Capture::new(Vec::new(), &["a"]).unwrap();
    capture.packet(0, 2.0, &[1], 1, None).unwrap();
    refused(capture.packet(1, 3.0, &[1], 1, None), "interface 1 of a capture at 1");
    refused(capture.packet(0, 1.9, &[1], 1, None), "a packet at 1.9 s; allowed from the time of the one before, 2 s");
    for time in [-1.0, f64::NAN, f64::INFINITY] {
        refused(capture.packet(0, time, &[1], 1, None), "allowed from");
    }
    refused(capture.packet(0, 3.0, &[1, 2], 1, None), "2 B are kept of a packet of 1 B; allowed 1 B");
    refused(capture.packet(0, 3.0, &vec![0; 262_145], 300_000, None), "allowed 262144 B");
    refused(capture.packet(0, 3.0, &[1], 1, Some(&long)), "a text of 65536 B");
    // None of these is in the file, and time has not advanced.
    capture.packet(0, 2.0, &[7], 1, Some(&long[1..])).unwrap();
    let file = capture.finish().unwrap();
    assert_eq!(blocks(&file).iter().map(|block| block.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 6, 6]);
}

#[test]
fn errors_of_the_writer_are_passed_on() {
    /// Has room for so many bytes.
    #[derive(Debug)]
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.0.min(bytes.len());
            self.0 -= room;
            if room == 0 {
                Err(ErrorKind::StorageFull.into())
            } else {
                Ok(room)
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::BrokenPipe.into())
        }
    }
    assert_eq!(Capture::new(Full(10), &[]).unwrap_err().kind(), ErrorKind::StorageFull);
    let mut capture = Capture::new(Full(100), &["a"]).unwrap();
    assert_eq!(capture.packet(0, 0.0, &[0; 60], 60, None).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(Capture::new(Full(100), &["a"]).unwrap().finish().err().unwrap().kind(), ErrorKind::BrokenPipe);
}

fn ip() -> Ip {
    let (source, destination) = (SocketAddrV4::new(address(0x102), 4433), SocketAddrV4::new(address(0x1_0203), 99));
    Ip { source, destination, identification: 0xabcd, dscp: 46, ecn: 3, ttl: 63 }
}

/// The sum of all 16-bit words, carries added: 0xffff where a checksum is right.
fn added(bytes: impl Iterator<Item = u8>) -> u32 {
    let bytes: Vec<u8> = bytes.collect();
    let mut sum = 0;
    for (at, byte) in bytes.into_iter().enumerate() {
        sum += u32::from(byte) << if at % 2 == 0 { 8 } else { 0 };
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[test]
fn udp_has_headers_and_checksums() {
    for payload in [&b"even"[..], b"odd", b"", &[0xff; 1000]] {
        let packet = ip().udp(payload, 28 + payload.len() as u32).unwrap();
        assert_eq!(packet[..2], [0x45, 46 << 2 | 3]);
        let (total, datagram) = (28 + payload.len() as u16, 8 + payload.len() as u16);
        assert_eq!(packet[2..4], total.to_be_bytes());
        assert_eq!(packet[4..10], [0xab, 0xcd, 0x40, 0, 63, 17]);
        assert_eq!(packet[12..20], [10, 0, 1, 2, 10, 1, 2, 3]);
        assert_eq!(added(packet[..20].iter().copied()), 0xffff);
        assert_eq!(packet[20..24], [4433_u16.to_be_bytes(), 99_u16.to_be_bytes()].concat());
        assert_eq!(packet[24..26], datagram.to_be_bytes());
        let pseudo = [&packet[12..20], &[0, 17], &datagram.to_be_bytes()].concat();
        assert_eq!(added(pseudo.into_iter().chain(packet[20..].iter().copied())), 0xffff);
        assert_eq!(&packet[28..], payload);
    }
    // A sum of which the checksum would be 0, "not computed", has all bits set instead.
    let zero = ip().udp(&[0; 2], 30).unwrap();
    let rest = u16::from_be_bytes([zero[26], zero[27]]);
    assert_eq!(ip().udp(&rest.to_be_bytes(), 30).unwrap()[26..28], [0xff, 0xff]);
    let cut = ip().udp(b"ab", 1028).unwrap();
    assert_eq!((cut.len(), &cut[2..4], &cut[24..28]), (30, &1028_u16.to_be_bytes()[..], &[3, 240, 0, 0][..]));
    for (payload, length) in [(&b""[..], 27), (b"abc", 30), (b"", 65_536)] {
        let error = ip().udp(payload, length).unwrap_err().to_string();
        assert!(
            error.contains(&format!("a packet of {length} B; allowed {} to 65535 B", 28 + payload.len())),
            "{error}"
        );
    }
    assert!(ip().udp(&[], 65_535).is_ok());
}

#[test]
fn tcp_has_numbers_flags_and_options() {
    let tcp = Tcp { seq: 0x0102_0304, ack: u32::MAX, flags: 0xf112, options: 12 };
    let packet = ip().tcp(&tcp, 1500).unwrap();
    assert_eq!(packet.len(), 52);
    assert_eq!((packet[9], &packet[2..4]), (6, &1500_u16.to_be_bytes()[..]));
    assert_eq!(added(packet[..20].iter().copied()), 0xffff);
    assert_eq!(packet[24..34], [1, 2, 3, 4, 255, 255, 255, 255, 0x81, 0x12]);
    assert_eq!(packet[34..40], [255, 255, 0, 0, 0, 0]);
    assert_eq!(packet[40..], [1; 12]);
    for options in [2, 44] {
        let error = ip().tcp(&Tcp { options, ..tcp }, 1500).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{options} B of TCP options")), "{error}");
    }
    assert!(ip().tcp(&tcp, 51).is_err());
}

const SCENARIO: &str = "name = 'd'\nduration = '4 s'\nwarmup = '0 s'\n[topology]\nkind = 'dumbbell'\npairs = 3\n\
    access = { rate = '100 Mbit/s', delay = '5 ms' }\nbottleneck = { rate = '5 Mbit/s', delay = '10 ms' }\n\
    [queue.bottleneck]\naqm = 'red'\nlimit = '40 packets'\necn = true\n\
    [[traffic]]\nkind = 'ftp'\ncount = 2\ntcp = 'cubic'\necn = true\n\
    [[traffic]]\nkind = 'cbr'\nrate = '2 Mbit/s'\n\
    [record]\ntrace = 1000000\n";

#[test]
fn a_traced_queue_has_what_left_and_what_was_dropped_with_comments() {
    let checked = |more: &str| {
        let document = scenario::Doc::from_toml(&format!("{SCENARIO}{more}"), None).unwrap();
        scenario::check(&document, None).unwrap()
    };
    let run = |scenario| run::run(scenario, 1, run::Links::Auto, run::Events::Lanes).unwrap();
    let scenario = checked("trace_headers = true\n");
    let outcome = run(&scenario);
    let traced = TracedQueues::new(&scenario, 1, &outcome).unwrap();
    let (port, trace) = (&outcome.ports[0], outcome.ports[0].trace.as_ref().unwrap());
    assert_eq!(traced.events(), (trace.total, trace.total));
    let mut file = Vec::new();
    traced.write(&mut file).unwrap();
    let packets: Vec<_> = blocks(&file).into_iter().filter(|block| block.0 == 6).map(|block| block.1).collect();
    let counters = port.counters;
    let drops = counters.early_drops + counters.forced_drops + counters.overflow_drops;
    assert_eq!(packets.len() as u64, counters.departures + drops);
    let said = |comment: &str| {
        let has = |packet: &&&[u8]| packet.windows(comment.len()).any(|part| part == comment.as_bytes());
        packets.iter().filter(has).count() as u64
    };
    assert_eq!((said("dropped: early"), said("dropped: overflow")), (counters.early_drops, counters.overflow_drops));
    assert_eq!(said("dropped"), drops);
    assert!(said("dropped: early") > 5, "of the traffic without ECN");
    let marks = said("marked on arrival");
    assert!(marks > 5 && (counters.marks - port.queued_at_end..=counters.marks).contains(&marks));
    assert_eq!(said("marked"), marks);
    // Without headers, or without a queue that was traced, there is nothing to write.
    let plain = checked("");
    let error = TracedQueues::new(&plain, 1, &run(&plain)).err().unwrap();
    assert_eq!(error, "the scenario has no queue to trace");
}
