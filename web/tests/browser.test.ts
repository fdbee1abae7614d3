// The page in a real browser: the distribution's Chromium, driven by playwright, served by `earlydrop play`.

import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { stringify } from "smol-toml";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { differing, stored } from "../../crates/web/tests/equality.mjs";
import { STORIES } from "../src/stories";
import { barriers, BUILT, button, FOLDER, launch, play, python, ready, SLOW, until } from "./browser";

let server: ChildProcess;
let address = "";
let browser: Browser;
const complaints: string[] = [];
const contexts: BrowserContext[] = [];

const earlydrop = (...words: string[]): string => python("-m", "earlydrop", ...words);

beforeAll(async () => {
  browser = await launch();
  [server, address] = await play();
}, SLOW);

afterAll(async () => {
  await browser?.close();
  server?.kill("SIGINT");
});

afterEach(async () => {
  for (const one of contexts.splice(0)) await one.close();
  const found = complaints.splice(0);
  expect(found).toEqual([]);
});

/** What the page leaves for measurements from outside. */
interface Left {
  earlydrop: { results: (tomls: string[], seed: number) => Promise<string[]> };
}

interface Opened {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  still?: boolean;
}

/** A page that has loaded, and runs only if it may move; whose console errors and foreign requests are complaints. */
async function open(
  hash = "",
  { width = 1280, height = 900, theme = "light", still = true }: Opened = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: still ? "reduce" : "no-preference",
    hasTouch: width < 600,
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  contexts.push(context);
  const page = await context.newPage();
  watch(page);
  await page.goto(address + hash);
  await ready(page);
  return page;
}

function watch(page: Page): void {
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning")
      complaints.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob|file):/.test(url)) complaints.push(`it asked for ${url}`);
  });
}

/** The value of an expression on the page, where `player` is its player. */
function of<T>(page: Page, expression: string): Promise<T> {
  return page.evaluate(`(() => { const { player } = globalThis.earlydrop; return ${expression}; })()`);
}

async function reach(page: Page, time: number): Promise<void> {
  await until(page, `globalThis.earlydrop.player.now >= ${time}`, 100_000);
}

const MEAN = (from: number, run = 0): string => `player.histories[${run}].mean(1, ${from})`;
/** Everything that the first run has shown, as text. */
const SHOWN =
  "player.histories.map((one) => Array.from({ length: 14 }, (_, k) => Array.from(one.column(k)).join()).join(';')).join('|')";

async function downloaded(page: Page, item: RegExp): Promise<string> {
  await page.locator(".share > summary").click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: item }).first().click(),
  ]);
  const path = join(FOLDER, file.suggestedFilename());
  await file.saveAs(path);
  return path;
}

function bare(document: object): object {
  return { ...document, cost: null };
}

describe("the page", () => {
  it(
    "loads, and is at most 1.2 MB gzipped with all it asks for",
    async () => {
      const page = await open();
      expect(await page.title()).toBe("earlydrop playground");
      const names = readdirSync(BUILT).filter(
        (name) => /\.(html|css|js|wasm)$/.test(name) && name !== "earlydrop.wasm.js",
      );
      const size = names.reduce((n, name) => n + gzipSync(readFileSync(join(BUILT, name)), { level: 9 }).length, 0);
      console.log(`first load: ${(size / 1e6).toFixed(3)} MB gzipped`);
      expect(size).toBeLessThan(1.2e6);
    },
    SLOW,
  );

  it(
    "runs, pauses, steps, starts again",
    async () => {
      const page = await open();
      const opened = await of<number>(page, "player.now");
      await button(page, "Start");
      await reach(page, opened + 0.05);
      await button(page, "Pause");
      const before = await of<number>(page, "player.now");
      await button(page, "Step");
      await until(page, `globalThis.earlydrop.player.now > ${before}`);
      expect((await of<number>(page, "player.now")) - before).toBeCloseTo(12000 / 10e6, 9);
      await button(page, "Restart");
      await until(page, "globalThis.earlydrop.player.now === 0");
    },
    SLOW,
  );

  it(
    "runs when it is opened, slowly, with queues that have their shape and packets on their way",
    async () => {
      const page = await open("", { still: false });
      await until(page, "globalThis.earlydrop.player.frames.length > 10");
      expect(await of<number>(page, "player.speed")).toBe(0.05);
      expect(await page.getByLabel("Speed").inputValue()).toBe("0.05");
      expect(await of<number>(page, "player.now")).toBeGreaterThan(20);
      expect(await of<number>(page, "player.histories[0].length")).toBeGreaterThanOrEqual(2000);
      // Packets of several flows are on their way, and FQ-CoDel's wait in several queues.
      const columns = (array: string, width: number, column: number): Promise<number> =>
        of(page, `new Set(Array.from(${array}).filter((_, k) => k % ${width} === ${column})).size`);
      expect(await columns("player.histories[0].events", 6, 2)).toBeGreaterThan(1);
      await until(page, "(({ player }) => new Set(Array.from(player.histories[1].waiting(player.now)).filter((_, k) => k % 3 === 0)).size > 1)(globalThis.earlydrop)");
      const picture = (): Promise<string> => page.evaluate("document.querySelector('.network canvas').toDataURL()");
      const first = await picture();
      await until(page, `document.querySelector('.network canvas').toDataURL() !== ${JSON.stringify(first)}`);
      // With reduced motion the same moment stands still, with its pictures.
      const still = await open();
      expect(await of<boolean>(still, "player.playing")).toBe(false);
      expect(await of<number>(still, "player.now")).toBe(20);
      expect(await still.locator(".numbers dd").first().textContent()).toMatch(/ms$/);
    },
    SLOW,
  );

  it(
    "draws each second of a run that begins at time 0",
    async () => {
      const page = await open("#story=l4s", { still: false });
      await button(page, "Show it without a guess");
      // The curve ends at the right edge of its plot, wherever the run is.
      const ends = `(() => {
        const drawn = document.querySelector(".queue canvas");
        const [width, height] = [drawn.width - 70, drawn.height];
        const pen = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
        pen.drawImage(drawn, 0, 0);
        const pixels = pen.getImageData(0, 0, width, height).data;
        let last = 0;
        for (let k = 0; k < pixels.length; k += 4)
          if (pixels[k + 3] > 90 && pixels[k] > 180 && pixels[k + 2] < 60) last = Math.max(last, (k / 4) % width);
        return last / width;
      })()`;
      await reach(page, 3);
      expect(await page.evaluate(ends)).toBeGreaterThan(0.85);
      await reach(page, 6);
      expect(await page.evaluate(ends)).toBeGreaterThan(0.85);
    },
    SLOW,
  );

  it(
    "opens a fast link at an earlier moment, so that nobody waits for it",
    async () => {
      const page = await open("#mbit=1000&aqm=codel");
      expect(await of<number>(page, "player.now")).toBeCloseTo(1.2, 9);
    },
    SLOW,
  );

  it(
    "lets the delay be felt: a call joins at real time, and keys come back through each queue",
    async () => {
      const page = await open("#aqm=droptail,fq_codel&flows=6");
      await button(page, "Feel the delay");
      await until(page, "globalThis.earlydrop.player.histories[0].about.flows === 7");
      expect(await of<number>(page, "player.speed")).toBe(1);
      await reach(page, 20.3);
      await page.keyboard.type("x");
      await until(page, "[...document.querySelectorAll('.echo')].every((one) => one.querySelector('s, span:not(.pending)'))");
      const took = await page.locator(".feel .soft").allTextContents();
      const ms = took.map((text) => Number(/key took ([0-9.]+) ms/.exec(text)?.[1]));
      // DropTail's full buffer of 200 packets is 240 ms; FQ-CoDel lets the call pass. The round trip is 40 ms.
      expect(ms[0]).toBeGreaterThan(120);
      expect(ms[1]).toBeLessThan(100);
      await button(page, "End the call");
      await until(page, "globalThis.earlydrop.player.histories[0].about.flows === 6");
      expect(await page.locator(".feel").first().isVisible()).toBe(false);
    },
    SLOW,
  );

  it(
    "runs to the end as fast as it goes, and says so",
    async () => {
      const page = await open();
      await page.getByLabel("Speed").selectOption("Infinity");
      await button(page, "Start");
      await until(page, "globalThis.earlydrop.player.done", 60_000);
      expect(await of<number>(page, "player.now")).toBe(120);
      expect(await page.locator("#notice").textContent()).toContain("ended at 120 s");
      // What it showed is what the result says.
      const results = JSON.parse(readFileSync(await downloaded(page, /^Results/), "utf8")) as {
        queues: { bottleneck: { queue_mean_packets: number; arrivals: number } };
      }[];
      for (const [run, one] of results.entries()) {
        const shown = await of<number>(page, `player.histories[${run}].mean(1, 10)`);
        expect(Math.abs(shown / one.queues.bottleneck.queue_mean_packets - 1)).toBeLessThan(0.03);
      }
    },
    SLOW,
  );

  it(
    "follows a slider that is moved while it runs",
    async () => {
      const page = await open("#aqm=codel");
      await page.getByLabel("Speed").selectOption("100");
      await button(page, "Start");
      await reach(page, 25);
      await button(page, "Pause");
      const moment = await of<number>(page, "player.now");
      const before = await of<number>(page, MEAN(10));
      const slider = page.getByRole("slider", { name: "target of CoDel", exact: true });
      for (let k = 0; k < 4; k += 1) await slider.press("PageUp");
      await until(page, "globalThis.earlydrop.player.setup.changes.length > 0");
      await button(page, "Start");
      await reach(page, moment + 15);
      await button(page, "Pause");
      expect(await of<number>(page, MEAN(moment + 5))).toBeGreaterThan(2 * before);
      expect(await of<number>(page, "player.setup.changes[0].time")).toBe(moment);
      // What was before the change has not changed.
      expect(await of<number>(page, "player.histories[0].length")).toBeGreaterThan(100 * moment);
    },
    SLOW,
  );

  it(
    "says what is wrong with a value, and goes on with the old one",
    async () => {
      const page = await open("#aqm=red");
      await page.getByLabel("Speed").selectOption("10");
      await button(page, "Start");
      await reach(page, 21);
      const exact = page.getByRole("textbox", { name: /^min_th of RED/ });
      await exact.fill("99");
      await exact.press("Enter");
      await until(page, "!document.querySelector('#notice').hidden");
      expect(await page.locator("#notice").textContent()).toContain("min_th");
      expect(await exact.inputValue()).toBe("5");
      expect(await of<string>(page, "player.fault")).toBe("");
    },
    SLOW,
  );

  it(
    "runs another load to the same moment",
    async () => {
      const page = await open("#aqm=droptail");
      await page.getByLabel("Speed").selectOption("100");
      await button(page, "Start");
      await reach(page, 22);
      await button(page, "Pause");
      const [moment, before] = [await of<number>(page, "player.now"), await of<string>(page, SHOWN)];
      const flows = page.getByRole("textbox", { name: /^Number of flows, exact/ });
      await flows.fill("30");
      await flows.press("Enter");
      await until(page, `globalThis.earlydrop.player.histories[0]?.about.flows === 30`);
      expect(await of<number>(page, "player.now")).toBe(moment);
      expect(await of<string>(page, SHOWN)).not.toBe(before);
    },
    SLOW,
  );
});

describe("results", () => {
  it(
    "equal those of native runs byte for byte: every stored scenario, by the page's own worker",
    async () => {
      const page = await open();
      const scenarios = stored().map(([, json]) => JSON.parse(json!));
      const runs = scenarios.map((scenario) => [stringify(scenario), scenario.seed] as const);
      const documents = (await page.evaluate(async (all) => {
        const { results } = (globalThis as unknown as Left).earlydrop;
        const made: string[] = [];
        for (const [toml, seed] of all) made.push(...(await results([toml], seed)));
        return made;
      }, runs)) as string[];
      const other = differing(documents);
      expect(other.runs.map(([, json]) => JSON.parse(json!).name)).toEqual([]);
      expect(other.columns).toEqual([]);
      expect(scenarios.length).toBeGreaterThanOrEqual(60);
      // They have every discipline and every TCP stack that the page offers.
      const texts = scenarios.map((scenario) => JSON.stringify(scenario)).join();
      const left = (key: string, names: string[]): string[] =>
        names.filter((name) => !texts.includes(`"${key}":"${name}"`));
      const names = (list: string): Promise<string[]> => of(page, `player.laboratory.${list}.map((one) => one.name)`);
      expect(left("aqm", await names("disciplines"))).toEqual([]);
      expect(left("stack", await names("stacks"))).toEqual([]);
    },
    SLOW,
  );
});

describe("sharing", () => {
  it(
    "a link restores setup, changes, moment and every sample",
    async () => {
      const page = await open("#aqm=red,codel&flows=7&seed=5");
      await page.getByLabel("Speed").selectOption("10");
      await button(page, "Start");
      await reach(page, 22);
      await page.getByRole("slider", { name: "max_p of RED", exact: true }).press("PageUp");
      await page.getByRole("slider", { name: "interval of CoDel", exact: true }).press("ArrowLeft");
      await reach(page, 25);
      await button(page, "Pause");
      await until(page, "globalThis.earlydrop.player.setup.changes.length === 2");
      await page.locator(".share > summary").click();
      await button(page, "Copy link to this moment");
      await until(page, "location.hash.startsWith('#s=')");
      const link = (await page.evaluate("location.href")) as string;
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(link);
      const state = await of<string>(page, `JSON.stringify([player.setup, player.now])`);
      const shown = createHash("sha256")
        .update(await of<string>(page, SHOWN))
        .digest("hex");
      const other = await open(new URL(link).hash);
      await reach(other, JSON.parse(state)[1] as number);
      expect(await of<string>(other, `JSON.stringify([player.setup, player.now])`)).toBe(state);
      expect(
        createHash("sha256")
          .update(await of<string>(other, SHOWN))
          .digest("hex"),
      ).toBe(shown);
    },
    SLOW,
  );

  it(
    "a link that was cut says so and starts with the page's own setup",
    async () => {
      const page = await open("#s=dVBdS8Mw");
      expect(await page.locator("#notice").textContent()).toContain("The link is incomplete");
      expect(await of<number>(page, "player.setup.disciplines.length")).toBe(2);
    },
    SLOW,
  );

  it(
    "a scenario runs natively to the same document, and opens again",
    async () => {
      const page = await open("#aqm=codel,pie&flows=12&seed=9");
      // What is set at time 0 is set from the start.
      await button(page, "Restart");
      await until(page, "globalThis.earlydrop.player.now === 0");
      const exact = page.getByRole("textbox", { name: /^target of CoDel/ });
      await exact.fill("12");
      await exact.press("Enter");
      await until(page, "globalThis.earlydrop.player.setup.disciplines[0].set.target === 0.012");
      const [own] = JSON.parse(readFileSync(await downloaded(page, /^Results/), "utf8")) as object[];
      const file = await downloaded(page, /^Scenario with CoDel/);
      const native = JSON.parse(earlydrop("run", file, "--json")) as object;
      expect(bare(native)).toEqual(bare(own!));
      // The bytes of numbers, not only their values.
      const bytes = (one: object): string => JSON.stringify(bare(one));
      expect(bytes(native)).toBe(bytes(own!));
      await page.locator(".share > summary").click();
      await page.getByLabel("Open a scenario file").setInputFiles(file);
      await until(
        page,
        "globalThis.earlydrop.player.setup.file !== '' && globalThis.earlydrop.player.histories.length === 1",
      );
      expect(await page.getByRole("textbox", { name: /^target of CoDel/ }).inputValue()).toBe("12");
      const [again] = JSON.parse(readFileSync(await downloaded(page, /^Results/), "utf8")) as object[];
      expect(bytes(again!)).toBe(bytes(own!));
    },
    SLOW,
  );

  it(
    "a file that is no scenario says what is wrong",
    async () => {
      const page = await open();
      const wrong = join(FOLDER, "wrong.toml");
      writeFileSync(wrong, 'name = "x"\n[queue.bottleneck]\naqm = "codle"\n');
      await page.locator(".share > summary").click();
      await page.getByLabel("Open a scenario file").setInputFiles(wrong);
      await until(page, "globalThis.earlydrop.player.fault !== ''");
      expect(await page.locator(".play .fault").textContent()).toMatch(/duration|codle|topology/);
    },
    SLOW,
  );

  it(
    "pictures and samples are files",
    async () => {
      const page = await open("#aqm=red,droptail");
      await page.getByLabel("Speed").selectOption("100");
      await button(page, "Start");
      await reach(page, 25);
      await button(page, "Pause");
      const svg = readFileSync(await downloaded(page, /SVG/), "utf8");
      expect(svg).toContain(">DropTail</text>");
      expect(svg.match(/<polyline/g)!.length).toBeGreaterThanOrEqual(5);
      expect(svg).not.toContain("NaN");
      expect(svg).toContain(">RED and DropTail: 10 Mbit/s, 10 flows of 40 ms</text>");
      // Names of levels stand beside the plots.
      const names = [...svg.matchAll(/<text x="([\d.]+)"[^>]*>(min_th|max_th|full)</g)].map((one) => Number(one[1]));
      expect(names.length).toBe(4);
      expect(Math.min(...names)).toBeGreaterThan(760 - 84);
      const rows = readFileSync(await downloaded(page, /CSV/), "utf8")
        .trim()
        .split("\n");
      expect(rows[0]).toBe(
        "aqm,time_s,queue_packets,queue_bytes,average_packets,arrivals,marks,early_drops,forced_drops,overflow_drops,departed_bytes",
      );
      expect(rows.length - 1).toBe(await of<number>(page, "player.histories.reduce((n, one) => n + one.length, 0)"));
    },
    SLOW,
  );

  it(
    "a picture that is dropped opens its setup and moment, and another says what is wrong",
    async () => {
      const page = await open("#aqm=red,codel&flows=7&seed=5");
      await button(page, "Start");
      await reach(page, 20.1);
      await page.getByRole("slider", { name: "max_p of RED", exact: true }).press("PageUp");
      await until(page, "globalThis.earlydrop.player.setup.changes.length === 1");
      await button(page, "Pause");
      const state = await of<string>(page, "JSON.stringify([player.setup, player.now])");
      const picture = readFileSync(await downloaded(page, /PNG\)$/)).toString("base64");
      const other = await open("#aqm=pie");
      const drop = (name: string, content: string): Promise<void> =>
        other.evaluate(
          ([name, content]) => {
            const bytes = Uint8Array.from(atob(content!), (one) => one.charCodeAt(0));
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([bytes], name!));
            document.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
          },
          [name, content],
        );
      // As in any link, what is no setup of a page is refused, and leaves what is there.
      const label = (text: string): string => {
        const body = Buffer.from(`tEXtearlydrop\0${text}`, "latin1");
        const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
        length.writeUInt32BE(body.length - 4);
        sum.writeUInt32BE(crc32(body));
        return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), length, body, sum]).toString("base64");
      };
      const bomb = deflateRawSync(Buffer.alloc(100_000_000)).toString("base64url");
      const group = '{"count":1e9,"stack":"x","tcp":"x","ecn":false,"rtt":[1,1],"start":0}';
      const many = deflateRawSync(`{"setup":{"groups":[${group}]},"at":0}`).toString("base64url");
      for (const [text, said] of [
        ["open=https://example.org/x.toml", "its setup is none of this page's"],
        ["s=abc&embed", "its setup is none of this page's"],
        ["s=abcd", "The link is incomplete"],
        [`s=${many}`, "group 1: count: 1000000000"],
        [`s=${bomb}`, "more than the 3145728 bytes"],
      ] as const) {
        await drop("odd.png", label(text));
        await until(other, `document.querySelector("#notice").textContent.includes(${JSON.stringify(said)})`);
        expect(await of<string>(other, "player.setup.disciplines[0].aqm")).toBe("pie");
      }
      await drop("picture.png", picture);
      await until(other, "globalThis.earlydrop.player.setup.changes.length === 1");
      await reach(other, JSON.parse(state)[1] as number);
      expect(await of<string>(other, "JSON.stringify([player.setup, player.now])")).toBe(state);
    },
    SLOW,
  );

  it(
    "five seconds of video move",
    async () => {
      const page = await open("#aqm=droptail,fq_codel", { theme: "dark" });
      const path = await downloaded(page, /^Video/);
      expect(path).toMatch(/droptail-fq_codel\.(mp4|webm)$/);
      const content = readFileSync(path);
      expect(content.subarray(4, 8).toString() === "ftyp" || content.readUInt32BE(0) === 0x1a45dfa3).toBe(true);
      // It waited before: so it does after.
      expect(await of<boolean>(page, "player.playing")).toBe(false);
      const context = await browser.newContext();
      contexts.push(context);
      const show = await context.newPage();
      await show.setContent("<video muted></video>");
      const seen = (await show.evaluate(async (content) => {
        const video = document.querySelector("video")!;
        const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
        video.src = URL.createObjectURL(new Blob([bytes]));
        const heard = (name: string): Promise<void> =>
          new Promise((resolve) => video.addEventListener(name, () => resolve(), { once: true }));
        await heard("loadeddata");
        // WebM of a recorder says its duration only at its end.
        if (video.duration === Infinity) {
          video.currentTime = 1e6;
          await heard("seeked");
        }
        const pictures: string[] = [];
        const length = video.duration;
        for (const at of [1, 2.5, 4]) {
          video.currentTime = at;
          await heard("seeked");
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
          canvas.getContext("2d")!.drawImage(video, 0, 0);
          pictures.push(canvas.toDataURL());
        }
        return [length, video.videoWidth, video.videoHeight, new Set(pictures).size];
      }, content.toString("base64"))) as number[];
      expect(seen.slice(1)).toEqual([1280, 720, 3]);
      expect(Math.abs(seen[0]! - 5)).toBeLessThan(0.7);
    },
    SLOW,
  );
});

describe("comparing", () => {
  it(
    "says what earlydrop compare says",
    async () => {
      const page = await open("#aqm=droptail,codel,red&flows=6");
      const file = await downloaded(page, /^Scenario with DropTail/);
      await button(page, "Compare");
      const seeds = page.getByRole("textbox", { name: /^Number of seeds/ });
      await seeds.fill("4");
      await seeds.press("Enter");
      await page.locator(".compare").getByRole("button", { name: "Compare" }).click();
      await page.waitForSelector(".found", { timeout: 200_000 });
      const native = JSON.parse(
        earlydrop("compare", file, "--aqm", "droptail", "codel", "red", "--seeds", "4", "--json"),
      ) as {
        summary: string[];
        cells: Record<string, Record<string, { mean: number }>>;
      };
      expect(await page.locator(".found").allTextContents()).toEqual(native.summary);
      const cell = await page.locator("tbody tr", { hasText: "Goodput" }).locator("td").first().textContent();
      expect(cell).toContain(native.cells.droptail!.goodput!.mean.toFixed(3));
      await button(page, "Copy as Markdown");
      expect(await page.evaluate("navigator.clipboard.readText()")).toContain("| CoDel − DropTail |");
    },
    SLOW,
  );
});

describe("stories", () => {
  it(
    "are walked through from the first to the last step",
    async () => {
      const page = await open();
      await button(page, "Learn");
      for (const story of STORIES) {
        await page.locator(".stories button", { hasText: story.title }).first().click();
        // Nothing is shown before somebody has guessed, or wants none.
        expect(await page.getByRole("region", { name: "Guided stories" }).textContent()).not.toContain(story.claim);
        expect(await page.locator(".play").isVisible()).toBe(false);
        const { ask, answers, right } = story.guess;
        expect(await page.locator(".claim").textContent()).toBe(ask);
        await button(page, answers[0]!);
        expect(await page.locator(".guessed").textContent()).toBe(
          right === 0 ? `Your guess is right: “${answers[0]}”.` : `You guessed “${answers[0]}”. It is “${answers[right]}”.`,
        );
        for (let step = 0; step < story.steps.length; step += 1) {
          expect(await page.locator(".step-text").textContent()).toContain(story.steps[step]!.text);
          expect(await of<string>(page, "player.fault")).toBe("");
          // With reduced motion nothing runs before it is started.
          expect(await of<boolean>(page, "player.playing")).toBe(false);
          if (step < story.steps.length - 1) await button(page, "Next");
        }
        await button(page, "← All stories");
      }
    },
    SLOW,
  );

  it(
    "start by themselves when they are opened by a link, at the speed of their step",
    async () => {
      const page = await open("#story=codel-root&step=2", { still: false });
      await reach(page, 0.05);
      expect(await of<boolean>(page, "player.playing")).toBe(true);
      expect(await of<number>(page, "player.speed")).toBe(0.1);
      expect(await page.getByLabel("Speed").inputValue()).toBe("0.1");
      await page.evaluate("location.hash = '#story=ecn'");
      await until(page, "globalThis.earlydrop.player.setup.story === 'ecn'");
      expect(await of<boolean>(page, "player.playing")).toBe(false);
      await button(page, "About half as many");
      await reach(page, 0.2);
      // Neither with reduced motion, nor at a moment that somebody shared.
      const still = await open("#story=ecn");
      expect(await of<boolean>(still, "player.playing")).toBe(false);
      expect(await of<number>(still, "player.now")).toBe(0);
      await button(page, "Pause");
      await page.locator(".share > summary").click();
      await button(page, "Copy link to this moment");
      await until(page, "location.hash.includes('s=')");
      // A moment that somebody shared is shown at once.
      const shared = await open(new URL((await page.evaluate("location.href")) as string).hash);
      expect(await of<boolean>(shared, "player.playing")).toBe(false);
      expect(await shared.getByRole("region", { name: "Guided stories" }).locator("h2").textContent()).toBe("ECN");
    },
    SLOW,
  );

  it(
    "measure their claims",
    async () => {
      const page = await open("#story=rtt");
      await button(page, "Show it without a guess");
      await button(page, "Measure it");
      await until(page, "document.querySelector('.measured').textContent.includes('Mbit/s')", 60_000);
      expect(await page.locator(".measured").textContent()).not.toContain("does not show");
    },
    SLOW,
  );
});

describe("a phone", () => {
  it(
    "keeps a chart in view while a story is read",
    async () => {
      const page = await open("#story=full-buffer", { width: 390, height: 700, still: false });
      await button(page, "Hardly less");
      await reach(page, 2);
      const chart = (): Promise<{ top: number; pixels: string }> =>
        page.evaluate(`(() => {
          const chart = document.querySelector(".pinned");
          return { top: chart.getBoundingClientRect().top, pixels: chart.querySelector("canvas").toDataURL() };
        })()`);
      const before = await chart();
      expect(before.top).toBeGreaterThan(100);
      // The end of the step's text is at the top: the chart covers what was read.
      await page.evaluate("scrollTo(0, scrollY + document.querySelector('.step-text').getBoundingClientRect().bottom - 200)");
      expect((await chart()).top).toBe(0);
      await until(page, `document.querySelector(".pinned canvas").toDataURL() !== ${JSON.stringify(before.pixels)}`);
      expect(await page.locator("[aria-label='Guided stories'] .pinned").textContent()).toMatch(/DropTail.* ms of delay.*CoDel.* ms of delay/);
      // Where the pictures are beside the story there is no need of it.
      const wide = await open("#story=full-buffer&step=2");
      expect(await wide.locator("[aria-label='Guided stories'] .pinned").isVisible()).toBe(false);
    },
    SLOW,
  );
});

describe("my line", () => {
  it(
    "has what earlydrop advise sets up, and runs as it is today and with that queue",
    async () => {
      const page = await open("#view=line");
      expect(await page.locator(".play").isVisible()).toBe(false);
      await page.getByLabel("Kind of line").selectOption("adsl");
      await page.getByLabel("Down", { exact: true }).fill("16");
      await page.getByLabel("Up", { exact: true }).fill("x");
      expect(await page.locator(".my-line .fault").textContent()).toContain('Up: given "x"; allowed 128kbit to 10gbit');
      await page.getByLabel("Up", { exact: true }).fill("1mbit");
      expect(await page.locator(".my-line .fault").isVisible()).toBe(false);
      const out = join(FOLDER, "advice");
      const words = ["--down", "16mbit", "--up", "1mbit", "--link", "adsl", "--seeds", "1", "--aqm", "cake", "fq_codel"];
      const said = earlydrop("advise", ...words, "--out", out);
      const shown = await page.locator(".code pre").allTextContents();
      const tc = shown[0]!.split("\n\n")[0]!;
      expect(said.replaceAll(/^ {4}/gm, "")).toContain(tc);
      expect(shown[1]).toBe(readFileSync(join(out, "config/cake/sqm"), "utf8").replaceAll("\t", "    "));
      await page.locator(".code").first().getByRole("button", { name: "Copy" }).click();
      expect(await page.evaluate("navigator.clipboard.readText()")).toContain(tc);
      await button(page, "See it run");
      await until(page, "globalThis.earlydrop.player.histories.length === 2 && globalThis.earlydrop.player.now > 1");
      expect(await of<string[]>(page, "player.histories.map((one) => one.about.aqm)")).toEqual(["droptail", "cake"]);
      expect(await of<number[]>(page, "player.histories.map((one) => one.about.rate)")).toEqual([1e6, 0.95e6]);
      expect(await page.getByRole("textbox", { name: /^bandwidth of CAKE/ }).inputValue()).toBe("0.95");
      // A line that runs follows what is changed.
      await page.locator(".my-line").getByLabel("Show the queue").selectOption("down");
      await until(page, "globalThis.earlydrop.player.histories[1]?.about.rate === 15.2e6");
      // What the command has written opens as the same line.
      const [other, address] = await play(join(out, "line.toml"));
      try {
        await page.goto(address);
        await ready(page);
        const line = { link: "adsl", down: 16e6, up: 1e6, rtt: 30, buffer: "250 ms", way: "up" };
        expect(await of<object>(page, "player.setup.line")).toEqual(line);
        expect(await of<string[]>(page, "player.setup.disciplines.map((one) => one.aqm)")).toEqual(["droptail", "cake"]);
        await page.getByRole("navigation").getByRole("button", { name: "My line" }).click();
        expect(await page.getByLabel("Down", { exact: true }).inputValue()).toBe("16");
        expect(await page.locator(".network canvas").first().isVisible()).toBe(true);
        complaints.splice(0);
      } finally {
        other.kill("SIGINT");
      }
    },
    SLOW,
  );

  it(
    "lets the delay of the line be felt",
    async () => {
      const page = await open("#line=docsis");
      await button(page, "Feel the delay");
      await until(page, "globalThis.earlydrop.player.playing");
      await reach(page, 4);
      await page.keyboard.type("x");
      await until(page, "[...document.querySelectorAll('.echo')].every((one) => one.querySelector('s, span:not(.pending)'))");
      const took = await page.locator(".feel .soft").allTextContents();
      const ms = took.map((text) => Number(/key took ([0-9.]+) ms/.exec(text)?.[1]));
      expect(ms[0]).toBeGreaterThan(150);
      expect(ms[1]).toBeLessThan(100);
    },
    SLOW,
  );
});

describe("people", () => {
  it(
    "need no mouse",
    async () => {
      const page = await open("#aqm=codel");
      const focus = (): Promise<string> =>
        page.evaluate("document.activeElement.textContent || document.activeElement.getAttribute('aria-label')");
      for (let k = 0; k < 60 && (await focus()) !== "Start"; k += 1) await page.keyboard.press("Tab");
      expect(await focus()).toBe("Start");
      expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
      await page.keyboard.press("Enter");
      await reach(page, 20.02);
      await page.evaluate("document.activeElement.blur()");
      await page.keyboard.press("Space");
      expect(await of<boolean>(page, "player.playing")).toBe(false);
      for (let k = 0; k < 60 && (await focus()) !== "target of CoDel"; k += 1) await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowRight");
      await until(page, "globalThis.earlydrop.player.setup.changes.length === 1");
      expect(await page.locator(".knob:focus-within .tip").isVisible()).toBe(true);
      await page.locator(".share > summary").focus();
      await page.keyboard.press("Enter");
      expect(await page.locator(".share .items").isVisible()).toBe(true);
      await page.keyboard.press("Escape");
      expect(await page.locator(".share .items").isVisible()).toBe(false);
      // A story is chosen, guessed and read; a line is given, and runs.
      const to = async (name: string): Promise<void> => {
        for (let k = 0; k < 60 && (await focus()) !== name; k += 1) await page.keyboard.press("Tab");
        expect(await focus()).toBe(name);
        await page.keyboard.press("Enter");
      };
      await page.getByRole("navigation").getByRole("button", { name: "Learn" }).press("Enter");
      await page.locator(".stories button").first().press("Enter");
      await to("Hardly less");
      expect(await focus()).toBe(STORIES[0]!.title);
      await to("Next");
      expect(await page.locator(".step-text").textContent()).toContain("Step 2");
      await page.getByRole("navigation").getByRole("button", { name: "My line" }).press("Enter");
      await page.getByLabel("Down", { exact: true }).press("Tab");
      await page.keyboard.type("4");
      await to("See it run");
      await until(page, "globalThis.earlydrop.player.setup.line?.up === 4e6");
    },
    SLOW,
  );

  it.each([320, 390, 768, 1280, 2560])(
    "see everything at %i pixels",
    async (width) => {
      const page = await open("#aqm=red,codel,pie,fq_codel", { width });
      const fits = async (where: string): Promise<void> =>
        expect(await page.evaluate("document.scrollingElement.scrollWidth"), where).toBeLessThanOrEqual(width);
      for (const view of ["Play", "Compare", "Learn", "My line"]) {
        await page.getByRole("navigation").getByRole("button", { name: view }).click();
        await fits(view);
      }
      await button(page, "Cable");
      await until(page, "globalThis.earlydrop.player.now > 1");
      await fits("a line that runs");
      await page.getByRole("navigation").getByRole("button", { name: "Learn" }).click();
      await page.locator(".stories button").first().click();
      await fits("a guess");
      await page.locator(".answers button").first().click();
      await fits("a story");
    },
    SLOW,
  );

  it.each(["light", "dark"] as const)(
    "find no barrier in the %s theme, by axe",
    async (theme) => {
      const page = await open("#aqm=red,codel&flows=5", { theme });
      const ground = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(ground === "rgb(20, 24, 28)").toBe(theme === "dark");
      const look = async (where: string): Promise<void> => {
        expect(await barriers(page), where).toEqual([]);
      };
      await button(page, "Start");
      await reach(page, 20.05);
      await button(page, "Pause");
      await look("play");
      await page.locator(".share > summary").click();
      await look("share");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "About RED" }).click();
      await look("about");
      await button(page, "Close");
      await page.getByRole("navigation").getByRole("button", { name: "Compare" }).click();
      const seeds = page.getByRole("textbox", { name: /^Number of seeds/ });
      await seeds.fill("2");
      await seeds.press("Enter");
      await page.locator(".compare").getByRole("button", { name: "Compare" }).click();
      await page.waitForSelector(".found", { timeout: 60_000 });
      await look("compare");
      await page.getByRole("navigation").getByRole("button", { name: "Learn" }).click();
      await look("stories");
      await page.locator(".stories button").first().click();
      await look("a guess");
      await page.locator(".answers button").first().click();
      await look("a story");
      await page.setViewportSize({ width: 390, height: 800 });
      await look("a story on a phone");
      await page.getByRole("navigation").getByRole("button", { name: "My line" }).click();
      await look("my line");
      await page.getByLabel("Up", { exact: true }).fill("x");
      await look("a line that is none");
      await button(page, "DSL");
      await until(page, "globalThis.earlydrop.player.setup.line && globalThis.earlydrop.player.now > 1");
      await page.setViewportSize({ width: 1280, height: 900 });
      await look("a line that runs");
    },
    SLOW,
  );
});

describe("a notebook", () => {
  it(
    "shows the page with its network, in its own theme",
    async () => {
      const code = `
import json
import earlydrop as ed

net = ed.dumbbell(
    pairs=3, access=ed.link("100 Mbit/s", "5 ms"), bottleneck=ed.link("10 Mbit/s", "20 ms"), queue=ed.aqm.Red(min_th=7)
).ftp(3, tcp="cubic")
widget = net.play(duration="20 s", warmup="5 s")
print(json.dumps({"script": str(widget._esm), "page": widget.page, "height": widget.height}))
`;
      const given = python("-c", code);
      const context = await browser.newContext({ colorScheme: "light" });
      contexts.push(context);
      const page = await context.newPage();
      watch(page);
      // What a notebook does with a widget's module.
      const html = '<!doctype html><link rel="icon" href="data:,"><body data-jp-theme-light="false"><div id="cell">';
      await page.route("**/notebook", (route) => route.fulfill({ contentType: "text/html", body: html }));
      await page.goto(`${address}notebook`);
      await page.evaluate(`(async ({ script, ...model }) => {
        const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
        const module = await import(url);
        const el = document.querySelector("#cell");
        globalThis.end = module.default.render({ model: { get: (name) => model[name] }, el });
      })(${given})`);
      const frame = page.frameLocator("iframe[title='earlydrop playground']");
      await frame.getByRole("button", { name: "Pause", exact: true }).waitFor();
      const inside = page.frames()[1]!;
      await until(inside, "globalThis.earlydrop.player.now > 1");
      expect(await inside.evaluate("globalThis.earlydrop.player.histories[0].about.flows")).toBe(3);
      expect(await frame.getByRole("textbox", { name: /^min_th of RED/ }).inputValue()).toBe("7");
      const ground = (): Promise<string> => inside.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(await ground()).toBe("rgb(27, 32, 38)");
      await page.evaluate("document.body.dataset.jpThemeLight = 'true'");
      await until(inside, "document.documentElement.dataset.theme === 'light'");
      expect(await ground()).toBe("rgb(255, 255, 255)");
      await page.evaluate("end()");
    },
    SLOW,
  );
});

describe("without a network", () => {
  it(
    "works after the first load",
    async () => {
      const page = await open();
      await page.evaluate("navigator.serviceWorker.ready");
      await until(page, "caches.keys().then((names) => names.length === 1)");
      await page.reload();
      await until(page, "navigator.serviceWorker.controller !== null");
      await page.context().setOffline(true);
      await page.reload();
      await ready(page);
      await button(page, "Start");
      await reach(page, 20.05);
    },
    SLOW,
  );

  it(
    "opens as a file",
    async () => {
      const context = await browser.newContext();
      contexts.push(context);
      const page = await context.newPage();
      watch(page);
      await page.goto(pathToFileURL(join(BUILT, "index.html")).href);
      await ready(page);
      await reach(page, 20.05);
    },
    SLOW,
  );
});

/** On two idle cores the page has these: EARLYDROP_IDLE=yes asks for them; otherwise they are printed. */
describe("the time to the first moving picture, and pictures a second", () => {
  const idle = process.env.EARLYDROP_IDLE === "yes";
  it.each([
    [390, 50],
    [1280, 50],
    [2560, 30],
  ])(
    "with two disciplines and 20 flows, at %i pixels",
    async (width, wanted) => {
      const first: number[] = [];
      const rates: number[] = [];
      for (let k = 0; k < (idle ? 5 : 1); k += 1) {
        const page = await open("#aqm=droptail,fq_codel&flows=20", { width, height: 900, still: false });
        await until(page, "globalThis.earlydrop.player.frames.length > 120", 60_000);
        first.push(await of<number>(page, "player.first"));
        const frames = await of<number[]>(page, "player.frames.slice(-100)");
        rates.push((1000 * frames.length) / frames.reduce((sum, ms) => sum + ms, 0));
        await page.context().close();
        contexts.splice(0);
      }
      const median = (all: number[]): number => all.toSorted((a, b) => a - b)[all.length >> 1]!;
      console.log(
        `${width} pixels: a moving picture after ${median(first).toFixed(0)} ms, ${median(rates).toFixed(0)} a second`,
      );
      expect(median(first)).toBeLessThan(idle ? 2000 : 20_000);
      expect(median(rates)).toBeGreaterThan(idle ? wanted : 2);
    },
    SLOW,
  );
});
