// The disciplines as their declarations have them, and the range of a slider for each parameter.

import type { Setting } from "./model";

/** A parameter as `earlydrop show NAME --json` has it. */
export interface Declared {
  name: string;
  symbol: string;
  unit: string;
  kind: "real" | "whole" | "flag" | "choice" | "text";
  range: string;
  choices: string[] | null;
  default: string;
  source: string;
  doc: string;
  default_value: Setting;
  /** Of a number; null for infinity. */
  low?: number | null;
  high?: number | null;
  open_low?: boolean;
  /** The word "auto" is allowed too. */
  auto?: boolean;
}

export interface Discipline {
  name: string;
  title: string;
  family: string;
  year: number;
  summary: string;
  source: string;
  doc: string;
  limit: { default: string; source: string };
  parameters: Declared[];
}

export interface Stack {
  name: string;
  about: string;
  tcps: string[];
}

/** Where a parameter's slider begins and ends. */
export interface Range {
  low: number;
  high: number;
  /** Steps are equal ratios. */
  log: boolean;
  whole: boolean;
  /** The word "auto" is allowed too. */
  auto: boolean;
  /** Zero is allowed below the lowest value of a logarithmic slider. */
  zero: boolean;
}

/** The slider of a numeric parameter: its range where that is short, else around the default in equal ratios. */
export function rangeOf(one: Declared): Range | null {
  if (one.kind !== "real" && one.kind !== "whole") return null;
  const whole = one.kind === "whole";
  const low = one.low ?? 0;
  const high = one.high ?? Infinity;
  const open = one.open_low ?? false;
  const common = { whole, auto: one.auto ?? false, zero: false };
  const usual = Number(one.default_value);
  const centre = Number.isFinite(usual) && usual !== 0 ? Math.abs(usual) : whole ? 10 : typical(one.unit);
  // A probability or a short list of counts is shown whole; what has no end, or spans decades, around the default.
  if (high - low <= 40 * centre && one.unit !== "s" && !(high === 1 && centre < 0.05)) {
    const first = open ? (whole ? low + 1 : low + (high - low) / 1000) : low;
    return { ...common, low: first, high, log: false };
  }
  if (one.unit === "packets") {
    return { ...common, low: Math.max(low, open ? 1 : 0), high: Math.min(high, 6 * centre + 20), log: false };
  }
  const bottom = Math.max(low, centre / 100, whole ? 1 : 0);
  return { ...common, low: bottom, high: Math.min(high, centre * 100), log: true, zero: low === 0 && !open };
}

function typical(unit: string): number {
  const usual: Record<string, number> = { s: 0.02, "bit/s": 10e6, packets: 20, B: 1500 };
  return usual[unit] ?? 0.01;
}

/** The value of a parameter in force: what was set, else the default. */
export function valueOf(one: Declared, set: Record<string, Setting>): Setting {
  return set[one.name] ?? one.default_value;
}

/** Parameters shown at once: numbers with a symbol, or the first few; the others are folded away. */
export function main(one: Discipline): Declared[] {
  const numbers = one.parameters.filter((p) => p.kind === "real" || p.kind === "whole");
  const known = MAIN[one.name];
  if (known) return known.flatMap((name) => one.parameters.filter((p) => p.name === name));
  const named = numbers.filter((p) => p.symbol && !["mean_packet", "max_packet", "mark_p"].includes(p.name));
  return (named.length ? named : numbers).slice(0, 4);
}

/** What people turn first, where symbols do not say it. */
export const MAIN: Record<string, string[]> = {
  codel: ["target", "interval"],
  expression: ["rule", "window"],
  pie: ["qdelay_ref", "tupdate", "alpha", "beta"],
  fq_pie: ["qdelay_ref", "tupdate", "alpha", "beta", "queues"],
  fq_codel: ["target", "interval", "quantum", "queues"],
  dualpi2: ["target", "tupdate", "k", "step_threshold"],
};

/** Disciplines by family, in the order of the catalogue. */
export function families(all: Discipline[]): Map<string, Discipline[]> {
  const found = new Map<string, Discipline[]>();
  for (const one of all) found.set(one.family, [...(found.get(one.family) ?? []), one]);
  return found;
}
