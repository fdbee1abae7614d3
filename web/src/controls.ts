// The controls of link, load and run.

import type { Stack } from "./catalogue";
import { el } from "./dom";
import { choice, knob, toggle } from "./knob";
import { lineText } from "./line";
import { way } from "./line_view";
import { FLOWS, type Group, type Setup } from "./model";
import { rate, short, time } from "./numbers";

/** The controls of a setup; `changed` hears of each change that has been made in it. */
export function controls(setup: Setup, stacks: Stack[], changed: () => void): HTMLElement {
  if (setup.file) {
    return el(
      "div",
      { class: "controls" },
      section(
        "Scenario",
        el(
          "p",
          {},
          "Link and load are those of the file that you opened. ",
          back(() => {
            setup.file = "";
            changed();
          }),
        ),
      ),
      section("Run", seed(setup, changed)),
    );
  }
  if (setup.line) {
    const line = setup.line;
    return el(
      "div",
      { class: "controls" },
      section(
        "Line",
        el("p", {}, `${lineText(line)} The load is that of earlydrop advise.`),
        way(line.way, (to) => {
          setup.line = { ...line, way: to };
          changed();
        }),
        back(() => {
          setup.line = null;
          changed();
        }),
      ),
      section("Run", seed(setup, changed)),
    );
  }
  const groups = setup.groups.map((group, k) => flows(setup, group, k, stacks, changed));
  return el(
    "div",
    { class: "controls" },
    section(
      "Link",
      knob({
        label: "Rate",
        name: "Rate of the link",
        low: 0.5e6,
        high: 200e6,
        log: true,
        value: setup.rate,
        unit: "Mbit/s",
        scale: 1e6,
        text: (v) => rate(v),
        help: ["Rate of the bottleneck, in front of which the queue is."],
        change: (v) => {
          setup.rate = v as number;
          changed();
        },
      }),
      buffer(setup, changed),
      toggle(
        "ECN: mark instead of dropping",
        setup.ecn,
        (on) => {
          setup.ecn = on;
          for (const group of setup.groups) if (group.stack !== "ns2-2.35" || group.tcp !== "vegas") group.ecn = on;
          changed();
        },
        "The queue marks packets of flows that understand it, and all long flows do.",
      ),
    ),
    ...groups,
    section(
      "Other load",
      knob({
        label: "Unresponsive flow",
        name: "Rate of an unresponsive UDP flow",
        low: 0,
        high: 1.2 * setup.rate,
        value: setup.udp,
        unit: "Mbit/s",
        scale: 1e6,
        text: (v) => rate(v),
        help: ["A UDP flow that sends at this rate, whatever is lost. 0: none."],
        change: (v) => {
          setup.udp = v as number;
          changed();
        },
      }),
      knob({
        label: "Browsers",
        name: "Browsers",
        low: 0,
        high: 20,
        whole: true,
        value: setup.browsers,
        unit: "",
        text: (v) => short(v),
        help: ["Each loads one web page of 50 objects after the other, over six connections."],
        change: (v) => {
          setup.browsers = v as number;
          changed();
        },
      }),
      setup.groups.length < 2
        ? el(
            "button",
            {
              type: "button",
              class: "plain",
              click: () => {
                setup.groups.push({ ...FLOWS, count: 5, rtt: [0.08, 0.08] });
                changed();
              },
            },
            "Add a second group of flows",
          )
        : null,
    ),
    section(
      "Run",
      seed(setup, changed),
      knob({
        label: "Duration",
        name: "Duration of the run",
        low: 10,
        high: 600,
        whole: true,
        value: setup.duration,
        unit: "s",
        text: (v) => `${v} s`,
        help: ["Simulated time, s."],
        change: (v) => {
          setup.duration = Math.max(2, v as number);
          setup.warmup = Math.min(setup.warmup, setup.duration / 2);
          changed();
        },
      }),
      knob({
        label: "Warm-up",
        name: "Warm-up",
        low: 0,
        high: Math.floor(setup.duration / 2),
        whole: true,
        value: setup.warmup,
        unit: "s",
        text: (v) => `${v} s`,
        help: ["Results, comparisons and the delays below count from here on."],
        change: (v) => {
          setup.warmup = Math.min(v as number, setup.duration / 2);
          changed();
        },
      }),
    ),
  );
}

function section(title: string, ...parts: (Node | null)[]): HTMLElement {
  return el("section", { class: "group" }, el("h3", {}, title), ...parts);
}

function back(click: () => void): HTMLElement {
  return el("button", { type: "button", click }, "Back to the page's own");
}

function seed(setup: Setup, changed: () => void): HTMLElement {
  return knob({
    label: "Seed",
    name: "Seed",
    low: 1,
    high: 100,
    whole: true,
    value: setup.seed,
    unit: "",
    text: (v) => short(v, 15),
    help: ["The same seed gives the same run, to the last packet."],
    change: (v) => {
      setup.seed = Math.max(0, v as number);
      changed();
    },
  });
}

function buffer(setup: Setup, changed: () => void): HTMLElement {
  const { limit } = setup;
  const kinds: [string, string][] = [
    ["packets", "packets"],
    ["bdp", "bandwidth-delay products"],
    ["own", "the discipline's own"],
  ];
  const made = el(
    "div",
    {},
    choice(
      "Buffer in",
      kinds,
      limit.kind,
      (kind) => {
        setup.limit = kind === "own" ? { kind } : kind === "bdp" ? { kind, size: 2 } : { kind: "packets", size: 200 };
        changed();
      },
      "Most that may wait. The discipline's own is its default in Linux or in its RFC.",
    ),
  );
  if (limit.kind === "packets") {
    made.append(
      knob({
        label: "Buffer",
        name: "Buffer",
        low: 5,
        high: 2000,
        log: true,
        whole: true,
        value: limit.size,
        unit: "packets",
        text: (v) => `${v} packets`,
        help: [`At ${rate(setup.rate)}, a full buffer takes ${time((limit.size * 12000) / setup.rate)} to send.`],
        change: (v) => {
          limit.size = Math.max(1, v as number);
          changed();
        },
      }),
    );
  } else if (limit.kind === "bdp") {
    made.append(
      knob({
        label: "Buffer",
        name: "Buffer in bandwidth-delay products",
        low: 0.1,
        high: 20,
        log: true,
        value: limit.size,
        unit: "BDP",
        text: (v) => `${short(v)} BDP`,
        help: ["Rate times the longest round-trip time without a queue."],
        change: (v) => {
          limit.size = v as number;
          changed();
        },
      }),
    );
  }
  return made;
}

const NAMES: Record<string, string> = {
  tahoe: "Tahoe",
  reno: "Reno",
  newreno: "NewReno",
  sack: "SACK",
  vegas: "Vegas",
  cubic: "CUBIC",
  dctcp: "DCTCP",
  bbr: "BBR",
  ledbat: "LEDBAT",
  prague: "Prague (L4S)",
};
const STACKS: Record<string, string> = {
  "ns2-2.35": "ns-2",
  rfc: "RFCs",
  "linux-6.18": "Linux",
  quic: "QUIC",
};

function flows(setup: Setup, group: Group, k: number, stacks: Stack[], changed: () => void): HTMLElement {
  const alone = setup.groups.length === 1;
  const tcps = stacks.find((one) => one.name === group.stack)?.tcps ?? [];
  const ways = (which: 0 | 1, label: string): HTMLElement =>
    knob({
      label,
      name: `${label}, ${alone ? "flows" : `group ${k + 1}`}`,
      low: 0.002,
      high: 0.5,
      log: true,
      value: group.rtt[which],
      unit: "ms",
      scale: 1e-3,
      text: (v) => time(v),
      help: ["Round-trip time without a queue. The flows' lie evenly between the two."],
      change: (v) => {
        group.rtt[which] = Math.max(0.0005, v as number);
        changed();
      },
    });
  return section(
    alone ? "Long flows" : `Long flows, group ${k + 1}`,
    knob({
      label: "Flows",
      name: `Number of flows${alone ? "" : `, group ${k + 1}`}`,
      low: 1,
      high: 100,
      log: true,
      whole: true,
      value: group.count,
      unit: "",
      text: (v) => short(v),
      help: ["Each sends as fast as TCP lets it."],
      change: (v) => {
        group.count = Math.min(400, Math.max(1, v as number));
        changed();
      },
    }),
    choice(
      "Congestion control",
      tcps.map((name) => [name, NAMES[name] ?? name]),
      group.tcp,
      (tcp) => {
        group.tcp = tcp;
        if (tcp === "prague" || tcp === "dctcp") group.ecn = true;
        changed();
      },
    ),
    choice(
      "TCP as in",
      stacks.map((one) => [one.name, STACKS[one.name] ?? one.name]),
      group.stack,
      (stack) => {
        group.stack = stack;
        const known = stacks.find((one) => one.name === stack)?.tcps ?? [];
        if (!known.includes(group.tcp)) group.tcp = known.includes("cubic") ? "cubic" : known[0]!;
        changed();
      },
      "Whose TCP: what the RFCs say, what Linux 6.18 does, or what the simulator ns-2 does.",
    ),
    ways(0, "Shortest RTT"),
    ways(1, "Longest RTT"),
    toggle(
      "Flows use ECN",
      group.ecn,
      (on) => {
        group.ecn = on;
        changed();
      },
      "Sends ECN-capable packets and answers marks.",
    ),
    alone
      ? null
      : el(
          "button",
          {
            type: "button",
            class: "plain",
            click: () => {
              setup.groups.splice(k, 1);
              changed();
            },
          },
          "Remove this group",
        ),
  );
}
