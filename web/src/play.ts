// The play view: controls, the bar to start and stop, a card for each discipline, and the delays of all.

import { Card } from "./card";
import { controls } from "./controls";
import { announce, el } from "./dom";
import type { Drawn } from "./figure";
import { choice } from "./knob";
import { copy, latest, MOST_DISCIPLINES } from "./model";
import { short } from "./numbers";
import { look } from "./palette";
import { type Player, SPEEDS, type What } from "./player";
import { DelayPicture } from "./plots";
import { BINS, binEnd } from "./protocol";
import type { Scene } from "./video";

const SPANS: [string, string][] = [
  ["0.2", "last 0.2 s"],
  ["2", "last 2 s"],
  ["20", "last 20 s"],
  ["60", "last 60 s"],
  ["0", "all"],
];
const ENDS = Array.from({ length: BINS }, (_, k) => binEnd(k));

export class PlayView {
  readonly element: HTMLElement;
  readonly bar: HTMLElement;
  private readonly side = el("div", { class: "side-body" });
  private readonly frame: HTMLDetailsElement;
  private readonly cards = el("div", { class: "cards" });
  private readonly delays = el("div", {});
  private readonly legend = el("p", { class: "legend" });
  private readonly fault = el("p", { class: "fault", role: "alert", hidden: true });
  private readonly start = el("button", { type: "button", class: "start primary", click: () => this.toggle() });
  private readonly cancel = el(
    "button",
    { type: "button", class: "cancel", hidden: true, click: () => this.player.cancel() },
    "Cancel",
  );
  private readonly clock = el("output", { class: "clock", "aria-label": "Simulated time" });
  private readonly add = el("button", { type: "button", class: "add", click: () => this.more() }, "Add a discipline");
  private readonly speed: HTMLSelectElement;
  private readonly call = el(
    "button",
    { type: "button", class: "call", title: "A voice call joins the load, at real time", click: () => this.feel() },
    "Feel the delay",
  );
  private readonly typed = el("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Type, and watch the echo",
    input: (event: InputEvent) => this.press(event.data ?? ""),
  });
  private readonly keys = el(
    "div",
    { class: "keys", hidden: true },
    el("span", {}, "Type, and watch the echo come through each queue:"),
    this.typed,
    el("button", { type: "button", click: () => this.press("•") }, "Send a dot"),
  );
  private made: Card[] = [];
  private picture: DelayPicture | null = null;
  private titles = "";
  private span = 20;
  private drawn = 0;
  private timer = 0;

  constructor(
    private readonly player: Player,
    private readonly embed: boolean,
  ) {
    const speed = choice(
      "Speed",
      SPEEDS.map(([value, text]) => [String(value), text]),
      String(player.speed),
      (value) => {
        this.player.speed = Number(value);
      },
    );
    speed.classList.add("speed");
    this.speed = speed.querySelector("select")!;
    const span = choice("Show", SPANS, String(this.span), (value) => {
      this.span = Number(value);
      this.draw(true);
    });
    this.bar = el(
      "div",
      { class: "bar", role: "group", "aria-label": "Run" },
      this.start,
      el(
        "button",
        { type: "button", class: "step", click: () => player.step(), title: "One packet time of the link further" },
        "Step",
      ),
      el(
        "button",
        { type: "button", class: "restart", click: () => player.restart(), title: "Back to time 0" },
        "Restart",
      ),
      this.cancel,
      speed,
      span,
      this.call,
      this.clock,
    );
    this.frame = el(
      "details",
      { class: "side", open: innerWidth > 900 && !embed },
      el("summary", {}, "Link, load and run"),
      this.side,
    );
    this.element = el(
      "div",
      { class: embed ? "play embed" : "play" },
      this.frame,
      el(
        "div",
        { class: "stage" },
        this.bar,
        this.keys,
        this.fault,
        this.cards,
        embed ? null : this.add,
        el(
          "section",
          { class: "all-delays", "aria-label": "Delays" },
          el("h2", {}, "How long packets waited"),
          this.legend,
          this.delays,
        ),
      ),
    );
    player.listen((what) => this.hear(what));
    player.curves = (run, high, values) => {
      this.made[run]?.setCurve(high, values);
      this.draw(true);
    };
    new ResizeObserver(() => this.draw(true)).observe(this.cards);
    // A frame of another page that has been scrolled away.
    if (embed) new IntersectionObserver(([one]) => (player.seen = one!.isIntersecting)).observe(this.element);
  }

  private toggle(): void {
    if (this.player.playing) this.player.pause();
    else this.player.play();
  }

  /** The call joins, at real time, or leaves. */
  private feel(): void {
    const { player } = this;
    player.setup.call = !player.setup.call;
    if (player.setup.call) player.speed = 1;
    player.again();
    if (player.setup.call) {
      player.play();
      this.typed.focus({ preventScroll: true });
    }
    this.state();
  }

  private press(text: string): void {
    for (const one of text) for (const card of this.made) card.press(one);
    if (this.typed.value.length > 24) this.typed.value = this.typed.value.slice(-24);
  }

  private more(): void {
    const { setup } = this.player;
    const used = new Set(setup.disciplines.map((one) => one.aqm));
    const next = ["red", "codel", "fq_codel", "pie", "droptail", "tred"].find((name) => !used.has(name)) ?? "red";
    this.player.setup.disciplines = [...latest(setup), { aqm: next, set: {} }].slice(0, MOST_DISCIPLINES);
    this.player.setup.changes = [];
    this.rebuild();
    this.player.start(this.player.now);
  }

  private hear(what: What): void {
    if (what === "runs") {
      this.rebuild();
      this.curves();
    } else if (what === "changed") {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.curves(), 60);
    } else if (what === "refused") {
      for (const card of this.made) card.restore();
    } else if (what === "setup") {
      this.controls();
    } else if (what === "state") {
      // What cannot run can be changed all the same.
      if (this.titles) this.state();
      else this.rebuild();
    }
    this.draw(what !== "frame");
  }

  private curves(): void {
    this.made.forEach((card, k) => this.player.askCurve(k, card.curveEnd()));
  }

  /** Fold the controls away, or open them where there is space beside the pictures. */
  fold(away: boolean): void {
    this.frame.open = !away && innerWidth > 900 && !this.embed;
  }

  /** The controls as the setup has them. */
  controls(): void {
    const focused = document.activeElement?.getAttribute("aria-label") ?? "";
    let timer = 0;
    this.side.replaceChildren(
      controls(this.player.setup, this.player.laboratory.stacks, () => {
        // A slider on its way is followed, but not to every pixel.
        clearTimeout(timer);
        timer = window.setTimeout(() => this.player.again(), 40);
      }),
    );
    if (focused && this.side.isConnected) {
      const again = [...this.side.querySelectorAll("[aria-label]")].find(
        (one) => one.getAttribute("aria-label") === focused,
      );
      if (again instanceof HTMLElement) again.focus();
    }
  }

  /** Cards for the disciplines, where they are others than before. */
  private rebuild(): void {
    const { setup } = this.player;
    // A file and a line have parameters of their own, which are known when the run has started.
    const { histories } = this.player;
    const started = setup.file || setup.line ? histories.map(({ about }) => [about.aqm, about.parameters]) : [];
    const now = JSON.stringify([setup.disciplines.map((one) => one.aqm), setup.file, started]);
    if (now === this.titles && this.made.length === setup.disciplines.length) {
      for (const card of this.made) card.restore();
      return;
    }
    this.titles = now;
    for (const card of this.made) card.forget();
    this.made = setup.disciplines.flatMap((chosen, k) => {
      const discipline = this.player.discipline(chosen.aqm);
      if (!discipline) return [];
      const remove = setup.disciplines.length > 1 && !this.embed ? () => this.swap(k, null) : null;
      return [new Card(this.player, k, discipline, remove, (aqm) => this.swap(k, aqm))];
    });
    this.cards.dataset.count = String(this.made.length);
    this.cards.replaceChildren(...this.made.map((card) => card.element));
    this.add.hidden = setup.disciplines.length >= MOST_DISCIPLINES;
    this.controls();
    this.picture?.forget();
    const titles = this.made.map((_, k) => this.title(k));
    this.delays.replaceChildren();
    const place = el("div", {});
    this.delays.append(place);
    this.picture = new DelayPicture(place, titles);
    this.legends(titles);
    this.state();
  }

  private legends(titles: string[]): void {
    this.legend.replaceChildren(
      ...titles.map((title, k) =>
        el(
          "span",
          { style: `--own: ${look(k).colour}` },
          el("i", { class: "chip", "aria-hidden": "true" }),
          title,
          el("b", { class: `median-${k}` }),
        ),
      ),
    );
  }

  /** Name of a discipline, with the parameters that tell it from others of that name. */
  private title(k: number): string {
    const all = latest(this.player.setup);
    const { aqm, set } = all[k] ?? { aqm: "", set: {} };
    const title = this.player.discipline(aqm)?.title ?? aqm;
    const same = all.filter((one, i) => i !== k && one.aqm === aqm);
    const apart = Object.entries(set).filter(([name, value]) => same.some((one) => one.set[name] !== value));
    return [title, ...apart.map(([name, value]) => `${name} = ${value}`)].join(" ");
  }

  private swap(k: number, aqm: string | null): void {
    const chosen = latest(this.player.setup);
    if (aqm === null) chosen.splice(k, 1);
    else chosen[k] = { aqm, set: {} };
    this.player.setup.disciplines = copy(chosen);
    this.player.setup.changes = [];
    this.rebuild();
    this.player.start(this.player.now);
  }

  private state(): void {
    const { player } = this;
    this.speed.value = String(player.speed);
    this.start.textContent = player.playing ? "Pause" : player.done ? "Run again" : "Start";
    this.start.setAttribute("aria-pressed", String(player.playing));
    this.cancel.hidden = !player.busy;
    this.call.hidden = player.setup.file !== "";
    this.call.setAttribute("aria-pressed", String(player.setup.call));
    this.call.textContent = player.setup.call ? "End the call" : "Feel the delay";
    this.keys.hidden = !player.setup.call || player.setup.file !== "";
    this.fault.hidden = !player.fault;
    this.fault.textContent = player.fault;
    if (player.done) announce(`The run has ended at ${player.setup.duration} s of simulated time.`);
  }

  /** Everything as it stands; `whole` also what changes slowly. */
  draw(whole = false): void {
    const { player } = this;
    this.clock.textContent = `${player.now.toFixed(player.speed < 0.1 ? 4 : 2)} s`;
    if (!this.element.isConnected || !this.cards.offsetParent) return;
    const span = this.span || Math.max(1, player.now);
    const begin = Math.max(0, player.now - span);
    const shown = this.made.flatMap((card, k) => {
      const history = player.histories[k];
      return history ? [{ card, history }] : [];
    });
    const top = Math.max(10, ...shown.map(({ card, history }) => card.tallest(history, begin)));
    for (const { card, history } of shown) card.draw(history, player.now, begin, top, whole);
    const moment = performance.now();
    if (!whole && moment - this.drawn < 300) return;
    this.drawn = moment;
    const shares = shown.map(({ history }) => cumulated(history.sojourns));
    if (shares.length && shares.some((one) => one.length)) {
      this.picture?.draw(ENDS, shares);
      shares.forEach((one, k) => {
        const place = this.legend.querySelector(`.median-${k}`);
        const at = (share: number): string =>
          `${short(1e3 * (ENDS[one.findIndex((v) => v >= share)] ?? Number.NaN), 2)} ms`;
        if (place && one.length) place.textContent = `half within ${at(0.5)}, 99 % within ${at(0.99)}`;
      });
    }
  }

  /** What a figure shows: the disciplines with their histories, and from when to when. */
  figure(): [Drawn[], number, number] {
    const { player } = this;
    const begin = Math.max(0, player.now - (this.span || player.now));
    const all = this.made.flatMap((card, k) => {
      const history = player.histories[k];
      return history ? [{ title: this.title(k), history, levels: card.levels() }] : [];
    });
    return [all, begin, Math.max(begin + 1, player.now)];
  }

  /** What a video shows. */
  scenes(): Scene[] {
    return this.made.map((card, k) => ({ title: this.title(k), colour: look(k).colour, pictures: card.moving }));
  }

  /** The theme has changed. */
  theme(): void {
    for (const card of this.made) card.forget();
    this.picture?.forget();
    this.legends(this.made.map((_, k) => this.title(k)));
    this.draw(true);
  }
}

/** Shares of packets that waited at most as long as each bin's end; empty without packets. */
function cumulated(counts: Float64Array): number[] {
  const total = counts.reduce((n, x) => n + x, 0);
  if (!total) return [];
  let sum = 0;
  return Array.from(counts, (n) => (sum += n) / total);
}
