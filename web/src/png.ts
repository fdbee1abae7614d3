// A text in a PNG, in a chunk of its own (PNG, third edition, 11.3.3.2 tEXt): written into a picture, and found again in
// one from anywhere, of which nothing else is read.

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const KEYWORD = "earlydrop";
/** Bytes of the signature and of the first chunk, the header of the picture. */
const HEADER = 8 + 25;
/** Most chunks that are walked over, and bytes of the text. */
const CHUNKS = 10_000;
const TEXT = 1 << 20;

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = TABLE[(c ^ byte) & 0xff]! ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

const latin = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(text, (one) => one.charCodeAt(0));

/** The picture with a text of Latin letters in it. */
export function labelled(picture: Blob, text: string): Blob {
  const body = latin(`tEXt${KEYWORD}\0${text}`);
  const chunk = new Uint8Array(8 + body.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, body.length - 4);
  chunk.set(body, 4);
  view.setUint32(4 + body.length, crc(body));
  return new Blob([picture.slice(0, HEADER), chunk, picture.slice(HEADER)], { type: "image/png" });
}

/** Whether a file says that it is a PNG. */
export async function isPng(file: Blob): Promise<boolean> {
  const head = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  return SIGNATURE.every((byte, k) => head[k] === byte);
}

/** The text of a picture; throws an Error with a sentence if it has none, or one that is damaged. */
export async function label(file: Blob): Promise<string> {
  let at = 8;
  for (let k = 0; k < CHUNKS && at + 12 <= file.size; k += 1) {
    const head = new Uint8Array(await file.slice(at, at + 8 + KEYWORD.length + 1).arrayBuffer());
    const length = new DataView(head.buffer).getUint32(0);
    if (at + 12 + length > file.size) break;
    const name = String.fromCharCode(...head.subarray(4));
    if (name === `tEXt${KEYWORD}\0`) {
      if (length > TEXT) throw new Error(`its setup has ${length} bytes; allowed: at most ${TEXT}`);
      const body = new Uint8Array(await file.slice(at + 4, at + 12 + length).arrayBuffer());
      const own = body.subarray(0, 4 + length);
      if (new DataView(body.buffer).getUint32(4 + length) !== crc(own)) throw new Error("its setup is damaged");
      return new TextDecoder("latin1").decode(own.subarray(4 + KEYWORD.length + 1));
    }
    if (name.startsWith("IEND")) break;
    at += 12 + length;
  }
  throw new Error("the picture has no setup of the playground in it; pictures that were sent on often lose it");
}
