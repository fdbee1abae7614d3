// Pictures drawn by hand: the strip of arrivals, and bars of goodput.

import type { History } from "./history";
import { fate, FATES, flowColour, ink } from "./palette";
import { AXIS, GUTTER } from "./plots";
import { SAMPLE } from "./protocol";

/** A canvas of the width of its place, sharp on every screen. */
export class Sheet {
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

/** Arrivals by what became of them, one lane each, under the time axis of the queue. */
export class Strip {
  private sheet: Sheet;

  constructor(place: HTMLElement) {
    this.sheet = new Sheet(place, LANE * FATES.length + 4, "Arrivals by fate");
  }

  draw(history: History, begin: number, end: number): void {
    const [pen, width] = this.sheet.clear();
    const left = AXIS;
    const right = width - GUTTER;
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

/** Goodput of each flow as a bar in the flow's colour. */
export class Bars {
  private sheet: Sheet;

  constructor(place: HTMLElement) {
    this.sheet = new Sheet(place, 124, "Goodput of each flow");
  }

  /** Values in Mbit/s; `kinds` are runs of flows with a name, in their order. */
  draw(values: ArrayLike<number>, top: number, kinds: [string, number][]): void {
    const [pen, width, height] = this.sheet.clear();
    const left = 44;
    const named = kinds.length > 1;
    const bottom = height - (named ? 32 : 18);
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
      pen.fillStyle = flowColour(k);
      const wide = Math.min(80, Math.max(1, step * 0.8));
      pen.fillRect(left + (k + 0.5) * step - wide / 2, bottom - tall, wide, Math.max(1, tall));
    }
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    const every = Math.ceil(values.length / Math.max(1, Math.floor(space / 28)));
    for (let k = 0; k < values.length; k += every) {
      pen.fillText(String(k + 1), left + (k + 0.5) * step, bottom + 10);
    }
    if (named) {
      let first = 0;
      let free = left;
      for (const [name, count] of kinds) {
        const [from, to] = [left + first * step, left + (first + count) * step];
        pen.fillRect(from + 2, bottom + 18, Math.max(1, to - from - 4), 1);
        const wide = pen.measureText(name).width;
        const x = Math.min(width - wide / 2, Math.max(free + wide / 2, (from + to) / 2));
        pen.fillText(name, x, bottom + 26);
        free = x + wide / 2 + 6;
        first += count;
      }
    }
    this.sheet.label = `Goodput by flow in Mbit/s: ${Array.from(values, (v) => Number(v.toPrecision(2))).join(", ")}`;
  }
}
