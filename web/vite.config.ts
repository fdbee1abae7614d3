// The page as classic scripts, so that it also opens from a file; with the policy that a browser holds it to, and
// beside it what makes it work without a network.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const OUT = "../target/web";

/** A browser loads no module from a file: the page's script is a classic one, run when the page is there. */
function classic(): Plugin {
  return {
    name: "classic",
    enforce: "post",
    transformIndexHtml: (html) =>
      html.replaceAll(/<script type="module" crossorigin/g, "<script defer").replaceAll(" crossorigin", ""),
  };
}

/**
 * What the page may load and run: its own files, the engine, and the worker, which is in its script. `file:` is for a page
 * that is opened as a file, which to some browsers has no self; a page from a server can load nothing from there.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' file: 'wasm-unsafe-eval'",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "style-src 'self' file:",
  "img-src 'self' file:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** The policy in the page itself, since not every server sends one. `vite dev` works with inline code. */
function policy(): Plugin {
  return {
    name: "policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
    ],
  };
}

/** What others show of a link to the page: of the page alone, for no server sees what follows the #. */
const SHOWN = {
  title: "earlydrop playground",
  description: "Watch queues at work: RED, CoDel, PIE, FQ-CoDel, CAKE and more, packet by packet, in your browser.",
  type: "website",
};
/** Where the page will be: EARLYDROP_URL of the build. Without it no address and no picture is named. */
const PLACE = process.env.EARLYDROP_URL?.replace(/\/*$/, "/");
const PICTURE = "preview.png";

function shown(): Plugin {
  const tag = (property: string, content: string) => ({ tag: "meta", attrs: { property: `og:${property}`, content } });
  return {
    name: "shown",
    buildStart() {
      if (PLACE !== undefined && !/^https?:\/\/[^\s"<>]+$/.test(PLACE))
        this.error(`EARLYDROP_URL: given ${JSON.stringify(PLACE)}; allowed the page's address, as https://example.org/play/`);
    },
    transformIndexHtml: () => [
      ...Object.entries(SHOWN).map(([property, content]) => tag(property, content)),
      ...(PLACE ? [tag("url", PLACE), tag("image", PLACE + PICTURE), tag("image:alt", "Packets in two queues")] : []),
    ],
    generateBundle() {
      // 1200 by 630 pixels of the page.
      if (PLACE) this.emitFile({ type: "asset", fileName: PICTURE, source: readFileSync(`src/${PICTURE}`) });
    },
  };
}

/** The service worker: keeps the page's files after the first load, under a name that changes with them. */
function offline(): Plugin {
  return {
    name: "offline",
    enforce: "post",
    generateBundle(_, bundle) {
      const own = Object.keys(bundle).filter((name) => !name.startsWith("earlydrop.wasm") && name !== PICTURE);
      const names = ["./", "earlydrop.wasm", ...own];
      const hash = createHash("sha256").update(names.join());
      for (const one of Object.values(bundle)) hash.update(one.type === "chunk" ? one.code : one.source);
      const wasm = `${OUT}/earlydrop.wasm`;
      if (existsSync(wasm)) hash.update(readFileSync(wasm));
      const source = readFileSync("src/offline.js", "utf8")
        .replace("NAME", `earlydrop-${hash.digest("hex").slice(0, 16)}`)
        .replace('"FILES"', JSON.stringify(names));
      this.emitFile({ type: "asset", fileName: "offline.js", source });
    },
  };
}

/** The engine as a script, for a page that is opened from a file and may fetch nothing. */
function engine(): Plugin {
  return {
    name: "engine",
    generateBundle() {
      const wasm = `${OUT}/earlydrop.wasm`;
      if (!existsSync(wasm)) this.error(`${wasm} is missing: make web builds it`);
      const source = `globalThis.earlydropWasm = "${readFileSync(wasm).toString("base64")}";\n`;
      this.emitFile({ type: "asset", fileName: "earlydrop.wasm.js", source });
    },
  };
}

/** The licences of what the page is built with, which ask to be kept beside it. */
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const texts = ["uplot", "smol-toml"].map(
        (name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8")}`,
      );
      this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join("\n\n") });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [engine(), licences(), policy(), shown(), classic(), offline()],
  build: {
    outDir: OUT,
    // The engine is there already.
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    // Servers' policies rarely allow pictures from data.
    assetsInlineLimit: 0,
    rollupOptions: { output: { format: "iife", entryFileNames: "page.js", assetFileNames: "page[extname]" } },
  },
  worker: { format: "iife" },
});
