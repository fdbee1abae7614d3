// What a run has shown so far: samples as columns, and what the pictures need of them.

import { type About, EVENT, FLOW, RECENT, type RunFrame, SAMPLE } from "./protocol";

/** Events and queues kept for the drawing of the network, at most. */
const EVENTS = 40_000;
const QUEUES = 600;

export class History {
  length = 0;
  gauges = new Float64Array();
  flows = new Float64Array();
  sojourns = new Float64Array();
  events: Float64Array = new Float64Array();
  private columns: Float64Array[];
  /** The packets that waited from each time on. */
  private queues: { time: number; waiting: Float64Array }[] = [];
  /** What flows have delivered, and sent through the queue, at some times: for their rates over the last seconds. */
  private deliveries: { time: number; delivered: Float64Array; passed: Float64Array }[] = [];

  private heard: (events: Float64Array) => void = () => {};

  constructor(readonly about: About) {
    this.columns = Array.from({ length: SAMPLE.width }, () => new Float64Array(4096));
  }

  /** Who hears of packets at the queue from now on. */
  listen(heard: (events: Float64Array) => void): void {
    this.heard = heard;
  }

  add(frame: RunFrame, now: number): void {
    this.heard(frame.events);
    const { samples } = frame;
    const rows = samples.length / SAMPLE.width;
    this.grow(this.length + rows);
    for (let row = 0; row < rows; row += 1) {
      for (let k = 0; k < SAMPLE.width; k += 1) this.columns[k]![this.length + row] = samples[row * SAMPLE.width + k]!;
    }
    this.length += rows;
    this.gauges = frame.gauges;
    this.flows = frame.flows;
    if (frame.sojourns.length) this.sojourns = frame.sojourns;
    const old = this.events;
    let first = Math.max(0, old.length + frame.events.length - EVENTS * EVENT.width);
    while (first < old.length && old[first + EVENT.time]! < now - RECENT) first += EVENT.width;
    if (frame.events.length || first) {
      const kept = new Float64Array(Math.max(0, old.length - first) + frame.events.length);
      kept.set(old.subarray(first));
      kept.set(frame.events, kept.length - frame.events.length);
      this.events = kept;
    }
    const before = this.queues[this.queues.length - 1]?.waiting;
    if (!before || !alike(before, frame.waiting)) this.queues.push({ time: now, waiting: frame.waiting });
    while (this.queues.length > QUEUES || (this.queues[1]?.time ?? now) < now - RECENT) this.queues.shift();
    const last = this.deliveries[this.deliveries.length - 1];
    if (!last || now >= last.time + 0.1) {
      const column = (name: "deliveredBytes" | "passedBytes"): Float64Array =>
        Float64Array.from({ length: this.about.flows }, (_, k) => this.flow(k, name));
      this.deliveries.push({ time: now, delivered: column("deliveredBytes"), passed: column("passedBytes") });
      if (this.deliveries.length > 400) this.deliveries.splice(0, 1);
    }
  }

  /** The packets that waited at a time of the last second, as far as it is known. */
  waiting(time: number): Float64Array {
    const found = this.queues.findLast((one) => one.time <= time) ?? this.queues[0];
    return found?.waiting ?? new Float64Array();
  }

  private grow(rows: number): void {
    if (rows <= this.columns[0]!.length) return;
    const size = Math.max(rows, 2 * this.columns[0]!.length);
    this.columns = this.columns.map((column) => {
      const larger = new Float64Array(size);
      larger.set(column);
      return larger;
    });
  }

  column(which: number): Float64Array {
    return this.columns[which]!.subarray(0, this.length);
  }

  /** The last value of a column. */
  last(which: number): number {
    return this.length ? this.columns[which]![this.length - 1]! : Number.NaN;
  }

  /** The first sample at or after a time. */
  from(time: number): number {
    let low = 0;
    let high = this.length;
    const times = this.columns[SAMPLE.time]!;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Sum of a column of counts since a time. */
  since(which: number, time: number): number {
    let total = 0;
    for (let k = this.from(time); k < this.length; k += 1) total += this.columns[which]![k]!;
    return total;
  }

  mean(which: number, time: number): number {
    const first = this.from(time);
    return first < this.length ? this.since(which, time) / (this.length - first) : Number.NaN;
  }

  /** An inner value now; NaN if the discipline has none of that name. */
  gauge(name: string): number {
    return this.gauges[this.about.gauges.findIndex((one) => one.name === name)] ?? Number.NaN;
  }

  flow(which: number, column: Exclude<keyof typeof FLOW, "width">): number {
    return this.flows[which * FLOW.width + FLOW[column]] ?? 0;
  }

  /**
   * Goodput of each flow over about the last `span` seconds, Mbit/s; null where too little was seen. Deliveries are
   * counted from the end of the warm-up on: before it, what left the queue stands in, with its headers.
   */
  goodput(now: number, span: number, warmup: number): number[] | null {
    const begin = this.deliveries.find((one) => one.time >= now - span) ?? this.deliveries[0];
    if (!begin || now - begin.time < 0.05) return null;
    const counted = begin.time >= warmup;
    return Array.from(
      counted ? begin.delivered : begin.passed,
      (before, k) => (8e-6 * (this.flow(k, counted ? "deliveredBytes" : "passedBytes") - before)) / (now - begin.time),
    );
  }

  /**
   * Rows between two times, at most two for each of so many pixels: those of the least and of the largest value of a
   * column there. Pixels stay with the same rows while the view moves on.
   */
  rows(which: number, begin: number, end: number, pixels: number): number[] {
    const first = Math.max(0, this.from(begin) - 1);
    const last = Math.min(this.length, this.from(end) + 1);
    const values = this.columns[which]!;
    const found: number[] = [];
    const stride = Math.max(1, Math.ceil((last - first) / pixels));
    for (let k = first - (first % stride); k < last; k += stride) {
      let low = Math.max(k, first);
      let high = low;
      for (let i = low + 1; i < Math.min(k + stride, last); i += 1) {
        if (values[i]! < values[low]!) low = i;
        if (values[i]! > values[high]!) high = i;
      }
      if (low === high) found.push(low);
      else found.push(Math.min(low, high), Math.max(low, high));
    }
    return found;
  }

  /** A column in some rows; null where it has no value. */
  at(which: number, rows: number[]): (number | null)[] {
    const values = this.columns[which]!;
    return rows.map((row) => (Number.isNaN(values[row]!) ? null : values[row]!));
  }
}

function alike(one: Float64Array, other: Float64Array): boolean {
  return one.length === other.length && one.every((value, k) => value === other[k]);
}
