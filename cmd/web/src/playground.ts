// The playground: editors for the files of a TrainJob, and beside them what the program prints for them. The program runs in a worker.

import type { EditorView } from "codemirror";
import { pack, type State, unpack } from "./address";
import { edit, fill, markFindings } from "./editor";
import { enhance } from "./lines";
import type { Answer, Answered, Asked } from "./worker";

/** The texts of the worker and of the examples, which the build puts here. */
declare const WORKER: string;
declare const EXAMPLES: Example[];

/** An example for the editors. The first one has its answers, so the page shows them before the program is here. */
interface Example {
  name: string;
  files: Record<string, string>;
  answers?: Answer[];
}

/** The files, and the flags that name them. The program finds its policy itself. */
const inputs = [["job.yaml", "-f"], ["runtime.yaml", "-r"], ["patches.yaml", "--patch"], ["trainweld.yaml", ""]] as const;

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const status = element("status");
const kind = element<HTMLSelectElement>("to");
const examples = element<HTMLSelectElement>("examples");
const owners = element("owners");
const results = element("results");
/** Where the program is. That of the second page also checks. */
const program = element<HTMLLinkElement>("program").href;
const checks = program.endsWith("/checks.wasm");
const generated = new CSSStyleSheet();
document.adoptedStyleSheets = [generated];

/** Forbids every further request and script, once all parts are here. */
function lock(): void {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; script-src 'wasm-unsafe-eval'; worker-src blob:; base-uri 'none'; form-action 'none'";
  document.head.append(policy);
}

const editors = new Map<string, EditorView>(inputs.map(([name]) => [name, edit(element(`edit-${name}`), () => changed(true))]));

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
    fill(editor, state.files[name] ?? "");
  }
  changed(false);
}

/** Returns the files that hold something, and the command lines that read them. */
function request(state: State): Asked {
  const files: Record<string, string> = {};
  const read: string[] = [];
  for (const [name, flag] of inputs) {
    const text = state.files[name] ?? "";
    if (text.trim() !== "" || name === "job.yaml") {
      files[name] = text;
      read.push(...(flag === "" ? [] : [flag, name]));
    }
  }
  const render = ["render", ...read, "--on-conflict=last"];
  const to = `--to=${state.to}`;
  const check = checks ? [["check", ...read, "--on-conflict=last"]] : [];
  return { id: ++asked, files, lines: [[...render, to], [...render, "--to=pods", "-o", "wide"], ["blame", ...read, to, "-o", "html"], ...check] };
}

/** The longest time of a run, in milliseconds. The page ends the program then, since the files may be a stranger's. */
const mostTime = 20_000;

let worker: Worker | undefined;
let stopwatch = 0;
let asked = 0;
/** The number of the request that the program works on. */
let busy = 0;
let waiting = false;
let timer = 0;
/** States that nobody sees. The program answers them while it has nothing else to do, because its first answers are slow. */
let unseen: State[] | undefined;

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
  if (!worker || busy !== 0) {
    return;
  }
  const state = waiting ? current() : unseen?.shift();
  if (state) {
    const r = request(state);
    busy = waiting ? r.id : -r.id;
    waiting = false;
    const asked = worker;
    stopwatch = setTimeout(() => asked.dispatchEvent(new ErrorEvent("error", { message: `it took more than ${mostTime / 1000} s` })), mostTime);
    worker.postMessage(r);
  } else if (unseen) {
    document.body.dataset["warm"] = "yes";
  }
}

function answered({ answers, millis, id }: Answered): void {
  const isSeen = busy === id;
  busy = 0;
  clearTimeout(stopwatch);
  if (isSeen) {
    answer(answers, !waiting);
    const time = unseen ? `rendered in ${Math.max(1, Math.round(millis))} ms` : "ready"; // the first time tells of loading
    status.textContent = [...countsOf(answers[3] ?? answers[0]), time].join(", ");
    document.body.dataset["answer"] = String(id);
    unseen ??= EXAMPLES.slice(1).map((example) => ({ files: example.files, to: "jobset" }));
  }
  next();
}

/** Counts the errors and the warnings of an answer. */
function countsOf(made: Answer | undefined): string[] {
  return ["error", "warning"].flatMap((severity) => {
    const n = made?.report?.findings.filter((finding) => finding.severity === severity).length ?? 0;
    return n === 0 ? [] : [`${n} ${severity}${n === 1 ? "" : "s"}`];
  });
}

/** Shows the answers to a request. What fails to render leaves the last objects where they are, so that nothing jumps while one types.
 *  The editors get marks if they still hold what was asked. */
function answer([made, pods, page, checked]: Answer[], isCurrent: boolean): void {
  if (!made || !pods || !page) {
    return;
  }
  const failed = made.status !== 0;
  const reported = checked ?? made;
  element("findings").textContent = reported.findings || reported.stderr || "Nothing to report.";
  element("findings").className = reported.status !== 0 ? "failed" : "";
  const hasObjects = element("yaml").textContent !== "";
  results.classList.toggle("stale", failed && hasObjects);
  element("stale").hidden = !failed || !hasObjects;
  if (!failed) {
    element("yaml").textContent = made.stdout;
    element("pods").textContent = pods.stdout || "No Pods.";
    showPage(page.stdout);
  }
  if (reported.report && isCurrent) {
    for (const [name, editor] of editors) {
      markFindings(editor, name, reported.report.findings);
    }
  }
}

let shown = "";

/** Shows the page of the command blame without its frame. Scripts of a parsed page never run. */
function showPage(text: string): void {
  if (text === shown) {
    return; // a chosen line stays chosen
  }
  shown = text;
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
  const module = await WebAssembly.compileStreaming(fetch(program));
  lock();
  status.textContent = "starting the program";
  launch(module);
}

/** Starts the program in a worker. After a failure it starts again, and waits for the next change. */
function launch(module: WebAssembly.Module): void {
  const started = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
  started.addEventListener("message", (event: MessageEvent<"ready" | Answered>) => {
    if (event.data === "ready") {
      worker = started;
      next();
    } else {
      answered(event.data);
    }
  });
  started.addEventListener("error", (event) => {
    status.textContent = `the program failed: ${event.message}`;
    if (worker === started) {
      worker = undefined;
      busy = 0;
      clearTimeout(stopwatch);
      started.terminate();
      launch(module);
    }
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
const other = element("other");
other.addEventListener("click", () => void pack(current()).then((packed) => location.assign(`${other.dataset["page"]}#${packed}`)));
/** Returns the state of the address. Without a whole one it returns nothing, and the page says why. */
async function fromAddress(): Promise<State | undefined> {
  const broken = element("broken");
  try {
    broken.textContent = "";
    return await unpack(location.hash.slice(1));
  } catch (error) {
    broken.textContent = `The address holds no files that this page can read: ${(error as Error).message}.`;
    return undefined;
  } finally {
    broken.hidden = broken.textContent === "";
  }
}

addEventListener("hashchange", () => void fromAddress().then((state) => state && show(state)));
void fromAddress().then((state) => {
  const first = EXAMPLES[0];
  show(state ?? { files: first?.files ?? {}, to: "jobset" });
  if (!state && first?.answers) {
    answer(first.answers.slice(0, checks ? 4 : 3), true);
    document.body.dataset["answer"] = "0";
  }
});
start().catch((error: unknown) => {
  status.textContent = `the program cannot start: ${String(error)}`;
});
