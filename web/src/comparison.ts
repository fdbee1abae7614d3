// A comparison of disciplines over seeds: one value a seed and quantity, differences from the first discipline.

import { QUANTITIES, type Quantity, read } from "./measures";
import { clear, type Difference, type Estimate, estimate, paired } from "./statistics";
import { corrected, plain, sentences } from "./words";

export interface Comparison {
  titles: string[];
  seeds: number;
  quantities: Quantity[];
  /** Means by discipline and quantity. */
  cells: Map<string, Estimate>[];
  /** Differences from the first discipline, by discipline from the second on, and quantity. */
  differences: Map<string, Difference>[];
  /** Disciplines of which every seed gave the same run. */
  fixed: boolean[];
  replicated: boolean;
  /** Disciplines that never acted: all their drops are overflows of the buffer. */
  idle: boolean[];
}

/** Result documents by discipline and seed, compared at a queue. */
export function compare(titles: string[], documents: unknown[][], queue: string): Comparison {
  const fixed = documents.map(sameRun);
  const values = documents.map((group) => {
    const found = new Map<string, number[]>();
    for (const one of QUANTITIES) {
      const series = group.map((document) => read(document, one, queue));
      if (series.length && series.every((value) => value !== null)) found.set(one.id, series as number[]);
    }
    return found;
  });
  const cells = values.map((found, k) => {
    const row = [...found].map(([id, series]) => [id, estimate(series, undefined, fixed[k])] as const);
    return new Map(row);
  });
  const differences = values.slice(1).map((found, k) => {
    const row = [...found].flatMap(([id, series]) => {
      const control = values[0]!.get(id);
      return control ? [[id, paired(series, control, fixed[0] && fixed[k + 1])] as const] : [];
    });
    return new Map(row);
  });
  const seeds = documents[0]!.length;
  const replicated = seeds > 1 && !fixed.every(Boolean);
  return { titles, seeds, quantities: QUANTITIES, cells, differences, fixed, replicated, idle: documents.map((group) => neverActed(group, queue)) };
}

/** Plain queues, which only ever drop at a full buffer. */
const PLAIN = new Set(["droptail", "drop_front", "drop_random", "ddtail", "fq", "sfq", "drr", "wrr"]);

/** Whether a discipline dropped in every run, but each time at the full buffer. */
function neverActed(documents: unknown[], queue: string): boolean {
  return documents.every((document) => {
    const one = (document as { queues?: Record<string, Record<string, number | string>> }).queues?.[queue];
    if (!one || PLAIN.has(String(one.aqm)) || !one.overflow_drops) return false;
    return !one.early_drops && !one.forced_drops && !one.marks;
  });
}

/** Whether several seeds gave the same run: documents that differ in name, seed, version and cost alone. */
export function sameRun(documents: unknown[]): boolean {
  const bare = documents.map((one) => JSON.stringify({ ...(one as object), scenario: 0, seed: 0, version: 0, cost: 0 }));
  return bare.length > 1 && bare.every((text) => text === bare[0]);
}

/** Rows of text: quantity, then for each discipline its mean, and from the second on its difference from the first. */
export function table(result: Comparison): string[][] {
  const ps = corrected(result);
  const head = ["", ...result.titles.flatMap((title, k) => (k ? [title, `${title} − ${result.titles[0]}`] : [title]))];
  const rows = result.quantities.flatMap((one) => {
    if (!result.cells[0]!.has(one.id)) return [];
    const row = result.titles.flatMap((_, k) => {
      const mean = cell(result.cells[k]!.get(one.id), one);
      if (k === 0) return [mean];
      const difference = result.differences[k - 1]!.get(one.id);
      if (!difference) return [mean, "–"];
      const p = ps.get(difference);
      const star = clear(difference) ? (p !== undefined && p < 0.05 ? " **" : " *") : "";
      return [mean, `${signed(difference.estimate, one)}${star}`];
    });
    return [[one.unit ? `${one.title} (${one.unit})` : one.title, ...row]];
  });
  return [head, ...rows];
}

/** A mean with its interval: `12.345 ± 0.012`; `0.998 [0.990, 1]` where it is cut at a bound of the measure. */
export function cell(found: Estimate | undefined, one: Quantity): string {
  if (!found) return "–";
  const { mean, halfWidth } = found;
  const text = mean.toFixed(one.digits);
  if (halfWidth === null) return text;
  const [low, high] = [mean - halfWidth, mean + halfWidth];
  // A mean beyond a bound moves the bound.
  const lower = Math.max(low, Math.min(one.bounds[0], mean));
  const upper = Math.min(high, Math.max(one.bounds[1], mean));
  if (lower === low && upper === high) return `${text} ± ${halfWidth.toFixed(one.digits)}`;
  const end = (value: number, own: number): string =>
    value !== own && Number.isInteger(value) ? String(value) : value.toFixed(one.digits);
  return `${text} [${end(lower, low)}, ${end(upper, high)}]`;
}

/** A difference with its sign and its interval: `+0.345 ± 0.012`. */
function signed(found: Estimate, one: Quantity): string {
  const text = plain(found.mean, one.digits);
  const sign = found.mean > 0 && Number(text) !== 0 ? "+" : "";
  return `${sign}${text}${found.halfWidth === null ? "" : ` ± ${found.halfWidth.toFixed(one.digits)}`}`;
}

/** The verdict and the table as Markdown. */
export function markdown(result: Comparison): string {
  const [head, ...rows] = table(result) as [string[], ...string[][]];
  const line = (row: string[]): string => `| ${row.join(" | ")} |`;
  return [...sentences(result), "", line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}
