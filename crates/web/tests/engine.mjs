// The WebAssembly engine for scripts: each call of docs/web.md that they need, with errors as exceptions.

import { readFileSync } from "node:fs";

export async function load(path) {
  const { instance } = await WebAssembly.instantiate(readFileSync(path), {});
  const ed = instance.exports;
  const text = () =>
    new TextDecoder().decode(new Uint8Array(ed.memory.buffer, ed.ed_text(), ed.ed_text_length()));
  const checked = (status) => {
    if (status < 0) throw new Error(JSON.parse(text()).error);
    return status;
  };
  const input = (request) => {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const pointer = ed.ed_input(bytes.length);
    new Uint8Array(ed.memory.buffer, pointer, bytes.length).set(bytes);
  };
  /// The result document of a request of `ed_load`, as the engine's own text.
  const result = (request) => {
    input(request);
    const run = checked(ed.ed_load());
    try {
      checked(ed.ed_finish(run, 0));
      return text();
    } finally {
      ed.ed_close(run);
    }
  };
  return { ed, text, checked, input, result };
}
