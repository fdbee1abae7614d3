// A setup in the address of the page, after the #: everything, deflated, as `s=`; or a few words, as `aqm=red,codel`.

import { FLOWS, SETUP, type Setup } from "./model";
import { at, STORIES } from "./stories";

/** What an address asks for. */
export interface Asked {
  setup: Setup;
  /** Simulated time to run to, s. */
  at: number;
  /** Show one discipline in a frame of another page. */
  embed: boolean;
  view: string;
  /** A scenario file beside the page. */
  open: string;
}

/** The address of a setup that has run to a time. */
export async function address(setup: Setup, at: number, view = "play"): Promise<string> {
  const bytes = await through(
    new TextEncoder().encode(JSON.stringify({ setup, at })),
    new CompressionStream("deflate-raw"),
  );
  const text = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
  return `#${view === "play" ? "" : `view=${view}&`}s=${text}`;
}

/**
 * What the part of an address after # asks for.
 *
 * Throws an Error with a sentence if it holds no setup.
 */
export async function asked(hash: string): Promise<Asked> {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const found: Asked = {
    setup: structuredClone(SETUP),
    at: 0,
    embed: words.has("embed"),
    view: words.get("view") ?? "play",
    open: words.get("open") ?? "",
  };
  const whole = words.get("s");
  if (whole !== null) return { ...found, ...(await whole_of(whole)) };
  const names = words.get("aqm");
  if (names)
    found.setup.disciplines = names
      .split(",")
      .slice(0, 4)
      .map((aqm) => ({ aqm, set: {} }));
  const number = (word: string): number | null => {
    const text = words.get(word);
    return text === null || !Number.isFinite(Number(text)) ? null : Number(text);
  };
  found.setup.seed = number("seed") ?? found.setup.seed;
  found.setup.rate = (number("mbit") ?? found.setup.rate / 1e6) * 1e6;
  found.setup.groups = [{ ...FLOWS, count: Math.max(1, Math.min(200, number("flows") ?? FLOWS.count)) }];
  const story = STORIES.find((one) => one.id === words.get("story"));
  if (!story) return found;
  const step = Math.max(0, Math.min(story.steps.length - 1, (number("step") ?? 1) - 1));
  return { ...found, setup: at(story, step), view: "learn" };
}

async function whole_of(text: string): Promise<Pick<Asked, "setup" | "at">> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const json = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const { setup, at } = JSON.parse(json) as { setup: Setup; at: number };
    if (!setup.disciplines.length || !setup.groups.length) throw new Error();
    return { setup: { ...structuredClone(SETUP), ...setup }, at: Number(at) || 0 };
  } catch {
    throw new Error("The link is incomplete: it may have been cut. The page starts with its own setup.");
  }
}

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const whole = new Blob([bytes as BlobPart]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(whole).arrayBuffer());
}
