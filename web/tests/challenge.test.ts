// The challenge without a browser: its links, its scenarios and its score.

import { describe, expect, it } from "vitest";
import { parse } from "smol-toml";
import { challenged, exported, first, HIGH, line, LINES, LOW, RULE, scenario, scored, SECONDS, written } from "../src/challenge";
import { asked } from "../src/link";

describe("a challenge's link", () => {
  it("holds line, rule and seed in words, and opens the view", async () => {
    const mine = { rates: line("steps"), rule: "min(1, q/100) + (0.01 < delay)*2e-2 - p*exp(-dt)", seed: 42 };
    mine.rates[3] = 0.5;
    const hash = written(mine);
    expect(challenged(hash)).toEqual(mine);
    expect(hash.length).toBeLessThan(600);
    expect(await asked(hash)).toMatchObject({ view: "challenge", embed: false });
    expect(challenged("#view=challenge")).toEqual(first());
    expect(challenged("#aqm=red&rule=1")).toEqual(first());
  });

  it("is refused with the word that is wrong", () => {
    const refused = (words: Record<string, string>): string => {
      try {
        challenged(`#${new URLSearchParams({ view: "challenge", ...words }).toString()}`);
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    const rates = (third: string): string => line("steady").map((rate, k) => (k === 2 ? third : rate)).join(" ");
    for (const bad of ["0", "51", "-1", "1e1", "NaN", "", "0x10", "1.", "__proto__"])
      expect(refused({ line: rates(bad) })).toContain(`line: second 3: ${bad}; allowed: a rate from 0.5 to 50`);
    expect(refused({ line: "1 2 3" })).toContain("line: 1 2 3; allowed: 30 rates, one a second");
    expect(refused({ line: "1 ".repeat(1e3) })).toBe("The link is longer than the 2000 characters that a challenge may have.");
    expect(refused({ rule: "q".repeat(RULE + 1) })).toContain("allowed: at most 200 ASCII characters");
    expect(refused({ rule: "q\n" })).toContain("ASCII");
    expect(refused({ seed: "1e3" })).toContain("seed: 1e3; allowed: a whole number");
    expect(refused({ rule: "<img src=x onerror=alert(1)>" })).toBe("");
  });
});

describe("a challenge's scenario", () => {
  it("has the drawn line, a step where it changes, for both queues alike", () => {
    const mine = { rates: line("steps"), rule: 'q "<" 1', seed: 7 };
    const [own, rival] = [parse(scenario(mine)), parse(scenario(mine, true))] as Record<string, never>[];
    const { schedule } = own!["topology"]!["bottleneck"]!["rate"] as { schedule: string[][] };
    expect(schedule.slice(0, 2)).toEqual([
      ["0 s", "20 Mbit/s"],
      ["6 s", "4 Mbit/s"],
    ]);
    expect(schedule).toHaveLength(5);
    expect(own!["queue"]!["bottleneck"]).toEqual({ aqm: "expression", rule: 'q "<" 1', limit: "1000 packets" });
    expect(rival!["queue"]!["bottleneck"]).toEqual({ aqm: "fq_codel", limit: "1000 packets" });
    expect({ ...own, queue: 0 }).toEqual({ ...rival, queue: 0 });
    expect(parse(exported(mine))).toEqual(own);
  });

  it("begins with lines within the bounds", () => {
    for (const [name] of LINES) {
      const rates = line(name);
      expect(rates).toHaveLength(SECONDS);
      expect(rates.every((rate) => rate >= LOW && rate <= HIGH)).toBe(true);
    }
  });
});

describe("the score", () => {
  const document = (goodput: number, delay: number, page: number | null): unknown => ({
    goodput_total_mbps: goodput,
    queues: { bottleneck: { delay_mean_ms: delay } },
    traffic: [{}, { transfers: { time_mean_s: page } }],
  });

  it("is 100 times the geometric mean of three ratios", () => {
    const { score, measures } = scored(document(8, 10, 2), document(10, 70, 1));
    expect(measures.map((one) => one.ratio)).toEqual([0.8, 2, 0.5]);
    expect(measures[1]!.values).toEqual([60, 120]);
    expect(score).toBeCloseTo(100 * Math.cbrt(0.8), 10);
    expect(scored(document(10, 70, 1), document(10, 70, 1)).score).toBeCloseTo(100, 10);
  });

  it("is 0 for a rule that sends nothing or loads no page", () => {
    expect(scored(document(0, 0, 1), document(10, 70, 1)).score).toBe(0);
    expect(scored(document(10, 0, null), document(10, 70, 1)).score).toBe(0);
    expect(scored({}, {}).score).toBe(0);
  });
});
