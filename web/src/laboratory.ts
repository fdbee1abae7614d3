// The page's side of a worker: asks, and hands what comes back to those who wait for it.

import type { Discipline, Stack } from "./catalogue";
import type { Ask, Tell } from "./protocol";
import Worker_ from "./worker?worker&inline";

/** What the page is given as text where it can fetch nothing: the engine, and a scenario to open. */
export interface Given {
  earlydropWasm?: string;
  earlydropScenario?: string;
}

/** The compiled engine, fetched once; from a script where the page is a file, or from the text in the page itself. */
export async function compiled(): Promise<WebAssembly.Module> {
  const given = globalThis as Given;
  if (location.protocol === "file:" && given.earlydropWasm === undefined) {
    await new Promise<void>((resolve, reject) => {
      const script = document.createElement("script");
      script.src = "earlydrop.wasm.js";
      script.onload = () => resolve();
      script.onerror = () => reject(new Error("earlydrop.wasm.js is missing beside the page"));
      document.head.append(script);
    });
  }
  if (given.earlydropWasm !== undefined) {
    return WebAssembly.compile(Uint8Array.from(atob(given.earlydropWasm), (c) => c.charCodeAt(0)));
  }
  const answer = await fetch("earlydrop.wasm");
  if (!answer.ok) throw new Error(`earlydrop.wasm: the server answers ${answer.status}`);
  return WebAssembly.compile(await answer.arrayBuffer());
}

export class Laboratory {
  version = "";
  disciplines: Discipline[] = [];
  stacks: Stack[] = [];
  private worker = new Worker_();

  constructor(private hear: (message: Tell) => void = () => {}) {
    this.worker.addEventListener("message", (event: MessageEvent<Tell>) => this.hear(event.data));
  }

  /** Load the engine; what it knows. */
  async load(module: WebAssembly.Module): Promise<void> {
    const after = this.hear;
    await new Promise<void>((resolve, reject) => {
      this.hear = (message) => {
        if (message.tell === "ready") {
          this.version = message.version;
          this.disciplines = message.disciplines;
          this.stacks = message.stacks;
          resolve();
        } else if (message.tell === "fault") {
          reject(new Error(message.message));
        }
      };
      this.ask({ ask: "load", module });
    });
    this.hear = after;
  }

  /** Who hears what the worker says from now on. */
  listen(hear: (message: Tell) => void): void {
    this.hear = hear;
  }

  ask(message: Ask): void {
    this.worker.postMessage(message);
  }

  end(): void {
    this.worker.terminate();
  }
}
