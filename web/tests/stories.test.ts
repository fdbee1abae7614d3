// Every story's claim is what its runs show; and the engine as the page calls it.

import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { MAIN, main, rangeOf } from "../src/catalogue";
import { Engine } from "../src/engine";
import { BINS, EVENT, FLOW, KIND, WAIT, WINDOWS } from "../src/protocol";
import { QUEUE, toml } from "../src/scenario";
import { at, type Result, STORIES } from "../src/stories";
import { SETUP, type Setup } from "../src/model";

let engine: Engine;
beforeAll(async () => {
  const bytes = readFileSync(new URL("../../target/web/earlydrop.wasm", import.meta.url));
  engine = await Engine.load(await WebAssembly.compile(bytes));
});

function tomls(setup: Setup): string[] {
  const all = engine.disciplines();
  const unit = (aqm: string, name: string): string =>
    all.find((one) => one.name === aqm)?.parameters.find((one) => one.name === name)?.unit ?? "";
  return setup.disciplines.map((one) => toml(setup, one, unit));
}

describe("stories", () => {
  it("have names of their own, papers, and steps", () => {
    expect(new Set(STORIES.map((one) => one.id)).size).toBe(STORIES.length);
    expect(STORIES.length).toBeGreaterThanOrEqual(12);
    // Nobody learns where the right answer stands.
    const places = STORIES.map((one) => one.guess.right);
    for (const place of [0, 1, 2]) expect(places.filter((one) => one === place).length).toBeLessThan(0.6 * places.length);
    for (const one of STORIES) {
      expect(one.paper.length).toBeGreaterThan(10);
      expect(one.steps.length).toBeGreaterThan(1);
      expect(new Set(one.guess.answers).size).toBe(3);
    }
  });
  // With three seeds each, so that no claim hangs on one.
  it.each(STORIES.map((one) => [one.id, one] as const))(
    "%s: the claim is what the runs show",
    async (_, story) => {
      const said: string[] = [];
      for (const seed of [1, 2, 3]) {
        const results: Result[][] = [];
        for (const step of story.steps.keys()) {
          const runs = tomls(at(story, step)).map((text) => engine.run(text, seed));
          results.push((await Promise.all(runs)).map((text) => JSON.parse(text) as Result));
        }
        const { answer, holds, says } = story.check(results);
        said.push(says);
        expect(holds, says).toBe(true);
        expect(answer, says).toBe(story.guess.right);
      }
      console.log(`${story.id}: ${said[0]}`);
    },
    120_000,
  );
});

describe("the engine", () => {
  it("has the parameters that a card shows first", () => {
    for (const [aqm, names] of Object.entries(MAIN)) {
      const one = engine.disciplines().find(({ name }) => name === aqm)!;
      expect(main(one).map(({ name }) => name)).toEqual(names);
    }
  });

  it("has a slider for each number, whose default lies on it", () => {
    for (const discipline of engine.disciplines()) {
      expect(main(discipline).length).toBeLessThanOrEqual(6);
      for (const one of discipline.parameters) {
        const range = rangeOf(one);
        expect(range !== null).toBe(one.kind === "real" || one.kind === "whole");
        if (!range || typeof one.default_value !== "number") continue;
        expect(range.low, `${discipline.name} ${one.name}`).toBeLessThan(range.high);
        const least = range.zero ? 0 : range.low;
        expect(one.default_value, `${discipline.name} ${one.name}`).toBeGreaterThanOrEqual(least);
        expect(one.default_value, `${discipline.name} ${one.name}`).toBeLessThanOrEqual(range.high);
      }
    }
  });
  it("names its columns as the page reads them", () => {
    engine.input({ toml: tomls(SETUP)[0]!, packets: 16 });
    const handle = engine.exports.ed_load();
    const about = JSON.parse(engine.text(handle)) as {
      queue_columns: string[];
      flow_columns: string[];
      packet_columns: string[];
      packet_kinds: string[];
    };
    expect(about.queue_columns.slice(0, 11)).toEqual([
      "packets",
      "bytes",
      "average",
      "arrivals",
      "arrived_bytes",
      "departures",
      "departed_bytes",
      "early_drops",
      "forced_drops",
      "overflow_drops",
      "marks",
    ]);
    expect(about.queue_columns.length).toBe(13);
    const { width, ...columns } = FLOW;
    expect(about.flow_columns.length).toBe(width);
    expect(Object.values(columns).map((k) => about.flow_columns[k])).toEqual([
      "cwnd",
      "delivered_bytes",
      "retransmits",
      "passed_bytes",
    ]);
    expect(about.packet_columns).toEqual(["time_s", "kind", "flow", "size_bytes", "queue_packets", "sojourn_s"]);
    expect(about.packet_columns.length).toBe(EVENT.width);
    expect(about.packet_kinds).toEqual([
      "passed",
      "marked",
      "early",
      "forced",
      "overflow",
      "departed",
      "departed_marked",
    ]);
    expect(KIND.departedMarked).toBe(6);
    engine.exports.ed_close(handle);
  });
  it("shows each packet that waits, in the queue of its flow", async () => {
    const setup = { ...SETUP, disciplines: ["droptail", "fq_codel", "cake", "fq"].map((aqm) => ({ aqm, set: {} })) };
    for (const [k, text] of tomls(setup).entries()) {
      const run = engine.start(text, 1, QUEUE);
      const flows = new Map<number, number>();
      let most = 0;
      for (let time = 0.5; time < 5; time += 0.0137) {
        await run.runUntil(time);
        const waiting = run.waiting(1000);
        const { packets, bytes } = run.queue();
        let sum = 0;
        const queues = new Map<number, number>();
        for (let at = 0; at < waiting.length; at += WAIT.width) {
          const [queue, flow] = [waiting[at]!, waiting[at + 1]!];
          expect(flow >= 1 && flow <= 10).toBe(true);
          // A queue of a flow has its packets alone.
          expect(k === 0 || (queues.get(queue) ?? flow) === flow).toBe(true);
          queues.set(queue, flow);
          flows.set(flow, queue);
          sum += waiting[at + 2]!;
        }
        expect([waiting.length / WAIT.width, sum]).toEqual([packets, bytes]);
        most = Math.max(most, queues.size);
      }
      expect(flows.size).toBe(10);
      expect(most > 1).toBe(k > 0);
      expect(run.waiting(2).length).toBeLessThanOrEqual(2 * WAIT.width);
      run.free();
    }
  });
  it("shows DualPI2's two queues by their numbers", async () => {
    const setup = at(STORIES.find((one) => one.id === "l4s")!, 0);
    const run = engine.start(tomls(setup)[0]!, 1, QUEUE);
    const seen = new Set<string>();
    for (let time = 1; time < 6; time += 0.01) {
      await run.runUntil(time);
      const waiting = run.waiting(1000);
      // Flows 1 and 2 are Prague's.
      for (let k = 0; k < waiting.length; k += WAIT.width) seen.add(`${waiting[k]} ${waiting[k + 1]! <= 2 ? "L" : "C"}`);
    }
    expect([...seen].sort()).toEqual(["0 L", "1 C"]);
    run.free();
  });
  it("gives the same document however it is stepped, and a changed parameter is in it", async () => {
    const text = tomls({ ...SETUP, duration: 20 })[1]!;
    const bare = (document: string): unknown => ({ ...(JSON.parse(document) as object), cost: 0 });
    const steps = engine.start(text, 3, QUEUE);
    for (let k = 1; k < 1000; k += 1) await steps.runUntil(k * 0.011);
    expect(steps.windows().length).toBe(WINDOWS);
    expect(steps.sojourns().length).toBe(BINS);
    expect(bare(await steps.finish())).toEqual(bare(await engine.run(text, 3)));
    steps.free();
    const changed = engine.start(text, 3, QUEUE);
    await changed.runUntil(5);
    changed.set(QUEUE, "target", 0.05);
    expect(() => changed.set(QUEUE, "target", -1)).toThrow("target");
    expect((JSON.parse(await changed.finish()) as { changes: unknown[] }).changes).toMatchObject([
      { time_s: 5, parameter: "target", value: 0.05 },
    ]);
    changed.free();
  });
  it("says what is wrong with a scenario", async () => {
    await expect(engine.run('name = "x"', 1)).rejects.toThrow(/duration/);
  });
});
