// What the page asks of a worker, and what comes back. Numbers travel as typed arrays, which are handed over.

import type { Discipline, Stack } from "./catalogue";
import type { Change, Setting } from "./model";

export type Ask =
  | { ask: "load"; module: WebAssembly.Module }
  /** New simulations; they run to `to` before anything is answered. */
  | { ask: "start"; serial: number; tomls: string[]; queues: string[]; seed: number; changes: Change[]; to: number }
  /** Run on, to `to` at most and for about `budget` ms at most. */
  | { ask: "advance"; serial: number; to: number; budget: number; packets: boolean }
  | { ask: "set"; serial: number; run: number; parameter: string; value: Setting }
  /** Run to the end; the result documents. */
  | { ask: "finish"; serial: number }
  | { ask: "curve"; serial: number; run: number; high: number }
  | { ask: "compare"; serial: number; tomls: string[]; first: number; seeds: number };

export type Tell =
  | { tell: "ready"; version: string; disciplines: Discipline[]; stacks: Stack[] }
  | { tell: "started"; serial: number; runs: About[]; frame: Frame }
  | { tell: "frame"; serial: number; frame: Frame }
  | { tell: "set"; serial: number; run: number; parameter: string; value: Setting; time: number; fault: string }
  | { tell: "finished"; serial: number; documents: string[] }
  | { tell: "curve"; serial: number; run: number; high: number; values: Float64Array }
  | { tell: "compared"; serial: number; done: number; of: number; documents: string[][] | null }
  | { tell: "fault"; serial: number; message: string };

/** What does not change while a simulation runs. */
export interface About {
  flows: number;
  /** Flows of each traffic entry. */
  entries: number[];
  duration: number;
  warnings: string[];
  /** The discipline's inner values. */
  gauges: { name: string; unit: string; about: string }[];
  /** The buffer; NaN for the one that it is not counted in. */
  limitPackets: number;
  limitBytes: number;
  /** The link behind the queue: bit/s, s. */
  rate: number;
  delay: number;
  aqm: string;
  /** The discipline's parameters as it started. */
  parameters: Record<string, Setting>;
  /** Those that can change while it runs. */
  live: string[];
  hasCurve: boolean;
}

export interface Frame {
  now: number;
  done: boolean;
  runs: RunFrame[];
}

export interface RunFrame {
  /** Rows of SAMPLE columns, one each 10 ms of simulated time, since the last frame. */
  samples: Float64Array<ArrayBuffer>;
  /** Inner values now, in the order of `About.gauges`. */
  gauges: Float64Array<ArrayBuffer>;
  /** Rows of FLOW columns, one a flow, now. */
  flows: Float64Array<ArrayBuffer>;
  /** Packets departed by sojourn time, in BINS; since the start, or since the end of the warm-up. Empty if not asked for. */
  sojourns: Float64Array<ArrayBuffer>;
  /** Rows of EVENT columns: what happened at the queue since the last frame, if it was asked for. */
  events: Float64Array<ArrayBuffer>;
  /** Rows of WAIT columns: the packets that wait now, the oldest of each of the discipline's queues first. */
  waiting: Float64Array<ArrayBuffer>;
}

/** Interval of samples, s. */
export const INTERVAL = 0.01;

/** For so long the page remembers packets and queues, s. */
export const RECENT = 1;

/** Congestion windows of so many flows are sampled. */
export const WINDOWS = 4;

/** Columns of a sample; the counts are of the interval before it. */
export const SAMPLE = {
  time: 0,
  packets: 1,
  bytes: 2,
  average: 3,
  arrivals: 4,
  early: 5,
  forced: 6,
  overflow: 7,
  marks: 8,
  departedBytes: 9,
  windows: 10,
  width: 10 + WINDOWS,
} as const;

export const FLOW = { cwnd: 0, deliveredBytes: 3, retransmits: 6, passedBytes: 10, width: 11 } as const;

export const EVENT = { time: 0, kind: 1, flow: 2, size: 3, packets: 4, sojourn: 5, width: 6 } as const;

/** Columns of a packet that waits: the number of its queue within the discipline, its flow from 1, and bytes. */
export const WAIT = { queue: 0, flow: 1, size: 2, width: 3 } as const;

/** Kinds of events at a queue. */
export const KIND = { passed: 0, marked: 1, early: 2, forced: 3, overflow: 4, departed: 5, departedMarked: 6 } as const;

/** Sojourn times are counted in equal ratios from 10 µs to 100 s, forty to a decade; what is shorter is in the first. */
export const BINS = 280;

export function bin(sojourn: number): number {
  return sojourn <= 1e-5 ? 0 : Math.min(BINS - 1, Math.floor(40 * Math.log10(sojourn / 1e-5)));
}

/** The longest sojourn time of a bin, s. */
export function binEnd(index: number): number {
  return 1e-5 * 10 ** ((index + 1) / 40);
}

/** Points of a drop curve. */
export const POINTS = 301;
