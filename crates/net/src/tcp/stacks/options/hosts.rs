//! Options of buffers and queues in the hosts, and of what hosts remember.

use super::option::{Group::*, Opt, Part, Values::*, NOT_QUIC, SACK, SLOW_START};

pub(super) const OPTIONS: &[Opt] = &[
    Opt::new(
        "receive_window",
        Receiver,
        Table(
            ["fixed", "autotuned"],
            |s| &mut s.receiver.window_tuned,
            &[
                Part {
                    key: "first",
                    values: Window(
                        1_000_000,
                        1_073_725_440.0,
                        |s| s.receiver.first_window,
                        |s, to| s.receiver.first_window = to,
                    ),
                    needed: false,
                },
                Part {
                    key: "share",
                    values: Number(0.05, 1.0, |s| s.receiver.window_share, |s, share| s.receiver.window_share = share),
                    needed: false,
                },
            ],
        ),
    )
    .needs(&[NOT_QUIC])
    .source("RFC 9293, 3.8.6; autotuned: Linux, tcp_rcv_space_adjust, tcp_rcvbuf_grow, tcp_grow_window; first: half of tcp_rmem[1]; share: tcp_measure_rcv_mss (scaling_ratio)")
    .about("The receive window is window, or grows up to it, twice what has come in a round trip: from first, in segments or bytes (65,535 B, which is also the most that the SYN-ACK tells), in a buffer of which the part share is window once a full segment has come (before, and by default, a half)."),
    Opt::new("small_queue", Pacing, Either(["off", "on"], |s| &mut s.pacing.small_queue))
        .needs(&[NOT_QUIC])
        .source("Linux, tcp_small_queue_check, tcp_wfree")
        .about("A connection has any number of bytes in the queue of its host's link, or two bursts, or what leaves in 1/1024 s."),
    Opt::new(
        "careful_resume",
        Growth,
        Table(
            ["off", "on"],
            |s| &mut s.resume.on,
            &[
                Part {
                    key: "saved_rtt",
                    values: Seconds(1e-6, 10.0, |s| s.resume.saved_rtt, |s, time| s.resume.saved_rtt = time),
                    needed: true,
                },
                Part {
                    key: "saved_cwnd",
                    values: Whole(
                        1,
                        1_000_000,
                        |s| s.resume.saved_cwnd.map(u64::from),
                        |s, n| s.resume.saved_cwnd = Some(n as u32),
                    ),
                    needed: true,
                },
            ],
        ),
    )
    .needs(&[NOT_QUIC, SACK, SLOW_START])
    .source("RFC 9959")
    .about("Slow start of a connection jumps to half of the saved cwnd: of saved_cwnd segments, which an earlier connection had in flight at an RTT of saved_rtt, or of the flow's last connection (on)."),
];
