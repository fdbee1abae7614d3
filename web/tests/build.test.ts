// What others show of a link to the page: the tags of a build that knows where the page will be, and of one that does not.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BUILT, FOLDER, ROOT, SLOW } from "./browser";

/** The folder of a build for an address. */
function build(address: string, name: string): string {
  const out = join(FOLDER, name);
  const env = { ...process.env, EARLYDROP_URL: address };
  const words = [join(ROOT, "web/node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn", "--outDir", out];
  execFileSync(process.execPath, words, { cwd: join(ROOT, "web"), env, stdio: "pipe" });
  return out;
}

function tags(folder: string): Record<string, string> {
  const html = readFileSync(join(folder, "index.html"), "utf8");
  return Object.fromEntries([...html.matchAll(/<meta property="og:([^"]+)" content="([^"]+)">/g)].map(([, k, v]) => [k!, v!]));
}

describe("a build", () => {
  it(
    "names the page's address and picture where it is told the address",
    () => {
      const out = build("https://example.org/play", "placed");
      const found = tags(out);
      expect(Object.keys(found)).toEqual(["title", "description", "type", "url", "image", "image:alt"]);
      expect([found.url, found.image]).toEqual(["https://example.org/play/", "https://example.org/play/preview.png"]);
      // A picture of 1200 by 630 pixels, which is not kept for when there is no network.
      const picture = readFileSync(join(out, "preview.png"));
      expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([1200, 630]);
      expect(readFileSync(join(out, "offline.js"), "utf8")).not.toContain("preview");
    },
    SLOW,
  );

  it("names none where it is not", () => {
    expect(Object.keys(tags(BUILT))).toEqual(["title", "description", "type"]);
    expect(existsSync(join(BUILT, "preview.png"))).toBe(false);
  });

  it(
    "ends at an address that is none",
    () => {
      for (const wrong of ["example.org", 'https://x"y', "javascript:alert(1)"])
        expect(() => build(wrong, "wrong"), wrong).toThrow("EARLYDROP_URL: given");
    },
    SLOW,
  );
});
