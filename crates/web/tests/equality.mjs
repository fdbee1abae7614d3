// Runs the stored scenarios of crates/sim/tests/golden_run in WebAssembly and compares the digests of their results with
// the stored ones, which `cargo test -p earlydrop-sim` compares with native runs (golden/digests.rs says how they are made).
//
//     node crates/web/tests/equality.mjs target/web/earlydrop.wasm

import { readdirSync, readFileSync } from "node:fs";
import { load } from "./engine.mjs";

const STORED = new URL("../../sim/tests/golden_run/", import.meta.url);
const COLUMNS = "columns.txt";
const read = (name) => readFileSync(new URL(name, STORED), "utf8").trim().split("\n");

// FNV-1a, 64 bits, in two halves, continued from `hash`: the prime is 2^40 + 0x1b3.
function fold([high, low], text) {
  for (const byte of new TextEncoder().encode(text)) {
    low = (low ^ byte) >>> 0;
    const product = low * 0x1b3;
    high = (high * 0x1b3 + ((low << 8) >>> 0) + Math.floor(product / 2 ** 32)) % 2 ** 32;
    low = product % 2 ** 32;
  }
  return [high, low];
}

const BASIS = [0xcbf29ce4, 0x84222325];
const hex = (hash) => hash.map((half) => half.toString(16).padStart(8, "0")).join("");
const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
// A value as the document has it: its numbers are texts that begin with "=".
const text = (value) => {
  if (Array.isArray(value)) return `[${value.map(text).join()}]`;
  return typeof value === "string" && value[0] === "=" ? value.slice(1) : JSON.stringify(value);
};

// A digest of each column of a result document, given as text: numbers must keep their digits.
export function columns(document) {
  const found = new Map();
  const add = (value, path, column, named) => {
    if (isTable(value) && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value))
        add(inner, `${path}.${key}`, `${column}.${named ? "*" : key}`, !named && ["queues", "bands"].includes(key));
    } else if (Array.isArray(value) && value.some(isTable)) {
      value.forEach((inner, at) => add(inner, `${path}.${at}`, `${column}.*`, false));
    } else found.set(column, fold(found.get(column) ?? BASIS, `${path}=${text(value)}\n`));
  };
  const exact = document.replace(/("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)/g, (_, word, number) => word ?? `"=${number}"`);
  const { cost, version, ...rest } = JSON.parse(exact);
  for (const [key, value] of Object.entries(rest)) add(value, key, key, ["queues", "traces"].includes(key));
  return new Map([...found].map(([column, hash]) => [column, hex(hash)]));
}

// Runs whose digest is another, with their scenarios; and columns whose digest over all runs is. `results` has the
// documents in the order of `stored()`.
export function differing(results) {
  const rows = read(COLUMNS).map((line) => line.split("\t"));
  const listed = rows.filter(([, , alone]) => !alone).map(([, column]) => column);
  const all = new Map();
  const runs = stored().filter(([was, scenario], at) => {
    const found = columns(results[at]);
    for (const [column, hash] of found) {
      const sum = (all.get(column) ?? 0n) + BigInt(`0x${hex(fold(BASIS, `${scenario}=${hash}\n`))}`);
      all.set(column, BigInt.asUintN(64, sum));
    }
    const own = listed.filter((column) => found.has(column)).map((column) => `${column}=${found.get(column)}\n`);
    return hex(fold(BASIS, own.join(""))) !== was;
  });
  const known = new Map(rows.map(([hash, column]) => [column, hash]));
  const names = new Set([...known.keys(), ...all.keys()]);
  const now = (column) => all.get(column)?.toString(16).padStart(16, "0");
  return { runs, columns: [...names].filter((column) => now(column) !== known.get(column)) };
}

// Digest and scenario of each stored run.
export function stored() {
  const files = readdirSync(STORED).filter((name) => name.endsWith(".txt") && name !== COLUMNS);
  return files.sort().flatMap(read).map((line) => line.split("\t"));
}

if (process.argv[1]?.endsWith("equality.mjs")) {
  const { result } = await load(process.argv[2]);
  const [begin, rows] = [performance.now(), stored()];
  const other = differing(rows.map(([, json]) => result({ json })));
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  console.log(`${rows.length - other.runs.length} of ${rows.length} results equal those of native runs (${seconds} s)`);
  for (const column of other.columns) console.log(`differs: ${column}`);
  for (const [, json] of other.runs.slice(0, 3)) console.log(`differs: ${json}`);
  process.exitCode = rows.length < 60 || other.runs.length + other.columns.length > 0 ? 1 : 0;
}
