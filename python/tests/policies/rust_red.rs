//! RED of 1993 (Floyd and Jacobson, Fig. 2), as somebody would write it in Rust.

mod abi;

use abi::{gauge, Aqm, Context, Gauge, Packet, Param, Queue, Unit, Verdict};
use std::ffi::CStr;

#[derive(Clone, Copy)]
struct Red {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w_q: f64,
    packets_per_second: f64,
    avg: f64,
    p_b: f64,
    count: i64,
    last: f64,
    counted_until: f64,
}

impl Red {
    fn observe(&mut self, queue: &Queue, cx: &Context) {
        if queue.idle_since < 0.0 {
            self.last = -1.0;
            self.avg = (1.0 - self.w_q) * self.avg + self.w_q * queue.packets as f64;
            return;
        }
        // An arrival that is dropped at an idle link leaves it idle; what it has not counted, the next one counts.
        let since = if self.last == queue.idle_since { self.counted_until } else { queue.idle_since };
        let m = (self.packets_per_second * (cx.now - since)).trunc();
        if m > 0.0 {
            self.avg *= cx.exp(m * cx.log1p(-self.w_q));
        }
        self.last = cx.now;
        self.counted_until = since + m / self.packets_per_second;
    }
}

impl Aqm for Red {
    const NAME: &'static CStr = c"rust_red";
    const PARAMS: &'static [Param] = &[
        Param::real(c"min_th", 5.0).range(0.0, f64::INFINITY).unit(Unit::Packets),
        Param::real(c"max_th", 15.0).range(0.0, f64::INFINITY).unit(Unit::Packets),
        Param::real(c"max_p", 0.02).range(0.0, 1.0).above_low(),
        Param::real(c"w_q", 0.002).range(0.0, 1.0).above_low(),
        Param::real(c"mean_packet", 500.0).range(1.0, 65535.0).unit(Unit::Bytes),
    ];
    const GAUGES: &'static [Gauge] = &[gauge(c"avg"), gauge(c"p_b"), gauge(c"count")];
    const AVERAGE: bool = true;

    fn new(p: &[f64], _queue: &Queue, cx: &Context) -> Self {
        let packets_per_second = cx.link_rate / (8.0 * p[4]);
        let (min_th, max_th, max_p, w_q) = (p[0], p[1], p[2], p[3]);
        let (avg, p_b, count, last, counted_until) = (0.0, 0.0, -1, -1.0, 0.0);
        Red { min_th, max_th, max_p, w_q, packets_per_second, avg, p_b, count, last, counted_until }
    }

    fn check(p: &[f64]) -> Option<&'static CStr> {
        (p[1] <= p[0]).then_some(c"max_th must be more than min_th")
    }

    fn on_enqueue(&mut self, _packet: &Packet, queue: &Queue, cx: &Context) -> Verdict {
        self.observe(queue, cx);
        if self.avg < self.min_th {
            self.count = -1;
            return Verdict::Pass;
        }
        if self.avg >= self.max_th {
            self.p_b = 1.0;
            self.count = 0;
            return Verdict::DropForced;
        }
        self.count += 1;
        let width = self.max_th - self.min_th;
        self.p_b = ((1.0 / width * self.avg + -self.min_th / width) * self.max_p).clamp(0.0, 1.0);
        let used = self.count as f64 * self.p_b;
        let p_a = if used < 1.0 { (self.p_b / (1.0 - used)).min(1.0) } else { 1.0 };
        if p_a > 0.0 && cx.random() <= p_a {
            self.count = 0;
            return Verdict::Signal;
        }
        Verdict::Pass
    }

    fn average(&self) -> f64 {
        self.avg
    }

    fn gauges(&self, out: &mut [f64]) {
        out.copy_from_slice(&[self.avg, self.p_b, self.count as f64]);
    }
}

export!(Red);
