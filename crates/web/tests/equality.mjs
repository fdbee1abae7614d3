// Runs the stored scenarios of crates/sim/tests/golden_run in WebAssembly and compares the digests of their results with
// the stored ones, which `cargo test -p earlydrop-sim` compares with native runs.
//
//     node crates/web/tests/equality.mjs target/web/earlydrop.wasm

import { readdirSync, readFileSync } from "node:fs";
import { load } from "./engine.mjs";

const STORED = new URL("../../sim/tests/golden_run/", import.meta.url);

// FNV-1a, 64 bits, in two halves: the prime is 2^40 + 0x1b3.
export function digest(text) {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (const byte of new TextEncoder().encode(text)) {
    low = (low ^ byte) >>> 0;
    const product = low * 0x1b3;
    high = (high * 0x1b3 + ((low << 8) >>> 0) + Math.floor(product / 2 ** 32)) % 2 ** 32;
    low = product % 2 ** 32;
  }
  return [high, low].map((half) => half.toString(16).padStart(8, "0")).join("");
}

// A result document without its cost and the engine's version.
export function compared(document) {
  return document.replace(/"version":"[^"]*",/, "").replace(/"cost":\{[^}]*\},/, "");
}

export function stored() {
  const files = readdirSync(STORED).filter((name) => name.endsWith(".txt"));
  const lines = files.sort().flatMap((name) => readFileSync(new URL(name, STORED), "utf8").trim().split("\n"));
  return lines.map((line) => line.split("\t"));
}

if (process.argv[1]?.endsWith("equality.mjs")) {
  const { result } = await load(process.argv[2]);
  const [begin, rows] = [performance.now(), stored()];
  const other = rows.filter(([was, json]) => digest(compared(result({ json }))) !== was);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(`${rows.length - other.length} of ${rows.length} results equal those of native runs (${seconds} s)`);
  for (const [, json] of other.slice(0, 3)) console.log(`differs: ${json}`);
  process.exitCode = rows.length < 60 || other.length > 0 ? 1 : 0;
}
