// What tests in a browser share: the distribution's Chromium, driven by playwright, and `earlydrop play`.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Browser, type Frame, type Page, chromium } from "playwright-core";

export const ROOT = resolve(import.meta.dirname, "../..");
const PYTHON = process.env.EARLYDROP_PYTHON ?? join(ROOT, ".venv/bin/python");
const CHROMIUM = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find((one) => one && existsSync(one));
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The built page. */
export const BUILT = join(ROOT, "target/web");
/** For files of the tests. */
export const FOLDER = mkdtempSync(join(tmpdir(), "earlydrop-"));
export const SLOW = 240_000;

const env = { ...process.env, PYTHONPATH: join(ROOT, "python"), NO_MKDOCS_2_WARNING: "1" };

/** What a Python program prints, with the package of the checkout. */
export function python(...words: string[]): string {
  return execFileSync(PYTHON, words, { env, cwd: FOLDER, encoding: "utf8", maxBuffer: 1 << 28 });
}

export function launch(more: string[] = []): Promise<Browser> {
  if (!CHROMIUM) throw new Error("chromium is missing: install the distribution's, or set CHROMIUM");
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", ...more] });
}

/** `earlydrop play`, of a scenario if one is given, and the address that it prints. */
export async function play(...scenario: string[]): Promise<[ChildProcess, string]> {
  const server = spawn(PYTHON, ["-m", "earlydrop", "play", "--no-browser", ...scenario], {
    env,
    cwd: FOLDER,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const address = await new Promise<string>((found) => {
    server.stdout.on("data", (text: Buffer) => {
      const line = /playground: (\S+)/.exec(text.toString());
      if (line) found(line[1]!);
    });
  });
  return [server, address];
}

/** Waits for an expression to hold; looked at from here, since the page's policy lets no text be run within it. */
export async function until(page: Page | Frame, expression: string, timeout = 30_000): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await page.evaluate(expression))) {
    if (performance.now() > end) throw new Error(`after ${timeout} ms not yet: ${expression}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function ready(page: Page | Frame): Promise<void> {
  await until(page, "globalThis.earlydrop?.player.histories.length > 0");
}

export async function button(page: Page | Frame, name: string): Promise<void> {
  await page.getByRole("button", { name, exact: true }).click();
}

/** Barriers that axe calls serious or critical; it fetches nothing, for a page from a file cannot. */
export async function barriers(page: Page | Frame): Promise<string[]> {
  await page.evaluate(AXE);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  return serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" ")}`);
}
