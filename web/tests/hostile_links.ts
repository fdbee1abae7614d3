// Links that somebody means ill with, from a seed: the part of an address after its #.

import { constants, deflateRawSync } from "node:zlib";
import { SETUP, type Setup } from "../src/model";

export interface Hostile {
  kind: string;
  hash: string;
  /** What the page does: says no, shows an address that it does not ask, or takes it as the setup of a run. */
  does: "refuses" | "shows" | "runs";
}

/** Numbers from 0 to below 1 (a linear congruential generator). */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

const bits = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
const whole = (json: string): string => `#s=${bits(deflateRawSync(json))}`;
const setup = (change: (one: Setup & Record<string, unknown>) => void, at: unknown = 0): string => {
  const one = structuredClone(SETUP) as Setup & Record<string, unknown>;
  change(one);
  return whole(JSON.stringify({ setup: one, at }));
};

/** A deflated text that inflates to `blocks` times 16 MiB: each block ends where nothing before it is looked back at. */
function bomb(start: string, blocks: number): string {
  const flush = { finishFlush: constants.Z_FULL_FLUSH };
  const head = deflateRawSync(start, flush);
  const block = deflateRawSync(Buffer.alloc(1 << 24, 0x61), flush);
  return `#s=${bits(Buffer.concat([head, ...Array.from({ length: blocks }, () => block)]))}`;
}

const SCRIPTS = [
  "<img src=x onerror=globalThis.hit=1>",
  "<script>globalThis.hit=1</script>",
  "javascript:globalThis.hit=1",
  "'\"><svg onload=globalThis.hit=1>",
  "</p><iframe srcdoc='<script>parent.hit=1</script>'>",
  "{{constructor.constructor('globalThis.hit=1')()}}",
  "${globalThis.hit=1}",
  "data:text/html,<script>globalThis.hit=1</script>",
];

const LINE = { link: "docsis", down: 50e6, up: 10e6, rtt: 30, buffer: "250 ms", way: "up" };

/** Links of every kind in turn; `foreign` is an origin that counts who asks it. */
export function hostile(count: number, seed: number, foreign: string): Hostile[] {
  const random = numbers(seed);
  const below = (n: number): number => Math.floor(n * random());
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const script = (): string => pick(SCRIPTS);
  const refused = (kind: string, hash: string): Hostile => ({ kind, hash, does: "refuses" });
  const host = new URL(foreign).host;

  const places: ((one: Setup & Record<string, unknown>, value: unknown) => void)[] = [
    (one, value) => Object.assign(one.disciplines[0]!, { aqm: value }),
    (one, value) => Object.assign(one.disciplines[0]!, { set: { [typeof value === "string" ? value : "x"]: [] } }),
    (one, value) => Object.assign(one.groups[0]!, { stack: value }),
    (one, value) => Object.assign(one.groups[0]!, { tcp: value }),
    (one, value) => Object.assign(one, { story: value }),
    (one, value) => Object.assign(one, { limit: { kind: value, size: 1 } }),
    (one, value) => Object.assign(one, { changes: [{ time: 1, run: 0, parameter: value, value: 1 }] }),
    (one, value) => Object.assign(one, { line: value }),
    (one, value) => Object.assign(one, { line: { ...LINE, link: value } }),
    (one, value) => Object.assign(one, { line: { ...LINE, buffer: value } }),
    (one, value) => Object.assign(one, { line: { ...LINE, way: value } }),
    (one, value) => Object.assign(one, { file: value }),
  ];
  const huge = (): number => pick([1e9, 1e15, 1e300, 2 ** 53, 5001, -1, -1e9]) * (1 + below(3));
  const counts: ((one: Setup & Record<string, unknown>) => void)[] = [
    (one) => Object.assign(one.groups[0]!, { count: huge() }),
    (one) => Object.assign(one, { groups: Array.from({ length: 11 + below(5000) }, () => one.groups[0]) }),
    (one) => Object.assign(one, { groups: Array.from({ length: 10 }, () => ({ ...one.groups[0], count: 4000 })) }),
    (one) => Object.assign(one, { browsers: huge() }),
    (one) => Object.assign(one, { line: { ...LINE, [pick(["down", "up", "rtt"])]: pick([1e300, 1e13, 0, -5]) } }),
    (one) => Object.assign(one, { line: { ...LINE, buffer: pick(["1e9 ms", "99999999 packets", "0 ms"]) } }),
    (one) => Object.assign(one, { duration: pick([1e9, 1e300, -1, 0]) }),
    (one) => Object.assign(one, { rate: pick([1e300, 1e13, 0, -5]) }),
    (one) => Object.assign(one, { udp: pick([1e300, -1]) }),
    (one) => Object.assign(one, { seed: pick([1e300, 0.5, -1]) }),
    (one) => Object.assign(one, { step: huge() }),
    (one) => Object.assign(one, { limit: { kind: "packets", size: 1e300 } }),
    (one) => Object.assign(one, { disciplines: Array.from({ length: 5 + below(9000) }, () => one.disciplines[0]) }),
    (one) =>
      Object.assign(one, {
        changes: Array.from({ length: 301 + below(9000) }, (_, time) => ({ time, run: 0, parameter: "x", value: 1 })),
      }),
    (one) =>
      Object.assign(one.disciplines[0]!, {
        set: Object.fromEntries(Array.from({ length: 900 }, (_, k) => [`a${k}`, 1])),
      }),
  ];
  const strange: unknown[] = [null, [], {}, "", true, [[]], { length: 1e9 }, "NaN", -0.5, { toString: 1, valueOf: 2 }];
  const keys = ["disciplines", "rate", "limit", "ecn", "groups", "udp", "browsers", "seed", "changes"];

  const kinds: (() => Hostile)[] = [
    () =>
      refused(
        "script in a setup",
        setup((one) => pick(places)(one, script())),
      ),
    () => refused("script in a word", `#aqm=${encodeURIComponent(script())}&view=${script()}`),
    () => {
      const [open, close] = pick([
        ["[", "]"],
        ['{"a":', "}"],
      ] as const);
      const depth = 10 ** (2 + below(4));
      const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
      const text = pick([
        deep,
        `{"setup":${deep}}`,
        `{"setup":{"groups":${deep}}}`,
        `{"setup":{"limit":${deep}},"at":0}`,
      ]);
      return refused("deep JSON", whole(text));
    },
    () => refused("a count beyond bounds", setup(pick(counts))),
    () =>
      refused(
        "a moment beyond bounds",
        setup(() => {}, pick([1e9, 3601, -1, null, "1", [], {}])),
      ),
    () =>
      refused(
        "a bomb",
        bomb(pick(["", '{"setup":{"file":"', '{"at":0,"setup":{"story":"', "["]), 1 + below(random() < 0.3 ? 31 : 6)),
      ),
    () => {
      const word = pick([
        `line=${"9 ".repeat(1 + below(28))}9`,
        `line=${"9+".repeat(29)}${pick(["1e9", "-1", "0", "NaN", "", "0x9", "__proto__", script()])}`,
        `rule=${"q".repeat(201 + below(9000))}`,
        `rule=${encodeURIComponent(`${script()}\u{1f4a3}`)}`,
        `seed=${pick(["1e9", "-1", "", "9".repeat(99), script()])}`,
      ]);
      return refused("a challenge that is none", `#view=challenge&${word}`);
    },
    () => refused("a long link", `#s=${"A".repeat((1 << 20) + 1 + below(500_000))}`),
    () => {
      const open = pick([
        `${foreign}/scenario.toml`,
        `//${host}/scenario.toml`,
        `\\\\${host}\\scenario.toml`,
        `http:\\\\${host}/x`,
        `http://user:secret@${host}/x`,
        "https://example.com/evil.toml",
        "https://xn--80ak6aa92e.com/x",
        `ws://${host}/x`,
        "ftp://example.com/x",
        "file:///etc/passwd",
        `data:text/plain,${script()}`,
        `blob:${foreign}/0b9c`,
        script().startsWith("javascript") ? "javascript:1" : `${foreign}/${script()}`,
        `\t${foreign}/\n`,
      ]);
      return { kind: "an address elsewhere", hash: `#open=${encodeURIComponent(open)}`, does: "shows" };
    },
    () =>
      refused(
        "an address that is none",
        `#open=${encodeURIComponent(pick(["http://", "http://[", "//", "https://a<b/"]))}`,
      ),
    () =>
      refused(
        "a file of the server's that is none",
        `#open=${pick(["redirect", "huge", "endless", "missing", "licences.txt"])}`,
      ),
    () => {
      const bytes = Uint8Array.from({ length: 1 + below(3000) }, () => below(256));
      return refused(
        "noise",
        pick([`#s=${bits(bytes)}`, `#s=${bits(deflateRawSync(bytes))}`, `#s=%00%ff${bits(bytes)}`]),
      );
    },
    () => {
      const text = pick([
        "%",
        "%u0000",
        "\u202e\u0000\ufeff",
        "%ED%A0%80",
        "&".repeat(9000),
        "s=&s=&s=",
        "=%=%=",
        "\u{1f4a3}",
      ]);
      return refused("an odd encoding", `#s=${text}&aqm=${text}&open=${pick(["", "%00"])}&at=${text}`);
    },
    () =>
      refused(
        "a type that does not fit",
        setup((one) => {
          const key = pick(keys);
          const value = pick(
            strange.filter(
              (v) => !(key === "changes" && Array.isArray(v) && v.length === 0) && !(key === "ecn" && v === true),
            ),
          );
          Object.assign(one, { [key]: value });
        }),
      ),
    () =>
      refused(
        "no setup",
        whole(
          pick(["null", "1", '"x"', "[]", "{}", '{"setup":null}', '{"setup":[1]}', "{", '{"__proto__":{"setup":{}}}']),
        ),
      ),
    () =>
      refused(
        "names of JavaScript's own",
        whole(
          `{"setup":{"disciplines":[{"aqm":"${pick(["__proto__", "constructor", "toString"])}","set":{"__proto__":1}}]},"at":0}`,
        ),
      ),
    () =>
      refused(
        "words beyond bounds",
        `#aqm=red&${pick(["mbit=1e300", "mbit=-1", "seed=-1", "seed=0.5", "seed=1e99"])}&flows=1e9`,
      ),
    () => {
      const text = pick([
        `${"a.".repeat(9000)}a = 1`,
        `a = ${"[".repeat(9000)}${"]".repeat(9000)}`,
        `${"[[a.b.c]]\n".repeat(9000)}`,
        `x = "${"\\u0000".repeat(900)}"`,
        'queue = "x"',
        "[queue.a]\naqm = 3",
        "[queue]\n__proto__ = 1",
        `[queue.x]\naqm = "${script().replaceAll('"', "'")}"\n= `,
      ]);
      return refused(
        "a file that is none",
        setup((one) => Object.assign(one, { file: text })),
      );
    },
    () => ({
      kind: "a long way to the moment",
      hash: setup((one) => {
        one.rate = pick([1e10, 1e11, 1e12]);
        one.duration = 5000;
        one.groups[0]!.count = pick([1, 100, 4000]);
        one.udp = pick([0, 9e10]);
      }, 3600),
      does: "runs",
    }),
    () => ({
      kind: "a costly file",
      hash: setup((one) => {
        const pairs = pick([2, 500, 4999]);
        one.file = `name = "x"\nduration = "1e6 s"\n[topology]\nkind = "dumbbell"\npairs = ${pairs}
access = { rate = "1 Tbit/s", delay = "1 us" }\nbottleneck = { rate = "${pick(["1 Tbit/s", "1 bit/s"])}", delay = "1 us" }
[queue.bottleneck]\naqm = "red"\n[[traffic]]\nkind = "${pick(["ftp", "cbr"])}"\n${"# ".repeat(below(9000))}`;
      }, 3600),
      does: "runs",
    }),
    () => ({
      kind: "a setting that the engine refuses",
      hash: setup((one) =>
        Object.assign(one.disciplines[0]!, {
          set: { [pick(["constructor", "x", "limit"])]: pick([1e300, -1, "x", true]) },
        }),
      ),
      does: "runs",
    }),
  ];
  return Array.from({ length: count }, (_, k) => kinds[k % kinds.length]!());
}
