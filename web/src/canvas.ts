// Pictures drawn by hand: the strip of arrivals, bars of goodput, and the network with its packets.

import type { History } from "./history";
import { fate, FATES, ink, look } from "./palette";
import { EVENT, KIND, SAMPLE } from "./protocol";

/** A canvas of the width of its place, sharp on every screen. */
class Sheet {
  readonly canvas = document.createElement("canvas");

  constructor(
    readonly place: HTMLElement,
    private height: number,
    label: string,
  ) {
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    place.append(this.canvas);
  }

  /** Its pen and size, in the page's pixels, with nothing drawn. */
  clear(): [CanvasRenderingContext2D, number, number] {
    const width = Math.max(120, this.place.clientWidth);
    const sharp = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * sharp) || this.canvas.height !== Math.round(this.height * sharp)) {
      this.canvas.width = Math.round(width * sharp);
      this.canvas.height = Math.round(this.height * sharp);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    const pen = this.canvas.getContext("2d")!;
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, this.height);
    pen.font = "12px system-ui, sans-serif";
    return [pen, width, this.height];
  }

  set label(text: string) {
    this.canvas.setAttribute("aria-label", text);
  }
}

const LANE = 15;
const NAMES = 78;

/** Arrivals by what became of them, one lane each, under the time axis of the queue. */
export class Strip {
  private sheet: Sheet;

  constructor(place: HTMLElement) {
    this.sheet = new Sheet(place, LANE * FATES.length + 4, "Arrivals by fate");
  }

  draw(history: History, begin: number, end: number): void {
    const [pen, width] = this.sheet.clear();
    const left = NAMES;
    const right = width - 10;
    const times = history.column(SAMPLE.time);
    const columns = [SAMPLE.arrivals, SAMPLE.marks, SAMPLE.early, SAMPLE.forced, SAMPLE.overflow].map((k) =>
      history.column(k),
    );
    const pixels = Math.max(1, Math.floor(right - left));
    const bins = FATES.map(() => new Float64Array(pixels));
    const totals = FATES.map(() => 0);
    const first = history.from(begin);
    for (let k = first; k < history.length; k += 1) {
      const pixel = Math.min(pixels - 1, Math.floor((pixels * (times[k]! - begin)) / (end - begin)));
      const [arrivals, marks, early, forced, overflow] = columns.map((column) => column[k]!) as [
        number,
        number,
        number,
        number,
        number,
      ];
      const counts = [Math.max(0, arrivals - marks - early - forced - overflow), marks, early, forced, overflow];
      counts.forEach((n, lane) => {
        bins[lane]![pixel]! += n;
        totals[lane]! += n;
      });
    }
    const most = Math.max(1, ...bins[0]!);
    FATES.forEach((one, lane) => {
      const y = lane * LANE + 2;
      pen.fillStyle = ink().soft;
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillText(one.title, 0, y + LANE / 2);
      pen.fillStyle = ink().line;
      pen.fillRect(left, y + LANE - 2, right - left, 1);
      pen.fillStyle = fate(lane);
      bins[lane]!.forEach((n, pixel) => {
        if (!n) return;
        // A single drop is as tall as many: it matters; what passes is drawn by its number.
        const tall = lane ? LANE - 4 : Math.max(1, (LANE - 4) * (n / most));
        pen.fillRect(left + pixel, y + LANE - 2 - tall, lane ? 1.6 : 1, tall);
      });
    });
    const said = FATES.map((one, lane) => `${totals[lane]} ${one.title}`).join(", ");
    this.sheet.label = `Arrivals in view: ${said}`;
  }
}

/** Kinds of flows beside the groups of long ones. */
export const BROWSER = 8;
export const UDP = 9;

/** Goodput of each flow as a bar, with the fair share. */
export class Bars {
  private sheet: Sheet;

  constructor(
    place: HTMLElement,
    private readonly index: number,
  ) {
    this.sheet = new Sheet(place, 110, "Goodput of each flow");
  }

  /** Values in Mbit/s, with the kind of each flow. */
  draw(values: ArrayLike<number>, top: number, groups: number[]): void {
    const [pen, width, height] = this.sheet.clear();
    const left = 44;
    const bottom = height - 18;
    const space = width - left - 10;
    const colours = ink();
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const part of [0, 0.5, 1]) {
      const y = bottom - (bottom - 8) * part;
      pen.fillStyle = colours.line;
      pen.fillRect(left, y, space, 1);
      pen.fillStyle = colours.soft;
      pen.fillText(String(Number((top * part).toPrecision(2))), left - 6, y);
    }
    const step = space / Math.max(1, values.length);
    for (let k = 0; k < values.length; k += 1) {
      const tall = Math.min(1, (values[k] ?? 0) / top) * (bottom - 8);
      const group = groups[k] ?? 0;
      pen.fillStyle = group === 0 ? look(this.index).colour : group === UDP ? colours.text : colours.soft;
      const wide = Math.min(80, Math.max(1, step * 0.8));
      pen.fillRect(left + (k + 0.5) * step - wide / 2, bottom - tall, wide, Math.max(1, tall));
    }
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    const every = Math.ceil(values.length / Math.max(1, Math.floor(space / 28)));
    for (let k = 0; k < values.length; k += every) {
      pen.fillText(groups[k] === UDP ? "UDP" : String(k + 1), left + (k + 0.5) * step, bottom + 10);
    }
    this.sheet.label = `Goodput by flow in Mbit/s: ${Array.from(values, (v) => Number(v.toPrecision(2))).join(", ")}`;
  }
}

/** The network: senders, the queue as a row of packets, the link, receivers; packets move where time is slow. */
export class NetworkPicture {
  private sheet: Sheet;

  constructor(
    place: HTMLElement,
    private readonly index: number,
  ) {
    this.sheet = new Sheet(place, 170, "The network");
  }

  /**
   * `delay` is the bottleneck's and `access` the way from a sender to the queue, s; the picture shows the moment `access`
   * ago, so that packets that reach the queue until now are seen on their way.
   */
  draw(history: History, now: number, delay: number, access: number, limit: number, flows: number, rate: number): void {
    const [pen, width, height] = this.sheet.clear();
    const colours = ink();
    const shown = Math.min(flows, 8);
    const middle = height / 2;
    const [sender, queue, router, receiver] = [34, width * 0.36, width * 0.62, width - 34];
    const lane = (flow: number): number => 22 + ((height - 34) * ((flow % shown) + 0.5)) / shown;
    pen.strokeStyle = colours.line;
    pen.lineWidth = 1.5;
    const link = (x1: number, y1: number, x2: number, y2: number): void => {
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
      pen.stroke();
    };
    for (let k = 0; k < shown; k += 1) {
      link(sender, lane(k), queue, middle);
      link(width * 0.84, middle, receiver, lane(k));
    }
    pen.lineWidth = 4;
    link(router, middle, width * 0.84, middle);
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    pen.fillText("senders", sender, 12);
    pen.fillText("receivers", receiver - 8, 12);
    pen.fillText("queue", (queue + router) / 2, middle - 24);
    pen.fillText(`link, ${Number((rate / 1e6).toPrecision(3))} Mbit/s`, width * 0.73, middle - 24);
    for (let k = 0; k < shown; k += 1) {
      for (const x of [sender, receiver]) {
        pen.beginPath();
        pen.arc(x, lane(k), 5, 0, 2 * Math.PI);
        pen.fillStyle = colours.soft;
        pen.fill();
      }
    }
    // The queue as a bar that fills from the right, where packets leave.
    const packets = history.last(SAMPLE.packets);
    pen.strokeStyle = colours.soft;
    pen.lineWidth = 1.5;
    pen.strokeRect(queue, middle - 16, router - queue, 32);
    const space = router - queue - 4;
    const full = Number.isFinite(limit) ? limit : Math.max(50, packets);
    const each = Math.max(0.5, Math.min(9, space / full));
    pen.fillStyle = look(this.index).colour;
    for (let k = 0; k < Math.min(packets, space / each); k += 1) {
      pen.fillRect(router - 2 - (k + 1) * each + (each > 2 ? 1 : 0), middle - 13, each > 2 ? each - 1 : each, 26);
    }
    this.packets(pen, history, now, delay, access, { sender, queue, router, receiver, middle, width, lane });
    this.sheet.label = `The network: ${flows} flows, ${packets} packets wait in the queue`;
  }

  private packets(
    pen: CanvasRenderingContext2D,
    history: History,
    now: number,
    delay: number,
    access: number,
    at: {
      sender: number;
      queue: number;
      router: number;
      receiver: number;
      middle: number;
      width: number;
      lane: (flow: number) => number;
    },
  ): void {
    const { events } = history;
    const moment = now - access;
    for (let k = events.length - EVENT.width; k >= 0; k -= EVENT.width) {
      const time = events[k + EVENT.time]!;
      if (time < moment - delay - 0.3) break;
      const kind = events[k + EVENT.kind]!;
      const flow = events[k + EVENT.flow]! - 1;
      if (events[k + EVENT.size]! < 100) continue;
      let [x, y] = [0, 0];
      let fallen = 0;
      if (kind >= KIND.departed) {
        const way = (moment - time) / delay;
        if (way < 0 || way > 1.6) continue;
        x =
          way <= 1
            ? at.router + (at.width * 0.84 - at.router) * way
            : at.width * 0.84 + ((at.receiver - at.width * 0.84) * (way - 1)) / 0.6;
        y = way <= 1 ? at.middle : at.middle + ((at.lane(flow) - at.middle) * (way - 1)) / 0.6;
      } else {
        const way = 1 - (time - moment) / access;
        if (way < 0) continue;
        if (way <= 1) {
          x = at.sender + (at.queue - at.sender) * way;
          y = at.lane(flow) + (at.middle - at.lane(flow)) * way;
        } else {
          if (kind < KIND.early) continue;
          // A dropped packet falls out of the picture.
          fallen = (moment - time) / 0.1;
          if (fallen > 1) continue;
          [x, y] = [at.queue - 6, at.middle + 16 + 50 * fallen];
        }
      }
      pen.globalAlpha = 1 - fallen;
      pen.fillStyle = kind === KIND.departed ? fate(0) : kind === KIND.departedMarked ? fate(1) : fate(kind);
      pen.fillRect(x - 4, y - 3, 8, 6);
      if (fallen) {
        pen.font = "bold 12px system-ui, sans-serif";
        pen.fillText("×", x, y + 14);
      }
    }
    pen.globalAlpha = 1;
  }
}
