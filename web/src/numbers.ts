// Numbers as people read them, with units.

const RATES: [number, string][] = [
  [1e9, "Gbit/s"],
  [1e6, "Mbit/s"],
  [1e3, "kbit/s"],
  [1, "bit/s"],
];
const TIMES: [number, string][] = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];

/** So many significant digits, without an exponent where that is readable. */
export function short(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-5)
    return value
      .toExponential(Math.max(0, digits - 1))
      .replace("e-", "e−")
      .replace("e+", "e");
  const places = Math.min(8, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  return trimmed(value.toFixed(places)).replace("-", "−");
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value: number, scales: [number, string][], digits: number): string {
  const size = Math.abs(value);
  const [factor, unit] = scales.find(([least]) => size >= 0.9995 * least) ?? scales[scales.length - 1]!;
  return `${short(value / factor, digits)} ${unit}`;
}

export function rate(value: number, digits = 3): string {
  return value === 0 ? "0 Mbit/s" : scaled(value, RATES, digits);
}

export function time(value: number, digits = 3): string {
  return value === 0 ? "0 ms" : scaled(value, TIMES, digits);
}

export function percent(value: number, digits = 3): string {
  return `${short(100 * value, digits)} %`;
}

/** A value of a parameter with its unit, as the catalogue names it. */
export function quantity(value: number, unit: string, digits = 3): string {
  if (unit === "s") return time(value, digits);
  if (unit === "bit/s") return rate(value, digits);
  return unit ? `${short(value, digits)} ${unit}` : short(value, digits);
}

/** Round up to 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value * 0.999999) ?? 10) * power;
}

/** The seconds of a text with a unit, as a scenario writes them; or of a number. */
export function seconds(text: unknown): number {
  if (typeof text === "number") return text;
  const found = /^\s*([0-9.eE+-]+)\s*(ns|us|µs|ms|s|min|h)\s*$/.exec(String(text));
  const factors: Record<string, number> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
  return found ? Number(found[1]) * factors[found[2]!]! : Number.NaN;
}
