// What a link may hold: each field of its setup has a type and bounds, and is looked at before anything is made of it.

import {
  type Change,
  type Chosen,
  type Group,
  type Limit,
  MOST_DISCIPLINES,
  SETUP,
  type Setting,
  type Setup,
} from "./model";
import { holds, type Line, RATES, RULES, TIMES } from "./line";
import { imported } from "./scenario";
import { STORIES } from "./stories";

/** Most flows of all groups together, as a page has them (docs/web.md). */
const FLOWS = 5000;
const GROUPS = 10;
/** Parameters of a discipline. */
const SETTINGS = 100;
/** Most parameters that a link remembers as changed on the way. */
export const CHANGES = 300;
/** The latest moment that a link may run to, s. */
const MOMENT = 3600;
const DURATION = 1e6;
/** bit/s. */
const RATE = 1e12;

type Given = Record<string, unknown>;

/** The setup and the moment of a link; throws an Error that names the first field that is wrong. */
export function checked(setup: unknown, at: unknown): { setup: Setup; at: number } {
  const found = read(table("setup", setup));
  return { setup: found, at: number("moment", at, 0, Math.min(MOMENT, found.duration || MOMENT)) };
}

function read(given: Given): Setup {
  const own = { ...SETUP, ...given } as Given;
  const file = text("file", own.file, Infinity);
  // A file says itself how long it runs.
  const base = file ? imported(file, SETUP) : SETUP;
  const duration = file ? base.duration : number("duration", own.duration, 1e-3, DURATION);
  const disciplines = list("disciplines", own.disciplines, 1, MOST_DISCIPLINES).map(discipline);
  const groups = list("groups", own.groups, 1, GROUPS).map(group);
  whole(
    "flows",
    groups.reduce((sum, one) => sum + one.count, 0),
    1,
    FLOWS,
  );
  const story = text("story", own.story, 100);
  const steps = STORIES.find((one) => one.id === story)?.steps.length ?? 0;
  if (story && !steps) throw wrong("story", story, "one of this page's");
  return {
    disciplines,
    rate: number("rate", own.rate, 1, RATE),
    limit: limit(own.limit),
    ecn: flag("ecn", own.ecn),
    groups,
    udp: number("udp", own.udp, 0, RATE),
    browsers: whole("browsers", own.browsers, 0, Math.floor(FLOWS / 6)),
    call: flag("call", own.call),
    seed: whole("seed", own.seed, 0, Number.MAX_SAFE_INTEGER),
    duration,
    warmup: file ? base.warmup : number("warmup", own.warmup, 0, duration),
    changes: list("changes", own.changes, 0, CHANGES).map((one, k) => change(one, k, disciplines.length)),
    file,
    line: own.line === null ? null : line(own.line),
    story,
    step: whole("step", own.step, 0, Math.max(0, steps - 1)),
  };
}

function discipline(given: unknown, k: number): Chosen {
  const at = `discipline ${k + 1}`;
  const one = table(at, given);
  const set = Object.entries(table(`${at}: set`, one.set ?? {}));
  if (set.length > SETTINGS) throw wrong(`${at}: set`, set.length, `at most ${SETTINGS} parameters`);
  const settings = set.map(([key, value]) => [name(`${at}: set`, key), setting(`${at}: ${key.slice(0, 40)}`, value)]);
  return { aqm: name(`${at}: aqm`, one.aqm), set: Object.fromEntries(settings) as Record<string, Setting> };
}

function group(given: unknown, k: number): Group {
  const at = `group ${k + 1}`;
  const one = table(at, given);
  const rtt = list(`${at}: rtt`, one.rtt, 2, 2).map((s) => number(`${at}: rtt`, s, 1e-6, 100));
  return {
    count: whole(`${at}: count`, one.count, 1, FLOWS),
    stack: name(`${at}: stack`, one.stack),
    tcp: name(`${at}: tcp`, one.tcp),
    ecn: flag(`${at}: ecn`, one.ecn),
    rtt: [rtt[0]!, rtt[1]!],
    start: number(`${at}: start`, one.start, 0, DURATION),
  };
}

function limit(given: unknown): Limit {
  const { kind, size } = table("limit", given);
  if (kind === "own") return { kind };
  if (kind === "packets") return { kind, size: whole("limit: size", size, 1, 1e7) };
  if (kind === "bdp") return { kind, size: number("limit: size", size, 1e-3, 1e4) };
  throw wrong("limit: kind", kind, "own, packets or bdp");
}

/** A home's line, within what `earlydrop advise` takes. */
function line(given: unknown): Line {
  const { link, down, up, rtt, buffer, way } = table("line", given);
  if (typeof link !== "string" || !Object.hasOwn(RULES.links, link))
    throw wrong("line: link", link, Object.keys(RULES.links).join(", "));
  if (typeof buffer !== "string" || !holds(buffer))
    throw wrong("line: buffer", buffer, "1 ms to 10000 ms, or 2 packets to 1000000 packets");
  if (way !== "down" && way !== "up") throw wrong("line: way", way, "down or up");
  const rate = (key: string, bps: unknown): number => number(`line: ${key}`, bps, ...RATES);
  return { link, down: rate("down", down), up: rate("up", up), rtt: number("line: rtt", rtt, ...TIMES), buffer, way };
}

function change(given: unknown, k: number, runs: number): Change {
  const at = `change ${k + 1}`;
  const one = table(at, given);
  return {
    time: number(`${at}: time`, one.time, 0, DURATION),
    run: whole(`${at}: run`, one.run, 0, runs - 1),
    parameter: name(`${at}: parameter`, one.parameter),
    value: setting(`${at}: value`, one.value),
  };
}

// ---- types -----------------------------------------------------------------------------------------------------------

/** An error that says which field is wrong; of what was given only a little, and nothing of what is inside it. */
function wrong(path: string, given: unknown, allowed: string): Error {
  const shown = Array.isArray(given)
    ? "a list"
    : typeof given === "object" && given
      ? "an object"
      : given === undefined
        ? "nothing"
        : String(given).slice(0, 40);
  return new Error(`The link has ${path}: ${shown}; allowed: ${allowed}.`);
}

function table(path: string, given: unknown): Given {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw wrong(path, given, "an object");
  return given as Given;
}

function list(path: string, given: unknown, least: number, most: number): unknown[] {
  const allowed = least === most ? `${most} entries` : `a list of ${least} to ${most} entries`;
  if (!Array.isArray(given)) throw wrong(path, given, allowed);
  if (given.length < least || given.length > most) throw wrong(path, `${given.length} entries`, allowed);
  return given as unknown[];
}

function number(path: string, given: unknown, low: number, high: number): number {
  if (typeof given === "number" && given >= low && given <= high) return given;
  throw wrong(path, given, `a number from ${low} to ${high}`);
}

function whole(path: string, given: unknown, low: number, high: number): number {
  if (Number.isInteger(given) && (given as number) >= low && (given as number) <= high) return given as number;
  throw wrong(path, given, `a whole number from ${low} to ${high}`);
}

function flag(path: string, given: unknown): boolean {
  if (typeof given === "boolean") return given;
  throw wrong(path, given, "true or false");
}

function text(path: string, given: unknown, most: number): string {
  if (typeof given === "string" && given.length <= most) return given;
  throw wrong(path, given, `a text${most < Infinity ? ` of at most ${most} characters` : ""}`);
}

/** What disciplines, parameters and stacks are called. */
function name(path: string, given: unknown): string {
  if (typeof given === "string" && /^[a-z][a-z0-9_.-]{0,63}$/i.test(given)) return given;
  throw wrong(path, given, "a name");
}

function setting(path: string, given: unknown): Setting {
  if (typeof given === "boolean" || (typeof given === "number" && Number.isFinite(given))) return given;
  return text(path, given, 200);
}
