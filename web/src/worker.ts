// The simulations, away from the page's own thread: up to four at a time, each on one discipline, with the same seed.

import { Engine, type Simulation } from "./engine";
import type { Change } from "./model";
import { type Ask, EVENT, type Frame, INTERVAL, POINTS, RECENT, type RunFrame, SAMPLE, type Tell } from "./protocol";

let engine: Engine | null = null;
let runs: Run[] = [];
let serial = 0;
let watched: string[] = [];

/** Longest time without a look at what has come, ms: a worker that is ended ends at its next look. */
const BREATH = 20;
const { port1, port2 } = new MessageChannel();
let breathed = performance.now();

/** Gives way to the end of the worker, where that is due. */
async function breathe(): Promise<void> {
  if (performance.now() - breathed < BREATH) return;
  await new Promise<void>((resolve) => {
    port1.onmessage = () => resolve();
    port2.postMessage(null);
  });
  breathed = performance.now();
}

/** How often the distribution of delays is read, ms. */
const SELDOM = 250;

/** Most waiting packets that the page hears of. */
const WAITING = 3000;

/** Congestion windows are read at each so many samples, and hold in between. */
const WINDOWS_EVERY = 4;

/** One simulation, with what was sampled since the page was last told. */
class Run {
  private rows: number[] = [];
  private before = [0, 0, 0, 0, 0, 0];
  private next = 0;
  private windows: number[] = [];

  constructor(readonly simulation: Simulation) {}

  /** Run to a time, and sample on the way. */
  async to(time: number): Promise<void> {
    const { simulation } = this;
    while (this.next * INTERVAL <= time) {
      await simulation.runUntil(this.next * INTERVAL);
      this.sample(this.next * INTERVAL);
      this.next += 1;
      await breathe();
    }
    if (time > simulation.now) await simulation.runUntil(time);
  }

  private sample(time: number): void {
    const queue = this.simulation.queue();
    const counts = [queue.arrivals, queue.early, queue.forced, queue.overflow, queue.marks, queue.departedBytes];
    // The counts start again at the end of the warm-up.
    const again = counts[0]! < this.before[0]!;
    const since = counts.map((n, k) => n - (again ? 0 : this.before[k]!));
    this.before = counts;
    // To read the flows costs as much as there are flows.
    if (this.next % WINDOWS_EVERY === 0) this.windows = this.simulation.windows();
    this.rows.push(time, queue.packets, queue.bytes, queue.average, ...since, ...this.windows);
  }

  frame(packets: boolean, whole: boolean): RunFrame {
    const { simulation } = this;
    const samples = Float64Array.from(this.rows);
    this.rows = [];
    if (samples.length % SAMPLE.width) throw new Error("a sample has lost a column");
    const events = simulation.events();
    // Of a long way until here only the end is drawn.
    let first = events.length;
    while (first > 0 && events[first - EVENT.width]! > simulation.now - RECENT) first -= EVENT.width;
    simulation.queue();
    return {
      samples,
      gauges: simulation.gauges(),
      flows: simulation.flows(),
      sojourns: whole ? simulation.sojourns() : new Float64Array(),
      events: packets ? events.slice(first) : new Float64Array(),
      waiting: simulation.waiting(WAITING),
    };
  }
}

let whole = -Infinity;

function now(): number {
  return runs[0]?.simulation.now ?? 0;
}

function frame(packets = false): Frame {
  const moment = performance.now();
  const seldom = moment - whole >= SELDOM;
  if (seldom) whole = moment;
  const done = runs.every((run) => run.simulation.now >= run.simulation.about.duration);
  return { now: now(), done, runs: runs.map((run) => run.frame(packets, seldom || done)) };
}

function tell(message: Tell): void {
  const buffers: Transferable[] = [];
  if (message.tell === "frame" || message.tell === "started") {
    for (const run of message.frame.runs) {
      for (const array of Object.values(run) as Float64Array<ArrayBuffer>[]) buffers.push(array.buffer);
    }
  }
  postMessage(message, { transfer: buffers });
}

async function start(tomls: string[], queues: string[], seed: number, changes: Change[], to: number): Promise<void> {
  for (const run of runs) run.simulation.free();
  runs = [];
  runs = tomls.map((toml, k) => new Run(engine!.start(toml, seed, queues[k]!)));
  const ends = Math.min(to, ...runs.map((run) => run.simulation.about.duration));
  for (const change of changes) {
    if (change.time > ends) break;
    const run = runs[change.run];
    if (!run) continue;
    await run.to(change.time);
    run.simulation.set(queues[change.run]!, change.parameter, change.value);
  }
  for (const run of runs) await run.to(ends);
  whole = -Infinity;
  watched = queues;
}

/** All simulations to a time, in steps short enough to keep to the budget. */
async function advance(to: number, budget: number): Promise<void> {
  const began = performance.now();
  const end = Math.min(to, runs[0]!.simulation.about.duration);
  while (now() < end && performance.now() - began < budget) {
    const next = Math.min(end, now() + 5 * INTERVAL);
    for (const run of runs) await run.to(next);
  }
}

async function compare(message: Extract<Ask, { ask: "compare" }>): Promise<void> {
  const { tomls, first, seeds } = message;
  const documents: string[][] = tomls.map(() => []);
  let done = 0;
  for (let seed = first; seed < first + seeds; seed += 1) {
    for (const [k, toml] of tomls.entries()) {
      documents[k]!.push(await engine!.run(toml, seed));
      done += 1;
    }
    tell({ tell: "compared", serial, done, of: seeds * tomls.length, documents: null });
  }
  tell({ tell: "compared", serial, done, of: done, documents });
}

async function answer(message: Ask): Promise<void> {
  if (message.ask === "load") {
    engine = await Engine.load(message.module, breathe);
    tell({ tell: "ready", version: engine.version, disciplines: engine.disciplines(), stacks: engine.stacks() });
    return;
  }
  serial = message.serial;
  switch (message.ask) {
    case "start": {
      await start(message.tomls, message.queues, message.seed, message.changes, message.to);
      tell({ tell: "started", serial, runs: runs.map((run) => run.simulation.about), frame: frame(true) });
      break;
    }
    case "advance":
      await advance(message.to, message.budget);
      tell({ tell: "frame", serial, frame: frame(message.packets) });
      break;
    case "set": {
      const { run, parameter, value } = message;
      let fault = "";
      try {
        runs[run]?.simulation.set(watched[run]!, parameter, value);
      } catch (error) {
        fault = String((error as Error).message);
      }
      tell({ tell: "set", serial, run, parameter, value, time: now(), fault });
      break;
    }
    case "finish": {
      const documents: string[] = [];
      for (const run of runs) documents.push(await run.simulation.finish());
      for (const run of runs) run.simulation.free();
      runs = [];
      tell({ tell: "finished", serial, documents });
      break;
    }
    case "curve": {
      const { run, high } = message;
      const simulation = runs[run]?.simulation;
      const values = simulation?.about.hasCurve ? simulation.curve(high, POINTS) : new Float64Array();
      tell({ tell: "curve", serial, run, high, values });
      break;
    }
    case "compare":
      await compare(message);
  }
}

/** Answers come in the order of the questions. */
let answered = Promise.resolve();

self.addEventListener("message", (event: MessageEvent<Ask>) => {
  answered = answered
    .then(() => answer(event.data))
    .catch((error: unknown) => {
      tell({ tell: "fault", serial, message: error instanceof Error ? error.message : String(error) });
    });
});
