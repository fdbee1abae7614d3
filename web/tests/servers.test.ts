// The page from every kind of server, in a real browser: its policy holds, its console is empty, axe finds no barrier.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { barriers, BUILT, button, FOLDER, launch, python, ready, ROOT, SLOW, until } from "./browser";
import { pages } from "./page_server";

/** A server that allows its own files alone, and the worker. */
const STRICT = {
  "Content-Security-Policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};
/** What Jupyter's own server sends with a notebook. */
const JUPYTER = {
  "Content-Security-Policy": "frame-ancestors 'self'; report-uri /api/security/csp-report",
  "X-Content-Type-Options": "nosniff",
};
const HASH = "#aqm=red,codel&flows=3";

let browser: Browser;
let foreign: Server;
let elsewhere = "";
const asked: string[] = [];
const servers: Server[] = [];

async function serve(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

beforeAll(async () => {
  foreign = createServer((request, answer) => {
    asked.push(request.url ?? "");
    answer.setHeader("Access-Control-Allow-Origin", "*");
    answer.setHeader("Cross-Origin-Resource-Policy", "cross-origin");
    answer.end("globalThis.foreign = 1");
  });
  elsewhere = await serve(foreign);
  browser = await launch();
}, SLOW);

afterAll(async () => {
  await browser?.close();
  for (const one of servers) {
    one.closeAllConnections();
    one.close();
  }
});

/** The page in a notebook's cell: a widget in a document of Jupyter's server. */
async function notebook(page: Page): Promise<Frame> {
  const code = `
import json
import earlydrop as ed

net = ed.dumbbell(
    pairs=3, access=ed.link("100 Mbit/s", "5 ms"), bottleneck=ed.link("10 Mbit/s", "20 ms"), queue=ed.aqm.Red(min_th=7)
).ftp(3, tcp="cubic")
widget = net.play(duration="20 s", warmup="5 s")
print(json.dumps({"script": str(widget._esm), "page": widget.page, "height": widget.height}))
`;
  const html = `<!doctype html><html lang="en"><title>notebook</title><link rel="icon" href="data:,">
<body data-jp-theme-light="true"><main><h1>Notebook</h1><div id="cell"></div></main>`;
  const address = await serve(pages({ headers: JUPYTER, texts: { "/": html } }));
  await page.goto(address);
  await page.evaluate(`(async ({ script, ...model }) => {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const module = await import(url);
    module.default.render({ model: { get: (name) => model[name] }, el: document.querySelector("#cell") });
  })(${python("-c", code)})`);
  await page.locator("iframe").waitFor();
  return page.frames()[1]!;
}

/** The page in the documentation's own page about it. */
async function site(page: Page): Promise<Frame> {
  const folder = join(FOLDER, "site");
  python("-m", "mkdocs", "build", "-q", "-f", join(ROOT, "mkdocs.yml"), "-d", folder);
  const address = await serve(pages({ folder }));
  await page.goto(`${address}playground.html`);
  await page.locator("iframe.playground").scrollIntoViewIfNeeded();
  await until(page, "document.querySelector('iframe.playground').contentDocument.readyState === 'complete'");
  return page.frames()[1]!;
}

const CASES: [string, (page: Page) => Promise<Page | Frame>][] = [
  [
    "no header",
    async (page) => {
      await page.goto((await serve(pages({}))) + HASH);
      return page;
    },
  ],
  [
    "a strict policy, nosniff, COOP and COEP",
    async (page) => {
      await page.goto((await serve(pages({ headers: STRICT }))) + HASH);
      return page;
    },
  ],
  [
    "a file",
    async (page) => {
      await page.goto(pathToFileURL(join(BUILT, "index.html")).href + HASH);
      return page;
    },
  ],
  ["a notebook", notebook],
  ["the site", site],
];

/** What a page tries that its policy forbids; what of it came through. */
const TRIED = `(async (elsewhere) => {
  const came = [];
  const add = (tag, more) => Object.assign(document.createElement(tag), more);
  const place = document.body.appendChild(add("div", {}));
  const inline = add("script", { textContent: "globalThis.inline = 1" });
  const handler = add("button", {});
  handler.setAttribute("onclick", "globalThis.handler = 1");
  place.append(inline, handler);
  handler.click();
  // The sink of text as code, called by the page itself.
  setTimeout("globalThis.text = 1");
  for (const way of ["fetch", "beacon", "socket", "worker", "data"]) {
    try {
      if (way === "fetch") await fetch(elsewhere + "fetch");
      if (way === "beacon") navigator.sendBeacon(elsewhere + "beacon", "x");
      if (way === "socket") new WebSocket(elsewhere.replace("http", "ws") + "socket");
      if (way === "worker") new Worker(elsewhere + "worker");
      if (way === "data") new Worker("data:text/javascript,fetch('" + elsewhere + "data')");
      if (way === "fetch") came.push(way);
    } catch {}
  }
  const base = add("base", { href: elsewhere });
  document.head.append(base);
  if (document.baseURI.startsWith(elsewhere)) came.push("base");
  base.remove();
  const form = add("form", { action: elsewhere + "form", method: "post", target: "form" });
  place.append(
    add("img", { src: elsewhere + "img" }),
    add("script", { src: elsewhere + "script" }),
    add("link", { rel: "stylesheet", href: elsewhere + "style" }),
    add("iframe", { src: elsewhere + "frame", name: "form" }),
    add("object", { data: elsewhere + "object" }),
    add("video", { src: elsewhere + "video" }),
    form,
  );
  form.submit();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  place.remove();
  for (const name of ["inline", "handler", "text", "foreign"]) if (name in globalThis) came.push(name);
  return came;
})`;

describe("the page from", () => {
  it.each(CASES)(
    "%s",
    async (_, open) => {
      const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 1280, height: 900 } });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning")
          complaints.push(`${message.text()} ${message.location().url}`);
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await context.addInitScript(() => {
        addEventListener("securitypolicyviolation", (event) => console.error(`violation: ${event.blockedURI}`));
      });
      const shown = await open(page);
      await ready(shown);
      await until(shown, "globalThis.earlydrop.player.now > 1");
      await button(shown, "Pause");
      const look = async (where: string): Promise<void> => expect(await barriers(shown), where).toEqual([]);
      await look("play");
      const whole = (await shown.locator("nav").count()) > 0;
      if (whole) {
        await shown.locator(".share > summary").click();
        const [file] = await Promise.all([
          page.waitForEvent("download"),
          shown.getByRole("button", { name: /PNG/ }).click(),
        ]);
        expect(file.suggestedFilename()).toBe("red-codel.png");
        await shown.locator(".share > summary").click();
        const [film] = await Promise.all([
          page.waitForEvent("download"),
          shown.getByRole("button", { name: /^Video/ }).click(),
        ]);
        expect(film.suggestedFilename()).toMatch(/^red-codel\.(mp4|webm)$/);
        await shown.getByRole("navigation").getByRole("button", { name: "Compare" }).click();
        const seeds = shown.getByRole("textbox", { name: /^Number of seeds/ });
        await seeds.fill("2");
        await seeds.press("Enter");
        await shown.locator(".compare").getByRole("button", { name: "Compare" }).click();
        await shown.locator(".found").first().waitFor();
        await look("compare");
        await shown.getByRole("navigation").getByRole("button", { name: "Learn" }).click();
        await shown.locator(".stories button").first().click();
        await look("a guess");
        await shown.locator(".answers button").first().click();
        await look("a story");
        await shown.getByRole("navigation").getByRole("button", { name: "My line" }).click();
        await shown.getByRole("button", { name: "Cable" }).click();
        await until(shown, "globalThis.earlydrop.player.setup.line && globalThis.earlydrop.player.now > 1");
        await look("a line");
      }
      if (shown !== page) expect(await barriers(page), "around it").toEqual([]);
      // What the browser says of things that cannot be done in the background counts too.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(complaints).toEqual([]);
      // What is forbidden is not done, and is not asked for.
      expect(await shown.evaluate(`${TRIED}(${JSON.stringify(elsewhere)})`)).toEqual([]);
      expect(complaints.filter((text) => /Content Security Policy/.test(text)).length).toBeGreaterThanOrEqual(8);
      expect(asked.splice(0)).toEqual([]);
      await context.close();
    },
    SLOW,
  );
});
