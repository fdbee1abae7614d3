// A setup in the address of the page, after the #: everything, deflated, as `s=`; or a few words, as `aqm=red,codel`.

import { checked } from "./checked";
import { FLOWS, OPENING, SETUP, type Setup } from "./model";
import { presetLine, readTime, RULES } from "./line";
import { FILE, lineSetup } from "./scenario";
import { at, STORIES } from "./stories";

/** What an address asks for. */
export interface Asked {
  setup: Setup;
  /** Simulated time to run to, s. */
  at: number;
  /** The address names no moment: the page may begin where there is something to see. */
  fresh: boolean;
  /** Show one discipline in a frame of another page. */
  embed: boolean;
  view: View;
  /** The address of a scenario file. */
  open: string;
}

export type View = "play" | "line" | "compare" | "learn" | "challenge";
export const VIEWS: [View, string][] = [
  ["play", "Play"],
  ["line", "My line"],
  ["compare", "Compare"],
  ["learn", "Learn"],
  ["challenge", "Challenge"],
];

/** The words of a setup that is written by hand. */
const WORDS = ["aqm", "story", "seed", "mbit", "flows", "line"];

/** Most characters of a whole setup in a link, and most bytes of what it inflates to. */
const LINK = 1 << 20;
const INFLATED = 3 * FILE;

/** Bytes that are inflated at a time: they become at most a thousand times as many before the sum is looked at. */
const PIECE = 1024;

/** Longest wait for a scenario of the page's own server, ms. */
const WAIT = 10_000;

/** The address of a setup that has run to a time; throws an Error with a sentence if no link can hold it. */
export async function address(setup: Setup, at: number, view: View = "play"): Promise<string> {
  checked(setup, at);
  const bytes = await through(
    new TextEncoder().encode(JSON.stringify({ setup, at })),
    new CompressionStream("deflate-raw"),
    Infinity,
  );
  const text = btoa(bytes.reduce((all, byte) => all + String.fromCharCode(byte), ""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  if (text.length > LINK) throw new Error("The scenario's file is too long for a link.");
  return `#${view === "play" ? "" : `view=${view}&`}s=${text}`;
}

/**
 * What the part of an address after # asks for.
 *
 * Throws an Error with a sentence if it holds no setup, or one that a page does not make.
 */
export async function asked(hash: string): Promise<Asked> {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const found: Asked = {
    setup: structuredClone(OPENING),
    at: 0,
    fresh: true,
    embed: words.has("embed"),
    view: VIEWS.find(([name]) => name === words.get("view"))?.[0] ?? "play",
    open: words.get("open") ?? "",
  };
  const whole = words.get("s");
  if (whole !== null) return { ...found, ...(await whole_of(whole)), fresh: false };
  // A challenge reads its own words.
  if (found.view === "challenge" || !WORDS.some((one) => words.has(one))) return found;
  found.setup = structuredClone(SETUP);
  const names = words.get("aqm");
  if (names) found.setup.disciplines = names.split(",", 4).map((aqm) => ({ aqm, set: {} }));
  const number = (word: string): number | null => {
    const text = words.get(word);
    return text === null || !Number.isFinite(Number(text)) ? null : Number(text);
  };
  found.setup.seed = number("seed") ?? found.setup.seed;
  found.setup.rate = (number("mbit") ?? found.setup.rate / 1e6) * 1e6;
  found.setup.groups = [{ ...FLOWS, count: Math.round(Math.max(1, Math.min(200, number("flows") ?? FLOWS.count))) }];
  const link = words.get("line");
  if (link !== null) {
    const preset = RULES.presets.find((one) => one.link === link);
    const value = (word: "down" | "up"): string => words.get(word) ?? preset?.[word] ?? "";
    if (!Object.hasOwn(RULES.links, link)) {
      const allowed = Object.keys(RULES.links).join(", ");
      throw new Error(`The link has line: ${link.slice(0, 40)}; allowed: ${allowed}.`);
    }
    const line = presetLine({ link, down: value("down"), up: value("up") });
    const rtt = words.get("rtt");
    if (rtt !== null) line.rtt = readTime("rtt", rtt);
    if (words.get("way") === "down") line.way = "down";
    const setup = lineSetup(found.setup, line);
    if (names) setup.disciplines = found.setup.disciplines;
    return { ...found, ...checked(setup, 0), view: found.embed ? "play" : "line" };
  }
  const story = STORIES.find((one) => one.id === words.get("story"));
  if (!story) return { ...found, ...checked(found.setup, 0) };
  const step = Math.max(0, Math.min(story.steps.length - 1, Math.trunc(number("step") ?? 1) - 1));
  return { ...found, setup: at(story, step), view: "learn", fresh: false };
}

async function whole_of(text: string): Promise<Pick<Asked, "setup" | "at">> {
  if (text.length > LINK) throw new Error(`The link is longer than the ${LINK} characters that it may have.`);
  let given: unknown;
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    given = JSON.parse(
      new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"), INFLATED)),
    );
  } catch (error) {
    if (error instanceof TooLarge) throw error;
    throw new Error("The link is incomplete: it may have been cut.");
  }
  const { setup, at } = Object(given) as { setup?: unknown; at?: unknown };
  return checked(setup, at);
}

class TooLarge extends Error {}

/** What a stream makes of bytes, handed over in pieces; throws TooLarge once it is more than `most` bytes. */
async function through(
  bytes: Uint8Array,
  stream: CompressionStream | DecompressionStream,
  most: number,
): Promise<Uint8Array> {
  let at = 0;
  const source = new ReadableStream<BufferSource>(
    {
      pull(control) {
        if (at >= bytes.length) return control.close();
        control.enqueue(bytes.slice(at, at + PIECE));
        at += PIECE;
      },
    },
    { highWaterMark: 0 },
  );
  return gathered(source.pipeThrough(stream), most);
}

/** All bytes of a stream; throws TooLarge, and reads no further, once they are more than `most`. */
async function gathered(stream: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const reader = stream.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      void reader.cancel().catch(() => {});
      throw new TooLarge(`It holds more than the ${most} bytes that a page takes.`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

/** The address of a scenario, seen from the page; throws an Error with a sentence if it is none. */
export function located(open: string): URL {
  try {
    return new URL(open, location.href);
  } catch {
    throw new Error("The link asks for a scenario at what is no address.");
  }
}

/** The text of a scenario of the page's own server: null, and nothing is fetched, if the address is elsewhere. */
export async function fetched(where: URL): Promise<string | null> {
  // The origin of a file is called null, and that of a blob is that of who made it.
  if (!/^https?:$/.test(where.protocol) || where.origin !== location.origin) return null;
  const name = where.pathname.slice(0, 100);
  // Nothing goes out with it that says who asks, and no answer leads elsewhere.
  const ask = { credentials: "omit", redirect: "error", signal: AbortSignal.timeout(WAIT) } as const;
  const answer = await fetch(where, ask).catch((error: unknown) => {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (!answer.ok) throw new Error(`${name}: the server answers ${answer.status}.`);
  return new TextDecoder().decode(await gathered(answer.body!, FILE));
}
