// A home's line: the page and `earlydrop advise` say the same, to the last character, and a line that one of them writes
// opens as that line.

import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { beforeAll, describe, expect, it } from "vitest";
import type { Discipline } from "../src/catalogue";
import { checked } from "../src/checked";
import { Engine } from "../src/engine";
import {
  type Line,
  lineIn,
  lineText,
  notes,
  presetLine,
  readRate,
  readTime,
  RULES,
  scenario,
  sqmConfig,
  tcLines,
  tcUndo,
  usualRtt,
} from "../src/line";
import { asked } from "../src/link";
import { OPENING } from "../src/model";
import { exported, lineSetup, opened, paths, queuesOf, toml } from "../src/scenario";
import type { About } from "../src/protocol";
import { python } from "./browser";

let engine: Engine;
let all: Discipline[];
beforeAll(async () => {
  const bytes = readFileSync(new URL("../../target/web/earlydrop.wasm", import.meta.url));
  engine = await Engine.load(await WebAssembly.compile(bytes));
  all = engine.disciplines();
});

type Given = [down: string, up: string, rtt: string | null, link: string, buffer?: string];

/** The lines that the command is held to (python/tests/test_home.py), a range of round trips by its upper end. */
const LINES: Given[] = [
  ["16mbit", "1mbit", null, "adsl"],
  ["100mbit", "40mbit", null, "vdsl"],
  ["50mbit", "10mbit", null, "docsis"],
  ["500mbit", "30mbit", null, "docsis"],
  ["1gbit", "500mbit", null, "fiber"],
  ["20mbit", "5mbit", null, "lte"],
  ["50mbit", "5mbit", null, "satellite"],
  ["100mbit", "50mbit", "10ms", "fiber"],
  ["100mbit", "50mbit", "100ms", "fiber"],
  ["100mbit", "50mbit", "300ms", "fiber"],
];
/** A grid of rates, round trips and kinds, with what lies just at, below and above each rule's beginning. */
const GRID: Given[] = [
  ...Object.keys(RULES.links).flatMap((link) =>
    [
      ["128kbit", "128kbit"],
      ["1499kbit", "100kbit"],
      ["15mbit", "1mbit"],
      ["14999kbit", "1mbit"],
      ["2.9mbit", "2.8mbit"],
      ["500mbit", "33.4mbit"],
      ["499.999mbit", "1.2345mbit"],
      ["10gbit", "10gbit"],
    ]
      .filter(([, up]) => up !== "100kbit")
      .flatMap(([down, up]) =>
        ["2ms", "7.5ms", "100ms", "101ms", "300.5ms", "305ms", "315ms", "1s", "1001ms", "9999.9ms", "10s"].map(
          (rtt): Given => [down!, up!, rtt, link],
        ),
      ),
  ),
  ["8mbit", "1mbit", "33.3ms", "docsis", "1ms"],
  ["8mbit", "1mbit", "33.3ms", "docsis", "1234ms"],
  ["8mbit", "1mbit", "33.3ms", "vdsl", "100 packets"],
];

function line([down, up, rtt, link, held = RULES.buffer]: Given): Line {
  const buffer = held.replace(/^(\d+)ms$/, "$1 ms");
  return {
    link,
    down: readRate("down", down),
    up: readRate("up", up),
    rtt: rtt === null ? usualRtt(link) : readTime("rtt", rtt),
    buffer,
    way: "up",
  };
}

const ASK = `
import json, sys
from earlydrop import advise
from earlydrop.advise import commands, model, text
found = []
for down, up, rtt, link, *held in json.loads(sys.argv[1]):
    home = advise.home(down, up, rtt, link, *held)
    queues = {}
    for aqm in [*commands.SQM, "today"]:
        own = model.scenario(home, aqm, max(home.rtts_ms))
        queues[aqm] = {"scenario": {key: own[key] for key in ("link", "queue", "traffic")}}
        if aqm != "today":
            queues[aqm] |= {"tc": commands.tc_lines(home, aqm), "sqm": commands.sqm_config(home, aqm)}
    found.append({"text": text.line_text(home), "notes": text.notes(home), "undo": commands.tc_undo(), "queues": queues})
print(json.dumps(found))
`;

interface Said {
  text: string;
  notes: string[];
  undo: string[];
  queues: Record<string, { scenario: object; tc: string[]; sqm: string }>;
}

const LONG = 60_000;

describe("a line of the page", () => {
  it("has the setting, the commands, the configuration and the scenario of earlydrop advise", () => {
    const given = [...LINES, ...GRID];
    expect(given.length).toBeGreaterThan(400);
    const said = JSON.parse(python("-c", ASK, JSON.stringify(given))) as Said[];
    for (const [k, one] of given.entries()) {
      const [own, known] = [line(one), said[k]!];
      const name = JSON.stringify(one);
      expect(lineText(own), name).toBe(known.text);
      expect(notes(own), name).toEqual(known.notes);
      expect(tcUndo()).toEqual(known.undo);
      for (const [aqm, { scenario: native, tc, sqm }] of Object.entries(known.queues)) {
        const queue = aqm === "today" ? "droptail" : aqm;
        expect(scenario(own, queue, all), `${name} ${aqm}`).toEqual(native);
        if (aqm === "today") continue;
        expect(tcLines(own, all, aqm), name).toEqual(tc);
        expect(sqmConfig(own, all, aqm), name).toBe(sqm);
      }
    }
  }, LONG);

  it("refuses the rates and times that the command refuses", () => {
    for (const wrong of ["", "x", "50mbps", "1kbit", "11gbit", "-5", "1e3", "50 Mbit/s/s"])
      expect(() => readRate("Down", wrong), wrong).toThrow(`Down: given "${wrong}"; allowed 128kbit to 10gbit`);
    for (const wrong of ["", "1", "20..80ms", "11s", "-5ms"])
      expect(() => readTime("Round trip", wrong), wrong).toThrow(`Round trip: given "${wrong}"; allowed 2ms to 10s`);
    expect(["50", "50mbit", "50 Mbit/s", "50Mbps", "50000kbit", "0.05gbit"].map((one) => readRate("", one))).toEqual(
      new Array(6).fill(50e6),
    );
    expect(["600", "600ms", "0.6 s"].map((one) => readTime("", one))).toEqual([600, 600, 600]);
  });

  it("runs: each preset with each queue that is offered, and one with every discipline", () => {
    const units = (aqm: string, name: string): string =>
      all.find((one) => one.name === aqm)?.parameters.find((one) => one.name === name)?.unit ?? "";
    expect(RULES.presets.map((one) => one.title)).toEqual(["DSL", "Cable", "Fibre", "Satellite"]);
    for (const preset of RULES.presets)
      for (const aqm of preset.title === "Cable" ? all.map((one) => one.name) : RULES.sqm) {
        const setup = lineSetup(OPENING, presetLine(preset), aqm);
        expect(checked(setup, 0).setup).toEqual(setup);
        const queues = queuesOf(setup);
        expect(queues).toEqual(aqm === "droptail" ? ["line_up"] : ["line_up", "router_up"]);
        setup.disciplines.forEach((one, k) => {
          const run = engine.start(toml(setup, one, units, all), 1, queues[k]!);
          expect(run.about.aqm).toBe(one.aqm);
          expect(run.about.rate).toBeCloseTo(setup.line!.up * (k ? RULES.shaped : 1), 3);
          expect(run.about.entries).toEqual([4, 1, 1, 1, 1, 1, 1, 1, 6]);
          expect(paths(setup, run.about as About).call.flow).toBe(9);
          run.free();
        });
      }
  }, LONG);

  it("has parameters in the watched direction, and in what is exported", () => {
    const setup = lineSetup(OPENING, line(["50mbit", "10mbit", null, "docsis"]), "fq_codel");
    setup.disciplines[1]!.set.target = 0.02;
    const units = (_: string, name: string): string => (name === "target" ? "s" : "");
    const text = exported(setup, 1, units, all);
    const { queue } = parse(text) as { queue: Record<string, { target?: string }> };
    expect([queue.router_up!.target, queue.router_down!.target, queue.line_up!.target]).toEqual(["0.02 s", "5 ms", undefined]);
    expect(text).not.toContain("earlydrop compare");
  });
});

describe("a scenario of a line", () => {
  const WRITE = `
import json, sys
from earlydrop import advise
from earlydrop.advise import model
from earlydrop.toml_writer import to_toml
for aqm in ("cake", "fq_codel", "today"):
    for given in json.loads(sys.argv[1]):
        down, up, rtt, link, *held = given
        home = advise.home(down, up, rtt, link, *held)
        print(to_toml(model.scenario(home, aqm, max(home.rtts_ms))), end="\\0")
`;
  it("opens as that line, whoever has written it", () => {
    const given = [...LINES, ...GRID.filter((_, k) => k % 37 === 5), ...GRID.slice(-2)];
    const texts = python("-c", WRITE, JSON.stringify(given)).split("\0").slice(0, -1);
    expect(texts.length).toBe(3 * given.length);
    texts.forEach((text, k) => {
      const one = given[k % given.length]!;
      const setup = opened(text, OPENING, all);
      const aqms = [["droptail", "cake"], ["droptail", "fq_codel"], ["droptail"]][Math.floor(k / given.length)]!;
      expect(setup.disciplines.map(({ aqm }) => aqm), JSON.stringify(one)).toEqual(aqms);
      const { link, ...own } = setup.line!;
      const { link: kind, ...known } = line(one);
      expect(own).toEqual({ ...known, way: own.way });
      // Satellites and LTE are framed alike: what differs is said beside, never in the scenario.
      expect(RULES.links[link]!.cake).toBe(RULES.links[kind]!.cake);
      if (one[2] === null) expect(link).toBe(kind);
    });
  }, LONG);

  it("opens as a file where anything is another", () => {
    const [text] = python("-c", WRITE, JSON.stringify([LINES[2]])).split("\0");
    for (const [from, to] of [
      ["15 ms", "16.1 s"],
      ['overhead = "18 B"', 'overhead = "19 B"'],
      ['limit = "312500 B"', 'limit = "312501 B"'],
      ["objects = 50", "objects = 51"],
      ["ingress = true", "ingress = false"],
      ['from = "router"', 'from = "switch"'],
    ] as const) {
      expect(text).toContain(from);
      const setup = opened(text!.replaceAll(from, to), OPENING, all);
      expect([setup.line, setup.file.length > 0], from).toEqual([null, true]);
    }
    for (const document of [{}, { link: 3 }, { link: [], queue: {} }, { link: [{}, { rate: {}, reverse: 7 }], queue: { line_down: "x" } }])
      expect(lineIn(document, all)).toBeNull();
  }, LONG);
});

describe("a line in a link", () => {
  it("may be a few words", async () => {
    const found = await asked("#line=docsis&down=60&rtt=42&way=down");
    expect(found).toMatchObject({ view: "line", fresh: true });
    expect(found.setup.line).toEqual({ link: "docsis", down: 60e6, up: 10e6, rtt: 42, buffer: "250 ms", way: "down" });
    expect((await asked("#line=fiber&aqm=fq_codel,pie")).setup.disciplines.map((one) => one.aqm)).toEqual(["fq_codel", "pie"]);
    await expect(asked("#line=isdn")).rejects.toThrow("The link has line: isdn; allowed: docsis, adsl");
    await expect(asked("#line=docsis&down=1e9")).rejects.toThrow('down: given "1e9"; allowed');
    // Kinds that no preset has must say their rates.
    await expect(asked("#line=lte")).rejects.toThrow('down: given ""; allowed');
    await expect(asked("#line=__proto__")).rejects.toThrow("allowed: docsis");
  });

  it("is looked at before anything is made of it", () => {
    const setup = lineSetup(OPENING, presetLine(RULES.presets[0]!));
    const buffers = "allowed: 1 ms to 10000 ms, or 2 packets to 1000000 packets.";
    for (const [more, said] of [
      [{ down: 1 }, "down: 1; allowed: a number from 128000 to 10000000000."],
      [{ up: Number.NaN }, "up: NaN; allowed: a number"],
      [{ up: "50" }, "up: 50; allowed: a number"],
      [{ rtt: 1e9 }, "rtt: 1000000000; allowed: a number from 2 to 10000."],
      [{ link: "__proto__" }, "link: __proto__; allowed: docsis, adsl, vdsl, fiber, lte, satellite."],
      [{ buffer: "x" }, `buffer: x; ${buffers}`],
      [{ buffer: "9999999 packets" }, `buffer: 9999999 packets; ${buffers}`],
      [{ buffer: "0.5 ms" }, `buffer: 0.5 ms; ${buffers}`],
      [{ buffer: "2.5 packets" }, `buffer: 2.5 packets; ${buffers}`],
      [{ buffer: {} }, `buffer: an object; ${buffers}`],
      [{ way: "left" }, "way: left; allowed: down or up."],
    ] as const)
      expect(() => checked({ ...setup, line: { ...setup.line, ...more } }, 0)).toThrow(`The link has line: ${said}`);
    expect(() => checked({ ...setup, line: 7 }, 0)).toThrow("The link has line: 7; allowed: an object.");
  });
});
