//! Commented scenarios to start from, one for each kind of topology.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::params::{Param, Unit, Value};

use super::bounds;
use super::error::{quoted_list, ScenarioError};
use super::nearest::suggestion;

/// Discipline of the template.
const AQM: &str = "fq_codel";
/// Longest comment line.
const WIDTH: usize = 100;

/// A scenario in TOML that runs as it is: ten downloads and an upload over a home link of 50 and 10 Mbit/s, CUBIC as in
/// Linux. Its comments name every other key.
///
/// `name` becomes the scenario's name, shortened and freed of control characters where needed.
pub fn template(name: &str) -> String {
    written(name, &NETWORKS[0])
}

/// [`template`] with a topology of this kind.
///
/// # Errors
/// If there is no such kind.
pub fn template_of(name: &str, kind: &str) -> Result<String, ScenarioError> {
    let kinds = || NETWORKS.iter().map(|network| network.kind);
    let found = NETWORKS.iter().find(|network| network.kind == kind);
    found.map(|network| written(name, network)).ok_or_else(|| {
        ScenarioError::new("topology.kind", format!("is unknown{}", suggestion(kind, kinds())))
            .given(format!("{kind:?}"))
            .allowed(quoted_list(kinds()))
    })
}

fn written(name: &str, network: &Network) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(bounds::NAME).collect();
    let name = if name.is_empty() { "scenario".to_string() } else { name };
    let queue = QUEUE.replace("KEY", network.queue).replace("ABOUT\n", network.about_queue);
    let listed = network.ends.is_empty();
    let tail = TAIL.replace("FLOWS", &format!("{:<27}", format!("count = {}", network.flows)));
    let tail = tail.replace("ENDS\n", network.ends).replace("AGAINST\n", if listed { AGAINST } else { "" });
    let upwards = if network.kind == "dumbbell" { UPLOAD } else { ["", ""] };
    let tail = tail.replace("UPLOAD\n", upwards[1]);
    let head = HEAD.replace("NAME", &quoted(&name));
    [&head, network.topology, &queue, &parameters(), upwards[0], &tail].concat()
}

/// `text` in quotes. Without control characters only two characters need a backslash.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The discipline's parameters at their defaults, as settings to uncomment.
fn parameters() -> String {
    let parameter = |param: &Param| {
        let setting = format!("#{} = {}", param.name, default(param));
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
        Value::Real(x) if param.unit == Unit::Seconds && (x * 1e3).fract() == 0.0 => format!("\"{} ms\"", x * 1e3),
        Value::Real(_) if matches!(param.unit, Unit::Seconds | Unit::Rate) => {
            format!("\"{} {}\"", param.default, param.unit.name())
        }
        Value::QueueBytes(_) | Value::Choice(_) | Value::Auto => format!("\"{}\"", param.default),
        // As TOML writes a text; in a basic string of these characters its escapes are Rust's.
        Value::Text(text) => format!("{:?}", text.as_str()),
        Value::Real(_) | Value::Whole(_) | Value::Flag(_) => param.default.to_string(),
    }
}

const HEAD: &str = r##"# A line such as "#name = ..." is a setting; remove the # to use it.
name = NAME
duration = "60 s"            # simulated time
warmup = "20 s"              # statistics start here
seed = 1                     # the same seed gives the same run, to the last packet

"##;

const QUEUE: &str = r##"
ABOUT
[queue.KEY]
aqm = "fq_codel"             # `earlydrop list aqms` names them all
limit = "1 bdp"              # rate x longest round trip; or "120 packets", "120 kB"; without it the discipline's own
ecn = false                  # mark instead of dropping; the traffic needs ecn = true too
"##;

/// The queue and the traffic of the dumbbell's other direction.
const UPLOAD: [&str; 2] = [
    r##"
# The queue of the other direction.
[queue.reverse]
aqm = "fq_codel"
limit = "1 bdp"
"##,
    r##"
# An upload, against the others.
[[traffic]]
kind = "ftp"
name = "upload"
count = 1
direction = "reverse"
tcp = "cubic"
stack = "linux-6.18"
segment = "1448 B"
start = { uniform = ["0 s", "5 s"] }
"##,
];

const TAIL: &str = r##"
[[traffic]]
kind = "ftp"                 # endless files over TCP
#name = "background"
FLOWS  # flows; by default one a pair
ENDS
tcp = "cubic"
stack = "linux-6.18"         # whose TCP; `earlydrop list stacks` names them all
segment = "1448 B"           # payload of a packet: 1500 B with its headers
#header = "52 B"             # headers on top of it
#window = 4000               # largest window, in segments
start = { uniform = ["0 s", "5 s"] }
UPLOAD

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

# Somebody who loads pages of 50 objects, each over six connections.
#[[traffic]]
#kind = "pages"
#count = 6
#size = { pareto = "10 kB", shape = 1.2, max = "1 MB" }
#think = { exponential = "5 s" }
AGAINST

# What to record besides the statistics.
#[record]
#flows = "summary"           # how the flows are distributed, instead of a list of them; false: neither
#series = "100 ms"           # sample queue and average this often
#gauges = true               # and what the discipline keeps inside
#cwnd_flows = [1, 2]         # and these flows' windows, RTTs and pacing rates
#trace = 1000                # keep the first events of the first queue
#transfers = true            # keep the time of every transfer
#delay_histogram = true      # the histogram of each queue's delays
#by_flow = true              # count the queues by flow and by traffic entry
#rates = "10 s"              # each flow's rate, averaged over such intervals
#rate_flows = [1, 2]         # of these flows; by default of all, up to 64
#jitter = true               # how each flow's delays vary
#losses = true               # how far apart losses are, and how many flows lose at once
"##;

/// A topology, and what of a scenario depends on it.
struct Network {
    kind: &'static str,
    topology: &'static str,
    /// Key of the topology's queue.
    queue: &'static str,
    about_queue: &'static str,
    flows: u32,
    /// Where flows go, if the topology lists no pairs or not necessarily.
    ends: &'static str,
}

/// All kinds, as in the checker.
const NETWORKS: [Network; 10] = [
    Network {
        kind: "dumbbell",
        topology: r##"# A home link, 50 Mbit/s down and 10 Mbit/s up, and servers near and far: round trips of 20 to 100 ms.
[topology]
kind = "dumbbell"
pairs = 10
senders = { rate = "1 Gbit/s", delay = { uniform = ["4 ms", "44 ms"] } }
receivers = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "50 Mbit/s", delay = "5 ms" }
reverse = { rate = "10 Mbit/s", delay = "5 ms" }
# Instead of senders and receivers, both sides alike; a delay may also be a list.
#access = { rate = "1 Gbit/s", delay = ["10 ms", "20 ms"] }
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue of the downloads.
"##,
        flows: 10,
        ends: "",
    },
    Network {
        kind: "parking_lot",
        topology: r##"# Three bottlenecks in a row, and hosts whose flows pass all of them or one alone.
[topology]
kind = "parking_lot"
bottlenecks = 3
pairs = 10                   # s1 to d1, s2 to d2, ... over all of them
cross = 10                   # at each: c1.1 to e1.1, ... over the first, c2.1 to e2.1, ... over the second
access = { rate = "1 Gbit/s", delay = { uniform = ["1 ms", "21 ms"] } }
bottleneck = { rate = "50 Mbit/s", delay = "5 ms" }
# Where the bottlenecks' other direction differs.
#reverse = { rate = "10 Mbit/s", delay = "5 ms" }
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue at each bottleneck; [queue.bottleneck2] would be another one at the second. [queue.reverse] is the one
# where acknowledgements go.
"##,
        flows: 40,
        ends: "",
    },
    Network {
        kind: "star",
        topology: r##"# Hosts round one router: h2, h3, ... send to h1.
[topology]
kind = "star"
hosts = 11
access = { rate = "50 Mbit/s", delay = { uniform = ["1 ms", "25 ms"] } }    # of every host
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue at each link of the router; [queue."r1>h1"] would be another one at the link to h1, where the data go.
"##,
        flows: 10,
        ends: "",
    },
    Network {
        kind: "sfred",
        topology: r##"# Senders s1, s2, ... and one receiver d: the network of the SFRED paper. Near and far senders take turns.
[topology]
kind = "sfred"
pairs = 10
senders = { rate = "10 Mbit/s", delay = ["10 ms", "100 ms"] }
bottleneck = { rate = "1.5 Mbit/s", delay = "10 ms" }
receiver = { rate = "10 Mbit/s", delay = "5 ms" }
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue at the bottleneck; [queue.reverse] is the one where acknowledgements go.
"##,
        flows: 10,
        ends: "",
    },
    Network {
        kind: "nlred",
        topology: r##"# Senders s1, s2, ... and one receiver d: the network of the NLRED paper.
[topology]
kind = "nlred"
pairs = 40
senders = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
receiver = { rate = "100 Mbit/s", delay = "5 ms" }
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue at the bottleneck; [queue.reverse] is the one where acknowledgements go.
"##,
        flows: 40,
        ends: "",
    },
    Network {
        kind: "bus",
        topology: r##"# Routers r1, r2, ... in a line, each with a workstation h1, h2, ...: the bus of the DDRED paper.
[topology]
kind = "bus"
routers = 10
core = { rate = "10 Mbit/s", delay = "5 ms" }       # between routers
access = { rate = "10 Mbit/s", delay = "1 ms" }     # of workstations
"##,
        queue: "routers",
        about_queue: r##"# The queue at every output of every router; [queue."r5>r6"] would be another one at that link.
"##,
        flows: 40,
        ends: r##"# Between workstations drawn with the run's seed; or by name.
#from = ["h1", "h4"]
#to = "h10"
"##,
    },
    Network {
        kind: "flower",
        topology: r##"# A ring of routers, each with a loop of more, each router with a workstation: the flower of the DDRED paper.
[topology]
kind = "flower"
petals = 5                   # routers r1, r2, ... in the ring
petal = 8                    # routers in each loop: r6 to r13 at r1, r14 to r21 at r2
core = { rate = "10 Mbit/s", delay = "5 ms" }       # between routers
access = { rate = "10 Mbit/s", delay = "1 ms" }     # of workstations h1, h2, ...
"##,
        queue: "routers",
        about_queue: r##"# The queue at every output of every router; [queue."r1>r2"] would be another one at that link.
"##,
        flows: 100,
        ends: r##"# Between workstations drawn with the run's seed; or by name.
#from = ["h9", "h17", "h25"]
#to = "h1"
"##,
    },
    Network {
        kind: "two_flow",
        topology: r##"# s1 - r1 - r2 - d and s2 - r2: the two flows of the DDRED paper, the first of them from farther away.
[topology]
kind = "two_flow"
first = { rate = "10 Mbit/s", delay = "10 ms" }     # the link of s1
link = { rate = "10 Mbit/s", delay = "1 ms" }       # every other
"##,
        queue: "bottleneck",
        about_queue: r##"# The queue at r2 towards d; [queue.reverse] is the one where acknowledgements go.
"##,
        flows: 2,
        ends: "",
    },
    Network {
        kind: "random",
        topology: r##"# Routers r1, r2, ... joined at random, each with hosts h1, h2, ...
[topology]
kind = "random"
routers = 20
degree = 4                   # links between routers at each of them, on average
hosts = 2                    # at each router
graph_seed = 1               # draws the network; the run's seed draws who sends to whom
core = { rate = "10 Mbit/s", delay = "5 ms" }       # between routers
access = { rate = "100 Mbit/s", delay = "1 ms" }    # of hosts
"##,
        queue: "routers",
        about_queue: r##"# The queue at every output of every router.
"##,
        flows: 200,
        ends: r##"# Between hosts drawn with the run's seed; or by name.
#from = "h2*"
#to = "h1"
"##,
    },
    Network {
        kind: "graph",
        topology: r##"# Any nodes and links: here a and b send to c over the link from r1 to r2.
[topology]
kind = "graph"
pairs = [["a", "c"], ["b", "c"]]    # who sends to whom where traffic does not say; or "random"

[[link]]
from = "a"
to = "r1"
rate = "1 Gbit/s"
delay = "1 ms"

[[link]]
from = "b"
to = "r1"
rate = "1 Gbit/s"
delay = { uniform = ["10 ms", "20 ms"] }    # drawn with the run's seed

[[link]]
from = "r1"
to = "r2"
rate = "50 Mbit/s"
delay = "10 ms"
queue = "core"               # a [queue.core], below; without one there is room for everything
# The other direction, by default with the same rate, delay and link layer; false for none.
reverse = { rate = "10 Mbit/s", queue = "core" }
# What else may happen on a link.
#link_layer = "ip"
#framing = { overhead = "18 B", mpu = "64 B", encoding = "plain" }
#aggregation = { access = "1 ms", bytes = "64 kB" }
#loss = 0.0001
#jitter = "2 ms"             # in order, unless { uniform = ["0 ms", "2 ms"], keep_order = false }
#reorder = { probability = 0.001, delay = "5 ms" }

[[link]]
from = "r2"
to = "c"
rate = "1 Gbit/s"
delay = "1 ms"
"##,
        queue: "core",
        about_queue: r##"# The queue at each link that names it.
"##,
        flows: 20,
        ends: r##"# Instead of the pairs above: names of nodes, or patterns such as "h*".
#from = ["a", "b"]
#to = "c"
"##,
    },
];

/// For topologies with pairs.
const AGAINST: &str = "#direction = \"reverse\"       # against the others\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{check, topology, Doc, Limit, Scenario};

    fn scenario(text: &str) -> Scenario {
        Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).expect("the template is sound")
    }

    #[test]
    fn is_a_sound_scenario_whatever_its_name() {
        let first = scenario(&template("first"));
        assert_eq!((first.name.as_str(), first.flows()), ("first", 11));
        // 50 Mbit/s for 100 ms, and 10 Mbit/s.
        assert_eq!(first.queues[0].spec.limit, Limit::Bytes(625_000));
        assert_eq!(first.queues[1].spec.limit, Limit::Bytes(125_000));
        assert_eq!(first.queues[0].spec.spec.name, AQM);
        assert_eq!(first.traffic[0].packet(), 1500);
        assert_eq!(first.warnings(), [""; 0]);
        for name in ["", "a\"b\\c", "\u{7f}\n", "#", "NAME", &"é".repeat(500)] {
            scenario(&template(name));
        }
        assert_eq!(scenario(&template("a\"b\\c")).name, "a\"b\\c");
    }

    #[test]
    fn every_kind_of_topology_has_a_template() {
        let kinds: Vec<&str> = NETWORKS.iter().map(|network| network.kind).collect();
        assert_eq!(kinds, topology::KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>());
        for network in &NETWORKS {
            let text = template_of("a", network.kind).expect("a kind");
            assert!(text.contains(&format!("\nkind = \"{}\"\n", network.kind)));
            assert!(text.lines().all(|line| line.len() <= 120), "{}", network.kind);
            let scenario = scenario(&text);
            assert_eq!(scenario.traffic[0].flows(), u64::from(network.flows));
            assert_eq!(scenario.warnings(), [""; 0]);
            assert_eq!(scenario.queues[0].key, network.queue);
        }
        for kind in topology::KINDS {
            let text = template_of("a", kind.name).expect("a kind");
            for key in kind.keys.iter().map(|row| row.name()) {
                assert!(text.contains(&format!("\n{key} = ")) || text.contains(&format!("\n#{key} = ")), "{key}");
            }
        }
        assert_eq!(template_of("first", "dumbbell"), Ok(template("first")));
        let error = template_of("a", "sta").expect_err("no kind");
        assert_eq!(error.message, "is unknown; did you mean \"star\"?");
    }

    #[test]
    fn is_sound_with_its_comments_taken_as_settings() {
        let spec = catalogue::find(AQM).expect("in the catalogue");
        let uncomment = |line: &str| match line.strip_prefix('#') {
            Some(access) if access.starts_with("access") => format!("{line}\n"),
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        };
        for network in &NETWORKS {
            let text = template_of("all", network.kind).expect("a kind");
            let all = scenario(&text.lines().map(uncomment).collect::<String>());
            assert!(spec.all_params().all(|param| all.queues[0].spec.values.given(param.name).is_some()));
            assert_eq!(all.record.cwnd_flows, [1, 2]);
            assert_eq!(all.ends[0].between.is_some(), !network.ends.is_empty());
        }
    }
}
