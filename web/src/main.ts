// The page: its head with the three views, and what ties them together.

import "./style.css";
import { ChallengeView } from "./challenge_view";
import { CompareView } from "./compare_view";
import { announce, el } from "./dom";
import { compiled, type Given, Laboratory } from "./laboratory";
import { LearnView } from "./learn";
import { LineView } from "./line_view";
import { type Asked, asked, fetched, located, type View, VIEWS } from "./link";
import { OPENING } from "./model";
import { opened as read } from "./scenario";
import { PlayView } from "./play";
import { Player } from "./player";
import { dropping, elsewhere, sharing } from "./share";

/** Draws what is there in the colours of another theme. */
let recolour = (): void => {};

// A page that has this one in a frame says which theme it has: it need not be the system's.
addEventListener("message", ({ data }: MessageEvent<{ theme?: unknown } | null>) => {
  const theme = data?.theme;
  if (theme !== "light" && theme !== "dark") return;
  document.documentElement.dataset.theme = theme;
  recolour();
});

/** What the page's address asks for; `open` is left where its scenario is elsewhere. */
/** A message of somebody else's file or link, no longer than people read. */
const cut = (text: string): string => (text.length > 300 ? `${text.slice(0, 200)}...${text.slice(-90)}` : text);

async function opened(laboratory: Laboratory): Promise<Asked> {
  try {
    const found = await asked(location.hash);
    const given = (globalThis as Given).earlydropScenario;
    const where = found.open && given === undefined ? located(found.open) : null;
    const text = given ?? (where ? await fetched(where) : null);
    if (text !== null) found.setup = read(text, found.setup, laboratory.disciplines);
    if (text !== null && found.setup.line && !found.embed) found.view = "line";
    found.open = text === null && where ? where.href.slice(0, 1000) : "";
    const known = new Set(laboratory.disciplines.map((one) => one.name));
    const strange = found.setup.disciplines.filter((one) => !known.has(one.aqm)).map((one) => one.aqm.slice(0, 40));
    if (strange.length) throw new Error(`There is no discipline called ${strange.join(", ")}.`);
    return found;
  } catch (error) {
    announce(`${cut((error as Error).message).replace(/\.?$/, ".")} The page starts with its own setup.`, true);
    return { setup: structuredClone(OPENING), at: 0, fresh: true, embed: false, view: "play", open: "" };
  }
}

async function begin(): Promise<void> {
  const app = document.querySelector<HTMLElement>("#app")!;
  const notice = el("p", { id: "notice", role: "status", "aria-live": "polite", hidden: true });
  document.body.append(notice);
  const module = await compiled();
  const laboratory = new Laboratory();
  await laboratory.load(module);
  const wanted = await opened(laboratory);
  const player = new Player(laboratory, wanted.setup);
  laboratory.listen((message) => player.hear(message));

  // Comparisons have a worker of their own, so that the live run goes on.
  let second: Promise<Laboratory> | null = null;
  const other = (): Promise<Laboratory> =>
    (second ??= (async () => {
      const made = new Laboratory();
      await made.load(module);
      return made;
    })());

  const play = new PlayView(player, wanted.embed);
  const compare = new CompareView(player, other);
  const learn = new LearnView(player, other);
  const challenge = new ChallengeView(player, other, () => show("play"));
  recolour = () => {
    play.theme();
    challenge.draw();
  };
  const line = new LineView(player);
  const results = async (tomls: string[], seed = 1): Promise<string[]> =>
    (await (await other()).compare(tomls, seed, 1)).map((one) => one[0]!);

  let view: View = "play";
  const tabs = VIEWS.map(([name, title]) =>
    el("button", { type: "button", "data-view": name, click: () => show(name) }, title),
  );
  const theme = el(
    "button",
    {
      type: "button",
      class: "theme",
      click: () => {
        const now =
          document.documentElement.dataset.theme ??
          (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
        document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
        recolour();
      },
    },
    "Light or dark",
  );
  const head = el(
    "header",
    { class: "head" },
    el("h1", {}, "earlydrop ", el("span", {}, "playground")),
    el("nav", { "aria-label": "Views" }, ...tabs),
    el(
      "div",
      { class: "tools" },
      sharing(
        player,
        () => view,
        () => play.figure(),
        () => play.scenes(),
      ),
      theme,
    ),
  );
  const main = el("main", {}, learn.element, line.element, play.element, compare.element, challenge.element);
  if (wanted.embed) app.replaceChildren(main);
  else
    app.replaceChildren(
      head,
      main,
      el(
        "footer",
        {},
        `earlydrop ${laboratory.version}, the simulator itself, compiled for the browser. Nothing leaves this page. `,
        el("a", { href: "licences.txt" }, "Licences"),
      ),
    );
  document.documentElement.classList.toggle("embedded", wanted.embed);

  function show(next: View, shared = false): void {
    view = next;
    document.documentElement.dataset.view = next;
    for (const tab of tabs) {
      if (tab.dataset.view === next) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    learn.element.hidden = next !== "learn";
    line.element.hidden = next !== "line";
    play.element.hidden = next === "compare" || next === "challenge";
    compare.element.hidden = next !== "compare";
    challenge.element.hidden = next !== "challenge";
    play.fold(next === "learn" || next === "line");
    if (next === "line") line.show();
    if (next === "compare") compare.show();
    if (next === "learn") learn.show(shared);
    if (next === "challenge") challenge.draw();
    play.draw(true);
  }
  function begun(found: Asked): void {
    show(found.view, found.at > 0);
    if (found.view === "challenge") challenge.open(location.hash);
    main.querySelector(".elsewhere")?.remove();
    if (found.open) main.prepend(elsewhere(player, found.open));
    if (found.fresh) player.open();
    else player.start(found.at);
    if (found.at === 0) learn.run();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recolour());
  let changes = 0;
  addEventListener("hashchange", () => {
    const mine = ++changes;
    void opened(laboratory).then((found) => {
      // A file that came late is not wanted any more.
      if (mine !== changes) return;
      player.setup = found.setup;
      begun(found);
    });
  });
  // Space starts and stops, a full stop steps, where no control takes the key.
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (
      target.closest("input, select, button, summary, a, [role=region]") ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    if (event.key === " ") {
      event.preventDefault();
      if (player.playing) player.pause();
      else player.play();
    } else if (event.key === ".") {
      player.step();
    }
  });
  dropping(player);
  begun(wanted);
  // For measurements from outside: the times between frames, the moment, and whole runs.
  Object.assign(globalThis, { earlydrop: { player, view: () => view, results } });
  if ("serviceWorker" in navigator && location.protocol !== "file:" && navigator.onLine && import.meta.env.PROD) {
    navigator.serviceWorker.register("offline.js").catch(() => {
      // Without it the page works all the same, online.
    });
  }
}

begin().catch((error: unknown) => {
  const app = document.querySelector("#app");
  app?.replaceChildren(
    el(
      "p",
      { class: "fault", role: "alert" },
      `The playground cannot start: ${error instanceof Error ? error.message : String(error)}`,
    ),
  );
});
