// The challenge in a real browser: drawing, typing, the score, its link, and the same bytes from `earlydrop run`.

import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { challenged, first, line, scenario, written } from "../src/challenge";
import { barriers, button, FOLDER, launch, play, python, ready, SLOW, until } from "./browser";

let server: ChildProcess;
let address = "";
let browser: Browser;
const complaints: string[] = [];

beforeAll(async () => {
  browser = await launch();
  [server, address] = await play();
}, SLOW);

afterAll(async () => {
  await browser?.close();
  server?.kill("SIGINT");
  expect(complaints).toEqual([]);
});

async function open(hash: string, width = 1280): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url())) complaints.push(request.url());
  });
  await page.goto(address + hash);
  await ready(page);
  return page;
}

const score = async (page: Page): Promise<string> => {
  await button(page, "Run both");
  await page.locator(".challenge .score").waitFor({ timeout: 120_000 });
  return (await page.locator(".challenge .score").textContent()) ?? "";
};

it(
  "a rule that is typed has a score, a link with all of it, and natively the same bytes",
  async () => {
    const page = await open("#view=challenge");
    const rule = page.getByRole("textbox", { name: "Drop probability" });
    await rule.fill("min(0.3, 3*(delay - 0.004)) + 1e-3*(50 < q)");
    await rule.press("Enter");
    const found = await score(page);
    expect(found).toMatch(/^Score \d+\.\d\. (You have beaten FQ-CoDel|FQ-CoDel is still ahead)\.$/);
    expect(await page.locator(".challenge tbody tr").count()).toBe(3);

    await button(page, "Copy link");
    await until(page, "location.hash.includes('rule=')");
    const mine = challenged(await page.evaluate("location.hash"));
    expect(mine).toEqual({ ...first(), rule: "min(0.3, 3*(delay - 0.004)) + 1e-3*(50 < q)" });
    const again = await open(written(mine));
    expect(await again.getByRole("textbox", { name: "Drop probability" }).inputValue()).toBe(mine.rule);
    expect(await score(again)).toBe(found);

    const [file] = await Promise.all([page.waitForEvent("download"), button(page, "Scenario (TOML)")]);
    const path = join(FOLDER, "challenge.toml");
    await file.saveAs(path);
    const native = python("-m", "earlydrop", "run", path, "--json");
    const texts = JSON.stringify([scenario(mine)]);
    const [own] = await page.evaluate<string[]>(`globalThis.earlydrop.results(${texts}, 1)`);
    const bare = (text: string): string => JSON.stringify({ ...(JSON.parse(text) as object), cost: null });
    expect(bare(native)).toBe(bare(own!));
    expect(readFileSync(path, "utf8")).toContain("earlydrop run challenge.toml");
  },
  SLOW,
);

it(
  "a line is drawn with the pointer and with the keyboard",
  async () => {
    const page = await open("#view=challenge");
    const rates = async (): Promise<number[]> => {
      await button(page, "Copy link");
      return challenged(await page.evaluate("location.hash")).rates;
    };
    const drawing = page.getByRole("slider", { name: /^Rate of the line/ });
    const box = (await drawing.boundingBox())!;
    await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.2 * box.height);
    await page.mouse.down();
    // One move over ten seconds: every second between is on the line.
    await page.mouse.move(box.x + 0.7 * box.width, box.y + 0.7 * box.height);
    await page.mouse.up();
    const drawn = await rates();
    const changed = drawn.map((rate, k) => (rate === first().rates[k] ? -1 : k)).filter((k) => k >= 0);
    expect(changed.length).toBeGreaterThan(10);
    const slope = drawn.slice(changed[0], changed[changed.length - 1]! + 1);
    expect(slope.every((rate, k) => k === 0 || rate < slope[k - 1]!)).toBe(true);
    expect(await page.getByRole("combobox", { name: "Line" }).inputValue()).toBe("");

    await drawing.focus();
    for (const key of ["Home", "ArrowRight", "PageUp"]) await page.keyboard.press(key);
    expect((await rates())[1]).toBe(Number((2 * drawn[1]!).toPrecision(3)));
    expect(await drawing.getAttribute("aria-valuetext")).toBe("second 2 of 30: 41.4 Mbit/s");
    await page.getByRole("combobox", { name: "Line" }).selectOption("steady");
    expect(await rates()).toEqual(line("steady"));
  },
  SLOW,
);

it(
  "a wrong rule says where, a wrong link says what, and both run in the play view",
  async () => {
    const page = await open(written({ ...first(), rule: "q +* <b>" }));
    await button(page, "Run both");
    const fault = page.locator(".challenge .fault");
    await fault.waitFor();
    expect(await fault.textContent()).toContain("character 4: '*' where a number, a name or a bracket must stand");
    const rule = page.getByRole("textbox", { name: "Drop probability" });
    await rule.fill("0.02");
    await rule.press("Enter");
    expect(await fault.isHidden()).toBe(true);
    await button(page, "Watch both");
    await until(page, "globalThis.earlydrop.view() === 'play' && globalThis.earlydrop.player.now > 0.5");
    expect(await page.getByRole("textbox", { name: "rule of Expression" }).inputValue()).toBe("0.02");
    // A rule can be changed while it runs.
    await page.getByRole("textbox", { name: "rule of Expression" }).fill("0.5");
    await page.getByRole("textbox", { name: "rule of Expression" }).press("Enter");
    await until(page, "globalThis.earlydrop.player.setup.changes[0]?.value === '0.5'");
    const other = await open("#view=challenge&line=1+2");
    expect(await other.locator("#notice").textContent()).toContain("line: 1 2; allowed: 30 rates, one a second");
  },
  SLOW,
);

it(
  "nothing sticks out or bars the way, on a phone and on a desk",
  async () => {
    for (const width of [390, 1280]) {
      const page = await open("#view=challenge", width);
      expect(await page.evaluate("document.scrollingElement.scrollWidth")).toBeLessThanOrEqual(width);
      expect(await barriers(page)).toEqual([]);
      await score(page);
      expect(await page.evaluate("document.scrollingElement.scrollWidth")).toBeLessThanOrEqual(width);
      await page.screenshot({ path: join(FOLDER, `challenge-${width}.png`), fullPage: true });
    }
  },
  SLOW,
);
