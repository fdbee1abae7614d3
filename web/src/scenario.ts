// A setup as the scenario of one of its disciplines: the TOML that the engine runs and that people can export.

import { parse, stringify } from "smol-toml";
import type { Discipline } from "./catalogue";
import { type Line, lineIn, rateOf, RULES, scenario, TODAY, voice, watched } from "./line";
import type { Chosen, Group, Setting, Setup } from "./model";
import { latest } from "./model";
import { seconds } from "./numbers";
import type { About } from "./protocol";

/** The unit of a discipline's parameter: "s", "bit/s", "packets", "B" or "". */
export type Units = (aqm: string, parameter: string) => string;

type Table = Record<string, unknown>;

const ms = (seconds: number): string => `${Number((1e3 * seconds).toPrecision(9))} ms`;
const mbit = (bits: number): string => `${Number((bits / 1e6).toPrecision(9))} Mbit/s`;

/** The queue whose discipline the page chooses. */
export const QUEUE = "bottleneck";

/** Base round-trip times of the flows of a group, s. */
export function rtts(group: Group): number[] {
  const [first, last] = group.rtt;
  return Array.from({ length: group.count }, (_, k) =>
    group.count === 1 ? first : first + ((last - first) * k) / (group.count - 1),
  );
}

/** Delay of the bottleneck, s: a quarter of the shortest round trip, so that senders have some of their own. */
export function bottleneckDelay(setup: Setup): number {
  return Math.min(...setup.groups.flatMap(rtts)) / 4;
}

/** Of each flow, the time from its sender to the queue, s. */
export function ways(setup: Setup, flows: number): number[] {
  const delay = bottleneckDelay(setup);
  const own = setup.groups.flatMap(rtts).map((rtt) => Math.max(0.001, rtt / 2 - delay));
  // Others begin where the first ones do.
  return Array.from({ length: flows }, (_, k) => own[k] ?? own[(k - own.length) % own.length]!);
}

/** How packets get to the queue and from it, s; and the call among them: its flow from 1, and its ways. */
export interface Paths {
  ways: number[];
  after: number;
  call: { flow: number; way: number; delay: number; back: number };
}

export function paths(setup: Setup, { flows, entries, delay }: About): Paths {
  if (!setup.line) {
    const own = ways(setup, flows);
    const way = own[flows - 1] ?? 0.001;
    // The way back has no queue.
    return { ways: own, after: delay, call: { flow: flows, way, delay, back: way + delay } };
  }
  // All that passes the queue downwards comes from the servers, and upwards from home.
  const half = setup.line.rtt / 2e3;
  const [way, after] = setup.line.way === "down" ? [half, 0] : [0, half];
  const flow = entries.slice(0, voice(setup.line)).reduce((sum, n) => sum + n, 1);
  return { ways: new Array<number>(flows).fill(way), after, call: { flow, way, delay: after, back: half } };
}

/** Rate in front of which the queue is, bit/s. */
export function bottleneckRate(setup: Setup): number {
  return setup.line ? rateOf(setup.line) : setup.rate;
}

/** The queue of each discipline that is looked at. */
export function queuesOf(setup: Setup): string[] {
  const file = setup.file ? queueOf(parsed(setup.file)) : QUEUE;
  return setup.disciplines.map(({ aqm }) => (setup.line ? watched(setup.line, aqm) : file));
}

/** The scenario of one discipline as TOML; a home's line needs the `disciplines` of the catalogue. */
export function toml(setup: Setup, chosen: Chosen, units: Units, disciplines: Discipline[] = []): string {
  if (setup.file) return fromFile(setup, chosen, units);
  if (setup.line) return ofLine(setup, chosen, units, disciplines);
  const delay = bottleneckDelay(setup);
  const delays = setup.groups.flatMap(rtts).map((rtt) => ms(rtt / 2 - delay));
  const alike = new Set(delays).size === 1;
  const document: Table = {
    name: "playground",
    duration: `${setup.duration} s`,
    warmup: `${setup.warmup} s`,
    seed: setup.seed,
    topology: {
      kind: "dumbbell",
      pairs: delays.length,
      senders: { rate: "1 Gbit/s", delay: alike ? delays[0] : delays },
      receivers: { rate: "1 Gbit/s", delay: "0 ms" },
      bottleneck: { rate: mbit(setup.rate), delay: ms(delay) },
      // The way back is never a second bottleneck.
      reverse: { rate: "1 Gbit/s", delay: ms(delay) },
    },
    queue: { [QUEUE]: queue(setup, chosen, units) },
    traffic: traffic(setup),
    record: { by_flow: true },
  };
  return stringify(document);
}

function ofLine(setup: Setup, chosen: Chosen, units: Units, disciplines: Discipline[]): string {
  const { link, queue, traffic } = scenario(setup.line!, chosen.aqm, disciplines);
  const name = watched(setup.line!, chosen.aqm);
  queue[name] = { ...(queue[name] as Table), ...settings(chosen, units) };
  return stringify({
    name: "playground",
    duration: `${setup.duration} s`,
    warmup: `${setup.warmup} s`,
    seed: setup.seed,
    topology: { kind: "graph" },
    link,
    queue,
    traffic,
    record: { by_flow: true },
  });
}

function queue(setup: Setup, chosen: Chosen, units: Units): Table {
  const table: Table = { aqm: chosen.aqm };
  if (setup.limit.kind === "packets") table.limit = `${setup.limit.size} packets`;
  if (setup.limit.kind === "bdp") table.limit = `${setup.limit.size} bdp`;
  if (setup.ecn) table.ecn = true;
  return { ...table, ...settings(chosen, units) };
}

/** Parameters in a scenario, where times and rates are texts with a unit. */
function settings(chosen: Chosen, units: Units): Record<string, Setting> {
  const with_unit = ([name, value]: [string, Setting]): [string, Setting] => {
    const unit = units(chosen.aqm, name);
    return [name, typeof value === "number" && (unit === "s" || unit === "bit/s") ? `${value} ${unit}` : value];
  };
  return Object.fromEntries(Object.entries(chosen.set).map(with_unit));
}

function traffic(setup: Setup): Table[] {
  const found: Table[] = [];
  let first = 1;
  setup.groups.forEach((group, k) => {
    if (group.count === 0) return;
    const entry: Table = { kind: "ftp", count: group.count };
    if (setup.groups.length > 1) {
      entry.name = `group ${k + 1}`;
      entry.pairs = Array.from({ length: group.count }, (_, i) => first + i);
    }
    found.push({ ...entry, ...transport(group), start: { uniform: [`${group.start} s`, `${group.start + 1} s`] } });
    first += group.count;
  });
  if (setup.udp > 0) found.push({ kind: "cbr", name: "unresponsive", rate: mbit(setup.udp), segment: "1000 B" });
  if (setup.browsers > 0) {
    const group = setup.groups[0]!;
    found.push({
      kind: "pages",
      name: "browsers",
      count: 6 * setup.browsers,
      ...transport({ ...group, ecn: false, stack: "linux-6.18", tcp: "cubic" }),
      size: { pareto: "10 kB", shape: 1.2, max: "1 MB" },
      think: { exponential: "2 s" },
      start: { uniform: ["0 s", "2 s"] },
    });
  }
  if (setup.call) found.push({ kind: "voip", name: "call", count: 1, off: "0 s", start: "0 s" });
  return found;
}

function transport(group: Group): Table {
  const large = group.stack === "ns2-2.35" ? { segment: "1460 B" } : { segment: "1448 B" };
  return { tcp: group.tcp, stack: group.stack, ...(group.ecn ? { ecn: true } : {}), ...large };
}

/** A file's own scenario with the discipline, its parameters and the seed chosen here. */
function fromFile(setup: Setup, chosen: Chosen, units: Units): string {
  const document = parsed(setup.file);
  const queues = document.queue as Table;
  const name = queueOf(document);
  const { aqm, limit, ecn, random, ...own } = queues[name] as Table;
  const kept: Table = { aqm: chosen.aqm };
  for (const [key, value] of Object.entries({ limit, ecn, random })) if (value !== undefined) kept[key] = value;
  queues[name] = { ...kept, ...(aqm === chosen.aqm ? own : {}), ...settings(chosen, units) };
  document.seed = setup.seed;
  return stringify(document);
}

/** Most bytes of a scenario's file, and most tables within each other. */
export const FILE = 1 << 20;
const DEEP = 50;

/** A scenario's file as it is written. */
export function parsed(text: string): Table {
  if (text.length > FILE) throw new Error(`a scenario file has at most ${FILE >> 20} MiB`);
  const document = parse(text, { maxDepth: DEEP }) as Table;
  let level: unknown[] = [document];
  for (let depth = 0; level.length; depth += 1) {
    if (depth > DEEP) throw new Error(`a scenario has at most ${DEEP} tables within each other`);
    level = level.flatMap((one) => (typeof one === "object" && one ? Object.values(one as Table) : []));
  }
  return document;
}

/** The queue of a scenario that the page changes: the bottleneck, else the first. */
export function queueOf(document: Table): string {
  const names = Object.keys((document.queue as Table | undefined) ?? {});
  if (!names.length) throw new Error("the scenario has no [queue.NAME], so there is no discipline to choose");
  return names.includes(QUEUE) ? QUEUE : names[0]!;
}

/** A dropped scenario as a setup: its discipline, and everything else left as the file has it. */
export function imported(text: string, before: Setup): Setup {
  const document = parsed(text);
  const { aqm } = Object((document.queue as Table)[queueOf(document)]) as Table;
  if (typeof aqm !== "string") throw new Error("the queue has no aqm");
  const seed = typeof document.seed === "number" ? document.seed : 1;
  const duration = seconds(document.duration);
  return {
    ...structuredClone(before),
    disciplines: [{ aqm, set: {} }],
    changes: [],
    story: "",
    file: text,
    line: null,
    seed,
    duration,
    warmup: document.warmup === undefined ? 0 : seconds(document.warmup),
  };
}

/** A scenario as a setup: a line of `earlydrop advise` as today and with its queue, any other as a file. */
export function opened(text: string, before: Setup, disciplines: Discipline[]): Setup {
  const document = parsed(text);
  const found = lineIn(document, disciplines);
  if (!found) return imported(text, before);
  return { ...lineSetup(before, found.line, found.aqm), seed: typeof document.seed === "number" ? document.seed : 1 };
}

/** A run of a line: so long, s, and shorter down to the least where the line carries much in a second. */
const RUN = { most: 120, least: 20, bits: 7.2e9, warmup: 1 / 12 };

/** The setup of a line: as it is today, and with a discipline. */
export function lineSetup(before: Setup, line: Line, aqm = RULES.preferred[0]!): Setup {
  const disciplines = [...new Set([TODAY, aqm])].map((name) => ({ aqm: name, set: {} }));
  const duration = Math.round(Math.max(RUN.least, Math.min(RUN.most, RUN.bits / (line.down + line.up))));
  const times = { duration, warmup: Math.max(2, Math.round(RUN.warmup * duration)) };
  return { ...structuredClone(before), ...times, disciplines, changes: [], story: "", file: "", line };
}

/** What is exported: the scenario with the parameters now in force, and how to run it. */
export function exported(setup: Setup, which: number, units: Units, disciplines: Discipline[] = []): string {
  const chosen = latest(setup)[which]!;
  const others = latest(setup).filter((_, k) => k !== which);
  const lines = ["# A scenario of the playground.", "#     earlydrop run playground.toml"];
  // Disciplines of a line stand behind shapers of their own.
  if (others.length && !setup.line) {
    const names = [chosen, ...others].map((one) => {
      const own = one === chosen ? {} : settings(one, units);
      const set = Object.entries(own).map(([key, value]) => ` ${key}=${String(value).replaceAll(" ", "")}`);
      return set.length ? `"${one.aqm}${set.join("")}"` : one.aqm;
    });
    lines.push(`#     earlydrop compare playground.toml --aqm ${names.join(" ")}`);
  }
  if (setup.changes.length)
    lines.push("# Parameters that were changed on the way have their last values from the start.");
  return `${lines.join("\n")}\n\n${toml({ ...setup, changes: [] }, chosen, units, disciplines)}`;
}
