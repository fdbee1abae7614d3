// A home's line and what `earlydrop advise` sets up for it, by the command's own table of rules. The tests compare the
// two (python/earlydrop/advise: line.py, model.py, commands.py, text.py).

import table from "../../python/earlydrop/advise/rules.json";
import type { Discipline } from "./catalogue";

type Table = Record<string, unknown>;

interface Framing {
  title: string;
  cake: string;
  overhead: number;
  mpu?: number;
  encoding?: "plain" | "atm" | "ptm";
  mtu?: number;
  rtt?: string;
  moves?: boolean;
}

interface Entry extends Table {
  name: string;
  tcp?: string;
}

interface Rules {
  shaped: number;
  links: Record<string, Framing>;
  rtt: string;
  buffer: string;
  presets: { title: string; link: string; down: string; up: string }[];
  load: {
    video: { bps: number; share: number; frame_s: number; least: number };
    ways: { down: Table; up: Table };
    start: Table;
    tcp: Table;
    header: number;
    bulk: string[];
    titles: string[];
    entries: Entry[];
  };
  linux: string[];
  codel: Record<"interval_ms" | "target_ms" | "least_share" | "most_share" | "packet_bytes", number>;
  pie: { target_ms: number };
  cake: { rtt: { keyword: string; ms: number }[]; down: string; up: string; ack_filter: string };
  ack_filter_from: number;
  processor_from_bps: number;
  preferred: string[];
  sqm: string[];
  ifb: string;
  qdisc: Record<string, string>;
  root: { cake: string[]; others: string[] };
  ingress: string[];
  undo: string[];
  notes: { moves: string; ack_filter: string; processor: string };
}

export const RULES = table as unknown as Rules;

/** Bytes of an Ethernet header, which Linux counts into a packet's length at an Ethernet device. */
const ETHERNET = 14;
/** Bytes that a modem's buffer has at least: ten packets. */
const LEAST = 15_140;

export type Way = "down" | "up";

export interface Line {
  /** A kind of line of the table. */
  link: string;
  /** Rates with framing, bit/s. */
  down: number;
  up: number;
  /** Round-trip time without queues, ms. */
  rtt: number;
  /** What the modem holds in each direction: `250 ms` at the line's rate, or `100 packets`. */
  buffer: string;
  /** The direction whose queue is watched. */
  way: Way;
}

// ---- what is given ---------------------------------------------------------------------------------------------------

const RATE = /^([0-9]+(?:\.[0-9]+)?) ?(?:([kmg]?)bit(?:\/s)?|([kMG]?)bps)?$/i;
const TIME = /^([0-9]+(?:\.[0-9]+)?) ?(ms|s)?$/;

/** What the command takes: bit/s, and ms. */
export const RATES = [128e3, 10e9] as const;
export const TIMES = [2, 1e4] as const;

/** A rate in bit/s, as the command takes it; a bare number is in Mbit/s. Throws an Error with a sentence. */
export function readRate(name: string, given: string): number {
  const found = RATE.exec(given.trim());
  const bare = found && found[2] === undefined && found[3] === undefined;
  // In tc, `mbps` are megabytes a second.
  if (found && (found[3] === undefined || "kMG".includes(found[3]))) {
    const factors: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9 };
    const value = Number(found[1]) * (bare ? 1e6 : factors[(found[2] ?? found[3] ?? "").toLowerCase()]!);
    if (within(value, RATES)) return value;
  }
  throw new Error(`${name}: given "${given.slice(0, 40)}"; allowed 128kbit to 10gbit, as 50 or 50mbit`);
}

/** A round-trip time in ms; a bare number is in ms. */
export function readTime(name: string, given: string): number {
  const found = TIME.exec(given.trim());
  const value = found ? Number(found[1]) * (found[2] === "s" ? 1e3 : 1) : 0;
  if (within(value, TIMES)) return value;
  throw new Error(`${name}: given "${given.slice(0, 40)}"; allowed 2ms to 10s`);
}

/** The usual round-trip time of a kind of line, ms. */
export function usualRtt(link: string): number {
  return readTime("rtt", RULES.links[link]?.rtt ?? RULES.rtt);
}

function usualBuffer(): string {
  return RULES.buffer.replace("ms", " ms");
}

export function presetLine({ link, down, up }: Omit<Rules["presets"][number], "title">): Line {
  const rates = { down: readRate("down", down), up: readRate("up", up) };
  return { link, ...rates, rtt: usualRtt(link), buffer: usualBuffer(), way: "up" };
}

// ---- what follows from it --------------------------------------------------------------------------------------------

/** Rounded to the even one of two that are as near, as Python does. */
function even(value: number, digits: 0 | 1 = 0): number {
  if (digits === 1) {
    // Of tenths only a quarter and three quarters lie midway, exactly.
    const tie = Number.isInteger(4 * value) && !Number.isInteger(2 * value);
    return tie ? Math.floor(value) + (value - Math.floor(value) < 0.5 ? 0.2 : 0.8) : Number(value.toFixed(1));
  }
  const near = Math.round(value);
  return near - value === 0.5 && near % 2 ? near - 1 : near;
}

const g = (value: number, digits = 6): string => String(Number(value.toPrecision(digits)));
const mbps = (bps: number): string => g(bps / 1e6);
const kbit = (bps: number): number => Math.floor(bps / 1e3 + 1e-6);
const bits = (bps: number): string => `${even(bps)} bit/s`;

export function filled(text: string, words: Record<string, unknown>): string {
  for (const [name, word] of Object.entries(words)) text = text.replaceAll(`{${name}}`, String(word));
  return text;
}

type Kind = Required<Omit<Framing, "rtt" | "moves">> & { moves: boolean; ppp: boolean; share: number };

function framing(line: Line): Kind {
  const own = { mpu: 0, encoding: "plain" as const, mtu: 1500, moves: false, ...RULES.links[line.link]! };
  return { ...own, ppp: own.mtu < 1500, share: own.encoding === "ptm" ? 64 / 65 : 1 };
}

export function rateOf(line: Line, way: Way = line.way): number {
  return way === "up" ? line.up : line.down;
}

const shaped = (line: Line, way: Way): number => RULES.shaped * rateOf(line, way);
const filtersAcks = (line: Line): boolean => line.down / line.up >= RULES.ack_filter_from;

/** CoDel's target and interval, ms. */
export function controlTimes(line: Line, way: Way): [number, number] {
  const rule = RULES.codel;
  const packet = (8e3 * rule.packet_bytes) / shaped(line, way);
  const target = even(Math.max(rule.target_ms, rule.least_share * line.rtt, packet), 1);
  return [target, even(Math.max(rule.interval_ms, line.rtt, target / rule.most_share), 1)];
}

const pieTarget = (line: Line, way: Way): number => Math.max(RULES.pie.target_ms, controlTimes(line, way)[0]);

function cakeRtt(line: Line): [string, number] {
  const found = RULES.cake.rtt.find((one) => one.ms >= line.rtt);
  return found ? [found.keyword, found.ms] : [`rtt ${g(line.rtt)}ms`, line.rtt];
}

function cakeOptions(line: Line, way: Way): string {
  const { down, up, ack_filter } = RULES.cake;
  return way === "down" ? down : filtersAcks(line) ? `${up} ${ack_filter}` : up;
}

function limitPackets(all: Discipline[], aqm: string): number {
  const limits = [aqm, "droptail"].map((name) =>
    /^(\d+) packets/.exec(all.find((one) => one.name === name)?.limit.default ?? ""),
  );
  return Number(limits.find((one) => one)?.[1]);
}

/** The line in a sentence. */
export function lineText(line: Line): string {
  const own = framing(line);
  const extra = { atm: " in ATM cells", ptm: " and PTM's encoding", plain: "" }[own.encoding];
  const frames = own.overhead ? `${own.overhead} B on each packet${extra}` : "no framing";
  return `${mbps(line.down)} Mbit/s down, ${mbps(line.up)} Mbit/s up, ${own.title}: ${frames}; ${g(line.rtt)} ms to the servers; a modem that holds ${line.buffer}.`;
}

/** What the kind of line and its rates ask for beside the queue. */
export function notes(line: Line): string[] {
  const own = RULES.notes;
  const [down, up] = [kbit(shaped(line, "down")), kbit(shaped(line, "up"))];
  const most = Math.max(line.down, line.up);
  return [
    framing(line).moves && filled(own.moves, { down, up }),
    filtersAcks(line) && filled(own.ack_filter, { ratio: g(line.down / line.up, 3) }),
    most >= RULES.processor_from_bps && filled(own.processor, { rate: mbps(most) }),
  ].filter((one) => one !== false);
}

// ---- configuration ---------------------------------------------------------------------------------------------------

function seenOverhead(line: Line): number {
  const own = framing(line);
  if (!own.overhead) return 0;
  return own.ppp ? own.overhead : own.overhead - ETHERNET;
}

function qdisc(line: Line, all: Discipline[], aqm: string, way: Way): string {
  const [target, interval] = controlTimes(line, way);
  const limit = limitPackets(all, aqm);
  return filled(RULES.qdisc[aqm]!, {
    limit,
    bytes: limit * 1500,
    rate: kbit(shaped(line, way)),
    target: g(aqm.endsWith("pie") ? pieTarget(line, way) : target),
    interval: g(interval),
    framing: framing(line).cake,
    rtt: cakeRtt(line)[0],
    options: cakeOptions(line, way),
  });
}

/** Commands that set up both directions; the device is in `$WAN`. */
export function tcLines(line: Line, all: Discipline[], aqm: string): string[] {
  const own = framing(line);
  const layer = own.encoding === "atm" ? "atm" : "ethernet";
  const stab = own.overhead ? `stab linklayer ${layer} overhead ${seenOverhead(line)} mpu ${own.mpu} ` : "";
  const root = (device: string, way: Way): string[] => {
    const rate = kbit(shaped(line, way) * own.share);
    const words = { device, rate, stab, qdisc: qdisc(line, all, aqm, way) };
    return RULES.root[aqm === "cake" ? "cake" : "others"].map((one) => filled(one, words));
  };
  const { ifb } = RULES;
  return [
    `WAN=${own.ppp ? "ppp0" : "eth0"}    # the device towards the modem`,
    "# What is sent.",
    ...root("$WAN", "up"),
    "# What is received, led through a device of its own.",
    `ip link add ${ifb} type ifb`,
    `ip link set ${ifb} up`,
    ...root(ifb, "down"),
    ...RULES.ingress.map((one) => filled(one, { ifb })),
  ];
}

/** Commands that remove it. */
export function tcUndo(): string[] {
  return RULES.undo.map((one) => filled(one, { ifb: RULES.ifb }));
}

/** A section of OpenWrt's `/etc/config/sqm`. */
export function sqmConfig(line: Line, all: Discipline[], aqm: string): string {
  const own = framing(line);
  const name = own.ppp ? "pppoe-wan" : "wan";
  const layer = !own.overhead ? "none" : own.encoding === "atm" ? "atm" : "ethernet";
  const options: [string, string | number][] = [
    ["enabled", 1],
    ["interface", name],
    ["download", kbit(shaped(line, "down") * own.share)],
    ["upload", kbit(shaped(line, "up") * own.share)],
    ["qdisc", aqm],
    ["script", aqm === "cake" ? "piece_of_cake.qos" : "simplest.qos"],
    ["linklayer", layer],
  ];
  if (layer !== "none") {
    const overhead = aqm === "cake" ? own.overhead : seenOverhead(line);
    options.push(["overhead", overhead], ["linklayer_advanced", 1], ["tcMPU", own.mpu]);
  }
  // OpenWrt's web page shows the settings below only with these two.
  options.push(["qdisc_advanced", 1], ["qdisc_really_really_advanced", 1]);
  const ways: [string, Way][] = [
    ["i", "down"],
    ["e", "up"],
  ];
  if (aqm === "cake") {
    for (const [at, way] of ways) options.push([`${at}qdisc_opts`, `${cakeRtt(line)[0]} ${cakeOptions(line, way)}`]);
  } else {
    for (const [at] of ways) options.push([`${at}limit`, limitPackets(all, aqm)]);
    for (const [at, way] of ways) {
      const [target, interval] = controlTimes(line, way).map((ms) => even(1e3 * ms));
      if (aqm.endsWith("codel"))
        options.push([`${at}target`, `${target}us`], [`${at}qdisc_opts`, `interval ${interval}us`]);
      else if (aqm.endsWith("pie")) options.push([`${at}target`, `${even(1e3 * pieTarget(line, way))}us`]);
    }
  }
  return `config queue '${name}'\n${options.map(([key, value]) => `\toption ${key} '${value}'\n`).join("")}`;
}

// ---- the scenario ----------------------------------------------------------------------------------------------------

/** The discipline that stands for today's line: the modem's own FIFO, without a shaper in front of it. */
export const TODAY = "droptail";

/** The queue that is watched. */
export function watched(line: Line, aqm: string): string {
  return `${aqm === TODAY ? "line" : "router"}_${line.way}`;
}

/** Links, queues and traffic of the line with a discipline behind a shaper, or as it is today. */
export function scenario(line: Line, aqm: string, all: Discipline[]): { link: Table[]; queue: Table; traffic: Table[] } {
  return { link: links(line, aqm), queue: queues(line, aqm, all), traffic: traffic(line) };
}

function links(line: Line, aqm: string): Table[] {
  const own = framing(line);
  const fast = bits(Math.max(10e9, 10 * line.down, 10 * line.up));
  const frames = { overhead: `${own.overhead} B`, mpu: `${own.mpu} B`, encoding: own.encoding };
  const way = (bps: number, queue: string): Table => {
    const layer = own.ppp ? "ip" : "ethernet";
    return { rate: bits(bps), delay: "0 ms", link_layer: layer, framing: frames, queue };
  };
  const here = { rate: fast, delay: "0 ms" };
  const there = aqm !== TODAY;
  const [down, up] = there
    ? [way(shaped(line, "down"), "router_down"), way(shaped(line, "up"), "router_up")]
    : [here, here];
  return [
    { from: "server", to: "isp", rate: fast, delay: `${g(line.rtt / 2)} ms` },
    { from: "isp", to: "modem", ...way(line.down, "line_down"), reverse: way(line.up, "line_up") },
    { from: "modem", to: "router", ...down, reverse: up },
    { from: "router", to: "home", ...here },
  ];
}

function buffer(line: Line, bps: number): string {
  const [number, unit] = line.buffer.split(" ") as [string, string];
  if (unit === "packets") return line.buffer;
  return `${Math.max(even(((Number(number) / 1e3) * bps) / 8), LEAST)} B`;
}

function queues(line: Line, aqm: string, all: Discipline[]): Table {
  const found: Table = {
    line_down: { aqm: "droptail", limit: buffer(line, line.down) },
    line_up: { aqm: "droptail", limit: buffer(line, line.up) },
  };
  if (aqm !== TODAY) {
    found.router_down = settings(line, aqm, all, "down");
    found.router_up = settings(line, aqm, all, "up");
  }
  return found;
}

function settings(line: Line, aqm: string, all: Discipline[], way: Way): Table {
  const known = new Map(all.find((one) => one.name === aqm)?.parameters.map((one) => [one.name, one]));
  const found: Table = { aqm, limit: `${limitPackets(all, aqm)} packets` };
  if (RULES.linux.includes(aqm)) found.dialect = "linux";
  if (aqm === "cake") {
    // CAKE shapes as in the printed line; the framing is the link's, which is as fast.
    Object.assign(found, { diffserv: "besteffort", bandwidth: bits(shaped(line, way)) });
    Object.assign(found, { rtt: `${g(cakeRtt(line)[1])} ms`, ingress: way === "down" });
    if (way === "up" && filtersAcks(line)) found.ack_filter = "on";
  }
  if (known.has("target") && known.has("interval")) {
    const [target, interval] = controlTimes(line, way);
    Object.assign(found, { target: `${g(target)} ms`, interval: `${g(interval)} ms` });
  }
  if (aqm === "pie" || aqm === "fq_pie") found.qdelay_ref = `${g(pieTarget(line, way))} ms`;
  for (const name of ["min_th", "max_th", "w_q"]) if (known.get(name)?.range.includes("auto")) found[name] = "auto";
  if ((known.get("mean_packet")?.default ?? "auto") !== "auto") found.mean_packet = "1500 B";
  return found;
}

function traffic(line: Line): Table[] {
  const { video, header, entries, ways, start, tcp } = RULES.load;
  const bps = Math.min(video.bps, video.share * line.up, video.share * line.down);
  const frame = Math.max(video.least, even((bps * video.frame_s) / 8));
  const words = { segment: framing(line).mtu - header, header, frame };
  return entries.map((entry) => {
    const made = { count: 1, start, ...ways[wayOf(entry.name)], ...(entry.tcp ? tcp : {}), ...entry };
    return Object.fromEntries(
      Object.entries(made).map(([key, one]) => [key, typeof one === "string" ? filled(one, words) : one]),
    );
  });
}

function wayOf(entry: string): Way {
  return entry.split("_").includes("up") ? "up" : "down";
}

/** The place of the call's entry in the watched direction. */
export function voice(line: Line): number {
  return RULES.load.entries.findIndex((one) => one.name === `voice_${line.way}`);
}

/** The line and the discipline of a scenario that is one of `advise`; null of any other. */
export function lineIn(document: Table, all: Discipline[]): { line: Line; aqm: string } | null {
  const { link, queue, traffic } = document as { link?: unknown; queue?: Table; traffic?: unknown };
  const [first, access] = Array.isArray(link) ? (link as Table[]) : [];
  const back = Object(access?.reverse) as Table;
  const own = Object(queue?.line_down) as Table;
  const aqm = String((Object(queue?.router_down) as Table).aqm ?? TODAY);
  const number = (text: unknown, unit: string): number => {
    const [value, of] = String(text).split(" ");
    return of === unit ? Number(value) : Number.NaN;
  };
  const [down, up] = [number(access?.rate, "bit/s"), number(back.rate, "bit/s")];
  const limit = String(own.limit);
  const time = Number(((8e3 * number(limit, "B")) / down).toPrecision(6));
  const held = limit.endsWith(" packets") ? limit : `${time} ms`;
  const rtt = 2 * number(first?.delay, "ms");
  if (!within(down, RATES) || !within(up, RATES) || !within(rtt, TIMES) || !holds(held)) return null;
  const lines = Object.keys(RULES.links).flatMap((kind) =>
    // A slow line's buffer has its least size, whatever its time.
    [usualBuffer(), held].map((buffer): Line => ({ link: kind, down, up, rtt, buffer, way: "up" })),
  );
  // Of kinds that are framed alike, the one whose usual round trip it is.
  lines.sort((a, b) => Number(usualRtt(b.link) === rtt) - Number(usualRtt(a.link) === rtt));
  const line = lines.find((one) => same({ link, queue, traffic }, scenario(one, aqm, all)));
  return line ? { line, aqm } : null;
}

/** Whether a text is a buffer as the command takes it. */
export function holds(held: string): boolean {
  const [, value, unit] = /^([0-9]+(?:\.[0-9]+)?) (ms|packets)$/.exec(held) ?? [];
  const size = Number(value);
  return unit === "ms" ? within(size, [1, 1e4]) : Number.isInteger(size) && within(size, [2, 1e6]);
}

function within(value: number, [least, most]: readonly [number, number]): boolean {
  return value >= least && value <= most;
}

function same(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return one === other;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && same((one as Table)[key], (other as Table)[key]))
  );
}
