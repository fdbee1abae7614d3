// The view of a home's line: what it is like, what `earlydrop advise` sets up for it, and beside it the line itself, as it
// is today and with that queue.

import { docsLink } from "./about";
import { el, id } from "./dom";
import { choice } from "./knob";
import { type Line, lineText, notes, presetLine, readRate, readTime, RULES, sqmConfig, tcLines, tcUndo, TODAY, usualRtt, type Way } from "./line";
import { short } from "./numbers";
import type { Player } from "./player";
import { Pinned } from "./pinned";
import { lineSetup } from "./scenario";
import { copyText } from "./share";

/** For so long a field rests before the line runs anew, ms. */
const REST = 500;

export class LineView {
  readonly element = el("section", { class: "learn my-line", "aria-label": "My line" });
  private line: Line = presetLine(RULES.presets.find((one) => one.link === "docsis")!);
  private aqm = RULES.preferred[0]!;
  private readonly fields = el("div", { class: "fields" });
  private readonly fault = el("p", { class: "fault", role: "alert", hidden: true });
  private readonly says = el("div", { class: "says" });
  private readonly run = el("button", { type: "button", class: "primary", click: () => this.start() }, "See it run");
  private readonly pinned: Pinned;
  private timer = 0;

  constructor(private readonly player: Player) {
    this.pinned = new Pinned(player);
    const presets = RULES.presets.map((one) =>
      el(
        "button",
        {
          type: "button",
          click: () => {
            this.line = { ...presetLine(one), way: this.line.way };
            this.form();
            this.start();
          },
        },
        one.title,
      ),
    );
    this.element.append(
      el("h2", { tabindex: -1 }, "My line"),
      el(
        "p",
        {},
        "What is your line at home? Here is what ",
        docsLink("home.html", "earlydrop advise") ?? el("code", {}, "earlydrop advise"),
        " sets up for it, and how a call and pages do on it while others download and upload.",
      ),
      el("div", { class: "row", role: "group", "aria-label": "Lines to begin with" }, ...presets),
      this.fields,
      this.fault,
      this.run,
      this.pinned.element,
      this.says,
    );
    player.listen((what) => {
      if (what === "setup" && !this.element.hidden) this.show();
    });
  }

  /** The view is opened, with the line of the setup if it has one. */
  show(): void {
    const { setup } = this.player;
    if (setup.line) {
      this.line = setup.line;
      this.aqm = setup.disciplines.map((one) => one.aqm).find((one) => RULES.sqm.includes(one)) ?? this.aqm;
    }
    this.form();
  }

  private start(): void {
    clearTimeout(this.timer);
    const { player } = this;
    player.setup = lineSetup(player.setup, this.line, this.aqm);
    player.now = 0;
    player.open();
    this.say();
  }

  /** Something has been changed: the advice follows at once, and a line that runs already a little later. */
  private changed(): void {
    this.say();
    clearTimeout(this.timer);
    if (this.player.setup.line && this.fault.hidden) this.timer = window.setTimeout(() => this.start(), REST);
  }

  private form(): void {
    this.fault.hidden = true;
    const { line } = this;
    const wrong = new Map<string, string>();
    const field = (name: string, unit: string, value: number, read: (text: string) => number, key: "down" | "up" | "rtt"): HTMLElement => {
      const at = id("field");
      const box = el("input", {
        type: "text",
        inputmode: "decimal",
        id: at,
        size: 7,
        autocomplete: "off",
        spellcheck: "false",
        value: short(value, 6),
        input: () => {
          wrong.delete(key);
          try {
            this.line = { ...this.line, [key]: read(box.value) };
          } catch (error) {
            wrong.set(key, (error as Error).message);
          }
          box.toggleAttribute("aria-invalid", wrong.has(key));
          this.fault.textContent = [...wrong.values()].join(" ");
          this.fault.hidden = wrong.size === 0;
          this.changed();
        },
      });
      return el("div", { class: "field" }, el("label", { for: at }, name), el("span", {}, box, ` ${unit}`));
    };
    const kinds = Object.entries(RULES.links).map(([name, { title }]) => [name, title] as [string, string]);
    this.fields.replaceChildren(
      choice("Kind of line", kinds, line.link, (link) => {
        // The round trip follows the kind, unless it was given.
        const own = this.line.rtt !== usualRtt(this.line.link);
        this.line = { ...this.line, link, rtt: own ? this.line.rtt : usualRtt(link) };
        this.form();
        this.changed();
      }),
      field("Down", "Mbit/s", line.down / 1e6, (text) => readRate("Down", text), "down"),
      field("Up", "Mbit/s", line.up / 1e6, (text) => readRate("Up", text), "up"),
      field("Round trip", "ms", line.rtt, (text) => readTime("Round trip", text), "rtt"),
      choice(
        "Queue to set up",
        RULES.sqm.map((name) => [name, this.player.discipline(name)?.title ?? name]),
        this.aqm,
        (aqm) => {
          this.aqm = aqm;
          this.changed();
        },
      ),
      way(line.way, (to) => {
        this.line = { ...this.line, way: to };
        this.changed();
      }),
    );
    this.say();
  }

  /** The advice for the line. */
  private say(): void {
    const { line, aqm } = this;
    const all = this.player.laboratory.disciplines;
    const title = this.player.discipline(aqm)?.title ?? aqm;
    this.run.hidden = this.player.setup.line !== null;
    this.element.classList.toggle("running", this.run.hidden);
    const tc = [...tcLines(line, all, aqm), "", "# Removed with:", ...tcUndo().map((one) => `# ${one}`)].join("\n");
    const wide = innerWidth > 1100;
    this.says.replaceChildren(
      el("p", { class: "claim" }, `${title}, shaped to ${100 * RULES.shaped} % of the line's rate.`),
      el("p", { class: "paper" }, lineText(line)),
      ...notes(line).map((text) => el("p", {}, text)),
      code("Linux, as root", tc, wide),
      code("OpenWrt: /etc/config/sqm", sqmConfig(line, all, aqm), wide),
      el(
        "p",
        { class: "soft" },
        `In the first card the modem's own queue, as it is today (${this.player.discipline(TODAY)?.title ?? TODAY}); in the second ${title}. “earlydrop advise” also ranks the queues, over several seeds.`,
      ),
    );
  }
}

/** The direction whose queue is looked at. */
export function way(now: Way, change: (to: Way) => void): HTMLElement {
  const ways: [string, string][] = [
    ["up", "of the way up"],
    ["down", "of the way down"],
  ];
  return choice("Show the queue", ways, now, (to) => change(to as Way));
}

function code(title: string, text: string, open: boolean): HTMLElement {
  return el(
    "details",
    { class: "code", open },
    el("summary", {}, title),
    el("pre", { tabindex: 0, role: "region", "aria-label": title }, text.replaceAll("\t", "    ")),
    el("button", { type: "button", click: () => void copyText(text) }, "Copy"),
  );
}
