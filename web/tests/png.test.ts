// The setup in a picture: it comes back to the last character, and no file makes the page read more than its own chunk.

import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { isPng, label, labelled } from "../src/png";

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function chunk(type: string, body: Uint8Array | string, more: { length?: number; crc?: number } = {}): Buffer {
  const data = Buffer.concat([Buffer.from(type, "latin1"), Buffer.from(body as string, "latin1")]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(more.length ?? data.length - 4);
  sum.writeUInt32BE(more.crc ?? crc32(data));
  return Buffer.concat([length, data, sum]);
}

function picture(...chunks: Buffer[]): Blob {
  const all = Buffer.concat([Buffer.from(SIGNATURE), chunk("IHDR", new Uint8Array(13)), ...chunks]);
  return new Blob([new Uint8Array(all)]);
}

const END = chunk("IEND", "");
const DATA = chunk("IDAT", "x".repeat(5000));

/** How many bytes of a file were read. */
function counted(file: Blob): { file: Blob; read: () => number } {
  let sum = 0;
  const slice = (from: number, to: number): Blob => {
    const part = file.slice(from, to);
    sum += part.size;
    return part;
  };
  return { file: { size: file.size, slice } as unknown as Blob, read: () => sum };
}

describe("a picture", () => {
  it("has its setup after the header, where decoders of PNG allow it, and gives it back", async () => {
    const text = `s=${"Aa0-_".repeat(3000)}`;
    const made = labelled(picture(DATA, END), text);
    expect(await isPng(made)).toBe(true);
    expect(await label(made)).toBe(text);
    const bytes = Buffer.from(await made.arrayBuffer());
    const parts: string[] = [];
    for (let at = 8; at < bytes.length; ) {
      const length = bytes.readUInt32BE(at);
      expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + length)));
      parts.push(bytes.toString("latin1", at + 4, at + 8));
      at += 12 + length;
    }
    expect(parts).toEqual(["IHDR", "tEXt", "IDAT", "IEND"]);
  });

  it("of which only the names of chunks and its own one are read", async () => {
    const big = chunk("IDAT", "x".repeat(3_000_000));
    const { file, read } = counted(picture(big, big, chunk("tEXt", "earlydrop\0s=abc"), END));
    expect(await label(file)).toBe("s=abc");
    expect(read()).toBeLessThan(200);
  });

  it("that is damaged, foreign or hostile is refused", async () => {
    const own = (text: string, more = {}): Buffer => chunk("tEXt", `earlydrop\0${text}`, more);
    const none = "no setup of the playground";
    const cases: [Blob, string][] = [
      [picture(END), none],
      [picture(DATA, chunk("tEXt", "Title\0s=abc"), chunk("tEXt", "earlydropped\0s=abc"), chunk("zTXt", "earlydrop\0\0x"), END), none],
      // What follows the end belongs to nobody.
      [picture(END, own("s=abc")), none],
      [picture(own("s=abc", { crc: 1 }), END), "its setup is damaged"],
      [picture(own("s=abc", { length: 0xffffffff }), END), none],
      [picture(own("s=abc", { length: 2 ** 31 }), END), none],
      [picture(own("A".repeat(2 ** 20)), END), "its setup has 1048586 bytes; allowed: at most 1048576"],
      [picture(chunk("IDAT", "x", { length: 1e9 }), own("s=abc"), END), none],
      [new Blob([new Uint8Array(SIGNATURE)]), none],
      [new Blob([new Uint8Array([...SIGNATURE, 0, 0, 0])]), none],
      [picture(...new Array<Buffer>(10_001).fill(chunk("IDAT", "")), own("s=abc"), END), none],
    ];
    for (const [file, text] of cases) await expect(label(file)).rejects.toThrow(text);
    for (const text of ["", "x", "\x89PNG\r\n\x1a"]) expect(await isPng(new Blob([text]))).toBe(false);
  });

  it("with bytes that were changed or cut anywhere gives its setup, or says that it cannot", async () => {
    const bytes = new Uint8Array(await labelled(picture(DATA, END), "s=abcdefgh").arrayBuffer());
    let state = 7;
    const random = (n: number): number => (state = (state * 48271) % 2147483647) % n;
    let whole = 0;
    for (let k = 0; k < 3000; k += 1) {
      const other = bytes.slice(0, k % 3 ? bytes.length : 8 + random(bytes.length - 8));
      for (let n = random(4); n >= 0; n -= 1) other[8 + random(Math.min(200, other.length - 8))] = random(256);
      try {
        expect(await label(new Blob([other]))).toBe("s=abcdefgh");
        whole += 1;
      } catch (error) {
        expect((error as Error).message).toMatch(/setup/);
      }
    }
    expect(whole).toBeGreaterThan(300);
  }, 60_000);
});
