// A comparison of disciplines over seeds: one value a seed and quantity, differences from the first discipline.

import { QUANTITIES, type Quantity, read, step } from "./measures";
import { clear, type Difference, type Estimate, estimate, paired } from "./statistics";
import { ALL_RUNS, corrected, plain, sentences } from "./words";

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

/** Result documents by discipline and seed, compared at the queue of each discipline. */
export function compare(titles: string[], documents: unknown[][], queues: string[]): Comparison {
  const fixed = documents.map(sameRun);
  const values = documents.map((group, k) => {
    const found = new Map<string, number[]>();
    for (const one of QUANTITIES) {
      const series = group.map((document) => read(document, one, queues[k]!));
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
      const one = QUANTITIES.find((quantity) => quantity.id === id)!;
      const steps = [0, k + 1].flatMap((run) => documents[run]!.map((document) => step(document, one, queues[run]!)));
      const most = Math.max(0, ...steps);
      return control ? [[id, paired(series, control, fixed[0] && fixed[k + 1], most)] as const] : [];
    });
    return new Map(row);
  });
  const seeds = documents[0]!.length;
  const replicated = seeds > 1 && !fixed.every(Boolean);
  return {
    titles,
    seeds,
    quantities: QUANTITIES,
    cells,
    differences,
    fixed,
    replicated,
    idle: documents.map((group, k) => neverActed(group, queues[k]!)),
  };
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
  const bare = documents.map((one) =>
    JSON.stringify({ ...(one as object), scenario: 0, seed: 0, version: 0, cost: 0 }),
  );
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
      const star = clear(difference) ? (p != null && p < 0.05 ? " **" : " *") : "";
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
  if (halfWidth === null) return mean.toFixed(one.digits);
  if (halfWidth === 0) return `${mean.toFixed(one.digits)} ${ALL_RUNS}`;
  const digits = enough(halfWidth, one.digits);
  const text = mean.toFixed(digits);
  const [low, high] = [mean - halfWidth, mean + halfWidth];
  // A mean beyond a bound moves the bound.
  const lower = Math.max(low, Math.min(one.bounds[0], mean));
  const upper = Math.min(high, Math.max(one.bounds[1], mean));
  if (lower === low && upper === high) return `${text} ± ${halfWidth.toFixed(digits)}`;
  const end = (value: number, own: number): string =>
    value !== own && Number.isInteger(value) ? String(value) : value.toFixed(digits);
  return `${text} [${end(lower, low)}, ${end(upper, high)}]`;
}

/** As many digits after the point as show that a half-width is not zero. */
function enough(halfWidth: number, digits: number): number {
  if (Number(halfWidth.toFixed(digits)) > 0) return digits;
  return Math.min(12, Math.max(digits, -Math.floor(Math.log10(halfWidth))));
}

/** A difference with its sign and its interval: `+0.345 ± 0.012`. */
function signed(found: Estimate, one: Quantity): string {
  const half = found.halfWidth;
  if (half === 0 && found.mean === 0) return `equal ${ALL_RUNS}`;
  const digits = half ? enough(half, one.digits) : one.digits;
  const text = plain(found.mean, digits);
  const sign = found.mean > 0 && Number(text) !== 0 ? "+" : "";
  return `${sign}${text}${half === null ? "" : half === 0 ? ` ${ALL_RUNS}` : ` ± ${half.toFixed(digits)}`}`;
}

/** The verdict and the table as Markdown. */
export function markdown(result: Comparison): string {
  const [head, ...rows] = table(result) as [string[], ...string[][]];
  const line = (row: string[]): string => `| ${row.join(" | ")} |`;
  return [...sentences(result), "", line(head), line(head.map(() => "---")), ...rows.map(line), ""].join("\n");
}
