// The learn view: a list of stories, and the steps of the one that is open beside the live run.

import { el, still } from "./dom";
import type { Laboratory } from "./laboratory";
import type { Player } from "./player";
import { Pinned } from "./pinned";
import { at, type Result, STORIES, type Story } from "./stories";

export class LearnView {
  readonly element = el("section", { class: "learn", "aria-label": "Guided stories" });
  private open: Story | null = null;
  private step = 0;
  /** Answers that were guessed, by story; -1 where somebody wanted none. */
  private readonly guesses = new Map<string, number>();
  private readonly pinned: Pinned;

  /** Cancels what is measured; null where nothing is. */
  private stop: (() => void) | null = null;

  constructor(
    private readonly player: Player,
    private readonly laboratory: () => Promise<Laboratory>,
  ) {
    this.pinned = new Pinned(player);
  }

  /** Whether the open story waits for a guess. */
  private get asking(): boolean {
    return this.open !== null && this.step === 0 && !this.guesses.has(this.open.id);
  }

  /** The view is opened, with the story of the setup if it has one; at a moment that somebody shared nothing is asked. */
  show(shared = false): void {
    const { setup } = this.player;
    this.open = STORIES.find((one) => one.id === setup.story) ?? null;
    this.step = Math.min(setup.step, (this.open?.steps.length ?? 1) - 1);
    if (this.open && shared) this.guesses.set(this.open.id, -1);
    this.draw();
  }

  /** Begin a story, or go to another of its steps. */
  go(story: Story, step: number): void {
    const other =
      this.open !== story || at(story, step).udp !== this.player.setup.udp || changes(story, this.step, step);
    this.open = story;
    this.step = step;
    const { player } = this;
    if (other) {
      const moment = step === 0 ? 0 : player.now;
      player.setup = at(story, step);
      if (step === 0) player.now = 0;
      player.start(moment >= player.setup.duration - 1 ? 0 : moment);
    } else {
      player.setup.step = step;
    }
    this.run();
    this.draw();
    this.element.querySelector<HTMLElement>("h2")?.focus();
  }

  /** Starts the open step at its speed; with reduced motion it waits to be started. */
  run(): void {
    const { player } = this;
    if (!this.open || player.setup.story !== this.open.id) return;
    player.speed = this.open.steps[this.step]?.speed ?? 3;
    if (still() || this.asking) player.pause();
    else player.play();
  }

  private draw(): void {
    const story = this.open;
    if (!story) {
      this.element.replaceChildren(
        el("h2", {}, "Stories"),
        el("p", {}, "Each is a short walk through one idea, beside a live run that you may change at any time."),
        el(
          "ol",
          { class: "stories" },
          ...STORIES.map((one) =>
            el(
              "li",
              {},
              el(
                "button",
                { type: "button", click: () => this.go(one, 0) },
                el("b", {}, one.title),
                el("span", {}, one.guess.ask),
              ),
            ),
          ),
        ),
      );
      return;
    }
    if (this.asking) return this.ask(story);
    const { step } = this;
    const guess = this.guesses.get(story.id) ?? -1;
    const last = step === story.steps.length - 1;
    const found = el("p", { class: "measured", "aria-live": "polite" });
    this.element.replaceChildren(
      this.back(),
      el("h2", { tabindex: -1 }, story.title),
      guess >= 0 ? el("p", { class: "guessed" }, answered(story, guess)) : "",
      el("p", { class: "claim" }, story.claim),
      el("p", { class: "paper" }, story.paper),
      this.pinned.element,
      el(
        "div",
        { class: "step-text" },
        el("p", { class: "soft" }, `Step ${step + 1} of ${story.steps.length}`),
        el("p", {}, story.steps[step]!.text),
      ),
      el(
        "div",
        { class: "row" },
        el("button", { type: "button", disabled: step === 0, click: () => this.go(story, step - 1) }, "Back"),
        last
          ? el("button", { type: "button", class: "primary", click: () => this.next(story) }, "Next story")
          : el("button", { type: "button", class: "primary", click: () => this.go(story, step + 1) }, "Next"),
        el(
          "button",
          {
            type: "button",
            click: (event: Event) => void this.measure(story, found, event.currentTarget as HTMLButtonElement),
          },
          "Measure it",
        ),
      ),
      found,
    );
    this.pinned.draw(true);
  }

  /** The question of a story, before it shows anything. */
  private ask({ id, title, guess }: Story): void {
    const take = (answer: number): void => {
      this.guesses.set(id, answer);
      this.run();
      this.draw();
      this.element.querySelector<HTMLElement>("h2")?.focus();
    };
    this.element.replaceChildren(
      this.back(),
      el("h2", { tabindex: -1 }, title),
      el("p", { class: "claim" }, guess.ask),
      el(
        "div",
        { class: "row answers", role: "group", "aria-label": "Your guess" },
        ...guess.answers.map((text, k) => el("button", { type: "button", click: () => take(k) }, text)),
      ),
      el("button", { type: "button", class: "link", click: () => take(-1) }, "Show it without a guess"),
    );
  }

  private back(): HTMLElement {
    const click = (): void => {
      this.open = null;
      this.player.setup.story = "";
      this.draw();
    };
    return el("button", { type: "button", class: "plain", click }, "← All stories");
  }

  private next(story: Story): void {
    this.go(STORIES[(STORIES.indexOf(story) + 1) % STORIES.length]!, 0);
  }

  /** The whole runs of all steps, and what they show of the claim. */
  private async measure(story: Story, place: HTMLElement, button: HTMLButtonElement): Promise<void> {
    if (this.stop) return this.stop();
    button.textContent = "Cancel";
    place.textContent = "Running every step to its end …";
    try {
      const laboratory = await this.laboratory();
      this.stop = () => laboratory.cancel();
      const results: Result[][] = [];
      for (let step = 0; step < story.steps.length; step += 1) {
        const tomls = this.player.tomls(at(story, step));
        const documents = await laboratory.compare(tomls, 1, 1);
        results.push(documents.map(([text]) => JSON.parse(text!) as Result));
      }
      const { holds, says } = story.check(results);
      place.textContent = `${says}${holds ? "" : " This run does not show the claim."}`;
    } catch (error) {
      place.textContent = error instanceof Error ? error.message : String(error);
    } finally {
      this.stop = null;
      button.textContent = "Measure it";
    }
  }
}

/** What is said of a guess. */
function answered({ guess }: Story, answer: number): string {
  const [mine, right] = [guess.answers[answer], guess.answers[guess.right]];
  return answer === guess.right ? `Your guess is right: “${right}”.` : `You guessed “${mine}”. It is “${right}”.`;
}

/** Whether the setups of two steps differ. */
function changes(story: Story, from: number, to: number): boolean {
  const bare = (step: number): string => JSON.stringify({ ...at(story, step), step: 0 });
  return bare(from) !== bare(to) || to < from;
}
