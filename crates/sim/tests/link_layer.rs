//! What the header of a link's layer changes: the sizes that queues from Linux count, and nothing else.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc};
use serde_json::Value;

/// The result of flows over a bottleneck of 80 Mbit/s with these keys.
fn result(link: &str, queue: &str, traffic: &str) -> Value {
    let text = format!(
        "name = 'link layer'\nduration = '10 s'\nwarmup = '4 s'\n[topology]\nkind = 'dumbbell'\npairs = 8\n\
         access = {{ rate = '1 Gbit/s', delay = '1 ms' }}\n\
         bottleneck = {{ rate = '80 Mbit/s', delay = '8 ms'{link} }}\n[queue.bottleneck]\n{queue}\n{traffic}"
    );
    let scenario = check(&Doc::from_toml(&text, None).expect("TOML"), None).unwrap_or_else(|e| panic!("{e}"));
    let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).expect("runs");
    result::document(&scenario, 1, &outcome, 0.0)
}

/// Jain's index of the flows' goodputs.
fn fairness(link: &str, queue: &str, traffic: &str) -> f64 {
    let document = result(link, queue, traffic);
    let flows = document["flows"].as_array().expect("a list");
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow["goodput_mbps"].as_f64().expect("a number")).collect();
    let squares: f64 = goodputs.iter().map(|x| x * x).sum();
    goodputs.iter().sum::<f64>().powi(2) / (goodputs.len() as f64 * squares)
}

/// Two groups of four constant rates, in packets of 1500 B.
fn constant(high: f64, low: f64) -> String {
    let group = |rate| {
        format!(
            "[[traffic]]\nkind = 'cbr'\ncount = 4\nrate = '{rate} Mbit/s'\nsegment = '1472 B'\nheader = '28 B'\n\
             start = {{ uniform = ['0 s', '1 s'] }}\n"
        )
    };
    group(high) + &group(low)
}

/// A queue of CAKE that has sent its packet of 1514 B has used up its quantum. With 1500 B it would be sparse again.
#[test]
fn cake_shares_alike_between_flows_of_unlike_rates() {
    for low in [10.5, 12.0, 15.0] {
        let found = fairness("", "aqm = 'cake'", &constant(30.0, low));
        assert!(found >= 0.99, "4 x 30 and 4 x {low} Mbit/s: {found}");
    }
    let ip = fairness(", link_layer = 'ip'", "aqm = 'cake'", &constant(30.0, 15.0));
    assert!(ip < 0.9, "{ip}: with packets smaller than the quantum it is not");
}

#[test]
fn cake_shares_alike_between_cubic_and_bbr() {
    let group = |tcp| {
        format!("[[traffic]]\nkind = 'ftp'\ncount = 4\ntcp = '{tcp}'\nsegment = 1448\nstart = {{ uniform = ['0 s', '1 s'] }}\n")
    };
    let traffic = group("cubic") + &group("bbr3");
    let found = fairness("", "aqm = 'cake'", &traffic);
    assert!(found >= 0.99, "{found}");
}

/// The link is full of IP packets, and results count their bytes, whatever the queue counts.
#[test]
fn results_count_bytes_of_ip_packets() {
    let traffic = constant(30.0, 12.0);
    for queue in [
        "aqm = 'cake'",
        "aqm = 'fq_pacing'",
        "aqm = 'codel'\ndialect = 'linux'",
        "parent = 'tbf'\nchild = { aqm = 'codel' }",
        "parent = 'htb'\nchild = { aqm = 'codel', dialect = 'linux' }",
    ] {
        let document = result("", queue, &traffic);
        let found = &document["queues"]["bottleneck"];
        let is_ip = |of: &Value, packets: &str, bytes: &str| {
            let [packets, bytes] = [packets, bytes].map(|key| of[key].as_f64().expect("a number"));
            assert!(packets > 10_000.0 && bytes == 1500.0 * packets, "{queue}: {of}");
        };
        is_ip(found, "departures", "departed_bytes");
        is_ip(found, "arrivals", "arrived_bytes");
        if queue.contains("cake") {
            let tin = &found["tins"][1];
            is_ip(tin, "packets", "bytes");
            let waiting = tin["backlog_bytes"].as_f64().expect("a number");
            assert!(waiting > 0.0 && waiting % 1500.0 == 0.0 && tin["largest_packet_bytes"] == 1500.0, "{tin}");
        }
        if queue.contains("parent") {
            is_ip(&found["parent"], "sent_packets", "sent_bytes");
        }
        if queue.contains("htb") {
            is_ip(&found["parent"]["classes"][0], "sent_packets", "sent_bytes");
        }
    }
}

/// A shaper of Linux counts the header, so that it lets fewer packets through; a child from elsewhere does not.
#[test]
fn linuxs_shapers_count_the_header() {
    let utilisation = |link: &str, queue: &str| {
        let document = result(link, queue, &constant(30.0, 12.0));
        document["queues"]["bottleneck"]["utilisation"].as_f64().expect("a number")
    };
    let tbf = "parent = 'tbf'\nrate = '40 Mbit/s'\nchild = { aqm = 'droptail' }";
    let htb = "parent = 'htb'\nrate = '40 Mbit/s'\nchild = { aqm = 'droptail' }";
    for queue in [tbf, htb, "aqm = 'cake'\nbandwidth = '40 Mbit/s'"] {
        let (ethernet, ip) = (utilisation("", queue), utilisation(", link_layer = 'ip'", queue));
        assert!((ethernet - 0.5 * 1500.0 / 1514.0).abs() < 2e-4 && (ip - 0.5).abs() < 2e-4, "{queue}: {ethernet} {ip}");
    }
    let overhead = "aqm = 'cake'\nbandwidth = '40 Mbit/s'\noverhead = 0";
    assert!((utilisation("", overhead) - 0.5).abs() < 2e-4, "of an IP packet");
}

/// What does not follow Linux is the same on every link.
#[test]
fn other_disciplines_do_not_see_it() {
    for queue in ["aqm = 'droptail'", "aqm = 'red'", "aqm = 'codel'", "aqm = 'fq_codel'", "aqm = 'drr'"] {
        let [ethernet, ip] =
            ["", ", link_layer = 'ip'"].map(|link| result(link, queue, &constant(30.0, 12.0))["queues"].clone());
        assert_eq!(ethernet, ip, "{queue}");
    }
    // In the dialect of Linux they do.
    let codel = "aqm = 'codel'\ndialect = 'linux'\nlimit = '1 MB'";
    let [ethernet, ip] =
        ["", ", link_layer = 'ip'"].map(|link| result(link, codel, &constant(30.0, 12.0))["queues"].clone());
    assert_ne!(ethernet, ip);
}
