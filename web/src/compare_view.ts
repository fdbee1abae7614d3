// The compare view: the disciplines of the play view over several seeds, their paired differences, and the verdict in words.

import { type Comparison, compare, markdown, table } from "./comparison";
import { docsLink } from "./about";
import { announce, el } from "./dom";
import { knob } from "./knob";
import type { Laboratory } from "./laboratory";
import { latest, settled } from "./model";
import { short } from "./numbers";
import type { Player } from "./player";
import { queuesOf } from "./scenario";
import { copyText } from "./share";
import { sentences } from "./words";

export class CompareView {
  readonly element: HTMLElement;
  private seeds = 10;
  /** Cancels what runs; null where nothing does. */
  private stop: (() => void) | null = null;
  private result: Comparison | null = null;
  private readonly progress = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Runs done" });
  private readonly run = el("button", { type: "button", class: "primary", click: () => this.toggle() }, "Compare");
  private readonly out = el("div", { class: "comparison", "aria-live": "polite" });
  private readonly about = el("p", { class: "soft" });

  constructor(
    private readonly player: Player,
    private readonly laboratory: () => Promise<Laboratory>,
  ) {
    this.element = el(
      "div",
      { class: "compare" },
      el("h2", {}, "Compare over seeds"),
      el(
        "p",
        {},
        "Runs every discipline of the play view with the same seeds, and takes the difference seed by seed. ",
        docsLink("statistics.html", "How it is computed"),
      ),
      this.about,
      el(
        "div",
        { class: "row" },
        knob({
          label: "Seeds",
          name: "Number of seeds",
          low: 2,
          high: 50,
          whole: true,
          value: this.seeds,
          unit: "",
          text: (v) => short(v),
          help: ["More seeds, narrower intervals: four times as many halve them."],
          change: (v) => {
            this.seeds = Math.max(1, v as number);
          },
        }),
        this.run,
        this.progress,
      ),
      this.out,
    );
  }

  /** The view is opened. */
  show(): void {
    const chosen = latest(this.player.setup).map((one) => this.title(one.aqm, one.set));
    const { setup } = this.player;
    this.about.textContent = `${chosen.join(", ")}; each ${setup.duration} s of simulated time, counted from ${setup.warmup} s on. The first is the one that the others are compared with.`;
  }

  private title(aqm: string, set: Record<string, unknown>): string {
    const known = this.player.discipline(aqm)?.title ?? aqm;
    const apart = Object.entries(set).map(([key, value]) => `${key}=${String(value)}`);
    return [known, ...apart].join(" ");
  }

  private toggle(): void {
    if (this.stop) this.stop();
    else void this.start();
  }

  private async start(): Promise<void> {
    this.run.textContent = "Cancel";
    this.progress.hidden = false;
    this.progress.value = 0;
    this.out.replaceChildren();
    try {
      const setup = settled(this.player.setup);
      // The titles that `earlydrop compare` gives: settings only beside the control's, which the exported scenario has.
      const titles = setup.disciplines.map((one) => this.title(one.aqm, one.set));
      const laboratory = await this.laboratory();
      this.stop = () => laboratory.cancel();
      const documents = await laboratory.compare(this.player.tomls(setup), setup.seed, this.seeds, (share) => {
        this.progress.value = share;
      });
      this.result = compare(
        titles,
        documents.map((group) => group.map((text) => JSON.parse(text) as unknown)),
        queuesOf(setup),
      );
      this.write(this.result);
    } catch (error) {
      announce(error instanceof Error ? error.message : String(error), true);
    } finally {
      this.stop = null;
      this.run.textContent = "Compare";
      this.progress.hidden = true;
    }
  }

  private write(result: Comparison): void {
    const [head, ...rows] = table(result) as [string[], ...string[][]];
    const body = rows.map(([name, ...cells]) =>
      el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((text) => el("td", {}, text))),
    );
    this.out.replaceChildren(
      el("h3", {}, "What was found"),
      ...sentences(result).map((text) => el("p", { class: "found" }, text)),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of the comparison" },
        el(
          "table",
          {},
          el(
            "thead",
            {},
            el("tr", {}, ...head.map((text, k) => (k ? el("th", { scope: "col" }, text) : el("td", {})))),
          ),
          el("tbody", {}, ...body),
        ),
      ),
      el(
        "p",
        { class: "soft" },
        `Means over ${result.seeds} seeds ± half of the 95 % interval. * the interval of the difference excludes zero; ** it remains after Holm's correction for all differences of the table. [a, b] is an interval that is cut at the smallest or largest value that the measure can take.`,
      ),
      el("button", { type: "button", click: () => void copyText(markdown(result)) }, "Copy as Markdown"),
    );
  }
}
