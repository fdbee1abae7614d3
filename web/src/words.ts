// What a comparison found, in the sentences of `earlydrop compare` (python/earlydrop/analysis/words.py; the rules are in
// docs/statistics.md). The tests compare the two.

import type { Comparison } from "./comparison";
import { around, marginText, type Quantity } from "./measures";
import { ALPHA, clear, type Difference, estimate, holmKnown } from "./statistics";

/** What is said where runs that differ in other things all have the same value. */
export const ALL_RUNS = "in all runs";

type Found = "less" | "more" | "perhaps less" | "perhaps more" | "equal" | "none" | "not judged";
const LISTED = 4;
const SPOKEN = [
  ["queue_delay", "delay"],
  ["goodput", "throughput"],
];
const PRECISION = 6;
const ORDER: Found[] = ["less", "perhaps less", "more", "perhaps more", "equal", "none", "not judged"];

interface Finding {
  found: Found;
  quantity: Quantity;
  difference: Difference;
}

/** What the comparison found; the first discipline is the control. */
export function sentences(result: Comparison): string[] {
  if (result.titles.length === 1) return [alone(result)];
  if (result.seeds === 1) return ["One seed cannot tell a difference from chance: nothing is claimed. Run more seeds."];
  if (!result.replicated)
    return ["Every seed gives the same run, so the differences have no intervals and nothing is claimed."];
  const { tests, rows } = findings(result);
  const said =
    result.titles.length === 2
      ? [
          pair(
            result,
            rows.map((row) => row[0]!),
          ),
        ]
      : rows.map((row) => listed(result, row));
  const brackets = `Brackets are 95 % intervals of the differences seed by seed, n = ${result.seeds}`;
  const corrected = tests > 1 ? `; what is claimed remains after Holm's correction for ${tests} differences` : "";
  const idle = result.titles
    .filter((_, k) => result.idle[k])
    .map((title) => `${title} never acted: all its drops are overflows of the buffer.`);
  return [...idle, ...said, `${brackets}${corrected}.`];
}

/** p values after Holm's correction, by discipline (from the second) and quantity. */
export function corrected(result: Comparison): Map<Difference, number | null> {
  const every = result.differences.flatMap((row) => [...row.values()]);
  const tested = every.filter((d) => d.estimate.replicates > 1);
  const ps = holmKnown(tested.map((d) => d.p));
  return new Map(tested.map((d, k) => [d, ps[k]!]));
}

function findings(result: Comparison): { tests: number; rows: Finding[][] } {
  const ps = corrected(result);
  const known = new Set(result.differences.flatMap((row) => [...row.keys()]));
  const spoken = SPOKEN.flatMap((names) => {
    const name = names.find((one) => known.has(one));
    const quantity = result.quantities.find((one) => one.id === name);
    return quantity ? [quantity] : [];
  });
  const judged = spoken.flatMap((m) => result.differences.map((row) => row.get(m.id)));
  const statements = judged.filter((d) => d !== undefined && ps.has(d)).length;
  const rows = spoken.map((quantity) =>
    result.differences.flatMap((row, k) => {
      const difference = row.get(quantity.id);
      if (!difference) return [];
      const found = judge(difference, quantity, ps.get(difference) ?? null, statements);
      return [{ found, quantity, difference, title: result.titles[k + 1]! }];
    }),
  );
  return { tests: ps.size, rows: rows.filter((row) => row.length) };
}

function judge(difference: Difference, quantity: Quantity, p: number | null, statements: number): Found {
  const { mean, halfWidth } = difference.estimate;
  if (halfWidth === null) return "not judged";
  const wide = estimate(difference.values, 1 - ALPHA / Math.max(1, statements), false, difference.step);
  const margin = around(quantity.margin, difference.control);
  if (wide.halfWidth !== null && -margin <= wide.mean - wide.halfWidth && wide.mean + wide.halfWidth <= margin) {
    return "equal";
  }
  // Differences that are all equal have no p value.
  if (p !== null && !clear(difference)) return "none";
  const way = mean < 0 ? "less" : "more";
  return p !== null && p < ALPHA ? way : `perhaps ${way}`;
}

function alone(result: Comparison): string {
  const title = result.titles[0]!;
  const parts = SPOKEN.flatMap((names) => {
    const quantity = names
      .map((name) => result.quantities.find((q) => q.id === name && result.cells[0]!.has(name)))
      .find(Boolean);
    if (!quantity) return [];
    const { mean, halfWidth } = result.cells[0]!.get(quantity.id)!;
    return [`${amount(mean, halfWidth, quantity, true)} of ${quantity.title.toLowerCase()}`];
  });
  const what = parts.length ? `${title} has ${parts.join(" and ")}. ` : "";
  return `${what}Only ${title} was run, so there is nothing to compare it with.`;
}

/** One sentence on one discipline against another. */
function pair(result: Comparison, found: Finding[]): string {
  const [control, mine] = result.titles as [string, string];
  const [main, ...others] = found;
  if (!main) return `${mine} and ${control} have no measure in common.`;
  const what = main.quantity.title.toLowerCase();
  const said: Record<Found, string> = {
    less: `${mine} has ${size(main)} less ${what} than ${control}`,
    more: `${mine} has ${size(main)} more ${what} than ${control}`,
    "perhaps less": `${mine} may have ${size(main)} less ${what} than ${control}`,
    "perhaps more": `${mine} may have ${size(main)} more ${what} than ${control}`,
    equal: `${mine} and ${control} have equal ${what} (${within(main)})`,
    none: `No difference in ${what} was found between ${mine} and ${control} (${span(main)})`,
    "not judged": `${capital(what)} of ${mine} and ${control} is not judged: every seed gives the same run`,
  };
  return `${said[main.found]}${others.map((other) => also(main, other, mine)).join("")}.`;
}

function also(main: Finding, other: Finding, mine: string): string {
  const what = other.quantity.title.toLowerCase();
  switch (other.found) {
    case "less":
    case "more": {
      const link = main.found === "less" || main.found === "more" ? " and" : `; ${mine} has`;
      return `${link} ${size(other)} ${other.found} ${what}`;
    }
    case "perhaps less":
    case "perhaps more":
      return `; ${mine} may have ${size(other)} ${other.found.split(" ")[1]} ${what}`;
    case "equal":
      if (main.found === "equal") return ` and equal ${what} (${within(other)})`;
      return main.found === "none" ? `; ${what} is equal (${within(other)})` : ` at equal ${what} (${within(other)})`;
    case "none":
      return `; no difference in ${what} was found (${span(other)})`;
    default:
      return `; ${what} is not judged: every seed gives the same run`;
  }
}

/** One sentence on one measure of several disciplines against the control. */
function listed(result: Comparison, row: Finding[]): string {
  const named = (row as (Finding & { title: string })[])
    .map((one, k) => ({ one, k }))
    .sort((a, b) => Math.abs(b.one.difference.estimate.mean) - Math.abs(a.one.difference.estimate.mean) || a.k - b.k)
    .map(({ one }) => one);
  const shown = named.slice(0, LISTED);
  const rest = named.length - shown.length;
  const parts = ORDER.flatMap((kind) => {
    const here = shown.filter((one) => one.found === kind);
    if (!here.length) return [];
    if (kind === "equal") return [`equal (${within(here[0]!)}) with ${and(here.map((one) => one.title))}`];
    if (kind === "none") return [`no difference found with ${and(here.map((one) => one.title))}`];
    if (kind === "not judged") return [`not judged with ${and(here.map((one) => one.title))}`];
    return [`${kind} with ${and(here.map((one) => `${one.title} by ${size(one)}`))}`];
  });
  const more = rest > 0 ? `; ${rest} more in the table` : "";
  return `${shown[0]!.quantity.title} against ${result.titles[0]}: ${parts.join("; ")}${more}.`;
}

function and(items: string[]): string {
  return items.length > 1 ? `${items.slice(0, -1).join(", ")} and ${items[items.length - 1]}` : items[0]!;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase();
}

function within(one: Finding): string {
  return `within ${marginText(one.quantity.margin)}`;
}

// ---- numbers -------------------------------------------------------------------------------------------------------

function size(one: Finding): string {
  return amount(Math.abs(one.difference.estimate.mean), one.difference.estimate.halfWidth, one.quantity, false);
}

function span(one: Finding): string {
  const { mean, halfWidth } = one.difference.estimate;
  const ends: [number, number] = [mean - (halfWidth ?? 0), mean + (halfWidth ?? 0)];
  const digits = places(halfWidth ?? 0, ends, one.quantity);
  return `${plain(ends[0], digits)} to ${plain(ends[1], digits)}${unit(one.quantity)}`;
}

function unit(quantity: Quantity): string {
  if (quantity.unit === "%") return " points";
  return quantity.unit ? ` ${quantity.unit}` : "";
}

function amount(mean: number, half: number | null, quantity: Quantity, signed: boolean): string {
  const name = signed && quantity.unit === "%" ? " %" : unit(quantity);
  if (!half) return `${mean.toFixed(quantity.digits)}${name}${half === null ? "" : ` (${ALL_RUNS})`}`;
  const ends: [number, number] = [mean - half, mean + half];
  const digits = places(half, ends, quantity);
  return `${plain(mean, digits)}${name} (${plain(ends[0], digits)} to ${plain(ends[1], digits)})`;
}

/** Two figures of the half-width; as many as it takes to show that an end is not zero. */
function places(half: number, ends: [number, number], quantity: Quantity): number {
  if (half <= 0) return quantity.digits;
  let digits = Math.min(Math.max(0, 1 - Math.floor(Math.log10(half))), PRECISION);
  while (digits < PRECISION && ends.some((end) => end && Number(end.toFixed(digits)) === 0)) digits += 1;
  return digits;
}

export function plain(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return text.startsWith("-") && Number(text) === 0 ? text.slice(1) : text;
}
