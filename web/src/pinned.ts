// The queues of all disciplines in one small chart, which stays in view while a story is read where the pictures lie below.

import { Sheet } from "./canvas";
import { el } from "./dom";
import { latest } from "./model";
import { time } from "./numbers";
import { ink, look } from "./palette";
import type { Player } from "./player";
import { SAMPLE } from "./protocol";

const HEIGHT = 84;
/** Seconds in view, and time between two pictures, ms. */
const SPAN = 10;
const OFTEN = 80;

export class Pinned {
  readonly element = el("figure", { class: "pinned", "aria-label": "The queues now" });
  private readonly names = el("figcaption", { class: "legend" });
  private readonly sheet: Sheet;
  private drawn = 0;

  constructor(private readonly player: Player) {
    const place = el("div", {});
    this.element.append(this.names, place);
    this.sheet = new Sheet(place, HEIGHT, "Packets that wait, of late");
    player.listen((what) => this.draw(what !== "frame"));
  }

  draw(whole: boolean): void {
    const moment = performance.now();
    // Whether it is shown is asked last, and seldom: the browser has to lay out the page for it.
    if (!this.element.isConnected || this.element.closest("[hidden]")) return;
    if (!whole && moment - this.drawn < OFTEN) return;
    this.drawn = moment;
    if (!this.element.offsetParent) return;
    const { histories, now, setup } = this.player;
    const begin = Math.max(0, now - SPAN);
    const [pen, width] = this.sheet.clear();
    const [left, bottom] = [34, HEIGHT - 4];
    const columns = histories.map((one) => {
      const rows = one.rows(SAMPLE.packets, begin, now, width);
      return [one.at(SAMPLE.time, rows), one.at(SAMPLE.packets, rows)] as const;
    });
    const most = Math.max(10, ...columns.flatMap(([, packets]) => packets.map(Number)));
    const y = (packets: number): number => bottom - ((bottom - 8) * packets) / most;
    pen.fillStyle = ink().soft;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const packets of [0, most]) pen.fillText(String(Math.round(packets)), left - 5, Math.min(bottom - 4, y(packets)));
    pen.fillStyle = ink().line;
    for (const packets of [0, most]) pen.fillRect(left, y(packets), width - left, 1);
    columns.forEach(([times, packets], k) => {
      const { colour, dashes } = look(k);
      pen.strokeStyle = colour;
      pen.setLineDash(dashes);
      pen.lineWidth = 1.5;
      pen.beginPath();
      times.forEach((at, i) =>
        pen.lineTo(left + ((width - left) * (at! - begin)) / Math.max(1, now - begin), y(packets[i] ?? 0)),
      );
      pen.stroke();
    });
    pen.setLineDash([]);
    const chosen = latest(setup);
    this.names.replaceChildren(
      ...histories.map((one, k) => {
        const delay = (8 * one.last(SAMPLE.bytes)) / one.about.rate;
        const title = this.player.discipline(chosen[k]?.aqm ?? "")?.title ?? "";
        return el(
          "span",
          { style: `--own: ${look(k).colour}` },
          el("i", { class: "chip", "aria-hidden": "true" }),
          title,
          el("b", {}, Number.isFinite(delay) ? `${time(delay, 2)} of delay` : ""),
        );
      }),
    );
  }
}
