// CPU time of runs of a scenario in WebAssembly, s, one a line; the first ones warm up.
//
//     node crates/web/tests/speed.mjs target/web/earlydrop.wasm RUNS < scenario.json

import { readFileSync } from "node:fs";
import { load } from "./engine.mjs";

const { result } = await load(process.argv[2]);
const json = readFileSync(0, "utf8");
for (let run = 0; run < Number(process.argv[3]); run++) {
  const begin = process.cpuUsage();
  result({ json });
  console.log(process.cpuUsage(begin).user / 1e6);
}
