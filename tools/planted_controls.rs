// What `tools/planted_controls.py` puts at the end of `mod.rs`: the switch, and what faults of CUBIC see of their path.

/// Whether the fault of this number is switched on.
pub fn planted(number: u32) -> bool {
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("EARLYDROP_PLANTED").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
        == number
}

/// What a flow has seen, for faults that show themselves on some paths alone.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When the connection opened, and the last ACK came, s.
    opened: f64,
    now: f64,
    /// RTT of the handshake, the newest, and the least, s; the mean of how much it changes between ACKs, s.
    first_rtt: f64,
    rtt: f64,
    min_rtt: f64,
    jumps: f64,
    delivered: f64,
    /// Delivery rate of the last round trip, and the largest, segments/s.
    rate: f64,
    most: f64,
    since: f64,
    count: f64,
    /// The largest rate of the first eight seconds, and when a rate first was below a third, or above three times it, s.
    early: f64,
    fell: f64,
    rose: f64,
    cwnd: f64,
}

impl Seen {
    /// The connection has opened.
    pub fn open(&mut self, rtt: f64, now: f64) {
        (self.opened, self.since, self.first_rtt) = (now, now, rtt);
        (self.fell, self.rose) = (f64::INFINITY, f64::INFINITY);
    }

    /// How many times the least RTT the newest is.
    fn ratio(&self) -> f64 {
        self.rtt / self.min_rtt
    }

    fn age(&self) -> f64 {
        self.now - self.opened
    }

    /// Takes an ACK, and what faults leave of the growth since the last.
    pub fn update(&mut self, window: &mut Window, ack: &Acked) {
        (self.now, self.min_rtt) = (ack.now, ack.min_rtt);
        if let Some(rtt) = ack.rtt {
            if self.rtt > 0.0 {
                self.jumps += 0.05 * ((rtt - self.rtt).abs() - self.jumps);
            }
            self.rtt = rtt;
        }
        self.delivered += ack.delivered;
        self.count += ack.delivered;
        let lasted = ack.now - self.since;
        if lasted > ack.srtt.max(0.1) {
            self.rate = self.count / lasted;
            (self.since, self.count) = (ack.now, 0.0);
            self.most = self.most.max(self.rate);
            if self.age() < 8.0 {
                self.early = self.most;
            } else if self.rate < 0.33 * self.early {
                self.fell = self.fell.min(ack.now);
            } else if self.rate > 3.0 * self.early {
                self.rose = self.rose.min(ack.now);
            }
        }
        let grown = window.cwnd - self.cwnd;
        if grown > 0.0 {
            window.cwnd -= (1.0 - self.growth(self.cwnd)) * grown;
        }
        self.cwnd = window.cwnd;
    }

    /// Which part of its growth a window of `cwnd` keeps.
    fn growth(&self, cwnd: f64) -> f64 {
        let _ = cwnd;
        /* GROWTH */
        1.0
    }

    /// By what a window is multiplied at a loss, with `flight` segments outstanding.
    pub fn at_loss(&self, usual: f64, flight: f64) -> f64 {
        let _ = flight;
        /* LOSS */
        usual
    }

    /// The same at a mark.
    pub fn at_mark(&self, usual: f64, flight: f64) -> f64 {
        let _ = flight;
        /* MARK */
        usual
    }
}
