// A voice call through the queue, as somebody would feel it: keys that are echoed, and a face that moves. One packet in
// 20 ms carries what is there, a key or a frame of the face; its delay and its loss at the queue are theirs.

import { EVENT, KIND } from "./protocol";

/** Frames of the face, and packets of the call, come so often, s. */
export const FRAME = 0.02;
/** Intervals between frames that make their mean. */
const INTERVALS = 30;

/** Freezes of shown frames, as docs/media.md defines them (W3C, Identifiers for WebRTC's Statistics API, `freezeCount`). */
export class Freezes {
  count = 0;
  /** Time in them, s. */
  time = 0;
  private last = Number.NaN;
  private intervals: number[] = [];

  /** A frame is shown. */
  shown(at: number): void {
    if (!Number.isNaN(this.last)) {
      const interval = at - this.last;
      if (this.long(interval)) {
        this.count += 1;
        this.time += interval;
      }
      this.intervals.push(interval);
      if (this.intervals.length > INTERVALS) this.intervals.shift();
    }
    this.last = at;
  }

  /** Whether the face stands still at this time. */
  frozen(now: number): boolean {
    return this.long(now - this.last);
  }

  private long(interval: number): boolean {
    const all = this.intervals;
    const mean = all.length ? all.reduce((sum, one) => sum + one, 0) / all.length : FRAME;
    return interval >= 3 * mean && interval >= mean + 0.15;
  }
}

/** A key that was pressed: when, and when it came back; infinite if it was lost, NaN while it is on its way. */
export interface Key {
  text: string;
  pressed: number;
  back: number;
}

/** The ways of a call, s. */
export interface Ways {
  /** From the sender to the queue. */
  way: number;
  /** Of the link, its delay, and of a full byte on it. */
  delay: number;
  byte: number;
  /** From the receiver back. */
  back: number;
}

export class Call {
  readonly keys: Key[] = [];
  readonly freezes = new Freezes();
  /** When the face that is shown was taken, s; NaN before the first. */
  pose = Number.NaN;
  /** Delay of the latest packet from end to end, s. */
  delay = Number.NaN;
  packets = 0;
  lost = 0;
  private readonly waiting: { arrived: number; keys: Key[] }[] = [];
  private readonly arriving: { taken: number; at: number }[] = [];
  private typed: Key[] = [];

  /** `flow` is the call's, from 1. */
  constructor(
    private readonly flow: number,
    private readonly ways: Ways,
  ) {}

  /** A key is pressed: the next packet that is sent carries it. */
  press(text: string, now: number): void {
    const key = { text, pressed: now, back: Number.NaN };
    this.typed.push(key);
    this.keys.push(key);
    if (this.keys.length > 24) this.keys.shift();
  }

  /** What has happened at the queue, rows of EVENT columns in the order of time. */
  hear(events: Float64Array): void {
    for (let k = 0; k < events.length; k += EVENT.width) {
      if (events[k + EVENT.flow] !== this.flow) continue;
      const [time, kind, sojourn] = [events[k + EVENT.time]!, events[k + EVENT.kind]!, events[k + EVENT.sojourn]!];
      if (Number.isNaN(sojourn)) {
        const sent = time - this.ways.way;
        const keys = this.typed.filter((key) => key.pressed <= sent);
        this.typed = this.typed.filter((key) => key.pressed > sent);
        this.packets += 1;
        if (kind < KIND.early) this.waiting.push({ arrived: time, keys });
        else this.lose(keys);
        continue;
      }
      const which = this.waiting.findIndex((one) => Math.abs(one.arrived - (time - sojourn)) < 1e-7);
      if (which < 0) continue;
      const [one] = this.waiting.splice(which, 1);
      if (kind < KIND.departed) {
        this.lose(one!.keys);
        continue;
      }
      const { way, delay, byte, back } = this.ways;
      const at = time + events[k + EVENT.size]! * byte + delay;
      const taken = one!.arrived - way;
      this.delay = at - taken;
      this.arriving.push({ taken, at });
      for (const key of one!.keys) key.back = at + back;
    }
  }

  /** Time has come to `now`: frames that have arrived are shown, unless a later one has been. */
  come(now: number): void {
    while (this.arriving.length && this.arriving[0]!.at <= now) {
      const { taken, at } = this.arriving.shift()!;
      if (taken <= this.pose) continue;
      this.pose = taken;
      this.freezes.shown(at);
    }
  }

  private lose(keys: Key[]): void {
    this.lost += 1;
    for (const key of keys) key.back = Infinity;
  }
}
