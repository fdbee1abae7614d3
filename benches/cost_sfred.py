"""Counts what a packet costs SFRED, by buffer, number of flows and length of the list, and earlier proposals by the
number of flows: `studies/sfred/cost.csv`.

    .venv/bin/python benches/cost_sfred.py

`instructions` are those of an arrival and its departure in `crates/aqm`. Valgrind counts them in a program built in a
temporary folder; the difference between six passes and two, divided by four, excludes building and filling the queue.
The same code has the same counts on every machine.

`visited_most` and `visited_mean` are places of the list that the search of the paper's section 2.1 visits for a packet:
from the head until the flow is found, or to the end. Flows are drawn at random, each as likely as the others.

`kept` is the number of flows of which the discipline says, at the end, that it keeps something: it is empty for those
that do not say.
"""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from instructions import ROOT, counted

COSTS = ROOT / "studies" / "sfred" / "cost.csv"
PACKETS = 20_000
"""At least so many in a pass."""

MANIFEST = f"""[package]
name = "sfred-cost"
version = "0.0.0"
edition = "2021"

[dependencies]
earlydrop-aqm = {{ path = "{ROOT / "crates" / "aqm"}" }}

[profile.release]
lto = "fat"
codegen-units = 1

[workspace]
"""

PROGRAM = """//! Arguments: discipline, packets of buffer, flows, places of the list, packets of a pass, passes.
use earlydrop_aqm::catalogue::{self, Link};
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Packet, Time};
use std::hint::black_box;

fn main() {
    let mut given = std::env::args().skip(1);
    let aqm = catalogue::find(&given.next().expect("a discipline")).expect("in the catalogue");
    let given: Vec<u64> = given.map(|a| a.parse().expect("a number")).collect();
    let [buffer, flows, list, packets, passes] = given[..] else { panic!("five numbers") };
    let mut values = Values::new();
    let mut set = |name: &'static str, value| {
        if aqm.param(name).is_some() {
            values.set(name, value);
        }
    };
    // In the proportions of the study, so that every buffer meets the same decisions: thresholds at a tenth and three
    // tenths of it, those of slow flows higher by a fifth.
    set("min_th", Value::Real(buffer as f64 * 0.1));
    set("max_th", Value::Real(buffer as f64 * 0.3));
    set("slow_bonus", Value::Real(buffer as f64 * 0.2));
    set("list_size", Value::Whole(list as i64));
    set("cache_size", Value::Whole(list as i64));
    let link = Link { rate_bps: 10e6, delay_s: 0.02 };
    let limit = Limit::Packets(buffer);
    let built = (aqm.build)(&values, &link, limit).expect("fits");
    let mut queue = built.queue(limit, false, Generator::stream(1, "queue"));
    // Between the thresholds.
    let waiting = buffer / 5;
    let mut random = 1_u64;
    for count in 1..=packets * passes {
        let now = Time::from_seconds(count as f64 * 1e-6);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let flow = ((random >> 33) * flows) >> 31;
        black_box(queue.enqueue(Packet::new(flow, 1000), now, &mut |_, _| {}));
        if queue.packets() > waiting {
            black_box(queue.dequeue(now, &mut |_, _| {}));
        }
    }
    queue.gauges(&mut |name, value| {
        if name == "active" || name == "active_flows" {
            println!("{value}");
        }
    });
}
"""

VISITED = ["visited_most", "visited_mean", "visited_per_place"]
HEAD = ["aqm", "varied", "buffer", "flows", "places", "instructions", "kept", *VISITED]
CASES = [
    *(("sfred", "buffer", buffer, 40, 20) for buffer in (50, 500, 5_000, 50_000)),
    *(("sfred", "flows", 50, flows, 20) for flows in (20, 80, 320, 1_280, 5_120)),
    *(("sfred", "list", 50, 4 * places, places) for places in (16, 64, 256, 1_024, 4_096)),
    *((aqm, "flows", 20_480, flows, 20) for aqm in ("fq", "fred", "sred", "lru_red") for flows in (20, 320, 5_120)),
]
"""The discipline, what is varied, packets of buffer, flows, places of the list. The others keep a flow for each packet
in the queue at most, so that the buffer is large."""


def build(folder: Path) -> Path:
    """The program, with the versions that the workspace has locked."""
    (folder / "src").mkdir()
    (folder / "Cargo.toml").write_text(MANIFEST, encoding="utf-8")
    (folder / "src" / "main.rs").write_text(PROGRAM, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", folder / "Cargo.lock")
    subprocess.run(["cargo", "build", "--release", "--quiet", "--offline"], cwd=folder, check=True)
    return folder / "target" / "release" / "sfred-cost"


def instructions(program: Path, aqm: str, buffer: int, flows: int, places: int) -> tuple[float, str]:
    """Of an arrival and its departure; and of how many flows it keeps something."""
    packets = max(PACKETS, 2 * buffer, 8 * places)

    given = [str(x) for x in (program, aqm, buffer, flows, places, packets)]
    (more, kept), (less, _) = counted([*given, "6"]), counted([*given, "2"])
    return (more - less) / (4 * packets), kept.strip()


def visited(flows: int, places: int) -> tuple[int, float]:
    """The most places that a packet's search visits, and their mean, once the list is full."""
    draw = random.Random(1)
    kept = list(range(min(flows, places)))
    steps = []
    for _ in range(max(PACKETS, 8 * places)):
        flow = draw.randrange(flows)
        if flow in kept:
            steps.append(kept.index(flow) + 1)
            kept.remove(flow)
        else:
            steps.append(len(kept))
            kept.pop()
        kept.insert(0, flow)
    return max(steps), sum(steps) / len(steps)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, COSTS.open("w", newline="", encoding="utf-8") as file:
        program = build(Path(folder))
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEAD)
        for aqm, varied, buffer, flows, places in CASES:
            count, kept = instructions(program, aqm, buffer, flows, places)
            row = [aqm, varied, buffer, flows, places, f"{count:.1f}", kept]
            if aqm == "sfred":
                most, mean = visited(flows, places)
                row += [most, f"{mean:.2f}", f"{mean / places:.4f}"]
            else:
                row += [""] * len(VISITED)
            print(*row)
            table.writerow(row)


if __name__ == "__main__":
    main()
