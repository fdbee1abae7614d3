// What leaves the page on demand, as a link or a file, and scenario files that are dropped on it.

import { announce, el, save } from "./dom";
import { csv, type Drawn, png, svg } from "./figure";
import { address, type View } from "./link";
import { latest } from "./model";
import type { Player } from "./player";
import { exported, FILE, opened } from "./scenario";

/** The menu of links and files; `drawn` are the pictures as they stand. */
export function sharing(player: Player, view: () => View, drawn: () => [Drawn[], number, number]): HTMLElement {
  const figure = (): string => {
    const [all, begin, end] = drawn();
    const { setup } = player;
    const load = setup.file
      ? "a scenario from a file"
      : `${setup.groups.reduce((n, g) => n + g.count, 0)} flows, ${setup.rate / 1e6} Mbit/s`;
    return svg(all, begin, end, `earlydrop ${player.laboratory.version}; ${load}, seed ${setup.seed}`);
  };
  const name = (): string =>
    latest(player.setup)
      .map((one) => one.aqm)
      .join("-");
  const item = (text: string, act: () => void | Promise<void>): HTMLElement =>
    el(
      "button",
      {
        type: "button",
        click: () => {
          Promise.resolve(act()).catch((error: unknown) =>
            announce(error instanceof Error ? error.message : String(error), true),
          );
          menu.open = false;
        },
      },
      text,
    );
  const scenarios = el("div", {});
  const menu = el(
    "details",
    { class: "menu share" },
    el("summary", {}, "Share"),
    el(
      "div",
      { class: "items" },
      item("Copy link to this moment", async () => {
        const hash = await address(player.setup, player.now, view());
        history.replaceState(null, "", hash);
        await copyText(location.href);
      }),
      scenarios,
      item("Picture (PNG)", async () => save(`${name()}.png`, await png(figure()), "image/png")),
      item("Picture (SVG)", () => save(`${name()}.svg`, figure(), "image/svg+xml")),
      item("Samples (CSV)", () =>
        save(
          `${name()}.csv`,
          csv(
            latest(player.setup).map((one) => one.aqm),
            player.histories,
          ),
          "text/csv",
        ),
      ),
      item("Results (JSON)", async () => {
        const documents = await player.results();
        save(`${name()}.json`, `[${documents.join(",\n")}]\n`, "application/json");
      }),
      open(player, () => (menu.open = false)),
    ),
  );
  menu.addEventListener("toggle", () => {
    const list = latest(player.setup).map((one, k) =>
      item(`Scenario with ${player.discipline(one.aqm)?.title ?? one.aqm} (TOML)`, () =>
        save("playground.toml", exported(player.setup, k, player.units, player.laboratory.disciplines), "application/toml"),
      ),
    );
    scenarios.replaceChildren(...list);
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target as Node)) menu.open = false;
  });
  return menu;
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce("Copied.");
  } catch {
    announce("The browser does not let the page copy. The address bar has the link.");
  }
}

function open(player: Player, done: () => void): HTMLElement {
  const file = el("input", {
    type: "file",
    accept: ".toml",
    class: "hidden-file",
    "aria-label": "Open a scenario file",
    change: () => {
      const chosen = file.files?.[0];
      if (chosen) void take(player, chosen);
      file.value = "";
      done();
    },
  });
  return el("label", { class: "open-file" }, "Open a scenario (TOML) …", file);
}

async function take(player: Player, file: File): Promise<void> {
  try {
    if (file.size > FILE) throw new Error(`a scenario file has at most ${FILE >> 20} MiB`);
    player.setup = opened(await file.text(), player.setup, player.laboratory.disciplines);
    player.now = 0;
    player.start(0);
    announce(`${file.name} is open.`);
  } catch (error) {
    announce(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, true);
  }
}

/** A link names a scenario elsewhere: the address, which the page does not ask, and a way to open the file. */
export function elsewhere(player: Player, open_: string): HTMLElement {
  const made = el(
    "section",
    { class: "elsewhere", "aria-label": "A scenario elsewhere" },
    el("p", {}, "The link names a scenario elsewhere. The page has asked for nothing there, and shows its own setup:"),
    el("code", {}, open_),
    el("p", {}, "If you trust the address, save its file, and open it here."),
    el(
      "div",
      { class: "row" },
      open(player, () => made.remove()),
      el("button", { type: "button", click: () => made.remove() }, "Close"),
    ),
  );
  return made;
}

/** Scenario files may be dropped anywhere. */
export function dropping(player: Player): void {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void take(player, file);
  });
}
