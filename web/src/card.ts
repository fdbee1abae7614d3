// One discipline of the play view: its pictures, numbers, thoughts and parameters.

import { about } from "./about";
import { Bars, Strip } from "./canvas";
import { type Declared, type Discipline, families, main, rangeOf, valueOf } from "./catalogue";
import { el, symbol } from "./dom";
import { Feel } from "./feel";
import type { History } from "./history";
import { choice, field, type KnobElement, knob, toggle } from "./knob";
import { latest, type Setting } from "./model";
import { NetworkPicture } from "./network";
import { percent, quantity, rate, roundUp, short, time } from "./numbers";
import { flowColour, look } from "./palette";
import type { Player } from "./player";
import type { About } from "./protocol";
import { CurvePicture, type Level, QueuePicture, WindowPicture } from "./plots";
import { SAMPLE, WINDOWS } from "./protocol";
import { RULES, TODAY } from "./line";
import { paths } from "./scenario";
import { jain } from "./statistics";

/** Seconds over which rates and means of the numbers are taken. */
const RECENT = 5;

/** Names of a discipline's queues, by their numbers; of the others each flow has its own, or all have one. */
const QUEUES: Record<string, readonly string[]> = { dualpi2: ["L", "C"] };

/** What the flows of a traffic entry are called where they are one of the long ones' groups. */
const LONG = "long flows";

export class Card {
  readonly element: HTMLElement;
  private readonly queue: QueuePicture;
  private readonly strip: Strip;
  private readonly curve: CurvePicture;
  private readonly windows: WindowPicture;
  private readonly bars: Bars;
  private readonly network: NetworkPicture;
  private readonly feel = new Feel();
  private readonly places: Record<string, HTMLElement> = {};
  private readonly knobs = new Map<string, KnobElement>();
  private slow = 0;
  private pixel = "";
  private legend = 0;

  constructor(
    private readonly player: Player,
    private readonly index: number,
    private readonly discipline: Discipline,
    remove: (() => void) | null,
    replace: (aqm: string) => void,
  ) {
    const place = (name: string, title: string, note = ""): HTMLElement => {
      const inner = el("div", {});
      this.places[name] = el(
        "figure",
        { class: `picture ${name}` },
        title && el("figcaption", {}, title, note ? el("small", {}, ` ${note}`) : null),
        inner,
      );
      return inner;
    };
    const all = new Map(
      [...families(player.laboratory.disciplines)].map(([family, some]) => [
        family,
        some.map((one) => [one.name, one.title] as [string, string]),
      ]),
    );
    const picker = choice(`Discipline ${index + 1}`, all, discipline.name, replace);
    const queue = place("queue", "Queue", "packets that wait");
    const strip = place("strip", "Arrivals", "what became of each packet");
    const curve = place("curve", "Drop curve", "the dot is where the average stands");
    const windows = place("windows", "Congestion windows", " ");
    const bars = place("bars", "Goodput of each flow", ` Mbit/s, mean of the last ${RECENT} s`);
    const network = place("network", "", "");
    for (const name of ["now", "mean"]) this.places[name] = el("dl", { class: "numbers" });
    this.places.thinks = el("ul", { class: "thinks" });
    this.element = el(
      "article",
      { class: "card", "aria-label": discipline.title, style: `--own: ${look(index).colour}` },
      el(
        "header",
        {},
        el("span", { class: "chip", "aria-hidden": "true" }),
        picker,
        remove &&
          el(
            "button",
            { type: "button", class: "remove", "aria-label": `Remove ${discipline.title}`, click: remove },
            "×",
          ),
      ),
      this.places.network,
      this.feel.element,
      el("p", { class: "summary" }, `${this.stands()}${discipline.summary}. `, about(discipline)),
      el(
        "div",
        { class: "measures" },
        el("section", {}, el("h3", {}, "Now"), this.places.now),
        el("section", {}, el("h3", {}, `Mean of the last ${RECENT} s`), this.places.mean),
      ),
      el(
        "div",
        { class: "pictures" },
        el("div", { class: "wide" }, this.places.queue!, this.places.strip!),
        this.parameters(),
        el("div", { class: "panel thoughts" }, el("h3", {}, `What ${discipline.title} thinks now`), this.places.thinks),
        this.places.curve!,
        this.places.bars!,
        this.places.windows!,
      ),
    );
    this.queue = new QueuePicture(queue, index);
    this.strip = new Strip(strip);
    this.curve = new CurvePicture(curve, index);
    this.windows = new WindowPicture(windows, WINDOWS);
    this.bars = new Bars(bars);
    this.network = new NetworkPicture(network);
  }

  /** Where the discipline of a home's line stands. */
  private stands(): string {
    if (!this.player.setup.line) return "";
    return this.discipline.name === TODAY ? "In the modem, as it is today. " : "In the router, behind its shaper. ";
  }

  // ---- parameters ----------------------------------------------------------------------------------------------------

  private parameters(): HTMLElement {
    const shown = main(this.discipline);
    const rest = this.discipline.parameters.filter((one) => !shown.includes(one));
    const box = el("div", { class: "panel parameters" }, el("h3", {}, "Parameters"));
    if (!this.discipline.parameters.length) box.append(el("p", { class: "soft" }, "It has none."));
    box.append(...shown.map((one) => this.parameter(one)));
    if (rest.length) {
      box.append(
        el(
          "details",
          {},
          el("summary", {}, `${shown.length ? "More parameters" : "Parameters"} (${rest.length})`),
          ...rest.map((one) => this.parameter(one)),
        ),
      );
    }
    return box;
  }

  private parameter(one: Declared): HTMLElement {
    const value = valueOf(one, this.set);
    const change = (next: Setting): void => this.player.set(this.index, one.name, next);
    const about = `${one.doc}${one.source ? ` Default ${one.default}: ${one.source}.` : ` Default ${one.default}.`} Allowed: ${one.range}.`;
    const range = rangeOf(one);
    if (range) {
      const scale = one.unit === "s" ? 1e-3 : one.unit === "bit/s" ? 1e6 : 1;
      const unit = { s: "ms", "bit/s": "Mbit/s" }[one.unit] ?? one.unit;
      const label = one.symbol
        ? el(
            "span",
            {},
            symbol(one.symbol),
            one.symbol.replace(/[{}\\]/g, "") === one.name ? "" : el("small", {}, ` ${one.name}`),
          )
        : one.name;
      const made = knob({
        label,
        name: `${one.name} of ${this.discipline.title}`,
        ...range,
        unit,
        scale,
        value: typeof value === "number" ? value : "auto",
        text: (v) => quantity(v, one.unit),
        help: [about],
        change,
      });
      this.knobs.set(one.name, made);
      return made;
    }
    if (one.kind === "text") {
      const name = `${one.name} of ${this.discipline.title}`;
      const made = field({ label: one.name, name, value: String(value), most: 200, change, help: about });
      this.knobs.set(one.name, made);
      return made;
    }
    if (one.kind === "flag" && !one.range.includes('"auto"')) return toggle(one.name, value === true, change, about);
    const words = one.kind === "flag" ? ["auto", "true", "false"] : (one.choices ?? []);
    return choice(
      one.name,
      words.map((word) => [word, word]),
      String(value),
      (word) => {
        change(one.kind === "flag" && word !== "auto" ? word === "true" : word);
      },
      about,
    );
  }

  /** Parameters that need not be at their defaults: those of a file's scenario, and those that were set here. */
  private get set(): Record<string, Setting> {
    const { about } = this;
    const { file, line } = this.player.setup;
    const started = (file || line) && about?.aqm === this.discipline.name ? about.parameters : {};
    return { ...started, ...latest(this.player.setup)[this.index]?.set };
  }

  /** Sliders where the parameters are: after a refused change. */
  restore(): void {
    for (const one of this.discipline.parameters) {
      const value = valueOf(one, this.set);
      this.knobs.get(one.name)?.set(one.kind === "text" ? String(value) : typeof value === "number" ? value : "auto");
    }
  }

  private value(name: string): number {
    const one = this.discipline.parameters.find((p) => p.name === name);
    const value = one ? valueOf(one, this.set) : Number.NaN;
    return typeof value === "number" ? value : Number.NaN;
  }

  /** A key is pressed, to be sent in the call. */
  press(text: string): void {
    this.feel.press(text, this.player.now);
  }

  // ---- pictures ------------------------------------------------------------------------------------------------------

  private get about(): About | undefined {
    return this.player.histories[this.index]?.about;
  }

  /** Packets that the buffer holds; of 1500 B, where it counts bytes. */
  private limit(): number {
    const { about } = this;
    return about ? (Number.isFinite(about.limitPackets) ? about.limitPackets : about.limitBytes / 1500) : Number.NaN;
  }

  levels(): Level[] {
    const found: Level[] = [];
    for (const name of ["min_th", "max_th", "q_ref"]) {
      const value = this.value(name);
      if (Number.isFinite(value)) found.push({ value, name, says: `${name} ${short(value)}` });
    }
    for (const name of ["target", "qdelay_ref"]) {
      const value = this.value(name);
      const unit = this.discipline.parameters.find((p) => p.name === name)?.unit;
      if (unit === "s" && Number.isFinite(value)) {
        found.push({ value: (value * (this.about?.rate ?? 0)) / 12000, name, says: `${name} ${time(value)}` });
      }
    }
    const limit = this.limit();
    // A modem's buffer counts bytes, and packets of a line are of many sizes.
    const whole = !this.player.setup.line || Number.isFinite(this.about?.limitPackets);
    if (Number.isFinite(limit) && whole) found.push({ value: limit, name: "full", says: `buffer full ${short(limit)}` });
    return found;
  }

  /** Up to which average the drop curve is drawn: beyond its last threshold. */
  curveEnd(): number {
    const threshold = this.value("max_th");
    return 1.25 * (Number.isFinite(threshold) ? threshold : Math.min(400, this.limit() || 100));
  }

  setCurve(high: number, values: Float64Array): void {
    const known = values.some((v) => v > 0);
    this.places.curve!.hidden = !known;
    if (known) {
      // What lies far beyond the average from which everything is dropped is left out.
      const certain = values.findIndex((v) => v > 0.999);
      const shown = certain < 0 ? values : values.subarray(0, Math.ceil(1.25 * certain) + 2);
      this.curve.curve(
        Float64Array.from(shown, (_, k) => (high * k) / (values.length - 1)),
        shown,
      );
    }
    this.slow = 0;
  }

  /** The largest queue in view, for a scale that all cards share. */
  tallest(history: History, begin: number): number {
    const column = history.column(SAMPLE.packets);
    let most = 1;
    for (let k = history.from(begin); k < column.length; k += 1) most = Math.max(most, column[k]!);
    const close = this.levels()
      .filter((one) => one.value < 1.6 * most)
      .map((one) => one.value);
    return Math.max(most, ...close);
  }

  draw(history: History, now: number, begin: number, top: number, whole: boolean): void {
    const end = begin + Math.max(now - begin, 1);
    this.feel.draw(history, now, this.player.setup);
    const moment = performance.now();
    const seldom = whole || moment - this.slow >= 150;
    if (this.player.speed <= 1 || seldom) this.drawNetwork(history, now);
    // Time has moved on by less than a pixel: the curves are where they were.
    const [span, wide] = [end - begin, this.element.clientWidth];
    const pixel = `${Math.round((now / span) * wide)} ${Math.round(Math.log(span) * wide)} ${top}`;
    if (whole || pixel !== this.pixel) {
      this.pixel = pixel;
      this.queue.levels = this.levels();
      const averages = Number.isFinite(history.last(SAMPLE.average));
      const names = this.queue.levels.filter((one) => one.value <= 1.05 * top).map((one) => one.says);
      this.places.queue!.querySelector("small")!.textContent =
        ` ${averages ? "coloured: packets that wait; bold: its own average" : "packets that wait"}${names.length ? `; dashed: ${names.join(", ")}` : ""}`;
      this.queue.draw(history, begin, end, 1.05 * top);
      this.strip.draw(history, begin, end);
      this.windows.draw(history, begin, end);
    }
    // Pictures that change slowly are drawn less often.
    if (!seldom) return;
    this.slow = moment;
    const shown = Math.min(WINDOWS, history.about.flows);
    if (this.legend !== shown) {
      this.legend = shown;
      this.places.windows!.querySelector("small")!.replaceChildren(
        ...Array.from({ length: shown }, (_, k) =>
          el(
            "span",
            { class: "key", style: `--own: ${flowColour(k)}` },
            el("i", { class: "chip", "aria-hidden": "true" }),
            `flow ${k + 1}`,
          ),
        ),
      );
    }
    if (this.curve.known && !this.places.curve!.hidden)
      this.curve.draw(history.last(SAMPLE.average), history.gauge("p_b"));
    this.numbers(history, now);
    this.thoughts(history);
  }

  /** The discipline's inner values, in the words of its declaration. */
  private thoughts(history: History): void {
    const items = history.about.gauges.map(({ name, unit, about }, k) => {
      const value = history.gauges[k] ?? Number.NaN;
      return el("li", {}, el("b", {}, `${name} = ${quantity(value, unit)}`), el("span", {}, about));
    });
    const none = el("li", {}, "It keeps nothing in mind: it looks at the queue alone.");
    this.places.thinks!.replaceChildren(...(items.length ? items : [none]));
  }

  private drawNetwork(history: History, now: number): void {
    const { setup } = this.player;
    this.places.network!.hidden = setup.file !== "";
    if (setup.file) return;
    const { rate: bits, flows, aqm } = history.about;
    const { ways, after } = paths(setup, history.about);
    this.network.draw({
      history,
      now,
      // So long as to be seen, and no longer than packets are remembered.
      delay: setup.line ? Math.min(0.3, Math.max(0.003, after / 1.6)) : after,
      ways: setup.line ? ways.map((way) => Math.min(0.5, Math.max(0.003, way))) : ways,
      limit: this.limit(),
      flows,
      rate: bits,
      names: QUEUES[aqm] ?? [],
    });
  }

  private numbers(history: History, now: number): void {
    const { setup } = this.player;
    const bits = history.about.rate;
    const since = Math.max(0, now - RECENT);
    const span = Math.max(1e-9, Math.min(RECENT, now));
    const arrivals = history.since(SAMPLE.arrivals, since);
    const drops = [SAMPLE.early, SAMPLE.forced, SAMPLE.overflow].reduce((n, k) => n + history.since(k, since), 0);
    const goodput = history.goodput(now, RECENT, setup.warmup) ?? [];
    const kinds = this.kinds(history.about);
    const long = kinds.flatMap(([name, count]) => new Array<boolean>(count).fill(setup.line ? name === `${setup.line.way}loads` : name.startsWith(LONG)));
    const shares = goodput.filter((_, k) => long[k] || setup.file);
    const left = (history.since(SAMPLE.departedBytes, since) * 8) / span;
    const share = (n: number): string => (arrivals ? percent(n / arrivals, 2) : "–");
    const rows: [string, string, string, string][] = [
      ["now", "Delay", time((history.last(SAMPLE.bytes) * 8) / bits), "time that the link needs for what waits"],
      ["now", "Packets", short(history.last(SAMPLE.packets)), "that wait"],
      ["mean", "Packets", short(history.mean(SAMPLE.packets, since)), "that wait"],
      ["mean", "Link use", percent(Math.min(1, left / bits)), rate(left)],
      ["mean", "Drops", share(drops), "of arrivals"],
      ["mean", "Marks", share(history.since(SAMPLE.marks, since)), "of arrivals"],
      [
        "mean",
        "Fairness",
        shares.length > 1 ? short(jain(shares), 3) : "–",
        "Jain's index of the long flows' goodput: 1 is equal shares",
      ],
    ];
    for (const group of ["now", "mean"]) {
      const shown = rows.filter(([of, name]) => of === group && (name !== "Marks" || setup.ecn || setup.file));
      this.places[group]!.replaceChildren(
        ...shown.map(([, name, value, title]) => el("div", { title }, el("dt", {}, name), el("dd", {}, value))),
      );
    }
    // All cards have the scale of the largest bar.
    const all = this.player.histories.map((one) => one.goodput(now, RECENT, setup.warmup) ?? []);
    const most = all.reduce((top, one) => Math.max(top, ...one), 0.01);
    this.bars.draw(goodput, roundUp(most), kinds);
  }

  /** What the flows are called, with their numbers, in their order. */
  private kinds(about: About): [string, number][] {
    const { setup } = this.player;
    if (setup.file) return [["", about.flows]];
    if (setup.line) {
      const found: [string, number][] = [];
      about.entries.forEach((count, k) => {
        const name = RULES.load.titles[k] ?? "";
        if (found.at(-1)?.[0] === name) found.at(-1)![1] += count;
        else found.push([name, count]);
      });
      return found;
    }
    const names = setup.groups.map((_, k) => (setup.groups.length > 1 ? `${LONG}, group ${k + 1}` : LONG));
    if (setup.udp > 0) names.push("UDP");
    if (setup.browsers > 0) names.push("browsers");
    if (setup.call) names.push("voice");
    return about.entries.map((count, k) => [names[k] ?? "", count]);
  }

  /** The pictures that move, as far as they are shown. */
  get moving(): HTMLCanvasElement[] {
    const places = [this.places.network!, this.feel.element, this.places.queue!];
    return places.flatMap((place) => (place.offsetParent ? [...place.querySelectorAll("canvas")] : []));
  }

  /** Colours or sizes have changed. */
  forget(): void {
    this.element.style.setProperty("--own", look(this.index).colour);
    for (const picture of [this.queue, this.curve, this.windows]) picture.forget();
    [this.slow, this.legend, this.pixel] = [0, 0, ""];
  }
}
