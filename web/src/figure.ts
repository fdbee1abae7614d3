// The pictures as one figure, SVG or PNG, on white as papers have it: the queue of each discipline, and all delays.

import type { Look } from "./palette";
import { BINS, binEnd, SAMPLE } from "./protocol";
import type { History } from "./history";
import type { Level } from "./plots";
import { roundUp, short } from "./numbers";

/** Colours for white ground: the first set of the palette. */
const LOOKS: Look[] = [
  { colour: "#D55E00", dashes: [] },
  { colour: "#0072B2", dashes: [] },
  { colour: "#007F5C", dashes: [7, 3] },
  { colour: "#B05A97", dashes: [6, 2, 2, 2] },
];
const WIDTH = 760;
const HEIGHT = 190;
const LEFT = 64;
const RIGHT = 84;
/** Height of the line with the title. */
const HEAD = 30;

export interface Drawn {
  title: string;
  history: History;
  levels: Level[];
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function text(x: number, y: number, words: string, more = ""): string {
  return `<text x="${x}" y="${y}" ${more}>${escape(words)}</text>`;
}

function path(xs: number[], ys: number[], style: string): string {
  const points = ys.map((y, k) => `${xs[k]!.toFixed(1)},${y.toFixed(1)}`);
  return points.length ? `<polyline points="${points.join(" ")}" fill="none" ${style}/>` : "";
}

/** Axes of a panel whose upper left corner is at `top`. */
function axes(
  top: number,
  title: string,
  x: string,
  y: string,
  xs: [number, string][],
  ys: [number, string][],
): string {
  const bottom = top + HEIGHT - 44;
  const parts = [text(LEFT, top + 14, title, 'font-weight="600"')];
  for (const [at, name] of ys) {
    parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#e3e3e3"/>`);
    parts.push(text(LEFT - 6, at + 4, name, 'text-anchor="end"'));
  }
  for (const [at, name] of xs) {
    parts.push(`<line x1="${at}" x2="${at}" y1="${bottom}" y2="${bottom + 4}" stroke="#555"/>`);
    parts.push(text(at, bottom + 17, name, 'text-anchor="middle"'));
  }
  parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${bottom}" y2="${bottom}" stroke="#555"/>`);
  parts.push(text((LEFT + WIDTH - RIGHT) / 2, bottom + 34, x, 'text-anchor="middle"'));
  parts.push(
    text(16, (top + 22 + bottom) / 2, y, `text-anchor="middle" transform="rotate(-90 16 ${(top + 22 + bottom) / 2})"`),
  );
  return parts.join("\n");
}

function ticks(low: number, high: number): number[] {
  const step = roundUp((high - low) / 6);
  const found: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k += 1) found.push(k * step);
  return found;
}

/** The figure as SVG. */
export function svg(all: Drawn[], begin: number, end: number, title: string, note: string): string {
  const most = Math.max(
    10,
    ...all.flatMap(({ history }) =>
      history.at(SAMPLE.packets, history.rows(SAMPLE.packets, begin, end, 400)).map(Number),
    ),
  );
  const high = roundUp(most);
  const x = (t: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * (t - begin)) / (end - begin);
  const size = Math.min(15, (1.8 * (WIDTH - LEFT)) / title.length);
  const parts = [text(LEFT, 24, title, `font-weight="600" font-size="${size.toFixed(1)}"`)];
  all.forEach((one, k) => {
    const top = HEAD + 8 + k * HEIGHT;
    const [above, below] = [top + 24, top + HEIGHT - 44];
    const y = (v: number): number => below - ((below - above) * Math.min(v, high)) / high;
    parts.push(
      axes(
        top,
        one.title,
        "simulated time (s)",
        "queue (packets)",
        ticks(begin, end).map((t) => [x(t), short(t)]),
        ticks(0, high).map((v) => [y(v), short(v)]),
      ),
    );
    // Names stand beside the plot, each above the one of the level below.
    let lowest = Infinity;
    for (const level of one.levels.filter((l) => l.value <= high).sort((a, b) => a.value - b.value)) {
      const at = y(level.value);
      parts.push(
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#555" stroke-dasharray="4 4"/>`,
      );
      lowest = Math.min(at + 4, lowest - 12);
      parts.push(text(WIDTH - RIGHT + 5, lowest, level.name, 'fill="#555"'));
    }
    const rows = one.history.rows(SAMPLE.packets, begin, end, 600);
    const times = one.history.at(SAMPLE.time, rows).map((t) => x(t!));
    const drawn = (column: number): number[] | null => {
      const values = one.history.at(column, rows);
      return values.includes(null) ? null : values.map((v) => y(v!));
    };
    parts.push(path(times, drawn(SAMPLE.packets) ?? [], `stroke="${LOOKS[k]!.colour}"`));
    const averages = drawn(SAMPLE.average);
    if (averages) parts.push(path(times, averages, 'stroke="#000" stroke-width="1.8"'));
  });
  const top = HEAD + 8 + all.length * HEIGHT;
  const [above, below] = [top + 24, top + HEIGHT - 44];
  const shares = all.map(({ history }) => {
    const total = history.sojourns.reduce((n, v) => n + v, 0);
    let sum = 0;
    return Array.from(history.sojourns, (n) => (sum += n) / (total || 1));
  });
  const first = Math.min(
    ...shares.map((s) =>
      Math.max(
        0,
        s.findIndex((v) => v > 0.01),
      ),
    ),
  );
  const last = Math.max(...shares.map((s) => s.findIndex((v) => v > 0.9995)), first + 40);
  const low = Math.floor(Math.log10(binEnd(first)));
  const up = Math.max(low + 1, Math.ceil(Math.log10(binEnd(Math.min(last, BINS - 1)))));
  const at = (d: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * (Math.log10(d) - low)) / (up - low);
  const y = (v: number): number => below - (below - above) * v;
  const decades = Array.from({ length: up - low + 1 }, (_, k) => low + k);
  parts.push(
    axes(
      top,
      "Time that packets waited",
      "time in the queue (ms)",
      "share of packets",
      decades.map((d) => [at(10 ** d), short(10 ** (d + 3))]),
      [0, 0.25, 0.5, 0.75, 1].map((v) => [y(v), `${100 * v} %`]),
    ),
  );
  shares.forEach((one, k) => {
    const kept = one
      .map((v, i) => [binEnd(i), v] as const)
      .filter(([d]) => Math.log10(d) >= low && Math.log10(d) <= up);
    const style = `stroke="${LOOKS[k]!.colour}" stroke-width="2" stroke-dasharray="${LOOKS[k]!.dashes.join(" ")}"`;
    parts.push(
      path(
        kept.map(([d]) => at(d)),
        kept.map(([, v]) => y(v)),
        style,
      ),
    );
  });
  // The curves are named beside the plot's title, each with a piece of itself.
  let from = LEFT + 190;
  all.forEach((one, k) => {
    const style = `stroke="${LOOKS[k]!.colour}" stroke-width="2" stroke-dasharray="${LOOKS[k]!.dashes.join(" ")}"`;
    parts.push(`<line x1="${from}" x2="${from + 22}" y1="${top + 10}" y2="${top + 10}" ${style}/>`);
    parts.push(text(from + 27, top + 14, one.title, `fill="${LOOKS[k]!.colour}"`));
    from += 46 + 7 * one.title.length;
  });
  const height = top + HEIGHT + 16;
  parts.push(text(LEFT, height - 8, note, 'fill="#555" font-size="10"'));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"
 font-family="system-ui, sans-serif" font-size="12" fill="#222"><rect width="100%" height="100%" fill="#fff"/>
${parts.join("\n")}
</svg>
`;
}

/** An SVG as PNG, twice as fine. */
export async function png(source: string): Promise<Blob> {
  const root = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * Number(root.getAttribute("width")), 2 * Number(root.getAttribute("height"))];
  const pen = canvas.getContext("2d")!;
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.scale(2, 2);
  for (const shape of root.querySelectorAll("line, polyline, text")) draw(pen, shape);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture cannot be drawn"))), "image/png");
  });
}

/** A line, polyline or text of `svg`. Drawn here, for a server's policy may forbid pictures that are no files. */
function draw(pen: CanvasRenderingContext2D, shape: Element): void {
  const word = (name: string, otherwise: string): string => shape.getAttribute(name) ?? otherwise;
  const number = (name: string): number => Number(shape.getAttribute(name));
  if (shape.tagName === "text") {
    pen.font = `${word("font-weight", "400")} ${word("font-size", "12")}px system-ui, sans-serif`;
    pen.fillStyle = word("fill", "#222");
    pen.textAlign = ({ middle: "center", end: "right" } as const)[word("text-anchor", "")] ?? "left";
    pen.save();
    pen.translate(number("x"), number("y"));
    if (shape.hasAttribute("transform")) pen.rotate(-Math.PI / 2);
    pen.fillText(shape.textContent ?? "", 0, 0);
    pen.restore();
    return;
  }
  const points =
    shape.tagName === "line"
      ? [`${number("x1")},${number("y1")}`, `${number("x2")},${number("y2")}`]
      : word("points", "").split(" ");
  pen.strokeStyle = word("stroke", "#000");
  pen.lineWidth = Number(word("stroke-width", "1"));
  pen.setLineDash(word("stroke-dasharray", "").split(" ").filter(Boolean).map(Number));
  // As in SVG.
  pen.miterLimit = 4;
  pen.beginPath();
  for (const point of points) pen.lineTo(...(point.split(",").map(Number) as [number, number]));
  pen.stroke();
}

/** The samples of all disciplines as CSV, one row each 10 ms; counts are of the interval before the row. */
export function csv(names: string[], histories: History[]): string {
  const columns: [string, number][] = [
    ["queue_packets", SAMPLE.packets],
    ["queue_bytes", SAMPLE.bytes],
    ["average_packets", SAMPLE.average],
    ["arrivals", SAMPLE.arrivals],
    ["marks", SAMPLE.marks],
    ["early_drops", SAMPLE.early],
    ["forced_drops", SAMPLE.forced],
    ["overflow_drops", SAMPLE.overflow],
    ["departed_bytes", SAMPLE.departedBytes],
  ];
  const lines = [["aqm", "time_s", ...columns.map(([name]) => name)].join(",")];
  histories.forEach((history, run) => {
    const times = history.column(SAMPLE.time);
    const values = columns.map(([, k]) => history.column(k));
    for (let row = 0; row < times.length; row += 1) {
      const numbers = values.map((column) => (Number.isNaN(column[row]!) ? "" : String(column[row])));
      lines.push([names[run], Number(times[row]!.toFixed(6)), ...numbers].join(","));
    }
  });
  return `${lines.join("\n")}\n`;
}
