// The worker of the playground runs the program, so that typing never waits for it. It follows wasm_exec.js of Go.

import type { Finding } from "./editor";

declare class Go {
  importObject: WebAssembly.Imports;
  run(instance: WebAssembly.Instance): Promise<void>;
}
declare function trainweld(request: string): string | Error;

/** A request has a number, which its answers repeat. */
export interface Asked {
  id: number;
  files: Record<string, string>;
  lines: string[][];
}

/** What a command line prints. */
export interface Answer {
  stdout: string;
  stderr: string;
  /** The findings as text, with help that names no flag. */
  findings: string;
  status: number;
  /** The findings as -o json writes them. */
  report?: { findings: Finding[] };
}

export interface Answered {
  id: number;
  answers: Answer[];
  millis: number;
}

async function start(module: WebAssembly.Module): Promise<void> {
  const go = new Go();
  void go.run(await WebAssembly.instantiate(module, go.importObject));
  postMessage("ready");
}

addEventListener("message", (event: MessageEvent<WebAssembly.Module | Asked>) => {
  const asked = event.data;
  if (asked instanceof WebAssembly.Module) {
    void start(asked);
    return;
  }
  const began = performance.now();
  const text = trainweld(JSON.stringify({ files: asked.files, lines: asked.lines }));
  if (text instanceof Error) {
    throw text;
  }
  const answered: Answered = { id: asked.id, answers: JSON.parse(text) as Answer[], millis: performance.now() - began };
  postMessage(answered);
});
