// The running simulations of a setup: start, pause, step, changes on the way, and what they have shown so far.

import type { Discipline } from "./catalogue";
import { CHANGES } from "./checked";
import { announce, still } from "./dom";
import { History } from "./history";
import type { Laboratory } from "./laboratory";
import { type Change, latest, type Setting, type Setup } from "./model";
import type { Tell } from "./protocol";
import { bottleneckRate, queuesOf, toml, type Units } from "./scenario";

/** Simulated seconds in a second, and what it is called; infinite is as fast as it goes. */
export const SPEEDS: [number, string][] = [
  [0.001, "1/1000 of real time"],
  [0.01, "1/100 of real time"],
  [0.05, "1/20 of real time"],
  [0.1, "1/10 of real time"],
  [1, "real time"],
  [3, "3 times real time"],
  [10, "10 times real time"],
  [100, "100 times real time"],
  [Infinity, "as fast as it goes"],
];

/**
 * The moment at which a page opens, s: the queue has its shape. Earlier, where a fast link would take long to it; a line has
 * two directions and two shapers, flows that begin in its first second, and some round trips until they fill it.
 */
const OPENS = { moment: 20, bits: 1.2e9, line: 0.15e9, most: 0.6e9, least: 1.2, rtts: 12 };
/** Its speed: packets can be followed. */
const SLOW = 0.05;

/** Longest time to wait for simulations that others are to replace, ms; and for an answer before it can be cancelled. */
const PATIENCE = 200;
const LONG = 500;

export class Player {
  histories: History[] = [];
  now = 0;
  playing = false;
  done = false;
  speed = 3;
  /** A sentence on what is wrong with the setup; empty where nothing is. */
  fault = "";
  /** Times between pictures while it ran, ms, and when the first came since the page was asked for, ms. */
  frames: number[] = [];
  first = 0;
  private pictured = 0;
  /** Whether anybody can see it: what is out of sight waits. */
  seen = true;
  private serial = 0;
  private waiting = false;
  /** When the worker was last asked, ms. */
  private began = 0;
  /** Whether the worker has been at it for long. */
  busy = false;
  private last = 0;
  private aim = 0;
  private finished: { resolve: (documents: string[]) => void; reject: (error: Error) => void } | null = null;
  private listeners = new Set<(what: What) => void>();

  constructor(
    readonly laboratory: Laboratory,
    public setup: Setup,
  ) {
    const tick = (moment: number): void => {
      this.tick(moment);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  listen(heard: (what: What) => void): void {
    this.listeners.add(heard);
  }

  private say(what: What): void {
    for (const heard of this.listeners) heard(what);
  }

  readonly units: Units = (aqm, parameter) =>
    this.discipline(aqm)?.parameters.find((one) => one.name === parameter)?.unit ?? "";

  discipline(name: string): Discipline | undefined {
    return this.laboratory.disciplines.find((one) => one.name === name);
  }

  /** The scenarios of the setup's disciplines, as the run began with them. */
  tomls(setup = this.setup): string[] {
    return setup.disciplines.map((one) => toml(setup, one, this.units, this.laboratory.disciplines));
  }

  /** Simulations of the setup as it is now, up to a time. */
  start(to = 0): void {
    if (this.waiting && performance.now() - this.began > PATIENCE) this.laboratory.renew();
    this.serial += 1;
    this.wait();
    this.fault = "";
    this.done = false;
    this.aim = to;
    this.last = 0;
    try {
      const { seed, changes } = this.setup;
      const queues = queuesOf(this.setup);
      this.laboratory.ask({ ask: "start", serial: this.serial, tomls: this.tomls(), queues, seed, changes, to });
    } catch (error) {
      this.broken(error instanceof Error ? error.message : String(error));
    }
  }

  /** The page opens: with queues that have their shape, slowly. */
  open(): void {
    const { file, line, duration } = this.setup;
    if (!file) this.speed = this.setup.call ? 1 : SLOW;
    const rates = line ? line.down + line.up : 0;
    const quick = line
      ? Math.max(OPENS.least, OPENS.line / rates, Math.min((OPENS.rtts * line.rtt) / 1e3, OPENS.most / rates))
      : OPENS.bits / bottleneckRate(this.setup);
    this.start(file ? 0 : Math.min(OPENS.moment, duration / 2, quick));
    if (!still()) this.play();
  }

  private wait(): void {
    this.waiting = true;
    this.began = performance.now();
  }

  /** Ends what is being computed; the next start begins anew. */
  cancel(): void {
    this.laboratory.renew();
    this.broken("Cancelled: nothing is computed until you start again or change something.");
  }

  /** The setup has changed beside its parameters: the same moment of the new one. */
  again(): void {
    this.setup.disciplines = latest(this.setup);
    this.setup.changes = [];
    this.start(this.now);
    this.say("setup");
  }

  /** A parameter of a discipline: from now on where it can change while it runs, else from the start to the same moment. */
  set(run: number, parameter: string, value: Setting): void {
    const chosen = this.setup.disciplines[run];
    if (!chosen) return;
    const live = this.histories[run]?.about.live.includes(parameter) ?? false;
    if (!live || this.fault || this.now === 0 || this.done || this.setup.changes.length >= CHANGES) {
      this.setup.disciplines = latest(this.setup);
      this.setup.changes = [];
      this.setup.disciplines[run]!.set[parameter] = value;
      this.start(this.now);
      return;
    }
    this.laboratory.ask({ ask: "set", serial: this.serial, run, parameter, value });
  }

  play(): void {
    if (this.done || this.fault) this.restart();
    this.playing = true;
    this.last = 0;
    this.say("state");
  }

  pause(): void {
    this.playing = false;
    this.say("state");
  }

  restart(): void {
    this.now = 0;
    this.start(0);
    this.say("state");
  }

  /** One packet time of the bottleneck further. */
  step(): void {
    this.pause();
    if (this.waiting || this.done || this.fault) return;
    this.advance(this.now + (1500 * 8) / bottleneckRate(this.setup), 1000);
  }

  /** Run to the end; the result documents of all disciplines. The moment now shown comes back. */
  async results(): Promise<string[]> {
    const playing = this.playing;
    this.playing = false;
    if (this.fault) throw new Error(this.fault);
    const moment = this.now;
    this.wait();
    const documents = await new Promise<string[]>((resolve, reject) => {
      this.finished = { resolve, reject };
      this.laboratory.ask({ ask: "finish", serial: this.serial });
    });
    this.start(moment);
    if (playing) this.play();
    return documents;
  }

  private tick(moment: number): void {
    const passed = this.last ? Math.min(0.1, (moment - this.last) / 1000) : 0.016;
    this.last = moment;
    const busy = this.waiting && moment - this.began > LONG;
    if (busy !== this.busy) {
      this.busy = busy;
      this.say("state");
    }
    if (!this.playing || !this.seen || this.waiting || this.done || this.fault) return;
    this.aim = this.speed === Infinity ? Infinity : Math.max(this.aim, this.now) + passed * this.speed;
    // What could not be simulated in time is not made up for later.
    if (this.aim > this.now + this.speed * 0.2) this.aim = this.now + this.speed * 0.2;
    this.advance(this.aim, this.speed === Infinity ? 40 : 14);
  }

  private advance(to: number, budget: number): void {
    this.wait();
    this.laboratory.ask({ ask: "advance", serial: this.serial, to, budget, packets: this.speed <= 1 || this.setup.call });
  }

  private broken(message: string): void {
    this.serial += 1;
    this.finished?.reject(new Error(message));
    this.finished = null;
    this.fault = message;
    this.waiting = false;
    this.playing = false;
    announce(message, true);
    this.say("state");
  }

  /** What the worker says. */
  hear(message: Tell): void {
    if ("serial" in message && message.serial !== this.serial) return;
    switch (message.tell) {
      case "started":
        this.histories = message.runs.map((about) => new History(about));
        this.say("runs");
        this.take(message.frame);
        break;
      case "frame":
        this.take(message.frame);
        break;
      case "set":
        this.changed(message);
        break;
      case "finished":
        this.finished?.resolve(message.documents);
        this.finished = null;
        break;
      case "curve":
        this.curves(message.run, message.high, message.values);
        break;
      case "fault":
        // An engine that ran out of memory never gives it back.
        this.laboratory.renew();
        this.broken(message.message);
    }
  }

  /** Where drop curves go. */
  curves: (run: number, high: number, values: Float64Array) => void = () => {};

  askCurve(run: number, high: number): void {
    this.laboratory.ask({ ask: "curve", serial: this.serial, run, high });
  }

  private take(frame: { now: number; done: boolean; runs: Parameters<History["add"]>[0][] }): void {
    this.waiting = false;
    this.now = frame.now;
    frame.runs.forEach((run, k) => this.histories[k]?.add(run, frame.now));
    if (frame.done && !this.done) {
      this.done = true;
      this.playing = false;
      this.say("state");
    }
    this.say("frame");
    const moment = performance.now();
    if (this.playing && this.pictured) this.frames.push(moment - this.pictured);
    if (this.frames.length > 2000) this.frames.splice(0, 1000);
    this.pictured = this.playing ? moment : 0;
    this.first ||= this.pictured;
  }

  private changed(message: Extract<Tell, { tell: "set" }>): void {
    const { run, parameter, value, time, fault } = message;
    if (!fault) {
      // A slider on its way changes a parameter many times at one moment: the last counts.
      const same = (one: Change): boolean => one.time === time && one.run === run && one.parameter === parameter;
      this.setup.changes = [...this.setup.changes.filter((one) => !same(one)), { time, run, parameter, value }];
      this.say("changed");
      return;
    }
    announce(fault, true);
    this.say("refused");
  }
}

/** What has changed: the runs themselves, what they show, whether they run, a parameter, the setup; or a refusal. */
export type What = "runs" | "frame" | "state" | "changed" | "setup" | "refused";
