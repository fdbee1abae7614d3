//! Sound scenarios: what they become, and what changes to them do.

use earlydrop_net::source::Distribution;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{
    apply_sets, check, load, retain_known, retain_known_with, template, Delays, Direction, Doc, InjectedRandom, Limit,
    Load, Scenario, ScenarioError, Starts,
};
use earlydrop_sim::topology::{Access, LinkSpec, Rate};

const FULL: &str = r#"
name = "everything said"
duration = "1 min"
warmup = "500 ms"
seed = 9223372036854775807

[topology]
kind = "dumbbell"
pairs = 3
senders = { rate = "10Mbps", delay = ["1 ms", "2 ms"] }
receivers = { rate = "1.5 Gbit/s", delay = { uniform = ["1 ms", "10 ms"] } }
bottleneck = { rate = "500 kbit/s", delay = "10 ms" }
reverse = { rate = "1 Mbit/s", delay = "5us" }

[queue.bottleneck]
aqm = "red"
limit = "15 kB"
ecn = true
random = { generator = "mrg32k3a", seed = 12345, skip = 6 }
min_th = "5 packets"
max_th = "15p"
max_p = 1
w_q = "auto"
dialect = "ns2"
wait = false
gentle = true
mean_packet = "1 kB"

[queue.reverse]
aqm = "droptail"
limit = 1000

[[traffic]]
kind = "ftp"
name = "first"
count = 2
tcp = "reno"
stack = "ns2-2.35"
segment = 512
header = "20 B"
window = 20
start = ["0 s", "100 ms"]
rules = { clock_phase = [0.001, "2 ms"] }

[[traffic]]
kind = "ftp"
start = { uniform = ["0 s", "1 s"] }
rules.clock_phase = 0

[record]
series = "10 ms"
gauges = true
cwnd_flows = [1, 5]
trace = 2000
trace_headers = true
trace_flow = 1
rates = "10 s"
rate_queues = "all"
jitter = true
delay_flows = [2, 1]
losses = true
loss_rtt = "40 ms"
"#;

fn doc(text: &str) -> Doc {
    Doc::from_toml(text, None).expect("TOML")
}

fn checked(text: &str) -> Scenario {
    check(&doc(text), None).unwrap_or_else(|error| panic!("{error}"))
}

fn set(text: &str, path: &str, value: &str) -> Result<Scenario, ScenarioError> {
    let mut doc = doc(text);
    apply_sets(&mut doc, &[(path.to_string(), value.to_string())])?;
    check(&doc, None)
}

#[test]
fn all_fields_arrive_in_base_units() {
    let scenario = checked(FULL);
    assert_eq!((scenario.duration, scenario.warmup, scenario.seed), (60.0, 500.0 * 1e-3, i64::MAX as u64));
    let topology = scenario.topology.dumbbell().expect("a dumbbell");
    assert_eq!(topology.senders, Access::new(Rate::Constant(10e6), Delays::List(vec![1e-3, 2.0 * 1e-3])));
    assert_eq!(topology.receivers, Access::new(Rate::Constant(1.5e9), Delays::Uniform(1e-3, 10.0 * 1e-3)));
    assert_eq!(topology.bottleneck, LinkSpec::constant(500e3, 10.0 * 1e-3));
    assert_eq!(topology.reverse, LinkSpec::constant(1e6, 5.0 * 1e-6));
    let queue = scenario.queue("bottleneck").expect("given");
    assert_eq!((queue.spec.name, queue.limit, queue.ecn), ("red", Limit::Bytes(15_000), true));
    assert_eq!(queue.random, Some(InjectedRandom::Mrg32k3a { seed: 12345, skip: 6 }));
    assert_eq!(scenario.queue("reverse").map(|queue| queue.limit), Some(Limit::Packets(1000)));
    let [first, second] = &scenario.traffic[..] else { panic!("two") };
    let (Load::Ftp(tcp), Load::Ftp(other)) = (&first.load, &second.load) else { panic!("two files") };
    assert_eq!((tcp.lifetime, other.lifetime), (None, None));
    let (tcp, other) = (&tcp.tcp, &other.tcp);
    assert_eq!((first.count, tcp.segment, tcp.header, tcp.window), (2, 512, 20, 20));
    assert_eq!(tcp.clock_phase, Some(vec![0.001, 2.0 * 1e-3]));
    assert_eq!((second.count, other.segment, other.header, other.window), (3, 1000, 40, 1000));
    assert_eq!(second.start, Starts::Times(Delays::Uniform(0.0, 1.0)));
    assert_eq!((scenario.flows(), scenario.largest_packet(Direction::Forward).0), (5, 1040));
    assert!(scenario.record.gauges);
    assert_eq!(scenario.record.cwnd_flows, [1, 5]);
    assert_eq!((scenario.record.rates, &scenario.record.rate_flows[..]), (Some(10.0), &[1, 2, 3, 4, 5][..]));
    assert_eq!(scenario.record.rate_queues, ["bottleneck", "reverse"]);
    let record = &scenario.record;
    assert_eq!((record.jitter, record.losses, record.loss_rtt), (true, true, Some(40.0 * 1e-3)));
    assert_eq!((scenario.record.series, scenario.record.trace_flow), (Some(10.0 * 1e-3), Some(1)));
}

#[test]
fn little_needs_to_be_said() {
    let scenario = checked(
        r#"
        name = "short"
        duration = "1 s"
        topology = { kind = "dumbbell", pairs = 2, access = { rate = "1 Mbit/s", delay = "0 s" }, bottleneck = { rate = "1 Mbit/s", delay = "0 s" } }
        queue.bottleneck.aqm = "droptail"
        traffic = [{ kind = "ftp" }]
        "#,
    );
    assert_eq!((scenario.warmup, scenario.seed, scenario.flows()), (0.0, 1, 2));
    let topology = scenario.topology.dumbbell().expect("a dumbbell");
    assert_eq!(topology.senders, topology.receivers);
    assert_eq!(topology.bottleneck, topology.reverse);
    let limit = |key: &str| scenario.queue(key).map(|queue| queue.limit);
    assert_eq!((limit("bottleneck"), limit("reverse")), (Some(Limit::Packets(1000)), None));
    assert_eq!(scenario.record, Default::default());
}

#[test]
fn normalised_json_is_the_same_scenario() {
    // A completed scenario has a stack's options, not its name.
    let by_option = template("template").replace("stack = \"linux-6.18\"", "");
    for text in [FULL, &by_option] {
        let scenario = checked(text);
        let json = scenario.to_json();
        let again = check(&Doc::from_json(&json).expect("JSON"), None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.to_json(), json);
        assert_eq!(again.topology, scenario.topology);
        assert_eq!(again.traffic, scenario.traffic);
        assert_eq!(again.record, scenario.record);
    }
}

/// Every kind of traffic, and every law of sizes, times, numbers and starts.
const TRAFFIC: &str = r#"
name = "traffic"
duration = "1 min"
topology = { kind = "dumbbell", pairs = 3, access = { rate = "1 Mbit/s", delay = "0 s" }, bottleneck = { rate = "1 Mbit/s", delay = "1 ms" } }
queue.bottleneck.aqm = "droptail"
queue.reverse.aqm = "droptail"
record.transfers = true

[[traffic]]
kind = "transfers"
size = "10 packets"
number = "endless"
think = { exponential = "1 s" }
start = { every = "100 ms", from = "1 s" }
class = 3
[[traffic]]
kind = "transfers"
size = { uniform = ["1 kB", "1 MB"] }
number = 7
connection = "same"
completion = "received"
start = { poisson = "1 s" }
direction = "reverse"
[[traffic]]
kind = "requests"
count = 1
size = { cdf = [["1 kB", 0.3], ["1 MB", 1]] }
request = 100
retry = "3 s"
random = { generator = "mrg32k3a", seed = 5, skip = 1 }
[[traffic]]
kind = "web"
session_gap = "1 s"
pages = { geometric = 3 }
page_gap = { lognormal = "1 s", sigma = 0.5, max = "1 min" }
objects = { sample = [1, 2, 8] }
object_gap = "0 s"
pairs = [3, 1]
[[traffic]]
kind = "cbr"
rate = "100 kbit/s"
segment = { mix = [[40, 5], ["1000 B", 0.5]] }
header = 28
jitter = true
stop = "30 s"
start = { pareto = "1 s", shape = 1.5 }
[[traffic]]
kind = "onoff"
law = "pareto"
shape = 1.2
[[traffic]]
kind = "onoff"
[[traffic]]
kind = "poisson"
rate = "1 Mbit/s"
segment = { exponential = "500 B" }
[[traffic]]
kind = "voip"
off = "0 s"
[[traffic]]
kind = "video"
frame = { pareto = "5 kB", shape = 2, max = "50 kB" }
group = [3, 1, 1]
[[traffic]]
kind = "media"
ecn = "classic"
max_rate = "400 kbit/s"
key_interval = 60
stop = "5 s"
[[traffic]]
kind = "media"
control = "gcc"
[[traffic]]
kind = "outside"
header = 48
[[traffic]]
kind = "onoff"
law = "constant"
on = "1 s"
[[traffic]]
kind = "ftp"
rate = "2 Mbit/s"
on = "0.2 s"
off = "0 s"
lifetime = "9 s"
[[traffic]]
kind = "ftp"
rate = "300 kbit/s"
"#;

#[test]
fn traffic_of_every_kind_is_written_as_it_is_read() {
    let scenario = checked(TRAFFIC);
    let json = scenario.to_json();
    let again = check(&Doc::from_json(&json).expect("JSON"), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.to_json(), json);
    assert_eq!(again.traffic, scenario.traffic);
    let Load::Transfers(first) = &scenario.traffic[0].load else { panic!("transfers") };
    assert_eq!((first.size.range(), first.number), ((10_000.0, 10_000.0), None));
    assert_eq!(scenario.traffic[0].start, Starts::Every { gap: 0.1, from: 1.0 });
    assert_eq!(
        (scenario.traffic[1].direction, scenario.traffic[3].pairs.clone()),
        (Direction::Reverse, Some(vec![2, 0]))
    );
    // What is surely sent: the largest of few sizes, the smallest of many.
    let packets: Vec<u32> = scenario.traffic.iter().map(|traffic| traffic.packet()).collect();
    assert_eq!(packets, [1040, 1040, 1040, 1040, 1028, 210, 210, 1, 200, 1344, 1200, 1200, 49, 210, 1040, 1040]);
}

#[test]
fn the_other_way_of_connections_has_their_number_ends_and_tcp() {
    let both = "[[traffic]]\nkind = \"ftp\"\nname = \"up\"\ncount = 3\ntcp = \"cubic\"\nstack = \"linux-6.18\"\nfrom = \"s1\"\nto = \"d1\"\nttl = 9\n\
        [[traffic]]\nkind = \"ftp\"\nreverse_of = \"up\"\nstart = \"2 s\"\nlifetime = \"1 s\"\nclass = 2";
    let text = template("t");
    let scenario = checked(&(text.split("[[traffic]]").next().expect("a network").to_string() + both));
    let json = scenario.to_json();
    let again = check(&Doc::from_json(&json).expect("JSON"), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((&again.to_json(), &again.ends), (&json, &scenario.ends));
    let (up, down) = (&json["traffic"][0], &json["traffic"][1]);
    assert_eq!((&down["reverse_of"], &down["count"], &down["tcp"]), (&"up".into(), &3.into(), &"cubic".into()));
    assert_eq!((&down["from"], &down["to"], &down["ttl"]), (&up["to"], &up["from"], &9.into()));
    assert_eq!((&down["start"], &down["lifetime"], &down["class"]), (&"2 s".into(), &"1 s".into(), &2.into()));
    assert_eq!(scenario.flows(), 6);
}

#[test]
fn a_distribution_comes_from_a_file_beside_the_scenario() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cdf");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("sizes"), "# bytes, probability\n1000 0.25\n\n2000 0.5  # half\n9000 1\n")
        .expect("written");
    let scenario = folder.join("scenario.toml");
    std::fs::write(
        &scenario,
        template("t").replace("kind = \"ftp\"", "kind = \"transfers\"\nsize = { cdf_file = \"sizes\" }"),
    )
    .expect("written");
    let name = scenario.display().to_string();
    let scenario = check(&load(&scenario).expect("TOML"), Some(&name)).unwrap_or_else(|error| panic!("{error}"));
    let Load::Transfers(transfers) = &scenario.traffic[0].load else { panic!("transfers") };
    assert_eq!(transfers.size, Distribution::Cdf(vec![(1000.0, 0.25), (2000.0, 0.5), (9000.0, 1.0)]));
    assert!(!scenario.to_json().to_string().contains("cdf_file"), "the completed scenario needs no other file");
}

#[test]
fn two_spellings_normalise_to_one() {
    let text = template("t");
    let other = text.replace("\"5 ms\"", "\"0.005 s\"").replace("\"50 Mbit/s\"", "\"50000 kbps\"");
    assert_ne!(text, other);
    assert_eq!(checked(&text).to_json(), checked(&other).to_json());
}

#[test]
fn sets_change_what_is_run() {
    let text = template("t");
    assert_eq!(set(&text, "traffic.0.count", "7").expect("sound").flows(), 8, "and the upload");
    assert_eq!(set(&text, "queue.bottleneck.aqm", "tred").expect("sound").queues[0].spec.spec.name, "tred");
    assert_eq!(set(&text, "record.trace", "10").expect("sound").record.trace, 10);
    assert_eq!(set(&text, "duration", "90 s").expect("sound").duration, 90.0);
    let error = set(&text, "queue.bottleneck.intervall", "1 s").expect_err("unknown");
    assert_eq!(
        (error.path.as_str(), error.message.as_str()),
        ("queue.bottleneck.intervall", "unknown key; did you mean \"interval\"?")
    );
    assert_eq!(set(&text, "traffic.2.count", "7").expect_err("two entries").path, "traffic");
}

#[test]
fn another_discipline_keeps_what_it_knows() {
    let mut doc = doc(FULL);
    let sets = [("queue.bottleneck.aqm".to_string(), "droptail".to_string())];
    apply_sets(&mut doc, &sets).expect("a path");
    let refused = check(&doc, None).expect_err("RED's parameters");
    assert_eq!(refused.message, "is no parameter of droptail, but of red");
    retain_known(&mut doc, "bottleneck");
    let scenario = check(&doc, None).expect("sound");
    assert_eq!((scenario.queues[0].spec.spec.name, scenario.queues[0].spec.limit), ("droptail", Limit::Bytes(15_000)));
}

#[test]
fn what_is_set_with_another_discipline_was_meant_for_it() {
    for order in [[0, 1], [1, 0]] {
        let sets = [("queue.bottleneck.aqm", "pie"), ("queue.bottleneck.min_th", "20")];
        let sets = order.map(|at| (sets[at].0.to_string(), sets[at].1.to_string()));
        let mut doc = doc(FULL);
        apply_sets(&mut doc, &sets).expect("paths");
        let paths = sets.each_ref().map(|(path, _)| path.as_str());
        retain_known_with(&mut doc, "bottleneck", &[], &paths);
        let refused = check(&doc, None).expect_err("RED's min_th, which was set");
        assert_eq!(
            (&*refused.path, &*refused.message),
            ("queue.bottleneck.min_th", "is no parameter of pie, but of red")
        );
    }
}

#[test]
fn retaining_keeps_typing_errors() {
    let text = template("t").replace("ecn = false", "mimn_th = 24").replace("\"fq_codel\"", "\"droptail\"");
    let mut doc = doc(&text);
    retain_known(&mut doc, "bottleneck");
    assert_eq!(check(&doc, None).expect_err("a typing error").path, "queue.bottleneck.mimn_th");
}

#[test]
fn retaining_needs_a_known_discipline() {
    for text in ["", "queue = 1", "queue.bottleneck = 1", "queue.bottleneck.aqm = 1", "queue.bottleneck.aqm = 'none'"] {
        let before = doc(text);
        let mut after = before.clone();
        retain_known(&mut after, "bottleneck");
        assert_eq!(after, before, "{text}");
    }
}

/// The other direction has the link layer of the first unless it says so; a scenario in full is read as the same.
#[test]
fn a_link_layer_holds_in_both_directions() {
    let layers = |link: &str| {
        let text = format!(
            "name = 'l'\nduration = '1 s'\n[topology]\nkind = 'graph'\n[[link]]\nfrom = 'a'\nto = 'b'\n\
             rate = '1 Mbit/s'\ndelay = '1 ms'\n{link}\n[[traffic]]\nkind = 'ftp'\nfrom = 'a'\nto = 'b'\n"
        );
        let scenario = check(&Doc::from_toml(&text, None).expect("TOML"), None).unwrap_or_else(|e| panic!("{e}"));
        let json = scenario.to_json();
        let again = check(&Doc::from_json(&json).expect("JSON"), None).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.to_json(), json);
        let of = |scenario: &Scenario| -> Vec<&str> {
            let graph = scenario.topology.graph(1);
            graph.links().map(|(_, direction, ..)| direction.link.link_layer.name()).collect()
        };
        assert_eq!(of(&again), of(&scenario));
        assert_eq!(of(&scenario.over_ip()), ["ip"; 2]);
        of(&scenario).concat()
    };
    let slow = "reverse = { rate = '100 kbit/s' }";
    assert_eq!(layers(""), "ethernetethernet");
    assert_eq!([layers("link_layer = 'ip'"), layers(&format!("link_layer = 'ip'\n{slow}"))], ["ipip"; 2]);
    assert_eq!(layers("link_layer = 'ip'\nreverse = { link_layer = 'ethernet' }"), "ipethernet");
    assert_eq!(layers("reverse = { link_layer = 'ip' }"), "ethernetip");
}

/// A scenario of a data flow each way in the connections of one entry, over this network.
fn both_ways(topology: &str) -> String {
    format!(
        "name = 'both'\nduration = '5 s'\n{topology}\n[[traffic]]\nkind = 'ftp'\nname = 'down'\nstack = 'linux-6.18'\n\
         tcp = 'cubic'\ncount = 2\n[[traffic]]\nkind = 'ftp'\nreverse_of = 'down'\nstart = '1 s'\n"
    )
}

#[test]
fn a_completed_scenario_is_accepted_and_runs_the_same() {
    let routers = "[queue.routers]\naqm = 'red'\nlimit = 50\n";
    let dumbbell = "[topology]\nkind = 'dumbbell'\npairs = 1\naccess = { rate = '10 Mbit/s', delay = '1 ms' }\n\
                    bottleneck = { rate = '2 Mbit/s', delay = '5 ms' }\n[queue.bottleneck]\naqm = 'red'\nlimit = 50\n";
    let window = |segment: u32, window: &str| {
        format!(
            "name = 'window'\nduration = '2 s'\n{dumbbell}[[traffic]]\nkind = 'ftp'\nstack = 'rfc'\ntcp = 'reno'\n\
             segment = {segment}\nwindow = {window}\n"
        )
    };
    let cases = [
        both_ways(&format!("[topology]\nkind = 'bus'\nrouters = 4\n{routers}")),
        both_ways(&format!("[topology]\nkind = 'flower'\npetals = 2\npetal = 2\n{routers}")),
        both_ways(&format!("[topology]\nkind = 'random'\nrouters = 6\n{routers}")),
        both_ways(dumbbell),
        window(100, "'200 MB'"),
        window(100, "1000000"),
        window(100, "'250 B'"),
    ];
    for text in cases {
        let doc = Doc::from_toml(&text, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let scenario = check(&doc, None).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let json = scenario.to_json();
        let again = Doc::from_json(&json).and_then(|doc| check(&doc, None));
        let again = again.unwrap_or_else(|error| panic!("{error}\n{json}"));
        assert_eq!(again.to_json(), json);
        let result = |scenario: &Scenario| {
            let outcome = run(scenario, 1, Links::Auto, Events::Lanes).expect("a run");
            outcome.flows.iter().map(|flow| (flow.in_order, flow.retransmits)).collect::<Vec<_>>()
        };
        let flows = result(&scenario);
        assert_eq!(flows, result(&again));
        assert!(flows.iter().all(|flow| flow.0 > 0), "{flows:?} of\n{text}");
    }
}
