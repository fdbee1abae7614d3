// A server of the built page with the headers of a case, and with answers that no scenario should have.

import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, normalize } from "node:path";
import { BUILT } from "./browser";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".txt": "text/plain",
};
export const SCENARIO = `name = "served"
duration = "5 s"
[topology]
kind = "dumbbell"
pairs = 2
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
[queue.bottleneck]
aqm = "red"
[[traffic]]
kind = "ftp"
`;

export interface Case {
  folder?: string;
  headers?: Record<string, string>;
  /** Where /redirect leads. */
  redirect?: string;
  /** Texts by path. */
  texts?: Record<string, string>;
}

export function pages({ folder = BUILT, headers = {}, redirect = "/", texts = {} }: Case): Server {
  const cookies: string[] = [];
  return createServer((request, answer) => {
    const path = new URL(request.url ?? "/", "http://x").pathname;
    for (const [name, value] of Object.entries(headers)) answer.setHeader(name, value);
    if (path in texts) {
      answer.setHeader("Content-Type", TYPES[".html"]!);
      answer.end(texts[path]);
    } else if (path === "/scenario.toml") {
      cookies.push(request.headers.cookie ?? "");
      answer.end(SCENARIO);
    } else if (path === "/seen") {
      answer.end(JSON.stringify(cookies));
    } else if (path === "/redirect") {
      answer.writeHead(302, { Location: redirect }).end();
    } else if (path === "/huge") {
      answer.end(Buffer.alloc(200_000_000, 0x61));
    } else if (path === "/endless") {
      const timer = setInterval(() => answer.write(Buffer.alloc(1 << 16, 0x61)), 5);
      answer.on("close", () => clearInterval(timer));
    } else {
      const file = join(folder, normalize(decodeURIComponent(path)));
      const found = file.endsWith("/") ? `${file}index.html` : file;
      if (!existsSync(found) || !statSync(found).isFile()) return void answer.writeHead(404).end("none");
      answer.setHeader("Content-Type", TYPES[extname(found)] ?? "application/octet-stream");
      createReadStream(found).pipe(answer);
    }
    return undefined;
  });
}
