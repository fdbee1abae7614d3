// Links that somebody means ill with, in a real browser: nothing is asked elsewhere, nothing runs, the page answers.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChildProcess } from "node:child_process";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { address as link } from "../src/link";
import { OPENING, SETUP } from "../src/model";
import { launch, play, ready, SLOW, until } from "./browser";
import { type Hostile, hostile } from "./hostile_links";
import { pages, SCENARIO } from "./page_server";

/** The page answers within this time, whatever the link, ms. */
const ANSWERS = 2000;
/** A run ends within this time of being cancelled, ms: the least of five, for other programs may come between. */
const ENDS = 200;

let browser: Browser;
let server: Server;
let play_: ChildProcess;
let foreign: Server;
let address = "";
let elsewhere = "";
const asked: string[] = [];
const contexts: BrowserContext[] = [];

const at = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  foreign = createServer((request, answer) => {
    asked.push(request.url ?? "");
    answer.setHeader("Access-Control-Allow-Origin", "*");
    answer.end('name = "foreign"');
  });
  await new Promise<void>((done) => void foreign.listen(0, "127.0.0.1", done));
  elsewhere = at(foreign);
  server = pages({ redirect: elsewhere });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  address = `${at(server)}/`;
  browser = await launch();
}, SLOW);

afterAll(async () => {
  await browser?.close();
  play_?.kill("SIGINT");
  for (const one of [server, foreign]) {
    one?.closeAllConnections();
    one?.close();
  }
});

afterEach(async () => {
  for (const one of contexts.splice(0)) await one.close();
  expect(asked.splice(0)).toEqual([]);
});

interface Watched {
  page: Page;
  /** What the console said, what was asked elsewhere, and what ran. */
  complaints: string[];
}

async function watched(): Promise<Watched> {
  const context = await browser.newContext({ reducedMotion: "reduce" });
  contexts.push(context);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`it opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("crash", () => complaints.push("it crashed"));
  page.on("popup", () => complaints.push("it opened a window"));
  context.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(about|blob):/.test(url)) complaints.push(`it asked for ${url.slice(0, 200)}`);
  });
  // How long the page did not answer, at most.
  await page.addInitScript(`
    globalThis.gap = 0;
    let before = performance.now();
    setInterval(() => {
      const now = performance.now();
      globalThis.gap = Math.max(globalThis.gap, now - before);
      before = now;
    }, 10);
  `);
  return { page, complaints };
}

interface State {
  notice: string;
  shown: string;
  setup: string;
  fault: string;
  busy: boolean;
  started: boolean;
  gap: number;
  hit: unknown;
}

const STATE = `(() => {
  const { player } = globalThis.earlydrop ?? {};
  const notice = document.querySelector("#notice");
  return player && {
    notice: notice.hidden ? "" : notice.textContent,
    shown: document.querySelector(".elsewhere code")?.textContent ?? "",
    setup: JSON.stringify(player.setup),
    fault: player.fault,
    busy: player.busy,
    started: player.histories.length > 0 && !player.waiting,
    gap: globalThis.gap,
    hit: globalThis.hit,
  };
})()`;

/** What the page shows once it has done what it does with a link. */
async function settled(page: Page, one: Hostile): Promise<State> {
  const end = performance.now() + 15_000;
  for (;;) {
    const state = (await page.evaluate(STATE)) as State | undefined;
    const there =
      state &&
      (one.does === "refuses"
        ? state.notice !== "" && state.started
        : one.does === "shows"
          ? state.shown !== "" && state.started
          : state.busy || state.fault !== "");
    if (there) return state;
    if (performance.now() > end) throw new Error(`${one.kind}: ${one.hash.slice(0, 300)}: ${JSON.stringify(state)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe("two hundred hostile links", () => {
  const SEEDS = [1, 2, 3, 4];
  it.each(SEEDS)(
    "do nothing but compute, seed %i",
    async (seed) => {
      const all = hostile(200 / SEEDS.length, seed, elsewhere);
      const { page, complaints } = await watched();
      let [longest, which] = [0, ""];
      for (const [k, one] of all.entries()) {
        const where = `${k}, ${one.kind}: ${one.hash.slice(0, 200)}`;
        const began = performance.now();
        // Every second one is opened, the others follow in the open page.
        if (k % 2 === 0) {
          await page.goto("about:blank");
          await page.goto(address + one.hash, { waitUntil: "domcontentloaded" });
        } else {
          await page.evaluate("document.querySelector('#notice').hidden = true; globalThis.gap = 0;");
          await page.evaluate(`location.hash = ${JSON.stringify(one.hash)}`);
        }
        const state = await settled(page, one);
        if (state.gap > longest) [longest, which] = [state.gap, one.kind];
        expect(state.gap, where).toBeLessThan(ANSWERS);
        expect(state.hit, where).toBeUndefined();
        if (one.does === "refuses") {
          expect(state.notice, where).toMatch(/\. The page starts with its own setup\.$/);
          expect(state.notice.length, where).toBeLessThan(400);
          expect(state.notice, where).not.toMatch(/stack size|undefined|TypeError/);
        }
        if (one.does !== "runs") expect(state.setup, where).toBe(JSON.stringify(OPENING));
        else {
          // What runs ends, and the page goes on; some runs end themselves before they are cancelled, for lack of memory.
          const cancel = page.getByRole("button", { name: "Cancel", exact: true });
          if (state.busy) await cancel.click({ timeout: ANSWERS }).catch(() => {});
          await until(page, "globalThis.earlydrop.player.fault !== ''", ANSWERS);
        }
        // What the browser says of the page's own server: a file that is not there, an answer that leads elsewhere.
        const own = complaints
          .splice(0)
          .filter((text) => !(/(40[34]|ERR_FAILED)/.test(text) && one.hash.startsWith("#open=")));
        expect(own, where).toEqual([]);
        expect(performance.now() - began, where).toBeLessThan(20_000);
      }
      console.log(`seed ${seed}: the page did not answer for ${longest.toFixed(0)} ms at most (${which})`);
    },
    SLOW,
  );

  it("are the same for the same seed, and of every kind", () => {
    const all = SEEDS.flatMap((seed) => hostile(50, seed, elsewhere));
    expect(all).toEqual(SEEDS.flatMap((seed) => hostile(50, seed, elsewhere)));
    expect(new Set(all.map((one) => one.kind)).size).toBe(21);
    expect(new Set(all.map((one) => one.hash)).size).toBeGreaterThan(140);
  });
});

describe("#open=", () => {
  it(
    "opens a scenario of the page's own server, asked without cookies",
    async () => {
      const { page, complaints } = await watched();
      await page.context().addCookies([{ name: "secret", value: "1", url: address }]);
      await page.goto(`${address}#open=scenario.toml`);
      await ready(page);
      expect(await page.evaluate("globalThis.earlydrop.player.setup.file")).toContain('name = "served"');
      const seen = await (await fetch(`${address}seen`)).json();
      expect(seen).toEqual([""]);
      expect(complaints).toEqual([]);
    },
    SLOW,
  );

  it(
    "shows an address elsewhere as text, and takes the file from the user",
    async () => {
      const { page, complaints } = await watched();
      await page.goto(`${address}#open=${elsewhere}/x%20<img>.toml&embed`);
      await ready(page);
      expect(await page.locator(".elsewhere code").textContent()).toBe(`${elsewhere}/x%20%3Cimg%3E.toml`);
      const file = { name: "mine.toml", mimeType: "application/toml", buffer: Buffer.from(SCENARIO) };
      await page.getByLabel("Open a scenario file").last().setInputFiles(file);
      await until(page, "globalThis.earlydrop.player.setup.file !== ''");
      await ready(page);
      expect(await page.locator(".elsewhere").count()).toBe(0);
      expect(await page.evaluate("globalThis.earlydrop.player.fault")).toBe("");
      expect(complaints).toEqual([]);
    },
    SLOW,
  );
});

describe("a run", () => {
  const long = (): Promise<string> => link({ ...structuredClone(SETUP), rate: 1e12, udp: 9e10, duration: 5000 }, 3600);

  it(
    "ends within 200 ms of being cancelled, and the next one starts",
    async () => {
      const { page, complaints } = await watched();
      const times: number[] = [];
      for (let k = 0; k < 5; k += 1) {
        await page.goto("about:blank");
        await page.goto(address + (await long()));
        await page.getByRole("button", { name: "Cancel" }).waitFor();
        const [worker] = page.workers();
        const ended = new Promise<void>((resolve) => worker!.once("close", () => resolve()));
        const began = performance.now();
        await page.evaluate("document.querySelector('.cancel').click()");
        await ended;
        times.push(performance.now() - began);
        expect(await page.locator(".play .fault").textContent()).toContain("Cancelled");
      }
      console.log(`ended after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
      expect(Math.min(...times)).toBeLessThan(ENDS);
      // A change is a new start: nothing waits for what was cancelled.
      await page.evaluate("Object.assign(globalThis.earlydrop.player.setup, { rate: 1e7, udp: 0 })");
      await page.evaluate("globalThis.earlydrop.player.restart()");
      await ready(page);
      expect(await page.evaluate("globalThis.earlydrop.player.fault")).toBe("");
      expect(complaints).toEqual([]);
    },
    SLOW,
  );

  it(
    "that is long gives way to another one",
    async () => {
      const { page, complaints } = await watched();
      await page.goto(address + (await long()));
      await page.getByRole("button", { name: "Cancel" }).waitFor();
      const began = performance.now();
      await page.evaluate("location.hash = '#aqm=red'");
      await ready(page);
      expect(performance.now() - began).toBeLessThan(ANSWERS);
      expect(complaints).toEqual([]);
    },
    SLOW,
  );

  it(
    "of a comparison or a measurement ends as well",
    async () => {
      const { page, complaints } = await watched();
      await page.goto(`${address}#aqm=red`);
      await ready(page);
      await page.evaluate(
        "Object.assign(globalThis.earlydrop.player.setup, { rate: 1e12, udp: 9e10, duration: 5000 })",
      );
      await page.getByRole("navigation").getByRole("button", { name: "Compare" }).click();
      const own = page.locator(".compare .row").getByRole("button");
      const times: number[] = [];
      for (let k = 0; k < 5; k += 1) {
        await own.click();
        expect(await own.textContent()).toBe("Cancel");
        await until(page, "document.querySelector('.compare progress').checkVisibility()");
        await new Promise((resolve) => setTimeout(resolve, 500));
        const worker = page.workers().at(-1)!;
        const ended = new Promise<void>((resolve) => worker.once("close", () => resolve()));
        const began = performance.now();
        await own.click();
        await ended;
        times.push(performance.now() - began);
        await until(page, "document.querySelector('.compare .row button').textContent === 'Compare'", ANSWERS);
      }
      expect(await page.locator("#notice").textContent()).toBe("Cancelled.");
      console.log(`a comparison ended after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
      expect(Math.min(...times)).toBeLessThan(ENDS);
      await page.getByRole("navigation").getByRole("button", { name: "Learn" }).click();
      await page.locator(".stories button").first().click();
      await page.getByRole("button", { name: "Show it without a guess" }).click();
      await page.getByRole("button", { name: "Measure it" }).click();
      await page.getByRole("region", { name: "Guided stories" }).getByRole("button", { name: "Cancel" }).click();
      await until(page, "document.querySelector('.measured').textContent === 'Cancelled.'", ANSWERS);
      expect(complaints).toEqual([]);
    },
    SLOW,
  );
});

describe("earlydrop play", () => {
  it(
    "gives the page to nobody who asks by another name",
    async () => {
      const [process, own] = await play();
      play_ = process;
      const port = new URL(own).port;
      // A name of somebody else's that leads to this machine.
      const rebound = await launch([`--host-resolver-rules=MAP evil.example 127.0.0.1`]);
      try {
        const page = await rebound.newPage();
        const answer = await page.goto(`http://evil.example:${port}/`);
        expect(answer?.status()).toBe(421);
        expect(await page.locator("#app").count()).toBe(0);
        expect((await page.goto(`http://localhost:${port}/`))?.status()).toBe(200);
        await ready(page);
      } finally {
        await rebound.close();
      }
    },
    SLOW,
  );
});
