// The network of one discipline: senders, the queue with each packet that waits, the link, receivers. A packet has the
// colour of its flow, and a queue within the discipline a lane of its own.

import { Sheet } from "./canvas";
import type { History } from "./history";
import { fate, FLOW_COLOURS, flowColour, ink } from "./palette";
import { EVENT, KIND, SAMPLE, WAIT } from "./protocol";

/** The network as it is drawn. */
export interface Drawn {
  history: History;
  now: number;
  /** Delay of the link, s. */
  delay: number;
  /** Of each flow, the time from its sender to the queue, s. */
  ways: ArrayLike<number>;
  /** Packets that the buffer holds. */
  limit: number;
  flows: number;
  rate: number;
  /** Names of the discipline's queues, where they have names. */
  names: readonly string[];
}

const HEIGHT = 180;
/** Packets on their way that are drawn, latest first: more of them are a solid line. */
const MOST = 1500;
/** Senders with a place of their own. */
const SENDERS = FLOW_COLOURS;
/** For so long a lane waits for packets of its queue before another queue may have it, s. */
const HELD = 0.3;
/** Most packets for which the box has space from the start. */
const ROOMY = 400;

interface Lane {
  queue: number;
  seen: number;
}

export class NetworkPicture {
  private sheet: Sheet;
  private lanes: Lane[] = [];
  /** Packets for which a lane has space: of the longest queue of late. */
  private space = 10;

  constructor(place: HTMLElement) {
    this.sheet = new Sheet(place, HEIGHT, "The network");
  }

  /**
   * Draws the network at a moment a little ago, when packets that reach the queue until now were on their way to it: then
   * they are seen.
   */
  draw(all: Drawn): void {
    const { history, now, ways, flows, rate } = all;
    const [pen, width, height] = this.sheet.clear();
    const colours = ink();
    const small = width < 420;
    const shown = Math.max(1, Math.min(flows, SENDERS));
    const [top, bottom] = [small ? 16 : 24, height - 34];
    const middle = (top + bottom) / 2;
    const [sender, receiver] = [12, width - 12];
    const [queue, router, end] = [width * 0.26, width * (small ? 0.66 : 0.62), width * 0.85];
    const lane = (flow: number): number => top + ((bottom - top) * ((flow % shown) + 0.5)) / shown;
    const line = (x1: number, y1: number, x2: number, y2: number): void => {
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      pen.stroke();
    };
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1.5;
    for (let k = 0; k < shown; k += 1) {
      line(sender, lane(k), queue, middle);
      line(end, middle, receiver, lane(k));
    }
    pen.lineWidth = 5;
    line(router, middle, end, middle);
    for (let k = 0; k < shown; k += 1) {
      pen.fillStyle = flowColour(k);
      for (const x of [sender, receiver]) pen.fillRect(x - 5, lane(k) - 5, 10, 10);
    }
    pen.fillStyle = colours.soft;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    if (!small) {
      pen.textAlign = "left";
      pen.fillText("senders", 2, 14);
      pen.textAlign = "right";
      pen.fillText("receivers", width - 2, 14);
      pen.textAlign = "center";
      pen.fillText(`${Number((rate / 1e6).toPrecision(3))} Mbit/s`, (router + end) / 2, middle - 12);
    }
    const longest = Array.from(ways).reduce((most, way) => Math.max(most, way), 0);
    const moment = now - longest;
    const waiting = history.waiting(moment);
    this.box(pen, all, waiting, moment, { left: queue, right: router, top, bottom });
    this.packets(pen, all, moment, { sender, queue, router, end, receiver, middle, bottom, lane });
    const packets = history.last(SAMPLE.packets);
    this.sheet.label = `The network: ${flows} flows, ${packets} packets wait in ${this.lanes.length} queue${this.lanes.length === 1 ? "" : "s"}`;
  }

  /** The queue as a box that fills from the right, where packets leave. */
  private box(
    pen: CanvasRenderingContext2D,
    { limit, names }: Drawn,
    waiting: Float64Array,
    moment: number,
    at: { left: number; right: number; top: number; bottom: number },
  ): void {
    const colours = ink();
    const packets = waiting.length / WAIT.width;
    if (names.length) this.lanes = names.map((_, queue) => ({ queue, seen: moment }));
    else this.settle(waiting, moment);
    const [wide, tall] = [at.right - at.left - 4, at.bottom - at.top - 4];
    const each = tall / this.lanes.length;
    const counts = new Map<number, number>();
    for (let k = 0; k < waiting.length; k += WAIT.width) counts.set(waiting[k]!, (counts.get(waiting[k]!) ?? 0) + 1);
    this.space = Math.max(10, 0.998 * this.space, ...counts.values());
    const space = Math.max(this.space, this.lanes.length === 1 && limit <= ROOMY ? limit : 0);
    // As large as lets the longest queue into its lane.
    const cell = Math.max(1.5, Math.min(12, each, Math.sqrt((wide * each) / (1.15 * space))));
    const rows = Math.max(1, Math.floor(each / cell));
    const gap = cell > 3 ? 1 : 0;
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1.5;
    pen.strokeRect(at.left, at.top, at.right - at.left, at.bottom - at.top);
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1;
    const base = new Map<number, number>();
    this.lanes.forEach(({ queue }, k) => {
      const y = at.top + 2 + k * each;
      base.set(queue, y);
      if (k > 0 && each > 4) pen.strokeRect(at.left + 1, y, at.right - at.left - 2, 0);
    });
    const places = new Map<number, number>();
    for (let k = 0; k < waiting.length; k += WAIT.width) {
      const queue = waiting[k]!;
      const place = places.get(queue) ?? 0;
      places.set(queue, place + 1);
      const column = Math.floor(place / rows) + 1;
      if (column * cell > wide) continue;
      pen.fillStyle = flowColour(waiting[k + WAIT.flow]! - 1);
      const y = base.get(queue)! + (place % rows) * cell;
      pen.fillRect(at.right - 2 - column * cell, y + gap / 2, cell - gap, cell - gap);
    }
    pen.fillStyle = colours.soft;
    pen.textAlign = "left";
    names.forEach((name, k) => pen.fillText(name, at.left + 4, at.top + k * each + 14));
    pen.textAlign = "center";
    const said = `${packets} wait${packets === 1 ? "s" : ""}`;
    pen.fillText(said, (at.left + at.right) / 2, at.top - 5);
  }

  /** Gives each queue with packets a lane, which it keeps while it has some. */
  private settle(waiting: Float64Array, moment: number): void {
    const now = new Set<number>();
    for (let k = 0; k < waiting.length; k += WAIT.width) now.add(waiting[k]!);
    for (const lane of this.lanes) {
      if (now.delete(lane.queue) || lane.seen > moment) lane.seen = moment;
    }
    for (const queue of now) {
      const free = this.lanes.find((lane) => lane.seen < moment - HELD);
      if (free) [free.queue, free.seen] = [queue, moment];
      else this.lanes.push({ queue, seen: moment });
    }
    // Lanes at the end that have long been empty are given back.
    while (this.lanes.length > 1 && this.lanes[this.lanes.length - 1]!.seen < moment - 3 * HELD) this.lanes.pop();
    if (!this.lanes.length) this.lanes.push({ queue: 0, seen: moment });
  }

  private packets(
    pen: CanvasRenderingContext2D,
    { history, delay, ways }: Drawn,
    moment: number,
    at: {
      sender: number;
      queue: number;
      router: number;
      end: number;
      receiver: number;
      middle: number;
      bottom: number;
      lane: (flow: number) => number;
    },
  ): void {
    const { events } = history;
    const alarm = fate(4);
    const first = Math.max(0, events.length - MOST * EVENT.width);
    for (let k = events.length - EVENT.width; k >= first; k -= EVENT.width) {
      const time = events[k + EVENT.time]!;
      if (time < moment - delay - 0.3) break;
      const kind = events[k + EVENT.kind]!;
      const flow = events[k + EVENT.flow]! - 1;
      const way = ways[flow] ?? 0.001;
      let [x, y] = [0, 0];
      let fallen = 0;
      if (kind >= KIND.departed) {
        const share = (moment - time) / delay;
        if (share < 0 || share > 1.6) continue;
        x = share <= 1 ? at.router + (at.end - at.router) * share : at.end + ((at.receiver - at.end) * (share - 1)) / 0.6;
        y = share <= 1 ? at.middle : at.middle + ((at.lane(flow) - at.middle) * (share - 1)) / 0.6;
      } else {
        const share = 1 - (time - moment) / way;
        if (share < 0) continue;
        if (share <= 1) {
          x = at.sender + (at.queue - at.sender) * share;
          y = at.lane(flow) + (at.middle - at.lane(flow)) * share;
        } else {
          if (kind < KIND.early) continue;
          // A dropped packet falls out of the picture: an arrival in front of the queue, others at its end.
          fallen = (moment - time) / 0.06;
          if (fallen > 1) continue;
          x = Number.isNaN(events[k + EVENT.sojourn]!) ? at.queue - 10 : at.router - 10;
          y = at.bottom - 8 + 32 * fallen;
        }
      }
      pen.globalAlpha = 1 - fallen ** 3;
      pen.fillStyle = flowColour(flow);
      pen.fillRect(x - 5, y - 4, 10, 8);
      if (kind === KIND.departedMarked || kind === KIND.marked) {
        pen.fillStyle = ink().ground;
        pen.fillRect(x - 2, y - 2, 4, 4);
      }
      if (fallen) {
        pen.strokeStyle = alarm;
        pen.lineWidth = 2;
        pen.beginPath();
        for (const [dx, dy] of [
          [-6, -6],
          [-6, 6],
        ] as const) {
          pen.moveTo(x + dx, y + dy);
          pen.lineTo(x - dx, y - dy);
        }
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
  }
}
