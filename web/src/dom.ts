// Short ways to make elements.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/**
 * An element with attributes and children; an attribute that is a function listens to the event of its name. A style
 * goes in as properties, which the page's policy allows.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") made.style.cssText = String(value);
    else if (typeof value === "function") made.addEventListener(name, value as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child): child is Node | string => Boolean(child)));
  return made;
}

/** A symbol as papers print it, `min_{th}`, with its index lowered. */
export function symbol(latex: string): DocumentFragment {
  const made = document.createDocumentFragment();
  const [base = "", index = ""] = latex.replaceAll("\\", "").split(/_(.+)/);
  const greek: Record<string, string> = {
    alpha: "α",
    beta: "β",
    gamma: "γ",
    epsilon: "ε",
    theta: "θ",
    kappa: "κ",
    phi: "φ",
    tau: "τ",
    lambda: "λ",
    delta: "δ",
    Delta: "Δ",
    rho: "ρ",
    omega: "ω",
  };
  made.append(greek[base] ?? base);
  if (index)
    made.append(el("sub", {}, greek[index.replace(/[{}]/g, "")] ?? index.replace(/[{}]/g, "").replaceAll(",", ", ")));
  return made;
}

/** Whether nothing may move before somebody starts it. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

let serial = 0;

/** An id that no other element has. */
export function id(prefix: string): string {
  serial += 1;
  return `${prefix}-${serial}`;
}

/** Offer a text or a picture as a file. */
export function save(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Say something to screen readers and show it for a while. */
export function announce(text: string, alarm = false): void {
  const place = document.querySelector("#notice");
  if (!(place instanceof HTMLElement)) return;
  place.textContent = text;
  place.classList.toggle("alarm", alarm);
  place.hidden = false;
  clearTimeout(Number(place.dataset.timer));
  place.dataset.timer = String(setTimeout(() => (place.hidden = true), alarm ? 12_000 : 5_000));
}
