//! A commented scenario to start from.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::params::{Param, Value};

use super::bounds;

/// Discipline of the template.
const AQM: &str = "red";
/// Longest comment line.
const WIDTH: usize = 100;

/// A scenario in TOML that runs as it is: 40 TCP flows through a RED queue. Its comments name every other key.
///
/// `name` becomes the scenario's name, shortened and freed of control characters where needed.
pub fn template(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(bounds::NAME).collect();
    let name = if name.is_empty() { "scenario".to_string() } else { name };
    [HEAD.replace("NAME", &quoted(&name)), parameters(), TAIL.to_string()].concat()
}

/// Without control characters only two characters need a backslash.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The discipline's parameters: the ones of the experiment set, the others as settings to uncomment.
fn parameters() -> String {
    let chosen = [("min_th", "24"), ("max_th", "72"), ("max_p", "0.1"), ("w_q", "0.002"), ("mean_packet", "1040")];
    let parameter = |param: &Param| {
        let setting = match chosen.iter().find(|(name, _)| *name == param.name) {
            Some((name, value)) => format!("{name} = {value}"),
            None => format!("#{} = {}", param.name, default(param)),
        };
        let unit = match param.unit.name() {
            "" => String::new(),
            name => format!("{name}; "),
        };
        format!("{}{setting:<28} # {unit}{}\n", comment(param.doc), param.range())
    };
    catalogue::find(AQM).into_iter().flat_map(|spec| spec.all_params()).map(parameter).collect()
}

/// Text as comment lines of ordinary length.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    lines + &line + "\n"
}

fn default(param: &Param) -> String {
    match param.default {
        Value::QueueBytes(_) | Value::Choice(_) | Value::Auto => format!("\"{}\"", param.default),
        Value::Real(_) | Value::Whole(_) | Value::Flag(_) => param.default.to_string(),
    }
}

const HEAD: &str = r##"# A line such as "#name = ..." is a setting; remove the # to use it.
name = NAME
duration = "200 s"           # simulated time
warmup = "50 s"              # statistics start here
seed = 1                     # the same seed gives the same run, to the last packet

# 40 senders and 40 receivers on either side of one bottleneck.
[topology]
kind = "dumbbell"
pairs = 40
access = { rate = "5 Mbit/s", delay = "20 ms" }
bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }
# Instead of access, each side by itself; a delay may be a list, or drawn from an interval.
#senders = { rate = "5 Mbit/s", delay = ["10 ms", "20 ms"] }
#receivers = { rate = "5 Mbit/s", delay = { uniform = ["1 ms", "10 ms"] } }
# Where the bottleneck's other direction differs.
#reverse = { rate = "5 Mbit/s", delay = "10 ms" }

# The queue at the bottleneck; [queue.reverse] is the one where acknowledgements go.
[queue.bottleneck]
aqm = "red"
limit = "120 packets"        # or bytes, such as "120 kB"
ecn = false                  # mark instead of dropping
"##;

const TAIL: &str = r##"
[[traffic]]
kind = "ftp"                 # endless files over TCP
#name = "background"
count = 40                   # flows; by default one a pair
tcp = "reno"
profile = "ns2"              # segments, coarse clock ticks, no handshake
segment = "1000 B"           # payload of a packet
header = "40 B"              # headers on top of it
window = 1000                # largest window, in segments
start = { uniform = ["0 s", "1 s"] }

# A flow that does not slow down, over UDP.
#[[traffic]]
#kind = "cbr"
#rate = "1 Mbit/s"
#segment = "1000 B"

# Files of finite size, one after the other; their times are in the result.
#[[traffic]]
#kind = "transfers"
#count = 4
#size = { uniform = ["100 kB", "1 MB"] }
#number = "endless"
#think = { exponential = "1 s" }

# A crowd on the web: a session every 2 s in the mean.
#[[traffic]]
#kind = "web"
#session_gap = "2 s"
#direction = "reverse"       # against the others

# What to record besides the statistics.
#[record]
#series = "100 ms"           # sample queue and average this often
#cwnd_flows = [1, 2]         # and these flows' windows
#trace = 1000                # keep the first events at the bottleneck
#transfers = true            # keep the time of every transfer
#by_flow = true              # count the queues by flow and by traffic entry
#rates = "10 s"              # each flow's rate, averaged over such intervals
#rate_flows = [1, 2]         # of these flows; by default of all, up to 64
"##;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check, Doc, Limit, Scenario};

    fn scenario(text: &str) -> Scenario {
        Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).expect("the template is sound")
    }

    #[test]
    fn is_a_sound_scenario_whatever_its_name() {
        let first = scenario(&template("first"));
        assert_eq!((first.name.as_str(), first.flows()), ("first", 40));
        assert_eq!(first.queues[0].spec.limit, Limit::Packets(120));
        assert_eq!(first.queues[0].spec.spec.name, AQM);
        for name in ["", "a\"b\\c", "\u{7f}\n", "#", "NAME", &"é".repeat(500)] {
            scenario(&template(name));
        }
        assert_eq!(scenario(&template("a\"b\\c")).name, "a\"b\\c");
    }

    #[test]
    fn is_sound_with_its_comments_taken_as_settings() {
        let spec = catalogue::find(AQM).expect("in the catalogue");
        let text = template("all");
        let uncomment = |line: &str| match line.strip_prefix('#') {
            Some(access) if access.starts_with("senders") || access.starts_with("receivers") => {
                format!("{line}\n")
            }
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        };
        let all = scenario(&text.lines().map(uncomment).collect::<String>());
        assert!(spec.all_params().all(|param| all.queues[0].spec.values.given(param.name).is_some()));
        assert_eq!(all.record.cwnd_flows, [1, 2]);
    }
}
