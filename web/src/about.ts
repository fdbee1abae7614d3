// What a discipline does and where it comes from: the text of its declaration, or its page where the documentation is near.

import type { Discipline } from "./catalogue";
import { el } from "./dom";

/** Where the documentation is, seen from the page; empty where it is not. */
export const DOCS = document.documentElement.dataset.docs ?? "";

/** A link to a page of the documentation; nothing where there is none. */
export function docsLink(page: string, text: string): HTMLElement | null {
  return DOCS ? el("a", { href: `${DOCS}${page}`, target: "_parent" }, text) : null;
}

/** A link to the discipline's page, or a button that opens its text. */
export function about(one: Discipline): HTMLElement {
  const link = docsLink(`aqms/${one.name}.html`, `About ${one.title}`);
  return link ?? el("button", { type: "button", class: "link", click: () => open(one) }, `About ${one.title}`);
}

function open(one: Discipline): void {
  const close = el("button", { type: "button", class: "primary", click: () => dialog.close() }, "Close");
  const dialog = el(
    "dialog",
    { "aria-label": one.title, close: () => dialog.remove() },
    el("h2", {}, `${one.title} (${one.year})`),
    ...text(one.doc),
    close,
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** The sections before the example, as elements: headings, paragraphs, tables, lists and code. */
function text(doc: string): HTMLElement[] {
  const body = doc.replace(/^# .*\n/, "").split(/^## Example/m)[0]!;
  return body
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const lines = block.split("\n");
      if (block.startsWith("## ")) {
        const [head, ...rest] = lines;
        return el("div", {}, el("h3", {}, head!.slice(3)), rest.length ? paragraph(rest) : null);
      }
      if (block.startsWith("```")) return el("pre", {}, lines.slice(1, -1).join("\n"));
      if (block.startsWith("    ")) return el("pre", {}, block);
      if (lines.every((line) => line.trimStart().startsWith("|"))) return table(lines);
      return paragraph(lines);
    });
}

function paragraph(lines: string[]): HTMLElement {
  if (!/^(\d+\.|-) /.test(lines[0]!)) return el("p", {}, ...spans(lines.join(" ")));
  const items: string[] = [];
  for (const line of lines) {
    if (/^(\d+\.|-) /.test(line)) items.push(line.replace(/^(\d+\.|-) /, ""));
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return el(lines[0]!.startsWith("-") ? "ul" : "ol", {}, ...items.map((item) => el("li", {}, ...spans(item))));
}

function table(lines: string[]): HTMLElement {
  const cells = (line: string): string[] =>
    line
      .trim()
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim());
  const [head, , ...rows] = lines.map(cells);
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "text" },
      head!.some(Boolean) ? el("thead", {}, el("tr", {}, ...head!.map((cell) => el("th", {}, ...spans(cell))))) : null,
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, ...spans(cell)))))),
    ),
  );
}

function spans(line: string): (Node | string)[] {
  return line.split(/(`[^`]+`)/).map((part) => (part.startsWith("`") ? el("code", {}, part.slice(1, -1)) : part));
}
