// The playground: editors for the files of a TrainJob, and beside them what the program prints for them. The program runs in a worker.

import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Transaction } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import { basicSetup, EditorView } from "codemirror";
import { enhance } from "./lines";
import type { Answered, Asked } from "./worker";

/** The texts of the worker and of the examples, which the build puts here. */
declare const WORKER: string;
declare const EXAMPLES: Example[];

interface Example {
  name: string;
  files: Record<string, string>;
}

/** What the address holds. */
interface State {
  files: Record<string, string>;
  to: string;
}

const names = ["job.yaml", "runtime.yaml", "patches.yaml"] as const;

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const status = element("status");
const kind = element<HTMLSelectElement>("to");
const examples = element<HTMLSelectElement>("examples");
const owners = element("owners");
const generated = new CSSStyleSheet();
document.adoptedStyleSheets = [generated];

/** Forbids every further request and script, once all parts are here. */
function lock(): void {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; script-src 'wasm-unsafe-eval'; worker-src blob:; base-uri 'none'; form-action 'none'";
  document.head.append(policy);
}

/** Returns the text of a state for the address. */
async function pack(state: State): Promise<string> {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the state of an address, or nothing if the address holds none. */
async function unpack(text: string): Promise<State | undefined> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const state: unknown = JSON.parse(await new Response(stream).text());
    if (typeof state !== "object" || state === null || !("files" in state) || typeof state.files !== "object" || state.files === null) {
      return undefined;
    }
    const files: Record<string, string> = {};
    for (const [name, value] of Object.entries(state.files)) {
      if (typeof value === "string") {
        files[name] = value;
      }
    }
    return { files, to: "to" in state && typeof state.to === "string" ? state.to : "jobset" };
  } catch {
    return undefined;
  }
}

/** The colors of YAML, which the style of all pages has in both schemes. */
const colors = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--c1)" },
  { tag: tags.comment, color: "var(--quiet)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c3)" },
]);

/** Makes an editor in a shadow root, where its style needs no permission of the policy. */
function edit(name: string): EditorView {
  const host = element(`edit-${name}`);
  const root = host.attachShadow({ mode: "open" });
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        basicSetup,
        yaml(),
        syntaxHighlighting(colors),
        EditorView.contentAttributes.of({ "aria-label": host.title, tabindex: "0" }),
        EditorView.theme({
          "&": { fontSize: "13px", maxHeight: "60vh", color: "var(--text)", backgroundColor: "var(--back)" },
          ".cm-scroller": { overflow: "auto", fontFamily: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace' },
          ".cm-gutters": { backgroundColor: "var(--soft)", color: "var(--quiet)", borderColor: "var(--line)" },
          ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--soft)" },
          ".cm-cursor": { borderLeftColor: "var(--text)" },
          ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--mark) !important" },
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) {
            changed(update.transactions.every((t) => t.annotation(Transaction.remote) !== true));
          }
        }),
      ],
    }),
  });
}

const editors = new Map(names.map((name) => [name, edit(name)]));

function current(): State {
  const files: Record<string, string> = {};
  for (const [name, editor] of editors) {
    files[name] = editor.state.doc.toString();
  }
  return { files, to: kind.value };
}

function show(state: State): void {
  kind.value = [...kind.options].some((option) => option.value === state.to) ? state.to : "jobset";
  for (const [name, editor] of editors) {
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: state.files[name] ?? "" }, annotations: Transaction.remote.of(true) });
  }
}

/** Returns the files that hold something, and the command lines that read them. */
function request(state: State): Asked {
  const files: Record<string, string> = { "job.yaml": state.files["job.yaml"] ?? "" };
  const inputs = ["-f", "job.yaml"];
  for (const [name, flag] of [["runtime.yaml", "-r"], ["patches.yaml", "--patch"]] as const) {
    const text = state.files[name] ?? "";
    if (text.trim() !== "") {
      files[name] = text;
      inputs.push(flag, name);
    }
  }
  const render = ["render", ...inputs, "--on-conflict=last"];
  const to = `--to=${state.to}`;
  return { id: ++asked, files, lines: [[...render, to], [...render, "--to=pods", "-o", "wide"], ["blame", ...inputs, to, "-o", "html"]] };
}

let worker: Worker | undefined;
let asked = 0;
let busy = false;
let waiting = false;
let timer = 0;

/** Asks again after a change. While the program is busy, only the last change waits. The address keeps what a user has written. */
function changed(byUser: boolean): void {
  waiting = true;
  next();
  clearTimeout(timer);
  if (byUser) {
    timer = setTimeout(() => void keep(), 300);
  }
}

async function keep(): Promise<void> {
  const packed = await pack(current());
  history.replaceState(null, "", `#${packed}`);
}

function next(): void {
  if (!worker || busy || !waiting) {
    return;
  }
  waiting = false;
  busy = true;
  worker.postMessage(request(current()));
}

/** Shows the answers in the order of the command lines of a request. */
function answer({ answers, millis, id }: Answered): void {
  busy = false;
  const [made, pods, page] = answers;
  if (made && pods && page) {
    element("findings").textContent = made.stderr || "Nothing to report.";
    element("findings").className = made.status === 0 ? "" : "failed";
    element("yaml").textContent = made.stdout;
    element("pods").textContent = pods.stdout || "No Pods.";
    showPage(page.stdout, page.stderr);
    document.body.dataset["answer"] = String(id);
    status.textContent = `rendered in ${Math.max(1, Math.round(millis))} ms`;
  }
  next();
}

/** Shows the page of the command blame without its frame. Scripts of a parsed page never run. */
function showPage(text: string, otherwise: string): void {
  if (text === "") {
    owners.textContent = otherwise || "No object.";
    return;
  }
  // The policy forbids styles and scripts within a page. The program escapes all text, so these are its own.
  const styles: string[] = [];
  const body = text.replace(/<(style|script)>([^]*?)<\/\1>/g, (_, tag: string, content: string) => {
    if (tag === "style") {
      styles.push(content);
    }
    return "";
  });
  generated.replaceSync(styles.slice(1).join("\n")); // the first one is the style of all pages
  const page = new DOMParser().parseFromString(body, "text/html");
  const filter = page.querySelector("header fieldset");
  owners.replaceChildren(...(filter ? [filter] : []), ...(page.querySelector("main")?.childNodes ?? []));
  for (const object of owners.querySelectorAll<HTMLDetailsElement>("details.object")) {
    enhance(object);
    object.addEventListener("toggle", () => enhance(object));
  }
}

async function start(): Promise<void> {
  status.textContent = "loading the program";
  const module = await WebAssembly.compileStreaming(fetch("trainweld.wasm"));
  lock();
  const started = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
  started.addEventListener("message", (event: MessageEvent<"ready" | Answered>) => {
    if (event.data === "ready") {
      worker = started;
      next();
    } else {
      answer(event.data);
    }
  });
  started.addEventListener("error", (event) => {
    busy = false;
    status.textContent = `the program failed: ${event.message}`;
  });
  started.postMessage(module);
}

for (const example of EXAMPLES) {
  examples.append(new Option(example.name));
}
examples.addEventListener("change", () => {
  const example = EXAMPLES[examples.selectedIndex];
  if (example) {
    history.replaceState(null, "", location.pathname);
    show({ files: example.files, to: kind.value });
  }
});
kind.addEventListener("change", () => changed(true));
addEventListener("hashchange", () => void unpack(location.hash.slice(1)).then((state) => state && show(state)));
void unpack(location.hash.slice(1)).then((state) => {
  show(state ?? { files: EXAMPLES[0]?.files ?? {}, to: "jobset" });
});
start().catch((error: unknown) => {
  status.textContent = `the program cannot start: ${String(error)}`;
});
