// The call of a card: the face that comes through, beside the one that was sent, and the echo of what is typed.

import { Call } from "./call";
import { Sheet } from "./canvas";
import { el } from "./dom";
import type { History } from "./history";
import type { Setup } from "./model";
import { percent, time } from "./numbers";
import { fate, ink } from "./palette";
import { paths } from "./scenario";

const HEIGHT = 104;

export class Feel {
  readonly element: HTMLElement;
  private readonly sheet: Sheet;
  private readonly echo = el("p", { class: "echo", "aria-label": "Echo of what you type" });
  private readonly says = el("p", { class: "soft" });
  private call: Call | null = null;
  private history: History | null = null;
  private drawn = 0;

  constructor() {
    const face = el("div", { class: "face" });
    this.element = el(
      "section",
      { class: "feel", "aria-label": "The call", hidden: true },
      face,
      el("div", {}, this.echo, this.says),
    );
    this.sheet = new Sheet(face, HEIGHT, "A face as it is sent, and as it arrives");
  }

  press(text: string, now: number): void {
    this.call?.press(text, now);
  }

  draw(history: History, now: number, setup: Setup): void {
    this.element.hidden = !setup.call || setup.file !== "";
    if (this.element.hidden) {
      this.history = this.call = null;
      return;
    }
    if (history !== this.history) {
      const { about } = history;
      const { flow, ...own } = paths(setup, about).call;
      this.history = history;
      this.call = new Call(flow, { ...own, byte: 8 / about.rate });
      history.listen((events) => this.call?.hear(events));
    }
    const call = this.call!;
    call.come(now);
    const frozen = call.freezes.frozen(now);
    const [pen, width, height] = this.sheet.clear();
    const size = Math.min(height - 18, width / 2 - 8);
    face(pen, width / 4, size, now, ink().soft, false);
    face(pen, (3 * width) / 4, size, call.pose, frozen ? fate(4) : ink().text, frozen);
    pen.fillStyle = ink().soft;
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    pen.fillText("sent", width / 4, height - 3);
    pen.fillStyle = frozen ? fate(4) : ink().soft;
    const late = Number.isNaN(call.pose) ? "" : `, ${time(now - call.pose, 2)} late`;
    pen.fillText(frozen ? "frozen" : `here${late}`, (3 * width) / 4, height - 3);
    const moment = performance.now();
    if (moment - this.drawn < 60) return;
    this.drawn = moment;
    const { keys, freezes } = call;
    const last = keys.findLast((key) => key.back <= now);
    this.echo.replaceChildren(
      ...keys.map(({ text, back }) =>
        back === Infinity ? el("s", {}, text) : el("span", { class: back <= now ? "" : "pending" }, text),
      ),
    );
    if (!keys.length) this.echo.append(el("span", { class: "pending" }, "What you type comes back here."));
    this.says.textContent = [
      last ? `Your last key took ${time(last.back - last.pressed, 2)}.` : "",
      `Voice: ${time(call.delay, 2)} one way, ${call.packets ? percent(call.lost / call.packets, 2) : "–"} lost,`,
      `frozen ${freezes.count === 1 ? "once" : `${freezes.count} times`}, ${time(freezes.time, 2)}.`,
    ].join(" ");
  }
}

/** A face that nods, blinks and speaks, as it was at a time. */
function face(pen: CanvasRenderingContext2D, x: number, size: number, at: number, colour: string, still: boolean): void {
  const t = Number.isNaN(at) ? 0 : at;
  const r = size / 2;
  pen.save();
  pen.translate(x + 0.1 * r * Math.sin(2.1 * t), r + 2 + 0.06 * r * Math.sin(5.3 * t));
  pen.rotate(0.16 * Math.sin(2.1 * t));
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2.5;
  if (still) pen.setLineDash([5, 4]);
  pen.beginPath();
  pen.ellipse(0, 0, 0.74 * r, 0.9 * r, 0, 0, 2 * Math.PI);
  pen.stroke();
  pen.setLineDash([]);
  const open = t % 2.7 < 0.12 ? 0.02 : 0.12;
  for (const side of [-1, 1]) {
    pen.beginPath();
    pen.ellipse(side * 0.28 * r + 0.06 * r * Math.sin(0.9 * t), -0.2 * r, 0.09 * r, open * r, 0, 0, 2 * Math.PI);
    pen.fill();
  }
  const mouth = 0.05 + 0.2 * Math.abs(Math.sin(8.7 * t) * Math.sin(1.3 * t));
  pen.beginPath();
  pen.ellipse(0, 0.4 * r, 0.26 * r, mouth * r, 0, 0, 2 * Math.PI);
  pen.stroke();
  pen.restore();
}
