// Statistics over seeds, by the rules of docs/statistics.md: Student's intervals, paired differences, Holm's correction.

export const CONFIDENCE = 0.95;
export const ALPHA = 0.05;

/** A mean over seeds with the half-width of its interval; null for a single replication. */
export interface Estimate {
  mean: number;
  halfWidth: number | null;
  n: number;
  deviation: number | null;
  /** Independent values behind the mean. */
  replicates: number;
}

/** Treatment minus control, seed by seed. */
export interface Difference {
  estimate: Estimate;
  control: number;
  values: number[];
  wins: number;
  losses: number;
  /** Two-sided p value of the t test; null for a single replication and for differences that are all equal. */
  p: number | null;
  /** What one packet more or less changes in a value. */
  step: number;
}

/** Pairs that a difference needs to be called clear. */
const CLEAR = 3;

/** Sum whose error does not grow with the number of values (Neumaier 1974). */
export function sum(values: number[]): number {
  let total = 0;
  let rest = 0;
  for (const x of values) {
    const next = total + x;
    rest += Math.abs(total) >= Math.abs(x) ? total - next + x : x - next + total;
    total = next;
  }
  return total + rest;
}

export function mean(values: number[]): number {
  const first = values[0]!;
  return values.every((x) => x === first) ? first : sum(values) / values.length;
}

export function deviation(values: number[]): number | null {
  if (values.length < 2) return null;
  const first = values[0]!;
  if (values.every((x) => x === first)) return 0;
  const centre = mean(values);
  return Math.sqrt(sum(values.map((x) => (x - centre) ** 2)) / (values.length - 1));
}

/** Of differences of values in steps the variance is at least step^2 / 6; of zeros alone there is none. */
export function estimate(values: number[], confidence = CONFIDENCE, sameRun = false, step = 0): Estimate {
  const n = values.length;
  const centre = mean(values);
  if (sameRun) return { mean: centre, halfWidth: null, n, deviation: null, replicates: Math.min(n, 1) };
  let spread = deviation(values);
  if (spread !== null && values.some((x) => x !== 0)) spread = Math.max(spread, step / Math.sqrt(6));
  if (spread === null || spread === 0) {
    return { mean: centre, halfWidth: spread, n, deviation: spread, replicates: n };
  }
  const half = (tQuantile(0.5 + confidence / 2, n - 1) * spread) / Math.sqrt(n);
  return { mean: centre, halfWidth: half, n, deviation: spread, replicates: n };
}

export function paired(treatment: number[], control: number[], sameRun = false, step = 0): Difference {
  const values = subtracted(treatment, control);
  const found = estimate(values, CONFIDENCE, sameRun, step);
  const counted = values.slice(0, found.replicates);
  return {
    estimate: found,
    control: mean(control),
    values,
    wins: counted.filter((d) => d > 0).length,
    losses: counted.filter((d) => d < 0).length,
    p: found.replicates > 1 ? tTest(values, step) : null,
    step,
  };
}

/** The first less the second, value by value; all equal where only rounding tells them apart. */
function subtracted(first: number[], second: number[]): number[] {
  const found = first.map((x, k) => x - second[k]!);
  const size = Math.max(0, ...first.map(Math.abs), ...second.map(Math.abs));
  const rounding = size > 0 ? 8 * 2 ** (Math.floor(Math.log2(size)) - 52) : 0;
  if (!found.length || Math.max(...found) - Math.min(...found) > rounding) return found;
  const near = mean(found);
  return found.map(() => (Math.abs(near) <= rounding ? 0 : near));
}

/** Whether the interval excludes zero, of enough pairs that are not all equal. */
export function clear(d: Difference): boolean {
  const { mean: centre, halfWidth: half, n, deviation: spread } = d.estimate;
  return half !== null && n >= CLEAR && !!spread && (centre - half > 0 || centre + half < 0);
}

/** Two-sided p value of Student's test of mean zero; null where all values are equal. */
export function tTest(values: number[], step = 0): number | null {
  const found = estimate(values, CONFIDENCE, false, step);
  if (!found.deviation) return null;
  const t = Math.abs(found.mean) / (found.deviation / Math.sqrt(found.n));
  return 2 * tDistribution(-t, found.n - 1);
}

/** p values corrected for their number by Holm's method (1979). */
export function holm(ps: number[]): number[] {
  const order = ps.map((_, k) => k).sort((a, b) => ps[a]! - ps[b]! || a - b);
  const found: number[] = new Array(ps.length).fill(0);
  let largest = 0;
  order.forEach((at, rank) => {
    largest = Math.max(largest, Math.min(1, (ps.length - rank) * ps[at]!));
    found[at] = largest;
  });
  return found;
}

/** p values after Holm's correction; what has none counts as a test that found nothing. */
export function holmKnown(ps: (number | null)[]): (number | null)[] {
  const found = holm(ps.map((p) => p ?? 1));
  return ps.map((p, k) => (p === null ? null : found[k]!));
}

/** Jain's index of fairness. */
export function jain(values: number[]): number {
  const squares = sum(values.map((x) => x * x));
  return values.length === 0 || squares === 0 ? 1 : sum(values) ** 2 / (values.length * squares);
}

// ---- Student's t ---------------------------------------------------------------------------------------------------

/** Probability that Student's t with so many degrees of freedom is at most `t`. */
export function tDistribution(t: number, freedom: number): number {
  const tail = incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2;
  return t < 0 ? tail : 1 - tail;
}

/** The value below which Student's t lies with a probability of at least one half. */
export function tQuantile(probability: number, freedom: number): number {
  const tail = 1 - probability;
  let low = 0;
  let high = 1;
  while (tDistribution(-high, freedom) > tail) high *= 2;
  for (let k = 0; k < 200 && high - low > 1e-15 * high; k += 1) {
    const middle = (low + high) / 2;
    if (tDistribution(-middle, freedom) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Regularised incomplete beta function, by its continued fraction (DLMF 8.17.22, evaluated by Lentz's method). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * fraction(x, a, b)) / a : 1 - (front * fraction(1 - x, b, a)) / b;
}

function fraction(x: number, a: number, b: number): number {
  const away = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let found = d;
  for (let m = 1; m <= 500; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    found *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    found *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return found;
}

/** Logarithm of the gamma function: Stirling's series (DLMF 5.11.1) beyond 15, its recurrence below. */
function logGamma(x: number): number {
  if (x < 15) return logGamma(x + 1) - Math.log(x);
  const inverse = 1 / (x * x);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}
