// What leaves the page on demand, as a link or a file, and scenario files that are dropped on it.

import { announce, el, save } from "./dom";
import { csv, type Drawn, png, svg } from "./figure";
import { RULES } from "./line";
import { address, asked, type View } from "./link";
import { latest } from "./model";
import { short, time } from "./numbers";
import type { Player } from "./player";
import { isPng, label, labelled } from "./png";
import { bottleneckRate, exported, FILE, opened } from "./scenario";
import { type Scene, video } from "./video";

/** What is shown, in a line: the disciplines, the link and its load. */
export function headline(player: Player): string {
  const { setup } = player;
  const names = latest(setup).map((one) => player.discipline(one.aqm)?.title ?? one.aqm);
  const all = names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
  const mbit = (bits: number): string => short(bits / 1e6, 4);
  if (setup.file) return `${all}: a scenario from a file`;
  if (setup.line) {
    const { link, down, up, rtt, way } = setup.line;
    return `${all}: ${RULES.links[link]!.title}, ${mbit(down)}/${mbit(up)} Mbit/s, ${short(rtt, 4)} ms, way ${way}`;
  }
  const flows = setup.groups.reduce((n, group) => n + group.count, 0);
  const rtts = setup.groups.flatMap((group) => group.rtt);
  const [least, most] = [Math.min(...rtts), Math.max(...rtts)].map((one) => time(one));
  const load = `${flows} flow${flows === 1 ? "" : "s"} of ${least === most ? least : `${least} to ${most}`}`;
  const others = [setup.udp > 0 && "UDP", setup.browsers > 0 && "browsers", setup.call && "a call"].filter(Boolean);
  return `${all}: ${mbit(bottleneckRate(setup))} Mbit/s, ${[load, ...others].join(", ")}`;
}

/** The menu of links and files; `drawn` are the pictures as they stand, `scenes` as they move. */
export function sharing(
  player: Player,
  view: () => View,
  drawn: () => [Drawn[], number, number],
  scenes: () => Scene[],
): HTMLElement {
  const figure = (): string => {
    const [all, begin, end] = drawn();
    return svg(all, begin, end, headline(player), `earlydrop ${player.laboratory.version}; seed ${player.setup.seed}`);
  };
  const picture = async (): Promise<Blob> => {
    const made = await png(figure());
    // A setup that no link can hold is in no picture either.
    const hash = await address(player.setup, player.now, view()).catch(() => "");
    return hash ? labelled(made, hash.slice(1)) : made;
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
      item("Picture (PNG)", async () => save(`${name()}.png`, await picture(), "image/png")),
      item("Picture (SVG)", () => save(`${name()}.svg`, figure(), "image/svg+xml")),
      item("Video of 5 s (MP4 or WebM)", async () => {
        announce("Five seconds are recorded.");
        const [made, ending] = await video(player, headline(player), scenes);
        save(`${name()}.${ending}`, made, made.type);
        announce("The video is saved.");
      }),
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
    accept: ".toml,.png",
    class: "hidden-file",
    "aria-label": "Open a scenario file, or a picture of this page",
    change: () => {
      const chosen = file.files?.[0];
      if (chosen) void take(player, chosen);
      file.value = "";
      done();
    },
  });
  return el("label", { class: "open-file" }, "Open a scenario (TOML) or a picture (PNG) …", file);
}

async function take(player: Player, file: File): Promise<void> {
  try {
    if (await isPng(file)) {
      const setup = await label(file);
      if (!/^(view=[a-z]+&)?s=[\w-]*$/.test(setup)) throw new Error("its setup is none of this page's");
      const hash = `#${setup}`;
      // What a link may not hold, a picture may not either.
      await asked(hash);
      history.replaceState(null, "", hash);
      dispatchEvent(new HashChangeEvent("hashchange"));
      return announce(`${file.name} is open.`);
    }
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
