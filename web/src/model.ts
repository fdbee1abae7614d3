// What the page simulates: disciplines, link, load, and when parameters were changed. It is all that a shared link holds.

import type { Line } from "./line";

export type Setting = number | string | boolean;

/** A discipline with the parameters that differ from its defaults. */
export interface Chosen {
  aqm: string;
  set: Record<string, Setting>;
}

/** Long flows that are alike. */
export interface Group {
  count: number;
  /** A TCP stack of `earlydrop list stacks`. */
  stack: string;
  /** Its congestion control. */
  tcp: string;
  ecn: boolean;
  /** Base round-trip times of the first and of the last flow, s; the others lie evenly between. */
  rtt: [number, number];
  /** The flows start at random within this second after it, s. */
  start: number;
}

/** A parameter that was changed while the simulation ran. */
export interface Change {
  /** Simulated time, s. */
  time: number;
  /** Which of the disciplines. */
  run: number;
  parameter: string;
  value: Setting;
}

export type Limit = { kind: "own" } | { kind: "packets"; size: number } | { kind: "bdp"; size: number };

export interface Setup {
  disciplines: Chosen[];
  /** Rate of the bottleneck, bit/s. */
  rate: number;
  limit: Limit;
  /** Whether the queue may mark. */
  ecn: boolean;
  groups: Group[];
  /** Rate of a UDP flow that does not slow down, bit/s; 0 for none. */
  udp: number;
  /** Browsers that load one web page after the other. */
  browsers: number;
  /** Whether a voice call is part of the load. */
  call: boolean;
  seed: number;
  /** s. */
  duration: number;
  /** s. */
  warmup: number;
  changes: Change[];
  /** A scenario file that was dropped on the page, TOML; then only disciplines and seed are the page's own. */
  file: string;
  /** A home's line; then rates, load and buffers are those of `earlydrop advise`. */
  line: Line | null;
  /** A guided story and its step, if one is open. */
  story: string;
  step: number;
}

export const MOST_DISCIPLINES = 4;

export const FLOWS: Group = { count: 10, stack: "linux-6.18", tcp: "cubic", ecn: false, rtt: [0.04, 0.04], start: 0 };

export const SETUP: Setup = {
  disciplines: [
    { aqm: "droptail", set: {} },
    { aqm: "codel", set: {} },
  ],
  rate: 10e6,
  limit: { kind: "packets", size: 200 },
  ecn: false,
  groups: [FLOWS],
  udp: 0,
  browsers: 0,
  call: false,
  seed: 1,
  duration: 120,
  warmup: 10,
  changes: [],
  file: "",
  line: null,
  story: "",
  step: 0,
};

/** What the page opens with where its address asks for nothing. */
export const OPENING: Setup = {
  ...SETUP,
  disciplines: [
    { aqm: "droptail", set: {} },
    { aqm: "fq_codel", set: {} },
  ],
  groups: [{ ...FLOWS, count: 4, rtt: [0.08, 0.08] }],
};

export function copy<T>(value: T): T {
  return structuredClone(value);
}

/** The disciplines' parameters as the changes have left them. */
export function latest(setup: Setup): Chosen[] {
  const found = copy(setup.disciplines);
  for (const change of setup.changes) {
    const one = found[change.run];
    if (one) one.set[change.parameter] = change.value;
  }
  return found;
}

/** The same setup, with the changes made from the start on. */
export function settled(setup: Setup): Setup {
  return { ...copy(setup), disciplines: latest(setup), changes: [] };
}
