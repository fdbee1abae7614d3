// The engine compiled to WebAssembly, by the exports that docs/web.md describes.

import type { Discipline, Stack } from "./catalogue";
import type { Setting } from "./model";
import { type About, BINS, bin, WAIT, WINDOWS } from "./protocol";

type Numbers = Float64Array<ArrayBuffer>;

interface Exports {
  memory: WebAssembly.Memory;
  ed_input: (length: number) => number;
  ed_text: () => number;
  ed_text_length: () => number;
  ed_array: () => number;
  ed_array_length: () => number;
  ed_catalogue: () => number;
  ed_reference: () => number;
  ed_load: () => number;
  ed_close: (handle: number) => number;
  ed_now: (handle: number) => number;
  ed_run: (handle: number, until: number, events: number) => number;
  ed_set: (handle: number) => number;
  ed_queue: (handle: number, queue: number) => number;
  ed_waiting: (handle: number, queue: number) => number;
  ed_flows: (handle: number) => number;
  ed_packets: (handle: number) => number;
  ed_sojourns: (handle: number, queue: number) => number;
  ed_curve: (handle: number, queue: number, low: number, high: number, points: number) => number;
  ed_finish: (handle: number, wall: number) => number;
}

/** The answer to a loaded scenario, as far as the page reads it. */
interface Loaded {
  duration_s: number;
  flows: number;
  flows_by_entry: number[];
  warnings: string[];
  queues: {
    name: string;
    aqm: string;
    limit: { packets?: number; bytes?: number };
    rate_bps: number;
    delay_s: number;
    parameters: Record<string, Setting>;
    live: string[];
    has_curve: boolean;
    gauges: { name: string; unit: string; about: string }[];
  }[];
}

/** Packet events that are kept between two looks. */
const EVENTS = 1 << 16;

/**
 * A run goes on in slices of some milliseconds, between which it can be ended: of so many events at most, and of as much
 * simulated time as takes about so long, at most; for what the engine reckons ahead of events grows with the time.
 */
const SLICE = { events: 50_000, ms: 10, first: 1e-3, least: 1e-6, most: 0.1 };

export class Engine {
  version = "";
  private constructor(
    readonly exports: Exports,
    private readonly pause: () => Promise<void>,
  ) {}

  /** The engine of a compiled module; `pause` is awaited between slices of a run. */
  static async load(module: WebAssembly.Module, pause: () => Promise<void> = async () => {}): Promise<Engine> {
    const instance = await WebAssembly.instantiate(module, {});
    const engine = new Engine(instance.exports as unknown as Exports, pause);
    engine.version = (engine.reference() as { version: string }).version;
    return engine;
  }

  private reference(): unknown {
    return JSON.parse(this.text(this.exports.ed_reference()));
  }

  /** The latest text; it is what is wrong if the status of the call is negative. */
  text(status: number): string {
    const { memory, ed_text, ed_text_length } = this.exports;
    const text = new TextDecoder().decode(new Uint8Array(memory.buffer, ed_text(), ed_text_length()).slice());
    if (status < 0) throw new Error((JSON.parse(text) as { error: string }).error);
    return text;
  }

  /** The latest array, copied. */
  array(status: number): Numbers {
    if (status < 0) this.text(status);
    const { memory, ed_array, ed_array_length } = this.exports;
    return new Float64Array(memory.buffer as ArrayBuffer, ed_array(), ed_array_length()).slice();
  }

  /** Hands an object over as the input of the next call. */
  input(value: unknown): void {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const at = this.exports.ed_input(bytes.length);
    if (!at) throw new Error("the scenario is too large for a page");
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  disciplines(): Discipline[] {
    return (JSON.parse(this.text(this.exports.ed_catalogue())) as { disciplines: Discipline[] }).disciplines;
  }

  stacks(): Stack[] {
    return (this.reference() as { stacks: { stacks: Stack[] } }).stacks.stacks;
  }

  /** A run of a scenario that can be looked at on the way; `queue` is the one that is watched. */
  start(toml: string, seed: number, queue: string): Simulation {
    this.input({ toml, seed, queue, links: "stepped", packets: EVENTS });
    const handle = this.exports.ed_load();
    return new Simulation(this, handle, JSON.parse(this.text(handle)) as Loaded, queue);
  }

  /** The result document of a scenario. */
  async run(toml: string, seed: number): Promise<string> {
    this.input({ toml, seed });
    const handle = this.exports.ed_load();
    const { duration_s } = JSON.parse(this.text(handle)) as Loaded;
    try {
      await this.runUntil(handle, duration_s);
      return this.text(this.exports.ed_finish(handle, 0));
    } finally {
      this.exports.ed_close(handle);
    }
  }

  /** Runs to a time, in slices. */
  async runUntil(handle: number, time: number): Promise<void> {
    for (let span = SLICE.first; ;) {
      const next = Math.min(time, this.exports.ed_now(handle) + span);
      const began = performance.now();
      const status = this.exports.ed_run(handle, next, SLICE.events);
      if (status < 0) this.text(status);
      if (status === 0 && next === time) return;
      const took = performance.now() - began;
      span = Math.max(SLICE.least, Math.min(SLICE.most, span * Math.max(0.1, Math.min(1.25, SLICE.ms / took))));
      await this.pause();
    }
  }
}

/** What is read of a queue: the columns of `ed_queue`. */
export interface QueueRead {
  packets: number;
  bytes: number;
  average: number;
  arrivals: number;
  departedBytes: number;
  early: number;
  forced: number;
  overflow: number;
  marks: number;
}

/** Columns of `ed_queue` before the gauges, and of `ed_flows`. */
const QUEUE_COLUMNS = 13;
export const FLOW_COLUMNS = 11;

export class Simulation {
  readonly about: About;
  private readonly at: number;
  private state: Numbers = new Float64Array();

  constructor(
    private readonly engine: Engine,
    private readonly handle: number,
    loaded: Loaded,
    queue: string,
  ) {
    this.at = loaded.queues.findIndex((one) => one.name === queue);
    const own = loaded.queues[this.at]!;
    this.about = {
      flows: loaded.flows,
      entries: loaded.flows_by_entry,
      duration: loaded.duration_s,
      warnings: loaded.warnings,
      gauges: own.gauges,
      limitPackets: own.limit.packets ?? Number.NaN,
      limitBytes: own.limit.bytes ?? Number.NaN,
      rate: own.rate_bps,
      delay: own.delay_s,
      aqm: own.aqm,
      parameters: own.parameters,
      live: own.live,
      hasCurve: own.has_curve,
    };
  }

  get now(): number {
    return this.engine.exports.ed_now(this.handle);
  }

  runUntil(time: number): Promise<void> {
    return this.engine.runUntil(this.handle, time);
  }

  queue(): QueueRead {
    this.state = this.engine.array(this.engine.exports.ed_queue(this.handle, this.at));
    const [packets, bytes, average, arrivals, , , departedBytes, early, forced, overflow, marks] = this
      .state as unknown as number[];
    return {
      packets: packets!,
      bytes: bytes!,
      average: average!,
      arrivals: arrivals!,
      departedBytes: departedBytes!,
      early: early!,
      forced: forced!,
      overflow: overflow!,
      marks: marks!,
    };
  }

  /** Inner values at the latest look at the queue. */
  gauges(): Numbers {
    return this.state.slice(QUEUE_COLUMNS);
  }

  flows(): Numbers {
    return this.engine.array(this.engine.exports.ed_flows(this.handle));
  }

  /** Congestion windows of the first flows. */
  windows(): number[] {
    const flows = this.flows();
    return Array.from({ length: WINDOWS }, (_, k) => flows[k * FLOW_COLUMNS] ?? Number.NaN);
  }

  /** The packets that wait now, at most so many. */
  waiting(most: number): Numbers {
    const all = this.engine.array(this.engine.exports.ed_waiting(this.handle, this.at));
    return all.length > most * WAIT.width ? all.slice(0, most * WAIT.width) : all;
  }

  /** Packet events since the last call. */
  events(): Numbers {
    return this.engine.array(this.engine.exports.ed_packets(this.handle));
  }

  /** Departed packets by sojourn time, in the bins of the protocol. */
  sojourns(): Numbers {
    const pairs = this.engine.array(this.engine.exports.ed_sojourns(this.handle, this.at));
    const bins = new Float64Array(BINS);
    for (let k = 0; k < pairs.length; k += 2) bins[bin(pairs[k]!)]! += pairs[k + 1]!;
    return bins;
  }

  curve(high: number, points: number): Numbers {
    return this.engine.array(this.engine.exports.ed_curve(this.handle, this.at, 0, high, points));
  }

  set(queue: string, parameter: string, value: Setting): void {
    this.engine.input({ queue, parameter, value });
    const status = this.engine.exports.ed_set(this.handle);
    if (status < 0) this.engine.text(status);
  }

  async finish(): Promise<string> {
    await this.runUntil(this.about.duration);
    return this.engine.text(this.engine.exports.ed_finish(this.handle, 0));
  }

  free(): void {
    this.engine.exports.ed_close(this.handle);
  }
}
