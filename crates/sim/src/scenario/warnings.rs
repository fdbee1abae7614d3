//! Warnings: what is allowed in a scenario but probably not meant.

use std::collections::BTreeMap;

use super::model::Delays;
use super::traffic::{Load, Starts};
use super::whole::Scenario;

/// A random start, as documents write it.
const RANDOM: &str = r#"start = { uniform = ["0 s", "1 s"] }"#;

impl Scenario {
    /// One sentence for each thing that is probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let mut found: Vec<String> = self.together().into_iter().collect();
        for (number, entry) in self.traffic.iter().enumerate() {
            let idle = entry.tcp_spec().map(|spec| spec.idle_options()).unwrap_or_default();
            found.extend(
                idle.into_iter()
                    .map(|(key, needs)| format!("traffic[{number}]: {key} has no effect: it needs {needs}")),
            );
        }
        found
    }

    /// TCP flows that start at the same moment, which nothing drew.
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
    fn options_without_effect_are_named() {
        let entry =
            |more: &str| format!("[[traffic]]\nkind = \"ftp\"\ncount = 1\nprofile = \"rfc\"\ntcp = \"reno\"\n{more}\n");
        let found = warnings(&entry("rules = { pair_wait = \"due\" }"));
        assert_eq!(found, ["traffic[0]: pair_wait has no effect: it needs send_pairs = true"]);
        assert!(warnings(&entry("send_pairs = true\nrules = { pair_wait = \"due\" }")).is_empty());
        assert!(warnings(&entry("rules = { pair_wait = \"any\" }")).is_empty());
    }

    #[test]
    fn flows_that_start_apart_or_at_random_are_not() {
        for start in
            ["{ uniform = [\"0 s\", \"1 s\"] }", "[\"0 s\", \"1 s\"]", "{ every = \"1 s\" }", "{ poisson = \"1 s\" }"]
        {
            assert!(warnings(&format!("[[traffic]]\nkind = \"ftp\"\ncount = 2\nstart = {start}\n")).is_empty());
        }
        assert!(warnings("[[traffic]]\nkind = \"ftp\"\ncount = 1\n").is_empty());
        assert!(warnings("[[traffic]]\nkind = \"cbr\"\ncount = 4\nrate = \"10 kbit/s\"\n").is_empty());
        assert!(warnings("[[traffic]]\nkind = \"web\"\nsession_gap = \"1 s\"\n").is_empty());
    }
}
