//! The engine's own senders and receivers, outside of the engine: behind the same queue they give the same result.

use earlydrop_net::segment::{CE, SYN};
use earlydrop_net::tcp::rfc::{Arrived, Connection, Feedback, Next, Receiver, Reply, Settings};
use earlydrop_net::tcp::sizes::{ack_bytes, syn_bytes, ACK_BYTES};
use earlydrop_net::tcp::Output;
use earlydrop_net::Segment;
use earlydrop_path::{run, Counts, Delivery, Drive, Ecn, Endpoint, Network, Stop, Transmit};
use earlydrop_sim::run::{Events, Links};
use earlydrop_sim::{result, scenario};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What both ends of a connection share: what packets say cannot be in their payloads, which have the size on the wire.
struct Shared {
    connection: Connection,
    settings: Settings,
    ticks: f64,
    /// Number of the first byte, payload, and flags of each segment; and the contents of each ACK.
    segments: Vec<(u32, u16, u8)>,
    acks: Vec<Feedback>,
    header: u16,
}

/// A sender with endless data, and the receiver.
struct Sending {
    shared: Rc<RefCell<Shared>>,
    out: Output,
    ready: VecDeque<Transmit>,
    start: Option<f64>,
    wake: f64,
}

struct Receiving {
    shared: Rc<RefCell<Shared>>,
    receiver: Receiver,
    ready: VecDeque<Transmit>,
    /// When the timer of delayed ACKs expires.
    wake: f64,
    delivered: u64,
}

fn transmit(size: u16, header: u16, ecn: u8) -> Transmit {
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn & CE)];
    Transmit { payload: vec![0; usize::from(size - header)], ecn }
}

impl Sending {
    fn flush(&mut self) {
        let mut shared = self.shared.borrow_mut();
        for sent in self.out.segments.drain(..) {
            let syn = sent.bits & SYN != 0;
            let size = if syn { syn_bytes(&shared.settings) } else { shared.header + sent.payload };
            self.ready.push_back(transmit(size, shared.header, sent.bits));
            shared.segments.push((sent.seq, if syn { 0 } else { sent.payload }, sent.bits));
        }
        if let Some(wake) = self.out.take_at() {
            self.wake = wake;
        }
    }
}

impl Endpoint for Sending {
    fn handle(&mut self, now: f64, ack: Delivery) {
        let feedback = self.shared.borrow().acks[ack.number as usize];
        self.shared.borrow_mut().connection.on_feedback(now, &feedback, &mut self.out);
        self.flush();
    }

    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn poll_timeout(&mut self) -> Option<f64> {
        self.start.or(Some(self.wake))
    }

    fn handle_timeout(&mut self, now: f64) {
        let mut shared = self.shared.borrow_mut();
        match self.start.take() {
            Some(_) => shared.connection.offer(now, None, false, &mut self.out),
            None => {
                self.wake = f64::INFINITY;
                shared.connection.on_wake(now, &mut self.out);
            }
        }
        drop(shared);
        self.flush();
    }

    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Wait
    }

    fn counts(&self) -> Option<Counts> {
        let connection = &self.shared.borrow().connection;
        Some(Counts {
            delivered: None,
            retransmits: connection.retransmits().into(),
            timeouts: connection.timeouts().into(),
        })
    }
}

impl Receiving {
    fn ack(&mut self, feedback: Feedback) {
        let mut shared = self.shared.borrow_mut();
        let size = ack_bytes(&shared.settings, &feedback);
        let header = shared.header;
        self.ready.push_back(transmit(size, header, 0));
        shared.acks.push(feedback);
    }

    fn wait(&mut self, now: f64, delay: f64) {
        self.wake = now + delay;
    }

    fn reply(&mut self, now: f64, reply: Reply) {
        match reply {
            Reply::Nothing => {}
            Reply::Now(feedback) => {
                self.wake = f64::INFINITY;
                self.ack(feedback);
            }
            Reply::Both(first, second, delay) => {
                self.wait(now, delay);
                self.ack(first);
                self.ack(second);
            }
            Reply::Later(delay) => self.wait(now, delay),
            Reply::NowAndLater(feedback, delay) => {
                self.wait(now, delay);
                self.ack(feedback);
            }
        }
    }
}

impl Endpoint for Receiving {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        let (seq, payload, bits) = self.shared.borrow().segments[datagram.number as usize];
        let ticks = self.shared.borrow().ticks;
        let age = Segment::stamp(now, ticks).wrapping_sub(Segment::stamp(datagram.sent, ticks));
        let stamp = now - f64::from(age) / ticks;
        let bits = bits & !CE | datagram.ecn as u8;
        let arrived = Arrived { seq, payload: payload.into(), bits, stamp, now, ack: 0 };
        if let Some(next) = self.receiver.take_next(&arrived) {
            self.delivered += u64::from(payload);
            match next {
                Next::Later(delay) => self.wait(now, delay),
                Next::Now(feedback) => {
                    self.wake = f64::INFINITY;
                    let plain =
                        !self.shared.borrow().settings.timestamps && !self.shared.borrow().settings.counts_marks();
                    if plain {
                        // The ACK has no fields but its number and an echo.
                        let mut bare = Feedback::new(feedback.ack, 0.0);
                        bare.echo = feedback.echo;
                        let header = self.shared.borrow().header;
                        self.ready.push_back(transmit(ACK_BYTES, header, 0));
                        self.shared.borrow_mut().acks.push(bare);
                    } else {
                        self.ack(feedback);
                    }
                }
            }
            return;
        }
        if let Some(feedback) = self.receiver.take_beyond(&arrived) {
            return self.ack(feedback);
        }
        if self.receiver.is_tuned() {
            let echo = self.shared.borrow().connection.echo_at(arrived.stamp);
            self.receiver.note_echo(echo);
        }
        let before = self.receiver.bytes();
        let reply = self.receiver.take(&arrived);
        self.delivered += if payload > 0 { self.receiver.bytes() - before } else { 0 };
        self.reply(now, reply);
    }

    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        self.ready.pop_front()
    }

    fn poll_timeout(&mut self) -> Option<f64> {
        Some(self.wake)
    }

    fn handle_timeout(&mut self, now: f64) {
        self.wake = f64::INFINITY;
        let reply = self.receiver.on_timer(now);
        self.reply(now, reply);
    }

    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Wait
    }

    fn counts(&self) -> Option<Counts> {
        Some(Counts { delivered: Some(self.delivered), ..Counts::default() })
    }
}

const STARTS: [f64; 4] = [0.0, 0.113, 0.271, 0.414];

fn network(queue: &str) -> String {
    format!(
        "name = 'own'\nduration = '12 s'\nwarmup = '2 s'\nseed = 3\n[topology]\nkind = 'dumbbell'\npairs = 4\n\
         senders = {{ rate = '1 Gbit/s', delay = ['3.1 ms', '7.3 ms', '12.7 ms', '21.9 ms'] }}\n\
         receivers = {{ rate = '1 Gbit/s', delay = '1 ms' }}\n\
         bottleneck = {{ rate = '20 Mbit/s', delay = '5 ms' }}\nreverse = {{ rate = '1 Gbit/s', delay = '5 ms' }}\n\
         [queue.bottleneck]\n{queue}\n[record]\nseries = '100 ms'\n"
    )
}

/// The result of the engine, and of its senders outside.
fn both(queue: &str, tcp: &str) -> (Value, Value) {
    let entry =
        format!("[[traffic]]\nkind = 'ftp'\ncount = 4\nstart = ['0 s', '0.113 s', '0.271 s', '0.414 s']\n{tcp}\n");
    let doc = scenario::Doc::from_toml(&(network(queue) + &entry), None).expect("TOML");
    let checked = scenario::check(&doc, None).expect("a scenario");
    let outcome = earlydrop_sim::run::run(&checked, 3, Links::Auto, Events::Lanes).expect("a run");
    let engine = result::document(&checked, 3, &outcome, 0.0);
    let spec = checked.traffic[0].tcp_spec().expect("TCP").clone();
    let settings = **spec.options.rfc.as_ref().expect("the RFC TCP");

    let mut network = Network::from_text(&network(queue)).expect("a network").overhead(spec.header);
    let mut ends = Vec::new();
    for pair in 1..=4 {
        ends.push(network.attach(&format!("s{pair}"), &format!("d{pair}")).expect("two hosts"));
    }
    let mut stacks: Vec<(Sending, Receiving)> = STARTS
        .iter()
        .map(|&start| {
            let shared = Rc::new(RefCell::new(Shared {
                connection: Connection::new(settings, 0),
                settings,
                ticks: Segment::ticks_per_second(12.0),
                segments: Vec::new(),
                acks: Vec::new(),
                header: spec.header as u16,
            }));
            let receiver = settings.receiver(0);
            let sending = Sending {
                shared: shared.clone(),
                out: Output::default(),
                ready: VecDeque::new(),
                start: Some(start),
                wake: f64::INFINITY,
            };
            let receiving = Receiving { shared, receiver, ready: VecDeque::new(), wake: f64::INFINITY, delivered: 0 };
            (sending, receiving)
        })
        .collect();
    let mut endpoints: Vec<(_, &mut dyn Endpoint)> = Vec::new();
    for ((sending, receiving), &(sender, receiver)) in stacks.iter_mut().zip(&ends) {
        endpoints.push((sender, sending));
        endpoints.push((receiver, receiving));
    }
    assert_eq!(run(&mut network, &mut endpoints, 12.0).expect("a run"), Stop::Until);
    (engine, network.finish().expect("a result").document)
}

#[test]
fn own_senders_outside_give_the_same_result() {
    for queue in ["droptail", "red", "codel", "pie", "fq_codel", "dualpi2"] {
        for (stack, tcp, ecn) in
            [("rfc", "cubic", true), ("rfc", "reno", false), ("rfc", "bbr", false), ("quic", "cubic", true)]
        {
            let queue = format!("aqm = '{queue}'\necn = {}", ecn && queue != "droptail");
            let tcp = format!("stack = '{stack}'\ntcp = '{tcp}'\necn = {ecn}");
            let (engine, outside) = both(&queue, &tcp);
            let what = format!("{queue} {tcp}");
            assert!(engine["queues"]["bottleneck"]["departures"].as_u64() > Some(10_000), "{what}");
            let mut queues = outside["queues"].clone();
            // Outside the ACKs are flows of their own, which do not pass the queue; in the engine all flows do.
            let passing = queues["bottleneck"]["passing"].take();
            queues["bottleneck"].as_object_mut().expect("a table").remove("passing");
            assert_eq!(engine["queues"], queues, "{what}");
            let of_all = [("goodput_mbps", "goodput_total_mbps"), ("throughput_mbps", "throughput_total_mbps")];
            for (field, total) in of_all.into_iter().chain([("delay_mean_ms", "delay_mean_ms"), ("jain", "jain")]) {
                assert_eq!(passing[field], engine[total], "{what}: {field}");
            }
            assert_eq!(engine["series"]["queues"], outside["series"]["queues"], "{what}");
            for flow in 0..4 {
                for field in
                    ["goodput_mbps", "throughput_mbps", "retransmits", "timeouts", "drops", "marks", "delay_mean_ms"]
                {
                    assert_eq!(engine["flows"][flow][field], outside["flows"][2 * flow][field], "{what}: {field}");
                }
            }
        }
    }
}
