// The page's models, without a browser: links, scenarios, sliders, statistics and sentences.

import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Call, Freezes } from "../src/call";
import type { Declared } from "../src/catalogue";
import { rangeOf } from "../src/catalogue";
import { cell, compare, sameRun, table } from "../src/comparison";
import { address, asked } from "../src/link";
import { latest, OPENING, SETUP, settled } from "../src/model";
import { short, time } from "../src/numbers";
import { FLOWS } from "../src/palette";
import { KIND } from "../src/protocol";
import { exported, imported, toml } from "../src/scenario";
import { at, STORIES } from "../src/stories";
import { estimate, holm, jain, paired, tDistribution, tQuantile } from "../src/statistics";
import { corrected, sentences } from "../src/words";

const units = (_: string, name: string): string => (name === "target" ? "s" : name === "min_th" ? "packets" : "");

describe("links", () => {
  it("restore a setup to the last digit, with the moment", async () => {
    const setup = {
      ...structuredClone(SETUP),
      rate: 12345678.9,
      changes: [{ time: 1 / 3, run: 0, parameter: "max_p", value: 0.1 + 0.2 }],
    };
    const hash = await address(setup, 2 / 3);
    expect(await asked(hash)).toEqual({ setup, at: 2 / 3, fresh: false, embed: false, view: "play", open: "" });
    expect(hash).toMatch(/^#s=[A-Za-z0-9_-]+$/);
  });

  it("that are cut say so", async () => {
    const hash = await address(structuredClone(SETUP), 1);
    await expect(asked(hash.slice(0, 20))).rejects.toThrow("The link is incomplete");
  });

  it("of every story open, and no link is made that the page would not open", async () => {
    for (const story of STORIES)
      for (const step of story.steps.keys()) {
        const setup = at(story, step);
        expect((await asked(await address(setup, 1))).setup).toEqual(setup);
      }
    const beyond = { ...structuredClone(SETUP), rate: 1e13 };
    await expect(address(beyond, 0)).rejects.toThrow("rate: 10000000000000; allowed: a number from 1 to 1000000000000");
  });

  it("say which field is wrong before anything is made of it", async () => {
    const link = (more: object): string =>
      `#s=${deflateRawSync(JSON.stringify({ setup: { ...SETUP, ...more }, at: 0 })).toString("base64url")}`;
    const group = SETUP.groups[0]!;
    const cases: [object, string][] = [
      [{ groups: [{ ...group, count: 1e9 }] }, "group 1: count: 1000000000; allowed: a whole number from 1 to 5000"],
      [
        {
          groups: [
            { ...group, count: 4000 },
            { ...group, count: 4000 },
          ],
        },
        "flows: 8000; allowed",
      ],
      [{ groups: {} }, "groups: an object; allowed: a list of 1 to 10 entries"],
      [{ disciplines: [{ aqm: "__proto__", set: {} }] }, "discipline 1: aqm: __proto__; allowed: a name"],
      [{ changes: [{ time: 0, run: 2, parameter: "x", value: 1 }] }, "change 1: run: 2; allowed"],
      [{ file: "a.".repeat(60) + "a = 1" }, "at most 50 tables within each other"],
      [{ file: "#".repeat(2 ** 20 + 1) }, "a scenario file has at most 1 MiB"],
      [{ story: "none" }, "story: none; allowed: one of this page's"],
    ];
    for (const [more, text] of cases) await expect(asked(link(more))).rejects.toThrow(text);
  });

  it("that inflate to too much are read no further", async () => {
    const bomb = deflateRawSync(Buffer.alloc(300_000_000)).toString("base64url");
    const before = process.memoryUsage().rss;
    await expect(asked(`#s=${bomb}`)).rejects.toThrow("It holds more than the 3145728 bytes");
    expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
    await expect(asked(`#s=${"A".repeat(2 ** 20 + 1)}`)).rejects.toThrow("longer than the 1048576 characters");
  });

  it("that ask for nothing begin with the page's opening, and words with the default setup", async () => {
    expect(await asked("")).toMatchObject({ setup: OPENING, at: 0, fresh: true });
    expect(await asked("#embed")).toMatchObject({ setup: OPENING, embed: true });
    expect((await asked("#seed=2")).setup).toEqual({ ...SETUP, seed: 2 });
    expect((await asked("#story=ecn")).fresh).toBe(false);
  });

  it("may be a few words", async () => {
    const found = await asked("#aqm=red,codel&flows=25&mbit=50&seed=7&embed");
    expect(found.setup.disciplines.map((one) => one.aqm)).toEqual(["red", "codel"]);
    expect([found.setup.groups[0]!.count, found.setup.rate, found.setup.seed, found.embed]).toEqual([
      25,
      50e6,
      7,
      true,
    ]);
  });
});

describe("scenarios", () => {
  it("give times a unit, and numbers of packets none", () => {
    const text = toml(SETUP, { aqm: "codel", set: { target: 0.015, min_th: 20 } }, units);
    expect(text).toContain('target = "0.015 s"');
    expect(text).toContain("min_th = 20");
  });

  it("have the round-trip times that were asked for", () => {
    const setup = {
      ...structuredClone(SETUP),
      groups: [{ ...SETUP.groups[0]!, count: 3, rtt: [0.02, 0.1] as [number, number] }],
    };
    const text = toml(setup, { aqm: "red", set: {} }, units);
    expect(text).toContain('[ "5 ms", "25 ms", "45 ms" ]');
    expect(text).toMatch(/\[topology\.bottleneck\]\nrate = "10 Mbit\/s"\ndelay = "5 ms"/);
  });

  it("export the last value of a changed parameter, and say so", () => {
    const setup = { ...structuredClone(SETUP), changes: [{ time: 5, run: 1, parameter: "target", value: 0.02 }] };
    expect(latest(setup)[1]!.set).toEqual({ target: 0.02 });
    expect(settled(setup).changes).toEqual([]);
    const text = exported(setup, 0, units);
    expect(text).toContain('earlydrop compare playground.toml --aqm droptail "codel target=0.02s"');
    expect(text).toContain("have their last values from the start");
  });

  it("of files keep their load, and the parameters of their own discipline", () => {
    const file =
      'name = "x"\nduration = "9 s"\nseed = 3\n[queue.up]\naqm = "red"\nlimit = 50\nmax_p = 0.3\n[[traffic]]\nkind = "ftp"\n';
    const setup = imported(file, SETUP);
    expect([setup.seed, setup.duration, setup.warmup, setup.disciplines[0]!.aqm]).toEqual([3, 9, 0, "red"]);
    expect(toml(setup, { aqm: "red", set: { min_th: 9 } }, units)).toMatch(/limit = 50\nmax_p = 0\.3\nmin_th = 9/);
    expect(toml(setup, { aqm: "codel", set: {} }, units)).not.toContain("max_p");
    expect(() => imported("name = 'no queue'", SETUP)).toThrow("no [queue.NAME]");
  });
});

describe("colours of flows", () => {
  // Machado, Oliveira, Fernandes 2009: what people without red, green or blue cones see, on linear RGB.
  const VISIONS = [
    [1, 0, 0, 0, 1, 0, 0, 0, 1],
    [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
    [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
  ];
  const times = (m: number[], v: number[]): number[] =>
    [0, 1, 2].map((row) => m[3 * row]! * v[0]! + m[3 * row + 1]! * v[1]! + m[3 * row + 2]! * v[2]!);
  const linear = (colour: string): number[] =>
    [1, 3, 5].map((k) => {
      const part = parseInt(colour.slice(k, k + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
  /** Oklab (Ottosson 2020). */
  const seen = (rgb: number[]): number[] => {
    const lms = times([0.41222, 0.53633, 0.05145, 0.2119, 0.68068, 0.1074, 0.0883, 0.28172, 0.62998], rgb);
    return times(
      [0.21045, 0.79362, -0.00407, 1.978, -2.42859, 0.45059, 0.0259, 0.78277, -0.80868],
      lms.map((v) => Math.cbrt(Math.max(0, v))),
    );
  };
  it.each(["#1d1f21", "#e7eaed"])("differ for everybody, with the text's colour %s among them", (text) => {
    const all = [...FLOWS, text];
    for (const vision of VISIONS) {
      const places = all.map((colour) => seen(times(vision, linear(colour))));
      for (const [k, one] of places.entries())
        for (const other of places.slice(k + 1))
          expect(Math.hypot(...one.map((v, i) => v - other[i]!))).toBeGreaterThan(0.07);
    }
  });
});

describe("a call", () => {
  const ways = { way: 0.01, delay: 0.02, byte: 1e-6, back: 0.03 };
  const event = (time: number, kind: number, sojourn = Number.NaN): number[] => [time, kind, 3, 200, 0, sojourn];
  it("brings keys and frames back after their packet's delay, and strikes through those that were lost", () => {
    const call = new Call(3, ways);
    call.press("a", 0.995);
    call.press("b", 1.01);
    // Sent at 1.0 with "a", after 0.1 s in the queue; sent at 1.02 with "b", dropped; another flow's packet.
    call.hear(Float64Array.from([event(1.01, KIND.passed), event(1.03, KIND.overflow), [1.03, 0, 4, 200, 0, Number.NaN]].flat()));
    call.hear(Float64Array.from(event(1.11, KIND.departed, 0.1)));
    expect(call.keys.map(({ text }) => text)).toEqual(["a", "b"]);
    expect(call.keys[0]!.back).toBeCloseTo(1.11 + 0.0002 + 0.02 + 0.03, 12);
    expect(call.keys[1]!.back).toBe(Infinity);
    expect([call.packets, call.lost]).toEqual([2, 1]);
    call.come(1.13);
    expect(call.pose).toBeNaN();
    call.come(1.131);
    expect(call.pose).toBeCloseTo(1, 12);
    expect(call.delay).toBeCloseTo(0.1302, 12);
  });
  it("loses what is dropped after it has waited", () => {
    const call = new Call(3, ways);
    call.press("a", 0);
    call.hear(Float64Array.from([...event(1, KIND.passed), ...event(1.2, KIND.forced, 0.2)]));
    expect([call.keys[0]!.back, call.lost]).toEqual([Infinity, 1]);
  });
  it("freezes at three times the mean interval and 150 ms beyond it, not before", () => {
    for (const [gap, count] of [
      [0.169, 0],
      [0.171, 1],
    ] as const) {
      const freezes = new Freezes();
      for (let k = 0; k <= 40; k += 1) freezes.shown(0.02 * k);
      expect(freezes.frozen(0.8 + gap)).toBe(count === 1);
      freezes.shown(0.8 + gap);
      expect(freezes.count).toBe(count);
      expect(freezes.time).toBeCloseTo(count * gap, 9);
    }
    // Where frames come slowly, three times the mean is more.
    const slow = new Freezes();
    for (let k = 0; k <= 40; k += 1) slow.shown(0.1 * k);
    slow.shown(4.29);
    expect(slow.count).toBe(0);
  });
});

describe("sliders", () => {
  const one = (more: Partial<Declared>): Declared => ({
    name: "x",
    symbol: "",
    unit: "",
    kind: "real",
    range: "",
    choices: null,
    default: "",
    source: "",
    doc: "",
    default_value: 0.1,
    low: 0,
    high: 1,
    open_low: false,
    auto: false,
    ...more,
  });
  it("show a short range whole", () => {
    expect(rangeOf(one({}))).toMatchObject({ low: 0, high: 1, log: false });
    expect(rangeOf(one({ kind: "whole", default_value: 2, low: 1, high: 8 }))).toMatchObject({
      low: 1,
      high: 8,
      log: false,
      whole: true,
    });
  });
  it("go by ratios around the default where the range spans decades or never ends", () => {
    expect(rangeOf(one({ default_value: 0.002 }))).toMatchObject({ high: 0.2, log: true, zero: true });
    expect(rangeOf(one({ default_value: 0.005, unit: "s", high: null, open_low: true }))).toMatchObject({
      low: 0.00005,
      high: 0.5,
      log: true,
      zero: false,
    });
  });
  it("are not made of words", () => {
    expect(rangeOf(one({ kind: "choice" }))).toBeNull();
  });
});

describe("numbers", () => {
  it("are short, with units", () => {
    expect([short(0.0123456), short(1234.5), time(0.0042), time(0)]).toEqual(["0.0123", "1235", "4.2 ms", "0 ms"]);
  });
});

describe("statistics", () => {
  const known = JSON.parse(readFileSync(new URL("statistics.json", import.meta.url), "utf8")) as {
    quantiles: [number, number, number][];
    distribution: [number, number, number][];
    series: { treatment: number[]; control: number[]; mean: number; half_width: number; p: number; wins: number }[];
    holm: { p: number[]; corrected: number[] };
    jain: { values: number[]; index: number };
    comparisons: {
      titles: string[];
      documents: unknown[][];
      summary: string[];
      holm: Record<string, number>[];
      cells: Record<string, string>[];
      differences: Record<string, string>[];
    }[];
  };
  const close = (value: number, wanted: number): void =>
    expect(Math.abs(value - wanted)).toBeLessThanOrEqual(1e-9 * Math.max(1e-12, Math.abs(wanted)));

  it("know Student's distribution", () => {
    for (const [p, n, t] of known.quantiles) close(tQuantile(p, n), t);
    for (const [t, n, p] of known.distribution) close(tDistribution(t, n), p);
  });
  it("give the intervals and p values of earlydrop compare", () => {
    for (const one of known.series) {
      const found = paired(one.treatment, one.control);
      close(found.estimate.mean, one.mean);
      close(found.estimate.halfWidth!, one.half_width);
      close(found.p!, one.p);
      expect(found.wins).toBe(one.wins);
    }
  });
  it("correct by Holm and know Jain", () => {
    holm(known.holm.p).forEach((p, k) => close(p, known.holm.corrected[k]!));
    close(jain(known.jain.values), known.jain.index);
  });
  it("leave one value, or one run, without an interval", () => {
    expect(estimate([3]).halfWidth).toBeNull();
    expect(estimate([3, 3, 3], 0.95, true)).toMatchObject({ halfWidth: null, replicates: 1, n: 3 });
    expect(
      sameRun([
        { seed: 1, a: 2 },
        { seed: 2, a: 2 },
      ]),
    ).toBe(true);
    expect(sameRun([{ seed: 1, a: 2 }])).toBe(false);
  });
  it("say what earlydrop compare says", () => {
    for (const one of known.comparisons) {
      const result = compare(
        one.titles,
        one.documents,
        one.titles.map(() => "bottleneck"),
      );
      expect(sentences(result)).toEqual(one.summary);
      one.cells.forEach((row, k) => {
        for (const quantity of result.quantities)
          expect(cell(result.cells[k]!.get(quantity.id), quantity)).toBe(row[quantity.id]);
      });
      const ps = corrected(result);
      one.holm.forEach((row, k) => {
        for (const [id, p] of Object.entries(row)) close(ps.get(result.differences[k]!.get(id)!)!, p);
      });
      const rows = table(result).slice(1);
      one.differences.forEach((row, k) => {
        result.quantities.forEach((quantity, at) => expect(rows[at]![2 * k + 3]).toBe(row[quantity.id]));
      });
    }
  });
});
