// The address of the playground holds its state behind "#", which browsers never send.

/** What the address holds. */
export interface State {
  files: Record<string, string>;
  to: string;
}

/** Returns the text of a state for the address. */
export async function pack(state: State): Promise<string> {
  const stream = new Blob([JSON.stringify(state)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The most bytes that an address may hold, packed and unpacked. A stranger may have written it. */
const mostPacked = 1 << 20;
const mostBytes = 4 << 20;

/** Returns the state of an address, or nothing if the address holds none. It throws an error for a broken address, and for a large one. */
export async function unpack(text: string): Promise<State | undefined> {
  if (text === "") {
    return undefined;
  }
  if (text.length > mostPacked) {
    throw new Error("it is too large");
  }
  let state: unknown;
  const inflated = await inflate(text);
  try {
    state = JSON.parse(inflated);
  } catch {
    throw new Error("its text is not JSON");
  }
  if (typeof state !== "object" || state === null || !("files" in state) || typeof state.files !== "object" || state.files === null) {
    throw new Error("it has no files");
  }
  const files: Record<string, string> = {};
  for (const [name, value] of Object.entries(state.files)) {
    if (typeof value === "string") {
      files[name] = value;
    }
  }
  return { files, to: "to" in state && typeof state.to === "string" ? state.to : "jobset" };
}

/** Returns the text of an address, and never holds more of it than an address may. */
async function inflate(packed: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.byteLength;
      if (size > mostBytes) {
        await reader.cancel();
        break;
      }
      text += decoder.decode(part.value, { stream: true });
    }
  } catch {
    throw new Error("it is damaged");
  }
  if (size > mostBytes) {
    throw new Error("it is too large");
  }
  return text + decoder.decode();
}
