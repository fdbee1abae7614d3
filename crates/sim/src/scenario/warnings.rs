//! Warnings: what is allowed in a scenario but probably not meant.

use std::collections::BTreeMap;

use earlydrop_aqm::params::{Unit, Value};
use earlydrop_aqm::Link;

use super::bdp;
use super::model::{Delays, Queue};
use super::traffic::{Direction, Load, Starts, Traffic};
use super::whole::Scenario;

/// A threshold below this part of the buffer that a link needs is far below it.
const FAR_BELOW: f64 = 0.25;
/// A threshold of more bandwidth-delay products than this is far above, if it also takes ten times [`LONG`] to send.
const FAR_ABOVE: f64 = 10.0;
/// A long time for a queue to be sent, s.
const LONG: f64 = 0.1;
/// A random start, as documents write it.
const RANDOM: &str = r#"start = { uniform = ["0 s", "1 s"] }"#;

impl Scenario {
    /// One sentence for each thing that is probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let mut found: Vec<String> = self.together().or_else(|| self.fixed()).into_iter().collect();
        found.extend(self.ecn_on_one_side());
        let lengths = |queue: &Queue| queue.spec.spec.all_params().any(|param| param.unit == Unit::QueueLength);
        // Routes through a large network take a while.
        let products = match self.queues.iter().any(lengths) {
            true => bdp::largest(self),
            false => vec![None; self.queues.len()],
        };
        for (queue, product) in self.queues.iter().zip(products) {
            found.extend(product.and_then(|product| self.threshold_far_off(queue, product)));
            found.extend(self.step_below_a_packet(queue));
        }
        for (number, entry) in self.traffic.iter().enumerate() {
            if let Load::Outside(_) = entry.load {
                found.push(format!(
                    "traffic[{number}]: its datagrams come from a program (crates/path); in a run without one nobody \
                     sends them"
                ));
            }
            found.extend(self.never_sends(entry).map(|why| format!("traffic[{number}]: {why}")));
        }
        found
    }

    /// TCP flows that start at the same moment without random times.
    fn together(&self) -> Option<String> {
        let mut at: BTreeMap<u64, u64> = BTreeMap::new();
        for traffic in &self.traffic {
            // The connections of a browser start together, and its objects are drawn.
            if traffic.tcp().is_none() || matches!(traffic.load, Load::Web(_) | Load::Pages(_)) {
                continue;
            }
            let count = traffic.flows();
            match &traffic.start {
                Starts::Times(Delays::Same(time)) => *at.entry(time.to_bits()).or_default() += count,
                Starts::Times(Delays::List(times)) => {
                    let (every, rest) = (count / times.len() as u64, count % times.len() as u64);
                    for (place, time) in (0..).zip(times) {
                        *at.entry(time.to_bits()).or_default() += every + u64::from(place < rest);
                    }
                }
                Starts::Every { gap, from } if *gap == 0.0 => *at.entry(from.to_bits()).or_default() += count,
                Starts::Times(Delays::Uniform(..))
                | Starts::Every { .. }
                | Starts::Poisson { .. }
                | Starts::Drawn(_) => {}
            }
        }
        let (time, count) = at.into_iter().max_by_key(|&(_, count)| count)?;
        (count > 1).then(|| {
            format!(
                "{count} TCP flows start at exactly {} s, so they move in step, and another seed may give the same \
                 run; let them start at random, as {RANDOM}",
                f64::from_bits(time)
            )
        })
    }

    /// A TCP flow that starts at the same moment with every seed, if all others do too.
    fn fixed(&self) -> Option<String> {
        let over_tcp = |(_, traffic): &(usize, &Traffic)| traffic.tcp().is_some();
        let mut entries = self.traffic.iter().enumerate().filter(over_tcp);
        let fixed = |traffic: &Traffic| match (&traffic.load, &traffic.start) {
            (Load::Web(_) | Load::Pages(_), _) => None,
            (_, Starts::Times(Delays::Same(time))) => Some(*time),
            _ => None,
        };
        let (number, first) = entries.next()?;
        let time = fixed(first)?;
        entries.all(|(_, traffic)| fixed(traffic).is_some()).then(|| {
            format!(
                "traffic[{number}] starts at exactly {time} s with every seed, so another seed may give the same run; \
                 let it start at random, as {RANDOM}"
            )
        })
    }

    /// Why no flow of `entry` can send anything; shares and Jain's index leave such flows out.
    fn never_sends(&self, entry: &Traffic) -> Option<String> {
        let start = entry.earliest_start()?;
        if start >= self.duration {
            return Some(format!("starts at {start} s, but the run ends at {} s: it sends nothing", self.duration));
        }
        let stop = entry.stop().filter(|&stop| stop <= start)?;
        Some(format!("starts at {start} s, but stops at {stop} s: it sends nothing"))
    }

    /// Marks that no sender answers, or senders whose packets no queue marks.
    fn ecn_on_one_side(&self) -> Option<String> {
        let capable = self.traffic.iter().position(|traffic| traffic.sends_ecn());
        let marking = self.queues.iter().find(|queue| queue.spec.ecn);
        match (marking, capable) {
            (Some(queue), None) => Some(format!(
                "{}: ecn = true, but no traffic is ECN-capable, so nothing is marked; \
                 a traffic entry over TCP needs ecn = true too",
                queue.path()
            )),
            (None, Some(number)) if !self.queues.is_empty() => Some(format!(
                "traffic[{number}]: ecn = true, but no queue marks, so its packets are dropped like all others; \
                 a queue needs ecn = true too"
            )),
            _ => None,
        }
    }

    /// A threshold far below what the link needs, or far above: probably made for another rate or round-trip time.
    /// `product` is the bandwidth-delay product, bytes.
    ///
    /// n flows need a buffer of about the product divided by the root of n (Appenzeller et al. 2004).
    fn threshold_far_off(&self, queue: &Queue, product: f64) -> Option<String> {
        let flows: u64 = self.traffic.iter().filter(|traffic| traffic.tcp().is_some()).map(Traffic::flows).sum();
        let needed = product / (flows.max(1) as f64).sqrt();
        let packet =
            f64::from(self.largest_packet(Direction::Forward).0.max(self.largest_packet(Direction::Reverse).0));
        let of = |name: &str| {
            let bytes = |value| match value {
                Value::Real(x) => Some((x * packet, format!("{x} packets"))),
                Value::QueueBytes(x) => Some((x, format!("{x} B"))),
                _ => None,
            };
            let lengths = queue.spec.spec.all_params().filter(|param| param.unit == Unit::QueueLength);
            let params = lengths.filter(|param| param.name.starts_with(name));
            let found = params.filter_map(|param| Some((param.name, bytes(queue.spec.values.get(param))?)));
            found.max_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other))
        };
        let small = of("max_th").or_else(|| of("q_ref")).filter(|(_, (bytes, _))| *bytes < FAR_BELOW * needed);
        let too_long = FAR_ABOVE * product.max(LONG * self.slowest(queue) / 8.0);
        let large = of("min_th").or_else(|| of("q_ref")).filter(|(_, (bytes, _))| *bytes > too_long);
        let ((name, (_, given)), what) = match (small, large) {
            (Some(small), _) => (small, "below what the link needs to stay busy"),
            (_, Some(large)) => (large, "above what the link needs"),
            _ => return None,
        };
        Some(format!(
            "{}: {name} = {given} is far {what}: its bandwidth-delay product is {:.0} packets of {packet} B",
            queue.path(),
            product / packet
        ))
    }

    /// The nominal rate of the slowest link that has this queue, bit/s.
    fn slowest(&self, queue: &Queue) -> f64 {
        let graph = self.topology.with_queues();
        let ports = self.ports(&graph);
        let ports = ports.iter().filter(|port| self.queues[port.queue].key == queue.key);
        let rates = ports.filter_map(|port| graph.link(port.link)).map(|(direction, ..)| direction.link.rate.nominal());
        let rates = rates.map(|rate_bps| queue.spec.link(&Link { rate_bps, delay_s: 0.0 }).rate_bps);
        rates.fold(f64::INFINITY, f64::min)
    }

    /// A step of DualPI2 that every packet exceeds during its own transmission.
    fn step_below_a_packet(&self, queue: &Queue) -> Option<String> {
        let (spec, values) = (queue.spec.spec, &queue.spec.values);
        let word = |name: &str| spec.param(name).map(|param| values.get(param));
        let linux = word("dialect") == Some(Value::Choice("linux"));
        let step =
            word("l_aqm") == Some(Value::Choice("step")) || (linux && word("l_aqm") == Some(Value::Choice("auto")));
        let scalable = |traffic: &&Traffic| traffic.is_scalable();
        if spec.name != "dualpi2" || !step {
            return None;
        }
        let packet = self.traffic.iter().filter(scalable).map(Traffic::packet).max()?;
        let Some(Value::Real(threshold)) = word("step_threshold") else { return None };
        let time = 8.0 * f64::from(packet) / self.slowest(queue);
        (threshold < time).then(|| {
            format!(
                "{}: step_threshold = {} ms is less than the {:.3} ms that a packet of {packet} B takes to send, \
                 so whatever waits for another packet is marked",
                queue.path(),
                threshold * 1e3,
                time * 1e3
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check, Doc};

    fn warnings(traffic: &str) -> Vec<String> {
        let text = format!(
            "name = \"w\"\nduration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 4\n\
             access = {{ rate = \"10 Mbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"1 Mbit/s\", delay = \"10 ms\" }}\n\
             [queue.bottleneck]\naqm = \"red\"\nlimit = \"50 packets\"\n{traffic}"
        );
        check(&Doc::from_toml(&text, None).unwrap(), None).unwrap().warnings()
    }

    #[test]
    fn flows_that_start_together_are_named() {
        let found = warnings("[[traffic]]\nkind = \"ftp\"\ncount = 4\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("4 TCP flows start at exactly 0 s,"), "{}", found[0]);
        // Two entries of one flow each, and entries that use a list repeatedly.
        let one = "[[traffic]]\nkind = \"ftp\"\ncount = 1\n";
        assert_eq!(warnings(&one.repeat(2)).len(), 1);
        let listed = warnings("[[traffic]]\nkind = \"ftp\"\ncount = 3\nstart = [\"1 s\", \"2 s\"]\n");
        assert!(listed[0].starts_with("2 TCP flows start at exactly 1 s,"), "{listed:?}");
        assert_eq!(warnings("[[traffic]]\nkind = \"ftp\"\ncount = 2\nstart = { every = \"0 s\" }\n").len(), 1);
    }

    #[test]
    fn flows_that_start_apart_or_at_random_are_not() {
        for start in
            ["{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"1 s\"]", "{ every = \"1 s\" }", "{ poisson = \"1 s\" }"]
        {
            assert!(warnings(&format!("[[traffic]]\nkind = \"ftp\"\ncount = 2\nstart = {start}\n")).is_empty());
        }
        let one = warnings("[[traffic]]\nkind = \"ftp\"\ncount = 1\n");
        assert!(one.len() == 1 && one[0].starts_with("traffic[0] starts at exactly 0 s with every seed"), "{one:?}");
        let random = "start = { uniform = [\"0 s\", \"1 s\"] }\n";
        let two = format!("[[traffic]]\nkind = \"ftp\"\ncount = 1\n[[traffic]]\nkind = \"ftp\"\n{random}");
        assert!(warnings(&two).is_empty());
        assert!(warnings("[[traffic]]\nkind = \"cbr\"\ncount = 4\nrate = \"10 kbit/s\"\n").is_empty());
        assert!(warnings("[[traffic]]\nkind = \"web\"\nsession_gap = \"1 s\"\n").is_empty());
    }

    /// Warnings with this rate of the bottleneck and this queue. The RTT is 24 ms.
    fn of_queue(rate: &str, queue: &str, traffic: &str) -> Vec<String> {
        let text = format!(
            "name = \"w\"\nduration = \"10 s\"\n[topology]\nkind = \"dumbbell\"\npairs = 4\n\
             access = {{ rate = \"1 Gbit/s\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"{rate}\", delay = \"10 ms\" }}\n[queue.bottleneck]\n{queue}\n\
             [[traffic]]\nkind = \"ftp\"\ncount = 4\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}\n{traffic}\n"
        );
        check(&Doc::from_toml(&text, None).unwrap(), None).unwrap().warnings()
    }

    #[test]
    fn ecn_needs_both_sides() {
        let of = |queue: &str, traffic: &str| of_queue("1 Mbit/s", &format!("aqm = \"codel\"\n{queue}"), traffic);
        assert!(of("ecn = true", "ecn = true").is_empty() && of("", "").is_empty());
        assert!(of("ecn = true", "")[0].starts_with("queue.bottleneck: ecn = true, but no traffic is ECN-capable"));
        assert!(of("", "ecn = true")[0].starts_with("traffic[0]: ecn = true, but no queue marks"));
        // DCTCP is ECN-capable by itself.
        assert!(of("ecn = true", "tcp = \"dctcp\"").is_empty());
        assert_eq!(of("", "tcp = \"dctcp\"").len(), 1);
    }

    #[test]
    fn flows_that_cannot_send_are_named() {
        let at = |start: &str| warnings(&format!("[[traffic]]\nkind = \"ftp\"\ncount = 2\nstart = {start}\n"));
        let late = "traffic[0]: starts at 100 s, but the run ends at 10 s: it sends nothing";
        assert_eq!(at("{ uniform = [\"100 s\", \"200 s\"] }"), [late]);
        assert!(at("[\"120 s\", \"100 s\"]").contains(&late.to_string()));
        assert!(at("[\"1 s\", \"100 s\"]").iter().all(|said| !said.contains("sends nothing")));
        let until = |stop: &str| {
            warnings(&format!("[[traffic]]\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstart = \"5 s\"\nstop = \"{stop}\"\n"))
        };
        assert_eq!(until("2 s"), ["traffic[0]: starts at 5 s, but stops at 2 s: it sends nothing"]);
        assert!(until("6 s").is_empty());
    }

    #[test]
    fn thresholds_of_another_network_are_named() {
        let red = "aqm = \"red\"";
        // The product is 150 kB, for four flows 75 kB; 15 packets are 15.6 kB.
        let found = of_queue("50 Mbit/s", red, "");
        assert_eq!(
            found,
            ["queue.bottleneck: max_th = 15 packets is far below what the link needs to stay busy: its \
              bandwidth-delay product is 144 packets of 1040 B"]
        );
        assert!(of_queue("10 Mbit/s", red, "").is_empty());
        assert!(of_queue("50 Mbit/s", "aqm = \"red\"\nmin_th = 20\nmax_th = 60", "").is_empty());
        assert!(of_queue("50 Mbit/s", "aqm = \"red\"\nmin_th = \"auto\"\nmax_th = \"auto\"", "").is_empty());
        let above = of_queue("100 kbit/s", "aqm = \"red\"\nmin_th = 20\nmax_th = 60", "");
        assert!(above[0].starts_with("queue.bottleneck: min_th = 20 packets is far above"), "{above:?}");
        assert_eq!(of_queue("1 Gbit/s", "aqm = \"pi\"", "").len(), 1);
        assert!(of_queue("1 Gbit/s", "aqm = \"pie\"", "").is_empty());
    }

    #[test]
    fn a_step_shorter_than_a_packet_is_named() {
        let step = |rate: &str, more: &str, tcp: &str| {
            of_queue(rate, &format!("aqm = \"dualpi2\"\necn = true\n{more}"), &format!("tcp = \"{tcp}\"\necn = true"))
        };
        // A packet of 1052 B takes 2.1 ms.
        let found = step("4 Mbit/s", "", "prague");
        assert!(found[0].starts_with("queue.bottleneck: step_threshold = 1 ms is less than the 2.104 ms"), "{found:?}");
        assert!(step("10 Mbit/s", "", "prague").is_empty());
        assert!(step("4 Mbit/s", "step_threshold = \"3 ms\"", "prague").is_empty());
        assert!(step("4 Mbit/s", "dialect = \"rfc\"", "prague").is_empty());
        assert!(step("4 Mbit/s", "", "cubic").is_empty());
    }
}
