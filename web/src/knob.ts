// A slider with its exact value beside it, and what it means where the pointer or the keyboard is on it.

import { el, id } from "./dom";
import { short } from "./numbers";

export interface Knob {
  label: Node | string;
  /** What the label is called where it is not read by eye. */
  name: string;
  low: number;
  high: number;
  value: number | "auto";
  log?: boolean;
  whole?: boolean;
  /** The word auto is allowed. */
  auto?: boolean;
  /** The slider's left end is 0. */
  zero?: boolean;
  /** Unit of the exact value, and by what it is divided for display. */
  unit: string;
  scale?: number;
  /** Text with unit for the value. */
  text: (value: number) => string;
  help?: (Node | string)[];
  change: (value: number | "auto") => void;
}

const STEPS = 1000;

/** The slider's element; `set` moves it without a change. */
export interface KnobElement extends HTMLElement {
  set(value: number | string): void;
}

export function knob(one: Knob): KnobElement {
  const at = id("knob");
  const scale = one.scale ?? 1;
  const low = one.low;
  const high = Math.max(one.high, typeof one.value === "number" ? one.value : 0);
  const place = (value: number): number => {
    if (!one.log) return (STEPS * (value - low)) / (high - low);
    if (value < low) return 0;
    return (one.zero ? 1 : 0) + ((STEPS - 1) * Math.log(value / low)) / Math.log(high / low);
  };
  const read = (step: number): number => {
    let value: number;
    if (!one.log) value = low + ((high - low) * step) / STEPS;
    else if (one.zero && step < 1) return 0;
    else value = low * Math.exp((Math.log(high / low) * (step - (one.zero ? 1 : 0))) / (STEPS - 1));
    if (one.whole) return Math.round(value);
    // Values that people would write: three digits.
    return Math.min(high, Math.max(low, Number(value.toPrecision(one.log ? 2 : 3))));
  };
  const slider = el("input", {
    type: "range",
    min: 0,
    max: STEPS,
    step: one.whole && !one.log ? STEPS / Math.max(1, high - low) : "any",
    id: at,
    "aria-label": one.name,
    "aria-describedby": `${at}-help`,
  });
  const exact = el("input", {
    type: "text",
    inputmode: "decimal",
    class: "exact",
    size: 7,
    "aria-label": `${one.name}, exact value${one.unit ? ` in ${one.unit}` : ""}`,
    autocomplete: "off",
    spellcheck: "false",
  });
  let current = one.value;
  const show = (): void => {
    slider.disabled = current === "auto";
    exact.value = current === "auto" ? "auto" : short(current / scale, 6).replace("−", "-");
    slider.setAttribute("aria-valuetext", current === "auto" ? "auto" : one.text(current));
    if (current !== "auto") slider.value = String(place(current));
    if (automatic) automatic.setAttribute("aria-pressed", String(current === "auto"));
  };
  const automatic = one.auto
    ? el(
        "button",
        {
          type: "button",
          class: "auto",
          "aria-label": `${one.name}: auto`,
          click: () => take(current === "auto" ? read(STEPS / 2) : "auto"),
        },
        "auto",
      )
    : null;
  const take = (value: number | "auto"): void => {
    if (value === current) return show();
    current = value;
    show();
    one.change(value);
  };
  slider.addEventListener("input", () => take(read(Number(slider.value))));
  // Arrow keys move by a hundredth of the way, or by one.
  slider.addEventListener("keydown", (event: KeyboardEvent) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!way || current === "auto") return;
    event.preventDefault();
    const before = current;
    if (one.whole && !one.log) return take(Math.min(high, Math.max(low, before + way)));
    let step = place(before);
    let next = before;
    do {
      step += (way * STEPS) / 100;
      next = read(Math.min(STEPS, Math.max(0, step)));
    } while (next === before && step > 0 && step < STEPS);
    take(next);
  });
  exact.addEventListener("change", () => {
    const text = exact.value.trim().replace(",", ".").replace("−", "-");
    const value = text === "auto" && one.auto ? "auto" : Number(text) * scale;
    if (value !== "auto" && (text === "" || !Number.isFinite(value))) return show();
    take(value === "auto" ? value : one.whole ? Math.round(value) : value);
  });
  const made = el(
    "div",
    { class: "knob" },
    el("label", { for: at }, one.label),
    el("span", { class: "value" }, exact, one.unit ? el("span", { class: "unit" }, one.unit) : null, automatic),
    slider,
    el("div", { class: "tip", id: `${at}-help` }, ...(one.help ?? [])),
  ) as HTMLElement as KnobElement;
  made.set = (value) => {
    current = typeof value === "number" ? value : "auto";
    show();
  };
  show();
  return made;
}

/** A line of text with its label. */
export function field(one: {
  label: string;
  name?: string;
  value: string;
  /** Most characters. */
  most: number;
  change: (value: string) => void;
  help?: string;
}): KnobElement {
  const at = id("field");
  const input = el("input", {
    type: "text",
    id: at,
    value: one.value,
    maxlength: one.most,
    "aria-label": one.name ?? one.label,
    "aria-describedby": one.help ? `${at}-help` : null,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    change: () => one.change(input.value),
  });
  const made = el(
    "div",
    { class: "text-field" },
    el("label", { for: at }, one.label),
    input,
    one.help ? el("div", { class: "tip", id: `${at}-help` }, one.help) : null,
  ) as HTMLElement as KnobElement;
  made.set = (value) => {
    input.value = String(value);
  };
  return made;
}

/** A list to choose from, with its label. */
export function choice(
  label: string,
  options: [string, string][] | Map<string, [string, string][]>,
  value: string,
  change: (value: string) => void,
  help = "",
): HTMLElement {
  const at = id("choice");
  const entries = (list: [string, string][]): HTMLOptionElement[] =>
    list.map(([name, text]) => el("option", { value: name, selected: name === value }, text));
  const list = el("select", {
    id: at,
    change: () => change(list.value),
    "aria-describedby": help ? `${at}-help` : null,
  });
  if (options instanceof Map) {
    for (const [group, some] of options) list.append(el("optgroup", { label: group }, ...entries(some)));
  } else {
    list.append(...entries(options));
  }
  return el(
    "div",
    { class: "choice" },
    el("label", { for: at }, label),
    list,
    help ? el("div", { class: "tip", id: `${at}-help` }, help) : null,
  );
}

/** A switch with its label. */
export function toggle(label: string, value: boolean, change: (value: boolean) => void, help = ""): HTMLElement {
  const at = id("toggle");
  const box = el("input", {
    type: "checkbox",
    id: at,
    checked: value,
    change: () => change(box.checked),
    "aria-describedby": help ? `${at}-help` : null,
  });
  return el(
    "div",
    { class: "toggle" },
    box,
    el("label", { for: at }, label),
    help ? el("div", { class: "tip", id: `${at}-help` }, help) : null,
  );
}
