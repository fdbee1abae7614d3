// The challenge as data: a line whose rate somebody has drawn, a drop probability of one's own, and the score against
// FQ-CoDel. A link holds all of it in readable words; nothing of it is ever run as a script.

import { stringify } from "smol-toml";

export interface Challenge {
  /** Rate of the line in each second, Mbit/s. */
  rates: number[];
  /** The parameter `rule` of the discipline expression. */
  rule: string;
  seed: number;
}

/** Seconds that are drawn, and the first of them, in which nothing is counted. */
export const SECONDS = 30;
export const WARMUP = 5;
/** Smallest and largest rate, Mbit/s. */
export const LOW = 0.5;
export const HIGH = 50;
/** Most characters of a rule (docs/aqms/expression.md). */
export const RULE = 200;
/** Most characters of a link: each of a rule's may be three there. */
const LINK = 2000;
/** The discipline to beat. */
export const RIVAL = "fq_codel";
/** The path's round-trip time without a queue, ms: the mean of the two downloads'. */
const PATH = 50;

/** A rate with three digits, within its bounds. */
export function rounded(mbit: number): number {
  return Number(Math.min(HIGH, Math.max(LOW, mbit)).toPrecision(3));
}

/** Lines to begin with. */
export const LINES: [string, string, (second: number) => number][] = [
  ["mobile", "like a mobile network", (t) => 12 * 2.2 ** (Math.sin(0.9 * t) + 0.6 * Math.sin(2.3 * t + 1))],
  ["steps", "up and down", (t) => (Math.floor(t / 6) % 2 ? 4 : 20)],
  ["steady", "steady", () => 10],
];

export function line(name: string): number[] {
  const of = LINES.find(([one]) => one === name)![2];
  return Array.from({ length: SECONDS }, (_, t) => rounded(of(t)));
}

export function first(): Challenge {
  return { rates: line("mobile"), rule: "2*(delay - 0.005)", seed: 1 };
}

/** What follows # in the address of a challenge. */
export function written({ rates, rule, seed }: Challenge): string {
  const words = new URLSearchParams({ view: "challenge", line: rates.join(" "), rule, seed: String(seed) });
  return `#${words.toString()}`;
}

/** The challenge of an address, the first one where it has none; throws an Error that names what is wrong. */
export function challenged(hash: string): Challenge {
  if (hash.length > LINK) throw new Error(`The link is longer than the ${LINK} characters that a challenge may have.`);
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const found = first();
  if (words.get("view") !== "challenge") return found;
  const wrong = (what: string, given: string, allowed: string): Error =>
    new Error(`The link has ${what}: ${given.slice(0, 40)}; allowed: ${allowed}.`);
  const rates = words.get("line");
  if (rates !== null) {
    const parts = rates.split(" ");
    if (parts.length !== SECONDS) throw wrong("line", rates, `${SECONDS} rates, one a second`);
    found.rates = parts.map((part, k) => {
      const rate = /^[0-9]+(\.[0-9]+)?$/.test(part) ? Number(part) : Number.NaN;
      if (!(rate >= LOW && rate <= HIGH))
        throw wrong(`line: second ${k + 1}`, part, `a rate from ${LOW} to ${HIGH} Mbit/s`);
      return rate;
    });
  }
  const rule = words.get("rule");
  if (rule !== null) {
    if (!/^[ -~]*$/.test(rule) || rule.length > RULE) throw wrong("rule", rule, `at most ${RULE} ASCII characters`);
    found.rule = rule;
  }
  const seed = words.get("seed");
  if (seed !== null) {
    if (!/^[0-9]{1,15}$/.test(seed)) throw wrong("seed", seed, "a whole number of at most 15 digits");
    found.seed = Number(seed);
  }
  return found;
}

/** The scenario with the rule, or with the discipline to beat. */
export function scenario({ rates, rule, seed }: Challenge, rival = false): string {
  const queue = rival ? { aqm: RIVAL } : { aqm: "expression", rule };
  const tcp = { tcp: "cubic", stack: "linux-6.18", segment: "1448 B" };
  const schedule = rates.flatMap((rate, t) => (rate === rates[t - 1] ? [] : [[`${t} s`, `${rate} Mbit/s`]]));
  return stringify({
    name: "challenge",
    duration: `${SECONDS} s`,
    warmup: `${WARMUP} s`,
    seed,
    topology: {
      kind: "dumbbell",
      pairs: 2,
      senders: { rate: "1 Gbit/s", delay: ["5 ms", "35 ms"] },
      receivers: { rate: "1 Gbit/s", delay: "0 ms" },
      bottleneck: { rate: { schedule }, delay: "5 ms" },
      reverse: { rate: "1 Gbit/s", delay: "5 ms" },
    },
    queue: { bottleneck: { ...queue, limit: "1000 packets" } },
    traffic: [
      { kind: "ftp", name: "downloads", count: 2, ...tcp, start: { uniform: ["0 s", "1 s"] } },
      {
        kind: "pages",
        name: "browsers",
        count: 18,
        ...tcp,
        size: { pareto: "10 kB", shape: 1.2, max: "1 MB" },
        think: { exponential: "1 s" },
        start: { uniform: ["0 s", "2 s"] },
      },
    ],
  });
}

/** The scenario as a file. */
export function exported(challenge: Challenge): string {
  const lines = [
    "# The playground's challenge: beat FQ-CoDel on this line.",
    "#     earlydrop run challenge.toml",
    `#     earlydrop compare challenge.toml --aqm expression ${RIVAL}`,
  ];
  return `${lines.join("\n")}\n\n${scenario(challenge)}`;
}

export interface Measure {
  title: string;
  unit: string;
  /** Of the rule, and of the discipline to beat. */
  values: [number, number];
  /** How many times as good the rule is. */
  ratio: number;
}

export interface Score {
  measures: Measure[];
  /** 100 times the geometric mean of the ratios. */
  score: number;
}

/** The score of two result documents: of the rule, and of the discipline to beat on the same line. */
export function scored(own: unknown, rival: unknown): Score {
  const measures = MEASURES.map(({ title, unit, more, read }): Measure => {
    const values = [read(own), read(rival)] as [number, number];
    const [mine, theirs] = values;
    // Nothing sent, or no page loaded: no ratio saves that.
    const ratio = more ? mine / theirs : theirs / mine;
    return { title, unit, values, ratio: Number.isFinite(ratio) ? ratio : 0 };
  });
  const product = measures.reduce((all, one) => all * one.ratio, 1);
  return { measures, score: 100 * product ** (1 / measures.length) };
}

/** A number of a result document; NaN where it has none. */
function at(document: unknown, ...path: (string | number)[]): number {
  let found = document;
  for (const key of path) found = (found as Record<string | number, unknown> | null | undefined)?.[key];
  return typeof found === "number" ? found : Number.NaN;
}

const MEASURES: { title: string; unit: string; more: boolean; read: (document: unknown) => number }[] = [
  { title: "Goodput", unit: "Mbit/s", more: true, read: (document) => at(document, "goodput_total_mbps") },
  {
    title: "Mean round trip",
    unit: "ms",
    more: false,
    read: (document) => PATH + at(document, "queues", "bottleneck", "delay_mean_ms"),
  },
  {
    title: "Mean time to load a page",
    unit: "s",
    more: false,
    read: (document) => at(document, "traffic", 1, "transfers", "time_mean_s"),
  },
];
