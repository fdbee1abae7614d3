// What a comparison measures, and how small a difference is no difference: the margins of docs/statistics.md.

/** How far apart two values may be and still count as equal. */
export interface Margin {
  size: number;
  relative: boolean;
}

export interface Quantity {
  id: string;
  title: string;
  unit: string;
  /** Path in a result document. */
  field: (queue: string) => string[];
  /** Path that counts instead where a document has it: of the flows whose data pass the queue, not of all. */
  passing: ((queue: string) => string[]) | null;
  digits: number;
  scale: number;
  margin: Margin;
  /** Smallest and largest value, in the unit. */
  bounds: [number, number];
}

const relative = (size: number): Margin => ({ size, relative: true });
const whole = (name: string) => (): string[] => [name];
const ofPassing =
  (name: string) =>
  (queue: string): string[] => ["queues", queue, "passing", name];
const atQueue =
  (name: string) =>
  (queue: string): string[] => ["queues", queue, name];

function quantity(
  id: string,
  title: string,
  unit: string,
  field: Quantity["field"],
  digits: number,
  margin: Margin,
  high = Infinity,
  passing: Quantity["passing"] = null,
): Quantity {
  const scale = unit === "%" ? 100 : 1;
  return { id, title, unit, field, passing, digits, scale, margin, bounds: [0, scale * high] };
}

/** The quantities of `earlydrop compare`, with the margins of their kinds. */
export const QUANTITIES: Quantity[] = [
  quantity(
    "goodput",
    "Goodput",
    "Mbit/s",
    whole("goodput_total_mbps"),
    3,
    relative(0.01),
    Infinity,
    ofPassing("goodput_mbps"),
  ),
  quantity("utilisation", "Utilisation", "%", atQueue("utilisation"), 2, relative(0.01), 1),
  quantity(
    "delay",
    "Delay, end to end",
    "ms",
    whole("delay_mean_ms"),
    2,
    relative(0.02),
    Infinity,
    ofPassing("delay_mean_ms"),
  ),
  quantity("queue_delay", "Queueing delay", "ms", atQueue("delay_mean_ms"), 2, relative(0.02)),
  quantity("queue_delay_p99", "Queueing delay, 99 %", "ms", atQueue("delay_p99_ms"), 2, relative(0.02)),
  quantity("queue", "Mean queue", "packets", atQueue("queue_mean_packets"), 2, relative(0.02)),
  quantity("drop_rate", "Drop rate", "%", atQueue("drop_rate"), 3, relative(0.05), 1),
  quantity("jain", "Jain index", "", whole("jain"), 4, { size: 0.01, relative: false }, 1, ofPassing("jain")),
];

export function around(margin: Margin, value: number): number {
  return margin.relative ? margin.size * Math.abs(value) : margin.size;
}

export function marginText(margin: Margin): string {
  return margin.relative ? `${Number((100 * margin.size).toPrecision(6))} %` : `${margin.size}`;
}

/** A quantity of a result document; null where it has none. */
export function read(document: unknown, one: Quantity, queue: string): number | null {
  const paths = [...(one.passing ? [one.passing(queue)] : []), one.field(queue)];
  for (const path of paths) {
    let found: unknown = document;
    for (const key of path) found = (found as Record<string, unknown> | null | undefined)?.[key];
    if (typeof found === "number") return found * one.scale;
  }
  return null;
}

/** What one packet more or less at a queue changes in a quantity of a result, in its unit; 0 where that is not known. */
export function step(document: unknown, one: Quantity, queue: string): number {
  const value = read(document, one, queue);
  const whole = document as { duration_s?: number; warmup_s?: number; queues?: Record<string, Record<string, number>> };
  const at = whole.queues?.[queue];
  if (value === null || !at) return 0;
  const { departures, departed_bytes: bytes, utilisation, throughput_mbps: rate, arrivals } = at;
  const known = !!departures && !!bytes && !!utilisation && !!rate;
  const sending = known ? ((8e-3 * bytes) / departures) * (utilisation / rate) : 0;
  if (one.id === "queue_delay_p99") return Math.max(sending, bin(value));
  const window = (whole.duration_s ?? 0) - (whole.warmup_s ?? 0);
  if (!known || !window) return 0;
  const parts: Record<string, number> = {
    goodput: (8e-6 * bytes) / departures / window,
    utilisation: sending / 1e3 / window,
    queue: sending / 1e3 / window,
    delay: sending / departures,
    queue_delay: sending / departures,
    drop_rate: 1 / (arrivals || departures),
    jain: 2 / departures,
  };
  return (parts[one.id] ?? 0) * one.scale;
}

/** Width of the bin of a delay in a queue's histogram, ms: 1 us up to 2 ms, then a thousandth of it or less. */
function bin(value: number): number {
  const microseconds = Math.max(1, 1e3 * Math.abs(value));
  return Math.max(1e-3, 1e-3 * 2 ** (Math.floor(Math.log2(microseconds)) - 10));
}
