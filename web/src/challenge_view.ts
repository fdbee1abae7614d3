// The challenge view: a line to draw, a rule to write, and the score against FQ-CoDel on the same line.

import { docsLink } from "./about";
import { Sheet } from "./canvas";
import {
  type Challenge,
  challenged,
  exported,
  first,
  HIGH,
  line,
  LINES,
  LOW,
  rounded,
  RULE,
  scenario,
  type Score,
  scored,
  SECONDS,
  WARMUP,
  written,
} from "./challenge";
import { announce, el, save } from "./dom";
import { choice, field, knob } from "./knob";
import type { Laboratory } from "./laboratory";
import { short } from "./numbers";
import { ink, look } from "./palette";
import type { Player } from "./player";
import { imported } from "./scenario";
import { copyText } from "./share";

/** What a rule can name. */
const NAMES: [string, string][] = [
  ["q", "packets that wait"],
  ["avg", "the same, averaged over 100 ms"],
  ["delay", "how long the packet that left last has waited, s"],
  ["rate", "what the link sends, averaged over 100 ms, bit/s"],
  ["dt", "time since the last arrival, s"],
  ["p", "the last probability"],
];
/** Rates at the axis, Mbit/s. */
const MARKS = [0.5, 1, 2, 5, 10, 20, 50];
/** Space beside the picture of the line, pixels. */
const EDGE = { left: 30, right: 12, top: 8, bottom: 20 };
const HEIGHT = 200;

export class ChallengeView {
  readonly element: HTMLElement;
  private challenge: Challenge = first();
  /** Cancels what runs; null where nothing does. */
  private stop: (() => void) | null = null;
  private readonly sheet: Sheet;
  private readonly drawing: HTMLElement;
  private readonly inputs = el("div", { class: "challenge-inputs" });
  private readonly run = el("button", { type: "button", class: "primary", click: () => this.toggle() }, "Run both");
  private readonly fault = el("p", { class: "fault", role: "alert", hidden: true });
  private readonly out = el("div", { class: "comparison", "aria-live": "polite" });
  /** The second of the line that the keyboard changes, and the one that the pointer was over last. */
  private second = 0;
  private last: number | null = null;

  constructor(
    private readonly player: Player,
    private readonly laboratory: () => Promise<Laboratory>,
    private readonly watch: () => void,
  ) {
    this.drawing = el("div", {
      class: "line-drawing",
      role: "slider",
      tabindex: 0,
      "aria-label": "Rate of the line: left and right choose a second, up and down change its rate",
      "aria-valuemin": LOW,
      "aria-valuemax": HIGH,
      pointerdown: (event: PointerEvent) => this.press(event),
      pointermove: (event: PointerEvent) => this.move(event),
      pointerup: () => (this.last = null),
      pointercancel: () => (this.last = null),
      keydown: (event: KeyboardEvent) => this.key(event),
      focus: () => this.draw(),
      blur: () => this.draw(),
    });
    this.sheet = new Sheet(this.drawing, HEIGHT, "The line");
    this.element = el(
      "section",
      { class: "compare challenge", "aria-label": "Challenge" },
      el("h2", {}, "Beat FQ-CoDel on a line of your drawing"),
      el(
        "p",
        {},
        "Draw how the rate of a line goes, and write the probability with which its one queue drops an arriving packet. ",
        "Two downloads (round trips of 20 and 80 ms) and three browsers use the line, once with your rule and once with FQ-CoDel. ",
        docsLink("aqms/expression.html", "What a rule may be"),
      ),
      el(
        "p",
        {},
        el("b", {}, "The score"),
        " is 100 times the geometric mean of three ratios: your goodput over FQ-CoDel's; its mean round trip over yours, each 50 ms and the queueing delay; and its mean time to load a page over yours. Above 100 your rule wins.",
      ),
      this.inputs,
      el(
        "div",
        { class: "row" },
        this.run,
        el("button", { type: "button", click: () => this.play() }, "Watch both"),
        el("button", { type: "button", click: () => void this.copy() }, "Copy link"),
        el(
          "button",
          {
            type: "button",
            click: () => save("challenge.toml", exported(this.challenge), "application/toml"),
          },
          "Scenario (TOML)",
        ),
      ),
      this.fault,
      this.out,
    );
    new ResizeObserver(() => this.draw()).observe(this.drawing);
    this.rebuild();
  }

  /** The challenge of an address; a sentence is shown if it is none. */
  open(hash: string): void {
    try {
      this.challenge = challenged(hash);
    } catch (error) {
      this.challenge = first();
      announce(`${(error as Error).message} The page starts with its own setup.`, true);
    }
    this.rebuild();
    this.changed();
  }

  private rebuild(): void {
    this.inputs.replaceChildren(
      choice(
        "Line",
        [["", "as drawn"], ...LINES.map(([name, title]) => [name, title] as [string, string])],
        LINES.find(([name]) => line(name).join() === this.challenge.rates.join())?.[0] ?? "",
        (name) => {
          if (!name) return;
          this.challenge.rates = line(name);
          this.changed();
        },
      ),
      this.drawing,
      field({
        label: "Drop probability",
        value: this.challenge.rule,
        most: RULE,
        change: (rule) => {
          this.challenge.rule = rule;
          this.changed();
        },
      }),
      el(
        "p",
        { class: "soft names" },
        ...NAMES.flatMap(([name, says]) => [el("code", {}, name), ` ${says}; `]),
        "numbers, brackets, ",
        el("code", {}, "+ - * / <"),
        ", ",
        el("code", {}, "min max exp sqrt"),
        `. It is cut to [0, 1].`,
      ),
      knob({
        label: "Seed",
        name: "Seed of the challenge",
        low: 1,
        high: 100,
        whole: true,
        value: this.challenge.seed,
        unit: "",
        text: (v) => short(v, 15),
        help: ["Of the web pages' sizes and times, and of the drops."],
        change: (v) => {
          this.challenge.seed = Math.max(0, v as number);
          this.changed();
        },
      }),
    );
    this.draw();
  }

  /** What was found is of another challenge now. */
  private changed(): void {
    this.stop?.();
    this.out.replaceChildren();
    this.fault.hidden = true;
    this.draw();
  }

  // ---- the line --------------------------------------------------------------------------------------------------------

  private place(rate: number): number {
    return Math.log(rate / LOW) / Math.log(HIGH / LOW);
  }

  /** The line as it stands; the page's colours may have changed. */
  draw(): void {
    if (!this.drawing.isConnected || !this.drawing.clientWidth) return;
    const { rates } = this.challenge;
    const [pen, width, height] = this.sheet.clear();
    const { soft, line: grid } = ink();
    const [right, bottom] = [width - EDGE.right, height - EDGE.bottom];
    const x = (t: number): number => EDGE.left + ((right - EDGE.left) * t) / SECONDS;
    const y = (rate: number): number => bottom - (bottom - EDGE.top) * this.place(rate);
    pen.fillStyle = grid;
    pen.globalAlpha = 0.5;
    pen.fillRect(x(0), EDGE.top, x(WARMUP) - x(0), bottom - EDGE.top);
    pen.globalAlpha = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const mark of MARKS) {
      pen.fillStyle = grid;
      pen.fillRect(EDGE.left, y(mark), right - EDGE.left, 1);
      pen.fillStyle = soft;
      pen.fillText(String(mark), EDGE.left - 5, y(mark));
    }
    pen.textAlign = "center";
    for (let t = 0; t <= SECONDS; t += 5) pen.fillText(t ? String(t) : "0 s", x(t), bottom + 12);
    pen.textAlign = "left";
    pen.fillText("Mbit/s", EDGE.left + 4, EDGE.top + 8);
    if (x(WARMUP) - x(0) > 76) pen.fillText("not counted", x(0) + 4, bottom - 10);
    const { colour } = look(1);
    pen.fillStyle = colour;
    pen.globalAlpha = 0.15;
    rates.forEach((rate, t) => pen.fillRect(x(t), y(rate), x(t + 1) - x(t), bottom - y(rate)));
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.beginPath();
    rates.forEach((rate, t) => {
      pen.lineTo(x(t), y(rate));
      pen.lineTo(x(t + 1), y(rate));
    });
    pen.stroke();
    if (document.activeElement === this.drawing) {
      pen.lineWidth = 1.5;
      pen.strokeRect(x(this.second), EDGE.top, x(this.second + 1) - x(this.second), bottom - EDGE.top);
    }
    const rate = rates[this.second]!;
    this.drawing.setAttribute("aria-valuenow", String(rate));
    this.drawing.setAttribute("aria-valuetext", `second ${this.second + 1} of ${SECONDS}: ${rate} Mbit/s`);
    this.sheet.label = `Rates of the line in Mbit/s, second by second: ${rates.join(", ")}`;
  }

  private press(event: PointerEvent): void {
    this.drawing.setPointerCapture(event.pointerId);
    this.last = null;
    this.drawn(event);
    this.drawing.focus({ preventScroll: true });
    event.preventDefault();
  }

  private move(event: PointerEvent): void {
    if (this.drawing.hasPointerCapture(event.pointerId)) this.drawn(event);
  }

  /** The line goes through the pointer, and through every second since the last one it was at. */
  private drawn(event: PointerEvent): void {
    const box = this.sheet.canvas.getBoundingClientRect();
    const share = (event.clientX - box.left - EDGE.left) / (box.width - EDGE.left - EDGE.right);
    const up = (box.bottom - EDGE.bottom - event.clientY) / (box.height - EDGE.top - EDGE.bottom);
    const at = Math.min(SECONDS - 1, Math.max(0, Math.floor(SECONDS * share)));
    const rate = rounded(LOW * (HIGH / LOW) ** Math.min(1, Math.max(0, up)));
    const from = this.last ?? at;
    const before = this.challenge.rates[from]!;
    for (let k = Math.min(from, at); k <= Math.max(from, at); k += 1) {
      const part = from === at ? 1 : (k - from) / (at - from);
      if (k !== from || from === at) this.challenge.rates[k] = rounded(before * (rate / before) ** part);
    }
    [this.last, this.second] = [at, at];
    this.redrawn();
  }

  private key(event: KeyboardEvent): void {
    const { rates } = this.challenge;
    const aside = { ArrowLeft: -1, ArrowRight: 1, Home: -SECONDS, End: SECONDS }[event.key];
    const factor = { ArrowUp: 1.1, ArrowDown: 1 / 1.1, PageUp: 2, PageDown: 0.5 }[event.key];
    if (aside === undefined && factor === undefined) return;
    event.preventDefault();
    if (aside !== undefined) this.second = Math.min(SECONDS - 1, Math.max(0, this.second + aside));
    if (factor === undefined) return this.draw();
    rates[this.second] = rounded(rates[this.second]! * factor);
    this.redrawn();
  }

  private redrawn(): void {
    const shape = this.inputs.querySelector("select");
    if (shape) shape.value = "";
    this.changed();
  }

  // ---- runs ------------------------------------------------------------------------------------------------------------

  private toggle(): void {
    if (this.stop) this.stop();
    else void this.start();
  }

  private async start(): Promise<void> {
    this.changed();
    const { challenge } = this;
    this.run.textContent = "Cancel";
    let cancelled = false;
    this.stop = () => (cancelled = true);
    try {
      const laboratory = await this.laboratory();
      if (cancelled) return;
      this.stop = () => {
        cancelled = true;
        laboratory.cancel();
      };
      const texts = [scenario(challenge), scenario(challenge, true)];
      const [own, rival] = await laboratory.compare(texts, challenge.seed, 1);
      this.write(scored(JSON.parse(own![0]!), JSON.parse(rival![0]!)));
    } catch (error) {
      if (cancelled) return;
      this.fault.textContent = error instanceof Error ? error.message : String(error);
      this.fault.hidden = false;
    } finally {
      this.stop = null;
      this.run.textContent = "Run both";
    }
  }

  private write({ measures, score }: Score): void {
    const won = score > 100 ? "You have beaten FQ-CoDel." : "FQ-CoDel is still ahead.";
    const rows = measures.map(({ title, unit, values, ratio }) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, `${title} (${unit})`),
        ...[...values, ratio].map((value) => el("td", {}, short(value, 4))),
      ),
    );
    const heads = ["Your rule", "FQ-CoDel", "Ratio"];
    this.out.replaceChildren(
      el("p", { class: "found score" }, el("b", {}, `Score ${score.toFixed(1)}. `), won),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the score" },
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, el("td", {}), ...heads.map((text) => el("th", { scope: "col" }, text)))),
          el("tbody", {}, ...rows),
        ),
      ),
    );
  }

  /** Both run side by side in the play view. */
  private play(): void {
    const { player, challenge } = this;
    player.setup = {
      ...imported(scenario(challenge), player.setup),
      disciplines: [
        { aqm: "expression", set: {} },
        { aqm: "fq_codel", set: {} },
      ],
    };
    player.now = 0;
    player.speed = 1;
    this.watch();
    player.start(0);
    player.play();
  }

  private async copy(): Promise<void> {
    history.replaceState(null, "", written(this.challenge));
    await copyText(location.href);
  }
}
