// Plots over time, of the drop curve and of the distribution of delays: uPlot, in the page's colours.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { History } from "./history";
import { percent, roundUp, short } from "./numbers";
import { flowColour, ink, type Look, look } from "./palette";
import { SAMPLE } from "./protocol";

const FONT = "12px system-ui, sans-serif";

/** A dashed line across a plot, with its name, and with its value too. */
export interface Level {
  value: number;
  name: string;
  says: string;
}

/** Space beside a plot for the names of its levels, and for its axis, pixels: the strip of arrivals has the same. */
export const GUTTER = 66;
export const AXIS = 78;

interface Axes {
  x: string;
  y: string;
  height: number;
  log?: boolean;
  /** Levels are named beside it. */
  levels?: boolean;
  ys?: (values: number[]) => string[];
  xs?: (values: number[]) => string[];
  hooks?: uPlot.Hooks.Arrays;
}

function options(place: HTMLElement, axes: Axes, series: uPlot.Series[]): uPlot.Options {
  const colours = ink();
  const axis = (label: string, values?: (values: number[]) => string[]): uPlot.Axis => ({
    label,
    labelFont: FONT,
    font: FONT,
    labelSize: 18,
    labelGap: 0,
    gap: 4,
    stroke: colours.soft,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1, size: 4 },
    ...(values ? { values: (_: uPlot, splits: number[]) => values(splits) } : {}),
  });
  return {
    width: Math.max(120, place.clientWidth),
    height: axes.height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, axes.levels ? GUTTER : axes.log ? 30 : 16, 0, 0],
    scales: { x: { time: false, auto: false, ...(axes.log ? { distr: 3 } : {}) }, y: { auto: false } },
    axes: [
      { ...axis(axes.x, axes.xs), size: 26 },
      { ...axis(axes.y, axes.ys), size: axes.levels ? AXIS - 18 : 44 },
    ],
    series: [{}, ...series],
    ...(axes.hooks ? { hooks: axes.hooks } : {}),
  };
}

function line(style: Look, label: string, width: number, alpha = 1): uPlot.Series {
  return { label, stroke: style.colour, width, dash: style.dashes, points: { show: false }, alpha, spanGaps: false };
}

/** A picture made of a uPlot, which is made anew where its width or the theme changes. */
abstract class Picture {
  protected plot: uPlot | null = null;
  private width = 0;

  constructor(readonly place: HTMLElement) {
    place.classList.add("plot");
  }

  protected abstract make(): uPlot;

  protected ready(): uPlot {
    const width = this.place.clientWidth;
    if (!this.plot) {
      this.width = width;
      this.plot = this.make();
    } else if (width !== this.width && width > 0) {
      this.width = width;
      this.plot.setSize({ width: Math.max(120, width), height: this.plot.height });
    }
    return this.plot;
  }

  /** Forget what was drawn: colours or series have changed. */
  forget(): void {
    this.plot?.destroy();
    this.plot = null;
  }
}

/** Queue and average over time. */
export class QueuePicture extends Picture {
  levels: Level[] = [];

  constructor(
    place: HTMLElement,
    private readonly index: number,
  ) {
    super(place);
  }

  protected make(): uPlot {
    const style = { ...look(this.index), dashes: [] };
    const strong = { colour: ink().text, dashes: [] };
    const hooks = { draw: [(plot: uPlot) => levels(plot, this.levels)] };
    const axes = { x: "simulated time (s)", y: "queue (packets)", height: 190, levels: true, hooks };
    return new uPlot(
      options(this.place, axes, [line(style, "queue", 1.2), line(strong, "average", 2)]),
      [[0], [0], [0]],
      this.place,
    );
  }

  draw(history: History, begin: number, end: number, top: number): void {
    const plot = this.ready();
    const rows = history.rows(SAMPLE.packets, begin, end, plot.width);
    const columns = [SAMPLE.time, SAMPLE.packets, SAMPLE.average].map((column) => history.at(column, rows));
    plot.setData(columns as uPlot.AlignedData, false);
    plot.setScale("x", { min: begin, max: end });
    plot.setScale("y", { min: 0, max: top });
  }
}

function levels(plot: uPlot, all: Level[]): void {
  const { ctx } = plot;
  const { left, width, top } = plot.bbox;
  const sharp = devicePixelRatio;
  ctx.save();
  ctx.font = `${11 * sharp}px system-ui, sans-serif`;
  ctx.strokeStyle = ctx.fillStyle = ink().soft;
  ctx.lineWidth = sharp;
  ctx.setLineDash([4 * sharp, 4 * sharp]);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  let lowest = Infinity;
  for (const one of [...all].sort((a, b) => a.value - b.value)) {
    const y = plot.valToPos(one.value, "y", true);
    if (!(y >= top - sharp)) continue;
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    // Beside the curves, each above the one of the level below, as far as there is space.
    lowest = Math.min(Math.max(y, 7 * sharp), lowest - 12 * sharp);
    if (lowest < 6 * sharp) continue;
    ctx.fillStyle = ink().text;
    ctx.fillText(one.name, left + width + 4 * sharp, lowest);
  }
  ctx.restore();
}

/** Congestion windows of some flows. */
export class WindowPicture extends Picture {
  constructor(
    place: HTMLElement,
    private readonly flows: number,
  ) {
    super(place);
  }

  protected make(): uPlot {
    const series = Array.from({ length: this.flows }, (_, k) =>
      line({ colour: flowColour(k), dashes: [] }, `flow ${k + 1}`, 1.5),
    );
    const axes = { x: "simulated time (s)", y: "cwnd (segments)", height: 150 };
    const empty = [[0], ...series.map(() => [0])] as unknown as uPlot.AlignedData;
    return new uPlot(options(this.place, axes, series), empty, this.place);
  }

  draw(history: History, begin: number, end: number): void {
    const plot = this.ready();
    const rows = history.rows(SAMPLE.windows, begin, end, plot.width / 2);
    const data = Array.from({ length: this.flows }, (_, k) => history.at(SAMPLE.windows + k, rows));
    plot.setData([history.at(SAMPLE.time, rows), ...data] as uPlot.AlignedData, false);
    const most = Math.max(1, ...data.flat().map(Number));
    plot.setScale("x", { min: begin, max: end });
    plot.setScale("y", { min: 0, max: roundUp(most) });
  }
}

/** The drop curve, and where the average stands. */
export class CurvePicture extends Picture {
  private dot: [number, number] | null = null;
  private xs: number[] = [];
  private ys: number[] = [];

  constructor(
    place: HTMLElement,
    private readonly index: number,
  ) {
    super(place);
  }

  protected make(): uPlot {
    const hooks = { draw: [(plot: uPlot) => this.point(plot)] };
    const axes = {
      x: "average queue (packets)",
      y: "probability p_b",
      height: 150,
      hooks,
      ys: (values: number[]) => values.map((v) => percent(v, 2)),
    };
    return new uPlot(
      options(this.place, axes, [line({ ...look(this.index), dashes: [] }, "p_b", 2)]),
      [[0], [0]],
      this.place,
    );
  }

  private point(plot: uPlot): void {
    if (!this.dot) return;
    const { ctx } = plot;
    const [x, y] = [
      plot.valToPos(this.dot[0], "x", true),
      plot.valToPos(Math.min(this.dot[1], plot.scales.y!.max!), "y", true),
    ];
    ctx.save();
    ctx.beginPath();
    ctx.arc(x, y, 6 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fillStyle = ink().text;
    ctx.fill();
    ctx.strokeStyle = ink().ground;
    ctx.lineWidth = 2 * devicePixelRatio;
    ctx.stroke();
    ctx.restore();
  }

  curve(xs: Float64Array, ys: Float64Array): void {
    [this.xs, this.ys] = [[...xs], [...ys]];
  }

  get known(): boolean {
    return this.xs.length > 0;
  }

  /** The dot lies where the discipline's own p_b is: beside the curve, if it adapts the curve. */
  draw(average: number, own: number): void {
    const plot = this.ready();
    const last = this.xs[this.xs.length - 1] ?? 1;
    const at = Math.min(this.xs.length - 1, Math.max(0, Math.round((average / last) * (this.xs.length - 1))));
    this.dot = Number.isFinite(average)
      ? [Math.min(average, last), Number.isFinite(own) ? own : (this.ys[at] ?? 0)]
      : null;
    // Certain drops beyond the end would flatten what is below them.
    const inside = this.ys.filter((y) => y < 0.999);
    const top = roundUp(Math.max(1e-4, ...inside, this.dot && this.dot[1] < 0.999 ? this.dot[1] : 0));
    plot.setData([this.xs, this.ys], false);
    plot.setScale("x", { min: 0, max: last });
    plot.setScale("y", { min: 0, max: Math.min(1, top) });
  }
}

/** Distribution functions of the time that packets waited. */
export class DelayPicture extends Picture {
  constructor(
    place: HTMLElement,
    private readonly titles: string[],
  ) {
    super(place);
  }

  protected make(): uPlot {
    const series = this.titles.map((title, k) => line(look(k), title, 2));
    const axes = {
      x: "time in the queue",
      y: "share of packets",
      height: 200,
      log: true,
      xs: (values: number[]) => values.map((v) => (v ? spoken(v) : "")),
      ys: (values: number[]) => values.map((v) => `${short(100 * v)} %`),
    };
    const empty = [[1], ...series.map(() => [0])] as unknown as uPlot.AlignedData;
    return new uPlot(options(this.place, axes, series), empty, this.place);
  }

  draw(ends: number[], shares: number[][]): void {
    const plot = this.ready();
    plot.setData([ends, ...shares] as uPlot.AlignedData, false);
    const first = shares.reduce(
      (low, one) =>
        Math.min(
          low,
          one.findIndex((v) => v > 0.01),
        ),
      ends.length,
    );
    const last = shares.reduce(
      (high, one) =>
        Math.max(
          high,
          one.findIndex((v) => v > 0.9995),
        ),
      0,
    );
    const low = 10 ** Math.floor(Math.log10(ends[Math.max(0, first)] ?? 1e-4));
    const high = 10 ** Math.ceil(Math.log10(ends[Math.max(1, last)] ?? 1));
    plot.setScale("x", { min: low, max: Math.max(10 * low, high) });
    plot.setScale("y", { min: 0, max: 1 });
  }
}

function spoken(seconds: number): string {
  // Only powers of ten are named.
  const power = Math.log10(seconds);
  if (Math.abs(power - Math.round(power)) > 1e-6) return "";
  return seconds >= 1
    ? `${short(seconds)} s`
    : seconds >= 1e-3
      ? `${short(1e3 * seconds)} ms`
      : `${short(1e6 * seconds)} µs`;
}
