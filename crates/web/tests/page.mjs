// Runs the program of docs/web.md as it stands there.
//
//     node crates/web/tests/page.mjs target/web/earlydrop.wasm

import { readFileSync } from "node:fs";
import { load } from "./engine.mjs";

const page = readFileSync(new URL("../../../docs/web.md", import.meta.url), "utf8");
const programs = [...page.matchAll(/^```js\n(.*?)^```/gms)].map((block) => block[1]);
const engine = await load(process.argv[2]);
engine.input({ name: "page" });
engine.checked(engine.ed.ed_template());
const toml = engine.text().replace('duration = "60 s"', 'duration = "30 s"');

const lines = [];
const AsyncFunction = (async () => {}).constructor;
const program = new AsyncFunction("bytes", "toml", "console", `${programs.join("\n")}\nreturn result;`);
const result = await program(readFileSync(process.argv[2]), toml, { log: (...words) => lines.push(words.join(" ")) });
const expected = JSON.parse(engine.result({ toml, seed: 1 }));
for (const document of [result, expected]) delete document.cost;
const same = JSON.stringify(result) === JSON.stringify(expected);
const steps = lines.filter((line) => /^[\d.]+ \d+ packets wait$/.test(line)).length;
if (!same || steps < 300 || steps !== lines.length) {
  console.log(`the program of docs/web.md: ${same ? "the same result" : "another result"}, ${steps} steps`, lines[0]);
  process.exitCode = 1;
}
